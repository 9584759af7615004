package pallas

import (
	"fmt"

	"github.com/weft-trace/weft/format/internal/archive"
	"github.com/weft-trace/weft/internal/plural"
)

// Ref is the number by which events and other definitions refer to a definition.
type Ref = uint32

// NoRef is the Ref that stands for no definition.
const NoRef Ref = 0xffffffff

// String is a text that other definitions and events refer to.
type String struct {
	Ref  Ref
	Text string
}

// Region is a piece of code with a name.
type Region struct{ Ref, Name Ref }

// Attribute defines an attribute: a named value that an occurrence of an event may have.
type Attribute struct {
	Ref, Name, Description Ref
	Type                   AttributeType
}

// Group is a list of ids. Type states what the ids stand for: 0 unknown, 1 locations, 2 regions, 3
// metrics, 4 communicating locations, 5 ranks of a communicator, 6 the process itself. Paradigm has the
// numbers of OTF2.
type Group struct {
	Ref, Name      Ref
	Type, Paradigm uint32
	Members        []uint32
}

// Comm is the definition of a communicator.
type Comm struct{ Ref, Name, Group, Parent Ref }

// LocationGroup is a process, or a group of processes such as a machine.
type LocationGroup struct{ ID, Name, Parent uint32 }

// Location is a thread. Its parent is the location group of its archive.
type Location struct{ ID, Name, Parent uint32 }

// Definitions holds the definitions of a trace or of a single archive, in the order of the file. A
// lookup in an archive continues in the trace if the archive does not define the reference.
type Definitions struct {
	Strings    []String
	Regions    []Region
	Attributes []Attribute
	Groups     []Group
	Comms      []Comm

	global *Definitions // the definitions of the whole trace, if these are the definitions of an archive
	text   stringsByRef
	region map[Ref]int
	attr   map[Ref]int
	group  map[Ref]int
	comm   map[Ref]int
	at     definitionPositions
}

// definitionPositions holds positions in a file of definitions: that of the first entry of each table, and those of
// all groups, because only groups differ in size.
type definitionPositions struct {
	regions, attributes, comms, locationGroups, locations int64
	groups                                                []int64
}

// The sizes of the entries of the tables, in bytes.
const (
	regionSize        = 2 * 4
	attributeSize     = 4 * 4
	commSize          = 4 * 4
	locationSize      = 3 * 4
	locationGroupSize = 3 * 4
)

// definitions reads the five tables of definitions (docs/formats/pallas.md, "Definitions").
func (s *source) definitions(abi uint8, global *Definitions) *Definitions {
	d := &Definitions{global: global}
	last, count := int64(-1), s.count("strings", 9)
	d.Strings = make([]String, 0, count)
	for range count {
		ref, at := s.u32(), s.at
		s.inOrder("string", at-4, &last, ref)
		n := int32(s.u32())
		if n < 1 {
			s.fail(at, "a length of 1 or more", "a string of length %d", n)
			break
		}
		if text := s.text(uint64(n)); s.err == nil {
			d.Strings = append(d.Strings, String{ref, text})
		}
	}
	last = -1
	count, d.at.regions = s.table("regions", regionSize)
	for range count {
		x := Region{s.u32(), s.u32()}
		s.inOrder("region", s.at-regionSize, &last, x.Ref)
		d.Regions = append(d.Regions, x)
	}
	last = -1
	count, d.at.attributes = s.table("attributes", attributeSize)
	for range count {
		// the type has 4 bytes; the lowest one holds its value
		x := Attribute{s.u32(), s.u32(), s.u32(), AttributeType(s.u32())}
		s.inOrder("attribute", s.at-attributeSize, &last, x.Ref)
		d.Attributes = append(d.Attributes, x)
	}
	last = -1
	for range s.count("groups", 12) {
		d.at.groups = append(d.at.groups, int64(s.at))
		g := Group{Ref: s.u32(), Name: s.u32()}
		s.inOrder("group", s.at-8, &last, g.Ref)
		if abi == 16 {
			for range s.members(8) {
				g.Members = append(g.Members, uint32(s.u64()))
			}
		} else {
			g.Type, g.Paradigm = s.u32(), s.u32()
			for range s.members(4) {
				g.Members = append(g.Members, s.u32())
			}
		}
		if s.err != nil {
			break
		}
		d.Groups = append(d.Groups, g)
	}
	last = -1
	count, d.at.comms = s.table("communicators", commSize)
	for range count {
		x := Comm{s.u32(), s.u32(), s.u32(), s.u32()}
		s.inOrder("communicator", s.at-commSize, &last, x.Ref)
		d.Comms = append(d.Comms, x)
	}
	d.index()
	return d
}

// members reads the number of members of a group. Each member takes size bytes.
func (s *source) members(size int) int {
	at := s.at
	n := s.u32()
	if left := s.left() / size; int64(n) > int64(left) {
		s.fail(at, fmt.Sprintf("at most %d, because the file has no room for more", left), "%s", plural.Of(n, "member"))
		return 0
	}
	return int(n)
}

// index builds the lookup tables. If several definitions have the same ref, the first definition counts.
func (d *Definitions) index() {
	d.text = newStringsByRef(d.Strings)
	d.region = indexesByRef(d.Regions, func(x *Region) Ref { return x.Ref })
	d.attr = indexesByRef(d.Attributes, func(x *Attribute) Ref { return x.Ref })
	d.group = indexesByRef(d.Groups, func(x *Group) Ref { return x.Ref })
	d.comm = indexesByRef(d.Comms, func(x *Comm) Ref { return x.Ref })
}

