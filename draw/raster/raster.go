// Package raster draws the strips of a tile as pixels. It is the twin of web/src/raster.ts:
// both use integers alone, so that a picture made here has the same pixels as the page.
//
// A run is drawn in the colour of its region, opaque if it is one span, else the fainter the
// less of it is covered. A span of four columns and more leaves its last one out, a seam to
// the next. Claims are as high as the part of the capacity that they hold.
package raster

import (
	"image"
	"image/color"
	"math"

	"github.com/weft-trace/weft/timeline/index"
	"github.com/weft-trace/weft/trace"
)

// Colors are what strips are drawn with.
type Colors struct {
	Region func(region uint32) color.RGBA // of a region of the index
	Other  color.RGBA                     // of runs that have no region
	Mark   color.RGBA                     // of instants
	Curve  color.RGBA
}

// over lays f on b, a 255ths of it.
func over(f, b color.RGBA, a int) color.RGBA {
	mix := func(f, b uint8) uint8 { return uint8((int(f)*a + int(b)*(255-a) + 127) / 255) }
	return color.RGBA{mix(f.R, b.R), mix(f.G, b.G), mix(f.B, b.B), 255}
}

// markAlpha is how strongly instants are drawn.
const markAlpha = 200

// Spans draws a strip of spans in the rectangle of the tile's width whose upper left corner
// is x0, y0 and whose height is h, on a background of one colour.
func Spans(img *image.RGBA, x0, y0, h int, t *index.Tile, s index.Strip, back color.RGBA, c *Colors) {
	for k := s.First; k < s.First+s.Count; k++ {
		f := c.Other
		if t.Region[k] != trace.NoRef {
			f = c.Region(t.Region[k])
		}
		a, n := 255, int(t.N[k])
		if t.Flags[k]&index.Single == 0 {
			a = 128 + int(t.Cover[k])>>1
		}
		if t.Flags[k]&index.Ends != 0 && n >= 4 {
			n--
		}
		high := max(1, (h*int(t.Height[k])+127)/255)
		fill(img, x0+int(t.X[k]), y0+h-high, n, high, over(f, back, a))
	}
}

// Instants draws a strip of instants over what is there.
func Instants(img *image.RGBA, x0, y0, h int, t *index.Tile, s index.Strip, c *Colors) {
	for k := s.First; k < s.First+s.Count; k++ {
		x := x0 + int(t.X[k])
		for y := y0; y < y0+h; y++ {
			if (image.Point{X: x, Y: y}).In(img.Rect) {
				img.SetRGBA(x, y, over(c.Mark, img.RGBAAt(x, y), markAlpha))
			}
		}
	}
}

// Curve draws a strip of a curve between two values; low and high are those at the lower and
// upper edge. Amounts are filled from the lower edge.
func Curve(img *image.RGBA, x0, y0, h int, t *index.Tile, s index.Strip, low, high float64, c *Colors) {
	if low == high {
		high = low + 1
	}
	row := func(v float32) int {
		return y0 + h - 1 - int(math.Floor((float64(v)-low)/(high-low)*float64(h-1)+0.5))
	}
	for k := s.First; k < s.First+s.Count; k++ {
		top, bottom := row(t.Max[k]), row(t.Min[k])
		if s.Kind == index.AmountStrip {
			bottom = y0 + h - 1
		} else if k+1 < s.First+s.Count && t.CurveX[k+1] == t.CurveX[k]+1 {
			next := row(t.First[k+1])
			top, bottom = min(top, next), max(bottom, next)
		}
		top, bottom = max(top, y0), min(bottom, y0+h-1)
		fill(img, x0+int(t.CurveX[k]), top, 1, bottom-top+1, c.Curve)
	}
}

func fill(img *image.RGBA, x, y, w, h int, c color.RGBA) {
	r := image.Rect(x, y, x+w, y+h).Intersect(img.Rect)
	for y := r.Min.Y; y < r.Max.Y; y++ {
		line := img.Pix[img.PixOffset(r.Min.X, y):img.PixOffset(r.Max.X, y)]
		for ; len(line) >= 4; line = line[4:] {
			line[0], line[1], line[2], line[3] = c.R, c.G, c.B, c.A
		}
	}
}
