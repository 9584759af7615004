package generate

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"

	"github.com/weft-trace/weft/trace"
)

// Problems are the problems that slow down the workload phases. Durations are in nanoseconds. With
// the zero value, all ranks have the same amount of work, and no rank waits. The properties of the
// trace record the problems and their effects; see docs/commands/generate.md.
type Problems struct {
	LateSender int64 // delay of one rank's send in each iteration
	// ratio of the longest to the shortest computing time of the ranks; the mean does not change
	Imbalance float64
	Serial    int64   // time in each iteration for which only rank 0 works
	SlowNode  float64 // factor by which computing takes longer on the last node
	Lock      int64   // part of each thread's computing time for which the thread holds a lock
	// growth of the computing time with each iteration, as a share of the computing time of the first
	// iteration
	Slowing float64
	Noise   float64 // share by which one rank, the next one in each iteration, computes longer
}

// DefaultCompute is the default of Options.Compute.
const DefaultCompute = 100_000_000

// maxDuration is the largest duration that an option may have: 11 days in nanoseconds.
const maxDuration = 1_000_000_000_000_000

// The regions of the workload phases.
const (
	phaseInitRegion = 1 + iota
	phaseSerialRegion
	phaseBcastRegion
	phaseComputeRegion
	phaseAllreduceRegion
	phasePackRegion
	phaseSendRegion
	phaseRecvRegion
	phaseBarrierRegion
	phaseFinalizeRegion
	phaseParallelRegion
	phaseCriticalRegion
	phaseUpdateRegion
	phaseImplicitBarrierRegion
)

// The durations in the workload phases, in nanoseconds.
const (
	phaseEventDistance   = 1000   // time between two successive events
	phaseCollectiveTime  = 10_000 // duration of a collective operation after the last member has entered it
	phasePreparationTime = 5000   // time for preparing a message
)

// The numbers of collective operations and of the threading model, as OTF2 defines them.
const (
	barrierOp   = 0
	broadcastOp = 1
	openMP      = 3
)

// moment is a point in an iteration of a location. The times of rows are given relative to moments.
type moment uint8

const (
	momentStart               moment = iota // the iteration begins
	momentRootEnters                        // the location enters MPI_Bcast
	momentBcastEnds                         // MPI_Bcast ends
	momentComputed                          // the location has finished the part of the computation without the lock
	momentAcquire                           // the location acquires the lock
	momentRelease                           // the location has finished the whole computation
	momentImplicitBarrierEnds               // the implicit barrier ends
	momentReduceEnters                      // the location enters MPI_Allreduce
	momentReduceEnds                        // MPI_Allreduce ends
	momentSendEnters                        // the location enters MPI_Send
	momentMessageArrives                    // the message arrives
	momentBarrierEnds                       // MPI_Barrier ends
)

// The sets of locations that write a row, as bits: the first thread of rank 0, the first threads of other
// ranks, and all other threads.
const (
	rootThread = 1 << iota
	firstThreads
	otherThreads
	masterThreads = rootThread | firstThreads
	allThreads    = masterThreads | otherThreads
)

// phaseRow is a row in an iteration. The field from is a moment, and the field plus is the number of
// nanoseconds from this moment to the row.
type phaseRow struct {
	threads uint8
	kind    trace.Kind
	ref     uint32
	from    moment
	plus    int64
	op      uint64 // number of the collective operation, for rows of a collective operation
}

type phasesPlan struct {
	Problems
	seed       uint64
	n          int64 // number of processes
	threads    int64 // number of threads of each process
	compute    int64
	iterations int64
	begin      int64 // time of the first event, in ns
	rank       int64 // the rank that sends late
	node       int64 // first rank on the slow node
	fastest    int64 // shortest computing time of a rank if there is an imbalance, in ns
	slowest    int64
	slow       int64      // computing time on the slow node, in ns
	growth     int64      // increase of the computing time with each iteration, in ns
	noise      int64      // time by which one rank computes longer, in ns
	most       int64      // longest computing time in the first iteration, in ns
	prologue   []phaseRow // rows before the first iteration, relative to begin
	iteration  []phaseRow
	epilogue   []phaseRow // rows after the last iteration, relative to its end
	total      int64
}

