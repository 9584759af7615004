package causes

import (
	"context"
	"maps"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/weft-trace/weft/analysis/internal/history"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/generate"
	"github.com/weft-trace/weft/trace"
)

// TestTree compares the sums of ranges of calls with and without blocks.
func TestTree(t *testing.T) {
	g, err := generate.New(generate.Options{Workload: "stencil", Events: 40_000, Locations: 3, Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	h, err := history.Build(context.Background(), g, history.Options{Rows: trace.NewRows(g.Defs())})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	var x interval
	x.init(h)
	l := h.Locations[1]
	r := rand.New(rand.NewPCG(1, 2))
	long := 0
	for range 200 {
		from := r.Int32N(l.Count())
		to := from + r.Int32N(l.Count()-from)
		expected, waited := map[uint32]int64{}, int64(0)
		add := func(path uint32, time int64) { expected[path] += time }
		for n := from; n < to; n++ {
			for _, p := range l.Before(n) {
				add(p.Path, p.Time)
			}
			for _, p := range l.Inside(n) {
				add(p.Path, p.Time)
			}
			waited += addWaits(l, n, add)
		}
		x.location = 1
		x.addCalls(l, from, to)
		found := map[uint32]int64{}
		for _, p := range x.paths {
			found[p-1] = x.times[p]
		}
		maps.DeleteFunc(found, func(_ uint32, t int64) bool { return t == 0 })
		maps.DeleteFunc(expected, func(_ uint32, t int64) bool { return t == 0 })
		if !maps.Equal(found, expected) || x.waited != waited {
			t.Fatalf("[%d, %d): found %v and waits of %d, expected %v and %d", from, to, found, x.waited, expected, waited)
		}
		if to-from > 2*fewCalls {
			long++
		}
		x.clear()
	}
	if long < 20 {
		t.Errorf("found %d long intervals, expected more", long)
	}
}

// TestRanges compares ranges with an array to which each number is added separately.
func TestRanges(t *testing.T) {
	const n = 100
	r, expected := make(ranges, n+1), make([]float64, n)
	random := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		from := random.Int32N(n)
		to := from + random.Int32N(n-from+1)
		x := float64(random.IntN(1000)) // whole numbers, whose sums are exact
		r.add(from, to, x)
		for i := from; i < to; i++ {
			expected[i] += x
		}
	}
	for i, x := range expected {
		if found := r.at(int32(i)); found != x {
			t.Errorf("call %d: found %g, expected %g", i, found, x)
		}
	}
}

// TestLongIntervals checks that costs add up to waits over intervals with many calls: one location
// sends all messages only after the other one has received them.
func TestLongIntervals(t *testing.T) {
	r := trace.NewRecorder(trace.Seconds(1_000_000))
	a, b := r.Location("a"), r.Location("b")
	recv, send := r.Region("MPI_Recv"), r.Region("MPI_Send")
	const n = 500
	for i := range int64(n) {
		r.Enter(b, 10*i, recv)
		r.Recv(b, 10*i+8, a, 7, 8)
		r.Leave(b, 10*i+9, recv)
	}
	for i := range int64(n) {
		r.Enter(a, 10*(n+i), send)
		r.Send(a, 10*(n+i)+1, b, 7, 8)
		r.Leave(a, 10*(n+i)+2, send)
	}
	x, err := Find(context.Background(), format.Recorded(r), Options{Rows: trace.NewRows(r.Defs())})
	if err != nil {
		t.Fatal(err)
	}
	if len(x.Patterns) != 1 || x.Patterns[0].Waiting.Int64() != 9*n {
		t.Fatalf("found %+v, expected late senders of %d", x.Patterns, 9*n)
	}
	p := x.Patterns[0]
	if sum := p.ShortTerm + p.LongTerm; math.Abs(sum-9*n) > 1e-6*n {
		t.Errorf("found costs of %g, expected %d", sum, 9*n)
	}
}
