package draw

import (
	"cmp"
	"slices"

	"github.com/weft-trace/weft/internal/digits"
	"github.com/weft-trace/weft/timeline/index"
	"github.com/weft-trace/weft/transform"
)

// ValueOrder returns the indexes of tracks in the order for a picture whose rows are values of an attribute.
// First come the rows of single values, in natural order of their names, then the rows that several values
// share, and then counters and signals.
func ValueOrder(tracks []index.Track) []int {
	order := make([]int, len(tracks))
	for i := range order {
		order[i] = i
	}
	rank := func(t *index.Track) int {
		switch {
		case t.Kind == index.CounterTrack:
			return 2
		case transform.IsSharedRow(t.Name):
			return 1
		}
		return 0
	}
	slices.SortStableFunc(order, func(i, k int) int {
		a, b := &tracks[i], &tracks[k]
		if c := cmp.Compare(rank(a), rank(b)); c != 0 || rank(a) > 0 {
			return c
		}
		return digits.CompareNatural(a.Name, b.Name)
	})
	return order
}
