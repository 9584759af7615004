package waitstate

import (
	"cmp"
	"slices"

	"github.com/weft-trace/weft/analysis/internal/matching"
	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/internal/bylocation"
	"github.com/weft-trace/weft/internal/minheap"
	"github.com/weft-trace/weft/internal/openset"
	"github.com/weft-trace/weft/internal/postorder"
	"github.com/weft-trace/weft/trace"
)

// call is a call that completes sends, receives or non-blocking collective operations. Times are in
// ticks.
type call struct {
	place        Place
	path         uint32
	enter, leave int64
	test         bool // it only tests whether operations are complete, and never waits
	judged       bool // both ends of a message of the call are known
	unknown      bool // the call is in Result.Unknown
	isPoint      bool
	// pending is the number of messages with an unknown other end and of operations with unknown
	// members, plus 1 until all points of the call have been handled.
	pending int
	// late is the message with the longest wait for a sender. The call owns a reference to it.
	late         *message
	lateSender   int64 // longest wait for a sender
	lateReceiver int64 // longest wait for a receiver
	receiver     Wait  // the wait of length lateReceiver
	// memberWaits holds the waits in that non-blocking operation which has the longest wait. That wait
	// comes first.
	memberWaits []Wait
}

// memberWait returns the longest wait in non-blocking operations in ticks, or 0.
func (c *call) memberWait() int64 {
	if len(c.memberWaits) == 0 {
		return 0
	}
	return c.memberWaits[0].Length
}

// message is a send or a receive, or both after they have been matched. Times are in ticks.
//
// A message is used again as soon as it has no references. Each queue, request and call that holds a
// message has a reference to it.
type message struct {
	references    int32
	from          uint32
	to            uint32
	communicator  uint64
	send          Place // call that sends
	sendEnter     int64
	sendLeave     int64 // end of the call send
	sendTime      int64
	sendCall      *call // completes the send; nil until it is known, and valid until the send is judged
	recvCall      *call // completes the receive; nil until it is known, and valid until matched is set
	recvEnter     int64 // begin of the call recvCall
	recvTest      bool  // the call recvCall never waits
	recvPost      Place // call that posts the receive
	recvPostEnter int64
	recvTime      int64
	sent, matched bool
	// merged is set for a send that has been matched: the message of its receive, which has both ends. The send
	// has a reference to it.
	merged      *message
	tag         int64
	synchronous bool // the send call completes only after the receive is posted
	late        *lateMessage
}

// lateMessage is a message whose receive waits for a late sender. It is a separate object, because it
// may exist for longer than the message. The message and the heap of its receiver have a reference each.
type lateMessage struct {
	references int32
	from       uint32
	wrong      Pattern // WrongOrderSame or WrongOrderDifferent, once one of these applies
	sendTime   int64
	wait       Wait // its Length is 0 until it is known
}

// lateMessage returns the object for a receive that waits for a late sender, which it creates if
// needed.
func (m *messages) lateMessage(x *message) *lateMessage {
	if x.late == nil {
		x.late = m.freeLates.take()
		*x.late = lateMessage{references: 1, from: x.from, sendTime: x.sendTime}
	}
	return x.late
}

// inbox holds the receives of a location that wait for earlier ones, and its open requests.
type inbox struct {
	receives postorder.Receives[*message]
	requests openset.Map[uint64, posted]
	last     completionCall
}

// completionCall is the last call of a location that completed requests, or waited for that. unknown is set once the
// time of the call counts as unknown.
type completionCall struct {
	path         uint32
	enter, leave int64
	unknown      bool
}

// posted is an open request.
type posted struct {
	send   *message        // nil for requests other than sends
	handle matching.Handle // of the send
	place  Place           // call that posts it
	enter  int64
	number uint64 // for a receive: its number among the receives posted by its location
}

// fifo is a queue of messages.
type fifo struct {
	list []*message
	head int
}

// pop removes and returns the first message.
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

