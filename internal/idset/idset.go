// Package idset finds numbers that occur twice in any quantity of numbers, with bounded memory.
// Numbers in consecutive runs cost next to nothing; all others are sorted on disk.
package idset

import (
	"context"
	"slices"

	"github.com/weft-trace/weft/internal/extsort"
)

// maxRanges limits the memory of a set: 16 bytes per range.
const maxRanges = 1 << 16

// Set is a set of ids with the positions at which they were seen.
type Set struct {
	ranges []span // disjoint, ascending
	rest   *extsort.Sorter
	memory int
}

type span struct{ lo, hi int64 }

// New returns an empty set that holds about memory bytes in addition to its ranges.
func New(memory int) *Set { return &Set{memory: memory} }

// Add adds an id and reports whether it is certainly a duplicate. Finish reports the duplicates
// that Add does not detect.
func (s *Set) Add(id, place int64) (duplicate bool, err error) {
	if n := len(s.ranges); n > 0 && id == s.ranges[n-1].hi+1 {
		s.ranges[n-1].hi = id
		return false, nil
	}
	i, found := s.find(id)
	if found {
		return true, nil
	}
	// Join neighbours where the id closes a gap.
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

// find returns the index at which id is or would be inserted.
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

// Finish reports the duplicates that Add did not detect, by id.
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

// Close frees the set's temporary files.
func (s *Set) Close() {
	if s.rest != nil {
		s.rest.Close()
	}
}
