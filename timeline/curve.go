package timeline

import "math"

// curve is a curve under construction. Values arrive in time order.
type curve struct {
	Curve
	dead  bool // its row is not shown
	held  bool // a step is open
	at    int64
	value float64
}

func newCurve(kind CurveKind, width int) *curve {
	c := &curve{Curve: Curve{Kind: kind}}
	for _, p := range []*[]float64{&c.Min, &c.Max, &c.First, &c.Last} {
		*p = make([]float64, width)
		for i := range *p {
			(*p)[i] = math.NaN()
		}
	}
	return c
}

// put notes that in column i the curve goes from first to last, between lo and hi.
func (c *curve) put(i int, first, last, lo, hi float64) {
	if math.IsNaN(lo) || math.IsInf(lo, 0) || math.IsNaN(hi) || math.IsInf(hi, 0) {
		return
	}
	if math.IsNaN(c.Min[i]) {
		c.Min[i], c.Max[i], c.First[i], c.Last[i] = lo, hi, first, last
		return
	}
	c.Min[i], c.Max[i], c.Last[i] = min(c.Min[i], lo), max(c.Max[i], hi), last
}

// fragment draws k + b·u + a·u² from t0 to t1, u being counted from t0 in units
// of so many ticks.
func (c *curve) fragment(sc *scale, t0, t1 int64, k, b, a, unit float64) {
	if !sc.sees(t0, t1) {
		return
	}
	c.Values++
	begin := float64(t0) - float64(sc.from)
	value := func(x float64) (u, v float64) {
		u = (x - begin) / unit
		return u, k + u*(b+a*u)
	}
	from, to := float64(sc.clip(t0)-sc.from), float64(sc.clip(t1)-sc.from)
	last := sc.column(t1)
	if last > 0 && t1 > t0 && sc.edge(last) >= to {
		last-- // the end is exclusive
	}
	for i := sc.column(t0); i <= last; i++ {
		u0, v0 := value(max(from, sc.edge(i)))
		u1, v1 := value(min(to, sc.edge(i+1)))
		lo, hi := min(v0, v1), max(v0, v1)
		if vertex := -b / (2 * a); a != 0 && vertex > u0 && vertex < u1 {
			v := k + vertex*(b+a*vertex)
			lo, hi = min(lo, v), max(hi, v)
		}
		c.put(i, v0, v1, lo, hi)
	}
}

// step ends the value that held until t and begins another.
func (c *curve) step(sc *scale, t int64, v float64) {
	c.hold(sc, t)
	c.held, c.at, c.value = true, t, v
	if sc.sees(t, t) {
		c.Values++
		i := sc.column(t)
		c.put(i, v, v, v, v)
	}
}

// hold draws the value that holds until t.
func (c *curve) hold(sc *scale, t int64) {
	if !c.held || !sc.sees(c.at, t) {
		return
	}
	for i := sc.column(c.at); i <= sc.column(t); i++ {
		c.put(i, c.value, c.value, c.value, c.value)
	}
	c.at = t
}

// point adds a sample.
func (c *curve) point(sc *scale, t int64, v float64) {
	if sc.sees(t, t) {
		c.Values++
		c.put(sc.column(t), v, v, v, v)
	}
}

func (c *curve) finish() {
	c.Lowest, c.Highest = math.NaN(), math.NaN()
	for i, lo := range c.Min {
		if math.IsNaN(lo) {
			continue
		}
		if math.IsNaN(c.Lowest) {
			c.Lowest, c.Highest = lo, c.Max[i]
		}
		c.Lowest, c.Highest = min(c.Lowest, lo), max(c.Highest, c.Max[i])
	}
}
