package messages

// none is the index of no node.
const none = -1

type pair struct{ source, destination uint32 }

// channel is the key of messages that may match: a pair of locations, and a communicator in formats
// that have them.
type channel struct {
	pair
	communicator uint64
}

// node is a send or receive that waits for its other end.
type node struct {
	time, tag int64
	bytes     uint64
	// prev and next link the waiting ends of one side of a channel. If the side has an index of tags,
	// after links those of the same tag. All are in order of arrival. seq is that order.
	prev, next, after int32
	moment            int32 // of a send: its moment in pending
	seq               int64
	message           *openMessage // if messages are listed
	unsized           bool         // the number of bytes is unknown
}

// list has the first and last node of a list.
type list struct{ first, last int32 }

// side holds the waiting ends of one type on a channel, in order of arrival.
type side struct {
	list
	tags map[int64]list // nil while ends are found in a few steps
}

// manySteps is the number of steps along waiting ends after which their tags are indexed.
const manySteps = 8

// conversation holds the waiting ends on a channel. A part keeps it while an end waits, or while it
// is one of a location's recent ones.
type conversation struct {
	at              channel
	sends, receives side
	recent          int       // number of entries of Part.recent that refer to it
	sent            *cell     // of the pair; nil until something was sent in the window
	took            *transfer // of the pair; nil until a latency is known
}

// sides returns the side of the matching ends, and the end's own side.
func (c *conversation) sides(recv bool) (other, own *side) {
	if recv {
		return &c.sends, &c.receives
	}
	return &c.receives, &c.sends
}

// recentPlaces is the number of conversations of a location, as sender and as receiver, that are
// found without a look-up in the map of all. It is a power of 2.
const recentPlaces = 8

type recent [2][recentPlaces]*conversation

// conversation returns the conversation of a channel, for an end at one of its locations.
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

// oldest returns the end on a side that has waited longest for a tag, or none.
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

// wait queues an end on its side.
func (p *Part) wait(s *side, n *node) {
	if p.opt.Window.Has(n.time) {
		p.waiting++
	}
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

// remove removes an end, the first of its tag, from its side.
func (p *Part) remove(s *side, i int32) {
	n := &p.nodes[i]
	if p.opt.Window.Has(n.time) {
		p.waiting--
	}
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
