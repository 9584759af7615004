package transform_test

import (
	"context"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// TestCutAt checks that a piece of some locations reads no other locations. At these locations it must have
// the same events as a piece of all locations, except that it has only messages in transit between two of its
// locations.
func TestCutAt(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1))
	a, b, c := r.Location("a"), r.Location("b"), r.Location("c")
	f := r.Region("f")
	for _, l := range []uint32{a, b, c} {
		r.Enter(l, 1, f)
	}
	r.Send(a, 2, b, 1, 8) // in transit at time 10
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

// watchedEvents calls ask with each selection that is requested from a trace.
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

// TestCutEnded checks that a piece does not repeat operations that ended before it. The begin and the end of
// each operation have the same id 7, but at different positions among their operands.
func TestCutEnded(t *testing.T) {
	for _, x := range []struct {
		begin, end       trace.Kind
		ofBegin, ofOther []uint64 // operands of the begin, and of the end
	}{
		{trace.CollectiveBegin, trace.CollectiveEnd, []uint64{1, 0, 0, 8, 9, 7}, []uint64{1, 0, 0, 8, 9, 7}},
		{trace.CollectiveRequest, trace.CollectiveComplete, []uint64{7}, []uint64{1, 0, 0, 8, 9, 7}},
		{trace.RecvBegin, trace.RecvComplete, []uint64{7}, []uint64{0, 0, 5, 8, 7}},
		{trace.RecvBegin, trace.RequestCancelled, []uint64{7}, []uint64{7}},
		{trace.LockAcquire, trace.LockRelease, []uint64{7, 1, 2}, []uint64{7, 3, 2}},
		{trace.IOBegin, trace.IOComplete, []uint64{0, 1, 8, 7}, []uint64{8, 7}},
		{trace.IOBegin, trace.IOCancelled, []uint64{0, 1, 8, 7}, []uint64{7}},
		{trace.FileOperationBegin, trace.FileOperationEnd, []uint64{7}, []uint64{1, 2, 8, 7}},
	} {
		for _, ended := range []bool{true, false} {
			r := trace.NewRecorder(trace.TicksPerSecond(1))
			p, g := r.Location("p"), r.Region("g")
			at := int64(30)
			if ended {
				at = 3
			}
			r.Event(p, 2, x.begin, 0, x.ofBegin)
			r.Event(p, at, x.end, 0, x.ofOther)
			r.Mark(p, 40, g)
			events, _ := listBoth(t, transform.Cut(format.Recorded(r), trace.Window{From: 16, To: math.MaxInt64}))
			found := slices.ContainsFunc(events, func(e event) bool { return e.kind == x.begin })
			if found == ended {
				t.Errorf("%s with %s at %d, piece from 16 on: found %v, expected a begin anew only of what is open",
					x.begin.Spec().Name, x.end.Spec().Name, at, events)
			}
		}
	}
}

