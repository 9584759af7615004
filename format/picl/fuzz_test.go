package picl

import (
	"os"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/tracetest"
)

func FuzzDecode(f *testing.F) {
	for _, file := range tracetest.Glob(f, "testdata/ok/*.trf") {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	for _, x := range ruleTests {
		f.Add([]byte(x.Text))
	}
	for _, text := range tracetest.Workloads(f, Format{}) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		tracetest.Read(Format{}, "x.trf", text, &format.ReadOptions{Workers: 1, Report: format.NewReport()})
	})
}

// FuzzHead checks that the fast and the full parser of a line's head agree.
func FuzzHead(f *testing.F) {
	f.Add([]byte("-3 -21 0.001665 6 0 3 2 8 1 7"))
	f.Fuzz(func(t *testing.T, l []byte) {
		for _, c := range l {
			if c == '\n' {
				return
			}
		}
		var a, b head
		i := a.parseFast(append(l[:len(l):len(l)], '\n'))
		j, bad := b.parse(l, 6)
		if i >= 0 && (bad >= 0 || i != j || a.f != b.f || a.scale != b.scale) {
			t.Errorf("%q: quick %v scale %d to %d, thorough %v scale %d to %d (bad %d)", l, a.f, a.scale, i, b.f, b.scale, j,
				bad)
		}
	})
}
