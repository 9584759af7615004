package waits_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/weft-trace/weft/analysis/causes"
	"github.com/weft-trace/weft/analysis/criticalpath"
	"github.com/weft-trace/weft/analysis/waits"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
)

// windowTrace is a trace of ranks with a window for one-sided communication.
type windowTrace struct{ *pairOfRanks }

// newWindowTrace returns a trace of n ranks with window 0, without events.
func newWindowTrace(n int) *windowTrace {
	x := &windowTrace{newRanks(n)}
	x.rec.Defs().Windows.Add(trace.Named{ID: "0", Name: "window", Attrs: []trace.Attr{
		{Key: trace.CommunicatorAttribute, Value: trace.Value{Type: trace.CommRef}}}})
	return x
}

// group returns the index of a new set of ranks.
func (w *windowTrace) group(ranks ...int64) uint64 {
	d := w.rec.Defs()
	return uint64(d.Sets.Add(trace.Set{ID: strconv.Itoa(d.Sets.Len()), Kind: "ranks", Members: ranks,
		Attrs: []trace.Attr{{Key: "paradigm", Value: trace.StringValue("mpi")}}}))
}

// callWithEvent adds a call with an event of the window one tick before its end.
func (w *windowTrace) callWithEvent(loc uint32, region string, enter, leave int64, k trace.Kind, ops ...uint64) {
	w.call(loc, region, enter, leave, func() { w.rec.Event(loc, leave-1, k, 0, ops) })
}

// all adds calls of a collective operation with a number, by rank.
func (w *windowTrace) all(region string, number uint64, calls ...[2]int64) {
	for loc, c := range calls {
		w.call(uint32(loc), region, c[0], c[1], func() {
			w.rec.Event(uint32(loc), c[0], trace.RMACollectiveBegin, trace.NoRef, nil)
			w.rec.Event(uint32(loc), c[1]-1, trace.RMACollectiveEnd, 0, []uint64{number, 3, trace.Undefined, 0, 0})
		})
	}
}

func (w *windowTrace) put(loc uint32, enter, leave int64, target uint64) {
	w.callWithEvent(loc, "MPI_Put", enter, leave, trace.RMAPut, target, 8, 1)
}

// sync adds a call of general active target synchronisation.
func (w *windowTrace) sync(loc uint32, region string, enter, leave int64, group uint64) {
	w.callWithEvent(loc, region, enter, leave, trace.RMAGroupSync, 1, group)
}

func (w *windowTrace) lock(loc uint32, enter, leave int64, target, kind uint64) {
	w.callWithEvent(loc, "MPI_Win_lock", enter, leave, trace.RMALockAcquire, target, 0, kind)
}

func (w *windowTrace) unlock(loc uint32, enter, leave int64, target uint64) {
	w.callWithEvent(loc, "MPI_Win_unlock", enter, leave, trace.RMALockRelease, target, 0)
}

