package openset

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestIndex checks that a stack with an index always has the same open elements, in the same order,
// as a list from which elements are deleted.
func TestIndex(t *testing.T) {
	type thing struct{ key, number int }
	rng := rand.New(rand.NewPCG(1, 2))
	var list, stack []thing
	var x Index[int]
	mapped, compacted, deepest := 0, 0, 0
	for step := range 300_000 {
		k := rng.IntN(300)
		growing := (step/2000)%2 == 0
		if rng.IntN(10) < 7 == growing {
			list = append(list, thing{k, step})
			x.Open(k, len(stack))
			stack = append(stack, thing{k, step})
		} else {
			if rng.IntN(3) == 0 && len(list) > 0 {
				k = list[0].key // key of the outermost element
			}
			want := -1
			for i := range list {
				if list[i].key == k {
					want = i
				}
			}
			at := x.Find(k, len(stack), func(i int) int { return stack[i].key })
			if (at < 0) != (want < 0) || at >= 0 && stack[at] != list[want] {
				t.Fatalf("step %d: found place %d for %d, expected that of %d in %d", step, at, k, want, len(list))
			}
			if at >= 0 {
				list = slices.Delete(list, want, want+1)
				gaps := x.gaps
				if stack = Close(&x, stack, at, k); gaps > linearSearch && x.gaps == 0 && len(stack) > 0 {
					compacted++
				}
			}
		}
		if x.Mapped() {
			mapped++
		}
		if len(stack) > 0 && x.Gap(len(stack)-1) {
			t.Fatalf("step %d: a gap is on top", step)
		}
		deepest = max(deepest, len(stack))
		if step%997 == 0 {
			var open []thing
			for i := range stack {
				if !x.Gap(i) {
					open = append(open, stack[i])
				}
			}
			if !slices.Equal(open, list) {
				t.Fatalf("step %d: %d things are open, expected %d", step, len(open), len(list))
			}
			if c := x.Clone(); rng.IntN(2) == 0 {
				x = c
			}
		}
		if step%50_000 == 49_999 {
			list, stack = list[:0], stack[:0]
			x.Reset()
		}
	}
	if mapped < 1000 || compacted < 3 || deepest < 500 {
		t.Errorf("mapped in %d steps, compacted %d times, at most %d deep", mapped, compacted, deepest)
	}
}

// TestFindDeep checks that a long stack gets a map, with which an element deep in the stack is found without a
// search of the whole stack, and that a short stack gets no map.
func TestFindDeep(t *testing.T) {
	for _, x := range []struct {
		n, key, want int
		mapped       bool
	}{{linearSearch, 0, 0, false}, {linearSearch, -1, -1, false}, {linearSearch + 1, 1, 1, false},
		{linearSearch + 1, 0, 0, true}, {linearSearch + 1, -1, -1, true}, {1000, 0, 0, true}} {
		var i Index[int]
		if got := i.Find(x.key, x.n, func(i int) int { return i }); got != x.want || i.Mapped() != x.mapped {
			t.Errorf("key %d of %d: found place %d, a map %t, expected %d, %t", x.key, x.n, got, i.Mapped(), x.want, x.mapped)
		}
	}
}

// TestQueue checks that a queue finds the same elements as a list from which elements are deleted.
func TestQueue(t *testing.T) {
	type thing struct {
		number int
		keys   [2]int
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var list []thing
	var q Queue[thing, int]
	mapped := 0
	for step := range 300_000 {
		if growing := (step/2000)%2 == 0; rng.IntN(10) < 7 == growing || len(list) == 0 {
			x := thing{step, [2]int{rng.IntN(300), rng.IntN(3)}}
			list = append(list, x)
			q.Open(x, x.keys)
			continue
		}
		k := rng.IntN(300)
		want := slices.IndexFunc(list, func(x thing) bool { return k != 0 && (x.keys[0] == k || x.keys[1] == k) })
		at := q.Find(k)
		if q.at != nil {
			mapped++
		}
		if (at < 0) != (want < 0) {
			t.Fatalf("step %d: found place %d, expected that of %d", step, at, want)
		}
		if at < 0 {
			at, want = q.First(), 0
		}
		if q.At(at) != list[want] {
			t.Fatalf("step %d: found %v, expected %v", step, q.At(at), list[want])
		}
		q.Close(at)
		if list = slices.Delete(list, want, want+1); q.Len() != len(list) {
			t.Fatalf("step %d: found %d elements, expected %d", step, q.Len(), len(list))
		}
		if step%997 == 0 && !slices.Equal(q.All(), list) {
			t.Fatalf("step %d: found %v, expected %v", step, q.All(), list)
		}
	}
	if mapped == 0 {
		t.Error("the map was never used")
	}
}
