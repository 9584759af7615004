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

// sources holds the senders of messages for receives that do not state a source.
type sources struct {
	sync.Mutex
	receivers map[procKey]bool // processes that may have such receives
	senders   map[int64]uint32 // by the line of the receive; nil before the search
}

// unsourced reports whether the exit of a receive may have a message whose source is omitted or -1.
// l is its line.
func (h *head) unsourced(l []byte) bool {
	switch h.f[5] {
	case 1, 2:
		return true
	case 4:
		l = l[:max(0, bytes.LastIndexByte(bytes.TrimRight(l, " \t\r"), ' '))]
		fallthrough
	case 3:
		return bytes.HasSuffix(bytes.TrimRight(l, " \t\r"), []byte(" -1"))
	}
	return false
}

// waitingSend is a send to one of the receivers.
type waitingSend struct {
	from  uint32
	tag   int64
	taken bool
}

// inbox holds the sends to a location and its receives, each in order of time.
type inbox struct {
	sends     []waitingSend
	known     []waitingSend // receives that state their source
	unknown   []waitingSend // receives that do not
	positions []int64       // positions of the events in unknown
}

// findSources finds the senders once. The receives that state a source take their sends first. Each
// other receive then takes the oldest remaining send with its tag.
func (d *decoder) findSources(ctx context.Context) error {
	d.sources.Lock()
	defer d.sources.Unlock()
	if d.sources.senders != nil {
		return nil
	}
	boxes := map[uint32]*inbox{}
	for k := range d.sources.receivers {
		if loc, ok := d.locations[k]; ok {
			boxes[loc] = &inbox{}
		}
	}
	scanned := d.Scanned
	d.Scanned = true // do not report defects here: the caller's scan reports them
	defer func() { d.Scanned = scanned }()
	collect := format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
		for c := b.Cursor(); c.Next(); {
			k, peer := c.Kind(), c.Op(0)
			switch {
			case k.IsSend() && peer < uint64(trace.NoRef):
				if x := boxes[uint32(peer)]; x != nil {
					x.sends = append(x.sends, waitingSend{from: c.Location(), tag: int64(c.Op(2))})
				}
			case !k.IsRecv() || boxes[c.Location()] == nil:
			case peer < uint64(trace.NoRef):
				x := boxes[c.Location()]
				x.known = append(x.known, waitingSend{from: uint32(peer), tag: int64(c.Op(2))})
			default:
				x := boxes[c.Location()]
				x.unknown, x.positions = append(x.unknown, waitingSend{tag: int64(c.Op(2))}), append(x.positions, c.Pos())
			}
		}
		return nil
	}}
	whole := d.renamed != nil || d.nesting.found
	err := d.Deliver(ctx, d, trace.Events(), format.GlobalOrder, whole, d.pairLeaves(collect))
	if err != nil {
		return err
	}
	of := map[int64]uint32{}
	for _, loc := range slices.Sorted(maps.Keys(boxes)) {
		x := boxes[loc]
		from := newQueues(x.sends, func(s *waitingSend) uint32 { return s.from })
		for _, r := range x.known {
			from.take(r.from, r.tag)
		}
		left := newQueues(x.sends, func(*waitingSend) uint32 { return 0 })
		for i, r := range x.unknown {
			if s := left.take(0, r.tag); s != nil {
				of[x.positions[i]] = s.from
			}
		}
	}
	d.sources.senders = of
	return nil
}

// queues holds sends by group and tag, the oldest first. A tag of -1 matches all sends of a group.
type queues struct {
	sends []waitingSend
	list  map[queueKey][]int
}

type queueKey struct {
	group uint32
	tag   int64
	all   bool
}

func newQueues(sends []waitingSend, group func(*waitingSend) uint32) *queues {
	q := &queues{sends, map[queueKey][]int{}}
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

// take takes the oldest send of a group that matches a tag. It returns nil if there is none.
func (q *queues) take(group uint32, tag int64) *waitingSend {
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
