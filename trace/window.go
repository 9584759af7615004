package trace

import "math"

// Window is the interval [From, To) of times in ticks. If From is math.MinInt64 or To is math.MaxInt64,
// the window is not limited on that side. A nil *Window is the whole trace.
type Window struct{ From, To int64 }

// Has reports whether the time t is in the window.
func (w *Window) Has(t int64) bool { return w == nil || w.From <= t && Before(t, w.To) }

// Overlaps reports whether a time is in both windows.
func (w *Window) Overlaps(o Window) bool {
	return w == nil || Before(w.From, o.To) && Before(o.From, w.To)
}

// Before reports whether the time t is before the end of a window. It always is if the end is
// math.MaxInt64, because such a window is not limited.
func Before(t, end int64) bool { return t < end || end == math.MaxInt64 }

// Clip returns t, or the nearer end of the window if t is outside of it.
func (w *Window) Clip(t int64) int64 {
	if w == nil {
		return t
	}
	return min(max(t, w.From), w.To)
}

// Equal reports whether two windows are equal. Both may be nil.
func (w *Window) Equal(o *Window) bool {
	return (w == nil) == (o == nil) && (w == nil || *w == *o)
}

// Add returns a + b, clamped to the range of int64. a and b are times or durations in ticks.
func Add(a, b int64) int64 {
	c := a + b
	switch {
	case a > 0 && b > 0 && c < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && c >= 0:
		return math.MinInt64
	}
	return c
}
