package clocks

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// maxDrift is the greatest drift that a correction can have. Quartz clocks drift by at most a tenth of this
// value, so a greater difference has another cause.
const maxDrift = 0.002

// fewPairs is a limit on the pairs of a begin and an end of a collective operation. If an operation has at most
// this many pairs, the constraints of all its pairs are added at the start.
const fewPairs = 256

// line is the linear correction of a clock: t becomes t + base + offset + drift·(t − middle).
type line struct {
	base, middle  int64 // ticks
	shift         int64 // added to all corrected clocks, only in method at
	offset, drift float64
}

// at returns the corrected time of t, rounded to a tick.
func (l *line) at(t int64) int64 {
	return t + l.base + l.shift + int64(math.Round(l.offset+l.drift*float64(t-l.middle)))
}

// corner is a corner of the hull of the constraints between two clocks: at time x of the receiving clock, this
// clock must be at least w ticks ahead of the sending clock. x is in ticks, relative to the middle of the
// trace. x and w take the bases of the lines into account.
type corner struct{ x, w float64 }

// pair holds the constraints between two clocks: their causes are on clock from, and their effects are on
// clock to.
type pair struct {
	from, to int32
	latency  int64 // the least latency of the constraints
	count    int64 // number of constraints
	// greatest number of ticks by which a constraint is violated; negative if no constraint is violated
	worst  int64
	points []point // corners of the hull in ticks, exact
	// hull holds the corners in points relative to the bases of the lines.
	hull []corner
}

// weight returns by how many ticks the offset of clock to must exceed the offset of clock from, for given
// drifts. It also returns the corner that determines this number.
func (p *pair) weight(drift []float64) (float64, corner) {
	best, at := math.Inf(-1), corner{}
	df, dt, latency := drift[p.from], drift[p.to], float64(p.latency)
	for _, c := range p.hull {
		if w := c.w + df*(c.x+c.w-latency) - dt*c.x; w > best {
			best, at = w, c
		}
	}
	return best, at
}

// estimate computes a linear correction of each clock.
type estimate struct {
	q         *problem
	opt       Options
	reference int32 // clock that keeps its times
	lines     []line
	pairs     []pair
	number    map[[2]int32]int32 // index in pairs, by the clocks from and to
	// indexed by clock: index in pairs of the last constraint whose cause is on the clock
	recent []int32
	// indexed by clock: indexes of the pairs in which the clock is from (out) or to (in)
	out, in [][]int32
	// component holds, for each clock, the lowest clock of its component. A component consists of the clocks
	// that constraints connect, directly or through other clocks.
	component []int32
	search    *search // finds components
	place     []int32 // indexed by clock: its index in the current ring, or none
	placed    []int32 // the clocks of the current ring
	exits     exits
	near      map[int32][]int32 // see [exits.near]
}

// newEstimate returns an estimate without constraints.
func newEstimate(q *problem, opt Options, reference int32) *estimate {
	e := &estimate{q: q, opt: opt, reference: reference, number: map[[2]int32]int32{},
		recent: make([]int32, len(q.clocks)), place: make([]int32, len(q.clocks)), exits: exits{}}
	for c := range e.place {
		e.place[c] = none
	}
	e.search = newSearch(len(q.clocks), func(c, i int32) int32 {
		if int(i) == len(e.out[c]) {
			return none
		}
		return e.pairs[e.out[c][i]].to
	})
	return e
}

// add adds a constraint.
func (e *estimate) add(c *constraint) {
	if c.message {
		e.bound(c.from[0], c.to[0], e.q.latency)
		return
	}
	if c.together {
		e.exits.add(c.to)
	}
	if !c.hasManyPairs() {
		for _, u := range c.from {
			for _, v := range c.to {
				e.bound(u, v, 0)
			}
		}
		return
	}
	// At first, add each begin only with the ends on the clocks that are 1, 2, 4 … positions further in the
	// list. Other pairs are added later if the correction violates them.
	for i, u := range c.from {
		for k := 1; k < len(c.to); k *= 2 {
			e.bound(u, c.to[(i+k)%len(c.to)], 0)
		}
	}
}

