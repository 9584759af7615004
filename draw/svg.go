package draw

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
)

// svgCanvas is a canvas that writes SVG elements.
type svgCanvas struct{ b bytes.Buffer }

func newSVGCanvas(w, h int, title string) *svgCanvas {
	s := &svgCanvas{}
	fmt.Fprintf(&s.b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" `+
		`font-family="Go,Helvetica,Arial,sans-serif">`+"\n", w, h, w, h)
	s.title(title)
	s.b.WriteByte('\n')
	return s
}

func (s *svgCanvas) writeTo(w io.Writer) error {
	s.b.WriteString("</svg>\n")
	_, err := w.Write(s.b.Bytes())
	return err
}

func coord(x float64) string {
	s := strconv.FormatFloat(x, 'f', 1, 64)
	if n := len(s); s[n-2:] == ".0" {
		s = s[:n-2]
	}
	if s == "-0" {
		return "0"
	}
	return s
}

// escape returns a text with the special characters of XML escaped. Characters that change the
// direction of the text after them are written as \uXXXX.
func escape(s string) string {
	var b bytes.Buffer
	if strings.ContainsFunc(s, changesDirection) {
		for _, r := range s {
			if changesDirection(r) {
				fmt.Fprintf(&b, `\u%04x`, r)
			} else {
				b.WriteRune(r)
			}
		}
		s = b.String()
		b.Reset()
	}
	xml.EscapeText(&b, []byte(s)) // writing to a Buffer does not fail
	return b.String()
}

func changesDirection(r rune) bool { return unicode.Is(unicode.Bidi_Control, r) }

func opacity(name string, alpha float64) string {
	if alpha >= 1 {
		return ""
	}
	return fmt.Sprintf(` %s-opacity="%s"`, name, strconv.FormatFloat(alpha, 'f', 2, 64))
}

func (s *svgCanvas) title(t string) {
	if t != "" {
		fmt.Fprintf(&s.b, "<title>%s</title>", escape(t))
	}
}

func (s *svgCanvas) boxes(c rgb, alpha float64, title string, list ...box) {
	if len(list) == 0 {
		return
	}
	element := "path"
	if len(list) == 1 {
		element = "rect"
		b := list[0]
		fmt.Fprintf(&s.b, `<rect x="%s" y="%s" width="%s" height="%s" fill="%s"%s`, coord(b.x), coord(b.y), coord(b.w),
			coord(b.h), c, opacity("fill", alpha))
	} else {
		fmt.Fprintf(&s.b, `<path fill="%s"%s d="`, c, opacity("fill", alpha))
		for _, b := range list {
			fmt.Fprintf(&s.b, "M%s %sh%sv%sh-%sz", coord(b.x), coord(b.y), coord(b.w), coord(b.h), coord(b.w))
		}
		s.b.WriteByte('"')
	}
	if title == "" {
		s.b.WriteString("/>\n")
		return
	}
	s.b.WriteByte('>')
	s.title(title)
	fmt.Fprintf(&s.b, "</%s>\n", element)
}

func (s *svgCanvas) appendPath(p []point) {
	for i, q := range p {
		op := "L"
		if i == 0 {
			op = "M"
		}
		s.b.WriteString(op + coord(q.x) + " " + coord(q.y))
	}
}

func (s *svgCanvas) polygons(c rgb, alpha float64, outlines ...[]point) {
	if len(outlines) == 0 {
		return
	}
	fmt.Fprintf(&s.b, `<path fill="%s"%s d="`, c, opacity("fill", alpha))
	for _, o := range outlines {
		s.appendPath(o)
		s.b.WriteString("z")
	}
	s.b.WriteString(`"/>` + "\n")
}

func (s *svgCanvas) lines(c rgb, alpha, width float64, strokes ...[]point) {
	if len(strokes) == 0 {
		return
	}
	fmt.Fprintf(&s.b, `<path fill="none" stroke="%s"%s stroke-width="%s" stroke-linejoin="round" d="`, c,
		opacity("stroke", alpha), coord(width))
	for _, o := range strokes {
		s.appendPath(o)
	}
	s.b.WriteString(`"/>` + "\n")
}

func (s *svgCanvas) text(l label) {
	if l.s == "" {
		return
	}
	weight := ""
	if l.bold {
		weight = ` font-weight="bold"`
	}
	anchor := [...]string{"", ` text-anchor="middle"`, ` text-anchor="end"`}[l.anchor]
	// textLength gives the text its computed width, even if the program that shows the SVG has
	// another font.
	fmt.Fprintf(&s.b, `<text x="%s" y="%s" font-size="%s"%s%s fill="%s" textLength="%s" lengthAdjust="spacingAndGlyphs">`,
		coord(l.x), coord(l.y), coord(l.size), weight, anchor, l.color, coord(l.face().measure(l.s, l.size)))
	s.b.WriteString(escape(l.s))
	if l.full != l.s {
		s.title(l.full)
	}
	s.b.WriteString("</text>\n")
}
