package retime_test

import (
	"testing"

	"github.com/weft-trace/weft/analysis/internal/retime"
	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// critical adds a critical section to a thread of a process. The thread comes, has the lock from acquire to release,
// and goes on at leave.
func critical(r *trace.Recorder, thread uint32, enter, acquire, release, leave int64, order uint64) {
	const openMP = 3
	outer, block := r.Region("!$omp critical"), r.Region("block")
	r.Defs().Regions.At(outer).Group, r.Defs().Regions.At(outer).Role = "OPENMP", "critical"
	r.Enter(thread, enter, outer)
	r.Event(thread, acquire, trace.LockAcquire, trace.NoRef, []uint64{0, order, openMP})
	r.Enter(thread, acquire, block)
	r.Leave(thread, release, block)
	r.Event(thread, release, trace.LockRelease, trace.NoRef, []uint64{0, order, openMP})
	r.Leave(thread, leave, outer)
}

// TestLateLeave checks a thread that has a lock after another one, and leaves its critical section earlier. Thread 0
// has the lock until 50, thread 1 from 52 to 62, and thread 2 from 64 to 70. Thread 1 leaves the section at 90, and
// thread 2 at 72, which then works until 200. By hand: if thread 0 needs the lock for no time, thread 1 has it from 2
// to 12 and thread 2 from 14 to 20. The run ends at 22 + 128 = 150.
func TestLateLeave(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	process := r.Process("p", r.Machine("m"))
	for _, name := range []string{"0", "1", "2"} {
		r.Thread(name, process)
	}
	critical(r, 0, 0, 0, 50, 52, 1)
	critical(r, 1, 0, 52, 62, 90, 2)
	critical(r, 2, 0, 64, 70, 72, 3)
	r.Enter(2, 72, r.Region("work"))
	r.Leave(2, 200, r.Region("work"))
	h := read(t, format.Recorded(r))
	block := r.Region("block")
	found := makespan(t, h, retime.Options{Transfer: 1, At: func(path, location uint32) float64 {
		if location == 0 && path != synclog.NoPath && h.Log.Paths[path].Region == block {
			return 0
		}
		return 1
	}})
	if found != 150 {
		t.Errorf("found %d, expected 150", found)
	}
}
