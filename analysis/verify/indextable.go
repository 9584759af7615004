package verify

import (
	"encoding/binary"
	"hash/maphash"
	"slices"
)

// indexTable finds the indexes of equal elements of a list by their hashes. It takes 8 to 16 bytes for each element.
type indexTable struct {
	slots []int32 // index + 1, or 0; at most half of the slots are in use
	used  int
}

// find returns the index of an element with a hash for which equal returns true.
func (t *indexTable) find(hash uint64, equal func(index int32) bool) (index int32, ok bool) {
	if len(t.slots) == 0 {
		return 0, false
	}
	mask := uint64(len(t.slots) - 1)
	for i := hash & mask; t.slots[i] != 0; i = (i + 1) & mask {
		if index = t.slots[i] - 1; equal(index) {
			return index, true
		}
	}
	return 0, false
}

// add adds an index that find does not find. hashOf returns the hashes of it and of all indexes in the table.
func (t *indexTable) add(index int32, hashOf func(index int32) uint64) {
	if t.used++; 2*t.used > len(t.slots) {
		before := t.slots
		t.slots = make([]int32, max(16, 2*len(before)))
		for _, x := range before {
			if x != 0 {
				t.insert(x, hashOf(x-1))
			}
		}
	}
	t.insert(index+1, hashOf(index))
}

func (t *indexTable) insert(x int32, hash uint64) {
	mask := uint64(len(t.slots) - 1)
	i := hash & mask
	for t.slots[i] != 0 {
		i = (i + 1) & mask
	}
	t.slots[i] = x
}

// hash returns a hash of a formula whose arguments are in Spec.formulas. Equal formulas have equal hashes.
func (f *Formula) hash(seed maphash.Seed) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	h.WriteByte(byte(f.Op))
	h.WriteString(f.Name)
	for _, a := range f.Args {
		writeIndex(&h, int(a.index))
	}
	if f.Bound != nil {
		maphash.WriteComparable(&h, f.Bound)
	}
	switch {
	case f.Prop != nil:
		writeIndex(&h, f.Prop.index)
	case f.Comparison != nil:
		h.WriteString(f.Comparison.String())
	case f.Responses != nil:
		h.WriteString(f.Responses.String())
	}
	return h.Sum64()
}

// equal reports whether two formulas of a specification are the same. Equal bounds, propositions and arguments share
// one value. Definitions with the same name and argument are the same.
func (f *Formula) equal(g *Formula) bool {
	return f.Op == g.Op && f.Bound == g.Bound && f.Prop == g.Prop && f.Name == g.Name && slices.Equal(f.Args, g.Args) &&
		(f.Comparison == nil || f.Comparison.String() == g.Comparison.String()) &&
		(f.Responses == nil || f.Responses.String() == g.Responses.String())
}

// hash returns a hash of a proposition. Equal propositions have equal hashes.
func (p *Proposition) hash(seed maphash.Seed) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	h.WriteByte(byte(p.Event))
	for _, a := range p.Attributes {
		h.WriteString(a.Key)
		h.WriteByte(0)
		h.WriteString(a.Value)
		h.WriteByte(0)
	}
	return h.Sum64()
}

func writeIndex(h *maphash.Hash, i int) {
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], uint32(i))
	h.Write(b[:])
}
