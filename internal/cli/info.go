package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/analysis/counts"
	"github.com/weft-trace/weft/analysis/metrics"
	"github.com/weft-trace/weft/analysis/profile"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/timeline"
	"github.com/weft-trace/weft/trace"
)

// info is what weft info --json prints (docs/json.md).
type info struct {
	Path       string             `json:"path"`
	Format     string             `json:"format"`
	Files      []fileInfo         `json:"files"`
	Origin     string             `json:"origin,omitempty"` // format whose ids the trace bears, if another
	Clock      clockInfo          `json:"clock"`
	First      *int64             `json:"first"` // ticks; null without events
	Last       *int64             `json:"last"`
	Span       string             `json:"span"`            // seconds, exact
	Start      string             `json:"start,omitempty"` // wall clock of the first event
	Events     int64              `json:"events"`
	Derived    int64              `json:"derived"`
	Links      int64              `json:"links"`
	Properties map[string]any     `json:"properties,omitempty"`
	Kinds      []counts.Kind      `json:"kinds"`
	Locations  []locationInfo     `json:"locations"`
	Regions    []profile.Region   `json:"regions"`
	Activities []profile.Activity `json:"activities,omitempty"`
	Resources  []profile.Resource `json:"resources,omitempty"`
	Metrics    []metricInfo       `json:"signals,omitempty"`
	Attributes []counts.Attribute `json:"attributes,omitempty"`
	Unclosed   int64              `json:"unclosed"`
	Orphans    int64              `json:"orphans"`
	Errors     int64              `json:"errors"`
	Warnings   int64              `json:"warnings"`

	Records     []definitionRecords         `json:"definitionRecords,omitempty"`
	Definitions map[string][]map[string]any `json:"definitions,omitempty"`
	tables      []definitionTable           // the definitions, if asked for

	// Missing is by how much times of regions may be too small, if they are from sums
	// that the trace has of them.
	Missing *int64 `json:"missing,omitempty"`
	// TimesChanged is that these are right, but not the times of the events.
	TimesChanged bool `json:"timesChanged,omitempty"`
	// Details are what only the format has.
	Details map[string][]map[string]any `json:"details,omitempty"`
	details []format.Table
}

// infoOptions say what info shows.
type infoOptions struct{ definitions, details, exact bool }

type fileInfo struct {
	Path string `json:"path"`
	Size int64  `json:"size"` // bytes
}

type definitionRecords struct {
	Type  string `json:"type"`
	Count int64  `json:"count"`
}

type clockInfo struct {
	TicksPerSecond string `json:"ticksPerSecond"` // "1000000" or "1/60"
	Resolution     string `json:"resolution"`
	Epoch          *int64 `json:"epoch"` // ns since 1970 of tick 0; null when not known
}

func newClockInfo(c trace.Clock) clockInfo {
	x := clockInfo{TicksPerSecond: fmt.Sprint(c.Num), Resolution: c.Resolution()}
	if c.Den != 1 {
		x.TicksPerSecond = fmt.Sprintf("%d/%d", c.Num, c.Den)
	}
	if c.HasEpoch {
		x.Epoch = &c.Epoch
	}
	return x
}

type locationInfo struct {
	ID     string `json:"id"`
	Name   string `json:"name,omitempty"`
	Kind   string `json:"kind"`
	Group  string `json:"group,omitempty"`
	Events int64  `json:"events"`
	First  *int64 `json:"first"`
	Last   *int64 `json:"last"`
}

type metricInfo struct {
	ID     string `json:"id"`
	Name   string `json:"name,omitempty"`
	Unit   string `json:"unit,omitempty"`
	Kind   string `json:"kind"`
	Events int64  `json:"events"`
	// Values; null where there are none.
	Min  any `json:"min"`
	Max  any `json:"max"`
	Last any `json:"last"`
	// Per second, of counters that accumulate.
	AverageRate *trace.Real `json:"averageRate,omitempty"`
	HighestRate *trace.Real `json:"highestRate,omitempty"`
}

