package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/weft-trace/weft/trace"
)

// channel is what the messages that may be one share.
type channel struct {
	from, to     uint32
	communicator uint64
}

// lane is the ends of messages of a channel that wait for their other end: sends, and
// receives, each by tag. The tag -1 fits any.
type lane struct {
	ends  [2]map[int64]*queue
	seq   int64
	skew  *skew  // of the two clocks, nil before the first pair
	spare *queue // one to use again
}

// lanesNear are the lanes that a location has used last, of sends and receives, by the low bits of
// the peer's number.
type lanesNear [2][4]struct {
	channel
	lane *lane
}

// end is one end of a message.
type end struct{ time, length, pos, seq int64 }

// queue is ends with the same tag, in the order of time.
type queue struct {
	list []end
	head int
}

func (q *queue) empty() bool { return q.head == len(q.list) }

// emptyQueues is how many queues a lane may keep for tags of which no end waits.
const emptyQueues = 16

const (
	sends = iota
	receives
)

// unknown is a tag or length that the trace does not tell.
const unknown = -1

// message takes an end of a message.
func (c *Checker) message(s *state, x *trace.Cursor, at place) error {
	peer := x.Op(0)
	if peer >= uint64(c.defs.Locations.Len()) {
		return nil // nothing can be said to fit
	}
	side, ch := sends, channel{at.loc, uint32(peer), x.Op(1)}
	if x.Kind().IsRecv() {
		side, ch = receives, channel{uint32(peer), at.loc, x.Op(1)}
	}
	near := &s.near[side][peer%uint64(len(s.near[side]))]
	if near.lane == nil || near.channel != ch {
		near.channel, near.lane = ch, c.lane(ch)
	}
	return c.end(near.lane, ch, side, int64(x.Op(2)), end{x.Time(), int64(x.Op(3)), at.pos, 0})
}

// lane is that of a channel.
func (c *Checker) lane(ch channel) *lane {
	l := c.lanes[ch]
	if l == nil {
		l = &lane{}
		c.lanes[ch] = l
	}
	return l
}

// end pairs an end of a message with the oldest one that fits, or lets it wait.
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

// meet pairs the ends that wait in another checker with those that wait here.
func (c *Checker) meet(ch channel, o *lane) error {
	l := c.lanes[ch]
	if l == nil {
		o.skew = nil // it is the other checker's
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
		// An end without tag pairs with the oldest of all.
		slices.SortFunc(list, func(a, b tagged) int { return cmp.Compare(a.seq, b.seq) })
		for _, x := range list {
			if err := c.end(l, ch, side, x.tag, x.end); err != nil {
				return err
			}
		}
	}
	return nil
}

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

// take takes out the end that waits longest and fits a tag.
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

