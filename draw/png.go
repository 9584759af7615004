package draw

import (
	"bufio"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"math"

	"golang.org/x/image/vector"

	"github.com/weft-trace/weft/format"
)

// pngCanvas is a canvas for a PNG image. A pixel of the picture is scale pixels of the image wide
// and high.
type pngCanvas struct {
	img   *image.RGBA
	scale float64
}

// maxPixels limits the number of pixels of a PNG image in memory. Each pixel takes 4 bytes.
const maxPixels = 1 << 27

func newPNGCanvas(w, h, scale int) (*pngCanvas, error) {
	if w*h > maxPixels/(scale*scale) {
		return nil, &format.OptionError{Option: "width", Value: fmt.Sprintf("%d × %d pixels", w*scale, h*scale),
			Expected: "a smaller picture: fewer rows, less width or scale"}
	}
	return &pngCanvas{image.NewRGBA(image.Rect(0, 0, w*scale, h*scale)), float64(scale)}, nil
}

func (p *pngCanvas) writeTo(w io.Writer) error {
	b := bufio.NewWriter(w)
	if err := png.Encode(b, p.img); err != nil {
		return err
	}
	return b.Flush()
}

func paint(c rgb, alpha float64) *image.Uniform {
	return image.NewUniform(color.NRGBA{c.r, c.g, c.b, uint8(math.Round(255 * min(max(alpha, 0), 1)))})
}

func (p *pngCanvas) boxes(c rgb, alpha float64, _ string, list ...box) {
	src := paint(c, alpha)
	for _, b := range list {
		r := image.Rect(p.px(b.x), p.px(b.y), p.px(b.x+b.w), p.px(b.y+b.h))
		draw.Draw(p.img, r, src, image.Point{}, draw.Over)
	}
}

func (p *pngCanvas) px(x float64) int { return int(math.Round(x * p.scale)) }

func (p *pngCanvas) polygons(c rgb, alpha float64, outlines ...[]point) {
	p.fill(c, alpha, outlines)
}

// lines draws each segment of a polyline as a thin rectangle that overlaps the next one, so that no
// gap appears between them.
func (p *pngCanvas) lines(c rgb, alpha, width float64, strokes ...[]point) {
	var quads [][]point
	for _, s := range strokes {
		for i := 1; i < len(s); i++ {
			a, b := s[i-1], s[i]
			d := math.Hypot(b.x-a.x, b.y-a.y)
			if d == 0 {
				continue
			}
			nx, ny := -(b.y-a.y)/d*width/2, (b.x-a.x)/d*width/2
			if i+1 < len(s) {
				b = point{b.x + (b.x-a.x)/d*width/4, b.y + (b.y-a.y)/d*width/4}
			}
			quads = append(quads, []point{{a.x + nx, a.y + ny}, {b.x + nx, b.y + ny}, {b.x - nx, b.y - ny},
				{a.x - nx, a.y - ny}})
		}
	}
	p.fill(c, alpha, quads)
}

// maxOutline limits the width and height of a filled outline, in pixels of the image.
const maxOutline = 1 << 16

// fill fills all outlines in one pass, so that pixels that are inside of several outlines are coloured only
// once.
func (p *pngCanvas) fill(c rgb, alpha float64, outlines [][]point) {
	lo, hi := point{math.Inf(1), math.Inf(1)}, point{math.Inf(-1), math.Inf(-1)}
	for _, o := range outlines {
		for _, q := range o {
			lo = point{min(lo.x, q.x), min(lo.y, q.y)}
			hi = point{max(hi.x, q.x), max(hi.y, q.y)}
		}
	}
	at := image.Pt(int(math.Floor(lo.x*p.scale)), int(math.Floor(lo.y*p.scale)))
	r := image.Rectangle{at, image.Pt(int(math.Ceil(hi.x*p.scale))+1, int(math.Ceil(hi.y*p.scale))+1)}
	if len(outlines) == 0 || r.Intersect(p.img.Bounds()).Empty() {
		return
	}
	if r.Dx() > maxOutline || r.Dy() > maxOutline {
		return // outlines of real pictures are never this large
	}
	z := vector.NewRasterizer(r.Dx(), r.Dy())
	for _, o := range outlines {
		for i, q := range o {
			x, y := float32(q.x*p.scale-float64(at.X)), float32(q.y*p.scale-float64(at.Y))
			if i == 0 {
				z.MoveTo(x, y)
			} else {
				z.LineTo(x, y)
			}
		}
		z.ClosePath()
	}
	p.fillRaster(z, r, paint(c, alpha))
}

// fillRaster fills the shape that z holds, at r. The rasteriser writes to all pixels of r. Therefore an r that
// exceeds the image needs a mask.
func (p *pngCanvas) fillRaster(z *vector.Rasterizer, r image.Rectangle, src *image.Uniform) {
	if r.In(p.img.Bounds()) {
		z.Draw(p.img, r, src, image.Point{})
		return
	}
	mask := image.NewAlpha(image.Rectangle{Max: r.Size()})
	z.Draw(mask, mask.Bounds(), image.Opaque, image.Point{})
	draw.DrawMask(p.img, r, src, image.Point{}, mask, image.Point{}, draw.Over)
}

func (p *pngCanvas) text(l label) {
	if l.s == "" {
		return
	}
	f, size := l.face(), l.size*p.scale
	x, y := l.left()*p.scale, l.y*p.scale
	r := image.Rect(int(x)-2, int(y-size)-2, int(x+f.measure(l.s, size))+4, int(y+size/2)+2)
	z := vector.NewRasterizer(r.Dx(), r.Dy())
	f.draw(z, l.s, size, x-float64(r.Min.X), y-float64(r.Min.Y))
	p.fillRaster(z, r, paint(l.color, 1))
}
