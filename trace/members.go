package trace

import (
	"strconv"
	"strings"
)

// Members are the locations of a communicator, indices into Locations, in the order of its
// ranks. They are not known if the trace does not have all of them, or numbers them in a way
// that it does not tell. The members of a set of ranks are places in the set of all locations that
// communicate, or, if its attribute "flags" has GLOBAL_MEMBERS, ids of locations.
func (d *Definitions) Members(communicator uint32) (list []uint32, known bool) {
	if int64(communicator) >= int64(d.Communicator.Len()) {
		return nil, false
	}
	set := d.Communicator.At(communicator).Set
	if int64(set) >= int64(d.Sets.Len()) {
		return nil, false
	}
	s := d.Sets.At(set)
	members := s.Members
	switch {
	case s.Kind == "processes", s.Kind == "locations", s.Kind == "communicating locations":
	case s.Kind == "ranks" && strings.Contains(s.attribute("flags").String(), "GLOBAL_MEMBERS"):
	case s.Kind == "ranks":
		all := d.communicating(s)
		if all == nil {
			return nil, false
		}
		members = make([]int64, len(s.Members))
		for i, rank := range s.Members {
			if rank < 0 || rank >= int64(len(all.Members)) {
				return nil, false
			}
			members[i] = all.Members[rank]
		}
	default:
		return nil, false
	}
	byID := map[string]uint32{}
	for i, l := range d.Locations.All() {
		byID[l.ID] = uint32(i)
	}
	for _, id := range members {
		loc, ok := byID[strconv.FormatInt(id, 10)]
		if !ok {
			return nil, false
		}
		list = append(list, loc)
	}
	return list, true
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
