package states

import (
	"cmp"
	"container/heap"
	"encoding/binary"
	"iter"
	"slices"

	"github.com/weft-trace/weft/analysis/internal/waitstate"
)

// Waits holds the times in which locations wait for others in calls, for use in Options.Waits. It uses about 8
// bytes per wait. It must not be changed, and is safe for concurrent use.
type Waits struct {
	// Violations counts the messages and operations, up to the end of the window, whose times contradict causality,
	// because clocks differ. The waits are then not reliable.
	Violations Violations
	locations  []intervals // indexed by location
}

// Violations counts contradictions of causality. Worst is the greatest one in ticks.
type Violations = waitstate.Violations

// interval is a time in ticks. To is exclusive.
type interval struct{ from, to int64 }

// intervals holds the waits of a location in ascending order, with gaps between them.
type intervals struct {
	// packed holds two numbers for each wait but the last, as unsigned varints: the ticks from the end of the
	// wait before it (from time 0 for the first wait, modulo 2^64), and its length.
	packed []byte
	end    int64      // end of the last wait in packed
	last   interval   // the last wait; its length is 0 if there is none
	late   []interval // waits that were added after a later one; empty after finish
}

// add adds a wait of a location. Waits that overlap or touch each other become one.
func (w *Waits) add(location uint32, from, to int64) {
	for uint32(len(w.locations)) <= location {
		w.locations = append(w.locations, intervals{})
	}
	w.locations[location].add(interval{from, to})
}

func (l *intervals) add(x interval) {
	switch {
	case l.last == interval{}:
		l.last = x
	case x.from < l.last.from:
		l.late = append(l.late, x)
	case x.from <= l.last.to:
		l.last.to = max(l.last.to, x.to)
	default:
		l.packed = binary.AppendUvarint(l.packed, uint64(l.last.from-l.end))
		l.packed = binary.AppendUvarint(l.packed, uint64(l.last.to-l.last.from))
		l.end, l.last = l.last.to, x
	}
}

// finish sorts the waits that were not added in order into the others.
func (w *Waits) finish() {
	for i := range w.locations {
		l := &w.locations[i]
		if len(l.late) == 0 {
			continue
		}
		list := l.late
		for from, to := range l.all() {
			list = append(list, interval{from, to})
		}
		slices.SortFunc(list, func(a, b interval) int { return cmp.Compare(a.from, b.from) })
		*l = intervals{}
		for _, x := range list {
			l.add(x)
		}
	}
}

// all iterates over the begins and ends of the waits.
func (l *intervals) all() iter.Seq2[int64, int64] {
	return func(yield func(from, to int64) bool) {
		at := int64(0)
		for rest := l.packed; len(rest) > 0; {
			var x interval
			if x, rest = unpack(rest, at); !yield(x.from, x.to) {
				return
			}
			at = x.to
		}
		if l.last != (interval{}) {
			yield(l.last.from, l.last.to)
		}
	}
}

// unpack returns the first wait of packed, and the rest of packed. end is the end of the wait before it.
func unpack(packed []byte, end int64) (interval, []byte) {
	gap, n := binary.Uvarint(packed)
	length, m := binary.Uvarint(packed[n:])
	from := end + int64(gap)
	return interval{from, from + int64(length)}, packed[n+m:]
}

// At iterates over the begins and the ends, in ticks, of the waits at a location. They are in ascending order, with
// gaps between them.
func (w *Waits) At(location uint32) iter.Seq2[int64, int64] {
	if w == nil || int64(location) >= int64(len(w.locations)) {
		return func(func(int64, int64) bool) {}
	}
	return w.locations[location].all()
}

// waitChange is the next begin or end of a wait of a location.
type waitChange struct {
	time     int64
	location uint32
	ends     bool
	current  interval // the wait that begins or ends
	rest     []byte   // the packed waits after it
	last     interval // the last wait of the location; its length is 0 if it is the current one
}

// waitQueue holds the locations with waits as a heap: the first element has the least time.
type waitQueue []waitChange

// changes returns a queue of the begins and ends of all waits.
func (w *Waits) changes() waitQueue {
	var q waitQueue
	for location := range w.locations {
		l := &w.locations[location]
		x := waitChange{location: uint32(location), rest: l.packed, last: l.last}
		if x.next(0) {
			q = append(q, x)
		}
	}
	heap.Init(&q)
	return q
}

// next goes to the next wait, which is after the time end. It returns false if there is none.
func (x *waitChange) next(end int64) bool {
	switch {
	case len(x.rest) > 0:
		x.current, x.rest = unpack(x.rest, end)
	case x.last != interval{}:
		x.current, x.last = x.last, interval{}
	default:
		return false
	}
	x.time, x.ends = x.current.from, false
	return true
}

// advance removes the first begin or end from the queue.
func (q *waitQueue) advance() {
	x := &(*q)[0]
	switch {
	case !x.ends:
		x.time, x.ends = x.current.to, true
	case !x.next(x.current.to):
		heap.Pop(q)
		return
	}
	heap.Fix(q, 0)
}

// The methods of [heap.Interface].

func (q waitQueue) Len() int { return len(q) }

// Less orders by time. At the same time, the order of the changes does not affect the states.
func (q waitQueue) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(q[i].time, q[j].time), cmp.Compare(q[i].location, q[j].location)) < 0
}
func (q waitQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *waitQueue) Push(x any)   { *q = append(*q, x.(waitChange)) }
func (q *waitQueue) Pop() any {
	n := len(*q) - 1
	x := (*q)[n]
	*q = (*q)[:n]
	return x
}
