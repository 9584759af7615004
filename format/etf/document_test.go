package etf

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/tracetest"
)

// parsedText is the result of reading a text: its events, and its defects as "rule line: found,
// expected".
type parsedText struct {
	decoder *decoder
	events  []string
	defects []string
}

// parseText reads and checks a text.
func parseText(t *testing.T, text string) parsedText {
	t.Helper()
	src, rep := write(t, text), format.NewReport()
	f, err := Format{}.Open(t.Context(), src, &format.ReadOptions{Report: rep})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	c := f.NewChecker()
	if err := f.Scan(t.Context(), everything, format.GlobalOrder,
		format.SinkFuncs{OnBatch: c.Batch, OnLinks: c.Links}); err != nil {
		t.Fatal(err)
	}
	if err := c.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	x := parsedText{decoder: f.(*decoder), events: tracetest.Dump(t, f, everything)}
	for _, r := range rep.Rules() {
		for _, d := range r.First {
			x.defects = append(x.defects, fmt.Sprintf("%s %d: %s, %s", r.Rule, d.Position.Line, d.Found, d.Expected))
		}
	}
	slices.Sort(x.defects)
	return x
}

// defectsAre compares the defects of a text with the wanted texts. A wanted text may be a prefix.
func (p *parsedText) defectsAre(t *testing.T, want ...string) {
	t.Helper()
	slices.Sort(want)
	if !slices.EqualFunc(p.defects, want, strings.HasPrefix) {
		t.Errorf("found defects\n%s\nexpected\n%s", strings.Join(p.defects, "\n"), strings.Join(want, "\n"))
	}
}

// TestDocument_TimeUnit checks the sentence "TU … must be specified at most once per trace file". The first TU
// line counts.
func TestDocument_TimeUnit(t *testing.T) {
	for _, x := range []struct {
		name, head string
		seconds    int64
		defects    []string
	}{
		{"TU absent", "", 1, nil},
		{"TU HOURS", "TU HOURS\n", 3600, nil},
		{"TU SECONDS first", "TU SECONDS\nTU HOURS\n", 1,
			[]string{"etf.second-unit 2: a second TU line, one; weft uses line 1"}},
		{"TU HOURS first", "TU HOURS\nTU SECONDS\n", 3600,
			[]string{"etf.second-unit 2: a second TU line, one; weft uses line 1"}},
		{"TU of no unit", "TU DAYS\n", 1, []string{
			`etf.unit 1: unit "DAYS", NANOSECONDS, MICROSECONDS, MILLISECONDS, SECONDS, MINUTES or HOURS; weft ` +
				`ignores the line`}},
		{"TU of no unit beside one", "TU DAYS\nTU MINUTES\n", 60,
			[]string{`etf.unit 1: unit "DAYS", NANOSECONDS, MICROSECONDS, MILLISECONDS, SECONDS, MINUTES or HOURS; weft ` +
				`ignores the line`}},
	} {
		t.Run(x.name, func(t *testing.T) {
			got := parseText(t, x.head+"E 0 1 ;\n")
			got.defectsAre(t, x.defects...)
			c := got.decoder.Model.Clock
			if s, _, _ := c.Rescale(1, trace.TicksPerSecond(1)); s != x.seconds {
				t.Errorf("found a tick of %d s (%+v), expected %d s", s, c, x.seconds)
			}
		})
	}
}

// TestDocument_Offset checks the sentences "The value should be an integer in milliseconds. It must be
// specified at most once."
func TestDocument_Offset(t *testing.T) {
	for _, x := range []struct {
		line    string
		ms      int64
		defects []string
	}{
		{"O 1500", 1500, nil},
		{"O -3", -3, nil},
		{"O 1.5e3", 1500, []string{`etf.offset-fraction 1: offset "1.5e3", an integer; weft uses 1500`}},
		{"O 7.0", 7, []string{`etf.offset-fraction 1: offset "7.0", an integer; weft uses 7`}},
		{"O 7.9", 7, []string{`etf.offset-fraction 1: offset "7.9", an integer; weft uses 7`}},
		{"O 7\nO 8", 7, []string{"etf.second-offset 2: a second O line, one; weft uses line 1"}},
	} {
		t.Run(x.line, func(t *testing.T) {
			got := parseText(t, x.line+"\nE 0 1 ;\n")
			got.defectsAre(t, x.defects...)
			if ns := got.decoder.Model.Clock.Epoch; ns != x.ms*1_000_000 {
				t.Errorf("found an epoch of %d ns, expected %d ms", ns, x.ms)
			}
		})
	}
}

