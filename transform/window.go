package transform

import (
	"context"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// Bare makes of a trace just the events in a window, and the links with an end in it: what
// is open at its borders is neither begun anew nor ended, and messages may lack a partner.
// Where the format can seek, its cost is that of the window.
func Bare(d format.Events, w trace.Window) format.Events { return &bare{around{d}, w} }

type bare struct {
	around
	window trace.Window
}

func (b *bare) selection(sel trace.Selection) trace.Selection {
	if sel.Stacks { // what is before the window is not there
		sel.From, sel.Stacks = b.window.From, false
	}
	sel.From, sel.To = max(sel.From, b.window.From), min(sel.To, b.window.To)
	return sel
}

// Scan delivers the window.
func (b *bare) Scan(ctx context.Context, sel trace.Selection, order format.Order, sink format.Sink) error {
	return b.inner.Scan(ctx, b.selection(sel), order, sink)
}

// ScanParallel delivers the window from as many goroutines as the trace is.
func (b *bare) ScanParallel(ctx context.Context, sel trace.Selection, begin func() func(int) format.Sink) error {
	return b.inner.ScanParallel(ctx, b.selection(sel), begin)
}
