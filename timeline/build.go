package timeline

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// Options say what a view shows. The zero Options give the whole trace, a row a
// location, coloured by region.
type Options struct {
	// Width is the number of pixel columns; 0 means 1064, which a picture of the
	// default size has.
	Width int
	// From and To are the window in ticks; the whole trace when they are equal.
	From, To int64
	// RowsBy is "location" (or empty), "resource" (the claims on a resource share
	// a row wherever they were made), or the name of an attribute: claims, regions
	// and marks are grouped by its value. A region belongs to the value that its
	// enter has.
	RowsBy string
	// ColorBy is "region" (or empty) or the name of an attribute.
	ColorBy string
	// MaxRows bounds the rows, in their order; 0 means 64.
	MaxRows int
	// MaxLevels bounds the nesting, and the lanes of overlapping claims, in a
	// row; 0 means 16.
	MaxLevels int
	// MaxColors bounds the legend; 0 means 12.
	MaxColors int
	// MaxArrows bounds the arrows; 0 means 2000. Of more, a sample is drawn.
	MaxArrows int
	// Links asks for stored dependencies; Messages for sends matched with
	// receives in order, by source, destination and tag.
	Links, Messages bool
	// Selection filters by its Location, Kind and Region; its other fields are
	// ignored.
	Selection trace.Selection
	// Extent is what [Measure] returned for the trace; nil when it is not known.
	Extent *Extent
}

// DefaultWidth is the number of pixel columns of a picture of the default size.
const DefaultWidth = 1064

func (o Options) withDefaults() (Options, error) {
	def := func(p *int, n int, name string) error {
		if *p < 0 || *p > 1<<16 {
			return &format.OptionError{Option: name, Value: strconv.Itoa(*p), Expected: "1 to " + strconv.Itoa(1<<16)}
		}
		if *p == 0 {
			*p = n
		}
		return nil
	}
	for _, x := range []struct {
		p    *int
		n    int
		name string
	}{{&o.Width, DefaultWidth, "Width"}, {&o.MaxRows, 64, "MaxRows"}, {&o.MaxLevels, 16, "MaxLevels"}, {&o.MaxColors, 12, "MaxColors"}, {&o.MaxArrows, 2000, "MaxArrows"}} {
		if err := def(x.p, x.n, x.name); err != nil {
			return o, err
		}
	}
	if o.From > o.To {
		return o, fmt.Errorf("timeline: the window ends at %d, before it begins at %d", o.To, o.From)
	}
	if o.RowsBy == "" {
		o.RowsBy = "location"
	}
	if o.ColorBy == "" {
		o.ColorBy = "region"
	}
	return o, nil
}

// Build reads the trace once and returns the view of it. Without
// Options.Extent, a view of the whole trace takes a pass of [Measure] before.
// What lies before the window is read too (regions may be open when it begins),
// and what lies after it (they may never be left).
//
// Errors are those of the decoder, of the context, and of options that name
// nothing in the trace.
func Build(ctx context.Context, dec format.Events, opt Options) (*View, error) {
	o, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	if o.Extent == nil && o.From == o.To {
		e, err := Measure(ctx, dec)
		if err != nil {
			return nil, err
		}
		o.Extent = &e
	}
	if o.From == o.To {
		o.From, o.To = o.Extent.First, o.Extent.Last
		if o.From == o.To && o.To < math.MaxInt64 {
			o.To++ // a trace of one moment
		}
	}
	b := newBuilder(dec.Defs(), o)
	sel := o.Selection
	sel.From, sel.To, sel.Links = math.MinInt64, math.MaxInt64, trace.NoLinks
	if o.Links {
		sel.Links = trace.AllLinks
	}
	sink := format.Trim(dec.Defs(), sel, b)
	asked := sel
	var m *meter
	if o.Extent == nil {
		// The filters must not hide the trace's first event from the meter.
		m = newMeter()
		asked = trace.Everything()
		asked.Links = sel.Links
		inner := sink
		sink = format.SinkFuncs{OnLinks: inner.Links, OnBatch: func(x *trace.Batch) error {
			if err := m.add(x); err != nil {
				return err
			}
			return inner.Batch(x)
		}}
	}
	// Lanes that several locations share, and messages, need events in the order
	// of time.
	order := format.GlobalOrder
	if b.plain && !o.Messages && b.colorAttr == "" {
		order = format.PerLocation
	}
	if err := dec.Scan(ctx, asked, order, sink); err != nil {
		return nil, err
	}
	if m != nil {
		e := m.extent()
		o.Extent = &e
	}
	return b.finish(*o.Extent)
}

