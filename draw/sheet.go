package draw

import (
	"context"
	"fmt"
	"io"
	"iter"
	"math"
	"strings"

	"github.com/weft-trace/weft/draw/raster"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/timeline/index"
)

// Sheet is a picture of an index. It has a row for each track, with a strip for each depth of
// nesting, instants and curves, and arrows for links between rows. The claims of a resource with a
// capacity are stacked in a box, in which the height of each is the amount that it holds. The
// claims of a resource without a capacity have a strip for each lane. The picture looks like the
// viewer's page: a PNG has the same pixels in its strips (package raster), and an SVG the same
// boxes. The time for drawing does not depend on the size of the trace.
//
// SVG and PNG fail if a track does not exist. They return a [format.OptionError] if the width or the scale is outside
// of its limits, or if another number is negative.
type Sheet struct {
	Index *index.Index
	// Colors is the index of the whole trace. It is needed if Index holds only some of the trace's events:
	// with it, names have the same colours in all pictures of the trace. Nil means Index.
	Colors *index.Index
	// Times is the index of the whole trace. It is needed if Index lacks regions: the legend then takes
	// exclusive times from Times. Nil means Index.
	Times *index.Index
	// From and To bound the window, in ticks of the trace's clock; To is exclusive. If To is not greater than
	// From, the window is the whole trace.
	From, To int64
	// Origin is the time in ticks at which the axis shows 0; nil means the first event of Colors, or else
	// of Index.
	Origin *int64
	// Tracks lists the tracks to draw, in order, as indexes into [index.Index.Tracks]. Nil means all tracks,
	// such that the tracks of a group are next to each other. At most MaxRows tracks are drawn; 0 means 64.
	Tracks  []int
	MaxRows int
	// MaxDepth is the largest number of strips that a track has for spans or lanes of claims; 0
	// means 8.
	MaxDepth int
	// StripHeight is the height of a strip in pixels; 0 means a height that depends on the number
	// of strips.
	StripHeight int
	// Links is the largest number of messages and dependencies, or of bundles of these, that are drawn. 0
	// draws no links.
	Links int
	// Spans selects the kinds of spans in rows of claims.
	Spans Spans
	Options
}

// Spans selects the kinds of spans in rows of claims.
type Spans int

// The values of Spans. Rows for the values of an attribute may contain visits of regions.
const (
	ClaimSpans Spans = iota
	VisitSpans
	AllSpans
)

// SVG writes the picture as a self-contained SVG document. Options.Scale has no effect.
func (s *Sheet) SVG(ctx context.Context, w io.Writer) error {
	l, err := s.layOut(ctx)
	if err != nil {
		return err
	}
	tile, err := l.tile(ctx, 1)
	if err != nil {
		return err
	}
	c := newSVGCanvas(l.width, l.height, l.title)
	err = l.draw(c, tile, 1, func() {
		c.b.WriteString(`<g shape-rendering="crispEdges">` + "\n")
		l.boxes(c, tile)
		c.b.WriteString("</g>\n")
	})
	if err != nil {
		return err
	}
	return c.writeTo(w)
}

// PNG writes the picture as a PNG image. It queries the index for as many columns as the image has
// pixels, including Options.Scale.
func (s *Sheet) PNG(ctx context.Context, w io.Writer) error {
	l, err := s.layOut(ctx)
	if err != nil {
		return err
	}
	scale := max(s.Scale, 1)
	c, err := newPNGCanvas(l.width, l.height, scale)
	if err != nil {
		return err
	}
	tile, err := l.tile(ctx, scale)
	if err != nil {
		return err
	}
	if err := l.draw(c, tile, scale, func() { l.pixels(c, tile, scale) }); err != nil {
		return err
	}
	return c.writeTo(w)
}

// amountAlpha is the opacity of the amounts of resources, in 255ths.
const amountAlpha = 110

