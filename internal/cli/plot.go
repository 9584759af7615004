package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/draw"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/compression"
	"github.com/weft-trace/weft/internal/nearest"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/serve"
	"github.com/weft-trace/weft/serve/cache"
	"github.com/weft-trace/weft/timeline/index"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// drawingFlags holds the flags for the appearance of a picture.
type drawingFlags struct {
	width  int
	title  string
	dark   bool
	scale  int
	format string
}

// plotFlags holds the flags that choose the content of a picture.
type plotFlags struct {
	drawingFlags
	rows, color     string
	maxRows         int
	links, messages bool
	spans           draw.Spans
	// the legend shows times of the whole trace, because the picture leaves out regions
	wholeTimes bool
	// time 0 of the axis; nil means the time 0 of the index
	origin *int64
	// definitions for --location and --group; nil means those of the picture
	defs  *trace.Definitions
	quiet bool
}

// Values of --rows and --color that are not attributes.
const (
	rowsByLocation = "location"
	rowsByResource = "resource"
	colorByRegion  = "region"
)

// rowsByAttribute reports whether the rows are values of an attribute.
func (p *plotFlags) rowsByAttribute() bool {
	return p.rows != rowsByLocation && p.rows != rowsByResource
}

// plotCommand returns the command weft plot.
func (a *app) plotCommand() *cobra.Command {
	var r inputFlags
	var s selectionFlags
	var p plotFlags
	var out, from string
	c := &cobra.Command{
		Use:   "plot TRACE",
		Short: "Draw the time line as SVG or PNG",
		Long: `Draw the time line of a trace as weft view shows it: one row for each location, resource or
value of an attribute, coloured by region or attribute. The height of a claim is its amount;
dependencies and messages are arrows, signals are curves. Among spans shorter than a pixel
the picture shows the longest. The legend lists exclusive times of regions, or times of claims
or operations, and states which times these are.

weft builds an index of the trace for the picture. It reads the whole trace, also for a
window: all pictures of a trace have the same rows, heights, scales and colours. --index
keeps the index in the cache and uses an existing one, so that further pictures take little
time; --index=FILE uses an index written by weft index.`,
		Example: "  weft plot -o trace.svg trace.etf\n" +
			"  weft plot --rows id --color name --from 10% --to 20% -o part.png trace.etf\n" +
			"  weft plot --index --from 10% --to 20% -o part.png trace.otf2",
		Args: exactArgs(1, "one trace"),
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			if out == "" {
				out = strings.TrimSuffix(filepath.Base(args[0]), filepath.Ext(args[0])) + ".svg"
				if args[0] == "-" {
					out = "-"
				}
			}
			p.quiet = r.quiet
			if from != "" {
				if p.rowsByAttribute() {
					return usageError("--rows %s: an index does not have the attributes of events; expected location or resource "+
						"with --index", p.rows)
				}
				for _, name := range []string{"color", "region", "kind"} {
					if c.Flags().Changed(name) {
						return usageError("--%s: found it with --index, which lacks the events that it needs; expected it "+
							"without --index", name)
					}
				}
				if p.links != p.messages {
					return usageError("--links=%t with --messages=%t: an index has both together; expected the same for both with "+
						"--index", p.links, p.messages)
				}
				return a.plotFromIndex(ctx, args[0], from, out, &r, &s, &p)
			}
			if _, err := p.imageFormat(out); err != nil {
				return err
			}
			in, err := a.open(ctx, args[0], &r)
			if err != nil {
				return err
			}
			defer in.Close()
			if err := a.plotTrace(ctx, in, out, &s, &p); err != nil {
				return err
			}
			in.bar.remove()
			a.reportDefects(in, r.quiet)
			return nil
		},
	}
	r.flags(c.Flags())
	r.defineClockFlag(c.Flags())
	s.register(c.Flags())
	f := c.Flags()
	f.StringVarP(&out, "output", "o", "",
		"file for the picture, .svg or .png; default: the trace's name with .svg; - is standard output")
	f.StringVar(&p.format, "to-format", "", "svg or png, if the name of the file does not determine it")
	f.StringVar(&p.rows, "rows", rowsByLocation,
		"rows of the picture: one for each location, resource, or value of the attribute with this name")
	f.StringVar(&p.color, "color", colorByRegion, "source of the colours: region, or the name of an attribute")
	f.Var(newInteger(&p.maxRows, 64, 1, 0), "max-rows", "greatest number of rows to draw")
	f.BoolVar(&p.links, "links", true, "draw dependencies")
	f.BoolVar(&p.messages, "messages", true, "draw messages")
	f.Var(newInteger(&p.width, draw.DefaultWidth, draw.LeastWidth, draw.MostWidth), "width",
		"width of the picture in pixels")
	f.StringVar(&p.title, "title", "", "title; default: the trace's name")
	f.BoolVar(&p.dark, "dark", false, "draw light text on a dark background")
	f.Var(newInteger(&p.scale, 1, 1, draw.MostScale), "scale",
		"number of pixels in a PNG for each pixel of --width, for screens with a high resolution")
	f.StringVar(&from, "index", "", "draw from the index in the cache, or from an index in a `FILE` (--index=FILE)")
	f.Lookup("index").NoOptDefVal = cacheIndex
	markInputFlag(f, "index")
	a.defineForceFlag(c)
	return c
}

