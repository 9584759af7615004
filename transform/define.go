package transform

import (
	"strconv"
	"strings"

	"github.com/weft-trace/weft/trace"
)

// table identifies a table of definitions. The values are in the order in which tables are copied: a
// table comes after those to which its entries refer.
type table int

const (
	noTable table = iota
	groups
	locations
	regions
	sets
	communicators
	metrics
	resources
	attributes
	kinds
	parameters
	windows
	contexts
	files
	handles
	markers
	texts
	tableCount
)

// definer copies definitions of one trace to another one, together with all definitions to which they
// refer. It also translates the references of events. It copies an entry when it is first needed.
type definer struct {
	src    *trace.Definitions
	tables tables // the tables of src
	into   *target
	index  [tableCount][]uint32 // by index in src: the index in the target, or unmapped
	ids    map[int64]uint32     // locations of src, by the number that the file itself gives them
	series map[string]uint32    // groups of time series of src, by id
	// undefinedGroups maps the ids of groups of time series that src does not define to new ids.
	undefinedGroups map[string]string
	// edit changes the copy of an entry before the target is searched for an equal entry. A nil edit
	// changes nothing.
	edit func(v any)
	// variants holds numbers for entries of src, by table and index. Equal entries become one only if
	// their numbers are equal. All other entries have the number 0.
	variants map[entryKey]int
}

// entryKey identifies an entry of a table.
type entryKey struct {
	table table
	index uint32
}

// target is the trace to which definitions are copied.
type target struct {
	defs   *trace.Definitions
	tables tables
	// edit changes an entry before it is added. A nil edit changes nothing.
	edit func(t table, v any)
	// same returns a key that equal entries share, or "" for entries that are always added.
	same func(t table, v any) string
	// whole is set if entries keep their ids, even if several have the same one.
	whole bool
	// found holds the entries by their key from same. ids holds the ids in use.
	found [tableCount]map[string]uint32
	ids   [tableCount]map[string]bool
	most  [tableCount]map[string]int64 // for a text before a number at the end of ids: the greatest such number
}

// unmapped is the index in place of an entry that has not been copied.
const unmapped = trace.NoRef

func newDefiner(src *trace.Definitions, into *target) *definer {
	into.tables = tablesOf(into.defs)
	return &definer{src: src, into: into, tables: tablesOf(src)}
}

// tables holds the tables of definitions. Each is a *trace.Table.
type tables [tableCount]interface{ Len() int }

// tablesOf returns the tables of a trace.
func tablesOf(d *trace.Definitions) tables {
	return tables{noTable: &trace.Table[trace.Named]{}, locations: &d.Locations, groups: &d.Groups, regions: &d.Regions,
		communicators: &d.Communicator, sets: &d.Sets, metrics: &d.Metrics, resources: &d.Resources,
		attributes: &d.Attributes,
		kinds:      &d.Kinds, parameters: &d.Parameters, windows: &d.Windows, contexts: &d.Contexts, files: &d.Files,
		handles: &d.Handles, markers: &d.Markers, texts: &d.Strings}
}

// length returns the current number of entries in a table of src.
func (m *definer) length(t table) int { return m.tables[t].Len() }

// copyAll copies all entries that have not been copied yet, in the order of the tables.
func (m *definer) copyAll() {
	for t := groups; t < tableCount; t++ {
		for i := range m.length(t) {
			m.lookup(t, uint32(i))
		}
	}
}

// lookup returns the index in the target of entry i of a table of src. It copies the entry if
// necessary. It returns NoRef if there is no such entry.
func (m *definer) lookup(t table, i uint32) uint32 {
	l := m.index[t]
	if int(i) < len(l) && l[i] != unmapped {
		return l[i]
	}
	n := m.length(t)
	if int(i) >= n {
		return trace.NoRef
	}
	for len(l) < n {
		l = append(l, unmapped)
	}
	m.index[t] = l
	x := m.copy(t, i)
	m.index[t][i] = x
	return x
}

// mapped returns the index in the target of entry i of a table of src, given the address of the table.
// It returns NoRef if the entry has not been copied.
func (m *definer) mapped(table any, i uint32) uint32 {
	for t, x := range m.tables {
		if x == table && i < uint32(len(m.index[t])) {
			return m.index[t][i]
		}
	}
	return trace.NoRef
}

