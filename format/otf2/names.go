package otf2

import (
	"path"
	"strconv"
	"unsafe"
)

// names holds the names under which otf2-print shows the definitions read so far. A later definition
// replaces an earlier one with the same id.
type names struct {
	tables [tables]nameTable
	// members holds the ids of the metric members of each metric, by the metric's id.
	members map[uint64][]uint64
	metrics map[uint64][]uint64 // values in the definition of each metric member, by id
	groups  map[uint64]*printGroup
	comms   map[uint64]*printComm
	// communicators holds the communicators of windows and topologies. An entry is nil if the communicator was
	// not defined before the window or topology.
	communicators map[Table]map[uint64]*printComm
	communicating map[uint64]*printGroup // groups of communicating locations, by paradigm
	pool          pool
	carries       bool // weft wrote the archive; therefore some strings contain encoded links
	stated        statedExtent
	attributes    map[uint64]uint64 // types of attributes, by id
}

// nameTable holds the names of a table by id. Small ids are in a slice.
type nameTable struct {
	low  []*entryName
	high map[uint64]*entryName
}

// entryName is the name of a definition.
type entryName struct {
	name  string
	has   bool   // the definition has a name
	shown string // the name followed by the id
}

// printGroup is a group of locations.
type printGroup struct {
	typ, flags, paradigm uint64
	members              []uint64
	locations            *printGroup // the group of which the members are positions
}

// printComm is a communicator, or an inter-communicator if it has two groups.
type printComm struct{ a, b *printGroup }

const lowIDs = 1 << 16

func (t *nameTable) get(id uint64) *entryName {
	if id < uint64(len(t.low)) {
		return t.low[id]
	}
	return t.high[id]
}

func (t *nameTable) put(id uint64, n *entryName) {
	if id >= lowIDs {
		if t.high == nil {
			t.high = map[uint64]*entryName{}
		}
		t.high[id] = n
		return
	}
	for uint64(len(t.low)) <= id {
		t.low = append(t.low, nil)
	}
	t.low[id] = n
}

func newNames() *names {
	return &names{members: map[uint64][]uint64{}, metrics: map[uint64][]uint64{}, groups: map[uint64]*printGroup{},
		comms:         map[uint64]*printComm{},
		communicators: map[Table]map[uint64]*printComm{Windows: {}, CartTopologies: {}},
		communicating: map[uint64]*printGroup{}, attributes: map[uint64]uint64{}}
}

// add records the name of a definition. has is false for a definition without a name.
func (n *names) add(t Table, id uint64, name string, has bool) {
	if id == undefined64 || id == undefined32 && t != Locations {
		return
	}
	x := &entryName{name: name, has: has, shown: strconv.FormatUint(id, 10)}
	if has {
		x.shown = `"` + name + `" <` + x.shown + ">"
	}
	n.tables[t].put(id, x)
}

// get returns the name of a definition, or nil if it is unknown.
func (n *names) get(t Table, id uint64) *entryName {
	if x := n.tables[t].get(id); x != nil || t != Strings {
		return x
	}
	if s, ok := n.pool.get(id); ok {
		return &entryName{name: s, has: true, shown: `"` + s + `" <` + strconv.FormatUint(id, 10) + ">"}
	}
	return nil
}

// has reports whether a definition is known. Unlike get, it makes no text.
func (n *names) has(t Table, id uint64) bool {
	return n.tables[t].get(id) != nil || t == Strings && n.pool.has(id)
}

// pool holds strings with ids from [firstPooled] on. An archive can have as many of these strings as events. The
// pool stores the bytes of all strings, and the position of each string by its id.
type pool struct {
	slabs [][]byte
	texts []slice
	count int    // number of strings
	end   uint64 // greater than all ids of strings that were offered
}

// slice is a part of a slab. The zero slice stands for a missing string.
type slice struct{ slab, from, to uint32 } // slabs are numbered from 1 on

const slabSize = 1 << 20

// add adds a string. It returns false if the pool has a string with this id, or if the id is much greater than the
// number of strings, so that the pool would have too many gaps.
func (p *pool) add(id uint64, s string) bool {
	if id < firstPooled {
		return false
	}
	if p.end = max(p.end, id+1); id-firstPooled > 16*uint64(p.count+4096) || p.has(id) {
		return false
	}
	n := len(p.slabs)
	if n == 0 || cap(p.slabs[n-1])-len(p.slabs[n-1]) < len(s) {
		p.slabs = append(p.slabs, make([]byte, 0, max(slabSize, len(s))))
		n++
	}
	slab := &p.slabs[n-1]
	from := len(*slab)
	*slab = append(*slab, s...)
	at := int(id - firstPooled)
	if at >= len(p.texts) {
		p.texts = append(p.texts, make([]slice, at+1-len(p.texts))...)
	}
	p.texts[at] = slice{uint32(n), uint32(from), uint32(len(*slab))}
	p.count++
	return true
}

