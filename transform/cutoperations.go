package transform

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/bylocation"
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
	kept     map[memberOf]*endedOperations
	postings bylocation.List[postings]
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
	newer      int // number of open requests that the location posted after this operation, if it is non-blocking
}

// compare compares operations of a member by the order in which the operations of all members belong together.
func (x *endedOperation) compare(y *endedOperation) int {
	if x.end.kind == trace.CollectiveComplete {
		return cmp.Or(cmp.Compare(x.begin.time, y.begin.time), cmp.Compare(x.begin.seq, y.begin.seq))
	}
	return cmp.Compare(x.end.time, y.end.time)
}

// isOperation reports whether rows of a kind begin or end a blocking collective operation, post or complete a
// non-blocking one, or end an operation of a window or the work in a team.
func isOperation(k trace.Kind) bool {
	switch k {
	case trace.CollectiveBegin, trace.CollectiveEnd, trace.CollectiveRequest, trace.CollectiveComplete,
		trace.RMACollectiveEnd, trace.ThreadTeamEnd:
		return true
	}
	return false
}

// memberAt returns the member whose operation a row ends. ok is false if the row ends no operation, or if its
// communicator is unknown. In some formats only the begin records the communicator.
func (o *operations) memberAt(x *trace.Cursor) (m memberOf, ok bool) {
	loc := x.Location()
	if x.Kind() == trace.CollectiveRequest {
		return m, false
	}
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

// request returns the request that a row completes. ok is false if it completes none. A row that posts a request adds
// it to the postings of its location.
func (o *operations) request(x *trace.Cursor) (request posting, ok bool) {
	switch x.Kind() {
	case trace.CollectiveRequest:
		o.postings.At(x.Location()).post(x)
	case trace.CollectiveComplete:
		return o.postings.At(x.Location()).complete(x)
	}
	return request, false
}

// count counts an operation that a row ends.
func (o *operations) count(x *trace.Cursor) {
	request, completes := o.request(x)
	m, ok := o.memberAt(x)
	if !ok {
		return
	}
	setElement(&o.ended, m, o.ended[m]+1)
	if completes {
		o.postings.At(x.Location()).end(request, m)
	}
}

// add adds the counts and postings of another worker, which has read other locations.
func (o *operations) add(other *operations) {
	for loc, p := range other.postings {
		if p != nil {
			*o.postings.At(uint32(loc)) = *p
		}
	}
	for m, n := range other.ended {
		setElement(&o.ended, m, o.ended[m]+n)
	}
}

// keep keeps the operation that a row ends, if it is one of those that the piece repeats.
func (o *operations) keep(x *trace.Cursor) {
	request, completes := o.request(x)
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
		begin = openRow{trace.CollectiveRequest, trace.NoRef, x.Time(), request.seq, &row{ops: []uint64{x.Op(5)}}}
		if completes {
			begin.time = request.time
		}
	case m.ends == trace.RMACollectiveEnd:
		begin = openRow{kind: trace.RMACollectiveBegin, ref: trace.NoRef, time: x.Time()}
	case begin.kind == trace.NoKind:
		begin = openRow{kind: trace.CollectiveBegin, ref: trace.NoRef, time: x.Time()}
	}
	k.list = append(k.list, endedOperation{loc: x.Location(), begin: begin,
		end: openRow{x.Kind(), x.Ref(), x.Time(), 0, copyRow(x)}})
	if len(k.list) <= k.wanted {
		return
	}
	// The operations of several threads of a process do not come in the order of time.
	slices.SortStableFunc(k.list, func(a, b endedOperation) int { return a.compare(&b) })
	k.list = slices.Delete(k.list, 0, 1)
}

// complete reports whether all operations are kept that the piece repeats, with their requests.
func (o *operations) complete() bool {
	for _, k := range o.kept {
		if len(k.list) < k.wanted || slices.ContainsFunc(k.list, func(x endedOperation) bool {
			return x.begin.kind == trace.CollectiveRequest && x.begin.seq == 0
		}) {
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
		o.postings = nil
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
		slices.SortStableFunc(k.list, func(a, b endedOperation) int { return a.compare(&b) })
		for _, x := range k.list {
			l := c.openBegins.At(x.loc)
			if x.begin.kind == trace.CollectiveRequest {
				x.newer = o.postings.At(x.loc).newer(x.begin.seq, l)
			}
			l.operations = append(l.operations, x)
		}
	}
	return nil
}

// findBehind finds the members that have ended fewer operations than others before the piece, or have not ended the
// first ones that they posted, and end some in the piece. It then notes how many operations of the others the piece
// repeats.
func (c *cut) findBehind(ctx context.Context, o *operations) error {
	d := c.Defs()
	members := d.Memberships()
	most := map[sequenceOf]int64{}
	for m, n := range o.ended {
		most[m.sequenceOf] = max(most[m.sequenceOf], n)
	}
	candidates, locations, early := map[memberOf]bool{}, map[uint32]bool{}, map[memberOf]bool{}
	for _, p := range o.postings {
		if p != nil {
			for _, e := range p.early {
				early[e.memberOf] = true
			}
		}
	}
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
			if m := (memberOf{loc, s}); o.ended[m] < n && n-o.ended[m] <= mostAhead || early[m] {
				candidates[m], locations[loc] = true, true
			}
		}
	}
	if len(candidates) == 0 {
		return nil
	}
	least, late := map[sequenceOf]int64{}, map[memberOf][]int64{}
	sel := trace.Selection{From: c.window.From, To: c.window.To, Kind: isOperation}
	sel.Location = func(loc uint32) bool {
		if c.flows.wanted != nil && !c.flows.wanted(loc) {
			return false
		}
		return locations[loc] || int(loc) < len(o.ranks) && locations[o.ranks[loc]]
	}
	err := eachRow(ctx, c.inner, sel, format.PerLocation, func(x *trace.Cursor) bool {
		request, completes := o.request(x)
		m, ok := o.memberAt(x)
		if !ok || !candidates[m] || !c.contains(x.Time()) {
			return true
		}
		ended, rest := o.ended[m], false
		if p := o.postings.Get(x.Location()); p != nil {
			if n := p.earlyAfter(request.seq, m); completes && n > 0 {
				ended -= n
				late[m] = append(late[m], n)
			}
			rest = p.earlyAfter(p.oldest(), m) > 0
		}
		if n, found := least[m.sequenceOf]; !found || ended < n {
			least[m.sequenceOf] = ended
		}
		if !rest {
			delete(candidates, m)
		}
		return len(candidates) > 0
	})
	for s := range least {
		if s.ends == trace.CollectiveComplete &&
			o.haveEndedSame(s, members.KnownMembers(uint32(s.communicator)), late) {
			delete(least, s)
		}
	}
	for m, n := range o.ended {
		if low, ok := least[m.sequenceOf]; ok && n > low {
			setElement(&o.kept, m, &endedOperations{wanted: int(min(n-low, mostAhead))})
		}
	}
	return err
}

// haveEndedSame reports whether all members have ended the same operations of a sequence before the piece. late holds,
// for each operation that a member ends in the piece, how many later operations this member has ended before the piece.
func (o *operations) haveEndedSame(s sequenceOf, members []uint32, late map[memberOf][]int64) bool {
	first := memberOf{members[0], s}
	slices.Sort(late[first])
	for _, loc := range members[1:] {
		m := memberOf{loc, s}
		slices.Sort(late[m])
		if o.ended[m] != o.ended[first] || !slices.Equal(late[m], late[first]) {
			return false
		}
	}
	return true
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
