package transform

import (
	"context"
	"errors"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// stage changes the events of one scan.
type stage interface {
	// batch processes events, and delivers the result to out.
	batch(b *trace.Batch, out format.Sink) error
	// flush delivers what is held back or comes last, after all events.
	flush(ctx context.Context, out format.Sink) error
	// links changes links, which come after all events. It may reuse the list.
	links(l []trace.Link) []trace.Link
}

// transform is the part of a transform that does not depend on the scan.
type transform interface {
	// Defs returns the definitions of the changed trace.
	Defs() *trace.Definitions
	// Prepare prepares the trace, and collects what must be known beforehand.
	Prepare(ctx context.Context) error
	// events returns the events of the unchanged trace.
	events() format.Events
	// begin begins a scan. It returns the stage through which the events pass, and the selection that
	// must be read of the unchanged trace. sink is where the events will go.
	begin(sel trace.Selection, order format.Order, sink format.Sink) (stage, trace.Selection, error)
}

// transformed are the events of a trace after a transform.
type transformed struct{ transform }

// Scan passes the events through the transform.
func (x transformed) Scan(ctx context.Context, sel trace.Selection, order format.Order, sink format.Sink) error {
	if err := x.Prepare(ctx); err != nil {
		return err
	}
	sel, sink = format.ExactScan(x.Defs(), sel, sink)
	s, inner, err := x.begin(sel, order, sink)
	if err != nil {
		return err
	}
	return scanThrough(ctx, s, sink, func(p format.Sink) error { return x.events().Scan(ctx, inner, order, p) })
}

// ScanParallel passes the events through the transform in one goroutine.
func (x transformed) ScanParallel(ctx context.Context, sel trace.Selection, begin func() func(int) format.Sink) error {
	return format.ScanInOne(ctx, x, sel, begin)
}

// everything selects all events, and all links if sel has any, at the locations of sel.
func everything(sel trace.Selection) trace.Selection {
	all := trace.Everything()
	all.Location = sel.Location
	if all.Links = trace.AllLinks; sel.Links == trace.NoLinks {
		all.Links = trace.NoLinks
	}
	return all
}

// errSeen ends a scan that has found everything.
var errSeen = errors.New("all has been seen")

// eachRow calls f for the rows of a scan until f returns false.
func eachRow(ctx context.Context, d format.Events, sel trace.Selection, order format.Order,
	f func(x *trace.Cursor) (more bool)) error {
	err := d.Scan(ctx, sel, order, format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
		for x := b.Cursor(); x.Next(); {
			if !f(&x) {
				return errSeen
			}
		}
		return nil
	}})
	if errors.Is(err, errSeen) {
		return nil
	}
	return err
}

// scanThrough passes what scan delivers through a stage.
func scanThrough(ctx context.Context, s stage, sink format.Sink, scan func(format.Sink) error) error {
	p := &stageSink{ctx: ctx, stage: s, sink: sink}
	if err := scan(p); err != nil {
		return err
	}
	return p.flush()
}

// sameDefinitions is embedded by transforms that keep a trace's definitions.
type sameDefinitions struct{ inner format.Events }

// Defs returns the definitions of the trace.
func (a *sameDefinitions) Defs() *trace.Definitions { return a.inner.Defs() }

func (a *sameDefinitions) events() format.Events { return a.inner }

// Prepare prepares the trace.
func (a *sameDefinitions) Prepare(ctx context.Context) error { return a.inner.Prepare(ctx) }

// passThrough is embedded by stages that hold nothing back.
type passThrough struct{}

func (passThrough) flush(context.Context, format.Sink) error { return nil }

// stageSink is the sink in front of a stage.
type stageSink struct {
	ctx     context.Context
	stage   stage
	sink    format.Sink
	flushed bool
}

// Batch passes a batch through the stage.
func (p *stageSink) Batch(b *trace.Batch) error { return p.stage.batch(b, p.sink) }

// Links passes links through the stage.
func (p *stageSink) Links(l []trace.Link) error {
	if err := p.flush(); err != nil {
		return err
	}
	if l = p.stage.links(l); len(l) == 0 {
		return nil
	}
	return p.sink.Links(l)
}

func (p *stageSink) flush() error {
	if p.flushed {
		return nil
	}
	p.flushed = true
	return p.stage.flush(p.ctx, p.sink)
}

// rowCollector collects rows in full batches.
type rowCollector struct {
	out  trace.Batch
	sink format.Sink
}

// row adds the row of a cursor.
func (c *rowCollector) row(x *trace.Cursor, b *trace.Batch) error {
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

func (c *rowCollector) flush() error {
	if c.out.Len() == 0 {
		return nil
	}
	err := c.sink.Batch(&c.out)
	c.out.Reset(c.out.Loc)
	return err
}
