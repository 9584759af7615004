package transform_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// TestPiecesOfCurves checks that a piece of a fragment is the same curve: 1 + 2u + 3u² from 0 on is
// 57 + 26v + 3v² from 4 on. A piece of a range of samples has the samples inside of it. A single
// sample before the piece is dropped.
func TestPiecesOfCurves(t *testing.T) {
	f := math.Float64bits
	for _, x := range []struct {
		name string
		kind trace.Kind
		ops  []uint64
		from int64
		want string
	}{
		{"fragment", trace.Fragment, []uint64{10, f(1), f(2), f(3)}, 4, "4 fragment 10 57 26 3"},
		{"straight fragment", trace.Fragment, []uint64{10, f(1), f(2)}, 4, "4 fragment 10 9 2"},
		{"level fragment", trace.Fragment, []uint64{10, f(1)}, 4, "4 fragment 10 1"},
		{"samples", trace.SampleRange, []uint64{10, f(0), f(1), f(2), f(3), f(4), f(5)}, 5, "6 sample-range 10 3 4 5"},
		{"samples from one on", trace.SampleRange, []uint64{10, f(0), f(1), f(2), f(3), f(4), f(5)}, 4,
			"4 sample-range 10 2 3 4 5"},
		{"last sample", trace.SampleRange, []uint64{10, f(0), f(5)}, 9, "10 sample-range 10 5"},
		{"last sample at the border", trace.SampleRange, []uint64{10, f(0), f(5)}, 10, "10 sample-range 10 5"},
		{"ended", trace.SampleRange, []uint64{10, f(0), f(5)}, 11, ""},
		{"one sample", trace.SampleRange, []uint64{10, f(7)}, 5, ""},
	} {
		r := trace.NewRecorder(trace.TicksPerSecond(1))
		p := r.Location("p")
		m := r.Counter("m", "")
		r.Event(p, 0, x.kind, m, x.ops)
		r.Mark(p, 30, r.Region("g"))
		events, _ := list(t, transform.Cut(format.Recorded(r), trace.Window{From: x.from, To: 20}), true)
		got := ""
		for _, e := range events {
			if e.kind != x.kind {
				continue
			}
			got += fmt.Sprint(e.time, " ", e.kind.Spec().Name, " ", e.ops[0])
			for _, v := range e.ops[1:] {
				got += fmt.Sprint(" ", math.Float64frombits(v))
			}
		}
		if got != x.want {
			t.Errorf("%s from %d on: found %q, expected %q", x.name, x.from, got, x.want)
		}
	}
}

// TestPieceToTheEnd checks that a piece without an end contains an event at the last possible time.
func TestPieceToTheEnd(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1))
	p, g := r.Location("p"), r.Region("g")
	for _, at := range []int64{1, 5, math.MaxInt64} {
		r.Mark(p, at, g)
	}
	for to, want := range map[int64][]int64{math.MaxInt64: {5, math.MaxInt64}, math.MaxInt64 - 1: {5}, 5: nil} {
		events, _ := list(t, transform.Cut(format.Recorded(r), trace.Window{From: 5, To: to}), true)
		var got []int64
		for _, e := range events {
			got = append(got, e.time)
		}
		if !slices.Equal(got, want) {
			t.Errorf("up to %d: found marks at %d, expected %d", to, got, want)
		}
	}
}

