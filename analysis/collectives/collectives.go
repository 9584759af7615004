// Package collectives computes which collective operations the members of each communicator
// performed: how often, with how many bytes, how long they took, and how long the first member
// waited for the last one.
//
// A call is one member's part in an operation, from its begin to its end. The n-th calls of all
// members of a communicator form one operation. Non-blocking calls are numbered separately, in the
// order in which they were posted. An operation is matched if all locations with calls on its
// communicator took part, with the same operation and root. Where they differ, records are missing,
// and neither that operation nor any later one on the communicator is matched. No operation is
// matched on a communicator if a location takes part that is no member. Calls are counted in any
// case.
//
// The order across locations does not matter, so that parts that saw different locations can be
// merged. A part uses about 100 bytes per incomplete operation, 60 bytes per open call, and 300
// bytes for each type of operation of each communicator. In global time order, and if the members
// of communicators are known, incomplete operations are those in progress; otherwise they can be
// all operations.
package collectives

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/weft-trace/weft/analysis/internal/durations"
	"github.com/weft-trace/weft/trace"
)

// Options are the settings of an analysis.
type Options struct {
	// Window selects the calls that begin in it, and the operations whose first member begins in it.
	// Nil counts all. The part needs all events before the end of the window, and those after it until
	// [Part.Complete] returns true.
	Window *trace.Window
	// Locations selects the locations whose events the part gets. Nil selects all. It does not leave out
	// other events.
	Locations func(location uint32) bool
}

// WaitsForAll reports whether no member can leave an operation of this name before all members have
// entered it.
func WaitsForAll(name string) bool {
	switch name {
	case "barrier", "allgather", "alltoall", "allreduce", "reduce-scatter-block":
		return true
	}
	return false
}

// call is one member's part in an operation.
type call struct {
	operation, communicator, root uint64
	sent, received                uint64
	begin, end                    int64
	known                         bool // the begin of the call is in the trace
	posted                        bool // the operation is non-blocking
	matching                      uint64
	done                          bool // for posted calls: completed, or known never to complete
	lost                          bool
}

// queue holds the posted operations of a location that are not complete, or follow such ones. Their
// communicator is known only at their end.
type queue struct {
	calls []call
	first int64            // the number of the first call in calls
	open  map[uint64]int64 // call number of each open request
}

// kind is the key under which calls are counted.
type kind struct {
	communicator, operation uint64
	posted                  bool
}

type sums struct {
	calls          int64
	sent, received uint64
	time           durations.Total
}

// operation sums the calls of the members that have reached an operation.
type operation struct {
	operation, root uint64
	members         int
	known           int // members whose begin is known
	first, last     int64
	firstEnd        int64
}

// matched counts operations.
type matched struct {
	count, early int64
	waiting      durations.Total
}

type sequenceKey struct {
	communicator uint64
	posted       bool
}

// sequence holds the operations of a communicator in order.
type sequence struct {
	counts  map[uint32]int64 // number of calls of each location
	members int              // number of members; 0 if unknown
	done    int64            // number of operations that are complete and counted
	list    []operation      // the operations that follow the counted ones
	limit   int64            // number of the first operation in which members called different operations
	matched map[uint64]*matched
}

// Part holds the collective operations of some locations of a trace.
type Part struct {
	defs      *trace.Definitions
	opt       Options
	open      map[uint32][]call // by location, the innermost last
	queues    map[uint32]*queue
	sums      map[kind]*sums
	sequences map[sequenceKey]*sequence
	seen      map[uint32]bool // locations with calls
	orphans   int64           // in the window
	lost      int64           // requests in the window whose number was reused before they were complete

	communicators communicators
}

// New returns an empty part for a trace.
func New(d *trace.Definitions, opt Options) *Part {
	return &Part{defs: d, opt: opt, open: map[uint32][]call{}, queues: map[uint32]*queue{}, sums: map[kind]*sums{},
		sequences: map[sequenceKey]*sequence{}, seen: map[uint32]bool{}}
}

// Links are no operations.
func (p *Part) Links([]trace.Link) error { return nil }

// Needs reports whether a part needs events of a kind. A scan can leave out the others.
func Needs(k trace.Kind) bool {
	switch k {
	case trace.CollectiveBegin, trace.CollectiveEnd, trace.Collective, trace.CollectiveRequest, trace.CollectiveComplete:
		return true
	}
	return false
}

// Batch processes events of one location, or a mixed batch. Each location must be in time order.
func (p *Part) Batch(b *trace.Batch) error {
	if !slices.ContainsFunc(b.Kind, Needs) {
		return nil
	}
	for c := b.Cursor(); c.Next(); {
		if !Needs(c.Kind()) {
			continue
		}
		loc, t := c.Location(), c.Time()
		p.seen[loc] = true
		switch c.Kind() {
		case trace.CollectiveBegin:
			x := recorded(&c)
			x.begin, x.known, x.matching = t, true, c.Op(5)
			p.open[loc] = append(p.open[loc], x)
		case trace.CollectiveEnd:
			p.ended(loc, t, &c)
		case trace.Collective:
			x := recorded(&c)
			x.begin, x.end, x.known = t, t, true
			if d := c.Op(5); d != trace.Undefined {
				x.end = addDuration(t, d)
			}
			p.take(loc, x)
		case trace.CollectiveRequest:
			if begin, lost := p.queue(loc).post(c.Op(0), t); lost && p.opt.Window.Has(begin) {
				p.lost++
			}
		case trace.CollectiveComplete:
			x := recorded(&c)
			x.end, x.posted, x.done = t, true, true
			q := p.queue(loc)
			if !q.complete(c.Op(5), x) && p.opt.Window.Has(t) {
				p.orphans++
			}
			p.unload(loc, q, false)
		}
	}
	return nil
}

