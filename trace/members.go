package trace

import (
	"math"
	"slices"
	"strings"
)

// Memberships finds the members of communicators and sets. The members of all communicators of a trace then take time
// in proportion to the number of locations, sets and members. Memberships takes locations and sets into account that
// the trace gets later, for example because it is still being written. Only one goroutine at a time may use it.
type Memberships struct {
	defs            *Definitions
	locations, sets int              // numbers of locations and sets for which the other fields are valid
	byID            map[int64]uint32 // locations by id
	all             map[Value]*Set   // results of Communicating, by paradigm
	numbers         *ProcessNumbers
}

// Memberships returns the members of the communicators and sets of a trace.
func (d *Definitions) Memberships() *Memberships { return &Memberships{defs: d} }

// Members returns the locations of a communicator in the order of its ranks, as indexes into
// Locations. If the communicator connects two groups, those of the second group follow those of the first. known is
// false if the trace does not define one of them, or does not say how it numbers ranks.
func (m *Memberships) Members(communicator uint32) (list []uint32, known bool) {
	d := m.defs
	if !d.Communicator.Has(communicator) {
		return nil, false
	}
	c := d.Communicator.At(communicator)
	list = m.SetMembers(c.Set)
	if list == nil || slices.Contains(list, NoRef) {
		return nil, false
	}
	if d.ConnectsGroups(uint64(communicator)) {
		others := m.SetMembers(d.OtherGroup(communicator))
		if others == nil || slices.Contains(others, NoRef) {
			return nil, false
		}
		list = append(list, others...)
	}
	return list, true
}

// MemberCount returns the number of members of a communicator. Some traces define the number but not
// the members themselves. known is false if the trace does not define the number, or if the
// communicator connects two groups.
func (d *Definitions) MemberCount(communicator uint32) (n int, known bool) {
	if !d.Communicator.Has(communicator) || !d.Sets.Has(d.Communicator.At(communicator).Set) ||
		d.ConnectsGroups(uint64(communicator)) {
		return 0, false
	}
	if d.IsSelf(uint64(communicator)) {
		return 1, true
	}
	s := d.Sets.At(d.Communicator.At(communicator).Set)
	if n = len(s.Members); d.Conventions.EventTypes {
		n = len((&nestedSets{defs: d}).members(s.Kind, s.Members))
	}
	return n, n > 0
}

// IsSelf reports whether each location is the only member of a communicator of its own, as with MPI_COMM_SELF. One
// definition stands for all of these communicators. Formats without such definitions have only the name.
func (d *Definitions) IsSelf(communicator uint64) bool {
	if communicator >= uint64(d.Communicator.Len()) {
		return false
	}
	c := d.Communicator.At(uint32(communicator))
	return c.Name == "MPI_COMM_SELF" || d.Sets.Has(c.Set) && d.Sets.At(c.Set).Kind == "self"
}

// OtherGroupAttribute is the name of the attribute of a communicator that connects two groups of locations (an MPI
// intercommunicator). It refers to the second group ([GroupRef]), or is [NoRef] if the trace does not define that
// group. In events of the members of the first group, ranks are positions in the second group.
const OtherGroupAttribute = "other"

// ConnectsGroups reports whether a communicator connects two groups of locations.
func (d *Definitions) ConnectsGroups(communicator uint64) bool {
	if communicator >= uint64(d.Communicator.Len()) {
		return false
	}
	return slices.ContainsFunc(d.Communicator.At(uint32(communicator)).Attrs,
		func(a Attr) bool { return a.Key == OtherGroupAttribute })
}

// OtherGroup returns the set of the second group of a communicator that connects two groups, or [NoRef] if the trace
// does not define it.
func (d *Definitions) OtherGroup(communicator uint32) uint32 {
	return reference(d.Communicator.At(communicator).Attrs, OtherGroupAttribute, GroupRef, d.Sets.Len())
}

// CommunicatorAttribute is the name of the attribute of a window for remote memory access that refers to its
// communicator ([CommRef]).
const CommunicatorAttribute = "communicatorIndex"

