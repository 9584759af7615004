package otf

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/klauspost/compress/flate"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/trace"
)

// Keys of the key-value pairs in which weft keeps what OTF's own records cannot express
// (docs/formats/otf.md, "Traces of other formats").
const (
	rowKey        = 1 // the part of an event that the event's record does not express
	locationKey   = 2 // index of an event's location, if it is not the location of the event's process
	linkKey       = 3 // packed links
	definitionKey = 4 // all definitions of the model; the pair belongs to the DefCreator
	lastKey       = 4 // the greatest of these keys; the trace's own attributes have greater keys
)

// carriedName is the prefix of the names of weft's own keys.
const carriedName = "weft."

// Names of carried definitions that only this package uses.
const (
	baseName    = "otf.base"    // ticks of the file at which the model's time is 0
	genericName = "otf.generic" // comments that begin with genericText are generic events
)

// genericText begins the text of a comment that stands for a generic event. The name of the event follows.
const genericText = "generic "

// laneProcess is the first process number for the lanes of resources. The claims of a resource become visits
// on its lanes.
const laneProcess = 0xf0000000

// handleFile is the first token of the files that stand for I/O handles without a file. Each token is the sum of
// handleFile and the index of the handle.
const handleFile = 0xf0000000

// tokens assigns tokens to the entries of a table. An entry keeps its own id if the id is an unused number
// that fits 32 bits. Otherwise it gets another token. The token of an entry depends only on earlier entries,
// so tokens may be used while a table grows.
type tokens struct {
	own       bool // keep every id that is a number of at most 32 bits, even if the number is in use
	perStream bool // a process has a different token in each stream
	list      []uint32
	used      map[uint32]bool
	reserved  uint32 // tokens up to this one are weft's own
	native    bool   // the file has none of weft's own, so entries keep these tokens
	id        func(i int) string
	// preset holds the tokens that set has assigned, by index of the entry; 0 for other entries.
	preset []uint32
}

// set sets the token of an entry before the first call of at.
func (t *tokens) set(i int, token uint32) {
	for len(t.preset) <= i {
		t.preset = append(t.preset, 0)
	}
	t.preset[i] = token
}

// isSet reports whether set has assigned a token to an entry.
func (t *tokens) isSet(i int) bool { return i < len(t.preset) && t.preset[i] != 0 }

// markUsed marks a token as used, so that no entry gets it.
func (t *tokens) markUsed(token uint32) {
	if t.used == nil {
		t.used = map[uint32]bool{}
	}
	t.used[token] = true
}

func (t *tokens) at(i int) uint32 {
	for n := len(t.list); n <= i; n++ {
		if t.isSet(n) {
			t.add(t.preset[n])
			continue
		}
		if t.own {
			// In the id of a process, the number of the stream comes after the process. In the id of a
			// definition of a stream, the number of the stream comes before the token.
			id := t.id(n)[strings.LastIndexByte(t.id(n), '/')+1:]
			id, _, stray := strings.Cut(id, "@")
			if v, err := strconv.ParseUint(id, 10, 32); err == nil && !(stray && t.perStream) {
				t.add(uint32(v))
				continue
			}
		}
		v, err := strconv.ParseUint(t.id(n), 10, 32)
		if err != nil || v == 0 || v >= laneProcess || t.used[uint32(v)] || v <= uint64(t.reserved) && !t.native ||
			strconv.FormatUint(v, 10) != t.id(n) {
			for v = max(uint64(n), uint64(t.reserved)) + 1; t.used[uint32(v)]; v++ {
			}
		}
		t.add(uint32(v))
	}
	return t.list[i]
}

func (t *tokens) add(token uint32) {
	t.markUsed(token)
	t.list = append(t.list, token)
}

// allTokens holds the tokens of a trace's definitions.
type allTokens struct {
	locations, regions, communicators, metrics, attributes, files, markers tokens
}

func (t *allTokens) all() []*tokens {
	return []*tokens{&t.locations, &t.regions, &t.communicators, &t.metrics, &t.attributes, &t.files, &t.markers}
}

