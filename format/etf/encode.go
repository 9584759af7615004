package etf

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/internal/attrlist"
	"github.com/weft-trace/weft/internal/digits"
	"github.com/weft-trace/weft/internal/linetrace"
	"github.com/weft-trace/weft/trace"
)

// encoder writes the common model as a TRACE file. A trace whose ids are
// TRACE's gets its own lines back. Any other is written so that TRACE shows
// its regions as claims on one resource per location, and its claims as claims,
// and that this package restores it exactly: definitions travel in attributes of
// the trace, an enter–leave pair is a claim with the region and its attributes, a
// claim has its operands as attributes beside, every other event is an E line with
// its kind and operands as attributes.
type encoder struct {
	linetrace.Encoder
	w      *Writer
	native bool
	from   *rewriter // of a file that is written again, or nil

	last   trace.Decimal // time of the last row
	texted trace.Decimal // of which text is the text
	text   []byte
	unit   string

	rec   Record
	pairs []carrier.Pair
	names []string // of locations
	buf   []byte
	tail  []byte // attributes of the end of a claim
	seq   int64  // rows so far
	next  int64  // next claim or event id, for foreign traces

	resources []int64  // ids by index
	keys      [][]byte // see key
	reals     [256]realText
	signals   []signal     // by metric
	linked    []trace.Attr // attributes of the last link
	linkText  []byte       // and how they are written
	queue     queue
	// Numbers and times of the claims that began and ended last.
	lastBegin, begun, lastEnd, ended int64
	section                          int // of the last row, and its time
	sectionTime                      int64
	lastCurve                        *curve // the last one of the fragments and samples at time drawn
	drawn                            int64
	claims                           openClaims
	stacks                           map[stackKey][]int64 // foreign: positions of open regions
	depth                            []int32              // foreign: open regions of each location
	deep                             []int32              // the most at once
	used                             []bool               // locations with claims
	claimed                          []uint32             // foreign: 1 + the resource that a location's claims hold
}

// openClaims finds the numbers of open claims in the queue by their ids. Where
// ids count up as claims begin, the number follows from the id; the map has the
// others. Ids may be there twice: the first of equal claims ends first.
type openClaims struct {
	any    bool
	offset int64 // number less id
	others map[claimKey][]int64
}

type claimKey struct {
	id       int64
	res, ref uint32 // resource and region
}

// add takes claim number at, which has just begun.
func (o *openClaims) add(q *queue, at int64, k claimKey) {
	x := q.at(at)
	if !o.any {
		o.any, o.offset = true, at-k.id
	}
	if x.key, x.other = k, at-k.id != o.offset; x.other {
		o.others[k] = append(o.others[k], at)
	}
}

// take finds an open claim and forgets it.
func (o *openClaims) take(q *queue, k claimKey) (at int64, ok bool) {
	at = k.id + o.offset
	if x := q.at(at); x != nil && x.key == k && !x.other && !x.done {
		return at, true
	}
	l := o.others[k]
	switch len(l) {
	case 0:
		return 0, false
	case 1:
		delete(o.others, k)
	default:
		o.others[k] = l[1:]
	}
	return l[0], true
}

type stackKey struct{ loc, ref uint32 }

func create(out *format.Output, opt *format.WriteOptions) (format.Encoder, error) {
	return &encoder{Encoder: linetrace.Encoder{Plain: opt.Plain, Mapping: mapping}, w: NewWriter(out), text: make([]byte, 0, 64), linkText: make([]byte, 0, 64), claims: openClaims{others: map[claimKey][]int64{}}, stacks: map[stackKey][]int64{}}, nil
}

// Abort frees what the encoder holds.
func (e *encoder) Abort() { e.w.Discard() }

// Begin takes the definitions.
func (e *encoder) Begin(d *trace.Definitions) error {
	e.Encoder.Begin(d)
	e.native = d.Origin == "etf"
	e.queue.w = e.w
	// The unit that the clock counts in, if it is one of TRACE's.
	e.unit = "SECONDS"
	if u := d.Clock.Unit; u > 0 {
		for _, x := range units {
			// One unit is u ticks: u × Den/Num seconds.
			a, _, ok := trace.Clock{Num: d.Clock.Num, Den: d.Clock.Den}.Rescale(u, trace.Clock{Num: x.den, Den: x.num})
			b, exact, _ := trace.Clock{Num: x.den, Den: x.num}.Rescale(1, trace.Clock{Num: d.Clock.Num, Den: d.Clock.Den})
			if ok && a == 1 && exact && b == u {
				digits := int32(0)
				for p := int64(1); p < u; p *= 10 {
					digits++
				}
				e.unit, e.Mul, e.Scale, e.Exact = x.name, 1, digits, true
			}
		}
	}
	if !e.native {
		return nil
	}
	if o, ok := d.Native.(*original); ok {
		e.rewrite(o)
		e.queue.from = e.from
	}
	// The definitions are written again when all is known; most will be these.
	defer func() { e.Lost = format.Loss{} }()
	e.comments(false)
	return e.nativeDefinitions()
}

