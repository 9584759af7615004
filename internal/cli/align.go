package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/analysis/clocks"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// alignOptions holds the flags of weft align.
type alignOptions struct {
	rewriteFlags
	clocks, model      string
	latency, reference string
	writeTo            string // file for the correction
	always             bool
	top                int
}

// alignCommand returns the command weft align.
func (a *app) alignCommand() *cobra.Command {
	var o alignOptions
	c := &cobra.Command{
		Use:   "align TRACE [OUT]",
		Short: "Compute the differences of clocks from messages and collective operations, and correct them",
		Long: `Compute the offset and drift of each clock against a reference clock. A message cannot
be received before it is sent, and no member can leave a collective operation before
the members that it waits for have entered the operation. Each message and each collective
operation therefore bounds the difference of two clocks. weft corrects a drift only if
offsets are not sufficient. Some errors cannot be corrected by a straight line, for example
if a clock was set while the program ran. weft then moves a receive to its send, and the
times around it by 1 % of their distance (the controlled logical clock). Afterwards no
message is received before it is sent, and no interval is negative.

weft prints the number of violations before and after the correction, and the correction
of each clock. A clock without violations is corrected only with --always.

--clocks states which units have a clock: each process, each node (all processes below
one node of the tree) or each location. --model limits the corrections: full, linear
(offset and drift) or offset. With OUT, weft writes the corrected trace. --correction
writes the correction to a file, for the flag --clock-correction of other commands. All
flags of weft cut and weft filter apply to OUT, and use the corrected times.`,
		Example: "  weft align trace.otf2\n  weft align trace.otf2 corrected.otf2\n" +
			"  weft align --correction clocks.json trace.otf2\n" +
			"  weft align --model linear --latency 1us --json trace.otf2",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return usageError("found %s, expected TRACE, or TRACE and OUT; see %s --help",
					plural.Of(len(args), "argument"), c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return a.runAlign(c.Context(), args, &o) },
	}
	o.flags(c.Flags())
	c.Flags().StringVar(&o.clocks, "clocks", "process", "unit that has its own clock: process, node or location")
	c.Flags().StringVar(&o.model, "model", "full", "form of the correction: full, linear or offset")
	c.Flags().StringVar(&o.latency, "latency", "0",
		"shortest possible latency of a message between two clocks: 1us, ticks")
	c.Flags().StringVar(&o.reference, "reference", "",
		"location, by id or name, whose clock is the reference (default the first)")
	c.Flags().StringVar(&o.writeTo, "correction", "", "write the correction to this file; - is standard output")
	c.Flags().BoolVar(&o.always, "always", false,
		"also correct clocks without violations")
	c.Flags().Var(newInteger(&o.top, 50, 0, 0), "top", "how many clocks to list; 0 lists all")
	registerCompletions(c, "clocks", clockLevels...)
	registerCompletions(c, "model", clockModels...)
	a.defineForceFlag(c)
	return c
}

// clockLevels and clockModels are the values of --clocks and --model, in the order of their numbers
// in package clocks.
var clockLevels, clockModels = []string{"process", "node", "location"}, []string{"full", "linear", "offset"}

// alignResult is the JSON of weft align (docs/json/align.md).
type alignResult struct {
	*clocks.Result
	Written *rewriteResult `json:"written,omitempty"`
}

// runAlign runs weft align.
func (a *app) runAlign(ctx context.Context, args []string, o *alignOptions) error {
	if o.writeTo == "-" && o.json {
		return usageError("--correction -: expected no --json, since both go to standard output")
	}
	if err := checkNotPacked(o.writeTo, "a clock correction"); err != nil {
		return err
	}
	if len(args) == 1 && o.changesTrace() {
		return usageError("found flags that select events of OUT, expected OUT with them; weft computes the clocks " +
			"from the whole trace")
	}
	in, err := a.open(ctx, args[0], o.inputFlagsOnly())
	if err != nil {
		return err
	}
	defer in.Close()
	d, err := o.correct(in.Events)
	if err != nil {
		return err
	}
	opt, err := o.options(d.Defs())
	if err != nil {
		return err
	}
	x, err := a.computeClocks(ctx, d, in.src.Path, opt)
	if err != nil {
		return err
	}
	w := a.out
	if o.writeTo == "-" || len(args) > 1 && args[1] == "-" {
		w = a.err
	}
	correction := func() error { return nil }
	if o.writeTo != "" {
		out, err := a.createOutput(o.writeTo)
		if err != nil {
			return err
		}
		defer out.Abort()
		if err := x.Correction.Write(out); err != nil {
			return err
		}
		correction = out.Commit
	}
	if len(args) > 1 {
		if d, err = transform.Correct(d, x.Correction, 0); err != nil {
			return err
		}
		o.correction = "" // it has been applied already
		if d, err = o.transform(ctx, d); err != nil {
			return err
		}
		return a.writeRewritten(ctx, []*input{in}, d, args[1], &o.rewriteFlags, func(res *rewriteResult) (any, error) {
			if !o.json {
				printClocks(w, x, o.top)
			}
			return alignResult{x, res}, correction()
		})
	}
	if err := correction(); err != nil {
		return err
	}
	in.bar.remove()
	if o.json {
		return a.writeJSON(a.out, x)
	}
	printClocks(w, x, o.top)
	a.reportDefects(in, o.quiet)
	return nil
}

