package generate

import "github.com/weft-trace/weft/trace"

// The regions of the ring and masterworker workloads.
const (
	blockingRecvRegion = 1 + iota
	blockingComputeRegion
	blockingSendRegion
)

// The places in the program of a rank with blocking calls. At each place, the rank writes the row in
// blockingRows. A task takes the rank from blockingRecvEnter to blockingSendLeave.
const (
	blockingRecvEnter = iota
	blockingRecvDone
	blockingRecvLeave
	blockingComputeEnter
	blockingComputeLeave
	blockingSendEnter
	blockingSendRow
	blockingSendLeave
	blockingEnd
	blockingBegin
)

// blockingRows holds the row that a rank writes at each place.
var blockingRows = [...]struct {
	kind trace.Kind
	ref  uint32
}{
	blockingRecvEnter:    {trace.Enter, blockingRecvRegion},
	blockingRecvDone:     {trace.Recv, trace.NoRef},
	blockingRecvLeave:    {trace.Leave, blockingRecvRegion},
	blockingComputeEnter: {trace.Enter, blockingComputeRegion},
	blockingComputeLeave: {trace.Leave, blockingComputeRegion},
	blockingSendEnter:    {trace.Enter, blockingSendRegion},
	blockingSendRow:      {trace.Send, trace.NoRef},
	blockingSendLeave:    {trace.Leave, blockingSendRegion},
	blockingEnd:          {trace.Leave, mainRegion},
	blockingBegin:        {trace.Enter, mainRegion},
}

func defineBlocking(d *trace.Definitions, n int, compute string) {
	defineProcesses(d, n, true, mpiRegion("MPI_Recv", "point2point"), userRegion(compute),
		mpiRegion("MPI_Send", "point2point"))
}

const (
	tokenBytes   = 1024
	tokenCompute = 20_000
)

type ringPlan struct {
	seed   uint64
	n      int
	rounds int64
}

func planRing(o Options, d *trace.Definitions) (source, error) {
	defineBlocking(d, o.Locations, "compute")
	return &ringPlan{o.Seed, o.Locations, round(o.Events-2*int64(o.Locations), 8*int64(o.Locations))}, nil
}

func (p *ringPlan) rowCount() int64 { return int64(p.n) * (8*p.rounds + 2) }

type ring struct {
	*ringPlan
	agenda *agenda
	w      *writer
	ranks  []ringRank
}

// inbox holds the messages for a rank. At most one message is in transit at a time.
type inbox struct {
	rng     rng
	arrives int64 // time at which the message in transit arrives; the constant never if there is none
	waiting bool  // the rank is in MPI_Recv, and no message is in transit
}

type ringRank struct {
	inbox
	left int64 // number of rounds that are left
	pc   uint8
}

func (p *ringPlan) run(w *writer) {
	s := &ring{ringPlan: p, w: w, agenda: newAgenda(p.n), ranks: make([]ringRank, p.n)}
	for i := range s.ranks {
		r := &s.ranks[i]
		*r = ringRank{inbox: inbox{rng: newRNG(p.seed, uint64(i)), arrives: never}, left: p.rounds, pc: blockingBegin}
		s.agenda.set(uint32(i), r.rng.between(0, startupSkew))
	}
	simulate(s.agenda, s, w)
}

// receive returns the time at which a call of MPI_Recv, entered at time t or before, receives the message. It
// returns never if no message is in transit.
func (r *inbox) receive(t int64) int64 {
	if r.waiting = r.arrives == never; r.waiting {
		return never
	}
	t = max(t, r.arrives)
	r.arrives = never
	return t + r.rng.call()
}

func (s *ring) step(loc uint32, t int64) int64 {
	r, w := &s.ranks[loc], s.w
	at := r.pc
	r.pc++
	w.row(loc, t, blockingRows[at].kind, blockingRows[at].ref)
	switch at {
	case blockingBegin:
		r.pc = blockingRecvEnter
		if loc == 0 {
			r.pc = blockingComputeEnter // rank 0 begins with the token
		}
	case blockingRecvEnter:
		return r.receive(t)
	case blockingRecvDone:
		w.b.AddOps(uint64((int(loc)+s.n-1)%s.n), world, 0, tokenBytes)
	case blockingRecvLeave:
		if loc == 0 {
			s.round(r)
		}
	case blockingComputeEnter:
		return t + tokenCompute/4 + r.rng.exponential(tokenCompute)
	case blockingSendRow:
		to := uint32((int(loc) + 1) % s.n)
		w.b.AddOps(uint64(to), world, 0, tokenBytes)
		q := &s.ranks[to]
		q.arrives = t + latency + tokenBytes/bytesPerNS
		if q.waiting {
			s.agenda.set(to, q.receive(0))
		}
	case blockingSendLeave:
		r.pc = blockingRecvEnter
		if loc != 0 {
			s.round(r)
		}
	case blockingEnd:
		return never
	}
	return t + r.rng.call()
}

// round ends a round of a rank.
func (s *ring) round(r *ringRank) {
	if r.left--; r.left == 0 {
		r.pc = blockingEnd
	}
}

// The tags of the messages in the masterworker workload.
const (
	tagTask = 1 + iota
	tagResult
	tagStop
)

const (
	taskBytes   = 4 << 10
	resultBytes = 64 << 10
	taskTime    = 200_000
)

type masterPlan struct {
	seed  uint64
	n     int
	tasks int64
}

