// Package info describes the content of a trace: its format, files, times, locations, regions,
// resources, signals and attributes, with the numbers of events by kind.
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

// Info is the content of a trace, as weft info --json prints it (docs/json/info.md).
type Info struct {
	Path   string `json:"path"`
	Format string `json:"format"`
	Files  []File `json:"files"`
	// format that defines the ids, if it differs from Format
	Origin     string             `json:"origin,omitempty"`
	Clock      Clock              `json:"clock"`
	First      *int64             `json:"first"` // time of the first event in ticks; null without events
	Last       *int64             `json:"last"`
	Window     *Window            `json:"window,omitempty"` // set if Events are only a part of the trace
	Span       string             `json:"span"`             // length in seconds, exact
	Start      string             `json:"start,omitempty"`  // time of day of the first event
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
	// Definitions holds all definitions, for commands that list them. Trace.Describe leaves it nil.
	Definitions map[string][]map[string]any `json:"definitions,omitempty"`

	// Missing is the greatest number of ticks by which a time of a region can be too small. It is
	// set if the times come from sums that the trace stores.
	Missing *int64 `json:"missing,omitempty"`
	// TimesChanged is set if the times in the stored sums are the original times, while the times of the
	// events were changed.
	TimesChanged bool `json:"timesChanged,omitempty"`
}

// Window is the window of a part of a trace. It is the requested window, limited to the times of the whole
// trace. Times are in ticks.
type Window struct {
	First int64 `json:"first"`
	Last  int64 `json:"last"`
}

// Length returns the number of ticks of the window. Without a window, it returns the number of ticks from the
// first event to the end of the last one. The use of resources is a share of this length, as in package usage.
func (i *Info) Length() int64 {
	switch {
	case i.Window != nil:
		return i.Window.Last - i.Window.First
	case i.First != nil:
		return *i.Last - *i.First
	}
	return 0
}

// File is a file of a trace with its size.
type File struct {
	Path string `json:"path"`
	Size int64  `json:"size"` // size in bytes
}

// Records is the number of definition records of one type.
type Records struct {
	Type  string `json:"type"`
	Count int64  `json:"count"`
}

// Clock describes the clock of a trace.
type Clock struct {
	TicksPerSecond string `json:"ticksPerSecond"` // a whole number or a fraction: "1000000" or "1/60"
	Resolution     string `json:"resolution"`
	Epoch          *int64 `json:"epoch"` // time of tick 0 in ns since 1970; null when unknown
}

// NewClock returns the description of a clock.
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

// Location is a location with the number of its events, and their first and last time in ticks.
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

// Metric is a signal, series or counter with its values.
type Metric struct {
	ID     string `json:"id"`
	Name   string `json:"name,omitempty"`
	Unit   string `json:"unit,omitempty"`
	Kind   string `json:"kind"`
	Events int64  `json:"events"`
	// Min, Max and Last are null for a metric without values.
	Min  any `json:"min"`
	Max  any `json:"max"`
	Last any `json:"last"`
	// AverageRate and HighestRate are in units per second, for counters that accumulate.
	AverageRate *trace.Real `json:"averageRate,omitempty"`
	HighestRate *trace.Real `json:"highestRate,omitempty"`
}

// Trace is an opened trace. Its events need not be prepared.
type Trace struct {
	File   format.File
	Events format.Events // the events of File after transforms, or File itself if there are no transforms
	Format format.Format
	Source format.Source
	Report *format.Report // the report in the options with which File was opened
	Rows   *trace.Rows    // maps regions to rows; nil counts each region by itself
	Part   *Part          // set if Events are only a part of the trace
}

// Part describes the part of a trace that is selected.
type Part struct {
	Times  *trace.Window // selected window, to which the events are cut; nil for the whole trace
	Window *Window       // selected window, limited to the times of the whole trace; nil without events
	Begin  int64         // time of the first event of the whole trace
}

