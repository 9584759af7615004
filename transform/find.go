package transform

import (
	"context"
	"math"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// FindEvent is the time of the n-th event, from 1, that is of a wanted kind, in the order
// of time; it is one tick long. found is how many there are up to it, fewer than n if there is none.
func FindEvent(ctx context.Context, d format.Events, kind func(trace.Kind) bool, n int) (w trace.Window, found int, err error) {
	sel := trace.Events()
	sel.Kind = kind
	err = eachRow(ctx, d, sel, format.GlobalOrder, func(c *trace.Cursor) bool {
		if kind(c.Kind()) {
			found++
		}
		if found == n {
			w = trace.Window{From: c.Time(), To: trace.Add(c.Time(), 1)}
		}
		return found < n
	})
	return w, found, err
}

// Occurrence says which visits of regions, or claims by them, are meant: the N-th, from 1, of those of a wanted
// region in the order of their begins, or with Each the N-th at each location that has so many.
type Occurrence struct {
	Region func(ref uint32) bool
	N      int
	Each   bool
}

// FindOccurrence is the time of the visits that are meant: from the first begin up to and with the last end, or the
// end of the trace if one has none. found is how many visits there are, with Each at the location with the most;
// where there are N or more, not all may be counted.
func FindOccurrence(ctx context.Context, d format.Events, o Occurrence) (w trace.Window, found int, err error) {
	sel := trace.Events()
	sel.Kind = func(k trace.Kind) bool {
		return k == trace.Enter || k == trace.Leave || k == trace.ClaimBegin || k == trace.ClaimEnd
	}
	w = trace.Window{From: math.MaxInt64, To: math.MinInt64}
	var locs byLocation[occurrence]
	all, open := 0, 0
	err = eachRow(ctx, d, sel, format.GlobalOrder, func(c *trace.Cursor) bool {
		l := locs.at(c.Location())
		if l.open {
			if l.ends(c) {
				l.open = false
				open--
				w.To = max(w.To, trace.Add(c.Time(), 1))
			}
			return o.Each || open > 0
		}
		if k := c.Kind(); k != trace.Enter && k != trace.ClaimBegin || c.Ref() == trace.NoRef || !o.Region(c.Ref()) {
			return true
		}
		count := &all
		if o.Each {
			count = &l.count
		}
		*count++
		found = max(found, *count)
		if *count == o.N {
			*l = occurrence{open: true, count: *count, ref: c.Ref(), claim: c.Op(0)}
			open++
			w.From = min(w.From, c.Time())
		}
		return true
	})
	if open > 0 {
		w.To = math.MaxInt64
	}
	return w, found, err
}

// occurrence is a location on the way to the end of a visit or claim that is meant.
type occurrence struct {
	open   bool
	count  int
	ref    uint32
	claim  uint64 // its id, or Undefined for a visit
	inside int    // visits of the region within it
}

// ends reports whether a row ends the visit or claim.
func (l *occurrence) ends(c *trace.Cursor) bool {
	k := c.Kind()
	switch {
	case l.claim != trace.Undefined:
		return k == trace.ClaimEnd && c.Op(0) == l.claim
	case c.Ref() != l.ref:
	case k == trace.Enter:
		l.inside++
	case k == trace.Leave && l.inside == 0:
		return true
	case k == trace.Leave:
		l.inside--
	}
	return false
}
