package otf2

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/trace"
)

// model is what an archive's definitions are in the common model.
type model struct {
	a         *Archive
	defs      *trace.Definitions
	ranks     *names              // for the locations of ranks
	locations []uint64            // ids, in the order of the file
	index     [tables]indexTable  // of what events and attributes refer to
	metrics   map[uint64][]uint32 // those of the members of a class or an instance

	attributes map[attributeKey]uint32 // that the model itself gives to events
	kinds      map[uint8]trace.Kind    // of events that are not known
	standIns   map[standIn]bool        // what nothing defines
	restorer   *carrier.Restorer       // of what the archive carries, nil if nothing
	base       uint64                  // the time of tick 0
	markers    []marker                // in the order of time
	marked     uint32                  // the location that they have
	// events are how many the locations have, by index, if they have been read to their ends.
	events []atomic.Uint64
	// odd counts the references to what nothing defines and the types that are not those defined,
	// where the model does not keep them.
	odd atomic.Int64
	// oldOpenMP tells which records of old versions, from ompFork on, have been read.
	oldOpenMP [ompTaskComplete - ompFork + 1]atomic.Bool
}

// Renamable says that the encoder gives texts other names.
func (m *model) Renamable() {}

// indexTable has the dense index of each id.
type indexTable map[uint64]uint32

// newModel reads the definitions.
func newModel(a *Archive, opt *format.ReadOptions) (*model, error) {
	m := &model{a: a,
		defs: &trace.Definitions{Clock: trace.Seconds(1), Format: "otf2", Origin: "otf2",
			Conventions: format.Conventions("otf2")}, ranks: newNames(), metrics: map[uint64][]uint32{},
		attributes: map[attributeKey]uint32{}, kinds: map[uint8]trace.Kind{}, standIns: map[standIn]bool{}}
	for i := range m.index {
		m.index[i] = indexTable{}
	}
	restored, err := m.restore()
	if err != nil {
		m.restorer, m.base = nil, 0
		if err := opt.Defect(&trace.Defect{Rule: "otf2.carried", Severity: trace.Error,
			Position: trace.Position{File: a.src.Path}, Found: err.Error(),
			Expected: "definitions that weft wrote; OTF2's own are read"}); err != nil {
			return nil, err
		}
	}
	if restored {
		// There may be as many strings as events: they are not kept twice.
		m.ranks.carries = true
		err := a.Definitions(func(_ int64, r *Record) error {
			if known(definitionTypes[:], r.ID) != nil {
				m.ranks.define(r)
			}
			return nil
		})
		return m, fail(opt, err)
	}
	// A definition may stand before what it refers to: all are known before any is used.
	var by [len(definitionTypes)][]*Record
	var all []*Record
	err = a.Definitions(func(_ int64, r *Record) error {
		if known(definitionTypes[:], r.ID) != nil {
			x := &Record{r.ID, slices.Clone(r.Values), slices.Clone(r.Texts)}
			by[r.ID] = append(by[r.ID], x)
			all = append(all, x)
		}
		return nil
	})
	if err := fail(opt, err); err != nil {
		return nil, err
	}
	m.properties()
	for _, id := range []uint8{defString, defParadigm, defIOParadigm, defTreeNode, defLocationGroup, defLocation,
		defRegion, defAttribute, defMetricMember, defMetricClass, defMetricInst, defGroup, defComm, defInterComm,
		defCartDimension, defCartTopology, defCallsite, defCallpath, defParameter, defWindow, defSourceLoc, defContext,
		defInterrupt, defIOFile, defIODirectory, defIOHandle, defClock} {
		if id == defGroup {
			// The communicating locations come first, and groups before communicators.
			slices.SortStableFunc(by[id], func(x, y *Record) int { return communicatingFirst(x) - communicatingFirst(y) })
		}
		for _, r := range by[id] {
			m.ranks.define(r)
			if err := m.define(r, opt); err != nil {
				return nil, err
			}
		}
	}
	// Attributes that the model itself gives to events have their numbers from the first.
	if m.defs.Communicator.Len() > 0 {
		m.attribute(rankName, trace.Uint32)
	}
	for _, r := range by[defParameter] {
		m.attribute(valueName, valueType(r.Values[2]))
	}
	m.parents(by[defTreeNode], by[defLocationGroup], by[defComm], by[defInterComm])
	for _, r := range all {
		m.describe(r)
	}
	m.defs.Native = m
	m.events = make([]atomic.Uint64, len(m.locations))
	return m, m.readMarkers(opt)
}