// stringsByRef finds strings by their refs. If several strings have the same ref, the first string counts. A
// trace may have as many strings as events. Therefore small refs, which nearly all strings have, index a slice
// instead of a map.
type stringsByRef struct {
	list []String
	low  []int32 // indexed by ref: 1 + the index in list, or 0 if undefined
	high map[Ref]int32
}

func newStringsByRef(list []String) stringsByRef {
	t := stringsByRef{list: list, low: make([]int32, len(list)+1), high: map[Ref]int32{}}
	for i := len(list) - 1; i >= 0; i-- {
		if r := list[i].Ref; uint64(r) < uint64(len(t.low)) {
			t.low[r] = int32(i + 1)
		} else {
			t.high[r] = int32(i + 1)
		}
	}
	return t
}

func (t *stringsByRef) at(r Ref) (text string, ok bool) {
	i := int32(0)
	if uint64(r) < uint64(len(t.low)) {
		i = t.low[r]
	} else {
		i = t.high[r]
	}
	if i == 0 {
		return "", false
	}
	return t.list[i-1].Text, true
}

func indexesByRef[T any](l []T, ref func(*T) Ref) map[Ref]int {
	m := make(map[Ref]int, len(l))
	for i := range l {
		r := ref(&l[i])
		if _, ok := m[r]; !ok {
			m[r] = i
		}
	}
	return m
}

// Text returns the string with a ref; ok is false if it is undefined.
func (d *Definitions) Text(r Ref) (text string, ok bool) {
	text, ok = d.text.at(r)
	if !ok && d.global != nil {
		return d.global.Text(r)
	}
	return text, ok
}

// Region returns the region with a ref, or nil.
func (d *Definitions) Region(r Ref) *Region {
	return findDefinition(d, r, func(d *Definitions) ([]Region, map[Ref]int) { return d.Regions, d.region })
}

// RegionName returns the name of the region with a ref; ok is false if region or name is
// undefined.
func (d *Definitions) RegionName(r Ref) (text string, ok bool) {
	if x := d.Region(r); x != nil {
		return d.Text(x.Name)
	}
	return "", false
}

// Attribute returns the attribute with a ref, or nil.
func (d *Definitions) Attribute(r Ref) *Attribute {
	return findDefinition(d, r, func(d *Definitions) ([]Attribute, map[Ref]int) { return d.Attributes, d.attr })
}

// Group returns the group with a ref, or nil.
func (d *Definitions) Group(r Ref) *Group {
	return findDefinition(d, r, func(d *Definitions) ([]Group, map[Ref]int) { return d.Groups, d.group })
}

// Comm returns the communicator with a ref, or nil.
func (d *Definitions) Comm(r Ref) *Comm {
	return findDefinition(d, r, func(d *Definitions) ([]Comm, map[Ref]int) { return d.Comms, d.comm })
}

// findDefinition looks up a ref in a table of an archive, and then in the same table of the archive's trace.
func findDefinition[T any](d *Definitions, r Ref, table func(*Definitions) ([]T, map[Ref]int)) *T {
	for ; d != nil; d = d.global {
		l, m := table(d)
		if i, ok := m[r]; ok {
			return &l[i]
		}
	}
	return nil
}

// locationGroups reads the table of location groups, and stores its position in d.
func (s *source) locationGroups(d *Definitions) (l []LocationGroup) {
	n, at := s.table("location groups", locationGroupSize)
	d.at.locationGroups = at
	for range n {
		l = append(l, LocationGroup{s.u32(), s.u32(), s.u32()})
	}
	return l
}

// locations reads the table of locations, and stores its position in d.
func (s *source) locations(d *Definitions) (l []Location) {
	n, at := s.table("locations", locationSize)
	d.at.locations = at
	for range n {
		l = append(l, Location{s.u32(), s.u32(), s.u32()})
	}
	return l
}

// Metadata is a key and a value that the writer stored for a trace or an archive.
type Metadata struct{ Key, Value string }

// metadata reads the metadata, which come last in main files and in archives. In ABI 16 they are the number of their
// bytes, the number of items, and bytes whose meaning is unknown. It returns nil for ABI 16.
func (s *source) metadata(abi uint8) (l []Metadata) {
	if abi == 16 {
		if at := s.at; s.left() > 0 { // early files of ABI 16 may end here
			n, _ := s.u64(), s.u64()
			if left := uint64(s.left()); n > left && s.err == nil {
				s.fail(at, fmt.Sprintf("at most %d, because the file has no more", left), "%d bytes of metadata", n)
			}
		}
		return nil
	}
	for range s.count("metadata", 18) {
		at := s.at
		x := Metadata{s.text(s.u64()), s.text(s.u64())}
		if s.err != nil {
			break
		}
		if n := len(l); n > 0 && x.Key < l[n-1].Key && s.order == nil {
			s.order = archive.Damaged(s.path, int64(at), fmt.Sprintf("the metadata %q after %q", x.Key, l[n-1].Key),
				"keys in the order of their bytes")
		}
		l = append(l, x)
	}
	return l
}

// overridden returns the regions of the trace whose name refers to another string in this archive.
func (d *Definitions) overridden() (l []Region) {
	if d.global == nil {
		return nil
	}
	for _, x := range d.global.Regions {
		own, ok := d.text.at(x.Name)
		if text, _ := d.global.text.at(x.Name); ok && own != text {
			l = append(l, x)
		}
	}
	return l
}
