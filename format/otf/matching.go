package otf

// MessageMatching finds the receive of each message, as libotfaux's MsgMatching does: the k-th
// send from a process to another with a communicator and tag and the k-th receive of
// these are one message. The zero MessageMatching is ready. It is given the receives of a trace
// first, such as in a first pass, and then asked for each send. Its memory grows with the
// receives that have no send yet.
type MessageMatching struct{ waiting map[channel][]Receipt }

// Receipt is what the receive of a message says.
type Receipt struct{ Time, Length, SCL uint64 }

// Receive takes a record of type RecvMsg; others are ignored.
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

// Send finds the receive of a record of type SendMsg, which is then taken; ok is false if
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
