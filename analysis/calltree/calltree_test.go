package calltree_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/analysis/calltree"
	"github.com/weft-trace/weft/analysis/profile"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

func scan(t *testing.T, r *trace.Recorder, s format.Sink) {
	t.Helper()
	if err := format.Recorded(r).Scan(context.Background(), trace.Everything(), format.PerLocation, s); err != nil {
		t.Fatal(err)
	}
}

// TestContinued checks the times of a thread that executes a task from 12 to 20 in a barrier from 10 to 51, and whose
// implicit task then continues, as EZTrace records it with OMPT: until 20 it has waited for 2, and then for 31.
// Afterwards it works in a region that is not in the region of tasks, although the trace does not have the end of that.
func TestContinued(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1))
	x, barrier, tasks, work := r.Location("x"), r.Region("OpenMP barrier"), r.Region("OpenMP task"), r.Region("work")
	r.Enter(x, 10, barrier)
	for i, at := range []int64{12, 20} {
		r.Leave(x, at, tasks)
		r.Event(x, at, trace.TaskSwitch, trace.NoRef, []uint64{trace.Undefined, 0, uint64(1 - i)})
		r.Enter(x, at, tasks)
	}
	r.Leave(x, 51, barrier)
	r.Enter(x, 51, work)
	r.Leave(x, 60, work)
	for _, test := range []struct {
		continued bool
		expected  string
	}{
		{true, "0 OpenMP barrier 1 33, 1 OpenMP task 1 8, 0 work 1 9"},
		{false, "0 OpenMP barrier 1 2, 1 OpenMP task 2 39, 2 work 1 9"},
	} {
		p := calltree.New(r.Defs(), calltree.Options{Continued: test.continued})
		scan(t, r, p)
		var found []string
		for _, n := range p.Result() {
			found = append(found, fmt.Sprint(n.Depth, " ", r.Defs().Regions.At(n.Region).Name, " ", n.Count, " ", n.Exclusive))
		}
		if s := strings.Join(found, ", "); s != test.expected {
			t.Errorf("continued %t: found %s, expected %s", test.continued, s, test.expected)
		}
	}
}

// TestTree checks a tree that was counted by hand.
func TestTree(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1))
	a, b := r.Region("a"), r.Region("b")
	x, y := r.Location("x"), r.Location("y")
	r.Enter(x, 0, a)
	r.Enter(x, 10, b)
	r.Enter(x, 20, a)
	r.Leave(x, 25, a)
	r.Leave(x, 40, b)
	r.Enter(x, 50, b)
	r.Leave(x, 60, b)
	r.Leave(x, 100, a)
	r.Enter(y, 0, b)
	r.Enter(y, 5, a)
	r.Mark(y, 7, a)
	p := calltree.New(r.Defs(), calltree.Options{})
	scan(t, r, p)
	want := []calltree.Node{
		{-1, 0, 0, a, "a", nil, 1, trace.TicksOf(100), trace.TicksOf(60), 100, 100, &calltree.Visit{Location: x, Start: 0},
			0},
		{0, 1, 0, b, "b", nil, 2, trace.TicksOf(40), trace.TicksOf(35), 10, 30, &calltree.Visit{Location: x, Start: 10}, 0},
		{1, 2, 0, a, "a", nil, 1, trace.TicksOf(5), trace.TicksOf(5), 5, 5, &calltree.Visit{Location: x, Start: 20}, 0},
		{-1, 0, 0, b, "b", nil, 1, trace.TicksOf(7), trace.TicksOf(5), 7, 7, &calltree.Visit{Location: y, Start: 0}, 1},
		{3, 1, 0, a, "a", nil, 1, trace.TicksOf(2), trace.TicksOf(2), 2, 2, &calltree.Visit{Location: y, Start: 5}, 1},
	}
	if got := p.Result(); !reflect.DeepEqual(got, want) {
		t.Errorf("found %+v, expected %+v", got, want)
	}
	p = calltree.New(r.Defs(), calltree.Options{Window: &trace.Window{From: 22, To: 55},
		Root: func(loc uint32) uint32 { return loc }})
	scan(t, r, p)
	want = []calltree.Node{
		{-1, 0, 0, a, "a", nil, 1, trace.TicksOf(33), trace.TicksOf(10), 33, 33, &calltree.Visit{Location: x, Start: 0}, 0},
		{0, 1, 0, b, "b", nil, 2, trace.TicksOf(23), trace.TicksOf(20), 5, 18, &calltree.Visit{Location: x, Start: 10}, 0},
		{1, 2, 0, a, "a", nil, 1, trace.TicksOf(3), trace.TicksOf(3), 3, 3, &calltree.Visit{Location: x, Start: 20}, 0},
	}
	if got := p.Result(); !reflect.DeepEqual(got, want) {
		t.Errorf("window: found %+v, expected %+v", got, want)
	}
}

