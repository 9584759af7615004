package transform

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/bylocation"
	"github.com/weft-trace/weft/trace"
)

// The attributes that [Cut] adds to events. Their values are texts with times in seconds, on the trace's
// clock.
const (
	// BeganAttribute is added to events that are repeated at the begin of a piece. Its value is the original
	// time of the event.
	BeganAttribute = format.CutPrefix + "began"
	// PostedAttribute is added to completions of sends that were posted before the piece and are not repeated
	// in the piece, because their messages were received before the piece. Its value is the time at which the
	// send was posted.
	PostedAttribute = format.CutPrefix + "posted"
	// EndsAttribute is added to events that end a region, claim or other interval at the end of the piece
	// although it continues. Its value is the time of the actual end, or "later" if this time is unknown.
	EndsAttribute = format.CutPrefix + "ends"
)

// CutAttributes returns the attributes that [Cut] adds to events.
func CutAttributes() []string { return []string{BeganAttribute, PostedAttribute, EndsAttribute} }

// laterText is the value of [EndsAttribute] for an unknown time.
const laterText = "later"

// Cut returns the piece of a trace in a window. The piece is a complete trace:
//
//   - Regions, claims, calling contexts, thread teams, collective operations, posted receives, held locks
//     and files that are open at the begin of the window begin again at this time, in the same order, with
//     [BeganAttribute].
//   - Messages that are in transit at the begin of the window are sent again at this time. A receive whose
//     send comes later, because clocks differ, is received again. Therefore, matching messages first in,
//     first out gives the same pairs. A send that is completed in the piece, but was received before the
//     piece, is not repeated; its completion has [PostedAttribute].
//   - Collective operations that a location has ended, and another one ends in the piece, begin and end again at
//     this time. Therefore the n-th operations of all members of a communicator belong together in the piece, too.
//     The same applies to teams of threads and their barriers, to the epochs of windows that groups synchronise, and
//     to calls that launch work on devices.
//   - Fragments of signals, gaps, flushes and markers that extend beyond the window are clipped.
//   - Regions, claims, calling contexts and thread teams that are open at the end of the window end at this
//     time, with [EndsAttribute], if their location has later events. If the location has no later events,
//     they stay open, as in the whole trace.
//   - Requests, held locks and collective operations that are open at the end of the window stay open, because
//     only their ends state what they were. Messages in transit have no receive. If no event of such a location has
//     EndsAttribute at the end of the window, a NoOp has it.
//   - Links are kept if both their ends are in the piece.
//
// The inclusive and exclusive times of consecutive pieces add up to the times of the whole trace. The counts
// of events also add up, without the events that have BeganAttribute.
//
// The piece repeats a message only if its other end is in the window, or in an interval of the same length
// after the window. The piece repeats a request only if an event in these intervals names it.
//
// Prepare reads the trace up to the window. It then reads the window until it has found the other
// ends of the messages in transit and the ends of open requests. If an end is missing, Prepare also reads an
// interval of the same length after the window. If messages are in transit, Prepare reads again from shortly
// before the window. Everything that is open at the begin of the piece stays in memory.
func Cut(d format.Events, w trace.Window) format.Events { return CutAt(d, w, nil) }

// CutAt is like [Cut], for the locations for which wanted returns true. It reads no other
// locations; nil selects all. It repeats only messages in transit between two of these locations.
func CutAt(d format.Events, w trace.Window, wanted func(loc uint32) bool) format.Events {
	return transformed{&cut{sameDefinitions: interleaved(d), window: w, flows: flows{wanted: wanted}}}
}

// cut is a trace after [Cut].
type cut struct {
	sameDefinitions
	window              trace.Window
	flows               flows // messages between selected locations in transit at the begin of the window
	prepared            bool
	began, posted, ends uint32 // indexes of the attributes that the cut adds to events
	// openBegins holds the open regions, claims and operations at the begin of the window, for locations
	// that have later events.
	openBegins bylocation.List[openBegins]
	claims     map[claimStart]bool // claims that are open at the begin of the window
	streams    bool                // the trace has streams of devices
	// running is set for [CutRunning]. sleepers is indexed by location, and holds the threads that sleep outside of
	// all regions.
	running  bool
	sleepers []bool
	// entered and asleep are the indexes of EnteredAttribute and AsleepAttribute, or trace.NoRef.
	entered, asleep uint32
	// toLastTick selects the end time of calls and operations that are open at the end of the window: the last
	// tick of the window if it is set, and otherwise the tick after it.
	toLastTick bool
}

