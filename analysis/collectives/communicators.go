package collectives

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"slices"

	"github.com/weft-trace/weft/trace"
)

// communicators maps communicators to the first one with the same name and the same members in the
// same order. Some recorders, and merged traces, define the same communicator again in each process.
type communicators struct {
	firstOf []uint32 // index of the first equal communicator, by communicator
	// first holds the first communicators with each key. There are several if different lists of members have
	// the same hash.
	first map[communicatorKey][]uint32
}

// communicatorKey holds the properties that equal communicators share.
type communicatorKey struct {
	name    string
	members int
	sum     uint64 // hash of the members
}

// firstEqual returns the first communicator that is equal to the given one.
func (p *Part) firstEqual(communicator uint64) uint64 {
	c := &p.communicators
	if communicator >= uint64(p.defs.Communicator.Len()) {
		return communicator
	}
	for i := uint32(len(c.firstOf)); uint64(i) <= communicator; i++ {
		c.firstOf = append(c.firstOf, c.find(p, i))
	}
	return uint64(c.firstOf[communicator])
}

// find returns the first communicator that is equal to communicator i, or i if no earlier one is equal.
func (c *communicators) find(p *Part, i uint32) uint32 {
	name := p.defs.Communicator.At(i).Name
	members, known := p.memberships.Members(i)
	if name == "" || !known || len(members) == 0 || p.defs.ConnectsGroups(uint64(i)) {
		return i
	}
	sum := fnv.New64a()
	var b [4]byte
	for _, m := range members {
		binary.LittleEndian.PutUint32(b[:], m)
		sum.Write(b[:])
	}
	k := communicatorKey{name, len(members), sum.Sum64()}
	for _, o := range c.first[k] {
		if l, _ := p.memberships.Members(o); slices.Equal(l, members) {
			return o
		}
	}
	if c.first == nil {
		c.first = map[communicatorKey][]uint32{}
	}
	c.first[k] = append(c.first[k], i)
	return i
}

// label sets the field Label of all operations.
func label(list []Operation) {
	names := map[string]map[uint32]bool{} // set of the communicators with each name or id
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
