package waitstate

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/trace"
)

// instance is a collective operation with the members so far.
type instance struct {
	operation, root uint64
	members         []Member
	incoming        map[uint32]access // indexed by location: the latest access to its memory since the previous instance
}

// sequence holds the incomplete operations of a sequence.
type sequence struct {
	communicator uint64 // trace.Undefined if it is unknown
	posted       bool
	unknown      bool             // the trace does not define the communicator or the window, or has only one member
	next         map[uint32]int64 // indexed by location: number of its next operation
	counts       []int64          // number of calls of each location, ascending
	done         int64            // number of the first operation in list
	list         []instance
	disagreed    bool       // from this operation on, the members call different operations
	ranks        []uint32   // locations of the communicator, by rank
	free         [][]Member // lists of members, for reuse
}

// countMembers prepares the sequences and barriers with the numbers of calls of each location. These
// determine how many members an operation has.
func (e *engine) countMembers() {
	e.log.Sequences(func(k synclog.Sequence, loc uint32, calls int64) {
		s := e.collectives[k]
		if s == nil {
			s = &sequence{communicator: k.Communicator, posted: k.Posted, next: map[uint32]int64{}}
			if k.Windows {
				s.communicator = e.windowCommunicator(k.Communicator)
				s.unknown = k.Communicator >= uint64(e.defs.Windows.Len())
			} else {
				s.unknown = k.Communicator >= uint64(e.defs.Communicator.Len())
			}
			if e.defs.IsSelf(s.communicator) {
				return // no member waits for others
			}
			if s.communicator < uint64(e.defs.Communicator.Len()) {
				s.ranks = e.members.Ranks(uint32(s.communicator))
			}
			e.collectives[k] = s
		}
		s.next[e.rankOf(loc)] += calls
	})
	for _, s := range e.collectives {
		for _, calls := range s.next {
			s.counts = append(s.counts, calls)
		}
		n, known := e.defs.MemberCount(uint32(min(s.communicator, uint64(trace.NoRef))))
		s.unknown = s.unknown || len(s.counts) == 1 && known && n > 1
		slices.Sort(s.counts)
		clear(s.next)
	}
	e.barriers.init(e)
}

// expected returns the number of locations that take part in operation n of the sequence.
func (s *sequence) expected(n int64) int {
	i, _ := slices.BinarySearch(s.counts, n+1)
	return len(s.counts) - i
}

// processCollective handles the posting, the completion or the end of a collective operation. own is the call,
// as known so far, that completes messages and non-blocking operations. It may be nil.
func (e *engine) processCollective(c *synclog.Call, at Place, p *synclog.Point, own *call) *call {
	if p.Kind == synclog.CollectivePost {
		e.post(c, at, p.Ops[0])
		return own
	}
	m := memberOf(c, at)
	m.isPoint = c.IsPoint && !c.Bounded
	m.sends, m.receives = p.Ops[3] != 0, p.Ops[4] != 0
	if p.Kind == synclog.WindowCollective {
		e.join(synclog.Sequence{Communicator: p.Ops[0], Windows: true}, windowOperation(c, p.Ops[1]), p.Ops[2], m)
		return own
	}
	posted := p.Kind == synclog.CollectiveDone
	if posted {
		own = e.messages.callOf(c, at, own)
		own.pending++
		m.call = own
	}
	if !posted || !e.complete(p.Ops[5], p.Ops[1], p.Ops[0], p.Ops[2], m) {
		e.join(synclog.Sequence{Communicator: p.Ops[1], Posted: posted}, p.Ops[0], p.Ops[2], m)
	}
	return own
}

