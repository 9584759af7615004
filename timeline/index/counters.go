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

// Holding says for which time a value of a counter stands.
type Holding string

// The ways in which values stand for times.
const (
	HoldsOn   Holding = "next"  // from its time to that of the next one, or the end of the track
	HeldSince Holding = "last"  // from the time of the one before to its own
	AtPoint   Holding = "point" // for its own time alone
	AlongPath Holding = "path"  // a signal: for the time of its piece, along which it changes
)

// Holding is how long the values of a counter, series or signal stand, as its mode and its
// style say. One whose mode says nothing holds on.
func (t *Track) Holding() Holding {
	switch mode := strings.ToUpper(t.Sort); {
	case t.Style == styleName(curve.Smooth):
		return AlongPath
	case t.Style == styleName(curve.Points), strings.Contains(mode, "POINT"):
		return AtPoint
	case strings.Contains(mode, "LAST"):
		return HeldSince
	}
	return HoldsOn
}

// Accumulates reports whether the values of a counter only grow, as those of a counter of
// cycles: what it grows by tells more than the values do.
func (t *Track) Accumulates() bool {
	return t.Kind == CounterTrack && strings.HasPrefix(strings.ToUpper(t.Sort), "ACC")
}

// Values is what the values of a counter, series or signal come to in a window.
type Values struct {
	// Samples is how many values are in the window, of a signal how many pieces have a part
	// in it. No other field but Any has a meaning if Any is not set.
	Samples int64
	// Any is set if a value stands for a part of the window, or is in it. First and Last are
	// the first and the last of these, Min and Max the extremes; so the value that holds on
	// at the begin of the window is one of them.
	Any                    bool
	First, Last, Min, Max  float64
	FirstTime, LastTime    int64 // times of First and Last: of a value that holds on, when it began to
	covered, area, samples float64
	holding                Holding
}

// Mean is the mean over the time for which values stand in the window, or where they stand
// for no time that of the values in it; ok is false if there is none.
func (v *Values) Mean() (mean float64, ok bool) {
	switch {
	case v.holding == AtPoint && v.Samples > 0:
		return v.samples / float64(v.Samples), true
	case v.covered > 0:
		return v.area / v.covered, true
	}
	return 0, false
}

// take notes that a value goes from first to last between low and high.
func (v *Values) take(at, end int64, first, last, low, high float64) {
	if !v.Any {
		v.Any, v.First, v.FirstTime, v.Min, v.Max = true, first, at, low, high
	}
	v.Last, v.LastTime, v.Min, v.Max = last, end, min(v.Min, low), max(v.Max, high)
}

// hold notes a value that is at a time and stands from another to before a third.
func (v *Values) hold(at, begin, end int64, value float64, from, to int64) {
	inside := from <= at && at < to
	if inside {
		v.Samples++
		v.samples += value
	}
	n := float64(uint64(min(end, to)) - uint64(max(begin, from)))
	if max(begin, from) >= min(end, to) {
		n = 0
	}
	if inside || n > 0 {
		v.take(at, at, value, value, value, value)
		v.covered += n
		v.area += n * value
	}
}

// along notes a piece of a signal; unit is the ticks that its polynomial counts in.
func (v *Values) along(x *piece, unit float64, from, to int64) {
	begin, end := max(x.time, from), min(x.end, to)
	if begin >= end && (x.time != x.end || x.time < from || x.time >= to) {
		return
	}
	v.Samples++
	u0, u1 := float64(uint64(begin)-uint64(x.time))/unit, float64(uint64(end)-uint64(x.time))/unit
	f := trace.Polynomial{C: x.a, B: x.b, A: x.c}
	low, high := f.Between(u0, u1)
	v.take(begin, end, f.At(u0), f.At(u1), low, high)
	n := float64(uint64(end) - uint64(begin))
	// The mean of a + b·u + c·u² from u0 to u1.
	v.covered += n
	v.area += n * (x.a + x.b*(u0+u1)/2 + x.c*(u0*u0+u0*u1+u1*u1)/3)
}

// Values sums up the values of a counter, series or signal from a time to before another. It
// reads all of them that are there: the figures are exact, but that whole numbers beyond 2^53
// are kept as floating-point numbers.
func (x *Index) Values(ctx context.Context, track int, from, to int64) (*Values, error) {
	e, err := x.track(track, from, to)
	if err != nil {
		return nil, fmt.Errorf("values: %w", err)
	}
	v := &Values{holding: e.Holding()}
	var list []piece
	var last *piece // the value that holds on
	var held piece
	r := reader{f: x.data}
	// What stands at the begin is one before it.
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
			switch v.holding {
			case AlongPath:
				v.along(p, e.MetricUnit, from, to)
			case AtPoint:
				v.hold(p.time, p.time, p.time, p.a, from, to)
			case HeldSince:
				begin := p.time
				if last != nil {
					begin = last.time
				}
				v.hold(p.time, begin, p.time, p.a, from, to)
			default:
				if last != nil {
					v.hold(last.time, last.time, p.time, last.a, from, to)
				}
			}
			held, last = *p, &held
			// One behind the window stands for its end, if values stand for what was before.
			if done = p.time >= to; done {
				break
			}
		}
	}
	if last != nil && v.holding == HoldsOn {
		v.hold(last.time, last.time, max(e.Last, last.time), last.a, from, to)
	}
	if math.IsInf(v.area, 0) || math.IsNaN(v.area) {
		v.covered = 0 // too large to be summed up
	}
	return v, nil
}
