package retime

import (
	"math"

	"github.com/weft-trace/weft/analysis/internal/history"
	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/analysis/internal/waitstate"
)

// isThreadBarrier reports whether a path ends in a barrier of threads.
func isThreadBarrier(log *synclog.Log, path uint32) bool {
	return synclog.IsBarrier(log.Role(path)) && !log.Communicates(path)
}

// taskEnd is the end of the last task that threads execute in a barrier. No thread leaves the barrier before. Without
// tasks, newTime is nil.
type taskEnd struct {
	time    int64   // of the end, in ticks
	newTime []int64 // in each variant
}

// findTasks sets the end of the tasks in an operation to which all members have come. It leaves out members with calls
// inside of the barrier.
func (r *retimer) findTasks(a *arrival, o *history.Operation) {
	a.tasks = taskEnd{time: noCause}
	if !r.tasks {
		return
	}
	used := r.used
	for _, q := range o.Members {
		l := r.h.Locations[q.Location]
		path, enter := l.Call(q.Number).Path, l.Call(q.Number).Enter
		if path == synclog.NoPath || !isThreadBarrier(r.h.Log, path) {
			continue
		}
		if n, ok := l.FirstInside(q.Number); n < q.Number || !ok {
			continue
		}
		until := max(0, o.LastEnter-enter)
		x := r.timesIn(q, until, false)
		if x.tasks == 0 {
			continue
		}
		if a.tasks.newTime == nil {
			a.tasks.newTime = make([]int64, len(r.variants))
			for k := range a.tasks.newTime {
				a.tasks.newTime[k] = noCause
			}
		}
		a.tasks.time = max(a.tasks.time, enter+until+x.tasks-x.early)
		r.used = used
		for k, begin := range r.enter(q) {
			a.tasks.newTime[k] = max(a.tasks.newTime[k], r.tasksDone(k, q, x, begin, a.times[k]))
		}
	}
	r.used = used
}

// barrierTimes divides the time of a thread in a barrier, in ticks.
type barrierTimes struct {
	own   int64 // outside of tasks
	tasks int64 // in regions inside of the barrier, which are tasks
	early int64 // the part of tasks before the last thread comes
}

// timesIn divides the time of the computed part of a barrier of threads. In the trace, the last thread comes until
// ticks after the begin of this part. partly is set if it is not the whole barrier; the tasks then count as early as
// possible.
func (r *retimer) timesIn(p waitstate.Place, until int64, partly bool) (x barrierTimes) {
	l := r.h.Locations[p.Location]
	path := l.Call(p.Number).Path
	for _, t := range l.Inside(p.Number) {
		if t.Path == path {
			x.own += t.Time
		} else {
			x.tasks += t.Time
		}
	}
	x.early = until
	if !partly {
		for _, w := range l.Waits(p.Number) {
			x.early -= w.Length
		}
	}
	x.early = min(max(0, x.early, until-x.own), x.tasks)
	return x
}

// tasksDone returns the new time, in a variant, at which a thread has executed its tasks in a barrier, and the last
// thread has come. begin and last are the new times at which the computed part begins and the last thread comes.
func (r *retimer) tasksDone(k int, p waitstate.Place, x barrierTimes, begin, last int64) int64 {
	l, v := r.h.Locations[p.Location], &r.variants[k]
	path := l.Call(p.Number).Path
	tasks, early := int64(0), int64(0)
	for _, t := range l.Inside(p.Number) {
		if t.Path == path {
			continue
		}
		if v.Stretch != nil {
			t.Time = v.Stretch(p, t.Path, t.Time)
		}
		tasks += r.scaledIn(k, t.Path, p.Location, t.Time)
	}
	if x.tasks > 0 {
		early = int64(math.Round(float64(tasks) * float64(x.early) / float64(x.tasks)))
	}
	return max(begin+early, last) + tasks - early
}

// afterBarrier returns the new end, in a variant, of the computed part of a barrier of threads. The part begins at base
// in the trace, and its new begin is given. The thread waits for the last thread for wait ticks, and executes tasks
// meanwhile. Then it also waits for the tasks of the others.
func (r *retimer) afterBarrier(k int, p waitstate.Place, begin int64, c *cause, base, wait int64) int64 {
	v, call := &r.variants[k], c.call
	x := r.timesIn(p, wait, base > call.Enter)
	end := r.tasksDone(k, p, x, begin, c.newTime[k])
	took := max(0, x.own-max(0, wait-x.early))
	if c.tasks.newTime != nil && c.tasks.time <= call.Leave {
		end = max(end, c.tasks.newTime[k])
		took = max(0, took-max(0, c.tasks.time-(base+wait+x.tasks-x.early)))
	}
	took = r.scaledIn(k, call.Path, p.Location, took)
	if v.Transfer != 1 && !r.tasks { // threads with tasks also wait for the creation and the end of tasks
		took = int64(math.Round(float64(took) * v.Transfer))
	}
	return end + took
}
