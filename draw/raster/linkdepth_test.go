package raster

import (
	"testing"

	"github.com/weft-trace/weft/timeline/index"
)

// tileOf returns a tile whose depths have the given runs, each with its first column and its number
// of columns.
func tileOf(runs ...[][2]int) *index.Tile {
	t := &index.Tile{Width: 100}
	for depth, list := range runs {
		t.Strips = append(t.Strips, index.Strip{Depth: depth, Kind: index.SpanStrip, First: len(t.X), Count: len(list)})
		for _, r := range list {
			t.X, t.N = append(t.X, uint16(r[0])), append(t.N, uint16(r[1]))
			t.Flags = append(t.Flags, index.Single|index.Begins|index.Ends)
		}
	}
	return t
}

// TestDepthAt has the same cases as the test of the same function of the viewer's page in web.
func TestDepthAt(t *testing.T) {
	nested := tileOf([][2]int{{0, 50}, {60, 30}}, [][2]int{{10, 20}, {61, 1}})
	lanes := tileOf([][2]int{{0, 30}}, [][2]int{{10, 30}}, [][2]int{{20, 30}})
	for _, x := range []struct {
		name         string
		tile         *index.Tile
		column       float64
		nested, ends bool
		want         int
	}{
		{"innermost", nested, 25.5, true, false, 1},
		{"where the inner one ends", nested, 30, true, true, 1},
		{"where the inner one has ended", nested, 30, true, false, 0},
		{"outer alone", nested, 40, true, false, 0},
		{"a column wide", nested, 61.9, true, false, 1},
		{"between spans", nested, 55, true, false, -1},
		{"after all", nested, 120, true, true, -1},
		{"where a claim ends", lanes, 29.9, false, true, 0},
		{"where a claim begins", lanes, 20.1, false, false, 2},
		{"several hold it", lanes, 25, false, false, -1},
		{"one holds it", lanes, 45, false, false, 2},
	} {
		if got := DepthAt(x.tile, x.tile.Strips, x.column, x.nested, x.ends); got != x.want {
			t.Errorf("%s: found %d, expected %d", x.name, got, x.want)
		}
	}
}