// tile queries a tile with all rows of the sheet.
func (l *sheet) tile(ctx context.Context, scale int) (*index.Tile, error) {
	return l.Index.Tile(ctx, index.TileRequest{From: l.from, To: l.to, Width: int(l.plot.w) * scale, Depths: l.depths,
		Tracks: l.tracks()})
}

// strips returns an iterator over the rows, in order, with the strips of each row in tile t.
func (l *sheet) strips(t *index.Tile) iter.Seq2[*sheetRow, rowStrips] {
	return func(yield func(*sheetRow, rowStrips) bool) {
		k := 0
		for i := range l.rows {
			r := &l.rows[i]
			var parts rowStrips
			for ; k < len(t.Strips) && t.Strips[k].Track == r.track; k++ {
				switch s := t.Strips[k]; {
				case r.stacked && s.Kind == index.SpanStrip:
					parts.lanes = append(parts.lanes, s)
				case s.Kind != index.AmountStrip || r.extra > 0 && !(r.stacked && l.all[r.track].Offsets):
					parts.single = append(parts.single, s)
				}
			}
			if !yield(r, parts) {
				return
			}
		}
	}
}

// rowStrips holds the strips of a row.
type rowStrips struct {
	single []index.Strip // strips that are drawn one below another
	lanes  []index.Strip // strips of the lanes of a stack, drawn on top of single
}

// values returns the values that the lower and the upper edge of a curve represent.
func (l *sheet) values(r *sheetRow, t *index.Tile, s index.Strip) (low, high float64) {
	x := &l.all[r.track]
	if s.Kind == index.CurveStrip {
		return x.Low, x.High
	}
	if x.Capacity > 0 {
		return 0, x.Capacity
	}
	for _, v := range t.Max[s.First : s.First+s.Count] {
		high = max(high, float64(v))
	}
	if high == 0 {
		high = 1 // no amount is in use, so any range will do
	}
	return 0, high
}

// curveColors returns the colours for the curve or amount in strip s. In a row with a stack, the amount is
// drawn in a pale colour behind the stack. In this way, the amount of lanes that are left out remains visible.
func (l *sheet) curveColors(r *sheetRow, s index.Strip) *raster.Colors {
	c := l.colors
	switch {
	case r.stacked:
		c.Curve = l.t.grid.rgba()
	case s.Kind == index.AmountStrip:
		c.Curve = raster.Blend(c.Curve, l.t.paper.rgba(), amountAlpha)
	}
	return &c
}

// pixels draws the strips of all rows into an image, as the viewer's page does.
func (l *sheet) pixels(c *pngCanvas, t *index.Tile, scale int) {
	x0 := int(l.plot.x) * scale
	for r, parts := range l.strips(t) {
		for _, s := range parts.single {
			y, h := l.rect(r, s, scale)
			switch s.Kind {
			case index.SpanStrip:
				raster.Spans(c.img, x0, y, h, raster.LeastClaim*scale, t, s, l.t.paper.rgba(), &l.colors)
			case index.InstantStrip:
				raster.Instants(c.img, x0, y, h, t, s, &l.colors)
			default:
				low, high := l.values(r, t, s)
				raster.Curve(c.img, x0, y, h, t, s, low, high, l.curveColors(r, s))
			}
		}
		if len(parts.lanes) > 0 {
			y, h := l.rect(r, parts.lanes[0], scale)
			raster.Stack(c.img, x0, y, h, t, parts.lanes, 0, t.Width, scale, &l.colors)
		}
	}
}

