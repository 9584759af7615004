package messages

import (
	"github.com/weft-trace/weft/analysis/internal/matching"
	"github.com/weft-trace/weft/internal/openset"
	"github.com/weft-trace/weft/internal/postorder"
	"github.com/weft-trace/weft/trace"
)

// location holds the state of a location.
type location struct {
	receives postorder.Receives[heldReceive]
	requests openset.Map[uint64, request] // the open ones, by number
}

// request is a non-blocking send or receive that has not completed.
type request struct {
	receive uint64 // number of the posted receive, counted from 1; 0 for a send
	posted  int64  // time in ticks at which the receive was posted
	send    matching.Handle
	message *openMessage // message of the send; nil unless messages are listed
}

// heldReceive is a receive that has completed, with its channel.
type heldReceive struct {
	at channel
	end
}

// send counts a send, and pairs it with its receive or queues it.
func (p *Part) send(c *trace.Cursor, at channel, n *end) error {
	nonBlocking := c.Kind() == trace.SendBegin && c.Op(4) != trace.Undefined
	if p.opt.List != nil {
		n.message = p.begin(c, at, n)
		n.message.waits = nonBlocking
	}
	conversation := p.matcher.Conversation(at, matching.Sends)
	if n.wanted {
		p.countSend(conversation, n)
	}
	h, err := p.pairOrQueue(conversation, n, matching.Sends)
	if err != nil || !nonBlocking {
		return err
	}
	return p.open(p.locations.At(c.Location()), c.Op(4), request{send: h, message: n.message})
}

// receive counts a receive, and pairs it with its send or queues it. The receive is held until all receives that were
// posted before it have completed.
func (p *Part) receive(c *trace.Cursor, at channel, n *end) error {
	own := p.locations.At(c.Location())
	if p.opt.List != nil {
		n.message = p.begin(c, at, n)
	}
	if !own.receives.Open() {
		return p.takeReceive(at, n)
	}
	number := uint64(0)
	if r, ok := own.requests.Get(c.Op(4)); ok && r.receive > 0 {
		own.requests.Take(c.Op(4))
		number = r.receive
		if n.message != nil {
			n.message.RecvBegin = r.posted
		}
	} else {
		number = own.receives.Post(false)
	}
	if own.receives.IsNext(number) {
		if err := p.takeReceive(at, n); err != nil {
			return err
		}
		return p.pairReceives(own.receives.Close(number))
	}
	if p.opt.Window.Has(n.time) {
		p.waiting++
	}
	if p.streaming() {
		n.moment = p.pending.wait(n.time)
	}
	return p.pairReceives(own.receives.Complete(number, heldReceive{at, *n}))
}

// skip processes a send or receive that does not count. A send opens its request, and a receive completes it.
func (p *Part) skip(c *trace.Cursor) error {
	if c.Kind() != trace.RecvComplete && c.Kind() != trace.SendBegin || c.Op(4) == trace.Undefined {
		return nil
	}
	own := p.locations.At(c.Location())
	if c.Kind() == trace.SendBegin {
		return p.open(own, c.Op(4), request{})
	}
	r, _ := own.requests.Take(c.Op(4))
	if r.receive == 0 {
		return nil
	}
	return p.pairReceives(own.receives.Close(r.receive))
}

// pairReceives counts receives that were held, and pairs them with their sends or queues them.
func (p *Part) pairReceives(list []heldReceive) error {
	for i := range list {
		if p.opt.Window.Has(list[i].time) {
			p.waiting--
		}
		if err := p.takeReceive(list[i].at, &list[i].end); err != nil {
			return err
		}
	}
	return nil
}

// takeReceive counts a receive, and pairs it with its send or queues it.
func (p *Part) takeReceive(at channel, n *end) error {
	if n.wanted {
		p.countReceive(n)
	}
	_, err := p.pairOrQueue(p.matcher.Conversation(at, matching.Receives), n, matching.Receives)
	return err
}

// flush pairs the receives that are held.
func (p *Part) flush() error {
	for _, l := range p.locations {
		if l != nil {
			if err := p.pairReceives(l.receives.Flush()); err != nil {
				return err
			}
		}
	}
	return nil
}

// open adds a request. An open request with the same number never completes.
func (p *Part) open(l *location, id uint64, r request) error {
	earlier, _ := l.requests.Take(id)
	l.requests.Put(id, r)
	if earlier.receive > 0 {
		return p.pairReceives(l.receives.Close(earlier.receive))
	}
	return nil
}

// request processes a record of a non-blocking operation that is neither a send nor a receive of a
// message: the completion of a send, the posting of a receive, or a cancellation.
func (p *Part) request(c *trace.Cursor) error {
	id := c.Op(0)
	switch c.Kind() {
	case trace.RecvBegin:
		l := p.locations.At(c.Location())
		number := l.receives.Post(id != trace.Undefined)
		if id == trace.Undefined {
			return nil
		}
		return p.open(l, id, request{receive: number, posted: c.Time()})
	case trace.SendComplete, trace.RequestCancelled:
	default:
		return nil
	}
	l := p.locations.At(c.Location())
	r, ok := l.requests.Take(id)
	if !ok {
		return nil
	}
	if r.receive > 0 {
		return p.pairReceives(l.receives.Close(r.receive))
	}
	if c.Kind() == trace.RequestCancelled {
		if err := p.cancel(r); err != nil {
			return err
		}
	}
	if m := r.message; m != nil {
		if m.waits = false; c.Kind() == trace.SendComplete {
			m.SendComplete = c.Time()
		}
		return p.ready(m)
	}
	return nil
}

// cancel lets nothing match a send, if it has no receive so far.
func (p *Part) cancel(r request) error {
	n, ok := p.matcher.Cancel(r.send)
	if !ok {
		return nil
	}
	if p.opt.Window.Has(n.time) {
		p.waiting--
	}
	p.dropMoment(&n)
	return p.endUnmatched(&n)
}
