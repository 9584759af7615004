package linetrace

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/lines"
)

// TestLines checks that At returns lines by their numbers, in any order. Some lines continue in another piece
// or chunk, and some lines follow a line above the length limit.
func TestLines(t *testing.T) {
	var text strings.Builder
	want := map[int64]string{}
	for n := int64(1); n <= 9000; n++ {
		l := fmt.Sprintf("line %d %s", n, strings.Repeat("x", int(n%37)))
		switch {
		case n == 5000:
			l = strings.Repeat("y", 1<<20)
		case n%64 == 0:
			want[n] = l + fmt.Sprintf(" after %d", n)
			text.WriteString(l + "\\\n")
			n++
			text.WriteString(fmt.Sprintf("after %d\r\n", n-1))
			continue
		default:
			want[n] = l
		}
		text.WriteString(l + "\r\n")
	}
	x := NewText(&format.ReadOptions{Memory: 40 << 10},
		&lines.File{R: strings.NewReader(text.String()), Size: int64(text.Len()), MaxLine: 100 << 10, Continued: true},
		func() error { return nil })
	err := Index(context.Background(), &x, "picl", func(*lines.Block) bool { return true },
		func(bool, int64) error { return nil })
	if err != nil || len(x.Chunks) < 3 {
		t.Fatal(err, len(x.Chunks))
	}
	for _, step := range []int64{1, 7, 1999} {
		found := NewLines(&x)
		for i := range int64(9000) {
			n := 1 + i*step%9000
			w, ok := want[n]
			if !ok {
				continue
			}
			if l, err := found.At(n); err != nil || string(l) != w {
				t.Fatalf("step %d: line %d: found %q, %v; expected %q", step, n, l, err, w)
			}
		}
		for _, n := range []int64{-1, 0, 5000, 9002, 1 << 40} {
			if l, err := found.At(n); err != nil || len(l) > 0 {
				t.Errorf("line %d: found %.20q, %v; expected none", n, l, err)
			}
		}
	}
}