// TestDocument_Attributes checks the sentences "Special characters thus are '=' and ','. If one of these is to
// be used in a key or value string, then it must be escaped by pre-fixing the character with a '\\'."
func TestDocument_Attributes(t *testing.T) {
	for _, x := range []struct {
		list, want string
		defects    []string
	}{
		{`name=E2, att = E2's name \= E2`, `name="E2" att="E2's name = E2"`, nil},
		{`date = Jan 12\, 2020`, `date="Jan 12, 2020"`, nil},
		{`path = c:\\dir`, `path="c:\\dir"`, nil},
		{`a=b ; c`, `a="b ; c"`, nil},
		{`name=a=b`, `name="a=b"`, []string{`etf.escape 2: a second "=": key "name" and value "a=b", "\=" for`}},
		{`a=b ; c=d`, `a="b ; c=d"`, []string{`etf.escape 2: a second "=": key "a" and value "b ; c=d"`}},
		{`path=C:\ docs`, `path="C: docs"`, []string{
			`etf.escape 2: a "\" that escapes nothing: key "path" and value "C: docs", "\\"`}},
		{`path=\ docs\ `, `path=" docs "`, nil},
		{`name=E2,`, `name="E2"`, []string{`etf.attribute 2: a "," at the end, key=value after each ","`}},
		{`path=c:\dir`, `path="c:dir"`, []string{
			`etf.escape 2: a "\" that escapes nothing: key "path" and value "c:dir", "\\"`}},
	} {
		t.Run(x.list, func(t *testing.T) {
			want := strings.ReplaceAll(x.want, `="`, `:string="`)
			// The first previous line makes the reader take the slow path, and the second one the fast path,
			// which knows the keys from the line before.
			for _, before := range []string{"E 1 0 ;\n", "E 1 0 ; " + strings.SplitN(x.list, "=", 2)[0] + "=x\n"} {
				got := parseText(t, before+"E 0 1 ; "+x.list+"\n# a last line\n")
				got.defectsAre(t, x.defects...)
				if last := got.events[len(got.events)-1]; !strings.HasSuffix(last, want) {
					t.Errorf("found %s, expected it to end in %s", last, want)
				}
			}
		})
	}
}

// TestTimeRounded checks that a time with too many digits is reported once, as written in the file.
func TestTimeRounded(t *testing.T) {
	got := parseText(t, "TU NANOSECONDS\nE 0 1.0000000001 ;\nE 3 1.1234567890123456789 ; a=b\nR 0 1 false ;\n"+
		"C 0 2.1234567890123456789 3 0 0.12345678901234567890 ;\n")
	got.defectsAre(t, "etf.time-rounded 2: 1.0000000001, at most 9 digits after the point",
		"etf.time-rounded 3: time 1.1234567890123456789, digits that fit 64 bits",
		"etf.time-rounded 5: time 2.1234567890123456789, digits that fit 64 bits")
}

// TestDocument_UniqueIDs checks the sentence "An event has an identifier (unique within the events)", and the
// like for other records. The defect is at the later line and names the earlier line, regardless of the order
// of their times.
func TestDocument_UniqueIDs(t *testing.T) {
	for _, x := range []struct {
		name, text string
		defects    []string
	}{
		{"events", "E 7 5 ;\nE 8 1 ;\nE 7 2 ;\nE 7 1 ;\n",
			[]string{"etf.duplicate-id 3: event id 7 twice, each id once; line 1 has the same id",
				"etf.duplicate-id 4: event id 7 twice, each id once; line 1 has the same id"}},
		{"claims", "R 0 9 false ;\nC 7 3 4 0 1 ;\nC 7 1 2 0 1 ;\n",
			[]string{"etf.duplicate-id 3: claim id 7 twice, each id once; line 2 has the same id"}},
		{"claims and events", "R 0 9 false ;\nC 7 3 4 0 1 ;\nE 7 1 ;\n", nil},
		{"dependencies", "E 0 1 ;\nE 1 2 ;\nD 4 4 0 1 ;\nD 4 4 1 0 ;\n",
			[]string{"etf.duplicate-id 4: dependency id 4 twice, each id once; line 3 has the same id"}},
		{"signals", "S 3 ;\nF 3 0 1 1 0 0\nS 3 ; name=again\n",
			[]string{"etf.duplicate-id 3: signal id 3 twice, each id once; weft uses line 1"}},
		{"resources", "R 3 1 false ;\n\nR 3 2 false ;\n",
			[]string{"etf.duplicate-id 3: resource id 3 twice, each id once; weft uses line 1"}},
		{"series", "TS 0 ;\nTSS 0 1 ;\nTSS 0 2 ;\nTSS 0 1 ;\n",
			[]string{"etf.duplicate-id 4: series id 0/1 twice, each id once; weft uses line 2"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			got := parseText(t, x.text)
			got.defectsAre(t, x.defects...)
		})
	}
}

