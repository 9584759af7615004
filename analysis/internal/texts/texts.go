// Package texts numbers the different texts of a trace, such as the values of an attribute.
package texts

import (
	"bytes"
	"hash/maphash"
	"math"
)

// Set numbers texts in the order of their first occurrences, from 0. It keeps their bytes in one piece of memory,
// which a garbage collector does not have to search. The zero Set is empty and ready to use.
type Set struct {
	seed  maphash.Seed
	slots []slot // a hash table with linear probing; the length is 0 or a power of two
	// recent holds texts that were found lately, by the last bits of their hashes. A large table does not fit into the
	// processor's cache, and most texts soon occur again.
	recent [64]recentText
	// decimals holds the numbers of texts that are small whole numbers, plus 1, by that whole number; 0 if the set does
	// not have the text. Ids of objects are often counted, and need no hash table then. All other texts, and greater
	// whole numbers, are in slots.
	decimals []uint32
	great    bool  // some texts in slots are whole numbers
	hashed   int   // number of texts in slots
	ends     []int // indexed by number: end of the text in bytes; it begins where the text before it ends
	bytes    []byte
}

// slot is a place in the hash table.
type slot struct {
	hash   uint32 // upper half of the hash of the text
	number uint32 // of the text, plus 1; 0 if the slot is free
}

// recentText is a text that was found.
type recentText struct {
	hash   uint64
	number uint32 // plus 1; 0 if there is none
}

// leastDecimals is the number of whole numbers that need no hash table, no matter how few texts there are.
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

// Number returns the number of a text, which it adds if it is new. The set keeps a copy of it.
func (s *Set) Number(text []byte) uint32 {
	d := decimal(text)
	if d >= uint(len(s.decimals)) {
		// The list of decimals is in proportion to the number of texts. It must have all whole numbers below its
		// length, so it stays as it is if there may be some in the hash table.
		most := uint(4*len(s.ends) + leastDecimals)
		if d >= most || s.great {
			s.great = s.great || d != noDecimal
			return s.search(text)
		}
		s.decimals = append(s.decimals, make([]uint32, min(most, 2*d+1)-uint(len(s.decimals)))...)
	}
	n := &s.decimals[d]
	if *n == 0 {
		s.bytes = append(s.bytes, text...)
		s.ends = append(s.ends, len(s.bytes))
		*n = uint32(len(s.ends))
	}
	return *n - 1
}

// noDecimal is in place of a whole number.
const noDecimal = math.MaxUint

// decimal returns the whole number that a text stands for, or noDecimal if the text is not the shortest form of one
// with at most 9 digits.
func decimal(text []byte) uint {
	if len(text)-1 > 8 || len(text) == 0 || text[0] == '0' && len(text) > 1 {
		return noDecimal
	}
	n := uint(0)
	for _, c := range text {
		if c -= '0'; c > 9 {
			return noDecimal
		}
		n = 10*n + uint(c)
	}
	return n
}

// search returns the number of a text by its hash. It adds the text if that is new.
func (s *Set) search(text []byte) uint32 {
	if 4*(s.hashed+1) > 3*len(s.slots) {
		s.grow()
	}
	h := maphash.Bytes(s.seed, text)
	r := &s.recent[h%uint64(len(s.recent))]
	if r.hash != h || r.number == 0 || !bytes.Equal(s.text(r.number-1), text) {
		*r = recentText{h, s.find(h, text) + 1}
	}
	return r.number - 1
}

// find returns the number of a text with the hash h, which it adds if it is new. The table must have a free slot.
func (s *Set) find(h uint64, text []byte) uint32 {
	for i := int(h) & (len(s.slots) - 1); ; i = (i + 1) & (len(s.slots) - 1) {
		x := &s.slots[i]
		switch {
		case x.number == 0:
			s.bytes = append(s.bytes, text...)
			s.ends = append(s.ends, len(s.bytes))
			*x = slot{uint32(h >> 32), uint32(len(s.ends))}
			s.hashed++
			return x.number - 1
		case x.hash == uint32(h>>32) && bytes.Equal(s.text(x.number-1), text):
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
		if decimal(s.text(uint32(n))) < uint(len(s.decimals)) {
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

// All returns all texts by number. They share one piece of memory.
func (s *Set) All() []string {
	list := make([]string, len(s.ends))
	all, begin := string(s.bytes), 0
	for n, end := range s.ends {
		list[n] = all[begin:end]
		begin = end
	}
	return list
}

// Merge adds the texts of another set. It returns the number that each of them has in s, by its number in o.
func (s *Set) Merge(o *Set) []uint32 {
	numbers := make([]uint32, o.Len())
	for n := range numbers {
		numbers[n] = s.Number(o.text(uint32(n)))
	}
	return numbers
}
