package otf2

import (
	"slices"
	"strconv"

	"github.com/weft-trace/weft/trace"
)

// commMembers are the members of a communicator that is being written, by rank. It may
// grow: who exchanges messages in it belongs to it.
type commMembers struct {
	locations []uint32
	ranks     map[uint32]uint64
	all       bool // every location, by its index
}

// rank is that of a location, which becomes a member if it is none.
func (c *commMembers) rank(loc uint32) uint64 {
	if c.all {
		return uint64(loc)
	}
	r, ok := c.ranks[loc]
	if !ok {
		r = uint64(len(c.locations))
		c.add(loc)
	}
	return r
}

func (c *commMembers) add(loc uint32) {
	if _, twice := c.ranks[loc]; !twice {
		c.ranks[loc] = uint64(len(c.locations))
	}
	c.locations = append(c.locations, loc)
}

// members are those of communicator i, found when they are first asked for.
func (e *encoder) members(i uint32) *commMembers {
	for n := uint32(len(e.comms)); n <= i; n++ {
		e.comms = append(e.comms, e.resolve(e.defs.Communicator.At(n)))
	}
	return e.comms[i]
}

// resolve finds the locations of a communicator: of a set of locations' ids, or of ranks
// among the locations that communicate. What cannot be found out is all locations.
func (e *encoder) resolve(c *trace.Communicator) *commMembers {
	d := e.defs
	all := &commMembers{all: true}
	if !d.Sets.Has(c.Set) || slices.ContainsFunc(c.Attrs, func(a trace.Attr) bool { return a.Key == otherSide }) {
		return all
	}
	set := d.Sets.At(c.Set)
	members := set.Members
	switch set.Kind {
	case "locations", "processes", "communicating locations":
	case "ranks":
		if slices.ContainsFunc(set.Attrs, func(a trace.Attr) bool { return a.Key == "flags" }) {
			return all // their ranks are those among all that communicate
		}
		if l := e.communicating(set); l != nil {
			members = nil
			for _, r := range set.Members {
				if r < 0 || r >= int64(len(l)) {
					return all
				}
				members = append(members, l[r])
			}
		}
	default:
		return all
	}
	x := &commMembers{ranks: map[uint32]uint64{}}
	for _, n := range members {
		loc, ok := e.number(n)
		if !ok {
			return all
		}
		x.add(loc)
	}
	return x
}

// locationsOf are the ids of the locations of a set, none if its members are not all locations.
func (e *encoder) locationsOf(s *trace.Set) (ids []uint64) {
	members := s.Members
	if s.Kind == "ranks" {
		all := e.communicating(s)
		members = nil
		for _, r := range s.Members {
			if r < 0 || r >= int64(len(all)) {
				return nil
			}
			members = append(members, all[r])
		}
	}
	for _, m := range members {
		loc, ok := e.number(m)
		if !ok {
			return nil
		}
		ids = append(ids, uint64(loc))
	}
	return ids
}

// number is the location with an id that is a number.
func (e *encoder) number(n int64) (uint32, bool) {
	if e.numbers == nil {
		e.numbers = map[int64]uint32{}
		for i, l := range e.defs.Locations.All() {
			if n, err := strconv.ParseInt(l.ID, 10, 64); err == nil {
				e.numbers[n] = uint32(i)
			}
		}
	}
	loc, ok := e.numbers[n]
	return loc, ok
}

// communicating are the members of the set that a set's ranks are among: that of the same
// paradigm, nil if there is none.
func (e *encoder) communicating(ranks *trace.Set) []int64 {
	paradigm := func(s *trace.Set) string {
		for _, a := range s.Attrs {
			if a.Key == "paradigm" {
				return a.Value.Str
			}
		}
		return ""
	}
	for i := range e.defs.Sets.Len() {
		if s := e.defs.Sets.At(uint32(i)); s.Kind == "communicating locations" && paradigm(s) == paradigm(ranks) {
			return s.Members
		}
	}
	return nil
}