// windowTests holds traces of one-sided communication with their waits, sorted. The comments give the
// calculation of each wait.
var windowTests = []struct {
	name   string
	ranks  int
	events func(x *windowTrace)
	want   []string
}{
	// In the calls that create and free the window, all ranks wait for rank 1, which begins them at 40
	// and 340: 40 - 10, 40 - 20, 340 - 300, 340 - 310. At the fence, they wait for rank 2, which begins
	// it at 160: 160 - 100, 160 - 130. Rank 1 has put into the memory of rank 0 until 125, which is 25
	// after rank 0 began the fence.
	{"collective", 3, func(x *windowTrace) {
		create, _ := trace.OperationNumber("create-handle")
		destroy, _ := trace.OperationNumber("destroy-handle")
		x.all("MPI_Win_create", create, [2]int64{10, 50}, [2]int64{40, 51}, [2]int64{20, 52})
		x.put(1, 110, 125, 0)
		x.all("MPI_Win_fence", 0, [2]int64{100, 170}, [2]int64{130, 171}, [2]int64{160, 172})
		x.all("MPI_Win_free", destroy, [2]int64{300, 350}, [2]int64{340, 351}, [2]int64{310, 352})
	}, []string{"early-rma-fence at 0 from 100 for 25, cause 1", "wait-at-rma-create at 0 from 10 for 30, cause 1",
		"wait-at-rma-create at 2 from 20 for 20, cause 1", "wait-at-rma-fence at 0 from 100 for 60, cause 2",
		"wait-at-rma-fence at 1 from 130 for 30, cause 2", "wait-at-rma-free at 0 from 300 for 40, cause 1",
		"wait-at-rma-free at 2 from 310 for 30, cause 1"}},
	// The records name no operation, or name a barrier for each call. So the names of the calls
	// determine the operation.
	{"names", 2, func(x *windowTrace) {
		x.all("MPI_Win_allocate", trace.Undefined, [2]int64{10, 30}, [2]int64{20, 31})
		x.all("MPI_Win_fence", trace.Undefined, [2]int64{110, 130}, [2]int64{120, 131})
		x.all("MPI_Win_free", 0, [2]int64{210, 230}, [2]int64{220, 231})
	}, []string{"wait-at-rma-create at 0 from 10 for 10, cause 1", "wait-at-rma-fence at 0 from 110 for 10, cause 1",
		"wait-at-rma-free at 0 from 210 for 10, cause 1"}},
	// A fence need not synchronise. Rank 0 leaves the fence at 115, before rank 1 begins it: 115 - 110.
	{"fence that does not synchronise", 2, func(x *windowTrace) {
		x.all("MPI_Win_fence", 0, [2]int64{110, 115}, [2]int64{120, 131})
	}, []string{"wait-at-rma-fence at 0 from 110 for 5, cause 1"}},
	// Rank 0 puts until 128, in the next epoch. That put does not belong to the fence that rank 1 entered at 100.
	{"put after the fence", 2, func(x *windowTrace) {
		x.all("MPI_Win_fence", 0, [2]int64{120, 124}, [2]int64{100, 130})
		x.put(0, 125, 128, 1)
		x.all("MPI_Win_fence", 0, [2]int64{140, 150}, [2]int64{141, 151})
	}, []string{"wait-at-rma-fence at 0 from 140 for 1, cause 1", "wait-at-rma-fence at 1 from 100 for 20, cause 0"}},
	// Rank 0 starts its accesses at 10, and rank 1 posts its memory at 30: 30 - 10. Rank 1 waits from
	// 45 until rank 0 completes at 52, which is 7. The put ends at 48, which leaves 4 of this wait for
	// the late completion.
	{"start that blocks", 2, func(x *windowTrace) {
		x.sync(0, "MPI_Win_start", 10, 40, x.group(1))
		x.put(0, 41, 48, 1)
		x.sync(0, "MPI_Win_complete", 52, 60, x.group(1))
		x.sync(1, "MPI_Win_post", 30, 41, x.group(0))
		x.sync(1, "MPI_Win_wait", 45, 62, x.group(0))
	}, []string{"early-wait at 1 from 45 for 7, cause 0", "late-complete at 1 from 48 for 4, cause 0",
		"late-post at 0 from 10 for 20, cause 1"}},
	// The start returns at once. The put to rank 1 waits from 13 until rank 1 posts at 30, which is 17.
	// The put to rank 2 does not wait. The completion waits from 36 until rank 2 posts at 45, which is
	// 9. Rank 1 waits from 34 for the completion at 36. The put has ended at 33, so that the whole wait
	// of 2 is also a late completion. Rank 2 does not wait.
	{"put that blocks, and completion", 3, func(x *windowTrace) {
		x.sync(0, "MPI_Win_start", 10, 12, x.group(1, 2))
		x.put(0, 13, 33, 1)
		x.put(0, 34, 35, 2)
		x.sync(0, "MPI_Win_complete", 36, 50, x.group(1, 2))
		x.sync(1, "MPI_Win_post", 30, 34, x.group(0)) // MPI_Win_post ends after the put
		x.sync(1, "MPI_Win_wait", 34, 60, x.group(0))
		x.sync(2, "MPI_Win_post", 45, 46, x.group(0))
		x.sync(2, "MPI_Win_wait", 47, 60, x.group(0))
	}, []string{"early-wait at 1 from 34 for 2, cause 0", "late-complete at 1 from 34 for 2, cause 0",
		"late-post at 0 from 13 for 17, cause 1", "late-post at 0 from 36 for 9, cause 2"}},
	// There are two origins, and all posts are early. Rank 2 waits from 20 for rank 1, which completes
	// at 50: 30. The put of rank 1 has ended at 35, which leaves 15 for the late completion.
	{"two origins, twice", 3, func(x *windowTrace) {
		for _, t := range []int64{0, 1000} {
			x.sync(0, "MPI_Win_start", t+10, t+12, x.group(2))
			x.put(0, t+13, t+30, 2)
			x.sync(0, "MPI_Win_complete", t+31, t+32, x.group(2))
			x.sync(1, "MPI_Win_start", t+10, t+12, x.group(2))
			x.put(1, t+13, t+35, 2)
			x.sync(1, "MPI_Win_complete", t+50, t+52, x.group(2))
			x.sync(2, "MPI_Win_post", t+1, t+3, x.group(0, 1))
			x.sync(2, "MPI_Win_wait", t+20, t+60, x.group(0, 1))
		}
	}, []string{"early-wait at 2 from 1020 for 30, cause 1", "early-wait at 2 from 20 for 30, cause 1",
		"late-complete at 2 from 1035 for 15, cause 1", "late-complete at 2 from 35 for 15, cause 1"}},
	// A test does not wait.
	{"test", 2, func(x *windowTrace) {
		x.sync(0, "MPI_Win_start", 10, 12, x.group(1))
		x.sync(0, "MPI_Win_complete", 50, 52, x.group(1))
		x.sync(1, "MPI_Win_post", 1, 3, x.group(0))
		x.call(1, "MPI_Win_test", 46, 48, func() {}) // rank 0 still accesses the memory
		x.sync(1, "MPI_Win_test", 49, 60, x.group(0))
	}, nil},
	// Rank 0 holds the lock of rank 2 until 21. Rank 1 requests this lock at 5: 21 - 5. Rank 2 locks
	// rank 1, for which no other rank waits.
	{"exclusive lock", 3, func(x *windowTrace) {
		x.lock(0, 0, 2, 2, 0)
		x.unlock(0, 20, 22, 2)
		x.lock(1, 5, 24, 2, 0)
		x.unlock(1, 30, 32, 2)
		x.lock(2, 6, 8, 1, 0)
		x.unlock(2, 9, 11, 1)
	}, []string{"rma-lock-contention at 1 from 5 for 16, cause 0"}},
	// The calls that lock return at once. Rank 1 waits in its put, from 7 until rank 0 releases the
	// lock at 21. Rank 2 waits in the call that unlocks, from 12 until rank 1 releases the lock at 31.
	{"late waits for a lock", 4, func(x *windowTrace) {
		x.lock(0, 0, 2, 3, 0)
		x.unlock(0, 20, 22, 3)
		x.lock(1, 4, 6, 3, 0)
		x.put(1, 7, 25, 3)
		x.unlock(1, 30, 32, 3)
		x.lock(2, 5, 7, 3, 0)
		x.put(2, 8, 10, 3)
		x.unlock(2, 12, 41, 3)
	}, []string{"rma-lock-contention at 1 from 7 for 14, cause 0", "rma-lock-contention at 2 from 12 for 19, cause 1"}},
	// Rank 0 records the release at 20. The call of rank 1 ends at 21, before the call of rank 0 that
	// contains this event.
	{"release recorded late", 3, func(x *windowTrace) {
		x.lock(0, 0, 2, 2, 0)
		x.call(0, "MPI_Win_unlock", 18, 25, func() { x.rec.Event(0, 20, trace.RMALockRelease, 0, []uint64{2, 0}) })
		x.lock(1, 5, 21, 2, 0)
		x.unlock(1, 30, 32, 2)
	}, []string{"rma-lock-contention at 1 from 5 for 15, cause 0"}},
	// Rank 0 records the release at 24, when its call ends. Rank 1 has acquired the lock before that,
	// at 21, and waits until then: 21 - 5. It does not wait in the put that begins at 22, although the
	// event of the release lies in the time of that put.
	{"lock before the release is recorded", 3, func(x *windowTrace) {
		x.lock(0, 0, 2, 2, 0)
		x.call(0, "MPI_Win_unlock", 18, 25, func() { x.rec.Event(0, 24, trace.RMALockRelease, 0, []uint64{2, 0}) })
		x.lock(1, 5, 21, 2, 0)
		x.put(1, 22, 26, 2)
		x.unlock(1, 30, 32, 2)
	}, []string{"rma-lock-contention at 1 from 5 for 16, cause 0"}},
	// Rank 1 computes until 20. The put of rank 0 waits for its call of MPI: 20 - 3. The put from 30 to 32 ends before
	// rank 1 calls MPI again at 40. Rank 0 unlocks from 38 on, and waits until 40, although that call of rank 1 ends
	// later.
	{"progress", 3, func(x *windowTrace) {
		x.lock(0, 0, 2, 1, 0)
		x.put(0, 3, 25, 1)
		x.lock(1, 20, 22, 2, 0)
		x.put(0, 30, 32, 1)
		x.unlock(0, 38, 45, 1)
		x.unlock(1, 40, 60, 2)
	}, []string{"wait-for-progress at 0 from 3 for 17, cause 1", "wait-for-progress at 0 from 38 for 2, cause 1"}},
	// Rank 1 is in a call of MPI when the put of rank 0 begins, so that the put does not wait for the next one.
	{"progress in a call", 3, func(x *windowTrace) {
		x.lock(0, 0, 2, 1, 0)
		x.lock(1, 0, 5, 2, 0)
		x.put(0, 3, 25, 1)
		x.unlock(0, 26, 27, 1)
		x.unlock(1, 10, 11, 2)
	}, nil},
	// Rank 1 computes until 20. The put of rank 0 returns at once, and its flush waits for the call of rank 1: 20 - 6. The
	// second flush completes nothing.
	{"progress in a flush", 3, func(x *windowTrace) {
		x.lock(0, 0, 2, 1, 1)
		x.put(0, 3, 5, 1)
		x.callWithEvent(0, "MPI_Win_flush", 6, 25, trace.RMACompleteRemote, 1)
		x.call(0, "MPI_Win_flush", 26, 27, func() {})
		x.lock(1, 20, 22, 2, 0)
		x.unlock(0, 38, 39, 1)
		x.unlock(1, 40, 60, 2)
	}, []string{"wait-for-progress at 0 from 6 for 14, cause 1"}},
	// Rank 0 accesses the memory of ranks 1 and 2, which compute until 40 and 85. Its flush waits for both: 85 - 16.
	{"progress of several targets", 3, func(x *windowTrace) {
		x.lock(0, 10, 12, trace.Undefined, 1)
		x.put(0, 13, 14, 1)
		x.callWithEvent(0, "MPI_Put", 14, 15, trace.RMAPut, 2, 8, 2)
		x.call(0, "MPI_Win_flush_all", 16, 90, func() {
			x.rec.Event(0, 88, trace.RMACompleteRemote, 0, []uint64{1})
			x.rec.Event(0, 89, trace.RMACompleteRemote, 0, []uint64{2})
		})
		x.unlock(0, 91, 92, trace.Undefined)
		x.lock(1, 40, 42, 0, 0)
		x.unlock(1, 100, 102, 0)
		x.lock(2, 85, 87, 0, 1)
		x.unlock(2, 93, 95, 0)
	}, []string{"wait-for-progress at 0 from 16 for 69, cause 2"}},
	// Rank 0 holds the lock until 30. The lock and the put of rank 1 return at once, and its call that completes the put
	// at rank 1 waits for the lock: 30 - 16. The put ends at rank 2 in the call that unlocks.
	{"lock in a flush", 3, func(x *windowTrace) {
		x.lock(0, 0, 2, 2, 0)
		x.unlock(0, 20, 31, 2)
		x.lock(1, 10, 11, 2, 0)
		x.put(1, 12, 14, 2)
		x.callWithEvent(1, "MPI_Win_flush_local", 16, 35, trace.RMACompleteNonBlocking, 1)
		x.call(1, "MPI_Win_unlock", 40, 45, func() {
			x.rec.Event(1, 43, trace.RMACompleteRemote, 0, []uint64{1})
			x.rec.Event(1, 44, trace.RMALockRelease, 0, []uint64{2, 0})
		})
	}, []string{"rma-lock-contention at 1 from 16 for 14, cause 0"}},
	// Rank 2 holds the lock until 9. Rank 0 waits for that and for rank 1, which calls MPI at 20: 20 - 5. The wait of
	// rank 3 for the lock until 31 is longer than that for the call of rank 1 at 30: 31 - 26.
	{"progress and lock", 4, func(x *windowTrace) {
		x.lock(2, 0, 2, 1, 0)
		x.unlock(2, 8, 10, 1)
		x.lock(0, 5, 24, 1, 0)
		x.lock(1, 20, 22, 2, 0)
		x.lock(3, 26, 40, 1, 0)
		x.unlock(1, 30, 34, 2)
		x.unlock(0, 30, 32, 1)
		x.unlock(3, 41, 42, 1)
	}, []string{"rma-lock-contention at 3 from 26 for 5, cause 0", "wait-for-progress at 0 from 5 for 15, cause 1"}},
	// Both ranks unlock at the same time. So neither waits in that call for the later release by the
	// other rank.
	{"overlapping releases", 3, func(x *windowTrace) {
		x.lock(0, 0, 2, 2, 0)
		x.call(0, "MPI_Win_unlock", 18, 30, func() { x.rec.Event(0, 20, trace.RMALockRelease, 0, []uint64{2, 0}) })
		x.lock(1, 5, 10, 2, 0)
		x.call(1, "MPI_Win_unlock", 19, 31, func() { x.rec.Event(1, 25, trace.RMALockRelease, 0, []uint64{2, 0}) })
	}, []string{"rma-lock-contention at 1 from 19 for 1, cause 0"}},
	// Rank 0 releases the lock at 31, in a call that lasts until 40. Rank 1 waits from 20 to 31, and
	// holds the lock from 33 to 35, during the call of rank 0. Rank 0 does not wait for rank 1.
	{"epoch in another call", 3, func(x *windowTrace) {
		x.lock(0, 0, 2, 2, 0)
		x.call(0, "MPI_Win_unlock", 30, 40, func() { x.rec.Event(0, 31, trace.RMALockRelease, 0, []uint64{2, 0}) })
		x.lock(1, 20, 33, 2, 0)
		x.unlock(1, 34, 36, 2)
	}, []string{"rma-lock-contention at 1 from 20 for 11, cause 0"}},
	// Ranks that share a lock do not wait for each other. It does not matter whether the call that
	// releases the lock ends before or after the call that acquires it.
	{"only shared", 3, func(x *windowTrace) {
		x.lock(0, 0, 2, 2, 1)
		x.unlock(0, 10, 12, 2)
		x.lock(1, 5, 14, 2, 1)
		x.unlock(1, 20, 22, 2)
		x.lock(0, 30, 32, 2, 1)
		x.call(0, "MPI_Win_unlock", 39, 45, func() { x.rec.Event(0, 41, trace.RMALockRelease, 0, []uint64{2, 0}) })
		x.lock(1, 35, 43, 2, 1)
		x.unlock(1, 50, 52, 2)
	}, nil},
	// Ranks 0 and 1 share the lock until 11 and 31. Rank 2 requests the exclusive lock at 6. Rank 0
	// requests the shared lock again at 35, and rank 2 releases the exclusive one at 41.
	{"shared lock", 4, func(x *windowTrace) {
		x.lock(0, 0, 2, 3, 1)
		x.unlock(0, 10, 12, 3)
		x.lock(1, 1, 3, 3, 1)
		x.unlock(1, 30, 32, 3)
		x.lock(2, 6, 34, 3, 0)
		x.unlock(2, 40, 42, 3)
		x.lock(0, 35, 44, 3, 1)
		x.unlock(0, 50, 52, 3)
	}, []string{"rma-lock-contention at 0 from 35 for 6, cause 2", "rma-lock-contention at 2 from 6 for 25, cause 1"}},
}

