package etf

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
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
	for _, text := range tracetest.Workloads(f, Format{}) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		tracetest.Read(Format{}, "x.etf", text, &format.ReadOptions{Workers: 1, Report: format.NewReport()})
	})
}

// quickHead has the definitions for FuzzQuick. The fast path takes the keys of each line's attributes from the
// line before.
const quickHead = `TU MILLISECONDS
R 0 100 false ; name=CPU
R 1 1024 true ; name=M1
S 0 ; name=load
C 0 0.25 13.5 0 100.0 ; task=A, id=1
E 0 0.5 ; task=A, id=1
D 0 1 0 1 ; type=x
`

// FuzzQuick checks that the fast and the slow path read the same from a line. A block is read on
// the fast path only if it ends in a line end.
func FuzzQuick(f *testing.F) {
	for _, l := range []string{"C 1 0.4 0.6 1 128 256 ; task=B, id=2", "C 1 0.4 0.6 1 128 256;",
		"C 2 1 2 0 1 ; task=, id = 2 ", "C 2 1 2 0 1;task=A,id=",
		"E 1 1.25 ; task=B, id=2", "E 1 1", "D 1 0 2 3 ; type=y", "D 1 0 2 2;", "F 0 0.2 13.2 0 100.0 -5", "F 0 1 2 1 1 1 ",
		"C 2 1 2 0 101 ; task=A", "C 3 0.4 0.6 1 1000 25;",
		"C -1 -0.5 00.60 0 1 ; task=A\\, id=2", "C 1 1 2 0 1 ;; task=A", "C 1 1e0 2 0 1 ; task=A",
		"C 1 1 2 0 1\x9600 ; task=A", "C 1 1. 2 0 1 ; task=A, , id=2",
		"E 1 1 ; a\\=b=c\nE 2 2 ; a=b=c", "D 1 2 0 0 ; a\\,b=1\nD 2 2 0 0 ; a,b=1", "C 1 1 2 0 1 ; a=\r\nC 2 2 3 0 1 ; a=\r",
		"C 1 1 2 0 \x00\x00\x00\x00\x00\x00\x00\x00 ;", "C 1 1 2 1 1.5 2.25 ;\nC 2 2 3 1 1.5 2.25 ;\nC 3 3 4 0 1.5 ;",
		"C 12345678 1 2 0 1 ;\nC 1234567a 2 3 0 1 ;"} {
		f.Add([]byte(l))
	}
	f.Fuzz(func(t *testing.T, l []byte) {
		read := func(end string) string {
			text := quickHead + string(l) + end
			rep := format.NewReport()
			d, err := Format{}.Open(t.Context(), format.Source{FS: fstest.MapFS{"x.etf": {Data: []byte(text)}}, Name: "x.etf",
				Path: "x.etf"}, &format.ReadOptions{Workers: 1, Report: rep})
			if err != nil {
				t.Fatalf("%q: %v", l, err)
			}
			defer d.Close()
			var out strings.Builder
			err = d.Scan(t.Context(), trace.Everything(), format.PerLocation,
				format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
					c := b.Cursor()
					for c.Next() {
						k, v := c.Attrs()
						fmt.Fprintln(&out, c.Location(), c.Time(), c.Kind(), c.Ref(), c.Ops(), k, v, c.Pos())
					}
					return nil
				}, OnLinks: func(links []trace.Link) error {
					fmt.Fprintf(&out, "%+v\n", links)
					return nil
				}})
			if err != nil {
				t.Fatalf("%q: %v", l, err)
			}
			for _, r := range rep.Rules() {
				fmt.Fprintln(&out, r.Rule, r.Count)
				for _, x := range r.First {
					fmt.Fprintln(&out, x)
				}
			}
			return out.String()
		}
		// A number or attribute in the last few bytes of a block is not read on the fast path.
		blank := "\n" + strings.Repeat(" ", 40)
		if quick, thorough := read(blank+"\n"), read(blank); quick != thorough {
			t.Errorf("%q: quickly %s, thoroughly %s", l, quick, thorough)
		}
	})
}