// Describe returns the content of a trace. If the format stores sums of all events, Describe uses them and does
// not read the events, unless exact is set. The second result lists the definition records, with
// names of entries for which [trace.Definitions] has no table.
func (t *Trace) Describe(ctx context.Context, exact bool) (*Info, []format.DefinitionRecords, error) {
	d := t.Events.Defs()
	var s *format.Summary
	var err error
	if !exact && t.Events == format.Events(t.File) { // otherwise the sums do not have the times of the events
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
	} else if n, err = t.scan(ctx, x); err != nil {
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
		if ns, _, ok := d.Clock.Rescale(n.First, trace.TicksPerSecond(1_000_000_000)); ok && d.Clock.HasEpoch {
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

// scan scans all events, and sets the fields of x that do not come from the counts. It returns
// the counts.
func (t *Trace) scan(ctx context.Context, x *Info) (*counts.Result, error) {
	d := t.Events.Defs()
	sel := trace.Everything()
	_, known := t.File.LinkCount()
	if known = known && t.Part == nil; known {
		// To find the ends of links would take longer than all other work.
		sel.Links = trace.NoLinks
	}
	all, err := analysis.Run(ctx, t.Events, sel, func() *tally { return newTally(d, t.Rows, t.Part) })
	if err != nil {
		return nil, err
	}
	n, p := all.counts.Result(), all.profile.Result()
	if known {
		// The scan can have found links that cannot be read.
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

// sortMetrics moves metrics with events to the front, and otherwise keeps the order.
func sortMetrics(l []Metric) {
	slices.SortStableFunc(l, func(a, b Metric) int { return cmp.Compare(min(b.Events, 1), min(a.Events, 1)) })
}

// tally counts the events of a trace for all analyses of Trace.Describe in one scan.
type tally struct {
	counts  *counts.Part
	profile *profile.Part
	metrics *metrics.Part

	statistics *statistics
	records    *records

	defs   *trace.Definitions
	window *trace.Window // times to which the events are cut, or nil
	before trace.Batch
}

func newTally(d *trace.Definitions, rows *trace.Rows, part *Part) *tally {
	t := &tally{counts: counts.New(d), metrics: metrics.New(d), records: newRecords(d), defs: d,
		statistics: &statistics{d, map[statisticKey]*figures{}}}
	if part != nil {
		t.window = part.Times
	}
	t.profile = profile.New(d, profile.Options{Rows: rows, Window: t.window})
	return t
}

// moveCutEvents returns a batch in which the events that transform.Cut adds at the begin of the window have a
// time before the window. As a result, the profile does not count a visit that ends at the begin of the
// window.
func (t *tally) moveCutEvents(b *trace.Batch) *trace.Batch {
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

// Batch processes a batch, whose events may belong to one location or to several.
func (t *tally) Batch(b *trace.Batch) error {
	t.statistics.addBatch(b)
	t.records.addBatch(b)
	return errors.Join(t.counts.Batch(b), t.profile.Batch(t.moveCutEvents(b)), t.metrics.Batch(b))
}

// Links counts links.
func (t *tally) Links(l []trace.Link) error { return t.counts.Links(l) }

// Merge adds another part of the same trace, which must have processed other locations.
func (t *tally) Merge(o *tally) error {
	t.statistics.merge(o.statistics)
	t.records.merge(o.records)
	return errors.Join(t.counts.Merge(o.counts), t.profile.Merge(o.profile), t.metrics.Merge(o.metrics))
}

// files returns the files of a trace with their sizes.
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

// summaryCounts returns the counts and times that a scan would return, computed from the sums that the
// format stores. The result missing is the value for Info.Missing.
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
	ids, places, short := rows.IDs(), map[uint32]int{}, map[uint32]int64{}
	for _, r := range s.Regions {
		row := rows.Of(r.Region)
		short[row] = trace.Add(short[row], r.Missing)
		missing = max(missing, short[row])
		if rows != nil {
			r.Inclusive -= r.Nested
		}
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

// Object returns attributes as an object for JSON. Further attributes with the same name get the
// suffixes #2, #3 and so on.
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