// windowWaits returns the waits of a trace as texts, sorted.
func windowWaits(t *testing.T, x *windowTrace) (found []string) {
	_, r := x.judge(t)
	for _, p := range r.Patterns {
		for _, w := range p.Worst {
			found = append(found, fmt.Sprintf("%s at %d from %d for %d, cause %d", p.Pattern, w.Location, w.Begin, w.Time,
				w.Cause))
		}
	}
	if len(r.Unjudged) > 0 || r.Violations.Operations > 0 {
		t.Errorf("found %+v, %+v, expected none", r.Unjudged, r.Violations)
	}
	slices.Sort(found)
	return found
}

// TestWindows checks the waits of one-sided communication. It also checks that the costs of the waits
// add up to their length.
func TestWindows(t *testing.T) {
	for _, test := range windowTests {
		t.Run(test.name, func(t *testing.T) {
			x := newWindowTrace(test.ranks)
			test.events(x)
			if found := windowWaits(t, x); !slices.Equal(found, test.want) {
				t.Errorf("found %q, expected %q", found, test.want)
			}
			c, err := causes.Find(context.Background(), format.Recorded(x.rec), causes.Options{})
			if err != nil {
				t.Fatal(err)
			}
			_, r := x.judge(t)
			waiting := 0.0
			for _, p := range c.Patterns {
				waiting += p.ShortTerm + p.LongTerm
			}
			if math.Abs(waiting-r.Waiting.Float()) > 1e-6 {
				t.Errorf("found costs of %v, expected %v", waiting, r.Waiting)
			}
		})
	}
}

