package cli

import (
	"cmp"
	"math/big"
	"slices"

	"github.com/weft-trace/weft/analysis/calltree"
	"github.com/weft-trace/weft/analysis/profile"
	"github.com/weft-trace/weft/trace"
)

// Values of --sort. Names sort in alphabetical order, numbers in descending order.
const (
	byExclusive = "exclusive"
	byInclusive = "inclusive"
	byCount     = "count"
	byMin       = "min"
	byMean      = "mean"
	byMax       = "max"
	byName      = "name"
)

// sortKeys lists the values of --sort.
var sortKeys = []string{byExclusive, byInclusive, byCount, byMin, byMean, byMax, byName}

// sortLine holds the values by which the lines of a profile are sorted.
type sortLine struct {
	name                      string
	exclusive, inclusive, sum trace.Ticks
	count, shortest, greatest int64
}

// compare compares two lines by a key. Equal lines are in the order of their names.
func compare(key string, a, b sortLine) int {
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

// compareMeans compares s/n with t/m exactly. The mean of no values is 0.
func compareMeans(s trace.Ticks, n int64, t trace.Ticks, m int64) int {
	x, y := s.Big(), t.Big()
	return x.Mul(x, big.NewInt(max(m, 1))).Cmp(y.Mul(y, big.NewInt(max(n, 1))))
}

// sortRegions sorts regions by a key.
func sortRegions(l []profile.Region, key string) {
	line := func(r *profile.Region) sortLine {
		return sortLine{r.Name, r.Exclusive, r.Inclusive, r.Sum, r.Count, r.Min, r.Max}
	}
	slices.SortStableFunc(l, func(a, b profile.Region) int { return compare(key, line(&a), line(&b)) })
}

// sortActivities sorts activities by a key. Their time is both their exclusive and their inclusive
// time.
func sortActivities(l []profile.Activity, key string) {
	line := func(x *profile.Activity) sortLine {
		return sortLine{x.Name, x.Time, x.Time, x.Time, x.Count, x.Min, x.Max}
	}
	slices.SortStableFunc(l, func(a, b profile.Activity) int { return compare(key, line(&a), line(&b)) })
}

// sortPaths sorts the children of each call path by a key.
func sortPaths(l []calltree.Node, key string) []calltree.Node {
	line := func(n *calltree.Node) sortLine {
		return sortLine{n.Name, n.Exclusive, n.Inclusive, n.Inclusive, n.Count, n.Min, n.Max}
	}
	return calltree.Sorted(l, func(a, b *calltree.Node) int { return compare(key, line(a), line(b)) })
}
