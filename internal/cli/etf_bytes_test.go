package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

// latin1Lines is a TRACE file in Latin-1.
const latin1Lines = "# caf\xe9\nTU SECONDS\nT \xe9t\xe9=n\xe8\nR 0 2 false ; name=m\xe9moire\nC 0 0 1 0 1 ; " +
	"name=c\xe9, k\xe9=v\xe9\n" +
	"E 0 0.5 ; name=\xe9\nD 0 6 0 0 ; n\xe9=\xe8\nS 0 ; name=s\xe9\nF 0 1 2 1 0 0\nTS 0 ; name=t\xe9\nTSS 0 0 ; " +
	"name=u\xe9\nTSP 0 0 2 1\n"

// TestVerbsKeepLatin1 checks that texts of a TRACE file in Latin-1 keep their bytes in each TRACE file that weft
// writes from it. This includes files that are written by way of another format, for which the loss table counts
// the lines.
func TestVerbsKeepLatin1(t *testing.T) {
	for _, args := range [][]string{{"filter"}, {"filter", "--prune"}, {"cut", "--from", "0%"}, {"merge"}, {"repair"},
		{"align", "--always"}, {"convert"}} {
		got, printed := rewriteTRACE(t, latin1Lines, append(args, "-q")...)
		if got != latin1Lines {
			t.Errorf("%q: found\n%q\nexpected\n%q", args, got, latin1Lines)
		}
		if strings.Contains(printed, "encoding") {
			t.Errorf("%q: found a loss of the encoding: %s", args, printed)
		}
	}
	cut, _ := rewriteTRACE(t, latin1Lines, "cut", "-q", "--from", "0.5s")
	if want := "C 0 0.5 1 0 1 ; name=c\xe9, k\xe9=v\xe9, cut.began=0\n"; !strings.Contains(cut, want) {
		t.Errorf("found\n%q\nexpected a line %q", cut, want)
	}
	if got, _ := rewriteTRACE(t, latin1Lines, "anonymize", "-q"); !strings.Contains(got, "T \xe9t\xe9=text") ||
		!strings.Contains(got, ", k\xe9=text") {
		t.Errorf("anonymize: found\n%q\nexpected the keys as they are", got)
	}
	in := textFile(t, "in.etf", latin1Lines)
	for _, ext := range []string{".trf", ".otf", ".otf2", ".pallas"} {
		there, back := filepath.Join(t.TempDir(), "there", "x"+ext), filepath.Join(t.TempDir(), "back.etf")
		rows, _ := mustRun(t, "convert", "--json", in, inFolder(t, there))
		if n := recoded(t, rows); n != 9 {
			t.Errorf("%s: found %d lines of another encoding, expected 9: %s", ext, n, rows)
		}
		mustRun(t, "convert", there, back)
		if got := readText(t, back); got != latin1Lines {
			t.Errorf("%s: found\n%q\nexpected\n%q", ext, got, latin1Lines)
		}
	}
}

// recoded returns the number of lines of another encoding in a loss table.
func recoded(t *testing.T, rows string) (n int64) {
	for _, r := range parseLossRows(t, rows) {
		if r.Kind == "text" && r.Field == "encoding" {
			n += r.Count
		}
	}
	return n
}

// TestMergeOfTwoEncodings checks that the texts of a file in Latin-1 and one in UTF-8 become UTF-8,
// which the loss table counts, and that files in Latin-1, or ASCII, stay as they are.
func TestMergeOfTwoEncodings(t *testing.T) {
	const (
		latin = "R 1 1 false ; name=\xe9\n"
		utf8  = "R 1 1 false ; name=é\n"
		ascii = "R 1 1 false ; name=e\n"
		event = "E 1 1 ;\n"
	)
	for _, x := range []struct {
		a, b, want string
		recoded    int64
	}{
		{latin, latin, latin + strings.Replace(latin, "R 1", "R 2", 1), 0},
		{latin, ascii, latin + "R 2 1 false ; name=e\n", 0},
		{ascii, latin, ascii + strings.Replace(latin, "R 1", "R 2", 1), 0},
		{latin, utf8, utf8 + strings.Replace(utf8, "R 1", "R 2", 1), 1},
		{utf8, latin, utf8 + strings.Replace(utf8, "R 1", "R 2", 1), 1},
		{utf8, ascii, utf8 + "R 2 1 false ; name=e\n", 0},
	} {
		out := filepath.Join(t.TempDir(), "x.etf")
		rows, _ := mustRun(t, "merge", "-q", "--json", textFile(t, "a.etf", x.a+event), textFile(t, "b.etf", x.b+event), out)
		if got, want := readText(t, out), "TU SECONDS\n"+x.want+"E 2 1 ;\nE 3 1 ;\n"; got != want || recoded(t,
			rows) != x.recoded {
			t.Errorf("%q and %q: found %q, expected %q with %d lines of another encoding: %s", x.a, x.b, got, want,
				x.recoded, rows)
		}
	}
}

// TestTRACEOfTwoEncodings checks that lines of a file in two encodings stay where nothing changes
// them, and that the loss table counts those that are rewritten.
func TestTRACEOfTwoEncodings(t *testing.T) {
	const text = "# \xe9 é\nTU SECONDS\nT a=é, \xe9=1\nR 1 1 false ; name=é\nR 2 1 false ; name=\xe9\nC 1 0 4 1 1 ; " +
		"k\xe9=é\nC 2 0 4 2 1 ; ké=\xe9\n"
	if got, printed := rewriteTRACE(t, text, "filter", "-q"); got != text || strings.Contains(printed, "encoding") {
		t.Errorf("filter: found\n%q\nexpected\n%q: %s", got, text, printed)
	}
	for _, x := range []struct {
		args    []string
		recoded int64
	}{{[]string{"filter", "--prune"}, 5}, {[]string{"cut", "--from", "1s"}, 2}} {
		rows, _ := mustRun(t, append(x.args, "-q", "--json", textFile(t, "in.etf", text), filepath.Join(t.TempDir(),
			"x.etf"))...)
		if n := recoded(t, rows); n != x.recoded {
			t.Errorf("%q: found %d lines of another encoding, expected %d: %s", x.args, n, x.recoded, rows)
		}
	}
}
