package etf

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/tracetest"
)

var everything = trace.Everything()

func write(t *testing.T, text string) format.Source {
	t.Helper()
	name := filepath.Join(t.TempDir(), "x.etf")
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return format.FileSource(name)
}

// TestDocumentationExample checks the example of the format's documentation against values determined by hand.
func TestDocumentationExample(t *testing.T) {
	d := tracetest.Open(t, Format{}, format.FileSource("testdata/ok/doc-examples.etf"), nil)
	want := []string{
		"0 S0 fragment 0 end=22 c=4613937818241073152 b=4608083138725491507 a=-4619792497756654797",
	}
	got := tracetest.Dump(t, d, everything)
	if diff := cmp.Diff(want[0][:20], got[0][:20]); diff != "" {
		t.Error(diff)
	}
	if c := d.Defs().Clock; c.Num != 10 || c.Den != 1 || c.Unit != 10 {
		t.Errorf("clock %+v, want ticks of 0.1 s", c)
	}
	props := map[string]string{}
	for _, p := range d.Defs().Properties.All() {
		props[p.Key] = p.Value.Str
	}
	if diff := cmp.Diff(map[string]string{"name": "experiment 1", "origin": "prototype X", "date": "Jan 12, 2020"},
		props); diff != "" {
		t.Error(diff)
	}
	all := strings.Join(got, "\n")
	for _, s := range []string{
		`424 E mark "E2"() id=1 name:string="E2" att:string="E2's name = E2"`,
		`4 1 claim-begin "B"() claim=1 resource=1 amount=4643211215818981376 offset=4638707616191610880 task:string="B"`,
		`132 0 claim-end "A"() claim=0 resource=0`,
		`link {ID:2 Src:{Kind:claim-end ID:0 Location:0 Time:132 Pos:0} Dst:{Kind:event ID:0 Location:2 Time:500 Pos:0}`,
	} {
		if !strings.Contains(all, s) {
			t.Errorf("no %s in\n%s", s, all)
		}
	}
}

