package waits_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weft-trace/weft/analysis/causes"
	"github.com/weft-trace/weft/analysis/criticalpath"
	"github.com/weft-trace/weft/analysis/efficiency"
	"github.com/weft-trace/weft/analysis/waits"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// threadTrace is a trace of a process with threads.
type threadTrace struct {
	*trace.Recorder
}

// newThreads returns a trace of a process with n threads, without events.
func newThreads(n int) *threadTrace {
	x := &threadTrace{trace.NewRecorder(trace.TicksPerSecond(1e6))}
	process := x.Process("process", x.Machine("machine"))
	for i := range n {
		x.Thread(fmt.Sprint("thread ", i), process)
	}
	return x
}

// call adds a visit of the region name. If attribute is not "", the visit has an attribute with this name that
// identifies the object.
func (tt *threadTrace) call(thread uint32, name string, enter, leave int64, attribute string, object uint64) {
	tt.Enter(thread, enter, tt.Region(name), attributesOf(attribute, object)...)
	tt.Leave(thread, leave, tt.Region(name))
}

func attributesOf(name string, object uint64) []trace.Attr {
	if name == "" {
		return nil
	}
	return []trace.Attr{{Key: name, Value: trace.Value{Num: object, Type: trace.Uint64}}}
}

// lock adds the acquisition or release of a lock of OpenMP as an event, with an order.
func (tt *threadTrace) lock(thread uint32, t int64, k trace.Kind, order uint64) {
	const openMP = 3
	tt.Event(thread, t, k, trace.NoRef, []uint64{0, order, openMP})
}

// end adds the end of a thread. The number of the thread in the communicator equals the index of its
// location.
func (tt *threadTrace) end(thread uint32, t int64, communicator uint64) {
	tt.Event(thread, t, trace.ThreadEnd, trace.NoRef, []uint64{communicator, uint64(thread)})
}