// ofType returns the tokens of the entries that definitions of a type define.
func (t *allTokens) ofType(typ Type) *tokens {
	return map[Type]*tokens{DefProcess: &t.locations, DefProcessGroup: &t.communicators, DefFunction: &t.regions,
		DefCounter: &t.metrics, DefKeyValue: &t.attributes, DefFile: &t.files, DefMarker: &t.markers}[typ]
}

func newTokens(d *trace.Definitions) *allTokens {
	t := &allTokens{
		locations:     tokens{id: func(i int) string { return d.Locations.At(uint32(i)).ID }},
		regions:       tokens{id: func(i int) string { return d.Regions.At(uint32(i)).ID }},
		communicators: tokens{id: func(i int) string { return d.Communicator.At(uint32(i)).ID }},
		metrics:       tokens{id: func(i int) string { return d.Metrics.At(uint32(i)).ID }},
		attributes:    tokens{id: func(i int) string { return d.Attributes.At(uint32(i)).ID }},
		files:         tokens{id: func(i int) string { return d.Files.At(uint32(i)).ID }},
		markers:       tokens{id: func(i int) string { return d.Markers.At(uint32(i)).ID }},
	}
	t.attributes.reserved = lastKey
	return t
}

// stringToken returns the token of a group whose name is entry i of the strings.
func stringToken(i uint32) uint64 { return uint64(i) + 1 }

// fileClock converts between times of a file and times of the model.
type fileClock struct {
	scale uint64 // ticks of the file per tick of the model
	base  uint64 // the file's time stamp of time 0 of the model
}

// newFileClock returns the clock for a trace whose first event is at time first. Times of a file are
// never negative.
func newFileClock(c trace.Clock, first int64) fileClock {
	f := fileClock{scale: uint64(c.Den)}
	if ok, base := multiply(first, f.scale); ok && first < 0 {
		f.base = -base
	}
	return f
}

// toFile converts a time of the model to a time of the file. ok is false if the result does not fit.
func (f fileClock) toFile(t int64) (v uint64, ok bool) {
	if f.scale > 1 {
		if ok, v = multiply(t, f.scale); !ok {
			return 0, false
		}
		t = int64(v)
	}
	v = uint64(t) + f.base // the conversion and the sum wrap around for negative times, with the right result
	// Readers deliver no events at the greatest time; the greatest time of the model stands for no time.
	return v, t < 0 == (v < f.base) && v < math.MaxUint64 && t != math.MaxInt64
}

// toModel converts a time of the file to a time of the model.
func (f fileClock) toModel(v uint64) int64 {
	t := int64(v - f.base)
	if f.scale > 1 {
		t /= int64(f.scale)
	}
	return t
}

// firstFrom returns the first time of the model that is at or after the given time of the file.
func (f fileClock) firstFrom(v uint64) int64 {
	t := f.toModel(v)
	if x, ok := f.toFile(t); ok && x < v {
		t++
	}
	return t
}

// multiply multiplies two numbers. ok is false if the product does not fit.
func multiply(t int64, by uint64) (ok bool, v uint64) {
	if by > math.MaxInt64 {
		return false, 0
	}
	p := t * int64(by)
	return t == 0 || p/int64(by) == t && p != math.MinInt64, uint64(p)
}

// carriedDefinitions returns the carried definitions of a trace, or nil if it has none.
func carriedDefinitions(list []*Record) []byte {
	for _, r := range list {
		if v, ok := r.Find(definitionKey); ok && r.Type == DefCreator && carrier.Packed(v.Bytes) {
			return v.Bytes
		}
	}
	return nil
}

// restoredTrace is the value of Definitions.Native for a trace of another format. The encoder of OTF keeps the unique
// id of the file, and the codes of kinds in its packed rows.
type restoredTrace struct {
	uniqueID uint64
	hasID    bool
	restorer *carrier.Restorer
}

// Restored marks the trace as one with new definitions.
func (*restoredTrace) Restored() {}

