package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMergeOfTRACEWithEqualIDs checks that ids of the same kind that occur in both files become
// different, with all references to them.
func TestMergeOfTRACEWithEqualIDs(t *testing.T) {
	const (
		signals = "S 1 ; name=s\nF 1 0 2 1 0 0\nF 1 2 3 2 1 0\nS 0 ; name=r\nF 0 0 1 9 0 0\n"
		series  = "TS 1 ; name=g\nTSS 1 1 ; name=a\nTSP 1 1 0 1 1 2\nTSS 1 0 ; name=b\nTSP 1 0 0 3\n"
	)
	for _, x := range []struct {
		name string
		args []string
		in   []string
		want string
	}{
		{"signals", nil, []string{signals, strings.ReplaceAll(signals, "name=s", "name=other")},
			"TU SECONDS\nS 1 ; name=s\nF 1 0 2 1 0 0\nF 1 2 3 2 1 0\nS 0 ; name=r\nF 0 0 1 9 0 0\n" +
				"S 2 ; name=other\nF 2 0 2 1 0 0\nF 2 2 3 2 1 0\nS 3 ; name=r\nF 3 0 1 9 0 0\n"},
		{"signals in another order", nil,
			[]string{"S 1 ;\nF 1 0 1 1 0 0\nS 2 ;\nF 2 0 1 2 0 0\n", "S 2 ;\nF 2 0 1 3 0 0\nS 1 ;\nF 1 0 1 4 0 0\n"},
			"TU SECONDS\nS 1 ;\nF 1 0 1 1 0 0\nS 2 ;\nF 2 0 1 2 0 0\nS 3 ;\nF 3 0 1 3 0 0\nS 4 ;\nF 4 0 1 4 0 0\n"},
		{"series", nil, []string{series, series, series},
			"TU SECONDS\nTS 1 ; name=g\nTSS 1 0 ; name=b\nTSP 1 0 0 3\nTSS 1 1 ; name=a\nTSP 1 1 0 1 1 2\n" +
				"TS 2 ; name=g\nTSS 2 0 ; name=b\nTSP 2 0 0 3\nTSS 2 1 ; name=a\nTSP 2 1 0 1 1 2\n" +
				"TS 3 ; name=g\nTSS 3 0 ; name=b\nTSP 3 0 0 3\nTSS 3 1 ; name=a\nTSP 3 1 0 1 1 2\n"},
		{"series of different ids", nil, []string{"TS 1 ; name=g\nTSS 1 1 ;\nTSP 1 1 0 1\n", "TS 1 ; name=h\nTSS 1 2 " +
			";\nTSP 1 2 0 1\n"},
			"TU SECONDS\nTS 1 ; name=g\nTSS 1 1 ;\nTSP 1 1 0 1\nTS 2 ; name=h\nTSS 2 2 ;\nTSP 2 2 0 1\n"},
		{"series in another order", nil,
			[]string{"TS 1 ;\nTSS 1 1 ;\nTSR 1 1 0 1 5 6\nTS 2 ;\nTSS 2 1 ;\nTSP 2 1 0 7\n",
				"TS 2 ;\nTSS 2 1 ;\nTSP 2 1 0 8\nTS 1 ;\nTSS 1 1 ;\nTSP 1 1 0 9\n"},
			"TU SECONDS\nTS 1 ;\nTSS 1 1 ;\nTSR 1 1 0 1 5 6\nTS 2 ;\nTSS 2 1 ;\nTSP 2 1 0 7\nTS 3 ;\nTSS 3 1 ;\nTSP 3 1 0 " +
				"8\nTS 4 ;\nTSS 4 1 ;\nTSP 4 1 0 9\n"},
		{"series without their group", nil,
			[]string{"TSS 1 1 ;\nTSP 1 1 0 7\nTSS 1 5 ;\nTSP 1 5 1 8\n", "TS 1 ;\nTSS 1 1 ;\nTSP 1 1 0 9\n"},
			"TU SECONDS\nTSS 1 1 ;\nTSP 1 1 0 7\nTSS 1 5 ;\nTSP 1 5 1 8\nTS 2 ;\nTSS 2 1 ;\nTSP 2 1 0 9\n"},
		{"one run", []string{"--unify"}, []string{"TS 1 ;\nTSS 1 1 ; name=a\nTSP 1 1 0 1\n", "TS 1 ;\nTSS 1 1 ; " +
			"name=b\nTSP 1 1 0 2\n"},
			"TU SECONDS\nTS 1 ;\nTSS 1 1 ; name=a\nTSP 1 1 0 1\nTSS 1 2 ; name=b\nTSP 1 2 0 2\n"},
		{"prune", []string{"--prune"}, []string{series, "TS 2 ;\nTSS 2 9 ;\n" + series},
			"TU SECONDS\nTS 1 ; name=g\nTSS 1 0 ; name=b\nTSP 1 0 0 3\nTSS 1 1 ; name=a\nTSP 1 1 0 1 1 2\n" +
				"TS 3 ; name=g\nTSS 3 0 ; name=b\nTSP 3 0 0 3\nTSS 3 1 ; name=a\nTSP 3 1 0 1 1 2\n"},
		{"resources and what refers to them", nil, []string{
			"R 1 1 false ; name=a\nC 1 0 1 1 1 ; name=f\nE 1 2 ;\nD 1 6 1 1 ;\n",
			"R 1 2 true ; name=b\nC 1 0 1 1 0 2 ; name=g\nE 1 2 ;\nD 1 6 1 1 ; k=v\n"},
			"TU SECONDS\nR 1 1 false ; name=a\nR 2 2 true ; name=b\nC 2 0 1 1 1 ; name=f\nC 3 0 1 2 0 2 ; name=g\n" +
				"E 2 2 ;\nE 3 2 ;\nD 2 6 2 2 ;\nD 3 6 3 3 ; k=v\n"},
		{"an id of -1", nil, []string{"E -1 1 ;\nE 1 2 ;\nD 1 4 -1 1 ;\n", "E -1 1 ;\n"},
			"TU SECONDS\nE -2 1 ;\nE -1 1 ;\nE 2 2 ;\nD 2 4 -2 2 ;\n"},
	} {
		t.Run(x.name, func(t *testing.T) {
			args := append([]string{"merge", "--allow-loss"}, x.args...)
			last := len(x.in) - 1
			for i, text := range x.in[:last] {
				args = append(args, textFile(t, fmt.Sprintf("%d.etf", i), text))
			}
			if got, _ := rewriteTRACE(t, x.in[last], args...); got != x.want {
				t.Errorf("found\n%s\nexpected\n%s", got, x.want)
			}
			// The result is the same through other formats.
			for _, ext := range []string{".trf", ".otf", ".otf2", ".pallas"} {
				there, back := filepath.Join(t.TempDir(), "there", "x"+ext), filepath.Join(t.TempDir(), "back.etf")
				mustRun(t, append(args, textFile(t, "last.etf", x.in[last]), inFolder(t, there))...)
				mustRun(t, "convert", "--allow-loss", there, back)
				if got := readText(t, back); got != x.want {
					t.Errorf("%s: found\n%s\nexpected\n%s", ext, got, x.want)
				}
			}
		})
	}
}

