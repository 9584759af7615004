package transform

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// mostAhead is the largest number of operations of a communicator that a member may have ended before a piece and
// another member not. A member that is further behind has not recorded all of its operations.
const mostAhead = 256

// sequenceOf identifies the blocking or the non-blocking operations of a communicator, the operations of a window, or
// the work of a team of threads, by the kind of the rows that end them.
type sequenceOf struct {
	communicator uint64 // or the window
	ends         trace.Kind
}

// memberOf identifies a member of a communicator by the location of its rank, and a thread of a team by its location.
type memberOf struct {
	rank uint32
	sequenceOf
}

// operations finds the collective operations that some members have ended before the piece, and others end in it. The
// n-th operations of all members of a communicator belong together. So the piece repeats these operations at the
// members that have ended them, and the n-th operations in the piece belong together as well. The same applies to the
// work of threads in teams.
type operations struct {
	ranks []uint32           // result of [trace.Definitions.RankLocations]
	ended map[memberOf]int64 // number of operations before the piece
	begin openRow            // the latest begin of an operation, which is at location at
	at    uint32
	// kept holds the last operations of each member that has ended more of them than another one.
	kept map[memberOf]*endedOperations
}

// endedOperations holds the last operations of a member before the piece.
type endedOperations struct {
	wanted int // number of operations that the piece repeats
	list   []endedOperation
}

// endedOperation is the begin and the end of an operation.
type endedOperation struct {
	loc        uint32
	begin, end openRow
}

// isOperation reports whether rows of a kind begin or end a blocking collective operation, complete a non-blocking
// one, or end an operation of a window or the work in a team.
func isOperation(k trace.Kind) bool {
	switch k {
	case trace.CollectiveBegin, trace.CollectiveEnd, trace.CollectiveComplete, trace.RMACollectiveEnd,
		trace.ThreadTeamEnd:
		return true
	}
	return false
}

// memberAt returns the member whose operation a row ends. ok is false if the row ends no operation, or if its
// communicator is unknown. In some formats only the begin records the communicator.
func (o *operations) memberAt(x *trace.Cursor) (m memberOf, ok bool) {
	loc := x.Location()
	if x.Kind() == trace.CollectiveBegin {
		o.begin, o.at = openRow{kind: x.Kind(), ref: x.Ref(), time: x.Time(), row: copyRow(x)}, loc
		return m, false
	}
	if o.at != loc {
		o.begin, o.at = openRow{}, loc
	}
	m.rank, m.ends = loc, x.Kind()
	if m.ends == trace.ThreadTeamEnd {
		m.communicator = x.Op(0)
		return m, m.communicator != trace.Undefined
	}
	if int(loc) < len(o.ranks) {
		m.rank = o.ranks[loc]
	}
	if m.ends == trace.RMACollectiveEnd {
		m.communicator = uint64(x.Ref())
		return m, x.Ref() != trace.NoRef
	}
	m.communicator = x.Op(1)
	ops := o.begin.row.operands()
	if m.ends == trace.CollectiveEnd && m.communicator == trace.Undefined && len(ops) > 1 {
		m.communicator = ops[1]
	}
	return m, m.communicator != trace.Undefined
}

// count counts an operation that a row ends.
func (o *operations) count(x *trace.Cursor) {
	if m, ok := o.memberAt(x); ok {
		setElement(&o.ended, m, o.ended[m]+1)
	}
}

// add adds the counts of another worker.
func (o *operations) add(other *operations) {
	for m, n := range other.ended {
		setElement(&o.ended, m, o.ended[m]+n)
	}
}

// keep keeps the operation that a row ends, if it is one of those that the piece repeats.
func (o *operations) keep(x *trace.Cursor) {
	m, ok := o.memberAt(x)
	k := o.kept[m]
	if !ok || k == nil {
		return
	}
	begin := o.begin
	switch {
	case m.ends == trace.ThreadTeamEnd:
		begin = openRow{trace.ThreadTeamBegin, x.Ref(), x.Time(), 0, copyRow(x)}
	case m.ends == trace.CollectiveComplete:
		begin = openRow{trace.CollectiveRequest, trace.NoRef, x.Time(), 0, &row{ops: []uint64{x.Op(5)}}}
	case m.ends == trace.RMACollectiveEnd:
		begin = openRow{kind: trace.RMACollectiveBegin, ref: trace.NoRef, time: x.Time()}
	case begin.kind == trace.NoKind:
		begin = openRow{kind: trace.CollectiveBegin, ref: trace.NoRef, time: x.Time()}
	}
	k.list = append(k.list, endedOperation{x.Location(), begin, openRow{x.Kind(), x.Ref(), x.Time(), 0, copyRow(x)}})
	if len(k.list) <= k.wanted {
		return
	}
	// The operations of several threads of a process do not come in the order of time.
	slices.SortStableFunc(k.list, func(a, b endedOperation) int { return cmp.Compare(a.end.time, b.end.time) })
	k.list = slices.Delete(k.list, 0, 1)
}

