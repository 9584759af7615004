package otf

// channel identifies messages that are matched by their order: the k-th send of a channel belongs to
// its k-th receive.
type channel struct{ from, to, communicator, tag uint64 }

// balance counts the sends and receives of a channel since the last time at which their numbers were equal.
type balance struct {
	since          int64 // number of the first message since that time; messages of all channels are counted
	sent, received int64
	waiting        []uint64 // ids of the sends without a receive, as State.Pend has returned them
}

// messageMatcher follows the messages of all processes in the order of time. It stores a channel only while
// its numbers of sends and receives differ.
type messageMatcher struct {
	n    int64
	open map[channel]*balance
}

// unevenTime identifies a period in which a channel has more sends than receives, or more receives than sends.
// since is the number of the message that began the period.
type unevenTime struct {
	channel
	since int64
}

// nextMessage counts a message record, and returns the balance of its channel. It creates the balance at the
// first message of the channel.
func (m *messageMatcher) nextMessage(c channel) *balance {
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

// settle removes a channel that has as many receives as sends.
func (m *messageMatcher) settle(c channel, b *balance) {
	if b.sent == b.received {
		delete(m.open, c)
	}
}

// count counts a message record without making it pending.
func (m *messageMatcher) count(r *Record) { m.follow(r, nil, nil) }

// lost returns the periods at whose end some sends have no receive. It maps each period to the number of sends
// that do have a receive. All messages must have been counted.
func (m *messageMatcher) lost() map[unevenTime]int64 {
	lost := map[unevenTime]int64{}
	for c, b := range m.open {
		if b.sent > b.received {
			lost[unevenTime{c, b.since}] = b.received
		}
	}
	return lost
}

// follow updates the states of the senders: a message is pending from its send to its receive. Messages that
// are never received, or that are received before they are sent, do not become pending. If states is nil,
// follow only counts the messages.
func (m *messageMatcher) follow(r *Record, lost map[unevenTime]int64, states map[uint64]*State) {
	switch r.Type {
	case SendMsg:
		c := channel{r.Process, r.Peer, r.Communicator, r.Tag}
		b := m.nextMessage(c)
		all, some := lost[unevenTime{c, b.since}]
		if states != nil && b.sent >= b.received && (!some || b.sent < all) {
			b.waiting = append(b.waiting, states[r.Process].Pend(r))
		}
		b.sent++
		m.settle(c, b)
	case RecvMsg:
		c := channel{r.Peer, r.Process, r.Communicator, r.Tag}
		b := m.nextMessage(c)
		if len(b.waiting) > 0 {
			states[r.Peer].Deliver(b.waiting[0])
			b.waiting = b.waiting[1:]
		}
		b.received++
		m.settle(c, b)
	}
}
