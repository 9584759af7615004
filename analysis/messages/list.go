package messages

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weft-trace/weft/trace"
)

// NoTime stands for a time that the trace does not tell.
const NoTime int64 = -1 << 63

// Message is a message with the times of all its phases, in ticks; NoTime where the
// trace has none.
type Message struct {
	Source       uint32 // index into Definitions.Locations, NoRef when not known
	Destination  uint32 // the same
	Communicator uint64 // index into Definitions.Communicator, [trace.Undefined] for none
	Tag          int64  // -1 when not known
	Bytes        uint64 // as the sender says, or the receiver where there is no sender
	Send         int64
	SendComplete int64 // when a non-blocking send was known to be complete
	RecvBegin    int64 // when a non-blocking receive was posted
	Recv         int64 // when the message was received
}

// open is a message of which something may come still.
type open struct {
	Message
	number int64
	waits  bool // for its completion at the sender
	ended  bool // there is no other end, or it has been found
}

// request names a non-blocking operation of a location.
type request struct {
	location uint32
	id       uint64
}

// listing is what is known of messages that have not been handed on.
type listing struct {
	number int64
	open   map[int64]*open
	sends  map[request]*open
	recvs  map[request]int64 // when they were posted
}

// begin makes a message of one of its ends.
func (p *Part) begin(c *trace.Cursor, n *node, peer uint32) *open {
	l := &p.listing
	l.number++
	m := &open{Message: Message{Communicator: c.Op(1), Tag: n.tag, Bytes: n.bytes, Send: NoTime, SendComplete: NoTime, RecvBegin: NoTime, Recv: NoTime}, number: l.number}
	id := request{c.Location(), c.Op(4)}
	known := len(c.Ops()) > 4 && id.id != trace.Undefined
	if c.Kind().IsSend() {
		m.Source, m.Destination, m.Send = c.Location(), peer, n.time
		if known && c.Kind() == trace.SendBegin {
			m.waits = true
			l.sends[id] = m
		}
	} else {
		m.Source, m.Destination, m.Recv = peer, c.Location(), n.time
		if at, ok := l.recvs[id]; ok && known {
			m.RecvBegin = at
			delete(l.recvs, id)
		}
	}
	l.open[m.number] = m
	return m
}

// phase takes the other records of non-blocking messages.
func (p *Part) phase(c *trace.Cursor) error {
	if len(c.Ops()) == 0 {
		return nil
	}
	l, id := &p.listing, request{c.Location(), c.Op(0)}
	switch c.Kind() {
	case trace.SendComplete:
		m := l.sends[id]
		if m == nil {
			return nil
		}
		delete(l.sends, id)
		m.SendComplete, m.waits = c.Time(), false
		return p.ready(m)
	case trace.RecvBegin:
		l.recvs[id] = c.Time()
	}
	return nil
}

// alone ends a message whose other end nobody knows.
func (p *Part) alone(n *node) error {
	if n.message == nil {
		return nil
	}
	n.message.ended = true
	return p.ready(n.message)
}

// pair makes one message of both ends.
func (p *Part) pair(send, recv *open) error {
	if send == nil || recv == nil {
		return nil
	}
	delete(p.listing.open, recv.number)
	send.RecvBegin, send.Recv, send.ended = recv.RecvBegin, recv.Recv, true
	if send.Tag == -1 {
		send.Tag = recv.Tag
	}
	return p.ready(send)
}

// ready hands a message on of which nothing more comes.
func (p *Part) ready(m *open) error {
	if !m.ended || m.waits {
		return nil
	}
	delete(p.listing.open, m.number)
	return p.put(m)
}

func (p *Part) put(m *open) error {
	at := m.Send
	if at == NoTime {
		at = m.Recv
	}
	if !p.opt.Window.Has(at) {
		return nil
	}
	return p.opt.List(&m.Message)
}

// Finish hands on the messages that wait for something that the trace does not have, in
// the order of their first event. It is to be called once, at the end.
func (p *Part) Finish() error {
	for _, m := range slices.SortedFunc(maps.Values(p.listing.open), func(a, b *open) int { return cmp.Compare(a.number, b.number) }) {
		if err := p.put(m); err != nil {
			return err
		}
	}
	p.listing.open = nil
	return nil
}
