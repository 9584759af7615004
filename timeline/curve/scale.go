package curve

import "math/bits"

// scale maps ticks to pixel columns, without rounding times.
type scale struct {
	from, to    int64
	span, width uint64
	beyond      uint64 // number of ticks that the columns cover after to
}

func newScale(from, to int64, width int) scale {
	return scale{from: from, to: to, span: uint64(to) - uint64(from), width: uint64(width)}
}

// column returns the column of t. Times outside of the window are in the outermost columns.
func (s *scale) column(t int64) int {
	if t <= s.from {
		return 0
	}
	if t >= s.to && (t > s.to || s.beyond == 0) {
		return int(s.width) - 1
	}
	hi, lo := bits.Mul64(uint64(t)-uint64(s.from), s.width)
	q, _ := bits.Div64(hi, lo, s.span)
	return int(q)
}

// edge returns the beginning of column c, in ticks from the left edge of the window.
func (s *scale) edge(c int) float64 { return float64(c) * float64(s.span) / float64(s.width) }

// overlaps reports whether [t0, t1] and the window share more than an end point. An interval of a single time
// (t0 = t1) only needs to lie in the window or at its end.
func (s *scale) overlaps(t0, t1 int64) bool {
	return t0 <= s.to && t1 >= s.from && (t0 == t1 || t1 > s.from && t0 < s.to)
}

func (s *scale) clip(t int64) int64 { return min(max(t, s.from), s.to) }
