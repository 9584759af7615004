package lanes

import (
	"math/rand/v2"
	"testing"
)

// TestLanes begins and ends random claims. A claim must get the lowest lane that no open claim of its resource has.
func TestLanes(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	l := New()
	open := [2]map[int64]int{{}, {}}
	for step := range 20_000 {
		resource, id := rng.Uint32N(2), rng.Int64N(30)
		want, isOpen := open[resource][id]
		if rng.IntN(2) == 0 {
			lane, ok := l.Begin(resource, id)
			if ok == isOpen {
				t.Fatalf("step %d: Begin returns %v for a claim that is open: %v", step, ok, isOpen)
			}
			if isOpen {
				continue
			}
			used := map[int]bool{}
			for _, x := range open[resource] {
				used[x] = true
			}
			for want = 0; used[want]; want++ {
			}
			if lane != want {
				t.Fatalf("step %d: found lane %d, expected %d", step, lane, want)
			}
			open[resource][id] = lane
			continue
		}
		if lane, ok := l.End(resource, id); ok != isOpen || lane != want {
			t.Fatalf("step %d: End returns %d, %v, expected %d, %v", step, lane, ok, want, isOpen)
		}
		delete(open[resource], id)
	}
}