// timeText is the time of the last row as it is written. Many rows share it.
func (e *encoder) timeText() []byte {
	if len(e.text) == 0 || e.last != e.texted {
		e.text, e.texted = e.last.AppendTrim(e.text[:0]), e.last
	}
	return e.text
}

// Batch writes the rows of a batch.
func (e *encoder) Batch(b *trace.Batch) error {
	e.Times.Add(b)
	if e.native {
		return e.nativeBatch(b)
	}
	c := b.Cursor() // outside the loop, which would copy it each time
	for c.Next() {
		e.seq++
		e.last = e.Time(c.Time())
		if err := e.foreignRow(&c); err != nil {
			return err
		}
	}
	return nil
}

// row is one row of a batch.
type row struct {
	kind trace.Kind
	ref  uint32
	time int64
	ops  []uint64
	keys []uint32 // of the attributes
	vals []trace.Value
	pos  int64 // of its line in the file
}

// nativeBatch goes through the columns itself: a cursor asks at each row what it
// knows already.
func (e *encoder) nativeBatch(b *trace.Batch) error {
	kinds, refs := b.Kind[:len(b.Time)], b.Ref[:len(b.Time)]
	opRows, opEnds, ops, from := b.OpRow, b.OpEnd[:len(b.OpRow)], 0, uint32(0)
	attrRows, attr := b.AttrRow, 0
	var x row
	for i, t := range b.Time {
		x.kind, x.ref, x.time, x.ops = kinds[i], refs[i], t, nil
		if len(b.Pos) > 0 {
			x.pos = b.Pos[i]
		}
		if ops < len(opRows) && opRows[ops] == uint32(i) {
			end := opEnds[ops]
			x.ops, from = b.Op[from:end], end
			ops++
		}
		first := attr
		for attr < len(attrRows) && attrRows[attr] == uint32(i) {
			attr++
		}
		x.keys, x.vals = b.AttrKey[first:attr], b.AttrVal[first:attr]
		e.last = e.Time(t)
		if err := e.nativeRow(&x); err != nil {
			return err
		}
	}
	return nil
}

// attributes appends the row's attributes. TRACE knows texts only.
func (e *encoder) attributes(b []byte, x *row) []byte {
	vals := x.vals[:len(x.keys)]
	for i, k := range x.keys {
		key := e.key(k)
		if i == 0 {
			key = key[1:]
		}
		b = appendShort(b, key)
		text := vals[i].Str
		if vals[i].Type != trace.String {
			text = vals[i].String()
			e.Lost.Add(e.Defs.Spec(x.kind).Name, "attribute", format.Degraded, "became a text", 1)
		}
		var replaced bool
		if b, replaced = attrlist.AppendText(b, text); replaced {
			e.Lost.Add(e.Defs.Spec(x.kind).Name, "attribute", format.Degraded, "a line end became a blank", 1)
		}
	}
	return b
}

// key is ", key=" as it is written.
func (e *encoder) key(k uint32) []byte {
	for n := len(e.keys); int(k) >= n; n++ {
		name := cmp.Or(e.Defs.Attributes.At(uint32(n)).Name, "unnamed")
		b, _ := attrlist.AppendText(append(make([]byte, 0, 80), ", "...), name)
		e.keys = append(e.keys, append(b, '='))
	}
	return e.keys[k]
}

// signal is where the fragments of a signal go.
type signal struct {
	id    int64
	curve *curve
}

// realText remembers how a number is written: traces have few different amounts.
type realText struct {
	bits uint64
	text [16]byte
	n    int // length of the text, 0 when it has none
}

// real appends a blank and f.
func (e *encoder) real(b []byte, f float64) []byte {
	u := math.Float64bits(f)
	x := &e.reals[u*0x9e3779b97f4a7c15>>56]
	if x.bits != u || x.n == 0 {
		e.buf = digits.AppendReal(e.buf[:0], f)
		if len(e.buf) > len(x.text) {
			return append(append(b, ' '), e.buf...)
		}
		x.bits, x.n = u, copy(x.text[:], e.buf)
	}
	n := len(b)
	if cap(b)-n < 1+len(x.text) {
		b = slices.Grow(b, 1+len(x.text))
	}
	to := b[n : n+1+len(x.text)]
	to[0] = ' '
	w0, w1 := binary.LittleEndian.Uint64(x.text[:]), binary.LittleEndian.Uint64(x.text[8:])
	binary.LittleEndian.PutUint64(to[1:], w0)
	binary.LittleEndian.PutUint64(to[9:], w1)
	return b[:n+1+x.n]
}

func (e *encoder) id(s, what string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		e.Lost.Add(what, "id", format.Degraded, "not an integer; renumbered", 1)
	}
	return n
}