// TestCutPending checks which messages and requests a piece from time 20 to 28 repeats. The piece repeats a
// message only if its other end follows. Of several messages with the same sender, receiver and tag, these are
// the oldest. It repeats a request only if a later event names the request. Other ends and later events count
// up to time 36, because the piece is 8 ticks long.
func TestCutPending(t *testing.T) {
	type row struct {
		loc  uint32 // location 0 or 1
		time int64
		kind trace.Kind
		ops  []uint64
	}
	to, from := []uint64{1, trace.Undefined, 5, 8}, []uint64{0, trace.Undefined, 5, 8}
	request, result := []uint64{2}, []uint64{1, trace.Undefined, 6, 8, 2}
	for _, x := range []struct {
		name string
		rows []row
		want []int64 // original times of the repeated events
	}{
		{"receive without send", []row{{1, 5, trace.Recv, from}}, nil},
		{"receive before its send", []row{{1, 5, trace.Recv, from}, {0, 30, trace.Send, to}}, []int64{5}},
		{"send without receive", []row{{0, 5, trace.Send, to}}, nil},
		{"send", []row{{0, 5, trace.Send, to}, {1, 30, trace.Recv, from}}, []int64{5}},
		{"receive at the border", []row{{0, 5, trace.Send, to}, {1, 20, trace.Recv, from}}, []int64{5}},
		{"receive after the piece", []row{{0, 5, trace.Send, to}, {1, 35, trace.Recv, from}}, []int64{5}},
		{"receive far after the piece", []row{{0, 5, trace.Send, to}, {1, 36, trace.Recv, from}}, nil},
		{"sends with one receive", []row{{0, 4, trace.Send, to}, {0, 5, trace.Send, to}, {1, 30, trace.Recv, from}},
			[]int64{4}},
		{"another flow", []row{{0, 5, trace.Send, to}, {1, 30, trace.Recv, []uint64{0, trace.Undefined, 7, 8}}}, nil},
		{"open request", []row{{0, 5, trace.RecvBegin, request}}, nil},
		{"completed request", []row{{0, 5, trace.RecvBegin, request}, {1, 6, trace.Send, []uint64{0, trace.Undefined, 6, 8}},
			{0, 30, trace.RecvComplete, result}}, []int64{5, 6}},
		{"cancelled request", []row{{0, 5, trace.RecvBegin, request}, {0, 30, trace.RequestCancelled, request}}, []int64{5}},
		{"tested request", []row{{0, 5, trace.RecvBegin, request}, {0, 30, trace.RequestTest, request}}, []int64{5}},
		{"another request", []row{{0, 5, trace.RecvBegin, request}, {0, 30, trace.RequestTest, []uint64{3}}}, nil},
		{"request of another location", []row{{0, 5, trace.RecvBegin, request}, {1, 30, trace.RequestTest, request}}, nil},
		{"id of a later request", []row{{0, 5, trace.RecvBegin, request}, {0, 25, trace.RecvBegin, request},
			{0, 30, trace.RequestCancelled, request}}, nil},
		{"id of a newer request", []row{{0, 4, trace.RecvBegin, request}, {0, 5, trace.RecvBegin, request},
			{0, 30, trace.RequestCancelled, request}}, []int64{5}},
		{"open collective request", []row{{0, 5, trace.CollectiveRequest, request}}, nil},
		{"collective request", []row{{0, 5, trace.CollectiveRequest, request},
			{0, 30, trace.CollectiveComplete, []uint64{1, 0, 0, 8, 8, 2}}}, []int64{5}},
	} {
		r := trace.NewRecorder(trace.TicksPerSecond(1))
		g := r.Region("g")
		for _, name := range []string{"p", "q"} {
			r.Mark(r.Location(name), 1<<41, g)
		}
		for _, e := range x.rows {
			r.Event(e.loc, e.time, e.kind, trace.NoRef, e.ops)
		}
		events, _ := listBoth(t, transform.Cut(format.Recorded(r), trace.Window{From: 20, To: 28}))
		var got []int64
		for _, e := range events {
			if e.began() {
				at, err := strconv.ParseInt(e.attrs[transform.BeganAttribute], 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, at)
			}
		}
		if !slices.Equal(got, x.want) {
			t.Errorf("%s: found what began at %d repeated, expected %d", x.name, got, x.want)
		}
	}
}

// readEvents counts the rows that scans pass on.
type readEvents struct {
	format.Events
	rows int
}

func (r *readEvents) counting(sink format.Sink) format.Sink {
	return format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
		r.rows += b.Len()
		return sink.Batch(b)
	}, OnLinks: sink.Links}
}

// Scan counts the rows of a scan.
func (r *readEvents) Scan(ctx context.Context, sel trace.Selection, order format.Order, sink format.Sink) error {
	return r.Events.Scan(ctx, sel, order, r.counting(sink))
}

// ScanParallel counts the rows of a scan.
func (r *readEvents) ScanParallel(ctx context.Context, sel trace.Selection,
	begin func() func(int) format.Sink) error {
	return r.Events.ScanParallel(ctx, sel, func() func(int) format.Sink {
		sinks := begin()
		return func(w int) format.Sink { return r.counting(sinks(w)) }
	})
}

// TestCutWithoutReceives checks that Cut reads only a few more rows if messages have no other end.
func TestCutWithoutReceives(t *testing.T) {
	cost := func(received func(message int) bool) int {
		r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
		g := r.Region("g")
		for _, name := range []string{"p", "q"} {
			r.Mark(r.Location(name), 0, g)
		}
		for i := range 10_000 {
			t := int64(1 + 2*i)
			r.Event(0, t, trace.Send, trace.NoRef, []uint64{1, trace.Undefined, uint64(i % 7), 8})
			if received(i) {
				r.Event(1, t+1, trace.Recv, trace.NoRef, []uint64{0, trace.Undefined, uint64(i % 7), 8})
			} else {
				r.Mark(1, t+1, g)
			}
		}
		x := &readEvents{Events: format.Recorded(r)}
		piece := transform.Cut(x, trace.Window{From: 4000, To: 4200})
		if err := piece.Scan(context.Background(), trace.Everything(), format.PerLocation, format.SinkFuncs{}); err != nil {
			t.Fatal(err)
		}
		return x.rows
	}
	all := cost(func(int) bool { return true })
	for name, received := range map[string]func(int) bool{
		"no receive":          func(int) bool { return false },
		"no receive of a tag": func(i int) bool { return i%7 != 3 },
		"a lost receive":      func(i int) bool { return i != 100 },
	} {
		if n := cost(received); n > all*3/2 {
			t.Errorf("%s: found %d rows read, expected no more than half more than %d", name, n, all)
		}
	}
}
