// Package forest finds parents that would make an entry its own ancestor, such as a location group that contains
// itself. A search takes nearly the same time in deep trees and in flat ones.
package forest

import "slices"

// Forest holds the parents of entries, which are numbered from 0. The zero value is a forest in which no entry has a
// parent. It uses 8 bytes per entry.
type Forest struct {
	parents []uint32 // indexed by entry; the entry itself if it has no parent
	above   []uint32 // indexed by entry: an ancestor; the entry itself if it has no parent
}

// Add sets the parent of an entry, and reports whether this is possible. It changes nothing if the entry is its own
// parent, or an ancestor of it.
func (f *Forest) Add(entry, parent uint32) bool {
	for n := uint32(len(f.parents)); n <= max(entry, parent); n++ {
		f.parents, f.above = append(f.parents, n), append(f.above, n)
	}
	if f.parents[entry] == entry {
		if f.root(parent) == entry {
			return false
		}
		f.parents[entry], f.above[entry] = parent, parent
		return true
	}
	if f.parents[entry] == parent {
		return true
	}
	for p := parent; ; p = f.parents[p] { // a trace defines the entry a second time
		if p == entry {
			return false
		}
		if p == f.parents[p] {
			break
		}
	}
	f.parents[entry] = parent
	f.above = slices.Clone(f.parents)
	return true
}

// root returns the entry without a parent that is the entry or an ancestor of it. It shortens the way to the root.
func (f *Forest) root(entry uint32) uint32 {
	for f.above[entry] != entry {
		f.above[entry] = f.above[f.above[entry]]
		entry = f.above[entry]
	}
	return entry
}
