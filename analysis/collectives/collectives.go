// Package collectives says what collective operations the members of each communicator did:
// how often, with how many bytes, how long they were in them, and how long the first to come
// waited for the last one.
//
// A call is one member's part in an operation, from its begin to its end. The n-th calls of
// all members of a communicator are one operation; those that do not block are counted by
// themselves, in the order in which they were posted. An operation is matched if all
// locations that did any on its communicator took part, and said the same operation and
// root. Where they did not, records are missing, and neither that operation nor any behind
// it on the communicator is matched; nor is any where a location took part that is no member.
// Calls are counted all the same.
//
// The order across locations does not matter, so parts that saw different locations can be
// merged. A part holds about 100 bytes an operation that some have done and others have not,
// 60 bytes an open call, and 300 bytes for each operation of each communicator. In global time
// order, and where the trace tells who the members are, those are the operations that are
// going on; otherwise they can be all.
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

// Options says what is counted.
type Options struct {
	// Window counts the calls that begin in it, and the operations that the first member
	// begins in it; nil counts all. The part must see all events all the same.
	Window *trace.Window
}

// WaitsForAll reports whether nobody can leave an operation of this name that others have not come to.
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
	known                         bool // when it began
	posted                        bool // it did not block
	matching                      uint64
	done                          bool // of posted ones: it is complete, or never will be
	lost                          bool
}

// queue is the operations that a location posted and that are not complete, or stand behind
// such ones: which communicator they are on is known only at their end.
type queue struct {
	calls []call
	first int64            // the number of the first of them
	open  map[uint64]int64 // the number of the one that a request stands for
}

// kind is what is counted together.
type kind struct {
	communicator, operation uint64
	posted                  bool
}

type sums struct {
	calls          int64
	sent, received uint64
	time           durations.Total
}

// operation is what the members said of one, as far as they have come to it.
type operation struct {
	operation, root uint64
	members         int
	known           int // members of which it is known when they began
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

// sequence is the operations of a communicator one after the other.
type sequence struct {
	counts  map[uint32]int64 // calls of each location
	members int              // how many there are; 0 if that is not known
	done    int64            // operations that have been counted
	list    []operation      // those behind
	limit   int64            // the first one that members do not agree on
	matched map[uint64]*matched
}

// Part is the collective operations of some locations of a trace.
type Part struct {
	defs      *trace.Definitions
	opt       Options
	open      map[uint32][]call // by location, the innermost last
	queues    map[uint32]*queue
	sums      map[kind]*sums
	sequences map[sequenceKey]*sequence
	seen      map[uint32]bool // locations
	orphans   int64
	lost      int64 // requests whose number was used again before they were complete

	communicators communicators
}

// New makes an empty part for a trace.
func New(d *trace.Definitions, opt Options) *Part {
	return &Part{defs: d, opt: opt, open: map[uint32][]call{}, queues: map[uint32]*queue{}, sums: map[kind]*sums{}, sequences: map[sequenceKey]*sequence{}, seen: map[uint32]bool{}}
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

// Batch takes events, of one location or mixed, those of each location in the order of time.
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
			x := said(&c)
			x.begin, x.known, x.matching = t, true, c.Op(5)
			p.open[loc] = append(p.open[loc], x)
		case trace.CollectiveEnd:
			p.ended(loc, t, &c)
		case trace.Collective:
			x := said(&c)
			x.begin, x.end, x.known = t, t, true
			if d := c.Op(5); d != trace.Undefined {
				x.end = later(t, d)
			}
			p.take(loc, x)
		case trace.CollectiveRequest:
			if p.queue(loc).post(c.Op(0), t) {
				p.lost++
			}
		case trace.CollectiveComplete:
			x := said(&c)
			x.end, x.posted, x.done = t, true, true
			q := p.queue(loc)
			if !q.complete(c.Op(5), x) {
				p.orphans++
			}
			p.unload(loc, q, false)
		}
	}
	return nil
}

// later is a time and a duration together.
func later(t int64, d uint64) int64 {
	if d > math.MaxInt64 || int64(d) > math.MaxInt64-max(t, 0) {
		return math.MaxInt64
	}
	return t + int64(d)
}

