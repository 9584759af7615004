package openset

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestStack compares a Stack with a slice that is searched from its end, while both grow beyond the depth at which
// the index gets its map, and shrink again.
func TestStack(t *testing.T) {
	type element struct{ key, value int }
	rng := rand.New(rand.NewPCG(2, 5))
	var s Stack[int, int]
	var expected []element
	for step := range 100_000 {
		k := rng.IntN(30)
		switch growing := (step/1000)%2 == 0; {
		case growing == (rng.IntN(10) < 7):
			s.Push(k, step)
			expected = append(expected, element{k, step})
		default:
			at := len(expected) - 1
			take := s.Pop
			if rng.IntN(3) > 0 {
				take = func() (int, bool) { return s.Take(k) }
				for at >= 0 && expected[at].key != k {
					at--
				}
			}
			v, ok := take()
			if ok != (at >= 0) || ok && v != expected[at].value {
				t.Fatalf("step %d: took %d, %v, expected element %d of %v", step, v, ok, at, expected)
			}
			if ok {
				expected = slices.Delete(expected, at, at+1)
			}
		}
		if s.Len() != len(expected) {
			t.Fatalf("step %d: found %d elements, expected %d", step, s.Len(), len(expected))
		}
		if step%1000 == 500 {
			i := 0
			for v := range s.All {
				if i >= len(expected) || v != expected[i].value {
					t.Fatalf("step %d: element %d is %d, expected %v", step, i, v, expected)
				}
				i++
			}
		}
	}
}
