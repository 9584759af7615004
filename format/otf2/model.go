package otf2

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/internal/forest"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// model holds the definitions of an archive in the common model.
type model struct {
	a    *Archive
	opt  *format.ReadOptions
	defs *trace.Definitions
	// names and groups, which are used to find the locations of ranks
	ranks     *names
	locations []uint64            // ids of the locations, in file order
	index     [tables]indexTable  // indexes of the definitions to which events and attributes refer
	metrics   map[uint64][]uint32 // metrics of the members of a class or an instance

	attributes map[attributeKey]uint32 // attributes that the model itself adds to events
	kinds      map[uint8]trace.Kind    // kinds of unknown events
	standIns   map[standIn]bool        // undefined ids that have a stand-in
	// the restorer of the definitions and rows of another format; nil if the archive contains none
	restorer       *carrier.Restorer
	base           uint64   // time of tick 0
	markers        []marker // markers in the order of time
	markerLocation uint32   // the location of the markers
	clockAt        int64    // offset of the clock properties in the definition file
	stated         []uint64 // the number of events that the definition of each location states, by index
	// sharedIDs holds the ids of groups of communicating locations that other groups have, too.
	sharedIDs map[uint64]bool
	// events holds the number of events of each location that has been read to its end, by index.
	events []atomic.Uint64
	// checker checks the events of locations that are read. It is nil if no checks were requested.
	checker atomic.Pointer[checker]
	places  sync.Map // maps a location id to a *scanPlace
	// lostValues counts values in events that the model cannot represent: references to nothing, and values
	// of metrics and attributes whose type differs from the defined one.
	lostValues atomic.Int64
}

// Renamable marks the model as a [trace.Renamable]: its encoder can rename texts.
func (m *model) Renamable() {}

// Joinable marks the model as a [trace.Joinable]: its encoder can write several archives, or parts of them, as
// one archive. shared is true, because several archives may have events of the same location.
func (m *model) Joinable() (shared bool) { return true }

// definitionOrder lists the types of definitions. Each comes after the types to which it refers, except its
// own.
var definitionOrder = []uint8{defString, defParadigm, defIOParadigm, defTreeNode, defLocationGroup, defLocation,
	defRegion, defAttribute, defMetricMember, defMetricClass, defMetricInst, defGroup, defComm, defInterComm,
	defCartDimension, defCartTopology, defCallsite, defCallpath, defParameter, defWindow, defSourceLoc, defContext,
	defInterrupt, defIOFile, defIODirectory, defIOHandle, defClock}

// indexTable maps ids to indexes. The zero table is empty.
type indexTable struct {
	count int               // number of ids
	small []uint32          // indexed by id: the index of the id plus 1, or 0 if small lacks the id
	large map[uint64]uint32 // the indexes of ids that are too large for small
}

// set sets the index of an id. The memory of the table is in proportion to the number of ids.
func (t *indexTable) set(id uint64, index uint32) {
	t.count++
	if id >= 4*uint64(t.count)+64 {
		if t.large == nil {
			t.large = map[uint64]uint32{}
		}
		t.large[id] = index
		return
	}
	if n := int(id) + 1 - len(t.small); n > 0 {
		t.small = append(t.small, make([]uint32, n)...)
	}
	t.small[id] = index + 1
}

// get returns the index of an id, or NoRef.
func (t *indexTable) get(id uint64) uint32 {
	if id < uint64(len(t.small)) && t.small[id] != 0 {
		return t.small[id] - 1
	}
	if len(t.large) > 0 {
		if index, ok := t.large[id]; ok {
			return index
		}
	}
	return trace.NoRef
}

