package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/analysis/efficiency"
	"github.com/weft-trace/weft/analysis/structure"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// efficiencyResult holds the factors of a trace, or of a part of it, in the JSON output of weft
// efficiency.
type efficiencyResult struct {
	heading
	// Missing is the reason for which the trace, or a part of it, has no factors.
	Missing string `json:"missing,omitempty"`
	*efficiency.Result
	Scaling *efficiency.Scaling `json:"scaling,omitempty"`
	Phase   *efficiencyPhase    `json:"phase,omitempty"`
}

// hasCounterScaling reports whether the result has the factors that follow from counters.
func (x *efficiencyResult) hasCounterScaling() bool {
	return x.Scaling != nil && x.Scaling.Counters != nil
}

// efficiencyPhase is a phase of a trace: its number, from 1, and its window in ticks.
type efficiencyPhase struct {
	Number int   `json:"number"`
	From   int64 `json:"from"`
	To     int64 `json:"to"` // exclusive
}

func (a *app) efficiencyCommand() *cobra.Command {
	var f efficiencyFlags
	c := &cobra.Command{
		Use:   "efficiency TRACE…",
		Short: "Compute the POP efficiency factors of one or several runs",
		Long: `Compute the efficiency factors of the POP project. Parallel efficiency is the share of the
time that is useful: outside of communication libraries, threading runtime and calls for devices.
It is the product of load balance and communication efficiency. Communication efficiency is the
product of serialisation efficiency (the loss by waiting for dependences) and transfer
efficiency (the loss by the network). To compute the last two, weft simulates the run on an
ideal network that takes no time. A sentence explains each factor below 0.8.

For programs with parallel regions of threads, weft also prints hybrid factors. The multiplicative
model divides the parallel efficiency into those of MPI and OpenMP, the additive model into those
of processes and of threads. For programs with streams of devices, weft also prints the share of
the time in which the devices run kernels. Several traces, such as runs with increasing numbers of
processes, are compared with the first one. Computation scaling is the useful time of the first
run divided by that of the other run. Global efficiency is the product of computation scaling and
parallel efficiency. With --weak, weft assumes that the work is proportional to the number of
threads. If the traces have counters of instructions and cycles (PAPI_TOT_INS and PAPI_TOT_CYC),
weft divides computation scaling into instructions, instructions per cycle, and frequency.

--phase REGION computes the factors of each phase of a run, such as the iterations of a loop.
Phase N lasts from the first begin of the N-th visit of REGION at a location to the last end of
one. The factors equal those of --window with these times. --loop does the same for each
iteration of the outermost loop that weft structure finds. At a location, an iteration lasts until
the next one begins.

--window, or --from and --to, compute the factors of a part of the time. Only the time of a call
inside the part counts. With --phase or --loop, they select the phases that overlap with the part,
in their whole length. --location and --group restrict the trace to these locations and the
messages between them. There is no --region, because a factor compares the whole time of
locations.`,
		Example: "  weft efficiency trace.otf2\n  weft efficiency --json run-64.otf2 run-128.otf2 run-256.otf2\n" +
			"  weft efficiency --phase iteration --csv trace.otf2 > phases.csv\n  weft efficiency --loop trace.otf2\n" +
			"  weft efficiency --window 20%..80% --group 'node 0' trace.otf2",
		Args: someArgs,
		RunE: func(c *cobra.Command, args []string) error { return a.runEfficiency(c, args, &f) },
	}
	definePartFlags(c.Flags(), &f.input, &f.selection,
		"a factor compares the whole time of locations; --phase takes the visits of a region")
	c.Flags().BoolVar(&f.weak, "weak", false, "weak scaling: the work is proportional to the number of threads")
	c.Flags().StringVar(&f.phase, "phase", "", "compute the factors of each visit of this region")
	c.Flags().BoolVar(&f.loop, "loop", false, "compute the factors of each iteration of the outermost loop")
	c.Flags().BoolVar(&f.asJSON, "json", false, "print JSON: an object, or a list for several traces or phases")
	c.Flags().BoolVar(&f.asCSV, "csv", false, "print comma-separated values, times in seconds")
	return c
}

// efficiencyFlags holds the flags of weft efficiency.
type efficiencyFlags struct {
	input               inputFlags
	selection           selectionFlags
	weak, asJSON, asCSV bool
	phase               string
	loop                bool
}

// wantsPhases reports whether the flags request the factors of phases of a run.
func (f *efficiencyFlags) wantsPhases() bool { return f.phase != "" || f.loop }