// valid returns an error if a problem has an invalid value.
func (p *Problems) valid(threads, processes int) error {
	for _, d := range []struct {
		name string
		time int64
	}{{"late sender", p.LateSender}, {"serial", p.Serial}, {"lock", p.Lock}} {
		if d.time < 0 || d.time > maxDuration {
			return fmt.Errorf("%s: found %d ns, expected 0 to %d", d.name, d.time, int64(maxDuration))
		}
	}
	const most = 1000
	for _, d := range []struct {
		name        string
		value, zero float64 // zero is the value with which the problem does not occur
	}{{"imbalance", p.Imbalance, 1}, {"slow node", p.SlowNode, 1}, {"slowing", p.Slowing, 0}, {"noise", p.Noise, 0}} {
		if d.value != 0 && !(d.value >= d.zero && d.value <= most) {
			return fmt.Errorf("%s: found %g, expected %g to %d", d.name, d.value, d.zero, most)
		}
	}
	uneven := 0
	for _, x := range []bool{p.Imbalance > 1, p.SlowNode > 1, p.Noise > 0} {
		if x {
			uneven++
		}
	}
	switch {
	case uneven > 1:
		return errors.New("imbalance, slow node, noise: expected one of them, since each makes ranks wait for the same " +
			"computing")
	case p.LateSender > 0 && processes < 2:
		return errors.New("late sender: expected 2 or more locations")
	case p.Serial > 0 && processes < 2 && threads < 2:
		return errors.New("serial: expected 2 or more locations or threads, since others have no work meanwhile")
	case p.Imbalance > 1 && processes < 3:
		return errors.New("imbalance: expected 3 or more locations: of two, the slower one is just slow")
	case p.SlowNode > 1 && processes <= ranksPerNode:
		return fmt.Errorf("slow node: expected more than the %d locations of a node", ranksPerNode)
	case p.Noise > 0 && processes < 3:
		return errors.New("noise: expected 3 or more locations")
	case p.Lock > 0 && threads < 2:
		return errors.New("lock: expected 2 or more threads")
	}
	return nil
}

func planPhases(o Options, d *trace.Definitions) (source, error) {
	if o.Threads == 0 {
		o.Threads = 1
	}
	if o.Compute == 0 {
		o.Compute = DefaultCompute
	}
	if o.Threads < 1 || int64(o.Threads)*int64(o.Locations) > maxLocations {
		return nil, fmt.Errorf("threads: found %d, expected 1 to %d", o.Threads, maxLocations/o.Locations)
	}
	if o.Compute < 1 || o.Compute > maxDuration {
		return nil, fmt.Errorf("compute: found %d ns, expected 1 to %d", o.Compute, int64(maxDuration))
	}
	if err := o.Problems.valid(o.Threads, o.Locations); err != nil {
		return nil, err
	}
	p := &phasesPlan{Problems: o.Problems, seed: o.Seed, n: int64(o.Locations), threads: int64(o.Threads),
		compute: o.Compute}
	start := newRNG(o.Seed, 0)
	p.begin = start.between(0, startupSkew)
	p.rank = p.n / 2
	p.node = (p.n - 1) / ranksPerNode * ranksPerNode
	p.fastest, p.slowest = p.compute, p.compute
	times := func(f float64) int64 { return int64(math.Round(f * float64(p.compute))) }
	if p.Imbalance > 1 {
		p.fastest = times(2 / (1 + p.Imbalance))
		p.slowest = 2*p.compute - p.fastest
	}
	if p.Lock > 0 && p.Lock >= p.fastest {
		return nil, fmt.Errorf("lock: found %d ns, expected less than the %d ns of computing", p.Lock, p.fastest)
	}
	p.slow = times(max(1, p.SlowNode))
	p.growth, p.noise = times(p.Slowing), times(p.Noise)
	p.most = max(p.slowest, p.slow, p.compute+p.noise)
	p.program()
	fixed := p.count(p.prologue) + p.count(p.epilogue)
	// The number of iterations does not depend on the problems, so that runs with and without
	// problems are comparable.
	balanced := *p
	balanced.Problems, balanced.iteration, balanced.prologue, balanced.epilogue = Problems{}, nil, nil, nil
	balanced.program()
	p.iterations = round(o.Events-fixed, p.count(balanced.iteration))
	p.total = fixed + p.iterations*p.count(p.iteration)
	if !p.fits() {
		return nil, fmt.Errorf("workload phases: %d iterations take too long, expected fewer events or shorter times",
			p.iterations)
	}
	p.define(d)
	p.record(d)
	return p, nil
}