func (p *pool) has(id uint64) bool {
	return id >= firstPooled && id-firstPooled < uint64(len(p.texts)) && p.texts[id-firstPooled].slab > 0
}

// ids returns the ids of the strings by their text, for up to maxTexts strings.
func (p *pool) ids() map[string]uint64 {
	m := make(map[string]uint64, min(p.count, maxTexts))
	for i := range p.texts {
		if s, ok := p.get(firstPooled + uint64(i)); ok && len(m) < maxTexts {
			if _, twice := m[s]; !twice {
				m[s] = firstPooled + uint64(i)
			}
		}
	}
	return m
}

// get returns the string with an id. It shares the memory of the pool, whose bytes do not change.
func (p *pool) get(id uint64) (string, bool) {
	if !p.has(id) {
		return "", false
	}
	x := p.texts[id-firstPooled]
	b := p.slabs[x.slab-1][x.from:x.to]
	return unsafe.String(unsafe.SliceData(b), len(b)), true
}

// text returns the string with an id. ok is false if the string does not exist.
func (n *names) text(id uint64) (string, bool) {
	if id == undefined32 {
		return "", false
	}
	if x := n.tables[Strings].get(id); x != nil {
		return x.name, true
	}
	return n.pool.get(id)
}

// rawName returns the name of a definition. It returns "UNDEFINED" for an undefined reference.
func (n *names) rawName(t Table, id uint64) (string, bool) {
	if id == undefined32 && t != Locations || id == undefined64 {
		return "UNDEFINED", true
	}
	if x := n.get(t, id); x != nil {
		return x.name, x.has
	}
	return "", false
}

// shown returns a reference as otf2-print shows it.
func (n *names) shown(t Table, id uint64) string {
	if id == undefined64 || id == undefined32 && t != Locations {
		return "UNDEFINED"
	}
	if x := n.get(t, id); x != nil {
		return x.shown
	}
	return "INVALID <" + strconv.FormatUint(id, 10) + ">"
}

// nameFields maps the id of a definition type to the field that contains the name. It lacks types without a
// name.
var nameFields = map[uint8]struct {
	table Table
	field int
}{
	defParadigm: {Paradigms, 1}, defIOParadigm: {IOParadigms, 2}, defAttribute: {Attributes, 1},
	defLocationGroup: {LocationGroups, 1},
	defLocation:      {Locations, 1}, defRegion: {Regions, 1}, defGroup: {Groups, 1}, defMetricMember: {MetricMembers, 1},
	defComm:      {Comms, 1},
	defInterComm: {Comms, 1}, defParameter: {Parameters, 1}, defWindow: {Windows, 1},
	defCartDimension: {CartDimensions, 1},
	defCartTopology:  {CartTopologies, 1}, defInterrupt: {InterruptGenerators, 1},
}

// define stores the names in a definition record for later lookups.
func (n *names) define(r *Record) {
	v := r.Values
	if x, ok := nameFields[r.ID]; ok {
		name, ok := n.text(v[x.field])
		n.add(x.table, v[0], name, ok)
	}
	switch r.ID {
	case defString:
		switch {
		case v[0] >= firstLink && n.carries: // links that weft wrote
		case !n.pool.add(v[0], r.Texts[0]):
			n.add(Strings, v[0], r.Texts[0], true)
		}
	case defClock:
		n.stated = statedExtent{v[1], v[2]}
	case defAttribute:
		n.attributes[v[0]] = v[2]
	case defTreeNode:
		name, _ := n.text(v[1])
		class, _ := n.text(v[2])
		n.add(SystemTreeNodes, v[0], class+"::"+name, true)
	case defCallsite:
		n.add(Callsites, v[0], "", false)
	case defCallpath:
		n.add(Callpaths, v[0], "", false)
	case defGroup:
		n.group(groupOf(v))
	case defMetricMember:
		n.metrics[v[0]] = append([]uint64(nil), v...)
	case defMetricClass:
		n.add(Metrics, v[0], "", false)
		n.members[v[0]] = append([]uint64(nil), v[2:2+v[1]]...)
	case defMetricInst:
		n.add(Metrics, v[0], "", false)
		n.members[v[0]] = n.members[v[1]]
	case defComm:
		n.putComm(v[0], printComm{a: n.ranks(v[2])})
	case defInterComm:
		n.putComm(v[0], printComm{n.ranks(v[2]), n.ranks(v[3])})
	case defWindow:
		n.communicators[Windows][v[0]] = n.comm(v[2])
	case defCartTopology:
		n.communicators[CartTopologies][v[0]] = n.comm(v[2])
	case defSourceLoc:
		file, _ := n.text(v[1])
		line := strconv.Itoa(int(int32(v[2])))
		// otf2-print truncates the text to this width
		n.add(SourceLocations, v[0], file+":"+line[:min(len(line), 10)], true)
	case defContext:
		region := "UNDEFINED"
		if x := n.tables[Regions].get(v[1]); x != nil && v[1] != undefined32 {
			region = x.name
		}
		if v[2] != undefined32 {
			if source, ok := n.rawName(SourceLocations, v[2]); ok {
				region += "@" + path.Base(source)
			}
		}
		n.add(CallingContexts, v[0], region, true)
	case defIOFile:
		name, _ := n.text(v[1])
		n.add(IOFiles, v[0], "file://"+name, true)
	case defIODirectory:
		name, _ := n.text(v[1])
		n.add(IOFiles, v[0], "directory://"+name, true)
	case defIOHandle:
		name, ok := n.text(v[1])
		if v[1] == undefined32 || ok && name == "" {
			paradigm, _ := n.rawName(IOParadigms, v[3])
			file, _ := n.rawName(IOFiles, v[2])
			name, ok = "["+paradigm+"]"+file, true
		}
		n.add(IOHandles, v[0], name, ok)
	}
}