// resource is the file's id of a resource.
func (e *encoder) resource(i uint32) int64 {
	for int(i) >= len(e.resources) {
		e.resources = append(e.resources, e.id(e.Defs.Resources.At(uint32(len(e.resources))).ID, "resource"))
	}
	return e.resources[i]
}

// nativeRow writes a row of a trace with TRACE's own ids.
func (e *encoder) nativeRow(x *row) error {
	r := &e.rec
	ops, k := x.ops, x.kind
	if e.section != 0 || k != trace.ClaimBegin && k != trace.ClaimEnd {
		e.sections(k, x.time)
	}
	switch k {
	case trace.ClaimBegin:
		if len(ops) < 3 {
			break
		}
		first := math.Float64frombits(ops[2])
		if len(ops) > 3 {
			first = math.Float64frombits(ops[3])
		}
		at, q := e.queue.begin(int64(ops[0]), e.timeText())
		q.pos = x.pos
		n := len(q.text)
		b := q.text[:n+digits.Put(q.text[n:n+32], e.resource(uint32(ops[1])))]
		b = e.real(b, first)
		if len(ops) > 3 {
			b = e.real(b, math.Float64frombits(ops[2]))
		}
		q.text = e.attributes(append(b, " ;"...), x)
		e.claims.add(&e.queue, at, claimKey{int64(ops[0]), uint32(ops[1]), x.ref})
		e.lastBegin, e.begun = at, x.time
		if e.queue.next-e.queue.first > queueLimit {
			return e.queue.write()
		}
		return nil
	case trace.ClaimEnd:
		if len(ops) < 2 {
			break
		}
		at, ok := e.claims.take(&e.queue, claimKey{int64(ops[0]), uint32(ops[1]), x.ref})
		if !ok {
			e.Lost.Add("claim-end", "", format.Lost, "its claim has not begun", 1)
			return nil
		}
		e.order(at, x.time)
		var more []byte
		if len(x.keys) > 0 { // of ends that were added; the line has one list for both
			b := e.tail[:0]
			if text := e.queue.at(at).text; text[len(text)-1] != ';' {
				b = append(b, ',')
			}
			e.tail = e.attributes(b, x)
			more = e.tail
		}
		if err := e.queue.end(at, e.timeText(), more); err != nil || at > e.queue.first {
			return err // an older one is still open
		}
		return e.queue.write()
	case trace.Mark:
		id := int64(0)
		if len(ops) > 0 {
			id = int64(ops[0])
		}
		s := e.w.events()
		from := len(s.Line())
		b := append(digits.AppendInt(append(s.Line(), "E "...), id), ' ')
		b = e.attributes(append(appendShort(b, e.timeText()), " ;"...), x)
		return s.Done(append(e.from.line(x.pos, b, from), '\n'))
	case trace.Fragment:
		if len(ops) < 4 {
			break
		}
		e.bare(x)
		for n := len(e.signals); int(x.ref) >= n; n++ {
			e.signals = append(e.signals, signal{})
		}
		s := &e.signals[x.ref]
		if s.curve == nil {
			s.id = e.id(e.Defs.Metrics.At(x.ref).ID, "signal")
			s.curve = e.w.curve(seriesKey{s.id, -1})
		}
		e.curves(s.curve, x)
		l := &s.curve.lines
		from := len(l.Line())
		b := digits.AppendInt(append(l.Line(), "F "...), s.id)
		b = appendTime(appendShort(append(b, ' '), e.timeText()), e.Time(int64(ops[0])))
		for _, v := range ops[1:4] {
			b = appendReal(b, math.Float64frombits(v))
		}
		return l.Done(append(e.from.line(x.pos, b, from), '\n'))
	case trace.Metric, trace.SampleRange:
		if len(ops) < 1 {
			break
		}
		e.bare(x)
		r.Keyword, r.Times, r.Values = TSP, r.Times[:0], r.Values[:0]
		if _, err := fmt.Sscanf(e.Defs.Metrics.At(x.ref).ID, "%d/%d", &r.ID, &r.Series); err != nil {
			e.Lost.Add("metric", "", format.Lost, "its series has no id of the form group/series", 1)
			return nil
		}
		c := e.w.curve(seriesKey{r.ID, r.Series})
		e.curves(c, x)
		if k == trace.Metric {
			r.Times = append(r.Times, e.Time(x.time))
			r.Values = append(r.Values, math.Float64frombits(ops[0]))
		} else {
			r.Keyword, r.Start, r.End = TSR, e.Time(x.time), e.Time(int64(ops[0]))
			for _, v := range ops[1:] {
				r.Values = append(r.Values, math.Float64frombits(v))
			}
		}
		if e.from == nil {
			return e.w.Write(r)
		}
		changed, err := e.w.sampleAgain(c, x.pos, x.time, r)
		if changed {
			e.Lost.Add(e.Defs.Spec(k).Name, "order", format.Degraded, "changes places with a simultaneous event of another line", 1)
		}
		return err
	}
	e.Lost.Add(e.Defs.Spec(x.kind).Name, "", format.Lost, "a TRACE file has no line for it", 1)
	return nil
}