// cacheIndex is the value of --index given without a file.
const cacheIndex = "cache"

// Bounds of a picture. The number of arrows is the same as on the viewer's page.
const (
	mostArrows = 2000
	mostDepths = 16 // greatest depth of nested spans that is drawn
)

// plotFromIndex draws a picture from a stored index of a trace. The index is in the cache or in a file.
func (a *app) plotFromIndex(ctx context.Context, arg, from, out string, r *inputFlags, s *selectionFlags,
	p *plotFlags) error {
	if _, err := p.imageFormat(out); err != nil {
		return err
	}
	draw := func(x *index.Index, path string) error {
		if p.rows == rowsByResource {
			if err := requireOneRowEach(x); err != nil {
				return err
			}
		}
		return a.drawIndex(ctx, x, x, path, out, s, p)
	}
	if from == cacheIndex {
		in := &input{}
		if err := a.findFile(ctx, in, arg, r); err != nil {
			return err
		}
		defer in.Close()
		return a.withIndex(ctx, in, r, func(x *index.Index) error { return draw(x, in.src.Path) })
	}
	x, err := index.Open(from)
	if errors.Is(err, index.ErrDamaged) {
		err = &exitError{exitDefects, err}
	}
	if err != nil {
		return err
	}
	defer x.Close()
	return draw(x, arg)
}

// withIndex calls f with the index of a trace in the cache. If the index is damaged, it builds the
// index again.
func (a *app) withIndex(ctx context.Context, in *input, r *inputFlags, f func(*index.Index) error) error {
	call := func(rebuild bool) error {
		x, err := a.openIndex(ctx, in, r, rebuild)
		if err != nil {
			return err
		}
		defer x.Close()
		return f(x)
	}
	err := call(false)
	if errors.Is(err, index.ErrDamaged) {
		err = call(true)
	}
	return err
}

// plotTrace draws an open trace. It builds an index for this picture only.
func (a *app) plotTrace(ctx context.Context, in *input, out string, s *selectionFlags, p *plotFlags) error {
	// The window and the locations are selected in the index, and not in the trace. Spans that are open
	// at the begin of the window are therefore drawn, and messages end at their receivers.
	sel, err := (&selectionFlags{kinds: s.kinds, regions: s.regions}).selection(ctx, in)
	if err != nil {
		return err
	}
	if s, err = s.withAbsoluteTimes(ctx, in); err != nil {
		return err
	}
	e, part := in.Events, false
	w := transform.FilterOptions{Kind: sel.Kind, Region: sel.Region}
	if !p.messages {
		w.NotKind = func(k trace.Kind) bool { return k.IsSend() || k.IsRecv() }
	}
	opt := index.Options{Workers: a.workers}
	if w.Kind != nil || w.NotKind != nil || w.Region != nil {
		whole := &lastEvents{Events: e, of: map[uint32]int64{}}
		e, part = transform.Filter(whole, w), true
		if p.rows == rowsByLocation {
			opt.LastEvent = whole.last
		}
	}
	if !p.links {
		e = withoutLinks{e}
	}
	moved := &visitsAndClaims{Events: e}
	switch {
	case p.rows == rowsByResource:
		e, part = transform.ByResource(e), true
	case p.rowsByAttribute():
		e, part = transform.ByAttribute(moved, p.rows), true
	}
	if p.color != colorByRegion {
		opt.Color = p.color
	}
	x, err := index.BuildTemporary(ctx, e, opt)
	if err != nil {
		return err
	}
	defer x.Close()
	if p.rowsByAttribute() {
		if err := checkRows(x, in.Defs(), p.rows); err != nil {
			return err
		}
		p.spans = moved.spans()
	}
	colors := x
	p.wholeTimes = sel.Region != nil && p.color == colorByRegion
	if part && (p.wholeTimes || !hasFewNames(x, p)) {
		opt.LastEvent = nil
		if colors, err = index.BuildTemporary(ctx, in.Events, opt); err != nil {
			return err
		}
		defer colors.Close()
	}
	if part {
		first, _, ok, err := format.Extent(ctx, in.Events)
		if err != nil {
			return err
		}
		if ok {
			p.origin = &first
		}
	}
	if p.rows == rowsByLocation {
		p.defs = in.Defs()
	}
	return a.drawIndex(ctx, x, colors, in.src.Path, out, s, p)
}

