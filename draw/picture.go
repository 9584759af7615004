package draw

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/weft-trace/weft/timeline"
)

// picture is the layout of a view.
type picture struct {
	v             *timeline.View
	t             *theme
	title         string
	width, height int
	plot          box // all rows
	colors        []rgb
	rows          []placed
	legend        []entry
	notes         []string
	notesY        float64
	tips          bool    // spans have tooltips
	names         []label // of spans and instants: they stand above the arrows
}

// placed is a row and where it is drawn.
type placed struct {
	*timeline.Row
	y, h  float64
	level float64 // height of a level
	head  string  // heading above the row
}

// entry is a part of the legend.
type entry struct {
	x, y  float64
	kind  byte // b: box, a: arrow
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

// Sizes of texts.
const (
	titleSize = 17
	textSize  = 12
	smallSize = 10.5
)

func newPicture(v *timeline.View, opt Options) (*picture, error) {
	p := &picture{v: v, t: &light, width: opt.Width, title: cmp.Or(opt.Title, v.Title, "Timeline")}
	if opt.Dark {
		p.t = &dark
	}
	var err error
	if p.width, err = opt.width(); err != nil {
		return nil, err
	}
	p.colors = colors(v.Colors, p.t)
	p.plot = box{gutter, titleHeight + axisHeight, float64(p.width - gutter - margin), 0}
	y := p.plot.y
	gap := p.dense(6, 4, 2)
	group := ""
	for i := range v.Rows {
		r := placed{Row: &v.Rows[i]}
		if r.Group != group {
			group, r.head = r.Group, r.Group
			y += headHeight
		}
		r.h, r.level = p.rowHeight(r.Row)
		r.y = y + gap/2
		y += r.h + gap
		p.rows = append(p.rows, r)
	}
	if len(v.Rows) == 0 {
		y += 60
	}
	p.plot.h = y - p.plot.y
	if v.MoreRows > 0 {
		y += 22
	}
	y += 14
	y = p.layLegend(y)
	if p.notes = v.Notes; len(p.notes) > 0 {
		p.notesY = y + 4
		y += 4 + noteLine*float64(len(p.notes))
	}
	p.height = int(math.Ceil(y + 12))
	exact := 0
	for _, r := range v.Rows {
		exact += len(r.Spans)
	}
	p.tips = exact <= 5000 // more would make the document slow
	return p, nil
}

// dense chooses a size by the number of rows.
func (p *picture) dense(few, some, many float64) float64 {
	switch n := len(p.v.Rows); {
	case n <= 16:
		return few
	case n <= 40:
		return some
	}
	return many
}

func (p *picture) rowHeight(r *timeline.Row) (h, level float64) {
	least := p.dense(22, 18, 14)
	switch {
	case r.Kind == timeline.SignalRow:
		return p.dense(72, 52, 30), 0
	case r.Amounts && r.Height <= 4 && r.Capacity == math.Trunc(r.Capacity):
		return max(least, p.dense(20, 14, 8)*math.Ceil(r.Height)), 0
	case r.Amounts:
		return p.dense(56, 40, 22), 0
	case r.Kind == timeline.EventsRow:
		return least, least
	}
	level = p.dense(18, 14, 9)
	if r.Height <= 1 {
		level = least
	}
	return max(least, level*r.Height), level
}

// layLegend places the entries, line by line.
func (p *picture) layLegend(y float64) float64 {
	for i, c := range p.v.Colors {
		e := entry{kind: 'b', color: p.colors[i], full: c.Name, name: regular.fit(c.Name, textSize, 220)}
		if c.Ticks > 0 {
			e.more = p.v.Clock.FormatDuration(int64(min(c.Ticks, 1<<62)))
		} else if c.Count > 1 {
			e.more = fmt.Sprintf("%d×", c.Count)
		}
		p.legend = append(p.legend, e)
	}
	if p.v.Links.Drawn > 0 {
		p.legend = append(p.legend, entry{kind: 'a', color: p.t.arrow, name: "dependency", full: "dependency"})
	}
	if p.v.Messages.Drawn > 0 {
		p.legend = append(p.legend, entry{kind: 'a', color: p.t.arrow, name: "message", full: "message"})
	}
	for _, r := range p.v.Rows {
		if len(r.Gaps) > 0 {
			p.legend = append(p.legend, entry{kind: 'b', color: p.t.gap, name: "not recorded", full: "not recorded"})
			break
		}
	}
	return place(p.legend, float64(p.width-margin), y)
}

// place puts the entries of a legend line by line, up to a right edge.
func place(legend []entry, right, y float64) float64 {
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

// x is where a time lies, in whole pixels, so that edges are sharp.
func (p *picture) x(t int64) float64 { return math.Round(p.fine(t)) }

func (p *picture) fine(t int64) float64 {
	return p.plot.x + p.plot.w*(float64(t-p.v.From)/float64(p.v.To-p.v.From))
}

func (p *picture) draw(c canvas) {
	c.boxes(p.t.paper, 1, "", box{0, 0, float64(p.width), float64(p.height)})
	p.drawFrame(c)
	for i := range p.rows {
		p.drawRow(c, &p.rows[i])
	}
	p.drawArrows(c)
	for _, l := range p.names {
		c.text(l)
	}
	p.drawLegend(c)
}

func (p *picture) drawFrame(c canvas) {
	right := p.plot.x + p.plot.w
	span := p.v.Clock.FormatDuration(p.v.To - p.v.From)
	if d := p.v.From - p.v.Origin; d != 0 {
		span += " from " + p.v.Clock.FormatDuration(d)
	}
	c.text(label{x: right, y: 24, s: span, full: span, size: textSize, anchor: atEnd, color: p.t.dim})
	room := right - margin - regular.measure(span, textSize) - 20
	c.text(label{x: margin, y: 24, s: bold.fit(p.title, titleSize, room), full: p.title, size: titleSize, bold: true, color: p.t.text})

	for i := range p.rows {
		r := &p.rows[i]
		c.boxes(p.t.band, 1, "", box{p.plot.x, r.y, p.plot.w, r.h})
		if r.head != "" {
			s := bold.fit(r.head, smallSize, right-margin)
			c.text(label{x: margin, y: r.y - 6, s: s, full: r.head, size: smallSize, bold: true, color: p.t.dim})
		}
	}
	measure := func(s string) float64 { return regular.measure(s, smallSize) }
	for _, k := range ticks(p.v.Clock, p.v.From, p.v.To, p.v.Origin, p.plot.w, measure) {
		x := math.Round(p.plot.x + k.at*p.plot.w)
		c.boxes(p.t.grid, 1, "", box{min(x, right-1), p.plot.y - 4, 1, p.plot.h + 4})
		l := label{x: x, y: p.plot.y - 9, s: k.label, full: k.label, size: smallSize, anchor: atMiddle, color: p.t.dim}
		if half := measure(k.label) / 2; x+half > float64(p.width-2) {
			l.x, l.anchor = float64(p.width-2), atEnd
		}
		c.text(l)
	}
	c.boxes(p.t.rule, 1, "", box{p.plot.x, p.plot.y - 1, p.plot.w, 1})
	below := p.plot.y + p.plot.h
	c.boxes(p.t.rule, 1, "", box{p.plot.x, below, p.plot.w, 1})
	if len(p.rows) == 0 {
		c.text(label{x: p.plot.x + p.plot.w/2, y: p.plot.y + 34, s: "no events", full: "no events", size: textSize, anchor: atMiddle, color: p.t.dim})
	}
	if n := p.v.MoreRows; n > 0 {
		s := fmt.Sprintf("… and %d more rows", n)
		if p.v.MoreRowsInexact {
			s = fmt.Sprintf("… and at least %d more rows", n)
		} else if n == 1 {
			s = "… and 1 more row"
		}
		c.text(label{x: margin, y: below + 17, s: s, full: s, size: textSize, color: p.t.dim})
	}
}

func (p *picture) drawRow(c canvas, r *placed) {
	p.drawLabel(c, r)
	for _, g := range r.Gaps {
		x0, x1 := p.x(g.From), p.x(g.To)
		c.boxes(p.t.gap, 1, p.tip("not recorded", g.From, g.To), box{x0, r.y, max(1, x1-x0), r.h})
	}
	p.drawSpans(c, r)
	if r.Curve != nil {
		p.drawCurve(c, r)
	}
	p.drawInstants(c, r)
}

// drawLabel writes the row's name, and at the right of the gutter what the
// upper and the lower edge stand for.
func (p *picture) drawLabel(c canvas, r *placed) {
	high, low := "", ""
	switch {
	case r.Curve != nil && !math.IsNaN(r.Curve.Lowest):
		high = strings.TrimSpace(number(r.Curve.Highest) + " " + r.Unit)
		if r.Curve.Lowest != r.Curve.Highest {
			low = number(r.Curve.Lowest)
		}
	case r.Amounts && (r.Capacity != 1 || r.Unit != ""):
		high = strings.TrimSpace(number(r.Height) + " " + r.Unit)
	}
	edge := p.plot.x - 6
	high, low = regular.fit(high, smallSize, 90), regular.fit(low, smallSize, 90)
	taken := max(regular.measure(high, smallSize), regular.measure(low, smallSize))
	note := func(s string, y float64) {
		c.text(label{x: edge, y: y, s: s, full: s, size: smallSize, anchor: atEnd, color: p.t.dim})
	}
	if r.h < 28 && low != "" { // no room for two lines
		low = ""
	}
	if r.h < 28 {
		note(high, r.y+r.h/2+smallSize*0.36)
	} else {
		note(high, r.y+smallSize*0.8)
		note(low, r.y+r.h-1)
	}
	room := edge - margin - 4
	if taken > 0 {
		room -= taken + 8
	}
	c.text(label{x: margin, y: r.y + r.h/2 + textSize*0.36, s: regular.fit(r.Label, textSize, room), full: r.Label, size: textSize, color: p.t.text})
}

func (p *picture) tip(name string, from, to int64) string {
	if !p.tips {
		return ""
	}
	k := p.v.Clock
	return fmt.Sprintf("%s: %s to %s (%s)", name, k.FormatDuration(from-p.v.Origin), k.FormatDuration(to-p.v.Origin), k.FormatDuration(to-from))
}

// vertical is where [low, high] of a row is drawn.
func (r *placed) vertical(low, high float64) (y, h float64) {
	if !r.Amounts {
		return r.y + low*r.level, max(1, (high-low)*r.level-1)
	}
	top := math.Round(r.y + r.h*(1-min(high, r.Height)/r.Height))
	bottom := math.Round(r.y + r.h*(1-min(low, r.Height)/r.Height))
	if bottom-top >= 4 {
		top++ // a seam to what lies above
	}
	return min(top, r.y+r.h-1), max(1, bottom-top)
}

// faint is how strongly a merged span is drawn: the less of its column is
// covered, the paler, in few steps so that neighbours can be drawn as one.
func faint(s *timeline.Span) float64 {
	if s.Count == 1 {
		return 1
	}
	return 0.5 + 0.05*math.Round(10*float64(min(s.Cover, 1)))
}

// shade is a colour and how strongly it is laid on, in percent.
type shade struct {
	color, percent int
}

func (p *picture) drawSpans(c canvas, r *placed) {
	merged := map[shade][]box{}
	for i := range r.Spans {
		s := &r.Spans[i]
		x0, x1 := p.x(s.From), p.x(s.To)
		x0 = min(x0, p.plot.x+p.plot.w-1)
		b := box{x: x0, w: max(1, x1-x0)}
		b.y, b.h = r.vertical(s.Low, s.High)
		k := p.v.Keys[s.Key].Color
		if s.Count == 1 && b.w >= 2 {
			continue
		}
		a := shade{k, int(math.Round(100 * faint(s)))}
		if l := merged[a]; len(l) > 0 && s.Count > 1 {
			// Neighbours that look alike become one.
			if o := &l[len(l)-1]; o.y == b.y && o.h == b.h && o.x+o.w == b.x {
				o.w += b.w
				continue
			}
		}
		merged[a] = append(merged[a], b)
	}
	for _, a := range slices.SortedFunc(maps.Keys(merged), func(a, b shade) int {
		return cmp.Or(cmp.Compare(a.percent, b.percent), cmp.Compare(a.color, b.color))
	}) {
		c.boxes(p.colors[a.color], float64(a.percent)/100, "", merged[a]...)
	}
	for i := range r.Spans {
		s := &r.Spans[i]
		x0, x1 := p.x(s.From), p.x(s.To)
		if s.Count != 1 || x1-x0 < 2 {
			continue
		}
		y, h := r.vertical(s.Low, s.High)
		w := x1 - x0
		if w >= 4 {
			w-- // a seam to the next span
		}
		key := p.v.Keys[s.Key]
		col := p.colors[key.Color]
		c.boxes(col, 1, p.tip(key.Name, s.From, s.To), box{x0, y, w, h})
		if h >= 12 && w >= 20 {
			size := min(11, h-2)
			name := regular.fit(key.Name, size, w-8)
			if name == key.Name || len([]rune(name)) >= 4 {
				p.names = append(p.names, label{x: x0 + 4, y: y + h/2 + size*0.36, s: name, full: name, size: size, color: col.ink()})
			}
		}
	}
	if r.Amounts && r.Height > r.Capacity {
		y := math.Round(r.y + r.h*(1-r.Capacity/r.Height))
		var dashes []box
		for x := p.plot.x; x < p.plot.x+p.plot.w; x += 8 {
			dashes = append(dashes, box{x, y, min(4, p.plot.x+p.plot.w-x), 1})
		}
		c.boxes(p.t.text, 0.7, "", dashes...)
	}
}

// drawCurve draws the band between the least and the greatest value of each
// column, and at least a line's width.
func (p *picture) drawCurve(c canvas, r *placed) {
	k := r.Curve
	if math.IsNaN(k.Lowest) {
		return
	}
	lo, hi := k.Lowest, k.Highest
	top, bottom := r.y+4, r.y+r.h-4
	at := func(v float64) float64 {
		if hi == lo {
			return (top + bottom) / 2
		}
		return bottom - (bottom-top)*(v/2-lo/2)/(hi/2-lo/2) // halves: no overflow
	}
	if lo < 0 && hi > 0 {
		c.boxes(p.t.rule, 1, "", box{p.plot.x, math.Round(at(0)), p.plot.w, 1})
	}
	n := float64(len(k.Min))
	middle := func(i int) float64 { return p.plot.x + (float64(i)+0.5)*p.plot.w/n }
	if k.Kind == timeline.Points {
		p.drawPoints(c, k, at, middle)
		return
	}
	var bands, areas [][]point
	base := r.y + r.h
	for i := 0; i < len(k.Min); {
		if math.IsNaN(k.Min[i]) {
			i++
			continue
		}
		first := i
		for i < len(k.Min) && !math.IsNaN(k.Min[i]) {
			i++
		}
		half := p.plot.w / n / 2
		var upper, lower []point
		add := func(x float64, j int) {
			upper = append(upper, point{x, at(k.Max[j]) - 0.8})
			lower = append(lower, point{x, at(k.Min[j]) + 0.8})
		}
		add(middle(first)-half, first)
		for j := first; j < i; j++ {
			add(middle(j), j)
		}
		add(middle(i-1)+half, i-1)
		area := append(slices.Clone(upper), point{upper[len(upper)-1].x, base}, point{upper[0].x, base})
		slices.Reverse(lower)
		bands = append(bands, append(upper, lower...))
		areas = append(areas, area)
	}
	c.polygons(p.t.curve, 0.13, areas...)
	c.polygons(p.t.curve, 1, bands...)
}

// drawPoints draws samples as dots, joined by a thin line.
func (p *picture) drawPoints(c canvas, k *timeline.Curve, at func(float64) float64, middle func(int) float64) {
	var line []point
	var dots [][]point
	var bars []box
	for i, lo := range k.Min {
		if math.IsNaN(lo) {
			continue
		}
		x := middle(i)
		line = append(line, point{x, at(k.First[i])})
		if k.Last[i] != k.First[i] {
			line = append(line, point{x, at(k.Last[i])})
		}
		if k.Max[i] != lo {
			bars = append(bars, box{x - 0.5, at(k.Max[i]), 1, max(1, at(lo)-at(k.Max[i]))})
		}
		dots = append(dots, disc(x, at(lo), 2))
	}
	c.lines(p.t.curve, 0.45, 1, line)
	c.boxes(p.t.curve, 1, "", bars...)
	if len(dots) <= len(k.Min)/4 {
		c.polygons(p.t.curve, 1, dots...)
	}
}

// disc is a circle with enough corners for its size.
func disc(x, y, r float64) []point {
	var out []point
	for i := range 12 {
		s, c := math.Sincos(float64(i) * math.Pi / 6)
		out = append(out, point{x + r*c, y + r*s})
	}
	return out
}

func (p *picture) drawInstants(c canvas, r *placed) {
	right := p.plot.x + p.plot.w
	var stems []box
	for i := range r.Instants {
		x := min(p.x(r.Instants[i].Time), right-1)
		if len(r.Spans) > 0 {
			stems = append(stems, box{x, r.y, 1, r.h})
		}
	}
	c.boxes(p.t.text, 0.55, "", stems...)
	taken := p.plot.x // by texts and marks so far
	for i := range r.Instants {
		s := &r.Instants[i]
		x := min(p.x(s.Time), right-1) + 0.5
		col := p.colors[p.v.Keys[s.Key].Color]
		if len(r.Spans) > 0 { // above spans: a small flag
			c.polygons(p.t.text, 1, []point{{x - 3.5, r.y - 1}, {x + 3.5, r.y - 1}, {x, r.y + 4}})
			continue
		}
		y := r.y + r.h/2
		d := min(5.5, r.h/2-2)
		c.polygons(col, 1, []point{{x, y - d}, {x + d, y}, {x, y + d}, {x - d, y}})
		before := taken
		taken = max(taken, x+8)
		if s.Label == "" || s.Count > 1 {
			continue
		}
		// To the right where there is room; the last one also to the left.
		next := right
		if i+1 < len(r.Instants) {
			next = p.x(r.Instants[i+1].Time) - 8
		}
		l := label{x: x + 9, y: y + smallSize*0.36, full: s.Label, size: smallSize, color: p.t.text}
		w := regular.measure(s.Label, smallSize)
		switch {
		case x+9+w <= next:
			l.s = s.Label
		case i+1 == len(r.Instants) && x-9-w > before:
			l.x, l.anchor, l.s = x-9, atEnd, s.Label
		default:
			if l.s = regular.fit(s.Label, smallSize, next-x-10); len([]rune(l.s)) < 4 {
				continue
			}
		}
		taken = x + 9 + regular.measure(l.s, smallSize)
		p.names = append(p.names, l)
	}
}

// many is the number of arrows from which on they are drawn thinner.
const many = 200

func (p *picture) drawArrows(c canvas) {
	var strokes, heads [][]point
	for _, a := range p.v.Arrows {
		src, dst := &p.rows[a.Src.Row], &p.rows[a.Dst.Row]
		s := point{p.fine(a.Src.Time), src.middle(a.Src.Level)}
		d := point{p.fine(a.Dst.Time), dst.middle(a.Dst.Level)}
		stroke := []point{s, d}
		if src == dst && math.Abs(s.y-d.y) < 4 && math.Abs(s.x-d.x) > 6 {
			stroke = arc(s, d, min(src.h*0.4, 16))
		}
		stroke, whole := p.plot.cut(stroke)
		if len(stroke) < 2 {
			continue
		}
		strokes = append(strokes, stroke)
		if whole {
			heads = append(heads, head(stroke, 7))
		}
	}
	width, alpha := 1.4, 0.85
	if len(strokes) > many {
		width, alpha = 0.8, 0.4
	} else {
		c.lines(p.t.paper, 0.7, 3.4, strokes...)
	}
	c.lines(p.t.arrow, alpha, width, strokes...)
	c.polygons(p.t.arrow, alpha, heads...)
}

// middle is the height at which an arrow meets a level of the row.
func (r *placed) middle(level float64) float64 {
	switch {
	case level < 0:
		return r.y + r.h/2
	case r.Amounts:
		return r.y + r.h*(1-min(level, r.Height)/r.Height)
	}
	return r.y + min(level*r.level, r.h-1)
}

// arc leads from s to d over their heads.
func arc(s, d point, h float64) []point {
	var out []point
	for i := range 17 {
		u := float64(i) / 16
		out = append(out, point{s.x + (d.x-s.x)*u, s.y + (d.y-s.y)*u - 4*h*u*(1-u)})
	}
	return out
}

// head is the tip of an arrow.
func head(s []point, size float64) []point {
	tip, from := s[len(s)-1], s[0]
	for i := len(s) - 2; i >= 0; i-- {
		if from = s[i]; math.Hypot(tip.x-from.x, tip.y-from.y) > 2 {
			break
		}
	}
	d := math.Hypot(tip.x-from.x, tip.y-from.y)
	if d == 0 {
		return disc(tip.x, tip.y, 2)
	}
	ux, uy := (tip.x-from.x)/d, (tip.y-from.y)/d
	bx, by := tip.x-ux*size, tip.y-uy*size
	return []point{tip, {bx - uy*size*0.42, by + ux*size*0.42}, {bx + uy*size*0.42, by - ux*size*0.42}}
}

// cut keeps the part of a stroke that lies between the sides of a plot; whole tells
// whether its end does.
func (b box) cut(s []point) (out []point, whole bool) {
	lo, hi := b.x-0.5, b.x+b.w+0.5
	for i := 1; i < len(s); i++ {
		a, b := s[i-1], s[i]
		if max(a.x, b.x) < lo || min(a.x, b.x) > hi {
			continue
		}
		at := func(x float64) point { return point{x, a.y + (b.y-a.y)*(x-a.x)/(b.x-a.x)} }
		from, to := a, b
		for _, q := range []*point{&from, &to} {
			if q.x < lo {
				*q = at(lo)
			} else if q.x > hi {
				*q = at(hi)
			}
		}
		if len(out) == 0 {
			out = append(out, from)
		}
		out = append(out, to)
	}
	end := s[len(s)-1]
	return out, end.x >= lo && end.x <= hi
}

func (p *picture) drawLegend(c canvas) {
	drawLegend(c, p.t, p.legend)
	drawNotes(c, p.t, p.notes, p.notesY, float64(p.width-gutter-margin))
}

func drawLegend(c canvas, t *theme, legend []entry) {
	for _, e := range legend {
		base := e.y + 12
		if e.kind == 'a' {
			l := []point{{e.x, e.y + 12}, {e.x + 13, e.y + 4}}
			c.lines(e.color, 0.85, 1.4, l)
			c.polygons(e.color, 0.85, head(l, 7))
		} else {
			c.boxes(e.color, 1, "", box{e.x, e.y + 2, 12, 12})
		}
		c.text(label{x: e.x + 18, y: base, s: e.name, full: e.full, size: textSize, color: t.text})
		if e.more != "" {
			c.text(label{x: e.x + 23 + regular.measure(e.name, textSize), y: base, s: e.more, full: e.more, size: smallSize, color: t.dim})
		}
	}
}

// drawNotes writes remarks below each other.
func drawNotes(c canvas, t *theme, notes []string, y, width float64) {
	for i, n := range notes {
		s := regular.fit(n, smallSize, width)
		c.text(label{x: gutter, y: y + noteLine*float64(i) + 11, s: s, full: n, size: smallSize, color: t.dim})
	}
}
