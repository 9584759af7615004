package otf2

import (
	"path"
	"strconv"
)

// names are what otf2-print calls the definitions that it has met so far. Later ones of
// the same id take the place of earlier ones.
type names struct {
	tables [tables]nameTable
	// members are the metric members of metrics, by id.
	members map[uint64][]uint64
	metrics map[uint64][]uint64 // what the definitions of metric members say, by id
	groups  map[uint64]*printGroup
	comms   map[uint64]*printComm
	// communicators are those of windows and of topologies; nil if nothing before them
	// defines one.
	communicators map[Table]map[uint64]*printComm
	communicating map[uint64]*printGroup // the communicating locations, by paradigm
	pool          pool
	carries       bool // weft wrote the archive: some strings are links
}

// nameTable are the names of a table, by id: small ids in a list.
type nameTable struct {
	low  []*named
	high map[uint64]*named
}

// named is a definition's name.
type named struct {
	name  string
	has   bool   // it has a name
	shown string // with its id
}

// printGroup is a group.
type printGroup struct {
	typ, flags uint64
	members    []uint64
	locations  *printGroup // that its members count in
}

// printComm is a communicator, or one between groups if it has two.
type printComm struct{ a, b *printGroup }

const lowIDs = 1 << 16

func (t *nameTable) get(id uint64) *named {
	if id < uint64(len(t.low)) {
		return t.low[id]
	}
	return t.high[id]
}

func (t *nameTable) put(id uint64, n *named) {
	if id >= lowIDs {
		if t.high == nil {
			t.high = map[uint64]*named{}
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
		communicating: map[uint64]*printGroup{}}
}

// add gives a definition a name, if has is true.
func (n *names) add(t Table, id uint64, name string, has bool) {
	if id == undefined64 || id == undefined32 && t != Locations {
		return
	}
	x := &named{name: name, has: has, shown: strconv.FormatUint(id, 10)}
	if has {
		x.shown = `"` + name + `" <` + x.shown + ">"
	}
	n.tables[t].put(id, x)
}

// get is what a definition is called, nil if there is none.
func (n *names) get(t Table, id uint64) *named {
	if x := n.tables[t].get(id); x != nil || t != Strings {
		return x
	}
	if s, ok := n.pool.get(id); ok {
		return &named{name: s, has: true, shown: `"` + s + `" <` + strconv.FormatUint(id, 10) + ">"}
	}
	return nil
}

// pool is the strings whose ids begin at [pooled] and follow each other, of which there
// may be as many as events: their bytes, and where each is.
type pool struct {
	slabs [][]byte
	texts []slice
}

type slice struct{ slab, from, to uint32 }

const slabSize = 1 << 20

func (p *pool) add(s string) {
	n := len(p.slabs)
	if n == 0 || cap(p.slabs[n-1])-len(p.slabs[n-1]) < len(s) {
		p.slabs = append(p.slabs, make([]byte, 0, max(slabSize, len(s))))
		n++
	}
	slab := &p.slabs[n-1]
	from := len(*slab)
	*slab = append(*slab, s...)
	p.texts = append(p.texts, slice{uint32(n - 1), uint32(from), uint32(len(*slab))})
}

func (p *pool) get(id uint64) (string, bool) {
	i := id - pooled
	if id < pooled || i >= uint64(len(p.texts)) {
		return "", false
	}
	x := p.texts[i]
	return string(p.slabs[x.slab][x.from:x.to]), true
}

// text is a string, if there is one.
func (n *names) text(id uint64) (string, bool) {
	if id == undefined32 {
		return "", false
	}
	if x := n.tables[Strings].get(id); x != nil {
		return x.name, true
	}
	return n.pool.get(id)
}

// raw is the name of a definition; "UNDEFINED" for a reference to nothing.
func (n *names) raw(t Table, id uint64) (string, bool) {
	if id == undefined32 && t != Locations || id == undefined64 {
		return "UNDEFINED", true
	}
	if x := n.get(t, id); x != nil {
		return x.name, x.has
	}
	return "", false
}

// shown is a reference as it is printed.
func (n *names) shown(t Table, id uint64) string {
	if id == undefined64 || id == undefined32 && t != Locations {
		return "UNDEFINED"
	}
	if x := n.get(t, id); x != nil {
		return x.shown
	}
	return "INVALID <" + strconv.FormatUint(id, 10) + ">"
}

// nameFields are the definitions whose name is what a field says.
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

// define takes a definition into account.
func (n *names) define(r *Record) {
	v := r.Values
	if x, ok := nameFields[r.ID]; ok {
		name, ok := n.text(v[x.field])
		n.add(x.table, v[0], name, ok)
	}
	switch r.ID {
	case defString:
		switch {
		case v[0] >= linkText && n.carries: // a link that weft wrote
		case v[0] == pooled+uint64(len(n.pool.texts)):
			n.pool.add(r.Texts[0])
		default:
			n.add(Strings, v[0], r.Texts[0], true)
		}
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
		n.add(SourceLocations, v[0], file+":"+line[:min(len(line), 10)], true) // otf2-print has no room for more
	case defContext:
		region := "UNDEFINED"
		if x := n.tables[Regions].get(v[1]); x != nil && v[1] != undefined32 {
			region = x.name
		}
		if v[2] != undefined32 {
			if source, ok := n.raw(SourceLocations, v[2]); ok {
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
			paradigm, _ := n.raw(IOParadigms, v[3])
			file, _ := n.raw(IOFiles, v[2])
			name, ok = "["+paradigm+"]"+file, true
		}
		n.add(IOHandles, v[0], name, ok)
	}
}

// Types of groups.
const (
	locationsGroup         = 1
	communicatingLocations = 4
	commGroup              = 5
	commSelf               = 6

	globalMembers = 1 // a flag
)

// groupOf is what the record of a group says.
func groupOf(v []uint64) (id uint64, paradigm uint64, g *printGroup) {
	n := v[3]
	after := v[4+n:]
	return v[0], after[1], &printGroup{typ: after[0], flags: after[2], members: append([]uint64(nil), v[4:4+n]...)}
}

func (n *names) group(id, paradigm uint64, g *printGroup) {
	switch n.groups[id] = g; g.typ {
	case communicatingLocations:
		n.communicating[paradigm] = g
	case commGroup, commSelf:
		g.locations = n.communicating[paradigm]
	}
}

// ranks is a group that a communicator may have; nil if it is none.
func (n *names) ranks(id uint64) *printGroup {
	if g := n.groups[id]; g != nil && id != undefined32 && (g.typ == commGroup || g.typ == commSelf) {
		return g
	}
	return nil
}

// putComm takes a communicator into account. Windows and topologies that named one of this
// id before have the later one too.
func (n *names) putComm(id uint64, c printComm) {
	if old := n.comms[id]; old != nil {
		*old = c
		return
	}
	n.comms[id] = &c
}

// comm is a communicator that is known; nil if it is none.
func (n *names) comm(id uint64) *printComm {
	if id == undefined32 {
		return nil
	}
	return n.comms[id]
}

// location is the location that a rank of a communicator is, seen from a location.
func (n *names) location(from, comm, rank uint64) (id uint64, ok bool) {
	return n.comm(comm).location(from, rank)
}

func (c *printComm) location(from, rank uint64) (id uint64, ok bool) {
	if c == nil || c.a == nil {
		return 0, false
	}
	g := c.a
	if c.b != nil && g.has(from) {
		g = c.b // the other side
	}
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

// appendRank appends a rank of a communicator with the location that it is, seen from a
// location.
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

// has tells whether a location is in a group.
func (g *printGroup) has(location uint64) bool {
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
