package format

import (
	"context"
	"errors"

	"github.com/weft-trace/weft/trace"
)

// batchesAhead is how many batches [ScanAlongside] holds.
const batchesAhead = 4

// ScanAlongside scans a trace in global time order as [Events.Scan] does, and has sink work in a
// goroutine of its own while the next events are decoded. With one core it is Scan. sink is called
// by one goroutine at a time; the first error, of sink before that of the scan, is returned. It
// holds four batches beside those of the scan.
//
// While sink works the tables of definitions may grow. Events that it has got refer to entries
// that are there.
func ScanAlongside(ctx context.Context, d Events, sel trace.Selection, cores int, sink Sink) error {
	if cores <= 1 {
		return d.Scan(ctx, sel, GlobalOrder, sink)
	}
	x := &alongside{sink: sink, full: make(chan *trace.Batch, batchesAhead), free: make(chan *trace.Batch, batchesAhead), failed: make(chan struct{})}
	for range batchesAhead {
		x.free <- &trace.Batch{}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() { x.panicked = recover() }()
		x.work()
	}()
	err := func() error {
		defer func() { // also when the scan panics
			close(x.full)
			<-ended
		}()
		return d.Scan(ctx, sel, GlobalOrder, x)
	}()
	switch {
	case x.panicked != nil:
		panic(x.panicked)
	case x.err != nil:
		return x.err
	}
	return err
}

// alongside is the sink that the scan fills.
type alongside struct {
	sink       Sink
	full, free chan *trace.Batch
	failed     chan struct{} // closed when sink has failed
	err        error         // of sink
	panicked   any
}

// errStopped ends the scan when sink has failed.
var errStopped = errors.New("what takes the events has failed")

// work gives sink what the scan has delivered.
func (x *alongside) work() {
	all := false
	defer func() {
		if !all {
			close(x.failed)
		}
	}()
	for b := range x.full {
		if x.err = x.sink.Batch(b); x.err != nil {
			return
		}
		x.free <- b
	}
	all = true
}

// Batch hands on a copy.
func (x *alongside) Batch(b *trace.Batch) error {
	select {
	case c := <-x.free:
		c.Copy(b)
		x.full <- c
		return nil
	case <-x.failed:
		return errStopped
	}
}

// Links waits until sink has got all events.
func (x *alongside) Links(l []trace.Link) error {
	held := make([]*trace.Batch, 0, batchesAhead)
	for range batchesAhead {
		select {
		case c := <-x.free:
			held = append(held, c)
		case <-x.failed:
			return errStopped
		}
	}
	for _, c := range held {
		x.free <- c
	}
	return x.sink.Links(l)
}
