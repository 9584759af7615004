package etf

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/lines"
	"github.com/weft-trace/weft/internal/linetrace"
	"github.com/weft-trace/weft/trace"
)

// decoder reads a TRACE file and delivers its contents in the common model.
type decoder struct {
	linetrace.Text
	unit string
	deps int64
	// skipped counts the lines of events and dependencies that the last scan could not read.
	// skippedLinks counts the dependencies among them.
	skipped, skippedLinks atomic.Int64
	// lessText, otherForm and rounded are counted as in inexactCounts, for the event lines of the last scan.
	lessText, otherForm, rounded atomic.Int64

	defines   inexactCounts // counts for the lines of definitions
	encodings linetrace.EncodingCounts
	tooLong   int64 // lines above the length limit
	// unreadDefs is the number of lines of definitions that cannot be read.
	unreadDefs int64

	first    int64   // number of the first line with a readable event or dependency, or 0
	keptSize int     // size of the lines that Definitions.Opaque holds, in bytes
	opaqueAt []int64 // numbers of the lines that Definitions.Opaque holds
	blank    int64   // number of blank lines
	moved    int64   // how many of opaqueAt come after the first event or dependency
	dropped  int64   // number of lines without effect that exceed the limit of Definitions.Opaque

	activity   []string // attribute keys that name the activity
	resources  map[int64]uint32
	lines      []int64          // number of the line that defines each metric
	defined    []int64          // number of the line that defines each resource
	signalDefs []int64          // number of the line that defines each signal
	slots      []int32          // resources by small id, -1 for none
	missing    map[int64]uint32 // stand-ins for resources without a definition
	metrics    map[seriesKey]uint32
	regions    map[string]uint32
	attrs      map[string]uint32
	events     uint32              // location of events without a resource
	lineOfID   map[seriesKey]int64 // line that defines each signal or series
	groups     map[int64]uint32    // locations by the id of their time series
}

// seriesKey identifies the object that a line of a certain kind defines. A time series (TSS) has two
// ids, that of its group and its own. Every other object has one id, which is in group.
type seriesKey struct {
	kind          Keyword
	group, series int64
}

// id returns the id as it appears in the file.
func (k seriesKey) id() string {
	if k.kind == TSS {
		return fmt.Sprintf("%d/%d", k.group, k.series)
	}
	return strconv.FormatInt(k.group, 10)
}

// Overview returns the number of comments that the definitions do not hold, and the number of lines
// that cannot be read.
func (d *decoder) Overview(context.Context) (*format.Overview, error) {
	o := &format.Overview{Unread: d.unread(), Damaged: d.lessText.Load() + d.defines.lessText,
		Respelled: d.otherForm.Load() + d.defines.otherForm, Rounded: d.rounded.Load() + d.defines.rounded,
		Recoded: d.encodings.Other}
	if d.dropped+d.moved > 0 {
		o.Definitions = []format.DefinitionRecords{
			{Type: "comment", Count: int64(d.Model.Opaque.Len()) + d.dropped, Moved: d.moved, Dropped: d.dropped}}
	}
	return o, nil
}

// unread returns the number of lines that cannot be read. For events and dependencies, it counts those
// of the last scan.
func (d *decoder) unread() int64 { return d.unreadDefs + d.skipped.Load() + d.tooLong }

// Open opens a trace.
func (Format) Open(ctx context.Context, src format.Source, opt *format.ReadOptions) (format.File, error) {
	if err := about.CheckOptions(opt.Values); err != nil {
		return nil, err
	}
	f, closer, err := openText(ctx, src, opt)
	if err != nil {
		return nil, err
	}
	d := newDecoder(opt, f, closer)
	report := f.TooLong
	f.TooLong = func(line, off, length int64) error {
		d.tooLong++
		return report(line, off, length)
	}
	if err := d.index(ctx); err != nil {
		closer()
		return nil, err
	}
	return d, nil
}

// newDecoder returns a decoder for a file that has not been read yet.
func newDecoder(opt *format.ReadOptions, f *lines.File, closer func() error) *decoder {
	return &decoder{Text: linetrace.NewText(opt, f, closer), unit: "SECONDS", events: trace.NoRef,
		activity:  strings.Split(opt.Value("etf.activity", "name,task,activity"), ","),
		resources: map[int64]uint32{}, metrics: map[seriesKey]uint32{}, missing: map[int64]uint32{},
		regions: map[string]uint32{}, attrs: map[string]uint32{}, lineOfID: map[seriesKey]int64{},
		groups: map[int64]uint32{}}
}

