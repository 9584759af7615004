// Package messages pairs sends with receives and counts them.
//
// The n-th send of a source to a destination with a tag belongs to the n-th
// receive there (first in, first out). A send or receive whose tag is not known
// (-1) pairs with any tag of the same source and destination, the oldest first.
// Rows that pair are Send and SendBegin with Recv and RecvComplete.
//
// The pairs do not depend on the order across locations: each end takes the
// oldest one that fits, which has only one outcome. So parts that saw different
// locations can be merged: ends that wait in one find each other. A part holds
// the ends that wait: about 100 bytes each. In global time order these are the
// messages that are on their way; otherwise they can be all messages.
//
// Only the greatest number of pending messages needs more. A message is pending
// from its send until just before its receive; messages that never arrive are
// not pending. The part finds it in global time order, and says so in
// PendingKnown; any other order and merging need Options.Intervals.
//
// Options.Latency adds how long messages took, over all and for each pair of locations: 88
// bytes a pair that has any, and at most 120 KB for the percentiles.
package messages

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/weft-trace/weft/analysis/internal/durations"
	"github.com/weft-trace/weft/trace"
)

// Options says what is kept.
type Options struct {
	// Intervals keeps 24 bytes of every pair, so that the greatest number of
	// pending messages is known after a scan in any order and after a merge.
	Intervals bool
	// Latency asks for the times from sends to their receives.
	Latency bool
	// Window counts what is sent, and what is received, in it; nil counts all. The part
	// must see all events all the same: what belongs together depends on those before
	// and behind. The greatest number of pending messages is not known then.
	Window *trace.Window
	// Bins divides the window, which must be given, in so many parts of the same length,
	// and counts what is sent and received in each.
	Bins int
	// List gets each message that is sent in the window, or received if it is not known
	// when it was sent, as soon as all that the trace says of it is known; see [Part.Finish]. The part must see the events in the
	// order of time, and cannot be merged. It holds the messages that are on their way.
	List func(*Message) error
	// Pair, if it is not nil, gets each pair of a send and a receive as soon as both are
	// known, in no particular order. With a window, too, it gets all of them.
	Pair func(Pair)
}

// Pair is a message whose two ends are known. Locations are indices into
// Definitions.Locations, times ticks.
type Pair struct {
	Source, Destination uint32
	Sent, Received      int64
}

type cell struct {
	count int64
	bytes uint64
}

type interval struct {
	send, recv int64
	bytes      uint64
}

// Part pairs the messages of some locations of a trace.
type Part struct {
	defs *trace.Definitions
	opt  Options

	nodes         []node
	free          []int32
	conversations map[channel]*conversation
	recent        []*recent // by location
	seq           int64

	matrix     map[pair]*cell
	sent       cell
	received   cell
	matched    cell  // those that are sent in the window
	partners   int64 // of those that are received in it
	early      int64
	mismatched int64
	sizes      sizes
	bins       []Bin
	listing    listing
	latencies  *latencies // if asked for

	intervals []interval
	pending   pending
	ordered   bool
	last      int64
	any       bool
}

// New makes an empty part for a trace.
func New(d *trace.Definitions, opt Options) *Part {
	p := &Part{defs: d, opt: opt, conversations: map[channel]*conversation{}, matrix: map[pair]*cell{}, ordered: true}
	if opt.Window != nil && opt.Bins > 0 {
		p.bins = newBins(*opt.Window, opt.Bins)
	}
	if opt.List != nil {
		p.listing = listing{open: map[int64]*open{}, sends: map[request]*open{}, recvs: map[request]int64{}}
	}
	if opt.Latency {
		p.latencies = &latencies{pairs: map[pair]*transfer{}}
	}
	return p
}

// Needs reports whether a part needs events of a kind. A scan can leave out the others.
func Needs(k trace.Kind) bool {
	return k.IsSend() || k.IsRecv() || k == trace.SendComplete || k == trace.RecvBegin
}

