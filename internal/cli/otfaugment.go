package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/format/otf"
	"github.com/weft-trace/weft/internal/nearest"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// augmentFlags holds the flags of the commands that add records at break points.
type augmentFlags struct {
	inputFlags
	what   string
	count  int
	every  string
	at     []string
	remove bool
	output string
	asJSON bool
}

// otfSnapshotsCommand returns the command weft otf snapshots.
func (a *app) otfSnapshotsCommand() *cobra.Command {
	return a.augmentCommand("snapshots", `Add snapshots to an OTF 1 trace: the state of each process at regular
times. A reader can begin at a snapshot. A snapshot has the call stack, the messages in
transit, the open files, the unfinished collective and file operations, and the last values
of the counters. Existing snapshots are replaced.`)
}

// otfSummariesCommand returns the command weft otf summaries.
func (a *app) otfSummariesCommand() *cobra.Command {
	return a.augmentCommand("summaries", `Add summaries to an OTF 1 trace: sums over all events of a process before
a time, at regular times and after the last event. There are sums for each function, function group,
collective operation, file and file group, and for messages. The sums of an interval are
the differences of two summaries. Existing summaries are replaced.`)
}

// augmentCommand returns the command that adds snapshots or summaries.
func (a *app) augmentCommand(what, long string) *cobra.Command {
	x := augmentFlags{what: what}
	c := &cobra.Command{
		Use:   what + " TRACE...",
		Short: "Add " + what + " to OTF 1 traces, or remove them",
		Long: long + `

--count divides the trace into equal parts; --every sets the interval between two times.
--at lists times, alone or in addition to those of --count or --every. weft also stores
the times in the definitions of the trace. Files with events do not change. --output writes
a copy and leaves the trace unchanged.`,
		Example: fmt.Sprintf("  weft otf %s trace.otf\n  weft otf %[1]s --every 10ms --output new.otf trace.otf\n  weft "+
			"otf %[1]s --remove trace.otf", what),
		Args: someArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkNotPacked(x.output, "a master file"); err != nil {
				return err
			}
			if len(args) > 1 && x.output != "" {
				return usageError("found --output and %s, expected one", plural.Of(len(args), "trace"))
			}
			var done []*augmentResult
			for _, arg := range args {
				d, err := a.augmentTrace(c, arg, &x)
				if err != nil {
					return err
				}
				done = append(done, d)
			}
			switch {
			case !x.asJSON:
				return nil
			case len(done) == 1:
				return a.writeJSON(a.out, done[0])
			}
			return a.writeJSON(a.out, done)
		},
	}
	x.flags(c.Flags())
	defineFilesFlag(c, &x.inputFlags)
	c.Flags().Var(newInteger(&x.count, otf.DefaultPoints, 1, 1<<20), "count",
		"number of equal parts into which the times divide the trace")
	c.Flags().StringVar(&x.every, "every", "", "interval between the times: 10ms, 0.5s, ticks")
	c.Flags().StringSliceVar(&x.at, "at", nil, "times: 1.5ms, 3s, 20%, ticks; relative to the first event, or with "+
		"@ to the trace's time 0")
	c.Flags().BoolVar(&x.remove, "remove", false, "remove existing "+what+" instead")
	c.Flags().StringVarP(&x.output, "output", "o", "", "write a copy with this master file, and leave TRACE unchanged")
	c.Flags().BoolVar(&x.asJSON, "json", false, "print JSON")
	a.defineForceFlag(c)
	return c
}

// augmentResult is the JSON of weft otf snapshots and weft otf summaries (docs/json/otf.md).
type augmentResult struct {
	Trace   string   `json:"trace"`
	What    string   `json:"what"`
	Removed bool     `json:"removed,omitempty"`
	Times   []uint64 `json:"times"`
}

// defineFilesFlag defines a flag that sets the option otf.files.
func defineFilesFlag(c *cobra.Command, r *inputFlags) {
	const usage = "greatest number of open files of a trace (default 32, or fewer if the system allows fewer)"
	c.Flags().Func("files", usage, func(s string) error {
		var n int
		if err := newInteger(&n, 0, 1, 0).Set(s); err != nil {
			return err
		}
		r.options = append(r.options, otf.FilesOption+"="+s)
		return nil
	})
}

