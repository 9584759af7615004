package otf

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/internal/fileoperation"
	"github.com/weft-trace/weft/internal/lanes"
	"github.com/weft-trace/weft/internal/lookahead"
	"github.com/weft-trace/weft/trace"
)

// encoder writes a trace of the common model. It writes OTF's own records wherever they exist, so that other
// tools see the events. A key-value pair before a record carries the parts of the event that the record cannot
// express. A further pair carries all definitions. The file with this pair is written last, because
// definitions may be added until then. A plain trace has no such pairs.
type encoder struct {
	out    *format.Output
	defs   *trace.Definitions
	w      *Writer
	files  *copier
	loss   format.Loss
	tokens *allTokens
	// reader decodes each record again. Comparing the result with the row shows whether the record
	// expresses the row completely.
	reader        *decoder
	rows          carrier.Rows
	plain         bool
	begun         bool // the clock has been chosen
	places        []placeOfLocation
	locationsByID map[string]uint32 // locations by id; the map is made when a marker or a root needs it
	rec           Record
	readBack      Record
	text          []byte
	row           trace.Batch
	packed        []byte
	carriers      [lastKey + 1]bool // weft's own keys that records have
	usedKeys      map[uint32]bool   // keys of all pairs in the records of a plain trace
	lanes         *lanes.Lanes
	processes     map[uint32][]uint64 // numbers of the processes for the lanes of each resource
	laneNames     []string            // names of the processes with the numbers from laneProcess on
	// last is the time of the last event, in ticks of the file. tie is the rank of that event among events of
	// the same time.
	last   uint64
	tie    uint64
	extent extent // of the written records without markers
	// locations whose current collective operation its begin record describes completely
	completeBegins map[uint32]bool
	operations     map[uint64]bool         // collective operations that records refer to
	groups         map[summaryGroup]uint64 // tokens of the groups that summaries refer to
	// groups of files in a trace that was read from OTF; nil until a summary refers to a group of files
	fileGroupNames          map[uint64]string
	fileGroupTokens         map[string]uint64
	windows                 map[uint32]uint32     // communicator of each window for remote memory access
	fileOperations          *fileoperation.FromIO // operations on files of a trace with I/O handles
	handles                 map[uint32]bool       // I/O handles that need a file of their own
	parents                 *parents
	defaultStreams          bool            // the user has not chosen the number of streams
	keepLevel, keepSpelling bool            // the user has not chosen the compression and the spelling
	held                    *lookahead.Rows // rows wait for the end of collective operations
	members                 *trace.Memberships
	ranks                   map[uint32][]uint32 // locations of the ranks, by communicator
	original                *rewriting          // nil unless an OTF trace is written again with its own tokens
	// checksum of the written visits; nil unless the original trace has a thumbnail
	written *visitSum
}

// extent holds the first and the last time of a set of records.
type extent struct {
	any         bool
	first, last uint64
}

// add adds the time of a record.
func (e *extent) add(t uint64) {
	if !e.any {
		*e = extent{true, t, t}
	}
	e.first, e.last = min(e.first, t), max(e.last, t)
}

// has reports whether a time lies in the extent.
func (e *extent) has(t uint64) bool { return e.any && e.first <= t && t <= e.last }

// placeOfLocation holds the process and the stream to which the events of a location are written.
type placeOfLocation struct {
	known   bool // the process is set
	used    bool // a record names the process
	process uint64
	stream  uint32
	w       *StreamWriter
	// marked is the process in markers if marks is set.
	marked uint64
	marks  bool
}

// Create returns an encoder that writes to out.
func (Format) Create(out *format.Output, opt *format.WriteOptions) (format.Encoder, error) {
	if err := about.CheckOptions(opt.Values); err != nil {
		return nil, err
	}
	wo, streams, err := writerOptions(opt)
	if err != nil {
		return nil, err
	}
	keepLevel := wo.Level < 0
	wo.Level = max(wo.Level, 0)
	wo.Streams = 1
	if streams >= 0 {
		wo.Streams = uint32(streams)
	}
	e := newEncoder(out, &wo)
	e.defaultStreams, e.plain = streams < 0, opt.Plain
	e.keepLevel, e.keepSpelling = keepLevel, opt.Value("otf.spelling", "keep") == "keep"
	return e, nil
}

