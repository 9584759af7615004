package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/weft-trace/weft/format"
)

// TestLineEndsInTexts checks that a conversion to TRACE counts each text in which a carriage return becomes a blank.
// The trace has six: in T, R, E, C, D and S lines. A copy of the TRACE file keeps them all.
func TestLineEndsInTexts(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	const text = "TU SECONDS\nO 0\nT name=a\rb\n" +
		"R 0 100 false ; name=c\rd\nC 0 0 2 0 50 ; name=e\rf\nC 1 3 4 0 50 ; name=e\n" +
		"E 0 5 ; name=g\rh\nD 0 0 0 1 ; name=i\rj\nS 0 ; name=k\rl\nF 0 0 1 1 0 0\n"
	if err := os.WriteFile(path("x.etf"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path("p"), 0o777); err != nil {
		t.Fatal(err)
	}
	count := func(in, out string) int64 {
		return countLineEnds(t, "convert", path(in), path(out))
	}
	for _, between := range []string{"x.trf", "x.otf", "x.otf2", "p/x.pallas"} {
		count("x.etf", between)
		if n := count(between, filepath.Base(between)+".etf"); n != 6 {
			t.Errorf("%s: counted %d line ends, expected 6", between, n)
		}
	}
	if n := count("x.etf", "y.etf"); n != 0 {
		t.Errorf("x.etf: counted %d line ends, expected none", n)
	}
}

// countLineEnds runs a command, and returns how many replaced line ends its loss table counts.
func countLineEnds(t *testing.T, command ...string) (n int64) {
	t.Helper()
	text := weft(t, 0, append(command, "-q", "--json", "--force")...)
	var rows []format.LossRow
	var target any = &rows
	if command[0] != "convert" {
		target = &struct{ Loss *[]format.LossRow }{&rows}
	}
	if err := json.Unmarshal([]byte(text), target); err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if r.Reason == "a line end was replaced by a blank" && r.How == format.Degraded {
			n += r.Count
		}
	}
	return n
}

// TestLineEndsOfRewrittenLines checks that commands that edit a TRACE file count line ends only in lines that change,
// and that keys of attributes count as well.
func TestLineEndsOfRewrittenLines(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	const text = "TU SECONDS\nR 0 100 false ; name=c\nC 0 0 2 0 50 ; name=e\rf, x=y\nC 1 3 4 0 50 ; name=e\n" +
		"E 0 1 ; na=x\ry\nE 1 5 ; na\rme=x\nD 0 0 0 1 ; name=i\rj\n"
	if err := os.WriteFile(path("x.etf"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		command []string
		want    int64
	}{
		{[]string{"cut", "--from", "@0", "--to", "@6"}, 0},
		{[]string{"cut", "--from", "@1", "--to", "@6"}, 1}, // the first claim begins at 1
		{[]string{"filter", "--not-kind", "metric"}, 0},
	} {
		if n := countLineEnds(t, append(x.command, path("x.etf"), path("y.etf"))...); n != x.want {
			t.Errorf("%q: counted %d line ends, expected %d", x.command, n, x.want)
		}
	}
	weft(t, 0, "convert", path("x.etf"), path("x.otf2"))
	if n := countLineEnds(t, "convert", path("x.otf2"), path("z.etf")); n != 4 {
		t.Errorf("from OTF2: counted %d line ends, expected 4", n)
	}
}

// TestLineEndsOfPlainTRACE checks that the line ends of texts of another format are counted if weft cannot restore
// them: the name and the attribute of the enter, the attribute of the leave, the location and the text of the message,
// the location of the mark, and the name in the R line.
func TestLineEndsOfPlainTRACE(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	const text = "-5 7 0.0 0 0 3 0 a\rb\n-5 -1 0.0 0 0 3 0 c\rd\n-3 7 0.2 0 0 3 0 x\ry\n-4 7 0.3 0 0 3 0 z\rw\n" +
		"-7 -1 0.4 0 0 3 0 q\rr\n-2 8 0.5 0 0 0\n"
	if err := os.WriteFile(path("x.trf"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if n := countLineEnds(t, "convert", path("x.trf"), path("x.etf")); n != 0 {
		t.Errorf("counted %d line ends, expected none", n)
	}
	if n := countLineEnds(t, "convert", "--plain", "--allow-loss", path("x.trf"), path("y.etf")); n != 7 {
		t.Errorf("--plain: counted %d line ends, expected 7", n)
	}
}
