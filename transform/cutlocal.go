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
	return func() stage { return c.stage(p) }, c.inside(sel)
}

// stage returns a stage of a scan.
func (c *cut) stage(p *cutProgress) *cutScan { return &cutScan{cut: c, progress: p} }

// cutProgress holds what the stages of one scan share.
type cutProgress struct {
	mu    sync.Mutex
	begun map[uint32]bool // locations whose open rows have been repeated
	later map[uint32]bool // locations with an event at or after the end of the piece
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
