package messages

import (
	"cmp"
	"math"
	"slices"

	"github.com/weft-trace/weft/internal/slab"
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
	moments     slab.Slab[moment]
	changes     slab.Slab[changes]
	first, last int32 // first and last element of the list of moments; the last one is the current time
	// current holds the changes at the last moment, and changed reports whether there are any.
	current [2]sum128
	changed bool
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
	undecided  int32
	prev, next int32
	changes    int32 // index into pending.changes; none for the last moment, and while all sums are 0
}

// changes holds the changes of both quantities at a moment and after it. It is a separate object, because most moments
// that wait have none: those of sends whose messages are never received.
type changes struct {
	at    [2]sum128 // at the moment, by messages that were received
	after [2]run    // from the moment to the next one in the list
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
	if !p.any {
		p.first, p.last, p.any = none, none, true
	} else if last := p.moments.At(p.last); last.time == t {
		return p.last
	} else if last.undecided == 0 {
		p.dropLast()
	} else if p.changed {
		p.changesAt(p.last).at = p.current
	}
	p.current, p.changed = [2]sum128{}, false
	i, m := p.moments.Take()
	*m = moment{time: t, prev: p.last, next: none, changes: none}
	if p.last != none {
		p.moments.At(p.last).next = i
	} else {
		p.first = i
	}
	p.last = i
	return i
}

// changesAt returns the changes of a moment before the last one, which it creates if needed. The pointer is valid until
// the next call.
func (p *pending) changesAt(i int32) *changes {
	m := p.moments.At(i)
	if m.changes != none {
		return p.changes.At(m.changes)
	}
	i, c := p.changes.Take()
	m.changes, *c = i, changes{}
	return c
}

// drop removes a moment before the last one, which has no undecided sends. It adds the moment's change and run to the
// run before it.
func (p *pending) drop(i int32) {
	before := p.remove(i)
	m := p.moments.At(i)
	if m.changes == none {
		return
	}
	own, c := p.runAfter(before), p.changes.At(m.changes)
	for w := range own {
		own[w].add(c.at[w], &c.after[w])
	}
	p.changes.Free(m.changes)
}

// dropLast removes the last moment, which has no undecided sends, as drop does.
func (p *pending) dropLast() {
	before := p.remove(p.last)
	if !p.changed {
		return
	}
	own := p.runAfter(before)
	for w := range own {
		own[w].add(p.current[w], &run{})
	}
}

// remove takes a moment out of the list, and returns the index of the moment before it, or none.
func (p *pending) remove(i int32) (before int32) {
	m := p.moments.At(i)
	if m.prev != none {
		p.moments.At(m.prev).next = m.next
	} else {
		p.first = m.next
	}
	if m.next != none {
		p.moments.At(m.next).prev = m.prev
	} else {
		p.last = m.prev
	}
	p.moments.Free(i)
	return m.prev
}

// runAfter returns the runs after a moment, or those before the first moment if i is none.
func (p *pending) runAfter(i int32) *[2]run {
	if i == none {
		return &p.head
	}
	return &p.changesAt(i).after
}

// wait adds an undecided send or receive at time t, and returns the index of its moment.
func (p *pending) wait(t int64) int32 {
	i := p.momentAt(t)
	p.moments.At(i).undecided++
	return i
}

// arrive counts a message that was sent and received at undecided moments. It decides both.
func (p *pending) arrive(send, recv int32, size uint64) {
	s := p.moments.At(send)
	if s.time >= p.moments.At(recv).time {
		p.decide(send)
		p.decide(recv)
		return
	}
	size128 := sum128Of(size)
	end := &p.current
	if recv == p.last {
		p.changed = true
	} else {
		end = &p.changesAt(recv).at
	}
	end[messages].Add(-1)
	end[bytes] = end[bytes].Minus(size128)
	if s.undecided == 1 && s.changes == none { // the usual case: the moment ends here
		own := p.runAfter(p.remove(send))
		own[messages].add(trace.TicksOf(1), &run{})
		own[bytes].add(size128, &run{})
	} else {
		begin := &p.changesAt(send).at
		begin[messages].Add(1)
		begin[bytes] = begin[bytes].Plus(size128)
		p.decide(send)
	}
	p.decide(recv)
}

// decide records that the other end of a send or receive at moment i is known, or is known to be missing.
func (p *pending) decide(i int32) {
	m := p.moments.At(i)
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
	for i := p.first; i != none; i = p.moments.At(i).next {
		if m := p.moments.At(i); m.changes != none {
			c := p.changes.At(m.changes)
			for w := range all {
				all[w].add(c.at[w], &c.after[w])
			}
		}
	}
	for w := range all {
		all[w].add(p.current[w], &run{})
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
