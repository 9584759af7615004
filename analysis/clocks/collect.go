package clocks

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/weft-trace/weft/analysis/messages"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/bylocation"
	"github.com/weft-trace/weft/internal/minheap"
	"github.com/weft-trace/weft/trace"
)

// These limits bound the data in memory before events are matched: the rows that all streams together have
// ready, and the ends of messages and parts of operations that wait for their partners.
const (
	readyRows   = 1 << 16
	waitingEnds = 1 << 17
)

// collection holds the results of the first pass over a trace.
type collection struct {
	spans []span
	tied  []bool // indexed by location: it sends or receives messages, or takes part in operations
	log   *constraintLog
}

// collector reads a trace, and finds its messages and collective operations. It reads each location in the
// order of time, but chooses the next location by corrected times. In the order of recorded times, most
// messages would wait for their other end, because clocks may differ by more than the length of the trace.
// Therefore a receive that is too early shifts all later events of its location, and a location that is far
// ahead of the others must wait.
type collector struct {
	collection
	defs     *trace.Definitions
	matching *messages.Part
	readers  []locationReader  // indexed by location
	ready    []*locationReader // heap of readers whose next batch can be read
	blocked  []*locationReader // heap of readers of locations with too many waiting ends
	limit    int               // the number of waiting ends at which a reader is blocked
	facts    []locationFacts
	ops      operations
}

// locationFacts holds the properties of a location that are known from the scan before its events are matched.
type locationFacts struct {
	sends, receives bool
	counts          tallies
}

// tallies counts the operations of a location in each sequence.
type tallies []tally

// tally is the number of operations in a sequence.
type tally struct {
	sequence
	count int
}

// next counts an operation in sequence s, and returns the number of operations that s had before.
func (t *tallies) next(s sequence) int {
	i := slices.IndexFunc(*t, func(x tally) bool { return x.sequence == s })
	if i < 0 {
		i = len(*t)
		*t = append(*t, tally{sequence: s})
	}
	(*t)[i].count++
	return (*t)[i].count - 1
}

// locationReader reads the events of a location.
type locationReader struct {
	location uint32
	stream   format.Stream
	next     *trace.Batch
	shift    int64 // ticks by which its times must be moved later to come after their causes, as far as known
	key      int64 // the shifted time of the next event, at the moment when the reader entered the heap
	waiting  int   // number of ends of messages and operations that have no partner yet
	// limit is the number of waiting ends above which the reader is blocked.
	limit   int
	blocked bool
	// members assembles the operations of the location, and taken counts them.
	members member
	taken   tallies
}

// collect reads the events of a trace, and logs its messages and collective operations.
func collect(ctx context.Context, d format.Events) (*collection, error) {
	c := &collector{}
	c.log = newLog()
	if err := c.run(ctx, d); err != nil {
		c.log.close()
		return nil, err
	}
	return &c.collection, nil
}

// run scans the trace, and then reads the events of messages and operations location by location, a batch at a time.
func (c *collector) run(ctx context.Context, d format.Events) error {
	var mu sync.Mutex
	var reducers []*reducer
	x, err := format.Reduce(ctx, d, trace.Events(), format.Reduction{
		Begin: func() { reducers = nil },
		New: func() format.Reducer {
			r := &reducer{}
			mu.Lock()
			defer mu.Unlock()
			reducers = append(reducers, r)
			return r.batch
		},
		Ends: func(trace.Kind) bool { return true },
	})
	if err != nil {
		return err
	}
	defer x.Close()
	c.defs = d.Defs()
	n := c.defs.Locations.Len()
	c.spans, c.tied, c.facts = make([]span, n), make([]bool, n), make([]locationFacts, n)
	for _, r := range reducers {
		for loc, f := range r.facts {
			if f == nil {
				continue
			}
			if loc >= n {
				return unknownLocation(loc, n)
			}
			c.facts[loc] = f.locationFacts
		}
	}
	c.ops = newOperations(c)
	c.matching = messages.New(c.defs, messages.Options{Pair: c.pair, CanMatch: c.canMatch})
	streams := x.Streams(readyRows)
	if c.limit == 0 {
		c.limit = max(64, waitingEnds/max(1, len(streams)))
	}
	c.readers = make([]locationReader, n)
	for _, s := range streams {
		l := locationReader{stream: s, limit: c.limit}
		if l.next, err = s(ctx); err != nil {
			return err
		}
		if l.next != nil {
			if l.location = l.next.Loc; int(l.location) >= n {
				return unknownLocation(int(l.location), n)
			}
			c.readers[l.location] = l
			pushReader(&c.ready, &c.readers[l.location])
		}
	}
	for len(c.ready)+len(c.blocked) > 0 {
		if err := c.advance(ctx); err != nil {
			return err
		}
	}
	return c.log.err
}

// unknownLocation returns the error for an event at location loc of a trace with n locations.
func unknownLocation(loc, n int) error {
	return fmt.Errorf("clocks: found an event at location %d, expected one of the %d locations of the trace", loc, n)
}

