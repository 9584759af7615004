package pallas

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// threadReader converts the events of threads to batches.
type threadReader struct {
	d           *decoder
	r           *blockReader
	sel         trace.Selection
	sink        format.Sink
	checksOrder bool // look for decreasing times before delivering events
	prefetch    bool // load blocks in a goroutine
	// turn waits until this thread may add definitions. described signals that the thread has added its
	// definitions. Threads add definitions in a fixed order, so that ids do not depend on the order in which
	// threads are read. Both are nil if there is a single reader.
	turn, described func()

	t           *Thread
	whole       *Thread // the same thread with the blocks of its sequences, if the thread is to be checked
	check       *scanCheck
	loc         uint32
	info        []eventInfo
	rowOf       []eventRow
	more        bool           // at least one event has operands or attributes
	packed      []byte         // room for the packed row of an event
	lists       []listIterator // attribute lists of each event; nil if the thread has no attributes
	x           *replay
	sorted      *sortedThread // the sorted events, used in place of x if the thread must be sorted
	occurrences []int64       // occurrence numbers of the current events, if the thread is sorted
	ascending   bool
	seen, until uint64 // numbers of events before the time to: read so far, and in total (2⁶⁴−1 if unknown)
	ended       bool
	from, to    uint64 // the wanted times, from ≤ time < to
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
func (tr *threadReader) scan(ctx context.Context, id threadID) error {
	t, err := tr.open(ctx, id)
	if t == nil || err != nil {
		return err
	}
	defer tr.drop()
	c := tr.d.checker.Load()
	if c != nil && tr.whole != nil && tr.sorted == nil {
		tr.check = c.newScanCheck(tr.whole, tr.r)
	}
	for {
		b, err := tr.Next(ctx)
		if err != nil {
			return err
		}
		if b == nil {
			if tr.check != nil && tr.check.finish(ctx, tr.x) {
				c.defectFree.Store(id, true)
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return format.End(tr.sink, tr.loc)
		}
		if err := tr.sink.Batch(b); err != nil {
			return err
		}
	}
}

// open loads a thread and moves to the start of the wanted times. It returns nil if no events are wanted.
func (tr *threadReader) open(ctx context.Context, id threadID) (*Thread, error) {
	t, err := tr.load(id)
	if t == nil || err != nil {
		return nil, err
	}
	g := newOutline(t)
	if g.err != nil {
		if err := asDefect(tr.d.opt.At(tr.d.location[id]), "pallas.grammar", g.err); err != nil {
			return nil, err
		}
	}
	tr.start(id, t)
	if tr.turn != nil {
		tr.turn()
	}
	if err := tr.describe(); err != nil {
		return nil, err
	}
	if tr.described != nil {
		tr.described()
	}
	if g.err == nil {
		if err := tr.reportUnsound(g); err != nil {
			return nil, err
		}
	}
	tr.ascending = g.countsMatch() && t.ascending()
	// Keep blocks that will be read twice: first to check the times or to find the wanted times, and then to
	// deliver the events.
	tr.r.keeping = tr.checksOrder || tr.sel.From > math.MinInt64 || tr.sel.To < math.MaxInt64 ||
		tr.sel.OneEventFrom != 0 || tr.sel.Location != nil
	defer func() { tr.r.keeping = false }()
	if tr.checksOrder {
		tr.begin(g) // the delivery of the events reports block errors again
		at, back, err := tr.goesBack(ctx)
		if back != "" && err == nil {
			if err := tr.options().Defect(&trace.Defect{Rule: "pallas.time-order", Severity: trace.Warning,
				Position: at, Found: back,
				Expected: "times that do not decrease; weft sorts the events of the thread"}); err != nil {
				return nil, err
			}
			return t, tr.sort(ctx)
		}
		if err != nil {
			return nil, err
		}
	}
	return t, asDefect(tr.options(), "pallas.damaged", tr.begin(g))
}

// load loads a thread without the blocks of its sequences. If the whole thread will be read and a checker
// needs it, load also loads the thread with these blocks.
func (tr *threadReader) load(id threadID) (*Thread, error) {
	tr.whole = nil
	if tr.d.checker.Load() == nil || tr.checksOrder || tr.sel.From > math.MinInt64 || tr.sel.To < math.MaxInt64 ||
		tr.sel.OneEventFrom != 0 {
		return tr.d.grammar(id, tr.sel.Repeated)
	}
	quiet := *tr.d.opt
	quiet.Report, quiet.Strict = format.NewReport(), true
	t, err := tr.d.withOptions(&quiet).thread(id, wholeThread)
	if t == nil || err != nil || !t.whole {
		return tr.d.grammar(id, tr.sel.Repeated) // grammar reports the defect
	}
	tr.whole = t
	return t.withoutSequences(), nil
}

// start prepares to read the wanted times of a thread.
func (tr *threadReader) start(id threadID, t *Thread) {
	tr.t, tr.loc, tr.last, tr.ended, tr.sorted = t, tr.d.location[id], 0, false, nil
	tr.error, tr.high = t.codecError(), 0
	tr.from, tr.to = 0, math.MaxUint64
	// If the file cannot express a limit, the limit lies before or after all times of the file.
	if from, ok := tr.d.ticks.file(tr.sel.From); ok {
		tr.from = from
	}
	if to, ok := tr.d.ticks.file(tr.sel.To); ok {
		tr.to = to
	} else if tr.sel.To <= 0 {
		tr.to = 0
	}
}

// begin moves to the first of the wanted times, or to the start. It returns an error for blocks that cannot be
// read. Reading then continues after these blocks.
func (tr *threadReader) begin(g *outline) error {
	tr.stop()
	tr.x = newReplay(tr.t, g, tr.r)
	tr.startPrefetch()
	tr.seen, tr.until = 0, math.MaxUint64
	if !g.countsMatch() {
		err := tr.x.orderByTime()
		tr.dropLists()
		return err
	}
	tr.x.begin()
	if !tr.ascending || tr.error > 0 {
		return nil
	}
	if tr.to < math.MaxInt64 {
		if n, err := tr.x.countBefore(tr.to); err == nil {
			tr.until = n
		}
	}
	if enough, ok := tr.d.ticks.file(tr.sel.OneEventFrom); ok && tr.sel.OneEventFrom != 0 {
		if at, err := tr.x.firstFrom(enough, tr.isAlwaysActivity); err == nil && at < math.MaxUint64 {
			if n, err := tr.x.countBefore(at + 1); err == nil {
				tr.until = min(tr.until, n)
			}
		}
	}
	if tr.from > 0 {
		before, err := tr.x.seek(tr.from)
		if err != nil || !tr.x.skip(before) {
			// Replay everything: this reports the block that cannot be read, or the times that decrease.
			tr.stop()
			tr.x = newReplay(tr.t, g, tr.r)
			tr.x.begin()
			tr.startPrefetch()
			return nil
		}
		for e, n := range before {
			tr.seen += n
			if tr.lists != nil {
				tr.lists[e].skip(n)
			}
		}
	}
	return nil
}

// isAlwaysActivity reports whether each occurrence of an event is an activity in the model. In traces that
// weft wrote, an attribute may turn an occurrence into an event of any kind.
func (tr *threadReader) isAlwaysActivity(e int) bool {
	return tr.info[e].kind.IsActivity() && (tr.d.restorer == nil || !tr.t.Events[e].HasAttributes())
}

// reachedEnd reports whether all events before the end of the wanted times have been read. times are the times
// that were read last. It counts events instead of comparing times, because an earlier time may follow a later
// time.
func (tr *threadReader) reachedEnd(times []uint64) bool {
	if tr.until == math.MaxUint64 {
		return false
	}
	for _, t := range times {
		if t < tr.to {
			tr.seen++
		}
	}
	return tr.seen >= tr.until
}

// drop releases the memory of the thread before the next thread is loaded.
func (tr *threadReader) drop() {
	tr.stop()
	tr.close()
	tr.r.dropKept()
	tr.r.keeping = false
	tr.t, tr.whole, tr.check, tr.x, tr.lists, tr.sorted = nil, nil, nil, nil, nil, nil
}

// close closes the files of the thread.
func (tr *threadReader) close() {
	tr.t.Close()
	tr.sorted.close()
}

// startPrefetch starts a goroutine that loads blocks, unless the reader keeps blocks or has kept blocks.
func (tr *threadReader) startPrefetch() {
	if tr.prefetch && !(tr.checksOrder && tr.r.keeping) {
		tr.x.prefetch = newPrefetcher(tr.t)
	}
}

// stop ends the goroutine that loads blocks.
func (tr *threadReader) stop() {
	if tr.x != nil {
		tr.x.prefetch.stop()
		tr.x.prefetch = nil
	}
}

// goesBack describes the first time in the wanted part of the thread that is less than one before it. It returns "" if
// no time decreases.
func (tr *threadReader) goesBack(ctx context.Context) (at trace.Position, found string, err error) {
	for last := uint64(0); ; {
		events, times, err := tr.x.next()
		over := tr.reachedEnd(times)
		for i, t := range times {
			if t < last && last-t > tr.error {
				return tr.t.eventPosition(int(events[i])),
					fmt.Sprintf("event %d at %d ns after a time of %d ns", events[i], t, last), nil
			}
			last = max(last, t)
		}
		if ctx.Err() != nil || len(events) == 0 && err == nil || over {
			return at, "", ctx.Err()
		}
	}
}

// options returns the options for reporting defects of the thread.
func (tr *threadReader) options() *format.ReadOptions { return tr.d.opt.At(tr.loc) }

// reportUnsound reports the first event whose number of occurrences in the grammar differs from its number of
// times. If there is no such event, it reports the first such sequence.
func (tr *threadReader) reportUnsound(g *outline) error {
	if tr.t.script != nil {
		return nil
	}
	for i, n := range g.events {
		if v := &tr.t.Events[i].Timestamps; n != v.Size {
			occurrences := plural.Of(n, "occurrence")
			if n == math.MaxUint64 { // the count is saturated
				occurrences = "2⁶⁴ or more occurrences"
			}
			return tr.options().Defect(&trace.Defect{Rule: "pallas.lost-events", Severity: trace.Error,
				Position: tr.t.eventPosition(i),
				Found:    fmt.Sprintf("%s of event %d in the grammar", occurrences, i),
				Expected: fmt.Sprintf("%d, the number of its times; weft reads the events in the order of time", v.Size)})
		}
	}
	sizes := tr.t.sizes
	for i, n := range g.sequences {
		s := vectorSizes{i, 1, 1, 1}
		if len(sizes) > 0 && sizes[0].place == i {
			s, sizes = sizes[0], sizes[1:]
		}
		if len(tr.t.lists.at(i)) > 0 && s != (vectorSizes{i, n, n, n}) {
			return tr.options().Defect(&trace.Defect{Rule: "pallas.occurrences", Severity: trace.Warning,
				Position: tr.t.sequencePosition(i),
				Found:    fmt.Sprintf("sequence %d with %d times and %d and %d durations", i, s.times, s.durations, s.exclusive),
				Expected: fmt.Sprintf("%d of each, the number of its occurrences", n)})
		}
	}
	return nil
}

// describe translates the events of the thread to the common model.
func (tr *threadReader) describe() error {
	s := tr.d.scopes[tr.t.Archive.ID]
	tr.info, tr.lists = slices.Grow(tr.info[:0], len(tr.t.Events))[:len(tr.t.Events)], nil
	tr.rowOf, tr.more = tr.rowOf[:0], false
	for i := range tr.t.Events {
		e := &tr.t.Events[i]
		in, err := tr.d.event(s, tr.t, i)
		if err != nil {
			return err
		}
		in.more = len(in.ops) > 0 || in.payload != nil || in.rank != uint64(NoRef) || in.comm != uint64(NoRef) ||
			e.HasAttributes()
		tr.info[i] = in
		tr.rowOf = append(tr.rowOf, eventRow{in.ref, in.kind})
		tr.more = tr.more || in.more
		if e.HasAttributes() {
			if tr.lists == nil {
				tr.lists = make([]listIterator, len(tr.t.Events))
			}
			if err := e.checkAttributes(); err != nil {
				if err := tr.reportAttributes(uint32(i), err); err != nil {
					return err
				}
			}
			tr.lists[i].rest = e.attributes
			tr.lists[i].advance()
			for _, values := range e.Attributes() {
				if tr.d.restorer != nil {
					break // weft itself adds these attributes
				}
				for _, v := range values {
					tr.d.attr(s, v.Attribute)
				}
			}
		}
	}
	return nil
}

// Next returns the next batch, or nil at the end.
func (tr *threadReader) Next(ctx context.Context) (*trace.Batch, error) {
	for !tr.ended {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		events, times, bad := tr.nextEvents()
		if tr.check != nil {
			tr.check.add(times)
		}
		if bad != nil {
			if err := asDefect(tr.options(), "pallas.damaged", bad); err != nil {
				return nil, err
			}
		}
		tr.ended = tr.ended || len(events) == 0 && bad == nil
		if tr.sorted == nil && tr.reachedEnd(times) {
			tr.ended = true
		}
		tr.b.Reset(tr.loc)
		if err := tr.addRows(events, times); err != nil {
			return nil, err
		}
		if tr.b.Len() > 0 {
			return &tr.b, nil
		}
	}
	return nil, nil
}

// nextEvents returns the next events and their times, in the order of time.
func (tr *threadReader) nextEvents() (events []uint32, times []uint64, err error) {
	if tr.sorted != nil {
		events, times, tr.occurrences, err = tr.sorted.next()
		return events, times, err
	}
	events, times, err = tr.x.next()
	if err != nil {
		tr.dropLists()
	}
	if tr.error > 0 {
		for i, t := range times {
			if t < tr.high && tr.high-t <= tr.error {
				times[i] = tr.high
			}
			tr.high = max(tr.high, t)
		}
	}
	return events, times, err
}

// codecError returns the largest amount by which times may seem to decrease, because a lossy codec has changed
// them.
func (t *Thread) codecError() uint64 {
	switch t.Archive.Trace.Compression {
	case ZFP:
		return 4 // the error of a time is at most 2, so the error of a difference of two times is at most 4
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

// dropLists removes the attributes of events for which occurrences have been lost.
func (tr *threadReader) dropLists() {
	for e := range tr.lists {
		if tr.x.times[e].broken {
			tr.lists[e] = listIterator{}
		}
	}
}

// errTimesGoBack reports decreasing times, because of which the thread must be sorted.
var errTimesGoBack = errors.New("pallas: times go back")

// addRows adds rows for events to the batch.
func (tr *threadReader) addRows(events []uint32, times []uint64) error {
	last := tr.last
	back := false
	for _, t := range times {
		back = back || t < last
		last = t
	}
	tr.last = last
	if back {
		return errTimesGoBack
	}
	if last > math.MaxInt64 {
		n, _ := slices.BinarySearch(times, math.MaxInt64+1)
		if n == len(times) {
			return nil // no event has a time that is too large
		}
		if err := tr.reportLate(events[n], len(times)-n, times[n]); err != nil {
			return err
		}
		events, times = events[:n], times[:n]
	}
	if tr.d.restorer != nil && tr.lists != nil {
		return tr.addCarriedRows(events, times)
	}
	b, n := &tr.b, len(events)
	b.Time, b.Kind, b.Ref = slices.Grow(b.Time, n)[:n], slices.Grow(b.Kind, n)[:n], slices.Grow(b.Ref, n)[:n]
	for i, t := range times {
		b.Time[i] = int64(t)
	}
	rowOf, kinds, refs := tr.rowOf, b.Kind[:len(events)], b.Ref[:len(events)]
	for i, e := range events {
		r := rowOf[e]
		kinds[i], refs[i] = r.kind, r.ref
	}
	if t := tr.d.ticks; t.Scale != 1 || t.Base != 0 {
		for i, v := range times {
			b.Time[i] = t.model(v)
		}
	}
	if !tr.more {
		return nil
	}
	for i, e := range events {
		in := &tr.info[e]
		if !in.more {
			continue
		}
		if len(in.ops) > 0 {
			b.OpRow = append(b.OpRow, uint32(i))
			b.Op = append(b.Op, in.ops...)
			b.OpEnd = append(b.OpEnd, uint32(len(b.Op)))
		}
		if err := tr.addAttributes(i, e, in); err != nil {
			return err
		}
	}
	return nil
}

// reportLate reports n events whose times are too large for the common model. e is the first such event, and first is
// its time.
func (tr *threadReader) reportLate(e uint32, n int, first uint64) error {
	return tr.options().Defect(&trace.Defect{Rule: "pallas.time-range", Severity: trace.Error,
		Position: tr.t.eventPosition(int(e)),
		Found:    fmt.Sprintf("%s from %d ns on", plural.Of(n, "event"), first),
		Expected: "times of less than 2⁶³ ns; weft skips the events"})
}

// addAttributes adds the attributes of an event to a row.
func (tr *threadReader) addAttributes(row int, e uint32, in *eventInfo) error {
	b := &tr.b
	add := func(key uint32, v trace.Value) {
		b.AttrRow, b.AttrKey, b.AttrVal = append(b.AttrRow, uint32(row)), append(b.AttrKey, key), append(b.AttrVal, v)
	}
	if in.payload != nil {
		add(tr.d.attribute(&tr.d.payload, payloadName, trace.Bytes), trace.Value{Type: trace.Bytes, Str: string(in.payload)})
	}
	if in.rank != uint64(NoRef) {
		add(tr.d.attribute(&tr.d.rank, rankName, trace.Uint32), trace.Value{Type: trace.Uint32, Num: in.rank})
	}
	if in.comm != uint64(NoRef) {
		add(tr.d.attribute(&tr.d.comm, commName, trace.Uint32), trace.Value{Type: trace.Uint32, Num: in.comm})
	}
	if tr.lists == nil || !tr.t.Events[e].HasAttributes() {
		return nil
	}
	list, ok := tr.currentList(row, e)
	if !ok {
		return nil
	}
	var err error
	if tr.values, err = list.values(tr.values[:0]); err != nil {
		if err := tr.reportAttributes(e, err); err != nil {
			return err
		}
	}
	s := tr.d.scopes[tr.t.Archive.ID]
	for _, v := range tr.values {
		key, value, size := tr.d.value(s, v)
		if size >= 0 && size != len(v.Bytes) {
			err := fmt.Errorf("%s for a value of attribute %d, whose type has %d", plural.Of(len(v.Bytes), "byte"), v.Attribute,
				size)
			if err := tr.reportAttributes(e, err); err != nil {
				return err
			}
		}
		add(key, value)
	}
	return nil
}

// currentList returns the attribute list of the current occurrence of an event, and counts the
// occurrence.
func (tr *threadReader) currentList(row int, e uint32) (list attributeList, ok bool) {
	l := &tr.lists[e]
	k := l.count
	l.count++
	list, ok = l.list, l.ok && l.list.occurrence == k
	if tr.sorted != nil {
		list, ok = tr.sorted.lists[occurrence{e, tr.occurrences[row]}]
	} else if ok {
		l.advance()
	}
	return list, ok
}

// reportAttributes reports a defect of the attributes of an event.
func (tr *threadReader) reportAttributes(e uint32, err error) error {
	return tr.options().Defect(&trace.Defect{Rule: "pallas.attributes", Severity: trace.Error,
		Position: tr.t.eventPosition(int(e)), Found: err.Error(),
		Expected: "lists of attributes in the order of occurrences, which fit their sizes"})
}