// TestTreeOfEachLocation checks that the paths of locations with different roots are in different trees, and that
// those with the same root are added up.
func TestTreeOfEachLocation(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1))
	a, b := r.Region("a"), r.Region("b")
	for i, name := range []string{"x", "y", "z"} {
		loc := r.Location(name)
		r.Enter(loc, 0, a)
		r.Enter(loc, 1, b)
		r.Leave(loc, 3, b)
		r.Leave(loc, 10*int64(i+1), a)
	}
	p := calltree.New(r.Defs(), calltree.Options{Root: func(loc uint32) uint32 { return loc / 2 }})
	scan(t, r, p)
	var found []string
	for _, n := range p.Result() {
		found = append(found, fmt.Sprintf("tree %d, inside of %d: %d %s, %v", n.Root, n.Parent, n.Count, n.Name, n.Inclusive))
	}
	want := []string{"tree 0, inside of -1: 2 a, 30", "tree 0, inside of 0: 2 b, 4", "tree 1, inside of -1: 1 a, 30",
		"tree 1, inside of 2: 1 b, 2"}
	if !slices.Equal(found, want) {
		t.Errorf("found %q, expected %q", found, want)
	}
}

// randomTrace returns a trace in which regions overlap, are left without an enter, and stay open.
func randomTrace(seed uint64) *trace.Recorder {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	g := rand.New(rand.NewPCG(seed, 1))
	var regions []uint32
	for _, n := range strings.Split("abcde", "") {
		regions = append(regions, r.Region(n))
	}
	for range 3 {
		loc := r.Location("p")
		now := int64(0)
		for range 200 {
			now += g.Int64N(5)
			if g.IntN(2) == 0 {
				r.Enter(loc, now, regions[g.IntN(5)])
			} else {
				r.Leave(loc, now, regions[g.IntN(5)])
			}
		}
	}
	return r
}

