package waitstate

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/trace"
)

// call is a call that completes sends or receives.
type call struct {
	place        Place
	path         uint32
	enter, leave int64
	test         bool // it only tests for completion, and never waits
	judged       bool // the other side of a message is known
	bare         bool
	pending      int // number of messages that are not fully known, plus 1 until all points of the call are processed
	late         *message
	lateSender   int64 // the greatest wait for a sender
	lateReceiver int64 // the greatest wait for a receiver
	receiver     Wait  // describes lateReceiver
}

// message is a send and its receive.
type message struct {
	from          uint32
	to            uint32
	communicator  uint64
	send          Place // the call that sends
	sendEnter     int64
	sendTime      int64
	sendCall      *call // completes the send; nil until it is known
	recvCall      *call // completes the receive; nil until it is known
	recvPost      Place // the call that posts the receive
	recvPostEnter int64
	recvTime      int64
	sent, matched bool
	merged        *message // for a send: the message that it was merged with, which has both ends
	tag           uint64
	posted        uint64 // for a receive: its number among the posted receives of its location
	synchronous   bool   // the send call completes only after the receive is posted
	length        int64  // duration of its late-sender wait; 0 until that is known
	counted       Wait
	wrong         Pattern // WrongOrderSame or WrongOrderDifferent, once one of them is found to apply
}

// channel is what messages that may match share.
type channel struct {
	from, to     uint32
	communicator uint64
}

type request struct {
	location uint32
	id       uint64
}

// posted is what is known of an open request.
type posted struct {
	send   *message // nil for others
	place  Place    // the call that posts it
	enter  int64
	number uint64 // for a receive: its number among the posted receives of its location
}

// inbox is the order in which a location posts receives. Messages do not overtake each other: the
// receive that is posted first gets the message that is sent first, even if another one completes
// before. The trace tells the source of a receive when it completes. Receives that complete early are
// held until those that were posted before have completed, too.
type inbox struct {
	next uint64
	open []uint64   // numbers of the posts that have not completed, ascending
	held []*message // by number
}

// mostHeld is the number of receives of a location that are held.
const mostHeld = 256

// pendingEnds are the ends of messages of a channel that wait for the other side, by tag, in order.
type pendingEnds struct {
	sends, receives map[uint64]*fifo
}

// fifo is a queue of messages.
type fifo struct {
	list []*message
	head int
}

func (q *fifo) push(m *message) { q.list = append(q.list, m) }

func (q *fifo) pop() *message {
	m := q.list[q.head]
	q.list[q.head] = nil
	if q.head++; q.head == len(q.list) {
		q.list, q.head = q.list[:0], 0
	} else if q.head >= 64 && q.head*2 >= len(q.list) {
		q.list, q.head = q.list[:copy(q.list, q.list[q.head:])], 0
	}
	return m
}

func (q *fifo) empty() bool { return q == nil || q.head == len(q.list) }

// messages is the state of the matching.
type messages struct {
	e        *engine
	channels map[channel]*pendingEnds
	requests map[request]posted
	orders   []*receiveOrder // by location
	inboxes  []*inbox        // by location

	freshCalls    []call // allocated and not used
	freshMessages []message
}

// freshObjects is the number of calls and of messages that are allocated together.
const freshObjects = 32

func (m *messages) newCall() *call {
	if len(m.freshCalls) == 0 {
		m.freshCalls = make([]call, freshObjects)
	}
	c := &m.freshCalls[0]
	m.freshCalls = m.freshCalls[1:]
	return c
}

func (m *messages) newMessage() *message {
	if len(m.freshMessages) == 0 {
		m.freshMessages = make([]message, freshObjects)
	}
	x := &m.freshMessages[0]
	m.freshMessages = m.freshMessages[1:]
	return x
}

func (m *messages) init(e *engine) {
	*m = messages{e: e, channels: map[channel]*pendingEnds{}, requests: map[request]posted{}}
}