// hasFewNames reports whether there are so few names that each name has its own colour. In this case, the
// colours do not depend on the events.
func hasFewNames(x *index.Index, p *plotFlags) bool {
	names := map[string]bool{}
	for _, r := range x.Regions() {
		names[r.Name] = true
	}
	return p.color == colorByRegion && len(names) <= len(draw.Palette(false))
}

// checkRows returns an error if no event has the attribute name.
func checkRows(x *index.Index, d *trace.Definitions, name string) error {
	moved := 0 // number of tracks of values of the attribute, and of events without it
	for _, t := range x.Tracks() {
		switch {
		case t.Sort != string(trace.ValueLocation): // locations with counters stay
		case !transform.IsSharedRow(t.Name):
			return nil
		default:
			moved++
		}
	}
	if moved == 0 {
		return nil // the trace has no event that could have the attribute
	}
	rows := []string{rowsByLocation, rowsByResource}
	for _, a := range d.Attributes.All() {
		if !slices.Contains(rows, a.Name) {
			rows = append(rows, a.Name)
		}
	}
	near := nearest.Hint(name, rows)
	if n := len(rows); n > maxListed {
		rows = append(rows[:maxListed], fmt.Sprintf("… (%s)", plural.Of(n-maxListed, "more attribute")))
	}
	return usageError("--rows %s: expected one of %s%s", name, strings.Join(rows, ", "), near)
}

// maxListed is the largest number of names in a message.
const maxListed = 14

// withoutLinks delivers events without links.
type withoutLinks struct{ format.Events }

// Scan delivers the events without links.
func (e withoutLinks) Scan(ctx context.Context, sel trace.Selection, order format.Order, sink format.Sink) error {
	sel.Links = trace.NoLinks
	return e.Events.Scan(ctx, sel, order, sink)
}

// ScanParallel delivers the events without links.
func (e withoutLinks) ScanParallel(ctx context.Context, sel trace.Selection, begin func() func(int) format.Sink) error {
	sel.Links = trace.NoLinks
	return e.Events.ScanParallel(ctx, sel, begin)
}

// lastEvents delivers events, and records the time of the last event of each location.
type lastEvents struct {
	format.Events
	mu sync.Mutex
	of map[uint32]int64
}

// last returns the time of the last event of a location so far, or the smallest time.
func (e *lastEvents) last(location uint32) int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	if t, ok := e.of[location]; ok {
		return t
	}
	return math.MinInt64
}

func (e *lastEvents) record(b *trace.Batch) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i, k := range b.Kind {
		if k.IsEvent() {
			e.of[b.Location(i)] = b.Time[i]
		}
	}
}

type recordedSink struct {
	format.Sink
	e *lastEvents
}

func (s recordedSink) Batch(b *trace.Batch) error {
	s.e.record(b)
	return s.Sink.Batch(b)
}

func (s recordedSink) End(location uint32) error { return format.End(s.Sink, location) }

