package otf2

import (
	"errors"
	"slices"
	"strconv"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// originalArchives holds the archives from which a trace was read, if they are written as OTF2 again. Unchanged
// records are written as they were, with their ids (docs/formats/otf2.md, "Rewriting an archive"). An entry of
// the model's tables has the same id as in the archive. If the trace was merged from several archives, or
// pruned, ids change (parts.go). While events are written, each goroutine has an original of its own
// (rewrite_parallel.go).
type originalArchives struct {
	parts []*source
	// part of each location; empty if there is only one part
	partOf []*source
	shared map[uint32]bool // locations that several parts have
	names  *names          // names of the written definitions
	// written definitions; nil if they are the definitions of the only part
	records   []*Record
	ids       [tables][]uint64       // written ids of entries that have been used so far, by index
	added     *additions             // entries that no source archive defines
	strings   map[string]uint64      // ids by text, in the archives
	decoded   map[string]uint64      // ids of strings that are no UTF-8, by the text in the model
	words     map[uint64]bool        // ids of strings that do not change if texts are renamed
	types     map[uint64]uint64      // types of attributes, by id
	ranks     map[groupView]rankings // ranks of locations in communicators
	clocks    int64                  // number of clock offsets that were left out
	seenView  groupView              // the last communicator that was used, and its ranks
	seenRanks rankings
	// class or instance of each metric, and the position of the metric in it; indexed by metric
	members [][2]uint64
	// marked maps the locations of markers to their parts. markers maps the indexes of marker definitions to
	// their ids.
	marked       map[uint32]*source
	markers      map[uint32]uint64
	referred     map[uint64]bool  // ids of strings to which events refer, if the trace is pruned
	unkeptBefore int64            // value of unkeptCount when writing began
	localizers   []foundLocalizer // indexed by location
	// texts holds the ids of added texts by location. It is nil except while events are written.
	texts     map[uint32]map[string]uint64
	locations uint32 // number of locations at the begin of the scan

	// metric collects the values of one event, which arrive as separate rows. metricLocation is the
	// location of that event; it is only valid if metricPending is set.
	metric         Event
	metricLocation uint32
	metricPending  bool

	eventParameter uint64 // id of the parameter whose values name events that OTF2 does not have

	paradigmNames int64 // number of names left out, because an earlier archive names the same paradigm otherwise
}

// groupView is a communicator from the point of view of the members of one of its groups.
type groupView struct {
	comm  *printComm
	other bool
}

// rankings maps the ids of locations to their ranks.
type rankings map[uint64]uint64

// unknownID marks an entry whose written id has not been determined.
const unknownID = undefined64 - 1

// rewrite makes the encoder write the archives of the parts again, including the changes to the trace.
func (e *encoder) rewrite(parts []*source) error {
	o := &originalArchives{parts: parts, strings: map[string]uint64{}, decoded: map[string]uint64{},
		words: map[uint64]bool{}, types: map[uint64]uint64{}, ranks: map[groupView]rankings{}, names: parts[0].m.ranks,
		shared: map[uint32]bool{}, marked: map[uint32]*source{}, markers: map[uint32]uint64{}, added: &additions{}}
	e.original = o
	o.unkeptBefore = o.unkeptCount()
	first := parts[0].m.a
	a := first.Anchor
	a.FileVersion = e.w.Anchor.FileVersion
	if e.defs.Repaired {
		a.TraceVersion = min(a.TraceVersion, e.w.Anchor.TraceVersion)
	}
	a.Properties = slices.Clone(a.Properties)
	e.loss.Add("trace", "text", format.Degraded,
		"an archive has one machine, creator and description; those of other traces become properties",
		joinAnchor(&a, parts))
	valid, all := map[string]bool{}, len(a.Properties)
	a.Properties = slices.DeleteFunc(a.Properties, func(p Property) bool {
		bad := !isPropertyName(p.Name) || valid[p.Name]
		valid[p.Name] = true
		return bad
	})
	e.loss.Add("trace", "property", format.Degraded, "OTF2 does not allow the name; the property is left out",
		int64(all-len(a.Properties)))
	all = len(a.Properties)
	a.Properties = slices.DeleteFunc(a.Properties, func(p Property) bool { return p.Value == "" })
	e.loss.Add("trace", "property", format.Degraded, "OTF2 does not allow an empty text; the property is left out",
		int64(all-len(a.Properties)))
	if rename := e.defs.Rename; rename != nil {
		for _, text := range []*string{&a.Machine, &a.Creator, &a.Description} {
			*text = rename(*text, false)
		}
		for i := range a.Properties {
			a.Properties[i].Value = rename(a.Properties[i].Value, false)
		}
	}
	a.Substrate, a.Compression, a.DefinitionChunk = e.w.Anchor.Substrate, e.w.Anchor.Compression, first.definitionChunk()
	for _, p := range parts[1:] {
		a.DefinitionChunk = max(a.DefinitionChunk, p.m.a.definitionChunk())
		a.EventChunk = max(a.EventChunk, p.m.a.EventChunk)
	}
	e.w.setAnchor(a)
	if parts[0].index != nil {
		o.join(e.defs.Pruned)
	}
	e.loss.Add("trace", "paradigm names", format.Degraded,
		"OTF2 fixes the ids of paradigms, and a paradigm has one name: that of the first trace", o.paradigmNames)
	if e.defs.Pruned {
		o.referred = map[uint64]bool{}
	}
	if e.defs.Rename != nil {
		o.eachDefinition(func(r *Record) {
			if field, ok := wordFields[r.ID]; ok {
				o.words[r.Values[field]] = true
			}
		})
	}
	o.eachDefinition(func(r *Record) {
		switch r.ID {
		case defString:
			e.renameDefinition(r)
			if _, ok := o.strings[r.Texts[0]]; !ok {
				o.strings[r.Texts[0]] = r.Values[0]
				if text := trace.ToUTF8(r.Texts[0]); text != r.Texts[0] {
					o.decoded[text] = r.Values[0]
				}
			}
		case defAttribute:
			o.types[r.Values[0]] = r.Values[2]
		}
		if t, ok := ownTables[r.ID]; ok && r.Values[0] < undefined32 {
			o.added.next[t] = max(o.added.next[t], r.Values[0]+1)
		}
		if e.defs.Repaired {
			o.reserve(r)
		}
	})
	e.assignIDs()
	for _, p := range parts {
		if err := e.defineMarkers(p); err != nil {
			return err
		}
	}
	return nil
}

// eachDefinition calls do for each definition that is written. The record is valid until do returns.
func (o *originalArchives) eachDefinition(do func(r *Record)) {
	if o.records != nil {
		for _, r := range o.records {
			do(r)
		}
		return
	}
	o.parts[0].m.eachDefinition(do)
}

// defineMarkers writes the definitions of a part's markers that no earlier part contains.
func (e *encoder) defineMarkers(p *source) error {
	o, index := e.original, map[string]uint32{}
	for i, x := range p.defs.Markers.All() {
		index[x.ID] = p.writtenIndex(&p.defs.Markers, uint32(i))
	}
	if at := p.writtenIndex(&p.defs.Locations, p.m.markerLocation); len(p.m.markers) > 0 && at != trace.NoRef {
		o.marked[at] = p
	}
	used := map[uint64]bool{}
	for _, id := range o.markers {
		used[id] = true
	}
	err := p.m.a.Markers(func(_ int64, r *Record) error {
		if r.ID != defMarker {
			return nil
		}
		if i, ok := index[id(r.Values[0])]; ok && i != trace.NoRef {
			if _, twice := o.markers[i]; twice && p.index != nil {
				return nil
			}
			for used[r.Values[0]] && p.index != nil {
				r.Values[0]++
			}
			o.markers[i], used[r.Values[0]] = r.Values[0], true
		}
		e.renameTexts(r)
		return e.w.Mark(r)
	})
	if bad := (*FileError)(nil); errors.As(err, &bad) || errors.Is(err, format.ErrDirectory) {
		return nil // the decoder has reported the defect
	}
	return err
}

// unkeptCount returns the number of references that the models do not keep.
func (o *originalArchives) unkeptCount() (n int64) {
	for _, p := range o.parts {
		n += p.m.lostValues.Load()
	}
	return n
}

// part returns the part that a location belongs to.
func (o *originalArchives) part(loc uint32) *source {
	if loc < uint32(len(o.partOf)) && o.partOf[loc] != nil {
		return o.partOf[loc]
	}
	return o.parts[0]
}

// eventCount returns the number of events of a location in its archive. It returns 0 if the location has not
// been read to its end. location is the written id of the location.
func (o *originalArchives) eventCount(location uint64) uint64 {
	for _, p := range o.parts {
		if p.index == nil {
			return p.m.eventCount(location)
		}
		if id, ok := p.own[location]; ok {
			return p.m.eventCount(id)
		}
	}
	return 0
}

// wordFields maps definition types to the field whose text is never renamed, such as the name of an attribute
// or a unit.
var wordFields = map[uint8]int{defAttribute: 1, defMetricMember: 8,
	defNodeProperty: 1, defGroupProperty: 1, defLocationProperty: 1, defContextProperty: 1, defIOFileProperty: 1}

// renameDefinition removes texts and numbers that identify the origin of a trace from a definition, if
// renaming was requested.
func (e *encoder) renameDefinition(r *Record) {
	rename, v := e.defs.Rename, r.Values
	if rename == nil {
		return
	}
	switch r.ID {
	case defString:
		r.Texts[0] = rename(trace.ToUTF8(r.Texts[0]), e.original.words[v[0]])
	case defClock:
		v[3] = undefined64
	case defRegion:
		v[5], v[6] = 0, 0
	case defCallsite, defSourceLoc:
		v[2] = 0
	}
}

// renameTexts renames the texts of a marker or a thumbnail like renameDefinition.
func (e *encoder) renameTexts(r *Record) {
	if rename := e.defs.Rename; rename != nil {
		for i := range r.Texts {
			r.Texts[i] = rename(r.Texts[i], false)
		}
	}
}

// id returns the id of a table's entry in the written archive.
func (e *encoder) id(t Table, i uint32) uint64 {
	o := e.original
	if o == nil {
		return uint64(i) + e.firstID(t)
	}
	if t == Strings && e.defs.Strings.Has(i) {
		return e.tableString(*e.defs.Strings.At(i))
	}
	if i < uint32(len(o.ids[t])) && o.ids[t][i] != unknownID {
		return o.ids[t][i]
	}
	if t == Metrics && e.defs.Metrics.Has(i) && e.member(i)[0] != unknownID {
		return e.member(i)[0] // the class or instance that begins with the metric
	}
	table, text := modelTable(e.defs, t, i)
	if table == nil {
		return undefined32
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if o.partOf != nil || err != nil { // definitions of several archives already have ids
		n = o.added.id(t, i)
		o.added.use(t, i)
	} else if m := o.parts[0].m; e.defs != m.defs && n != undefined32 && m.standIns[standIn{t, n}] {
		// An undefined id stays undefined, unless the definitions are not those of the archive.
		o.added.use(t, i)
	}
	o.setID(t, i, n)
	return n
}

// setID sets the id of an entry.
func (o *originalArchives) setID(t Table, i uint32, id uint64) {
	for uint32(len(o.ids[t])) <= i {
		o.ids[t] = append(o.ids[t], unknownID)
	}
	o.ids[t][i] = id
}

// rank returns the rank of a location in a communicator. from is the location of the event that names
// the rank. Both locations are given by their ids.
func (o *originalArchives) rank(from uint64, c *printComm, loc uint64) (uint64, bool) {
	if c == nil || c.a == nil {
		return 0, false
	}
	key := groupView{c, c.b != nil && c.a.contains(from)}
	if c.side(from).typ == commSelf {
		return 0, loc == from
	}
	known, ok := o.seenRanks, o.seenRanks != nil && o.seenView == key
	if !ok {
		known, ok = o.ranks[key]
	}
	if !ok {
		known = rankings{}
		for r := uint64(0); ; r++ {
			l, ok := c.location(from, r)
			if !ok {
				break
			}
			if _, twice := known[l]; !twice {
				known[l] = r
			}
		}
		o.ranks[key] = known
	}
	o.seenView, o.seenRanks = key, known
	r, ok := known[loc]
	return r, ok
}

// restoreRanks replaces the locations in an event's operands by ranks.
func (e *encoder) restoreRanks(c *trace.Cursor, k *eventKind, ops []uint64) {
	v := e.event.Values
	for i, o := range k.ops {
		var comm *printComm
		switch o.source {
		case peer:
			comm = e.original.names.comm(v[o.other])
		case target:
			comm = e.original.names.communicators[Windows][v[o.other]]
		default:
			continue
		}
		v[o.field] = undefined32
		if i < len(ops) && ops[i] != trace.Undefined {
			if r, ok := e.original.rank(e.id(Locations, c.Location()), comm, e.id(Locations, uint32(ops[i]))); ok {
				v[o.field] = r
			}
			continue
		}
		keys, values := c.Attrs()
		for n, key := range keys {
			if def := e.defs.Attributes.At(key); isField(def) && def.Name == rankName {
				v[o.field] = values[n].Num
			}
		}
	}
}

// rewriteRow writes a row as the record from which it was read.
func (e *encoder) rewriteRow(c *trace.Cursor) error {
	o := e.original
	if c.Kind() == trace.Metric && c.Ref() != trace.NoRef {
		return e.addMetricValue(c)
	}
	if err := e.flushMetric(); err != nil {
		return err
	}
	if p, ok := o.marked[c.Location()]; ok && c.Kind() == trace.Marker {
		return e.rewriteMarker(c, p)
	}
	x := &e.event
	if c.Kind() == trace.NoOp { // a transform has added the event, for its attributes
		e.describes = true
		e.loss.Add(e.defs.Spec(c.Kind()).Name, "", format.Degraded, "becomes a parameter with its name", 1)
		x.ID, x.Values = parameterString, append(x.Values[:0], o.eventParameter, e.string(e.describe(c)))
		e.setAttributes(c, x)
		return e.putEvent(c.Location(), x)
	}
	if keys, _ := c.Attrs(); c.Kind() <= trace.Leave && c.Ref() != trace.NoRef && len(keys) == 0 {
		// Enters and leaves are the most frequent rows.
		x.ID, x.Values = enter+uint8(c.Kind()-trace.Enter), append(x.Values[:0], e.id(Regions, c.Ref()))
		return e.putEvent(c.Location(), x)
	}
	id := e.recordID(c.Kind())
	ok, all := id != 0, true
	if c.Kind() == trace.Parameter {
		_, ok = e.setParameter(c)
	} else if ok {
		p := o.part(c.Location())
		id, _ = e.oldRecordID(c, id)
		ok, all = e.fillRecord(id, c, c.Ref(), c.Ops())
		if ok {
			e.fillOtherReferences(p, c.Location())
		}
	}
	if !ok {
		e.loss.Add(e.defs.Spec(c.Kind()).Name, "", format.Lost, "OTF2 has no record for it", 1)
		return nil
	}
	if !all {
		e.loss.Add(e.defs.Spec(c.Kind()).Name, "operand", format.Degraded, "the OTF2 record has no field for it", 1)
	}
	e.setAttributes(c, x)
	return e.putEvent(c.Location(), x)
}

// oldRecordID returns the type of the record from which an event was read, and the attribute that states it. The type
// is id, and the attribute is NoRef, unless the event has the attribute for records of old versions, and such a record
// can still hold it.
func (e *encoder) oldRecordID(c *trace.Cursor, id uint8) (old uint8, key uint32) {
	keys, values := c.Attrs()
	for i, key := range keys {
		if def := e.defs.Attributes.At(key); def.ID != "" || def.Name != recordName {
			continue
		}
		if old := values[i].Num; old >= ompFork && old <= ompTaskComplete && holds(&eventKinds[old], c) {
			return uint8(old), key
		}
	}
	return id, trace.NoRef
}

// holds reports whether a record with a kind k can hold an event.
func holds(k *eventKind, c *trace.Cursor) bool {
	ops := c.Ops()
	if k.kind != c.Kind() || len(ops) != len(k.ops) {
		return false
	}
	for i, x := range k.ops {
		if x.source == constant && ops[i] != x.value {
			return false
		}
	}
	return true
}

// otherReferences lists, for each event type, the fields with references to definitions for which the model
// has no table.
var otherReferences = func() (l [len(eventTypes)][]int) {
	for id := range l {
		for i, f := range eventTypes[id].fields {
			if f.table == InterruptGenerators || f.table == IOParadigms || f.table == SourceLocations {
				l[id] = append(l[id], i)
			}
		}
	}
	return l
}()

// rawRanks lists, for each event type, the fields with ranks that the model does not convert to locations,
// such as roots.
var rawRanks = func() (l [len(eventTypes)][]int) {
	for id := range l {
		for i, f := range eventTypes[id].fields {
			location := slices.ContainsFunc(eventKinds[id].ops, func(o operand) bool {
				return o.field == i && (o.source == peer || o.source == target)
			})
			switch f.show {
			case showRank, showRoot, showWinRank, showWinRoot:
				if !location {
					l[id] = append(l[id], i)
				}
			}
		}
	}
	return l
}()

// fillOtherReferences replaces references of the event to definitions without a table in the model by the
// written ids. It also replaces ranks among the communicating locations of one archive by ranks among the
// communicating locations of all archives.
func (e *encoder) fillOtherReferences(p *source, loc uint32) {
	if p.index == nil {
		if e.defs.Repaired {
			e.useOthers()
		}
		return
	}
	for _, i := range rawRanks[e.event.ID] {
		f, v := &eventTypes[e.event.ID].fields[i], e.event.Values
		comm := e.original.names.comm(v[f.other])
		if f.show == showWinRank || f.show == showWinRoot {
			comm = e.original.names.communicators[Windows][v[f.other]]
		}
		v[i] = p.rank(comm, e.id(Locations, loc), v[i])
	}
	for _, i := range otherReferences[e.event.ID] {
		v, t := &e.event.Values[i], eventTypes[e.event.ID].fields[i].table
		*v = p.id(t, *v)
	}
}

// isField reports whether an attribute of the model is a part of the record of an event.
func isField(a *trace.AttributeDef) bool {
	return a.ID == "" && (a.Name == rankName || a.Name == valueName || a.Name == textName || a.Name == recordName)
}

// setAttributes gives an event the attributes of a row.
func (e *encoder) setAttributes(c *trace.Cursor, x *Event) {
	keys, values := c.Attrs()
	for i, k := range keys {
		def, v := e.defs.Attributes.At(k), &values[i]
		if isField(def) {
			continue
		}
		a := Attribute{uint32(e.id(Attributes, k)), uint8(v.Type), v.Num}
		defined, known := e.original.types[uint64(a.ID)]
		switch {
		case v.Type > trace.LocationGroupRef:
			e.loss.Add("attribute", "value", format.Degraded, "OTF2 has no attributes of this type", 1)
			continue
		case v.Type == trace.String:
			a.Value = e.string(v.Str)
		case tableOf(uint64(v.Type)) != noTable:
			if a.Value = undefined32; v.Num < undefined32 {
				a.Value = e.id(tableOf(uint64(v.Type)), uint32(v.Num))
			}
		case v.Type == trace.Uint64 && known && tableOf(defined) != noTable &&
			(v.Num <= undefined32 || tableOf(defined) == Locations):
			// The id is not defined, or the model has no table for the definition.
			a.Type, a.Value = uint8(defined), e.original.part(c.Location()).id(tableOf(defined), v.Num)
		}
		x.Attributes = append(x.Attributes, a)
	}
}

// setParameter fills in the record of a parameter. The parameter's value is an attribute of the row, whose key it
// returns. ok is false if the row has no such attribute.
func (e *encoder) setParameter(c *trace.Cursor) (key uint32, ok bool) {
	keys, values := c.Attrs()
	i := slices.IndexFunc(keys, func(k uint32) bool {
		def := e.defs.Attributes.At(k)
		return isField(def) && def.Name == valueName
	})
	if i < 0 {
		return 0, false
	}
	x, id, v := &e.event, uint8(parameterSigned), values[i].Num
	switch values[i].Type {
	case trace.String:
		id, v = parameterString, e.string(values[i].Str)
	case trace.Uint64:
		id = parameterUnsigned
	}
	parameter := uint64(undefined32)
	if c.Ref() != trace.NoRef {
		parameter = e.id(Parameters, c.Ref())
	}
	x.ID, x.Values = id, append(x.Values[:0], parameter, v)
	return keys[i], true
}

// rewriteMarker writes a marker of a part.
func (e *encoder) rewriteMarker(c *trace.Cursor, p *source) error {
	ops := c.Ops()
	place, defined := e.original.markers[c.Ref()]
	if !defined || len(ops) != 3 {
		e.loss.Add("marker", "", format.Lost, "the trace does not define the marker", 1)
		return nil
	}
	text := ""
	keys, values := c.Attrs()
	for i, k := range keys {
		if e.defs.Attributes.At(k).Name == textName {
			text = values[i].Str
		} else {
			e.loss.Add("marker", "attribute", format.Degraded, "OTF2 markers cannot have attributes", 1)
		}
	}
	scope := ops[2]
	if p.index != nil && ops[1] < uint64(len(scopeTables)) && scopeTables[ops[1]] != noTable {
		scope = undefined32
		if t, i, ok := e.scopeEntry(ops[1], ops[2]); ok {
			scope = e.id(t, i)
		}
	}
	e.markers = append(e.markers, &Record{ID: markerEvent,
		Values: []uint64{e.event.Time, ops[0], place, ops[1], scope, 0}, Texts: []string{text}})
	return nil
}

// putEvent writes an event of a location.
func (e *encoder) putEvent(loc uint32, x *Event) error {
	if e.err != nil {
		return e.err
	}
	w := e.location(loc)
	if own := e.localizer(loc); own != nil {
		x = own.localize(x)
	}
	return w.Write(x)
}

// closeRewritten writes the definitions of the source archives and the added definitions, and ends the
// archive.
func (e *encoder) closeRewritten() error {
	o, d := e.original, e.defs
	define := func(id uint8, v ...uint64) {
		if e.err == nil {
			e.err = e.w.Define(&Record{ID: id, Values: v})
		}
	}
	for loc := uint32(0); loc < uint32(d.Locations.Len()); loc++ { // also locations without events
		if !e.isDefined(Locations, loc) || e.err != nil {
			continue
		}
		if own := e.localizer(loc); own != nil {
			e.loss.Add("event", "time", format.Degraded,
				"no time stamp gives exactly this time with the clock offsets of the location", own.inexact)
			e.err = own.write(e.location(loc))
		}
	}
	e.loss.Add("trace", "clock offsets", format.Degraded, "replaced by corrected times of events", o.clocks)
	if e.err == nil {
		e.err = e.writeSnapshotsAndThumbnails()
	}
	if d.Pruned {
		if !slices.ContainsFunc(o.records, func(r *Record) bool { return r.ID == defLocation }) &&
			len(e.addedEntries(Locations)) == 0 { // OTF2's own tools reject an archive without locations
			add := func(id uint8, v ...uint64) { o.records = append(o.records, &Record{ID: id, Values: v}) }
			add(defTreeNode, 0, e.string("trace"), e.string("node"), undefined32)
			e.defineNothing(add, e.string)
		}
		o.pruneStrings()
	}
	if d.Repaired {
		e.defineMissingStrings()
	}
	hasClock := false
	o.eachDefinition(func(r *Record) {
		switch {
		case int(r.ID) >= len(definitionTypes) || definitionTypes[r.ID].name == "":
			e.loss.Add("definition", "", format.Lost, "the record type is from a later version of OTF2", 1)
			return
		case r.ID == defLocation:
			// A number that differs from the number of events is kept if all events of the location are
			// kept.
			if n := e.w.Location(r.Values[0]).Count; n == 0 || n != o.eventCount(r.Values[0]) {
				r.Values[3] = n
			}
		case r.ID == defClock:
			hasClock = true
			if len(o.parts) > 1 || d.Retimed && e.isOutside(r) || d.Repaired && !isResolution(r.Values[0]) {
				e.setClock(r)
			}
		}
		if d.Repaired {
			e.mend(r)
		}
		e.renameDefinition(r)
		if e.err == nil {
			e.err = e.w.Define(r)
		}
	})
	if d.Repaired && !hasClock && e.err == nil {
		r := &Record{ID: defClock, Values: []uint64{0, e.first, 0, 0}}
		e.setClock(r)
		e.err = e.w.Define(r)
	}
	e.loss.Add("event", "reference", format.Degraded,
		"the referenced definition is missing, or its type differs from that of the value",
		o.unkeptCount()-o.unkeptBefore)
	for _, i := range e.addedEntries(Attributes) {
		a := d.Attributes.At(i)
		define(defAttribute, e.id(Attributes, i), e.string(a.Name), uint64(min(a.Type, trace.LocationGroupRef)),
			e.string(a.Doc))
	}
	if e.describes {
		define(defParameter, o.eventParameter, e.string("event"), 0)
	}
	for _, i := range e.addedEntries(Regions) {
		name := e.string(d.Regions.At(i).Name)
		define(defRegion, e.id(Regions, i), name, undefined32, 0, undefined32, 0, 0, name, 0, 0, 0)
	}
	for _, i := range e.addedEntries(Locations) {
		group := uint64(undefined32)
		if g := d.Locations.At(i).Group; g != trace.NoRef {
			group = e.id(LocationGroups, g)
		}
		id := e.id(Locations, i)
		define(defLocation, id, e.string(d.Locations.At(i).Label()), 1, e.w.Location(id).Count, group)
	}
	e.defineStandIns(define)
	if e.err != nil {
		return e.err
	}
	return e.w.Close()
}
