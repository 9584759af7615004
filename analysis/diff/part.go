package diff

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/analysis/internal/claims"
	"github.com/weft-trace/weft/internal/openset"
	"github.com/weft-trace/weft/trace"
)

// Part holds the call paths of some locations of a run, with times for each location.
type Part struct {
	defs    *trace.Definitions
	rows    *trace.Rows
	loop    string
	trees   []*tree  // indexed by location
	scratch []uint32 // the rows of the regions of a batch
}

// tree holds the call paths of a location. Times are in ticks.
type tree struct {
	nodes       []node
	index       map[edge]int32
	root        int32 // the outermost path that was entered last
	stack       []frame
	open        openset.Index[uint32] // index of the regions of stack
	since       int64
	first, last int64
	iteration   int32                // number of the current iteration of the loop, or -1 before the first one
	claims      *claims.Pairs[frame] // open claims; nil before the first one
}

// claim is a bit that marks a region of a path whose visits are claims. The numbers of regions are less than
// this bit. unnamed stands for the region of claims that have no region.
const (
	claim   = 1 << 31
	unnamed = claim - 2
)

// edge identifies a call path by its parent and its last region.
type edge struct {
	parent int32  // index of the parent, or -1 for an outermost path
	region uint32 // index of the region; with the bit claim for claims of the region
}

// node is a call path with its sums, in ticks.
type node struct {
	edge
	// last is the inner path that was entered last. next is the sibling that was first entered after this
	// path. Both are -1 if there is no such path.
	last, next int32
	flags      uint8
	around     uint64 // a set of bits: for each region of the path, the bit region mod 64 is set
	first      int64  // time of the first enter
	count      int64
	exclusive  int64
	inclusive  int64
	outer      int64 // inclusive time of visits that are not inside another visit of the region
	iterations []iteration
}

// The flags of a node.
const (
	recursive = 1 << iota // the path around this path may contain the same region
	loop                  // each visit is an iteration of the loop
	inLoop                // the path is the path of the loop, or is inside of the loop
)

// iteration holds the times of a path in an iteration, in ticks, like the fields of node.
type iteration struct {
	number                      int32
	exclusive, inclusive, outer int64
}

// frame is an open visit: its path as index into nodes, and the time of its enter.
type frame struct {
	node  int32
	enter int64
}

// NewPart returns an empty part for a run. Parameter rows maps each region to the row that stands for
// all regions counted together with it; nil means that each region is counted by itself. Each visit of
// a region with the name loop is an iteration. The empty name means that there are no iterations.
func NewPart(d *trace.Definitions, rows *trace.Rows, loop string) *Part {
	return &Part{defs: d, rows: rows, loop: loop}
}

// Links ignores links.
func (p *Part) Links([]trace.Link) error { return nil }

// Batch processes a batch with events of one or several locations.
func (p *Part) Batch(b *trace.Batch) error {
	refs := p.rows.Map(&p.scratch, b.Ref)
	times := b.Time[:len(b.Kind)]
	var t *tree
	for i, k := range b.Kind {
		if !k.IsEvent() {
			continue
		}
		if t == nil || b.Loc == trace.MixedLoc {
			var err error
			if t, err = p.treeOf(b.Location(i), times[i]); err != nil {
				return err
			}
		}
		t.last = times[i]
		switch k {
		case trace.Enter:
			t.enter(p, times[i], refs[i])
		case trace.Leave:
			t.leave(times[i], refs[i])
		}
	}
	if slices.Contains(b.Kind, trace.ClaimBegin) || slices.Contains(b.Kind, trace.ClaimEnd) {
		return p.processClaims(b, refs)
	}
	return nil
}

// processClaims processes the claims of a batch. All claims of a region at a location are visits of one outermost path,
// and overlap.
func (p *Part) processClaims(b *trace.Batch, refs []uint32) error {
	c := b.Cursor()
	for c.Next() {
		k := c.Kind()
		if k != trace.ClaimBegin && k != trace.ClaimEnd || len(c.Ops()) == 0 {
			continue
		}
		t, err := p.treeOf(c.Location(), c.Time())
		if err != nil {
			return err
		}
		if t.claims == nil {
			t.claims = claims.NewPairs[frame](p.defs)
		}
		if k == trace.ClaimBegin {
			region := refs[c.Row]
			if region == trace.NoRef {
				region = unnamed
			}
			i := t.child(p, -1, region|claim, c.Time())
			t.nodes[i].count++
			t.claims.Begin(&c, frame{i, c.Time()})
		} else if f, ok := t.claims.End(&c); ok {
			t.endClaim(f, c.Time())
		}
	}
	return nil
}

// endClaim adds the time of a claim that ends.
func (t *tree) endClaim(f frame, now int64) {
	x := &t.nodes[f.node]
	x.exclusive, x.inclusive, x.outer = x.exclusive+now-f.enter, x.inclusive+now-f.enter, x.outer+now-f.enter
}

// treeOf returns the tree of a location. It creates the tree if needed; now is the time of the first event.
func (p *Part) treeOf(loc uint32, now int64) (*tree, error) {
	if n := p.defs.Locations.Len(); int(loc) >= n {
		return nil, fmt.Errorf("diff: found an event at location %d, expected one of the %d locations of the trace", loc, n)
	}
	for int(loc) >= len(p.trees) {
		p.trees = append(p.trees, nil)
	}
	if p.trees[loc] == nil {
		p.trees[loc] = &tree{index: map[edge]int32{}, root: -1, first: now, iteration: -1}
	}
	return p.trees[loc], nil
}

