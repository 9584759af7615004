// Package calltree computes how often and how long each call path was open. A call path is a region together
// with the regions that were open around it.
//
// The inclusive time of a path is the time in which it is open. Its exclusive time is the time in which its
// last region is the innermost one, that is, the open region that was entered last. Therefore the exclusive
// times of all paths add up to the time in which any region is open. The exclusive times of the paths that end
// in a region add up to the exclusive time of this region in the flat profile (package profile). A leave
// closes the latest open enter of its region, even if other regions were entered since. The paths of these
// other regions stay unchanged.
//
// Regions that are never left are closed at the last event of their location. With a window, the tree counts
// only the visits that overlap the window, and only their time inside of it.
//
// A part needs only the events of each location in order. It uses about 120 bytes per path of each tree, and
// 40 bytes per open region.
package calltree

import (
	"cmp"
	"encoding/json"
	"errors"
	"math"
	"slices"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/internal/openset"
	"github.com/weft-trace/weft/trace"
)

// Options are the settings of an analysis.
type Options struct {
	// Window limits the result to visits and times in it. Nil means the whole trace. Parts need all events
	// even with a window, because the events before the window determine which regions are open at its begin.
	Window *trace.Window
	// Root returns the number of the tree to which the paths of a location belong. Nil means one
	// tree for all locations, with the number 0.
	Root func(loc uint32) uint32
	// Rows maps each region to the row that stands for all regions counted together with it. Nil
	// counts each region by itself. Parts that are merged must have the same Rows.
	Rows *trace.Rows
	// Continued is set if the region of tasks, in which some recorders show that an implicit task continues, is no visit.
	// Its time then belongs to the region around it.
	Continued bool
}

// Part is the call tree of some locations of a trace.
type Part struct {
	defs    *trace.Definitions
	opt     Options
	nodes   []node
	index   map[edge]int32
	locs    []*location
	scratch []uint32 // the rows of the regions of a batch
}

// edge identifies a call path by its parent and its last region.
type edge struct {
	parent int32 // index of the parent in Part.nodes; −1 − root for an outermost region
	region uint32
}

// node is a call path with its sums in ticks.
type node struct {
	edge
	last                 edge // the child that was looked up last, with index child
	child                int32
	count                int64
	inclusive, exclusive trace.Ticks
	min, max             int64
	longest              Visit
	unclosed             int64
}

// location is the state of a location. Times are in ticks.
type location struct {
	stack []frame
	open  openset.Index[uint32] // index of the regions on the stack
	since int64
	last  int64
	root  int32 // the parent of the outermost visits: −1 minus the number of the location's tree
	index uint32
	// continued is set between a switch to the implicit task of the thread and the next enter of a region.
	continued bool
}

// frame is an open visit: its call path as index into Part.nodes, and the time of its enter.
type frame struct {
	node  int32
	enter int64
	// continued is set if the visit only shows that the implicit task continues; its time belongs to the region around it.
	continued bool
}

// New returns an empty part for a trace.
func New(d *trace.Definitions, opt Options) *Part {
	return &Part{defs: d, opt: opt, index: map[edge]int32{}}
}

// Links ignores links.
func (p *Part) Links([]trace.Link) error { return nil }

// Batch processes a batch, whose events may belong to one location or to several.
func (p *Part) Batch(b *trace.Batch) error {
	refs := p.opt.Rows.Map(&p.scratch, b.Ref)
	for i, k := range b.Kind {
		if !k.IsEvent() {
			continue
		}
		l := p.location(b.Location(i))
		t := b.Time[i]
		l.last = t
		switch k {
		case trace.Enter:
			p.enter(l, t, refs[i])
		case trace.Leave:
			p.leave(l, t, refs[i])
		case trace.TaskSwitch:
			l.continued = p.opt.Continued && task(b, i) == 0
		}
	}
	return nil
}

// task returns the number of the task in a row of the kind [trace.TaskSwitch], or trace.Undefined.
func task(b *trace.Batch, row int) uint64 {
	i, ok := slices.BinarySearch(b.OpRow, uint32(row))
	from := uint32(0)
	if ok && i > 0 {
		from = b.OpEnd[i-1]
	}
	if ops := b.Op[from:]; ok && b.OpEnd[i]-from > 2 {
		return ops[2]
	}
	return trace.Undefined
}

// location returns the state of a location, which it creates if needed.
func (p *Part) location(loc uint32) *location {
	for int(loc) >= len(p.locs) {
		p.locs = append(p.locs, nil)
	}
	l := p.locs[loc]
	if l == nil {
		l = &location{root: -1, index: loc}
		if p.opt.Root != nil {
			l.root = -1 - int32(p.opt.Root(loc))
		}
		p.locs[loc] = l
	}
	return l
}

// addTime adds the time since the location's last enter or leave, as far as it lies in the window,
// to the exclusive time of its innermost path.
func (p *Part) addTime(l *location, t int64) {
	if f := l.top(); f != nil {
		p.nodes[f.node].exclusive.Add(p.opt.Window.Clip(t) - p.opt.Window.Clip(l.since))
	}
	l.since = t
}

