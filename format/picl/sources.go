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

// sources are the senders of receives that do not say where their message came from.
type sources struct {
	sync.Mutex
	places map[procKey]bool // who may have such receives
	of     map[int64]uint32 // by the line of the receive; nil if they have not been looked for
}

// unsourced reports whether the exit of a receive may have a message whose source is left out or -1;
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

// waitingSend is a send to one of the places.
type waitingSend struct {
	from  uint32
	tag   int64
	taken bool
}

// inbox is what is sent to a location and received there, each in the order of time.
type inbox struct {
	sends     []waitingSend
	known     []waitingSend // receives that say their source
	unknown   []waitingSend // the others
	positions []int64       // of these
}

// findSources finds the senders, once: what is sent there with the tag, and no receive that says its source
// takes, the oldest first.
func (d *decoder) findSources(ctx context.Context) error {
	d.sources.Lock()
	defer d.sources.Unlock()
	if d.sources.of != nil {
		return nil
	}
	boxes := map[uint32]*inbox{}
	for k := range d.sources.places {
		if loc, ok := d.locations[k]; ok {
			boxes[loc] = &inbox{}
		}
	}
	scanned := d.Scanned
	d.Scanned = true // defects are for the scan that is asked for
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
	err := d.Deliver(ctx, d, trace.Events(), format.GlobalOrder, whole, d.paired(collect))
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
	d.sources.of = of
	return nil
}

// queues are sends by what tells them apart and tag, the oldest first; tag -1 has all of them.
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

// take takes the oldest send of a group that fits a tag, nil if there is none.
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
