package check

import (
	"cmp"
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

// lane holds the ends of messages of a channel that wait for their other end: sends and receives,
// each by tag. The tag -1 matches any tag.
type lane struct {
	ends  [2]map[int64]*queue
	seq   int64  // sequence number of the last end that was added
	skew  *skew  // skew of the two clocks, nil before the first pair
	spare *queue // an unused queue
}

// recentLanes caches the lanes that a location has used last, as sender at index 0 and as receiver
// at index 1, by the low bits of the peer's number.
type recentLanes [2][4]struct {
	channel
	lane *lane
}

// end is an end of a message that waits: its time in ticks, its length in bytes, its position in
// the file, and its sequence number.
type end struct{ time, length, pos, seq int64 }

// queue holds message ends with the same tag, in time order.
type queue struct {
	list []end
	head int
}

func (q *queue) empty() bool { return q.head == len(q.list) }

// emptyQueues is the number of queues above which a lane deletes the queues that have become empty.
const emptyQueues = 16

// The sides of a lane.
const (
	sends = iota
	receives
)

// unknown is the value of a tag or length that the trace does not record.
const unknown = -1

// message checks an end of a message and pairs it.
func (c *Checker) message(s *locationState, x *trace.Cursor, at place) error {
	peer := x.Op(0)
	if peer >= uint64(c.defs.Locations.Len()) {
		return nil // undefined peer, so that no other end can match
	}
	side, ch := sends, channel{at.loc, uint32(peer), x.Op(1)}
	if x.Kind().IsRecv() {
		side, ch = receives, channel{uint32(peer), at.loc, x.Op(1)}
	}
	recent := &s.recent[side][peer%uint64(len(s.recent[side]))]
	if recent.lane == nil || recent.channel != ch {
		recent.channel, recent.lane = ch, c.lane(ch)
	}
	return c.end(recent.lane, ch, side, int64(x.Op(2)), end{x.Time(), int64(x.Op(3)), at.pos, 0})
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

// end pairs an end of a message with the oldest matching end, or adds it to the waiting ends.
func (c *Checker) end(l *lane, ch channel, side int, tag int64, e end) error {
	other, ok := l.take(1-side, tag)
	switch {
	case !ok:
		l.wait(side, tag, e)
		return nil
	case side == sends:
		return c.pair(l, ch, e, other)
	}
	return c.pair(l, ch, other, e)
}

// mergeLane pairs the ends that wait in another checker's lane with those that wait in c.
func (c *Checker) mergeLane(ch channel, o *lane) error {
	l := c.lanes[ch]
	if l == nil {
		o.skew = nil // it belongs to the other checker
		c.lanes[ch] = o
		return nil
	}
	type tagged struct {
		end
		tag int64
	}
	for side, waiting := range o.ends {
		var list []tagged
		for tag, q := range waiting {
			for _, e := range q.list[q.head:] {
				list = append(list, tagged{e, tag})
			}
		}
		// An end without tag must pair with the oldest end of any tag, so that the order of all
		// tags matters.
		slices.SortFunc(list, func(a, b tagged) int { return cmp.Compare(a.seq, b.seq) })
		for _, x := range list {
			if err := c.end(l, ch, side, x.tag, x.end); err != nil {
				return err
			}
		}
	}
	return nil
}

// wait adds an end to the waiting ones of a side.
func (l *lane) wait(side int, tag int64, e end) {
	if l.ends[side] == nil {
		l.ends[side] = map[int64]*queue{}
	}
	q := l.ends[side][tag]
	if q == nil {
		if q = l.spare; q == nil {
			q = &queue{}
		}
		l.spare = nil
		l.ends[side][tag] = q
	}
	l.seq++
	e.seq = l.seq
	q.list = append(q.list, e)
}

// take removes and returns the end that has waited longest among those that match a tag. It returns
// false if there is none.
func (l *lane) take(side int, tag int64) (end, bool) {
	waiting := l.ends[side]
	if len(waiting) == 0 {
		return end{}, false
	}
	best, key := (*queue)(nil), int64(0)
	look := func(tag int64, q *queue) {
		if q != nil && !q.empty() && (best == nil || q.list[q.head].seq < best.list[best.head].seq) {
			best, key = q, tag
		}
	}
	if tag == unknown {
		for tag, q := range waiting {
			look(tag, q)
		}
	} else {
		look(tag, waiting[tag])
		look(unknown, waiting[unknown])
	}
	if best == nil {
		return end{}, false
	}
	e := best.list[best.head]
	if best.head++; best.empty() {
		if best.head, best.list = 0, best.list[:0]; cap(best.list) > 64 {
			best.list = nil
		}
		if len(waiting) > emptyQueues {
			delete(waiting, key)
			l.spare = best
		}
	} else if best.head >= 64 && best.head*2 >= len(best.list) {
		best.list = best.list[:copy(best.list, best.list[best.head:])]
		best.head = 0
	}
	return e, true
}

// pair checks the two ends of a message against each other.
func (c *Checker) pair(l *lane, ch channel, send, recv end) error {
	at := placeOf(ch.to, openRow{recv.time, recv.pos})
	if send.length != unknown && recv.length != unknown && send.length != recv.length {
		if err := c.report("trace.message-size", at,
			fmt.Sprintf("a receive of %s at %s", plural.Of(uint64(recv.length), "byte"), c.seconds(recv.time)),
			fmt.Sprintf("%s, which location %s sent at %s", plural.Of(uint64(send.length), "byte"), c.id(ch.from),
				c.seconds(send.time))); err != nil {
			return err
		}
	}
	s := l.skew
	if s == nil {
		g := groupPair{c.group(ch.from), c.group(ch.to)}
		if compareOwners(g.b, g.a) < 0 {
			g.a, g.b = g.b, g.a
		}
		s = c.skew(g)
		l.skew = s
	}
	s.messages++
	if recv.time >= send.time {
		return nil
	}
	s.add(placeOf(ch.to, openRow{recv.time, recv.pos}), uint64(send.time)-uint64(recv.time))
	if c.group(ch.from) != c.group(ch.to) {
		return nil // clockSkews reports the pair of groups
	}
	return c.report("trace.receive-before-send", at,
		fmt.Sprintf("a receive from location %s at %s", c.id(ch.from), c.seconds(recv.time)),
		"a time not before "+c.seconds(send.time)+", when the message was sent")
}

// maxSingly is the greatest number of separate reports of messages without partner with the same
// locations and tag. The last of them counts all remaining messages.
const maxSingly = 10

// reportUnmatched reports messages without partner. It skips messages whose other location has no events:
// either the selection excludes that location, or its file is missing, which the reader has
// reported.
func (c *Checker) reportUnmatched() error {
	channels := slices.SortedFunc(maps.Keys(c.lanes), func(a, b channel) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), cmp.Compare(a.communicator, b.communicator))
	})
	for _, ch := range channels {
		for side, waiting := range c.lanes[ch].ends {
			own, other, rule, what, partner := ch.from, ch.to, "trace.send-without-receive", "send to", "receive"
			if side == receives {
				own, other, rule, what, partner = ch.to, ch.from, "trace.receive-without-send", "receive from", "send"
			}
			if !c.hasEvents(other) {
				continue
			}
			expected := "a " + partner + " to match"
			if side == sends && c.locs[other].posted {
				expected += c.recorderNote("receives")
			}
			for _, tag := range slices.Sorted(maps.Keys(waiting)) {
				q := waiting[tag]
				if q.empty() {
					continue
				}
				list := q.list[q.head:]
				for i, e := range list[:min(len(list), maxSingly)] {
					count := int64(1)
					if i == maxSingly-1 {
						count = int64(len(list) - i)
					}
					found := fmt.Sprintf("a %s location %s with tag %d at %s", what, c.id(other), tag, c.seconds(e.time))
					if err := c.reportCount(rule, placeOf(own, openRow{e.time, e.pos}), count, found, expected); err != nil {
						return err
					}
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

// add counts a receive at a place that precedes its send by the given number of ticks.
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

// skew returns the skew of a pair. It creates the skew if needed.
func (c *Checker) skew(g groupPair) *skew {
	s := c.skews[g]
	if s == nil {
		s = &skew{}
		c.skews[g] = s
	}
	return s
}

// group returns the owner of a location's clock.
func (c *Checker) group(loc uint32) clockOwner {
	if g := c.defs.Locations.At(loc).Group; int64(g) < int64(c.defs.Groups.Len()) {
		return clockOwner{true, g}
	}
	return clockOwner{false, loc}
}

// owner returns the name that messages use for the owner of a clock.
func (c *Checker) owner(o clockOwner) string {
	if !o.group {
		return "location " + c.id(o.ref)
	}
	g := c.defs.Groups.At(o.ref)
	return "location group " + cmp.Or(g.Name, g.ID)
}

// alignHint is the expectation in reports about clocks that differ.
const alignHint = "clocks that agree; weft align corrects them"

// clockSkews reports pairs of groups whose clocks differ.
func (c *Checker) clockSkews() error {
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
				s.early, plural.Of(s.messages, "message"), c.owner(g.a), c.owner(g.b), c.seconds(int64(min(s.most, 1<<63-1))),
				c.seconds(s.first.time)),
			alignHint); err != nil {
			return err
		}
	}
	return nil
}