// restoredFrom returns the native form of a restored trace.
func restoredFrom(list []*Record, r *carrier.Restorer) *restoredTrace {
	x := &restoredTrace{restorer: r}
	for _, d := range list {
		if d.Type == DefUniqueID {
			x.uniqueID, x.hasID = d.UniqueID, true
		}
	}
	return x
}

// restoreModel builds a model from carried definitions.
func restoreModel(data []byte) (*model, error) {
	pairs, err := carrier.Unpack(data)
	if err != nil {
		return nil, err
	}
	d := &trace.Definitions{Format: "otf"}
	r, err := carrier.NewRestorer(d, pairs)
	if err != nil {
		return nil, err
	}
	d.Clock = r.Clock
	m := emptyModel(d)
	m.restorer, m.carried = r, true
	m.clock = fileClock{scale: uint64(d.Clock.Den)}
	for _, p := range pairs {
		switch p.Key {
		case genericName:
			m.generic = map[string]uint32{}
		case baseName:
			if m.clock.base, err = strconv.ParseUint(p.Value, 10, 63); err != nil {
				return nil, fmt.Errorf("carried definition %s: found %q, expected a time", p.Key, p.Value)
			}
		}
	}
	m.indexTokens(newTokens(d))
	return m, nil
}

// indexTokens adds the tokens of carried definitions to the index. It skips the tokens that an earlier call
// has added.
func (m *model) indexTokens(t *allTokens) {
	d, attributes := m.defs, m.indexedCounts[keys]
	for i := len(m.process); i < d.Locations.Len(); i++ {
		p := uint64(t.locations.at(i))
		m.process = append(m.process, p)
		m.locations[p] = uint32(i)
		m.nearLocations = storeSmall(m.nearLocations, p, uint32(i))
	}
	for _, x := range []struct {
		table, n int
		t        *tokens
	}{{functions, d.Regions.Len(), &t.regions}, {groups, d.Communicator.Len(), &t.communicators},
		{counters, d.Metrics.Len(), &t.metrics},
		{keys, d.Attributes.Len(), &t.attributes}, {files, d.Files.Len(), &t.files}, {markers, d.Markers.Len(), &t.markers}} {
		for ; m.indexedCounts[x.table] < x.n; m.indexedCounts[x.table]++ {
			i, token := uint32(m.indexedCounts[x.table]), uint64(x.t.at(m.indexedCounts[x.table]))
			m.index[scopedToken{x.table, 0, token}] = i
			m.small[x.table] = storeSmall(m.small[x.table], token, i)
		}
	}
	for ; m.indexedCounts[functionGroups] < d.Strings.Len(); m.indexedCounts[functionGroups]++ {
		i := uint32(m.indexedCounts[functionGroups])
		m.index[scopedToken{functionGroups, 0, stringToken(i)}] = i
		m.index[scopedToken{fileGroups, 0, stringToken(i)}] = i
	}
	for ; m.generic != nil && m.named < d.Strings.Len(); m.named++ {
		name := *d.Strings.At(uint32(m.named))
		if _, known := m.generic[name]; !known && utf8.ValidString(name) { // packed definitions keep no other strings
			m.generic[name] = uint32(m.named)
		}
	}
	if attributes == d.Attributes.Len() {
		return
	}
	ofName := map[string]*uint32{sclName: &m.scl, textName: &m.comments, recordName: &m.record, unnamedName: &m.unnamed,
		streamName: &m.place}
	for i := attributes; i < d.Attributes.Len(); i++ {
		if to := ofName[d.Attributes.At(uint32(i)).Name]; to != nil && *to == trace.NoRef {
			*to = uint32(i)
		}
	}
}

// genericEvent returns the name, as an entry of the strings, of the generic event for which a comment stands. ok is
// false for other comments.
func (m *model) genericEvent(r *Record) (name uint32, ok bool) {
	text, ok := strings.CutPrefix(r.Text, genericText)
	if !ok || r.Type != EventComment {
		return trace.NoRef, false
	}
	name, ok = m.generic[text]
	return name, ok
}

