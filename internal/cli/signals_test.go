package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/timeline/index"
)

// TestLengthOfSignals checks the signal in the example of TRACE's document. It is defined on [0,
// 2.5), which is the length of the trace in each format. Its first value is 3 and its last 4.36.
func TestLengthOfSignals(t *testing.T) {
	dir := t.TempDir()
	from := filepath.Join(dir, "x.etf")
	text := "S 0 ; name = x position\nF 0 0 2.2 3 1.2 -0.4\nF 0 2.2 2.5 4 -0.3 5\nTS 0 ;\nTSS 0 0 ;\nTSR 0 0 0.5 2.4 5 6\n"
	if err := os.WriteFile(from, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"x.etf", "y.etf", "x.trf", "x.otf", "x.otf2", "x.pallas"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, name)
			if path != from {
				weft(t, 0, "convert", "-q", from, path)
				if own, _ := filepath.Glob(filepath.Join(dir, "x", name)); len(own) > 0 {
					path = own[0]
				}
			}
			var got struct {
				First, Last *int64
				Clock       struct{ TicksPerSecond string }
				Locations   []struct {
					FullName string
					Last     *int64
				}
				Signals []struct {
					Kind, Name     string
					Min, Max, Last float64
				}
			}
			if err := json.Unmarshal([]byte(weft(t, 0, "info", "-q", "--json", path)), &got); err != nil {
				t.Fatal(err)
			}
			if *got.First != 0 || *got.Last != 25 || got.Clock.TicksPerSecond != "10" {
				t.Errorf("info: found times from %d to %d, %s ticks a second; expected 0 to 25, 10 a second", *got.First,
					*got.Last, got.Clock.TicksPerSecond)
			}
			for _, l := range got.Locations {
				want := int64(24)
				if l.FullName == "x position" {
					want = 25
				}
				if *l.Last != want {
					t.Errorf("info: location %s ends at %d, expected %d", l.FullName, *l.Last, want)
				}
			}
			if s := got.Signals[0]; s.Min != 3 || s.Max != 4.36 || s.Last != 4.36 {
				t.Errorf("info: found a signal %+v, expected 3 to 4.36, the last value", s)
			}
			f, err := all.Open(t.Context(), path, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			for what, extent := range map[string]func() (int64, int64, bool, error){
				"Extent":     func() (int64, int64, bool, error) { return format.Extent(t.Context(), f) },
				"ScanExtent": func() (int64, int64, bool, error) { return format.ScanExtent(t.Context(), f) },
			} {
				if first, last, ok, err := extent(); first != 0 || last != 25 || !ok || err != nil {
					t.Errorf("%s: found %d to %d (%v, %v), expected 0 to 25", what, first, last, ok, err)
				}
			}
			indexed := filepath.Join(t.TempDir(), "x.idx")
			weft(t, 0, "index", "-q", "-o", indexed, path)
			x, err := index.Open(indexed)
			if err != nil {
				t.Fatal(err)
			}
			defer x.Close()
			if first, last, _ := x.Extent(); first != 0 || last != 25 {
				t.Errorf("index: found %d to %d, expected 0 to 25", first, last)
			}
		})
	}
}
