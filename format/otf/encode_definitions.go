package otf

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/internal/collective"
	"github.com/weft-trace/weft/trace"
)

// writeDefinitions writes OTF's own definitions, for other tools, and the carried definitions.
func (e *encoder) writeDefinitions() error {
	if e.original != nil {
		return e.rewriteDefinitions()
	}
	d := e.defs
	var err error
	put := func(r *Record) {
		if err == nil {
			e.truncate(r)
			e.noteTexts(r)
			err = e.w.Write(r)
		}
	}
	e.rows.Report(&e.loss, d, about.Mapping, e.plain)
	e.w.headed = true
	put(&version)
	if id, ok := e.uniqueID(); ok {
		put(&Record{Type: DefUniqueID, UniqueID: id})
	}
	put(&Record{Type: DefTimerResolution, TicksPerSecond: uint64(d.Clock.Num)})
	creator := Record{Type: DefCreator, Text: "weft"}
	if !e.plain {
		base := carrier.Pair{Key: baseName, Value: strconv.FormatUint(e.reader.clock.base, 10)}
		data, tooLong := carrier.Pack(d, &e.rows, base, carrier.Pair{Key: genericName, Value: "comment"})
		e.loss.Add("opaque", "", format.Lost, fmt.Sprintf("longer than %d bytes", carrier.OpaqueLimit), tooLong)
		e.addCarrier(&creator, KeyValue{Key: definitionKey, Type: Bytes, Bytes: data})
		for _, k := range []struct {
			key  uint64
			typ  ValueType
			name string
		}{{definitionKey, Bytes, carriedName + "definitions"}, {rowKey, Bytes, carriedName + "event"},
			{locationKey, Uint32, carriedName + "location"}, {linkKey, Bytes, carriedName + "links"}} {
			if e.carriers[k.key] {
				put(&Record{Type: DefKeyValue, Token: k.key, Kind: uint64(k.typ), Name: k.name, Text: "what OTF has no record for"})
			}
		}
	}
	put(&creator)
	e.writeTimeDefinitions(put)
	e.writeProcessDefinitions(put)
	e.writeCommunicatorDefinitions(put)
	e.writeRegionDefinitions(put)
	e.writeAttributeDefinitions(put)
	return err
}

