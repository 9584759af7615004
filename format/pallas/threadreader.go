package pallas

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// threadReader converts the events of threads to batches.
type threadReader struct {
	d        *decoder
	r        *blockReader
	sel      trace.Selection
	sink     format.Sink
	careful  bool // look for times that go back before delivering events
	prefetch bool // load blocks in a goroutine
	// turn waits until this thread may add definitions. described signals that it has added them.
	// Threads add definitions in a fixed order, so that ids do not depend on which thread is read
	// first. Both are nil if there is a single reader.
	turn, described func()

	t           *Thread
	whole       *Thread // the same thread with the blocks of its sequences, if it is to be checked
	loc         uint32
	info        []eventInfo
	rowOf       []eventRow
	more        bool           // some event has operands or attributes
	lists       []listIterator // attribute lists of each event; nil if the thread has no attributes
	x           *replay
	sorted      *sortedThread // used in place of x if the thread must be sorted
	occurrences []int64       // occurrence numbers of the current events, if the thread is sorted
	ascending   bool
	seen, until uint64 // numbers of events before the time to: read so far, and in total (2⁶⁴−1 if unknown)
	ended       bool
	from, to    uint64 // the wanted times, from from on, before to
	last        uint64
	error, high uint64 // the largest error that the codec causes in times, and the greatest time so far
	values      []Value
	b           trace.Batch
}

// eventRow holds the fields of an event that most rows need. They are close together in memory.
type eventRow struct {
	ref  uint32
	kind trace.Kind
}

// listIterator iterates over the attribute lists of the occurrences of one event.
type listIterator struct {
	rest  []byte
	list  attributeList
	ok    bool
	count int64 // number of occurrences read so far
}

func (l *listIterator) advance() { l.list, l.rest, l.ok = nextList(l.rest) }

// skip moves past the first n occurrences.
func (l *listIterator) skip(n uint64) {
	for ; l.ok && l.list.occurrence >= l.count && l.list.occurrence < int64(n); l.advance() {
		l.count = l.list.occurrence + 1
	}
	l.count = int64(n)
}

// scan delivers the events of a thread to the sink.
func (x *threadReader) scan(ctx context.Context, id threadID) error {
	t, err := x.open(ctx, id)
	if t == nil || err != nil {
		return err
	}
	defer x.drop()
	for {
		b, err := x.Next(ctx)
		if err != nil {
			return err
		}
		if b == nil {
			if c := x.d.checker.Load(); c != nil && x.whole != nil {
				if err := c.checkScanned(ctx, id, x.whole, x.r); err != nil {
					return err
				}
			}
			return format.End(x.sink, x.loc)
		}
		if err := x.sink.Batch(b); err != nil {
			return err
		}
	}
}

// open loads a thread and moves to the start of the wanted times. It returns nil if there is nothing to
// read.
func (x *threadReader) open(ctx context.Context, id threadID) (*Thread, error) {
	t, err := x.load(id)
	if t == nil || err != nil {
		return nil, err
	}
	g := newOutline(t)
	if g.err != nil {
		if err := asDefect(x.d.opt.At(x.d.location[id]), "pallas.grammar", g.err); err != nil {
			return nil, err
		}
	}
	x.start(id, t)
	if x.turn != nil {
		x.turn()
	}
	if err := x.describe(); err != nil {
		return nil, err
	}
	if x.described != nil {
		x.described()
	}
	if g.err == nil {
		if err := x.reportUnsound(g); err != nil {
			return nil, err
		}
	}
	x.ascending = g.sound() && t.ascending()
	// Keep blocks that will be read twice: once to check the times or to find the wanted times, and
	// once to deliver the events.
	x.r.keeping = x.careful || x.sel.From > math.MinInt64 || x.sel.To < math.MaxInt64 || x.sel.Enough != 0 ||
		x.sel.Location != nil
	x.r.keeping = x.r.keeping || x.whole != nil
	defer func() { x.r.keeping = x.whole != nil }()
	if x.careful {
		x.begin(g) // the delivery of the events reports block errors again
		back, err := x.goesBack(ctx)
		if back && err == nil {
			if err := x.options().Defect(&trace.Defect{Rule: "pallas.time-order", Severity: trace.Warning,
				Position: trace.Position{File: t.path}, Found: "times that go back",
				Expected: "times that do not; the thread's events are sorted"}); err != nil {
				return nil, err
			}
			return t, x.sort(ctx)
		}
		if err != nil {
			return nil, err
		}
	}
	return t, asDefect(x.options(), "pallas.damaged", x.begin(g))
}

