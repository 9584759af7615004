package cli

import (
	"errors"
	"fmt"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/serve/cache"
	"github.com/weft-trace/weft/trace"
)

// reportDefects prints the missing files, the first defect of each rule with severity error, and
// the number of defects to standard error, unless quiet is set.
func (a *app) reportDefects(in *input, quiet bool) {
	if quiet {
		return
	}
	a.reportFlagNames(in)
	rules := in.report.Rules()
	var n [3]int64
	for _, r := range rules {
		n[r.Severity] += r.Count
	}
	if n[trace.Error]+n[trace.Warning] == 0 {
		return
	}
	for _, r := range rules {
		switch {
		case format.IsMissing(r.Rule):
			a.printMissingFiles(r.First)
		case r.Severity == trace.Error:
			fmt.Fprintln(a.err, plain(r.First[0].Error()))
		}
	}
	printf(a.err, "%s: %s, %s; weft check lists them\n", in.src.Path, plural.Of(n[trace.Error], "error"),
		plural.Of(n[trace.Warning], "warning"))
}

// reportDefectsBut is like reportDefects, for a command that has printed a part of its answer. err is
// the error with which the command ends, or nil. If err is a defect at which --strict stops,
// reportDefectsBut prints nothing, since exitCode prints err.
func (a *app) reportDefectsBut(err error, in *input, quiet bool) {
	if d := (*trace.Defect)(nil); !errors.As(err, &d) {
		a.reportDefects(in, quiet)
	}
}

// readerReport holds the defects found by reading a trace.
type readerReport struct {
	report *format.Report
	quiet  bool // the defects are not printed
}

// newReport returns a report. Missing files in it set the exit code.
func (a *app) newReport(r *inputFlags) *format.Report {
	x := readerReport{format.NewReport(), r.quiet}
	a.reports = append(a.reports, x)
	return x.report
}

// reportMissingFiles prints the missing files of all traces that the command has read. They also
// set the exit code.
func (a *app) reportMissingFiles() {
	for _, x := range a.reports {
		for _, r := range x.report.Rules() {
			if !format.IsMissing(r.Rule) {
				continue
			}
			if a.incomplete = true; !x.quiet {
				a.printMissingFiles(r.First)
			}
		}
	}
}

// printMissingFiles prints the defects of missing files, each once.
func (a *app) printMissingFiles(list []*trace.Defect) {
	for _, d := range list {
		a.printOnce(d.Error())
	}
}

// reportIndexing prints the defects that indexing a trace has found, now or at an earlier time.
func (a *app) reportIndexing(path string, f cache.ReadDefects, quiet bool) {
	a.incomplete = a.incomplete || len(f.Missing) > 0
	if quiet {
		return
	}
	for _, line := range f.Missing {
		a.printOnce(line)
	}
	if f.Defects > 0 {
		printf(a.err, "%s: %s; weft check lists them\n", path, plural.Of(f.Defects, "defect"))
	}
}

// printOnce prints a line to standard error unless the command has printed it before.
func (a *app) printOnce(line string) {
	if a.printedLines == nil {
		a.printedLines = map[string]bool{}
	}
	if line = plain(line); !a.printedLines[line] {
		a.printedLines[line] = true
		fmt.Fprintln(a.err, line)
	}
}

// reportFlagNames prints the names in flags that do not exist in the trace, and messages if the window
// contains no tick or the selection is empty.
func (a *app) reportFlagNames(in *input) {
	if len(in.flagNames) > 0 {
		a.reportUnknownNames("the trace", in.Defs(), in.flagNames)
	}
	if in.emptyWindow != "" {
		a.printOnce(in.emptyWindow)
	}
	if in.notFound != "" {
		printf(a.err, "%s: %s\n", in.src.Path, in.notFound)
	}
}