// uniqueID returns the unique id of a trace: that which it had in OTF or, for traces of other formats, that of the file
// or one that follows from times and names. ok is false for traces of OTF without one.
func (e *encoder) uniqueID() (id uint64, ok bool) {
	d := e.defs
	if x, ok := d.Native.(*restoredTrace); ok && x.hasID {
		return x.uniqueID, true
	}
	if d.Origin == "otf" {
		for _, a := range d.Properties.All() {
			if a.Key == uniqueIDName && a.Value.Type == trace.Uint64 {
				return a.Value.Num, true
			}
		}
		return 0, false
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %d %d\n", d.Clock.Num, e.extent.first, e.extent.last)
	for _, name := range d.FullNames() {
		fmt.Fprintf(h, "%s\n", name)
	}
	for _, r := range d.Regions.All() {
		fmt.Fprintf(h, "%s\n", r.Name)
	}
	return h.Sum64(), true
}

// writeTimeDefinitions writes the definitions about times of a trace that was read from OTF: its time range,
// and the sample points whose records are kept.
func (e *encoder) writeTimeDefinitions(put func(*Record)) {
	base := uint64(0)
	ranged := false
	for _, a := range e.defs.Properties.All() {
		switch a.Key {
		case baseName:
			base = a.Value.Num
		case rangeName:
			ranged = true
		}
	}
	if ranged && e.extent.any {
		put(&Record{Type: DefTimeRange, MinTime: e.extent.first, MaxTime: e.extent.last})
	}
	for _, o := range e.defs.Opaque.All() {
		r, ok := samplePointOf(&o)
		if !ok {
			continue
		}
		if t, ok := e.reader.clock.toFile(int64(r.SampleTime - base)); ok && e.extent.has(t) && !e.announcesDropped(r) {
			r.SampleTime = t
			put(r)
		}
	}
}

// samplePointOf returns the sample point that an opaque definition contains. ok is false for other
// definitions.
func samplePointOf(o *trace.Opaque) (r *Record, ok bool) {
	if o.Format != "otf" || !strings.HasPrefix(o.Data, specs[DefAuxSamplePoint].short) {
		return nil, false
	}
	r = &Record{}
	return r, r.reread([]byte(o.Data+"\n"), DefAuxSamplePoint) && r.Type == DefAuxSamplePoint
}

// writeProcessDefinitions writes the definitions of processes, and of the process groups that stand for nodes.
func (e *encoder) writeProcessDefinitions(put func(*Record)) {
	d := e.defs
	names := d.FullNames()
	for i := range d.Locations.Len() {
		l := d.Locations.At(uint32(i))
		if l.Kind == trace.EventsLocation && i < len(e.places) && e.places[i].known && !e.places[i].used {
			continue // all of its events are markers that name other processes, or the whole trace
		}
		put(&Record{Type: DefProcess, Token: uint64(e.tokens.locations.at(i)), Name: names[i], Parent: e.parent(i)})
	}
	for i, name := range e.laneNames {
		put(&Record{Type: DefProcess, Token: laneProcess + uint64(i), Name: name})
	}
	members := make([][]uint32, d.Groups.Len()) // indexed by index of the group, for groups that are nodes
	for i := range d.Locations.Len() {
		for g := d.Locations.At(uint32(i)).Group; g != trace.NoRef; g = d.Groups.At(g).Parent {
			if d.Groups.At(g).Kind == nodeKind {
				members[g] = append(members[g], e.tokens.locations.at(i))
			}
		}
	}
	for i := range d.Groups.Len() {
		if g := d.Groups.At(uint32(i)); g.Kind == nodeKind {
			put(&Record{Type: DefProcessGroup, Token: nodeToken + uint64(i), Name: nodeGroup + g.Name, Members: members[i]})
		}
	}
}

// writeCommunicatorDefinitions writes the definitions of communicators. Members of a process group are tokens
// of processes, so members whose location is unknown are left out.
func (e *encoder) writeCommunicatorDefinitions(put func(*Record)) {
	d := e.defs
	unknown, members := 0, d.Memberships()
	for i, c := range d.Communicator.All() {
		r := Record{Type: DefProcessGroup, Token: uint64(e.tokens.communicators.at(i)), Name: c.Name}
		for _, l := range members.KnownMembers(uint32(i)) {
			r.Members = append(r.Members, e.tokens.locations.at(int(l)))
		}
		if d.Sets.Has(c.Set) {
			n, _ := d.MemberCount(uint32(i)) // includes the members of sets inside of the set
			unknown += max(0, max(n, len(d.Sets.At(c.Set).Members))-len(r.Members))
		}
		put(&r)
	}
	e.loss.Add("communicator", "members", e.restored(), "the locations of some members are unknown", int64(unknown))
}

// noteTexts counts the texts of a definition that OTF cannot hold as they are.
func (e *encoder) noteTexts(r *Record) {
	how := format.WeftOnly
	if e.plain {
		how = format.Degraded
	}
	for _, s := range []string{r.Name, r.Text, r.Unit} {
		if strings.ContainsAny(s, "\"\n") {
			e.loss.Add("text", "characters", how, "OTF has no quotes and line ends in texts; blanks replace them", 1)
		}
	}
}

// restored returns the fidelity of data that only the carried definitions contain.
func (e *encoder) restored() format.Fidelity {
	if e.plain {
		return format.Lost
	}
	return format.WeftOnly
}

// writeRegionDefinitions writes the definitions of functions, counters and files.
func (e *encoder) writeRegionDefinitions(put func(*Record)) {
	d := e.defs
	group := e.groupTokens(put)
	places := e.sourcePlaces(put)
	for i, x := range d.Regions.All() {
		r := Record{Type: DefFunction, Token: uint64(e.tokens.regions.at(i)), Group: group(DefFunctionGroup, x.Group),
			Name: x.Name}
		if hasSourcePlace(&x) {
			r.SCL = places.token(sourcePlace{x.File, int64(x.Line)}, put)
		}
		put(&r)
	}
	e.writeSummaryGroups(put, group)
	relative, scaled := int64(0), int64(0)
	for i := range d.Metrics.Len() {
		m := d.Metrics.At(uint32(i))
		if strings.HasPrefix(m.Mode, "REL") {
			relative++
		}
		name := m.Name
		if name == "" {
			name = m.ID
		}
		unit := scaledUnit(m)
		if unit != m.Unit {
			scaled++
		}
		put(&Record{Type: DefCounter, Token: uint64(e.tokens.metrics.at(i)), Group: group(DefCounterGroup, m.Group),
			Name: name, Unit: unit, Properties: counterProperties(m)})
	}
	e.loss.Add("metric", "scale", format.Degraded,
		"OTF has no field for the scale of values; it is added to the unit", scaled)
	e.loss.Add("metric", "mode", e.restored(),
		"OTF has no relative counters; the values are written as absolute ones", relative)
	for i := range d.Files.Len() {
		r := Record{Type: DefFile, Token: uint64(e.tokens.files.at(i)), Name: d.Files.At(uint32(i)).Name}
		for _, a := range d.Files.At(uint32(i)).Attrs {
			if a.Key == fileGroupName && a.Value.Type == trace.Int64 && d.Origin == "otf" {
				r.Group = a.Value.Num
			}
		}
		put(&r)
	}
	for _, i := range slices.Sorted(maps.Keys(e.handles)) {
		put(&Record{Type: DefFile, Token: handleFile + uint64(i), Name: d.Handles.At(i).Name})
	}
}

// writeAttributeDefinitions writes the definitions of keys, collective operations and markers. A plain trace lacks keys
// that no record has and the original trace did not define.
func (e *encoder) writeAttributeDefinitions(put func(*Record)) {
	d := e.defs
	for i := range e.rows.Attributes(d) {
		a, key := d.Attributes.At(uint32(i)), e.tokens.attributes.at(i)
		if e.plain && a.ID == "" && !e.usedKeys[key] {
			continue
		}
		put(&Record{Type: DefKeyValue, Token: uint64(key), Kind: uint64(keyType(a.Type)), Name: a.Name, Text: a.Doc})
	}
	for _, x := range d.Operations.All() { // the table is empty unless the trace comes from OTF
		if op, err := strconv.ParseUint(x.ID, 10, 32); err == nil {
			e.operations[op] = true
		}
	}
	for _, op := range slices.Sorted(maps.Keys(e.operations)) {
		r := &Record{Type: DefCollectiveOperation, Token: op, Name: fmt.Sprintf("collective operation %d", op)}
		if d.Origin != "otf" {
			r.Kind = allToAll // otfprofile aborts if an operation has no kind
			if name, ok := trace.OperationName(op); ok {
				r.Name, r.Kind = name, uint64(max(0, slices.Index(operationKinds[:], collective.Class(op))))
			}
		}
		for _, x := range d.Operations.All() {
			if x.ID != strconv.FormatUint(op, 10) {
				continue
			}
			r.Name = x.Name
			for _, a := range x.Attrs {
				if a.Key == "type" {
					r.Kind = uint64(max(0, slices.Index(operationKinds[:], a.Value.Str)))
				}
			}
		}
		put(r)
	}
	for i := range d.Markers.Len() {
		r := &Record{Type: DefMarker, Token: uint64(e.tokens.markers.at(i)), Name: d.Markers.At(uint32(i)).Name}
		for _, a := range d.Markers.At(uint32(i)).Attrs {
			if a.Key == "severity" {
				r.Kind = severities[a.Value.Str]
			}
		}
		put(r)
	}
}

// severities maps the severity of a marker in OTF or OTF2 to the type in OTF.
var severities = map[string]uint64{"error": 1, "HIGH": 1, "warning": 2, "MEDIUM": 2, "hint": 3, "LOW": 3}

// nodeToken is the first token for the process groups that stand for nodes.
const nodeToken = laneProcess

// nodeKind is the kind of the location groups that OTF has: it writes them as process groups.
const nodeKind = "node"

// hasSourcePlace reports whether OTF can express the source place of a region.
func hasSourcePlace(r *trace.Region) bool { return r.File != "" && r.Line >= 0 }

// parent returns the parent of a location, or 0 if there is none.
func (e *encoder) parent(location int) uint64 {
	if e.parents == nil {
		e.parents = parentsOf(e.defs)
	}
	i, ok := e.parents.of(location)
	if !ok {
		return 0
	}
	return uint64(e.tokens.locations.at(i))
}

// parents finds the parents of threads. In OTF, a process has no threads of its own: it is the first thread.
type parents struct {
	defs *trace.Definitions
	byID map[string]int // the first process with each id
	// first holds the first thread of each location group that is a process.
	first map[uint32]int
}

// parentsOf returns the parents of the threads of a trace.
func parentsOf(d *trace.Definitions) *parents {
	p := &parents{d, map[string]int{}, map[uint32]int{}}
	for i := d.Locations.Len() - 1; i >= 0; i-- {
		switch x := d.Locations.At(uint32(i)); x.Kind {
		case trace.ProcessLocation:
			p.byID[x.ID] = i
		case trace.ThreadLocation:
			p.first[x.Group] = i
		}
	}
	return p
}

// of returns the parent of a thread: the process whose id equals the id of the thread's group, or else the first thread
// of the group. ok is false if the thread has no parent.
func (p *parents) of(thread int) (i int, ok bool) {
	l := p.defs.Locations.At(uint32(thread))
	g := p.defs.ProcessOf(uint32(thread))
	if l.Kind != trace.ThreadLocation || g == trace.NoRef {
		return 0, false
	}
	if i, ok = p.byID[p.defs.Groups.At(g).ID]; ok {
		return i, true
	}
	i = p.first[g]
	return i, i != thread
}

// groupTokens returns a function that returns the token of a group by type and name. The function defines
// each group on its first use.
func (e *encoder) groupTokens(put func(*Record)) func(t Type, name string) uint64 {
	byName := map[string]uint64{}
	for i := e.defs.Strings.Len() - 1; i >= 0; i-- {
		byName[*e.defs.Strings.At(uint32(i))] = stringToken(uint32(i))
	}
	type defined struct {
		t     Type
		token uint64
	}
	done := map[defined]bool{}
	next := stringToken(uint32(e.defs.Strings.Len()))
	return func(t Type, name string) uint64 {
		if name == "" {
			return 0
		}
		token, ok := byName[name]
		if !ok {
			token = next
			byName[name] = token
			next++
		}
		if k := (defined{t, token}); !done[k] {
			done[k] = true
			put(&Record{Type: t, Token: token, Name: name})
		}
		return token
	}
}

// summaryGroup is a group of functions or files that summaries refer to: its table, and its name as an entry of the
// strings.
type summaryGroup struct {
	table int
	ref   uint32
}

// summaryGroup returns the token of a group to which a summary refers. A group of files that was read from OTF has its
// token there.
func (e *encoder) summaryGroup(table int, ref uint32) uint64 {
	g := summaryGroup{table, ref}
	token, ok := e.groups[g]
	if ok {
		return token
	}
	token = stringToken(ref)
	if table == fileGroups {
		byName, names := e.originalFileGroups()
		if original, ok := byName[*e.defs.Strings.At(ref)]; ok {
			token = original
		} else if _, taken := names[token]; taken {
			token += laneProcess
		}
		e.reader.model.index[scopedToken{fileGroups, 0, token}] = ref
	}
	e.groups[g] = token
	return token
}

// originalFileGroups returns the tokens and the names of the groups of files in a trace that was read from OTF.
func (e *encoder) originalFileGroups() (byName map[string]uint64, names map[uint64]string) {
	if e.fileGroupNames == nil {
		e.fileGroupNames, e.fileGroupTokens = map[uint64]string{}, map[string]uint64{}
		for r := range e.opaqueRecords(DefFileGroup) {
			name := trace.ToUTF8(r.Name)
			e.fileGroupNames[r.Token] = name
			if _, twice := e.fileGroupTokens[name]; !twice {
				e.fileGroupTokens[name] = r.Token
			}
		}
	}
	return e.fileGroupTokens, e.fileGroupNames
}

// writeSummaryGroups writes the definitions of the groups to which summaries refer, unless they are already written.
// The function group writes the groups of functions that have members.
func (e *encoder) writeSummaryGroups(put func(*Record), group func(t Type, name string) uint64) {
	_, known := e.originalFileGroups()
	for _, g := range slices.SortedFunc(maps.Keys(e.groups), func(a, b summaryGroup) int {
		return cmp.Or(cmp.Compare(a.table, b.table), cmp.Compare(a.ref, b.ref))
	}) {
		name, token := *e.defs.Strings.At(g.ref), e.groups[g]
		if g.table == functionGroups {
			if group(DefFunctionGroup, name) != token {
				put(&Record{Type: DefFunctionGroup, Token: token, Name: name})
			}
		} else if _, written := known[token]; !written {
			put(&Record{Type: DefFileGroup, Token: token, Name: name})
		}
	}
}

// scaledUnit returns the unit of a metric's values. A scale, such as 10^6, becomes a factor of the unit: OTF has no
// field for it.
func scaledUnit(m *trace.MetricDef) string {
	for _, a := range m.Attrs {
		if a.Key == format.Scale && a.Value.Str != "" {
			return strings.TrimSpace(a.Value.Str + " " + m.Unit)
		}
	}
	return m.Unit
}

// counterProperties returns OTF's properties of a metric: the bits for its mode and for its type. A metric
// without a mode is absolute at a point in time. OTF has no property for relative metrics.
func counterProperties(m *trace.MetricDef) uint64 {
	typ := map[trace.Type]uint64{trace.Int64: 0x20, trace.Float32: 0x100, trace.Float64: 0x120}[m.Type]
	for p := range uint64(0x200) {
		if propertyNames(p) == m.Mode && counterType(p) == m.Type {
			return p
		}
	}
	if !strings.HasPrefix(m.Mode, "ACC") {
		typ |= 1 // the values are absolute, not relative
	}
	for scope, word := range [4]string{"START", "POINT", "LAST", "NEXT"} {
		if strings.Contains(m.Mode, word) {
			return typ | uint64(scope)<<2
		}
	}
	return typ | 4
}
