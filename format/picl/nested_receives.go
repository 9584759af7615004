package picl

import (
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// callOfWait maps the event type of a wait inside a call to the event type of the call. PICL records one of
// the two. If the wait lies inside the call, both describe the same operation.
var callOfWait = map[int64]int64{-31: -30, -37: -36, -43: -42, -49: -48, -52: -51, -61: -60}

// receiveCalls lists those pairs of callOfWait that receive messages.
var receiveCalls = [2]struct{ call, wait int64 }{{-51, -52}, {-60, -61}}

// nesting detects whether a file may have waits inside of calls that receive. Processes share a limited
// number of slots. If several processes use the same slot, nesting assumes that the file has such
// waits.
type nesting struct {
	found  bool
	waits  bool           // a wait occurs
	places []nestingPlace // indexed by slot; nil if no call receives
	early  [8]uint64      // bit set of the slots in which a wait occurs before any call
}

type nestingPlace struct {
	key procKey
	// record type of the last call, TypeEntry or TypeExit; 0 if there is none, 1 if several processes
	// share the slot
	last int64
}

// note updates the result with a record of an event type in receiveCalls.
func (n *nesting) note(typ, event int64, key procKey) {
	if typ != TypeEntry && typ != TypeExit {
		return
	}
	at := uint(uint8(key.processor) ^ uint8(key.process*7))
	if event <= -60 {
		at += 256
	}
	if event == -51 || event == -60 {
		if n.places == nil {
			n.places = make([]nestingPlace, 512)
		}
		n.places[at].appendState(nestingPlace{key, typ})
		return
	}
	n.waits = true
	if n.places == nil || n.places[at].last == 0 {
		n.early[at/64] |= 1 << (at % 64)
		return
	}
	p := &n.places[at]
	n.found = n.found || p.last == 1 || p.key != key || p.last == TypeEntry
}

// appendState updates the slot with the state that it has after a later part of the file.
func (p *nestingPlace) appendState(next nestingPlace) {
	if p.last != 0 && p.key != next.key {
		next.last = 1
	}
	if p.last != 1 {
		*p = next
	}
}

// add appends the result of the next part of the file.
func (n *nesting) add(o *nesting) {
	n.found, n.waits = n.found || o.found, n.waits || o.waits
	for at := range n.places {
		early := o.early[at/64]>>(at%64)&1 != 0
		n.found = n.found || early && (n.places[at].last == 1 || n.places[at].last == TypeEntry)
		if o.places != nil && o.places[at].last != 0 {
			n.places[at].appendState(o.places[at])
		}
	}
	if n.places == nil {
		n.places = o.places
	}
}

// receiveFilter drops the second message of a receive if both the call and the wait inside it have one.
type receiveFilter struct {
	format.Sink
	regions map[uint32]callOrWait
	state   map[uint32]*[len(receiveCalls)]receiving // indexed by location
	kept    trace.Batch
}

type callOrWait struct {
	call int // index of the call in receiveCalls
	wait bool
}

// receiving is the state of the receiving calls at a location.
type receiving struct {
	open      int   // number of open calls
	wait      bool  // a wait outside of any call is open
	delivered bool  // the message of the open call or wait has been delivered
	line      int64 // line of the delivered message
}

func newReceiveFilter(d *decoder, sink format.Sink) *receiveFilter {
	o := &receiveFilter{Sink: sink, regions: map[uint32]callOrWait{}, state: map[uint32]*[len(receiveCalls)]receiving{}}
	o.learnRegions(d)
	return o
}

// learnRegions finds the regions of the calls that receive and of their waits.
func (o *receiveFilter) learnRegions(d *decoder) {
	for k, ref := range d.regions {
		for i, c := range receiveCalls {
			if k.event == c.call || k.event == c.wait {
				o.regions[ref] = callOrWait{i, k.event == c.wait}
			}
			// -58 is a call without a wait; its messages are of the same kind as those of -60
			if k.event == -58 && c.call == -60 {
				o.regions[ref] = callOrWait{call: i}
			}
		}
	}
}

// Batch delivers all rows except repeated messages.
func (o *receiveFilter) Batch(b *trace.Batch) error {
	from, dropped := 0, false
	for i, k := range b.Kind {
		if _, again := o.isRepeated(b, i, k); !again {
			continue
		}
		if !dropped {
			dropped = true
			o.kept.Reset(b.Loc)
		}
		o.kept.AppendRows(b, from, i)
		from = i + 1
	}
	if !dropped {
		return o.Sink.Batch(b)
	}
	o.kept.AppendRows(b, from, b.Len())
	return o.Sink.Batch(&o.kept)
}

// isRepeated reports whether a row is a message that has already been delivered. line is the line of the
// delivered message.
func (o *receiveFilter) isRepeated(b *trace.Batch, row int, k trace.Kind) (line int64, again bool) {
	var at callOrWait
	switch k {
	case trace.Enter, trace.Leave:
		var ok bool
		if at, ok = o.regions[b.Ref[row]]; !ok {
			return 0, false
		}
	case trace.Recv:
	case trace.RecvComplete:
		at.call = 1
	default:
		return 0, false
	}
	s := o.state[b.Location(row)]
	if s == nil {
		s = &[len(receiveCalls)]receiving{}
		o.state[b.Location(row)] = s
	}
	r := &s[at.call]
	switch {
	case k == trace.Enter && at.wait:
		if r.open == 0 {
			r.wait, r.delivered = true, false
		}
	case k == trace.Enter:
		r.open++
		r.wait, r.delivered = false, false
	case k == trace.Leave && at.wait:
		r.wait = false
	case k == trace.Leave:
		r.open = max(0, r.open-1)
	case r.open == 1 || r.wait:
		if r.delivered {
			return r.line, true
		}
		r.delivered, r.line = true, b.Pos[row]
	}
	return 0, false
}
