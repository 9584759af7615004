package transform

import (
	"context"
	"errors"
	"sync"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// stage changes the events of one scan as they pass through it.
type stage interface {
	// processBatch processes events, and delivers the result to out.
	processBatch(b *trace.Batch, out format.Sink) error
	// flush delivers the remaining events, after the last batch.
	flush(ctx context.Context, out format.Sink) error
	// links changes links, which come after all events. The result can reuse the memory of l.
	links(l []trace.Link) []trace.Link
}

// transform is the part of a transform that all of its scans share.
type transform interface {
	// Defs returns the definitions of the changed trace.
	Defs() *trace.Definitions
	// Prepare prepares the original trace, and collects the data that the transform needs before a
	// scan.
	Prepare(ctx context.Context) error
	// events returns the events of the original trace.
	events() format.Events
	// begin begins a scan. It returns the stage through which the events pass, and the selection to
	// read from the original trace. sink is the final destination of the events.
	begin(sel trace.Selection, order format.Order, sink format.Sink) (stage, trace.Selection, error)
}

// transformed implements [format.Events] for a trace after a transform.
type transformed struct{ transform }

// Scan delivers the events after the transform.
func (tr transformed) Scan(ctx context.Context, sel trace.Selection, order format.Order, sink format.Sink) error {
	if err := tr.Prepare(ctx); err != nil {
		return err
	}
	sel, sink = format.ExactScan(tr.Defs(), sel, sink)
	s, inner, err := tr.begin(sel, order, sink)
	if err != nil {
		return err
	}
	return scanThrough(ctx, s, sink, func(p format.Sink) error { return tr.events().Scan(ctx, inner, order, p) })
}

// ScanParallel delivers the events after the transform. If the transform is a [localTransform] and no links
// are selected, it uses several goroutines. Otherwise it uses one goroutine.
func (tr transformed) ScanParallel(ctx context.Context, sel trace.Selection, begin func() func(int) format.Sink) error {
	t, ok := tr.transform.(localTransform)
	if !ok || sel.Links != trace.NoLinks {
		return format.ScanInOne(ctx, tr, sel, begin)
	}
	if err := t.prepareLocal(ctx); err != nil {
		return err
	}
	asked, _ := format.ExactScan(tr.Defs(), sel, nil)
	stages, inner := t.beginLocal(asked)
	if stages == nil {
		return format.ScanInOne(ctx, tr, sel, begin)
	}
	return scanEach(ctx, tr.events(), inner, func() func(int) (stage, format.Sink) {
		sinks := begin()
		stages, _ := t.beginLocal(asked)
		return func(w int) (stage, format.Sink) { return stages(), format.Trim(tr.Defs(), sel, sinks(w)) }
	})
}

// localTransform is implemented by transforms whose stages treat each location independently of the others if
// no links are selected. Several goroutines can then work on different locations, each with a stage of its
// own.
type localTransform interface {
	// beginLocal begins a scan in several goroutines. It returns a function that returns a new stage, and the
	// selection to read from the original trace. The function is nil if the stage for this trace must process
	// all locations.
	beginLocal(sel trace.Selection) (func() stage, trace.Selection)
	// prepareLocal collects the data that the transform itself needs before a scan. It need not prepare
	// the original trace.
	prepareLocal(ctx context.Context) error
}

// scanEach scans events in several goroutines. Each goroutine passes its events through a stage of its own to
// a sink of its own.
func scanEach(ctx context.Context, d format.Events, sel trace.Selection,
	begin func() func(int) (stage, format.Sink)) error {
	var mu sync.Mutex
	var workers []*stageSink
	err := d.ScanParallel(ctx, sel, func() func(int) format.Sink {
		workers = nil
		next := begin()
		return func(w int) format.Sink {
			p := &stageSink{ctx: ctx}
			p.stage, p.sink = next(w)
			mu.Lock()
			defer mu.Unlock()
			workers = append(workers, p)
			return p
		}
	})
	for _, p := range workers {
		if err == nil {
			err = p.flush()
		}
	}
	return err
}

// everything returns a selection of all events at the locations of sel. It selects all links if sel selects
// any links.
func everything(sel trace.Selection) trace.Selection {
	all := trace.Everything()
	all.Location = sel.Location
	if all.Links = trace.AllLinks; sel.Links == trace.NoLinks {
		all.Links = trace.NoLinks
	}
	return all
}

// errScanDone ends a scan from which no more events are needed.
var errScanDone = errors.New("the scan needs no more events")

// eachRow calls f for the rows of a scan until f returns false.
func eachRow(ctx context.Context, d format.Events, sel trace.Selection, order format.Order,
	f func(x *trace.Cursor) (more bool)) error {
	err := d.Scan(ctx, sel, order, format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
		x := b.Cursor()
		for x.Next() {
			if !f(&x) {
				return errScanDone
			}
		}
		return nil
	}})
	if errors.Is(err, errScanDone) {
		return nil
	}
	return err
}

