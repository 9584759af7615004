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
	*placeList
	all  bool   // the list is that of all communicating locations
	self bool   // each location is the only member of a communicator of its own
	set  uint32 // set whose members, or positions among all communicating locations, are the ranks; NoRef if none
	// stated is the number of members in the set
	stated int
	// other holds the members of the second group of a communicator that connects two groups, and first the locations
	// of the first group.
	other *commMembers
	first map[uint32]bool
}

// rank returns the rank of a location in events of the location from. It adds a location that is not a member yet.
// Between two groups, ranks refer to the group of the partner, whose members are fixed: ok is false for other
// locations.
func (c *commMembers) rank(from, loc uint32) (rank uint64, ok bool) {
	switch {
	case c.other == nil:
	case c.first[from]:
		return c.other.find(loc)
	default:
		return c.find(loc)
	}
	if c.self {
		return 0, true
	}
	return c.place(loc), true
}

// placeList numbers locations in the order of their first use.
type placeList struct {
	places    map[uint32]uint64 // nil if the list holds all locations, whose places are their indexes
	locations []uint32          // locations, in the order of their places
}

// find returns the place of a location. ok is false for a location that is not in the list.
func (l *placeList) find(loc uint32) (place uint64, ok bool) {
	if l.places == nil {
		return uint64(loc), true
	}
	place, ok = l.places[loc]
	return place, ok
}

// place returns the place of a location. It adds a location that is not in the list.
func (l *placeList) place(loc uint32) uint64 {
	if l.places == nil {
		return uint64(loc)
	}
	p, ok := l.places[loc]
	if !ok {
		p = uint64(len(l.locations))
		l.add(loc)
	}
	return p
}

// add adds a location, which may already be in the list.
func (l *placeList) add(loc uint32) {
	if _, twice := l.places[loc]; !twice {
		l.places[loc] = uint64(len(l.locations))
	}
	l.locations = append(l.locations, loc)
}

// communicating returns the communicating locations of a paradigm. They are those that the trace states, or all
// locations. In Score-P's layout they are the master threads for MPI, and none for other paradigms. Locations that
// communicate are added.
func (e *encoder) communicating(paradigm uint64) *placeList {
	l := e.paradigmLists[paradigm]
	if l == nil {
		l = &placeList{}
		if e.paradigmLists == nil {
			e.paradigmLists = map[uint64]*placeList{}
		}
		e.paradigmLists[paradigm] = l
		if e.scorep != nil {
			l.places = map[uint32]uint64{}
		} else if set, stated := e.statedLocations(paradigm); set != trace.NoRef {
			l.places = map[uint32]uint64{}
			for _, loc := range stated {
				l.add(loc)
			}
		}
	}
	if s := e.scorep; s != nil && paradigm == mpiParadigm {
		for s.extend(e.defs); s.ranked < len(s.master); s.ranked++ {
			if s.master[s.ranked] {
				l.place(uint32(s.ranked))
			}
		}
	}
	for l.places == nil && len(l.locations) < e.defs.Locations.Len() {
		l.locations = append(l.locations, uint32(len(l.locations)))
	}
	return l
}

// statedLocations returns the first set of the communicating locations of a paradigm, and the locations of all these
// sets: a merged trace has one of each part. It returns NoRef if the trace does not state all of them.
func (e *encoder) statedLocations(paradigm uint64) (first uint32, locations []uint32) {
	if e.statedSets == nil {
		e.statedSets = map[uint64]*statedSets{}
		for i, s := range e.defs.Sets.All() {
			if s.Kind != "communicating locations" {
				continue
			}
			p, list := setParadigm(&s), e.memberships.SetMembers(uint32(i))
			x := e.statedSets[p]
			if x == nil {
				x = &statedSets{first: uint32(i)}
				e.statedSets[p] = x
			}
			x.locations = append(x.locations, list...)
			sorted := slices.Sorted(slices.Values(x.locations))
			if len(list) == 0 || sorted[len(sorted)-1] == trace.NoRef || len(slices.Compact(sorted)) < len(x.locations) {
				x.first = trace.NoRef
			}
		}
	}
	if x := e.statedSets[paradigm]; x != nil && x.first != trace.NoRef {
		return x.first, x.locations
	}
	return trace.NoRef, nil
}

// statedSets holds the sets of the communicating locations of a paradigm: the first of them, or NoRef if they do not
// state all locations, and the locations of all of them.
type statedSets struct {
	first     uint32
	locations []uint32
}

// members returns the members of communicator i. They are determined at the first call.
func (e *encoder) members(i uint32) *commMembers {
	for n := uint32(len(e.comms)); n <= i; n++ {
		e.comms = append(e.comms, e.resolve(n))
	}
	return e.comms[i]
}

