// Package idset finds numbers that occur twice among any many, in bounded
// memory: numbers that come in runs cost next to nothing, all others are sorted
// on disk.
package idset

import (
	"context"
	"slices"

	"github.com/weft-trace/weft/internal/extsort"
)

// maxRanges bounds the memory of a set: 16 bytes each.
const maxRanges = 1 << 16

// Set is a set of ids with the places where they were seen.
type Set struct {
	ranges []span // disjoint, ascending
	rest   *extsort.Sorter
	memory int
}

type span struct{ lo, hi int64 }

// New makes an empty set that keeps about memory bytes beside its ranges.
func New(memory int) *Set { return &Set{memory: memory} }

// Add adds an id and reports whether it is certain that it was there already.
// Duplicates that Add does not see are reported by Finish.
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

// find is where id is or would be.
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

// Finish reports the duplicates that Add did not see, by id.
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
