package cli

import (
	"cmp"
	"context"

	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/generate"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// generateCommand returns the command weft generate.
func (a *app) generateCommand() *cobra.Command {
	var o generate.Options
	var to string
	var options []string
	var asJSON, plain bool
	var names []string
	problems, faults := problemFlags{o: &o}, faultFlags{o: &o}
	long := "Write a synthetic trace of any size. The same flags give the same bytes.\n\nWorkloads:\n"
	for _, w := range generate.Workloads() {
		names = append(names, w.Name)
		long += fmt.Sprintf("  %-13s %s (%s by default)\n", w.Name, w.Doc, plural.Of(w.Locations, "location"))
	}
	long += problemsHelp
	c := &cobra.Command{
		Use:   "generate OUT",
		Short: "Write a synthetic trace for tests and benchmarks",
		Long:  long,
		Example: "  weft generate --workload stencil --events 1000000 --locations 64 big.trf\n" +
			"  weft generate --workload cps --to etf - | weft info -\n" +
			"  weft generate --workload phases --late-sender 50ms --events 5000 late.otf2\n" +
			"  weft generate --workload cps --period 8ms --violations 3 --stragglers 2 --anomalies 4 faults.etf",
		Args: exactArgs(1, "the file to write"),
		RunE: func(c *cobra.Command, args []string) error {
			if _, err := wordIndex("--workload", o.Workload, names...); err != nil {
				return err
			}
			if err := cmp.Or(problems.setOptions(), faults.setOptions()); err != nil {
				return err
			}
			t, err := generate.New(o)
			if err != nil {
				return usageError("%w", err)
			}
			values, err := a.parseOptions(options)
			if err != nil {
				return err
			}
			b := a.newBar("generating")
			source := &progressTrace{Trace: t, bar: b, total: t.Count()}
			if to == "null" {
				// The events are delivered in time order, because all formats are written in this order.
				err := source.Scan(c.Context(), trace.Everything(), format.GlobalOrder, format.SinkFuncs{})
				b.remove()
				return err
			}
			w, err := a.newTraceWriter(values, args[0], to, "--to")
			if err != nil {
				return err
			}
			defer w.out.Abort()
			w.opt.Plain = plain
			for _, x := range w.format.About().Options {
				if _, ok := w.opt.Values[x.Name]; !ok && x.Generated != "" {
					if w.opt.Values == nil {
						w.opt.Values = map[string]string{}
					}
					w.opt.Values[x.Name] = x.Generated
				}
			}
			e, err := w.create()
			if err != nil {
				return err
			}
			if err := format.Convert(c.Context(), source, trace.Everything(), e); err != nil {
				return err
			}
			b.remove()
			if err := w.out.Commit(); err != nil {
				return err
			}
			if rows := e.Loss().Rows(); len(rows) > 0 || asJSON {
				return a.printLoss(e.Loss(), asJSON, args[0] == "-")
			}
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&o.Workload, "workload", "stencil", "kind of the simulated program or system: "+strings.Join(names, ", "))
	f.Var(newInteger(&o.Events, generate.DefaultEvents, 1, 0), "events", "approximate number of events")
	f.Var(newInteger(&o.Locations, 0, 0, 0), "locations", "number of locations; 0 stands for the default of the workload")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of the random numbers")
	problems.register(f)
	faults.register(f)
	f.StringVar(&to, "to", "", "format of OUT, if its name does not determine it")
	f.StringArrayVar(&options, "option", nil, "setting of the format, NAME=VALUE; may be repeated")
	definePlainFlag(f, &plain)
	f.BoolVar(&asJSON, "json", false, "print the loss table as JSON")
	registerCompletions(c, "workload", names...)
	a.defineForceFlag(c)
	return c
}

// progressTrace shows the progress while a trace is generated.
type progressTrace struct {
	*generate.Trace
	bar         *bar
	done, total int64
}

// Scan generates the events and updates the progress bar.
func (c *progressTrace) Scan(ctx context.Context, sel trace.Selection, order format.Order, sink format.Sink) error {
	return c.Trace.Scan(ctx, sel, order, format.SinkFuncs{
		OnBatch: func(b *trace.Batch) error {
			c.done += int64(b.Len())
			c.bar.setProgress(c.done, c.total)
			return sink.Batch(b)
		},
		OnLinks: sink.Links,
	})
}
