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
	count := func(in, out string) (n int64) {
		text := weft(t, 0, "convert", "-q", "--json", path(in), path(out))
		var rows []format.LossRow
		if err := json.Unmarshal([]byte(text), &rows); err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			if r.Reason == "a line end was replaced by a blank" && r.How == format.Degraded {
				n += r.Count
			}
		}
		return n
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
