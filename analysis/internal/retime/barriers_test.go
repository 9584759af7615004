package retime_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weft-trace/weft/analysis/internal/retime"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// TestTasksOfOthers checks that threads wait in a barrier for the tasks that other threads execute there. Three threads
// come to the barrier at 10, 20 and 30. Thread 0 executes a task from 40 to 140, and thread 1 one from 40 to 80. All
// leave the barrier at 145 and then work until 200. With tasks of the factor f, the barrier ends at 30 + 10 + 100·f +
// 5: thread 0 itself takes 10 before its task and 5 after it. Then all work for 55.
func TestTasksOfOthers(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	process := r.Process("p", r.Machine("m"))
	work, barrier, task := r.Region("work"), r.Region("OpenMP barrier"), r.Region("task")
	for i, end := range []int64{140, 80, 0} {
		loc := r.Thread("thread", process)
		come := 10 + 10*int64(i)
		r.Enter(loc, 0, work)
		r.Leave(loc, come, work)
		r.Enter(loc, come, barrier)
		if end > 0 {
			r.Enter(loc, 40, task)
			r.Leave(loc, end, task)
		}
		r.Leave(loc, 145, barrier)
		r.Enter(loc, 145, work)
		r.Leave(loc, 200, work)
	}
	h := read(t, format.Recorded(r))
	for factor, expected := range map[float64]int64{2: 300, 1: 200, 0.75: 175, 0.5: 150, 0: 100} {
		found := makespan(t, h, retime.Options{Transfer: 1, Scale: func(path uint32) float64 {
			if isIn(h, path, "task") {
				return factor
			}
			return 1
		}})
		if found != expected {
			t.Errorf("factor %g: found a runtime of %d, expected %d", factor, found, expected)
		}
	}
}

// TestTaskAfterBarrier checks that a thread does not wait in a barrier for a task of another thread that ends later, as
// with clocks that differ. Both threads come to the barrier at 10. Thread 0 leaves it at 100, and works until 300.
// Thread 1 executes a task from 20 to 150, and leaves the barrier at 160.
func TestTaskAfterBarrier(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	process := r.Process("p", r.Machine("m"))
	work, barrier, task := r.Region("work"), r.Region("OpenMP barrier"), r.Region("task")
	for i, leave := range []int64{100, 160} {
		loc := r.Thread("thread", process)
		r.Enter(loc, 0, work)
		r.Leave(loc, 10, work)
		r.Enter(loc, 10, barrier)
		if i == 1 {
			r.Enter(loc, 20, task)
			r.Leave(loc, 150, task)
		}
		r.Leave(loc, leave, barrier)
		if i == 0 {
			r.Enter(loc, leave, work)
			r.Leave(loc, 300, work)
		}
	}
	if found := makespan(t, read(t, format.Recorded(r)), retime.Options{Transfer: 1}); found != 300 {
		t.Errorf("found a runtime of %d without a change, expected 300", found)
	}
}

// TestCallsInBarriers checks a barrier in which a thread makes a call before another thread leaves. Thread 0 comes at
// 10, and executes a task from 20 to 60, in which it acquires a lock from 30 to 35. It leaves the barrier at 70 and
// works until 100. Thread 1 comes at 15, executes a task from 20 to 40, leaves the barrier at 72, and works until 150.
// If the barrier itself took no time, thread 1 would end at 15 + 20 + 78.
func TestCallsInBarriers(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	process := r.Process("p", r.Machine("m"))
	visit := func(loc uint32, enter, leave int64, region string) {
		r.Enter(loc, enter, r.Region(region))
		r.Leave(loc, leave, r.Region(region))
	}
	a, b := r.Thread("0", process), r.Thread("1", process)
	barrier, task := r.Region("OpenMP barrier"), r.Region("task")
	visit(a, 0, 10, "work")
	r.Enter(a, 10, barrier)
	r.Enter(a, 20, task)
	r.Enter(a, 30, r.Region("OpenMP acquire mutex"))
	r.Event(a, 30, trace.LockAcquire, trace.NoRef, []uint64{0, 1, 3})
	r.Leave(a, 35, r.Region("OpenMP acquire mutex"))
	r.Event(a, 50, trace.LockRelease, trace.NoRef, []uint64{0, 1, 3})
	r.Leave(a, 60, task)
	r.Leave(a, 70, barrier)
	visit(a, 70, 100, "work")
	visit(b, 0, 15, "work")
	r.Enter(b, 15, barrier)
	visit(b, 20, 40, "task")
	r.Leave(b, 72, barrier)
	visit(b, 72, 150, "work")
	h := read(t, format.Recorded(r))
	for factor, expected := range map[float64]int64{1: 150, 0: 15 + 20 + 78} {
		found := makespan(t, h, retime.Options{Transfer: 1, Scale: func(path uint32) float64 {
			if isIn(h, path, "OpenMP barrier") {
				return factor
			}
			return 1
		}})
		if found != expected {
			t.Errorf("factor %g: found a runtime of %d, expected %d", factor, found, expected)
		}
	}
}

// TestRandomTasksInBarriers checks the runtime of random programs as a function of the factor of a region: factor 1
// gives the runtime of the trace, and the function grows and is convex, but for rounding. Threads work, come to a
// barrier, execute tasks there, and leave it after all have come and all tasks are done.
func TestRandomTasksInBarriers(t *testing.T) {
	for seed := range uint64(200) {
		s := rand.New(rand.NewPCG(seed, 1))
		r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
		process := r.Process("p", r.Machine("m"))
		work, barrier, task := r.Region("work"), r.Region("OpenMP barrier"), r.Region("task")
		threads := make([]uint32, 2+s.IntN(3))
		for i := range threads {
			threads[i] = r.Thread("thread", process)
		}
		clock := make([]int64, len(threads))
		for range 1 + s.IntN(4) {
			done := int64(0)
			for i, loc := range threads {
				r.Enter(loc, clock[i], work)
				clock[i] += 1 + s.Int64N(1000)
				r.Leave(loc, clock[i], work)
				r.Enter(loc, clock[i], barrier)
				for range s.IntN(4) {
					clock[i] += s.Int64N(100)
					r.Enter(loc, clock[i], task)
					clock[i] += 1 + s.Int64N(1000)
					r.Leave(loc, clock[i], task)
				}
				done = max(done, clock[i])
			}
			for i, loc := range threads {
				clock[i] = done + 1 + s.Int64N(50)
				r.Leave(loc, clock[i], barrier)
			}
		}
		h := read(t, format.Recorded(r))
		for _, region := range []string{"task", "work", "OpenMP barrier"} {
			var times []int64
			for k := range 9 {
				times = append(times, makespan(t, h, retime.Options{Transfer: 1, Scale: func(path uint32) float64 {
					if isIn(h, path, region) {
						return float64(k) / 4
					}
					return 1
				}}))
			}
			if times[4] != slices.Max(clock) {
				t.Errorf("seed %d: found %d with the factor 1 of %s, expected %d", seed, times[4], region, slices.Max(clock))
			}
			if !growsConvex(times) {
				t.Errorf("seed %d, %s: found runtimes of %d, expected growing ones of a convex function", seed, region, times)
			}
		}
	}
}

// growsConvex reports whether values grow, with growing differences, but for rounding.
func growsConvex(values []int64) bool {
	const rounding = 8
	for k := range len(values) - 1 {
		d := values[k+1] - values[k]
		if d < -rounding || k > 0 && d < values[k]-values[k-1]-2*rounding {
			return false
		}
	}
	return true
}