// fits reports whether the sum of the runtime over all threads is below 2^63 ns.
func (p *phasesPlan) fits() bool {
	n, threads := float64(p.iterations), float64(p.threads)
	iteration := float64(p.most) + threads*float64(p.Lock) + float64(p.Serial) + float64(p.LateSender) +
		100*phaseEventDistance
	return (n*iteration+n*n/2*float64(p.growth))*float64(p.n)*threads < math.MaxInt64
}

// define sets the definitions. Each process has a location group, as in traces of measurement
// systems.
func (p *phasesPlan) define(d *trace.Definitions) {
	d.Clock = trace.TicksPerSecond(1_000_000_000)
	group := func(name, kind string, parent uint32) uint32 {
		return d.Groups.Add(trace.LocationGroup{ID: strconv.Itoa(d.Groups.Len()), Name: name, Kind: kind, Parent: parent})
	}
	machine, node := group("machine", "machine", trace.NoRef), uint32(0)
	all, firsts, ranks := []int64{}, []int64{}, []int64{}
	for r := range p.n {
		if r%ranksPerNode == 0 {
			node = group(fmt.Sprintf("node %d", r/ranksPerNode), "node", machine)
		}
		process := group(fmt.Sprintf("rank %d", r), "process", node)
		for i := range p.threads {
			l := trace.Location{ID: strconv.Itoa(d.Locations.Len()), Name: fmt.Sprintf("rank %d", r),
				Kind: trace.ThreadLocation, Group: process}
			if i > 0 {
				l.Name += fmt.Sprintf(" thread %d", i)
			} else {
				firsts, ranks = append(firsts, int64(d.Locations.Len())), append(ranks, r)
			}
			all = append(all, int64(d.Locations.Len()))
			d.Locations.Add(l)
		}
	}
	regions := []trace.Region{userRegion("main"), mpiRegion("MPI_Init", "function"), userRegion("serial"),
		mpiRegion("MPI_Bcast", "coll_one2all"), userRegion("compute"), mpiRegion("MPI_Allreduce", "coll_all2all"),
		userRegion("pack"), mpiRegion("MPI_Send", "point2point"), mpiRegion("MPI_Recv", "point2point"),
		mpiRegion("MPI_Barrier", "barrier"), mpiRegion("MPI_Finalize", "function")}
	omp := func(name, role string) trace.Region { return trace.Region{Name: name, Group: "OPENMP", Role: role} }
	if p.threads > 1 {
		regions = append(regions, omp("!$omp parallel", "parallel"), omp("!$omp critical", "critical"),
			omp("!$omp critical sblock", "critical_sblock"), omp("!$omp implicit barrier", "implicit_barrier"))
	}
	for i, r := range regions {
		r.ID = strconv.Itoa(i)
		d.Regions.Add(r)
	}
	set := func(name, kind, paradigm string, members []int64) uint32 {
		return d.Sets.Add(trace.Set{ID: strconv.Itoa(d.Sets.Len()), Name: name, Kind: kind, Members: members,
			Attrs: []trace.Attr{{Key: "paradigm", Value: trace.StringValue(paradigm)}}})
	}
	communicator := func(name, paradigm string, members []int64) {
		d.Communicator.Add(trace.Communicator{ID: strconv.Itoa(d.Communicator.Len()), Name: name, Parent: trace.NoRef,
			Set: set(name, "ranks", paradigm, members)})
	}
	set("", "communicating locations", "MPI", firsts)
	communicator("MPI_COMM_WORLD", "MPI", ranks)
	if p.threads > 1 {
		set("", "communicating locations", "OPENMP", all)
		for r := range p.n {
			communicator("team of rank "+strconv.FormatInt(r, 10), "OPENMP", all[r*p.threads:][:p.threads])
		}
	}
}