// TestDocument_Amount checks the sentence "It claims 100.0 of the CPU resource". A negative amount is invalid.
func TestDocument_Amount(t *testing.T) {
	for line, want := range map[string][]string{
		"C 0 0 1 0 0 ;":   nil,
		"C 0 0 1 0 -5 ;":  {"etf.amount 2: amount -5, an amount ≥ 0"},
		"C 0 0 1 0 -5e0;": {"etf.amount 2: amount -5, an amount ≥ 0"},
	} {
		got := parseText(t, "R 0 1 false ;\n"+line+"\n")
		got.defectsAre(t, want...)
		if len(got.events) != 2 {
			t.Errorf("%s: found %d events, expected the claim's two", line, len(got.events))
		}
	}
}

// TestDocument_ByteOrderMark checks that a byte order mark is not part of the first line.
func TestDocument_ByteOrderMark(t *testing.T) {
	for _, text := range []string{"TU HOURS\nE 0 1 ;\n", "TraceVersion\tV0.1\nR\t1\t100\t%\t0\t2\tKrait\n"} {
		t.Run(strings.Fields(text)[0], func(t *testing.T) {
			src := write(t, "\uFEFF"+text)
			f, err := format.Detect([]format.Format{Format{}}, src)
			if err != nil || f == nil {
				t.Fatal(err)
			}
			plain, marked := parseText(t, text), parseText(t, "\uFEFF"+text)
			if diff := cmp.Diff(plain.events, marked.events) + cmp.Diff(plain.defects, marked.defects); diff != "" ||
				len(plain.defects) > 0 && plain.defects[0][:8] == "etf.keyw" {
				t.Errorf("%s %v", diff, plain.defects)
			}
			if a, b := plain.decoder.Model.Clock, marked.decoder.Model.Clock; a != b {
				t.Errorf("found clock %+v, expected %+v", b, a)
			}
		})
	}
}

// copyText converts a text to its own format.
func copyText(t *testing.T, text string) (string, []format.LossRow) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "y.etf")
	out, err := format.CreateFile(name)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Abort()
	loss, err := Format{}.Copy(t.Context(), write(t, text),
		&format.ReadOptions{Values: map[string]string{"etf.max-line": "100"}}, out, &format.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Commit(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b), loss.Rows()
}

// TestCopy checks that a conversion to the format itself loses nothing: comments, repeated
// definitions, unreadable lines and lines with an unescaped attribute stay unchanged and in place.
func TestCopy(t *testing.T) {
	text := "\uFEFF# about\r\n" +
		"TU  MILLISECONDS\r\n\n" +
		"T a = 1\nT a=2\nT\nE 0 1.50;name = x\n" +
		"E 1 2 ; name=x, name=y\n  # more\nE 2 2 ; k\nX 5 6\nE bad\n" +
		"R 0 1e2 FALSE;\nR 0 7 false ;\nC 3 0 1 0 -5 ;\nC 0 5 4 0 1 ;\nD 0 9 0 1 ;\n" +
		"S 0 ; name=s\nS 0 ; name=t\nF 0 0 1 1.0 0 0\nF 0 2 1 1 0 0\n" +
		"TU HOURS\nO 5.5\nO 7\nE 9 1 ; p=c:\\dir\nTSP 1 0 (0, 20.5) (1, 21)"
	want := "# about\n" +
		"TU MILLISECONDS\n\n" +
		"T a=1\nT a=2\nT\nE 0 1.5 ; name=x\n" +
		"E 1 2 ; name=x, name=y\n  # more\nE 2 2 ; k\nX 5 6\nE bad\n" +
		"R 0 100 false ;\nR 0 7 false ;\nC 3 0 1 0 -5 ;\nC 0 5 4 0 1 ;\nD 0 9 0 1 ;\n" +
		"S 0 ; name=s\nS 0 ; name=t\nF 0 0 1 1 0 0\nF 0 2 1 1 0 0\n" +
		"TU HOURS\nO 5.5\nO 7\nE 9 1 ; p=c:\\dir\nTSP 1 0 0 20.5 1 21\n"
	got, loss := copyText(t, text)
	if diff := cmp.Diff(want, got); diff != "" || len(loss) > 0 {
		t.Errorf("losses %v\n%s", loss, diff)
	}
	if again, _ := copyText(t, got); again != got {
		t.Errorf("a copy of the copy differs: %s", cmp.Diff(got, again))
	}
	if diff := cmp.Diff(parseText(t, text+"\n").defects, parseText(t, got).defects); diff != "" {
		t.Error(diff)
	}
}

