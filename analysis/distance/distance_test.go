package distance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/digits"
	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
)

// compare compares two sets.
func compare(t *testing.T, a, b *Set, most int) *Difference {
	t.Helper()
	d, err := Compare(a, b, most)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// classify finds the classes of a set.
func classify(t *testing.T, s *Set) *Behaviours {
	t.Helper()
	b, err := Classify(s, 0)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// span is a claim of a test: its activity, and its times.
type span struct {
	name       string
	start, end int64
}

// recorded returns a trace of the given claims. If there are ids, claim i has the attribute id with the
// value ids[i].
func recorded(list []span, ids ...string) format.Events {
	rec := trace.NewRecorder(trace.TicksPerSecond(1))
	cpu := rec.Resource("CPU", 100, "")
	for i, x := range list {
		attrs := []trace.Attr{{Key: "name", Value: trace.StringValue(x.name)}}
		if i < len(ids) {
			attrs = append(attrs, trace.Attr{Key: "id", Value: trace.StringValue(ids[i])})
		}
		rec.Release(rec.Claim(cpu, x.start, rec.Region(x.name), 1, attrs...), x.end)
	}
	return format.Recorded(rec)
}

// set returns the claims of a trace.
func set(t *testing.T, e format.Events, opt Options) *Set {
	t.Helper()
	p, err := analysis.Run(context.Background(), e, trace.Events(), func() *Part { return New(e.Defs(), opt) })
	if err != nil {
		t.Fatal(err)
	}
	return p.Result()
}

// TestDistance checks distances that were counted by hand.
func TestDistance(t *testing.T) {
	first := []span{{"A", 0, 2}, {"B", 2, 4}, {"C", 4, 6}}
	for _, x := range []struct {
		name         string
		second       []span
		nodes, edges int64
	}{
		{"same", []span{{"A", 0, 10}, {"B", 15, 20}, {"C", 20, 30}}, 0, 0},
		{"other order", []span{{"A", 0, 1}, {"C", 1, 2}, {"B", 2, 3}}, 0, 4},
		{"one missing", []span{{"A", 0, 1}, {"C", 2, 3}}, 1, 3},
		{"overlap", []span{{"A", 0, 2}, {"B", 2, 4}, {"C", 3, 6}}, 0, 2},
		{"empty", nil, 3, 2},
	} {
		a, b := set(t, recorded(first), Options{}), set(t, recorded(x.second), Options{})
		for range 2 {
			d := compare(t, a, b, 0)
			nodes, edges := d.First.NodeCount+d.Second.NodeCount, d.First.EdgeCount+d.Second.EdgeCount
			if d.Distance != x.nodes+x.edges || nodes != x.nodes || edges != x.edges {
				t.Errorf("%s: found %d nodes and %d edges, expected %d and %d", x.name, nodes, edges, x.nodes, x.edges)
			}
			a, b = b, a // the distance is symmetric
		}
	}
	d := compare(t, set(t, recorded(first), Options{}), set(t, recorded(first[1:]), Options{}), 1)
	want := []Edge{{Node{"A", 0}, Node{"B", 0}}}
	if !reflect.DeepEqual(d.First.Edges, want) || d.First.Nodes[0].Label != "A" {
		t.Errorf("found %+v", d)
	}
}

// plainGraph holds the sorted nodes and edges of a graph, which plain computes directly from the
// definition.
type plainGraph struct {
	nodes []Node
	edges []Edge
}

func compareNodes(a, b Node) int {
	return cmp.Or(digits.CompareNatural(a.Label, b.Label), cmp.Compare(a.Occurrence, b.Occurrence))
}

func compareEdges(a, b Edge) int {
	return cmp.Or(compareNodes(a.From, b.From), compareNodes(a.To, b.To))
}

// plain returns the graph of claims, computed directly from the definition: an edge leads from A to B
// if A is before B and no other claim is between them.
func plain(list []Claim, labels []string) (g plainGraph) {
	before := func(i, j int) bool {
		a, b := list[i], list[j]
		if a.Start == a.End && b.Start == b.End && a.Start == b.Start {
			return i < j
		}
		return i != j && a.End <= b.Start
	}
	names := make([]Node, len(list))
	counts := map[string]int{}
	for i, x := range list {
		l := labels[x.Label]
		names[i] = Node{l, counts[l]}
		counts[l]++
	}
	g.nodes = slices.Clone(names)
	for i := range list {
		for j := range list {
			between := false
			for k := range list {
				between = between || before(i, k) && before(k, j)
			}
			if before(i, j) && !between {
				g.edges = append(g.edges, Edge{names[i], names[j]})
			}
		}
	}
	slices.SortFunc(g.nodes, compareNodes)
	slices.SortFunc(g.edges, compareEdges)
	return g
}

// without returns the number of elements of list that other lacks, and the first of these elements, at
// most most.
func without[T comparable](list, other []T, most int) (n int64, first []T) {
	first = []T{}
	for _, x := range list {
		if !slices.Contains(other, x) {
			if n++; most == 0 || len(first) < most {
				first = append(first, x)
			}
		}
	}
	return n, first
}

// plainDifference returns the difference of two graphs, computed directly from the definition.
func plainDifference(a, b plainGraph, most int) *Difference {
	d := &Difference{}
	d.First.NodeCount, d.First.Nodes = without(a.nodes, b.nodes, most)
	d.First.EdgeCount, d.First.Edges = without(a.edges, b.edges, most)
	d.Second.NodeCount, d.Second.Nodes = without(b.nodes, a.nodes, most)
	d.Second.EdgeCount, d.Second.Edges = without(b.edges, a.edges, most)
	d.Distance = d.First.NodeCount + d.First.EdgeCount + d.Second.NodeCount + d.Second.EdgeCount
	return d
}

// randomSet returns up to n claims with random labels and objects. Few different times occur, and some
// claims have length 0.
func randomSet(rnd *rand.Rand, n, labels, objects int) *Set {
	s := &Set{}
	first := rnd.IntN(3) // not all sets have the same labels
	for i := range labels {
		s.Labels = append(s.Labels, fmt.Sprint(first+i))
	}
	for i := range objects {
		s.Objects = append(s.Objects, fmt.Sprint(i))
	}
	span, length := 1+rnd.Int64N(20), 1+rnd.Int64N(6)
	for range rnd.IntN(n) {
		x := Claim{Label: uint32(rnd.IntN(labels)), Object: uint32(rnd.IntN(objects)), Start: rnd.Int64N(span)}
		x.End = x.Start + rnd.Int64N(length)
		s.Claims = append(s.Claims, x)
	}
	slices.SortStableFunc(s.Claims, func(a, b Claim) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
	})
	return s
}

// TestPlainDifference compares the differences of random sets with those that plainDifference computes.
func TestPlainDifference(t *testing.T) {
	rnd := rand.New(rand.NewPCG(13, 14))
	for range effort.Rounds(5000) {
		n := []int{3, 12, 25}[rnd.IntN(3)]
		labels := 1 + rnd.IntN(n)
		a, b := randomSet(rnd, n, labels, 1), randomSet(rnd, n, labels, 1)
		if rnd.IntN(2) == 0 { // the same claims at nearly the same times
			b.Labels, b.Claims = a.Labels, slices.Clone(a.Claims)
			for range rnd.IntN(3) {
				if len(b.Claims) > 0 {
					x := &b.Claims[rnd.IntN(len(b.Claims))]
					x.Start += rnd.Int64N(3)
					x.End = max(x.End, x.Start)
				}
			}
			slices.SortStableFunc(b.Claims, func(a, b Claim) int {
				return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
			})
		}
		// Nodes are listed by label: those of the first set, then the others of the second one.
		all := slices.Concat(a.Labels, b.Labels)
		slices.SortFunc(all, digits.CompareNatural)
		if all = slices.Compact(all); !slices.Equal(all[:len(a.Labels)], a.Labels) {
			a, b = b, a
		}
		for _, most := range []int{0, 1, 3} {
			want := plainDifference(plain(a.Claims, a.Labels), plain(b.Claims, b.Labels), most)
			if found := compare(t, a, b, most); !reflect.DeepEqual(found, want) {
				t.Fatalf("most %d: %v and %v:\nfound    %+v\nexpected %+v", most, a, b, found, want)
			}
		}
	}
}

// TestPlainBehaviour compares the classes of random sets with classes that the test computes directly
// from the definition.
func TestPlainBehaviour(t *testing.T) {
	rnd := rand.New(rand.NewPCG(15, 16))
	for range effort.Rounds(2000) {
		s := randomSet(rnd, 30, 1+rnd.IntN(3), 1+rnd.IntN(12))
		graphs := map[uint32]plainGraph{}
		var objects []uint32
		for o := range uint32(len(s.Objects)) {
			var list []Claim
			for _, x := range s.Claims {
				if x.Object == o {
					list = append(list, x)
				}
			}
			graphs[o] = plain(list, s.Labels)
			objects = append(objects, o)
		}
		var classes [][]uint32
		for _, o := range objects {
			i := slices.IndexFunc(classes, func(c []uint32) bool { return reflect.DeepEqual(graphs[c[0]], graphs[o]) })
			if i < 0 {
				i = len(classes)
				classes = append(classes, nil)
			}
			classes[i] = append(classes[i], o)
		}
		slices.SortStableFunc(classes, func(a, b []uint32) int { return cmp.Compare(len(a), len(b)) })
		usual := slices.IndexFunc(classes, func(c []uint32) bool { return len(c) == len(classes[len(classes)-1]) })
		found := classify(t, s)
		if found.Objects != int64(len(objects)) || len(found.Classes) != len(classes) {
			t.Fatalf("%v: found %+v, expected %v", s, found, classes)
		}
		for i, c := range classes {
			f := found.Classes[i]
			of := func(k int) plainGraph { return graphs[classes[k][0]] }
			want := Class{Objects: int64(len(c)), Representative: s.Objects[c[0]], Claims: int64(len(of(i).nodes)),
				Difference: plainDifference(of(usual), of(i), 0)}
			want.Usual = want.Difference.Distance
			for _, o := range c {
				want.Names = append(want.Names, s.Objects[o])
			}
			for k := range classes {
				d := plainDifference(of(k), of(i), 0).Distance
				if k != i && (want.Nearest == nil || d < want.Distance) {
					want.Nearest, want.Distance = &k, d
				}
			}
			if !reflect.DeepEqual(f, want) {
				t.Fatalf("%v:\nclass %d is %+v, expected %+v", s, i, f, want)
			}
		}
	}
}

// TestFarSuccessors compares the listed differences of nodes with many successors with those that
// plainDifference computes. The claims overlap, and the second set lacks some of them.
func TestFarSuccessors(t *testing.T) {
	sideBySide := func(skip func(i int) bool) *Set {
		s := &Set{Objects: []string{""}}
		for i := range 200 {
			s.Labels = append(s.Labels, fmt.Sprint(i))
			x := Claim{Label: uint32(i), Start: int64(i) / 2}
			if x.End = int64(100 + i%2*150); i >= 10 {
				x.Start, x.End = 200+int64(i*37%200), 1000
			}
			if !skip(i) {
				s.Claims = append(s.Claims, x)
			}
		}
		slices.SortFunc(s.Claims, func(a, b Claim) int { return cmp.Compare(a.Start, b.Start) })
		return s
	}
	all := sideBySide(func(int) bool { return false })
	for name, skip := range map[string]func(i int) bool{
		"few": func(i int) bool { return i == 150 || i == 3 }, "most": func(i int) bool { return i != 5 && i != 33 },
		"half": func(i int) bool { return i%2 == 0 }, "all": func(int) bool { return true },
	} {
		other := sideBySide(skip)
		for _, most := range []int{0, 1, 2, 7, 1000} {
			want := plainDifference(plain(all.Claims, all.Labels), plain(other.Claims, other.Labels), most)
			if found := compare(t, all, other, most); !reflect.DeepEqual(found, want) {
				t.Errorf("%s, most %d:\nfound    %+v\nexpected %+v", name, most, found, want)
			}
		}
	}
}

// TestBehaviour checks the classes of three objects. Two of them execute A, B and C one after another;
// the third executes B at the same time as A.
func TestBehaviour(t *testing.T) {
	e := recorded([]span{{"A", 0, 2}, {"A", 1, 4}, {"B", 2, 4}, {"A", 4, 7}, {"C", 4, 6}, {"B", 5, 8}, {"B", 6, 7},
		{"C", 8, 9}, {"C", 9, 10}}, "0", "1", "0", "2", "0", "1", "2", "1", "2")
	b := classify(t, set(t, e, Options{By: "id"}))
	if b.Objects != 3 || b.Claims != 9 || len(b.Classes) != 2 {
		t.Fatalf("found %+v", b)
	}
	odd, usual := &b.Classes[0], &b.Classes[1]
	if odd.Representative != "2" || odd.Objects != 1 || !slices.Equal(usual.Names, []string{"0", "1"}) {
		t.Errorf("found %+v", b)
	}
	// The edges of the usual class are A-B and B-C. Those of the other class are A-C and B-C.
	if odd.Usual != 2 || odd.Distance != 2 || *odd.Nearest != 1 || usual.Usual != 0 ||
		!reflect.DeepEqual(odd.Difference.Second.Edges, []Edge{{Node{"A", 0}, Node{"C", 0}}}) {
		t.Errorf("found %+v", odd)
	}
}

// TestCalls checks the classes of calls: of ranks that behave in two ways, and of iterations of which
// one has an extra call.
func TestCalls(t *testing.T) {
	rec := trace.NewRecorder(trace.TicksPerSecond(1))
	step, solve, send := rec.Region("step"), rec.Region("solve"), rec.Region("send")
	for l := range 3 {
		loc := rec.Location(fmt.Sprintf("rank %d", l))
		t := int64(0)
		call := func(r uint32) {
			rec.Enter(loc, t, r)
			rec.Leave(loc, t+1, r)
			t += 2
		}
		for i := range 2 {
			rec.Enter(loc, t, step)
			call(solve)
			if call(send); l == 1 && i == 1 {
				call(send)
			}
			rec.Leave(loc, t, step)
		}
	}
	e := format.Recorded(rec)
	b := classify(t, set(t, e, Options{Calls: true, Locations: true}))
	if len(b.Classes) != 2 || b.Classes[0].Representative != "rank 1" || b.Classes[1].Objects != 2 {
		t.Errorf("ranks: found %+v", b)
	}
	if odd := b.Classes[0]; odd.Usual != 2 || odd.Difference.Second.Nodes[0] != (Node{"send", 2}) {
		t.Errorf("ranks: found %+v", odd)
	}
	b = classify(t, set(t, e, Options{Calls: true, Iterations: func(r uint32) bool { return r == step }}))
	if b.Objects != 6 || len(b.Classes) != 2 || b.Classes[0].Representative != "rank 1, visit 2" ||
		b.Classes[0].Claims != 3 || b.Classes[1].Claims != 2 {
		t.Errorf("iterations: found %+v", b)
	}
}

// TestIterationsWithoutCalls checks that visits without calls are objects, too: the first and the last of four visits.
func TestIterationsWithoutCalls(t *testing.T) {
	rec := trace.NewRecorder(trace.TicksPerSecond(1))
	step, solve, loc := rec.Region("step"), rec.Region("solve"), rec.Location("rank")
	for i := range int64(4) {
		rec.Enter(loc, 10*i, step)
		if i == 1 || i == 2 {
			rec.Enter(loc, 10*i+1, solve)
			rec.Leave(loc, 10*i+2, solve)
		}
		rec.Leave(loc, 10*i+3, step)
	}
	opt := Options{Calls: true, Iterations: func(r uint32) bool { return r == step }}
	s := set(t, format.Recorded(rec), opt)
	slices.SortFunc(s.Empty, func(a, b Claim) int { return cmp.Compare(a.Start, b.Start) })
	if want := []Claim{{Object: 0, At: loc, Start: 0, End: 3}, {Object: 3, At: loc, Start: 30, End: 33}}; !slices.Equal(
		s.Empty, want) {
		t.Errorf("found the visits %v without calls, expected %v", s.Empty, want)
	}
	b := classify(t, s)
	if b.Objects != 4 || b.Claims != 2 || len(b.Classes) != 2 {
		t.Fatalf("found %+v, expected 4 visits of 2 classes", b)
	}
	// the classes have equally many objects, so that the usual one is that of the first object
	empty, other := b.Classes[0], b.Classes[1]
	if !slices.Equal(empty.Names, []string{"rank, visit 1", "rank, visit 4"}) || empty.Claims != 0 || empty.Usual != 0 ||
		other.Claims != 1 || other.Usual != 1 || other.Distance != 1 {
		t.Errorf("found %+v and %+v", empty, other)
	}
}

// TestCallsWithoutEnd checks that calls count that end with a call around them, as EZTrace records its last one, or
// with the last event of their location, as in a trace that has been cut.
func TestCallsWithoutEnd(t *testing.T) {
	rec := trace.NewRecorder(trace.TicksPerSecond(1))
	work, final := rec.Region("work"), rec.Region("final")
	for i, name := range []string{"whole", "crossed", "cut", "twice"} {
		loc := rec.Location(name)
		rec.Enter(loc, 0, work)
		rec.Enter(loc, 1, final)
		switch i {
		case 0:
			rec.Leave(loc, 2, final)
			rec.Leave(loc, 3, work)
		case 1:
			rec.Leave(loc, 2, work)
			rec.Leave(loc, 3, final)
		case 3:
			rec.Leave(loc, 2, final)
			rec.Enter(loc, 3, final)
		}
	}
	e := format.Recorded(rec)
	for name, opt := range map[string]Options{
		"ranks":      {Calls: true, Locations: true},
		"iterations": {Calls: true, Iterations: func(r uint32) bool { return r == work }},
	} {
		b := classify(t, set(t, e, opt))
		if b.Objects != 4 || len(b.Classes) != 2 || b.Classes[0].Claims != 2 || b.Classes[1].Objects != 3 ||
			b.Classes[1].Claims != 1 {
			t.Errorf("%s: found %+v", name, b)
		}
	}
	none := set(t, e, Options{Calls: true, Iterations: func(r uint32) bool { return r == final }})
	if len(none.Claims) != 0 {
		t.Errorf("found the calls %+v in a region without calls", none.Claims)
	}
}

// TestKindsOfRanks checks 10 000 locations of 10 kinds. Locations of kind k > 0 call f1 once more in
// their iteration k.
func TestKindsOfRanks(t *testing.T) {
	rec := trace.NewRecorder(trace.TicksPerSecond(1))
	step, f0, f1 := rec.Region("step"), rec.Region("f0"), rec.Region("f1")
	for l := range 10_000 {
		loc, at := rec.Location(fmt.Sprintf("rank %d", l)), int64(0)
		for i := range 10 {
			rec.Enter(loc, at, step)
			calls := []uint32{f0, f1}
			if kind := l % 10; kind > 0 && i == kind {
				calls = append(calls, f1)
			}
			for _, f := range calls {
				rec.Enter(loc, at, f)
				rec.Leave(loc, at+1, f)
				at += 1 + int64(l%3) // the classes do not depend on times
			}
			rec.Leave(loc, at, step)
		}
	}
	e := format.Recorded(rec)
	b := classify(t, set(t, e, Options{Calls: true, Locations: true}))
	if len(b.Classes) != 10 || b.Objects != 10_000 {
		t.Fatalf("found %d classes of %d locations, expected 10", len(b.Classes), b.Objects)
	}
	for i, c := range b.Classes { // equally rare: in the order of their first ranks
		if c.Objects != 1000 || c.Representative != fmt.Sprintf("rank %d", i) {
			t.Errorf("class %d: found %d locations like %s", i, c.Objects, c.Representative)
		}
	}
	b = classify(t, set(t, e, Options{Calls: true, Iterations: func(r uint32) bool { return r == step }}))
	if len(b.Classes) != 2 || b.Classes[0].Objects != 9000 || b.Classes[1].Objects != 91_000 {
		t.Errorf("iterations: found %+v", b)
	}
}

// TestSideBySide checks the distance of two sets. The first one has half a million overlapping claims,
// followed by half a million others. The second one lacks the last of these claims, and so a node and
// the edges to it.
func TestSideBySide(t *testing.T) {
	const half = 500_000
	s := &Set{Labels: []string{"A"}, Objects: []string{""}}
	for i := range 2 * half {
		s.Claims = append(s.Claims, Claim{Start: int64(i / half * 2), End: int64(i/half*2 + 1)})
	}
	last := Node{"A", 2*half - 1}
	less := &Set{Labels: s.Labels, Objects: s.Objects, Claims: s.Claims[:2*half-1]}
	d := compare(t, s, less, 2)
	if d.First.NodeCount != 1 || d.First.EdgeCount != half || d.Distance != half+1 ||
		!reflect.DeepEqual(d.First.Edges, []Edge{{Node{"A", 0}, last}, {Node{"A", 1}, last}}) {
		t.Errorf("found %+v", d)
	}
	// If only the first half is left, there are no edges.
	if d := compare(t, s, &Set{Labels: s.Labels, Claims: s.Claims[:half]}, 2); d.Distance != half+half*half {
		t.Errorf("found a distance of %d", d.Distance)
	}
}

// TestTooManyDifferences checks that lists of differences that are too long are an error.
func TestTooManyDifferences(t *testing.T) {
	labels := []string{"A"}
	b := &builder{counts: make([]uint32, 1)}
	c := newComparer(labels, 0)
	c.setReference(b.build([]Claim{{Start: 0, End: 1}, {Start: 1, End: 2}, {Start: 2, End: 3}}, []uint32{0}).clone())
	for limit, want := range map[int]error{4: ErrTooManyDifferences, 5: nil} { // three nodes and two edges
		c.limit, c.listed = limit, 0
		if _, err := c.difference(&graph{stop: []int32{0}}); !errors.Is(err, want) {
			t.Errorf("at most %d: found %v, expected %v", limit, err, want)
		}
	}
}

// TestNaturalCompare checks the order of names.
func TestNaturalCompare(t *testing.T) {
	list := []string{"b", "10", "9", "rank 10", "a", "rank 9", "010", ""}
	slices.SortFunc(list, digits.CompareNatural)
	if want := []string{"", "9", "010", "10", "a", "b", "rank 9", "rank 10"}; !slices.Equal(list, want) {
		t.Errorf("found %q, expected %q", list, want)
	}
}