// record adds properties that describe the problems and their effects.
func (p *phasesPlan) record(d *trace.Definitions) {
	add := func(key string, value any) {
		d.Properties.Add(trace.Attr{Key: key, Value: trace.StringValue(fmt.Sprint(value))})
	}
	add("iterations", p.iterations)
	add("runtime", p.runtime())
	n, others := p.iterations, p.n-1
	rank := func(r int64) string { return fmt.Sprintf("rank %d", r) }
	plant := func(name string, amount any, region, location string, gain int64, waits ...any) {
		name = "plant." + name
		add(name, amount)
		add(name+".region", region)
		if location != "" {
			add(name+".location", location)
		}
		add(name+".gain", gain)
		for i := 0; i < len(waits); i += 2 {
			add(fmt.Sprintf("%s.wait.%s", name, waits[i]), waits[i+1])
		}
	}
	if t := p.LateSender; t > 0 {
		// The receiver is not ready immediately, because it sends its own message before it enters MPI_Recv.
		waits := []any{"late-sender", n * max(0, t-3*phaseEventDistance), "wait-at-barrier", n * (p.n - 2) * t}
		if t > phaseEventDistance && t < 3*phaseEventDistance { // the send ends after the receiver is ready
			waits = append(waits, "late-receiver", n*(3*phaseEventDistance-t))
		}
		plant("late-sender", t, "pack", rank(p.rank), n*t, waits...)
	}
	if p.Imbalance > 1 {
		wait := int64(0)
		for r := range p.n {
			wait += p.slowest - p.firstComputing(r)
		}
		plant("imbalance", p.Imbalance, "compute", rank(p.n-1), n*(p.slowest-p.compute), "wait-at-nxn", n*wait)
	}
	if t := p.Serial; t > 0 {
		gain := n * t
		if p.n == 1 { // no other rank waits, but the other threads could do their part of the work
			gain -= gain / p.threads
		}
		plant("serial", t, "serial", rank(0), gain, "late-broadcast", n*others*t)
	}
	if p.SlowNode > 1 {
		t := p.slow - p.compute
		plant("slow-node", p.SlowNode, "compute", fmt.Sprintf("node %d", p.node/ranksPerNode), n*t, "wait-at-nxn", n*p.node*t)
	}
	if t := p.Lock; t > 0 {
		wait := n * p.n * t * p.threads * (p.threads - 1) / 2
		plant("lock", t, "!$omp critical sblock", "", n*(p.threads-1)*t, "lock-contention", wait,
			"wait-at-implicit-omp-barrier", wait)
	}
	if p.Slowing > 0 {
		plant("slowing", p.Slowing, "compute", "", p.slowingSum(n))
	}
	if p.noise > 0 {
		plant("noise", p.Noise, "compute", "", n*p.noise, "wait-at-nxn", n*others*p.noise)
	}
}

// firstComputing returns the computing time of a rank in the first iteration, without noise.
func (p *phasesPlan) firstComputing(rank int64) int64 {
	switch {
	case p.Imbalance > 1:
		hi, lo := bits.Mul64(uint64(p.slowest-p.fastest), uint64(rank))
		part, _ := bits.Div64(hi, lo, uint64(p.n-1))
		return p.fastest + int64(part)
	case p.SlowNode > 1 && rank >= p.node:
		return p.slow
	}
	return p.compute
}

// slowingSum returns the total time by which slowing lengthens the given number of iterations, from the first
// on.
func (p *phasesPlan) slowingSum(iterations int64) int64 {
	return iterations * (iterations - 1) / 2 * p.growth
}

