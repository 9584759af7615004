package transform

import (
	"context"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// heldRows is the largest number of rows of a part of the trace that [EachPiece] holds in memory. fewPieces is
// the largest number of pieces that it cuts out of a part without dividing the part.
const (
	heldRows  = 1 << 18
	fewPieces = 8
)

// EachPiece calls f with the piece of each window in turn. It cuts the pieces in the same way as [CutRunning]. If
// closed is set, calls and operations that are open at the end of a window end at the window's last tick, as in a
// window of a visit ([FindOccurrences]).
// f must not retain the piece. EachPiece divides the windows and the trace into parts, and holds a part in memory, in
// at most 30 MB. This takes less time than cutting each piece out of the whole trace, because that requires
// reading all events before the window.
func EachPiece(ctx context.Context, events format.Events, windows []trace.Window, closed bool,
	f func(i int, piece format.Events) error) error {
	return eachPiece(ctx, events, windows, closed, 0, f)
}

// eachPiece calls f for the windows. number is the number of the first window.
func eachPiece(ctx context.Context, events format.Events, windows []trace.Window, closed bool, number int,
	f func(i int, piece format.Events) error) error {
	if len(windows) <= fewPieces {
		for i, w := range windows {
			piece := transformed{&cut{sameDefinitions: interleaved(events), window: w, toLastTick: closed,
				running: true}}
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
	part := CutRunning(events, all, nil)
	if err := part.Prepare(ctx); err != nil {
		return err
	}
	held, err := format.ReadIntoMemory(ctx, part, trace.Everything(), heldRows)
	if err != nil {
		return err
	}
	if held != nil {
		events = held
	}
	half := len(windows) / 2
	if err := eachPiece(ctx, events, windows[:half], closed, number, f); err != nil {
		return err
	}
	return eachPiece(ctx, events, windows[half:], closed, number+half, f)
}
