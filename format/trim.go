package format

import (
	"context"
	"math"

	"github.com/weft-trace/weft/trace"
)

// Trim wraps a sink so that it gets exactly the events and links that sel
// selects: decoders may deliver more than they were asked for.
func Trim(d *trace.Definitions, sel trace.Selection, sink Sink) Sink {
	if sel.All() && sel.Links {
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

// Links hands on the links that are selected.
func (t *trimmer) Links(l []trace.Link) error {
	if !t.sel.Links {
		return nil
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

// Scan scans d and delivers exactly what sel selects.
func Scan(ctx context.Context, d Decoder, sel trace.Selection, sink func(worker int) Sink) error {
	return d.Scan(ctx, sel, func(w int) Sink { return Trim(d.Defs(), sel, sink(w)) })
}

// ScanAnew is Scan for callers that can begin anew, which some decoders deliver to
// at half the cost: fresh makes the sinks, and may be called a second time, upon
// which all that the first ones got is void.
func ScanAnew(ctx context.Context, d Decoder, sel trace.Selection, fresh func() func(worker int) Sink) error {
	if t, ok := d.(Trier); ok {
		sink := fresh()
		ok, err := t.Try(ctx, sel, func(w int) Sink { return Trim(d.Defs(), sel, sink(w)) })
		if ok || err != nil {
			return err
		}
	}
	return Scan(ctx, d, sel, fresh())
}

// ScanWindow is ScanAnew for callers that follow what is open and want to know it in
// the window of sel: it delivers the events of the window and behind, and either all
// before it or, from a [Resumer], the enters that tell what is open. Kinds and regions
// of sel are not looked at.
func ScanWindow(ctx context.Context, d Decoder, sel trace.Selection, fresh func() func(worker int) Sink) error {
	all := trace.Everything()
	all.Location, all.Links = sel.Location, sel.Links
	if r, ok := d.(Resumer); ok && sel.From > math.MinInt64 {
		sink := fresh()
		ok, err := r.Resume(ctx, sel, func(w int) Sink { return Trim(d.Defs(), all, sink(w)) })
		if ok || err != nil {
			return err
		}
	}
	return ScanAnew(ctx, d, all, fresh)
}

// ScanOrdered scans d in global time order and delivers exactly what sel
// selects.
func ScanOrdered(ctx context.Context, d Decoder, sel trace.Selection, sink Sink) error {
	return d.ScanOrdered(ctx, sel, Trim(d.Defs(), sel, sink))
}

// SinkFuncs makes a sink of functions; nil ones ignore what they get.
type SinkFuncs struct {
	OnBatch func(b *trace.Batch) error
	OnLinks func(l []trace.Link) error
}

// Batch calls OnBatch.
func (s SinkFuncs) Batch(b *trace.Batch) error {
	if s.OnBatch == nil {
		return nil
	}
	return s.OnBatch(b)
}

// Links calls OnLinks.
func (s SinkFuncs) Links(l []trace.Link) error {
	if s.OnLinks == nil {
		return nil
	}
	return s.OnLinks(l)
}