// hasNoise reports whether noise affects a rank in an iteration.
func (p *phasesPlan) hasNoise(rank, iteration int64) bool {
	if p.noise == 0 {
		return false
	}
	r := newRNG(p.seed, 1)
	return (r.between(0, p.n)+iteration)%p.n == rank
}

// runtime returns the time from the first event to the last one, in nanoseconds.
func (p *phasesPlan) runtime() int64 {
	last := p.epilogue[len(p.epilogue)-1]
	return p.starts(p.iterations) - p.begin + last.plus
}

// starts returns the time at which an iteration begins.
func (p *phasesPlan) starts(iteration int64) int64 {
	return p.begin + 2*phaseEventDistance + phaseCollectiveTime + iteration*p.timeUntil(momentBarrierEnds) +
		p.slowingSum(iteration)
}

// timeUntil returns the time from the begin of an iteration to a moment at which all ranks are synchronised, in an
// iteration without slowing.
func (p *phasesPlan) timeUntil(to moment) int64 {
	t := int64(0)
	if to >= momentBcastEnds {
		t += 2*phaseEventDistance + p.Serial + phaseCollectiveTime
	}
	if to >= momentReduceEnds {
		t += p.timeBeforeCompute() + p.most + (p.threads-1)*p.Lock + p.timeAfterCompute() + phaseCollectiveTime
	}
	if to >= momentBarrierEnds {
		t += 2*phaseEventDistance + phasePreparationTime + p.LateSender + 6*phaseEventDistance + phaseCollectiveTime
	}
	return t
}

// timeBeforeCompute returns the time from the end of MPI_Bcast to the begin of computing;
// timeAfterCompute returns the time from the end of computing to the begin of MPI_Allreduce.
func (p *phasesPlan) timeBeforeCompute() int64 {
	if p.threads > 1 {
		return 4 * phaseEventDistance
	}
	return phaseEventDistance
}

func (p *phasesPlan) timeAfterCompute() int64 {
	if p.threads > 1 {
		return 6 * phaseEventDistance
	}
	return phaseEventDistance
}

// at returns the time of a moment in an iteration of a location.
func (p *phasesPlan) at(loc uint32, iteration int64, m moment) int64 {
	start := p.starts(iteration)
	rank, thread := int64(loc)/p.threads, int64(loc)%p.threads
	switch m {
	case momentRootEnters:
		t := start + 2*phaseEventDistance
		if rank == 0 {
			t += p.Serial
		}
		return t
	case momentBcastEnds:
		return start + p.timeUntil(m)
	case momentComputed, momentAcquire, momentRelease, momentImplicitBarrierEnds, momentReduceEnters:
		t := start + p.timeUntil(momentBcastEnds) + p.timeBeforeCompute() + p.firstComputing(rank) +
			iteration*p.growth - p.Lock
		if p.hasNoise(rank, iteration) {
			t += p.noise
		}
		switch m {
		case momentComputed:
			return t
		case momentAcquire:
			return t + thread*p.Lock
		case momentRelease:
			return t + (thread+1)*p.Lock
		case momentImplicitBarrierEnds:
			return t + p.threads*p.Lock + 2*phaseEventDistance
		}
		return t + p.threads*p.Lock + p.timeAfterCompute()
	}
	reduced := start + p.timeUntil(momentReduceEnds) + iteration*p.growth
	switch m {
	case momentReduceEnds:
		return reduced
	case momentSendEnters, momentMessageArrives:
		t := reduced + 2*phaseEventDistance + phasePreparationTime
		if rank == p.rank || m == momentMessageArrives && rank == (p.rank+1)%p.n {
			t += p.LateSender
		}
		if m == momentMessageArrives {
			t += 4 * phaseEventDistance
		}
		return t
	}
	if m == momentBarrierEnds {
		return p.starts(iteration + 1)
	}
	return start
}

