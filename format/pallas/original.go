package pallas

import (
	"maps"
	"slices"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/trace"
)

// rewrittenTrace is the original of a Pallas trace that is rewritten. Its definitions and metadata are
// written unchanged, and its events keep their refs (docs/formats/pallas.md, "Rewriting a trace").
type rewrittenTrace struct {
	m        *model
	threads  map[uint32]threadID // threads of locations; indexed by location
	archives map[uint32]*archiveRefs
	records  map[trace.Kind]Record // records of the kinds that only Pallas has
	groups   map[uint32]uint32     // ids of location groups; indexed by group
	regions  map[uint32]Ref        // refs of the regions that a command has added
	attrs    map[uint32]Ref
	next     Ref // this ref and all greater refs are unused
}

// archiveRefs maps definitions of the trace to their refs in an archive.
type archiveRefs struct {
	s     *scope
	name  func(string) string // maps a text of the archive to its new text; nil if texts do not change
	refs  [refTables]map[uint32]Ref
	texts map[string]Ref
	peers map[Ref]map[uint64]uint32 // ranks of locations, by communicator
}

// refTables is the number of tables in a scope.
const refTables = 5

var scopeTables = [refTables]func(*scope) map[Ref]uint32{scopeRegions, scopeStrings, scopeComms, scopeSets,
	scopeAttributes}

// The tables of archiveRefs.refs and scopeTables.
const (
	regionRefs = iota
	textRefs
	communicatorRefs
	setRefs
	attributeRefs
)

// rewrite makes the encoder write the trace from which m was read, with the changes that were made
// since.
func (e *encoder) rewrite(m *model) {
	o := &rewrittenTrace{m: m, threads: map[uint32]threadID{}, archives: map[uint32]*archiveRefs{},
		records: map[trace.Kind]Record{}, groups: map[uint32]uint32{},
		regions: map[uint32]Ref{}, attrs: map[uint32]Ref{}}
	e.from = o
	for at, loc := range m.location {
		o.threads[loc] = at
	}
	for id, g := range m.groups {
		o.groups[g] = id
	}
	name := e.renaming(m)
	w := e.w
	w.Definitions, w.LocationGroups, w.Metadata, w.locations = *m.t.Definitions, m.t.LocationGroups,
		renamedValues(m.t.Metadata, name), m.t.Locations
	d := &w.Definitions // appending to the lists of d must not change the lists of the model
	d.Strings, d.Regions, d.Attributes = renamedStrings(d.Strings, name), slices.Clip(d.Regions), slices.Clip(d.Attributes)
	o.reserve(m.t.Definitions)
	for _, a := range m.archives {
		y := w.Archive(a.ID)
		y.Definitions, y.Metadata, y.groups = *a.Definitions, renamedValues(a.Metadata, name), a.groups
		y.Definitions.Strings = renamedStrings(a.Definitions.Strings, name)
		y.locations = append(slices.Clone(a.Locations[:a.ownCount]), a.Locations[a.ownCount+a.mainCount:]...)
		o.archives[a.ID] = &archiveRefs{s: m.scopes[a.ID], name: name, peers: map[Ref]map[uint64]uint32{}}
		o.reserve(a.Definitions)
	}
}

// renaming returns the function that maps texts of the trace to new texts, or nil if texts do not change. It
// treats the names of attributes as keywords (see [trace.Definitions]).
func (e *encoder) renaming(m *model) func(text string) string {
	rename := e.defs.Rename
	if rename == nil {
		return nil
	}
	words := map[string]bool{}
	note := func(d *Definitions) {
		for _, a := range d.Attributes {
			if text, ok := d.Text(a.Name); ok {
				words[text] = true
			}
		}
	}
	note(m.t.Definitions)
	for _, a := range m.archives {
		note(a.Definitions)
	}
	return func(text string) string { return rename(trace.ToUTF8(text), words[text]) }
}

func renamedStrings(l []String, name func(string) string) []String {
	if name == nil {
		return slices.Clip(l)
	}
	l = slices.Clone(l)
	for i := range l {
		l[i].Text = name(l[i].Text)
	}
	return slices.Clip(l)
}

func renamedValues(l []Metadata, name func(string) string) []Metadata {
	if name == nil {
		return l
	}
	l = slices.Clone(l)
	for i := range l {
		l[i].Value = name(l[i].Value)
	}
	return l
}

// reserve marks the refs of the definitions d as used.
func (o *rewrittenTrace) reserve(d *Definitions) {
	use := func(r Ref) {
		if r < 1<<31 {
			o.next = max(o.next, r+1)
		}
	}
	for _, x := range d.Strings {
		use(x.Ref)
	}
	for _, x := range d.Regions {
		use(x.Ref)
	}
	for _, x := range d.Attributes {
		use(x.Ref)
	}
}

