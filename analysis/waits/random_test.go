package waits_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/weft-trace/weft/trace"
)

// The following simulator generates traces of programs. It adds one step after another. A step
// contains all locations that take part in it, so that no program deadlocks, and its times respect
// causality. All times of the location of rank i leave the remainder i when divided by residues, so
// that no two locations have events at the same time.

// residues is the number of residue classes of times, and the unit of durations in ticks.
const residues = 16

// sim is the state of a simulated program.
type sim struct {
	*rand.Rand
	rec     *trace.Recorder
	ranks   []*simRank
	comms   []simComm
	threads bool
	// smallTeams is set if teams can have fewer threads than their process.
	smallTeams bool
	waiting    map[channelOf]*queueOf
	locks      map[int]*simLock // indexed by process
	memory     []simMemory      // indexed by process
	work       int64            // longest computation, in units of residues
	inOrder    bool             // receives of a channel complete in the order in which they were posted
}

// simRank is a simulated process.
type simRank struct {
	number   int
	threads  []uint32 // its locations; the first one communicates
	clock    []int64  // indexed by thread: the time from which on it is free, in ticks
	requests []*simRequest
	next     uint64 // number of the next request
	team     uint64 // communicator of its threads
	// smallTeams holds the communicators of the first thread, of the first two threads, and so on.
	smallTeams []uint64
}

// simComm is a communicator, with the ranks of its members.
type simComm struct{ members []int }

// channelOf identifies the messages that match each other: processes, communicator and tag.
type channelOf struct {
	from, to, comm int
	tag            int64
}

// queueOf holds the messages of a channel that no receive has taken yet, and the receives that wait for a
// message.
type queueOf struct {
	messages []*simMessage
	receives []*simRequest
}

// simMessage is a message that was sent.
type simMessage struct {
	channelOf
	length   uint64
	enter    int64 // time of the begin of the send call
	sent     int64 // time of the send event
	received int64 // time at which its receive was posted, or -1
}

// simRequest is a request that is not complete.
type simRequest struct {
	id        uint64
	send      bool
	sync      bool
	message   *simMessage // nil while it is unknown, for a receive
	posted    int64
	operation *simOperation // nil for messages
	member    int           // number of the member of operation
}

// simLock is a lock of a process: when it becomes free, and how often it was acquired.
type simLock struct {
	free  int64
	order uint64
}

// simOptions are the options of a random program.
type simOptions struct {
	seed          uint64
	threads       bool // processes have several threads, as teams
	smallTeams    bool // some teams have fewer threads than their process
	noMPI         bool // one process without MPI
	large         bool // more processes and threads
	steps         int
	noInit, noEnd bool
	onlyBlocking  bool // no requests
	worldOnly     bool // only one communicator
	noRendezvous  bool
	overtaking    bool // receives of a channel complete in any order
	posted        bool // some collective operations are non-blocking
	windows       bool // there is a window for one-sided communication
}

