// Package draw makes pictures of timeline views, and of indexes ([Sheet]): PNG and SVG,
// the same in both. Pictures are deterministic: the same view, or index, and options give
// the same bytes.
package draw

import (
	"cmp"
	"fmt"
	"io"
	"strconv"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/timeline"
)

// Options say how a picture looks. The zero Options give 1280 pixels, light.
type Options struct {
	// Width of the picture in pixels; 0 means 1280. Its height follows from the
	// rows. A view made with Options.Width = [Columns] of the picture's width
	// has one pixel a column.
	Width int
	// Title stands above the picture; the trace's own name if it is empty.
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
// (0 means the default): the best timeline.Options.Width for it.
func Columns(width int) int {
	if width == 0 {
		width = DefaultWidth
	}
	return max(width-gutter-margin, minPlot)
}

// SVG writes the view as an SVG document that refers to nothing outside of
// itself. Errors are those of w, and of options that make no sense.
func SVG(w io.Writer, v *timeline.View, opt Options) error {
	p, err := newPicture(v, opt)
	if err != nil {
		return err
	}
	s := newSVGCanvas(p.width, p.height, p.title)
	p.draw(s)
	return s.writeTo(w)
}

// PNG writes the view as a PNG image. Errors are those of w, of options that
// make no sense, and of a picture too large for memory.
func PNG(w io.Writer, v *timeline.View, opt Options) error {
	p, err := newPicture(v, opt)
	if err != nil {
		return err
	}
	c, err := newPNGCanvas(p.width, p.height, max(opt.Scale, 1))
	if err != nil {
		return err
	}
	p.draw(c)
	return c.writeTo(w)
}
