// Package metrics computes the number of values, the minimum, the maximum and the last value of
// each counter, series and signal, and the growth rate of counters that accumulate.
//
// A part needs only the events of each location in order. It uses memory for the definitions and
// about 80 bytes for each metric of each location.
package metrics

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"

	"github.com/weft-trace/weft/trace"
)

// Part holds the metrics of some locations of a trace.
type Part struct {
	defs    *trace.Definitions
	metrics []summary       // indexed by metric
	series  map[key]*series // only series with values
	near    [16]*series     // cache of the series used last, by metric mod 16
}

// key identifies a metric at a location.
type key struct{ location, metric uint32 }

// summary sums up a metric over all locations.
type summary struct {
	events int64
	// min and max are the extremes of the values. They are valid if any is set.
	any       bool
	min, max  trace.Value
	highest   float64 // the greatest growth per tick between two values; valid if grew is set
	hasGrowth bool
}

// series holds the state of a metric at a location.
type series struct {
	key
	// The following fields are valid if any is set.
	any           bool
	first, last   trace.Value
	begun, latest int64 // times of first and last, in ticks
}

// New returns an empty part for a trace.
func New(d *trace.Definitions) *Part { return &Part{defs: d, series: map[key]*series{}} }

// Batch processes a batch, whose events may belong to one location or to several.
func (p *Part) Batch(b *trace.Batch) error {
	if !slices.ContainsFunc(b.Kind, isMetricEvent) {
		return nil
	}
	c := b.Cursor()
	for c.Next() {
		k, m := c.Kind(), c.Ref()
		if !isMetricEvent(k) || !p.defs.Metrics.Has(m) {
			continue
		}
		for int(m) >= len(p.metrics) {
			p.metrics = append(p.metrics, summary{})
		}
		ops := c.Ops()
		if k == trace.SampleRange {
			p.metrics[m].events += int64(max(0, len(ops)-1))
		} else {
			p.metrics[m].events++
		}
		switch {
		case k == trace.Fragment && len(ops) > 3:
			p.fragment(p.find(c.Location(), m), c.Time(), c.End(), trace.Polynomial{
				C: math.Float64frombits(ops[1]), B: math.Float64frombits(ops[2]), A: math.Float64frombits(ops[3])})
		case k == trace.Metric && len(ops) > 0:
			p.value(p.find(c.Location(), m), c.Time(), trace.Value{Num: ops[0], Type: p.defs.Metrics.At(m).Type})
		case k == trace.SampleRange && len(ops) > 1:
			s := p.find(c.Location(), m)
			for i, v := range ops[1:] {
				t := c.Time()
				if i == len(ops)-2 {
					t = int64(ops[0])
				}
				p.value(s, t, trace.Value{Num: v, Type: trace.Float64})
			}
		}
	}
	return nil
}

// isMetricEvent reports whether events of kind k have values of metrics.
func isMetricEvent(k trace.Kind) bool {
	return k == trace.Metric || k == trace.SampleRange || k == trace.Fragment
}

// Links ignores links.
func (p *Part) Links([]trace.Link) error { return nil }

// find returns the series of a metric at a location, which it creates if needed.
func (p *Part) find(location, metric uint32) *series {
	k := key{location, metric}
	near := &p.near[metric%uint32(len(p.near))]
	if *near != nil && (*near).key == k {
		return *near
	}
	s := p.series[k]
	if s == nil {
		s = &series{key: k}
		p.series[k] = s
	}
	*near = s
	return s
}

// value adds value v at time t to a series and to the summary of its metric.
func (p *Part) value(s *series, t int64, v trace.Value) {
	if isFloat(v.Type) && math.IsNaN(v.Float()) {
		return // NaN has no order and no growth
	}
	m := &p.metrics[s.metric]
	m.extend(v, v)
	if !s.any {
		s.first, s.begun, s.any = v, t, true
	} else if t > s.latest {
		m.grow(difference(s.last, v) / float64(t-s.latest))
	}
	s.last, s.latest = v, t
}

// fragment adds a fragment of a signal: its extremes between from and to, and its value at the end.
func (p *Part) fragment(s *series, from, to int64, f trace.Polynomial) {
	u := (float64(to) - float64(from)) / p.defs.Clock.UnitTicks()
	low, high := f.Between(0, u)
	if math.IsNaN(low) || math.IsNaN(high) {
		return
	}
	p.metrics[s.metric].extend(trace.FloatValue(low), trace.FloatValue(high))
	s.last, s.latest = trace.FloatValue(f.At(u)), to
	if !s.any {
		s.first, s.begun, s.any = trace.FloatValue(f.C), from, true
	}
}

// extend extends the range of values to include low and high.
func (s *summary) extend(low, high trace.Value) {
	if !s.any || compare(low, s.min) < 0 {
		s.min = low
	}
	if !s.any || compare(high, s.max) > 0 {
		s.max = high
	}
	s.any = true
}

// grow records a growth per tick.
func (s *summary) grow(rate float64) {
	if !s.hasGrowth || rate > s.highest {
		s.highest, s.hasGrowth = rate, true
	}
}

