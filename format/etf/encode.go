package etf

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/internal/attrlist"
	"github.com/weft-trace/weft/internal/digits"
	"github.com/weft-trace/weft/internal/linetrace"
	"github.com/weft-trace/weft/trace"
)

// encoder writes the common model as a TRACE file. A trace with TRACE's own ids gets its original
// lines. Any other trace is written so that TRACE shows its regions as claims on one resource for
// each location, and its claims as claims, and so that this package restores it exactly: attributes
// of the trace carry the definitions, a visit becomes a claim with the region and its attributes, a
// claim has its operands as additional attributes, and every other event becomes an E line with its
// kind and operands as attributes.
type encoder struct {
	linetrace.Encoder
	w      *Writer
	native bool
	from   *rewriter // of a file that is rewritten, or nil

	last   trace.Decimal // time of the last row
	texted trace.Decimal // the time that text was made from
	text   []byte
	unit   string

	rec   Record
	pairs []carrier.Pair
	names []string // of locations
	buf   []byte
	tail  []byte // attributes of the end of a claim
	seq   int64  // rows so far
	next  int64  // next id of a claim or event, for other formats

	resources []int64  // ids by index
	keys      [][]byte // see key
	reals     [256]realText
	signals   []signal     // by metric
	linked    []trace.Attr // attributes of the last link
	linkText  []byte       // and their text
	queue     queue
	// Numbers and times of the last claims that began and ended.
	lastBegin, begun, lastEnd, ended int64
	section                          int // section and time of the last row
	sectionTime                      int64
	lastCurve                        *curve // the last curve with a fragment or sample at time drawn
	drawn                            int64
	claims                           openClaims
	stacks                           map[stackKey][]int64 // for other formats: positions of open regions in queue
	depth                            []int32              // other formats: number of open regions of each location
	deep                             []int32              // the largest number at a time
	used                             []bool               // locations with claims
	claimed                          []uint32             // other formats: 1 + the resource of a location's claims
}

type stackKey struct{ loc, ref uint32 }

func create(out *format.Output, opt *format.WriteOptions) (format.Encoder, error) {
	return &encoder{Encoder: linetrace.Encoder{Plain: opt.Plain, Mapping: mapping}, w: NewWriter(out),
		text: make([]byte, 0, 64), linkText: make([]byte, 0, 64), claims: openClaims{others: map[claimKey]int64{}},
		stacks: map[stackKey][]int64{}}, nil
}

// Abort frees the encoder's temporary files.
func (e *encoder) Abort() { e.w.Discard() }

// Begin takes the definitions.
func (e *encoder) Begin(d *trace.Definitions) error {
	e.Encoder.Begin(d)
	e.native = d.Origin == "etf"
	e.queue.w = e.w
	// The unit in which the clock counts, if TRACE has it.
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
	// The definitions are written again at the end; most of them are the same.
	defer func() { e.Lost = format.Loss{} }()
	e.comments(false)
	return e.nativeDefinitions()
}

// timeText returns the text of the last row's time, which many rows share.
func (e *encoder) timeText() []byte {
	if len(e.text) == 0 || e.last != e.texted {
		e.text, e.texted = e.last.AppendTrim(e.text[:0]), e.last
	}
	return e.text
}

