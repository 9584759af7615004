package otf2

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// mpiParadigm is the number of the MPI paradigm.
const mpiParadigm = 4

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
		e.writeString(uint64(i), s)
	}
	length := uint64(0)
	if e.first <= e.final {
		length = e.final - e.first + 1
	}
	realtime := uint64(undefined64)
	resolution := uint64(max(1, d.Clock.Num/max(1, d.Clock.Den)))
	if e.scale > 1 {
		resolution = uint64(d.Clock.Num)
	}
	start := min(e.first, e.final)
	if after, ok := nanoseconds(start-min(start, e.base), resolution); ok && d.Clock.HasEpoch && d.Clock.Epoch >= 0 {
		realtime = uint64(d.Clock.Epoch) + after
	}
	put(defClock, resolution, start, length, realtime)
	put(defParadigm, mpiParadigm, name("MPI"), 0)
	if len(e.others[IOParadigms]) > 0 || d.Handles.Len()+len(e.io.Handles()) > 0 {
		put(defIOParadigm, 0, name("POSIX"), name("POSIX I/O"), 0, 0, 0)
	}
	for _, id := range e.otherIDs(IOParadigms) {
		if text := name(fmt.Sprintf("I/O paradigm %d", id)); id != 0 {
			put(defIOParadigm, id, text, text, 0, 0, 0)
		}
	}
	if e.carries || !e.plain && e.rows.Attributes(d) > 0 { // ids without gaps, as otf2-print expects
		put(defAttribute, shortRow, name("weft.row"), typeUint64, name("what the event is in the trace that it comes from"))
		put(defAttribute, longRow, name("weft.row-text"), typeString,
			name("what the event is in the trace that it comes from"))
		put(defAttribute, claimID, name("weft.claim"), typeInt64, name("id of the claim that begins or ends"))
	}
	for i := range e.rows.Attributes(d) {
		a := d.Attributes.At(uint32(i))
		put(defAttribute, uint64(i)+e.firstID(Attributes), name(a.Name), uint64(e.types.Of(d, uint32(i), trace.String)),
			name(a.Doc))
	}
	e.writeTree(put, name)
	e.defineRegions(put, name)
	e.defineMetrics(put, name)
	e.defineGroups(put, name)
	if e.describes || d.Parameters.Len() > 0 { // otf2-print warns if the first id is not 0
		put(defParameter, kindParameter, name("event"), 0)
	}
	for i, p := range d.Parameters.All() {
		put(defParameter, uint64(i)+firstID[Parameters], name(p.Name), parameterType(&p))
	}
	for i, x := range d.Windows.All() {
		flags, _ := attr(x.Attrs, "flags")
		put(defWindow, uint64(i), name(x.Name), e.windowComm(uint64(i)), flagBits(createDestroy, flags))
	}
	for _, comm := range e.windows {
		put(defWindow, e.window(comm), name("memory of "+d.Communicator.At(comm).Name), uint64(comm)+firstID[Comms], 0)
	}
	e.defineReturning(put, name, SourceLocations)
	for i, x := range d.Contexts.All() {
		region := uint64(d.Regions.Len() + i)
		put(defRegion, region, name(x.Name), undefined32, 0, undefined32, 0, 0, name(x.Name), 1, 1, 0)
		put(defContext, uint64(i), region, undefined32, undefined32)
	}
	e.defineReturning(put, name, InterruptGenerators)
	for i, x := range d.Files.All() {
		id := uint8(defIOFile)
		if kind, _ := attr(x.Attrs, fileKind); kind == directoryKind {
			id = defIODirectory
		}
		put(id, uint64(i), name(x.Name), undefined32)
	}
	e.defineHandles(put, name)
	return e.err
}

// otherIDs returns the ids of a table that the model does not have, sorted. Among ids below 256 there are no gaps:
// otf2-print complains about them.
func (e *encoder) otherIDs(t Table) []uint64 {
	ids := slices.Sorted(maps.Keys(e.others[t]))
	if len(ids) == 0 || ids[len(ids)-1] >= 256 {
		return ids
	}
	last := ids[len(ids)-1]
	ids = ids[:0]
	for id := range last + 1 {
		ids = append(ids, id)
	}
	return ids
}

