package etf

import (
	"context"
	"fmt"
	"io"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/lines"
	"github.com/weft-trace/weft/trace"
)

// Reader reads the records of a TRACE file one by one, in the order of the
// file. It holds one chunk of text.
type Reader struct {
	opt   *format.ReadOptions
	file  *lines.File
	src   lines.Source
	block *lines.Block
	walk  lines.Walker
	close func() error
}

// NewReader opens a trace for reading record by record. Files of the dialect
// V0.1 are converted on the way. Defects go to opt, which may be nil.
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
	return &Reader{opt: opt, file: f, src: f.Chunks(chunks), close: closer}, nil
}

// Close frees the file.
func (r *Reader) Close() error { return r.close() }

// Read reads the next record into rec, whose attributes and slices are valid
// until the next call. It returns io.EOF after the last record. Comments are
// skipped; lines that cannot be read are skipped and reported.
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
			r.block, r.walk = b, r.file.Walk(b)
		}
		l, number, ok := r.walk.Next()
		if !ok {
			r.block.Release()
			r.block = nil
			continue
		}
		usable, err := rec.read(l, number, func(p problem) error { return r.opt.Defect(p.defect(r.file.Name, number, l)) })
		if err != nil {
			return err
		}
		if usable {
			return nil
		}
	}
}

// read reads a whole line; usable is false when it holds no record.
func (r *Record) read(l []byte, number int64, report func(problem) error) (usable bool, err error) {
	k, i, isBlank := keyword(l)
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
			return false, report(problem{"etf.unit", "unit " + quote([]byte(r.Unit)), "NANOSECONDS, MICROSECONDS, MILLISECONDS, SECONDS, MINUTES or HOURS", trace.Error})
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
	return problem{"etf.keyword", "keyword " + quote(t), "TU, O, T, E, R, C, D, S, F, TS, TSS, TSP or TSR; the line is skipped", trace.Warning}
}

// openText opens the lines of a trace; a V0.1 trace is first converted, in a
// temporary file whose lines bear their old numbers.
func openText(ctx context.Context, src format.Source, opt *format.ReadOptions) (*lines.File, func() error, error) {
	maxLine, err := opt.Int("etf.max-line", lines.DefaultMaxLine)
	if err != nil {
		return nil, nil, err
	}
	f, size, err := src.Open()
	if err != nil {
		return nil, nil, err
	}
	lf := &lines.File{R: f, Size: size, Name: src.Path, MaxLine: int(min(maxLine, 1<<30))}
	lf.TooLong = func(line, off, length int64) error {
		return opt.Defect(&trace.Defect{Rule: "etf.line-too-long", Severity: trace.Error, Position: trace.Position{File: src.Path, Line: line},
			Found: fmt.Sprintf("a line of %d bytes", length), Expected: fmt.Sprintf("at most %d (option etf.max-line)", maxLine)})
	}
	head := make([]byte, 256)
	n, _ := f.ReadAt(head, 0)
	if isLegacy(head[:n]) {
		g, size, err := convertLegacy(ctx, src, lf, opt)
		f.Close()
		if err != nil {
			return nil, nil, err
		}
		return &lines.File{R: g, Size: size, Name: src.Path, MaxLine: lf.MaxLine, TooLong: lf.TooLong, Numbered: true}, g.Close, nil
	}
	return lf, f.Close, nil
}