// callOf returns the call that completes messages, and makes it if there is none yet.
func (m *messages) callOf(c *synclog.Call, at Place, own *call) *call {
	if own == nil {
		own = m.newCall()
		*own = call{place: at, path: c.Path, enter: c.Enter, leave: c.Leave, bare: c.Bare,
			test: c.Role == trace.TestRole, pending: 1}
	}
	return own
}

// message takes an end, a post or a completion of a message.
func (e *engine) message(c *synclog.Call, at Place, p *synclog.Point, own *call) *call {
	m := &e.messages
	switch p.Kind {
	case synclog.Send:
		own = m.callOf(c, at, own)
		own.pending++
		m.send(c, at, p, own)
	case synclog.SendPost:
		x := m.send(c, at, p, nil)
		if id := p.Ops[4]; id != trace.Undefined {
			m.requests[request{c.Location, id}] = posted{send: x, place: at, enter: c.Enter}
		}
	case synclog.SendDone:
		k := request{c.Location, p.Ops[0]}
		if r, ok := m.requests[k]; ok && r.send != nil {
			delete(m.requests, k)
			own = m.callOf(c, at, own)
			own.pending++
			x := r.send
			if x.merged != nil {
				x = x.merged
			}
			x.sendCall = own
			e.receiverKnown(x)
		}
	case synclog.RecvPost:
		b := m.inbox(c.Location)
		b.next++
		b.open = append(b.open, b.next)
		m.requests[request{c.Location, p.Ops[0]}] = posted{place: at, enter: c.Enter, number: b.next}
	case synclog.Cancelled:
		k := request{c.Location, p.Ops[0]}
		if r, ok := m.requests[k]; ok {
			delete(m.requests, k)
			m.close(m.inbox(c.Location), r.number)
		}
	case synclog.Recv:
		own = m.callOf(c, at, own)
		own.pending++
		m.receive(c, p, own, posted{place: at, enter: c.Enter})
	case synclog.RecvDone:
		own = m.callOf(c, at, own)
		own.pending++
		post := posted{place: at, enter: c.Enter}
		k := request{c.Location, p.Ops[4]}
		if r, ok := m.requests[k]; ok && r.send == nil {
			delete(m.requests, k)
			post = r
		}
		m.receive(c, p, own, post)
	}
	return own
}

func (m *messages) inbox(location uint32) *inbox {
	for int64(location) >= int64(len(m.inboxes)) {
		m.inboxes = append(m.inboxes, nil)
	}
	if m.inboxes[location] == nil {
		m.inboxes[location] = &inbox{}
	}
	return m.inboxes[location]
}

// close takes a post that is open no more, and matches the receives that waited for that.
func (m *messages) close(b *inbox, number uint64) {
	if i, ok := slices.BinarySearch(b.open, number); ok {
		b.open = slices.Delete(b.open, i, i+1)
	}
	n := 0
	for n < len(b.held) && (len(b.open) == 0 || b.held[n].posted < b.open[0]) {
		n++
	}
	m.release(b, n)
}

// release matches the first n receives that are held.
func (m *messages) release(b *inbox, n int) {
	for _, x := range b.held[:n] {
		m.match(x)
	}
	b.held = slices.Delete(b.held, 0, n)
}

func (m *messages) channel(from, to uint32, communicator uint64) *pendingEnds {
	k := channel{from, to, communicator}
	x := m.channels[k]
	if x == nil {
		x = &pendingEnds{map[uint64]*fifo{}, map[uint64]*fifo{}}
		m.channels[k] = x
	}
	return x
}

// send takes a send. own is the call that completes it, or nil.
func (m *messages) send(c *synclog.Call, at Place, p *synclog.Point, own *call) *message {
	to := uint32(min(p.Ops[0], uint64(trace.NoRef)))
	ends := m.channel(c.Location, to, p.Ops[1])
	q := ends.receives[p.Ops[2]]
	var x *message
	if q.empty() {
		x = m.newMessage()
		q = ends.sends[p.Ops[2]]
		if q == nil {
			q = &fifo{}
			ends.sends[p.Ops[2]] = q
		}
		q.push(x)
	} else {
		x = q.pop()
	}
	x.from, x.to, x.communicator, x.sent = c.Location, to, p.Ops[1], true
	x.send, x.sendEnter, x.sendTime, x.sendCall = at, c.Enter, p.Time, own
	x.synchronous = c.Synchronous
	if x.recvCall != nil {
		m.e.matched(x)
	}
	return x
}

