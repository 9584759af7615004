package history

import (
	"container/heap"
	"context"

	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/analysis/internal/waitstate"
)

// Forward calls f with the place of each call, in the order of their ends. Calls with equal ends come
// in the order of [synclog.Turn], then in that of their locations. The error is that of a temporary file, or of the context.
func (h *History) Forward(ctx context.Context, f func(p waitstate.Place)) error {
	return h.visit(ctx, f, false)
}

// Backward calls f with the place of each call, in the reverse of the order of [History.Forward].
func (h *History) Backward(ctx context.Context, f func(p waitstate.Place)) error {
	return h.visit(ctx, f, true)
}

// visit calls f with the place of each call, in the order of Forward or in reverse.
func (h *History) visit(ctx context.Context, f func(p waitstate.Place), reverse bool) error {
	x := cursors{reverse: reverse}
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
	heap.Init(&x)
	for n := 0; len(x.list) > 0; n++ {
		if n&0xfff == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if h.err != nil {
				return h.err
			}
		}
		c := &x.list[0]
		f(c.place)
		l := h.Locations[c.place.Location]
		if reverse {
			c.place.Number--
		} else {
			c.place.Number++
		}
		if c.place.Number < 0 || c.place.Number == l.count {
			heap.Pop(&x)
			continue
		}
		c.set(l)
		if len(x.list) > 1 {
			heap.Fix(&x, 0)
		}
	}
	return h.err
}

// cursor is the next call of a location, and its end in ticks.
type cursor struct {
	leave int64
	turn  int8
	place waitstate.Place
}

// set sets the fields of a cursor from its place, which is at location l.
func (c *cursor) set(l *Location) {
	x := l.Call(c.place.Number)
	c.leave, c.turn = x.Leave, synclog.Turn(l.stream, x.Work, x.Leave-x.Enter)
}

// cursors is a heap of cursors, ordered by the end of the call.
type cursors struct {
	list    []cursor
	reverse bool
}

// Len, Less, Swap, Push and Pop implement [heap.Interface].
func (cs *cursors) Len() int { return len(cs.list) }

// Less orders by time, then by [synclog.Turn], then by location.
func (cs *cursors) Less(i, j int) bool {
	a, b := &cs.list[i], &cs.list[j]
	if cs.reverse {
		a, b = b, a
	}
	switch {
	case a.leave != b.leave:
		return a.leave < b.leave
	case a.turn != b.turn:
		return a.turn < b.turn
	}
	return a.place.Location < b.place.Location
}

// Swap swaps two cursors.
func (cs *cursors) Swap(i, j int) { cs.list[i], cs.list[j] = cs.list[j], cs.list[i] }

// Push appends a cursor.
func (cs *cursors) Push(c any) { cs.list = append(cs.list, c.(cursor)) }

// Pop removes the last cursor.
func (cs *cursors) Pop() any {
	n := len(cs.list) - 1
	c := cs.list[n]
	cs.list = cs.list[:n]
	return c
}
