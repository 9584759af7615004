package clocks

import (
	"cmp"
	"encoding/binary"

	"github.com/weft-trace/weft/internal/minheap"
)

// unpacker reads a sequence of packed numbers from its start.
type unpacker []byte

// next reads an unsigned number.
func (b *unpacker) next() uint64 {
	if x := (*b)[0]; x < 0x80 {
		*b = (*b)[1:]
		return uint64(x)
	}
	x, n := binary.Uvarint(*b)
	*b = (*b)[n:]
	return x
}

// signed reads a signed number.
func (b *unpacker) signed() int64 {
	x := b.next()
	return int64(x>>1) ^ -int64(x&1)
}

// fronts is a heap of nodes. Each node in the heap is the first one in the queue of its clock
// (clockState.queue) and waits for undecided constraints. The heap is ordered by the time from the first event
// of a node's clock to the node.
type fronts struct{ list []frontEntry }

// frontEntry is an entry of fronts: a node, and its time in ticks since the first event of its clock.
type frontEntry struct {
	after int64
	*waiter
}

// before orders entries by time, and then by clock.
func (a *frontEntry) before(b *frontEntry) bool {
	return cmp.Or(cmp.Compare(a.after, b.after), cmp.Compare(a.clock, b.clock)) < 0
}

// push adds the node w.
func (f *fronts) push(s *forward, w *waiter) {
	minheap.Push(&f.list, frontEntry{w.time - s.s.q.clocks[w.clock].first, w}, (*frontEntry).before)
}

// pop removes the first node and returns it. It skips nodes that already have a final time. It returns nil if
// the heap is empty.
func (f *fronts) pop() *waiter {
	for len(f.list) > 0 {
		if x := minheap.Pop(&f.list, (*frontEntry).before); !x.done {
			return x.waiter
		}
	}
	return nil
}

// search finds the strongly connected components of a graph with Tarjan's algorithm.
type search struct {
	next    func(u, i int32) int32 // function that returns the i-th successor of u, or none after the last one
	index   []int32                // order in which each node was found; nodes with an index other than 0 are skipped
	low     []int32
	onStack []bool // indexed by node: whether the node is on the stack
	stack   []int32
	count   int32
}

func newSearch(nodes int, next func(u, i int32) int32) *search {
	return &search{next: next, index: make([]int32, nodes), low: make([]int32, nodes), onStack: make([]bool, nodes)}
}

// findFrom finds the components that can be reached from root, except for the components that were found
// before. It calls found for each component. A component comes before the components from which it can be
// reached. It is valid during the call.
func (s *search) findFrom(root int32, found func(component []int32)) {
	type step struct{ u, next int32 }
	var calls []step
	enter := func(u int32) {
		s.count++
		s.index[u], s.low[u], s.onStack[u] = s.count, s.count, true
		s.stack = append(s.stack, u)
		calls = append(calls, step{u: u})
	}
	if s.index[root] == 0 {
		enter(root)
	}
	for len(calls) > 0 {
		x := &calls[len(calls)-1]
		u := x.u
		if v := s.next(u, x.next); v != none {
			x.next++
			if s.index[v] == 0 {
				enter(v)
			} else if s.onStack[v] {
				s.low[u] = min(s.low[u], s.index[v])
			}
			continue
		}
		calls = calls[:len(calls)-1]
		if len(calls) > 0 {
			up := calls[len(calls)-1].u
			s.low[up] = min(s.low[up], s.low[u])
		}
		if s.low[u] == s.index[u] {
			i := len(s.stack) - 1
			for s.stack[i] != u {
				i--
			}
			for _, w := range s.stack[i:] {
				s.onStack[w] = false
			}
			found(s.stack[i:])
			s.stack = s.stack[:i]
		}
	}
}