// TestUnjudgedWindows checks that calls of one-sided synchronisation without records, or without the calls of
// the other side, are counted: a fence without a record; a start, a completion and a post whose group the
// trace does not define, with their wait; a lock that is never released.
func TestUnjudgedWindows(t *testing.T) {
	for _, test := range []struct {
		name   string
		events func(x *windowTrace)
		want   string
	}{
		{"fence", func(x *windowTrace) {
			x.call(0, "MPI_Win_fence", 10, 20, func() {})
			x.call(1, "MPI_Win_fence", 12, 20, func() {})
		}, "2 calls of one-sided synchronisation: no events are recorded inside, so the window and the partners are unknown"},
		{"group", func(x *windowTrace) {
			x.sync(0, "MPI_Win_start", 10, 12, 99)
			x.sync(0, "MPI_Win_complete", 13, 15, 99)
			x.sync(1, "MPI_Win_post", 10, 12, trace.Undefined)
			x.sync(1, "MPI_Win_wait", 13, 15, trace.Undefined)
		}, "4 calls of one-sided synchronisation: " +
			"the calls of the other side or the end are missing, or the group is unknown"},
		{"lock", func(x *windowTrace) { x.lock(0, 10, 12, 1, 0) }, "1 calls of one-sided synchronisation: " +
			"the calls of the other side or the end are missing, or the group is unknown"},
	} {
		x := newWindowTrace(2)
		test.events(x)
		found, r := x.judge(t)
		if len(found) > 0 || len(r.Unjudged) != 1 || r.Missing() == "" {
			t.Errorf("%s: found %q, %+v", test.name, found, r.Unjudged)
			continue
		}
		u := r.Unjudged[0]
		if text := fmt.Sprintf("%d %s: %s", u.Count, u.What, u.Reason); text != test.want {
			t.Errorf("%s: found %q, expected %q", test.name, text, test.want)
		}
	}
}

