package otf

// MessageMatching finds the receive of each message, as libotfaux's MsgMatching does. Messages of one
// sender, receiver, communicator and tag are matched by order: the k-th send belongs to the k-th
// receive. Call Receive with all receives of a trace first, and then Send for each send. The memory
// grows with the number of receives that have no send yet. The zero MessageMatching is ready to use.
type MessageMatching struct{ waiting map[channel][]Receipt }

// Receipt holds the fields of a receive.
type Receipt struct{ Time, Length, SCL uint64 }

// Receive adds a record of type RecvMsg. It ignores other types.
func (m *MessageMatching) Receive(r *Record) {
	if r.Type != RecvMsg {
		return
	}
	if m.waiting == nil {
		m.waiting = map[channel][]Receipt{}
	}
	c := channel{r.Peer, r.Process, r.Communicator, r.Tag}
	m.waiting[c] = append(m.waiting[c], Receipt{r.Time, r.Length, r.SCL})
}

// Send returns the receive that belongs to a record of type SendMsg, and removes it. ok is false if
// there is none.
func (m *MessageMatching) Send(r *Record) (x Receipt, ok bool) {
	c := channel{r.Process, r.Peer, r.Communicator, r.Tag}
	l := m.waiting[c]
	if r.Type != SendMsg || len(l) == 0 {
		return Receipt{}, false
	}
	if m.waiting[c] = l[1:]; len(l) == 1 {
		delete(m.waiting, c)
	}
	return l[0], true
}
