package cli

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/weft-trace/weft/analysis/calltree"
	"github.com/weft-trace/weft/analysis/profile"
)

// What profiles can be sorted by. Names begin with the first of the alphabet, figures
// with the greatest.
const (
	byExclusive = "exclusive"
	byInclusive = "inclusive"
	byCount     = "count"
	byMin       = "min"
	byMean      = "mean"
	byMax       = "max"
	byName      = "name"
)

var sortKeys = []string{byExclusive, byInclusive, byCount, byMin, byMean, byMax, byName}

// line is what lines of profiles, of whatever sort, are compared by.
type line struct {
	name                           string
	exclusive, inclusive           int64
	count, sum, shortest, greatest int64
}

// compare says which line comes first. Equal ones are in the order of their names.
func compare(key string, a, b line) int {
	c := 0
	switch key {
	case byExclusive:
		c = cmp.Compare(b.exclusive, a.exclusive)
	case byInclusive:
		c = cmp.Compare(b.inclusive, a.inclusive)
	case byCount:
		c = cmp.Compare(b.count, a.count)
	case byMin:
		c = cmp.Compare(b.shortest, a.shortest)
	case byMean:
		c = compareMeans(b.sum, b.count, a.sum, a.count)
	case byMax:
		c = cmp.Compare(b.greatest, a.greatest)
	}
	return cmp.Or(c, cmp.Compare(a.name, b.name))
}

// compareMeans compares s/n with t/m exactly; a mean of nothing is 0.
func compareMeans(s, n, t, m int64) int {
	s, n, t, m = max(s, 0), max(n, 1), max(t, 0), max(m, 1)
	high, low := bits.Mul64(uint64(s), uint64(m))
	high2, low2 := bits.Mul64(uint64(t), uint64(n))
	return cmp.Or(cmp.Compare(high, high2), cmp.Compare(low, low2))
}

func sortRegions(l []profile.Region, key string) {
	of := func(r *profile.Region) line {
		return line{r.Name, r.Exclusive, r.Inclusive, r.Count, r.Sum, r.Min, r.Max}
	}
	slices.SortStableFunc(l, func(a, b profile.Region) int { return compare(key, of(&a), of(&b)) })
}

// sortActivities sorts activities; their time stands for both sorts of time of regions.
func sortActivities(l []profile.Activity, key string) {
	of := func(x *profile.Activity) line {
		return line{x.Name, x.Time, x.Time, x.Count, x.Time, x.Min, x.Max}
	}
	slices.SortStableFunc(l, func(a, b profile.Activity) int { return compare(key, of(&a), of(&b)) })
}

func sortPaths(l []calltree.Node, key string) []calltree.Node {
	of := func(n *calltree.Node) line {
		return line{n.Name, n.Exclusive, n.Inclusive, n.Count, n.Inclusive, n.Min, n.Max}
	}
	return calltree.Sorted(l, func(a, b *calltree.Node) int { return compare(key, of(a), of(b)) })
}
