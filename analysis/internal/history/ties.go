package history

import (
	"slices"

	"github.com/weft-trace/weft/analysis/internal/waitstate"
)

// ties orders the calls that end at the same time: a call that depends on the begin of another one comes after
// the calls before that one. If calls depend on each other in a circle, the order is that of the locations.
type ties struct {
	h         *History
	locations map[uint32]*tiedCalls
	ordered   []waitstate.Place
	// operations has the operations in which all wait for all, and whose causes have been ordered.
	operations map[int32]bool
	// index holds the indexes of the calls in ordered. It is nil if that equals the order of cursors.
	index map[waitstate.Place]int
}

// tiedCalls is a range of calls of a location that end at the same time.
type tiedCalls struct {
	next, end int32 // the first call that is not ordered yet, and the call after the last one
	busy      bool  // call next is being ordered
}

// order puts calls into the order of their dependences. All end at time t, and they have the order of cursors.
func (x *ties) order(list []waitstate.Place, t int64) {
	if !x.chained(list, t) {
		return
	}
	x.locations, x.operations, x.ordered = map[uint32]*tiedCalls{}, map[int32]bool{}, x.ordered[:0]
	for _, p := range list {
		if l := x.locations[p.Location]; l != nil {
			l.end = p.Number + 1
		} else {
			x.locations[p.Location] = &tiedCalls{next: p.Number, end: p.Number + 1}
		}
	}
	for _, p := range list {
		x.addBefore(waitstate.Place{Location: p.Location, Number: p.Number + 1}, t)
	}
	if slices.Equal(x.ordered, list) {
		return
	}
	copy(list, x.ordered)
	x.index = map[waitstate.Place]int{}
	for i, p := range list {
		x.index[p] = i
	}
}

// forget frees the memory for the calls of the last time.
func (x *ties) forget() { x.index, x.locations, x.operations = nil, nil, nil }

// chained reports whether calls of several locations end at time t, and another call begins at t after one of them.
// Otherwise the calls do not depend on each other.
func (x *ties) chained(list []waitstate.Place, t int64) bool {
	if list[0].Location == list[len(list)-1].Location {
		return false
	}
	for _, p := range list {
		if l := x.h.Locations[p.Location]; p.Number+1 < l.count && l.Call(p.Number+1).Enter == t {
			return true
		}
	}
	return false
}

// addBefore adds the calls of a location before call p that end at time t, after those on which they depend.
func (x *ties) addBefore(p waitstate.Place, t int64) {
	r := x.locations[p.Location]
	if r == nil || r.busy {
		return
	}
	r.busy = true
	for r.next < min(p.Number, r.end) {
		call := waitstate.Place{Location: p.Location, Number: r.next}
		x.addCauses(call, t)
		x.ordered = append(x.ordered, call)
		r.next++
	}
	r.busy = false
}

// addCauses adds the calls that end at time t on which the end of call p depends.
func (x *ties) addCauses(p waitstate.Place, t int64) {
	begun := func(q waitstate.Place) {
		if x.h.At(q).Enter == t {
			x.addBefore(q, t)
		}
	}
	l := x.h.Locations[p.Location]
	l.EachSource(p.Number, func(s *Source) {
		if s.Released {
			x.addBefore(waitstate.Place{Location: s.Place.Location, Number: s.Place.Number + 1}, t)
			return
		}
		begun(s.Place)
	})
	l.EachOperation(p.Number, func(i int32) {
		o := x.h.Operation(i)
		if o.LastEnter != t || x.operations[i] {
			return
		}
		if o.Relation == waitstate.AllWait && o.Waits(p.Location) {
			x.operations[i] = true
		}
		o.EachCause(p.Location, begun)
	})
	if l.Call(p.Number).Begins {
		if q, _, ok := x.h.Fork(p, t); ok {
			begun(q)
		}
	}
}
