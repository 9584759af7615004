package transform

import (
	"context"
	"errors"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// stage changes the events of one scan.
type stage interface {
	// batch takes events; what becomes of them goes to out.
	batch(b *trace.Batch, out format.Sink) error
	// flush gives out what is held back or comes last, after all events.
	flush(ctx context.Context, out format.Sink) error
	// links changes links, which come after all events; it may use the list again.
	links(l []trace.Link) []trace.Link
}

// transform is what a transform knows of a trace.
type transform interface {
	// Defs are the definitions of the changed trace.
	Defs() *trace.Definitions
	// Prepare prepares the trace, and finds out what must be known of it before.
	Prepare(ctx context.Context) error
	// events are those of the trace.
	events() format.Events
	// begin begins a scan: it returns the stage that the events go through, and what must be
	// read of the trace for what is selected. sink is where they will go.
	begin(sel trace.Selection, order format.Order, sink format.Sink) (stage, trace.Selection, error)
}

// transformed are the events of a trace behind a transform.
type transformed struct{ transform }

// Scan sends the events through the transform.
func (x transformed) Scan(ctx context.Context, sel trace.Selection, order format.Order, sink format.Sink) error {
	if err := x.Prepare(ctx); err != nil {
		return err
	}
	sel, sink = format.Exactly(x.Defs(), sel, sink)
	s, inner, err := x.begin(sel, order, sink)
	if err != nil {
		return err
	}
	return staged(ctx, s, sink, func(p format.Sink) error { return x.events().Scan(ctx, inner, order, p) })
}

// ScanParallel sends the events through the transform one after another.
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

// errSeen ends a scan that has found all it looked for.
var errSeen = errors.New("all has been seen")

// eachRow calls f with the rows of a scan until f reports false.
func eachRow(ctx context.Context, d format.Events, sel trace.Selection, order format.Order, f func(x *trace.Cursor) (more bool)) error {
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

// staged sends what scan delivers through a stage.
func staged(ctx context.Context, s stage, sink format.Sink, scan func(format.Sink) error) error {
	p := &passage{ctx: ctx, stage: s, sink: sink}
	if err := scan(p); err != nil {
		return err
	}
	return p.flush()
}

// around is what transforms share that keep a trace's definitions.
type around struct{ inner format.Events }

// Defs are the definitions of the trace.
func (a *around) Defs() *trace.Definitions { return a.inner.Defs() }

func (a *around) events() format.Events { return a.inner }

// Prepare prepares the trace.
func (a *around) Prepare(ctx context.Context) error { return a.inner.Prepare(ctx) }

// unheld is a part of stages that hold nothing back.
type unheld struct{}

func (unheld) flush(context.Context, format.Sink) error { return nil }

// passage is the sink in front of a stage.
type passage struct {
	ctx     context.Context
	stage   stage
	sink    format.Sink
	flushed bool
}

// Batch sends a batch through the stage.
func (p *passage) Batch(b *trace.Batch) error { return p.stage.batch(b, p.sink) }

// Links sends links through the stage.
func (p *passage) Links(l []trace.Link) error {
	if err := p.flush(); err != nil {
		return err
	}
	if l = p.stage.links(l); len(l) == 0 {
		return nil
	}
	return p.sink.Links(l)
}

func (p *passage) flush() error {
	if p.flushed {
		return nil
	}
	p.flushed = true
	return p.stage.flush(p.ctx, p.sink)
}

// collect gathers rows in batches of a full size.
type collect struct {
	out  trace.Batch
	sink format.Sink
}

// row takes the row of a cursor.
func (c *collect) row(x *trace.Cursor, b *trace.Batch) error {
	if c.out.Loc != b.Loc || c.out.Len() >= trace.BatchRows || (len(c.out.Pos) > 0) != (len(b.Pos) > 0) || (len(c.out.Order) > 0) != (len(b.Order) > 0) {
		if err := c.flush(); err != nil {
			return err
		}
		c.out.Reset(b.Loc)
	}
	c.out.AppendRow(x)
	return nil
}

func (c *collect) flush() error {
	if c.out.Len() == 0 {
		return nil
	}
	err := c.sink.Batch(&c.out)
	c.out.Reset(c.out.Loc)
	return err
}
