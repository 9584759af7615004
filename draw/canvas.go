package draw

// point is a position in the picture, in pixels from the upper left corner.
type point struct{ x, y float64 }

// box is a rectangle; x and y are its upper left corner.
type box struct{ x, y, w, h float64 }

// anchor determines the point of a text to which its position refers.
type anchor uint8

const (
	atStart anchor = iota
	atMiddle
	atEnd
)

// label is a text with its position and style.
type label struct {
	x, y   float64 // position of the beginning, middle or end of the base line, depending on anchor
	s      string
	full   string // the complete text if s was shortened; shown as a tooltip
	size   float64
	bold   bool
	anchor anchor
	color  rgb
}

func (l *label) face() *face {
	if l.bold {
		return bold
	}
	return regular
}

// left returns the left edge of the text.
func (l *label) left() float64 {
	w := l.face().measure(l.s, l.size)
	return l.x - w*float64(l.anchor)/2
}

// canvas is a surface on which a picture is drawn. Later shapes cover earlier ones.
type canvas interface {
	// boxes fills rectangles. title becomes their tooltip, if the format of the canvas has
	// tooltips.
	boxes(c rgb, alpha float64, title string, b ...box)
	// polygons fills the insides of closed outlines.
	polygons(c rgb, alpha float64, outlines ...[]point)
	// lines draws polylines of the given width in pixels.
	lines(c rgb, alpha, width float64, strokes ...[]point)
	text(l label)
}