func (a *app) infoCommand() *cobra.Command {
	var r reading
	var asJSON bool
	var o infoOptions
	var top int
	var picture string
	c := &cobra.Command{
		Use:   "info TRACE",
		Short: "Show what is in a trace",
		Long: `Show what is in a trace: format, span, locations, events by kind, the regions
with the most time, resources, signals and attributes. --definitions lists all
that the trace defines too, --details what only its format has: of Pallas the
threads, events, sequences and loops of the grammars. --plot also draws the time
line, as weft plot does.

Where a format keeps sums beside the events, as Pallas does, those are shown and
the events are not read. Sums of times may be too small then, by 1 ns a visit;
--exact reads all events.`,
		Example: "  weft info trace.etf\n  weft info --json trace.trf\n  weft info --definitions trace.otf\n  weft info --plot overview.svg trace.etf",
		Args:    exactArgs(1, "one trace"),
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			in, err := a.openOnly(ctx, args[0], &r)
			if err != nil {
				return err
			}
			defer in.Close()
			x, err := a.info(ctx, in, o)
			if err != nil {
				return err
			}
			if picture != "" {
				if err := a.draw(ctx, in, picture, timeline.Options{Links: true, Messages: true}, drawing{}); err != nil {
					return err
				}
			}
			in.bar.done()
			if asJSON {
				return a.writeJSON(x)
			}
			a.printInfo(x, in, top)
			a.printDefinitions(x.tables)
			a.printDetails(x.details)
			if picture != "" && picture != "-" {
				fmt.Fprintf(a.out, "\nTime line drawn to %s\n", picture)
			}
			a.tell(in, r.quiet)
			return nil
		},
	}
	r.flags(c.Flags())
	r.clockFlag(c.Flags())
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&o.definitions, "definitions", false, "list all definitions too")
	c.Flags().BoolVar(&o.details, "details", false, "list what only the format has too")
	c.Flags().BoolVar(&o.exact, "exact", false, "read all events, also where the trace has sums of them")
	c.Flags().IntVar(&top, "top", 10, "how many regions, locations and attributes to list; 0 lists all")
	c.Flags().StringVar(&picture, "plot", "", "draw the time line to this .svg or .png file")
	return c
}

// tally is all that info counts in one scan.
type tally struct {
	counts  *counts.Part
	profile *profile.Part
	metrics *metrics.Part
}

func newTally(d *trace.Definitions) *tally {
	return &tally{counts.New(d), profile.New(d, profile.Options{}), metrics.New(d)}
}

// Batch counts events.
func (t *tally) Batch(b *trace.Batch) error {
	return errors.Join(t.counts.Batch(b), t.profile.Batch(b), t.metrics.Batch(b))
}

// Links counts links.
func (t *tally) Links(l []trace.Link) error { return t.counts.Links(l) }

// merge adds what another worker counted.
func (t *tally) merge(o *tally) error {
	return errors.Join(t.counts.Merge(o.counts), t.profile.Merge(o.profile), t.metrics.Merge(o.metrics))
}

// tallyAll scans a trace: each worker fills a tally of its own.
func tallyAll(ctx context.Context, in *input, sel trace.Selection) (*tally, error) {
	d := in.Defs()
	var mu sync.Mutex
	var all []*tally
	if err := format.ScanAnew(ctx, in.Decoder, sel, func() func(int) format.Sink {
		all = nil
		return func(int) format.Sink {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, newTally(d))
			return all[len(all)-1]
		}
	}); err != nil {
		return nil, err
	}
	sum := newTally(d)
	for _, t := range all {
		if err := sum.merge(t); err != nil {
			return nil, err
		}
	}
	return sum, nil
}

// files lists the files of a trace.
func (in *input) files() ([]fileInfo, error) {
	o, ok := in.Decoder.(format.Overview)
	if !ok {
		f, size, err := in.src.Open()
		if err != nil {
			return nil, err
		}
		return []fileInfo{{in.src.Path, size}}, f.Close()
	}
	l, err := o.Files()
	var out []fileInfo
	for _, f := range l {
		out = append(out, fileInfo{f.Path, f.Size})
	}
	return out, err
}

// summary is what the trace says of itself, nil if it says nothing or not enough.
func (in *input) summary(ctx context.Context) (*format.Summary, error) {
	m, ok := in.Decoder.(format.Summarizer)
	if !ok {
		return nil, nil
	}
	s, ok, err := m.Summarize(ctx)
	if !ok {
		return nil, err
	}
	return s, err
}

