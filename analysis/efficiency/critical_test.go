package efficiency_test

import (
	"context"
	"testing"

	"github.com/weft-trace/weft/analysis/efficiency"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// TestWaitInCriticalSection checks that the wait for a critical section is no useful time, if the recorder has a single
// region for the wait and the section, as EZTrace does. Thread a is in the section until 10, and then works until 18.
// Thread b works until 3, waits until 10, and is in the section until 18: 18 + 3 + 8 of 2 · 18 are useful.
func TestWaitInCriticalSection(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	process := r.Process("process", r.Machine("node"))
	a, b := r.Thread("a", process), r.Thread("b", process)
	for _, v := range []struct {
		thread       uint32
		enter, leave int64
		region       string
	}{{a, 0, 10, "OpenMP critical"}, {a, 10, 18, "work"}, {b, 0, 3, "work"}, {b, 3, 18, "OpenMP critical"}} {
		r.Enter(v.thread, v.enter, r.Region(v.region))
		r.Leave(v.thread, v.leave, r.Region(v.region))
	}
	x, ok, err := efficiency.Find(context.Background(), format.Recorded(r), efficiency.Options{})
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if x.Useful.Int64() != 18+3+8 || x.UsefulMax != 18 {
		t.Errorf("found useful times of %d, and %d at most, expected 29 and 18", x.Useful.Int64(), x.UsefulMax)
	}
}
