package waitstate

import (
	"math"
	"slices"

	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/trace"
)

// windowLockKey identifies a lock of a window at a target.
type windowLockKey struct {
	window, target, id uint64
}

// windowLocks has the locks of windows.
type windowLocks struct {
	locks map[windowLockKey]*windowLock
	list  []*windowLock
	open  map[windowLocation][]*lockEpoch // the epochs of an origin that have not ended
}

// windowLock has the epochs of a lock that have not ended, and the latest releases: those of exclusive locks,
// and those of shared ones.
type windowLock struct {
	open []*lockEpoch // in the order in which they began
	// ended are epochs that have ended while others were open, in the order of their ends. The release of one of
	// these can still turn out to be earlier, since calls come in the order of their ends.
	ended             []*lockEpoch
	begun             int64 // number of epochs that have begun
	exclusive, shared recentReleases
}

// windowRelease is a release of a lock. A recorder notes it at the end of the call that unlocks, but others can
// have the lock as soon as that call has begun.
type windowRelease struct {
	release
	begin int64 // the begin of the call in ticks
}

// ends reports whether a call can have ended because of the release.
func (r *windowRelease) ends(a *access) bool {
	return a.enter < r.time && (r.begin < a.leave || r.time <= a.leave)
}

// recentReleases holds the latest releases of a lock.
type recentReleases struct {
	list   [4]windowRelease // a ring: release n of the lock is at n modulo the length
	number int              // of all releases of the lock so far
}

func (r *recentReleases) add(x windowRelease) {
	r.list[r.number%len(r.list)] = x
	r.number++
}

// updatePrevious sets the previous release of an epoch to the latest one by another location that can have ended a call
// of the epoch, if it is later.
func (r *recentReleases) updatePrevious(x *lockEpoch, a *access) {
	for i := range min(r.number, len(r.list)) {
		if y := &r.list[i]; y.place.Location != a.place.Location {
			x.setPrevious(a, y)
		}
	}
}

// lockEpoch is the time in which an origin has, or wants to have, a lock. A location can have the lock later
// than its call that locks ends: the accesses, or the call that unlocks, then wait.
type lockEpoch struct {
	key    windowLockKey
	lock   *windowLock
	shared bool
	first  access // the call that locks
	number int64  // of epochs of the lock that have begun, up to this one
	until  int64  // when the epoch ended: the number of epochs that had begun
	judged bool
	// recent are the last calls that can have waited. Each ends at the release of the lock at the latest.
	recent [4]access
	calls  int // number of calls
	// waiting is the call that has waited longest for the lock. previous is the release, by another location,
	// that has ended this call. Both are valid if waits is set.
	waiting  access
	previous windowRelease
	waits    bool
	// released is the time in ticks of the epoch's own release, once it is known.
	released int64
	// progress holds the calls that have waited for their target, until the epoch is judged. unresolved is the
	// number of calls for which it is unknown whether they have waited.
	progress   []progressWait
	unresolved int
}

// processWindowLock processes the request, acquisition or release of a lock of a window.
func (e *engine) processWindowLock(c *synclog.Call, at Place, p *synclog.Point) {
	g := &e.windows.locks
	own := windowLocation{p.Ops[0], c.Location}
	k := windowLockKey{p.Ops[0], p.Ops[1], p.Ops[2]}
	a := accessOf(c, at)
	i := slices.IndexFunc(g.open[own], func(x *lockEpoch) bool { return x.key == k })
	if p.Kind == synclog.WindowRelease {
		if i < 0 {
			e.countUnmatchedWindow(&a)
			return
		}
		x := g.open[own][i]
		g.open[own] = slices.Delete(g.open[own], i, i+1)
		a.leave = min(a.leave, p.Time)
		e.callInLock(x, &a)
		e.callAtTarget(x, k.target, &a)
		if x.waits && x.previous.time > p.Time {
			x.waits = false // both unlock at the same time, so that this one was not the later one
		}
		x.released = p.Time
		e.releaseWindow(x, windowRelease{release{time: p.Time, place: at}, c.Enter})
		return
	}
	if i < 0 {
		l := g.locks[k]
		if l == nil {
			l = &windowLock{}
			g.locks[k] = l
			g.list = append(g.list, l)
		}
		for _, y := range l.ended {
			if y.first.place.Location == c.Location && y.unresolved == 0 {
				e.judgeLock(y)
			}
		}
		l.ended = slices.DeleteFunc(l.ended, func(y *lockEpoch) bool { return y.judged })
		l.begun++
		x := &lockEpoch{key: k, lock: l, first: a, number: l.begun, released: math.MaxInt64}
		l.open = append(l.open, x)
		i = len(g.open[own])
		g.open[own] = append(g.open[own], x)
	}
	x := g.open[own][i]
	x.shared = p.Ops[3] == 1
	e.callInLock(x, &a)
	e.callAtTarget(x, k.target, &a)
}

