package cli

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/analysis/calltree"
	"github.com/weft-trace/weft/analysis/causes"
	"github.com/weft-trace/weft/analysis/waits"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// Values of --by: the ways to break down waits.
const (
	waitsByRegion       = "region"
	waitsByPath         = "path"
	waitsByLocation     = "location"
	waitsByCommunicator = "communicator"
	waitsByPair         = "pair"
)

var waitBreakdowns = []string{waitsByRegion, waitsByPath, waitsByLocation, waitsByCommunicator, waitsByPair}

// waitsResult holds the JSON output of weft waits.
type waitsResult struct {
	heading
	bounds
	*waits.Result
	Causes *causes.Result `json:"causes,omitempty"`
}

// waitsMissing holds the JSON output of weft waits for a trace whose waits cannot be judged.
type waitsMissing struct {
	missingAnswer
	bounds
	Unjudged []waits.Unjudged `json:"unjudged"`
}

func (a *app) waitsCommand() *cobra.Command {
	var flags waitsFlags
	c := &cobra.Command{
		Use:   "waits TRACE",
		Short: "Find wait states: who waited for whom, in which calls, and how long",
		Long: `Find the times in which a location waits in a call because another location is late: receives
whose sender is late, sends whose receiver is late, collective operations and barriers that
members enter late, and locks that another thread holds. Threads also wait for devices, and
streams of devices wait for the launch of work. The patterns and their formulas are those of
Scalasca; docs/analyses/waits.md lists the differences.

--by breaks each pattern down by region, call path, location, communicator, or pair of the
waiting location and the location that it waits for. --worst N lists the N longest waits of each
pattern, with both locations. --bins N sums the waits in each of N equal parts of the time. The
last table lists the locations that entered collective operations last, and the waiting time of
the other members.

--causes finds root causes: the call paths in which a late location has spent more time, since
the last synchronisation, than the locations that wait for it. SHORT TERM is the waiting time of
these locations. LONG TERM is the waiting time of further locations, which wait for these
locations in turn. Both add up to the waiting time of each pattern. For programs with teams of
threads, --causes also lists the calls in which the first thread of a process works alone, with
the idle time of its other threads.

--location and --group count the waits of these locations, whichever location has caused them.
--region counts the waits in visits of these regions, including those in the calls inside of
them. --window, or --from and --to, count the parts of waits in a window. weft then reads the
trace to the end of the window, and further until these waits are known. --cube FILE also writes
the waits by call path and location as a Cube file, with times, visits and the costs of --causes.
If the whole trace is selected, the file also has the critical path.

If messages are received before they are sent, the clocks differ and the waits are not reliable;
weft align corrects clocks. weft also counts the events whose waits cannot be computed because
the trace lacks data, and lists them with the reason.`,
		Example: "  weft waits trace.otf2\n  weft waits --causes trace.otf2\n  weft waits --by pair --worst 5 trace.otf2\n" +
			"  weft waits --window 20%..40% --by path --csv trace.otf > waits.csv\n" +
			"  weft waits --causes --cube waits.cubex trace.otf2",
		Args: exactArgs(1, "one trace"),
		RunE: func(c *cobra.Command, args []string) error { return a.runWaits(c, args, &flags) },
	}
	flags.register(a, c)
	return c
}

// waitsFlags holds the flags of weft waits.
type waitsFlags struct {
	input                 inputFlags
	selection             selectionFlags
	asJSON, asCSV, causes bool
	by, cubeFile          string
	top, worst, bins      int
}

// register adds the flags to the command.
func (f *waitsFlags) register(a *app, c *cobra.Command) {
	defineAnalysisFlags(c.Flags(), &f.input, &f.selection)
	f.input.defineRolesFlag(c.Flags())
	c.Flags().StringVar(&f.by, "by", waitsByRegion, "how to break each pattern down: "+strings.Join(waitBreakdowns, ", "))
	registerCompletions(c, "by", waitBreakdowns...)
	c.Flags().BoolVar(&f.causes, "causes", false, "find root causes: the call paths and locations that made others wait")
	c.Flags().Var(newInteger(&f.worst, 3, 0, 1_000_000), "worst", "how many of the longest waits of each pattern to list")
	c.Flags().Var(newInteger(&f.bins, 0, 0, 1_000_000), "bins",
		"also sum the waits in each of this many equal parts of the time")
	c.Flags().Var(newInteger(&f.top, 10, 0, 0), "top",
		"how many lines of each table to show; 0 shows all, as --json and --csv do")
	c.Flags().BoolVar(&f.asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&f.asCSV, "csv", false, "print the breakdown as comma-separated values, times in seconds")
	a.defineCubeFlag(c, &f.cubeFile)
}