// simulate returns the trace of a random program.
func simulate(o simOptions) *trace.Recorder {
	s := &sim{Rand: rand.New(rand.NewPCG(o.seed, 7)), rec: trace.NewRecorder(trace.TicksPerSecond(1e9)),
		threads: o.threads, smallTeams: o.smallTeams, waiting: map[channelOf]*queueOf{}, locks: map[int]*simLock{},
		inOrder: !o.overtaking}
	s.work = []int64{5, 40, 300}[s.IntN(3)]
	d := s.rec.Defs()
	n := 2
	if o.large {
		n += s.IntN(13)
	} else {
		n += s.IntN(5)
	}
	if o.noMPI {
		n = 1
	}
	machine := s.rec.Machine("machine")
	for i := range n {
		process := s.rec.Process("MPI Rank "+strconv.Itoa(i), machine)
		r := &simRank{number: i}
		k := 1
		if o.threads {
			if o.large {
				k = 1 + s.IntN(6)
			} else {
				k = 1 + s.IntN(3)
			}
		}
		if o.noMPI {
			k = 2 + s.IntN(3)
		}
		for j := range k {
			r.threads = append(r.threads, s.rec.Thread("thread "+strconv.Itoa(j), process))
			r.clock = append(r.clock, 0)
		}
		s.ranks = append(s.ranks, r)
	}
	var all []int64
	world := simComm{}
	for i, r := range s.ranks {
		all = append(all, int64(r.threads[0]))
		world.members = append(world.members, i)
	}
	d.Sets.Add(trace.Set{ID: "0", Kind: "communicating locations", Members: all, Attrs: []trace.Attr{
		{Key: "paradigm", Value: trace.StringValue("mpi")}}})
	s.comm("MPI_COMM_WORLD", world)
	if !o.worldOnly {
		for range s.IntN(3) {
			members := s.Perm(n)[:1+s.IntN(n)]
			s.comm("comm", simComm{members})
		}
	}
	for _, r := range s.ranks {
		if len(r.threads) > 1 {
			r.team = s.team(r.threads)
			for i := range r.threads {
				if o.smallTeams {
					r.smallTeams = append(r.smallTeams, s.team(r.threads[:i+1]))
				}
			}
		}
	}
	if o.windows {
		s.memory = make([]simMemory, n)
		d.Windows.Add(trace.Named{ID: "0", Attrs: []trace.Attr{
			{Key: trace.CommunicatorAttribute, Value: trace.Value{Type: trace.CommRef}}}})
	}
	s.run(o, n)
	return s.rec
}

// comm adds a communicator, and its definition.
func (s *sim) comm(name string, c simComm) {
	d := s.rec.Defs()
	var members []int64
	for _, i := range c.members {
		members = append(members, int64(i))
	}
	id := strconv.Itoa(d.Communicator.Len())
	set := d.Sets.Add(trace.Set{ID: strconv.Itoa(d.Sets.Len()), Name: name, Kind: "ranks", Members: members,
		Attrs: []trace.Attr{{Key: "paradigm", Value: trace.StringValue("mpi")}}})
	d.Communicator.Add(trace.Communicator{ID: id, Name: name, Set: set, Parent: trace.NoRef})
	s.comms = append(s.comms, c)
}

// team defines a communicator of threads.
func (s *sim) team(threads []uint32) uint64 {
	d := s.rec.Defs()
	var members []int64
	for _, loc := range threads {
		members = append(members, int64(loc))
	}
	set := d.Sets.Add(trace.Set{ID: strconv.Itoa(d.Sets.Len()), Name: "team", Kind: "locations", Members: members,
		Attrs: []trace.Attr{{Key: "paradigm", Value: trace.StringValue("openmp")}}})
	c := trace.Communicator{ID: strconv.Itoa(d.Communicator.Len()), Name: "team", Set: set, Parent: trace.NoRef}
	return uint64(d.Communicator.Add(c))
}

// after returns a time in the residue class of a location that is at least d ticks after t.
func (s *sim) after(loc uint32, t, d int64) int64 {
	t += d
	return t + (int64(loc)-t%residues+residues)%residues
}

// short returns a random short duration of library code, in ticks.
func (s *sim) short() int64 { return residues * (1 + s.Int64N(4)) }

// region returns a region with a paradigm and role, which it defines if needed.
func (s *sim) region(name string, paradigm, role string) uint32 {
	i := s.rec.Region(name)
	x := s.rec.Defs().Regions.At(i)
	if x.Group == "" {
		x.Group, x.Role = paradigm, role
	}
	return i
}

func (s *sim) user(name string) uint32 { return s.region(name, "USER", "function") }
func (s *sim) mpi(name string) uint32  { return s.region(name, "MPI", "") }

// enter begins a call of a thread when it is free, and returns the time.
func (s *sim) enter(r *simRank, thread int, region uint32) int64 {
	loc := r.threads[thread]
	t := s.after(loc, r.clock[thread], s.Int64N(3)*residues)
	s.rec.Enter(loc, t, region)
	r.clock[thread] = t
	return t
}

