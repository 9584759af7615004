package diff

import (
	"cmp"
	"math"
	"slices"
)

// RegionEntry is a row of a region or call path, whether it is reported or not.
type RegionEntry struct {
	Row
	Name     string `json:"name"` // name of the region, without a place
	Reported bool   `json:"reported"`
}

// PathEntry is a call path of a [Tree].
type PathEntry struct {
	// RegionEntry has no Path. It has Was only if the path itself was renamed or moved. The test of a row that
	// is not reported has no shift.
	RegionEntry
	// Parent is the index of the path around this path, or -1. A removed path is inside of the partner of the
	// path around it.
	Parent int `json:"parent"`
	// Subtree compares the sums of the exclusive times of the path and of all paths inside of it in the
	// tree. It differs from Inclusive where paths have moved.
	Subtree Change `json:"subtree"`
}

// Tree holds call paths of both sides, reported or not. Each path comes after the path around it. Sibling
// paths are in descending order of the time in their subtrees on both sides together.
type Tree struct {
	Paths []PathEntry
	// Left is the number of paths that the tree leaves out. LeftReported is the number of reported paths among
	// them, and LeftTime the sum of their exclusive times.
	Left, LeftReported int
	LeftTime           Change
}

// Tree returns the call paths with at most deepest regions. If there are more than most such paths, it returns
// those with the most time in their subtrees on both sides together.
func (r *Result) Tree(most, deepest int) *Tree {
	c, pairs := r.comparison, r.paths.pairs
	parents, subtree := r.parents(), make([][2]float64, len(pairs))
	depth := make([]int, len(pairs))
	for i, p := range pairs {
		both := r.paths.pairTimes(p)
		subtree[i] = [2]float64{both[A].exclusive, both[B].exclusive}
		if parents[i] >= 0 {
			depth[i] = depth[parents[i]] + 1
		}
	}
	for i, parent := range slices.Backward(parents) {
		if parent >= 0 {
			subtree[parent][A] += subtree[i][A]
			subtree[parent][B] += subtree[i][B]
		}
	}
	// A path has at least the time of each path inside of it, and comes before it. Therefore a path also comes
	// before its inner paths in the order of times.
	largest := make([]int, 0, len(pairs))
	for i := range pairs {
		if depth[i] < deepest {
			largest = append(largest, i)
		}
	}
	slices.SortStableFunc(largest, func(i, j int) int {
		return cmp.Compare(subtree[j][A]+subtree[j][B], subtree[i][A]+subtree[i][B])
	})
	// place is indexed by pair: index into x.Paths, or -1
	x, place := &Tree{Paths: []PathEntry{}}, make([]int, len(pairs))
	for i := range place {
		place[i] = -1
	}
	for _, i := range largest[:min(len(largest), most)] {
		place[i] = len(x.Paths)
		e := PathEntry{RegionEntry: r.entry(&r.paths, i), Parent: -1, Subtree: changeOf(subtree[i][A], subtree[i][B])}
		around := int32(-1) // the partner of the parent on side A, or -1
		if parents[i] >= 0 {
			e.Parent, around = place[parents[i]], pairs[parents[i]].sides[A]
		}
		if p := pairs[i]; p.sides[A] >= 0 && p.sides[B] >= 0 &&
			(e.FormerPath != nil || c.sides[A].nodes[p.sides[A]].parent != around) {
			e.FormerPath = c.sides[A].path(p.sides[A])
		}
		x.Paths = append(x.Paths, e)
	}
	var left [2]float64
	for i, p := range pairs {
		if place[i] >= 0 {
			continue
		}
		x.Left++
		if _, reported := r.row(&r.paths, i); reported {
			x.LeftReported++
		}
		for s, t := range r.paths.pairTimes(p) {
			left[s] += t.exclusive
		}
	}
	x.LeftTime = changeOf(left[A], left[B])
	return x
}

// parents returns, for each pair of paths, the index of the pair around it, or -1. A parent has a lower index
// than its children.
func (r *Result) parents() []int {
	c := r.comparison
	var index [2][]int // indexed by side and path: the index of the path's pair
	for s := range index {
		index[s] = make([]int, len(c.sides[s].nodes))
	}
	list := make([]int, len(r.paths.pairs))
	for i, p := range r.paths.pairs {
		for s, at := range p.sides {
			if at >= 0 {
				index[s][at] = i
			}
		}
		s, at := p.shown()
		if parent := c.sides[s].nodes[at].parent; parent >= 0 {
			list[i] = index[s][parent]
		} else {
			list[i] = -1
		}
	}
	return list
}

// entry returns the entry of a pair of a table.
func (r *Result) entry(t *table, i int) (e RegionEntry) {
	c, p := r.comparison, t.pairs[i]
	e.Row, e.Reported = r.row(t, i)
	s, at := p.shown()
	k := t.key(s, at)
	n := c.names.list[k]
	e.Name, e.Region, e.File, e.Line = n.name, c.sides[s].displayName(k), n.file, n.line
	if p.sides[A] < 0 || p.sides[B] < 0 {
		return e
	}
	if c.names.list[t.key(A, p.sides[A])].name != n.name {
		e.FormerPath = []string{c.sides[A].displayName(t.key(A, p.sides[A]))}
	}
	return e
}

// Entries returns all regions, reported or not: first the reported ones in the order of
// [Result].Regions, then the others with the most time first. The test of a row that is not reported has
// no shift.
func (r *Result) Entries() []RegionEntry {
	list := make([]RegionEntry, len(r.regions.pairs))
	for i := range list {
		list[i] = r.entry(&r.regions, i)
	}
	slices.SortStableFunc(list, func(a, b RegionEntry) int {
		switch {
		case a.Reported && b.Reported:
			return r.compareRows(&a.Row, &b.Row)
		case a.Reported:
			return -1
		case b.Reported:
			return 1
		}
		x, y := r.testedChange(&a.Row), r.testedChange(&b.Row)
		return cmp.Or(cmp.Compare(math.Max(y.A, y.B), math.Max(x.A, x.B)), cmp.Compare(a.Region, b.Region))
	})
	return list
}
