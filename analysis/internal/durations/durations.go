// Package durations sums and counts durations in ticks. Sums and counts can be merged in any order.
package durations

import (
	"math"
	"math/bits"
	"slices"

	"github.com/weft-trace/weft/trace"
)

// Between returns the number of ticks from one time to another, clamped to the range of int64. It is negative
// if the second time is earlier.
func Between(from, to int64) int64 {
	d := to - from
	switch {
	case to >= from && d < 0:
		return math.MaxInt64
	case to < from && d >= 0:
		return math.MinInt64
	}
	return d
}

// SumBytes returns a + b, clamped to the greatest uint64.
func SumBytes(a, b uint64) uint64 {
	if b > math.MaxUint64-a {
		return math.MaxUint64
	}
	return a + b
}

// Bytes returns an operand that is a number of bytes, or 0 if it is trace.Undefined.
func Bytes(x uint64) uint64 {
	if x == trace.Undefined {
		return 0
	}
	return x
}

// Total holds the number of durations, their sum, the least and the greatest duration, in ticks.
type Total struct {
	Count    int64
	Min, Max int64 // 0 if there are no durations
	sum      trace.Ticks
}

// Add adds a duration.
func (t *Total) Add(d int64) {
	t.Merge(&Total{Count: 1, Min: d, Max: d, sum: trace.TicksOf(d)})
}

// Merge adds the durations of another total.
func (t *Total) Merge(o *Total) {
	if o.Count == 0 {
		return
	}
	if t.Count == 0 {
		*t = *o
		return
	}
	t.Count += o.Count
	t.Min, t.Max = min(t.Min, o.Min), max(t.Max, o.Max)
	t.sum = t.sum.Plus(o.sum)
}

// Sum returns the sum in ticks.
func (t *Total) Sum() trace.Ticks { return t.sum }

// Histogram counts positive and negative durations in classes. Below 256 ticks each duration has a class of
// its own. Above, there are 128 classes for each power of 2, so that a percentile is wrong by at most 1/256 of
// its value, which is 0.4 %. A histogram uses at most 60 KB for each sign.
type Histogram struct{ positive, negative []int64 }

// class returns the class of the absolute value of a duration.
func class(v uint64) int {
	if v < 256 {
		return int(v)
	}
	e := bits.Len64(v) - 8
	return e<<7 + int(v>>e)
}

// middle returns the absolute duration that represents a class.
func middle(c int) uint64 {
	if c < 256 {
		return uint64(c)
	}
	e := c>>7 - 1
	return uint64(c-e<<7)<<e + (1<<e-1)/2
}

// Add adds a duration.
func (h *Histogram) Add(d int64) {
	if d < 0 {
		count(&h.negative, class(-uint64(d)), 1)
	} else {
		count(&h.positive, class(uint64(d)), 1)
	}
}

// count adds n to the count of a class.
func count(l *[]int64, class int, n int64) {
	if class >= len(*l) {
		*l = append(*l, make([]int64, class+1-len(*l))...)
	}
	(*l)[class] += n
}

// Merge adds the durations of another histogram.
func (h *Histogram) Merge(o *Histogram) {
	for c, n := range o.positive {
		if n > 0 {
			count(&h.positive, c, n)
		}
	}
	for c, n := range o.negative {
		if n > 0 {
			count(&h.negative, c, n)
		}
	}
}

// Sort sorts durations in ascending order, by their digits. The time and the memory are in proportion to their number.
func Sort(list []int64) {
	if len(list) < 2 {
		return
	}
	const digit = 11 // bits
	least := slices.Min(list)
	width := bits.Len64(uint64(slices.Max(list)) - uint64(least))
	from, to := list, make([]int64, len(list))
	for shift := 0; shift < width; shift += digit {
		var begins [1 << digit]int // indexed by digit: where the durations with this digit begin
		digitOf := func(d int64) int { return int((uint64(d)-uint64(least))>>shift) & (len(begins) - 1) }
		for _, d := range from {
			begins[digitOf(d)]++
		}
		next := 0
		for i, n := range begins {
			begins[i] = next
			next += n
		}
		for _, d := range from {
			i := digitOf(d)
			to[begins[i]] = d
			begins[i]++
		}
		from, to = to, from
	}
	copy(list, from)
}

// Rank returns the position, counted from 1, of a percentile among n sorted durations. The percentile is the
// least duration for which a share of part / whole of all durations are not greater.
func Rank(n, part, whole int64) int64 { return max(1, n/whole*part+(n%whole*part+whole-1)/whole) }

// Percentile returns the least duration for which at least percent % of all durations are not greater, within
// the precision of the classes. t must be the total of the same durations. Without durations the result is 0.
func (h *Histogram) Percentile(percent int64, t *Total) int64 {
	rank := Rank(t.Count, percent, 100)
	for c := len(h.negative) - 1; c >= 0; c-- {
		if rank -= h.negative[c]; rank <= 0 {
			return min(max(t.Min, -int64(min(middle(c), math.MaxInt64))), t.Max)
		}
	}
	for c, n := range h.positive {
		if rank -= n; rank <= 0 {
			return min(max(t.Min, int64(middle(c))), t.Max)
		}
	}
	return 0
}
