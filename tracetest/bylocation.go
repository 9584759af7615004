package tracetest

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// checkContiguous checks a trace whose decoder has set Definitions.Contiguous: a scan of each location delivers the
// events of one location after those of another.
func checkContiguous(t *testing.T, f format.Format, src format.Source) {
	d := Open(t, f, src, nil)
	if !d.Defs().Contiguous {
		return
	}
	seen, last := map[uint32]bool{}, trace.NoRef
	for b, err := range format.Batches(context.Background(), d, trace.Everything(), format.PerLocation) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Time {
			if loc := b.Location(i); loc != last {
				if seen[loc] {
					t.Fatalf("found events of location %d after those of location %d, expected all before", loc, last)
				}
				seen[loc], last = true, loc
			}
		}
	}
}

// checkByLocation checks a trace whose decoder has set Definitions.ByLocation: its events have the promised order, and
// an encoder writes the same events as in the order of time, and reports the same loss.
func checkByLocation(t *testing.T, f format.Format, src format.Source) {
	d := Open(t, f, src, nil)
	if !d.Defs().ByLocation {
		return
	}
	time, loc := int64(0), uint32(0)
	for b, err := range format.Batches(context.Background(), d, trace.Events(), format.GlobalOrder) {
		if err != nil {
			t.Fatal(err)
		}
		for i, at := range b.Time {
			if next := b.Location(i); at < 0 || at == time && next < loc {
				t.Fatalf("found an event of location %d at %d after one of location %d", next, at, loc)
			}
			time, loc = at, b.Location(i)
		}
	}
	if f.About().Writes == "" {
		return
	}
	written := checkOrders(t, f, src)
	// The trace that was written may hold data from which its decoder restores the first trace.
	if Open(t, f, written, nil).Defs().ByLocation {
		checkOrders(t, f, written)
	}
}

// checkOrders checks that an encoder that is given a trace in the order of time and location by location writes the
// same events, and reports the same loss. It returns one of the traces that were written.
func checkOrders(t *testing.T, f format.Format, src format.Source) (written format.Source) {
	t.Helper()
	var events [2][]string
	var losses [2][]format.LossRow
	for i, way := range []string{"time", "location"} {
		name := filepath.Join(t.TempDir(), way+f.About().Extensions[0])
		d := Open(t, f, src, nil)
		d.Defs().Native, d.Defs().ByLocation = nil, way == "location"
		losses[i] = Encode(t, f, d, name).Rows()
		written = format.FileSource(name)
		events[i] = Dump(t, Open(t, f, written, nil), trace.Everything())
	}
	if d := cmp.Diff(events[0], events[1]); d != "" {
		t.Errorf("%s: events that were written in the order of time and of locations differ:\n%s", src.Path, d)
	}
	if d := cmp.Diff(losses[0], losses[1]); d != "" {
		t.Errorf("%s: losses differ:\n%s", src.Path, d)
	}
	return written
}
