package clocks

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/weft-trace/weft/analysis/messages"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// Limits of the events that are read before their partners: rows that all streams hold ready, and
// ends of messages and parts of operations that wait.
const (
	readyRows   = 1 << 16
	waitingEnds = 1 << 17
)

// collection holds the results of the first pass over a trace.
type collection struct {
	spans []span
	tied  []bool // by location: it sends or receives messages, or takes part in operations
	log   *constraintLog
}

// collector reads a trace, and finds its messages and collective operations. It reads each location
// in time order, but goes from one location to another as messages and operations require: clocks
// may differ by more than the trace is long, and then most messages would wait for their other end
// if the order were that of time. A receive that is too early shifts the later events of its
// location, and a location that is far ahead of the others must wait.
type collector struct {
	collection
	defs     *trace.Definitions
	matching *messages.Part
	lanes    []lane
	ready    lanes // lanes whose next batch may be read
	blocked  lanes // lanes that are too far ahead of the others
	limit    int   // number of waiting ends at which a lane is blocked
	facts    []fact
	ops      operations
	kept     trace.Batch
}

// fact is what the scan finds about a location before its events are matched.
type fact struct {
	sends, receives bool
	counts          tallies
}

// tallies are the numbers of a location's operations in each sequence.
type tallies []tally

type tally struct {
	sequence
	count int
}

// next counts an operation, and returns the number of those before it in its sequence.
func (t *tallies) next(s sequence) int {
	i := slices.IndexFunc(*t, func(x tally) bool { return x.sequence == s })
	if i < 0 {
		i = len(*t)
		*t = append(*t, tally{sequence: s})
	}
	(*t)[i].count++
	return (*t)[i].count - 1
}

// lane reads the events of a location.
type lane struct {
	location uint32
	stream   format.Stream
	next     *trace.Batch
	shift    int64 // by which its times must be later than those of its partners, as far as is known
	key      int64 // the shifted time of the next event when the lane was put into the heap
	waiting  int   // ends that have not found their partners
	limit    int
	blocked  bool
	members  member
	taken    tallies
}

// collect reads a trace.
func collect(ctx context.Context, d format.Events) (*collection, error) {
	c := &collector{}
	c.log = newLog()
	if err := c.run(ctx, d); err != nil {
		c.log.close()
		return nil, err
	}
	return &c.collection, nil
}

