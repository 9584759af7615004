package transform

import (
	"context"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// SelectWindow returns the events of a trace in a window, and the links with both ends in it. Unlike [Cut], it
// does not repeat the begins of intervals that are open at the start of the window, and does not end intervals
// that are open at its end. Therefore messages and visits may lack their other end. If the format can seek,
// the cost depends only on the size of the window.
func SelectWindow(d format.Events, w trace.Window) format.Events {
	return &windowEvents{sameDefinitions{d}, w}
}

// windowEvents is a trace after [SelectWindow].
type windowEvents struct {
	sameDefinitions
	window trace.Window
}

// selection returns the selection for the whole trace.
func (w *windowEvents) selection(sel trace.Selection) trace.Selection {
	if sel.Stacks { // visits that are open at the start of the window must not be delivered
		sel.From, sel.Stacks = w.window.From, false
	}
	sel.From, sel.To = max(sel.From, w.window.From), min(sel.To, w.window.To)
	return sel
}

// Scan delivers the selected events of the window.
func (w *windowEvents) Scan(ctx context.Context, sel trace.Selection, order format.Order, sink format.Sink) error {
	return w.inner.Scan(ctx, w.selection(sel), order, windowLinks{sink, w.window})
}

// ScanParallel delivers the selected events of the window. It uses as many goroutines as ScanParallel of the
// trace.
func (w *windowEvents) ScanParallel(ctx context.Context, sel trace.Selection,
	begin func() func(int) format.Sink) error {
	return w.inner.ScanParallel(ctx, w.selection(sel), func() func(int) format.Sink {
		sinks := begin()
		return func(worker int) format.Sink { return windowLinks{sinks(worker), w.window} }
	})
}

// windowLinks drops the links with an end outside the window.
type windowLinks struct {
	format.Sink
	window trace.Window
}

// End notifies the sink that a location has no further events.
func (w windowLinks) End(location uint32) error { return format.End(w.Sink, location) }

// Links delivers the links with both ends in the window.
func (w windowLinks) Links(l []trace.Link) error {
	var keep []trace.Link
	for _, x := range l {
		if w.window.Has(x.Src.Time) && w.window.Has(x.Dst.Time) {
			keep = append(keep, x)
		}
	}
	if len(keep) == 0 {
		return nil
	}
	return w.Sink.Links(keep)
}
