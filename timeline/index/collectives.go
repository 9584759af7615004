package index

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/weft-trace/weft/trace"
)

// operationName returns the name of a collective operation.
func operationName(d *trace.Definitions, n uint64) string {
	if name, ok := d.OperationName(n); ok {
		return name
	}
	return fmt.Sprintf("operation %d", n)
}

// operationGroup is the group of the regions that stand for collective operations.
const operationGroup = "collective"

// openCollectives holds the collective operations that a location has begun, by communicator. On
// each communicator, operations end in the order in which they begin.
type openCollectives map[uint32]*onCommunicator

// onCommunicator holds a location's operations on a communicator.
type onCommunicator struct {
	begun []int64 // begin times in ticks of the operations that may not have ended
	ended int     // number of elements of begun that have ended
	count int     // number of all operations that have ended
}

// commRef converts an operand to an index of a table, or NoRef if the operand is Undefined or too
// large.
func commRef(op uint64) uint32 {
	if op >= uint64(trace.NoRef) {
		return trace.NoRef
	}
	return uint32(op)
}

// onComm returns the operations on a communicator, which it creates on first use.
func (o *openCollectives) onComm(comm uint32) *onCommunicator {
	if *o == nil {
		*o = openCollectives{}
	}
	c := (*o)[comm]
	if c == nil {
		c = &onCommunicator{}
		(*o)[comm] = c
	}
	return c
}

// begin adds the operation that an event begins.
func (o *openCollectives) begin(c *trace.Cursor) {
	x := o.onComm(commRef(c.Op(1)))
	x.begun = append(x.begun, c.Time())
}

// end removes the operation that began first, and returns the time at which it began. ok is false
// if no operation is open.
func (o *onCommunicator) end() (time int64, ok bool) {
	if o.ended == len(o.begun) {
		return 0, false
	}
	time = o.begun[o.ended]
	if o.ended++; o.ended == len(o.begun) {
		o.begun, o.ended = o.begun[:0], 0
	}
	return time, true
}

// collective is an operation on a communicator. start is the first begin, and end the last end, at the
// members whose events have been read so far.
type collective struct {
	start, end int64
	operation  uint64
}

// collector holds collective operations by communicator. Element n of a list is the n-th operation that the
// members perform on the communicator, merged over all locations of a worker.
type collector map[uint32][]collective

// processCollective handles an event that ends a collective operation, or stands for a whole operation.
func (w *worker) processCollective(l *location, c *trace.Cursor) {
	comm := commRef(c.Op(1))
	x := collective{start: c.Time(), end: c.Time(), operation: c.Op(0)}
	o := l.collectives.onComm(comm)
	switch c.Kind() {
	case trace.CollectiveEnd:
		if t, ok := o.end(); ok {
			x.start = t
		}
	case trace.Collective:
		if d := c.Op(5); d <= math.MaxInt64 {
			x.end = trace.Add(x.start, int64(d))
		}
	}
	if comm == trace.NoRef {
		return // no matching operation of another location is known
	}
	n := o.count
	o.count++
	if w.collectives == nil {
		w.collectives = collector{}
	}
	w.collectives.put(comm, n, x)
}

// put extends operation n of a communicator to include x. If there is no operation n, put adds x.
func (c collector) put(comm uint32, n int, x collective) {
	list := c[comm]
	if n < len(list) {
		o := &list[n]
		o.start, o.end = min(o.start, x.start), max(o.end, x.end)
		return
	}
	// The earlier operations are already in the list, because each location counts from its first operation.
	c[comm] = append(list, x)
}

// writeCollectives writes the tracks of the communicators. The n-th operation of each location on a
// communicator is the same operation. It lasts from its first begin to its last end.
func (b *builder) writeCollectives(dir *directory) error {
	all := collector{}
	for _, w := range b.workers {
		for comm, list := range w.collectives {
			for n, x := range list {
				all.put(comm, n, x)
			}
		}
	}
	p := b.packers(1)[0]
	regions := map[uint64]uint32{}
	for _, comm := range slices.Sorted(maps.Keys(all)) {
		list := all[comm]
		slices.SortStableFunc(list, func(a, b collective) int { return cmp.Compare(a.start, b.start) })
		e := &trackEntry{}
		e.Kind, e.Location, e.Group, e.Parent, e.ID = CommunicatorTrack, trace.NoRef, trace.NoRef, -1, fmt.Sprint(comm)
		if b.defs.Communicator.Has(comm) {
			d := b.defs.Communicator.At(comm)
			e.ID, e.Name = d.ID, d.Name
		}
		e.First, e.Last = list[0].start, list[0].end
		// Overlapping operations are put into different lanes.
		var lanes []int64 // for each lane, the time up to which it is occupied
		spans := make([]Span, 0, len(list))
		for _, x := range list {
			r, ok := regions[x.operation]
			if !ok {
				r = uint32(len(dir.Regions))
				dir.Regions = append(dir.Regions, Region{Name: operationName(b.defs, x.operation), Group: operationGroup})
				regions[x.operation] = r
			}
			lane := slices.IndexFunc(lanes, func(until int64) bool { return until <= x.start })
			if lane < 0 {
				lane = len(lanes)
				if lane < DeepDepth {
					lanes = append(lanes, 0)
				}
			}
			if lane < len(lanes) {
				lanes[lane] = x.end
			}
			e.Last = max(e.Last, x.end)
			spans = append(spans, Span{x.start, x.end, r, uint8(lane), wholeBand})
		}
		slices.SortStableFunc(spans, func(a, b Span) int { return cmp.Compare(a.End, b.End) })
		t := spanTrack{entry: e, kind: CommunicatorTrack}
		next := make([][]Span, len(lanes)+1) // for each lane, the spans that remain
		for _, s := range spans {
			next[s.Depth] = append(next[s.Depth], s)
		}
		var open []openSpan
		for _, s := range spans {
			next[s.Depth] = next[s.Depth][1:]
			if !t.add(&openSpan{start: s.Start, region: s.Region, level: uint32(s.Depth), band: wholeBand}, s.End,
				len(next)) {
				continue
			}
			open = open[:0]
			for _, l := range next {
				if len(l) > 0 && l[0].Start < s.End {
					open = append(open, openSpan{start: l[0].Start, region: l[0].Region, level: uint32(l[0].Depth),
						band: wholeBand})
				}
			}
			if err := t.writeBlock(p, open); err != nil {
				return err
			}
		}
		if err := t.end(p); err != nil {
			return err
		}
		dir.Tracks = append(dir.Tracks, e)
	}
	return nil
}
