package etf

import (
	"context"
	"encoding/binary"
	"fmt"
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

// encoder writes a trace of the common model as a TRACE file. A trace that was read from a TRACE file
// keeps its ids and original lines. Any other trace is written with three aims: TRACE shows its regions
// as claims on one resource for each location, TRACE shows its claims as claims, and this package can
// restore it exactly. For that, attributes of the trace carry the definitions. A visit becomes a claim
// whose attributes are the region and the visit's own attributes. A claim has its operands as
// additional attributes. Every other event becomes an E line whose attributes are its kind and
// operands.
type encoder struct {
	linetrace.Encoder
	w      *Writer
	native bool
	from   *rewriter // finds the original lines of the file that is rewritten, or nil

	last   trace.Decimal // time of the last row
	texted trace.Decimal // the time whose text is in the field text
	text   []byte
	unit   string

	rec   Record
	pairs []carrier.Pair
	names []string // full names of locations
	buf   []byte
	tail  []byte // attributes of the end event of a claim
	seq   int64  // number of rows so far; the id of a claim or event of another format's trace
	tied  bool   // the last row has the time of the row before it; used only for traces of other formats

	resources []int64  // ids of resources, by their index
	keys      [][]byte // texts of attribute keys (see keyText)
	keyEnds   []bool   // whether the keys have a line end
	reals     [256]realText
	signals   []signal     // curves of signals, by metric
	linked    []trace.Attr // attributes of the last link
	linkText  []byte       // text of these attributes
	linkEnds  int64        // number of these attributes with a line end
	queue     queue
	// lastBegin is the number of the claim that began last, and begun the time of its begin. lastEnd is the number
	// of the claim that ended last, and ended the time of its end.
	lastBegin, begun, lastEnd, ended int64
	section                          int // section of the file to which the last row belongs
	sectionTime                      int64
	lastCurve                        *curve // the curve to which a fragment or sample was last added
	lastCurveTime                    int64  // the time of that fragment or sample
	claims                           openClaims
	// positions in queue of the open visits of a region; used only for traces of other formats
	stacks  map[stackKey][]int64
	depth   []int32  // number of open visits at each location; used only for traces of other formats
	deep    []int32  // greatest value that depth has had at each location
	used    []bool   // locations that have claims
	claimed []uint32 // 1 + the resource of a location's claims; used only for traces of other formats
}

type stackKey struct{ loc, ref uint32 }

// Create returns an encoder that writes to out.
func (Format) Create(out *format.Output, opt *format.WriteOptions) (format.Encoder, error) {
	if err := about.CheckOptions(opt.Values); err != nil {
		return nil, err
	}
	return &encoder{Encoder: linetrace.Encoder{Plain: opt.Plain, Mapping: mapping}, w: NewWriter(out),
		text: make([]byte, 0, 64), linkText: make([]byte, 0, 64), claims: openClaims{others: map[claimKey]int64{}},
		stacks: map[stackKey][]int64{}}, nil
}

// Abort deletes the encoder's temporary files.
func (e *encoder) Abort() { e.w.Discard() }

// Begin converts the definitions of the trace. Definitions that are added later are written by Close.
func (e *encoder) Begin(d *trace.Definitions) error {
	e.Encoder.Begin(d)
	e.native = d.Origin == "etf"
	e.queue.w = e.w
	// Choose the time unit of TRACE that equals the unit of the clock, if there is one.
	e.unit = "SECONDS"
	if u := d.Clock.Unit; u > 0 {
		for _, x := range timeUnits {
			// One time unit lasts u ticks, which are u × Den/Num seconds.
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
	if o, ok := d.Native.(*originalFile); ok {
		e.rewrite(o)
		e.queue.from = e.from
	}
	// Close writes the definitions again, most of them unchanged. Losses must not be counted twice.
	defer func() { e.Lost = format.Loss{} }()
	e.writeComments(false)
	return e.writeNativeDefinitions()
}

// timeText returns the text of the last row's time. It is cached, because many rows share a time.
func (e *encoder) timeText() []byte {
	if len(e.text) == 0 || e.last != e.texted {
		e.text, e.texted = e.last.AppendTrim(e.text[:0]), e.last
	}
	return e.text
}

// WriteEvents writes events in global order, because events of all locations are in one text.
func (e *encoder) WriteEvents(ctx context.Context, events format.Events, sel trace.Selection) error {
	return events.Scan(ctx, sel, format.GlobalOrder, e)
}

// Batch writes the rows of a batch.
func (e *encoder) Batch(b *trace.Batch) error {
	if e.native {
		return e.writeNativeBatch(b)
	}
	c := b.Cursor() // declared outside the loop: a declaration inside the loop would copy the cursor for each row
	for c.Next() {
		t := e.Time(c.Time())
		e.tied = e.seq > 0 && t == e.last
		e.seq++
		e.last = t
		if err := e.writeForeignRow(&c); err != nil {
			return err
		}
	}
	return nil
}

// row holds the columns of one row of a batch.
type row struct {
	kind trace.Kind
	ref  uint32
	time int64
	ops  []uint64
	keys []uint32 // keys of the attributes
	vals []trace.Value
	pos  int64 // number of the line in the file
}

// writeNativeBatch writes the rows of a batch of a TRACE trace. It reads the columns directly, because a
// cursor would repeat checks for each row.
func (e *encoder) writeNativeBatch(b *trace.Batch) error {
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
		if err := e.writeNativeRow(&x); err != nil {
			return err
		}
	}
	return nil
}

// appendAttributes appends the attributes of a row to b. It writes all values as texts, because TRACE
// has no other type.
func (e *encoder) appendAttributes(b []byte, x *row) []byte {
	vals := x.vals[:len(x.keys)]
	for i, k := range x.keys {
		key := e.keyText(k)
		if i == 0 {
			key = key[1:]
		}
		b = appendShort(b, key)
		text := vals[i].Str
		if vals[i].Type != trace.String {
			text = vals[i].String()
			e.Lost.Add(e.Defs.Spec(x.kind).Name, "attribute", format.Degraded, "written as text", 1)
		}
		var replaced bool
		// A rewriter counts the line ends in the original lines that it changes.
		if b, replaced = attrlist.AppendText(b, text); (replaced || e.keyEnds[k]) && (e.from == nil || x.pos <= 0) {
			e.Lost.Add(e.Defs.Spec(x.kind).Name, "attribute", format.Degraded, lineEndReplaced, 1)
		}
	}
	return b
}

// keyText returns the text ", key=" of an attribute, from a cache.
func (e *encoder) keyText(k uint32) []byte {
	for n := len(e.keys); int(k) >= n; n++ {
		b, replaced := attrlist.AppendText(append(make([]byte, 0, 80), ", "...),
			e.encodeText(e.Defs.Attributes.At(uint32(n)).Name))
		e.keys, e.keyEnds = append(e.keys, append(b, '=')), append(e.keyEnds, replaced)
	}
	return e.keys[k]
}

// encodeText converts a text of the definitions to the encoding of the file.
func (e *encoder) encodeText(s string) string {
	if e.Defs.Encoding != trace.Latin1 || !e.native || linetrace.IsASCII(s) {
		return s
	}
	s, ok := trace.ToLatin1(s)
	if !ok {
		e.Lost.Add("text", "encoding", format.Degraded,
			"has characters that Latin-1 does not have; written as UTF-8", 1)
	}
	return s
}

// signal connects a signal of the trace with the curve that the writer keeps for it.
type signal struct {
	id    int64
	curve *curve
}

// realText is an entry of a cache of number texts. The cache is small, because traces have few
// different amounts.
type realText struct {
	bits uint64
	text [16]byte
	n    int // length of the text; 0 if the entry is empty
}

// appendReal appends a blank and the number f.
func (e *encoder) appendReal(b []byte, f float64) []byte {
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

// resourceID returns the id that a resource has in the file.
func (e *encoder) resourceID(i uint32) int64 {
	for int(i) >= len(e.resources) {
		e.resources = append(e.resources, e.id(e.Defs.Resources.At(uint32(len(e.resources))).ID, "resource"))
	}
	return e.resources[i]
}

// writeNativeRow writes a row of a trace that was read from a TRACE file.
func (e *encoder) writeNativeRow(x *row) error {
	ops, k := x.ops, x.kind
	if e.section != 0 || k != trace.ClaimBegin && k != trace.ClaimEnd {
		e.checkSections(k, x.time)
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
		b := q.text[:n+digits.Put(q.text[n:n+32], e.resourceID(uint32(ops[1])))]
		b = e.appendReal(b, first)
		if len(ops) > 3 {
			b = e.appendReal(b, math.Float64frombits(ops[2]))
		}
		q.text = e.appendAttributes(append(b, " ;"...), x)
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
		at, isGuess, ok := e.claims.remove(&e.queue, claimKey{int64(ops[0]), uint32(ops[1]), x.ref}, x.pos)
		if !ok {
			e.Lost.Add("claim-end", "", format.Lost, "the begin of the claim is missing", 1)
			return nil
		}
		if isGuess {
			e.Lost.Add("claim-end", "claim", format.Degraded,
				"several open claims have this id; the end belongs to the one that began first", 1)
		}
		e.checkEnd(at, x.time)
		var more []byte
		// a line has a single attribute list, so the attributes of the claim's end follow the attributes of
		// its begin
		if len(x.keys) > 0 {
			b := e.tail[:0]
			if text := e.queue.claim(at).text; text[len(text)-1] != ';' {
				b = append(b, ',')
			}
			e.tail = e.appendAttributes(b, x)
			more = e.tail
		}
		if err := e.queue.end(at, e.timeText(), more); err != nil || at > e.queue.first {
			return err // an older claim is still open, so this claim must wait
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
		b = e.appendAttributes(append(appendShort(b, e.timeText()), " ;"...), x)
		return s.Done(append(e.from.restoreLine(x.pos, b, from), '\n'))
	case trace.Fragment:
		if len(ops) >= 4 {
			return e.writeNativeFragment(x)
		}
	case trace.Metric, trace.SampleRange:
		if len(ops) >= 1 {
			return e.writeNativeSample(x)
		}
	}
	e.Lost.Add(e.Defs.Spec(x.kind).Name, "", format.Lost, "TRACE has no line type for it", 1)
	return nil
}

// writeNativeFragment writes a fragment of a signal of a trace that was read from a TRACE file.
func (e *encoder) writeNativeFragment(x *row) error {
	ops := x.ops
	e.countStripped(x)
	for n := len(e.signals); int(x.ref) >= n; n++ {
		e.signals = append(e.signals, signal{})
	}
	s := &e.signals[x.ref]
	if s.curve == nil {
		s.id = e.id(e.Defs.Metrics.At(x.ref).ID, "signal")
		s.curve = e.w.curve(seriesKey{kind: S, group: s.id})
	}
	e.checkCurves(s.curve, x)
	l := &s.curve.lines
	from := len(l.Line())
	b := digits.AppendInt(append(l.Line(), "F "...), s.id)
	b = appendTime(appendShort(append(b, ' '), e.timeText()), e.Time(int64(ops[0])))
	for _, v := range ops[1:4] {
		b = appendReal(b, math.Float64frombits(v))
	}
	return l.Done(append(e.from.restoreLine(x.pos, b, from), '\n'))
}

// writeNativeSample writes a sample or a range of samples of a trace that was read from a TRACE file.
func (e *encoder) writeNativeSample(x *row) error {
	ops, r := x.ops, &e.rec
	e.countStripped(x)
	r.Keyword, r.Times, r.Values = TSP, r.Times[:0], r.Values[:0]
	if _, err := fmt.Sscanf(e.Defs.Metrics.At(x.ref).ID, "%d/%d", &r.ID, &r.Series); err != nil {
		e.Lost.Add("metric", "", format.Lost, "the id of its series does not have the form group/series", 1)
		return nil
	}
	c := e.w.curve(seriesKey{TSS, r.ID, r.Series})
	e.checkCurves(c, x)
	if x.kind == trace.Metric {
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
	changed, err := e.w.rewriteSample(c, x.pos, x.time, r)
	if changed {
		e.Lost.Add(e.Defs.Spec(x.kind).Name, "order", format.Degraded,
			"events with the same time on different lines change their order", 1)
	}
	return err
}

// countStripped counts as lost the attributes of a row that becomes a line without an attribute list.
func (e *encoder) countStripped(x *row) {
	if len(x.keys) > 0 {
		e.Lost.Add(e.Defs.Spec(x.kind).Name, "attribute", format.Degraded,
			"lines of this type cannot have attributes", int64(len(x.keys)))
	}
}

// checkSections counts a change of order if an event precedes another event of the same time although its line
// belongs to a later section of the file. The sections are claims, events, fragments and samples.
func (e *encoder) checkSections(k trace.Kind, t int64) {
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
		e.Lost.Add(e.Defs.Spec(k).Name, "order", format.Degraded,
			"events with the same time and different kinds change their order",
			1)
		return
	}
	e.section, e.sectionTime = rank, t
}

// checkCurves counts a change of order if a fragment or sample of curve x follows one of the same time whose
// curve comes after x in the file.
func (e *encoder) checkCurves(x *curve, r *row) {
	if t := r.time; e.lastCurve == nil || e.lastCurveTime != t || e.lastCurve.compare(x) <= 0 {
		e.lastCurve, e.lastCurveTime = x, t
		return
	}
	e.Lost.Add(e.Defs.Spec(r.kind).Name, "order", format.Degraded,
		"events with the same time of different signals or series change their order", 1)
}

// checkEnd counts a change of order at the end of the claim with number at, if an earlier event of the same
// time would be delivered after that end by a reader of the file. A reader orders events with equal times by
// their lines, and claims are written in the order in which they begin.
func (e *encoder) checkEnd(at, t int64) {
	if e.lastBegin > at && e.begun == t || e.lastEnd > at && e.ended == t {
		e.Lost.Add("claim-end", "order", format.Degraded,
			"events with the same time of different claims change their order", 1)
	}
	e.lastEnd, e.ended = at, t
}

// Close writes the remaining lines.
func (e *encoder) Close() error {
	if err := e.finish(); err != nil {
		return err
	}
	if err := e.w.Close(); err != nil || e.from == nil {
		return err
	}
	return e.from.err
}

func (e *encoder) finish() error {
	// A visit that is still open at the end cannot become a claim, because a claim needs an end.
	open, err := e.queue.drain(e.timeText(), !e.native && !e.Plain)
	if err != nil {
		return err
	}
	d := e.Defs
	if e.native || e.Plain { // data that only weft reads keep this
		visits := int64(0)
		for _, s := range e.stacks {
			visits += int64(len(s))
		}
		e.Lost.Add("claim-begin", "", format.Degraded,
			"the end of the claim is missing; the end of the trace is written", open-visits)
		e.Lost.Add("enter", "", format.Degraded, "the leave is missing; the end of the trace is written", visits)
		if d.Clock.HasEpoch && d.Clock.Epoch%1_000_000 != 0 {
			e.Lost.Add("clock", "epoch", format.Degraded, "rounded down to milliseconds", 1)
		}
	}
	if e.native {
		for _, c := range e.w.curves {
			if err := e.w.endSamples(c); err != nil {
				return err
			}
		}
		e.w.discardDefinitions()
		if err := e.writeNativeDefinitions(); err != nil {
			return err
		}
		e.from.countComments(&e.Lost)
		e.writeComments(true)
		return nil
	}
	if err := e.writeUnits(); err != nil {
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
		line := Record{Keyword: R, ID: int64(i), Capacity: x.Capacity, UsesOffset: x.UsesOffset,
			Attrs: []Attr{{"name", x.Label()}}}
		if x.Unit != "" {
			line.Attrs = append(line.Attrs, Attr{"unit", x.Unit})
		}
		if err := e.writeDefinition(&line); err != nil {
			return err
		}
	}
	names := d.FullNames()
	for i := range e.used {
		if e.deep[i] == 0 {
			continue
		}
		if err := e.writeDefinition(&Record{Keyword: R, ID: int64(i), Capacity: float64(e.deep[i]),
			Attrs: []Attr{{"name", names[i]}}}); err != nil {
			return err
		}
	}
	return nil
}

// writeUnits writes the time unit and the offset of the clock.
func (e *encoder) writeUnits() error {
	err := e.w.Write(&Record{Keyword: TU, Unit: e.unit})
	if err == nil && e.Defs.Clock.HasEpoch {
		err = e.w.Write(&Record{Keyword: O, ID: e.Defs.Clock.Epoch / 1_000_000})
	}
	return err
}

// splitRepeated splits a list of attributes so that no part repeats a key. Within one line, only the
// last of several equal keys counts.
func splitRepeated(list []Attr) (parts [][]Attr) {
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

// writeComments writes comments before all other lines. At the end of the trace (end is set), it writes all
// comments that have no other place.
func (e *encoder) writeComments(end bool) {
	if e.from != nil {
		for _, x := range e.from.inOrder() {
			if !x.placed && (end || x.before == 0) {
				e.w.addComment(x.text)
			}
		}
		return
	}
	for _, o := range e.Defs.Opaque.All() {
		if o.Format == "etf" {
			e.w.addComment(noteText(e.encodeText(o.Data)))
		}
	}
}

func (e *encoder) writeNativeDefinitions() error {
	if err := e.writeUnits(); err != nil {
		return err
	}
	d := e.Defs
	text := func(in []trace.Attr) (out []Attr) {
		for _, a := range in {
			out = append(out, Attr{e.encodeText(a.Key), e.encodeText(a.Value.String())})
		}
		return
	}
	properties := text(d.Properties.All())
	for _, u := range []Record{{Keyword: TU, Unit: e.unit}, {Keyword: O, ID: e.w.off}} {
		e.from.restoreSpelling(&u) // writes the comments that stand before the TU line
	}
	lines, ok := e.from.properties(properties)
	if !ok {
		for _, list := range splitRepeated(properties) {
			lines = append(lines, Record{Keyword: T, Attrs: list})
		}
	}
	for i := range lines {
		if err := e.writeDefinition(&lines[i]); err != nil {
			return err
		}
	}
	var recs []Record
	for i := range d.Resources.Len() {
		r := d.Resources.At(uint32(i))
		if r.Undefined {
			continue // the original file has no such line either
		}
		recs = append(recs, Record{Keyword: R, ID: e.id(r.ID, "resource"), Capacity: r.Capacity, UsesOffset: r.UsesOffset,
			Attrs: text(r.Attrs)})
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
		e.from.restoreSpelling(&recs[i])
		if err := e.writeDefinition(&recs[i]); err != nil {
			return err
		}
	}
	return nil
}

// writeDefinition writes a record, and counts its texts with line ends unless they are kept: in an original line, or
// in data that only weft reads.
func (e *encoder) writeDefinition(r *Record) error {
	for _, a := range r.Attrs {
		if r.line == "" && (e.native || e.Plain) && (hasLineEnd(a.Key) || hasLineEnd(a.Value)) {
			e.Lost.Add("text", a.Key, format.Degraded, lineEndReplaced, 1)
		}
	}
	return e.w.Write(r)
}

// lineEndReplaced is the reason of the losses that a line end in a text causes.
const lineEndReplaced = "a line end was replaced by a blank"

// hasLineEnd reports whether a text has a line end, which TRACE cannot hold.
func hasLineEnd(s string) bool { return strings.ContainsAny(s, "\r\n") }
