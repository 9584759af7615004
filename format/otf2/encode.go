package otf2

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/format/internal/collective"
	"github.com/weft-trace/weft/trace"
)

// Names and ids of what an archive carries beside OTF2's own records if weft converted it
// (docs/formats/otf2.md, "Archives of other formats"). An id is the index in the common model,
// except in tables whose first ids the archive itself uses.
const (
	definitionKey = "WEFT::DEFINITIONS::" // properties with all definitions, in numbered pieces
	baseKey       = "base"                // key of the time of tick 0 among the definitions

	shortRow      = 0 // attribute of an event: the packed row, if it fits in 8 bytes
	longRow       = 1 // the same as text, for longer rows
	kindParameter = 0 // parameter with the name of a kind that OTF2 does not have
	allComm       = 0 // communicator of all locations
	allLocations  = 0 // group of the communicating locations
	allRanks      = 1 // group of the same locations, as ranks
)

// firstID holds the id of index 0 of each table.
var firstID = [tables]uint64{Attributes: 2, Parameters: 1, Comms: 1, Groups: 2}

// firstID returns the id of index 0 of a table in the written archive.
func (e *encoder) firstID(t Table) uint64 {
	if e.plain && t == Attributes {
		return 0 // the written archive has none of weft's own entries
	}
	return firstID[t]
}

const (
	// firstPooled is the id of the first string that is not in the model. firstLink is the id of
	// the first string that holds links; no record refers to such strings.
	firstPooled = 1 << 30
	firstLink   = 1 << 31
	// maxTexts limits the number of strings that are found by their text. A string beyond this
	// limit gets a new id each time.
	maxTexts = 1 << 16
)

// maxText limits the length of a text, so that it fits in a chunk of definitions.
const maxText = 250_000

// encoder writes a trace of any format as OTF2.
type encoder struct {
	w           *Writer
	defs        *trace.Definitions
	base        uint64
	begun       bool
	loss        format.Loss
	plain       bool
	rows        carrier.Rows
	packed      []byte
	events      []*EventWriter // indexed by location
	strings     map[string]uint64
	texts       uint64 // number of strings beside those of the model
	links       uint64
	err         error // first error of writing a string
	event       Event
	last        int64
	loc         uint32
	first       uint64 // first and final are the smallest and the largest time in the file
	final       uint64
	ids         [trace.Declared]uint8 // record ids of events, by kind
	comms       []*commMembers
	numbers     map[int64]uint32      // locations by the number that is their id
	windows     []uint32              // communicators whose members' memory needs a window
	windowComms map[uint64]uint32     // communicators of all windows, by id
	memory      uint32                // communicator of the current transfer, if it has no window
	types       map[uint32]trace.Type // types of attributes that are defined without one
	marked      map[uint32]bool       // definitions of markers that have been written
	calls       *collective.Calls     // operands for the ends of collective operations
	original    *original             // the archive that the trace was read from; nil for other formats
}

// Create returns an encoder.
func (Format) Create(out *format.Output, opt *format.WriteOptions) (format.Encoder, error) {
	if err := about.CheckOptions(opt.Values); err != nil {
		return nil, err
	}
	w, err := NewWriter(out, Anchor{Creator: "weft", EventChunk: 1 << 20})
	if err != nil {
		return nil, err
	}
	e := &encoder{w: w, plain: opt.Plain, strings: map[string]uint64{}, types: map[uint32]trace.Type{},
		windowComms: map[uint64]uint32{}, marked: map[uint32]bool{}, first: undefined64}
	for id := len(eventKinds) - 1; id >= firstEvent; id-- {
		// Several records may have the same kind. The records of old versions for OpenMP are not
		// used.
		if k := eventKinds[id].kind; k != trace.NoKind && (id < ompFork || id > ompTaskComplete) && k != trace.Parameter {
			e.ids[k] = uint8(id)
		}
	}
	return e, nil
}

