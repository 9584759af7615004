package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/analysis/usage"
	"github.com/weft-trace/weft/analysis/verify"
	"github.com/weft-trace/weft/internal/nearest"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// flowResult is the JSON of weft flow (docs/json/flow.md).
type flowResult struct {
	heading
	Unit string `json:"unit"` // unit of the throughput and of the latency: "s", …
	*usage.LittleResult
}

// flowFlags holds the flags of weft flow.
type flowFlags struct {
	input              inputFlags
	selection          selectionFlags
	by                 string
	messages           bool
	visits             []string
	begin, end, events string
	average, per       string
	shorten            bool
	asJSON, asCSV      bool
	top                int
}

// timeUnits are the values of --per.
var timeUnits = []string{"ns", "us", "ms", "s", "min", "h"}

// flowCommand returns the command weft flow.
func (a *app) flowCommand() *cobra.Command {
	var flags flowFlags
	c := &cobra.Command{
		Use:   "flow TRACE",
		Short: "Show throughput, latency and work in progress of objects that go through a system",
		Long: `Show how objects go through a system: how many per second, how long each one stays, and how many are
in the system at the same time. --by ATTRIBUTE assigns all claims and events with the same
value of the attribute to one object. An object stays from the earliest to the latest of them, or
between the events of --begin and --end. --visits makes each visit of a region an object, such as
the iterations of a loop. --messages makes each message an object, from its send to its receive.
--region leaves out events of other regions, and claims with other names.

An object that stays for a time d adds 1/d to the throughput while it is in the system. The latency
at a time is the work in progress divided by the throughput (Little's law). --average DURATION
averages each signal, at each time, over the duration before it. --events computes the throughput
from single events: between two successive events, it is 1 divided by the time between them. It
needs none of --by, --visits and --messages.

The values of --begin, --end and --events are propositions of weft verify, such as "end {'name' =
'G'}", or a name. "start NAME" and "end NAME" are the start and the end of a claim.`,
		Example: "  weft flow --by id trace.etf\n  weft flow --by id --begin 'start A' --end 'end G' --per ms trace.etf\n" +
			"  weft flow --visits step --csv trace.otf2 > signals.csv\n  weft flow --messages --per ms trace.otf2",
		Args: exactArgs(1, "one trace"),
		RunE: func(c *cobra.Command, args []string) error { return a.runFlow(c.Context(), args[0], &flags) },
	}
	f := c.Flags()
	defineAnalysisFlags(f, &flags.input, &flags.selection)
	f.StringVar(&flags.by, "by", "", "attribute whose value is the object of a claim or event")
	f.Var((*nameList)(&flags.visits), "visits", "regions whose visits are the objects; * and ? match anything")
	f.BoolVar(&flags.messages, "messages", false, "messages are the objects, from their send to their receive")
	f.StringVar(&flags.begin, "begin", "", "events at which objects enter the system; default: all")
	f.StringVar(&flags.end, "end", "", "events at which objects leave the system; default: all")
	f.StringVar(&flags.events, "events", "", "compute the event-based throughput from these events")
	f.StringVar(&flags.average, "average", "0", "length of the time over which signals are averaged, such as 10ms")
	f.BoolVar(&flags.shorten, "shorten", false,
		"at the begin of the trace, average only over the time since the begin; by default, the system is empty before")
	f.StringVar(&flags.per, "per", "s", "time unit of throughput and latency: ns, us, ms, s, min or h")
	registerCompletions(c, "per", timeUnits...)
	f.BoolVar(&flags.asJSON, "json", false, "print JSON, with all objects and signals")
	f.BoolVar(&flags.asCSV, "csv", false, "print the signals as comma-separated values, times in seconds")
	f.Var(newInteger(&flags.top, 10, 0, 0), "top",
		"number of objects to list, those with the longest stay first; 0 lists all")
	return c
}

