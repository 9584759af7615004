package transform_test

import (
	"context"
	"slices"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// TestCutAt checks that a piece of some locations reads no others, and has the events that a piece
// of all locations has there. Of the messages in transit it has those between two of its locations.
func TestCutAt(t *testing.T) {
	r := trace.NewRecorder(trace.Seconds(1))
	a, b, c := r.Location("a"), r.Location("b"), r.Location("c")
	f := r.Region("f")
	for _, l := range []uint32{a, b, c} {
		r.Enter(l, 1, f)
	}
	r.Send(a, 2, b, 1, 8) // in transit at 10
	r.Send(a, 3, c, 2, 8) // also in transit
	r.Send(c, 4, a, 3, 8) // received
	r.Recv(a, 5, c, 3, 8)
	r.Recv(b, 12, a, 1, 8)
	r.Recv(c, 13, a, 2, 8)
	for _, l := range []uint32{a, b, c} {
		r.Leave(l, 20, f)
	}
	wanted := func(l uint32) bool { return l != c }
	ask := func(sel trace.Selection) {
		if sel.Location == nil || sel.Location(c) {
			t.Error("found location c asked for, expected a and b alone")
		}
	}
	d := transform.CutAt(watchedEvents{format.Recorded(r), ask}, trace.Window{From: 10, To: 15}, wanted)
	events, _ := list(t, d, true)
	var got []string
	for _, e := range events {
		e.attrs = nil
		got = append(got, e.String())
	}
	want := []string{
		"0 10 enter 0 [] map[]", "0 10 send -1 [1 18446744073709551615 1 8] map[]", "1 10 enter 0 [] map[]",
		"1 12 recv -1 [0 18446744073709551615 1 8] map[]", "0 15 leave 0 [] map[]", "1 15 leave 0 [] map[]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("found %q, expected %q", got, want)
	}
}

// watchedEvents records the selections that are requested from a trace.
type watchedEvents struct {
	format.Events
	ask func(trace.Selection)
}

func (w watchedEvents) Scan(ctx context.Context, sel trace.Selection, order format.Order, sink format.Sink) error {
	w.ask(sel)
	return w.Events.Scan(ctx, sel, order, sink)
}

func (w watchedEvents) ScanParallel(ctx context.Context, sel trace.Selection,
	begin func() func(int) format.Sink) error {
	w.ask(sel)
	return w.Events.ScanParallel(ctx, sel, begin)
}