// boxes draws the strips of all rows as shapes. All boxes of a row with the same colour and title
// become one shape.
func (l *sheet) boxes(c canvas, t *index.Tile) {
	none := func(raster.Box) string { return "" }
	region := func(b raster.Box) string {
		if r := t.Region[b.Run]; int(r) < len(l.regions) {
			return l.Index.Region(r)
		}
		return unknownRegion
	}
	for r, parts := range l.strips(t) {
		for _, s := range parts.single {
			y, h := l.rect(r, s, 1)
			switch s.Kind {
			case index.SpanStrip:
				l.shapes(c, y, 1, region, raster.SpanBoxes(h, raster.LeastClaim, t, s, l.t.paper.rgba(), &l.colors))
			case index.InstantStrip:
				l.shapes(c, y, raster.MarkAlpha/255.0, none, raster.InstantBoxes(h, t, s, &l.colors))
			default:
				low, high := l.values(r, t, s)
				l.shapes(c, y, 1, none, raster.CurveBoxes(h, t, s, low, high, l.curveColors(r, s)))
			}
		}
		if len(parts.lanes) > 0 {
			y, h := l.rect(r, parts.lanes[0], 1)
			l.shapes(c, y, 1, region, raster.StackBoxes(h, t, parts.lanes, 0, t.Width, 1, &l.colors))
		}
	}
}

// shapes draws the boxes of a strip, moved down by y. All boxes with the same colour and title become one
// shape.
func (l *sheet) shapes(c canvas, y int, alpha float64, title func(raster.Box) string, all iter.Seq[raster.Box]) {
	var shapes []shape
	at := map[shapeKey]int{}
	for b := range all {
		k := shapeKey{rgb{b.Color.R, b.Color.G, b.Color.B}, title(b)}
		i, ok := at[k]
		if !ok {
			i = len(shapes)
			at[k] = i
			shapes = append(shapes, shape{shapeKey: k})
		}
		shapes[i].add(box{l.plot.x + float64(b.X), float64(y + b.Y), float64(b.W), float64(b.H)})
	}
	for _, p := range shapes {
		c.boxes(p.color, alpha, p.title, p.list...)
	}
}

// shapeKey identifies a shape of a row by its colour and title.
type shapeKey struct {
	color rgb
	title string
}

// shape is a list of boxes with the same colour and title.
type shape struct {
	shapeKey
	list []box
}

// add adds a box to the shape. If the box begins where the last box ends, add extends the last box instead.
func (s *shape) add(b box) {
	if n := len(s.list); n > 0 {
		if o := &s.list[n-1]; o.y == b.y && o.h == b.h && o.x+o.w == b.x {
			o.w += b.w
			return
		}
	}
	s.list = append(s.list, b)
}

// draw draws the whole picture. It calls strips to draw the content of the rows, after the frame
// and before arrows and names.
func (l *sheet) draw(c canvas, t *index.Tile, scale int, strips func()) error {
	c.boxes(l.t.paper, 1, "", box{0, 0, float64(l.width), float64(l.height)})
	l.drawFrame(c)
	strips()
	l.drawArrows(c, t, scale)
	l.drawNames(c, t, scale)
	if err := l.nameMarks(c); err != nil {
		return err
	}
	drawLegend(c, l.t, l.legend)
	drawNotes(c, l.t, l.notes, l.notesY, float64(l.width-gutter-margin))
	return nil
}

