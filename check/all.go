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

// All reads a whole trace and reports its defects to opt: those that the reader finds, those that
// break a rule of this package, and those that the format's own checker finds. The events are those
// of file, or those of file after a change, such as a correction of clocks. All uses as many cores
// as opt allows. With opt.Strict it uses one core, so that it always stops at the same defect.
func All(ctx context.Context, events format.Events, file format.File, path string, opt *format.ReadOptions) error {
	var parts []*part
	var own format.Checker // the format's own checker
	var mu sync.Mutex      // guards own and parts
	parallel := *opt
	whole := New(events.Defs(), path, opt)
	defer whole.store.Close()
	begin := func() func(int) format.Sink {
		parts, own = nil, file.NewChecker()
		whole.store.Clear()
		if opt.Report != nil && !opt.Strict {
			parallel.Report = format.NewReport() // a restarted scan discards the defects found so far
			parallel.Report.Keep, parallel.Report.Only = opt.Report.Keep, opt.Report.Only
		}
		return func(int) format.Sink {
			mu.Lock()
			defer mu.Unlock()
			p := &part{New(events.Defs(), path, &parallel), own, &mu}
			p.store = whole.store
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

// part is the sink of one worker of a scan. The worker has a Checker of its own and shares the
// format's checker with all other workers.
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

// Links passes links to both checkers.
func (p *part) Links(l []trace.Link) error {
	if err := p.Checker.Links(l); err != nil || p.own == nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.own.Links(l)
}

// IsDamage reports whether an error from opening a trace describes a defect of the trace. It
// returns false if the trace does not exist or cannot be accessed, if an option is wrong, or if the
// context was cancelled. It also returns false for a [trace.Defect], which has been reported
// already.
func IsDamage(err error) bool {
	var system syscall.Errno
	var option *format.OptionError
	var defect *trace.Defect
	return !errors.As(err, &system) && !errors.As(err, &option) && !errors.As(err, &defect) &&
		!errors.Is(err, fs.ErrNotExist) && !errors.Is(err, context.Canceled)
}
