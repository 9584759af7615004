// Package messages pairs sends with receives and counts them.
//
// The n-th send from a source to a destination with a tag pairs with the n-th receive there with
// that tag (first in, first out). Receives are in the order in which they are posted, because MPI
// gives the message that is sent first to the receive that is posted first. A send or receive with an
// unknown tag (-1) pairs with the oldest end between the same locations regardless of its tag. The rows
// that pair are Send and SendBegin with Recv and RecvComplete; RecvBegin posts a receive. A send that is
// cancelled before its receive is known pairs with nothing.
//
// The pairs do not depend on the order of events of different locations, since each end pairs with
// the oldest matching one. So parts that processed different locations can be merged: the merge
// pairs their unmatched ends. A part holds the unmatched ends, about 100 bytes each. In global time
// order these are the messages in transit; otherwise they can be all messages. It also holds about 80
// bytes for each non-blocking operation that has not completed.
//
// The greatest number of pending messages needs the order across locations. A message is pending
// from its send until just before its receive; messages that never arrive are not pending. In
// global time order the part computes the number while it processes events. In any other order, and
// for merged parts, it needs Options.Intervals. Result.PendingKnown reports whether the number is
// known.
//
// With Options.Latency, the part also sums the durations of messages, of all and for each pair of
// locations. This uses 96 bytes per pair with messages, and at most 120 KB for the percentiles.
package messages

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/weft-trace/weft/analysis/internal/durations"
	"github.com/weft-trace/weft/analysis/internal/inside"
	"github.com/weft-trace/weft/analysis/internal/matching"
	"github.com/weft-trace/weft/internal/bylocation"
	"github.com/weft-trace/weft/trace"
)

// Options are the settings of an analysis.
type Options struct {
	// Intervals keeps 24 bytes per pair of send and receive, so that the greatest number of pending
	// messages is known after a scan in any order and after a merge.
	Intervals bool
	// Latency requests sums of the times from send to receive.
	Latency bool
	// Window limits the counts to sends and receives in it. Nil means the whole trace. The part
	// needs all events before the end of the window, and later ones until [Part.Complete] returns
	// true, since events outside of the window can determine the pairs. With a window, the greatest
	// number of pending messages is unknown.
	Window *trace.Window
	// Regions limits the counts, the list and the sums to messages that are sent, or whose receive completes, in a
	// visit of a region for which it returns true. Nil means all messages. The part then needs Enter and Leave events,
	// too. The greatest number of pending messages is unknown.
	Regions func(region uint32) bool
	// Locations limits the counts, the list, the sums and Pair to messages that a location for which it returns true sends
	// or receives. Nil means all messages. The part also needs the non-blocking receives of the other locations.
	Locations func(location uint32) bool
	// Bins is the number of parts of equal length of the window for which sends and receives are
	// also counted separately. It requires a window.
	Bins int
	// List, if it is not nil, receives each message that is sent in the window, or whose send time
	// is unknown and which is received in it, as soon as the message is complete; see
	// [Part.Finish]. The part must process the events in global time order, and cannot be merged.
	// It holds the messages in transit.
	List func(*Message) error
	// Pair, if it is not nil, receives each pair of a send and a receive as soon as both are known, in
	// no particular order. It receives all pairs even if a window is set.
	Pair func(Pair)
	// CanMatch, if it is not nil, reports whether location peer has any event that can match a send or receive of the
	// given kind. The part does not hold events for which it returns false. Nil means that all can match.
	CanMatch func(kind trace.Kind, peer uint32) bool
}

// Pair is a message whose two ends are known. Locations are indices into Definitions.Locations.
// Times are in ticks.
type Pair struct {
	Source      uint32 `json:"source"`
	Destination uint32 `json:"destination"`
	Sent        int64  `json:"sent"`
	Received    int64  `json:"received"`
}

// cell counts messages and their bytes.
type cell struct {
	count int64
	bytes uint64
}

// unsized holds numbers of messages of unknown size. They are also counted by the cells with the same
// field names.
type unsized struct{ sent, received, matched int64 }

// interval is the time of a message from send to receive, in ticks.
type interval struct {
	send, recv int64
	bytes      uint64
}

// Part pairs the messages of some locations of a trace.
type Part struct {
	defs *trace.Definitions
	opt  Options

	matcher   *matching.Matcher[end, sums]
	waiting   int64 // number of ends in the window that wait for their other end
	locations bylocation.List[location]

	matrix     map[pair]*cell
	sent       cell
	received   cell
	matched    cell // pairs whose send is in the window
	unsized    unsized
	partners   int64 // number of pairs whose receive is in the window
	early      int64
	mismatched int64
	sizes      sizes
	bins       []Bin
	listing    listing
	visits     *inside.Visits
	latencies  *latencies // nil unless requested

	ranks     []uint32 // result of RankLocations, valid if started is set
	started   bool
	intervals []interval
	pending   pending
	// ordered is set while all events came in global time order; last is the time of the last one,
	// valid if any is set.
	ordered bool
	last    int64
	any     bool
}

