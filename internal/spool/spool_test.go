package spool

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"
)

// TestSpool checks that CopyTo writes the text with each piece at its position, for texts in memory and for
// texts in a file.
func TestSpool(t *testing.T) {
	for _, lines := range []int{0, 10, 400_000} {
		var s Spool
		var want bytes.Buffer
		for i := range lines {
			if i == 3 || i == lines/2 {
				// A real caller would insert this later, when the text is complete.
				want.WriteString("inserted\n")
				if err := s.Insert(s.Size(), []byte("inserted\n")); err != nil {
					t.Fatal(err)
				}
			}
			l := fmt.Sprintf("line %d\n", i)
			want.WriteString(l)
			if i%2 == 0 {
				s.Write([]byte(l))
			} else if err := s.Done(append(s.Line(), l...)); err != nil {
				t.Fatal(err)
			}
		}
		if disk := s.file != nil; disk != (lines > 100_000) {
			t.Errorf("%d lines: on disk %t", lines, disk)
		}
		var got bytes.Buffer
		if err := s.CopyTo(&got); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Errorf("%d lines: %d bytes, want %d, or others", lines, got.Len(), want.Len())
		}
		s.Close()
	}
}

// TestManyInsertions checks that a text in a file with many inserted pieces is copied without allocating
// memory for each piece.
func TestManyInsertions(t *testing.T) {
	const pieces = 10_000
	var s Spool
	defer s.Close()
	var want bytes.Buffer
	line := bytes.Repeat([]byte("x"), 2*memoryLimit/pieces)
	for i := range pieces {
		if _, err := s.Write(line); err != nil {
			t.Fatal(err)
		}
		want.Write(line)
		p := fmt.Appendf(nil, "%*d\n", len(line), i)
		if err := s.Insert(s.Size(), p); err != nil {
			t.Fatal(err)
		}
		want.Write(p)
	}
	got := bytes.NewBuffer(make([]byte, 0, want.Len()))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := s.CopyTo(got); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if !bytes.Equal(got.Bytes(), want.Bytes()) {
		t.Errorf("found %d bytes, expected %d, or others", got.Len(), want.Len())
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 {
		t.Errorf("found %d bytes allocated, expected two buffers and what sorting needs", n)
	}
}
