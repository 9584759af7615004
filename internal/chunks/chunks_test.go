package chunks

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestStore checks that chunks in memory and in the file are returned unchanged, and that no file remains.
func TestStore(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s := New(10)
	var list []Chunk
	keep := func(text string, taken bool) {
		t.Helper()
		c, own, err := s.Keep([]byte(text))
		if err != nil || own != taken {
			t.Fatalf("%q: found owned %v and error %v, expected owned %v", text, own, err, taken)
		}
		list = append(list, c)
	}
	keep("first", true)
	keep("second", false) // together with the first chunk, these 11 bytes exceed the limit
	keep("third", true)
	keep("fourth", false)
	s.Drop(&list[0])
	keep("fifth", true) // fits after the first chunk was dropped
	var room []byte
	for i, want := range []string{"", "second", "third", "fourth", "fifth"} {
		if i == 0 {
			continue
		}
		if got, err := s.Read(list[i], &room); err != nil || !bytes.Equal(got, []byte(want)) {
			t.Errorf("chunk %d: found %q and error %v, expected %q", i, got, err, want)
		}
	}
	s.Close()
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "*")); len(left) > 0 {
		t.Errorf("found %v, expected no file left", left)
	}
}