// join adds a member to the next operation of its location in a sequence.
func (e *engine) join(k synclog.Sequence, operation, root uint64, m Member) {
	s := e.collectives[k]
	if s == nil { // the communicator has a single member, which waits for nobody
		e.Judged += e.countedMembers([]Member{m})
		e.endMembers([]Member{m})
		return
	}
	loc := e.rankOf(m.Place.Location)
	n := s.next[loc]
	s.next[loc]++
	if s.unknown || s.disagreed || n < s.done {
		e.unjudgeMembers(UnmatchedCollective, []Member{m})
		e.endMembers([]Member{m})
		return
	}
	for int64(len(s.list)) <= n-s.done {
		s.list = append(s.list, instance{operation: operation, root: root})
	}
	x := &s.list[n-s.done]
	if len(x.members) == 0 {
		x.operation, x.root = operation, root
		if k := len(s.free); k > 0 {
			x.members, s.free = s.free[k-1], s.free[:k-1]
		}
	} else if x.operation != operation || x.root != root && !e.defs.ConnectsGroups(s.communicator) {
		e.endSequence(s, m)
		return
	}
	x.members = append(x.members, m)
	for len(s.list) > 0 && len(s.list[0].members) > 0 && len(s.list[0].members) >= s.expected(s.done) {
		e.judge(s, &s.list[0])
		e.endMembers(s.list[0].members)
		s.free = append(s.free, s.list[0].members[:0])
		s.list[0], s.list = instance{}, s.list[1:]
		s.done++
	}
}

// endSequence ends the matching of a sequence. It counts the waiting calls of the sequence, and the given
// others, as unjudged.
func (e *engine) endSequence(s *sequence, others ...Member) {
	e.unjudgeMembers(UnmatchedCollective, others)
	e.endMembers(others)
	for _, x := range s.list {
		e.unjudgeMembers(UnmatchedCollective, x.members)
		e.endMembers(x.members)
	}
	s.list, s.free, s.disagreed = nil, nil, true
}

// endMembers ends the parts of members in an operation.
func (e *engine) endMembers(list []Member) {
	for i := range list {
		if c := list[i].call; c != nil {
			e.completeOne(c)
		}
	}
}

// reportMemberWaits reports the waits of a member in an operation, with the longest one first. If a call
// completes several non-blocking operations, it gets only the waits of the operation with the longest
// one. Therefore the call keeps them until all of its operations are known.
func (e *engine) reportMemberWaits(m *Member, waits ...Wait) {
	c := m.call
	switch {
	case c == nil:
		for _, w := range waits {
			e.reportWait(w)
		}
	case !c.test && waits[0].Length > c.memberWait():
		c.memberWaits = waits
	}
}

// root returns the location of an operation's root, or trace.NoRef. Traces that define their own
// operations record the root as an id, others as a rank.
func (e *engine) root(s *sequence, x *instance) uint32 {
	if e.defs.Conventions.OwnOperations {
		id := strconv.FormatUint(x.root, 10)
		for _, m := range x.members {
			if e.defs.Locations.Has(m.Place.Location) && e.defs.Locations.At(m.Place.Location).ID == id {
				return m.Place.Location
			}
		}
	} else if x.root < uint64(len(s.ranks)) {
		return s.ranks[x.root]
	}
	return trace.NoRef
}

// judge reports the waits in an operation with all members.
func (e *engine) judge(s *sequence, x *instance) {
	switch {
	case len(x.members) < 2:
		e.Judged += e.countedMembers(x.members) // it waits for nobody
		return
	case e.defs.ConnectsGroups(s.communicator):
		e.unjudgeMembers(GroupsCollective, x.members)
		return
	}
	slices.SortFunc(x.members, func(a, b Member) int { return int(a.Place.Location) - int(b.Place.Location) })
	if slices.ContainsFunc(x.members, func(m Member) bool { return m.isPoint }) {
		e.countUnjudged(BareCollective, x.members)
		return
	}
	judged := e.countedMembers(x.members)
	name, _ := e.defs.OperationName(x.operation)
	o := &Operation{Communicator: s.communicator, HasCommunicator: s.communicator != trace.Undefined,
		Members: x.members, Root: -1, Posted: s.posted, Collective: true}
	if p, ok := windowPatterns[x.operation]; ok {
		e.Judged += judged
		e.judgeWindow(o, p, x.incoming)
		e.reportOperation(o)
		return
	}
	switch name {
	case "barrier":
		e.judgeNxN(o, Barrier, BarrierCompletion, func(*Member) (waits, completes bool) { return true, true })
	case "allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw", "allreduce", "reduce-scatter",
		"reduce-scatter-block":
		e.judgeNxN(o, NxN, NxNCompletion,
			func(m *Member) (waits, completes bool) { return m.receives, m.sends && m.receives })
	case "broadcast", "scatter", "scatterv", "gather", "gatherv", "reduce":
		root := e.root(s, x)
		o.Root = slices.IndexFunc(x.members, func(m Member) bool { return e.rankOf(m.Place.Location) == root })
		if o.Root < 0 {
			e.unjudgeMembers(UnmatchedCollective, x.members)
			return
		}
		if name == "gather" || name == "gatherv" || name == "reduce" {
			e.judgeToRoot(o)
		} else {
			e.judgeFromRoot(o)
		}
	case "scan", "exscan":
		e.judgeScan(s, o)
	default:
		o.Relation, judged = Independent, 0
		e.unjudgeMembers(OtherCollective, x.members)
	}
	e.Judged += judged
	e.reportOperation(o)
}

