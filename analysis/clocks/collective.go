package clocks

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/trace"
)

// The collective operations, numbered as in OTF2, that say something about clocks.
const (
	barrier            = 0
	broadcast          = 1
	gather             = 2
	gatherv            = 3
	scatter            = 4
	scatterv           = 5
	allgather          = 6
	allgatherv         = 7
	alltoall           = 8
	allreduce          = 11
	reduce             = 12
	reduceScatter      = 13
	reduceScatterBlock = 16
)

// collective is an operation of which no end is before any begin.
type collective struct{ begins, ends []end }

// collectives finds those of all communicators, in an order that does not depend on how
// the work was divided.
func (p *Part) collectives() []collective {
	type sequence struct {
		communicator uint64
		posted       bool
	}
	by := map[sequence][]memberKey{}
	for k, l := range p.members {
		slices.SortFunc(l, func(a, b operation) int { return cmp.Compare(a.posted, b.posted) })
		s := sequence{k.communicator, k.posted}
		by[s] = append(by[s], k)
	}
	order := make([]sequence, 0, len(by))
	for s, l := range by {
		if len(l) < 2 {
			continue
		}
		slices.SortFunc(l, func(a, b memberKey) int { return cmp.Compare(a.loc, b.loc) })
		order = append(order, s)
	}
	slices.SortFunc(order, func(a, b sequence) int {
		if a.communicator != b.communicator {
			return cmp.Compare(a.communicator, b.communicator)
		}
		if a.posted == b.posted {
			return 0
		} else if b.posted {
			return -1
		}
		return 1
	})
	var out []collective
	r := newRanks(p.defs)
	for _, s := range order {
		out = p.sequence(out, r, s.communicator, by[s])
	}
	return out
}

// sequence adds the operations of one communicator. Where members do not agree on what
// the n-th is, records are missing, and what is behind cannot be told.
func (p *Part) sequence(out []collective, r *ranks, communicator uint64, members []memberKey) []collective {
	last, at := trace.Undefined, trace.NoRef // a root, and where it is
	for n := 0; ; n++ {
		var c collective
		var first *operation
		for _, m := range members {
			l := p.members[m]
			if n >= len(l) {
				continue
			}
			o := &l[n]
			if first == nil {
				first = o
			} else if o.kind != first.kind || o.root != first.root {
				return out
			}
			if o.root != last {
				last, at = o.root, r.location(communicator, o.root)
			}
			root := m.loc == at
			from, to := false, false
			switch o.kind {
			case barrier, allgather, alltoall, allreduce, reduceScatterBlock:
				from, to = true, true
			case allgatherv:
				from, to = o.sent, true
			case reduceScatter:
				from, to = true, o.received
			case broadcast, scatter:
				from, to = root, !root
			case scatterv:
				from, to = root, !root && o.received
			case gather, reduce:
				from, to = !root, root
			case gatherv:
				from, to = !root && o.sent, root
			}
			if from {
				c.begins = append(c.begins, end{m.loc, o.begin})
			}
			if to {
				c.ends = append(c.ends, end{m.loc, o.end})
			}
		}
		if first == nil {
			return out
		}
		if len(c.begins) > 0 && len(c.ends) > 0 {
			out = append(out, c)
		}
	}
}

// ranks finds the locations of ranks.
type ranks struct {
	defs *trace.Definitions
	byID map[string]uint32
}

func newRanks(d *trace.Definitions) *ranks {
	r := &ranks{defs: d, byID: map[string]uint32{}}
	for i, l := range d.Locations.All() {
		r.byID[l.ID] = uint32(i)
	}
	return r
}

// location is that of a rank: NoRef if the trace does not tell. The members of a set are
// ids of locations, or, if it is one of ranks, places in the list of those that communicate.
func (r *ranks) location(communicator, rank uint64) uint32 {
	set := r.set(communicator)
	if set == nil || rank >= uint64(len(set.Members)) {
		return trace.NoRef
	}
	member := set.Members[rank]
	if set.Kind == "ranks" && !global(set) {
		if all := r.communicating(set); all != nil && member >= 0 && member < int64(len(all.Members)) {
			member = all.Members[member]
		}
	}
	if loc, ok := r.byID[strconv.FormatInt(member, 10)]; ok {
		return loc
	}
	return trace.NoRef
}

func (r *ranks) set(communicator uint64) *trace.Set {
	if communicator >= uint64(r.defs.Communicator.Len()) {
		return nil
	}
	set := r.defs.Communicator.At(uint32(communicator)).Set
	if set == trace.NoRef || !r.defs.Sets.Has(set) {
		return nil
	}
	return r.defs.Sets.At(set)
}

// communicating is the set of all locations that have ranks in the paradigm of a set.
func (r *ranks) communicating(set *trace.Set) *trace.Set {
	for i := range r.defs.Sets.Len() {
		if x := r.defs.Sets.At(uint32(i)); x.Kind == "communicating locations" && attribute(x, "paradigm") == attribute(set, "paradigm") {
			return x
		}
	}
	return nil
}

// global tells whether the members of a set of ranks are locations all the same.
func global(s *trace.Set) bool { return strings.Contains(attribute(s, "flags"), "GLOBAL_MEMBERS") }

func attribute(s *trace.Set, key string) string {
	for i := range s.Attrs {
		if s.Attrs[i].Key == key {
			return s.Attrs[i].Value.String()
		}
	}
	return ""
}