// nameGroups stores the names of the groups that OTF's own records define. The strings of carried
// definitions do not contain all of them, because carried regions and counters have the names of their
// groups. Summaries of groups, which weft or another tool may add later, refer to OTF's own
// definitions.
func (m *model) nameGroups(list []*Record) {
	m.groupNames = map[scopedToken]string{}
	entries := map[string]uint32{}
	for i := m.defs.Strings.Len() - 1; i >= 0; i-- {
		entries[*m.defs.Strings.At(uint32(i))] = uint32(i)
	}
	for _, r := range list {
		switch r.Type {
		case DefFunctionGroup:
			m.groupNames[scopedToken{functionGroups, r.Stream, r.Token}] = r.Name
		case DefFileGroup:
			k := scopedToken{fileGroups, r.Stream, r.Token}
			m.groupNames[k] = r.Name
			delete(m.index, k) // the token of a carried string means this group instead
			if i, ok := entries[trace.ToUTF8(r.Name)]; ok {
				m.index[k] = i
			}
		}
	}
}

// addSamplePoints adds the sample points in the definitions of the file, which m has read, to the carried
// definitions. The file has such sample points if weft or another tool has added snapshots and summaries after
// the conversion.
func (md *model) addSamplePoints(m *model) {
	known := map[trace.Opaque]bool{}
	for _, o := range md.defs.Opaque.All() {
		known[o] = true
	}
	base := uint64(0) // time offset of the carried definitions
	for _, a := range md.defs.Properties.All() {
		if a.Key == baseName {
			base = a.Value.Num
		}
	}
	for _, o := range m.defs.Opaque.All() {
		r, ok := samplePointOf(&o)
		if !ok {
			continue
		}
		r.SampleTime = uint64(md.clock.toModel(r.SampleTime)) + base
		if o.Data = string(r.appendLine(nil, false)); !known[o] {
			known[o] = true
			md.defs.Opaque.Add(o)
		}
	}
}

// restorePlace returns true for a record that is not an event of the trace: the record of a link, and a
// snapshot or summary of the visits on the lane of a resource. If an event is on the lane of a
// resource, restorePlace sets its process to that of the event's location.
func (d *decoder) restorePlace(r *Record) (skip bool, err error) {
	if p := r.Type.Part(); (p == Snapshots || p == Statistics) && r.Process >= laneProcess {
		if _, known := d.model.locations[r.Process]; !known {
			return true, nil // the record belongs to a lane, whose visits stand for claims
		}
	}
	if v, ok := r.Find(linkKey); ok && r.Type == NoOp {
		if d.links != nil {
			d.linkPlace++
			if err := carrier.CheckLinks(v.Bytes, d.defs.Locations.Len()); err != nil {
				return true, d.reportCarried(r, err)
			}
			return true, d.links.Add(d.linkPlace, v.Bytes)
		}
		return true, nil
	}
	if v, ok := r.Find(locationKey); ok && v.Bits < uint64(len(d.model.process)) {
		d.needsDefinition = d.needsDefinition || d.trying && !d.isListed(r.Process, r.Stream)
		r.Process = d.model.process[v.Bits]
	}
	return false, nil
}

// hasTrailingLinks reports whether the last lines of a file contain links, which come after all events.
// It always returns false for a compressed file.
func (t *lineReader) hasTrailingLinks() bool {
	if t.zip != nil {
		return false
	}
	var b [linkTail]byte
	n, _ := t.h.ReadAt(b[:], max(0, t.h.Size-linkTail))
	return hasLinks(b[:n])
}

// linkTail is the size of an end of a file that has a line with links, if the file ends with links. A line of an array
// has less than 256 bytes.
const linkTail = 1 << 10

// hasLinks reports whether a text has a line with links, in the short or the long spelling.
func hasLinks(text []byte) bool {
	return bytes.Contains(text, fmt.Appendf(nil, "\nK%xY%xV", linkKey, Bytes)) ||
		bytes.Contains(text, fmt.Appendf(nil, "\nKEY %x TYPE %x VALUE ", linkKey, Bytes))
}