func (p *Part) enter(l *location, t int64, region uint32) {
	p.addTime(l, t)
	parent := l.root
	if f := l.top(); f != nil {
		parent = f.node
	}
	l.open.Open(region, len(l.stack))
	l.stack = append(l.stack, frame{p.node(parent, region), t, l.continued && p.defs.IsTask(region)})
	l.continued = false
}

// top returns the innermost open visit, or nil if none is open.
func (l *location) top() *frame {
	for i := len(l.stack) - 1; i >= 0; i-- {
		if f := &l.stack[i]; !f.continued {
			return f
		}
	}
	return nil
}

// node returns the index of the path that leads from parent to region, which it creates if needed.
func (p *Part) node(parent int32, region uint32) int32 {
	e := edge{parent, region}
	if parent >= 0 && p.nodes[parent].last == e {
		return p.nodes[parent].child
	}
	i, ok := p.index[e]
	if !ok {
		i = int32(len(p.nodes))
		p.index[e] = i
		p.nodes = append(p.nodes, node{edge: e, last: edge{parent: math.MinInt32}, min: math.MaxInt64})
	}
	if parent >= 0 {
		p.nodes[parent].last, p.nodes[parent].child = e, i
	}
	return i
}

func (p *Part) leave(l *location, t int64, region uint32) {
	i := len(l.stack) - 1
	if i < 0 || p.nodes[l.stack[i].node].region != region {
		i = l.open.Find(region, len(l.stack), func(i int) uint32 { return p.nodes[l.stack[i].node].region })
	}
	if i < 0 {
		return // the region is not open
	}
	p.addTime(l, t)
	p.countVisit(l, l.stack[i], t, false)
	if i == len(l.stack)-1 && !l.open.Mapped() {
		l.stack = l.stack[:i]
	} else {
		l.stack = openset.Close(&l.open, l.stack, i, region)
	}
}

// countVisit counts the visit f, which ends at time t. Parameter unclosed is set if no leave ended
// it.
func (p *Part) countVisit(l *location, f frame, t int64, unclosed bool) {
	w := p.opt.Window
	if f.continued || w != nil && (t < w.From || t == w.From && f.enter < t || !trace.Before(max(f.enter, w.From), w.To)) {
		return
	}
	n := &p.nodes[f.node]
	d := w.Clip(t) - w.Clip(f.enter)
	n.count++
	n.inclusive.Add(d)
	n.min = min(n.min, d)
	if v := (Visit{l.index, f.enter}); n.count == 1 || d > n.max || d == n.max && v.before(n.longest) {
		n.max, n.longest = d, v
	}
	// A visit that is open at the end of the window continues after it.
	if unclosed && (w == nil || trace.Before(t, w.To)) {
		n.unclosed++
	}
}

// Merge adds another part of the same trace, which must have processed other locations and have the same
// options. The other part must not be used afterwards.
func (p *Part) Merge(o *Part) error {
	if p.defs != o.defs || p.opt.Rows != o.opt.Rows || (p.opt.Window == nil) != (o.opt.Window == nil) {
		return errors.New("calltree: found parts of different traces or options")
	}
	ours := make([]int32, len(o.nodes))
	for i := range o.nodes {
		n := &o.nodes[i]
		parent := n.parent
		if parent >= 0 {
			parent = ours[parent] // a parent has a lower index than its children
		}
		ours[i] = p.node(parent, n.region)
		p.nodes[ours[i]].add(n)
	}
	for _, l := range o.locs {
		for i := 0; l != nil && i < len(l.stack); i++ {
			l.stack[i].node = ours[l.stack[i].node]
		}
	}
	var err error
	p.locs, err = analysis.Join("calltree", p.locs, o.locs)
	return err
}

func (n *node) add(o *node) {
	if o.count > 0 && (n.count == 0 || o.max > n.max || o.max == n.max && o.longest.before(n.longest)) {
		n.longest = o.longest
	}
	n.count += o.count
	n.inclusive, n.exclusive = n.inclusive.Plus(o.inclusive), n.exclusive.Plus(o.exclusive)
	n.unclosed += o.unclosed
	n.min, n.max = min(n.min, o.min), max(n.max, o.max)
}

// Visit identifies a visit of a call path by its location and the time of its enter in ticks.
type Visit struct {
	Location uint32 `json:"location"` // index into Definitions.Locations
	Start    int64  `json:"start"`
}

// before orders visits by location, then by time.
func (v Visit) before(o Visit) bool {
	return cmp.Or(cmp.Compare(v.Location, o.Location), cmp.Compare(v.Start, o.Start)) < 0
}

