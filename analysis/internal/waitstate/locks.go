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

// lock has the releases and acquisitions of a lock that wait for each other.
type lock struct {
	released map[uint64]release // by order of acquisition: releases whose next acquisition has not come
	// waiting has, by order of acquisition, those after whose predecessor the lock has not been released.
	waiting map[uint64]acquired
	latest  release // latest release, valid if any is set, for locks without orders
	any     bool
}

// release is a release of a lock, at a time in ticks.
type release struct {
	time  int64
	place Place
}

// acquired is an acquisition of a lock. Times are in ticks.
type acquired struct {
	place       Place
	path        uint32
	enter, time int64
}

// lock processes an acquisition or a release.
func (e *engine) lock(c *synclog.Call, at Place, p *synclog.Point) {
	k := lockKey{trace.NoRef, p.Ops[0], p.Ops[2]}
	if e.defs.Locations.Has(c.Location) {
		k.group = e.defs.Locations.At(c.Location).Group
	}
	l := e.locks[k]
	if l == nil {
		l = &lock{released: map[uint64]release{}, waiting: map[uint64]acquired{}}
		e.locks[k] = l
	}
	order := p.Ops[1]
	ordered := order != trace.Undefined && order != 0
	if p.Kind == synclog.Release {
		h := release{p.Time, at}
		if a, ok := l.waiting[order+1]; ordered && ok {
			delete(l.waiting, order+1)
			e.contention(a, h)
			return
		}
		if ordered {
			l.released[order] = h
		}
		if !l.any || h.time >= l.latest.time {
			l.any, l.latest = true, h
		}
		return
	}
	a := acquired{at, c.Path, c.Enter, p.Time}
	switch h, ok := l.released[order-1]; {
	case ordered && ok:
		delete(l.released, order-1)
		e.contention(a, h)
	case ordered && order > 1:
		l.waiting[order] = a
	case !ordered && l.any:
		e.contention(a, l.latest)
	}
}

// contention reports the wait of an acquisition for the release before it.
func (e *engine) contention(a acquired, h release) {
	if e.counts(a.enter) {
		e.Judged++
	}
	if a.place.Location == h.place.Location {
		return
	}
	e.wait(Wait{LockContention, a.place, a.path, a.enter, min(h.time, a.time) - a.enter, h.place, h.time, 0, false})
	if e.hooks.Handover != nil {
		e.hooks.Handover(&Handover{h.place, a.place, h.time, a.time})
	}
}
