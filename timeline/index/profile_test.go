package index

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weft-trace/weft/analysis/profile"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
)

// TestTree checks that addNested and addDisordered compute the same sums for the part of a block of nested spans
// up to a time. It also checks that properlyNested returns false for spans that end in any other order.
func TestTree(t *testing.T) {
	effort.Sequential(t)
	for _, astray := range []bool{false, true} {
		r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
		rng := rand.New(rand.NewPCG(9, 9))
		loc, now := r.Location("p"), int64(-50)
		var stack []uint32
		for range 60000 {
			now += rng.Int64N(4)
			n := len(stack)
			if n > 30 || n > 0 && rng.IntN(2) == 0 {
				i := n - 1
				if astray && rng.IntN(3000) == 0 {
					i = rng.IntN(n)
				}
				// The leave closes the innermost visit of its region.
				for j := n - 1; j > i; j-- {
					if stack[j] == stack[i] {
						i = j
					}
				}
				r.Leave(loc, now, stack[i])
				stack = slices.Delete(stack, i, i+1)
				continue
			}
			stack = append(stack, r.Region(string('a'+rune(rng.IntN(5)))))
			r.Enter(loc, now, stack[len(stack)-1])
		}
		x := buildIndex(t, r)
		e := x.dir.Tracks[0]
		w := x.scratch()
		trees, replays := 0, 0
		for i := range e.blocks {
			var frames []openSpan
			since := e.First
			if i > 0 {
				if err := w.decode(&e.blocks[i-1], w.before.decode); err != nil {
					t.Fatal(err)
				}
				frames, since = w.before.open, e.blocks[i-1].last
			}
			if err := w.decode(&e.blocks[i], w.b.decode); err != nil {
				t.Fatal(err)
			}
			if !properlyNested(frames, &w.b) {
				replays++
				continue
			}
			trees++
			for range 40 {
				at := since + rng.Int64N(e.blocks[i].last-since+1)
				for _, sign := range []int64{-1, 1} {
					got, want := tally{}, tally{}
					got.addNested(frames, since, &w.b, at, sign)
					want.addDisordered(slices.Clone(frames), since, &w.b, at, sign)
					for _, c := range want.list {
						region := c.Region
						if g := got.at(region); g.Count != c.Count || g.Inclusive != c.Inclusive || g.Exclusive != c.Exclusive ||
							g.Sum.Sum != c.Sum.Sum {
							t.Fatalf("block %d up to %d, %d: region %d: found %+v, expected %+v", i, at, sign, region, g.Sum, c.Sum)
						}
					}
					for _, g := range got.list {
						region := g.Region
						if !slices.ContainsFunc(want.list, func(c regionSum) bool { return c.Region == region }) &&
							(g.Count != 0 || g.Inclusive != trace.Ticks{} || g.Exclusive != trace.Ticks{}) {
							t.Fatalf("block %d up to %d, %d: region %d: found %+v, expected none", i, at, sign, region, g.Sum)
						}
					}
				}
			}
		}
		if trees == 0 || astray == (replays == 0) {
			t.Errorf("astray %v: %d blocks are nested, %d are not", astray, trees, replays)
		}
	}
}

// TestProfileOfDisorder checks the profiles of windows in traces in which regions are left in any
// order and many events have the same time. The spans extend over several blocks and are nested
// more deeply than DeepDepth. Regions with the same name, file and line are merged.
func TestProfileOfDisorder(t *testing.T) {
	effort.Sequential(t)
	for seed := range uint64(effort.Rounds(300)) {
		r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
		rng := rand.New(rand.NewPCG(seed, 1))
		loc, now := r.Location("p"), int64(0)
		regions := make([]uint32, 4)
		for i := range regions {
			regions[i] = r.Region(string('a' + rune(i)))
		}
		if seed%2 == 1 {
			regions[2] = r.Defs().Regions.Add(trace.Region{ID: "x", Name: "a"})
			regions[3] = r.Defs().Regions.Add(trace.Region{ID: "y", Name: "a", Line: 3})
		}
		rows := trace.NewRows(r.Defs())
		events := 5 + rng.IntN(60)
		if seed%3 == 2 {
			for range DeepDepth - 10 + rng.IntN(30) {
				r.Enter(loc, now, regions[rng.IntN(len(regions))])
				now += rng.Int64N(2)
			}
		}
		if seed%30 == 29 {
			events = 12000 // enough events for several blocks
		}
		for range events {
			if rng.IntN(2) == 0 {
				now += rng.Int64N(3)
			}
			if region := regions[rng.IntN(len(regions))]; rng.IntN(2) == 0 {
				r.Enter(loc, now, region)
			} else {
				r.Leave(loc, now, region)
			}
		}
		x := buildIndex(t, r)
		first, last, _ := x.Extent()
		for range 30 {
			from := first + rng.Int64N(last-first+1)
			to := from + 1 + rng.Int64N(last-from+1)
			p := profile.New(r.Defs(), profile.Options{Rows: rows, Window: &trace.Window{From: from, To: to}})
			if err := format.Recorded(r).Scan(t.Context(), trace.Everything(), format.PerLocation, p); err != nil {
				t.Fatal(err)
			}
			var want []Sum
			for _, g := range p.Result().Regions {
				if g.Count > 0 {
					want = append(want, Sum{g.Region, g.Count, g.Inclusive, g.Exclusive, g.Sum, g.Min, g.Max})
				}
			}
			if got, err := x.Profile(0, from, to); err != nil || !slices.Equal(got, want) {
				t.Fatalf("seed %d, %d to %d:\nfound    %v %v\nexpected %v", seed, from, to, got, err, want)
			}
		}
	}
}
