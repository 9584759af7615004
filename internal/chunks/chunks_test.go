package chunks

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
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

// TestRead checks that chunks of all sizes are returned unchanged, whether they are still to be written, alone in the
// file or in a block with others, in order, in reverse and at random, before and after Clear.
func TestRead(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s := New(0)
	defer s.Close()
	for round := range uint64(2) {
		r := rand.New(rand.NewPCG(round, 1))
		type kept struct {
			chunk Chunk
			bytes []byte
		}
		var list []kept
		var room []byte
		check := func(i int) {
			t.Helper()
			got, err := s.Read(list[i].chunk, &room)
			if err != nil || !bytes.Equal(got, list[i].bytes) {
				t.Fatalf("round %d, chunk %d of %d: found other bytes, or the error %v", round, i, len(list), err)
			}
		}
		for range 2000 {
			b := make([]byte, 1+r.IntN(1<<(1+r.IntN(17))))
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			c, _, err := s.Keep(b)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, kept{c, b})
			check(max(0, len(list)-1-r.IntN(20))) // near the end, where blocks grow
			check(r.IntN(len(list)))
		}
		for i := range list {
			check(i)
		}
		for i := range list {
			check(len(list) - 1 - i)
		}
		var readers sync.WaitGroup
		for k := range 4 {
			readers.Go(func() {
				var room []byte
				for i := k; i < len(list); i += 2 {
					if got, err := s.Read(list[i].chunk, &room); err != nil || !bytes.Equal(got, list[i].bytes) {
						t.Errorf("several readers, chunk %d: found other bytes, or the error %v", i, err)
					}
				}
			})
		}
		readers.Wait()
		s.Clear()
	}
}