// Keys that are neither a region nor a value.
const (
	noKey    = math.MaxUint32     // no region, or no such attribute
	otherKey = math.MaxUint32 - 1 // too many values
)

// Bounds of what is kept for attributes with many values.
const (
	maxValues   = 1 << 14 // colours
	maxRowsSeen = 1 << 16 // rows, to count those that are not shown
)

// builder makes a view from batches. Sinks of several workers share it.
type builder struct {
	mu   sync.Mutex
	defs *trace.Definitions
	opt  Options
	sc   scale
	unit float64

	plain     bool   // rows are locations
	byRes     bool   // rows of claims are resources
	rowAttr   string // rows are values of this attribute
	colorAttr string
	use       []uint8 // of each attribute
	usedRow   bool
	usedColor bool

	locs    []*location
	rows    map[rowID]*row
	shown   []*row // in order
	lost    int    // rows that were shown or would be
	inexact bool

	values map[string]uint32
	names  []string
	sample sampler
	places places
	match  matcher
}

// What an attribute is used for.
const (
	forRows uint8 = 1 << iota
	forColors
	forLabels
)

// location follows one location.
type location struct {
	last   int64
	base   *row
	stack  []enter
	left   enter // the region left last, until another is entered
	leftAt int64
	claims map[int64]*claim // open, by id
	curves map[uint32]*curve
}

// enter is a region that is open.
type enter struct {
	time   int64
	region uint32
	key    uint32
	level  int // -1: too deep
	row    *row
	left   bool // but regions inside are still open
}

// claim is a claim that is open.
type claim struct {
	id             int64
	time           int64
	key            uint32
	row            *row
	lane           int // -1: no room
	placed         bool
	amount, offset float64
	low, high      float64
	next           *claim // a later one with the same id
}

func newBuilder(d *trace.Definitions, o Options) *builder {
	b := &builder{defs: d, opt: o, sc: newScale(o.From, o.To, o.Width), unit: d.Clock.UnitTicks(), rows: map[rowID]*row{}, values: map[string]uint32{}}
	b.sample.keep = o.MaxArrows
	switch o.RowsBy {
	case "location":
		b.plain = true
	case "resource":
		b.byRes = true
	default:
		b.rowAttr = o.RowsBy
	}
	if o.ColorBy != "region" {
		b.colorAttr = o.ColorBy
	}
	return b
}

// attrs finds what the attributes of the current row are used for.
func (b *builder) attrs(c *trace.Cursor) (row, color, label *trace.Value) {
	keys, vals := c.Attrs()
	for i, k := range keys {
		for int(k) >= len(b.use) {
			u := uint8(0)
			if n := len(b.use); n < b.defs.Attributes.Len() {
				name := b.defs.Attributes.At(n).Name
				for bit, want := range map[uint8]string{forLabels: "text", forRows: b.rowAttr, forColors: b.colorAttr} {
					if want != "" && name == want {
						u |= bit
					}
				}
			}
			b.use = append(b.use, u)
		}
		u := b.use[k]
		if u&forRows != 0 {
			row, b.usedRow = &vals[i], true
		}
		if u&forColors != 0 {
			color, b.usedColor = &vals[i], true
		}
		if u&forLabels != 0 {
			label = &vals[i]
		}
	}
	return row, color, label
}

