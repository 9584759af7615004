// Package draw draws the time line of an index as PNG and SVG ([Sheet]). The pictures look like the viewer's
// page. The same index and options always result in the same bytes.
package draw

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/weft-trace/weft/format"
)

// Options holds the settings of a picture. The zero value gives a picture of 1280 pixels on light
// paper.
type Options struct {
	// Width is the width of the picture in pixels, from LeastWidth to MostWidth; 0 means DefaultWidth. The height
	// follows from the rows. Width times Scale is limited, too: a plot has at most [index.MaxWidth] columns.
	Width int
	// Title is the text above the picture; empty means "Timeline".
	Title string
	// Dark draws light text on dark paper.
	Dark bool
	// Scale is the width and height in PNG pixels of one pixel of the picture, for screens and
	// print with a high resolution, up to MostScale; 0 means 1. It has no effect on the pixels of SVG.
	Scale int
}

// width returns the width of the picture, or an error if the options are out of range.
func (o *Options) width() (int, error) {
	w := cmp.Or(o.Width, DefaultWidth)
	if w < LeastWidth || w > MostWidth {
		return 0, &format.OptionError{Option: "width", Value: strconv.Itoa(w),
			Expected: fmt.Sprintf("%d to %d pixels", LeastWidth, MostWidth)}
	}
	if o.Scale < 0 || o.Scale > MostScale {
		return 0, &format.OptionError{Option: "scale", Value: strconv.Itoa(o.Scale), Expected: fmt.Sprintf("1 to %d",
			MostScale)}
	}
	return w, nil
}

// The default width of a picture, and the limits of its width and scale.
const (
	DefaultWidth = 1280
	LeastWidth   = gutter + margin + minPlot
	MostWidth    = 1 << 15
	MostScale    = 8
)

// The widths of the horizontal parts of a picture, in pixels.
const (
	margin  = 16
	gutter  = 200 // width of the labels to the left of the plot, including a margin
	minPlot = 64
)

// Columns returns the width of the plot in a picture of the given width, both in pixels. A width of
// 0 means DefaultWidth.
func Columns(width int) int {
	if width == 0 {
		width = DefaultWidth
	}
	return max(width-gutter-margin, minPlot)
}
