package draw

import (
	"strings"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// face is one of the Go fonts. Texts are measured and drawn without hinting. Their width is
// therefore proportional to their size, and the same in SVG and PNG.
type face struct {
	font   *sfnt.Font
	mu     sync.Mutex // guards the fields below
	buf    sfnt.Buffer
	widths map[rune]float64 // widths of characters at size 1
}

var regular, bold = newFace(goregular.TTF), newFace(gobold.TTF)

func newFace(ttf []byte) *face {
	f, err := sfnt.Parse(ttf)
	if err != nil {
		panic(err) // the fonts are part of the program, so this is a programming error
	}
	return &face{font: f, widths: map[rune]float64{}}
}

// outlineSize is the size at which outlines are loaded. It is large enough for drawing at any scale.
const outlineSize = 1024

// advance returns the width of a character at size 1. The width of a character that the font lacks is 1, like
// the width of ideographs.
func (f *face) advance(r rune) float64 {
	w, ok := f.widths[r]
	if !ok {
		w = 1
		if g, err := f.font.GlyphIndex(&f.buf, r); err == nil && g != 0 {
			if a, err := f.font.GlyphAdvance(&f.buf, g, fixed.I(outlineSize), font.HintingNone); err == nil {
				w = float64(a) / 64 / outlineSize
			}
		}
		f.widths[r] = w
	}
	return w
}

// measure returns the width of a text at a size, in pixels.
func (f *face) measure(s string, size float64) float64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := 0.0
	for _, r := range s {
		w += f.advance(r)
	}
	return w * size
}

// fit shortens a text with an ellipsis so that it is at most width wide. It returns "" if not even
// one letter fits.
func (f *face) fit(s string, size, width float64) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, s)
	if f.measure(s, size) <= width {
		return s
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	w, end := f.advance('…'), 0
	for i, r := range s {
		if w += f.advance(r); w*size > width {
			break
		}
		end = i + len(string(r))
	}
	if end == 0 {
		return ""
	}
	return strings.TrimRight(s[:end], " ") + "…"
}

// draw adds the outlines of a text to z. Its base line begins at (x, y).
func (f *face) draw(z *vector.Rasterizer, s string, size, x, y float64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := size / outlineSize / 64
	for _, r := range s {
		at := func(p fixed.Point26_6) (float32, float32) {
			return float32(x + float64(p.X)*k), float32(y + float64(p.Y)*k)
		}
		g, err := f.font.GlyphIndex(&f.buf, r)
		if err != nil {
			continue
		}
		outline, err := f.font.LoadGlyph(&f.buf, g, fixed.I(outlineSize), nil)
		if err != nil {
			continue
		}
		for i, o := range outline {
			ax, ay := at(o.Args[0])
			bx, by := at(o.Args[1])
			switch o.Op {
			case sfnt.SegmentOpMoveTo:
				if i > 0 {
					z.ClosePath()
				}
				z.MoveTo(ax, ay)
			case sfnt.SegmentOpLineTo:
				z.LineTo(ax, ay)
			case sfnt.SegmentOpQuadTo:
				z.QuadTo(ax, ay, bx, by)
			case sfnt.SegmentOpCubeTo:
				cx, cy := at(o.Args[2])
				z.CubeTo(ax, ay, bx, by, cx, cy)
			}
		}
		z.ClosePath()
		x += f.advance(r) * size
	}
}
