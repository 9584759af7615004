package messages

import (
	"cmp"
	"slices"
)

// pending finds how many messages were on their way at most, as they come in
// time order, in memory for those that are on their way. The difficulty is that
// a send counts from its own time on, but only when its receive shows up.
//
// So the sequence of changes is kept as a list of moments at which undecided
// sends stand; all that happened between two of them is summed up in a run. When
// the last send of a moment is decided, the moment and the runs at both its
// sides become one run.
type pending struct {
	moments     []moment
	free        []int32
	first, last int32 // the list; the last moment is now
	head        [2]run
	any         bool
}

// The two things that are counted.
const (
	messages = iota
	bytes
)

// moment is a time at which messages were sent or received.
type moment struct {
	time       int64
	undecided  int64
	change     [2]int64 // what the decided messages change here
	run        [2]run   // from here to the next moment of the list
	prev, next int32
}

// run sums up consecutive changes: their sum, and the greatest sum that any
// number of them had, counted from the first and at least 0.
type run struct{ sum, most int64 }

func (r run) then(o run) run { return run{r.sum + o.sum, max(r.most, r.sum+o.most)} }

func change(x int64) run { return run{x, max(x, 0)} }

// now is the moment of time t, which is the last one or later.
func (p *pending) now(t int64) int32 {
	if p.any && p.moments[p.last].time == t {
		return p.last
	}
	if !p.any {
		p.first, p.last, p.any = none, none, true
	} else if p.moments[p.last].undecided == 0 {
		p.drop(p.last)
	}
	var i int32
	if n := len(p.free); n > 0 {
		i, p.free = p.free[n-1], p.free[:n-1]
	} else {
		p.moments = append(p.moments, moment{})
		i = int32(len(p.moments) - 1)
	}
	p.moments[i] = moment{time: t, prev: p.last, next: none}
	if p.last != none {
		p.moments[p.last].next = i
	} else {
		p.first = i
	}
	p.last = i
	return i
}

// drop joins a moment without undecided sends with the run before it.
func (p *pending) drop(i int32) {
	m := &p.moments[i]
	before := &p.head
	if m.prev != none {
		before = &p.moments[m.prev].run
		p.moments[m.prev].next = m.next
	} else {
		p.first = m.next
	}
	if m.next != none {
		p.moments[m.next].prev = m.prev
	} else {
		p.last = m.prev
	}
	for w := range before {
		before[w] = before[w].then(change(m.change[w])).then(m.run[w])
	}
	p.free = append(p.free, i)
}

// wait notes a send.
func (p *pending) wait(t int64) int32 {
	i := p.now(t)
	p.moments[i].undecided++
	return i
}

// arrive notes the receive, at time t, of a message that was sent at moment i.
func (p *pending) arrive(i int32, t, size int64) {
	now := p.now(t)
	if i == now {
		p.moments[i].undecided--
		return
	}
	m, n := &p.moments[i], &p.moments[now]
	m.change[messages]++
	m.change[bytes] += size
	n.change[messages]--
	n.change[bytes] -= size
	if m.undecided--; m.undecided == 0 {
		p.drop(i)
	}
}

func (p *pending) most() (count, size int64) {
	if !p.any {
		return 0, 0
	}
	all := p.head
	for i := p.first; i != none; i = p.moments[i].next {
		m := &p.moments[i]
		for w := range all {
			all[w] = all[w].then(change(m.change[w])).then(m.run[w])
		}
	}
	return all[messages].most, all[bytes].most
}

// most is the same for messages in any order.
func most(list []interval) (count, size int64) {
	type step struct{ time, count, bytes int64 }
	var steps []step
	for _, x := range list {
		if x.send < x.recv {
			steps = append(steps, step{x.send, 1, x.bytes}, step{x.recv, -1, -x.bytes})
		}
	}
	// A message that arrives leaves before another sets out.
	slices.SortFunc(steps, func(a, b step) int { return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.count, b.count)) })
	var c, s int64
	for _, x := range steps {
		c += x.count
		s += x.bytes
		count, size = max(count, c), max(size, s)
	}
	return count, size
}
