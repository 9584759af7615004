package otf

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// checkThumbnail compares the thumbnail of the trace, if it has one, with the events.
func (c *checker) checkThumbnail(ctx context.Context) error {
	r := c.d.r.withoutReport()
	path := r.path(r.stub + thumbnailSuffix)
	t, err := readThumbnail(r.src, r.stub)
	var d *trace.Defect
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.As(err, &d):
		return c.opt.Defect(d)
	case err != nil:
		return err
	}
	shown := map[uint64]*ThumbnailProcess{} // the process in the file, and then the process as it should be
	for i := range t.Processes {
		shown[t.Processes[i].Process] = nil
	}
	want, span, err := r.thumbnail(ctx, t.Width, func(p uint64) bool { _, ok := shown[p]; return ok })
	if err != nil {
		return err
	}
	if want.Width != t.Width {
		return c.opt.Defect(thumbnailDefect(path, 1, plural.Of(t.Width, "sample"),
			fmt.Sprintf("at most %d, the ticks between the first and the last event", want.Width)))
	}
	for i := range want.Processes {
		shown[want.Processes[i].Process] = &want.Processes[i]
	}
	seen := map[uint64]bool{}
	for i := range t.Processes {
		p := &t.Processes[i]
		d = nil
		switch w := shown[p.Process]; {
		case w == nil:
			d = thumbnailDefect(path, 0, fmt.Sprintf("process %d", p.Process), "a process that the trace defines")
		case seen[p.Process]:
			d = thumbnailDefect(path, 0, fmt.Sprintf("process %d again", p.Process), "one line for each process")
		default:
			d = p.compare(w, func(sample int) uint64 { return t.time(span, sample) })
		}
		if seen[p.Process] = true; d == nil {
			continue
		}
		d.Position = trace.Position{File: path, Line: int64(i) + 2} // the first line has the width
		if err := c.opt.Defect(d); err != nil {
			return err
		}
	}
	return nil
}

// compare returns a defect if the process has other functions than want. at returns the time of a sample.
func (p *ThumbnailProcess) compare(want *ThumbnailProcess, at func(sample int) uint64) (d *trace.Defect) {
	name := func(f uint32) string {
		if f == 0 {
			return "no function"
		}
		return fmt.Sprintf("function %d", f)
	}
	for i, f := range p.Functions {
		switch w := want.Functions[i]; {
		case f == w:
		case d == nil:
			d = thumbnailDefect("", 0, fmt.Sprintf("%s in sample %d of process %d", name(f), i, p.Process),
				fmt.Sprintf("%s, as in the events at tick %d", name(w), at(i)))
			d.Count = 1
		default:
			d.Count++
		}
	}
	return d
}