// program fills in the rows of the prologue, of an iteration and of the epilogue.
func (p *phasesPlan) program() {
	list := &p.prologue
	add := func(who uint8, k trace.Kind, ref uint32, from moment, plus int64) {
		*list = append(*list, phaseRow{threads: who, kind: k, ref: ref, from: from, plus: plus})
	}
	visit := func(who uint8, ref uint32, begin moment, after int64, end moment, before int64) {
		add(who, trace.Enter, ref, begin, after)
		add(who, trace.Leave, ref, end, before)
	}
	collective := func(ref uint32, op uint64, begin moment, after int64, end moment) {
		add(masterThreads, trace.Enter, ref, begin, after)
		add(masterThreads, trace.CollectiveBegin, trace.NoRef, begin, after+phaseEventDistance)
		(*list)[len(*list)-1].op = op
		add(masterThreads, trace.CollectiveEnd, trace.NoRef, end, -phaseEventDistance)
		(*list)[len(*list)-1].op = op
		add(masterThreads, trace.Leave, ref, end, 0)
	}
	add(masterThreads, trace.Enter, mainRegion, momentStart, 0)
	visit(masterThreads, phaseInitRegion, momentStart, phaseEventDistance, momentStart,
		phaseEventDistance+phaseCollectiveTime)

	list = &p.iteration
	if p.Serial > 0 {
		visit(rootThread, phaseSerialRegion, momentStart, phaseEventDistance, momentStart, phaseEventDistance+p.Serial)
	}
	collective(phaseBcastRegion, broadcastOp, momentRootEnters, 0, momentBcastEnds)
	if p.threads > 1 {
		add(masterThreads, trace.ThreadFork, trace.NoRef, momentBcastEnds, phaseEventDistance)
		add(allThreads, trace.ThreadTeamBegin, trace.NoRef, momentBcastEnds, 2*phaseEventDistance)
		add(allThreads, trace.Enter, phaseParallelRegion, momentBcastEnds, 3*phaseEventDistance)
	}
	visit(allThreads, phaseComputeRegion, momentBcastEnds, p.timeBeforeCompute(), momentComputed, 0)
	if p.Lock > 0 {
		add(allThreads, trace.Enter, phaseCriticalRegion, momentComputed, 0)
		add(allThreads, trace.LockAcquire, trace.NoRef, momentAcquire, 0)
		visit(allThreads, phaseUpdateRegion, momentAcquire, 0, momentRelease, 0)
		add(allThreads, trace.LockRelease, trace.NoRef, momentRelease, 0)
		add(allThreads, trace.Leave, phaseCriticalRegion, momentRelease, 0)
	}
	if p.threads > 1 {
		visit(allThreads, phaseImplicitBarrierRegion, momentRelease, phaseEventDistance, momentImplicitBarrierEnds, 0)
		add(allThreads, trace.Leave, phaseParallelRegion, momentImplicitBarrierEnds, phaseEventDistance)
		add(allThreads, trace.ThreadTeamEnd, trace.NoRef, momentImplicitBarrierEnds, 2*phaseEventDistance)
		add(masterThreads, trace.ThreadJoin, trace.NoRef, momentImplicitBarrierEnds, 3*phaseEventDistance)
	}
	collective(phaseAllreduceRegion, allreduceOp, momentReduceEnters, 0, momentReduceEnds)
	visit(masterThreads, phasePackRegion, momentReduceEnds, phaseEventDistance, momentSendEnters, -phaseEventDistance)
	if p.n > 1 {
		add(masterThreads, trace.Enter, phaseSendRegion, momentSendEnters, 0)
		add(masterThreads, trace.Send, trace.NoRef, momentSendEnters, phaseEventDistance)
		add(masterThreads, trace.Leave, phaseSendRegion, momentSendEnters, 2*phaseEventDistance)
		add(masterThreads, trace.Enter, phaseRecvRegion, momentSendEnters, 3*phaseEventDistance)
		add(masterThreads, trace.Recv, trace.NoRef, momentMessageArrives, 0)
		add(masterThreads, trace.Leave, phaseRecvRegion, momentMessageArrives, phaseEventDistance)
	}
	collective(phaseBarrierRegion, barrierOp, momentMessageArrives, 2*phaseEventDistance, momentBarrierEnds)

	list = &p.epilogue
	visit(masterThreads, phaseFinalizeRegion, momentStart, phaseEventDistance, momentStart,
		phaseEventDistance+phaseCollectiveTime)
	add(masterThreads, trace.Leave, mainRegion, momentStart, 2*phaseEventDistance+phaseCollectiveTime)
}