// empty reports whether the queue has no messages.
func (q *fifo) empty() bool { return q.head == len(q.list) }

// messages matches sends and receives.
type messages struct {
	e       *engine
	matcher *matching.Matcher[*message, struct{}]
	orders  bylocation.List[receiveOrder]
	inboxes bylocation.List[inbox]

	freeCalls    freeList[call]
	freeMessages freeList[message]
	freeLates    freeList[lateMessage]
}

// freeList holds objects that are not in use.
type freeList[T any] []*T

// freshObjects is the number of objects in one allocation of a free list.
const freshObjects = 32

// take removes an object from the list and returns it. The caller must set all of its fields.
func (f *freeList[T]) take() *T {
	n := len(*f) - 1
	if n < 0 {
		fresh := make([]T, freshObjects)
		for i := range fresh {
			*f = append(*f, &fresh[i])
		}
		n = len(*f) - 1
	}
	x := (*f)[n]
	*f = (*f)[:n]
	return x
}

// put adds an object to which no references are left.
func (f *freeList[T]) put(x *T) { *f = append(*f, x) }

// drop removes a reference to a message. The message is free if it was the last one.
func (m *messages) drop(x *message) {
	if x.references--; x.references > 0 {
		return
	}
	if x.merged != nil {
		m.drop(x.merged)
	}
	if x.late != nil {
		m.dropLate(x.late)
	}
	m.freeMessages.put(x)
}

// dropLate removes a reference to a late message. The late message is free if it was the last one.
func (m *messages) dropLate(l *lateMessage) {
	if l.references--; l.references == 0 {
		m.freeLates.put(l)
	}
}

// callOf returns own, the call that completes messages, which it creates if it is nil.
func (m *messages) callOf(c *synclog.Call, at Place, own *call) *call {
	if own == nil {
		own = m.freeCalls.take()
		*own = call{place: at, path: c.Path, enter: c.Enter, leave: c.Leave, isPoint: c.IsPoint,
			test: c.Role == trace.TestRole, pending: 1}
	}
	return own
}

// processMessage handles a point p of call c that begins, posts or completes an end of a message. own is the state
// of the call after its earlier points, or nil if they have created none. processMessage returns own, or the state
// that it has created.
func (e *engine) processMessage(c *synclog.Call, at Place, p *synclog.Point, own *call) *call {
	m := &e.messages
	switch p.Kind {
	case synclog.Send:
		own = m.callOf(c, at, own)
		own.pending++
		m.send(c, at, p, own, trace.Undefined)
	case synclog.SendPost:
		m.send(c, at, p, nil, p.Ops[4])
	case synclog.SendDone:
		requests := &m.inboxes.At(c.Location).requests
		if r, ok := requests.Get(p.Ops[0]); ok && r.send != nil {
			requests.Take(p.Ops[0])
			own = m.callOf(c, at, own)
			own.pending++
			x := r.send
			if x.merged != nil {
				x = x.merged
			}
			x.sendCall = own
			e.judgeSend(x)
			m.drop(r.send)
		}
	case synclog.RecvPost:
		b := m.inboxes.At(c.Location)
		m.open(b, p.Ops[0], posted{place: at, enter: c.Enter, number: b.receives.Post(true)})
	case synclog.Cancelled:
		b := m.inboxes.At(c.Location)
		if r, ok := b.requests.Take(p.Ops[0]); ok && r.send == nil {
			m.matchAll(b.receives.Close(r.number))
		} else if ok {
			if _, waits := m.matcher.Cancel(r.handle); waits {
				m.drop(r.send)
			}
			m.drop(r.send)
		}
	case synclog.Recv:
		own = m.callOf(c, at, own)
		own.pending++
		m.receive(c, p, own, posted{place: at, enter: c.Enter})
	case synclog.RecvDone:
		own = m.callOf(c, at, own)
		own.pending++
		post := posted{place: at, enter: c.Enter}
		requests := &m.inboxes.At(c.Location).requests
		if r, ok := requests.Get(p.Ops[4]); ok && r.send == nil {
			requests.Take(p.Ops[4])
			post = r
		}
		m.receive(c, p, own, post)
	}
	return own
}

