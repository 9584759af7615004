package otf2

import (
	"context"
	"math"
	"slices"
	"strconv"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/internal/collective"
	"github.com/weft-trace/weft/internal/fileoperation"
	"github.com/weft-trace/weft/internal/lanes"
	"github.com/weft-trace/weft/internal/lookahead"
	"github.com/weft-trace/weft/trace"
)

// Names and ids that weft uses in an archive converted from another format, in addition to OTF2's own
// records (docs/formats/otf2.md, "Archives of other formats"). An id is the index in the common model,
// except in tables whose first ids the archive itself uses.
const (
	definitionKey = "WEFT::DEFINITIONS::" // properties with all definitions, in numbered pieces
	baseKey       = "time-base"           // key of the definition that holds the time of tick 0
	layoutKey     = "layout"              // key of the definition that holds likeScoreP, in archives like those of Score-P

	shortRow      = 0 // attribute of an event: its packed row, if the row fits in 8 bytes
	longRow       = 1 // attribute of an event: its packed row as text, if the row is longer
	claimID       = 2 // attribute of the begin and of the end of a claim: the id of the claim
	kindParameter = 0 // parameter whose values name events that OTF2 does not have
	allComm       = 0 // communicator of all locations
	allLocations  = 0 // group of all communicating locations
	allRanks      = 1 // group of the same locations, as ranks among the communicating locations
)

// firstID holds the id of index 0 of each table.
var firstID = [tables]uint64{Attributes: 3, Parameters: 1, Comms: 1, Groups: 2}

// firstID returns the id of index 0 of a table in the written archive.
func (e *encoder) firstID(t Table) uint64 {
	if e.plain && t == Attributes {
		return 0 // the written archive has none of weft's own entries
	}
	return firstID[t]
}

const (
	// firstPooled is the id of the first string that does not come from the model. firstLink is the id of the
	// first string that contains links; no record refers to such strings.
	firstPooled = 1 << 30
	firstLink   = 1 << 31
)

// encoder writes a trace of any format as OTF2.
type encoder struct {
	w          *Writer
	defs       *trace.Definitions
	base       uint64
	scale      int64 // ticks of the file per tick of the trace, if they differ
	begun      bool
	loss       *format.Loss
	plain      bool
	rows       carrier.Rows
	missing    uint64 // the operands that the record cannot hold, as a bit set
	packed     []byte
	inEvent    []carrier.AttributeStorage // which attributes of the current row the event has
	carries    bool                       // an event has one of weft's own attributes
	events     []*EventWriter             // indexed by location
	strings    map[string]uint64
	known      map[string]uint64 // ids of texts that an archive that weft wrote already has, until they are used
	texts      uint64            // number of strings that do not come from the model
	links      uint64
	err        error // first error of writing a string
	event      Event
	byLocation bool // the scan delivers one location after another
	last       int64
	loc        uint32
	first      uint64 // first and final are the smallest and the largest time in the file
	final      uint64
	ids        [trace.Declared]uint8 // record ids of events, by kind
	comms      []*commMembers
	// lists of the communicating locations of paradigms, and the sets that state them
	paradigmLists map[uint64]*placeList
	statedSets    map[uint64]*statedSets
	selves        map[uint64]uint32 // result of selfSets
	commSets      map[uint32]bool   // result of setsOfComms
	memberships   *trace.Memberships
	numbers       map[int64]uint32 // locations by the number that their id states
	// regions by the number that their id states
	regionNumbers map[int64]uint32
	// first metrics by the number of their class or instance in the archive from which the trace came
	metricNumbers map[uint64]uint32
	processes     *trace.ProcessNumbers // of a trace whose locations have numbers of processors and processes
	windows       []uint32              // communicators that need a window for the memory of their members
	windowIDs     map[uint32]uint64     // the ids of these windows, by communicator
	windowComms   map[uint64]uint32     // communicators of all windows, by id
	memory        uint32                // communicator of the current transfer, if the transfer has no window
	// others holds the ids to which events refer in tables that the model does not have.
	others    [tables]map[uint64]bool
	returning map[definition]Record // result of returningDefinitions; nil until needed
	// paradigm of the threads of each communicator that is a team of threads
	teams  map[uint32]uint64
	forks  uint64 // paradigm of the threads that were forked last; 0 if unknown
	types  carrier.AttributeTypes
	marked map[uint32]bool // definitions of markers that have been written
	// groups and names of these definitions
	markerNames map[[2]string]bool
	// written holds the keys of the attributes of an event that have been written, if they are many
	written map[uint32]bool
	// entries to which markers can belong, by id; nil until needed
	scopes [tables]map[string]uint32
	scoped []scopedMarker
	// markers holds the markers of a rewritten archive until its events have been written.
	markers []*Record
	// groupIDs holds the ids of the groups that are written as groups of locations. nodeIDs holds the ids of
	// the groups that are written as nodes of the system tree.
	groupIDs, nodeIDs map[uint32]uint64
	calls             *collective.Calls // operands for the ends of collective operations
	ends              collective.Ends   // ends of operations that are single events of the trace
	absent            bool              // the current row is one of ends, which is no event of the trace
	lanes             *lanes.Lanes      // lanes of the claims on each location
	extraLanes        lanes.ExtraLanes[*EventWriter]
	onLane            bool            // the current row has a visit on a lane
	describes         bool            // an event is a value of kindParameter
	held              *lookahead.Rows // rows wait for the end of operations on files
	io                *fileoperation.ToIO
	stated            uint32 // attribute of the current row that its record states, or NoRef
	// definedFields holds whether the trace defines an attribute for a part of records
	definedFields map[attributeKey]bool
	metrics       metricRecord
	original      *originalArchives // the archive that the trace was read from; nil for other formats
	restored      *restoredArchive  // the archive that weft wrote and that the trace was read from, or nil
	// the archive must have the layout of Score-P's archives, as an option requests
	wantsScorep bool
	scorep      *scorep // the layout of Score-P's archives; nil for weft's own layout
}

