package draw

import "math"

// entry is a part of the legend.
type entry struct {
	x, y  float64
	kind  byte // b: box, a: arrow
	color rgb
	name  string
	full  string
	more  string
}

// The heights of a picture's parts.
const (
	titleHeight = 34
	axisHeight  = 26
	headHeight  = 18
	legendLine  = 20
	noteLine    = 16
)

// Sizes of texts.
const (
	titleSize = 17
	textSize  = 12
	smallSize = 10.5
)

// place puts the entries of a legend line by line, up to a right edge.
func place(legend []entry, right, y float64) float64 {
	x := float64(gutter)
	for i := range legend {
		e := &legend[i]
		w := 18 + regular.measure(e.name, textSize) + 18
		if e.more != "" {
			w += 5 + regular.measure(e.more, smallSize)
		}
		if x > gutter && x+w-18 > right {
			x = gutter
			y += legendLine
		}
		e.x, e.y = x, y
		x += w
	}
	if len(legend) > 0 {
		y += legendLine
	}
	return y
}

// disc is a circle with enough corners for its size.
func disc(x, y, r float64) []point {
	var out []point
	for i := range 12 {
		s, c := math.Sincos(float64(i) * math.Pi / 6)
		out = append(out, point{x + r*c, y + r*s})
	}
	return out
}

// many is the number of arrows from which on they are drawn thinner.
const many = 200

// arc leads from s to d over their heads.
func arc(s, d point, h float64) []point {
	var out []point
	for i := range 17 {
		u := float64(i) / 16
		out = append(out, point{s.x + (d.x-s.x)*u, s.y + (d.y-s.y)*u - 4*h*u*(1-u)})
	}
	return out
}

// head is the tip of an arrow.
func head(s []point, size float64) []point {
	tip, from := s[len(s)-1], s[0]
	for i := len(s) - 2; i >= 0; i-- {
		if from = s[i]; math.Hypot(tip.x-from.x, tip.y-from.y) > 2 {
			break
		}
	}
	d := math.Hypot(tip.x-from.x, tip.y-from.y)
	if d == 0 {
		return disc(tip.x, tip.y, 2)
	}
	ux, uy := (tip.x-from.x)/d, (tip.y-from.y)/d
	bx, by := tip.x-ux*size, tip.y-uy*size
	return []point{tip, {bx - uy*size*0.42, by + ux*size*0.42}, {bx + uy*size*0.42, by - ux*size*0.42}}
}

// cut keeps the part of a stroke that lies between the sides of a plot; whole tells
// whether its end does.
func (b box) cut(s []point) (out []point, whole bool) {
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

func drawLegend(c canvas, t *theme, legend []entry) {
	for _, e := range legend {
		base := e.y + 12
		if e.kind == 'a' {
			l := []point{{e.x, e.y + 12}, {e.x + 13, e.y + 4}}
			c.lines(e.color, 0.85, 1.4, l)
			c.polygons(e.color, 0.85, head(l, 7))
		} else {
			c.boxes(e.color, 1, "", box{e.x, e.y + 2, 12, 12})
		}
		c.text(label{x: e.x + 18, y: base, s: e.name, full: e.full, size: textSize, color: t.text})
		if e.more != "" {
			c.text(label{x: e.x + 23 + regular.measure(e.name, textSize), y: base, s: e.more, full: e.more, size: smallSize, color: t.dim})
		}
	}
}

// drawNotes writes remarks below each other.
func drawNotes(c canvas, t *theme, notes []string, y, width float64) {
	for i, n := range notes {
		s := regular.fit(n, smallSize, width)
		c.text(label{x: gutter, y: y + noteLine*float64(i) + 11, s: s, full: n, size: smallSize, color: t.dim})
	}
}