// TestArchiveOfWindows checks the waits and costs of the archive that testdata/make_rma.py wrote with OTF2's
// library, in the order of path and location. The comments of make_rma.py have the times.
//
// The costs follow from the time that the causing rank spent since the two ranks last met, minus the time that the
// waiting rank spent in the same regions:
//
//   - wait-at-rma-create: rank 0 waits 40 and rank 2 waits 20 for rank 1, which has worked as much longer: 60.
//   - late-post: rank 0 left the fence at 310, and rank 1 at 311. Until 370, rank 1 was in the fence for 1 and
//     worked 59. Rank 0 worked 10. The difference is 49 of work and 1 of the fence.
//   - early-wait: the ranks met in the start, until 375. Rank 0 was then in the start for 5 and in the put for 30, and
//     rank 1 in neither. Rank 1 worked longer than rank 0. The wait of 20 is divided: 20 · 5/35 and 20 · 30/35.
//   - rma-lock-contention: the ranks met in the wait, after 430. Rank 0 worked 45 longer than rank 1, and was in the
//     lock for 5 and in the unlock for 10. The wait of 50 is divided in this proportion: 50/60 of each.
func TestArchiveOfWindows(t *testing.T) {
	events := open(t, "testdata/rma/traces.otf2")
	r := find(t, events, waits.Options{Worst: 3})
	var found []string
	for _, p := range r.Patterns {
		for _, w := range p.Worst {
			found = append(found, fmt.Sprintf("%s %d %d %d", p.Pattern, w.Location, w.Begin, w.Time))
		}
	}
	want := []string{"wait-at-rma-create 0 100 40", "wait-at-rma-create 2 120 20", "wait-at-rma-free 0 600 50",
		"wait-at-rma-free 1 620 30", "wait-at-rma-fence 0 210 90", "wait-at-rma-fence 1 240 60", "early-rma-fence 0 210 20",
		"late-post 0 320 50", "early-wait 1 400 20", "late-complete 1 410 10", "rma-lock-contention 1 520 50"}
	if !slices.Equal(found, want) || len(r.Unjudged) > 0 || r.Violations != (waits.Violations{}) {
		t.Errorf("found %q, %+v, %+v, expected %q", found, r.Unjudged, r.Violations, want)
	}
	c, err := causes.Find(context.Background(), events, causes.Options{Rows: trace.NewRows(events.Defs())})
	if err != nil {
		t.Fatal(err)
	}
	costs := map[string]float64{}
	for _, p := range c.Patterns {
		for _, x := range p.Costs {
			if p.Pattern != "wait-at-rma-fence" && p.Pattern != "wait-at-rma-free" {
				costs[fmt.Sprint(p.Pattern, " ", x.Path[len(x.Path)-1], " ", x.Location)] = x.ShortTerm + x.LongTerm
			}
		}
	}
	for name, cost := range map[string]float64{"wait-at-rma-create work 1": 60, "late-post work 1": 49,
		"late-post MPI_Win_fence 1": 1, "early-wait MPI_Win_start 0": 20 * 5.0 / 35, "early-wait MPI_Put 0": 20 * 30.0 / 35,
		"rma-lock-contention work 0": 37.5, "rma-lock-contention MPI_Win_lock 0": 25.0 / 6,
		"rma-lock-contention MPI_Win_unlock 0": 50.0 / 6} {
		if math.Abs(costs[name]-cost) > 1e-9 {
			t.Errorf("%s: found %v, expected %v", name, costs[name], cost)
		}
		delete(costs, name)
	}
	if len(costs) > 0 {
		t.Errorf("found %v, expected no further costs", costs)
	}
}

