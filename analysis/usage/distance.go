package usage

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weft-trace/weft/analysis/internal/claims"
	"github.com/weft-trace/weft/trace"
)

// Claim is a claim for [Distance].
type Claim struct {
	Label string `json:"label"` // claims of two traces correspond if their labels are equal
	Start int64  `json:"start"` // ticks
	End   int64  `json:"end"`   // ticks
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

// Difference has the claims and the pairs of successive claims in which two traces differ.
type Difference struct {
	// Distance is the number of nodes and edges that only one trace has.
	Distance int `json:"distance"`
	// The nodes and edges that only the first or only the second trace has, sorted by label, then
	// by occurrence.
	FirstNodes  []Node `json:"firstNodes"`
	FirstEdges  []Edge `json:"firstEdges"`
	SecondNodes []Node `json:"secondNodes"`
	SecondEdges []Edge `json:"secondEdges"`
}

// Distance compares the order of the claims of two traces. The graph of a trace has its claims as
// nodes, and an edge from A to B if A ends before or when B starts and no other claim lies between
// them. Claims that overlap have no order. Of two claims of length 0 at the same time the one that
// is earlier in the list is first. The distance is the number of nodes and edges that only one of
// the graphs has. It can be 0 for traces with different times.
//
// Distance takes time proportional to n log n plus the number of edges, which can be n².
func Distance(first, second []Claim) *Difference {
	n1, e1 := graph(first)
	n2, e2 := graph(second)
	d := &Difference{FirstNodes: sortedDifference(n1, n2, compareNodes),
		FirstEdges:  sortedDifference(e1, e2, compareEdges),
		SecondNodes: sortedDifference(n2, n1, compareNodes), SecondEdges: sortedDifference(e2, e1, compareEdges)}
	d.Distance = len(d.FirstNodes) + len(d.FirstEdges) + len(d.SecondNodes) + len(d.SecondEdges)
	return d
}

func compareNodes(a, b Node) int {
	return cmp.Or(cmp.Compare(a.Label, b.Label), cmp.Compare(a.Occurrence, b.Occurrence))
}

func compareEdges(a, b Edge) int {
	return cmp.Or(compareNodes(a.From, b.From), compareNodes(a.To, b.To))
}

// sortedDifference returns the sorted elements of a that are not in b.
func sortedDifference[T comparable](a, b map[T]bool, compare func(x, y T) int) []T {
	out := []T{}
	for x := range a {
		if !b[x] {
			out = append(out, x)
		}
	}
	slices.SortFunc(out, compare)
	return out
}

// graph returns the nodes and edges of a trace's claims; see [Distance].
func graph(list []Claim) (nodes map[Node]bool, edges map[Edge]bool) {
	// Sort the claims so that each follows its predecessors.
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a,
		b Claim) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
	})
	nodes, edges = map[Node]bool{}, map[Edge]bool{}
	names := make([]Node, len(list))
	count := map[string]int{}
	for i, c := range list {
		names[i] = Node{c.Label, count[c.Label]}
		count[c.Label]++
		nodes[names[i]] = true
	}
	for i, a := range list {
		from, _ := slices.BinarySearchFunc(list, a.End, func(c Claim, t int64) int {
			if c.Start < t {
				return -1
			}
			return 1
		})
		// All claims that start after the end of a successor have it between them and this claim.
		least, any := int64(0), false
		for j := max(from, i+1); j < len(list); j++ {
			b := list[j]
			if any && b.Start >= least {
				break
			}
			edges[Edge{names[i], names[j]}] = true
			if !any || b.End < least {
				least, any = b.End, true
			}
		}
	}
	return nodes, edges
}

// Claims collects the claims of a trace for [Distance]. It keeps all of them in memory.
type Claims struct {
	defs  *trace.Definitions
	attrs []string
	// open has the claims without an end so far, and done the others.
	open map[claims.Key]collectedClaim
	done []collectedClaim
	// last has the time of the last event of each location, in ticks.
	last map[uint32]int64
}

// collectedClaim is a claim with its key, by which Result sorts.
type collectedClaim struct {
	Claim
	key claims.Key
}

// NewClaims returns an empty part for a trace. The label of a claim consists of the values of the
// given attributes, or is the name of its activity if no attributes are given.
func NewClaims(d *trace.Definitions, attributes ...string) *Claims {
	return &Claims{defs: d, attrs: attributes, open: map[claims.Key]collectedClaim{}, last: map[uint32]int64{}}
}

// Batch processes events of one location, or a mixed batch.
func (p *Claims) Batch(b *trace.Batch) error {
	c := b.Cursor() // outside of the loop, which would copy it each time
	for c.Next() {
		p.last[c.Location()] = c.Time()
		k := claims.Key{ID: int64(c.Op(0)), Location: c.Location()}
		switch c.Kind() {
		case trace.ClaimBegin:
			p.end(k, c.Time())
			p.open[k] = collectedClaim{Claim{Label: p.label(&c), Start: c.Time()}, k}
		case trace.ClaimEnd:
			p.end(k, c.Time())
		}
	}
	return nil
}

// end ends the claim with key k, if it is open.
func (p *Claims) end(k claims.Key, t int64) {
	if x, ok := p.open[k]; ok {
		delete(p.open, k)
		x.End = t
		p.done = append(p.done, x)
	}
}

// label returns the label of the claim at the cursor.
func (p *Claims) label(c *trace.Cursor) string {
	if len(p.attrs) == 0 {
		if r := c.Ref(); p.defs.Regions.Has(r) {
			return p.defs.Regions.At(r).Name
		}
		return ""
	}
	keys, values := c.Attrs()
	var text []string
	for _, want := range p.attrs {
		for i, k := range keys {
			if p.defs.Attributes.At(k).Name == want {
				text = append(text, want+"="+values[i].String())
			}
		}
	}
	return strings.Join(text, ",")
}

// Links ignores links.
func (p *Claims) Links([]trace.Link) error { return nil }

// Merge adds another part of the same trace. Both must have the same attributes and have processed
// different locations. The other part must not be used afterwards.
func (p *Claims) Merge(o *Claims) error {
	if p.defs != o.defs || !slices.Equal(p.attrs, o.attrs) {
		return fmt.Errorf("usage: found parts of different traces or attributes")
	}
	maps.Copy(p.open, o.open)
	maps.Copy(p.last, o.last)
	p.done = append(p.done, o.done...)
	return nil
}

// Result returns the claims so far, sorted by start, end, location and id. Claims without an end
// are closed at the last event of their location. The part can process further events.
func (p *Claims) Result() []Claim {
	all := slices.Clone(p.done)
	for k, x := range p.open {
		x.End = p.last[k.Location]
		all = append(all, x)
	}
	slices.SortFunc(all, func(a, b collectedClaim) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End), cmp.Compare(a.key.Location, b.key.Location),
			cmp.Compare(a.key.ID, b.key.ID))
	})
	out := make([]Claim, len(all))
	for i, x := range all {
		out[i] = x.Claim
	}
	return out
}
