package format

import (
	"math"

	"github.com/weft-trace/weft/trace"
)

// Trim wraps a sink so that it gets exactly the events and links that sel
// selects, whatever is delivered.
func Trim(d *trace.Definitions, sel trace.Selection, sink Sink) Sink {
	if sel.Stacks {
		sel.From = math.MinInt64
	}
	if sel.All() && sel.Links != trace.NoLinks {
		return sink
	}
	return &trimmer{defs: d, sel: sel, sink: sink}
}

type trimmer struct {
	defs *trace.Definitions
	sel  trace.Selection
	sink Sink
	out  trace.Batch
}

// Batch hands on what is selected.
func (t *trimmer) Batch(b *trace.Batch) error {
	if t.sel.All() {
		return t.sink.Batch(b)
	}
	if t.sel.NoEvents {
		return nil
	}
	all := true
	for i := range b.Time {
		if !t.sel.Wants(t.defs, b.Location(i), b.Time[i], b.Kind[i], b.Ref[i]) {
			all = false
			break
		}
	}
	if all {
		return t.sink.Batch(b)
	}
	t.out.Reset(b.Loc)
	c := b.Cursor() // outside the loop, which would copy it each time
	for c.Next() {
		if t.sel.Wants(t.defs, c.Location(), c.Time(), c.Kind(), c.Ref()) {
			t.out.AppendRow(&c)
		}
	}
	if t.out.Len() == 0 {
		return nil
	}
	return t.sink.Batch(&t.out)
}

// End hands on that a location has ended.
func (t *trimmer) End(location uint32) error { return End(t.sink, location) }

// Links hands on the links that are selected.
func (t *trimmer) Links(l []trace.Link) error {
	switch t.sel.Links {
	case trace.NoLinks:
		return nil
	case trace.AllLinks:
		return t.sink.Links(l)
	}
	var keep []trace.Link
	for _, x := range l {
		if t.wantsEnd(x.Src) || t.wantsEnd(x.Dst) {
			keep = append(keep, x)
		}
	}
	if len(keep) == 0 {
		return nil
	}
	return t.sink.Links(keep)
}

// wantsEnd looks at time and location only: the ends of links are not events.
func (t *trimmer) wantsEnd(e trace.End) bool {
	if e.Location == trace.NoRef {
		return t.sel.Location == nil
	}
	return e.Time >= t.sel.From && (e.Time < t.sel.To || t.sel.To == math.MaxInt64) && (t.sel.Location == nil || t.sel.Location(e.Location))
}

// Exactly prepares a scan of a format that may deliver more than is asked for: what it gets
// back are the selection that it must read at least, and a sink that takes exactly what was
// asked for from that.
func Exactly(d *trace.Definitions, sel trace.Selection, sink Sink) (trace.Selection, Sink) {
	sink = Trim(d, sel, sink)
	if sel.Stacks {
		sel.From, sel.Stacks = math.MinInt64, false
	}
	return sel, sink
}
