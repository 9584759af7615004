package states

import (
	"cmp"
	"encoding/binary"
	"iter"
	"slices"

	"github.com/weft-trace/weft/analysis/internal/waitstate"
	"github.com/weft-trace/weft/internal/minheap"
	"github.com/weft-trace/weft/trace"
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

// intervals holds the waits of a location in ascending order, with gaps between them.
type intervals struct {
	// packed holds two numbers for each wait but the last, as unsigned varints: the ticks from the end of the
	// wait before it (from time 0 for the first wait, modulo 2^64), and its length.
	packed []byte
	end    int64          // end of the last wait in packed
	last   trace.Window   // the last wait; its length is 0 if there is none
	late   []trace.Window // waits that were added after a later one; empty after finish
}

// add adds a wait of a location. Waits that overlap or touch each other become one.
func (w *Waits) add(location uint32, from, to int64) {
	for uint32(len(w.locations)) <= location {
		w.locations = append(w.locations, intervals{})
	}
	w.locations[location].add(trace.Window{From: from, To: to})
}

func (l *intervals) add(x trace.Window) {
	switch {
	case l.last == trace.Window{}:
		l.last = x
	case x.From < l.last.From:
		l.late = append(l.late, x)
	case x.From <= l.last.To:
		l.last.To = max(l.last.To, x.To)
	default:
		l.packed = binary.AppendUvarint(l.packed, uint64(l.last.From-l.end))
		l.packed = binary.AppendUvarint(l.packed, uint64(l.last.To-l.last.From))
		l.end, l.last = l.last.To, x
	}
}

// finish sorts the waits that were not added in order into the others.
func (w *Waits) finish() {
	for i := range w.locations {
		l := &w.locations[i]
		if len(l.late) == 0 {
			continue
		}
		list := slices.AppendSeq(l.late, l.all())
		slices.SortFunc(list, func(a, b trace.Window) int { return cmp.Compare(a.From, b.From) })
		*l = intervals{}
		for _, x := range list {
			l.add(x)
		}
	}
}

// all iterates over the waits.
func (l *intervals) all() iter.Seq[trace.Window] {
	return func(yield func(trace.Window) bool) {
		at := int64(0)
		for rest := l.packed; len(rest) > 0; {
			var x trace.Window
			if x, rest = unpack(rest, at); !yield(x) {
				return
			}
			at = x.To
		}
		if l.last != (trace.Window{}) {
			yield(l.last)
		}
	}
}

// unpack returns the first wait of packed, and the rest of packed. end is the end of the wait before it.
func unpack(packed []byte, end int64) (trace.Window, []byte) {
	gap, n := binary.Uvarint(packed)
	length, m := binary.Uvarint(packed[n:])
	from := end + int64(gap)
	return trace.Window{From: from, To: from + int64(length)}, packed[n+m:]
}

// At iterates over the waits at a location. They are in ascending order, with gaps between them.
func (w *Waits) At(location uint32) iter.Seq[trace.Window] {
	if w == nil || int64(location) >= int64(len(w.locations)) {
		return func(func(trace.Window) bool) {}
	}
	return w.locations[location].all()
}

// waitChange is the next begin or end of a wait of a location.
type waitChange struct {
	time     int64
	location uint32
	ends     bool
	current  trace.Window // the wait that begins or ends
	rest     []byte       // the packed waits after it
	last     trace.Window // the last wait of the location; its length is 0 if it is the current one
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
	minheap.Init(q, (*waitChange).before)
	return q
}

// next goes to the next wait, which is after the time end. It returns false if there is none.
func (x *waitChange) next(end int64) bool {
	switch {
	case len(x.rest) > 0:
		x.current, x.rest = unpack(x.rest, end)
	case x.last != trace.Window{}:
		x.current, x.last = x.last, trace.Window{}
	default:
		return false
	}
	x.time, x.ends = x.current.From, false
	return true
}

// advance removes the first begin or end from the queue.
func (q *waitQueue) advance() {
	x := &(*q)[0]
	switch {
	case !x.ends:
		x.time, x.ends = x.current.To, true
	case !x.next(x.current.To):
		minheap.Pop((*[]waitChange)(q), (*waitChange).before)
		return
	}
	minheap.Fix(*q, 0, (*waitChange).before)
}

// before orders changes by time and then by location, so that the order is the same in each run.
func (x *waitChange) before(y *waitChange) bool {
	return cmp.Or(cmp.Compare(x.time, y.time), cmp.Compare(x.location, y.location)) < 0
}