func newEncoder(out *format.Output, opt *WriterOptions) *encoder {
	stub := strings.TrimSuffix(out.Path, ".otf")
	e := &encoder{out: out, w: Create(stub, opt), lanes: lanes.New(), processes: map[uint32][]uint64{},
		operations: map[uint64]bool{}, groups: map[summaryGroup]uint64{}, completeBegins: map[uint32]bool{},
		windows: map[uint32]uint32{}, handles: map[uint32]bool{}, usedKeys: map[uint32]bool{}}
	e.files = &copier{stub: stub, writers: e.w.streams, master: e.w.master}
	e.files.attach(out)
	e.held = lookahead.New(lookahead.CollectiveOperations, e.writeRow)
	return e
}

// WriteEvents writes events in global order, because several locations share a stream.
func (e *encoder) WriteEvents(ctx context.Context, events format.Events, sel trace.Selection) error {
	return events.Scan(ctx, sel, format.GlobalOrder, e)
}

// Loss returns the losses so far.
func (e *encoder) Loss() *format.Loss { return &e.loss }

// Abort frees the resources of the encoder. The output removes the files.
func (e *encoder) Abort() {
	e.held.Close()
	e.w.Abort()
}

// Begin stores the definitions and prepares the encoder for events.
func (e *encoder) Begin(d *trace.Definitions) error {
	e.defs, e.tokens, e.fileOperations = d, newTokens(d), fileoperation.NewFromIO(d)
	m := emptyModel(d)
	if m.frozen, m.carried = true, true; !e.plain {
		m.generic = map[string]uint32{}
	}
	e.reader = &decoder{model: m}
	switch native := d.Native.(type) {
	case *originalTrace:
		s := &sourceTrace{number: 1, r: native.r, model: native.model}
		if e.joinsStreams(s) {
			if d.Repaired {
				return nil // the stand-ins of several streams can have the same token
			}
			s.SourceTrace = sameTrace(d)
		}
		numberStreams([]*sourceTrace{s})
		return e.rewrite([]*sourceTrace{s})
	case *restoredTrace:
		e.rows.Continue(d, native.restorer)
	case *trace.SourceTraces:
		if sources := sourcesOf(native); sources != nil {
			return e.rewrite(sources)
		}
	}
	return nil
}

// begin chooses the clock of the file by the time of the first event.
func (e *encoder) begin(first int64) {
	e.begun = true
	e.reader.clock = newFileClock(e.defs.Clock, first)
	if e.original == nil || len(e.original.sources) > 1 {
		e.loss.AddBase(e.defs.Clock)
	}
	if e.original == nil {
		if e.plain && e.reader.clock.base > 0 {
			e.loss.AddShift(e.defs.Clock, -first)
		}
		return
	}
	if len(e.original.sources) == 1 && e.reader.clock.base == 0 {
		e.reader.clock = e.original.sources[0].model.clock
	}
}

// Batch writes the rows of a batch.
func (e *encoder) Batch(b *trace.Batch) error {
	if b.Len() > 0 && !e.begun {
		e.begin(b.Time[0])
	}
	e.reader.model.indexTokens(e.tokens)
	if e.defs.Origin != "otf" && e.held.Needs(b) {
		return e.held.Batch(b)
	}
	c := b.Cursor() // declared outside the loop, which would copy it each time
	for c.Next() {
		if err := e.writeRow(&c); err != nil {
			return err
		}
	}
	return nil
}

// place returns the process and stream to which the events of a location are written.
func (e *encoder) place(loc uint32) *placeOfLocation {
	p := e.placeOfMarkers(loc)
	if p.w == nil {
		p.stream = e.stream(loc, uint32(p.process))
		p.w = e.w.Stream(p.stream)
	}
	return p
}

// placeOfMarkers returns the process to which the markers of a location are written. In contrast to place,
// it does not determine a stream, because process 0, which stands for the whole trace, has no stream.
func (e *encoder) placeOfMarkers(loc uint32) *placeOfLocation {
	for int(loc) >= len(e.places) {
		e.places = append(e.places, placeOfLocation{})
	}
	p := &e.places[loc]
	if !p.known {
		var ok bool
		if p.process, ok = e.markedGroup(loc); !ok {
			p.process = uint64(e.tokens.locations.at(int(loc)))
		}
		p.marked, p.marks = e.markedProcess(loc)
		p.known = true
	}
	return p
}