// compare compares two values of the same type.
func compare(a, b trace.Value) int {
	switch {
	case isFloat(a.Type):
		return cmp.Compare(a.Float(), b.Float())
	case isSigned(a.Type):
		return cmp.Compare(a.Int(), b.Int())
	}
	return cmp.Compare(a.Num, b.Num)
}

// isFloat reports whether t is a floating-point type.
func isFloat(t trace.Type) bool { return t == trace.Float32 || t == trace.Float64 }

// isSigned reports whether t is an integer type with a sign.
func isSigned(t trace.Type) bool { return t >= trace.Int8 && t <= trace.Int64 }

// difference returns b - a.
func difference(a, b trace.Value) float64 {
	if isFloat(a.Type) {
		return b.Float() - a.Float()
	}
	return float64(int64(b.Num - a.Num))
}

// Merge adds another part of the same trace, which must have processed other locations. The other part must
// not be used afterwards.
func (p *Part) Merge(o *Part) error {
	if p.defs != o.defs {
		return fmt.Errorf("metrics: found parts of different traces")
	}
	for k, s := range o.series {
		if p.series[k] != nil {
			return fmt.Errorf("metrics: location %d was seen by both parts; expected parts of different locations", k.location)
		}
		p.series[k] = s
	}
	for len(p.metrics) < len(o.metrics) {
		p.metrics = append(p.metrics, summary{})
	}
	for i := range o.metrics {
		m, x := &p.metrics[i], &o.metrics[i]
		m.events += x.events
		if x.hasGrowth {
			m.grow(x.highest)
		}
		if x.any {
			m.extend(x.min, x.max)
		}
	}
	return nil
}

// Metric is the result for one metric, over all locations.
type Metric struct {
	Metric uint32 // index into Definitions.Metrics
	Events int64  // number of values, or of fragments of a signal
	// Min, Max and Last have the type of the metric, or None if there are no values. The extremes of a
	// signal include the values at the ends of its fragments. Last is the value at the latest time or,
	// for a counter that accumulates, the sum of the last values of all locations.
	Min, Max, Last trace.Value
	// Average and Highest are growth rates per second of a counter that accumulates. Average is the
	// growth of all locations from their first to their last value, divided by the sum of the times
	// between these values. Highest is the greatest growth per second between two consecutive values of
	// one location. Both are valid only if Rates is set.
	Average, Highest float64
	Rates            bool
}

// Result lists all metrics of the trace, in the order of the definitions.
func (p *Part) Result() []Metric {
	out := make([]Metric, p.defs.Metrics.Len())
	growth, ticks := make([]float64, len(out)), make([]float64, len(out)) // indexed by metric
	latest, seen := make([]int64, len(out)), make([]bool, len(out))
	keys := slices.SortedFunc(maps.Keys(p.series), func(a, b key) int {
		return cmp.Or(cmp.Compare(a.location, b.location), cmp.Compare(a.metric, b.metric))
	})
	for i := range out {
		out[i].Metric = uint32(i)
		if i < len(p.metrics) {
			m := &p.metrics[i]
			out[i].Events = m.events
			if m.any {
				out[i].Min, out[i].Max = m.min, m.max
			}
		}
	}
	for _, k := range keys {
		x, s := &out[k.metric], p.series[k]
		switch {
		case !seen[k.metric]:
			x.Last, latest[k.metric], seen[k.metric] = s.last, s.latest, true
		case p.accumulates(k.metric):
			x.Last = sum(x.Last, s.last)
		case s.latest >= latest[k.metric]:
			x.Last, latest[k.metric] = s.last, s.latest
		}
		growth[k.metric] += difference(s.first, s.last)
		ticks[k.metric] += float64(s.latest - s.begun)
	}
	second := p.defs.Clock.PerSecond()
	for i := range out {
		if p.accumulates(uint32(i)) && i < len(p.metrics) && p.metrics[i].hasGrowth && ticks[i] > 0 {
			out[i].Average, out[i].Highest, out[i].Rates = growth[i]/ticks[i]*second, p.metrics[i].highest*second, true
		}
	}
	return out
}

// accumulates reports whether a metric's values are sums that only grow.
func (p *Part) accumulates(metric uint32) bool {
	return trace.Accumulates(p.defs.Metrics.At(metric).Mode)
}

// sum adds two values of the same type. If integers overflow, the result is a float.
func sum(a, b trace.Value) trace.Value {
	switch {
	case isFloat(a.Type):
		return trace.FloatValue(a.Float() + b.Float())
	case isSigned(a.Type):
		x, y := a.Int(), b.Int()
		if s := x + y; s > x == (y > 0) {
			return trace.Value{Num: uint64(s), Type: a.Type}
		}
	default:
		if s, carry := bits.Add64(a.Num, b.Num, 0); carry == 0 {
			return trace.Value{Num: s, Type: a.Type}
		}
	}
	return trace.FloatValue(a.Float() + b.Float())
}
