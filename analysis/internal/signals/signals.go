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
		area.AddArea(s[i].Start/2+s[i].End/2, float64(s[i].To-s[i].From))
	}
	return area.Value()
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
	SortNearby(s, func(a, b *edge) int {
		if a.time != b.time {
			return cmp.Compare(a.time, b.time)
		}
		return cmp.Compare(a.by, b.by)
	})
}

// SortNearby sorts a list in which most elements are only a few positions away from their final positions. Moving
// them there takes less time than [slices.SortFunc], to which SortNearby changes if there are too many moves. The
// order of equal elements is not defined.
func SortNearby[T any](list []T, order func(a, b *T) int) {
	moves := 16 * len(list)
	var x T // the element that moves
	for i := 1; i < len(list); i++ {
		if order(&list[i], &list[i-1]) >= 0 {
			continue
		}
		x = list[i]
		k := i
		for ; k > 0 && order(&x, &list[k-1]) < 0; k-- {
			if moves--; moves < 0 {
				list[k] = x
				slices.SortFunc(list, func(a, b T) int { return order(&a, &b) })
				return
			}
			list[k] = list[k-1]
		}
		list[k] = x
	}
}

// Statistics holds the number of ticks that statistics of a signal cover, and the time-weighted mean, the smallest and
// the greatest value in them. Without ticks, these values are 0.
type Statistics struct{ Ticks, Mean, Min, Max float64 }

// Statistics returns the statistics of a signal. With nonzero, they cover only the time in which the signal is not 0.
func (s Signal) Statistics(nonzero bool) Statistics {
	x := accumulator{nonzero: nonzero}
	for i := range s {
		x.add(float64(s[i].To-s[i].From), s[i].Start, s[i].End)
	}
	return x.statistics()
}

// accumulator computes the statistics of a signal from its pieces.
type accumulator struct {
	nonzero bool // only the time counts in which the signal is not 0
	sum     Statistics
	area    claims.Sum
}

// add adds a linear piece of a number of ticks.
func (x *accumulator) add(ticks, start, end float64) {
	if x.nonzero && start == 0 && end == 0 {
		return
	}
	if x.sum.Ticks == 0 {
		x.sum.Min, x.sum.Max = start, start
	}
	x.sum.Ticks += ticks
	x.area.AddArea(start/2+end/2, ticks)
	// Values are never NaN. Comparisons, which processors predict, are faster than the functions min and max.
	low, high := start, end
	if low > high {
		low, high = high, low
	}
	if low < x.sum.Min {
		x.sum.Min = low
	}
	if high > x.sum.Max {
		x.sum.Max = high
	}
}

// statistics returns the statistics of the pieces so far.
func (x *accumulator) statistics() Statistics {
	s := x.sum
	if s.Ticks > 0 {
		s.Mean = x.area.Mean(s.Ticks)
	}
	return s
}

// Stays is a collection of stays, for the signals of Little's law: the number of objects that are in the system
// (work in progress), their throughput per unit, and the quotient of both, the latency in units. An object that stays
// for a time d contributes 1/d to the throughput while it is there.
type Stays struct {
	unit float64 // in ticks
	// Both lists have all stays. In most traces each list is nearly in order when it is filled.
	byBegin, byEnd []stay
}

// stay is the interval during which an object is in the system, in ticks. It has a duration.
type stay struct{ from, to int64 }

// NewStays returns an empty collection with space for n stays. unit is in ticks.
func NewStays(n int, unit float64) *Stays {
	return &Stays{unit, make([]stay, 0, n), make([]stay, 0, n)}
}

// Add adds a stay. A stay without duration does not contribute to the signals.
func (s *Stays) Add(from, to int64) {
	if from < to {
		s.byBegin, s.byEnd = append(s.byBegin, stay{from, to}), append(s.byEnd, stay{from, to})
	}
}

// pieces calls piece for consecutive intervals from time first to time last, with the throughput and with the work in
// progress, both constant.
func (s *Stays) pieces(first, last int64, piece func(from, to int64, throughput, wip float64)) {
	SortNearby(s.byBegin, func(a, b *stay) int {
		if a.from != b.from {
			return cmp.Compare(a.from, b.from)
		}
		return cmp.Compare(b.to, a.to)
	})
	SortNearby(s.byEnd, func(a, b *stay) int {
		if a.to != b.to {
			return cmp.Compare(a.to, b.to)
		}
		return cmp.Compare(b.from, a.from)
	})
	at, begun := first, 0
	var throughput claims.Sum
	upTo := func(t int64, wip int) {
		if t > at {
			piece(at, t, throughput.Finite(1), float64(wip))
			at = t
		}
	}
	for ended := 0; ended < len(s.byEnd); {
		// Of a begin and an end at the same time, the end comes first.
		if begun < len(s.byBegin) && s.byBegin[begun].from < s.byEnd[ended].to {
			x := s.byBegin[begun]
			upTo(x.from, begun-ended)
			throughput.Add(s.unit / float64(x.to-x.from))
			begun++
			continue
		}
		x := s.byEnd[ended]
		upTo(x.to, begun-ended)
		throughput.Add(-s.unit / float64(x.to-x.from))
		// The throughput is exactly 0 while no object is there, in spite of rounding errors.
		if ended++; ended == begun {
			throughput = claims.Sum{}
		}
	}
	upTo(last, 0)
}

// Signals returns the signals from time first to time last. If window is positive, they are averages over the last
// window ticks, as [Signal.Window] computes them.
func (s *Stays) Signals(first, last, window int64, shorten bool) (wip, throughput, latency Signal) {
	most := 2*len(s.byEnd) + 1
	throughput, wip = make(Signal, 0, most), make(Signal, 0, most)
	s.pieces(first, last, func(from, to int64, rate, n float64) {
		throughput.Add(from, to, rate)
		wip.Add(from, to, n)
	})
	if window > 0 {
		throughput, wip = throughput.Window(window, shorten), wip.Window(window, shorten)
	}
	latency = make(Signal, len(wip))
	for i, p := range wip {
		start, end := quotients([2]float64{throughput[i].Start, p.Start}, [2]float64{throughput[i].End, p.End})
		latency[i] = Piece{p.From, p.To, start, end}
	}
	return wip, throughput, latency
}

// Statistics returns the statistics of the signals of [Stays.Signals] without averages. Those of the latency cover
// only the time in which it is not 0. The statistics need no memory for the signals.
func (s *Stays) Statistics(first, last int64) (wip, throughput, latency Statistics) {
	var w, t accumulator
	l := accumulator{nonzero: true}
	s.pieces(first, last, func(from, to int64, rate, n float64) {
		ticks, d := float64(to-from), quotient(n, rate)
		w.add(ticks, n, n)
		t.add(ticks, rate, rate)
		l.add(ticks, d, d)
	})
	return w.statistics(), t.statistics(), l.statistics()
}

// quotient returns a / b, or 0 if b is 0.
func quotient(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// quotients returns the quotients of two linear functions at the ends of a piece. start and end have the divisor and
// the dividend there. Where both are 0 at one end of the piece, the quotient is the same in the whole piece. The
// divisor may have a rounding error where the dividend is exactly 0.
func quotients(start, end [2]float64) (atStart, atEnd float64) {
	atStart, atEnd = quotient(start[1], start[0]), quotient(end[1], end[0])
	switch {
	case start[1] == 0:
		atStart = atEnd
	case end[1] == 0:
		atEnd = atStart
	}
	return atStart, atEnd
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
