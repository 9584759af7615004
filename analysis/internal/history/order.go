package history

import (
	"context"
	"slices"

	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/analysis/internal/waitstate"
	"github.com/weft-trace/weft/internal/minheap"
)

// Forward calls f with the place of each call, in the order in which the calls end. If calls end at the same time, each
// one comes after those on which it depends; otherwise they have the order of [synclog.TieRank], and then the order of
// their locations. The error comes from a temporary file or from the context.
func (h *History) Forward(ctx context.Context, f func(p waitstate.Place)) error {
	return h.visit(ctx, f, false)
}

// Backward calls f with the place of each call, in the reverse order of [History.Forward].
func (h *History) Backward(ctx context.Context, f func(p waitstate.Place)) error {
	return h.visit(ctx, f, true)
}

// Before reports whether [History.Forward] visits call p before call q, one of which is the call that is being visited.
func (h *History) Before(p, q waitstate.Place) bool {
	if p.Location == q.Location {
		return p.Number < q.Number
	}
	if i, ok := h.ties.index[p]; ok {
		if k, ok := h.ties.index[q]; ok {
			return i < k
		}
	}
	a, b := cursor{place: p}, cursor{place: q}
	a.set(h.Locations[p.Location])
	b.set(h.Locations[q.Location])
	return a.before(&b)
}

// visit calls f with the place of each call, in the order of Forward or in reverse.
func (h *History) visit(ctx context.Context, f func(p waitstate.Place), reverse bool) error {
	x := cursors{reverse: reverse, less: (*cursor).before}
	if reverse {
		x.less = func(a, b *cursor) bool { return b.before(a) }
	}
	for i, l := range h.Locations {
		if l == nil || l.count == 0 {
			continue
		}
		c := cursor{place: waitstate.Place{Location: uint32(i)}}
		if reverse {
			c.place.Number = l.count - 1
		}
		c.set(l)
		x.list = append(x.list, c)
	}
	minheap.Init(x.list, x.less)
	h.ties.h = h
	var list []waitstate.Place // calls that end at the same time
	for n := 0; len(x.list) > 0; n++ {
		if n&0xfff == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if h.err != nil {
				return h.err
			}
		}
		h.Reuse()
		p, t := x.list[0].place, x.list[0].leave
		x.next(h)
		if len(x.list) == 0 || x.list[0].leave != t {
			f(p)
			continue
		}
		list = append(list[:0], p)
		for len(x.list) > 0 && x.list[0].leave == t {
			list = append(list, x.list[0].place)
			x.next(h)
		}
		h.order(list, t, reverse)
		for _, p := range list {
			h.Reuse()
			f(p)
		}
		h.ties.forget()
	}
	return h.err
}

// order puts calls that end at time t into the order of their dependences, or in reverse.
func (h *History) order(list []waitstate.Place, t int64, reverse bool) {
	if reverse {
		slices.Reverse(list)
	}
	h.ties.order(list, t)
	if reverse {
		slices.Reverse(list)
	}
}

// next replaces the first cursor by the one of its location's next call.
func (cs *cursors) next(h *History) {
	c := &cs.list[0]
	l := h.Locations[c.place.Location]
	if cs.reverse {
		c.place.Number--
	} else {
		c.place.Number++
	}
	if c.place.Number < 0 || c.place.Number == l.count {
		minheap.Pop(&cs.list, cs.less)
		return
	}
	c.set(l)
	if len(cs.list) > 1 {
		minheap.Fix(cs.list, 0, cs.less)
	}
}

// cursor is the next call of a location, and its end in ticks.
type cursor struct {
	leave   int64
	tieRank int8
	place   waitstate.Place
}

// set sets the fields of a cursor from its place, which is at location l.
func (a *cursor) set(l *Location) {
	x := l.Call(a.place.Number)
	a.leave, a.tieRank = x.Leave, synclog.TieRank(l.stream, x.Kind == WorkCall, x.Leave-x.Enter)
}

// cursors is a heap of cursors, ordered by the end of the call, or in reverse.
type cursors struct {
	list    []cursor
	reverse bool
	less    func(a, b *cursor) bool
}

// before reports whether the call of a cursor comes before the call of another location's cursor: by time, then by
// [synclog.TieRank], then by location.
func (a *cursor) before(b *cursor) bool {
	switch {
	case a.leave != b.leave:
		return a.leave < b.leave
	case a.tieRank != b.tieRank:
		return a.tieRank < b.tieRank
	}
	return a.place.Location < b.place.Location
}