// Create returns an encoder that writes an archive.
func (Format) Create(out *format.Output, opt *format.WriteOptions) (format.Encoder, error) {
	if err := about.CheckOptions(opt.Values); err != nil {
		return nil, err
	}
	w, err := NewWriter(out, Anchor{Creator: "weft", EventChunk: 1 << 20})
	if err != nil {
		return nil, err
	}
	e := &encoder{w: w, plain: opt.Plain, loss: &format.Loss{}, wantsScorep: opt.Value(likeOption, likeWeft) == likeScoreP,
		strings:     map[string]uint64{},
		windowComms: map[uint64]uint32{}, marked: map[uint32]bool{},
		markerNames: map[[2]string]bool{}, first: undefined64}
	for id := len(eventKinds) - 1; id >= firstEvent; id-- {
		// Several records can have the same kind. The encoder does not use the OpenMP records of old versions.
		if k := eventKinds[id].kind; k != trace.NoKind && (id < ompFork || id > ompTaskComplete) && k != trace.Parameter {
			e.ids[k] = uint8(id)
		}
	}
	return e, nil
}

// WriteEvents writes events in global order, so that the encoder can count simultaneous events that change
// places, unless no events can change places. Rewriting an archive does not change the order of events, so several
// goroutines write the events of different locations.
func (e *encoder) WriteEvents(ctx context.Context, events format.Events, sel trace.Selection) error {
	if e.original != nil {
		return e.rewriteEvents(ctx, events, sel)
	}
	order := format.GlobalOrder
	if e.byLocation = events.Defs().ByLocation; e.byLocation {
		order = format.PerLocation
	}
	return events.Scan(ctx, sel, order, e)
}

// Loss returns the loss so far.
func (e *encoder) Loss() *format.Loss { return e.loss }

// Abort removes the written files.
func (e *encoder) Abort() {
	if e.held != nil {
		e.held.Close()
	}
	e.w.Abort()
}

