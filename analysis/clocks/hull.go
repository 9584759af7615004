package clocks

import (
	"math/bits"
	"sort"
)

// point is a constraint between two clocks: at the time received of the receiving clock, in ticks, this clock
// must be at least need ticks ahead of the sending clock.
type point struct{ received, need int64 }

// addPoint adds a point to the corners of an upper hull, which are ordered by time. The computation uses exact
// integers.
func addPoint(h []point, p point) []point {
	i := len(h)
	if i > 0 && h[i-1].received >= p.received {
		i = sort.Search(i, func(k int) bool { return h[k].received >= p.received })
	}
	switch {
	case i == len(h):
		h = append(h, p)
	case h[i].received == p.received:
		if h[i].need >= p.need {
			return h
		}
		h[i] = p
	case i > 0 && !above(h[i-1], p, h[i]):
		return h
	default:
		h = append(h, point{})
		copy(h[i+1:], h[i:])
		h[i] = p
	}
	right := i + 1
	for right+1 < len(h) && !above(p, h[right], h[right+1]) {
		right++
	}
	left := i
	for left > 1 && !above(h[left-2], h[left-1], p) {
		left--
	}
	h[left] = p
	return append(h[:left+1], h[right:]...)
}

// above reports whether b, which lies between a and c in time, lies above the line from a to c.
func above(a, b, c point) bool {
	return product(b.need-a.need, c.received-a.received).exceeds(product(c.need-a.need, b.received-a.received))
}

// signed is a number of 127 bits and a sign.
type signed struct {
	negative bool
	hi, lo   uint64
}

// product returns a·b.
func product(a, b int64) signed {
	s := signed{negative: (a < 0) != (b < 0)}
	s.hi, s.lo = bits.Mul64(magnitude(a), magnitude(b))
	return s
}

// magnitude returns the absolute value of a.
func magnitude(a int64) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
}

// exceeds reports whether s is greater than t.
func (s signed) exceeds(t signed) bool {
	switch {
	case s.hi|s.lo|t.hi|t.lo == 0:
		return false
	case s.negative != t.negative:
		return t.negative
	case s.negative:
		s, t = t, s
	}
	return s.hi > t.hi || s.hi == t.hi && s.lo > t.lo
}
