package linetrace

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/internal/digits"
	"github.com/weft-trace/weft/internal/lines"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// Dialect is an older variant of a format. Its lines are converted to the format before they are
// parsed.
type Dialect struct {
	Is func(head []byte) bool
	// Begin prepares the conversion of a text. line converts a line, and is called for each line in turn.
	// finish is called after the last line.
	Begin func(w *Rewriter) (line func(l []byte, number int64) error, finish func() error)
}

// Rewriter collects the converted lines of a text.
type Rewriter struct {
	Src format.Source
	Opt *format.ReadOptions
	w   *bufio.Writer
	buf []byte
	// Skipped is the number of lines that could not be converted.
	Skipped int64
}

// Record writes a converted line. Function appendTo appends the line to its argument. number is the
// number of the original line.
func (r *Rewriter) Record(number int64, appendTo func([]byte) []byte) error {
	r.buf = append(digits.AppendInt(r.buf[:0], number), '\t')
	r.buf = append(appendTo(r.buf), '\n')
	_, err := r.w.Write(r.buf)
	return err
}

// Defect reports a defect of a line of the original text.
func (r *Rewriter) Defect(rule string, severity trace.Severity, number int64, record, found, expected string) error {
	return r.Opt.Defect(&trace.Defect{Rule: rule, Severity: severity,
		Position: trace.Position{File: r.Src.Path, Line: number},
		Record:   record, Found: found, Expected: expected})
}

// Open opens the text of a trace. name is the name of the format, as it occurs in the names of rules. If
// continued is set, a backslash at the end of a line joins it to the next line. A text in the dialect is
// converted to a temporary file, in which each line begins with its original number. The function that Open
// returns closes the files.
func Open(ctx context.Context, src format.Source, opt *format.ReadOptions, name string, continued bool,
	old Dialect) (*lines.File, func() error, error) {
	option := name + ".max-line"
	maxLine, err := opt.Int(option, lines.DefaultMaxLine)
	if err != nil {
		return nil, nil, err
	}
	f, size, err := src.Open()
	if err != nil {
		return nil, nil, err
	}
	file := &lines.File{R: f, Size: size, Name: src.Path, MaxLine: int(min(maxLine, 1<<30)), Continued: continued,
		Skipped: new(int64)}
	file.TooLong = func(line, off, length int64) error {
		*file.Skipped++
		return opt.Defect(&trace.Defect{Rule: name + ".line-too-long", Severity: trace.Error,
			Position: trace.Position{File: src.Path, Line: line},
			Found:    fmt.Sprintf("a line of %s", plural.Of(length, "byte")),
			Expected: fmt.Sprintf("at most %d (option %s)", maxLine, option)})
	}
	head := make([]byte, 64<<10)
	n, _ := f.ReadAt(head, 0)
	head = head[:n]
	if text, marked := bytes.CutPrefix(head, []byte(lines.ByteOrderMark)); marked {
		head, file.Begin = text, int64(len(lines.ByteOrderMark))
	}
	if !old.Is(head) {
		return file, f.Close, nil
	}
	defer f.Close()
	tmp, err := os.CreateTemp("", "weft-"+name+"-*")
	if err != nil {
		return nil, nil, fmt.Errorf("cannot make a temporary file: %w", err)
	}
	os.Remove(tmp.Name())
	w := &Rewriter{Src: src, Opt: opt, w: bufio.NewWriterSize(tmp, 64<<10)}
	err = convert(ctx, file, w, old)
	*file.Skipped += w.Skipped
	if err == nil {
		size, err = tmp.Seek(0, io.SeekEnd)
	}
	if err != nil {
		tmp.Close()
		return nil, nil, err
	}
	return &lines.File{R: tmp, Size: size, Name: src.Path, MaxLine: file.MaxLine, TooLong: file.TooLong, Numbered: true,
		Skipped: file.Skipped}, tmp.Close, nil
}

// convert converts all lines of f.
func convert(ctx context.Context, f *lines.File, w *Rewriter, old Dialect) error {
	line, finish := old.Begin(w)
	r, err := lines.NewReader(ctx, f)
	for n := 0; err == nil; n++ {
		if n%trace.BatchRows == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		more := false
		if more, err = r.More(); err != nil || !more {
			break
		}
		l, number, _ := r.Next()
		err = line(l, number)
	}
	if err == nil {
		err = finish()
	}
	if err == nil {
		err = w.w.Flush()
	}
	return err
}

