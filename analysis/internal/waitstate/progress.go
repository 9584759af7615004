package waitstate

import (
	"slices"

	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/trace"
)

// progress finds the calls of an epoch of a lock that wait until their target calls MPI: an MPI library may carry out
// accesses to the memory of a process only in the calls of that process.
type progress struct {
	// latest holds the latest MPI calls of each location. It is nil for a trace without windows.
	latest []recentCalls
	// pending holds, by target, the calls that ended while the target was in no MPI call that has ended so far.
	pending map[uint32][]progressWait
}

// mostRecent is the number of the latest MPI calls that are kept for each location. If a target makes more calls than
// this during a call of another location, that call has not waited for the first of them.
const mostRecent = 64

// mostTargets is the greatest number of targets of a call that are used.
const mostTargets = 64

// recentCalls holds the latest MPI calls of a location.
type recentCalls struct {
	list   []access // call n of the location is at n modulo mostRecent
	number int      // of all calls so far
	// processed is 1 + the number of the last call that callAtTarget has processed as one of an origin. epoch is
	// the epoch of that call, and targets are its targets so far.
	processed int32
	epoch     *lockEpoch
	targets   []uint64
}

// progressWait is a call of an epoch that may wait for its target to call MPI.
type progressWait struct {
	epoch *lockEpoch
	access
	cause access // the call of the target; valid once it is known
}

func newProgress(d *trace.Definitions) progress {
	if d.Windows.Len() == 0 {
		return progress{}
	}
	return progress{latest: make([]recentCalls, d.Locations.Len()), pending: map[uint32][]progressWait{}}
}

// callsMPI reports whether a call is one of a communication library, and not of threads.
func callsMPI(c *synclog.Call) bool {
	if c.InTeam || c.Unteamed || c.Last || c.Device || c.Idle {
		return false
	}
	return c.Window != 0 || c.Init || c.Finalize ||
		c.Role >= trace.SendRole && c.Role <= trace.CommunicationRole && c.Role != trace.ImplicitBarrierRole
}

// add adds a call of a location, and judges the calls of other locations that have waited for it.
func (g *progress) add(e *engine, c *synclog.Call, at Place) {
	if !callsMPI(c) || int64(c.Location) >= int64(len(g.latest)) {
		return
	}
	a := accessOf(c, at)
	if list := g.pending[c.Location]; len(list) > 0 {
		delete(g.pending, c.Location)
		for i := range list {
			x := list[i].epoch
			x.unresolved--
			e.judgeProgress(&list[i], &a)
			e.judgeEnded(x.lock)
		}
	}
	l := &g.latest[c.Location]
	if l.number < mostRecent {
		l.list = append(l.list, a)
	} else {
		l.list[l.number%mostRecent] = a
	}
	l.number++
}

// callAtTarget processes a call in an epoch that accesses the memory of a target, or locks or unlocks it. The call has
// waited for the next MPI call of the target under two conditions: the target was outside of MPI when the call began,
// and the call ended after the target had begun its next MPI call. A call can have several targets in an epoch. If it
// has several epochs, only the first one is used.
func (e *engine) callAtTarget(x *lockEpoch, target uint64, a *access) {
	g := &e.windows.progress
	known := uint64(len(g.latest))
	if target >= known || uint64(a.place.Location) >= known || uint32(target) == a.place.Location {
		return
	}
	own := &g.latest[a.place.Location]
	if own.processed != a.place.Number+1 {
		own.processed, own.epoch, own.targets = a.place.Number+1, x, own.targets[:0]
	}
	if own.epoch != x || slices.Contains(own.targets, target) || len(own.targets) == mostTargets {
		return
	}
	own.targets = append(own.targets, target)
	w := progressWait{epoch: x, access: *a}
	l := &g.latest[target]
	n := l.number // number of the first call of the target that ended after the begin of the access
	for n > 0 && n > l.number-mostRecent && l.list[(n-1)%mostRecent].leave > a.enter {
		n--
	}
	switch {
	case n > 0 && n == l.number-mostRecent:
		return // a call that is no longer in the list may be the first one
	case n < l.number:
		e.judgeProgress(&w, &l.list[n%mostRecent])
		return
	}
	x.unresolved++
	g.pending[uint32(target)] = append(g.pending[uint32(target)], w)
}

// judgeProgress judges a call with the first MPI call of its target that ended after the call had begun.
func (e *engine) judgeProgress(w *progressWait, cause *access) {
	if w.contains(cause.enter) {
		w.cause = *cause
		w.epoch.progress = append(w.epoch.progress, *w)
		e.reportDependence(w.place, cause)
	}
}

// reportProgress reports the waits of the calls of an epoch for their targets. A call with several targets has only the
// wait for the last one. One call may also have waited for the lock, up to the time until. Of its two waits, only the
// one that ends later counts: later is set if this is the wait for the target.
func (e *engine) reportProgress(x *lockEpoch, until int64) (later bool) {
	c := e.windowCommunicator(x.key.window)
	if len(x.progress) == 0 {
		return false
	}
	last := map[Place]int{}
	for i := range x.progress {
		w := &x.progress[i]
		if j, ok := last[w.place]; !ok || w.cause.enter > x.progress[j].cause.enter {
			last[w.place] = i
		}
	}
	for i := range x.progress {
		w := &x.progress[i]
		if last[w.place] != i {
			continue
		}
		if x.waits && x.waiting.place == w.place {
			if w.cause.enter <= until {
				continue
			}
			later = true
		}
		e.reportWait(Wait{Progress, w.place, w.path, between(w.enter, w.cause.enter), w.cause.place, w.cause.enter, c,
			c != trace.Undefined})
	}
	x.progress = nil
	return later
}
