package picl

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// TestParaGraphBrackets_10 checks that ParaGraph's brackets surround all records of a process,
// regardless of their order in the file.
func TestParaGraphBrackets_10(t *testing.T) {
	for _, x := range []struct{ name, text, want string }{
		{"records outside on both sides", "-3 1 -0.5 0 0 0\n-3 -901 0.0 0 0 0\n-4 -901 1.0 0 0 0\n-4 1 1.1 0 0 0\n",
			"-3 -901 -0.500000 0 0 0\n-3 1 -0.500000 0 0 0\n-4 1 1.100000 0 0 0\n-4 -901 1.100000 0 0 0\n"},
		{"not in the order of time", "-3 -901 0.0 0 0 0\n-3 1 0.2 0 0 0\n-4 1 -0.4 0 0 0\n",
			"-3 -901 -0.400000 0 0 0\n-3 1 0.200000 0 0 0\n-4 1 -0.400000 0 0 0\n-4 -901 0.200000 0 0 0\n"},
		{"off and on again", "-3 -901 0.0 0 0 0\n-4 -901 0.1 0 0 0\n-3 -901 0.2 0 0 0\n-2 1 0.3 0 0 0\n-4 -901 0.4 0 0 0\n",
			"-3 -901 0.000000 0 0 0\n-4 -901 0.100000 0 0 0\n-3 -901 0.200000 0 0 0\n-2 1 0.300000 0 0 0\n-4 -901 0.400000 0 " +
				"0 0\n"},
	} {
		t.Run(x.name, func(t *testing.T) {
			if diff := cmp.Diff(x.want, copyText(t, x.text, map[string]string{"picl.paragraph": "true"})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestTracingBrackets_2_3_3 checks that a trace of another format gets an entry and an exit of event type -901
// for each process. A reader of the written file leaves these records out. If the file was written with
// --plain, they are ordinary events.
func TestTracingBrackets_2_3_3(t *testing.T) {
	for _, plain := range []bool{false, true} {
		r := trace.NewRecorder(trace.TicksPerSecond(10))
		d := r.Defs()
		d.Format, d.Origin = "etf", "etf"
		for _, id := range []string{"0", "1"} {
			d.Locations.Add(trace.Location{ID: id, Group: trace.NoRef})
		}
		d.Regions.Add(trace.Region{ID: "0", Name: "work"})
		var text bytes.Buffer
		out := format.StreamOutput(&text)
		e, err := (Format{}).Create(out, &format.WriteOptions{Plain: plain})
		if err != nil {
			t.Fatal(err)
		}
		b := &trace.Batch{}
		b.Reset(trace.MixedLoc)
		for i, k := range []trace.Kind{trace.Enter, trace.Enter, trace.Leave, trace.Leave} {
			b.Add(uint32(i%2), int64(i+1), k, 0)
		}
		if err := errors.Join(e.Begin(d), e.(format.Sink).Batch(b), e.Close(), out.Commit()); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range strings.Split(text.String(), "\n") {
			if strings.HasPrefix(l, "-3 ") || strings.HasPrefix(l, "-4 ") {
				got = append(got, l)
			}
		}
		want := []string{"-3 -901 0.100000 0 0 0", "-3 0 0.100000 0 0 0", "-3 -901 0.200000 1 0 0", "-3 0 0.200000 1 0 0",
			"-4 0 0.300000 0 0 0", "-4 -901 0.300000 0 0 0", "-4 0 0.400000 1 0 0", "-4 -901 0.400000 1 0 0"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("plain %v: %s", plain, diff)
		}
		_, rows, rules := opened(t, text.String(), nil)
		if n := map[bool]int{false: 4, true: 8}[plain]; len(rows) != n || len(rules) > 0 {
			t.Errorf("plain %v: %d rows, want %d; %v\n%s", plain, len(rows), n, rules, strings.Join(rows, "\n"))
		}
	}
}

// TestTexts_2_2_2 checks that texts with blanks among other values are kept when the writer writes records
// again, and that the loss table lists what cannot be kept.
func TestTexts_2_2_2(t *testing.T) {
	for _, x := range []struct {
		name   string
		values []any
		line   string // line in the written file
		loss   string
	}{
		{"after a number", []any{3, "big world"}, `1 "%d %9c" 3 big world`, ""},
		{"with a blank ahead", []any{3, " big world"}, `1 "%d%10c" 3 big world`, ""},
		{"first", []any{"big world", 3}, `1 "%9c%d" big world 3`, ""},
		{"first, with a blank ahead", []any{" a b", 3}, `1 "%4c%d"  a b 3`, ""},
		{"digits", []any{3, "4 5"}, `1 "%d %3c" 3 4 5`, ""},
		{"blanks at the end", []any{3, "a b  "}, `1 "%d %5c;" 3 a b  ;`, ""},
		{"backslash at the end", []any{3, `a b\`}, `1 "%d %4c;" 3 a b\;`, ""},
		{"word with a backslash at the end", []any{3, `a\`}, `1 "%d %2c;" 3 a\;`, ""},
		{"word with a backslash at its end, first", []any{`a\`, 3}, `1 "%s%d" a\ 3`, ""},
		{"two", []any{"a b", "c d"}, `1 "%3c %3c" a b c d`, ""},
		{"among words", []any{"a", "c d", "e"}, `1 "%s %3c%s" a c d e`, ""},
		{"alone", []any{"a b"}, `3 0 a b`, ""},
		{"words", []any{3, "a", 4, "b"}, `2 "%d%s" 3 a 4 b`, ""},
		{"empty", []any{3, ""}, `1 "%d%s" 3 -`, "an empty text among other values was replaced by -"},
		{"empty, alone", []any{""}, `0`, "an empty text is left out"},
		{"line end", []any{3, "a\nb"}, `1 "%d %3c" 3 a b`, "a line end was replaced by a blank"},
	} {
		t.Run("2.2.2 "+x.name, func(t *testing.T) {
			d, _, _ := opened(t, "1 5 0.1 0 0 5 2 1 2 3 4 5\n", nil)
			var text bytes.Buffer
			out := format.StreamOutput(&text)
			e, err := (Format{}).Create(out, &format.WriteOptions{})
			if err != nil {
				t.Fatal(err)
			}
			b := &trace.Batch{}
			b.Reset(0)
			b.Add(0, 1, trace.Declared, 0)
			want := ""
			for i, v := range x.values {
				name := "data" + strconv.Itoa(i)
				key := d.Defs().Attributes.Add(trace.AttributeDef{Name: name})
				if s, ok := v.(string); ok {
					b.AddAttr(key, trace.StringValue(s))
					want += " " + name + ":string=" + strconv.Quote(s)
				} else {
					b.AddAttr(key, trace.Value{Num: uint64(v.(int)), Type: trace.Int32})
					want += " " + name + `:int32="` + strconv.Itoa(v.(int)) + `"`
				}
			}
			if err := errors.Join(e.Begin(d.Defs()), e.(format.Sink).Batch(b), e.Close(), out.Commit()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff("1 5 0.100000 0 0 "+x.line+"\n", text.String()); diff != "" {
				t.Error(diff)
			}
			_, rows, rules := opened(t, text.String(), nil)
			loss := ""
			for _, l := range e.Loss().Rows() {
				loss += l.Reason
			}
			if diff := cmp.Diff(x.loss, loss); diff != "" {
				t.Error(diff)
			}
			if len(rules) > 0 || x.loss == "" && !strings.HasSuffix(rows[0], want) {
				t.Errorf("found %s, expected %s; %v", rows[0], want, rules)
			}
		})
	}
}

// TestParaGraphHeader_10 checks that ParaGraph's form of another format's trace has no records
// about all processors, and that processors keep their labels under their new numbers.
func TestParaGraphHeader_10(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(10))
	d := r.Defs()
	d.Format, d.Origin = "etf", "etf"
	for _, id := range []string{"0", "1", "2"} {
		d.Locations.Add(trace.Location{ID: id, Name: "cpu " + id, Group: trace.NoRef})
	}
	d.Regions.Add(trace.Region{ID: "0", Name: "work"})
	var text bytes.Buffer
	out := format.StreamOutput(&text)
	e, err := (Format{}).Create(out, &format.WriteOptions{Values: map[string]string{"picl.paragraph": "true"}})
	if err != nil {
		t.Fatal(err)
	}
	b := &trace.Batch{}
	b.Reset(trace.MixedLoc)
	b.Add(2, 1, trace.Enter, 0)
	b.Add(0, 2, trace.Enter, 0)
	b.Add(2, 3, trace.Leave, 0)
	b.Add(0, 4, trace.Leave, 0)
	if err := errors.Join(e.Begin(d), e.(format.Sink).Batch(b), e.Close(), out.Commit()); err != nil {
		t.Fatal(err)
	}
	const want = `-5 -1 -1.000000 1 0 5 0 cpu 0
-5 -1 -1.000000 0 0 5 0 cpu 2
-3 -901 0.100000 0 0 0
-3 0 0.100000 0 0 0
-3 -901 0.200000 1 0 0
-3 0 0.200000 1 0 0
-4 0 0.300000 0 0 0
-4 -901 0.300000 0 0 0
-4 0 0.400000 1 0 0
-4 -901 0.400000 1 0 0
`
	if diff := cmp.Diff(want, text.String()); diff != "" {
		t.Error(diff)
	}
	lost := map[string]int64{}
	for _, l := range e.Loss().Rows() {
		if l.How == format.Lost {
			lost[l.Reason] = l.Count
		}
	}
	if len(lost) != 2 || lost[leftIgnored+" (an option of the writer)"] != 1 ||
		lost[leftScope+" (an option of the writer)"] != 1 {
		t.Errorf("lost: %v", lost) // the labels of processor 1 and of the region are lost
	}
}

// TestTracingInOrder checks that the -901 records that weft adds are in order of time.
func TestTracingInOrder(t *testing.T) {
	var b strings.Builder
	w := NewWriter(&b, WriterOptions{})
	w.tracing = true
	for _, r := range []Record{{Type: 1, Event: 1, Time: trace.Decimal{Coef: 5, Scale: 1}, Processor: 1},
		{Type: 1, Event: 1, Time: trace.Decimal{Coef: 10, Scale: 1}, Processor: 0}} {
		if err := w.Write(&r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	last := -1.0
	for line := range strings.Lines(b.String()) {
		f := strings.Fields(line)
		at, err := strconv.ParseFloat(f[2], 64)
		if err != nil || at < last {
			t.Errorf("%q stands after %v s in\n%s", line, last, b.String())
		}
		last = at
	}
	if strings.Count(b.String(), "-901") != 4 {
		t.Errorf("expected an entry and an exit of two processors:\n%s", b.String())
	}
}

// TestMarkFields_2_3_3 checks a mark that replaces an entry and an exit. The fields must be at the positions
// that give them the same names as before.
func TestMarkFields_2_3_3(t *testing.T) {
	for _, x := range []struct{ name, text, want string }{
		{"user event, entry with one field", "-3 3 0.1 0 0 1 2 9\n-4 3 0.1 0 0 2 2 7 8\n",
			"-2 3 0.100000 0 0 4 2 9 -1 7 8\n"},
		{"user event, entry without fields", "-3 3 0.1 0 0 0\n-4 3 0.1 0 0 1 2 7\n", "-2 3 0.100000 0 0 3 2 -1 -1 7\n"},
		{"user event, exit without fields", "-3 3 0.1 0 0 1 2 9\n-4 3 0.1 0 0 0\n", "-2 3 0.100000 0 0 1 2 9\n"},
		{"user event with more fields", "-3 3 0.1 0 0 3 2 4 5 6\n-4 3 0.1 0 0 2 2 7 8\n",
			"-3 3 0.100000 0 0 3 2 4 5 6\n-4 3 0.100000 0 0 2 2 7 8\n"},
		{"user event with more fields, exit without", "-3 3 0.1 0 0 3 2 4 5 6\n-4 3 0.1 0 0 0\n",
			"-3 3 0.100000 0 0 3 2 4 5 6\n-4 3 0.100000 0 0 0\n"},
		{"nested", "-3 3 0.1 0 0 3 2 4 5 6\n-3 3 0.1 0 0 1 2 9\n-4 3 0.1 0 0 1 2 7\n-4 3 0.1 0 0 1 2 8\n",
			"-3 3 0.100000 0 0 3 2 4 5 6\n-2 3 0.100000 0 0 3 2 9 -1 7\n-4 3 0.100000 0 0 1 2 8\n"},
		{"literals, exit without fields", "-3 6 0.1 0 0 1 \"id=%d\" id=3\n-4 6 0.1 0 0 0\n",
			"-2 6 0.100000 0 0 1 \"id=%d\" id=3\n"},
		{"literals, exit with fields", "-3 6 0.1 0 0 1 \"id=%d\" id=3\n-4 6 0.1 0 0 1 2 4\n",
			"-2 6 0.100000 0 0 3 2 3 -1 4\n"},
		{"literals of an exit alone", "-3 -251 0.1 0 0 0\n-4 -251 0.1 0 0 1 \"%d,%d\" 8,3\n",
			"-2 -251 0.100000 0 0 1 \"%d,%d\" 8,3\n"},
		{"a descriptor that another record redefines",
			"-6 -1 0.0 -1 -1 1 \"%d%s\" 7 \"%x\"\n-3 6 0.1 0 0 1 7 ff\n-6 -1 0.1 -1 -1 1 \"%d%s\" 7 \"%d\"\n-4 6 0.1 0 0 0\n",
			"-6 -1 0.000000 -1 -1 1 \"%d%s\" 7 \"%x\"\n-6 -1 0.100000 -1 -1 1 \"%d%s\" 7 \"%d\"\n-2 6 0.100000 0 0 1 2 255\n"},
		// -1 would stand for all processors (Table 19).
		{"send without a destination", "-3 -27 0.1 0 0 2 2 10 5\n-4 -27 0.1 0 0 1 2 7\n",
			"-3 -27 0.100000 0 0 2 2 10 5\n-4 -27 0.100000 0 0 1 2 7\n"},
		{"send without a destination and request", "-3 -27 0.1 0 0 2 2 10 5\n-4 -27 0.1 0 0 0\n",
			"-3 -27 0.100000 0 0 2 2 10 5\n-4 -27 0.100000 0 0 0\n"},
		{"send without a process", "-3 -27 0.1 0 0 3 2 10 5 1\n-4 -27 0.1 0 0 1 2 7\n",
			"-2 -27 0.100000 0 0 5 2 10 5 1 -1 7\n"},
		{"system event", "-3 -51 0.1 0 0 1 2 5\n-4 -51 0.1 0 0 2 2 8 5\n", "-2 -51 0.100000 0 0 5 2 5 -1 -1 8 5\n"},
	} {
		t.Run("2.3.3 "+x.name, func(t *testing.T) {
			if diff := cmp.Diff(x.want, copyText(t, x.text, map[string]string{"picl.brackets": "mark"})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestOptionsDescriptors_2_2_2 checks options that change records, in a trace in which a record redefines a
// descriptor. The written values must have the same meaning.
func TestOptionsDescriptors_2_2_2(t *testing.T) {
	const (
		hex  = "-6 -1 -1.0 -1 -1 1 \"%d%s\" 2 \"%x\"\n-6 5 -1.0 -1 -1 1 \"%d%s\" 6 \"%x\"\n"
		kept = "-6 -1 -1.000000 -1 -1 1 \"%d%s\" 2 \"%x\"\n-6 5 -1.000000 -1 -1 1 \"%d%s\" 6 \"%x\"\n"
		call = "-3 4 0.1 0 0 2 2 10 20\n-4 4 0.1 0 0 1 2 30\n-2 5 0.2 0 0 1 6 ff\n-2 5 0.3 0 0 1 2 10 11\n-3 7 0.4 0 0 1 " +
			"2 10\n"
	)
	for _, x := range []struct{ name, option, value, text, want string }{
		{"marks", "picl.brackets", "mark", hex + call, kept +
			"-2 4 0.100000 0 0 3 \"%d\" 16 32 48\n-2 5 0.200000 0 0 1 6 ff\n-2 5 0.300000 0 0 1 2 10 11\n-3 7 0.400000 0 0 1 " +
			"2 10\n"},
		{"what brackets a process", "picl.brackets", "mark",
			"-3 -1 0.1 0 0 0\n-3 4 0.2 0 0 0\n-4 4 0.2 0 0 0\n-4 -1 0.3 0 0 0\n",
			"-3 -1 0.100000 0 0 0\n-2 4 0.200000 0 0 0\n-4 -1 0.300000 0 0 0\n"},
		{"entries and exits", "picl.brackets", "entry-exit", hex + "-2 5 0.2 0 0 1 6 ff\n",
			kept + "-3 5 0.200000 0 0 1 6 ff\n-4 5 0.200000 0 0 0\n"},
		{"ParaGraph", "picl.paragraph", "true", hex + call,
			"-3 -901 0.100000 0 0 0\n-3 4 0.100000 0 0 2 \"%x\" 10 20\n-4 4 0.100000 0 0 1 \"%x\" 30\n" +
				"-2 5 0.200000 0 0 1 \"%x\" ff\n-2 5 0.300000 0 0 1 \"%x\" 10 11\n-3 7 0.400000 0 0 1 \"%x\" 10\n-4 -901 " +
				"0.400000 0 0 0\n"},
		{"statistics", "picl.statistics", "true", hex + "-2 4 0.1 0 0 1 2 10\n",
			kept + "-2 4 0.100000 0 0 1 2 10\n-102 -1 0.100000 0 0 1 \"%d%d\" 4 1\n"},
	} {
		t.Run(x.name, func(t *testing.T) {
			if diff := cmp.Diff(x.want, copyText(t, x.text, map[string]string{x.option: x.value})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestParaGraphNumbers_10 checks that fields that refer to processors get ParaGraph's numbers, and
// that subsets are kept.
func TestParaGraphNumbers_10(t *testing.T) {
	for _, x := range []struct{ name, text, want string }{
		{"spawned", "-3 -503 0.1 5 100 3 0 a.x\n-4 -503 0.2 5 100 2 2 9 200\n-2 1 0.3 9 200 0\n",
			"-3 -503 0.100000 0 0 3 0 a.x\n-4 -503 0.200000 0 0 2 2 1 0\n-2 1 0.300000 1 0 0\n"},
		{"destination ahead of its records, without its process", "-3 -21 0.1 5 100 3 2 8 1 9\n-2 1 0.3 9 200 0\n",
			"-3 -21 0.100000 0 0 3 2 8 1 1\n-2 1 0.300000 1 0 0\n"},
		{"entry with all fields", "-3 -51 0.1 5 0 7 2 1 9 -1 8 1 9 0\n-2 1 0.3 9 0 0\n",
			"-3 -51 0.100000 0 0 7 2 1 1 -1 8 1 1 0\n-2 1 0.300000 1 0 0\n"},
		{"subset", "-201 -1 -1.0 -1 -1 4 2 -7 5 9 11\n-202 -1 -1.0 -1 -1 2 2 -8 200\n-3 -21 0.1 5 100 4 2 8 1 -7 -8\n-3 " +
			"-402 0.2 5 100 2 2 -7 -8\n-2 1 0.3 9 200 0\n",
			"-201 -1 -1.000000 0 0 3 2 -7 0 1\n-3 -21 0.100000 0 0 4 2 8 1 -7 -1\n-3 -402 0.200000 0 0 2 2 -7 -1\n-2 1 " +
				"0.300000 1 0 0\n"},
		{"numbers with a point", "-3 -21 0.1 5 100 3 5 8.5 1 9.0\n-2 1 0.3 9 200 0\n",
			"-3 -21 0.100000 0 0 3 5 8.5 1 1\n-2 1 0.300000 1 0 0\n"},
		{"subset of processes", "-202 -1 0.0 -1 -1 3 2 -6 0 1\n-2 6 0.5 20 1 0\n-2 6 0.6 20 -6 0\n-2 6 0.7 20 -1 0\n",
			"-2 6 0.500000 0 0 0\n-2 6 0.700000 0 0 0\n"},
		{"host and all", "-3 -21 0.1 5 0 3 2 8 1 32767\n-3 -21 0.2 5 0 3 2 8 1 -1\n",
			"-3 -21 0.100000 0 0 3 2 8 1 32767\n-3 -21 0.200000 0 0 3 2 8 1 -1\n"},
	} {
		t.Run(x.name, func(t *testing.T) {
			var got []string
			for l := range strings.Lines(copyText(t, x.text, map[string]string{"picl.paragraph": "true"})) {
				if !strings.Contains(l, " -901 ") {
					got = append(got, l)
				}
			}
			if diff := cmp.Diff(x.want, strings.Join(got, "")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestStatisticsKept_2_3_2 checks that computed statistics do not replace measured ones.
func TestStatisticsKept_2_3_2(t *testing.T) {
	const (
		events = "-3 -21 0.100000 0 0 3 2 8 1 1\n-4 -21 0.300000 0 0 0\n"
		count  = "-102 -1 0.300000 0 0 1 \"%d%d\" -21 1\n"
		volume = "-103 -1 0.300000 0 0 1 \"%d%d\" -21 8\n"
		all    = "-101 -1 0.300000 0 0 1 \"%d%lf\" -21 0.200000\n" + count + volume
	)
	for _, x := range []struct{ name, text, want string }{
		{"none", events, events + all},
		{"all", events + all, events + all},
		{"measured otherwise", events + strings.Replace(all, "0.200000\n", "0.200019\n", 1),
			events + strings.Replace(all, "0.200000\n", "0.200019\n", 1)},
		{"not computable", events + "-102 -1 0.300000 0 0 1 \"%d%d\" -53 7\n-103 -1 0.300000 0 0 1 \"%d%d\" -901 428\n",
			events + "-102 -1 0.300000 0 0 1 \"%d%d\" -53 7\n-103 -1 0.300000 0 0 1 \"%d%d\" -901 428\n" + all},
		{"some", events + "-101 -1 0.300000 0 0 1 \"%d%lf\" -21 0.200000\n", events + all},
		{"ahead of the events", count + events, count + events + all},
		{"process with entries and exits of all events", "-3 -1 0.1 0 0 0\n-2 7 0.2 0 0 0\n-4 -1 0.3 0 0 0\n",
			"-3 -1 0.100000 0 0 0\n-2 7 0.200000 0 0 0\n-4 -1 0.300000 0 0 0\n-102 -1 0.300000 0 0 1 \"%d%d\" 7 1\n"},
		{"process -1 that ends what another began", "-3 5 0.1 0 -1 0\n-4 5 0.3 0 0 0\n",
			"-3 5 0.100000 0 -1 0\n-4 5 0.300000 0 0 0\n-101 -1 0.300000 0 0 1 \"%d%lf\" 5 0.200000\n" +
				"-102 -1 0.300000 0 0 1 \"%d%d\" 5 1\n"},
		{"process with records not in order of time", "-4 5 0.3 0 0 0\n-2 7 0.2 0 0 0\n-3 5 0.1 0 0 0\n",
			"-4 5 0.300000 0 0 0\n-2 7 0.200000 0 0 0\n-3 5 0.100000 0 0 0\n-101 -1 0.300000 0 0 1 \"%d%lf\" 5 0.200000\n" +
				"-102 -1 0.300000 0 0 2 \"%d%d\" 5 1 7 1\n-102 5 0.300000 0 0 1 \"%d%d\" 7 1\n"},
		{"process -1 beside one process", "-2 5 0.1 0 -1 0\n-2 5 0.2 0 0 0\n",
			"-2 5 0.100000 0 -1 0\n-2 5 0.200000 0 0 0\n-102 -1 0.200000 0 0 1 \"%d%d\" 5 2\n"},
		{"process -1 beside several", "-2 5 0.1 0 -1 0\n-2 5 0.2 0 0 0\n-2 5 0.3 0 1 0\n",
			"-2 5 0.100000 0 -1 0\n-2 5 0.200000 0 0 0\n-2 5 0.300000 0 1 0\n-102 -1 0.300000 0 -1 1 \"%d%d\" 5 3\n" +
				"-102 -1 0.300000 0 0 1 \"%d%d\" 5 1\n-102 -1 0.300000 0 1 1 \"%d%d\" 5 1\n"},
		{"of another process", events + strings.Replace(count, " 0 0 ", " 1 0 ", 1),
			events + strings.Replace(count, " 0 0 ", " 1 0 ", 1) + all},
	} {
		t.Run(x.name, func(t *testing.T) {
			text := copyText(t, x.text, map[string]string{"picl.statistics": "true"})
			if diff := cmp.Diff(x.want, text); diff != "" {
				t.Error(diff)
			}
			if _, _, rules := opened(t, text, nil); strings.Contains(fmt.Sprint(rules), "picl.statistics") &&
				strings.HasPrefix(x.name, "process") {
				t.Error(rules)
			}
		})
	}
}

// TestStatisticsOfUnordered checks that weft computes statistics of records that an option changes only if the
// records are in order of time.
func TestStatisticsOfUnordered(t *testing.T) {
	const text = "-2 5 0.3 0 0 0\n-2 5 0.1 0 0 0\n"
	for _, option := range []string{"picl.brackets=mark", "picl.paragraph=true"} {
		name, value, _ := strings.Cut(option, "=")
		out := format.StreamOutput(&bytes.Buffer{})
		_, err := (Format{}).Copy(t.Context(), write(t, text), &format.ReadOptions{}, out,
			&format.WriteOptions{Values: map[string]string{name: value, "picl.statistics": "true"}})
		if err == nil || !strings.Contains(err.Error(), "2") || !strings.Contains(err.Error(), "weft sort") {
			t.Errorf("%s: found %v, expected the line and what sorts it", option, err)
		}
	}
}
