// Package collectives computes which collective operations the members of each communicator performed: how
// often, with how many bytes, how long they took, and how long the first member waited for the last one.
//
// A call is one member's part in an operation, from its begin to its end. The n-th calls of all members of a
// communicator form one operation. Non-blocking calls are numbered separately, in the order in which they were
// posted. An operation is matched if all locations with calls on its communicator took part, with the same
// operation and root. If the calls differ, records are missing, and neither this operation nor any later
// operation on the communicator is matched. No operation is matched on a communicator if a location takes part
// that is not a member. Calls count even if their operation is not matched.
//
// The order across locations does not matter, so that parts that processed different locations can be merged.
// A part uses about 100 bytes per incomplete operation, 60 bytes per open call, and 300 bytes for each type of
// operation of each communicator. In global time order, and if the members of communicators are known,
// incomplete operations are those in progress; otherwise they can be all operations.
package collectives

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/weft-trace/weft/analysis/internal/durations"
	"github.com/weft-trace/weft/analysis/internal/inside"
	"github.com/weft-trace/weft/internal/openset"
	"github.com/weft-trace/weft/trace"
)

// Options are the settings of an analysis.
type Options struct {
	// Window limits the result to calls that begin in it, and to operations whose first member begins in it.
	// Nil means the whole trace. The part needs all events before the end of the window, and later events
	// until [Part.Complete] returns true.
	Window *trace.Window
	// Regions limits the result to calls that begin in a visit of a region for which Regions returns true, and
	// to operations with such a call. Nil means all calls and operations. If Regions is set, the part also
	// needs Enter and Leave events.
	Regions func(region uint32) bool
	// Locations reports whether the part gets the events of a location. Nil means that the part gets the
	// events of all locations. The part itself does not leave out any events.
	Locations func(location uint32) bool
}

// WaitsForAll reports whether an operation of this name, such as "barrier", makes all members wait
// for each other: no member can leave it before all have entered it.
func WaitsForAll(name string) bool {
	switch name {
	case "barrier", "allgather", "alltoall", "allreduce", "reduce-scatter-block":
		return true
	}
	return false
}

// call is one member's part in an operation. Times are in ticks.
type call struct {
	operation, communicator, root uint64
	sent, received                uint64
	begin, end                    int64
	known                         bool // the trace records the begin; otherwise begin is the time of the end
	posted                        bool // the operation is non-blocking
	wanted                        bool // the call begins in a visit of one of the wanted regions
	// done is set for a non-blocking call that is complete, or whose request number was reused
	// before.
	done bool
	// lost is set if the request number was reused before the call was complete.
	lost bool
}

// queue holds the non-blocking calls of a location in the order in which they were posted, from the first
// incomplete call on. The calls wait in the queue because only the completion has their communicator.
type queue struct {
	calls []call
	first int64 // the number of the first call in calls
	// number of the call for each open request; calls are counted from the first call of the location
	open map[uint64]int64
}

// callKey is the key under which calls are summed.
type callKey struct {
	communicator, operation uint64
	posted                  bool
}

// sums are the sums of the calls with the same key: bytes, and durations in ticks.
type sums struct {
	calls          int64
	sent, received uint64
	time           durations.Total
}

// operation sums the calls of the members that have taken part in an operation so far. Times are in ticks.
type operation struct {
	operation, root uint64
	members         int
	known           int // members whose call has a recorded begin
	// first and last are the earliest and latest begin, and firstEnd is the earliest end.
	first, last int64
	firstEnd    int64
	wanted      bool // a call begins in a visit of one of the wanted regions
}

// matched holds sums over the matched operations with one name on a communicator: their number, the number of
// operations that one member left before another one entered, and the waiting times in ticks.
type matched struct {
	count, early int64
	waiting      durations.Total
}

// sequenceKey identifies a sequence: the blocking or the non-blocking operations of a communicator.
type sequenceKey struct {
	communicator uint64
	posted       bool
}

