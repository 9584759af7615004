package clocks

import (
	"container/heap"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/weft-trace/weft/trace"
)

// maxLength is the greatest length of a trace, in ticks, for which sums of times fit.
const maxLength = 1 << 60

// ErrFar is returned when the times of a trace span more than 2^60 ticks, or are too late to be
// corrected.
var ErrFar = errors.New("clocks: found times that are 2^60 ticks or more apart, expected those of clocks that can be " +
	"compared")

// problem holds the constraints of a correction. A node is a time of a clock at which something
// happens. All events of that time have the same corrected time.
type problem struct {
	latency  int64
	origin   int64 // the first time of the trace, at which times of nodes are 0
	clocks   []clock
	clockOf  []int32 // by location; none for locations without events
	times    []int64 // times of nodes, clock by clock, ascending
	nodeOf   []int32 // clock of each node
	messages []edge  // between different clocks
	groups   []group
	inside   []edge // messages within a clock, which no correction changes much
}

const none = -1

// clock is one clock with its locations and nodes.
type clock struct {
	locations []uint32
	from, to  int32 // its nodes [from, to)
	ties      int64 // messages from and to it, and operations in which it takes part
}

// edge is a message from one node to another.
type edge struct {
	from, to int32
	ignored  bool // no clock can meet it
}

// group is a collective operation: none of the nodes to is before any of the nodes from.
type group struct {
	from, to []int32
	ignored  bool
}

// keyOf returns the key that the locations of a clock share.
func (p *Part) keyOf(loc uint32) int64 {
	l := p.defs.Locations.At(loc)
	alone := -1 - int64(loc)
	g := l.Group
	if p.opt.Level == LocationClocks || !p.defs.Groups.Has(g) {
		return alone
	}
	x := p.defs.Groups.At(g)
	// A process may belong to a group of processes.
	below := l.Kind == trace.ProcessLocation && x.Kind != "process"
	switch {
	case p.opt.Level == ProcessClocks && below:
		return alone
	case p.opt.Level == NodeClocks && !below && p.defs.Groups.Has(x.Parent):
		return int64(x.Parent)
	}
	return int64(g)
}

// tied reports for each location whether it sends or receives messages or takes part in collective
// operations.
func (p *Part) tied(collectives []collective) []bool {
	tied := make([]bool, len(p.spans))
	for _, m := range p.messages {
		tied[m.sent.loc], tied[m.received.loc] = true, true
	}
	for _, c := range collectives {
		for _, e := range c.begins {
			tied[e.loc] = true
		}
		for _, e := range c.ends {
			tied[e.loc] = true
		}
	}
	return tied
}

// problem builds the problem from what was collected.
func (p *Part) problem() (*problem, error) {
	q := &problem{latency: p.opt.Latency, clockOf: make([]int32, len(p.spans))}
	clocks := map[int64]int32{}
	collectives := p.collectives()
	tied := p.tied(collectives)
	for loc := range p.spans {
		q.clockOf[loc] = none
		if !p.spans[loc].any || !tied[loc] && !p.defs.Locations.At(uint32(loc)).Kind.IsProcessor() {
			continue
		}
		k := p.keyOf(uint32(loc))
		c, ok := clocks[k]
		if !ok {
			c = int32(len(q.clocks))
			clocks[k] = c
			q.clocks = append(q.clocks, clock{})
		}
		q.clockOf[loc] = c
		q.clocks[c].locations = append(q.clocks[c].locations, uint32(loc))
	}
	if len(p.messages)+len(collectives) == 0 {
		q.addIsolated()
		return q, nil
	}
	q.origin = math.MaxInt64
	last := int64(math.MinInt64)
	for _, s := range p.spans {
		if s.any {
			q.origin, last = min(q.origin, s.first), max(last, s.last)
		}
	}
	if uint64(last)-uint64(q.origin) >= maxLength {
		return nil, ErrFar
	}
	times := make([][]int64, len(q.clocks))
	add := func(e end) { c := q.clockOf[e.loc]; times[c] = append(times[c], e.time-q.origin) }
	for _, m := range p.messages {
		add(m.sent)
		add(m.received)
	}
	for _, c := range collectives {
		for _, e := range c.begins {
			add(e)
		}
		for _, e := range c.ends {
			add(e)
		}
	}
	for c := range q.clocks {
		x := &q.clocks[c]
		for _, loc := range x.locations {
			times[c] = append(times[c], p.spans[loc].first-q.origin, p.spans[loc].last-q.origin)
		}
		slices.Sort(times[c])
		times[c] = slices.Compact(times[c])
		if len(q.times)+len(times[c]) > math.MaxInt32/2 {
			return nil, errors.New("clocks: found more than 2^30 times at which messages are sent and received")
		}
		x.from = int32(len(q.times))
		q.times = append(q.times, times[c]...)
		times[c] = nil
		x.to = int32(len(q.times))
		for range x.to - x.from {
			q.nodeOf = append(q.nodeOf, int32(c))
		}
	}
	p.connect(q, collectives)
	return q, nil
}

