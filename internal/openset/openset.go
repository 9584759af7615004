// Package openset finds open elements in a stack, such as open calls. Elements may also be removed from the
// middle of the stack. Both operations take constant time at any depth. A damaged trace may have deeply nested
// calls that are left in the order in which they were entered, or many leaves of regions that are not open.
package openset

import "slices"

// linearSearch is the number of elements at the top of a stack that a search compares one by one before it
// uses a map.
const linearSearch = 64

// Index maps keys to the positions of open elements in a stack. The stack is a slice that belongs to the owner
// of the Index. The Index has no map until a search has to compare many elements. It then keeps a map until
// the stack is short again. As long as it has a map, an element that is closed in the middle of the stack
// stays there as a gap. The zero Index is ready to use.
//
// The owner must call [Index.Open] for each new element, and [Close] for each element that is closed. The top
// of the stack is never a gap. Code that iterates over the stack must skip the positions for which [Index.Gap]
// returns true.
type Index[K comparable] struct {
	at   map[K][]int32 // positions in ascending order; nil if the index has no map
	gap  []bool        // whether a position is a gap; positions beyond the end of the slice are not
	gaps int
}

// Mapped reports whether the index has a map. Only then can the stack have gaps.
func (ix *Index[K]) Mapped() bool { return ix.at != nil }

// Open adds an element with the key k. place is the position of the element, which must be the top of the
// stack.
func (ix *Index[K]) Open(k K, place int) {
	if ix.at != nil {
		ix.at[k] = append(ix.at[k], int32(place))
	}
}

// Find returns the position of the latest open element with the key k in a stack of n elements. It returns -1
// if there is no such element. key returns the key of the element at a position.
func (ix *Index[K]) Find(k K, n int, key func(place int) K) int {
	if ix.at == nil {
		for i := n - 1; i >= max(0, n-linearSearch); i-- {
			if key(i) == k {
				return i
			}
		}
		if n <= linearSearch {
			return -1
		}
		ix.at = map[K][]int32{}
		for i := range n {
			ix.at[key(i)] = append(ix.at[key(i)], int32(i))
		}
	}
	if l := ix.at[k]; len(l) > 0 {
		return int(l[len(l)-1])
	}
	return -1
}

// Gap reports whether the element at a position has been closed.
func (ix *Index[K]) Gap(place int) bool { return place < len(ix.gap) && ix.gap[place] }

// Reset makes the index the index of an empty stack.
func (ix *Index[K]) Reset() { *ix = Index[K]{} }

// Clone returns an independent copy of the index.
func (ix *Index[K]) Clone() Index[K] {
	c := Index[K]{gap: slices.Clone(ix.gap), gaps: ix.gaps}
	if ix.at != nil {
		c.at = make(map[K][]int32, len(ix.at))
		for k, l := range ix.at {
			c.at[k] = slices.Clone(l)
		}
	}
	return c
}

// Close closes the element with the key k at position place of a stack. This must be the latest open element
// with the key. Close returns the new stack, in which the element has been removed or is a gap. The positions
// of other elements may have changed.
func Close[K comparable, T any](x *Index[K], stack []T, place int, k K) []T {
	if x.at == nil {
		return slices.Delete(stack, place, place+1)
	}
	if l := x.at[k]; len(l) > 1 {
		x.at[k] = l[:len(l)-1]
	} else {
		delete(x.at, k)
	}
	n := len(stack) - 1
	if place < n {
		for len(x.gap) <= place {
			x.gap = append(x.gap, false)
		}
		x.gap[place] = true
		if x.gaps++; x.gaps > linearSearch && x.gaps > n/2 {
			return compact(x, stack)
		}
		return stack
	}
	for n > 0 && x.Gap(n-1) {
		n--
		x.gaps--
		x.gap = x.gap[:n]
	}
	if n <= linearSearch/2 && x.gaps == 0 {
		x.Reset() // from here on, searching one by one is fast enough
	}
	return stack[:n]
}

// compact removes all gaps from a stack and returns it. It updates the positions in the index.
func compact[K comparable, T any](x *Index[K], stack []T) []T {
	moved := make([]int32, len(stack)) // new position of each element
	n := 0
	for i := range stack {
		moved[i] = int32(n)
		if !x.Gap(i) {
			stack[n] = stack[i]
			n++
		}
	}
	for _, l := range x.at {
		for i, place := range l {
			l[i] = moved[place]
		}
	}
	x.gap, x.gaps = x.gap[:0], 0
	return stack[:n]
}
