package pallas

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/weft-trace/weft/internal/minheap"
)

// replay delivers all events of a thread, many at a time.
type replay struct {
	t     *Thread
	r     *blockReader
	times []timeIterator // iterators over the times of each event
	list  []uint32       // the next events, as indexes
	at    []uint64       // the times of the next events

	*script     // the grammar to replay; nil if the outline has an error
	where       position
	above       []position // the enclosing sequences
	body        []uint32   // the events of the current loop body, which are to be repeated
	repetitions uint64
	rows        int  // approximate number of events that next returns, at most replayRows
	differs     bool // the head of a block states another first or last time than its values

	byTime   []uint32    // heap of events, ordered by time; nil if the grammar determines their order
	prefetch *prefetcher // loads blocks in a goroutine; nil if replay loads blocks itself
}

// position is a place in a sequence.
type position struct {
	next, from, end uint32 // indexes of the list of all tokens
	repetitions     uint64 // if the sequence is the body of a loop: number of remaining iterations
}

// timeIterator iterates over the times of one event.
type timeIterator struct {
	values []uint64         // values of the current block
	next   int              // index of the next value
	block  int              // index of the next block
	lost   uint64           // number of occurrences in an unreadable block that must still be skipped
	coming chan loadedBlock // delivers the next block, if a goroutine loads the blocks
	broken bool             // a block was unreadable, so the numbers of later occurrences are unknown
}

// replayRows is the approximate number of events that replay delivers at a time.
const replayRows = 4096

