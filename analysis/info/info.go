// Package info describes the content of a trace: format, files, span, locations, events by kind,
// regions with their times, resources, signals and attributes.
package info

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/analysis/counts"
	"github.com/weft-trace/weft/analysis/metrics"
	"github.com/weft-trace/weft/analysis/profile"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// Info is the content of a trace, as weft info --json prints it (docs/json.md).
type Info struct {
	Path       string             `json:"path"`
	Format     string             `json:"format"`
	Files      []File             `json:"files"`
	Origin     string             `json:"origin,omitempty"` // format that defined the ids, if it is another one
	Clock      Clock              `json:"clock"`
	First      *int64             `json:"first"` // ticks; null without events
	Last       *int64             `json:"last"`
	Window     *Window            `json:"window,omitempty"` // set for a part of a trace
	Span       string             `json:"span"`             // in seconds, exact
	Start      string             `json:"start,omitempty"`  // wall clock of the first event
	Events     int64              `json:"events"`
	Derived    int64              `json:"derived"`
	Links      int64              `json:"links"`
	Properties map[string]any     `json:"properties,omitempty"`
	Kinds      []counts.Kind      `json:"kinds"`
	Locations  []Location         `json:"locations"`
	Regions    []profile.Region   `json:"regions"`
	Activities []profile.Activity `json:"activities,omitempty"`
	Resources  []profile.Resource `json:"resources,omitempty"`
	Metrics    []Metric           `json:"signals,omitempty"`
	Statistics []Statistic        `json:"statistics,omitempty"`
	Attributes []counts.Attribute `json:"attributes,omitempty"`
	Unclosed   int64              `json:"unclosed"`
	Orphans    int64              `json:"orphans"`
	Errors     int64              `json:"errors"`
	Warnings   int64              `json:"warnings"`

	Records []Records `json:"definitionRecords,omitempty"`
	// Definitions are all definitions, for commands that list them. Of leaves them empty.
	Definitions map[string][]map[string]any `json:"definitions,omitempty"`

	// Missing is the greatest amount by which times of regions may be too small, if they come from
	// sums that the trace stores.
	Missing *int64 `json:"missing,omitempty"`
	// TimesChanged is set when these times are correct but the times of the events have been changed.
	TimesChanged bool `json:"timesChanged,omitempty"`
}

// Window is the time that counts of a part of a trace: the requested window, clipped to the span of
// the whole trace.
type Window struct {
	First int64 `json:"first"`
	Last  int64 `json:"last"`
}

// Length returns the length of the time that counts: of the window, or from the first event to the
// end of the last one. The use of resources is relative to it, as in package usage.
func (x *Info) Length() int64 {
	switch {
	case x.Window != nil:
		return x.Window.Last - x.Window.First
	case x.First != nil:
		return *x.Last - *x.First
	}
	return 0
}

// File is a file of a trace.
type File struct {
	Path string `json:"path"`
	Size int64  `json:"size"` // bytes
}

// Records counts the definition records of a type.
type Records struct {
	Type  string `json:"type"`
	Count int64  `json:"count"`
}

// Clock describes the clock of a trace.
type Clock struct {
	TicksPerSecond string `json:"ticksPerSecond"` // "1000000" or "1/60"
	Resolution     string `json:"resolution"`
	Epoch          *int64 `json:"epoch"` // ns since 1970 of tick 0; null when unknown
}

// NewClock describes a clock.
func NewClock(c trace.Clock) Clock {
	x := Clock{TicksPerSecond: fmt.Sprint(c.Num), Resolution: c.Resolution()}
	if c.Den != 1 {
		x.TicksPerSecond = fmt.Sprintf("%d/%d", c.Num, c.Den)
	}
	if c.HasEpoch {
		x.Epoch = &c.Epoch
	}
	return x
}

// Location is a location and its events.
type Location struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	// FullName is unique among the locations ([trace.Definitions.FullNames]).
	FullName string `json:"fullName"`
	Kind     string `json:"kind"`
	Group    string `json:"group,omitempty"`
	Events   int64  `json:"events"`
	First    *int64 `json:"first"`
	Last     *int64 `json:"last"`
}

// Metric is a signal, series or counter and its values.
type Metric struct {
	ID     string `json:"id"`
	Name   string `json:"name,omitempty"`
	Unit   string `json:"unit,omitempty"`
	Kind   string `json:"kind"`
	Events int64  `json:"events"`
	// Min and the following values are null for metrics without values.
	Min  any `json:"min"`
	Max  any `json:"max"`
	Last any `json:"last"`
	// AverageRate is per second, for counters that accumulate.
	AverageRate *trace.Real `json:"averageRate,omitempty"`
	HighestRate *trace.Real `json:"highestRate,omitempty"`
}

