package states

import "github.com/weft-trace/weft/trace"

// Columns is a window divided into columns of equal length.
type Columns struct {
	trace.Window
	Columns int
}

// clippedLength returns the number of ticks of the time [a, b) that lie in w, or b − a if w is nil.
func clippedLength(w *trace.Window, a, b int64) int64 { return max(0, w.Clip(b)-w.Clip(a)) }

// Series holds, for each column of a window, the mean share of the processors in each state, from 0 to
// 1. The three shares add up to 1. If there are gaps, they add up to less, and to 0 outside of the
// trace.
type Series struct {
	Busy     []float64 `json:"busy"`
	Overhead []float64 `json:"overhead"`
	Idle     []float64 `json:"idle"`
}

// Times adds up the times of processors in each state, by column of a window. Adding an interval takes the
// same time for any number of columns.
type Times struct {
	w    Columns
	part [Gap + 1][]float64 // indexed by state: ticks in columns that an interval covers partly
	// whole holds, for each state and column, the number of intervals that cover the column completely, minus
	// the same number for the column before it.
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
func (ts *Times) Add(s State, a, b int64) { ts.addWeighted(s, a, b, 1) }

// Remove subtracts the interval [a, b). The interval must have been added before, alone or as a part of other
// intervals.
func (ts *Times) Remove(s State, a, b int64) { ts.addWeighted(s, a, b, -1) }

// addWeighted adds the interval [a, b), weighted by times. The weight may be negative.
func (ts *Times) addWeighted(s State, a, b int64, times float64) {
	a, b = max(a, ts.w.From), min(b, ts.w.To)
	if ts.w.Columns == 0 || a >= b {
		return
	}
	// Subtract before the conversion to float64, because above 2^53, neighbouring floats are more than one
	// tick apart. The difference of any two times fits a uint64.
	since := func(t int64) float64 { return float64(uint64(t) - uint64(ts.w.From)) }
	scale := float64(ts.w.Columns) / since(ts.w.To)
	at := func(t int64) (int, float64) {
		f := since(t) * scale
		c := min(int(f), ts.w.Columns-1)
		return c, f - float64(c)
	}
	first, from := at(a)
	last, to := at(b)
	if first == last {
		ts.part[s][first] += times * (to - from)
		return
	}
	ts.part[s][first] += times * (1 - from)
	ts.part[s][last] += times * to
	ts.whole[s][first+1] += times
	ts.whole[s][last] -= times
}

// clone returns a copy that shares no memory with ts.
func (ts *Times) clone() *Times {
	y := NewTimes(ts.w)
	y.Merge(ts)
	return y
}

// Series returns the shares of the states. processors is the number of processors.
func (ts *Times) Series(processors int) *Series {
	shares := func(s State) []float64 {
		out, whole := make([]float64, ts.w.Columns), 0.0
		for c := range out {
			whole += ts.whole[s][c]
			out[c] = min(1, max(0, (whole+ts.part[s][c])/float64(max(1, processors))))
		}
		return out
	}
	return &Series{shares(Busy), shares(Overhead), shares(Idle)}
}

// Merge adds the times in o, which must be for the same window.
func (ts *Times) Merge(o *Times) {
	for s := range ts.part {
		for c, v := range o.part[s] {
			ts.part[s][c] += v
		}
		for c, v := range o.whole[s] {
			ts.whole[s][c] += v
		}
	}
}