// TestAnyWindowEvents checks that waits lie in calls and that costs add up to them for events of one-sided
// communication in any order and with any operands.
func TestAnyWindowEvents(t *testing.T) {
	kinds := []trace.Kind{trace.RMACollectiveBegin, trace.RMACollectiveEnd, trace.RMAGroupSync, trace.RMAGroupSync,
		trace.RMALockRequest, trace.RMALockAcquire, trace.RMALockRelease, trace.RMAPut, trace.RMAGet, trace.RMAAtomic,
		trace.WindowCreate, trace.RMASync, trace.Send, trace.Recv, trace.CollectiveBegin, trace.CollectiveEnd}
	names := []string{"MPI_Win_post", "MPI_Win_start", "MPI_Win_complete", "MPI_Win_wait", "MPI_Win_test",
		"MPI_Win_lock", "MPI_Win_fence", "MPI_Put", "MPI_Win_unlock", "work"}
	n := 0
	for seed := range uint64(effort.Rounds(600)) {
		r := rand.New(rand.NewPCG(seed, 9))
		x := newWindowTrace(3)
		x.group(0, 1)
		x.group(2)
		any := func(n uint64) uint64 {
			if r.IntN(8) == 0 {
				return []uint64{trace.Undefined, 1 << 40, 5}[r.IntN(3)]
			}
			return r.Uint64N(n)
		}
		for loc := range uint32(3) {
			at := int64(0)
			for range 5 + r.IntN(60) {
				at += r.Int64N(8)
				region := x.mpi(names[r.IntN(len(names))])
				bare := r.IntN(10) == 0
				if !bare {
					x.rec.Enter(loc, at, region)
				}
				for range r.IntN(3) {
					at += r.Int64N(5)
					window := uint32(0)
					if r.IntN(10) == 0 {
						window = []uint32{trace.NoRef, 7}[r.IntN(2)]
					}
					ops := []uint64{any(3), any(4), any(2), any(2), any(2)}
					x.rec.Event(loc, at, kinds[r.IntN(len(kinds))], window, ops[:r.IntN(6)])
				}
				at += r.Int64N(5)
				if !bare {
					x.rec.Leave(loc, at, region)
				}
			}
		}
		events := format.Recorded(x.rec)
		n += checkCalls(t, x.rec, events)
		c, err := causes.Find(t.Context(), events, causes.Options{Rows: trace.NewRows(events.Defs())})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range c.Patterns {
			if math.Abs(p.ShortTerm+p.LongTerm-p.Waiting.Float()) > 1e-6*p.Waiting.Float() {
				t.Errorf("%d: %s: found costs of %v + %v, expected %v", seed, p.Pattern, p.ShortTerm, p.LongTerm, p.Waiting)
			}
		}
		if _, err := criticalpath.Find(t.Context(), events, criticalpath.Options{Gains: 2}); err != nil {
			t.Fatal(err)
		}
	}
	if n == 0 {
		t.Error("found no waits, expected some")
	}
}
