// Package signals provides functions of time that consist of linear pieces: sums of steps, averages
// over a window, and the signals of Little's law.
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

// At returns the value at time t, or 0 outside of the signal. At the end of the signal, it returns the
// value just before the end.
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

// at returns the value at time t, which must lie in the piece.
func (p *Piece) at(t int64) float64 {
	if p.Start == p.End {
		return p.Start
	}
	return p.Start + (p.End-p.Start)*float64(t-p.From)/float64(p.To-p.From)
}

// Integral returns the area under the signal, in value × ticks.
func (s Signal) Integral() float64 {
	var area claims.Sum
	for i := range s {
		s[i].addTo(&area)
	}
	return area.Value()
}

// addTo adds the area under the piece.
func (p *Piece) addTo(area *claims.Sum) {
	area.AddArea(p.Start/2+p.End/2, float64(p.To-p.From))
}

// Window returns a signal whose value at each time is the average of s over the last w ticks. s must be a step
// signal, which has constant pieces. Before its begin, s counts as 0. With shorten, the average covers only
// the time after the begin of s. The result covers the same time as s. If w is 0 or less, Window returns a
// copy of s.
//
// With shorten, the average within the first w ticks is not linear between the steps of the signal. The result
// is then exact at both ends of each piece.
func (s Signal) Window(w int64, shorten bool) Signal {
	if w <= 0 || len(s) == 0 {
		return slices.Clone(s)
	}
	first, last := s[0].From, s[len(s)-1].To
	out := make(Signal, 0, 2*len(s))
	// The slope of the average changes when a piece enters the window, and w ticks later, when the piece
	// begins to leave the window.
	var recent, early integral // integral up to the current time, and integral up to the begin of the window
	average := func(t int64) float64 {
		n := w
		if shorten && t-first < w {
			n = t - first
		}
		if n == 0 {
			return s[0].Start
		}
		area := recent.upTo(s, t)
		if t-first > n {
			before := early.upTo(s, t-n)
			area.AddSum(&before, -1)
		}
		return area.Finite(float64(n))
	}
	at, value := first, average(first)
	for enters, leaves := 1, 0; at < last; {
		next, leaving := last, leaves < len(s) && w < last-s[leaves].From
		if enters < len(s) {
			next = s[enters].From
		}
		if leaving {
			next = min(next, s[leaves].From+w)
		}
		if enters < len(s) && s[enters].From == next {
			enters++
		}
		if leaving && s[leaves].From+w == next {
			leaves++
		}
		v := average(next)
		out = append(out, Piece{at, next, value, v})
		at, value = next, v
	}
	return out
}

// integral computes the integral of a step signal from its begin.
type integral struct {
	whole int        // number of pieces that end before or at the last time of upTo
	area  claims.Sum // area of these pieces
}

// upTo returns the integral of s up to time t, which must not be less than in the call before.
func (i *integral) upTo(s Signal, t int64) claims.Sum {
	for ; i.whole < len(s) && s[i.whole].To <= t; i.whole++ {
		p := &s[i.whole]
		i.area.AddArea(p.Start, float64(p.To-p.From))
	}
	if i.whole == len(s) || t <= s[i.whole].From {
		return i.area
	}
	area := i.area
	area.AddArea(s[i.whole].Start, float64(t-s[i.whole].From))
	return area
}

// divide returns a / b, computed at the ends of the pieces of a and b. The quotient is 0 where b is 0. The
// pieces of a and b must have the same times.
func divide(a, b Signal) Signal {
	quotient := func(x, y float64) float64 {
		if y == 0 {
			return 0
		}
		return x / y
	}
	out := make(Signal, len(a))
	for i, p := range a {
		out[i] = Piece{p.From, p.To, quotient(p.Start, b[i].Start), quotient(p.End, b[i].End)}
	}
	return out
}

// Sweep is a sum of step functions, stored as a list of the times at which values are added and
// removed.
type Sweep []edge

// edge is the begin of a step function with the value by, or the end of one with the value -by.
type edge struct {
	time int64
	by   float64
	end  bool
}

