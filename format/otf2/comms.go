package otf2

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weft-trace/weft/trace"
)

// commMembers holds the members of a written communicator, by rank. Locations that exchange messages in
// the communicator become members.
type commMembers struct {
	locations []uint32
	ranks     map[uint32]uint64
	all       bool // all locations are members, and the rank of each is its index
}

// rank returns the rank of a location. It adds a location that is not a member yet.
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
		e.comms = append(e.comms, e.resolve(n))
	}
	return e.comms[i]
}

// resolve determines the locations of a communicator. Its set holds either ids of locations, or
// ranks among the communicating locations. If the members cannot be determined, the result contains
// all locations.
func (e *encoder) resolve(comm uint32) *commMembers {
	d := e.defs
	c := d.Communicator.At(comm)
	all := &commMembers{all: true}
	if !d.Sets.Has(c.Set) || d.ConnectsGroups(uint64(comm)) {
		return all
	}
	set := d.Sets.At(c.Set)
	x := &commMembers{ranks: map[uint32]uint64{}}
	if d.Conventions.EventTypes {
		list := e.numberedProcesses(set)
		if list == nil || slices.Contains(list, trace.NoRef) {
			return all
		}
		for _, loc := range list {
			x.add(loc)
		}
		return x
	}
	members := set.Members
	switch set.Kind {
	case "locations", "processes", "communicating locations":
	case "ranks":
		if slices.ContainsFunc(set.Attrs, func(a trace.Attr) bool { return a.Key == "flags" }) {
			return all // the ranks refer to all communicating locations
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
	for _, n := range members {
		loc, ok := e.locationByNumber(n)
		if !ok {
			return all
		}
		x.add(loc)
	}
	return x
}

// pthreadParadigm is OTF2's number of the paradigm Pthreads.
const pthreadParadigm = 7

// otherParadigms returns the paradigms of communicators except MPI.
func (e *encoder) otherParadigms() []uint64 {
	found := map[uint64]bool{}
	for i := range e.defs.Communicator.Len() {
		if e.scorep == nil || !e.members(uint32(i)).all { // in Score-P's layout, MPI's group contains all locations
			found[e.commParadigm(uint32(i))] = true
		}
	}
	delete(found, mpiParadigm)
	return slices.Sorted(maps.Keys(found))
}

// paradigmClass returns the class of a paradigm: 0 processes, 1 threads that are forked and joined, 2 threads that are
// created and waited for, 3 devices.
func paradigmClass(paradigm uint64) uint64 {
	switch word := paradigms[paradigm]; word {
	case "OPENMP", "OMPSS", "HMPP":
		return 1
	case "PTHREAD", "WINTHREAD", "QTTHREAD", "ACETHREAD", "TBBTHREAD", "MTAPI":
		return 2
	case "CUDA", "OPENACC", "OPENCL", "HIP", "KOKKOS":
		return 3
	}
	return 0
}

// commParadigm returns the paradigm of a communicator: the paradigm of its set, if the set has one. Otherwise,
// if the communicator is a team of threads, it is the paradigm of these threads. Otherwise it is MPI.
func (e *encoder) commParadigm(comm uint32) uint64 {
	if set := e.defs.Communicator.At(comm).Set; e.defs.Sets.Has(set) {
		for _, a := range e.defs.Sets.At(set).Attrs {
			switch a.Key {
			case "paradigm":
				if i := slices.Index(paradigms, a.Value.Str); i > 0 {
					return uint64(i)
				}
			case "pallas.paradigm":
				if a.Value.Num > 0 && a.Value.Num < uint64(len(paradigms)) {
					return a.Value.Num
				}
			}
		}
	}
	return cmp.Or(e.teams[comm], mpiParadigm)
}

// noteTeam records the paradigm of the threads whose team an event names.
func (e *encoder) noteTeam(c *trace.Cursor) {
	paradigm := uint64(pthreadParadigm)
	switch c.Kind() {
	case trace.ThreadFork, trace.ThreadJoin:
		if ops := c.Ops(); len(ops) > 0 {
			if p := ops[len(ops)-1]; p > 0 && p < uint64(len(paradigms)) {
				e.forks = p // a later event names the team of these threads
			}
		}
		return
	case trace.ThreadTeamBegin, trace.ThreadTeamEnd, trace.TaskCreate, trace.TaskSwitch, trace.TaskComplete:
		paradigm = cmp.Or(e.forks, openMP)
	}
	comm := c.Op(0)
	if len(c.Ops()) == 0 || comm >= uint64(e.defs.Communicator.Len()) {
		return
	}
	if e.teams == nil {
		e.teams = map[uint32]uint64{}
	}
	if _, known := e.teams[uint32(comm)]; !known {
		e.teams[uint32(comm)] = paradigm
	}
}

// locationsOf returns the ids of the locations of a set. It returns no ids unless all members are locations.
func (e *encoder) locationsOf(s *trace.Set) (ids []uint64) {
	members := s.Members
	switch s.Kind {
	case "processors", "processes":
		if e.defs.Conventions.EventTypes {
			for _, loc := range e.numberedProcesses(s) {
				if loc == trace.NoRef {
					return nil
				}
				ids = append(ids, uint64(loc))
			}
			return ids
		}
	case "regions", "metrics": // their ids may be those of locations
		return nil
	case "ranks":
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

// regionsOf returns the ids of the regions of a set. It returns no ids unless all members are regions.
func (e *encoder) regionsOf(s *trace.Set) (ids []uint64) {
	if e.regionNumbers == nil {
		e.regionNumbers = e.defs.Regions.ByNumber(func(r *trace.Region) string { return r.ID })
	}
	for _, m := range s.Members {
		region, ok := e.regionNumbers[m]
		if !ok {
			return nil
		}
		ids = append(ids, e.id(Regions, region))
	}
	return ids
}

// metricsOf returns the ids of the classes of a set of metrics, whose members are ids of classes or instances in the
// archive from which the trace came. It returns no ids unless all of them are known.
func (e *encoder) metricsOf(s *trace.Set) (ids []uint64) {
	if e.metricNumbers == nil {
		e.metricNumbers = map[uint64]uint32{}
		for i, m := range e.defs.Metrics.All() {
			if member := memberOf(&m); member[0] != unknownID && member[1] == 0 {
				e.metricNumbers[member[0]] = uint32(i)
			}
		}
	}
	for _, m := range s.Members {
		i, ok := e.metricNumbers[uint64(m)]
		if !ok {
			return nil
		}
		ids = append(ids, e.class(i))
	}
	return ids
}

// numberedProcesses returns the locations of a set of processors or processes in a trace whose locations have both
// numbers. The result is nil for other sets.
func (e *encoder) numberedProcesses(s *trace.Set) []uint32 {
	if s.Kind != "processors" && s.Kind != "processes" {
		return nil
	}
	if e.processes == nil {
		e.processes = trace.NewProcessNumbers(e.defs)
	}
	return e.processes.Locations(s)
}

// locationByNumber returns the location whose id is the number n.
func (e *encoder) locationByNumber(n int64) (uint32, bool) {
	if e.numbers == nil {
		e.numbers = e.defs.Locations.ByNumber(func(l *trace.Location) string { return l.ID })
	}
	loc, ok := e.numbers[n]
	return loc, ok
}

// communicatingMembers returns the members of the set of communicating locations that has the same paradigm as
// the set ranks. The members of ranks are positions in that set. It returns nil if there is no such set.
func (e *encoder) communicatingMembers(ranks *trace.Set) []int64 {
	if s := e.memberships.Communicating(ranks); s != nil {
		return s.Members
	}
	return nil
}
