package clocks_test

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/weft-trace/weft/analysis/clocks"
	"github.com/weft-trace/weft/trace"
)

// exchange returns the trace of a program in which n processes send messages in rounds. Function
// peer chooses the receiver of process i in a round, and clocks has the clock of each process.
func exchange(n, rounds int, clocks []clockFunc, peer func(i, round int) int) (*trace.Definitions, []*trace.Batch) {
	d := &trace.Definitions{Clock: trace.TicksPerSecond(1_000_000_000)}
	b := make([]*trace.Batch, n)
	for i := range n {
		d.Locations.Add(trace.Location{ID: strconv.Itoa(i), Kind: trace.ProcessLocation, Group: trace.NoRef})
		b[i] = &trace.Batch{}
		b[i].Reset(uint32(i))
	}
	r := rand.New(rand.NewPCG(1, 2))
	now := make([]int64, n)
	add := func(loc int, k trace.Kind, other int) {
		b[loc].Add(uint32(loc), clocks[loc](now[loc]), k, trace.NoRef)
		b[loc].AddOps(uint64(other), trace.Undefined, 0, 8)
	}
	type arrival struct {
		from int
		at   int64
	}
	for round := range rounds {
		arrive := make([][]arrival, n)
		for i := range n {
			now[i] += 500_000 + r.Int64N(1_000_000)
			to := peer(i, round)
			add(i, trace.Send, to)
			arrive[to] = append(arrive[to], arrival{i, now[i] + 2000 + r.Int64N(500)})
		}
		for i := range n {
			for _, m := range arrive[i] {
				now[i] = max(now[i]+100, m.at)
				add(i, trace.Recv, m.from)
			}
		}
	}
	return d, b
}

func BenchmarkSolve(b *testing.B) {
	const n, rounds = 1000, 1000
	for _, x := range []struct {
		name  string
		drift float64
		jump  bool
		peer  func(r *rand.Rand, i, round int) int
	}{
		{"neighbours", 0, false, func(_ *rand.Rand, i, round int) int { return (i + 1 + n - 2*(round%2)) % n }},
		{"neighbours drift", 50e-6, false, func(_ *rand.Rand, i, round int) int { return (i + 1 + n - 2*(round%2)) % n }},
		{"random", 0, false, func(r *rand.Rand, i, _ int) int { return (i + 1 + r.IntN(n-1)) % n }},
		{"random drift", 50e-6, false, func(r *rand.Rand, i, _ int) int { return (i + 1 + r.IntN(n-1)) % n }},
		{"random jump", 50e-6, true, func(r *rand.Rand, i, _ int) int { return (i + 1 + r.IntN(n-1)) % n }},
	} {
		b.Run(x.name, func(b *testing.B) {
			r := rand.New(rand.NewPCG(5, 6))
			var clockFuncs []clockFunc
			for i := range n {
				f := linear(r.Int64N(1e9), (r.Float64()-0.5)*x.drift)
				if x.jump && i%10 == 0 {
					g := f
					f = func(t int64) int64 {
						if t > 700_000_000 {
							t += 50_000
						}
						return g(t)
					}
				}
				clockFuncs = append(clockFuncs, f)
			}
			d, list := exchange(n, rounds, clockFuncs, func(i, round int) int { return x.peer(r, i, round) })
			for b.Loop() {
				s := solve(b, &batches{defs: d, list: list}, clocks.Options{})
				if s.After.Any() {
					b.Fatal(s.After)
				}
				b.ReportMetric(float64(s.Linear.Messages), "left")
				b.ReportMetric(float64(s.Moved), "moved")
			}
		})
	}
}
