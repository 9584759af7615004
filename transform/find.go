package transform

import (
	"context"
	"errors"
	"math"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// FindEvent is the time of the n-th event, from 1, that is of a wanted kind, in the order
// of time; ok is false if there is none. It is one tick long.
func FindEvent(ctx context.Context, d format.Events, kind func(trace.Kind) bool, n int) (w trace.Window, ok bool, err error) {
	sel := trace.Everything()
	sel.Links, sel.Kind = trace.NoLinks, kind
	err = d.Scan(ctx, sel, format.GlobalOrder, format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
		for i, k := range b.Kind {
			if !kind(k) {
				continue
			}
			if n--; n == 0 {
				w, ok = instant(b.Time[i]), true
				return errSeen
			}
		}
		return nil
	}})
	if errors.Is(err, errSeen) {
		err = nil
	}
	return w, ok, err
}

func instant(t int64) trace.Window {
	if t == math.MaxInt64 {
		return trace.Window{From: t, To: t}
	}
	return trace.Window{From: t, To: t + 1}
}

// FindOccurrence is the time of the n-th visit, from 1, of a wanted region, or of the n-th
// claim by it, in the order of their begins: up to and with its end, or the end of the
// trace if it has none. ok is false if there is none.
func FindOccurrence(ctx context.Context, d format.Events, region func(uint32) bool, n int) (w trace.Window, ok bool, err error) {
	sel := trace.Everything()
	sel.Links = trace.NoLinks
	sel.Kind = func(k trace.Kind) bool {
		return k == trace.Enter || k == trace.Leave || k == trace.ClaimBegin || k == trace.ClaimEnd
	}
	var loc, ref uint32
	var claim uint64
	inside := 0 // visits of the region within it
	err = d.Scan(ctx, sel, format.GlobalOrder, format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
		c := b.Cursor()
		for c.Next() {
			k := c.Kind()
			if !ok {
				if k != trace.Enter && k != trace.ClaimBegin || c.Ref() == trace.NoRef || !region(c.Ref()) {
					continue
				}
				if n--; n == 0 {
					ok, loc, ref, claim = true, c.Location(), c.Ref(), c.Op(0)
					w = trace.Window{From: c.Time(), To: math.MaxInt64}
				}
				continue
			}
			if c.Location() != loc || c.Ref() != ref && k != trace.ClaimEnd {
				continue
			}
			switch {
			case claim != trace.Undefined:
				if k != trace.ClaimEnd || c.Op(0) != claim {
					continue
				}
			case k == trace.Enter:
				inside++
				continue
			case k != trace.Leave:
				continue
			case inside > 0:
				inside--
				continue
			}
			w.To = instant(c.Time()).To
			return errSeen
		}
		return nil
	}})
	if errors.Is(err, errSeen) {
		err = nil
	}
	return w, ok, err
}
