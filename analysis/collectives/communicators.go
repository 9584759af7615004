package collectives

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"slices"

	"github.com/weft-trace/weft/trace"
)

// communicators says which communicators are one: those with the same name and the same members in the same order,
// which some recorders, and merged traces, define anew in each process. One is known by the first of them.
type communicators struct {
	of    []uint32 // by communicator
	first map[alike][]uint32
}

// alike is what communicators that are one have in common.
type alike struct {
	name    string
	members int
	sum     uint64 // of the members
}

// same is the first of the communicators that are one with another.
func (p *Part) same(communicator uint64) uint64 {
	c := &p.communicators
	if communicator >= uint64(p.defs.Communicator.Len()) {
		return communicator
	}
	for i := uint32(len(c.of)); uint64(i) <= communicator; i++ {
		c.of = append(c.of, c.find(p, i))
	}
	return uint64(c.of[communicator])
}

// find is the first communicator that is one with i, or i if there is none before it.
func (c *communicators) find(p *Part, i uint32) uint32 {
	name := p.defs.Communicator.At(i).Name
	members, known := p.defs.Members(i)
	if name == "" || !known || len(members) == 0 || p.between(uint64(i)) {
		return i
	}
	sum := fnv.New64a()
	var b [4]byte
	for _, m := range members {
		binary.LittleEndian.PutUint32(b[:], m)
		sum.Write(b[:])
	}
	k := alike{name, len(members), sum.Sum64()}
	for _, o := range c.first[k] {
		if l, _ := p.defs.Members(o); slices.Equal(l, members) {
			return o
		}
	}
	if c.first == nil {
		c.first = map[alike][]uint32{}
	}
	c.first[k] = append(c.first[k], i)
	return i
}

// label gives the communicators of operations their labels.
func label(list []Operation) {
	names := map[string]map[uint32]bool{} // the communicators of each name
	for i := range list {
		o := &list[i]
		if o.Communicator == trace.NoRef {
			o.Label = "–"
			continue
		}
		o.Label = cmp.Or(o.CommunicatorName, o.CommunicatorID)
		if names[o.Label] == nil {
			names[o.Label] = map[uint32]bool{}
		}
		names[o.Label][o.Communicator] = true
	}
	for i := range list {
		if o := &list[i]; len(names[o.Label]) > 1 && o.Label != o.CommunicatorID {
			o.Label += " (" + o.CommunicatorID + ")"
		}
	}
}
