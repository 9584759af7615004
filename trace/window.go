package trace

// Window is the times from From to before To, in ticks. math.MinInt64 and math.MaxInt64 leave a
// side open. A nil Window is all of a trace.
type Window struct{ From, To int64 }

// Has reports whether a time is in the window.
func (w *Window) Has(t int64) bool { return w == nil || w.From <= t && t < w.To }

// Clip moves a time that is outside of the window to its nearer border.
func (w *Window) Clip(t int64) int64 {
	if w == nil {
		return t
	}
	return min(max(t, w.From), w.To)
}

// Same reports whether two windows are the same times.
func (w *Window) Same(o *Window) bool {
	return (w == nil) == (o == nil) && (w == nil || *w == *o)
}
