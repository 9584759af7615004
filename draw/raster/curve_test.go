package raster

import (
	"testing"

	"github.com/weft-trace/weft/timeline/index"
)

// TestConstantCurve checks that a curve of equal values is drawn at the upper edge, where the label shows the
// value. One of the values is 0.7, which is rounded in a tile.
func TestConstantCurve(t *testing.T) {
	for _, v := range []float64{3, 0, -2, 0.7, 1e300} {
		f := float32(v)
		tile := &index.Tile{CurveX: []uint16{0, 1}, Min: []float32{f, f}, Max: []float32{f, f}, First: []float32{f, f},
			Last: []float32{f, f}}
		for b := range CurveBoxes(20, tile, index.Strip{Kind: index.CurveStrip, Count: 2}, v, v, &Colors{}) {
			if b.Y != 0 || b.H != 1 {
				t.Errorf("%g: found %+v, expected a box at the upper edge", v, b)
			}
		}
	}
}
