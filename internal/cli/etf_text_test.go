package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
)

// unclearLists is a TRACE file with ambiguous attribute lists. For five lines, the records that weft reads lack
// some of the text. The records of R 1 and C 2 have the whole text.
const unclearLists = `TU SECONDS
T a=1,a=2, x=c:\dir
R 1 1 false ; name=a=b
C 1 0 10 1 1 ; k=1,k=2
C 2 0 1 1 1 ; flag
E 1 1 ; path=c:\dir
E 2 3 ; =5, q=r
D 1 4 1 2 ; z=1,z=1
S 1 ; u=1,u=2
F 1 0 10 1 1 1
`

// TestLossOfTRACEAttributeTexts checks that texts lost from attribute lists are in the loss table
// of outputs without them, and in no other.
func TestLossOfTRACEAttributeTexts(t *testing.T) {
	in := textFile(t, "in.etf", unclearLists)
	for _, x := range []struct {
		args          []string
		out           string
		text, spelled int64
	}{
		{[]string{"convert", in}, "out.etf", 0, 0},
		{[]string{"filter", in}, "out.etf", 0, 0},
		{[]string{"merge", in}, "out.etf", 0, 0},
		{[]string{"cut", "--from", "0%", in}, "out.etf", 0, 0},
		{[]string{"cut", "--from", "2s", "--to", "5s", in}, "out.etf", 1, 0}, // C 1 is another one
		{[]string{"filter", "--prune", in}, "out.etf", 5, 2},
		{[]string{"merge", in, in}, "out.etf", 10, 4},
		{[]string{"convert", in}, "out.trf", 5, 2},
		{[]string{"filter", in}, "out.otf2", 5, 2},
	} {
		out := filepath.Join(t.TempDir(), x.out)
		rows, _ := mustRun(t, append(append([]string{x.args[0], "-q", "--json", "--allow-loss"}, x.args[1:]...), out)...)
		var text, spelled int64
		for _, r := range parseLossRows(t, rows) {
			switch r.Kind + " " + r.Field {
			case "record text":
				text += r.Count
			case "record spelling":
				spelled += r.Count
			}
		}
		if text != x.text || spelled != x.spelled {
			t.Errorf("%q: found %d texts and %d spellings, expected %d and %d", x.args, text, spelled, x.text, x.spelled)
		}
	}
	for _, args := range [][]string{{"filter"}, {"merge"}, {"cut", "--from", "0%"}} {
		if got, _ := rewriteTRACE(t, unclearLists, args...); got != unclearLists {
			t.Errorf("%q: found\n%s\nexpected\n%s", args, got, unclearLists)
		}
	}
	// All texts in the model come back, including a key without characters.
	there, back := filepath.Join(t.TempDir(), "x.trf"), filepath.Join(t.TempDir(), "x.etf")
	mustRun(t, "convert", in, there)
	mustRun(t, "convert", there, back)
	want := strings.NewReplacer("a=1,a=2, x=c:\\dir", "a=2, x=c:dir", "name=a=b", "name=a\\=b", "k=1,k=2", "k=2", "flag",
		"flag=",
		"path=c:\\dir", "path=c:dir", "z=1,z=1", "z=1", "u=1,u=2", "u=2").Replace(unclearLists)
	if got := readText(t, back); got != want {
		t.Errorf("found\n%s\nexpected\n%s", got, want)
	}
}

// parseLossRows returns the rows of a loss table in JSON, of weft convert or of another command.
func parseLossRows(t *testing.T, text string) (rows []format.LossRow) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &rows); err == nil {
		return rows
	}
	var verb struct{ Loss []format.LossRow }
	if err := json.Unmarshal([]byte(text), &verb); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return verb.Loss
}

// TestCutTRACEClaimKeepsItsComment checks that a claim cut at the begin of a piece keeps the
// comment before it.
func TestCutTRACEClaimKeepsItsComment(t *testing.T) {
	const text = "R 1 1 false ;\nE 1 3 ;\n# of the claim\nC 1 0 10 1 1 ;\n"
	got, _ := rewriteTRACE(t, text, "cut", "--from", "2s", "--to", "5s")
	if want := "TU SECONDS\nR 1 1 false ;\n# of the claim\nC 1 2 5 1 1 ; cut.began=0, cut.ends=later\n" +
		"E 1 3 ;\n"; got != want {
		t.Errorf("found\n%s\nexpected\n%s", got, want)
	}
}