// TestSumsAreTheProfile checks that, for each region, the exclusive times of the paths that end in
// it add up to its exclusive time in the flat profile, in any window and for any number of parts.
func TestSumsAreTheProfile(t *testing.T) {
	for seed := range uint64(200) {
		r := randomTrace(seed)
		from := int64(seed * 2)
		to := from + int64(seed)*3
		var pw *trace.Window
		var cw *trace.Window
		if seed%2 == 0 {
			pw, cw = &trace.Window{From: from, To: to}, &trace.Window{From: from, To: to}
		}
		flat := profile.New(r.Defs(), profile.Options{Window: pw})
		scan(t, r, flat)
		var all *calltree.Part
		for loc := range uint32(3) {
			p := calltree.New(r.Defs(), calltree.Options{Window: cw})
			for _, b := range r.Batches(loc) {
				if err := p.Batch(b); err != nil {
					t.Fatal(err)
				}
			}
			if all == nil {
				all = p
			} else if err := all.Merge(p); err != nil {
				t.Fatal(err)
			}
		}
		type sums struct{ count, sum, exclusive int64 }
		want, got := map[string]sums{}, map[string]sums{}
		for _, x := range flat.Result().Regions {
			if x.Count > 0 {
				want[x.Name] = sums{x.Count, x.Sum.Int64(), x.Exclusive.Int64()}
			}
		}
		nodes := all.Result()
		for i, n := range nodes {
			s := got[n.Name]
			got[n.Name] = sums{s.count + n.Count, s.sum + n.Inclusive.Int64(), s.exclusive + n.Exclusive.Int64()}
			if n.Parent >= i || n.Parent >= 0 && nodes[n.Parent].Depth != n.Depth-1 {
				t.Errorf("node %d: parent %d", i, n.Parent)
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: found %v, expected %v", seed, got, want)
		}
		one := calltree.New(r.Defs(), calltree.Options{Window: cw})
		scan(t, r, one)
		if !reflect.DeepEqual(one.Result(), nodes) {
			t.Fatalf("seed %d: parts give another tree than one", seed)
		}
	}
}

// TestLastTick checks that a window without an upper end includes events at the largest possible
// time.
func TestLastTick(t *testing.T) {
	const end = math.MaxInt64
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	loc, a, b := r.Location("p"), r.Region("a"), r.Region("b")
	r.Enter(loc, end-3, a)
	r.Enter(loc, end, b)
	r.Leave(loc, end, b)
	r.Enter(loc, end, b) // never left
	p := calltree.New(r.Defs(), calltree.Options{Window: &trace.Window{From: end - 2, To: end}})
	scan(t, r, p)
	var got []string
	for _, n := range p.Result() {
		got = append(got, fmt.Sprint(n.Name, n.Count, n.Inclusive, n.Unclosed))
	}
	if want := []string{"a1 2 1", "b2 0 1"}; !slices.Equal(got, want) {
		t.Errorf("found %q, expected %q", got, want)
	}
}

// TestSorted checks that sorting moves paths with the paths below them, and keeps the order of
// trees.
func TestSorted(t *testing.T) {
	for seed := range uint64(50) {
		r := randomTrace(seed)
		p := calltree.New(r.Defs(), calltree.Options{Root: func(loc uint32) uint32 { return loc }})
		scan(t, r, p)
		list := p.Result()
		// path names a node by its enclosing regions.
		path := func(l []calltree.Node, i int) string {
			s := ""
			for k := i; k >= 0; k = l[k].Parent {
				s = l[k].Name + "/" + s
			}
			return fmt.Sprint(l[i].Root, s)
		}
		figures := map[string]calltree.Node{}
		for i, n := range list {
			n.Parent = 0
			figures[path(list, i)] = n
		}
		byCount := func(a, b *calltree.Node) int { return cmp.Compare(b.Count, a.Count) }
		sorted := calltree.Sorted(list, byCount)
		if len(sorted) != len(list) {
			t.Fatalf("seed %d: %d paths of %d", seed, len(sorted), len(list))
		}
		last := map[int]calltree.Node{} // the previous sibling
		for i, n := range sorted {
			if n.Parent >= i || i > 0 && n.Root < sorted[i-1].Root {
				t.Errorf("seed %d: path %d is inside of %d, in tree %d", seed, i, n.Parent, n.Root)
			}
			if before, ok := last[n.Parent]; ok && before.Root == n.Root && byCount(&before, &n) > 0 {
				t.Errorf("seed %d: %v comes before %v", seed, before, n)
			}
			last[n.Parent] = n
			n.Parent = 0
			if !reflect.DeepEqual(figures[path(sorted, i)], n) {
				t.Errorf("seed %d: %s is %v", seed, path(sorted, i), n)
			}
		}
	}
}

func BenchmarkBatch(b *testing.B) {
	r := trace.NewRecorder(trace.TicksPerSecond(1e9))
	loc := r.Location("p")
	g := rand.New(rand.NewPCG(1, 1))
	var stack []uint32
	for i := range 40 {
		r.Region(string(rune('a' + i)))
	}
	for i := range int64(4000) {
		if n := len(stack); n > 0 && (n > 10 || g.IntN(2) == 0) {
			r.Leave(loc, i, stack[n-1])
			stack = stack[:n-1]
		} else {
			stack = append(stack, uint32(g.IntN(40)))
			r.Enter(loc, i, stack[n])
		}
	}
	p := calltree.New(r.Defs(), calltree.Options{})
	list := r.Batches(loc)
	b.ResetTimer()
	for range b.N {
		for _, x := range list {
			p.Batch(x)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/4000, "ns/event")
}

// TestRows checks that with Options.Rows two regions with the same name have one path.
func TestRows(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	main, f := r.Region("main"), r.Region("f")
	mainAgain := r.Defs().Regions.Add(trace.Region{ID: "8", Name: "main"})
	fAgain := r.Defs().Regions.Add(trace.Region{ID: "9", Name: "f"})
	x, y := r.Location("x"), r.Location("y")
	r.Enter(x, 0, main)
	r.Enter(x, 10, f)
	r.Leave(x, 30, f)
	r.Leave(x, 100, main)
	r.Enter(y, 0, mainAgain)
	r.Enter(y, 20, fAgain)
	r.Leave(y, 50, fAgain)
	r.Leave(y, 60, mainAgain)
	p := calltree.New(r.Defs(), calltree.Options{Rows: trace.NewRows(r.Defs())})
	scan(t, r, p)
	ids := func(region uint32, again string) []string { return []string{r.Defs().Regions.At(region).ID, again} }
	want := []calltree.Node{
		{-1, 0, 0, main, "main", ids(main, "8"), 2, trace.TicksOf(160), trace.TicksOf(110), 60, 100,
			&calltree.Visit{Location: x, Start: 0}, 0},
		{0, 1, 0, f, "f", ids(f, "9"), 2, trace.TicksOf(50), trace.TicksOf(50), 20, 30,
			&calltree.Visit{Location: y, Start: 20}, 0},
	}
	if got := p.Result(); !reflect.DeepEqual(got, want) {
		t.Errorf("found %+v, expected %+v", got, want)
	}
	p = calltree.New(r.Defs(), calltree.Options{})
	scan(t, r, p)
	if got := p.Result(); len(got) != 4 {
		t.Errorf("each for itself: found %+v, expected four paths", got)
	}
}
