package index

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// The time of each rank against one that is counted tick by tick, where regions of a rank are
// in each other and where they are not.
func TestRanks(t *testing.T) {
	r, spans := random(9, 2, 4000)
	x := build(t, r)
	first, last, _ := x.Extent()
	rng := rand.New(rand.NewPCG(2, 8))
	for i := range 200 {
		track := rng.IntN(2)
		ranks := make([]int, 7)
		for k := range ranks {
			if i%2 == 0 {
				ranks[k] = rng.IntN(3)
			}
		}
		ranks[rng.IntN(7)] = rng.IntN(3)
		from := first - 10 + rng.Int64N(last-first)
		to := from + 1 + rng.Int64N(9000)
		at := make([]int, to-from)
		for _, s := range spans[track] {
			for k := max(from, s.Start); k < min(to, s.End); k++ {
				at[k-from] = max(at[k-from], ranks[s.Region])
			}
		}
		want := make([]int64, 3)
		for _, k := range at {
			if k > 0 {
				want[k]++
			}
		}
		got, err := x.Ranks(t.Context(), track, from, to, 3, func(region uint32) int { return ranks[region] })
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("ranks %v from %d to %d: found %v, %v, expected %v", ranks, from, to, got, err, want)
		}
	}
}