// TestCallsOfLocks checks waits for locks, conditions and barriers of threads that the trace records
// only as calls. The comments give the times.
func TestCallsOfLocks(t *testing.T) {
	const mutex = 0x7f0000001000
	for _, test := range []struct {
		name    string
		threads int
		events  func(x *threadTrace)
		want    []string
	}{
		// Thread 0 holds the mutex from 1 to 20. Thread 1 requests it at 5 and acquires it at 21,
		// before the call of thread 0 that releases it ends. Thread 2 uses another mutex, which is
		// free.
		{"mutex", 3, func(x *threadTrace) {
			x.call(0, "pthread_mutex_lock", 0, 1, "mutex", mutex)
			x.call(0, "pthread_mutex_unlock", 20, 22, "mutex", mutex)
			x.call(1, "pthread_mutex_lock", 5, 21, "mutex", mutex)
			x.call(1, "pthread_mutex_unlock", 30, 31, "mutex", mutex)
			x.call(2, "pthread_mutex_lock", 4, 9, "mutex", mutex+64)
			x.call(2, "pthread_mutex_unlock", 10, 11, "mutex", mutex+64)
		}, []string{"lock-contention at 1 from 5 for 15, cause 0"}},
		// Thread 1 requests the mutex at 5. The trace ends before thread 1 acquires it.
		{"mutex at the end", 2, func(x *threadTrace) {
			x.call(0, "pthread_mutex_lock", 0, 1, "mutex", mutex)
			x.Enter(1, 5, x.Region("pthread_mutex_lock"), attributesOf("mutex", mutex)...)
			x.call(0, "pthread_mutex_unlock", 20, 22, "mutex", mutex)
		}, nil},
		// Without the attribute, the mutex is unknown.
		{"unknown mutex", 2, func(x *threadTrace) {
			x.call(0, "pthread_mutex_lock", 0, 1, "", 0)
			x.call(0, "pthread_mutex_unlock", 20, 22, "", 0)
			x.call(1, "pthread_mutex_lock", 5, 21, "", 0)
		}, nil},
		// Threads 1 and 2 request a read lock at 3 and 4, and acquire it when thread 0 releases its
		// write lock at 10. Thread 0 requests the write lock again at 12, and acquires it after thread
		// 2 has released the last read lock at 16.
		{"read lock", 3, func(x *threadTrace) {
			x.call(0, "pthread_rwlock_wrlock", 0, 1, "rwlock", 1)
			x.call(0, "pthread_rwlock_unlock", 10, 11, "rwlock", 1)
			x.call(1, "pthread_rwlock_rdlock", 3, 11, "rwlock", 1)
			x.call(2, "pthread_rwlock_rdlock", 4, 12, "rwlock", 1)
			x.call(0, "pthread_rwlock_wrlock", 12, 17, "rwlock", 1)
			x.call(1, "pthread_rwlock_unlock", 14, 15, "rwlock", 1)
			x.call(2, "pthread_rwlock_unlock", 16, 17, "rwlock", 1)
		}, []string{"lock-contention at 0 from 12 for 4, cause 2", "lock-contention at 1 from 3 for 7, cause 0",
			"lock-contention at 2 from 4 for 6, cause 0"}},
		// Threads 1 and 2 request a read lock at 3 and 4, and can have it when thread 0 releases its write lock at 10. It
		// does not matter that thread 1 releases its read lock before thread 2 has got its one.
		{"read locks", 3, func(x *threadTrace) {
			x.call(0, "pthread_rwlock_wrlock", 0, 1, "rwlock", 1)
			x.call(0, "pthread_rwlock_unlock", 10, 11, "rwlock", 1)
			x.call(1, "pthread_rwlock_rdlock", 3, 11, "rwlock", 1)
			x.call(1, "pthread_rwlock_unlock", 14, 15, "rwlock", 1)
			x.call(2, "pthread_rwlock_rdlock", 4, 16, "rwlock", 1)
			x.call(2, "pthread_rwlock_unlock", 18, 19, "rwlock", 1)
		}, []string{"lock-contention at 1 from 3 for 7, cause 0", "lock-contention at 2 from 4 for 6, cause 0"}},
		// The condition is signalled at 30, and the semaphore is posted at 42.
		{"condition and semaphore", 2, func(x *threadTrace) {
			x.call(0, "pthread_cond_wait", 10, 31, "cond", 1)
			x.call(1, "pthread_cond_signal", 30, 32, "cond", 1)
			x.call(1, "sem_wait", 40, 43, "sem", 2)
			x.call(0, "sem_post", 42, 44, "sem", 2)
		}, []string{"lock-contention at 0 from 10 for 20, cause 1", "lock-contention at 1 from 40 for 2, cause 0"}},
		// Thread 0 waits for the condition from 10 on, which is signalled at 30. It does not have the mutex meanwhile:
		// thread 1 gets it at once, and releases it at 33. Thread 0 has it again at 36, and thread 1 waits for it from 38
		// to 40.
		{"mutex of a condition", 2, func(x *threadTrace) {
			x.call(0, "pthread_mutex_lock", 5, 6, "mutex", 7)
			wait := x.Region("pthread_cond_wait")
			x.Enter(0, 10, wait, append(attributesOf("mutex", 7), attributesOf("cond", 1)...)...)
			x.Leave(0, 36, wait)
			x.call(0, "pthread_mutex_unlock", 40, 41, "mutex", 7)
			x.call(1, "pthread_mutex_lock", 20, 22, "mutex", 7)
			x.call(1, "pthread_cond_signal", 30, 32, "cond", 1)
			x.call(1, "pthread_mutex_unlock", 33, 34, "mutex", 7)
			x.call(1, "pthread_mutex_lock", 38, 42, "mutex", 7)
		}, []string{"lock-contention at 0 from 10 for 23, cause 1", "lock-contention at 1 from 38 for 2, cause 0"}},
		// Three threads arrive at a critical section at 0, 3 and 4. They leave it at 10, 18 and 25.
		// Each thread begins its section when the previous one leaves.
		{"critical section", 3, func(x *threadTrace) {
			x.call(0, "OpenMP critical", 0, 10, "", 0)
			x.call(1, "OpenMP critical", 3, 18, "", 0)
			x.call(2, "OpenMP critical", 4, 25, "", 0)
		}, []string{"lock-contention at 1 from 3 for 7, cause 0", "lock-contention at 2 from 4 for 14, cause 1"}},
		// Three threads come to an ordered section at 10, 20 and 30. They leave it at 40, 60 and 70.
		{"ordered section", 3, func(x *threadTrace) {
			x.call(0, "!$omp ordered @loop.c:7", 10, 40, "", 0)
			x.call(1, "!$omp ordered @loop.c:7", 20, 60, "", 0)
			x.call(2, "!$omp ordered @loop.c:7", 30, 70, "", 0)
		}, []string{"lock-contention at 1 from 20 for 20, cause 0", "lock-contention at 2 from 30 for 30, cause 1"}},
		// The recorder writes an acquisition when the wait for the lock begins, and counts these
		// acquisitions. So a release has the order of the next acquisition. Thread 1 waits from 5 to
		// 20; the event of the release comes at 21. Thread 0 waits from 25 to 40.
		{"wrong orders", 2, func(x *threadTrace) {
			x.Enter(0, 0, x.Region("OpenMP acquire mutex"))
			x.lock(0, 1, trace.LockAcquire, 1)
			x.Leave(0, 2, x.Region("OpenMP acquire mutex"))
			x.Enter(1, 5, x.Region("OpenMP acquire mutex"))
			x.lock(1, 6, trace.LockAcquire, 2)
			x.Leave(1, 20, x.Region("OpenMP acquire mutex"))
			x.lock(0, 21, trace.LockRelease, 2)
			x.Enter(0, 25, x.Region("OpenMP acquire mutex"))
			x.lock(0, 26, trace.LockAcquire, 3)
			x.lock(1, 40, trace.LockRelease, 3)
			x.Leave(0, 41, x.Region("OpenMP acquire mutex"))
			x.lock(0, 50, trace.LockRelease, 3)
		}, []string{"lock-contention at 0 from 25 for 15, cause 1", "lock-contention at 1 from 5 for 15, cause 0"}},
		// Thread 0 has a nested lock, and takes it again from 3 on, at once. The recorder does not write the end of this
		// call, and not the inner release. Thread 1 waits from 10 to 30, and releases the lock at 50.
		{"nested lock", 2, func(x *threadTrace) {
			x.Enter(0, 0, x.Region("OpenMP acquire mutex"))
			x.lock(0, 1, trace.LockAcquire, 1)
			x.Leave(0, 2, x.Region("OpenMP acquire mutex"))
			x.Enter(0, 3, x.Region("OpenMP acquire mutex"))
			x.lock(0, 4, trace.LockAcquire, 2)
			x.lock(0, 30, trace.LockRelease, 3)
			x.Enter(1, 10, x.Region("OpenMP acquire mutex"))
			x.lock(1, 11, trace.LockAcquire, 3)
			x.Leave(1, 31, x.Region("OpenMP acquire mutex"))
			x.lock(1, 50, trace.LockRelease, 3)
			x.call(0, "work", 60, 61, "", 0)
		}, []string{"lock-contention at 1 from 10 for 20, cause 0"}},
		// Thread 0 waits from 5 on for thread 1, which ends at 20, and from 21 on for thread 2, which
		// ends at 30.
		{"joins", 3, func(x *threadTrace) {
			x.call(0, "pthread_join", 5, 21, "", 0)
			x.end(1, 20, trace.Undefined)
			x.call(0, "pthread_join", 21, 31, "", 0)
			x.end(2, 30, trace.Undefined)
		}, []string{"wait-at-join at 0 from 21 for 9, cause 2", "wait-at-join at 0 from 5 for 15, cause 1"}},
		// Thread 0 waits from 5 for thread 2, which ends at 30. Thread 1 ends at 31.
		{"join of a thread that a record names", 3, func(x *threadTrace) {
			x.Enter(0, 5, x.Region("pthread_join"))
			x.Event(0, 31, trace.ThreadWait, trace.NoRef, []uint64{0, 2})
			x.Leave(0, 32, x.Region("pthread_join"))
			x.end(2, 30, 0)
			x.end(1, 31, 0)
		}, []string{"wait-at-join at 0 from 5 for 25, cause 2"}},
		// Thread 1 arrives at the end of a parallel region at 5, and thread 0 at 8. Thread 0 continues,
		// and begins the next region at 30. Thread 1 stays in the barrier until then.
		{"threads that sleep in a barrier", 2, func(x *threadTrace) {
			x.Event(0, 0, trace.ThreadTeamBegin, trace.NoRef, []uint64{trace.Undefined})
			x.call(1, "OpenMP implicit barrier", 5, 31, "", 0)
			x.call(0, "OpenMP implicit barrier", 8, 9, "", 0)
			x.Event(0, 10, trace.ThreadTeamEnd, trace.NoRef, []uint64{trace.Undefined})
			x.Event(0, 30, trace.ThreadTeamBegin, trace.NoRef, []uint64{trace.Undefined})
		}, []string{"wait-at-implicit-omp-barrier at 1 from 5 for 25, cause 0"}},
		// Thread 0 arrives at the barrier at 2, executes a task from 3 to 12, and waits until thread 1
		// arrives at 20.
		{"a task in a barrier", 2, func(x *threadTrace) {
			x.Enter(0, 2, x.Region("OpenMP barrier"))
			x.call(0, "OpenMP task", 3, 12, "", 0)
			x.Leave(0, 21, x.Region("OpenMP barrier"))
			x.call(1, "OpenMP barrier", 20, 22, "", 0)
		}, []string{"wait-at-explicit-omp-barrier at 0 from 2 for 9, cause 1"}},
		// Thread 0 waits from 2 to 6, executes a task until 9, and waits until it begins another one at 15. Thread 1
		// arrives at 20, while thread 0 executes that task until 40. The wait is 20 - 2 - 3 - 5.
		{"tasks before and after the arrival of the last thread", 2, func(x *threadTrace) {
			x.Enter(0, 2, x.Region("OpenMP barrier"))
			x.call(0, "OpenMP task", 6, 9, "", 0)
			x.call(0, "OpenMP task", 15, 40, "", 0)
			x.Leave(0, 41, x.Region("OpenMP barrier"))
			x.call(1, "OpenMP barrier", 20, 42, "", 0)
		}, []string{"wait-at-explicit-omp-barrier at 0 from 2 for 10, cause 1"}},
		// Threads 0 and 1 meet twice in a barrier. Thread 1 arrives last the first time, and thread 0 the second
		// time. At the same time, thread 2 is alone in another barrier.
		{"barrier with an address", 3, func(x *threadTrace) {
			x.call(0, "pthread_barrier_wait", 0, 8, "barrier", 1)
			x.call(1, "pthread_barrier_wait", 7, 9, "barrier", 1)
			x.call(1, "pthread_barrier_wait", 10, 31, "barrier", 1)
			x.call(0, "pthread_barrier_wait", 30, 32, "barrier", 1)
			x.call(2, "pthread_barrier_wait", 1, 29, "barrier", 2)
		}, []string{"wait-at-thread-barrier at 0 from 0 for 7, cause 1",
			"wait-at-thread-barrier at 1 from 10 for 20, cause 0"}},
		// Thread 0 is in the last barrier from 10 to 36. Thread 1 comes at 35 and ends in the barrier, without leaving it,
		// as EZTrace records it with OMPT.
		{"end in a barrier", 2, func(x *threadTrace) {
			x.call(0, "OpenMP implicit barrier", 10, 36, "", 0)
			x.Enter(1, 0, x.Region("Working"))
			x.Enter(1, 35, x.Region("OpenMP implicit barrier"))
			x.Leave(1, 40, x.Region("Working"))
			x.end(1, 41, trace.Undefined)
		}, []string{"wait-at-implicit-omp-barrier at 0 from 10 for 25, cause 1"}},
		// Thread 1 signals at 10, but has the mutex until 30. Thread 0 gets it then, and has it until 40.
		{"mutex after a condition", 3, func(x *threadTrace) {
			wait := func(thread uint32, enter, leave int64) {
				condition := append(attributesOf("cond", 5), attributesOf("mutex", 1)...)
				x.Enter(thread, enter, x.Region("pthread_cond_wait"), condition...)
				x.Leave(thread, leave, x.Region("pthread_cond_wait"))
			}
			wait(0, 2, 31)
			x.call(0, "pthread_mutex_unlock", 40, 41, "mutex", 1)
			x.call(1, "pthread_mutex_lock", 8, 9, "mutex", 1)
			x.call(1, "pthread_cond_broadcast", 10, 11, "cond", 5)
			x.call(1, "pthread_mutex_unlock", 30, 32, "mutex", 1)
			wait(2, 3, 42)
		}, []string{"lock-contention at 0 from 2 for 28, cause 1", "lock-contention at 2 from 3 for 37, cause 0"}},
		// Thread 1 executes a task from 12 to 20, and then its implicit task waits in the barrier, as EZTrace records it
		// with OMPT. Thread 0 comes at 50, so thread 1 waits for 50 - 10 - 8.
		{"implicit task that continues", 2, func(x *threadTrace) {
			task := func(t int64, number uint64) {
				x.Leave(1, t, x.Region("OpenMP task"))
				x.Event(1, t, trace.TaskSwitch, trace.NoRef, []uint64{trace.Undefined, 1, number})
				x.Enter(1, t, x.Region("OpenMP task"))
			}
			x.Enter(1, 0, x.Region("OpenMP implicit task"))
			x.Enter(1, 10, x.Region("OpenMP barrier"))
			task(12, 1)
			task(20, 0)
			x.Leave(1, 51, x.Region("OpenMP barrier"))
			x.Leave(1, 60, x.Region("OpenMP implicit task"))
			x.call(0, "OpenMP barrier", 50, 52, "", 0)
		}, []string{"wait-at-explicit-omp-barrier at 1 from 10 for 32, cause 0"}},
		// Three threads take part in the first round of a barrier, and only two of them in the second
		// round.
		{"barrier of an unknown team", 3, func(x *threadTrace) {
			x.call(0, "OpenMP implicit barrier", 0, 8, "", 0)
			x.call(1, "OpenMP implicit barrier", 7, 9, "", 0)
			x.call(2, "OpenMP implicit barrier", 3, 8, "", 0)
			x.call(1, "OpenMP implicit barrier", 10, 31, "", 0)
			x.call(0, "OpenMP implicit barrier", 30, 32, "", 0)
		}, []string{"wait-at-implicit-omp-barrier at 0 from 0 for 7, cause 1",
			"wait-at-implicit-omp-barrier at 1 from 10 for 20, cause 0",
			"wait-at-implicit-omp-barrier at 2 from 3 for 4, cause 1"}},
	} {
		x := newThreads(test.threads)
		test.events(x)
		r := find(t, format.Recorded(x.Recorder), waits.Options{Worst: 10})
		var found []string
		for _, p := range r.Patterns {
			for _, w := range p.Worst {
				found = append(found, fmt.Sprintf("%s at %d from %d for %d, cause %d", p.Pattern, w.Location, w.Begin, w.Time,
					w.Cause))
			}
		}
		if slices.Sort(found); !slices.Equal(found, test.want) {
			t.Errorf("%s: found %q, expected %q", test.name, found, test.want)
		}
	}
}

