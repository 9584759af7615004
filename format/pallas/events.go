package pallas

import (
	"cmp"
	"context"
	"iter"
)

// Attributes iterates over the occurrences of an event that have attributes. It yields the number of
// the occurrence, counted from 0, and the values, which share the memory of the thread. It stops where
// the attributes are damaged.
func (e *Event) Attributes() iter.Seq2[uint64, []Value] {
	return func(yield func(uint64, []Value) bool) {
		var values []Value
		for b := e.attributes; ; {
			l, rest, ok := nextList(b)
			if !ok {
				return
			}
			var err error
			if values, err = l.values(values[:0]); err != nil || !yield(uint64(l.occurrence), values) {
				return
			}
			b = rest
		}
	}
}

// Replay delivers all events of the thread in the order of its grammar. It calls put with some thousand events
// at a time: their indexes in t.Events, and their times in nanoseconds. The slices are valid during the call.
// One of Pallas' writers leaves events out of the grammar. If the grammar lacks events that have times, Replay
// delivers the events in the order of time instead. Replay stops if put returns an error. It leaves out events
// whose times cannot be read, and returns the first such error at the end.
//
// Replay reads only the file of the times. It holds at most one block (8 KB) of each event, and up to 4 MB
// more.
func (t *Thread) Replay(ctx context.Context, put func(events []uint32, times []uint64) error) error {
	return t.replay(ctx, false, put)
}

func (t *Thread) replay(ctx context.Context, asTool bool, put func(events []uint32, times []uint64) error) error {
	r := newBlockReader(t.Archive.Trace.Parameters)
	defer r.close()
	r.asTool = asTool
	g := newOutline(t)
	x := newReplay(t, g, r)
	var bad error
	if g.countsMatch() {
		x.begin()
	} else {
		bad = x.orderByTime()
	}
	for {
		events, times, err := x.next()
		if len(events) > 0 {
			if err := put(events, times); err != nil {
				return err
			}
		}
		bad = cmp.Or(bad, err)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if len(events) == 0 && err == nil {
			return bad
		}
	}
}