// define converts the lines of definitions to definitions of the model.
func (d *decoder) define(defs []defLine, events bool) error {
	m := &trace.Definitions{Format: "etf", Origin: "etf", Conventions: format.Conventions("etf"),
		Encoding: d.encodings.Encoding()}
	d.Model = m
	l, err := d.readDefinitions(defs)
	if err != nil {
		return err
	}
	c := d.modelClock(l.offset)
	d.Clock, m.Clock = c, c
	err = d.RestoreFrom(l.carried, "etf", "trace attributes")
	d.Model.ClaimLines = true
	if err != nil || d.Restore != nil {
		if d.Restore != nil {
			for _, o := range m.Opaque.All() {
				d.Model.Opaque.Add(o) // the file's own lines without effect follow the carried ones
			}
		}
		d.Lanes = d.Lanes && d.Restore == nil
		return err
	}
	if !d.File.Numbered { // numbered lines come from a converted file and have other positions
		m.Native = &originalFile{d}
	}
	return d.addDefinitions(l, events)
}

// definitionLine is a parsed line of a definition, with a copy of its attributes.
type definitionLine struct {
	Record
	attrs []Attr
}

// definitionLines holds the parsed lines of definitions by keyword, the definitions of another format
// that T lines carry, and the offset of the O line.
type definitionLines struct {
	lists   map[Keyword][]definitionLine
	carried map[string]string
	offset  int64 // milliseconds
}

// readDefinitions parses the lines of definitions and reports their defects. It adds the attributes of
// the trace and the lines without effect to the model.
func (d *decoder) readDefinitions(defs []defLine) (*definitionLines, error) {
	var rec Record
	l := &definitionLines{lists: map[Keyword][]definitionLine{}, carried: map[string]string{}}
	names := map[Keyword]string{R: "resource", S: "signal", TS: "time series", TSS: "series"}
	for _, x := range defs {
		if x.other {
			d.keepOpaque(&x)
			continue
		}
		isClear := true
		report := func(p problem) error {
			isClear = false
			return d.Opt.Defect(p.defect(d.File.Name, x.line, x.text))
		}
		ok, err := rec.read(x.text, x.line, report)
		if err != nil {
			return nil, err
		}
		if !ok {
			d.unreadDefs++
			continue
		}
		if d.first == 0 || x.line < d.first {
			d.first = x.line
		}
		d.lines = append(d.lines, x.line)
		keep := definitionLine{rec, append([]Attr(nil), rec.Attrs...)}
		if rec.Keyword == R && rec.Capacity <= 0 {
			if err := report(problem{"etf.capacity", fmt.Sprintf("capacity %v", rec.Capacity), "a number above 0",
				trace.Warning}); err != nil {
				return nil, err
			}
		}
		k := seriesKey{kind: rec.Keyword}
		switch rec.Keyword {
		case R, S, TS:
			k.group = rec.ID
		case TSS:
			k.group, k.series = rec.ID, rec.Series
		}
		if first := d.lineOfID[k]; rec.Keyword != T && first > 0 {
			twice := problem{"etf.duplicate-id", fmt.Sprintf("%s id %s twice", names[rec.Keyword], k.id()),
				fmt.Sprintf("each id once; weft uses line %d", first), trace.Error}
			if rule := map[Keyword]string{TU: "etf.second-unit", O: "etf.second-offset"}[rec.Keyword]; rule != "" {
				twice = problem{rule, "a second " + rec.Keyword.String() + " line", fmt.Sprintf("one; weft uses line %d", first),
					trace.Error}
			}
			if err := report(twice); err != nil {
				return nil, err
			}
			d.keepOpaque(&x)
			continue
		}
		d.lineOfID[k] = rec.Line
		if !isClear {
			d.defines.addLine(x.text)
		}
		switch rec.Keyword {
		case O:
			if l.offset = rec.ID; l.offset > math.MaxInt64/1_000_000 || l.offset < math.MinInt64/1_000_000 {
				if err := report(problem{"etf.offset-range", fmt.Sprintf("an offset of %d ms", l.offset),
					"a date between 1678 and 2262; weft ignores the offset", trace.Error}); err != nil {
					return nil, err
				}
				l.offset = 0
				d.keepOpaque(&x)
				continue
			}
			_, i, _ := parseKeyword(x.text)
			t, _, exact := trace.ParseDecimal(bytes.TrimSpace(x.text[i:]))
			if _, whole, _ := t.Ticks(0); !whole || !exact {
				d.defines.rounded++
			}
		case T:
			for _, a := range keep.attrs {
				if key, ok := strings.CutPrefix(a.Key, carryPrefix); ok {
					l.carried[key] = a.Value
				} else {
					d.Model.Properties.Add(trace.Attr{Key: trace.ToUTF8(a.Key), Value: trace.StringValue(trace.ToUTF8(a.Value))})
				}
			}
		default:
			l.lists[rec.Keyword] = append(l.lists[rec.Keyword], keep)
		}
	}
	return l, nil
}

