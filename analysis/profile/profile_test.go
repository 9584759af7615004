package profile

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/weft-trace/weft/analysis/internal/testtrace"
	"github.com/weft-trace/weft/trace"
)

// The regions of the tests.
const (
	a = iota
	b
	c
)

func TestRegions(t *testing.T) {
	for _, test := range []struct {
		name string
		rows []testtrace.Row
		want []Region // without Name and other properties of the definition
	}{
		{"nested", []testtrace.Row{testtrace.Enter(0, 0, a), testtrace.Enter(0, 2, b), testtrace.Leave(0, 5, b),
			testtrace.Leave(0, 9, a)},
			[]Region{{Region: a, Count: 1, Inclusive: trace.TicksOf(9), Exclusive: trace.TicksOf(6), Sum: trace.TicksOf(9),
				Min: 9, Max: 9}, {Region: b, Count: 1, Inclusive: trace.TicksOf(3), Exclusive: trace.TicksOf(3),
				Sum: trace.TicksOf(3), Min: 3, Max: 3}}},
		{"crossing", []testtrace.Row{testtrace.Enter(0, 0, a), testtrace.Enter(0, 2, b), testtrace.Leave(0, 5, a),
			testtrace.Leave(0, 9, b)},
			[]Region{{Region: a, Count: 1, Inclusive: trace.TicksOf(5), Exclusive: trace.TicksOf(2), Sum: trace.TicksOf(5),
				Min: 5, Max: 5}, {Region: b, Count: 1, Inclusive: trace.TicksOf(7), Exclusive: trace.TicksOf(7),
				Sum: trace.TicksOf(7), Min: 7, Max: 7}}},
		{"recursive", []testtrace.Row{testtrace.Enter(0, 0, a), testtrace.Enter(0, 2, a), testtrace.Leave(0, 5, a),
			testtrace.Leave(0, 9, a)},
			[]Region{{Region: a, Count: 2, Inclusive: trace.TicksOf(9), Exclusive: trace.TicksOf(9), Sum: trace.TicksOf(12),
				Min: 3, Max: 9}}},
		{"recursive and crossing", []testtrace.Row{testtrace.Enter(0, 0, a), testtrace.Enter(0, 1, b),
			testtrace.Enter(0, 2, a), testtrace.Leave(0, 3, b), testtrace.Enter(0, 4, b),
			testtrace.Leave(0, 5, a), testtrace.Leave(0, 7, a), testtrace.Leave(0, 9, b)},
			[]Region{{Region: a, Count: 2, Inclusive: trace.TicksOf(7), Exclusive: trace.TicksOf(3), Sum: trace.TicksOf(10),
				Min: 3, Max: 7}, {Region: b, Count: 2, Inclusive: trace.TicksOf(7), Exclusive: trace.TicksOf(6),
				Sum: trace.TicksOf(7), Min: 2, Max: 5}}},
		{"unclosed and orphan", []testtrace.Row{testtrace.Leave(0, 0, b), testtrace.Enter(0, 1, a), testtrace.Enter(0, 3, b),
			testtrace.Leave(0, 5, c), {Time: 8, Kind: trace.Mark, Ref: a}},
			[]Region{{Region: a, Count: 1, Inclusive: trace.TicksOf(7), Exclusive: trace.TicksOf(2), Sum: trace.TicksOf(7),
				Min: 7, Max: 7, Unclosed: 1},
				{Region: b, Count: 1, Inclusive: trace.TicksOf(5), Exclusive: trace.TicksOf(5), Sum: trace.TicksOf(5), Min: 5,
					Max: 5, Unclosed: 1, Orphans: 1}, {Region: c, Orphans: 1}}},
		{"unknown region", []testtrace.Row{testtrace.Enter(0, 0, trace.NoRef), testtrace.Enter(0, 1, 99),
			testtrace.Leave(0, 4, trace.NoRef), testtrace.Leave(0, 6, trace.NoRef)},
			[]Region{{Region: trace.NoRef, Count: 2, Inclusive: trace.TicksOf(6), Exclusive: trace.TicksOf(6),
				Sum: trace.TicksOf(9), Min: 3, Max: 6}}},
		// Region 3 is the first undefined one.
		{"unknown leave", []testtrace.Row{testtrace.Enter(0, 0, a), testtrace.Leave(0, 3, 3), testtrace.Leave(0, 4, a)},
			[]Region{{Region: trace.NoRef, Orphans: 1},
				{Region: a, Count: 1, Inclusive: trace.TicksOf(4), Exclusive: trace.TicksOf(4), Sum: trace.TicksOf(4), Min: 4,
					Max: 4}}},
		{"unknown enter", []testtrace.Row{testtrace.Enter(0, 0, a), testtrace.Enter(0, 1, 3), testtrace.Leave(0, 3, 3),
			testtrace.Leave(0, 4, a)},
			[]Region{{Region: trace.NoRef, Count: 1, Inclusive: trace.TicksOf(2), Exclusive: trace.TicksOf(2),
				Sum: trace.TicksOf(2), Min: 2, Max: 2}, {Region: a, Count: 1, Inclusive: trace.TicksOf(4),
				Exclusive: trace.TicksOf(2), Sum: trace.TicksOf(4), Min: 4, Max: 4}}},
		{"two locations", []testtrace.Row{testtrace.Enter(0, 0, a), testtrace.Enter(1, 1, a), testtrace.Leave(0, 4, a),
			testtrace.Leave(1, 9, a)},
			[]Region{{Region: a, Count: 2, Inclusive: trace.TicksOf(12), Exclusive: trace.TicksOf(12), Sum: trace.TicksOf(12),
				Min: 4, Max: 8}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := testtrace.Defs(2, 3, 0)
			for _, opt := range []Options{{}, {Locations: true}} {
				p := New(d, opt)
				if err := p.Batch(testtrace.Mixed(d, test.rows)); err != nil {
					t.Fatal(err)
				}
				r := p.Result()
				if again := p.Result(); !reflect.DeepEqual(r, again) {
					t.Errorf("second result: found %+v, expected %+v", again, r)
				}
				var sum, at int64
				for i := range r.Regions {
					sum += r.Regions[i].Exclusive.Int64()
					r.Regions[i].ID, r.Regions[i].Name = "", ""
				}
				for _, l := range r.Locations {
					at += l.Covered
				}
				var orphans, unclosed int64
				for _, x := range test.want {
					orphans, unclosed = orphans+x.Orphans, unclosed+x.Unclosed
				}
				if r.Orphans != orphans || r.Unclosed != unclosed {
					t.Errorf("found %d orphans and %d unclosed, expected %d and %d", r.Orphans, r.Unclosed, orphans, unclosed)
				}
				if !reflect.DeepEqual(r.Regions, test.want) {
					t.Errorf("regions:\nfound    %+v\nexpected %+v", r.Regions, test.want)
				}
				if sum != r.Covered.Int64() || opt.Locations && at != sum {
					t.Errorf("covered: found %d, at locations %d, expected %d", r.Covered, at, sum)
				}
			}
		})
	}
}

