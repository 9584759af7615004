package clocks

import (
	"cmp"
	"math"
	"slices"
)

// ring is a set of clocks that bound each other from both sides, directly or through other clocks. The offset
// and drift of the first clock stay 0.
type ring struct {
	clocks []int32
	place  []int32 // indexed by clock: its index in clocks, or none; all rings of an estimate share it
	pairs  []*pair // constraints between these clocks
	// offsetOnly is set if drifts must be 0.
	offsetOnly bool
	out        [][]int32 // indexed by index in clocks: indexes of the pairs whose causes are on the clock
	// weights and corners hold the results of pair.weight, by index in pairs.
	weights []float64
	corners []corner
	// next holds, by index in clocks, the pair that the clock followed in the last search for the worst
	// cycle. It is nil before the first search.
	next []int32
	met  bool // integer offsets with drifts of 0 meet all constraints
}

// contains reports whether clock c belongs to the ring.
func (r *ring) contains(c int32) bool { return r.place[c] != none }

// These limits bound the improvement of drifts. First, sweeps improve the line of each clock against all
// clocks of its pairs. After that, rounds improve only the worst cycle. All rounds together examine at most
// effort pairs.
const (
	sweeps = 8
	rounds = 200
	effort = 5_000_000
)

// solve computes the drifts and offsets of the ring's clocks. Both results are indexed by clock.
func (r *ring) solve(drift, offset []float64) {
	if len(r.clocks) == 1 {
		return
	}
	r.out = make([][]int32, len(r.clocks))
	for i, p := range r.pairs {
		r.out[r.place[p.from]] = append(r.out[r.place[p.from]], int32(i))
	}
	r.weights, r.corners = make([]float64, len(r.pairs)), make([]corner, len(r.pairs))
	r.setWeights(drift)
	slack, _ := r.slack()
	// If a cycle of integer weights is violated, its mean is below 0 by at least 1 divided by its
	// length.
	if slack > -0.5/float64(len(r.clocks)) || r.offsetOnly {
		r.setIntegerOffsets(slack, offset)
		return
	}
	// If nothing improves, all drifts are 0, and the remaining violations are accepted.
	best, bestSlack := r.ownDrifts(drift), slack
	without := slack
	var cycle []int32
	try := func() bool {
		r.setWeights(drift)
		slack, cycle = r.slack()
		if slack > bestSlack {
			best, bestSlack = r.ownDrifts(drift), slack
		}
		return slack >= 0
	}
	r.fitDrifts(drift)
	try()
	for k, before := 0, 0.0; k < sweeps && (k == 0 || slack > before+0.1*math.Abs(before)); k++ {
		before = slack
		r.setOffsets(slack, offset)
		r.sweep(drift, offset)
		try()
	}
	good := bestSlack >= 0
	if !good {
		r.restore(best, drift)
		try()
	}
	for k := 0; k < min(rounds, 1+effort/len(r.pairs)) && !good && r.relax(drift, slack, cycle); k++ {
		good = try()
	}
	if bestSlack < without/4 {
		// The drifts improve the worst cycle too little, so use none.
		for _, c := range r.clocks {
			drift[c] = 0
		}
		r.setWeights(drift)
		r.setIntegerOffsets(without, offset)
		return
	}
	r.restore(best, drift)
	r.setWeights(drift)
	r.setOffsets(bestSlack, offset)
}

// restore sets the drifts of the ring's clocks to those that ownDrifts has returned.
func (r *ring) restore(from, drift []float64) {
	for i, c := range r.clocks {
		drift[c] = from[i]
	}
}

// sweep gives each clock in turn the best line against all clocks of its pairs, at their current
// lines. It finds drifts even if no pair of clocks has enough messages to determine one.
func (r *ring) sweep(drift, offset []float64) {
	in := make([][]int32, len(r.clocks))
	for i, p := range r.pairs {
		in[r.place[p.to]] = append(in[r.place[p.to]], int32(i))
	}
	var forth, back []corner
	for place, c := range r.clocks {
		forth, back = forth[:0], back[:0]
		for _, i := range in[place] {
			p := r.pairs[i]
			for _, k := range p.hull {
				forth = append(forth, corner{k.x, k.w + offset[p.from] + drift[p.from]*(k.x+k.w-float64(p.latency))})
			}
		}
		for _, i := range r.out[place] {
			p := r.pairs[i]
			for _, k := range p.hull {
				back = append(back, corner{k.x + k.w - float64(p.latency), k.w - offset[p.to] - drift[p.to]*k.x})
			}
		}
		forth, back = hull(forth), hull(back)
		drift[c], _ = bothWays(forth, back)
		up, down := lineBounds(forth, back, drift[c])
		offset[c] = (up - down) / 2
	}
	o, d := offset[r.clocks[0]], drift[r.clocks[0]]
	for _, c := range r.clocks {
		offset[c], drift[c] = offset[c]-o, drift[c]-d
	}
}