// mayEndWithLinks does the same as hasTrailingLinks for a compressed file. It returns true if the file has no restart
// point near its end.
func (t *lineReader) mayEndWithLinks(ctx context.Context) (bool, error) {
	for back := int64(endBytes); back < t.h.Size; back *= 2 {
		at, err := t.restartNearEnd(back)
		if err != nil {
			return false, err
		}
		if at < 0 {
			continue
		}
		z := flate.NewReader(io.NewSectionReader(t.h, at, t.h.Size-at))
		text, err := lastBytes(ctx, z)
		z.Close()
		if err != nil {
			return false, err
		}
		if n := len(text) - linkTail; n >= 0 { // otherwise the restart point may be in a line with links
			return hasLinks(text[n:]), nil
		}
	}
	return true, nil
}

func (d *decoder) reportCarried(r *Record, err error) error {
	return d.r.opt.Read.Defect(&trace.Defect{Rule: "otf.carried", Severity: trace.Error,
		Position: trace.Position{File: d.r.src.Path},
		Record:   fmt.Sprintf("%s at %d", r.Type, r.Time), Found: err.Error(),
		Expected: "the data that weft wrote; weft reads the record without it"})
}

// applyCarried applies the carried part of a record to the last row of b. It reports a defect if the carried
// part cannot be read.
func (d *decoder) applyCarried(b *trace.Batch, r *Record) {
	v, ok := r.Find(rowKey)
	if !ok || v.Type != Bytes {
		return
	}
	if err := d.restorer.Amend(b, v.Bytes); err != nil {
		if err := d.reportCarried(r, err); err != nil && d.err == nil {
			d.err = err
		}
	}
}

// repeatsEvent reports whether r belongs to a snapshot and repeats an event together with the data that weft
// carries for that event. otfaux writes such snapshots. The packed row describes the event, not the snapshot
// record r.
func (d *decoder) repeatsEvent(r *Record, packed []byte) bool {
	if d.restorer == nil || r.Type.Part() != Snapshots {
		return false
	}
	k, err := d.restorer.PackedKind(packed)
	return err == nil && !k.IsState()
}

// completeRecord completes the record of a row. If the trace is not plain, it adds a key-value pair with the
// part of the row that the record lacks. It returns false if no record must be written.
func (e *encoder) completeRecord(c *trace.Cursor, r *Record) bool {
	if r.check() != nil {
		e.truncate(r)
	}
	scoped := e.setMarkerProcess(c, r)
	if r.Process != e.places[c.Location()].process && !e.plain {
		e.addCarrier(r, KeyValue{Key: locationKey, Type: Uint32, Bits: uint64(c.Location())})
	}
	x, ok := e.decode(c, r, false)
	if ok && sameRow(c, &x) {
		switch c.Kind() {
		case trace.CollectiveBegin:
			e.completeBegins[c.Location()] = true
		case trace.Generic:
			if r.Type == EventComment {
				e.rows.NoteField(c, "") // other tools see a comment
			}
		}
		return true
	}
	repeats := r.repeatsFields()
	if repeats {
		if _, ok = e.decode(c, r, true); ok {
			x, _ = e.decode(c, r, false) // other tools see the fields
		}
	}
	if !ok {
		// A reader of this record would create a definition that the trace does not have. Therefore a NoOp
		// record carries the row instead.
		*r = Record{Type: NoOp, Time: r.Time, Process: r.Process, Stream: r.Stream, KeyValues: r.KeyValues[:0]}
		x, _ = e.decode(c, r, true)
	}
	switch c.Kind() {
	case trace.CollectiveBegin:
		e.completeBegins[c.Location()] = e.held.Collective(c.Location()) != nil
		if !e.completeBegins[c.Location()] {
			e.rows.Note(c, &x)
		} else if carrier.LacksAttributes(c, &x) {
			e.rows.NoteAttributes(c)
		}
	case trace.CollectiveEnd: // the begin has the operands of the end
		if !e.completeBegins[c.Location()] || r.Type == NoOp {
			e.rows.Note(c, &x)
		} else if carrier.LacksAttributes(c, &x) {
			e.rows.NoteAttributes(c)
		}
	default:
		k := c.Kind()
		named := k == trace.Mark || k == trace.Parameter || k == trace.Generic
		switch {
		case e.plain && named && r.Type == EventComment && !c.Derived():
			e.loss.Add(e.defs.Spec(k).Name, "", format.Degraded, "becomes a comment with its name and attributes", 1)
		case k == trace.Generic && r.Type == EventComment:
			e.rows.NoteField(c, "")
		case scoped:
			if duration := c.Op(0); duration != 0 && duration != trace.Undefined {
				e.rows.NoteOperands(c, 1)
			}
			if carrier.LacksAttributes(c, &x) {
				e.rows.NoteAttributes(c)
			}
		default:
			e.rows.Note(c, &x)
		}
	}
	if e.plain {
		return r.Type != NoOp
	}
	if repeats {
		x, _ = e.decode(c, r, true)
	}
	e.packed = e.rows.Append(e.packed[:0], e.defs, c, &x)
	e.addCarrier(r, KeyValue{Key: rowKey, Type: Bytes, Bytes: e.packed})
	return true
}