// computeRefs finds the refs of all definitions in the model.
func (v *archiveRefs) computeRefs(m *model) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v.texts = map[string]Ref{}
	for t, table := range scopeTables {
		v.refs[t] = map[uint32]Ref{}
		for s := v.s; s != nil; s = s.outer {
			for r, i := range table(s) {
				if known, _ := lookUp(v.s, table, r); known == i {
					v.refs[t][i] = r
				}
			}
		}
	}
	for d := v.s.d; d != nil; d = d.global {
		for _, x := range d.Strings {
			if text, _ := v.s.d.Text(x.Ref); text == x.Text {
				if v.name != nil {
					text = v.name(text)
				}
				if _, twice := v.texts[text]; !twice {
					v.texts[text] = x.Ref
				}
			}
		}
	}
}

// ref returns the ref of a definition in a table. ok is false if the archive has no ref for it.
func (v *archiveRefs) ref(m *model, table int, i uint64) (r Ref, ok bool) {
	if v.refs[table] == nil {
		v.computeRefs(m)
	}
	if i >= uint64(trace.NoRef) {
		return NoRef, false
	}
	if r, ok = v.refs[table][uint32(i)]; !ok {
		v.computeRefs(m) // the model may have gained a stand-in
		r, ok = v.refs[table][uint32(i)]
	}
	return r, ok
}

// rank returns the rank of a location in a communicator. It is the inverse of [model.peer].
func (v *archiveRefs) rank(m *model, comm Ref, loc uint64) (uint32, bool) {
	known, ok := v.peers[comm]
	if !ok {
		known = map[uint64]uint32{}
		note := func(rank uint32) {
			if l := m.peer(v.s, comm, uint64(rank)); l != trace.Undefined {
				if _, twice := known[l]; !twice {
					known[l] = rank
				}
			}
		}
		if c := v.s.d.Comm(comm); c == nil {
			for _, id := range slices.Sorted(maps.Keys(m.first)) {
				note(id)
			}
		} else if g := v.s.d.Group(c.Group); g != nil {
			for rank := range g.Members {
				note(uint32(rank))
			}
		}
		v.peers[comm] = known
	}
	rank, ok := known[loc]
	return rank, ok
}

// textRef returns the ref of a text in the archive of v. It defines the text if the archive does not have it.
func (e *encoder) textRef(v *archiveRefs, text string) Ref {
	if v.texts == nil {
		v.computeRefs(e.from.m)
	}
	if r, ok := v.texts[text]; ok {
		return r
	}
	return e.string(text)
}

// regionRef returns the ref of a region. It defines a region that a command has added.
func (e *encoder) regionRef(v *archiveRefs, i uint32) Ref {
	return e.from.refOf(v, regionRefs, i, e.from.regions, func(r Ref) {
		e.w.Definitions.Regions = append(e.w.Definitions.Regions, Region{r, e.string(e.defs.Regions.At(i).Name)})
	})
}

// attributeRef returns the ref of an attribute. It defines an attribute that a command has added.
func (e *encoder) attributeRef(v *archiveRefs, i uint32) Ref {
	return e.from.refOf(v, attributeRefs, i, e.from.attrs, func(r Ref) {
		a, t := e.defs.Attributes.At(i), StringValue
		if a.Type <= trace.LocationGroupRef {
			t = AttributeType(a.Type)
		}
		e.w.Definitions.Attributes = append(e.w.Definitions.Attributes, Attribute{r, e.string(a.Name), e.string(a.Doc), t})
	})
}

// refOf returns the ref of a definition in a table. If no archive has the definition, refOf assigns a
// new ref, and calls define the first time.
func (o *rewrittenTrace) refOf(v *archiveRefs, table int, i uint32, added map[uint32]Ref, define func(Ref)) Ref {
	if r, ok := added[i]; ok {
		return r
	}
	r, ok := v.ref(o.m, table, uint64(i))
	if !ok {
		r = o.next
		o.next++
		added[i] = r
		define(r)
	}
	return r
}

