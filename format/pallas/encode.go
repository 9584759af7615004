package pallas

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/internal/collective"
	"github.com/weft-trace/weft/internal/lanes"
	"github.com/weft-trace/weft/trace"
)

// Names of the metadata and attributes that a converted trace has in addition to Pallas' own records
// (docs/formats/pallas.md, "Traces of other formats").
const (
	// Attributes of an event: the packed row as text, if it is too long for packedRows. Earlier versions also wrote rows
	// of up to 8 bytes as numbers, and the ids of claims.
	longRow  Ref = 0xfffffff0
	shortRow Ref = 0xfffffff1
	claimID  Ref = 0xfffffff2

	// key of the metadata with all definitions, without the number of the piece
	definitionKey = "weft.definitions."
	linkKey       = "weft.link." // key of the metadata with packed links, without the number of the piece
	timeKey       = "time"       // key, among the definitions, of the conversion from ticks to times
)

// tickScale converts ticks to times in nanoseconds: a tick takes Scale nanoseconds, and tick 0 is at Base. If
// a tick is not a whole number of nanoseconds, the file contains ticks instead of nanoseconds.
type tickScale struct {
	Scale uint64 `json:"scale"`
	Base  uint64 `json:"base"`
}

func newTicks(c trace.Clock) (t tickScale, exact bool) {
	const second = 1_000_000_000
	if c.Den == 1 && c.Num > 0 && second%c.Num == 0 {
		return tickScale{Scale: uint64(second / c.Num)}, true
	}
	return tickScale{Scale: 1}, false
}

// file converts a tick to a time of the file. ok is false if the time does not fit.
func (t tickScale) file(tick int64) (v uint64, ok bool) {
	const most = math.MaxInt64
	abs := uint64(tick)
	if tick < 0 {
		abs = -abs
	}
	if abs > most/t.Scale {
		return 0, false
	}
	v = abs * t.Scale
	if tick < 0 {
		return t.Base - v, v <= t.Base
	}
	return t.Base + v, v <= most-t.Base
}

// model converts a time of the file to a tick.
func (t tickScale) model(v uint64) int64 { return int64(v-t.Base) / int64(t.Scale) }

// encoder writes a trace of the common model as Pallas. Locations become threads, and their groups
// become archives.
type encoder struct {
	calls  *collective.Calls // supplies the operands for the ends of collective operations
	ends   collective.Ends   // ends of operations that are single events of the trace
	absent bool              // the current row is one of ends, which is no event of the trace
	rounds bool              // round times to nanoseconds
	*staging
	defs  *trace.Definitions
	ticks tickScale
	begun bool
	loss  format.Loss
	plain bool
	// ofAll is set if a plain trace needs a communicator of all threads, in addition to the communicators that
	// it defines.
	ofAll bool
	ranks map[uint64][]uint32 // locations by rank, by communicator
	from  *rewrittenTrace     // the trace that is rewritten; nil if there is none
	rows  carrier.Rows
	slots bool // replace request numbers by slots
	// renumbered counts the requests that were replaced by slots, by kind of event.
	renumbered map[trace.Kind]int64
	lanes      *lanes.Lanes
	// extraLanes holds the recorders of the lanes of resources, except for the first lane of each.
	extraLanes  lanes.ExtraLanes[*Recorder]
	visited     []byte           // payload of the last event on such a lane
	one         trace.Batch      // holds a row whose request was replaced
	threads     []*encodedThread // threads by location
	strings     map[string]Ref
	links       []Metadata
	hasLongRows bool // an event has the attribute longRow
	packed      []byte
	payload     []byte
	held        []carrier.AttributeStorage // whether the last event has the attributes of its row
	attributes  []Value                    // attributes of the last event
	values      []byte                     // bytes of these attributes
	types       carrier.AttributeTypes
	byLocation  bool   // the scan delivers each location in time order, and no events can change places
	contiguous  bool   // the scan delivers one location after another
	location    uint32 // location of the last event, if contiguous is set
	last        int64
	tie         uint64
}

