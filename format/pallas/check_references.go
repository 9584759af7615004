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
	for _, g := range t.LocationGroups {
		if err := c.checkName(file, t.Definitions, "location group", g.ID, g.Name); err != nil {
			return err
		}
		if err := c.checkReference(file, "location group", g.ID, "location group", g.Parent, listed[g.Parent]); err != nil {
			return err
		}
	}
	for _, l := range t.Locations {
		names := t.Definitions
		if a, err := t.Archive(l.Parent); err == nil { // the location belongs to the archive, which can define its name
			names = a.Definitions
		}
		if err := c.checkName(file, names, "location", l.ID, l.Name); err != nil {
			return err
		}
		if err := c.checkReference(file, "location", l.ID, "location group", l.Parent, listed[l.Parent]); err != nil {
			return err
		}
	}
	return nil
}

// checkReferences reports the definitions of a file that refer to undefined ones.
func (c *checker) checkReferences(file string, d *Definitions) error {
	for _, x := range d.Regions {
		if err := c.checkName(file, d, "region", x.Ref, x.Name); err != nil {
			return err
		}
	}
	for _, x := range d.Attributes {
		for _, name := range []Ref{x.Name, x.Description} {
			if err := c.checkName(file, d, "attribute", x.Ref, name); err != nil {
				return err
			}
		}
	}
	for _, x := range d.Groups {
		if err := c.checkName(file, d, "group", x.Ref, x.Name); err != nil {
			return err
		}
	}
	for _, x := range d.Comms {
		if err := c.checkName(file, d, "communicator", x.Ref, x.Name); err != nil {
			return err
		}
		if err := c.checkReference(file, "communicator", x.Ref, "group", x.Group, d.Group(x.Group) != nil); err != nil {
			return err
		}
		if err := c.checkReference(file, "communicator", x.Ref, "communicator", x.Parent,
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
			if err := c.checkReference(t.path, "event", uint32(event), "attribute", v.Attribute, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkName reports a reference to an undefined string.
func (c *checker) checkName(file string, d *Definitions, kind string, ref uint32, name Ref) error {
	_, ok := d.Text(name)
	return c.checkReference(file, kind, ref, "string", name, ok)
}

// checkReference reports a reference to a definition, unless it is defined or refers to nothing.
func (c *checker) checkReference(file, kind string, ref uint32, target string, to Ref, defined bool) error {
	if defined || to == NoRef {
		return nil
	}
	return c.warn("pallas.undefined", file, noOffset, fmt.Sprintf("%s %d with the %s %d", kind, ref, target, to),
		"one that the trace defines")
}