// TestNestedTeams checks that barriers are not judged while several teams work, if the trace does not identify teams:
// only the first thread of each team records that it works in the team, as EZTrace does with OMPT. Threads 0 and 1
// are a team from 0 to 50. In it, thread 0 works with thread 2 from 10 to 30, and thread 1 with thread 3 from 12 to 40.
// Then threads 0 and 1 are a team again, so that thread 1 waits for 15.
func TestNestedTeams(t *testing.T) {
	x := newThreads(4)
	teams := func(thread uint32, t int64, k trace.Kind) { x.Event(thread, t, k, trace.NoRef, nil) }
	barrier := func(thread uint32, enter, leave int64) {
		x.call(thread, "OpenMP implicit barrier", enter, leave, "", 0)
	}
	teams(0, 0, trace.ThreadTeamBegin)
	teams(0, 10, trace.ThreadTeamBegin)
	teams(1, 12, trace.ThreadTeamBegin)
	barrier(0, 20, 29)
	barrier(2, 28, 71)
	teams(0, 30, trace.ThreadTeamEnd)
	barrier(1, 25, 36)
	barrier(3, 35, 72)
	teams(1, 40, trace.ThreadTeamEnd)
	barrier(0, 32, 47)
	barrier(1, 45, 62)
	teams(0, 50, trace.ThreadTeamEnd)
	teams(0, 60, trace.ThreadTeamBegin)
	barrier(0, 85, 86)
	barrier(1, 70, 87)
	teams(0, 90, trace.ThreadTeamEnd)
	r := find(t, format.Recorded(x.Recorder), waits.Options{})
	if len(r.Patterns) != 1 || r.Patterns[0].Time.Int64() != 15 || r.Patterns[0].Count != 1 {
		t.Errorf("found waits %v, expected one of 15", r.Patterns)
	}
	if len(r.Unjudged) != 1 || r.Unjudged[0].Count != 6 {
		t.Errorf("found unjudged calls %v, expected 6", r.Unjudged)
	}
}