// end returns the time at which calls and operations that are open at the end of the window end in the piece.
func (c *cut) end() int64 {
	if c.toLastTick && c.window.From < c.window.To {
		return c.window.To - 1
	}
	return c.window.To
}

// claimStart identifies a claim by its id and its begin time in ticks.
type claimStart struct{ id, time int64 }

// openBegins holds the rows that are repeated at a location: the begins of all visits, claims and other
// operations that are open at the begin of the window.
type openBegins struct {
	state
	activity
	messages []openRow // ends of messages that are in transit, or that are received before they are sent
	spans    []openRow // rows with an end time that extend into the window
	// operations holds the collective operations that have ended, while other members end them in the window.
	operations []endedOperation
	barriers   barriers
	oneSided
	deviceWork
	implicitTasks
}

// empty reports whether there are no rows to repeat.
func (b *openBegins) empty() bool {
	return len(b.regions)+b.rest.Len()+len(b.messages)+len(b.spans)+len(b.operations)+len(b.synchronised) == 0 &&
		b.transfer.kind == trace.NoKind && !b.runs
}

// Prepare finds everything that is open at the begin of the piece.
func (c *cut) Prepare(ctx context.Context) error {
	if c.prepared {
		return nil
	}
	if err := c.inner.Prepare(ctx); err != nil {
		return err
	}
	d := c.inner.Defs()
	c.began = attribute(d, BeganAttribute,
		"time in seconds at which the event happened; it was before the begin of the cut piece")
	c.ends = attribute(d, EndsAttribute,
		"time in seconds of the actual end, which is after the cut piece; later stands for an unknown time")
	c.posted = attribute(d, PostedAttribute,
		"time in seconds at which the completed send was posted; it was before the begin of the cut piece")
	if c.entered, c.asleep = trace.NoRef, trace.NoRef; c.running {
		c.entered = attribute(d, EnteredAttribute, "the thread has entered the parallel region before the cut piece")
		c.asleep = attribute(d, AsleepAttribute, "the thread sleeps at the begin of the cut piece")
	}
	c.streams = hasStreams(d)
	if c.window.From > math.MinInt64 && c.window.From < c.window.To {
		if err := c.findOpen(ctx); err != nil {
			return err
		}
	}
	c.prepared = true
	return nil
}

// attribute returns the event attribute with a name, which it defines if necessary.
func attribute(d *trace.Definitions, name, doc string) uint32 {
	for i := range d.Attributes.Len() {
		if a := d.Attributes.At(uint32(i)); a.Name == name && a.Type == trace.String {
			return uint32(i)
		}
	}
	return d.Attributes.Add(trace.AttributeDef{Name: name, Type: trace.String, Doc: doc, Reserved: true})
}