// load loads a thread without the blocks of its sequences. If the whole thread will be read and a
// checker needs it, load also loads it with those blocks.
func (x *threadReader) load(id threadID) (*Thread, error) {
	x.whole = nil
	if x.d.checker.Load() == nil || x.careful || x.sel.From > math.MinInt64 || x.sel.To < math.MaxInt64 ||
		x.sel.Enough != 0 {
		return x.d.grammar(id, x.sel.Again)
	}
	quiet := *x.d.opt
	quiet.Report, quiet.Strict = format.NewReport(), true
	t, err := x.d.withOptions(&quiet).thread(id, wholeThread)
	if t == nil || err != nil || !t.whole {
		return x.d.grammar(id, x.sel.Again) // reports the defect
	}
	x.whole = t
	return t.withoutSequences(), nil
}

// start prepares to read the wanted times of a thread.
func (x *threadReader) start(id threadID, t *Thread) {
	x.t, x.loc, x.last, x.ended, x.sorted = t, x.d.location[id], 0, false, nil
	x.error, x.high = t.codecError(), 0
	x.from, x.to = 0, math.MaxUint64
	// A limit that the times of the file cannot express lies before or after all of them.
	if from, ok := x.d.ticks.file(x.sel.From); ok {
		x.from = from
	}
	if to, ok := x.d.ticks.file(x.sel.To); ok {
		x.to = to
	} else if x.sel.To <= 0 {
		x.to = 0
	}
}

// begin moves to the first of the wanted times, or to the start. It returns an error for blocks that
// cannot be read. Reading then goes on after them.
func (x *threadReader) begin(g *outline) error {
	x.stop()
	x.x = newReplay(x.t, g, x.r)
	x.startPrefetch()
	if !g.sound() {
		err := x.x.orderByTime()
		x.dropLists()
		return err
	}
	x.seen, x.until = 0, math.MaxUint64
	x.x.begin()
	if !x.ascending || x.error > 0 {
		return nil
	}
	if x.to < math.MaxInt64 {
		if n, err := x.x.countBefore(x.to); err == nil {
			x.until = n
		}
	}
	if enough, ok := x.d.ticks.file(x.sel.Enough); ok && x.sel.Enough != 0 {
		if at, err := x.x.firstFrom(enough, x.isAlwaysEvent); err == nil && at < math.MaxUint64 {
			if n, err := x.x.countBefore(at + 1); err == nil {
				x.until = min(x.until, n)
			}
		}
	}
	if x.from > 0 {
		before, err := x.x.seek(x.from)
		if err != nil || !x.x.skip(before) {
			// The delivery then reports the unreadable block, or the times that go back.
			x.stop()
			x.x = newReplay(x.t, g, x.r)
			x.x.begin()
			x.startPrefetch()
			return nil
		}
		for e, n := range before {
			x.seen += n
			if x.lists != nil {
				x.lists[e].skip(n)
			}
		}
	}
	return nil
}

// isAlwaysEvent reports whether each occurrence of an event is an event of the model. In traces that
// weft wrote, an attribute may turn an occurrence into anything else.
func (x *threadReader) isAlwaysEvent(e int) bool {
	return x.info[e].kind.IsEvent() && (x.d.restorer == nil || !x.t.Events[e].HasAttributes())
}

// reachedEnd reports whether all events before the end of the wanted times have been read, given the
// times that were read last. It counts events instead of comparing times, because later times may come
// before earlier ones.
func (x *threadReader) reachedEnd(times []uint64) bool {
	if x.until == math.MaxUint64 {
		return false
	}
	for _, t := range times {
		if t < x.to {
			x.seen++
		}
	}
	return x.seen >= x.until
}

