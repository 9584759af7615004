package otf2

import (
	"slices"
	"strconv"

	"github.com/weft-trace/weft/trace"
)

// source is an archive whose definitions and events are written as OTF2 again. If several archives
// become one, or if definitions are left out, the written definitions get new, consecutive ids
// (docs/formats/otf2.md, "Rewriting an archive").
type source struct {
	m *model
	// defs are the definitions to which index applies: those of m, perhaps changed by a transform, or with added entries
	defs    *trace.Definitions
	retimed bool
	index   func(table any, i uint32) uint32 // index in the written trace; nil if indexes do not change
	ids     [tables]map[uint64]uint64        // written ids by id; nil if no id changes
	// renumber returns the written id for an id of an archive that weft has restored; nil for other archives
	renumber func(t Table, id uint64) uint64
	// ranks holds a list for each paradigm: for each communicating location of this part, its position
	// among the communicating locations of all parts.
	ranks map[uint64][]uint64
	// sharedIDs contains ids of groups whose members are not communicating locations. In archives of EZTrace,
	// a group of communicating locations can have the same id.
	sharedIDs map[uint64]bool
	own       map[uint64]uint64   // ids of locations in the archive, by their written ids
	removed   map[definition]bool // definitions of the archive that are not written
}

// partsOf returns the parts from which a trace was merged. It returns nil if these are not archives of OTF2.
func partsOf(native *trace.SourceTraces) (parts []*source) {
	for _, x := range native.List {
		m, ok := x.Defs.Native.(*model)
		if !ok {
			return nil
		}
		parts = append(parts, &source{m: m, defs: x.Defs, retimed: x.Retimed, index: x.Index,
			ranks: map[uint64][]uint64{}, sharedIDs: map[uint64]bool{}, own: map[uint64]uint64{}})
	}
	return parts
}

// writtenIndex returns the index in the written trace of entry i of a table of the source, or NoRef if the entry
// is not written. table is the address of the table.
func (p *source) writtenIndex(table any, i uint32) uint32 {
	if p.index == nil {
		return i
	}
	return p.index(table, i)
}

// id returns the written id for an id of the archive. It returns UNDEFINED for an id without a
// definition.
func (p *source) id(t Table, id uint64) uint64 {
	if p.renumber != nil {
		return p.renumber(t, id)
	}
	if p.index == nil || t >= tables || id == undefined64 || id == undefined32 && t != Locations ||
		id == undefined8 && t == IOParadigms || t == Paradigms {
		return id
	}
	if written, ok := p.ids[t][id]; ok {
		return written
	}
	return undefined32
}

// writtenDefinition returns the index in the written trace of the definition of the archive with the given id, or
// NoRef if it is not written.
func (p *source) writtenDefinition(t Table, id uint64) uint32 {
	i := p.m.lookup(t, id)
	table, _ := modelTable(p.defs, t, i)
	if table == nil {
		return trace.NoRef
	}
	return p.index(table, i)
}

// ownTables maps the types of definitions that have an id to their tables.
var ownTables = map[uint8]Table{defParadigm: Paradigms, defIOParadigm: IOParadigms, defString: Strings,
	defAttribute: Attributes, defTreeNode: SystemTreeNodes, defLocationGroup: LocationGroups, defLocation: Locations,
	defRegion: Regions, defCallsite: Callsites, defCallpath: Callpaths, defGroup: Groups, defMetricMember: MetricMembers,
	defMetricClass: Metrics, defMetricInst: Metrics, defComm: Comms, defInterComm: Comms, defParameter: Parameters,
	defWindow: Windows, defCartDimension: CartDimensions, defCartTopology: CartTopologies,
	defSourceLoc: SourceLocations, defContext: CallingContexts, defInterrupt: InterruptGenerators, defIOFile: IOFiles,
	defIODirectory: IOFiles, defIOHandle: IOHandles}

// sharedByContent contains the tables without an equivalent in the model in which equal entries are merged.
var sharedByContent = map[Table]bool{Strings: true, IOParadigms: true, MetricMembers: true, CartDimensions: true,
	SourceLocations: true, InterruptGenerators: true}