// encodedThread is the recorder of a location, and the position of the location among those with
// simultaneous events.
type encodedThread struct {
	r   *Recorder
	tie uint64
	// archive is the id of the location's archive, if a trace is rewritten.
	archive uint32
	slots   requestSlots
	rows    string // packed rows of a thread that has been closed
}

const textName = "text" // name of the attribute with the text of a comment

// noGroup is the archive of locations that belong to no group. Unlike other archives, it is no process. The archive
// of a group has the index of the group plus 1.
const (
	noGroup     = 0
	noGroupName = "locations"
)

// Create returns an encoder that writes to out.
func (Format) Create(out *format.Output, opt *format.WriteOptions) (format.Encoder, error) {
	if err := about.CheckOptions(opt.Values); err != nil {
		return nil, err
	}
	o, err := writeOptions(opt, nil)
	if err != nil {
		return nil, err
	}
	st, err := newStaging(out, o)
	if err != nil {
		return nil, err
	}
	return &encoder{staging: st, plain: opt.Plain, slots: opt.Value(requestsOption, "slots") == "slots",
		renumbered: map[trace.Kind]int64{}, lanes: lanes.New(), strings: map[string]Ref{}}, nil
}

// WriteEvents writes events in global order, so that the encoder can count simultaneous events that change places,
// unless no events can change places. In a trace that is rewritten, none do.
func (e *encoder) WriteEvents(ctx context.Context, events format.Events, sel trace.Selection) error {
	order := format.GlobalOrder
	d := events.Defs()
	e.byLocation = d.ByLocation && slices.IsSortedFunc(d.Locations.All(), func(a, b trace.Location) int {
		return cmp.Compare(archiveOf(a.Group), archiveOf(b.Group))
	})
	if e.from != nil || e.byLocation {
		order, e.contiguous = format.PerLocation, d.Contiguous
	}
	return events.Scan(ctx, sel, order, e)
}

// archiveOf returns the id of the archive for the locations of a group.
func archiveOf(group uint32) uint32 {
	if group == trace.NoRef {
		return noGroup
	}
	return group + 1
}

// Loss returns the losses so far.
func (e *encoder) Loss() *format.Loss { return &e.loss }

// Begin converts the definitions of the trace.
func (e *encoder) Begin(d *trace.Definitions) error {
	e.defs = d
	e.slots = e.slots && d.Origin != "pallas"
	if m, ok := d.Native.(*model); ok {
		e.rewrite(m)
	}
	e.calls = collective.NewCalls(d, &e.loss, e.plain, nil)
	e.loss.AddBase(d.Clock)
	exact := false
	e.ticks, exact = newTicks(d.Clock)
	switch {
	case exact:
	case e.plain && e.from == nil:
		e.rounds = true
		e.loss.Add("trace", "clock", format.Degraded, "times are rounded to nanoseconds", 1)
	default:
		e.loss.Add("trace", "clock", format.Degraded,
			"a tick is not a whole number of nanoseconds: Pallas' own tools take a tick for 1 ns, weft reads exact times", 1)
	}
	return nil
}

// Batch writes the events of a batch.
func (e *encoder) Batch(b *trace.Batch) error {
	if b.Len() > 0 && !e.begun {
		e.begun = true
		if t, ok := e.tick(b.Time[0]); ok && t < 0 && uint64(-t) <= math.MaxInt64/e.ticks.Scale {
			e.ticks.Base = uint64(-t) * e.ticks.Scale // a file cannot have negative times
			if e.plain {
				e.loss.AddShift(e.defs.Clock, -b.Time[0])
			}
		}
	}
	// declared outside of the loop: a declaration inside of the loop would copy the cursor for each row
	c := b.Cursor()
	for c.Next() {
		if e.contiguous && c.Location() != e.location {
			if err := e.closeThread(); err != nil {
				return err
			}
			e.location = c.Location()
		}
		if e.ends.Due(c.Time()) {
			if err := e.writeEnds(c.Time()); err != nil {
				return err
			}
		}
		if err := e.writeRow(&c); err != nil {
			return err
		}
	}
	return nil
}

