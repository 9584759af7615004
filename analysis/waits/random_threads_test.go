package waits_test

import (
	"github.com/weft-trace/weft/trace"
)

// programsWithSmallTeams returns the options of random programs whose teams can have fewer threads than the process.
func programsWithSmallTeams() (list []simOptions) {
	for i := range uint64(12) {
		list = append(list, simOptions{seed: 3000 + i, steps: 20 + int(i)*10, threads: true, smallTeams: true,
			noMPI: i%4 == 3})
	}
	return list
}

// parallel adds a parallel region of a process.
func (s *sim) parallel(r *simRank) {
	const openMP = 3
	n, team := len(r.threads), r.team
	if s.smallTeams && s.IntN(2) == 0 {
		n = 1 + s.IntN(n)
		team = r.smallTeams[n-1]
	}
	fork := s.event(r, 0, 0, trace.ThreadFork, uint64(n), openMP)
	region := s.region("!$omp parallel @a.c:1", "OPENMP", "parallel")
	for i := range n {
		r.clock[i] = max(r.clock[i], fork)
		s.event(r, i, fork, trace.ThreadTeamBegin, team)
		s.enter(r, i, region)
	}
	lock := s.locks[r.number]
	if lock == nil {
		lock = &simLock{}
		s.locks[r.number] = lock
	}
	for part := range 1 + s.IntN(3) {
		if part > 0 {
			s.barrier(r, n, s.region("!$omp barrier @a.c:4", "OPENMP", "barrier"))
		}
		// The thread that is free first makes the next step.
		for range s.IntN(3 * n) {
			i := 0
			for j := range r.clock[:n] {
				if r.clock[j] < r.clock[i] {
					i = j
				}
			}
			if s.IntN(2) == 0 {
				s.compute(r, i)
				continue
			}
			s.critical(r, i, lock)
		}
	}
	s.barrier(r, n, s.region("!$omp implicit barrier @a.c:2", "OPENMP", "implicit_barrier"))
	last := int64(0)
	for i := range n {
		s.leave(r, i, region, 0)
		last = max(last, s.event(r, i, 0, trace.ThreadTeamEnd, team))
	}
	s.event(r, 0, last, trace.ThreadJoin, openMP)
}

// critical adds a critical section of a thread.
func (s *sim) critical(r *simRank, thread int, lock *simLock) {
	region := s.region("!$omp critical @a.c:3", "OPENMP", "critical")
	block := s.region("!$omp critical sblock @a.c:3", "OPENMP", "critical_sblock")
	s.enter(r, thread, region)
	lock.order++
	order := lock.order
	t := s.event(r, thread, lock.free, trace.LockAcquire, 7, order, 3)
	r.clock[thread] = t
	s.enter(r, thread, block)
	s.leave(r, thread, block, r.clock[thread]+residues*s.Int64N(s.work))
	lock.free = s.event(r, thread, 0, trace.LockRelease, 7, order, 3)
	s.leave(r, thread, region, 0)
}

// barrier adds a barrier of the first n threads of a process.
func (s *sim) barrier(r *simRank, n int, region uint32) {
	last := int64(0)
	for i := range n {
		last = max(last, s.enter(r, i, region))
	}
	for i := range n {
		s.leave(r, i, region, last)
	}
}