// drop releases the memory of the thread, before the next one is loaded.
func (x *threadReader) drop() {
	x.stop()
	x.t.Close()
	x.r.dropKept()
	x.r.keeping = false
	x.t, x.whole, x.x, x.lists, x.sorted = nil, nil, nil, nil, nil
}

// startPrefetch starts a goroutine that loads blocks, unless the reader keeps blocks or has kept some.
func (x *threadReader) startPrefetch() {
	if x.prefetch && x.whole == nil && !(x.careful && x.r.keeping) {
		x.x.prefetch = newPrefetcher(x.t)
	}
}

// stop ends that goroutine.
func (x *threadReader) stop() {
	if x.x != nil {
		x.x.prefetch.stop()
		x.x.prefetch = nil
	}
}

// goesBack reports whether times go back in the wanted part of the thread.
func (x *threadReader) goesBack(ctx context.Context) (bool, error) {
	for last := uint64(0); ; {
		events, times, err := x.x.next()
		over := x.reachedEnd(times)
		for _, t := range times {
			if t < last && last-t > x.error {
				return true, nil
			}
			last = max(last, t)
		}
		if ctx.Err() != nil || len(events) == 0 && err == nil || over {
			return false, ctx.Err()
		}
	}
}

// optionsions returns the options to report defects of the thread with.
func (x *threadReader) options() *format.ReadOptions { return x.d.opt.At(x.loc) }

// reportUnsound reports the first event, or else the first sequence, whose number of occurrences in the
// grammar differs from its number of times.
func (x *threadReader) reportUnsound(g *outline) error {
	if x.t.script != nil {
		return nil
	}
	for i, n := range g.events {
		if v := &x.t.Events[i].Timestamps; n != v.Size {
			return x.options().Defect(&trace.Defect{Rule: "pallas.lost-events", Severity: trace.Error,
				Position: trace.Position{File: x.t.path},
				Found:    fmt.Sprintf("%d occurrences of event %d in the grammar", n, i),
				Expected: fmt.Sprintf("%d, which is how many times it has; the events are read in the order of time", v.Size)})
		}
	}
	sizes := x.t.sizes
	for i, n := range g.sequences {
		s := vectorSizes{i, 1, 1, 1}
		if len(sizes) > 0 && sizes[0].place == i {
			s, sizes = sizes[0], sizes[1:]
		}
		if len(x.t.lists.at(i)) > 0 && s != (vectorSizes{i, n, n, n}) {
			return x.options().Defect(&trace.Defect{Rule: "pallas.occurrences", Severity: trace.Warning,
				Position: trace.Position{File: x.t.path},
				Found:    fmt.Sprintf("sequence %d with %d times and %d and %d durations", i, s.times, s.durations, s.exclusive),
				Expected: fmt.Sprintf("%d each, which is how often it occurs", n)})
		}
	}
	return nil
}

// describe translates the events of the thread to the common model.
func (x *threadReader) describe() error {
	s := x.d.scopes[x.t.Archive.ID]
	x.info, x.lists = slices.Grow(x.info[:0], len(x.t.Events))[:len(x.t.Events)], nil
	x.rowOf, x.more = x.rowOf[:0], false
	for i := range x.t.Events {
		e := &x.t.Events[i]
		in, err := x.d.event(s, e, x.t)
		if err != nil {
			return err
		}
		in.more = len(in.ops) > 0 || in.payload != nil || in.rank != uint64(NoRef) || e.HasAttributes()
		x.info[i] = in
		x.rowOf = append(x.rowOf, eventRow{in.ref, in.kind})
		x.more = x.more || in.more
		if e.HasAttributes() {
			if x.lists == nil {
				x.lists = make([]listIterator, len(x.t.Events))
			}
			x.lists[i].rest = e.attributes
			x.lists[i].advance()
			for _, values := range e.Attributes() {
				if x.d.restorer != nil {
					break // weft itself adds these attributes
				}
				for _, v := range values {
					x.d.attr(s, v.Attribute)
				}
			}
		}
	}
	return nil
}

