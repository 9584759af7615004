package minheap

import (
	"container/heap"
	"math/rand/v2"
	"testing"
)

// entry has an order by key alone, so that entries with equal keys show whether the heap moves them as
// container/heap does.
type entry struct{ key, id int }

// reference implements [heap.Interface].
type reference []entry

func (r reference) Len() int           { return len(r) }
func (r reference) Less(i, j int) bool { return r[i].key < r[j].key }
func (r reference) Swap(i, j int)      { r[i], r[j] = r[j], r[i] }
func (r *reference) Push(x any)        { *r = append(*r, x.(entry)) }
func (r *reference) Pop() any {
	last := len(*r) - 1
	x := (*r)[last]
	*r = (*r)[:last]
	return x
}

func less(a, b *entry) bool { return a.key < b.key }

// TestLikeContainerHeap compares random operations with those of container/heap.
func TestLikeContainerHeap(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var h []entry
		want := &reference{}
		for id := range rng.IntN(40) {
			x := entry{rng.IntN(10), id}
			h, *want = append(h, x), append(*want, x)
		}
		Init(h, less)
		heap.Init(want)
		for id := range 200 {
			switch op := rng.IntN(5); {
			case op < 2 || len(h) == 0:
				x := entry{rng.IntN(10), 100 + id}
				Push(&h, x, less)
				heap.Push(want, x)
			case op == 2:
				if x, y := Pop(&h, less), heap.Pop(want).(entry); x != y {
					t.Fatalf("Pop: found %v, expected %v", x, y)
				}
			case op == 3:
				i := rng.IntN(len(h))
				if x, y := Remove(&h, i, less), heap.Remove(want, i).(entry); x != y {
					t.Fatalf("Remove: found %v, expected %v", x, y)
				}
			default:
				i, key := rng.IntN(len(h)), rng.IntN(10)
				h[i].key, (*want)[i].key = key, key
				Fix(h, i, less)
				heap.Fix(want, i)
			}
			for i, x := range h {
				if x != (*want)[i] {
					t.Fatalf("found %v, expected %v", h, *want)
				}
			}
		}
	}
}
