package trace

import "math"

// Window is the range of times [From, To) in ticks. math.MinInt64 and math.MaxInt64 leave a side
// open. A nil Window is the whole trace.
type Window struct{ From, To int64 }

// Has reports whether a time is in the window.
func (w *Window) Has(t int64) bool { return w == nil || w.From <= t && Before(t, w.To) }

// Before reports whether a time is before the end of a window. The end math.MaxInt64 leaves the window
// open, so that an event at that time is in it.
func Before(t, end int64) bool { return t < end || end == math.MaxInt64 }

// Clip moves a time outside of the window to the nearer border.
func (w *Window) Clip(t int64) int64 {
	if w == nil {
		return t
	}
	return min(max(t, w.From), w.To)
}

// Same reports whether two windows are equal.
func (w *Window) Same(o *Window) bool {
	return (w == nil) == (o == nil) && (w == nil || *w == *o)
}

// Add returns the time or length a + b, clamped to the range of int64.
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
