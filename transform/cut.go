package transform

import (
	"cmp"
	"context"
	"maps"
	"math"
	"math/bits"
	"slices"
	"sort"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// The attributes that [Cut] adds to events. Their values are texts.
const (
	// BeganAttribute is added to events that are repeated at the beginning of a piece. Its value is
	// their original time, in seconds of the trace's own time.
	BeganAttribute = "cut.began"
	// PostedAttribute is added to completions of sends that were posted before the piece and are not
	// repeated in it, because they were received before. Its value is the time at which they were
	// posted.
	PostedAttribute = "cut.posted"
	// EndsAttribute is added to events that end something where the piece ends although it continues.
	// Its value is "later", or the time of its end in seconds, if known.
	EndsAttribute = "cut.ends"
)

// CutAttributes returns the attributes that [Cut] adds to events.
func CutAttributes() []string { return []string{BeganAttribute, PostedAttribute, EndsAttribute} }

// laterText is the value of [EndsAttribute] for an unknown time.
const laterText = "later"

// Cut returns the piece of a trace that lies in a window. The piece is a complete trace:
//
//   - What is open where it begins (regions, claims, calling contexts, thread teams,
//     collective operations, posted receives, held locks, files) begins again there, in
//     the same order, with [BeganAttribute].
//   - Messages that are in transit there are sent again at the border. A receive whose
//     send comes later, as with clocks that differ, is received again. So matching first
//     in, first out remains correct. A send that is completed in the piece but was
//     received before is not repeated; its completion has [PostedAttribute].
//   - What extends over a border (fragments of signals, gaps, flushes, markers) is
//     clipped.
//   - Regions, claims, calling contexts and thread teams that are open where it ends
//     are ended there, with [EndsAttribute], if their location has later events. If it
//     has none, they stay open, as they do in the whole trace.
//   - Links are kept if both their ends are in the piece.
//
// So the inclusive and exclusive times of consecutive pieces add up to those of the whole, and
// their counts do without the events that have BeganAttribute.
//
// A message whose other side does not come, and a request that no later event names, is not repeated: neither in the
// piece, nor in as much time behind it.
//
// Prepare reads the trace up to the window, and the window until it has found the other sides of the messages in
// transit and the ends of open requests; if one is missing, it reads on behind the window for as long as the window is.
// If messages are in transit, it reads again from shortly before the window. It holds what is open where the piece
// begins.
func Cut(d format.Events, w trace.Window) format.Events { return CutAt(d, w, nil) }

// CutAt does for the selected locations what [Cut] does for all. It reads no other locations; nil
// selects all. Of the messages in transit, those between two selected locations are sent again.
func CutAt(d format.Events, w trace.Window, wanted func(loc uint32) bool) format.Events {
	return transformed{&cut{sameDefinitions: sameDefinitions{d}, window: w, flows: flows{wanted: wanted}}}
}

type cut struct {
	sameDefinitions
	window              trace.Window
	flows               flows // the selected ones, empty at first
	prepared            bool
	began, posted, ends uint32 // the attributes that the cut adds
	// border has what is open where the window begins, at locations that have later events.
	border byLocation[border]
	claims map[claimStart]bool // that are open there
}

// claimStart is the begin of a claim.
type claimStart struct{ id, time int64 }

// border is what is open at a location where the window begins.
type border struct {
	state
	messages []open // in transit, or received before they are sent
	spans    []open // extending into the window
}

func (b *border) empty() bool {
	return len(b.regions)+len(b.rest)+len(b.messages)+len(b.spans) == 0
}

// list returns the rows to repeat, in the order of their begins.
func (b *border) list() []open {
	return slices.Concat(b.spans, b.state.list(), b.messages)
}

// Prepare determines what is open where the piece begins.
func (c *cut) Prepare(ctx context.Context) error {
	if c.prepared {
		return nil
	}
	if err := c.inner.Prepare(ctx); err != nil {
		return err
	}
	d := c.inner.Defs()
	c.began = attribute(d, BeganAttribute, "when this began, before the piece that was cut out, in seconds")
	c.posted = attribute(d, PostedAttribute,
		"when the send that this completes was posted, before the piece that was cut out, in seconds")
	c.ends = attribute(d, EndsAttribute,
		"this goes on behind the piece that was cut out: when it ends, in seconds, or later")
	if c.window.From > math.MinInt64 && c.window.From < c.window.To {
		if err := c.before(ctx); err != nil {
			return err
		}
	}
	c.prepared = true
	return nil
}

// attribute finds or defines an attribute of events.
func attribute(d *trace.Definitions, name, doc string) uint32 {
	for i := range d.Attributes.Len() {
		if a := d.Attributes.At(uint32(i)); a.Name == name && a.Type == trace.String {
			return uint32(i)
		}
	}
	return d.Attributes.Add(trace.AttributeDef{Name: name, Type: trace.String, Doc: doc, Reserved: true})
}

// before reads the trace up to the window.
func (c *cut) before(ctx context.Context) error {
	from := c.window.From
	all := trace.Selection{From: math.MinInt64, To: from, Again: true, Location: c.flows.wanted}
	c.readOn(&all)
	var workers []*prefix
	err := c.inner.ScanParallel(ctx, all, func() func(int) format.Sink {
		workers = nil
		return func(int) format.Sink {
			p := &prefix{from: from, first: from, flows: c.flows, byLine: c.Defs().ClaimLines,
				later: map[uint32]bool{}}
			workers = append(workers, p)
			return format.SinkFuncs{OnBatch: p.batch}
		}
	})
	if err != nil {
		return err
	}
	flows, first := c.flows, from
	later := map[uint32]bool{}
	for _, p := range workers {
		for loc, l := range p.border {
			if l != nil {
				*c.border.at(uint32(loc)) = *l
			}
		}
		maps.Copy(later, p.later)
		flows.add(&p.flows)
		first = min(first, p.first)
	}
	if err := c.findPending(ctx, &flows, first); err != nil {
		return err
	}
	var ask []uint32
	for loc, l := range c.border {
		if l == nil || l.empty() {
			c.border[loc] = nil
		} else {
			slices.SortStableFunc(l.messages, func(a, b open) int { return int(a.seq - b.seq) })
			ask = append(ask, uint32(loc))
		}
	}
	goesOn, err := c.goingOn(ctx, later, from, ask)
	if err != nil {
		return err
	}
	c.claims = map[claimStart]bool{}
	for _, loc := range ask {
		l := c.border[loc]
		if !goesOn[loc] {
			// What never ends at a location without further events ends with the location.
			l.state = state{}
			if l.empty() {
				c.border[loc] = nil
			}
			continue
		}
		for k, x := range l.rest {
			if k.class == pairs[trace.ClaimBegin].class {
				c.claims[claimStart{int64(k.op), x[0].time}] = true
			}
		}
	}
	return nil
}

// findPending reads the messages in transit where the window begins whose other sides come. They are the last ones of
// their flows, so that the search begins shortly before the window.
func (c *cut) findPending(ctx context.Context, flows *flows, first int64) error {
	flows.begin()
	if err := c.findOthers(ctx, flows); err != nil {
		return err
	}
	from := c.window.From
	for length := max((from-first)/256, 1); flows.coming(); length *= 16 {
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
	flows.each(func(loc uint32, o open) {
		l := c.border.at(loc)
		l.messages = append(l.messages, o)
	})
	return nil
}

// request names the requests of one id that are open at a location.
type request struct {
	loc uint32
	key key
}

// requestEnds counts what happens to the open requests of one id from the begin of the piece on.
type requestEnds struct {
	open  int // requests that are open where the piece begins
	begun int // later ones that are open
	ended int // of the open ones, the newest first
	named int // of the open ones that are named by an end or a test
}

// isRequest reports whether a class of pairs is that of requests whose completion may never be recorded.
func isRequest(class int8) bool {
	return class == pairs[trace.RecvBegin].class || class == pairs[trace.CollectiveRequest].class
}

// findOthers counts the other sides of the messages in transit, and drops open requests that no later
// event names. It reads growing windows from the begin of the piece on, up to the last one that it looks
// for, and at most up to its limit.
func (c *cut) findOthers(ctx context.Context, flows *flows) error {
	requests := map[request]*requestEnds{}
	for loc, l := range c.border {
		if l == nil {
			continue
		}
		for k, x := range l.rest {
			if isRequest(k.class) {
				requests[request{uint32(loc), k}] = &requestEnds{open: len(x)}
			}
		}
	}
	missing := map[request]*requestEnds{}
	maps.Copy(missing, requests)
	name := func(at request, ends, tests bool) {
		r := missing[at]
		switch {
		case r == nil:
		case tests:
			if r.begun == 0 {
				r.named = max(r.named, r.ended+1)
			}
		case !ends:
			r.begun++
		case r.begun > 0:
			r.begun--
		default:
			r.ended++
			r.named = max(r.named, r.ended)
		}
		if r != nil && r.named >= r.open {
			delete(missing, at)
		}
	}
	row := func(x *trace.Cursor) {
		k := x.Kind()
		flows.countOther(x)
		if x.Derived() {
			return
		}
		if k == trace.RequestTest {
			for _, begin := range []trace.Kind{trace.RecvBegin, trace.CollectiveRequest} {
				name(request{x.Location(), key{class: pairs[begin].class, op: x.Op(0)}}, false, true)
			}
		} else if p := pairOf(k); isRequest(p.class) {
			name(request{x.Location(), p.key(x)}, k != trace.RecvBegin && k != trace.CollectiveRequest, false)
		}
	}
	kind := func(k trace.Kind) bool {
		return k.IsSend() || k.IsRecv() || k == trace.RequestTest || isRequest(pairOf(k).class)
	}
	from, length := c.window.From, max(c.Defs().Clock.Num/c.Defs().Clock.Den/1000, 1)
	limit := c.limit()
	for round := 0; ; round++ {
		wanted := map[uint32]bool{}
		for at := range missing {
			wanted[at.loc] = true
		}
		flows.eachMissing(func(loc uint32) { wanted[loc] = true })
		if len(wanted) == 0 {
			break
		}
		to := limit
		if round < 4 {
			to = min(trace.Add(from, length), limit)
		}
		sel := trace.Selection{From: from, To: to, Kind: kind, Location: func(l uint32) bool { return wanted[l] }}
		err := eachRow(ctx, c.inner, sel, format.PerLocation, func(x *trace.Cursor) bool {
			if t := x.Time(); wanted[x.Location()] && t >= from && (t < to || to == math.MaxInt64) {
				row(x)
			}
			return len(missing) > 0 || flows.missing > 0
		})
		if err != nil {
			return err
		}
		if to == limit {
			break
		}
		from, length = to, length*32
	}
	for at, r := range requests {
		if rest := c.border[at.loc].rest; r.named == 0 {
			delete(rest, at.key)
		} else {
			rest[at.key] = rest[at.key][r.open-min(r.named, r.open):]
		}
	}
	return nil
}

// limit returns the time up to which other sides are looked for: behind the window as far as it is long. Those that come
// later change nothing in the piece.
func (c *cut) limit() int64 {
	length := uint64(c.window.To) - uint64(c.window.From)
	if c.window.To == math.MaxInt64 || length > uint64(math.MaxInt64-max(c.window.To, 0)) {
		return math.MaxInt64
	}
	return c.window.To + int64(length)
}

// prefix tracks what precedes a piece, at the locations that one worker reads.
type prefix struct {
	from   int64
	first  int64 // time of the first event
	byLine bool  // see trace.Definitions.ClaimLines
	border byLocation[border]
	later  map[uint32]bool // locations with an event at or after the begin of the piece
	flows  flows
}

func (p *prefix) batch(b *trace.Batch) error {
	p.first = min(p.first, b.Time[0])
	x := b.Cursor()
	for x.Next() {
		if x.Time() >= p.from {
			if x.Kind().IsEvent() {
				p.later[x.Location()] = true
			}
			continue
		}
		l := p.border.at(x.Location())
		l.byLine = p.byLine
		l.take(&x)
		switch k := x.Kind(); {
		case k == trace.Enter || k == trace.Leave:
			continue
		case k.IsSend() || k.IsRecv():
			p.flows.count(&x)
		default:
			if end, ok := endOf(&x); ok && goesBeyond(k, end, p.from) {
				l.span(&x)
			}
		}
	}
	return nil
}

// span keeps a row that extends into the window. It replaces an older one of the same kind and
// reference.
func (l *border) span(x *trace.Cursor) {
	l.spans = slices.DeleteFunc(l.spans,
		func(o open) bool { return o.kind == x.Kind() && o.ref == x.Ref() && o.kind != trace.Marker })
	l.spans = append(l.spans, open{x.Kind(), x.Ref(), x.Time(), 0, keep(x)})
}

// endOf returns the end time of a row that has one.
func endOf(x *trace.Cursor) (end int64, ok bool) {
	switch x.Kind() {
	case trace.Gap, trace.BufferFlush, trace.Fragment, trace.SampleRange:
	case trace.Marker:
		if d := x.Op(0); d != trace.Undefined && int64(d) > 0 && x.Time() <= math.MaxInt64-int64(d) {
			return x.Time() + int64(d), true
		}
		return 0, false
	default:
		return 0, false
	}
	v := x.Op(0)
	return int64(v), v != trace.Undefined
}

// readsOn reports whether a scan reads on to find out which locations have events behind its times.
// In formats with large blocks or grammars this costs less than another scan.
func (c *cut) readsOn() bool { return c.inner.Defs().CheapNext }

// readOn extends a selection by one event of each location behind its times, if a scan reads on.
func (c *cut) readOn(sel *trace.Selection) {
	if !c.readsOn() || sel.To == math.MaxInt64 || sel.From >= sel.To {
		return
	}
	if sel.Enough = sel.To; sel.To == 0 {
		sel.Enough = 1 // 0 would select everything
	}
	sel.To = math.MaxInt64
}

// goingOn returns which of the locations in ask have events from a time on. later has those with events
// behind the times of a scan that has read on.
func (c *cut) goingOn(ctx context.Context, later map[uint32]bool, from int64, ask []uint32) (map[uint32]bool, error) {
	if c.readsOn() {
		return later, nil
	}
	return hasLaterEvents(ctx, c.inner, from, ask)
}

// hasLaterEvents reports which of the given locations have events from a time on. It reads growing
// windows, so that little is read where a location continues soon.
func hasLaterEvents(ctx context.Context, d format.Events, from int64, ask []uint32) (map[uint32]bool, error) {
	found := map[uint32]bool{}
	wanted := map[uint32]bool{}
	for _, l := range ask {
		wanted[l] = true
	}
	length := max(d.Defs().Clock.Num/d.Defs().Clock.Den/1000, 1)
	for round := 0; len(wanted) > 0; round++ {
		to := int64(math.MaxInt64)
		if round < 4 && from < math.MaxInt64-length {
			to = from + length
		}
		sel := trace.Selection{From: from, To: to, Location: func(l uint32) bool { return wanted[l] }}
		seen := map[uint32]bool{}
		err := eachRow(ctx, d, sel, format.PerLocation, func(x *trace.Cursor) bool {
			if l := x.Location(); x.Time() >= from && x.Kind().IsEvent() && wanted[l] {
				seen[l] = true
			}
			return len(seen) < len(wanted)
		})
		if err != nil {
			return nil, err
		}
		for l := range seen {
			found[l] = true
			delete(wanted, l)
		}
		if to == math.MaxInt64 {
			break
		}
		from, length = to, length*32
	}
	return found, nil
}

// begin selects the events of the piece, at the selected locations.
func (c *cut) begin(sel trace.Selection, order format.Order, sink format.Sink) (stage, trace.Selection, error) {
	s := &cutScan{cut: c, gather: rowCollector{sink: sink}, ordered: order == format.GlobalOrder,
		later: map[uint32]bool{}}
	if s.ordered {
		for loc := range c.border {
			if err := s.reopen(uint32(loc)); err != nil {
				return nil, sel, err
			}
		}
	}
	inner := everything(sel)
	inner.From, inner.To = c.window.From, c.window.To
	c.readOn(&inner)
	if a, b := inner.Location, c.flows.wanted; a == nil {
		inner.Location = b
	} else if b != nil {
		inner.Location = func(loc uint32) bool { return a(loc) && b(loc) }
	}
	return s, inner, nil
}

// cutScan is one scan of a piece.
type cutScan struct {
	*cut
	gather  rowCollector
	ordered bool
	states  byLocation[cutState]
	later   map[uint32]bool // locations with an event at or after the end of the piece
	closed  map[int64]bool  // claims that were ended where the piece ends
	reopens trace.Batch
	late    []lateSamples
	marks   []mark // rows of the current batch that get an attribute
}

// mark is a row that completes something from before the piece.
type mark struct {
	row   int
	began int64
}

// lateSamples is a range of samples whose first sample in the piece is after the border.
type lateSamples struct {
	loc   uint32
	time  int64
	began int64
	open  open
}

type cutState struct {
	state
	begun bool
}

// at returns the state of a location, which begins with what is open there.
func (s *cutScan) at(loc uint32) (*cutState, error) {
	x := s.states.at(loc)
	if x.begun {
		return x, nil
	}
	return x, s.reopen(loc)
}

// reopen repeats what is open at a location where the piece begins.
func (s *cutScan) reopen(loc uint32) error {
	x := s.states.at(loc)
	if x.begun {
		return nil
	}
	x.begun = true
	x.byLine = s.Defs().ClaimLines
	l := s.border.get(loc)
	if l == nil {
		return nil
	}
	x.state = *l.state.clone()
	clock := s.Defs().Clock
	s.reopens.Reset(loc)
	for _, o := range l.list() {
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
	}
	if len(s.reopens.Pos) < s.reopens.Len() {
		s.reopens.Pos = s.reopens.Pos[:0]
	}
	slices.SortStableFunc(s.late, func(a, b lateSamples) int { return cmp.Compare(a.time, b.time) })
	return s.clipped(&s.reopens)
}

// catchUp delivers the late ranges that are due before a row at a location and time.
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
		if err := s.clipped(&s.reopens); err != nil {
			return err
		}
	}
	return nil
}

