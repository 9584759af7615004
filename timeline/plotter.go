package timeline

// Plotter makes a curve of the values of a signal, in time order, in memory for its pixel
// columns.
type Plotter struct {
	sc scale
	c  *curve
}

// NewPlotter plots the times from from to before to in width columns; to must be greater
// than from.
func NewPlotter(kind CurveKind, from, to int64, width int) *Plotter {
	return &Plotter{newScale(from, to, width), newCurve(kind, width)}
}

// Fragment adds k + b·u + a·u² from t0 to t1, u being counted from t0 in units of so many
// ticks.
func (p *Plotter) Fragment(t0, t1 int64, k, b, a, unit float64) {
	p.c.fragment(&p.sc, t0, t1, k, b, a, unit)
}

// Step adds a value that holds from t on.
func (p *Plotter) Step(t int64, v float64) { p.c.step(&p.sc, t, v) }

// Hold says that the last value holds until t.
func (p *Plotter) Hold(t int64) { p.c.hold(&p.sc, t) }

// Point adds a sample.
func (p *Plotter) Point(t int64, v float64) { p.c.point(&p.sc, t, v) }

// Between adds what is known of the times from t0 to before t1: what the curve was first
// and last there, and its extremes.
func (p *Plotter) Between(t0, t1 int64, first, last, low, high float64) {
	if !p.sc.sees(t0, t1) {
		return
	}
	from, to := p.sc.column(t0), p.sc.column(t1)
	if to > from && float64(p.sc.clip(t1)-p.sc.from) <= p.sc.edge(to) {
		to-- // the end is exclusive
	}
	for i := from; i <= to; i++ {
		p.c.put(i, first, last, low, high)
	}
}

// Curve is what has been plotted. The plotter must not be used any more.
func (p *Plotter) Curve() *Curve {
	p.c.finish()
	return &p.c.Curve
}
