// Package matching pairs the sends and receives of a trace, first in, first out.
package matching

import "github.com/weft-trace/weft/internal/slab"

// none is the index that stands for no node.
const none = -1

// Channel is the key of sends and receives that can match: the two locations and, in formats that have communicators,
// the communicator. A location is an index into Definitions.Locations, or trace.NoRef.
type Channel struct {
	Source, Destination uint32
	Communicator        uint64
}

// UnknownTag is the tag of an end that matches any tag.
const UnknownTag = -1

// Side is one of the two sides of a channel.
type Side int

// The sides of a channel.
const (
	Sends Side = iota
	Receives
)

// Matcher holds the ends of messages that wait for their other end. T is the data of an end, and C that of a channel.
// A Matcher uses memory for the waiting ends, and for up to 8 channels of a location as sender and 8 as receiver.
// [New] returns an empty one.
type Matcher[T, C any] struct {
	nodes         slab.Slab[node[T]]
	conversations map[Channel]*Conversation[C]
	recent        []*[2]recentConversations[C] // indexed by location; nil for locations without ends
	added         int64                        // number of ends that were added
}

// New returns a matcher without ends.
func New[T, C any]() *Matcher[T, C] {
	return &Matcher[T, C]{conversations: map[Channel]*Conversation[C]{}}
}

// node is a send or receive that waits for its partner.
type node[T any] struct {
	value  T
	tag    int64
	number int64 // 0 if the node is not used
	// prev and next link the ends of one side of a channel in order of arrival, which number counts. If the side has an
	// index of tags, after links the ends with the same tag.
	prev, next, after int32
	cancelled         bool
}

// list holds the indices of the first and last node of a linked list.
type list struct{ first, last int32 }

// queue holds the waiting ends of a side of a channel in order of arrival.
type queue struct {
	list
	tags map[int64]list // index of tags; nil while a search takes few steps
}

// stepsBeforeIndex is the number of steps of a search after which a queue gets an index of tags.
const stepsBeforeIndex = 8

// Conversation is a channel with its waiting ends. The matcher keeps it while ends wait, and while it is one of the
// recent conversations of a location.
type Conversation[C any] struct {
	Channel
	Data   C // belongs to the user; the zero value in a new conversation
	queues [2]queue
	recent int // number of entries of Matcher.recent that refer to it
}

// Handle identifies an end that was added.
type Handle struct {
	node   int32
	Number int64 // counts the ends of a matcher in the order in which they were added, from 1
}

// recentPlaces is the number of conversations of a location, as sender and as receiver, that are
// found without a look-up in the map of all conversations. It is a power of 2.
const recentPlaces = 8

// recentConversations holds the recent conversations of a location as sender or as receiver. The keys are together, so
// that a search reads only one cache line of them.
type recentConversations[C any] struct {
	keys [recentPlaces]uint64 // 0 for a free place
	list [recentPlaces]*Conversation[C]
}

// find returns the conversation of a channel, or nil and the place for it.
func (r *recentConversations[C]) find(at *Channel, key uint64) (c *Conversation[C], place uint64) {
	for i := range uint64(recentPlaces) {
		p := (key + i) % recentPlaces
		switch r.keys[p] {
		case key:
			if r.list[p].Channel == *at {
				return r.list[p], p
			}
		case 0:
			return nil, p
		}
	}
	return nil, key % recentPlaces
}

// Conversation returns the conversation of a channel for an end of the given side, which it creates if needed. It is
// valid until the location of that end needs another one.
func (m *Matcher[T, C]) Conversation(at Channel, side Side) *Conversation[C] {
	loc, peer := at.Source, at.Destination
	if side == Receives {
		loc, peer = peer, loc
	}
	for int64(loc) >= int64(len(m.recent)) {
		m.recent = append(m.recent, nil)
	}
	if m.recent[loc] == nil {
		m.recent[loc] = new([2]recentConversations[C])
	}
	r, key := &m.recent[loc][side], uint64(peer)^at.Communicator<<32|1<<63
	c, place := r.find(&at, key)
	if c != nil {
		return c
	}
	if old := r.list[place]; old != nil {
		if old.recent--; old.recent == 0 && old.queues[Sends].first == none && old.queues[Receives].first == none {
			delete(m.conversations, old.Channel)
		}
	}
	if c = m.conversations[at]; c == nil {
		empty := queue{list: list{none, none}}
		c = &Conversation[C]{Channel: at, queues: [2]queue{empty, empty}}
		m.conversations[at] = c
	}
	c.recent++
	r.keys[place], r.list[place] = key, c
	return c
}