// simulateThreads returns the trace of a random program of POSIX threads, in which calls have the addresses of
// locks and barriers as attributes. It also returns, for each thread, the time for which the thread has waited for
// mutexes.
func simulateThreads(seed uint64) (rec *trace.Recorder, waited []int64) {
	rng := rand.New(rand.NewPCG(seed, 7))
	n := 2 + rng.IntN(3)
	x := newThreads(n)
	clock, waited := make([]int64, n), make([]int64, n)
	short := func() int64 { return 1 + rng.Int64N(5) }
	for k := 1; k < n && seed%2 == 0; k++ {
		leave := clock[0] + short()
		x.call(0, "pthread_create", clock[0], leave, "", 0)
		clock[0], clock[k] = leave+1, leave+rng.Int64N(2)
	}
	free := make([]int64, 2) // when each mutex is free
	for range 60 {
		i := 0 // the thread that is free first makes the next step
		for k := range clock {
			if clock[k] < clock[i] {
				i = k
			}
		}
		thread := uint32(i)
		switch rng.IntN(8) {
		case 0: // all threads meet in a barrier
			last := slices.Max(clock)
			for k := range clock {
				leave := last + short()
				x.call(uint32(k), "pthread_barrier_wait", clock[k], leave, "barrier", 9)
				clock[k] = leave + 1
			}
		case 1, 2, 3:
			mutex := rng.IntN(len(free))
			arrive := clock[i]
			has := max(arrive, free[mutex])
			waited[i] += has - arrive
			leave := has + short()
			x.call(thread, "pthread_mutex_lock", arrive, leave, "mutex", uint64(mutex))
			release := leave + 1 + rng.Int64N(40)
			clock[i] = release + 1 + rng.Int64N(6)
			x.call(thread, "pthread_mutex_unlock", release, clock[i], "mutex", uint64(mutex))
			free[mutex] = release
			clock[i]++
		default:
			leave := clock[i] + 1 + rng.Int64N(30)
			x.call(thread, fmt.Sprint("work ", rng.IntN(3)), clock[i], leave, "", 0)
			clock[i] = leave + 1
		}
	}
	last := slices.Max(clock)
	for k := range clock {
		x.call(uint32(k), "work 0", clock[k], last+short(), "", 0)
	}
	return x.Recorder, waited
}