// defineRegions writes the definitions of regions.
func (e *encoder) defineRegions(put func(id uint8, v ...uint64), name func(string) uint64) {
	d := e.defs
	for i, r := range d.Regions.All() {
		role, paradigm := uint64(1), uint64(1) // a user function
		roleName, paradigmName := r.Role, r.Group
		if e.scorep != nil {
			roleName = scorepRole(d, &r)
			paradigmName = cmp.Or(scorepParadigms[d.RegionParadigm(&r)], paradigmName)
		}
		if at := slices.Index(regionRoles, roleName); at >= 0 {
			role = uint64(at)
		}
		if at := slices.Index(paradigms, paradigmName); at >= 0 {
			paradigm = uint64(at)
		}
		file := uint64(undefined32)
		if r.File != "" {
			file = name(r.File)
		}
		text := func(key string, absent uint64) uint64 {
			if s, ok := attr(r.Attrs, key); ok {
				return name(s)
			}
			return absent
		}
		put(defRegion, uint64(i), name(r.Name), text(format.Description, undefined32), 0, file, uint64(uint32(r.Line)),
			uint64(uint32(r.End)), text(format.CanonicalName, name(r.Name)), role, paradigm, 0)
	}
}

// defineMetrics writes each metric as a member and as a class with only this member, and reports lost modes.
func (e *encoder) defineMetrics(put func(id uint8, v ...uint64), name func(string) uint64) {
	inexact := int64(0) // number of metrics with a mode that OTF2 does not have
	for i, m := range e.defs.Metrics.All() {
		mode, exact := metricMode(m.Mode)
		if !exact {
			inexact++
		}
		base, exponent := scaleOf(&m)
		description := uint64(undefined32)
		if s, ok := attr(m.Attrs, format.Description); ok {
			description = name(s)
		}
		put(defMetricMember, uint64(i), name(m.Name), description, uint64(max(0, slices.Index(metricTypes, m.Group))), mode,
			metricType(m.Type), base, exponent, name(m.Unit))
	}
	e.defineClasses()
	how := format.WeftOnly
	if e.plain {
		how = format.Lost
	}
	e.loss.Add("metric", "mode", how,
		"OTF2 has no such mode; its tools take each value for a measurement at one time", inexact)
}

// scaleOf returns the base and the exponent of the scale of a metric's values.
func scaleOf(m *trace.MetricDef) (base, exponent uint64) {
	scale, _ := attr(m.Attrs, format.Scale)
	radix, power, _ := strings.Cut(scale, "^")
	n, err := strconv.ParseInt(power, 10, 64)
	if at := slices.Index([]string{"2", "10"}, radix); at >= 0 && err == nil {
		return uint64(at), uint64(n)
	}
	return 1, 0
}

// attr returns the text of the first attribute with a key. ok is false if there is none.
func attr(list []trace.Attr, key string) (text string, ok bool) {
	for _, a := range list {
		if a.Key == key && a.Value.Type == trace.String {
			return a.Value.Str, true
		}
	}
	return "", false
}

// parameterType returns the number of a parameter's type in parameterTypes.
func parameterType(p *trace.Named) uint64 {
	typ, _ := attr(p.Attrs, "type")
	return uint64(max(0, slices.Index(parameterTypes, typ)))
}