// receive takes a receive that a call completes.
func (m *messages) receive(c *synclog.Call, p *synclog.Point, own *call, post posted) {
	b := m.inbox(c.Location)
	if post.number == 0 {
		b.next++
		post.number = b.next
	}
	x := m.newMessage()
	*x = message{from: uint32(min(p.Ops[0], uint64(trace.NoRef))), to: c.Location, communicator: p.Ops[1], tag: p.Ops[2],
		recvCall: own, recvPost: post.place, recvPostEnter: post.enter, recvTime: p.Time, posted: post.number}
	m.order(c.Location).push(x)
	if len(b.open) == 0 || b.open[0] >= x.posted {
		m.match(x)
		m.close(b, x.posted)
		return
	}
	i, _ := slices.BinarySearchFunc(b.held, x.posted, func(y *message, n uint64) int { return cmp.Compare(y.posted, n) })
	b.held = slices.Insert(b.held, i, x)
	m.close(b, x.posted)
	if len(b.held) > mostHeld {
		m.release(b, 1)
	}
}

// match looks for the send of a receive.
func (m *messages) match(x *message) {
	ends := m.channel(x.from, x.to, x.communicator)
	q := ends.sends[x.tag]
	if q.empty() {
		q = ends.receives[x.tag]
		if q == nil {
			q = &fifo{}
			ends.receives[x.tag] = q
		}
		q.push(x)
		return
	}
	y := q.pop()
	y.merged = x
	x.send, x.sendEnter, x.sendTime, x.sendCall, x.synchronous = y.send, y.sendEnter, y.sendTime, y.sendCall, y.synchronous
	x.sent = true
	m.e.matched(x)
}

// matched takes a message of which both sides are known.
func (e *engine) matched(x *message) {
	x.matched = true
	c := x.recvCall
	c.judged = c.judged || !c.bare
	switch {
	case c.bare:
		if e.counts(c.enter) {
			e.Unjudged[BareReceive]++
		}
	case !c.test:
		if w := min(x.sendEnter, c.leave) - c.enter; w > c.lateSender {
			c.late, c.lateSender = x, w
		}
	}
	e.violated(&e.EarlyMessages, x.sendTime-x.recvTime, c.enter)
	if e.hooks.Message != nil {
		e.hooks.Message(&Message{x.send, c.place, x.sendEnter, x.sendTime, x.recvTime, x.communicator})
	}
	if x.sendCall != nil {
		e.receiverKnown(x)
	}
	e.messages.order(x.to).advance(e)
	e.ended(c)
}

// receiverKnown takes a message of which the call that completes the send is known, and maybe the
// receive.
func (e *engine) receiverKnown(x *message) {
	c := x.sendCall
	if x.recvCall == nil || c == nil {
		return // the other side comes later
	}
	c.judged = c.judged || !c.bare
	w := x.recvPostEnter - c.enter
	waited := w > 0 && !c.bare && !c.test && c.leave > x.recvPostEnter
	if (waited || x.synchronous) && e.hooks.Rendezvous != nil {
		e.hooks.Rendezvous(&Rendezvous{c.place, x.recvPost, x.recvPostEnter})
	}
	if waited && w > c.lateReceiver {
		c.lateReceiver = w
		c.receiver = Wait{LateReceiver, c.place, c.path, c.enter, w, x.recvPost, x.recvPostEnter, x.communicator, true}
	}
	e.ended(c)
}

// ended takes away one of the things that a call waits for, and counts its wait after the last one.
func (e *engine) ended(c *call) {
	if c.pending--; c.pending > 0 {
		return
	}
	if c.judged && e.counts(c.enter) {
		e.Judged++
	}
	switch {
	case c.lateSender > 0:
		x := c.late
		x.length = c.lateSender
		x.counted = Wait{LateSender, c.place, c.path, c.enter, c.lateSender, x.send, x.sendEnter, x.communicator, true}
		e.wait(x.counted)
		e.wrong(x)
	case c.lateReceiver > 0:
		e.wait(c.receiver)
	}
}