// A carriage return inside a line is no line end (docs/formats/etf.md, "File"), and no defect. A copy keeps it, as
// a value with a blank in its place is another value.
func TestCopyOfCarriageReturns(t *testing.T) {
	const text = "T x\ry=1\nE 0 1 ; a=b\rE 1 2 ;\r\nR 0 1 false ; name=p\r\rq\n"
	got, loss := copyText(t, text)
	if diff := cmp.Diff(strings.ReplaceAll(text, "\r\n", "\n"), got); diff != "" || len(loss) > 0 {
		t.Errorf("losses %v\n%s", loss, diff)
	}
}

// TestCopyOfLongLines checks that a line above the length limit is lost.
func TestCopyOfLongLines(t *testing.T) {
	got, loss := copyText(t, "E 0 1 ;\n# "+strings.Repeat("x", 200)+"\nE 1 1 ;\n")
	want := []format.LossRow{{Kind: "line", How: format.Lost, Reason: "longer than the option etf.max-line allows",
		Count: 1}}
	if diff := cmp.Diff(want, loss); diff != "" || got != "E 0 1 ;\nE 1 1 ;\n" {
		t.Errorf("%q %s", got, diff)
	}
}

// TestDocument_TraceAttributes checks the sentence "The T line specifies general attributes of the execution
// trace". The number of attributes is not limited. Keys that occur in several T lines occur as often after a
// conversion through the model.
func TestDocument_TraceAttributes(t *testing.T) {
	name := filepath.Join(t.TempDir(), "y.etf")
	src := write(t, "T name = one\nT name = two\nT name = three, k = v\nE 0 1 ;\n")
	d := tracetest.Open(t, Format{}, src, nil)
	d.Defs().Native = nil // do not write original lines
	if loss := tracetest.Encode(t, Format{}, d, name); len(loss.Rows()) > 0 {
		t.Error(loss.Rows())
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("TU SECONDS\nT name=one\nT name=two\nT name=three, k=v\nE 0 1 ;\n", string(got)); diff != "" {
		t.Error(diff)
	}
}

// TestCopyOfLegacy checks that a copy of a trace of version 0.1 keeps comments, and keeps unreadable lines as
// comments.
func TestCopyOfLegacy(t *testing.T) {
	got, loss := copyText(t, "TraceVersion\tV0.1\n# about\nConfigurationSource\tnone.txt\n"+
		"R\t1\t100\t%\t0\t2\tKrait\nX\t1\n")
	want := "# about\nTU SECONDS\nT TraceVersion=V0.1, ConfigurationSource=none.txt\nR 1 100 false ; " +
		"attribute1=Krait, unit=%, name=Krait\n# X\t1\n"
	if diff := cmp.Diff(want, got); diff != "" || len(loss) > 0 {
		t.Errorf("losses %v\n%s", loss, diff)
	}
}

// TestKeptRecordsAreNotSkipped checks that records kept by a rewrite are not reported as skipped.
func TestKeptRecordsAreNotSkipped(t *testing.T) {
	got := parseText(t, "C 0 5 4 0 1 ;\nR 0 1 false ;\nS 0 ;\nF 0 2 1 1 0 0\nD 0 9 0 1 ;\nX 1\nTSR 1 0 2 1 5\nE bad\n")
	for _, d := range got.defects {
		if strings.Contains(d, "skipped") {
			t.Error(d)
		}
	}
	got.defectsAre(t, "etf.claim-times 1: ", "etf.fragment-times 4: ", "etf.dependency-type 5: ", "etf.keyword 6: ",
		"etf.fragment-times 7: ", "etf.number 8: ", "etf.empty-signal 3: ")
}

// TestDocument_Comments checks the sentence "Comments start with a #". A trace that is converted through the
// model keeps its comments, and keeps repeated definitions as comments. Cut traces, and traces converted to
// another format and back, keep them too. The loss table counts comments that are too many to be kept.
func TestDocument_Comments(t *testing.T) {
	dir := t.TempDir()
	src := write(t, "# about\nTU SECONDS\nO 0\nS 0 ; name=s\n  # more\r\nS 0 ; name=t\nF 0 0 1 1 0 0\nX 5 6\nTU "+
		"HOURS\nO 7\nR bad\nE 0 1 ;\n")
	want := "# about\nTU SECONDS\nO 0\nX 5 6\n# TU HOURS\n# O 7\nR bad\nE 0 1 ;\nS 0 ; name=s\n  # more\n# S 0 ; " +
		"name=t\nF 0 0 1 1 0 0\n"
	d := tracetest.Open(t, Format{}, src, nil)
	loss := tracetest.Encode(t, Format{}, d, filepath.Join(dir, "y.etf"))
	got, err := os.ReadFile(filepath.Join(dir, "y.etf"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	if rows := loss.Rows(); len(rows) > 0 {
		t.Errorf("found losses %+v, expected none", rows)
	}
	// Another format does not keep the places of comments. All comments but the first one had a place.
	moved := &format.Loss{}
	if err := format.LostDefinitions(t.Context(), d, d.Defs(), "otf", moved); err != nil {
		t.Fatal(err)
	}
	rows := moved.Rows()
	if len(rows) != 2 || rows[0].Kind != "line" || rows[0].How != format.Lost || rows[0].Count != 1 ||
		rows[1].Kind != "comment" || rows[1].How != format.Degraded || rows[1].Count != 5 {
		t.Errorf("found losses %+v, expected a lost line, and that all but the first of 6 comments have another place", rows)
	}
	many := tracetest.Open(t, Format{}, write(t,
		strings.Repeat("# "+strings.Repeat("x", 1000)+"\n", maxKept/1000)+"E 0 1 ;\n"), nil)
	lost := &format.Loss{}
	if err := format.LostDefinitions(t.Context(), many, many.Defs(), "otf", lost); err != nil {
		t.Fatal(err)
	}
	kept := int64(many.Defs().Opaque.Len())
	if n := lost.Lost(); n < 1 || n+kept != maxKept/1000 {
		t.Errorf("%d comments are kept and %d lost, expected %d together, and some lost", kept, n, maxKept/1000)
	}
}

// TestDocument_DependencyTypes checks the sentence "There are nine types of dependencies". The document says
// only for types 0, 4 and 6 which events or claims they connect.
func TestDocument_DependencyTypes(t *testing.T) {
	start, end, event := trace.AtClaimStart, trace.AtClaimEnd, trace.AtEvent
	text := "R 0 9 false ;\nC 1 1 2 0 1 ;\nC 2 3 5 0 1 ;\nE 1 7 ;\nE 2 8 ;\n"
	for typ := range 9 {
		text += fmt.Sprintf("D %d %d 1 2 ;\n", typ, typ)
	}
	src := write(t, text)
	var got [][2]trace.EndKind
	var times [][2]int64
	d := tracetest.Open(t, Format{}, src, nil)
	err := d.Scan(t.Context(), everything, format.GlobalOrder, format.SinkFuncs{OnLinks: func(l []trace.Link) error {
		for _, x := range l {
			got = append(got, [2]trace.EndKind{x.Src.Kind, x.Dst.Kind})
			times = append(times, [2]int64{x.Src.Time, x.Dst.Time})
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := [][2]trace.EndKind{{start, start}, {start, end}, {end, start}, {end, end}, {event, event}, {start, event},
		{end, event}, {event, start}, {event, end}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][2]int64{{1, 3}, {1, 5}, {2, 3}, {2, 5}, {7, 8}, {1, 8}, {2, 8}, {7, 3}, {7, 5}}, times); diff !=
		"" {
		t.Error(diff)
	}
}

// TestUTF16 checks that a text in UTF-16 is named as such. The shell of Windows writes it for `weft … > x.etf`.
func TestUTF16(t *testing.T) {
	for bom, order := range map[string]binary.AppendByteOrder{
		"\xff\xfe": binary.LittleEndian, "\xfe\xff": binary.BigEndian,
	} {
		b := []byte(bom)
		for _, c := range "R 0 1 false ; name=CPU\r\nE 0 1 ;\r\n" {
			b = order.AppendUint16(b, uint16(c))
		}
		_, err := format.Detect([]format.Format{Format{}}, write(t, string(b)))
		if err == nil || !strings.Contains(err.Error(), "UTF-16") {
			t.Errorf("%q: found %v", bom, err)
		}
	}
}
