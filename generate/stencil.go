package generate

import (
	"math/bits"

	"github.com/weft-trace/weft/trace"
)

// The regions of the stencil workload.
const (
	stencilComputeRegion = 1 + iota
	stencilIrecvRegion
	stencilIsendRegion
	stencilWaitallRegion
	stencilAllreduceRegion
)

const (
	reduceEvery = 10 // number of iterations between two reductions
	reduceBytes = 8  // number of bytes that each process contributes to a reduction
	allreduceOp = 11 // OTF2's number of the operation
	// number of bytes sent to the west and to the east; twice as many bytes go to the north and to the south
	haloBytes   = 8 << 10
	computeTime = 120_000
)

type stencilPlan struct {
	seed       uint64
	nx, ny     int
	iterations int64
	total      int64
}

func planStencil(o Options, d *trace.Definitions) (source, error) {
	defineProcesses(d, o.Locations, true, userRegion("compute"), mpiRegion("MPI_Irecv", "point2point"),
		mpiRegion("MPI_Isend", "point2point"),
		mpiRegion("MPI_Waitall", "point2point"), mpiRegion("MPI_Allreduce", "coll_all2all"))
	p := &stencilPlan{seed: o.Seed, nx: 1}
	// Choose the grid whose two sides differ least.
	for i := 1; i*i <= o.Locations; i++ {
		if o.Locations%i == 0 {
			p.nx = i
		}
	}
	p.ny = o.Locations / p.nx
	n, pairs := int64(o.Locations), int64(p.nx*(p.ny-1)+p.ny*(p.nx-1))
	// An iteration has four rows for computing and MPI_Waitall, eight rows for each neighbour, and
	// on average a tenth of the rows of a reduction.
	tenth := 10*(4*n+16*pairs) + 4*n
	p.iterations = round(10*(o.Events-2*n), tenth)
	p.total = 2*n + p.iterations*(4*n+16*pairs) + p.iterations/reduceEvery*4*n
	return p, nil
}

func (p *stencilPlan) rowCount() int64 { return p.total }

type stencil struct {
	*stencilPlan
	agenda *agenda
	w      *writer
	ranks  []stencilRank
	inside int // number of ranks that have entered the reduction
}

type stencilRank struct {
	rng   rng
	done  int64 // number of finished iterations
	speed int64 // compute time in 1024ths of the average
	pc    uint8
	i     uint8 // index of the current neighbour
	n     uint8 // number of neighbours
	dir   [4]uint8
	peer  [4]uint32
	// sent and arrived hold the number of messages for this rank in even and in odd iterations, and
	// the arrival of the last of them. A neighbour is at most one iteration ahead, because each of
	// its iterations needs the halo of this rank.
	sent    [2]uint8
	arrived [2]int64
	waiting bool // the rank is in MPI_Waitall, and a message for it has not been sent yet
}

// The places in the program of a rank.
const (
	stencilBegin = iota
	stencilComputeEnter
	stencilComputeLeave
	stencilIrecvEnter
	stencilIrecvPost
	stencilIrecvLeave
	stencilIsendEnter
	stencilIsendPost
	stencilIsendLeave
	stencilWaitEnter
	stencilWaitSend
	stencilWaitRecv
	stencilWaitLeave
	stencilReduceEnter
	stencilReduceBegin
	stencilReduceEnd
	stencilReduceLeave
	stencilEnd
)

func (p *stencilPlan) run(w *writer) {
	s := &stencil{stencilPlan: p, w: w, agenda: newAgenda(p.nx * p.ny), ranks: make([]stencilRank, p.nx*p.ny)}
	for i := range s.ranks {
		r := &s.ranks[i]
		r.rng = newRNG(p.seed, uint64(i))
		r.speed = r.rng.between(820, 1230)
		x, y := i%p.nx, i/p.nx
		// The neighbours in the directions 0 to 3: west, east, north and south. The opposite of
		// direction d is d^1.
		for d, q := range [4][2]int{{x - 1, y}, {x + 1, y}, {x, y - 1}, {x, y + 1}} {
			if q[0] >= 0 && q[0] < p.nx && q[1] >= 0 && q[1] < p.ny {
				r.dir[r.n], r.peer[r.n] = uint8(d), uint32(q[1]*p.nx+q[0])
				r.n++
			}
		}
		s.agenda.set(uint32(i), r.rng.between(0, startupSkew))
	}
	simulate(s.agenda, s, w)
}

// request returns the id of the request of the receive (send = 0) or of the send (send = 1) for the
// current neighbour in the current iteration.
func (r *stencilRank) request(send uint64) uint64 {
	return uint64(r.done)*8 + send*4 + uint64(r.dir[r.i])
}

// ready returns the time at which a call of MPI_Waitall, entered at time t or before, is complete. It returns
// never if messages have not been sent.
func (r *stencilRank) ready(t int64) int64 {
	k := r.done & 1
	if r.waiting = r.sent[k] < r.n; r.waiting {
		return never
	}
	t = max(t, r.arrived[k])
	r.sent[k], r.arrived[k] = 0, 0
	return t + r.rng.call()
}

