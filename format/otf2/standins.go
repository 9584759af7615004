package otf2

import (
	"fmt"
	"maps"
	"slices"
)

// reserve keeps the ids of strings that a definition names, defined or not, from becoming ids of added strings.
func (o *originalArchives) reserve(r *Record) {
	r.eachString(func(id uint64) { o.added.next[Strings] = max(o.added.next[Strings], id+1) })
}

// eachString calls do for each string that a definition names, by its id.
func (r *Record) eachString(do func(id uint64)) {
	if typeByID(definitionTypes[:], r.ID) == nil { // of a later version of OTF2
		return
	}
	r.eachReference(func(t Table, i int) {
		if v := r.Values[i]; t == Strings && v < undefined32 {
			do(v)
		}
	})
}

// eachDefinition calls do for each definition of the archive. The record is valid until do returns.
func (m *model) eachDefinition(do func(r *Record)) {
	m.a.Definitions(func(_ int64, r *Record) error { // the decoder reports damaged records
		do(r)
		return nil
	})
}

// missingStrings returns the ids of strings that definitions name and that names lacks, sorted.
func missingStrings(names *names, eachDefinition func(do func(r *Record))) []uint64 {
	missing := map[uint64]bool{}
	eachDefinition(func(r *Record) {
		r.eachString(func(id uint64) {
			if !names.has(Strings, id) {
				missing[id] = true
			}
		})
	})
	return slices.Sorted(maps.Keys(missing))
}

// defineMissingStrings defines the strings that definitions name and that the archive does not have. Readers such as
// those of Python resolve a reference when they read it, so the strings precede the definitions.
func (e *encoder) defineMissingStrings() {
	for _, id := range missingStrings(e.original.names, e.original.eachDefinition) {
		e.writeString(id, fmt.Sprintf("undefined string %d", id))
	}
}

// useOthers notes the undefined references of the current event to definitions for which the model has no table.
func (e *encoder) useOthers() {
	for _, i := range otherReferences[e.event.ID] {
		t, v := eventTypes[e.event.ID].fields[i].table, e.event.Values[i]
		if v < undefined32 && !e.original.names.has(t, v) {
			e.original.added.use(t, uint32(v))
		}
	}
}

// defineStandIns defines the stand-ins for undefined ids in a rewritten archive, except those that closeRewritten
// defines itself. A definition that OTF2 requires in turn, such as the region of a calling context, is added, too.
func (e *encoder) defineStandIns(define func(id uint8, v ...uint64)) {
	o, d := e.original, e.defs
	next := func(t Table) uint64 {
		id := o.added.next[t]
		o.added.next[t]++
		return id
	}
	for _, i := range e.addedEntries(Regions) {
		o.added.next[Regions] = max(o.added.next[Regions], e.id(Regions, i)+1)
	}
	for _, i := range e.addedEntries(Comms) {
		group, name := next(Groups), e.string(d.Communicator.At(i).Name)
		define(defGroup, group, name, 0, 0, commGroup, mpiParadigm, 0)
		define(defComm, e.id(Comms, i), name, group, undefined32, 0)
	}
	for _, i := range e.addedEntries(Parameters) {
		p := d.Parameters.At(i)
		define(defParameter, e.id(Parameters, i), e.string(p.Name), parameterType(p))
	}
	for _, i := range e.addedEntries(Windows) {
		define(defWindow, e.id(Windows, i), e.string(d.Windows.At(i).Name), undefined32, 0)
	}
	for _, i := range e.addedEntries(CallingContexts) {
		region, name := next(Regions), e.string(d.Contexts.At(i).Name)
		define(defRegion, region, name, undefined32, 0, undefined32, 0, 0, name, 0, 0, 0)
		define(defContext, e.id(CallingContexts, i), region, undefined32, undefined32)
	}
	for _, i := range e.addedEntries(IOFiles) {
		define(defIOFile, e.id(IOFiles, i), e.string(d.Files.At(i).Name), undefined32)
	}
	paradigm, added := e.firstIOParadigm()
	for _, i := range e.addedEntries(IOHandles) {
		if !added {
			define(defIOParadigm, paradigm, e.string("POSIX"), e.string("POSIX I/O"), 0, 0, 0)
			added = true
		}
		define(defIOHandle, e.id(IOHandles, i), e.string(d.Handles.At(i).Name), undefined32, paradigm, 0, undefined32,
			undefined32)
	}
	if !d.Repaired || o.partOf != nil {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(o.added.defined[InterruptGenerators])) {
		define(defInterrupt, uint64(id), e.string(fmt.Sprintf("undefined interrupt generator %d", id)), 1, 1, 0, 1)
	}
	e.defineStandInMetrics(define, next)
	if d.Locations.Len() == len(o.marked) { // OTF2's own tools reject an archive without locations
		name, node, group, location := e.string("nothing"), next(SystemTreeNodes), next(LocationGroups), next(Locations)
		define(defTreeNode, node, name, e.string("node"), undefined32)
		define(defLocationGroup, group, name, 1, node, undefined32)
		define(defLocation, location, name, 1, e.w.Location(location).Count, group)
	}
}

// firstIOParadigm returns the least id of a defined interface of I/O. If there is none, it returns 0 and false.
func (e *encoder) firstIOParadigm() (id uint64, ok bool) {
	e.original.eachDefinition(func(r *Record) {
		if r.ID == defIOParadigm && (!ok || r.Values[0] < id) {
			id, ok = r.Values[0], true
		}
	})
	return id, ok
}

// defineStandInMetrics defines the classes of metrics that the archive does not define. Their members have the types
// of the values.
func (e *encoder) defineStandInMetrics(define func(id uint8, v ...uint64), next func(Table) uint64) {
	members := map[uint64][]uint64{} // ids of the members, by class
	for i, x := range e.defs.Metrics.All() {
		class := e.member(uint32(i))[0]
		if class == unknownID || e.original.names.has(Metrics, class) {
			continue
		}
		member := next(MetricMembers)
		mode, _ := metricMode(x.Mode)
		define(defMetricMember, member, e.string(x.Name), undefined32, 0, mode, metricType(x.Type), 1, 0, e.string("#"))
		members[class] = append(members[class], member)
	}
	for _, class := range slices.Sorted(maps.Keys(members)) {
		v := append([]uint64{class, uint64(len(members[class]))}, members[class]...)
		define(defMetricClass, append(v, 2, 0)...) // asynchronous, of an unknown recorder
	}
}