// joiner converts the records of several archives to records of one archive.
type joiner struct {
	o        *originalArchives
	used     [tables]map[uint64]bool
	contents [tables]map[string]uint64 // written ids, by the content of the definition
	entries  [tables]map[uint32]uint64 // written ids by the index in the written trace
	others   map[string]bool           // records without an id that have been written
	// paradigms holds the names of the paradigms that have been written.
	paradigms map[uint64]string
	clock     bool // the clock has been defined
	pruned    bool // leave out the definitions to which no entry of the written trace refers
	// joined holds the records of the groups of which a paradigm can have only one: communicating locations, and
	// COMM_SELF.
	joined map[paradigmGroup]*Record
}

// paradigmGroup identifies a group of which a paradigm can have only one.
type paradigmGroup struct{ typ, paradigm uint64 }

// join collects the records of all parts, with their written ids. If pruned is set, it leaves out records to
// which no entry of the written trace refers.
func (o *originalArchives) join(pruned bool) {
	j := &joiner{o: o, pruned: pruned, others: map[string]bool{}, paradigms: map[uint64]string{},
		joined: map[paradigmGroup]*Record{}}
	for t := range Table(tables) {
		j.used[t], j.contents[t], j.entries[t] = map[uint64]bool{}, map[string]uint64{}, map[uint32]uint64{}
	}
	for _, p := range o.parts {
		o.records = append(o.records, j.add(p)...)
		for i := range p.defs.Locations.Len() {
			at := p.index(&p.defs.Locations, uint32(i))
			for at != trace.NoRef && at >= uint32(len(o.partOf)) {
				o.partOf = append(o.partOf, nil)
			}
			switch {
			case at == trace.NoRef:
			case o.partOf[at] == nil:
				o.partOf[at] = p
			default:
				o.shared[at] = true
			}
		}
		for id, written := range p.ids[Locations] {
			// needed for the events of a location that is shared by several parts
			p.own[written] = id
		}
		for i := range p.defs.Metrics.Len() {
			at := p.index(&p.defs.Metrics, uint32(i))
			if at == trace.NoRef {
				continue
			}
			for at >= uint32(len(o.members)) {
				o.members = append(o.members, [2]uint64{unknownID})
			}
			x := memberOf(p.defs.Metrics.At(uint32(i)))
			// If several parts share a metric, the class in the first part is used.
			if o.members[at][0] == unknownID {
				o.members[at] = [2]uint64{p.id(Metrics, x[0]), x[1]}
			}
		}
	}
	// The locations of all parts come before the groups, since a group can have locations of several
	// parts.
	slices.SortStableFunc(o.records, func(x, y *Record) int { return definitionRank(x) - definitionRank(y) })
	for t := range Table(tables) {
		for i, id := range j.entries[t] {
			o.setID(t, i, id)
		}
	}
	var by [len(definitionTypes)][]*Record
	for _, r := range o.records {
		by[r.ID] = append(by[r.ID], r)
	}
	o.names = newNames()
	for _, id := range definitionOrder {
		if id == defGroup {
			slices.SortStableFunc(by[id], func(x, y *Record) int { return communicatingFirst(x) - communicatingFirst(y) })
		}
		for _, r := range by[id] {
			o.names.define(r)
		}
	}
}

// definitionRank returns a sort key for definitions: 0 for the clock, strings, paradigms, the system tree
// and locations, 1 for the groups of communicating locations, whose ids come first, and 2 for all other
// definitions.
func definitionRank(r *Record) int {
	switch r.ID {
	case defClock, defString, defParadigm, defParadigmProp, defIOParadigm, defTreeNode, defNodeDomain, defLocationGroup,
		defLocation:
		return 0
	case defGroup:
		return 1 + communicatingFirst(r)
	}
	return 2
}

