package all

import (
	"context"

	"github.com/weft-trace/weft/format"
)

// Open opens a trace of any format. path is the path of the main file of the trace. The format is recognised
// by the content of that file or, where the content is ambiguous, by its name. opt can be nil. The
// error wraps [format.ErrUnknown] if no format recognises the file.
func Open(ctx context.Context, path string, opt *format.ReadOptions) (format.File, error) {
	if opt == nil {
		opt = &format.ReadOptions{}
	}
	src := format.FileSource(path)
	f, err := format.Detect(Formats(), src)
	if err != nil {
		return nil, err
	}
	return f.Open(ctx, src, opt)
}
