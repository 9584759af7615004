package trace

import (
	"slices"
	"strconv"
	"strings"
)

// Members returns the locations of a communicator in the order of its ranks, as indexes into
// Locations. known is false if the trace does not define one of them, or does not say how it
// numbers ranks.
func (d *Definitions) Members(communicator uint32) (list []uint32, known bool) {
	list = d.Ranks(communicator)
	if list == nil || slices.Contains(list, NoRef) {
		return nil, false
	}
	return list, true
}

// MemberCount returns the number of members of a communicator. Some traces define the number but not
// the members themselves. known is false if the trace does not define the number, or if the
// communicator connects two groups.
func (d *Definitions) MemberCount(communicator uint32) (n int, known bool) {
	if !d.Communicator.Has(communicator) || !d.Sets.Has(d.Communicator.At(communicator).Set) ||
		slices.ContainsFunc(d.Communicator.At(communicator).Attrs, func(a Attr) bool { return a.Key == "other" }) {
		return 0, false
	}
	n = len(d.Sets.At(d.Communicator.At(communicator).Set).Members)
	return n, n > 0
}

// CommunicatorIDAttribute is the name of the attribute of a window for remote memory access that
// holds the id of its communicator.
const CommunicatorIDAttribute = "communicatorId"

// WindowCommunicator returns the communicator of a window for remote memory access as an index into
// Communicator, or [NoRef] if it is unknown.
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

// Ranks returns the location of each rank of a communicator, or [NoRef] for a rank whose location
// the trace does not define. The result is nil if the trace does not say how it numbers ranks. The
// members of a communicator's set are indexes into the set of all communicating locations or, if
// its attribute "flags" contains GLOBAL_MEMBERS, ids of locations.
func (d *Definitions) Ranks(communicator uint32) []uint32 {
	if !d.Communicator.Has(communicator) {
		return nil
	}
	return d.SetRanks(d.Communicator.At(communicator).Set)
}

// SetRanks returns the location of each member of a set of ranks, like [Definitions.Ranks].
func (d *Definitions) SetRanks(set uint32) []uint32 { return (&ranks{defs: d}).ofSet(set) }

// ranks finds the locations of ranks. It caches the results that several communicators share.
type ranks struct {
	defs *Definitions
	byID map[string]uint32 // locations by id
	all  map[Value]*Set    // result of Communicating, indexed by paradigm
}

// communicating returns the result of [Definitions.Communicating].
func (r *ranks) communicating(s *Set) *Set {
	paradigm := s.attribute("paradigm")
	all, ok := r.all[paradigm]
	if !ok {
		if r.all == nil {
			r.all = map[Value]*Set{}
		}
		all = r.defs.Communicating(s)
		r.all[paradigm] = all
	}
	return all
}

// ofSet returns the result of [Definitions.SetRanks].
func (r *ranks) ofSet(set uint32) []uint32 {
	d := r.defs
	if !d.Sets.Has(set) {
		return nil
	}
	s := d.Sets.At(set)
	var all *Set // the set that the members are indexes into; nil if the members are ids of locations
	switch {
	case s.Kind == "processes", s.Kind == "locations", s.Kind == "communicating locations":
	case s.Kind == "ranks" && strings.Contains(s.attribute("flags").String(), "GLOBAL_MEMBERS"):
	case s.Kind == "ranks":
		if all = r.communicating(s); all == nil {
			return nil
		}
	default:
		return nil
	}
	if r.byID == nil {
		r.byID = map[string]uint32{}
		for i, l := range d.Locations.All() {
			r.byID[l.ID] = uint32(i)
		}
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
		if loc, ok := r.byID[strconv.FormatInt(member, 10)]; ok {
			list[i] = loc
		}
	}
	return list
}

// Communicating returns the set of communicating locations into which the members of a communicator's set are
// indexes. The set of communicating locations has the same paradigm as the communicator's set. The result is
// nil if no set or several sets match.
func (d *Definitions) Communicating(ranks *Set) (found *Set) {
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

// attribute returns the value of the attribute of the set with the given name. In the set, the name of a
// format may precede the name of the attribute.
func (s *Set) attribute(name string) Value {
	for _, a := range s.Attrs {
		if a.Key == name || strings.HasSuffix(a.Key, "."+name) {
			return a.Value
		}
	}
	return Value{}
}
