package history

import (
	"context"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/analysis/internal/waitstate"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/generate"
	"github.com/weft-trace/weft/internal/chunks"
	"github.com/weft-trace/weft/trace"
)

// contents holds all data of a call in a history.
type contents struct {
	call           Call
	before, inside []synclog.PathTime
	waits          []Wait
	sources        []Source
	operations     []Operation
}

// contentsOf returns all data of a call in a history.
func contentsOf(h *History, p waitstate.Place) contents {
	l := h.Locations[p.Location]
	x := contents{call: *l.Call(p.Number), before: slices.Clone(l.Before(p.Number)),
		inside: slices.Clone(l.Inside(p.Number)), waits: slices.Clone(l.Waits(p.Number))}
	x.call.before, x.call.inside, x.call.waits, x.call.source, x.call.operation = 0, 0, 0, 0, 0 // indices in a page
	l.EachSource(p.Number, func(s *Source) { x.sources = append(x.sources, *s) })
	l.EachOperation(p.Number, func(i int32) { x.operations = append(x.operations, *h.Operation(i)) })
	return x
}

// build returns the history of a generated trace.
func build(t *testing.T, o generate.Options, opt Options) *History {
	t.Helper()
	g, err := generate.New(o)
	if err != nil {
		t.Fatal(err)
	}
	opt.Rows = trace.NewRows(g.Defs())
	h, err := Build(context.Background(), g, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

// TestSmallMemory checks that a history whose chunks lie in files, and are dropped as soon as
// possible, has the same contents as one in memory, in any order of reading.
func TestSmallMemory(t *testing.T) {
	for _, o := range []generate.Options{{Workload: "stencil", Locations: 9}, {Workload: "masterworker", Locations: 5},
		{Workload: "ring", Locations: 3}, {Workload: "phases", Locations: 4, Threads: 3}} {
		o.Events, o.Seed = 4000, 2
		large := build(t, o, Options{ChunkSize: 1 << 20})
		small := build(t, o, Options{ChunkSize: 100, CachedCalls: 1, Memory: 1})
		var places []waitstate.Place
		if err := large.Forward(context.Background(), func(p waitstate.Place) { places = append(places, p) }); err != nil {
			t.Fatal(err)
		}
		waits, sources, operations := 0, 0, 0
		var random *rand.Rand
		for round := range 3 {
			switch round {
			case 1:
				slices.Reverse(places)
			case 2:
				random = rand.New(rand.NewPCG(1, 2))
				random.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
			}
			for _, p := range places {
				found, expected := contentsOf(small, p), contentsOf(large, p)
				if !reflect.DeepEqual(found, expected) {
					t.Fatalf("%s, call %+v: found %+v, expected %+v", o.Workload, p, found, expected)
				}
				waits, sources, operations = waits+len(found.waits), sources+len(found.sources),
					operations+len(found.operations)
				for _, w := range found.waits {
					if a, b := small.Opening(w.Place, w.Cause), large.Opening(w.Place, w.Cause); a != b {
						t.Fatalf("%s, wait %+v: found the opening %+v, expected %+v", o.Workload, w, a, b)
					}
				}
			}
		}
		if o.Workload == "stencil" && (waits == 0 || sources == 0 || operations == 0) {
			t.Errorf("found %d waits, %d sources and %d operations, expected some", waits, sources, operations)
		}
		if loaded := len(small.cache.list); loaded > 2 {
			t.Errorf("found %d pages in memory, expected at most 2", loaded)
		}
		if large.Log.First != small.Log.First || !reflect.DeepEqual(large.ExclusiveTimes(), small.ExclusiveTimes()) {
			t.Errorf("%s: found other exclusive times", o.Workload)
		}
	}
}

// TestAttached checks that what is attached to calls in any order is found with its call, in the order in
// which it was attached.
func TestAttached(t *testing.T) {
	h := build(t, generate.Options{Workload: "ring", Locations: 2, Events: 200, Seed: 1}, Options{})
	l := h.Locations[1]
	calls := l.load(0)
	p := calls.page
	p.attached, p.tail, calls.complete = nil, nil, false
	calls.waits, calls.sources, calls.operations = nil, nil, nil
	n := p.chunk.Calls
	for round := range int64(2) {
		for i := n - 1; i >= 0; i-- {
			at := waitstate.Place{Location: 1, Number: p.chunk.First + i}
			h.attach(at, attachedOperation, int64(i)+round*1000)
			h.attach(at, attachedSource, 0, int64(i), round)
			h.attach(at, attachedWait, int64(waitstate.Barrier), 5, round+1, 0, 3, 0)
		}
		h.store(p)
	}
	for i := range n {
		at := p.chunk.First + i
		var found, expected []int64
		l.EachOperation(at, func(o int32) { found = append(found, int64(o)) })
		l.EachSource(at, func(s *Source) { found = append(found, int64(s.Place.Number), s.Time-p.chunk.Since) })
		for _, w := range l.Waits(at) {
			found = append(found, w.Length)
		}
		expected = append(expected, int64(i), int64(i)+1000, int64(i), 0, int64(i), 1, 1, 2)
		if !slices.Equal(found, expected) {
			t.Fatalf("call %d: found %v, expected %v", at, found, expected)
		}
	}
}

// TestOrder checks that Forward and Backward visit all calls in the order of their ends, and that
// FirstAfter finds a call by its end.
func TestOrder(t *testing.T) {
	h := build(t, generate.Options{Workload: "stencil", Locations: 4, Events: 3000, Seed: 1}, Options{ChunkSize: 80})
	var forward, backward []waitstate.Place
	visit := func(list *[]waitstate.Place) func(waitstate.Place) {
		return func(p waitstate.Place) { *list = append(*list, p) }
	}
	if err := h.Forward(context.Background(), visit(&forward)); err != nil {
		t.Fatal(err)
	}
	if err := h.Backward(context.Background(), visit(&backward)); err != nil {
		t.Fatal(err)
	}
	slices.Reverse(backward)
	if !slices.Equal(forward, backward) {
		t.Error("found another order backward")
	}
	calls := 0
	for _, l := range h.Locations {
		calls += int(l.Count())
	}
	if len(forward) != calls {
		t.Errorf("found %d calls, expected %d", len(forward), calls)
	}
	sorted := slices.IsSortedFunc(forward, func(a, b waitstate.Place) int {
		if d := h.At(a).Leave - h.At(b).Leave; d != 0 {
			return int(max(-1, min(1, d)))
		}
		return int(a.Location) - int(b.Location)
	})
	if !sorted {
		t.Error("found calls that are not in the order of their ends")
	}
	l := h.Locations[2]
	for n := range l.Count() {
		for _, at := range []int64{l.Call(n).Leave - 1, l.Call(n).Leave} {
			first := int32(0)
			for first < l.Count() && l.Call(first).Leave <= at {
				first++
			}
			if found := l.FirstAfter(at); found != first {
				t.Fatalf("after %d: found call %d, expected %d", at, found, first)
			}
		}
	}
}

// TestMeetings compares the last meeting of a pair with a search through all meetings. The calls
// of non-blocking messages come in another order than the messages.
func TestMeetings(t *testing.T) {
	h := &History{chunks: chunks.New(0), meetings: map[pair]*meetings{}}
	defer h.chunks.Close()
	r := rand.New(rand.NewPCG(7, 8))
	var all []meeting
	for i := range int32(1000) {
		m := meeting{a: i/2 + r.Int32N(40), b: i/3 + r.Int32N(40)}
		if i%50 == 0 {
			m.a = r.Int32N(i/2 + 1) // known long after the others of its time
		}
		enter, leave := int64(10*m.a+m.b), int64(10*m.a+2*m.b)+r.Int64N(100)
		h.addMeeting(waitstate.Place{Location: 5, Number: m.b}, waitstate.Place{Location: 2, Number: m.a}, enter, leave+3,
			enter+1, leave+2)
		m.met, m.left = max(leave+2, enter+1), leave+2
		all = append(all, m)
	}
	for range 2000 {
		a, b := r.Int32N(550), r.Int32N(400)
		o := Opening{A: -1, B: -1, left: math.MinInt64}
		h.setLastMeeting(&o, pair{2, 5}, a, b)
		best := int64(math.MinInt64)
		for _, m := range all {
			if m.a < a && m.b < b {
				best = max(best, m.left)
			}
		}
		if o.left != best || o.A >= 0 && (o.A >= a || o.B >= b) {
			t.Fatalf("before %d and %d: found %+v, expected a meeting that was left at %d", a, b, o, best)
		}
	}
}

// TestOperations checks that operations are unpacked as they were packed.
func TestOperations(t *testing.T) {
	h := &History{chunks: chunks.New(0)}
	defer h.chunks.Close()
	r := rand.New(rand.NewPCG(3, 4))
	var all []Operation
	for i := range 500 {
		o := Operation{Relation: waitstate.Relation(r.IntN(4)), Root: trace.NoRef,
			Last: waitstate.Place{Location: r.Uint32N(100), Number: r.Int32()}, LastEnter: r.Int64() - math.MaxInt64/2}
		n := 1 + r.IntN(20)
		o.Members = make([]waitstate.Place, n)
		for k := range o.Members {
			o.Members[k] = waitstate.Place{Location: uint32(k * 3), Number: r.Int32()}
		}
		if i%2 == 0 {
			o.Root = r.Uint32N(60)
		}
		if i%3 == 0 {
			for _, m := range o.Members {
				o.Arrivals = append(o.Arrivals, waitstate.Place{Location: m.Location, Number: r.Int32()})
			}
		}
		if i%5 == 0 {
			for range n {
				o.Free = append(o.Free, r.IntN(2) == 0)
			}
		}
		if i%7 == 0 {
			for range n {
				o.Ranks = append(o.Ranks, r.Int32())
			}
		}
		if number := h.addOperation(&o); number != int32(i) {
			t.Fatalf("found the number %d, expected %d", number, i)
		}
		all = append(all, o)
	}
	h.packOperations()
	for range 2000 {
		i := r.Int32N(500)
		if found := *h.Operation(i); !reflect.DeepEqual(found, all[i]) {
			t.Fatalf("operation %d: found %+v, expected %+v", i, found, all[i])
		}
	}
}

// TestFileError checks that an error of the temporary file ends the visit of all calls.
func TestFileError(t *testing.T) {
	h := build(t, generate.Options{Workload: "ring", Locations: 3, Events: 5000, Seed: 1}, Options{ChunkSize: 100,
		CachedCalls: 1, Memory: 1})
	h.chunks.Close()
	err := h.Forward(context.Background(), func(p waitstate.Place) { h.Locations[p.Location].Waits(p.Number) })
	if err == nil {
		t.Error("found no error, expected that of the file")
	}
}

// TestTimesOutsideOfRegions checks that the time outside of all regions belongs to the first thread of a process, but
// not to another one that sleeps until it works in a team. Both work in a team from 10 to 30. The first thread is
// outside of all regions until 10, and from 30 to 70.
func TestTimesOutsideOfRegions(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	process := r.Process("0", r.Machine("m"))
	parallel := r.Region("!$omp parallel")
	team := r.Defs().Communicator.Add(trace.Communicator{ID: "0", Set: trace.NoRef, Parent: trace.NoRef})
	for _, loc := range []uint32{r.Thread("0", process), r.Thread("1", process)} {
		r.Event(loc, 0, trace.ThreadBegin, trace.NoRef, []uint64{trace.Undefined, trace.Undefined})
		r.Event(loc, 10, trace.ThreadTeamBegin, trace.NoRef, []uint64{uint64(team)})
		r.Enter(loc, 10, parallel)
		r.Leave(loc, 30, parallel)
		r.Event(loc, 30, trace.ThreadTeamEnd, trace.NoRef, []uint64{uint64(team)})
		r.Event(loc, 70, trace.ThreadEnd, trace.NoRef, []uint64{trace.Undefined, trace.Undefined})
	}
	events := format.Recorded(r)
	h, err := Build(t.Context(), events, Options{Rows: trace.NewRows(events.Defs())})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	own := h.ExclusiveTimes()
	for loc, expected := range []int64{50, 0} {
		if found := own[synclog.PathLocation{Path: synclog.NoPath, Location: uint32(loc)}]; found != expected {
			t.Errorf("thread %d: found %d outside of all regions, expected %d", loc, found, expected)
		}
	}
}