// resolve determines the locations of a communicator. If the members of a communicator that connects two groups cannot
// be determined, the result contains all locations.
func (e *encoder) resolve(comm uint32) *commMembers {
	c := e.defs.Communicator.At(comm)
	x := e.resolveSet(c.Set)
	if !e.defs.ConnectsGroups(uint64(comm)) {
		return x
	}
	if _, known := e.memberships.Members(comm); known {
		x.other, x.first = e.resolveSet(e.defs.OtherGroup(comm)), map[uint32]bool{}
		for _, loc := range e.memberships.SetMembers(c.Set) {
			x.first[loc] = true
		}
		if x.set != trace.NoRef && x.other.set != trace.NoRef {
			return x
		}
	}
	return e.allMembers()
}

// allMembers returns all communicating locations, as the members of a communicator.
func (e *encoder) allMembers() *commMembers {
	return &commMembers{placeList: e.communicating(mpiParadigm), all: true, set: trace.NoRef}
}

// resolveSet determines the locations of a communicator's set. The set holds either ids of locations, or
// ranks among the communicating locations. If the members cannot be determined, the result contains
// all locations.
func (e *encoder) resolveSet(id uint32) *commMembers {
	d, all := e.defs, e.allMembers()
	if !d.Sets.Has(id) {
		return all
	}
	set := d.Sets.At(id)
	x := &commMembers{placeList: &placeList{places: map[uint32]uint64{}}, set: id}
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
			if p := setParadigm(set); e.scorep == nil && p != 0 { // the ranks refer to all communicating locations
				all.placeList, all.set = e.communicating(p), id
			}
			return all
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
	case "self":
		x.self = true
		return x
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
	x.stated = len(x.locations)
	return x
}

// pthreadParadigm is OTF2's number of the paradigm Pthreads.
const pthreadParadigm = 7

// otherParadigms returns the paradigms of communicators, and of sets that are written as groups of ranks, except MPI.
func (e *encoder) otherParadigms() []uint64 {
	found := map[uint64]bool{}
	for i := range e.defs.Communicator.Len() {
		if e.scorep == nil || !e.members(uint32(i)).all { // in Score-P's layout, MPI's group contains all locations
			found[e.commParadigm(uint32(i))] = true
		}
	}
	for i := range e.defs.Sets.Len() {
		if p, ok := e.ranksParadigm(uint32(i)); ok {
			found[p] = true
		}
	}
	delete(found, mpiParadigm)
	return slices.Sorted(maps.Keys(found))
}

// ranksParadigm returns the paradigm of a set of ranks, or of a set that stands for each location itself, that is
// written as a group of ranks. Of several sets that stand for each location, this is the first. In a merged trace, the
// members of a communicator are locations instead of ranks. ok is false for other sets.
func (e *encoder) ranksParadigm(set uint32) (paradigm uint64, ok bool) {
	s := e.defs.Sets.At(set)
	paradigm = setParadigm(s)
	switch {
	case e.scorep != nil || paradigm == 0:
		return 0, false
	case s.Kind == "self":
		first, known := e.selfSets()[paradigm]
		return paradigm, known && first == set
	case s.Kind == "locations":
		if !e.setsOfComms()[set] || slices.ContainsFunc(s.Attrs, func(a trace.Attr) bool { return a.Key == "flags" }) {
			return 0, false
		}
	case s.Kind != "ranks":
		return 0, false
	}
	first, _ := e.statedLocations(paradigm)
	return paradigm, first < set && len(e.locationsOf(s)) == len(s.Members)
}

// selfSets returns the first set of each paradigm that stands for each location itself.
func (e *encoder) selfSets() map[uint64]uint32 {
	if e.selves == nil {
		e.selves = map[uint64]uint32{}
		for i, s := range e.defs.Sets.All() {
			p := setParadigm(&s)
			if _, several := e.selves[p]; s.Kind == "self" && len(s.Members) == 0 && !several {
				e.selves[p] = uint32(i)
			}
		}
	}
	return e.selves
}

// setsOfComms returns the sets of communicators.
func (e *encoder) setsOfComms() map[uint32]bool {
	if e.commSets == nil {
		e.commSets = map[uint32]bool{}
		for i, c := range e.defs.Communicator.All() {
			e.commSets[c.Set], e.commSets[e.defs.OtherGroup(uint32(i))] = true, true
		}
	}
	return e.commSets
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
		if p := setParadigm(e.defs.Sets.At(set)); p != 0 {
			return p
		}
	}
	return cmp.Or(e.teams[comm], mpiParadigm)
}

// setParadigm returns the paradigm of a set, or 0 if it has none.
func setParadigm(s *trace.Set) uint64 {
	for _, a := range s.Attrs {
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
	return 0
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