// add returns the records of a part that no earlier part contains.
func (j *joiner) add(p *source) []*Record {
	list := lastDefinitions(p.records())
	if j.pruned {
		list = p.prune(list)
	}
	for t := range p.ids {
		p.ids[t] = map[uint64]uint64{}
	}
	for _, r := range list {
		// an id that a location already uses is not assigned again
		if r.ID == defLocation && r.Values[0] < undefined64-1 {
			j.o.added.next[Locations] = max(j.o.added.next[Locations], r.Values[0]+1)
		}
	}
	// each calls do for the records of some types, and removes the records for which do returns false.
	each := func(kinds func(r *Record) bool, do func(r *Record) bool) {
		for _, r := range list {
			if r.ID != 0 && kinds(r) && !do(r) {
				r.ID = 0
			}
		}
	}
	is := func(id uint8) func(r *Record) bool { return func(r *Record) bool { return r.ID == id } }
	shared := func(r *Record) bool {
		t, own := ownTables[r.ID]
		return own && t != Strings && sharedByContent[t]
	}
	each(is(defString), j.assignContent(p))
	each(shared, j.assignContent(p))
	// the contents of these records refer to groups, communicators and regions
	afterGroups := func(r *Record) bool {
		return r.ID == defCartTopology || r.ID == defCallsite || r.ID == defCallpath
	}
	each(func(r *Record) bool {
		t, own := ownTables[r.ID]
		return own && !sharedByContent[t] && r.ID != defGroup && !afterGroups(r)
	}, j.assign(p))
	communicating := func(r *Record) bool { return r.ID == defGroup && communicatingFirst(r) == 0 }
	for _, r := range list {
		if r.ID == defGroup && !communicating(r) {
			p.sharedIDs[r.Values[0]] = true
		}
	}
	each(communicating, j.joinedGroup(p))
	each(is(defGroup), func(r *Record) bool {
		if isSelf(r) {
			return j.joinedGroup(p)(r)
		}
		return communicating(r) || j.assign(p)(r)
	})
	each(func(r *Record) bool { return r.ID == defGroup && !communicating(r) && !isSelf(r) }, p.translateGroup)
	// topologies of the same communicator, and callsites and callpaths of the same regions
	each(func(r *Record) bool { return afterGroups(r) && r.ID != defCallpath }, j.assignContent(p))
	j.assignCallpaths(p, list)
	each(func(r *Record) bool {
		return r.ID != defString && r.ID != defGroup && !afterGroups(r) && !shared(r)
	}, func(r *Record) bool {
		if r.ID == defCartCoord {
			r.Values[1] = p.rank(p.m.ranks.communicators[CartTopologies][r.Values[0]], 0, r.Values[1])
		}
		p.translate(r)
		if r.ID == defClock {
			first := !j.clock
			j.clock = true
			return first
		}
		if _, own := ownTables[r.ID]; own {
			return true
		}
		key := string(appendRecord(nil, &definitionTypes[r.ID], r))
		first := !j.others[key]
		j.others[key] = true
		return first
	})
	return slices.DeleteFunc(list, func(r *Record) bool { return r.ID == 0 })
}

// records returns copies of the archive's definitions, without definitions that OTF2 3.0 does not have.
func (p *source) records() (list []*Record) {
	p.m.a.Definitions(func(_ int64, r *Record) error { // the decoder has already reported damaged records
		if typeByID(definitionTypes[:], r.ID) != nil {
			list = append(list, &Record{r.ID, slices.Clone(r.Values), slices.Clone(r.Texts)})
		}
		return nil
	})
	return list
}

// lastDefinitions removes definitions with an id that a later definition has. A group of communicating locations can
// have the id of another group.
func lastDefinitions(list []*Record) []*Record {
	type key struct {
		definition
		communicating bool
	}
	later := map[key]bool{}
	for i, r := range slices.Backward(list) {
		if t, own := ownTables[r.ID]; own {
			k := key{definition{t, r.Values[0]}, r.ID == defGroup && communicatingFirst(r) == 0}
			if later[k] {
				list[i] = nil
			}
			later[k] = true
		}
	}
	return slices.DeleteFunc(list, func(r *Record) bool { return r == nil })
}

// nextID returns the next free id of a table. Ids are consecutive, because otf2-print expects this. Locations
// keep their ids if possible, because these may encode ranks and threads.
func (j *joiner) nextID(t Table, id uint64) uint64 {
	if t != Locations || j.used[t][id] {
		id = j.o.added.next[t]
	}
	j.used[t][id] = true
	if id != undefined32 && id != undefined64 {
		j.o.added.next[t] = max(j.o.added.next[t], id+1)
	}
	return id
}