// Trace is an opened trace. It need not be prepared.
type Trace struct {
	File   format.File
	Events format.Events // the events of File as transforms leave them; usually File itself
	Format format.Format
	Source format.Source
	Report *format.Report // of its ReadOptions
	Rows   *trace.Rows    // maps regions to rows; nil counts each region by itself
	Part   *Part          // the part of the trace that Events are; nil for all
}

// Part is a part of a trace.
type Part struct {
	Times  *trace.Window // the selected times, which were cut out of the trace; nil for all
	Window *Window       // the window that counts, nil without events
	Begin  int64         // time of the first event of the whole trace
}

// Of returns the content of a trace. If its format stores sums, Of uses these and does not read the
// events, unless exact is set. The second result lists the definition records, with the names of
// entries for which [trace.Definitions] has no table.
func (t *Trace) Of(ctx context.Context, exact bool) (*Info, []format.DefinitionRecords, error) {
	d := t.Events.Defs()
	var s *format.Summary
	var err error
	if !exact && t.Events == format.Events(t.File) { // otherwise the times differ
		if s, err = t.File.Summary(ctx); err != nil {
			return nil, nil, err
		}
	}
	x := &Info{Path: t.Source.Path, Format: t.Format.About().Name, Locations: []Location{}}
	var n *counts.Result
	if s != nil {
		var missing int64
		n, x.Regions, missing = summaryCounts(d, s, t.Rows)
		x.Missing, x.TimesChanged = &missing, s.Changed
	} else if n, err = t.scanned(ctx, x); err != nil {
		return nil, nil, err
	}
	x.Events, x.Derived, x.Links, x.Kinds, x.Attributes = n.Events, n.Derived, n.Links, n.Kinds, n.Attributes
	if d.Origin != d.Format {
		x.Origin = d.Origin
	}
	x.Clock = NewClock(d.Clock)
	if n.Events > 0 {
		x.First, x.Last = &n.First, &n.Last
		x.Span = d.Clock.FormatSeconds(n.Last - n.First)
		if ns, _, ok := d.Clock.Rescale(n.First, trace.Seconds(1_000_000_000)); ok && d.Clock.HasEpoch {
			x.Start = time.Unix(0, d.Clock.Epoch+ns).UTC().Format(time.RFC3339Nano)
		}
	}
	if d.Properties.Len() > 0 {
		x.Properties = Object(d.Properties.All())
	}
	byLoc := map[uint32]counts.Location{}
	for _, l := range n.Locations {
		byLoc[l.Location] = l
	}
	names := d.FullNames()
	for i := range d.Locations.Len() {
		l := d.Locations.At(uint32(i))
		y := Location{ID: l.ID, Name: l.Name, FullName: names[i], Kind: string(l.Kind)}
		if l.Group != trace.NoRef {
			y.Group = d.Groups.At(l.Group).Name
		}
		if c, ok := byLoc[uint32(i)]; ok {
			y.Events, y.First, y.Last = c.Events, &c.First, &c.Last
		}
		x.Locations = append(x.Locations, y)
	}
	o, err := t.File.Overview(ctx)
	if err != nil {
		return nil, nil, err
	}
	if x.Files, err = t.files(o.Files); err != nil {
		return nil, nil, err
	}
	for _, y := range o.Definitions {
		x.Records = append(x.Records, Records{y.Type, y.Count})
	}
	for _, r := range t.Report.Rules() {
		switch r.Severity {
		case trace.Error:
			x.Errors += r.Count
		case trace.Warning:
			x.Warnings += r.Count
		}
	}
	return x, o.Definitions, nil
}

// scanned counts all events, and sets the results in x.
func (t *Trace) scanned(ctx context.Context, x *Info) (*counts.Result, error) {
	d := t.Events.Defs()
	sel := trace.Everything()
	_, known := t.File.LinkCount()
	if known {
		// Finding the ends of links would take longer than everything else.
		sel.Links = trace.NoLinks
	}
	all, err := analysis.Run(ctx, t.Events, sel, func() *tally { return newTally(d, t.Rows, t.Part) })
	if err != nil {
		return nil, err
	}
	n, p := all.counts.Result(), all.profile.Result()
	if known {
		// The scan may have found links that cannot be read.
		n.Links, _ = t.File.LinkCount()
	}
	x.Regions, x.Activities, x.Resources, x.Unclosed, x.Orphans = p.Regions, p.Activities, p.Resources, p.Unclosed,
		p.Orphans
	if t.Part != nil {
		x.Window = t.Part.Window
	}
	x.Statistics = all.statistics.result()
	for _, y := range all.metrics.Result() {
		m := d.Metrics.At(y.Metric)
		z := Metric{ID: m.ID, Name: m.Name, Unit: m.Unit, Kind: string(m.Kind), Events: y.Events, Min: y.Min.Any(),
			Max: y.Max.Any(), Last: y.Last.Any()}
		if y.Rates {
			z.AverageRate, z.HighestRate = (*trace.Real)(&y.Average), (*trace.Real)(&y.Highest)
		}
		x.Metrics = append(x.Metrics, z)
	}
	x.Metrics = append(x.Metrics, all.records.metrics()...)
	sortMetrics(x.Metrics)
	return n, nil
}