// Begin prepares the encoder for a trace with these definitions.
func (e *encoder) Begin(d *trace.Definitions) error {
	e.defs, e.memberships = d, d.Memberships()
	native := d.Native
	likeScorep := e.wantsScorep || d.Format == "otf2" && d.Layout == likeScoreP
	e.chooseSnapshots(native, likeScorep)
	if likeScorep {
		e.scorep, native = &scorep{}, nil // the whole archive is encoded
	}
	switch native := native.(type) {
	case *model:
		return e.rewrite([]*source{{m: native, defs: native.defs, retimed: d.Retimed}})
	case *trace.SourceTraces:
		if parts := partsOf(native); parts != nil {
			if native.First < 0 {
				e.base = -uint64(native.First) // times in the file must not be negative
			}
			return e.rewrite(parts)
		}
	}
	e.held, e.io = lookahead.New(lookahead.FileOperations, e.writeInOrder), fileoperation.NewToIO(d.Handles.Len())
	e.lanes = lanes.New()
	e.loss.AddBase(d.Clock)
	for _, l := range d.Locations.All() {
		if l.Kind == trace.EventsLocation {
			e.countChanged("location", "events without one", "have a location, which other tools also show")
		}
	}
	e.calls = collective.NewCalls(d, e.loss, e.plain, e.rankOf)
	if e.plain && d.Clock.Den > 1 {
		e.scale = d.Clock.Den // the clock of OTF2 has whole numbers of ticks per second
	} else if d.Clock.Den != 1 {
		e.loss.Add("trace", "clock", format.Degraded,
			"a second is not a whole number of ticks: OTF2's own tools read a rounded clock rate, weft the exact one", 1)
	}
	return nil
}

// Links writes links as strings of the archive, because OTF2 has no record for links.
func (e *encoder) Links(l []trace.Link) error {
	if e.original != nil || e.plain {
		e.loss.Add("link", "", format.Lost, "OTF2 has no links", int64(len(l)))
		return nil
	}
	e.loss.Add("link", "", format.WeftOnly, "OTF2 has no links", int64(len(l)))
	e.writeString(firstLink+e.links, carrier.Text(carrier.PackLinks(l)))
	e.links++
	return e.err
}

// Batch writes the events of a batch.
func (e *encoder) Batch(b *trace.Batch) error {
	if b.Len() > 0 && !e.begun && e.original == nil {
		e.begun = true
		if t := b.Time[0]; t < 0 {
			// times in the file must not be negative
			if e.scale > 1 {
				e.base, _ = e.scaledTime(-t) // writeRow counts times that do not fit
			} else {
				e.base = uint64(-t)
			}
			if e.plain && e.base > 0 {
				e.loss.AddShift(e.defs.Clock, -t)
			}
		}
	}
	if e.original == nil && e.held.Needs(b) {
		return e.held.Batch(b)
	}
	// declared outside of the loop: a declaration inside of the loop would copy the cursor for each row
	c := b.Cursor()
	for c.Next() {
		if err := e.writeInOrder(&c); err != nil {
			return err
		}
	}
	return nil
}

// writeInOrder writes a row after the ends of operations that come before it.
func (e *encoder) writeInOrder(c *trace.Cursor) error {
	if e.ends.Due(c.Time()) {
		if err := e.writeEnds(c.Time()); err != nil {
			return err
		}
	}
	return e.writeRow(c)
}

// writeEnds writes the ends, up to time t, of operations that are single events of the trace.
func (e *encoder) writeEnds(t int64) error {
	return e.ends.Until(t, func(c *trace.Cursor) error {
		e.absent = true
		err := e.writeRow(c)
		e.absent = false
		return err
	})
}

// location returns the writer of a location's events.
func (e *encoder) location(loc uint32) *EventWriter {
	for uint32(len(e.events)) <= loc {
		e.events = append(e.events, nil)
	}
	if e.events[loc] == nil {
		e.events[loc] = e.w.Location(e.id(Locations, loc))
	}
	return e.events[loc]
}

// countChanged counts something that other tools see changed. Unless the archive is plain, weft restores it.
func (e *encoder) countChanged(object, field, reason string) {
	how := format.WeftOnly
	if e.plain {
		how = format.Degraded
	}
	e.loss.Add(object, field, how, reason, 1)
}

