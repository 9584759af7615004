package transform

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/weft-trace/weft/internal/forest"
	"github.com/weft-trace/weft/trace"
)

// table identifies a table of definitions. The values are in the order in which tables are copied: a table
// comes after the tables to which its entries refer.
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

// definer copies definitions from one trace to another trace. It copies an entry when the entry is first
// needed, together with all definitions to which the entry refers. It also translates the references of
// events.
type definer struct {
	src     *trace.Definitions
	members *trace.Memberships
	tables  tables        // the tables of src
	tree    forest.Forest // parents of the groups of src
	into    *target
	index   [tableCount][]uint32 // index in the target of each entry of src, or unmapped; indexed by index in src
	// locations and regions of src, by the number that the file itself gives to each; nil until needed
	locationNumbers, regionNumbers map[int64]uint32
	series                         map[string]uint32 // groups of time series of src, by id
	// scopes holds the entries of src to which markers can refer, by id. It is nil until needed.
	scopes [tableCount]map[string]uint32
	// undefinedGroups maps the ids of groups of time series that src does not define to new ids.
	undefinedGroups map[string]string
	// edit changes the copy of an entry before the target is searched for an equal entry. A nil edit
	// changes nothing.
	edit func(v any)
	// variants holds numbers for entries of src, by table and index. Equal entries become one entry only if
	// their numbers are equal. Entries that are not in the map have the number 0.
	variants map[entryKey]int
	// identical is the number of entries of each table, from the first one on, that are known to have the same
	// index in the target.
	identical [tableCount]int
	parent    *definer   // the definer that copies entries for a worker; nil for other definers
	mu        sync.Mutex // held while the definer copies an entry for a worker
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
	// whole is set if entries keep their ids, even if several entries have the same id.
	whole bool
	// found maps the keys that same returns to entries. ids holds the ids in use.
	found [tableCount]map[string]uint32
	ids   [tableCount]map[string]bool
	most  [tableCount]map[string]int64 // the greatest number at the end of an id, by the text before the number
	// metricGroups maps groups of metrics to those of the target, whose ids are in use in noTable.
	metricGroups map[string]string
}

// unmapped is the index in place of an entry that has not been copied.
const unmapped = trace.NoRef

// newDefiner returns a definer that copies definitions of src to a target.
func newDefiner(src *trace.Definitions, into *target) *definer {
	into.tables = tablesOf(into.defs)
	return &definer{src: src, members: src.Memberships(), into: into, tables: tablesOf(src)}
}

// tables holds the tables of definitions. Each element is a *trace.Table.
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
func (d *definer) length(t table) int { return d.tables[t].Len() }

// copyAll copies all entries that have not been copied yet, in the order of the tables.
func (d *definer) copyAll() {
	for t := groups; t < tableCount; t++ {
		for i := range d.length(t) {
			d.lookup(t, uint32(i))
		}
	}
}

// lookup returns the index in the target of entry i of a table of src. It copies the entry if necessary. It
// returns NoRef if the entry does not exist.
func (d *definer) lookup(t table, i uint32) uint32 {
	l := d.index[t]
	if int(i) < len(l) && l[i] != unmapped {
		return l[i]
	}
	n := d.length(t)
	if int(i) >= n {
		return trace.NoRef
	}
	for len(l) < n {
		l = append(l, unmapped)
	}
	d.index[t] = l
	x := uint32(unmapped)
	if d.parent != nil {
		d.parent.mu.Lock()
		x = d.parent.lookup(t, i)
		d.parent.mu.Unlock()
	} else {
		x = d.copy(t, i)
	}
	d.index[t][i] = x
	return x
}

// worker returns a definer that translates references in another goroutine. d must not be used until all
// workers have ended.
func (d *definer) worker() *definer {
	w := &definer{src: d.src, tables: d.tables, into: d.into, parent: d}
	for t := range d.index {
		w.index[t] = slices.Clone(d.index[t])
	}
	return w
}

