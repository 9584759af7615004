package transform

import (
	"context"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// Bare makes of a trace just the events in a window, and the links with an end in it: what
// is open at its borders is neither begun anew nor ended, and messages may lack a partner.
// Where the format can seek, its cost is that of the window.
func Bare(d format.Decoder, w Window) format.Decoder { return &bare{around{d}, w} }

type bare struct {
	around
	window Window
}

// Prepare prepares the trace.
func (b *bare) Prepare(ctx context.Context) error { return format.Prepare(ctx, b.inner) }

func (b *bare) selection(sel trace.Selection) trace.Selection {
	sel.From, sel.To = max(sel.From, b.window.From), min(sel.To, b.window.To)
	return sel
}

// Scan delivers the window location by location.
func (b *bare) Scan(ctx context.Context, sel trace.Selection, sink func(int) format.Sink) error {
	return format.Scan(ctx, b.inner, b.selection(sel), sink)
}

// ScanOrdered delivers the window in the order of time.
func (b *bare) ScanOrdered(ctx context.Context, sel trace.Selection, sink format.Sink) error {
	return format.ScanOrdered(ctx, b.inner, b.selection(sel), sink)
}
