package waits_test

import (
	"slices"
	"testing"

	"github.com/weft-trace/weft/analysis/causes"
	"github.com/weft-trace/weft/analysis/criticalpath"
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

// TestPathBetweenTasks checks that the critical path leaves a wait between tasks at the end of the wait. Thread 0 waits
// from 2 to 6, executes a task until 9, waits until 15, executes a task until 40, leaves the barrier at 45. Thread 1
// arrives at 20. The path is at thread 1 until 15, and then at thread 0: in the task for 25, and in the barrier for 5.
// Calls in the tasks change nothing but the regions.
func TestPathBetweenTasks(t *testing.T) {
	for calls, expected := range [][]criticalpath.Region{
		{{Region: "OpenMP task", Time: 25}, {Region: "work", Time: 15}, {Region: "OpenMP barrier", Time: 5}},
		{{Region: "OpenMP task", Time: 25}, {Region: "work", Time: 15}, {Region: "OpenMP barrier", Time: 5}},
		{{Region: "OpenMP task", Time: 24}, {Region: "work", Time: 15}, {Region: "OpenMP barrier", Time: 5},
			{Region: "pthread_mutex_lock", Time: 1}},
		{{Region: "OpenMP task", Time: 24}, {Region: "work", Time: 15}, {Region: "OpenMP barrier", Time: 5},
			{Region: "pthread_mutex_lock", Time: 1}},
	} {
		x := newThreads(2)
		x.Enter(0, 0, x.Region("work"))
		x.Enter(0, 2, x.Region("OpenMP barrier"))
		for i, task := range []struct{ begin, end int64 }{{6, 9}, {15, 40}} {
			x.Enter(0, task.begin, x.Region("OpenMP task"))
			if calls>>i&1 != 0 {
				x.call(0, "pthread_mutex_lock", task.begin+1, task.begin+2, "mutex", 7)
			}
			x.Leave(0, task.end, x.Region("OpenMP task"))
		}
		x.Leave(0, 45, x.Region("OpenMP barrier"))
		x.Leave(0, 45, x.Region("work"))
		x.Enter(1, 0, x.Region("work"))
		x.call(1, "OpenMP barrier", 20, 42, "", 0)
		x.Leave(1, 42, x.Region("work"))
		r, err := criticalpath.Find(t.Context(), format.Recorded(x.Recorder), criticalpath.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var pieces []criticalpath.Piece
		for p := range r.Pieces.All() {
			pieces = append(pieces, p)
		}
		if len(pieces) != 2 || pieces[0].Location != 1 || pieces[1].From != 15 || pieces[1].To != 45 {
			t.Errorf("calls %d: found the pieces %+v, expected thread 1 up to 15 and thread 0 from there", calls, pieces)
		}
		for i := range r.Regions {
			r.Regions[i].Imbalance = 0
		}
		if !slices.Equal(r.Regions, expected) {
			t.Errorf("calls %d: found %v, expected %v", calls, r.Regions, expected)
		}
	}
}

// TestLockOfTaskInBarrier checks a barrier in which a thread executes a task that has a lock, as EZTrace records it
// with OMPT: the release is not inside of a call. Thread 0 comes at 2 and executes the task from 6 to 15. Thread 1
// comes at 20, so thread 0 waits for 20 - 2 - 9.
func TestLockOfTaskInBarrier(t *testing.T) {
	x := newThreads(2)
	x.Enter(0, 2, x.Region("OpenMP barrier"))
	x.Enter(0, 6, x.Region("OpenMP task"))
	x.Enter(0, 7, x.Region("OpenMP acquire mutex"))
	x.lock(0, 7, trace.LockAcquire, 1)
	x.Leave(0, 8, x.Region("OpenMP acquire mutex"))
	x.lock(0, 14, trace.LockRelease, 1)
	x.Leave(0, 15, x.Region("OpenMP task"))
	x.Leave(0, 41, x.Region("OpenMP barrier"))
	x.call(1, "OpenMP barrier", 20, 42, "", 0)
	r := find(t, format.Recorded(x.Recorder), waits.Options{})
	if len(r.Patterns) != 1 || r.Patterns[0].Pattern != "wait-at-explicit-omp-barrier" || r.Patterns[0].Count != 1 ||
		r.Patterns[0].Time.Int64() != 20-2-9 || len(r.Unjudged) != 0 {
		t.Errorf("found waits %v, and unjudged %v, expected a wait of 9 at the barrier", r.Patterns, r.Unjudged)
	}
}
