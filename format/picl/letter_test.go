package picl

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/tracetest"
)

// opened opens a text and gives the rules of the defects that reading and checking it report.
func opened(t *testing.T, text string, options map[string]string) (format.File, []string, []string) {
	t.Helper()
	rep := format.NewReport()
	d := tracetest.Open(t, Format{}, write(t, text), &format.ReadOptions{Report: rep, Values: options})
	rows := tracetest.Dump(t, d, everything)
	checker := d.NewChecker()
	if err := errors.Join(d.Scan(t.Context(), everything, format.PerLocation, checker),
		checker.Finish(t.Context())); err != nil {
		t.Fatal(err)
	}
	var rules []string
	for _, r := range rep.Rules() {
		rules = append(rules, r.Rule+" × "+strconv.FormatInt(r.Count, 10))
	}
	return d, rows, rules
}

// Descriptors are scanf strings: what they read is what scanf reads, and a rewrite keeps them
// and the data as they stand.
func TestDescriptors_2_2_2(t *testing.T) {
	for _, x := range []struct{ name, data, want, rules string }{
		{"%[^\\n]", `1 "%[^\n]" hello big world`, `"hello big world"`, ""},
		{"%[a-z]%d", `1 "%[a-z]%d" abc12`, `"abc" 12`, ""},
		{"%*[^:]", `1 "%*[^:]:%d" foo:5`, `5`, ""},
		{"%[]x]", `1 "%[]x]%d" ]x]7`, `"]x]" 7`, ""},
		{"%*d", `1 "%*d %d" 7 8`, `8`, ""},
		{"%*d repeated", `2 "%*d%d" 1 2 3 4`, `2 4`, ""},
		{"%*d alone", `1 "%*d" 5`, ``, ""},
		{"%*d alone, repeated", `2 "%*d" 5 6`, ``, ""},
		{"%*d alone, more data", `1 "%*d" 5 6`, ``, "picl.extra-data × 1"},
		{"no descriptor", `1`, ``, "picl.data-missing × 1"},
		{"no conversion", `1 "%%" some text`, `"some" "text"`, "picl.descriptor × 1"},
		{"%*s", `1 "%*s %s" drop keep`, `"keep"`, ""},
		{"%o", `1 "%o" 17`, `15`, ""},
		{"%o of no octal", `1 "%o" 8`, `"8"`, "picl.data-type × 1"},
		{"%i", `3 "%i" 017 0x1F -0x10`, `15 31 -16`, ""},
		{"%2d", `1 "%2d%2d" 1234`, `12 34`, ""},
		{"%2d repeated", `2 "%2d" 1234`, `12 34`, ""},
		{"%x", `2 "%x" ff 10`, `255 16`, ""},
		{"%X", `1 "%X" 1F`, `31`, ""},
		{"%%", `1 "%d%%" 5%`, `5`, ""},
		{"%% repeated", `2 "%d%%" 5% 6%`, `5 6`, ""},
		{"%5c", `1 "%5c" ab de`, `"ab de"`, ""},
		{"%2c repeated", `2 "%2c" abcd`, `"ab" "cd"`, ""},
		{"%3s", `1 "%3s%d" abc5`, `"abc" 5`, ""},
		{"%3lf", `1 "%3lf%lf" 1.52.5`, `1.5 2.5`, ""},
		{"literals", `1 "x=%d y=%d" x=3 y=4`, `3 4`, ""},
		{"literal missing", `1 "x=%d" y=3`, `"y=3"`, "picl.data-type × 1"},
		{"text after a number", `1 "%d%s" 5x`, `5 "x"`, ""},
		{"unknown conversion", `1 "%y" some text`, `"some" "text"`, "picl.descriptor × 1"},
		{"set without end", `1 "%[a" some text`, `"some" "text"`, "picl.descriptor × 1"},
		{"no closing quote", `1 "%d 5`, `"\"%d" "5"`, "picl.malformed-record × 1"},
	} {
		t.Run("2.2.2 "+x.name, func(t *testing.T) {
			text := "2 5 0.100000 0 0 " + x.data + "\n"
			_, rows, rules := opened(t, text, nil)
			var got []string
			for _, f := range strings.Split(rows[0], " data")[1:] {
				_, v, _ := strings.Cut(f, "=")
				if strings.Contains(f, ":string=") || strings.Contains(x.want, v) {
					got = append(got, v)
				} else {
					got = append(got, strings.Trim(v, `"`))
				}
			}
			if diff := cmp.Diff(x.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("%s: %s", rows[0], diff)
			}
			if diff := cmp.Diff(x.rules, strings.Join(rules, ", ")); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(text, copyText(t, text, nil)); diff != "" {
				t.Errorf("rewritten: %s", diff)
			}
		})
	}
}

