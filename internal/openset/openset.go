// Package openset finds the open elements of a stack from the middle of which elements are removed,
// in constant time for any depth. A damaged trace may have deeply nested calls that are left in the
// order in which they were entered, or many leaves without an enter.
package openset

import "slices"

// linearSearch is the number of elements from the top of a stack that are searched linearly.
const linearSearch = 64

// Index maps keys to the positions of open elements in a stack, which its owner keeps as a slice.
// It is inactive until a search has gone deep without a result. From then on, until the stack is
// low again, it keeps a map, and elements that are closed in the middle of the stack stay there as
// gaps. The zero Index is ready to use.
//
// The owner calls [Index.Open] for new elements, [Index.Find] to search and [Close] to close. The
// top is never a gap. Code that iterates over the stack must check [Index.Gap].
type Index[K comparable] struct {
	at   map[K][]int32 // positions, ascending; nil while inactive
	gap  []bool        // by position; may be shorter than the stack
	gaps int
}

// Mapped reports whether the stack has, or may have, gaps.
func (x *Index[K]) Mapped() bool { return x.at != nil }

// Open registers a new element with a key at a position, which must be the top.
func (x *Index[K]) Open(k K, place int) {
	if x.at != nil {
		x.at[k] = append(x.at[k], int32(place))
	}
}

// Find returns the position of the latest open element with a key among n, whose keys the function
// key returns, or -1.
func (x *Index[K]) Find(k K, n int, key func(place int) K) int {
	if x.at == nil {
		for i := n - 1; i >= max(0, n-linearSearch); i-- {
			if key(i) == k {
				return i
			}
		}
		if n <= linearSearch {
			return -1
		}
		x.at = map[K][]int32{}
		for i := range n {
			x.at[key(i)] = append(x.at[key(i)], int32(i))
		}
	}
	if l := x.at[k]; len(l) > 0 {
		return int(l[len(l)-1])
	}
	return -1
}

// Gap reports whether the element at a position is closed.
func (x *Index[K]) Gap(place int) bool { return place < len(x.gap) && x.gap[place] }

// Reset removes everything.
func (x *Index[K]) Reset() { *x = Index[K]{} }

// Clone returns an independent copy.
func (x *Index[K]) Clone() Index[K] {
	c := Index[K]{gap: slices.Clone(x.gap), gaps: x.gaps}
	if x.at != nil {
		c.at = make(map[K][]int32, len(x.at))
		for k, l := range x.at {
			c.at[k] = slices.Clone(l)
		}
	}
	return c
}

// Close closes the latest open element with a key, at a position of a stack. It returns the stack
// without the element, or with a gap there. Other elements may move.
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
		x.Reset() // a linear search is short again
	}
	return stack[:n]
}

// compact removes the gaps from a stack.
func compact[K comparable, T any](x *Index[K], stack []T) []T {
	moved := make([]int32, len(stack)) // the new positions
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
