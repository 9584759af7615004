package pallas

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/format/internal/archive"
	"github.com/weft-trace/weft/internal/forest"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// model holds the definitions of a trace in terms of the common model.
type model struct {
	t             *Trace
	defs          *trace.Definitions
	archives      []*Archive
	threads       []threadID
	groups        map[uint32]uint32     // groups by the id of their location group
	communicators forest.Forest         // parents of communicators
	scopes        map[uint32]*scope     // scopes by the id of their archive
	global        *scope                // the scope of the definitions that apply to all archives
	first         map[uint32]uint32     // the first location of each archive, by the id of the archive
	location      map[threadID]uint32   // locations by archive and thread
	anyID         map[uint32]uint32     // the first location with each id in any archive
	mu            sync.Mutex            // guards the fields below, except for restorer
	kinds         map[Record]trace.Kind // kinds for records for which the common model has none
	// attribute with the payload of the records in kinds; trace.NoRef until it is used
	payload uint32
	// attribute with the number of an undefined communicator; trace.NoRef until it is used
	comm uint32
	// attribute with the rank of an unknown peer of a message; trace.NoRef until it is used
	rank     uint32
	standIn  map[uint32]bool   // regions that stand for undefined ones
	restorer *carrier.Restorer // restores what the trace carries; nil if it carries nothing
	types    []trace.Type      // types of the attributes, if the trace carries anything
	ticks    tickScale
	rows     map[uint32]string // packed rows by thread, in a trace that weft wrote
	lanes    int64             // id of the archive for extra lanes; -1 if there is none
	// laneThreads holds the threads of that archive. Their events repeat other events, so the model has no locations
	// for them.
	laneThreads []threadID
	checker     atomic.Pointer[checker] // checks each thread that a scan reads; nil if no check was requested

	grammars     map[threadID]*Thread // lean threads that are kept for later scans
	grammarBytes int                  // approximate size of grammars
	// summary holds the sums that Details has computed while it read the threads; nil if there is no summary.
	summary    *format.Summary
	missing    []missingBlocks
	summarized bool // Details has tried to make a summary
}

type threadID struct{ archive, id uint32 }

// scope maps the refs of an archive, or of the whole trace, to indexes of the common model.
type scope struct {
	d       *Definitions
	id      string // prefix of the ids of its definitions
	outer   *scope
	regions map[Ref]uint32
	strings map[Ref]uint32
	comms   map[Ref]uint32
	sets    map[Ref]uint32
	attrs   map[Ref]uint32
}

func newScope(d *Definitions, id string, outer *scope) *scope {
	return &scope{d, id, outer, map[Ref]uint32{}, map[Ref]uint32{}, map[Ref]uint32{}, map[Ref]uint32{}, map[Ref]uint32{}}
}

// lookUp finds a ref in a table of a scope, or in the same table of the outer scopes.
func lookUp(s *scope, table func(*scope) map[Ref]uint32, r Ref) (uint32, bool) {
	for ; s != nil; s = s.outer {
		if i, ok := table(s)[r]; ok {
			return i, true
		}
	}
	return trace.NoRef, false
}

func scopeRegions(s *scope) map[Ref]uint32    { return s.regions }
func scopeStrings(s *scope) map[Ref]uint32    { return s.strings }
func scopeComms(s *scope) map[Ref]uint32      { return s.comms }
func scopeSets(s *scope) map[Ref]uint32       { return s.sets }
func scopeAttributes(s *scope) map[Ref]uint32 { return s.attrs }

// groupTypes holds a word for the members of a group, by the type of the group.
var groupTypes = [...]string{"", "locations", "regions", "metrics", "communicating locations", "ranks", "self"}

// Renamable marks the model as usable by encoders that rename texts.
func (m *model) Renamable() {}

