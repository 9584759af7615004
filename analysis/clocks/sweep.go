package clocks

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"sort"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/transform"
)

// sortBytes is the memory in bytes for sorting the nodes of constraints.
const sortBytes = 8 << 20

// waitingNodes is the number of nodes waiting for their causes at which a search for contradictions
// starts.
const waitingNodes = 1 << 14

// The roles of a node in a constraint.
const (
	sends    = iota // send of a message
	receives        // receive of a message
	begins          // begin of a collective operation
	finishes        // end of a collective operation
)

// link is a constraint of a node, with the role of the node.
type link struct {
	role   uint8
	number int64
	// from and to are the numbers of nodes on each side of an operation; both are 1 for a message.
	from, to int32
}

// visit is a node with its time after the linear correction, in ticks, and its constraints.
type visit struct {
	node
	linear int64
	links  []link
}

// step is a time of a clock. From this time on, the nodes of the clock are visited later by shift ticks.
type step struct{ time, shift int64 }

// These limits bound the steps: maxSteps is their greatest number. An error needs no step if it is below
// 1/stepParts of the length of the trace.
const (
	maxSteps  = 1 << 17
	stepParts = 1 << 14
)

// agenda determines the order in which nodes are visited. In this order, most causes come before their
// effects, so that few nodes wait for others.
type agenda struct {
	linear []transform.Curve
	steps  [][]step // indexed by clock; ascending in time and in shift
}

// key returns the time at which a node is visited.
func (a *agenda) key(n node) int64 { return a.linear[n.clock].At(n.time) + a.shift(n) }

// shift returns the number of ticks by which the visit of a node is delayed, relative to the node's time after
// the linear correction.
func (a *agenda) shift(n node) int64 {
	l := a.steps[n.clock]
	i := len(l)
	if i > 0 && l[i-1].time > n.time {
		i = sort.Search(i, func(k int) bool { return l[k].time > n.time })
	}
	if i == 0 {
		return 0
	}
	return l[i-1].shift
}

// add increases the shift of a node, and of the later nodes of its clock, to at least shift.
func (a *agenda) add(n node, shift int64) {
	l := a.steps[n.clock]
	i := sort.Search(len(l), func(k int) bool { return l[k].time >= n.time })
	k := i
	for k < len(l) && l[k].shift <= shift {
		k++
	}
	a.steps[n.clock] = slices.Replace(l, i, k, step{n.time, shift})
}

// agenda returns the order of the times after the linear correction, plus shifts. If a node would come long
// before one of its causes, the node and all later nodes of its clock are shifted. Without shifts, if a clock
// was set by an hour, each node of the clock would wait for an hour.
func (s *solution) agenda(ctx context.Context) (*agenda, error) {
	a := &agenda{linear: s.linear, steps: make([][]step, len(s.linear))}
	length, count := int64(0), 0
	for _, x := range s.q.clocks {
		length = max(length, x.last-x.first)
	}
	err := s.q.each(ctx, func(c *constraint) error {
		if c.inside || s.q.ignored.Has(c.number) || count >= maxSteps {
			return nil
		}
		latest := int64(math.MinInt64)
		for _, n := range c.from {
			latest = max(latest, a.key(n))
		}
		for _, n := range c.to {
			if late := latest - a.key(n); late > length/stepParts {
				a.add(n, a.shift(n)+late)
				count++
			}
		}
		return nil
	})
	return a, err
}