// newModel reads the definitions.
func newModel(a *Archive, opt *format.ReadOptions) (*model, error) {
	m := &model{a: a, opt: opt,
		defs: &trace.Definitions{Clock: trace.TicksPerSecond(1), Format: "otf2", Origin: "otf2", CheapNext: true,
			Conventions: format.Conventions("otf2")}, ranks: newNames(), metrics: map[uint64][]uint32{},
		attributes: map[attributeKey]uint32{}, kinds: map[uint8]trace.Kind{}, standIns: map[standIn]bool{}}
	restored, err := false, error(nil)
	if opt.Value(CarriedOption, "true") == "true" {
		restored, err = m.restore()
	}
	if err != nil {
		m.restorer, m.base = nil, 0
		if err := opt.Defect(&trace.Defect{Rule: "otf2.carried", Severity: trace.Error,
			Position: trace.Position{File: a.src.Path}, Found: err.Error(),
			Expected: "definitions that weft wrote; weft uses the definitions of OTF2 instead"}); err != nil {
			return nil, err
		}
	}
	if restored {
		// The archive can have as many strings as events. Therefore the strings are stored only once.
		m.ranks.carries = true
		err := a.Definitions(func(_ int64, r *Record) error {
			if typeByID(definitionTypes[:], r.ID) != nil {
				m.ranks.define(r)
			}
			if r.ID == defMetricClass {
				m.restoreClass(r)
			}
			return nil
		})
		m.defs.ByLocation, m.defs.Contiguous = m.base == 0 && m.defs.Markers.Len() == 0, true
		return m, reportDefect(opt, err)
	}
	// A definition can precede the definitions to which it refers. Therefore all definitions are collected
	// before any is used.
	var by [len(definitionTypes)][]*Record
	var all []*Record
	err = a.Definitions(func(at int64, r *Record) error {
		if r.ID == defClock {
			m.clockAt = at
		}
		if typeByID(definitionTypes[:], r.ID) != nil {
			x := &Record{r.ID, slices.Clone(r.Values), slices.Clone(r.Texts)}
			by[r.ID] = append(by[r.ID], x)
			all = append(all, x)
		}
		return nil
	})
	if err := reportDefect(opt, err); err != nil {
		return nil, err
	}
	if len(by[defClock]) == 0 && len(by[defLocation]) > 0 {
		if err := opt.Defect(&trace.Defect{Rule: "otf2.clock", Severity: trace.Error,
			Position: trace.Position{File: a.path + ".def"}, Found: "no ClockProperties",
			Expected: "the ticks of a second; weft reads a tick as a second"}); err != nil {
			return nil, err
		}
	}
	m.addProperties()
	for _, id := range definitionOrder {
		if id == defGroup {
			// Groups of communicating locations come first, and groups precede communicators.
			slices.SortStableFunc(by[id], func(x, y *Record) int { return communicatingFirst(x) - communicatingFirst(y) })
		}
		for _, r := range by[id] {
			m.ranks.define(r)
			if err := m.define(r, opt); err != nil {
				return nil, err
			}
		}
	}
	// The attributes that the model itself adds are created first, so that their numbers are fixed.
	if m.defs.Communicator.Len() > 0 {
		m.attribute(rankName, trace.Uint32)
	}
	for _, r := range by[defParameter] {
		m.attribute(valueName, valueType(r.Values[2]))
	}
	m.sharedIDs = sharedIDs(by[defGroup])
	m.linkParents(by[defTreeNode], by[defLocationGroup], by[defComm], by[defInterComm])
	for _, r := range all {
		m.addDescription(r)
	}
	m.addUnusedMembers(by[defMetricMember], by[defMetricClass])
	m.defs.Native = m
	m.events = make([]atomic.Uint64, len(m.locations))
	if err := m.readMarkers(opt); err != nil {
		return nil, err
	}
	m.defs.ByLocation, m.defs.Contiguous = slices.IsSorted(m.locations) && m.defs.Markers.Len() == 0, true
	return m, nil
}

// metricType returns the OTF2 type for the values of a metric.
func metricType(t trace.Type) uint64 {
	switch t {
	case trace.Int64, trace.Int8, trace.Int16, trace.Int32:
		return typeInt64
	case trace.Float64, trace.Float32:
		return typeDouble
	}
	return typeUint64
}

// toDouble returns the bits of a double with the value of a Float32. exact is false if the way back gives other bits.
func toDouble(single uint64) (double uint64, exact bool) {
	double = math.Float64bits(float64(math.Float32frombits(uint32(single))))
	return double, toSingle(double) == single
}

// toSingle returns the bits of the Float32 that is nearest to a double.
func toSingle(double uint64) uint64 {
	return uint64(math.Float32bits(float32(math.Float64frombits(double))))
}