// The types of groups.
const (
	locationsGroup         = 1
	regionsGroup           = 2
	metricsGroup           = 3
	communicatingLocations = 4
	commGroup              = 5
	commSelf               = 6

	// flag of a group: the ranks in the group are positions in the group of communicating locations
	globalMembers = 1
)

// groupOf returns the contents of a group's record.
func groupOf(v []uint64) (id uint64, paradigm uint64, g *printGroup) {
	n := v[3]
	after := v[4+n:]
	return v[0], after[1], &printGroup{typ: after[0], flags: after[2], paradigm: after[1],
		members: append([]uint64(nil), v[4:4+n]...)}
}

func (n *names) group(id, paradigm uint64, g *printGroup) {
	switch n.groups[id] = g; g.typ {
	case communicatingLocations:
		n.communicating[paradigm] = g
	case commGroup, commSelf:
		g.locations = n.communicating[paradigm]
	}
}

// ranks returns a group that a communicator may have, or nil if there is no such group.
func (n *names) ranks(id uint64) *printGroup {
	if g := n.groups[id]; g != nil && id != undefined32 && (g.typ == commGroup || g.typ == commSelf) {
		return g
	}
	return nil
}

// putComm records a communicator. If it replaces an earlier communicator with the same id, it also replaces
// that one in the windows and topologies that refer to it.
func (n *names) putComm(id uint64, c printComm) {
	if old := n.comms[id]; old != nil {
		*old = c
		return
	}
	n.comms[id] = &c
}

// comm returns a communicator, or nil if it is unknown.
func (n *names) comm(id uint64) *printComm {
	if id == undefined32 {
		return nil
	}
	return n.comms[id]
}

func (c *printComm) location(from, rank uint64) (id uint64, ok bool) {
	if c == nil || c.a == nil {
		return 0, false
	}
	g := c.side(from)
	switch l := g.locations; {
	case g.typ == commSelf:
		return from, rank == 0
	case l == nil:
	case g.flags&globalMembers != 0:
		if rank < uint64(len(l.members)) {
			return l.members[rank], true
		}
	case rank < uint64(len(g.members)) && g.members[rank] < uint64(len(l.members)):
		return l.members[g.members[rank]], true
	}
	return 0, false
}

// side returns the group to which the ranks in events of a location refer. If the location is a member of the
// first group of two, its peers are in the second group.
func (c *printComm) side(from uint64) *printGroup {
	if c.b != nil && c.a.contains(from) {
		return c.b
	}
	return c.a
}

// appendRank appends a rank of a communicator, and its location. from is the location whose event names
// the rank.
func (n *names) appendRank(b []byte, from uint64, comm *printComm, rank uint64) []byte {
	if rank == undefined32 {
		return append(b, "UNDEFINED"...)
	}
	name := "INVALID"
	if l, ok := comm.location(from, rank); ok {
		name = n.shown(Locations, l)
	}
	b = strconv.AppendUint(b, rank, 10)
	return append(append(append(b, " ("...), name...), ')')
}

// contains reports whether a location is in a group.
func (g *printGroup) contains(location uint64) bool {
	if g.locations == nil {
		return false
	}
	for _, m := range g.members {
		if m < uint64(len(g.locations.members)) && g.locations.members[m] == location {
			return true
		}
	}
	return false
}