// key is what the current row is coloured by.
func (b *builder) key(ref uint32, v *trace.Value) uint32 {
	if b.colorAttr == "" {
		return ref // noKey for no region
	}
	if v == nil {
		return noKey
	}
	s := v.Str
	if v.Type != trace.String {
		s = v.String()
	}
	k, ok := b.values[s]
	if !ok {
		if len(b.names) >= maxValues {
			return otherKey
		}
		k = uint32(len(b.names))
		s = strings.Clone(s)
		b.names = append(b.names, s)
		b.values[s] = k
	}
	return k
}

// location finds what is known of a location.
func (b *builder) location(n uint32) *location {
	for int(n) >= len(b.locs) {
		b.locs = append(b.locs, nil)
	}
	if b.locs[n] == nil {
		b.locs[n] = &location{}
	}
	return b.locs[n]
}

// row finds or makes a row.
func (b *builder) row(id rowID) *row {
	r := b.rows[id]
	if r == nil {
		id.value = strings.Clone(id.value)
		r = &row{id: id}
		b.rows[id] = r
		if id.class != valueRow {
			b.show(r)
		}
	}
	return r
}

// base is the row of a location's regions and instants, or of the value that
// the current event has.
func (b *builder) base(n uint32, l *location, v *trace.Value) *row {
	if b.rowAttr != "" {
		return b.valued(v)
	}
	if l.base == nil {
		l.base = b.row(rowID{loc: n})
	}
	return l.base
}

func (b *builder) valued(v *trace.Value) *row {
	if v == nil {
		return b.row(rowID{class: missingRow})
	}
	if v.Type == trace.String {
		return b.row(rowID{class: valueRow, value: v.Str})
	}
	return b.row(rowID{class: valueRow, value: v.String()})
}

// show gives a row its place in the picture, and takes it from the last one if
// there are too many.
func (b *builder) show(r *row) {
	if r.shown || r.dead {
		return
	}
	r.shown = true
	i, _ := slices.BinarySearchFunc(b.shown, r, func(a, b *row) int { return a.id.compare(b.id) })
	b.shown = slices.Insert(b.shown, i, r)
	if n := b.opt.MaxRows; len(b.shown) > n {
		last := b.shown[n]
		b.shown = b.shown[:n]
		last.drop()
		if !b.inexact && (len(b.rows) < maxRowsSeen || last.id.class != valueRow) {
			b.lost++
			return
		}
		// Forgotten rows may come again and be lost twice: better not count them.
		b.inexact = true
		if last.open == 0 {
			delete(b.rows, last.id)
		}
	}
}

// release forgets a row that shows nothing and has nothing open.
func (b *builder) release(r *row) {
	if r.open == 0 && !r.shown && r.id.class == valueRow && (!r.dead || b.inexact) {
		delete(b.rows, r.id)
	}
}

// Batch draws events.
func (b *builder) Batch(x *trace.Batch) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var l *location
	at := trace.MixedLoc
	c := x.Cursor() // outside the loop, which would copy it each time
	for c.Next() {
		n := c.Location()
		if n != at || l == nil {
			l, at = b.location(n), n
		}
		t := c.Time()
		switch k := c.Kind(); k {
		case trace.Enter:
			b.enter(&c, n, l, t)
		case trace.Leave:
			b.leave(l, t, c.Ref())
		case trace.ClaimBegin:
			b.begin(&c, n, l, t)
		case trace.ClaimEnd:
			b.end(l, t, int64(c.Op(0)))
		case trace.Fragment, trace.Metric, trace.SampleRange:
			b.signal(&c, n, l, t)
		case trace.Mark, trace.Comment, trace.Marker, trace.Generic:
			b.instant(&c, n, l, t)
		case trace.Gap, trace.BufferFlush:
			if end, ok := endOf(&c); ok && b.rowAttr == "" {
				if r := b.base(n, l, nil); !r.dead && b.sc.sees(t, end) {
					r.gap(&b.sc, t, end)
				}
			}
		default:
			if b.opt.Messages && (k.IsSend() || k.IsRecv()) {
				b.message(&c, n, l, t)
			}
		}
		l.last = t
	}
	return nil
}