// eventCount returns the number of events of a location. It returns 0 if the location has not been read to its
// end.
func (m *model) eventCount(location uint64) uint64 {
	if i := m.lookup(Locations, location); int(i) < len(m.events) {
		return m.events[i].Load()
	}
	return 0
}

func communicatingFirst(r *Record) int {
	if _, _, g := groupOf(r.Values); g.typ == communicatingLocations {
		return 0
	}
	return 1
}

// addProperties adds the properties of the archive.
func (m *model) addProperties() {
	add := func(key, value string) {
		if value != "" {
			m.defs.Properties.Add(trace.Attr{Key: trace.ToUTF8(key), Value: trace.StringValue(trace.ToUTF8(value))})
		}
	}
	add("machine", m.a.Machine)
	add("creator", m.a.Creator)
	add("description", m.a.Description)
	for _, p := range m.a.Properties {
		add(p.Name, p.Value)
	}
}

// text returns a string of the archive.
func (m *model) text(id uint64) string {
	s, _ := m.ranks.text(id)
	return trace.ToUTF8(s)
}

// lookup returns the index of an id in a table, or NoRef if the table does not contain the id.
func (m *model) lookup(t Table, id uint64) uint32 {
	return m.index[t].get(id)
}

// standIn is an undefined id of a table.
type standIn struct {
	table Table
	id    uint64
}

// defined returns the index of an id in a table. It returns NoRef if the table does not contain the id, or if
// the entry is a stand-in. Stand-ins do not count, because whether they exist yet can depend on other
// goroutines.
func (m *model) defined(t Table, id uint64) uint32 {
	i := m.lookup(t, id)
	if i != trace.NoRef && len(m.standIns) > 0 && m.standIns[standIn{t, id}] {
		return trace.NoRef
	}
	return i
}

func id(v uint64) string { return strconv.FormatUint(v, 10) }

// Kinds of location groups.
const (
	processKind     = "process"
	acceleratorKind = "accelerator"
)

// Property of a file that states what it is, and its value for a directory.
const (
	fileKind      = "kind"
	directoryKind = "directory"
)

// attrList returns a list with one attribute of a definition, or nil if the value is empty.
func attrList(key, value string) []trace.Attr {
	if value == "" {
		return nil
	}
	return []trace.Attr{{Key: key, Value: trace.StringValue(value)}}
}

// reference returns a list with an attribute that refers to a definition, or nil if the trace does not define it.
func (m *model) reference(key string, typ trace.Type, t Table, v uint64) []trace.Attr {
	i := m.lookup(t, v)
	if i == trace.NoRef {
		return nil
	}
	return []trace.Attr{{Key: key, Value: trace.Value{Num: uint64(i), Type: typ}}}
}

// flagAttrs returns a list with the flags of a definition, or nil if none is set.
func flagAttrs(words []string, flags uint64) []trace.Attr {
	if flags == 0 {
		return nil
	}
	return attrList("flags", flagWords(words, flags))
}

