package openset

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// What is said to be lacking is not there, and once a search has failed all that is not there is
// known, until nothing is open.
func TestCounts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var stack []int
	var c Counts[int]
	known, lacks := false, 0
	for step := range 200_000 {
		k := rng.IntN(300)
		switch i := slices.Index(stack, k); {
		case rng.IntN(2) == 0 && (step/500)%2 == 0:
			stack = append(stack, k)
			c.Open(k)
		case c.Lacks(k):
			if lacks++; i >= 0 {
				t.Fatalf("step %d: %d is said not to be open", step, k)
			}
		case i < 0:
			if known {
				t.Fatalf("step %d: %d, which is not open, is searched for again", step, k)
			}
			c.Missed(len(stack), func(i int) int { return stack[i] })
			known = len(stack) >= deep
		default:
			stack = slices.Delete(stack, i, i+1)
			c.Close(k)
			known = known && len(stack) > 0
		}
		if step%50_000 == 49_999 {
			stack, known = stack[:0], false
			c.Reset()
		}
	}
	if lacks < 10_000 {
		t.Errorf("%d times something was known not to be open", lacks)
	}
}