// scanThrough calls scan with a sink that passes events and links through a stage to sink.
func scanThrough(ctx context.Context, s stage, sink format.Sink, scan func(format.Sink) error) error {
	p := &stageSink{ctx: ctx, stage: s, sink: sink}
	if err := scan(p); err != nil {
		return err
	}
	return p.flush()
}

// sameDefinitions is embedded by transforms that do not change the definitions.
type sameDefinitions struct{ inner format.Events }

// interleaved returns the definitions of d for a transform that can deliver events of a location after those of the
// next location.
func interleaved(d format.Events) sameDefinitions {
	d.Defs().Contiguous = false
	return sameDefinitions{d}
}

// Defs returns the definitions of the trace.
func (s *sameDefinitions) Defs() *trace.Definitions { return s.inner.Defs() }

// events returns the events of the original trace.
func (s *sameDefinitions) events() format.Events { return s.inner }

// Prepare prepares the trace.
func (s *sameDefinitions) Prepare(ctx context.Context) error { return s.inner.Prepare(ctx) }

// prepareLocal does nothing.
func (s *sameDefinitions) prepareLocal(context.Context) error { return nil }

// passThrough is embedded by stages that hold back no events.
type passThrough struct{}

func (passThrough) flush(context.Context, format.Sink) error { return nil }

// stageSink is a sink that passes everything through a stage.
type stageSink struct {
	ctx     context.Context
	stage   stage
	sink    format.Sink
	flushed bool
}

// Batch passes a batch through the stage.
func (s *stageSink) Batch(b *trace.Batch) error { return s.stage.processBatch(b, s.sink) }

// Links passes links through the stage.
func (s *stageSink) Links(l []trace.Link) error {
	if err := s.flush(); err != nil {
		return err
	}
	if l = s.stage.links(l); len(l) == 0 {
		return nil
	}
	return s.sink.Links(l)
}

// flush flushes the stage. Further calls have no effect.
func (s *stageSink) flush() error {
	if s.flushed {
		return nil
	}
	s.flushed = true
	return s.stage.flush(s.ctx, s.sink)
}

// rowCollector collects rows into full batches.
type rowCollector struct {
	out  trace.Batch
	sink format.Sink
}

// addRow adds the current row of a cursor of batch b.
func (c *rowCollector) addRow(x *trace.Cursor, b *trace.Batch) error {
	if c.out.Loc != b.Loc || c.out.Len() >= trace.BatchRows || (len(c.out.Pos) > 0) != (len(b.Pos) > 0) ||
		(len(c.out.Order) > 0) != (len(b.Order) > 0) {
		if err := c.flush(); err != nil {
			return err
		}
		c.out.Reset(b.Loc)
	}
	c.out.AppendRow(x)
	return nil
}

// flush delivers the rows that the collector has not delivered yet.
func (c *rowCollector) flush() error {
	if c.out.Len() == 0 {
		return nil
	}
	err := c.sink.Batch(&c.out)
	c.out.Reset(c.out.Loc)
	return err
}