// assign returns a function that gives a definition its written id. The function returns false if the
// definition has already been written, with the same id or as the same entry of the written trace.
func (j *joiner) assign(p *source) func(r *Record) bool {
	return func(r *Record) bool {
		t, id := ownTables[r.ID], r.Values[0]
		if t == Paradigms { // the ids of paradigms are fixed by OTF2
			name, _ := p.m.ranks.text(r.Values[1])
			written, twice := j.paradigms[id]
			if !twice {
				j.paradigms[id] = name
			} else if written != name {
				j.o.paradigmNames++
			}
			return !twice
		}
		if _, twice := p.ids[t][id]; twice {
			return false
		}
		if class, ok := j.mergedMetric(p, r); ok {
			p.ids[t][id] = class
			return false
		}
		i := p.writtenDefinition(t, id)
		written, known := j.entries[t][i]
		if known && i != trace.NoRef {
			p.ids[t][id] = written
			return false
		}
		written = j.nextID(t, id)
		p.ids[t][id], r.Values[0] = written, written
		if i != trace.NoRef {
			j.entries[t][i] = written
		}
		return true
	}
}

// mergedMetric returns the id of the metric class or instance with the same metrics in an earlier part, if
// there is one.
func (j *joiner) mergedMetric(p *source, r *Record) (id uint64, ok bool) {
	if ownTables[r.ID] != Metrics || len(p.m.metrics[r.Values[0]]) == 0 {
		return 0, false
	}
	at := p.index(&p.defs.Metrics, p.m.metrics[r.Values[0]][0])
	if at >= uint32(len(j.o.members)) || j.o.members[at][0] == unknownID {
		return 0, false
	}
	return j.o.members[at][0], true
}

// assignContent is like assign, for definitions that are equal if their contents are equal. It also translates
// their references.
func (j *joiner) assignContent(p *source) func(r *Record) bool {
	return func(r *Record) bool {
		t, id := ownTables[r.ID], r.Values[0]
		p.translate(r)
		r.Values[0] = 0
		key := string(appendRecord(nil, &definitionTypes[r.ID], r))
		written, known := j.contents[t][key]
		if !known {
			written = j.nextID(t, id)
			j.contents[t][key] = written
		}
		if _, twice := p.ids[t][id]; !twice {
			p.ids[t][id] = written
		}
		r.Values[0] = written
		return !known
	}
}

// assignCallpaths calls assignContent for the callpaths of a part, for a parent before its children. It removes those
// that earlier parts have.
func (j *joiner) assignCallpaths(p *source, list []*Record) {
	unassigned := map[uint64]*Record{} // by id
	for _, r := range list {
		if r.ID == defCallpath {
			unassigned[r.Values[0]] = r
		}
	}
	assign := j.assignContent(p)
	for _, r := range list {
		var chain []*Record // r and its ancestors, as far as they are unassigned
		for ; r != nil && r.ID == defCallpath && unassigned[r.Values[0]] == r; r = unassigned[r.Values[1]] {
			delete(unassigned, r.Values[0])
			chain = append(chain, r)
		}
		for _, x := range slices.Backward(chain) {
			if !assign(x) {
				x.ID = 0
			}
		}
	}
}

// eachReference calls do for each reference of a definition, with the table of the reference and the index
// of its value.
func (r *Record) eachReference(do func(t Table, i int)) {
	t, from := &definitionTypes[r.ID], 0
	if _, own := ownTables[r.ID]; own {
		from = 1
	}
	for i := from; i < len(r.Values); i++ {
		f := t.field(i, len(r.Values))
		table := f.table
		switch {
		case f.enc == encTyped && f.other >= 0:
			table = tableOf(r.Values[f.other])
		case f.enc == encTyped:
			table = tableOf(r.Values[i-1])
		case f.show == showScope:
			table = [...]Table{Locations, LocationGroups, SystemTreeNodes, Groups}[min(r.Values[f.other], 3)]
		}
		if table != noTable {
			do(table, i)
		}
	}
	if r.ID != defGroup {
		return
	}
	_, _, g := groupOf(r.Values)
	if table, ok := memberTables[g.typ]; ok {
		for i := range g.members {
			do(table, 4+i)
		}
	}
}

// memberTables maps the types of groups to the tables to which the members refer.
var memberTables = map[uint64]Table{locationsGroup: Locations, regionsGroup: Regions, metricsGroup: Metrics,
	communicatingLocations: Locations}

