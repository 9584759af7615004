package format_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// counting delivers batches with the numbers from 0 on, all in the memory of one, then links.
type counting struct {
	format.Events
	batches, rows int
	err           error // behind them
	stopped       bool  // the sink refused one
}

func (x *counting) Scan(_ context.Context, _ trace.Selection, _ format.Order, sink format.Sink) error {
	var b trace.Batch
	for n := range x.batches {
		b.Reset(trace.MixedLoc)
		for i := range x.rows {
			b.Add(0, int64(n*x.rows+i), trace.Comment, trace.NoRef)
			b.AddAttr(0, trace.StringValue(fmt.Sprint(n*x.rows+i)))
		}
		if err := sink.Batch(&b); err != nil {
			x.stopped = true
			return fmt.Errorf("scan: %w", err)
		}
	}
	if x.err != nil {
		return x.err
	}
	return sink.Links([]trace.Link{{ID: 7}})
}

// A sink beside the scan gets what it would get from the scan, in the same order, links last.
func TestScanAlongside(t *testing.T) {
	for _, cores := range []int{1, 2} {
		var got []string
		sink := format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
			for c := b.Cursor(); c.Next(); {
				_, v := c.Attrs()
				got = append(got, v[0].Str)
			}
			return nil
		}, OnLinks: func(l []trace.Link) error {
			got = append(got, fmt.Sprint("link ", l[0].ID))
			return nil
		}}
		if err := format.ScanAlongside(t.Context(), &counting{batches: 100, rows: 7}, trace.Everything(), cores, sink); err != nil {
			t.Fatal(err)
		}
		var want []string
		for i := range 700 {
			want = append(want, fmt.Sprint(i))
		}
		if want = append(want, "link 7"); !slices.Equal(got, want) {
			t.Errorf("%d cores: found %d rows, or others, expected %d", cores, len(got), len(want))
		}
	}
}

// What fails ends both sides: an error of the sink is returned as it is, one of the scan after all
// that was delivered before, and a panic of the sink is one of the caller.
func TestScanAlongsideFails(t *testing.T) {
	bad := errors.New("bad")
	for _, at := range []int{0, 3, 50, 99} {
		n := 0
		x := &counting{batches: 100, rows: 1}
		err := format.ScanAlongside(t.Context(), x, trace.Everything(), 2, format.SinkFuncs{OnBatch: func(*trace.Batch) error {
			if n++; n > at {
				return bad
			}
			return nil
		}})
		if err != bad || n != at+1 || at < 50 && !x.stopped {
			t.Errorf("a sink that fails at %d: %v after %d batches; the scan was stopped: %v", at, err, n, x.stopped)
		}
	}
	n := 0
	err := format.ScanAlongside(t.Context(), &counting{batches: 100, rows: 1, err: bad}, trace.Everything(), 2, format.SinkFuncs{OnBatch: func(*trace.Batch) error {
		n++
		return nil
	}})
	if err != bad || n != 100 {
		t.Errorf("a scan that fails: %v after %d batches", err, n)
	}
	defer func() {
		if x := recover(); x != "burst" {
			t.Errorf("found the panic %v", x)
		}
	}()
	format.ScanAlongside(t.Context(), &counting{batches: 100, rows: 1}, trace.Everything(), 2, format.SinkFuncs{OnBatch: func(*trace.Batch) error { panic("burst") }})
	t.Error("a panic of the sink was lost")
}