// Records calls f for each record that a reader returns.
func Records[R any](ctx context.Context, r interface{ Read(*R) error }, f func(*R) error) error {
	var rec R
	for n := 0; ; n++ {
		if n%trace.BatchRows == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := r.Read(&rec); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if err := f(&rec); err != nil {
			return err
		}
	}
}

// Writer writes the records of a format.
type Writer[R any] interface {
	Write(*R) error
	Close() error
	Discard()
}

// Copy writes all records that a reader returns.
func Copy[R any](ctx context.Context, r interface{ Read(*R) error }, w Writer[R]) error {
	defer w.Discard()
	if err := Records(ctx, r, w.Write); err != nil {
		return err
	}
	return w.Close()
}

// Encoder is the common part of the encoders for formats with decimal times.
type Encoder struct {
	Defs *trace.Definitions
	Lost format.Loss
	// Plain is set if the encoder leaves out data that only weft reads. Rows counts this data, for the report
	// of losses.
	Plain bool
	Rows  carrier.Rows
	// Mapping returns how the format keeps a subject. It is needed for the report of losses.
	Mapping func(format.Subject) format.Mapped
	Mul     int64 // a tick is Mul × 10^-Scale time units of the text; only valid if Exact is set
	Scale   int32
	Exact   bool
	used    int // 1 + the largest index of an attribute that an event has
}

// AppendAttrs appends the attributes of an event as pairs (see [carrier.AppendAttrs]).
func (e *Encoder) AppendAttrs(pairs []carrier.Pair, c *trace.Cursor) []carrier.Pair {
	e.useAttributes(c)
	return carrier.AppendAttrs(pairs, e.Defs, c)
}

// AppendRow appends the operands and attributes of an event as pairs (see [carrier.AppendRow]).
func (e *Encoder) AppendRow(pairs []carrier.Pair, c *trace.Cursor) []carrier.Pair {
	e.useAttributes(c)
	return carrier.AppendRow(pairs, e.Defs, c)
}

// useAttributes notes which attributes an event has, so that the definitions of these attributes are written.
func (e *Encoder) useAttributes(c *trace.Cursor) {
	keys, _ := c.Attrs()
	for _, k := range keys {
		e.used = max(e.used, int(k)+1)
	}
}

// CarryDefinitions calls put with texts that hold all definitions, unless Plain is set. It adds to loss
// the definitions that other tools cannot read. It must be called after all rows have been written.
func (e *Encoder) CarryDefinitions(loss *format.Loss, put func(number, text string) error) error {
	e.Rows.Report(loss, e.Defs, e.Mapping, e.Plain)
	if e.Plain {
		return nil
	}
	data, tooLong := carrier.PackUsed(e.Defs, e.used)
	loss.Add("opaque", "", format.Lost, fmt.Sprintf("longer than %d bytes", carrier.OpaqueLimit), tooLong)
	for _, p := range carrier.Texts(data, "") {
		if err := put(p.Key, p.Value); err != nil {
			return err
		}
	}
	return nil
}

// Loss returns a list of the data that the written text does not keep.
func (e *Encoder) Loss() *format.Loss { return &e.Lost }

// Begin sets the definitions. Times in the text will be in seconds.
func (e *Encoder) Begin(d *trace.Definitions) error {
	m, scale, ok := d.Clock.Decimal()
	e.Defs, e.Mul, e.Scale, e.Exact = d, m, int32(scale), ok
	e.Lost.AddBase(d.Clock)
	return nil
}

// Time converts a tick to the decimal time for the text.
func (e *Encoder) Time(t int64) trace.Decimal {
	if e.Exact {
		if e.Mul == 1 {
			return trace.Decimal{Coef: t, Scale: e.Scale}
		}
		if v := t * e.Mul; v/e.Mul == t {
			return trace.Decimal{Coef: v, Scale: e.Scale}
		}
	}
	v, loss := e.Defs.Clock.DecimalSeconds(t)
	if loss != "" {
		e.Lost.Add("time", "", format.Degraded, loss, 1)
	}
	return v
}
