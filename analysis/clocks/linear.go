package clocks

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// maxDrift is the greatest drift of a clock that is considered. Those of quartzes are at most a
// tenth of it; anything greater is not a drift.
const maxDrift = 0.002

// fewPairs is the greatest number of pairs of begins and ends of an operation up to which all pairs
// are added.
const fewPairs = 256

// line is the linear correction of a clock: t becomes t + base + offset + drift·(t − middle).
type line struct {
	base, middle  int64 // ticks
	shift         int64 // a common shift in ticks, which only at applies
	offset, drift float64
}

// at returns the corrected time of t, rounded to a tick.
func (l *line) at(t int64) int64 {
	return t + l.base + l.shift + int64(math.Round(l.offset+l.drift*float64(t-l.middle)))
}

// bound is a constraint from a message or from a pair of a begin and an end: the receive on clock
// to is not before the send on clock from plus the latency.
type bound struct {
	from, to       int32 // clocks
	sent, received int64
	latency        int64
}

// need returns by how many ticks the receiving clock must be ahead.
func (b *bound) need() int64 { return b.sent + b.latency - b.received }

// corner is a corner of the hull of the bounds between two clocks: at time x of the receiving
// clock, relative to the middle of the trace, that clock must be w ahead of the sending one. Both
// are in ticks, after the bases are applied.
type corner struct{ x, w float64 }

// pair holds the constraints of clock from on clock to.
type pair struct {
	from, to int32
	latency  float64
	bounds   []bound
	worst    int64 // the greatest need
	hull     []corner
}

// weight returns by how much the offset of to must exceed that of from, and the corner that
// determines it.
func (p *pair) weight(drift []float64) (float64, corner) {
	best, at := math.Inf(-1), corner{}
	df, dt := drift[p.from], drift[p.to]
	for _, c := range p.hull {
		if w := c.w + df*(c.x+c.w-p.latency) - dt*c.x; w > best {
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
	bounds    []bound
	lines     []line
	pairs     []pair
	out, in   [][]int32 // pairs by clock
	// the component of each clock, by its lowest clock; clocks without ties are components of their
	// own
	component []int32
	search    *search // of clocks
}

func newEstimate(q *problem, opt Options, reference int32) *estimate {
	e := &estimate{q: q, opt: opt, reference: reference}
	e.search = newSearch(len(q.clocks), func(c, i int32) int32 {
		if int(i) == len(e.out[c]) {
			return none
		}
		return e.pairs[e.out[c][i]].to
	})
	for _, m := range q.messages {
		if !m.ignored {
			e.add(m.from, m.to, q.latency)
		}
	}
	for _, g := range q.groups {
		if g.ignored {
			continue
		}
		if len(g.from)*len(g.to) <= fewPairs || len(g.from) == 1 || len(g.to) == 1 {
			for _, u := range g.from {
				for _, v := range g.to {
					e.add(u, v, 0)
				}
			}
			continue
		}
		// Add each begin with the ends 1, 2, 4 … clocks further. Others follow if they turn out to be
		// violated.
		for i, u := range g.from {
			for k := 1; k < len(g.to); k *= 2 {
				e.add(u, g.to[(i+k)%len(g.to)], 0)
			}
		}
	}
	return e
}

// add adds the bound that node v is not before node u.
func (e *estimate) add(u, v int32, latency int64) {
	if a, b := e.q.nodeOf[u], e.q.nodeOf[v]; a != b {
		e.bounds = append(e.bounds, bound{a, b, e.q.times[u], e.q.times[v], latency})
	}
}

// solve computes the lines.
func (e *estimate) solve(ctx context.Context) error {
	e.lines = make([]line, len(e.q.clocks))
	e.collect()
	e.components()
	for _, clocks := range e.byComponent() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(clocks) < 2 || !e.opt.Always && e.consistent(clocks) {
			continue
		}
		e.rebase(clocks)
		e.hulls(clocks)
		if err := e.solveComponent(ctx, clocks); err != nil {
			return err
		}
	}
	return nil
}

// collect sorts the bounds by pairs of clocks.
func (e *estimate) collect() {
	slices.SortFunc(e.bounds, func(a, b bound) int {
		if a.from != b.from {
			return int(a.from) - int(b.from)
		}
		if a.to != b.to {
			return int(a.to) - int(b.to)
		}
		return cmp.Compare(a.received, b.received)
	})
	e.pairs = e.pairs[:0]
	n := len(e.q.clocks)
	e.out, e.in = make([][]int32, n), make([][]int32, n)
	for i := 0; i < len(e.bounds); {
		j := i
		p := pair{from: e.bounds[i].from, to: e.bounds[i].to, worst: math.MinInt64, latency: float64(e.bounds[i].latency)}
		for ; j < len(e.bounds) && e.bounds[j].from == p.from && e.bounds[j].to == p.to; j++ {
			p.worst = max(p.worst, e.bounds[j].need())
			p.latency = min(p.latency, float64(e.bounds[j].latency))
		}
		p.bounds = e.bounds[i:j]
		e.out[p.from] = append(e.out[p.from], int32(len(e.pairs)))
		e.in[p.to] = append(e.in[p.to], int32(len(e.pairs)))
		e.pairs = append(e.pairs, p)
		i = j
	}
}

// components computes which clocks are tied to each other.
func (e *estimate) components() {
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

// byComponent lists the clocks of each component. In the component of the reference clock, that
// clock comes first.
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

// consistent reports whether no bound is violated without a correction.
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

// rebase sets bases that move the clocks roughly to their places, so that floats are precise enough
// for the rest.
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
		first = min(first, e.q.times[x.from]+e.lines[c].base)
		last = max(last, e.q.times[x.to-1]+e.lines[c].base)
	}
	for _, c := range clocks {
		l := &e.lines[c]
		l.middle = first/2 + last/2 - l.base
	}
}