// bound adds the constraint that v is not earlier than u plus the latency. It returns false if u and v are on
// the same clock.
func (e *estimate) bound(u, v node, latency int64) bool {
	if u.clock == v.clock {
		return false
	}
	i := e.recent[u.clock]
	if int(i) >= len(e.pairs) || e.pairs[i].from != u.clock || e.pairs[i].to != v.clock {
		k := [2]int32{u.clock, v.clock}
		var ok bool
		if i, ok = e.number[k]; !ok {
			i = int32(len(e.pairs))
			e.number[k] = i
			e.pairs = append(e.pairs, pair{from: u.clock, to: v.clock, worst: math.MinInt64, latency: latency})
		}
		e.recent[u.clock] = i
	}
	p := &e.pairs[i]
	need := u.time + latency - v.time
	p.count++
	p.worst, p.latency = max(p.worst, need), min(p.latency, latency)
	p.points = addPoint(p.points, point{v.time, need})
	return true
}

// solve computes the lines of all clocks.
func (e *estimate) solve(ctx context.Context) error {
	e.lines = make([]line, len(e.q.clocks))
	e.collect()
	e.near = e.exits.near()
	e.findComponents()
	for _, clocks := range e.byComponent() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(clocks) < 2 || !e.opt.Always && e.consistent(clocks) {
			continue
		}
		e.rebase(clocks)
		e.computeHulls(clocks)
		if err := e.solveComponent(ctx, clocks); err != nil {
			return err
		}
	}
	return nil
}