// wrong counts a late sender as one of a wrong order, when both is known.
func (e *engine) wrong(x *message) {
	if x.length > 0 && x.wrong != 0 {
		w := x.counted
		for _, w.Pattern = range [2]Pattern{WrongOrder, x.wrong} {
			e.wait(w)
		}
	}
}

// receiveOrder holds the receives of a location in order, to find out which of them were received
// before messages that had been sent earlier.
type receiveOrder struct {
	fifo
	late byTime // late senders that may turn out to be of a wrong order
}

const (
	// mostUnmatched is the number of receives that wait for one whose send is unknown.
	mostUnmatched = 4096
	// mostLate is the number of late senders of a location that are kept.
	mostLate = 256
)

func (m *messages) order(location uint32) *receiveOrder {
	for int64(location) >= int64(len(m.orders)) {
		m.orders = append(m.orders, nil)
	}
	if m.orders[location] == nil {
		m.orders[location] = &receiveOrder{}
	}
	return m.orders[location]
}

// advance processes the receives whose sends are known, in order.
func (o *receiveOrder) advance(e *engine) {
	for !o.empty() {
		head := o.list[o.head]
		if !head.matched {
			if len(o.list)-o.head <= mostUnmatched {
				return
			}
			o.pop()
			continue
		}
		x := o.pop()
		for len(o.late) > 0 && o.late[0].sendTime > x.sendTime {
			y := heap.Pop(&o.late).(*message)
			y.wrong = WrongOrderDifferent
			if y.from == x.from {
				y.wrong = WrongOrderSame
			}
			e.wrong(y)
		}
		if x.sendEnter > x.recvCall.enter && !x.recvCall.test {
			if len(o.late) == mostLate {
				o.late.dropEarliest()
			}
			heap.Push(&o.late, x)
		}
	}
}

// byTime is a heap of messages, the one sent last first.
type byTime []*message

// Len, Less, Swap, Push and Pop implement [heap.Interface].
func (h byTime) Len() int { return len(h) }

// Less orders by the time of the send, the latest first.
func (h byTime) Less(i, j int) bool { return h[i].sendTime > h[j].sendTime }

// Swap swaps two messages.
func (h byTime) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push appends a message.
func (h *byTime) Push(x any) { *h = append(*h, x.(*message)) }

// Pop removes the last message.
func (h *byTime) Pop() any {
	n := len(*h) - 1
	x := (*h)[n]
	(*h)[n] = nil
	*h = (*h)[:n]
	return x
}

// dropEarliest removes the messages of the lower half of the heap, which were sent early.
func (h *byTime) dropEarliest() {
	clear((*h)[len(*h)/2:])
	*h = (*h)[:len(*h)/2]
}

// finish counts what is known of calls that wait for ends of messages that the trace does not have.
func (m *messages) finish() {
	for _, b := range m.inboxes {
		if b != nil {
			m.release(b, len(b.held))
		}
	}
	var calls []*call
	for _, ends := range m.channels {
		for _, q := range ends.receives {
			for _, x := range q.list[q.head:] {
				if m.e.counts(x.recvCall.enter) {
					m.e.Unjudged[UnmatchedReceive]++
				}
				calls = append(calls, x.recvCall)
			}
		}
		for _, q := range ends.sends {
			for _, x := range q.list[q.head:] {
				if x.sendCall != nil {
					calls = append(calls, x.sendCall)
				}
			}
		}
	}
	slices.SortFunc(calls, func(a, b *call) int { // sums of floats must not depend on the order of maps
		return cmp.Or(cmp.Compare(a.leave, b.leave), cmp.Compare(a.place.Location, b.place.Location), cmp.Compare(a.enter,
			b.enter))
	})
	for _, c := range calls {
		m.e.ended(c)
	}
}
