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
	// strict reading stops before a record that weft would skip
	weft(t, exitDefects, "print", "-q", "--strict", path)
	weft(t, exitGood, "states", "-q", path)
	weft(t, exitGood, "convert", "-q", "--allow-loss", path, filepath.Join(dir, "o.otf2"))
	weft(t, exitGood, "align", "-q", path)
}

// TestLossOfBigTimes checks that the loss table has a row for times of OTF from 2^63 on. otfprint and otf2-print show
// other times for them in each output, except in a copy or an edit of OTF, which keeps them.
func TestLossOfBigTimes(t *testing.T) {
	path := "../../format/otf/testdata/ok/bigtime/bigtime.otf" // from 1 to 2^64 - 2
	other := "../../format/otf/testdata/ok/hello/hello.otf"
	for _, c := range []struct {
		out  string
		args []string
		rows bool
	}{
		{"a.otf2", []string{"convert", path}, true},
		{"a.pallas", []string{"convert", path}, true},
		{"a.etf", []string{"filter", "--min-duration", "0", path}, true},
		{"a.trf", []string{"cut", "--to", "100%", path}, true},
		{"b.otf", []string{"merge", path, other}, true},
		{"c.otf", []string{"filter", "--min-duration", "0", path}, false},
		{"d.otf", []string{"merge", path}, false},
	} {
		out := filepath.Join(t.TempDir(), c.out)
		text := weft(t, exitGood, append(append(c.args, "--allow-loss"), out)...)
		if strings.Contains(text, "begins at 0 instead of tick 1,") != c.rows {
			t.Errorf("%s to %s: found\n%s", c.args[0], c.out, text)
		}
		if c.rows {
			continue
		}
		printed, _ := runTool(t, out, "otfprint")
		if printed != nil && !strings.Contains(string(printed), "\t9223372036854775807 Enter:") {
			t.Errorf("%s to %s: otfprint prints\n%s", c.args[0], c.out, printed)
		}
	}
}