// translate replaces the references of a definition by written ids.
func (p *source) translate(r *Record) {
	r.eachReference(func(t Table, i int) { r.Values[i] = p.id(t, r.Values[i]) })
}

// isSelf reports whether a group is a COMM_SELF.
func isSelf(r *Record) bool {
	_, _, g := groupOf(r.Values)
	return g.typ == commSelf
}

// joinedGroup returns a function that adds the members of a group to the group of earlier parts with the same type
// and paradigm. The function returns true if earlier parts have no such group.
func (j *joiner) joinedGroup(p *source) func(r *Record) bool {
	return func(r *Record) bool {
		p.translate(r)
		id, paradigm, g := groupOf(r.Values)
		key := paradigmGroup{g.typ, paradigm}
		first := j.joined[key]
		if first == nil {
			first = r
			j.joined[key] = r
			r.Values[0] = j.nextID(Groups, id)
		}
		if g.typ == commSelf || !p.sharedIDs[id] {
			p.ids[Groups][id] = first.Values[0]
			if i := p.writtenDefinition(Groups, id); i != trace.NoRef {
				j.entries[Groups][i] = first.Values[0]
			}
		}
		if g.typ == communicatingLocations {
			p.ranks[paradigm] = addMembers(first, g.members)
		}
		return first == r
	}
}

// rank returns the written rank for a rank of the archive. Ranks in a group with the flag GLOBAL_MEMBERS are
// positions among the communicating locations of one archive. They become positions among those of all archives.
// from is the location whose record has the rank.
func (p *source) rank(comm *printComm, from, rank uint64) uint64 {
	if comm == nil || comm.a == nil {
		return rank
	}
	g := comm.side(from)
	if places := p.ranks[g.paradigm]; g.flags&globalMembers != 0 && rank < uint64(len(places)) {
		return places[rank]
	}
	return rank
}

// translateGroup translates the members of a group. Ranks become positions among the communicating
// locations of all parts.
func (p *source) translateGroup(r *Record) bool {
	p.translate(r)
	_, paradigm, g := groupOf(r.Values)
	if g.typ != commGroup {
		return true
	}
	places := p.ranks[paradigm]
	for i, x := range g.members {
		if x < uint64(len(places)) {
			g.members[i] = places[x]
		}
	}
	setMembers(r, g.members)
	return true
}

// addMembers adds members to a group and returns their positions in it.
func addMembers(r *Record, members []uint64) (places []uint64) {
	_, _, g := groupOf(r.Values)
	at := map[uint64]uint64{}
	for i, x := range g.members {
		if _, twice := at[x]; !twice {
			at[x] = uint64(i)
		}
	}
	for _, x := range members {
		i, ok := at[x]
		if !ok {
			i = uint64(len(g.members))
			at[x] = i
			g.members = append(g.members, x)
		}
		places = append(places, i)
	}
	setMembers(r, g.members)
	return places
}

// setMembers replaces the members of a group.
func setMembers(r *Record, members []uint64) {
	after := slices.Clone(r.Values[4+r.Values[3]:])
	r.Values = slices.Concat(r.Values[:3:3], []uint64{uint64(len(members))}, members, after)
}

// joinAnchor adds the properties of the other archives to those of the first archive. If the archives have
// different values for a property, the property is added again, with the number of the archive in its name.
// Texts that an archive can have only once, such as its description, also become properties, whose names begin
// with WEFT; moved is the number of these texts.
func joinAnchor(a *Anchor, parts []*source) (moved int64) {
	add := func(name, value string, number int) {
		for at, first := 0, name; at >= 0; number++ {
			if at = slices.IndexFunc(a.Properties, func(y Property) bool { return y.Name == name }); at < 0 {
				a.Properties = append(a.Properties, Property{name, value})
			} else if a.Properties[at].Value == value {
				return
			}
			name = first + "::" + strconv.Itoa(number)
		}
	}
	for i, p := range parts[1:] {
		for _, x := range p.m.a.Anchor.Properties {
			add(x.Name, x.Value, i+2)
		}
		for _, x := range [][3]string{{"MACHINE", a.Machine, p.m.a.Machine}, {"CREATOR", a.Creator, p.m.a.Creator},
			{"DESCRIPTION", a.Description, p.m.a.Description}} {
			if x[2] != "" && x[2] != x[1] {
				add("WEFT::"+x[0]+"::"+strconv.Itoa(i+2), x[2], i+2)
				moved++
			}
		}
	}
	return moved
}