// bare counts the attributes of a row whose line cannot have any.
func (e *encoder) bare(x *row) {
	if len(x.keys) > 0 {
		e.Lost.Add(e.Defs.Spec(x.kind).Name, "attribute", format.Degraded, "its line has no attributes", int64(len(x.keys)))
	}
}

// sections notices when an event is followed by a simultaneous one whose lines
// stand in an earlier section of the file: claims, events, fragments, samples.
func (e *encoder) sections(k trace.Kind, t int64) {
	rank := 0
	switch k {
	case trace.Mark:
		rank = 1
	case trace.Fragment:
		rank = 2
	case trace.Metric, trace.SampleRange:
		rank = 3
	}
	if t == e.sectionTime && rank < e.section {
		e.Lost.Add(e.Defs.Spec(k).Name, "order", format.Degraded, "changes places with a simultaneous event of another kind", 1)
		return
	}
	e.section, e.sectionTime = rank, t
}

// curves notices when a fragment or sample of curve x is simultaneous with an
// earlier one of a curve that is written behind x.
func (e *encoder) curves(x *curve, r *row) {
	if t := r.time; e.lastCurve == nil || e.drawn != t || e.lastCurve.compare(x) <= 0 {
		e.lastCurve, e.drawn = x, t
		return
	}
	e.Lost.Add(e.Defs.Spec(r.kind).Name, "order", format.Degraded, "changes places with a simultaneous event of another signal or series", 1)
}

// order notices when claim number at ends at the same time as, but behind, an
// event that a reader of the file will find behind it: with equal times the
// order of the lines counts, and claims are written in the order in which they
// begin.
func (e *encoder) order(at, t int64) {
	if e.lastBegin > at && e.begun == t || e.lastEnd > at && e.ended == t {
		e.Lost.Add("claim-end", "order", format.Degraded, "changes places with a simultaneous event of another claim", 1)
	}
	e.lastEnd, e.ended = at, t
}

// foreignRow writes a row of another format's trace.
func (e *encoder) foreignRow(c *trace.Cursor) error {
	if c.Derived() && e.Plain {
		return nil
	}
	if c.Derived() {
		// The decoder of the trace's own format makes it again; until then it
		// would be there twice.
		return e.event(c)
	}
	loc, ref := c.Location(), c.Ref()
	k := stackKey{loc, ref}
	switch c.Kind() {
	case trace.Enter:
		if ref == trace.NoRef || len(c.Ops()) > 0 || int(loc) < len(e.claimed) && e.claimed[loc] != 0 {
			break
		}
		for int(loc) >= len(e.depth) {
			e.depth, e.deep, e.used = append(e.depth, 0), append(e.deep, 0), append(e.used, false)
		}
		e.depth[loc]++
		e.deep[loc] = max(e.deep[loc], e.depth[loc])
		at, x := e.queue.begin(e.next, e.timeText())
		x.text = append(digits.AppendInt(x.text, int64(loc)), " 1"...)
		e.next++
		x.order, x.region = e.seq, ref
		x.text, _ = attrlist.Append(append(x.text, " ; "...), "name", e.Defs.Regions.At(ref).Name)
		x.text = digits.AppendInt(append(x.text, ", depth="...), int64(e.depth[loc]))
		for _, p := range e.attributePairs(c) {
			x.text, _ = attrlist.Append(append(x.text, ", "...), p.Key, p.Value)
		}
		e.stacks[k] = append(e.stacks[k], at)
		return e.queue.write()
	case trace.Leave:
		s := e.stacks[k]
		if len(s) == 0 || len(c.Ops()) > 0 {
			break
		}
		at := s[len(s)-1]
		e.stacks[k] = s[:len(s)-1]
		e.depth[loc]--
		return e.foreignEnd(c, at)
	case trace.ClaimBegin:
		if !e.ownLine(c) {
			break
		}
		ops := c.Ops()
		at, x := e.queue.begin(e.next, e.timeText())
		e.next++
		x.order, x.region = e.seq, ref
		x.text = digits.AppendInt(x.text, int64(loc))
		if len(ops) > 3 {
			x.text = e.real(x.text, math.Float64frombits(ops[3]))
		}
		x.text = append(e.real(x.text, math.Float64frombits(ops[2])), " ; "...)
		if e.Defs.Regions.Has(ref) {
			x.text, _ = attrlist.Append(x.text, "name", e.Defs.Regions.At(ref).Name)
			x.text = append(x.text, ", "...)
		}
		if e.Plain {
			e.attributePairs(c)
		} else {
			e.pairs = e.AppendRow(carrier.AppendKind(e.pairs[:0], e.Defs, c.Kind(), ref), c)
		}
		for i, p := range e.pairs {
			if i > 0 {
				x.text = append(x.text, ", "...)
			}
			x.text, _ = attrlist.Append(x.text, p.Key, p.Value)
		}
		e.claims.add(&e.queue, at, claimKey{int64(ops[0]), uint32(ops[1]), ref})
		return e.queue.write()
	case trace.ClaimEnd:
		ops := c.Ops()
		if len(ops) != 2 {
			break
		}
		if at, ok := e.claims.take(&e.queue, claimKey{int64(ops[0]), uint32(ops[1]), ref}); ok {
			return e.foreignEnd(c, at)
		}
	}
	return e.event(c)
}