// runWaits finds and prints the wait states of the trace in args.
func (a *app) runWaits(c *cobra.Command, args []string, flags *waitsFlags) error {
	if flags.asJSON && flags.asCSV {
		return usageError("--json and --csv: expected one of them")
	}
	if _, err := wordIndex("--by", flags.by, waitBreakdowns...); err != nil {
		return err
	}
	if err := checkCube(flags.cubeFile); err != nil {
		return err
	}
	if len(flags.selection.regions) > 0 && (flags.causes || flags.cubeFile != "") {
		return usageError("--region: expected neither --causes nor --cube with it, which need all regions")
	}
	in, err := a.open(c.Context(), args[0], &flags.input)
	var none error // set for a trace whose waits cannot be computed
	err = a.answer(in, err, flags.asJSON, &flags.input, func(in *input) (any, func() error, error) {
		sel, err := flags.selection.selection(c.Context(), in)
		if err != nil {
			return nil, nil, err
		}
		x := &waitsResult{heading: in.heading()}
		opt := waits.Options{Locations: sel.Location, Rows: trace.NewRows(in.Defs()), Worst: flags.worst, Bins: flags.bins}
		opt.Regions = wantedRows(opt.Rows, sel.Region)
		x.bounds, opt.Window = flags.selection.selectedBounds(sel)
		if flags.causes {
			err = x.findWithCauses(c.Context(), in.Events, opt)
		} else {
			x.Result, err = waits.Find(c.Context(), in.Events, opt)
		}
		if err != nil {
			return nil, nil, err
		}
		missing := x.Missing()
		if missing == "" && x.Judged == 0 && opt.Window != nil { // does the rest of the trace have waits that can be judged?
			whole, err := waits.Find(c.Context(), in.Events, waits.Options{Locations: opt.Locations, Rows: opt.Rows})
			if err != nil {
				return nil, nil, err
			}
			missing = whole.Missing()
		}
		if missing != "" {
			none = in.lacks(missing, false)
			return &waitsMissing{missingAnswer{x.heading, missing}, x.bounds, x.Unjudged}, func() error { return nil }, nil
		}
		any := slices.ContainsFunc(x.Patterns, func(p waits.Pattern) bool { return p.Count > 0 || p.Time.Float() > 0 })
		if flags.selection.anySet() && !any {
			in.notFound = "found no wait"
			if x.Judged == 0 && len(x.Unjudged) > 0 {
				in.notFound = "found no call that can be judged"
			}
		}
		if flags.cubeFile != "" {
			err := a.writeWaitsCube(c.Context(), flags, in, x, sel, calltree.Options{Window: opt.Window, Rows: opt.Rows})
			if err != nil {
				return nil, nil, err
			}
		}
		return x, func() error {
			if v := &x.Violations; flags.asCSV && *v != (waits.Violations{}) {
				a.warnOfClocks(in.src.Path, in.Defs().Clock, v, "waits are")
			}
			switch {
			case flags.asCSV && flags.causes:
				return a.writeCausesCSV(x.Causes, in.Defs().Clock)
			case flags.asCSV:
				return a.writeWaitsCSV(x.Result, flags.by)
			}
			a.printWaits(x.Result, in.Defs(), flags.by, flags.top)
			if flags.causes {
				a.printCauses(x.Causes, in.Defs().Clock, flags.top)
			}
			return nil
		}, nil
	})
	return cmp.Or(err, none)
}