// advance reads the next batch of the ready reader that has the earliest shifted time.
func (c *collector) advance(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(c.ready) == 0 {
		// All readers are blocked: unblock the one with the earliest event.
		l := minheap.Pop(&c.blocked, earlier)
		l.blocked = false
		l.limit = l.waiting + c.limit
		pushReader(&c.ready, l)
	}
	l := minheap.Pop(&c.ready, earlier)
	if l.key != l.next.Time[0]+l.shift { // the shift has changed since the reader was pushed
		pushReader(&c.ready, l)
		return nil
	}
	if err := c.read(l); err != nil {
		return err
	}
	if c.log.err != nil {
		return c.log.err
	}
	var err error
	if l.next, err = l.stream(ctx); err != nil || l.next == nil {
		if err == nil {
			l.members.finish(func(s sequence, o operation) { c.ops.take(l, s, o) })
		}
		return err
	}
	if l.blocked = l.waiting >= l.limit; l.blocked {
		pushReader(&c.blocked, l)
	} else {
		pushReader(&c.ready, l)
	}
	return nil
}

// countMatched counts a waiting end of a location that has found its partner, and unblocks the reader if
// few ends wait.
func (c *collector) countMatched(loc uint32) {
	l := &c.readers[loc]
	l.waiting--
	if l.blocked && l.waiting <= l.limit/2 {
		l.blocked, l.limit = false, c.limit
		minheap.Remove(&c.blocked, slices.Index(c.blocked, l), earlier)
		pushReader(&c.ready, l)
	}
}

// pair adds the constraint of a message to the log. Its receiver must not be earlier than its sender.
func (c *collector) pair(m messages.Pair) {
	c.log.addMessage(end{m.Source, m.Sent}, end{m.Destination, m.Received})
	c.tied[m.Source], c.tied[m.Destination] = true, true
	l := &c.readers[m.Destination]
	l.shift = max(l.shift, m.Sent+c.readers[m.Source].shift-m.Received)
	c.countMatched(m.Source)
	c.countMatched(m.Destination)
}

// read processes the next batch of a location.
func (c *collector) read(l *locationReader) error {
	b := l.next
	x := &c.spans[l.location]
	if !x.any {
		*x = span{b.Time[0], b.Time[0], true}
	}
	x.first, x.last = min(x.first, slices.Min(b.Time)), max(x.last, slices.Max(b.Time))
	k := b.Cursor()
	for k.Next() {
		switch kind := k.Kind(); {
		case kind.IsSend() || kind.IsRecv():
			if peer := k.Op(0); peer < uint64(trace.NoRef) && c.canMatch(kind, uint32(peer)) {
				l.waiting++
			}
		case isCollective(kind):
			l.members.processEvent(&k, true, func(s sequence, o operation) {
				o.kind = c.ops.numbers.inOTF2(o.kind)
				x.last = max(x.last, o.end)
				c.ops.take(l, s, o)
			})
		}
	}
	return c.matching.Batch(b)
}

// canMatch reports whether location peer has any events that match an event of the given kind.
func (c *collector) canMatch(kind trace.Kind, peer uint32) bool {
	if int64(peer) >= int64(len(c.facts)) {
		return false
	}
	if kind.IsSend() {
		return c.facts[peer].receives
	}
	return c.facts[peer].sends
}

// isCollective reports whether events of kind k are logged as parts of collective operations.
func isCollective(k trace.Kind) bool {
	switch k {
	case trace.CollectiveBegin, trace.CollectiveEnd, trace.Collective, trace.CollectiveRequest, trace.CollectiveComplete:
		return true
	}
	return false
}

// earlier orders readers by the shifted time of their next event, and then by location.
func earlier(a, b **locationReader) bool {
	return cmp.Or(cmp.Compare((*a).key, (*b).key), cmp.Compare((*a).location, (*b).location)) < 0
}

// pushReader adds a reader to a heap.
func pushReader(heap *[]*locationReader, l *locationReader) {
	l.key = l.next.Time[0] + l.shift
	minheap.Push(heap, l, earlier)
}

// reducer chooses the events of messages and collective operations during the scan. It also counts the
// operations, so that the number of members of each operation is known before the operations are matched.
type reducer struct {
	// facts holds the facts by location, with nil for locations without such events.
	facts bylocation.List[factCount]
}

// factCount holds the facts of a location while its events are being counted.
type factCount struct {
	locationFacts
	members member
}

// batch implements [format.Reducer].
func (r *reducer) batch(b *trace.Batch, rows []int32) []int32 {
	collective, sends, receives := false, false, false
	for i, k := range b.Kind {
		switch {
		case k.IsSend():
			sends = true
		case k.IsRecv():
			receives = true
		case k == trace.RecvBegin || k == trace.SendComplete || k == trace.RequestCancelled:
		case isCollective(k):
			collective = true
		default:
			continue
		}
		rows = append(rows, int32(i))
	}
	if sends || receives {
		if b.Loc != trace.MixedLoc {
			f := r.facts.At(b.Loc)
			f.sends, f.receives = f.sends || sends, f.receives || receives
		} else {
			for _, i := range rows {
				f, k := r.facts.At(b.Locs[i]), b.Kind[i]
				f.sends, f.receives = f.sends || k.IsSend(), f.receives || k.IsRecv()
			}
		}
	}
	if collective {
		c := b.Cursor()
		for c.Next() {
			if isCollective(c.Kind()) {
				f := r.facts.At(c.Location())
				f.members.processEvent(&c, false, func(s sequence, _ operation) { f.counts.next(s) })
			}
		}
	}
	return rows
}