// runEfficiency computes and prints the factors of the traces in args.
func (a *app) runEfficiency(c *cobra.Command, args []string, f *efficiencyFlags) error {
	switch {
	case f.asJSON && f.asCSV:
		return usageError("--json and --csv: expected one of them")
	case f.phase != "" && f.loop:
		return usageError("--phase and --loop: expected one of them")
	case f.wantsPhases() && f.weak:
		return usageError("--weak: expected no --phase or --loop with it, whose phases are not compared with each other")
	}
	list := []*efficiencyResult{}
	var lack error // set for a trace without factors
	for _, path := range args {
		found, missing, err := a.computeEfficiency(c, path, f)
		if err != nil {
			return err
		}
		list, lack = append(list, found...), errors.Join(lack, missing)
	}
	if !f.wantsPhases() && list[0].Missing == "" {
		first := list[0]
		for _, x := range list[1:] {
			if x.Missing == "" {
				scaling := efficiency.Scale(first.Result, x.Result, f.weak)
				x.Scaling = &scaling
			}
		}
	}
	if f.asJSON {
		if len(list) == 1 && !f.wantsPhases() {
			return cmp.Or(a.writeJSON(a.out, list[0]), lack)
		}
		return cmp.Or(a.writeJSON(a.out, list), lack)
	}
	list = slices.DeleteFunc(list, func(x *efficiencyResult) bool { return x.Missing != "" })
	warned := ""
	for _, x := range list {
		if x.Violations != nil && x.Path != warned {
			a.warnOfClocks(x.Path, x.Result.Clock, x.Violations, "factors are")
			warned = x.Path
		}
	}
	switch {
	case len(list) == 0:
	case f.asCSV:
		return cmp.Or(a.writeEfficiencyCSV(list), lack)
	case f.wantsPhases():
		a.printPhases(list, len(args) > 1)
	default:
		a.printEfficiency(list)
	}
	return lack
}

// computeEfficiency computes the factors of a trace. With --phase or --loop it computes the factors of each
// phase instead. lack is the error of [answerPart].
func (a *app) computeEfficiency(c *cobra.Command, path string, f *efficiencyFlags) (list []*efficiencyResult, lack,
	err error) {
	var h heading
	selection := f.selection
	if f.wantsPhases() { // those of the whole time, of which the window selects some
		selection.from, selection.to, selection.window = "", "", ""
	}
	list, missing, lack, err := answerPart(a, c.Context(), path, &f.input, &selection, "the trace has no efficiency",
		func(in *input, part bool) (list []*efficiencyResult, missing string, err error) {
			h = in.heading()
			opt := efficiency.Options{Rows: trace.NewRows(in.Defs()), Part: f.wantsPhases() || part}
			if f.wantsPhases() {
				phases, err := a.phasesInWindow(c.Context(), in, f)
				if err != nil || len(phases) == 0 {
					return list, "", err
				}
				return computePhaseFactors(c.Context(), in, h, phases, f.phase != "", opt)
			}
			x, ok, err := efficiency.Find(c.Context(), in.Events, opt)
			switch {
			case err != nil:
				return nil, "", err
			case !ok:
				return nil, x.Missing(), nil
			}
			missing, err = in.lacksCalls(c.Context(), x)
			return []*efficiencyResult{{heading: h, Result: x}}, missing, err
		})
	if missing != "" {
		list = []*efficiencyResult{{heading: h, Missing: missing}}
	}
	return list, lack, err
}

// lacksCalls returns the reason why a part of a trace has no factors, although it has time outside of calls: the whole
// trace has no calls, either. It returns "" if the part or the trace has calls.
func (in *input) lacksCalls(ctx context.Context, part *efficiency.Result) (missing string, err error) {
	if part.HasCalls() {
		return "", nil
	}
	whole, _, err := efficiency.Find(ctx, in.whole, efficiency.Options{Rows: trace.NewRows(in.Defs())})
	if err != nil || whole.HasCalls() {
		return "", err
	}
	return whole.Missing(), nil
}

// phasesInWindow returns the phases of the run that overlap with the window that the flags select.
func (a *app) phasesInWindow(ctx context.Context, in *input, f *efficiencyFlags) ([]efficiencyPhase, error) {
	windows, err := a.phaseWindows(ctx, in, f)
	if err != nil {
		return nil, err
	}
	var selected *trace.Window
	if f.selection.selectsTimes() {
		events := in.Events
		if in.whole != nil {
			events = in.whole
		}
		y := pieceFlags{from: f.selection.from, to: f.selection.to, window: f.selection.window}
		w, err := y.times(ctx, events)
		if err != nil {
			return nil, err
		}
		selected = &w
	}
	var phases []efficiencyPhase
	for i, w := range windows {
		if selected.Overlaps(w) {
			phases = append(phases, efficiencyPhase{i + 1, w.From, w.To})
		}
	}
	if len(phases) == 0 {
		in.notFound = "found no phase in the window"
	}
	return phases, nil
}

