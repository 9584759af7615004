package raster

import (
	"math"
	"sort"

	"github.com/weft-trace/weft/timeline/index"
)

// DepthAt returns the depth of the span to which one end of a link belongs. column is the horizontal position
// of this end in the tile, in columns; it may be fractional. ends is set if this end of the link belongs to
// the end of a span, and not to its begin. nested is set for nested spans. In this case, DepthAt chooses the
// innermost span at the column or, with ends, the innermost span that ends there. For the lanes of a resource,
// it chooses the claim that begins there (with ends: that ends there). If there is no such claim, it chooses
// the only claim at the column. DepthAt returns −1 if the tile does not determine the span.
func DepthAt(t *index.Tile, strips []index.Strip, column float64, nested, ends bool) int {
	inner, edge, near, holds := -1, -1, 1.01, 0
	reach := 1
	if nested && !ends {
		reach = 0
	}
	for _, s := range strips {
		if s.Kind != index.SpanStrip {
			continue
		}
		k := runAt(t, s, int(math.Floor(column)), reach)
		if k < 0 {
			continue
		}
		begin, end := float64(t.X[k]), float64(int(t.X[k])+int(t.N[k]))
		if begin <= column && column < end {
			holds++
			inner = max(inner, s.Depth)
		}
		at, own := begin, t.Flags[k]&index.Begins != 0
		if ends {
			at, own = end, t.Flags[k]&index.Ends != 0
		}
		switch d := math.Abs(at - column); {
		case !own:
		case nested && ends && d < 1.01:
			edge = max(edge, s.Depth)
		case !nested && d < near:
			near, edge = d, s.Depth
		}
	}
	switch {
	case edge >= 0:
		return edge
	case nested || holds == 1:
		return inner
	}
	return -1
}

// runAt returns the index of the run of a strip that covers a column. If there is no such run, it returns the
// nearest run that is at most reach columns away. It returns −1 if there is none.
func runAt(t *index.Tile, s index.Strip, column, reach int) int {
	end := func(k int) int { return int(t.X[k]) + int(t.N[k]) }
	last := s.First + s.Count
	k := s.First + sort.Search(s.Count, func(i int) bool { return end(s.First+i) > column })
	if k < last && int(t.X[k]) <= column {
		return k
	}
	after, before := math.MaxInt, math.MaxInt
	if k < last {
		after = int(t.X[k]) - column
	}
	if k > s.First {
		before = column - end(k-1) + 1
	}
	switch {
	case min(after, before) > reach:
		return -1
	case after < before:
		return k
	}
	return k - 1
}
