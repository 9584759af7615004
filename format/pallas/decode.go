package pallas

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/internal/archive"
	"github.com/weft-trace/weft/internal/pipeline"
	"github.com/weft-trace/weft/trace"
)

// decoder reads a trace through the common model. A tick is a nanosecond.
type decoder struct {
	format.EventsAlone
	*model
	opt *format.ReadOptions
}

// Open opens a trace.
func (Format) Open(ctx context.Context, src format.Source, opt *format.ReadOptions) (format.File, error) {
	if err := about.CheckOptions(opt.Values); err != nil {
		return nil, err
	}
	if _, err := fs.Stat(src.FS, path.Dir(src.Name)); err != nil {
		return nil, fmt.Errorf("%s: found a single file, expected a main file in a folder: a Pallas trace has several files", src.Path)
	}
	t, err := Open(src)
	if err != nil {
		return nil, err
	}
	m, err := newModel(t, opt)
	if err != nil {
		return nil, err
	}
	return &decoder{model: m, opt: opt}, ctx.Err()
}

// Defs are the definitions. Stand-ins for undefined regions, and kinds that only Pallas
// has, grow during scans.
func (d *decoder) Defs() *trace.Definitions { return d.defs }

// Close has nothing to free: threads are closed when they have been read.
func (d *decoder) Close() error { return nil }

// fail reports an error of reading as a defect, if it is one of the trace: others are
// returned.
func fail(opt *format.ReadOptions, rule string, err error) error {
	var g *GrammarError
	if errors.As(err, &g) {
		return opt.Defect(&trace.Defect{Rule: rule, Severity: trace.Error, Position: trace.Position{File: g.Path}, Found: "sequence " + g.Sequence.String() + ": " + g.Found, Expected: g.Expected})
	}
	return archive.Fail(opt, err, rule, "pallas.missing-file", "a file of the trace")
}