// Node is a call path: a region below the path that is its parent. Times are in ticks.
type Node struct {
	// Parent is the index of the enclosing path in the list, or -1, which is null in JSON.
	Parent int `json:"parent"`
	// Depth is the number of enclosing regions.
	Depth int `json:"depth"`
	// Root is the number that Options.Root returned for the locations of the path.
	Root   uint32 `json:"root"`
	Region uint32 `json:"region"` // index into Definitions.Regions, NoRef when unknown
	Name   string `json:"name"`
	// Definitions are the ids of all regions that Options.Rows maps to this one, if there are several.
	Definitions []string `json:"definitions,omitempty"`
	Count       int64    `json:"count"` // visits
	// Inclusive is the time in which the path was open, summed over locations and visits. Exclusive
	// is the part of it in which the path's region was the innermost open one.
	Inclusive trace.Ticks `json:"inclusive"`
	Exclusive trace.Ticks `json:"exclusive"`
	Min       int64       `json:"min"` // the shortest visit
	Max       int64       `json:"max"` // the longest visit, in the window
	// Longest is the visit of length Max. If several visits have this length, it is the earliest visit at the
	// location with the least index. It is nil if there was no visit. It may have begun before the window.
	Longest  *Visit `json:"longest"`
	Unclosed int64  `json:"unclosed"`
}

// MarshalJSON writes null for the parent of an outermost path.
func (n Node) MarshalJSON() ([]byte, error) {
	type fields Node
	x := struct {
		Parent *int `json:"parent"`
		fields
	}{nil, fields(n)}
	if n.Parent >= 0 {
		x.Parent = &n.Parent
	}
	return json.Marshal(x)
}

// UnmarshalJSON reads the output of MarshalJSON.
func (n *Node) UnmarshalJSON(text []byte) error {
	type fields Node
	x := fields{Parent: -1} // null in JSON leaves Parent unchanged
	err := json.Unmarshal(text, &x)
	*n = Node(x)
	return err
}

// Result returns the tree as a list. Each path precedes the paths below it. Siblings are ordered by
// descending inclusive time, then in the order of the definitions. Paths without a visit in the
// window are left out, unless a path below has one.
func (p *Part) Result() []Node {
	q := &Part{defs: p.defs, opt: p.opt, nodes: slices.Clone(p.nodes)}
	for _, l := range p.locs {
		if l == nil {
			continue
		}
		c := *l
		q.addTime(&c, c.last)
		for i, f := range c.stack {
			if !c.open.Gap(i) {
				q.countVisit(&c, f, c.last, true)
			}
		}
	}
	// Keep a path without visits in the window if a path below it has one. Where regions do not
	// nest, a region can outlast the one around it.
	keep := make([]bool, len(q.nodes))
	for i := len(q.nodes) - 1; i >= 0; i-- {
		n := &q.nodes[i]
		if n.count == 0 {
			n.min = 0
		}
		keep[i] = keep[i] || n.count > 0
		if n.parent >= 0 && keep[i] {
			keep[n.parent] = true
		}
	}
	ids := p.opt.Rows.IDs()
	var out []Node
	place := make([]int, len(q.nodes)) // index in out
	for i := range q.nodes {
		n := &q.nodes[i]
		if !keep[i] {
			continue
		}
		x := Node{-1, 0, uint32(-1 - n.parent), n.region, "unknown", ids[n.region], n.count, n.inclusive, n.exclusive, n.min,
			n.max, nil, n.unclosed}
		if n.count > 0 {
			x.Longest = &Visit{n.longest.Location, n.longest.Start}
		}
		if n.parent >= 0 { // a parent has a lower index than its children
			x.Parent = place[n.parent]
			x.Depth, x.Root = out[x.Parent].Depth+1, out[x.Parent].Root
		}
		if p.defs.Regions.Has(n.region) {
			x.Name = p.defs.Regions.At(n.region).Name
		}
		place[i] = len(out)
		out = append(out, x)
	}
	if len(out) == 0 {
		return nil
	}
	return Sorted(out, func(a, b *Node) int {
		return cmp.Or(b.Inclusive.Cmp(a.Inclusive), cmp.Compare(a.Region+1, b.Region+1))
	})
}

// Sorted returns a list of paths, as [Part.Result] returns it, with siblings ordered by compare.
// The order of equal siblings, and of trees, does not change.
func Sorted(list []Node, compare func(a, b *Node) int) []Node {
	inside := make([][]int, len(list))
	var roots []int
	for i := range list {
		if p := list[i].Parent; p >= 0 {
			inside[p] = append(inside[p], i)
		} else {
			roots = append(roots, i)
		}
	}
	// A list holds the pending paths instead of the call stack, since recursive programs make very
	// deep paths.
	type path struct{ node, parent int }
	var wait []path // a stack: the last element is processed next
	add := func(l []int, parent int) {
		slices.SortStableFunc(l, func(a, b int) int {
			return cmp.Or(cmp.Compare(list[a].Root, list[b].Root), compare(&list[a], &list[b]))
		})
		for _, i := range slices.Backward(l) {
			wait = append(wait, path{i, parent})
		}
	}
	out := make([]Node, 0, len(list))
	add(roots, -1)
	for len(wait) > 0 {
		w := wait[len(wait)-1]
		wait = wait[:len(wait)-1]
		n := list[w.node]
		n.Parent = w.parent
		out = append(out, n)
		add(inside[w.node], len(out)-1)
	}
	return out
}