// sequence holds the operations of a communicator in the order in which the members call them.
type sequence struct {
	counts  map[uint32]int64 // number of calls of each location so far
	members int              // number of members; 0 if unknown
	done    int64            // number of operations that are complete and counted
	list    []operation      // the operations that follow the counted ones
	// limit is the number of the first operation in which the calls of the members differ. This operation and
	// all later ones are not matched.
	limit int64
	// matched sums the counted operations by operation number.
	matched map[uint64]*matched
}

// Part holds the collective operations of some locations of a trace.
type Part struct {
	defs        *trace.Definitions
	memberships *trace.Memberships
	opt         Options
	open        map[uint32]*openset.Stack[uint64, call] // by location: the open calls, by matching number
	queues      map[uint32]*queue
	sums        map[callKey]*sums
	sequences   map[sequenceKey]*sequence
	seen        map[uint32]bool // locations with calls
	orphans     int64           // ends in the window without a begin
	lost        int64           // requests of the window whose number was reused before they were complete

	visits        *inside.Visits
	communicators communicators
}

// New returns an empty part for a trace.
func New(d *trace.Definitions, opt Options) *Part {
	return &Part{defs: d, memberships: d.Memberships(), opt: opt, open: map[uint32]*openset.Stack[uint64, call]{},
		queues: map[uint32]*queue{}, sums: map[callKey]*sums{},
		sequences: map[sequenceKey]*sequence{}, seen: map[uint32]bool{}, visits: inside.New(opt.Regions)}
}

// Links ignores links.
func (p *Part) Links([]trace.Link) error { return nil }

// Needs reports whether the analysis uses events of kind k. A scan can leave out all others.
func Needs(k trace.Kind) bool {
	switch k {
	case trace.CollectiveBegin, trace.CollectiveEnd, trace.Collective, trace.CollectiveRequest, trace.CollectiveComplete:
		return true
	}
	return false
}

// Batch processes a batch, whose events may belong to one location or to several. The events of each location
// must come in the order of time.
func (p *Part) Batch(b *trace.Batch) error {
	if p.visits == nil && !slices.ContainsFunc(b.Kind, Needs) {
		return nil
	}
	c := b.Cursor()
	for c.Next() {
		if !Needs(c.Kind()) {
			p.visits.Take(&c)
			continue
		}
		loc, t := c.Location(), c.Time()
		wanted := p.visits.At(loc)
		p.seen[loc] = true
		switch c.Kind() {
		case trace.CollectiveBegin:
			x := callOf(&c)
			x.begin, x.known, x.wanted = t, true, wanted
			if p.open[loc] == nil {
				p.open[loc] = &openset.Stack[uint64, call]{}
			}
			p.open[loc].Push(c.Op(5), x)
		case trace.CollectiveEnd:
			p.endCall(loc, t, &c)
		case trace.Collective:
			x := callOf(&c)
			x.begin, x.end, x.known, x.wanted = t, t, true, wanted
			if d := c.Op(5); d != trace.Undefined {
				x.end = addDuration(t, d)
			}
			p.addCall(loc, x)
		case trace.CollectiveRequest:
			if old, lost := p.queue(loc).post(c.Op(0), t, wanted); lost && p.counts(&old) {
				p.lost++
			}
		case trace.CollectiveComplete:
			x := callOf(&c)
			x.end, x.posted, x.done, x.wanted = t, true, true, wanted
			q := p.queue(loc)
			if !q.complete(c.Op(5), x) && wanted && p.opt.Window.Has(t) {
				p.orphans++
			}
			p.countCompleted(loc, q, false)
		}
	}
	return nil
}

// counts reports whether a call begins in the window, in a visit of one of the wanted regions.
func (p *Part) counts(x *call) bool { return x.wanted && p.opt.Window.Has(x.begin) }

// addDuration returns t + d, clamped to the greatest time.
func addDuration(t int64, d uint64) int64 {
	if d > math.MaxInt64 || int64(d) > math.MaxInt64-max(t, 0) {
		return math.MaxInt64
	}
	return t + int64(d)
}

