package clocks

import (
	"cmp"
	"slices"

	"github.com/weft-trace/weft/trace"
)

// The collective operations that constrain clocks, numbered as in OTF2.
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

// collective is an operation of which no member ends before any member begins.
type collective struct{ begins, ends []end }

// collectives returns the operations of all communicators, in an order that does not depend on the
// distribution of the work.
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

// sequence adds the operations of one communicator. Where members disagree about the n-th
// operation, records are missing, and later operations cannot be matched.
func (p *Part) sequence(out []collective, r *ranks, communicator uint64, members []memberKey) []collective {
	last, at := trace.Undefined, trace.NoRef // the root, and its location
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
	defs      *trace.Definitions
	locations map[uint64][]uint32 // locations by communicator
}

func newRanks(d *trace.Definitions) *ranks { return &ranks{d, map[uint64][]uint32{}} }

// location returns the location of a rank, or NoRef if it is unknown.
func (r *ranks) location(communicator, rank uint64) uint32 {
	list, ok := r.locations[communicator]
	if !ok && communicator < uint64(trace.NoRef) {
		list = r.defs.Ranks(uint32(communicator))
		r.locations[communicator] = list
	}
	if rank >= uint64(len(list)) {
		return trace.NoRef
	}
	return list[rank]
}