// leave ends a call at time t, or when the thread is free if that is later. It returns the time.
func (s *sim) leave(r *simRank, thread int, region uint32, t int64) int64 {
	loc := r.threads[thread]
	t = s.after(loc, max(t, r.clock[thread]), s.short())
	s.rec.Leave(loc, t, region)
	r.clock[thread] = t
	return t
}

// event records an event in the open call, at time t or after the previous event of the thread. It
// returns the time.
func (s *sim) event(r *simRank, thread int, t int64, k trace.Kind, ops ...uint64) int64 {
	loc := r.threads[thread]
	t = s.after(loc, max(t, r.clock[thread]), residues*s.Int64N(2)+1)
	s.rec.Event(loc, t, k, trace.NoRef, ops)
	r.clock[thread] = t
	return t
}

// compute lets a thread compute in a region.
func (s *sim) compute(r *simRank, thread int) {
	name := s.user("work" + strconv.Itoa(s.IntN(3)))
	s.enter(r, thread, name)
	nested := s.IntN(4) == 0
	if nested {
		in := s.user("inner")
		s.enter(r, thread, in)
		s.leave(r, thread, in, r.clock[thread]+residues*s.Int64N(s.work))
	}
	s.leave(r, thread, name, r.clock[thread]+residues*s.Int64N(s.work))
}

// run adds o.steps random steps of n processes, between their initialisation and finalisation.
func (s *sim) run(o simOptions, n int) {
	mainRegion := s.user("main")
	for _, r := range s.ranks {
		r.clock[0] = s.after(r.threads[0], 0, 0)
		s.rec.Enter(r.threads[0], r.clock[0], mainRegion)
		for i := range r.threads {
			r.clock[i] = s.after(r.threads[i], 0, 0)
		}
	}
	if !o.noInit && !o.noMPI {
		s.allEnter("MPI_Init")
	}
	for range o.steps {
		r := s.ranks[s.IntN(n)]
		if o.large && s.IntN(4) == 0 {
			local := s.mpi("MPI_Comm_rank") // has no events, and waits for nothing
			s.enter(r, 0, local)
			s.leave(r, 0, local, r.clock[0]+residues*s.Int64N(s.work))
		}
		if s.IntN(2) == 0 {
			s.compute(r, 0)
		}
		switch k := s.IntN(20); {
		case len(r.threads) > 1 && k < 6:
			s.parallel(r)
		case n == 1:
		case o.windows && s.IntN(2) == 0:
			s.oneSided(r)
		case k < 10 && !o.onlyBlocking:
			s.nonblocking(r, o)
		case k < 13:
			s.blocking(r)
		case k == 13 && !o.noRendezvous:
			s.rendezvous(r)
		case k == 14:
			s.exchange(r)
		case o.posted && s.IntN(2) == 0:
			s.postOperation()
		default:
			s.collective()
		}
	}
	s.drain()
	if !o.noEnd && !o.noMPI {
		s.allEnter("MPI_Finalize")
	}
	for _, r := range s.ranks {
		s.leave(r, 0, mainRegion, 0)
	}
}

// allEnter adds a call of all processes that none leaves before the last one has entered it.
func (s *sim) allEnter(name string) {
	last := int64(0)
	for _, r := range s.ranks {
		if s.IntN(2) == 0 {
			s.compute(r, 0)
		}
		last = max(last, s.enter(r, 0, s.mpi(name)))
	}
	for _, r := range s.ranks {
		s.leave(r, 0, s.mpi(name), last+residues)
	}
}

// queue returns the queue of a channel.
func (s *sim) queue(c channelOf) *queueOf {
	if s.waiting[c] == nil {
		s.waiting[c] = &queueOf{}
	}
	return s.waiting[c]
}

// send adds a message that was sent. The oldest receive posted on its channel gets it, if there is
// one.
func (s *sim) send(m *simMessage) {
	m.received = -1
	q := s.queue(m.channelOf)
	if len(q.receives) > 0 {
		q.receives[0].message = m
		m.received = q.receives[0].posted
		q.receives = q.receives[1:]
		return
	}
	q.messages = append(q.messages, m)
}