// WindowCommunicator returns the communicator of a window for remote memory access as an index into
// Communicator, or [NoRef] if it is unknown.
func (d *Definitions) WindowCommunicator(window uint32) uint32 {
	if !d.Windows.Has(window) {
		return NoRef
	}
	return reference(d.Windows.At(window).Attrs, CommunicatorAttribute, CommRef, d.Communicator.Len())
}

// FileAttribute is the name of the attribute of an I/O handle that refers to its file ([FileRef]).
const FileAttribute = "fileIndex"

// HandleFile returns the file of an I/O handle as an index into Files, or [NoRef] if it is unknown or the handle
// belongs to no file.
func (d *Definitions) HandleFile(handle uint32) uint32 {
	if !d.Handles.Has(handle) {
		return NoRef
	}
	return reference(d.Handles.At(handle).Attrs, FileAttribute, FileRef, d.Files.Len())
}

// reference returns the value of an attribute that refers to an entry of a table with n entries, or [NoRef].
func reference(attrs []Attr, key string, typ Type, n int) uint32 {
	for _, a := range attrs {
		if a.Key == key && a.Value.Type == typ && a.Value.Num < uint64(n) {
			return uint32(a.Value.Num)
		}
	}
	return NoRef
}

// Ranks returns the location of each rank of a communicator, or [NoRef] for a rank whose location
// the trace does not define. The result is nil if the trace does not say how it numbers ranks. Ranks are
// places among the members of the communicator's set or, if the attribute "flags" of the set contains
// GLOBAL_MEMBERS, among all communicating locations.
func (m *Memberships) Ranks(communicator uint32) []uint32 {
	d := m.defs
	if !d.Communicator.Has(communicator) {
		return nil
	}
	set := d.Communicator.At(communicator).Set
	if d.Sets.Has(set) && strings.Contains(d.Sets.At(set).attribute("flags").String(), "GLOBAL_MEMBERS") {
		all := m.Communicating(d.Sets.At(set))
		if all == nil {
			return nil
		}
		return m.locationsOf(all.Members)
	}
	return m.SetMembers(set)
}

// KnownMembers returns the members of a communicator that the trace defines. If the communicator connects two groups,
// those of the second group follow those of the first.
func (m *Memberships) KnownMembers(communicator uint32) (list []uint32) {
	c := m.defs.Communicator.At(communicator)
	add := func(set uint32) {
		for _, loc := range m.SetMembers(set) {
			if loc != NoRef {
				list = append(list, loc)
			}
		}
	}
	add(c.Set)
	if other := m.defs.OtherGroup(communicator); other != NoRef {
		add(other)
	}
	return list
}

// SetMembers returns the location of each member of a set of ranks or locations, or [NoRef] for a member that the
// trace does not define. Ranks are indexes into the set of all communicating locations. The result is nil if the trace
// does not state how it numbers them. The caller owns it.
func (m *Memberships) SetMembers(set uint32) []uint32 {
	d := m.defs
	if !d.Sets.Has(set) {
		return nil
	}
	m.update()
	s := d.Sets.At(set)
	if d.Conventions.EventTypes && (s.Kind == "processors" || s.Kind == "processes") {
		if m.numbers == nil {
			m.numbers = NewProcessNumbers(d)
		}
		return m.numbers.Locations(s)
	}
	switch s.Kind {
	case "processes", "locations", "communicating locations":
		return m.locationsOf(s.Members)
	case "ranks":
		all := m.Communicating(s)
		if all == nil {
			return nil
		}
		members := make([]int64, len(s.Members))
		for i, rank := range s.Members {
			if members[i] = unknownMember; rank >= 0 && rank < int64(len(all.Members)) {
				members[i] = all.Members[rank]
			}
		}
		return m.locationsOf(members)
	}
	return nil
}

