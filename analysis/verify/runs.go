package verify

import (
	"cmp"
	"math/bits"
	"slices"
	"sort"
)

// stateSet is a set of states, stored as bits or as runs. A specification may have a check for each of 100 000
// objects. An event concerns few of these objects, so that the sets of each check consist of few runs.
// Therefore the time for all checks together is proportional to the number of events, and not to the product
// of the numbers of events and checks.
//
// A run is only a shorter form of the numbers of its states. The sequence still has every state, even the
// states at which no proposition of a formula holds. Therefore the result is the same for all formulas,
// including formulas that depend on the number of such states ("next") or on their times (bounds).
type stateSet interface {
	has(i int) bool
	// find returns the first state i with from <= i < to that is in the set or, if in is false, that is not in
	// the set. If there is no such state, it returns to.
	find(from, to int, in bool) int
	complement(n int) stateSet
}

// run holds the states i with from <= i < end.
type run struct{ from, end uint32 }

// runs is a set of states: sorted runs that are not empty and neither overlap nor touch.
type runs []run

// wholeRun returns the set of the states below n.
func wholeRun(n int) runs { return runs{}.add(0, n) }

// add appends the states i with from <= i < end. These must not begin before the begin of the last run.
func (s runs) add(from, end int) runs {
	if from >= end {
		return s
	}
	if last := len(s) - 1; last >= 0 && int(s[last].end) >= from {
		s[last].end = max(s[last].end, uint32(end))
		return s
	}
	return append(s, run{uint32(from), uint32(end)})
}

// joined returns the union of runs in any order. It uses the memory of the list.
func joined(list []run) runs {
	byBegin := func(a, b run) int { return cmp.Compare(a.from, b.from) }
	if !slices.IsSortedFunc(list, byBegin) {
		slices.SortFunc(list, byBegin)
	}
	s := runs(list[:0])
	for _, x := range list {
		s = s.add(int(x.from), int(x.end))
	}
	return s
}

// after returns the index of the first run that ends after state i.
func (s runs) after(i int) int {
	return sort.Search(len(s), func(k int) bool { return int(s[k].end) > i })
}

func (s runs) has(i int) bool {
	k := s.after(i)
	return k < len(s) && int(s[k].from) <= i
}

func (s runs) find(from, to int, in bool) int {
	k := s.after(from)
	switch {
	case k == len(s) && in:
		return to
	case k == len(s):
	case in:
		from = max(from, int(s[k].from))
	case int(s[k].from) <= from:
		from = int(s[k].end)
	}
	return min(from, to)
}

// complement returns the states below n that are not in s.
func (s runs) complement(n int) stateSet {
	r := make(runs, 0, len(s)+1)
	from := 0
	for _, x := range s {
		r = r.add(from, int(x.from))
		from = int(x.end)
	}
	return r.add(from, n)
}

// next returns the states whose next state is in s. The last one of n states is in the result if pending is set.
func (s runs) next(n int, pending bool) runs {
	r := make(runs, 0, len(s)+1)
	for _, x := range s {
		r = r.add(max(int(x.from), 1)-1, int(x.end)-1)
	}
	if pending && n > 0 {
		r = r.add(n-1, n)
	}
	return r
}

// untilRuns returns the same states as [untilStates]. ok is false if this would take more than limit steps in
// addition to the steps for each run.
func untilRuns(t []int64, a, b runs, w ticks, pending bool, limit int) (s runs, ok bool) {
	var list []run
	add := func(from, end int) {
		if from < end {
			list = append(list, run{uint32(from), uint32(end)})
		}
	}
	// since returns the first state at or after from that is at most most ticks before state j.
	since := func(from, j int, most uint64) int {
		return from + sort.Search(j-from, func(i int) bool { return uint64(t[j])-uint64(t[from+i]) <= most })
	}
	// before adds the states i with p <= i < q for which a state from first to last is within the bound. These
	// states must be consecutive. They are consecutive in three cases: if first equals last; if the bound
	// begins at 0, because then they are the states from first to last and the states just before first; and
	// if the bound has no end, because then they are all states from p up to some state.
	before := func(p, q, first, last int) {
		end := last + 1
		if w.low > 0 {
			end = since(p, last, w.low-1)
		}
		add(since(p, first, w.high), min(end, q))
	}
	if w.low == 0 {
		list = append(list, b...)
	}
	k := 0
	for _, held := range a {
		p, q := int(held.from), int(held.end)
		for k < len(b) && int(b[k].end) <= p {
			k++
		}
		for _, goal := range b[k:] {
			first, last := max(int(goal.from), p), min(int(goal.end)-1, q) // b may hold where a ends
			if first > last {
				break
			}
			if w.low == 0 || w.high == noLimits.high {
				before(p, q, first, last)
				continue
			}
			if limit -= last - first; limit < 0 {
				return nil, false
			}
			for j := first; j <= last; j++ {
				before(p, q, j, j)
			}
		}
		if n := len(t); pending && q == n {
			add(since(p, n-1, w.high), n)
		}
	}
	return joined(list), true
}