// markedProcess returns the process to write in markers of a location that stands for the whole trace (process 0) or
// for a process group. ok is false for other locations, or if OTF is not the origin of the trace.
func (e *encoder) markedProcess(loc uint32) (process uint64, ok bool) {
	l := e.defs.Locations.At(loc)
	if e.original != nil || e.defs.Origin != "otf" || l.Kind != trace.EventsLocation {
		return 0, false
	}
	for i, group := range e.defs.Communicator.All() {
		if group.ID == l.ID {
			return uint64(e.tokens.communicators.at(i)), true
		}
	}
	return 0, l.ID == "0"
}

// writeRow writes the records of an event.
func (e *encoder) writeRow(c *trace.Cursor) error {
	t, ok := e.reader.clock.toFile(c.Time())
	if !ok {
		e.loss.Add(e.defs.Spec(c.Kind()).Name, "time", format.Lost, "does not fit 63 bits in the trace's clock", 1)
		return nil
	}
	var p *placeOfLocation
	if c.Kind() == trace.Marker {
		p = e.placeOfMarkers(c.Location())
	} else {
		p = e.place(c.Location())
	}
	r := &e.rec
	pairs := r.KeyValues[:0]
	*r = Record{}
	r.Time, r.Process, r.Stream, r.KeyValues = t, p.process, p.stream, pairs
	marks := p.marks && c.Kind() == trace.Marker
	if marks {
		r.Process = p.marked
	}
	if e.original != nil {
		if !e.setOriginalRecord(c, r) {
			return nil
		}
	} else if frequent := e.native(c, r); !frequent && !e.completeRecord(c, r) {
		return nil
	}
	if r.Type != Marker {
		if p.w == nil { // the row of a marker becomes another record
			p = e.place(c.Location())
			r.Stream = p.stream
		}
		e.extent.add(t)
	}
	if p = &e.places[c.Location()]; r.Process == p.process && !marks {
		p.used = true
	}
	// Readers order simultaneous records by stream and part, markers last.
	tie := uint64(p.stream)<<2 | uint64(partRank[r.Type.Part()])
	w := p.w
	if r.Type == Marker {
		tie, w = math.MaxUint64, e.w.Stream(e.markerStream(c.Location(), r.Stream))
	}
	if t == e.last && tie < e.tie {
		e.loss.Add(e.defs.Spec(c.Kind()).Name, "order", format.Degraded,
			"events with the same time in different files change their order", 1)
	}
	e.last, e.tie = t, tie
	if e.written != nil && r.Type.Part() == Events {
		e.written.add(r)
	}
	if e.plain {
		for i := range r.KeyValues {
			e.usedKeys[r.KeyValues[i].Key] = true
		}
	}
	return w.Write(r)
}

// partRank is the order of the parts of a stream for simultaneous records.
var partRank = [numParts]uint8{Snapshots: 0, Statistics: 1, Events: 2, Markers: 3}

// setMarkerProcess sets the process of a marker from an OTF2 trace to the location to which the marker's scope
// refers, if the scope is a single location, and to 0, if the scope is the whole trace. In OTF2, markers have both a
// location and a scope. It reports whether the process shows the scope.
func (e *encoder) setMarkerProcess(c *trace.Cursor, r *Record) bool {
	const scope, global, location = 1, 0, 1
	ops := c.Ops()
	if r.Type != Marker || len(ops) != 3 || ops[scope] > location {
		return false
	}
	if ops[scope] == global {
		r.Process = 0
		return true
	}
	i, ok := e.locationWithID(strconv.FormatUint(ops[2], 10))
	if ok {
		r.Process = e.place(i).process
	}
	return ok
}

// locationWithID returns the location with an id.
func (e *encoder) locationWithID(id string) (loc uint32, ok bool) {
	if e.locationsByID == nil {
		e.locationsByID = map[string]uint32{}
		for i, l := range e.defs.Locations.All() {
			e.locationsByID[l.ID] = uint32(i)
		}
	}
	loc, ok = e.locationsByID[id]
	return loc, ok
}

