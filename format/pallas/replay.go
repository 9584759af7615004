package pallas

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
	"sort"
)

// replay delivers all events of a thread, many at a time.
type replay struct {
	t     *Thread
	g     *outline
	r     *blockReader
	times []timeIterator // an iterator over the times of each event
	list  []uint32       // the next events, as indexes
	at    []uint64       // the times of the next events

	*script // what to replay; nil if the outline has an error
	where   position
	above   []position // the enclosing sequences
	body    []uint32   // events that are to be repeated
	again   uint64

	heap     *byTime     // orders the events by time; nil if the grammar determines their order
	prefetch *prefetcher // loads blocks in a goroutine; nil if replay loads blocks itself
}

// position is a place in a sequence.
type position struct {
	next, from, end uint32 // indexes of the list of all tokens
	again           uint64 // if the sequence is the body of a loop: number of remaining iterations
}

// timeIterator iterates over the times of one event.
type timeIterator struct {
	values []uint64         // values of the current block
	next   int              // index of the next value
	block  int              // index of the next block
	lost   uint64           // number of occurrences from an unreadable block that are still to be skipped
	coming chan loadedBlock // delivers the next block, if a goroutine loads the blocks
	broken bool             // a block was unreadable, so the numbers of later occurrences are unknown
}

// replayRows is the approximate number of events that replay delivers at a time.
const replayRows = 4096

func newReplay(t *Thread, g *outline, r *blockReader) *replay {
	x := &replay{t: t, g: g, r: r, times: make([]timeIterator, len(t.Events)),
		list: make([]uint32, replayRows+maxListed+copyWidth), script: t.script}
	if x.script == nil && g.err == nil {
		x.script = newGeneralScript(t, g)
	}
	return x
}

// enter returns the position at the start of a sequence that occurs the given number of times.
func (s *script) enter(sequence uint32, times uint64) position {
	from := s.lists.from[sequence]
	return position{from, from, s.lists.from[sequence+1], times - 1}
}

// begin moves to the first event of the thread.
func (x *replay) begin() {
	x.where, x.above, x.again = x.enter(x.root, 1), x.above[:0], 0
}

// skip moves past the given number of occurrences of each event. The caller has already moved the times
// with seek. skip follows the grammar once. It returns false if the grammar has other events there,
// because times go back.
func (x *replay) skip(before []uint64) (ok bool) {
	x.begin()
	left := uint64(0)
	for _, n := range before {
		left = saturatingAdd(left, n)
	}
	if left == 0 {
		return true
	}
	events, sequences := make([]uint64, len(before)), make([]uint64, len(x.sequences)) // numbers of skipped occurrences
	for left > 0 {
		w := &x.where
		if w.next == w.end {
			// Sequences are skipped as a whole, so no loop ends here.
			if len(x.above) == 0 {
				return false
			}
			*w, x.above = x.above[len(x.above)-1], x.above[:len(x.above)-1]
			continue
		}
		k := x.lists.tokens[w.next]
		w.next++
		l := scriptLoop{k.ID(), notListed, 1}
		switch k.Type() {
		case EventToken:
			events[k.ID()]++
			left--
			continue
		case listedEvents:
			list := x.eventList(k.ID())
			n := min(left, uint64(len(list)))
			for _, e := range list[:n] {
				events[e]++
			}
			if left -= n; n < uint64(len(list)) {
				x.body, x.again = list[n:], 1
			}
			continue
		case LoopToken:
			l = x.loops[k.ID()]
		}
		size := x.sequences[l.sequence].size
		if size == 0 {
			continue
		}
		n := min(left/size, l.times)
		left -= n * size
		sequences[l.sequence] += n
		if l.times -= n; l.times > 0 {
			x.above = append(x.above, *w)
			*w = x.enter(l.sequence, l.times)
		}
	}
	x.countEvents(sequences, events)
	return slices.Equal(events, before)
}

// next returns the next events in the order of the grammar, and their times. At the end, it returns
// none. The slices are valid until the next call. next may return an error together with events.
func (x *replay) next() (events []uint32, times []uint64, err error) {
	if x.heap != nil {
		x.list = x.list[:0]
		err := x.nextByTime()
		return x.list, x.at[:len(x.list)], err
	}
	list, n := x.list[:cap(x.list)], 0
	if x.again > 0 {
		n = x.repeat(list, 0)
	}
	w, tokens, from := x.where, x.lists.tokens, x.lists.from
	for n < replayRows {
		if w.next == w.end {
			if w.again > 0 {
				w.again--
				w.next = w.from
				continue
			}
			top := len(x.above) - 1
			if top < 0 {
				break
			}
			w = x.above[top]
			x.above = x.above[:top]
			continue
		}
		k := tokens[w.next]
		w.next++
		id := k.ID()
		switch k.Type() {
		case EventToken:
			list[n] = id
			n++
		case listedEvents:
			events := x.events[id+1:]
			size := int(x.events[id])
			if size > copyWidth {
				n += copy(list[n:], events[:size])
				continue
			}
			*(*[copyWidth]uint32)(list[n:]) = *(*[copyWidth]uint32)(events)
			n += size
		case SequenceToken:
			x.above = append(x.above, w)
			w = position{from[id], from[id], from[id+1], 0}
		default:
			l := x.loops[id]
			if l.listed != notListed {
				if x.body, x.again = x.eventList(l.listed), l.times; len(x.body) == 0 {
					x.again = 0
				}
				n = x.repeat(list, n)
			} else if l.times > 0 {
				x.above = append(x.above, w)
				w = x.enter(l.sequence, l.times)
			}
		}
	}
	x.where, x.list = w, list[:n]
	return x.gather()
}