// Add adds the value v from one time to another.
func (s *Sweep) Add(from, to int64, v float64) {
	*s = append(*s, edge{from, v, false}, edge{to, -v, true})
}

// sort sorts the edges by time. Among the edges at the same time, ends come first.
func (s Sweep) sort() {
	order := func(a, b edge) int {
		if a.time != b.time {
			return cmp.Compare(a.time, b.time)
		}
		return cmp.Compare(a.by, b.by)
	}
	// Functions are mostly added in the order of their begins, and few functions are open at a time. Therefore
	// most edges are only a few positions away from their final position, and moving them there takes less
	// time than sorting.
	moves := 16 * len(s)
	for i := 1; i < len(s); i++ {
		x := s[i]
		k := i
		for ; k > 0 && order(x, s[k-1]) < 0; k-- {
			if moves--; moves < 0 {
				s[k] = x
				slices.SortFunc(s, order)
				return
			}
			s[k] = s[k-1]
		}
		s[k] = x
	}
}

// signals returns two signals from time first to time last, with pieces of the same times: the sum, and
// the number of functions that are open.
func (s Sweep) signals(first, last int64) (sum, open Signal) {
	s.sort()
	sum, open = make(Signal, 0, len(s)+1), make(Signal, 0, len(s)+1)
	at, n := first, 0
	var v claims.Sum
	for _, e := range s {
		if e.time > at {
			sum.Add(at, e.time, v.Finite(1))
			open.Add(at, e.time, float64(n))
			at = e.time
		}
		v.Add(e.by)
		if e.end {
			n--
		} else {
			n++
		}
		// The sum is exactly 0 while no function is open, in spite of rounding errors.
		if n == 0 {
			v = claims.Sum{}
		}
	}
	sum.Add(at, last, 0)
	open.Add(at, last, 0)
	return sum, open
}

// Statistics holds the time-weighted mean, the smallest and the greatest value of a signal.
type Statistics struct{ Mean, Min, Max float64 }

// Statistics returns the statistics of a signal. With nonzero, it uses only the time in which the signal is
// not 0. ok is false if there is no such time. The statistics are then zeros.
func (s Signal) Statistics(nonzero bool) (f Statistics, ok bool) {
	length, area := 0.0, claims.Sum{}
	for i := range s {
		p := &s[i]
		if nonzero && p.Start == 0 && p.End == 0 {
			continue
		}
		if !ok {
			f.Min, f.Max, ok = p.Start, p.Start, true
		}
		length += float64(p.To - p.From)
		p.addTo(&area)
		f.Min, f.Max = min(f.Min, p.Start, p.End), max(f.Max, p.Start, p.End)
	}
	if ok {
		f.Mean = area.Mean(length)
	}
	return f, ok
}

// Stay is the interval during which an object is in a system, in ticks.
type Stay struct{ From, To int64 }

// Little returns the signals of Little's law from time first to time last: the number of objects that are in
// the system (work in progress), their throughput per unit ticks, and the quotient of both, the latency in
// units. An object that stays for a time d contributes 1/d to the throughput while it is there. If window is
// positive, the signals are averages over the last window ticks, as [Signal.Window] computes them.
func Little(stays []Stay, first, last int64, unit float64, window int64, shorten bool) (wip, throughput,
	latency Signal) {
	rate := make(Sweep, 0, 2*len(stays))
	for _, s := range stays {
		if s.From < s.To {
			rate.Add(s.From, s.To, unit/float64(s.To-s.From))
		}
	}
	throughput, wip = rate.signals(first, last)
	if window > 0 {
		throughput, wip = throughput.Window(window, shorten), wip.Window(window, shorten)
	}
	return wip, throughput, divide(wip, throughput)
}

// EventThroughput returns the rate of events at the given times in ticks, per unit ticks. Between two
// consecutive times, the rate is unit divided by their distance. After k events at one time, it is k times as
// much. Therefore each event contributes 1 to the integral, except for the events at the last time.
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