// findOpen finds everything that is open at the begin of the window. It reads the trace up to that time.
func (c *cut) findOpen(ctx context.Context) error {
	from := c.window.From
	all := trace.Selection{From: math.MinInt64, To: from, Repeated: true, Location: c.flows.wanted}
	c.extendToNextEvents(&all)
	var workers []*prefix
	ranks := c.Defs().RankLocations()
	err := c.inner.ScanParallel(ctx, all, func() func(int) format.Sink {
		workers = nil
		return func(int) format.Sink {
			p := &prefix{from: from, first: from, flows: c.flows, byLine: c.Defs().ClaimLines,
				later: map[uint32]bool{}, operations: operations{ranks: ranks}, defs: c.Defs(),
				entered: c.entered, asleep: c.asleep}
			if c.streams {
				p.devices = &deviceRoles{defs: c.Defs()}
			}
			workers = append(workers, p)
			return format.SinkFuncs{OnBatch: p.processBatch}
		}
	})
	if err != nil {
		return err
	}
	flows, operations, first := c.flows, operations{ranks: ranks}, from
	later := map[uint32]bool{}
	for _, p := range workers {
		for loc, l := range p.openBegins {
			if l != nil {
				*c.openBegins.At(uint32(loc)) = *l
			}
		}
		maps.Copy(later, p.later)
		flows.add(&p.flows)
		operations.add(&p.operations)
		first = min(first, p.first)
	}
	if err := c.findPending(ctx, &flows, first); err != nil {
		return err
	}
	c.findEpochs()
	c.findDeviceWork()
	c.findBarriers(&operations)
	if err := c.findOperations(ctx, &operations, first); err != nil {
		return err
	}
	c.findRunning()
	var ask []uint32
	for loc, l := range c.openBegins {
		if l == nil || l.empty() {
			c.openBegins[loc] = nil
		} else {
			slices.SortStableFunc(l.messages, func(a, b openRow) int { return int(a.seq - b.seq) })
			ask = append(ask, uint32(loc))
		}
	}
	goesOn, err := c.continuingLocations(ctx, later, from, ask)
	if err != nil {
		return err
	}
	c.claims = map[claimStart]bool{}
	for _, loc := range ask {
		l := c.openBegins[loc]
		if !goesOn[loc] {
			// If a location has no later events, its open intervals end at its last event.
			l.state, l.transfer, l.runs = state{}, openRow{}, false
			if l.empty() {
				c.openBegins[loc] = nil
			}
			continue
		}
		l.rest.All(func(k pairKey, x []openRow) bool {
			if k.class == pairings[trace.ClaimBegin].class {
				c.claims[claimStart{int64(k.op), x[0].time}] = true
			}
			return true
		})
	}
	return nil
}

// findPending finds the sends or receives of the messages that are in transit at the begin of the window and
// whose other ends come later. These are the last sends or receives of their flows. Therefore findPending
// reads windows of growing length before the begin, until it has found all of them.
func (c *cut) findPending(ctx context.Context, flows *flows, first int64) error {
	flows.begin()
	if err := c.findOthers(ctx, flows); err != nil {
		return err
	}
	from := c.window.From
	for length := max((from-first)/256, 1); flows.dropUnmatched(); length *= 16 {
		sel := trace.Selection{From: math.MinInt64, To: from, Location: flows.wanted,
			Kind: func(k trace.Kind) bool { return k.IsSend() || k.IsRecv() }}
		if length > 0 && length < from-first {
			sel.From = from - length
		}
		err := eachRow(ctx, c.inner, sel, format.PerLocation, func(x *trace.Cursor) bool {
			flows.keep(x)
			return true
		})
		if err != nil {
			return err
		}
		if sel.From == math.MinInt64 || flows.complete() {
			break
		}
	}
	flows.each(func(loc uint32, o openRow) {
		l := c.openBegins.At(loc)
		l.messages = append(l.messages, o)
	})
	return nil
}

// prefix collects everything that is open at the begin of a piece, for the locations that one worker reads.
type prefix struct {
	from       int64
	first      int64 // time of the first event, in ticks
	byLine     bool  // the value of trace.Definitions.ClaimLines
	openBegins bylocation.List[openBegins]
	later      map[uint32]bool // locations with an event at or after the begin of the piece
	flows      flows
	operations operations
	defs       *trace.Definitions
	devices    *deviceRoles // nil if there are no streams of devices
	// entered and asleep are the indexes of EnteredAttribute and AsleepAttribute, or trace.NoRef.
	entered, asleep uint32
}

