package picl

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/tracetest"
)

// opened opens a text and returns the rules of the defects that reading and checking report.
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

// TestDescriptors_2_2_2 checks that a descriptor reads the same values as scanf, and that a rewrite keeps the
// descriptors and the data unchanged.
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
		{"%*d alone, less data", `3 "%*d" 5 6`, ``, "picl.data-missing × 1"},
		{"%*d alone, no data", `1 "%*d"`, ``, "picl.data-missing × 1"},
		{"%*d alone, more data", `1 "%*d" 5 6`, ``, "picl.extra-data × 1"},
		{"%n", `1 "%n%d%n%s" 5x`, `5 "x"`, ""}, // C 7.21.6.2: no input is consumed, no value is counted
		{"%n repeated", `2 "%d,%d%n" 1,2 3,4`, `1 2 3 4`, ""},
		{"%n alone", `1 "%n" 5`, `"5"`, "picl.descriptor × 1"},
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
		// 7.21.6.2: %c takes a number of characters, and also blanks. The line has fewer.
		{"%6c with three characters", `1 "%6c" c d`, `"c d"`, "picl.data-type × 1"},
		{"%6c and %d with four characters", `1 "%6c%d" ab 7`, `"ab 7"`, "picl.data-type × 1"},
		{"%3c with more characters than twice", `2 "%3c" abc def`, `"abc" " de"`, "picl.extra-data × 1"},
		{"word in place of a number, and more data", `2 "%d" x 5 6`, `"x" 5`, "picl.extra-data × 1"},
		{"number in place of a literal, and more data", `1 "<%d>" 3 4`, `3`, "picl.extra-data × 1"},
		{"%2c repeated", `2 "%2c" abcd`, `"ab" "cd"`, ""},
		{"%3s", `1 "%3s%d" abc5`, `"abc" 5`, ""},
		{"%3lf", `1 "%3lf%lf" 1.52.5`, `1.5 2.5`, ""},
		{"hexadecimal real numbers", `3 "%lf" 0xff 0x1.8 -0x1p3`, `255 1.5 -8`, ""},
		{"literals", `1 "x=%d y=%d" x=3 y=4`, `3 4`, ""},
		{"literal missing", `1 "x=%d" y=3`, `"y=3"`, "picl.data-type × 1"},
		{"blank ahead of a literal", `1 "%d,%d" 1 , 2`, `1 2`, "picl.data-type × 1"},
		{"blank after a literal", `1 "%d,%d" 1, 2`, `1 2`, ""},
		{"blank in the control string ahead of a literal", `1 "%d ,%d" 1 , 2`, `1 2`, ""},
		{"blanks ahead of the first literal", `1 "(%d)"  (3)`, `3`, ""},
		{"blanks ahead of the last literal", `1 "<%d>" < 3 >`, `3`, "picl.data-type × 1"},
		{"repetitions that begin with a literal", `2 "<%d>" <3> <4>`, `3 4`, ""},
		{"last literal missing", `1 "<%d>" <3`, `3`, "picl.data-type × 1"},
		{"line ends ahead of a literal and a value", `1 "%d,%d" 3`, `3`, "picl.data-missing × 1"},
		{"%% skips blanks", `1 "%d%%" 5 %`, `5`, ""},
		{"literals of two repetitions", `2 "x=%d" x=3x=4`, `3 4`, ""},
		{"text after a number", `1 "%d%s" 5x`, `5 "x"`, ""},
		{"a sign ends a number", `1 "%d%d" 5-6`, `5 -6`, ""},
		{"a sign ends a real number", `1 "%lf%d" .5-17`, `0.5 -17`, ""},
		{"a sign ends the last number of a repetition", `2 "%d%lf" 1 0.5-2 1.5`, `1 0.5 -2 1.5`, ""},
		{"a digit ends an octal number", `1 "%o%d" 178`, `15 8`, ""},
		{"a point ends an integer", `1 "%d%lf" 5.25`, `5 0.25`, ""},
		{"a point in an integer", `1 "%d" 5.25`, `"5.25"`, "picl.data-type × 1"},
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

// TestRewrite_2_2_2 checks that definitions of descriptors, and records that use them, are kept
// unchanged.
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