// foreignEnd ends the line of a visit or a claim.
func (e *encoder) foreignEnd(c *trace.Cursor, at int64) error {
	e.attributePairs(c)
	e.buf = e.buf[:0]
	if !e.Plain {
		e.buf = e.queue.at(at).carry(e.buf, e.seq)
	}
	for _, p := range e.pairs {
		e.buf = append(e.buf, ", "...)
		e.buf, _ = attrlist.Append(e.buf, "@"+p.Key, p.Value)
	}
	if err := e.queue.end(at, e.timeText(), e.buf); err != nil {
		return err
	}
	return e.queue.write()
}

// name is the full name of a location.
func (e *encoder) name(loc uint32) string {
	if int(loc) >= len(e.names) {
		e.names = e.Defs.FullNames()
	}
	return e.names[loc]
}

// attributePairs makes the pairs of a row's attributes.
func (e *encoder) attributePairs(c *trace.Cursor) []carrier.Pair {
	if e.pairs = e.pairs[:0]; e.Plain {
		e.pairs = carrier.AppendPlainAttrs(e.pairs, e.Defs, c)
	} else {
		e.pairs = e.AppendAttrs(e.pairs, c)
	}
	return e.pairs
}

// ownLine reports whether a claim can be a C line: its location stands for its resource and
// nothing else, and it has an offset if the resource has. The location's R line is that of the
// resource then.
func (e *encoder) ownLine(c *trace.Cursor) bool {
	ops, loc := c.Ops(), c.Location()
	if len(ops) < 3 || len(ops) > 4 || ops[1] >= uint64(e.Defs.Resources.Len()) || !e.Defs.Locations.Has(loc) {
		return false
	}
	resource := uint32(ops[1])
	if r := e.Defs.Resources.At(resource); r.Location != loc || r.UsesOffset != (len(ops) == 4) || e.Defs.Locations.At(loc).Kind != trace.ResourceLocation {
		return false
	}
	if int(loc) < len(e.deep) && e.deep[loc] > 0 {
		return false
	}
	for int(loc) >= len(e.claimed) {
		e.claimed = append(e.claimed, 0)
	}
	if e.claimed[loc] == 0 {
		e.claimed[loc] = 1 + resource
	}
	return e.claimed[loc] == 1+resource
}

// event writes a row as an E line.
func (e *encoder) event(c *trace.Cursor) error {
	r := &e.rec
	*r = Record{Keyword: E, ID: e.next, Start: e.last, Attrs: r.Attrs[:0]}
	e.next++
	if ref := c.Ref(); ref != trace.NoRef && e.Defs.Spec(c.Kind()).Ref == trace.RefRegion {
		r.Attrs = append(r.Attrs, Attr{"name", e.Defs.Regions.At(ref).Name})
	}
	switch {
	case c.Kind() == trace.Mark:
	case e.Plain:
		e.Lost.Add(e.Defs.Spec(c.Kind()).Name, "", format.Degraded, "an E line whose attributes say what it is", 1)
	default:
		e.Rows.NoteField(c, "")
	}
	if e.Plain {
		r.Attrs = append(r.Attrs, Attr{"location", e.name(c.Location())})
		e.pairs = carrier.AppendPlain(e.pairs[:0], e.Defs, c)
	} else {
		place := strconv.FormatUint(uint64(c.Location()), 10) + ":" + strconv.FormatInt(e.seq, 10)
		if c.Derived() {
			place += ":derived"
		}
		r.Attrs = append(r.Attrs, Attr{carryKey, place})
		e.pairs = carrier.AppendKind(e.pairs[:0], e.Defs, c.Kind(), c.Ref())
		e.pairs = e.AppendRow(e.pairs, c)
	}
	for _, p := range e.pairs {
		r.Attrs = append(r.Attrs, Attr{p.Key, p.Value})
	}
	return e.w.Write(r)
}