// writeEnds writes the ends, up to time t, of collective operations that are single events of the trace.
func (e *encoder) writeEnds(t int64) error {
	return e.ends.Until(t, func(c *trace.Cursor) error {
		e.absent = true
		err := e.writeRow(c)
		e.absent = false
		return err
	})
}

// closeThread closes the thread of the last event, which gets no more events. So one thread at a time takes memory.
func (e *encoder) closeThread() error {
	if err := e.writeEnds(math.MaxInt64); err != nil {
		return err
	}
	if int(e.location) >= len(e.threads) || e.threads[e.location] == nil {
		return nil
	}
	t := e.threads[e.location]
	t.rows = t.r.packedRows()
	e.w.threads.Add(-1) // this thread needs no share of the memory for buffers any more
	return t.r.Close()
}

// tick converts a time from ticks of the trace to ticks of the file. The two are equal unless times are
// rounded to nanoseconds. ok is false if the result does not fit in 64 bits.
func (e *encoder) tick(t int64) (tick int64, ok bool) {
	if !e.rounds {
		return t, true
	}
	tick, _, ok = e.defs.Clock.Rescale(t, trace.TicksPerSecond(1_000_000_000))
	return tick, ok
}

// thread returns the thread of a location. It begins the thread on first use.
func (e *encoder) thread(loc uint32) (*encodedThread, error) {
	for uint32(len(e.threads)) <= loc {
		e.threads = append(e.threads, nil)
	}
	if t := e.threads[loc]; t != nil {
		return t, nil
	}
	if e.from != nil {
		at, ok := e.from.threads[loc]
		if !ok {
			return nil, fmt.Errorf("%s: found an event of location %s, expected a thread of the trace that is written again",
				e.out.Path, e.defs.Locations.At(loc).Label())
		}
		r, err := e.w.Archive(at.archive).record(at.id)
		if err != nil {
			return nil, err
		}
		e.threads[loc] = &encodedThread{r: r, archive: at.archive}
		return e.threads[loc], nil
	}
	l := e.defs.Locations.At(loc)
	archive := archiveOf(l.Group)
	r, err := e.w.Archive(archive).Record(loc, e.string(l.Label()))
	if err != nil {
		return nil, err
	}
	t := &encodedThread{r: r, tie: uint64(archive)<<32 | uint64(loc)}
	e.threads[loc] = t
	return t, nil
}

// string returns the ref of a text. It defines the text on first use.
func (e *encoder) string(s string) Ref {
	r, ok := e.strings[s]
	if !ok {
		if r = Ref(len(e.strings)); e.from != nil {
			r = e.from.next
			e.from.next++
		}
		s = strings.Clone(s) // texts of attributes belong to the decoder
		e.strings[s] = r
		e.w.Definitions.Strings = append(e.w.Definitions.Strings, String{r, s})
	}
	return r
}

