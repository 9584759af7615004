package clocks

import "math"

// amortisationDivisor is the divisor of the clock rate by which clocks run slower after a moved receive,
// and faster before it: Rabenseifner's amortisation with γ = 0.99.
const amortisationDivisor = 100

// amortise returns the times of nodes after a linear correction, moved so that no effect is before
// its cause. The order must be that of the problem.
func (q *problem) amortise(o *order, linear []int64) []int64 {
	moved := q.forward(o, linear)
	q.backward(o, linear, moved)
	return moved
}

// forward moves nodes later, in the order of causes.
func (q *problem) forward(o *order, linear []int64) []int64 {
	n := int32(len(q.times))
	out := make([]int64, n)
	need := make([]int64, len(o.unit)) // the least time of each node or group by its causes
	for i := range need {
		need[i] = math.MinInt64
	}
	// the latest node of each clock that was moved, or none if its shift has decayed
	anchor := make([]int32, len(q.clocks))
	for c := range anchor {
		anchor[c] = none
	}
	for _, u := range o.units {
		t := int64(math.MinInt64)
		members := o.membersOf(u)
		for _, v := range members {
			t = max(t, need[v])
			if v < n {
				t = max(t, decayedTime(linear, out, anchor[q.nodeOf[v]], v))
			}
		}
		for _, v := range members {
			if v < n {
				c := q.nodeOf[v]
				switch {
				case t == linear[v]:
					anchor[c] = none
				case t > decayedTime(linear, out, anchor[c], v):
					anchor[c] = v
				}
				out[v] = t
			}
			for i := o.start[v]; i < o.start[v+1]; i++ {
				later := t
				if o.message[i] != none {
					later += q.latency
				}
				need[o.to[i]] = max(need[o.to[i]], later)
			}
		}
	}
	return out
}

// decayedTime returns the time of node v on a clock that runs slower since node anchor was moved.
func decayedTime(linear, out []int64, anchor, v int32) int64 {
	if anchor == none {
		return linear[v]
	}
	d := linear[v] - linear[anchor]
	return max(linear[v], out[anchor]+d-d/amortisationDivisor)
}

// backward moves the nodes before a moved node gradually later, as far as their effects allow.
func (q *problem) backward(o *order, linear, out []int64) {
	n := int32(len(q.times))
	most := make([]int64, len(o.unit))
	for i := range most {
		most[i] = math.MaxInt64
	}
	for i, g := range q.groups {
		for _, v := range g.to {
			most[int(n)+i] = min(most[int(n)+i], out[v])
		}
	}
	for u := range n {
		for i := o.start[u]; i < o.start[u+1]; i++ {
			if v := o.to[i]; v < n {
				most[u] = min(most[u], out[v]-q.latency)
			} else {
				most[u] = min(most[u], most[v])
			}
		}
		if len(o.members[o.unit[u]]) > 1 {
			most[u] = out[u]
		}
	}
	for c := range q.clocks {
		x := &q.clocks[c]
		anchor := x.to - 1
		for v := x.to - 2; v >= x.from; v-- {
			d := linear[anchor] - linear[v]
			wanted := out[anchor] - d - d/amortisationDivisor
			t := max(out[v], min(wanted, most[v]))
			if t != wanted {
				anchor = v
			}
			out[v] = t
		}
	}
}