// defineGroups writes the groups and communicators: first the ones of all locations, then those of the trace.
func (e *encoder) defineGroups(put func(id uint8, v ...uint64), name func(string) uint64) {
	d := e.defs
	for i := range d.Communicator.Len() { // a location that is a member communicates
		for m := e.members(uint32(i)); m != nil; m = m.other {
			for _, l := range m.locations {
				if !m.all {
					e.communicating(e.commParadigm(uint32(i))).place(l)
				}
			}
		}
	}
	// define writes a group of locations, or of their places among the communicating locations of a paradigm.
	define := func(id uint64, text string, locations []uint32, typ, paradigm, flags uint64) {
		v := []uint64{id, name(text), typ, uint64(len(locations))}
		for _, l := range locations {
			if typ == commGroup {
				v = append(v, e.communicating(paradigm).place(l))
			} else {
				v = append(v, uint64(l))
			}
		}
		put(defGroup, append(v, typ, paradigm, flags)...)
	}
	others := e.otherParadigms()
	for _, p := range others {
		put(defParadigm, p, name(paradigms[p]), paradigmClass(p))
	}
	all := e.communicating(mpiParadigm).locations
	define(allLocations, "", all, communicatingLocations, mpiParadigm, 0)
	define(allRanks, "all locations", all, commGroup, mpiParadigm, globalMembers)
	e.defineSets(put, name, define)
	next := uint64(d.Sets.Len()) + firstID[Groups]
	for _, p := range others {
		if set, _ := e.statedLocations(p); e.scorep == nil && set != trace.NoRef {
			continue // the trace's own group
		}
		define(next, "", e.communicating(p).locations, communicatingLocations, p, 0)
		next++
	}
	selves := map[uint64]uint64{} // the only group of type COMM_SELF of each paradigm
	for p, set := range e.selfSets() {
		if _, ok := e.ranksParadigm(set); ok {
			selves[p] = e.id(Groups, set)
		}
	}
	// group returns the id of the group of a communicator's members. It writes the group if the trace has none.
	group := func(m *commMembers, paradigm uint64) uint64 {
		if m.set != trace.NoRef {
			if _, ok := e.ranksParadigm(m.set); ok && (m.all || len(m.locations) == m.stated) {
				return e.id(Groups, m.set)
			}
		}
		if m.all && (paradigm == mpiParadigm || e.scorep != nil) {
			return allRanks
		}
		if id, known := selves[paradigm]; m.self && known {
			return id
		}
		id := next
		next++
		switch {
		case m.self:
			selves[paradigm] = id
			define(id, "", nil, commSelf, paradigm, 0)
		case m.all:
			define(id, "", e.communicating(paradigm).locations, commGroup, paradigm, globalMembers)
		default:
			define(id, "", m.locations, commGroup, paradigm, 0)
		}
		return id
	}
	groupIDs := make([][2]uint64, d.Communicator.Len())
	for i := range groupIDs {
		paradigm, m := e.commParadigm(uint32(i)), e.members(uint32(i))
		groupIDs[i][0] = group(m, paradigm)
		if m.other != nil {
			groupIDs[i][1] = group(m.other, paradigm)
		}
	}
	put(defComm, allComm, name("all locations"), allRanks, undefined32, 0)
	for i, c := range d.Communicator.All() {
		parent := uint64(undefined32)
		if c.Parent < uint32(i) { // readers such as those of Python resolve a reference when they read it
			parent = uint64(c.Parent) + firstID[Comms]
		}
		if e.members(uint32(i)).other != nil {
			put(defInterComm, uint64(i)+firstID[Comms], name(c.Name), groupIDs[i][0], groupIDs[i][1], parent, 0)
			continue
		}
		put(defComm, uint64(i)+firstID[Comms], name(c.Name), groupIDs[i][0], parent, 0)
	}
}

// defineSets writes the sets of the trace as groups.
func (e *encoder) defineSets(put func(id uint8, v ...uint64), name func(string) uint64,
	define func(id uint64, text string, locations []uint32, typ, paradigm, flags uint64)) {
	for i, s := range e.defs.Sets.All() {
		id, p := e.id(Groups, uint32(i)), setParadigm(&s)
		if paradigm, ok := e.ranksParadigm(uint32(i)); ok {
			typ, flags := uint64(commGroup), uint64(0)
			if s.Kind == "self" {
				typ = commSelf
			}
			if slices.ContainsFunc(s.Attrs, func(a trace.Attr) bool { return a.Key == "flags" }) {
				flags = globalMembers
			}
			define(id, s.Name, e.memberships.SetMembers(uint32(i)), typ, paradigm, flags)
			continue
		}
		if first, _ := e.statedLocations(p); p != mpiParadigm && e.scorep == nil && first == uint32(i) {
			define(id, s.Name, e.communicating(p).locations, communicatingLocations, p, 0)
			continue
		}
		members, typ := e.locationsOf(&s), uint64(locationsGroup)
		switch s.Kind {
		case "regions":
			members, typ = e.regionsOf(&s), regionsGroup
		case "metrics":
			members, typ = e.metricsOf(&s), metricsGroup
		}
		v := append([]uint64{id, name(s.Name), 0, uint64(len(members))}, members...)
		put(defGroup, append(v, typ, 0, 0)...)
	}
}

// metricMode returns the number of a metric mode. For a mode of another format, such as "ACC/LAST/DOUBLE", it
// is the mode with the same property and time. If there is no such mode, it is the mode with the same property
// at a point in time, and exact is false. A metric without a mode is absolute.
func metricMode(word string) (mode uint64, exact bool) {
	point := uint64(17)
	for i, mode := range metricModes {
		property, at, _ := strings.Cut(mode, "_")
		switch {
		case mode == "" || !strings.HasPrefix(word, property[:3]):
		case strings.Contains(word, at):
			return uint64(i), true
		case at == "POINT":
			point = uint64(i)
		}
	}
	return point, word == ""
}

