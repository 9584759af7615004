package messages

import (
	"cmp"
	"math"
	"slices"

	"github.com/weft-trace/weft/trace"
)

// pending computes the greatest number of messages, and of bytes, in transit from sends and
// receives in time order. It uses memory only for messages in transit. A send whose
// message is never received must not count. This is unknown at the time of the send.
//
// So pending keeps a list of the moments with undecided sends, and with undecided receives, which wait for
// earlier ones. All changes between two moments are summed in a run. When the last send and receive of a moment
// are decided, the moment and the runs before and after it become one run.
type pending struct {
	moments     []moment
	free        []int32
	first, last int32 // first and last element of the list of moments; the last one is the current time
	// head holds the runs before the first moment.
	head [2]run
	any  bool
}

// sum128 is a 128-bit sum of bytes or messages in transit, which can decrease.
type sum128 = trace.Ticks

// size returns a non-negative sum as an unsigned number, clamped to the greatest uint64.
func size(w sum128) uint64 {
	if b := w.Big(); b.IsUint64() {
		return b.Uint64()
	}
	return math.MaxUint64
}

// sum128Of returns a number of bytes as a 128-bit sum.
func sum128Of(bytes uint64) sum128 {
	half := trace.TicksOf(int64(bytes >> 1))
	return half.Plus(half).Plus(trace.TicksOf(int64(bytes & 1)))
}

// The two quantities that pending counts, as indices.
const (
	messages = iota
	bytes
)

// moment is a time at which messages were sent or received.
type moment struct {
	time int64
	// undecided is the number of ends of messages at this time of which the other end is not known so far.
	undecided  int64
	change     [2]sum128 // change of both quantities at this time by messages that were received
	run        [2]run    // sums from this moment to the next one in the list
	prev, next int32
}

// run summarises consecutive changes. sum is their sum. most is the greatest sum of the first n
// changes, for any n, including none.
type run struct{ sum, most sum128 }

// add appends the change of a moment, and then the run after it. The sum directly after the change is one of those that
// after.most compares: that of the first 0 changes of the run.
func (r *run) add(change sum128, after *run) {
	sum := r.sum.Plus(change)
	r.sum, r.most = sum.Plus(after.sum), greater(r.most, sum.Plus(after.most))
}

// greater returns the greater of two sums.
func greater(a, b sum128) sum128 {
	if a.Cmp(b) < 0 {
		return b
	}
	return a
}

// momentAt returns the index of the moment of time t, which must not be earlier than the last moment.
// It adds the moment if needed.
func (p *pending) momentAt(t int64) int32 {
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

// drop removes a moment without undecided sends, and adds its change and run to the run before it.
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
		before[w].add(m.change[w], &m.run[w])
	}
	p.free = append(p.free, i)
}

// wait adds an undecided send or receive at time t, and returns the index of its moment.
func (p *pending) wait(t int64) int32 {
	i := p.momentAt(t)
	p.moments[i].undecided++
	return i
}

// arrive counts a message that was sent and received at undecided moments. It decides both.
func (p *pending) arrive(send, recv int32, size uint64) {
	if m, n := &p.moments[send], &p.moments[recv]; m.time < n.time {
		m.change[messages].Add(1)
		m.change[bytes] = m.change[bytes].Plus(sum128Of(size))
		n.change[messages].Add(-1)
		n.change[bytes] = n.change[bytes].Minus(sum128Of(size))
	}
	p.decide(send)
	p.decide(recv)
}

// decide records that the other end of a send or receive at moment i is known, or is known to be missing.
func (p *pending) decide(i int32) {
	m := &p.moments[i]
	if m.undecided--; m.undecided == 0 && i != p.last {
		p.drop(i)
	}
}

// most returns the greatest number of messages in transit so far, and the greatest number of their
// bytes.
func (p *pending) most() (count int64, most uint64) {
	if !p.any {
		return 0, 0
	}
	all := p.head
	for i := p.first; i != none; i = p.moments[i].next {
		m := &p.moments[i]
		for w := range all {
			all[w].add(m.change[w], &m.run[w])
		}
	}
	return all[messages].most.Int64(), size(all[bytes].most)
}

// greatestPending returns the greatest number of messages in transit, and the greatest number of their
// bytes. The messages can have any order.
func greatestPending(list []interval) (count int64, most uint64) {
	type step struct {
		time, count int64
		bytes       uint64
	}
	var steps []step
	for _, x := range list {
		if x.send < x.recv {
			steps = append(steps, step{x.send, 1, x.bytes}, step{x.recv, -1, x.bytes})
		}
	}
	// At equal times, receives come before sends.
	slices.SortFunc(steps, func(a, b step) int {
		return cmp.Or(cmp.Compare(a.time, b.time),
			cmp.Compare(a.count, b.count))
	})
	c, open, greatest := int64(0), sum128{}, sum128{}
	for _, x := range steps {
		if c += x.count; x.count > 0 {
			open = open.Plus(sum128Of(x.bytes))
		} else {
			open = open.Minus(sum128Of(x.bytes))
		}
		count, greatest = max(count, c), greater(greatest, open)
	}
	return count, size(greatest)
}
