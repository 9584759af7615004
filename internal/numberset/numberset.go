// Package numberset holds sets of numbers that are mostly close to each other, such as ids and positions in a file.
package numberset

import "github.com/weft-trace/weft/internal/slab"

// Set is a set of numbers. It has a page of bits for each range of 512 numbers of which it has one or more. A number
// far from all others takes about 100 bytes. The zero Set is empty. Several goroutines may call Has at the same time.
type Set struct {
	places map[int64]int32 // place of the page of each range
	pages  slab.Slab[page]
}

// pageBits determines the number of bits of a page, 1<<pageBits.
const pageBits = 9

type page [1 << pageBits / 64]uint64

// Add adds a number.
func (s *Set) Add(n int64) {
	place, ok := s.places[n>>pageBits]
	if !ok {
		if s.places == nil {
			s.places = map[int64]int32{}
		}
		place, _ = s.pages.Take()
		s.places[n>>pageBits] = place
	}
	s.pages.At(place)[word(n)] |= 1 << (n & 63)
}

// Has reports whether the set has a number.
func (s *Set) Has(n int64) bool {
	if len(s.places) == 0 {
		return false
	}
	place, ok := s.places[n>>pageBits]
	return ok && s.pages.At(place)[word(n)]>>(n&63)&1 == 1
}

// word returns the index of the word of a page that has the bit of a number.
func word(n int64) int { return int(n>>6) & (1<<pageBits/64 - 1) }
