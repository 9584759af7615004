package waits_test

import (
	"slices"
	"testing"

	"github.com/weft-trace/weft/analysis/causes"
	"github.com/weft-trace/weft/analysis/states"
	"github.com/weft-trace/weft/analysis/waits"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// TestWaitsBetweenTasks checks the places of a wait in a barrier in which tasks run. Thread 0 waits from 2 to 6,
// executes a task until 9, and waits until it begins another one at 15. Thread 1 arrives at 20, while thread 0 executes
// that task until 40.
func TestWaitsBetweenTasks(t *testing.T) {
	x := newThreads(2)
	x.Enter(0, 2, x.Region("OpenMP barrier"))
	x.call(0, "OpenMP task", 6, 9, "", 0)
	x.call(0, "OpenMP task", 15, 40, "", 0)
	x.Leave(0, 41, x.Region("OpenMP barrier"))
	x.call(1, "OpenMP barrier", 20, 42, "", 0)
	events := format.Recorded(x.Recorder)
	var intervals [][2]int64
	r := find(t, events, waits.Options{Bins: 40, Each: func(w waits.Interval) {
		intervals = append(intervals, [2]int64{w.Begin, w.Length})
	}})
	if expected := [][2]int64{{2, 4}, {9, 6}}; !slices.Equal(intervals, expected) {
		t.Errorf("found waits of %v, expected %v", intervals, expected)
	}
	for _, b := range r.Patterns[0].Bins { // the bins last from 2 to 42, each of them 1 tick
		waiting := b.From < 6 || b.From >= 9 && b.From < 15
		if waiting != (b.Time.Int64() == 1) {
			t.Errorf("found a wait of %v in the bin at %d", b.Time, b.From)
		}
	}
	for _, w := range []struct{ from, to, time int64 }{{2, 6, 4}, {6, 9, 0}, {5, 10, 2}, {9, 15, 6}, {15, 43, 0}} {
		window := &trace.Window{From: w.from, To: w.to}
		found, cost := int64(0), 0.0
		for _, p := range find(t, events, waits.Options{Window: window}).Patterns {
			found += p.Time.Int64()
		}
		c, err := causes.Find(t.Context(), events, causes.Options{Window: window})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range c.Patterns {
			cost += p.ShortTerm + p.LongTerm
		}
		if found != w.time || cost != float64(w.time) {
			t.Errorf("window from %d to %d: found a wait of %d with costs of %v, expected %d", w.from, w.to, found, cost,
				w.time)
		}
	}
	idle, err := states.FindWaits(t.Context(), events, nil)
	if err != nil {
		t.Fatal(err)
	}
	if found, expected := slices.Collect(idle.At(0)), []trace.Window{{From: 2, To: 6}, {From: 9, To: 15}}; !slices.Equal(
		found, expected) {
		t.Errorf("found idle times %v, expected %v", found, expected)
	}
}