// Links writes dependencies. Most come when all events have been written.
func (e *encoder) Links(links []trace.Link) error {
	if e.native && e.queue.empty() {
		if err := e.w.join(); err != nil {
			return err
		}
	}
	if !e.native {
		if e.Plain {
			e.Lost.Add("link", "", format.Lost, "other than those of TRACE", int64(len(links)))
			return nil
		}
		return e.carryLinks(links)
	}
	for i := range links {
		l := &links[i]
		typ, ok := dependencyType(l.Src.Kind, l.Dst.Kind)
		if !ok {
			if err := e.carryLinks(links[i : i+1]); err != nil {
				return err
			}
			continue
		}
		if !slices.Equal(l.Attrs, e.linked) {
			e.linked, e.linkText = e.linked[:0], e.linkText[:0]
			for j, a := range l.Attrs {
				a.Key, a.Value.Str = strings.Clone(a.Key), strings.Clone(a.Value.Str)
				e.linked = append(e.linked, a)
				if j > 0 {
					e.linkText = append(e.linkText, ',')
				}
				e.linkText, _ = attrlist.Append(append(e.linkText, ' '), a.Key, a.Value.String())
			}
		}
		s := e.w.dependencies()
		from := len(s.Line())
		b := slices.Grow(s.Line(), 128)
		to := b[len(b) : len(b)+128]
		to[0], to[1] = 'D', ' '
		i := 2 + digits.Put(to[2:34], l.ID)
		to[i], to[i+1], to[i+2] = ' ', byte('0'+typ), ' '
		i += 3
		i += digits.Put(to[i:i+32], l.Src.ID)
		to[i] = ' '
		i += 1 + digits.Put(to[i+1:i+33], l.Dst.ID)
		to[i], to[i+1] = ' ', ';'
		b = appendShort(b[:len(b)+i+2], e.linkText)
		if err := s.Done(append(e.from.line(l.Pos, b, from), '\n')); err != nil {
			return err
		}
	}
	return nil
}

// carryLinks writes links as an E line.
func (e *encoder) carryLinks(links []trace.Link) error {
	e.Lost.Add("link", "", format.WeftOnly, "other than those of TRACE", int64(len(links)))
	r := &e.rec
	r.Keyword, r.ID, r.Start, r.Attrs = E, e.next, e.Time(links[0].Src.Time), append(r.Attrs[:0], Attr{"weft.links", carrier.Text(carrier.PackLinks(links))})
	e.next++
	return e.w.Write(r)
}

// Close writes the whole text.
func (e *encoder) Close() error {
	e.Times.Count(&e.Lost)
	if err := e.finish(); err != nil {
		return err
	}
	if err := e.w.Close(); err != nil || e.from == nil {
		return err
	}
	return e.from.err
}

func (e *encoder) finish() error {
	// What never ended cannot be a claim, which has an end.
	open, err := e.queue.drain(e.timeText(), !e.native && !e.Plain)
	if err != nil {
		return err
	}
	d := e.Defs
	if e.native {
		e.Lost.Add("claim-begin", "", format.Degraded, "never ended; the claim ends with the trace", open)
		for _, c := range e.w.curves {
			if err := e.w.endSamples(c); err != nil {
				return err
			}
		}
		e.w.forget()
		if d.Clock.HasEpoch && d.Clock.Epoch%1_000_000 != 0 {
			e.Lost.Add("clock", "epoch", format.Degraded, "cut to milliseconds", 1)
		}
		if err := e.nativeDefinitions(); err != nil {
			return err
		}
		e.from.count(&e.Lost)
		e.comments(true)
		return nil
	}
	if err := e.units(); err != nil {
		return err
	}
	err = e.CarryDefinitions(&e.Lost, func(number, text string) error {
		return e.w.Write(&Record{Keyword: T, Attrs: []Attr{{carryPrefix + number, text}}})
	})
	if err != nil {
		return err
	}
	for i, r := range e.claimed {
		if r == 0 {
			continue
		}
		x := d.Resources.At(r - 1)
		line := Record{Keyword: R, ID: int64(i), Capacity: x.Capacity, UsesOffset: x.UsesOffset, Attrs: []Attr{{"name", x.Label()}}}
		if x.Unit != "" {
			line.Attrs = append(line.Attrs, Attr{"unit", x.Unit})
		}
		if err := e.w.Write(&line); err != nil {
			return err
		}
	}
	names := d.FullNames()
	for i := range e.used {
		if e.deep[i] == 0 {
			continue
		}
		if err := e.w.Write(&Record{Keyword: R, ID: int64(i), Capacity: float64(e.deep[i]), Attrs: []Attr{{"name", names[i]}}}); err != nil {
			return err
		}
	}
	return nil
}

// units writes how times are counted.
func (e *encoder) units() error {
	err := e.w.Write(&Record{Keyword: TU, Unit: e.unit})
	if err == nil && e.Defs.Clock.HasEpoch {
		err = e.w.Write(&Record{Keyword: O, ID: e.Defs.Clock.Epoch / 1_000_000})
	}
	return err
}

// onceEach cuts a list where a key comes again: of equal keys in one line only the last counts.
func onceEach(list []Attr) (parts [][]Attr) {
	seen := map[string]bool{}
	from := 0
	for i, a := range list {
		if seen[a.Key] {
			parts = append(parts, list[from:i])
			from = i
			clear(seen)
		}
		seen[a.Key] = true
	}
	return append(parts, list[from:])
}

