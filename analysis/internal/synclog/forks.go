package synclog

import (
	"slices"

	"github.com/weft-trace/weft/trace"
)

// regionOfFork returns the node of the region of a parallel construct that begins. Some recorders write the enter of
// the region later; the result is then pendingRegion. Otherwise it is the innermost open region, unless a construct
// that has begun before has this region.
func (w *worker) regionOfFork(l *lane) int32 {
	node := l.innermost()
	if node < 0 {
		return pendingRegion
	}
	region := w.nodes[node].region
	taken := slices.ContainsFunc(l.forks, func(f openFork) bool { return f.node == node })
	if taken || w.kind(region).role != trace.ForkRole || w.defs.IsImplicitTask(region) {
		return pendingRegion
	}
	return node
}

// regionOfTeam returns the node of the parallel region in which a location begins to work in a team: that of the
// construct that the location itself has begun just before, or as regionOfFork does.
func (w *worker) regionOfTeam(l *lane) int32 {
	if n := len(l.forks); n > 0 {
		if f := l.forks[n-1]; f.depth == len(l.stack) && f.node >= 0 && f.node == l.innermost() {
			return f.node
		}
	}
	return w.regionOfFork(l)
}

// setAhead sets the node for times before a parallel region, and packs the calls that have waited for
// it.
func (w *worker) setAhead(l *lane, node int32) error {
	set := func(list []nodeTime) {
		for i := range list {
			if list[i].node == pendingRegion {
				list[i].node = node
			}
		}
	}
	set(l.passed)
	for i := range l.delayed {
		c := &l.delayed[i]
		set(c.before)
		set(c.inside)
		if err := w.write(l, c); err != nil {
			return err
		}
	}
	l.delayed = l.delayed[:0]
	return nil
}

// endFork ends the innermost parallel construct or visit of a team.
func (w *worker) endFork(l *lane) error {
	n := len(l.forks)
	if n == 0 {
		return nil
	}
	l.forks = l.forks[:n-1]
	if n := len(l.forks); n > 0 && l.forks[n-1].node == pendingRegion {
		return nil
	}
	return w.setAhead(l, l.innermost())
}

// addPending adds the times that belong to a parallel region, because the piece of a trace ends before the thread
// enters the region.
func (l *lane) addPending() {
	n := len(l.forks)
	if n == 0 || l.forks[n-1].node != pendingRegion || l.forks[n-1].entered || l.innermost() != -1 {
		return
	}
	add := func(list []nodeTime) {
		for _, t := range list {
			if t.node == pendingRegion {
				l.pending += t.time
			}
		}
	}
	add(l.passed)
	for i := range l.delayed {
		add(l.delayed[i].before)
		add(l.delayed[i].inside)
	}
}

// giveUp packs the calls that wait for a parallel region. The path of the region counts as unknown.
func (w *worker) giveUp(l *lane) error {
	for i := range l.forks {
		if l.forks[i].node == pendingRegion {
			l.forks[i].node = -1
		}
	}
	return w.setAhead(l, l.innermost())
}

// wake ends the time in which a thread sleeps until it works in a team again.
func (l *lane) wake(t int64) {
	if l.asleep {
		if l.worker.times {
			l.addTime(t)
		}
		l.asleep, l.awoke = false, true
	}
}

// rest begins a time in which a thread has nothing to do, unless it is the first thread of its process.
func (l *lane) rest(t int64) {
	if l.worker.resting && l.root == outermostThread && !l.resting {
		l.resting, l.restSince = true, t
	}
}

// endRest ends a time in which the thread has nothing to do.
func (l *lane) endRest(t int64) {
	if l.resting && t > l.restSince {
		l.rests = append(l.rests, trace.Window{From: l.restSince, To: t})
	}
	l.resting = false
}