// inFolder creates the folder of a path.
func inFolder(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	return path
}

// mustRun runs a command that must succeed.
func mustRun(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	code, stdout, stderr := runWeft(t, args...)
	if code != 0 {
		t.Fatalf("%q: exit code %d: %s%s", args, code, stdout, stderr)
	}
	return stdout, stderr
}

// TestTRACESeriesOfNegativeIDs checks that time series with the ids -1 and -2 are taken neither for
// signals nor for groups.
func TestTRACESeriesOfNegativeIDs(t *testing.T) {
	const text = "TU SECONDS\nS 1 ; name=s\nF 1 0 1 1 0 0\nTS 1 ;\nTSS 1 -2 ;\nTSP 1 -2 0 6\nTSS 1 -1 ; name=x\nTSP 1 " +
		"-1 0 5\n"
	for _, verb := range [][]string{{"filter"}, {"filter", "--prune"}, {"anonymize", "--keep", "*"}} {
		if got, _ := rewriteTRACE(t, text, append(verb, "--allow-loss")...); got != text {
			t.Errorf("%q: found\n%s\nexpected\n%s", verb, got, text)
		}
	}
}

// TestFilterTRACEEventOfNegativeID checks that the dependencies of an event with the id -1 are
// removed together with it.
func TestFilterTRACEEventOfNegativeID(t *testing.T) {
	const text = "E -1 0 ; name=z\nE 2 5 ; name=k\nE 3 6 ; name=k\nD 1 4 -1 2 ;\nD 2 4 2 3 ;\n"
	got, _ := rewriteTRACE(t, text, "filter", "--region", "k")
	if want := "TU SECONDS\nE 2 5 ; name=k\nE 3 6 ; name=k\nD 2 4 2 3 ;\n"; got != want {
		t.Errorf("found\n%s\nexpected\n%s", got, want)
	}
}