// augmentTrace adds the records to a trace, or to a copy of it if the output has another name.
func (a *app) augmentTrace(c *cobra.Command, arg string, x *augmentFlags) (*augmentResult, error) {
	set := c.Flags().Changed
	switch {
	case set("count") && set("every"):
		return nil, usageError("found --count and --every, expected one of them")
	case x.remove && (set("count") || set("every") || set("at")):
		return nil, usageError("found --remove and times, expected one of them")
	}
	in, err := a.otfSource(c.Context(), arg, &x.inputFlags)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	points := []uint64{}
	opt := &otf.AugmentOptions{Read: in.opt, Snapshots: x.what == "snapshots", Summaries: x.what == "summaries",
		Remove: x.remove,
		Output: x.output, Guard: a.checkReplaceable, Written: a.ownFiles.Add,
		Points: func(r otf.TimeRange) ([]uint64, error) {
			var err error
			points, err = x.points(r, set("count") || !set("at"))
			return points, err
		}}
	if err := otf.Augment(c.Context(), arg, opt); errors.Is(err, otf.ErrSameTrace) {
		return nil, usageError("--output: %w", err)
	} else if errors.Is(err, otf.ErrNoEvents) || errors.Is(err, otf.ErrNoDefinitions) {
		return nil, &exitError{exitDefects, err}
	} else if err != nil {
		return nil, err
	}
	in.bar.remove()
	a.reportDefects(in, x.quiet)
	slices.Sort(points)
	return &augmentResult{cmp.Or(x.output, arg), x.what, x.remove, slices.Compact(points)}, nil
}

// otfSource opens a trace that must be OTF and must consist of files. The name may lack ".otf".
func (a *app) otfSource(ctx context.Context, arg string, r *inputFlags) (*input, error) {
	if arg == "-" {
		return nil, usageError("an OTF trace has several files and cannot be read from standard input")
	}
	if _, err := os.Stat(arg); err != nil {
		if _, err := os.Stat(arg + ".otf"); err == nil {
			arg += ".otf"
		}
	}
	in, err := a.findSource(ctx, arg, r)
	if err == nil && in.format != (otf.Format{}) {
		in.Close()
		err = usageError("%s: found %s, expected %s", arg, in.format.About().Title, otf.Format{}.About().Title)
	}
	return in, err
}

// points returns the break points that the flags select.
func (a *augmentFlags) points(r otf.TimeRange, regular bool) ([]uint64, error) {
	var points []uint64
	for _, s := range a.at {
		t, err := r.Parse(s)
		if err != nil {
			return nil, usageError("--at: %w", err)
		}
		points = append(points, t)
	}
	choose := otf.EqualParts(a.count)
	switch {
	case a.every != "":
		d, err := r.Clock().ParseDuration(a.every)
		if err == nil && d < 1 {
			err = fmt.Errorf("%s: found %s, expected at least 1", a.every, plural.Of(d, "tick"))
		}
		if err != nil {
			return nil, usageError("--every: %w", err)
		}
		choose = otf.PointsEvery(uint64(d))
	case !regular:
		return points, nil
	}
	more, err := choose(r)
	if err != nil {
		return nil, usageError("%w", err)
	}
	return append(points, more...), nil
}