// open adds a request of a location. An open request with the same number never completes. The garbage collector frees
// the message if that is a send.
func (m *messages) open(b *inbox, id uint64, r posted) {
	earlier, _ := b.requests.Take(id)
	b.requests.Put(id, r)
	if earlier.number > 0 {
		m.matchAll(b.receives.Close(earlier.number))
	}
	if earlier.number > 0 || earlier.send != nil {
		m.countUncompleted(b, &earlier)
	}
}

// countUncompleted counts a request of a location that never completes as unjudged. The last call that completed
// requests after the request had been posted may have waited for it.
func (m *messages) countUncompleted(b *inbox, r *posted) {
	if m.e.counts(r.enter) {
		m.e.Unjudged[UncompletedRequest]++
	}
	if c := &b.last; c.leave > c.enter && c.enter >= r.enter && !c.unknown {
		c.unknown = true
		m.e.addUnknown(c.path, r.place.Location, c.enter, c.leave)
	}
}

// matchAll matches receives, in their order.
func (m *messages) matchAll(list []*message) {
	for _, x := range list {
		m.match(x)
	}
}

// send adds a send. own is the call that completes it, or nil if that call is unknown. Then id is the request whose
// completion completes the send, or trace.Undefined.
func (m *messages) send(c *synclog.Call, at Place, p *synclog.Point, own *call, id uint64) {
	to := uint32(min(p.Ops[0], uint64(trace.NoRef)))
	from := m.e.rankOf(c.Location)
	ends := m.matcher.Conversation(matching.Channel{Source: from, Destination: m.e.rankOf(to), Communicator: p.Ops[1]},
		matching.Sends)
	tag := int64(p.Ops[2])
	x, ok := m.matcher.Take(ends, matching.Receives, tag)
	var h matching.Handle
	if !ok {
		x = m.freeMessages.take()
		*x = message{references: 1, to: to}
		h = m.matcher.Add(ends, matching.Sends, tag, x)
	}
	x.from, x.communicator, x.sent = from, p.Ops[1], true
	x.send, x.sendEnter, x.sendLeave, x.sendTime, x.sendCall = at, c.Enter, c.Leave, p.Time, own
	x.synchronous = c.Synchronous
	if id != trace.Undefined {
		x.references++
		m.open(m.inboxes.At(c.Location), id, posted{send: x, handle: h, place: at, enter: c.Enter})
	}
	if x.recvCall != nil {
		m.e.judgeReceive(x)
		m.drop(x)
	}
}

// receive adds a receive that a call completes. Parameter post is its posting.
func (m *messages) receive(c *synclog.Call, p *synclog.Point, own *call, post posted) {
	b := m.inboxes.At(c.Location)
	if post.number == 0 {
		post.number = b.receives.Post(false)
	}
	x := m.freeMessages.take()
	*x = message{references: 2, // one reference of the order of receives, and one of the matching
		from: m.e.rankOf(uint32(min(p.Ops[0], uint64(trace.NoRef)))), to: c.Location, communicator: p.Ops[1],
		tag:      int64(p.Ops[2]),
		recvCall: own, recvEnter: own.enter, recvTest: own.test, recvPost: post.place, recvPostEnter: post.enter,
		recvTime: p.Time}
	q := m.orders.At(c.Location)
	q.list = append(q.list, x)
	m.matchAll(b.receives.Complete(post.number, x))
}

