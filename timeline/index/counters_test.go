package index

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
)

// counters returns an index of a trace with a counter. The counter has the given mode, and the given values at
// the given times. The trace also has events at 0 and at 1000, which are its ends.
func counters(t *testing.T, mode string, kind trace.MetricKind, times []int64, values []float64) *Index {
	t.Helper()
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	loc, work := r.Location("p"), r.Region("work")
	m := r.Defs().Metrics.Add(trace.MetricDef{ID: "1", Name: "queue", Kind: kind, Mode: mode, Type: trace.Float64,
		Location: loc})
	r.Enter(loc, 0, work)
	for i, at := range times {
		r.Event(loc, at, trace.Metric, m, []uint64{math.Float64bits(values[i])})
	}
	r.Leave(loc, 1000, work)
	return buildIndex(t, r)
}

func almostEqual(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) }

// TestValues compares the statistics of a window with statistics that are computed tick by tick.
// For each mode, a function determines which value applies at a tick.
func TestValues(t *testing.T) {
	effort.Sequential(t)
	rng := rand.New(rand.NewPCG(7, 7))
	for _, test := range []struct {
		mode string
		kind trace.MetricKind
		// at returns the index of the value that applies at a tick, or -1 if no value applies.
		at func(times []int64, tick int64) int
	}{
		{"ABSOLUTE_NEXT", trace.CounterMetric, applyingAt},
		{"", trace.CounterMetric, applyingAt},
		{"ACC/START/SIGNED8", trace.CounterMetric, applyingAt},
		{"ABS/LAST/UNSIGNED8", trace.CounterMetric, func(times []int64, tick int64) int {
			// A value applies to the interval that ends with it. No value applies before the first value.
			for i := 1; i < len(times); i++ {
				if times[i-1] <= tick && tick < times[i] {
					return i
				}
			}
			return -1
		}},
	} {
		for _, n := range []int{1, 7, 400, 3000} {
			var times []int64
			var values []float64
			for at := int64(5); len(times) < n && at < 990; at += rng.Int64N(2 + 1800/int64(n)) {
				times, values = append(times, at), append(values, math.Round(100*rng.Float64()))
			}
			x := counters(t, test.mode, test.kind, times, values)
			for range 200 {
				from := rng.Int64N(1000)
				to := from + 1 + rng.Int64N(1001-from)
				v, err := x.Values(t.Context(), 1, from, to)
				if err != nil {
					t.Fatal(err)
				}
				sum, ticks, samples := 0.0, 0.0, int64(0)
				met := make([]bool, len(times))
				for tick := from; tick < min(to, 1000); tick++ {
					if i := test.at(times, tick); i >= 0 {
						sum, ticks, met[i] = sum+values[i], ticks+1, true
					}
				}
				low, high, first, last := math.Inf(1), math.Inf(-1), math.NaN(), math.NaN()
				for i, at := range times {
					if from <= at && at < to {
						samples++
						met[i] = true
					}
					if met[i] {
						low, high, last = min(low, values[i]), max(high, values[i]), values[i]
						if math.IsNaN(first) {
							first = values[i]
						}
					}
				}
				if v.Samples != samples || v.Any != !math.IsNaN(first) {
					t.Fatalf("%s, %d to %d: found %+v, expected %d samples of %v", test.mode, from, to, v, samples, times)
				}
				mean, ok := v.Mean()
				if ok != (ticks > 0) || ok && !almostEqual(mean, sum/ticks) {
					t.Errorf("%s, %d to %d: found the mean %v, %t, expected %v over %v ticks", test.mode, from, to, mean, ok,
						sum/ticks, ticks)
				}
				if v.Any && (v.Min != low || v.Max != high || v.First != first || v.Last != last) {
					t.Errorf("%s, %d to %d: found %+v, expected %v to %v between %v and %v", test.mode, from, to, v, first, last,
						low, high)
				}
			}
		}
	}
}

// applyingAt returns the index of the value that applies at a tick.
func applyingAt(times []int64, tick int64) int {
	at := -1
	for i, s := range times {
		if s <= tick {
			at = i
		}
	}
	return at
}

