package spans_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/weft-trace/weft/analysis/spans"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/trace"
)

// sample returns a trace with a region main, two visits of work inside of it, one of which is never
// left, and a claim.
func sample() *trace.Recorder {
	r := trace.NewRecorder(trace.TicksPerSecond(1))
	p, q := r.Location("p"), r.Location("q")
	main, work := r.Region("main"), r.Region("work")
	r.Enter(p, 1, main)
	r.Enter(p, 2, work)
	r.Leave(p, 5, work)
	r.Leave(p, 9, main)
	r.Enter(q, 3, work)
	r.Leave(q, 4, main) // never entered
	r.Mark(q, 7, main)
	id := r.Claim(r.Resource("cpu", 1, ""), 4, work, 1)
	r.Release(id, 6)
	return r
}

// texts returns the selected spans of the sample as text.
func texts(t *testing.T, sel trace.Selection) (list []string) {
	t.Helper()
	r := sample()
	for s, err := range spans.All(t.Context(), format.Recorded(r), sel) {
		if err != nil {
			t.Fatal(err)
		}
		parent, resource := "-", "-"
		if s.Parent != trace.NoRef {
			parent = r.Defs().Regions.At(s.Parent).Name
		}
		if s.Resource != trace.NoRef {
			resource = r.Defs().Resources.At(s.Resource).Name
		}
		list = append(list, fmt.Sprintf("%s %s %d-%d depth %d in %s of %s open %t", r.Defs().Locations.At(s.Location).Name,
			r.Defs().Regions.At(s.Region).Name, s.Start, s.End, s.Depth, parent, resource, s.Open))
	}
	return list
}

func TestAll(t *testing.T) {
	want := []string{
		"p work 2-5 depth 1 in main of - open false",
		"p main 1-9 depth 0 in - of - open false",
		"cpu work 4-6 depth 0 in - of cpu open false",
		"q work 3-7 depth 0 in - of - open true",
	}
	if got := texts(t, trace.Everything()); !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

// TestSameClaims checks that claims of two locations may have the same id, as ids belong to locations.
func TestSameClaims(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1))
	work := r.Region("work")
	for i, n := range []string{"p", "q"} {
		r.Event(r.Location(n), int64(1+i), trace.ClaimBegin, work, []uint64{7})
	}
	r.Event(1, 5, trace.ClaimEnd, work, []uint64{7})
	var list []string
	for s, err := range spans.All(t.Context(), format.Recorded(r), trace.Everything()) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprint(s.Location, s.Start, s.End, s.Open))
	}
	if want := []string{"1 2 5 false", "0 1 1 true"}; !slices.Equal(list, want) {
		t.Errorf("found %q, expected %q", list, want)
	}
}

// TestWindow checks that a span that overlaps the window is returned with its full length.
func TestWindow(t *testing.T) {
	sel := trace.Everything()
	sel.From, sel.To = 6, 7
	want := []string{"p main 1-9 depth 0 in - of - open false", "cpu work 4-6 depth 0 in - of cpu open false",
		"q work 3-7 depth 0 in - of - open true"}
	if got := texts(t, sel); !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	sel.Region = func(r uint32) bool { return r == 0 }
	if got := texts(t, sel); !slices.Equal(got, want[:1]) {
		t.Errorf("found %q, want %q", got, want[:1])
	}
	sel = trace.Everything()
	sel.To = 3 // without the span that begins at 3
	want = []string{"p work 2-5 depth 1 in main of - open false", "p main 1-9 depth 0 in - of - open false"}
	if got := texts(t, sel); !slices.Equal(got, want) {
		t.Errorf("up to 3: found %q, want %q", got, want)
	}
}

// TestDisorder checks nested calls that leave in the order in which they entered, and leaves
// without an enter. Call i enters at time i. The first n calls leave at n to 2n. Then one more call
// enters, and all others stay open.
func TestDisorder(t *testing.T) {
	const n, more = 1000, 10
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	p, never := r.Location("p"), r.Region("never")
	var regions []uint32
	for i := range int64(n + more) {
		regions = append(regions, r.Region(fmt.Sprint(i)))
		r.Enter(p, i, regions[i])
	}
	for i := range int64(n) {
		r.Leave(p, n+more+i, never)
		r.Leave(p, n+more+i, regions[i])
	}
	r.Enter(p, 3*n, never)
	var want []spans.Span
	add := func(i int, start, end int64, region, parent uint32, depth int) {
		want = append(want, spans.Span{Location: p, Region: region, Resource: trace.NoRef, Parent: parent, Depth: depth,
			Start: start, End: end, Open: i >= n})
	}
	for i := range n + more {
		parent := trace.NoRef
		if i > 0 {
			parent = regions[i-1]
		}
		end := int64(n + more + i)
		if i >= n {
			end = 3 * n
		}
		add(i, int64(i), end, regions[i], parent, i)
	}
	add(n+more, 3*n, 3*n, never, regions[n+more-1], more)
	i := 0
	for s, err := range spans.All(t.Context(), format.Recorded(r), trace.Everything()) {
		if err != nil || i == len(want) || s != want[i] {
			t.Fatalf("number %d: found %+v, %v, expected %+v", i, s, err, want[min(i, len(want)-1)])
		}
		i++
	}
	if i != len(want) {
		t.Errorf("found %d spans, expected %d", i, len(want))
	}
}

// TestEarlyBreak checks that a loop over All can end early.
func TestEarlyBreak(t *testing.T) {
	n := 0
	for range spans.All(t.Context(), format.Recorded(sample()), trace.Everything()) {
		if n++; n == 2 {
			break
		}
	}
	if n != 2 {
		t.Errorf("found %d spans", n)
	}
}

// ExampleAll prints the longest spans of a trace of any format.
func ExampleAll() {
	ctx := context.Background()
	f, err := all.Open(ctx, "../../format/otf2/testdata/ok/ring/eztrace_log.otf2", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	var top []spans.Span
	for s, err := range spans.All(ctx, f, trace.Everything()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		top = append(top, s)
		slices.SortStableFunc(top, func(a, b spans.Span) int { return int(b.Duration() - a.Duration()) })
		top = top[:min(len(top), 3)] // as many as needed
	}
	for _, s := range top {
		fmt.Println(f.Defs().Regions.At(s.Region).Name, f.Defs().Clock.FormatDuration(s.Duration()))
	}
	// Output:
	// Working 93.683 ms
	// Working 87.852 ms
	// Working 87.839 ms
}
