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

// Within returns the part of the wait in a window, in ticks.
func (w *Interval) Within(window *trace.Window) (ticks int64) {
	w.Each(func(begin, end int64) { ticks += window.Clip(end) - window.Clip(begin) })
	return ticks
}

// between returns the interval of a wait without tasks.
func between(begin, end int64) Interval { return Interval{begin, end - begin, nil} }
