package cli

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
)

// rewriteTRACE runs a command on a TRACE file. It returns the written file and the messages.
func rewriteTRACE(t *testing.T, text string, args ...string) (written, printed string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out.etf")
	code, stdout, stderr := runWeft(t, append(args, textFile(t, "in.etf", text), out)...)
	if code != 0 {
		t.Fatalf("%q: exit code %d: %s%s", args, code, stdout, stderr)
	}
	return readText(t, out), stdout + stderr
}

// TestTRACEBackslashBeforeBlank checks that a backslash before a blank in a value causes a warning
// and stays.
func TestTRACEBackslashBeforeBlank(t *testing.T) {
	const text = "TU SECONDS\nE 0 1 ; path=C:\\ docs, a\\ b=c\n"
	for _, verb := range []string{"convert", "filter"} {
		got, printed := rewriteTRACE(t, text, verb)
		if got != text {
			t.Errorf("%s: found %q, expected %q", verb, got, text)
		}
		if !strings.Contains(printed, "2 warnings") {
			t.Errorf("%s: found no warnings in %s", verb, printed)
		}
	}
}

// TestMergeOfTRACEByWallClock checks that traces merged by the time of day have exactly the times
// that their offsets give.
func TestMergeOfTRACEByWallClock(t *testing.T) {
	for _, x := range []struct{ a, b, want string }{
		{"O 1500\nE 0 1 ; name=a\n", "O 1100\nE 0 1 ; name=b\n", "TU SECONDS\nO 1500\nE 1 0.6 ; name=b\nE 0 1 ; name=a\n"},
		{"O 1500\nE 0 1.0005 ; name=a\n", "O 1100\nE 0 1 ; name=b\n",
			"TU SECONDS\nO 1500\nE 1 0.6 ; name=b\nE 0 1.0005 ; name=a\n"},
		{"O 5000\nE 0 1 ; name=a\n", "TU MINUTES\nO 2000\nE 0 1 ; name=b\n",
			"TU SECONDS\nO 5000\nE 0 1 ; name=a\nE 1 57 ; name=b\n"},
		{"TU MINUTES\nO 2000\nS 0 ;\nF 0 1 2 5 60 0\n", "TU MINUTES\nO 5000\nE 0 1 ;\n",
			"TU SECONDS\nO 2000\nE 1 63 ;\nS 0 ;\nF 0 60 120 5 1 0\n"},
	} {
		got, _ := rewriteTRACE(t, x.b, "merge", "--anchor", "wall", textFile(t, "a.etf", x.a))
		if got != x.want {
			t.Errorf("%q and %q: found %q, expected %q", x.a, x.b, got, x.want)
		}
	}
}

// unreadLines is a TRACE file with seven unreadable lines, four of them dependencies. The last line
// is longer than 1 kB.
var unreadLines = "R 0 1 false ;\nE 0 1 ;\nE 1 2 ;\nE 9\nD\nD 0 9 0 1 ;\nD x 4 0 1 ;\nD 3 4 0 ;\nD 4 4 0 1 ;\nC 0 2 " +
	"1 0 1 ;\n" +
	"E 2 3 ; a=" + strings.Repeat("x", 2000) + "\n"

// lostLineCount returns the number of lost lines in a loss table and how they are lost.
func lostLineCount(t *testing.T, rows string) (n int64, how format.Fidelity) {
	t.Helper()
	for _, r := range parseLossRows(t, rows) {
		if r.Kind == "line" {
			n, how = n+r.Count, r.How
		}
	}
	return n, how
}