// writeTree writes the groups of locations. A group with locations becomes a location group, and a group
// with groups becomes a node of the system tree. The kind of a group that has neither decides what it becomes.
func (e *encoder) writeTree(put func(id uint8, v ...uint64), name func(string) uint64) {
	d := e.defs
	nodes, groups := map[uint32]uint64{}, map[uint32]uint64{}
	e.nodeIDs, e.groupIDs = nodes, groups
	var node func(g uint32) uint64
	node = func(g uint32) uint64 {
		if n, ok := nodes[g]; ok {
			return n
		}
		text, class, parent := "trace", "node", uint64(undefined32)
		if g != trace.NoRef {
			x := d.Groups.At(g)
			text, class = x.Name, cmp.Or(x.Kind, class)
			if d.Origin != "otf2" || x.Parent != trace.NoRef {
				parent = node(x.Parent)
			}
		}
		n := uint64(len(nodes))
		nodes[g] = n
		put(defTreeNode, n, name(text), name(class), parent)
		return n
	}
	if d.Origin != "otf2" || e.scorep != nil || d.Locations.Len() == 0 {
		node(trace.NoRef) // in traces of OTF2, only groups without a node need this one
	}
	if e.scorep != nil && d.Locations.Len() > 0 {
		e.scorep.writeTree(e, put, name, node)
		return
	}
	if d.Locations.Len() == 0 { // OTF2's own tools reject an archive without locations
		groups[trace.NoRef] = 0
		e.defineNothing(put, name)
	}
	undefinedKind := uint64(1) // a process or a thread
	if d.Origin == "otf2" {
		undefinedKind = 0
	}
	named := e.groupsNamedAsLocations()
	group := func(at uint32) uint64 {
		g, ok := groups[at]
		if ok {
			return g
		}
		text, typ, above := "locations", uint64(1), trace.NoRef
		if at != trace.NoRef {
			x := d.Groups.At(at)
			text, above = x.Name, x.Parent
			if named[at] {
				text = "process " + text
			}
			switch x.Kind {
			case acceleratorKind:
				typ = 2
			case "":
				typ = undefinedKind
			}
		}
		parent := node(above)
		g = uint64(len(groups))
		groups[at] = g
		put(defLocationGroup, g, name(text), typ, parent, undefined32)
		return g
	}
	for i, l := range d.Locations.All() {
		g, kind := group(l.Group), uint64(1)
		switch l.Kind {
		case trace.StreamLocation:
			kind = 2
		case trace.SignalLocation:
			kind = 3
		case "":
			kind = undefinedKind
		}
		n := e.location(uint32(i)).Count
		put(defLocation, uint64(i), name(l.Label()), kind, n, g)
	}
	for i := range uint32(d.Groups.Len()) { // groups without locations and groups
		_, isGroup := groups[i]
		switch kind := d.Groups.At(i).Kind; {
		case isGroup:
		case kind == "" || kind == processKind || kind == acceleratorKind:
			if _, isNode := nodes[i]; !isNode {
				group(i)
			}
		default:
			node(i)
		}
	}
	e.defineLanes(put, name, func(loc uint32) uint64 { return groups[d.Locations.At(loc).Group] })
}

// defineNothing defines a location without events, in a group of the system tree node 0.
func (e *encoder) defineNothing(put func(id uint8, v ...uint64), name func(string) uint64) {
	put(defLocationGroup, 0, name("nothing"), 1, 0, undefined32)
	put(defLocation, 0, name("nothing"), 1, e.w.Location(0).Count, 0)
}

// groupsNamedAsLocations returns the groups that have the name of a location, as a process of OTF with threads has.
// They get another name in the archive, because ViTE may abort if both have the same.
func (e *encoder) groupsNamedAsLocations() map[uint32]bool {
	names, named, how := map[string]bool{}, map[uint32]bool{}, format.WeftOnly
	if e.plain {
		how = format.Degraded
	}
	if e.defs.Origin != "otf2" {
		for _, l := range e.defs.Locations.All() {
			names[l.Label()] = true
		}
	}
	for _, l := range e.defs.Locations.All() {
		if e.defs.Groups.Has(l.Group) && names[e.defs.Groups.At(l.Group).Name] {
			named[l.Group] = true
		}
	}
	e.loss.Add("location group, system tree node", "name", how, "must not be the name of a location", int64(len(named)))
	return named
}

// scaledTime converts a time of the trace to ticks of a file that has scale ticks for each. ok is false if the result
// is negative or does not fit 63 bits.
func (e *encoder) scaledTime(t int64) (tick uint64, ok bool) {
	if most := math.MaxInt64 / e.scale; t > most || t < -most {
		return 0, false
	}
	at := t*e.scale + int64(e.base) // an overflow results in a negative number
	return uint64(max(0, at)), at >= 0
}
