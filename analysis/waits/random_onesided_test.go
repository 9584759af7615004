package waits_test

import (
	"strconv"

	"github.com/weft-trace/weft/trace"
)

// programsWithWindows returns the options of random programs with one-sided communication.
func programsWithWindows() (list []simOptions) {
	for i := range uint64(24) {
		list = append(list, simOptions{seed: 2000 + i, steps: 30 + int(i)*10, threads: i%6 == 0, worldOnly: i%4 == 1,
			noRendezvous: i%4 == 2, overtaking: i%2 == 0, windows: true})
	}
	return list
}

// simMemory is the state of the lock of a process's memory: the begin of the last call that unlocked
// it, the time at which that call released the lock, and the end of the call.
type simMemory struct{ unlocks, released, free int64 }

// windowEvent records an event of window 0 in the open call of a process, at time t or later. It returns the time.
func (s *sim) windowEvent(r *simRank, t int64, k trace.Kind, ops ...uint64) int64 {
	loc := r.threads[0]
	t = s.after(loc, max(t, r.clock[0]), residues*s.Int64N(2)+1)
	s.rec.Event(loc, t, k, 0, ops)
	r.clock[0] = t
	return t
}

// windowCall adds a call with an event of window 0 at time t or later. It returns the begin of the
// call.
func (s *sim) windowCall(r *simRank, name string, t int64, k trace.Kind, ops ...uint64) int64 {
	enter := s.enter(r, 0, s.mpi(name))
	s.windowEvent(r, t, k, ops...)
	s.leave(r, 0, s.mpi(name), 0)
	return enter
}

// oneSided adds a random synchronisation of one-sided communication, with process r.
func (s *sim) oneSided(r *simRank) {
	switch s.IntN(3) {
	case 0:
		s.fence()
	case 1:
		s.epochOf(r)
	default:
		s.locksOf(r)
	}
}

// maybeCompute lets a process compute in half of all cases.
func (s *sim) maybeCompute(r *simRank) {
	if s.IntN(2) == 0 {
		s.compute(r, 0)
	}
}

// put adds a put to the memory of a process. The put ends at time t or later.
func (s *sim) put(r, target *simRank, t int64) {
	s.windowCall(r, "MPI_Put", t, trace.RMAPut, uint64(target.threads[0]), 8, 1)
}

// fence adds an operation of all processes on the window.
func (s *sim) fence() {
	name := []string{"MPI_Win_create", "MPI_Win_fence", "MPI_Win_fence", "MPI_Win_free"}[s.IntN(4)]
	last := int64(0)
	for _, r := range s.ranks {
		s.maybeCompute(r)
		if s.IntN(3) == 0 {
			s.put(r, s.ranks[s.IntN(len(s.ranks))], 0)
		}
		last = max(last, s.enter(r, 0, s.mpi(name)))
		s.windowEvent(r, 0, trace.RMACollectiveBegin)
	}
	for _, r := range s.ranks {
		s.windowEvent(r, last+residues, trace.RMACollectiveEnd, trace.Undefined, 3, trace.Undefined, 0, 0)
		s.leave(r, 0, s.mpi(name), 0)
	}
}

// groupOf returns the index of a new set of processes.
func (s *sim) groupOf(ranks ...*simRank) uint64 {
	d := s.rec.Defs()
	var members []int64
	for _, r := range ranks {
		members = append(members, int64(r.number))
	}
	return uint64(d.Sets.Add(trace.Set{ID: strconv.Itoa(d.Sets.Len()), Kind: "ranks", Members: members,
		Attrs: []trace.Attr{{Key: "paradigm", Value: trace.StringValue("mpi")}}}))
}

// epochOf adds an epoch in which some processes access the memory of target. Either the start, the first access or
// the completion waits for the post.
func (s *sim) epochOf(target *simRank) {
	var origins []*simRank
	for _, r := range s.ranks {
		if r != target && (s.IntN(2) == 0 || len(s.ranks) == 2) {
			origins = append(origins, r)
		}
	}
	if len(origins) == 0 {
		return
	}
	own, all := s.groupOf(target), s.groupOf(origins...)
	s.maybeCompute(target)
	post := s.windowCall(target, "MPI_Win_post", 0, trace.RMAGroupSync, 1, all)
	s.maybeCompute(target)
	done := int64(0)
	for _, r := range origins {
		s.maybeCompute(r)
		ready := []int64{0, 0, 0}
		ready[s.IntN(3)] = post + residues
		s.windowCall(r, "MPI_Win_start", ready[0], trace.RMAGroupSync, 1, own)
		for range s.IntN(3) {
			s.put(r, target, max(ready[0], ready[1]))
		}
		s.maybeCompute(r)
		done = max(done, s.windowCall(r, "MPI_Win_complete", post+residues, trace.RMAGroupSync, 1, own))
	}
	s.windowCall(target, "MPI_Win_wait", done+residues, trace.RMAGroupSync, 1, all)
}

// locksOf adds accesses of some processes to the memory of target, one process after another, each with
// a lock. One of three calls waits for the lock: the call that locks, the access, or the call that
// unlocks. The lock becomes free at the end of the call that releases it. In this way, the costs of a
// wait in that call are known before the costs of waits for the lock.
func (s *sim) locksOf(target *simRank) {
	const longest = 12 * residues // longest call that does not wait
	remote := uint64(target.threads[0])
	l := &s.memory[target.number]
	// during returns the earliest end of a call that begins next. The call must end after the last call that
	// unlocked if the two calls can overlap.
	during := func(r *simRank) int64 {
		if t := r.clock[0]; t < l.released && t+longest > l.unlocks {
			return l.free
		}
		return 0
	}
	for _, i := range s.Perm(len(s.ranks))[:1+s.IntN(len(s.ranks))] {
		r := s.ranks[i]
		s.maybeCompute(r)
		ready := []int64{0, 0}
		if n := s.IntN(3); n < 2 {
			ready[n] = l.free
		}
		s.windowCall(r, "MPI_Win_lock", max(ready[0], during(r)), trace.RMALockAcquire, remote, 0, 0)
		for range s.IntN(3) {
			s.put(r, target, max(ready[0], ready[1], during(r)))
		}
		s.maybeCompute(r)
		s.enter(r, 0, s.mpi("MPI_Win_unlock"))
		unlocks := r.clock[0]
		l.released = s.windowEvent(r, l.free, trace.RMALockRelease, remote, 0)
		l.free = s.leave(r, 0, s.mpi("MPI_Win_unlock"), 0)
		l.unlocks = unlocks
	}
}
