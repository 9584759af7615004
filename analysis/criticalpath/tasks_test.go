package criticalpath_test

import (
	"maps"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// TestPathLeavesTaskInBarrier checks a path that comes to a thread in the middle of a barrier, most of which is a task
// after that. Thread 0 is in the barrier from 10 to 60, with a task from 12 to 58, which gets a lock in a call from 14
// to 15 and releases it at 16. Thread 1 waits for the lock from 15 on, has it at 17, and works until 100. So the path
// is at thread 0 until 16: 10 of work, 2 of the barrier, 1 of the call, and 3 of the task.
func TestPathLeavesTaskInBarrier(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	process := r.Process("p", r.Machine("m"))
	a, b := r.Thread("0", process), r.Thread("1", process)
	work, barrier, task, acquire := r.Region("work"), r.Region("OpenMP barrier"), r.Region("OpenMP task"),
		r.Region("OpenMP acquire mutex")
	visit := func(loc uint32, enter, leave int64, region uint32, order uint64) {
		r.Enter(loc, enter, region)
		if order > 0 {
			r.Event(loc, leave, trace.LockAcquire, trace.NoRef, []uint64{0, order, 3})
		}
		r.Leave(loc, leave, region)
	}
	visit(a, 0, 10, work, 0)
	r.Enter(a, 10, barrier)
	r.Enter(a, 12, task)
	visit(a, 14, 15, acquire, 1)
	r.Event(a, 16, trace.LockRelease, trace.NoRef, []uint64{0, 1, 3})
	r.Leave(a, 58, task)
	r.Leave(a, 60, barrier)
	visit(b, 0, 15, work, 0)
	visit(b, 15, 17, acquire, 2)
	visit(b, 17, 100, work, 0)
	found := map[string]int64{}
	for _, x := range findIn(t, format.Recorded(r)).Regions {
		if x.Time != 0 {
			found[x.Region] = x.Time
		}
	}
	expected := map[string]int64{"work": 10 + 83, "OpenMP barrier": 2, "OpenMP task": 3, "OpenMP acquire mutex": 1 + 1}
	if !maps.Equal(found, expected) {
		t.Errorf("found %v, expected %v", found, expected)
	}
}