// repeat appends the events of the body to list, which holds n events, as often as there is room. It
// returns the new number of events.
func (x *replay) repeat(list []uint32, n int) int {
	size := len(x.body)
	if x.again == 0 {
		return n
	}
	k := int(min(x.again, uint64((replayRows-n+size-1)/size)))
	x.again -= uint64(k)
	from, end := n, n+k*size
	n += copy(list[n:], x.body)
	for n < end { // each step doubles the number of events
		n += copy(list[n:end], list[from:n])
	}
	return n
}

// gather looks up the times of the events in list.
func (x *replay) gather() ([]uint32, []uint64, error) {
	if cap(x.at) < len(x.list) {
		x.at = make([]uint64, len(x.list)+maxListed)
	}
	at := x.at[:len(x.list)]
	for i, e := range x.list {
		t := &x.times[e]
		if t.next == len(t.values) {
			return x.gatherLoading(i, at)
		}
		at[i] = t.values[t.next]
		t.next++
	}
	return x.list, at, nil
}

// gatherLoading continues gather at index i of list, where it must load a block. It leaves out events
// whose times cannot be read.
func (x *replay) gatherLoading(i int, at []uint64) (_ []uint32, _ []uint64, first error) {
	n := i
	for _, e := range x.list[i:] {
		t := &x.times[e]
		for t.next == len(t.values) && t.lost == 0 {
			if err := x.fill(int(e)); err != nil {
				first = cmp.Or(first, err)
				if t.lost == 0 {
					break // the event has no more times
				}
			}
		}
		if t.next == len(t.values) {
			t.lost = max(t.lost, 1) - 1
			continue
		}
		x.list[n], at[n] = e, t.values[t.next]
		t.next++
		n++
	}
	return x.list[:n], at[:n], first
}

// fill loads the next block of an event's times that is not empty. After an error, the next call
// continues with the block after the unreadable one.
func (x *replay) fill(e int) error {
	t, v := &x.times[e], &x.t.Events[e].Timestamps
	for t.next == len(t.values) {
		if t.block == len(v.Blocks) {
			return &RangeError{v.Size, v.Size}
		}
		err := x.load(t, v)
		t.next = 0
		t.block++
		if err != nil {
			t.values = t.values[:0]
			t.lost, t.broken = v.Blocks[t.block-1].Count, true
			return err
		}
	}
	return nil
}

// load reads the next block, and requests the one after it from the prefetcher.
func (x *replay) load(t *timeIterator, v *Vector) (err error) {
	if x.prefetch == nil {
		t.values, err = x.r.read(t.values[:0], x.t.times, v, &v.Blocks[t.block])
		return err
	}
	old := t.values
	if t.coming == nil {
		t.values, err = x.r.read(nil, x.t.times, v, &v.Blocks[t.block])
		t.coming = make(chan loadedBlock, 1)
	} else {
		l := <-t.coming
		t.values, err = l.values, l.err
	}
	if next := t.block + 1; next < len(v.Blocks) {
		if b := &v.Blocks[next]; x.r.isKept(x.t.times, b) {
			values, err := x.r.read(old[:0], x.t.times, v, b)
			t.coming <- loadedBlock{values, err}
		} else {
			x.prefetch.jobs <- prefetchJob{v, b, old[:0], t.coming}
		}
	}
	return err
}

// fillReadable loads the next block of an event's times that can be read, if there is one. It returns
// the first error.
func (x *replay) fillReadable(e int) (first error) {
	t := &x.times[e]
	for t.next == len(t.values) && t.block < len(x.t.Events[e].Timestamps.Blocks) {
		first = cmp.Or(first, x.fill(e))
	}
	return first
}

// seek moves each event to its first time from the time from on. It returns the number of earlier
// occurrences of each event. It loads at most one block of each event.
func (x *replay) seek(from uint64) (before []uint64, err error) {
	before = make([]uint64, len(x.times))
	for e := range x.times {
		v := &x.t.Events[e].Timestamps
		t := &x.times[e]
		if t.block, before[e] = v.blocksBefore(from); t.block == len(v.Blocks) || v.Blocks[t.block].First >= from {
			continue
		}
		if err := x.fill(e); err != nil {
			return nil, err
		}
		t.next = sort.Search(len(t.values), func(i int) bool { return t.values[i] >= from })
		before[e] += uint64(t.next)
	}
	return before, nil
}

