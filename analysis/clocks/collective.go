package clocks

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strconv"

	"github.com/weft-trace/weft/trace"
)

// Numbers, as in OTF2, of the collective operations that constrain clocks.
const (
	barrier            = 0
	broadcast          = 1
	gather             = 2
	gatherv            = 3
	scatter            = 4
	scatterv           = 5
	allgather          = 6
	allgatherv         = 7
	alltoall           = 8
	allreduce          = 11
	reduce             = 12
	reduceScatter      = 13
	reduceScatterBlock = 16
)

// openCall is a call of a blocking collective operation that has begun and not ended. Time is in
// ticks.
type openCall struct {
	time                          int64
	operation, communicator, root uint64
	sent, received                uint64
	matching                      uint64
}

// operation is one member's call of a collective operation, with times in ticks.
type operation struct {
	begin, end int64
	kind, root uint64
	sent       bool // the member sent bytes to other members
	// received is set if the member received bytes from other members.
	received bool
}

// sequence identifies a series of operations of a communicator: the blocking operations, or the non-blocking
// operations. The n-th calls of all members in a sequence form one operation.
type sequence struct {
	communicator uint64
	posted       bool
}

// posting is a non-blocking operation of a location. It is open until it completes, or until its
// request number is reused.
type posting struct {
	sequence
	operation
	open, complete bool
}

// member assembles the operations of a location.
type member struct {
	open []openCall
	// number of the posting of each open request, counted from the first posting of the location
	requests map[uint64]int
	postings []posting // in the order of the requests, from the oldest open one on
	dropped  int       // number of postings that have been removed from the start of the list
}

// processEvent handles an event. It calls take for each operation that is complete. If ordered is set, it
// calls take for non-blocking operations in the order of their requests. In that case, [member.finish]
// must be called after the last event.
func (m *member) processEvent(c *trace.Cursor, ordered bool, take func(sequence, operation)) {
	switch c.Kind() {
	case trace.CollectiveBegin:
		m.open = append(m.open, openCall{c.Time(), c.Op(0), c.Op(1), c.Op(2), c.Op(3), c.Op(4), c.Op(5)})
	case trace.CollectiveEnd:
		m.endCall(c, take)
	case trace.Collective:
		if end, ok := wholeEnd(c); ok && c.Op(1) != trace.Undefined {
			take(sequence{c.Op(1), false}, operation{c.Time(), end, c.Op(0), c.Op(2), c.Op(3) != 0, c.Op(4) != 0})
		}
	case trace.CollectiveRequest:
		if m.requests == nil {
			m.requests = map[uint64]int{}
		}
		if i, ok := m.requests[c.Op(0)]; ok && ordered { // the earlier request with this number never completes
			m.postings[i-m.dropped].open = false
		}
		m.requests[c.Op(0)] = m.dropped + len(m.postings)
		if ordered {
			m.postings = append(m.postings, posting{operation: operation{begin: c.Time()}, open: true})
			m.takeReady(take, false)
		}
	case trace.CollectiveComplete:
		i, ok := m.requests[c.Op(5)]
		if !ok {
			return
		}
		delete(m.requests, c.Op(5))
		s := sequence{c.Op(1), true}
		if !ordered {
			if s.communicator != trace.Undefined {
				take(s, operation{})
			}
			return
		}
		p := &m.postings[i-m.dropped]
		p.sequence, p.open, p.complete = s, false, s.communicator != trace.Undefined
		p.operation = operation{p.begin, c.Time(), c.Op(0), c.Op(2), c.Op(3) != 0, c.Op(4) != 0}
		m.takeReady(take, false)
	}
}

// takeReady removes complete postings and calls take for each of them. These are the complete postings before
// the oldest open posting or, if all is set, all complete postings.
func (m *member) takeReady(take func(sequence, operation), all bool) {
	n := 0
	for n < len(m.postings) && (all || !m.postings[n].open) {
		if p := &m.postings[n]; p.complete {
			take(p.sequence, p.operation)
		}
		n++
	}
	m.dropped += n
	m.postings = m.postings[n:]
}