// Order returns the order in which the encoder takes events. It is global order, so that
// simultaneous events that change places are counted. Rewriting an archive changes no places and
// needs no order across locations.
func (e *encoder) Order() format.Order {
	if e.original != nil {
		return format.PerLocation
	}
	return format.GlobalOrder
}

// Loss returns the loss so far.
func (e *encoder) Loss() *format.Loss { return &e.loss }

// Abort removes the written files.
func (e *encoder) Abort() { e.w.Abort() }

// Begin takes the definitions.
func (e *encoder) Begin(d *trace.Definitions) error {
	e.defs = d
	if m, ok := d.Native.(*model); ok && m.restorer == nil {
		return e.rewrite(m)
	}
	e.calls = collective.Follow(d, e.rankOf)
	if d.Clock.Den != 1 {
		e.loss.Add("trace", "clock", format.Degraded,
			"ticks that are no whole parts of a second are rounded parts for OTF2's own tools; weft reads them as they are", 1)
	}
	return nil
}

// Links writes links as strings.
func (e *encoder) Links(l []trace.Link) error {
	if e.original != nil {
		e.loss.Add("link", "", format.Lost, "OTF2 has no links", int64(len(l)))
		return nil
	}
	if e.plain {
		e.loss.Add("link", "", format.Lost, "OTF2 has no links", int64(len(l)))
		return nil
	}
	e.loss.Add("link", "", format.WeftOnly, "OTF2 has no links", int64(len(l)))
	e.define(firstLink+e.links, carrier.Text(carrier.PackLinks(l)))
	e.links++
	return e.err
}

// define writes a string.
func (e *encoder) define(id uint64, s string) {
	if e.err == nil {
		e.err = e.w.Define(&Record{ID: defString, Values: []uint64{id, 0},
			Texts: []string{strings.ReplaceAll(s, "\x00", "\\0")}})
	}
}

