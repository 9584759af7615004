package transform

import (
	"context"
	"errors"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// pulled is a scan in the order of time from which batches are taken: it goes on in
// another goroutine only while Next waits for it.
type pulled struct {
	next   chan struct{}
	batch  chan *trace.Batch
	err    error
	cancel context.CancelFunc
	begun  bool
	start  func()
}

// pull makes a stream of a decoder's events. close ends the scan; it must be called.
func pull(ctx context.Context, d format.Decoder, sel trace.Selection) *pulled {
	ctx, cancel := context.WithCancel(ctx)
	p := &pulled{next: make(chan struct{}), batch: make(chan *trace.Batch), cancel: cancel}
	p.start = func() {
		go func() {
			defer close(p.batch)
			p.err = d.ScanOrdered(ctx, sel, format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
				select {
				case p.batch <- b:
				case <-ctx.Done():
					return ctx.Err()
				}
				// The batch is the taker's until it asks for the next one.
				select {
				case <-p.next:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			}})
		}()
	}
	return p
}

// Next returns the next batch.
func (p *pulled) Next(ctx context.Context) (*trace.Batch, error) {
	if !p.begun {
		p.begun = true
		p.start()
	} else {
		select {
		case p.next <- struct{}{}:
		case b, ok := <-p.batch: // the scan has ended with an error
			if !ok {
				return nil, p.err
			}
			return b, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	select {
	case b, ok := <-p.batch:
		if !ok {
			return nil, p.err
		}
		return b, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// close ends the scan and waits for it.
func (p *pulled) close() error {
	p.cancel()
	if !p.begun {
		return nil
	}
	for range p.batch {
	}
	if errors.Is(p.err, context.Canceled) {
		return nil
	}
	return p.err
}