// callOf returns the call that the operands of a record describe.
func callOf(c *trace.Cursor) call {
	return call{operation: c.Op(0), communicator: c.Op(1), root: c.Op(2), sent: durations.Bytes(c.Op(3)),
		received: durations.Bytes(c.Op(4))}
}

// endCall ends the latest open call with the same matching number, or the latest open one if the
// record has no number.
func (p *Part) endCall(loc uint32, t int64, c *trace.Cursor) {
	var b call
	known := false
	if open, id := p.open[loc], c.Op(5); open != nil && id != trace.Undefined {
		b, known = open.Take(id)
	} else if open != nil {
		b, known = open.Pop()
	}
	x := callOf(c)
	if !known {
		x.begin, x.end, x.wanted = t, t, p.visits.At(loc)
		if p.counts(&x) {
			p.orphans++
		}
		p.addCall(loc, x)
		return
	}
	if x.operation == trace.Undefined { // in OTF only the begin has the operation
		x = b
	}
	x.begin, x.end, x.known, x.wanted = b.begin, t, true, b.wanted
	p.addCall(loc, x)
}

// queue returns the queue of a location, which it creates if needed.
func (p *Part) queue(loc uint32) *queue {
	q := p.queues[loc]
	if q == nil {
		q = &queue{open: map[uint64]int64{}}
		p.queues[loc] = q
	}
	return q
}

// post appends a call with a request number that begins at time t. wanted reports whether t is in a visit of
// one of the wanted regions. If an open call has the same request number, this call never completes. In this
// case, post returns the call as old and sets lost.
func (q *queue) post(request uint64, t int64, wanted bool) (old call, lost bool) {
	n, lost := q.open[request]
	if lost {
		x := &q.calls[n-q.first]
		old, x.done, x.lost = *x, true, true
	}
	q.open[request] = q.first + int64(len(q.calls))
	q.calls = append(q.calls, call{begin: t, known: true, posted: true, wanted: wanted})
	return old, lost
}

// complete stores the data of x in the open call of a request, except for the begin. It returns true if there
// is such a call. If there is none, it appends x to the queue, with the end of x as begin.
func (q *queue) complete(request uint64, x call) bool {
	n, ok := q.open[request]
	if !ok {
		x.begin = x.end
		q.calls = append(q.calls, x)
		return false
	}
	delete(q.open, request)
	at := &q.calls[n-q.first]
	x.begin, x.known, x.wanted = at.begin, true, at.wanted
	*at = x
	return true
}

// countCompleted counts the calls of a queue up to the first incomplete one, and removes them. At
// the end of the trace it skips incomplete calls instead.
func (p *Part) countCompleted(loc uint32, q *queue, end bool) {
	n := 0
	for ; n < len(q.calls) && (end || q.calls[n].done); n++ {
		if x := q.calls[n]; x.done && !x.lost {
			p.addCall(loc, x)
		}
	}
	q.calls, q.first = q.calls[n:], q.first+int64(n)
}

// addCall counts a call, and adds the call to the next operation of its location on the communicator.
func (p *Part) addCall(loc uint32, x call) {
	x.communicator = p.firstEqual(x.communicator)
	if p.counts(&x) {
		k := callKey{x.communicator, x.operation, x.posted}
		s := p.sums[k]
		if s == nil {
			s = &sums{}
			p.sums[k] = s
		}
		s.calls++
		s.sent, s.received = durations.SumBytes(s.sent, x.sent), durations.SumBytes(s.received, x.received)
		if x.known {
			s.time.Add(durations.Between(x.begin, x.end))
		}
	}
	if x.communicator >= uint64(p.defs.Communicator.Len()) {
		return // an undefined communicator, whose other members are unknown
	}
	k := sequenceKey{x.communicator, x.posted}
	s := p.sequences[k]
	if s == nil {
		s = &sequence{counts: map[uint32]int64{}, limit: math.MaxInt64, matched: map[uint64]*matched{}}
		s.members = len(p.members(x.communicator))
		if p.defs.IsSelf(x.communicator) {
			s.limit = 0 // in MPI_COMM_SELF, each location has operations of its own
		}
		p.sequences[k] = s
	}
	n := s.counts[loc]
	s.counts[loc]++
	o := operation{operation: x.operation, root: x.root, members: 1, first: x.begin, last: x.begin, firstEnd: x.end,
		wanted: x.wanted}
	if p.defs.ConnectsGroups(x.communicator) {
		o.root = trace.Undefined // in an intercommunicator, the two groups record different roots
	}
	if x.known {
		o.known = 1
	}
	s.add(n, o)
	p.countMatched(s, s.members)
}

