package check

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/weft-trace/weft/analysis/collectives"
	"github.com/weft-trace/weft/trace"
)

// collective is an operation that is open at a location.
type collective struct {
	openRow
	matching uint64
	counted  bool // its beginning said which operation it is
	step
}

// step is an operation of a communicator; that of none has no operations.
type step struct {
	of     *operations
	number int32
}

// took says that a location was in an operation from one time to another.
func (s step) took(loc uint32, begin, end int64) {
	if s.of == nil {
		return
	}
	s.of.step(s.number).extend(begin, end, loc)
}

// operations are the collective operations on a communicator: a tree of what its
// members did one after the other, in which all that did the same are in one branch.
type operations struct {
	blocks  [][]operation // of blockSteps each; the first operation is the root, which is none
	count   int32
	members map[uint32]*member
}

// blockSteps is how many operations are kept together: what there is need not move when more come.
const blockSteps = 1 << 10

// step is the operation of a number.
func (o *operations) step(number int32) *operation {
	return &o.blocks[number/blockSteps][number%blockSteps]
}

// add adds an operation and returns its number.
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

// operation is one that locations did behind the same ones before.
type operation struct {
	kind, root  uint64
	child, next int32  // the first of those that followed, and another one at this place
	locations   int32  // how many did it
	least       uint32 // the first of those in the order of definitions
	leaver      uint32 // the one that left it first
	left        int64  // when that was
	begun       int64  // when the last of them began it
}

// extend adds when further locations began and left the operation.
func (x *operation) extend(begun, left int64, leaver uint32) {
	x.begun = max(x.begun, begun)
	if left < x.left || left == x.left && leaver < x.leaver {
		x.left, x.leaver = left, leaver
	}
}

// early reports whether somebody left the operation before another one had begun it.
func (o *operation) early() bool { return o.left < o.begun }

// member is how far a location is.
type member struct {
	at     int32
	number int64 // blocking operations
	others int64 // non-blocking ones, whose completions have no order
}

// collective takes the beginning, the end or the whole of a blocking operation. It is
// counted where the record says which operation it is: with OTF at the beginning, with
// OTF2 and Pallas at the end.
func (c *Checker) collective(s *state, x *trace.Cursor, at place) error {
	switch x.Kind() {
	case trace.Collective:
		if step, t, d := c.operation(x), x.Time(), x.Op(5); d <= uint64(math.MaxInt64-max(t, 0)) {
			step.took(at.loc, t, t+int64(d))
		}
	case trace.CollectiveBegin:
		s.collectives = append(s.collectives, collective{openRow{x.Time(), at.pos}, x.Op(5), x.Op(1) != trace.Undefined, c.operation(x)})
	case trace.CollectiveEnd:
		i := len(s.collectives) - 1
		if id := x.Op(5); id != trace.Undefined {
			for i >= 0 && s.collectives[i].matching != id {
				i--
			}
		}
		if i < 0 {
			c.operation(x)
			return c.report("trace.collective-open", at, "the end of a collective operation at "+c.seconds(x.Time()), "its beginning before it")
		}
		open := &s.collectives[i]
		if !open.counted {
			open.step = c.operation(x)
		}
		open.took(at.loc, open.time, x.Time())
		s.collectives = slices.Delete(s.collectives, i, i+1)
	}
	return nil
}

// operation counts an operation on its communicator.
func (c *Checker) operation(x *trace.Cursor) step {
	comm := x.Op(1)
	if comm >= uint64(c.defs.Communicator.Len()) {
		return step{}
	}
	o := c.operations(uint32(comm))
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
	if c.between(uint32(comm)) {
		root = trace.Undefined // each side says something else
	}
	m.number++
	m.at = o.follow(m.at, &operation{kind: x.Op(0), root: root, locations: 1, least: loc, begun: math.MinInt64, left: math.MaxInt64})
	return step{o, m.at}
}

// operations are those of a communicator.
func (c *Checker) operations(comm uint32) *operations {
	o := c.collect[comm]
	if o == nil {
		o = &operations{members: map[uint32]*member{}}
		o.add(&operation{})
		c.collect[comm] = o
	}
	return o
}

// between reports whether a communicator is one between two groups.
func (c *Checker) between(comm uint32) bool {
	return slices.ContainsFunc(c.defs.Communicator.At(comm).Attrs, func(a trace.Attr) bool { return a.Key == "other" })
}