// channel returns a random channel that has process r as one of its ends. ok is false if it finds
// none.
func (s *sim) channel(r *simRank) (c channelOf, from, to *simRank, ok bool) {
	comm := s.IntN(len(s.comms))
	m := s.comms[comm].members
	if len(m) < 2 || !slices.Contains(m, r.number) {
		return c, nil, nil, false
	}
	other := r
	for other == r {
		other = s.ranks[m[s.IntN(len(m))]]
	}
	if s.IntN(2) == 0 {
		r, other = other, r
	}
	return channelOf{r.number, other.number, comm, s.Int64N(3)}, r, other, true
}

// ops returns the operands of an event of the message, with the given process at the other end.
func (m *simMessage) ops(s *sim, peer int) []uint64 {
	return []uint64{uint64(s.ranks[peer].threads[0]), uint64(m.comm), uint64(m.tag), m.length}
}

// blocking adds a blocking send of a message, or the receive of a message that was sent.
func (s *sim) blocking(r *simRank) {
	if s.IntN(2) == 0 && s.receiveAny(r) {
		return
	}
	c, from, _, ok := s.channel(r)
	if !ok {
		return
	}
	region := s.mpi("MPI_Send")
	m := &simMessage{channelOf: c, length: s.Uint64N(100)}
	m.enter = s.enter(from, 0, region)
	m.sent = s.event(from, 0, 0, trace.Send, m.ops(s, c.to)...)
	s.leave(from, 0, region, 0)
	s.send(m)
}

// busy reports whether a receive of a channel has its message, but is not complete. A further receive would
// overtake this one.
func (s *sim) busy(c channelOf) bool {
	return s.inOrder && slices.ContainsFunc(s.ranks[c.to].requests, func(q *simRequest) bool {
		return !q.send && q.message != nil && q.message.channelOf == c
	})
}

// pending returns the channels to a process with messages for which no receive is posted.
func (s *sim) pending(r *simRank) (out []channelOf) {
	for c, q := range s.waiting {
		if c.to == r.number && len(q.messages) > 0 && !s.busy(c) {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b channelOf) int {
		return cmp.Or(a.from-b.from, a.comm-b.comm, int(a.tag-b.tag))
	})
	return out
}

// receiveAny adds a receive of a random pending message. It returns false if there is none.
func (s *sim) receiveAny(r *simRank) bool {
	list := s.pending(r)
	if len(list) == 0 {
		return false
	}
	q := s.queue(list[s.IntN(len(list))])
	m := q.messages[0]
	q.messages = q.messages[1:]
	region := s.mpi("MPI_Recv")
	m.received = s.enter(r, 0, region)
	s.event(r, 0, m.sent+residues, trace.Recv, m.ops(s, m.from)...)
	s.leave(r, 0, region, 0)
	return true
}

// rendezvous adds a synchronous send and its receive, either of which can begin first.
func (s *sim) rendezvous(r *simRank) {
	c, from, to, ok := s.channel(r)
	if !ok || len(s.queue(c).messages) > 0 || len(s.queue(c).receives) > 0 || s.busy(c) {
		return
	}
	name := "MPI_Ssend"
	if s.IntN(2) == 0 {
		name = "MPI_Send" // a long message, which MPI_Send sends synchronously
	}
	m := &simMessage{channelOf: c, length: 1 << 20}
	m.enter = s.enter(from, 0, s.mpi(name))
	m.sent = s.event(from, 0, 0, trace.Send, m.ops(s, c.to)...)
	m.received = s.enter(to, 0, s.mpi("MPI_Recv"))
	s.event(to, 0, m.sent+residues, trace.Recv, m.ops(s, c.from)...)
	s.leave(to, 0, s.mpi("MPI_Recv"), 0)
	s.leave(from, 0, s.mpi(name), m.received+residues)
}