// New returns an empty part for a trace.
func New(d *trace.Definitions, opt Options) *Part {
	p := &Part{defs: d, opt: opt, matcher: matching.New[end, sums](), matrix: map[pair]*cell{}, ordered: true,
		visits: inside.New(opt.Regions)}
	if opt.Window != nil && opt.Bins > 0 {
		p.bins = newBins(*opt.Window, opt.Bins)
	}
	if opt.List != nil {
		p.listing.open = map[int64]*openMessage{}
	}
	if opt.Latency {
		p.latencies = &latencies{pairs: map[pair]*transfer{}}
	}
	return p
}

// Needs reports whether the analysis uses events of kind k. A scan can leave out all others.
func Needs(k trace.Kind) bool {
	return k.IsSend() || k.IsRecv() || k == trace.SendComplete || k == trace.RecvBegin || k == trace.RequestCancelled
}

// Batch processes a batch with events of one or several locations. It returns the error of
// Options.List.
func (p *Part) Batch(b *trace.Batch) error {
	if !p.started {
		p.ranks, p.started = p.defs.RankLocations(), true
	}
	c := b.Cursor()
	for c.Next() {
		k := c.Kind()
		p.visits.Take(&c)
		if !k.IsSend() && !k.IsRecv() {
			if err := p.request(&c); err != nil {
				return err
			}
			continue
		}
		n := end{time: c.Time(), tag: int64(c.Op(2)), bytes: durations.Bytes(c.Op(3)), moment: none,
			unsized: c.Op(3) == trace.Undefined, wanted: p.visits.At(c.Location())}
		peer := trace.NoRef
		if x := c.Op(0); x < uint64(trace.NoRef) {
			peer = uint32(x)
		}
		if p.opt.Locations != nil && !p.opt.Locations(c.Location()) && (peer == trace.NoRef || !p.opt.Locations(peer)) {
			if err := p.skip(&c); err != nil {
				return err
			}
			continue
		}
		if peer != trace.NoRef && p.opt.CanMatch != nil && !p.opt.CanMatch(k, peer) {
			peer = trace.NoRef
		}
		if p.any && n.time < p.last {
			p.ordered = false
		}
		p.any, p.last = true, n.time
		var err error
		if k.IsSend() {
			err = p.send(&c, channel{Source: p.rankOf(c.Location()), Destination: p.rankOf(peer), Communicator: c.Op(1)}, &n)
		} else {
			err = p.receive(&c, channel{Source: p.rankOf(peer), Destination: p.rankOf(c.Location()), Communicator: c.Op(1)}, &n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// rankOf returns the location with the rank of a location's process in MPI.
func (p *Part) rankOf(location uint32) uint32 {
	if int64(location) < int64(len(p.ranks)) {
		return p.ranks[location]
	}
	return location
}

// Links ignores links.
func (p *Part) Links([]trace.Link) error { return nil }

// countSend counts a send if it is in the window.
func (p *Part) countSend(c *conversation, n *end) {
	if p.opt.Window.Has(n.time) {
		p.sent.add(n.bytes)
		if c.Data.sent == nil {
			k := pairOf(c.Channel)
			if c.Data.sent = p.matrix[k]; c.Data.sent == nil {
				c.Data.sent = &cell{}
				p.matrix[k] = c.Data.sent
			}
		}
		c.Data.sent.add(n.bytes)
		if n.unsized {
			p.unsized.sent++
		} else {
			p.sizes.add(n.bytes)
		}
		if b := p.bin(n.time); b != nil {
			b.Sent++
			b.SentBytes = durations.SumBytes(b.SentBytes, n.bytes)
		}
	}
}

// countReceive counts a receive if it is in the window.
func (p *Part) countReceive(n *end) {
	if p.opt.Window.Has(n.time) {
		p.received.add(n.bytes)
		if n.unsized {
			p.unsized.received++
		}
		if b := p.bin(n.time); b != nil {
			b.Received++
			b.ReceivedBytes = durations.SumBytes(b.ReceivedBytes, n.bytes)
		}
	}
}

// add counts a message with a number of bytes.
func (c *cell) add(bytes uint64) { c.merge(cell{1, bytes}) }

// pairOrQueue pairs an end with the oldest matching one, or queues it if there is none. It returns the handle of an end
// that it queues.
func (p *Part) pairOrQueue(c *conversation, n *end, side matching.Side) (h matching.Handle, err error) {
	if c.Source == trace.NoRef || c.Destination == trace.NoRef {
		p.dropMoment(n)
		return h, p.endUnmatched(n) // nothing can match
	}
	o, found := p.matcher.Take(c, 1-side, n.tag)
	if !found {
		switch {
		case side == matching.Receives:
			p.dropMoment(n) // a receive before its send ends no pending message
		case p.streaming():
			n.moment = p.pending.wait(n.time)
		}
		if p.opt.Window.Has(n.time) {
			p.waiting++
		}
		return p.matcher.Add(c, side, n.tag, *n), nil
	}
	if p.opt.Window.Has(o.time) {
		p.waiting--
	}
	send, received := n, &o
	if side == matching.Receives {
		send, received = &o, n
	}
	if p.opt.Pair != nil {
		p.opt.Pair(Pair{c.Source, c.Destination, send.time, received.time})
	}
	return h, p.match(c, send, received)
}

// streaming reports whether the part computes the pending messages while it processes events.
func (p *Part) streaming() bool { return p.ordered && !p.opt.Intervals }

// dropMoment removes the moment of a receive that ends no pending message.
func (p *Part) dropMoment(n *end) {
	if n.moment != none && p.streaming() {
		p.pending.decide(n.moment)
	}
	n.moment = none
}

// match counts a pair of a send and a receive.
func (p *Part) match(c *conversation, send, recv *end) error {
	wanted := send.wanted || recv.wanted
	switch {
	case send.wanted && !recv.wanted:
		p.countReceive(recv)
	case !send.wanted && recv.wanted:
		p.countSend(c, send)
	}
	if wanted && p.opt.Window.Has(recv.time) {
		p.partners++
	}
	if wanted && p.opt.Window.Has(send.time) {
		p.matched.add(send.bytes)
		if send.unsized {
			p.unsized.matched++
		}
		if send.bytes != recv.bytes && !send.unsized && !recv.unsized {
			p.mismatched++
		}
		if recv.time < send.time {
			p.early++
		}
		if p.latencies != nil {
			if c.Data.latency == nil {
				c.Data.latency = p.latencies.pair(pairOf(c.Channel))
			}
			p.latencies.add(c.Data.latency, send.time, recv.time)
		}
	}
	switch {
	case p.opt.Intervals:
		p.intervals = append(p.intervals, interval{send.time, recv.time, send.bytes})
	case p.ordered && send.moment != none:
		if recv.moment == none {
			recv.moment = p.pending.wait(recv.time)
		}
		p.pending.arrive(send.moment, recv.moment, send.bytes)
	default:
		p.dropMoment(recv)
	}
	return p.pair(send.message, recv.message)
}

// Complete reports whether every send and receive in the window has met its other end. Later events
// then do not change the result. The part must have got all events before the end of the window.
func (p *Part) Complete() bool {
	if p.waiting > 0 {
		return false
	}
	for _, m := range p.listing.open {
		if p.opt.Window.Has(m.windowTime()) {
			return false
		}
	}
	return true
}

// Merge adds another part of the same trace, which must have seen other locations and have the same
// options. The other part must not be used afterwards.
func (p *Part) Merge(o *Part) error {
	if p.opt.List != nil || o.opt.List != nil {
		return errors.New("messages: found a part that lists messages, expected one that can be merged")
	}
	if p.defs != o.defs || p.opt.Intervals != o.opt.Intervals || p.opt.Latency != o.opt.Latency ||
		p.opt.Bins != o.opt.Bins || !p.opt.Window.Equal(o.opt.Window) {
		return fmt.Errorf("messages: found parts of different traces or options")
	}
	if err := errors.Join(p.flush(), o.flush()); err != nil {
		return err
	}
	if !o.any {
		return nil
	}
	if !p.any {
		opt := p.opt // without Pair, since functions cannot be compared
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
	p.unsized.sent += o.unsized.sent
	p.unsized.received += o.unsized.received
	p.unsized.matched += o.unsized.matched
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
	var err error
	o.matcher.Each(func(at channel, side matching.Side, _ int64, _ matching.Handle, n end) {
		n.moment = none
		if err == nil {
			_, err = p.pairOrQueue(p.matcher.Conversation(at, side), &n, side)
		}
	})
	return err
}

// Result holds the counts of a trace's messages. Sizes are in bytes. A sum of sizes that exceeds 64
// bits is clamped to the greatest uint64. Messages of unknown size do not contribute to sums of
// sizes.
type Result struct {
	Sent          int64  `json:"sent"` // messages
	SentBytes     uint64 `json:"sentBytes"`
	Received      int64  `json:"received"`
	ReceivedBytes uint64 `json:"receivedBytes"`
	Matched       int64  `json:"matched"` // pairs of a send and a receive
	MatchedBytes  uint64 `json:"matchedBytes"`
	// SentUnsized, ReceivedUnsized and MatchedUnsized are the numbers of messages of unknown size.
	// For a pair, the size of the send counts.
	SentUnsized     int64 `json:"sentOfUnknownSize,omitempty"`
	ReceivedUnsized int64 `json:"receivedOfUnknownSize,omitempty"`
	MatchedUnsized  int64 `json:"matchedOfUnknownSize,omitempty"`
	// SendsUnmatched is the number of sends without a receive in the trace, and ReceivesUnmatched
	// that of receives without a send. Both include those whose other location is unknown.
	SendsUnmatched    int64 `json:"sendsUnmatched"`
	ReceivesUnmatched int64 `json:"receivesUnmatched"`
	// Early is the number of pairs whose receive is earlier than the send. Either the clocks
	// differ, or the trace lacks sends.
	Early          int64 `json:"receivedBeforeSent"`
	SizeMismatches int64 `json:"sizeMismatches"` // pairs with different known sizes
	// PendingKnown reports whether MaxPending and MaxBytes are known. They are the greatest number of
	// messages that were pending at the same time, and the greatest number of their bytes. Messages
	// that never arrive do not count.
	PendingKnown bool   `json:"pendingKnown"`
	MaxPending   int64  `json:"maxPending"`
	MaxBytes     uint64 `json:"maxPendingBytes"`
	// Saturated is set if a sum of bytes was clamped.
	Saturated bool `json:"saturated,omitempty"`
	// Matrix holds the sums of sent messages by source and destination, in the order of the
	// definitions. Unknown destinations come last.
	Matrix []Cell `json:"matrix"`
	// Sizes holds the sums of sent messages by size, in ascending order, without messages of unknown
	// size.
	Sizes []Size `json:"sizes"`
	// Latency holds the sums of the durations of messages. It is nil unless Options.Latency is set.
	Latency *Latency `json:"latency,omitempty"`
	// Bins holds the counts for each part of the window. It is nil unless Options.Bins is set.
	Bins []Bin `json:"bins,omitempty"`
}

// Cell holds sums of the messages that one location sent to another one, whether they were received or
// not.
type Cell struct {
	Source      uint32 `json:"source"`      // index into Definitions.Locations
	Destination uint32 `json:"destination"` // index into Definitions.Locations, NoRef when unknown
	// SourceID and DestinationID are the file's own ids of the locations.
	SourceID      string `json:"sourceId"`
	DestinationID string `json:"destinationId,omitempty"`
	// SourceName and DestinationName are the names of the locations, or "".
	SourceName      string `json:"sourceName,omitempty"`
	DestinationName string `json:"destinationName,omitempty"`
	Count           int64  `json:"count"`
	Bytes           uint64 `json:"bytes"`
	// Latency sums the durations of the messages that were received. It is nil if there are none,
	// or unless Options.Latency is set.
	Latency *Transfer `json:"latency,omitempty"`
}

// Result returns the counts of all events that the part has processed. It pairs the receives that were held because
// others were posted before them, so it is called last.
func (p *Part) Result() *Result {
	p.flush() // fails only with Options.List, and then Finish was called
	r := &Result{Sent: p.sent.count, SentBytes: p.sent.bytes, Received: p.received.count, ReceivedBytes: p.received.bytes,
		Matched: p.matched.count, MatchedBytes: p.matched.bytes, SentUnsized: p.unsized.sent,
		ReceivedUnsized: p.unsized.received, MatchedUnsized: p.unsized.matched,
		SendsUnmatched:    p.sent.count - p.matched.count,
		ReceivesUnmatched: p.received.count - p.partners, Early: p.early, SizeMismatches: p.mismatched,
		PendingKnown: (p.ordered || p.opt.Intervals) &&
			p.opt.Window == nil && p.opt.Regions == nil, Matrix: []Cell{}, Sizes: p.sizes.list(), Bins: p.bins}
	if !r.PendingKnown {
	} else if p.opt.Intervals {
		r.MaxPending, r.MaxBytes = greatestPending(p.intervals)
	} else if p.ordered {
		r.MaxPending, r.MaxBytes = p.pending.most()
	}
	r.Saturated = max(r.SentBytes, r.ReceivedBytes, r.MatchedBytes, r.MaxBytes) == math.MaxUint64
	for k, v := range p.matrix {
		c := Cell{Source: k.source, Destination: k.destination, Count: v.count, Bytes: v.bytes}
		c.SourceID, c.SourceName = p.defs.LocationName(k.source)
		c.DestinationID, c.DestinationName = p.defs.LocationName(k.destination)
		if p.latencies != nil && p.latencies.pairs[k] != nil {
			x := p.latencies.pairs[k].result(k)
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