// hull returns the corners of the upper hull of points, ordered by x.
func hull(l []corner) []corner {
	slices.SortFunc(l, func(a, b corner) int { return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(a.w, b.w)) })
	h := l[:0]
	for _, k := range l {
		h = extend(h, k)
	}
	return h
}

// extend adds a corner to a hull. The x of the corner must not be less than the x of all other corners.
func extend(h []corner, k corner) []corner {
	if n := len(h); n > 0 && h[n-1].x == k.x {
		if h[n-1].w >= k.w {
			return h
		}
		h = h[:n-1]
	}
	for n := len(h); n > 1; n = len(h) {
		a, b := h[n-2], h[n-1]
		if (b.w-a.w)*(k.x-a.x) > (k.w-a.w)*(b.x-a.x) {
			break
		}
		h = h[:n-1]
	}
	return append(h, k)
}

// setIntegerOffsets computes integer offsets for drifts of 0, with the given slack rounded down.
func (r *ring) setIntegerOffsets(slack float64, offset []float64) {
	r.met = r.setOffsets(math.Floor(slack+0.25/float64(len(r.clocks))), offset) >= 0
	for _, c := range r.clocks {
		offset[c] = math.Floor(offset[c])
	}
}

// ownDrifts returns the drifts of the ring's own clocks, in the order of r.clocks. drift holds the drifts of all
// clocks of the trace.
func (r *ring) ownDrifts(drift []float64) []float64 {
	out := make([]float64, len(r.clocks))
	for i, c := range r.clocks {
		out[i] = drift[c]
	}
	return out
}

// setWeights computes the weights and corners of all pairs for given drifts.
func (r *ring) setWeights(drift []float64) {
	for i, p := range r.pairs {
		r.weights[i], r.corners[i] = p.weight(drift)
	}
}

// slack returns the greatest number of ticks that can lie between the send and the receive of every message.
// It is negative if not all constraints can be met. slack also returns the cycle of pairs that limits this
// number: the cycle with the greatest mean weight. It uses Howard's algorithm.
func (r *ring) slack() (float64, []int32) {
	n := len(r.clocks)
	value := make([]float64, n)
	scale := 0.0
	for _, w := range r.weights {
		scale = max(scale, math.Abs(w))
	}
	if r.next == nil { // otherwise start with the pairs of the previous search
		r.next = make([]int32, n)
		for u := range n {
			r.next[u] = r.out[u][0]
			for _, i := range r.out[u] {
				if r.weights[i] > r.weights[r.next[u]] {
					r.next[u] = i
				}
			}
		}
	}
	next := r.next
	for u := range n {
		value[u] = r.weights[next[u]]
	}
	to := func(u int32) int32 { return r.place[r.pairs[next[u]].to] }
	epsilon := 1e-7 + scale*1e-14
	mark := make([]int32, n)
	best, cycle := math.Inf(-1), []int32(nil)
	leads := make([][]int32, n)
	for round := range 1000 {
		// Find the best of the cycles that the clocks' pairs form.
		clear(mark)
		best = math.Inf(-1)
		at := int32(none)
		for s := range int32(n) {
			u := s
			for mark[u] == 0 {
				mark[u] = s + 1
				u = to(u)
			}
			if mark[u] != s+1 {
				continue
			}
			sum, count := 0.0, 0
			for v := u; ; {
				sum += r.weights[next[v]]
				count++
				if v = to(v); v == u {
					break
				}
			}
			if m := sum / float64(count); m > best {
				best, at = m, u
			}
		}
		cycle = cycle[:0]
		for v := at; ; {
			cycle = append(cycle, next[v])
			if v = to(v); v == at {
				break
			}
		}
		// Compute the values of the clocks that lead to the cycle.
		for u := range leads {
			leads[u] = leads[u][:0]
		}
		for u := range int32(n) {
			if u != at {
				leads[to(u)] = append(leads[to(u)], u)
			}
		}
		queue := []int32{at}
		for len(queue) > 0 {
			v := queue[0]
			queue = queue[1:]
			for _, u := range leads[v] {
				value[u] = value[v] + r.weights[next[u]] - best
				queue = append(queue, u)
			}
		}
		better := false
		for u := range int32(n) {
			for _, i := range r.out[u] {
				x := r.weights[i] - best + value[r.place[r.pairs[i].to]]
				if x > value[u] {
					better = better || x > value[u]+epsilon
					value[u], next[u] = x, i
				}
			}
		}
		if !better || round == 999 {
			break
		}
	}
	return -best, cycle
}