// exchange adds calls of MPI_Sendrecv by two processes.
func (s *sim) exchange(r *simRank) {
	c, a, b, ok := s.channel(r)
	back := channelOf{c.to, c.from, c.comm, c.tag}
	for _, q := range []channelOf{c, back} {
		if !ok || len(s.queue(q).messages) > 0 || len(s.queue(q).receives) > 0 || s.busy(q) {
			return
		}
	}
	region := s.mpi("MPI_Sendrecv")
	there, here := &simMessage{channelOf: c, length: 8}, &simMessage{channelOf: back, length: 8}
	s.enter(a, 0, region)
	there.sent = s.event(a, 0, 0, trace.Send, there.ops(s, c.to)...)
	s.enter(b, 0, region)
	here.sent = s.event(b, 0, 0, trace.Send, here.ops(s, c.from)...)
	s.event(a, 0, here.sent+residues, trace.Recv, here.ops(s, c.to)...)
	s.event(b, 0, there.sent+residues, trace.Recv, there.ops(s, c.from)...)
	s.leave(a, 0, region, 0)
	s.leave(b, 0, region, 0)
}

// nonblocking adds a non-blocking send or receive, or the completion of requests.
func (s *sim) nonblocking(r *simRank, o simOptions) {
	switch k := s.IntN(5); {
	case k < 2:
		c, from, _, ok := s.channel(r)
		if !ok {
			return
		}
		name := "MPI_Isend"
		sync := s.IntN(3) == 0 && !o.noRendezvous
		if sync {
			name = "MPI_Issend"
		}
		m := &simMessage{channelOf: c, length: s.Uint64N(100)}
		m.enter = s.enter(from, 0, s.mpi(name))
		id := from.next
		from.next++
		m.sent = s.event(from, 0, 0, trace.SendBegin, append(m.ops(s, c.to), id)...)
		s.leave(from, 0, s.mpi(name), 0)
		s.send(m)
		from.requests = append(from.requests, &simRequest{id: id, send: true, sync: sync, message: m})
	case k < 4:
		c, _, to, ok := s.channel(r)
		if !ok {
			return
		}
		s.post(to, c)
	default:
		s.complete(r, false)
	}
}

// post adds the posting of a receive.
func (s *sim) post(to *simRank, c channelOf) {
	q := &simRequest{id: to.next}
	to.next++
	q.posted = s.enter(to, 0, s.mpi("MPI_Irecv"))
	s.event(to, 0, 0, trace.RecvBegin, q.id)
	s.leave(to, 0, s.mpi("MPI_Irecv"), 0)
	to.requests = append(to.requests, q)
	w := s.queue(c)
	if len(w.messages) > 0 {
		q.message = w.messages[0]
		w.messages = w.messages[1:]
		q.message.received = q.posted
		return
	}
	w.receives = append(w.receives, q)
}

// ready reports whether a request can complete: the other end of its message has been simulated.
func (q *simRequest) ready() bool {
	switch {
	case q.operation != nil:
		return true
	case q.send:
		return !q.sync || q.message.received >= 0
	}
	return q.message != nil
}

// complete adds calls that complete some or all of the ready requests, in any order.
func (s *sim) complete(r *simRank, all bool) {
	var ready, rest []*simRequest
	for _, q := range r.requests {
		if q.ready() {
			ready = append(ready, q)
		} else {
			rest = append(rest, q)
		}
	}
	if len(ready) == 0 {
		return
	}
	s.Shuffle(len(ready), func(i, j int) { ready[i], ready[j] = ready[j], ready[i] })
	if s.inOrder {
		sortChannels(ready)
	}
	n := len(ready)
	name := "MPI_Waitall"
	if !all {
		n = 1 + s.IntN(len(ready))
		switch s.IntN(6) {
		case 0:
			name, n = "MPI_Wait", 1
		case 1:
			name, n = "MPI_Waitany", 1
		case 2:
			name = "MPI_Waitsome"
		case 3:
			name, n = "MPI_Test", 1
		}
	}
	region := s.mpi(name)
	if name == "MPI_Test" { // it is called repeatedly until all requests are ready
		r.clock[0] = max(r.clock[0], ready[0].readyAt())
	}
	s.enter(r, 0, region)
	for _, q := range ready[:n] {
		if q.operation != nil {
			s.event(r, 0, q.readyAt()+residues, trace.CollectiveComplete, append(q.operation.ops(q.member), q.id)...)
			continue
		}
		if q.send {
			t := int64(0)
			if q.sync {
				t = q.message.received + residues
			}
			s.event(r, 0, t, trace.SendComplete, q.id)
			continue
		}
		m := q.message
		s.event(r, 0, m.sent+residues, trace.RecvComplete, append(m.ops(s, m.from), q.id)...)
	}
	s.leave(r, 0, region, 0)
	r.requests = append(rest, ready[n:]...)
}

