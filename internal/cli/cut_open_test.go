package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-trace/weft/trace"
)

// TestCheckOfPieces checks that weft check reports nothing about a piece that ends inside a collective operation, a
// request, a lock and a message, inside and outside of a region and in each format, and that it still reports what the
// whole trace does not end.
func TestCheckOfPieces(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	inside, outside := r.Location("inside"), r.Location("outside")
	region := r.Region("MPI_Allreduce")
	for _, loc := range []uint32{inside, outside} {
		r.Mark(loc, 1, region)
		if loc == inside {
			r.Enter(loc, 2, region)
		}
		r.Event(loc, 3, trace.CollectiveBegin, trace.NoRef, nil)
		r.Event(loc, 4, trace.RecvBegin, trace.NoRef, []uint64{7})
		r.Event(loc, 5, trace.LockAcquire, trace.NoRef, []uint64{7, 1, 3})
		r.Event(loc, 25, trace.LockRelease, trace.NoRef, []uint64{7, 1, 3})
		r.Event(loc, 26, trace.RequestCancelled, trace.NoRef, []uint64{7})
		r.Event(loc, 27, trace.CollectiveEnd, trace.NoRef, []uint64{0, trace.Undefined, trace.Undefined, 8, 8})
		if loc == inside {
			r.Leave(loc, 28, region)
		}
	}
	r.Send(outside, 6, inside, 9, 100)
	r.Recv(inside, 29, outside, 9, 100)
	r.Event(outside, 35, trace.CollectiveBegin, trace.NoRef, nil)
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole.otf2")
	writeRecorded(t, r, whole)
	warns := func(path string) bool {
		return strings.Contains(weft(t, 0, "check", path), "warning: trace.collective-open")
	}
	if !warns(whole) {
		t.Error("found no warning about the whole trace, whose last operation has no end")
	}
	for _, name := range []string{"x.etf", "x.trf", "x.otf", "x.pallas", "x.otf2"} {
		path := filepath.Join(dir, name)
		weft(t, 0, "cut", "-q", "--from", "@0", "--to", "@20ms", "--allow-loss", whole, path)
		if text := weft(t, 0, "check", path); !strings.Contains(text, "0 errors, 0 warnings") {
			t.Errorf("%s: found %q, expected no warnings", name, text)
		}
		weft(t, 0, "cut", "-q", "--from", "@10ms", "--allow-loss", "--force", whole, path)
		if !warns(path) {
			t.Errorf("%s: found no warning about the end of the trace", name)
		}
	}
}