// Communicating returns the set of communicating locations into which the members of a communicator's set are
// indexes. The set of communicating locations has the same paradigm as the communicator's set. The result is
// nil if no set or several sets match.
func (m *Memberships) Communicating(ranks *Set) *Set {
	m.update()
	if m.all == nil {
		m.all = map[Value]*Set{}
		for i := range m.defs.Sets.Len() {
			s := m.defs.Sets.At(uint32(i))
			if s.Kind != "communicating locations" {
				continue
			}
			paradigm := s.attribute("paradigm")
			if _, several := m.all[paradigm]; several {
				s = nil
			}
			m.all[paradigm] = s
		}
	}
	return m.all[ranks.attribute("paradigm")]
}

// update drops what is no longer valid because the trace has got more definitions.
func (m *Memberships) update() {
	if locations, sets := m.defs.Locations.Len(), m.defs.Sets.Len(); locations != m.locations || sets != m.sets {
		*m = Memberships{defs: m.defs, locations: locations, sets: sets}
	}
}

// unknownMember is an id that no location has.
const unknownMember = math.MinInt64

// locationsOf returns the locations with the given ids, or NoRef for ids that no location has.
func (m *Memberships) locationsOf(ids []int64) []uint32 {
	m.update()
	if m.byID == nil {
		m.byID = m.defs.Locations.ByNumber(func(l *Location) string { return l.ID })
	}
	list := make([]uint32, len(ids))
	for i, id := range ids {
		list[i] = NoRef
		if loc, ok := m.byID[id]; ok && id != unknownMember {
			list[i] = loc
		}
	}
	return list
}

// RankLocations returns, for each location, the one that has the rank of its process in MPI: the location itself or,
// for another thread of a process, the only communicating location of that process. Messages and operations name the
// rank, whichever thread calls MPI. The result is nil if each location would map to itself.
func (d *Definitions) RankLocations() []uint32 {
	members := d.Memberships()
	ranked := map[uint32][]uint32{} // up to two communicating locations, by group
	for i := range d.Sets.Len() {
		s := d.Sets.At(uint32(i))
		if s.Kind != "communicating locations" || !strings.EqualFold(s.attribute("paradigm").String(), "mpi") {
			continue
		}
		for _, loc := range members.SetMembers(uint32(i)) {
			if loc == NoRef {
				continue
			}
			g := d.Locations.At(loc).Group
			if own := ranked[g]; len(own) < 2 && !slices.Contains(own, loc) {
				ranked[g] = append(own, loc)
			}
		}
	}
	if len(ranked) == 0 {
		return nil
	}
	list, differ := make([]uint32, d.Locations.Len()), false
	for i, l := range d.Locations.All() {
		list[i] = uint32(i)
		if own := ranked[l.Group]; len(own) == 1 && d.Groups.Has(l.Group) && d.Groups.At(l.Group).Kind == "process" &&
			l.Kind.IsProcessor() && l.Kind != StreamLocation {
			list[i], differ = own[0], differ || own[0] != uint32(i)
		}
	}
	if !differ {
		return nil
	}
	return list
}

// attribute returns the value of the attribute of the set with the given name. In the set, the name of a
// format may precede the name of the attribute.
func (s *Set) attribute(name string) Value {
	for _, a := range s.Attrs {
		if a.Key == name || strings.HasSuffix(a.Key, "."+name) {
			return a.Value
		}
	}
	return Value{}
}

// ProcessOf returns the process to which a location belongs, as an index into Groups. It returns NoRef if the trace
// does not define a process of the location.
func (d *Definitions) ProcessOf(location uint32) uint32 {
	if d.Locations.Has(location) {
		if g := d.Locations.At(location).Group; d.Groups.Has(g) && d.Groups.At(g).Kind == "process" {
			return g
		}
	}
	return NoRef
}

// LaterThreads returns for each location whether it is a thread that is not the first one of its
// process.
func (d *Definitions) LaterThreads() []bool {
	later := make([]bool, d.Locations.Len())
	begun := map[uint32]bool{}
	for i := range later {
		if g := d.ProcessOf(uint32(i)); g != NoRef {
			later[i], begun[g] = begun[g], true
		}
	}
	return later
}