// writeRow writes a row as a record of OTF2. If the record does not hold all of the row, the packed
// row is written as well.
func (e *encoder) writeRow(c *trace.Cursor) error {
	if c.Time() == e.last && c.Location() < e.loc && e.original == nil && !e.absent && !e.byLocation {
		e.loss.Add(e.defs.Spec(c.Kind()).Name, "order", format.Degraded,
			"events with the same time at different locations change their order", 1)
	}
	e.last, e.loc = c.Time(), c.Location()
	x := &e.event
	if x.Time = uint64(c.Time()) + e.base; e.scale > 1 {
		ok := false
		if x.Time, ok = e.scaledTime(c.Time()); !ok {
			e.loss.Add(e.defs.Spec(c.Kind()).Name, "time", format.Lost, "does not fit 63 bits in the clock of OTF2", 1)
			return nil
		}
	}
	if e.original != nil && c.Time() < 0 && uint64(-c.Time()) > e.base {
		x.Time = 0
		e.loss.Add("event", "time", format.Degraded, "OTF2 has no times before 0", 1)
	}
	e.first, e.final = min(e.first, x.Time), max(e.final, x.Time)
	x.Attributes = x.Attributes[:0]
	if e.original == nil && (c.Kind() == trace.Marker || c.Kind() == trace.Mark) {
		if err := e.addMarker(c); err != nil || e.plain {
			return err
		}
	}
	if e.original != nil {
		return e.rewriteRow(c)
	}
	if c.Kind() >= trace.ThreadFork && c.Kind() <= trace.TaskComplete {
		e.noteTeam(c)
	}
	if e.metrics.pending || c.Kind() == trace.Metric && e.defs.Conventions.MetricMembers {
		if joined, err := e.joinMetric(c); joined || err != nil {
			return err
		}
	}
	all := e.nativeRecord(c)
	exact := all && c.Kind() != trace.Generic // a generic event is written as the record of a parameter
	switch {
	case exact, c.Kind() == trace.Marker, c.Kind() == trace.Mark, e.absent && e.missing == 0:
	case c.Kind() == trace.Collective && x.ID != parameterString: // the begin and the end have all operands
	case e.onLane:
		if e.rows.NoteField(c, "operands"); e.plain {
			return e.err
		}
	case x.ID == parameterString && e.plain && keepsText(c):
		e.loss.Add(e.defs.Spec(c.Kind()).Name, "", format.Degraded, "becomes a parameter with its text", 1)
	case x.ID == parameterString:
		if e.rows.NoteField(c, ""); e.plain {
			return e.err
		}
	case e.missing != 0:
		e.rows.NoteOperands(c, e.missing)
	case c.Kind() >= trace.FileOperation && c.Kind() <= trace.FileOperationEnd:
		e.rows.NoteField(c, "kind")
	default:
		e.rows.NoteField(c, "operands")
	}
	attributes := e.attributes(c)
	if !attributes && (exact || x.ID != parameterString) { // other events count as a whole
		e.rows.NoteAttributes(c)
	}
	if !(all && attributes) || c.Derived() || e.absent || e.stated != trace.NoRef && !e.readsStated(c) {
		e.addPackedRow(c)
	}
	if e.err != nil {
		return e.err
	}
	if c.Kind() == trace.Marker || c.Kind() == trace.Mark {
		e.loss.Add(e.defs.Spec(c.Kind()).Name, "its place among events", format.WeftOnly,
			"in an event at the same time, which other tools also show", 1)
	}
	return e.location(c.Location()).Write(x)
}

// addPackedRow adds attributes with the row to the event: the id of a claim, and all else that is packed. The packed
// row contains the attributes of the row that the event does not have.
func (e *encoder) addPackedRow(c *trace.Cursor) {
	if e.plain {
		return
	}
	x, claim := &e.event, carrier.HasClaim(c)
	if e.absent {
		e.packed = e.rows.AppendAbsent(e.packed[:0])
	} else {
		e.packed = e.rows.AppendWhole(e.packed[:0], e.defs, c, claim, e.inEvent)
	}
	number, short := carrier.Number(e.packed)
	a := Attribute{shortRow, typeUint64, number}
	if !short {
		text := carrier.Text(e.packed)
		if len(text) > maxText {
			e.loss.Add(e.defs.Spec(c.Kind()).Name, "", format.Lost, "its texts are longer than OTF2 allows", 1)
			return
		}
		a = Attribute{longRow, typeString, e.string(text)}
	}
	if claim {
		x.Attributes = append(x.Attributes, Attribute{claimID, typeInt64, c.Op(0)})
	}
	x.Attributes = append(x.Attributes, a)
	e.carries = true
}