// newModel converts the definitions of the main file and of the archives. It reads no thread.
func newModel(t *Trace, opt *format.ReadOptions) (*model, error) {
	m := &model{t: t, defs: &trace.Definitions{Clock: trace.TicksPerSecond(1_000_000_000), CheapNext: true,
		Format: "pallas", Origin: "pallas",
		Conventions: format.Conventions("pallas")},
		groups: map[uint32]uint32{}, scopes: map[uint32]*scope{}, first: map[uint32]uint32{},
		location: map[threadID]uint32{}, anyID: map[uint32]uint32{},
		kinds: map[Record]trace.Kind{}, payload: trace.NoRef, rank: trace.NoRef, comm: trace.NoRef,
		standIn: map[uint32]bool{},
		ticks:   tickScale{Scale: 1}, lanes: -1}
	restored, err := m.restore()
	if err != nil {
		m.ticks, m.lanes, m.restorer = tickScale{Scale: 1}, -1, nil
		if err := opt.Defect(&trace.Defect{Rule: "pallas.carried", Severity: trace.Error,
			Position: trace.Position{File: t.src.Path}, Found: err.Error(),
			Expected: "definitions that weft wrote; weft uses the definitions of Pallas instead"}); err != nil {
			return nil, err
		}
	}
	if restored {
		if err := m.findRows(opt); err != nil {
			return nil, err
		}
	}
	for _, x := range t.Metadata {
		if restored {
			break
		}
		m.defs.Properties.Add(trace.Attr{Key: trace.ToUTF8(x.Key), Value: trace.StringValue(trace.ToUTF8(x.Value))})
	}
	if t.Truncated != nil {
		if err := opt.Defect(t.Truncated.Defect("pallas.damaged", trace.Error)); err != nil {
			return nil, err
		}
	}
	m.global = newScope(t.Definitions, "", nil)
	if !restored {
		m.define(m.global)
	}
	if !restored {
		if err := m.addGroups(opt); err != nil {
			return nil, err
		}
	}
	for _, g := range t.LocationGroups {
		if m.scopes[g.ID] != nil {
			continue
		}
		if err := m.loadArchive(g, restored, opt); err != nil {
			return nil, err
		}
	}
	if !restored {
		m.defs.Native = m
	}
	m.defs.Contiguous = m.lanes < 0
	m.defs.ByLocation = m.ticks.Base == 0 && m.defs.Markers.Len() == 0 &&
		slices.IsSortedFunc(m.threads, func(a, b threadID) int { return cmp.Compare(m.location[a], m.location[b]) })
	return m, nil
}

// addGroups adds the location groups to the model.
func (m *model) addGroups(opt *format.ReadOptions) error {
	t := m.t
	for _, g := range t.LocationGroups {
		if _, ok := m.groups[g.ID]; ok {
			continue
		}
		name, _ := t.Definitions.Text(g.Name)
		m.groups[g.ID] = m.defs.Groups.Add(trace.LocationGroup{ID: strconv.Itoa(int(g.ID)), Name: trace.ToUTF8(name),
			Parent: trace.NoRef})
	}
	var tree forest.Forest
	for i, g := range t.LocationGroups {
		// A group may be defined before its parent.
		p, ok := m.groups[g.Parent]
		if !ok || g.Parent == NoRef {
			continue
		}
		own := m.groups[g.ID]
		if tree.Add(own, p) {
			m.defs.Groups.At(own).Parent = p
			continue
		}
		if err := opt.Defect(&trace.Defect{Rule: "pallas.circle", Severity: trace.Error,
			Position: trace.Position{File: t.src.Path, Binary: true,
				Offset: int64(place(t.Definitions.at.locationGroups, locationGroupSize, i))},
			Found:    fmt.Sprintf("location group %d in location group %d, which it contains", g.ID, g.Parent),
			Expected: "groups that do not contain themselves; weft reads a group without a parent"}); err != nil {
			return err
		}
	}
	return nil
}

// loadArchive reads the archive of a location group and adds it to the model. restored is set if the
// model comes from definitions that the trace carries.
func (m *model) loadArchive(g LocationGroup, restored bool, opt *format.ReadOptions) error {
	t := m.t
	a, err := t.Archive(g.ID)
	if archive.IsMissing(err) {
		// A group without an archive but with child groups is usually a machine. Old writers could
		// nevertheless put locations into such a group.
		if !t.children[g.ID] && len(t.placed[g.ID]) == 0 {
			if err := opt.Defect(&trace.Defect{Rule: "pallas.missing-file", Severity: trace.Error,
				Position: trace.Position{File: t.displayDir + archiveFile(g.ID)}, Found: "no such file",
				Expected: "the archive of a process"}); err != nil {
				return err
			}
		}
		for _, l := range t.placed[g.ID] {
			if name, _ := t.Definitions.Text(l.Name); !restored {
				m.defs.Locations.Add(trace.Location{ID: strconv.Itoa(int(l.ID)), Name: trace.ToUTF8(name),
					Kind: trace.ThreadLocation, Group: m.groups[g.ID]})
			}
		}
		return nil
	}
	if err != nil {
		return asDefect(opt, "pallas.damaged", err)
	}
	if a.missingErr != nil {
		if err := asDefect(opt, "pallas.missing-file", a.missingErr); err != nil {
			return err
		}
	}
	if a.Truncated != nil {
		if err := opt.Defect(a.Truncated.Defect("pallas.damaged", trace.Error)); err != nil {
			return err
		}
	}
	if n := a.present(); a.missingErr == nil && a.Truncated == nil && a.fileThreads > n {
		if err := opt.Defect(&trace.Defect{Rule: "pallas.missing-file", Severity: trace.Error,
			Position: trace.Position{File: t.displayDir + archiveFile(a.ID), Offset: 4, Binary: true},
			Found:    fmt.Sprintf("%s with a file", plural.Of(n, "thread")),
			Expected: fmt.Sprintf("%d, as the archive states", a.fileThreads)}); err != nil {
			return err
		}
	}
	if restored {
		return m.placeThreads(a, opt)
	}
	m.addArchive(a)
	return nil
}