// writeRow writes a row as a record of Pallas. If no record can hold the whole row, an attribute contains the
// whole row as text.
func (e *encoder) writeRow(c *trace.Cursor) error {
	name := e.defs.Spec(c.Kind()).Name
	at, ok := uint64(0), false
	if tick, fits := e.tick(c.Time()); fits {
		at, ok = e.ticks.file(tick)
	}
	if !ok {
		e.loss.Add(name, "time", format.Lost, "does not fit 63 bits of nanoseconds", 1)
		return nil
	}
	t, err := e.thread(c.Location())
	if err != nil {
		return err
	}
	if e.from != nil {
		if c.Derived() {
			return nil
		}
		record, attributes := e.originalRecord(c, t.archive)
		return t.r.Record(at, record, e.payload, attributes)
	}
	if c.Time() == e.last && t.tie < e.tie && !e.absent && !e.byLocation {
		e.loss.Add(name, "order", format.Degraded,
			"events with the same time at different locations change their order", 1)
	}
	e.last, e.tie = c.Time(), t.tie
	if at, _ := requestOperand(c.Kind()); at >= 0 && e.slots && at < len(c.Ops()) {
		request := c.Ops()[at]
		e.one.Reset(c.Location())
		e.one.AppendRow(c)
		e.one.SetLastOps(t.slots.operands(c.Kind(), c.Ops()))
		one := e.one.Cursor()
		c = &one
		if c.Next(); c.Ops()[at] != request {
			e.renumbered[c.Kind()]++
		}
	}
	ops := c.Ops()
	if !e.absent {
		ops = e.calls.Operands(c)
	}
	record, visited, err := e.writeVisit(at, c)
	if err != nil {
		return err
	}
	all := false
	if record == Generic && !(visited && e.plain) {
		record, all = e.ownRecord(c, ops)
		all = all && slices.Equal(ops, c.Ops()) // otherwise the record contains more than the row
	}
	native := e.addAttributes(c)
	e.noteLoss(c, record, visited, all, native)
	if e.plain {
		if record == Generic && (visited || c.Derived()) {
			return nil
		}
		return t.r.Record(at, record, e.payload, e.attributes)
	}
	packs := !all || !native || c.Derived() || e.absent
	if packs {
		packs = e.packRow(c, native)
	}
	if err := t.r.Record(at, record, e.payload, e.attributes); err != nil || !packs {
		return err
	}
	t.r.pack(e.packed)
	return nil
}

// noteLoss counts what the record of a row does not show to other tools. visited reports whether the row is a visit
// on an extra lane, all whether the record holds the whole row except its attributes, and native whether the event
// has the attributes.
func (e *encoder) noteLoss(c *trace.Cursor, record Record, visited, all, native bool) {
	keys, _ := c.Attrs()
	generic := record == Generic && !visited
	switch {
	case all && e.absent:
	case c.Kind() == trace.Collective && record != Generic: // the begin and the end have all operands
	case generic && e.plain && !c.Derived() && len(c.Ops()) > 0:
		e.rows.NoteField(c, "operands")
	case generic && e.plain && !c.Derived():
		e.loss.Add(e.defs.Spec(c.Kind()).Name, "", format.Degraded, "becomes a GENERIC event with its name or text", 1)
	case generic:
		e.rows.NoteField(c, "")
		return // the attributes are part of the event
	case !all:
		e.rows.NoteField(c, "operands")
	}
	switch {
	case len(keys) == 0:
	case e.plain && native && !c.Derived():
		e.loss.Add(e.defs.Spec(c.Kind()).Name, "attributes", format.Degraded,
			"Pallas' own reader does not deliver attributes", 1)
	default:
		e.rows.NoteAttributes(c)
	}
}

// addAttributes adds the attributes of a row to the event. It returns false, and adds none, if Pallas cannot represent
// all of them exactly.
func (e *encoder) addAttributes(c *trace.Cursor) bool {
	const most = 100 // an event can have 127 attributes
	keys, values := c.Attrs()
	e.rows.UseAttributes(keys)
	e.attributes, e.values = e.attributes[:0], e.values[:0]
	if len(keys) > most {
		return false
	}
	for i, k := range keys {
		x := &values[i]
		exact := x.Type == trace.String && strings.IndexByte(x.Str, 0) < 0
		if number, ok := number(x.Type, x.Num); ok {
			exact = number == x.Num
		}
		if !exact || x.Type != e.types.Of(e.defs, k, x.Type) || slices.Contains(keys[:i], k) {
			e.attributes = e.attributes[:0]
			return false
		}
		e.addAttribute(Ref(k), *x)
	}
	return true
}