// complete reports whether all operations are kept that the piece repeats.
func (o *operations) complete() bool {
	for _, k := range o.kept {
		if len(k.list) < k.wanted {
			return false
		}
	}
	return true
}

// findOperations finds the operations that the piece repeats. first is the time of the first event.
func (c *cut) findOperations(ctx context.Context, o *operations, first int64) error {
	if err := c.findBehind(ctx, o); err != nil {
		return err
	}
	from := c.window.From
	for length := max((from-first)/256, 1); len(o.kept) > 0; length *= 16 {
		sel := trace.Selection{From: math.MinInt64, To: from, Location: c.flows.wanted, Kind: isOperation}
		if length > 0 && length < from-first {
			sel.From = from - length
		}
		for _, k := range o.kept {
			k.list = nil
		}
		err := eachRow(ctx, c.inner, sel, format.PerLocation, func(x *trace.Cursor) bool {
			if x.Time() < from {
				o.keep(x)
			}
			return true
		})
		if err != nil {
			return err
		}
		if sel.From == math.MinInt64 || o.complete() {
			break
		}
	}
	for _, k := range o.kept {
		for _, x := range k.list {
			l := c.openBegins.at(x.loc)
			l.operations = append(l.operations, x)
		}
	}
	return nil
}

// findBehind finds the members that have ended fewer operations than others before the piece, and end some in the
// piece. It then notes how many operations of the others the piece repeats.
func (c *cut) findBehind(ctx context.Context, o *operations) error {
	d := c.Defs()
	members := d.Memberships()
	most := map[sequenceOf]int64{}
	for m, n := range o.ended {
		most[m.sequenceOf] = max(most[m.sequenceOf], n)
	}
	candidates, locations := map[memberOf]bool{}, map[uint32]bool{}
	for s, n := range most {
		comm := s.communicator
		if s.ends == trace.RMACollectiveEnd {
			if comm >= uint64(d.Windows.Len()) {
				continue
			}
			comm = uint64(d.WindowCommunicator(uint32(comm)))
		}
		if comm >= uint64(d.Communicator.Len()) || d.ConnectsGroups(comm) {
			continue
		}
		list := members.KnownMembers(uint32(comm))
		if s.ends == trace.ThreadTeamEnd {
			list = c.workingIn(s.communicator)
		}
		for _, loc := range list {
			if m := (memberOf{loc, s}); o.ended[m] < n && n-o.ended[m] <= mostAhead {
				candidates[m], locations[loc] = true, true
			}
		}
	}
	if len(candidates) == 0 {
		return nil
	}
	least := map[sequenceOf]int64{}
	sel := trace.Selection{From: c.window.From, To: c.window.To, Kind: isOperation}
	sel.Location = func(loc uint32) bool {
		if c.flows.wanted != nil && !c.flows.wanted(loc) {
			return false
		}
		return locations[loc] || int(loc) < len(o.ranks) && locations[o.ranks[loc]]
	}
	err := eachRow(ctx, c.inner, sel, format.PerLocation, func(x *trace.Cursor) bool {
		m, ok := o.memberAt(x)
		if !ok || !candidates[m] || !c.contains(x.Time()) {
			return true
		}
		if n, found := least[m.sequenceOf]; !found || o.ended[m] < n {
			least[m.sequenceOf] = o.ended[m]
		}
		delete(candidates, m)
		return len(candidates) > 0
	})
	for m, n := range o.ended {
		if low, ok := least[m.sequenceOf]; ok && n > low {
			setElement(&o.kept, m, &endedOperations{wanted: int(min(n-low, mostAhead))})
		}
	}
	return err
}

// workingIn returns the locations that work in a team at the begin of the piece.
func (c *cut) workingIn(team uint64) (list []uint32) {
	key := pairKey{class: pairings[trace.ThreadTeamBegin].class, op: team}
	for loc, l := range c.openBegins {
		if l == nil {
			continue
		}
		if _, open := l.rest.Get(key); open {
			list = append(list, uint32(loc))
		}
	}
	return list
}
