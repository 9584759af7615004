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

// TestUndefinedReferences checks that saving a recorded trace fails if an event refers to something that is not
// defined, and that no file appears.
func TestUndefinedReferences(t *testing.T) {
	for what, record := range map[string]func(r *trace.Recorder){
		"location 1":          func(r *trace.Recorder) { r.Mark(1, 5, 0) },
		"location 4294967295": func(r *trace.Recorder) { r.Mark(trace.NoRef, 5, 0) },
		"region 99":           func(r *trace.Recorder) { r.Enter(0, 1, 99); r.Leave(0, 2, 99) },
		"metric 7":            func(r *trace.Recorder) { r.Value(0, 1, 7, 3.5) },
		"receiver 3":          func(r *trace.Recorder) { r.Send(0, 1, 3, 0, 8) },
		"sender 3":            func(r *trace.Recorder) { r.Recv(0, 1, 3, 0, 8) },
		"kind 200":            func(r *trace.Recorder) { r.Event(0, 1, 200, 5, nil) },
		"group 55":            func(r *trace.Recorder) { r.Mark(r.Thread("main", 55), 2, 0) },
		"parent 9":            func(r *trace.Recorder) { r.Mark(r.Thread("main", r.Process("p", 9)), 2, 0) },
		"link 0":              func(r *trace.Recorder) { r.Link(trace.End{Location: 1}, trace.End{}) },
		"resource 2":          func(r *trace.Recorder) { r.Release(r.Claim(2, 1, 0, 1), 2) },
	} {
		for _, f := range Formats() {
			r := trace.NewRecorder(trace.TicksPerSecond(1000))
			r.Location("worker")
			r.Region("job")
			record(r)
			name := filepath.Join(t.TempDir(), "x"+f.About().Extensions[0])
			if err := format.Save(t.Context(), name, f, r); err == nil || !strings.Contains(err.Error(), what) {
				t.Errorf("%s: found error %v, expected one about %s", f.About().Name, err, what)
			}
			if _, err := os.Stat(name); err == nil {
				t.Errorf("%s: %s: found a file, expected none", f.About().Name, what)
			}
		}
	}
}

// TestUnknownReferences checks that events which refer to nothing can be saved in formats that have such events.
func TestUnknownReferences(t *testing.T) {
	for _, f := range Formats() {
		r := trace.NewRecorder(trace.TicksPerSecond(1000))
		loc, region := r.Location("worker"), r.Region("job")
		r.Enter(loc, 1, region)
		r.Send(loc, 2, trace.NoRef, 0, 8)
		r.Recv(loc, 3, trace.NoRef, 0, 8)
		r.Leave(loc, 4, region)
		r.Enter(loc, 5, trace.NoRef)
		r.Leave(loc, 6, trace.NoRef)
		name := filepath.Join(t.TempDir(), "x"+f.About().Extensions[0])
		if err := format.Save(t.Context(), name, f, r); err != nil {
			t.Errorf("%s: %v", f.About().Name, err)
		}
	}
}