// memberOf returns the member for a call that both begins and completes its part in an operation.
func memberOf(c *synclog.Call, at Place) Member {
	return Member{Place: at, Path: c.Path, Arrival: c.Enter, ArrivalPlace: at, Enter: c.Enter, Leave: c.Leave,
		busy: slices.Clone(c.Busy)}
}

// waited returns the time from the begin of the member's call to time t, without the time in other regions.
func (m *Member) waited(t int64) int64 {
	w := t - m.Enter
	for _, s := range m.busy {
		w -= max(0, min(s.End, t)-s.Begin)
	}
	return w
}

// interval returns the interval of the wait up to time t.
func (m *Member) interval(t int64) Interval { return Interval{m.Enter, m.waited(t), m.busy} }

// LastToArrive returns the member that arrives last; of several, the first one in the list.
func LastToArrive(members []Member) *Member {
	last := &members[0]
	for i := range members {
		if members[i].Arrival > last.Arrival {
			last = &members[i]
		}
	}
	return last
}

// FirstLeave returns the earliest time at which a member leaves, in ticks.
func FirstLeave(members []Member) int64 {
	first := int64(math.MaxInt64)
	for i := range members {
		first = min(first, members[i].Leave)
	}
	return first
}

// waitFor returns the wait of member m for the arrival of member cause. The time in other regions during the call is
// no wait.
func (o *Operation) waitFor(p Pattern, m, cause *Member) Wait {
	return Wait{p, m.Place, m.Path, m.interval(min(cause.Arrival, m.Leave)), cause.ArrivalPlace, cause.Arrival,
		o.Communicator, o.HasCommunicator}
}

// completion returns the time that a member stays in an operation after all members have arrived and
// the first one has left, as a Wait. first is the time at which the first member leaves.
func (o *Operation) completion(p Pattern, m, last *Member, first int64) Wait {
	begin := max(first, last.Arrival, m.Enter)
	return Wait{p, m.Place, m.Path, between(begin, m.Leave), last.ArrivalPlace, last.Arrival, o.Communicator,
		o.HasCommunicator}
}

// judgeNxN reports the waits in an operation in which members wait for all others. takesPart returns
// whether a member waits, and whether its completion is reported.
func (e *engine) judgeNxN(o *Operation, waiting, completion Pattern, takesPart func(*Member) (waits, completes bool)) {
	last, first := LastToArrive(o.Members), FirstLeave(o.Members)
	e.countViolation(&e.Violations.Operations, last.Arrival-first, last.Arrival)
	for i := range o.Members {
		m := &o.Members[i]
		waits, completes := takesPart(m)
		m.Free = !waits
		if waits {
			e.reportMemberWaits(m, o.waitFor(waiting, m, last))
		}
		if completes && !o.Posted {
			e.reportWait(o.completion(completion, m, last, first))
		}
	}
}

// judgeFromRoot reports the waits in an operation in which all members wait for the root.
func (e *engine) judgeFromRoot(o *Operation) {
	o.Relation = RootSends
	root, early := &o.Members[o.Root], int64(0)
	for i := range o.Members {
		m := &o.Members[i]
		m.Free = i == o.Root || !m.receives
		if !m.Free {
			early = max(early, root.Arrival-m.Leave)
			e.reportMemberWaits(m, o.waitFor(LateBroadcast, m, root))
		}
	}
	e.countViolation(&e.Violations.Operations, early, root.Arrival)
}

