package cli

import (
	"cmp"
	"context"
	"errors"
	"math"
	"sync"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// firstDefect keeps the error or warning with the lowest line of a file. It is safe for concurrent use.
type firstDefect struct {
	mu     sync.Mutex
	defect *trace.Defect
}

// add keeps d if it comes before the defect that is kept.
func (f *firstDefect) add(d *trace.Defect) {
	if d.Severity < trace.Warning {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.defect == nil || lineOf(d) < lineOf(f.defect) {
		f.defect = d
	}
}

// lineOf returns the line of a defect. A defect of the file as a whole comes after all lines.
func lineOf(d *trace.Defect) int64 { return cmp.Or(d.Position.Line, math.MaxInt64) }

// strictInput is a trace that is read with --strict, with the functions that close its temporary file.
type strictInput struct {
	*input
	close []func() error
}

// closeStrict closes the temporary files of traces that were read with --strict.
func (a *app) closeStrict() {
	for _, in := range a.strict {
		for _, c := range in.close {
			c()
		}
	}
	a.strict = nil
}

// firstInFile returns the error of the first defect of a text file, if err is a defect at which --strict has
// stopped. Readers find defects in another order: those of definitions first, and those of repeated ids last. read
// reads the trace again, without --strict, and adds all defects to the report of its input.
func (in *input) firstInFile(err error, read func(again *input) error) error {
	var stopped *trace.Defect
	if !in.opt.Strict || !errors.As(err, &stopped) || !in.format.About().SingleText {
		return err
	}
	first := firstDefect{defect: stopped}
	opt := *in.opt
	opt.Strict, opt.Progress, opt.Report = false, nil, format.NewReport()
	again := &input{format: in.format, src: in.src, opt: &opt, report: opt.Report}
	defer again.Close()
	opt.Report.Only = func(d *trace.Defect) bool {
		first.add(d)
		return false
	}
	if e := read(again); e != nil || first.defect == stopped {
		return err
	}
	return first.defect
}

// firstDefectOf returns the error of the first defect in the trace in which a command has found err.
func (a *app) firstDefectOf(ctx context.Context, err error) error {
	var d *trace.Defect
	if !errors.As(err, &d) {
		return err
	}
	for _, in := range a.strict {
		if in.src.Path == d.Position.File {
			return in.firstInFile(err, func(again *input) error {
				if err := again.openFile(ctx, again.opt); err != nil {
					return err
				}
				return again.Scan(ctx, trace.Everything(), format.PerLocation, format.SinkFuncs{
					OnBatch: func(*trace.Batch) error { return nil },
					OnLinks: func([]trace.Link) error { return nil },
				})
			})
		}
	}
	return err
}