// native returns the native form of the target's definitions. pruned is set if entries were left out.
// In that case, a form that can leave out records becomes [trace.SourceTraces].
func (m *definer) native(pruned bool) any {
	parts, ok := m.src.Native.(*trace.SourceTraces)
	if !ok {
		if _, joinable := m.src.Native.(trace.Joinable); !pruned || !joinable {
			return m.src.Native
		}
		return &trace.SourceTraces{List: []trace.SourceTrace{{Defs: m.src, Retimed: m.src.Retimed, Index: m.mapped,
			Time: func(t int64) (int64, bool) { return t, true }, Operation: func(n uint64) uint64 { return n }}}}
	}
	copied := &trace.SourceTraces{First: parts.First}
	for _, p := range parts.List {
		own, index := tablesOf(p.Defs), p.Index
		p.Index = func(table any, i uint32) uint32 {
			for t, x := range own {
				if x == table {
					return m.mapped(m.tables[t], index(table, i))
				}
			}
			return trace.NoRef
		}
		copied.List = append(copied.List, p)
	}
	return copied
}

// copy copies an entry and returns its index. It cuts cycles of references, which only invalid
// traces have.
func (m *definer) copy(t table, i uint32) uint32 {
	switch t {
	case texts:
		return copyEntry[string](m, t, i, nil, nil)
	case locations:
		return copyEntry(m, t, i, func(v *trace.Location) *string { return &v.ID }, func(v *trace.Location) {
			v.Group, v.Attrs = m.lookup(groups, v.Group), m.attrs(v.Attrs)
		})
	case groups:
		return copyEntry(m, t, i, func(v *trace.LocationGroup) *string { return &v.ID }, func(v *trace.LocationGroup) {
			if v.Parent == i || m.hasCycle(i) {
				v.Parent = trace.NoRef
			}
			v.Parent, v.Attrs = m.lookup(groups, v.Parent), m.attrs(v.Attrs)
		})
	case regions:
		return copyEntry(m, t, i, func(v *trace.Region) *string { return &v.ID },
			func(v *trace.Region) { v.Attrs = m.attrs(v.Attrs) })
	case communicators:
		return copyEntry(m, t, i, func(v *trace.Communicator) *string { return &v.ID }, func(v *trace.Communicator) {
			if v.Parent >= i {
				v.Parent = trace.NoRef // parents are copied before their children
			}
			v.Set, v.Parent, v.Attrs = m.lookup(sets, v.Set), m.lookup(communicators, v.Parent), m.attrs(v.Attrs)
		})
	case sets:
		return copyEntry(m, t, i, func(v *trace.Set) *string { return &v.ID }, func(v *trace.Set) {
			m.members(v)
			v.Attrs = m.attrs(v.Attrs)
		})
	case metrics:
		return copyEntry(m, t, i, func(v *trace.MetricDef) *string { return &v.ID }, func(v *trace.MetricDef) {
			v.Location, v.Attrs = m.lookup(locations, v.Location), m.attrs(v.Attrs)
			if v.Kind == trace.SeriesMetric {
				v.ID = m.seriesID(v.ID)
			}
		})
	case resources:
		return copyEntry(m, t, i, func(v *trace.Resource) *string { return &v.ID }, func(v *trace.Resource) {
			v.Location, v.Attrs = m.lookup(locations, v.Location), m.attrs(v.Attrs)
		})
	case attributes:
		return copyEntry(m, t, i, func(v *trace.AttributeDef) *string { return &v.ID }, nil)
	case kinds:
		return copyEntry[trace.KindDef](m, t, i, nil, nil)
	}
	return copyEntry(m, t, i, func(v *trace.Named) *string { return &v.ID },
		func(v *trace.Named) { v.Attrs = m.attrs(v.Attrs) })
}

// copyEntry adds a copy of entry i of a table to the target, and returns its index. translate
// translates the references of the copy. id returns the address of its id, and is nil for entries
// without ids.
func copyEntry[T any](m *definer, t table, i uint32, id func(*T) *string, translate func(*T)) uint32 {
	v := *m.tables[t].(*trace.Table[T]).At(i)
	if translate != nil {
		translate(&v)
	}
	if m.edit != nil {
		m.edit(&v)
	}
	return put(m.into, t, v, m.variants[entryKey{t, i}], id)
}

// hasCycle reports whether a group is its own ancestor.
func (m *definer) hasCycle(i uint32) bool {
	g := m.src.Groups.At(i).Parent
	for range m.src.Groups.Len() {
		if g == i {
			return true
		}
		if !m.src.Groups.Has(g) {
			return false
		}
		g = m.src.Groups.At(g).Parent
	}
	return false
}