// A time is a real number, so it can lack the point (Table 2). A line with a control string is none of the old
// format, whose compact records have only integers, but for the text of a trace_message (key 16).
func TestUserRecordsAlone_2_2_1(t *testing.T) {
	for text, want := range map[string]int{
		"7 1 1 0 0 1 \"%d\" 4\n7 1 2 0 0 0\n":    2,
		"4 1 1 0 0 0\n4 1 2 0 0 1 \"%s\" word\n": 2,
	} {
		_, rows, rules := opened(t, text, nil)
		if len(rows) != want || len(rules) != 0 {
			t.Errorf("%q: found %q, %v, expected %d user records", text, rows, rules, want)
		}
	}
	// The text of an old message may look like a control string.
	if n := probeOld([]byte("16 0 5 1 7 1 \"hello\"\n")); n == 0 {
		t.Error("a message of the old format is not recognised")
	}
}

// The descriptor 2 stays where its integers need 64 bits: "with the descriptors 2 to 5, only blanks change".
func TestRewriteLargeIntegers_2_2_2(t *testing.T) {
	const text = `-3 -21 0.100000 0 0 4 2 2147483648 1 1 0
-3 5 0.200000 0 0 2 2 -2147483649 9223372036854775807
7 5 0.300000 0 0 2 3 1 2
7 5 0.400000 0 0 2 2 2147483647 -2147483648
`
	if diff := cmp.Diff(text, copyText(t, text, nil)); diff != "" {
		t.Error(diff)
	}
}

// TestDefinitions_2_3_5 checks that each definition of a record of type -6 counts regardless of its number of
// data fields, and that such records are no defects.
func TestDefinitions_2_3_5(t *testing.T) {
	for _, data := range []string{`1 "%d%s" 16 "%x" 17 "%i"`, `2 "%d%s" 16 "%x" 17 "%i"`, `2 "%d%s" 16 "%x"17 "%i"`} {
		text := "-6 -1 0.000000 -1 -1 " + data + "\n1 0 0.100000 0 0 1 16 ff\n1 0 0.200000 0 0 1 17 010\n"
		_, rows, rules := opened(t, text, nil)
		if !strings.Contains(rows[0], `="255"`) || !strings.Contains(rows[1], `="8"`) || len(rules) != 1 ||
			rules[0] != "picl.descriptor × 1" {
			t.Errorf("%s: found %q, %v, expected 255 and 8", data, rows, rules)
		}
		if diff := cmp.Diff(text, copyText(t, text, nil)); diff != "" {
			t.Error(diff)
		}
	}
}

// TestLabels_2_3_4 checks labels without effect: empty labels, and labels of a subset for the event type -1.
func TestLabels_2_3_4(t *testing.T) {
	for _, x := range []struct{ name, text, want string }{
		{"empty", "-5 5 0.0 -1 -1 0\n-2 5 0.1 0 0 0\n", `mark "event 5"(5)`},
		{"empty after another", "-5 5 0.0 -1 -1 1 0 a\n-5 5 0.0 -1 -1 0\n-2 5 0.1 0 0 0\n", `mark "a"(5)`},
		{"of all events in a subset", "-203 -1 0.0 -1 -1 3 2 -2000 5 -1\n-5 -2000 0.0 0 -1 1 0 a\n-2 -1 0.1 0 0 0\n",
			`mark "all"(-1)`},
	} {
		_, rows, _ := opened(t, x.text, nil)
		if len(rows) != 1 || !strings.HasSuffix(rows[0], x.want) {
			t.Errorf("%s: found %q, expected %s", x.name, rows, x.want)
		}
	}
}

// TestMessages_2_3_3 checks that a mark gives the same message as a pair of entry and exit. A field of -1
// means an unknown value, like an omitted field.
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
		{"fields with a point", "-4 -51 0.1 0 0 4 5 8.0 5.0 1.0 0.0\n", recv},
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

// TestEntryNames_2_3_3 checks the names of all fields of an entry.
func TestEntryNames_2_3_3(t *testing.T) {
	_, rows, _ := opened(t, "-3 -51 0.1 0 0 7 2 5 -1 -1 8 5 1 0\n", nil)
	const want = `requestedType:int32="5" requestedProcessor:int32="-1" requestedProcess:int32="-1" ` +
		`length:int32="8" type:int32="5" source:int32="1" sourceProcess:int32="0"`
	if !strings.Contains(rows[0], want) {
		t.Error(rows[0])
	}
}

