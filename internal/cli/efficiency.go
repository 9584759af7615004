package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/analysis/efficiency"
	"github.com/weft-trace/weft/trace"
)

// efficiencyResult is the part of a trace in what weft efficiency --json prints.
type efficiencyResult struct {
	heading
	// Missing says why a part of a trace has no factors.
	Missing string `json:"missing,omitempty"`
	*efficiency.Result
	Scaling *efficiency.Scaling `json:"scaling,omitempty"`
}

func (a *app) efficiencyCommand() *cobra.Command {
	var r inputFlags
	var s selectionFlags
	var asJSON, weak bool
	c := &cobra.Command{
		Use:   "efficiency TRACE…",
		Short: "Compute the POP efficiency factors of one or several runs",
		Long: `Compute the efficiency factors of the POP project. Parallel efficiency is the share of the
time that is useful: outside of communication libraries and of the runtime of threads. It is
the product of load balance and communication efficiency. Communication efficiency is the
product of serialisation efficiency (the loss by waiting for dependences) and transfer
efficiency (the loss by the network). For these two, weft computes all times of the trace
again for an ideal network that takes no time. A sentence explains each factor below 0.8.

For programs with several threads in a process, the hybrid factors follow: the
multiplicative model divides the parallel efficiency into those of MPI and OpenMP, the
additive model into those of processes and of threads. Several traces, such as runs with
more and more processes, are compared with the first one: computation scaling is the useful
time of the first run divided by that of another one, global efficiency its product with the
parallel efficiency. With --weak the work is taken to grow with the number of threads.

--window, or --from and --to, compute the factors of a part of the time: what is open at its ends
counts with its time in the part. --location and --group leave only these locations and the
messages between them. There is no --region: a factor compares the whole time of locations.`,
		Example: "  weft efficiency trace.otf2\n  weft efficiency --json run-64.otf2 run-128.otf2 run-256.otf2\n" +
			"  weft efficiency --window 20%..80% --group 'node 0' trace.otf2",
		Args: someArgs,
		RunE: func(c *cobra.Command, args []string) error {
			var list []*efficiencyResult
			for _, path := range args {
				x, err := a.efficiencyOf(c, path, &r, &s)
				if err != nil {
					return err
				}
				if len(list) > 0 && list[0].Missing == "" && x.Missing == "" {
					scaling := efficiency.Scale(list[0].Result, x.Result, weak)
					x.Scaling = &scaling
				}
				list = append(list, x)
			}
			if asJSON {
				if len(list) == 1 {
					return a.writeJSON(a.out, list[0])
				}
				return a.writeJSON(a.out, list)
			}
			a.printEfficiency(slices.DeleteFunc(list, func(x *efficiencyResult) bool { return x.Missing != "" }))
			return nil
		},
	}
	r.flags(c.Flags())
	r.clockFlag(c.Flags())
	r.rolesFlag(c.Flags())
	s.partFlags(c.Flags())
	c.Flags().BoolVar(&weak, "weak", false, "the work of runs with more threads is larger in proportion")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: an object, of several traces a list")
	return c
}

// efficiencyOf computes the factors of a trace.
func (a *app) efficiencyOf(c *cobra.Command, path string, r *inputFlags, s *selectionFlags) (*efficiencyResult, error) {
	x, found, err := answerPart(a, c.Context(), path, r, s, "the trace has no efficiency",
		func(in *input) (x *efficiencyResult, ok bool, err error) {
			x = &efficiencyResult{heading: in.heading()}
			x.Result, ok, err = efficiency.Find(c.Context(), in.Events, efficiency.Options{Rows: trace.NewRows(in.Defs())})
			return x, ok, err
		})
	if err == nil && !found {
		x = &efficiencyResult{heading: x.heading, Missing: efficiency.NoRegionTime}
	}
	return x, err
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
		{"runtime", func(x *efficiencyResult) string { return a.durationOf(x, x.Runtime) }},
		{"ideal runtime", func(x *efficiencyResult) string { return a.durationOf(x, x.Ideal) }},
	}
	add := func(list []efficiency.Factor, known func(x *efficiencyResult) bool) {
		for _, f := range list {
			rows = append(rows, row{strings.Repeat("  ", f.Level) + f.Name, func(x *efficiencyResult) string {
				if !known(x) {
					return "–"
				}
				return fmt.Sprintf("%.3f", f.Of(x.Result))
			}})
		}
	}
	add(efficiency.StandardFactors(), func(*efficiencyResult) bool { return true })
	hybrid, scaling := false, len(list) > 1
	for _, x := range list {
		hybrid = hybrid || x.Hybrid != nil
	}
	if hybrid {
		add(efficiency.HybridFactors(), func(x *efficiencyResult) bool { return x.Hybrid != nil })
	}
	if scaling {
		for _, f := range []struct {
			name string
			of   func(s *efficiency.Scaling) float64
		}{
			{"computation scaling", func(s *efficiency.Scaling) float64 { return s.Computation }},
			{"global efficiency", func(s *efficiency.Scaling) float64 { return s.Global }},
			{"speed-up", func(s *efficiency.Scaling) float64 { return s.Speedup }},
		} {
			rows = append(rows, row{f.name, func(x *efficiencyResult) string {
				if x.Scaling == nil {
					return "–"
				}
				return fmt.Sprintf("%.3f", f.of(x.Scaling))
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
		for _, s := range x.Sentences() {
			if len(list) > 1 {
				s = x.Path + ": " + s
			}
			fmt.Fprintln(a.out, "\n"+s)
		}
	}
}

func (a *app) durationOf(x *efficiencyResult, t int64) string {
	return x.Result.Clock.FormatDuration(t)
}
