package picl

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/internal/attrlist"
	"github.com/weft-trace/weft/internal/collective"
	"github.com/weft-trace/weft/internal/linetrace"
	"github.com/weft-trace/weft/internal/lookahead"
	"github.com/weft-trace/weft/trace"
)

// encoder writes a trace of the common model as PICL. A trace that was read from PICL gets its own
// records again. For any other trace, PICL tools see regions as user events, messages as sends and
// receives, and names as labels. This package can restore such a trace exactly: event messages before
// the first event carry the definitions, character data carries the attributes, and user records of
// type 900 carry the events for which PICL has no record.
type encoder struct {
	linetrace.Encoder
	w             *Writer
	native        bool
	last          trace.Decimal
	keys          []procKey // processors and processes, by location
	events        []int64   // event types, by region index
	labelled      map[locationEvent]labelState
	ownLabels     map[scope]int // indexes of the labels that the encoder has added for a single process
	ownLabelCount int           // number of labels in written that the encoder has added for single processes
	// event types of statistics that had several names; the trace kept only one of them
	ambiguous            map[int64]bool
	severalNames         map[int64]bool
	ownEvents            int64 // records with an event type that PICL itself defines, in a trace of several formats
	rec                  Record
	pairs                []carrier.Pair
	text                 []byte
	kept                 []keptRecord // definition records of the original trace
	keptLabels, keptSets bool
	placeless            []Record     // definition records whose position among the other records is unknown
	named                *definitions // labels among the kept and the placeless records
	rows                 int64        // number of event records that have been written
	// index of the attribute "recorded process", or NoRef if the trace does not have it
	recProc  uint32
	spelled  bool // times keep the spelling of the original file
	rewriter *rewriter
	written  *definitions // definitions written so far, including labels
	removed  removedEvents
	ops      writtenOperations
	texts    map[uint32]bool     // names (texts) of the generic events that were written as marks
	kinds    map[trace.Kind]bool // kinds of other events written as marks
	metrics  map[uint32]bool     // counters with values written as marks
}

// locationEvent identifies an event type at a location.
type locationEvent struct {
	loc   uint32
	event int64
}

