package draw

import (
	"cmp"
	"context"
	"fmt"
	"image/color"
	"io"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/draw/raster"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/timeline/index"
	"github.com/weft-trace/weft/trace"
)

// Sheet is a picture of an index: a row a track, with a strip for each depth of nesting,
// instants, curves and links between them. The claims of a resource with a capacity lie on
// each other in one box, each as high as what it holds; without a capacity there is a strip
// for each lane of them. It is what the viewer's page shows, and takes as long as the page
// does, whatever the size of the trace: the strips of a PNG are the same pixels (package
// raster), those of an SVG the same boxes.
type Sheet struct {
	Index *index.Index
	// Colors is the index of all of the trace if Index has a part of its events, so that names have the same colours in
	// all pictures of it; nil is Index.
	Colors *index.Index
	// From and To bound the window, To exclusive; if To is not behind From it is all of
	// the trace.
	From, To int64
	// Origin is the time that the axis calls 0; nil is the first event of Colors or Index.
	Origin *int64
	// Tracks are those to draw, in their order; nil draws all, the ones of a group beside
	// each other. No more than MaxRows (0 is 64) are drawn.
	Tracks  []int
	MaxRows int
	// MaxDepth is how many strips of spans, or lanes of claims, a track has at most; 0 is 8.
	MaxDepth int
	// StripHeight is that of a strip, in pixels; 0 chooses one by how many there are.
	StripHeight int
	// Links is how many messages and dependencies, or bundles of some of them, are drawn
	// at most; 0 draws none.
	Links int
	// Spans is what stands in rows of claims.
	Spans Spans
	Options
}

// Spans are what stands in rows of claims.
type Spans int

// What stands in rows of claims. Visits of regions do where rows are those of an attribute.
const (
	OfClaims Spans = iota
	OfVisits
	OfBoth
)

