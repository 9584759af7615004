package transform

import (
	"context"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// heldRows is the number of rows up to which [EachPiece] holds a part of the trace in memory, and fewPieces the
// number of pieces that it cuts out of a part without dividing the part.
const (
	heldRows  = 1 << 18
	fewPieces = 8
)

// EachPiece calls f with the piece of each window in turn, which it cuts out as [Cut] does. f must not keep the
// piece. EachPiece divides the windows and the trace into parts that it holds in memory, with 30 MB at most. So it
// needs less time than to cut each piece out of the whole trace, for which all events before the window are read.
func EachPiece(ctx context.Context, events format.Events, windows []trace.Window,
	f func(i int, piece format.Events) error) error {
	return eachPiece(ctx, events, windows, 0, f)
}

// eachPiece calls f for the windows. The first window has the given number.
func eachPiece(ctx context.Context, events format.Events, windows []trace.Window, number int,
	f func(i int, piece format.Events) error) error {
	if len(windows) <= fewPieces {
		for i, w := range windows {
			piece := Cut(events, w)
			if err := piece.Prepare(ctx); err != nil {
				return err
			}
			if err := f(number+i, piece); err != nil {
				return err
			}
		}
		return nil
	}
	all := windows[0]
	for _, w := range windows {
		all.From, all.To = min(all.From, w.From), max(all.To, w.To)
	}
	part := Cut(events, all)
	if err := part.Prepare(ctx); err != nil {
		return err
	}
	held, err := format.Held(ctx, part, trace.Everything(), heldRows)
	if err != nil {
		return err
	}
	if held != nil {
		events = held
	}
	half := len(windows) / 2
	if err := eachPiece(ctx, events, windows[:half], number, f); err != nil {
		return err
	}
	return eachPiece(ctx, events, windows[half:], number+half, f)
}
