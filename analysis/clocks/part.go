package clocks

import (
	"errors"
	"fmt"
	"maps"
	"math"

	"github.com/weft-trace/weft/analysis/messages"
	"github.com/weft-trace/weft/trace"
)

// Level determines which locations share a clock.
type Level uint8

// The levels.
const (
	// ProcessClocks assigns one clock to the locations of a group that is a process.
	ProcessClocks Level = iota
	// NodeClocks assigns one clock to all processes of a group.
	NodeClocks
	// LocationClocks assigns each location its own clock.
	LocationClocks
)

// Model determines what a correction may consist of.
type Model uint8

// The models.
const (
	Full   Model = iota // offsets, drifts, and amortisation where these are not enough
	Linear              // offsets and drifts
	Offset              // offsets only
)

var modelNames = [...]string{"full", "linear", "offset"}

// String returns the model's name: "full", "linear" or "offset".
func (m Model) String() string { return modelNames[m] }

// MaxLatency is the greatest valid Options.Latency, in ticks.
const MaxLatency = 1 << 30

// Options are the settings of the analysis.
type Options struct {
	Level Level
	Model Model
	// Latency is the least time of a message from one clock to another, in ticks, from 0 to
	// MaxLatency.
	Latency int64
	// Reference is the index of a location whose clock keeps its times. Clocks that are not tied to it
	// refer to the first clock that they are tied to.
	Reference uint32
	// Always also corrects clocks that no message contradicts, to the middle of the possible range.
	Always bool
}

// end is an event at a location.
type end struct {
	loc  uint32
	time int64
}

// message is a send and its receive: 32 bytes.
type message struct{ sent, received end }

// span holds the times of the first and last event of a location.
type span struct {
	first, last int64
	any         bool
}

// begun is a collective operation that has begun and not ended.
type begun struct {
	time                          int64
	operation, communicator, root uint64
	sent, received                uint64
	matching                      uint64
}

// operation is the part of one member in a collective operation.
type operation struct {
	begin, end int64
	posted     int64 // order at the location
	kind, root uint64
	sent       bool // it sent bytes to others, or may have
	received   bool
}

type memberKey struct {
	loc          uint32
	communicator uint64
	posted       bool // non-blocking operations form a sequence of their own
}

type requestKey struct {
	loc     uint32
	request uint64
}

type request struct{ time, posted int64 }

// Part collects the messages and collective operations of some locations of a trace. It uses 32
// bytes per message, 48 bytes per location and collective operation, and the memory of package
// messages for unmatched ends.
type Part struct {
	defs     *trace.Definitions
	opt      Options
	matching *messages.Part
	messages []message
	spans    []span
	open     map[uint32][]begun
	requests map[requestKey]request
	members  map[memberKey][]operation
	posted   int64
}

// New returns an empty part for a trace.
func New(d *trace.Definitions, opt Options) *Part {
	p := &Part{defs: d, opt: opt, open: map[uint32][]begun{}, requests: map[requestKey]request{},
		members: map[memberKey][]operation{}}
	p.matching = messages.New(d, messages.Options{Pair: func(m messages.Pair) {
		p.messages = append(p.messages, message{end{m.Source, m.Sent}, end{m.Destination, m.Received}})
	}})
	return p
}

// Batch processes events of one location, or a mixed batch. Each location must be in time order.
func (p *Part) Batch(b *trace.Batch) error {
	n := p.defs.Locations.Len()
	if n > len(p.spans) {
		p.spans = append(p.spans, make([]span, n-len(p.spans))...)
	}
	for c := b.Cursor(); c.Next(); {
		loc, t := c.Location(), c.Time()
		if int(loc) >= n {
			return fmt.Errorf("clocks: found an event at location %d, expected one of the %d locations of the trace", loc, n)
		}
		s := &p.spans[loc]
		if !s.any {
			*s = span{math.MaxInt64, math.MinInt64, true}
		}
		s.first, s.last = min(s.first, t), max(s.last, t)
		switch c.Kind() {
		case trace.CollectiveBegin:
			p.open[loc] = append(p.open[loc], begun{t, c.Op(0), c.Op(1), c.Op(2), c.Op(3), c.Op(4), c.Op(5)})
		case trace.CollectiveEnd:
			p.ended(loc, t, &c)
		case trace.CollectiveRequest:
			p.posted++
			p.requests[requestKey{loc, c.Op(0)}] = request{t, p.posted}
		case trace.CollectiveComplete:
			k := requestKey{loc, c.Op(5)}
			if r, ok := p.requests[k]; ok {
				delete(p.requests, k)
				p.take(memberKey{loc, c.Op(1), true}, operation{begin: r.time, end: t, posted: r.posted}, c.Op(0), c.Op(2), c.Op(3),
					c.Op(4))
			}
		}
	}
	return p.matching.Batch(b)
}

// ended closes the latest open collective operation with the same id.
func (p *Part) ended(loc uint32, t int64, c *trace.Cursor) {
	open := p.open[loc]
	i := len(open) - 1
	if id := c.Op(5); id != trace.Undefined {
		for i >= 0 && open[i].matching != id {
			i--
		}
	}
	if i < 0 {
		return
	}
	b := open[i]
	p.open[loc] = append(open[:i], open[i+1:]...)
	if c.Op(1) != trace.Undefined { // here the end determines the operation
		b.operation, b.communicator, b.root, b.sent, b.received = c.Op(0), c.Op(1), c.Op(2), c.Op(3), c.Op(4)
	}
	p.posted++
	p.take(memberKey{loc, b.communicator, false}, operation{begin: b.time, end: t, posted: p.posted}, b.operation, b.root,
		b.sent, b.received)
}

func (p *Part) take(k memberKey, o operation, kind, root, sent, received uint64) {
	if k.communicator == trace.Undefined || p.defs.Conventions.OwnOperations {
		return
	}
	o.kind, o.root, o.sent, o.received = kind, root, sent != 0, received != 0
	p.members[k] = append(p.members[k], o)
}

// Links ignores links.
func (p *Part) Links([]trace.Link) error { return nil }

// Merge adds another part of the same trace, which must have seen other locations and
// have the same options. The other part must not be used afterwards.
func (p *Part) Merge(o *Part) error {
	if p.defs != o.defs || p.opt != o.opt {
		return errors.New("clocks: found parts of different traces or options")
	}
	if len(o.spans) > len(p.spans) {
		p.spans = append(p.spans, make([]span, len(o.spans)-len(p.spans))...)
	}
	for i, s := range o.spans {
		if s.any && p.spans[i].any {
			return fmt.Errorf("clocks: location %d was seen by both parts; expected parts of different locations", i)
		}
		if s.any {
			p.spans[i] = s
		}
	}
	p.messages = append(p.messages, o.messages...)
	maps.Copy(p.members, o.members)
	maps.Copy(p.open, o.open)
	maps.Copy(p.requests, o.requests)
	return p.matching.Merge(o.matching)
}
