package lines

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

// text returns lines of many lengths. Some lines are continued, and some are above the length limit.
func text(r *rand.Rand, size int, continued bool) []byte {
	var b []byte
	for len(b) < size {
		n := r.IntN(80)
		switch r.IntN(200) {
		case 0:
			n = 1000 + r.IntN(3000) // near tailSize, because lastBreak searches this part first
		case 1:
			n = r.IntN(3 * ChunkSize)
		}
		b = append(b, strings.Repeat("x", n)...)
		if continued && r.IntN(4) == 0 {
			b = append(b, '\\')
			b = append(b, strings.Repeat(" ", r.IntN(2)*r.IntN(2000))...)
		}
		b = append(b, '\n')
	}
	if r.IntN(2) == 0 {
		b = append(b, "no line end"...)
	}
	return b
}

// TestIndex checks that Index divides a text into chunks of whole lines and numbers the lines.
func TestIndex(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		continued := seed%2 == 1
		data := text(r, 1+r.IntN(20*ChunkSize), continued)
		f := &File{R: bytes.NewReader(data), Size: int64(len(data)), Name: "f", Continued: continued, MaxLine: 2 * ChunkSize}
		if seed%3 == 0 {
			f.MaxLine = 5000
		}
		at, line := int64(0), int64(1)
		next := func(off int64, n int) []byte {
			if off != at {
				t.Fatalf("seed %d: piece at 0x%x, want 0x%x", seed, off, at)
			}
			at += int64(n)
			return data[off:at]
		}
		f.TooLong = func(n, off, length int64) error {
			piece := next(off, int(length))
			if n != line {
				t.Fatalf("seed %d: long line %d, want %d", seed, n, line)
			}
			if len(piece) <= f.MaxLine || !continued && bytes.Count(piece, newline) > 1 {
				t.Fatalf("seed %d: line %d of %d bytes taken as too long", seed, n, len(piece))
			}
			line += int64(bytes.Count(piece, newline))
			return nil
		}
		chunks, err := Index(t.Context(), f, 1+int(seed%3), func(b *Block) string {
			if b.Line != 1 {
				t.Errorf("line %d", b.Line)
			}
			return string(b.Data)
		}, func(c Chunk, got string) error {
			piece := next(c.Off, c.Len)
			if got != string(piece) || c.Line != line || f.Shift(c) != line-1 {
				t.Fatalf("seed %d: chunk at 0x%x, line %d (want %d), is not that of the file", seed, c.Off, c.Line, line)
			}
			if at < f.Size && (piece[len(piece)-1] != '\n' || continued && Continues(piece[:len(piece)-1])) {
				t.Fatalf("seed %d: chunk at 0x%x ends inside a line", seed, c.Off)
			}
			line += int64(bytes.Count(piece, newline))
			return nil
		})
		if err != nil || at != f.Size {
			t.Fatalf("seed %d: read up to 0x%x of 0x%x, error %v", seed, at, f.Size, err)
		}
		// A source with these chunks returns the same blocks as Index.
		src := f.Chunks(chunks)
		for i := range chunks {
			b, err := Next(src)
			if err != nil || b.Line != chunks[i].Line || b.Seq != i ||
				!bytes.Equal(b.Data, data[chunks[i].Off:][:chunks[i].Len]) {
				t.Fatalf("seed %d: block %d, error %v", seed, i, err)
			}
			b.Release()
		}
		if b, err := Next(src); b != nil || err != nil {
			t.Fatalf("seed %d: a block after the last, error %v", seed, err)
		}
	}
}

// TestShort checks that reading a file that has become shorter returns an error with the position in the file.
func TestShort(t *testing.T) {
	f := &File{R: strings.NewReader("a\nb\n"), Size: 10, Name: "f"}
	_, err := Index(t.Context(), f, 1, func(*Block) int { return 0 }, func(Chunk, int) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "f:0x4: ") {
		t.Errorf("error %v", err)
	}
}