// SVG writes the picture as an SVG document that refers to nothing outside of itself.
// Options.Scale has no effect.
func (s *Sheet) SVG(ctx context.Context, w io.Writer) error {
	l, err := s.lay(ctx)
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

// PNG writes the picture as a PNG image. With Options.Scale the index is asked for as many
// columns as there are pixels.
func (s *Sheet) PNG(ctx context.Context, w io.Writer) error {
	l, err := s.lay(ctx)
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

// sheet is the layout of a Sheet.
type sheet struct {
	*Sheet
	t             *theme
	title         string
	width, height int
	from, to      int64 // of the window
	origin        int64
	depths        int
	strip         int // height of one
	plot          box // all rows
	all           []index.Track
	rows          []sheetRow
	more          int // rows that are left out
	regions       []rgb
	colors        raster.Colors
	arrows        []index.Link
	legend        []entry
	notes         []string
	notesY        float64
}

// sheetRow is a track and where it is drawn.
type sheetRow struct {
	track  int
	label  string
	head   string // heading above the row
	indent float64
	y, h   int
	strips int
	extra  int // height of the curve, or of the stack
	// stacked says that the lanes of a resource lie on each other in one box.
	stacked bool
}

// The heights of rows' parts are those of the page.
const (
	curveHeight    = 34
	leastRow       = 15
	leastAmount    = 14
	leastStack     = 36
	mostStack      = 128
	sheetFits      = 900 // rows get as much height as they need to be no higher together
	sheetRows      = 64
	sheetDepths    = 8
	moreRowsHeight = 22
)

// amountAlpha is how strongly the amounts of resources are drawn, of 255.
const amountAlpha = 110

func (s *Sheet) lay(ctx context.Context) (*sheet, error) {
	l := &sheet{Sheet: s, t: &light, title: cmp.Or(s.Title, "Timeline"), depths: cmp.Or(s.MaxDepth, sheetDepths)}
	if s.Dark {
		l.t = &dark
	}
	var err error
	if l.width, err = s.Options.width(); err != nil {
		return nil, err
	}
	if most := index.MaxWidth / max(s.Scale, 1); Columns(l.width) > most {
		return nil, &format.OptionError{Option: "width", Value: strconv.Itoa(l.width), Expected: fmt.Sprintf("at most %d pixels at this scale", most+gutter+margin)}
	}
	first, last, _ := s.Index.Extent()
	l.origin, l.from, l.to = first, s.From, s.To
	if s.Origin != nil {
		l.origin = *s.Origin
	} else if s.Colors != nil {
		l.origin, _, _ = s.Colors.Extent()
	}
	if l.to <= l.from {
		l.from, l.to = first, behind(last)
	}
	if l.to <= l.from {
		l.from-- // the last moment that there is
	}
	l.all = s.Index.Tracks()
	of, err := Colors(ctx, s.Index, cmp.Or(s.Colors, s.Index))
	if err != nil {
		return nil, err
	}
	l.regions = make([]rgb, len(of))
	for i, c := range of {
		l.regions[i] = l.t.palette[c]
	}
	l.colors = raster.Colors{Other: l.t.other.rgba(), Mark: l.t.arrow.rgba(), Curve: l.t.curve.rgba(), Region: func(r uint32) color.RGBA {
		if int(r) >= len(l.regions) {
			return l.t.other.rgba()
		}
		return l.regions[r].rgba()
	}}
	if err := l.layRows(); err != nil {
		return nil, err
	}
	if err := l.findOverloads(ctx); err != nil {
		return nil, err
	}
	y := l.plot.y + l.plot.h
	if l.more > 0 {
		y += moreRowsHeight
	}
	y += 14
	if err := l.findLinks(ctx); err != nil {
		return nil, err
	}
	if y, err = l.layLegend(ctx, y); err != nil {
		return nil, err
	}
	if len(l.notes) > 0 {
		l.notesY = y + 4
		y += 4 + noteLine*float64(len(l.notes))
	}
	l.height = int(math.Ceil(y + 12))
	return l, nil
}

// layRows chooses the rows and places them.
func (l *sheet) layRows() error {
	groups := l.Index.Groups()
	order := l.Tracks
	if order == nil {
		order = arrange(l.all, groups)
	}
	if most := cmp.Or(l.MaxRows, sheetRows); len(order) > most {
		l.more = len(order) - most
		order = order[:most]
	}
	members := map[uint32]int{} // rows of groups, without those that belong to another
	for _, k := range order {
		if k < 0 || k >= len(l.all) {
			return fmt.Errorf("found track %d, expected one of %d", k, len(l.all))
		}
		if t := &l.all[k]; t.Group != trace.NoRef && (t.Parent < 0 || t.Kind != index.CounterTrack) {
			members[t.Group]++
		}
	}
	cut := 0
	head := ""
	for _, k := range order {
		t := &l.all[k]
		r := sheetRow{track: k, label: trackName(t), strips: min(t.Depth, l.depths),
			stacked: t.Kind == index.ResourceTrack && t.Depth > 1 && t.Capacity > 0}
		cut = max(cut, t.Depth-l.depths)
		above := heading(t, groups)
		switch {
		case t.Kind == index.CounterTrack && t.Parent >= 0:
			r.indent = 10
			above = head
		case t.Group != trace.NoRef && int(t.Group) < len(groups) && members[t.Group] == 1:
			// A process of one thread, or a thread of many, needs no two lines.
			g := groups[t.Group]
			if name := cmp.Or(g.Name, g.ID); name != r.label {
				r.label = name + " · " + r.label
			}
			above = path(groups, g.Parent)
		}
		if above != head {
			head, r.head = above, above
		}
		l.rows = append(l.rows, r)
	}
	if cut > 0 {
		l.notes = append(l.notes, fmt.Sprintf("No more than %d of %d strips of a row are shown.", l.depths, l.depths+cut))
	}
	l.plot = box{gutter, titleHeight + axisHeight, float64(l.width - gutter - margin), 0}
	if l.strip = l.StripHeight; l.strip <= 0 {
		for _, l.strip = range []int{18, 16, 14, 12, 10, 8} {
			if l.placeRows() <= sheetFits {
				break
			}
		}
	}
	l.plot.h = float64(l.placeRows())
	if len(l.rows) == 0 {
		l.plot.h = 60
	}
	return nil
}

// isValue reports whether a track is that of a value of an attribute, and not of a resource.
func isValue(t *index.Track) bool { return t.Sort == string(trace.ValueLocation) }

// trackName is the label of a track.
func trackName(t *index.Track) string { return cmp.Or(t.Name, cmp.Or(t.Sort, string(t.Kind))+" "+t.ID) }

// placeRows gives the rows their places, for the height of strips that is set, and returns
// the height of all.
func (l *sheet) placeRows() int {
	y := int(l.plot.y)
	for i := range l.rows {
		r := &l.rows[i]
		if r.head != "" {
			y += headHeight
		}
		switch t := &l.all[r.track]; {
		case t.Kind == index.CounterTrack:
			r.extra = curveHeight
			r.h = curveHeight + 4 + r.strips*l.strip
		case r.stacked:
			r.extra = max(leastStack, min(mostStack, r.strips*l.strip))
			r.h = r.extra + 2*l.pad()
		default:
			if t.Kind == index.ResourceTrack && t.Depth > 1 && !isValue(t) { // a single lane shows the amount by its height
				r.extra = max(leastAmount, (3*l.strip+1)/2)
			}
			r.h = max(leastRow, r.strips*l.strip+r.extra+2*l.pad())
		}
		r.y = y
		y += r.h
	}
	return y - int(l.plot.y)
}

// pad is what a row has above and below its strips.
func (l *sheet) pad() int {
	if l.strip >= 8 {
		return 2
	}
	return 1
}

// rect is where a strip of a row is drawn, in pixels of which scale are one of the picture.
func (l *sheet) rect(r *sheetRow, s index.Strip, scale int) (y, h int) {
	top := r.y + l.pad()
	gap := 0 // between strips
	if l.strip >= 8 {
		gap = 1
	}
	switch {
	case r.stacked && s.Kind != index.InstantStrip:
		return top * scale, r.extra * scale
	case s.Kind == index.CurveStrip || s.Kind == index.AmountStrip:
		return (top+r.strips*l.strip)*scale + 1, r.extra*scale - 1
	case s.Kind == index.InstantStrip:
		if r.strips > 0 {
			return top * scale, l.strip*scale - 1
		}
		return top * scale, (r.h - 2*l.pad()) * scale
	}
	return (top + s.Depth*l.strip) * scale, max(1, l.strip*scale-gap)
}

// arrange puts tracks in the order in which the page has them: those of groups beside each
// other, counters below what they belong to, communicators last.
func arrange(tracks []index.Track, groups []trace.LocationGroup) []int {
	var roots, resources, counters, communicators []int
	of, below := make([][]int, len(groups)), map[int][]int{}
	for i, t := range tracks {
		switch {
		case t.Kind == index.CommunicatorTrack:
			communicators = append(communicators, i)
		case t.Kind == index.CounterTrack && t.Parent >= 0 && t.Parent < i:
			below[t.Parent] = append(below[t.Parent], i)
		case t.Kind == index.CounterTrack:
			counters = append(counters, i)
		case t.Group != trace.NoRef && int(t.Group) < len(groups):
			of[t.Group] = append(of[t.Group], i)
		case t.Kind == index.ResourceTrack:
			resources = append(resources, i)
		default:
			roots = append(roots, i)
		}
	}
	var out []int
	add := func(l []int) {
		for _, i := range l {
			out = append(append(out, i), below[i]...)
		}
	}
	add(roots)
	inside := make([][]uint32, len(groups))
	var top []uint32
	for i, g := range groups {
		if g.Parent != trace.NoRef && int(g.Parent) < len(groups) && int(g.Parent) != i {
			inside[g.Parent] = append(inside[g.Parent], uint32(i))
		} else {
			top = append(top, uint32(i))
		}
	}
	seen := make([]bool, len(groups))
	visit := func(first uint32) {
		for stack := []uint32{first}; len(stack) > 0; {
			g := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if seen[g] {
				continue
			}
			seen[g] = true
			add(of[g])
			slices.Reverse(inside[g])
			stack = append(stack, inside[g]...)
		}
	}
	for _, g := range top {
		visit(g)
	}
	for g := range groups {
		visit(uint32(g)) // groups that are around each other
	}
	add(resources)
	add(counters)
	return append(out, communicators...)
}

// heading is what stands above a track and those beside it.
func heading(t *index.Track, groups []trace.LocationGroup) string {
	switch {
	case t.Kind == index.CommunicatorTrack:
		return "Communicators"
	case t.Kind == index.CounterTrack && t.Parent < 0:
		return "Counters"
	case t.Group != trace.NoRef && int(t.Group) < len(groups):
		return path(groups, t.Group)
	case t.Kind == index.ResourceTrack && !isValue(t):
		return "Resources"
	}
	return ""
}

// path names a group and the two around it.
func path(groups []trace.LocationGroup, g uint32) string {
	var names []string
	for ; g != trace.NoRef && int(g) < len(groups) && len(names) < 3; g = groups[g].Parent {
		names = append(names, cmp.Or(groups[g].Name, groups[g].ID))
	}
	slices.Reverse(names)
	return strings.Join(names, " / ")
}

// mostOverloads is how many overloaded resources are named.
const mostOverloads = 8

// findOverloads notes the resources of which claims hold more than there is.
func (l *sheet) findOverloads(ctx context.Context) error {
	q := index.TileRequest{From: l.from, To: l.to, Width: int(l.plot.w), Depths: 1}
	for _, r := range l.rows {
		if l.all[r.track].Capacity > 0 {
			q.Tracks = append(q.Tracks, r.track)
		}
	}
	if len(q.Tracks) == 0 {
		return nil
	}
	t, err := l.Index.Tile(ctx, q)
	if err != nil {
		return err
	}
	more := 0
	for _, s := range t.Strips {
		if s.Kind != index.AmountStrip || s.Count == 0 {
			continue
		}
		x := &l.all[s.Track]
		peak := slices.Max(t.Max[s.First : s.First+s.Count])
		if float64(peak) <= x.Capacity*(1+1e-6) { // amounts have 24 bits here
			continue
		}
		if more++; more <= mostOverloads {
			l.notes = append(l.notes, strings.TrimSpace(fmt.Sprintf("%s: claims hold up to %s of %s %s", trackName(x), number(float64(peak)), number(x.Capacity), x.Unit))+".")
		}
	}
	if more -= mostOverloads; more > 0 {
		l.notes = append(l.notes, fmt.Sprintf("Claims hold more than there is of %d more resources.", more))
	}
	return nil
}

// findLinks finds those between the rows.
func (l *sheet) findLinks(ctx context.Context) error {
	if l.Links <= 0 || len(l.rows) == 0 {
		return nil
	}
	q := index.LinkRequest{From: l.from, To: l.to, Limit: l.Links}
	shown := map[int]bool{}
	for _, r := range l.rows {
		shown[r.track] = true
	}
	if len(shown) < len(l.all) {
		q.Tracks = l.tracks()
	}
	set, err := l.Index.Links(ctx, q)
	if err != nil {
		return err
	}
	drawn := int64(0)
	for _, x := range set.Links {
		if shown[x.Source] && shown[x.Destination] {
			l.arrows = append(l.arrows, x)
			drawn += x.Count
		}
	}
	note := ""
	if drawn < set.Total {
		note = fmt.Sprintf("%d of %d messages and dependencies are drawn", drawn, set.Total)
	}
	if n := int64(len(l.arrows)); n < drawn {
		note = fmt.Sprintf("%d of %d messages and dependencies are drawn as %d arrows, thicker where one stands for more", drawn, set.Total, n)
	}
	if note != "" {
		l.notes = append(l.notes, note+".")
	}
	return nil
}

// legendEntries is how many regions the legend names.
const legendEntries = 16

// measured says what a time in the legend is, or how many there are of a name that has no time, by what a row shows.
func (l *sheet) measured(kind index.TrackKind, time string, count int64) string {
	of, one, several := " exclusive", "visit", "visits"
	switch {
	case kind == index.CommunicatorTrack:
		of, one, several = " of operations", "operation", "operations"
	case kind == index.ResourceTrack && l.Spans == OfVisits:
		of = " inclusive"
	case kind == index.ResourceTrack && l.Spans == OfBoth:
		of, one, several = " inclusive, or of claims", "visit or claim", "visits or claims"
	case kind == index.ResourceTrack:
		of, one, several = " of claims", "claim", "claims"
	}
	switch {
	case time != "":
		return time + of
	case count == 1:
		return "1 " + one
	}
	return fmt.Sprint(count, " ", several)
}

// layLegend finds out which regions the rows are in most.
func (l *sheet) layLegend(ctx context.Context, y float64) (float64, error) {
	tracks := l.tracks()
	sums, err := l.Index.Profiles(ctx, tracks, l.from, l.to)
	if err != nil {
		return 0, err
	}
	type key struct {
		name string
		kind index.TrackKind
	}
	type used struct {
		key
		color rgb
		ticks trace.Ticks
		count int64
	}
	var list []used
	at := map[key]int{}
	for row, of := range sums {
		kind := l.Index.Tracks()[tracks[row]].Kind
		for _, s := range of {
			name, c := unknownRegion, l.t.other
			if int(s.Region) < len(l.regions) {
				name, c = l.Index.Region(s.Region), l.regions[s.Region]
			}
			k := key{name, kind}
			i, ok := at[k]
			if !ok {
				i = len(list)
				at[k] = i
				list = append(list, used{key: k, color: c})
			}
			list[i].ticks = list[i].ticks.Plus(s.Exclusive)
			list[i].count += s.Count
		}
	}
	slices.SortFunc(list, func(a, b used) int {
		return cmp.Or(b.ticks.Cmp(a.ticks), cmp.Compare(b.count, a.count), cmp.Compare(a.name, b.name), cmp.Compare(a.kind, b.kind))
	})
	clock := l.Index.Clock()
	for i, u := range list {
		if i == legendEntries {
			l.notes = append(l.notes, fmt.Sprintf("The legend has the %d names with most time, of %d.", i, len(list)))
			break
		}
		e := entry{kind: 'b', color: u.color, full: u.name, name: regular.fit(u.name, textSize, 220)}
		time := ""
		if u.ticks.Cmp(trace.Ticks{}) > 0 {
			time = clock.FormatSum(u.ticks)
		}
		e.more = l.measured(u.kind, time, u.count)
		l.legend = append(l.legend, e)
	}
	for _, k := range []index.LinkKind{index.Message, index.Dependency} {
		if slices.ContainsFunc(l.arrows, func(a index.Link) bool { return a.Kind == k }) {
			l.legend = append(l.legend, entry{kind: 'a', color: l.t.arrow, name: k.String(), full: k.String()})
		}
	}
	return place(l.legend, float64(l.width-margin), y), nil
}

// unknownRegion stands for regions that no definition has.
const unknownRegion = "unknown"

// tile asks the index for the rows.
func (l *sheet) tile(ctx context.Context, scale int) (*index.Tile, error) {
	return l.Index.Tile(ctx, index.TileRequest{From: l.from, To: l.to, Width: int(l.plot.w) * scale, Depths: l.depths, Tracks: l.tracks()})
}

// tracks are those of the rows.
func (l *sheet) tracks() (list []int) {
	for _, r := range l.rows {
		list = append(list, r.track)
	}
	return list
}

// strips are those that each row shows, in their order. What lies one upon another in a
// stack is not among the first, but in lanes.
func (l *sheet) strips(t *index.Tile) iter.Seq2[*sheetRow, rowStrips] {
	return func(yield func(*sheetRow, rowStrips) bool) {
		k := 0
		for i := range l.rows {
			r := &l.rows[i]
			var of rowStrips
			for ; k < len(t.Strips) && t.Strips[k].Track == r.track; k++ {
				switch s := t.Strips[k]; {
				case r.stacked && s.Kind == index.SpanStrip:
					of.lanes = append(of.lanes, s)
				case s.Kind != index.AmountStrip || r.extra > 0:
					of.single = append(of.single, s)
				}
			}
			if !yield(r, of) {
				return
			}
		}
	}
}

// rowStrips are the strips of a row.
type rowStrips struct {
	single []index.Strip
	lanes  []index.Strip // of a stack, which lies on the others
}

// values are those at the lower and upper edge of a curve.
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
		high = 1 // nothing is held
	}
	return 0, high
}