// hulls computes the corners of the pairs of some clocks.
func (e *estimate) hulls(clocks []int32) {
	for _, c := range clocks {
		for _, i := range e.in[c] {
			p := &e.pairs[i]
			from, to := &e.lines[p.from], &e.lines[p.to]
			shift := from.base - to.base
			p.hull = p.hull[:0]
			for _, b := range p.bounds {
				p.hull = extend(p.hull, corner{float64(b.received - to.middle), float64(b.need() + shift)})
			}
		}
	}
}

// solveComponent computes the lines of clocks that are tied to each other. Clocks that are bounded
// from only one side are moved no more than necessary.
func (e *estimate) solveComponent(ctx context.Context, clocks []int32) error {
	drift := make([]float64, len(e.q.clocks))
	offset := make([]float64, len(e.q.clocks))
	for _, l := range e.rings(clocks) {
		if err := ctx.Err(); err != nil {
			return err
		}
		r := e.ring(l)
		r.solve(drift, offset)
		if l[0] != clocks[0] { // relative to the first clock
			for _, c := range l[1:] {
				offset[c] -= float64(e.lines[l[0]].base) + offset[l[0]]
			}
			offset[l[0]] = -float64(e.lines[l[0]].base)
		}
		// Rings come in the order of causes.
		need := 0.0
		for _, c := range l {
			for _, i := range e.in[c] {
				if p := &e.pairs[i]; !r.has(p.from) {
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

// rings returns the sets of clocks of a component that bound each other from both sides: its
// strongly connected components, in the order of causes.
func (e *estimate) rings(clocks []int32) (out [][]int32) {
	for _, c := range clocks {
		e.search.index[c] = 0
	}
	for _, root := range clocks {
		e.search.from(root, func(l []int32) {
			l = slices.Clone(l)
			slices.Sort(l)
			if k := slices.Index(l, clocks[0]); k > 0 { // the reference comes first
				copy(l[1:], l[:k])
				l[0] = clocks[0]
			}
			out = append(out, l)
		})
	}
	slices.Reverse(out)
	return out
}

// ring returns the problem for clocks that bound each other.
func (e *estimate) ring(clocks []int32) *ring {
	r := &ring{clocks: clocks, place: map[int32]int32{}, offsetOnly: e.opt.Model == Offset}
	for i, c := range clocks {
		r.place[c] = int32(i)
	}
	for _, c := range clocks {
		for _, i := range e.out[c] {
			if r.has(e.pairs[i].to) {
				r.pairs = append(r.pairs, &e.pairs[i])
			}
		}
	}
	return r
}
