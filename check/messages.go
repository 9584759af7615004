package check

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// channel identifies the messages among which a send and a receive can match.
type channel struct {
	from, to     uint32
	communicator uint64
}

// lane holds the sends and the receives of a channel. Each side comes from one location. A side without ends is nil.
type lane [2]*packedEnds

// recentLanes caches the lanes that a location has used last, as sender at index 0 and as receiver
// at index 1, by the low bits of the peer's number.
type recentLanes [2][16]struct {
	channel
	lane *lane
}

// end is an end of a message: its time in ticks, its length in bytes, its position in the file, and its tag. The tag
// -1 matches any tag.
type end struct{ time, length, pos, tag int64 }

// The sides of a lane.
const (
	sends = iota
	receives
)

// unknown is the value of a tag or length that the trace does not record.
const unknown = -1

// message adds an end of a message to its lane.
func (c *Checker) message(s *locationState, x *trace.Cursor, at place) error {
	e := end{x.Time(), int64(x.Op(3)), at.pos, int64(x.Op(2))}
	if x.Kind().IsSend() {
		if l := c.laneOf(s, x, sends); l != nil {
			return l[sends].add(c.store, e)
		}
		return nil
	}
	number := uint64(0)
	if x.Kind() == trace.RecvComplete {
		r, _ := s.requests.Get(x.Op(4))
		number = r.receive
	}
	if number == 0 {
		number = s.receives.Post(false)
	}
	if l := c.laneOf(s, x, receives); l != nil {
		return c.addReceives(s.receives.Complete(number, heldReceive{l, e}))
	}
	return c.addReceives(s.receives.Close(number))
}

// heldReceive is a receive with its lane.
type heldReceive struct {
	lane *lane
	end
}

// addReceives adds receives to their lanes.
func (c *Checker) addReceives(list []heldReceive) error {
	for i := range list {
		if err := list[i].lane[receives].add(c.store, list[i].end); err != nil {
			return err
		}
	}
	return nil
}

// laneOf returns the lane of an end of a message. The given side of the lane is not nil. laneOf returns nil if the peer
// is undefined, so that no other end can match.
func (c *Checker) laneOf(s *locationState, x *trace.Cursor, side int) *lane {
	loc, peer := x.Location(), x.Op(0)
	if peer >= uint64(c.defs.Locations.Len()) {
		return nil
	}
	ch := channel{loc, uint32(peer), x.Op(1)}
	if side == receives {
		ch.from, ch.to = ch.to, ch.from
	}
	recent := &s.recent[side][peer%uint64(len(s.recent[side]))]
	if recent.lane == nil || recent.channel != ch {
		recent.channel, recent.lane = ch, c.lane(ch)
		if recent.lane[side] == nil {
			recent.lane[side] = &packedEnds{}
		}
	}
	return recent.lane
}

// lane returns the lane of a channel. It creates the lane if needed.
func (c *Checker) lane(ch channel) *lane {
	l := c.lanes[ch]
	if l == nil {
		l = &lane{}
		c.lanes[ch] = l
	}
	return l
}

// mergeLane adds the sides that another checker's lane has.
func (c *Checker) mergeLane(ch channel, o *lane) {
	l := c.lane(ch)
	for side := range o {
		if x := o[side]; x != nil {
			l[side] = x
		}
	}
}

// pairing pairs the sends and receives of a channel.
type pairing struct {
	channel
	skew    *skew // skew of the two clocks
	readers [2]endReader
	waiting [2]waitingEnds
}

// waitingEnds holds the ends of one side of a channel that wait for their other end, by tag.
type waitingEnds struct {
	queues map[int64]*queue
	count  int   // number of ends in the queues
	added  int64 // number of ends that have been added
	// order holds the ends in the order of their numbers, and some that do not wait any more. It is nil until an end of
	// an unknown tag is taken.
	order []tagged
	first int // index of the first entry of order that has not been removed
}

// tagged identifies an end that waits: its number, and its tag.
type tagged struct{ number, tag int64 }