// processBatch processes rows before the piece.
func (p *prefix) processBatch(b *trace.Batch) error {
	p.first = min(p.first, b.Time[0])
	var l *openBegins
	last := trace.NoRef
	x := b.Cursor()
	for x.Next() {
		if x.Time() >= p.from {
			if x.Kind().IsEvent() {
				p.later[x.Location()] = true
			}
			continue
		}
		if loc := x.Location(); l == nil || loc != last {
			l, last = p.openBegins.At(loc), loc
			l.byLine = p.byLine
		}
		k := x.Kind()
		l.note(p.defs, &x, p.entered, p.asleep)
		if p.devices != nil && (k == trace.Enter || k == trace.Leave) {
			p.devices.update(l, &x)
		}
		l.update(&x)
		switch {
		case k == trace.Enter:
			if l.resumed.kind != trace.NoKind {
				l.begin(p.defs, &l.state)
			}
		case k == trace.TaskSwitch:
			l.switchTask(&x)
		case k == trace.Leave || k == trace.ThreadTeamBegin || k == trace.ThreadTeamEnd:
			l.barriers.update(p.defs, &x)
			if k == trace.ThreadTeamEnd {
				p.operations.count(&x)
			}
			if k == trace.Leave && l.callHasRows() {
				l.leaveCall(&x)
			}
		case k.IsSend() || k.IsRecv():
			p.flows.count(&x)
		case isOneSided(k):
			l.updateOneSided(p.defs, &x)
		case isOperation(k):
			p.operations.count(&x)
		default:
			if end, ok := endOf(&x); ok && goesBeyond(k, end, p.from) {
				l.keepSpan(&x)
			}
		}
	}
	return nil
}

// begin begins a scan, which reads the events of the piece at the selected locations.
func (c *cut) begin(sel trace.Selection, order format.Order, sink format.Sink) (stage, trace.Selection, error) {
	s := c.stage(&cutProgress{})
	s.gather.sink, s.ordered = sink, order == format.GlobalOrder
	if s.ordered {
		for loc := range c.openBegins {
			if err := s.reopen(uint32(loc)); err != nil {
				return nil, sel, err
			}
		}
	}
	return s, c.originalSelection(sel), nil
}

// originalSelection returns the selection for the original trace.
func (c *cut) originalSelection(sel trace.Selection) trace.Selection {
	inner := everything(sel)
	inner.From, inner.To = c.window.From, c.window.To
	c.extendToNextEvents(&inner)
	if a, b := inner.Location, c.flows.wanted; a == nil {
		inner.Location = b
	} else if b != nil {
		inner.Location = func(loc uint32) bool { return a(loc) && b(loc) }
	}
	return inner
}

// cutScan is one scan of a piece.
type cutScan struct {
	*cut
	progress *cutProgress
	gather   rowCollector
	ordered  bool
	states   bylocation.List[cutState]
	closed   map[int64]bool // claims that the cut has ended at the end of the piece
	reopens  trace.Batch
	late     []lateSamples
	marks    []mark // rows of the current batch that get PostedAttribute
}

// mark is a row that completes a send that was posted before the piece begins.
type mark struct {
	row   int
	began int64
}

// lateSamples is a range of samples that extends into the piece, and whose first sample inside the piece comes
// after the begin of the piece.
type lateSamples struct {
	loc   uint32
	time  int64
	began int64
	open  openRow
}

// cutState holds the open rows of a location. It is valid only if begun is set.
type cutState struct {
	state
	deviceWork
	begun  bool
	active bool // this stage has delivered an event of the location
}

// at returns the state of a location. At the first call for a location, it delivers the rows that are
// repeated at the begin of the piece.
func (s *cutScan) at(loc uint32) (*cutState, error) {
	x := s.states.At(loc)
	if x.begun {
		return x, nil
	}
	return x, s.reopen(loc)
}

// reopen delivers the rows of a location that are repeated at the begin of the piece.
func (s *cutScan) reopen(loc uint32) error {
	x := s.states.At(loc)
	if x.begun {
		return nil
	}
	x.begun = true
	if !s.progress.begin(loc) {
		return nil // another stage has delivered them
	}
	x.byLine = s.Defs().ClaimLines
	l := s.openBegins.Get(loc)
	if l == nil {
		return nil
	}
	x.state, x.transfer = *l.state.clone(), l.transfer
	clock := s.Defs().Clock
	s.reopens.Reset(loc)
	for _, o := range l.list(s.Defs()) {
		began := o.time
		if !clipBegin(&o, s.window.From, clock) {
			continue
		}
		if o.time > s.window.From {
			s.late = append(s.late, lateSamples{loc, o.time, began, o})
			continue
		}
		o.add(&s.reopens, loc, s.window.From)
		s.reopens.AddAttr(s.began, trace.StringValue(clock.FormatSeconds(began)))
		if s.running && o.kind == trace.ThreadTeamBegin && l.entered {
			s.reopens.AddAttr(s.entered, trace.StringValue(""))
		}
		if s.running && o.kind == trace.Enter && l.asleep && s.sleepers[loc] {
			s.reopens.AddAttr(s.asleep, trace.StringValue(""))
		}
	}
	if x.active = l.runs; l.runs && !slices.ContainsFunc(s.reopens.Kind, trace.Kind.IsEvent) {
		s.reopens.Add(loc, s.window.From, trace.NoOp, trace.NoRef)
	}
	if len(s.reopens.Pos) < s.reopens.Len() {
		s.reopens.Pos = s.reopens.Pos[:0]
	}
	slices.SortStableFunc(s.late, func(a, b lateSamples) int { return cmp.Compare(a.time, b.time) })
	return s.deliverClipped(&s.reopens)
}

