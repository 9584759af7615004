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
