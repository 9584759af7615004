package check

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/weft-trace/weft/analysis/collectives"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// collective is a collective operation that is open at a location.
type collective struct {
	openRow
	counted bool // the operation was counted at its begin record, which has its operands
	step
}

// step identifies an operation of a communicator by its number in the tree. The zero step belongs
// to no communicator.
type step struct {
	tree   *operations
	number int32
}

// addVisit records that a location was in the operation from begin to end.
func (s step) addVisit(loc uint32, begin, end int64) {
	if s.tree == nil {
		return
	}
	s.tree.at(s.number).extend(begin, end, loc)
}

// operations holds the collective operations on a communicator as a tree. A path from the root is a
// sequence of operations. Members with the same sequence share the path.
type operations struct {
	blocks [][]operation // blocks of blockSteps nodes; the first node is the root, which is no operation
	count  int32
	// members holds the progress of each location, by location.
	members map[uint32]*member
}

// blockSteps is the number of operations in a block. Since blocks do not move, operations stay in
// place while the tree grows.
const blockSteps = 1 << 10

// at returns the node with the given number, as add returns it. Number 0 is the root.
func (o *operations) at(number int32) *operation {
	return &o.blocks[number/blockSteps][number%blockSteps]
}

// add appends an operation and returns its number.
func (o *operations) add(x *operation) int32 {
	last := len(o.blocks) - 1
	if o.count%blockSteps == 0 {
		size := 4 // most communicators have few operations
		if o.count > 0 {
			size = blockSteps
		}
		o.blocks = append(o.blocks, make([]operation, 0, size))
		last++
	}
	o.blocks[last] = append(o.blocks[last], *x)
	o.count++
	return o.count - 1
}

// operation is a node of the tree: an operation that some members took part in after the same
// sequence of operations. Times are in ticks.
type operation struct {
	kind, root  uint64
	child, next int32  // first operation that followed, and next sibling; 0 if there is none
	locations   int32  // number of locations that took part
	least       uint32 // first of these locations in the order of definitions
	leaver      uint32 // location that left it first
	left        int64  // time at which leaver left it
	begun       int64  // time at which the last location began it
}

// extend adds the times at which further locations began and left the operation.
func (o *operation) extend(begun, left int64, leaver uint32) {
	o.begun = max(o.begun, begun)
	if left < o.left || left == o.left && leaver < o.leaver {
		o.left, o.leaver = left, leaver
	}
}

// isEarly reports whether a location left the operation before another location began it.
func (o *operation) isEarly() bool { return o.left < o.begun }

// member is the progress of a location through the operations of a communicator.
type member struct {
	at     int32 // number of its last operation in the tree
	number int64 // number of its blocking operations so far
	others int64 // number of its non-blocking operations so far, whose completions have no order
}

// countCollective processes the begin, the end or the single record of a blocking operation. It counts
// the operation at the record with its operands: the begin in OTF, the end in OTF2 and Pallas.
func (c *Checker) countCollective(s *locationState, x *trace.Cursor, at place) error {
	switch x.Kind() {
	case trace.Collective:
		if step, t, d := c.countOperation(x), x.Time(), x.Op(5); d <= uint64(math.MaxInt64-max(t, 0)) {
			step.addVisit(at.loc, t, t+int64(d))
		}
	case trace.CollectiveBegin:
		s.collectives.Push(x.Op(5), collective{openRow{x.Time(), at.pos}, x.Op(1) != trace.Undefined, c.countOperation(x)})
	case trace.CollectiveEnd:
		var open collective
		var known bool
		if id := x.Op(5); id != trace.Undefined {
			open, known = s.collectives.Take(id)
		} else {
			open, known = s.collectives.Pop()
		}
		if !known {
			c.countOperation(x)
			return c.report("trace.collective-open", at, "the end of a collective operation at "+c.seconds(x.Time()),
				"its beginning before it")
		}
		if !open.counted {
			open.step = c.countOperation(x)
		}
		open.addVisit(at.loc, open.time, x.Time())
	}
	return nil
}

// countOperation counts an operation on its communicator and returns its step. Non-blocking operations
// and those without a defined communicator, or with one member, have the zero step.
func (c *Checker) countOperation(x *trace.Cursor) step {
	comm := x.Op(1)
	if comm >= uint64(c.defs.Communicator.Len()) || c.defs.IsSelf(comm) {
		return step{}
	}
	o := c.operationsOf(uint32(comm))
	loc := x.Location()
	m := o.members[loc]
	if m == nil {
		m = &member{}
		o.members[loc] = m
	}
	if x.Kind() == trace.CollectiveComplete {
		m.others++
		return step{}
	}
	root := x.Op(2)
	if c.defs.ConnectsGroups(uint64(comm)) {
		root = trace.Undefined // the two groups record different roots
	}
	m.number++
	m.at = o.addChild(m.at, &operation{kind: x.Op(0), root: root, locations: 1, least: loc, begun: math.MinInt64,
		left: math.MaxInt64})
	return step{o, m.at}
}

// operationsOf returns the operations of a communicator. It creates the tree if needed.
func (c *Checker) operationsOf(comm uint32) *operations {
	o := c.collect[comm]
	if o == nil {
		o = &operations{members: map[uint32]*member{}}
		o.add(&operation{})
		c.collect[comm] = o
	}
	return o
}

