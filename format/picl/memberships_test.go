package picl

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weft-trace/weft/internal/effort"
)

// TestMemberships compares memberships, short and long ones, with a map.
func TestMemberships(t *testing.T) {
	for seed := range uint64(effort.Rounds(100)) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		most := 1 + rnd.Int64N(4*shortMemberships)
		var m memberships
		want := map[int64]bool{}
		for range 200 {
			id := rnd.Int64N(most)
			if rnd.IntN(3) > 0 {
				m.add(id)
				want[id] = true
			} else {
				m.remove(id)
				delete(want, id)
			}
			if got := slices.Sorted(slices.Values(m.ids)); !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
				t.Fatalf("seed %d: found %d, expected %v", seed, got, want)
			}
			for id := range most {
				if i := m.place(id); (i >= 0) != want[id] || i >= 0 && m.ids[i] != id {
					t.Fatalf("seed %d: found id %d at %d of %d, expected it: %t", seed, id, i, m.ids, want[id])
				}
			}
		}
	}
}