// nativeRecord fills in the OTF2 record of a row. It reports whether the record contains the whole row except
// its attributes.
func (e *encoder) nativeRecord(c *trace.Cursor) (all bool) {
	e.missing, e.stated, e.onLane = 0, trace.NoRef, false
	x := &e.event
	ops := c.Ops()
	if c.Kind() == trace.Parameter && c.Ref() != trace.NoRef {
		key, ok := e.setParameter(c)
		if ok && x.ID == parameterString+uint8(parameterType(e.defs.Parameters.At(c.Ref()))) {
			e.stated = key
			return true
		}
	}
	if c.Kind() == trace.Metric && c.Ref() != trace.NoRef {
		v := uint64(0)
		if len(ops) > 0 {
			v = ops[0]
		}
		typ, exact := e.defs.Metrics.At(c.Ref()).Type, true
		if typ == trace.Float32 {
			v, exact = toDouble(v)
		}
		x.ID, x.Values = metricEvent, append(x.Values[:0], e.class(c.Ref()), 1, metricType(typ), v)
		return exact && e.defs.Conventions.IsFirstValue(ops)
	}
	if c.Kind() == trace.Generic && c.Ref() != trace.NoRef && !c.Derived() {
		e.describes = true
		x.ID, x.Values = parameterString, append(x.Values[:0], kindParameter, uint64(c.Ref()))
		return len(ops) == 0
	}
	switch k := c.Kind(); {
	case k >= trace.FileOperation && k <= trace.FileOperationEnd && e.setFileOperation(c):
		return false
	case (k == trace.ClaimBegin || k == trace.ClaimEnd) && e.setClaim(c):
		return false
	case k == trace.Fragment && c.Ref() != trace.NoRef && len(ops) > 1:
		x.ID, x.Values = metricEvent, append(x.Values[:0], e.class(c.Ref()), 1, metricType(trace.Float64), ops[1])
		return false
	}
	kind, said := e.transfer(c)
	switch {
	case said != nil:
	case e.absent:
		said = ops
	default:
		said = e.calls.Operands(c)
	}
	if kind == trace.Collective && e.ends.Add(c, said) {
		kind, said = trace.CollectiveBegin, nil
	}
	id := e.recordID(kind)
	if kind >= trace.ThreadFork && kind <= trace.LockRelease {
		id, e.stated = e.oldRecordID(c, id)
	}
	ok := id != 0
	if ok {
		ok, all = e.fillRecord(id, c, c.Ref(), said)
		all = all && slices.Equal(said, ops) // otherwise the record contains more than the row
		e.noteOtherReferences()
	}
	if !ok {
		if x.ID, x.Values = parameterString, x.Values[:0]; !e.plain || keepsText(c) {
			e.describes = true
			x.Values = append(x.Values, kindParameter, e.string(e.describe(c)))
		}
		return false
	}
	return all
}

// keepsText reports whether a plain archive has an event of a kind without a record, because its text is most of it.
func keepsText(c *trace.Cursor) bool {
	return (c.Kind() == trace.Generic || c.Kind() == trace.Comment) && !c.Derived()
}

// describe returns the text that names an event without a record: the text of a comment, or the kind of the event and
// the name of the definition to which it refers.
func (e *encoder) describe(c *trace.Cursor) string {
	if c.Kind() == trace.Comment {
		keys, values := c.Attrs()
		for i, k := range keys {
			if e.defs.Attributes.At(k).Name == textName && values[i].Type == trace.String {
				return values[i].Str
			}
		}
	}
	return carrier.Label(e.defs, c)
}

// noteOtherReferences notes the definitions to which the event refers and for which the model has no table.
func (e *encoder) noteOtherReferences() {
	for _, i := range otherReferences[e.event.ID] {
		t, v := eventTypes[e.event.ID].fields[i].table, e.event.Values[i]
		if v == undefined32 {
			continue
		}
		if e.others[t] == nil {
			e.others[t] = map[uint64]bool{}
		}
		e.others[t][v] = true
	}
}