// TestAgainstReference compares the profiles of random traces, with and without windows, with a
// profile that is computed tick by tick.
func TestAgainstReference(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		d := testtrace.Defs(1, 70, 0)
		var rows []testtrace.Row
		last := int64(0)
		for range 40 {
			last += rnd.Int64N(3)
			region := uint32(rnd.IntN(4)) * 23 // some regions share a bit of location.mask
			if rnd.IntN(2) == 0 {
				rows = append(rows, testtrace.Enter(0, last, region))
			} else {
				rows = append(rows, testtrace.Leave(0, last, region))
			}
		}
		opt := Options{Locations: rnd.IntN(2) == 0}
		from, to := int64(0), last
		if rnd.IntN(3) > 0 {
			from = rnd.Int64N(last + 2)
			to = from + rnd.Int64N(last+2)
			opt.Window = &trace.Window{From: from, To: to}
		}
		inclusive, exclusive := map[uint32]int64{}, map[uint32]int64{}
		for at := from; at < min(to, last); at++ {
			var open []uint32
			for _, r := range rows {
				if r.Time > at {
					break
				}
				if r.Kind == trace.Enter {
					open = append(open, r.Ref)
					continue
				}
				for i := len(open) - 1; i >= 0; i-- {
					if open[i] == r.Ref {
						open = append(open[:i:i], open[i+1:]...)
						break
					}
				}
			}
			once := map[uint32]bool{}
			for _, x := range open {
				once[x] = true
			}
			for x := range once {
				inclusive[x]++
			}
			if len(open) > 0 {
				exclusive[open[len(open)-1]]++
			}
		}
		missing := maps.Clone(inclusive)
		p := New(d, opt)
		whole := testtrace.PerLocation(d, rows)[0]
		if rnd.IntN(2) == 0 {
			whole = testtrace.Mixed(d, rows)
		}
		if err := p.Batch(whole); err != nil {
			t.Fatal(err)
		}
		for _, x := range p.Result().Regions {
			delete(missing, x.Region)
			if x.Inclusive.Int64() != inclusive[x.Region] || x.Exclusive.Int64() != exclusive[x.Region] {
				t.Fatalf("region %d: found %d inclusive and %d exclusive, expected %d and %d", x.Region, x.Inclusive, x.Exclusive,
					inclusive[x.Region], exclusive[x.Region])
			}
		}
		if len(missing) > 0 {
			t.Fatalf("not found: %v", missing)
		}
	}
}