// blocksBefore returns the index of the first block that has times of to or later, and the number of
// times in the blocks before it.
func (v *Vector) blocksBefore(to uint64) (block int, before uint64) {
	block = sort.Search(len(v.Blocks), func(i int) bool { return v.Blocks[i].Last >= to })
	for i := range block {
		before = saturatingAdd(before, v.Blocks[i].Count)
	}
	return block, before
}

// countBefore returns the number of events before a time. It loads at most one block of each event.
func (x *replay) countBefore(to uint64) (n uint64, err error) {
	var values []uint64
	for e := range x.times {
		v := &x.t.Events[e].Timestamps
		block, before := v.blocksBefore(to)
		n = saturatingAdd(n, before)
		if block == len(v.Blocks) || v.Blocks[block].First >= to {
			continue
		}
		if values, err = x.r.read(values[:0], x.t.times, v, &v.Blocks[block]); err != nil {
			return 0, err
		}
		n += uint64(sort.Search(len(values), func(i int) bool { return values[i] >= to }))
	}
	return n, nil
}

// firstFrom returns the time of the first occurrence, from the time from on, of the events for which
// wanted returns true. It returns 2⁶⁴−1 if there is none. It loads at most one block of each event.
func (x *replay) firstFrom(from uint64, wanted func(e int) bool) (first uint64, err error) {
	first = math.MaxUint64
	var values []uint64
	for e := range x.times {
		v := &x.t.Events[e].Timestamps
		block, _ := v.blocksBefore(from)
		if block == len(v.Blocks) || v.Blocks[block].First >= first || !wanted(e) {
			continue
		}
		if v.Blocks[block].First >= from {
			first = v.Blocks[block].First
			continue
		}
		if values, err = x.r.read(values[:0], x.t.times, v, &v.Blocks[block]); err != nil {
			return 0, err
		}
		if i := sort.Search(len(values), func(i int) bool { return values[i] >= from }); i < len(values) {
			first = min(first, values[i])
		}
	}
	return first, nil
}

// ascending reports whether the first and last times of the blocks of each event never decrease.
func (t *Thread) ascending() bool {
	for e := range t.Events {
		last := uint64(0)
		for _, b := range t.Events[e].Timestamps.Blocks {
			if b.First < last || b.Last < b.First {
				return false
			}
			last = b.Last
		}
	}
	return true
}

// orderByTime makes next deliver all events in the order of time, without the grammar. It serves
// threads whose grammar lacks events. Among events with the same time, records that end something come
// first, and then the order of the thread's list counts. It returns the first error of loading a block.
func (x *replay) orderByTime() error {
	var first error
	x.heap = &byTime{x: x}
	for e := range x.times {
		if x.t.Events[e].Timestamps.Size == 0 || x.t.Events[e].Record == maxRecord {
			continue
		}
		first = cmp.Or(first, x.fillReadable(e))
		if x.times[e].next == len(x.times[e].values) {
			continue
		}
		x.heap.list = append(x.heap.list, uint32(e))
	}
	heap.Init(x.heap)
	return first
}

// nextByTime does the work of next for events in the order of time. It leaves out events whose times
// cannot be read.
func (x *replay) nextByTime() (first error) {
	h := x.heap
	x.at = x.at[:0]
	for len(h.list) > 0 && len(x.list) < replayRows {
		e := h.list[0]
		t := &x.times[e]
		x.list, x.at = append(x.list, e), append(x.at, t.values[t.next])
		if t.next++; t.next == len(t.values) {
			first = cmp.Or(first, x.fillReadable(int(e)))
		}
		if t.next < len(t.values) {
			heap.Fix(h, 0)
		} else {
			heap.Pop(h)
		}
	}
	return first
}

// byTime is a heap of events, ordered by the next time of each.
type byTime struct {
	x    *replay
	list []uint32
}

func (h *byTime) Len() int { return len(h.list) }

func (h *byTime) Less(i, k int) bool {
	a, b := h.list[i], h.list[k]
	s, t := &h.x.times[a], &h.x.times[b]
	if s.values[s.next] != t.values[t.next] {
		return s.values[s.next] < t.values[t.next]
	}
	_, p := h.x.t.Events[a].Record.opening()
	if _, q := h.x.t.Events[b].Record.opening(); p != q {
		return p
	}
	return a < b
}

func (h *byTime) Swap(i, k int) { h.list[i], h.list[k] = h.list[k], h.list[i] }

func (h *byTime) Push(v any) { h.list = append(h.list, v.(uint32)) }

func (h *byTime) Pop() any {
	v := h.list[len(h.list)-1]
	h.list = h.list[:len(h.list)-1]
	return v
}