// modelClock returns the clock of the trace. The offset of the O line is in milliseconds.
func (d *decoder) modelClock(offset int64) trace.Clock {
	num, den, _ := unitOf(d.unit)
	p := int64(math.Pow10(int(d.Digits)))
	c := trace.Clock{Num: p, Den: 1, Unit: p}
	// A tick takes num/den × 10^-digits seconds.
	if num > 1 {
		c.Den = num
		if g := gcd(p, num); g > 1 {
			c.Num, c.Den = p/g, num/g
		}
	} else {
		c.Num = p * den
	}
	if offset != 0 {
		c.Epoch, c.HasEpoch = offset*1_000_000, true
	}
	return c
}

// addDefinitions adds the resources, signals and series of the lines to the model. It is for traces
// that carry no definitions of another format.
func (d *decoder) addDefinitions(l *definitionLines, events bool) error {
	m := d.Model
	toAttrs := func(in []Attr) (out []trace.Attr) {
		for _, a := range in {
			out = append(out, trace.Attr{Key: trace.ToUTF8(a.Key), Value: trace.StringValue(trace.ToUTF8(a.Value))})
		}
		return
	}
	get := func(in []Attr, key string) string {
		for _, a := range in {
			if a.Key == key {
				return trace.ToUTF8(a.Value)
			}
		}
		return ""
	}
	for _, r := range l.lists[R] {
		res := d.addResource(trace.Resource{ID: strconv.FormatInt(r.ID, 10), Name: get(r.attrs, "name"),
			Unit: get(r.attrs, "unit"), Capacity: r.Capacity, UsesOffset: r.UsesOffset, Attrs: toAttrs(r.attrs)}, r.ID)
		d.defined = setLine(d.defined, res, r.Line)
	}
	if events && d.events == trace.NoRef {
		d.events = m.Locations.Add(trace.Location{ID: "E", Name: "events", Kind: trace.EventsLocation, Group: trace.NoRef})
	}
	for _, s := range l.lists[S] {
		metric := d.addMetric(trace.MetricDef{ID: strconv.FormatInt(s.ID, 10), Name: get(s.attrs, "name"),
			Unit: get(s.attrs, "unit"), Kind: trace.SignalMetric, Type: trace.Float64, Attrs: toAttrs(s.attrs)},
			seriesKey{kind: S, group: s.ID}, trace.NoRef)
		d.signalDefs = setLine(d.signalDefs, metric, s.Line)
	}
	for _, g := range l.lists[TS] {
		d.groups[g.ID] = m.Groups.Add(trace.LocationGroup{ID: strconv.FormatInt(g.ID, 10), Name: get(g.attrs, "name"),
			Kind:   "time series",
			Parent: trace.NoRef, Attrs: toAttrs(g.attrs)})
	}
	for _, s := range l.lists[TSS] {
		g, ok := d.groups[s.ID]
		if !ok {
			g = trace.NoRef
			if err := d.Opt.Defect((&problem{"etf.unknown-reference", fmt.Sprintf("time series %d", s.ID), "the id of a TS line",
				trace.Error}).defect(d.File.Name, s.Line, nil)); err != nil {
				return err
			}
		}
		d.addMetric(trace.MetricDef{ID: fmt.Sprintf("%d/%d", s.ID, s.Series), Name: get(s.attrs, "name"),
			Unit: get(s.attrs, "unit"),
			Kind: trace.SeriesMetric, Type: trace.Float64, Attrs: toAttrs(s.attrs)}, seriesKey{TSS, s.ID, s.Series}, g)
	}
	return nil
}