// TestWindow checks visits and claims that are open at the begin or end of a window.
func TestWindow(t *testing.T) {
	d := testtrace.Defs(2, 3, 1)
	rows := []testtrace.Row{
		testtrace.Enter(0, 0, a), testtrace.Begin(0, 0, 1, b, 0, 1), testtrace.Begin(0, 1, 2, b, 0, 1),
		testtrace.End(0, 3, 2),
		testtrace.Enter(0, 4, b), testtrace.Leave(0, 6, b), // entirely before the window
		testtrace.Enter(0, 12, b), testtrace.Leave(0, 15, b),
		testtrace.Leave(0, 18, a), testtrace.End(0, 19, 1), testtrace.Begin(0, 19, 3, c, 0, 1),
		// These end after the window.
		testtrace.Enter(0, 19, c), testtrace.Enter(0, 25, b), testtrace.Begin(0, 25, 4, c, 0, 1), testtrace.Leave(0, 26, b),
		testtrace.Leave(0, 30, c),
		testtrace.Enter(1, 1, a), // its location has no event in or after the window
	}
	p := New(d, Options{Locations: true, Window: &trace.Window{From: 10, To: 20}})
	for _, x := range testtrace.PerLocation(d, rows) {
		if err := p.Batch(x); err != nil {
			t.Fatal(err)
		}
	}
	r := p.Result()
	found := fmt.Sprintf("%+v %+v %+v %d", r.Regions, r.Activities, r.Resources, r.UnclosedClaims)
	expected := fmt.Sprintf("%+v %+v %+v %d",
		[]Region{{Region: a, ID: "0", Name: "A", Count: 1, Inclusive: trace.TicksOf(8), Exclusive: trace.TicksOf(5),
			Sum: trace.TicksOf(8), Min: 8, Max: 8},
			{Region: b, ID: "1", Name: "B", Count: 1, Inclusive: trace.TicksOf(3), Exclusive: trace.TicksOf(3),
				Sum: trace.TicksOf(3), Min: 3, Max: 3},
			{Region: c, ID: "2", Name: "C", Count: 1, Inclusive: trace.TicksOf(1), Exclusive: trace.TicksOf(1),
				Sum: trace.TicksOf(1), Min: 1, Max: 1}},
		// A claim without an end is not unclosed if its location has events after the window.
		[]Activity{{b, "B", 1, trace.TicksOf(9), 9, 9, 0}, {c, "C", 1, trace.TicksOf(1), 1, 1, 0}},
		[]Resource{{0, "0", "", "", 1, 2, 10, 10, 1, 1}}, 0)
	if found != expected {
		t.Errorf("found    %s\nexpected %s", found, expected)
	}
	if len(r.Locations) != 1 || r.Locations[0].First != 12 || r.Locations[0].Last != 19 {
		t.Errorf("locations: found %+v, expected one with events from 12 to 19", r.Locations)
	}
}

