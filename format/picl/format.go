package picl

import (
	"bytes"
	"context"
	"io"
	"path"
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
func (Format) Copy(ctx context.Context, src format.Source, ro *format.ReadOptions, dst *format.Output, wo *format.WriteOptions) (*format.Loss, error) {
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
		{Name: "picl.marks", Default: "messages", Values: []string{"messages", "marks"}, Doc: "Whether marks of sends and receives count as messages."},
		{Name: "picl.statistics", Default: "false", Write: true, Values: []string{"true", "false"}, Doc: "Append statistics records (-101 to -103) computed from the events."},
		{Name: "picl.paragraph", Default: "false", Write: true, Values: []string{"true", "false"}, Doc: "Write what ParaGraph reads: processors 0 to P-1, one process each, tracing brackets (-901), no host."},
		{Name: "picl.brackets", Default: "keep", Write: true, Values: []string{"keep", "entry-exit", "mark"}, Doc: "Write marks as entry and exit, or entries and exits as marks."},
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

// checker holds the statistics records against the events, in a pass of its
// own over the records, if there are any.
type checker struct {
	d *decoder
}

// NewChecker makes the checker of statistics.
func (d *decoder) NewChecker() format.Checker { return &checker{d} }

// Batch has nothing to do: the records are read again by Finish.
func (c *checker) Batch(*trace.Batch) error { return nil }

// Links has nothing to do.
func (c *checker) Links([]trace.Link) error { return nil }

// Finish compares.
func (c *checker) Finish(ctx context.Context) error {
	if !c.d.statistics {
		return nil
	}
	r, err := NewReader(ctx, c.d.src, &format.ReadOptions{Values: c.d.Opt.Values})
	if err != nil {
		return err
	}
	defer r.Close()
	s := NewStatistics()
	tick := trace.NewDecimal(1, min(6, int(c.d.Digits)))
	return linetrace.Records(ctx, r, func(rec *Record) error {
		s.Add(rec)
		for _, d := range s.Compare(rec, tick) {
			d.Position.File = c.d.src.Path
			if err := c.d.Opt.Defect(d); err != nil {
				return err
			}
		}
		return nil
	})
}