// options returns the options of the analysis.
func (f *flowFlags) options(in *input) (opt usage.LittleOptions, err error) {
	opt.Attribute, opt.Messages = f.by, f.messages
	if len(f.visits) > 0 {
		if opt.Visits, err = choose(in.Defs(), aRegion, f.visits); err != nil {
			return opt, err
		}
		in.flagNames = append(in.flagNames, flagNames{"--visits", aRegion, f.visits})
	}
	for _, x := range []struct {
		flag, value string
		filter      **usage.EventFilter
	}{{"--begin", f.begin, &opt.Begin}, {"--end", f.end, &opt.End}, {"--events", f.events, &opt.Events}} {
		if x.value == "" {
			continue
		}
		p, err := verify.ParseProposition(x.value)
		if err != nil {
			return opt, usageError("%s: %w", x.flag, err)
		}
		filter := &usage.EventFilter{Attributes: map[string]string{}, Starts: p.Event != verify.EndEvent,
			Ends: p.Event != verify.StartEvent, Marks: p.Event == verify.AnyEvent}
		for _, a := range p.Attributes {
			filter.Attributes[a.Key] = a.Value
		}
		*x.filter = filter
	}
	return opt, nil
}

// runFlow analyses the trace at path.
func (a *app) runFlow(ctx context.Context, path string, flags *flowFlags) error {
	objects := countSet(flags.by != "", len(flags.visits) > 0, flags.messages)
	if objects > 1 || objects == 0 && flags.events == "" {
		return usageError("--by, --visits, --messages: found %d of them, expected one, or --events alone", objects)
	}
	if flags.messages && (flags.begin != "" || flags.end != "") {
		return usageError("--begin, --end: found --messages, whose objects begin and end with their send and receive; " +
			"expected --by")
	}
	if n := countSet(flags.asJSON, flags.asCSV); n > 1 {
		return usageError("--json and --csv: found %d of them, expected one", n)
	}
	if _, err := wordIndex("--per", flags.per, timeUnits...); err != nil {
		return err
	}
	in, err := a.open(ctx, path, &flags.input)
	return a.answer(in, err, flags.asJSON, &flags.input, func(in *input) (any, func() error, error) {
		opt, err := flags.options(in)
		if err != nil {
			return nil, nil, err
		}
		clock := in.Defs().Clock
		average, err := parseAverage(clock, flags.average)
		if err != nil {
			return nil, nil, err
		}
		unit, err := trace.TicksPerSecond(1e9).ParseDuration("1" + flags.per)
		if err != nil {
			return nil, nil, err
		}
		part, err := flags.selection.narrow(ctx, in)
		if err != nil {
			return nil, nil, err
		}
		p, err := analysis.Run(ctx, in.Events, opt.Selection(),
			func() *usage.Little { return usage.NewLittle(in.Defs(), opt) })
		if err != nil {
			return nil, nil, err
		}
		ticks := float64(unit) / 1e9 * clock.PerSecond()
		x := flowResult{in.heading(), flags.per, p.Result(usage.ResultOptions{Window: average, Unit: ticks,
			Shorten: flags.shorten, NoSignals: !flags.asJSON && !flags.asCSV})}
		if found := len(x.Objects) > 0 || objects == 0 && len(x.Events) > 0; !found {
			what, hint := "visits of the regions", ""
			switch {
			case flags.messages:
				what = "messages"
			case objects == 0:
				what = "two events of --events at different times"
			case flags.by != "":
				what = fmt.Sprintf("objects with the attribute %q", flags.by)
				hint = nearest.Hint(flags.by, usage.Identifiers(in.Defs()))
			}
			if x.Incomplete > 0 {
				what, hint = fmt.Sprintf("complete objects among %d", x.Incomplete), ""
			}
			if !part || flags.by != "" && !slices.Contains(usage.Identifiers(in.Defs()), flags.by) {
				a.reportFlagNames(in)
				return nil, nil, &exitError{exitDefects, fmt.Errorf("%s: found no %s%s", in.src.Path, what, hint)}
			}
			in.notFound = "found no " + what
		}
		return x, func() error {
			if flags.asCSV {
				return a.writeSignals(x.LittleResult.Clock, x.signals())
			}
			switch {
			case len(x.Objects) > 0:
				a.printFlow(&x, flags.top)
			case len(x.Events) > 0:
				a.printSignals(x.signals())
			}
			return nil
		}, nil
	})
}

