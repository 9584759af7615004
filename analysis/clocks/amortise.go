package clocks

import "math"

// slower is by which part of 1 clocks run slower behind a receive that was moved, and
// faster before it: Rabenseifner's amortisation, with γ = 0.99.
const slower = 100

// amortise moves the times of nodes, which are given as a linear correction has them, so
// that nothing is before what causes it. The order must be that of the problem.
func (q *problem) amortise(o *order, linear []int64) []int64 {
	moved := q.forward(o, linear)
	q.backward(o, linear, moved)
	return moved
}

// forward goes through all nodes in the order of causes.
func (q *problem) forward(o *order, linear []int64) []int64 {
	n := int32(len(q.times))
	out := make([]int64, n)
	need := make([]int64, len(o.unit)) // what causes a node or group is not later
	for i := range need {
		need[i] = math.MinInt64
	}
	anchor := make([]int32, len(q.clocks)) // the node that was moved last, none if its move is over
	for c := range anchor {
		anchor[c] = none
	}
	for _, u := range o.units {
		t := int64(math.MinInt64)
		members := o.of(u)
		for _, v := range members {
			t = max(t, need[v])
			if v < n {
				t = max(t, behind(linear, out, anchor[q.nodeOf[v]], v))
			}
		}
		for _, v := range members {
			if v < n {
				c := q.nodeOf[v]
				switch {
				case t == linear[v]:
					anchor[c] = none
				case t > behind(linear, out, anchor[c], v):
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

// behind is the time of a node as a clock has it that runs slower since it was moved at
// another one.
func behind(linear, out []int64, anchor, v int32) int64 {
	if anchor == none {
		return linear[v]
	}
	d := linear[v] - linear[anchor]
	return max(linear[v], out[anchor]+d-d/slower)
}

// backward leads up to nodes that were moved, as far as what the nodes cause allows.
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
			wanted := out[anchor] - d - d/slower
			t := max(out[v], min(wanted, most[v]))
			if t != wanted {
				anchor = v
			}
			out[v] = t
		}
	}
}
