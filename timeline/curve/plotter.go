package curve

import (
	"math"

	"github.com/weft-trace/weft/trace"
)

// Plotter plots the values of a counter, series or signal. The caller adds them in time order.
type Plotter struct {
	scale
	curve Curve
	held  bool // whether at and value are set: value applies from the time at on
	at    int64
	value float64
}

// NewPlotter returns a plotter for the times [from, to) in width columns. It requires from < to.
func NewPlotter(kind Kind, from, to int64, width int) *Plotter {
	p := &Plotter{scale: newScale(from, to, width), curve: Curve{Kind: kind}}
	for _, column := range []*[]float64{&p.curve.Min, &p.curve.Max, &p.curve.First, &p.curve.Last} {
		*column = make([]float64, width)
		for i := range *column {
			(*column)[i] = math.NaN()
		}
	}
	return p
}

// Extend makes the columns also cover some ticks after the end of the window. It is for windows that end at
// math.MaxInt64, because an exclusive end after that tick cannot be represented.
func (p *Plotter) Extend(ticks uint64) {
	p.span += ticks
	p.beyond += ticks
}

// put adds a piece of the curve to column i. The piece begins at the value first and ends at the value last.
// low and high are its extremes. Pieces with an infinite or undefined extreme are ignored.
func (p *Plotter) put(i int, first, last, low, high float64) {
	if math.IsNaN(low) || math.IsInf(low, 0) || math.IsNaN(high) || math.IsInf(high, 0) {
		return
	}
	c := &p.curve
	if math.IsNaN(c.Min[i]) {
		c.Min[i], c.Max[i], c.First[i], c.Last[i] = low, high, first, last
		return
	}
	c.Min[i], c.Max[i], c.Last[i] = min(c.Min[i], low), max(c.Max[i], high), last
}

// distance returns t − from as a floating-point number. It subtracts integers because
// floating-point numbers near 2^63 cannot represent single ticks.
func distance(t, from int64) float64 {
	if t < from {
		return -float64(uint64(from) - uint64(t))
	}
	return float64(uint64(t) - uint64(from))
}

// Fragment adds the polynomial k + b·u + a·u² from t0 to t1 in ticks, where u is the time since t0
// divided by unit ticks.
func (p *Plotter) Fragment(t0, t1 int64, k, b, a, unit float64) {
	if !p.overlaps(t0, t1) {
		return
	}
	begin, f := distance(t0, p.from), trace.Polynomial{C: k, B: b, A: a}
	from, to := distance(p.clip(t0), p.from), distance(p.clip(t1), p.from)
	last := p.column(t1)
	if last > 0 && t1 > t0 && p.edge(last) >= to {
		last-- // the end is exclusive
	}
	for i := p.column(t0); i <= last; i++ {
		u0, u1 := (max(from, p.edge(i))-begin)/unit, (min(to, p.edge(i+1))-begin)/unit
		low, high := f.Between(u0, u1)
		p.put(i, f.At(u0), f.At(u1), low, high)
	}
}

// Step adds the value v of a counter, which applies from t on. The previous value applies until t.
func (p *Plotter) Step(t int64, v float64) {
	p.Hold(t)
	p.held, p.at, p.value = true, t, v
	p.Point(t, v)
}

// Hold extends the latest counter value until t. The value continues to apply after t.
func (p *Plotter) Hold(t int64) {
	if !p.held || !p.overlaps(p.at, t) {
		return
	}
	for i := p.column(p.at); i <= p.column(t); i++ {
		p.put(i, p.value, p.value, p.value, p.value)
	}
	p.at = t
}

// Point adds a sample of value v at t.
func (p *Plotter) Point(t int64, v float64) {
	if p.overlaps(t, t) {
		p.put(p.column(t), v, v, v, v)
	}
}

// Between adds a summary of the values in [t0, t1): the first and the last value, and the extremes.
func (p *Plotter) Between(t0, t1 int64, first, last, low, high float64) {
	if !p.overlaps(t0, t1) {
		return
	}
	from, to := p.column(t0), p.column(t1)
	if to > from && distance(p.clip(t1), p.from) <= p.edge(to) {
		to-- // the end is exclusive
	}
	for i := from; i <= to; i++ {
		p.put(i, first, last, low, high)
	}
}

// Curve returns the plotted curve. The plotter must not be used afterwards.
func (p *Plotter) Curve() *Curve { return &p.curve }
