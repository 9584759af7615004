package states

import "github.com/weft-trace/weft/trace"

// Columns is a window divided into columns of equal length.
type Columns struct {
	trace.Window
	Columns int
}

// clippedLength returns how many ticks of the time [a, b) lie in w, or b − a if w is nil.
func clippedLength(w *trace.Window, a, b int64) int64 { return max(0, w.Clip(b)-w.Clip(a)) }

// Series holds, for each column of a window, the mean share of the processors in each state, from 0 to
// 1. The three shares add up to 1. If there are gaps, they add up to less, and to 0 outside of the
// trace.
type Series struct {
	Busy     []float64 `json:"busy"`
	Overhead []float64 `json:"overhead"`
	Idle     []float64 `json:"idle"`
}

// Times adds up the times of processors in each state, by column of a window. To add an interval takes
// the same time for any number of columns.
type Times struct {
	w    Columns
	part [Gap + 1][]float64 // by state: ticks in columns that an interval covers partly
	// whole holds, by state, the number of intervals that cover a column completely, minus that of the
	// column before it.
	whole [Gap + 1][]float64
}

// NewTimes returns sums of 0 for a window.
func NewTimes(w Columns) *Times {
	b := &Times{w: w}
	for s := range b.part {
		b.part[s], b.whole[s] = make([]float64, w.Columns), make([]float64, w.Columns+1)
	}
	return b
}

// Add adds the interval [a, b), in ticks, in which a processor was in state s.
func (x *Times) Add(s State, a, b int64) { x.weigh(s, a, b, 1) }

// Remove subtracts the interval [a, b). It must have been added, alone or as a part of other intervals.
func (x *Times) Remove(s State, a, b int64) { x.weigh(s, a, b, -1) }

// weigh adds the interval [a, b) n times. n may be negative.
func (x *Times) weigh(s State, a, b int64, times float64) {
	a, b = max(a, x.w.From), min(b, x.w.To)
	if x.w.Columns == 0 || a >= b {
		return
	}
	// Subtract before converting to float64: above 2^53, neighbouring floats are more than one tick
	// apart. The difference of any two times fits a uint64.
	since := func(t int64) float64 { return float64(uint64(t) - uint64(x.w.From)) }
	scale := float64(x.w.Columns) / since(x.w.To)
	at := func(t int64) (int, float64) {
		f := since(t) * scale
		c := min(int(f), x.w.Columns-1)
		return c, f - float64(c)
	}
	first, from := at(a)
	last, to := at(b)
	if first == last {
		x.part[s][first] += times * (to - from)
		return
	}
	x.part[s][first] += times * (1 - from)
	x.part[s][last] += times * to
	x.whole[s][first+1] += times
	x.whole[s][last] -= times
}

// clone returns a copy that shares no memory with x.
func (x *Times) clone() *Times {
	y := NewTimes(x.w)
	y.Merge(x)
	return y
}

// Series returns the shares of the states, for a number of processors.
func (x *Times) Series(processors int) *Series {
	of := func(s State) []float64 {
		out, whole := make([]float64, x.w.Columns), 0.0
		for c := range out {
			whole += x.whole[s][c]
			out[c] = min(1, max(0, (whole+x.part[s][c])/float64(max(1, processors))))
		}
		return out
	}
	return &Series{of(Busy), of(Overhead), of(Idle)}
}

// Merge adds the times in o, which must be for the same window.
func (x *Times) Merge(o *Times) {
	for s := range x.part {
		for c, v := range o.part[s] {
			x.part[s][c] += v
		}
		for c, v := range o.whole[s] {
			x.whole[s][c] += v
		}
	}
}