// setLine sets element i of a list of line numbers, after extending the list with zeros if necessary.
func setLine(list []int64, i uint32, line int64) []int64 {
	for int(i) >= len(list) {
		list = append(list, 0)
	}
	list[i] = line
	return list
}

// lineOf returns the number of the line that defines a signal, or 0 if there is none.
func (d *decoder) lineOf(metric uint32) int64 {
	if int(metric) < len(d.signalDefs) {
		return d.signalDefs[metric]
	}
	return 0
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func (d *decoder) addResource(r trace.Resource, id int64) uint32 {
	r.Location = d.Model.Locations.Add(trace.Location{ID: r.ID, Name: r.Name, Kind: trace.ResourceLocation,
		Group: trace.NoRef})
	i := d.Model.Resources.Add(r)
	d.resources[id] = i
	if id >= 0 && id < maxSlots {
		for int(id) >= len(d.slots) {
			d.slots = append(d.slots, -1)
		}
		d.slots[id] = int32(i)
	}
	return i
}

// maxSlots limits the table that maps small ids to resources.
const maxSlots = 1 << 16

// resourceOf returns the resource with the given id.
func (d *decoder) resourceOf(id int64) (uint32, bool) {
	if uint64(id) < uint64(len(d.slots)) {
		if i := d.slots[id]; i >= 0 {
			return uint32(i), true
		}
		return 0, false
	}
	i, ok := d.resources[id]
	return i, ok
}

func (d *decoder) addMetric(m trace.MetricDef, k seriesKey, group uint32) uint32 {
	id := "S" + m.ID
	if k.kind == TSS {
		id = "TS" + m.ID
	}
	m.Location = d.Model.Locations.Add(trace.Location{ID: id, Name: m.Name, Kind: trace.SignalLocation, Group: group})
	i := d.Model.Metrics.Add(m)
	d.metrics[k] = i
	return i
}

// LinkCount returns the number of D lines. After a scan, it leaves out those that the scan could not
// read. For a restored trace, the number is unknown before a scan.
func (d *decoder) LinkCount() (int64, bool) { return d.deps - d.skippedLinks.Load(), d.Restore == nil }

// Scan delivers the selected events in time order, or location by location.
func (d *decoder) Scan(ctx context.Context, sel trace.Selection, order format.Order, sink format.Sink) error {
	d.Opt.Pass()
	if sel.NoEvents && d.Restore == nil && d.deps == 0 {
		return nil
	}
	sel, sink = format.ExactScan(d.Model, sel, sink)
	// A dependency may refer to a claim anywhere in the file, so the scan reads the whole file.
	return d.Deliver(ctx, d, sel, order, d.Restore != nil || sel.Links != trace.NoLinks && d.deps > 0, sink)
}

// ScanParallel delivers the selected events from a single goroutine. All cores parse the text.
func (d *decoder) ScanParallel(ctx context.Context, sel trace.Selection, begin func() func(int) format.Sink) error {
	return format.ScanInOne(ctx, d, sel, begin)
}

// SortTime returns the time by which a line is sorted, which is its start time. Lines without a time
// come first.
func (d *decoder) SortTime(l []byte, _ int64) int64 {
	k, i, _ := parseKeyword(l)
	var rec Record
	t, _, ok := rec.times(k, l, i)
	if !ok {
		return math.MinInt64
	}
	ticks, _, _ := t.Ticks(d.Digits)
	return ticks
}

// scan is a single pass over the events.
type scan struct {
	d *decoder
	neededNames
	*linker
}

// neededNames tells which attributes of claims and events a scan needs.
type neededNames struct {
	attribute func(name string) bool // [trace.Selection.Attribute]
	noRegions bool                   // [trace.Selection.NoRegions]
}

// Begin begins a scan with the given selection.
func (d *decoder) Begin(sel trace.Selection) linetrace.Scan {
	d.skipped.Store(0)
	d.skippedLinks.Store(0)
	d.lessText.Store(0)
	d.otherForm.Store(0)
	d.rounded.Store(0)
	return scan{d, neededNames{sel.Attribute, sel.NoRegions && sel.Region == nil}, d.newLinker(sel)}
}

// Assembler returns an assembler that adds the end of each claim to the events of the block in which the
// claim ends. If mixed is set, a batch has the events of all locations.
func (s scan) Assembler(mixed bool) linetrace.Assembler {
	return &assembler{d: s.d, mixed: mixed, links: s.linker, needed: s.neededNames}
}