// addCarrier adds one of weft's own key-value pairs to a record.
func (e *encoder) addCarrier(r *Record, v KeyValue) {
	r.KeyValues = append(r.KeyValues, v)
	e.carriers[v.Key] = true
}

// decode returns the row that a reader will make of a record. carries is set if the record carries a
// part of its row. ok is false if a reader would have to add a definition.
func (e *encoder) decode(c *trace.Cursor, r *Record, carries bool) (x trace.Cursor, ok bool) {
	pairs := e.readBack.KeyValues[:0]
	if r.keepsInText() {
		e.readBack, ok = *r, true
		e.readBack.KeyValues = append(pairs, r.KeyValues...)
	} else {
		e.text = r.Append(e.text[:0], false)
		e.readBack = Record{Time: r.Time, Process: r.Process, Stream: r.Stream, KeyValues: pairs}
		ok = e.readBack.reread(e.text, r.Type) && e.readBack.Type == r.Type
	}
	if carries {
		e.readBack.KeyValues = append(e.readBack.KeyValues, KeyValue{Key: rowKey, Type: Bytes})
	}
	if r.Process != e.places[c.Location()].process {
		e.readBack.Process = e.places[c.Location()].process
	}
	e.row.Reset(trace.MixedLoc)
	e.reader.needsDefinition = false
	e.reader.addRow(&e.row, &e.readBack)
	x = e.row.Cursor()
	x.Next()
	return x, ok && !e.reader.needsDefinition
}

// keepsInText reports whether an event has only parts that its text always keeps: numbers that fit into their
// fields, and arrays that are not empty.
func (r *Record) keepsInText() bool {
	return r.Text == "" && r.Type != Marker && !slices.ContainsFunc(r.KeyValues, func(v KeyValue) bool {
		return v.Type == Bytes && len(v.Bytes) == 0
	})
}

// repeatsFields reports whether a reader of the record makes attributes of some of its fields if the record
// does not carry a row ([decoder.addAttributes]).
func (r *Record) repeatsFields() bool { return r.SCL != 0 || specs[r.Type].hasField(fieldText) }

// sameRow reports whether two rows are equal, apart from their locations and times.
func sameRow(c, x *trace.Cursor) bool {
	keys, values := c.Attrs()
	gotKeys, got := x.Attrs()
	return !c.Derived() && x.Kind() == c.Kind() && x.Ref() == c.Ref() && slices.Equal(x.Ops(), c.Ops()) &&
		slices.Equal(keys, gotKeys) && slices.Equal(values, got)
}

func newLinks(d *decoder, sel trace.Selection) *carrier.Links {
	if sel.Links == trace.NoLinks || !d.carried {
		return nil
	}
	d.linkPlace = 0
	return &carrier.Links{}
}

// deliverLinks passes on the links that a scan has found.
func (d *decoder) deliverLinks(ctx context.Context, sink format.Sink) error {
	if d.links == nil {
		return nil
	}
	l := d.links
	d.links = nil
	defer l.Close()
	return l.Deliver(ctx, d.defs.Locations.Len(), sink.Links)
}
