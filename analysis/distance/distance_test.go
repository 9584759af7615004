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

// recorded returns a trace with the claims, whose attribute id is that of their position in ids, if there are any.
func recorded(list []span, ids ...string) format.Events {
	rec := trace.NewRecorder(trace.Seconds(1))
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

// TestDistance checks distances that were counted by hand (trace4cps.md has the first four).
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

// TestReduction compares the edges of the graph with their definition, also for claims of length 0.
func TestReduction(t *testing.T) {
	rnd := rand.New(rand.NewPCG(13, 14))
	for range 500 {
		var list []Claim
		labels := make([]uint32, 12)
		for i := range 1 + rnd.IntN(12) {
			labels[i] = uint32(i)
			s := rnd.Int64N(10)
			list = append(list, Claim{Label: uint32(i), Start: s, End: s + rnd.Int64N(4)})
		}
		slices.SortStableFunc(list, func(a, b Claim) int {
			return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
		})
		before := func(i, j int) bool {
			a, b := list[i], list[j]
			if a.Start == a.End && b.Start == b.End && a.Start == b.Start {
				return i < j
			}
			return i != j && a.End <= b.Start
		}
		want := []edgeID{}
		for i := range list {
			for j := range list {
				between := false
				for k := range list {
					between = between || before(i, k) && before(k, j)
				}
				if before(i, j) && !between {
					want = append(want, edgeID{nodeID(list[i].Label) << 32, nodeID(list[j].Label) << 32})
				}
			}
		}
		slices.SortFunc(want, compareEdges)
		b := &builder{counts: make([]uint32, 12), most: maxEdges}
		if g, err := b.graph(list, labels); err != nil || !slices.Equal(g.edges, want) {
			t.Fatalf("%v:\nfound    %v\nexpected %v", list, g.edges, want)
		}
	}
}

// TestBehaviour checks classes of objects: two of three do A, B, C one after the other, one does B beside A.
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
	// Usual: A-B, B-C. Odd: A-C, B-C.
	if odd.Usual != 2 || odd.Distance != 2 || *odd.Nearest != 1 || usual.Usual != 0 ||
		!reflect.DeepEqual(odd.Difference.Second.Edges, []Edge{{Node{"A", 0}, Node{"C", 0}}}) {
		t.Errorf("found %+v", odd)
	}
}

// TestCalls checks calls: ranks of two kinds, and iterations of which one has an extra call.
func TestCalls(t *testing.T) {
	rec := trace.NewRecorder(trace.Seconds(1))
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

// TestSideBySide checks that claims with too many successions are refused.
func TestSideBySide(t *testing.T) {
	var list []Claim
	for i := range 20 {
		list = append(list, Claim{Start: int64(i / 10 * 2), End: int64(i/10*2 + 1)})
	}
	for most, want := range map[int]error{99: ErrTooManyEdges, 100: nil} {
		b := &builder{counts: make([]uint32, 1), most: most}
		if _, err := b.graph(list, []uint32{0}); !errors.Is(err, want) {
			t.Errorf("at most %d: found %v, expected %v", most, err, want)
		}
	}
}

// TestNaturalCompare checks the order of names.
func TestNaturalCompare(t *testing.T) {
	list := []string{"b", "10", "9", "rank 10", "a", "rank 9", "010", ""}
	slices.SortFunc(list, naturalCompare)
	if want := []string{"", "9", "010", "10", "a", "b", "rank 9", "rank 10"}; !slices.Equal(list, want) {
		t.Errorf("found %q, expected %q", list, want)
	}
}
