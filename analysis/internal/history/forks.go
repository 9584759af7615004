package history

import (
	"sort"

	"github.com/weft-trace/weft/analysis/internal/waitstate"
)

// mostForks is the greatest number of starts of threads in which Fork searches.
const mostForks = 256

// Fork returns the call that started the threads of the team in which a location begins to work with call begin, which
// ends at time t: the last call up to then in which a member of the team started threads or, if no member did, another
// location of the same location group. time is the time of the start in ticks. ok is false if there is no such call, or
// if it is one of the location itself.
func (h *History) Fork(begin waitstate.Place, t int64) (p waitstate.Place, time int64, ok bool) {
	f, ok := h.forkOf(begin, t)
	if f == nil {
		return p, 0, false
	}
	return f.place, f.time, ok
}

// forkOf returns the start that Fork returns, or nil.
func (h *History) forkOf(begin waitstate.Place, t int64) (found *fork, ok bool) {
	g, ok := h.group(begin.Location)
	if !ok {
		return nil, false
	}
	var team *Operation
	h.Locations[begin.Location].EachOperation(begin.Number, func(i int32) {
		if o := h.Operation(i); o.Relation == waitstate.Starts {
			team = o
		}
	})
	list := h.forks[g]
	n := sort.Search(len(list), func(i int) bool { return list[i].time > t })
	for i := n - 1; i >= max(0, n-mostForks); i-- {
		f, other := &list[i], list[i].place.Location != begin.Location
		member := team == nil
		if !member {
			_, member = team.Member(f.place.Location)
		}
		if member {
			return f, other
		}
		if other && found == nil {
			found = f
		}
	}
	return found, found != nil
}

// Started returns the number of other threads that have begun to work in the team that call p has started. ok is false
// if call p starts no threads.
func (h *History) Started(p waitstate.Place) (threads int, ok bool) {
	g, ok := h.group(p.Location)
	if !ok {
		return 0, false
	}
	c := h.At(p)
	for _, f := range h.forksFrom(g, c.Enter) {
		if f.place == p {
			return f.begun, true
		}
		if f.time > c.Leave {
			break
		}
	}
	return 0, false
}

// StartedElsewhere reports whether another location of a location's process starts threads at a time in [from, to), in
// ticks.
func (h *History) StartedElsewhere(location uint32, from, to int64) bool {
	if g, ok := h.group(location); ok {
		for _, f := range h.forksFrom(g, from) {
			if f.time >= to {
				break
			}
			if f.place.Location != location {
				return true
			}
		}
	}
	return false
}

// forksFrom returns the starts of threads of a location group from time t on, in ticks.
func (h *History) forksFrom(group uint32, t int64) []fork {
	list := h.forks[group]
	return list[sort.Search(len(list), func(i int) bool { return list[i].time >= t }):]
}
