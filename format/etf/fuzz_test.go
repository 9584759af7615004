package etf

import (
	"bytes"
	"os"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/tracetest"
)

func FuzzDecode(f *testing.F) {
	for _, file := range tracetest.Glob(f, "testdata/ok/*.etf") {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	for _, x := range ruleTests {
		f.Add([]byte(x.Text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		tracetest.Read(Format, "x.etf", text, &format.ReadOptions{Workers: 1, Report: format.NewReport()})
	})
}

// The two ways through the numbers of a claim agree.
func FuzzQuickClaim(f *testing.F) {
	f.Add([]byte("C 0 0.2 13.2 0 100.0 ; task=A"))
	f.Add([]byte("C 1 0.4 0.6 1 128 256;"))
	f.Fuzz(func(t *testing.T, l []byte) {
		if len(l) < 3 || l[0] != 'C' || l[1] != ' ' || bytes.IndexByte(l, '\n') >= 0 {
			return
		}
		var q quick
		i := q.claim(append(l[:len(l):len(l)], '\n'), 6)
		if i < 0 || q.s[0] != 0 || q.s[3] != 0 {
			return
		}
		var r Record
		attrs, p := r.parse(C, l, 1)
		x, ok := q.real(q.n - 1)
		if p.rule != "" || r.ID != q.v[0] || r.Start != q.decimal(1) || r.End != q.decimal(2) || r.Resource != q.v[3] || ok && r.Amount != x || r.HasOffset != (q.n == 6) || !bytes.Equal(attrs, l[i:]) {
			t.Errorf("%q: quick %+v to %d, thorough %+v %+v", l, q, i, r, p)
		}
	})
}

// The two ways through the numbers of a fragment agree.
func FuzzQuickFragment(f *testing.F) {
	f.Add([]byte("F 0 0.2 13.2 0 100.0 -5"))
	f.Fuzz(func(t *testing.T, l []byte) {
		if len(l) < 3 || l[0] != 'F' || l[1] != ' ' || bytes.IndexByte(l, '\n') >= 0 {
			return
		}
		var q quick
		if i := q.numbers(append(l[:len(l):len(l)], '\n'), 6, bare); i < 0 || q.s[0] != 0 {
			return
		}
		var r Record
		_, p := r.parse(F, l, 1)
		c, ok := q.real(3)
		if p.rule != "" || r.ID != q.v[0] || r.Start != q.decimal(1) || r.End != q.decimal(2) || ok && r.C != c {
			t.Errorf("%q: quick %+v, thorough %+v %+v", l, q, r, p)
		}
	})
}
