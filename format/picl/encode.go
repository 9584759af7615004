package picl

import (
	"context"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/internal/attrlist"
	"github.com/weft-trace/weft/internal/digits"
	"github.com/weft-trace/weft/internal/linetrace"
	"github.com/weft-trace/weft/trace"
)

// encoder writes the common model as PICL. A trace whose ids are PICL's gets
// its own records back. Any other is written so that PICL tools see its regions
// as user events, its messages as sends and receives and its names as labels,
// and that this package restores it exactly: definitions travel in event
// messages before the first event, attributes as character data, events that
// PICL has no record for as user records of type 900.
type encoder struct {
	linetrace.Encoder
	w                    *Writer
	native               bool
	last                 trace.Decimal
	keys                 []procKey // by location
	events               []int64   // by region
	labels               map[procEvent]uint32
	multi                map[int64]bool
	rec                  Record
	pairs                []carrier.Pair
	text                 []byte
	kept                 []keptRecord // definition records of the original trace
	keptLabels, keptSets bool
	rows                 int64  // event records written
	recProc              uint32 // the attribute "recorded process", or NoRef
	spelled              bool   // times stay as the file that the trace was read from spells them
	from                 *rewriter
	described            *definitions // those that have been written: the writer's, and labels
}

type procEvent struct {
	loc   uint32
	event int64
}

func create(out *format.Output, opt *format.WriteOptions) (format.Encoder, error) {
	wo, err := writerOptions(opt)
	if err != nil {
		return nil, err
	}
	_, digits := opt.Values["picl.digits"]
	return &encoder{Encoder: linetrace.Encoder{Plain: opt.Plain, Mapping: mapping}, w: NewWriter(out, wo),
		spelled: !digits}, nil
}

func writerOptions(opt *format.WriteOptions) (wo WriterOptions, err error) {
	if wo.Statistics, err = opt.Bool("picl.statistics"); err != nil {
		return
	}
	if wo.ParaGraph, err = opt.Bool("picl.paragraph"); err != nil {
		return
	}
	if wo.Brackets, err = ParseBrackets(opt.Value("picl.brackets", "keep")); err != nil {
		return
	}
	n, err := strconv.Atoi(opt.Value("picl.digits", "6"))
	if err != nil || n < 1 || n > 18 {
		return wo, &format.OptionError{Option: "picl.digits", Value: opt.Value("picl.digits", "6"),
			Expected: "a number from 1 to 18"}
	}
	wo.Digits = n
	return wo, nil
}

// Abort frees what the encoder holds.
func (e *encoder) Abort() { e.w.Discard() }

// Begin takes the definitions.
func (e *encoder) Begin(d *trace.Definitions) error {
	e.Encoder.Begin(d)
	e.native = d.Origin == "picl"
	e.w.tracing = !e.native && !e.w.opt.ParaGraph
	e.labels, e.multi = map[procEvent]uint32{}, map[int64]bool{}
	e.recProc, e.described = trace.NoRef, e.w.defs
	if o, ok := d.Native.(*original); ok && e.native {
		e.rewrite(o)
	} else if e.native {
		for _, o := range d.Opaque.All() {
			if o.Format == "picl" {
				k := parseKept(o.Data)
				e.kept = append(e.kept, k)
				e.keptLabels = e.keptLabels || k.rec.Type == TypeLabel
				e.keptSets = e.keptSets || k.rec.Type <= TypeProcessorSet
			}
		}
	}
	// The header is made again when all is known; most will be this one.
	e.w.header = e.header(&format.Loss{})
	return nil
}

// keptRecord is a definition record of a trace together with its place: the
// number of event records before it.
type keptRecord struct {
	before int64
	rec    Record
}

// keepRecord writes a definition record for trace.Definitions.Opaque.
func keepRecord(before int64, r *Record) string {
	k := *r
	k.Values = cloneValues(r.Values)
	k.Text = trace.Text(k.Text)
	for i := range k.Values {
		k.Values[i].Str = trace.Text(k.Values[i].Str)
	}
	r = &k
	b := digits.AppendInt(nil, before)
	return string(r.Append(append(b, '\t'), 0))
}

func parseKept(s string) (k keptRecord) {
	n, line, _ := strings.Cut(s, "\t")
	k.before, _ = strconv.ParseInt(n, 10, 64)
	var h head
	i, _, skip := parseLine([]byte(line), &h)
	if skip {
		return k
	}
	k.rec.set(&h, 0)
	k.rec.data([]byte(line)[i:], &h, &scoped{defs: &definitions{}})
	return k
}