// finish calls take with the remaining complete postings, even if an earlier posting is still open.
func (m *member) finish(take func(sequence, operation)) { m.takeReady(take, true) }

// wholeEnd returns the end of an operation that is a single event with a duration. ok is false for an operation
// without a duration, and if the end is beyond the greatest time.
func wholeEnd(c *trace.Cursor) (end int64, ok bool) {
	end = c.Time() + int64(c.Op(5))
	return end, c.Op(5) <= math.MaxInt64 && end >= c.Time()
}

// endCall ends the last open call with the same matching number. It calls take with the operation of this call.
func (m *member) endCall(c *trace.Cursor, take func(sequence, operation)) {
	i := len(m.open) - 1
	if id := c.Op(5); id != trace.Undefined {
		for i >= 0 && m.open[i].matching != id {
			i--
		}
	}
	if i < 0 {
		return
	}
	b := m.open[i]
	m.open = append(m.open[:i], m.open[i+1:]...)
	if c.Op(1) != trace.Undefined { // the end has operands, which replace those of the begin
		b.operation, b.communicator, b.root, b.sent, b.received = c.Op(0), c.Op(1), c.Op(2), c.Op(3), c.Op(4)
	}
	if b.communicator != trace.Undefined {
		take(sequence{b.communicator, false}, operation{b.time, c.Time(), b.operation, b.root, b.sent != 0, b.received != 0})
	}
}

// operations assembles collective operations from the calls of their members.
type operations struct {
	c         *collector
	ranks     *ranks
	numbers   numbers
	sequences map[sequence]*progress
}

// progress is the state of matching the operations of one sequence.
type progress struct {
	counts []int // number of operations of each member in the whole trace, in descending order
	first  int   // number of the oldest operation that is not complete
	// pending holds the calls of the operations from number first on.
	pending [][]part
	broken  bool   // members called different operations
	last    uint64 // root of the last operation
	at      uint32 // location of the root of the last operation
}

// part is a location's call of an operation.
type part struct {
	loc uint32
	operation
}

// newOperations returns operations that expect the calls that the facts of c count.
func newOperations(c *collector) operations {
	o := operations{c, newRanks(c.defs), numbers{c.defs, map[uint64]uint64{}}, map[sequence]*progress{}}
	for loc := range c.facts {
		for _, t := range c.facts[loc].counts {
			p := o.sequences[t.sequence]
			if p == nil {
				p = &progress{last: trace.Undefined, at: trace.NoRef}
				o.sequences[t.sequence] = p
			}
			p.counts = append(p.counts, t.count)
		}
	}
	for _, p := range o.sequences {
		slices.SortFunc(p.counts, func(a, b int) int { return cmp.Compare(b, a) })
	}
	return o
}

// take adds the next call of a location to the operation with the same number in sequence s. It then
// logs each operation for which it has the calls of all members.
func (o *operations) take(l *locationReader, s sequence, x operation) {
	p := o.sequences[s]
	number := l.taken.next(s)
	if p == nil || p.broken || len(p.counts) < 2 || o.c.defs.IsSelf(s.communicator) {
		return
	}
	for p.first+len(p.pending) <= number {
		p.pending = append(p.pending, nil)
	}
	p.pending[number-p.first] = append(p.pending[number-p.first], part{l.location, x})
	l.waiting++
	for len(p.pending) > 0 && !p.broken {
		members := sort.Search(len(p.counts), func(i int) bool { return p.counts[i] <= p.first })
		if len(p.pending[0]) < members {
			return
		}
		p.broken = !o.complete(s, p, p.pending[0])
		p.first++
		p.pending = p.pending[1:]
	}
	// If members call different operations, records are missing, and no later operation of the
	// sequence can be matched.
	for _, parts := range p.pending {
		o.countMatched(parts)
	}
	p.pending = nil
}

// countMatched counts calls that no longer wait for other members.
func (o *operations) countMatched(parts []part) {
	for _, x := range parts {
		o.c.countMatched(x.loc)
	}
}