// isOutside reports whether an event is outside of the extent in clock properties.
func (e *encoder) isOutside(r *Record) bool {
	return e.first <= e.final && (e.first < r.Values[1] || e.final-r.Values[1] > r.Values[2])
}

// setClock sets the clock properties of a merged or corrected trace. The extent includes the extent of the first
// archive, unless the times of that archive have changed.
func (e *encoder) setClock(r *Record) {
	first, clock, v := e.original.parts[0], e.defs.Clock, r.Values
	begin, end := e.first, max(e.first, e.final)
	if e.first > e.final { // the trace has no events
		begin, end = v[1], v[1]+v[2]
	} else if !first.retimed && e.base == 0 && v[2] <= undefined64-v[1] {
		begin, end = min(begin, v[1]), max(end, v[1]+v[2])
	}
	v[0], v[1], v[2], v[3] = uint64(clock.Num), begin, end-begin, undefined64
	if after, ok := nanoseconds(begin-e.base, v[0]); ok && clock.HasEpoch && begin >= e.base {
		v[3] = uint64(clock.Epoch) + after
	}
}

// definition identifies a definition by its table and id.
type definition struct {
	table Table
	id    uint64
}

// prune returns the records that must be written: the records to which an entry of the written trace refers,
// and records to which events can refer and for which the model has no table. A record without an id is
// written if the definition that it describes is written.
func (p *source) prune(list []*Record) []*Record {
	kept := map[definition]bool{}
	communicating := map[uint64]uint64{} // ids of the groups of communicating locations, by paradigm
	for _, r := range list {
		t, own := ownTables[r.ID]
		switch {
		case !own:
		case t == Metrics:
			for _, i := range p.m.metrics[r.Values[0]] {
				if p.index(&p.defs.Metrics, i) != trace.NoRef {
					kept[definition{t, r.Values[0]}] = true
				}
			}
		case t == Strings || t == InterruptGenerators || t == IOParadigms || t == SourceLocations || t == Paradigms,
			p.writtenDefinition(t, r.Values[0]) != trace.NoRef:
			kept[definition{t, r.Values[0]}] = true
		}
		if r.ID == defGroup && communicatingFirst(r) == 0 {
			_, paradigm, _ := groupOf(r.Values)
			communicating[paradigm] = r.Values[0]
		}
	}
	// stays reports whether a record must be written, and marks the definitions to which it refers.
	stays := func(r *Record) bool {
		own, has := ownTables[r.ID]
		table := definitionTypes[r.ID].fields[0].table
		switch {
		case r.ID == defClock:
		case has && !kept[definition{own, r.Values[0]}], !has && table != noTable && !kept[definition{table, r.Values[0]}]:
			return false
		}
		r.eachReference(func(t Table, i int) { kept[definition{t, r.Values[i]}] = true })
		if r.ID == defGroup {
			if _, paradigm, g := groupOf(r.Values); g.typ == commGroup || g.typ == commSelf {
				if id, ok := communicating[paradigm]; ok {
					kept[definition{Groups, id}] = true
				}
			}
		}
		return true
	}
	for before := -1; before < len(kept); {
		before = len(kept)
		// Most records refer to earlier definitions, so the loop goes backwards.
		for _, r := range slices.Backward(list) {
			stays(r)
		}
	}
	p.removed = map[definition]bool{}
	return slices.DeleteFunc(list, func(r *Record) bool {
		remove := !stays(r)
		if t, own := ownTables[r.ID]; own && remove {
			p.removed[definition{t, r.Values[0]}] = true
		}
		return remove
	})
}

// pruneStrings removes the strings to which no record and no event refers.
func (o *originalArchives) pruneStrings() {
	kept := map[uint64]bool{}
	for _, r := range o.records {
		r.eachReference(func(t Table, i int) { kept[r.Values[i]] = kept[r.Values[i]] || t == Strings })
	}
	o.records = slices.DeleteFunc(o.records, func(r *Record) bool {
		return r.ID == defString && !kept[r.Values[0]] && !o.referred[r.Values[0]]
	})
}