// findWithCauses finds waits and their causes.
func (x *waitsResult) findWithCauses(ctx context.Context, events format.Events, opt waits.Options) error {
	result, history, err := waits.FindWithHistory(ctx, events, opt)
	if err != nil {
		return err
	}
	defer history.Close()
	x.Result = result
	x.Causes, err = causes.FromHistory(ctx, history, causes.Options{Locations: opt.Locations, Rows: opt.Rows,
		Window: opt.Window})
	return err
}

// percentOf returns a share of time for people.
func percentOf(part, whole trace.Ticks) string {
	if whole.Cmp(trace.Ticks{}) <= 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f", 100*part.Float()/whole.Float())
}

// shareName returns the name of the region, call path, location, pair of locations or communicator, as by
// chooses, that has a share of the waiting time.
func shareName(x *waits.Share, by string) string {
	switch by {
	case waitsByRegion:
		return x.Region
	case waitsByPath:
		return strings.Join(x.Path, " > ")
	case waitsByLocation:
		return x.LocationName
	case waitsByPair:
		return x.LocationName + " for " + x.CauseName
	}
	return x.Communicator
}

// sharesBy returns the shares of a pattern.
func sharesBy(p *waits.Pattern, by string) []waits.Share {
	switch by {
	case waitsByRegion:
		return p.Regions
	case waitsByPath:
		return p.Paths
	case waitsByLocation:
		return p.Locations
	case waitsByPair:
		return p.Pairs
	}
	return p.Communicators
}

// warnOfClocks prints a warning if clocks contradict causality. what names the figures, with a verb.
func (a *app) warnOfClocks(path string, clock trace.Clock, v *waits.Violations, what string) {
	if v != nil {
		printf(a.err, "%s: clocks differ: %s; %s not to be trusted; see %s\n", path, v.Text(clock), what, v.Remedy())
	}
}

// printWaits prints wait states as text.
func (a *app) printWaits(x *waits.Result, d *trace.Definitions, by string, top int) {
	clock := d.Clock
	f := clock.FormatSum
	printf(a.out, "Waiting    %s, %s %% of the time of %s\n", f(x.Waiting), percentOf(x.Waiting, x.Time),
		plural.Of(x.Locations, "location"))
	if v := &x.Violations; *v != (waits.Violations{}) {
		printf(a.out, "Clocks     differ: %s; waits are not to be trusted; see %s\n", v.Text(clock), v.Remedy())
	}
	for _, u := range x.Unjudged {
		printf(a.out, "Unjudged   %s\n", u.Text(clock))
	}
	fmt.Fprintln(a.out)
	printTable(a.out, table.Row{"pattern", "waits", "time", "%", "mean", "median", "max"}, len(x.Patterns), 0,
		func(i int) table.Row {
			p := &x.Patterns[i]
			name := p.Pattern
			if p.PartOf != "" {
				name = "  " + name
			}
			return table.Row{name, p.Count, f(p.Time), percentOf(p.Time, x.Time), clock.FormatMean(p.Time, max(1, p.Count)),
				clock.FormatDuration(p.Statistics.Median), clock.FormatDuration(p.Statistics.Max)}
		})
	for i := range x.Patterns {
		p := &x.Patterns[i]
		list := sharesBy(p, by)
		if p.PartOf != "" || len(list) == 0 {
			continue
		}
		fmt.Fprintf(a.out, "\n%s by %s\n", p.Pattern, by)
		if more := printTable(a.out, table.Row{by, "waits", "time", "%"}, len(list), top, func(i int) table.Row {
			s := &list[i]
			return table.Row{shareName(s, by), s.Count, f(s.Time), percentOf(s.Time, p.Time)}
		}); more > 0 {
			printf(a.out, "  … and %d more (--top 0 lists all)\n", more)
		}
		a.printList("waits", len(p.Worst), 0, table.Row{"longest", "at", "location", "in", "for", "which came at"},
			func(i int) table.Row {
				w := &p.Worst[i]
				return table.Row{clock.FormatDuration(w.Time), clock.FormatSeconds(w.Begin) + " s", w.LocationName,
					regionOrOutside(strings.Join(w.Path, " > ")), w.CauseName, clock.FormatSeconds(w.CauseTime) + " s"}
			})
		a.printList("bins", len(p.Bins), 0, table.Row{"from", "to", "time"}, func(i int) table.Row {
			b := &p.Bins[i]
			return table.Row{clock.FormatSeconds(b.From) + " s", clock.FormatSeconds(b.To) + " s", f(b.Time)}
		})
	}
	a.printList("locations", len(x.Late), top, table.Row{"last to come", "communicator", "operations", "of",
		"others lost"},
		func(i int) table.Row {
			l := &x.Late[i]
			return table.Row{l.LocationName, l.Communicator, l.Operations, l.AllOperations, f(l.Lost)}
		})
}

