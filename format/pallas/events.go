package pallas

import (
	"cmp"
	"context"
	"iter"
)

// Attributes goes through the occurrences of an event that have attributes, counted
// from 0, with their values, which belong to the thread. It ends where they are damaged.
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

// Replay goes through all events of the thread in the order of its grammar and hands
// them to put, thousands at a time: each as its place in t.Events, with its time in
// nanoseconds. The lists are valid during the call. Where the grammar does not have all
// events that have times, as one of Pallas' writers forgets some, they come in the
// order of time. An error of put ends it. Events whose times cannot be read are left
// out; the first such error is returned at the end.
//
// It needs no file but that of the times, of which it holds a block (8 KB) of each
// event at most, and up to 4 MB more.
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
	if g.sound() {
		x.begin()
	} else {
		bad = x.byTimeAlone()
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
