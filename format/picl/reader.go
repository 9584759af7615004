package picl

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/lines"
	"github.com/weft-trace/weft/trace"
)

// Reader reads the records of a PICL trace one by one, in the order of the
// file. It holds one chunk of text, and the labels, descriptors and subsets.
type Reader struct {
	opt   *format.ReadOptions
	file  *lines.File
	src   lines.Source
	block *lines.Block
	walk  lines.Walker
	defs  *definitions
	res   scoped
	close func() error
	head  head
	plain bool // the block's lines can be read by head.usual
	// described: a record has defined a descriptor, maybe anew.
	described bool
}

// NewReader opens a trace for reading record by record. Old-format traces are
// converted on the way. Defects go to opt, which may be nil.
func NewReader(ctx context.Context, src format.Source, opt *format.ReadOptions) (*Reader, error) {
	if opt == nil {
		opt = &format.ReadOptions{}
	}
	f, closer, err := openText(ctx, src, opt)
	if err != nil {
		return nil, err
	}
	chunks, err := lines.Index(ctx, f, 1, func(*lines.Block) struct{} { return struct{}{} }, func(lines.Chunk, struct{}) error { return nil })
	if err != nil {
		closer()
		return nil, err
	}
	r := &Reader{opt: opt, file: f, src: f.Chunks(chunks), defs: newDefinitions(), close: closer}
	r.res.defs = r.defs
	return r, nil
}

// Close frees the file.
func (r *Reader) Close() error { return r.close() }

