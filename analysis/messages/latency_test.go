package messages

import (
	"cmp"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/weft-trace/weft/analysis/internal/testtrace"
	"github.com/weft-trace/weft/trace"
)

// slowMatches pairs each receive with the first remaining send that matches, by searching all
// sends. It returns the pairs whose send is in the window, as a list and by source and destination.
// All tags must be known.
func slowMatches(rows []testtrace.Row, w *trace.Window) (all []Pair, pairs map[[2]uint32][]Pair) {
	pairs = map[[2]uint32][]Pair{}
	used := make([]bool, len(rows))
	for _, r := range rows {
		if r.Kind != trace.Recv {
			continue
		}
		for i, s := range rows {
			if s.Kind == trace.Send && !used[i] && s.Ops[0] == uint64(r.Loc) && uint64(s.Loc) == r.Ops[0] &&
				s.Ops[2] == r.Ops[2] {
				used[i] = true
				if w == nil || w.From <= s.Time && s.Time < w.To {
					k := [2]uint32{s.Loc, r.Loc}
					x := Pair{s.Loc, r.Loc, s.Time, r.Time}
					all, pairs[k] = append(all, x), append(pairs[k], x)
				}
				break
			}
		}
	}
	return all, pairs
}

// transferOf returns the sums of a list of pairs.
func transferOf(l []Pair) Transfer {
	t := Transfer{Count: int64(len(l))}
	for i, x := range l {
		d := x.Received - x.Sent
		if i == 0 {
			t.Min, t.Max = d, d
		}
		if o := t.Longest; o == nil || cmp.Or(cmp.Compare(o.Received-o.Sent, d), cmp.Compare(x.Sent, o.Sent),
			cmp.Compare(x.Source, o.Source), cmp.Compare(x.Destination, o.Destination)) < 0 {
			t.Longest = &l[i]
		}
		t.Sum.Add(d)
		t.Min, t.Max = min(t.Min, d), max(t.Max, d)
		if d < 0 {
			t.Early++
		}
	}
	return t
}

// TestLatency compares transfer times with those of slowMatches, also for clocks that differ, and
// for parts that process the locations in any order and are merged in any order.
func TestLatency(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 9))
		const locations = 5
		d := testtrace.Defs(locations, 0, 0)
		scale := int64(1) << rng.IntN(30)
		var rows []testtrace.Row
		for range 150 {
			at, peer := uint32(rng.IntN(locations)), uint64(rng.IntN(locations))
			time, tag, size := rng.Int64N(1000)*scale-200, rng.Int64N(2), rng.Int64N(100)
			if rng.IntN(2) == 0 {
				rows = append(rows, testtrace.Send(at, time, peer, tag, size))
			} else {
				rows = append(rows, testtrace.Recv(at, time, peer, tag, size))
			}
		}
		slices.SortStableFunc(rows, func(a, b testtrace.Row) int { return int(a.Time - b.Time) })
		opt := Options{Latency: true, Intervals: true}
		if seed%3 == 0 {
			opt.Window = &trace.Window{From: 100 * scale, To: 700 * scale}
		}
		one := New(d, opt)
		if err := one.Batch(testtrace.Mixed(d, rows)); err != nil {
			t.Fatal(err)
		}
		want := one.Result()
		all, pairs := slowMatches(rows, opt.Window)
		slices.SortFunc(all, func(a, b Pair) int { return cmp.Compare(a.Received-a.Sent, b.Received-b.Sent) })
		got := want.Latency
		if !reflect.DeepEqual(got.Transfer, transferOf(all)) || got.Early != want.Early || got.Count != want.Matched {
			t.Fatalf("seed %d: found %+v, expected %+v", seed, got, transferOf(all))
		}
		for p, g := range map[float64]int64{0.5: got.Median, 0.9: got.P90, 0.99: got.P99} {
			exact := int64(0)
			if len(all) > 0 {
				x := all[int(math.Ceil(float64(len(all))*p-1e-9))-1]
				exact = x.Received - x.Sent
			}
			if math.Abs(float64(g-exact)) > math.Abs(float64(exact))/256 {
				t.Errorf("seed %d: %g: found %d, expected %d", seed, p, g, exact)
			}
		}
		for _, c := range want.Matrix {
			l := pairs[[2]uint32{c.Source, c.Destination}]
			if (c.Latency != nil) != (len(l) > 0) || c.Latency != nil && !reflect.DeepEqual(*c.Latency, transferOf(l)) {
				t.Errorf("seed %d: from %d to %d: found %+v, expected %+v", seed, c.Source, c.Destination, c.Latency, transferOf(l))
			}
			delete(pairs, [2]uint32{c.Source, c.Destination})
		}
		if len(pairs) > 0 {
			t.Errorf("seed %d: %v are missing", seed, pairs)
		}
		// Each location goes to one of three parts at random, in a random order.
		parts := []*Part{New(d, opt), New(d, opt), New(d, opt)}
		batches := testtrace.PerLocation(d, rows)
		for _, i := range rng.Perm(locations) {
			if err := parts[rng.IntN(3)].Batch(batches[i]); err != nil {
				t.Fatal(err)
			}
		}
		rng.Shuffle(3, func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		if rng.IntN(2) == 0 { // merge the parts in the order (a b) c or a (b c)
			parts[0], parts[1], parts[2] = parts[1], parts[2], parts[0]
			if err := parts[0].Merge(parts[1]); err != nil {
				t.Fatal(err)
			}
			if err := parts[2].Merge(parts[0]); err != nil {
				t.Fatal(err)
			}
			parts[0] = parts[2]
		} else {
			for _, p := range parts[1:] {
				if err := parts[0].Merge(p); err != nil {
					t.Fatal(err)
				}
			}
		}
		if r := parts[0].Result(); !reflect.DeepEqual(r, want) {
			t.Fatalf("seed %d: merged: found %+v, expected %+v", seed, r, want)
		}
	}
	d := testtrace.Defs(1, 0, 0)
	if err := New(d, Options{Latency: true}).Merge(New(d, Options{})); err == nil {
		t.Error("parts with other options were merged")
	}
}
