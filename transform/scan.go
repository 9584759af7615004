package transform

import (
	"context"

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

// around is what transforms of one decoder share.
type around struct{ inner format.Decoder }

// Defs are the definitions of the trace.
func (a *around) Defs() *trace.Definitions { return a.inner.Defs() }

// Close closes the decoder.
func (a *around) Close() error { return a.inner.Close() }

// staged scans d through a stage. The scan delivers to one sink.
func staged(ctx context.Context, s stage, sink format.Sink, scan func(format.Sink) error) error {
	p := &passage{ctx: ctx, stage: s, sink: sink}
	if err := scan(p); err != nil {
		return err
	}
	return p.flush()
}

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