// addIsolated gives each clock one node, for a trace without ties between clocks.
func (q *problem) addIsolated() {
	for c := range q.clocks {
		q.clocks[c].from, q.clocks[c].to = int32(c), int32(c+1)
		q.times = append(q.times, 0)
		q.nodeOf = append(q.nodeOf, int32(c))
	}
}

// connect adds the edges and groups.
func (p *Part) connect(q *problem, collectives []collective) {
	node := func(e end) int32 {
		x := &q.clocks[q.clockOf[e.loc]]
		i, _ := slices.BinarySearch(q.times[x.from:x.to], e.time-q.origin)
		return x.from + int32(i)
	}
	q.messages = make([]edge, 0, len(p.messages))
	for _, m := range p.messages {
		a, b := q.clockOf[m.sent.loc], q.clockOf[m.received.loc]
		x := edge{from: node(m.sent), to: node(m.received)}
		if a == b {
			x.ignored = x.from > x.to
			q.inside = append(q.inside, x)
			continue
		}
		q.messages = append(q.messages, x)
		q.clocks[a].ties++
		q.clocks[b].ties++
	}
	// The order must not depend on the order in which parts were merged.
	slices.SortFunc(q.messages, func(a, b edge) int {
		if a.to != b.to {
			return int(a.to) - int(b.to)
		}
		return int(a.from) - int(b.from)
	})
	for _, c := range collectives {
		var g group
		for _, e := range c.begins {
			g.from = append(g.from, node(e))
		}
		for _, e := range c.ends {
			g.to = append(g.to, node(e))
		}
		g.from, g.to = distinct(g.from), distinct(g.to)
		if !q.concernsSeveral(&g) {
			continue
		}
		for _, v := range g.from {
			q.clocks[q.nodeOf[v]].ties++
		}
		for _, v := range g.to {
			q.clocks[q.nodeOf[v]].ties++
		}
		q.groups = append(q.groups, g)
	}
}

func distinct(l []int32) []int32 {
	slices.Sort(l)
	return slices.Compact(l)
}

// concernsSeveral reports whether an operation concerns more than one clock.
func (q *problem) concernsSeveral(g *group) bool {
	c := q.nodeOf[g.from[0]]
	for _, v := range slices.Concat(g.from, g.to) {
		if q.nodeOf[v] != c {
			return true
		}
	}
	return false
}

// successors are the nodes that nodes and groups lead to. Groups are numbered after the nodes. The
// successors of u are to[start[u]:start[u+1]]. message has the message of each of them, or none for
// groups.
type successors struct {
	start   []int32
	to      []int32
	message []int32
}

func (q *problem) successors() *successors {
	n := len(q.times)
	s := &successors{start: make([]int32, n+len(q.groups)+1)}
	each := func(take func(u, v, message int32)) {
		for i, m := range q.messages {
			if !m.ignored {
				take(m.from, m.to, int32(i))
			}
		}
		for i, g := range q.groups {
			if g.ignored {
				continue
			}
			for _, v := range g.from {
				take(v, int32(n+i), none)
			}
			for _, v := range g.to {
				take(int32(n+i), v, none)
			}
		}
	}
	each(func(u, _, _ int32) { s.start[u+1]++ })
	for i := 1; i < len(s.start); i++ {
		s.start[i] += s.start[i-1]
	}
	s.to = make([]int32, s.start[len(s.start)-1])
	s.message = make([]int32, len(s.to))
	next := slices.Clone(s.start[:len(s.start)-1])
	each(func(u, v, m int32) {
		s.to[next[u]], s.message[next[u]] = v, m
		next[u]++
	})
	return s
}

// order is an order of the nodes and groups in which causes precede effects.
type order struct {
	successors
	units []int32 // the nodes and groups in order; each unit is represented by its first member
	// members are the nodes and groups of each unit of several, by its first member, which is
	// included. The members of a unit cause each other, and therefore happen at one time.
	members map[int32][]int32
	unit    []int32 // the first member of the unit of each node or group
}

// sort computes the order. It ignores contradictory constraints from then on.
func (q *problem) sort(ctx context.Context) (*order, error) {
	n := len(q.times) + len(q.groups)
	o := &order{successors: *q.successors(), members: map[int32][]int32{}, unit: make([]int32, n)}
	for i := range o.unit {
		o.unit[i] = int32(i)
	}
	waiting := q.walk(o, false)
	if waiting == nil {
		return o, ctx.Err()
	}
	// Something is its own cause. That is possible at a single time, because clocks have ticks.
	q.unite(o, waiting)
	if waiting = q.walk(o, false); waiting == nil {
		return o, ctx.Err()
	}
	if waiting = q.walk(o, true); waiting != nil {
		return nil,
			errors.New("clocks: found no order of the messages, expected one without those that contradict the others")
	}
	o.successors = *q.successors()
	return o, ctx.Err()
}