// truncate cuts the numbers of a record to the size of their fields. An unknown message length becomes 0, and
// a message length that is too large becomes the largest possible length.
func (e *encoder) truncate(r *Record) {
	if r.Type == SendMsg || r.Type == RecvMsg {
		if r.Length == trace.Undefined {
			r.Length = 0
		}
		r.Length = min(r.Length, math.MaxUint32)
	}
	for i := range specs[r.Type].fields {
		if f := &specs[r.Type].fields[i]; f.bits > 0 {
			*r.number(f.f) &= ^uint64(0) >> (64 - f.bits)
		}
	}
}

// native sets r to the record that expresses the row best for other tools, or to a comment if OTF has no such
// record. frequent is true for events that a reader of the record always restores completely.
func (e *encoder) native(c *trace.Cursor, r *Record) (frequent bool) {
	kind, ref, ops := c.Kind(), c.Ref(), c.Ops()
	keys, values := c.Attrs()
	e.rows.UseAttributes(keys)
	plain := len(keys) == 0 && !c.Derived()
	switch kind {
	case trace.Enter, trace.Leave:
		if ref != trace.NoRef {
			r.Function = uint64(e.tokens.regions.at(int(ref)))
		} else if kind == trace.Enter || e.original == nil {
			break // the original of such a leave has function 0
		}
		if r.Type = Enter; kind == trace.Leave {
			r.Type = Leave
		}
		if plain && len(ops) == 0 {
			return true
		}
		e.addAttributes(r, keys, values)
		return false
	case trace.Metric:
		if ref == trace.NoRef || len(ops) == 0 {
			break
		}
		r.Type, r.Counter, r.Value = Counter, uint64(e.tokens.metrics.at(int(ref))), ops[0]
		if plain && e.defs.Conventions.IsFirstValue(ops) {
			return true
		}
		e.addAttributes(r, keys, values)
		return false
	}
	e.nativeFields(c, r)
	if r.Type == EventComment && kind != trace.Comment && e.original == nil && !becomesComment(kind) {
		r.Type = NoOp
	}
	e.addAttributes(r, keys, values)
	if r.Type == EventComment && kind != trace.Comment && r.Text == "" {
		r.Text = carrier.Label(e.defs, c)
	}
	return false
}

// nativeFields sets the type and the fields of r for an event that is not a visit or a counter value. It
// leaves r as it is if OTF has no record for the event.
func (e *encoder) nativeFields(c *trace.Cursor, r *Record) {
	if x, ok := e.fileOperations.Convert(c); ok {
		e.setFileOperation(r, &x, c.Ref())
		return
	}
	kind, ref, ops := c.Kind(), c.Ref(), c.Ops()
	op := func(i int) uint64 {
		if i < len(ops) {
			return ops[i]
		}
		return trace.Undefined
	}
	table := func(t *tokens, n int, i uint64) uint64 {
		if i < uint64(n) {
			return uint64(t.at(int(i)))
		}
		return 0
	}
	location := func(i int) uint64 { return table(&e.tokens.locations, e.defs.Locations.Len(), op(i)) }
	named := func(table int) uint64 {
		t := [...]*tokens{functions: &e.tokens.regions, groups: &e.tokens.communicators, counters: &e.tokens.metrics,
			files: &e.tokens.files, markers: &e.tokens.markers, functionGroups: nil, fileGroups: nil}[table]
		switch {
		case ref == trace.NoRef:
			return 0
		case t == nil:
			return e.groupToken(table, r.Stream, ref)
		}
		return uint64(t.at(int(ref)))
	}
	typ, ok := typeOfKind[kind]
	if x := e.transferOperands(c); x != nil {
		if ops = x; kind == trace.RMACompleteBlocking || kind == trace.RMACompleteNonBlocking {
			typ, ok = RMAEnd, true
		}
	}
	m := &eventModels[typ]
	if kind == trace.CollectiveBegin || kind == trace.CollectiveEnd {
		if x := e.held.Collective(c.Location()); x != nil {
			ops = e.operationOperands(x, c.Location())
		} else if e.original == nil && op(5) == trace.Undefined {
			ok = false // a begin without an end has no operation, and an end without a begin no matching number
		}
	}
	switch {
	case kind == trace.ClaimBegin || kind == trace.ClaimEnd:
		e.convertClaim(c, r, named(functions))
	case kind == trace.Fragment || kind == trace.SampleRange:
		if ref != trace.NoRef && len(ops) > 1 {
			r.Type, r.Counter, r.Value = Counter, named(counters), op(1)
		}
	case !ok:
	case ref == trace.NoRef && m.table == markers, (typ == SendMsg || typ == RecvMsg) && e.original == nil &&
		location(0) == 0:
	default:
		if r.Type = typ; typ == Marker {
			r.Stream = 0 // a marker is in the global file unless an attribute names another stream
		}
		if m.table != noTable {
			*r.number(m.ref) = named(m.table)
		}
		for i, o := range m.ops {
			v := op(i)
			switch o.source {
			case constant:
				continue
			case processLocation, optionalLocation:
				v = location(i)
			case optionalCommunicator:
				v = table(&e.tokens.communicators, e.defs.Communicator.Len(), v)
			case optionalRoot:
				switch {
				case v == trace.Undefined:
					v = 0
				case e.defs.Origin != "otf":
					v = e.rootProcess(c, v, op(1))
				}
			case fileTime:
				v, _ = e.reader.clock.toFile(int64(v))
			}
			*r.number(o.f) = v
		}
		if specs[typ].hasField(fieldCollective) && (r.Collective != 0 || typ.Part() == Events) {
			e.operations[r.Collective&noProcess] = true
		}
	}
}

