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

// Format is the PICL trace file format.
type Format struct{ format.Unsupported }

// About describes the format.
func (Format) About() format.About { return about }

// Probe tells how sure it is that a file is one of the format.
func (Format) Probe(name string, head []byte) int {
	return probe(name, head)
}

// Open opens a trace.
func (Format) Open(ctx context.Context, src format.Source, opt *format.ReadOptions) (format.File, error) {
	if err := about.CheckOptions(opt.Values); err != nil {
		return nil, err
	}
	return open(ctx, src, opt)
}

// Create makes an encoder.
func (Format) Create(dst *format.Output, opt *format.WriteOptions) (format.Encoder, error) {
	if err := about.CheckOptions(opt.Values); err != nil {
		return nil, err
	}
	return create(dst, opt)
}

// Copy writes a trace record by record.
func (Format) Copy(ctx context.Context, src format.Source, ro *format.ReadOptions, dst *format.Output,
	wo *format.WriteOptions) (*format.Loss, error) {
	if err := about.CheckOptions(wo.Values); err != nil {
		return nil, err
	}
	return copyTrace(ctx, src, ro, dst, wo)
}

// Raw prints the records as text.
func (Format) Raw(ctx context.Context, src format.Source, opt *format.ReadOptions, w io.Writer) error {
	return rawTrace(ctx, src, opt, w)
}

var about = format.About{
	Mapping:    mapping,
	Name:       "picl",
	Title:      "PICL",
	Extensions: []string{".trf", ".picl"},
	SingleText: true,
	Reads:      "new format, MPICL, old format (compact and verbose)",
	Writes:     "new format; for ParaGraph on request",
	Seeks:      "time windows by chunk",
	Options: []format.Option{
		{Name: "picl.max-line", Default: "16M", Doc: "Longest line that is read; longer ones are skipped and reported."},
		{Name: "picl.marks", Default: "marks", Values: []string{"marks", "messages"},
			Doc: "Whether marks of sends and receives count as messages too."},
		{Name: "picl.statistics", Default: "false", Write: true, Values: []string{"true", "false"},
			Doc: "Append statistics records (-101 to -103) computed from the events."},
		{Name: "picl.paragraph", Default: "false", Write: true, Values: []string{"true", "false"},
			Doc: "Write what ParaGraph reads: processors 0 to P-1, one process each, tracing brackets (-901), no host."},
		{Name: "picl.brackets", Default: "keep", Write: true, Values: []string{"keep", "entry-exit", "mark"},
			Doc: "Write marks as entry and exit, or entries and exits as marks."},
		{Name: "picl.digits", Default: "6", Write: true, Doc: "Least number of digits after the point of a time stamp."},
	},
	Rules: rules,
}