// said is what a record says of an operation.
func said(c *trace.Cursor) call {
	return call{operation: c.Op(0), communicator: c.Op(1), root: c.Op(2), sent: durations.Bytes(c.Op(3)), received: durations.Bytes(c.Op(4))}
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
	x := said(c)
	if i < 0 {
		p.orphans++
		x.begin, x.end = t, t
		p.take(loc, x)
		return
	}
	b := open[i]
	p.open[loc] = slices.Delete(open, i, i+1)
	if x.operation == trace.Undefined { // with OTF it is the begin that says what it is
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

// post notes a request. One that is open under the same number is lost: it is never completed.
func (q *queue) post(request uint64, t int64) (lost bool) {
	n, lost := q.open[request]
	if lost {
		x := &q.calls[n-q.first]
		x.done, x.lost = true, true
	}
	q.open[request] = q.first + int64(len(q.calls))
	q.calls = append(q.calls, call{begin: t, known: true, posted: true})
	return lost
}

// complete puts what is known at the end of a call to its place. A call that was never
// posted stands behind all that were.
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

// unload takes the calls of a queue that are complete, up to the first that is not; at the
// end all.
func (p *Part) unload(loc uint32, q *queue, end bool) {
	n := 0
	for ; n < len(q.calls) && (end || q.calls[n].done); n++ {
		if x := q.calls[n]; x.done && !x.lost {
			p.take(loc, x)
		}
	}
	q.calls, q.first = q.calls[n:], q.first+int64(n)
}

// take counts a call and puts it to the operation that it is a part of.
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
		return // undefined: nobody knows who else took part
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
	if p.between(x.communicator) {
		o.root = trace.Undefined // each side says something else
	}
	if x.known {
		o.known = 1
	}
	s.put(n, o)
	p.count(s, s.members)
}

// members are the locations of a communicator, none if they are not known.
func (p *Part) members(communicator uint64) []uint32 {
	if p.between(communicator) {
		return nil
	}
	l, known := p.defs.Members(uint32(communicator))
	if !known {
		return nil
	}
	slices.Sort(l)
	return slices.Compact(l)
}

// between reports whether a communicator is one between two groups.
func (p *Part) between(communicator uint64) bool {
	return slices.ContainsFunc(p.defs.Communicator.At(uint32(communicator)).Attrs, func(a trace.Attr) bool { return a.Key == "other" })
}

// put adds what some members say of the n-th operation.
func (s *sequence) put(n int64, o operation) {
	i := n - s.done
	if i < 0 || n >= s.limit {
		return // it is not matched, or somebody took part who is no member
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

// count counts the operations in which so many took part, up to the first other one.
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

// name is that of an operation.
func (p *Part) name(operation uint64) string {
	if operation == trace.Undefined {
		return "unknown"
	}
	if n, ok := p.defs.OperationName(operation); ok {
		return n
	}
	return fmt.Sprintf("operation %d", operation)
}

// Merge adds another part of the same trace, which must have seen other locations and have
// the same options. The other part must not be used any more.
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

// merge adds what other members did. Operations that were counted had all members, so that
// at most one of both has such; else somebody took part who is no member, and none counts.
func (s *sequence) merge(o *sequence) {
	maps.Copy(s.counts, o.counts)
	s.members = max(s.members, o.members)
	if o.limit < s.limit { // what is behind need not be kept
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

// Result is what is known of a trace's collective operations. Times are ticks.
type Result struct {
	// Communicators with the same name and members are one, the first of them.
	// Operations are those of each communicator, in the order of the definitions and of
	// their numbers.
	Operations []Operation `json:"operations"`
	Unclosed   int64       `json:"unclosed"` // calls without end
	Orphans    int64       `json:"orphans"`  // ends of calls that never began; they count as calls without a time
}

// Operation is all calls of an operation on a communicator.
type Operation struct {
	Communicator     uint32 `json:"communicator"` // index into Definitions.Communicator, NoRef when not known
	CommunicatorID   string `json:"communicatorId,omitempty"`
	CommunicatorName string `json:"communicatorName,omitempty"`
	// Label is the name or id of the communicator for people, with the id where another that is listed has the name.
	Label string `json:"-"`
	// Number is the trace's own, as in OTF2 but for OTF 1; -1 when not known.
	Number      int64  `json:"operation"`
	Name        string `json:"name"`
	NonBlocking bool   `json:"nonBlocking"`
	Members     int    `json:"members"` // locations that did any operation on the communicator
	Calls       int64  `json:"calls"`
	Sent        uint64 `json:"sentBytes"`
	Received    uint64 `json:"receivedBytes"`
	// Time is how long calls took, of those with begin and end.
	Time Durations `json:"time"`
	// Matched counts the operations of which all calls are known, and Waiting is how long
	// the first to come was there before the last one.
	Matched int64     `json:"matched"`
	Waiting Durations `json:"waiting"`
	// Early counts operations that somebody left before another one had come, though they
	// wait for everybody: clocks that differ.
	Early int64 `json:"leftBeforeEntered"`
}

// Durations are how many there are, their sum, and the least and greatest of them, in ticks.
type Durations struct {
	Count int64       `json:"count"`
	Sum   trace.Ticks `json:"sum"`
	Min   int64       `json:"min"`
	Max   int64       `json:"max"`
}

func durationsOf(t *durations.Total) Durations { return Durations{t.Count, t.Sum(), t.Min, t.Max} }

// Result is what is known at the end; the part must not be used any more.
func (p *Part) Result() *Result {
	r := &Result{Operations: []Operation{}, Orphans: p.orphans, Unclosed: p.lost}
	for _, l := range p.open {
		r.Unclosed += int64(len(l))
	}
	for loc, q := range p.queues {
		for _, x := range q.calls {
			if !x.done {
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
		if c := cmp.Or(cmp.Compare(a.Communicator, b.Communicator), cmp.Compare(a.Number, b.Number)); c != 0 || a.NonBlocking == b.NonBlocking {
			return c
		} else if b.NonBlocking {
			return -1
		}
		return 1
	})
	label(r.Operations)
	return r
}
