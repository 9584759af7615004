package transform

import (
	"context"
	"sync"

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
			if len(s.openAtEnd(uint32(loc))) > 0 || s.runsAtEnd(uint32(loc)) || s.staysOpen(uint32(loc)) {
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
	l := s.states.Get(loc)
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

// staysOpen reports whether a location has a request, a held lock or a collective operation that stays open at the end
// of the piece.
func (s *cutScan) staysOpen(loc uint32) (open bool) {
	l := s.states.Get(loc)
	if l == nil {
		return false
	}
	l.rest.All(func(_ pairKey, rows []openRow) bool {
		switch rows[0].kind {
		case trace.CollectiveBegin, trace.CollectiveRequest, trace.SendBegin, trace.RecvBegin, trace.LockAcquire:
			open = true
		}
		return !open
	})
	return open
}
