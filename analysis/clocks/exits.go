package clocks

import (
	"cmp"
	"maps"
	"slices"
)

// maxSample is the greatest number of operations whose differences are kept for two clocks. It is even.
const maxSample = 32

// exits holds differences between the times at which members leave operations in which all wait for all. The members
// leave at nearly the same time, so the differences show by how much their clocks differ. The keys are pairs of clocks.
type exits map[[2]int32]*sample

// sample holds every n-th of a series of numbers, so that there are no more than maxSample.
type sample struct {
	values       []int64
	count, every int
}

func (s *sample) add(x int64) {
	if s.count%s.every == 0 {
		if len(s.values) == maxSample {
			for i := range maxSample / 2 {
				s.values[i] = s.values[2*i]
			}
			s.values = s.values[:maxSample/2]
			s.every *= 2
		}
		s.values = append(s.values, x)
	}
	s.count++
}

// median returns the median, and half of the distance between the quartiles.
func (s *sample) median() (middle, spread int64) {
	l := slices.Sorted(slices.Values(s.values))
	return l[len(l)/2], (l[len(l)*3/4] - l[len(l)/4]) / 2
}

// add adds an operation whose members leave at the times of the nodes. It ignores operations with several members on
// a clock.
func (e exits) add(to []node) {
	for i := range to[1:] {
		if to[i].clock == to[i+1].clock {
			return
		}
	}
	for _, n := range to[1:] {
		k := [2]int32{to[0].clock, n.clock}
		s := e[k]
		if s == nil {
			s = &sample{every: 1}
			e[k] = s
		}
		s.add(to[0].time - n.time)
	}
}

// near returns, for each clock, the clocks with which it forms a pair, in a fixed order.
func (e exits) near() map[int32][]int32 {
	near := map[int32][]int32{}
	for _, k := range slices.SortedFunc(maps.Keys(e), func(a, b [2]int32) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	}) {
		near[k[0]], near[k[1]] = append(near[k[0]], k[1]), append(near[k[1]], k[0])
	}
	return near
}

// leaveTogether replaces the offsets of a ring without drifts, which are in the middles of their ranges. It chooses
// offsets in the ranges with which the members of operations leave at the same time: the median of the operations
// counts. A clock keeps the middle of its range if the operations differ by more than half of this range.
func (e *estimate) leaveTogether(r *ring, offset []float64) {
	if !r.met || len(r.clocks) < 2 {
		return
	}
	wanted := e.exitOffsets(r)
	if len(wanted) < 2 {
		return
	}
	least, _ := r.potentials(0, false)
	most, _ := r.potentials(0, true)
	far, changed := make([]float64, len(r.clocks)), false
	for i, c := range r.clocks {
		far[i] = offset[c]
		if x, ok := wanted[c]; ok && float64(x.spread) < -most[i]/2-least[i]/2 {
			far[i], changed = float64(x.offset-e.lines[c].base), true
		}
	}
	if !changed || !r.raise(far, 0, false) {
		return
	}
	for i, c := range r.clocks {
		offset[c] = far[i] - far[0]
	}
}

// exitOffset is the offset that operations determine, relative to the first clock of a ring, and with the bases of the
// lines. spread is the sum of the spreads of the samples on the way from that clock.
type exitOffset struct{ offset, spread int64 }

// exitOffsets returns the offsets of the clocks that operations connect to the first clock of a ring.
func (e *estimate) exitOffsets(r *ring) map[int32]exitOffset {
	first := r.clocks[0]
	found, queue := map[int32]exitOffset{first: {offset: e.lines[first].base}}, []int32{first}
	for len(queue) > 0 {
		u := queue[0]
		queue = queue[1:]
		for _, v := range e.near[u] {
			if _, ok := found[v]; ok || !r.contains(v) {
				continue
			}
			x := found[u]
			if s := e.exits[[2]int32{u, v}]; s != nil {
				middle, spread := s.median()
				x.offset, x.spread = x.offset+middle, x.spread+spread
			} else {
				middle, spread := e.exits[[2]int32{v, u}].median()
				x.offset, x.spread = x.offset-middle, x.spread+spread
			}
			found[v] = x
			queue = append(queue, v)
		}
	}
	return found
}