// clipped delivers a batch, with rows that extend over the end of the piece clipped.
func (s *cutScan) clipped(b *trace.Batch) error {
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
		if err := s.gather.row(&x, b); err != nil {
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
			ops[0] = uint64(s.window.To - x.Time())
		case trace.SampleRange:
			n, last, _ := samplesBefore(x.Time(), end, len(ops)-1, s.window.To)
			ops[0] = uint64(last)
			o.Op = o.Op[:len(o.Op)-len(ops)+1+n]
			o.OpEnd[len(o.OpEnd)-1] = uint32(len(o.Op))
		default:
			ops[0] = uint64(s.window.To)
		}
		o.AddAttr(s.ends, trace.StringValue(clock.FormatSeconds(end)))
	}
	return s.gather.flush()
}

// goesBeyond reports whether a row that ends at end has something from time t on: the last of the
// samples of a range is at its end.
func goesBeyond(k trace.Kind, end, t int64) bool {
	return end > t || end == t && k == trace.SampleRange
}

// isOver reports whether a row extends over the end of the piece.
func (s *cutScan) isOver(x *trace.Cursor, end int64) bool {
	return s.window.To < math.MaxInt64 && goesBeyond(x.Kind(), end, s.window.To)
}

// samplesBefore returns how many of n samples at equal distances from begin to end are before time
// to, and the times of the last of these and of the first of the others.
func samplesBefore(begin, end int64, n int, to int64) (count int, last, next int64) {
	at := func(i int) int64 {
		if n < 2 {
			return begin
		}
		hi, lo := bits.Mul64(uint64(end-begin), uint64(i))
		q, _ := bits.Div64(hi, lo, uint64(n-1))
		return begin + int64(q)
	}
	count = sort.Search(n, func(i int) bool { return at(i) >= to })
	return count, at(max(count-1, 0)), at(min(count, n-1))
}