// catchUp delivers the late ranges of samples that come before a row at location loc and time t.
func (s *cutScan) catchUp(loc uint32, t int64) error {
	for i := 0; i < len(s.late); {
		x := s.late[i]
		if x.time > t || x.time >= s.window.To || !s.ordered && x.loc != loc {
			i++
			continue
		}
		s.late = slices.Delete(s.late, i, i+1)
		s.reopens.Reset(x.loc)
		x.open.add(&s.reopens, x.loc, x.time)
		s.reopens.AddAttr(s.began, trace.StringValue(s.Defs().Clock.FormatSeconds(x.began)))
		if err := s.deliverClipped(&s.reopens); err != nil {
			return err
		}
	}
	return nil
}

// deliverClipped delivers a batch after clipping the rows that extend over the end of the piece.
func (s *cutScan) deliverClipped(b *trace.Batch) error {
	marks := s.marks
	s.marks = s.marks[:0]
	over := len(marks) > 0
	x := b.Cursor()
	for x.Next() && !over {
		end, ok := endOf(&x)
		over = ok && s.isOver(&x, end)
	}
	if !over {
		if err := s.gather.flush(); err != nil {
			return err
		}
		if b.Len() == 0 {
			return nil
		}
		return s.gather.sink.Batch(b)
	}
	clock := s.Defs().Clock
	x = b.Cursor()
	for x.Next() {
		if err := s.gather.addRow(&x, b); err != nil {
			return err
		}
		if len(marks) > 0 && marks[0].row == x.Row {
			s.gather.out.AddAttr(s.posted, trace.StringValue(clock.FormatSeconds(marks[0].began)))
			marks = marks[1:]
		}
		end, ok := endOf(&x)
		if !ok || !s.isOver(&x, end) {
			continue
		}
		o := &s.gather.out
		ops := o.Op[uint32(len(o.Op))-uint32(len(x.Ops())):]
		switch x.Kind() {
		case trace.Marker:
			ops[0] = uint64(s.cut.end() - x.Time())
		case trace.SampleRange:
			n, last, _ := samplesBefore(x.Time(), end, len(ops)-1, s.window.To)
			ops[0] = uint64(last)
			o.Op = o.Op[:len(o.Op)-len(ops)+1+n]
			o.OpEnd[len(o.OpEnd)-1] = uint32(len(o.Op))
		default:
			ops[0] = uint64(s.cut.end())
		}
		o.AddAttr(s.ends, trace.StringValue(clock.FormatSeconds(end)))
	}
	return s.gather.flush()
}

// processBatch delivers the rows in the window, and keeps track of the intervals that they open.
func (s *cutScan) processBatch(b *trace.Batch, out format.Sink) error {
	s.gather.sink = out
	if !slices.ContainsFunc(b.Time, func(t int64) bool { return !s.contains(t) }) {
		return s.deliverInside(b)
	}
	c := rowCollector{sink: format.SinkFuncs{OnBatch: s.deliverInside}}
	x := b.Cursor()
	for x.Next() {
		if x.Time() >= s.window.To && x.Kind().IsEvent() {
			s.progress.foundLater(x.Location())
		}
		if s.contains(x.Time()) {
			if err := c.addRow(&x, b); err != nil {
				return err
			}
		}
	}
	return c.flush()
}

// contains reports whether a time is in the piece.
func (c *cut) contains(t int64) bool {
	return t >= c.window.From && (t < c.window.To || c.window.To == math.MaxInt64)
}