// Scan delivers the events and records their times.
func (e *lastEvents) Scan(ctx context.Context, sel trace.Selection, order format.Order, sink format.Sink) error {
	return e.Events.Scan(ctx, sel, order, recordedSink{sink, e})
}

// ScanParallel delivers the events and records their times.
func (e *lastEvents) ScanParallel(ctx context.Context, sel trace.Selection, begin func() func(int) format.Sink) error {
	return e.Events.ScanParallel(ctx, sel, func() func(int) format.Sink {
		f := begin()
		return func(i int) format.Sink { return recordedSink{f(i), e} }
	})
}

// visitsAndClaims delivers events, and records whether visits and claims are among them.
type visitsAndClaims struct {
	format.Events
	visits, claims bool
}

// Scan delivers the events and records whether visits and claims are among them.
func (e *visitsAndClaims) Scan(ctx context.Context, sel trace.Selection, order format.Order, sink format.Sink) error {
	return e.Events.Scan(ctx, sel, order, format.SinkFuncs{
		OnBatch: func(b *trace.Batch) error {
			e.visits = e.visits || slices.Contains(b.Kind, trace.Enter)
			e.claims = e.claims || slices.Contains(b.Kind, trace.ClaimBegin)
			return sink.Batch(b)
		},
		OnLinks: sink.Links,
	})
}

// spans returns the sort of spans to draw for the delivered events.
func (e *visitsAndClaims) spans() draw.Spans {
	switch {
	case !e.visits:
		return draw.ClaimSpans
	case e.claims:
		return draw.AllSpans
	}
	return draw.VisitSpans
}

// drawIndex draws the part of index x that the flags select. Colours come from colors, the index of the
// whole trace.
func (a *app) drawIndex(ctx context.Context, x, colors *index.Index, path, out string, s *selectionFlags,
	p *plotFlags) error {
	kind, err := p.imageFormat(out)
	if err != nil {
		return err
	}
	sheet := draw.Sheet{Index: x, Colors: colors, Spans: p.spans, Origin: p.origin, MaxRows: p.maxRows,
		MaxDepth: mostDepths,
		Options:  draw.Options{Width: p.width, Title: cmp.Or(p.title, filepath.Base(path)), Dark: p.dark, Scale: p.scale}}
	if p.wholeTimes {
		sheet.Times = colors
	}
	if p.links || p.messages {
		sheet.Links = mostArrows
	}
	var empty bool
	if sheet.From, sheet.To, empty, err = s.windowOf(x); err != nil {
		return err
	}
	if sheet.Tracks, err = s.tracksOf(x); err != nil {
		return err
	}
	if empty {
		sheet.Tracks = []int{}
	}
	if !p.quiet {
		where, d := "the trace", p.defs
		if d == nil {
			where = "the picture"
			d, _ = definitionsOf(x)
		}
		y := filterFlags{locations: s.locations, groups: s.groups}
		a.reportUnknownNames(where, d, y.flagNames())
		if _, _, events := x.Extent(); events == 0 || sheet.Tracks != nil && len(sheet.Tracks) == 0 {
			printf(a.err, "%s: found nothing to draw\n", path)
		}
	}
	if p.rowsByAttribute() && sheet.Tracks == nil {
		sheet.Tracks = draw.ValueOrder(x.Tracks())
	}
	file, err := a.createText(out)
	if err != nil {
		return err
	}
	return writeTo(file, func(w io.Writer) error {
		if kind == "svg" {
			return sheet.SVG(ctx, w)
		}
		return sheet.PNG(ctx, w)
	})
}

// requireOneRowEach returns an error for an index in which the claims on a resource are in several rows, with
// one row for each location that has claims.
func requireOneRowEach(x *index.Index) error {
	type resource struct{ id, name string }
	rows := map[resource]int{}
	for _, t := range x.Tracks() {
		if t.Kind != index.ResourceTrack {
			continue
		}
		r := resource{t.ID, t.Name}
		if rows[r]++; rows[r] > 1 {
			return usageError("--rows %s: the index has the claims on %s in a row for each location that made them; expected "+
				"it without --index",
				rowsByResource, cmp.Or(t.Name, t.ID))
		}
	}
	return nil
}