// addAttribute adds an attribute to the event. Its value must be a number or a text.
func (e *encoder) addAttribute(attribute Ref, x trace.Value) {
	n := len(e.values)
	switch x.Type {
	case trace.Uint8, trace.Int8:
		e.values = append(e.values, byte(x.Num))
	case trace.Uint16, trace.Int16:
		e.values = binary.LittleEndian.AppendUint16(e.values, uint16(x.Num))
	case trace.Uint32, trace.Int32, trace.Float32:
		e.values = le32(e.values, uint32(x.Num))
	case trace.String:
		e.values = le32(e.values, e.string(x.Str))
	default:
		e.values = le64(e.values, x.Num)
	}
	e.attributes = append(e.attributes, Value{attribute, e.values[n:]})
}

// packRow packs the row into e.packed, with the attributes of the row unless native is set. It returns false if the row
// is so long that an attribute of the event contains it.
func (e *encoder) packRow(c *trace.Cursor, native bool) bool {
	if e.absent {
		e.packed = e.rows.AppendAbsent(e.packed[:0])
	} else {
		e.held = e.held[:0]
		if native {
			e.held = append(e.held, make([]carrier.AttributeStorage, len(e.attributes))...)
			for i := range e.held {
				e.held[i] = carrier.StoredExactly
			}
		}
		e.packed = e.rows.AppendWhole(e.packed[:0], e.defs, c, false, e.held)
	}
	if len(e.packed) <= maxPackedRow {
		return true
	}
	e.addAttribute(longRow, trace.StringValue(carrier.Text(e.packed)))
	e.hasLongRows = true
	return false
}

// ownRecords lists the records of the kinds that have exactly one record.
var ownRecords = map[trace.Kind]Record{
	trace.Send: MPISend, trace.SendBegin: MPIIsend, trace.SendComplete: MPIIsendComplete,
	trace.Recv: MPIRecv, trace.RecvBegin: MPIIrecvRequest, trace.RecvComplete: MPIIrecv,
	trace.CollectiveBegin: MPICollectiveBegin,
	trace.ThreadTeamBegin: ThreadTeamBegin, trace.ThreadTeamEnd: ThreadTeamEnd, trace.ThreadBegin: ThreadBegin,
	trace.ThreadEnd: ThreadEnd,
}

