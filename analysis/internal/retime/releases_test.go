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

// TestReleaseAfterInnerCall checks that the factor 1 changes nothing, if a lock is released in a call that
// goes on, after another call inside of it. Thread 0 has the lock until 20. Thread 1 gets it in a call inside of
// MPI_Wait, where it waits from 3 to 21, and releases it at 40. Thread 2 waits for it from 5 to 41, and works until
// 100.
func TestReleaseAfterInnerCall(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	process := r.Process("p", r.Machine("m"))
	acquire, wait, work := r.Region("OpenMP acquire mutex"), r.Region("MPI_Wait"), r.Region("work")
	lock := func(loc uint32, t int64, k trace.Kind) {
		r.Event(loc, t, k, trace.NoRef, []uint64{0, trace.Undefined, 3})
	}
	get := func(loc uint32, enter, leave int64) {
		r.Enter(loc, enter, acquire)
		lock(loc, leave, trace.LockAcquire)
		r.Leave(loc, leave, acquire)
	}
	a, b, c := r.Thread("0", process), r.Thread("1", process), r.Thread("2", process)
	get(a, 0, 1)
	lock(a, 20, trace.LockRelease)
	r.Enter(b, 2, wait)
	get(b, 3, 21)
	lock(b, 40, trace.LockRelease)
	r.Leave(b, 60, wait)
	get(c, 5, 41)
	lock(c, 50, trace.LockRelease)
	r.Enter(c, 50, work)
	r.Leave(c, 100, work)
	if found := makespan(t, read(t, format.Recorded(r)), retime.Options{Transfer: 1}); found != 100 {
		t.Errorf("found a runtime of %d, expected 100", found)
	}
}

// TestReleaseBeforeInnerCall checks that the factor 1 changes nothing, if a lock is released in a call that goes on,
// before another call inside of it. Thread 0 has the lock, and acquires it again in a call that does not end before 60,
// as EZTrace records nested locks. It releases the lock at 20, and makes another call from 30 to 31. Thread 1 waits for
// the lock from 10 to 21, and works until 100.
func TestReleaseBeforeInnerCall(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	process := r.Process("p", r.Machine("m"))
	acquire, work := r.Region("OpenMP acquire mutex"), r.Region("work")
	lock := func(loc uint32, t int64, k trace.Kind, id uint64) {
		r.Event(loc, t, k, trace.NoRef, []uint64{id, trace.Undefined, 3})
	}
	get := func(loc uint32, enter, leave int64, id uint64) {
		r.Enter(loc, enter, acquire)
		lock(loc, enter, trace.LockAcquire, id)
		r.Leave(loc, leave, acquire)
	}
	a, b := r.Thread("0", process), r.Thread("1", process)
	get(a, 0, 1, 0)
	r.Enter(a, 5, acquire)
	lock(a, 5, trace.LockAcquire, 0)
	lock(a, 20, trace.LockRelease, 0)
	get(a, 30, 31, 1)
	r.Leave(a, 60, acquire)
	get(b, 10, 21, 0)
	r.Enter(b, 21, work)
	r.Leave(b, 100, work)
	if found := makespan(t, read(t, format.Recorded(r)), retime.Options{Transfer: 1}); found != 100 {
		t.Errorf("found a runtime of %d, expected 100", found)
	}
}
