package picl

import (
	"bytes"
	"context"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/linetrace"
	"github.com/weft-trace/weft/trace"
)

// Format implements [format.Format] for PICL traces.
type Format struct{ format.Unsupported }

// About returns the name and properties of the format.
func (Format) About() format.About { return about }

// Raw prints the lines of the file.
func (Format) Raw(ctx context.Context, src format.Source, _ *format.ReadOptions, w io.Writer) error {
	return format.CopyText(ctx, src, w)
}

var about = format.About{
	Mapping:    mapping,
	Name:       "picl",
	Title:      "PICL",
	Extensions: []string{".trf", ".picl"},
	SingleText: true,
	Follows:    true,
	Reads:      "new format, MPICL, old format (compact and verbose)",
	Writes:     "new format; for ParaGraph on request",
	Seeks:      "time windows by chunk",
	Options: []format.Option{
		{Name: "picl.max-line", Default: "16M",
			Doc: "Longest line that weft reads. weft skips longer lines and reports them."},
		{Name: "picl.marks", Default: "marks", Values: []string{"marks", "messages"},
			Doc: "Whether weft also counts marks of sends and receives as messages."},
		{Name: "picl.statistics", Default: "false", Write: true, Values: []string{"true", "false"},
			Doc: "Append statistics records (-101 to -103) computed from the events."},
		{Name: "picl.paragraph", Default: "false", Write: true, Values: []string{"true", "false"},
			Doc: "Write a trace that ParaGraph reads: processors 0 to P-1 with one process each, entries and exits of tracing " +
				"(-901), no host."},
		{Name: "picl.brackets", Default: "keep", Write: true, Values: []string{"keep", "entry-exit", "mark"},
			Doc: "Write marks as entry and exit, or entries and exits as marks."},
		{Name: "picl.digits", Default: "6", Write: true, Doc: "Least number of digits after the point of a time stamp."},
	},
	Rules: rules,
}

// Probe returns the confidence, from 0 to 100, that a file has this format. It recognises the new and the old format by
// their first lines.
func (Format) Probe(name string, text []byte) int {
	ext := strings.ToLower(path.Ext(name))
	named := ext == ".trf" || ext == ".picl"
	if len(text) == 0 && named {
		return 50 // opening the file reports that it is empty
	}
	if s := probeOld(text); s > damagedOld || s > 0 && named {
		return s
	}
	good, bad := 0, 0
	decimal := false
	for l := range bytes.Lines(text) {
		if good+bad == 20 || good+bad > 0 && l[len(l)-1] != '\n' {
			break // head may end in the middle of its last line
		}
		l = bytes.TrimSuffix(l, []byte{'\n'})
		if len(bytes.TrimSpace(l)) == 0 {
			continue
		}
		var h head
		if _, field := h.parse(l, 6); field >= 0 {
			bad++
			continue
		}
		good++
		decimal = decimal || h.scale > 0 || h.f[0] < 0
	}
	switch {
	case good > 0 && bad <= good/4 && decimal:
		return 90
	case good > bad && named:
		return 60
	case named && bytes.IndexByte(text, 0) < 0 && good > 0:
		return 30
	}
	return 0
}

// checker checks that events lie inside a -901 event (tracing). If the file has statistics records, it
// also compares them with the events, in a separate pass over the records.
type checker struct {
	d       *decoder
	tracing map[uint32]bool // regions of event types -901 and -1
	outside map[uint32]*outsideTracing
	// the record type that defines the subsets in an attribute; 0 for other attributes; indexed by attribute
	fields  []int64
	missing map[setKey]int64 // undefined subsets in data fields, with the first line that uses each
}

// outsideTracing counts the events of a location that lie outside of tracing: before its first entry of -901
// or -1, and after each exit of these.
type outsideTracing struct {
	entered bool
	off     bool // no tracing event is open
	events  int64
	line    int64 // line of the first event outside of tracing
}

// NewChecker returns a checker for tracing events and statistics records.
func (d *decoder) NewChecker() format.Checker {
	c := &checker{d: d, tracing: map[uint32]bool{}, outside: map[uint32]*outsideTracing{}, missing: map[setKey]int64{}}
	for k, r := range d.regions {
		if k.event == -901 || k.event == -1 {
			c.tracing[r] = true
		}
	}
	return c
}

// Batch looks for events outside of tracing and for undefined subsets in data fields.
func (c *checker) Batch(b *trace.Batch) error {
	c.checkSubsets(b)
	if len(c.tracing) == 0 {
		return nil
	}
	row := b.Cursor()
	for row.Next() {
		k := row.Kind()
		if row.Derived() || k != trace.Enter && k != trace.Leave && k != trace.Mark && k < trace.Declared {
			continue
		}
		o := c.outside[row.Location()]
		if o == nil {
			o = &outsideTracing{off: true}
			c.outside[row.Location()] = o
		}
		switch isTracing := c.tracing[row.Ref()]; {
		case isTracing && k == trace.Enter:
			if !o.entered {
				if err := c.reportOutside(row.Location(), "before", "entry"); err != nil {
					return err
				}
			}
			*o = outsideTracing{entered: true}
		case isTracing && k == trace.Leave:
			*o = outsideTracing{entered: true, off: true}
		case o.off:
			if o.events++; o.events == 1 {
				o.line = row.Pos()
			}
		}
	}
	return nil
}