// addDuration returns t + d, clamped to the greatest time.
func addDuration(t int64, d uint64) int64 {
	if d > math.MaxInt64 || int64(d) > math.MaxInt64-max(t, 0) {
		return math.MaxInt64
	}
	return t + int64(d)
}

// recorded returns the call that a record describes.
func recorded(c *trace.Cursor) call {
	return call{operation: c.Op(0), communicator: c.Op(1), root: c.Op(2), sent: durations.Bytes(c.Op(3)),
		received: durations.Bytes(c.Op(4))}
}

// ended closes the latest open call with the same id.
func (p *Part) ended(loc uint32, t int64, c *trace.Cursor) {
	open := p.open[loc]
	i := len(open) - 1
	if id := c.Op(5); id != trace.Undefined {
		for i >= 0 && open[i].matching != id {
			i--
		}
	}
	x := recorded(c)
	if i < 0 {
		if p.opt.Window.Has(t) {
			p.orphans++
		}
		x.begin, x.end = t, t
		p.take(loc, x)
		return
	}
	b := open[i]
	p.open[loc] = slices.Delete(open, i, i+1)
	if x.operation == trace.Undefined { // with OTF the begin determines the operation
		x = b
	}
	x.begin, x.end, x.known = b.begin, t, true
	p.take(loc, x)
}

func (p *Part) queue(loc uint32) *queue {
	q := p.queues[loc]
	if q == nil {
		q = &queue{open: map[uint64]int64{}}
		p.queues[loc] = q
	}
	return q
}

// post adds a request. It reports whether an open request with the same number was lost, which is
// then never completed, and when that one began.
func (q *queue) post(request uint64, t int64) (begin int64, lost bool) {
	n, lost := q.open[request]
	if lost {
		x := &q.calls[n-q.first]
		begin, x.done, x.lost = x.begin, true, true
	}
	q.open[request] = q.first + int64(len(q.calls))
	q.calls = append(q.calls, call{begin: t, known: true, posted: true})
	return begin, lost
}

// complete sets what is known at the end of a call. A call that was never posted follows all posted
// ones.
func (q *queue) complete(request uint64, x call) bool {
	n, ok := q.open[request]
	if !ok {
		x.begin = x.end
		q.calls = append(q.calls, x)
		return false
	}
	delete(q.open, request)
	at := &q.calls[n-q.first]
	x.begin, x.known = at.begin, true
	*at = x
	return true
}

// unload counts the complete calls of a queue up to the first incomplete one, and at the end all.
func (p *Part) unload(loc uint32, q *queue, end bool) {
	n := 0
	for ; n < len(q.calls) && (end || q.calls[n].done); n++ {
		if x := q.calls[n]; x.done && !x.lost {
			p.take(loc, x)
		}
	}
	q.calls, q.first = q.calls[n:], q.first+int64(n)
}

// take counts a call and adds it to its operation.
func (p *Part) take(loc uint32, x call) {
	x.communicator = p.same(x.communicator)
	if p.opt.Window.Has(x.begin) {
		k := kind{x.communicator, x.operation, x.posted}
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
		return // undefined: the other members are unknown
	}
	k := sequenceKey{x.communicator, x.posted}
	s := p.sequences[k]
	if s == nil {
		s = &sequence{counts: map[uint32]int64{}, limit: math.MaxInt64, matched: map[uint64]*matched{}}
		s.members = len(p.members(x.communicator))
		p.sequences[k] = s
	}
	n := s.counts[loc]
	s.counts[loc]++
	o := operation{operation: x.operation, root: x.root, members: 1, first: x.begin, last: x.begin, firstEnd: x.end}
	if p.connectsGroups(x.communicator) {
		o.root = trace.Undefined // the sides disagree
	}
	if x.known {
		o.known = 1
	}
	s.put(n, o)
	p.count(s, s.members)
}

// members returns the locations of a communicator, or none if they are unknown.
func (p *Part) members(communicator uint64) []uint32 {
	if p.connectsGroups(communicator) {
		return nil
	}
	l, known := p.defs.Members(uint32(communicator))
	if !known {
		return nil
	}
	slices.Sort(l)
	return slices.Compact(l)
}

// connectsGroups reports whether a communicator connects two groups.
func (p *Part) connectsGroups(communicator uint64) bool {
	return slices.ContainsFunc(p.defs.Communicator.At(uint32(communicator)).Attrs,
		func(a trace.Attr) bool { return a.Key == "other" })
}