// transferOperands returns the operands of a transfer to or from remote memory, or of the transfer's end, as
// OTF's records have them: the communicator of the window, and as the tag the number that joins the transfer
// and its end. It returns nil for other events.
func (e *encoder) transferOperands(c *trace.Cursor) []uint64 {
	if c.Ref() == trace.NoRef || len(c.Ops()) == 0 {
		return nil
	}
	comm := func() uint64 {
		w := c.Ref()
		if _, ok := e.windows[w]; !ok {
			e.windows[w] = e.defs.WindowCommunicator(w)
		}
		return uint64(e.windows[w])
	}
	switch c.Kind() {
	case trace.RMAPut, trace.RMAGet:
		return []uint64{c.Op(0), c.Op(1), trace.Undefined, comm(), c.Op(2) & noProcess, trace.Undefined}
	case trace.RMACompleteBlocking, trace.RMACompleteNonBlocking:
		return []uint64{trace.Undefined, comm(), c.Op(0) & noProcess}
	}
	return nil
}

// setFileOperation sets the type and the fields of r for an operation on a file. ref is the I/O handle, unless the file
// of the operation is known.
func (e *encoder) setFileOperation(r *Record, x *fileoperation.Operation, ref uint32) {
	r.Type, r.Matching = typeOfKind[x.Kind], x.Matching
	switch {
	case x.Kind == trace.FileOperationBegin:
		return
	case x.File != trace.NoRef:
		r.File = uint64(e.tokens.files.at(int(x.File)))
	default:
		r.File = handleFile + uint64(ref)
		e.handles[ref] = true
	}
	r.Handle, r.Operation, r.Bytes = x.Handle, x.Code, x.Bytes
}

// becomesComment reports whether an event that OTF has no record for is written as a comment, which people
// can read. Other such events become NoOp records, which only weft can interpret.
func becomesComment(k trace.Kind) bool {
	switch k {
	case trace.Mark, trace.Gap, trace.Generic, trace.Parameter, trace.ClaimBegin, trace.ClaimEnd:
		return true
	}
	return k >= trace.Declared
}

// addAttributes adds the attributes of a row to a record, as far as OTF can express them.
func (e *encoder) addAttributes(r *Record, keys []uint32, values []trace.Value) {
	texted := !specs[r.Type].hasField(fieldText)
	for i, k := range keys {
		v := &values[i]
		def := e.defs.Attributes.At(k)
		switch {
		case def.Name == textName && v.Type == trace.String && !texted:
			r.Text, texted = v.Str, true
			continue
		case def.Name == sclName && v.Type == trace.Uint32 && r.SCL == 0 && hasSCL(r.Type):
			r.SCL = v.Num
			continue
		}
		if n := v.Num; def.Name == recordName && v.Type == trace.Uint32 && r.Type == EventComment &&
			(n == uint64(SnapshotComment) || n == uint64(SummaryComment)) {
			r.Type = Type(n)
			continue
		}
		if e.original != nil {
			switch {
			case def.Name == streamName && v.Type == trace.Uint32 && r.Type == Marker:
				r.Stream = uint32(v.Num)
				continue
			case def.Name == unnamedName && v.Type == trace.Uint8 && r.Type == Leave:
				r.Function = 0
				continue
			}
			e.original.keys[int(k)] = true
		}
		kv := KeyValue{Key: e.tokens.attributes.at(int(k))}
		if v.Type == trace.Bytes || v.Type == trace.String && def.Type == trace.String {
			kv.Type, kv.Bytes = Bytes, []byte(v.Str)
		} else if t, ok := pairTypes[v.Type]; ok {
			kv.Type, kv.Bits = t, v.Num&(^uint64(0)>>(64-t.bits()))
		} else {
			continue // the carried row already contains the attribute
		}
		if e.original == nil && r.hasKey(kv.Key) {
			continue // readers take only the first pair with a key
		}
		r.KeyValues = append(r.KeyValues, kv)
	}
}

