package forest

import (
	"math/rand/v2"
	"testing"
)

// TestAdd compares a forest with the search of all ancestors, for random parents, some of which entries get twice.
func TestAdd(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		n := 1 + r.IntN(30)
		var f Forest
		parents := map[uint32]uint32{}
		for range 3 * n {
			entry, parent := uint32(r.IntN(n)), uint32(r.IntN(n))
			want := true
			for p, ok := parent, true; ok; p, ok = parents[p] {
				if p == entry {
					want = false
					break
				}
			}
			if got := f.Add(entry, parent); got != want {
				t.Fatalf("found %t for parent %d of %d with %v, expected %t", got, parent, entry, parents, want)
			}
			if want {
				parents[entry] = parent
			}
		}
	}
}
