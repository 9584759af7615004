// Package signals has functions of time that consist of linear pieces: sums of steps, averages over a window, and
// the signals of Little's law.
package signals

import (
	"cmp"
	"slices"

	"github.com/weft-trace/weft/analysis/internal/claims"
)

// Signal is a function of time that consists of consecutive linear pieces without gaps, ordered by
// time.
type Signal []Piece

// Piece is a linear piece of a signal. The value goes from Start at time From to End just before
// time To. Times are in ticks.
type Piece struct {
	From  int64   `json:"from"`
	To    int64   `json:"to"`
	Start float64 `json:"start"`
	End   float64 `json:"end"`
}

// Add appends a constant piece. A piece of length 0 is left out.
func (s *Signal) Add(from, to int64, v float64) {
	if from < to {
		*s = append(*s, Piece{from, to, v, v})
	}
}

// At returns the value at time t, or 0 outside of the signal. At the end of the signal it returns
// the value just before.
func (s Signal) At(t int64) float64 {
	i := s.piece(t)
	switch {
	case i < len(s) && s[i].From <= t:
		return s[i].at(t)
	case len(s) > 0 && t == s[len(s)-1].To:
		return s[len(s)-1].End
	}
	return 0
}

// piece returns the index of the first piece that ends after t.
func (s Signal) piece(t int64) int {
	i, _ := slices.BinarySearchFunc(s, t, func(p Piece, t int64) int {
		if p.To <= t {
			return -1
		}
		return 1
	})
	return i
}

// at returns the value at time t, which must be in the piece.
func (p *Piece) at(t int64) float64 {
	if p.Start == p.End {
		return p.Start
	}
	return p.Start + (p.End-p.Start)*float64(t-p.From)/float64(p.To-p.From)
}

// Integral returns the area under the signal, in value × ticks.
func (s Signal) Integral() float64 {
	sum := 0.0
	for _, p := range s {
		sum += (p.Start + p.End) / 2 * float64(p.To-p.From)
	}
	return sum
}

// Window returns at each time the average over the last w ticks of a step signal, whose pieces are
// constant. The signal counts as 0 before its begin; with shorten, the average covers only time
// since its begin. The result covers the same time as the signal. If w is 0 or less, Window returns
// a copy of the signal.
//
// With shorten, the average within the first w ticks is not linear between the steps of the signal.
// The result is exact at both ends of each piece.
func (s Signal) Window(w int64, shorten bool) Signal {
	if w <= 0 || len(s) == 0 {
		return slices.Clone(s)
	}
	first, last := s[0].From, s[len(s)-1].To
	var times []int64
	for _, p := range s {
		times = append(times, p.From)
		if w < last-p.From {
			times = append(times, p.From+w)
		}
	}
	times = append(times, last)
	slices.Sort(times)
	times = slices.Compact(times)
	area := make([]float64, len(s)+1) // integral of the signal up to the begin of each piece
	for i, p := range s {
		area[i+1] = area[i] + p.Start*float64(p.To-p.From)
	}
	upTo := func(t int64) float64 {
		if t <= first {
			return 0
		}
		i := s.piece(t)
		if i == len(s) {
			return area[i]
		}
		return area[i] + s[i].Start*float64(t-s[i].From)
	}
	average := func(t int64) float64 {
		n := w
		if shorten && t-first < w {
			n = t - first
		}
		if n == 0 {
			return s[0].Start
		}
		before := 0.0
		if t-first > n {
			before = upTo(t - n)
		}
		return (upTo(t) - before) / float64(n)
	}
	out := Signal{}
	for i := 1; i < len(times); i++ {
		out = append(out, Piece{times[i-1], times[i], average(times[i-1]), average(times[i])})
	}
	return out
}

// divide returns a / b, computed at the ends of the pieces of both, and 0 where b is 0. Both must
// cover the same time.
func divide(a, b Signal) Signal {
	var times []int64
	for _, s := range [2]Signal{a, b} {
		for _, p := range s {
			times = append(times, p.From, p.To)
		}
	}
	slices.Sort(times)
	times = slices.Compact(times)
	quotient := func(x, y float64) float64 {
		if y == 0 {
			return 0
		}
		return x / y
	}
	out := Signal{}
	for i := 1; i < len(times); i++ {
		from, to := times[i-1], times[i]
		x, y := &a[a.piece(from)], &b[b.piece(from)]
		out = append(out, Piece{from, to, quotient(x.at(from), y.at(from)), quotient(x.at(to), y.at(to))})
	}
	return out
}