// TestLossOfUnreadTRACELines checks that unreadable lines of events and dependencies are in the
// loss table of an output without them.
func TestLossOfUnreadTRACELines(t *testing.T) {
	in := textFile(t, "in.etf", unreadLines)
	for _, x := range []struct {
		args []string
		out  string
		n    int64
		how  format.Fidelity
	}{
		{[]string{"filter"}, "out.etf", 1, format.Lost}, // edits omit the line that is too long
		{[]string{"cut", "--from", "0%"}, "out.etf", 1, format.Lost},
		{[]string{"anonymize"}, "out.etf", 7, format.Lost},
		{[]string{"filter", "--prune"}, "out.etf", 7, format.Lost},
		{[]string{"convert"}, "out.trf", 7, format.Lost},
		{[]string{"convert"}, "out.otf2", 7, format.Lost},
		{[]string{"repair"}, "out.etf", 7, format.Degraded}, // for repair, leaving out unreadable lines is a repair
		{[]string{"convert"}, "out.etf", 1, format.Lost},    // a copy omits the line that is too long
	} {
		args := append(x.args, "-q", "--json", "--allow-loss", "--option", "etf.max-line=1k", in,
			filepath.Join(t.TempDir(), x.out))
		code, rows, errs := runWeft(t, args...)
		if code != 0 {
			t.Errorf("%q: exit code %d: %s", args, code, errs)
			continue
		}
		if n, how := lostLineCount(t, rows); n != x.n || how != x.how {
			t.Errorf("%q: found %d lines %s, expected %d %s", args, n, how, x.n, x.how)
		}
	}
	out := filepath.Join(t.TempDir(), "out.etf")
	if code, _, _ := runWeft(t, "filter", "--option", "etf.max-line=1k", in, out); code != 1 {
		t.Errorf("filter without --allow-loss: exit code %d, expected 1", code)
	}
	// Unreadable dependencies are no links.
	_, info, _ := runWeft(t, "info", "-q", "--json", in)
	var got struct{ Links int64 }
	if err := json.Unmarshal([]byte(info), &got); err != nil || got.Links != 1 {
		t.Errorf("info: found %d links (%v), expected 1", got.Links, err)
	}
}

// TestTRACEPartsStayWhole checks dependencies and series of filtered files. Dependencies of kept
// events stay, even if a dropped claim has the same id. A piece has no dependencies of events
// outside of it. A series whose name is replaced keeps its TS line.
func TestTRACEPartsStayWhole(t *testing.T) {
	for _, x := range []struct {
		verb       []string
		text, want string
	}{
		{[]string{"filter", "--kind", "mark"}, "R 1 1 false ;\nC 1 0 1 1 1 ;\nE 1 5 ;\nE 2 6 ;\nD 1 4 1 2 ;\n",
			"TU SECONDS\nR 1 1 false ;\nE 1 5 ;\nE 2 6 ;\nD 1 4 1 2 ;\n"},
		{[]string{"filter", "--not-kind", "mark"}, "R 1 1 false ;\nC 1 0 1 1 1 ;\nC 2 1 2 1 1 ;\nE 1 5 ;\nD 1 0 1 2 ;\n",
			"TU SECONDS\nR 1 1 false ;\nC 1 0 1 1 1 ;\nC 2 1 2 1 1 ;\nD 1 0 1 2 ;\n"},
		{[]string{"cut", "--borders", "bare", "--window", "4s..6s"},
			"E 1 0 ;\nE 2 5 ;\nD 1 4 1 2 ;\nE 3 5.5 ;\nD 2 4 2 3 ;\n",
			"TU SECONDS\nE 2 5 ;\nE 3 5.5 ;\nD 2 4 2 3 ;\n"},
		{[]string{"anonymize"}, "TS 1 ; name=g\nTSS 1 1 ; name=s\nTSP 1 1 0 1\n",
			"TU SECONDS\nTS 1 ; name=time series 1\nTSS 1 1 ; name=signal 1\nTSP 1 1 0 1\n"},
	} {
		if got, _ := rewriteTRACE(t, x.text, x.verb...); got != x.want {
			t.Errorf("%q: found %q, expected %q", x.verb, got, x.want)
		}
	}
}

// TestTRACELinesThatMustNotBeFirst checks that an ignored line stays ignored if it becomes the
// first line of a file.
func TestTRACELinesThatMustNotBeFirst(t *testing.T) {
	for _, x := range []struct{ text, want string }{
		{"E 0 1 ; name=a\n\uFEFFTU MILLISECONDS\nTU SECONDS\n", "# \uFEFFTU MILLISECONDS\nTU SECONDS\nE 0 1 ; name=a\n"},
		{"E 0 1 ; name=a\nTraceVersion\tV0.1\nTU SECONDS\n", "# TraceVersion\tV0.1\nTU SECONDS\nE 0 1 ; name=a\n"},
	} {
		if got, _ := rewriteTRACE(t, x.text, "filter"); got != x.want {
			t.Errorf("filter: found %q, expected %q", got, x.want)
		}
		over, back := filepath.Join(t.TempDir(), "over.trf"), filepath.Join(t.TempDir(), "back.etf")
		weft(t, 0, "convert", "-q", textFile(t, "in.etf", x.text), over)
		weft(t, 0, "convert", "-q", over, back)
		if got := readText(t, back); got != x.want {
			t.Errorf("by way of PICL: found %q, expected %q", got, x.want)
		}
	}
}

