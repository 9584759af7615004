package analysis_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/analysis/counts"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/generate"
	"github.com/weft-trace/weft/trace"
)

// countedFile is a trace that counts its scans.
type countedFile struct {
	format.File
	scans atomic.Int64
}

// ScanParallel counts the scan, which begins again before the first batch.
func (c *countedFile) ScanParallel(ctx context.Context, sel trace.Selection, begin func() func(int) format.Sink) error {
	c.scans.Add(1)
	return c.File.ScanParallel(ctx, sel, func() func(int) format.Sink {
		begin()(0)
		return begin()
	})
}

// generated is a generated trace as a file.
type generated struct {
	format.Events
	format.EventsOnly
}

// Extent reads the trace.
func (g generated) Extent(ctx context.Context) (first, last int64, ok bool, err error) {
	return format.ScanExtent(ctx, g.Events)
}

// Close does nothing.
func (generated) Close() error { return nil }

// TestTogether checks that analyses that run together have the results that each has alone, that they share the scans
// of the same times, and that an analysis that fails does not change the results of the others.
func TestTogether(t *testing.T) {
	ctx := context.Background()
	stencil, err := generate.New(generate.Options{Workload: "stencil", Events: 20_000, Locations: 4})
	if err != nil {
		t.Fatal(err)
	}
	events := int64(0)
	if err := stencil.Scan(ctx, trace.Events(), format.PerLocation, format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
		events += int64(b.Len())
		return nil
	}}); err != nil {
		t.Fatal(err)
	}
	count := func(f format.File, sel trace.Selection) (int64, error) {
		p, err := analysis.Run(ctx, f, sel, func() *counts.Part { return counts.New(f.Defs()) })
		return p.Result().Events, err
	}
	file := &countedFile{File: generated{stencil, format.EventsOnly{}}}
	var found [4]int64
	first := func(f format.File) (err error) {
		found[0], err = count(f, trace.Everything())
		return err
	}
	twice := func(f format.File) (err error) {
		if found[1], err = count(f, trace.Events()); err == nil {
			found[2], err = count(f, trace.Events())
		}
		return err
	}
	partial := func(f format.File) (err error) {
		sel := trace.Events()
		sel.To = 0
		found[3], err = count(f, sel)
		return err
	}
	partialLast := func(f format.File) error {
		if _, err := count(f, trace.Events()); err != nil {
			return err
		}
		return partial(f)
	}
	none := func(format.File) error { return nil }
	if err := analysis.RunTogether(ctx, file, partial, first, twice, partialLast, none); err != nil {
		t.Fatal(err)
	}
	if want := [4]int64{events, events, events, 0}; found != want {
		t.Errorf("found %d events, expected %d", found, want)
	}
	// one scan for first, twice and partialLast, one for partial and partialLast, and one for the second scan of twice
	if n := file.scans.Load(); n != 3 {
		t.Errorf("found %d scans, expected 3", n)
	}

	broken := errors.New("broken")
	fails := func(f format.File) error {
		return f.ScanParallel(ctx, trace.Events(), func() func(int) format.Sink {
			return func(int) format.Sink {
				return format.SinkFuncs{OnBatch: func(*trace.Batch) error { return broken }}
			}
		})
	}
	recovers := func(f format.File) error {
		if err := fails(f); !errors.Is(err, broken) {
			t.Errorf("found %v, expected the error of the sink", err)
		}
		return nil
	}
	found[0] = 0
	if err := analysis.RunTogether(ctx, file, recovers, first); err != nil || found[0] != events {
		t.Errorf("found %d events and %v, expected %d events", found[0], err, events)
	}
	var last []error
	waits := func(f format.File) error {
		for range 2 {
			_, err := count(f, trace.Events())
			last = append(last, err)
		}
		return nil
	}
	if err := analysis.RunTogether(ctx, file, waits, fails); !errors.Is(err, broken) {
		t.Errorf("found %v, expected the error of the analysis that fails", err)
	}
	if !slices.Equal(last, []error{nil, context.Canceled}) {
		t.Errorf("found %v for another analysis, expected its second scan to be cancelled", last)
	}

	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	err = analysis.RunTogether(cancelled, file, first, twice)
	if alone := file.File.ScanParallel(cancelled, trace.Events(), func() func(int) format.Sink {
		return func(int) format.Sink { return format.SinkFuncs{} }
	}); !errors.Is(err, alone) {
		t.Errorf("found %v, expected that of a scan: %v", err, alone)
	}
}