// addArchive adds the definitions and locations of an archive to the model.
func (m *model) addArchive(a *Archive) {
	m.archives = append(m.archives, a)
	s := newScope(a.Definitions, fmt.Sprintf("%d/", a.ID), m.global)
	m.scopes[a.ID] = s
	m.define(s)
	g := m.defs.Groups.At(m.groups[a.ID])
	if a.ID != noGroup || g.Name != noGroupName {
		g.Kind = "process"
	}
	for _, x := range a.Metadata {
		g.Attrs = append(g.Attrs, trace.Attr{Key: trace.ToUTF8(x.Key), Value: trace.StringValue(trace.ToUTF8(x.Value))})
	}
	for _, l := range a.Locations {
		at := threadID{a.ID, l.ID}
		if _, ok := m.location[at]; ok {
			continue
		}
		name, _ := a.Definitions.Text(l.Name)
		id := strconv.Itoa(int(l.ID))
		if _, ok := m.anyID[l.ID]; ok {
			id = s.id + id
		}
		i := m.defs.Locations.Add(trace.Location{ID: id, Name: trace.ToUTF8(name), Kind: trace.ThreadLocation,
			Group: m.groups[a.ID]})
		m.location[at] = i
		if _, ok := m.anyID[l.ID]; !ok {
			m.anyID[l.ID] = i
		}
		if _, ok := m.first[a.ID]; !ok {
			m.first[a.ID] = i
		}
		m.threads = append(m.threads, at)
	}
}

// define adds the definitions of a scope to the model.
func (m *model) define(s *scope) {
	name := func(r Ref) string {
		x, _ := s.d.Text(r)
		return trace.ToUTF8(x)
	}
	id := func(r Ref) string { return s.id + strconv.Itoa(int(r)) }
	for _, x := range s.d.Strings {
		if _, ok := s.strings[x.Ref]; !ok {
			s.strings[x.Ref] = m.defs.Strings.Add(trace.ToUTF8(x.Text))
		}
	}
	for _, x := range append(s.d.Regions[:len(s.d.Regions):len(s.d.Regions)], s.d.overridden()...) {
		if _, ok := s.regions[x.Ref]; !ok {
			s.regions[x.Ref] = m.defs.Regions.Add(trace.Region{ID: id(x.Ref), Name: name(x.Name)})
		}
	}
	for _, x := range s.d.Attributes {
		if _, ok := s.attrs[x.Ref]; !ok {
			s.attrs[x.Ref] = m.defs.Attributes.Add(trace.AttributeDef{ID: id(x.Ref), Name: name(x.Name),
				Type: trace.Type(x.Type), Doc: name(x.Description)})
		}
	}
	for _, x := range s.d.Groups {
		if _, ok := s.sets[x.Ref]; ok {
			continue
		}
		set := trace.Set{ID: id(x.Ref), Name: name(x.Name), Members: make([]int64, len(x.Members))}
		for i, n := range x.Members {
			set.Members[i] = int64(n)
		}
		if x.Type < uint32(len(groupTypes)) {
			set.Kind = groupTypes[x.Type]
		}
		if x.Paradigm != 0 {
			set.Attrs = append(set.Attrs, trace.Attr{Key: "pallas.paradigm", Value: trace.IntValue(int64(x.Paradigm))})
		}
		s.sets[x.Ref] = m.defs.Sets.Add(set)
	}
	for _, x := range s.d.Comms {
		if _, ok := s.comms[x.Ref]; ok {
			continue
		}
		c := trace.Communicator{ID: id(x.Ref), Name: name(x.Name), Set: trace.NoRef, Parent: trace.NoRef}
		if i, ok := lookUp(s, scopeSets, x.Group); ok {
			c.Set = i
		}
		s.comms[x.Ref] = m.defs.Communicator.Add(c)
	}
	for _, x := range s.d.Comms {
		i, ok := lookUp(s, scopeComms, x.Parent)
		if !ok {
			continue
		}
		own := s.comms[x.Ref]
		if m.communicators.Add(own, i) { // otherwise, the communicator would be its own ancestor
			m.defs.Communicator.At(own).Parent = i
		}
	}
}