// Batch writes the rows of a batch.
func (e *encoder) Batch(b *trace.Batch) error {
	if e.native {
		return e.nativeBatch(b)
	}
	c := b.Cursor() // inside the loop, it would be copied each time
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

// nativeBatch reads the columns directly, because a cursor would repeat checks for each row.
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

// attributes appends the row's attributes as texts, the only type in TRACE.
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

// key returns the text ", key=" of an attribute.
func (e *encoder) key(k uint32) []byte {
	for n := len(e.keys); int(k) >= n; n++ {
		b, _ := attrlist.AppendText(append(make([]byte, 0, 80), ", "...), e.coded(e.Defs.Attributes.At(uint32(n)).Name))
		e.keys = append(e.keys, append(b, '='))
	}
	return e.keys[k]
}

// coded returns a text of the definitions in the encoding of the file.
func (e *encoder) coded(s string) string {
	if e.Defs.Encoding != trace.Latin1 || !e.native || isASCII(s) {
		return s
	}
	s, ok := trace.ToLatin1(s)
	if !ok {
		e.Lost.Add("text", "encoding", format.Degraded, "has characters that Latin-1 lacks, and is written as UTF-8", 1)
	}
	return s
}

// signal has the writer's curve of a signal.
type signal struct {
	id    int64
	curve *curve
}

// realText caches the text of a number, because traces have few different amounts.
type realText struct {
	bits uint64
	text [16]byte
	n    int // length of the text, 0 for none
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

// resource returns the id of a resource in the file.
func (e *encoder) resource(i uint32) int64 {
	for int(i) >= len(e.resources) {
		e.resources = append(e.resources, e.id(e.Defs.Resources.At(uint32(len(e.resources))).ID, "resource"))
	}
	return e.resources[i]
}

// nativeRow writes a row of a trace with TRACE's own ids.
func (e *encoder) nativeRow(x *row) error {
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
		at, isGuess, ok := e.claims.take(&e.queue, claimKey{int64(ops[0]), uint32(ops[1]), x.ref}, x.pos)
		if !ok {
			e.Lost.Add("claim-end", "", format.Lost, "its claim has not begun", 1)
			return nil
		}
		if isGuess {
			e.Lost.Add("claim-end", "claim", format.Degraded,
				"claims of the same id are open; the one that began first ends", 1)
		}
		e.checkEnd(at, x.time)
		var more []byte
		if len(x.keys) > 0 { // attributes of the claim's end are appended to the one list of the line
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
		if len(ops) >= 4 {
			return e.nativeFragment(x)
		}
	case trace.Metric, trace.SampleRange:
		if len(ops) >= 1 {
			return e.nativeSample(x)
		}
	}
	e.Lost.Add(e.Defs.Spec(x.kind).Name, "", format.Lost, "a TRACE file has no line for it", 1)
	return nil
}

// nativeFragment writes a fragment of a signal with TRACE's own id.
func (e *encoder) nativeFragment(x *row) error {
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
	return l.Done(append(e.from.line(x.pos, b, from), '\n'))
}

// nativeSample writes a sample, or a range of samples, with TRACE's own ids.
func (e *encoder) nativeSample(x *row) error {
	ops, r := x.ops, &e.rec
	e.countStripped(x)
	r.Keyword, r.Times, r.Values = TSP, r.Times[:0], r.Values[:0]
	if _, err := fmt.Sscanf(e.Defs.Metrics.At(x.ref).ID, "%d/%d", &r.ID, &r.Series); err != nil {
		e.Lost.Add("metric", "", format.Lost, "its series has no id of the form group/series", 1)
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
			"changes places with a simultaneous event of another line", 1)
	}
	return err
}

// countStripped counts the attributes of a row whose line cannot have any.
func (e *encoder) countStripped(x *row) {
	if len(x.keys) > 0 {
		e.Lost.Add(e.Defs.Spec(x.kind).Name, "attribute", format.Degraded, "its line has no attributes", int64(len(x.keys)))
	}
}

// checkSections detects an event followed by a simultaneous one whose line is in an earlier section
// of the file: claims, events, fragments, samples.
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
		e.Lost.Add(e.Defs.Spec(k).Name, "order", format.Degraded, "changes places with a simultaneous event of another kind",
			1)
		return
	}
	e.section, e.sectionTime = rank, t
}

// checkCurves detects a fragment or sample of curve x that is simultaneous with an earlier one of a
// curve that is written after x.
func (e *encoder) checkCurves(x *curve, r *row) {
	if t := r.time; e.lastCurve == nil || e.drawn != t || e.lastCurve.compare(x) <= 0 {
		e.lastCurve, e.drawn = x, t
		return
	}
	e.Lost.Add(e.Defs.Spec(r.kind).Name, "order", format.Degraded,
		"changes places with a simultaneous event of another signal or series", 1)
}

// checkEnd detects that claim number at ends simultaneously with an earlier event that a reader of
// the file would put after it: with equal times the order of lines counts, and claims are written
// in the order in which they begin.
func (e *encoder) checkEnd(at, t int64) {
	if e.lastBegin > at && e.begun == t || e.lastEnd > at && e.ended == t {
		e.Lost.Add("claim-end", "order", format.Degraded, "changes places with a simultaneous event of another claim", 1)
	}
	e.lastEnd, e.ended = at, t
}

// Close writes the whole text.
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
	// An open event at the end cannot be a claim, which has an end.
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
		line := Record{Keyword: R, ID: int64(i), Capacity: x.Capacity, UsesOffset: x.UsesOffset,
			Attrs: []Attr{{"name", x.Label()}}}
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
		if err := e.w.Write(&Record{Keyword: R, ID: int64(i), Capacity: float64(e.deep[i]),
			Attrs: []Attr{{"name", names[i]}}}); err != nil {
			return err
		}
	}
	return nil
}

// units writes the time unit and offset.
func (e *encoder) units() error {
	err := e.w.Write(&Record{Keyword: TU, Unit: e.unit})
	if err == nil && e.Defs.Clock.HasEpoch {
		err = e.w.Write(&Record{Keyword: O, ID: e.Defs.Clock.Epoch / 1_000_000})
	}
	return err
}

// splitRepeated divides a list of attributes at repeated keys, because of equal keys in one line
// only the last counts.
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

// comments adds the comments before all other lines. At the end, these are all comments without
// another place.
func (e *encoder) comments(end bool) {
	if e.from != nil {
		for _, x := range e.from.inOrder() {
			if !x.placed && (end || x.before == 0) {
				e.w.comment(x.text)
			}
		}
		return
	}
	for _, o := range e.Defs.Opaque.All() {
		if o.Format == "etf" {
			e.w.comment(noteText(e.coded(o.Data)))
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
			out = append(out, Attr{e.coded(a.Key), e.coded(a.Value.String())})
		}
		return
	}
	properties := text(d.Properties.All())
	for _, u := range []Record{{Keyword: TU, Unit: e.unit}, {Keyword: O, ID: e.w.off}} {
		e.from.definition(&u) // for the comments before it
	}
	lines, ok := e.from.properties(properties)
	if !ok {
		for _, list := range splitRepeated(properties) {
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
		e.from.definition(&recs[i])
		if err := e.w.Write(&recs[i]); err != nil {
			return err
		}
	}
	return nil
}
