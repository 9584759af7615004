package transform

import (
	"context"
	"math"
	"sync"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// prepareLocal finds everything that is open at the begin of the piece.
func (c *cut) prepareLocal(ctx context.Context) error { return c.Prepare(ctx) }

// beginLocal begins a scan in several goroutines.
func (c *cut) beginLocal(sel trace.Selection) (func() stage, trace.Selection) {
	p := &cutProgress{}
	return func() stage { return c.stage(p) }, c.originalSelection(sel)
}

// stage returns a stage of a scan.
func (c *cut) stage(p *cutProgress) *cutScan {
	s := &cutScan{cut: c, progress: p}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stages = append(p.stages, s)
	return s
}

// cutProgress holds the data that the stages of one scan share.
type cutProgress struct {
	mu    sync.Mutex
	begun map[uint32]bool // locations whose open rows have been repeated
	later map[uint32]bool // locations with an event at or after the end of the piece
	// stages contains all stages of the scan. goesOn is the result of continuing; nil until the first call.
	stages []*cutScan
	goesOn map[uint32]bool
}

// begin reports whether the open rows of a location have not been repeated so far. It returns true only once.
func (p *cutProgress) begin(loc uint32) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := !p.begun[loc]
	setElement(&p.begun, loc, true)
	return first
}

// foundLater notes that a location has an event at or after the end of the piece.
func (p *cutProgress) foundLater(loc uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	setElement(&p.later, loc, true)
}

// continuingLocations returns the locations with something to end at the end of the piece that have later events. All
// events of the piece must have been delivered. The stages share the result, so that the number of goroutines
// changes neither the time nor the number of events that are read.
func (p *cutProgress) continuingLocations(ctx context.Context) (map[uint32]bool, error) {
	if p.goesOn != nil {
		return p.goesOn, nil
	}
	var ask []uint32
	for _, s := range p.stages {
		for loc := range s.states {
			if len(s.openAtEnd(uint32(loc))) > 0 {
				ask = append(ask, uint32(loc))
			}
		}
	}
	c := p.stages[0].cut
	var err error
	p.goesOn, err = c.continuingLocations(ctx, p.later, c.window.To, ask)
	return p.goesOn, err
}

// openAtEnd returns the open rows of a location that the end of the piece ends.
func (s *cutScan) openAtEnd(loc uint32) (rows []openRow) {
	l := s.states.get(loc)
	if l == nil {
		return nil
	}
	for _, o := range l.list() {
		if pairOf(o.kind).close != trace.NoKind {
			rows = append(rows, o)
		}
	}
	if l.transfer.kind != trace.NoKind {
		rows = append(rows, l.transfer)
	}
	return rows
}

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
