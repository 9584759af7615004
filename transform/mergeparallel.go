package transform

import (
	"context"
	"errors"
	"sync"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// ScanParallel delivers one trace after the other, and several locations of a trace at a time. It delivers all
// events in one goroutine if links are selected, if several traces have events of the same location, or if events
// refer to processors by number.
func (mt *MergedTrace) ScanParallel(ctx context.Context, sel trace.Selection,
	begin func() func(int) format.Sink) error {
	if sel.Links == trace.NoLinks && !sel.NoEvents && mt.numbers == nil && !mt.shared() {
		if err := mt.scanEach(ctx, sel, begin()); !errors.Is(err, errScanAgain) {
			return err
		}
	}
	return format.ScanInOne(ctx, mt, sel, begin)
}

// errScanAgain ends a parallel scan if one of the traces must be scanned again. The events that other traces have
// delivered are then invalid, too.
var errScanAgain = errors.New("a trace must be scanned again")

// scanEach scans one trace after the other, each in several goroutines.
func (mt *MergedTrace) scanEach(ctx context.Context, sel trace.Selection, newSink func(int) format.Sink) error {
	var mu sync.Mutex
	sinks := map[int]format.Sink{}
	sink := func(worker int) format.Sink {
		if sinks[worker] == nil {
			_, sinks[worker] = format.ExactScan(&mt.defs, sel, newSink(worker))
		}
		return sinks[worker]
	}
	mt.restart()
	for _, x := range mt.list {
		var workers []*mergeInput
		begun, again := false, false
		err := x.inner.ScanParallel(ctx, trace.Events(), func() func(int) format.Sink {
			begun, again = true, begun
			return func(worker int) format.Sink {
				if again {
					return format.SinkFuncs{OnBatch: func(*trace.Batch) error { return errScanAgain }}
				}
				mu.Lock()
				defer mu.Unlock()
				to, w := sink(worker), x.worker()
				workers = append(workers, w)
				return format.SinkFuncs{OnBatch: func(b *trace.Batch) error { return to.Batch(w.change(b)) }}
			}
		})
		for _, w := range workers {
			mt.Rounded, mt.largeIDs = mt.Rounded+*w.rounded, mt.largeIDs+*w.large
		}
		if err == nil && again {
			err = errScanAgain
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// worker returns a copy that translates batches in another goroutine. The copy counts for itself.
func (m *mergeInput) worker() *mergeInput {
	w := &mergeInput{definer: m.definer.worker(), inner: m.inner, number: m.number, inputs: m.inputs, clock: m.clock,
		to: m.to, zero: m.zero, base: m.base, more: m.more, less: m.less, operations: m.operations,
		undefined: m.undefined, rounded: new(int64), large: new(int64), loss: m.loss}
	w.startCalls()
	return w
}
