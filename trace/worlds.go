package trace

import "strings"

// worldName is part of the name of the communicator of all processes that were started together.
const worldName = "COMM_WORLD"

// Worlds returns the number of the world to which each location belongs. A world is a set of processes that
// can synchronise with each other, such as the processes of one MPI run. A merged trace may have several
// worlds. The result is nil if the trace does not distinguish worlds.
//
// Members of a communicator belong to one world, and so do a communicator and its parent, and the threads of a
// process. If no communicator has a name like MPI_COMM_WORLD, Worlds also requires that worlds are in
// different trees of groups, and that each location in such a tree is in a communicator. If a communicator has
// such a name, the locations outside of all communicators form another world.
func (d *Definitions) Worlds() []uint32 {
	w := worlds{defs: d, above: make([]uint32, d.Locations.Len())}
	for i := range w.above {
		w.above[i] = uint32(i)
	}
	covered := make([]bool, len(w.above)) // whether a communicator of several locations contains the location
	named := false
	first := make([]uint32, d.Communicator.Len())
	members := d.Memberships()
	for i, c := range d.Communicator.All() {
		list := members.KnownMembers(uint32(i))
		first[i] = NoRef
		for _, loc := range list {
			if first[i] == NoRef {
				first[i] = loc
			}
			covered[loc] = covered[loc] || len(list) > 1
			w.join(first[i], loc)
		}
		if strings.Contains(strings.ToUpper(c.Name), worldName) && len(list) > 0 {
			named = true
			covered[first[i]] = true
		}
	}
	for i, c := range d.Communicator.All() {
		if d.Communicator.Has(c.Parent) && first[i] != NoRef && first[c.Parent] != NoRef {
			w.join(first[i], first[c.Parent])
		}
	}
	w.joinGroups(!named)
	return w.result(covered, named)
}

// worlds is a partition of the locations.
type worlds struct {
	defs  *Definitions
	above []uint32 // another location of the same world; the location that stands for a world refers to itself
}

// find returns the location that stands for the world of the location loc.
func (w *worlds) find(loc uint32) uint32 {
	for w.above[loc] != loc {
		w.above[loc] = w.above[w.above[loc]]
		loc = w.above[loc]
	}
	return loc
}

// join merges the worlds of two locations. The location with the lower index stands for the merged world.
func (w *worlds) join(a, b uint32) {
	if a, b = w.find(a), w.find(b); a < b {
		w.above[b] = a
	} else {
		w.above[a] = b
	}
}

// joinGroups merges the worlds of the locations of each process or, if trees is set, of each tree of groups.
func (w *worlds) joinGroups(trees bool) {
	groups := &w.defs.Groups
	in := map[uint32]uint32{} // first location of each group; indexed by group
	for i, l := range w.defs.Locations.All() {
		g := l.Group
		if !trees && (!groups.Has(g) || groups.At(g).Kind != "process") {
			continue
		}
		for n := 0; trees && groups.Has(g) && groups.Has(groups.At(g).Parent) && n < groups.Len(); n++ {
			g = groups.At(g).Parent
		}
		if _, ok := in[g]; !ok {
			in[g] = uint32(i)
		}
		w.join(in[g], uint32(i))
	}
}

// result returns the number of each location's world. The result is nil if there is only one world. It is also
// nil if no communicator has a name like MPI_COMM_WORLD and some world has no communicator.
func (w *worlds) result(covered []bool, named bool) []uint32 {
	// whether a world is covered; indexed by the location that stands for the world
	known := make([]bool, len(w.above))
	for i, c := range covered {
		if root := w.find(uint32(i)); c {
			known[root] = true
		}
	}
	list := make([]uint32, len(w.above))
	numbers := map[uint32]bool{}
	for i := range list {
		if list[i] = w.find(uint32(i)); known[list[i]] {
			numbers[list[i]] = true
			continue
		}
		list[i] = NoRef
		if w.defs.Locations.At(uint32(i)).Kind.IsProcessor() {
			numbers[NoRef] = true
		}
	}
	if len(numbers) < 2 || numbers[NoRef] && !named {
		return nil
	}
	return list
}