// queue holds message ends with the same tag, in the order of their events.
type queue struct {
	list []waitingEnd
	head int
	more int64 // number of ends after those in the list, which the queue does not hold
}

// waitingEnd is an end of a message that waits. Its number counts all ends of its side that have waited.
type waitingEnd struct {
	end
	number int64
}

// emptyQueues is the number of queues above which those are deleted that have become empty.
const emptyQueues = 16

// empty reports whether no end waits in the queue.
func (q *queue) empty() bool { return q.head == len(q.list) }

// pairMessages pairs the ends of messages, and reports those that contradict each other or have no other end.
func (c *Checker) pairMessages(ctx context.Context) error {
	channels := slices.SortedFunc(maps.Keys(c.lanes), func(a, b channel) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), cmp.Compare(a.communicator, b.communicator))
	})
	p := &pairing{}
	for side := range p.readers {
		p.readers[side].store = c.store
	}
	for _, ch := range channels {
		if err := ctx.Err(); err != nil {
			return err
		}
		p.channel = ch
		if err := c.pairChannel(p, c.lanes[ch]); err != nil {
			return err
		}
		if err := c.reportUnmatched(p); err != nil {
			return err
		}
		p.waiting = [2]waitingEnds{}
		delete(c.lanes, ch)
	}
	return nil
}

// pairChannel pairs the ends of a lane. It takes the ends of both sides in the order of time, so that few wait.
func (c *Checker) pairChannel(p *pairing, l *lane) error {
	p.skew = nil
	send, recv := &p.readers[sends], &p.readers[receives]
	for side := range p.readers {
		if err := p.readers[side].start(l[side]); err != nil {
			return err
		}
	}
	for !send.done || !recv.done {
		side := sends
		switch {
		case send.done:
			side = receives
		case recv.done:
		case send.tag == recv.tag && p.waiting[sends].count == 0 && p.waiting[receives].count == 0:
			if err := c.checkPair(p, &send.end, &recv.end); err != nil {
				return err
			}
			if err := send.advance(); err != nil {
				return err
			}
			if err := recv.advance(); err != nil {
				return err
			}
			continue
		case recv.time < send.time:
			side = receives
		}
		r, other := &p.readers[side], &p.readers[1-side]
		if e, ok := p.waiting[1-side].take(r.tag); !ok {
			p.waiting[side].add(r.end, other.done)
		} else if err := c.pairSides(p, side, &r.end, &e); err != nil {
			return err
		}
		if err := r.advance(); err != nil {
			return err
		}
	}
	return nil
}

// pairSides pairs an end of a side with one of the other side.
func (c *Checker) pairSides(p *pairing, side int, e, other *end) error {
	if side == sends {
		return c.checkPair(p, e, other)
	}
	return c.checkPair(p, other, e)
}

// add adds an end. If it is final, the other side has no more ends, so that the end is never taken.
func (w *waitingEnds) add(e end, final bool) {
	q := w.queues[e.tag]
	if q == nil {
		if w.queues == nil {
			w.queues = map[int64]*queue{}
		}
		q = &queue{}
		w.queues[e.tag] = q
	}
	if final && len(q.list)-q.head >= maxSingly {
		q.more++
		return
	}
	w.added++
	w.count++
	q.list = append(q.list, waitingEnd{e, w.added})
	if w.order == nil {
		return
	}
	if len(w.order) >= 2*w.count+emptyQueues {
		w.order, w.first = slices.DeleteFunc(w.order[w.first:], func(x tagged) bool { return !w.waits(x) }), 0
	}
	w.order = append(w.order, tagged{w.added, e.tag})
}

// waits reports whether an end waits. Ends of the same tag leave in the order of their numbers.
func (w *waitingEnds) waits(x tagged) bool {
	q := w.queues[x.tag]
	return q != nil && !q.empty() && q.list[q.head].number <= x.number
}