func (l *sheet) drawFrame(c canvas) {
	right, below := l.plot.x+l.plot.w, l.plot.y+l.plot.h
	clock := l.Index.Clock()
	end := l.to
	if _, last, _ := l.Index.Extent(); end == windowEnd(last) {
		end = last // the tick after the last event does not count
	}
	span := clock.FormatDuration(saturatedDiff(end, l.from))
	if l.from != l.origin {
		span += " from " + clock.FormatDuration(saturatedDiff(l.from, l.origin))
	}
	c.text(label{x: right, y: 24, s: span, full: span, size: textSize, anchor: atEnd, color: l.t.dim})
	room := right - margin - regular.measure(span, textSize) - 20
	c.text(label{x: margin, y: 24, s: bold.fit(l.title, titleSize, room), full: l.title, size: titleSize, bold: true,
		color: l.t.text})

	measure := func(s string) float64 { return regular.measure(s, smallSize) }
	for _, k := range ticks(clock, l.from, l.to, l.origin, l.plot.w, measure) {
		x := math.Round(l.plot.x + k.at*l.plot.w)
		c.boxes(l.t.rule, 1, "", box{min(x, right-1), l.plot.y - 5, 1, 4})
		c.boxes(l.t.rule, 1, "", box{min(x, right-1), below + 1, 1, 4})
		m := label{x: x, y: l.plot.y - 9, s: k.label, full: k.label, size: smallSize, anchor: atMiddle, color: l.t.dim}
		if half := measure(k.label) / 2; x+half > float64(l.width-2) {
			m.x, m.anchor = float64(l.width-2), atEnd
		}
		c.text(m)
	}
	c.boxes(l.t.rule, 1, "", box{l.plot.x, l.plot.y - 1, l.plot.w, 1})
	for i := range l.rows {
		l.drawLabel(c, &l.rows[i])
	}
	c.boxes(l.t.rule, 1, "", box{l.plot.x, below, l.plot.w, 1})
	if len(l.rows) == 0 {
		c.text(label{x: l.plot.x + l.plot.w/2, y: l.plot.y + 34, s: "no events", full: "no events", size: textSize,
			anchor: atMiddle, color: l.t.dim})
	}
	if l.omittedRows > 0 {
		s := fmt.Sprintf("… and %s", plural.Of(l.omittedRows, "more row"))
		if l.omittedRows == 1 {
			s = "… and 1 more row"
		}
		c.text(label{x: margin, y: below + 17, s: s, full: s, size: textSize, color: l.t.dim})
	}
}

// drawLabel draws the label of a row and the line below it.
func (l *sheet) drawLabel(c canvas, r *sheetRow) {
	right := l.plot.x + l.plot.w
	y, h := float64(r.y), float64(r.h)
	if r.head != "" {
		c.boxes(l.t.band, 1, "", box{margin - 4, y - headHeight, right - margin + 4, headHeight})
		c.text(label{x: margin, y: y - 5, s: bold.fit(r.head, smallSize, right-margin), full: r.head, size: smallSize,
			bold: true, color: l.t.dim})
	}
	c.boxes(l.t.grid, 1, "", box{margin - 4, y + h - 1, right - margin + 4, 1})
	high, low := "", ""
	if r.extra > 0 {
		high, low = l.edgeLabels(r)
	}
	edge := l.plot.x - 6
	taken := max(regular.measure(high, smallSize), regular.measure(low, smallSize))
	note := func(s string, y float64) {
		c.text(label{x: edge, y: y, s: s, full: s, size: smallSize, anchor: atEnd, color: l.t.dim})
	}
	if r.extra > 0 {
		top := y + h - float64(l.pad()+r.extra)
		if r.extra < 26 {
			low = ""
		}
		note(high, top+smallSize*0.9)
		note(low, top+float64(r.extra))
	}
	room := edge - margin - 4 - r.indent
	if taken > 0 {
		room -= taken + 8
	}
	size := min(textSize, h-2)
	c.text(label{x: margin + r.indent, y: y + min(h, 60)/2 + size*0.36, s: regular.fit(r.label, size, room),
		full: r.label, size: size, color: l.t.text})
}

// edgeLabels returns the labels at the upper and the lower edge of a curve. Both are empty for rows without a
// curve.
func (l *sheet) edgeLabels(r *sheetRow) (high, low string) {
	t := &l.all[r.track]
	switch t.Kind {
	case index.CounterTrack:
		high = strings.TrimSpace(formatNumber(t.High) + " " + t.Unit)
		if t.Low != t.High {
			low = formatNumber(t.Low)
		}
	case index.ResourceTrack:
		if t.Capacity > 0 {
			high = strings.TrimSpace(formatNumber(t.Capacity) + " " + t.Unit)
		}
		if r.stacked {
			low = "0"
		}
	}
	return regular.fit(high, smallSize, 90), regular.fit(low, smallSize, 90)
}

// xOf returns the horizontal position of time t, in pixels of the picture.
func (l *sheet) xOf(t int64) float64 {
	return l.plot.x + l.plot.w*((float64(t)-float64(l.from))/float64(uint64(l.to)-uint64(l.from)))
}