// members returns the sorted locations of a communicator. It returns nil if they are unknown, or if
// the communicator connects two groups.
func (p *Part) members(communicator uint64) []uint32 {
	if p.defs.ConnectsGroups(communicator) {
		return nil
	}
	l, known := p.memberships.Members(uint32(communicator))
	if !known {
		return nil
	}
	slices.Sort(l)
	return slices.Compact(l)
}

// add adds calls of some members, summed as o, to operation number n.
func (s *sequence) add(n int64, o operation) {
	i := n - s.done
	if i < 0 || n >= s.limit {
		// the operation is not matched, or was already counted with all members, because a location that is
		// not a member took part
		return
	}
	for int64(len(s.list)) <= i {
		s.list = append(s.list, operation{})
	}
	x := &s.list[i]
	switch {
	case o.members == 0:
	case x.members == 0:
		*x = o
	case x.operation != o.operation || x.root != o.root:
		s.limit, s.list = n, s.list[:i]
	default:
		x.members, x.known = x.members+o.members, x.known+o.known
		x.first, x.last, x.firstEnd = min(x.first, o.first), max(x.last, o.last), min(x.firstEnd, o.firstEnd)
		x.wanted = x.wanted || o.wanted
	}
}

// countMatched counts and removes the operations at the begin of the sequence in which the given number of
// members took part. It stops at the first operation with another number.
func (p *Part) countMatched(s *sequence, members int) {
	n := 0
	for n < len(s.list) && members > 0 && s.list[n].members == members {
		p.countOperation(s.matched, &s.list[n])
		n++
	}
	s.done += int64(n)
	if n == len(s.list) {
		s.list = s.list[:0]
	} else {
		s.list = s.list[n:]
	}
}

// countOperation counts an operation with all members, unless its first member began outside the
// window, or no call is in a visit of one of the wanted regions.
func (p *Part) countOperation(to map[uint64]*matched, o *operation) {
	if !o.wanted || !p.opt.Window.Has(o.first) {
		return
	}
	m := to[o.operation]
	if m == nil {
		m = &matched{}
		to[o.operation] = m
	}
	m.count++
	if o.known < o.members {
		return
	}
	m.waiting.Add(durations.Between(o.first, o.last))
	if o.firstEnd < o.last && WaitsForAll(p.name(o.operation)) {
		m.early++
	}
}

func (m *matched) merge(o *matched) {
	m.count += o.count
	m.early += o.early
	m.waiting.Merge(&o.waiting)
}

// name returns the name of an operation.
func (p *Part) name(operation uint64) string {
	if operation == trace.Undefined {
		return "unknown"
	}
	if n, ok := p.defs.OperationName(operation); ok {
		return n
	}
	return fmt.Sprintf("operation %d", operation)
}