// TestTRACEClaimsOfOneID checks that claims with the same id keep their ends. If another format
// cannot express which claim ends, the loss table counts it.
func TestTRACEClaimsOfOneID(t *testing.T) {
	const (
		head = "TU SECONDS\nR 1 1 false ;\n"
		text = head + "C 1 0 5 1 1 ; x=1\nC 1 1 6 1 1 ; x=2\nC 1 2 3 1 1 ; x=3\nC 2 7 8 1 1 ;\n"
	)
	for verb, want := range map[string]string{
		"filter": text,
		"cut":    text,
		"merge":  text,
		"repair": head + "C 1 0 5 1 1 ; x=1\nC 3 1 6 1 1 ; x=2\nC 4 2 3 1 1 ; x=3\nC 2 7 8 1 1 ;\n",
	} {
		args := []string{verb, "--force"}
		if verb == "cut" {
			args = append(args, "--from", "0%")
		}
		if got, _ := rewriteTRACE(t, text, args...); got != want {
			t.Errorf("%s: found\n%s\nexpected\n%s", verb, got, want)
		}
	}
	merged, _ := rewriteTRACE(t, head+"C 1 0 5 1 1 ; x=4\n", "merge", textFile(t, "first.etf", text))
	for _, line := range []string{"C 2 0 5 1 1 ; x=1", "C 2 1 6 1 1 ; x=2", "C 2 2 3 1 1 ; x=3", "C 3 0 5 2 1 ; x=4"} {
		if !strings.Contains(merged, line+"\n") {
			t.Errorf("merge: found no %q in\n%s", line, merged)
		}
	}
	there := filepath.Join(t.TempDir(), "x.trf")
	mustRun(t, "convert", textFile(t, "in.etf", text), there)
	rows, _ := mustRun(t, "convert", "--json", there, filepath.Join(t.TempDir(), "x.etf"))
	n := int64(0)
	for _, r := range parseLossRows(t, rows) {
		if r.Kind == "claim-end" && r.Field == "claim" {
			n += r.Count
		}
	}
	if n != 2 { // the last of three ends is unambiguous
		t.Errorf("found %d ends that are guessed, expected 2: %s", n, rows)
	}
}

// TestLossOfTRACEDigitsAndSignals checks that rounded times, a rounded offset and signals without
// fragments are in the loss table.
func TestLossOfTRACEDigitsAndSignals(t *testing.T) {
	const text = "TU SECONDS\nO 1.5\nE 1 0.1234567890123456789 ;\nE 2 123456789.5 ;\nE 3 1e-17 ;\nS 5 ;\nS 6 ;\nF 6 0 " +
		"1 1 0 0\n"
	in := textFile(t, "in.etf", text)
	for _, x := range []struct {
		args           []string
		out            string
		times, signals int64
	}{
		{[]string{"convert"}, "x.etf", 0, 0},
		{[]string{"filter"}, "x.etf", 0, 1},
		{[]string{"cut", "--from", "0%"}, "x.etf", 0, 1},
		{[]string{"filter", "--prune"}, "x.etf", 3, 0}, // --prune requests the change
		{[]string{"convert"}, "x.trf", 3, 0},
		{[]string{"filter"}, "x.otf", 3, 0},
	} {
		rows, _ := mustRun(t, append(x.args, "-q", "--json", "--allow-loss", in, filepath.Join(t.TempDir(), x.out))...)
		var times, signals int64
		for _, r := range parseLossRows(t, rows) {
			switch r.Kind {
			case "time":
				times += r.Count
			case "signal":
				signals += r.Count
			}
		}
		if times != x.times || signals != x.signals {
			t.Errorf("%q: found %d times and %d signals, expected %d and %d", x.args, times, signals, x.times, x.signals)
		}
	}
}