// find implements stateSet.
func (s bitset) find(from, to int, in bool) int {
	for from < to {
		w := s[from/64]
		if !in {
			w = ^w
		}
		if w >>= from % 64; w != 0 {
			return min(from+bits.TrailingZeros64(w), to)
		}
		from = (from/64 + 1) * 64
	}
	return to
}

// setRun adds the states of a run.
func (s bitset) setRun(x run) {
	for i := int(x.from); i < int(x.end); {
		if i%64 == 0 && i+64 <= int(x.end) {
			s[i/64] = ^uint64(0)
			i += 64
			continue
		}
		s.set(i)
		i++
	}
}

// compact returns the set of n states as runs if it consists of few runs, and otherwise as bits.
func (s bitset) compact(n int) stateSet {
	var r runs
	for from := s.find(0, n, true); from < n; {
		end := s.find(from, n, false)
		if r = r.add(from, end); len(r) > fewRuns(n) {
			return s
		}
		from = s.find(end, n, true)
	}
	return r
}

// fewRuns returns the greatest number of runs with which a set of n states is stored as runs. The runs then
// take at most twice the memory of bits, and less time.
func fewRuns(n int) int { return 2 + n/32 }

// union collects the union of sets of n states.
type union struct {
	n    int
	list []run  // runs that bits lacks
	bits bitset // nil as long as there are few runs
}

// add adds a set.
func (u *union) add(s stateSet) {
	switch x := s.(type) {
	case runs:
		if u.bits != nil {
			if list, ok := x.withGaps(u.bits, u.n); ok {
				u.list, u.bits = joined(append(list, u.list...)), nil
				return
			}
		}
		if u.list = append(u.list, x...); len(u.list) > 2*fewRuns(u.n) {
			if u.list = joined(u.list); len(u.list) > fewRuns(u.n) {
				u.pack()
			}
		}
	case bitset:
		if u.bits == nil {
			u.list = joined(u.list)
			if list, ok := runs(u.list).withGaps(x, u.n); ok {
				u.list = list
				return
			}
		}
		u.pack()
		for i := range u.bits {
			u.bits[i] |= x[i]
		}
	}
}

// withGaps returns the union of s with bits. ok is false if s leaves out too many of n states for this to be faster
// than the union of all bits.
func (s runs) withGaps(b bitset, n int) (all runs, ok bool) {
	gaps := n
	for _, x := range s {
		gaps -= int(x.end - x.from)
	}
	if gaps > 2+n/64 {
		return nil, false
	}
	all = make(runs, 0, len(s)+gaps)
	at := 0
	for k := 0; at < n; k++ {
		next := run{uint32(n), uint32(n)}
		if k < len(s) {
			next = s[k]
		}
		for from := b.find(at, int(next.from), true); from < int(next.from); {
			end := b.find(from, int(next.from), false)
			all = all.add(from, end)
			from = b.find(end, int(next.from), true)
		}
		all = all.add(int(next.from), int(next.end))
		at = int(next.end)
	}
	return all, true
}

// addRun adds the states of a run.
func (u *union) addRun(x run) {
	if u.bits != nil {
		u.bits.setRun(x)
		return
	}
	u.add(runs{x})
}

// pack moves the runs to the bits.
func (u *union) pack() {
	if u.bits == nil {
		u.bits = newBitset(u.n)
	}
	for _, x := range u.list {
		u.bits.setRun(x)
	}
	u.list = u.list[:0]
}

// set returns the union. Nothing may be added after that.
func (u *union) set() stateSet {
	if u.bits == nil {
		s := joined(u.list)
		if u.list = s; len(s) <= fewRuns(u.n) {
			return s
		}
	}
	u.pack()
	return u.bits
}
