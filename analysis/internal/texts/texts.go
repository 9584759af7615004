// Package texts numbers the different texts of a trace, such as the values of an attribute.
package texts

import (
	"hash/maphash"
	"iter"
	"math"
	"slices"
)

// Set numbers texts in the order of their first occurrences, from 0. It stores the bytes of all texts in one
// piece of memory, so that a garbage collector need not examine each text. The zero Set is empty and ready to
// use.
type Set struct {
	seed  maphash.Seed
	slots []slot // a hash table with linear probing; the length is 0 or a power of two
	// recent holds texts that were found lately, by the last bits of their hashes. A large table does not fit into the
	// processor's cache, and most texts soon occur again.
	recent [64]recentText
	// decimals is indexed by small whole numbers. Each element is 1 plus the number of the text that consists
	// of the decimal digits of the index, or 0 if the set does not have this text. Ids of objects are often
	// whole numbers in ascending order, and then need no hash table. All other texts, and greater whole
	// numbers, are in slots.
	decimals     []uint32
	largeNumbers bool  // some texts in slots are decimal whole numbers
	hashed       int   // number of texts in slots
	ends         []int // indexed by number: end of the text in bytes; a text begins where the text before it ends
	bytes        []byte
}

// slot is a place in the hash table.
type slot struct {
	hash   uint32 // upper half of the hash of the text
	number uint32 // number of the text, plus 1; 0 if the slot is free
}

// recentText is an entry of the cache of recent texts.
type recentText struct {
	hash   uint64
	number uint32 // number of the text, plus 1; 0 if the entry is free
}

// leastDecimals is the number of whole numbers that decimals can always hold, even if the set has few texts.
const leastDecimals = 1 << 14

// smallestTable is the number of slots for a single text.
const smallestTable = 16

// Len returns the number of texts.
func (s *Set) Len() int { return len(s.ends) }

// text returns the bytes of a text.
func (s *Set) text(number uint32) []byte {
	begin := 0
	if number > 0 {
		begin = s.ends[number-1]
	}
	return s.bytes[begin:s.ends[number]]
}

// Number returns the number of a text. A new text gets the next number; the set stores a copy of the text.
func (s *Set) Number(text string) uint32 {
	d := decimal(text)
	if d >= uint(len(s.decimals)) {
		// The list of decimals is in proportion to the number of texts. It must have all whole numbers below
		// its length. Therefore it does not grow if there may be such numbers in the hash table.
		most := uint(4*len(s.ends) + leastDecimals)
		if d >= most || s.largeNumbers {
			s.largeNumbers = s.largeNumbers || d != noDecimal
			return s.numberByHash(text)
		}
		s.decimals = append(s.decimals, make([]uint32, min(most, 2*d+1)-uint(len(s.decimals)))...)
	}
	n := &s.decimals[d]
	if *n == 0 {
		*n = s.add(text) + 1
	}
	return *n - 1
}

// add appends a text and returns its number.
func (s *Set) add(text string) uint32 {
	// Both lists double their capacity. They would otherwise grow by a quarter at a time, and be copied more often.
	if len(s.ends) == cap(s.ends) {
		s.ends = slices.Grow(s.ends, max(1, len(s.ends)))
	}
	if cap(s.bytes)-len(s.bytes) < len(text) {
		s.bytes = slices.Grow(s.bytes, max(len(text), len(s.bytes)))
	}
	s.bytes = append(s.bytes, text...)
	s.ends = append(s.ends, len(s.bytes))
	return uint32(len(s.ends) - 1)
}

// noDecimal stands for a text that is not a whole number.
const noDecimal = math.MaxUint

// decimal returns the whole number that a text represents. It returns noDecimal unless the text is the
// shortest form of a whole number with at most 9 digits.
func decimal(text string) uint {
	if len(text)-1 > 8 || len(text) == 0 || text[0] == '0' && len(text) > 1 {
		return noDecimal
	}
	n := uint(0)
	for i := range len(text) {
		c := text[i] - '0'
		if c > 9 {
			return noDecimal
		}
		n = 10*n + uint(c)
	}
	return n
}

// numberByHash returns the number of a text, which it looks up by its hash. A new text gets the next number.
func (s *Set) numberByHash(text string) uint32 {
	if 4*(s.hashed+1) > 3*len(s.slots) {
		s.grow()
	}
	h := maphash.String(s.seed, text)
	r := &s.recent[h%uint64(len(s.recent))]
	if r.hash != h || r.number == 0 || string(s.text(r.number-1)) != text {
		*r = recentText{h, s.find(h, text) + 1}
	}
	return r.number - 1
}

// find returns the number of a text with the hash h. It adds a new text. The table must have a free slot.
func (s *Set) find(h uint64, text string) uint32 {
	for i := int(h) & (len(s.slots) - 1); ; i = (i + 1) & (len(s.slots) - 1) {
		x := &s.slots[i]
		switch {
		case x.number == 0:
			*x = slot{uint32(h >> 32), s.add(text) + 1}
			s.hashed++
			return x.number - 1
		case x.hash == uint32(h>>32) && string(s.text(x.number-1)) == text:
			return x.number - 1
		}
	}
}

// grow doubles the number of slots.
func (s *Set) grow() {
	if len(s.slots) == 0 {
		s.seed = maphash.MakeSeed()
	}
	s.slots = make([]slot, max(smallestTable, 2*len(s.slots)))
	for n := range s.ends {
		if decimal(string(s.text(uint32(n)))) < uint(len(s.decimals)) {
			continue
		}
		h := maphash.Bytes(s.seed, s.text(uint32(n)))
		i := int(h) & (len(s.slots) - 1)
		for s.slots[i].number != 0 {
			i = (i + 1) & (len(s.slots) - 1)
		}
		s.slots[i] = slot{uint32(h >> 32), uint32(n + 1)}
	}
}

// All iterates over all texts, in the order of their numbers. The texts share one piece of memory.
func (s *Set) All() iter.Seq[string] {
	return func(yield func(string) bool) {
		all, begin := string(s.bytes), 0
		for _, end := range s.ends {
			if !yield(all[begin:end]) {
				return
			}
			begin = end
		}
	}
}

// Merge adds the texts of another set. The result has, for each number of a text in o, the number of this text
// in s.
func (s *Set) Merge(o *Set) []uint32 {
	numbers := make([]uint32, o.Len())
	for n := range numbers {
		numbers[n] = s.Number(string(o.text(uint32(n))))
	}
	return numbers
}
