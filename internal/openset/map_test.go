package openset

import (
	"maps"
	"math/rand/v2"
	"testing"
)

// TestMap compares a Map with a map, while it grows beyond the limit of few elements and shrinks again.
func TestMap(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	var m Map[uint64, int]
	expected := map[uint64]int{}
	for step := range 100_000 {
		k := rng.Uint64N(40)
		switch growing := (step/200)%2 == 0; {
		case growing == (rng.IntN(10) < 7):
			m.Put(k, step)
			expected[k] = step
		case rng.IntN(2) == 0:
			v, ok := m.Get(k)
			if e, has := expected[k]; v != e || ok != has {
				t.Fatalf("step %d: found %d, %v for key %d, expected %d, %v", step, v, ok, k, e, has)
			}
		default:
			v, ok := m.Take(k)
			if e, has := expected[k]; v != e || ok != has {
				t.Fatalf("step %d: took %d, %v for key %d, expected %d, %v", step, v, ok, k, e, has)
			}
			delete(expected, k)
		}
		if m.Len() != len(expected) {
			t.Fatalf("step %d: found %d elements, expected %d", step, m.Len(), len(expected))
		}
	}
	if found := maps.Collect(m.All); !maps.Equal(found, expected) {
		t.Errorf("found %v, expected %v", found, expected)
	}
}
