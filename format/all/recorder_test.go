package all

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// TestInfiniteCapacity checks that saving a recorded trace fails if a resource has a capacity that no format can
// keep. Before, the file lost the resource and its claims without an error.
func TestInfiniteCapacity(t *testing.T) {
	for _, f := range Formats() {
		if f.About().Writes == "" {
			continue
		}
		for _, capacity := range []float64{math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat64} {
			r := trace.NewRecorder(trace.TicksPerSecond(1000))
			memory := r.Resource("memory", capacity, "MB")
			r.Release(r.Claim(memory, 0, r.Region("job"), 1), 5)
			name := filepath.Join(t.TempDir(), "x"+f.About().Extensions[0])
			err := format.Save(t.Context(), name, f, r)
			if capacity == math.MaxFloat64 {
				if err != nil {
					t.Errorf("%s: capacity %v: %v", f.About().Name, capacity, err)
				}
				continue
			}
			if err == nil || !strings.Contains(err.Error(), "memory") {
				t.Errorf("%s: capacity %v: found error %v, expected one that names the resource", f.About().Name, capacity, err)
			}
			if _, err := os.Stat(name); err == nil {
				t.Errorf("%s: capacity %v: found a file, expected none", f.About().Name, capacity)
			}
		}
	}
}

// TestUndefinedLocation checks that saving a recorded trace fails if an event is at an undefined location. Before,
// an event at trace.NoRef used all memory of the machine, and files contained events of undefined locations.
func TestUndefinedLocation(t *testing.T) {
	for _, f := range Formats() {
		for _, location := range []uint32{1, trace.NoRef} {
			r := trace.NewRecorder(trace.TicksPerSecond(1000))
			r.Location("worker")
			r.Mark(location, 5, r.Region("job"))
			name := filepath.Join(t.TempDir(), "x"+f.About().Extensions[0])
			if err := format.Save(t.Context(), name, f, r); err == nil || !strings.Contains(err.Error(), "location") {
				t.Errorf("%s: location %d: found error %v, expected one about the location", f.About().Name, location, err)
			}
			if _, err := os.Stat(name); err == nil {
				t.Errorf("%s: location %d: found a file, expected none", f.About().Name, location)
			}
		}
	}
}