// TestTRACECommentsKeepTheirPlaces checks that comments and other ignored lines stay before the
// same line.
func TestTRACECommentsKeepTheirPlaces(t *testing.T) {
	const text = "# head\nX unknown\nTU SECONDS\n# of the trace\nT a=b\n# resources\n# two\nR 0 1 false ; name=r\nR 1 " +
		"1 false ;\n" +
		"  # claims\nC 0 0 1.0 0 1 ; name=f\n# claim 1\n\nC 1 0.50 2 1 1 ; name=g\n# R 0 2 false ;\nE 0 1 ;\nE 9\n# event " +
		"1\nE 1 2 ;\n" +
		"# links\nD 0 4 0 1 ;\n# signal\nS 0 ;\n# fragment\nF 0 0 1 1 0 0\n# group\nTS 0 ;\n# series\nTSS 0 0 ;\n" +
		"# samples\nTSP 0 0 1 5 2.0 6\n# range\nTSR 0 0 1.5 1.7 1 2\n# end\nX end\n"
	in := strings.Replace(text, "# R 0 2 false", "R 0 2 false", 1) // the replaced definition has no effect
	for _, verb := range [][]string{{"filter"}, {"cut", "--from", "0%"}, {"merge"}, {"align", "--json"}} {
		got, printed := rewriteTRACE(t, in, append(verb, "--allow-loss")...)
		if got != text {
			t.Errorf("%q: found %s\nexpected %s", verb, got, text)
		}
		if strings.Contains(printed, "moved to the beginning") {
			t.Errorf("%q: found losses %s", verb, printed)
		}
	}
	// Comments of removed lines come first and are counted.
	got, printed := rewriteTRACE(t, "# head\nE 0 1 ;\n# of b\nE 1 2 ; name=b\n# of c\nE 2 3 ; name=c\n", "filter",
		"--not-region", "b")
	if want := "# head\n# of b\nTU SECONDS\nE 0 1 ;\n# of c\nE 2 3 ; name=c\n"; got != want {
		t.Errorf("found %q, expected %q", got, want)
	}
	f := strings.Fields(printed)
	if !strings.Contains(printed, "moved to the beginning of the file") || f[len(f)-1] != "1" {
		t.Errorf("found losses %s, expected 1 comment", printed)
	}
}

// TestVerbsKeepDigitsOfTRACE checks that times with too many digits stay in unchanged lines.
func TestVerbsKeepDigitsOfTRACE(t *testing.T) {
	for _, text := range []string{
		"TU NANOSECONDS\nE 0 1.0000000001 ;\nE 3 1.1234567890123456789 ; a=b\nE 1 2 ;\n",
		"TU SECONDS\nE 1 0.1 ;\nE 0 1e15 ;\nS 0 ;\nF 0 0 1.0005 1 2 3\n",
		"TU NANOSECONDS\nR 0 1 false ;\nC 0 1.0000000000004 2.0000000000004 0 0.25 ;\nTS 0 ;\nTSS 0 0 ;\nTSP 0 0 " +
			"1.0000000000004 5 2 6\nTSR 0 0 3.0000000000004 4 1\n",
	} {
		if got, _ := rewriteTRACE(t, text, "filter"); got != text {
			t.Errorf("filter: found %q, expected %q", got, text)
		}
	}
	// weft repair writes the values that it has read.
	got, _ := rewriteTRACE(t, "TU NANOSECONDS\nE 0 1.0000000001 ;\nE 1 2 ;\n", "repair")
	if want := "TU NANOSECONDS\nE 0 1 ;\nE 1 2 ;\n"; got != want {
		t.Errorf("repair: found %q, expected %q", got, want)
	}
}