// seriesID returns the id of a time series, GROUP/SERIES, with the id that its group has in the target.
// A group without a definition gets an id that no other group has.
func (m *definer) seriesID(id string) string {
	group, series, ok := strings.Cut(id, "/")
	if !ok || m.into.whole {
		return id
	}
	if m.series == nil {
		m.series, m.undefinedGroups = map[string]uint32{}, map[string]string{}
		for i := range m.src.Groups.Len() {
			if g := m.src.Groups.At(uint32(i)); g.Kind == "time series" {
				m.series[g.ID] = uint32(i)
			}
		}
	}
	if i, ok := m.series[group]; ok {
		return m.into.defs.Groups.At(m.lookup(groups, i)).ID + "/" + series
	}
	if _, ok := m.undefinedGroups[group]; !ok {
		m.undefinedGroups[group] = m.into.unused(groups, "", group)
	}
	return m.undefinedGroups[group] + "/" + series
}

// unused returns an id that is not in use: id, if possible; otherwise the text before with the number
// after the greatest one that has followed it so far.
func (to *target) unused(t table, before, id string) string {
	if to.ids[t] == nil {
		to.ids[t], to.most[t] = map[string]bool{}, map[string]int64{}
	}
	most, ok := to.most[t][before]
	if !ok {
		most = -1
	}
	if to.ids[t][id] {
		id = before + strconv.FormatInt(most+1, 10)
	}
	to.ids[t][id] = true
	if n, err := strconv.ParseInt(strings.TrimPrefix(id, before), 10, 64); err == nil && n < 1<<62 {
		to.most[t][before] = max(most, n)
	}
	return id
}

// put adds an entry to a table, unless the table has an equal one with the same variant. It returns the
// index of the entry. If the id is in use, it replaces the id.
func put[T any](to *target, t table, v T, variant int, id func(*T) *string) uint32 {
	key := ""
	if to.same != nil {
		key = to.same(t, &v)
	}
	if key != "" && variant > 0 {
		key += strconv.Itoa(variant)
	}
	if key != "" {
		if i, ok := to.found[t][key]; ok {
			return i
		}
	}
	if to.edit != nil {
		to.edit(t, &v)
	}
	if id != nil && !to.whole {
		if p := id(&v); *p != "" {
			before := ""
			switch m := any(&v).(type) {
			case *trace.MetricDef:
				if m.Kind == trace.SeriesMetric {
					before = m.ID[:strings.LastIndexByte(m.ID, '/')+1]
				}
			case *trace.LocationGroup:
				if strings.HasPrefix(m.ID, nodePrefix) {
					before = nodePrefix
				}
			}
			*p = to.unused(t, before, *p)
		}
	}
	i := to.tables[t].(*trace.Table[T]).Add(v)
	if key != "" {
		setElement(&to.found[t], key, i)
	}
	return i
}

// attrs returns the attributes of a definition with translated references.
func (m *definer) attrs(l []trace.Attr) []trace.Attr {
	if len(l) == 0 {
		return l
	}
	out := make([]trace.Attr, len(l))
	for i, a := range l {
		a.Value = m.value(a.Value)
		out[i] = a
	}
	return out
}

// value returns a value, with its reference translated if it is one.
func (m *definer) value(v trace.Value) trace.Value {
	if t := valueTables[v.Type]; t != noTable && v.Num < uint64(m.length(t)) {
		v.Num = uint64(m.lookup(t, uint32(v.Num)))
	}
	return v
}

// Tables to which the values of a type, the Ref of a kind, and the operands of a type refer.
var (
	valueTables = [256]table{trace.AttributeRef: attributes, trace.LocationRef: locations, trace.RegionRef: regions,
		trace.GroupRef:  sets,
		trace.MetricRef: metrics, trace.CommRef: communicators, trace.ParameterRef: parameters, trace.WindowRef: windows,
		trace.CallingContextRef: contexts, trace.FileRef: files, trace.HandleRef: handles, trace.LocationGroupRef: groups}
	refTables = [256]table{trace.RefRegion: regions, trace.RefMetric: metrics, trace.RefCommunicator: communicators,
		trace.RefParameter: parameters, trace.RefWindow: windows, trace.RefContext: contexts, trace.RefHandle: handles,
		trace.RefFile: files, trace.RefMarker: markers, trace.RefString: texts}
	operandTables = [256]table{trace.OpString: texts, trace.OpLocation: locations, trace.OpRegion: regions,
		trace.OpCommunicator: communicators, trace.OpMetric: metrics, trace.OpResource: resources, trace.OpGroup: sets,
		trace.OpFile: files, trace.OpHandle: handles, trace.OpWindow: windows, trace.OpContext: contexts}
)

