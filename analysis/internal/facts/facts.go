// Package facts gives the attributes that events have in addition to their own: names, places and operands. The
// formulas of package verify and the filters of package usage use them.
package facts

import (
	"slices"
	"strconv"

	"github.com/weft-trace/weft/trace"
)

// Reader returns the attributes of events of a trace.
type Reader struct {
	defs *trace.Definitions
	full []string // full names of locations
}

// New returns a reader for a trace.
func New(d *trace.Definitions) *Reader { return &Reader{defs: d} }

// LocationName returns the full name of a location, or "".
func (r *Reader) LocationName(l uint32) string {
	if int(l) >= len(r.full) && len(r.full) < r.defs.Locations.Len() {
		r.full = r.defs.FullNames()
	}
	if l < uint32(len(r.full)) {
		return r.full[l]
	}
	return ""
}

// Each derives attributes from the kind, the location and the operands of an event. It calls add for those whose keys
// wants accepts. If a location or group has several names, it calls add for each of them.
//
// All events have "name", "location" and "group". All except the begins of claims and visits also have "kind" and
// their operands; messages have "sender" and "receiver". Events of signals have no derived attributes. Neither have
// the events of a trace that stores all names and places as attributes ([trace.Definitions.AttributesAlone]).
func (r *Reader) Each(c *trace.Cursor, wants func(key string) bool, add func(key, value string)) {
	k := c.Kind()
	switch {
	case r.defs.AttributesAlone(), k == trace.Fragment, k == trace.Metric, k == trace.SampleRange:
		return
	}
	spec := r.defs.Spec(k)
	if wants("name") {
		if name, ok := r.defs.RefName(spec.Ref, c.Ref()); ok {
			add("name", name)
		}
	}
	location := func(key string, l uint64) {
		if l < uint64(r.defs.Locations.Len()) && wants(key) {
			x := r.defs.Locations.At(uint32(l))
			addNames(add, key, x.ID, x.Name, r.LocationName(uint32(l)))
		}
	}
	here := uint64(c.Location())
	location("location", here)
	if wants("group") && r.defs.Locations.Has(c.Location()) {
		if g := r.defs.Locations.At(c.Location()).Group; r.defs.Groups.Has(g) {
			x := r.defs.Groups.At(g)
			addNames(add, "group", x.ID, x.Name)
		}
	}
	if k == trace.Enter || k == trace.ClaimBegin {
		return
	}
	if wants("kind") {
		add("kind", spec.Name)
	}
	if k == trace.Mark {
		return // the operand of a mark is the id of its line in TRACE, which is no attribute of an event
	}
	for i, v := range c.Ops() {
		if i >= len(spec.Operands) || v == trace.Undefined || !wants(spec.Operands[i].Name) {
			continue
		}
		o := &spec.Operands[i]
		name, ok := r.defs.OperandName(o.Type, v)
		if !ok {
			name, ok = r.defs.EnumName(k, o, v)
		}
		if !ok {
			name = strconv.FormatUint(v, 10)
		}
		add(o.Name, name)
	}
	switch {
	case k.IsSend():
		location("receiver", c.Op(0))
		location("sender", here)
	case k.IsRecv():
		location("sender", c.Op(0))
		location("receiver", here)
	}
}

// addNames calls add for the different names of a location or group.
func addNames(add func(key, value string), key string, names ...string) {
	for i, n := range names {
		if n != "" && !slices.Contains(names[:i], n) {
			add(key, n)
		}
	}
}

// Value returns the value of an attribute of an event, as [Reader.Each] has it. Of several names, it is the full one.
func (r *Reader) Value(c *trace.Cursor, key string) (value string, ok bool) {
	r.Each(c, func(k string) bool { return k == key }, func(_, v string) { value, ok = v, true })
	return value, ok
}

// Names lists the attributes that [Reader.Each] can have for some event of a trace, each once.
func Names(d *trace.Definitions) []string {
	if d.AttributesAlone() {
		return nil
	}
	names := []string{"name", "location", "group", "kind", "sender", "receiver"}
	for k := range trace.Declared + trace.Kind(d.Kinds.Len()) {
		for _, o := range d.Spec(k).Operands {
			if !slices.Contains(names, o.Name) {
				names = append(names, o.Name)
			}
		}
	}
	return names
}