// match pairs a receive with the first waiting send, or adds it to the waiting receives. It takes over a reference
// to x.
func (m *messages) match(x *message) {
	ends := m.matcher.Conversation(matching.Channel{Source: x.from, Destination: m.e.rankOf(x.to),
		Communicator: x.communicator}, matching.Receives)
	y, ok := m.matcher.Take(ends, matching.Sends, x.tag)
	if !ok {
		m.matcher.Add(ends, matching.Receives, x.tag, x)
		return
	}
	if y.references > 1 { // its request is open
		y.merged = x
		x.references++
	}
	x.send, x.sendEnter, x.sendLeave, x.sendTime = y.send, y.sendEnter, y.sendLeave, y.sendTime
	x.sendCall, x.synchronous, x.sent = y.sendCall, y.synchronous, true
	m.drop(y)
	m.e.judgeReceive(x)
	m.drop(x)
}

// judgeReceive processes a message with both ends: it computes the wait of the call that completes
// the receive.
func (e *engine) judgeReceive(x *message) {
	x.matched = true
	c := x.recvCall
	c.judged = c.judged || !c.isPoint
	switch {
	case c.isPoint:
		if e.counts(c.enter) {
			e.Unjudged[BareReceive]++
		}
	case !c.test:
		if w := min(x.sendEnter, c.leave) - c.enter; w > c.lateSender {
			if c.late != nil {
				e.messages.drop(c.late)
			}
			c.late, c.lateSender = x, w
			x.references++
		}
	}
	e.countViolation(&e.Violations.Messages, x.sendTime-x.recvTime, c.enter)
	if e.hooks.Message != nil {
		e.message = Message{Send: x.send, Recv: c.place, SendEnter: x.sendEnter, SendLeave: x.sendLeave,
			RecvEnter: c.enter, RecvLeave: c.leave}
		e.hooks.Message(&e.message)
	}
	if x.sendCall != nil {
		e.judgeSend(x)
	}
	e.messages.orders.At(x.to).advance(e, mostUnmatched)
	e.completeOne(c)
}

// judgeSend computes the wait of the call that completes the send of a message, if that call and
// the receive are both known.
func (e *engine) judgeSend(x *message) {
	c := x.sendCall
	if !x.matched || c == nil {
		return // the other end comes later
	}
	c.judged = c.judged || !c.isPoint
	// A synchronous send has waited even if the clocks differ, so that it seems to end before the receive begins.
	w := min(x.recvPostEnter, c.leave) - c.enter
	waited := w > 0 && !c.isPoint && !c.test && (c.leave > x.recvPostEnter || x.synchronous)
	if x.synchronous && !c.isPoint {
		e.countViolation(&e.Violations.Calls, x.recvPostEnter-c.leave, c.enter)
	}
	if (waited || x.synchronous) && e.hooks.Rendezvous != nil {
		e.hooks.Rendezvous(&Rendezvous{c.place, x.recvPost, x.recvPostEnter})
	}
	if waited && w > c.lateReceiver {
		c.lateReceiver = w
		c.receiver = Wait{LateReceiver, c.place, c.path, Interval{c.enter, w, nil}, x.recvPost,
			x.recvPostEnter, x.communicator, true}
	}
	e.completeOne(c)
}

// messageWait returns the wait for messages in ticks, or 0. A call that waits for a sender does not wait for a
// receiver.
func (c *call) messageWait() int64 {
	if c.lateSender > 0 {
		return c.lateSender
	}
	return c.lateReceiver
}

// completeOne subtracts one from c.pending, the number of messages and operations whose outcome is unknown. When the
// number becomes 0, it reports the longest wait of the call, which is free afterwards.
func (e *engine) completeOne(c *call) {
	if c.pending--; c.pending > 0 {
		return
	}
	if c.judged && e.counts(c.enter) {
		e.Judged++
	}
	switch {
	case c.memberWait() > c.messageWait():
		for _, w := range c.memberWaits {
			e.reportWait(w)
		}
	case c.lateSender > 0:
		x := c.late
		l := e.messages.lateMessage(x)
		l.wait = Wait{LateSender, c.place, c.path, Interval{c.enter, c.lateSender, nil}, x.send, x.sendEnter,
			x.communicator, true}
		e.reportWait(l.wait)
		e.reportWrongOrder(l)
	case c.lateReceiver > 0:
		e.reportWait(c.receiver)
	}
	if c.late != nil {
		e.messages.drop(c.late)
	}
	e.messages.freeCalls.put(c)
}