// ownRecord returns Pallas' own record for a row with the given operands, and stores the payload in e.payload.
// all is true if the record holds the whole row except its attributes.
func (e *encoder) ownRecord(c *trace.Cursor, ops []uint64) (record Record, all bool) {
	e.payload = e.payload[:0]
	small := func(v uint64) uint32 {
		all = all && (v < uint64(NoRef) || v == trace.Undefined)
		return uint32(v) // converts Undefined and -1 to NoRef
	}
	model := func(n int) bool { return len(ops) > n && ops[n] == openMP }
	switch k := c.Kind(); k {
	case trace.Enter, trace.Leave:
		if c.Ref() == trace.NoRef {
			break
		}
		e.payload = le32(e.payload, c.Ref())
		return Enter + Record(k-trace.Enter), len(ops) == 0
	case trace.Send, trace.SendBegin, trace.Recv, trace.RecvComplete:
		n := 4
		if k == trace.SendBegin || k == trace.RecvComplete {
			n = 5 // the record also has a request
		}
		all = len(ops) == n
		v := [5]uint64{4: trace.Undefined} // the request is undefined for an event without a request
		copy(v[:], ops)
		if rank, comm, ok := e.undefinedComm(c, v[1]); ok && v[0] == trace.Undefined {
			e.payload = le32(e.payload, rank, comm, small(v[2]))
			all = false // a decoder gets the row from the packed one
		} else {
			e.payload = le32(e.payload, small(v[0]), small(e.communicator(k, v[1])), small(v[2]))
		}
		e.payload = le64(e.payload, v[3:n]...)
		return ownRecords[k], all
	case trace.SendComplete, trace.RecvBegin:
		v := uint64(trace.Undefined)
		if len(ops) > 0 {
			v = ops[0]
		}
		e.payload = le64(e.payload, v)
		return ownRecords[k], len(ops) == 1
	case trace.Collective:
		if e.ends.Add(c, ops) {
			return MPICollectiveBegin, false
		}
	case trace.CollectiveEnd:
		all = len(ops) == 5
		var v [5]uint64
		copy(v[:], ops)
		if _, comm, ok := e.undefinedComm(c, v[1]); ok {
			e.payload = le32(e.payload, small(v[0]), comm, small(v[2]))
			all = false
		} else {
			e.payload = le32(e.payload, small(v[0]), small(e.communicator(k, v[1])), small(e.root(v[1], v[2])))
		}
		all = all && v[0] != trace.Undefined
		e.payload = le64(e.payload, v[3], v[4])
		return MPICollectiveEnd, all
	case trace.LockAcquire, trace.LockRelease:
		if len(ops) == 0 {
			break
		}
		all = len(ops) == 1 || len(ops) == 3 && ops[1] == trace.Undefined && model(2)
		e.payload = le32(e.payload, small(ops[0]))
		all = all && ops[0] != trace.Undefined
		switch mp := model(2); {
		case k == trace.LockAcquire && mp:
			return OMPAcquireLock, all
		case k == trace.LockAcquire:
			return ThreadAcquireLock, all
		case mp:
			return OMPReleaseLock, all
		}
		return ThreadReleaseLock, all
	case trace.ThreadFork:
		if len(ops) == 0 {
			break
		}
		all = len(ops) == 1 || len(ops) == 2 && model(1)
		e.payload = le32(e.payload, small(ops[0]))
		all = all && ops[0] != trace.Undefined
		if model(1) {
			return OMPFork, all
		}
		return ThreadFork, all
	case trace.ThreadJoin:
		if model(0) {
			return OMPJoin, len(ops) == 1
		}
		return ThreadJoin, len(ops) == 0
	case trace.TaskCreate, trace.TaskSwitch, trace.TaskComplete:
		own := Record(k - trace.TaskCreate)
		if len(ops) == 3 {
			e.payload = le64(e.payload, ops[2])
			return OMPTaskCreate + own, ops[0] == trace.Undefined && ops[1] == trace.Undefined
		}
		return ThreadTaskCreate + own, len(ops) == 0
	case trace.CollectiveBegin, trace.ThreadTeamBegin, trace.ThreadTeamEnd, trace.ThreadBegin, trace.ThreadEnd:
		return ownRecords[k], len(ops) == 0
	}
	e.payload = le32(e.payload[:0], e.string(e.describe(c)))
	return Generic, false
}

// describe returns the text of an event without a record: the text of a comment, the name of a generic event, or the
// kind of the event and the name of the definition to which it refers.
func (e *encoder) describe(c *trace.Cursor) string {
	switch {
	case c.Kind() == trace.Generic && c.Ref() != trace.NoRef:
		return *e.defs.Strings.At(c.Ref())
	case c.Kind() == trace.Comment:
		keys, values := c.Attrs()
		for i, k := range keys {
			if e.defs.Attributes.At(k).Name == textName && values[i].Type == trace.String {
				return values[i].Str
			}
		}
	}
	return carrier.Label(e.defs, c)
}

// Links stores links in memory. Close writes them to the main file.
func (e *encoder) Links(links []trace.Link) error {
	if e.plain || e.from != nil {
		e.loss.Add("link", "", format.Lost, "Pallas has no links", int64(len(links)))
		return nil
	}
	e.loss.Add("link", "", format.WeftOnly, "Pallas has no links", int64(len(links)))
	e.links = append(e.links,
		Metadata{fmt.Sprintf("%s%09d", linkKey, len(e.links)), carrier.Text(carrier.PackLinks(links))})
	return nil
}