// told makes of a summary what a scan would have counted.
func told(d *trace.Definitions, s *format.Summary) (n *counts.Result, regions []profile.Region, missing int64) {
	n = &counts.Result{Kinds: []counts.Kind{}}
	for _, k := range s.Kinds {
		n.Events += k.Events
		n.Kinds = append(n.Kinds, counts.Kind{Kind: k.Kind, Name: d.Spec(k.Kind).Name, Events: k.Events})
	}
	for i, l := range s.Locations {
		if i == 0 {
			n.First, n.Last = l.First, l.Last
		}
		n.First, n.Last = min(n.First, l.First), max(n.Last, l.Last)
		n.Locations = append(n.Locations, counts.Location{Location: l.Location, Events: l.Events, First: l.First, Last: l.Last})
	}
	regions = []profile.Region{}
	for _, r := range s.Regions {
		x := d.Regions.At(int(r.Region))
		regions = append(regions, profile.Region{Region: r.Region, ID: x.ID, Name: x.Name, Group: x.Group, Count: r.Count, Inclusive: r.Inclusive, Exclusive: r.Exclusive, Sum: r.Inclusive, Min: r.Min, Max: r.Max})
		missing = max(missing, r.Missing)
	}
	return n, regions, missing
}

func (a *app) info(ctx context.Context, in *input, o infoOptions) (*info, error) {
	d := in.Defs()
	var s *format.Summary
	var err error
	if !o.exact {
		if s, err = in.summary(ctx); err != nil {
			return nil, err
		}
	}
	x := &info{Path: in.src.Path, Format: in.format.Name, Locations: []locationInfo{}}
	var n *counts.Result
	if s != nil {
		var missing int64
		n, x.Regions, missing = told(d, s)
		x.Missing, x.TimesChanged = &missing, s.Changed
	} else if n, err = a.scanned(ctx, in, x); err != nil {
		return nil, err
	}
	x.Events, x.Derived, x.Links, x.Kinds, x.Attributes = n.Events, n.Derived, n.Links, n.Kinds, n.Attributes
	if d.Origin != d.Format {
		x.Origin = d.Origin
	}
	x.Clock = newClockInfo(d.Clock)
	if n.Events > 0 {
		x.First, x.Last = &n.First, &n.Last
		x.Span = d.Clock.FormatSeconds(n.Last - n.First)
		if ns, _, ok := d.Clock.Rescale(n.First, trace.Seconds(1_000_000_000)); ok && d.Clock.HasEpoch {
			x.Start = time.Unix(0, d.Clock.Epoch+ns).UTC().Format(time.RFC3339Nano)
		}
	}
	if d.Properties.Len() > 0 {
		x.Properties = attributesObject(d.Properties.All())
	}
	byLoc := map[uint32]counts.Location{}
	for _, l := range n.Locations {
		byLoc[l.Location] = l
	}
	for i := range d.Locations.Len() {
		l := d.Locations.At(i)
		y := locationInfo{ID: l.ID, Name: l.Name, Kind: string(l.Kind)}
		if l.Group != trace.NoRef {
			y.Group = d.Groups.At(int(l.Group)).Name
		}
		if c, ok := byLoc[uint32(i)]; ok {
			y.Events, y.First, y.Last = c.Events, &c.First, &c.Last
		}
		x.Locations = append(x.Locations, y)
	}
	if x.Files, err = in.files(); err != nil {
		return nil, err
	}
	var records []format.DefinitionRecords
	if o, ok := in.Decoder.(format.Overview); ok {
		if records, err = o.DefinitionRecords(ctx); err != nil {
			return nil, err
		}
	}
	for _, y := range records {
		x.Records = append(x.Records, definitionRecords{y.Type, y.Count})
	}
	if o.definitions {
		x.tables = definitionTables(d, records)
		x.Definitions = map[string][]map[string]any{}
		for i := range x.tables {
			x.Definitions[x.tables[i].key] = x.tables[i].objects()
		}
	}
	if det, ok := in.Decoder.(format.Detailer); ok && o.details {
		if x.details, err = det.Details(ctx); err != nil {
			return nil, err
		}
		x.Details = map[string][]map[string]any{}
		for _, t := range x.details {
			l := make([]map[string]any, len(t.Rows))
			for i, r := range t.Rows {
				l[i] = map[string]any{}
				for k, v := range r {
					l[i][t.Columns[k]] = v
				}
			}
			x.Details[t.Key] = l
		}
	}
	for _, r := range in.report.Rules() {
		switch r.Severity {
		case trace.Error:
			x.Errors += r.Count
		case trace.Warning:
			x.Warnings += r.Count
		}
	}
	return x, nil
}