// phaseWindows returns a window for each visit of a region, or with --loop for each iteration of a
// loop.
func (a *app) phaseWindows(ctx context.Context, in *input, f *efficiencyFlags) ([]trace.Window, error) {
	if err := in.Events.Prepare(ctx); err != nil {
		return nil, err
	}
	if f.loop {
		loop, err := structure.FindLoop(ctx, in.Events, trace.NewRows(in.Defs()))
		if none := (*structure.NoLoopError)(nil); errors.As(err, &none) {
			return nil, &exitError{exitDefects, fmt.Errorf("%s: --loop: %w", in.src.Path, err)}
		}
		if err != nil {
			return nil, err
		}
		return loop.Iterations, nil
	}
	visits, err := choose(in.Defs(), aRegion, []string{f.phase})
	if err != nil {
		return nil, err
	}
	windows, err := transform.FindOccurrences(ctx, in.Events, visits)
	if err == nil && len(windows) == 0 {
		why := "found no visit of the region, expected one or more"
		if near, missing := aRegion.isMissing(in.Defs(), f.phase); missing {
			why = "the trace has no such region; " + near
		}
		err = &exitError{exitDefects, fmt.Errorf("%s: --phase %s: %s", in.src.Path, f.phase, why)}
	}
	return windows, err
}

// computePhaseFactors computes the factors of each phase. closed states whether the phases are visits. missing is set
// if no phase has factors.
func computePhaseFactors(ctx context.Context, in *input, h heading, phases []efficiencyPhase, closed bool,
	opt efficiency.Options) (list []*efficiencyResult, missing string, err error) {
	var windows []trace.Window
	for _, p := range phases {
		windows = append(windows, trace.Window{From: p.From, To: p.To})
	}
	found := false
	err = transform.EachPiece(ctx, in.Events, windows, closed, func(i int, piece format.Events) error {
		x := &efficiencyResult{heading: h, Phase: &phases[i]}
		r, ok, err := efficiency.Find(ctx, piece, opt)
		if err != nil {
			return err
		}
		if found = found || ok; ok {
			x.Result = r
		} else {
			x.Missing, missing = r.Missing(), r.Missing()
		}
		list = append(list, x)
		return nil
	})
	if found {
		missing = ""
	}
	return list, missing, err
}

// printPhases prints the factors of phases, one below the other.
func (a *app) printPhases(list []*efficiencyResult, several bool) {
	head := table.Row{"phase", "from", "runtime"}
	if several {
		head = append(table.Row{"trace"}, head...)
	}
	factors := efficiency.StandardFactors()
	for _, f := range factors {
		head = append(head, f.Name)
	}
	printTable(a.out, head, len(list), 0, func(i int) table.Row {
		x := list[i]
		row := table.Row{x.Phase.Number, x.Result.Clock.FormatSeconds(x.Phase.From) + " s", a.formatDuration(x, x.Runtime)}
		if several {
			row = append(table.Row{x.Path}, row...)
		}
		for _, f := range factors {
			row = append(row, fmt.Sprintf("%.3f", f.Value(x.Result)))
		}
		return row
	})
}

// writeEfficiencyCSV writes the factors, with a line for each trace or phase.
func (a *app) writeEfficiencyCSV(list []*efficiencyResult) error {
	models := slices.DeleteFunc(efficiency.Models(), func(m efficiency.Model) bool {
		return !slices.ContainsFunc(list, func(x *efficiencyResult) bool { return m.Has(x.Result) })
	})
	head := []string{"trace", "phase", "from", "processes", "threads", "runtime", "ideal", "useful"}
	for _, m := range models {
		for _, f := range m.Factors {
			head = append(head, strings.NewReplacer(" ", "_", "(", "", ")", "").Replace(strings.ToLower(f.Name)))
		}
	}
	scales := slices.ContainsFunc(list, func(x *efficiencyResult) bool { return x.Scaling != nil })
	if scales {
		head = append(head, "computation_scaling", "global_efficiency", "speed_up")
	}
	counted := slices.ContainsFunc(list, (*efficiencyResult).hasCounterScaling)
	if counted {
		head = append(head, "instruction_scaling", "ipc_scaling", "frequency_scaling")
	}
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	return printCSV(a.out, head, func(write func(...string)) {
		for _, x := range list {
			clock := x.Result.Clock
			row := []string{x.Path, "", "", fmt.Sprint(x.Processes), fmt.Sprint(x.Threads), clock.FormatSeconds(x.Runtime),
				clock.FormatSeconds(x.Ideal), clock.FormatSumSeconds(x.Useful)}
			if x.Phase != nil {
				row[1], row[2] = fmt.Sprint(x.Phase.Number), clock.FormatSeconds(x.Phase.From)
			}
			for _, m := range models {
				for _, f := range m.Factors {
					value := ""
					if m.Has(x.Result) {
						value = number(f.Value(x.Result))
					}
					row = append(row, value)
				}
			}
			switch s := x.Scaling; {
			case s != nil:
				row = append(row, number(s.Computation), number(s.Global), number(s.Speedup))
			case scales:
				row = append(row, "", "", "")
			}
			switch {
			case x.hasCounterScaling():
				c := x.Scaling.Counters
				row = append(row, number(c.Instructions), number(c.IPC), number(c.Frequency))
			case counted:
				row = append(row, "", "", "")
			}
			write(row...)
		}
	})
}

