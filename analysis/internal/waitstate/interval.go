package waitstate

import (
	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/trace"
)

// Interval is the time of a wait: Length ticks from Begin on, without the times in Busy, in which the location executes
// tasks. Times are in ticks.
type Interval struct {
	Begin, Length int64
	Busy          []synclog.Span // in the order of time; may be longer than the wait
}

// Each calls f with each time in which the location waits.
func (w *Interval) Each(f func(begin, end int64)) {
	begin, rest := w.Begin, w.Length
	for _, s := range w.Busy {
		end := min(s.Begin, begin+rest)
		if end > begin {
			f(begin, end)
			rest -= end - begin
		}
		begin = max(begin, s.End)
		if rest <= 0 {
			return
		}
	}
	f(begin, begin+rest)
}

// End returns the end of the last time in which the location waits.
func (w *Interval) End() int64 {
	if len(w.Busy) == 0 {
		return w.Begin + w.Length
	}
	end := w.Begin
	w.Each(func(_, e int64) { end = e })
	return end
}

// Since divides the time from t to the end of the wait into the time in which the location waits and the time in which
// it executes tasks. A time before the begin of the wait stands for the begin.
func (w *Interval) Since(t int64) (waited, busy int64) {
	w.Each(func(begin, end int64) { waited += max(0, end-max(begin, t)) })
	return waited, max(0, w.End()-max(w.Begin, t)-waited)
}

// Within returns the part of the wait in a window, in ticks.
func (w *Interval) Within(window *trace.Window) (ticks int64) {
	w.Each(func(begin, end int64) { ticks += window.Clip(end) - window.Clip(begin) })
	return ticks
}

// between returns the interval of a wait without tasks.
func between(begin, end int64) Interval { return Interval{begin, end - begin, nil} }
