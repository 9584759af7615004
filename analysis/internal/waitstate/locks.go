package waitstate

import (
	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/trace"
)

// lockKey identifies a lock of a process.
type lockKey struct {
	group     uint32
	id, model uint64
}

// lock holds the releases and acquisitions of a lock that wait for each other.
type lock struct {
	released map[uint64]handover // by order of acquisition, until the next one
	waiting  map[uint64]acquired // acquisitions whose predecessor is not released yet
	latest   handover            // the latest release, for locks without orders
	any      bool
}

// handover is a release of a lock.
type handover struct {
	time  int64
	place Place
}

// acquired is an acquisition of a lock in a call.
type acquired struct {
	place       Place
	path        uint32
	enter, time int64
}

// lock takes an acquisition or a release.
func (e *engine) lock(c *synclog.Call, at Place, p *synclog.Point) {
	k := lockKey{trace.NoRef, p.Ops[0], p.Ops[2]}
	if e.defs.Locations.Has(c.Location) {
		k.group = e.defs.Locations.At(c.Location).Group
	}
	l := e.locks[k]
	if l == nil {
		l = &lock{released: map[uint64]handover{}, waiting: map[uint64]acquired{}}
		e.locks[k] = l
	}
	order := p.Ops[1]
	ordered := order != trace.Undefined && order != 0
	if p.Kind == synclog.Release {
		h := handover{p.Time, at}
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

// contention finds the wait of an acquisition for the release before it.
func (e *engine) contention(a acquired, h handover) {
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