// Batch writes rows.
func (e *encoder) Batch(b *trace.Batch) error {
	if b.Len() > 0 && !e.begun && e.original == nil {
		e.begun = true
		if t := b.Time[0]; t < 0 {
			e.base = uint64(-t) // times in the file must not be negative
		}
	}
	for c := b.Cursor(); c.Next(); {
		if err := e.writeRow(&c); err != nil {
			return err
		}
	}
	return nil
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

// string returns the id of a text.
func (e *encoder) string(s string) uint64 {
	if e.original != nil {
		if id, ok := e.original.strings[s]; ok {
			return id
		}
	}
	id, ok := e.strings[s]
	if !ok {
		id = firstPooled + e.texts
		if e.original != nil {
			id = e.original.next[Strings] + e.texts
		}
		e.texts++
		if len(e.strings) >= maxTexts {
			clear(e.strings)
		}
		e.strings[s] = id
		e.define(id, s)
	}
	return id
}

// writeRow writes a row as a record of OTF2. If the record does not hold all of the row, the packed
// row is written as well.
func (e *encoder) writeRow(c *trace.Cursor) error {
	if c.Time() == e.last && c.Location() < e.loc && e.original == nil {
		e.loss.Add(e.defs.Spec(c.Kind()).Name, "order", format.Degraded,
			"changes places with a simultaneous event of another location", 1)
	}
	e.last, e.loc = c.Time(), c.Location()
	x := &e.event
	x.Time = uint64(c.Time()) + e.base
	e.first, e.final = min(e.first, x.Time), max(e.final, x.Time)
	x.Attributes = x.Attributes[:0]
	if e.original == nil && c.Kind() == trace.Marker {
		if err := e.addMarker(c); err != nil || e.plain {
			return err
		}
	}
	if e.original != nil {
		if c.Time() < 0 {
			x.Time = 0
			e.loss.Add("event", "time", format.Degraded, "OTF2 has no times before 0", 1)
		}
		return e.rewriteRow(c)
	}
	all := e.nativeRecord(c)
	switch {
	case all, c.Kind() == trace.Marker:
	case x.ID == parameterString:
		if e.rows.NoteField(c, ""); e.plain {
			return e.err
		}
	default:
		e.rows.NoteField(c, "operands")
	}
	if !e.attributes(c) {
		if all {
			e.rows.NoteField(c, "attributes")
		}
		all = false
	}
	if c.Derived() && e.plain {
		return e.err
	}
	if (!all || c.Derived()) && !e.plain {
		e.packed = e.rows.AppendWhole(e.packed[:0], e.defs, c)
		a := Attribute{ID: shortRow, Type: typeUint64}
		if len(e.packed) <= 8 {
			var v [8]byte
			copy(v[:], e.packed)
			a.Value = binary.LittleEndian.Uint64(v[:])
		} else {
			text := carrier.Text(e.packed)
			if len(text) > maxText {
				e.loss.Add(e.defs.Spec(c.Kind()).Name, "", format.Lost, "its texts are longer than OTF2 allows", 1)
				return e.location(c.Location()).Write(x)
			}
			a = Attribute{longRow, typeString, e.string(text)}
		}
		x.Attributes = append(x.Attributes, a)
	}
	if e.err != nil {
		return e.err
	}
	return e.location(c.Location()).Write(x)
}

// nativeRecord makes the OTF2 record of a row. It reports whether the record holds all of the row
// but the attributes.
func (e *encoder) nativeRecord(c *trace.Cursor) (all bool) {
	x := &e.event
	ops := c.Ops()
	if c.Kind() == trace.Metric && c.Ref() != trace.NoRef {
		v := uint64(0)
		if len(ops) > 0 {
			v = ops[0]
		}
		typ := uint64(typeUint64)
		switch e.defs.Metrics.At(c.Ref()).Type {
		case trace.Int64, trace.Int8, trace.Int16, trace.Int32:
			typ = typeInt64
		case trace.Float64:
			typ = typeDouble
		}
		x.ID, x.Values = metricEvent, append(x.Values[:0], uint64(c.Ref()), 1, typ, v)
		return len(ops) == 2 && ops[1] == 0
	}
	kind, said := e.transfer(c)
	if said == nil {
		said = e.calls.Operands(c)
	}
	id := e.record(kind)
	ok := id != 0
	if ok {
		ok, all = e.fillRecord(id, c, said)
		all = all && slices.Equal(said, ops) // otherwise the record says more than the row
	}
	if !ok {
		x.ID, x.Values = parameterString, append(x.Values[:0], kindParameter, e.string(carrier.Label(e.defs, c)))
		return false
	}
	return all
}

// transfer returns the OTF2 kind and operands of a transfer to or from remote memory, or of its
// end, that belongs to a communicator, as in OTF. It uses a window of that communicator, which it
// records, and the tag as the number that both have in common. For other rows it returns the kind
// and no operands.
func (e *encoder) transfer(c *trace.Cursor) (kind trace.Kind, ops []uint64) {
	kind, e.memory = c.Kind(), trace.NoRef
	comm := uint64(trace.Undefined)
	switch {
	case c.Ref() != trace.NoRef:
	case kind == trace.RMAPut || kind == trace.RMAGet:
		comm, ops = c.Op(3), []uint64{c.Op(0), c.Op(1), c.Op(4)}
	case kind == trace.RMAEnd:
		comm, ops, kind = c.Op(1), []uint64{c.Op(2)}, trace.RMACompleteBlocking
	}
	if comm >= uint64(e.defs.Communicator.Len()) {
		return c.Kind(), nil
	}
	e.memory = uint32(comm)
	return kind, ops
}

// window returns the id of a window for the memory of a communicator's members. These windows
// follow those of the trace; a trace with such transfers has none.
func (e *encoder) window(comm uint32) uint64 {
	n := slices.Index(e.windows, comm)
	if n < 0 {
		n = len(e.windows)
		e.windows = append(e.windows, comm)
	}
	return uint64(e.defs.Windows.Len()) + uint64(n)
}

// windowComm returns the id of a window's communicator.
func (e *encoder) windowComm(window uint64) uint64 {
	comm, known := e.windowComms[window]
	if !known {
		if n := uint64(e.defs.Windows.Len()); window >= n {
			comm = e.windows[window-n]
		} else {
			comm = e.defs.WindowCommunicator(uint32(window))
		}
		e.windowComms[window] = comm
	}
	if comm == trace.NoRef {
		return allComm
	}
	return uint64(comm) + firstID[Comms]
}

// record returns the record id for events of a kind, or 0 if there is none.
func (e *encoder) record(k trace.Kind) uint8 {
	if k >= trace.Declared {
		return 0
	}
	return e.ids[k]
}

// fillRecord fills in the record of an event. It returns ok false if the record cannot be made, and
// all false if the record does not hold all of the event.
func (e *encoder) fillRecord(id uint8, c *trace.Cursor, ops []uint64) (ok, all bool) {
	ref := c.Ref()
	x, k, t := &e.event, &eventKinds[id], &eventTypes[id]
	x.ID, x.Values = id, append(x.Values[:0], make([]uint64, len(t.fields))...)
	v := x.Values
	all = len(ops) == len(k.ops)
	if k.ref >= 0 {
		switch {
		case ref != trace.NoRef:
			v[k.ref] = e.id(k.table, ref)
		case k.table == Windows && e.memory != trace.NoRef:
			v[k.ref] = e.window(e.memory)
		case e.original != nil:
			v[k.ref] = undefined32
		default:
			return false, false
		}
	}
	for i, o := range k.ops {
		op := uint64(trace.Undefined)
		if i < len(ops) {
			op = ops[i]
		}
		if o.how == constant {
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
		case o.how == reference && op != trace.Undefined:
			op = e.id(o.table, uint32(op))
		case o.how == reference && k.ops[0].how == peer && e.original == nil:
			op = allComm // ranks need a communicator
		}
		undefined := o.how != plain && o.how != tag // the field can hold an undefined value
		if undefined {
			most--
		}
		if op > most {
			all = all && op == trace.Undefined && undefined
			op = undefined32
			if o.how == plain {
				op = 0
			}
		}
		v[o.field] = op
	}
	if e.original != nil {
		e.restoreRanks(c, k, ops)
	} else if len(k.ops) > 1 && v[k.ops[0].field] != undefined32 {
		comm := uint64(allComm)
		switch k.ops[0].how {
		case peer:
			comm = v[k.ops[1].field]
		case target:
			comm = e.windowComm(v[k.ref])
		}
		if comm != allComm {
			v[k.ops[0].field] = e.members(uint32(comm - firstID[Comms])).rank(uint32(v[k.ops[0].field]))
		}
	}
	if id == bufferFlush {
		v[0] += e.base
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

// attributes converts the attributes of a row that OTF2 can hold. It reports whether there are no
// others.
func (e *encoder) attributes(c *trace.Cursor) (all bool) {
	all = true
	keys, values := c.Attrs()
	for i, k := range keys {
		v := values[i]
		t := tableOf(uint64(v.Type))
		if v.Type == trace.None || v.Type > trace.LocationGroupRef || slices.Contains(keys[:i], k) ||
			v.Type != e.typeOf(k, v.Type) ||
			t != Strings && t != noTable && (v.Num >= undefined32-2 || t >= InterruptGenerators || t == SourceLocations) {
			all = false
			continue
		}
		a := Attribute{k + uint32(e.firstID(Attributes)), uint8(v.Type), v.Num}
		switch {
		case t == Strings:
			a.Value = e.string(v.Str)
		case t != noTable:
			a.Value += e.firstID(t)
		}
		e.event.Attributes = append(e.event.Attributes, a)
	}
	return all
}

// typeOf returns the type with which an attribute is defined. All values of the attribute must have
// it. t is the type of the value to write.
func (e *encoder) typeOf(attribute uint32, t trace.Type) trace.Type {
	if defined := e.defs.Attributes.At(attribute).Type; defined != trace.None && defined <= trace.LocationGroupRef {
		return defined
	}
	if _, ok := e.types[attribute]; !ok {
		e.types[attribute] = t
	}
	return e.types[attribute]
}

// Close writes the definitions and ends the archive.
func (e *encoder) Close() error {
	if e.original != nil {
		return e.closeRewritten()
	}
	for i := range e.defs.Markers.Len() {
		if err := e.defineMarker(uint32(i)); err != nil {
			return err
		}
	}
	if err := e.defineAll(); err != nil {
		return err
	}
	e.rows.Report(&e.loss, e.defs, about.Mapping, e.plain)
	if !e.plain {
		data, long := carrier.Pack(e.defs, &e.rows, carrier.Pair{Key: baseKey, Value: strconv.FormatUint(e.base, 10)})
		e.loss.Add("opaque", "data", format.Lost, "longer than 4 KiB", long)
		for _, p := range carrier.Texts(data, definitionKey) {
			e.w.Anchor.Properties = append(e.w.Anchor.Properties, Property{p.Key, p.Value})
		}
	}
	return e.w.Close()
}

// defineAll writes the definitions that OTF2's own tools need.
func (e *encoder) defineAll() error {
	d := e.defs
	put := func(id uint8, v ...uint64) {
		if e.err == nil {
			e.err = e.w.Define(&Record{ID: id, Values: v})
		}
	}
	name := e.string
	for i, s := range d.Strings.All() {
		e.define(uint64(i), s)
	}
	length := uint64(0)
	if e.first <= e.final {
		length = e.final - e.first + 1
	}
	realtime := uint64(undefined64)
	resolution := uint64(max(1, d.Clock.Num/max(1, d.Clock.Den)))
	start := min(e.first, e.final)
	if after, ok := nanoseconds(start-min(start, e.base), resolution); ok && d.Clock.HasEpoch && d.Clock.Epoch >= 0 {
		realtime = uint64(d.Clock.Epoch) + after
	}
	put(defClock, resolution, start, length, realtime)
	const mpi = 4
	put(defParadigm, mpi, name("MPI"), 0)
	put(defIOParadigm, 0, name("POSIX"), name("POSIX I/O"), 0, 0, 0)
	if !e.plain {
		put(defAttribute, shortRow, name("weft.row"), typeUint64, name("what the event is in the trace that it comes from"))
		put(defAttribute, longRow, name("weft.row-text"), typeString,
			name("what the event is in the trace that it comes from"))
	}
	for i, a := range d.Attributes.All() {
		put(defAttribute, uint64(i)+e.firstID(Attributes), name(a.Name), uint64(e.typeOf(uint32(i), trace.String)),
			name(a.Doc))
	}
	e.tree(put, name)
	for i, r := range d.Regions.All() {
		role, paradigm := uint64(1), uint64(1) // a user function
		if at := slices.Index(regionRoles, r.Role); at > 0 {
			role = uint64(at)
		}
		if at := slices.Index(paradigms, r.Group); at > 0 {
			paradigm = uint64(at)
		}
		file := uint64(undefined32)
		if r.File != "" {
			file = name(r.File)
		}
		put(defRegion, uint64(i), name(r.Name), undefined32, 0, file, uint64(uint32(r.Line)), uint64(uint32(r.End)),
			name(r.Name), role, paradigm, 0)
	}
	for i, m := range d.Metrics.All() {
		put(defMetricMember, uint64(i), name(m.Name), undefined32, 0, metricMode(m.Mode), metricType(m.Type), 1, 0,
			name(m.Unit))
		put(defMetricClass, uint64(i), 1, uint64(i), 2, 0)
	}
	group := []uint64{allLocations, name(""), communicatingLocations, uint64(d.Locations.Len())}
	ranks := []uint64{allRanks, name("all locations"), commGroup, uint64(d.Locations.Len())}
	for i := range d.Locations.Len() {
		group, ranks = append(group, uint64(i)), append(ranks, uint64(i))
	}
	put(defGroup, append(group, communicatingLocations, mpi, 0)...)
	put(defGroup, append(ranks, commGroup, mpi, globalMembers)...)
	for i, s := range d.Sets.All() {
		members := e.locationsOf(&s)
		v := append([]uint64{uint64(i) + firstID[Groups], name(s.Name), 0, uint64(len(members))}, members...)
		put(defGroup, append(v, locationsGroup, 0, 0)...)
	}
	of, next := make([]uint64, d.Communicator.Len()), uint64(d.Sets.Len())+firstID[Groups]
	for i := range of {
		of[i] = allRanks
		if m := e.members(uint32(i)); !m.all {
			of[i] = next
			next++
			v := []uint64{of[i], name(""), commGroup, uint64(len(m.locations))}
			for _, l := range m.locations {
				v = append(v, uint64(l))
			}
			put(defGroup, append(v, commGroup, mpi, 0)...)
		}
	}
	put(defComm, allComm, name("all locations"), allRanks, undefined32, 0)
	for i, c := range d.Communicator.All() {
		put(defComm, uint64(i)+firstID[Comms], name(c.Name), of[i], undefined32, 0)
	}
	put(defParameter, kindParameter, name("weft.kind"), 0)
	for i, p := range d.Parameters.All() {
		put(defParameter, uint64(i)+firstID[Parameters], name(p.Name), 0)
	}
	for i, x := range d.Windows.All() {
		put(defWindow, uint64(i), name(x.Name), e.windowComm(uint64(i)), 0)
	}
	for _, comm := range e.windows {
		put(defWindow, e.window(comm), name("memory of "+d.Communicator.At(comm).Name), uint64(comm)+firstID[Comms], 0)
	}
	for i, x := range d.Contexts.All() {
		region := uint64(d.Regions.Len() + i)
		put(defRegion, region, name(x.Name), undefined32, 0, undefined32, 0, 0, name(x.Name), 1, 1, 0)
		put(defContext, uint64(i), region, undefined32, undefined32)
	}
	for i, x := range d.Files.All() {
		put(defIOFile, uint64(i), name(x.Name), undefined32)
	}
	for i, x := range d.Handles.All() {
		put(defIOHandle, uint64(i), name("handle "+x.Name), undefined32, 0, 0, undefined32, undefined32)
	}
	return e.err
}

// metricMode returns the number of a metric mode.
func metricMode(word string) uint64 {
	return uint64(max(0, slices.Index(metricModes, word)))
}

// tree writes the groups of locations. A group with locations becomes a location group, a group
// with groups a node of the system tree.
func (e *encoder) tree(put func(id uint8, v ...uint64), name func(string) uint64) {
	d := e.defs
	nodes, groups := map[uint32]uint64{}, map[uint32]uint64{}
	var node func(g uint32) uint64
	node = func(g uint32) uint64 {
		if n, ok := nodes[g]; ok {
			return n
		}
		text, class, parent := "trace", "node", uint64(undefined32)
		if g != trace.NoRef {
			x := d.Groups.At(g)
			text, class = x.Name, cmp.Or(x.Kind, class)
			parent = node(x.Parent)
		}
		n := uint64(len(nodes))
		nodes[g] = n
		put(defTreeNode, n, name(text), name(class), parent)
		return n
	}
	node(trace.NoRef)
	if d.Locations.Len() == 0 { // OTF2's own tools reject an archive without locations
		put(defLocationGroup, 0, name("nothing"), 1, 0, undefined32)
		put(defLocation, 0, name("nothing"), 1, e.location(0).Count, 0)
	}
	for i, l := range d.Locations.All() {
		g, ok := groups[l.Group]
		if !ok {
			text, parent := "locations", uint64(0)
			if l.Group != trace.NoRef {
				x := d.Groups.At(l.Group)
				text, parent = x.Name, node(x.Parent)
			}
			g = uint64(len(groups))
			groups[l.Group] = g
			put(defLocationGroup, g, name(text), 1, parent, undefined32)
		}
		kind := uint64(1)
		if l.Kind == trace.StreamLocation {
			kind = 2
		}
		n := e.location(uint32(i)).Count
		put(defLocation, uint64(i), name(l.Label()), kind, n, g)
	}
}

// restore builds the model from the definitions that the properties carry. It returns false if they
// carry none.
func (m *model) restore() (bool, error) {
	pairs, err := carrier.UnpackTexts(m.a.properties(), definitionKey)
	if len(pairs) == 0 || err != nil {
		return false, err
	}
	for _, p := range pairs {
		if p.Key != baseKey {
			continue
		}
		if m.base, err = strconv.ParseUint(p.Value, 10, 64); err != nil || m.base > 1<<63 {
			return false, fmt.Errorf("carried %s: %q", p.Key, p.Value)
		}
	}
	d := &trace.Definitions{Format: "otf2"}
	r, err := carrier.NewRestorer(d, pairs)
	if err != nil {
		return false, err
	}
	d.Clock = r.Clock
	m.defs, m.restorer = d, r
	for t, n := range map[Table]int{Strings: d.Strings.Len(), Attributes: d.Attributes.Len(), Locations: d.Locations.Len(),
		Regions: d.Regions.Len(), Groups: d.Sets.Len(), Comms: d.Communicator.Len(), Parameters: d.Parameters.Len(),
		Windows: d.Windows.Len(), CallingContexts: d.Contexts.Len(), IOFiles: d.Files.Len(), IOHandles: d.Handles.Len(),
		Metrics: d.Metrics.Len(), LocationGroups: d.Groups.Len()} {
		for i := range n {
			m.index[t][uint64(i)+firstID[t]] = uint32(i)
		}
	}
	for i := range d.Metrics.Len() {
		m.metrics[uint64(i)] = []uint32{uint32(i)}
	}
	for i := range d.Locations.Len() {
		m.locations = append(m.locations, uint64(i))
	}
	return true, nil
}

// restored adds the row that an event carries. It returns false if the event carries none.
func (x *locationReader) restored(e *Event, now int64) (ok bool, err error) {
	r := x.d.restorer
	last := len(e.Attributes) - 1
	if r == nil || last < 0 || e.Attributes[last].ID > longRow {
		return false, nil
	}
	a := &e.Attributes[last]
	var data [8]byte
	packed := data[:]
	if a.ID == shortRow {
		binary.LittleEndian.PutUint64(packed, a.Value)
	} else {
		text, _ := x.d.ranks.text(a.Value)
		packed, err = carrier.FromText(text)
	}
	if err == nil {
		err = r.AddWhole(&x.b, x.loc, now, packed)
	}
	if err == nil {
		return true, nil
	}
	e.Attributes = e.Attributes[:last]
	return false, x.opt().Defect(&trace.Defect{Rule: "otf2.carried", Severity: trace.Error, Position: x.position(e),
		Found: err.Error(), Expected: "what weft wrote; the event is read without it"})
}

// deliverLinks delivers the links that the strings carry while it reads them.
func (d *decoder) deliverLinks(sel trace.Selection, sink format.Sink) error {
	if d.restorer == nil || sel.Links == trace.NoLinks {
		return nil
	}
	var failed error
	d.a.Definitions(func(_ int64, r *Record) error { // defects of the file have been reported
		if r.ID != defString || r.Values[0] < firstLink || len(r.Texts) == 0 {
			return nil
		}
		data, err := carrier.FromText(r.Texts[0])
		var links []trace.Link
		if err == nil {
			links, err = carrier.UnpackLinks(data, d.defs.Locations.Len())
		}
		if err != nil {
			failed = d.opt.Defect(&trace.Defect{Rule: "otf2.carried", Severity: trace.Error,
				Position: trace.Position{File: d.a.src.Path}, Found: err.Error(), Expected: "links; they are left out"})
			return failed
		}
		failed = sink.Links(links)
		return failed
	})
	return failed
}
