package picl

import (
	"context"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/linetrace"
)

// Copy writes a PICL trace as PICL record by record. It keeps the order of the file and all
// values, and writes them in the canonical spelling.
func (Format) Copy(ctx context.Context, src format.Source, ro *format.ReadOptions, out *format.Output,
	opt *format.WriteOptions) (*format.Loss, error) {
	if err := about.CheckOptions(opt.Values); err != nil {
		return nil, err
	}
	wo, err := writerOptions(opt)
	if err != nil {
		return nil, err
	}
	r, err := NewReader(ctx, src, ro)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	w, loss := NewWriter(out, wo), &format.Loss{}
	if wo.Statistics && wo.Brackets != Marks && !wo.ParaGraph {
		if w.counted, err = w.stats.addFile(ctx, src, ro); err != nil {
			return nil, err
		}
	}
	r.unread = w.writeUnread
	err = linetrace.Copy(ctx, r, w)
	w.addLeft(loss)
	loss.Add("record", "", format.Lost, "cannot be read", *r.file.Skipped)
	loss.Add("time", "", format.Degraded, "has too many digits; rounded to a tick", r.rounded)
	return loss, err
}
