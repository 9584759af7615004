package curve

import (
	"math"
	"slices"
	"testing"
)

func TestPlotter(t *testing.T) {
	nan := math.NaN()
	tests := []struct {
		name     string
		kind     Kind
		add      func(p *Plotter)
		min, max []float64
	}{
		// A unit has 10 ticks: 1 + 2u − u² over 2 units has its maximum, 2, at u = 1.
		{"fragment", Smooth, func(p *Plotter) { p.Fragment(0, 20, 1, 2, -1, 10) }, []float64{1, 1.75, 1.75, 1},
			[]float64{1.75, 2, 2, 1.75}},
		{"fragment with its top inside a column", Smooth, func(p *Plotter) { p.Fragment(0, 15, 0, 1, -0.5, 10) },
			[]float64{0, 0.375, 0.375, nan}, []float64{0.375, 0.5, 0.5, nan}},
		{"counter", Steps, func(p *Plotter) { p.Step(0, 3); p.Step(12, 7); p.Hold(20) }, []float64{3, 3, 3, 7},
			[]float64{3, 3, 7, 7}},
		{"samples", Points, func(p *Plotter) { p.Point(0, 1); p.Point(5, 5); p.Point(10, 2); p.Point(20, 9) },
			[]float64{1, 5, 2, 9}, []float64{1, 5, 2, 9}},
		{"values that are no numbers", Points, func(p *Plotter) { p.Point(0, math.Inf(1)); p.Point(5, nan) },
			[]float64{nan, nan, nan, nan}, []float64{nan, nan, nan, nan}},
		{"what is known of a stretch", Steps, func(p *Plotter) { p.Between(5, 15, 1, 2, 0, 4) }, []float64{nan, 0, 0, nan},
			[]float64{nan, 4, 4, nan}},
	}
	same := func(a, b float64) bool { return math.IsNaN(a) == math.IsNaN(b) && !(math.Abs(a-b) > 1e-12) }
	for _, x := range tests {
		t.Run(x.name, func(t *testing.T) {
			p := NewPlotter(x.kind, 0, 20, 4)
			x.add(p)
			c := p.Curve()
			if c.Kind != x.kind || !slices.EqualFunc(c.Min, x.min, same) || !slices.EqualFunc(c.Max, x.max, same) {
				t.Errorf("found %v to %v, expected %v to %v", c.Min, c.Max, x.min, x.max)
			}
		})
	}
}

func TestScale(t *testing.T) {
	for _, x := range []struct {
		from, to int64
		width    int
	}{{0, 100, 10}, {-7, 4, 5}, {math.MinInt64 + 1, math.MaxInt64, 1000}} {
		s := newScale(x.from, x.to, x.width)
		last := 0
		for c := range x.width {
			at := int64(uint64(x.from) + uint64(math.Ceil(s.edge(c))))
			if got := s.column(at); got < last || got > c+1 || got < c-1 {
				t.Errorf("%+v: %d, about where column %d begins, is in column %d", x, at, c, got)
			} else {
				last = got
			}
		}
		if s.column(x.to) != x.width-1 || s.column(x.from) != 0 {
			t.Errorf("%+v: the edges are not in the outermost columns", x)
		}
	}
}

// TestPrecision plots the line u over 10 ticks at times that floating-point numbers cannot
// represent. The columns must have the same values as near time 0.
func TestPrecision(t *testing.T) {
	for _, from := range []int64{0, 1 << 60, math.MaxInt64 - 10} {
		p := NewPlotter(Smooth, from, from+10, 5)
		p.Fragment(from, from+10, 0, 1, 0, 1)
		c := p.Curve()
		for i := range 5 {
			if low, high := float64(2*i), float64(2*i+2); c.Min[i] != low || c.Max[i] != high {
				t.Errorf("from %d, column %d: found %v to %v, expected %v to %v", from, i, c.Min[i], c.Max[i], low, high)
			}
		}
		p = NewPlotter(Smooth, from+4, from+10, 3) // the window begins 4 ticks after the begin of the fragment
		p.Fragment(from, from+10, 0, 1, 0, 1)
		if c := p.Curve(); c.Min[0] != 4 || c.Max[2] != 10 {
			t.Errorf("from %d + 4: found %v to %v, expected 4 to 10", from, c.Min[0], c.Max[2])
		}
	}
}