// complete logs an operation, given the calls of all members. It returns false if the calls differ in
// their operation or root.
func (o *operations) complete(s sequence, p *progress, parts []part) bool {
	defer o.countMatched(parts)
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.loc, b.loc) })
	var begins, ends []end
	for i := range parts {
		x := &parts[i]
		if x.kind != parts[0].kind || x.root != parts[0].root {
			return false
		}
		if x.root != p.last {
			p.last, p.at = x.root, o.ranks.location(s.communicator, x.root)
		}
		from, to := x.waits(x.loc == p.at)
		if from {
			begins = append(begins, end{x.loc, x.begin})
		}
		if to {
			ends = append(ends, end{x.loc, x.end})
		}
	}
	if len(begins) > 0 && len(ends) > 0 {
		together := !s.posted && parts[0].isSymmetric() && len(ends) == len(parts)
		o.c.log.addOperation(begins, ends, together)
		latest := int64(math.MinInt64)
		for _, e := range begins {
			o.c.tied[e.loc] = true
			latest = max(latest, e.time+o.c.readers[e.loc].shift)
		}
		for _, e := range ends {
			o.c.tied[e.loc] = true
			l := &o.c.readers[e.loc]
			l.shift = max(l.shift, latest-e.time)
		}
	}
	return true
}

// isSymmetric reports whether all members that take part in the operation wait for all others.
func (o *operation) isSymmetric() bool {
	switch o.kind {
	case barrier, allgather, allgatherv, alltoall, allreduce, reduceScatter, reduceScatterBlock:
		return true
	}
	return false
}

// waits returns the constraints of a call. from is set if other members wait for the begin of the call. to is
// set if the end of the call waits for other members. root must be set for the call of the root.
func (o *operation) waits(root bool) (from, to bool) {
	switch o.kind {
	case barrier, allgather, alltoall, allreduce, reduceScatterBlock:
		from, to = true, true
	case allgatherv:
		from, to = o.sent, true
	case reduceScatter:
		from, to = true, o.received
	case broadcast, scatter:
		from, to = root, !root
	case scatterv:
		from, to = root, !root && o.received
	case gather, reduce:
		from, to = !root, root
	case gatherv:
		from, to = !root && o.sent, root
	}
	return from, to
}

// numbers finds the numbers in OTF2 of the collective operations of a trace.
type numbers struct {
	defs  *trace.Definitions
	found map[uint64]uint64 // numbers in OTF2 of the operations that the trace numbers itself
}

// inOTF2 returns the number in OTF2 of the operation that has number n in the trace. It is Undefined if OTF2
// has no such operation.
func (x *numbers) inOTF2(n uint64) uint64 {
	if !x.defs.Conventions.OwnOperations {
		return n
	}
	number, ok := x.found[n]
	if !ok {
		name, _ := x.defs.OperationName(n)
		if number, ok = trace.OperationNumber(name); !ok {
			number = trace.Undefined
		}
		x.found[n] = number
	}
	return number
}

// ranks finds the locations of the roots of collective operations.
type ranks struct {
	members   *trace.Memberships
	locations map[uint64][]uint32 // indexed by communicator: the locations in the order of their ranks
	ids       map[string]uint32   // locations by id, if the trace records ids as roots; otherwise nil
}

// newRanks returns the ranks of a trace.
func newRanks(d *trace.Definitions) *ranks {
	r := &ranks{members: d.Memberships(), locations: map[uint64][]uint32{}}
	if d.Conventions.OwnOperations {
		r.ids = map[string]uint32{}
		for i, l := range d.Locations.All() {
			r.ids[l.ID] = uint32(i)
		}
	}
	return r
}

// location returns the location of a root, or NoRef if it is unknown.
func (r *ranks) location(communicator, root uint64) uint32 {
	if r.ids != nil {
		if loc, ok := r.ids[strconv.FormatUint(root, 10)]; ok {
			return loc
		}
		return trace.NoRef
	}
	list, ok := r.locations[communicator]
	if !ok && communicator < uint64(trace.NoRef) {
		list = r.members.Ranks(uint32(communicator))
		r.locations[communicator] = list
	}
	if root >= uint64(len(list)) {
		return trace.NoRef
	}
	return list[root]
}