// TestRandomThreads compares the waits for mutexes with the waiting times of random programs.
func TestRandomThreads(t *testing.T) {
	for seed := range uint64(threadPrograms) {
		rec, want := simulateThreads(seed)
		found := make([]int64, len(want))
		for _, p := range find(t, format.Recorded(rec), waits.Options{Worst: 1 << 20}).Patterns {
			for _, w := range p.Worst {
				if p.Pattern == "lock-contention" {
					found[w.Location] += w.Time
				}
			}
		}
		if !slices.Equal(found, want) {
			t.Errorf("seed %d: found waits of %v, expected %v", seed, found, want)
		}
	}
}

// TestPathOfThreads checks that the critical path goes from the begin of a thread to the call that has created it, and
// that the thread begins earlier if the time before that call is shorter.
//
// Thread 0 prepares from 0 to 10. It creates thread 1 in a call from 10 to 15, and thread 2 in a call from 16 to 20.
// It waits for both threads from 20 to 101. Thread 1 works from 17 to 50, and thread 2 works from 25 to 100. Thread 2
// ends last, so the path goes back from the end of thread 0 at 101 to the end of thread 2 at 100, and from there to
// the begin of the call at 16 that creates thread 2. Before that, the path is on thread 0. Without prepare, which
// lasts 10, everything is earlier by 10: the runtime is 101 - 10 = 91.
func TestPathOfThreads(t *testing.T) {
	x := newThreads(3)
	x.call(0, "prepare", 0, 10, "", 0)
	x.call(0, "pthread_create", 10, 15, "", 0)
	x.call(0, "pthread_create", 16, 20, "", 0)
	x.call(0, "pthread_join", 20, 101, "", 0)
	x.call(1, "work", 17, 50, "", 0)
	x.end(1, 50, trace.Undefined)
	x.call(2, "work", 25, 100, "", 0)
	x.end(2, 100, trace.Undefined)
	p, err := criticalpath.Find(t.Context(), format.Recorded(x.Recorder), criticalpath.Options{
		WhatIf: []criticalpath.Change{{Region: "prepare", Factor: 0}}})
	if err != nil {
		t.Fatal(err)
	}
	var pieces []string
	for x := range p.Pieces.All() {
		pieces = append(pieces, fmt.Sprint(x.Location, x.From, x.To, " ", x.By))
	}
	if want := []string{"0 0 16 ", "2 16 100 fork", "0 100 101 wait-at-join"}; !slices.Equal(pieces, want) {
		t.Errorf("found the pieces %q, expected %q", pieces, want)
	}
	if p.WhatIf == nil || *p.WhatIf != 91 {
		t.Errorf("without prepare the runtime is %v, expected 91", p.WhatIf)
	}
}

