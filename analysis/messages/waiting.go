package messages

// none is no node.
const none = -1

type pair struct{ source, destination uint32 }

// channel is what the messages that may be one share: a pair, and a communicator
// where the format has those.
type channel struct {
	pair
	communicator uint64
}

// node is a send or receive that waits for its other end.
type node struct {
	time, tag int64
	bytes     uint64
	// prev and next link the ends that wait on one side of a channel, after those of the same
	// tag if the side has an index of tags; all are in order of arrival. seq is that order.
	prev, next, after int32
	moment            int32 // of a send: where in time it is
	seq               int64
	message           *open // if messages are listed
	unsized           bool  // bytes is not known
}

// list is the first and last node of a list.
type list struct{ first, last int32 }

// side holds the ends of one kind that wait on a channel, in order of arrival.
type side struct {
	list
	tags map[int64]list // nil while ends are found in a few steps
}

// manySteps is after how many steps along the ends that wait their tags are indexed.
const manySteps = 8

// conversation holds the ends that wait on a channel. A part keeps it while an end waits, or
// while it is a recent one of a location.
type conversation struct {
	at              channel
	sends, receives side
	recent          int       // places in Part.recent
	sent            *cell     // of the pair; nil until something was sent in the window
	took            *transfer // of the pair; nil until a latency is known
}

// other returns the side of the ends that the given ones meet, and theirs.
func (c *conversation) sides(recv bool) (other, own *side) {
	if recv {
		return &c.sends, &c.receives
	}
	return &c.receives, &c.sends
}

// recentPlaces is how many conversations of a location, as sender and as receiver, are found
// without a look-up in the map of all; a power of 2.
const recentPlaces = 8

type recent [2][recentPlaces]*conversation

// conversation returns that of a channel, for an end at one of its locations.
func (p *Part) conversation(at channel, recv bool) *conversation {
	loc, peer, kind := at.source, at.destination, 0
	if recv {
		loc, peer, kind = peer, loc, 1
	}
	for int(loc) >= len(p.recent) {
		p.recent = append(p.recent, nil)
	}
	if p.recent[loc] == nil {
		p.recent[loc] = new(recent)
	}
	place := &p.recent[loc][kind][(peer^uint32(at.communicator))%recentPlaces]
	c := *place
	if c != nil && c.at == at {
		return c
	}
	if c != nil {
		if c.recent--; c.recent == 0 && c.sends.first == none && c.receives.first == none {
			delete(p.conversations, c.at)
		}
	}
	if c = p.conversations[at]; c == nil {
		c = &conversation{at: at, sends: side{list: list{none, none}}, receives: side{list: list{none, none}}}
		p.conversations[at] = c
	}
	c.recent++
	*place = c
	return c
}

// oldest returns the end that waits longest on a side for a tag, none if there is none.
func (p *Part) oldest(s *side, tag int64) int32 {
	if tag == -1 || s.first == none {
		return s.first
	}
	if s.tags == nil {
		i := s.first
		for steps := 0; i != none && steps < manySteps; steps++ {
			if t := p.nodes[i].tag; t == tag || t == -1 {
				return i
			}
			i = p.nodes[i].next
		}
		if i == none {
			return none
		}
		s.tags = map[int64]list{}
		for i := s.first; i != none; i = p.nodes[i].next {
			p.index(s, i)
		}
	}
	best := int32(none)
	for _, t := range [2]int64{tag, -1} {
		if l, ok := s.tags[t]; ok && (best == none || p.nodes[l.first].seq < p.nodes[best].seq) {
			best = l.first
		}
	}
	return best
}

// index adds the newest end of a side to its index of tags.
func (p *Part) index(s *side, i int32) {
	n := &p.nodes[i]
	n.after = none
	l, ok := s.tags[n.tag]
	if ok {
		p.nodes[l.last].after = i
	} else {
		l.first = i
	}
	l.last = i
	s.tags[n.tag] = l
}

// wait lets an end wait on its side.
func (p *Part) wait(s *side, n *node) {
	p.seq++
	n.seq, n.prev, n.next = p.seq, s.last, none
	var i int32
	if f := len(p.free); f > 0 {
		i, p.free = p.free[f-1], p.free[:f-1]
		p.nodes[i] = *n
	} else {
		i = int32(len(p.nodes))
		p.nodes = append(p.nodes, *n)
	}
	if s.last != none {
		p.nodes[s.last].next = i
	} else {
		s.first = i
	}
	s.last = i
	if s.tags != nil {
		p.index(s, i)
	}
}

// remove takes an end out of its side; it is the first of its tag.
func (p *Part) remove(s *side, i int32) {
	n := &p.nodes[i]
	if n.prev != none {
		p.nodes[n.prev].next = n.next
	} else {
		s.first = n.next
	}
	if n.next != none {
		p.nodes[n.next].prev = n.prev
	} else {
		s.last = n.prev
	}
	p.free = append(p.free, i)
	switch {
	case s.first == none:
		s.tags = nil
	case s.tags != nil && n.after == none:
		delete(s.tags, n.tag)
	case s.tags != nil:
		l := s.tags[n.tag]
		l.first = n.after
		s.tags[n.tag] = l
	}
}