// walk fills the order. It returns the number of missing causes of each unit, or nil if none is
// missing. With force, a node at which everything else waits proceeds without its causes, which are
// then ignored.
func (q *problem) walk(o *order, force bool) []int32 {
	n := int32(len(q.times))
	waits := make([]int32, len(o.unit))
	count := func(u, v int32) {
		if a, b := o.unit[u], o.unit[v]; a != b {
			waits[b]++
		}
	}
	for u := range int32(len(o.unit)) {
		if q.hasNext(u) {
			count(u, u+1)
		}
		for _, v := range o.to[o.start[u]:o.start[u+1]] {
			count(u, v)
		}
	}
	o.units = o.units[:0]
	done := make([]bool, len(o.unit))
	var ready []int32
	var stuck fronts
	for u := range o.unit {
		if o.unit[u] == int32(u) && waits[u] == 0 {
			ready = append(ready, int32(u))
		}
	}
	var causes map[int32][]int32 // messages and groups (as −1−group) that lead to a node
	release := func(u, v int32) {
		if a, b := o.unit[u], o.unit[v]; a != b {
			if waits[b]--; waits[b] == 0 && !done[b] {
				ready = append(ready, b)
			}
		}
	}
	reached := make([]bool, len(o.unit)) // whether the previous node of the clock is done
	if force {
		causes = q.causes()
		for c := range q.clocks {
			stuck.push(q, q.clocks[c].from)
			reached[q.clocks[c].from] = true
		}
	}
	for {
		for len(ready) > 0 {
			u := ready[len(ready)-1]
			ready = ready[:len(ready)-1]
			if done[u] {
				continue
			}
			done[u] = true
			o.units = append(o.units, u)
			for _, x := range o.membersOf(u) {
				if q.hasNext(x) {
					if force {
						reached[x+1] = true
						stuck.push(q, x+1)
					}
					release(x, x+1)
				}
				for i := o.start[x]; i < o.start[x+1]; i++ {
					if m := o.message[i]; m != none && q.messages[m].ignored {
						continue
					}
					if x >= n && q.groups[x-n].ignored || o.to[i] >= n && q.groups[o.to[i]-n].ignored {
						continue
					}
					release(x, o.to[i])
				}
			}
		}
		if !force {
			break
		}
		v := stuck.pop(done, o.unit)
		if v == none {
			break
		}
		q.ignoreCauses(o, v, causes, done, release)
	}
	for u := range o.unit {
		if o.unit[u] == int32(u) && !done[u] && (u < int(n) || !q.groups[u-int(n)].ignored) {
			return waits
		}
	}
	return nil
}

// ignoreCauses ignores those causes of a node that are not done.
func (q *problem) ignoreCauses(o *order, v int32, causes map[int32][]int32, done []bool, release func(u, v int32)) {
	n := int32(len(q.times))
	for _, x := range o.membersOf(o.unit[v]) {
		if x < n && x > q.clocks[q.nodeOf[x]].from && !done[o.unit[x-1]] && o.unit[x-1] != o.unit[x] {
			// Another member of the unit is not reached yet, so that the unit must wait.
			continue
		}
		for _, i := range causes[x] {
			if i >= 0 {
				if m := &q.messages[i]; !m.ignored && !done[o.unit[m.from]] && o.unit[m.from] != o.unit[x] {
					m.ignored = true
					release(m.from, x)
				}
				continue
			}
			g := &q.groups[-1-i]
			at := n + (-1 - i)
			if g.ignored || done[o.unit[at]] || o.unit[at] == o.unit[x] {
				continue
			}
			g.ignored = true
			for _, w := range g.to {
				release(at, w)
			}
		}
	}
}

// causes returns the messages, and the groups as −1−group, that lead to each node.
func (q *problem) causes() map[int32][]int32 {
	out := map[int32][]int32{}
	for i, m := range q.messages {
		out[m.to] = append(out[m.to], int32(i))
	}
	for i, g := range q.groups {
		for _, v := range g.to {
			out[v] = append(out[v], int32(-1-i))
		}
	}
	return out
}

// hasNext reports whether a node, or group, has a later node of its clock.
func (q *problem) hasNext(u int32) bool {
	return int(u) < len(q.times) && u+1 < q.clocks[q.nodeOf[u]].to
}

// membersOf returns the nodes and groups in the unit of u.
func (o *order) membersOf(u int32) []int32 {
	if l := o.members[u]; l != nil {
		return l
	}
	return []int32{u}
}

