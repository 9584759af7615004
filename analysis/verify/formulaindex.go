package verify

import (
	"math/rand/v2"
	"slices"
)

// formulaIndex finds formulas by their properties. It is a hash table with linear probing, and takes a tenth of the
// memory of a Go map whose keys are the properties. The hash depends on random numbers, so that no specification can
// have formulas that all collide.
type formulaIndex struct {
	slots  []indexSlot // the length is a power of two; at most half of the slots are used
	used   int
	random uint64
}

// indexSlot is a place for a formula.
type indexSlot struct {
	formula int32 // index of the formula plus 1; 0 if the slot is free
	text    int32 // see builder.add
}

func newFormulaIndex() formulaIndex {
	return formulaIndex{slots: make([]indexSlot, 16), random: rand.Uint64()}
}

// home returns the slot at which the search for a formula begins.
func (x *formulaIndex) home(f *Formula, text int32) int {
	h := x.random
	mix := func(v int32) {
		h = (h ^ uint64(uint32(v))) * 0x9e3779b97f4a7c15
		h ^= h >> 32
	}
	mix(int32(f.Op))
	mix(text)
	if f.Prop != nil {
		mix(int32(f.Prop.index))
	}
	for _, a := range f.Args {
		mix(a.index)
	}
	return int(h) & (len(x.slots) - 1)
}

// find returns the formula of the list that equals f, or nil and a free slot for f.
func (x *formulaIndex) find(list []*Formula, f *Formula, text int32) (known *Formula, place int) {
	for i := x.home(f, text); ; i = (i + 1) & (len(x.slots) - 1) {
		s := x.slots[i]
		if s.formula == 0 {
			return nil, i
		}
		g := list[s.formula-1]
		if g.Op == f.Op && s.text == text && g.Prop == f.Prop && slices.Equal(g.Args, f.Args) {
			return g, i
		}
	}
}

// add stores a formula of the list in a free slot.
func (x *formulaIndex) add(list []*Formula, f *Formula, text int32, place int) {
	x.slots[place] = indexSlot{f.index + 1, text}
	if x.used++; 2*x.used <= len(x.slots) {
		return
	}
	old := x.slots
	x.slots = make([]indexSlot, 2*len(old))
	for _, s := range old {
		if s.formula != 0 {
			_, place := x.find(list, list[s.formula-1], s.text)
			x.slots[place] = s
		}
	}
}
