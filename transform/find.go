package transform

import (
	"context"
	"math"
	"slices"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/bylocation"
	"github.com/weft-trace/weft/trace"
)

// FindEvent returns a window of one tick at the time of the n-th event of the kinds for which kind
// returns true. Events are counted from 1 in the order of time. found is the number of such events, at
// most n. The window is valid only if found is n.
func FindEvent(ctx context.Context, d format.Events, kind func(trace.Kind) bool, n int) (w trace.Window, found int,
	err error) {
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

// Occurrence selects visits of regions, or claims by their activities. It selects the N-th visit or claim of
// the selected regions, counted from 1 in the order of their begins. If Each is set, it selects the N-th one
// at each location that has at least N.
type Occurrence struct {
	Region func(ref uint32) bool
	N      int
	Each   bool
}

// FindOccurrence returns the window from the first begin to the last end of the selected visits, including
// both. If a selected visit has no end, the window extends to the end of the trace. found is the number of
// visits of the selected regions or, with Each, their number at the location with the most visits. If found is
// less than N, the N-th visit does not exist. Otherwise found may be lower than the actual number.
func FindOccurrence(ctx context.Context, d format.Events, o Occurrence) (w trace.Window, found int, err error) {
	sel := trace.Events()
	sel.Kind = func(k trace.Kind) bool {
		return k == trace.Enter || k == trace.Leave || k == trace.ClaimBegin || k == trace.ClaimEnd
	}
	w = trace.Window{From: math.MaxInt64, To: math.MinInt64}
	defs := d.Defs()
	var locs bylocation.List[occurrence]
	all, open := 0, 0
	err = eachRow(ctx, d, sel, format.GlobalOrder, func(c *trace.Cursor) bool {
		l := locs.At(c.Location())
		if l.open {
			if l.ends(c, claimOf(defs, c)) {
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
			*l = occurrence{open: true, count: *count, ref: c.Ref(), claim: claimOf(defs, c)}
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

// FindOccurrences returns a window for each N = 1, 2, … that [FindOccurrence] with Each set would return. N
// goes up to the number of visits at the location with the most visits. FindOccurrences uses 16 bytes for each
// window, and 32 bytes for each open visit or claim.
func FindOccurrences(ctx context.Context, d format.Events, region func(ref uint32) bool) ([]trace.Window, error) {
	sel := trace.Events()
	sel.Kind = func(k trace.Kind) bool {
		return k == trace.Enter || k == trace.Leave || k == trace.ClaimBegin || k == trace.ClaimEnd
	}
	defs := d.Defs()
	var list []trace.Window
	var locs bylocation.List[openOccurrences]
	err := eachRow(ctx, d, sel, format.PerLocation, func(c *trace.Cursor) bool {
		if c.Ref() == trace.NoRef || !region(c.Ref()) {
			return true
		}
		l := locs.At(c.Location())
		if k := c.Kind(); k == trace.Enter || k == trace.ClaimBegin {
			if l.count == len(list) {
				list = append(list, trace.Window{From: c.Time(), To: math.MinInt64})
			}
			list[l.count].From = min(list[l.count].From, c.Time())
			l.open = append(l.open, openOccurrence{l.count, c.Ref(), claimOf(defs, c)})
			l.count++
		} else if i := l.find(c, claimOf(defs, c)); i >= 0 {
			w := &list[l.open[i].number]
			w.To = max(w.To, trace.Add(c.Time(), 1))
			l.open = slices.Delete(l.open, i, i+1)
		}
		return true
	})
	for _, l := range locs {
		if l == nil {
			continue
		}
		for _, o := range l.open {
			list[o.number].To = math.MaxInt64
		}
	}
	return list, err
}

// openOccurrences holds the open visits and claims of a location, and the number of all visits and claims so
// far.
type openOccurrences struct {
	count int
	open  []openOccurrence
}

// openOccurrence is an open visit or claim. number is its number at the location, counted from 0.
type openOccurrence struct {
	number int
	ref    uint32
	claim  claimNumber
}

// claimNumber is the [trace.Definitions.ClaimID] of a claim. It is zero for a visit.
type claimNumber struct {
	valid bool
	id    int64
}

// claimOf returns the number of the claim that a row begins or ends. It returns zero if the row belongs to a
// visit.
func claimOf(d *trace.Definitions, c *trace.Cursor) (n claimNumber) {
	if k := c.Kind(); k == trace.ClaimBegin || k == trace.ClaimEnd {
		n = claimNumber{true, d.ClaimID(c)}
	}
	return n
}

// find returns the index of the visit or claim that a row ends, or -1. If several visits of the region are
// open, it returns the latest of these.
func (oo *openOccurrences) find(c *trace.Cursor, claim claimNumber) int {
	for i, o := range slices.Backward(oo.open) {
		if o.ref == c.Ref() && o.claim == claim {
			return i
		}
	}
	return -1
}

// occurrence is the state of a location in the search for the end of a selected visit or claim.
type occurrence struct {
	open   bool
	count  int
	ref    uint32
	claim  claimNumber
	inside int // number of open visits of the same region inside of the selected one
}

// ends reports whether a row ends the selected visit or claim.
func (o *occurrence) ends(c *trace.Cursor, claim claimNumber) bool {
	k := c.Kind()
	switch {
	case o.claim.valid:
		return k == trace.ClaimEnd && claim == o.claim
	case c.Ref() != o.ref:
	case k == trace.Enter:
		o.inside++
	case k == trace.Leave && o.inside == 0:
		return true
	case k == trace.Leave:
		o.inside--
	}
	return false
}
