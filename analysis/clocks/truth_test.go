package clocks_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weft-trace/weft/analysis/clocks"
	"github.com/weft-trace/weft/analysis/messages"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/generate"
	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
)

// clockFunc returns the time that a clock shows at the true time t, in ticks.
type clockFunc func(t int64) int64

// skewed is a trace as it would be recorded with clocks that differ.
type skewed struct {
	*generate.Trace
	clocks []clockFunc
}

// Scan delivers the events with the times that the clocks of their locations show.
func (s *skewed) Scan(ctx context.Context, sel trace.Selection, order format.Order, sink format.Sink) error {
	return s.Trace.Scan(ctx, sel, order, format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
		c := b.Clone()
		for i := range c.Time {
			c.Time[i] = s.clocks[c.Location(i)](c.Time[i])
		}
		return sink.Batch(c)
	}})
}

// ScanParallel delivers the events in one goroutine.
func (s *skewed) ScanParallel(ctx context.Context, sel trace.Selection, begin func() func(int) format.Sink) error {
	return format.ScanInOne(ctx, s, sel, begin)
}

// generated returns a generated trace.
func generated(t testing.TB, o generate.Options) *generate.Trace {
	t.Helper()
	g, err := generate.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// deviation returns the greatest difference between corrected and true times of any location, in
// ticks. A common offset of all locations does not count, since messages do not determine it.
func deviation(t *testing.T, s *skewed, r *clocks.Result) int64 {
	t.Helper()
	least, most := int64(math.MaxInt64), int64(math.MinInt64)
	err := s.Trace.Scan(context.Background(), trace.Everything(), format.PerLocation,
		format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
			for i, at := range b.Time {
				loc := b.Location(i)
				curve := r.Correction.Locations[s.Defs().Locations.At(loc).ID]
				d := curve.At(s.clocks[loc](at)) - at
				least, most = min(least, d), max(most, d)
			}
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	return (most - least + 1) / 2
}

// linear returns a clock with an offset in ticks and a relative drift.
func linear(offset int64, drift float64) clockFunc {
	return func(t int64) int64 { return t + offset + int64(math.Floor(drift*float64(t))) }
}

// reach returns the greatest error, in ticks, that a clock can have if no message is received
// before it is sent. For each clock, it is the length of the shortest path from the first clock to
// it, or back, where an edge is the time of the fastest message.
func reach(t *testing.T, g *generate.Trace) int64 {
	t.Helper()
	n := g.Defs().Locations.Len()
	fastest := map[[2]uint32]int64{}
	p := messages.New(g.Defs(), messages.Options{Pair: func(m messages.Pair) {
		k := [2]uint32{m.Source, m.Destination}
		if old, ok := fastest[k]; !ok || m.Received-m.Sent < old {
			fastest[k] = m.Received - m.Sent
		}
	}})
	if err := g.Scan(context.Background(), trace.Everything(), format.PerLocation, p); err != nil {
		t.Fatal(err)
	}
	most := int64(0)
	for _, back := range []bool{false, true} {
		far := make([]int64, n)
		for i := 1; i < n; i++ {
			far[i] = math.MaxInt64 / 2
		}
		for range n {
			for k, d := range fastest {
				u, v := k[0], k[1]
				if back {
					u, v = v, u
				}
				far[v] = min(far[v], far[u]+d)
			}
		}
		most = max(most, slices.Max(far))
	}
	return most
}

// TestSkewedClocks compares the result with the true clocks of the trace. Messages bound
// the error of a clock only at the times of the messages. A line that keeps these bounds can have twice
// the error at the ends of the trace.
func TestSkewedClocks(t *testing.T) {
	effort.Sequential(t)
	for _, test := range []struct {
		workload  string
		locations int
		events    int64
		drift     float64 // greatest drift of a clock
		model     clocks.Model
	}{
		{"ring", 8, 100_000, 0, clocks.Full},
		{"ring", 8, 100_000, 0, clocks.Offset},
		{"ring", 8, 100_000, 50e-6, clocks.Full},
		{"ring", 4, 200_000, 1e-3, clocks.Full},
		{"stencil", 16, 100_000, 0, clocks.Full},
		{"stencil", 16, 100_000, 50e-6, clocks.Linear},
		{"stencil", 4, 400_000, 200e-6, clocks.Full},
		{"masterworker", 8, 100_000, 0, clocks.Full},
		{"masterworker", 8, 100_000, 50e-6, clocks.Full},
	} {
		t.Run(fmt.Sprintf("%s %d %g %v", test.workload, test.locations, test.drift, test.model), func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, 4))
			s := &skewed{Trace: generated(t, generate.Options{Workload: test.workload, Locations: test.locations,
				Events: test.events})}
			s.clocks = []clockFunc{linear(0, 0)}
			drifts := []float64{0}
			for i := range test.locations - 1 {
				drifts = append(drifts, (r.Float64()-0.5)*2*test.drift)
				s.clocks = append(s.clocks, linear(r.Int64N(2_000_000_000), drifts[i+1]))
			}
			x := solve(t, s, clocks.Options{Model: test.model})
			if !x.Before.Any() || x.Linear.Any() || x.After.Any() || x.Amortised {
				t.Errorf("before %+v, linear %+v, after %+v, amortised %v; expected violations before alone", x.Before, x.Linear,
					x.After, x.Amortised)
			}
			bound := reach(t, s.Trace)
			if test.drift > 0 {
				bound *= 2
			}
			found := deviation(t, s, x)
			if found > bound {
				t.Errorf("found times up to %d ns from the true ones, expected %d at most", found, bound)
			}
			worst := 0.0
			for i, c := range x.Clocks {
				// The correction of a clock that is faster by d slows it by d/(1+d).
				worst = max(worst, math.Abs(c.Drift+1e6*drifts[i]/(1+drifts[i])))
				if test.drift == 0 && c.Drift != 0 {
					t.Errorf("found a drift of %g ppm of clock %s, expected none", c.Drift, c.Name)
				}
			}
			t.Logf("%d messages: times up to %d ns from the true ones (bound %d), drifts %.3f ppm", x.Messages, found, bound,
				worst)
		})
	}
}
