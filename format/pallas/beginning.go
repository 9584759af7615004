package pallas

import (
	"context"
	"math"
	"slices"
	"sort"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// Sizes of the windows of time that [decoder.scanBeginning] reads. If the events are spread evenly, the first
// window has firstWindow events. Each further window has windowGrowth times as many events as the window
// before it, up to lastWindow. The same numbers limit the blocks of times that begin in a window.
const (
	firstWindow  = 32
	windowGrowth = 8
	lastWindow   = 2048
)

// maxShortEvents is the largest number of events of a thread that scanShort reads without the grammar.
const maxShortEvents = 1 << 17

// scanBeginning delivers the first of the selected events, for a caller that usually stops after a few events.
// It reads window after window of time, each longer than the window before. For each thread, it reads only the
// list of events and the blocks that the window needs. rest selects the events that it has not delivered. done
// is set if there are no such events.
func (d *decoder) scanBeginning(ctx context.Context, sel trace.Selection, sink format.Sink) (rest trace.Selection,
	done bool, err error) {
	from := uint64(0)
	if t, ok := d.ticks.file(sel.From); ok {
		from = t
	}
	threads, begins, first, pace := d.threadBeginnings(sel, from)
	defer func() {
		for _, t := range threads {
			t.Close()
		}
	}()
	r := newBlockReader(d.t.Parameters)
	defer r.close()
	r.keeping = true // the next window may need the same blocks
	for n := firstWindow; n <= lastWindow && pace > 0; n *= windowGrowth {
		last := uint64(math.MaxInt64 - 1)
		if length := math.Ceil(float64(n) * pace); length < float64(last-first) {
			last = first + uint64(length)
		}
		if n < len(begins) {
			last = min(last, begins[n])
		}
		to := min(d.ticks.model(last)+1, sel.To)
		if to <= sel.From {
			continue
		}
		part := sel
		part.To, part.Links = to, trace.NoLinks
		if err := d.scanShort(ctx, part, threads, r, sink); err != nil {
			return sel, false, err
		}
		if sel.From = to; sel.From == sel.To {
			return sel, true, nil
		}
	}
	return sel, false, nil
}

// threadBeginnings loads the lists of events of the selected threads. It also returns three results about the
// blocks that contain times at or after from: begins lists the times after from at which such blocks begin, in
// order; first is the earliest time of these blocks, but at least from; and pace is the mean time between their
// events, in nanoseconds. It returns no threads if a thread cannot be read in parts.
func (d *decoder) threadBeginnings(sel trace.Selection, from uint64) (threads map[threadID]*Thread, begins []uint64,
	first uint64, pace float64) {
	count, last := uint64(0), from
	first = math.MaxInt64
	quiet := *d.opt
	quiet.Report, quiet.Strict = format.NewReport(), false
	q := d.withOptions(&quiet) // the complete scan reports defects
	threads = map[threadID]*Thread{}
	for _, id := range d.threads {
		if sel.Location != nil && !sel.Location(d.location[id]) {
			continue
		}
		t, err := q.thread(id, threadEvents)
		if err != nil || t != nil && (!t.whole || !t.ascending() || t.codecError() > 0) ||
			t == nil && len(quiet.Report.Rules()) > 0 {
			return nil, nil, 0, 0
		}
		if t == nil {
			continue
		}
		threads[id] = t
		for i := range t.Events {
			v := &t.Events[i].Timestamps
			block, _ := v.blocksBefore(from)
			for _, b := range v.Blocks[block:] {
				if b.First > from && b.First < math.MaxInt64 {
					begins = append(begins, b.First)
				}
				count, first, last = saturatingAdd(count, b.Count), min(first, b.First), max(last, b.Last)
			}
		}
	}
	slices.Sort(begins)
	if first = max(first, from); count == 0 || first >= last {
		return threads, begins, first, 0
	}
	return threads, begins, first, float64(last-first) / float64(count)
}

// scanShort delivers the events of a short window in the order of time. It reads the grammar of a
// thread only if times alone do not determine the order of its events.
func (d *decoder) scanShort(ctx context.Context, sel trace.Selection, threads map[threadID]*Thread, r *blockReader,
	sink format.Sink) error {
	sel, sink = format.ExactScan(d.defs, sel, sink)
	var list []format.Stream
	var open []*threadReader
	defer func() {
		for _, x := range open {
			x.close()
		}
	}()
	d.opt.Pass()
	for _, id := range d.threads {
		t := threads[id]
		if t == nil {
			continue
		}
		x := &threadReader{d: d, r: r, sel: sel, checksOrder: true}
		ok, err := x.openShort(id, t)
		if err != nil {
			return err
		}
		if !ok {
			whole, err := x.open(ctx, id)
			if err != nil {
				return err
			}
			if whole == nil {
				continue
			}
			open = append(open, x)
			r.keeping = true
		}
		list = append(list, x.Next)
	}
	return format.Merge(ctx, format.Select(d.defs, sel, list), sink)
}

// openShort loads the events in the wanted times, for a thread whose list of events is loaded, but not its
// grammar. It returns false if times alone do not determine the order of these events, or if a block cannot be
// read.
func (tr *threadReader) openShort(id threadID, t *Thread) (ok bool, err error) {
	tr.start(id, t)
	if err := tr.describe(); err != nil {
		return false, err
	}
	s := &sortedThread{lists: map[occurrence]attributeList{}}
	var values []uint64
	for e := range t.Events {
		v := &t.Events[e].Timestamps
		if t.Events[e].Record == maxRecord {
			continue
		}
		if len(s.events) > maxShortEvents {
			return false, nil
		}
		block, before := v.blocksBefore(tr.from)
		first := len(s.events)
		for ; block < len(v.Blocks) && v.Blocks[block].First < tr.to; block++ {
			b := &v.Blocks[block]
			if values, err = tr.r.read(values[:0], t.times, v, b); err != nil || !slices.IsSorted(values) {
				return false, nil
			}
			i := sort.Search(len(values), func(i int) bool { return values[i] >= tr.from })
			for ; i < len(values) && values[i] < tr.to; i++ {
				s.events, s.times = append(s.events, uint32(e)), append(s.times, values[i])
				s.occurrences = append(s.occurrences, int64(before)+int64(i))
			}
			before += b.Count
		}
		if !t.Events[e].HasAttributes() || len(s.events) == first {
			continue
		}
		l := tr.lists[e]
		l.skip(uint64(s.occurrences[first]))
		for last := s.occurrences[len(s.occurrences)-1]; l.ok && l.list.occurrence <= last; l.advance() {
			s.lists[occurrence{uint32(e), l.list.occurrence}] = l.list
		}
	}
	sort.Sort(s)
	for i := 1; i < len(s.times); i++ {
		if s.times[i] == s.times[i-1] {
			return false, nil
		}
	}
	tr.sorted = s
	return true, nil
}