// members translates the members of a set. Members are numbers that the file gives to locations, ranks
// among the communicating locations, or numbers of regions or metrics.
func (m *definer) members(s *trace.Set) {
	if m.ids == nil {
		m.ids = map[int64]uint32{}
		for i := range m.src.Locations.Len() {
			if n, err := strconv.ParseInt(m.src.Locations.At(uint32(i)).ID, 10, 64); err == nil {
				m.ids[n] = uint32(i)
			}
		}
	}
	number := func(id string, old int64) int64 {
		if n, err := strconv.ParseInt(id, 10, 64); err == nil {
			return n
		}
		return old
	}
	list := make([]int64, len(s.Members))
	copy(list, s.Members)
	switch s.Kind {
	case "regions":
		for i, x := range list {
			for k := range m.src.Regions.Len() {
				if m.src.Regions.At(uint32(k)).ID == strconv.FormatInt(x, 10) {
					list[i] = number(m.into.defs.Regions.At(m.lookup(regions, uint32(k))).ID, x)
					break
				}
			}
		}
	case "metrics":
	case "ranks":
		if m.into.whole {
			break // all communicating locations are the same, and in the same order
		}
		var all []int64
		if x := m.src.Communicating(s); x != nil {
			all = x.Members
		}
		for i, x := range list {
			if all != nil && x >= 0 && x < int64(len(all)) {
				list[i] = all[x]
			}
		}
		if all != nil {
			s.Kind = "locations"
		}
		fallthrough
	default:
		for i, x := range list {
			if loc, ok := m.ids[x]; ok {
				list[i] = number(m.into.defs.Locations.At(m.lookup(locations, loc)).ID, x)
			}
		}
	}
	s.Members = list
}

// kind returns the kind in the target for a kind of src.
func (m *definer) kind(k trace.Kind) trace.Kind {
	if k < trace.Declared {
		return k
	}
	if i := m.lookup(kinds, uint32(k-trace.Declared)); i != trace.NoRef {
		return trace.Declared + trace.Kind(i)
	}
	return k
}

// rewrite makes out a batch with the references of the target. out shares the unchanged columns with b,
// and is valid until the next call.
func (m *definer) rewrite(b *trace.Batch, out *trace.Batch) {
	kinds, refs, ops, keys, vals, locs := out.Kind[:0], out.Ref[:0], out.Op[:0], out.AttrKey[:0], out.AttrVal[:0],
		out.Locs[:0]
	*out = *b
	if b.Loc != trace.MixedLoc {
		out.Loc = m.lookup(locations, b.Loc)
	}
	for _, l := range b.Locs {
		locs = append(locs, m.lookup(locations, l))
	}
	for i, k := range b.Kind {
		kinds = append(kinds, m.kind(k))
		ref := b.Ref[i]
		if ref != trace.NoRef {
			if t := refTables[m.src.Spec(k).Ref]; t != noTable {
				ref = m.lookup(t, ref)
			}
		}
		refs = append(refs, ref)
	}
	ops = append(ops, b.Op...)
	at := uint32(0)
	for i, row := range b.OpRow {
		spec := m.src.Spec(b.Kind[row])
		for n := range int(b.OpEnd[i] - at) {
			if n >= len(spec.Operands) && !spec.Variadic || len(spec.Operands) == 0 {
				break
			}
			t := operandTables[spec.Operands[min(n, len(spec.Operands)-1)].Type]
			if v := ops[int(at)+n]; t != noTable && v < uint64(m.length(t)) {
				ops[int(at)+n] = uint64(m.lookup(t, uint32(v)))
			}
		}
		at = b.OpEnd[i]
	}
	for i, k := range b.AttrKey {
		keys = append(keys, m.lookup(attributes, k))
		vals = append(vals, m.value(b.AttrVal[i]))
	}
	out.Kind, out.Ref, out.Op, out.AttrKey, out.AttrVal, out.Locs = kinds, refs, ops, keys, vals, locs
}

// links returns links with translated references.
func (m *definer) links(l []trace.Link) []trace.Link {
	out := make([]trace.Link, len(l))
	for i, x := range l {
		for _, e := range []*trace.End{&x.Src, &x.Dst} {
			if e.Location != trace.NoRef {
				e.Location = m.lookup(locations, e.Location)
			}
		}
		x.Attrs = m.attrs(x.Attrs)
		out[i] = x
	}
	return out
}