// TestValuesAtPoints checks the mean for a series and for a counter whose values apply to single
// points: all values in the window have the same weight. The expected numbers were computed by
// hand.
func TestValuesAtPoints(t *testing.T) {
	for _, x := range []*Index{
		counters(t, "ABSOLUTE_POINT", trace.CounterMetric, []int64{10, 20, 900}, []float64{1, 2, 9}),
		counters(t, "", trace.SeriesMetric, []int64{10, 20, 900}, []float64{1, 2, 9}),
	} {
		v, err := x.Values(t.Context(), 1, 11, 901)
		if err != nil {
			t.Fatal(err)
		}
		if mean, ok := v.Mean(); !ok || mean != 5.5 || v.Samples != 2 || v.First != 2 || v.Last != 9 || v.Min != 2 ||
			v.Max != 9 {
			t.Errorf("found %+v, mean %v, expected 2 values of 5.5", v, mean)
		}
		if v, err := x.Values(t.Context(), 1, 30, 900); err != nil || v.Any || v.Samples != 0 {
			t.Errorf("found %+v, %v, expected nothing between two values", v, err)
		}
	}
}

// TestValuesOfSignal records a signal that follows a parabola during 4 units of 100 ticks, and then a line
// back. The expected means are integrals of these two functions, computed by hand.
func TestValuesOfSignal(t *testing.T) {
	r := trace.NewRecorder(trace.Clock{Num: 1000, Den: 1, Unit: 100})
	loc, work := r.Location("p"), r.Region("work")
	m := r.Defs().Metrics.Add(trace.MetricDef{ID: "1", Name: "level", Kind: trace.SignalMetric, Type: trace.Float64,
		Location: loc})
	const unit = 100
	f := math.Float64bits
	r.Enter(loc, 0, work)
	// 4u − u², which is at most 4
	r.Event(loc, 0, trace.Fragment, m, []uint64{uint64(4 * unit), f(0), f(4), f(-1)})
	r.Event(loc, 4*unit, trace.Fragment, m, []uint64{uint64(6 * unit), f(10), f(-5), f(0)})
	r.Leave(loc, 6*unit, work)
	x := buildIndex(t, r)
	for _, test := range []struct {
		from, to                     int64
		samples                      int64
		first, last, low, high, mean float64
	}{
		{0, 4 * unit, 1, 0, 0, 0, 4, 8. / 3},              // 32/3 in 4 units
		{unit, 3 * unit, 1, 3, 3, 3, 4, 11. / 3},          // 22/3 in 2 units
		{0, 6*unit + 1, 2, 0, 0, 0, 10, (32./3 + 10) / 6}, // 32/3 + 10 in 6 units
		{4 * unit, 5 * unit, 1, 10, 5, 5, 10, 7.5},
	} {
		v, err := x.Values(t.Context(), 1, test.from, test.to)
		if err != nil {
			t.Fatal(err)
		}
		mean, ok := v.Mean()
		if !ok || v.Samples != test.samples || !almostEqual(v.First, test.first) || !almostEqual(v.Last, test.last) ||
			!almostEqual(v.Min, test.low) || !almostEqual(v.Max, test.high) || !almostEqual(mean, test.mean) {
			t.Errorf("%d to %d: found %+v, mean %v, expected %+v", test.from, test.to, v, mean, test)
		}
	}
}

// TestFragmentsThatOverlap checks that a fragment of a signal applies only until the next fragment
// begins, in statistics and in tiles.
func TestFragmentsThatOverlap(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1))
	loc := r.Location("p")
	m := r.Defs().Metrics.Add(trace.MetricDef{ID: "1", Name: "s", Kind: trace.SignalMetric, Type: trace.Float64,
		Location: loc})
	r.Enter(loc, 0, r.Region("work"))
	for _, f := range []struct {
		from, to int64
		value    float64
	}{{0, 100, 4}, {10, 20, 1}, {15, 300, 2}, {400, 500, 8}, {400, 410, 6}} {
		r.Event(loc, f.from, trace.Fragment, m, []uint64{uint64(f.to), math.Float64bits(f.value), math.Float64bits(0),
			math.Float64bits(0)})
	}
	x := buildIndex(t, r)
	v, err := x.Values(t.Context(), 1, 0, 410)
	if err != nil {
		t.Fatal(err)
	}
	// The signal is 4 for 10 ticks, 1 for 5 ticks, 2 for 285 ticks, and 6 for 10 ticks.
	if mean, _ := v.Mean(); v.Min != 1 || v.Max != 8 || !almostEqual(mean, float64(4*10+1*5+2*285+6*10)/310) {
		t.Errorf("found %+v with a mean of %v", v, mean)
	}
	c, err := x.plot(&reader{f: x.data}, x.dir.Tracks[1], &TileRequest{From: 0, To: 40, Width: 8})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{4, 4, 1, 2, 2, 2, 2, 2} {
		if c.Min[i] != want || c.Max[i] != want {
			t.Errorf("column %d: found %v to %v, expected %v", i, c.Min[i], c.Max[i], want)
		}
	}
}