// define adds a definition to the tables.
func (m *model) define(r *Record, opt *format.ReadOptions) error {
	v, d := r.Values, m.defs
	named := func(t Table, table *trace.Table[trace.Named], name string, attrs ...trace.Attr) {
		m.index[t].set(v[0], table.Add(trace.Named{ID: id(v[0]), Name: name, Attrs: attrs}))
	}
	switch r.ID {
	case defClock:
		return m.setClock(v, opt)
	case defString:
		m.index[Strings].set(v[0], d.Strings.Add(trace.ToUTF8(r.Texts[0])))
	case defTreeNode:
		m.index[SystemTreeNodes].set(v[0], d.Groups.Add(trace.LocationGroup{ID: "node/" + id(v[0]), Name: m.text(v[1]),
			Kind: m.text(v[2]), Parent: trace.NoRef}))
	case defLocationGroup:
		kind := [...]string{"", processKind, acceleratorKind}[min(v[2], 2)]
		m.index[LocationGroups].set(v[0], d.Groups.Add(trace.LocationGroup{ID: id(v[0]), Name: m.text(v[1]), Kind: kind,
			Parent: trace.NoRef, Attrs: attrList(trace.CreatorAttribute, m.name(LocationGroups, v[4]))}))
	case defLocation:
		if m.lookup(Locations, v[0]) != trace.NoRef {
			return nil // a location has only one file
		}
		kind := [...]trace.LocationKind{"", trace.ThreadLocation, trace.StreamLocation, trace.SignalLocation}[v[2]&3]
		m.index[Locations].set(v[0], d.Locations.Add(trace.Location{ID: id(v[0]), Name: m.text(v[1]), Kind: kind,
			Group: m.lookup(LocationGroups, v[4])}))
		m.locations, m.stated = append(m.locations, v[0]), append(m.stated, v[3])
	case defRegion:
		x := trace.Region{ID: id(v[0]), Name: m.text(v[1]), Group: enumWord(paradigms, v[9]),
			Role: enumWord(regionRoles, v[8]),
			File: m.text(v[4]), Line: int64(v[5]), End: int64(v[6])}
		if name := m.text(v[7]); name != x.Name {
			x.Attrs = attrList(format.CanonicalName, name)
		}
		x.Attrs = append(x.Attrs, attrList(format.Description, m.text(v[2]))...)
		x.Attrs = append(x.Attrs, flagAttrs(regionFlags, v[10])...)
		m.index[Regions].set(v[0], d.Regions.Add(x))
	case defAttribute:
		m.index[Attributes].set(v[0], d.Attributes.Add(trace.AttributeDef{ID: id(v[0]), Name: m.text(v[1]),
			Type: trace.Type(min(v[2], typeLocationGroup)), Doc: m.text(v[3])}))
	case defMetricClass:
		m.addMetrics(v[0], v[2:2+v[1]], v[2+v[1]:], nil)
	case defMetricInst:
		m.addMetrics(v[0], m.ranks.members[v[0]], nil, v[2:])
	case defGroup:
		gid, paradigm, g := groupOf(v)
		x := trace.Set{ID: id(gid), Name: m.text(v[1]), Kind: [...]string{"", "locations", "regions", "metrics",
			"communicating locations", "ranks", "self", ""}[min(g.typ, 7)],
			Attrs: attrList("paradigm", enumWord(paradigms, paradigm))}
		x.Attrs = append(x.Attrs, flagAttrs(groupFlags, g.flags)...)
		for _, i := range g.members {
			x.Members = append(x.Members, int64(i))
		}
		m.index[Groups].set(gid, d.Sets.Add(x))
	case defComm:
		m.index[Comms].set(v[0], d.Communicator.Add(trace.Communicator{ID: id(v[0]), Name: m.text(v[1]),
			Set: m.lookup(Groups, v[2]), Parent: trace.NoRef, Attrs: flagAttrs(createDestroy, v[4])}))
	case defInterComm:
		m.index[Comms].set(v[0], d.Communicator.Add(trace.Communicator{ID: id(v[0]), Name: m.text(v[1]),
			Set: m.lookup(Groups, v[2]), Parent: trace.NoRef,
			Attrs: append([]trace.Attr{{Key: trace.OtherGroupAttribute,
				Value: trace.Value{Num: uint64(m.lookup(Groups, v[3])), Type: trace.GroupRef}}},
				flagAttrs(createDestroy, v[5])...)}))
	case defParameter:
		named(Parameters, &d.Parameters, m.text(v[1]), attrList("type", enumWord(parameterTypes, v[2]))...)
	case defWindow:
		named(Windows, &d.Windows, m.text(v[1]), slices.Concat(attrList("communicator", m.name(Comms, v[2])),
			m.reference(trace.CommunicatorAttribute, trace.CommRef, Comms, v[2]), flagAttrs(createDestroy, v[3]))...)
	case defContext:
		name, _ := m.ranks.rawName(CallingContexts, v[0])
		named(CallingContexts, &d.Contexts, trace.ToUTF8(name), attrList("parent", m.name(CallingContexts, v[3]))...)
	case defIOFile, defIODirectory:
		named(IOFiles, &d.Files, m.text(v[1]),
			append(attrList(fileKind, map[bool]string{true: "file", false: directoryKind}[r.ID == defIOFile]),
				attrList("node", m.name(SystemTreeNodes, v[2]))...)...)
	case defIOHandle:
		name, _ := m.ranks.rawName(IOHandles, v[0])
		named(IOHandles, &d.Handles, trace.ToUTF8(name), slices.Concat(attrList("file", m.name(IOFiles, v[2])),
			m.reference(trace.FileAttribute, trace.FileRef, IOFiles, v[2]), attrList("interface", m.name(IOParadigms, v[3])),
			flagAttrs(handleFlags, v[4]),
			attrList("communicator", m.name(Comms, v[5])), attrList("parent", m.name(IOHandles, v[6])))...)
	}
	return nil
}