// eachVisit calls f for each node in the order of an agenda, and the nodes of each clock in time
// order. The visit is valid during the call.
func (s *solution) eachVisit(ctx context.Context, f func(v *visit) error) error {
	order, err := s.agenda(ctx)
	if err != nil {
		return err
	}
	sorter := extsort.New(sortBytes, "")
	defer sorter.Close()
	var data []byte
	add := func(n node, links ...uint64) error {
		key := order.key(n)
		same := int64(0) // number of preceding keys that are equal to the key of n
		for same < 255 && order.key(node{n.clock, n.time - same - 1}) == key {
			same++
		}
		data = binary.AppendVarint(data[:0], n.time-key)
		for _, x := range links {
			data = binary.AppendUvarint(data, x)
		}
		return sorter.Add(key, int64(n.clock)<<8|same, data)
	}
	for c, x := range s.q.clocks {
		for _, t := range []int64{x.first, x.last} {
			if err := add(node{int32(c), t}); err != nil {
				return err
			}
		}
	}
	err = s.q.each(ctx, func(c *constraint) error {
		number, from, to := uint64(c.number), uint64(len(c.from)), uint64(len(c.to))
		for i, side := range [2][]node{c.from, c.to} {
			for _, n := range side {
				var err error
				switch {
				case c.inside || s.q.ignored.Has(c.number):
					err = add(n)
				case c.message:
					err = add(n, uint64(sends+i), number)
				default:
					err = add(n, uint64(begins+i), number, from, to)
				}
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	it, err := sorter.Sort(ctx)
	if err != nil {
		return err
	}
	var v visit
	started := false
	for count := 0; ; count++ {
		r, ok, err := it.Next()
		if err == nil && count%4096 == 0 {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		b := unpacker(r.Data)
		n := node{int32(r.B >> 8), r.A + b.signed()}
		if started && n != v.node {
			if err := f(&v); err != nil {
				return err
			}
			v.links = v.links[:0]
		}
		v.node, v.linear, started = n, s.linear[n.clock].At(n.time), true
		if len(b) == 0 {
			continue
		}
		l := link{role: uint8(b.next()), number: int64(b.next()), from: 1, to: 1}
		if l.role >= begins {
			l.from, l.to = int32(b.next()), int32(b.next())
		}
		v.links = append(v.links, l)
	}
	if !started {
		return nil
	}
	return f(&v)
}

// open is a constraint whose nodes have not all been visited.
type open struct {
	link
	need      int64 // earliest final time of its effects, in ticks
	begin     int32 // number of causes without a final time
	unseen    int32 // number of causes that have not been visited
	end       int32 // number of effects without a final time
	ignored   bool
	inner     bool      // some causes and effects have the same final time
	waiting   []*waiter // effects that wait for the causes
	vertex    int32     // number in the current search, or none
	unsettled bool      // in a search: some cause depends on a node that has not been visited
}

// decided reports whether no node needs to wait for the constraint any more.
func (o *open) decided() bool { return o.begin == 0 || o.ignored }

// waiter is a visited node. Its time is final as soon as the constraints for which it waits are
// decided.
type waiter struct {
	node
	linear  int64
	links   []waiterLink
	missing int32 // number of constraints for which it waits
	done    bool
	place   int   // in a search: index in the queue of its clock
	vertex  int32 // number of the node in the current search, or none
	part    int32 // in a search: the number of its strongly connected part, or none
}

// waiterLink is a constraint of a waiting node.
type waiterLink struct {
	*open
	cause bool // the node is a cause, not an effect
}

// clockState holds the waiting nodes of a clock, in the order of time, and the last node that was
// moved.
type clockState struct {
	queue  []*waiter
	moved  bool // the anchor was moved, so that later nodes are moved, too
	anchor correctedTime
}

// correctedTime is a time after the linear correction, and the final time, in ticks.
type correctedTime struct{ linear, out int64 }

// forward moves nodes to later times, in the order of causes. A node waits until all of its causes have
// final times.
type forward struct {
	s      *solution
	clocks []clockState
	open   map[int64]*open
	free   []*open
	// ready holds the nodes that can be processed.
	ready   []*waiter
	waiting int // number of waiting nodes
	limit   int // number of waiting nodes at which a search for contradictions starts
	out     *moves
	found   Violations // counts the contradictions that were found
	fronts  fronts
	part    int32 // in a search: number of the current part, or none
	links   []waiterLink
}

// move moves the nodes so that no effect comes before its cause. It ignores contradictions and counts them. If
// there are contradictions, or if the model is linear, move returns nil instead of moves.
func (s *solution) move(ctx context.Context) (*moves, Violations, error) {
	f := &forward{s: s, clocks: make([]clockState, len(s.q.clocks)), open: map[int64]*open{}, limit: s.waiting, part: none}
	if s.opt.Model == Full {
		f.out = &moves{s: s, forward: newPile(), moved: make([]int64, len(s.q.clocks))}
	}
	err := s.eachVisit(ctx, f.visit)
	if err == nil {
		err = f.search()
	}
	if err == nil && f.waiting > 0 {
		err = errNoOrder
	}
	if f.out != nil && (err != nil || f.found.Any()) {
		f.out.close()
		f.out = nil
	}
	return f.out, f.found, err
}

// errNoOrder reports that nodes still wait although all contradictions are ignored.
var errNoOrder = errors.New("clocks: found no order of the messages, expected one without those that contradict " +
	"the others")

// openOf returns the open constraint of a link, which it creates if needed.
func (f *forward) openOf(l *link) *open {
	o := f.open[l.number]
	if o == nil {
		if n := len(f.free); n > 0 {
			o, f.free = f.free[n-1], f.free[:n-1]
		} else {
			o = &open{}
		}
		*o = open{link: *l, need: math.MinInt64, begin: l.from, unseen: l.from, end: l.to, waiting: o.waiting[:0]}
		f.open[l.number] = o
	}
	return o
}

// visit takes the next node in the order of the agenda. It processes the node at once if all its causes are known,
// and otherwise adds it to the queue of its clock.
func (f *forward) visit(v *visit) error {
	links, missing := f.links[:0], int32(0)
	for i := range v.links {
		o := f.openOf(&v.links[i])
		cause := v.links[i].role == sends || v.links[i].role == begins
		if cause {
			o.unseen--
		} else if !o.decided() {
			missing++
		}
		links = append(links, waiterLink{o, cause})
	}
	f.links = links
	c := &f.clocks[v.clock]
	w := waiter{node: v.node, linear: v.linear, links: links, missing: missing}
	if missing == 0 && len(c.queue) == 0 {
		if err := f.process(&w, f.leastTime(&w), false); err != nil {
			return err
		}
		return f.drain()
	}
	x := &waiter{}
	*x = w
	x.links = slices.Clone(links)
	for _, l := range x.links {
		if !l.cause && !l.decided() {
			l.waiting = append(l.waiting, x)
		}
	}
	c.queue = append(c.queue, x)
	if f.waiting++; f.waiting < f.limit {
		return nil
	}
	err := f.search()
	f.limit = max(f.s.waiting, 2*f.waiting)
	return err
}

// leastTime returns the earliest time that a node may have because of its causes and of the earlier
// nodes of its clock, in ticks.
func (f *forward) leastTime(w *waiter) int64 {
	t := f.clocks[w.clock].earliestTime(w.linear)
	for _, l := range w.links {
		if !l.cause && !l.ignored {
			t = max(t, l.need)
		}
	}
	return t
}

// earliestTime returns the earliest time that a node may have because of the earlier nodes of its clock. A clock
// runs slower after its anchor was moved. linear is the time of the node after the linear correction.
func (c *clockState) earliestTime(linear int64) int64 {
	if !c.moved {
		return linear
	}
	d := linear - c.anchor.linear
	return max(linear, c.anchor.out+d-d/amortisationDivisor)
}

// drain processes all ready nodes, and those that become ready.
func (f *forward) drain() error {
	for len(f.ready) > 0 {
		w := f.ready[len(f.ready)-1]
		f.ready = f.ready[:len(f.ready)-1]
		if w.done {
			continue
		}
		if err := f.process(w, f.leastTime(w), false); err != nil {
			return err
		}
	}
	return nil
}

// process makes t, in ticks, the final time of a node. unit must be set if nodes that are causes of each other
// get the same time.
func (f *forward) process(w *waiter, t int64, unit bool) error {
	w.done = true
	c := &f.clocks[w.clock]
	switch {
	case t == w.linear:
		c.moved = false
	case t > c.earliestTime(w.linear):
		c.moved, c.anchor = true, correctedTime{w.linear, t}
	}
	if f.out != nil && !f.found.Any() {
		if err := f.out.add(w, t, unit); err != nil {
			return err
		}
	}
	if len(c.queue) > 0 && c.queue[0] == w {
		c.queue = c.queue[1:]
		f.waiting--
		if len(c.queue) > 0 {
			head := c.queue[0]
			f.release(head)
			if f.part != none && head.part == f.part {
				f.fronts.push(f, head)
			}
		}
	}
	for _, l := range w.links {
		o := l.open
		if l.cause {
			o.begin--
			later := t
			if o.role < begins {
				later += f.s.q.latency
			}
			o.need = max(o.need, later)
			if o.begin == 0 && !o.ignored {
				f.wake(o)
			}
		} else {
			o.end--
		}
		if o.begin == 0 && o.end == 0 {
			delete(f.open, o.number)
			f.free = append(f.free, o)
		}
	}
	return nil
}

// wake decreases the number of constraints for which the nodes that wait for o still wait.
func (f *forward) wake(o *open) {
	for _, x := range o.waiting {
		x.missing--
		f.release(x)
	}
	o.waiting = o.waiting[:0]
}

// release adds a node to the ready nodes if it waits for nothing and is the first waiting node of its clock.
func (f *forward) release(w *waiter) {
	if w.missing == 0 && !w.done && f.clocks[w.clock].queue[0] == w {
		f.ready = append(f.ready, w)
	}
}

// search finds the sets of waiting nodes that are causes of each other, and processes these sets. Nodes that
// depend on nodes that have not been visited continue to wait.
func (f *forward) search() error {
	settled := f.settled()
	var nodes []*waiter
	var groups []*open
	for c := range f.clocks {
		for _, w := range f.clocks[c].queue {
			w.vertex, w.part = none, none
		}
		for _, w := range f.clocks[c].queue[:settled[c]] {
			w.vertex = int32(len(nodes))
			nodes = append(nodes, w)
		}
	}
	for _, w := range nodes {
		for _, l := range w.links {
			l.vertex = none
		}
	}
	vertices := int32(len(nodes))
	for _, w := range nodes {
		for _, l := range w.links {
			if l.role >= begins && l.vertex == none && !l.decided() && !l.unsettled {
				l.vertex = vertices
				groups = append(groups, l.open)
				vertices++
			}
		}
	}
	next := f.successors(nodes, groups, settled)
	found := newSearch(int(vertices), func(u, i int32) int32 {
		if int(i) < len(next[u]) {
			return next[u][i]
		}
		return none
	})
	var parts [][]int32
	for u := range vertices {
		found.findFrom(u, func(l []int32) {
			if len(l) > 1 {
				parts = append(parts, slices.Clone(l))
			}
		})
	}
	slices.Reverse(parts) // put the parts into the order of causes
	for i, l := range parts {
		if err := f.drain(); err != nil {
			return err
		}
		if err := f.resolve(nodes, groups, l, int32(i)); err != nil {
			return err
		}
	}
	return f.drain()
}

// settled returns for each clock the number of waiting nodes that depend only on visited nodes,
// directly and indirectly. It also sets the field unsettled of constraints.
func (f *forward) settled() []int {
	settled := make([]int, len(f.clocks))
	var list []*open
	for c := range f.clocks {
		settled[c] = len(f.clocks[c].queue)
		for i, w := range f.clocks[c].queue {
			w.place = i
			for _, l := range w.links {
				if l.unsettled = l.unseen > 0 && !l.decided(); l.unsettled && !l.cause {
					list = append(list, l.open)
				}
			}
		}
	}
	for len(list) > 0 {
		o := list[len(list)-1]
		list = list[:len(list)-1]
		for _, x := range o.waiting {
			c := &f.clocks[x.clock]
			from, to := x.place, settled[x.clock]
			for i := from; i < to; i++ {
				for _, l := range c.queue[i].links {
					if l.cause && !l.unsettled && !l.decided() {
						l.unsettled = true
						list = append(list, l.open)
					}
				}
			}
			settled[x.clock] = min(from, to)
		}
	}
	return settled
}

// successors returns the edges of the graph of a search: for each node, and then for each operation in groups,
// the vertices of its effects.
func (f *forward) successors(nodes []*waiter, groups []*open, settled []int) [][]int32 {
	next := make([][]int32, len(nodes)+len(groups))
	for c := range f.clocks {
		for i, w := range f.clocks[c].queue[:settled[c]] {
			if i > 0 {
				before := f.clocks[c].queue[i-1].vertex
				next[before] = append(next[before], w.vertex)
			}
		}
	}
	for u, w := range nodes {
		for _, l := range w.links {
			switch {
			case !l.cause || l.decided():
			case l.role >= begins:
				if l.vertex != none {
					next[u] = append(next[u], l.vertex)
				}
			default:
				next[u] = appendVertices(next[u], l.open)
			}
		}
	}
	for _, o := range groups {
		next[o.vertex] = appendVertices(next[o.vertex], o)
	}
	return next
}

// appendVertices appends the vertices of the nodes that wait for a constraint.
func appendVertices(l []int32, o *open) []int32 {
	for _, x := range o.waiting {
		if x.vertex != none {
			l = append(l, x.vertex)
		}
	}
	return l
}

// resolve processes the part l of the search, whose nodes are causes of each other. All of their other causes
// have final times. If each node is on a clock of its own, resolve gives all nodes the same final time.
// Otherwise it ignores some of the constraints.
func (f *forward) resolve(nodes []*waiter, groups []*open, l []int32, part int32) error {
	var members []*waiter
	var inner []*open
	for _, u := range l {
		if int(u) < len(nodes) {
			nodes[u].part = part
			members = append(members, nodes[u])
		} else {
			inner = append(inner, groups[int(u)-len(nodes)])
		}
	}
	if f.joins(members) {
		return f.join(members, inner)
	}
	f.part, f.fronts.list = part, f.fronts.list[:0]
	defer func() { f.part = none }()
	for _, w := range members {
		if f.clocks[w.clock].queue[0] == w {
			f.fronts.push(f, w)
		}
	}
	for {
		if err := f.drain(); err != nil {
			return err
		}
		w := f.fronts.pop()
		if w == nil {
			return nil
		}
		f.ignoreCauses(w)
	}
}

// joins reports whether nodes that are causes of each other can have the same final time. This is possible if
// no two nodes are on the same clock, and no message between them has a latency.
func (f *forward) joins(members []*waiter) bool {
	slices.SortFunc(members, func(a, b *waiter) int { return compareNodes(a.node, b.node) })
	for i, w := range members {
		if i > 0 && w.clock == members[i-1].clock {
			return false
		}
		for _, l := range w.links {
			if l.cause && l.role < begins && !l.decided() && f.s.q.latency > 0 && len(l.waiting) > 0 &&
				l.waiting[0].part == w.part {
				return false
			}
		}
	}
	return true
}

// join processes nodes that get the same final time, and the operations between them.
func (f *forward) join(members []*waiter, inner []*open) error {
	t := int64(math.MinInt64)
	for _, w := range members {
		t = max(t, f.leastTime(w))
	}
	for _, o := range inner {
		t = max(t, o.need)
		o.from -= o.begin // the remaining causes are nodes of the part
		o.inner = true
	}
	for _, w := range members {
		for _, l := range w.links {
			if l.cause && l.role < begins && len(l.waiting) > 0 && l.waiting[0].part == w.part {
				l.inner = true
			}
		}
	}
	for _, w := range members {
		if err := f.process(w, t, true); err != nil {
			return err
		}
	}
	return nil
}

// ignoreCauses ignores the constraints for whose causes a node still waits. They are contradictions.
func (f *forward) ignoreCauses(w *waiter) {
	for _, l := range w.links {
		if l.cause || l.decided() {
			continue
		}
		l.ignored = true
		f.s.q.ignored.Add(l.number)
		if l.role < begins {
			f.found.Messages++
		} else {
			f.found.Collectives++
		}
		f.wake(l.open)
	}
}
