package draw

import (
	"cmp"
	"context"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/draw/raster"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/timeline/index"
	"github.com/weft-trace/weft/trace"
)

// sheet is a Sheet together with the computed positions of its parts.
type sheet struct {
	*Sheet
	t             *theme
	title         string
	width, height int
	from, to      int64 // first and last time of the window, in ticks
	origin        int64
	depths        int
	strip         int // height of a strip in pixels
	plot          box // area of the rows, to the right of the row labels
	all           []index.Track
	rows          []sheetRow
	omittedRows   int // number of rows that are left out
	regions       []rgb
	colors        raster.Colors
	arrows        []index.Link
	legend        []legendEntry
	notes         []string
	notesY        float64
}

// sheetRow is the row of a track and its position.
type sheetRow struct {
	track  int
	label  string
	head   string // heading above the row
	indent float64
	y, h   int
	strips int
	extra  int // height of the curve or stack, in pixels
	// stacked is set if the lanes of a resource are stacked in a box.
	stacked bool
}

// The heights of the parts of rows are the same as on the viewer's page.
const (
	curveHeight    = 34
	minRow         = 15
	minAmount      = 14
	minStack       = 36
	maxStack       = 128
	sheetFits      = 900 // if the total height of the rows exceeds this number of pixels, strips become lower
	sheetRows      = 64
	sheetDepths    = 8
	moreRowsHeight = 22
)