// Take removes and returns the end that has waited longest among those on a side that match a tag. ok is false if there
// is none.
func (m *Matcher[T, C]) Take(c *Conversation[C], side Side, tag int64) (v T, ok bool) {
	q := &c.queues[side]
	for {
		i := m.first(q, tag)
		if i == none {
			return v, false
		}
		n := m.nodes.At(i)
		if m.remove(q, i, n); !n.cancelled {
			return n.value, true
		}
	}
}

// Add adds an end to the waiting ones of its side.
func (m *Matcher[T, C]) Add(c *Conversation[C], side Side, tag int64, v T) Handle {
	q := &c.queues[side]
	m.added++
	i, n := m.nodes.Take()
	n.value, n.tag, n.number, n.prev, n.next, n.cancelled = v, tag, m.added, q.last, none, false
	if q.last != none {
		m.nodes.At(q.last).next = i
	} else {
		q.first = i
	}
	q.last = i
	if q.tags != nil {
		m.index(q, i)
	}
	return Handle{i, m.added}
}

// Cancel returns an end that waits, and lets nothing match it. ok is false if the end does not wait any more.
func (m *Matcher[T, C]) Cancel(h Handle) (v T, ok bool) {
	if h.Number == 0 {
		return v, false
	}
	n := m.nodes.At(h.node)
	if n.number != h.Number || n.cancelled {
		return v, false
	}
	n.cancelled = true
	return n.value, true
}

// Each calls f for each end that waits, except the cancelled ones. The ends of a side of a channel come in the order in
// which they were added, and the channels in no particular order.
func (m *Matcher[T, C]) Each(f func(at Channel, side Side, tag int64, h Handle, v T)) {
	for at, c := range m.conversations {
		for side := range c.queues {
			for i := c.queues[side].first; i != none; i = m.nodes.At(i).next {
				if n := m.nodes.At(i); !n.cancelled {
					f(at, Side(side), n.tag, Handle{i, n.number}, n.value)
				}
			}
		}
	}
}

// first returns the index of the first end in a queue that matches a tag, or none.
func (m *Matcher[T, C]) first(q *queue, tag int64) int32 {
	if tag == UnknownTag || q.first == none {
		return q.first
	}
	if q.tags == nil {
		i := q.first
		for steps := 0; i != none && steps < stepsBeforeIndex; steps++ {
			if t := m.nodes.At(i).tag; t == tag || t == UnknownTag {
				return i
			}
			i = m.nodes.At(i).next
		}
		if i == none {
			return none
		}
		q.tags = map[int64]list{}
		for i := q.first; i != none; i = m.nodes.At(i).next {
			m.index(q, i)
		}
	}
	best := int32(none)
	for _, t := range [2]int64{tag, UnknownTag} {
		if l, ok := q.tags[t]; ok && (best == none || m.nodes.At(l.first).number < m.nodes.At(best).number) {
			best = l.first
		}
	}
	return best
}

// index adds node i, the newest end of a queue, to its index of tags.
func (m *Matcher[T, C]) index(q *queue, i int32) {
	n := m.nodes.At(i)
	n.after = none
	l, ok := q.tags[n.tag]
	if ok {
		m.nodes.At(l.last).after = i
	} else {
		l.first = i
	}
	l.last = i
	q.tags[n.tag] = l
}

// remove removes node i, which is n, from its queue. It must be the oldest end with its tag.
func (m *Matcher[T, C]) remove(q *queue, i int32, n *node[T]) {
	n.number = 0
	if n.prev != none {
		m.nodes.At(n.prev).next = n.next
	} else {
		q.first = n.next
	}
	if n.next != none {
		m.nodes.At(n.next).prev = n.prev
	} else {
		q.last = n.prev
	}
	m.nodes.Free(i)
	switch {
	case q.first == none:
		q.tags = nil
	case q.tags != nil && n.after == none:
		delete(q.tags, n.tag)
	case q.tags != nil:
		l := q.tags[n.tag]
		l.first = n.after
		q.tags[n.tag] = l
	}
}