// name returns the name of a referenced definition with its id, or "" for an undefined reference.
func (m *model) name(t Table, v uint64) string {
	if v == undefined32 {
		return ""
	}
	return trace.ToUTF8(m.ranks.shown(t, v))
}

// addMetrics adds a metric for each member of a class or an instance. class holds the fields of a class after
// its members, and instance those of an instance after its class.
func (m *model) addMetrics(classID uint64, members, class, instance []uint64) {
	for i, member := range members {
		x := trace.MetricDef{ID: fmt.Sprintf("%d/%d", classID, i), Kind: trace.CounterMetric, Location: trace.NoRef,
			Undefined: true}
		if len(instance) > 0 {
			x.Attrs = append(attrList(format.Recorder, id(instance[0])),
				attrList(scopeName, enumWord(metricScopes, instance[1])+" "+id(instance[2]))...)
		}
		if len(class) > 0 {
			x.Attrs = append(attrList(format.Occurrence, enumWord(occurrences, class[0])),
				attrList(format.RecorderKind, enumWord(recorderKinds, class[1]))...)
		}
		if r := m.ranks.metrics[member]; r != nil {
			x.Name, x.Unit, x.Mode, x.Group, x.Type, x.Undefined = m.text(r[1]), m.text(r[8]), enumWord(metricModes, r[4]),
				enumWord(metricTypes, r[3]), trace.Type(min(r[5], typeLocationGroup)), false
			x.Attrs = append(x.Attrs, attrList(format.Description, m.text(r[2]))...)
			if r[7] != 0 {
				x.Attrs = append(x.Attrs, attrList(format.Scale, fmt.Sprintf("%d^%d", 2+8*min(r[6], 1), int64(r[7])))...)
			}
		}
		m.metrics[classID] = append(m.metrics[classID], m.defs.Metrics.Add(x))
	}
	if len(members) > 0 {
		m.index[Metrics].set(classID, m.metrics[classID][0])
	}
}

// isResolution reports whether a clock can have this number of ticks a second.
func isResolution(ticks uint64) bool { return ticks > 0 && ticks <= math.MaxInt64 }

// setClock sets the clock from the clock properties.
func (m *model) setClock(v []uint64, opt *format.ReadOptions) error {
	if !isResolution(v[0]) {
		return opt.Defect(&trace.Defect{Rule: "otf2.clock", Severity: trace.Error,
			Position: trace.Position{File: m.a.path + ".def", Offset: m.clockAt, Binary: true},
			Found:    fmt.Sprintf("%s a second", plural.Of(v[0], "tick")),
			Expected: "1 to 2⁶³−1; weft reads a tick as a second"})
	}
	m.defs.Clock = trace.TicksPerSecond(int64(v[0]))
	if v[3] == undefined64 || v[3] > math.MaxInt64 {
		return nil
	}
	// The wall-clock time in the clock properties applies to the global offset.
	if before, ok := nanoseconds(v[1], v[0]); ok && before <= v[3] {
		m.defs.Clock.Epoch, m.defs.Clock.HasEpoch = int64(v[3]-before), true
	}
	return nil
}

// linkParents links location groups, and communicators, to their parents.
func (m *model) linkParents(nodes, groups, comms, inter []*Record) {
	var tree, family forest.Forest
	set := func(own uint32, parent uint32) {
		if parent == trace.NoRef || tree.Add(own, parent) { // otherwise, the group would contain itself
			m.defs.Groups.At(own).Parent = parent
		}
	}
	setComm := func(comm, parent uint64) {
		own, p := m.lookup(Comms, comm), m.lookup(Comms, parent)
		if p == trace.NoRef || family.Add(own, p) { // otherwise, the communicator would be its own ancestor
			m.defs.Communicator.At(own).Parent = p
		}
	}
	for _, r := range nodes {
		set(m.lookup(SystemTreeNodes, r.Values[0]), m.lookup(SystemTreeNodes, r.Values[3]))
	}
	for _, r := range groups {
		set(m.lookup(LocationGroups, r.Values[0]), m.lookup(SystemTreeNodes, r.Values[3]))
	}
	for _, r := range comms {
		setComm(r.Values[0], r.Values[3])
	}
	for _, r := range inter {
		setComm(r.Values[0], r.Values[4])
	}
}