// addTime adds the time since the last enter or leave to the innermost path.
func (t *tree) addTime(now int64) {
	if n := len(t.stack); n > 0 {
		x := &t.nodes[t.stack[n-1].node]
		x.exclusive += now - t.since
		if x.flags&inLoop != 0 {
			x.latestIteration(t.iteration).exclusive += now - t.since
		}
	}
	t.since = now
}

// latestIteration returns the times of a path in the latest iteration, which has the given number. It adds
// them if needed.
func (nd *node) latestIteration(number int32) *iteration {
	if n := len(nd.iterations); n == 0 || nd.iterations[n-1].number != number {
		nd.iterations = append(nd.iterations, iteration{number: number})
	}
	return &nd.iterations[len(nd.iterations)-1]
}

func (t *tree) enter(p *Part, now int64, region uint32) {
	t.addTime(now)
	parent := int32(-1)
	if n := len(t.stack); n > 0 {
		parent = t.stack[n-1].node
	}
	t.open.Open(region, len(t.stack))
	i := t.child(p, parent, region, now)
	t.stack = append(t.stack, frame{i, now})
	x := &t.nodes[i]
	x.count++
	if x.flags&loop != 0 && (parent < 0 || t.nodes[parent].flags&inLoop == 0) && t.iteration < math.MaxInt32 {
		t.iteration++
	}
}

// child returns the index of the path that leads from parent to a region, and creates the path if needed. It
// first tries the path that was entered after the previous path the last time, because most loops repeat their
// calls in the same order.
func (t *tree) child(p *Part, parent int32, region uint32, now int64) int32 {
	latest := &t.root
	if parent >= 0 {
		latest = &t.nodes[parent].last
	}
	before := *latest
	if before >= 0 {
		if t.nodes[before].region == region {
			return before
		}
		if next := t.nodes[before].next; next >= 0 && t.nodes[next].region == region {
			*latest = next
			return next
		}
	}
	e := edge{parent, region}
	i, ok := t.index[e]
	if !ok {
		i = int32(len(t.nodes))
		t.index[e] = i
		t.nodes = append(t.nodes, t.newPath(p, e, now))
	}
	if before >= 0 {
		t.nodes[before].next = i
	}
	if parent >= 0 {
		t.nodes[parent].last = i // append may have moved the nodes
	} else {
		t.root = i
	}
	return i
}

// newPath returns a new path that begins at time now.
func (t *tree) newPath(p *Part, e edge, now int64) node {
	x := node{edge: e, last: -1, next: -1, first: now, around: 1 << (e.region & 63)}
	if p.loop != "" && p.defs.Regions.Has(e.region) && p.defs.Regions.At(e.region).Name == p.loop {
		x.flags = loop | inLoop
	}
	if e.parent >= 0 {
		parent := &t.nodes[e.parent]
		x.flags |= parent.flags & inLoop
		if parent.around&x.around != 0 {
			x.flags |= recursive
		}
		x.around |= parent.around
	}
	return x
}

func (t *tree) leave(now int64, region uint32) {
	i := len(t.stack) - 1
	if i < 0 || t.nodes[t.stack[i].node].region != region {
		i = t.find(region)
	}
	if i < 0 {
		return // the region is not open
	}
	t.addTime(now)
	f := t.stack[i]
	if i == len(t.stack)-1 && !t.open.Mapped() {
		t.stack = t.stack[:i]
	} else {
		t.stack = openset.Close(&t.open, t.stack, i, region)
	}
	x := &t.nodes[f.node]
	d, outer := now-f.enter, now-f.enter
	if x.flags&recursive != 0 && t.find(region) >= 0 {
		outer = 0
	}
	x.inclusive += d
	x.outer += outer
	if x.flags&inLoop != 0 {
		in := x.latestIteration(t.iteration)
		in.inclusive += d
		in.outer += outer
	}
}

// find returns the index of the latest open visit of a region, or -1.
func (t *tree) find(region uint32) int {
	return t.open.Find(region, len(t.stack), func(i int) uint32 { return t.nodes[t.stack[i].node].region })
}

// finish closes the open visits and claims at the last event.
func (t *tree) finish() {
	if t.claims != nil {
		t.claims.Each(func(_ uint32, f *frame) { t.endClaim(*f, t.last) })
	}
	for len(t.stack) > 0 {
		t.leave(t.last, t.nodes[t.stack[len(t.stack)-1].node].region)
	}
}

// Merge adds another part of the same run. Both must have the same rows and loop, and have
// processed different locations. The other part must not be used afterwards.
func (p *Part) Merge(o *Part) error {
	if p.defs != o.defs || p.rows != o.rows || p.loop != o.loop {
		return errors.New("diff: found parts of different traces or options")
	}
	var err error
	p.trees, err = analysis.Join("diff", p.trees, o.trees)
	return err
}

// inRegions returns the time in which a region is open.
func (t *tree) inRegions() (sum int64) {
	for i := range t.nodes {
		if n := &t.nodes[i]; n.region&claim == 0 {
			sum += n.exclusive
		}
	}
	return sum
}