// reportWrongOrder reports a late-sender wait under the patterns of a wrong order, once both are
// known.
func (e *engine) reportWrongOrder(l *lateMessage) {
	if l.wait.Length > 0 && l.wrong != 0 {
		w := l.wait
		for _, w.Pattern = range [2]Pattern{WrongOrder, l.wrong} {
			e.reportWait(w)
		}
	}
}

// receiveOrder holds the receives of a location in order. It finds receives in the wrong order: those that came
// before a receive whose message had been sent earlier.
type receiveOrder struct {
	fifo
	late []*lateMessage // heap of messages with late-sender waits that may turn out to be in the wrong order
}

// Limits of a receiveOrder.
const (
	// mostUnmatched is the greatest number of receives that wait for a receive whose send is
	// unknown.
	mostUnmatched = 4096
	// mostLate is the greatest number of messages that late keeps.
	mostLate = 256
)

// advance processes the receives in order up to the first one whose send is unknown. Of these, it skips those after
// which more than most receives wait.
func (o *receiveOrder) advance(e *engine, most int) {
	for !o.empty() {
		head := o.list[o.head]
		if !head.matched {
			if len(o.list)-o.head <= most {
				return
			}
			e.messages.drop(o.pop())
			continue
		}
		x := o.pop()
		for len(o.late) > 0 && o.late[0].sendTime > x.sendTime {
			y := minheap.Pop(&o.late, sentLater)
			y.wrong = WrongOrderDifferent
			if y.from == x.from {
				y.wrong = WrongOrderSame
			}
			e.reportWrongOrder(y)
			e.messages.dropLate(y)
		}
		if x.sendEnter > x.recvEnter && !x.recvTest {
			if len(o.late) == mostLate {
				for _, y := range o.late[mostLate/2:] { // sent before the first one of the list
					e.messages.dropLate(y)
				}
				clear(o.late[mostLate/2:])
				o.late = o.late[:mostLate/2]
			}
			y := e.messages.lateMessage(x)
			y.references++
			minheap.Push(&o.late, y, sentLater)
		}
		e.messages.drop(x)
	}
}

// sentLater orders messages by the time of the send, the latest first.
func sentLater(a, b **lateMessage) bool { return (*a).sendTime > (*b).sendTime }

// finish reports the waits of calls that wait for ends of messages that the trace does not have.
func (m *messages) finish() {
	for _, b := range m.inboxes {
		if b != nil {
			m.matchAll(b.receives.Flush())
			b.requests.All(func(_ uint64, r posted) bool {
				m.countUncompleted(b, &r)
				return true
			})
		}
	}
	for _, o := range m.orders {
		if o != nil {
			o.advance(m.e, 0) // the sends that are unknown now are missing
		}
	}
	var calls []*call
	m.matcher.Each(func(_ matching.Channel, side matching.Side, _ int64, _ matching.Handle, x *message) {
		switch {
		case side == matching.Receives:
			if m.e.counts(x.recvCall.enter) {
				m.e.Unjudged[UnmatchedReceive]++
			}
			calls = append(calls, x.recvCall)
		case x.sendCall != nil:
			if m.e.counts(x.sendEnter) {
				m.e.Unjudged[UnmatchedSend]++
			}
			calls = append(calls, x.sendCall)
		}
	})
	// maps have a random order, which must not affect the sums of floating-point numbers
	slices.SortFunc(calls, func(a, b *call) int {
		return cmp.Or(cmp.Compare(a.leave, b.leave), cmp.Compare(a.place.Location, b.place.Location), cmp.Compare(a.enter,
			b.enter))
	})
	for _, c := range calls {
		if !c.test && !c.unknown {
			c.unknown = true
			m.e.addUnknown(c.path, c.place.Location, c.enter, c.leave)
		}
		m.e.completeOne(c)
	}
}
