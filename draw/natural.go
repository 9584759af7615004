package draw

import (
	"cmp"
	"slices"
	"strings"

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
		return compareNatural(a.Name, b.Name)
	})
	return order
}

// compareNatural compares two texts. Digits in them are compared as numbers, so that "job 2"
// precedes "job 10".
func compareNatural(a, b string) int {
	whole := cmp.Compare(a, b)
	for a != "" && b != "" {
		da, db := leadingDigits(a), leadingDigits(b)
		if da > 0 && db > 0 {
			x, y := strings.TrimLeft(a[:da], "0"), strings.TrimLeft(b[:db], "0")
			if c := cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y)); c != 0 {
				return c
			}
			a, b = a[da:], b[db:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Or(cmp.Compare(len(a), len(b)), whole)
}

func leadingDigits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}