// Batch takes events, of one location or mixed. The error is one of Options.List.
func (p *Part) Batch(b *trace.Batch) error {
	for c := b.Cursor(); c.Next(); {
		k := c.Kind()
		if !k.IsSend() && !k.IsRecv() {
			if p.opt.List != nil {
				if err := p.phase(&c); err != nil {
					return err
				}
			}
			continue
		}
		n := node{time: c.Time(), tag: int64(c.Op(2)), bytes: durations.Bytes(c.Op(3)), moment: none,
			unsized: c.Op(3) == trace.Undefined}
		peer := trace.NoRef
		if x := c.Op(0); x < uint64(trace.NoRef) {
			peer = uint32(x)
		}
		if p.any && n.time < p.last {
			p.ordered = false
		}
		p.any, p.last = true, n.time
		var err error
		if p.opt.List != nil {
			n.message = p.begin(&c, &n, peer)
		}
		if k.IsSend() {
			err = p.send(channel{pair{c.Location(), peer}, c.Op(1)}, &n)
		} else {
			err = p.recv(channel{pair{peer, c.Location()}, c.Op(1)}, &n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Links are no messages.
func (p *Part) Links([]trace.Link) error { return nil }

func (p *Part) send(at channel, n *node) error {
	c := p.conversation(at, false)
	if p.opt.Window.Has(n.time) {
		p.sent.add(n.bytes)
		if c.sent == nil {
			if c.sent = p.matrix[at.pair]; c.sent == nil {
				c.sent = &cell{}
				p.matrix[at.pair] = c.sent
			}
		}
		c.sent.add(n.bytes)
		p.sizes.add(n.bytes)
		if b := p.bin(n.time); b != nil {
			b.Sent++
			b.SentBytes = durations.SumBytes(b.SentBytes, n.bytes)
		}
	}
	return p.meet(c, n, false)
}

func (p *Part) recv(at channel, n *node) error {
	if p.opt.Window.Has(n.time) {
		p.received.add(n.bytes)
		if b := p.bin(n.time); b != nil {
			b.Received++
			b.ReceivedBytes = durations.SumBytes(b.ReceivedBytes, n.bytes)
		}
	}
	return p.meet(p.conversation(at, true), n, true)
}

// add counts a message.
func (c *cell) add(bytes uint64) { c.merge(cell{1, bytes}) }

// meet pairs an end with the oldest one that fits, or lets it wait.
func (p *Part) meet(c *conversation, n *node, recv bool) error {
	if c.at.source == trace.NoRef || c.at.destination == trace.NoRef {
		return p.alone(n) // nothing can be said to fit
	}
	others, own := c.sides(recv)
	other := p.oldest(others, n.tag)
	if other == none {
		if p.streaming() && !recv {
			n.moment = p.pending.wait(n.time)
		}
		p.wait(own, n)
		return nil
	}
	o := p.nodes[other]
	p.remove(others, other)
	send, received := n, &o
	if recv {
		send, received = &o, n
	}
	if p.opt.Pair != nil {
		p.opt.Pair(Pair{c.at.source, c.at.destination, send.time, received.time})
	}
	return p.match(c, send, received)
}

// streaming reports whether pending messages are followed as they come.
func (p *Part) streaming() bool { return p.ordered && !p.opt.Intervals }

func (p *Part) match(c *conversation, send, recv *node) error {
	if p.opt.Window.Has(recv.time) {
		p.partners++
	}
	if p.opt.Window.Has(send.time) {
		p.matched.add(send.bytes)
		if send.bytes != recv.bytes && !send.unsized && !recv.unsized {
			p.mismatched++
		}
		if recv.time < send.time {
			p.early++
		}
		if p.latencies != nil {
			if c.took == nil {
				c.took = p.latencies.pair(c.at.pair)
			}
			p.latencies.add(c.took, send.time, recv.time)
		}
	}
	switch {
	case p.opt.Intervals:
		p.intervals = append(p.intervals, interval{send.time, recv.time, send.bytes})
	case p.ordered && send.moment != none:
		p.pending.arrive(send.moment, recv.time, send.bytes)
	}
	return p.pair(send.message, recv.message)
}

// Merge adds another part of the same trace, which must have seen other
// locations and have the same options. The other part must not be used any
// more.
func (p *Part) Merge(o *Part) error {
	if p.opt.List != nil || o.opt.List != nil {
		return errors.New("messages: found a part that lists messages, expected one that can be merged")
	}
	if p.defs != o.defs || p.opt.Intervals != o.opt.Intervals || p.opt.Latency != o.opt.Latency || p.opt.Bins != o.opt.Bins || !p.opt.Window.Same(o.opt.Window) {
		return fmt.Errorf("messages: found parts of different traces or options")
	}
	if !o.any {
		return nil
	}
	if !p.any {
		opt := p.opt // Pair is each part's own
		*p = *o
		p.opt = opt
		return nil
	}
	for k := range o.matrix {
		if _, ok := p.matrix[k]; ok {
			return fmt.Errorf("messages: location %d was seen by both parts; expected parts of different locations", k.source)
		}
	}
	p.ordered, p.pending = false, pending{}
	p.sent.merge(o.sent)
	p.received.merge(o.received)
	p.matched.merge(o.matched)
	p.partners += o.partners
	p.sizes.merge(&o.sizes)
	for i := range p.bins {
		p.bins[i].merge(&o.bins[i])
	}
	if p.latencies != nil {
		p.latencies.merge(o.latencies)
	}
	p.early += o.early
	p.mismatched += o.mismatched
	p.intervals = append(p.intervals, o.intervals...)
	maps.Copy(p.matrix, o.matrix)
	for at, c := range o.conversations {
		for _, recv := range [2]bool{false, true} {
			_, own := c.sides(recv)
			for i := own.first; i != none; i = o.nodes[i].next {
				n := o.nodes[i]
				n.moment = none
				if err := p.meet(p.conversation(at, recv), &n, recv); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Result is what is known of a trace's messages. Sizes are bytes; a sum of them that does not
// fit in 64 bits stays at the greatest number.
type Result struct {
	Sent          int64  `json:"sent"` // messages
	SentBytes     uint64 `json:"sentBytes"`
	Received      int64  `json:"received"`
	ReceivedBytes uint64 `json:"receivedBytes"`
	Matched       int64  `json:"matched"` // pairs of a send and a receive
	MatchedBytes  uint64 `json:"matchedBytes"`
	// SendsUnmatched were never received in the trace, ReceivesUnmatched never
	// sent, or the trace does not tell the other side.
	SendsUnmatched    int64 `json:"sendsUnmatched"`
	ReceivesUnmatched int64 `json:"receivesUnmatched"`
	// Early counts pairs whose receive has an earlier time than its send:
	// clocks that differ, or receives whose sends are missing.
	Early          int64 `json:"receivedBeforeSent"`
	SizeMismatches int64 `json:"sizeMismatches"` // pairs of different sizes, both of them known
	// PendingKnown tells whether the next two are known: the most messages, and
	// the most bytes, that were sent and not yet received at a time. Messages
	// that never arrive do not count.
	PendingKnown bool   `json:"pendingKnown"`
	MaxPending   int64  `json:"maxPending"`
	MaxBytes     uint64 `json:"maxPendingBytes"`
	// Saturated tells that a sum of bytes is more than can be told.
	Saturated bool `json:"saturated,omitempty"`
	// Matrix has what was sent by source and destination, in the order of the
	// definitions; destinations that the trace does not tell come last.
	Matrix []Cell `json:"matrix"`
	// Sizes counts what was sent by its size, small ones first.
	Sizes []Size `json:"sizes"`
	// Latency is how long messages took, if asked for.
	Latency *Latency `json:"latency,omitempty"`
	// Bins is what was sent and received in each part of the window, if asked for.
	Bins []Bin `json:"bins,omitempty"`
}

// Cell is what one location sent to another, whether it was received or not.
type Cell struct {
	Source      uint32 `json:"source"`      // index into Definitions.Locations
	Destination uint32 `json:"destination"` // index into Definitions.Locations, NoRef when not known
	// SourceID and DestinationID are the file's own ids of the locations.
	SourceID      string `json:"sourceId"`
	DestinationID string `json:"destinationId,omitempty"`
	// SourceName and DestinationName are their names, "" if they have none.
	SourceName      string `json:"sourceName,omitempty"`
	DestinationName string `json:"destinationName,omitempty"`
	Count           int64  `json:"count"`
	Bytes           uint64 `json:"bytes"`
	// Latency is how long those took that were received, if asked for; nil if none was.
	Latency *Transfer `json:"latency,omitempty"`
}

// Result is what is known so far; the part can go on.
func (p *Part) Result() *Result {
	r := &Result{Sent: p.sent.count, SentBytes: p.sent.bytes, Received: p.received.count, ReceivedBytes: p.received.bytes,
		Matched: p.matched.count, MatchedBytes: p.matched.bytes, SendsUnmatched: p.sent.count - p.matched.count,
		ReceivesUnmatched: p.received.count - p.partners, Early: p.early, SizeMismatches: p.mismatched,
		PendingKnown: (p.ordered || p.opt.Intervals) && p.opt.Window == nil, Matrix: []Cell{}, Sizes: p.sizes.list(), Bins: p.bins}
	if !r.PendingKnown {
	} else if p.opt.Intervals {
		r.MaxPending, r.MaxBytes = most(p.intervals)
	} else if p.ordered {
		r.MaxPending, r.MaxBytes = p.pending.most()
	}
	r.Saturated = max(r.SentBytes, r.ReceivedBytes, r.MatchedBytes, r.MaxBytes) == math.MaxUint64
	for k, v := range p.matrix {
		c := Cell{Source: k.source, Destination: k.destination, Count: v.count, Bytes: v.bytes}
		c.SourceID, c.SourceName = p.location(k.source)
		c.DestinationID, c.DestinationName = p.location(k.destination)
		if p.latencies != nil && p.latencies.pairs[k] != nil {
			x := p.latencies.pairs[k].result()
			c.Latency = &x
		}
		r.Matrix = append(r.Matrix, c)
	}
	if p.latencies != nil {
		r.Latency = p.latencies.result()
	}
	slices.SortFunc(r.Matrix, func(a, b Cell) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Destination, b.Destination))
	})
	return r
}

// location is the id and the name of a location, none if it is not known.
func (p *Part) location(loc uint32) (id, name string) {
	if p.defs.Locations.Has(loc) {
		l := p.defs.Locations.At(loc)
		return l.ID, l.Name
	}
	return "", ""
}