// definitions writes the kept records whose place is reached.
func (e *encoder) definitions(rows int64) error {
	for len(e.kept) > 0 && e.kept[0].before <= rows {
		r := &e.kept[0].rec
		if err := e.w.Write(r); err != nil {
			return err
		}
		e.kept = e.kept[1:]
	}
	return nil
}

// processorOf numbers locations as processors, clear of the host's number.
func processorOf(loc uint32) int64 {
	if loc >= Host {
		return int64(loc) + 1
	}
	return int64(loc)
}

func locationOf(processor int64) int64 {
	if processor > Host {
		return processor - 1
	}
	return processor
}

func (e *encoder) key(loc uint32) procKey {
	for int(loc) >= len(e.keys) {
		i := uint32(len(e.keys))
		k := procKey{processorOf(i), 0}
		if e.native && e.Defs.Locations.Has(i) {
			if p, ok := parseLocationID(e.Defs.Locations.At(i).ID); ok {
				k = p
			}
		}
		e.keys = append(e.keys, k)
	}
	return e.keys[loc]
}

// event is the event type of a region.
func (e *encoder) event(ref uint32) int64 {
	if ref == trace.NoRef {
		return -1
	}
	for int(ref) >= len(e.events) {
		i := len(e.events)
		ev := int64(i)
		if e.native {
			if n, err := strconv.ParseInt(e.Defs.Regions.At(uint32(i)).ID, 10, 64); err == nil {
				ev = n
			}
		}
		e.events = append(e.events, ev)
	}
	return e.events[ref]
}

// label writes a label before the first record of an event type that bears
// another name than the record before it at the same location.
func (e *encoder) label(loc, ref uint32, r *Record) error {
	if ref == trace.NoRef || e.keptLabels {
		return nil
	}
	ev := e.events[ref]
	if !e.multi[ev] {
		return nil
	}
	k := procEvent{loc, ev}
	p, name := procKey{r.Processor, r.Process}, e.Defs.Regions.At(ref).Name
	if e.from != nil {
		have, ok := e.described.labelOf(ev, p.processor, p.process, math.MaxInt64)
		if have == name || !ok && name == eventName(ev) {
			return nil
		}
		l := label{scope{ev, p.processor, p.process, 0}, name}
		e.described.labels = append(e.described.labels, l)
		e.described.byEvent[ev] = append(e.described.byEvent[ev], int32(len(e.described.labels)-1))
	} else {
		if cur, ok := e.labels[k]; ok && cur == ref {
			return nil
		}
		_, labelled := e.labels[k]
		e.labels[k] = ref
		if !labelled && name == eventName(ev) {
			return nil
		}
	}
	return e.w.Write(&Record{Type: TypeLabel, Event: ev, Time: r.Time, Processor: p.processor, Process: p.process,
		Values: []trace.Value{trace.StringValue(name)}})
}

// prepare finds the event types that have several names, once per batch: the
// tables may have grown.
func (e *encoder) prepare() {
	if !e.native {
		return
	}
	from := len(e.events)
	n := e.Defs.Regions.Len()
	if from == n {
		return
	}
	e.event(uint32(n - 1))
	seen := map[int64]bool{}
	for i, ev := range e.events {
		if seen[ev] {
			e.multi[ev] = true
		}
		if i < from || !e.multi[ev] {
			seen[ev] = true
		}
	}
	for i := range e.Defs.Attributes.Len() {
		if e.Defs.Attributes.At(uint32(i)).Name == "recorded process" {
			e.recProc = uint32(i)
		}
	}
}