// TestEdges checks visits and claims that begin or end exactly where a window begins, also those of
// length 0. Each counts in one of two consecutive windows, or in both.
func TestEdges(t *testing.T) {
	d := testtrace.Defs(1, 3, 1)
	rows := []testtrace.Row{
		testtrace.Enter(0, 0, a), testtrace.Begin(0, 0, 1, a, 0, 1),
		testtrace.Leave(0, 5, a), testtrace.End(0, 5, 1), // a: from 0 to 5
		// b: from 5 to 5
		testtrace.Enter(0, 5, b), testtrace.Begin(0, 5, 2, b, 0, 1), testtrace.Leave(0, 5, b), testtrace.End(0, 5, 2),
		testtrace.Enter(0, 5, c), testtrace.Begin(0, 5, 3, c, 0, 1),
		testtrace.Enter(0, 8, b), // never left
		testtrace.Leave(0, 9, c), testtrace.End(0, 9, 3),
	}
	for _, x := range []struct {
		from, to int64
		want     string
	}{
		{0, 5, "A 1 5 5 5"},
		{5, 9, "B 2 1 0 1, C 1 4 4 4"},
		{4, 6, "A 1 1 1 1, B 1 0 0 0, C 1 1 1 1"},
		{6, 9, "B 1 1 1 1, C 1 3 3 3"},
		{9, 12, ""},
	} {
		// The test divides the events at each place, so that visits can begin in one batch and end in
		// another.
		for cut := range len(rows) + 1 {
			p := New(d, Options{Window: &trace.Window{From: x.from, To: x.to}})
			for _, part := range [][]testtrace.Row{rows[:cut], rows[cut:]} {
				for _, b := range testtrace.PerLocation(d, part) {
					if err := p.Batch(b); err != nil {
						t.Fatal(err)
					}
				}
			}
			var regions, activities []string
			for _, r := range p.Result().Regions {
				if r.Count > 0 {
					regions = append(regions, fmt.Sprintln(r.Name, r.Count, r.Sum, r.Min, r.Max))
				}
			}
			for _, y := range p.Result().Activities {
				activities = append(activities, fmt.Sprintln(y.Name, y.Count, y.Time, y.Min, y.Max))
			}
			if got := words(regions); got != x.want {
				t.Errorf("%d to %d, cut at row %d: found the visits %q, expected %q", x.from, x.to, cut, got, x.want)
			}
			want := strings.ReplaceAll(strings.ReplaceAll(x.want, "B 2 1 0 1", "B 1 0 0 0"), "B 1 1 1 1, ", "")
			if got := words(activities); got != want {
				t.Errorf("%d to %d, cut at row %d: found the claims %q, expected %q", x.from, x.to, cut, got, want)
			}
		}
	}
}