// TestPathOfNumberedThreads checks that numbers tell which call has created which thread. The call at 10 creates
// thread 2, which begins at 25. The call at 16 creates thread 1, which begins at 17.
func TestPathOfNumberedThreads(t *testing.T) {
	x := newThreads(3)
	number := func(thread uint32, t int64, k trace.Kind, n uint64) {
		x.Event(thread, t, k, trace.NoRef, []uint64{trace.Undefined, n})
	}
	for i, begin := range []int64{10, 16} {
		x.Enter(0, begin, x.Region("pthread_create"))
		number(0, begin+1, trace.ThreadCreate, uint64(i))
		x.Leave(0, begin+4, x.Region("pthread_create"))
	}
	x.call(0, "pthread_join", 20, 101, "", 0)
	number(1, 17, trace.ThreadBegin, 1)
	x.call(1, "work", 17, 50, "", 0)
	x.end(1, 50, trace.Undefined)
	number(2, 25, trace.ThreadBegin, 0)
	x.call(2, "work", 25, 100, "", 0)
	x.end(2, 100, trace.Undefined)
	p, err := criticalpath.Find(t.Context(), format.Recorded(x.Recorder), criticalpath.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var pieces []string
	for x := range p.Pieces.All() {
		pieces = append(pieces, fmt.Sprint(x.Location, x.From, x.To, " ", x.By))
	}
	if want := []string{"2 10 100 fork", "0 100 101 wait-at-join"}; !slices.Equal(pieces, want) {
		t.Errorf("found the pieces %q, expected %q", pieces, want)
	}
}

// threadPrograms is the number of random programs of POSIX threads that tests use.
const threadPrograms = 100

// TestInitialTask checks the serial time of a program of OpenMP that has an implicit task around the whole program, as
// EZTrace records it with OMPT. The trace has no events for forks and joins. Thread 0 works alone until its parallel
// region at 20, from 56 to 80, and from 95 to the end at 100: 20 + 24 + 5 = 49. Half of the threads has nothing to do
// meanwhile: 1 - 49/2/100. The idle time of thread 1 is counted from the barriers, which thread 0 leaves at 54 and 94:
// 20 + (80 - 54) + (100 - 94) = 52.
func TestInitialTask(t *testing.T) {
	x := newThreads(2)
	enter := func(thread uint32, at int64, name string) { x.Enter(thread, at, x.Region(name)) }
	leave := func(thread uint32, at int64, name string) { x.Leave(thread, at, x.Region(name)) }
	parallel := func(begin, barrier, end int64) {
		x.Event(0, begin, trace.ThreadTeamBegin, trace.NoRef, nil)
		enter(0, begin, "OpenMP parallel")
		enter(0, begin+2, "OpenMP implicit task")
		x.call(0, "OpenMP implicit barrier", barrier, barrier+4, "", 0)
		leave(0, end, "OpenMP implicit task")
		x.Event(0, end, trace.ThreadTeamEnd, trace.NoRef, nil)
		leave(0, end, "OpenMP parallel")
	}
	enter(0, 0, "Working")
	enter(0, 0, "OpenMP implicit task")
	parallel(20, 50, 56)
	parallel(80, 90, 95)
	leave(0, 100, "Working")
	enter(1, 21, "Working")
	enter(1, 22, "OpenMP implicit task")
	x.call(1, "OpenMP implicit barrier", 40, 82, "", 0)
	leave(1, 82, "OpenMP implicit task")
	enter(1, 82, "OpenMP implicit task")
	enter(1, 92, "OpenMP implicit barrier")
	leave(1, 95, "Working")
	x.end(1, 95, trace.Undefined)

	e, _, err := efficiency.Find(context.Background(), format.Recorded(x.Recorder), efficiency.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if found := e.Hybrid.SerialRegion; math.Abs(found-(1-49.0/2/100)) > 1e-9 {
		t.Errorf("found the factor %g for serial regions, expected %g", found, 1-49.0/2/100)
	}
	c, err := causes.Find(context.Background(), format.Recorded(x.Recorder), causes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	idle := trace.Ticks{}
	for _, i := range c.IdleThreads {
		idle = idle.Plus(i.Time)
	}
	if idle.Int64() != 52 {
		t.Errorf("found %d ticks of idle threads, expected 52", idle.Int64())
	}
}
