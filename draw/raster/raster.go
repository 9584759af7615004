// Package raster draws the strips of a tile as pixels. It is the counterpart of web/src/raster.ts. Both round
// to whole pixels in the same way, so that a PNG picture has the same pixels as the viewer's page.
//
// A run is drawn in the colour of its region. A run of a single span is opaque. Other runs are more
// transparent if spans cover less of their time. A span of four columns or more leaves its last column empty,
// which separates it from the next span. The height of a claim is its share of the resource's capacity.
package raster

import (
	"image"
	"image/color"
	"iter"
	"math"
	"sort"

	"github.com/weft-trace/weft/timeline/index"
	"github.com/weft-trace/weft/trace"
)

// Colors holds the colours of strips.
type Colors struct {
	Region func(region uint32) color.RGBA // colour of a region of the index
	Other  color.RGBA                     // colour of runs without a region
	Mark   color.RGBA                     // colour of instants
	Curve  color.RGBA
}

// Blend returns the colour f drawn over b with an opacity of a 255ths.
func Blend(f, b color.RGBA, a int) color.RGBA {
	mix := func(f, b uint8) uint8 { return uint8((int(f)*a + int(b)*(255-a) + 127) / 255) }
	return color.RGBA{mix(f.R, b.R), mix(f.G, b.G), mix(f.B, b.B), 255}
}

// MarkAlpha is the opacity of instants, in 255ths.
const MarkAlpha = 200

// Box is a rectangle of pixels of one colour. X and Y count from the upper left corner of the
// strip.
type Box struct {
	X, Y, W, H int
	Color      color.RGBA
	Run        int // number of the run or cell that the box shows
}

// LeastClaim is the smallest height at which a claim is drawn, in pixels of a picture of scale 1,
// so that it stays visible.
const LeastClaim = 3

// SpanBoxes returns the boxes of a strip of spans from left to right. The strip has the height h and a
// background of the colour back. The height of a claim, as a share of h, is its share of the resource's
// capacity. The parameter least is the smallest height of a claim, in pixels.
func SpanBoxes(h, least int, t *index.Tile, s index.Strip, back color.RGBA, c *Colors) iter.Seq[Box] {
	return func(yield func(Box) bool) {
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
			high := min(h, max(least, (h*int(t.Height[k])+127)/255))
			if !yield(Box{int(t.X[k]), h - high, n, high, Blend(f, back, a), k}) {
				return
			}
		}
	}
}

// InstantBoxes returns the boxes of a strip of events without duration. h is the height of the strip in
// pixels. The boxes are blended over the existing pixels with an opacity of [MarkAlpha].
func InstantBoxes(h int, t *index.Tile, s index.Strip, c *Colors) iter.Seq[Box] {
	return func(yield func(Box) bool) {
		for k := s.First; k < s.First+s.Count; k++ {
			if !yield(Box{int(t.X[k]), 0, 1, h, c.Mark, k}) {
				return
			}
		}
	}
}

// CurveBoxes returns the boxes of a strip that shows a curve. low is the value at the lower edge, and high the
// value at the upper edge. If both are equal, the curve is drawn at the upper edge. For amounts of a resource,
// the area below the curve is filled.
func CurveBoxes(h int, t *index.Tile, s index.Strip, low, high float64, c *Colors) iter.Seq[Box] {
	row := func(v float32) int {
		if low == high {
			return 0
		}
		up := math.Floor((float64(v)-low)/(high-low)*float64(h-1) + 0.5)
		if !(up > 0) { // this condition is also true for NaN
			return h - 1
		}
		return h - 1 - int(min(up, float64(h-1)))
	}
	return func(yield func(Box) bool) {
		for k := s.First; k < s.First+s.Count; k++ {
			top, bottom := row(t.Max[k]), row(t.Min[k])
			if s.Kind == index.AmountStrip {
				bottom = h - 1
			} else if k+1 < s.First+s.Count && t.CurveX[k+1] == t.CurveX[k]+1 {
				next := row(t.First[k+1])
				top, bottom = min(top, next), max(bottom, next)
			}
			if !yield(Box{int(t.CurveX[k]), top, 1, bottom - top + 1, c.Curve, k}) {
				return
			}
		}
	}
}