func newReplay(t *Thread, g *outline, r *blockReader) *replay {
	rows := int(min(replayRows, max(1, t.Count()))) // a trace can have very many threads with few events
	x := &replay{t: t, r: r, times: make([]timeIterator, len(t.Events)), rows: rows,
		list: make([]uint32, rows+maxListed+copyWidth), script: t.script}
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
func (r *replay) begin() {
	r.where, r.above, r.repetitions = r.enter(r.root, 1), r.above[:0], 0
}

// skip moves past the given number of occurrences of each event. The caller has already moved the iterators of
// the times with seek. skip follows the grammar once. It returns false if the skipped events are not the first
// events of the grammar, because times decrease somewhere.
func (r *replay) skip(before []uint64) (ok bool) {
	r.begin()
	left := uint64(0)
	for _, n := range before {
		left = saturatingAdd(left, n)
	}
	if left == 0 {
		return true
	}
	events, sequences := make([]uint64, len(before)), make([]uint64, len(r.sequences)) // numbers of skipped occurrences
	for left > 0 {
		w := &r.where
		if w.next == w.end {
			// Sequences are skipped as a whole, so no loop ends here.
			if len(r.above) == 0 {
				return false
			}
			*w, r.above = r.above[len(r.above)-1], r.above[:len(r.above)-1]
			continue
		}
		k := r.lists.tokens[w.next]
		w.next++
		l := scriptLoop{k.ID(), notListed, 1}
		switch k.Type() {
		case EventToken:
			events[k.ID()]++
			left--
			continue
		case listedEvents:
			list := r.eventList(k.ID())
			n := min(left, uint64(len(list)))
			for _, e := range list[:n] {
				events[e]++
			}
			if left -= n; n < uint64(len(list)) {
				r.body, r.repetitions = list[n:], 1
			}
			continue
		case LoopToken:
			l = r.loops[k.ID()]
		}
		size := r.sequences[l.sequence].size
		if size == 0 {
			continue
		}
		n := min(left/size, l.times)
		left -= n * size
		sequences[l.sequence] += n
		if l.times -= n; l.times > 0 {
			r.above = append(r.above, *w)
			*w = r.enter(l.sequence, l.times)
		}
	}
	r.countEvents(sequences, events)
	return slices.Equal(events, before)
}

// next returns the next events in the order of the grammar, and their times. At the end, it returns no events.
// The slices are valid until the next call. next may return an error together with events.
func (r *replay) next() (events []uint32, times []uint64, err error) {
	if r.byTime != nil {
		r.list = r.list[:0]
		err := r.nextByTime()
		return r.list, r.at[:len(r.list)], err
	}
	list, n := r.list[:cap(r.list)], 0
	if r.repetitions > 0 {
		n = r.repeat(list, 0)
	}
	w, tokens, from := r.where, r.lists.tokens, r.lists.from
	for n < r.rows {
		if w.next == w.end {
			if w.repetitions > 0 {
				w.repetitions--
				w.next = w.from
				continue
			}
			top := len(r.above) - 1
			if top < 0 {
				break
			}
			w = r.above[top]
			r.above = r.above[:top]
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
			events := r.events[id+1:]
			size := int(r.events[id])
			if size > copyWidth {
				n += copy(list[n:], events[:size])
				continue
			}
			*(*[copyWidth]uint32)(list[n:]) = *(*[copyWidth]uint32)(events)
			n += size
		case SequenceToken:
			r.above = append(r.above, w)
			w = position{from[id], from[id], from[id+1], 0}
		default:
			l := r.loops[id]
			if l.listed != notListed {
				if r.body, r.repetitions = r.eventList(l.listed), l.times; len(r.body) == 0 {
					r.repetitions = 0
				}
				n = r.repeat(list, n)
			} else if l.times > 0 {
				r.above = append(r.above, w)
				w = r.enter(l.sequence, l.times)
			}
		}
	}
	r.where, r.list = w, list[:n]
	return r.gather()
}

// repeat appends the events of the body to list, which holds n events, as often as there is room. It
// returns the new number of events.
func (r *replay) repeat(list []uint32, n int) int {
	size := len(r.body)
	if r.repetitions == 0 {
		return n
	}
	k := int(min(r.repetitions, uint64((r.rows-n+size-1)/size)))
	r.repetitions -= uint64(k)
	from, end := n, n+k*size
	n += copy(list[n:], r.body)
	for n < end { // each step doubles the number of events
		n += copy(list[n:end], list[from:n])
	}
	return n
}

// gather looks up the times of the events in list.
func (r *replay) gather() ([]uint32, []uint64, error) {
	if cap(r.at) < len(r.list) {
		r.at = make([]uint64, len(r.list)+maxListed)
	}
	at := r.at[:len(r.list)]
	for i, e := range r.list {
		t := &r.times[e]
		if t.next == len(t.values) {
			return r.gatherLoading(i, at)
		}
		at[i] = t.values[t.next]
		t.next++
	}
	return r.list, at, nil
}

// gatherLoading continues gather at index i of list, which needs a new block. It leaves out events whose times
// cannot be read.
func (r *replay) gatherLoading(i int, at []uint64) (_ []uint32, _ []uint64, first error) {
	n := i
	for _, e := range r.list[i:] {
		t := &r.times[e]
		for t.next == len(t.values) && t.lost == 0 {
			if err := r.fill(int(e)); err != nil {
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
		r.list[n], at[n] = e, t.values[t.next]
		t.next++
		n++
	}
	return r.list[:n], at[:n], first
}

// fill loads the next block of an event's times that is not empty. After an error, the next call
// continues with the block after the unreadable one.
func (r *replay) fill(e int) error {
	t, v := &r.times[e], &r.t.Events[e].Timestamps
	for t.next == len(t.values) {
		if t.block == len(v.Blocks) {
			return &RangeError{v.Size, v.Size}
		}
		err := r.load(t, v)
		t.next = 0
		t.block++
		if err != nil {
			t.values = t.values[:0]
			t.lost, t.broken = v.Blocks[t.block-1].Count, true
			return err
		}
		if n := len(t.values); n > 0 {
			b := &v.Blocks[t.block-1]
			r.differs = r.differs || t.values[0] != b.First || t.values[n-1] != b.Last
		}
	}
	return nil
}

// load reads the next block, and requests the block after it from the prefetcher.
func (r *replay) load(t *timeIterator, v *Vector) (err error) {
	if r.prefetch == nil {
		t.values, err = r.r.read(t.values[:0], r.t.times, v, &v.Blocks[t.block])
		return err
	}
	old := t.values
	if t.coming == nil {
		t.values, err = r.r.read(nil, r.t.times, v, &v.Blocks[t.block])
		t.coming = make(chan loadedBlock, 1)
	} else {
		l := <-t.coming
		t.values, err = l.values, l.err
	}
	if next := t.block + 1; next < len(v.Blocks) {
		if b := &v.Blocks[next]; r.r.isKept(r.t.times, b) {
			values, err := r.r.read(old[:0], r.t.times, v, b)
			t.coming <- loadedBlock{values, err}
		} else {
			r.prefetch.jobs <- prefetchJob{v, b, old[:0], t.coming}
		}
	}
	return err
}

// fillReadable loads the next block of an event's times that can be read, if there is one. It returns
// the first error.
func (r *replay) fillReadable(e int) (first error) {
	t := &r.times[e]
	for t.next == len(t.values) && t.block < len(r.t.Events[e].Timestamps.Blocks) {
		first = cmp.Or(first, r.fill(e))
	}
	return first
}

// seek moves each event to its first time at or after from. It returns the number of earlier occurrences of
// each event. It loads at most one block of each event.
func (r *replay) seek(from uint64) (before []uint64, err error) {
	before = make([]uint64, len(r.times))
	for e := range r.times {
		v := &r.t.Events[e].Timestamps
		t := &r.times[e]
		if t.block, before[e] = v.blocksBefore(from); t.block == len(v.Blocks) || v.Blocks[t.block].First >= from {
			continue
		}
		if err := r.fill(e); err != nil {
			return nil, err
		}
		t.next = sort.Search(len(t.values), func(i int) bool { return t.values[i] >= from })
		before[e] += uint64(t.next)
	}
	return before, nil
}

// blocksBefore returns the index of the first block that contains times at or after to, and the number of
// times in the blocks before it.
func (v *Vector) blocksBefore(to uint64) (block int, before uint64) {
	block = sort.Search(len(v.Blocks), func(i int) bool { return v.Blocks[i].Last >= to })
	for i := range block {
		before = saturatingAdd(before, v.Blocks[i].Count)
	}
	return block, before
}

// countBefore returns the number of events before a time. It loads at most one block of each event.
func (r *replay) countBefore(to uint64) (n uint64, err error) {
	var values []uint64
	for e := range r.times {
		v := &r.t.Events[e].Timestamps
		block, before := v.blocksBefore(to)
		n = saturatingAdd(n, before)
		if block == len(v.Blocks) || v.Blocks[block].First >= to {
			continue
		}
		if values, err = r.r.read(values[:0], r.t.times, v, &v.Blocks[block]); err != nil {
			return 0, err
		}
		n += uint64(sort.Search(len(values), func(i int) bool { return values[i] >= to }))
	}
	return n, nil
}

// firstFrom returns the earliest time at or after from of the events for which wanted returns true. It returns
// 2⁶⁴−1 if there is no such time. It loads at most one block of each event.
func (r *replay) firstFrom(from uint64, wanted func(e int) bool) (first uint64, err error) {
	first = math.MaxUint64
	var values []uint64
	for e := range r.times {
		v := &r.t.Events[e].Timestamps
		block, _ := v.blocksBefore(from)
		if block == len(v.Blocks) || v.Blocks[block].First >= first || !wanted(e) {
			continue
		}
		if v.Blocks[block].First >= from {
			first = v.Blocks[block].First
			continue
		}
		if values, err = r.r.read(values[:0], r.t.times, v, &v.Blocks[block]); err != nil {
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

// orderByTime makes next deliver all events in the order of time, without the grammar. It serves threads whose
// grammar lacks events. Among events with the same time, records that end an operation come first. Otherwise
// the order of the thread's list of events applies. It returns the first error of loading a block.
func (r *replay) orderByTime() error {
	var first error
	r.byTime = []uint32{}
	for e := range r.times {
		if r.t.Events[e].Timestamps.Size == 0 || r.t.Events[e].Record == maxRecord {
			continue
		}
		first = cmp.Or(first, r.fillReadable(e))
		if r.times[e].next == len(r.times[e].values) {
			continue
		}
		r.byTime = append(r.byTime, uint32(e))
	}
	minheap.Init(r.byTime, r.occursBefore)
	return first
}

// nextByTime does the work of next for events in the order of time. It leaves out events whose times
// cannot be read.
func (r *replay) nextByTime() (first error) {
	r.at = r.at[:0]
	less := r.occursBefore
	for len(r.byTime) > 0 && len(r.list) < replayRows {
		e := r.byTime[0]
		t := &r.times[e]
		r.list, r.at = append(r.list, e), append(r.at, t.values[t.next])
		if t.next++; t.next == len(t.values) {
			first = cmp.Or(first, r.fillReadable(int(e)))
		}
		if t.next < len(t.values) {
			minheap.Fix(r.byTime, 0, less)
		} else {
			minheap.Pop(&r.byTime, less)
		}
	}
	return first
}

// occursBefore orders events by the next time of each.
func (r *replay) occursBefore(a, b *uint32) bool {
	s, t := &r.times[*a], &r.times[*b]
	if s.values[s.next] != t.values[t.next] {
		return s.values[s.next] < t.values[t.next]
	}
	_, p := r.t.Events[*a].Record.opening()
	if _, q := r.t.Events[*b].Record.opening(); p != q {
		return p
	}
	return *a < *b
}