// longest returns the tag of the end that has waited longest. One end at least must wait.
func (w *waitingEnds) longest() int64 {
	if w.order == nil {
		for tag, q := range w.queues {
			for _, e := range q.list[q.head:] {
				w.order = append(w.order, tagged{e.number, tag})
			}
		}
		slices.SortFunc(w.order, func(a, b tagged) int { return cmp.Compare(a.number, b.number) })
	}
	for !w.waits(w.order[w.first]) {
		w.first++
	}
	return w.order[w.first].tag
}

// take removes and returns the end that has waited longest among those that match a tag. It returns
// false if there is none.
func (w *waitingEnds) take(tag int64) (end, bool) {
	if w.count == 0 {
		return end{}, false
	}
	best, key := (*queue)(nil), int64(0)
	look := func(tag int64, q *queue) {
		if q != nil && !q.empty() && (best == nil || q.list[q.head].number < best.list[best.head].number) {
			best, key = q, tag
		}
	}
	if tag == unknown {
		tag = w.longest()
	}
	look(tag, w.queues[tag])
	look(unknown, w.queues[unknown])
	if best == nil {
		return end{}, false
	}
	e := best.list[best.head].end
	w.count--
	if best.head++; best.empty() {
		if best.head, best.list = 0, best.list[:0]; len(w.queues) > emptyQueues {
			delete(w.queues, key)
		}
	} else if best.head >= 64 && best.head*2 >= len(best.list) {
		best.list = best.list[:copy(best.list, best.list[best.head:])]
		best.head = 0
	}
	return e, true
}

// checkPair checks the two ends of a message against each other.
func (c *Checker) checkPair(p *pairing, send, recv *end) error {
	at := placeOf(p.to, openRow{recv.time, recv.pos})
	if send.length != unknown && recv.length != unknown && send.length != recv.length {
		if err := c.report("trace.message-size", at,
			fmt.Sprintf("a receive of %s at %s", plural.Of(uint64(recv.length), "byte"), c.seconds(recv.time)),
			fmt.Sprintf("%s, which location %s sent at %s", plural.Of(uint64(send.length), "byte"), c.locationID(p.from),
				c.seconds(send.time))); err != nil {
			return err
		}
	}
	s := p.skew
	if s == nil {
		g := groupPair{c.clockOwnerOf(p.from), c.clockOwnerOf(p.to)}
		if compareOwners(g.b, g.a) < 0 {
			g.a, g.b = g.b, g.a
		}
		s = c.skewOf(g)
		p.skew = s
	}
	s.messages++
	if recv.time >= send.time {
		return nil
	}
	s.add(at, uint64(send.time)-uint64(recv.time))
	if c.clockOwnerOf(p.from) != c.clockOwnerOf(p.to) {
		return nil // clockSkews reports the pair of groups
	}
	return c.report("trace.receive-before-send", at,
		fmt.Sprintf("a receive from location %s at %s", c.locationID(p.from), c.seconds(recv.time)),
		"a time not before "+c.seconds(send.time)+", when the message was sent")
}

// maxSingly is the greatest number of separate reports of messages without partner with the same
// locations and tag. The last of them counts all remaining messages.
const maxSingly = 10

