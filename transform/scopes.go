package transform

import (
	"strconv"

	"github.com/weft-trace/weft/trace"
)

// nodePrefix is the prefix of the ids of nodes in OTF2's system tree. The nodes are in one table with the
// groups of locations.
const nodePrefix = "node/"

// scopeEntry returns the definition to which the scope of an OTF2 marker refers by its id, such as a location. t is
// noTable if the scope is no definition. ok is false if there is no such definition.
func (d *definer) scopeEntry(kind, number uint64) (t table, i uint32, ok bool) {
	const node = 3
	kinds := [...]table{noTable, locations, groups, groups, sets, communicators}
	if kind >= uint64(len(kinds)) || kinds[kind] == noTable {
		return noTable, 0, false
	}
	t = kinds[kind]
	id := strconv.FormatUint(number, 10)
	if kind == node {
		id = nodePrefix + id
	}
	if d.scopes[t] == nil {
		d.scopes[t] = map[string]uint32{}
		for i := range d.length(t) {
			d.scopes[t][idOf(d.src, t, uint32(i))] = uint32(i)
		}
	}
	i, ok = d.scopes[t][id]
	return t, i, ok
}

// lookupScopes looks up the definitions to which the scopes of the markers in a batch refer.
func (d *definer) lookupScopes(b *trace.Batch) {
	at := uint32(0)
	for i, row := range b.OpRow {
		ops := b.Op[at:b.OpEnd[i]]
		at = b.OpEnd[i]
		if b.Kind[row] == trace.Marker && len(ops) == 3 {
			if t, i, ok := d.scopeEntry(ops[1], ops[2]); ok {
				d.lookup(t, i)
			}
		}
	}
}

// idOf returns the id of an entry of a table to which markers refer.
func idOf(d *trace.Definitions, t table, i uint32) string {
	switch t {
	case locations:
		return d.Locations.At(i).ID
	case groups:
		return d.Groups.At(i).ID
	case sets:
		return d.Sets.At(i).ID
	}
	return d.Communicator.At(i).ID
}

// rootOperand is the position of the root among the operands of collective operations.
const rootOperand = 2

// namesRoots reports whether the root of a kind of events is the number of a location, and not a rank. This is the case
// in traces that number their collective operations.
func (m *mergeInput) namesRoots(k trace.Kind) bool {
	switch k {
	case trace.Collective, trace.CollectiveBegin, trace.CollectiveEnd, trace.CollectiveSnapshot:
		return m.inputs > 1 && m.calls == nil && m.src.Conventions.OwnOperations
	}
	return false
}

// root converts the root of a collective operation to the number of the same location in the merged trace. A root
// without a location does not get the number of another location.
func (m *mergeInput) root(number uint64) uint64 {
	const location = 1
	if to := m.scope(location, number); to != trace.Undefined {
		return to
	}
	if m.numbered == nil {
		m.numbered = map[uint64]bool{}
		for _, l := range m.into.defs.Locations.All() {
			if n, err := strconv.ParseUint(l.ID, 10, 64); err == nil {
				m.numbered[n] = true
			}
		}
	}
	for m.numbered[number] {
		number += uint64(len(m.numbered))
	}
	return number
}
