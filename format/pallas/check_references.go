package pallas

import "fmt"

// checkMainReferences reports the definitions of the main file that refer to undefined ones. listed has the location
// groups.
func (c *checker) checkMainReferences(listed map[uint32]bool) error {
	t := c.d.t
	file := t.src.Path
	if err := c.checkReferences(file, t.Definitions); err != nil {
		return err
	}
	for i, g := range t.LocationGroups {
		at := place(t.Definitions.at.locationGroups, locationGroupSize, i)
		if err := c.checkName(file, at, t.Definitions, "location group", g.ID, g.Name); err != nil {
			return err
		}
		if err := c.checkReference(file, at, "location group", g.ID, "location group", g.Parent,
			listed[g.Parent]); err != nil {
			return err
		}
	}
	for i, l := range t.Locations {
		at := place(t.Definitions.at.locations, locationSize, i)
		names := t.Definitions
		if a, err := t.Archive(l.Parent); err == nil { // the location belongs to the archive, which can define its name
			names = a.Definitions
		}
		if err := c.checkName(file, at, names, "location", l.ID, l.Name); err != nil {
			return err
		}
		if err := c.checkReference(file, at, "location", l.ID, "location group", l.Parent,
			listed[l.Parent]); err != nil {
			return err
		}
	}
	return nil
}

// place returns the position of entry i of a table. first is the position of the first entry.
func place(first int64, size, i int) uint64 { return uint64(first) + uint64(size)*uint64(i) }

// checkReferences reports the definitions of a file that refer to undefined ones.
func (c *checker) checkReferences(file string, d *Definitions) error {
	for i, x := range d.Regions {
		if err := c.checkName(file, place(d.at.regions, regionSize, i), d, "region", x.Ref, x.Name); err != nil {
			return err
		}
	}
	for i, x := range d.Attributes {
		at := place(d.at.attributes, attributeSize, i)
		for _, name := range []Ref{x.Name, x.Description} {
			if err := c.checkName(file, at, d, "attribute", x.Ref, name); err != nil {
				return err
			}
		}
	}
	for i, x := range d.Groups {
		if err := c.checkName(file, uint64(d.at.groups[i]), d, "group", x.Ref, x.Name); err != nil {
			return err
		}
	}
	for i, x := range d.Comms {
		at := place(d.at.comms, commSize, i)
		if err := c.checkName(file, at, d, "communicator", x.Ref, x.Name); err != nil {
			return err
		}
		if err := c.checkReference(file, at, "communicator", x.Ref, "group", x.Group,
			d.Group(x.Group) != nil); err != nil {
			return err
		}
		if err := c.checkReference(file, at, "communicator", x.Ref, "communicator", x.Parent,
			d.Comm(x.Parent) != nil); err != nil {
			return err
		}
	}
	return nil
}

// checkAttributeRefs reports the attributes of an event that no definition describes, each once.
func (c *checker) checkAttributeRefs(t *Thread, event int) error {
	var values []Value
	known, last := map[Ref]bool{packedRow: true}, packedRow // most attributes are the same as the one before
	l, rest, ok := nextList(t.Events[event].attributes)
	for ; ok; l, rest, ok = nextList(rest) {
		values, _ = l.values(values[:0]) // the reader reports damaged lists
		for _, v := range values {
			if v.Attribute == last || known[v.Attribute] {
				continue
			}
			known[v.Attribute], last = true, v.Attribute
			if t.Archive.Definitions.Attribute(v.Attribute) != nil {
				continue
			}
			if err := c.checkReference(t.path, uint64(t.Events[event].at), "event", uint32(event), "attribute", v.Attribute,
				false); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkName reports a reference to an undefined string.
func (c *checker) checkName(file string, at uint64, d *Definitions, kind string, ref uint32, name Ref) error {
	_, ok := d.Text(name)
	return c.checkReference(file, at, kind, ref, "string", name, ok)
}

// checkReference reports a reference to a definition, unless it is defined or refers to nothing.
func (c *checker) checkReference(file string, at uint64, kind string, ref uint32, target string, to Ref,
	defined bool) error {
	if defined || to == NoRef {
		return nil
	}
	return c.warn("pallas.undefined", file, at, fmt.Sprintf("%s %d with the %s %d", kind, ref, target, to),
		"one that the trace defines")
}
