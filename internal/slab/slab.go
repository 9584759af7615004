// Package slab stores elements of one type in pages, which it reuses.
package slab

// pageBits determines the number of elements of a page, 1<<pageBits. Only the first page can be smaller.
const pageBits = 10

// Slab stores elements, which it identifies by indices. A slice that grows copies its elements, so that the old and the
// new array exist at the same time. A Slab grows only its first page in this way, and then adds pages. It reuses the
// places of elements that were freed. The zero Slab is empty.
type Slab[T any] struct {
	pages [][]T
	free  []int32 // indices of places that were freed
}

// Take returns the index of a place for a new element, and the place. The caller must set the whole element: a place
// that is reused holds the value of its earlier element. The pointer is valid until the next call of Take.
func (s *Slab[T]) Take() (int32, *T) {
	if n := len(s.free); n > 0 {
		i := s.free[n-1]
		s.free = s.free[:n-1]
		return i, s.At(i)
	}
	return s.add()
}

// add adds a place.
func (s *Slab[T]) add() (int32, *T) {
	last := len(s.pages) - 1
	switch {
	case last < 0:
		s.pages, last = append(s.pages, nil), 0
	case len(s.pages[last]) == 1<<pageBits:
		s.pages, last = append(s.pages, make([]T, 0, 1<<pageBits)), last+1
	}
	var zero T
	page := append(s.pages[last], zero)
	s.pages[last] = page
	return int32(last<<pageBits + len(page) - 1), &page[len(page)-1]
}

// Free frees the place of an element. The element must not be used afterwards.
func (s *Slab[T]) Free(i int32) { s.free = append(s.free, i) }

// At returns the element with an index. The pointer is valid until the next call of Take.
func (s *Slab[T]) At(i int32) *T { return &s.pages[i>>pageBits][i&(1<<pageBits-1)] }

// Places returns the number of places, used and free.
func (s *Slab[T]) Places() int {
	if len(s.pages) == 0 {
		return 0
	}
	last := len(s.pages) - 1
	return last<<pageBits + len(s.pages[last])
}
