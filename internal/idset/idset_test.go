package idset

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
)

// TestDuplicates checks that Add and Finish together report the second and each later occurrence of
// a number, and nothing else.
func TestDuplicates(t *testing.T) {
	for name, next := range map[string]func(*rand.Rand, int) int64{
		"ascending": func(_ *rand.Rand, i int) int64 { return int64(i) },
		"twice":     func(_ *rand.Rand, i int) int64 { return int64(i / 2) },
		"backwards": func(_ *rand.Rand, i int) int64 { return int64(-i) },
		"dense":     func(r *rand.Rand, _ int) int64 { return r.Int64N(50_000) },
		"sparse":    func(r *rand.Rand, _ int) int64 { return r.Int64() >> 20 },
		"extreme":   func(_ *rand.Rand, i int) int64 { return math.MaxInt64 + int64(i%7) },
		"clusters":  func(r *rand.Rand, i int) int64 { return r.Int64N(100)*1_000_000 + int64(i/100) },
		// the last of 20 numbers, the first 19, and the last one again
		"into a gap": func(_ *rand.Rand, i int) int64 { return int64(i/21*20 + (i%21+19)%20) },
	} {
		r := rand.New(rand.NewPCG(1, 2))
		s := New(1 << 20)
		defer s.Close()
		seen := map[int64]int{}
		found := map[int64]int{}
		for i := range 100_000 {
			id := next(r, i)
			seen[id]++
			dup, err := s.Add(id, int64(i))
			if err != nil {
				t.Fatal(err)
			}
			if dup {
				found[id]++
			}
		}
		if err := s.Finish(context.Background(), func(id, _ int64) error { found[id]++; return nil }); err != nil {
			t.Fatal(err)
		}
		for id, n := range seen {
			if found[id] != n-1 {
				t.Errorf("%s: id %d occurs %d times, %d duplicates found", name, id, n, found[id])
			}
		}
	}
}