// scanned counts all events, and puts what they come to into x.
func (a *app) scanned(ctx context.Context, in *input, x *info) (*counts.Result, error) {
	d := in.Defs()
	sel := trace.Everything()
	links, known := int64(0), false
	if c, ok := in.Decoder.(format.LinkCounter); ok {
		// Finding the ends of links would take longer than all the rest.
		links, known = c.LinkCount()
		sel.Links = !known
	}
	all, err := tallyAll(ctx, in, sel)
	if err != nil {
		return nil, err
	}
	n, p := all.counts.Result(), all.profile.Result()
	if known {
		n.Links = links
	}
	x.Regions, x.Activities, x.Resources, x.Unclosed, x.Orphans = p.Regions, p.Activities, p.Resources, p.Unclosed, p.Orphans
	for _, y := range all.metrics.Result() {
		m := d.Metrics.At(int(y.Metric))
		z := metricInfo{ID: m.ID, Name: m.Name, Unit: m.Unit, Kind: string(m.Kind), Events: y.Events, Min: y.Min.Any(), Max: y.Max.Any(), Last: y.Last.Any()}
		if y.Rates {
			z.AverageRate, z.HighestRate = (*trace.Real)(&y.Average), (*trace.Real)(&y.Highest)
		}
		x.Metrics = append(x.Metrics, z)
	}
	return n, nil
}

// printDetails lists what only the format has.
func (a *app) printDetails(tables []format.Table) {
	for _, t := range tables {
		fmt.Fprintf(a.out, "\n%s (%d)\n", t.Title, len(t.Rows))
		w := newTable(a.out)
		header := table.Row{}
		for _, c := range t.Columns {
			header = append(header, c)
		}
		w.AppendHeader(header)
		for _, r := range t.Rows {
			row := table.Row{}
			for _, v := range r {
				if f, ok := v.(trace.Real); ok {
					v = fmt.Sprintf("%.6g", float64(f))
				}
				row = append(row, figure(v))
			}
			w.AppendRow(row)
		}
		w.Render()
	}
}

