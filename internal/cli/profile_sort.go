package cli

import (
	"cmp"
	"math/big"
	"slices"

	"github.com/weft-trace/weft/analysis/calltree"
	"github.com/weft-trace/weft/analysis/profile"
	"github.com/weft-trace/weft/trace"
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
	name                      string
	exclusive, inclusive, sum trace.Ticks
	count, shortest, greatest int64
}

// compare says which line comes first. Equal ones are in the order of their names.
func compare(key string, a, b line) int {
	c := 0
	switch key {
	case byExclusive:
		c = b.exclusive.Cmp(a.exclusive)
	case byInclusive:
		c = b.inclusive.Cmp(a.inclusive)
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
func compareMeans(s trace.Ticks, n int64, t trace.Ticks, m int64) int {
	x, y := s.Big(), t.Big()
	return x.Mul(x, big.NewInt(max(m, 1))).Cmp(y.Mul(y, big.NewInt(max(n, 1))))
}

func sortRegions(l []profile.Region, key string) {
	of := func(r *profile.Region) line {
		return line{r.Name, r.Exclusive, r.Inclusive, r.Sum, r.Count, r.Min, r.Max}
	}
	slices.SortStableFunc(l, func(a, b profile.Region) int { return compare(key, of(&a), of(&b)) })
}

// sortActivities sorts activities; their time stands for both sorts of time of regions.
func sortActivities(l []profile.Activity, key string) {
	of := func(x *profile.Activity) line {
		return line{x.Name, x.Time, x.Time, x.Time, x.Count, x.Min, x.Max}
	}
	slices.SortStableFunc(l, func(a, b profile.Activity) int { return compare(key, of(&a), of(&b)) })
}

func sortPaths(l []calltree.Node, key string) []calltree.Node {
	of := func(n *calltree.Node) line {
		return line{n.Name, n.Exclusive, n.Inclusive, n.Inclusive, n.Count, n.Min, n.Max}
	}
	return calltree.Sorted(l, func(a, b *calltree.Node) int { return compare(key, of(a), of(b)) })
}
