package messages

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weft-trace/weft/trace"
)

// NoTime stands for a time that the trace does not record.
const NoTime int64 = -1 << 63

// Message is a message with the times of all its phases in ticks, or NoTime for unknown times.
type Message struct {
	Source       uint32 // index into Definitions.Locations, NoRef when unknown
	Destination  uint32 // index into Definitions.Locations, NoRef when unknown
	Communicator uint64 // index into Definitions.Communicator, or [trace.Undefined]
	Tag          int64  // -1 when unknown
	Bytes        uint64 // size at the sender, else at the receiver; [trace.Undefined] if both are unknown
	Send         int64
	SendComplete int64 // completion of a non-blocking send
	RecvBegin    int64 // time at which a non-blocking receive was posted
	Recv         int64 // receive, or completion of a non-blocking receive
}

// openMessage is a message about which further records can follow.
type openMessage struct {
	Message
	// number orders messages by their first record.
	number int64
	waits  bool // it is a non-blocking send that is not complete so far
	wanted bool // its send or receive is in a visit of one of the wanted regions
	ended  bool // both ends are known, or the other end cannot be found
}

// listing holds the messages that have not been passed to Options.List.
type listing struct {
	number int64
	open   map[int64]*openMessage // by number
}

// begin creates the message of a send or receive.
func (p *Part) begin(c *trace.Cursor, at channel, n *end) *openMessage {
	l := &p.listing
	l.number++
	m := &openMessage{Message: Message{Source: at.Source, Destination: at.Destination, Communicator: at.Communicator,
		Tag: n.tag, Bytes: c.Op(3), Send: NoTime, SendComplete: NoTime, RecvBegin: NoTime, Recv: NoTime},
		number: l.number, wanted: n.wanted}
	if c.Kind().IsSend() {
		m.Send = n.time
	} else {
		m.Recv = n.time
	}
	l.open[m.number] = m
	return m
}

// endUnmatched notes that the other end of a message cannot be found.
func (p *Part) endUnmatched(n *end) error {
	if n.message == nil {
		return nil
	}
	n.message.ended = true
	return p.ready(n.message)
}

// pair adds the data of a receive to the message of its send. Both are nil if messages are not listed.
func (p *Part) pair(send, recv *openMessage) error {
	if send == nil || recv == nil {
		return nil
	}
	delete(p.listing.open, recv.number)
	send.RecvBegin, send.Recv, send.ended = recv.RecvBegin, recv.Recv, true
	send.wanted = send.wanted || recv.wanted
	if send.Bytes == trace.Undefined {
		send.Bytes = recv.Bytes
	}
	if send.Tag == -1 {
		send.Tag = recv.Tag
	}
	return p.ready(send)
}

// ready passes a message on if no further records about it can follow.
func (p *Part) ready(m *openMessage) error {
	if !m.ended || m.waits {
		return nil
	}
	delete(p.listing.open, m.number)
	return p.put(m)
}

// windowTime returns the time that decides whether a message belongs to a window: the time of the send
// if it is known, and otherwise that of the receive.
func (m *openMessage) windowTime() int64 {
	if m.Send == NoTime {
		return m.Recv
	}
	return m.Send
}

func (p *Part) put(m *openMessage) error {
	if !m.wanted || !p.opt.Window.Has(m.windowTime()) {
		return nil
	}
	return p.opt.List(&m.Message)
}

// Finish passes on the messages that still wait for records, in the order of their first record.
// With Options.List it must be called once, after the last batch.
func (p *Part) Finish() error {
	if err := p.flush(); err != nil {
		return err
	}
	for _, m := range slices.SortedFunc(maps.Values(p.listing.open),
		func(a, b *openMessage) int { return cmp.Compare(a.number, b.number) }) {
		if err := p.put(m); err != nil {
			return err
		}
	}
	p.listing.open = nil
	return nil
}
