package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheckLanesOfPallas damages the files of a thread that weft writes only for other tools: two claims overlap but
// do not nest, so the second one is also in a lane of its own. weft check must report the file.
func TestCheckLanesOfPallas(t *testing.T) {
	dir := t.TempDir()
	writeText(t, filepath.Join(dir, "x.etf"), "R 0 2 false ; name=CPU\nC 0 0 10 0 1 ; name=a\nC 1 5 15 0 1 ; name=b\n"+
		"C 2 20 30 0 1 ; name=a\nC 3 25 35 0 1 ; name=b\nC 4 40 50 0 1 ; name=a\nC 5 45 55 0 1 ; name=b\n")
	for _, x := range []struct{ file, found string }{
		{"", "0 errors, 0 warnings"},
		{"thread.pallas", "thread.pallas:0x8: error: pallas.damaged"},
		{"event_durations.dat", "event_durations.dat:0x0: error: pallas.damaged"},
		{"sequence_durations.dat", "sequence_durations.dat:0x0: error: pallas.damaged"},
	} {
		out := filepath.Join(t.TempDir(), "p", "x.pallas")
		if err := os.Mkdir(filepath.Dir(out), 0o777); err != nil {
			t.Fatal(err)
		}
		if code, text, errs := runWeft(t, "convert", "--allow-loss", filepath.Join(dir, "x.etf"), out); code != 0 {
			t.Fatal(text, errs)
		}
		lanes, err := filepath.Glob(filepath.Join(filepath.Dir(out), "archive_1", "thread_*"))
		if err != nil || len(lanes) != 1 {
			t.Fatalf("found %q (%v), expected one lane", lanes, err)
		}
		if x.file != "" {
			name := filepath.Join(lanes[0], x.file)
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			b[14] ^= 0x40 // in a number of events, and in the first block
			if err := os.WriteFile(name, b, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if _, text, _ := runWeft(t, "check", out); !strings.Contains(text, x.found) {
			t.Errorf("%s: found %s, expected %q", x.file, text, x.found)
		}
	}
}
