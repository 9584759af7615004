package draw

import (
	"math"
	"strings"

	"github.com/weft-trace/weft/draw/raster"
	"github.com/weft-trace/weft/timeline/index"
)

// drawNames writes the names of regions into the spans that are large enough.
func (l *sheet) drawNames(c canvas, t *index.Tile, scale int) {
	pixels := float64(scale)
	// write draws the name of a region into a box. The position of the box is in pixels of the tile, from the
	// plot's left edge.
	write := func(region uint32, x, y, w, h int, size float64) {
		full := l.Index.Region(region)
		name := regular.fit(full, size, float64(w)/pixels-8)
		if name != full && len([]rune(name)) < 4 {
			return
		}
		c.text(label{x: l.plot.x + float64(x)/pixels + 4, y: (float64(y)+float64(h)/2)/pixels + size*0.36, s: name,
			full: full, size: size, color: l.regions[region].ink()})
	}
	named := func(k int) bool { return t.Flags[k]&index.Single != 0 && int(t.Region[k]) < len(l.regions) }
	for r, strips := range l.strips(t) {
		for _, s := range strips.single {
			y, h := l.rect(r, s, scale)
			height := float64(h) / pixels
			if s.Kind != index.SpanStrip || height < 11 {
				continue
			}
			for k := s.First; k < s.First+s.Count; k++ {
				if w := int(t.N[k]); named(k) && w >= 24*scale && t.Height[k] == math.MaxUint8 {
					write(t.Region[k], int(t.X[k]), y, w, h, min(11, height-2))
				}
			}
		}
		if len(strips.lanes) == 0 || l.strip < minNamedStrip {
			continue
		}
		y, h := l.rect(r, strips.lanes[0], scale)
		for _, p := range claimPieces(raster.StackBoxes(h, t, strips.lanes, 0, t.Width, scale, &l.colors)) {
			if p.W >= 26*scale && p.H >= 9*scale && named(p.Run) {
				write(t.Region[p.Run], p.X, y+p.Y, p.W, p.H, min(11, max(8.5, float64(l.strip-3))))
			}
		}
	}
}

// nameMarks writes the names of instants in rows without spans. A name is drawn to the right of its instant if
// it fits there before the next instant. The name of the last instant is drawn to the left of the instant if
// only the left side has room.
func (l *sheet) nameMarks(c canvas) error {
	if l.strip < minMarkedStrip {
		return nil
	}
	right := l.plot.x + l.plot.w
	for i := range l.rows {
		r := &l.rows[i]
		if t := &l.all[r.track]; t.Instants == 0 || r.strips > 0 {
			continue
		}
		var list []index.Instant
		err := l.Index.EachInstant(r.track, l.from, l.to, func(n index.Instant) {
			if len(list) <= maxNamedMarks {
				list = append(list, n)
			}
		})
		if err != nil {
			return err
		}
		if len(list) > maxNamedMarks {
			continue
		}
		x := func(k int) float64 { return l.xOf(list[k].Time) }
		y := float64(r.y) + float64(r.h)/2 + smallSize*0.36
		before := l.plot.x // end of the previous text
		for k, n := range list {
			next := right
			if k+1 < len(list) {
				next = x(k+1) - 6
			}
			full := strings.TrimSpace(n.Name)
			m := label{x: x(k) + 5, y: y, s: full, full: full, size: smallSize, color: l.t.text}
			if w := regular.measure(full, smallSize); m.x+w > next {
				if k+1 == len(list) && x(k)-5-w > before {
					m.x, m.anchor = x(k)-5, atEnd
				} else if m.s = regular.fit(full, smallSize, next-m.x); len([]rune(m.s)) < 4 {
					m.s = ""
				}
			}
			if m.s != "" {
				c.text(m)
				before = m.x + regular.measure(m.s, smallSize)
			}
		}
	}
	return nil
}

// minMarkedStrip is the smallest height of strips, in pixels, for which names of instants are drawn.
// maxNamedMarks is the largest number of instants in a row for which names are drawn.
const (
	minMarkedStrip = 12
	maxNamedMarks  = 256
)

// minNamedStrip is the smallest height of strips, in pixels, for which names are drawn in stacked
// claims.
const minNamedStrip = 9
