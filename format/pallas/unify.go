package pallas

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
)

// unifier gives equal events, sequences and loops the same ids in all threads of a trace. It also merges the
// strings, regions and attributes of the archives into one set of definitions. Groups and communicators stay
// in their archives, because their members and ranks have a meaning only in the archive. The root of each
// thread stays sequence 0, where Pallas' own reader expects the root. The unifier keeps the grammars of all
// threads in memory; it keeps equal parts only once.
type unifier struct {
	defs      Definitions
	texts     map[string]Ref
	names     map[Ref][]Ref // refs of the regions with each name, by the ref of the name
	used      [3]map[Ref]bool
	global    [3]map[Ref]bool // refs that the definitions of the trace itself use
	last      [3]Ref
	renamed   map[uint32]*refMap // new refs of each archive, by archive
	events    map[string]uint32
	sequences map[string]uint32
	loops     map[[2]uint32]uint32
	key       []byte
}

// The kinds of definitions that are merged.
const (
	stringTable = iota
	regionTable
	attributeTable
)

// newUnifier merges the definitions of a trace and its archives.
func newUnifier(d *Definitions, archives []*Archive) *unifier {
	u := &unifier{texts: map[string]Ref{}, names: map[Ref][]Ref{}, renamed: map[uint32]*refMap{},
		events: map[string]uint32{}, sequences: map[string]uint32{}, loops: map[[2]uint32]uint32{}}
	u.defs = Definitions{Strings: slices.Clone(d.Strings), Regions: slices.Clone(d.Regions),
		Attributes: slices.Clone(d.Attributes), Groups: d.Groups, Comms: d.Comms}
	for i := range u.used {
		u.used[i], u.global[i] = map[Ref]bool{NoRef: true}, map[Ref]bool{NoRef: true}
	}
	for _, x := range d.Strings {
		u.global[stringTable][x.Ref] = true
		u.texts[x.Text] = x.Ref
	}
	for _, x := range d.Regions {
		u.global[regionTable][x.Ref] = true
		u.names[x.Name] = append(u.names[x.Name], x.Ref)
	}
	for _, x := range d.Attributes {
		u.global[attributeTable][x.Ref] = true
	}
	for i := range u.used {
		maps.Copy(u.used[i], u.global[i])
	}
	for _, a := range archives {
		u.renamed[a.ID] = u.archive(a.Definitions)
	}
	return u
}

// reserveRef marks r as used and returns it. If r is already used, it marks and returns an unused ref instead.
func (u *unifier) reserveRef(table int, r Ref) Ref {
	for u.used[table][r] {
		u.last[table]++
		r = u.last[table]
	}
	u.used[table][r] = true
	return r
}

// refMap maps the refs of an archive to refs of the merged definitions.
type refMap struct {
	u    *unifier
	refs [3]map[Ref]Ref
}

// newRef returns the new ref for r. If r is undefined, it returns a ref that no archive defines.
func (m *refMap) newRef(table int, r Ref) Ref {
	if m == nil {
		return r
	}
	if x, ok := m.refs[table][r]; ok {
		return x
	}
	if m.u.global[table][r] || !m.u.used[table][r] {
		return r
	}
	x := NoRef - 1
	for m.u.used[table][x] {
		x--
	}
	m.refs[table][r] = x
	return x
}

