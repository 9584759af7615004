package transform

import (
	"context"
	"errors"
	"sync"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// errUnsound ends the scan of [repair.isSound].
var errUnsound = errors.New("the trace may need a repair")

// isSound reports whether the events of a trace need no repair. It reads several locations at a time, and
// ends at the first event that may need a repair. Ids of claims and marks must be unique in the whole trace,
// so a trace with claims, marks or fragments of signals never counts as sound.
func (r *repair) isSound(ctx context.Context) (bool, error) {
	var mu sync.Mutex
	var workers []*repairScan
	err := r.inner.ScanParallel(ctx, trace.Events(), func() func(int) format.Sink {
		workers = nil
		return func(int) format.Sink {
			mu.Lock()
			defer mu.Unlock()
			m := &repairScan{repair: r, surveyOnly: true}
			workers = append(workers, m)
			return format.SinkFuncs{OnBatch: m.checkSound}
		}
	})
	if errors.Is(err, errUnsound) {
		return false, nil
	}
	for _, m := range workers {
		for _, l := range m.locs {
			if l != nil && len(l.open) > 0 {
				return false, err
			}
		}
	}
	return true, err
}

// checkSound processes a batch in the first pass. It returns errUnsound at the first row that may need a
// repair.
func (rs *repairScan) checkSound(b *trace.Batch) error {
	x := b.Cursor()
	for x.Next() {
		switch x.Kind() {
		case trace.ClaimBegin, trace.ClaimEnd, trace.Mark, trace.Fragment:
			return errUnsound
		}
		l := rs.locs.At(x.Location())
		if !l.begun {
			l.begun, l.last = true, x.Time()
		}
		if rs.repairRow(l, x.Location(), &x); rs.changes {
			return errUnsound
		}
		l.rows++
	}
	return nil
}

// prepareLocal reads the trace to find the necessary repairs.
func (r *repair) prepareLocal(ctx context.Context) error { return r.Prepare(ctx) }

// beginLocal begins a scan in several goroutines, if no event needs a repair.
func (r *repair) beginLocal(sel trace.Selection) (func() stage, trace.Selection) {
	if !r.intact {
		return nil, sel
	}
	r.beginPass()
	return func() stage { return &soundScan{&repairScan{repair: r}} }, everything(sel)
}

// soundScan is one pass over a trace whose events need no repair. It repairs links.
type soundScan struct{ *repairScan }

func (*soundScan) processBatch(b *trace.Batch, out format.Sink) error { return out.Batch(b) }
