package waitstate

import (
	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/trace"
)

// lockKey identifies a lock of a process, by its location group.
type lockKey struct {
	group     uint32
	id, model uint64
}

// lock holds the releases and acquisitions of a lock that have not been matched yet.
type lock struct {
	pattern  Pattern            // pattern of the waits
	released map[uint64]release // indexed by order of acquisition: releases whose next acquisition has not come yet
	// waiting holds, by order of acquisition, the acquisitions whose predecessor has not released the
	// lock yet.
	waiting map[uint64]acquired

	// State for locks without orders: the last release, valid if any is set; the location that has the
	// lock, if it is held; and by location the acquisition by another location that came before its
	// release.
	latest  release
	any     bool
	holder  uint32
	held    bool
	overdue map[uint32]acquired
	// having counts, by location, the acquisitions that it has not released yet. readers counts those of them for
	// reading. written is the last release by a location that did not have the lock for reading, valid if writes is set.
	having, readers map[uint32]int32
	written         release
	writes          bool
}

// put stores a value in a map, which it makes if necessary. Maps are made late, because most locks need
// none of theirs.
func put[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}

// release is a release of a lock, at a time in ticks.
type release struct {
	time   int64
	place  Place
	signal bool // the location did not have the lock; it posts a semaphore, or signals a condition
}

// acquired is an acquisition of a lock. Times are in ticks.
type acquired struct {
	place       Place
	path        uint32
	enter, time int64
	shared      bool // other locations may have the semaphore or condition at the same time
	condition   bool // the call waits for a condition, which no location has
}

// processLock processes an acquisition or a release.
func (e *engine) processLock(c *synclog.Call, at Place, p *synclog.Point) {
	k := lockKey{trace.NoRef, p.Ops[0], p.Ops[2]}
	if e.defs.Locations.Has(c.Location) {
		k.group = e.defs.Locations.At(c.Location).Group
	}
	l := e.locks[k]
	if l == nil {
		l = &lock{pattern: LockContention}
		if k.model == synclog.ThreadModel || k.model == synclog.NumberModel {
			l.pattern = ThreadJoin
		}
		e.locks[k] = l
	}
	order := p.Ops[1]
	ordered := order != trace.Undefined && order != 0 && !e.log.Unordered
	h := release{time: p.Time, place: at}
	a := acquired{place: at, path: c.Path, enter: c.Enter, time: p.Time, condition: c.Role == trace.ConditionRole}
	switch {
	case ordered && p.Kind == synclog.Release:
		e.releaseOrdered(l, order, h)
	case ordered:
		e.acquireOrdered(l, order, a)
	case p.Kind == synclog.Release:
		e.release(l, h)
	default:
		e.acquire(l, a, p.Ops[3])
	}
}

// releaseOrdered processes a release of a lock whose acquisitions have orders.
func (e *engine) releaseOrdered(l *lock, order uint64, h release) {
	if a, ok := l.waiting[order+1]; ok {
		delete(l.waiting, order+1)
		e.reportContention(l, a, h)
		return
	}
	put(&l.released, order, h)
	if !l.any || h.time >= l.latest.time {
		l.any, l.latest = true, h
	}
}

// acquireOrdered processes an acquisition with an order.
func (e *engine) acquireOrdered(l *lock, order uint64, a acquired) {
	if h, ok := l.released[order-1]; ok {
		delete(l.released, order-1)
		e.reportContention(l, a, h)
	} else if order > 1 {
		put(&l.waiting, order, a)
	}
}

// release processes a release of a lock whose acquisitions have no orders. A recorder may write the event of a
// release when another location already has the lock.
func (e *engine) release(l *lock, h release) {
	if l.held && l.holder == h.place.Location {
		l.held = false
	}
	if h.signal = l.having[h.place.Location] == 0; !h.signal {
		l.having[h.place.Location]--
	}
	if a, ok := l.overdue[h.place.Location]; ok {
		delete(l.overdue, h.place.Location)
		e.reportContention(l, a, h)
	}
	if !l.any || h.time >= l.latest.time {
		l.any, l.latest = true, h
	}
	if l.readers[h.place.Location] > 0 {
		l.readers[h.place.Location]--
	} else if !l.writes || h.time >= l.written.time {
		l.writes, l.written = true, h
	}
}

// acquire handles an acquisition of a lock without orders. mode is [synclog.Exclusive] or another
// constant of this type.
func (e *engine) acquire(l *lock, a acquired, mode uint64) {
	a.shared = mode == synclog.Shared
	shared := a.shared || mode == synclog.Reading
	put(&l.having, a.place.Location, l.having[a.place.Location]+1)
	if mode == synclog.Reading {
		put(&l.readers, a.place.Location, l.readers[a.place.Location]+1)
	}
	switch {
	case mode == synclog.Reading && !l.writes:
	case mode == synclog.Reading:
		e.reportContention(l, a, l.written)
	case mode == synclog.Regained:
		e.regained = regained{a.place, l.latest, l.any}
	case a.condition && l.any:
		e.reportSignal(l, a)
	case l.held && l.holder != a.place.Location && !shared:
		put(&l.overdue, l.holder, a)
	case l.any && l.latest.time <= a.time: // a call without an end comes late, and does not wait for later releases
		e.reportContention(l, a, l.latest)
	}
	l.held, l.holder = !shared, a.place.Location
}

// regained is the call for a condition that has got its mutex back last, and the latest release of this mutex, which is
// valid if any is set.
type regained struct {
	call Place // the call that has the mutex again
	release
	any bool
}

// reportSignal reports the wait for a condition. If another location has released the mutex after the signal, the call
// has waited for this release.
func (e *engine) reportSignal(l *lock, a acquired) {
	signal, r := l.latest, &e.regained
	if !r.any || r.call != a.place || r.place.Location == a.place.Location || signal.time <= a.enter ||
		min(r.time, a.time) <= signal.time {
		e.reportContention(l, a, signal)
		return
	}
	e.Signals.Add(signal.time - a.enter)
	if e.hooks.Handover != nil {
		e.hooks.Handover(&Handover{signal.place, a.place, signal.time, a.time, false})
	}
	a.shared = false // what the call has waited for is the mutex
	e.reportContention(l, a, r.release)
}

// reportContention reports the wait of an acquisition for the release before it.
func (e *engine) reportContention(l *lock, a acquired, h release) {
	if e.counts(a.enter) {
		e.Judged++
	}
	if a.place.Location == h.place.Location {
		return
	}
	length := min(h.time, a.time) - a.enter
	e.reportWait(Wait{l.pattern, a.place, a.path, Interval{a.enter, length, nil}, h.place, h.time, 0, false})
	signal := a.shared && (a.condition || h.signal)
	if signal && l.pattern == LockContention && length > 0 {
		e.Signals.Add(length)
	}
	if e.hooks.Handover != nil {
		e.hooks.Handover(&Handover{h.place, a.place, h.time, a.time, l.pattern == LockContention && !signal})
	}
}