// thread loads what is wanted of a thread; nil if there is
// none. Nobody else knows it.
func (d *decoder) thread(id threadID, wanted threadPart) (*Thread, error) {
	a, err := d.t.Archive(id.archive)
	if err != nil {
		return nil, err
	}
	t, err := a.loadThread(id.id, wanted)
	if archive.IsMissing(err) {
		if _, e := fs.Stat(d.t.src.FS, strings.TrimSuffix(d.t.dir+threadFolder(id.archive, id.id), "/")); archive.IsMissing(e) {
			return nil, nil // a location without events
		}
	}
	if err != nil {
		err = fail(d.opt, "pallas.damaged", err)
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// Prepare does nothing.
func (d *decoder) Prepare(context.Context) error { return nil }

// with is the decoder with other options.
func (d *decoder) with(opt *format.ReadOptions) *decoder { return &decoder{model: d.model, opt: opt} }

// ScanParallel delivers the events of each thread in the order of its grammar, several threads
// at a time. It begins again, in one goroutine, where times go back or anything is wrong.
func (d *decoder) ScanParallel(ctx context.Context, sel trace.Selection, begin func() func(int) format.Sink) error {
	quiet := *d.opt
	quiet.Report, quiet.Strict = format.NewReport(), false
	err := d.with(&quiet).scan(ctx, sel, begin(), false)
	if errors.Is(err, errBack) || err == nil && len(quiet.Report.Rules()) > 0 {
		return d.Scan(ctx, sel, format.PerLocation, begin()(0))
	}
	return err
}

// Scan delivers thread by thread, or merges the threads, for which it holds a block (8 KB) of
// each event of each thread. It first looks through each one for times that go back: such a
// thread is sorted in memory, for which it needs 20 bytes an event.
func (d *decoder) Scan(ctx context.Context, sel trace.Selection, order format.Order, sink format.Sink) error {
	if order == format.PerLocation {
		return d.scan(ctx, sel, func(int) format.Sink { return sink }, true)
	}
	sel, sink = format.Exactly(d.defs, sel, sink)
	if !sel.NoEvents {
		list, closeAll, err := d.Streams(ctx, sel)
		defer closeAll()
		if err != nil {
			return err
		}
		if err := format.Merge(ctx, format.Select(d.defs, sel, list), sink); err != nil {
			return err
		}
	}
	return d.deliverLinks(sel, sink)
}

func (d *decoder) scan(ctx context.Context, sel trace.Selection, sink func(int) format.Sink, careful bool) error {
	d.opt.Pass()
	if sel.NoEvents {
		return d.deliverLinks(format.Exactly(d.defs, sel, sink(0)))
	}
	workers := 1
	if !careful {
		workers = max(1, min(d.opt.Cores(), len(d.threads)))
	}
	readers := make([]*threadReader, workers)
	asked := sel
	for w := range readers {
		var to format.Sink
		sel, to = format.Exactly(d.defs, asked, sink(w))
		readers[w] = &threadReader{d: d, r: newBlockReader(d.t.Parameters), sel: sel, sink: to, careful: careful, ahead: workers < d.opt.Cores()}
		defer readers[w].r.close()
		defer readers[w].stop()
	}
	type job struct {
		id     threadID
		number int
	}
	next, jobs, done := 0, 0, int64(0)
	turn := pipeline.NewTurn()
	err := pipeline.Run(ctx, workers, func() (job, bool, error) {
		for next < len(d.threads) {
			next++
			if id := d.threads[next-1]; sel.Location == nil || sel.Location(d.location[id]) {
				jobs++
				return job{id, jobs - 1}, true, nil
			}
		}
		return job{}, false, nil
	}, func(w int, j job) (struct{}, error) {
		x := readers[w]
		x.described = sync.OnceFunc(func() { turn.Done(j.number) })
		defer x.described()
		x.turn = func() { turn.Wait(j.number) }
		return struct{}{}, x.scan(ctx, j.id)
	}, func(struct{}) error {
		if done++; d.opt.Progress != nil {
			d.opt.Progress(done, int64(len(d.threads)))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return d.deliverLinks(sel, readers[0].sink)
}

// Streams are the threads.
func (d *decoder) Streams(ctx context.Context, sel trace.Selection) (list []format.Stream, closeAll func(), err error) {
	d.opt.Pass()
	r := newBlockReader(d.t.Parameters)
	var open []*Thread
	closeAll = func() {
		for _, t := range open {
			t.Close()
		}
		r.close()
	}
	for _, id := range d.threads {
		if sel.Location != nil && !sel.Location(d.location[id]) {
			continue
		}
		x := &threadReader{d: d, r: r, sel: sel, careful: true}
		t, err := x.open(ctx, id)
		if err != nil {
			return nil, closeAll, err
		}
		if t != nil {
			open = append(open, t)
			list = append(list, x)
		}
	}
	return list, closeAll, nil
}

// threadReader delivers the events of threads as batches.
type threadReader struct {
	d       *decoder
	r       *blockReader
	sel     trace.Selection
	sink    format.Sink
	careful bool // the order of time is not taken for granted
	ahead   bool // another core loads blocks
	// turn waits until definitions may grow, described tells that they have: their
	// numbers do not depend on which thread is read first. Nil for a single reader.
	turn, described func()

	t           *Thread
	loc         uint32
	info        []eventInfo
	rowOf       []eventRow
	more        bool    // any event has operands or attributes
	lists       []lists // of attributes, by event; nil if the thread has none
	x           *replay
	sorted      *sortedThread // takes its place
	occurrences []int64       // of the events in hand, if sorted
	ascending   bool
	seen, until uint64 // events before the end of the wanted times: so far, and all; 2⁶⁴−1 if nobody knows
	ended       bool
	from, to    uint64 // the wanted times
	last        uint64
	error, high uint64 // of the codec, and the latest time so far
	values      []Value
	b           trace.Batch
}

// eventRow is what most rows need of an event, close together.
type eventRow struct {
	ref  uint32
	kind trace.Kind
}

// eventInfo is what each occurrence of an event is in the common model.
type eventInfo struct {
	kind    trace.Kind
	more    bool // it has operands or attributes
	ref     uint32
	ops     []uint64
	payload []byte // that the format does not define
	rank    uint64 // of a peer that is not known; NoRef where there is none
}

// lists are the attributes of an event's occurrences.
type lists struct {
	rest  []byte
	list  attributeList
	ok    bool
	count int64 // occurrences so far
}

func (l *lists) advance() { l.list, l.rest, l.ok = nextList(l.rest) }

// scan delivers a thread to the sink.
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
			return format.End(x.sink, x.loc)
		}
		if err := x.sink.Batch(b); err != nil {
			return err
		}
	}
}

// open loads a thread and goes to the beginning of the wanted times; nil if there is
// nothing to be read.
func (x *threadReader) open(ctx context.Context, id threadID) (*Thread, error) {
	t, err := x.d.thread(id, leanThread)
	if t == nil || err != nil {
		return nil, err
	}
	g := newOutline(t)
	if g.err != nil {
		if err := fail(x.d.opt.At(x.d.location[id]), "pallas.grammar", g.err); err != nil {
			return nil, err
		}
	}
	x.t, x.loc, x.last, x.ended, x.sorted = t, x.d.location[id], 0, false, nil
	x.error, x.high = t.codecError(), 0
	x.from, x.to = 0, math.MaxUint64
	// Times that the file has not are before or behind all that it has.
	if from, ok := x.d.ticks.file(x.sel.From); ok {
		x.from = from
	}
	if to, ok := x.d.ticks.file(x.sel.To); ok {
		x.to = to
	} else if x.sel.To <= 0 {
		x.to = 0
	}
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
		if err := x.unsound(g); err != nil {
			return nil, err
		}
	}
	x.ascending = g.sound() && t.ascending()
	// Of whole traces nothing is kept: that costs more than to read a file again that is in memory.
	x.r.keeping = x.sel.From > math.MinInt64 || x.sel.To < math.MaxInt64 || x.sel.Location != nil
	defer func() { x.r.keeping = false }()
	if x.careful {
		x.begin(g) // what is wrong with blocks shows again
		back, err := x.goesBack(ctx)
		if back && err == nil {
			if err := x.opt().Defect(&trace.Defect{Rule: "pallas.time-order", Severity: trace.Warning, Position: trace.Position{File: t.path}, Found: "times that go back", Expected: "times that do not; the thread's events are sorted"}); err != nil {
				return nil, err
			}
			return t, x.sort(ctx)
		}
		if err != nil {
			return nil, err
		}
	}
	return t, fail(x.opt(), "pallas.damaged", x.begin(g))
}

// begin goes to the first of the wanted times, or to the beginning. The error is one of
// blocks that cannot be read; reading goes on behind them.
func (x *threadReader) begin(g *outline) error {
	x.stop()
	x.x = newReplay(x.t, g, x.r)
	if x.ahead {
		x.x.ahead = newAhead(x.t)
	}
	if !g.sound() {
		err := x.x.byTimeAlone()
		x.dropLists()
		return err
	}
	x.seen, x.until = 0, math.MaxUint64
	x.x.begin()
	if !x.ascending || x.error > 0 {
		return nil
	}
	if x.to < math.MaxInt64 {
		if n, err := x.x.earlier(x.to); err == nil {
			x.until = n
		}
	}
	if enough, ok := x.d.ticks.file(x.sel.Enough); ok && x.sel.Enough != 0 && !slices.ContainsFunc(x.info, func(e eventInfo) bool { return !e.kind.IsEvent() }) {
		if n, err := x.x.earlier(enough); err == nil {
			x.until = min(x.until, n+1)
		}
	}
	if x.from > 0 && x.lists == nil {
		before, err := x.x.seek(x.from)
		if err != nil || !x.x.skip(before) {
			// Reading meets the block again, and says so, or the times that go back.
			x.stop()
			x.x = newReplay(x.t, g, x.r)
			x.x.begin()
			if x.ahead {
				x.x.ahead = newAhead(x.t)
			}
			return nil
		}
		for _, n := range before {
			x.seen += n
		}
	}
	return nil
}

// over tells whether all events before the end of the wanted times have been read, with
// these. Where times go back, the later ones are not the last.
func (x *threadReader) over(times []uint64) bool {
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

// drop frees the thread: the next one is loaded when this one is gone.
func (x *threadReader) drop() {
	x.stop()
	x.t.Close()
	x.r.forget()
	x.t, x.x, x.lists, x.sorted = nil, nil, nil, nil
}

// stop ends loading blocks.
func (x *threadReader) stop() {
	if x.x != nil {
		x.x.ahead.stop()
		x.x.ahead = nil
	}
}

// goesBack tells whether the wanted times of the thread do.
func (x *threadReader) goesBack(ctx context.Context) (bool, error) {
	for last := uint64(0); ; {
		events, times, err := x.x.next()
		over := x.over(times)
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

// opt are the options for reporting what is wrong with the thread.
func (x *threadReader) opt() *format.ReadOptions { return x.d.opt.At(x.loc) }

// unsound reports the first event, and the first sequence, that occurs in the grammar
// more or less often than it has times.
func (x *threadReader) unsound(g *outline) error {
	if x.t.script != nil {
		return nil
	}
	for i, n := range g.events {
		if v := &x.t.Events[i].Timestamps; n != v.Size {
			return x.opt().Defect(&trace.Defect{Rule: "pallas.lost-events", Severity: trace.Error, Position: trace.Position{File: x.t.path},
				Found: fmt.Sprintf("%d occurrences of event %d in the grammar", n, i), Expected: fmt.Sprintf("%d, which is how many times it has; the events are read in the order of time", v.Size)})
		}
	}
	odd := x.t.sizes
	for i, n := range g.sequences {
		s := vectorSizes{i, 1, 1, 1}
		if len(odd) > 0 && odd[0].place == i {
			s, odd = odd[0], odd[1:]
		}
		if len(x.t.lists.at(i)) > 0 && s != (vectorSizes{i, n, n, n}) {
			return x.opt().Defect(&trace.Defect{Rule: "pallas.occurrences", Severity: trace.Warning, Position: trace.Position{File: x.t.path},
				Found: fmt.Sprintf("sequence %d with %d times and %d and %d durations", i, s.times, s.durations, s.exclusive), Expected: fmt.Sprintf("%d each, which is how often it occurs", n)})
		}
	}
	return nil
}

// describe looks up what the thread's events are in the common model.
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
				x.lists = make([]lists, len(x.t.Events))
			}
			x.lists[i].rest = e.attributes
			x.lists[i].advance()
			for _, values := range e.Attributes() {
				if x.d.restorer != nil {
					break // these are not the trace's
				}
				for _, v := range values {
					x.d.attr(s, v.Attribute)
				}
			}
		}
	}
	return nil
}

