package numberset

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestSet compares sets of dense, sparse and negative numbers with maps.
func TestSet(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	draw := []func() int64{
		func() int64 { return rng.Int64N(3000) },
		func() int64 { return rng.Int64N(3000) - 1500 },
		func() int64 { return int64(rng.Uint64()) },
		func() int64 {
			return []int64{math.MinInt64, math.MaxInt64, -1, 0, 1 << 40}[rng.IntN(5)] + rng.Int64N(3) - 1
		},
	}
	for i, number := range draw {
		var s Set
		want := map[int64]bool{}
		for range 3000 {
			n := number()
			if s.Has(n) != want[n] {
				t.Fatalf("numbers of sort %d: Has(%d) = %v, expected %v", i, n, s.Has(n), want[n])
			}
			if n = number(); rng.IntN(2) == 0 {
				s.Add(n)
				want[n] = true
			}
		}
		for n := range want {
			if !s.Has(n) {
				t.Errorf("numbers of sort %d: the set lacks %d", i, n)
			}
		}
	}
}

// TestMemory checks that 100 000 numbers in a row share their pages.
func TestMemory(t *testing.T) {
	var s Set
	for n := range int64(100_000) {
		s.Add(n)
	}
	if got := s.pages.Places(); got != 196 {
		t.Errorf("found %d pages, expected 196", got)
	}
}