func (b *builder) enter(c *trace.Cursor, n uint32, l *location, t int64) {
	rv, cv, _ := b.attrs(c)
	r := b.base(n, l, rv)
	e := enter{time: t, region: c.Ref(), key: b.key(c.Ref(), cv), level: len(l.stack), row: r}
	if b.rowAttr != "" {
		if lane, ok := r.take(b.opt.MaxLevels); ok {
			e.level = lane
		} else {
			e.level = -1
		}
	} else if e.level >= b.opt.MaxLevels {
		e.level = -1
	}
	r.open++
	l.stack = append(l.stack, e)
	l.left.left = false
}

// leave closes the latest open enter of the region. The levels of regions that
// are still open stay as they are.
func (b *builder) leave(l *location, t int64, region uint32) {
	for i := len(l.stack) - 1; i >= 0; i-- {
		e := &l.stack[i]
		if e.left || e.region != region {
			continue
		}
		b.close(e, t)
		e.left = true
		l.left, l.leftAt = *e, t
		for n := len(l.stack); n > 0 && l.stack[n-1].left; n-- {
			l.stack = l.stack[:n-1]
		}
		return
	}
}

func (b *builder) close(e *enter, t int64) {
	r := e.row
	r.open--
	if b.rowAttr != "" && e.level >= 0 {
		r.busy[e.level] = false
	}
	if b.sc.sees(e.time, t) {
		if b.show(r); !r.dead {
			b.span(r, e.level, e.time, t, e.key)
		}
	}
	b.release(r)
}

// span draws a span of a level, or counts it when there is no such level.
func (b *builder) span(r *row, level int, t0, t1 int64, key uint32) {
	r.count(key, uint64(b.sc.clip(t1))-uint64(b.sc.clip(t0)))
	if level < 0 {
		r.hidden++
		return
	}
	r.add(&b.sc, r.level(level), t0, t1, key)
}

func (b *builder) begin(c *trace.Cursor, n uint32, l *location, t int64) {
	rv, cv, _ := b.attrs(c)
	x := &claim{id: int64(c.Op(0)), time: t, key: b.key(c.Ref(), cv), lane: -1,
		amount: math.Float64frombits(c.Op(2)), offset: math.Float64frombits(c.Op(3))}
	res := trace.NoRef
	if op := c.Op(1); op < uint64(b.defs.Resources.Len()) {
		res = uint32(op)
	}
	if b.rowAttr != "" {
		x.row = b.valued(rv)
	} else {
		id := rowID{kind: 1, loc: n, sub: res}
		if b.byRes && res != trace.NoRef {
			id.loc = b.defs.Resources.At(int(res)).Location
		}
		x.row = b.row(id)
		if x.row.amounts == nil && res != trace.NoRef {
			if d := b.defs.Resources.At(int(res)); d.Capacity > 0 && !math.IsInf(d.Capacity, 0) {
				x.row.amounts = &amounts{capacity: d.Capacity, offsets: d.UsesOffset, since: math.MinInt64}
			}
		}
	}
	x.row.open++
	x.row.claims = true
	b.settle(x.row, t)
	x.row.begun = append(x.row.begun, x)
	if l.claims == nil {
		l.claims = map[int64]*claim{}
	}
	if o := l.claims[x.id]; o != nil {
		for o.next != nil {
			o = o.next
		}
		o.next = x
	} else {
		l.claims[x.id] = x
	}
	if b.opt.Links {
		b.places.put(endKey{false, n, x.id}, point{row: x.row, claim: x})
	}
}

