package transform

import (
	"context"
	"slices"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// span is the interval from the start of the first fragment of a signal to the end of the last fragment.
type span struct {
	from, to int64
	any      bool
}

// add extends the span by an interval.
func (s *span) add(from, to int64) {
	if !s.any {
		*s = span{from, to, true}
	}
	s.from, s.to = min(s.from, from), max(s.to, to)
}

// continues reports whether one span begins where the other ends. A span without fragments continues every
// other span.
func (s *span) continues(o *span) bool { return !s.any || !o.any || s.from == o.to || s.to == o.from }

// chainSignals determines which signals with the same id and name become one signal. Their fragments must
// continue each other, trace after trace, because the domain of a signal has no gaps and does not overlap.
func (mt *MergedTrace) chainSignals(ctx context.Context) error {
	type name struct{ id, name, unit string }
	signals := func(d *trace.Definitions, f func(i uint32, n name, m *trace.MetricDef)) {
		for i := range d.Metrics.Len() {
			if m := d.Metrics.At(uint32(i)); m.Kind == trace.SignalMetric {
				f(uint32(i), name{m.ID, m.Name, m.Unit}, m)
			}
		}
	}
	traces := map[name]int{} // number of traces with a signal of this id and name
	for _, p := range mt.list {
		signals(p.src, func(_ uint32, n name, _ *trace.MetricDef) { traces[n]++ })
	}
	chains := map[name][]span{}
	for _, p := range mt.list {
		shared := false
		signals(p.src, func(_ uint32, n name, _ *trace.MetricDef) { shared = shared || traces[n] > 1 })
		if !shared {
			continue
		}
		spans, err := p.signalSpans(ctx)
		if err != nil {
			return err
		}
		signals(p.src, func(i uint32, n name, m *trace.MetricDef) {
			if traces[n] < 2 {
				return
			}
			own := spans[i]
			at := slices.IndexFunc(chains[n], func(s span) bool { return s.continues(&own) })
			if at < 0 {
				if at = len(chains[n]); at > 0 {
					mt.unjoinedSignals++
				}
				chains[n] = append(chains[n], own)
			} else if own.any {
				chains[n][at].add(own.from, own.to)
			}
			if at > 0 {
				p.definer.variants[entryKey{metrics, i}], p.definer.variants[entryKey{locations, m.Location}] = at, at
			}
		})
	}
	return nil
}

// signalSpans returns the spans of all signals on the common clock, by index.
func (m *mergeInput) signalSpans(ctx context.Context) (map[uint32]span, error) {
	spans := map[uint32]span{}
	sel := trace.Events()
	sel.Kind = func(k trace.Kind) bool { return k == trace.Fragment }
	err := m.inner.Scan(ctx, sel, format.PerLocation, format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
		c := b.Cursor()
		for c.Next() {
			from, _, ok := m.onCommonClock(c.Time())
			to, _, fits := m.onCommonClock(int64(c.Op(0)))
			if s := spans[c.Ref()]; ok && fits {
				s.add(from, to)
				spans[c.Ref()] = s
			}
		}
		return nil
	}})
	return spans, err
}