// fronts is a heap of the nodes that wait only for messages and groups, by the time since the first
// event of their clock.
type fronts struct{ list []front }

type front struct {
	after int64
	node  int32
}

// Len, Less, Swap, Push and Pop implement [heap.Interface].
func (f *fronts) Len() int { return len(f.list) }

// Less orders by time.
func (f *fronts) Less(i, j int) bool {
	if f.list[i].after != f.list[j].after {
		return f.list[i].after < f.list[j].after
	}
	return f.list[i].node < f.list[j].node
}

// Swap swaps two entries.
func (f *fronts) Swap(i, j int) { f.list[i], f.list[j] = f.list[j], f.list[i] }

// Push appends an entry.
func (f *fronts) Push(x any) { f.list = append(f.list, x.(front)) }

// Pop removes the last entry.
func (f *fronts) Pop() any {
	x := f.list[len(f.list)-1]
	f.list = f.list[:len(f.list)-1]
	return x
}

func (f *fronts) push(q *problem, v int32) {
	heap.Push(f, front{q.times[v] - q.times[q.clocks[q.nodeOf[v]].from], v})
}

// pop removes and returns the first entry that is not done, or none.
func (f *fronts) pop(done []bool, unit []int32) int32 {
	for f.Len() > 0 {
		if x := heap.Pop(f).(front); !done[unit[x.node]] {
			return x.node
		}
	}
	return none
}

// unite joins the nodes and groups that cause each other at a single time of each clock: the
// strongly connected components of those that wait.
func (q *problem) unite(o *order, waits []int32) {
	s := newSearch(len(o.unit), func(u, i int32) int32 {
		switch degree := o.start[u+1] - o.start[u]; {
		case i < degree:
			return o.to[o.start[u]+i]
		case i == degree && q.hasNext(u):
			return u + 1
		}
		return none
	})
	for u, n := range waits {
		if n == 0 {
			s.index[u] = none
		}
	}
	for u := range int32(len(o.unit)) {
		s.from(u, func(l []int32) { q.joinUnit(o, l, int32(len(q.times))) })
	}
}

// search finds strongly connected components by Tarjan's algorithm.
type search struct {
	next  func(u, i int32) int32 // the i-th successor of u, or none after the last
	index []int32                // the number at which a node was found; nodes with an index are skipped
	low   []int32
	on    []bool // whether a node is on the stack
	stack []int32
	count int32
}

func newSearch(nodes int, next func(u, i int32) int32) *search {
	return &search{next: next, index: make([]int32, nodes), low: make([]int32, nodes), on: make([]bool, nodes)}
}

// from finds the components that are reachable from a node, except for those found before. It calls
// found for each component before those that lead to it. component is valid during the call.
func (s *search) from(root int32, found func(component []int32)) {
	type step struct{ u, next int32 }
	var calls []step
	enter := func(u int32) {
		s.count++
		s.index[u], s.low[u], s.on[u] = s.count, s.count, true
		s.stack = append(s.stack, u)
		calls = append(calls, step{u: u})
	}
	if s.index[root] == 0 {
		enter(root)
	}
	for len(calls) > 0 {
		x := &calls[len(calls)-1]
		u := x.u
		if v := s.next(u, x.next); v != none {
			x.next++
			if s.index[v] == 0 {
				enter(v)
			} else if s.on[v] {
				s.low[u] = min(s.low[u], s.index[v])
			}
			continue
		}
		calls = calls[:len(calls)-1]
		if len(calls) > 0 {
			up := calls[len(calls)-1].u
			s.low[up] = min(s.low[up], s.low[u])
		}
		if s.low[u] == s.index[u] {
			i := len(s.stack) - 1
			for s.stack[i] != u {
				i--
			}
			for _, w := range s.stack[i:] {
				s.on[w] = false
			}
			found(s.stack[i:])
			s.stack = s.stack[:i]
		}
	}
}

// joinUnit joins nodes and groups to one unit if no two of them are of the same clock and no
// message between them has a latency.
func (q *problem) joinUnit(o *order, l []int32, n int32) {
	if len(l) < 2 {
		return
	}
	l = slices.Clone(l)
	slices.Sort(l)
	for i := 1; i < len(l) && l[i] < n; i++ {
		if q.nodeOf[l[i]] == q.nodeOf[l[i-1]] {
			return
		}
	}
	if q.latency > 0 {
		for _, u := range l {
			for i := o.start[u]; i < o.start[u+1]; i++ {
				if _, among := slices.BinarySearch(l, o.to[i]); among && o.message[i] != none {
					return
				}
			}
		}
	}
	for _, u := range l {
		o.unit[u] = l[0]
	}
	o.members[l[0]] = l
}