func (s *Sheet) layOut(ctx context.Context) (*sheet, error) {
	l := &sheet{Sheet: s, t: &light, title: cmp.Or(s.Title, "Timeline"), depths: cmp.Or(s.MaxDepth, sheetDepths)}
	if s.Dark {
		l.t = &dark
	}
	var err error
	if l.width, err = s.Options.width(); err != nil {
		return nil, err
	}
	if most := index.MaxWidth / max(s.Scale, 1); Columns(l.width) > most {
		return nil, &format.OptionError{Option: "width", Value: strconv.Itoa(l.width),
			Expected: fmt.Sprintf("at most %d pixels at this scale", most+gutter+margin)}
	}
	if err := s.checkLimits(); err != nil {
		return nil, err
	}
	first, last, _ := s.Index.Extent()
	l.origin, l.from, l.to = first, s.From, s.To
	if s.Origin != nil {
		l.origin = *s.Origin
	} else if s.Colors != nil {
		l.origin, _, _ = s.Colors.Extent()
	}
	if l.to <= l.from {
		l.from, l.to = first, windowEnd(last)
	}
	if l.to <= l.from {
		l.from-- // windowEnd cannot exceed the latest possible tick, so the window begins one tick earlier
	}
	l.all = s.Index.Tracks()
	colors, err := Colors(ctx, s.Index, cmp.Or(s.Colors, s.Index))
	if err != nil {
		return nil, err
	}
	l.regions = make([]rgb, len(colors))
	for i, c := range colors {
		l.regions[i] = l.t.palette[c]
	}
	l.colors = raster.Colors{Other: l.t.other.rgba(), Mark: l.t.arrow.rgba(), Curve: l.t.curve.rgba(),
		Region: func(r uint32) color.RGBA {
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
	if l.omittedRows > 0 {
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

// checkLimits returns an error if a limit or a height is negative.
func (s *Sheet) checkLimits() error {
	for _, x := range []struct {
		field string
		n     int
	}{{"MaxRows", s.MaxRows}, {"MaxDepth", s.MaxDepth}, {"StripHeight", s.StripHeight}, {"Links", s.Links}} {
		if x.n < 0 {
			return &format.OptionError{Option: x.field, Value: strconv.Itoa(x.n), Expected: "a number from 0 on"}
		}
	}
	return nil
}

// layRows chooses the rows and positions them.
func (l *sheet) layRows() error {
	groups := l.Index.Groups()
	order := l.Tracks
	if order == nil {
		order = arrange(l.all, groups)
	}
	if most := cmp.Or(l.MaxRows, sheetRows); len(order) > most {
		l.omittedRows = len(order) - most
		order = order[:most]
	}
	members := map[uint32]int{} // number of rows of each group; counters that belong to another row do not count
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
			stacked: t.Kind == index.ResourceTrack && t.Depth > 0 && (t.Depth > 1 || t.Offsets) && t.Capacity > 0}
		cut = max(cut, t.Depth-l.depths)
		above := heading(t, groups)
		switch {
		case t.Kind == index.CounterTrack && t.Parent >= 0:
			r.indent = 10
			above = head
		case t.Group != trace.NoRef && int(t.Group) < len(groups) && members[t.Group] == 1:
			// A process with one thread, or the only thread of a process, is labelled in one line.
			g := groups[t.Group]
			if name := cmp.Or(g.Name, g.ID); name != r.label {
				r.label = name + " · " + r.label
			}
			above = groupPath(groups, g.Parent)
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

// isValue reports whether a track is a value of an attribute rather than a resource.
func isValue(t *index.Track) bool { return t.Sort == string(trace.ValueLocation) }

// trackName returns the label of a track.
func trackName(t *index.Track) string { return cmp.Or(t.Name, cmp.Or(t.Sort, string(t.Kind))+" "+t.ID) }

// placeRows positions the rows according to the current height of strips, and returns the sum of the row
// heights.
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
			r.extra = max(minStack, min(maxStack, r.strips*l.strip))
			r.h = r.extra + 2*l.pad()
		default:
			// the height of a single lane already shows the amount
			if t.Kind == index.ResourceTrack && t.Depth > 1 && !isValue(t) {
				r.extra = max(minAmount, (3*l.strip+1)/2)
			}
			r.h = max(minRow, r.strips*l.strip+r.extra+2*l.pad())
		}
		r.y = y
		y += r.h
	}
	return y - int(l.plot.y)
}

// pad returns the distance between the strips of a row and its edges.
func (l *sheet) pad() int {
	if l.strip >= 8 {
		return 2
	}
	return 1
}

// rect returns the upper edge and the height of a strip of a row, in units of 1/scale pixels of the picture.
func (l *sheet) rect(r *sheetRow, s index.Strip, scale int) (y, h int) {
	top := r.y + l.pad()
	gap := 0 // gap between strips, in pixels
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

// arrange returns the indexes of tracks in the order in which the viewer's page shows them: tracks of a
// group are next to each other, counters are below the tracks to which they belong, and communicators
// come last.
func arrange(tracks []index.Track, groups []trace.LocationGroup) []int {
	var roots, resources, counters, communicators []int
	ofGroup, below := make([][]int, len(groups)), map[int][]int{}
	for i, t := range tracks {
		switch {
		case t.Kind == index.CommunicatorTrack:
			communicators = append(communicators, i)
		case t.Kind == index.CounterTrack && t.Parent >= 0 && t.Parent < i:
			below[t.Parent] = append(below[t.Parent], i)
		case t.Kind == index.CounterTrack:
			counters = append(counters, i)
		case t.Group != trace.NoRef && int(t.Group) < len(groups):
			ofGroup[t.Group] = append(ofGroup[t.Group], i)
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
			add(ofGroup[g])
			slices.Reverse(inside[g])
			stack = append(stack, inside[g]...)
		}
	}
	for _, g := range top {
		visit(g)
	}
	for g := range groups {
		visit(uint32(g)) // the remaining groups contain each other
	}
	add(resources)
	add(counters)
	return append(out, communicators...)
}

// heading returns the heading above a track. Neighbouring tracks with the same heading share it.
func heading(t *index.Track, groups []trace.LocationGroup) string {
	switch {
	case t.Kind == index.CommunicatorTrack:
		return "Communicators"
	case t.Kind == index.CounterTrack && t.Parent < 0:
		return "Counters"
	case t.Group != trace.NoRef && int(t.Group) < len(groups):
		return groupPath(groups, t.Group)
	case t.Kind == index.ResourceTrack && !isValue(t):
		return "Resources"
	}
	return ""
}

// groupPath returns the name of a group, preceded by the names of up to two groups around it.
func groupPath(groups []trace.LocationGroup, g uint32) string {
	var names []string
	for ; g != trace.NoRef && int(g) < len(groups) && len(names) < 3; g = groups[g].Parent {
		names = append(names, cmp.Or(groups[g].Name, groups[g].ID))
	}
	slices.Reverse(names)
	return strings.Join(names, " / ")
}

// maxOverloads is the largest number of overloaded resources that the notes list by name.
const maxOverloads = 8

// findOverloads adds notes for the resources whose claims exceed their capacity.
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
		if float64(peak) <= x.Capacity*(1+1e-6) { // amounts have a precision of 24 bits here
			continue
		}
		if more++; more <= maxOverloads {
			l.notes = append(l.notes,
				strings.TrimSpace(fmt.Sprintf("%s: claims hold up to %s of %s %s", trackName(x), formatNumber(float64(peak)),
					formatNumber(x.Capacity), x.Unit))+".")
		}
	}
	if more -= maxOverloads; more > 0 {
		l.notes = append(l.notes, fmt.Sprintf("Claims hold more than there is of %s.", plural.Of(more, "more resource")))
	}
	return nil
}

// findLinks queries the links between the rows of the sheet.
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
		note = fmt.Sprintf("%d of %d messages and dependencies are drawn as %s, thicker where one stands for more",
			drawn, set.Total, plural.Of(n, "arrow"))
	}
	if note != "" {
		l.notes = append(l.notes, note+".")
	}
	return nil
}