// options converts the flags into options of package clocks. d is the trace.
func (o *alignOptions) options(d *trace.Definitions) (opt clocks.Options, err error) {
	level, err := wordIndex("--clocks", o.clocks, clockLevels...)
	if err != nil {
		return opt, err
	}
	model, err := wordIndex("--model", o.model, clockModels...)
	if err != nil {
		return opt, err
	}
	opt.Always, opt.Level, opt.Model = o.always, clocks.Level(level), clocks.Model(model)
	if opt.Latency, err = d.Clock.ParseDuration(o.latency); err != nil {
		return opt, usageError("--latency: %w", err)
	}
	if opt.Latency < 0 || opt.Latency > clocks.MaxLatency {
		return opt, usageError("--latency %s: expected 0 to %s", o.latency, d.Clock.FormatDuration(clocks.MaxLatency))
	}
	if o.reference == "" {
		return opt, nil
	}
	full := d.FullNames()
	// an id takes precedence over a name
	for _, name := range []func(i int, l *trace.Location) string{
		func(_ int, l *trace.Location) string { return l.ID }, func(_ int, l *trace.Location) string { return l.Name },
		func(i int, _ *trace.Location) string { return full[i] },
	} {
		for i, l := range d.Locations.All() {
			if name(i, &l) == o.reference {
				opt.Reference = uint32(i)
				return opt, nil
			}
		}
	}
	return opt, usageError("--reference %s: the trace has no such location; %s", o.reference,
		aLocation.nearestHint(d, o.reference))
}

// computeClocks computes the offsets of the clocks of a trace.
func (a *app) computeClocks(ctx context.Context, dec format.Events, path string,
	opt clocks.Options) (*clocks.Result, error) {
	x, err := clocks.Solve(ctx, dec, opt)
	if errors.Is(err, clocks.ErrTimeRange) {
		return nil, &exitError{exitDefects, fmt.Errorf("%s: %w", path, err)}
	}
	return x, err
}

// printClocks prints the result with at most top clocks, or all clocks if top is 0.
func printClocks(w io.Writer, x *clocks.Result, top int) {
	fmt.Fprintf(w, "Messages     %d\nCollectives  %d\nClocks       %d\n\n", x.Messages, x.Collectives, len(x.Clocks))
	t := newTable(w)
	t.AppendHeader(table.Row{"violations", "messages", "collectives", "worst"})
	row := func(name string, v clocks.Violations) {
		t.AppendRow(table.Row{name, v.Messages, v.Collectives, x.Clock.FormatDuration(v.Worst)})
	}
	row("as recorded", x.Before)
	row("by lines", x.Linear)
	if x.Amortised {
		row("amortised", x.After)
	}
	t.Render()
	if v := x.Contradictions; v.Any() {
		fmt.Fprintf(w, "Not used: %s and %s that contradict themselves with any clocks\n",
			plural.Of(v.Messages, "message"), plural.Of(v.Collectives, "collective operation"))
	}
	if x.Amortised {
		fmt.Fprintf(w, "Amortisation moves times by up to %s\n", x.Clock.FormatDuration(x.Moved))
	}
	if x.Shift > 0 {
		fmt.Fprintf(w, "All clocks that are corrected are moved %s later, too, so that no time is before 0\n",
			x.Clock.FormatDuration(x.Shift))
	}
	if len(x.Clocks) == 0 {
		return
	}
	fmt.Fprintln(w)
	n := printTable(w, table.Row{"clock", "locations", "against", "offset", "drift", "constraints", "moved"},
		len(x.Clocks), top, func(i int) table.Row {
			c := &x.Clocks[i]
			against := "–"
			if c.Reference != i {
				against = x.Clocks[c.Reference].Name
			}
			return table.Row{c.Name, firstIDs(c.Locations), against, x.Clock.FormatDuration(c.Offset),
				fmt.Sprintf("%.3f ppm", c.Drift), c.Constraints, x.Clock.FormatDuration(c.Moved)}
		})
	if n > 0 {
		fmt.Fprintf(w, "  … and %s (--top 0 lists all)\n", plural.Of(n, "more clock"))
	}
	if x.Untied > 0 {
		fmt.Fprintf(w, "Nothing ties %d of the clocks to the reference\n", x.Untied)
	}
}

// firstIDs returns the first three of a list of ids as text. If there are more, it adds their number.
func firstIDs(ids []string) string {
	const most = 3
	if len(ids) <= most {
		return strings.Join(ids, " ")
	}
	return fmt.Sprintf("%s … (%d)", strings.Join(ids[:most], " "), len(ids))
}