// TestTRACECommentsAfterNothing checks that leading comments without a preceding line are not
// reported as moved.
func TestTRACECommentsAfterNothing(t *testing.T) {
	const head = "TU DAYS\nbad\nE 9\nD 0 9 1 1 ;\nC 0 2 1 0 1 ;\nTU WEEKS\nO x\n"
	for text, want := range map[string]string{
		head + "TU NANOSECONDS\nE 0 1 ;\n":              "",
		head + "E 0 1 ;\nTU NANOSECONDS\n":              "",
		head + "E 0 1 ;\n# c\nTU NANOSECONDS\nO 1\nO 2": "2",
		head + "T a=b\n# c\nE 0 1 ;\n":                  "1",
	} {
		printed := weft(t, 0, "convert", "-q", "--allow-loss", textFile(t, "in.etf", text),
			filepath.Join(t.TempDir(), "out.trf"))
		found := ""
		for l := range strings.Lines(printed) {
			if strings.Contains(l, "moved to the beginning of the file") {
				f := strings.Fields(l)
				found = f[len(f)-1]
			}
		}
		if found != want {
			t.Errorf("%q: found %q comments that move, expected %q", text, found, want)
		}
	}
}

// TestVerbsKeepTRACELinesOfSamples checks that samples of a line stay in one line, even if samples
// of other lines lie between them.
func TestVerbsKeepTRACELinesOfSamples(t *testing.T) {
	const head = "TU SECONDS\nTS 0 ;\nTSS 0 0 ;\n"
	for _, x := range []struct{ name, text, want string }{
		{"a range between samples", "TSP 0 0 1 5 2 6 3 7\nTSR 0 0 1.5 1.7 1 2\n", ""},
		{"samples between samples", "TSP 0 0 1 5 4 6\nTSP 0 0 2 5 (3, 6)\nTSP 0 0 5 1\n", ""},
		{"lines that overlap", "TSP 0 0 1 5 3 6 5 7\nTSP 0 0 2 5 4 6 6 7\nTSR 0 0 2.5 2.7 1 2\nTSP 0 0 7 1 8 2\n", ""},
		{"no samples", "TSP 0 0\nTSP 0 0 1 5\nTSP 0 0 ()\n# c\nTSR 0 0 2 3\nTSP 0 0\n", ""},
		{"samples in another order", "TSP 0 0 3 5 1 6 (1,  7) 2 8\nTSP 0 0 7 5 6 6\n", ""},
		{"lines begun in another order", "TSP 0 0 2 5 4 6\nTSP 0 0 1 5 3 6\n", "TSP 0 0 1 5 3 6\nTSP 0 0 2 5 4 6\n"},
	} {
		want := x.want
		if want == "" {
			want = x.text
		}
		got, printed := rewriteTRACE(t, head+x.text, "filter")
		if got != head+want {
			t.Errorf("%s: found %q, expected %q", x.name, got, head+want)
		}
		if strings.Contains(printed, "order") {
			t.Errorf("%s: found losses %s", x.name, printed)
		}
	}
	// The line with the earliest begin comes first, so of simultaneous samples the later ones come
	// first.
	got, printed := rewriteTRACE(t, head+"TSP 0 0 2 5 4 6\nTSP 0 0 1 5 4 7\n", "filter")
	want := head + "TSP 0 0 1 5 4 7\nTSP 0 0 2 5 4 6\n"
	if got != want || !strings.Contains(printed, "on different lines") {
		t.Errorf("found %q and %s, expected %q and a loss", got, printed, want)
	}
	// The rest of a line stays in one line.
	got, _ = rewriteTRACE(t, head+"TSP 0 0 1 5 2 6 3 7\nTSR 0 0 2.5 2.7 1 2\nTSP 0 0 4 1 5 2\n", "cut", "--from", "@2s",
		"--to", "@4.5s")
	if want := head + "TSP 0 0 2 6 3 7\nTSR 0 0 2.5 2.7 1 2\nTSP 0 0 4 1\n"; got != want {
		t.Errorf("cut: found %q, expected %q", got, want)
	}
}