// Next returns the next batch, or nil at the end.
func (x *threadReader) Next(ctx context.Context) (*trace.Batch, error) {
	for !x.ended {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		events, times, bad := x.nextEvents()
		if bad != nil {
			if err := asDefect(x.options(), "pallas.damaged", bad); err != nil {
				return nil, err
			}
		}
		x.ended = x.ended || len(events) == 0 && bad == nil
		if x.sorted == nil && x.reachedEnd(times) {
			x.ended = true
		}
		x.b.Reset(x.loc)
		if err := x.addRows(events, times); err != nil {
			return nil, err
		}
		if x.b.Len() > 0 {
			return &x.b, nil
		}
	}
	return nil, nil
}

// nextEvents returns the next events and their times, in the order of time.
func (x *threadReader) nextEvents() (events []uint32, times []uint64, err error) {
	if s := x.sorted; s != nil {
		n := min(replayRows, len(s.events))
		events, times, x.occurrences = s.events[:n], s.times[:n], s.occurrences[:n]
		s.events, s.times, s.occurrences = s.events[n:], s.times[n:], s.occurrences[n:]
		return events, times, nil
	}
	events, times, err = x.x.next()
	if err != nil {
		x.dropLists()
	}
	if x.error > 0 {
		for i, t := range times {
			if t < x.high && x.high-t <= x.error {
				times[i] = x.high
			}
			x.high = max(x.high, t)
		}
	}
	return events, times, err
}

// codecError returns the largest amount by which times may seem to go back, because a lossy codec
// changed them.
func (t *Thread) codecError() uint64 {
	switch t.Archive.Trace.Compression {
	case ZFP:
		return 4 // each of the two times may be wrong by 2
	case Histogram, ZSTDHistogram:
		widest := uint64(0)
		for i := range t.Events {
			for k := range t.Events[i].Timestamps.Blocks {
				if b := &t.Events[i].Timestamps.Blocks[k]; b.Last > b.First {
					widest = max(widest, b.Last-b.First)
				}
			}
		}
		return widest/255 + 1
	}
	return 0
}

// dropLists removes the attributes of events that have lost occurrences.
func (x *threadReader) dropLists() {
	for e := range x.lists {
		if x.x.times[e].broken {
			x.lists[e] = listIterator{}
		}
	}
}

// errTimesGoBack is the error if times go back, so that the thread must be sorted.
var errTimesGoBack = errors.New("pallas: times go back")

// addRows adds rows for events to the batch.
func (x *threadReader) addRows(events []uint32, times []uint64) error {
	last := x.last
	back := false
	for _, t := range times {
		back = back || t < last
		last = t
	}
	x.last = last
	if back {
		return errTimesGoBack
	}
	if last > math.MaxInt64 {
		n, _ := slices.BinarySearch(times, math.MaxInt64+1)
		if n == len(times) {
			return nil // no event has such a time
		}
		if err := x.reportLate(len(times)-n, times[n]); err != nil {
			return err
		}
		events, times = events[:n], times[:n]
	}
	if x.d.restorer != nil && x.lists != nil {
		return x.carriedRows(events, times)
	}
	b, n := &x.b, len(events)
	b.Time, b.Kind, b.Ref = slices.Grow(b.Time, n)[:n], slices.Grow(b.Kind, n)[:n], slices.Grow(b.Ref, n)[:n]
	for i, t := range times {
		b.Time[i] = int64(t)
	}
	rowOf, kinds, refs := x.rowOf, b.Kind[:len(events)], b.Ref[:len(events)]
	for i, e := range events {
		r := rowOf[e]
		kinds[i], refs[i] = r.kind, r.ref
	}
	if t := x.d.ticks; t.Scale != 1 || t.Base != 0 {
		for i, v := range times {
			b.Time[i] = t.model(v)
		}
	}
	if !x.more {
		return nil
	}
	for i, e := range events {
		in := &x.info[e]
		if !in.more {
			continue
		}
		if len(in.ops) > 0 {
			b.OpRow = append(b.OpRow, uint32(i))
			b.Op = append(b.Op, in.ops...)
			b.OpEnd = append(b.OpEnd, uint32(len(b.Op)))
		}
		if err := x.attributes(i, e, in); err != nil {
			return err
		}
	}
	return nil
}