// TestMergeOfTRACEKeepsTheUnit checks that the time unit of the first file stays if its decimals
// can express all times. Coefficients change with the unit.
func TestMergeOfTRACEKeepsTheUnit(t *testing.T) {
	for _, x := range []struct{ a, b, want string }{
		{"TU MILLISECONDS\nE 1 1 ;\n", "TU MILLISECONDS\nE 1 1.5 ;\nS 1 ;\nF 1 0 1 2 0.1 0.3\n",
			"TU MILLISECONDS\nE 2 1 ;\nE 3 1.5 ;\nS 1 ;\nF 1 0 1 2 0.1 0.3\n"},
		{"TU HOURS\nE 1 1 ;\n", "TU HOURS\nE 1 1.5 ;\n", "TU HOURS\nE 2 1 ;\nE 3 1.5 ;\n"},
		// 2 + 0.1 s + 0.3 s² = 2 + 0.0001 ms + 0.0000003 ms²
		{"TU MILLISECONDS\nE 1 1 ;\n", "S 1 ;\nF 1 0 1 2 0.1 0.3\n",
			"TU MILLISECONDS\nE 2 1 ;\nS 1 ;\nF 1 0 1000 2 0.0001 0.0000003\n"},
		{"E 1 1 ;\n", "TU NANOSECONDS\nS 1 ;\nF 1 0 500000000 7 0.5 0.25\n",
			"TU SECONDS\nE 2 1 ;\nS 1 ;\nF 1 0 0.5 7 500000000 250000000000000000\n"},
		// 1/3600 h has no finite decimal form.
		{"TU HOURS\nE 1 1 ;\n", "TU SECONDS\nE 1 1 ;\n", "TU SECONDS\nE 3 1 ;\nE 2 3600 ;\n"},
	} {
		got, _ := rewriteTRACE(t, x.b, "merge", textFile(t, "a.etf", x.a))
		if got != x.want {
			t.Errorf("%q and %q: found\n%s\nexpected\n%s", x.a, x.b, got, x.want)
		}
	}
}

// TestMergeOfTRACEAttributes checks that attributes of merged files keep their keys unless two
// files have different values.
func TestMergeOfTRACEAttributes(t *testing.T) {
	const event = "E 1 1 ;\n"
	for _, x := range []struct {
		a, b, want string
		lost       string // number of keys in the loss table
	}{
		{"T a=1\nT a=3\n", "", "T a=1\nT a=3\n", ""},
		{"", "T a=1\nT a=3\n", "T a=1\nT a=3\n", ""},
		{"T a=1\nT a=3\n", "T a=1, b=2\nT a=3\n", "T a=1\nT a=3, b=2\n", ""},
		{"T a=1, b=2\n", "T b=2, a=1\n", "T a=1, b=2\n", ""},
		{"T a=1\n", "T a=3\n", "T a=1, a (2)=3\n", "1"},
		{"T a=1, a (2)=x\n", "T a=3, b=4\n", "T a=1, a (2)=x, a (3)=3, b=4\n", "1"},
		{"T a=1\n", "T a=3, a (2)=x\n", "T a=1, a (3)=3, a (2)=x\n", "1"},
		{"T a=1, b=1\n", "T a=3\nT a=4, b=2\n", "T a=1, b=1, a (2)=3\nT a (2)=4, b (2)=2\n", "2"},
	} {
		got, printed := rewriteTRACE(t, x.b+event, "merge", textFile(t, "a.etf", x.a+event))
		if want := "TU SECONDS\n" + x.want + "E 2 1 ;\nE 3 1 ;\n"; got != want {
			t.Errorf("%q and %q: found\n%s\nexpected\n%s", x.a, x.b, got, want)
		}
		row := ""
		for line := range strings.Lines(printed) {
			if f := strings.Fields(line); len(f) > 3 && f[0] == "property" {
				row = f[len(f)-1]
			}
		}
		if row != x.lost {
			t.Errorf("%q and %q: the loss table has %q keys, expected %q: %s", x.a, x.b, row, x.lost, printed)
		}
	}
}