// pair holds the two ends of a message against each other.
func (c *Checker) pair(l *lane, ch channel, send, recv end) error {
	at := placeOf(ch.to, openRow{recv.time, recv.pos})
	if send.length != unknown && recv.length != unknown && send.length != recv.length {
		if err := c.report("trace.message-size", at, fmt.Sprintf("a receive of %d bytes at %s", uint64(recv.length), c.seconds(recv.time)),
			fmt.Sprintf("%d bytes, which location %s sent at %s", uint64(send.length), c.id(ch.from), c.seconds(send.time))); err != nil {
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
		return nil // the clocks of the two are reported
	}
	return c.report("trace.receive-before-send", at, fmt.Sprintf("a receive from location %s at %s", c.id(ch.from), c.seconds(recv.time)),
		"a time not before "+c.seconds(send.time)+", when the message was sent")
}

// singly is how many messages without partner, of the same locations and tag, are reported one by
// one; the last of these stands for the rest.
const singly = 10

// unmatched reports messages without partner, but for those whose other side has no
// events at all: it may have been left out on purpose, or its file is missing, which
// has been reported.
func (c *Checker) unmatched() error {
	channels := slices.SortedFunc(maps.Keys(c.lanes), func(a, b channel) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), cmp.Compare(a.communicator, b.communicator))
	})
	for _, ch := range channels {
		for side, waiting := range c.lanes[ch].ends {
			own, other, rule, what, partner := ch.from, ch.to, "trace.send-without-receive", "send to", "receive"
			if side == receives {
				own, other, rule, what, partner = ch.to, ch.from, "trace.receive-without-send", "receive from", "send"
			}
			if !c.recorded(other) {
				continue
			}
			expected := "a " + partner + " to match"
			if side == sends && c.locs[other].posted {
				expected += c.incomplete("receives")
			}
			for _, tag := range slices.Sorted(maps.Keys(waiting)) {
				q := waiting[tag]
				if q.empty() {
					continue
				}
				list := q.list[q.head:]
				for i, e := range list[:min(len(list), singly)] {
					count := int64(1)
					if i == singly-1 {
						count = int64(len(list) - i)
					}
					found := fmt.Sprintf("a %s location %s with tag %d at %s", what, c.id(other), tag, c.seconds(e.time))
					if err := c.reports(rule, placeOf(own, openRow{e.time, e.pos}), count, found, expected); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// clockOwner is what has a clock of its own: a location group, or a location that is in
// none.
type clockOwner struct {
	group bool
	ref   uint32
}

// compareOwners puts groups before locations.
func compareOwners(a, b clockOwner) int {
	switch {
	case a.group == b.group:
		return cmp.Compare(a.ref, b.ref)
	case a.group:
		return -1
	}
	return 1
}

// groupPair is two that exchange messages, in any direction.
type groupPair struct{ a, b clockOwner }

// skew is what the messages of a pair tell of its clocks.
type skew struct {
	messages, early int64
	most            uint64 // ticks
	first           place  // of the early receives
}

// add counts an early receive.
func (s *skew) add(at place, by uint64) {
	s.merge(&skew{early: 1, most: by, first: at})
}

func (s *skew) merge(o *skew) {
	if o.early > 0 && (s.early == 0 || cmp.Or(cmp.Compare(o.first.time, s.first.time), cmp.Compare(o.first.loc, s.first.loc), cmp.Compare(o.first.pos, s.first.pos)) < 0) {
		s.first = o.first
	}
	s.messages, s.early, s.most = s.messages+o.messages, s.early+o.early, max(s.most, o.most)
}

func (c *Checker) skew(g groupPair) *skew {
	s := c.skews[g]
	if s == nil {
		s = &skew{}
		c.skews[g] = s
	}
	return s
}

func (c *Checker) group(loc uint32) clockOwner {
	if g := c.defs.Locations.At(loc).Group; int64(g) < int64(c.defs.Groups.Len()) {
		return clockOwner{true, g}
	}
	return clockOwner{false, loc}
}

func (c *Checker) owner(o clockOwner) string {
	if !o.group {
		return "location " + c.id(o.ref)
	}
	g := c.defs.Groups.At(o.ref)
	return "location group " + cmp.Or(g.Name, g.ID)
}

// alignHint is what is expected of times of locations that contradict each other.
const alignHint = "clocks that agree; weft align corrects them"

// skewed reports pairs of groups whose clocks differ. Within one group clocks are one.
func (c *Checker) skewed() error {
	pairs := slices.SortedFunc(maps.Keys(c.skews), func(x, y groupPair) int {
		return cmp.Or(compareOwners(x.a, y.a), compareOwners(x.b, y.b))
	})
	for _, g := range pairs {
		s := c.skews[g]
		if s.early == 0 || g.a == g.b {
			continue
		}
		if err := c.reports("trace.clock-skew", s.first, s.early,
			fmt.Sprintf("%d of %d messages between %s and %s received before they were sent, by up to %s, the first at %s", s.early, s.messages, c.owner(g.a), c.owner(g.b), c.seconds(int64(min(s.most, 1<<63-1))), c.seconds(s.first.time)),
			alignHint); err != nil {
			return err
		}
	}
	return nil
}
