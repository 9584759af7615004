package transform

import (
	"context"
	"math"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// FindEvent is the time of the n-th event, from 1, that is of a wanted kind, in the order
// of time; ok is false if there is none. It is one tick long.
func FindEvent(ctx context.Context, d format.Events, kind func(trace.Kind) bool, n int) (w trace.Window, ok bool, err error) {
	sel := trace.Events()
	sel.Kind = kind
	err = eachRow(ctx, d, sel, format.GlobalOrder, func(c *trace.Cursor) bool {
		if kind(c.Kind()) {
			n--
		}
		if ok = n == 0; ok {
			w = trace.Window{From: c.Time(), To: trace.Add(c.Time(), 1)}
		}
		return !ok
	})
	return w, ok, err
}

// FindOccurrence is the time of the n-th visit, from 1, of a wanted region, or of the n-th
// claim by it, in the order of their begins: up to and with its end, or the end of the
// trace if it has none. ok is false if there is none.
func FindOccurrence(ctx context.Context, d format.Events, region func(uint32) bool, n int) (w trace.Window, ok bool, err error) {
	sel := trace.Events()
	sel.Kind = func(k trace.Kind) bool {
		return k == trace.Enter || k == trace.Leave || k == trace.ClaimBegin || k == trace.ClaimEnd
	}
	var loc, ref uint32
	var claim uint64
	inside := 0 // visits of the region within it
	err = eachRow(ctx, d, sel, format.GlobalOrder, func(c *trace.Cursor) bool {
		k := c.Kind()
		if !ok {
			if k != trace.Enter && k != trace.ClaimBegin || c.Ref() == trace.NoRef || !region(c.Ref()) {
				return true
			}
			if n--; n == 0 {
				ok, loc, ref, claim = true, c.Location(), c.Ref(), c.Op(0)
				w = trace.Window{From: c.Time(), To: math.MaxInt64}
			}
			return true
		}
		if c.Location() != loc || c.Ref() != ref && k != trace.ClaimEnd {
			return true
		}
		switch {
		case claim != trace.Undefined:
			if k != trace.ClaimEnd || c.Op(0) != claim {
				return true
			}
		case k == trace.Enter:
			inside++
			return true
		case k != trace.Leave:
			return true
		case inside > 0:
			inside--
			return true
		}
		w.To = trace.Add(c.Time(), 1)
		return false
	})
	return w, ok, err
}
