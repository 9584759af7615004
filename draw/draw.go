// Package draw makes pictures of the time line of an index ([Sheet]): PNG and SVG, the same in
// both, and the same as on the viewer's page. The same index and options give the same bytes.
package draw

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/weft-trace/weft/format"
)

// Options say how a picture looks. The zero Options give 1280 pixels, light.
type Options struct {
	// Width of the picture in pixels; 0 means 1280. Its height follows from the rows.
	Width int
	// Title stands above the picture; "Timeline" if it is empty.
	Title string
	// Dark draws light text on dark paper.
	Dark bool
	// Scale is the number of pixels of a PNG that are drawn for one, for screens
	// and print with high resolution; 0 means 1. SVG needs none.
	Scale int
}

// width is that of the picture, if the options make sense.
func (o *Options) width() (int, error) {
	w := cmp.Or(o.Width, DefaultWidth)
	if least := gutter + margin + minPlot; w < least || w > 1<<15 {
		return 0, &format.OptionError{Option: "width", Value: strconv.Itoa(w), Expected: fmt.Sprintf("%d to %d pixels", least, 1<<15)}
	}
	if o.Scale < 0 || o.Scale > 8 {
		return 0, &format.OptionError{Option: "scale", Value: strconv.Itoa(o.Scale), Expected: "1 to 8"}
	}
	return w, nil
}

// DefaultWidth is the width of a picture unless Options say otherwise.
const DefaultWidth = 1280

// The horizontal parts of a picture, in pixels.
const (
	margin  = 16
	gutter  = 200 // left of the plot: labels, and a margin
	minPlot = 64
)

// Columns is the width of the plot, in pixels, of a picture of the given width
// (0 means the default).
func Columns(width int) int {
	if width == 0 {
		width = DefaultWidth
	}
	return max(width-gutter-margin, minPlot)
}