// originalRecord returns the record from which a row was read, and its attributes. It stores the payload in
// e.payload.
func (e *encoder) originalRecord(c *trace.Cursor, archive uint32) (record Record, attributes []Value) {
	o := e.from
	v := o.archives[archive]
	keys, values := c.Attrs()
	own := func(key uint32) *trace.Value { // returns the value of an attribute that the model has added
		if i := slices.Index(keys, key); i >= 0 && key != trace.NoRef {
			return &values[i]
		}
		return nil
	}
	for i, k := range keys {
		if k != o.m.payload && k != o.m.rank && k != o.m.comm {
			attributes = append(attributes, Value{e.attributeRef(v, k), e.valueOf(v, &values[i])})
		}
	}
	ops := c.Ops()
	small := func(i int) uint32 {
		if i < len(ops) && ops[i] < uint64(NoRef) {
			return uint32(ops[i])
		}
		return NoRef
	}
	communicator := func(i int) Ref {
		if i < len(ops) {
			if r, ok := v.ref(o.m, communicatorRefs, ops[i]); ok {
				return r
			}
		}
		if given := own(o.m.comm); given != nil {
			return Ref(given.Num)
		}
		return NoRef
	}
	switch k := c.Kind(); k {
	case trace.Enter, trace.Leave:
		if c.Ref() != trace.NoRef {
			e.payload = le32(e.payload[:0], e.regionRef(v, c.Ref()))
			return Enter + Record(k-trace.Enter), attributes
		}
	case trace.Send, trace.SendBegin, trace.Recv, trace.RecvComplete:
		comm := communicator(1)
		rank, ok := NoRef, false
		if given := own(o.m.rank); given != nil {
			rank = uint32(given.Num)
		} else if len(ops) > 0 && ops[0] != trace.Undefined {
			if rank, ok = v.rank(o.m, comm, ops[0]); !ok {
				rank = NoRef
				e.loss.Add(k.Spec().Name, "rank", format.Degraded,
					"the location is not a member of the communicator", 1)
			}
		}
		n := 4
		if k == trace.SendBegin || k == trace.RecvComplete {
			n = 5
		}
		var wide [5]uint64
		copy(wide[:], ops)
		e.payload = le64(le32(e.payload[:0], rank, comm, small(2)), wide[3:n]...)
		return ownRecords[k], attributes
	case trace.CollectiveEnd:
		var wide [5]uint64
		copy(wide[:], ops)
		e.payload = le64(le32(e.payload[:0], small(0), communicator(1), small(2)), wide[3:]...)
		return MPICollectiveEnd, attributes
	case trace.Generic:
		if r, ok := v.ref(o.m, textRefs, uint64(c.Ref())); ok {
			e.payload = le32(e.payload[:0], r)
			return Generic, attributes
		}
	default:
		if k >= trace.Declared {
			if r, ok := o.record(k); ok {
				if e.payload = e.payload[:0]; own(o.m.payload) != nil {
					e.payload = append(e.payload, own(o.m.payload).Str...)
				}
				return r, attributes
			}
		} else if record, _ := e.ownRecord(c, c.Ops()); record != Generic {
			return record, attributes
		}
	}
	e.loss.Add(e.defs.Spec(c.Kind()).Name, "", format.Degraded,
		"written as a GENERIC event with the name of the kind", 1)
	e.payload = le32(e.payload[:0], e.textRef(v, carrier.Label(e.defs, c)))
	return Generic, attributes
}

// record returns the record from which events of a kind were read, if only Pallas has that kind.
func (o *rewrittenTrace) record(k trace.Kind) (Record, bool) {
	r, ok := o.records[k]
	if !ok {
		o.m.mu.Lock()
		defer o.m.mu.Unlock()
		for r, k := range o.m.kinds {
			o.records[k] = r
		}
		r, ok = o.records[k]
	}
	return r, ok
}

// valueOf returns the bytes of a value. It is the inverse of [model.value].
func (e *encoder) valueOf(v *archiveRefs, x *trace.Value) []byte {
	m := e.from.m
	ref := func(table int) []byte {
		r, ok := v.ref(m, table, x.Num)
		if !ok {
			r = NoRef
		}
		return le32(nil, r)
	}
	switch x.Type {
	case trace.None:
		if x.Num == 0 {
			return nil
		}
	case trace.Uint8, trace.Int8:
		return []byte{byte(x.Num)}
	case trace.Uint16, trace.Int16:
		return le32(nil, uint32(x.Num))[:2]
	case trace.Uint32, trace.Int32, trace.Float32:
		return le32(nil, uint32(x.Num))
	case trace.String:
		return le32(nil, e.textRef(v, x.Str))
	case trace.Bytes:
		return []byte(x.Str)
	case trace.LocationRef:
		if at, ok := e.from.threads[uint32(x.Num)]; ok {
			return le32(nil, at.id)
		}
		return le32(nil, NoRef)
	case trace.LocationGroupRef:
		if id, ok := e.from.groups[uint32(x.Num)]; ok {
			return le32(nil, id)
		}
		return le32(nil, NoRef)
	case trace.RegionRef:
		return le32(nil, e.regionRef(v, uint32(x.Num)))
	case trace.GroupRef:
		return ref(setRefs)
	case trace.CommRef:
		return ref(communicatorRefs)
	case trace.AttributeRef:
		return ref(attributeRefs)
	}
	return le64(nil, x.Num)
}

// closeRewritten writes the threads that have no events, and the files of the trace.
func (e *encoder) closeRewritten() error {
	for _, at := range e.from.m.threads {
		if _, err := e.thread(e.from.m.location[at]); err != nil {
			return err
		}
	}
	return e.finish()
}