// recordID returns the record id for events of a kind, or 0 if there is none.
func (e *encoder) recordID(k trace.Kind) uint8 {
	if k >= trace.Declared {
		return 0
	}
	return e.ids[k]
}

// fillRecord fills in the record of an event. ok is false if the record cannot be filled in. all is false if
// the record does not contain the whole event. The operands, and ref, are those of the kind of the record.
func (e *encoder) fillRecord(id uint8, c *trace.Cursor, ref uint32, ops []uint64) (ok, all bool) {
	x, k, t := &e.event, &eventKinds[id], &eventTypes[id]
	x.ID, x.Values = id, append(x.Values[:0], make([]uint64, len(t.fields))...)
	v := x.Values
	all = len(ops) == len(k.ops)
	if k.ref >= 0 {
		switch {
		case ref != trace.NoRef:
			v[k.ref] = e.id(k.table, ref)
		case e.original != nil:
			v[k.ref] = undefined32
		case k.table == Windows && e.memory != trace.NoRef:
			v[k.ref] = e.window(e.memory)
		default:
			return false, false
		}
	}
	for i, o := range k.ops {
		op := uint64(trace.Undefined)
		if i < len(ops) {
			op = ops[i]
		}
		if o.source == constant {
			all = all && op == o.value
			continue
		}
		f := &t.fields[o.field]
		most := uint64(math.MaxUint64)
		switch f.enc {
		case encByte:
			most = 0xff
		case enc32:
			most = undefined32
		}
		switch {
		case o.source == reference && op != trace.Undefined:
			op = e.id(o.table, uint32(op))
		case o.source == reference && k.ops[0].source == peer && e.original == nil:
			op = e.standIn(c)
		}
		undefined := o.source != plain && o.source != tag // the field can hold an undefined value
		if undefined {
			most--
		}
		if op > most {
			if op != trace.Undefined || !undefined {
				all = false
				e.missing |= 1 << min(i, 63)
			}
			op = undefined32
			if o.source == plain {
				op = 0
			}
		}
		v[o.field] = op
	}
	if e.original != nil {
		e.restoreRanks(c, k, ops)
	} else if len(k.ops) > 0 && !e.setPeer(c, k, v) {
		all = false
	}
	if id == bufferFlush {
		if e.scale > 1 {
			v[0], all = e.scaledTime(int64(v[0]))
		} else {
			v[0] += e.base
		}
	}
	if id == programBegin {
		v[1], all = uint64(len(ops)), true
		for _, op := range ops {
			if op == trace.Undefined {
				all = false
			} else if e.original != nil {
				op = e.id(Strings, uint32(op))
			}
			v = append(v, op)
		}
		x.Values = v
	}
	return true, all
}

// Close writes the definitions and ends the archive.
func (e *encoder) Close() error {
	if e.original != nil {
		return e.closeRewritten()
	}
	defer e.held.Close()
	for i := range e.defs.Markers.Len() {
		if err := e.defineMarker(uint32(i)); err != nil {
			return err
		}
	}
	if err := e.held.Flush(); err != nil {
		return err
	}
	if err := e.writeEnds(math.MaxInt64); err != nil {
		return err
	}
	if err := e.flushMetrics(); err != nil {
		return err
	}
	if err := e.defineAll(); err != nil {
		return err
	}
	if err := e.writeScopedMarkers(); err != nil {
		return err
	}
	if e.restored != nil {
		if err := e.copyRestoredSnapshots(); err != nil {
			return err
		}
	}
	e.rows.Report(e.loss, e.defs, about.Mapping, e.plain)
	if !e.plain {
		extra := []carrier.Pair{{Key: baseKey, Value: strconv.FormatUint(e.base, 10)}}
		if e.scorep != nil {
			extra = append(extra, carrier.Pair{Key: layoutKey, Value: likeScoreP})
		}
		data, long := carrier.Pack(e.defs, &e.rows, extra...)
		e.loss.Add("opaque", "data", format.Lost, "longer than 4 KiB", long)
		for _, p := range carrier.Texts(data, definitionKey) {
			e.w.Anchor.Properties = append(e.w.Anchor.Properties, Property{p.Key, p.Value})
		}
	}
	return e.w.Close()
}
