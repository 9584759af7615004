package index

import (
	"context"
	"fmt"
	"math"
	"sort"
	"strings"

	"github.com/weft-trace/weft/timeline/curve"
	"github.com/weft-trace/weft/trace"
)

// ValuePeriod is the period in which a value of a counter, series or signal applies.
type ValuePeriod string

// The values of ValuePeriod.
const (
	// from the value's own time to the time of the next value, or to the end of the track
	UntilNext     ValuePeriod = "next"
	SincePrevious ValuePeriod = "last"  // from the time of the previous value to the value's own time
	AtPoint       ValuePeriod = "point" // only at the value's own time
	AlongPath     ValuePeriod = "path"  // for a signal: during the piece of the curve, along which the value changes
)

// ValuePeriod returns the period in which the values of a counter, series or signal apply, according to
// its mode and style. The default is UntilNext.
func (t *Track) ValuePeriod() ValuePeriod {
	switch mode := strings.ToUpper(t.Sort); {
	case t.Style == styleName(curve.Smooth):
		return AlongPath
	case t.Style == styleName(curve.Points), strings.Contains(mode, "POINT"):
		return AtPoint
	case strings.Contains(mode, "LAST"):
		return SincePrevious
	}
	return UntilNext
}

// Accumulates reports whether the values of a counter are totals since its start, which never decrease, such
// as a number of cycles so far. The growth of such a counter is more useful than its values.
func (t *Track) Accumulates() bool {
	return t.Kind == CounterTrack && trace.Accumulates(t.Sort)
}

// Values holds the statistics of a counter, series or signal in a window.
type Values struct {
	// Samples is the number of values in the window. For a signal, it is the number of pieces that overlap the
	// window. If Any is not set, the other fields have no meaning.
	Samples int64
	// Any is set if a value lies in the window or applies to a part of it. First and Last are the
	// first and last of these values, and Min and Max the extremes. They include the value that
	// applies at the begin of the window.
	Any                   bool
	First, Last, Min, Max float64
	// times of First and Last; if a value applies to a period, the begin of the period
	FirstTime, LastTime    int64
	covered, area, samples float64
	period                 ValuePeriod
}

// Mean returns the mean of the values, weighted by the time for which each applies in the window.
// If values apply to single points, all have the same weight. ok is false if no value applies in
// the window.
func (v *Values) Mean() (mean float64, ok bool) {
	switch {
	case v.period == AtPoint && v.Samples > 0:
		return v.samples / float64(v.Samples), true
	case v.covered > 0:
		return v.area / v.covered, true
	}
	return 0, false
}

// addRange adds a piece of the curve. It goes from the value first at time at to the value last at time
// end. low and high are its extremes.
func (v *Values) addRange(at, end int64, first, last, low, high float64) {
	if !v.Any {
		v.Any, v.First, v.FirstTime, v.Min, v.Max = true, first, at, low, high
	}
	v.Last, v.LastTime, v.Min, v.Max = last, end, min(v.Min, low), max(v.Max, high)
}

// addValue adds a value to the statistics of the window [from, to). The value was recorded at time at,
// and applies from begin to end.
func (v *Values) addValue(at, begin, end int64, value float64, from, to int64) {
	inside := from <= at && trace.Before(at, to)
	if inside {
		v.Samples++
		v.samples += value
	}
	n := float64(uint64(min(end, to)) - uint64(max(begin, from)))
	if max(begin, from) >= min(end, to) {
		n = 0
	}
	if inside || n > 0 {
		v.addRange(at, at, value, value, value, value)
		v.covered += n
		v.area += n * value
	}
}

// addPiece adds a piece of a signal, for the window [from, to). unit is the number of ticks in a
// unit of its polynomial.
func (v *Values) addPiece(x *piece, unit float64, from, to int64) {
	begin, end := max(x.time, from), min(x.end, to)
	if begin >= end && (x.time != x.end || x.time < from || !trace.Before(x.time, to)) {
		return
	}
	v.Samples++
	u0, u1 := float64(uint64(begin)-uint64(x.time))/unit, float64(uint64(end)-uint64(x.time))/unit
	f := trace.Polynomial{C: x.a, B: x.b, A: x.c}
	low, high := f.Between(u0, u1)
	v.addRange(begin, end, f.At(u0), f.At(u1), low, high)
	n := float64(uint64(end) - uint64(begin))
	// The integral of a + b·u + c·u² from u0 to u1, divided by its length, is the mean of the
	// piece.
	v.covered += n
	v.area += n * (x.a + x.b*(u0+u1)/2 + x.c*(u0*u0+u0*u1+u1*u1)/3)
}

// Values returns the statistics of a counter, series or signal for the times [from, to). It reads
// all values in the window. The results are exact, except that integers above 2^53 are stored as
// floating-point numbers.
func (ix *Index) Values(ctx context.Context, track int, from, to int64) (*Values, error) {
	e, err := ix.track(track, from, to)
	if err != nil {
		return nil, fmt.Errorf("values: %w", err)
	}
	v := &Values{period: e.ValuePeriod()}
	var list []piece
	var last *piece // the previous piece; nil before the first one
	var held piece
	r := reader{f: ix.data}
	// The value that applies at the begin of the window may have been recorded before it.
	i := max(0, sort.Search(len(e.values), func(i int) bool { return e.values[i].last >= from })-1)
	for done := false; i < len(e.values) && !done; i++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := read(&r, &e.values[i], &list, e.decodeValues); err != nil {
			return nil, err
		}
		for k := range list {
			p := &list[k]
			switch v.period {
			case AlongPath:
				v.addPiece(p, e.MetricUnit, from, to)
			case AtPoint:
				v.addValue(p.time, p.time, p.time, p.a, from, to)
			case SincePrevious:
				begin := p.time
				if last != nil {
					begin = last.time
				}
				v.addValue(p.time, begin, p.time, p.a, from, to)
			default:
				if last != nil {
					v.addValue(last.time, last.time, p.time, last.a, from, to)
				}
			}
			held, last = *p, &held
			// A counter with SincePrevious has values that apply before their time. Therefore the first value
			// after the window may apply in the window. It is the last value that is needed.
			if done = !trace.Before(p.time, to); done {
				break
			}
		}
	}
	if last != nil && v.period == UntilNext {
		v.addValue(last.time, last.time, max(e.Last, last.time), last.a, from, to)
	}
	if math.IsInf(v.area, 0) || math.IsNaN(v.area) {
		v.covered = 0 // the window is too long to compute covered
	}
	return v, nil
}
