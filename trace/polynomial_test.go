package trace

import "testing"

func TestPolynomial(t *testing.T) {
	for _, x := range []struct {
		f                 Polynomial
		from, to          float64
		low, high, middle float64
	}{
		{Polynomial{C: 7}, 0, 4, 7, 7, 7},
		{Polynomial{C: 1, B: -2}, 0, 4, -7, 1, -3},
		{Polynomial{C: 1, B: 2, A: -0.5}, 0, 4, 1, 3, 3},       // the maximum is at 2
		{Polynomial{C: 1, B: 2, A: -0.5}, 0, 1, 1, 2.5, 1.875}, // the window ends before the maximum
		{Polynomial{C: 0, B: -2, A: 1}, 0, 4, -1, 8, 0},        // the minimum is at 1
		{Polynomial{C: 0, B: -2, A: 1}, 2, 2, 0, 0, 0},
	} {
		low, high := x.f.Between(x.from, x.to)
		if middle := x.f.At((x.from + x.to) / 2); low != x.low || high != x.high || middle != x.middle {
			t.Errorf("%+v from %v to %v: found %v to %v, %v in the middle, expected %v to %v, %v", x.f, x.from, x.to, low, high,
				middle, x.low, x.high, x.middle)
		}
	}
}
