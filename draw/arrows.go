package draw

import (
	"iter"
	"maps"
	"math"
	"slices"

	"github.com/weft-trace/weft/draw/raster"
	"github.com/weft-trace/weft/timeline/index"
)

// claimPieces joins adjacent boxes of the same claim that have the same height and vertical
// position, and returns the joined boxes.
func claimPieces(boxes iter.Seq[raster.Box]) []raster.Box {
	var out []raster.Box
	last := map[int]int{} // index in out of the last box of each run
	for b := range boxes {
		if i, ok := last[b.Run]; ok {
			if p := &out[i]; p.Y == b.Y && p.H == b.H && p.X+p.W == b.X {
				p.W += b.W
				continue
			}
		}
		last[b.Run] = len(out)
		out = append(out, b)
	}
	return out
}

// minSlant is the smallest horizontal extent of a slanted bundle, as a share of the plot's width. The links of
// a bundle begin within about half of this extent. In a shorter bundle, a slant would therefore not show the
// times of single links.
const minSlant = 1.0 / 32

// drawArrows draws each link from the span that contains its begin to the span that contains its
// end, in the same way as the viewer's page. A bundle is a thicker line between the middles of two
// rows.
func (l *sheet) drawArrows(c canvas, t *index.Tile, scale int) {
	row := map[int]*sheetRow{}
	for i := range l.rows {
		row[l.rows[i].track] = &l.rows[i]
	}
	height := l.linkEnds(t, scale)
	strokes, heads := map[float64][][]point{}, map[float64][][]point{}
	var all [][]point
	for _, a := range l.arrows {
		src, dst := row[a.Source], row[a.Destination]
		s, d := point{l.xOf(a.Start), src.middle()}, point{l.xOf(a.End), dst.middle()}
		switch {
		case a.Count > 1:
			if math.Abs(d.x-s.x) < l.plot.w*minSlant {
				s.x = (s.x + d.x) / 2
				d.x = s.x
			}
		default:
			leaves := s.x
			if a.Kind == index.Dependency && a.Start > l.origin {
				leaves = l.xOf(a.Start - 1) // the next span may begin at the end of this span
			}
			// A message arrives at the span that ends with its receive, and a dependency leaves
			// the claim that ends there.
			s.y, d.y = height(src, leaves, a.Kind == index.Dependency), height(dst, d.x, a.Kind == index.Message)
		}
		stroke := []point{s, d}
		if src == dst && math.Abs(s.x-d.x) > 6 {
			stroke = arc(s, d, min(float64(src.h)*0.4, 16))
		}
		stroke, whole := l.plot.clip(stroke)
		if len(stroke) < 2 {
			continue
		}
		w := 1.2
		if a.Count > 1 {
			w = min(6, math.Round(2+2*math.Log10(float64(a.Count)))/2+0.5)
		}
		strokes[w] = append(strokes[w], stroke)
		all = append(all, stroke)
		if whole {
			heads[w] = append(heads[w], arrowHead(stroke, 6+w))
		}
	}
	alpha := 0.85
	switch n := len(all); {
	case n > 3*maxOpaqueArrows:
		alpha = 0.3
	case n > maxOpaqueArrows:
		alpha = 0.45
	default:
		c.lines(l.t.paper, 0.7, 3.2, all...)
	}
	for _, w := range slices.Sorted(maps.Keys(strokes)) {
		c.lines(l.t.arrow, alpha, w, strokes[w]...)
		c.polygons(l.t.arrow, alpha, heads[w]...)
	}
}