// TestCorrectLinks checks that each end of a link gets the corrected time of its location, and that
// an end without a location keeps its time.
func TestCorrectLinks(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1))
	p, q := r.Location("p"), r.Location("q")
	g := r.Region("g")
	r.Mark(p, 10, g)
	r.Mark(q, 20, g)
	end := func(loc uint32, at int64) trace.End { return trace.End{Location: loc, Time: at} }
	r.Link(end(p, 10), end(q, 20))
	r.Link(end(trace.NoRef, 5), end(q, 20))
	d := r.Defs()
	x, err := transform.Correct(format.Recorded(r),
		&transform.Correction{Clock: d.Clock,
			Locations: map[string]transform.Curve{d.Locations.At(q).ID: {{Read: 0, True: 100}}}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, links := list(t, x, true)
	got := ""
	for _, l := range links {
		got += fmt.Sprint(l.Src.Time, "-", l.Dst.Time, " ")
	}
	if got != "10-120 5-120 " {
		t.Errorf("found the links %s, expected 10-120 5-120", got)
	}
}

// TestEachPiece checks the pieces of random traces. Each piece must have the same events as if it were cut out
// of the whole trace. The attributes that cutting adds do not count, nor do messages that are in transit
// during the whole piece.
func TestEachPiece(t *testing.T) {
	for seed := range uint64(12) {
		pick := seeded(seed)
		r := randomTrace(pick, 300, false)
		events := format.Recorded(r)
		first, last, ok, err := format.Extent(t.Context(), events)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		var windows []trace.Window
		for range 20 + pick(40) {
			from := first + int64(pick(int(last-first)+1))
			windows = append(windows, trace.Window{From: from, To: from + 1 + int64(pick(int(last-first)/4+1))})
		}
		if seed%2 == 0 { // such windows follow each other like the phases of a run
			slices.SortFunc(windows, func(a, b trace.Window) int { return int(a.From - b.From) })
		}
		next := 0
		err = transform.EachPiece(t.Context(), events, windows, false, func(i int, piece format.Events) error {
			if i != next {
				t.Errorf("seed %d: found piece %d, expected %d", seed, i, next)
			}
			next++
			got, _ := list(t, piece, false)
			want, _ := list(t, transform.CutRunning(format.Recorded(r), windows[i], nil), false)
			if a, b := bareRows(got, windows[i].From), bareRows(want, windows[i].From); !slices.Equal(a, b) {
				t.Errorf("seed %d, window %v: found\n%q, expected\n%q", seed, windows[i], a, b)
			}
			return nil
		})
		if err != nil || next != len(windows) {
			t.Fatalf("seed %d: found %d pieces and error %v, expected %d", seed, next, err, len(windows))
		}
	}
}

// bareRows returns the rows of a piece without attributes. It leaves out messages that are sent at the begin
// of the piece and not received in it, which it recognises by their lengths: each message has a different
// length. It also leaves out a NoOp at the begin, which a piece has in place of such a message.
func bareRows(events []event, begin int64) (rows []string) {
	const length = 3
	slices.SortStableFunc(events, func(a, b event) int { return int(a.loc) - int(b.loc) })
	received := map[uint64]bool{}
	for _, e := range events {
		if e.kind == trace.Recv {
			received[e.ops[length]] = true
		}
	}
	for _, e := range events {
		if e.kind == trace.NoOp && e.time == begin {
			continue
		}
		if e.kind != trace.Send || e.time != begin || received[e.ops[length]] {
			rows = append(rows, fmt.Sprint(e.time, e.loc, e.kind, e.ref, e.ops))
		}
	}
	return rows
}

// TestPiecesOfVisits checks that all calls in the piece of a visit end with the visit. work lasts from 100 to 600,
// and main goes on until 1000.
func TestPiecesOfVisits(t *testing.T) {
	rec := trace.NewRecorder(trace.TicksPerSecond(1000))
	loc, main, work := rec.Location("p"), rec.Region("main"), rec.Region("work")
	rec.Enter(loc, 0, main)
	rec.Enter(loc, 100, work)
	rec.Leave(loc, 600, work)
	rec.Leave(loc, 1000, main)
	events := format.Recorded(rec)
	windows, err := transform.FindOccurrences(t.Context(), events, func(r uint32) bool { return r == work })
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		closed bool
		want   []int64
	}{{true, []int64{100, 100, 600, 600}}, {false, []int64{100, 100, 600, 601}}} {
		var times []int64
		err := transform.EachPiece(t.Context(), events, windows, x.closed, func(_ int, piece format.Events) error {
			return piece.Scan(t.Context(), trace.Events(), format.GlobalOrder, format.SinkFuncs{
				OnBatch: func(b *trace.Batch) error {
					times = append(times, b.Time...)
					return nil
				}})
		})
		if err != nil || !slices.Equal(times, x.want) {
			t.Errorf("closed %t: found events at %v, %v; expected %v", x.closed, times, err, x.want)
		}
	}
}