// setOffsets computes offsets with which every message has at least the slack. Each offset is the middle
// between the greatest and the least possible offset. setOffsets returns the slack of these offsets, which may be
// less because of rounding.
func (r *ring) setOffsets(slack float64, offset []float64) float64 {
	step := 1.0
	if slack != math.Floor(slack) { // rounding must not make the worst cycle positive
		step = 0.01
		slack -= step
	}
	for range 60 {
		least, ok := r.potentials(slack, false)
		most, ok2 := r.potentials(slack, true)
		if ok && ok2 {
			for i, c := range r.clocks {
				offset[c] = least[i]/2 - most[i]/2
			}
			return slack
		}
		slack -= step
		step *= 4
	}
	return math.Inf(-1)
}

// potentials returns the lengths of the longest paths from the first clock to each other clock or, if back is
// set, from each clock to the first one. ok is false if there is a cycle of positive length.
func (r *ring) potentials(slack float64, back bool) (far []float64, ok bool) {
	far = make([]float64, len(r.clocks))
	for i := range far {
		far[i] = math.Inf(-1)
	}
	far[0] = 0
	return far, r.raise(far, slack, back)
}

// raise raises the values of clocks until each value exceeds those of the clocks before it by the weights of the pairs
// between them and the slack. If back is set, it takes the pairs backward. The result is false if there is a cycle of
// positive length.
func (r *ring) raise(far []float64, slack float64, back bool) bool {
	for range len(r.clocks) + 1 {
		changed := false
		for i, p := range r.pairs {
			u, v := r.place[p.from], r.place[p.to]
			if back {
				u, v = v, u
			}
			if x := far[u] + r.weights[i] + slack; x > far[v] {
				far[v], changed = x, true
			}
		}
		if !changed {
			return true
		}
	}
	return false
}

// relax moves the drifts towards values with which the worst cycle has a slack of 0. slack is the mean of the
// cycle before the move. relax returns false if the drifts have no effect on the cycle.
func (r *ring) relax(drift []float64, slack float64, cycle []int32) bool {
	gradient := map[int32]float64{}
	for _, i := range cycle {
		p, k := r.pairs[i], r.corners[i]
		gradient[p.from] += k.x + k.w - float64(p.latency)
		gradient[p.to] -= k.x
	}
	delete(gradient, r.clocks[0])
	square := 0.0
	for _, c := range r.clocks {
		square += gradient[c] * gradient[c]
	}
	if square == 0 {
		return false
	}
	excess := -slack * float64(len(cycle))
	changed := false
	for c, g := range gradient {
		d := min(max(drift[c]-1.2*excess*g/square, -maxDrift), maxDrift)
		changed = changed || d != drift[c]
		drift[c] = d
	}
	return changed
}

// slope is the drift of clock to relative to clock from, as the messages between the two clocks determine it.
// It has a weight for the fit of all drifts.
type slope struct {
	from, to      int32
	drift, weight float64
}

// fitDrifts sets the drifts to a least squares fit of the slopes.
func (r *ring) fitDrifts(drift []float64) {
	list := r.slopes()
	n := len(r.clocks)
	// This is the conjugate gradient method for the normal equations. It leaves out the first clock,
	// whose drift is 0.
	times := func(x, y []float64) {
		clear(y)
		for _, s := range list {
			d := s.weight * (x[s.to] - x[s.from])
			y[s.to] += d
			y[s.from] -= d
		}
		y[0] = 0
	}
	diagonal, x, rest := make([]float64, n), make([]float64, n), make([]float64, n)
	for _, s := range list {
		diagonal[s.from] += s.weight
		diagonal[s.to] += s.weight
		rest[s.to] += s.weight * s.drift
		rest[s.from] -= s.weight * s.drift
	}
	rest[0] = 0
	scaled, along, image := make([]float64, n), make([]float64, n), make([]float64, n)
	dot := func(a, b []float64) float64 {
		s := 0.0
		for i := range a {
			s += a[i] * b[i]
		}
		return s
	}
	precondition := func() {
		for i := range scaled {
			scaled[i] = rest[i] / diagonal[i]
		}
	}
	precondition()
	copy(along, scaled)
	size := dot(rest, scaled)
	enough := size * 1e-24
	for k := 0; k < 2*n+50 && size > enough; k++ {
		times(along, image)
		step := size / dot(along, image)
		for i := range x {
			x[i] += step * along[i]
			rest[i] -= step * image[i]
		}
		precondition()
		before := size
		size = dot(rest, scaled)
		for i := range along {
			along[i] = scaled[i] + size/before*along[i]
		}
	}
	for i, c := range r.clocks {
		drift[c] = min(max(x[i], -maxDrift), maxDrift)
	}
}

