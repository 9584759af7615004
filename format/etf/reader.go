package etf

import (
	"bytes"
	"context"
	"io"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/lines"
	"github.com/weft-trace/weft/internal/linetrace"
	"github.com/weft-trace/weft/trace"
)

// Reader reads the records of a TRACE file one by one, in the order of the file. It keeps one chunk of
// the file in memory.
type Reader struct {
	opt   *format.ReadOptions
	name  string
	lines *lines.Reader
	close func() error
	text  []byte // the last line that was copied
}

// NewReader opens a TRACE file. It converts files of the dialect V0.1. It reports defects to opt, which
// may be nil.
func NewReader(ctx context.Context, src format.Source, opt *format.ReadOptions) (*Reader, error) {
	if opt == nil {
		opt = &format.ReadOptions{}
	}
	f, closer, err := openText(ctx, src, opt)
	if err != nil {
		return nil, err
	}
	r := &Reader{opt: opt, name: f.Name, close: closer}
	if r.lines, err = lines.NewReader(ctx, f); err != nil {
		closer()
		return nil, err
	}
	return r, nil
}

// Close closes the file.
func (r *Reader) Close() error { return r.close() }

// Read reads the next record into rec. The attributes and slices of rec are valid until the next call.
// Read returns io.EOF after the last record. It skips comments. It reports and skips lines that cannot
// be read.
func (r *Reader) Read(rec *Record) error {
	for {
		if more, err := r.lines.More(); err != nil {
			return err
		} else if !more {
			return io.EOF
		}
		l, number, _ := r.lines.Next()
		usable, err := rec.read(l, number, func(p problem) error { return r.opt.Defect(p.defect(r.name, number, l)) })
		if usable || err != nil {
			return err
		}
	}
}

// canonical returns the next line in canonical spelling, without its line end. It returns a line
// unchanged if the line has no record, has a defect, or has a number or a carriage return that would change. The
// result is valid until the next call.
func (r *Reader) canonical(rec *Record) ([]byte, error) {
	if more, err := r.lines.More(); err != nil {
		return nil, err
	} else if !more {
		return nil, io.EOF
	}
	l, number, _ := r.lines.Next()
	defective := false
	usable, err := rec.read(l, number, func(p problem) error {
		defective = true
		return r.opt.Defect(p.defect(r.name, number, l))
	})
	l = bytes.TrimSuffix(l, []byte{'\r'})
	if r.text = r.text[:0]; usable && !defective && !rec.changes && bytes.IndexByte(l, '\r') < 0 {
		r.text = rec.Append(r.text)
	} else {
		r.text = append(r.text, l...)
	}
	return r.text, err
}

// read parses a whole line and reports its defects. usable is false if the line holds no record.
func (r *Record) read(l []byte, number int64, report func(problem) error) (usable bool, err error) {
	k, i, isBlank := parseKeyword(l)
	if isBlank {
		return false, nil
	}
	r.Line = number
	r.Attrs = r.Attrs[:0]
	if k == NoKeyword {
		return false, report(unknownKeyword(l))
	}
	attrs, p := r.parse(k, l, i)
	if p.rule != "" {
		if err := report(p); err != nil {
			return false, err
		}
		if p.severity == trace.Error {
			return false, nil
		}
	}
	r.Attrs = parseAttrs(attrs, r.Attrs, func(p problem) {
		if e := report(p); e != nil && err == nil {
			err = e
		}
	})
	if k == TU {
		if _, _, ok := unitOf(r.Unit); !ok {
			return false, report(problem{"etf.unit", "unit " + quote([]byte(r.Unit)),
				"NANOSECONDS, MICROSECONDS, MILLISECONDS, SECONDS, MINUTES or HOURS; weft ignores the line", trace.Error})
		}
	}
	return err == nil, err
}

func unknownKeyword(l []byte) problem {
	var w [1]byte
	t := (&scanner{l: l}).token()
	if len(t) == 0 {
		t = append(w[:0], ';')
	}
	return problem{"etf.keyword", "keyword " + quote(t),
		"TU, O, T, E, R, C, D, S, F, TS, TSS, TSP or TSR; weft skips the line", trace.Warning}
}

// openText opens a TRACE file as a sequence of lines.
func openText(ctx context.Context, src format.Source, opt *format.ReadOptions) (*lines.File, func() error, error) {
	return linetrace.Open(ctx, src, opt, "etf", false, linetrace.Dialect{Is: isLegacy, Begin: beginLegacy})
}