// forNeighbours moves to the next neighbour and to the place again in the program. After the last neighbour,
// it moves to the place then.
func (r *stencilRank) forNeighbours(again, then uint8) {
	if r.i++; r.i < r.n {
		r.pc = again
		return
	}
	r.i, r.pc = 0, then
}

func (s *stencil) length(dir uint8) uint64 { return haloBytes << (dir >> 1) }

func (s *stencil) step(loc uint32, t int64) int64 {
	r, w := &s.ranks[loc], s.w
	at := r.pc
	r.pc++
	switch at {
	case stencilBegin:
		w.row(loc, t, trace.Enter, mainRegion)
	case stencilComputeEnter:
		w.row(loc, t, trace.Enter, stencilComputeRegion)
		d := computeTime * r.speed >> 10
		d += r.rng.between(-d/16, d/16)
		if r.rng.between(0, 256) == 0 {
			d *= 3 // this simulates a disturbance by the operating system
		}
		return t + d
	case stencilComputeLeave:
		w.row(loc, t, trace.Leave, stencilComputeRegion)
		if r.n == 0 {
			r.pc = stencilWaitEnter
		}
	case stencilIrecvEnter:
		w.row(loc, t, trace.Enter, stencilIrecvRegion)
	case stencilIrecvPost:
		w.row(loc, t, trace.RecvBegin, trace.NoRef)
		w.b.AddOps(r.request(0))
	case stencilIrecvLeave:
		w.row(loc, t, trace.Leave, stencilIrecvRegion)
		r.forNeighbours(stencilIrecvEnter, stencilIsendEnter)
	case stencilIsendEnter:
		w.row(loc, t, trace.Enter, stencilIsendRegion)
	case stencilIsendPost:
		d := r.dir[r.i]
		w.row(loc, t, trace.SendBegin, trace.NoRef)
		w.b.AddOps(uint64(r.peer[r.i]), world, uint64(d), s.length(d), r.request(1))
		s.deliver(r.peer[r.i], r.done&1, t+latency+int64(s.length(d)/bytesPerNS))
	case stencilIsendLeave:
		w.row(loc, t, trace.Leave, stencilIsendRegion)
		r.forNeighbours(stencilIsendEnter, stencilWaitEnter)
	case stencilWaitEnter:
		w.row(loc, t, trace.Enter, stencilWaitallRegion)
		if r.n == 0 {
			r.pc = stencilWaitLeave
		}
		return r.ready(t)
	case stencilWaitSend:
		w.row(loc, t, trace.SendComplete, trace.NoRef)
		w.b.AddOps(r.request(1))
		r.forNeighbours(stencilWaitSend, stencilWaitRecv)
	case stencilWaitRecv:
		d := r.dir[r.i]
		w.row(loc, t, trace.RecvComplete, trace.NoRef)
		w.b.AddOps(uint64(r.peer[r.i]), world, uint64(d^1), s.length(d), r.request(0))
		r.forNeighbours(stencilWaitRecv, stencilWaitLeave)
	case stencilWaitLeave:
		w.row(loc, t, trace.Leave, stencilWaitallRegion)
		r.done++
		if r.done%reduceEvery != 0 {
			s.endIteration(r)
		}
	case stencilReduceEnter:
		w.row(loc, t, trace.Enter, stencilAllreduceRegion)
	case stencilReduceBegin:
		w.row(loc, t, trace.CollectiveBegin, trace.NoRef)
		s.collective(r)
		if s.inside++; s.inside < len(s.ranks) {
			return never
		}
		s.inside = 0
		done := t + latency*int64(bits.Len(uint(len(s.ranks))))
		for i := range s.ranks {
			s.agenda.set(uint32(i), done+s.ranks[i].rng.call())
		}
		return s.agenda.node[s.agenda.leaf+int(loc)].at
	case stencilReduceEnd:
		w.row(loc, t, trace.CollectiveEnd, trace.NoRef)
		s.collective(r)
	case stencilReduceLeave:
		w.row(loc, t, trace.Leave, stencilAllreduceRegion)
		s.endIteration(r)
	case stencilEnd:
		w.row(loc, t, trace.Leave, mainRegion)
		return never
	}
	return t + r.rng.call()
}

// endIteration moves to the next iteration or, after the last one, to the end of the program.
func (s *stencil) endIteration(r *stencilRank) {
	r.pc = stencilComputeEnter
	if r.done == s.iterations {
		r.pc = stencilEnd
	}
}

func (s *stencil) collective(r *stencilRank) {
	s.w.b.AddOps(allreduceOp, world, trace.Undefined, reduceBytes, reduceBytes, uint64(r.done/reduceEvery))
}

// deliver adds a message for rank to. It arrives at time t, and parity states whether it belongs to an even or
// an odd iteration.
func (s *stencil) deliver(to uint32, parity, t int64) {
	q := &s.ranks[to]
	q.sent[parity]++
	q.arrived[parity] = max(q.arrived[parity], t)
	if q.waiting && q.done&1 == parity {
		if at := q.ready(0); at != never {
			s.agenda.set(to, at)
		}
	}
}