// openIndex opens the index of a trace in the cache. It builds the index if it does not exist or if
// rebuild is true.
func (a *app) openIndex(ctx context.Context, in *input, r *inputFlags, rebuild bool) (*index.Index, error) {
	how, err := a.serverSettings(r)
	if err != nil {
		return nil, err
	}
	store, err := cache.Default(0)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	b := a.newBar("indexing " + in.src.Path)
	defer b.remove()
	built, err := serve.MakeIndex(ctx, how, store, in.src, serve.IndexOptions{Force: rebuild, Progress: b.setProgress})
	if err != nil {
		return nil, err
	}
	b.remove()
	x, err := index.Open(built.Path)
	if err == nil {
		a.reportIndexing(in.src.Path, built.ReadDefects, r.quiet)
	}
	return x, err
}

// windowOf returns the window that the flags select, limited to the extent of the index. If the flags select
// no window, from equals to. empty is set if the window lies outside of the extent. Such a window is not
// limited. It is at least one tick long, so that it can be drawn.
func (s *selectionFlags) windowOf(x *index.Index) (from, to int64, empty bool, err error) {
	if err := s.splitWindow(); err != nil || s.from == "" && s.to == "" {
		return 0, 0, false, err
	}
	clock := x.Clock()
	first, last, _ := x.Extent()
	end := trace.Add(last, 1)
	from, to = first, end
	if err := parseTimes(clock, first, last, s.ends(&from, &to)...); err != nil {
		return 0, 0, false, err
	}
	switch {
	case s.from != "" && s.to != "" && from > to:
		return 0, 0, false, s.reversed()
	case isWhole(s.to):
		to = end
	}
	if f, t := max(first, from), min(end, to); f < t {
		return f, t, false, nil
	}
	if s.from == "" {
		from = trace.Add(to, -1)
	}
	if to = max(to, trace.Add(from, 1)); from == to {
		from-- // move back by a tick, to the latest possible window
	}
	return from, to, true, nil
}

// definitionsOf returns the locations and groups that the tracks of an index have, and the location
// of each track.
func definitionsOf(x *index.Index) (d *trace.Definitions, tracks map[int]uint32) {
	d, tracks = &trace.Definitions{}, map[int]uint32{}
	for i, t := range x.Tracks() {
		// The first track of a location has the location's name.
		if t.Kind != index.CommunicatorTrack && (t.Parent < 0 || t.Kind != index.CounterTrack) {
			tracks[i] = d.Locations.Add(trace.Location{ID: t.ID, Name: t.Name, Group: t.Group})
		}
	}
	for _, g := range x.Groups() {
		d.Groups.Add(g)
	}
	return d, tracks
}

// tracksOf returns the tracks of the locations that the flags select, or nil if they select all.
func (s *selectionFlags) tracksOf(x *index.Index) ([]int, error) {
	if len(s.locations)+len(s.groups) == 0 {
		return nil, nil
	}
	d, locations := definitionsOf(x)
	wanted, err := choose(d, aLocation, s.locations)
	if err != nil {
		return nil, err
	}
	groups, err := newPatterns(s.groups)
	if err != nil {
		return nil, err
	}
	tracks, chosen := []int{}, map[uint32]bool{}
	for i, t := range x.Tracks() {
		if t.Kind == index.CommunicatorTrack {
			continue
		}
		loc, named := locations[i]
		named = wanted == nil || named && wanted(loc)
		if named && (len(s.groups) == 0 || groups.matchGroup(x.Groups(), t.Group)) {
			chosen[t.Location] = true
		}
		if chosen[t.Location] {
			tracks = append(tracks, i)
		}
	}
	return tracks, nil
}

// imageFormat returns svg or png, according to the flag or the name of the file.
func (d *drawingFlags) imageFormat(path string) (string, error) {
	kind := d.format
	if kind == "" {
		ext := filepath.Ext(compression.PlainName(path))
		switch kind = strings.TrimPrefix(strings.ToLower(ext), "."); {
		case path == "-":
			kind = "svg"
		case kind != "svg" && kind != "png":
			return "", usageError("%s: found the ending %q, expected .svg or .png", path, ext)
		}
	}
	if kind != "svg" && kind != "png" {
		return "", usageError("--to-format %s: expected svg or png", kind)
	}
	return kind, nil
}
