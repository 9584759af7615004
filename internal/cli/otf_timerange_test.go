package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTimesBeyondRange checks a damaged time of 2^63 or more in a trace that weft has written. weft never writes
// such a time. It must be a defect, and not an event before all others.
func TestTimesBeyondRange(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "t.otf")
	weft(t, exitGood, "generate", "--workload", "ring", "--locations", "2", "--events", "100", path)
	files, err := filepath.Glob(filepath.Join(dir, "t.1.events"))
	if err != nil || len(files) != 1 {
		t.Fatalf("found %v %v", files, err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[0], append(b, "ffffffffffffff00\n*1\nE1\n"...), 0o666); err != nil {
		t.Fatal(err)
	}
	if out := weft(t, exitDefects, "check", path); !strings.Contains(out, "otf.time-range") {
		t.Errorf("found %s", out)
	}
	weft(t, exitGood, "states", "-q", path)
	weft(t, exitGood, "convert", "-q", "--allow-loss", path, filepath.Join(dir, "o.otf2"))
	weft(t, exitGood, "align", "-q", path)
}