// deliverInside delivers a batch whose rows are all in the piece.
func (s *cutScan) deliverInside(b *trace.Batch) error {
	x := b.Cursor()
	for x.Next() {
		l, err := s.at(x.Location())
		if err != nil {
			return err
		}
		if x.Kind() == trace.SendComplete {
			if t, ok := l.sendOf(&x); ok && t < s.window.From {
				s.marks = append(s.marks, mark{x.Row, t})
			}
		}
		l.update(&x)
		l.active = l.active || x.Kind().IsEvent()
		if s.streams && isOneSided(x.Kind()) && s.Defs().IsStream(x.Location()) {
			l.updateTransfer(&x)
		}
	}
	if len(s.late) == 0 {
		return s.deliverClipped(b)
	}
	s.marks = s.marks[:0] // no trace has both samples and messages
	for x = b.Cursor(); x.Next(); {
		if err := s.catchUp(x.Location(), x.Time()); err != nil {
			return err
		}
		s.reopens.Reset(b.Loc)
		s.reopens.AppendRow(&x)
		if err := s.deliverClipped(&s.reopens); err != nil {
			return err
		}
	}
	return nil
}

// flush delivers the repeated rows of locations that have no events in the piece. It then ends
// everything that is open at the end of the piece.
func (s *cutScan) flush(ctx context.Context, out format.Sink) error {
	s.gather.sink = out
	for loc := range s.openBegins {
		if _, err := s.at(uint32(loc)); err != nil {
			return err
		}
	}
	s.ordered = true // from here on, the late ranges of all locations are delivered in the order of time
	if err := s.catchUp(0, math.MaxInt64); err != nil {
		return err
	}
	s.closed = map[int64]bool{}
	if s.window.To == math.MaxInt64 || s.window.From >= s.window.To {
		return nil
	}
	goesOn, err := s.progress.continuingLocations(ctx)
	if err != nil {
		return err
	}
	var b trace.Batch
	for at := range s.states {
		loc := uint32(at)
		rows := s.openAtEnd(loc)
		staysOpen := s.staysOpen(loc)
		if len(rows) == 0 && !staysOpen && !s.runsAtEnd(loc) || !goesOn[loc] {
			continue
		}
		b.Reset(loc)
		if len(rows) == 0 {
			b.Add(loc, s.cut.end(), trace.NoOp, trace.NoRef)
			if staysOpen {
				b.AddAttr(s.ends, trace.StringValue(laterText))
			}
		}
		for _, o := range slices.Backward(rows) {
			kind, ops := o.closing()
			b.Add(loc, s.cut.end(), kind, o.ref)
			if n := len(s.Defs().Spec(kind).Operands); n > 0 && ops != nil {
				b.AddOps(ops[:min(n, len(ops))]...)
			}
			b.AddAttr(s.ends, trace.StringValue(laterText))
			if o.kind == trace.ClaimBegin && o.row.pos > 0 && len(b.Pos) == b.Len()-1 {
				b.Pos = append(b.Pos, o.row.pos)
			}
			if o.kind == trace.ClaimBegin {
				s.closed[int64(o.row.ops[0])] = true
			}
		}
		if len(b.Pos) < b.Len() {
			b.Pos = b.Pos[:0]
		}
		if err := out.Batch(&b); err != nil {
			return err
		}
	}
	return nil
}

// links returns the links with both ends in the piece.
func (s *cutScan) links(l []trace.Link) []trace.Link {
	var keep []trace.Link
	for _, x := range l {
		if s.end(&x.Src) && s.end(&x.Dst) {
			keep = append(keep, x)
		}
	}
	return keep
}

// end reports whether an end of a link lies in the piece, or is at nothing that the trace has. If e is at a claim that
// extends into the piece, end moves e to the part of the claim that is in the piece.
func (s *cutScan) end(e *trace.End) bool {
	if e.Location == trace.NoRef || s.contains(e.Time) {
		return true
	}
	switch e.Kind {
	case trace.AtClaimStart:
		if s.claims[claimStart{e.ID, e.Time}] {
			e.Time = s.window.From
			return true
		}
	case trace.AtClaimEnd:
		if e.Time >= s.window.To && s.closed[e.ID] {
			e.Time = s.cut.end()
			return true
		}
	}
	return false
}