// sortChannels sorts the receives of each channel by the time at which they were posted. Each
// channel keeps its places in the list.
func sortChannels(list []*simRequest) {
	places := map[channelOf][]int{}
	for i, q := range list {
		if !q.send && q.operation == nil {
			places[q.message.channelOf] = append(places[q.message.channelOf], i)
		}
	}
	for _, at := range places {
		var same []*simRequest
		for _, i := range at {
			same = append(same, list[i])
		}
		slices.SortFunc(same, func(a, b *simRequest) int { return cmp.Compare(a.id, b.id) })
		for k, i := range at {
			list[i] = same[k]
		}
	}
}

// drain receives all messages that were sent, sends the messages of all receives, and completes all
// requests.
func (s *sim) drain() {
	var open []channelOf
	for c := range s.waiting {
		open = append(open, c)
	}
	slices.SortFunc(open, func(a, b channelOf) int {
		return cmp.Or(a.from-b.from, a.to-b.to, a.comm-b.comm, int(a.tag-b.tag))
	})
	for _, c := range open {
		for len(s.waiting[c].receives) > 0 {
			from := s.ranks[c.from]
			m := &simMessage{channelOf: c, length: 3}
			m.enter = s.enter(from, 0, s.mpi("MPI_Send"))
			m.sent = s.event(from, 0, 0, trace.Send, m.ops(s, c.to)...)
			s.leave(from, 0, s.mpi("MPI_Send"), 0)
			s.send(m)
		}
	}
	for range 2 {
		for _, r := range s.ranks {
			for s.receiveAny(r) {
			}
		}
		for _, r := range s.ranks {
			s.complete(r, true)
		}
	}
}

// collectives lists the collective calls of MPI with the names of their operations. The kind states which members
// wait:
//   - all: all members wait for all others.
//   - from: all members wait for the root.
//   - to: the root waits for all other members.
//   - scan: each member waits for the members with lower ranks.
var collectives = []struct{ call, operation, kind string }{
	{"MPI_Barrier", "barrier", "all"}, {"MPI_Bcast", "broadcast", "from"}, {"MPI_Scatter", "scatter", "from"},
	{"MPI_Scatterv", "scatterv", "from"}, {"MPI_Gather", "gather", "to"}, {"MPI_Gatherv", "gatherv", "to"},
	{"MPI_Reduce", "reduce", "to"}, {"MPI_Allreduce", "allreduce", "all"}, {"MPI_Allgather", "allgather", "all"},
	{"MPI_Allgatherv", "allgatherv", "all"}, {"MPI_Alltoall", "alltoall", "all"}, {"MPI_Alltoallv", "alltoallv", "all"},
	{"MPI_Alltoallw", "alltoallw", "all"}, {"MPI_Reduce_scatter", "reduce-scatter", "all"},
	{"MPI_Reduce_scatter_block", "reduce-scatter-block", "all"}, {"MPI_Scan", "scan", "scan"},
	{"MPI_Exscan", "exscan", "scan"}, {"MPI_Barrier", "barrier", "all"},
}

// collective adds a collective operation of a random communicator.
func (s *sim) collective() {
	o := s.operation()
	region := s.mpi(o.call)
	for i, r := range o.ranks {
		o.enter[i] = s.enter(r, 0, region)
		s.event(r, 0, 0, trace.CollectiveBegin)
	}
	for i, r := range o.ranks {
		s.event(r, 0, o.earliest(i)+residues, trace.CollectiveEnd, o.ops(i)...)
		s.leave(r, 0, region, 0)
	}
}
