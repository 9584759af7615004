package distance

import (
	"fmt"
	"slices"
	"sort"
)

// maxListed is the greatest number of nodes and edges that are listed as differences.
const maxListed = 32 << 20

// ErrTooManyDifferences is returned if a list of differences would need too much memory.
var ErrTooManyDifferences = fmt.Errorf("found more than %d differences to list, expected fewer; list the first ones",
	maxListed)

// comparer compares graphs with a reference.
type comparer struct {
	labels []string
	most   int // length of lists of differences; 0 for all
	listed int // length of all lists so far
	limit  int // greatest allowed value of listed

	reference *graph
	// indexed by label: the position of the first node with the label in the order of the reference, and the
	// number of these nodes
	first, count []int32

	// inGraph and inReference hold the positions of each common node in the graph that was compared
	// last and in the reference, in the order of the graph. shared holds the number of common edges
	// that begin at each common node.
	inGraph, inReference []int32
	shared               []int32
	edges                int64 // the sum of shared

	// pairs maps each node of the reference (0) and of the graph (1) to the index of its common node in
	// inGraph, or to -1.
	pairs [2][]int32
	keys  []uint64 // this field and the following ones are scratch memory of compare
	rank  []int32
	table [2][]int32
	tree  []int32
	begin []int32
	queue []int32
	order []int32
}

func newComparer(labels []string, most int) *comparer {
	return &comparer{labels: labels, most: most, limit: maxListed, first: make([]int32, len(labels)),
		count: make([]int32, len(labels))}
}

// setReference sets the graph with which others are compared.
func (c *comparer) setReference(g *graph) {
	if c.reference != nil {
		for _, n := range c.reference.names {
			c.count[n>>32] = 0
		}
	}
	c.reference = g
	for i, p := range g.order() {
		l := g.names[p] >> 32
		if c.count[l] == 0 {
			c.first[l] = int32(i)
		}
		c.count[l]++
	}
	c.pairs[0] = slices.Grow(c.pairs[0][:0], len(g.names))[:len(g.names)]
	for i := range c.pairs[0] {
		c.pairs[0][i] = -1
	}
}

// compare finds the nodes and edges that a graph and the reference have in common. For a graph with m
// nodes, the time is proportional to m log m. It does not depend on the size of the reference or on the
// number of edges.
func (c *comparer) compare(g *graph) {
	c.inGraph, c.inReference, c.edges = c.inGraph[:0], c.inReference[:0], 0
	for i, n := range g.names {
		if l, k := n>>32, int32(uint32(n)); k < c.count[l] {
			c.inGraph = append(c.inGraph, int32(i))
			c.inReference = append(c.inReference, c.reference.sorted[c.first[l]+k])
		}
	}
	n := len(c.inGraph)
	c.shared = slices.Grow(c.shared[:0], n)[:n]
	order := c.inReference
	inOrder := slices.IsSorted(order)
	if !inOrder {
		order = c.sortReference()
	}
	here := ranks(&c.table[0], c.inGraph, len(g.names))
	there := ranks(&c.table[1], order, len(c.reference.names))
	if inOrder {
		for i := range c.inGraph {
			a, b := g.successors(c.inGraph[i])
			x, y := c.reference.successors(c.inReference[i])
			c.shared[i] = max(0, min(here(b), there(y))-max(here(a), there(x)))
			c.edges += int64(c.shared[i])
		}
		return
	}
	// The edges from a common node lead to an interval of positions in each graph. An edge is common if it
	// leads to a common node in both intervals. The loop takes the nodes in the order of next, so that the
	// interval in the graph only moves forward. The tree holds the nodes in that interval, by their ranks in
	// the reference.
	c.tree = slices.Grow(c.tree[:0], n+1)[:n+1]
	clear(c.tree)
	from, to := int32(0), int32(0)
	for _, i := range c.byNext(g) {
		a, b := g.successors(c.inGraph[i])
		for last := here(b); to < last; to++ {
			c.add(c.rank[to], 1)
		}
		for first := here(a); from < first; from++ {
			c.add(c.rank[from], -1)
		}
		x, y := c.reference.successors(c.inReference[i])
		c.shared[i] = c.countBelow(there(y)) - c.countBelow(there(x))
		c.edges += int64(c.shared[i])
	}
}

