package diff

import (
	"errors"
	"fmt"
	"math"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/internal/openset"
	"github.com/weft-trace/weft/trace"
)

// Part has the call paths of some locations of a run, each location by itself.
type Part struct {
	defs  *trace.Definitions
	rows  *trace.Rows
	loop  string
	trees []*tree  // by location
	refs  []uint32 // rows of the regions of a batch
}

// tree has the call paths of a location.
type tree struct {
	nodes       []node
	index       map[edge]int32
	root        int32 // the outermost path that was entered last
	stack       []frame
	open        openset.Index[uint32] // the regions of stack
	since       int64
	first, last int64
	iteration   int32 // of the loop, -1 before the first one
}

type edge struct {
	parent int32 // -1 for the outermost paths
	region uint32
}

// node is a call path.
type node struct {
	edge
	last, next int32 // the child that was entered last, and the sibling that was entered after this one
	flags      uint8
	around     uint64 // bit region mod 64 is set for each region of the path
	first      int64  // time of the first enter
	count      int64
	exclusive  int64
	inclusive  int64
	outer      int64 // inclusive time of visits that are not inside others of the region
	iterations []iteration
}

// The flags of a node.
const (
	recursive = 1 << iota // its region may be in the path around it
	loop                  // each visit is an iteration
	inLoop                // the path is the loop, or inside of it
)

// iteration has the times of a path in an iteration.
type iteration struct {
	number                      int32
	exclusive, inclusive, outer int64
}

type frame struct {
	node  int32
	enter int64
}

// NewPart returns an empty part for a run. Rows maps regions to the rows that count as one; nil
// counts each region by itself. Each visit of a region with the name loop is an iteration, unless
// loop is "".
func NewPart(d *trace.Definitions, rows *trace.Rows, loop string) *Part {
	return &Part{defs: d, rows: rows, loop: loop}
}

// Links ignores links.
func (p *Part) Links([]trace.Link) error { return nil }

// Batch processes events of one location, or a mixed batch.
func (p *Part) Batch(b *trace.Batch) error {
	refs := p.rows.Map(&p.refs, b.Ref)
	times := b.Time[:len(b.Kind)]
	var t *tree
	for i, k := range b.Kind {
		if !k.IsEvent() {
			continue
		}
		if t == nil || b.Loc == trace.MixedLoc {
			var err error
			if t, err = p.tree(b.Location(i), times[i]); err != nil {
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
	return nil
}

func (p *Part) tree(loc uint32, now int64) (*tree, error) {
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

// pass adds the time since the last enter or leave to the innermost path.
func (t *tree) pass(now int64) {
	if n := len(t.stack); n > 0 {
		x := &t.nodes[t.stack[n-1].node]
		x.exclusive += now - t.since
		if x.flags&inLoop != 0 {
			x.in(t.iteration).exclusive += now - t.since
		}
	}
	t.since = now
}

// in returns the times of a path in the latest iteration.
func (x *node) in(number int32) *iteration {
	if n := len(x.iterations); n == 0 || x.iterations[n-1].number != number {
		x.iterations = append(x.iterations, iteration{number: number})
	}
	return &x.iterations[len(x.iterations)-1]
}

func (t *tree) enter(p *Part, now int64, region uint32) {
	t.pass(now)
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

// child returns the path of a region below another path. Most paths are entered in the order in which
// they were entered before.
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
		t.nodes = append(t.nodes, t.path(p, e, now))
	}
	if before >= 0 {
		t.nodes[before].next = i
	}
	if parent >= 0 {
		t.nodes[parent].last = i // append may have moved the nodes, so index them again
	} else {
		t.root = i
	}
	return i
}

// path returns a new path.
func (t *tree) path(p *Part, e edge, now int64) node {
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
		return // not open
	}
	t.pass(now)
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
		in := x.in(t.iteration)
		in.inclusive += d
		in.outer += outer
	}
}

// find returns the latest open frame of a region, or -1.
func (t *tree) find(region uint32) int {
	return t.open.Find(region, len(t.stack), func(i int) uint32 { return t.nodes[t.stack[i].node].region })
}

// finish closes what is open at the last event.
func (t *tree) finish() {
	for len(t.stack) > 0 {
		t.leave(t.last, t.nodes[t.stack[len(t.stack)-1].node].region)
	}
}

// Merge adds another part of the same run, which must have seen other locations and have the same rows and loop.
// The other part must not be used afterwards.
func (p *Part) Merge(o *Part) error {
	if p.defs != o.defs || p.rows != o.rows || p.loop != o.loop {
		return errors.New("diff: found parts of different traces or options")
	}
	var err error
	p.trees, err = analysis.Join("diff", p.trees, o.trees)
	return err
}