// comments adds the comments that stand before all other lines; at the end these are all that have found no
// place.
func (e *encoder) comments(end bool) {
	if e.from != nil {
		for _, x := range e.from.notes {
			if !x.placed && (end || x.before == 0) {
				e.w.comment(x.text)
			}
		}
		return
	}
	for _, o := range e.Defs.Opaque.All() {
		if o.Format == "etf" {
			e.w.comment(noteText(o.Data))
		}
	}
}

func (e *encoder) nativeDefinitions() error {
	if err := e.units(); err != nil {
		return err
	}
	d := e.Defs
	text := func(in []trace.Attr) (out []Attr) {
		for _, a := range in {
			out = append(out, Attr{a.Key, a.Value.String()})
		}
		return
	}
	properties := text(d.Properties.All())
	for _, u := range []Record{{Keyword: TU, Unit: e.unit}, {Keyword: O, ID: e.w.off}} {
		e.from.definition(&u) // for the comments before it
	}
	lines, ok := e.from.properties(properties)
	if !ok {
		for _, list := range onceEach(properties) {
			lines = append(lines, Record{Keyword: T, Attrs: list})
		}
	}
	for i := range lines {
		if err := e.w.Write(&lines[i]); err != nil {
			return err
		}
	}
	var recs []Record
	for i := range d.Resources.Len() {
		r := d.Resources.At(uint32(i))
		if r.Undefined {
			continue // nor was it in the file
		}
		recs = append(recs, Record{Keyword: R, ID: e.id(r.ID, "resource"), Capacity: r.Capacity, UsesOffset: r.UsesOffset, Attrs: text(r.Attrs)})
	}
	for i := range d.Groups.Len() {
		if g := d.Groups.At(uint32(i)); g.Kind == "time series" {
			recs = append(recs, Record{Keyword: TS, ID: e.id(g.ID, "time series"), Attrs: text(g.Attrs)})
		}
	}
	for i := range d.Metrics.Len() {
		m := d.Metrics.At(uint32(i))
		if m.Undefined {
			continue
		}
		if m.Kind == trace.SignalMetric {
			recs = append(recs, Record{Keyword: S, ID: e.id(m.ID, "signal"), Attrs: text(m.Attrs)})
			continue
		}
		r := Record{Keyword: TSS, Attrs: text(m.Attrs)}
		if _, err := fmt.Sscanf(m.ID, "%d/%d", &r.ID, &r.Series); err == nil {
			recs = append(recs, r)
		}
	}
	for i := range recs {
		e.from.definition(&recs[i])
		if err := e.w.Write(&recs[i]); err != nil {
			return err
		}
	}
	return nil
}

// queueLimit is how many claims wait for an older one to end before that one
// is put aside. Their texts of up to textLimit bytes are used again.
const (
	queueLimit = 1 << 14
	textLimit  = 256
	textRoom   = 160
)

// queue holds claims in the order in which they begin until they end, so that
// they can be written in that order. A claim that lasts longer than queueLimit
// others is taken out and inserted at its place when the file is put together.
type queue struct {
	w     *Writer
	list  []queued // ring
	first int64    // number of the oldest
	next  int64
	aside map[int64]*queued // claims taken out, by number
	buf   []byte
	from  *rewriter
}

// append writes a claim's line.
func (q *queue) append(x *queued, b []byte) []byte {
	if q.from == nil {
		return x.append(b)
	}
	n := len(b)
	b = x.append(b)
	return append(q.from.line(x.pos, b[:len(b)-1], n), '\n')
}

// carry writes the attribute that restores a region: "region:order of the
// enter:order of the leave", the last one absent when it is never left.
func (x *queued) carry(b []byte, leave int64) []byte {
	b = append(b, ", "+carryKey+"="...)
	b = digits.AppendUint(b, uint64(x.region))
	b = digits.AppendInt(append(b, ':'), x.order)
	b = append(b, ':')
	if leave >= 0 {
		b = digits.AppendInt(b, leave)
	}
	return b
}

type queued struct {
	text   []byte // the line without the end, which belongs at cut
	end    []byte
	cut    int
	order  int64    // foreign: rank of the enter among all rows
	region uint32   // foreign
	key    claimKey // native
	done   bool
	other  bool  // openClaims has it in its map
	place  int64 // where in the spool it belongs, when it was taken out
	pos    int64 // of its line in the file
}

// append writes the claim's line.
func (x *queued) append(b []byte) []byte {
	n := len(b)
	if x.cut > 32 || len(x.end) > 32 || cap(x.end) < 32 || len(x.text)-x.cut > 64 || cap(x.text) < textRoom || cap(b)-n < textRoom {
		b = append(append(append(b, x.text[:x.cut]...), x.end...), x.text[x.cut:]...)
		return append(b, '\n')
	}
	// Without asking how much of it is needed.
	from, to := x.text[:textRoom], b[n:n+textRoom]
	copy32(to, from)
	i := x.cut
	copy32(to[i:], x.end[:32])
	i += len(x.end)
	copy32(to[i:], from[x.cut:])
	copy32(to[i+32:], from[x.cut+32:])
	i += len(x.text) - x.cut
	to[i] = '\n'
	return b[:n+i+1]
}