// slopes returns the slopes of all pairs of clocks, with weights of at most 1.
func (r *ring) slopes() []slope {
	reverse := map[[2]int32]*pair{}
	for _, p := range r.pairs {
		reverse[[2]int32{p.from, p.to}] = p
	}
	var out []slope
	surest := 0.0
	for _, p := range r.pairs {
		back := reverse[[2]int32{p.to, p.from}]
		var s slope
		var width float64
		switch {
		case back == nil:
			s.drift, width = oneWay(p)
		case p.from < p.to:
			s.drift, width = bothWays(p.hull, back.hull)
		default:
			continue
		}
		s.from, s.to = r.place[p.from], r.place[p.to]
		s.weight = 1 / (width * width)
		surest = max(surest, s.weight)
		out = append(out, s)
	}
	for i := range out {
		out[i].weight /= surest
	}
	return out
}

// fewMessages is the largest number of messages in one direction that do not determine a drift, because
// all of them may have been slow.
const fewMessages = 8

// oneWay returns the drift that the messages of one direction suggest. The hull of these messages consists of
// the fastest ones, and the drift is the slope of the edge in the middle of the hull. width is the uncertainty
// of the drift.
func oneWay(p *pair) (drift, width float64) {
	h := p.hull
	n := len(h)
	if n < 2 || p.count <= fewMessages {
		return 0, 2 * maxDrift
	}
	length := h[n-1].x - h[0].x
	middle := h[0].x + length/2
	i, _ := slices.BinarySearchFunc(h, middle, func(c corner, x float64) int { return cmp.Compare(c.x, x) })
	i = min(max(i, 1), n-1)
	a, b := h[i-1], h[i]
	drift = (b.w - a.w) / (b.x - a.x)
	height := 1.0
	for _, c := range h {
		height = max(height, a.w+drift*(c.x-a.x)-c.w)
	}
	if width = 2 * height / length; width > 2*maxDrift || math.Abs(drift) > maxDrift {
		return 0, 2 * maxDrift
	}
	return drift, width
}

// lineBounds returns bounds on the value, in the middle of the trace, of a line with the given drift. The
// line lies above the corners of forth if that value is at least up, and below the negated corners
// of back if it is at most −down.
func lineBounds(forth, back []corner, drift float64) (up, down float64) {
	up, down = math.Inf(-1), math.Inf(-1)
	for _, c := range forth {
		up = max(up, c.w-drift*c.x)
	}
	for _, c := range back {
		down = max(down, c.w+drift*c.x)
	}
	return up, down
}

// bothWays returns the drift of the receiver of hull forth that the messages of both directions
// determine. It returns the middle of the range of possible drifts, and the width of the range. If no
// drift is possible, it returns the drift with the least violation. If the range has no bounds, it
// returns the drift closest to 0.
func bothWays(forth, back []corner) (drift, width float64) {
	free := func(d float64) float64 {
		up, down := lineBounds(forth, back, d)
		return -up - down
	}
	lo, hi := -maxDrift, maxDrift
	for range 90 {
		a, b := lo+(hi-lo)/3, hi-(hi-lo)/3
		if free(a) < free(b) {
			lo = a
		} else {
			hi = b
		}
	}
	best := (lo + hi) / 2
	if free(best) < 0 {
		return best, 1e-12 - 2*free(best)/extent(forth, back)
	}
	edge := func(bad float64) float64 {
		if free(bad) >= 0 {
			return bad
		}
		good := best
		for range 60 {
			if m := (good + bad) / 2; free(m) >= 0 {
				good = m
			} else {
				bad = m
			}
		}
		return good
	}
	low, high := edge(-maxDrift), edge(maxDrift)
	if low == -maxDrift || high == maxDrift {
		return min(max(0, low), high), high - low
	}
	return (low + high) / 2, max(high-low, 1e-12)
}

// extent returns the number of ticks from the first to the last corner of two hulls, at least 1.
func extent(a, b []corner) float64 {
	return max(1, max(a[len(a)-1].x, b[len(b)-1].x)-min(a[0].x, b[0].x))
}
