package transform_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// eachAlone is a trace whose parallel scans give each location a worker of its own. It counts its other scans.
type eachAlone struct {
	format.Events
	scans atomic.Int64
}

func (e *eachAlone) Scan(ctx context.Context, sel trace.Selection, order format.Order, sink format.Sink) error {
	e.scans.Add(1)
	return e.Events.Scan(ctx, sel, order, sink)
}

func (e *eachAlone) ScanParallel(ctx context.Context, sel trace.Selection, begin func() func(int) format.Sink) error {
	sinks := begin()
	for i := range e.Defs().Locations.Len() {
		one := sel
		one.Location = func(loc uint32) bool { return loc == uint32(i) && (sel.Location == nil || sel.Location(loc)) }
		if err := e.Events.Scan(ctx, one, format.PerLocation, sinks(i)); err != nil {
			return err
		}
	}
	return nil
}

// TestLaterEventsAreFoundOnce checks that a cut looks only once for the events after the piece, and not once for each
// worker. Each of 9 locations has a call from 0 s to 9 s, which is open at the end of the piece, 5 s. The next event
// of each location is at 9 s, so windows of 1 ms, 32 ms, 1.024 s and 32.768 s after the piece are read: 4 scans.
func TestLaterEventsAreFoundOnce(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	const locations = 9
	for i := range locations {
		p := r.Location(strconv.Itoa(i))
		r.Enter(p, 0, r.Region("g"))
		r.Leave(p, 9000, r.Region("g"))
	}
	d := &eachAlone{Events: format.Recorded(r)}
	leaves := 0
	err := transform.Cut(d, trace.Window{From: 0, To: 5000}).ScanParallel(t.Context(), trace.Events(),
		func() func(int) format.Sink {
			return func(int) format.Sink {
				return format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
					x := b.Cursor()
					for x.Next() {
						if x.Kind() == trace.Leave && x.Time() == 5000 {
							leaves++
						}
					}
					return nil
				}}
			}
		})
	if err != nil {
		t.Fatal(err)
	}
	if leaves != locations {
		t.Errorf("found %d calls that end at the end of the piece, expected %d", leaves, locations)
	}
	if n := d.scans.Load(); n != 4 {
		t.Errorf("found %d scans after the piece, expected 4", n)
	}
}