// TestMergeOfTRACECountsWhatDoesNotFit checks that the loss table counts each value rounded by a
// merge once, and lists ids that cannot be kept apart.
func TestMergeOfTRACECountsWhatDoesNotFit(t *testing.T) {
	const signal = "S 1 ;\nF 1 0 1 1 0 0\n"
	_, printed := rewriteTRACE(t, "TU NANOSECONDS\nE 1 1 ;\n", "merge",
		textFile(t, "a.etf", signal+"E 1 0.0000000000000001 ;\n"))
	if !strings.Contains(printed, "\n1 time rounded") && !strings.HasPrefix(printed, "1 time rounded") {
		t.Errorf("found %q, expected one time that is rounded", printed)
	}
	for text, want := range map[string]int64{
		"E 4611686018427387903 1 ;\n":  0, // the time times 2, plus 1, is 2⁶³ - 1
		"E 4611686018427387904 1 ;\n":  1,
		"E -4611686018427387904 1 ;\n": 0,
		"E -4611686018427387905 1 ;\n": 1,
	} {
		rows, _ := mustRun(t, "merge", "-q", "--json", textFile(t, "a.etf", "E 1 1 ;\n"), textFile(t, "b.etf", signal+text),
			filepath.Join(t.TempDir(), "x.etf"))
		n := int64(0)
		for _, r := range parseLossRows(t, rows) {
			if r.Kind == "event" && r.Field == "id" {
				n += r.Count
			}
		}
		if n != want {
			t.Errorf("%q: found %d ids that are too large, expected %d: %s", text, n, want, rows)
		}
	}
}

// TestUnifySignals checks that signals of several traces become one with --unify only where the domains of their
// fragments are consecutive, so that check finds no defects.
func TestUnifySignals(t *testing.T) {
	for _, x := range []struct {
		name string
		in   []string
		want string
	}{
		{"overlap", []string{"S 0 ; name=a\nF 0 0 2 1 1 1\n", "S 0 ; name=a\nF 0 1 3 1 1 1\n"},
			"TU SECONDS\nS 0 ; name=a\nF 0 0 2 1 1 1\nS 1 ; name=a\nF 1 1 3 1 1 1\n"},
		{"gap", []string{"S 0 ; name=a\nF 0 0 2 1 1 1\n", "S 0 ; name=a\nF 0 3 4 1 1 1\n"},
			"TU SECONDS\nS 0 ; name=a\nF 0 0 2 1 1 1\nS 1 ; name=a\nF 1 3 4 1 1 1\n"},
		{"consecutive", []string{"S 0 ; name=a\nF 0 2 4 1 1 1\n", "S 0 ; name=a\nF 0 0 2 2 0 0\n",
			"S 0 ; name=a\nF 0 4 5 3 0 0\nF 0 5 6 4 0 0\n"},
			"TU SECONDS\nS 0 ; name=a\nF 0 0 2 2 0 0\nF 0 2 4 1 1 1\nF 0 4 5 3 0 0\nF 0 5 6 4 0 0\n"},
		{"two chains", []string{"S 0 ; name=a\nF 0 0 2 1 1 1\n", "S 0 ; name=a\nF 0 1 3 1 1 1\n",
			"S 0 ; name=a\nF 0 3 4 5 0 0\n"},
			"TU SECONDS\nS 0 ; name=a\nF 0 0 2 1 1 1\nS 1 ; name=a\nF 1 1 3 1 1 1\nF 1 3 4 5 0 0\n"},
		{"other names", []string{"S 0 ; name=a\nF 0 0 2 1 1 1\n", "S 0 ; name=b\nF 0 1 3 1 1 1\n"},
			"TU SECONDS\nS 0 ; name=a\nF 0 0 2 1 1 1\nS 1 ; name=b\nF 1 1 3 1 1 1\n"},
		{"claims with and without offset", []string{"R 0 8 false ;\nC 0 0 1 0 8 ;\n", "R 0 8 true ;\nC 0 0 1 0 4 4 ;\n"},
			"TU SECONDS\nR 0 8 false ;\nR 1 8 true ;\nC 0 0 1 0 8 ;\nC 1 0 1 1 4 4 ;\n"},
	} {
		args := []string{"merge", "--unify"}
		for i, text := range x.in[:len(x.in)-1] {
			args = append(args, textFile(t, fmt.Sprintf("%d.etf", i), text))
		}
		got, _ := rewriteTRACE(t, x.in[len(x.in)-1], args...)
		if got != x.want {
			t.Errorf("%s: found\n%s\nexpected\n%s", x.name, got, x.want)
		}
		if printed := weft(t, 0, "check", textFile(t, "out.etf", got)); !strings.Contains(printed, "0 errors") {
			t.Errorf("%s: found %s", x.name, printed)
		}
	}
}