// put adds the calls of some members to the n-th operation.
func (s *sequence) put(n int64, o operation) {
	i := n - s.done
	if i < 0 || n >= s.limit {
		return // it is unmatched, or a location took part that is no member
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
	}
}

// count counts the operations in which the given number of members took part, up to the first other
// one.
func (p *Part) count(s *sequence, members int) {
	n := 0
	for n < len(s.list) && members > 0 && s.list[n].members == members {
		p.countOne(s.matched, &s.list[n])
		n++
	}
	s.done += int64(n)
	if n == len(s.list) {
		s.list = s.list[:0]
	} else {
		s.list = s.list[n:]
	}
}

func (p *Part) countOne(to map[uint64]*matched, o *operation) {
	if !p.opt.Window.Has(o.first) {
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

// Complete reports whether all that counts in the window is known: the calls that begin in it have ended, and all
// members have taken part in the operations that begin in it. Later events then change nothing in a trace whose
// communicators have no other callers than their members. The part must have got all events before the end of the
// window.
func (p *Part) Complete() bool {
	for _, open := range p.open {
		if slices.ContainsFunc(open, func(x call) bool { return p.opt.Window.Has(x.begin) }) {
			return false
		}
	}
	for _, q := range p.queues {
		// The calls after one that is not complete have not been counted.
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
	list, listed := p.defs.Members(communicator)
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
	if p.defs != o.defs || !p.opt.Window.Same(o.opt.Window) {
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
		p.count(x, x.members)
	}
	return nil
}

// merge adds the operations of other members. Operations that were counted had all members, so that
// at most one of both has counted any. Otherwise a location took part that is no member, and none
// counts.
func (s *sequence) merge(o *sequence) {
	maps.Copy(s.counts, o.counts)
	s.members = max(s.members, o.members)
	if o.limit < s.limit { // later operations need not be kept
		s.limit = o.limit
		s.list = s.list[:min(int64(len(s.list)), max(0, s.limit-s.done))]
	}
	for i, x := range o.list {
		s.put(o.done+int64(i), x)
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
	// Operations are those of each communicator, in the order of the definitions and of their numbers.
	// Communicators with the same name and members are listed as the first of them.
	Operations []Operation `json:"operations"`
	Unclosed   int64       `json:"unclosed"` // calls without an end
	Orphans    int64       `json:"orphans"`  // ends of calls that never began; they count as calls without a time
	// Both are those in the window: of calls that begin in it, and ends in it.
}

// Operation sums the calls of an operation on a communicator.
type Operation struct {
	Communicator     uint32 `json:"communicator"` // index into Definitions.Communicator, NoRef when unknown
	CommunicatorID   string `json:"communicatorId,omitempty"`
	CommunicatorName string `json:"communicatorName,omitempty"`
	// Label is the displayed name or id of the communicator, with the id where another listed
	// communicator has the same name.
	Label string `json:"-"`
	// Number is the number of the operation in the trace: that of OTF2, except in OTF 1 traces. It is
	// -1 when unknown.
	Number      int64  `json:"operation"`
	Name        string `json:"name"`
	NonBlocking bool   `json:"nonBlocking"`
	Members     int    `json:"members"` // locations with any operation on the communicator
	Calls       int64  `json:"calls"`
	Sent        uint64 `json:"sentBytes"`
	Received    uint64 `json:"receivedBytes"`
	// Time sums the durations of the calls with begin and end.
	Time Durations `json:"time"`
	// Matched is the number of operations of which all calls are known. Waiting sums the times from
	// their first begin to their last.
	Matched int64     `json:"matched"`
	Waiting Durations `json:"waiting"`
	// Early counts operations that a member left before another one had entered, although they wait
	// for all members. The clocks differ then.
	Early int64 `json:"leftBeforeEntered"`
}

// Durations have a number, a sum, and the least and greatest duration in ticks.
type Durations struct {
	Count int64       `json:"count"`
	Sum   trace.Ticks `json:"sum"`
	Min   int64       `json:"min"`
	Max   int64       `json:"max"`
}

func durationsOf(t *durations.Total) Durations { return Durations{t.Count, t.Sum(), t.Min, t.Max} }

// Result returns the result. The part must not be used afterwards.
func (p *Part) Result() *Result {
	r := &Result{Operations: []Operation{}, Orphans: p.orphans, Unclosed: p.lost}
	for _, l := range p.open {
		for _, x := range l {
			if p.opt.Window.Has(x.begin) {
				r.Unclosed++
			}
		}
	}
	for loc, q := range p.queues {
		for _, x := range q.calls {
			if !x.done && p.opt.Window.Has(x.begin) {
				r.Unclosed++
			}
		}
		p.unload(loc, q, true)
	}
	for k, s := range p.sequences {
		members := p.members(k.communicator)
		for loc := range s.counts {
			if _, is := slices.BinarySearch(members, loc); len(members) > 0 && !is {
				s.matched, s.list = nil, nil
			}
		}
		p.count(s, len(s.counts))
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
			o.Members = len(seq.counts)
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