// addDescription processes a definition that describes another definition. It adds the property that the
// record describes to the attributes of the other definition. It keeps records for which the model has no
// table as opaque records.
func (m *model) addDescription(r *Record) {
	v := r.Values
	value := func(typ, x uint64) string { return trace.ToUTF8(m.ranks.value(typ, x)) }
	group := func(i uint32, key, text string) {
		if i != trace.NoRef {
			g := m.defs.Groups.At(i)
			g.Attrs = append(g.Attrs, trace.Attr{Key: key, Value: trace.StringValue(text)})
		}
	}
	switch r.ID {
	case 26: // SystemTreeNodeProperty
		group(m.lookup(SystemTreeNodes, v[0]), m.text(v[1]), value(v[3], v[4]))
	case defNodeDomain:
		group(m.lookup(SystemTreeNodes, v[0]), "domain", enumWord(treeDomains, v[1]))
	case 28: // LocationGroupProperty
		group(m.lookup(LocationGroups, v[0]), m.text(v[1]), value(v[3], v[4]))
	case 29: // LocationProperty
		if i := m.lookup(Locations, v[0]); i != trace.NoRef {
			l := m.defs.Locations.At(i)
			l.Attrs = append(l.Attrs, trace.Attr{Key: m.text(v[1]), Value: trace.StringValue(value(v[3], v[4]))})
		}
	case defInterrupt:
		m.defs.NameValue(trace.Value{Num: v[0], Type: trace.InterruptGeneratorRef}, m.text(v[1]))
	case defIOParadigm:
		m.defs.NameValue(trace.Value{Num: v[0], Type: trace.IOParadigmRef}, m.text(v[2]))
	}
	switch r.ID {
	case defParadigm, defParadigmProp, defIOParadigm, defCallsite, defCallpath, 25, defCartDimension, defCartTopology,
		defCartCoord, defSourceLoc, defContextProperty, defInterrupt, defIOFileProperty, 41, 42:
		m.addOpaque(r)
	}
}

// addOpaque keeps a record for which the model has no table.
func (m *model) addOpaque(r *Record) {
	m.defs.Opaque.Add(trace.Opaque{Format: "otf2", Type: definitionTypes[r.ID].name, Data: m.opaqueData(r)})
}

// addUnusedMembers keeps metric members that belong to no class. The metrics of the model are those of classes.
func (m *model) addUnusedMembers(members, classes []*Record) {
	used := map[uint64]bool{}
	for _, r := range classes {
		n := min(r.Values[1], uint64(len(r.Values)-2))
		for _, member := range r.Values[2 : 2+n] {
			used[member] = true
		}
	}
	for _, r := range members {
		if !used[r.Values[0]] {
			m.addOpaque(r)
		}
	}
}

// Attributes that the model itself adds to events.
const (
	rankName  = "otf2.rank" // rank of a message whose other side is unknown
	scopeName = "scope"     // what the values of a metric instance are about
	valueName = "value"     // value of a parameter
	// recordName is for the number of a record of OpenMP of an old version. Newer records can hold the same event.
	recordName = "otf2.record"
)

// valueType returns the type of a parameter's value.
func valueType(parameter uint64) trace.Type {
	return [...]trace.Type{trace.String, trace.Int64, trace.Uint64}[min(parameter, 2)]
}

// attribute returns the index of an attribute that the model itself adds to events.
func (m *model) attribute(name string, t trace.Type) uint32 {
	key := attributeKey{name, t}
	i, ok := m.attributes[key]
	if !ok {
		i = m.defs.Attributes.Add(trace.AttributeDef{Name: name, Type: t})
		m.attributes[key] = i
	}
	return i
}

type attributeKey struct {
	name string
	typ  trace.Type
}