// Sweep is a sum of step functions: a list of the times at which values are added and removed.
type Sweep []edge

// edge is the begin or end of a step function, which changes the sum by by and the number of open
// functions by open.
type edge struct {
	time int64
	by   float64
	open int
}

// Add adds the value v from one time to another.
func (s *Sweep) Add(from, to int64, v float64) {
	*s = append(*s, edge{from, v, 1}, edge{to, -v, -1})
}

// Signal returns the sum from time first to time last.
func (s Sweep) Signal(first, last int64) Signal {
	slices.SortFunc(s, func(a, b edge) int {
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.by, b.by))
	})
	out := Signal{}
	at, open := first, 0
	var v claims.Sum
	for _, e := range s {
		if e.time > at {
			out.Add(at, e.time, v.Value())
			at = e.time
		}
		v.Add(e.by)
		// The sum is exactly 0 where no function is open, despite rounding errors.
		if open += e.open; open == 0 {
			v = claims.Sum{}
		}
	}
	out.Add(at, last, 0)
	return out
}

// Mean returns the mean of a signal over its time. ok is false if it has no piece.
func (s Signal) Mean() (mean float64, ok bool) {
	length := 0.0
	for _, p := range s {
		length += float64(p.To - p.From)
	}
	return s.Integral() / length, len(s) > 0
}

// Nonzero returns the pieces of a signal that are not 0 all the time.
func (s Signal) Nonzero() Signal {
	return slices.DeleteFunc(slices.Clone(s), func(p Piece) bool { return p.Start == 0 && p.End == 0 })
}

// Range returns the smallest and the greatest value of the signal, or zeros if it is empty.
func (s Signal) Range() (low, high float64) {
	for i, p := range s {
		if i == 0 {
			low, high = p.Start, p.Start
		}
		low, high = min(low, p.Start, p.End), max(high, p.Start, p.End)
	}
	return low, high
}

// Extended returns the signal from time first to time last, with the value 0 where it has none. It must lie between
// them.
func (s Signal) Extended(first, last int64) Signal {
	var out Signal
	at := first
	for _, p := range s {
		out.Add(at, p.From, 0)
		out = append(out, p)
		at = p.To
	}
	out.Add(at, last, 0)
	return out
}

// Stay is the time of an object in a system, in ticks.
type Stay struct{ From, To int64 }

// Little returns the signals of Little's law from time first to time last: the number of objects that are in the
// system (work in progress), their throughput per unit ticks, and the quotient of both, the latency in units. An
// object that stays for a time d contributes 1/d to the throughput while it is there. If window is positive, they are
// averages over the last window ticks, as [Signal.Window] has them.
func Little(stays []Stay, first, last int64, unit float64, window int64, shorten bool) (wip, throughput,
	latency Signal) {
	var open, rate Sweep
	for _, s := range stays {
		if s.From < s.To {
			open.Add(s.From, s.To, 1)
			rate.Add(s.From, s.To, unit/float64(s.To-s.From))
		}
	}
	wip = open.Signal(first, last).Window(window, shorten)
	throughput = rate.Signal(first, last).Window(window, shorten)
	return wip, throughput, divide(wip, throughput)
}

// EventThroughput returns the rate of events at the given times in ticks, per unit ticks. Between
// two consecutive times it is unit divided by their distance, times k after k events at one time.
// So each event but those at the last time contributes 1 to the integral.
func EventThroughput(times []int64, unit float64) Signal {
	t := slices.Sorted(slices.Values(times))
	s := Signal{}
	for i := 0; i < len(t); {
		j := i
		for j < len(t) && t[j] == t[i] {
			j++
		}
		if j < len(t) {
			s.Add(t[i], t[j], float64(j-i)*unit/float64(t[j]-t[i]))
		}
		i = j
	}
	return s
}