// TestAlignTRACE checks that weft align moves the clocks of a trace carried in a TRACE file and
// writes all other lines unchanged.
func TestAlignTRACE(t *testing.T) {
	// The message sent at 0.73 s is received at 0.70 s: the sender's clock is 0.03 s ahead.
	const early = "-3 -21 0.73 1 0 4 \"%d %d %d %d\" 8 1 0 0\n-4 -21 0.74 1 0 0\n-3 -51 0.60 0 0 1 \"%d\" 1\n-4 -51 " +
		"0.70 0 0 4 \"%d %d %d %d\" 8 1 1 0\n"
	in, out := filepath.Join(t.TempDir(), "in.etf"), filepath.Join(t.TempDir(), "out.etf")
	weft(t, 0, "convert", "-q", textFile(t, "in.trf", early), in)
	weft(t, 0, "align", in, out)
	more, fewer := lineDifferences(lineList(t, in), lineList(t, out))
	begins := func(list []string, want ...string) {
		t.Helper()
		if !slices.EqualFunc(list, want, strings.HasPrefix) {
			t.Errorf("found %q, expected lines that begin with %q", list, want)
		}
	}
	begins(fewer, "C 4 0.73 0.74 1 1 ; name=send0", "E 5 0.73 ;")
	begins(more, "C 4 0.7 0.71 1 1 ; name=send0", "E 5 0.7 ;")
	// Lines of locations with a right clock stay unchanged. The correction is in tenths of seconds;
	// location 0 is 0.2 s behind.
	clocks := textFile(t, "clocks.json",
		`{"type":"weft clock correction","version":1,"ticks":10,"perSeconds":1,"locations":[{"id":"0","points":[[0,2]]}]}`)
	got, _ := rewriteTRACE(t, "TU  SECONDS\nR 0 1 false ;\nR 1 1 false;\nC 1 0.10 0.5 1 1.0 ;\nC 0 0.10 0.5 0 1.0 ;\nE "+
		"0 0.30 ;\nD 0 4 0 0;\n",
		"cut", "--from", "0%", "--clock-correction", clocks)
	if want := "TU  SECONDS\nR 0 1 false ;\nR 1 1 false;\nC 1 0.10 0.5 1 1.0 ;\nC 0 0.3 0.7 0 1 ;\nE 0 0.30 ;\nD 0 4 0 " +
		"0;\n"; got != want {
		t.Errorf("found %q, expected %q", got, want)
	}
}

// TestCutTRACESamplesAtBorders cuts a trace with a TSR line in two. Each sample of the line must be in
// exactly one piece. The last sample of a TSR line lies at the end of the line's range.
func TestCutTRACESamplesAtBorders(t *testing.T) {
	const head = "TU SECONDS\nTS 0 ;\nTSS 0 0 ;\n"
	for _, x := range []struct {
		border        string
		before, after string
	}{
		{"0", "", "TSR 0 0 0 6 1 2 3 4\n"},
		{"2", "TSR 0 0 0 0 1\n", "TSR 0 0 2 6 2 3 4\n"},
		{"3", "TSR 0 0 0 2 1 2\n", "TSR 0 0 4 6 3 4\n"},
		{"6", "TSR 0 0 0 4 1 2 3\n", "TSR 0 0 6 6 4\n"},
		{"7", "TSR 0 0 0 6 1 2 3 4\n", ""},
	} {
		for _, piece := range []struct{ flag, want string }{{"--to", x.before}, {"--from", x.after}} {
			got, _ := rewriteTRACE(t, head+"TSR 0 0 0 6 1 2 3 4\n", "cut", "-q", piece.flag, "@"+x.border+"s")
			if want := head + piece.want; got != want {
				t.Errorf("%s %s: found\n%s\nexpected\n%s", piece.flag, x.border, got, want)
			}
		}
	}
}

// TestRangeOfManySamples checks a range with more samples than 16 bits can count.
func TestRangeOfManySamples(t *testing.T) {
	path := textFile(t, "x.etf", "TS 0 ;\nTSS 0 0 ;\nTSR 0 0 0 1"+strings.Repeat(" 5", 70_000)+"\n")
	for _, command := range []string{"states", "profile", "usage", "comm", "info"} {
		want := 0
		if command == "states" { // a trace without processors has no states
			want = 1
		}
		if code, _, errs := runWeft(t, command, path); code != want {
			t.Errorf("%s: exit code %d: %s", command, code, errs)
		}
	}
}
