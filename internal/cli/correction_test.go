package cli

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// correctionOf writes a correction that moves all clocks of a trace forward. It returns the path.
func correctionOf(t *testing.T, path string, by int64) string {
	t.Helper()
	f, err := all.Open(context.Background(), path, &format.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Prepare(context.Background()); err != nil {
		t.Fatal(err)
	}
	c := transform.Correction{Clock: f.Defs().Clock, Locations: map[string]transform.Curve{}}
	for _, l := range f.Defs().Locations.All() {
		c.Locations[l.ID] = transform.Curve{{Read: 0, True: by}}
	}
	name := filepath.Join(t.TempDir(), "clocks.json")
	out, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if err := c.Write(out); err != nil {
		t.Fatal(err)
	}
	return name
}

// extentOf returns the times of the first and the last event of a trace.
func extentOf(t *testing.T, path string) (first, last int64) {
	t.Helper()
	f, err := all.Open(context.Background(), path, &format.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var sink timeList
	if err := f.Scan(context.Background(), trace.Events(), 0, &sink); err != nil {
		t.Fatal(err)
	}
	return slices.Min(sink), slices.Max(sink)
}

// timeList collects the times of all events.
type timeList []int64

func (e *timeList) Batch(b *trace.Batch) error { *e = append(*e, b.Time...); return nil }
func (e *timeList) Links([]trace.Link) error   { return nil }

// TestClockCorrectionEverywhere checks that every command with --clock-correction accepts a
// correction for a trace of every format, and that commands that write a trace write the corrected
// times.
func TestClockCorrectionEverywhere(t *testing.T) {
	t.Setenv("WEFT_CACHE", t.TempDir())
	args := map[string][]string{
		"align": {"TRACE", "OUT"}, "anonymize": {"TRACE", "OUT"}, "check": {"TRACE"}, "comm": {"TRACE"},
		"convert": {"TRACE", "OUT"}, "cut": {"--from", "0%", "TRACE", "OUT"}, "filter": {"--max-depth", "99", "TRACE", "OUT"},
		"index": {"-o", "FILE", "TRACE"}, "info": {"TRACE"}, "merge": {"TRACE", "OUT"}, "messages": {"TRACE"},
		"plot": {"-o", "FILE.svg", "TRACE"}, "print": {"TRACE"}, "profile": {"TRACE"}, "repair": {"TRACE", "OUT"},
		"report": {"-o", "FILE", "TRACE"}, "waits": {"TRACE"}, "explain": {"TRACE"}, "path": {"TRACE"},
		"efficiency": {"TRACE"}, "verify": {"--never", "MPI_Abort", "TRACE"}, "flow": {"--visits", "*", "TRACE"},
		"distance": {"--calls", "TRACE", "TRACE"}, "behaviour": {"--locations", "TRACE"},
		"states": {"TRACE"}, "structure": {"TRACE"}, "usage": {"TRACE"},
		"view": nil, "serve": nil, // view and serve do not end; index and report read traces in the same way
	}
	for _, c := range withSubcommands((&app{}).root().Commands()) {
		more, known := args[c.Name()]
		if c.Flags().Lookup("clock-correction") == nil || known && more == nil {
			continue
		}
		if !known {
			t.Errorf("%s has the flag and is not tested", c.CommandPath())
			continue
		}
		for name, path := range realTraces {
			dir := t.TempDir()
			out := filepath.Join(dir, "out"+filepath.Ext(path))
			line := []string{c.Name(), "-q", "--force"}
			if !slices.Contains(more, "OUT") && !slices.Contains(more, "-o") {
				line = line[:2]
			}
			if slices.Contains(more, "OUT") {
				line = append(line, "--allow-loss")
			}
			for _, a := range more {
				switch a {
				case "TRACE":
					a = path
				case "OUT":
					a = out
				case "FILE", "FILE.svg":
					a = filepath.Join(dir, a)
				}
				line = append(line, a)
			}
			plain, _, _ := runWeft(t, line...)
			var first, last int64
			if slices.Contains(more, "OUT") {
				first, last = extentOf(t, out)
			}
			line = append(line, "--clock-correction", correctionOf(t, path, 1000))
			code, stdout, errs := runWeft(t, line...)
			if code != plain || strings.Contains(errs, "correction") {
				t.Errorf("%s, %s: exit code %d, without the flag %d: %.200s%.300s", c.Name(), name, code, plain, stdout, errs)
			} else if slices.Contains(more, "OUT") && c.Name() != "align" { // align moves all clocks to 0 or later
				if a, b := extentOf(t, out); a != first+1000 || b != last+1000 {
					t.Errorf("%s, %s: found times from %d to %d, expected %d to %d", c.Name(), name, a, b, first+1000, last+1000)
				}
			}
		}
	}
}
