// Package idset finds duplicates among any quantity of numbers, with limited memory. Runs of consecutive
// numbers need almost no memory. All other numbers are sorted in temporary files.
package idset

import (
	"context"
	"slices"

	"github.com/weft-trace/weft/internal/extsort"
)

// maxRanges limits the memory of a set. A range takes 16 bytes.
const maxRanges = 1 << 16

// Set is a set of ids. Each id is added with the place where it occurs.
type Set struct {
	ranges []span // disjoint ranges in ascending order
	rest   *extsort.Sorter
	memory int
	grown  int // index of the range that grew last
}

type span struct{ lo, hi int64 }

// New returns an empty set. It needs about memory bytes for sorting, in addition to its ranges.
func New(memory int) *Set { return &Set{memory: memory} }

// Add adds an id that occurs at a place. duplicate is true if the id is certainly a duplicate. [Set.Finish]
// reports the duplicates that Add cannot recognise.
func (s *Set) Add(id, place int64) (duplicate bool, err error) {
	if s.grown < len(s.ranges) { // most ids follow the one before
		x := &s.ranges[s.grown]
		if id > x.hi && id-1 == x.hi && (s.grown+1 == len(s.ranges) || id+1 < s.ranges[s.grown+1].lo) {
			x.hi = id
			return false, nil
		}
	}
	i, found := s.find(id)
	if found {
		return true, nil
	}
	// If the id closes the gap between two ranges, they become one range.
	s.grown = max(0, i-1)
	left := i > 0 && s.ranges[i-1].hi+1 == id
	right := i < len(s.ranges) && s.ranges[i].lo-1 == id
	switch {
	case left && right:
		s.ranges[i-1].hi = s.ranges[i].hi
		s.ranges = slices.Delete(s.ranges, i, i+1)
	case left:
		s.ranges[i-1].hi = id
	case right:
		s.ranges[i].lo = id
	case len(s.ranges) < maxRanges && (i == len(s.ranges) || len(s.ranges) < maxRanges/16):
		s.ranges = slices.Insert(s.ranges, i, span{id, id})
	default:
		if s.rest == nil {
			s.rest = extsort.New(s.memory, "")
		}
		return false, s.rest.Add(id, place, nil)
	}
	return false, nil
}

// find returns the index of the range that contains id, and true. If no range contains id, it returns the
// index at which the range of id would be inserted, and false.
func (s *Set) find(id int64) (int, bool) {
	return slices.BinarySearchFunc(s.ranges, id, func(x span, id int64) int {
		switch {
		case x.hi < id:
			return -1
		case x.lo > id:
			return 1
		}
		return 0
	})
}

// Finish calls duplicate for each duplicate that Add has not reported, in the order of ids.
func (s *Set) Finish(ctx context.Context, duplicate func(id, place int64) error) error {
	if s.rest == nil {
		return nil
	}
	defer s.rest.Close()
	it, err := s.rest.Sort(ctx)
	if err != nil {
		return err
	}
	var last int64
	for any := false; ; any = true {
		r, ok, err := it.Next()
		if err != nil || !ok {
			return err
		}
		_, found := s.find(r.A)
		if found || any && r.A == last {
			if err := duplicate(r.A, r.B); err != nil {
				return err
			}
		}
		last = r.A
	}
}

// Close removes the temporary files of the set.
func (s *Set) Close() {
	if s.rest != nil {
		s.rest.Close()
	}
}
