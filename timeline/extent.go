package timeline

import (
	"context"
	"math"
	"sync"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// Extent is the time that a trace covers, in ticks.
type Extent struct {
	First, Last int64 // of the first event, and the last time that any event names
	Events      int64
}

// Measure reads the trace once and returns its extent; it is zero for a trace
// without events. Errors are those of the decoder.
func Measure(ctx context.Context, dec format.Events) (Extent, error) {
	m := newMeter()
	sel := trace.Everything()
	sel.Links = trace.NoLinks
	err := dec.Scan(ctx, sel, format.PerLocation, format.SinkFuncs{OnBatch: m.add})
	return m.extent(), err
}

// meter notes the extent of the batches that pass, from any goroutine.
type meter struct {
	mu sync.Mutex
	e  Extent
}

func newMeter() *meter { return &meter{e: Extent{First: math.MaxInt64, Last: math.MinInt64}} }

func (m *meter) extent() Extent {
	if m.e.Events == 0 {
		return Extent{}
	}
	return m.e
}

func (m *meter) add(b *trace.Batch) error {
	n := b.Len()
	if n == 0 {
		return nil
	}
	first, last := b.Time[0], b.Time[n-1]
	if len(b.OpRow) > 0 {
		for c := b.Cursor(); c.Next(); {
			if end, ok := endOf(&c); ok {
				last = max(last, end)
			}
		}
	}
	m.mu.Lock()
	m.e.First, m.e.Last = min(m.e.First, first), max(m.e.Last, last)
	m.e.Events += int64(n)
	m.mu.Unlock()
	return nil
}

// endOf is the end of an event that reaches to a later time by itself.
func endOf(c *trace.Cursor) (int64, bool) {
	switch c.Kind() {
	case trace.Fragment, trace.SampleRange, trace.Gap, trace.BufferFlush:
		if op := c.Op(0); op != trace.Undefined {
			return max(c.Time(), int64(op)), true
		}
	}
	return 0, false
}
