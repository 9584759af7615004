package otf

// channel is what messages are matched by: the k-th send with the k-th receive.
type channel struct{ from, to, communicator, tag uint64 }

// balance counts a channel's messages since it was even last.
type balance struct {
	since          int64 // number of the message with which it began, of all channels
	sent, received int64
	waiting        []uint64 // of the states' pending sends, those not received yet
}

// matching follows the messages of all processes in the order of time. It knows a
// channel only while that is not even.
type matching struct {
	n    int64
	open map[channel]*balance
}

// unevenTime is a time in which a channel is not even, from one even state to the next.
type unevenTime struct {
	channel
	since int64
}

// at finds the balance of the channel of the next message.
func (m *matching) at(c channel) *balance {
	b := m.open[c]
	if b == nil {
		if m.open == nil {
			m.open = map[channel]*balance{}
		}
		b = &balance{since: m.n}
		m.open[c] = b
	}
	m.n++
	return b
}

// settle forgets a channel that is even.
func (m *matching) settle(c channel, b *balance) {
	if b.sent == b.received {
		delete(m.open, c)
	}
}

// count takes a record of a message without keeping it.
func (m *matching) count(r *Record) { m.follow(r, nil, nil) }

// lost tells, after all messages were counted, where there are sends without a
// receive, and how many sends before them have one.
func (m *matching) lost() map[unevenTime]int64 {
	lost := map[unevenTime]int64{}
	for c, b := range m.open {
		if b.sent > b.received {
			lost[unevenTime{c, b.since}] = b.received
		}
	}
	return lost
}

// follow makes messages pending in the states of their senders from their send to
// their receive. Messages that are never received do not become pending, nor those
// received before they were sent. Without states messages are counted alone.
func (m *matching) follow(r *Record, lost map[unevenTime]int64, states map[uint64]*State) {
	switch r.Type {
	case SendMsg:
		c := channel{r.Process, r.Peer, r.Communicator, r.Tag}
		b := m.at(c)
		all, some := lost[unevenTime{c, b.since}]
		if states != nil && b.sent >= b.received && (!some || b.sent < all) {
			b.waiting = append(b.waiting, states[r.Process].Pend(r))
		}
		b.sent++
		m.settle(c, b)
	case RecvMsg:
		c := channel{r.Peer, r.Process, r.Communicator, r.Tag}
		b := m.at(c)
		if len(b.waiting) > 0 {
			states[r.Peer].Deliver(b.waiting[0])
			b.waiting = b.waiting[1:]
		}
		b.received++
		m.settle(c, b)
	}
}