// sortReference sorts the positions of the common nodes in the reference, and sets the rank of each.
func (c *comparer) sortReference() []int32 {
	n := len(c.inReference)
	c.rank, c.order = slices.Grow(c.rank[:0], n)[:n], c.order[:0]
	if m := len(c.reference.names); n >= m/searchShare {
		t := slices.Grow(c.table[1][:0], m)[:m] // indexed by position: 1 plus the index in inReference
		c.table[1] = t
		clear(t)
		for i, p := range c.inReference {
			t[p] = int32(i) + 1
		}
		for p, i := range t {
			if i > 0 {
				c.rank[i-1] = int32(len(c.order))
				c.order = append(c.order, int32(p))
			}
		}
		return c.order
	}
	c.keys = c.keys[:0]
	for i, p := range c.inReference {
		c.keys = append(c.keys, uint64(p)<<32|uint64(i))
	}
	slices.Sort(c.keys)
	for i, k := range c.keys {
		c.rank[uint32(k)] = int32(i)
		c.order = append(c.order, int32(k>>32))
	}
	return c.order
}

// searchShare is the greatest share of common nodes, as 1/searchShare of all nodes, for which ranks
// searches. With more common nodes, a table of all nodes is faster.
const searchShare = 16

// ranks returns a function that counts the elements of positions that are less than p. The positions are
// sorted and less than n. The function uses a table, or a search if there are few positions.
func ranks(table *[]int32, positions []int32, n int) func(p int32) int32 {
	if len(positions) == n {
		return func(p int32) int32 { return p }
	}
	if len(positions) < n/searchShare {
		return func(p int32) int32 {
			return int32(sort.Search(len(positions), func(i int) bool { return positions[i] >= p }))
		}
	}
	t := slices.Grow((*table)[:0], n+1)[:n+1]
	*table = t
	k := int32(0)
	for p := range t {
		t[p] = k
		if int(k) < len(positions) && positions[k] == int32(p) {
			k++
		}
	}
	return func(p int32) int32 { return t[p] }
}

// byNext returns the indexes of the common nodes in the order of next.
func (c *comparer) byNext(g *graph) []int32 {
	n := len(g.names)
	begin := slices.Grow(c.begin[:0], n+2)[:n+2]
	c.begin = begin
	clear(begin)
	for _, p := range c.inGraph {
		begin[g.next[p]+1]++
	}
	for i := range n + 1 {
		begin[i+1] += begin[i]
	}
	c.queue = slices.Grow(c.queue[:0], len(c.inGraph))[:len(c.inGraph)]
	for i, p := range c.inGraph {
		next := g.next[p]
		c.queue[begin[next]] = int32(i)
		begin[next]++
	}
	return c.queue
}

// add adds by to the number of nodes with the given rank in the tree.
func (c *comparer) add(rank, by int32) {
	for i := rank + 1; int(i) < len(c.tree); i += i & -i {
		c.tree[i] += by
	}
}

// countBelow returns the number of nodes in the tree whose ranks are less than rank.
func (c *comparer) countBelow(rank int32) (n int32) {
	for i := rank; i > 0; i &= i - 1 {
		n += c.tree[i]
	}
	return n
}

// distance returns the distance of a graph from the reference.
func (c *comparer) distance(g *graph) int64 {
	c.compare(g)
	return int64(len(g.names)) + int64(len(c.reference.names)) - 2*int64(len(c.inGraph)) + g.edges + c.reference.edges -
		2*c.edges
}

// equal reports whether two graphs have the same nodes and edges. It may make r the reference.
func (c *comparer) equal(g, r *graph) bool {
	if len(g.names) != len(r.names) || g.edges != r.edges {
		return false
	}
	if slices.Equal(g.names, r.names) && slices.Equal(g.next, r.next) {
		return true
	}
	if c.reference != r {
		c.setReference(r)
	}
	return c.distance(g) == 0
}