// empty reports whether no claim is waiting.
func (q *queue) empty() bool { return q.first == q.next && len(q.aside) == 0 }

// at is claim number n, nil if it has been written.
func (q *queue) at(n int64) *queued {
	if n < q.first || n >= q.next {
		return q.aside[n]
	}
	return &q.list[n&int64(len(q.list)-1)]
}

// begin adds a claim and returns its number; its resource and all that follows
// are to be appended to its text, which has room for 32 bytes at least. start has
// as much memory.
func (q *queue) begin(id int64, start []byte) (int64, *queued) {
	if q.list == nil {
		q.list = make([]queued, 64) // small enough for the cache, which it goes round in
	}
	if q.next-q.first == int64(len(q.list)) {
		old := q.list
		q.list = make([]queued, 2*len(old))
		for n := q.first; n < q.next; n++ {
			q.list[n&int64(len(q.list)-1)] = old[n&int64(len(old)-1)]
		}
	}
	n := q.next
	q.next++
	x := q.at(n)
	x.done = false
	if x.text == nil {
		x.text, x.end = make([]byte, 0, textRoom), make([]byte, 0, 32)
	}
	if len(start) > 32 {
		b := digits.AppendInt(append(x.text[:0], "C "...), id)
		b = append(append(append(b, ' '), start...), "  "...)
		x.cut, x.text = len(b)-1, slices.Grow(b, 32)
		return n, x
	}
	to := x.text[:textRoom]
	to[0], to[1] = 'C', ' '
	i := 2 + digits.Put(to[2:34], id)
	to[i] = ' '
	copy32(to[i+1:i+33], start[:32])
	i += 1 + len(start)
	to[i], to[i+1] = ' ', ' '
	x.cut, x.text = i+1, to[:i+2]
	return n, x
}

// end says when claim n ends; more is appended to its attributes.
func (q *queue) end(n int64, t []byte, more []byte) error {
	x := q.at(n)
	x.end, x.done = appendShort(x.end[:0], t), true
	if len(more) > 0 {
		x.text = append(x.text, more...)
	}
	if n < q.first {
		delete(q.aside, n)
		q.buf = q.append(x, q.buf[:0])
		return q.w.first.Insert(x.place, q.buf)
	}
	return nil
}

// write hands on the claims that are complete and whose elders are too.
func (q *queue) write() error {
	if q.first == q.next || !q.at(q.first).done && q.next-q.first <= queueLimit {
		return nil
	}
	err := q.w.begin()
	if err != nil {
		return err
	}
	s := &q.w.first.Spool
	for q.first < q.next {
		x := q.at(q.first)
		if !x.done {
			if q.next-q.first <= queueLimit {
				return nil
			}
			if q.aside == nil {
				q.aside = map[int64]*queued{}
			}
			y := *x
			y.place = q.w.claimsSize()
			q.aside[q.first] = &y
			*x = queued{}
			q.first++
			continue
		}
		if q.w.joined {
			err = q.w.claim(func(b []byte) []byte { return q.append(x, b) })
		} else {
			err = s.Done(q.append(x, s.Line()))
		}
		if err != nil {
			return err
		}
		if cap(x.text) > textLimit {
			x.text = nil
		}
		q.first++
	}
	return nil
}

// drain ends what is open at time t and hands everything on. carried tells
// that the claims are regions of another format's trace: they are marked as
// having no end.
func (q *queue) drain(t []byte, carried bool) (open int64, err error) {
	waiting := slices.Sorted(maps.Keys(q.aside))
	for n := q.first; n < q.next; n++ {
		if !q.at(n).done {
			waiting = append(waiting, n)
		}
	}
	for _, n := range waiting {
		var more []byte
		if carried {
			more = q.at(n).carry(nil, -1)
		}
		if err := q.end(n, t, more); err != nil {
			return 0, err
		}
	}
	return int64(len(waiting)), q.write()
}

// copyTrace writes a TRACE file as TRACE, line by line: records get the canonical
// spelling. Comments, empty lines and lines with a defect stay as they stand.
func copyTrace(ctx context.Context, src format.Source, ro *format.ReadOptions, out *format.Output) (*format.Loss, error) {
	r, err := NewReader(ctx, src, ro)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	w := bufio.NewWriterSize(out, 64<<10)
	var rec Record
	for n := 0; ; n++ {
		if n%trace.BatchRows == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		text, err := r.canonical(&rec)
		if err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		if _, err := w.Write(append(text, '\n')); err != nil {
			return nil, err
		}
	}
	loss := &format.Loss{}
	loss.Add("line", "", format.Lost, "longer than the option etf.max-line allows", r.lines.Skipped())
	return loss, w.Flush()
}

// rawTrace prints the lines of the file as they are.
func rawTrace(ctx context.Context, src format.Source, ro *format.ReadOptions, w io.Writer) error {
	return format.CopyText(ctx, src, w)
}