// curveColors are those that curves and amounts are drawn in. Behind a stack the amount
// shows what the lanes hold that are left out.
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

// pixels draws the strips as the page does.
func (l *sheet) pixels(c *pngCanvas, t *index.Tile, scale int) {
	x0 := int(l.plot.x) * scale
	for r, of := range l.strips(t) {
		for _, s := range of.single {
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
		if len(of.lanes) > 0 {
			y, h := l.rect(r, of.lanes[0], scale)
			raster.Stack(c.img, x0, y, h, t, of.lanes, 0, t.Width, scale, &l.colors)
		}
	}
}

// boxes draws the strips as shapes, those of a row that look alike as one.
func (l *sheet) boxes(c canvas, t *index.Tile) {
	none := func(raster.Box) string { return "" }
	region := func(b raster.Box) string {
		if r := t.Region[b.Run]; int(r) < len(l.regions) {
			return l.Index.Region(r)
		}
		return unknownRegion
	}
	for r, of := range l.strips(t) {
		for _, s := range of.single {
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
		if len(of.lanes) > 0 {
			y, h := l.rect(r, of.lanes[0], 1)
			l.shapes(c, y, 1, region, raster.StackBoxes(h, t, of.lanes, 0, t.Width, 1, &l.colors))
		}
	}
}

// shapes draws the boxes of a strip that is at y, those that look alike as one shape.
func (l *sheet) shapes(c canvas, y int, alpha float64, title func(raster.Box) string, all iter.Seq[raster.Box]) {
	var shapes []shape
	at := map[look]int{}
	for b := range all {
		k := look{fromRGBA(b.Color), title(b)}
		i, ok := at[k]
		if !ok {
			i = len(shapes)
			at[k] = i
			shapes = append(shapes, shape{look: k})
		}
		shapes[i].add(box{l.plot.x + float64(b.X), float64(y + b.Y), float64(b.W), float64(b.H)})
	}
	for _, p := range shapes {
		c.boxes(p.color, alpha, p.title, p.list...)
	}
}

// look is a colour and what it stands for.
type look struct {
	color rgb
	title string
}

// shape is boxes that look alike.
type shape struct {
	look
	list []box
}

// add adds a box; one that goes on where the last one ends becomes a part of it.
func (s *shape) add(b box) {
	if n := len(s.list); n > 0 {
		if o := &s.list[n-1]; o.y == b.y && o.h == b.h && o.x+o.w == b.x {
			o.w += b.w
			return
		}
	}
	s.list = append(s.list, b)
}

// draw draws all; strips draws what is in the rows.
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
	if _, last, _ := l.Index.Extent(); end == behind(last) {
		end = last // the tick behind it is there for what happens in it
	}
	span := clock.FormatDuration(saturated(end, l.from))
	if l.from != l.origin {
		span += " from " + clock.FormatDuration(saturated(l.from, l.origin))
	}
	c.text(label{x: right, y: 24, s: span, full: span, size: textSize, anchor: atEnd, color: l.t.dim})
	room := right - margin - regular.measure(span, textSize) - 20
	c.text(label{x: margin, y: 24, s: bold.fit(l.title, titleSize, room), full: l.title, size: titleSize, bold: true, color: l.t.text})

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
		c.text(label{x: l.plot.x + l.plot.w/2, y: l.plot.y + 34, s: "no events", full: "no events", size: textSize, anchor: atMiddle, color: l.t.dim})
	}
	if l.more > 0 {
		s := fmt.Sprintf("… and %d more rows", l.more)
		if l.more == 1 {
			s = "… and 1 more row"
		}
		c.text(label{x: margin, y: below + 17, s: s, full: s, size: textSize, color: l.t.dim})
	}
}