// clipBegin moves the begin of what extends into the piece to the border, or, for a range of
// samples, to the first sample in the piece. It returns false if nothing remains.
func clipBegin(o *open, from int64, clock trace.Clock) bool {
	switch o.kind {
	case trace.Fragment, trace.SampleRange, trace.Marker:
		o.row = &row{ops: slices.Clone(o.row.ops), keys: o.row.keys, vals: o.row.vals}
	}
	began := o.time
	o.time = from
	switch ops := o.row.operands(); o.kind {
	case trace.Marker:
		ops[0] = uint64(began + int64(ops[0]) - from)
	case trace.Fragment:
		value := func(i int) float64 {
			if i < len(ops) {
				return math.Float64frombits(ops[i])
			}
			return 0
		}
		u := float64(from-began) / clock.UnitTicks()
		c, b, a := value(1), value(2), value(3)
		for i, v := range []float64{c + u*(b+u*a), b + 2*u*a} {
			if i+1 < len(ops) {
				ops[i+1] = math.Float64bits(v)
			}
		}
	case trace.SampleRange:
		n := len(ops) - 1
		before, _, next := samplesBefore(began, int64(ops[0]), n, from)
		if before == n {
			return false
		}
		o.time = next
		o.row.ops = append(ops[:1], ops[1+before:]...)
	}
	return true
}