// statisticsCases are records that follow the records of TestStatistics_2_3_2, and the defects of these
// records.
var statisticsCases = []struct{ name, text, want string }{
	{"types without events", "-102 -1 2.0 0 0 8 \"%d%d\" -13 1 -14 2 -29 3 -53 12 -54 7 -55 2 -59 1 -905 1\n", ""},
	{"a receive of unknown length", "-3 -51 0.4 0 0 1 2 1\n-4 -51 0.5 0 0 2 2 -1 1\n" +
		"-103 -1 2.0 0 0 2 \"%d%d\" -51 70 -1 78\n",
		""},
	{"a receive without a length", "-3 -51 0.4 0 0 0\n-4 -51 0.5 0 0 0\n-103 -1 2.0 0 0 1 \"%d%d\" -51 70\n", ""},
	{"a receive of known length", "-3 -51 0.4 0 0 1 2 1\n-4 -51 0.5 0 0 2 2 8 1\n-103 -1 2.0 0 0 1 \"%d%d\" -51 70\n",
		"picl.statistics × 1"},
	{"times are printed with zeros", "-2 6 0.400000 0 0 0\n-101 -1 2.0 0 0 1 \"%d%lf\" -21 0.299\n",
		"picl.statistics × 1"},
	{"times are printed with one digit", "-101 -1 2.0 0 0 1 \"%d%lf\" -21 0.299\n", ""},
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
	{"-913 of all processors", "-2 -913 0.5 -1 -1 0\n-102 -1 2.0 0 0 1 \"%d%d\" -21 20\n", ""},
	{"-913 of all processes", "-2 -913 0.5 0 -1 0\n-102 -1 2.0 0 0 1 \"%d%d\" -21 20\n", ""},
	{"-913 of all processes of several",
		"-2 5 0.4 0 1 0\n-2 -913 0.5 0 -1 0\n-102 -1 2.0 0 0 1 \"%d%d\" -21 20\n-102 -1 2.0 0 1 1 \"%d%d\" -21 20\n", ""},
	{"-914 of a subset of processors, defined later",
		"-2 -914 0.5 -8 -1 0\n-102 -1 2.0 0 0 1 \"%d%d\" -21 20\n-201 -1 2.0 -1 -1 3 2 -8 0 1\n", ""},
	{"level 0 of a subset of processes",
		"-202 -1 0.0 -1 -1 2 2 -7 0\n-2 -904 0.5 0 -7 3 2 0 0 0\n-102 -1 2.0 0 0 1 \"%d%d\" -21 20\n", ""},
	{"-913 of a subset without the processor",
		"-201 -1 0.0 -1 -1 2 2 -8 1\n-2 -913 0.5 -8 -1 0\n-102 -1 2.0 0 0 1 \"%d%d\" -21 20\n", "picl.statistics × 1"},
	{"-913 of another process", "-2 -913 0.5 1 0 0\n-102 -1 2.0 0 0 1 \"%d%d\" -21 20\n", "picl.statistics × 1"},
	{"-913 of another process, all processors", "-2 -913 0.5 1 0 0\n-102 -1 2.0 -1 -1 1 \"%d%d\" -21 20\n", ""},
	{"-913 of all processors, a process without events",
		"-2 -913 0.5 -1 -1 0\n-102 -1 2.0 7 0 1 \"%d%d\" -21 20\n", ""},
	{"events of process -1 that is the only one",
		"-2 5 0.5 0 -1 0\n-102 -1 2.0 0 0 2 \"%d%d\" -21 1 5 1\n-102 -1 2.0 0 -1 2 \"%d%d\" -21 1 5 1\n", ""},
	{"PICL level 0 (2.3.3)", "-2 -904 0.5 0 0 3 2 0 2 2\n-102 -1 2.0 0 0 3 \"%d%d\" -21 20 7 3 -912 2\n",
		"picl.statistics × 2"},
	{"user level 0", "-2 -904 0.5 0 0 3 2 2 0 2\n-102 -1 2.0 0 0 4 \"%d%d\" -21 20 7 3 -1001 3 -912 2\n",
		"picl.statistics × 2"},
	{"trace level 0", "-2 -904 0.5 0 0 3 2 2 2 0\n-102 -1 2.0 0 0 5 \"%d%d\" -21 20 7 3 -912 2 -1901 9 -1002 99\n",
		"picl.statistics × 2"},
	{"level -1 is unknown", "-2 -904 0.5 0 0 3 2 -1 -1 -1\n-102 -1 2.0 0 0 1 \"%d%d\" -21 20\n", "picl.statistics × 1"},
	{"subset of silent event types", "-203 -1 0.0 -1 -1 3 2 -2001 7 -21\n-2 -904 0.5 0 0 3 2 2 0 2\n-102 -1 2.0 0 0 1 " +
		"\"%d%d\" -2001 20\n", ""},
	{"ahead of -913, not in the order of time",
		"-2 -913 2.5 0 0 0\n-102 -1 2.0 0 0 1 \"%d%d\" -21 20\n", "picl.statistics × 1, picl.unsorted × 1"},
	{"after -913, not in the order of time",
		"-102 -1 2.0 0 0 1 \"%d%d\" -21 20\n-2 -913 0.5 0 0 0\n", "picl.unsorted × 1"},
	{"events not in the order of time", "-4 5 1.3 0 0 0\n-3 5 1.2 0 0 0\n-101 -1 2.0 0 0 1 \"%d%lf\" 5 0.1\n",
		"picl.unsorted × 1"},
	{"nesting not in the order of time",
		"-4 5 1.4 0 0 0\n-2 7 1.3 0 0 0\n-3 5 1.2 0 0 0\n-102 5 2.0 0 0 1 \"%d%d\" 7 1\n", "picl.unsorted × 2"},
	{"undefined subset of event types", "-102 -1 2.0 0 0 2 \"%d%d\" -3000 1 -21 1\n", "picl.undefined × 1"},
	{"inside an undefined subset of event types", "-102 -3000 2.0 0 0 1 \"%d%d\" -21 1\n", "picl.undefined × 1"},
	{"undefined subset of processors", "-102 -1 2.0 -77 -1 1 \"%d%d\" -21 1\n", "picl.undefined × 1"},
	{"undefined subset of processes", "-102 -1 2.0 0 -77 1 \"%d%d\" -21 1\n", "picl.undefined × 1"},
	{"subset in a subset (Table 5 lists subsets as event types)",
		"-203 -1 0.0 -1 -1 3 2 -2000 -1012 5\n-203 -1 0.0 -1 -1 2 2 -2001 -2000\n" +
			"-102 -1 2.0 0 0 2 \"%d%d\" -2000 1 -2001 1\n", ""},
	{"inside a subset in a subset", "-203 -1 0.0 -1 -1 2 2 -2000 -1012\n-203 -1 0.0 -1 -1 2 2 -2001 -2000\n" +
		"-3 -21 0.4 0 0 0\n-2 5 0.5 0 0 0\n-4 -21 0.6 0 0 0\n-102 -2001 2.0 0 0 1 \"%d%d\" 5 1\n", ""},
	{"empty subset", "-203 -1 0.0 -1 -1 1 2 -3000\n-102 -1 2.0 0 0 1 \"%d%d\" -3000 1\n", "picl.statistics × 1"},
	{"figures with a point", "-102 -1 2.0 0 0 1 \"%d%lf\" -21 1.0\n-103 -1 2.0 0 0 2 \"%d%f\" -21 8.0 5 -1\n", ""},
	{"other figure with a point", "-102 -1 2.0 0 0 1 \"%d%lf\" -21 1.5\n", "picl.statistics × 1"},
	{"more with a point after -913", "-2 -913 0.5 0 0 0\n-102 -1 2.0 0 0 1 \"%d%lf\" -21 2.0\n", ""},
	{"event type with a point", "-102 -1 2.0 0 0 1 \"%lf%d\" -21.0 5\n", "picl.statistics × 1"},
	{"event types among numbers with a point", "-101 -1 2.0 0 0 4 5 -21 0.2 -53 0.4\n", ""},
	{"event types among numbers with a point, other time", "-101 -1 2.0 0 0 4 5 -21 0.5 -53 0.4\n",
		"picl.statistics × 1"},
	{"all events and those without records, with a point", "-102 -1 2.0 0 0 4 5 -53 12 -1 13\n", ""},
	{"no event type", "-102 -1 2.0 0 0 1 \"%lf%d\" -21.5 5\n", "picl.statistics × 1"},
	{"a word as figure", "-102 -1 2.0 0 0 1 \"%d%s\" -21 x\n", "picl.statistics × 1"},
	{"entry with all fields",
		"-3 -51 0.5 0 0 7 2 5 -1 -1 8 5 1 0\n-4 -51 0.6 0 0 0\n-103 -1 2.0 0 0 2 \"%d%d\" -51 8 -21 8\n", ""},
	{"entry with all fields, which the exit repeats",
		"-3 -51 0.5 0 0 7 2 5 -1 -1 8 5 1 0\n-4 -51 0.6 0 0 4 2 8 5 1 0\n-103 -1 2.0 0 0 1 \"%d%d\" -51 8\n", ""},
	{"mark of waiting for a message",
		"-2 -56 0.5 0 0 7 2 5 -1 -1 8 5 1 0\n-103 -1 2.0 0 0 1 \"%d%d\" -56 8\n", ""},
	{"length with a point", "-3 -24 0.5 0 0 3 5 16.0 5.0 1.0\n-4 -24 0.6 0 0 0\n-103 -1 2.0 0 0 1 \"%d%d\" -24 16\n", ""},
	{"incomplete pair", "-102 -1 2.0 0 0 3 2 -21 1 7\n", "picl.statistics × 1"},
	{"inside an event type without events (2.3.2)", "-102 -53 2.0 0 0 1 \"%d%d\" -912 2\n-101 -55 2.0 0 0 1 \"%d%lf\" " +
		"-53 0.1\n", ""},
	{"inside a subset with such types (2.3.7)", "-102 -1013 2.0 0 0 1 \"%d%d\" -912 2\n", ""},
	{"inside user events, user level 0", "-2 -904 0.5 0 0 3 2 2 0 2\n-102 7 2.0 0 0 1 \"%d%d\" -21 1\n", ""},
	{"inside user events, PICL level 0", "-2 -904 0.5 0 0 3 2 0 2 2\n-102 7 2.0 0 0 1 \"%d%d\" 8 1\n",
		"picl.statistics × 1"},
	{"wildcard brackets",
		"-3 -1 0.5 0 0 0\n-3 1 0.6 0 0 0\n-4 1 0.7 0 0 0\n-4 -1 0.8 0 0 0\n-102 -1 2.0 0 0 1 \"%d%d\" 1 1\n",
		"picl.outside-tracing × 2"},
}

