package trace

// OperandName is the name of what an operand refers to; ok is false when the
// operand is no reference.
func (d *Definitions) OperandName(t OperandType, v uint64) (name string, ok bool) {
	if v >= 1<<31 {
		return "", false
	}
	i := int(v)
	switch t {
	case OpLocation:
		if i < d.Locations.Len() {
			return d.Locations.At(i).ID, true
		}
	case OpRegion:
		if i < d.Regions.Len() {
			return d.Regions.At(i).Name, true
		}
	case OpResource:
		if i < d.Resources.Len() {
			return d.Resources.At(i).ID, true
		}
	case OpCommunicator:
		if i < d.Communicator.Len() {
			return d.Communicator.At(i).ID, true
		}
	case OpMetric:
		if i < d.Metrics.Len() {
			return d.Metrics.At(i).ID, true
		}
	case OpString:
		if i < d.Strings.Len() {
			return *d.Strings.At(i), true
		}
	case OpGroup:
		if i < d.Sets.Len() {
			return d.Sets.At(i).ID, true
		}
	case OpHandle:
		if i < d.Handles.Len() {
			return d.Handles.At(i).ID, true
		}
	case OpFile:
		if i < d.Files.Len() {
			return d.Files.At(i).ID, true
		}
	}
	return "", false
}

// RefName is the name of what an event refers to, by the sort of its kind's reference;
// ok is false when it refers to nothing that is defined.
func (d *Definitions) RefName(k RefKind, ref uint32) (name string, ok bool) {
	i := int(ref)
	named := func(t *Table[Named]) (string, bool) {
		if i >= t.Len() {
			return "", false
		}
		if n := t.At(i); n.Name != "" {
			return n.Name, true
		}
		return t.At(i).ID, true
	}
	switch k {
	case RefRegion:
		if i < d.Regions.Len() {
			return d.Regions.At(i).Name, true
		}
	case RefMetric:
		if i < d.Metrics.Len() {
			m := d.Metrics.At(i)
			if m.Name != "" {
				return m.Name, true
			}
			return m.ID, true
		}
	case RefCommunicator:
		if i < d.Communicator.Len() {
			return d.Communicator.At(i).ID, true
		}
	case RefString:
		if i < d.Strings.Len() {
			return *d.Strings.At(i), true
		}
	case RefParameter:
		return named(&d.Parameters)
	case RefWindow:
		return named(&d.Windows)
	case RefContext:
		return named(&d.Contexts)
	case RefHandle:
		return named(&d.Handles)
	case RefFile:
		return named(&d.Files)
	case RefMarker:
		return named(&d.Markers)
	}
	return "", false
}