// batch delivers the rows in the window and tracks what they open.
func (s *cutScan) batch(b *trace.Batch, out format.Sink) error {
	if !slices.ContainsFunc(b.Time, func(t int64) bool { return !s.has(t) }) {
		return s.inside(b)
	}
	c := rowCollector{sink: format.SinkFuncs{OnBatch: s.inside}}
	for x := b.Cursor(); x.Next(); {
		if x.Time() >= s.window.To && x.Kind().IsEvent() {
			s.later[x.Location()] = true
		}
		if s.has(x.Time()) {
			if err := c.row(&x, b); err != nil {
				return err
			}
		}
	}
	return c.flush()
}

// has reports whether a time is in the piece.
func (c *cut) has(t int64) bool {
	return t >= c.window.From && (t < c.window.To || c.window.To == math.MaxInt64)
}

func (s *cutScan) inside(b *trace.Batch) error {
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
		l.take(&x)
	}
	if len(s.late) == 0 {
		return s.clipped(b)
	}
	s.marks = s.marks[:0] // samples and messages cannot both occur in one trace
	for x = b.Cursor(); x.Next(); {
		if err := s.catchUp(x.Location(), x.Time()); err != nil {
			return err
		}
		s.reopens.Reset(b.Loc)
		s.reopens.AppendRow(&x)
		if err := s.clipped(&s.reopens); err != nil {
			return err
		}
	}
	return nil
}

