package postorder

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestReceives completes posted receives in random orders. Each value must come once, and in the order of posts unless
// more values are held than fit.
func TestReceives(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 1))
		var r Receives[uint64]
		var open, found, expected []uint64
		for range 300 {
			switch k := random.IntN(4); {
			case k == 0 && len(open) < 100:
				open = append(open, r.Post(true))
			case k == 1: // a blocking receive completes at once
				n := r.Post(false)
				expected = append(expected, n)
				found = append(found, r.Complete(n, n)...)
			case len(open) > 0:
				i := random.IntN(len(open))
				n := open[i]
				if open = slices.Delete(open, i, i+1); k == 2 {
					found = append(found, r.Close(n)...) // it is cancelled
					continue
				}
				expected = append(expected, n)
				found = append(found, r.Complete(n, n)...)
			}
			if len(r.posts) > 2*len(open) || r.open != len(open) {
				t.Fatalf("program %d: found %d posts, %d of them open, expected %d open ones and no more than twice that", seed,
					len(r.posts), r.open, len(open))
			}
		}
		found = append(found, r.Flush()...)
		if slices.Sort(expected); !slices.Equal(found, expected) {
			t.Fatalf("program %d: found %v, expected %v", seed, found, expected)
		}
	}
}

// TestMostHeld checks that values do not wait for more than 256 others after a receive that never completes.
func TestMostHeld(t *testing.T) {
	var r Receives[int]
	r.Post(true)
	for i := range 1000 {
		list := r.Complete(r.Post(false), i)
		if i < mostHeld && len(list) > 0 || i >= mostHeld && !slices.Equal(list, []int{i - mostHeld}) {
			t.Fatalf("value %d: found %v", i, list)
		}
	}
	if n := len(r.Flush()); n != mostHeld {
		t.Errorf("%d values are left, expected %d", n, mostHeld)
	}
}
