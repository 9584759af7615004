package clocks_test

import (
	"context"
	"os"
	"testing"

	"github.com/weft-trace/weft/analysis/clocks"
	"github.com/weft-trace/weft/analysis/messages"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/otf2"
	"github.com/weft-trace/weft/trace"
)

// solve returns the result of Solve for a trace, and fails the test after an error.
func solve(t testing.TB, d format.Events, opt clocks.Options) *clocks.Result {
	t.Helper()
	r, err := clocks.Solve(context.Background(), d, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// batches is a trace that consists of a list of batches, each of one location.
type batches struct {
	format.Events
	defs *trace.Definitions
	list []*trace.Batch
}

func (b *batches) Defs() *trace.Definitions { return b.defs }

// ScanParallel delivers the batches in their order, to one worker or, alternating between
// locations, to two.
func (b *batches) ScanParallel(_ context.Context, _ trace.Selection, begin func() func(int) format.Sink) error {
	sinks := begin()
	workers := []format.Sink{sinks(0), sinks(1)}
	for _, x := range b.list {
		if x.Len() == 0 {
			continue
		}
		if err := workers[x.Loc%2].Batch(x); err != nil {
			return err
		}
	}
	return nil
}

// open opens an OTF2 trace, with values as the options for reading.
func open(t testing.TB, path string, values map[string]string) format.Events {
	t.Helper()
	d, err := otf2.Format{}.Open(context.Background(), format.FileSource(path),
		&format.ReadOptions{Values: values, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// ringTrace is the path of a trace of a ring of processes.
const ringTrace = "../../format/otf2/testdata/ok/ring/eztrace_log.otf2"

// TestRing corrects a trace of EZTrace in which 35 of 80 messages are received before they are
// sent.
func TestRing(t *testing.T) {
	for _, opt := range []clocks.Options{{}, {Model: clocks.Linear}, {Model: clocks.Offset}, {Reference: 2},
		{Latency: 100}, {Level: clocks.LocationClocks}} {
		d := open(t, ringTrace, nil)
		r := solve(t, d, opt)
		early := r.Before.Messages
		if r.Messages != 80 || r.Collectives != 40 || early != 35 && opt.Latency == 0 {
			t.Errorf("%+v: found %d of %d messages early, and %d collective operations; expected 35 of 80, and 40", opt, early,
				r.Messages, r.Collectives)
		}
		if r.After.Any() || r.Contradictions.Any() || r.Untied != 0 {
			t.Errorf("%+v: found violations after correction: %+v, contradictions: %+v, and %d clocks without ties", opt,
				r.After, r.Contradictions, r.Untied)
		}
		corrected(t, d, r)
	}
	// All processes are on one node. With one clock for the node, nothing can be corrected.
	r := solve(t, open(t, ringTrace, nil), clocks.Options{Level: clocks.NodeClocks})
	if len(r.Clocks) != 1 || r.Contradictions.Messages != 35 || r.After != r.Before || len(r.Correction.Locations) != 0 {
		t.Errorf("one clock: found %+v", r)
	}
}

// corrected counts the early messages of the corrected trace without using code of Solve. It also
// checks that each location keeps the order of its events.
func corrected(t *testing.T, d format.Events, r *clocks.Result) {
	t.Helper()
	for id, c := range r.Correction.Locations {
		if err := c.Check(); err != nil {
			t.Errorf("location %s: %v", id, err)
		}
	}
	early := 0
	at := func(loc uint32, x int64) int64 {
		return r.Correction.Locations[d.Defs().Locations.At(loc).ID].At(x)
	}
	p := messages.New(d.Defs(), messages.Options{Pair: func(m messages.Pair) {
		if at(m.Destination, m.Received) < at(m.Source, m.Sent)+r.Latency {
			early++
		}
	}})
	last := map[uint32]int64{}
	err := d.Scan(context.Background(), trace.Everything(), format.PerLocation,
		format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
			for i := range b.Time {
				loc := b.Location(i)
				x := at(loc, b.Time[i])
				if y, ok := last[loc]; ok && x < y {
					t.Errorf("location %d: found %d after %d", loc, x, y)
				}
				last[loc] = x
			}
			return p.Batch(b)
		}})
	if err != nil {
		t.Fatal(err)
	}
	if early > 0 {
		t.Errorf("found %d early messages", early)
	}
}

// TestHeat compares the computed offsets with the true ones of a trace whose clocks were skewed by
// a millisecond per rank.
func TestHeat(t *testing.T) {
	const path = "../../format/otf2/testdata/ok/heat2d-mt/traces.otf2"
	d := open(t, path, map[string]string{"otf2.raw-clocks": "true"})
	r := solve(t, d, clocks.Options{})
	if r.Messages != 400 || r.Before.Messages != 200 || r.After.Any() || r.Amortised {
		t.Errorf("found %+v, expected 200 of 400 messages early before and none after", r)
	}
	corrected(t, d, r)
	for i, c := range r.Clocks[:4] {
		// Messages of this trace take 1 to 20 µs.
		if truth := int64(-1_000_000 * i); c.Offset < truth-10_000 || c.Offset > truth+10_000 || c.Drift != 0 {
			t.Errorf("clock %s: found %d ns and %g ppm, expected %d", c.Name, c.Offset, c.Drift, truth)
		}
	}
	// Once the reader applies the clock offsets in the trace, no correction is needed.
	if r = solve(t, open(t, path, nil), clocks.Options{}); r.Before.Any() || len(r.Correction.Locations) != 0 {
		t.Errorf("with the trace's own offsets: found %+v", r)
	}
}

// TestPrivateTrace uses a trace that may not be distributed. The test is skipped if the trace does not
// exist.
func TestPrivateTrace(t *testing.T) {
	path := "../../../shared/traces/otf2/bigapp-small/traces.otf2"
	if _, err := os.Stat(path); err != nil {
		t.Skip("no such trace here")
	}
	d := open(t, path, map[string]string{"otf2.raw-clocks": "true"})
	r := solve(t, d, clocks.Options{})
	if r.Messages != 80 || !r.Before.Any() || r.After.Any() {
		t.Errorf("found %+v", r)
	}
	corrected(t, d, r)
}