func planMaster(o Options, d *trace.Definitions) (source, error) {
	defineBlocking(d, o.Locations, "task")
	n := int64(o.Locations)
	return &masterPlan{o.Seed, o.Locations, round(o.Events-2*n-6*(n-1), 14)}, nil
}

// rowCount returns the number of rows. Each task has the rows for the send and receive of the task, for its
// computation, and for the send and receive of the result. Each worker also receives a stop message.
func (p *masterPlan) rowCount() int64 { return 14*p.tasks + 6*int64(p.n-1) + 2*int64(p.n) }

type master struct {
	*masterPlan
	agenda *agenda
	w      *writer
	rng    rng // random generator of rank 0
	pc     uint8
	begin  bool   // rank 0 has not sent a first task to all workers yet
	peer   uint32 // the worker with which rank 0 exchanges its current message
	left   int64  // number of tasks that have not been sent
	active int    // number of workers that have not been sent a stop message
	// results holds the results in transit. They arrive in the order in which they were sent.
	results     []result // a ring buffer of results
	first, next uint64
	workers     []worker // indexed by rank; 0 is unused
	waiting     bool     // rank 0 waits in MPI_Recv for a result
}

type result struct {
	from    uint32
	arrives int64
}

type worker struct {
	inbox
	pc   uint8
	stop bool // the message in transit is a stop message
}

func (p *masterPlan) run(w *writer) {
	s := &master{masterPlan: p, w: w, agenda: newAgenda(p.n), rng: newRNG(p.seed, 0), pc: blockingBegin, begin: true,
		peer: 1,
		left: p.tasks, active: p.n - 1, results: make([]result, p.n), workers: make([]worker, p.n)}
	s.agenda.set(0, s.rng.between(0, startupSkew))
	for i := 1; i < p.n; i++ {
		r := &s.workers[i]
		*r = worker{inbox: inbox{rng: newRNG(p.seed, uint64(i)), arrives: never}, pc: blockingBegin}
		s.agenda.set(uint32(i), r.rng.between(0, startupSkew))
	}
	simulate(s.agenda, s, w)
}

func (s *master) step(loc uint32, t int64) int64 {
	if loc == 0 {
		return s.runMaster(t)
	}
	return s.work(loc, t)
}

// collect returns the time at which a call of MPI_Recv by rank 0, entered at time t or before, receives a
// result. It returns never if no result is in transit.
func (s *master) collect(t int64) int64 {
	if s.waiting = s.first == s.next; s.waiting {
		return never
	}
	x := s.results[s.first%uint64(len(s.results))]
	s.first++
	s.peer = x.from
	return max(t, x.arrives) + s.rng.call()
}

// runMaster is the program of rank 0. It sends a task to each worker. Then, for each result that it receives,
// it sends another message to the worker.
func (s *master) runMaster(t int64) int64 {
	w := s.w
	at := s.pc
	s.pc++
	w.row(0, t, blockingRows[at].kind, blockingRows[at].ref)
	switch at {
	case blockingBegin:
		s.pc = blockingSendEnter
	case blockingSendRow:
		q := &s.workers[s.peer]
		if q.stop = s.left == 0; q.stop {
			s.active--
			w.b.AddOps(uint64(s.peer), world, tagStop, 0)
			q.arrives = t + latency
		} else {
			s.left--
			w.b.AddOps(uint64(s.peer), world, tagTask, taskBytes)
			q.arrives = t + latency + taskBytes/bytesPerNS
		}
		if q.waiting {
			s.agenda.set(s.peer, q.receive(0))
		}
	case blockingSendLeave:
		s.pc = blockingRecvEnter
		if s.begin {
			if s.peer++; int(s.peer) < s.n {
				s.pc = blockingSendEnter
				break
			}
			s.begin = false
		}
		if s.active == 0 {
			s.pc = blockingEnd
		}
	case blockingRecvEnter:
		return s.collect(t)
	case blockingRecvDone:
		w.b.AddOps(uint64(s.peer), world, tagResult, resultBytes)
	case blockingRecvLeave:
		s.pc = blockingSendEnter
	case blockingEnd:
		return never
	}
	return t + s.rng.call()
}

// work is the program of the workers. It writes the next row of a worker and returns the time of
// the row after it.
func (s *master) work(loc uint32, t int64) int64 {
	r, w := &s.workers[loc], s.w
	at := r.pc
	r.pc++
	w.row(loc, t, blockingRows[at].kind, blockingRows[at].ref)
	switch at {
	case blockingBegin:
		r.pc = blockingRecvEnter
	case blockingRecvEnter:
		return r.receive(t)
	case blockingRecvDone:
		if r.stop {
			w.b.AddOps(0, world, tagStop, 0)
		} else {
			w.b.AddOps(0, world, tagTask, taskBytes)
		}
	case blockingRecvLeave:
		if r.stop {
			r.pc = blockingEnd
		}
	case blockingComputeEnter:
		return t + taskTime/8 + r.rng.exponential(taskTime)
	case blockingSendRow:
		w.b.AddOps(0, world, tagResult, resultBytes)
		s.results[s.next%uint64(len(s.results))] = result{loc, t + latency + resultBytes/bytesPerNS}
		s.next++
		if s.waiting {
			s.agenda.set(0, s.collect(0))
		}
	case blockingSendLeave:
		r.pc = blockingRecvEnter
	case blockingEnd:
		return never
	}
	return t + r.rng.call()
}