// openMP is the threading paradigm, numbered as in OTF2.
const openMP = 3

// recordKinds are the kinds of events that defined records are in the common model, and the
// operands before and after those that the payload has.
var recordKinds = [maxRecord]struct {
	kind          trace.Kind
	before, after []uint64
}{
	Enter: {kind: trace.Enter}, Leave: {kind: trace.Leave}, Generic: {kind: trace.Generic},
	MPISend: {kind: trace.Send}, MPIIsend: {kind: trace.SendBegin}, MPIIsendComplete: {kind: trace.SendComplete},
	MPIRecv: {kind: trace.Recv}, MPIIrecv: {kind: trace.RecvComplete}, MPIIrecvRequest: {kind: trace.RecvBegin},
	MPICollectiveBegin: {kind: trace.CollectiveBegin}, MPICollectiveEnd: {kind: trace.CollectiveEnd},
	OMPFork:         {trace.ThreadFork, nil, []uint64{openMP}},
	OMPJoin:         {trace.ThreadJoin, nil, []uint64{openMP}},
	OMPAcquireLock:  {trace.LockAcquire, nil, []uint64{trace.Undefined, openMP}},
	OMPReleaseLock:  {trace.LockRelease, nil, []uint64{trace.Undefined, openMP}},
	OMPTaskCreate:   {trace.TaskCreate, []uint64{trace.Undefined, trace.Undefined}, nil},
	OMPTaskSwitch:   {trace.TaskSwitch, []uint64{trace.Undefined, trace.Undefined}, nil},
	OMPTaskComplete: {trace.TaskComplete, []uint64{trace.Undefined, trace.Undefined}, nil},
	ThreadFork:      {kind: trace.ThreadFork}, ThreadJoin: {kind: trace.ThreadJoin},
	ThreadTeamBegin: {kind: trace.ThreadTeamBegin}, ThreadTeamEnd: {kind: trace.ThreadTeamEnd},
	ThreadAcquireLock: {kind: trace.LockAcquire}, ThreadReleaseLock: {kind: trace.LockRelease},
	ThreadTaskCreate: {kind: trace.TaskCreate}, ThreadTaskSwitch: {kind: trace.TaskSwitch}, ThreadTaskComplete: {kind: trace.TaskComplete},
	ThreadBegin: {kind: trace.ThreadBegin}, ThreadEnd: {kind: trace.ThreadEnd},
}