// probe recognises both formats by their first lines.
func probe(name string, text []byte) int {
	if ext := strings.ToLower(path.Ext(name)); len(text) == 0 && (ext == ".trf" || ext == ".picl") {
		return 50 // a trace without events has no lines
	}
	if s := probeOld(text); s > 0 {
		return s
	}
	good, bad := 0, 0
	decimal := false
	for l := range bytes.Lines(text) {
		if good+bad == 20 || good+bad > 0 && l[len(l)-1] != '\n' {
			break // the head may cut off the last line
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
	named := strings.HasSuffix(name, ".trf") || strings.HasSuffix(name, ".picl")
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

// checker holds the events against -901, and the statistics records against the events, in a
// pass of its own over the records, if there are any.
type checker struct {
	d       *decoder
	tracing map[uint32]bool // the regions of -901 and -1
	outside map[uint32]*outside
	fields  []int64          // what subsets an attribute names, a record type, 0 none
	missing map[setKey]int64 // subsets that data fields name and no record defines, with their first lines
}

// outside counts events of a location before its first entry of -901 or -1, or behind its last exit.
type outside struct {
	entered bool
	off     bool // before the entry or behind an exit
	events  int64
	line    int64 // of the first of them
}

// NewChecker makes the checker of tracing and statistics.
func (d *decoder) NewChecker() format.Checker {
	c := &checker{d: d, tracing: map[uint32]bool{}, outside: map[uint32]*outside{}, missing: map[setKey]int64{}}
	for k, r := range d.regions {
		if k.event == -901 || k.event == -1 {
			c.tracing[r] = true
		}
	}
	return c
}

// Batch looks for events outside of -901, and for subsets that data fields name.
func (c *checker) Batch(b *trace.Batch) error {
	c.subsets(b)
	if len(c.tracing) == 0 {
		return nil
	}
	for row := b.Cursor(); row.Next(); {
		k := row.Kind()
		if row.Derived() || k != trace.Enter && k != trace.Leave && k != trace.Mark && k < trace.Declared {
			continue
		}
		o := c.outside[row.Location()]
		if o == nil {
			o = &outside{off: true}
			c.outside[row.Location()] = o
		}
		switch isTracing := c.tracing[row.Ref()]; {
		case isTracing && k == trace.Enter:
			if !o.entered {
				if err := c.reportOutside(o, "before", "entry"); err != nil {
					return err
				}
			}
			*o = outside{entered: true}
		case isTracing && k == trace.Leave:
			*o = outside{entered: true, off: true}
		case o.off:
			if o.events++; o.events == 1 {
				o.line = row.Pos()
			}
		}
	}
	return nil
}

// subsetFields are the data fields that may name a subset, by the record type that defines it.
var subsetFields = map[string]int64{
	"destination": TypeProcessorSet, "source": TypeProcessorSet, "requestedProcessor": TypeProcessorSet,
	"processorSubset":    TypeProcessorSet,
	"destinationProcess": TypeProcessSet, "sourceProcess": TypeProcessSet, "requestedProcess": TypeProcessSet,
	"processSubset": TypeProcessSet,
}

// subsets looks for subsets that data fields name and no record defines.
func (c *checker) subsets(b *trace.Batch) {
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
		case k.typ == 0 || v.Type != trace.Int32 && v.Type != trace.Int64:
			continue
		default:
			k.id = v.Int()
		}
		if _, known := c.d.missing[k]; !known && len(b.Pos) > 0 {
			c.d.needs(c.missing, k, b.Pos[row])
		}
	}
}

// reportOutside reports the events that stand outside of -901.
func (c *checker) reportOutside(o *outside, where, record string) error {
	if o.events == 0 {
		return nil
	}
	return c.d.Opt.Defect(&trace.Defect{Rule: "picl.outside-tracing", Severity: trace.Warning,
		Position: trace.Position{File: c.d.src.Path, Line: o.line}, Count: o.events,
		Found:    "an event " + where + " the process's tracing " + record,
		Expected: "all events of a process between its first entry of -901 or -1 and its last exit"})
}

// Links has nothing to do.
func (c *checker) Links([]trace.Link) error { return nil }

// Finish compares.
func (c *checker) Finish(ctx context.Context) error {
	if err := c.d.reportMissing(c.missing); err != nil {
		return err
	}
	for _, loc := range slices.Sorted(maps.Keys(c.outside)) {
		if o := c.outside[loc]; o.entered {
			if err := c.reportOutside(o, "behind", "exit"); err != nil {
				return err
			}
		}
	}
	if !c.d.statistics {
		return nil
	}
	r, err := NewReader(ctx, c.d.src, &format.ReadOptions{Values: c.d.Opt.Values})
	if err != nil {
		return err
	}
	defer r.Close()
	s := NewStatistics()
	s.expect(c.d.defs, func(yield func(int64) bool) {
		for k := range c.d.regions {
			if !yield(k.event) {
				return
			}
		}
	})
	tick := trace.NewDecimal(1, min(6, int(c.d.Digits)))
	report := func(defects []*trace.Defect) error {
		for _, d := range defects {
			d.Position.File = c.d.src.Path
			if err := c.d.Opt.Defect(d); err != nil {
				return err
			}
		}
		return nil
	}
	if err := linetrace.Records(ctx, r, func(rec *Record) error {
		s.Add(rec)
		return report(s.Compare(rec, tick))
	}); err != nil {
		return err
	}
	return report(s.Rest())
}