// Definitions of descriptors and records that use them are kept as they stand.
func TestRewrite_2_2_2(t *testing.T) {
	const text = `-6 -1 -1.000000 -1 -1 1 "%d %s" 7 "%d %s"
-6 -1 -1.000000 -1 -1 1 "%d%s" 8 "%d, %d"
-6 -1 -1.000000 -1 -1 1 "%d \"%[^\"]\"" 9 "%d %lf"
1 5 0.100000 0 0 1 7 3 abc
1 5 0.200000 0 0 1 8 3, 4
1 5 0.300000 0 0 2 9 3 4.5 6 7.5
1 5 0.400000 0 0 1 "%d %lf" 3 4.5
-102 -1 2.000000 0 0 2 "%d%d" 1 2 -901
`
	if diff := cmp.Diff(text, copyText(t, text, nil)); diff != "" {
		t.Error(diff)
	}
}

// Marks, entries and exits say the same of messages; what is -1 is as unknown as what is left
// out.
func TestMessages_2_3_3(t *testing.T) {
	const recv = " recv sender=1/0 communicator=-1 tag=5 length=8 derived"
	for _, x := range []struct{ name, text, want string }{
		{"mark", "-2 -51 0.1 0 0 7 2 5 -1 -1 8 5 1 0\n", recv},
		{"entry with all fields", "-3 -51 0.1 0 0 7 2 5 -1 -1 8 5 1 0\n-4 -51 0.1 0 0 0\n", recv},
		{"entry of a phase with all fields", "-3 -58 0.1 0 0 5 2 77 8 5 1 0\n-4 -58 0.1 0 0 0\n",
			strings.Replace(recv, "recv", "recv-complete", 1)},
		{"exit", "-3 -51 0.1 0 0 3 2 5 -1 -1\n-4 -51 0.1 0 0 4 2 8 5 1 0\n", recv},
		{"length -1", "-4 -51 0.1 0 0 4 2 -1 5 1 0\n", strings.Replace(recv, "=8", "=-1", 1)},
		{"all left out", "-4 -51 0.1 0 0 0\n", ""},
		{"all -1", "-4 -51 0.1 0 0 4 2 -1 -1 -1 -1\n", ""},
		{"mark of a send", "-2 -21 0.1 0 0 4 2 8 5 1 0\n", " send receiver=1/0 communicator=-1 tag=5 length=8 derived"},
		{"broadcast", "-3 -21 0.1 0 0 3 2 8 5 -1\n-3 0 0.2 1 0 0\n-3 0 0.2 2 0 0\n-3 0 0.2 32767 0 0\n",
			" send receiver=1/0 communicator=-1 tag=5 length=8 derived, send receiver=2/0 communicator=-1 tag=5 length=8 " +
				"derived"},
		{"subset", "-201 -1 0.0 -1 -1 3 2 -5 2 7\n-3 -21 0.1 0 0 3 2 8 5 -5\n-3 0 0.2 1 0 0\n-3 0 0.2 2 0 0\n",
			" send receiver=2/0 communicator=-1 tag=5 length=8 derived"},
		{"all processes of a processor", "-3 -21 0.1 0 0 4 2 8 5 1 -1\n-3 0 0.2 1 0 0\n-3 0 0.2 1 1 0\n-3 0 0.2 2 0 0\n",
			" send receiver=1/0 communicator=-1 tag=5 length=8 derived, send receiver=1/1 communicator=-1 tag=5 length=8 " +
				"derived"},
		{"the other process of the sender's processor", "-3 -21 0.1 0 0 3 2 8 5 0\n-3 0 0.2 0 1 0\n",
			" send receiver=0/1 communicator=-1 tag=5 length=8 derived"},
		{"processes of a processor without records", "-3 -21 0.1 0 0 4 2 8 5 7 -1\n",
			" send receiver=7/-1 communicator=-1 tag=5 length=8 derived"},
		{"subset of the processes of a processor",
			"-202 -1 0.0 -1 -1 2 2 -8 1\n-3 -21 0.1 0 0 4 2 8 5 1 -8\n-3 0 0.2 1 0 0\n-3 0 0.2 1 1 0\n",
			" send receiver=1/1 communicator=-1 tag=5 length=8 derived"},
		{"destination left out", "-3 -21 0.1 0 0 2 2 8 5\n-3 0 0.2 1 0 0\n-3 0 0.2 2 0 0\n",
			" send receiver=-1 communicator=-1 tag=5 length=8 derived"},
		{"-913 as entry and exit", "-3 -913 0.1 0 0 0\n-4 -913 0.2 0 0 0\n", " gap derived"},
	} {
		t.Run("2.3.3 "+x.name, func(t *testing.T) {
			for _, brackets := range []string{"keep", "entry-exit"} {
				_, rows, _ := opened(t, copyText(t, x.text, map[string]string{"picl.brackets": brackets}),
					map[string]string{"picl.marks": "messages"})
				var got []string
				for _, r := range rows {
					if rest, ok := strings.CutSuffix(r, "derived"); ok {
						_, rest, _ = strings.Cut(rest, "0/0")
						got = append(got, rest+"derived")
					}
				}
				if diff := cmp.Diff(x.want, strings.Join(got, ",")); diff != "" {
					t.Errorf("%s: %s\n%s", brackets, diff, strings.Join(rows, "\n"))
				}
			}
		})
	}
}