// difference compares a graph with the reference, which is the first one of the result.
func (c *comparer) difference(g *graph) (*Difference, error) {
	d := &Difference{Distance: c.distance(g)}
	pairs := slices.Grow(c.pairs[1][:0], len(g.names))[:len(g.names)]
	c.pairs[1] = pairs
	for i := range pairs {
		pairs[i] = -1
	}
	for i := range c.inGraph {
		c.pairs[0][c.inReference[i]], pairs[c.inGraph[i]] = int32(i), int32(i)
	}
	var err error
	if d.First, err = c.missing(c.reference, g, c.pairs[0], c.inGraph); err != nil {
		return nil, err
	}
	if d.Second, err = c.missing(g, c.reference, pairs, c.inReference); err != nil {
		return nil, err
	}
	for _, p := range c.inReference {
		c.pairs[0][p] = -1
	}
	return d, nil
}

// missing returns the nodes and edges of graph x that graph y lacks. pairs[p] is the index in other of the
// node at position p of x, or -1 if y lacks the node. other holds the positions of these nodes in y.
func (c *comparer) missing(x, y *graph, pairs, other []int32) (Differences, error) {
	d := Differences{NodeCount: int64(len(x.names) - len(c.inGraph)), EdgeCount: x.edges - c.edges, Nodes: []Node{},
		Edges: []Edge{}}
	nodes, edges := d.NodeCount, d.EdgeCount
	if c.most > 0 {
		nodes, edges = min(nodes, int64(c.most)), min(edges, int64(c.most))
	}
	if nodes+edges > int64(c.limit-c.listed) {
		return d, ErrTooManyDifferences
	}
	c.listed += int(nodes + edges)
	node := func(p int32) Node { return Node{c.labels[x.names[p]>>32], int(uint32(x.names[p]))} }
	if nodes > 0 {
		for _, p := range x.order() {
			if pairs[p] >= 0 {
				continue
			}
			if d.Nodes = append(d.Nodes, node(p)); int64(len(d.Nodes)) == nodes {
				break
			}
		}
	}
	l := edgeLister{x: x, y: y, pairs: pairs, other: other, shared: c.shared}
	for i := 0; int64(len(d.Edges)) < edges; i++ {
		tail := x.nodesWithEdges()[i]
		for _, p := range l.differing(tail, int(edges)-len(d.Edges)) {
			d.Edges = append(d.Edges, Edge{node(tail), node(p)})
		}
	}
	return d, nil
}

// edgeLister lists edges that graph x has and graph y does not.
type edgeLister struct {
	x, y         *graph
	pairs, other []int32 // the matched nodes of x and y, as in comparer.missing
	shared       []int32
	// list holds the result of the latest call of differing. It was computed for the successors in x from position
	// from on, and for the successors in y from low up to up, exclusive.
	list          []int32
	from, low, up int32
}

// differing returns the ends of the edges that begin at node tail in x and that y lacks, in the order of
// names. It returns at most room nodes.
func (l *edgeLister) differing(tail int32, room int) []int32 {
	from, to := l.x.successors(tail)
	shared, low, up := int32(0), int32(0), int32(0)
	if i := l.pairs[tail]; i >= 0 {
		shared = l.shared[i]
		low, up = l.y.successors(l.other[i])
	}
	if to-from == shared {
		return nil
	}
	differs := func(p int32) bool {
		i := l.pairs[p]
		return i < 0 || l.other[i] < low || l.other[i] >= up
	}
	// Many nodes share their successors, which are sorted once for all of them.
	if int64(to-from) > 64*(int64(shared)+int64(room)) {
		l.list = l.list[:0] // the list is empty, so append starts at its begin
		for _, p := range l.x.sortedSuccessors(tail) {
			if len(l.list) == room {
				break
			}
			if differs(p) {
				l.list = append(l.list, p)
			}
		}
		return l.list
	}
	if l.list == nil || l.from != from || l.low != low || l.up != up {
		l.list, l.from, l.low, l.up = l.list[:0], from, low, up
		for p := from; p < to; p++ {
			if differs(p) {
				l.list = append(l.list, p)
			}
		}
		l.x.sort(l.list)
	}
	return l.list[:min(room, len(l.list))]
}
