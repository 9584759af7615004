package transform

import (
	"context"
	"math"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// readsNextEvents reports whether a scan also reads the next event of each location after the selected times,
// to find out which locations have later events. For formats with large blocks or grammars, this takes less
// time than another scan.
func (c *cut) readsNextEvents() bool { return c.inner.Defs().CheapNext }

// extendToNextEvents extends a selection to the next event of each location after the selected times, if
// readsNextEvents returns true.
func (c *cut) extendToNextEvents(sel *trace.Selection) {
	if !c.readsNextEvents() || sel.To == math.MaxInt64 || sel.From >= sel.To {
		return
	}
	if sel.OneEventFrom = sel.To; sel.To == 0 {
		sel.OneEventFrom = 1 // the value 0 would select all events
	}
	sel.To = math.MaxInt64
}

// continuingLocations returns the candidates that have events at time from or later. later holds the locations
// that have events after the times of a scan that extendToNextEvents has extended.
func (c *cut) continuingLocations(
	ctx context.Context, later map[uint32]bool, from int64, candidates []uint32,
) (map[uint32]bool, error) {
	if c.readsNextEvents() {
		return later, nil
	}
	return hasLaterEvents(ctx, c.inner, from, candidates)
}

// hasLaterEvents returns the candidates that have events at time from or later. It reads windows of growing
// length, so it reads little if the next events of the locations come soon.
func hasLaterEvents(ctx context.Context, d format.Events, from int64, candidates []uint32) (map[uint32]bool, error) {
	found := map[uint32]bool{}
	wanted := map[uint32]bool{}
	for _, l := range candidates {
		wanted[l] = true
	}
	length := max(d.Defs().Clock.Num/d.Defs().Clock.Den/1000, 1)
	for round := 0; len(wanted) > 0; round++ {
		to := int64(math.MaxInt64)
		if round < 4 && from < math.MaxInt64-length {
			to = from + length
		}
		sel := trace.Selection{From: from, To: to, Location: func(l uint32) bool { return wanted[l] }}
		seen := map[uint32]bool{}
		err := eachRow(ctx, d, sel, format.PerLocation, func(x *trace.Cursor) bool {
			if l := x.Location(); x.Time() >= from && x.Kind().IsEvent() && wanted[l] {
				seen[l] = true
			}
			return len(seen) < len(wanted)
		})
		if err != nil {
			return nil, err
		}
		for l := range seen {
			found[l] = true
			delete(wanted, l)
		}
		if to == math.MaxInt64 {
			break
		}
		from, length = to, length*32
	}
	return found, nil
}
