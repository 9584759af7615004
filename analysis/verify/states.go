package verify

import "math"

// bitset is a set of states.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

func (s bitset) has(i int) bool { return s[i/64]>>(i%64)&1 != 0 }

func (s bitset) set(i int) { s[i/64] |= 1 << (i % 64) }

// complement returns the states below n that are not in s.
func (s bitset) complement(n int) stateSet { return s.not(n) }

// not returns the complement as bits.
func (s bitset) not(n int) bitset {
	r := make(bitset, len(s))
	for i := range s {
		r[i] = ^s[i]
	}
	if n%64 != 0 {
		r[len(r)-1] &= 1<<(n%64) - 1
	}
	return r
}

// ticks is a bound in whole ticks. low and high belong to it.
type ticks struct{ low, high uint64 }

// noLimits is a bound that excludes no time.
var noLimits = ticks{0, math.MaxUint64}

// untilStates returns the states at which "a until b" holds: b holds at some state within the bound, and a
// holds at all states before this state. If pending is set, b may also hold at a state after the last one. The
// time is proportional to the number of states.
func untilStates(t []int64, a, b bitset, w ticks, pending bool) bitset {
	n := len(t)
	out := newBitset(n)
	if w == noLimits {
		after := pending
		for i := n - 1; i >= 0; i-- {
			if after = b.has(i) || a.has(i) && after; after {
				out.set(i)
			}
		}
		return out
	}
	// As i decreases, low and high also decrease. They are the first and the last state within the
	// bound.
	low, high := n, n-1
	goal := n // the first state at or after low at which b holds
	stop := n // the first state at or after i at which a does not hold
	for i := n - 1; i >= 0; i-- {
		if !a.has(i) {
			stop = i
		}
		for low > i && uint64(t[low-1])-uint64(t[i]) >= w.low {
			if low--; b.has(low) {
				goal = low
			}
		}
		for uint64(t[high])-uint64(t[i]) > w.high {
			high--
		}
		if goal <= high && goal <= stop || pending && high == n-1 && stop == n {
			out.set(i)
		}
	}
	return out
}

// nextStates returns the states of n states whose next state is in a. The last state is in the result if
// pending is set.
func nextStates(a bitset, n int, pending bool) bitset {
	out := newBitset(n)
	for i := range n {
		if i+1 < n && a.has(i+1) || i+1 == n && pending {
			out.set(i)
		}
	}
	return out
}
