package diff

import (
	"cmp"
	"math"
	"slices"
)

// Repetition compares how often a call path occurs in the path around it.
type Repetition struct {
	Region string `json:"region"` // the last region of the path
	// Path and FormerPath have the same meaning as in [Row].
	Path       []string `json:"path"`
	FormerPath []string `json:"was,omitempty"`
	// Times is the number of visits in each visit of the path around this one or, for an outermost path, at each
	// location that visits it, in the mean.
	Times  Change `json:"times"`
	Visits Change `json:"visits"` // as in Row
}

// repetitions returns the paths that occur in the path around them more or less often in B than in A, those with the
// most time first. Both paths must be partners, and the difference must reach Result.Change.
func (r *Result) repetitions(al *alignment) []Repetition {
	type found struct {
		Repetition
		time float64
	}
	var list []found
	for _, p := range r.paths.pairs {
		a, b := p.sides[A], p.sides[B]
		if a < 0 || b < 0 || !r.comparison.isChosen(&r.paths, p) {
			continue
		}
		x, y := &al.sides[A].nodes[a], &al.sides[B].nodes[b]
		if x.parent >= 0 && al.partner[A][x.parent] != y.parent || x.parent < 0 && y.parent >= 0 {
			continue // the path has moved
		}
		times := changeOf(al.sides[A].repeats(x), al.sides[B].repeats(y))
		d := math.Abs(times.Difference)
		if times.A == 0 || times.B == 0 || d <= times.rounding() || d+times.rounding() < r.Change*times.A {
			continue
		}
		var row Row
		r.setPath(p, &row)
		list = append(list, found{Repetition{row.Region, row.Path, row.FormerPath, times, changeOf(x.visits, y.visits)},
			max(x.inclusive, y.inclusive)})
	}
	slices.SortStableFunc(list, func(x, y found) int { return cmp.Compare(y.time, x.time) })
	out := make([]Repetition, len(list))
	for i := range list {
		out[i] = list[i].Repetition
	}
	return out
}

// repeats returns the number of visits of a path in each visit of the path around it or, for an outermost path, at each
// location that visits it. It returns 0 if there are no such visits or locations.
func (s *side) repeats(x *path) float64 {
	around := x.visitors
	if x.parent >= 0 {
		around = s.nodes[x.parent].visits
	}
	if around == 0 {
		return 0
	}
	return x.visits / around
}
