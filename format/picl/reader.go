package picl

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/lines"
	"github.com/weft-trace/weft/internal/linetrace"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// Reader reads the records of a PICL trace one by one, in the order of the file. It keeps one chunk of
// the file in memory, and the labels, descriptors and subsets.
type Reader struct {
	opt   *format.ReadOptions
	name  string
	file  *lines.File
	lines *lines.Reader
	defs  *definitions
	res   descriptorResolver
	close func() error
	head  head
	// described is set once a record has defined a descriptor. The meaning of a descriptor can change only in
	// such a file.
	described bool
	unread    func(l []byte) error // called for lines that cannot be read, unless it is nil
	rounded   int64                // number of rounded times
}

// NewReader opens a PICL trace. It converts old-format traces. It reports defects to opt, which may be
// nil. It does not examine whether the text is PICL: Read skips all lines that are not records.
func NewReader(ctx context.Context, src format.Source, opt *format.ReadOptions) (*Reader, error) {
	if opt == nil {
		opt = &format.ReadOptions{}
	}
	f, closer, err := openText(ctx, src, opt)
	if err != nil {
		return nil, err
	}
	r := &Reader{opt: opt, name: f.Name, file: f, defs: newDefinitions(), close: closer}
	if r.lines, err = lines.NewReader(ctx, f); err != nil {
		closer()
		return nil, err
	}
	r.res.defs = r.defs
	return r, nil
}

// Close closes the file.
func (r *Reader) Close() error { return r.close() }