// settle places the claims of a row that began before t.
func (b *builder) settle(r *row, t int64) {
	if len(r.begun) == 0 || r.begun[0].time >= t {
		return
	}
	for _, x := range r.begun {
		b.place(x)
	}
	clear(r.begun)
	r.begun = r.begun[:0]
}

func (b *builder) place(x *claim) {
	r := x.row
	x.placed = true
	if a := r.amounts; a != nil {
		if a.place(&b.sc, x) {
			x.lane = 0
		}
		return
	}
	if lane, ok := r.take(b.opt.MaxLevels); ok {
		x.lane, x.low, x.high = lane, float64(lane), float64(lane+1)
	}
}

func (b *builder) end(l *location, t int64, id int64) {
	x := l.claims[id]
	if x == nil {
		return
	}
	if x.next != nil {
		l.claims[id], x.next = x.next, nil
	} else {
		delete(l.claims, id)
	}
	b.closeClaim(x, t)
}

func (b *builder) closeClaim(x *claim, t int64) {
	r := x.row
	b.settle(r, t)
	if !x.placed { // it ends when it begins
		r.begun = slices.DeleteFunc(r.begun, func(o *claim) bool { return o == x })
		b.place(x)
	}
	r.open--
	if x.lane >= 0 {
		if r.amounts != nil {
			r.amounts.remove(&b.sc, x, t)
		} else {
			r.busy[x.lane] = false
		}
	}
	if b.sc.sees(x.time, t) {
		if b.show(r); !r.dead {
			if r.amounts != nil && x.lane >= 0 {
				r.count(x.key, uint64(b.sc.clip(t))-uint64(b.sc.clip(x.time)))
				r.amounts.draw(r, &b.sc, x, x.time, t)
			} else {
				b.span(r, x.lane, x.time, t, x.key)
			}
		}
	}
	b.release(r)
}

func (b *builder) signal(c *trace.Cursor, n uint32, l *location, t int64) {
	ref := c.Ref()
	if int(ref) >= b.defs.Metrics.Len() {
		return
	}
	m := b.defs.Metrics.At(int(ref))
	cv := l.curves[ref]
	if cv == nil {
		kind := Steps
		switch {
		case c.Kind() == trace.Fragment:
			kind = Smooth
		case c.Kind() == trace.SampleRange || m.Kind == trace.SeriesMetric:
			kind = Points
		}
		id := rowID{kind: 2, loc: n, sub: ref}
		if b.rowAttr != "" {
			id.class = signalsRow
		}
		r := b.row(id)
		cv = newCurve(kind, b.opt.Width)
		if r.dead {
			cv = &curve{dead: true}
		}
		r.curve = cv
		if l.curves == nil {
			l.curves = map[uint32]*curve{}
		}
		l.curves[ref] = cv
	}
	ops := c.Ops()
	if cv.dead || len(ops) == 0 {
		return
	}
	switch c.Kind() {
	case trace.Fragment:
		f := func(i int) float64 {
			if i >= len(ops) {
				return 0
			}
			return math.Float64frombits(ops[i])
		}
		cv.fragment(&b.sc, t, int64(ops[0]), f(1), f(2), f(3), b.unit)
	case trace.Metric:
		v := trace.Value{Num: ops[0], Type: m.Type}.Float()
		if cv.Kind == Steps {
			cv.step(&b.sc, t, v)
		} else {
			cv.point(&b.sc, t, v)
		}
	case trace.SampleRange:
		span := uint64(max(t, int64(ops[0]))) - uint64(t)
		for i, v := range ops[1:] {
			at := t
			if last := len(ops) - 2; i > 0 {
				at = int64(uint64(t) + uint64(float64(span)*float64(i)/float64(last)))
			}
			cv.point(&b.sc, at, math.Float64frombits(v))
		}
	}
}