func (a *app) printCauses(x *causes.Result, clock trace.Clock, top int) {
	f := func(t float64) string { return clock.FormatDuration(int64(math.Round(t))) }
	for i := range x.Patterns {
		p := &x.Patterns[i]
		all := p.Waiting.Float()
		printf(a.out, "\nCauses of %s: %.1f %% direct, %.1f %% because the late one had to wait itself\n", p.Pattern,
			100*p.Direct/all, 100*p.Indirect/all)
		more := printTable(a.out, table.Row{"cause", "location", "short term", "long term", "%"}, len(p.Costs), top,
			func(i int) table.Row {
				c := &p.Costs[i]
				return table.Row{regionOrOutside(strings.Join(c.Path, " > ")), c.LocationName, f(c.ShortTerm), f(c.LongTerm),
					fmt.Sprintf("%.1f", 100*(c.ShortTerm+c.LongTerm)/all)}
			})
		if more > 0 {
			printf(a.out, "  … and %d more (--top 0 lists all)\n", more)
		}
	}
	a.printIdleTimes("other threads are idle during", x.IdleThreads, clock, top)
	a.printIdleTimes("threads outside of the team are idle during", x.LimitedParallelism, clock, top)
}

func (a *app) printIdleTimes(title string, list []causes.IdleTime, clock trace.Clock, top int) {
	a.printList("call paths", len(list), top, table.Row{title, "first thread", "time"},
		func(i int) table.Row {
			t := &list[i]
			return table.Row{regionOrOutside(strings.Join(t.Path, " > ")), t.LocationName, clock.FormatSum(t.Time)}
		})
}

// writeCausesCSV writes the causes of all patterns.
func (a *app) writeCausesCSV(x *causes.Result, clock trace.Clock) error {
	seconds := func(t float64) string {
		return strconv.FormatFloat(t*float64(clock.Den)/float64(clock.Num), 'g', -1, 64)
	}
	head := []string{"pattern", "path", "location", "short_term", "long_term"}
	return printCSV(a.out, head, func(write func(...string)) {
		for i := range x.Patterns {
			p := &x.Patterns[i]
			for j := range p.Costs {
				c := &p.Costs[j]
				write(p.Pattern, regionOrOutside(strings.Join(c.Path, " > ")), c.LocationName, seconds(c.ShortTerm),
					seconds(c.LongTerm))
			}
		}
		idle := func(name string, list []causes.IdleTime) {
			for i := range list {
				t := &list[i]
				write(name, regionOrOutside(strings.Join(t.Path, " > ")), t.LocationName, clock.FormatSumSeconds(t.Time), "0")
			}
		}
		idle("idle-threads", x.IdleThreads)
		idle("limited-parallelism", x.LimitedParallelism)
	})
}

// writeWaitsCSV writes the breakdown of all patterns.
func (a *app) writeWaitsCSV(x *waits.Result, by string) error {
	head := []string{"pattern", "part_of", by}
	if by == waitsByPair {
		head = []string{"pattern", "part_of", "location", "cause"}
	}
	return printCSV(a.out, append(head, "waits", "time"), func(write func(...string)) {
		for i := range x.Patterns {
			p := &x.Patterns[i]
			list := sharesBy(p, by)
			for j := range list {
				s := &list[j]
				row := []string{p.Pattern, p.PartOf, shareName(s, by)}
				if by == waitsByPair {
					row = []string{p.Pattern, p.PartOf, s.LocationName, s.CauseName}
				}
				write(append(row, strconv.FormatInt(s.Count, 10), x.Clock.FormatSumSeconds(s.Time))...)
			}
		}
	})
}