// Create returns an encoder that writes to out.
func (Format) Create(out *format.Output, opt *format.WriteOptions) (format.Encoder, error) {
	if err := about.CheckOptions(opt.Values); err != nil {
		return nil, err
	}
	wo, err := writerOptions(opt)
	if err != nil {
		return nil, err
	}
	_, digits := opt.Values["picl.digits"]
	return &encoder{Encoder: linetrace.Encoder{Plain: opt.Plain || wo.ParaGraph, Mapping: mapping}, w: NewWriter(out, wo),
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

// Abort frees the resources of the encoder.
func (e *encoder) Abort() {
	e.closeOperations()
	e.w.Discard()
}

// Begin converts the definitions of the trace. Definitions that are added later are written by Close.
func (e *encoder) Begin(d *trace.Definitions) error {
	e.Encoder.Begin(d)
	e.native = d.Origin == "picl"
	e.w.tracing = !e.native && !e.w.opt.ParaGraph
	e.ops = writtenOperations{held: lookahead.New(lookahead.CollectiveOperations, e.writeForeignRow),
		members: d.Memberships(), ranks: map[uint64][]uint32{},
		open: map[uint32][]writtenOperation{}, calls: collective.NewCalls(d, &e.Lost, e.Plain, nil)}
	e.labelled, e.severalNames, e.ambiguous = map[locationEvent]labelState{}, map[int64]bool{}, map[int64]bool{}
	e.recProc, e.written, e.ownLabels = trace.NoRef, e.w.defs, map[scope]int{}
	e.texts, e.kinds, e.metrics = map[uint32]bool{}, map[trace.Kind]bool{}, map[uint32]bool{}
	if o, ok := d.Native.(*originalFile); ok && e.native {
		e.rewrite(o)
	} else if e.native {
		before := newDefinitions() // of the kept records
		for _, o := range d.Opaque.All() {
			if o.Format == "picl" {
				k := parseKept(o.Data, before)
				e.encodeTexts(&k.rec)
				if k.before == withoutPlace {
					e.placeless = append(e.placeless, k.rec)
					continue
				}
				e.kept = append(e.kept, k)
				e.keptLabels = e.keptLabels || k.rec.Type == TypeLabel
				if k.rec.Type <= TypeProcessorSet {
					e.keptSets = true
					e.written.add(&k.rec) // a label of a subset may precede the subset
				}
			}
		}
	}
	if e.native && d.Format != "picl" { // other formats may have several attributes of the same name
		seen := map[string]bool{}
		for _, a := range d.Attributes.All() {
			if n, err := strconv.ParseInt(a.Name, 10, 64); err == nil {
				e.ambiguous[n] = seen[a.Name]
				seen[a.Name] = true
			}
		}
	}
	e.selectPlaceless()
	// Close makes the header again from the complete definitions. The header usually stays the same. Losses
	// must not be counted twice.
	e.w.header = e.headerRecords(&format.Loss{})
	if e.native && e.rewriter == nil {
		for i := range e.w.header {
			if e.w.header[i].Type != TypeDescriptor {
				e.written.add(&e.w.header[i])
			}
		}
	}
	return nil
}

// selectPlaceless drops the placeless definition records that are redundant, because the header or the labels
// before other records contain the same definition.
func (e *encoder) selectPlaceless() {
	e.named = newDefinitions()
	if len(e.placeless) == 0 {
		return
	}
	e.prepare()
	d := e.Defs
	for i := range d.Sets.Len() {
		if r, ok := setRecord(d.Sets.At(uint32(i))); ok {
			e.named.add(&r)
		}
	}
	for i := range e.kept {
		if e.kept[i].rec.Type <= TypeProcessorSet {
			e.named.add(&e.kept[i].rec)
		}
	}
	others := map[int64]bool{} // event types that statistics and subsets refer to
	for i := range d.Attributes.Len() {
		if n, err := strconv.ParseInt(d.Attributes.At(uint32(i)).Name, 10, 64); err == nil {
			others[n] = true
		}
	}
	for k, members := range e.named.sets {
		for _, m := range members {
			others[m] = others[m] || k.typ == TypeEventSet
		}
	}
	e.placeless = slices.DeleteFunc(e.placeless, func(r Record) bool {
		return r.Type == TypeLabel && r.Event != -1 && !e.named.isSubset(r.Event) && slices.Contains(e.events, r.Event) &&
			!(e.severalNames[r.Event] && others[r.Event])
	})
	for i := range e.placeless {
		if e.placeless[i].Type == TypeLabel {
			e.named.add(&e.placeless[i])
		}
	}
	// If a label for some of the processors names an event type, the records of that type may have
	// several names.
	for _, ev := range e.events {
		for _, i := range e.named.labelsOf(ev) {
			if l := &e.named.labels[i]; l.processor != -1 || l.process != -1 {
				e.severalNames[ev] = true
			}
		}
	}
}

// hasDefaultName reports whether an event type has the given name at the start of the file: because of a label
// before all records, or because the event type has no label.
func (e *encoder) hasDefaultName(event int64, name string) bool {
	have, ok := e.named.labelOf(event, -1, -1, math.MaxInt64)
	return ok && have == name || !ok && name == eventName(event)
}

// setRecord returns the record that defines a set. ok is false if PICL cannot define sets of this kind.
func setRecord(s *trace.Set) (r Record, ok bool) {
	typ := map[string]int64{"processors": TypeProcessorSet, "processes": TypeProcessSet,
		"event types": TypeEventSet}[s.Kind]
	id, err := strconv.ParseInt(s.ID, 10, 64)
	if typ == 0 || err != nil || s.ID == allID {
		return r, false
	}
	vals := []trace.Value{intValue(id)}
	for _, m := range s.Members {
		vals = append(vals, intValue(m))
	}
	return Record{Type: typ, Event: -1, Processor: -1, Process: -1, Values: vals}, true
}

// withoutPlace is the value of keptRecord.before for a record whose position is unknown. If such a record is
// written at all, it is written before all other records.
const withoutPlace = -1

// encodeTexts converts the texts of a definition record from UTF-8 to the encoding of the trace's file.
func (e *encoder) encodeTexts(r *Record) {
	if e.Defs.Encoding != trace.Latin1 {
		return
	}
	code := func(s string) string {
		s, ok := trace.ToLatin1(s)
		if !ok {
			e.Lost.Add("text", "encoding", format.Degraded,
				"has characters that Latin-1 does not have; written as UTF-8", 1)
		}
		return s
	}
	r.Text = code(r.Text)
	for i := range r.Values {
		r.Values[i].Str = code(r.Values[i].Str)
	}
}

// processorOf returns the processor number of a location. The result is never the number of the host, which it
// skips.
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

// eventOf returns the event type of a region.
func (e *encoder) eventOf(ref uint32) int64 {
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

// prepare finds the event types that have several names. Batch calls it for each batch, because the
// definitions may have grown.
func (e *encoder) prepare() {
	if !e.native {
		return
	}
	from := len(e.events)
	n := e.Defs.Regions.Len()
	if from == n {
		return
	}
	e.eventOf(uint32(n - 1))
	seen := map[int64]bool{}
	for i, ev := range e.events {
		if seen[ev] {
			e.severalNames[ev] = true
		}
		if i < from || !e.severalNames[ev] {
			seen[ev] = true
		}
	}
	for i := range e.Defs.Attributes.Len() {
		if e.Defs.Attributes.At(uint32(i)).Name == "recorded process" {
			e.recProc = uint32(i)
		}
	}
}

// WriteEvents writes events in global order, because events of all locations are in one text.
func (e *encoder) WriteEvents(ctx context.Context, events format.Events, sel trace.Selection) error {
	return events.Scan(ctx, sel, format.GlobalOrder, e)
}

// Batch writes the rows of a batch.
func (e *encoder) Batch(b *trace.Batch) error {
	e.prepare()
	if !e.native && e.ops.calls == nil && e.ops.held.Needs(b) {
		return e.ops.held.Batch(b)
	}
	c := b.Cursor() // declared outside the loop: a declaration inside the loop would copy the cursor for each row
	for c.Next() {
		var err error
		if e.native {
			err = e.writeNativeRow(&c)
		} else {
			err = e.writeForeignRow(&c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeNativeRow writes a row of a trace that was read from PICL.
func (e *encoder) writeNativeRow(c *trace.Cursor) error {
	if c.Derived() {
		e.removed.derived(c.Location(), c.Kind())
		return nil
	}
	k, t := e.key(c.Location()), e.Time(c.Time())
	if err := e.writeDefinitions(e.rows); err != nil {
		return err
	}
	if e.rewriter != nil {
		// A cut adds rows at the start of the window that have no position in the file.
		before := max(c.Pos(), e.rewriter.d.firstRecord)
		if err := e.rewriter.writeDefinitions(before, k.processor, t, e.w); err != nil {
			return err
		}
	}
	e.rows++
	r := &e.rec
	ref := c.Ref()
	*r = Record{Time: t, Processor: k.processor, Process: k.process, Values: r.Values[:0],
		Event: e.eventOf(ref)}
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
			event := trace.StringValue(name) // the record has a word instead of an event type
			if n, err := strconv.ParseInt(name, 10, 64); err == nil {
				event = trace.Value{Num: uint64(n), Type: trace.Int32}
			}
			if r.Values = append(r.Values, event); vals[i] != noValue {
				r.Values = append(r.Values, vals[i])
			}
		}
		return e.writeRecord(c, r)
	case trace.Send, trace.SendBegin, trace.Recv, trace.RecvComplete:
		return e.writeNativeMessage(c)
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
		r.Values = append(r.Values, e.dataField(keys[i], v))
	}
	return e.writeRecord(c, r)
}

// writeRecord writes the record of a row. If the row has not changed, it writes the original line.
func (e *encoder) writeRecord(c *trace.Cursor, r *Record) error {
	e.removed.record(c.Location(), r, e.rewriter != nil && e.rewriter.d.markMessages)
	var l []byte
	if e.rewriter != nil {
		var err error
		if l, err = e.rewriter.originalLine(r, c.Pos()); err != nil {
			return err
		}
	}
	if l == nil || c.Kind() != trace.Leave || e.rewriter.moved { // an exit has the name of its entry
		if err := e.writeLabels(c, r); err != nil {
			return err
		}
	}
	if l != nil {
		return e.w.writeLine(r, l)
	}
	if r.Text == "" {
		if e.rewriter != nil && e.rewriter.lostText {
			e.Lost.Add("record", "text", format.Degraded, leftText, 1)
		} else if e.rewriter != nil && e.rewriter.respelled {
			e.Lost.Add("record", "spelling", format.Degraded, leftSpelling, 1)
		}
		for _, v := range r.Values {
			if v.Type == trace.String {
				if how := textChange(v.Str, len(r.Values)); how != "" {
					e.Lost.Add("text", e.Defs.Spec(c.Kind()).Name, format.Degraded, how, 1)
				}
			}
		}
	}
	return e.w.Write(r)
}

// addedPrefix begins a data field of the form key=value that holds an attribute which PICL does not
// define. Commands that change a trace add such attributes to events.
const addedPrefix = "weft:"

// dataField returns the data field for the value of an attribute.
func (e *encoder) dataField(key uint32, v trace.Value) trace.Value {
	a := e.Defs.Attributes.At(key)
	if a.Doc == "" || v.Type != trace.String { // only attributes that PICL does not define have a description
		return v
	}
	return trace.StringValue(addedPrefix + a.Name + "=" + v.Str)
}

// writeNativeMessage writes a send or receive that does not belong to another record. It becomes an entry
// and an exit of its event type at the same time.
func (e *encoder) writeNativeMessage(c *trace.Cursor) error {
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
			r.Values = append(r.Values, e.dataField(keys[i], v))
		}
		if err := e.w.Write(r); err != nil {
			return err
		}
	}
	return nil
}

// append appends the fields of a message to or from the process peer.
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

// setCharacterData makes the pairs of the row the character data of the record.
func (e *encoder) setCharacterData() {
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
			e.Lost.Add("text", p.Key, format.Degraded, "a line end was replaced by a blank", 1)
		}
	}
	// A backslash at the end of the line would join the next line, even if a blank follows the
	// backslash.
	if c := e.text[len(e.text)-1]; c == '\\' || c == ' ' || c == '\t' {
		e.text = append(e.text, ',')
	}
	e.rec.Values = append(e.rec.Values[:0], trace.StringValue(string(e.text)))
}

// Links writes links as records about all processors, with the time of the last event.
func (e *encoder) Links(links []trace.Link) error {
	if err := e.ops.held.Flush(); err != nil {
		return err
	}
	if e.Plain && !e.native {
		e.Lost.Add("link", "", format.Lost, "PICL has no links", int64(len(links)))
		return nil
	}
	e.Lost.Add("link", "", format.WeftOnly, "PICL has no links", int64(len(links)))
	e.pairs = append(e.pairs[:0], carrier.Pair{Key: "links", Value: carrier.Text(carrier.PackLinks(links))})
	e.rec = Record{Type: rowType, Event: -1, Time: e.last, Processor: -1, Process: -1, Values: e.rec.Values[:0]}
	e.setCharacterData()
	return e.w.Write(&e.rec)
}

// Close writes the header and the file.
func (e *encoder) Close() error {
	defer e.closeOperations()
	if err := e.ops.held.Flush(); err != nil {
		return err
	}
	if e.rewriter != nil && !e.rewriter.repair {
		d := e.rewriter.d
		n := d.unreadable + *d.File.Skipped
		if e.rewriter.rename != nil {
			n += d.malformed
		}
		e.Lost.Add("record", "", format.Lost, "cannot be read", n)
	}
	if err := e.writeDefinitions(math.MaxInt64); err != nil {
		return err
	}
	if e.rewriter != nil {
		if err := e.rewriter.writeRest(e.w); err != nil {
			return err
		}
	}
	e.w.header = e.headerRecords(&e.Lost)
	if err := e.w.Close(); err != nil {
		return err
	}
	e.w.addLeft(&e.Lost)
	e.Lost.Add("record", "event type", format.Degraded,
		"PICL's own event types become numbered ones with their names beside records of other formats", e.ownEvents)
	e.removed.addTo(&e.Lost, e.Defs)
	return nil
}

// addLeft adds the records that the writer omitted to loss.
func (w *Writer) addLeft(loss *format.Loss) {
	for reason, n := range w.Left {
		if field, ok := degradedFields[reason]; ok {
			loss.Add("record", field, format.Degraded, reason, n)
			continue
		}
		if reason != leftUnread {
			reason += " (an option of the writer)"
		}
		loss.Add("record", "", format.Lost, reason, n)
	}
}

// headerRecords returns the records that precede all others.
func (e *encoder) headerRecords(loss *format.Loss) (records []Record) {
	d := e.Defs
	textRecord := func(typ, event, processor, process int64, text string) {
		r := Record{Type: typ, Event: event, Processor: processor, Process: process,
			Values: []trace.Value{trace.StringValue(text)}}
		if e.native {
			e.encodeTexts(&r)
		} else if change := textChange(text, 1); change != "" && text != "" {
			how := format.WeftOnly
			if e.Plain {
				how = format.Degraded
			}
			loss.Add("text", "name", how, change, 1)
		}
		records = append(records, r)
	}
	if e.native {
		e.prepare()
		records = append(records, e.placeless...)
		for i := 0; i < d.Regions.Len() && !e.keptLabels; i++ {
			ev := e.eventOf(uint32(i))
			if name := d.Regions.At(uint32(i)).Name; !e.severalNames[ev] && !e.hasDefaultName(ev, name) &&
				(e.rewriter == nil || !e.rewriter.hasLabel(ev, name)) {
				textRecord(TypeLabel, ev, -1, -1, name)
			}
		}
		for i := 0; i < d.Locations.Len() && !e.keptLabels; i++ {
			l, k := d.Locations.At(uint32(i)), e.key(uint32(i))
			if l.Name != "" && k.processor >= 0 && (l.Name != "host" || k.processor != Host) && l.Kind != trace.PeerLocation &&
				l.Name != e.named.nameOf(k.processor, k.process) &&
				(e.rewriter == nil || !e.rewriter.hasName(k, l.Name)) {
				textRecord(TypeLabel, -1, k.processor, k.process, l.Name)
			}
		}
		for i := 0; i < d.Sets.Len() && !e.keptSets; i++ {
			r, ok := setRecord(d.Sets.At(uint32(i)))
			if !ok {
				if id := d.Sets.At(uint32(i)).ID; id == allID || strings.Contains(id, jointSeparator) {
					continue // a record can refer to all processors, and to two subsets
				}
				loss.Add("set", "", format.Lost, "not a subset of processors, processes or event types", 1)
				continue
			}
			if e.rewriter == nil || !e.rewriter.d.defs.hasSubset(setKey{r.Type, r.Values[0].Int()}) {
				records = append(records, r)
			}
		}
		return records
	}
	e.CarryDefinitions(loss, func(number, text string) error {
		textRecord(TypeMessage, -1, -1, -1, carryPrefix+number+" "+text)
		return nil
	})
	for i := range min(d.Regions.Len(), firstText) {
		textRecord(TypeLabel, int64(i), -1, -1, d.Regions.At(uint32(i)).Name)
	}
	e.markLabels(func(event int64, label string) { textRecord(TypeLabel, event, -1, -1, label) })
	records = append(records, e.communicatorRecords()...)
	for i, name := range d.FullNames() {
		textRecord(TypeLabel, -1, processorOf(uint32(i)), -1, name)
	}
	return records
}