// judgeToRoot reports the wait of the root in an operation in which it waits for the first one of the
// other members.
func (e *engine) judgeToRoot(o *Operation) {
	o.Relation = RootWaits
	var first *Member
	root, early := &o.Members[o.Root], int64(0)
	for i := range o.Members {
		m := &o.Members[i]
		m.Free = i != o.Root || !m.receives
		if i != o.Root && m.sends && root.receives {
			early = max(early, m.Arrival-root.Leave)
		}
		if i != o.Root && (first == nil || m.Arrival < first.Arrival) {
			first = m
		}
	}
	last := LastToArrive(o.Members)
	e.countViolation(&e.Violations.Operations, early, last.Arrival)
	together := last.Arrival < FirstLeave(o.Members)
	order := inOrderOfArrival(o.Members)
	for i := range o.Members {
		m := &o.Members[i]
		m.Awaited = awaited(order, m)
		switch {
		case !m.Free:
			if m.Awaited = nil; m != last {
				e.reportMemberWaits(m, o.waitFor(Reduction, m, last), o.waitFor(EarlyReduce, m, first))
			}
		case together && m != last:
			e.reportMemberWaits(m, o.waitFor(Reduction, m, last))
		case m.Awaited != nil:
			e.reportMemberWaits(m, o.waitFor(Partial, m, m.Awaited))
		}
	}
}

// inOrderOfArrival returns the members in the order in which they arrive.
func inOrderOfArrival(members []Member) []*Member {
	order := make([]*Member, len(members))
	for i := range members {
		order[i] = &members[i]
	}
	slices.SortStableFunc(order, func(a, b *Member) int { return cmp.Compare(a.Arrival, b.Arrival) })
	return order
}

// clockError is the part of the length of a call by which the clocks of two members may differ unnoticed.
const clockError = 0.05

// awaited returns the member for which member m has probably waited, or nil: the one whose arrival is nearest to the
// end of the call of m. Implementations of reductions pass on partial results along a tree, so that not only the root
// waits. The members are in the order in which they arrive.
func awaited(order []*Member, m *Member) (nearest *Member) {
	limit := m.Leave + int64(clockError*float64(m.Leave-m.Enter))
	i, _ := slices.BinarySearchFunc(order, limit, func(x *Member, t int64) int {
		if x.Arrival <= t {
			return -1
		}
		return 1
	})
	distance := func(x *Member) int64 { return max(x.Arrival-m.Leave, m.Leave-x.Arrival) }
	for i--; i >= 0 && order[i].Arrival > m.Enter && (nearest == nil || distance(order[i]) < distance(nearest)); i-- {
		nearest = order[i] // not m, which does not arrive after its call begins
	}
	return nearest
}

// judgeScan reports the waits in an operation in which each rank waits for the ranks before it.
func (e *engine) judgeScan(s *sequence, o *Operation) {
	o.Relation = RanksWait
	var last *Member
	early := int64(0)
	for rank, location := range s.ranks {
		i, ok := slices.BinarySearchFunc(o.Members, location,
			func(m Member, location uint32) int { return cmp.Compare(m.Place.Location, location) })
		if e.ranks != nil { // another thread of the process may have called MPI
			i = slices.IndexFunc(o.Members, func(m Member) bool { return e.rankOf(m.Place.Location) == location })
			ok = i >= 0
		}
		if !ok {
			continue
		}
		m := &o.Members[i]
		m.Rank = int32(rank)
		if last == nil || m.Arrival > last.Arrival {
			last = m
		}
		early = max(early, last.Arrival-m.Leave)
		e.reportMemberWaits(m, o.waitFor(EarlyScan, m, last))
	}
	if last != nil {
		e.countViolation(&e.Violations.Operations, early, last.Arrival)
	}
}

// countUnfinishedCollectives counts the calls of incomplete operations as unjudged.
func (e *engine) countUnfinishedCollectives() {
	for _, s := range e.collectives {
		if !s.disagreed {
			e.endSequence(s)
		}
	}
}