// Batch writes the rows of a batch.
func (e *encoder) Batch(b *trace.Batch) error {
	e.Times.Add(b)
	e.prepare()
	c := b.Cursor() // outside the loop, which would copy it each time
	for c.Next() {
		var err error
		if e.native {
			err = e.nativeRow(&c)
		} else {
			err = e.foreignRow(&c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// nativeRow writes a row that came from PICL.
func (e *encoder) nativeRow(c *trace.Cursor) error {
	if c.Derived() {
		return nil
	}
	k := e.key(c.Location())
	if err := e.definitions(e.rows); err != nil {
		return err
	}
	if e.from != nil {
		if err := e.from.definitions(c.Pos(), k.processor, e.w); err != nil {
			return err
		}
	}
	e.rows++
	r := &e.rec
	ref := c.Ref()
	*r = Record{Time: e.Time(c.Time()), Processor: k.processor, Process: k.process, Values: r.Values[:0],
		Event: e.event(ref)}
	e.last = r.Time
	switch kind := c.Kind(); kind {
	case trace.Enter:
		r.Type = TypeEntry
	case trace.Leave:
		r.Type = TypeExit
	case trace.Mark:
		r.Type = TypeMark
	case trace.Comment:
		r.Type = TypeMessage
	case trace.Statistics:
		r.Type = TypeTimes - int64(c.Op(0))
		keys, vals := c.Attrs()
		for i, a := range keys {
			if a == e.recProc {
				r.Process = vals[i].Int()
				continue
			}
			name := e.Defs.Attributes.At(a).Name
			event := trace.StringValue(name) // a word that the record had in its place
			if n, err := strconv.ParseInt(name, 10, 64); err == nil {
				event = trace.Value{Num: uint64(n), Type: trace.Int32}
			}
			if r.Values = append(r.Values, event); vals[i] != noFigure {
				r.Values = append(r.Values, vals[i])
			}
		}
		return e.put(c, r)
	case trace.Send, trace.SendBegin, trace.Recv, trace.RecvComplete:
		return e.nativeMessage(c)
	default:
		n, err := strconv.ParseInt(strings.TrimPrefix(e.Defs.Spec(kind).Name, "record "), 10, 64)
		if err != nil {
			e.Lost.Add(e.Defs.Spec(kind).Name, "", format.Lost, "a PICL trace has no record for it", 1)
			return nil
		}
		r.Type = n
	}
	keys, vals := c.Attrs()
	for i, v := range vals {
		if keys[i] == e.recProc {
			r.Process = v.Int()
			continue
		}
		r.Values = append(r.Values, e.data(keys[i], v))
	}
	return e.put(c, r)
}

// put writes the record of a row: as the line that it was read from, if it has not been changed since.
func (e *encoder) put(c *trace.Cursor, r *Record) error {
	var l []byte
	if e.from != nil {
		var err error
		if l, err = e.from.line(r, c.Pos()); err != nil {
			return err
		}
	}
	if l == nil || c.Kind() != trace.Leave || e.from.moved { // the name of an entry is that of its exit
		if err := e.label(c.Location(), c.Ref(), r); err != nil {
			return err
		}
	}
	if l != nil {
		return e.w.line(r, l)
	}
	if r.Text == "" {
		for _, v := range r.Values {
			if v.Type == trace.String {
				if how := changed(v.Str, len(r.Values)); how != "" {
					e.Lost.Add("text", e.Defs.Spec(c.Kind()).Name, format.Degraded, how, 1)
				}
			}
		}
	}
	return e.w.Write(r)
}

// addedPrefix begins a data field that PICL has no name for: the attribute follows as
// key=value. Events get such attributes when a trace is changed.
const addedPrefix = "weft:"

// data is the data field of an attribute.
func (e *encoder) data(key uint32, v trace.Value) trace.Value {
	a := e.Defs.Attributes.At(key)
	if a.Doc == "" || v.Type != trace.String { // those of PICL itself say nothing of themselves
		return v
	}
	return trace.StringValue(addedPrefix + a.Name + "=" + v.Str)
}

// nativeMessage writes a send or receive that is no part of another record: a visit of
// the region of that event type that takes no time.
func (e *encoder) nativeMessage(c *trace.Cursor) error {
	r := &e.rec
	peer := procKey{-1, -1}
	if v := c.Op(0); v < uint64(e.Defs.Locations.Len()) {
		peer = e.key(uint32(v))
	}
	m := messageOf(c.Kind(), 0)
	r.Event = m.event
	keys, attrs := c.Attrs()
	for i, fields := range [2]string{m.entry, m.exit} {
		r.Type, r.Values = int64(TypeEntry-i), m.append(r.Values[:0], strings.ReplaceAll(fields, "-", "q"), c, peer)
		for i, v := range attrs {
			r.Values = append(r.Values, e.data(keys[i], v))
		}
		if err := e.w.Write(r); err != nil {
			return err
		}
	}
	return nil
}

// append appends fields of a message to or from peer.
func (m *messageSpec) append(vals []trace.Value, fields string, c *trace.Cursor, peer procKey) []trace.Value {
	for _, f := range fields {
		v := int64(-1)
		switch f {
		case 'l':
			v = int64(c.Op(3))
		case 't':
			v = int64(c.Op(2))
		case 'p':
			v = peer.processor
		case 'q':
			v = peer.process
		case 'r':
			v = int64(c.Op(m.ops - 1))
		}
		vals = append(vals, intValue(v))
	}
	return vals
}

// foreignRow writes a row of another format's trace.
func (e *encoder) foreignRow(c *trace.Cursor) error {
	e.last = e.Time(c.Time())
	kind, ref := c.Kind(), c.Ref()
	keys, _ := c.Attrs()
	if (kind == trace.Enter || kind == trace.Leave) && ref != trace.NoRef && len(keys) == 0 && len(c.Ops()) == 0 &&
		e.w.plain() {
		typ := int64(TypeEntry)
		if kind == trace.Leave {
			typ = TypeExit
		}
		return e.w.short(typ, int64(ref), e.last, processorOf(c.Location()))
	}
	r := &e.rec
	*r = Record{Time: e.last, Processor: processorOf(c.Location()), Event: -1, Values: r.Values[:0]}
	e.pairs = e.pairs[:0]
	switch {
	case c.Derived():
		return nil
	case (kind == trace.Enter || kind == trace.ClaimBegin) && ref != trace.NoRef:
		r.Type, r.Event = TypeEntry, int64(ref)
	case (kind == trace.Leave || kind == trace.ClaimEnd) && ref != trace.NoRef:
		r.Type, r.Event = TypeExit, int64(ref)
	case kind == trace.Mark:
		r.Type = TypeMark
		if ref != trace.NoRef {
			r.Event = int64(ref)
		}
	case len(keys) == 0 && e.message(c):
		return e.w.Write(r)
	default:
		r.Type = rowType
		e.pairs = carrier.AppendKind(e.pairs, e.Defs, kind, ref)
	}
	switch {
	case r.Type == rowType:
		e.Rows.NoteField(c, "")
	case kind == trace.ClaimBegin || kind == trace.ClaimEnd:
		e.Rows.NoteField(c, "operands")
	case len(keys) > 0:
		e.Rows.NoteField(c, "attributes")
	}
	if e.Plain {
		if r.Type == rowType {
			return nil
		}
		return e.w.Write(r)
	}
	e.pairs = e.AppendRow(e.pairs, c)
	e.carry()
	return e.w.Write(r)
}

// message makes a mark of a send, a receive or a phase of one; it returns false
// when the event is another or its operands do not fit.
func (e *encoder) message(c *trace.Cursor) bool {
	ops, m := c.Ops(), messageOf(c.Kind(), 0)
	if m == nil || len(ops) < m.ops || m.ops == 1 && (len(ops) > 1 || int64(ops[0]) < 0) ||
		m.ops > 1 && int64(ops[3]) < 0 {
		return false
	}
	peer := procKey{-1, 0}
	if ops[0] != trace.Undefined {
		peer.processor = processorOf(uint32(ops[0]))
	}
	r := &e.rec
	r.Type, r.Event = TypeMark, m.event
	r.Values = m.append(r.Values, m.entry+m.exit, c, peer)
	if m.ops > 1 && ops[1] != trace.Undefined {
		r.Values = append(r.Values, intValue(int64(ops[1])))
	}
	return true
}

// carry makes the pairs the record's character data.
func (e *encoder) carry() {
	if len(e.pairs) == 0 {
		return
	}
	e.text = e.text[:0]
	for i, p := range e.pairs {
		if i > 0 {
			e.text = append(e.text, ',')
		}
		var replaced bool
		if e.text, replaced = attrlist.Append(e.text, p.Key, p.Value); replaced {
			e.Lost.Add("text", p.Key, format.Degraded, "a line end became a blank", 1)
		}
	}
	// A backslash at the end of the line, even before a blank, would join it to
	// the next one.
	if c := e.text[len(e.text)-1]; c == '\\' || c == ' ' || c == '\t' {
		e.text = append(e.text, ',')
	}
	e.rec.Values = append(e.rec.Values[:0], trace.StringValue(string(e.text)))
}

// Links writes the stored links as records about all processors, at the time
// of the last event.
func (e *encoder) Links(links []trace.Link) error {
	if e.Plain && !e.native {
		e.Lost.Add("link", "", format.Lost, "PICL has no links", int64(len(links)))
		return nil
	}
	e.Lost.Add("link", "", format.WeftOnly, "PICL has no links", int64(len(links)))
	e.pairs = append(e.pairs[:0], carrier.Pair{Key: "links", Value: carrier.Text(carrier.PackLinks(links))})
	e.rec = Record{Type: rowType, Event: -1, Time: e.last, Processor: -1, Process: -1, Values: e.rec.Values[:0]}
	e.carry()
	return e.w.Write(&e.rec)
}

// Close writes the header and the file.
func (e *encoder) Close() error {
	e.Times.Count(&e.Lost)
	if err := e.definitions(math.MaxInt64); err != nil {
		return err
	}
	if e.from != nil {
		if err := e.from.rest(e.w); err != nil {
			return err
		}
	}
	e.w.header = e.header(&e.Lost)
	if err := e.w.Close(); err != nil {
		return err
	}
	e.w.count(&e.Lost)
	return nil
}

// count counts the records that were left out.
func (w *Writer) count(loss *format.Loss) {
	for reason, n := range w.Left {
		loss.Add("record", "", format.Lost, reason+" (an option of the writer)", n)
	}
}

// header makes the records that come first.
func (e *encoder) header(loss *format.Loss) (records []Record) {
	d := e.Defs
	textRecord := func(typ, event, processor, process int64, text string) {
		records = append(records, Record{Type: typ, Event: event, Processor: processor, Process: process,
			Values: []trace.Value{trace.StringValue(text)}})
	}
	if e.native {
		e.prepare()
		for i := 0; i < d.Regions.Len() && !e.keptLabels; i++ {
			ev := e.event(uint32(i))
			if name := d.Regions.At(uint32(i)).Name; !e.multi[ev] && name != eventName(ev) &&
				(e.from == nil || !e.from.labelled(ev, name)) {
				textRecord(TypeLabel, ev, -1, -1, name)
			}
		}
		for i := 0; i < d.Locations.Len() && !e.keptLabels; i++ {
			l, k := d.Locations.At(uint32(i)), e.key(uint32(i))
			if l.Name != "" && k.processor >= 0 && (l.Name != "host" || k.processor != Host) && l.Kind != trace.PeerLocation &&
				(e.from == nil || !e.from.named(k, l.Name)) {
				textRecord(TypeLabel, -1, k.processor, k.process, l.Name)
			}
		}
		for i := 0; i < d.Sets.Len() && !e.keptSets; i++ {
			s := d.Sets.At(uint32(i))
			typ := map[string]int64{"processors": TypeProcessorSet, "processes": TypeProcessSet,
				"event types": TypeEventSet}[s.Kind]
			id, err := strconv.ParseInt(s.ID, 10, 64)
			if typ == 0 || err != nil {
				loss.Add("set", "", format.Lost, "not a subset of processors, processes or event types", 1)
				continue
			}
			if e.from != nil && e.from.d.defs.has(setKey{typ, id}) {
				continue
			}
			vals := []trace.Value{intValue(id)}
			for _, m := range s.Members {
				vals = append(vals, intValue(m))
			}
			records = append(records, Record{Type: typ, Event: -1, Processor: -1, Process: -1, Values: vals})
		}
		return records
	}
	e.CarryDefinitions(loss, func(number, text string) error {
		textRecord(TypeMessage, -1, -1, -1, carryPrefix+number+" "+text)
		return nil
	})
	for i := range d.Regions.Len() {
		textRecord(TypeLabel, int64(i), -1, -1, d.Regions.At(uint32(i)).Name)
	}
	for i, name := range d.FullNames() {
		textRecord(TypeLabel, -1, processorOf(uint32(i)), -1, name)
	}
	return records
}

// copyTrace writes a PICL trace as PICL, record by record: the order of the
// file and every value are kept, the spelling becomes canonical.
func copyTrace(ctx context.Context, src format.Source, ro *format.ReadOptions, out *format.Output,
	opt *format.WriteOptions) (*format.Loss, error) {
	wo, err := writerOptions(opt)
	if err != nil {
		return nil, err
	}
	r, err := NewReader(ctx, src, ro)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	w, loss := NewWriter(out, wo), &format.Loss{}
	err = linetrace.Copy(ctx, r, w)
	w.count(loss)
	loss.Add("record", "", format.Lost, "cannot be read", r.skipped)
	loss.Add("time", "", format.Degraded, "has more digits than fit and is rounded", r.rounded)
	return loss, err
}

// rawTrace prints the lines of the file as they are.
func rawTrace(ctx context.Context, src format.Source, ro *format.ReadOptions, w io.Writer) error {
	return format.CopyText(ctx, src, w)
}