// Complete reports whether the calls that begin in the window have ended, and all members have taken part in
// the operations that begin in it. If so, later events do not change the result, unless locations call
// operations of communicators to which they do not belong. The part must have processed all events before the
// end of the window.
func (p *Part) Complete() bool {
	for _, open := range p.open {
		for x := range open.All {
			if p.opt.Window.Has(x.begin) {
				return false
			}
		}
	}
	for _, q := range p.queues {
		// The calls after an incomplete one are not counted yet.
		if slices.ContainsFunc(q.calls, func(x call) bool { return p.opt.Window.Has(x.begin) }) {
			return false
		}
	}
	for k, s := range p.sequences {
		n, known := p.callers(uint32(k.communicator))
		if slices.ContainsFunc(s.list, func(o operation) bool {
			return o.members > 0 && p.opt.Window.Has(o.first) && !(known && o.members >= n)
		}) {
			return false
		}
	}
	return true
}

// callers returns the number of members of a communicator whose events the part gets.
func (p *Part) callers(communicator uint32) (n int, known bool) {
	n, known = p.defs.MemberCount(communicator)
	wanted := p.opt.Locations
	if wanted == nil || !known {
		return n, known
	}
	list, listed := p.memberships.Members(communicator)
	if !listed {
		for i := range p.defs.Locations.Len() {
			list = append(list, uint32(i))
		}
	}
	list = slices.DeleteFunc(list, func(loc uint32) bool { return !wanted(loc) })
	return min(n, len(list)), true
}

// Merge adds another part of the same trace, which must have seen other locations and have
// the same options. The other part must not be used afterwards.
func (p *Part) Merge(o *Part) error {
	if p.defs != o.defs || !p.opt.Window.Equal(o.opt.Window) {
		return errors.New("collectives: found parts of different traces or options")
	}
	for loc := range o.seen {
		if p.seen[loc] {
			return fmt.Errorf("collectives: location %d was seen by both parts; expected parts of different locations", loc)
		}
	}
	maps.Copy(p.seen, o.seen)
	maps.Copy(p.open, o.open)
	maps.Copy(p.queues, o.queues)
	p.orphans, p.lost = p.orphans+o.orphans, p.lost+o.lost
	for k, y := range o.sums {
		x := p.sums[k]
		if x == nil {
			p.sums[k] = y
			continue
		}
		x.calls += y.calls
		x.sent, x.received = durations.SumBytes(x.sent, y.sent), durations.SumBytes(x.received, y.received)
		x.time.Merge(&y.time)
	}
	for k, y := range o.sequences {
		x := p.sequences[k]
		if x == nil {
			p.sequences[k] = y
			continue
		}
		x.merge(y)
		p.countMatched(x, x.members)
	}
	return nil
}

// merge adds the operations of other members. A sequence counts an operation only after all members have taken
// part. Therefore only one of the two sequences can have counted operations, unless a location took part that
// is not a member. In that case, Result discards all matched operations.
func (s *sequence) merge(o *sequence) {
	maps.Copy(s.counts, o.counts)
	s.members = max(s.members, o.members)
	if o.limit < s.limit { // drop the operations from the new limit on
		s.limit = o.limit
		s.list = s.list[:min(int64(len(s.list)), max(0, s.limit-s.done))]
	}
	for i, x := range o.list {
		s.add(o.done+int64(i), x)
	}
	for k, m := range o.matched {
		if s.matched[k] == nil {
			s.matched[k] = &matched{}
		}
		s.matched[k].merge(m)
	}
}

// Result is the result of the analysis. Times are in ticks.
type Result struct {
	// Operations holds the sums by communicator and operation, in the order of the communicators' definitions
	// and then of the operations' numbers. Communicators with the same name and members are combined, and
	// listed as the first of them.
	Operations []Operation `json:"operations"`
	Unclosed   int64       `json:"unclosed"` // calls without an end
	// ends of calls that never began; such an end counts as a call without a time
	Orphans int64 `json:"orphans"`
	// With a window, Unclosed counts the calls that begin in the window, and Orphans the ends in the window.
}