// metricType is the type of OTF2 that values of a metric have.
func metricType(t trace.Type) uint64 {
	switch t {
	case trace.Int64:
		return typeInt64
	case trace.Float64:
		return typeDouble
	}
	return typeUint64
}

// read is how many events a location has, 0 if they have not been read to the end.
func (m *model) read(location uint64) uint64 {
	if i := m.look(Locations, location); int(i) < len(m.events) {
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

// properties are those of the archive.
func (m *model) properties() {
	add := func(key, value string) {
		if value != "" {
			m.defs.Properties.Add(trace.Attr{Key: trace.Text(key), Value: trace.StringValue(trace.Text(value))})
		}
	}
	add("machine", m.a.Machine)
	add("creator", m.a.Creator)
	add("description", m.a.Description)
	for _, p := range m.a.Properties {
		add(p.Name, p.Value)
	}
}

// text is a string of the archive.
func (m *model) text(id uint64) string {
	s, _ := m.ranks.text(id)
	return trace.Text(s)
}

// look is the index of an id in a table; NoRef if there is none.
func (m *model) look(t Table, id uint64) uint32 {
	if i, ok := m.index[t][id]; ok {
		return i
	}
	return trace.NoRef
}

// standIn is an id of a table that nothing defines.
type standIn struct {
	table Table
	id    uint64
}

// defined is the index of an id in a table; NoRef if there is none, or a stand-in, which
// others may not have met yet.
func (m *model) defined(t Table, id uint64) uint32 {
	i := m.look(t, id)
	if i != trace.NoRef && len(m.standIns) > 0 && m.standIns[standIn{t, id}] {
		return trace.NoRef
	}
	return i
}

func id(v uint64) string { return strconv.FormatUint(v, 10) }

// attr is an attribute of a definition, nil if it says nothing.
// otherSide is the attribute of a communicator whose ranks are those of another group for
// the members of the first.
const otherSide = "other"

func attr(key, value string) []trace.Attr {
	if value == "" {
		return nil
	}
	return []trace.Attr{{Key: key, Value: trace.StringValue(value)}}
}

// define takes a definition into the tables.
func (m *model) define(r *Record, opt *format.ReadOptions) error {
	v, d := r.Values, m.defs
	named := func(t Table, table *trace.Table[trace.Named], name string, attrs ...trace.Attr) {
		m.index[t][v[0]] = table.Add(trace.Named{ID: id(v[0]), Name: name, Attrs: attrs})
	}
	switch r.ID {
	case defClock:
		return m.clock(v, opt)
	case defString:
		m.index[Strings][v[0]] = d.Strings.Add(trace.Text(r.Texts[0]))
	case defTreeNode:
		m.index[SystemTreeNodes][v[0]] = d.Groups.Add(trace.LocationGroup{ID: "node/" + id(v[0]), Name: m.text(v[1]),
			Kind: m.text(v[2]), Parent: trace.NoRef})
	case defLocationGroup:
		kind := [...]string{"", "process", "accelerator"}[min(v[2], 2)]
		m.index[LocationGroups][v[0]] = d.Groups.Add(trace.LocationGroup{ID: id(v[0]), Name: m.text(v[1]), Kind: kind,
			Parent: trace.NoRef})
	case defLocation:
		if _, ok := m.index[Locations][v[0]]; ok {
			return nil // it has one file
		}
		kind := [...]trace.LocationKind{"", trace.ThreadLocation, trace.StreamLocation, trace.SignalLocation}[v[2]&3]
		m.index[Locations][v[0]] = d.Locations.Add(trace.Location{ID: id(v[0]), Name: m.text(v[1]), Kind: kind,
			Group: m.look(LocationGroups, v[4])})
		m.locations = append(m.locations, v[0])
	case defRegion:
		x := trace.Region{ID: id(v[0]), Name: m.text(v[1]), Group: word(paradigms, v[9]), Role: word(regionRoles, v[8]),
			File: m.text(v[4]), Line: int64(v[5]), End: int64(v[6])}
		if name := m.text(v[7]); name != x.Name {
			x.Attrs = attr("canonical", name)
		}
		x.Attrs = append(x.Attrs, attr("description", m.text(v[2]))...)
		if v[10] != 0 {
			x.Attrs = append(x.Attrs, attr("flags", flagWords(regionFlags, v[10]))...)
		}
		m.index[Regions][v[0]] = d.Regions.Add(x)
	case defAttribute:
		m.index[Attributes][v[0]] = d.Attributes.Add(trace.AttributeDef{ID: id(v[0]), Name: m.text(v[1]),
			Type: trace.Type(min(v[2], typeLocationGroup)), Doc: m.text(v[3])})
	case defMetricClass:
		m.members(v[0], v[2:2+v[1]], "")
	case defMetricInst:
		m.members(v[0], m.ranks.members[v[0]], id(v[2]))
	case defGroup:
		gid, paradigm, g := groupOf(v)
		x := trace.Set{ID: id(gid), Name: m.text(v[1]), Kind: [...]string{"", "locations", "regions", "metrics",
			"communicating locations", "ranks", "self", ""}[min(g.typ, 7)], Attrs: attr("paradigm", word(paradigms, paradigm))}
		if g.flags&globalMembers != 0 {
			x.Attrs = append(x.Attrs, attr("flags", flagWords(groupFlags, g.flags))...)
		}
		for _, i := range g.members {
			x.Members = append(x.Members, int64(i))
		}
		m.index[Groups][gid] = d.Sets.Add(x)
	case defComm:
		m.index[Comms][v[0]] = d.Communicator.Add(trace.Communicator{ID: id(v[0]), Name: m.text(v[1]),
			Set: m.look(Groups, v[2]), Parent: trace.NoRef})
	case defInterComm:
		m.index[Comms][v[0]] = d.Communicator.Add(trace.Communicator{ID: id(v[0]), Name: m.text(v[1]),
			Set: m.look(Groups, v[2]), Parent: trace.NoRef, Attrs: attr(otherSide, id(v[3]))})
	case defParameter:
		named(Parameters, &d.Parameters, m.text(v[1]), attr("type", word(parameterTypes, v[2]))...)
	case defWindow:
		named(Windows, &d.Windows, m.text(v[1]),
			append(attr("communicator", m.name(Comms, v[2])), attr(trace.CommunicatorIDAttribute, id(v[2]))...)...)
	case defContext:
		name, _ := m.ranks.raw(CallingContexts, v[0])
		named(CallingContexts, &d.Contexts, trace.Text(name), attr("parent", m.name(CallingContexts, v[3]))...)
	case defIOFile, defIODirectory:
		named(IOFiles, &d.Files, m.text(v[1]),
			attr("kind", map[bool]string{true: "file", false: "directory"}[r.ID == defIOFile])...)
	case defIOHandle:
		name, _ := m.ranks.raw(IOHandles, v[0])
		named(IOHandles, &d.Handles, trace.Text(name), attr("file", m.name(IOFiles, v[2]))...)
	}
	return nil
}

// name is the name of what a reference names, with its id; "" for a reference to nothing.
func (m *model) name(t Table, v uint64) string {
	if v == undefined32 {
		return ""
	}
	return trace.Text(m.ranks.shown(t, v))
}

// members makes a metric of each member of a class or an instance.
func (m *model) members(of uint64, members []uint64, recorder string) {
	for i, member := range members {
		x := trace.MetricDef{ID: fmt.Sprintf("%d/%d", of, i), Kind: trace.CounterMetric, Location: trace.NoRef,
			Undefined: true, Attrs: attr("recorder", recorder)}
		if r := m.ranks.metrics[member]; r != nil {
			x.Name, x.Unit, x.Mode, x.Group, x.Type, x.Undefined = m.text(r[1]), m.text(r[8]), word(metricModes, r[4]),
				word(metricTypes, r[3]), trace.Type(min(r[5], typeLocationGroup)), false
			x.Attrs = append(x.Attrs, attr("description", m.text(r[2]))...)
			if r[7] != 0 {
				x.Attrs = append(x.Attrs, attr("scale", fmt.Sprintf("%d^%d", 2+8*min(r[6], 1), int64(r[7])))...)
			}
		}
		m.metrics[of] = append(m.metrics[of], m.defs.Metrics.Add(x))
	}
}

// clock takes the properties of the clock.
func (m *model) clock(v []uint64, opt *format.ReadOptions) error {
	if v[0] == 0 || v[0] > math.MaxInt64 {
		return opt.Defect(&trace.Defect{Rule: "otf2.clock", Severity: trace.Error, Position: trace.Position{File: m.a.path +
			".def"}, Found: fmt.Sprintf("%d ticks a second", v[0]), Expected: "1 to 2⁶³−1; a tick is taken to be a second"})
	}
	m.defs.Clock = trace.Seconds(int64(v[0]))
	if v[3] == undefined64 || v[3] > math.MaxInt64 {
		return nil
	}
	// It is the date of the global offset.
	if before, ok := nanoseconds(v[1], v[0]); ok && before <= v[3] {
		m.defs.Clock.Epoch, m.defs.Clock.HasEpoch = int64(v[3]-before), true
	}
	return nil
}

// parents fills in the tree of location groups and that of communicators.
func (m *model) parents(nodes, groups, comms, inter []*Record) {
	set := func(own uint32, parent uint32) {
		for up := parent; up != trace.NoRef; up = m.defs.Groups.At(up).Parent {
			if up == own {
				return // it would be in itself
			}
		}
		m.defs.Groups.At(own).Parent = parent
	}
	for _, r := range nodes {
		set(m.look(SystemTreeNodes, r.Values[0]), m.look(SystemTreeNodes, r.Values[3]))
	}
	for _, r := range groups {
		set(m.look(LocationGroups, r.Values[0]), m.look(SystemTreeNodes, r.Values[3]))
	}
	for _, r := range comms {
		m.commParent(r.Values[0], r.Values[3])
	}
	for _, r := range inter {
		m.commParent(r.Values[0], r.Values[4])
	}
}

func (m *model) commParent(comm, parent uint64) {
	own, p := m.look(Comms, comm), m.look(Comms, parent)
	for up := p; up != trace.NoRef; up = m.defs.Communicator.At(up).Parent {
		if up == own {
			return
		}
	}
	m.defs.Communicator.At(own).Parent = p
}

// describe takes what definitions say of others, and keeps what the model has no table
// for.
func (m *model) describe(r *Record) {
	v := r.Values
	value := func(typ, x uint64) string { return trace.Text(m.ranks.value(typ, x)) }
	group := func(i uint32, key, text string) {
		if i != trace.NoRef {
			g := m.defs.Groups.At(i)
			g.Attrs = append(g.Attrs, attr(key, text)...)
		}
	}
	switch r.ID {
	case 26: // SystemTreeNodeProperty
		group(m.look(SystemTreeNodes, v[0]), m.text(v[1]), value(v[3], v[4]))
	case 27: // SystemTreeNodeDomain
		group(m.look(SystemTreeNodes, v[0]), "domain", word(treeDomains, v[1]))
	case 28: // LocationGroupProperty
		group(m.look(LocationGroups, v[0]), m.text(v[1]), value(v[3], v[4]))
	case 29: // LocationProperty
		if i := m.look(Locations, v[0]); i != trace.NoRef {
			l := m.defs.Locations.At(i)
			l.Attrs = append(l.Attrs, attr(m.text(v[1]), value(v[3], v[4]))...)
		}
	case defCallsite, defCallpath, defParadigmProp, 25, defCartDimension, defCartTopology, defCartCoord, 35, 37, 41, 42:
		m.defs.Opaque.Add(trace.Opaque{Format: "otf2", Data: string(appendRecord(nil, &definitionTypes[r.ID], r))})
	}
}

// Attributes that the model itself gives to events.
const (
	rankName  = "otf2.rank" // of a message to or from nobody known
	valueName = "value"     // of a parameter
)

// valueType is the type of a parameter's value.
func valueType(parameter uint64) trace.Type {
	return [...]trace.Type{trace.String, trace.Int64, trace.Uint64}[min(parameter, 2)]
}

// attribute is one that the model itself gives to events.
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
