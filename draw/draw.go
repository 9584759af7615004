// Package draw makes pictures of timeline views: PNG and SVG, the same in both.
// Pictures are deterministic: the same view and options give the same bytes.
package draw

import (
	"bufio"
	"fmt"
	"image/png"
	"io"

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

// maxPixels bounds the size of a PNG in memory (4 bytes each).
const maxPixels = 1 << 27

// SVG writes the view as an SVG document that refers to nothing outside of
// itself. Errors are those of w, and of options that make no sense.
func SVG(w io.Writer, v *timeline.View, opt Options) error {
	p, err := newPicture(v, opt)
	if err != nil {
		return err
	}
	s := &svgCanvas{}
	fmt.Fprintf(&s.b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="Go,Helvetica,Arial,sans-serif">`+"\n",
		p.width, p.height, p.width, p.height)
	s.title(p.title)
	s.b.WriteByte('\n')
	p.draw(s)
	s.b.WriteString("</svg>\n")
	_, err = w.Write(s.b.Bytes())
	return err
}

// PNG writes the view as a PNG image. Errors are those of w, of options that
// make no sense, and of a picture too large for memory.
func PNG(w io.Writer, v *timeline.View, opt Options) error {
	p, err := newPicture(v, opt)
	if err != nil {
		return err
	}
	scale := max(opt.Scale, 1)
	if p.width*p.height > maxPixels/(scale*scale) {
		return &format.OptionError{Option: "width", Value: fmt.Sprintf("%d × %d pixels", p.width*scale, p.height*scale), Expected: "a smaller picture: fewer rows, less width or scale"}
	}
	c := newPNGCanvas(p.width, p.height, scale)
	p.draw(c)
	b := bufio.NewWriter(w)
	if err := png.Encode(b, c.img); err != nil {
		return err
	}
	return b.Flush()
}