// linkEnds returns a function that finds the vertical position of one end of a link in row r, at the
// horizontal position x. ends is set if this end of the link lies at the end of a span. The position is in the
// strip of the span to which the link belongs. If the tile does not determine this span, the position is in
// the middle of the row.
func (l *sheet) linkEnds(t *index.Tile, scale int) func(r *sheetRow, x float64, ends bool) float64 {
	strips, stacks := map[*sheetRow]rowStrips{}, map[*sheetRow][]raster.Box{}
	for r, parts := range l.strips(t) {
		strips[r] = parts
	}
	return func(r *sheetRow, x float64, ends bool) float64 {
		parts, column := strips[r], (x-l.plot.x)*float64(scale)
		list := parts.single
		if r.stacked {
			list = parts.lanes
		}
		depth := raster.DepthAt(t, list, column, l.all[r.track].Kind != index.ResourceTrack, ends)
		switch {
		case depth < 0:
			return r.middle()
		case !r.stacked:
			return float64(r.y+l.pad()) + (float64(depth)+0.5)*float64(l.strip)
		}
		y, h := l.rect(r, parts.lanes[0], scale)
		if stacks[r] == nil {
			stacks[r] = claimPieces(raster.StackBoxes(h, t, parts.lanes, 0, t.Width, scale, &l.colors))
		}
		for _, p := range stacks[r] {
			holds := func(s index.Strip) bool { return s.First <= p.Run && p.Run < s.First+s.Count }
			lane := slices.IndexFunc(parts.lanes, holds)
			if right := float64(p.X + p.W); parts.lanes[lane].Depth != depth || ends && right < column-1 ||
				!ends && right <= column+1 {
				continue
			}
			if float64(p.X) <= column+1 {
				return (float64(y+p.Y) + float64(p.H)/2) / float64(scale)
			}
			break
		}
		return r.middle()
	}
}

// circle returns a polygon with enough corners to look like a circle.
func circle(x, y, r float64) []point {
	var out []point
	for i := range 12 {
		s, c := math.Sincos(float64(i) * math.Pi / 6)
		out = append(out, point{x + r*c, y + r*s})
	}
	return out
}

// maxOpaqueArrows is the number of arrows above which all arrows are drawn more transparently.
const maxOpaqueArrows = 200

// arc returns a curve from s to d as a polyline. The middle of the curve is h above the straight line from s
// to d.
func arc(s, d point, h float64) []point {
	var out []point
	for i := range 17 {
		u := float64(i) / 16
		out = append(out, point{s.x + (d.x-s.x)*u, s.y + (d.y-s.y)*u - 4*h*u*(1-u)})
	}
	return out
}

// arrowHead returns the triangle at the end of the stroke s.
func arrowHead(s []point, size float64) []point {
	tip, from := s[len(s)-1], s[0]
	for i := len(s) - 2; i >= 0; i-- {
		if from = s[i]; math.Hypot(tip.x-from.x, tip.y-from.y) > 2 {
			break
		}
	}
	d := math.Hypot(tip.x-from.x, tip.y-from.y)
	if d == 0 {
		return circle(tip.x, tip.y, 2)
	}
	ux, uy := (tip.x-from.x)/d, (tip.y-from.y)/d
	bx, by := tip.x-ux*size, tip.y-uy*size
	return []point{tip, {bx - uy*size*0.42, by + ux*size*0.42}, {bx + uy*size*0.42, by - ux*size*0.42}}
}

// clip returns the part of a stroke between the left and right sides of the plot. whole reports whether this
// part includes the end of the stroke.
func (b box) clip(s []point) (out []point, whole bool) {
	lo, hi := b.x-0.5, b.x+b.w+0.5
	for i := 1; i < len(s); i++ {
		a, b := s[i-1], s[i]
		if max(a.x, b.x) < lo || min(a.x, b.x) > hi {
			continue
		}
		at := func(x float64) point { return point{x, a.y + (b.y-a.y)*(x-a.x)/(b.x-a.x)} }
		from, to := a, b
		for _, q := range []*point{&from, &to} {
			if q.x < lo {
				*q = at(lo)
			} else if q.x > hi {
				*q = at(hi)
			}
		}
		if len(out) == 0 {
			out = append(out, from)
		}
		out = append(out, to)
	}
	end := s[len(s)-1]
	return out, end.x >= lo && end.x <= hi
}