// archive merges the definitions of an archive. A region of the archive becomes the merged region of
// the same name, unless the archive has two regions of that name.
func (u *unifier) archive(d *Definitions) *refMap {
	m := &refMap{u: u}
	for i := range m.refs {
		m.refs[i] = map[Ref]Ref{}
	}
	for _, x := range d.Strings {
		r, ok := u.texts[x.Text]
		if !ok {
			r = u.reserveRef(stringTable, x.Ref)
			u.texts[x.Text] = r
			u.defs.Strings = append(u.defs.Strings, String{r, x.Text})
		}
		m.refs[stringTable][x.Ref] = r
	}
	mine := map[Ref]bool{}
	for _, x := range append(d.overridden(), d.Regions...) {
		if _, ok := m.refs[regionTable][x.Ref]; ok {
			continue
		}
		name := m.newRef(stringTable, x.Name)
		i := slices.IndexFunc(u.names[name], func(r Ref) bool { return !mine[r] })
		if i < 0 {
			r := u.reserveRef(regionTable, x.Ref)
			i = len(u.names[name])
			u.names[name] = append(u.names[name], r)
			u.defs.Regions = append(u.defs.Regions, Region{r, name})
		}
		r := u.names[name][i]
		m.refs[regionTable][x.Ref], mine[r] = r, true
	}
	for _, x := range d.Attributes {
		y := Attribute{x.Ref, m.newRef(stringTable, x.Name), m.newRef(stringTable, x.Description), x.Type}
		i := slices.IndexFunc(u.defs.Attributes, func(z Attribute) bool { z.Ref = y.Ref; return z == y })
		if i < 0 {
			y.Ref = u.reserveRef(attributeTable, x.Ref)
			i = len(u.defs.Attributes)
			u.defs.Attributes = append(u.defs.Attributes, y)
		}
		m.refs[attributeTable][x.Ref] = u.defs.Attributes[i].Ref
	}
	return m
}

// localDefinitions returns the definitions that remain in an archive.
func (m *refMap) localDefinitions(d *Definitions) (rest Definitions) {
	for _, x := range d.Groups {
		x.Name = m.newRef(stringTable, x.Name)
		if x.Type == regionGroup {
			x.Members = slices.Clone(x.Members)
			for i, r := range x.Members {
				x.Members[i] = m.newRef(regionTable, r)
			}
		}
		rest.Groups = append(rest.Groups, x)
	}
	for _, x := range d.Comms {
		x.Name = m.newRef(stringTable, x.Name)
		rest.Comms = append(rest.Comms, x)
	}
	return rest
}

// regionGroup is the type of groups whose members are regions.
const regionGroup = 2

// fieldTables maps the name of each record field that holds a ref to the kind of definition to which the ref
// refers.
var fieldTables = map[string]int{"region": regionTable, "name": stringTable}

// payload returns the payload of an event with new refs.
func (m *refMap) payload(e *Event) []byte {
	if _, ok := e.Record.Values(e.Payload); !ok {
		return e.Payload
	}
	b, at := slices.Clone(e.Payload), 0
	for _, f := range records[e.Record].fields {
		if table, ok := fieldTables[f.name]; ok {
			binary.LittleEndian.PutUint32(b[at:], m.newRef(table, binary.LittleEndian.Uint32(b[at:])))
		}
		if at += 4; f.wide {
			at += 4
		}
	}
	return b
}

// valueTables maps each type of attribute that holds a ref to the kind of definition to which the ref refers.
var valueTables = map[AttributeType]int{StringValue: stringTable, AttributeValue: attributeTable,
	RegionValue: regionTable}

// attributes returns the attributes of an event's occurrences with new refs. It does not change damaged
// attributes.
func (m *refMap) attributes(e *Event, d *Definitions) []byte {
	b := slices.Clone(e.attributes)
	for rest := b; ; {
		l, next, ok := nextList(rest)
		if !ok {
			return b
		}
		values := l.body[1:]
		for range l.body[0] {
			if len(values) < 6 || int(binary.LittleEndian.Uint16(values)) > len(values) ||
				binary.LittleEndian.Uint16(values) < 6 {
				break
			}
			n := int(binary.LittleEndian.Uint16(values))
			r := binary.LittleEndian.Uint32(values[2:])
			if a := d.Attribute(r); a != nil && n == 10 {
				if table, ok := valueTables[a.Type]; ok {
					binary.LittleEndian.PutUint32(values[6:], m.newRef(table, binary.LittleEndian.Uint32(values[6:])))
				}
			}
			binary.LittleEndian.PutUint32(values[2:], m.newRef(attributeTable, r))
			values = values[n:]
		}
		rest = next
	}
}