// event translates an event.
func (d *decoder) event(s *scope, e *Event, t *Thread) (in eventInfo, err error) {
	in = eventInfo{ref: trace.NoRef, rank: uint64(NoRef)}
	v, ok := e.Record.Values(e.Payload)
	if !ok || e.Record == Invalid {
		in.kind, in.payload = d.kind(e.Record), e.Payload
		d.attribute(&d.payload, payloadName, trace.Bytes)
		return in, nil
	}
	if d.restorer != nil {
		var err error
		if v, err = d.carriedOps(e.Record, v); err != nil {
			if err := d.opt.Defect(&trace.Defect{Rule: "pallas.carried", Severity: trace.Error, Position: trace.Position{File: t.path}, Found: err.Error(), Expected: "what weft wrote; the operand is not known"}); err != nil {
				return in, err
			}
		}
	}
	comm := func(r uint64) uint64 {
		if d.restorer != nil {
			return r
		}
		if i, ok := look(s, comms, Ref(r)); ok {
			return uint64(i)
		}
		return trace.Undefined
	}
	message := func() []uint64 {
		if d.restorer != nil {
			return v
		}
		p := d.peer(s, Ref(v[1]), v[0])
		if p == trace.Undefined {
			in.rank = v[0]
			d.attribute(&d.rank, rankName, trace.Uint32)
		}
		tag := v[2]
		if tag == uint64(NoRef) {
			tag = math.MaxUint64 // any: −1
		}
		return append([]uint64{p, comm(v[1]), tag}, v[3:]...)
	}
	k := &recordKinds[e.Record]
	switch in.kind = k.kind; in.kind {
	case trace.Enter, trace.Leave:
		defined := false
		if in.ref, defined = d.region(s, Ref(v[0])); !defined {
			err = d.opt.Defect(&trace.Defect{Rule: "pallas.undefined", Severity: trace.Warning, Position: trace.Position{File: t.path},
				Found: fmt.Sprintf("an event of region %d, which nothing defines", v[0]), Expected: "a defined one; a stand-in takes its place"})
		}
	case trace.Send, trace.SendBegin, trace.Recv, trace.RecvComplete:
		in.ops = message()
	case trace.CollectiveEnd:
		root := v[2]
		if root == uint64(NoRef) {
			root = trace.Undefined
		}
		in.ops = []uint64{v[0], comm(v[1]), root, v[3], v[4]}
	case trace.Generic:
		if i, ok := look(s, texts, Ref(v[0])); ok {
			in.ref = i
		}
	default:
		in.ops = slices.Concat(k.before, v, k.after)
	}
	return in, err
}