// sortMetrics moves metrics that have events before the others, each in the order of the
// definitions.
func sortMetrics(l []Metric) {
	slices.SortStableFunc(l, func(a, b Metric) int { return cmp.Compare(min(b.Events, 1), min(a.Events, 1)) })
}

// tally collects all counts in one scan.
type tally struct {
	counts  *counts.Part
	profile *profile.Part
	metrics *metrics.Part

	statistics *statistics
	records    *records

	defs   *trace.Definitions
	window *trace.Window // of a part that was cut out
	before trace.Batch
}

func newTally(d *trace.Definitions, rows *trace.Rows, part *Part) *tally {
	t := &tally{counts: counts.New(d), metrics: metrics.New(d), statistics: newStatistics(d), records: newRecords(d),
		defs: d}
	if part != nil {
		t.window = part.Times
	}
	t.profile = profile.New(d, profile.Options{Rows: rows, Window: t.window})
	return t
}

// uncut returns a batch of a part in which what was open at its begin begins before it. In the part it begins there,
// and a visit that ends there would be one of the window.
func (t *tally) uncut(b *trace.Batch) *trace.Batch {
	if t.window == nil || len(b.AttrRow) == 0 {
		return b
	}
	copied := false
	for i, row := range b.AttrRow {
		if b.Time[row] != t.window.From || t.defs.Attributes.At(b.AttrKey[i]).Name != transform.BeganAttribute {
			continue
		}
		if !copied {
			t.before.Copy(b)
			copied = true
		}
		t.before.Time[row]--
	}
	if !copied {
		return b
	}
	return &t.before
}

// Batch counts events.
func (t *tally) Batch(b *trace.Batch) error {
	t.statistics.batch(b)
	t.records.batch(b)
	return errors.Join(t.counts.Batch(b), t.profile.Batch(t.uncut(b)), t.metrics.Batch(b))
}

// Links counts links.
func (t *tally) Links(l []trace.Link) error { return t.counts.Links(l) }

// Merge adds what another worker counted.
func (t *tally) Merge(o *tally) error {
	t.statistics.merge(o.statistics)
	t.records.merge(o.records)
	return errors.Join(t.counts.Merge(o.counts), t.profile.Merge(o.profile), t.metrics.Merge(o.metrics))
}

// files lists the files of a trace.
func (t *Trace) files(list []format.TraceFile) ([]File, error) {
	if list == nil {
		f, size, err := t.Source.Open()
		if err != nil {
			return nil, err
		}
		return []File{{t.Source.Path, size}}, f.Close()
	}
	var out []File
	for _, f := range list {
		out = append(out, File{f.Path, f.Size})
	}
	return out, nil
}

// summaryCounts returns the counts that a full scan would produce, computed from the format's own
// summary.
func summaryCounts(d *trace.Definitions, s *format.Summary, rows *trace.Rows) (n *counts.Result,
	regions []profile.Region, missing int64) {
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
		n.Locations = append(n.Locations,
			counts.Location{Location: l.Location, Events: l.Events, First: l.First, Last: l.Last})
	}
	regions = []profile.Region{}
	ids, places := rows.IDs(), map[uint32]int{}
	for _, r := range s.Regions {
		missing = max(missing, r.Missing)
		row := rows.Of(r.Region)
		x := d.Regions.At(row)
		y := profile.Region{Region: row, ID: x.ID, Name: x.Name, Group: x.Group, Definitions: ids[row], Count: r.Count,
			Inclusive: trace.TicksOf(r.Inclusive), Exclusive: trace.TicksOf(r.Exclusive), Sum: trace.TicksOf(r.Sum), Min: r.Min,
			Max: r.Max}
		i, ok := places[row]
		if ok {
			regions[i].Add(&y)
			continue
		}
		places[row] = len(regions)
		regions = append(regions, y)
	}
	slices.SortFunc(regions, func(a, b profile.Region) int { return cmp.Compare(a.Region, b.Region) })
	return n, regions, missing
}

// Object returns attributes as an object for JSON. Repeated names get the suffixes #2,
// #3 and so on.
func Object(l []trace.Attr) map[string]any {
	out, seen := map[string]any{}, map[string]int{}
	for _, a := range l {
		seen[a.Key]++
		key := a.Key
		if n := seen[a.Key]; n > 1 {
			key = fmt.Sprintf("%s#%d", key, n)
		}
		out[key] = a.Value.Any()
	}
	return out
}
