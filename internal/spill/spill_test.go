package spill

import (
	"bytes"
	"testing"
)

// TestStore stores chunks in memory and in the file, and loads them in another order.
func TestStore(t *testing.T) {
	s := New(100, 1)
	defer s.Close()
	var chunks []Chunk
	buf := []byte{}
	for i := range 20 {
		for range 10 + i {
			buf = append(buf, byte(i))
		}
		c, next, err := s.Keep(buf)
		if err != nil {
			t.Fatal(err)
		}
		if len(next) != 0 {
			t.Fatalf("found a buffer of %d bytes, expected an empty one", len(next))
		}
		chunks, buf = append(chunks, c), next
	}
	if s.file == nil || s.used.Load() > 100 {
		t.Fatalf("found %d bytes in memory, and the file %v; expected at most 100, and a file", s.used.Load(), s.file)
	}
	var room []byte
	for _, i := range []int{19, 0, 7, 1, 18} {
		b, err := s.Load(chunks[i], &room)
		if err != nil {
			t.Fatal(err)
		}
		if expected := bytes.Repeat([]byte{byte(i)}, 10+i); !bytes.Equal(b, expected) {
			t.Errorf("chunk %d: found %v, expected %v", i, b, expected)
		}
	}
}