func (c *collector) run(ctx context.Context, d format.Events) error {
	var mu sync.Mutex
	var reducers []*reducer
	x, err := format.Reduce(ctx, d, trace.Events(), format.Reduction{
		Begin: func() { reducers = nil },
		New: func() format.Reducer {
			r := &reducer{own: d.Defs().Conventions.OwnOperations}
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
	c.spans, c.tied, c.facts = make([]span, n), make([]bool, n), make([]fact, n)
	for _, r := range reducers {
		for loc, f := range r.facts {
			if f == nil {
				continue
			}
			if loc >= n {
				return unknownLocation(loc, n)
			}
			c.facts[loc] = f.fact
		}
	}
	c.ops = newOperations(c)
	c.matching = messages.New(c.defs, messages.Options{Pair: c.pair})
	streams := x.Streams(readyRows)
	if c.limit == 0 {
		c.limit = max(64, waitingEnds/max(1, len(streams)))
	}
	c.lanes = make([]lane, n)
	for _, s := range streams {
		l := lane{stream: s, limit: c.limit}
		if l.next, err = s.Next(ctx); err != nil {
			return err
		}
		if l.next != nil {
			if l.location = l.next.Loc; int(l.location) >= n {
				return unknownLocation(int(l.location), n)
			}
			c.lanes[l.location] = l
			c.ready.push(&c.lanes[l.location])
		}
	}
	for len(c.ready)+len(c.blocked) > 0 {
		if err := c.advance(ctx); err != nil {
			return err
		}
	}
	return c.log.err
}

func unknownLocation(loc, n int) error {
	return fmt.Errorf("clocks: found an event at location %d, expected one of the %d locations of the trace", loc, n)
}

// advance reads the next batch of the lane that is the earliest.
func (c *collector) advance(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(c.ready) == 0 {
		// All lanes are blocked, so one of them must continue.
		l := heap.Pop(&c.blocked).(*lane)
		l.blocked = false
		l.limit = l.waiting + c.limit
		c.ready.push(l)
	}
	l := heap.Pop(&c.ready).(*lane)
	if l.key != l.next.Time[0]+l.shift { // its shift has changed since it was put into the heap
		c.ready.push(l)
		return nil
	}
	if err := c.read(l); err != nil {
		return err
	}
	if c.log.err != nil {
		return c.log.err
	}
	var err error
	if l.next, err = l.stream.Next(ctx); err != nil || l.next == nil {
		if err == nil {
			l.members.finish(func(s sequence, o operation) { c.ops.take(l, s, o) })
		}
		return err
	}
	if l.blocked = l.waiting >= l.limit; l.blocked {
		c.blocked.push(l)
	} else {
		c.ready.push(l)
	}
	return nil
}

// found notes that an end of a location has its partner.
func (c *collector) found(loc uint32) {
	l := &c.lanes[loc]
	l.waiting--
	if l.blocked && l.waiting <= l.limit/2 {
		l.blocked, l.limit = false, c.limit
		heap.Remove(&c.blocked, slices.Index(c.blocked, l))
		c.ready.push(l)
	}
}

// pair takes a message.
func (c *collector) pair(m messages.Pair) {
	c.log.message(end{m.Source, m.Sent}, end{m.Destination, m.Received})
	c.tied[m.Source], c.tied[m.Destination] = true, true
	l := &c.lanes[m.Destination]
	l.shift = max(l.shift, m.Sent+c.lanes[m.Source].shift-m.Received)
	c.found(m.Source)
	c.found(m.Destination)
}

// read takes the next batch of a lane.
func (c *collector) read(l *lane) error {
	b := l.next
	s := &c.spans[l.location]
	if !s.any {
		*s = span{b.Time[0], b.Time[0], true}
	}
	s.first, s.last = min(s.first, slices.Min(b.Time)), max(s.last, slices.Max(b.Time))
	matched := 0
	hopeless := false
	for k := b.Cursor(); k.Next(); {
		switch kind := k.Kind(); {
		case kind.IsSend() || kind.IsRecv():
			if c.hope(kind, k.Op(0)) {
				matched++
			} else {
				hopeless = true
			}
		case isCollective(kind) && !c.defs.Conventions.OwnOperations:
			l.members.event(&k, true, func(s sequence, o operation) { c.ops.take(l, s, o) })
		}
	}
	l.waiting += matched
	switch {
	case matched == 0:
		return nil
	case hopeless:
		c.kept.Reset(b.Loc)
		for k := b.Cursor(); k.Next(); {
			if kind := k.Kind(); (kind.IsSend() || kind.IsRecv()) && c.hope(kind, k.Op(0)) {
				c.kept.AppendRow(&k)
			}
		}
		b = &c.kept
	}
	return c.matching.Batch(b)
}

// hope reports whether the location of the other end has any such ends.
func (c *collector) hope(kind trace.Kind, peer uint64) bool {
	if peer >= uint64(len(c.facts)) {
		return false
	}
	if kind.IsSend() {
		return c.facts[peer].receives
	}
	return c.facts[peer].sends
}

func isCollective(k trace.Kind) bool {
	switch k {
	case trace.CollectiveBegin, trace.CollectiveEnd, trace.CollectiveRequest, trace.CollectiveComplete:
		return true
	}
	return false
}

// lanes is a heap of lanes by the shifted time of their next event.
type lanes []*lane

// Len, Less, Swap, Push and Pop implement [heap.Interface].
func (h lanes) Len() int { return len(h) }

// Less orders by time, and then by location.
func (h lanes) Less(i, j int) bool {
	a, b := h[i], h[j]
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.location, b.location)) < 0
}

func (h *lanes) push(l *lane) {
	l.key = l.next.Time[0] + l.shift
	heap.Push(h, l)
}

// Swap swaps two lanes.
func (h lanes) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push appends a lane.
func (h *lanes) Push(x any) { *h = append(*h, x.(*lane)) }

// Pop removes the last lane.
func (h *lanes) Pop() any {
	l := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return l
}

// reducer chooses the events of messages and collective operations during the scan, and counts the
// operations, so that it is known which members an operation will have.
type reducer struct {
	own   bool // the format numbers operations itself
	facts []*counted
}

// counted is a fact that still grows.
type counted struct {
	fact
	members member
}

func (r *reducer) fact(loc uint32) *counted {
	for int(loc) >= len(r.facts) {
		r.facts = append(r.facts, nil)
	}
	if r.facts[loc] == nil {
		r.facts[loc] = &counted{}
	}
	return r.facts[loc]
}

// batch is a [format.Reducer].
func (r *reducer) batch(b *trace.Batch, rows []int32) []int32 {
	collective, sends, receives := false, false, false
	for i, k := range b.Kind {
		switch {
		case k.IsSend():
			sends = true
		case k.IsRecv():
			receives = true
		case !r.own && isCollective(k):
			collective = true
		default:
			continue
		}
		rows = append(rows, int32(i))
	}
	if sends || receives {
		if b.Loc != trace.MixedLoc {
			f := r.fact(b.Loc)
			f.sends, f.receives = f.sends || sends, f.receives || receives
		} else {
			for _, i := range rows {
				f, k := r.fact(b.Locs[i]), b.Kind[i]
				f.sends, f.receives = f.sends || k.IsSend(), f.receives || k.IsRecv()
			}
		}
	}
	if collective {
		for c := b.Cursor(); c.Next(); {
			if isCollective(c.Kind()) {
				f := r.fact(c.Location())
				f.members.event(&c, false, func(s sequence, _ operation) { f.counts.next(s) })
			}
		}
	}
	return rows
}