// lockAccess processes an access to the memory of a target.
func (e *engine) lockAccess(window uint64, target uint32, a *access) {
	for _, x := range e.windows.locks.open[windowLocation{window, a.place.Location}] {
		if x.key.target == uint64(target) || x.key.target == trace.Undefined {
			e.callInLock(x, a)
			e.callAtTarget(x, uint64(target), a)
		}
	}
}

// callInLock processes a call in an epoch that may have waited for the lock.
func (e *engine) callInLock(x *lockEpoch, a *access) {
	x.lock.exclusive.updatePrevious(x, a)
	if !x.shared {
		x.lock.shared.updatePrevious(x, a)
	}
	if n := len(x.recent); x.calls > 0 && x.recent[(x.calls-1)%n].place == a.place {
		return
	}
	x.recent[x.calls%len(x.recent)] = *a
	x.calls++
}

// setPrevious sets the previous release to one that can have ended a call, if it is later. Of several calls that
// one release can have ended, it keeps the one that has waited longest.
func (l *lockEpoch) setPrevious(a *access, r *windowRelease) {
	if !r.ends(a) || r.time > l.released {
		return
	}
	if l.waits && (r.time < l.previous.time ||
		r.time == l.previous.time && r.waited(a) <= l.previous.waited(&l.waiting)) {
		return
	}
	l.waiting, l.previous, l.waits = *a, *r, true
}

// waited returns the time that a call has waited for the release, in ticks.
func (r *windowRelease) waited(a *access) int64 { return min(r.time, a.leave) - a.enter }

// releaseWindow processes the release of a lock by an epoch.
func (e *engine) releaseWindow(x *lockEpoch, r windowRelease) {
	l := x.lock
	l.open = slices.DeleteFunc(l.open, func(y *lockEpoch) bool { return x == y })
	for _, list := range [...][]*lockEpoch{l.open, l.ended} {
		for _, y := range list {
			if y.first.place.Location == r.place.Location || x.shared && y.shared {
				continue
			}
			for i := range min(y.calls, len(y.recent)) {
				y.setPrevious(&y.recent[i], &r)
			}
		}
	}
	if x.shared {
		l.shared.add(r)
	} else {
		l.exclusive.add(r)
	}
	x.until = l.begun
	l.ended = append(l.ended, x)
	e.judgeEnded(l)
}

// judgeEnded judges the epochs of a lock of which everything is known, in the order of their ends.
func (e *engine) judgeEnded(l *windowLock) {
	for len(l.ended) > 0 && l.ended[0].unresolved == 0 && (len(l.open) == 0 || l.open[0].number > l.ended[0].until) {
		e.judgeLock(l.ended[0])
		l.ended = l.ended[1:]
	}
}

// judgeLock reports the wait of an epoch that has ended.
func (e *engine) judgeLock(x *lockEpoch) {
	if x.judged {
		return
	}
	x.judged = true
	if e.counts(x.first.enter) {
		e.Judged++
	}
	a, h := &x.waiting, x.previous
	until := min(h.time, a.leave)
	later := e.reportProgress(x, until)
	if !x.waits {
		return
	}
	if c := e.windowCommunicator(x.key.window); !later {
		e.reportWait(Wait{WindowLock, a.place, a.path, between(a.enter, until), h.place, until, c, c != trace.Undefined})
	}
	if e.hooks.Handover != nil {
		e.hooks.Handover(&Handover{h.place, a.place, until, a.leave, true})
	}
}

// finishLocks reports the waits of the last epochs. If a lock is never released, its calls count as unjudged.
func (e *engine) finishLocks() {
	for _, l := range e.windows.locks.list {
		for _, x := range l.ended {
			e.judgeLock(x)
		}
	}
	for _, list := range e.windows.locks.open {
		for _, x := range list {
			e.countUnmatchedWindow(&x.first)
			x.waits = false // it is unknown whether it has got the lock
			e.reportProgress(x, 0)
		}
	}
}
