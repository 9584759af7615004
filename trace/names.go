package trace

import (
	"cmp"
	"math"
	"strings"
)

// OperandName returns the name of the entry that an operand refers to. ok is false if the operand
// is no reference, or the entry does not exist.
func (d *Definitions) OperandName(t OperandType, v uint64) (name string, ok bool) {
	if v >= 1<<31 {
		return "", false
	}
	i := int(v)
	switch t {
	case OpLocation:
		return nameIn(&d.Locations, i, func(l *Location) string { return l.ID })
	case OpRegion:
		return nameIn(&d.Regions, i, func(r *Region) string { return r.Name })
	case OpResource:
		return nameIn(&d.Resources, i, func(r *Resource) string { return r.ID })
	case OpCommunicator:
		return nameIn(&d.Communicator, i, func(c *Communicator) string { return c.ID })
	case OpMetric:
		return nameIn(&d.Metrics, i, func(m *MetricDef) string { return m.ID })
	case OpString:
		return nameIn(&d.Strings, i, func(s *string) string { return *s })
	case OpGroup:
		return nameIn(&d.Sets, i, func(s *Set) string { return s.ID })
	case OpHandle:
		return nameIn(&d.Handles, i, func(n *Named) string { return n.ID })
	case OpFile:
		return nameIn(&d.Files, i, func(n *Named) string { return n.ID })
	}
	return "", false
}

// LabelOf returns the name of the I/O handle or the set to which the value v of an operand of type t refers. ok is
// false if t is another type, or the entry has no name.
func (d *Definitions) LabelOf(t OperandType, v uint64) (name string, ok bool) {
	switch {
	case t == OpHandle && v < uint64(d.Handles.Len()):
		name = d.Handles.At(uint32(v)).Name
	case t == OpGroup && v < uint64(d.Sets.Len()):
		name = d.Sets.At(uint32(v)).Name
	}
	return name, name != ""
}

// nameIn returns name applied to entry i of a table. ok is false if the entry does not exist.
func nameIn[T any](t *Table[T], i int, name func(*T) string) (s string, ok bool) {
	if i >= t.Len() {
		return "", false
	}
	return name(t.At(uint32(i))), true
}

// RefName returns the name of the entry that the Ref of an event refers to. k is the table of the
// event's kind, such as [RefRegion] for an enter. ok is false if the entry does not exist, as for
// [NoRef].
func (d *Definitions) RefName(k RefKind, ref uint32) (name string, ok bool) {
	i := int(ref)
	label := func(n *Named) string { return cmp.Or(n.Name, n.ID) }
	switch k {
	case RefRegion:
		return nameIn(&d.Regions, i, func(r *Region) string { return r.Name })
	case RefMetric:
		return nameIn(&d.Metrics, i, func(m *MetricDef) string { return cmp.Or(m.Name, m.ID) })
	case RefCommunicator:
		return nameIn(&d.Communicator, i, func(c *Communicator) string { return c.ID })
	case RefString:
		return nameIn(&d.Strings, i, func(s *string) string { return *s })
	case RefParameter:
		return nameIn(&d.Parameters, i, label)
	case RefWindow:
		return nameIn(&d.Windows, i, label)
	case RefContext:
		return nameIn(&d.Contexts, i, label)
	case RefHandle:
		return nameIn(&d.Handles, i, label)
	case RefFile:
		return nameIn(&d.Files, i, label)
	case RefMarker:
		return nameIn(&d.Markers, i, label)
	}
	return "", false
}

// ValueName returns the name of the entry that the value of an attribute refers to. For a location, it is the id. ok is
// false if the value is no reference, or the entry does not exist or has no name.
func (d *Definitions) ValueName(attribute uint32, v Value) (name string, ok bool) {
	if v.Type == Uint64 && d.Attributes.Has(attribute) && d.Attributes.At(attribute).Type == InterruptGeneratorRef {
		v.Type = InterruptGeneratorRef // a number, because the model has no table
	}
	i := int(min(v.Num, math.MaxInt32))
	switch v.Type {
	case AttributeRef:
		name, _ = nameIn(&d.Attributes, i, func(a *AttributeDef) string { return a.Name })
	case LocationRef:
		name, _ = d.OperandName(OpLocation, v.Num)
	case RegionRef:
		name, _ = d.OperandName(OpRegion, v.Num)
	case GroupRef:
		name, _ = nameIn(&d.Sets, i, func(s *Set) string { return cmp.Or(s.Name, s.ID) })
	case CommRef:
		name, _ = nameIn(&d.Communicator, i, func(c *Communicator) string { return cmp.Or(c.Name, c.ID) })
	case LocationGroupRef:
		name, _ = nameIn(&d.Groups, i, func(g *LocationGroup) string { return cmp.Or(g.Name, g.ID) })
	case InterruptGeneratorRef:
		name = d.ValueNames[v]
	case MetricRef:
		name, _ = d.RefName(RefMetric, uint32(i))
	case ParameterRef:
		name, _ = d.RefName(RefParameter, uint32(i))
	case WindowRef:
		name, _ = d.RefName(RefWindow, uint32(i))
	case CallingContextRef:
		name, _ = d.RefName(RefContext, uint32(i))
	case FileRef:
		name, _ = d.RefName(RefFile, uint32(i))
	case HandleRef:
		name, _ = d.RefName(RefHandle, uint32(i))
	}
	return name, name != ""
}

// LocationName returns the id and the name of a location. Both are "" if it is undefined.
func (d *Definitions) LocationName(location uint32) (id, name string) {
	if d.Locations.Has(location) {
		l := d.Locations.At(location)
		return l.ID, l.Name
	}
	return "", ""
}

// FullNames returns the full names of all locations, by index. They are all different. If the
// labels of all locations differ, they are the full names. Otherwise the name of the process
// precedes the label ("MPI Rank 3 · Master thread"), and the id of a location follows if its full
// name is still not unique.
func (d *Definitions) FullNames() []string {
	names := make([]string, d.Locations.Len())
	for i, l := range d.Locations.All() {
		names[i] = l.Label()
	}
	if distinct(names) {
		return names
	}
	for i, l := range d.Locations.All() {
		if !d.Groups.Has(l.Group) {
			continue
		}
		g := d.Groups.At(l.Group)
		if group := cmp.Or(g.Name, g.ID); group != names[i] && (g.Kind == "" || strings.Contains(g.Kind, "process")) {
			names[i] = group + " · " + names[i]
		}
	}
	seen := map[string]int{}
	for _, name := range names {
		seen[name]++
	}
	for i, l := range d.Locations.All() {
		if seen[names[i]] > 1 && names[i] != l.ID {
			names[i] += " (" + l.ID + ")"
		}
	}
	return names
}

// CommunicatorNames returns the names of all communicators, by index. The id follows a name that
// several communicators have. A communicator without a name has the name "".
func (d *Definitions) CommunicatorNames() []string {
	count := map[string]int{}
	for _, c := range d.Communicator.All() {
		count[c.Name]++
	}
	names := make([]string, 0, d.Communicator.Len())
	for _, c := range d.Communicator.All() {
		if c.Name != "" && count[c.Name] > 1 {
			c.Name += " (" + c.ID + ")"
		}
		names = append(names, c.Name)
	}
	return names
}

// distinct reports whether all names are different.
func distinct(names []string) bool {
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		if seen[name] {
			return false
		}
		seen[name] = true
	}
	return true
}
