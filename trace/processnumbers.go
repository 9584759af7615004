package trace

import (
	"slices"
	"strconv"
	"strings"
)

// ProcessNumbers finds locations by the numbers of their processors and processes, for traces whose locations have ids
// of the form PROCESSOR/PROCESS ([Conventions.EventTypes]).
type ProcessNumbers struct {
	// locations by number, or NoRef for a number that several locations have
	processors, processes map[int64]uint32
}

// NewProcessNumbers returns the numbers of the processes that a trace defines so far.
func NewProcessNumbers(d *Definitions) *ProcessNumbers {
	n := &ProcessNumbers{map[int64]uint32{}, map[int64]uint32{}}
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

// Locations returns the locations of a set of processors or processes. It returns NoRef for a member that no location,
// or that several locations have.
func (n *ProcessNumbers) Locations(s *Set) []uint32 {
	byNumber := n.processes
	if n.ListsProcessors(s.Kind, s.Members) {
		byNumber = n.processors
	}
	list := make([]uint32, len(s.Members))
	for i, m := range s.Members {
		location, ok := byNumber[m]
		if !ok {
			location = NoRef
		}
		list[i] = location
	}
	return list
}
