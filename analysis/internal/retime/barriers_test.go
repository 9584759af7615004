package retime_test

import (
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