// isIdentity reports whether all entries of src have been copied, and have the same indexes in the target.
// Events then need no translation.
func (d *definer) isIdentity() bool {
	for t := groups; t < tableCount; t++ {
		n := d.length(t)
		if len(d.index[t]) < n {
			return false
		}
		for ; d.identical[t] < n; d.identical[t]++ {
			if d.index[t][d.identical[t]] != uint32(d.identical[t]) {
				return false
			}
		}
	}
	return true
}

// mappedIndex returns the index in the target of entry i of a table of src. It returns NoRef if the entry has
// not been copied. The parameter table is a pointer to the table.
func (d *definer) mappedIndex(table any, i uint32) uint32 {
	for t, x := range d.tables {
		if x == table && i < uint32(len(d.index[t])) {
			return d.index[t][i]
		}
	}
	return trace.NoRef
}

// native returns the native form of the target's definitions. pruned is set if entries were left out.
// In that case, a form that can leave out records becomes [trace.SourceTraces].
func (d *definer) native(pruned bool) any {
	parts, ok := d.src.Native.(*trace.SourceTraces)
	if !ok {
		if _, joinable := d.src.Native.(trace.Joinable); !pruned || !joinable {
			return d.src.Native
		}
		return &trace.SourceTraces{List: []trace.SourceTrace{{Defs: d.src, Retimed: d.src.Retimed, Index: d.mappedIndex,
			Time: func(t int64) (int64, bool) { return t, true }, Operation: func(n uint64) uint64 { return n }}}}
	}
	copied := &trace.SourceTraces{First: parts.First}
	for _, p := range parts.List {
		own, index := tablesOf(p.Defs), p.Index
		p.Index = func(table any, i uint32) uint32 {
			for t, x := range own {
				if x == table {
					return d.mappedIndex(d.tables[t], index(table, i))
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
func (d *definer) copy(t table, i uint32) uint32 {
	switch t {
	case texts:
		return copyEntry[string](d, t, i, nil, nil)
	case locations:
		return copyEntry(d, t, i, func(v *trace.Location) *string { return &v.ID }, func(v *trace.Location) {
			v.Group, v.Attrs = d.lookup(groups, v.Group), d.attrs(v.Attrs)
		})
	case groups:
		return copyEntry(d, t, i, func(v *trace.LocationGroup) *string { return &v.ID }, func(v *trace.LocationGroup) {
			if d.src.Groups.Has(v.Parent) && !d.tree.Add(i, v.Parent) {
				v.Parent = trace.NoRef
			}
			v.Parent, v.Attrs = d.lookup(groups, v.Parent), d.attrs(v.Attrs)
		})
	case regions:
		return copyEntry(d, t, i, func(v *trace.Region) *string { return &v.ID },
			func(v *trace.Region) { v.Attrs = d.attrs(v.Attrs) })
	case communicators:
		return copyEntry(d, t, i, func(v *trace.Communicator) *string { return &v.ID }, func(v *trace.Communicator) {
			if v.Parent >= i {
				v.Parent = trace.NoRef // parents are copied before their children
			}
			v.Set, v.Parent, v.Attrs = d.lookup(sets, v.Set), d.lookup(communicators, v.Parent), d.attrs(v.Attrs)
		})
	case sets:
		return copyEntry(d, t, i, func(v *trace.Set) *string { return &v.ID }, func(v *trace.Set) {
			d.translateMembers(v)
			v.Attrs = d.attrs(v.Attrs)
		})
	case metrics:
		return copyEntry(d, t, i, func(v *trace.MetricDef) *string { return &v.ID }, func(v *trace.MetricDef) {
			v.Location, v.Attrs = d.lookup(locations, v.Location), d.attrs(v.Attrs)
			if v.Kind == trace.SeriesMetric {
				v.ID = d.seriesID(v.ID)
			}
		})
	case resources:
		return copyEntry(d, t, i, func(v *trace.Resource) *string { return &v.ID }, func(v *trace.Resource) {
			v.Location, v.Attrs = d.lookup(locations, v.Location), d.attrs(v.Attrs)
		})
	case attributes:
		return copyEntry(d, t, i, func(v *trace.AttributeDef) *string { return &v.ID }, nil)
	case kinds:
		return copyEntry[trace.KindDef](d, t, i, nil, nil)
	}
	return copyEntry(d, t, i, func(v *trace.Named) *string { return &v.ID },
		func(v *trace.Named) { v.Attrs = d.attrs(v.Attrs) })
}

// copyEntry adds a copy of entry i of a table to the target, and returns its index. translate translates the
// references of the copy. The function id returns the address of an entry's id. It is nil for tables without
// ids.
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

// seriesID returns the id of a time series, GROUP/SERIES, in which GROUP is the id of the group in the target.
// A group without a definition gets an id that no other group has.
func (d *definer) seriesID(id string) string {
	group, series, ok := strings.Cut(id, "/")
	if !ok || d.into.whole {
		return id
	}
	if d.series == nil {
		d.series, d.undefinedGroups = map[string]uint32{}, map[string]string{}
		for i := range d.src.Groups.Len() {
			if g := d.src.Groups.At(uint32(i)); g.Kind == "time series" {
				d.series[g.ID] = uint32(i)
			}
		}
	}
	if i, ok := d.series[group]; ok {
		return d.into.defs.Groups.At(d.lookup(groups, i)).ID + "/" + series
	}
	if _, ok := d.undefinedGroups[group]; !ok {
		d.undefinedGroups[group] = d.into.unusedID(groups, "", group)
	}
	return d.undefinedGroups[group] + "/" + series
}

// unusedID returns an id that is not in use. It returns id if possible. Otherwise it returns the text before
// followed by a number: the greatest number that has followed this text so far, plus one.
func (ta *target) unusedID(t table, before, id string) string {
	if ta.ids[t] == nil {
		ta.ids[t], ta.most[t] = map[string]bool{}, map[string]int64{}
	}
	most, ok := ta.most[t][before]
	if !ok {
		most = -1
	}
	if ta.ids[t][id] {
		id = before + strconv.FormatInt(most+1, 10)
	}
	ta.ids[t][id] = true
	if n, err := strconv.ParseInt(strings.TrimPrefix(id, before), 10, 64); err == nil && n < 1<<62 {
		ta.most[t][before] = max(most, n)
	}
	return id
}

// memberID returns the id of a member of a group of metrics, GROUP/MEMBER, as it is added to the target. If the id of
// the first member is in use, all members of the group get a group that is not in use.
func (ta *target) memberID(id string) string {
	group, member, ok := strings.Cut(id, "/")
	if !ok {
		return id
	}
	if ta.metricGroups == nil {
		ta.metricGroups = map[string]string{}
	}
	if member == "0" {
		ta.metricGroups[group] = ta.unusedID(noTable, "", group)
	}
	return cmp.Or(ta.metricGroups[group], group) + "/" + member
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
				if to.defs.Conventions.MetricMembers {
					*p = to.memberID(*p)
				} else if m.Kind == trace.SeriesMetric {
					before = m.ID[:strings.LastIndexByte(m.ID, '/')+1]
				}
			case *trace.LocationGroup:
				if strings.HasPrefix(m.ID, nodePrefix) {
					before = nodePrefix
				}
			}
			*p = to.unusedID(t, before, *p)
		}
	}
	i := to.tables[t].(*trace.Table[T]).Add(v)
	if key != "" {
		setElement(&to.found[t], key, i)
	}
	return i
}

// attrs returns the attributes of a definition, with translated references.
func (d *definer) attrs(l []trace.Attr) []trace.Attr {
	if len(l) == 0 {
		return l
	}
	out := make([]trace.Attr, len(l))
	for i, a := range l {
		a.Value = d.value(a.Value)
		out[i] = a
	}
	return out
}

// value returns a value. If the value is a reference, value translates it.
func (d *definer) value(v trace.Value) trace.Value {
	if t := valueTables[v.Type]; t != noTable && v.Num < uint64(d.length(t)) {
		v.Num = uint64(d.lookup(t, uint32(v.Num)))
	}
	return v
}

// The tables to which the values of a type, the Ref of a kind, and the operands of a type refer.
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

// translateMembers translates the members of a set. Members are the file's own numbers of locations, ranks
// among the communicating locations, or numbers of regions or metrics.
func (d *definer) translateMembers(s *trace.Set) {
	if d.locationNumbers == nil {
		d.locationNumbers = d.src.Locations.ByNumber(func(l *trace.Location) string { return l.ID })
	}
	number := func(id string, old int64) int64 {
		if n, err := strconv.ParseInt(id, 10, 64); err == nil {
			return n
		}
		return old
	}
	list := slices.Clone(s.Members)
	switch s.Kind {
	case "regions":
		if d.regionNumbers == nil {
			d.regionNumbers = d.src.Regions.ByNumber(func(r *trace.Region) string { return r.ID })
		}
		for i, x := range list {
			if region, ok := d.regionNumbers[x]; ok {
				list[i] = number(d.into.defs.Regions.At(d.lookup(regions, region)).ID, x)
			}
		}
	case "metrics":
	case "ranks":
		if d.into.whole {
			break // the communicating locations and their order do not change
		}
		var all []int64
		if x := d.members.Communicating(s); x != nil {
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
			if loc, ok := d.locationNumbers[x]; ok {
				list[i] = number(d.into.defs.Locations.At(d.lookup(locations, loc)).ID, x)
			}
		}
	}
	s.Members = list
}

// kind returns the kind in the target that corresponds to a kind of src.
func (d *definer) kind(k trace.Kind) trace.Kind {
	if k < trace.Declared {
		return k
	}
	if i := d.lookup(kinds, uint32(k-trace.Declared)); i != trace.NoRef {
		return trace.Declared + trace.Kind(i)
	}
	return k
}

// rewrite makes out a copy of the batch b with the references of the target. out shares the unchanged columns
// with b, and is valid until the next call.
func (d *definer) rewrite(b *trace.Batch, out *trace.Batch) {
	kinds, refs, ops, keys, vals, locs := out.Kind[:0], out.Ref[:0], out.Op[:0], out.AttrKey[:0], out.AttrVal[:0],
		out.Locs[:0]
	*out = *b
	if b.Loc != trace.MixedLoc {
		out.Loc = d.lookup(locations, b.Loc)
	}
	for _, l := range b.Locs {
		locs = append(locs, d.lookup(locations, l))
	}
	for i, k := range b.Kind {
		kinds = append(kinds, d.kind(k))
		ref := b.Ref[i]
		if ref != trace.NoRef {
			if t := refTables[d.src.Spec(k).Ref]; t != noTable {
				ref = d.lookup(t, ref)
			}
		}
		refs = append(refs, ref)
	}
	ops = append(ops, b.Op...)
	at := uint32(0)
	for i, row := range b.OpRow {
		spec := d.src.Spec(b.Kind[row])
		for n := range int(b.OpEnd[i] - at) {
			if n >= len(spec.Operands) && !spec.Variadic || len(spec.Operands) == 0 {
				break
			}
			t := operandTables[spec.Operands[min(n, len(spec.Operands)-1)].Type]
			if v := ops[int(at)+n]; t != noTable && v < uint64(d.length(t)) {
				ops[int(at)+n] = uint64(d.lookup(t, uint32(v)))
			}
		}
		at = b.OpEnd[i]
	}
	for i, k := range b.AttrKey {
		keys = append(keys, d.lookup(attributes, k))
		vals = append(vals, d.value(b.AttrVal[i]))
	}
	out.Kind, out.Ref, out.Op, out.AttrKey, out.AttrVal, out.Locs = kinds, refs, ops, keys, vals, locs
}

// links returns links with translated references.
func (d *definer) links(l []trace.Link) []trace.Link {
	out := make([]trace.Link, len(l))
	for i, x := range l {
		for _, e := range []*trace.End{&x.Src, &x.Dst} {
			if e.Location != trace.NoRef {
				e.Location = d.lookup(locations, e.Location)
			}
		}
		x.Attrs = d.attrs(x.Attrs)
		out[i] = x
	}
	return out
}
