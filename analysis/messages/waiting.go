package messages

// none is the index that stands for no node.
const none = -1

// pair is a pair of locations between which messages are sent.
type pair struct{ source, destination uint32 }

// channel is the key of sends and receives that can match: the two locations and, in formats that have
// communicators, the communicator.
type channel struct {
	pair
	communicator uint64
}

// node is a send or receive that waits for its other end. Times are in ticks.
type node struct {
	time, tag int64
	bytes     uint64
	// prev and next link the waiting ends of one side of a channel in order of arrival, which seq
	// numbers. If the side has an index of tags, after links the ends with the same tag.
	prev, next, after int32
	moment            int32 // for a send: its moment in Part.pending
	seq               int64
	request           uint64       // of a non-blocking send, or trace.Undefined
	message           *openMessage // nil unless messages are listed
	unsized           bool         // the number of bytes is unknown
	wanted            bool         // in a visit of one of the wanted regions
	cancelled         bool         // a send that nothing receives
}

// list holds the indices of the first and last node of a linked list.
type list struct{ first, last int32 }

// side holds the waiting sends, or the waiting receives, on a channel in order of arrival.
type side struct {
	list
	tags map[int64]list // index of tags; nil while a search takes few steps
}

// manySteps is the number of steps of a search after which a side gets an index of tags.
const manySteps = 8

// conversation holds the waiting ends on a channel. A part keeps it while ends wait, and while it
// is one of the recent conversations of a location.
type conversation struct {
	at              channel
	sends, receives side
	recent          int       // number of entries of location.recent that refer to it
	sent            *cell     // sums of Part.matrix for the pair; nil until something was sent in the window
	latency         *transfer // sums of Part.latencies for the pair; nil until a latency is known
}

// sides returns the side of the ends that a send or receive can match, and the side on which it
// waits itself.
func (c *conversation) sides(recv bool) (other, own *side) {
	if recv {
		return &c.sends, &c.receives
	}
	return &c.receives, &c.sends
}

// recentPlaces is the number of conversations of a location, as sender and as receiver, that are
// found without a look-up in the map of all conversations. It is a power of 2.
const recentPlaces = 8

// conversation returns the conversation of a channel, which it creates if needed. recv reports
// whether the end for which it is needed is a receive.
func (p *Part) conversation(at channel, recv bool) *conversation {
	loc, peer, kind := at.source, at.destination, 0
	if recv {
		loc, peer, kind = peer, loc, 1
	}
	place := &p.location(loc).recent[kind][(peer^uint32(at.communicator))%recentPlaces]
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

// oldest returns the index of the end that has waited longest among those on a side that match a tag.
// It returns none if no end matches. It removes cancelled sends.
func (p *Part) oldest(s *side, tag int64) int32 {
	for {
		i := p.first(s, tag)
		if i == none || !p.nodes[i].cancelled {
			return i
		}
		p.remove(s, i)
	}
}

// first returns the index of the first end on a side that matches a tag, or none.
func (p *Part) first(s *side, tag int64) int32 {
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

// index adds node i, the newest end of a side, to its index of tags.
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

// wait appends an end to the queue of its side. It returns the index of its node.
func (p *Part) wait(s *side, n *node) int32 {
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
	return i
}

// remove removes node i from the queue of its side. It must be the oldest end with its tag.
func (p *Part) remove(s *side, i int32) {
	n := &p.nodes[i]
	if !n.cancelled && p.opt.Window.Has(n.time) {
		p.waiting--
	}
	n.seq = 0
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
