package trace

import (
	"slices"
	"strconv"
	"strings"
)

// Members are the locations of a communicator, indices into Locations, in the order of its
// ranks. They are not known if the trace does not have all of them, or numbers them in a way
// that it does not tell.
func (d *Definitions) Members(communicator uint32) (list []uint32, known bool) {
	list = d.Ranks(communicator)
	if list == nil || slices.Contains(list, NoRef) {
		return nil, false
	}
	return list, true
}

// CommunicatorIDAttribute is an attribute of windows for remote memory access: the id of their
// communicator.
const CommunicatorIDAttribute = "communicatorId"

// WindowCommunicator is the communicator of a window for remote memory access, an index into
// Communicator, or [NoRef] if the trace does not tell.
func (d *Definitions) WindowCommunicator(window uint32) uint32 {
	if !d.Windows.Has(window) {
		return NoRef
	}
	for _, a := range d.Windows.At(window).Attrs {
		if a.Key != CommunicatorIDAttribute {
			continue
		}
		for i, c := range d.Communicator.All() {
			if c.ID == a.Value.Str {
				return uint32(i)
			}
		}
	}
	return NoRef
}

// Ranks are the locations of the ranks of a communicator: [NoRef] for one whose location the
// trace does not have, nil if the trace does not tell how it numbers them. The members of a set of
// ranks are places in the set of all locations that communicate, or, if its attribute "flags" has
// GLOBAL_MEMBERS, ids of locations.
func (d *Definitions) Ranks(communicator uint32) []uint32 {
	if !d.Communicator.Has(communicator) || !d.Sets.Has(d.Communicator.At(communicator).Set) {
		return nil
	}
	s := d.Sets.At(d.Communicator.At(communicator).Set)
	var all *Set // whose members the ranks number, if they do
	switch {
	case s.Kind == "processes", s.Kind == "locations", s.Kind == "communicating locations":
	case s.Kind == "ranks" && strings.Contains(s.attribute("flags").String(), "GLOBAL_MEMBERS"):
	case s.Kind == "ranks":
		if all = d.communicating(s); all == nil {
			return nil
		}
	default:
		return nil
	}
	byID := map[string]uint32{}
	for i, l := range d.Locations.All() {
		byID[l.ID] = uint32(i)
	}
	list := make([]uint32, len(s.Members))
	for i, member := range s.Members {
		list[i] = NoRef
		if all != nil {
			if member < 0 || member >= int64(len(all.Members)) {
				continue
			}
			member = all.Members[member]
		}
		if loc, ok := byID[strconv.FormatInt(member, 10)]; ok {
			list[i] = loc
		}
	}
	return list
}

// communicating is the set whose members the ranks of a set number; nil if there is not
// just one.
func (d *Definitions) communicating(ranks *Set) (found *Set) {
	paradigm := ranks.attribute("paradigm")
	for i := range d.Sets.Len() {
		s := d.Sets.At(uint32(i))
		if s.Kind != "communicating locations" || s.attribute("paradigm") != paradigm {
			continue
		}
		if found != nil {
			return nil
		}
		found = s
	}
	return found
}

// attribute is the value of an attribute, which may bear the name of a format.
func (s *Set) attribute(name string) Value {
	for _, a := range s.Attrs {
		if a.Key == name || strings.HasSuffix(a.Key, "."+name) {
			return a.Value
		}
	}
	return Value{}
}
