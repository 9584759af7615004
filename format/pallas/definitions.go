package pallas

import "fmt"

// Ref names a definition.
type Ref = uint32

// NoRef names none.
const NoRef Ref = 0xffffffff

// String is a text that others refer to.
type String struct {
	Ref  Ref
	Text string
}

// Region is named code.
type Region struct{ Ref, Name Ref }

// Attribute names a value that occurrences of events may have.
type Attribute struct {
	Ref, Name, Description Ref
	Type                   AttributeType
}

// Group is a list of ids, what of is said by Type: 0 unknown, 1 locations, 2 regions,
// 3 metrics, 4 locations that communicate, 5 ranks of a communicator, 6 the process
// itself. Paradigm is numbered as in OTF2.
type Group struct {
	Ref, Name      Ref
	Type, Paradigm uint32
	Members        []uint32
}

// Comm is a communicator.
type Comm struct{ Ref, Name, Group, Parent Ref }

// LocationGroup is a process, or a machine or the like above others.
type LocationGroup struct{ ID, Name, Parent uint32 }

// Location is a thread: its parent is the archive.
type Location struct{ ID, Name, Parent uint32 }

// Definitions are those of a trace, or of an archive alone, in the order of the file.
// What refers to others does so first within the archive, then in the trace.
type Definitions struct {
	Strings    []String
	Regions    []Region
	Attributes []Attribute
	Groups     []Group
	Comms      []Comm

	global *Definitions // of the trace, if these are an archive's
	text   stringsByRef
	region map[Ref]int
	attr   map[Ref]int
	group  map[Ref]int
	comm   map[Ref]int
}

// definitions reads the five tables (docs/formats/pallas.md, "Definitions").
func (s *source) definitions(abi uint8, global *Definitions) *Definitions {
	d := &Definitions{global: global}
	for range s.count("strings", 9) {
		ref, at := s.u32(), s.at
		n := int32(s.u32())
		if n < 1 {
			s.bad(at, "a length of 1 or more", "a string of length %d", n)
			break
		}
		if text := s.text(uint64(n)); s.err == nil {
			d.Strings = append(d.Strings, String{ref, text})
		}
	}
	for range s.count("regions", 8) {
		d.Regions = append(d.Regions, Region{s.u32(), s.u32()})
	}
	for range s.count("attributes", 16) {
		d.Attributes = append(d.Attributes, Attribute{s.u32(), s.u32(), s.u32(), AttributeType(s.u32())}) // the type is one byte
	}
	for range s.count("groups", 12) {
		g := Group{Ref: s.u32(), Name: s.u32()}
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
	for range s.count("communicators", 16) {
		d.Comms = append(d.Comms, Comm{s.u32(), s.u32(), s.u32(), s.u32()})
	}
	d.index()
	return d
}

// members reads the number of a group's members, which have size bytes each.
func (s *source) members(size int) int {
	at := s.at
	n := s.u32()
	if left := s.left() / size; int64(n) > int64(left) {
		s.bad(at, fmt.Sprintf("at most %d, which is what the file has room for", left), "%d members", n)
		return 0
	}
	return int(n)
}

// index makes the tables that look definitions up. Of several with a ref the first
// one counts.
func (d *Definitions) index() {
	d.text = newTexted(d.Strings)
	d.region = places(d.Regions, func(x *Region) Ref { return x.Ref })
	d.attr = places(d.Attributes, func(x *Attribute) Ref { return x.Ref })
	d.group = places(d.Groups, func(x *Group) Ref { return x.Ref })
	d.comm = places(d.Comms, func(x *Comm) Ref { return x.Ref })
}

// stringsByRef finds strings by their refs. Of several with a ref the first one counts. There may be
// as many strings as events: small refs, which nearly all are, are places in a list.
type stringsByRef struct {
	list []String
	low  []int32 // by ref, 1 and the place in list
	high map[Ref]int32
}

func newTexted(list []String) stringsByRef {
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

func places[T any](l []T, ref func(*T) Ref) map[Ref]int {
	m := make(map[Ref]int, len(l))
	for i := range l {
		r := ref(&l[i])
		if _, ok := m[r]; !ok {
			m[r] = i
		}
	}
	return m
}

// Text is the string that a ref names; ok is false if there is none.
func (d *Definitions) Text(r Ref) (text string, ok bool) {
	text, ok = d.text.at(r)
	if !ok && d.global != nil {
		return d.global.Text(r)
	}
	return text, ok
}

// Region is the region that a ref names, nil if there is none.
func (d *Definitions) Region(r Ref) *Region {
	return find(d, r, func(d *Definitions) ([]Region, map[Ref]int) { return d.Regions, d.region })
}

// RegionName is the name of the region that a ref names; ok is false if there is none.
func (d *Definitions) RegionName(r Ref) (text string, ok bool) {
	if x := d.Region(r); x != nil {
		return d.Text(x.Name)
	}
	return "", false
}

// Attribute is the attribute that a ref names, nil if there is none.
func (d *Definitions) Attribute(r Ref) *Attribute {
	return find(d, r, func(d *Definitions) ([]Attribute, map[Ref]int) { return d.Attributes, d.attr })
}

// Group is the group that a ref names, nil if there is none.
func (d *Definitions) Group(r Ref) *Group {
	return find(d, r, func(d *Definitions) ([]Group, map[Ref]int) { return d.Groups, d.group })
}

// Comm is the communicator that a ref names, nil if there is none.
func (d *Definitions) Comm(r Ref) *Comm {
	return find(d, r, func(d *Definitions) ([]Comm, map[Ref]int) { return d.Comms, d.comm })
}

// find looks in the archive's table, then in the trace's.
func find[T any](d *Definitions, r Ref, table func(*Definitions) ([]T, map[Ref]int)) *T {
	for ; d != nil; d = d.global {
		l, m := table(d)
		if i, ok := m[r]; ok {
			return &l[i]
		}
	}
	return nil
}

func (s *source) locationGroups() (l []LocationGroup) {
	for range s.count("location groups", 12) {
		l = append(l, LocationGroup{s.u32(), s.u32(), s.u32()})
	}
	return l
}

func (s *source) locations() (l []Location) {
	for range s.count("locations", 12) {
		l = append(l, Location{s.u32(), s.u32(), s.u32()})
	}
	return l
}

// Metadata is something that the writer said of a trace or an archive.
type Metadata struct{ Key, Value string }

// metadata reads the last thing in main files and archives. That of ABI 16 is not
// known.
func (s *source) metadata(abi uint8) (l []Metadata) {
	if abi == 16 {
		return nil
	}
	for range s.count("metadata", 18) {
		x := Metadata{s.text(s.u64()), s.text(s.u64())}
		if s.err != nil {
			break
		}
		l = append(l, x)
	}
	return l
}

// overridden are the regions of the trace whose name is another text in an archive.
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
