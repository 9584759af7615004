package retime

import (
	"math"

	"github.com/weft-trace/weft/analysis/internal/history"
	"github.com/weft-trace/weft/analysis/internal/waitstate"
	"github.com/weft-trace/weft/internal/minheap"
)

// times holds the new times of the calls on which later calls depend, for some variants. If each new duration were
// rounded to a tick, a run of many short visits would be too long or too short by up to half a tick for each visit.
// Therefore times and durations are counted in parts of a tick: a tick has 2^fraction of them.
type times struct {
	fraction uint
	unit     float64 // parts of a tick in a tick
	h        *history.History
	variants int
	spans    [][]spanTimes // indexed by location and span
	position int64         // number of calls that have been computed
	now      int64         // end of the last call in ticks
	ended    int64         // number of computed calls that ended before the last one; their order is that of Span.LastUse
	kept     []keptSpan    // heap of computed spans on which later calls depend
	free     [][]int64     // memory of spans that are no longer needed
}

// spanTimes holds the new times of the calls of a span. For each call, it has the times of all
// variants.
type spanTimes struct {
	enters []int64
	// indexed by call and variant; nil unless later calls can depend on the end of a call of the span
	ends []int64
}

// newTimes returns times without calls.
func newTimes(h *history.History, variants int, fraction uint) *times {
	t := &times{fraction: fraction, unit: float64(int64(1) << fraction), h: h, variants: variants,
		spans: make([][]spanTimes, len(h.Locations))}
	for i, l := range h.Locations {
		if l != nil {
			t.spans[i] = make([]spanTimes, l.Spans())
		}
	}
	return t
}

// parts converts ticks to parts of a tick.
func (t *times) parts(ticks int64) int64 { return ticks << t.fraction }

// ticks converts parts of a tick to the nearest number of ticks.
func (t *times) ticks(parts int64) int64 { return (parts + 1<<t.fraction>>1) >> t.fraction }

// product returns the product of a number of ticks and a factor, in parts of a tick.
func (t *times) product(ticks int64, factor float64) int64 {
	return int64(math.Round(factor * float64(ticks) * t.unit))
}

// begin prepares the times of the next call.
func (t *times) begin(p waitstate.Place) {
	l := t.h.Locations[p.Location]
	if x := l.Call(p.Number).Leave; x != t.now {
		t.now, t.ended = x, t.position
	}
	t.position++
	i, _ := l.SpanOf(p.Number)
	x := &t.spans[p.Location][i]
	if x.enters == nil {
		x.enters = t.allocate(int(l.Span(i).Calls) * t.variants)
	}
	if x.ends == nil && canRelease(l.Call(p.Number)) {
		x.ends = t.allocate(int(l.Span(i).Calls) * t.variants)
	}
}

// allocate returns memory for n numbers. The numbers have arbitrary values.
func (t *times) allocate(n int) []int64 {
	if k := len(t.free) - 1; k >= 0 {
		x := t.free[k]
		t.free = t.free[:k]
		if cap(x) >= n {
			return x[:n]
		}
	}
	return make([]int64, n)
}

// end frees the times on which no call after p depends.
func (t *times) end(p waitstate.Place) {
	l := t.h.Locations[p.Location]
	i, first := l.SpanOf(p.Number)
	if s := l.Span(i); p.Number == first+s.Calls-1 {
		minheap.Push(&t.kept, keptSpan{s.LastUse, p.Location, i}, usedEarlier)
	}
	for len(t.kept) > 0 && t.kept[0].lastUse <= t.ended {
		s := minheap.Pop(&t.kept, usedEarlier)
		x := &t.spans[s.location][s.span]
		t.free = append(t.free, x.enters)
		if x.ends != nil {
			t.free = append(t.free, x.ends)
		}
		*x = spanTimes{}
	}
}

// keptSpan is a span whose times are needed until the call at position lastUse.
type keptSpan struct {
	lastUse  int64
	location uint32
	span     int
}

// usedEarlier orders spans by lastUse.
func usedEarlier(a, b *keptSpan) bool { return a.lastUse < b.lastUse }

// ofCall returns the times of a call in a list that is indexed by call and variant.
func (t *times) ofCall(list []int64, call int32) []int64 {
	return list[int(call)*t.variants:][:t.variants:t.variants]
}
