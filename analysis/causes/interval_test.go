package causes

import (
	"context"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/weft-trace/weft/analysis/internal/history"
	"github.com/weft-trace/weft/analysis/internal/waitstate"
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
	x.init(h, false)
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
			waited += addWaits(l, n, false, add)
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

// TestCarried compares shares with an array to which each share is added separately. Shares of very different size
// overlap, so that sums contain small and large shares. A large share can end before or after a small one.
func TestCarried(t *testing.T) {
	const n = 300
	random := rand.New(rand.NewPCG(3, 4))
	c := newCarried(&history.History{Locations: make([]*history.Location, 2)})
	var expected [2][n]*big.Rat
	for p := range expected {
		for i := range expected[p] {
			expected[p][i] = new(big.Rat)
		}
	}
	seen := 0
	for call := int32(n - 1); call >= 0; call-- {
		found := [2]float64{}
		for _, s := range c.visit(waitstate.Place{Location: 1, Number: call}) {
			found[s.pattern] = s.perTick
		}
		for p := range expected {
			x, _ := expected[p][call].Float64()
			if math.Abs(found[p]-x) > 1e-14*x {
				t.Errorf("call %d: found %g, expected %g", call, found[p], x)
			}
			if x > 0 {
				seen++
			}
		}
		for range random.IntN(3) {
			from := random.Int32N(call + 1)
			to := from + random.Int32N(min(20, call-from+1))
			s := share{waitstate.Pattern(random.IntN(2)), random.Float64() * math.Pow(10, float64(random.IntN(14)-5))}
			c.add(1, from, to, s)
			for i := from; i < to; i++ {
				expected[s.pattern][i].Add(expected[s.pattern][i], new(big.Rat).SetFloat64(s.perTick))
			}
		}
	}
	if seen < n {
		t.Errorf("found %d calls with shares, expected more", seen)
	}
	if l := &c.locations[1]; len(l.changes) > 0 {
		t.Errorf("found %d changes after the last call", len(l.changes))
	}
}

// TestLongIntervals checks that costs add up to waits over intervals with many calls: one location
// sends all messages only after the other one has received them.
func TestLongIntervals(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
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
