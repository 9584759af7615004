package otf2

import (
	"slices"
	"strconv"

	"github.com/weft-trace/weft/trace"
)

// commMembers holds the members of a communicator that is written, by rank. Locations that exchange
// messages in the communicator are added as members.
type commMembers struct {
	locations []uint32
	ranks     map[uint32]uint64
	all       bool // the members are all locations; each rank is the location's index
}

// rank returns the rank of a location. A location that is not a member becomes one.
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

// members returns the members of communicator i. They are determined at the first call.
func (e *encoder) members(i uint32) *commMembers {
	for n := uint32(len(e.comms)); n <= i; n++ {
		e.comms = append(e.comms, e.resolve(e.defs.Communicator.At(n)))
	}
	return e.comms[i]
}

// resolve determines the locations of a communicator. Its set holds either ids of locations, or
// ranks among the communicating locations. If the members cannot be determined, they are all
// locations.
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
			return all // the ranks are those among all communicating locations
		}
		if l := e.communicatingMembers(set); l != nil {
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
		loc, ok := e.locationByNumber(n)
		if !ok {
			return all
		}
		x.add(loc)
	}
	return x
}

// locationsOf returns the ids of the locations of a set. It returns none unless all members are
// locations.
func (e *encoder) locationsOf(s *trace.Set) (ids []uint64) {
	members := s.Members
	if s.Kind == "ranks" {
		all := e.communicatingMembers(s)
		members = nil
		for _, r := range s.Members {
			if r < 0 || r >= int64(len(all)) {
				return nil
			}
			members = append(members, all[r])
		}
	}
	for _, m := range members {
		loc, ok := e.locationByNumber(m)
		if !ok {
			return nil
		}
		ids = append(ids, uint64(loc))
	}
	return ids
}

// locationByNumber returns the location whose id is the number n.
func (e *encoder) locationByNumber(n int64) (uint32, bool) {
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

// communicatingMembers returns the members of the set of communicating locations with the same
// paradigm, in which the ranks of a set count. It returns nil if there is no such set.
func (e *encoder) communicatingMembers(ranks *trace.Set) []int64 {
	if s := e.defs.Communicating(ranks); s != nil {
		return s.Members
	}
	return nil
}