// Close writes the definitions in two forms: the form of Pallas' tools, and the form from which weft restores
// the trace.
func (e *encoder) Close() error {
	if err := e.writeEnds(math.MaxInt64); err != nil {
		return err
	}
	if e.from != nil {
		return e.closeRewritten()
	}
	d := e.defs
	for i := range d.Regions.Len() {
		e.w.Definitions.Regions = append(e.w.Definitions.Regions, Region{Ref(i), e.string(d.Regions.At(uint32(i)).Name)})
	}
	// The ranks of all communicators are numbers of threads.
	all := Group{Name: e.string("threads"), Type: 1, Paradigm: 4}
	for i := range d.Locations.Len() {
		all.Members = append(all.Members, uint32(i))
	}
	if d.Communicator.Len() > 0 || e.ofAll {
		e.w.Definitions.Groups = append(e.w.Definitions.Groups, all)
	}
	for i, x := range d.Communicator.All() {
		e.w.Definitions.Comms = append(e.w.Definitions.Comms, Comm{Ref(i), e.string(x.Name), 0, x.Parent})
	}
	if e.ofAll {
		e.w.Definitions.Comms = append(e.w.Definitions.Comms, Comm{Ref(d.Communicator.Len()), all.Name, 0, NoRef})
	}
	if !e.plain {
		if e.hasLongRows {
			e.w.Definitions.Attributes = []Attribute{{longRow, e.string("weft.row-text"),
				e.string("what the event is in the trace that it comes from"), StringValue}}
		}
	}
	for i := range e.rows.Attributes(d) {
		a := d.Attributes.At(uint32(i))
		e.w.Definitions.Attributes = append(e.w.Definitions.Attributes, Attribute{Ref(i), e.string(a.Name),
			e.string(a.Doc), AttributeType(e.types.Of(d, uint32(i), trace.String))})
	}
	if slices.ContainsFunc(e.w.archives, func(a *ArchiveWriter) bool { return a.id == noGroup }) {
		e.w.LocationGroups = append(e.w.LocationGroups, LocationGroup{noGroup, e.string(noGroupName), NoRef})
	}
	for i, g := range d.Groups.All() {
		name, parent := g.Name, NoRef
		if name == "" {
			name = g.ID
		}
		if g.Parent != trace.NoRef {
			parent = g.Parent + 1
		}
		e.w.LocationGroups = append(e.w.LocationGroups, LocationGroup{uint32(i) + 1, e.string(name), parent})
		if !slices.ContainsFunc(d.Groups.All(), func(x trace.LocationGroup) bool { return x.Parent == uint32(i) }) {
			e.w.Archive(uint32(i) + 1) // a process without events also has an archive
		}
	}
	var more []carrier.Pair
	if len(e.extraLanes.List) > 0 {
		id := e.lanesArchive()
		e.w.LocationGroups = append(e.w.LocationGroups, LocationGroup{id, e.string("lanes"), NoRef})
		more = append(more, carrier.Pair{Key: lanesKey, Value: strconv.Itoa(int(id))})
	}
	e.rows.Report(&e.loss, d, about.Mapping, e.plain)
	e.countRenumbered()
	e.countUnwritten()
	if !e.plain {
		b, err := json.Marshal(e.ticks)
		if err != nil {
			return err
		}
		data, tooLong := carrier.Pack(d, &e.rows, append(more, carrier.Pair{Key: timeKey, Value: string(b)})...)
		e.loss.Add("opaque", "", format.Lost, fmt.Sprintf("longer than %d bytes", carrier.OpaqueLimit), tooLong)
		for _, p := range carrier.Texts(data, definitionKey) {
			e.w.Metadata = append(e.w.Metadata, Metadata{p.Key, p.Value})
		}
		e.addRowMetadata()
		e.w.Metadata = append(e.w.Metadata, e.links...)
	}
	for _, a := range e.w.archives {
		// Readers deliver simultaneous events in the order of the locations.
		slices.SortFunc(a.locations, func(a, b Location) int { return cmp.Compare(a.ID, b.ID) })
	}
	return e.finish()
}
