// Package distance compares the order of claims. It compares whole traces, or the parts of a trace that belong
// to different objects. In this way, it finds objects with the same behaviour.
//
// The graph of a list of claims has a node for each claim. It has an edge from A to B if A ends before or when
// B starts, and no other claim lies between them. Overlapping claims have no order. Two claims of length 0 at
// the same time keep their order in the list. Two nodes of different graphs are the same if their claims have
// the same label and the same occurrence number. Occurrences of a label are numbered in the order of their
// starts. The distance of two graphs is the number of nodes and edges that only one of the graphs has. It can
// be 0 for traces with different times.
package distance

import (
	"fmt"
	"slices"
)

// Claim is a claim or call.
type Claim struct {
	Label  uint32 // index into Set.Labels
	Object uint32 // index into Set.Objects
	At     uint32 // resource of a claim, trace.NoRef if unknown; or location of a call
	Start  int64  // ticks
	End    int64  // ticks
}

// Set holds the claims of a trace.
type Set struct {
	Labels  []string
	Objects []string // names of the objects to which claims belong; a single "" if all claims belong together
	Claims  []Claim  // sorted by start, end, object and label
	Empty   []Claim  // the visits of Iterations in which no call counts, in any order; their Label has no meaning
}

// Node is a claim of a trace. Occurrence numbers the claims with the same label from 0, in the order of
// their starts.
type Node struct {
	Label      string `json:"label"`
	Occurrence int    `json:"occurrence"`
}

// Edge joins two claims. From ends before or when To starts, and no other claim lies between them.
type Edge struct {
	From Node `json:"from"`
	To   Node `json:"to"`
}

// Difference holds the claims, and the pairs of successive claims, in which two lists of claims differ.
type Difference struct {
	// Distance is the number of nodes and edges that only one of the lists has: the sum of the four counts in
	// First and Second.
	Distance int64       `json:"distance"`
	First    Differences `json:"first"`  // nodes and edges that only the first list has
	Second   Differences `json:"second"` // nodes and edges that only the second list has
}

// Differences are the nodes and edges that only one of two lists of claims has.
type Differences struct {
	NodeCount int64  `json:"nodeCount"`
	EdgeCount int64  `json:"edgeCount"`
	Nodes     []Node `json:"nodes"` // the first nodes, ordered by label and occurrence
	Edges     []Edge `json:"edges"`
}

// Compare compares the claims of two traces. Each list of differences in the result has at most most
// elements; 0 means no limit. For n claims, the time is proportional to n log n plus the number of
// differences in the result. The error is [ErrTooManyDifferences].
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
	b := &builder{counts: make([]uint32, len(labels))}
	c := newComparer(labels, most)
	c.setReference(b.build(first.Claims, same).clone())
	return c.difference(b.build(second.Claims, theirs))
}

// String returns the label of a node. It adds the number of the occurrence, except for the first occurrence.
func (n Node) String() string {
	if n.Occurrence == 0 {
		return n.Label
	}
	return fmt.Sprintf("%s #%d", n.Label, n.Occurrence+1)
}
