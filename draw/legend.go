package draw

// legendEntry is a name in the legend with its colour.
type legendEntry struct {
	x, y  float64
	kind  byte // shape of the sample: b for a box, a for an arrow
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

// These are the font sizes of texts, in pixels.
const (
	titleSize = 17
	textSize  = 12
	smallSize = 10.5
)

// placeLegend positions the entries of a legend in lines below the position y. No line exceeds the right edge.
// It returns the position of the lower end of the last line.
func placeLegend(legend []legendEntry, right, y float64) float64 {
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

func drawLegend(c canvas, t *theme, legend []legendEntry) {
	for _, e := range legend {
		base := e.y + 12
		if e.kind == 'a' {
			l := []point{{e.x, e.y + 12}, {e.x + 13, e.y + 4}}
			c.lines(e.color, 0.85, 1.4, l)
			c.polygons(e.color, 0.85, arrowHead(l, 7))
		} else {
			c.boxes(e.color, 1, "", box{e.x, e.y + 2, 12, 12})
		}
		c.text(label{x: e.x + 18, y: base, s: e.name, full: e.full, size: textSize, color: t.text})
		if e.more != "" {
			c.text(label{x: e.x + 23 + regular.measure(e.name, textSize), y: base, s: e.more, full: e.more, size: smallSize,
				color: t.dim})
		}
	}
}

// drawNotes draws notes below each other.
func drawNotes(c canvas, t *theme, notes []string, y, width float64) {
	for i, n := range notes {
		s := regular.fit(n, smallSize, width)
		c.text(label{x: gutter, y: y + noteLine*float64(i) + 11, s: s, full: n, size: smallSize, color: t.dim})
	}
}