// id returns the id to which ids maps u.key. If the thread has already used that id, it returns the id of the
// key with a number appended.
func (u *unifier) id(ids map[string]uint32, first uint32, mine map[uint32]bool) uint32 {
	for again := uint32(0); ; again++ {
		key := string(u.key)
		if again > 0 {
			key = string(le32(u.key, again))
		}
		id, ok := ids[key]
		if !ok {
			id = first + uint32(len(ids))
			ids[key] = id
		}
		if !mine[id] {
			mine[id] = true
			return id
		}
	}
}

// setID maps an id to an index in an id map.
func setID(m []uint32, id uint32, at int) []uint32 {
	for uint32(len(m)) <= id {
		m = append(m, math.MaxUint32)
	}
	m[id] = uint32(at)
	return m
}

// thread returns a copy of t with unified ids. Sequences that the root does not reach may lose their ids.
func (u *unifier) thread(t *Thread, g *outline, m *refMap) (*Thread, error) {
	c := &Thread{ID: t.ID, Archive: t.Archive, Root: MakeToken(SequenceToken, 0), Start: t.Start, path: t.path}
	c.Events, c.Sequences, c.Loops = slices.Clone(t.Events), slices.Clone(t.Sequences), slices.Clone(t.Loops)
	events, sequences, loops := make([]Token, len(t.Events)), make([]Token, len(t.Sequences)), make([]Token, len(t.Loops))
	mine := map[uint32]bool{}
	for i := range c.Events {
		e := &c.Events[i]
		if events[i] = NoToken; e.Record == maxRecord {
			continue
		}
		e.Payload, e.attributes = m.payload(e), m.attributes(e, t.Archive.Definitions)
		u.key = append(le32(u.key[:0], uint32(e.Record)), e.Payload...)
		id := u.id(u.events, 0, mine)
		events[i] = MakeToken(EventToken, id)
		c.eventMap = setID(c.eventMap, id, i)
	}
	for i := range loops {
		loops[i] = NoToken
	}
	mine, myLoops := map[uint32]bool{}, map[uint32]bool{}
	for _, at := range g.order { // inner sequences come first
		s := &c.Sequences[at]
		s.Tokens = slices.Clone(s.Tokens)
		for i, k := range s.Tokens {
			st, _ := t.step(k)
			switch {
			case st.event >= 0:
				s.Tokens[i] = events[st.event]
			case k.Type() == SequenceToken:
				s.Tokens[i] = sequences[st.sequence]
			default:
				place, _ := indexOf(t.loopMap, k.ID(), len(t.Loops))
				if loops[place] == NoToken {
					id := u.loopID(&c.Loops[place], sequences[st.sequence], myLoops)
					loops[place] = MakeToken(LoopToken, id)
					c.loopMap = setID(c.loopMap, id, place)
				}
				s.Tokens[i] = loops[place]
			}
		}
		id := uint32(0)
		if at != g.root {
			u.key = le32(u.key[:0], uint32(s.Type))
			for _, k := range s.Tokens {
				u.key = le32(u.key, uint32(k))
			}
			id = u.id(u.sequences, 1, mine)
		}
		if id >= 1<<30 {
			return nil, fmt.Errorf("%s: found 2³⁰ different sequences, expected less", t.path)
		}
		sequences[at] = MakeToken(SequenceToken, id)
		c.sequenceMap = setID(c.sequenceMap, id, at)
	}
	for i := range c.Loops {
		if loops[i] == NoToken {
			c.Loops[i] = Loop{Sequence: NoToken} // no sequence uses the loop
		}
	}
	return c, nil
}

// loopID returns the id of a loop that repeats the token body.
func (u *unifier) loopID(l *Loop, body Token, mine map[uint32]bool) uint32 {
	l.Sequence = body
	key := [2]uint32{uint32(body), l.Iterations}
	id, ok := u.loops[key]
	if !ok {
		id = uint32(len(u.loops))
		u.loops[key] = id
	}
	if mine[id] {
		// The thread already has an equal loop, so this loop gets an id of its own.
		id = uint32(len(u.loops))
		u.loops[[2]uint32{uint32(NoToken), id}] = id
	}
	mine[id] = true
	return id
}
