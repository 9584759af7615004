package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

// editVerbs are the commands that edit a trace, with flags with which they change nothing.
var editVerbs = [][]string{{"convert"}, {"filter", "--not-region", "none"}, {"cut", "--from", "0%"}, {"merge"},
	{"align"}, {"sort"}}

// TestUnreadLinesStay_2_1 checks that commands that edit a trace keep lines of any kind that cannot be read at their
// places: before the same record, or after all records. repair leaves them out. In other formats they are lost.
func TestUnreadLinesStay_2_1(t *testing.T) {
	for _, x := range []struct {
		ext, other, text, sound string
		bad                     int
	}{
		{".trf", ".etf", "garbage\n-5 5 0.000000 -1 -1 4 0 task\n-5 x 0.000000 -1 -1 4 0 task\n-3 5 1.000000 0 0 0\n" +
			"-3 7 x 0 0 0\n-3 6 1.5 0 0 -0.5\n-4 5 2.000000 0 0 0\nend\n",
			"-5 5 0.000000 -1 -1 4 0 task\n-3 5 1.000000 0 0 0\n-4 5 2.000000 0 0 0\n", 5},
		// Processor 1 comes first in the file and last in time.
		{".trf", ".etf", "-3 5 2.000000 1 0 0\n-3 5 3.0 1 x 0\n-4 5 4.000000 1 0 0\n-3 5 1.000000 0 0 0\n" +
			"-4 5 5.000000 0 0 0\nend\n",
			"-3 5 1.000000 0 0 0\n-3 5 2.000000 1 0 0\n-4 5 4.000000 1 0 0\n-4 5 5.000000 0 0 0\n", 2},
		{".etf", ".trf", "TU SECONDS\nTU DAYS\nR 0 1 false ;\nR 1 x false ;\n# claims\nC 0 0 1 0 1 ;\nC 1 0 1 0 x ;\n" +
			"C 2 2 1 0 1 ;\nC 3 1 2 0 1 ;\nE 0 1 ;\nE 1\n# event\nE 2 3 ;\nD 0 9 0 2 ;\nD 1 4 0 2 ;\nE 7\nS 0 ;\nS x ;\n" +
			"F 0 0 1 1 0 0\nF 0 1 1 1 0 0\nF 0 1 2 1 0 0\nTS 0 ;\nTSS 0 0 ;\nTSS 0\nTSP 0 0 1\nTSP 0 0 1 2\n",
			"TU SECONDS\nR 0 1 false ;\nC 0 0 1 0 1 ;\nC 3 1 2 0 1 ;\nE 0 1 ;\nE 2 3 ;\nD 1 4 0 2 ;\nS 0 ;\n" +
				"F 0 0 1 1 0 0\nF 0 1 2 1 0 0\nTS 0 ;\nTSS 0 0 ;\nTSP 0 0 1 2\n", 11},
	} {
		in := textFile(t, "in"+x.ext, x.text)
		sorted := strings.HasPrefix(x.text, "-3 5 2.000000 1")
		for _, verb := range editVerbs {
			if x.ext == ".etf" && verb[0] == "sort" {
				continue
			}
			out := filepath.Join(t.TempDir(), "out"+x.ext)
			code, printed, errs := runWeft(t, append(verb, in, out)...)
			if code != 0 {
				t.Errorf("%q: exit code %d: %s", verb, code, errs)
				continue
			}
			if strings.Contains(printed, "cannot be read") {
				t.Errorf("%q: found a loss in %s", verb, printed)
			}
			if got := readText(t, out); !sorted && got != x.text {
				t.Errorf("%q: found\n%s\nexpected\n%s", verb, got, x.text)
			}
			if more, fewer := lineDifferences(lineList(t, in), lineList(t, out)); len(more)+len(fewer) > 0 {
				t.Errorf("%q: found the new lines %q and no longer %q", verb, more, fewer)
			}
		}
		out := filepath.Join(t.TempDir(), "out"+x.ext)
		weft(t, 0, "repair", "-q", in, out)
		if got := strings.NewReplacer("# claims\n", "", "# event\n", "").Replace(readText(t, out)); got != x.sound {
			t.Errorf("repair: found\n%s\nexpected\n%s", got, x.sound)
		}
		out = filepath.Join(t.TempDir(), "out"+x.other)
		code, rows, _ := runWeft(t, "convert", "-q", "--json", in, out)
		lost := int64(0)
		for _, r := range parseLossRows(t, rows) {
			if r.Reason == "cannot be read" && r.How == "lost" {
				lost += r.Count
			}
		}
		if code != 1 || lost != int64(x.bad) {
			t.Errorf("convert to %s: found exit code %d and %d lost lines, expected 1 and %d", x.other, code, lost, x.bad)
		}
	}
}

// TestUnreadLinesAfterNothing checks unreadable lines whose next record is removed. They come first in the
// output, as comments do.
func TestUnreadLinesAfterNothing(t *testing.T) {
	got, printed := rewriteTRACE(t, "TU SECONDS\nE 0 1 ;\nE 9\nE 1 2 ; name=b\nE 2 3 ;\nD 0 9 0 0 ;\n", "filter",
		"--not-region", "b")
	if want := "E 9\nTU SECONDS\nE 0 1 ;\nE 2 3 ;\nD 0 9 0 0 ;\n"; got != want {
		t.Errorf("found %q, expected %q", got, want)
	}
	if !strings.Contains(printed, "moved to the beginning of the file      1  \n") {
		t.Errorf("found losses %s, expected a line", printed)
	}
}

// TestMalformedRecordDefinesNothing checks that a line that cannot be read gives no location, region or time.
func TestMalformedRecordDefinesNothing(t *testing.T) {
	in := textFile(t, "in.trf", "-3 5 1.0 0 0 0\n-2 8 9.5 77 0 1.5\n-4 5 2.0 0 0 0\n")
	got := strings.ReplaceAll(weft(t, 0, "info", "-q", "--definitions", in), in, "")
	if strings.Contains(got, "77/0") || strings.Contains(got, "event 8") || strings.Contains(got, "9.5") {
		t.Errorf("found what the second line names in\n%s", got)
	}
}

// TestUnreadLinesWithoutEvents checks that lines that cannot be read stay in a trace without events.
func TestUnreadLinesWithoutEvents(t *testing.T) {
	const text = "TU SECONDS\nE\nO 1\n"
	for _, verb := range [][]string{{"filter"}, {"cut", "--window", "0%.."}} {
		if got, _ := rewriteTRACE(t, text, verb...); got != text {
			t.Errorf("%q: found %q, expected %q", verb, got, text)
		}
	}
}

// TestUnreadLineOfOldFormat checks that a line that cannot be read does not make a file one of PICL's old format.
func TestUnreadLineOfOldFormat(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.trf")
	const text = "-2 5 1.000000 0 0 0\n1 0 0 0\n-2 5 2.000000 0 0 0\n"
	in := textFile(t, "in.trf", text)
	weft(t, 0, "convert", "-q", in, out)
	if got := readText(t, out); got != text {
		t.Errorf("found %q, expected %q", got, text)
	}
	weft(t, 1, "filter", "-q", "--min-duration", "5s", textFile(t, "in.trf", "1 0 0 0\n"+text), out, "--force")
	weft(t, 0, "filter", "-q", "--allow-loss", textFile(t, "in.trf", "1 0 0 0\n"+text), out, "--force")
	if got := readText(t, out); got != text {
		t.Errorf("found %q, expected %q", got, text)
	}
}