func (b *builder) instant(c *trace.Cursor, n uint32, l *location, t int64) {
	rv, cv, label := b.attrs(c)
	r := b.base(n, l, rv)
	ref := c.Ref()
	text := ""
	key := uint32(noKey)
	switch b.defs.Spec(c.Kind()).Ref {
	case trace.RefRegion:
		key = b.key(ref, cv)
		if int(ref) < b.defs.Regions.Len() {
			text = b.defs.Regions.At(int(ref)).Name
		}
	case trace.RefMarker:
		if int(ref) < b.defs.Markers.Len() {
			text = b.defs.Markers.At(int(ref)).Name
		}
	case trace.RefString:
		if int(ref) < b.defs.Strings.Len() {
			text = *b.defs.Strings.At(int(ref))
		}
	}
	if b.sc.sees(t, t) {
		if b.show(r); !r.dead {
			r.instant(&b.sc, t, key, func() string {
				if label != nil && label.Type == trace.String && label.Str != "" {
					return strings.Clone(label.Str)
				}
				return text
			})
		}
	}
	if b.opt.Links && c.Kind() == trace.Mark && c.Op(0) != trace.Undefined {
		b.places.put(endKey{true, n, int64(c.Op(0))}, point{row: r, time: t, level: -1})
	}
	b.release(r)
}

func (b *builder) message(c *trace.Cursor, n uint32, l *location, t int64) {
	p := point{time: t, level: -1}
	var e *enter
	switch {
	case l.left.left && l.leftAt == t:
		e = &l.left // a receive often comes right after the call that made it
	case len(l.stack) > 0:
		e = &l.stack[len(l.stack)-1]
	case b.rowAttr == "":
		p.row = b.base(n, l, nil)
	}
	if e != nil {
		if p.row = e.row; e.level >= 0 {
			p.level = float64(e.level) + 0.5
		}
	}
	peer := c.Op(0)
	if peer > math.MaxUint32 {
		b.unmatched(t)
		return
	}
	ch := channel{src: n, dst: uint32(peer), tag: c.Op(2)}
	a := arrow{kind: Message, src: p}
	var ok bool
	if c.Kind().IsSend() {
		a.dst, ok = b.match.send(ch, p)
	} else {
		ch.src, ch.dst = ch.dst, ch.src
		a.dst = p
		a.src, ok = b.match.recv(ch, p)
	}
	switch {
	case ok:
		b.sample.add(&b.sc, a, uint64(ch.src), uint64(ch.dst), ch.tag)
	case b.match.failed:
		b.unmatched(t)
	}
}

func (b *builder) unmatched(t int64) {
	if b.sc.sees(t, t) {
		b.sample.count[Message].Unmatched++
	}
}

// Links draws dependencies.
func (b *builder) Links(links []trace.Link) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range links {
		x := &links[i]
		if x.Src.Location == trace.NoRef || x.Dst.Location == trace.NoRef {
			b.sample.count[Dependency].Unmatched++
			continue
		}
		b.sample.add(&b.sc, arrow{kind: Dependency, src: b.linkEnd(x.Src), dst: b.linkEnd(x.Dst), label: strings.Clone(linkLabel(x.Attrs))},
			uint64(x.Src.Location), uint64(x.Dst.Location), uint64(x.ID))
	}
	return nil
}

func (b *builder) linkEnd(e trace.End) point {
	if e.Kind != trace.AtLocation {
		if p, ok := b.places.at[endKey{e.Kind == trace.AtEvent, e.Location, e.ID}]; ok {
			p.time = e.Time
			if p.level = -1; p.claim != nil && p.claim.lane >= 0 {
				p.level = (p.claim.low + p.claim.high) / 2
			}
			return p
		}
	}
	p := point{time: e.Time, level: -1}
	if b.rowAttr == "" && int(e.Location) < len(b.locs) && b.locs[e.Location] != nil {
		p.row = b.locs[e.Location].base
	}
	return p
}