// counterFactors are the factors of the computation scaling that follow from counters.
var counterFactors = [...]struct {
	name  string
	value func(c *efficiency.CounterScaling) float64
}{
	{"instructions", func(c *efficiency.CounterScaling) float64 { return c.Instructions }},
	{"instructions per cycle", func(c *efficiency.CounterScaling) float64 { return c.IPC }},
	{"frequency", func(c *efficiency.CounterScaling) float64 { return c.Frequency }},
}

// printEfficiency prints the factors of traces side by side.
func (a *app) printEfficiency(list []*efficiencyResult) {
	if len(list) == 0 {
		return
	}
	head := table.Row{"factor"}
	for range list {
		head = append(head, "")
	}
	type row struct {
		name  string
		value func(x *efficiencyResult) string
	}
	rows := []row{
		{"trace", func(x *efficiencyResult) string { return x.Path }},
		{"processes", func(x *efficiencyResult) string { return fmt.Sprint(x.Processes) }},
		{"threads", func(x *efficiencyResult) string { return fmt.Sprint(x.Threads) }},
		{"runtime", func(x *efficiencyResult) string { return a.formatDuration(x, x.Runtime) }},
		{"ideal runtime", func(x *efficiencyResult) string { return a.formatDuration(x, x.Ideal) }},
	}
	scaling := len(list) > 1
	for _, m := range efficiency.Models() {
		if !slices.ContainsFunc(list, func(x *efficiencyResult) bool { return m.Has(x.Result) }) {
			continue
		}
		for _, f := range m.Factors {
			rows = append(rows, row{strings.Repeat("  ", f.Level) + f.Name, func(x *efficiencyResult) string {
				if !m.Has(x.Result) {
					return "–"
				}
				return fmt.Sprintf("%.3f", f.Value(x.Result))
			}})
		}
	}
	if scaling {
		for _, f := range []struct {
			name  string
			value func(s *efficiency.Scaling) float64
		}{
			{"computation scaling", func(s *efficiency.Scaling) float64 { return s.Computation }},
			{"global efficiency", func(s *efficiency.Scaling) float64 { return s.Global }},
			{"speed-up", func(s *efficiency.Scaling) float64 { return s.Speedup }},
		} {
			rows = append(rows, row{f.name, func(x *efficiencyResult) string {
				if x.Scaling == nil {
					return "–"
				}
				return fmt.Sprintf("%.3f", f.value(x.Scaling))
			}})
		}
		counted := slices.ContainsFunc(list, (*efficiencyResult).hasCounterScaling)
		for i := 0; counted && i < len(counterFactors); i++ {
			f := &counterFactors[i]
			rows = append(rows, row{"computation: " + f.name, func(x *efficiencyResult) string {
				if !x.hasCounterScaling() {
					return "–"
				}
				return fmt.Sprintf("%.3f", f.value(x.Scaling.Counters))
			}})
		}
	}
	printTable(a.out, head, len(rows), 0, func(i int) table.Row {
		r := table.Row{rows[i].name}
		for _, x := range list {
			r = append(r, rows[i].value(x))
		}
		return r
	})
	for _, x := range list {
		if x.Scaling != nil && !x.hasCounterScaling() {
			fmt.Fprintf(a.out, "\n%s: the scaling of instructions, of instructions per cycle and of the frequency is unknown, "+
				"because this trace or the first one lacks counters (PAPI_TOT_INS and PAPI_TOT_CYC).\n", x.Path)
		}
		for _, s := range x.Sentences() {
			if len(list) > 1 {
				s = x.Path + ": " + s
			}
			fmt.Fprintln(a.out, "\n"+s)
		}
	}
}

func (a *app) formatDuration(x *efficiencyResult, t int64) string {
	return x.Result.Clock.FormatDuration(t)
}
