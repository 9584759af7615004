package check

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// All reads a whole trace and reports to opt what is wrong with it: what reading finds,
// what the rules of this package find, and what the format's own checker finds. events
// are those of the file as they are looked at: the file itself, unless something like a
// correction of clocks stands between them.
func All(ctx context.Context, events format.Events, file format.File, path string, opt *format.ReadOptions) error {
	checkers := []format.Checker{New(events.Defs(), path, opt)}
	if c := file.NewChecker(); c != nil {
		checkers = append(checkers, c)
	}
	each := func(do func(format.Checker) error) error {
		for _, x := range checkers {
			if err := do(x); err != nil {
				return err
			}
		}
		return nil
	}
	all := format.SinkFuncs{
		OnBatch: func(b *trace.Batch) error { return each(func(x format.Checker) error { return x.Batch(b) }) },
		OnLinks: func(l []trace.Link) error { return each(func(x format.Checker) error { return x.Links(l) }) },
	}
	if err := events.Scan(ctx, trace.Everything(), format.PerLocation, all); err != nil {
		return err
	}
	return each(func(x format.Checker) error { return x.Finish(ctx) })
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
