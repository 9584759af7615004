package cli

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/analysis/states"
	"github.com/weft-trace/weft/trace"
)

// statesCommand returns the command weft states.
func (a *app) statesCommand() *cobra.Command {
	var flags statesFlags
	c := &cobra.Command{
		Use:   "states TRACE",
		Short: "Show how long each processor is busy, in overhead and idle",
		Long: `Show how long each processor is busy, in overhead (communicating but not waiting) and idle,
as ParaGraph defines these states. The concurrency profile shows for how long exactly N
processors were in each state. In PICL traces the event types determine the state. In other
traces the groups and names of the regions do, and the waits that weft waits finds are idle
time. weft reads these traces twice; with --waits=false it reads them once, and the time in
which calls wait for others is overhead.

--window, or --from and --to, count only the time in a window. weft then reads the trace to
the end of the window, and OTF traces from the last snapshots before the window (weft otf
snapshots). --location and --group show only the processors with one of these locations;
the concurrency profile is still that of all processors. --region counts only the time in
visits of these regions; in the concurrency profile, a processor outside of these visits is
in no state. The times of regions that never contain each other add up.`,
		Example: "  weft states trace.trf\n  weft states --window 20%..30% trace.otf2\n" +
			"  weft states --waits=false trace.otf2\n  weft states --barrier idle --json trace.trf",
		Args: exactArgs(1, "one trace"),
		RunE: func(c *cobra.Command, args []string) error { return a.runStates(c, args, &flags) },
	}
	flags.register(c)
	return c
}

// stateNames lists the values of flags that choose a state, in the order of [states.State].
var stateNames = []string{"busy", "overhead", "idle"}

// statesFlags holds the flags of weft states.
type statesFlags struct {
	input                         inputFlags
	selection                     selectionFlags
	asJSON, waits                 bool
	barrier, collective, overhead string
}

// register adds the flags to the command.
func (f *statesFlags) register(c *cobra.Command) {
	defineAnalysisFlags(c.Flags(), &f.input, &f.selection)
	f.input.defineRolesFlag(c.Flags())
	c.Flags().BoolVar(&f.asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&f.waits, "waits", true, "count the waits of weft waits as idle time; reads the trace twice")
	c.Flags().StringVar(&f.barrier, "barrier", "", "state in a barrier: busy, overhead (the default) or idle")
	c.Flags().StringVar(&f.collective, "collective", "", "state in a collective operation: busy, overhead or idle")
	c.Flags().StringVar(&f.overhead, "user-overhead", "", "state in user overhead (PICL event -603)")
	for _, flag := range []string{"barrier", "collective", "user-overhead"} {
		registerCompletions(c, flag, stateNames...)
	}
}

// options returns the options of the analysis that the flags select.
func (f *statesFlags) options() (opt states.Options, err error) {
	for _, x := range []struct {
		flag, value string
		to          *states.State
	}{
		{"--barrier", f.barrier, &opt.Barrier},
		{"--collective", f.collective, &opt.Collective},
		{"--user-overhead", f.overhead, &opt.UserOverhead},
	} {
		if x.value == "" {
			continue
		}
		n, err := wordIndex(x.flag, x.value, stateNames...)
		if err != nil {
			return opt, err
		}
		*x.to = states.Busy + states.State(n)
	}
	return opt, nil
}

// statesMissing holds the JSON output of weft states for a trace without processors, or without time of them.
type statesMissing struct {
	Clock   trace.Clock `json:"clock"`
	Missing string      `json:"missing"` // the reason
}

// runStates computes and prints the states of the processors of the trace in args.
func (a *app) runStates(c *cobra.Command, args []string, flags *statesFlags) error {
	opt, err := flags.options()
	if err != nil {
		return err
	}
	in, err := a.open(c.Context(), args[0], &flags.input)
	var none error // set for a trace without processors, or without time of them
	err = a.answer(in, err, flags.asJSON, &flags.input, func(in *input) (any, func() error, error) {
		sel, err := flags.selection.selection(c.Context(), in)
		if err != nil {
			return nil, nil, err
		}
		_, opt.Window = flags.selection.selectedBounds(sel)
		opt.Regions = sel.Region
		if !in.Defs().Conventions.EventTypes && flags.waits {
			if opt.Waits, err = states.FindWaits(c.Context(), in.Events, opt.Window); err != nil {
				return nil, nil, err
			}
		}
		p, err := states.Read(c.Context(), in.Events, opt)
		if err != nil {
			return nil, nil, err
		}
		x := p.Result()
		all := len(x.Processors)
		if sel.Location != nil {
			x.Processors = slices.DeleteFunc(x.Processors, func(q states.Processor) bool {
				return !slices.ContainsFunc(q.Locations, sel.Location)
			})
		}
		missing := states.Missing(in.Defs(), all)
		switch {
		case missing != "":
			none = in.lacks(missing, false)
		case len(x.Processors) == 0:
			in.notFound = "found no processor with one of the locations"
		case !slices.ContainsFunc(x.Processors,
			func(q states.Processor) bool { return q.Busy+q.Overhead+q.Idle+q.Gap > 0 }):
			missing = states.NoTime
			none = in.lacks(missing, flags.selection.anySet())
		}
		if none != nil {
			return &statesMissing{x.Clock, missing}, func() error { return nil }, nil
		}
		return x, func() error {
			if len(x.Processors) > 0 {
				a.printStates(x, in.Defs())
			}
			a.warnOfClocks(in.src.Path, in.Defs().Clock, x.Violations, "idle time is")
			return nil
		}, nil
	})
	return cmp.Or(err, none)
}

// printStates prints a table of the processors, and the concurrency profile.
func (a *app) printStates(x *states.Result, d *trace.Definitions) {
	f := d.Clock.FormatDuration
	name, _ := locationNames(d)
	head := table.Row{"processor", "busy", "%", "overhead", "%", "idle", "%"}
	gaps := slices.ContainsFunc(x.Processors, func(q states.Processor) bool { return q.Gap > 0 })
	if gaps {
		head = append(head, "gap", "%")
	}
	printTable(a.out, head, len(x.Processors), 0, func(i int) table.Row {
		q := &x.Processors[i]
		all := float64(max(1, q.Busy+q.Overhead+q.Idle+q.Gap))
		pc := func(v int64) string { return fmt.Sprintf("%.1f", 100*float64(v)/all) }
		row := table.Row{
			name(q.Locations[0]), f(q.Busy), pc(q.Busy), f(q.Overhead), pc(q.Overhead), f(q.Idle), pc(q.Idle),
		}
		if gaps {
			row = append(row, f(q.Gap), pc(q.Gap))
		}
		return row
	})
	fmt.Fprintln(a.out, "\nTime with so many processors in each state")
	head = table.Row{"processors", "busy", "overhead", "idle"}
	printTable(a.out, head, len(x.Profile), 0, func(i int) table.Row {
		l := &x.Profile[i]
		return table.Row{l.Count, f(l.Busy), f(l.Overhead), f(l.Idle)}
	})
}
