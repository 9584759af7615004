package otf2

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"math"
	"slices"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// errLimit ends the printing after the last selected event.
var errLimit = errors.New("otf2: the limit of printed events is reached")

// kindOf returns the kind of an event in the common model, or [trace.NoKind] if it is unknown.
func kindOf(id uint8) trace.Kind {
	if int(id) < len(eventKinds) {
		return eventKinds[id].kind
	}
	return trace.NoKind
}

// eventSource returns the events of a location or the records of its snapshots.
type eventSource interface {
	Next() (*Event, error)
	Close()
}

// writeMerged writes the records of the selected locations in order of time.
func (p *printer) writeMerged(ctx context.Context, locations []uint64, opt *format.ReadOptions, sel trace.Selection,
	write func(location uint64, column string, e *Event) error, open func(location uint64) (eventSource, error)) error {
	m := mergeHeap{}
	if sel.To <= 0 {
		return nil
	}
	for i, id := range sortedIDs(locations) {
		if sel.Location != nil && !sel.Location(i) {
			continue
		}
		r, err := open(id)
		if err != nil {
			return err
		}
		if r == nil {
			continue
		}
		defer r.Close()
		if err := m.add(id, r, opt); err != nil {
			return err
		}
	}
	for i := len(m.list)/2 - 1; i >= 0; i-- {
		m.siftDown(i)
	}
	for n := 0; len(m.list) > 0; n++ {
		if n&1023 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		// The next record may have an earlier time, because corrected times may go back.
		x := m.list[0]
		if t := x.event.Time; (sel.From <= 0 || t >= uint64(sel.From)) && (sel.To == math.MaxInt64 || t < uint64(sel.To)) {
			if err := write(x.location, x.column, x.event); err != nil {
				return err
			}
		}
		if err := m.advance(opt); err != nil {
			return err
		}
	}
	return nil
}

// sortedIDs iterates over ids in ascending order, with the index of each.
func sortedIDs(ids []uint64) iter.Seq2[uint32, uint64] {
	places := make([]uint32, len(ids))
	for i := range places {
		places[i] = uint32(i)
	}
	slices.SortFunc(places, func(a, b uint32) int { return cmp.Compare(ids[a], ids[b]) })
	return func(yield func(uint32, uint64) bool) {
		for _, i := range places {
			if !yield(i, ids[i]) {
				return
			}
		}
	}
}

// mergeHeap is a heap of locations. Its order is the time of the next event and, at equal times, the id of the
// location.
type mergeHeap struct{ list []*mergedLocation }

type mergedLocation struct {
	location uint64
	column   string // column with the location's number
	r        eventSource
	event    *Event
}

// read reads the next event of the location. The event is nil at the end.
func (m *mergedLocation) read(opt *format.ReadOptions) (err error) {
	for {
		m.event, err = m.r.Next()
		if err == nil {
			return nil
		}
		if m.event = nil; err == io.EOF {
			return nil
		}
		if err := reportDefect(opt, err); err != nil {
			return err
		}
	}
}

// add adds a location, unless it has no events.
func (m *mergeHeap) add(id uint64, r eventSource, opt *format.ReadOptions) error {
	x := &mergedLocation{location: id, column: string(appendRight(nil, id, locationColumn)), r: r}
	if err := x.read(opt); err != nil {
		return err
	}
	if x.event != nil {
		m.list = append(m.list, x)
	}
	return nil
}

// advance reads the next event of the first location in the heap.
func (m *mergeHeap) advance(opt *format.ReadOptions) error {
	if err := m.list[0].read(opt); err != nil {
		return err
	}
	if last := len(m.list) - 1; m.list[0].event == nil {
		m.list[0] = m.list[last]
		m.list = m.list[:last]
	}
	m.siftDown(0)
	return nil
}

func (m *mergeHeap) less(i, k int) bool {
	x, y := m.list[i], m.list[k]
	if x.event.Time != y.event.Time {
		return x.event.Time < y.event.Time
	}
	return x.location < y.location
}

// siftDown moves location i of the heap down to its position.
func (m *mergeHeap) siftDown(i int) {
	for {
		k := 2*i + 1
		if k >= len(m.list) {
			return
		}
		if k+1 < len(m.list) && m.less(k+1, k) {
			k++
		}
		if !m.less(k, i) {
			return
		}
		m.list[i], m.list[k] = m.list[k], m.list[i]
		i = k
	}
}
