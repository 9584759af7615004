package picl

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// sources finds information about messages that the records of their receives lack, such as the sender.
type sources struct {
	sync.Mutex
	receivers map[procKey]bool // processes with receives that may lack information
	// information about each receive; indexed by its line; nil before the search
	found map[int64]receivedMessage
}

// receivedMessage holds the information that the record of a receive lacks. A from of NoRef, or a tag or
// length of -1, means that the value is unknown.
type receivedMessage struct {
	from        uint32
	tag, length int64
}

// leavesOpen reports whether the record of a receive may lack information about its message, because a field
// is omitted or -1. source is true if the sender may be missing. any is true if the sender, the length or the
// tag may be missing. The data fields of the message come after the first skip ones. l is the line.
func (h *head) leavesOpen(l []byte, skip int64) (source, any bool) {
	i, bad := h.parse(l, 6)
	if bad >= 0 || h.f[5] == 0 {
		return false, false
	}
	data := bytes.TrimLeft(l[i:], " \t")
	if len(data) < 2 || data[0] != '2' || !blank(data[1]) {
		return true, true // a field may have several values
	}
	switch n := h.f[5] - skip; {
	case n <= 0:
		return false, false
	case n < 3:
		return true, true
	}
	n := -skip
	for word := range bytes.FieldsSeq(data[1:]) {
		if n >= 0 && string(word) == "-1" {
			source, any = source || n == 2, true
		}
		if n++; n == 3 {
			break
		}
	}
	return source, any
}

// mayHaveMore reports whether a record may have more than n values. l is its line.
func (h *head) mayHaveMore(l []byte, n int64) bool {
	i, bad := h.parse(l, 6)
	if bad >= 0 || h.f[5] == 0 {
		return false
	}
	data := bytes.TrimLeft(l[i:], " \t")
	switch {
	case len(data) == 0 || usualDescriptor(data):
		return h.f[5] > n
	case data[0] == '"':
		end := closingQuote(data)
		return end > 0 && min(h.f[5], n+1)*int64(bytes.Count(data[:end], []byte{'%'})) > n
	}
	return true // another record defines the descriptor
}

// waitingSend is a send that no receive has taken yet.
type waitingSend struct {
	from  uint32
	tag   int64
	taken bool
}

// waitingReceive is a receive whose missing information is being collected. changed is set if a value has been
// found that its line lacks.
type waitingReceive struct {
	receivedMessage
	line    int64
	changed bool
}

// inbox holds the sends to a location and the receives at it, each in order of time.
type inbox struct {
	sends    []waitingSend
	receives []waitingReceive
	byLine   map[int64]int // index in receives, by line
}

// findSources finds the information that the records of receives lack. It runs once. A wait and the call
// around it are one receive, and either record may contain a value. First, each receive with a known source
// takes the oldest send from that source. Then each other receive takes the oldest remaining send with its
// tag.
func (d *decoder) findSources(ctx context.Context) error {
	d.sources.Lock()
	defer d.sources.Unlock()
	if d.sources.found != nil {
		return nil
	}
	boxes := map[uint32]*inbox{}
	for k := range d.sources.receivers {
		if loc, ok := d.locations[k]; ok {
			boxes[loc] = &inbox{byLine: map[int64]int{}}
		}
	}
	scanned := d.Scanned
	d.Scanned = true // the caller's scan reports the defects
	defer func() { d.Scanned = scanned }()
	nested := newReceiveFilter(d, nil)
	collect := format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
		c := b.Cursor()
		for c.Next() {
			k := c.Kind()
			first, again := int64(0), false
			if d.nesting.found {
				first, again = nested.isRepeated(b, c.Row, k)
			}
			if !k.IsSend() && !k.IsRecv() {
				continue
			}
			peer := trace.NoRef
			if v := c.Op(0); v < uint64(trace.NoRef) {
				peer = uint32(v)
			}
			if k.IsSend() {
				if x := boxes[peer]; x != nil {
					x.sends = append(x.sends, waitingSend{from: c.Location(), tag: int64(c.Op(2))})
				}
				continue
			}
			x := boxes[c.Location()]
			if x == nil {
				continue
			}
			r := receivedMessage{peer, int64(c.Op(2)), int64(c.Op(3))}
			if again {
				x.receives[x.byLine[first]].complete(r)
				continue
			}
			x.byLine[c.Pos()] = len(x.receives)
			x.receives = append(x.receives, waitingReceive{receivedMessage: r, line: c.Pos()})
		}
		return nil
	}}
	whole := d.renamed != nil || d.nesting.found
	err := d.Deliver(ctx, d, trace.Events(), format.GlobalOrder, whole, collect)
	if err != nil {
		return err
	}
	found := map[int64]receivedMessage{}
	for _, loc := range slices.Sorted(maps.Keys(boxes)) {
		x := boxes[loc]
		from := newSendQueues(x.sends, func(s *waitingSend) uint32 { return s.from })
		for _, r := range x.receives {
			if r.from != trace.NoRef {
				from.take(r.from, r.tag)
			}
		}
		left := newSendQueues(x.sends, func(*waitingSend) uint32 { return 0 })
		for _, r := range x.receives {
			if r.from == trace.NoRef {
				if s := left.take(0, r.tag); s != nil {
					r.from, r.changed = s.from, true
				}
			}
			if r.changed {
				found[r.line] = r.receivedMessage
			}
		}
	}
	d.sources.found = found
	return nil
}

// complete sets the unknown values of a message from another record of the same receive.
func (r *waitingReceive) complete(o receivedMessage) {
	if r.from == trace.NoRef && o.from != trace.NoRef {
		r.from, r.changed = o.from, true
	}
	if r.tag == -1 && o.tag != -1 {
		r.tag, r.changed = o.tag, true
	}
	if r.length == -1 && o.length != -1 {
		r.length, r.changed = o.length, true
	}
}

// sendQueues holds sends by group and tag, with the oldest first. The tag -1 stands for all sends of a
// group.
type sendQueues struct {
	sends []waitingSend
	list  map[queueKey][]int
}

type queueKey struct {
	group uint32
	tag   int64
	all   bool
}

func newSendQueues(sends []waitingSend, group func(*waitingSend) uint32) *sendQueues {
	q := &sendQueues{sends, map[queueKey][]int{}}
	for i := range sends {
		s := &sends[i]
		if s.taken {
			continue
		}
		for _, k := range [2]queueKey{{group(s), s.tag, false}, {group(s), 0, true}} {
			q.list[k] = append(q.list[k], i)
		}
	}
	return q
}

// take removes the oldest send of a group that matches a tag, and returns it. It returns nil if there
// is none.
func (q *sendQueues) take(group uint32, tag int64) *waitingSend {
	keys := []queueKey{{group, tag, false}, {group, -1, false}}
	if tag == -1 {
		keys = []queueKey{{group, 0, true}}
	}
	best, at := -1, queueKey{}
	for _, k := range keys {
		l := q.list[k]
		for len(l) > 0 && q.sends[l[0]].taken {
			l = l[1:]
		}
		if q.list[k] = l; len(l) > 0 && (best < 0 || l[0] < best) {
			best, at = l[0], k
		}
	}
	if best < 0 {
		return nil
	}
	q.list[at] = q.list[at][1:]
	q.sends[best].taken = true
	return &q.sends[best]
}