// parseAverage returns the value of --average in ticks.
func parseAverage(clock trace.Clock, text string) (int64, error) {
	ticks, expected := usage.ParseAverage(clock, text)
	if expected != "" {
		return 0, usageError("--average %s: expected %s", text, expected)
	}
	return ticks, nil
}

// printFlow prints the times and the throughput of objects as text.
func (a *app) printFlow(x *flowResult, top int) {
	clock, first, last := x.LittleResult.Clock, x.Objects[0].First, x.Objects[0].Last
	for _, o := range x.Objects {
		last = max(last, o.Last)
	}
	printf(a.out, "%s, from %s s to %s s\n", plural.Of(len(x.Objects), "object"), clock.FormatSeconds(first),
		clock.FormatSeconds(last))
	if x.Incomplete > 0 {
		printf(a.out, "%d more do not both come and leave\n", x.Incomplete)
	}
	if x.Instant > 0 {
		printf(a.out, "%d have a single time, and do not count in the signals\n", x.Instant)
	}
	d := x.Latencies
	fmt.Fprintln(a.out)
	printTable(a.out, table.Row{"latency", "min", "mean", "median", "90 %", "99 %", "max"}, 1, 0, func(int) table.Row {
		return table.Row{"", clock.FormatDuration(d.Min), clock.FormatDuration(int64(d.Mean + 0.5)),
			clock.FormatDuration(d.Median), clock.FormatDuration(d.P90), clock.FormatDuration(d.P99),
			clock.FormatDuration(d.Max)}
	})
	fmt.Fprintln(a.out)
	a.printSignals(x.signals())
	longest := x.Longest(top)
	fmt.Fprintln(a.out)
	printTable(a.out, table.Row{"object", "latency", "from (s)", "to (s)"}, len(longest), 0, func(i int) table.Row {
		o := longest[i]
		return table.Row{plain(o.Value), clock.FormatDuration(o.Last - o.First), clock.FormatSeconds(o.First),
			clock.FormatSeconds(o.Last)}
	})
}

// printSignals prints the means and the limits of signals.
func (a *app) printSignals(list []namedSignal) {
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
	printTable(a.out, table.Row{"signal", "mean", "min", "max", "unit"}, len(list), 0, func(i int) table.Row {
		s := &list[i]
		mean := ""
		if s.statistics.Ticks > 0 {
			mean = number(s.statistics.Mean)
		}
		return table.Row{plain(s.name), mean, number(s.statistics.Min), number(s.statistics.Max), s.unit}
	})
}

// namedSignal is a signal with its name and unit.
type namedSignal struct {
	name, unit string
	signal     usage.Signal
	statistics usage.Statistics
}

// signals returns the signals of the result.
func (f *flowResult) signals() []namedSignal {
	var list []namedSignal
	if len(f.Objects) > 0 {
		x := &f.Statistics
		list = []namedSignal{{"throughput", "per " + f.Unit, f.Throughput, x.Throughput},
			{"work in progress", "", f.WIP, x.WIP}, {"latency", f.Unit, f.Latency, x.Latency}}
	}
	if len(f.Events) > 0 {
		list = append(list, namedSignal{"events", "per " + f.Unit, f.Events, f.Events.Statistics(false)})
	}
	return list
}

// writeSignals prints the pieces of all signals as CSV.
func (a *app) writeSignals(clock trace.Clock, list []namedSignal) error {
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	return printCSV(a.out, []string{"signal", "from", "to", "start", "end"}, func(write func(...string)) {
		for _, s := range list {
			for _, p := range s.signal {
				write(s.name, clock.FormatSeconds(p.From), clock.FormatSeconds(p.To), number(p.Start), number(p.End))
			}
		}
	})
}