// StackBoxes returns the boxes of the lanes of a resource for the columns [from, to). The lanes are stacked in
// a box of height h, the first lane at the bottom. The height of a claim, as a share of h, is its share of the
// capacity. It is at least least pixels. In a column with several claims of a lane, the height is the mean of
// their heights. If claims have offsets, each is at its offset instead of on top of the others. Claims that
// exceed the capacity are cut off at the top. If there is room, a line separates claims on top of each other,
// and an empty column separates claims next to each other.
func StackBoxes(h int, t *index.Tile, lanes []index.Strip, from, to, least int, c *Colors) iter.Seq[Box] {
	return func(yield func(Box) bool) {
		at := make([]int, len(lanes)) // for each lane, the first run that ends after x
		begin := func(k int) int { return int(t.X[k]) }
		end := func(k int) int { return int(t.X[k]) + max(1, int(t.N[k])) }
		for i, s := range lanes {
			at[i] = s.First + sort.Search(s.Count, func(k int) bool { return end(s.First+k) > from })
		}
		for x := from; x < to; {
			next := to // the first column after x at which a lane changes
			for i, s := range lanes {
				for at[i] < s.First+s.Count && end(at[i]) <= x {
					at[i]++
				}
				if at[i] == s.First+s.Count {
					continue
				}
				if b := begin(at[i]); b > x {
					next = min(next, b)
				} else {
					next = min(next, end(at[i]))
				}
			}
			sum, low := 0.0, 0
			for i, s := range lanes {
				k := at[i]
				if k == s.First+s.Count || begin(k) > x {
					continue
				}
				part := float64(t.Height[k])
				if t.Flags[k]&index.Single == 0 {
					part = part * float64(t.Cover[k]) / 255
				}
				if s.Offsets {
					sum = float64(t.Offset[k])
					low = min(h-least, int(math.Floor(float64(h)*sum/255+0.5)))
				}
				sum += part
				high := min(h, max(low+least, int(math.Floor(float64(h)*sum/255+0.5))))
				if high <= low {
					continue
				}
				b := Box{x, h - high, next - x, high - low, c.Other, k}
				if t.Region[k] != trace.NoRef {
					b.Color = c.Region(t.Region[k])
				}
				if b.H >= 4 {
					b.Y, b.H = b.Y+1, b.H-1
				}
				if end(k) == next && end(k)-begin(k) >= 4 && t.Flags[k]&index.Ends != 0 && b.W > 1 {
					b.W--
				}
				if !yield(b) {
					return
				}
				low = high
			}
			x = next
		}
	}
}

// Stack draws the lanes of a resource for the columns [from, to) of the tile, in a box of height h.
// The box of the tile's column 0 has its upper left corner at x0, y0. least is the smallest height of a lane.
func Stack(img *image.RGBA, x0, y0, h int, t *index.Tile, lanes []index.Strip, from, to, least int, c *Colors) {
	for b := range StackBoxes(h, t, lanes, from, to, least, c) {
		fill(img, x0+b.X, y0+b.Y, b.W, b.H, b.Color)
	}
}

// Spans draws a strip of spans of height h on a background of one colour. Its upper left corner is
// at x0, y0, and each column of the tile is one pixel wide.
func Spans(img *image.RGBA, x0, y0, h, least int, t *index.Tile, s index.Strip, back color.RGBA, c *Colors) {
	for b := range SpanBoxes(h, least, t, s, back, c) {
		fill(img, x0+b.X, y0+b.Y, b.W, b.H, b.Color)
	}
}

// Instants draws a strip of instants over the existing pixels of img.
func Instants(img *image.RGBA, x0, y0, h int, t *index.Tile, s index.Strip, c *Colors) {
	for b := range InstantBoxes(h, t, s, c) {
		x := x0 + b.X
		for y := y0; y < y0+h; y++ {
			if (image.Point{X: x, Y: y}).In(img.Rect) {
				img.SetRGBA(x, y, Blend(b.Color, img.RGBAAt(x, y), MarkAlpha))
			}
		}
	}
}

// Curve draws a strip that shows a curve. low and high are the values at its lower and upper edge.
func Curve(img *image.RGBA, x0, y0, h int, t *index.Tile, s index.Strip, low, high float64, c *Colors) {
	for b := range CurveBoxes(h, t, s, low, high, c) {
		fill(img, x0+b.X, y0+b.Y, b.W, b.H, b.Color)
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