// Operation sums the calls of one kind of operation, such as broadcast, on a communicator.
// Durations are in ticks.
type Operation struct {
	Communicator     uint32 `json:"communicator"` // index into Definitions.Communicator, NoRef when unknown
	CommunicatorID   string `json:"communicatorId,omitempty"`
	CommunicatorName string `json:"communicatorName,omitempty"`
	// Label is the name of the communicator, or its id if it has no name. The id follows in
	// parentheses if another listed communicator has the same label.
	Label string `json:"-"`
	// Number is the number of the operation in the events: a number of OTF2, or a number that the trace itself
	// defines, as in OTF. It is -1 if the number is unknown.
	Number      int64  `json:"operation"`
	Name        string `json:"name"`
	NonBlocking bool   `json:"nonBlocking"`
	Members     int    `json:"members"` // number of locations with calls on the communicator
	Calls       int64  `json:"calls"`
	Sent        uint64 `json:"sentBytes"`
	Received    uint64 `json:"receivedBytes"`
	// Time sums the durations of the calls whose begin and end are recorded.
	Time Durations `json:"time"`
	// Matched is the number of operations with all members. Waiting sums the time from the first begin to the
	// last begin, over the matched operations whose calls all have a recorded begin.
	Matched int64     `json:"matched"`
	Waiting Durations `json:"waiting"`
	// Early is the number of matched operations that contradict causality: one member left before another one
	// entered, although all members must wait for each other. This happens if the clocks of the members differ.
	Early int64 `json:"leftBeforeEntered"`
}

// Durations is a number of durations with their sum, and the least and greatest one, in ticks.
type Durations struct {
	Count int64       `json:"count"`
	Sum   trace.Ticks `json:"sum"`
	Min   int64       `json:"min"`
	Max   int64       `json:"max"`
}

func durationsOf(t *durations.Total) Durations { return Durations{t.Count, t.Sum(), t.Min, t.Max} }

// Result returns the sums over all calls so far. The part must not be used afterwards.
func (p *Part) Result() *Result {
	r := &Result{Operations: []Operation{}, Orphans: p.orphans, Unclosed: p.lost}
	for _, l := range p.open {
		for x := range l.All {
			if p.counts(&x) {
				r.Unclosed++
			}
		}
	}
	for loc, q := range p.queues {
		for _, x := range q.calls {
			if !x.done && p.counts(&x) {
				r.Unclosed++
			}
		}
		p.countCompleted(loc, q, true)
	}
	for k, s := range p.sequences {
		members := p.members(k.communicator)
		for loc := range s.counts {
			if _, is := slices.BinarySearch(members, loc); len(members) > 0 && !is {
				s.matched, s.list = nil, nil
			}
		}
		p.countMatched(s, len(s.counts))
	}
	for k, s := range p.sums {
		o := Operation{Communicator: trace.NoRef, Number: -1, Name: p.name(k.operation), NonBlocking: k.posted,
			Calls: s.calls, Sent: s.sent, Received: s.received, Time: durationsOf(&s.time)}
		if k.operation <= math.MaxInt64 {
			o.Number = int64(k.operation)
		}
		if k.communicator < uint64(p.defs.Communicator.Len()) {
			c := p.defs.Communicator.At(uint32(k.communicator))
			o.Communicator, o.CommunicatorID, o.CommunicatorName = uint32(k.communicator), c.ID, c.Name
			seq := p.sequences[sequenceKey{k.communicator, k.posted}]
			if o.Members = len(seq.counts); p.defs.IsSelf(k.communicator) {
				o.Members = 1
			}
			if m := seq.matched[k.operation]; m != nil {
				o.Matched, o.Waiting, o.Early = m.count, durationsOf(&m.waiting), m.early
			}
		}
		r.Operations = append(r.Operations, o)
	}
	slices.SortFunc(r.Operations, func(a, b Operation) int {
		if c := cmp.Or(cmp.Compare(a.Communicator, b.Communicator), cmp.Compare(a.Number, b.Number)); c != 0 ||
			a.NonBlocking == b.NonBlocking {
			return c
		} else if b.NonBlocking {
			return -1
		}
		return 1
	})
	label(r.Operations)
	return r
}