// legendEntries is the largest number of regions in the legend.
const legendEntries = 16

// legendText returns the text after a region in the legend: the given time and its meaning, which depends on
// the kind of track. If time is empty, the text states the number of spans.
func (l *sheet) legendText(kind index.TrackKind, time string, count int64) string {
	meaning, one, several := " exclusive", "visit", "visits"
	switch {
	case kind == index.CommunicatorTrack:
		meaning, one, several = " of operations", "operation", "operations"
	case kind == index.ResourceTrack && l.Spans == VisitSpans:
		meaning = " inclusive"
	case kind == index.ResourceTrack && l.Spans == AllSpans:
		meaning, one, several = " inclusive, or of claims", "visit or claim", "visits or claims"
	case kind == index.ResourceTrack:
		meaning, one, several = " of claims", "claim", "claims"
	}
	switch {
	case time != "":
		return time + meaning
	case count == 1:
		return "1 " + one
	}
	return fmt.Sprint(count, " ", several)
}

// layLegend fills the legend with the regions in which the rows spend the most time. It places the entries
// below the position y, and returns the position of their lower end.
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
	for row, rowSums := range sums {
		kind := l.Index.Tracks()[tracks[row]].Kind
		for _, s := range rowSums {
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
	if l.Times != nil {
		exclusive, err := l.exclusiveTimes(ctx, tracks)
		if err != nil {
			return 0, err
		}
		for i := range list {
			if list[i].kind == index.LocationTrack {
				list[i].ticks = exclusive[list[i].name]
			}
		}
	}
	slices.SortFunc(list, func(a, b used) int {
		return cmp.Or(b.ticks.Cmp(a.ticks), cmp.Compare(b.count, a.count), cmp.Compare(a.name, b.name),
			cmp.Compare(a.kind, b.kind))
	})
	clock := l.Index.Clock()
	for i, u := range list {
		if i == legendEntries {
			l.notes = append(l.notes, fmt.Sprintf("The legend has the %d names with most time, of %d.", i, len(list)))
			break
		}
		e := legendEntry{kind: 'b', color: u.color, full: u.name, name: regular.fit(u.name, textSize, 220)}
		time := ""
		if u.ticks.Cmp(trace.Ticks{}) > 0 {
			time = clock.FormatSum(u.ticks)
		}
		e.more = l.legendText(u.kind, time, u.count)
		l.legend = append(l.legend, e)
	}
	if l.omittedRows > 0 && len(l.legend) > 0 {
		l.notes = append(l.notes, "The figures in the legend are those of the drawn rows.")
	}
	for _, k := range []index.LinkKind{index.Message, index.Dependency} {
		if slices.ContainsFunc(l.arrows, func(a index.Link) bool { return a.Kind == k }) {
			l.legend = append(l.legend, legendEntry{kind: 'a', color: l.t.arrow, name: k.String(), full: k.String()})
		}
	}
	return placeLegend(l.legend, float64(l.width-margin), y), nil
}

// exclusiveTimes returns exclusive times by the name of the region. It takes them from the index Times, for
// the locations of the given tracks of Index.
func (l *sheet) exclusiveTimes(ctx context.Context, tracks []int) (map[string]trace.Ticks, error) {
	drawn := map[uint32]bool{}
	for _, i := range tracks {
		if t := &l.Index.Tracks()[i]; t.Kind == index.LocationTrack {
			drawn[t.Location] = true
		}
	}
	var list []int
	for i, t := range l.Times.Tracks() {
		if t.Kind == index.LocationTrack && drawn[t.Location] {
			list = append(list, i)
		}
	}
	sums, err := l.Times.Profiles(ctx, list, l.from, l.to)
	if err != nil {
		return nil, err
	}
	times := map[string]trace.Ticks{}
	for _, rowSums := range sums {
		for _, s := range rowSums {
			name := unknownRegion
			if int(s.Region) < len(l.Times.Regions()) {
				name = l.Times.Region(s.Region)
			}
			times[name] = times[name].Plus(s.Exclusive)
		}
	}
	return times, nil
}

// unknownRegion is the name in the legend for undefined regions.
const unknownRegion = "unknown"

// tracks returns the index tracks of the rows, in order.
func (l *sheet) tracks() (list []int) {
	for _, r := range l.rows {
		list = append(list, r.track)
	}
	return list
}

// windowEnd returns the exclusive end of a window whose last tick is t.
func windowEnd(t int64) int64 { return trace.Add(t, 1) }

// saturatedDiff returns a − b, or the largest integer if the difference overflows.
func saturatedDiff(a, b int64) int64 {
	if d := a - b; (a >= b) == (d >= 0) {
		return d
	}
	return math.MaxInt64
}

func (r *sheetRow) middle() float64 { return float64(r.y) + float64(r.h)/2 }
