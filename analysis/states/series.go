package states

import "github.com/weft-trace/weft/trace"

// Columns asks for the states in a window, in so many columns of equal length.
type Columns struct {
	trace.Window
	Columns int
}

// part is how much of the time from a to b, which is not before it, is in a window; all of
// it in none.
func part(w *trace.Window, a, b int64) int64 { return max(0, w.Clip(b)-w.Clip(a)) }

// Series is which part of the processors was in each state, from 0 to 1, in each column
// of a window. The three add up to 1, to less where there are gaps, and to 0 where the window is outside of the trace.
type Series struct {
	Busy     []float64 `json:"busy"`
	Overhead []float64 `json:"overhead"`
	Idle     []float64 `json:"idle"`
}

// Times adds up the times of processors by column. A time that covers columns as a whole costs as
// much as one inside of a column.
type Times struct {
	w     Columns
	part  [Gap + 1][]float64 // of columns that are covered in part
	whole [Gap + 1][]float64 // how many more than in the column before cover it wholly
}

// NewTimes makes empty ones for a window.
func NewTimes(w Columns) *Times {
	b := &Times{w: w}
	for s := range b.part {
		b.part[s], b.whole[s] = make([]float64, w.Columns), make([]float64, w.Columns+1)
	}
	return b
}

// Add adds the time from a to before b, in which a processor was in a state.
func (x *Times) Add(s State, a, b int64) { x.weigh(s, a, b, 1) }

// Remove takes away a time that was added, alone or as a part of others.
func (x *Times) Remove(s State, a, b int64) { x.weigh(s, a, b, -1) }

// weigh adds that time so many times.
func (x *Times) weigh(s State, a, b int64, times float64) {
	a, b = max(a, x.w.From), min(b, x.w.To)
	if x.w.Columns == 0 || a >= b {
		return
	}
	// Differences first: times may be beyond 2^53, where floating point numbers are far apart.
	// As a number without sign a difference of any two fits.
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

// clone is a copy that can go on by itself.
func (x *Times) clone() *Times {
	y := NewTimes(x.w)
	y.Merge(x)
	return y
}

// Series is the average over so many processors.
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

// Merge adds the times of another one, for the same window.
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
