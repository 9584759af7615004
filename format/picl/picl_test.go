package picl

import (
	"bytes"
	"context"
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

func write(t *testing.T, text string) format.Source {
	t.Helper()
	name := filepath.Join(t.TempDir(), "x.trf")
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return format.FileSource(name)
}

// TestData checks data fields in all spellings (specification section 2).
func TestData(t *testing.T) {
	i32 := func(v ...int64) (out []trace.Value) {
		for _, x := range v {
			out = append(out, trace.Value{Num: uint64(x), Type: trace.Int32})
		}
		return
	}
	str := trace.StringValue
	d := newDefinitions()
	d.addDescriptor(redefinition{scope{-1, -1, -1, 1}, 6, mustControl("%d%lf")})
	d.addDescriptor(redefinition{scope{7, -1, -1, 1}, 2, mustControl("%s")})
	for _, x := range []struct {
		n    int64
		data string
		want []trace.Value
	}{
		{3, ` 2 8 1 7`, i32(8, 1, 7)},
		{3, ` "%d" 8 1 7`, i32(8, 1, 7)},
		{1, ` "%d%d%d" 8 1 7`, i32(8, 1, 7)},
		{3, " \t2\t-8  +1 7 \r", append(i32(-8), append(i32(1), i32(7)...)...)},
		{2, ` "%d%lf" -21 0.5 3 1e-3`, []trace.Value{i32(-21)[0], trace.FloatValue(0.5), i32(3)[0], trace.FloatValue(0.001)}},
		{1, ` 6 5 2.5`, []trace.Value{i32(5)[0], trace.FloatValue(2.5)}},
		{1, ` "%d %s" 4 x=12`, []trace.Value{i32(4)[0], str("x=12")}},
		{1, ` "(%d,%d)" (3,4)`, i32(3, 4)},
		{1, ` 3 9999999999`, []trace.Value{trace.IntValue(9999999999)}},
		{1, ` 4 0.1`, []trace.Value{{Num: 0x3dcccccd, Type: trace.Float32}}},
		{8, ` 0 data.bin`, []trace.Value{str("data.bin")}},
		{9, ` 0 two words`, []trace.Value{str("two words")}},
		{4, ` "%c" h a l o`, []trace.Value{str("halo")}},
		{2, ` 1 a b`, []trace.Value{str("a"), str("b")}},
		{0, ``, nil},
	} {
		var h head
		got, p := parseData([]byte(x.data), x.n, &h, 5, &descriptorResolver{defs: d}, nil)
		if p.rule != "" {
			t.Errorf("%q: %+v", x.data, p)
		}
		if diff := cmp.Diff(x.want, got); diff != "" {
			t.Errorf("%q: %s", x.data, diff)
		}
		// The record is written and read again.
		r := Record{Values: got}
		line := r.Append(nil, 6)
		i, _ := h.parse(line, 6)
		back, _ := parseData(line[i:], h.f[5], &h, 5, &descriptorResolver{defs: newDefinitions()}, nil)
		if diff := cmp.Diff(got, back); diff != "" {
			t.Errorf("%q written as %q: %s", x.data, line, diff)
		}
	}
	// A record redefines this descriptor for one event type.
	h := head{f: [6]int64{-3, 7, 0, 0, 0, 1}}
	if got, _ := parseData([]byte(" 2 x"), 1, &h, 5, &descriptorResolver{defs: d}, nil); len(got) != 1 ||
		got[0].Str != "x" {
		t.Errorf("redefined descriptor: %v", got)
	}
}

// TestQuickHead checks that the fast parser of a line's head agrees with the full parser, or reports that it
// cannot parse the line.
func TestQuickHead(t *testing.T) {
	for _, l := range []string{
		"-3 -21 0.001665 6 0 3 2 8 1 7", "-4 0 12 3 -1 0", "-3 -901          0 0 -1 0 ", "-3 -1 -0.5 0 0 0",
		"17 1 1e-5 1 0 0",
		"-3 0 99999999999999999999.5 0 0 0", "-3 0 .5 0 0 0", "-3 0 5. 0 0 0", "", "-", "-3", "-3 0 0.1 0 0",
		"-3 0 0.1 0 0 x", "- 3 0.1 0 0 0",
		"-3 12 3.5 10 99 0", "-3 1\t3.5 10 0 0", "-3 123 13.5 100 0 12 2 1", "-30 1 .5 1 0 0", "-3 1 x.5 1 0 0",
		"-3 1 5.x 1 0 0", "-3 1 -.5 1 0 0", "-0 1 1.5 1 0 0", "-4 5 7.272071814 15 0 0",
	} {
		var a, b head
		data := []byte(l + "\n")
		i := a.parseFast(data)
		j, bad := b.parse([]byte(l), 6)
		if i >= 0 && (bad >= 0 || i != j || a.f != b.f || a.scale != b.scale) {
			t.Errorf("%q: quick %v scale %d to %d, thorough %v scale %d to %d (bad %d)", l, a.f, a.scale, i, b.f, b.scale, j,
				bad)
		}
	}
}

// TestShortList checks that the fast parser of a list of integers agrees with the full parser, or reports that
// it cannot parse the list, for any text after the list.
func TestShortList(t *testing.T) {
	for _, l := range []string{" 1", " 12345678 9", " 1234567 -5 0", " -1 -12345678901", " 1  2", " 1 x", " +1 2",
		" 1 2 3 4 5", " 12345678901 1", "", " ", " 1 ", "1 2", " 0007 1"} {
		fields := strings.Fields(l)
		for _, after := range []string{"\n", "\n-3 0 0.5 1 0 0\n-3 0 0.5 1 0 0\n"} {
			out := make([]int64, len(fields))
			i := parseIntegerList([]byte(l+after), 0, out)
			if i < 0 || i != len(l) {
				continue
			}
			want, ok := parseIntegers([]byte(l), int64(len(fields)), nil)
			if !ok {
				t.Errorf("%q: %v, which is no list", l, out)
			}
			for k, v := range want {
				if v.Int() != out[k] {
					t.Errorf("%q: %v, want %v", l, out, want)
				}
			}
		}
	}
	out := make([]int64, 6)
	if l := " 2 352104 8192 -1 14 0\n"; parseIntegerList([]byte(l), 0, out) != len(l)-1 ||
		!slices.Equal(out, []int64{2, 352104, 8192, -1, 14, 0}) {
		t.Errorf("%q: %v", l, out)
	}
}

// TestLabels checks which label applies to an event: the most specific one, and of equally specific labels the
// later one, from the line of the label on.
func TestLabels(t *testing.T) {
	d := tracetest.Open(t, Format{}, write(t, `-5 -1001 -1 -1 -1 4 0 user
-5 3 -1 -1 -1 5 0 three
-5 3 -1 1 -1 7 0 three-1
-201 -1 -1 -1 -1 3 2 -2 2 3
-5 3 -1 -2 -1 5 0 3-set
-3 3 0.1 0 0 0
-3 3 0.2 1 0 0
-3 3 0.3 2 0 0
-3 4 0.4 0 0 0
-5 3 0.5 -1 -1 5 0 later
-3 3 0.6 0 0 0
-3 3 0.7 1 0 0
-3 -21 0.8 0 0 0
`), nil)
	var got []string
	for _, l := range tracetest.Dump(t, d, everything) {
		f := strings.Fields(l)
		got = append(got, f[1]+" "+f[3])
	}
	want := []string{`0/0 "three"(3)`, `1/0 "three-1"(3)`, `2/0 "3-set"(3)`, `0/0 "user"(4)`, `0/0 "later"(3)`,
		`1/0 "three-1"(3)`, `0/0 "send0"(-21)`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestLabelsOfSubsets checks that a label of a subset names all event types of the subset, whatever the number
// of the subset and the order of the records.
func TestLabelsOfSubsets(t *testing.T) {
	const set, label = "-203 -1 -1 -1 -1 3 2 100 7 8\n", "-5 100 -1 -1 -1 4 0 pair\n"
	for _, text := range []string{set + label, label + set} {
		d := tracetest.Open(t, Format{}, write(t, text+"-2 7 0.1 0 0 0\n-2 9 0.2 0 0 0\n-2 100 0.3 0 0 0\n"), nil)
		var got []string
		for _, l := range tracetest.Dump(t, d, everything) {
			got = append(got, strings.Fields(l)[3])
		}
		if diff := cmp.Diff([]string{`"pair"(7)`, `"event`, `"pair"(100)`}, got); diff != "" {
			t.Error(diff)
		}
	}
}

// TestLabelsOfPredefined_2_1 checks that a label of a subset names the event types of the predefined subsets in it.
func TestLabelsOfPredefined_2_1(t *testing.T) {
	d := tracetest.Open(t, Format{}, write(t, "-203 -1 -1 -1 -1 3 2 -2000 -1012 -11\n-5 -2000 -1 -1 -1 4 0 pair\n"+
		"-2 -21 0.1 0 0 0\n-2 -11 0.2 0 0 0\n-2 -51 0.3 0 0 0\n"), nil)
	var got []string
	for _, l := range tracetest.Dump(t, d, everything) {
		got = append(got, strings.Fields(l)[3])
	}
	if diff := cmp.Diff([]string{`"pair"(-21)`, `"pair"(-11)`, `"recv0"(-51)`}, got); diff != "" {
		t.Error(diff)
	}
}

// TestUserRecords_2_3_1 checks that a trace may have many types of user records.
func TestUserRecords_2_3_1(t *testing.T) {
	var text strings.Builder
	for i := range 1500 {
		fmt.Fprintf(&text, "%d 0 0.1 0 0 0\n", i)
	}
	d := tracetest.Open(t, Format{}, write(t, text.String()), nil)
	if n := d.Defs().Kinds.Len(); n != 1500 {
		t.Errorf("found %d kinds of records, expected 1500", n)
	}
}

// TestProcessMinusOne checks that process -1 is the only process of its processor if the processor has only
// one process.
func TestProcessMinusOne(t *testing.T) {
	d := tracetest.Open(t, Format{},
		write(t, "-3 0 0.1 0 -1 0\n-4 0 0.2 0 5 0\n-3 0 0.3 1 0 0\n-4 0 0.4 1 7 0\n-3 0 0.5 1 -1 0\n-3 0 0.6 2 -1 0\n"), nil)
	var ids []string
	for _, l := range d.Defs().Locations.All() {
		ids = append(ids, l.ID)
	}
	if diff := cmp.Diff([]string{"0/5", "1/-1", "1/0", "1/7", "2/-1"}, ids); diff != "" {
		t.Error(diff)
	}
}

// TestWorley checks the trace of Table 20 in the paper by Worley. The records agree with its statistics,
// except for the bytes of trace data. The continuation lines of the paper make no difference.
func TestWorley(t *testing.T) {
	for _, file := range []string{"worley-table20.trf", "worley-table20-wrapped.trf"} {
		src := format.FileSource("testdata/ok/" + file)
		rep := format.NewReport()
		opt := &format.ReadOptions{Report: rep}
		d := tracetest.Open(t, Format{}, src, opt)
		if err := d.NewChecker().Finish(context.Background()); err != nil {
			t.Fatal(err)
		}
		if r := rep.Rules(); len(r) != 1 || r[0].Rule != "picl.statistics-unknown" || r[0].Count != 1 {
			t.Errorf("%s: %v", file, r)
		}
		if c := d.Defs().Clock; c.Num != 1_000_000 {
			t.Errorf("clock %+v", c)
		}
		if first, last, _, err := d.Extent(t.Context()); first != -715036 || last != 1982 || err != nil {
			t.Errorf("extent %d to %d, %v", first, last, err)
		}
	}
}

// TestStatisticsWritten checks that the computed statistics are those of Table 20 to the
// microsecond, except for the volume of -901.
func TestStatisticsWritten(t *testing.T) {
	text, err := os.ReadFile("testdata/ok/worley-table20.trf")
	if err != nil {
		t.Fatal(err)
	}
	var events, stats []string
	for _, l := range strings.SplitAfter(string(text), "\n") {
		if strings.HasPrefix(l, "-10") {
			stats = append(stats, strings.TrimSpace(l))
		} else {
			events = append(events, l)
		}
	}
	got := copyText(t, strings.Join(events, ""), map[string]string{"picl.statistics": "true"})
	for _, s := range stats {
		// Times may differ in the last digit because the clock of the paper was finer than the printed times.
		s = strings.NewReplacer("0.001212", "0.001213", "0.008083", "0.008084", "0.705632", "0.705633", "0.000387",
			"0.000388", " -901 428", "", "3 \"%d%d\" -21 8 -52 16", "2 \"%d%d\" -21 8 -52 16").Replace(s)
		if !strings.Contains(got, s+"\n") {
			t.Errorf("no %s in\n%s", s, got)
		}
	}
}

func copyText(t *testing.T, text string, options map[string]string) string {
	t.Helper()
	var b bytes.Buffer
	out := format.StreamOutput(&b)
	if _, err := (Format{}).Copy(context.Background(), write(t, text), &format.ReadOptions{}, out,
		&format.WriteOptions{Values: options}); err != nil {
		t.Fatal(err)
	}
	if err := out.Commit(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestBrackets checks that marks become pairs of entry and exit, and become marks again. The fields must be at
// the positions that the specification requires (section 2.3.3).
func TestBrackets(t *testing.T) {
	const marks = "-2 -21 0.000600 0 0 4 2 64 9 1 -1\n"
	const pair = "-3 -21 0.000600 0 0 4 2 64 9 1 -1\n-4 -21 0.000600 0 0 0\n"
	if got := copyText(t, marks, map[string]string{"picl.brackets": "entry-exit"}); got != pair {
		t.Errorf("entry and exit:\n%s", got)
	}
	const wait = "-3 -52 0.000100 0 0 3 2 1 0 0\n-4 -52 0.000200 0 0 4 2 256 1 1 0\n"
	if got, want := copyText(t, wait, map[string]string{"picl.brackets": "mark"}),
		"-2 -52 0.000200 0 0 7 2 1 0 0 256 1 1 0\n"; got != want {
		t.Errorf("mark:\n%s", got)
	}
}

// TestParaGraph checks the form that ParaGraph reads. The processors are 0 … P-1, each has one process, the
// events are between the entry and exit of event type -901, and the trace has no host.
func TestParaGraph(t *testing.T) {
	got := copyText(t, `-5 0 -1 -1 -1 1 0 x
-3 0 0.1 6 3 0
-4 0 0.2 6 3 0
-3 -501 0.3 32767 0 1 2 2
-3 -901 0.3 9 0 0
-2 1 0.35 9 0 0
-4 -901 0.4 9 0 0
-3 0 0.5 6 3 0
`, map[string]string{"picl.paragraph": "true"})
	want := `-3 -901 0.100000 0 0 0
-3 0 0.100000 0 0 0
-4 0 0.200000 0 0 0
-3 -901 0.300000 1 0 0
-2 1 0.350000 1 0 0
-4 -901 0.400000 1 0 0
-3 0 0.500000 0 0 0
-4 -901 0.500000 0 0 0
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestDamagedFirstLineOfOldFormat checks that a trace of the old format whose first lines are damaged is recognised by
// its other lines, and gives the events of these.
func TestDamagedFirstLineOfOldFormat(t *testing.T) {
	for _, name := range []string{"old-synthetic-compact.trf", "old-synthetic-verbose.trf"} {
		text, err := os.ReadFile("testdata/ok/" + name)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), "\n")
		dump := func(text string) []string {
			path := filepath.Join(t.TempDir(), "x.trf")
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			return tracetest.Dump(t, tracetest.Open(t, Format{}, format.FileSource(path), nil), everything)
		}
		want := dump(rest)
		for damaged, least := range map[string]int{"1 0 x y z\n": 80, "1\n": 80, "\x01\xff\n\n?\n": 80,
			"trace_st  clock 0 0 node 0\n": 80, strings.Repeat("?\n", 40): 20} {
			if n := (Format{}).Probe("x.trf", []byte(damaged+rest)); n < least {
				t.Errorf("%s after %q: found confidence %d, expected at least %d", name, damaged, n, least)
			}
			if diff := cmp.Diff(want, dump(damaged+rest)); diff != "" {
				t.Errorf("%s after %q: %s", name, damaged, diff)
			}
		}
	}
	if n := (Format{}).Probe("x.txt", []byte("some text\nof 4\n4 0 200 0 1 7 32768\nmore\n")); n != 0 {
		t.Errorf("a text: found confidence %d, expected 0", n)
	}
	if n := probeOld([]byte("5 0 0.5 1 0 0\n4 0 2 0 1 7 3\n4 0 2 0\n")); n != 0 {
		t.Errorf("the new format: found confidence %d for the old format, expected 0", n)
	}
}

// TestOldFormat checks that the compact and the verbose spelling of an old-format trace give the same events.
// docs/formats/picl.md describes the events.
func TestOldFormat(t *testing.T) {
	dump := func(name string) []string {
		return tracetest.Dump(t, tracetest.Open(t, Format{}, format.FileSource("testdata/ok/"+name), nil), everything)
	}
	compact, verbose := dump("old-synthetic-compact.trf"), dump("old-synthetic-verbose.trf")
	if diff := cmp.Diff(compact, verbose); diff != "" {
		t.Errorf("compact and verbose differ:\n%s", diff)
	}
	all := strings.Join(compact, "\n")
	for _, want := range []string{
		`200 0/0 enter "send0"(-21) length:int32="32768" type:int32="7" destination:int32="1"`,
		`260 0/0 leave "send0"(-21)`, // the leave is at the second compstats record
		`150 1/0 enter "recv0 (waited)"(-52)`,
		`900 1/0 recv sender=0/0 communicator=-1 tag=7 length=32768 derived`,
		`100 0/0 enter "event 0"(0)`,
		`260 0/0 record 11 "all"(-1) data0:int32="0" data1:int32="100"`,
		`260 0/0 record 12 "all"(-1) data0:int32="0" data1:int32="0" data2:int32="1" data3:int32="32768" ` +
			`data4:int32="0"`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no %s in\n%s", want, all)
		}
	}
}

// TestAnyOrder checks files whose records are ordered only per processor, and unordered files. They must give
// the events of the sorted file.
func TestAnyOrder(t *testing.T) {
	var sorted, flushed, shuffled []string
	rec := func(i int) string {
		return fmt.Sprintf("%d %d %.6f %d 0 0\n", -3-i%2, i/2%5, float64(i)/1e6, i/2%8)
	}
	const n = 4000
	for i := range n {
		sorted = append(sorted, rec(i))
		shuffled = append(shuffled, rec(i*1337%n))
	}
	for p := range 8 {
		for i := range n {
			if i/2%8 == p {
				flushed = append(flushed, rec(i))
			}
		}
	}
	dump := func(l []string) []string {
		return tracetest.Dump(t,
			tracetest.Open(t, Format{}, write(t, strings.Join(l, "")), &format.ReadOptions{Memory: 1 << 20}), everything)
	}
	a := dump(sorted)
	if diff := cmp.Diff(a, dump(flushed)); diff != "" || len(a) != n {
		t.Errorf("flushed per processor (%d events): %s", len(a), diff)
	}
	if diff := cmp.Diff(a, dump(shuffled)); diff != "" {
		t.Errorf("shuffled: %s", diff)
	}
}

// TestReader checks that the reader returns every record with its data in file order.
func TestReader(t *testing.T) {
	r, err := NewReader(context.Background(), format.FileSource("testdata/ok/feature-coverage.trf"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	types := map[int64]int{}
	var rec Record
	for r.Read(&rec) == nil {
		types[rec.Type]++
	}
	// The expected counts were determined with other tools, not by this reader.
	want := map[int64]int{-203: 1, -202: 1, -201: 1, -101: 1, -7: 1, -6: 1, -5: 3, -4: 16, -3: 16, -2: 3, 3: 1, 17: 2}
	if diff := cmp.Diff(want, types); diff != "" {
		t.Error(diff)
	}
}

// TestTick checks that a tick of the trace is as short as the digits of the times require.
func TestTick(t *testing.T) {
	for _, x := range []struct {
		times []string
		want  []int64
	}{
		{[]string{"0.10", "0.11", "0.2"}, []int64{10, 11, 20}},
		{[]string{"0.100", "0.200", "1.000"}, []int64{1, 2, 10}},
		{[]string{"1", "1.00", "1.05", "2.0000"}, []int64{100, 100, 105, 200}},
		{[]string{"0.5", "0.25", "0.123456789"}, []int64{123456789, 250000000, 500000000}},
	} {
		var text strings.Builder
		for _, s := range x.times {
			text.WriteString("-4 1 " + s + " 0 0 0\n")
		}
		d, err := Format{}.Open(t.Context(), write(t, text.String()), &format.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		err = d.Scan(t.Context(), trace.Everything(), format.GlobalOrder,
			format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
				got = append(got, b.Time...)
				return nil
			}})
		if err != nil || !slices.Equal(got, x.want) {
			t.Errorf("%v: %v, want %v, error %v", x.times, got, x.want, err)
		}
		d.Close()
	}
}

// TestPieces checks the texts of events in a file of several sorted pieces. The texts must keep their bytes
// although the merge reuses the blocks of the pieces.
func TestPieces(t *testing.T) {
	var text strings.Builder
	for piece := 3; piece >= 0; piece-- {
		for i := range 6000 {
			fmt.Fprintf(&text, "-7 -1 %d.%03d 0 0 11 0 hello %05d\n", 10*piece+i/1000, i%1000, i)
		}
	}
	d, err := Format{}.Open(t.Context(), write(t, text.String()), &format.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	n := int64(0)
	err = d.Scan(t.Context(), trace.Everything(), format.GlobalOrder,
		format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
			for c := b.Cursor(); c.Next(); n++ {
				_, vals := c.Attrs()
				if want := fmt.Sprintf("hello %05d", n%6000); len(vals) != 1 || vals[0].Str != want ||
					c.Time() != 10000*(n/6000)+n%6000 {
					return fmt.Errorf("row %d at %d: %v, want %s", n, c.Time(), vals, want)
				}
			}
			return nil
		}})
	if err != nil || n != 24000 {
		t.Errorf("%d rows, error %v", n, err)
	}
}