// otfSummaryCommand returns the command weft otf summary.
func (a *app) otfSummaryCommand() *cobra.Command {
	var r inputFlags
	var process, location string
	var s selectionFlags
	var asJSON bool
	c := &cobra.Command{
		Use:   "summary TRACE",
		Short: "Sum up what a process of an OTF 1 trace did in an interval",
		Long: `Sum up what a process did from one time to another: calls and time by function and
function group, messages, collective operations, and accesses by file and file group.
If the trace has summaries at both times, weft reads only these. If it has summaries and
snapshots (see weft otf summaries, weft otf snapshots), weft also reads the events from the
last snapshot before each time.

The inclusive time of a function is the sum over its calls; time in recursive calls counts
more than once. The inclusive time of a group is the sum over its functions.`,
		Example: "  weft otf summary --process 1 trace.otf\n  weft otf summary --process \"rank 0\" --from 10% --to 1.5s " +
			"--json trace.otf",
		Args: exactArgs(1, "one trace"),
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case process == "" && location == "":
				return usageError("found no --process, expected one; see weft otf summary --help")
			case process != "" && location != "":
				return usageError("found --process and --location, expected one of them")
			}
			if err := s.splitWindow(); err != nil {
				return err
			}
			in, err := a.otfSource(c.Context(), args[0], &r)
			if err != nil {
				return err
			}
			defer in.Close()
			whole := s.to == "" || strings.Contains(s.from+s.to, "%")
			files, err := otf.FileManagerOf(in.opt.Values)
			if err != nil {
				return err
			}
			if location != "" {
				if process, err = processAt(c.Context(), in, location); err != nil {
					return err
				}
			}
			q, err := otf.SumInterval(c.Context(), in.src, &otf.Options{Read: in.opt, Files: files}, process, whole,
				func(r otf.TimeRange) (uint64, uint64, error) {
					begin, end := r.First, min(r.Last, math.MaxUint64-1)+1
					for _, x := range []struct {
						flag, text string
						to         *uint64
					}{{"--from", s.from, &begin}, {"--to", s.to, &end}} {
						if x.text == "" {
							continue
						}
						var err error
						if *x.to, err = r.Parse(x.text); err != nil {
							return 0, 0, usageError("%s: %w", x.flag, err)
						}
					}
					if begin > end {
						return 0, 0, usageError("found an interval from %d to %d ticks, expected an end that is not before the beginning",
							begin, end)
					}
					return begin, end, nil
				})
			var p *otf.ProcessError
			if errors.As(err, &p) {
				return usageError("--process %s: %w%s", process, err, nearest.Hint(process, p.Names))
			}
			if err != nil {
				return err
			}
			in.bar.remove()
			if asJSON {
				err = a.writeJSON(a.out, q)
			} else {
				a.printSums(q)
			}
			if q.Saturated && !r.quiet {
				fmt.Fprintf(a.err, "Sums exceed 64 bits: %d stands for all greater sums\n", uint64(math.MaxUint64))
			}
			a.reportDefects(in, r.quiet)
			return err
		},
	}
	r.flags(c.Flags())
	defineFilesFlag(c, &r)
	c.Flags().StringVar(&process, "process", "",
		"the process, by name, or by its number in the files, as otfprint shows it")
	c.Flags().StringVar(&location, "location", "", "the process, by id or name, as weft info shows it")
	s.defineTimeFlags(c.Flags())
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// processLocations returns the definitions of an OTF trace, and the location of each process. It reports no defects.
func (in *input) processLocations(ctx context.Context) (*trace.Definitions, map[uint64]uint32, error) {
	quiet := *in.opt
	quiet.Report, quiet.Strict = nil, false
	return otf.ProcessLocations(ctx, in.src, &quiet)
}

// processAt returns the number in the files of the one process that a pattern of --location matches.
func processAt(ctx context.Context, in *input, pattern string) (string, error) {
	d, locations, err := in.processLocations(ctx)
	if err != nil {
		return "", err
	}
	matches, err := choose(d, aLocation, []string{pattern})
	if err != nil {
		return "", err
	}
	var found []uint64
	for p, loc := range locations {
		if matches(loc) {
			found = append(found, p)
		}
	}
	switch len(found) {
	case 0:
		return "", usageError("--location %s: the trace has no such location; %s", pattern,
			aLocation.nearestHint(d, pattern))
	case 1:
		return strconv.FormatUint(found[0], 10), nil
	}
	return "", usageError("--location %s: found %d locations, expected one", pattern, len(found))
}

// printSums prints the sums of an interval as text.
func (a *app) printSums(q *otf.IntervalSums) {
	printf(a.out, "Process    %s\nTimes      %d to %d, %s\n", otf.SumOwner{ID: q.Process, Name: q.Name}, q.From, q.To,
		q.Duration(q.To-q.From))
	fmt.Fprintf(a.out, "Sent       %s, %s\nReceived   %s, %s\n", plural.Of(q.Messages.Sent, "message"),
		plural.Of(q.Messages.SentBytes, "byte"), plural.Of(q.Messages.Received, "message"),
		plural.Of(q.Messages.ReceivedBytes, "byte"))
	section := func(n int, head table.Row, row func(i int) table.Row) { a.printList("", n, 0, head, row) }
	calls := func(what string, l []otf.CallSums) {
		section(len(l), table.Row{what, "calls", "exclusive", "inclusive"}, func(i int) table.Row {
			return table.Row{l[i].SumOwner, l[i].Count, q.Duration(l[i].Exclusive), q.Duration(l[i].Inclusive)}
		})
	}
	accesses := func(what string, l []otf.AccessSums) {
		section(len(l), table.Row{what, "opens", "closes", "reads", "writes", "seeks", "bytes read", "bytes written"},
			func(i int) table.Row {
				return table.Row{l[i].SumOwner, l[i].Opens, l[i].Closes, l[i].Reads, l[i].Writes, l[i].Seeks, l[i].BytesRead,
					l[i].BytesWritten}
			})
	}
	calls("function", q.Functions)
	calls("function group", q.FunctionGroups)
	section(len(q.Collectives), table.Row{"collective operation", "sent", "received", "bytes sent", "bytes received"},
		func(i int) table.Row {
			x := &q.Collectives[i]
			return table.Row{x.SumOwner, x.Sent, x.Received, x.SentBytes, x.ReceivedBytes}
		})
	accesses("file", q.Files)
	accesses("file group", q.FileGroups)
}