// TestStatistics_2_3_2 checks that statistics of event types without event records are not compared
// with the events.
func TestStatistics_2_3_2(t *testing.T) {
	const events = "-3 -21 0.1 0 0 3 2 8 1 1\n-4 -21 0.3 0 0 0\n"
	for _, x := range statisticsCases {
		t.Run("2.3.2 "+x.name, func(t *testing.T) {
			_, _, rules := opened(t, events+x.text, nil)
			if diff := cmp.Diff(x.want, strings.Join(rules, ", ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestUndefined_2_1 checks subsets of processors, processes or event types that a record defines or
// that are predefined.
func TestUndefined_2_1(t *testing.T) {
	for _, x := range []struct{ name, text, want string }{
		{"processors", "-3 1 0.1 -77 0 0\n", "picl.undefined × 1"},
		{"processors, with a point", "-3 -21 0.1 0 0 3 5 8 1 -77.0\n", "picl.undefined × 1"},
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

// TestNestedReceive_2_3_3 checks that event type -52 (waiting for a message) inside of event type -51
// (receive) is a part of this receive, and not a second receive.
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
		{"of a process whose number the waiting lacks", call + strings.ReplaceAll(wait, " 0 0 ", " 0 -1 ") + done + sums, 1},
		{"one after the other", call + "-4 -51 0.15 0 0 4 2 8 5 1 0\n" + wait, 2},
		{"not nested", call + "-3 -52 0.2 0 0 0\n-4 -51 0.3 0 0 4 2 8 5 1 0\n-4 -52 0.4 0 0 4 2 8 5 1 0\n", 2},
		{"entry and exit tell", "-3 -51 0.1 0 0 7 2 5 -1 -1 8 5 1 0\n" + done, 1},
		{"entry and exit of waiting tell", "-3 -52 0.1 0 0 7 2 5 -1 -1 8 5 1 0\n-4 -52 0.3 0 0 4 2 8 5 1 0\n", 1},
		{"entry and exit of a posted receive tell", "-3 -60 0.1 0 0 4 2 77 8 5 1\n-4 -60 0.3 0 0 3 2 8 5 1\n", 1},
		{"entry and exit of a receive found complete tell", "-3 -58 0.1 0 0 5 2 77 8 5 1 0\n-4 -58 0.3 0 0 4 2 8 5 1 0\n", 1},
		{"two receives found complete", strings.Repeat("-3 -58 0.1 0 0 1 2 77\n-4 -58 0.1 0 0 4 2 8 5 1 0\n", 2), 2},
		{"entry as one structure and exit tell",
			"-3 -51 0.1 0 0 1 \"%d%d%d%d%d%d\" 5 -1 -1 8 5 1\n" + done, 1},
		{"entry with a defined descriptor and exit tell", "-6 -51 0.0 -1 -1 1 \"%d%s\" 9 \"%d%d%d%d%d%d\"\n" +
			"-3 -51 0.1 0 0 1 9 5 -1 -1 8 5 1\n" + done, 1},
		{"twice entry and exit",
			"-3 -51 0.1 0 0 7 2 5 -1 -1 8 5 1 0\n-4 -51 0.15 0 0 0\n" + strings.Replace(call, "0.1", "0.2", 1) + done, 2},
		{"line ends of two characters", strings.ReplaceAll(call+wait+done, "\n", "\r\n"), 1},
		{"of posted receives", other.Replace(call + wait + done), 1},
		{"not in the order of time", done + wait + call, 1},
		{"one after the other in time", wait + "-4 -51 0.15 0 0 4 2 8 5 1 0\n" + call, 2},
		{"nested in the file alone", call + wait + "-4 -51 0.15 0 0 4 2 8 5 1 0\n", 2},
	} {
		t.Run("2.3.3 "+x.name, func(t *testing.T) {
			d, rows, rules := opened(t, x.text, nil)
			n := 0
			for _, r := range rows {
				if strings.Contains(r, " recv") && strings.HasSuffix(r, "derived") {
					n++
				}
			}
			rules = slices.DeleteFunc(rules, func(r string) bool { return strings.HasPrefix(r, "picl.unsorted") })
			if n != x.recvs || len(rules) > 0 {
				t.Errorf("%d receives, want %d; %v\n%s", n, x.recvs, rules, strings.Join(rows, "\n"))
			}
			late := trace.Everything()
			if late.From, n = 3, 0; x.name == "both tell" { // this window contains only the end of the call
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

// TestNestingOfParts checks that the reader finds a waiting inside of a call even if they are in different
// parts of a file.
func TestNestingOfParts(t *testing.T) {
	one, other := procKey{1, 0}, procKey{2, 0}
	for _, x := range []struct {
		name  string
		typ   int64 // event type of the call in the first part
		inner procKey
		want  bool
	}{
		{"inside", TypeEntry, one, true},
		{"after", TypeExit, one, false},
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

// TestLineEnds_2_2_2 checks that a carriage return belongs to the line's end and not to the text.
func TestLineEnds_2_2_2(t *testing.T) {
	_, rows, _ := opened(t, "1 5 0.1 0 0 1 \"%[^\\n]\" a b \r\n1 5 0.2 0 0 1 \"%5c\" ab  \r\n", nil)
	if text := strings.Join(rows, "\n"); strings.Contains(text, "\\r") || strings.Contains(text, "\r") ||
		!strings.Contains(text, "a b ") {
		t.Errorf("found %s", text)
	}
}

// TestSources_2_3_3 checks that a receive without a source gets the message that no other receive gets.
func TestSources_2_3_3(t *testing.T) {
	const (
		sends = "-3 -21 0.1 0 0 3 2 8 5 2\n-3 -21 0.2 1 0 3 2 9 5 2\n-3 -21 0.3 1 0 3 2 10 6 2\n"
		from0 = "sender=0/0 communicator=-1 tag=5 length=8"
		from1 = "sender=1/0 communicator=-1 tag=5 length=8"
		call  = "-3 -51 0.35 2 0 1 2 5\n-3 -52 0.36 2 0 1 2 5\n"
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
		{"entry with all fields", sends + "-3 -51 0.4 2 0 7 2 5 -1 -1 8 5 -1 -1\n-4 -51 0.5 2 0 0\n", from0},
		{"only around the waiting", sends + call + "-4 -52 0.4 2 0 2 2 8 5\n-4 -51 0.5 2 0 3 2 8 5 1\n", from1},
		{"only inside the call", sends + call + "-4 -52 0.4 2 0 3 2 8 5 1\n-4 -51 0.5 2 0 2 2 8 5\n", from1},
		{"in neither", sends + call + "-4 -52 0.4 2 0 2 2 8 5\n-4 -51 0.5 2 0 4 2 8 5 -1 -1\n", from0},
		{"waiting with -1", sends + call + "-4 -52 0.4 2 0 4 2 8 5 -1 -1\n-4 -51 0.5 2 0 4 2 8 5 1 0\n", from1},
		{"length only around the waiting", sends + call + "-4 -52 0.4 2 0 4 2 -1 5 1 0\n-4 -51 0.5 2 0 4 2 9 5 1 0\n",
			strings.Replace(from1, "=8", "=9", 1)},
		{"type only around the waiting", sends + call + "-4 -52 0.4 2 0 4 2 8 -1 1 0\n-4 -51 0.5 2 0 4 2 8 5 1 0\n", from1},
		{"entry without a source, exit with one", sends + "-3 -51 0.4 2 0 7 2 5 -1 -1 8 5 -1 -1\n-4 -51 0.5 2 0 3 2 8 5 1\n",
			from1},
		{"of posted receives", sends + strings.NewReplacer("-51", "-60", "-52", "-61").Replace(
			call+"-4 -52 0.4 2 0 2 2 8 5\n-4 -51 0.5 2 0 3 2 8 5 1\n"), from1},
		{"around the waiting, the others first",
			sends + call + "-4 -52 0.4 2 0 2 2 8 5\n-4 -51 0.5 2 0 3 2 8 5 0\n-4 -51 0.6 2 0 2 2 8 5\n", from0 + ", " + from1},
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

// TestMarksThatAreNoMessages checks marks of events that never are messages. The reader must not note that
// these marks are no messages.
func TestMarksThatAreNoMessages(t *testing.T) {
	for event, want := range map[string]bool{"-21": true, "-51": true, "-60": true, "-56": false, "-57": false,
		"-28": false} {
		_, _, rules := opened(t, "-2 "+event+" 0.1 0 0 3 2 5 1 1\n", nil)
		if got := slices.Contains(rules, "picl.mark-message × 1"); got != want {
			t.Errorf("a mark of %s: found %v, expected a note: %v", event, rules, want)
		}
	}
}

// TestOldRecords_13 checks records of the old format: the ends of sends, receives and barriers, blocks of the library,
// values after words, numbers of values, texts, and times that do not fit.
func TestOldRecords_13(t *testing.T) {
	for _, x := range []struct {
		name, text string
		want       []string
		rules      []string
	}{
		{"ends at the second compstats", "1 0 1 0 4 4 4\n10 0 10 0\n11 0 10 0 0 5\n11 0 30 0 0 25\n6 0 40 0 1 7 8\n" +
			"11 0 40 0 0 25\n12 0 40 0 0 0 0 0 0\n11 0 60 0 0 45\n12 0 60 0 1 8 0 0 0\n10 0 70 0\n6 0 80 0 1 7 9\n",
			[]string{`10 0/0 enter "sync0"(-402)`, `30 0/0 leave "sync0"(-402)`, `40 0/0 enter "recv0"(-51)`,
				`60 0/0 leave "recv0"(-51)`, `70 0/0 enter "sync0"(-402)`, `70 0/0 leave "sync0"(-402)`,
				`80 0/0 enter "recv0"(-51)`, `80 0/0 leave "recv0"(-51)`}, nil},
		{"no statistics", "1 0 1 0 4 0 4\n10 0 10 0\n14 0 20 0 4 4 4\n10 0 30 0\n15 0 40 1 5\n14 0 50 0 4 0 4\n" +
			"6 0 60 0 1 7 8\n15 0 70 1 5\n15 0 80 0 5\n", []string{`10 0/0 leave "sync0"(-402)`, `30 0/0 leave "sync0"(-402)`,
			`60 0/0 leave "recv0"(-51)`}, []string{"picl.unsorted × 1"}},
		{"blocks of the library", "1 0 1 0 4 4 4\n20 0 10 0 -2 3 4\n21 0 20 0 -2 3 4\n20 0 30 0 -9 5 6\n21 0 40 0 -9 5 6\n",
			[]string{`10 0/0 enter "MPI_Bcast"(-785)`,
				`10 0/0 record 20 "MPI_Bcast"(-785) data0:int32="-2" data1:int32="3" data2:int32="4"`,
				`20 0/0 record 21 "MPI_Bcast"(-785) data0:int32="-2" data1:int32="3" data2:int32="4"`,
				`20 0/0 leave "MPI_Bcast"(-785)`, `30 0/0 enter "system overhead"(-602)`,
				`30 0/0 record 20 "system overhead"(-602) data0:int32="-9" data1:int32="5" data2:int32="6"`}, nil},
		{"words in another order", "trace_start  clock 0 1 node 0 event 4 compstats 4 commstats 4\n" +
			"send  clock 0 10 node 0 lth 8 to 1 type 7\n",
			[]string{`10 0/0 enter "send0"(-21) length:int32="8" type:int32="7" destination:int32="1"`}, nil},
		{"numbers of values", "1 0 1 0 4 4 4\n4 0 10 0 1 7\n5 0 20 0 7 9\n", []string{
			`10 0/0 enter "send0"(-21) length:int32="-1" type:int32="7" destination:int32="1"`,
			`20 0/0 mark "probe0"(-53) data0:int32="7"`}, []string{"picl.old-record × 2"}},
		{"text", "1 0 1 0 4 4 4\n16 0 10 0 a  b\tc \n", []string{"10 0/0 comment", `text:string="a  b\tc"`}, nil},
		{"time", "1 0 0 0 4 4 4\n2 9223372036854775807 0 0\n", nil, []string{"picl.old-record × 1"}},
		{"microseconds alone", "1 0 0 0 4 4 4\n15 0 2500000 0 5\n15 1 2500000 0 6\n24 0 4000000 0 0 5000000\n",
			// The tick is 0.1 s.
			[]string{`25 0/0 mark "event 5"(5)`, `35 0/0 mark "event 6"(6)`, `50 0/0 leave "tracefiles"(-903)`}, nil},
		{"microseconds that do not fit", "1 0 0 0 4 4 4\n2 9000000000000 9223372036854775807 0\n", nil,
			[]string{"picl.old-record × 1"}},
	} {
		_, events, rules := opened(t, x.text, nil)
		all := "\n" + strings.Join(events, "\n")
		for _, w := range x.want {
			if !strings.Contains(all, w) {
				t.Errorf("%s: found no %s in%s", x.name, w, all)
			}
		}
		if !slices.Equal(rules, x.rules) {
			t.Errorf("%s: found %q, expected %q", x.name, rules, x.rules)
		}
	}
}

// TestFullBufferOfSeveral_2_2 checks which processes have a gap after a record of a full buffer. The value -1
// stands for all processors or processes, and the number of a subset stands for its members.
func TestFullBufferOfSeveral_2_2(t *testing.T) {
	const processes = "-3 1 0.1 0 0 0\n-3 1 0.1 1 0 0\n-3 1 0.1 1 1 0\n-3 1 0.1 2 0 0\n-3 1 0.1 32767 0 0\n"
	for _, x := range []struct{ name, text, want string }{
		{"a process", "-2 -913 0.5 1 1 0\n", "1/1"},
		{"all processors", "-2 -913 0.5 -1 -1 0\n", "-1/-1 0/0 1/0 1/1 2/0 32767/0"},
		{"overwritten records of all processors", "-2 -914 0.5 -1 -1 0\n", "-1/-1 0/0 1/0 1/1 2/0 32767/0"},
		{"an entry of all processors", "-3 -913 0.5 -1 -1 0\n-4 -913 0.6 -1 -1 0\n", "-1/-1 0/0 1/0 1/1 2/0 32767/0"},
		{"a process of all processors", "-2 -913 0.5 -1 0 0\n", "-1/0 0/0 1/0 2/0 32767/0"},
		{"all processes of a processor", "-2 -913 0.5 1 -1 0\n", "1/-1 1/0 1/1"},
		{"the only process of a processor", "-2 -913 0.5 2 -1 0\n", "2/0"},
		{"a subset of processors", "-201 -1 0.0 -1 -1 3 2 -8 2 0\n-2 -913 0.5 -8 -1 0\n", "-8/-1 0/0 2/0"},
		{"a subset of processes", "-202 -1 0.0 -1 -1 2 2 -8 1\n-2 -913 0.5 1 -8 0\n", "1/-8 1/1"},
		{"an undefined subset", "-2 -913 0.5 -77 -1 0\n", "-77/-1"},
	} {
		_, rows, _ := opened(t, processes+x.text, nil)
		var got []string
		for _, r := range rows {
			if rest, ok := strings.CutSuffix(r, " gap derived"); ok {
				got = append(got, rest[strings.LastIndexByte(rest, ' ')+1:])
			}
		}
		slices.Sort(got)
		if strings.Join(got, " ") != x.want {
			t.Errorf("%s: found gaps of %q, expected %q:\n%s", x.name, got, x.want, strings.Join(rows, "\n"))
		}
		// A copy must have the same records.
		if again := copyText(t, processes+x.text, nil); strings.Count(again, "\n") != strings.Count(processes+x.text, "\n") {
			t.Errorf("%s: found the copy %q", x.name, again)
		}
	}
}
