package metrics

import (
	"fmt"
	"math"
	"testing"

	"github.com/weft-trace/weft/analysis/internal/testtrace"
	"github.com/weft-trace/weft/trace"
)

func definitions() *trace.Definitions {
	d := testtrace.Defs(2, 0, 0) // 1000 ticks a second
	for _, m := range []trace.MetricDef{
		{ID: "accumulated", Mode: "ACC/START/UNSIGNED8", Type: trace.Uint64},
		{ID: "absolute", Mode: "ABS/POINT/SIGNED8", Type: trace.Int64},
		{ID: "float", Mode: "ACC/START/DOUBLE", Type: trace.Float64},
		{ID: "series", Kind: trace.SeriesMetric, Type: trace.Float64},
		{ID: "none", Type: trace.Uint64},
		{ID: "signal", Kind: trace.SignalMetric, Type: trace.Float64},
	} {
		d.Metrics.Add(m)
	}
	return d
}

func metric(loc uint32, t int64, m uint32, bits uint64) testtrace.Row {
	return testtrace.Row{Loc: loc, Time: t, Kind: trace.Metric, Ref: m, Ops: []uint64{bits}}
}

// TestRatesOfOTF2 checks that accumulated metrics of OTF2 have rates, since OTF2 defines them as
// monotonic, and that absolute and relative metrics have none.
func TestRatesOfOTF2(t *testing.T) {
	for mode, rates := range map[string]bool{
		"ACCUMULATED_START": true, "ACCUMULATED_POINT": true, "ACCUMULATED_LAST": true, "ACCUMULATED_NEXT": true,
		"ABSOLUTE_POINT": false, "ABSOLUTE_LAST": false, "RELATIVE_LAST": false, "RELATIVE_NEXT": false,
	} {
		d := testtrace.Defs(1, 0, 0) // 1000 ticks a second
		d.Metrics.Add(trace.MetricDef{ID: "ops", Mode: mode, Type: trace.Uint64})
		p := New(d)
		if err := p.Batch(testtrace.PerLocation(d,
			[]testtrace.Row{metric(0, 10, 0, 5), metric(0, 20, 0, 15), metric(0, 50, 0, 105)})[0]); err != nil {
			t.Fatal(err)
		}
		// A growth of 100 in 40 ticks is 2500 per second on average. The highest is 3 per tick.
		if m := p.Result()[0]; m.Rates != rates || rates && (m.Average != 2500 || m.Highest != 3000) {
			t.Errorf("%s: found %+v", mode, m)
		}
	}
}

// text formats each metric as "events min..max last value rate average at most highest".
func text(l []Metric) (out []string) {
	for _, m := range l {
		s := fmt.Sprintf("%d %v..%v last %v", m.Events, m.Min, m.Max, m.Last)
		if m.Rates {
			s += fmt.Sprintf(" rate %g at most %g", m.Average, m.Highest)
		}
		out = append(out, s)
	}
	return out
}

func TestMetrics(t *testing.T) {
	d := definitions()
	f := math.Float64bits
	rows := []testtrace.Row{
		// Location 0 grows by 10 in 10 ticks, then by 90 in 30; location 1 by 20 in 10. The sum
		// is 120 in 50 ticks, or 2400 per second. The highest rate is 3 per tick.
		metric(0, 10, 0, 5), metric(0, 20, 0, 15), metric(0, 50, 0, 105),
		metric(1, 30, 0, 7), metric(1, 40, 0, 27),
		metric(0, 1, 1, 1<<64-3), metric(1, 2, 1, 4), metric(0, 3, 1, 1), // -3, 4, 1
		metric(0, 1, 2, f(0.5)), metric(0, 1, 2, f(math.NaN())), metric(0, 3, 2, f(2.5)),
		{Time: 5, Kind: trace.SampleRange, Ref: 3, Ops: []uint64{9, f(3), f(-1), f(2)}},
		// The maximum of the fragment is 3, at 2 s, in its middle.
		{Time: 5, Kind: trace.Fragment, Ref: 5, Ops: []uint64{4005, f(1), f(2), f(-0.5)}},
		{Time: 6, Kind: trace.Metric, Ref: trace.NoRef, Ops: []uint64{1}},
		{Time: 6, Kind: trace.Metric, Ref: 99, Ops: []uint64{1}},
		{Time: 6, Kind: trace.Metric, Ref: 4},
	}
	want := []string{
		"5 5..105 last 132 rate 2400 at most 3000",
		"3 -3..4 last 1",
		"3 0.5..2.5 last 2.5 rate 1000 at most 1000", // NaN does not count
		"3 -1..3 last 2", // three samples in one event
		"1 .. last ",
		"1 1..3 last 1",
	}
	p := New(d)
	for _, b := range testtrace.PerLocation(d, rows) {
		if err := p.Batch(b); err != nil {
			t.Fatal(err)
		}
	}
	// Merging one part per location has the same result.
	x, y := New(d), New(d)
	batches := testtrace.PerLocation(d, rows)
	if err := x.Batch(batches[1]); err != nil {
		t.Fatal(err)
	}
	if err := y.Batch(batches[0]); err != nil {
		t.Fatal(err)
	}
	if err := x.Merge(y); err != nil {
		t.Fatal(err)
	}
	for i, w := range want {
		if a, b := text(p.Result())[i], text(x.Result())[i]; a != w || b != w {
			t.Errorf("metric %d: found %s, merged %s, expected %s", i, a, b, w)
		}
	}
	if err := x.Merge(p); err == nil {
		t.Error("a merge of parts of the same locations gave no error")
	}
}

// TestSum checks sums, which keep the type of the values unless an integer overflows.
func TestSum(t *testing.T) {
	natural := func(n uint64) trace.Value { return trace.Value{Num: n, Type: trace.Uint64} }
	for _, x := range []struct{ a, b, want trace.Value }{
		{natural(1<<64 - 1), natural(1), trace.FloatValue(1 << 64)},
		{natural(1<<64 - 2), natural(1), natural(1<<64 - 1)},
		{trace.IntValue(math.MaxInt64), trace.IntValue(1), trace.FloatValue(1 << 63)},
		{trace.IntValue(math.MinInt64), trace.IntValue(-1), trace.FloatValue(-1 << 63)},
		{trace.IntValue(-5), trace.IntValue(0), trace.IntValue(-5)},
		{trace.IntValue(5), trace.IntValue(7), trace.IntValue(12)},
		{trace.IntValue(5), trace.IntValue(-7), trace.IntValue(-2)},
		{trace.FloatValue(1.5), trace.FloatValue(2), trace.FloatValue(3.5)},
	} {
		if got := sum(x.a, x.b); got != x.want {
			t.Errorf("%v + %v: found %v of type %v, expected %v of type %v", x.a, x.b, got, got.Type, x.want, x.want.Type)
		}
	}
}