// hasField reports whether records of the type have a field.
func (s *spec) hasField(f field) bool {
	for i := range s.fields {
		if s.fields[i].f == f {
			return true
		}
	}
	return false
}

// convertClaim turns a claim into a visit of the activity's region on a lane of the resource. Claims overlap
// but visits nest, so a resource has several lanes.
func (e *encoder) convertClaim(c *trace.Cursor, r *Record, region uint64) {
	ops := c.Ops()
	if len(ops) < 2 || region == 0 || ops[1] >= uint64(e.defs.Resources.Len()) {
		return
	}
	resource, id := uint32(ops[1]), int64(ops[0])
	if c.Kind() == trace.ClaimEnd {
		if lane, ok := e.lanes.End(resource, id); ok {
			r.Type, r.Function, r.Process = Leave, region, e.processes[resource][lane]
		}
		return
	}
	lane, ok := e.lanes.Begin(resource, id)
	if !ok {
		return
	}
	if lane == len(e.processes[resource]) {
		p := laneProcess + uint64(len(e.laneNames))
		name := e.defs.Resources.At(resource).Label()
		if lane > 0 {
			name = fmt.Sprintf("%s (%d)", name, lane+1)
		}
		e.laneNames = append(e.laneNames, name)
		e.w.master.Assign(uint32(p), e.places[c.Location()].stream)
		e.processes[resource] = append(e.processes[resource], p)
	}
	r.Type, r.Function, r.Process = Enter, region, e.processes[resource][lane]
}

// Links writes links as records after the last event.
func (e *encoder) Links(links []trace.Link) error {
	if e.original != nil {
		e.loss.Add("link", "", format.Lost, "OTF has no links", int64(len(links)))
		return nil
	}
	if e.plain || e.defs.Locations.Len() == 0 { // without a process, no record can carry the links
		e.loss.Add("link", "", format.Lost, "OTF has no links", int64(len(links)))
		return nil
	}
	if err := e.held.Flush(); err != nil {
		return err
	}
	if !e.begun {
		e.begin(0)
	}
	e.loss.Add("link", "", format.WeftOnly, "OTF has no links", int64(len(links)))
	p := e.place(0)
	e.rec = Record{Type: NoOp, Time: e.last, Process: p.process,
		KeyValues: e.rec.KeyValues[:0]}
	e.addCarrier(&e.rec, KeyValue{Key: linkKey, Type: Bytes, Bytes: carrier.PackLinks(links)})
	return p.w.Write(&e.rec)
}

// Close writes the definitions and the master file.
func (e *encoder) Close() error {
	defer e.held.Close()
	if err := e.held.Flush(); err != nil {
		return err
	}
	if e.original == nil && e.w.master.Len() == 0 && e.defs.Locations.Len() > 0 {
		e.place(0) // libotf does not open a trace without a stream
	}
	if err := e.writeDefinitions(); err != nil {
		return err
	}
	if e.w.master.Len() == 0 && (e.original == nil || e.original.hadStreams()) {
		// No location is left, except for process 0 of markers. This process is not restored, as those of lanes.
		e.w.Stream(e.w.assign(laneProcess))
		if err := e.w.Write(&Record{Type: DefProcess, Token: laneProcess, Name: "nothing"}); err != nil {
			return err
		}
	}
	if err := e.keepThumbnails(); err != nil {
		return err
	}
	if err := e.w.writeMissingFiles(); err != nil {
		return err
	}
	for _, w := range e.w.streams {
		if err := w.finish(); err != nil {
			return err
		}
	}
	_, err := e.w.master.WriteTo(e.out)
	return err
}
