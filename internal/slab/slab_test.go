package slab

import (
	"math/rand/v2"
	"testing"
)

// TestSlab compares a slab with a map, over several pages.
func TestSlab(t *testing.T) {
	var s Slab[int]
	want, greatest := map[int32]int{}, 0
	for n := range 10 << pageBits {
		if rand.IntN(3) > 0 {
			i, place := s.Take()
			if _, used := want[i]; used {
				t.Fatalf("Take returned place %d, which is in use", i)
			}
			*place, want[i] = n, n
		} else {
			for i := range want { // any one
				s.Free(i)
				delete(want, i)
				break
			}
		}
		greatest = max(greatest, len(want))
	}
	for i, v := range want {
		if got := *s.At(i); got != v {
			t.Errorf("found %d at place %d, expected %d", got, i, v)
		}
	}
	if s.Places() != greatest {
		t.Errorf("found %d places, expected %d, the greatest number of elements at a time", s.Places(), greatest)
	}
}