// count returns the number of rows that all locations together write for a list of rows.
func (p *phasesPlan) count(list []phaseRow) int64 {
	n := int64(0)
	for i := range list {
		for _, x := range [...]struct {
			who   uint8
			count int64
		}{{rootThread, 1}, {firstThreads, p.n - 1}, {otherThreads, p.n * (p.threads - 1)}} {
			if list[i].threads&x.who != 0 {
				n += x.count
			}
		}
	}
	return n
}

func (p *phasesPlan) rowCount() int64 { return p.total }

type phases struct {
	*phasesPlan
	w     *writer
	ranks []phaseRank
}

// phaseRank is the position of a location in its program.
type phaseRank struct {
	iteration int64 // number of the iteration; -1 in the prologue
	row       uint8
}

func (p *phasesPlan) run(w *writer) {
	s := &phases{phasesPlan: p, w: w, ranks: make([]phaseRank, p.n*p.threads)}
	a := newAgenda(len(s.ranks))
	for i := range s.ranks {
		s.ranks[i].iteration = -1
		a.set(uint32(i), s.next(uint32(i)))
	}
	simulate(a, s, w)
}

// list returns the rows of the current part of a location's program: the prologue, an iteration or the
// epilogue.
func (s *phases) list(r *phaseRank) []phaseRow {
	switch {
	case r.iteration < 0:
		return s.prologue
	case r.iteration == s.iterations:
		return s.epilogue
	}
	return s.iteration
}

// next moves to the next row that a location writes, and returns its time.
func (s *phases) next(loc uint32) int64 {
	r := &s.ranks[loc]
	who := uint8(otherThreads)
	switch {
	case loc == 0:
		who = rootThread
	case int64(loc)%s.threads == 0:
		who = firstThreads
	}
	for r.iteration <= s.iterations {
		list := s.list(r)
		for ; int(r.row) < len(list); r.row++ {
			x := &list[r.row]
			if x.threads&who == 0 {
				continue
			}
			if r.iteration < 0 {
				return s.begin + x.plus
			}
			return s.at(loc, r.iteration, x.from) + x.plus
		}
		r.iteration++
		r.row = 0
	}
	return never
}

func (s *phases) step(loc uint32, t int64) int64 {
	r := &s.ranks[loc]
	x := &s.list(r)[r.row]
	r.row++
	w, rank := s.w, int64(loc)/s.threads
	w.row(loc, t, x.kind, x.ref)
	const model, lock = openMP, 1
	switch x.kind {
	case trace.Send:
		w.b.AddOps(uint64((rank+1)%s.n*s.threads), world, 0, haloBytes)
	case trace.Recv:
		w.b.AddOps(uint64((rank+s.n-1)%s.n*s.threads), world, 0, haloBytes)
	case trace.CollectiveBegin, trace.CollectiveEnd:
		root, sent, received := trace.Undefined, uint64(0), uint64(0)
		switch x.op {
		case broadcastOp:
			if root, received = 0, reduceBytes; rank == 0 {
				sent = reduceBytes * uint64(s.n)
			}
		case allreduceOp:
			sent, received = reduceBytes, reduceBytes
		}
		w.b.AddOps(x.op, world, root, sent, received, trace.Undefined)
	case trace.ThreadFork:
		w.b.AddOps(uint64(s.threads), model)
	case trace.ThreadJoin:
		w.b.AddOps(model)
	case trace.ThreadTeamBegin, trace.ThreadTeamEnd:
		w.b.AddOps(uint64(1 + rank))
	case trace.LockAcquire, trace.LockRelease:
		w.b.AddOps(lock, uint64(r.iteration*s.threads+int64(loc)%s.threads+1), model)
	}
	return s.next(loc)
}