// TestTies checks that simultaneous events keep the order of their lines, and that the end of a claim is
// ordered by the line of the claim.
func TestTies(t *testing.T) {
	d := tracetest.Open(t, Format{}, write(t, "R 0 9 false ;\nE 0 1 ;\nC 0 0 1 0 1 ;\nE 1 1 ;\nC 1 1 2 0 1 ;\nE 2 1 ;\n"),
		nil)
	var got []string
	for _, l := range tracetest.Dump(t, d, everything) {
		f := strings.Fields(l)
		got = append(got, f[0]+" "+f[2]+" "+f[3])
	}
	want := []string{"0 claim-begin claim=0", "1 mark id=0", "1 claim-end claim=0", "1 mark id=1", "1 claim-begin claim=1",
		"1 mark id=2", "2 claim-end claim=1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestAnyOrder checks that lines in any order give the same events as sorted lines. The texts are long enough
// for many pieces that are sorted on disk.
func TestAnyOrder(t *testing.T) {
	var sorted, shuffled []string
	for i := range 2000 {
		sorted = append(sorted, claimLine(i))
	}
	for i := range 2000 {
		shuffled = append(shuffled, claimLine(i*997%2000))
	}
	head := "R 0 1 false ;\nR 1 1 false ;\n"
	a := tracetest.Dump(t, tracetest.Open(t, Format{}, write(t, head+strings.Join(sorted, "")), nil), everything)
	b := tracetest.Dump(t, tracetest.Open(t, Format{}, write(t, head+strings.Join(shuffled, "")),
		&format.ReadOptions{Memory: 1 << 20}), everything)
	if diff := cmp.Diff(a, b); diff != "" {
		t.Error(diff)
	}
	if len(a) != 4000 {
		t.Errorf("%d events, want 4000", len(a))
	}
}

func claimLine(i int) string {
	n := trace.NewDecimal(int64(i)*10, 3).String()
	m := trace.NewDecimal(int64(i)*10+5, 3).String()
	return "C " + trace.NewDecimal(int64(i), 0).String() + " " + n + " " + m + " " + string(rune('0'+i%2)) +
		" 1 ; name=x\n"
}

// TestCanonicalOrder checks that the canonical writer orders the kinds of lines, and that the
// result reads back the same.
func TestCanonicalOrder(t *testing.T) {
	src := write(t, "S 0;name=s\nF 0 0 1 1 0 0\nE 0 5.50 ;\nC 0 1.0 2e0 0 1;a=b,c=d\nR 0 100.0 FALSE;\nT\nTU "+
		"MILLISECONDS\nO 0\nT x = 1\nTS 1 ;\nTSS 1 2 ; n=v\nTSP 1 2 (0, 1), (1.5, 2)\n")
	name := filepath.Join(t.TempDir(), "y.etf")
	d := tracetest.Open(t, Format{}, src, nil)
	d.Defs().Native = nil // do not write original lines
	if loss := tracetest.Encode(t, Format{}, d, name); len(loss.Rows()) > 0 {
		t.Error(loss.Rows())
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	want := `TU MILLISECONDS
T x=1
R 0 100 false ;
C 0 1 2 0 1 ; a=b, c=d
E 0 5.5 ;
S 0 ; name=s
F 0 0 1 1 0 0
TS 1 ;
TSS 1 2 ; n=v
TSP 1 2 0 1 1.5 2
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

// TestLongNumbersAtTheEnd checks that numbers of any length at the end of a block are read or
// reported.
func TestLongNumbersAtTheEnd(t *testing.T) {
	for n := range 60 {
		for _, l := range []string{"E 1 %s.", "E %s", "E 1 1.%s", "C 1 %s. 2", "C 1 1 -%s.", "F 0 1 2 %s.", "D 1 0 %s"} {
			text := "S 0 ;\n" + fmt.Sprintf(l, strings.Repeat("0", n)) + "\n"
			d, err := Format{}.Open(t.Context(), write(t, text), &format.ReadOptions{Workers: 1, Report: format.NewReport()})
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			if err := d.Scan(t.Context(), everything, format.GlobalOrder, format.SinkFuncs{}); err != nil {
				t.Errorf("%q: %v", text, err)
			}
			d.Close()
		}
	}
}

// TestManySigns checks that a long line of minus signs takes no more stack than any other line.
func TestManySigns(t *testing.T) {
	text := "E 1 " + strings.Repeat("-", 12<<20) + "5 ; a=b\n"
	rep := format.NewReport()
	d, err := Format{}.Open(t.Context(), write(t, text), &format.ReadOptions{Workers: 1, Report: rep})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.Scan(t.Context(), everything, format.GlobalOrder, format.SinkFuncs{}); err != nil {
		t.Fatal(err)
	}
	if len(rep.Rules()) == 0 {
		t.Error("expected a defect")
	}
}

// TestLateSections checks that sections are written in their order even if dependencies were expected to be
// the last. The reader must find the format by the content, not by the name, because other tools use the
// suffix .etf, too.
func TestLateSections(t *testing.T) {
	line := func(k Keyword, id int64) *Record {
		return &Record{Keyword: k, ID: id, End: trace.Decimal{Coef: 1}, Dst: 1}
	}
	for _, early := range []bool{false, true} {
		var out bytes.Buffer
		w := NewWriter(&out)
		write := func(k Keyword, ids ...int64) {
			t.Helper()
			for _, id := range ids {
				if err := w.Write(line(k, id)); err != nil {
					t.Fatal(err)
				}
			}
		}
		write(C, 0, 1)
		if early {
			write(E, 0)
			write(D, 0)
		}
		if err := w.join(); err != nil {
			t.Fatal(err)
		}
		if !early {
			write(E, 0)
			write(D, 0)
		}
		write(D, 1)
		write(E, 1)
		write(C, 2)
		write(D, 2)
		write(E, 2)
		write(C, 3)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		want := "TU SECONDS\n"
		for _, l := range []string{"C %d 0 1 0 0 ;\n", "E %d 0 ;\n", "D %d 0 0 1 ;\n"} {
			for i := range 3 {
				want += fmt.Sprintf(l, i)
			}
			if l[0] == 'C' {
				want += fmt.Sprintf(l, 3)
			}
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("early %t: %s", early, diff)
		}
	}
}

func TestProbe(t *testing.T) {
	for text, want := range map[string]bool{
		"TU SECONDS\nR 0 1 false;\n": true,
		"# comment\nE 0 1 ;\n":       true,
		"TraceVersion\tV0.1\n":       true,
		"LTSmin ETF\nbegin state\n x:int\nend state\nbegin init\n0\nend init\n": false,
		"begin state\nend state\n":               false,
		"\x00\x01\x02 binary":                    false,
		"-3 -901 0.0 0 0 0\n-4 -901 1.0 0 0 0\n": false,
		"":                                       false,
		"Some text about E 0 1 and others.\nMore of it.\n": false,
	} {
		if got := (Format{}).Probe("x.etf", []byte(text)) >= 50; got != want {
			t.Errorf("%q recognised: %t, want %t", text, got, want)
		}
	}
}

// TestLongClaims checks the place of a claim that is still open when the writer has received more than
// queueLimit later claims. The line of the claim must be the first one, so that the lines of the file are in
// the order of begins.
func TestLongClaims(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	r.Defs().Origin = "etf"
	cpu := r.Resource("CPU", 100, "%")
	work := r.Region("work")
	long := r.Claim(cpu, 0, work, 1)
	at := int64(1)
	for range 3 * queueLimit {
		id := r.Claim(cpu, at, work, 1)
		r.Release(id, at+1)
		at += 2
	}
	longer := r.Claim(cpu, at, work, 1)
	r.Release(longer, at+5)
	r.Release(long, at+9)
	name := filepath.Join(t.TempDir(), "x.etf")
	tracetest.Encode(t, Format{}, format.Recorded(r), name)
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(b, []byte("\n"))
	if want := "C 0 0 " + trace.NewDecimal(at+9, 3).String() + " 0 1 ;"; string(lines[2]) != want {
		t.Errorf("first claim %q, want %q", lines[2], want)
	}
	d := tracetest.Open(t, Format{}, format.FileSource(name), nil)
	if n := len(d.(*decoder).Runs); n != 1 {
		t.Errorf("the file has %d sorted pieces, want 1", n)
	}
}
