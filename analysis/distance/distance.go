// Package distance compares the order of claims: of whole traces, or of the parts of a trace that belong to
// different objects, so that objects with the same behaviour can be found.
//
// The graph of a list of claims has a node for each claim, and an edge from A to B if A ends before or when B
// starts and no other claim lies between them. Claims that overlap have no order. Of two claims of length 0 at the
// same time the one that is earlier in the list is first. Nodes of two graphs are the same if the claims
// have the same label, and are the same occurrence of it in the order of starts. The distance of two graphs is
// the number of nodes and edges that only one of them has. It can be 0 for traces with different times.
package distance

import (
	"cmp"
	"fmt"
	"slices"
)

// Claim is a claim or call.
type Claim struct {
	Label  uint32 // index into Set.Labels
	Object uint32 // index into Set.Objects
	At     uint32 // the resource of a claim, trace.NoRef if unknown, or the location of a call
	Start  int64  // ticks
	End    int64  // ticks
}

// Set holds the claims of a trace.
type Set struct {
	Labels  []string
	Objects []string // what claims belong to; a single "" if all belong together
	Claims  []Claim  // sorted by start, end and order in the trace
}

// Node is a claim of a trace: the one with number Occurrence, from 0, of those with its label, in
// the order of starts.
type Node struct {
	Label      string `json:"label"`
	Occurrence int    `json:"occurrence"`
}

// Edge joins two claims. From ends before or when To starts, and no other claim lies between them.
type Edge struct {
	From Node `json:"from"`
	To   Node `json:"to"`
}

// Difference has the claims, and the pairs of successive claims, in which two lists of claims differ.
type Difference struct {
	// Distance is the number of nodes and edges that only one list has, the sum of the four numbers.
	Distance int64       `json:"distance"`
	First    Differences `json:"first"`  // what only the first one has
	Second   Differences `json:"second"` // what only the second one has
}

// Differences are the nodes and edges that only one of two lists of claims has.
type Differences struct {
	NodeCount int64  `json:"nodeCount"`
	EdgeCount int64  `json:"edgeCount"`
	Nodes     []Node `json:"nodes"` // the first ones, by label and occurrence
	Edges     []Edge `json:"edges"`
}

// nodeID identifies a node: the label in the upper half, the occurrence in the lower one.
type nodeID uint64

// edgeID identifies an edge.
type edgeID struct{ from, to nodeID }

// graph has the nodes and edges of claims, sorted.
type graph struct {
	nodes []nodeID
	edges []edgeID
}

func compareEdges(a, b edgeID) int {
	return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
}

// builder makes graphs. It has the memory that they share.
type builder struct {
	names  []nodeID
	counts []uint32 // by label
	most   int      // greatest number of edges of a graph
}

// maxEdges is the greatest number of edges of a graph, in 16 bytes each.
const maxEdges = 32 << 20

// ErrTooManyEdges is returned for claims of which so many run side by side, before as many others, that
// their graph is too large.
var ErrTooManyEdges = fmt.Errorf("found more than %d pairs of successive claims, expected fewer; choose a part",
	maxEdges)

// graph returns the graph of claims that are sorted by start and end. labels maps their labels to those of the
// graph, which are less than the length of b.counts. The time is proportional to n log n plus the number of
// edges. An error is ErrTooManyEdges.
func (b *builder) graph(list []Claim, labels []uint32) (graph, error) {
	b.names = b.names[:0]
	for i := range list {
		l := labels[list[i].Label]
		b.names = append(b.names, nodeID(l)<<32|nodeID(b.counts[l]))
		b.counts[l]++
	}
	for i := range list {
		b.counts[labels[list[i].Label]] = 0
	}
	g := graph{nodes: slices.Clone(b.names)}
	for i := range list {
		end := list[i].End
		n, _ := slices.BinarySearchFunc(list[i+1:], end, func(c Claim, t int64) int {
			if c.Start < t {
				return -1
			}
			return 1
		})
		// All claims that start after the end of a successor have it between them and this claim.
		least, any := int64(0), false
		for j := i + 1 + n; j < len(list); j++ {
			c := &list[j]
			if any && c.Start >= least {
				break
			}
			if len(g.edges) == b.most {
				return g, ErrTooManyEdges
			}
			g.edges = append(g.edges, edgeID{b.names[i], b.names[j]})
			if !any || c.End < least {
				least, any = c.End, true
			}
		}
	}
	slices.Sort(g.nodes)
	slices.SortFunc(g.edges, compareEdges)
	return g, nil
}

// Compare compares the claims of two traces. Each list of differences has at most most elements; 0 means all. An
// error is ErrTooManyEdges.
func Compare(first, second *Set, most int) (*Difference, error) {
	labels := slices.Clone(first.Labels)
	index := make(map[string]uint32, len(labels))
	same := make([]uint32, len(labels))
	for i, l := range labels {
		index[l], same[i] = uint32(i), uint32(i)
	}
	theirs := make([]uint32, len(second.Labels))
	for i, l := range second.Labels {
		n, ok := index[l]
		if !ok {
			n = uint32(len(labels))
			labels = append(labels, l)
		}
		theirs[i] = n
	}
	b := &builder{counts: make([]uint32, len(labels)), most: maxEdges}
	x, err := b.graph(first.Claims, same)
	if err != nil {
		return nil, err
	}
	y, err := b.graph(second.Claims, theirs)
	if err != nil {
		return nil, err
	}
	return difference(x, y, labels, most), nil
}

// difference compares two graphs with the same labels.
func difference(a, b graph, labels []string, most int) *Difference {
	node := func(n nodeID) Node { return Node{labels[n>>32], int(uint32(n))} }
	d := &Difference{First: Differences{Nodes: []Node{}, Edges: []Edge{}},
		Second: Differences{Nodes: []Node{}, Edges: []Edge{}}}
	sides := [2]*Differences{&d.First, &d.Second}
	merge(a.nodes, b.nodes, cmp.Compare[nodeID], func(side int, n nodeID) {
		s := sides[side]
		if s.NodeCount++; most == 0 || len(s.Nodes) < most {
			s.Nodes = append(s.Nodes, node(n))
		}
	})
	merge(a.edges, b.edges, compareEdges, func(side int, e edgeID) {
		s := sides[side]
		if s.EdgeCount++; most == 0 || len(s.Edges) < most {
			s.Edges = append(s.Edges, Edge{node(e.from), node(e.to)})
		}
	})
	d.Distance = d.First.NodeCount + d.First.EdgeCount + d.Second.NodeCount + d.Second.EdgeCount
	return d
}

// merge calls f with each element that only one of two sorted lists has, and the number of that list: 0 or 1.
func merge[T any](a, b []T, compare func(x, y T) int, f func(side int, x T)) {
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		c := 0
		switch {
		case i == len(a):
			c = 1
		case j == len(b):
			c = -1
		default:
			c = compare(a[i], b[j])
		}
		switch {
		case c < 0:
			f(0, a[i])
			i++
		case c > 0:
			f(1, b[j])
			j++
		default:
			i, j = i+1, j+1
		}
	}
}

// String returns the label of a node, with its number if it is not the first one.
func (n Node) String() string {
	if n.Occurrence == 0 {
		return n.Label
	}
	return fmt.Sprintf("%s #%d", n.Label, n.Occurrence+1)
}