// kindName is a record's name as that of a kind.
func kindName(r Record) string {
	return strings.NewReplacer("_", "-", " ", "-").Replace(strings.ToLower(r.String()))
}

// Next makes the next batch; nil at the end.
func (x *threadReader) Next(ctx context.Context) (*trace.Batch, error) {
	for !x.ended {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		events, times, bad := x.events()
		if bad != nil {
			if err := fail(x.opt(), "pallas.damaged", bad); err != nil {
				return nil, err
			}
		}
		x.ended = x.ended || len(events) == 0 && bad == nil
		if x.sorted == nil && x.over(times) {
			x.ended = true
		}
		x.b.Reset(x.loc)
		if err := x.rows(events, times); err != nil {
			return nil, err
		}
		if x.b.Len() > 0 {
			return &x.b, nil
		}
	}
	return nil, nil
}

// events are the next ones with their times, in the order of time.
func (x *threadReader) events() (events []uint32, times []uint64, err error) {
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

// codecError is by how much times may seem to go back though they did not, because the
// codec changed them.
func (t *Thread) codecError() uint64 {
	switch t.Archive.Trace.Compression {
	case ZFP:
		return 4 // each by 2
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

// dropLists leaves out the attributes of events some occurrences of which are lost.
func (x *threadReader) dropLists() {
	for e := range x.lists {
		if x.x.times[e].broken {
			x.lists[e] = lists{}
		}
	}
}

// errBack is that times go back, so that the thread must be sorted.
var errBack = errors.New("pallas: times go back")

// rows adds the rows of some events.
func (x *threadReader) rows(events []uint32, times []uint64) error {
	last := x.last
	back := false
	for _, t := range times {
		back = back || t < last
		last = t
	}
	x.last = last
	if back {
		return errBack
	}
	if last > math.MaxInt64 {
		n, _ := slices.BinarySearch(times, math.MaxInt64+1)
		if n == len(times) {
			return nil // there are none
		}
		if err := x.late(len(times)-n, times[n]); err != nil {
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

// late reports events that the model has no time for.
func (x *threadReader) late(n int, first uint64) error {
	return x.opt().Defect(&trace.Defect{Rule: "pallas.time-range", Severity: trace.Error, Position: trace.Position{File: x.t.path},
		Found: fmt.Sprintf("%d events from %d ns on", n, first), Expected: "times of less than 2⁶³ ns; they are skipped"})
}

// attributes adds those of a row.
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
	list, ok := x.list(row, e)
	if !ok {
		return nil
	}
	var err error
	if x.values, err = list.values(x.values[:0]); err != nil {
		if err := x.badAttributes(err); err != nil {
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

// list is the attribute list of the occurrence of an event in hand, which is counted.
func (x *threadReader) list(row int, e uint32) (list attributeList, ok bool) {
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

func (x *threadReader) badAttributes(err error) error {
	return x.opt().Defect(&trace.Defect{Rule: "pallas.attributes", Severity: trace.Error, Position: trace.Position{File: x.t.path}, Found: err.Error(), Expected: "an attribute list"})
}

// occurrence is one of an event.
type occurrence struct {
	event uint32
	n     int64
}

// sortedThread is a thread in which times go back, in the order of time; of equal times
// in that of the grammar. It has 20 bytes an event.
type sortedThread struct {
	events      []uint32
	times       []uint64
	occurrences []int64
	lists       map[occurrence]attributeList
}

// sort reads a whole thread.
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
			break // nobody knows which occurrence is which
		}
		for l, rest, ok := nextList(x.t.Events[e].attributes); ok; l, rest, ok = nextList(rest) {
			s.lists[occurrence{uint32(e), l.occurrence}] = l
		}
	}
	x.sorted, x.last, x.ended = s, 0, false
	return cmp.Or(ctx.Err(), fail(x.opt(), "pallas.damaged", err))
}

// Len is the number of events.
func (s *sortedThread) Len() int { return len(s.events) }

// Less compares times.
func (s *sortedThread) Less(i, k int) bool { return s.times[i] < s.times[k] }

// Swap exchanges two events.
func (s *sortedThread) Swap(i, k int) {
	s.events[i], s.events[k] = s.events[k], s.events[i]
	s.times[i], s.times[k] = s.times[k], s.times[i]
	s.occurrences[i], s.occurrences[k] = s.occurrences[k], s.occurrences[i]
}

// value translates an attribute's value.
func (m *model) value(s *scope, v Value) (key uint32, out trace.Value) {
	n := v.Uint()
	i := m.attr(s, v.Attribute)
	m.mu.Lock()
	defer m.mu.Unlock()
	out = trace.Value{Num: n, Type: m.defs.Attributes.At(i).Type}
	ref := func(i uint32, ok bool) {
		if out.Num = uint64(i); !ok {
			out.Num, out.Type = n, trace.Uint32 // nothing has it
		}
	}
	switch size := len(v.Bytes); out.Type {
	case trace.None:
	case trace.Int8:
		out.Num = uint64(int64(int8(n)))
	case trace.Int16:
		out.Num = uint64(int64(int16(n)))
	case trace.Int32:
		out.Num = uint64(int64(int32(n)))
	case trace.Uint8, trace.Uint16, trace.Uint32, trace.Uint64, trace.Int64, trace.Float32, trace.Float64:
	case trace.String:
		text, ok := s.d.Text(Ref(n))
		if out.Str, out.Num = text, 0; !ok {
			out = trace.Value{Num: n, Type: trace.Uint32}
		}
	case trace.LocationRef:
		l, ok := m.anyID[uint32(n)]
		ref(l, ok)
	case trace.RegionRef:
		ref(look(s, regions, Ref(n)))
	case trace.GroupRef:
		ref(look(s, sets, Ref(n)))
	case trace.CommRef:
		ref(look(s, comms, Ref(n)))
	case trace.AttributeRef:
		ref(look(s, attrs, Ref(n)))
	case trace.LocationGroupRef:
		g, ok := m.groups[uint32(n)]
		ref(g, ok)
	default:
		if out.Type = trace.Uint32; size != 4 {
			out = trace.Value{Type: trace.Bytes, Str: string(v.Bytes)}
		}
	}
	return i, out
}