// Read reads the next record into rec. The Values of rec are valid until the next call. Read returns
// io.EOF after the last record. It reports and skips malformed lines.
func (r *Reader) Read(rec *Record) error {
	for {
		if more, err := r.lines.More(); err != nil {
			return err
		} else if !more {
			return io.EOF
		}
		if ok, err := r.readFast(rec); ok || err != nil {
			return err
		}
		l, number, _ := r.lines.Next()
		var h head
		i, problem, skip := parseLine(l, &h)
		if skip && problem.rule == "" {
			continue
		}
		if problem.rule != "" {
			if err := r.reportDefect(problem, number, l); err != nil {
				return err
			}
			if skip {
				if r.unread != nil {
					if err := r.unread(l); err != nil {
						return err
					}
				}
				continue
			}
		}
		if !h.exact {
			r.rounded++
		}
		rec.setHead(&h, number)
		r.described = r.described || rec.Type == TypeDescriptor
		problem = rec.decodeData(l[i:], &h, &r.res)
		if problem.rule != "" {
			if err := r.reportDefect(problem, number, l); err != nil {
				return err
			}
		}
		if isDefinition(rec.Type) {
			known := rec.Type == TypeDescriptor && problem.rule != "" // the defect has been reported
			if wrong := r.defs.add(rec); wrong.rule != "" && !known {
				if err := r.reportDefect(wrong, number, l); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// readFast reads the next record if its head has the usual spelling. ok is false for other records.
func (r *Reader) readFast(rec *Record) (ok bool, err error) {
	if !r.lines.Plain() {
		return false, nil
	}
	rest := r.lines.Rest()
	h := &r.head
	i, end := h.parseFastLine(rest)
	if end == 0 {
		return false, nil
	}
	l, number := rest[:end], r.lines.Skip(end+1)
	rec.setHead(h, number)
	rec.Values = rec.Values[:0]
	if h.f[5] == 0 && i == len(l) {
		return true, nil
	}
	if !r.described && i+2 < len(l) && l[i+1] == '2' && h.f[5] < 64 {
		if rec.Values, ok = parseIntegers(l[i+2:], h.f[5], rec.Values); ok {
			return true, nil
		}
	}
	if problem := rec.decodeData(l[i:], h, &r.res); problem.rule != "" {
		err = r.reportDefect(problem, number, l)
	}
	return true, err
}

func (r *Reader) reportDefect(p dataProblem, line int64, text []byte) error {
	return r.opt.Defect(p.defect(r.name, line, text))
}

func (p *dataProblem) defect(file string, line int64, text []byte) *trace.Defect {
	record := ""
	if len(text) > 0 {
		record = quote(text)
	}
	return &trace.Defect{Rule: p.rule, Severity: p.severity, Position: trace.Position{File: file, Line: line},
		Record: record, Found: p.found, Expected: p.expected}
}

// setHead sets the fields of the record that come from the head of its line.
func (r *Record) setHead(h *head, line int64) {
	r.Type, r.Event, r.Time, r.Processor, r.Process, r.Fields, r.Line = h.f[0], h.f[1], h.time(), h.f[3], h.f[4], h.f[5],
		line
	r.Text, r.saysMore = "", false
}

// decodeData decodes the data of a record from l, the text after the head. The record's Text and Values
// share the memory of l.
func (r *Record) decodeData(l []byte, h *head, res *descriptorResolver) (problem dataProblem) {
	if r.Type == TypeDescriptor {
		r.Values, problem = parseDescriptor(l, r.Fields, r.Values[:0])
	} else {
		r.Values, problem = parseData(l, r.Fields, h, r.Line, res, r.Values[:0])
	}
	r.saysMore = problem.rule != ""
	rest := bytes.Trim(l, " \t\r")
	if len(rest) == 0 && r.Fields != 0 {
		r.Text = strconv.FormatInt(r.Fields, 10)
	} else if n := len(rest); n > 0 &&
		(problem.rule != "" || r.Type == TypeDescriptor || !usualDescriptor(rest) || len(res.defs.descriptors) > 0 ||
			r.respells(rest)) {
		r.Text = strconv.FormatInt(r.Fields, 10) + " " + string(bytes.TrimLeft(bytes.TrimRight(l, "\r"), " \t"))
		r.saysMore = r.saysMore || r.Type != TypeDescriptor && skipsData(rest, h, r.Line, res)
	}
	return problem
}

// skipsData reports whether the descriptor at the start of data makes readers skip some of the data, as %*d
// does.
func skipsData(data []byte, h *head, line int64, res resolver) bool {
	var c *control
	if data[0] == '"' {
		c, _ = res.inline(string(data[1:max(1, closingQuote(data))]))
	} else if i := bytes.IndexAny(data, " \t"); i > 0 {
		if n, err := strconv.ParseInt(string(data[:i]), 10, 64); err == nil {
			c = res.control(n, h, line)
		}
	}
	return c != nil && slices.ContainsFunc(c.directives, func(d directive) bool { return d.skip })
}

// respells reports whether Append would write numbers in another form than data has: with fewer digits,
// without a sign, or with another descriptor. It looks only at descriptors of one digit.
func (r *Record) respells(data []byte) bool {
	if data[0] < '2' {
		return false
	}
	words := bytes.Fields(r.appendData(nil, 0))[1:] // skip the number of fields
	for word := range bytes.FieldsSeq(data) {
		if len(words) == 0 || !bytes.Equal(words[0], word) {
			return true
		}
		words = words[1:]
	}
	return len(words) > 0
}

// usualDescriptor reports whether data begins with one of the descriptors of one digit that
// [Record.Append] writes.
func usualDescriptor(data []byte) bool {
	return data[0] >= '0' && data[0] <= '5' && (len(data) == 1 || blank(data[1]))
}

// parseLine parses the head of a line. It returns the position after the head. skip is true for lines without
// a record: blank lines, for which problem is empty, and malformed lines.
func parseLine(l []byte, h *head) (i int, problem dataProblem, skip bool) {
	i, bad := h.parse(l, 6)
	if bad < 0 {
		if !h.exact {
			problem = dataProblem{"picl.time-rounded", "a time stamp of too many digits", "digits that fit 64 bits",
				trace.Warning}
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
		// Some writers leave out a count of 0.
		h.f[5] = 0
		return len(l), dataProblem{"picl.count-missing", found, "the number of data fields; weft assumes 0",
			trace.Warning}, false
	}
	kind := "an integer of at most 18 digits"
	if bad == 2 {
		kind = "a decimal number that fits 64 bits"
	}
	return 0, dataProblem{"picl.malformed-record", found, kind + " as " + fieldNames[bad], trace.Error}, true
}

// parseDescriptor decodes the data of a record of type -6, for which the record states n data fields. A
// data field holds a definition: an integer and a quoted control string, which may contain blanks. A
// record should have one data field. If it has several, parseDescriptor returns all definitions, and a
// problem. It also returns a problem, besides the definitions, if the record's own descriptor is invalid, or
// if a control string is not in quotes.
func parseDescriptor(l []byte, n int64, vals []trace.Value) ([]trace.Value, dataProblem) {
	problem := dataProblem{"picl.descriptor", quote(l), `a descriptor, an integer and a quoted control string`,
		trace.Warning}
	l = bytes.TrimSpace(l)
	valid, size := ownDescriptor(l)
	if l = l[size:]; size == 0 {
		return vals, problem
	}
	for {
		l = bytes.TrimSpace(l)
		j := bytes.IndexAny(l, " \t\"")
		if j <= 0 {
			return vals, problem
		}
		number, err := strconv.ParseInt(string(l[:j]), 10, 64)
		if err != nil {
			return vals, problem
		}
		text := bytes.TrimSpace(l[j:])
		end := len(text)
		if text[0] == '"' {
			end = closingQuote(text) + 1
		} else if valid = false; bytes.IndexByte(text, '"') >= 0 {
			end = 0 // a quote is missing
		}
		if end <= 0 {
			return vals, problem
		}
		vals = append(vals, trace.Value{Num: uint64(number), Type: trace.Int32}, trace.StringValue(string(text[:end])))
		if l = text[end:]; len(l) == 0 {
			break
		}
	}
	switch {
	case !valid:
		return vals, problem
	case n == 1 && len(vals) == 2:
		return vals, dataProblem{}
	}
	problem.found = fmt.Sprintf("%s in %s", plural.Of(len(vals)/2, "definition"), plural.Of(n, "data field"))
	problem.expected = "one data field with one definition; weft uses each definition"
	return vals, problem
}

// ownDescriptor returns the length of the descriptor at the start of the data of a record of type -6, or 0 if there
// is none. valid is false if the descriptor is neither an integer nor a control string.
func ownDescriptor(l []byte) (valid bool, size int) {
	if len(l) > 0 && l[0] == '"' {
		j := closingQuote(l)
		if j < 0 {
			return false, 0
		}
		_, err := parseControl(string(l[1:j]))
		return err == nil, j + 1
	}
	j := max(0, bytes.IndexAny(l, " \t"))
	_, err := strconv.ParseInt(string(l[:j]), 10, 64)
	return err == nil, j
}

// descriptorNumber returns the integer with which a record of type -6 describes its own data. ok is false if the record
// has a control string.
func (r *Record) descriptorNumber() (n int64, ok bool) {
	words := strings.Fields(r.Text)
	if len(words) < 2 {
		return 0, false
	}
	n, err := strconv.ParseInt(words[1], 10, 64)
	return n, err == nil
}

// openText opens a PICL file as a sequence of lines.
func openText(ctx context.Context, src format.Source, opt *format.ReadOptions) (*lines.File, func() error, error) {
	return linetrace.Open(ctx, src, opt, "picl", true,
		linetrace.Dialect{Is: func(head []byte) bool { return probeOld(head) > 0 }, Begin: beginOld})
}