func (a *app) printInfo(x *info, in *input, top int) {
	d := in.Defs()
	w := a.out
	field := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-12s "+format+"\n", append([]any{name}, args...)...)
	}
	field("Trace", "%s", x.Path)
	origin := ""
	if x.Origin != "" {
		origin = ", written from another format"
	}
	field("Format", "%s%s", in.format.Title, origin)
	size := int64(0)
	for _, f := range x.Files {
		size += f.Size
	}
	field("Size", "%d bytes%s", size, more(int64(len(x.Files)-1), " in %d files and a main file"))
	if x.First == nil {
		field("Events", "none")
	} else {
		field("Span", "%s (from %s s to %s s)", d.Clock.FormatDuration(*x.Last-*x.First), d.Clock.FormatSeconds(*x.First), d.Clock.FormatSeconds(*x.Last))
		if x.Start != "" {
			field("Started", "%s", x.Start)
		}
		field("Resolution", "%s", x.Clock.Resolution)
		field("Events", "%d%s", x.Events, more(x.Derived, " and %d derived from them"))
	}
	switch {
	case x.TimesChanged:
		field("Sums", "of times are what the trace says, too small by %s at most; its compression has changed the times of events (--exact reads those)", d.Clock.FormatDuration(*x.Missing))
	case x.Missing != nil && *x.Missing > 0:
		field("Sums", "of times are what the trace says, too small by %s at most (--exact reads all events)", d.Clock.FormatDuration(*x.Missing))
	}
	if x.Links > 0 {
		field("Links", "%d", x.Links)
	}
	props := d.Properties.All()
	for _, p := range slices.SortedStableFunc(slices.Values(props), func(a, b trace.Attr) int { return cmp.Compare(a.Key, b.Key) }) {
		field("Property", "%s = %v", p.Key, p.Value.Any())
	}
	tables := func(title string, header table.Row, n int, row func(i int) table.Row) {
		if n == 0 {
			return
		}
		fmt.Fprintf(w, "\n%s\n", title)
		t := newTable(w)
		t.AppendHeader(header)
		shown := n
		if top > 0 && n > top {
			shown = top
		}
		for i := range shown {
			t.AppendRow(row(i))
		}
		t.Render()
		if n > shown {
			fmt.Fprintf(w, "  … and %d more (--top 0 lists all)\n", n-shown)
		}
	}
	tables("Kinds", table.Row{"kind", "events"}, len(x.Kinds), func(i int) table.Row {
		return table.Row{x.Kinds[i].Name, x.Kinds[i].Events + x.Kinds[i].Derived}
	})
	tables("Records that define", table.Row{"type", "records"}, len(x.Records), func(i int) table.Row {
		return table.Row{x.Records[i].Type, x.Records[i].Count}
	})
	tables("Locations", table.Row{"id", "name", "kind", "events", "first", "last"}, len(x.Locations), func(i int) table.Row {
		l := x.Locations[i]
		first, last := "", ""
		if l.First != nil {
			first, last = d.Clock.FormatSeconds(*l.First)+" s", d.Clock.FormatSeconds(*l.Last)+" s"
		}
		return table.Row{l.ID, l.Name, l.Kind, l.Events, first, last}
	})
	regions := slices.Clone(x.Regions)
	slices.SortStableFunc(regions, func(a, b profile.Region) int { return cmp.Compare(b.Exclusive, a.Exclusive) })
	tables("Regions by exclusive time", table.Row{"region", "count", "exclusive", "inclusive", "min", "max"}, len(regions), func(i int) table.Row {
		r := regions[i]
		f := d.Clock.FormatDuration
		return table.Row{r.Name, r.Count, f(r.Exclusive), f(r.Inclusive), f(r.Min), f(r.Max)}
	})
	acts := slices.Clone(x.Activities)
	slices.SortStableFunc(acts, func(a, b profile.Activity) int { return cmp.Compare(b.Time, a.Time) })
	tables("Activities by claimed time", table.Row{"activity", "claims", "time"}, len(acts), func(i int) table.Row {
		return table.Row{acts[i].Name, acts[i].Count, d.Clock.FormatDuration(acts[i].Time)}
	})
	tables("Resources", table.Row{"resource", "capacity", "claims", "busy", "busy %", "most at once", "highest amount"}, len(x.Resources), func(i int) table.Row {
		r := x.Resources[i]
		name := r.Name
		if name == "" {
			name = r.ID
		}
		share := "-"
		if x.First != nil && *x.Last > *x.First {
			share = fmt.Sprintf("%.1f", 100*float64(r.Busy)/float64(*x.Last-*x.First))
		}
		return table.Row{name, strings.TrimSpace(fmt.Sprintf("%v %s", r.Capacity, r.Unit)), r.Count, d.Clock.FormatDuration(r.Busy), share, r.MaxOpen, r.MaxAmount}
	})
	tables("Signals, series and counters", table.Row{"id", "name", "kind", "unit", "values", "min", "max", "last", "average /s", "highest /s"}, len(x.Metrics), func(i int) table.Row {
		m := x.Metrics[i]
		return table.Row{m.ID, m.Name, m.Kind, m.Unit, m.Events, figure(m.Min), figure(m.Max), figure(m.Last), rate(m.AverageRate), rate(m.HighestRate)}
	})
	tables("Attributes", table.Row{"attribute", "uses"}, len(x.Attributes), func(i int) table.Row {
		return table.Row{x.Attributes[i].Name, x.Attributes[i].Uses}
	})
	if x.Unclosed > 0 {
		fmt.Fprintf(w, "\n%d regions are never left; they count until their location's last event.\n", x.Unclosed)
	}
}

// figure is a value, "" for none.
func figure(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

func rate(r *trace.Real) string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf("%.5g", float64(*r))
}

func more(n int64, format string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(format, n)
}

func newTable(w io.Writer) table.Writer {
	t := table.NewWriter()
	t.SetOutputMirror(w)
	t.SetStyle(plainTable())
	return t
}
