package waits_test

import (
	"fmt"
	"testing"

	"github.com/weft-trace/weft/analysis/waits"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// TestNestedLocks checks that waits for a nested lock of OpenMP, or a recursive mutex of POSIX threads, end when its
// holder releases it the last time. In all traces, thread 0 acquires the lock at 0, again before 20, and releases it at
// 40; thread 1 waits from 10 on: for 30.
func TestNestedLocks(t *testing.T) {
	for name, events := range map[string]func(x *threadTrace){
		// Score-P gives the inner acquisition and release the order of the outer ones.
		"records of Score-P": func(x *threadTrace) {
			set := func(thread uint32, enter, leave int64, order uint64) {
				x.Enter(thread, enter, x.Region("omp_set_nest_lock"))
				x.lock(thread, leave, trace.LockAcquire, order)
				x.Leave(thread, leave, x.Region("omp_set_nest_lock"))
			}
			unset := func(thread uint32, t int64, order uint64) {
				x.Enter(thread, t, x.Region("omp_unset_nest_lock"))
				x.lock(thread, t, trace.LockRelease, order)
				x.Leave(thread, t+5, x.Region("omp_unset_nest_lock")) // thread 1 has the lock before
			}
			set(0, 0, 1, 1)
			set(0, 5, 6, 1)
			unset(0, 20, 1)
			unset(0, 40, 1)
			set(1, 10, 41, 2)
			unset(1, 60, 2)
		},
		// The call of thread 0 that releases the mutex at 40 ends when thread 1 has the mutex.
		"calls of POSIX threads": func(x *threadTrace) {
			x.call(0, "pthread_mutex_lock", 0, 1, "mutex", 7)
			x.call(0, "pthread_mutex_lock", 15, 16, "mutex", 7)
			x.call(0, "pthread_mutex_unlock", 20, 21, "mutex", 7)
			x.call(0, "pthread_mutex_unlock", 40, 45, "mutex", 7)
			x.call(1, "pthread_mutex_lock", 10, 41, "mutex", 7)
			x.call(1, "pthread_mutex_unlock", 60, 61, "mutex", 7)
		},
		// EZTrace with OMPT counts requests: the inner one at thread 0 is the third one, and it does not end. The release
		// has the number of the last request.
		"records of EZTrace": func(x *threadTrace) {
			acquire := func(thread uint32, t int64, order uint64) {
				x.Enter(thread, t, x.Region("OpenMP acquire mutex"))
				x.lock(thread, t, trace.LockAcquire, order)
			}
			acquire(0, 0, 1)
			x.Leave(0, 1, x.Region("OpenMP acquire mutex"))
			acquire(0, 15, 3)
			x.lock(0, 40, trace.LockRelease, 3)
			acquire(1, 10, 2)
			x.Leave(1, 41, x.Region("OpenMP acquire mutex"))
			acquire(1, 50, 4)
			x.lock(1, 60, trace.LockRelease, 4)
		},
	} {
		x := newThreads(2)
		events(x)
		r := find(t, format.Recorded(x.Recorder), waits.Options{Worst: 10})
		if len(r.Patterns) != 1 || len(r.Patterns[0].Worst) != 1 {
			t.Errorf("%s: found waits %v, expected one", name, r.Patterns)
			continue
		}
		w := r.Patterns[0].Worst[0]
		found := fmt.Sprintf("%s at %d from %d for %d, cause %d", r.Patterns[0].Pattern, w.Location, w.Begin, w.Time, w.Cause)
		if want := "lock-contention at 1 from 10 for 30, cause 0"; found != want {
			t.Errorf("%s: found %s, expected %s", name, found, want)
		}
	}
}
