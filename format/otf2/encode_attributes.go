package otf2

import (
	"slices"

	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/trace"
)

// attributes converts the attributes of a row that OTF2 can hold. It reports whether it converted all
// of them.
func (e *encoder) attributes(c *trace.Cursor) (all bool) {
	all = true
	keys, values := c.Attrs()
	e.rows.UseAttributes(keys)
	clear(e.written)
	e.inEvent = slices.Grow(e.inEvent[:0], len(keys))[:len(keys)]
	for i, k := range keys {
		e.inEvent[i] = carrier.NotStored
		if k == e.stated {
			continue
		}
		v := values[i]
		returns := false // refers to a definition for which the model has no table
		if typ := e.defs.Attributes.At(k).Type; v.Type == trace.Uint64 && typ != v.Type {
			if _, returns = e.returningDefinitions()[definition{tableOf(uint64(typ)), v.Num}]; returns {
				v.Type = typ
			}
		}
		t := tableOf(uint64(v.Type))
		if v.Type == trace.None || v.Type > trace.LocationGroupRef || e.isRepeated(keys, i) ||
			v.Type != e.types.Of(e.defs, k, v.Type) || !returns &&
			t != Strings && t != noTable && (v.Num >= uint64(entries(e.defs, t)) || t >= LocationGroups) {
			all = false
			continue
		}
		e.inEvent[i] = carrier.StoredExactly
		a := Attribute{k + uint32(e.firstID(Attributes)), uint8(v.Type), v.Num}
		switch {
		case t == Strings:
			if a.Value = e.string(v.Str); !isText(v.Str) {
				e.inEvent[i], all = carrier.StoredInexactly, false
			}
		case t == Metrics:
			a.Value = e.class(uint32(v.Num))
		case t != noTable:
			a.Value += e.firstID(t)
		}
		e.event.Attributes = append(e.event.Attributes, a)
	}
	return all
}

// stateRank writes the rank of a row's peer that its attribute otf2.rank holds, and notes this attribute as
// e.stated. The rank must be beyond all locations. A decoder then finds no location for it in any communicator,
// and adds the attribute. Another rank, which the communicator does not have, stays undefined, since the written
// communicator may have it.
func (e *encoder) stateRank(c *trace.Cursor, field *uint64) {
	keys, values := c.Attrs()
	for i, k := range keys {
		v, def := &values[i], e.defs.Attributes.At(k)
		if !isField(def) || def.Name != rankName || v.Type != trace.Uint32 || *field != undefined32 || v.Num >= undefined32 {
			continue
		}
		if v.Num >= uint64(e.defs.Locations.Len()) {
			*field, e.stated = v.Num, k
			continue
		}
		e.countChanged(e.defs.Spec(c.Kind()).Name, "rank", "in the attribute otf2.rank; other tools see no rank")
	}
}

// readsStated reports whether a decoder gets the row's attributes from the record, to whose row it adds e.stated. The
// attribute must be the first one of the row, the record must hold its value, and the trace must define an attribute
// for values of this type.
func (e *encoder) readsStated(c *trace.Cursor) bool {
	keys, values := c.Attrs()
	v, typ := &values[0], trace.Uint8
	switch {
	case c.Kind() == trace.Parameter:
		typ = valueType(uint64(e.event.ID - parameterString))
	case e.defs.Attributes.At(e.stated).Name == rankName:
		typ = trace.Uint32
	}
	if keys[0] != e.stated || slices.Contains(keys[1:], e.stated) || v.Type != typ || !isText(v.Str) ||
		c.Kind() == trace.Parameter && len(c.Ops()) > 0 {
		return false
	}
	key := attributeKey{e.defs.Attributes.At(e.stated).Name, typ}
	defined, known := e.definedFields[key]
	if !known {
		if e.definedFields == nil {
			e.definedFields = map[attributeKey]bool{}
		}
		defined = slices.ContainsFunc(e.defs.Attributes.All(), func(a trace.AttributeDef) bool {
			return isField(&a) && a.Name == key.name && a.Type == typ
		})
		e.definedFields[key] = defined
	}
	return defined
}

// isRepeated reports whether a key also stands before index i. It must be called for each index in turn. A list of
// many keys is not searched for each of them.
func (e *encoder) isRepeated(keys []uint32, i int) bool {
	if len(keys) <= 32 {
		return slices.Contains(keys[:i], keys[i])
	}
	if e.written == nil {
		e.written = map[uint32]bool{}
	}
	before := e.written[keys[i]]
	e.written[keys[i]] = true
	return before
}
