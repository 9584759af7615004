package check

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"syscall"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// All reads a whole trace and reports to opt what is wrong with it: what reading finds,
// what the rules of this package find, and what the format's own checker finds. events
// are those of the file as they are looked at: the file itself, unless something like a
// correction of clocks stands between them. It uses as many cores as opt allows; with
// opt.Strict one, so that the defect that it stops at is always the same.
func All(ctx context.Context, events format.Events, file format.File, path string, opt *format.ReadOptions) error {
	var parts []*part
	var own format.Checker // the format's
	var mu sync.Mutex      // guards own and parts
	parallel := *opt
	begin := func() func(int) format.Sink {
		parts, own = nil, file.NewChecker()
		if opt.Report != nil && !opt.Strict {
			parallel.Report = format.NewReport() // what a scan that begins anew has found is void
			parallel.Report.Keep, parallel.Report.Only = opt.Report.Keep, opt.Report.Only
		}
		return func(int) format.Sink {
			mu.Lock()
			defer mu.Unlock()
			p := &part{New(events.Defs(), path, &parallel), own, &mu}
			parts = append(parts, p)
			return p
		}
	}
	var err error
	if opt.Strict {
		err = format.ScanInOne(ctx, events, trace.Everything(), begin)
	} else {
		err = events.ScanParallel(ctx, trace.Everything(), begin)
	}
	if err != nil {
		return err
	}
	whole := New(events.Defs(), path, opt)
	for _, p := range parts {
		if err := whole.Merge(p.Checker); err != nil {
			return err
		}
	}
	if parallel.Report != opt.Report {
		opt.Report.Merge(parallel.Report)
	}
	if err := whole.Finish(ctx); err != nil || own == nil {
		return err
	}
	return own.Finish(ctx)
}

// part is what one worker of a scan fills: a checker of its own, and the format's, which
// all workers share.
type part struct {
	*Checker
	own format.Checker
	mu  *sync.Mutex
}

// Batch checks the rows of a batch.
func (p *part) Batch(b *trace.Batch) error {
	if err := p.Checker.Batch(b); err != nil || p.own == nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.own.Batch(b)
}

// Links checks links.
func (p *part) Links(l []trace.Link) error {
	if err := p.Checker.Links(l); err != nil || p.own == nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.own.Links(l)
}

// Damage reports whether an error of opening a trace says what is wrong with it, and not
// that it cannot be reached or was not asked for rightly.
func Damage(err error) bool {
	var system syscall.Errno
	var option *format.OptionError
	var defect *trace.Defect
	return !errors.As(err, &system) && !errors.As(err, &option) && !errors.As(err, &defect) &&
		!errors.Is(err, fs.ErrNotExist) && !errors.Is(err, context.Canceled)
}