// reportLate reports n events whose times are too large for the common model. first is the first such time.
func (x *threadReader) reportLate(n int, first uint64) error {
	return x.options().Defect(&trace.Defect{Rule: "pallas.time-range", Severity: trace.Error,
		Position: trace.Position{File: x.t.path},
		Found:    fmt.Sprintf("%d events from %d ns on", n, first),
		Expected: "times of less than 2⁶³ ns; they are skipped"})
}

// attributes adds the attributes of an event to a row.
func (x *threadReader) attributes(row int, e uint32, in *eventInfo) error {
	b := &x.b
	add := func(key uint32, v trace.Value) {
		b.AttrRow, b.AttrKey, b.AttrVal = append(b.AttrRow, uint32(row)), append(b.AttrKey, key), append(b.AttrVal, v)
	}
	if in.payload != nil {
		add(x.d.attribute(&x.d.payload, payloadName, trace.Bytes), trace.Value{Type: trace.Bytes, Str: string(in.payload)})
	}
	if in.rank != uint64(NoRef) {
		add(x.d.attribute(&x.d.rank, rankName, trace.Uint32), trace.Value{Type: trace.Uint32, Num: in.rank})
	}
	if x.lists == nil || !x.t.Events[e].HasAttributes() {
		return nil
	}
	list, ok := x.currentList(row, e)
	if !ok {
		return nil
	}
	var err error
	if x.values, err = list.values(x.values[:0]); err != nil {
		if err := x.reportAttributes(err); err != nil {
			return err
		}
	}
	s := x.d.scopes[x.t.Archive.ID]
	for _, v := range x.values {
		key, value := x.d.value(s, v)
		add(key, value)
	}
	return nil
}

// currentList returns the attribute list of the current occurrence of an event, and counts the
// occurrence.
func (x *threadReader) currentList(row int, e uint32) (list attributeList, ok bool) {
	l := &x.lists[e]
	k := l.count
	l.count++
	list, ok = l.list, l.ok && l.list.occurrence == k
	if x.sorted != nil {
		list, ok = x.sorted.lists[occurrence{e, x.occurrences[row]}]
	} else if ok {
		l.advance()
	}
	return list, ok
}

func (x *threadReader) reportAttributes(err error) error {
	return x.options().Defect(&trace.Defect{Rule: "pallas.attributes", Severity: trace.Error,
		Position: trace.Position{File: x.t.path}, Found: err.Error(), Expected: "an attribute list"})
}

// occurrence identifies an occurrence of an event.
type occurrence struct {
	event uint32
	n     int64
}

// sortedThread holds the events of a thread in which times go back, sorted by time. Events with the
// same time keep the order of the grammar. It takes 20 bytes for each event.
type sortedThread struct {
	events      []uint32
	times       []uint64
	occurrences []int64
	lists       map[occurrence]attributeList
}

// sort reads a whole thread and sorts its events.
func (x *threadReader) sort(ctx context.Context) error {
	s := &sortedThread{lists: map[occurrence]attributeList{}}
	seen := make([]int64, len(x.t.Events))
	err := x.t.Replay(ctx, func(events []uint32, times []uint64) error {
		s.events, s.times = append(s.events, events...), append(s.times, times...)
		for _, e := range events {
			s.occurrences = append(s.occurrences, seen[e])
			seen[e]++
		}
		return nil
	})
	sort.Stable(s)
	for e := range x.t.Events {
		if err != nil {
			break // the numbers of later occurrences are unknown
		}
		for l, rest, ok := nextList(x.t.Events[e].attributes); ok; l, rest, ok = nextList(rest) {
			s.lists[occurrence{uint32(e), l.occurrence}] = l
		}
	}
	x.sorted, x.last, x.ended = s, 0, false
	return cmp.Or(ctx.Err(), asDefect(x.options(), "pallas.damaged", err))
}

// Len returns the number of events.
func (s *sortedThread) Len() int { return len(s.events) }

// Less reports whether event i has an earlier time than event k.
func (s *sortedThread) Less(i, k int) bool { return s.times[i] < s.times[k] }

// Swap exchanges two events.
func (s *sortedThread) Swap(i, k int) {
	s.events[i], s.events[k] = s.events[k], s.events[i]
	s.times[i], s.times[k] = s.times[k], s.times[i]
	s.occurrences[i], s.occurrences[k] = s.occurrences[k], s.occurrences[i]
}
