package etf

import (
	"bufio"
	"context"
	"io"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// Copy writes a TRACE file as TRACE, line by line. Records get the canonical spelling;
// comments, empty lines and lines with a defect stay unchanged.
func (Format) Copy(ctx context.Context, src format.Source, ro *format.ReadOptions, out *format.Output,
	wo *format.WriteOptions) (*format.Loss, error) {
	if err := about.CheckOptions(wo.Values); err != nil {
		return nil, err
	}
	r, err := NewReader(ctx, src, ro)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	w := bufio.NewWriterSize(out, 64<<10)
	var rec Record
	for n := 0; ; n++ {
		if n%trace.BatchRows == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		text, err := r.canonical(&rec)
		if err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		if _, err := w.Write(append(text, '\n')); err != nil {
			return nil, err
		}
	}
	loss := &format.Loss{}
	loss.Add("line", "", format.Lost, "longer than the option etf.max-line allows", r.lines.Skipped())
	return loss, w.Flush()
}