// subsetFields maps each data field that may contain a subset to the type of record that defines such
// subsets.
var subsetFields = map[string]int64{
	"destination": TypeProcessorSet, "source": TypeProcessorSet, "requestedProcessor": TypeProcessorSet,
	"processorSubset":    TypeProcessorSet,
	"destinationProcess": TypeProcessSet, "sourceProcess": TypeProcessSet, "requestedProcess": TypeProcessSet,
	"processSubset": TypeProcessSet,
}

// checkSubsets looks for undefined subsets in data fields.
func (c *checker) checkSubsets(b *trace.Batch) {
	attributes := &c.d.Model.Attributes
	if c.d.Restore != nil {
		return
	}
	for i, key := range b.AttrKey {
		for n := len(c.fields); int(key) >= n; n++ {
			c.fields = append(c.fields, subsetFields[strings.TrimPrefix(attributes.At(uint32(n)).Name, "exit ")])
		}
		k, row := setKey{c.fields[key], 0}, b.AttrRow[i]
		switch v := &b.AttrVal[i]; {
		case b.Kind[row] == trace.Statistics:
			event, err := strconv.ParseInt(attributes.At(key).Name, 10, 64)
			if err != nil {
				continue
			}
			k = setKey{TypeEventSet, event}
		case k.typ == 0:
			continue
		default:
			id, ok := v.Whole()
			if !ok {
				continue
			}
			k.id = id
		}
		if k.typ == TypeProcessSet && c.d.defs.hasSubset(setKey{TypeProcessorSet, k.id}) {
			continue // the ranks of a communicator
		}
		if _, known := c.d.missing[k]; !known && len(b.Pos) > 0 {
			c.d.noteSubset(c.missing, k, b.Pos[row])
		}
	}
}

// reportOutside reports the events of a location that lie outside of tracing.
func (c *checker) reportOutside(loc uint32, where, record string) error {
	o := c.outside[loc]
	if o.events == 0 {
		return nil
	}
	return c.d.Opt.Defect(&trace.Defect{Rule: "picl.outside-tracing", Severity: trace.Warning,
		Position: trace.Position{File: c.d.src.Path, Line: o.line}, Count: o.events,
		Event:    trace.Place{Location: loc, HasLocation: true},
		Found:    "an event " + where + " the " + record + " of the process's tracing",
		Expected: "all events of a process between its first entry of -901 or -1 and its last exit"})
}

// Links does nothing.
func (c *checker) Links([]trace.Link) error { return nil }

// Finish reports the collected defects and compares the statistics records with the events.
func (c *checker) Finish(ctx context.Context) error {
	if err := c.d.reportMissing(c.missing); err != nil {
		return err
	}
	for _, loc := range slices.Sorted(maps.Keys(c.outside)) {
		if o := c.outside[loc]; o.entered {
			if err := c.reportOutside(loc, "after", "exit"); err != nil {
				return err
			}
		}
	}
	if len(c.d.statistics) == 0 {
		return nil
	}
	s := NewStatistics()
	s.setDefinitions(c.d.defs, c.d.statistics)
	s.aliases = c.d.aliases()
	places := map[int64]trace.Place{} // of statistics records, by line
	report := func(defects []*trace.Defect) error {
		for _, d := range defects {
			d.Position.File, d.Event = c.d.src.Path, places[d.Position.Line]
			if err := c.d.Opt.Defect(d); err != nil {
				return err
			}
		}
		return nil
	}
	if err := c.d.eachRecord(ctx, func(rec *Record) error {
		s.Add(rec)
		if loc, ok := c.d.locationOfRecord(procKey{rec.Processor, rec.Process}); ok && rec.Type <= TypeTimes {
			t, _, known := rec.Time.Ticks(c.d.Digits)
			places[rec.Line] = trace.Place{Location: loc, HasLocation: true, Time: t, HasTime: known}
		}
		return report(s.Compare(rec, trace.NewDecimal(1, min(6, int(max(c.d.Digits, s.digits))))))
	}); err != nil {
		return err
	}
	return report(s.Rest())
}

// aliases maps each process -1 that stands for another process to that process.
func (d *decoder) aliases() map[procKey]procKey {
	only := map[procKey]procKey{}
	for k, loc := range d.locations {
		if one, ok := parseLocationID(d.Model.Locations.At(loc).ID); ok && one != k {
			only[k] = one
		}
	}
	return only
}

// eachRecord calls f for the records in order of time. It may leave out definitions.
func (d *decoder) eachRecord(ctx context.Context, f func(*Record) error) error {
	if len(d.Runs) == 1 || d.Restore != nil || d.File.Numbered {
		r, err := NewReader(ctx, d.src, &format.ReadOptions{Values: d.Opt.Values})
		if err != nil {
			return err
		}
		defer r.Close()
		return linetrace.Records(ctx, r, f)
	}
	scanned := d.Scanned
	d.Scanned = true // the defects have already been reported
	defer func() { d.Scanned = scanned }()
	w := &rewriter{d: d, lines: linetrace.NewLines(&d.Text), res: descriptorResolver{defs: d.defs}}
	return d.Scan(ctx, trace.Everything(), format.GlobalOrder, format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
		c := b.Cursor()
		for c.Next() {
			if c.Derived() {
				continue
			}
			if _, _, ok, err := w.read(c.Pos(), &w.res); err != nil {
				return err
			} else if ok {
				if err := f(&w.rec); err != nil {
					return err
				}
			}
		}
		return nil
	}})
}