// reportUnmatched reports the messages of a channel without partner. It skips messages whose other location has no
// events: either the selection excludes that location, or its file is missing, which the reader has reported. It also
// skips messages whose other location has events after the piece that the trace is.
func (c *Checker) reportUnmatched(p *pairing) error {
	for side := range p.waiting {
		own, other, rule, what, partner := p.from, p.to, "trace.send-without-receive", "send to", "receive"
		if side == receives {
			own, other, rule, what, partner = p.to, p.from, "trace.receive-without-send", "receive from", "send"
		}
		if p.waiting[side].count == 0 || !c.hasEvents(other) || c.locs[other].goesOn {
			continue
		}
		expected := "a " + partner + " to match"
		if side == sends && c.locs[other].posted {
			expected += c.recorderNote("receives")
		}
		queues := p.waiting[side].queues
		for _, tag := range slices.Sorted(maps.Keys(queues)) {
			q := queues[tag]
			list := q.list[q.head:]
			for i := range list[:min(len(list), maxSingly)] {
				e, count := &list[i], int64(1)
				if i == maxSingly-1 {
					count = int64(len(list)-i) + q.more
				}
				found := fmt.Sprintf("a %s location %s with tag %d at %s", what, c.locationID(other), tag, c.seconds(e.time))
				if err := c.reportCount(rule, placeOf(own, openRow{e.time, e.pos}), count, found, expected); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// clockOwner identifies the owner of a clock: a location group, or a location that belongs to no
// group.
type clockOwner struct {
	group bool
	ref   uint32
}

// compareOwners orders owners of clocks: groups by number, and then locations by number.
func compareOwners(a, b clockOwner) int {
	switch {
	case a.group == b.group:
		return cmp.Compare(a.ref, b.ref)
	case a.group:
		return -1
	}
	return 1
}

// groupPair is a pair of clock owners that exchange messages, in any direction. Owner a is not after b.
type groupPair struct{ a, b clockOwner }

// skew counts the messages of a pair of clock owners, to compare their clocks.
type skew struct {
	messages, early int64  // all messages, and those received before they are sent
	most            uint64 // greatest time in ticks by which a receive precedes its send
	first           place  // place of the first early receive
}

// add counts a receive that is earlier than its send. at is the place of the receive, and by is the number of
// ticks by which it is earlier.
func (s *skew) add(at place, by uint64) {
	s.merge(&skew{early: 1, most: by, first: at})
}

// merge adds the messages of another checker.
func (s *skew) merge(o *skew) {
	if o.early > 0 && (s.early == 0 ||
		cmp.Or(cmp.Compare(o.first.time, s.first.time), cmp.Compare(o.first.loc, s.first.loc),
			cmp.Compare(o.first.pos, s.first.pos)) < 0) {
		s.first = o.first
	}
	s.messages, s.early, s.most = s.messages+o.messages, s.early+o.early, max(s.most, o.most)
}

// skewOf returns the skew of a pair. It creates the skew if needed.
func (c *Checker) skewOf(g groupPair) *skew {
	s := c.skews[g]
	if s == nil {
		s = &skew{}
		c.skews[g] = s
	}
	return s
}

// clockOwnerOf returns the owner of a location's clock.
func (c *Checker) clockOwnerOf(loc uint32) clockOwner {
	if g := c.defs.Locations.At(loc).Group; int64(g) < int64(c.defs.Groups.Len()) {
		return clockOwner{true, g}
	}
	return clockOwner{false, loc}
}

// ownerName returns the name that messages use for the owner of a clock.
func (c *Checker) ownerName(o clockOwner) string {
	if !o.group {
		return "location " + c.locationID(o.ref)
	}
	g := c.defs.Groups.At(o.ref)
	return "location group " + cmp.Or(g.Name, g.ID)
}

// alignHint is the expectation in reports about clocks that differ.
const alignHint = "clocks that agree; weft align corrects them"

// reportClockSkews reports pairs of groups whose clocks differ.
func (c *Checker) reportClockSkews() error {
	pairs := slices.SortedFunc(maps.Keys(c.skews), func(x, y groupPair) int {
		return cmp.Or(compareOwners(x.a, y.a), compareOwners(x.b, y.b))
	})
	for _, g := range pairs {
		s := c.skews[g]
		if s.early == 0 || g.a == g.b {
			continue
		}
		if err := c.reportCount("trace.clock-skew", s.first, s.early,
			fmt.Sprintf("%d of %s between %s and %s received before they were sent, by up to %s, the first at %s",
				s.early, plural.Of(s.messages, "message"), c.ownerName(g.a), c.ownerName(g.b),
				c.seconds(int64(min(s.most, 1<<63-1))), c.seconds(s.first.time)),
			alignHint); err != nil {
			return err
		}
	}
	return nil
}