// peer returns the location of a rank of a communicator, or trace.Undefined if it is unknown.
func (m *model) peer(s *scope, comm Ref, rank uint64) uint64 {
	if rank >= uint64(NoRef) {
		return trace.Undefined // the receive accepts any source
	}
	c := s.d.Comm(comm)
	if c == nil {
		// Without a communicator, ranks are numbers of processes.
		return locationOrUndefined(m.first, uint32(rank))
	}
	g := s.d.Group(c.Group)
	if g == nil || rank >= uint64(len(g.Members)) {
		return trace.Undefined
	}
	id := g.Members[rank]
	if g.Type == ranksGroup {
		if all := m.communicatingGroup(s, g.Paradigm); all != nil {
			if id >= uint32(len(all.Members)) {
				return trace.Undefined
			}
			id = all.Members[id]
		}
	}
	if i, ok := m.anyID[id]; ok {
		return uint64(i)
	}
	return locationOrUndefined(m.first, id)
}

const (
	communicatingGroup = 4
	ranksGroup         = 5
)

// communicatingGroup returns the group of communicating locations of a paradigm, or nil if there is none. The
// members of a communicator's group are positions in this group.
func (m *model) communicatingGroup(s *scope, paradigm uint32) *Group {
	for d := s.d; d != nil; d = d.global {
		for i := range d.Groups {
			if g := &d.Groups[i]; g.Type == communicatingGroup && g.Paradigm == paradigm {
				return g
			}
		}
	}
	return nil
}

func locationOrUndefined(m map[uint32]uint32, id uint32) uint64 {
	if i, ok := m[id]; ok {
		return uint64(i)
	}
	return trace.Undefined
}

// kind returns the kind for a record for which the common model has none. It declares the kind on first
// use.
func (m *model) kind(r Record) trace.Kind {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, ok := m.kinds[r]
	if !ok {
		k = trace.Declared + trace.Kind(m.defs.Kinds.Add(trace.KindDef{Format: "pallas",
			KindSpec: trace.KindSpec{Name: "pallas-" + kindName(r),
				Doc: "a Pallas record whose payload the format does not define"}}))
		m.kinds[r] = k
	}
	return k
}

// Names of the attributes that the model adds to events.
const (
	payloadName = "pallas.payload"      // payload of a record for which the format defines no fields
	commName    = "pallas.communicator" // number of an undefined communicator
	rankName    = "pallas.rank"         // rank of a message's peer whose location is unknown
)

// attr returns the index of the attribute with a ref. It adds a stand-in if the ref is undefined.
func (m *model) attr(s *scope, r Ref) uint32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, ok := lookUp(s, scopeAttributes, r)
	if !ok {
		i = m.defs.Attributes.Add(trace.AttributeDef{ID: s.id + fmt.Sprint(r),
			Name: fmt.Sprintf("undefined attribute %d", r), Type: trace.Bytes})
		s.attrs[r] = i
	}
	return i
}

// attribute returns the index of an attribute that the model adds to events. It defines the attribute
// on first use.
func (m *model) attribute(at *uint32, name string, t trace.Type) uint32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if *at == trace.NoRef {
		*at = m.defs.Attributes.Add(trace.AttributeDef{Name: name, Type: t})
	}
	return *at
}

// region returns the index of the region with a ref. It adds a stand-in if the ref is undefined.
func (m *model) region(s *scope, r Ref) (i uint32, defined bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if i, ok := lookUp(s, scopeRegions, r); ok {
		return i, !m.standIn[i]
	}
	i = m.defs.Regions.Add(trace.Region{ID: s.id + strconv.Itoa(int(r)), Name: fmt.Sprintf("undefined region %d", r)})
	s.regions[r], m.standIn[i] = i, true
	return i, false
}
