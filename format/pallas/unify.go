package pallas

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
)

// unifier gives what is equal in several threads of a trace the same id, and their strings,
// regions and attributes one set of definitions; groups and communicators, whose members
// and ranks have a meaning only in their archive, stay there. Each thread's root stays
// sequence 0, where Pallas' own reader looks for it. It holds the grammar of all threads,
// what is equal once.
type unifier struct {
	defs      Definitions
	texts     map[string]Ref
	names     map[Ref][]Ref // regions by the ref of their name
	used      [3]map[Ref]bool
	global    [3]map[Ref]bool // defined for all archives from the beginning
	last      [3]Ref
	renamed   map[uint32]*renamed // by archive
	events    map[string]uint32
	sequences map[string]uint32
	loops     map[[2]uint32]uint32
	key       []byte
}

// The tables of definitions that become one.
const (
	stringTable = iota
	regionTable
	attributeTable
)

// newUnifier unites the definitions of a trace.
func newUnifier(d *Definitions, archives []*Archive) *unifier {
	u := &unifier{texts: map[string]Ref{}, names: map[Ref][]Ref{}, renamed: map[uint32]*renamed{}, events: map[string]uint32{}, sequences: map[string]uint32{}, loops: map[[2]uint32]uint32{}}
	u.defs = Definitions{Strings: slices.Clone(d.Strings), Regions: slices.Clone(d.Regions), Attributes: slices.Clone(d.Attributes), Groups: d.Groups, Comms: d.Comms}
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

// free is the ref if nothing has it, else another one that nothing has.
func (u *unifier) free(table int, r Ref) Ref {
	for u.used[table][r] {
		u.last[table]++
		r = u.last[table]
	}
	u.used[table][r] = true
	return r
}

// renamed says which refs of an archive have others now.
type renamed struct {
	u    *unifier
	refs [3]map[Ref]Ref
}

// of is the ref of something now. What nothing defines stays so, also where another archive
// defines that number.
func (m *renamed) of(table int, r Ref) Ref {
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

// archive adds the definitions of an archive. A region with a name that is known is that
// region, unless the archive has two of that name.
func (u *unifier) archive(d *Definitions) *renamed {
	m := &renamed{u: u}
	for i := range m.refs {
		m.refs[i] = map[Ref]Ref{}
	}
	for _, x := range d.Strings {
		r, ok := u.texts[x.Text]
		if !ok {
			r = u.free(stringTable, x.Ref)
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
		name := m.of(stringTable, x.Name)
		i := slices.IndexFunc(u.names[name], func(r Ref) bool { return !mine[r] })
		if i < 0 {
			r := u.free(regionTable, x.Ref)
			i = len(u.names[name])
			u.names[name] = append(u.names[name], r)
			u.defs.Regions = append(u.defs.Regions, Region{r, name})
		}
		r := u.names[name][i]
		m.refs[regionTable][x.Ref], mine[r] = r, true
	}
	for _, x := range d.Attributes {
		y := Attribute{x.Ref, m.of(stringTable, x.Name), m.of(stringTable, x.Description), x.Type}
		i := slices.IndexFunc(u.defs.Attributes, func(z Attribute) bool { z.Ref = y.Ref; return z == y })
		if i < 0 {
			y.Ref = u.free(attributeTable, x.Ref)
			i = len(u.defs.Attributes)
			u.defs.Attributes = append(u.defs.Attributes, y)
		}
		m.refs[attributeTable][x.Ref] = u.defs.Attributes[i].Ref
	}
	return m
}

// rest are the definitions that stay with an archive.
func (m *renamed) rest(d *Definitions) (rest Definitions) {
	for _, x := range d.Groups {
		x.Name = m.of(stringTable, x.Name)
		if x.Type == regionGroup {
			x.Members = slices.Clone(x.Members)
			for i, r := range x.Members {
				x.Members[i] = m.of(regionTable, r)
			}
		}
		rest.Groups = append(rest.Groups, x)
	}
	for _, x := range d.Comms {
		x.Name = m.of(stringTable, x.Name)
		rest.Comms = append(rest.Comms, x)
	}
	return rest
}

// regionGroup is the type of groups whose members are regions.
const regionGroup = 2

// fieldTables are the tables that fields of records refer to.
var fieldTables = map[string]int{"region": regionTable, "name": stringTable}

// payload is that of an event with the refs that hold now.
func (m *renamed) payload(e *Event) []byte {
	if _, ok := e.Record.Values(e.Payload); !ok {
		return e.Payload
	}
	b, at := slices.Clone(e.Payload), 0
	for _, f := range records[e.Record].fields {
		if table, ok := fieldTables[f.name]; ok {
			binary.LittleEndian.PutUint32(b[at:], m.of(table, binary.LittleEndian.Uint32(b[at:])))
		}
		if at += 4; f.wide {
			at += 4
		}
	}
	return b
}

// valueTables are the tables that values of attributes refer to.
var valueTables = map[AttributeType]int{StringValue: stringTable, AttributeValue: attributeTable, RegionValue: regionTable}

// attributes are those of an event's occurrences with the refs that hold now. What is
// damaged stays as it is.
func (m *renamed) attributes(e *Event, d *Definitions) []byte {
	b := slices.Clone(e.attributes)
	for rest := b; ; {
		l, next, ok := nextList(rest)
		if !ok {
			return b
		}
		values := l.body[1:]
		for range l.body[0] {
			if len(values) < 6 || int(binary.LittleEndian.Uint16(values)) > len(values) || binary.LittleEndian.Uint16(values) < 6 {
				break
			}
			n := int(binary.LittleEndian.Uint16(values))
			r := binary.LittleEndian.Uint32(values[2:])
			if a := d.Attribute(r); a != nil && n == 10 {
				if table, ok := valueTables[a.Type]; ok {
					binary.LittleEndian.PutUint32(values[6:], m.of(table, binary.LittleEndian.Uint32(values[6:])))
				}
			}
			binary.LittleEndian.PutUint32(values[2:], m.of(attributeTable, r))
			values = values[n:]
		}
		rest = next
	}
}

// id is the number of a key, or of the key and one more where this thread has that number
// already.
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

// put says that an id is at a place.
func put(m []uint32, id uint32, at int) []uint32 {
	for uint32(len(m)) <= id {
		m = append(m, math.MaxUint32)
	}
	m[id] = uint32(at)
	return m
}

// thread is a thread with the ids that hold for all. Sequences that the root does not lead
// to may lose theirs.
func (u *unifier) thread(t *Thread, g *outline, m *renamed) (*Thread, error) {
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
		c.eventMap = put(c.eventMap, id, i)
	}
	for i := range loops {
		loops[i] = NoToken
	}
	mine, myLoops := map[uint32]bool{}, map[uint32]bool{}
	for _, at := range g.order { // those that are inside come first
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
				place, _ := place(t.loopMap, k.ID(), len(t.Loops))
				if loops[place] == NoToken {
					id := u.loop(&c.Loops[place], sequences[st.sequence], myLoops)
					loops[place] = MakeToken(LoopToken, id)
					c.loopMap = put(c.loopMap, id, place)
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
		c.sequenceMap = put(c.sequenceMap, id, at)
	}
	for i := range c.Loops {
		if loops[i] == NoToken {
			c.Loops[i] = Loop{Sequence: NoToken} // nothing leads to it
		}
	}
	return c, nil
}

// loop is the id of a loop of a sequence.
func (u *unifier) loop(l *Loop, body Token, mine map[uint32]bool) uint32 {
	l.Sequence = body
	key := [2]uint32{uint32(body), l.Iterations}
	id, ok := u.loops[key]
	if !ok {
		id = uint32(len(u.loops))
		u.loops[key] = id
	}
	if mine[id] {
		// Another loop of the thread says the same; one of them gets an id of its own.
		id = uint32(len(u.loops))
		u.loops[[2]uint32{uint32(NoToken), id}] = id
	}
	mine[id] = true
	return id
}