// follow goes from an operation to one behind it, which further locations did.
func (o *operations) follow(from int32, to *operation) int32 {
	for i := o.step(from).child; i != 0; i = o.step(i).next {
		if x := o.step(i); x.kind == to.kind && x.root == to.root {
			x.locations += to.locations
			x.least = min(x.least, to.least)
			x.extend(to.begun, to.left, to.leaver)
			return i
		}
	}
	x := o.step(o.add(to))
	i, parent := o.count-1, o.step(from)
	x.child, x.next = 0, parent.child
	parent.child = i
	return i
}

// merge adds the operations of other locations.
func (o *operations) merge(other *operations) {
	ours := make([]int32, other.count) // by number of the other's steps
	for i := range other.count {
		// A step has a greater number than the one before it.
		for k := other.step(i).child; k != 0; k = other.step(k).next {
			ours[k] = o.follow(ours[i], other.step(k))
		}
	}
	for loc, m := range other.members {
		m.at = ours[m.at]
		o.members[loc] = m
	}
}

// membership holds the operations of the members of each communicator against each
// other.
func (c *Checker) membership() error {
	for _, comm := range slices.Sorted(maps.Keys(c.collect)) {
		if err := c.members(comm, c.collect[comm]); err != nil {
			return err
		}
		if err := c.early(comm, c.collect[comm]); err != nil {
			return err
		}
	}
	return nil
}

func (c *Checker) members(comm uint32, o *operations) error {
	const rule = "trace.collective-membership"
	name := "communicator " + c.defs.Communicator.At(comm).ID
	// Where members part, most are taken to be right; of as many, those with the first
	// location.
	usual := map[int32]bool{0: true}
	for at, n := int32(0), 1; o.step(at).child != 0; n++ {
		best := o.step(at).child
		for i := best; i != 0; i = o.step(i).next {
			if x, y := o.step(i), o.step(best); x.locations > y.locations || x.locations == y.locations && x.least < y.least {
				best = i
			}
		}
		for i := o.step(at).child; i != 0; i = o.step(i).next {
			if i == best {
				continue
			}
			x, y := o.step(i), o.step(best)
			if err := c.reports(rule, place{loc: x.least}, int64(x.locations), fmt.Sprintf("%s as number %d on %s", x, n, name), fmt.Sprintf("%s, as at location %s", y, c.id(y.least))); err != nil {
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
		if !c.recorded(loc) {
			continue // its file is missing, or left out
		}
		m := o.members[loc]
		if m == nil {
			m = &member{}
		}
		found, want := m.number, most
		if found+int64(len(c.locs[loc].collectives)) >= want || !usual[m.at] {
			found, want = m.others, others // the others are known, or have been reported
		}
		if found >= want {
			continue
		}
		if err := c.report(rule, place{loc: loc}, fmt.Sprintf("%d collective operations on %s", found, name), fmt.Sprintf("%d, as another member has", want)); err != nil {
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

// early reports operations on a communicator that somebody left before all had come, though they
// are such that all wait for all.
func (c *Checker) early(comm uint32, o *operations) error {
	if c.between(comm) {
		return nil // the groups wait for each other, not for their own members
	}
	all, early, most := int64(0), int64(0), uint64(0)
	var first *operation
	for i := int32(1); i < o.count; i++ {
		x := o.step(i)
		if name, ok := c.defs.OperationName(x.kind); !ok || !collectives.WaitsForAll(name) || x.locations < 2 {
			continue
		}
		if all++; !x.early() {
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
	return c.reports("trace.collective-early", placeOf(first.leaver, openRow{time: first.left}), early,
		fmt.Sprintf("%d of %d operations on communicator %s left before all had come, by up to %s, the first at %s", early, all, c.defs.Communicator.At(comm).ID, c.seconds(int64(min(most, math.MaxInt64))), c.seconds(first.left)),
		alignHint)
}

// String says which operation it is.
func (o *operation) String() string {
	if o.root == trace.Undefined {
		return fmt.Sprintf("operation %d", o.kind)
	}
	return fmt.Sprintf("operation %d with root %d", o.kind, o.root)
}

// locations are the members of a communicator, if the trace tells.
func (c *Checker) locations(comm uint32) (out []uint32, known bool) {
	out, known = c.defs.Members(comm)
	slices.Sort(out)
	return slices.Compact(out), known
}