// All fields of an entry bear their names.
func TestEntryNames_2_3_3(t *testing.T) {
	_, rows, _ := opened(t, "-3 -51 0.1 0 0 7 2 5 -1 -1 8 5 1 0\n", nil)
	const want = `requestedType:int32="5" requestedProcessor:int32="-1" requestedProcess:int32="-1" ` +
		`length:int32="8" type:int32="5" source:int32="1" sourceProcess:int32="0"`
	if !strings.Contains(rows[0], want) {
		t.Error(rows[0])
	}
}

// ParaGraph's brackets stand around all records of a process, whatever their order in the file.
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

// A trace of another format gets the -901 entry and exit of each process; reading it back leaves
// them out, and with --plain they are events as any.
func TestTracingBrackets_2_3_3(t *testing.T) {
	for _, plain := range []bool{false, true} {
		r := trace.NewRecorder(trace.Seconds(10))
		d := r.Defs()
		d.Format, d.Origin = "etf", "etf"
		for _, id := range []string{"0", "1"} {
			d.Locations.Add(trace.Location{ID: id, Group: trace.NoRef})
		}
		d.Regions.Add(trace.Region{ID: "0", Name: "work"})
		var text bytes.Buffer
		out := format.StreamOutput(&text)
		e, err := create(out, &format.WriteOptions{Plain: plain})
		if err != nil {
			t.Fatal(err)
		}
		b := &trace.Batch{}
		b.Reset(trace.MixedLoc)
		for i, k := range []trace.Kind{trace.Enter, trace.Enter, trace.Leave, trace.Leave} {
			b.Add(uint32(i%2), int64(i+1), k, 0)
		}
		if err := errors.Join(e.Begin(d), e.Batch(b), e.Close(), out.Commit()); err != nil {
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

// Statistics of what left no records of events are not held against the events.
func TestStatistics_2_3_2(t *testing.T) {
	const events = "-3 -21 0.1 0 0 3 2 8 1 1\n-4 -21 0.3 0 0 0\n"
	for _, x := range []struct{ name, text, want string }{
		{"types without events", "-102 -1 2.0 0 0 8 \"%d%d\" -13 1 -14 2 -29 3 -53 12 -54 7 -55 2 -59 1 -905 1\n", ""},
		{"subset with such types", "-102 -1 2.0 0 0 1 \"%d%d\" -1011 5\n", ""},
		{"-913", "-2 -913 0.5 0 0 0\n-102 -1 2.0 0 0 1 \"%d%d\" -21 20\n", ""},
		{"trace level 0", "-2 -904 0.5 0 0 3 2 0 0 0\n-102 -1 2.0 0 0 2 \"%d%d\" -21 20 7 3\n", ""},
		{"fewer than the records are reported", "-2 -913 0.5 0 0 0\n-102 -1 2.0 0 0 1 \"%d%d\" -21 0\n",
			"picl.statistics × 1"},
		{"-1 is all events", "-102 -1 2.0 0 0 1 \"%d%d\" -1 1\n-101 -1 2.0 0 0 1 \"%d%lf\" -1 0.2\n", ""},
		{"all events, other count", "-102 -1 2.0 0 0 1 \"%d%d\" -1 2\n", "picl.statistics × 1"},
		{"all events, other time", "-101 -1 2.0 0 0 1 \"%d%lf\" -1 0.5\n", "picl.statistics × 1"},
		{"all events, other volume", "-103 -1 2.0 0 0 1 \"%d%d\" -1 9\n", "picl.statistics × 1"},
		{"all events and those without records", "-102 -1 2.0 0 0 2 \"%d%d\" -53 12 -1 13\n", ""},
		{"all events, those without records in a record of their own",
			"-102 -1 2.0 0 0 1 \"%d%d\" -53 12\n-102 -1 2.0 0 0 1 \"%d%d\" -1 13\n", ""},
		{"all events, ahead of those without records",
			"-102 -1 2.0 0 0 1 \"%d%d\" -1 13\n-102 -1 2.0 0 0 1 \"%d%d\" -53 12\n", ""},
		{"all events of the run",
			"-102 -1 2.0 0 0 1 \"%d%d\" -53 12\n-102 -901 2.0 0 0 1 \"%d%d\" -1 13\n-102 -1 2.0 0 0 1 \"%d%d\" -54 1\n", ""},
		{"all events, and too few without records", "-102 -1 2.0 0 0 1 \"%d%d\" -1 13\n-102 -1 2.0 0 0 1 \"%d%d\" -53 11\n",
			"picl.statistics × 1"},
		{"all events, explained after further events",
			"-102 -1 2.0 0 0 1 \"%d%d\" -1 13\n-2 5 2.5 0 0 0\n-102 -1 3.0 0 0 1 \"%d%d\" -53 12\n", "picl.statistics × 1"},
		{"all events, sampled twice", "-102 -1 2.0 0 0 2 \"%d%d\" -53 12 -1 13\n-102 -1 3.0 0 0 2 \"%d%d\" -53 14 -1 15\n",
			""},
		{"-914", "-2 -914 0.5 0 0 0\n-102 -1 2.0 0 0 2 \"%d%d\" -21 20 -51 4\n-101 -1 2.0 0 0 1 \"%d%lf\" -21 7.5\n", ""},
		{"-914, fewer than the records", "-2 -914 0.5 0 0 0\n-102 -1 2.0 0 0 1 \"%d%d\" -21 0\n", "picl.statistics × 1"},
		{"subset with a number ≥ 0",
			"-203 -1 0.0 -1 -1 3 2 100 7 8\n-3 7 0.4 0 0 0\n-2 8 0.5 0 0 0\n-4 7 0.6 0 0 0\n-102 -1 2.0 0 0 1 \"%d%d\" 100 " +
				"2\n-102 100 2.0 0 0 1 \"%d%d\" 8 1\n", ""},
		{"subset with a number ≥ 0, other count",
			"-203 -1 0.0 -1 -1 3 2 100 7 8\n-2 8 0.5 0 0 0\n-102 -1 2.0 0 0 1 \"%d%d\" 100 2\n", "picl.statistics × 1"},
		{"own event type is a subset, nested",
			"-3 3 0.4 0 0 0\n-3 4 0.5 0 0 0\n-2 5 0.6 0 0 0\n-4 4 0.7 0 0 0\n-4 3 0.8 0 0 0\n-102 -1001 2.0 0 0 3 \"%d%d\" 5 " +
				"1 4 1 -1 2\n", ""},
		{"own event type is a later subset, nested",
			"-3 3 0.4 0 0 0\n-3 4 0.5 0 0 0\n-2 5 0.6 0 0 0\n-4 4 0.7 0 0 0\n-4 3 0.8 0 0 0\n-203 -1 0.9 -1 -1 3 2 -2001 3 " +
				"4\n-102 -2001 2.0 0 0 1 \"%d%d\" 5 1\n", ""},
		{"all processors", "-2 5 0.4 1 0 0\n-102 -1 2.0 -1 -1 2 \"%d%d\" -21 1 -1 2\n-103 -1 2.0 -1 -1 1 \"%d%d\" -1 8\n",
			""},
		{"all processors, other counts", "-2 5 0.4 1 0 0\n-102 -1 2.0 -1 -1 2 \"%d%d\" -21 2 -1 3\n", "picl.statistics × 2"},
		{"incomplete pair", "-102 -1 2.0 0 0 3 2 -21 1 7\n", "picl.statistics × 1"},
		{"wildcard brackets",
			"-3 -1 0.5 0 0 0\n-3 1 0.6 0 0 0\n-4 1 0.7 0 0 0\n-4 -1 0.8 0 0 0\n-102 -1 2.0 0 0 1 \"%d%d\" 1 1\n",
			"picl.outside-tracing × 2"},
	} {
		t.Run("2.3.2 "+x.name, func(t *testing.T) {
			_, _, rules := opened(t, events+x.text, nil)
			if diff := cmp.Diff(x.want, strings.Join(rules, ", ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A subset is of processors, processes or event types, defined by a record or predefined.
func TestUndefined_2_1(t *testing.T) {
	for _, x := range []struct{ name, text, want string }{
		{"processors", "-3 1 0.1 -77 0 0\n", "picl.undefined × 1"},
		{"processors defined as event types", "-203 -1 0.0 -1 -1 2 2 -77 1\n-3 1 0.1 -77 0 0\n", "picl.undefined × 1"},
		{"processors defined", "-201 -1 0.0 -1 -1 2 2 -77 1\n-3 1 0.1 -77 0 0\n", ""},
		{"processors defined later", "-3 1 0.1 -77 0 0\n-201 -1 0.2 -1 -1 2 2 -77 1\n", ""},
		{"processes", "-3 1 0.1 0 -78 0\n", "picl.undefined × 1"},
		{"processes defined", "-202 -1 0.0 -1 -1 2 2 -78 1\n-3 1 0.1 0 -78 0\n", ""},
		{"event types", "-3 -2001 0.1 0 0 0\n-3 -3000 0.1 0 0 0\n", "picl.undefined × 2"},
		{"event types defined",
			"-203 -1 0.0 -1 -1 2 2 -2001 1\n-203 -1 0.0 -1 -1 2 2 -300 1\n-3 -2001 0.1 0 0 0\n-3 -300 0.1 0 0 0\n", ""},
		{"predefined", "-102 -1001 0.1 0 0 0\n", ""},
		{"all, host", "-2 -1 0.1 -1 -1 0\n-2 1 0.1 32767 -1 0\n", ""},
		{"destination", "-3 -21 0.1 0 0 3 2 8 1 -77\n", "picl.undefined × 1"},
		{"destination process", "-3 -21 0.1 0 0 4 2 8 1 1 -78\n", "picl.undefined × 1"},
		{"destination defined", "-201 -1 0.0 -1 -1 2 2 -77 1\n-3 -21 0.1 0 0 3 2 8 1 -77\n", ""},
		{"destination of several", "-3 -21 0.1 0 0 3 2 8 1 -77\n-3 -21 0.2 0 0 3 2 8 1 -77\n-3 -21 0.3 0 0 3 2 8 1 -79\n",
			"picl.undefined × 2"},
		{"destination and head", "-3 -21 0.1 0 0 3 2 8 1 -77\n-3 1 0.2 -77 0 0\n", "picl.undefined × 1"},
		{"source", "-4 -51 0.1 0 0 4 2 8 1 -77 -78\n", "picl.undefined × 2"},
		{"requested processor", "-3 -51 0.1 0 0 2 2 1 -77\n", "picl.undefined × 1"},
		{"barrier", "-3 -402 0.1 0 0 2 2 -77 -78\n", "picl.undefined × 2"},
		{"length", "-3 -21 0.1 0 0 3 2 -77 -78 1\n", ""},
		{"user event", "-3 5 0.1 0 0 2 2 -77 -78\n", ""},
		{"members", "-201 -1 0.0 -1 -1 3 2 -77 1 -79\n-3 1 0.1 -77 0 0\n", "picl.undefined × 1"},
		{"event types of statistics", "-102 -1 0.1 0 0 2 \"%d%d\" -2001 0 -1011 0\n", "picl.undefined × 1"},
	} {
		t.Run("2.1 "+x.name, func(t *testing.T) {
			_, rows, rules := opened(t, x.text, nil)
			if diff := cmp.Diff(x.want, strings.Join(rules, ", ")); diff != "" {
				t.Errorf("%s\n%s", diff, strings.Join(rows, "\n"))
			}
		})
	}
}

// A -52 inside a -51 is the waiting of that receive, no receive of its own.
func TestNestedReceive_2_3_3(t *testing.T) {
	const (
		call = "-3 -51 0.1 0 0 3 2 5 -1 -1\n"
		wait = "-3 -52 0.2 0 0 3 2 5 -1 -1\n-4 -52 0.3 0 0 4 2 8 5 1 0\n"
		done = "-4 -51 0.4 0 0 4 2 8 5 1 0\n"
		sums = "-101 -1 2.0 0 0 2 \"%d%lf\" -1013 0.3 -1011 0.3\n-102 -1 2.0 0 0 3 \"%d%d\" -1013 1 -51 1 -52 1\n-103 -1 " +
			"2.0 0 0 1 \"%d%d\" -1013 8\n"
	)
	other := strings.NewReplacer(" -51 ", " -60 ", " -52 ", " -61 ", " 3 2 5 -1 -1", " 1 2 77")
	for _, x := range []struct {
		name, text string
		recvs      int
	}{
		{"both tell", call + wait + done + sums, 1},
		{"the waiting tells", call + wait + "-4 -51 0.4 0 0 0\n" + sums, 1},
		{"the call tells", call + "-3 -52 0.2 0 0 0\n-4 -52 0.3 0 0 0\n" + done, 1},
		{"the entry tells", "-3 -51 0.1 0 0 7 2 5 -1 -1 8 5 1 0\n" + wait + "-4 -51 0.4 0 0 0\n", 1},
		{"another process", call + strings.ReplaceAll(wait, " 0 0 ", " 1 0 ") + done, 2},
		{"one behind the other", call + "-4 -51 0.15 0 0 4 2 8 5 1 0\n" + wait, 2},
		{"not nested", call + "-3 -52 0.2 0 0 0\n-4 -51 0.3 0 0 4 2 8 5 1 0\n-4 -52 0.4 0 0 4 2 8 5 1 0\n", 2},
		{"entry and exit tell", "-3 -51 0.1 0 0 7 2 5 -1 -1 8 5 1 0\n" + done, 1},
		{"entry and exit of waiting tell", "-3 -52 0.1 0 0 7 2 5 -1 -1 8 5 1 0\n-4 -52 0.3 0 0 4 2 8 5 1 0\n", 1},
		{"twice entry and exit",
			"-3 -51 0.1 0 0 7 2 5 -1 -1 8 5 1 0\n-4 -51 0.15 0 0 0\n" + strings.Replace(call, "0.1", "0.2", 1) + done, 2},
		{"line ends of two characters", strings.ReplaceAll(call+wait+done, "\n", "\r\n"), 1},
		{"of posted receives", other.Replace(call + wait + done), 1},
	} {
		t.Run("2.3.3 "+x.name, func(t *testing.T) {
			d, rows, rules := opened(t, x.text, nil)
			n := 0
			for _, r := range rows {
				if strings.Contains(r, " recv") && strings.HasSuffix(r, "derived") {
					n++
				}
			}
			if n != x.recvs || len(rules) > 0 {
				t.Errorf("%d receives, want %d; %v\n%s", n, x.recvs, rules, strings.Join(rows, "\n"))
			}
			late := trace.Everything()
			if late.From, n = 3, 0; x.name == "both tell" { // a window in which only the call ends
				for _, r := range tracetest.Dump(t, d, late) {
					if strings.Contains(r, " recv") && strings.Contains(r, "sender") && strings.HasPrefix(r, "4") {
						n++
					}
				}
				if n != 0 {
					t.Errorf("%d receives at the call's exit, want 0", n)
				}
			}
		})
	}
}

// Nesting is found where the call and the waiting stand in different parts of a file.
func TestNestingOfParts(t *testing.T) {
	one, other := procKey{1, 0}, procKey{2, 0}
	for _, x := range []struct {
		name  string
		typ   int64 // of the call in the first part
		inner procKey
		want  bool
	}{
		{"inside", TypeEntry, one, true},
		{"behind", TypeExit, one, false},
		{"another process", TypeEntry, other, false},
	} {
		var whole, first, second nesting
		first.note(x.typ, -51, one)
		second.note(TypeEntry, -52, x.inner)
		whole.add(&first)
		whole.add(&nesting{})
		whole.add(&second)
		if whole.found != x.want {
			t.Errorf("%s: found %v, want %v", x.name, whole.found, x.want)
		}
	}
}

// Texts with blanks among other values stay as they are where records are written anew; what
// cannot stay is in the loss table.
func TestTexts_2_2_2(t *testing.T) {
	for _, x := range []struct {
		name   string
		values []any
		line   string // as it is written
		loss   string
	}{
		{"behind a number", []any{3, "big world"}, `1 "%d %9c" 3 big world`, ""},
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
		{"empty", []any{3, ""}, `1 "%d%s" 3 -`, "an empty text among other values became -"},
		{"empty, alone", []any{""}, `0`, "an empty text is left out"},
		{"line end", []any{3, "a\nb"}, `1 "%d %3c" 3 a b`, "a line end became a blank"},
	} {
		t.Run("2.2.2 "+x.name, func(t *testing.T) {
			d, _, _ := opened(t, "1 5 0.1 0 0 5 2 1 2 3 4 5\n", nil)
			var text bytes.Buffer
			out := format.StreamOutput(&text)
			e, err := create(out, &format.WriteOptions{})
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
			if err := errors.Join(e.Begin(d.Defs()), e.Batch(b), e.Close(), out.Commit()); err != nil {
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

// Of another format's trace ParaGraph gets no records of all processors; processors keep their
// labels under their new numbers.
func TestParaGraphHeader_10(t *testing.T) {
	r := trace.NewRecorder(trace.Seconds(10))
	d := r.Defs()
	d.Format, d.Origin = "etf", "etf"
	for _, id := range []string{"0", "1", "2"} {
		d.Locations.Add(trace.Location{ID: id, Name: "cpu " + id, Group: trace.NoRef})
	}
	d.Regions.Add(trace.Region{ID: "0", Name: "work"})
	var text bytes.Buffer
	out := format.StreamOutput(&text)
	e, err := create(out, &format.WriteOptions{Values: map[string]string{"picl.paragraph": "true"}})
	if err != nil {
		t.Fatal(err)
	}
	b := &trace.Batch{}
	b.Reset(trace.MixedLoc)
	b.Add(2, 1, trace.Enter, 0)
	b.Add(0, 2, trace.Enter, 0)
	b.Add(2, 3, trace.Leave, 0)
	b.Add(0, 4, trace.Leave, 0)
	if err := errors.Join(e.Begin(d), e.Batch(b), e.Close(), out.Commit()); err != nil {
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
		lost[leftScope+" (an option of the writer)"] < 2 {
		t.Errorf("lost: %v", lost) // the label of processor 1; that of the region, and the definitions
	}
}

// A carriage return is the line's end, not the text's.
func TestLineEnds_2_2_2(t *testing.T) {
	_, rows, _ := opened(t, "1 5 0.1 0 0 1 \"%[^\\n]\" a b \r\n1 5 0.2 0 0 1 \"%5c\" ab  \r\n", nil)
	if text := strings.Join(rows, "\n"); strings.Contains(text, "\\r") || strings.Contains(text, "\r") ||
		!strings.Contains(text, "a b ") {
		t.Errorf("found %s", text)
	}
}

// The -901 records that weft adds stand in the order of time.
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
			t.Errorf("%q stands behind %v s in\n%s", line, last, b.String())
		}
		last = at
	}
	if strings.Count(b.String(), "-901") != 4 {
		t.Errorf("expected an entry and an exit of two processors:\n%s", b.String())
	}
}

// In a mark that comes of an entry and an exit each field has the name that it had.
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
		{"system event", "-3 -51 0.1 0 0 1 2 5\n-4 -51 0.1 0 0 2 2 8 5\n", "-2 -51 0.100000 0 0 5 2 5 -1 -1 8 5\n"},
	} {
		t.Run("2.3.3 "+x.name, func(t *testing.T) {
			if diff := cmp.Diff(x.want, copyText(t, x.text, map[string]string{"picl.brackets": "mark"})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Where a record gives a descriptor another meaning, the options that change records write values
// that mean the same.
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

// ParaGraph's processors have other numbers; all that names them is renumbered, and subsets stay.
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

// Statistics that are computed do not take the place of those that were measured.
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
		{"of another process", events + strings.Replace(count, " 0 0 ", " 1 0 ", 1),
			events + strings.Replace(count, " 0 0 ", " 1 0 ", 1) + all},
	} {
		t.Run(x.name, func(t *testing.T) {
			if diff := cmp.Diff(x.want, copyText(t, x.text, map[string]string{"picl.statistics": "true"})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A receive that does not say its source has the message that is left.
func TestSources_2_3_3(t *testing.T) {
	const (
		sends = "-3 -21 0.1 0 0 3 2 8 5 2\n-3 -21 0.2 1 0 3 2 9 5 2\n-3 -21 0.3 1 0 3 2 10 6 2\n"
		from0 = "sender=0/0 communicator=-1 tag=5 length=8"
		from1 = "sender=1/0 communicator=-1 tag=5 length=8"
	)
	for _, x := range []struct{ name, text, want string }{
		{"left out", sends + "-4 -51 0.4 2 0 2 2 8 5\n", from0},
		{"-1", sends + "-4 -51 0.4 2 0 4 2 8 5 -1 -1\n", from0},
		{"-1 without process", sends + "-4 -51 0.4 2 0 3 2 8 5 -1\n", from0},
		{"one field of three values", sends + "-4 -51 0.4 2 0 1 \"%d%d%d\" 8 5 -1\n", from0},
		{"spelled unusually", sends + "-4  -51 4e-1 2 0 2 2 8 5 \n", from0},
		{"line ends of two characters", strings.ReplaceAll(sends+"-4 -51 0.4 2 0 4 2 8 5 -1 -1\n", "\n", "\r\n"), from0},
		{"other tag", sends + "-4 -51 0.4 2 0 2 2 8 6\n", strings.Replace(from1, "tag=5", "tag=6", 1)},
		{"completion", sends + "-4 -58 0.4 2 0 2 2 8 5\n", from0},
		{"known ones first", sends + "-4 -51 0.4 2 0 2 2 8 5\n-4 -51 0.5 2 0 3 2 8 5 0\n", from1 + ", " + from0},
		{"two", sends + "-4 -51 0.4 2 0 2 2 8 5\n-4 -51 0.5 2 0 2 2 8 5\n", from0 + ", " + from1},
		{"no tag", sends + "-4 -51 0.4 2 0 1 2 8\n", strings.Replace(from0, "tag=5", "tag=-1", 1)},
		{"more than were sent", sends + "-4 -51 0.4 2 0 2 2 8 7\n", "sender=-1 communicator=-1 tag=7 length=8"},
		{"not in the order of time", "-4 -51 0.4 2 0 2 2 8 5\n" + sends, from0},
	} {
		t.Run(x.name, func(t *testing.T) {
			_, rows, _ := opened(t, x.text, nil)
			var got []string
			for _, r := range rows {
				if i := strings.Index(r, "sender="); i > 0 {
					got = append(got, strings.TrimSuffix(r[i:], " derived"))
				}
			}
			if diff := cmp.Diff(x.want, strings.Join(got, ", ")); diff != "" {
				t.Errorf("%s\n%s", diff, strings.Join(rows, "\n"))
			}
		})
	}
}