// behind is the end of a window that ends with an event of a time.
func behind(t int64) int64 { return trace.Add(t, 1) }

// saturated is the difference of two times, as far as there are such.
func saturated(a, b int64) int64 {
	if d := a - b; (a >= b) == (d >= 0) {
		return d
	}
	return math.MaxInt64
}

// drawLabel writes what stands left of a row, and the line below it.
func (l *sheet) drawLabel(c canvas, r *sheetRow) {
	right := l.plot.x + l.plot.w
	y, h := float64(r.y), float64(r.h)
	if r.head != "" {
		c.boxes(l.t.band, 1, "", box{margin - 4, y - headHeight, right - margin + 4, headHeight})
		c.text(label{x: margin, y: y - 5, s: bold.fit(r.head, smallSize, right-margin), full: r.head, size: smallSize, bold: true, color: l.t.dim})
	}
	c.boxes(l.t.grid, 1, "", box{margin - 4, y + h - 1, right - margin + 4, 1})
	high, low := "", ""
	if r.extra > 0 {
		high, low = l.edges(r)
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
	c.text(label{x: margin + r.indent, y: y + min(h, 60)/2 + size*0.36, s: regular.fit(r.label, size, room), full: r.label, size: size, color: l.t.text})
}

// edges are what the upper and the lower edge of a curve stand for.
func (l *sheet) edges(r *sheetRow) (high, low string) {
	t := &l.all[r.track]
	switch t.Kind {
	case index.CounterTrack:
		high = strings.TrimSpace(number(t.High) + " " + t.Unit)
		if t.Low != t.High {
			low = number(t.Low)
		}
	case index.ResourceTrack:
		if t.Capacity > 0 {
			high = strings.TrimSpace(number(t.Capacity) + " " + t.Unit)
		}
		if r.stacked {
			low = "0"
		}
	}
	return regular.fit(high, smallSize, 90), regular.fit(low, smallSize, 90)
}

// drawNames writes the names of regions into spans that have the room.
func (l *sheet) drawNames(c canvas, t *index.Tile, scale int) {
	of := float64(scale)
	// write puts a name into a box, in pixels of the tile from the plot's left edge.
	write := func(region uint32, x, y, w, h int, size float64) {
		full := l.Index.Region(region)
		name := regular.fit(full, size, float64(w)/of-8)
		if name != full && len([]rune(name)) < 4 {
			return
		}
		c.text(label{x: l.plot.x + float64(x)/of + 4, y: (float64(y)+float64(h)/2)/of + size*0.36, s: name, full: full, size: size, color: l.regions[region].ink()})
	}
	named := func(k int) bool { return t.Flags[k]&index.Single != 0 && int(t.Region[k]) < len(l.regions) }
	for r, strips := range l.strips(t) {
		for _, s := range strips.single {
			y, h := l.rect(r, s, scale)
			height := float64(h) / of
			if s.Kind != index.SpanStrip || height < 11 {
				continue
			}
			for k := s.First; k < s.First+s.Count; k++ {
				if w := int(t.N[k]); named(k) && w >= 24*scale && t.Height[k] == math.MaxUint8 {
					write(t.Region[k], int(t.X[k]), y, w, h, min(11, height-2))
				}
			}
		}
		if len(strips.lanes) == 0 || l.strip < leastNamed {
			continue
		}
		y, h := l.rect(r, strips.lanes[0], scale)
		for _, p := range pieces(raster.StackBoxes(h, t, strips.lanes, 0, t.Width, scale, &l.colors)) {
			if p.W >= 26*scale && p.H >= 9*scale && named(p.Run) {
				write(t.Region[p.Run], p.X, y+p.Y, p.W, p.H, min(11, max(8.5, float64(l.strip-3))))
			}
		}
	}
}

// nameMarks writes the names of the instants of rows without spans to the right of them, where
// there is room up to the next one; that of the last one also to its left.
func (l *sheet) nameMarks(c canvas) error {
	if l.strip < markedStrip {
		return nil
	}
	right := l.plot.x + l.plot.w
	for i := range l.rows {
		r := &l.rows[i]
		if t := &l.all[r.track]; t.Instants == 0 || r.strips > 0 {
			continue
		}
		var list []index.Instant
		err := l.Index.EachInstant(r.track, l.from, l.to, func(n index.Instant) {
			if len(list) <= mostMarks {
				list = append(list, n)
			}
		})
		if err != nil {
			return err
		}
		if len(list) > mostMarks {
			continue
		}
		x := func(k int) float64 { return l.x(list[k].Time) }
		y := float64(r.y) + float64(r.h)/2 + smallSize*0.36
		before := l.plot.x // where there is room from
		for k, n := range list {
			next := right
			if k+1 < len(list) {
				next = x(k+1) - 6
			}
			full := strings.TrimSpace(n.Name)
			m := label{x: x(k) + 5, y: y, s: full, full: full, size: smallSize, color: l.t.text}
			if w := regular.measure(full, smallSize); m.x+w > next {
				if k+1 == len(list) && x(k)-5-w > before {
					m.x, m.anchor = x(k)-5, atEnd
				} else if m.s = regular.fit(full, smallSize, next-m.x); len([]rune(m.s)) < 4 {
					m.s = ""
				}
			}
			if m.s != "" {
				c.text(m)
				before = m.x + regular.measure(m.s, smallSize)
			}
		}
	}
	return nil
}

// Names stand beside instants where strips are as high as for the names of spans, and not beside
// more of a row than that.
const (
	markedStrip = 12
	mostMarks   = 256
)

// x is where a time lies in the picture.
func (l *sheet) x(t int64) float64 {
	return l.plot.x + l.plot.w*((float64(t)-float64(l.from))/float64(uint64(l.to)-uint64(l.from)))
}

// leastNamed is how high strips are at least for claims in stacks to have names.
const leastNamed = 9

// pieces puts the boxes of each claim together as far as it keeps its place in the stack.
func pieces(boxes iter.Seq[raster.Box]) []raster.Box {
	var out []raster.Box
	last := map[int]int{} // of each run
	for b := range boxes {
		if i, ok := last[b.Run]; ok {
			if p := &out[i]; p.Y == b.Y && p.H == b.H && p.X+p.W == b.X {
				p.W += b.W
				continue
			}
		}
		last[b.Run] = len(out)
		out = append(out, b)
	}
	return out
}

// upright is what part of the width a bundle of links has to be longer than to be drawn
// aslant: it stands for what begins in a stretch about half as long, and would show nothing
// but that.
const upright = 1.0 / 32

// drawArrows draws links from the spans that hold their begins to those that hold their
// ends, as the page does; bundles thicker, and from the middles of rows to those of others.
func (l *sheet) drawArrows(c canvas, t *index.Tile, scale int) {
	row := map[int]*sheetRow{}
	for i := range l.rows {
		row[l.rows[i].track] = &l.rows[i]
	}
	height := l.ends(t, scale)
	strokes, heads := map[float64][][]point{}, map[float64][][]point{}
	var all [][]point
	for _, a := range l.arrows {
		src, dst := row[a.Source], row[a.Destination]
		s, d := point{l.x(a.Start), src.middle()}, point{l.x(a.End), dst.middle()}
		switch {
		case a.Count > 1:
			if math.Abs(d.x-s.x) < l.plot.w*upright {
				s.x = (s.x + d.x) / 2
				d.x = s.x
			}
		default:
			leaves := s.x
			if a.Kind == index.Dependency && a.Start > l.origin {
				leaves = l.x(a.Start - 1) // where the next span may begin already
			}
			// Messages arrive where what receives them ends, dependencies leave where claims do.
			s.y, d.y = height(src, leaves, a.Kind == index.Dependency), height(dst, d.x, a.Kind == index.Message)
		}
		stroke := []point{s, d}
		if src == dst && math.Abs(s.x-d.x) > 6 {
			stroke = arc(s, d, min(float64(src.h)*0.4, 16))
		}
		stroke, whole := l.plot.cut(stroke)
		if len(stroke) < 2 {
			continue
		}
		w := 1.2
		if a.Count > 1 {
			w = min(6, math.Round(2+2*math.Log10(float64(a.Count)))/2+0.5)
		}
		strokes[w] = append(strokes[w], stroke)
		all = append(all, stroke)
		if whole {
			heads[w] = append(heads[w], head(stroke, 6+w))
		}
	}
	alpha := 0.85
	switch n := len(all); {
	case n > 3*many:
		alpha = 0.3
	case n > many:
		alpha = 0.45
	default:
		c.lines(l.t.paper, 0.7, 3.2, all...)
	}
	for _, w := range slices.Sorted(maps.Keys(strokes)) {
		c.lines(l.t.arrow, alpha, w, strokes[w]...)
		c.polygons(l.t.arrow, alpha, heads[w]...)
	}
}

// ends finds how high the end of a link lies in a row, at a place of the picture: in the
// strip that holds the span it belongs to, or else in the middle of the row.
func (l *sheet) ends(t *index.Tile, scale int) func(r *sheetRow, x float64, ends bool) float64 {
	strips, stacks := map[*sheetRow]rowStrips{}, map[*sheetRow][]raster.Box{}
	for r, of := range l.strips(t) {
		strips[r] = of
	}
	return func(r *sheetRow, x float64, ends bool) float64 {
		of, column := strips[r], (x-l.plot.x)*float64(scale)
		list := of.single
		if r.stacked {
			list = of.lanes
		}
		depth := raster.DepthAt(t, list, column, l.all[r.track].Kind != index.ResourceTrack, ends)
		switch {
		case depth < 0:
			return r.middle()
		case !r.stacked:
			return float64(r.y+l.pad()) + (float64(depth)+0.5)*float64(l.strip)
		}
		y, h := l.rect(r, of.lanes[0], scale)
		if stacks[r] == nil {
			stacks[r] = pieces(raster.StackBoxes(h, t, of.lanes, 0, t.Width, scale, &l.colors))
		}
		for _, p := range stacks[r] {
			lane := slices.IndexFunc(of.lanes, func(s index.Strip) bool { return s.First <= p.Run && p.Run < s.First+s.Count })
			if right := float64(p.X + p.W); of.lanes[lane].Depth != depth || ends && right < column-1 || !ends && right <= column+1 {
				continue
			}
			if float64(p.X) <= column+1 {
				return (float64(y+p.Y) + float64(p.H)/2) / float64(scale)
			}
			break
		}
		return r.middle()
	}
}

func (r *sheetRow) middle() float64 { return float64(r.y) + float64(r.h)/2 }
