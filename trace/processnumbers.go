package trace

import (
	"slices"
	"strconv"
	"strings"
)

// ProcessNumbers finds locations by the numbers of their processors and processes, for traces whose locations have ids
// of the form PROCESSOR/PROCESS ([Conventions.EventTypes]).
type ProcessNumbers struct {
	sets nestedSets
	// locations by number, or NoRef for a number that several locations have
	processors, processes map[int64]uint32
}

// NewProcessNumbers returns the numbers of the processes that a trace defines so far.
func NewProcessNumbers(d *Definitions) *ProcessNumbers {
	n := &ProcessNumbers{nestedSets{defs: d}, map[int64]uint32{}, map[int64]uint32{}}
	add := func(to map[int64]uint32, text string, location int) {
		number, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return
		}
		if _, several := to[number]; several {
			to[number] = NoRef
		} else {
			to[number] = uint32(location)
		}
	}
	for i, l := range d.Locations.All() {
		if processor, process, ok := strings.Cut(l.ID, "/"); ok && l.Kind == ProcessLocation {
			add(n.processors, processor, i)
			add(n.processes, process, i)
		}
	}
	return n
}

// ListsProcessors reports whether the members of a set are processors. A set of processes lists processors if some
// member is not the process of exactly one location. The ranks of a communicator are such a set.
func (n *ProcessNumbers) ListsProcessors(kind string, members []int64) bool {
	return n.listsProcessors(kind, n.sets.members(kind, members))
}

// listsProcessors is like ListsProcessors for a set without other sets in it.
func (n *ProcessNumbers) listsProcessors(kind string, members []int64) bool {
	return kind == "processors" || kind == "processes" && slices.ContainsFunc(members, func(m int64) bool {
		location, ok := n.processes[m]
		return !ok || location == NoRef
	})
}

// KnowsProcesses reports whether each number is that of a process of at least one location.
func (n *ProcessNumbers) KnowsProcesses(list []int64) bool {
	return !slices.ContainsFunc(list, func(m int64) bool {
		_, ok := n.processes[m]
		return !ok
	})
}

// Locations returns the locations of a set of processors or processes, with those of other sets among its members. It
// returns NoRef for a member that no location, or that several locations have.
func (n *ProcessNumbers) Locations(s *Set) []uint32 {
	byNumber, members := n.processes, n.sets.members(s.Kind, s.Members)
	if n.listsProcessors(s.Kind, members) {
		byNumber = n.processors
	}
	list := make([]uint32, len(members))
	for i, m := range members {
		location, ok := byNumber[m]
		if !ok {
			location = NoRef
		}
		list[i] = location
	}
	return list
}

// nestedSets finds the members of sets of processors or processes whose members may be other sets of the same kind. A
// number below -1 stands for such a set.
type nestedSets struct {
	defs     *Definitions
	byID     map[setID]*Set // made when a set has another set as a member
	followed int            // number of members of sets inside of sets that have been visited
}

// setID identifies a set of processors or processes.
type setID struct{ kind, id string }

// maxFollowedMembers limits the number of members of sets inside of sets.
const maxFollowedMembers = 1 << 18

// members returns the members of a set, with those of the sets among them in their places. A set that is not defined,
// and one beyond the limit, stays in the list.
func (n *nestedSets) members(kind string, list []int64) []int64 {
	isSet := func(m int64) bool { return m < -1 }
	if !slices.ContainsFunc(list, isSet) {
		return list
	}
	if n.byID == nil {
		n.byID = map[setID]*Set{}
		for i := range n.defs.Sets.Len() {
			s := n.defs.Sets.At(uint32(i))
			if k := (setID{s.Kind, s.ID}); n.byID[k] == nil {
				n.byID[k] = s
			}
		}
	}
	var out []int64
	known := map[int64]bool{}
	open := [][]int64{list} // the rest of the list, and of the sets around which it is
	for len(open) > 0 {
		last := &open[len(open)-1]
		if len(*last) == 0 {
			open = open[:len(open)-1]
			continue
		}
		m := (*last)[0]
		*last = (*last)[1:]
		if known[m] {
			continue
		}
		known[m] = true
		s := n.byID[setID{kind, strconv.FormatInt(m, 10)}]
		if !isSet(m) || s == nil || n.followed > maxFollowedMembers {
			out = append(out, m)
			continue
		}
		n.followed += len(s.Members)
		open = append(open, s.Members)
	}
	return out
}