// addChild returns the number of the child of operation from with the kind and root of to. It adds
// the locations and times of to to that child, or adds to as a new child.
func (o *operations) addChild(from int32, to *operation) int32 {
	for i := o.at(from).child; i != 0; i = o.at(i).next {
		if x := o.at(i); x.kind == to.kind && x.root == to.root {
			x.locations += to.locations
			x.least = min(x.least, to.least)
			x.extend(to.begun, to.left, to.leaver)
			return i
		}
	}
	x := o.at(o.add(to))
	i, parent := o.count-1, o.at(from)
	x.child, x.next = 0, parent.child
	parent.child = i
	return i
}

// merge adds the operations that another checker has counted for other locations.
func (o *operations) merge(other *operations) {
	ours := make([]int32, other.count) // indexed by number in other: our number
	for i := range other.count {
		// Children have greater numbers than their parents, so that ours[i] is set.
		for k := other.at(i).child; k != 0; k = other.at(k).next {
			ours[k] = o.addChild(ours[i], other.at(k))
		}
	}
	for loc, m := range other.members {
		m.at = ours[m.at]
		o.members[loc] = m
	}
}

// compareCollectives compares the operations of the members of each communicator.
func (c *Checker) compareCollectives() error {
	for _, comm := range slices.Sorted(maps.Keys(c.collect)) {
		if err := c.reportMembership(comm, c.collect[comm]); err != nil {
			return err
		}
		if err := c.reportEarlyOperations(comm, c.collect[comm]); err != nil {
			return err
		}
	}
	return nil
}

// reportMembership reports members whose operations differ from those of most members, members with fewer
// operations, and locations that do not belong to the communicator.
func (c *Checker) reportMembership(comm uint32, o *operations) error {
	const rule = "trace.collective-membership"
	name := "communicator " + c.defs.Communicator.At(comm).ID
	// If the sequences of members differ, the sequence that most members have is assumed to be correct. If
	// several sequences have equally many members, the sequence of the member that comes first in the
	// definitions is assumed to be correct.
	usual := map[int32]bool{0: true}
	for at, n := int32(0), 1; o.at(at).child != 0; n++ {
		best := o.at(at).child
		for i := best; i != 0; i = o.at(i).next {
			if x, y := o.at(i), o.at(best); x.locations > y.locations || x.locations == y.locations && x.least < y.least {
				best = i
			}
		}
		for i := o.at(at).child; i != 0; i = o.at(i).next {
			if i == best {
				continue
			}
			x, y := o.at(i), o.at(best)
			if err := c.reportCount(rule, place{loc: x.least}, int64(x.locations),
				fmt.Sprintf("%s as number %d on %s", x, n, name),
				fmt.Sprintf("%s, as at location %s", y, c.locationID(y.least))); err != nil {
				return err
			}
		}
		at = best
		usual[at] = true
	}
	list, known := c.locations(comm)
	if !known {
		list = slices.Sorted(maps.Keys(o.members))
	}
	var most, others int64
	for _, m := range o.members {
		if others = max(others, m.others); usual[m.at] {
			most = max(most, m.number)
		}
	}
	for _, loc := range list {
		if !c.hasEvents(loc) {
			continue // its file is missing, or the selection excludes it
		}
		m := o.members[loc]
		if m == nil {
			m = &member{}
		}
		found, want := m.number, most
		if found+int64(c.locs[loc].collectives.Len()) >= want || !usual[m.at] {
			found, want = m.others, others // its blocking operations are complete, or reported above
		}
		if found >= want {
			continue
		}
		if err := c.report(rule, place{loc: loc}, fmt.Sprintf("%s on %s", plural.Of(found, "collective operation"), name),
			fmt.Sprintf("%d, as another member has", want)); err != nil {
			return err
		}
	}
	if !known {
		return nil
	}
	for _, loc := range slices.Sorted(maps.Keys(o.members)) {
		if slices.Contains(list, loc) {
			continue
		}
		if err := c.report(rule, place{loc: loc}, "collective operations on "+name, "a member of it"); err != nil {
			return err
		}
	}
	return nil
}

// reportEarlyOperations reports operations that one location left before another one began it, although
// all members wait for all others in such an operation.
func (c *Checker) reportEarlyOperations(comm uint32, o *operations) error {
	if c.defs.ConnectsGroups(uint64(comm)) {
		return nil // the groups wait for each other, but members of a group do not
	}
	all, early, most := int64(0), int64(0), uint64(0)
	var first *operation
	for i := int32(1); i < o.count; i++ {
		x := o.at(i)
		if name, ok := c.defs.OperationName(x.kind); !ok || !collectives.WaitsForAll(name) || x.locations < 2 {
			continue
		}
		if all++; !x.isEarly() {
			continue
		}
		early++
		most = max(most, uint64(x.begun)-uint64(x.left))
		if first == nil || x.left < first.left || x.left == first.left && x.leaver < first.leaver {
			first = x
		}
	}
	if early == 0 {
		return nil
	}
	return c.reportCount("trace.collective-early", placeOf(first.leaver, openRow{time: first.left}), early,
		fmt.Sprintf("%d of %s on communicator %s left before all had come, by up to %s, the first at %s", early,
			plural.Of(all, "operation"), c.defs.Communicator.At(comm).ID, c.seconds(int64(min(most, math.MaxInt64))),
			c.seconds(first.left)),
		alignHint)
}

// String returns the number of the operation's kind, and its root.
func (o *operation) String() string {
	if o.root == trace.Undefined {
		return fmt.Sprintf("operation %d", o.kind)
	}
	return fmt.Sprintf("operation %d with root %d", o.kind, o.root)
}

// locations returns the members of a communicator in ascending order. known is false if the trace
// does not define them.
func (c *Checker) locations(comm uint32) (out []uint32, known bool) {
	out, known = c.members.Members(comm)
	slices.Sort(out)
	return slices.Compact(out), known && len(out) > 0
}