// collect sorts the pairs by clocks, and indexes them.
func (e *estimate) collect() {
	slices.SortFunc(e.pairs, func(a, b pair) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	n := len(e.q.clocks)
	e.out, e.in = make([][]int32, n), make([][]int32, n)
	for i := range e.pairs {
		p := &e.pairs[i]
		e.number[[2]int32{p.from, p.to}] = int32(i)
		e.out[p.from] = append(e.out[p.from], int32(i))
		e.in[p.to] = append(e.in[p.to], int32(i))
	}
}

// findComponents computes the components of the clocks.
func (e *estimate) findComponents() {
	e.component = make([]int32, len(e.q.clocks))
	for c := range e.component {
		e.component[c] = int32(c)
	}
	find := func(c int32) int32 {
		for e.component[c] != c {
			e.component[c] = e.component[e.component[c]]
			c = e.component[c]
		}
		return c
	}
	for i := range e.pairs {
		a, b := find(e.pairs[i].from), find(e.pairs[i].to)
		e.component[max(a, b)] = min(a, b)
	}
	for c := range e.component {
		e.component[c] = find(int32(c))
	}
}

// byComponent returns the clocks of each component. The reference clock is the first one of its
// component.
func (e *estimate) byComponent() [][]int32 {
	lists := make([][]int32, len(e.q.clocks))
	for c, k := range e.component {
		lists[k] = append(lists[k], int32(c))
	}
	lists = slices.DeleteFunc(lists, func(l []int32) bool { return l == nil })
	for _, l := range lists {
		if i := slices.Index(l, e.reference); i > 0 {
			copy(l[1:], l[:i])
			l[0] = e.reference
		}
	}
	return lists
}

// consistent reports whether the clocks violate no constraint even without a correction.
func (e *estimate) consistent(clocks []int32) bool {
	for _, c := range clocks {
		for _, i := range e.in[c] {
			if e.pairs[i].worst > 0 {
				return false
			}
		}
	}
	return true
}

// rebase sets the bases of the lines so that they remove most of the offsets. The rest is small enough
// for floating-point numbers.
func (e *estimate) rebase(clocks []int32) {
	seen := map[int32]bool{clocks[0]: true}
	queue := []int32{clocks[0]}
	back := map[[2]int32]int64{}
	for _, c := range clocks {
		for _, i := range e.out[c] {
			back[[2]int32{e.pairs[i].from, e.pairs[i].to}] = e.pairs[i].worst
		}
	}
	base := func(c, from, ahead int64) {
		e.lines[c].base = min(max(e.lines[from].base+ahead, -maxLength), maxLength)
	}
	for len(queue) > 0 {
		c := queue[0]
		queue = queue[1:]
		for _, i := range e.out[c] {
			if v := e.pairs[i].to; !seen[v] {
				seen[v] = true
				ahead := e.pairs[i].worst
				if w, both := back[[2]int32{v, c}]; both {
					ahead = ahead/2 - w/2
				}
				base(int64(v), int64(c), ahead)
				queue = append(queue, v)
			}
		}
		for _, i := range e.in[c] {
			if v := e.pairs[i].from; !seen[v] {
				seen[v] = true
				base(int64(v), int64(c), -e.pairs[i].worst)
				queue = append(queue, v)
			}
		}
	}
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for _, c := range clocks {
		x := &e.q.clocks[c]
		first = min(first, x.first+e.lines[c].base)
		last = max(last, x.last+e.lines[c].base)
	}
	for _, c := range clocks {
		l := &e.lines[c]
		l.middle = first/2 + last/2 - l.base
	}
}

// computeHulls computes the hulls of all pairs for which clock to is one of the given clocks.
func (e *estimate) computeHulls(clocks []int32) {
	for _, c := range clocks {
		for _, i := range e.in[c] {
			p := &e.pairs[i]
			from, to := &e.lines[p.from], &e.lines[p.to]
			shift := from.base - to.base
			p.hull = p.hull[:0]
			for _, b := range p.points {
				p.hull = extend(p.hull, corner{float64(b.received - to.middle), float64(b.need + shift)})
			}
		}
	}
}

// solveComponent computes the lines of the clocks of a component. If other clocks bound a clock from one side
// only, solveComponent moves that clock no further than necessary.
func (e *estimate) solveComponent(ctx context.Context, clocks []int32) error {
	drift := make([]float64, len(e.q.clocks))
	offset := make([]float64, len(e.q.clocks))
	for _, l := range e.rings(clocks) {
		if err := ctx.Err(); err != nil {
			return err
		}
		r := e.ring(l)
		r.solve(drift, offset)
		e.leaveTogether(r, offset)
		if l[0] != clocks[0] { // make the lines relative to the first clock of the component
			for _, c := range l[1:] {
				offset[c] -= float64(e.lines[l[0]].base) + offset[l[0]]
			}
			offset[l[0]] = -float64(e.lines[l[0]].base)
		}
		// Clocks outside of this ring that bound it belong to earlier rings, whose offsets are final.
		need := 0.0
		for _, c := range l {
			for _, i := range e.in[c] {
				if p := &e.pairs[i]; !r.contains(p.from) {
					w, _ := p.weight(drift)
					need = max(need, math.Ceil(offset[p.from]+w-offset[c]))
				}
			}
		}
		for _, c := range l {
			offset[c] += need
		}
	}
	zero := offset[clocks[0]]
	for _, c := range clocks {
		e.lines[c].offset, e.lines[c].drift = min(max(offset[c]-zero, -maxLength), maxLength), drift[c]
	}
	return nil
}

// rings returns the strongly connected parts of a component, which are sets of clocks that bound each
// other from both sides. The parts are in the order of causes.
func (e *estimate) rings(clocks []int32) (out [][]int32) {
	for _, c := range clocks {
		e.search.index[c] = 0
	}
	for _, root := range clocks {
		e.search.findFrom(root, func(l []int32) {
			l = slices.Clone(l)
			slices.Sort(l)
			if k := slices.Index(l, clocks[0]); k > 0 { // move the reference to the start
				copy(l[1:], l[:k])
				l[0] = clocks[0]
			}
			out = append(out, l)
		})
	}
	slices.Reverse(out)
	return out
}

// ring returns the ring of clocks that bound each other, with the pairs between them.
func (e *estimate) ring(clocks []int32) *ring {
	for _, c := range e.placed {
		e.place[c] = none
	}
	for i, c := range clocks {
		e.place[c] = int32(i)
	}
	e.placed = clocks
	r := &ring{clocks: clocks, place: e.place, offsetOnly: e.opt.Model == Offset}
	for _, c := range clocks {
		for _, i := range e.out[c] {
			if r.contains(e.pairs[i].to) {
				r.pairs = append(r.pairs, &e.pairs[i])
			}
		}
	}
	return r
}
