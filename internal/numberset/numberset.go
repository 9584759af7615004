// Package numberset holds sets of numbers that are mostly close to each other, such as ids and positions in a file.
package numberset

import "github.com/weft-trace/weft/internal/slab"

// Set is a set of numbers. It has a page of bits for each range of 512 numbers of which it has one or more. A number
// far from all others takes about 100 bytes. The zero Set is empty. A Set may be used by one goroutine at a time.
type Set struct {
	places map[int64]int32 // place of the page of each range
	pages  slab.Slab[page]
	recent int64 // range of the page that was used last, if latest is not nil
	latest *page
}

// pageBits determines the number of bits of a page, 1<<pageBits.
const pageBits = 9

type page [1 << pageBits / 64]uint64

// Add adds a number.
func (s *Set) Add(n int64) {
	p := s.page(n)
	if p == nil {
		if s.places == nil {
			s.places = map[int64]int32{}
		}
		place, added := s.pages.Take()
		s.places[n>>pageBits] = place
		p, s.recent, s.latest = added, n>>pageBits, added
	}
	p[n>>6&(1<<pageBits/64-1)] |= 1 << (n & 63)
}

// Has reports whether the set has a number.
func (s *Set) Has(n int64) bool {
	if len(s.places) == 0 {
		return false
	}
	p := s.page(n)
	return p != nil && p[n>>6&(1<<pageBits/64-1)]>>(n&63)&1 == 1
}

// page returns the page of a number, or nil if there is none.
func (s *Set) page(n int64) *page {
	if s.latest != nil && s.recent == n>>pageBits {
		return s.latest
	}
	place, ok := s.places[n>>pageBits]
	if !ok {
		return nil
	}
	s.recent, s.latest = n>>pageBits, s.pages.At(place)
	return s.latest
}
