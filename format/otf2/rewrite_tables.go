package otf2

import (
	"github.com/weft-trace/weft/trace"
)

// modelTable returns the address of the model's table for a table of OTF2, and the id of its entry i as text.
// The table is nil if the model has no such table, or if the table has no entry i.
func modelTable(d *trace.Definitions, t Table, i uint32) (table any, id string) {
	named := func(x *trace.Named) string { return x.ID }
	switch t {
	case Attributes:
		return entryOf(&d.Attributes, i, func(x *trace.AttributeDef) string { return x.ID })
	case Locations:
		return entryOf(&d.Locations, i, func(x *trace.Location) string { return x.ID })
	case LocationGroups, SystemTreeNodes:
		return entryOf(&d.Groups, i, func(x *trace.LocationGroup) string { return x.ID })
	case Regions:
		return entryOf(&d.Regions, i, func(x *trace.Region) string { return x.ID })
	case Groups:
		return entryOf(&d.Sets, i, func(x *trace.Set) string { return x.ID })
	case Comms:
		return entryOf(&d.Communicator, i, func(x *trace.Communicator) string { return x.ID })
	case Parameters:
		return entryOf(&d.Parameters, i, named)
	case Windows:
		return entryOf(&d.Windows, i, named)
	case CallingContexts:
		return entryOf(&d.Contexts, i, named)
	case IOFiles:
		return entryOf(&d.Files, i, named)
	case IOHandles:
		return entryOf(&d.Handles, i, named)
	}
	return nil, ""
}

// entryOf returns a table and the id of its entry i. The table is nil if the entry does not exist.
func entryOf[T any](t *trace.Table[T], i uint32, id func(*T) string) (any, string) {
	if !t.Has(i) {
		return nil, ""
	}
	return t, id(t.At(i))
}
