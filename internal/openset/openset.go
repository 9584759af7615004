// Package openset finds what is open in a stack from the middle of which things are taken, in constant
// time however deep the stack is: a damaged trace may be deep in calls, and leave them in the order in
// which it entered them, or leave again and again what it never entered.
package openset

import "slices"

// deep is how far from the top of a stack things are searched for one by one.
const deep = 64

// Index knows where a stack, which its owner keeps as a slice, has things open, by their keys. It does
// nothing until a search has gone deep without finding anything. From then on, until the stack is low
// again, it has a map, and what is closed in the middle of the stack stays there as a gap. The zero Index
// is ready.
//
// Its owner says what is opened with [Index.Open], finds with [Index.Find] and closes with [Close]. Gaps
// are never on top. Whoever walks through the stack asks for [Index.Gap].
type Index[K comparable] struct {
	at   map[K][]int32 // places, ascending; nil until it is needed
	gap  []bool        // by place; it may be shorter than the stack
	gaps int
}

// Mapped reports whether the stack has, or may have, gaps.
func (x *Index[K]) Mapped() bool { return x.at != nil }

// Open notes that a thing with a key is opened at a place, which is the top.
func (x *Index[K]) Open(k K, place int) {
	if x.at != nil {
		x.at[k] = append(x.at[k], int32(place))
	}
}

// Find returns the place of the latest open thing with a key among n, whose keys key returns; -1 if
// there is none.
func (x *Index[K]) Find(k K, n int, key func(place int) K) int {
	if x.at == nil {
		for i := n - 1; i >= max(0, n-deep); i-- {
			if key(i) == k {
				return i
			}
		}
		if n <= deep {
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

// Gap reports whether what was at a place is closed.
func (x *Index[K]) Gap(place int) bool { return place < len(x.gap) && x.gap[place] }

// Reset forgets everything: nothing is open.
func (x *Index[K]) Reset() { *x = Index[K]{} }

// Clone returns a copy that is independent of x.
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

// Close closes the latest open thing with a key, which is at a place of a stack, and returns the stack
// without it: without the place, or with a gap there. Other things may get other places.
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
		if x.gaps++; x.gaps > deep && x.gaps > n/2 {
			return compact(x, stack)
		}
		return stack
	}
	for n > 0 && x.Gap(n-1) {
		n--
		x.gaps--
		x.gap = x.gap[:n]
	}
	if n <= deep/2 && x.gaps == 0 {
		x.Reset() // a search is short again
	}
	return stack[:n]
}

// compact takes the gaps out of a stack.
func compact[K comparable, T any](x *Index[K], stack []T) []T {
	moved := make([]int32, len(stack)) // the new places
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