// TestLastTick checks that a window without an upper end includes events at the largest possible
// time.
func TestLastTick(t *testing.T) {
	const end = math.MaxInt64
	d := testtrace.Defs(1, 2, 1)
	p := New(d, Options{Window: &trace.Window{From: end - 2, To: end}})
	for _, x := range testtrace.PerLocation(d, []testtrace.Row{testtrace.Enter(0, end-3, a),
		testtrace.Enter(0, end, b), testtrace.Begin(0, end, 1, b, 0, 1),
		testtrace.Leave(0, end, b), testtrace.End(0, end, 1), testtrace.Leave(0, end, a),
		testtrace.Begin(0, end, 2, b, 0, 1)}) { // never released
		if err := p.Batch(x); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, r := range p.Result().Regions {
		got = append(got, fmt.Sprintln(r.Name, r.Count, r.Sum, r.Min, r.Max, r.Unclosed))
	}
	for _, y := range p.Result().Activities {
		got = append(got, fmt.Sprintln("claims", y.Name, y.Count, y.Time, y.Unclosed))
	}
	if want := "A 1 2 2 2 0, B 1 0 0 0 0, claims B 2 0 1"; words(got) != want {
		t.Errorf("found %q, expected %q", words(got), want)
	}
}

// words joins lines with ", ".
func words(lines []string) string {
	return strings.TrimSuffix(strings.ReplaceAll(strings.Join(lines, ""), "\n", ", "), ", ")
}

func TestClaims(t *testing.T) {
	d := testtrace.Defs(2, 2, 2)
	rows := []testtrace.Row{
		testtrace.Begin(0, 0, 1, a, 0, 0.1),
		testtrace.Begin(0, 2, 2, b, 0, 0.2),
		testtrace.Begin(1, 2, 1, b, 1, 5), // ids are local to a location
		testtrace.End(0, 4, 1),
		testtrace.Begin(0, 4, 3, a, 0, 10), // of length 0
		testtrace.End(0, 4, 3),
		testtrace.End(0, 7, 2),
		testtrace.End(0, 8, 9), // never begun
		testtrace.Enter(1, 12, a),
	}
	one, two := 0.1, 0.2 // variables, since a sum of constants would be exact
	p := New(d, Options{})
	for _, x := range testtrace.PerLocation(d, rows) {
		if err := p.Batch(x); err != nil {
			t.Fatal(err)
		}
	}
	r := p.Result()
	found := fmt.Sprintf("%+v %+v %d %d", r.Activities, r.Resources, r.UnclosedClaims, r.OrphanClaims)
	expected := fmt.Sprintf("%+v %+v %d %d",
		[]Activity{{a, "A", 2, trace.TicksOf(4), 0, 4, 0}, {b, "B", 2, trace.TicksOf(15), 5, 10, 1}},
		[]Resource{{0, "0", "", "", 1, 3, 7, trace.Real(one*4 + two*5), 2, trace.Real(one + two)},
			{1, "1", "", "", 1, 1, 10, 50, 1, 5}}, 1, 1)
	if found != expected {
		t.Errorf("claims:\nfound    %s\nexpected %s", found, expected)
	}
	if again := p.Result(); !reflect.DeepEqual(r, again) {
		t.Errorf("second result: found %+v, expected %+v", again, r)
	}
	// Merging two parts, with one location each, has the same result.
	x, y := New(d, Options{}), New(d, Options{})
	batches := testtrace.PerLocation(d, rows)
	if err := x.Batch(batches[0]); err != nil {
		t.Fatal(err)
	}
	if err := y.Batch(batches[1]); err != nil {
		t.Fatal(err)
	}
	if err := y.Merge(x); err != nil {
		t.Fatal(err)
	}
	if m := y.Result(); !reflect.DeepEqual(m, r) {
		t.Errorf("merged:\nfound    %+v\nexpected %+v", m, r)
	}
	if err := y.Merge(p); err == nil {
		t.Error("a merge of parts of the same locations gave no error")
	}
}

// calls returns n events of nested calls of 20 regions at one location.
func calls(n int) (*trace.Definitions, *trace.Batch) {
	d := testtrace.Defs(1, 20, 0)
	b := &trace.Batch{}
	b.Reset(0)
	rnd := rand.New(rand.NewPCG(3, 4))
	var open []uint32
	for i := range n {
		if len(open) > 0 && (len(open) > 12 || rnd.IntN(2) == 0) {
			b.Add(0, int64(i), trace.Leave, open[len(open)-1])
			open = open[:len(open)-1]
		} else {
			open = append(open, uint32(rnd.IntN(20)))
			b.Add(0, int64(i), trace.Enter, open[len(open)-1])
		}
	}
	for i := len(open) - 1; i >= 0; i-- {
		b.Add(0, int64(n+i), trace.Leave, open[i])
	}
	return d, b
}

func TestNoAllocation(t *testing.T) {
	d, b := calls(trace.BatchRows)
	p := New(d, Options{})
	n := testing.AllocsPerRun(10, func() {
		if err := p.Batch(b); err != nil {
			t.Fatal(err)
		}
	})
	if n != 0 {
		t.Errorf("a batch of enters and leaves: found %v allocations, expected none", n)
	}
}

func BenchmarkEnterLeave(bench *testing.B) {
	d, b := calls(trace.BatchRows)
	p := New(d, Options{})
	for bench.Loop() {
		if err := p.Batch(b); err != nil {
			bench.Fatal(err)
		}
	}
	bench.ReportMetric(float64(bench.Elapsed().Nanoseconds())/float64(bench.N)/float64(b.Len()), "ns/event")
}

// TestStates checks that snapshots, summaries and markers do not count as events. They do not
// prolong a region that is never left, and a location that has only such rows has no profile.
func TestStates(t *testing.T) {
	events := []testtrace.Row{testtrace.Enter(0, 0, a), testtrace.Enter(0, 2, b), testtrace.Leave(0, 5, b)}
	more := append(append([]testtrace.Row{{Loc: 1, Time: 1, Kind: trace.EnterSnapshot, Ref: a}}, events...),
		testtrace.Row{Time: 8, Kind: trace.RegionSummary, Ref: a},
		testtrace.Row{Time: 9, Kind: trace.Marker, Ref: trace.NoRef},
		testtrace.Row{Loc: 1, Time: 10, Kind: trace.MetricSnapshot})
	for _, w := range []*trace.Window{nil, {From: 1, To: 4}, {From: 3, To: 20}, {From: 6, To: 7}} {
		d := testtrace.Defs(2, 3, 0)
		var results [2]*Result
		for i, rows := range [][]testtrace.Row{events, more} {
			p := New(d, Options{Locations: true, Window: w})
			if err := p.Batch(testtrace.Mixed(d, rows)); err != nil {
				t.Fatal(err)
			}
			results[i] = p.Result()
			p = New(d, Options{Locations: true, Window: w})
			for _, b := range testtrace.PerLocation(d, rows) {
				if err := p.Batch(b); err != nil {
					t.Fatal(err)
				}
			}
			if r := p.Result(); !reflect.DeepEqual(r, results[i]) {
				t.Errorf("window %v: location by location\n%+v\nmixed\n%+v", w, r, results[i])
			}
		}
		if !reflect.DeepEqual(results[0], results[1]) {
			t.Errorf("window %v: with states\n%+v\nwithout\n%+v", w, results[1], results[0])
		}
	}
}

// TestSumsBeyond64Bits checks sums that exceed 64 bits: of many locations in one part and in merged
// parts, and of recursive visits at one location.
func TestSumsBeyond64Bits(t *testing.T) {
	const long = int64(4e18)
	d := testtrace.Defs(4, 3, 0)
	var rows []testtrace.Row
	for loc := range uint32(3) {
		rows = append(rows, testtrace.Enter(loc, 0, a))
	}
	for range 4 {
		rows = append(rows, testtrace.Enter(3, 0, b))
	}
	for range 4 {
		rows = append(rows, testtrace.Leave(3, long, b))
	}
	for loc := range uint32(3) {
		rows = append(rows, testtrace.Leave(loc, long, a))
	}
	for _, opt := range []Options{{}, {Locations: true}, {Window: &trace.Window{From: -1, To: math.MaxInt64}}} {
		one, many, both := New(d, opt), New(d, opt), New(d, opt)
		if err := one.Batch(testtrace.Mixed(d, rows)); err != nil {
			t.Fatal(err)
		}
		for _, b := range testtrace.PerLocation(d, rows) {
			p := New(d, opt)
			if err := cmp.Or(p.Batch(b), many.Merge(p)); err != nil {
				t.Fatal(err)
			}
		}
		// One part has the last location, and the other part all others.
		most := New(d, opt)
		for i, b := range testtrace.PerLocation(d, rows) {
			p := most
			if i == 3 {
				p = both
			}
			if err := p.Batch(b); err != nil {
				t.Fatal(err)
			}
		}
		if err := both.Merge(most); err != nil {
			t.Fatal(err)
		}
		for _, p := range []*Part{one, many, both} {
			r := p.Result()
			got := fmt.Sprint(r.Covered)
			for _, x := range r.Regions {
				got += fmt.Sprint(" ", x.Name, x.Inclusive, x.Exclusive, x.Sum)
			}
			want := fmt.Sprint("16000000000000000000 ", r.Regions[0].Name,
				"12000000000000000000 12000000000000000000 12000000000000000000 ",
				r.Regions[1].Name, "4000000000000000000 4000000000000000000 16000000000000000000")
			if strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(want, " ", "") {
				t.Errorf("%+v: found %s, expected %s", opt, got, want)
			}
		}
	}
}

// TestAdd checks that Region.Add adds sums, and ignores Min and Max of a region without visits.
func TestAdd(t *testing.T) {
	n := trace.TicksOf
	none, one := Region{Orphans: 1},
		Region{Count: 1, Inclusive: n(5), Exclusive: n(3), Sum: n(5), Min: 5, Max: 5, Unclosed: 1}
	two := Region{Count: 2, Inclusive: n(9), Exclusive: n(9), Sum: n(11), Min: 2, Max: 9, Orphans: 2}
	for _, x := range []struct{ a, b, want Region }{
		{none, one, Region{Count: 1, Inclusive: n(5), Exclusive: n(3), Sum: n(5), Min: 5, Max: 5, Unclosed: 1, Orphans: 1}},
		{one, none, Region{Count: 1, Inclusive: n(5), Exclusive: n(3), Sum: n(5), Min: 5, Max: 5, Unclosed: 1, Orphans: 1}},
		{one, two, Region{Count: 3, Inclusive: n(14), Exclusive: n(12), Sum: n(16), Min: 2, Max: 9, Unclosed: 1, Orphans: 2}},
		{two, one, Region{Count: 3, Inclusive: n(14), Exclusive: n(12), Sum: n(16), Min: 2, Max: 9, Unclosed: 1, Orphans: 2}},
	} {
		got := x.a
		if got.Add(&x.b); !reflect.DeepEqual(got, x.want) {
			t.Errorf("%+v and %+v: found %+v, expected %+v", x.a, x.b, got, x.want)
		}
	}
}

// TestUndefinedLocation checks that an undefined location is an error.
func TestUndefinedLocation(t *testing.T) {
	d := testtrace.Defs(2, 1, 0)
	b := testtrace.Mixed(d, []testtrace.Row{testtrace.Enter(2, 0, a)})
	if err := New(d, Options{}).Batch(b); err == nil ||
		!strings.Contains(err.Error(), "location 2, expected one of the 2 locations") {
		t.Errorf("found %v, expected that there is no location 2", err)
	}
}

// TestDeepRecursion checks that recursive visits are recognised in deep stacks of calls that do not
// nest.
func TestDeepRecursion(t *testing.T) {
	const n = 200
	d := testtrace.Defs(1, n+1, 0)
	var rows []testtrace.Row
	for i := range uint32(n) {
		rows = append(rows, testtrace.Enter(0, 0, i))
	}
	rows = append(rows, testtrace.Leave(0, 1, n)) // not open: the whole stack is searched
	for i := range uint32(n) {
		rows = append(rows, testtrace.Enter(0, 10, i), testtrace.Leave(0, 13, i))
	}
	for i := range uint32(n) {
		rows = append(rows, testtrace.Leave(0, 20, i))
	}
	p := New(d, Options{})
	if err := p.Batch(testtrace.PerLocation(d, rows)[0]); err != nil {
		t.Fatal(err)
	}
	for _, x := range p.Result().Regions[:n] {
		if x.Count != 2 || x.Inclusive != trace.TicksOf(20) || x.Sum != trace.TicksOf(23) {
			t.Errorf("region %d: found %d visits, %v inclusive of %v, expected 2, 20 of 23", x.Region, x.Count, x.Inclusive,
				x.Sum)
		}
	}
}