// flush repeats what is open at locations without events in the piece, and ends what is open where
// the piece ends.
func (s *cutScan) flush(ctx context.Context, out format.Sink) error {
	for loc := range s.border {
		if _, err := s.at(uint32(loc)); err != nil {
			return err
		}
	}
	s.ordered = true // late ranges now come from all locations, in time order
	if err := s.catchUp(0, math.MaxInt64); err != nil {
		return err
	}
	s.closed = map[int64]bool{}
	if s.window.To == math.MaxInt64 || s.window.From >= s.window.To {
		return nil
	}
	var ask []uint32
	closing := make([][]open, len(s.states))
	for loc, l := range s.states {
		if l == nil {
			continue
		}
		for _, o := range l.list() {
			if pairOf(o.kind).close != trace.NoKind {
				closing[loc] = append(closing[loc], o)
			}
		}
		if len(closing[loc]) > 0 {
			ask = append(ask, uint32(loc))
		}
	}
	goesOn, err := s.goingOn(ctx, s.later, s.window.To, ask)
	if err != nil {
		return err
	}
	var b trace.Batch
	for _, loc := range ask {
		if !goesOn[loc] {
			continue
		}
		b.Reset(loc)
		for _, o := range slices.Backward(closing[loc]) {
			b.Add(loc, s.window.To, pairOf(o.kind).close, o.ref)
			if n := len(s.Defs().Spec(pairOf(o.kind).close).Operands); n > 0 && o.row != nil {
				b.AddOps(o.row.ops[:min(n, len(o.row.ops))]...)
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

// end reports whether an end of a link is in the piece, and clips it.
func (s *cutScan) end(e *trace.End) bool {
	if s.has(e.Time) && e.Location != trace.NoRef {
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
			e.Time = s.window.To
			return true
		}
	}
	return false
}