// Read reads the next record into rec, whose Values are valid until the next
// call. It returns io.EOF after the last record. Lines that are no records are
// skipped and reported.
func (r *Reader) Read(rec *Record) error {
	for {
		if r.block == nil {
			b, err := lines.Next(r.src)
			if err != nil {
				return err
			}
			if b == nil {
				return io.EOF
			}
			r.block, r.walk, r.plain = b, r.file.Walk(b), plain(r.file, b)
		}
		if ok, err := r.quick(rec); ok || err != nil {
			return err
		}
		l, number, ok := r.walk.Next()
		if !ok {
			r.block.Release()
			r.block = nil
			continue
		}
		var h head
		i, problem, skip := parseLine(l, &h)
		if skip && problem.rule == "" {
			continue
		}
		if problem.rule != "" {
			if err := r.defect(problem, number, l); err != nil {
				return err
			}
			if skip {
				continue
			}
		}
		rec.set(&h, number)
		if rec.Type == TypeDescriptor {
			r.described = true
			rec.Values, problem = parseDescriptor(l[i:], rec.Values[:0])
		} else {
			rec.Values, problem = parseData(l[i:], rec.Fields, &h, number, &r.res, rec.Values[:0])
		}
		if problem.rule != "" {
			if err := r.defect(problem, number, l); err != nil {
				return err
			}
		}
		if isDefinition(rec.Type) {
			if problem := r.defs.add(rec); problem.rule != "" {
				if err := r.defect(problem, number, l); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// quick reads the next record if its head is spelled in the usual way.
func (r *Reader) quick(rec *Record) (ok bool, err error) {
	if !r.plain {
		return false, nil
	}
	rest := r.walk.Rest()
	h := &r.head
	i, end := h.usual(rest)
	if end == 0 {
		return false, nil
	}
	l, number := rest[:end], r.walk.Skip(end+1)
	rec.set(h, number)
	rec.Values = rec.Values[:0]
	if h.f[5] == 0 && i == len(l) {
		return true, nil
	}
	if !r.described && i+2 < len(l) && l[i+1] == '2' && h.f[5] < 64 {
		if rec.Values, ok = integers(l[i+2:], h.f[5], rec.Values); ok {
			return true, nil
		}
	}
	var problem dataProblem
	if rec.Values, problem = parseData(l[i:], h.f[5], h, number, &r.res, rec.Values[:0]); problem.rule != "" {
		err = r.defect(problem, number, l)
	}
	return true, err
}

func (r *Reader) defect(p dataProblem, line int64, text []byte) error {
	return r.opt.Defect(p.defect(r.file.Name, line, text))
}

func (p *dataProblem) defect(file string, line int64, text []byte) *trace.Defect {
	record := ""
	if len(text) > 0 {
		record = quote(text)
	}
	return &trace.Defect{Rule: p.rule, Severity: p.severity, Position: trace.Position{File: file, Line: line},
		Record: record, Found: p.found, Expected: p.expected}
}

// set copies the head of a record.
func (r *Record) set(h *head, line int64) {
	r.Type, r.Event, r.Time, r.Processor, r.Process, r.Fields, r.Line = h.f[0], h.f[1], h.time(), h.f[3], h.f[4], h.f[5], line
}

// parseLine reads the head of a line. skip is set for lines that hold no
// record: blank ones (without a problem) and malformed ones.
func parseLine(l []byte, h *head) (i int, problem dataProblem, skip bool) {
	i, bad := h.parse(l, 6)
	if bad < 0 {
		if !h.exact {
			problem = dataProblem{"picl.time-rounded", "a time stamp of too many digits", "digits that fit 64 bits", trace.Warning}
		}
		return i, problem, false
	}
	rest := bytes.TrimSpace(l)
	if len(rest) == 0 {
		return 0, problem, true
	}
	found := "the end of the line"
	if f := bytes.Fields(l[min(i, len(l)):]); len(f) > 0 {
		found = quote(f[0])
	}
	if bad == 5 && found == "the end of the line" {
		// Some writers leave the count out when it is 0.
		h.f[5] = 0
		return len(l), dataProblem{"picl.count-missing", found, "the number of data fields; taken as 0", trace.Warning}, false
	}
	kind := "an integer"
	if bad == 2 {
		kind = "a decimal number that fits 64 bits"
	}
	return 0, dataProblem{"picl.malformed-record", found, kind + " as " + fieldNames[bad], trace.Error}, true
}

// parseDescriptor decodes the data of a record of type -6: an integer and a
// quoted control string, which may contain blanks.
func parseDescriptor(l []byte, vals []trace.Value) ([]trace.Value, dataProblem) {
	bad := dataProblem{"picl.descriptor", quote(l), `a descriptor, an integer and a quoted control string`, trace.Warning}
	l = bytes.TrimSpace(l)
	if len(l) > 0 && l[0] == '"' {
		j := bytes.IndexByte(l[1:], '"')
		if j < 0 {
			return vals, bad
		}
		l = l[j+2:]
	} else if j := bytes.IndexAny(l, " \t"); j > 0 {
		l = l[j:]
	} else {
		return vals, bad
	}
	l = bytes.TrimSpace(l)
	j := bytes.IndexAny(l, " \t\"")
	if j <= 0 {
		return vals, bad
	}
	n, err := strconv.ParseInt(string(l[:j]), 10, 64)
	if err != nil {
		return vals, bad
	}
	return append(vals, trace.Value{Num: uint64(n), Type: trace.Int32}, trace.StringValue(string(bytes.TrimSpace(l[j:])))), dataProblem{}
}

// openText opens the lines of a trace; an old-format trace is first converted
// to the new format, in a temporary file whose lines bear their old numbers.
func openText(ctx context.Context, src format.Source, opt *format.ReadOptions) (*lines.File, func() error, error) {
	maxLine, err := opt.Int("picl.max-line", lines.DefaultMaxLine)
	if err != nil {
		return nil, nil, err
	}
	f, size, err := src.Open()
	if err != nil {
		return nil, nil, err
	}
	head := make([]byte, 64<<10)
	n, _ := f.ReadAt(head, 0)
	closer := f.Close
	lf := &lines.File{R: f, Size: size, Name: src.Path, MaxLine: int(min(maxLine, 1<<30)), Continued: true}
	lf.TooLong = func(line, off, length int64) error {
		return opt.Defect(&trace.Defect{Rule: "picl.line-too-long", Severity: trace.Error, Position: trace.Position{File: src.Path, Line: line},
			Found: fmt.Sprintf("a line of %d bytes", length), Expected: fmt.Sprintf("at most %d (option picl.max-line)", maxLine)})
	}
	if probeOld(head[:n]) > 0 {
		g, size, err := convertOld(ctx, lf, opt)
		f.Close()
		if err != nil {
			return nil, nil, err
		}
		return &lines.File{R: g, Size: size, Name: src.Path, MaxLine: lf.MaxLine, TooLong: lf.TooLong, Numbered: true}, g.Close, nil
	}
	return lf, closer, nil
}
