package distance

import (
	"cmp"
	"slices"
	"sort"
)

// nodeID identifies a node. The upper half is the label, and the lower half the occurrence.
type nodeID uint64

// graph is the graph of a list of claims. The list is sorted by start and end, and a node is identified by
// its position in the list. The edges from a node lead to consecutive positions, so that two numbers
// describe them.
type graph struct {
	names []nodeID
	// next has, for each node, the first later position whose claim starts at or after the end of the node's
	// claim. If there is no such position, it has the number of nodes.
	next []int32
	// stop is, for each value of next, the position after the last edge of the nodes with that value. A claim
	// from that position on is not a successor, because another claim lies in between. stop has one element
	// more than next.
	stop  []int32
	edges int64

	sorted []int32 // positions in the order of names; see the method order
	heads  []int32 // positions of the nodes from which edges lead, in the order of names; see the method nodesWithEdges
	// cached holds, for a value of next, the successors of the nodes with that value, in the order of
	// names.
	cached struct {
		next int32
		list []int32
	}
}

// builder builds graphs that share the memory of the builder.
type builder struct {
	counts []uint32 // indexed by label
	graph  graph
}

// build returns the graph of claims that are sorted by start and end. labels maps the labels of the claims
// to labels of the graph, which must be less than the length of b.counts. The graph is valid until the next
// call. For n claims, the time is proportional to n log n.
func (b *builder) build(list []Claim, labels []uint32) *graph {
	n := len(list)
	g := &b.graph
	*g = graph{names: g.names[:0], next: slices.Grow(g.next[:0], n)[:n], stop: slices.Grow(g.stop[:0], n+1)[:n+1],
		sorted: g.sorted[:0]}
	for i := range list {
		l := labels[list[i].Label]
		g.names = append(g.names, nodeID(l)<<32|nodeID(b.counts[l]))
		b.counts[l]++
	}
	for i := range list {
		b.counts[labels[list[i].Label]] = 0
	}
	g.stop[n] = int32(n)
	for i := n - 1; i >= 0; i-- {
		g.next[i] = int32(firstFrom(list, i+1, list[i].End))
		g.stop[i] = min(g.stop[i+1], g.next[i])
	}
	for i := range list {
		from, to := g.successors(int32(i))
		g.edges += int64(to - from)
	}
	return g
}

// firstFrom returns the index of the first claim from index i on that starts at time t or later. It searches
// the claims near i first.
func firstFrom(list []Claim, i int, t int64) int {
	step := 1
	for i+step <= len(list) && list[i+step-1].Start < t {
		i += step
		step *= 2
	}
	end := min(i+step-1, len(list))
	return i + sort.Search(end-i, func(k int) bool { return list[i+k].Start >= t })
}

// successors returns the positions to which edges from a node lead: from up to, but not including, to.
func (g *graph) successors(i int32) (from, to int32) {
	from = g.next[i]
	return from, g.stop[from]
}

// clone returns a copy that does not use the memory of a builder.
func (g *graph) clone() *graph {
	return &graph{names: slices.Clone(g.names), next: slices.Clone(g.next), stop: slices.Clone(g.stop), edges: g.edges}
}

// order returns the positions of the nodes in the order of names.
func (g *graph) order() []int32 {
	if len(g.sorted) < len(g.names) {
		for i := range g.names {
			g.sorted = append(g.sorted, int32(i))
		}
		g.sort(g.sorted)
	}
	return g.sorted
}

// sort sorts positions by the names of the nodes.
func (g *graph) sort(list []int32) {
	slices.SortFunc(list, func(a, b int32) int { return cmp.Compare(g.names[a], g.names[b]) })
}

// nodesWithEdges returns the positions of the nodes from which edges lead, in the order of names.
func (g *graph) nodesWithEdges() []int32 {
	if g.heads == nil {
		g.heads = []int32{}
		for _, i := range g.order() {
			if int(g.next[i]) < len(g.names) {
				g.heads = append(g.heads, i)
			}
		}
	}
	return g.heads
}

// sortedSuccessors returns the positions to which edges from a node lead, in the order of names.
func (g *graph) sortedSuccessors(i int32) []int32 {
	c := &g.cached
	if from, to := g.successors(i); c.list == nil || c.next != from {
		c.next, c.list = from, c.list[:0]
		for k := from; k < to; k++ {
			c.list = append(c.list, k)
		}
		g.sort(c.list)
	}
	return c.list
}

// hasher computes hashes of graphs from their nodes and edges.
type hasher struct {
	nodes, tails, heads uint64
	sums                []uint64
}

// mix returns a number that depends on all bits of x.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// hash returns the hash of a graph. The hash is the sum of a number for each node and a product for each edge.
// The product has a factor for each end of the edge.
func (h *hasher) hash(g *graph) uint64 {
	h.sums = append(h.sums[:0], 0)
	sum := uint64(0)
	for _, n := range g.names {
		sum += mix(uint64(n) + h.nodes)
		h.sums = append(h.sums, h.sums[len(h.sums)-1]+mix(uint64(n)+h.heads))
	}
	for i, n := range g.names {
		from, to := g.successors(int32(i))
		sum += mix(uint64(n)+h.tails) * (h.sums[to] - h.sums[from])
	}
	return sum
}
