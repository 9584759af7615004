package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/otf"
	"github.com/weft-trace/weft/internal/compression"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// sortResult is the JSON of weft sort (docs/json/sort.md).
type sortResult struct {
	Path     string `json:"path"`
	Format   string `json:"format"`
	Unsorted int64  `json:"unsorted"`
	// Loss lists the losses of a selected part.
	Loss []format.LossRow `json:"loss,omitempty"`
}

// sortFlags holds the flags of weft sort.
type sortFlags struct {
	inputFlags
	selection selectionFlags
	only      bool // set by --check: count the records out of order, and write nothing
	json      bool
	allowLoss bool
}

// sortCommand returns the command weft sort.
func (a *app) sortCommand() *cobra.Command {
	var x sortFlags
	c := &cobra.Command{
		Use:   "sort TRACE OUT",
		Short: "Write a trace with its records in the order of time",
		Long: `Write a trace with its records in the order of time, and print how many records were out
of order. weft also reads unsorted traces correctly, but other tools may show wrong parts of
such traces, or nothing. Records with equal times keep their order.

--window, or --from and --to, write only a piece, as weft cut does. --location, --group and
--region drop all other events, as weft filter does. The printed number always counts the
records of the whole trace.

--check only checks the whole trace and writes nothing. The exit code is 1 if records are
out of order. sort works on OTF and PICL: the lines of a TRACE file may be in any order, and OTF2
and Pallas keep the events of a location in the order of time.`,
		Example: "  weft sort trace.otf sorted.otf\n  weft sort --window 20%..30% trace.otf piece.otf\n" +
			"  weft sort --check trace.trf",
		Args: func(c *cobra.Command, args []string) error {
			if x.only {
				return exactArgs(1, "one trace")(c, args)
			}
			return exactArgs(2, "TRACE and OUT")(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if x.only && x.selection.anySet() {
				return usageError("--check: found a flag that selects events, expected none; --check checks whole files")
			}
			return a.sortTrace(c.Context(), args, &x)
		},
	}
	x.flags(c.Flags())
	x.selection.registerForStates(c.Flags())
	c.Flags().BoolVar(&x.only, "check", false, "only check whether the trace is sorted")
	c.Flags().BoolVar(&x.json, "json", false, "print JSON")
	c.Flags().BoolVar(&x.allowLoss, "allow-loss", false,
		"write OUT even if data other than the left out events is lost")
	a.defineForceFlag(c)
	return c
}

// sortTrace counts the records of a trace that are out of order. It writes the selected part of the trace in
// time order if there is a second argument.
func (a *app) sortTrace(ctx context.Context, args []string, x *sortFlags) error {
	from, to := args[0], ""
	if !x.only {
		to = args[1]
	}
	in, err := a.findSource(ctx, from, &x.inputFlags)
	if err != nil {
		return err
	}
	defer in.Close()
	rule := in.format.About().Name + ".unsorted"
	if !slices.ContainsFunc(in.format.About().Rules, func(r format.Rule) bool { return r.ID == rule }) {
		return usageError("%s: found %s, expected OTF or PICL: the lines of a TRACE file may stand in any order, and OTF2 "+
			"and Pallas keep the events of a location in the order of time", from, in.format.About().Title)
	}
	if f, ok := format.ByExtension(a.formats, compression.PlainName(to)); ok && f != in.format {
		return usageError("%s: found a name of %s, expected one of %s, in which the trace is; weft convert writes "+
			"another format", to, f.About().Title, in.format.About().Title)
	}
	if err := in.openFile(ctx, in.opt); err != nil {
		return err
	}
	if err := in.Prepare(ctx); err != nil {
		return err
	}
	res := &sortResult{Path: in.src.Path, Format: in.format.About().Name}
	for _, y := range in.report.Rules() {
		if y.Rule == rule {
			res.Unsorted = y.Count
		}
	}
	if x.selection.anySet() {
		return a.writeSortedPart(ctx, in, to, x, res)
	}
	if to != "" {
		if err := a.writeSorted(ctx, in, to, &x.inputFlags); err != nil {
			return err
		}
		in.bar.remove()
		a.reportDefects(in, x.quiet)
	}
	if x.json {
		err = a.writeJSON(a.out, res)
	} else {
		a.printSorted(res)
	}
	if err == nil && x.only && res.Unsorted > 0 {
		err = &exitError{code: exitDefects}
	}
	return err
}

// printSorted prints the number of records that were out of order.
func (a *app) printSorted(res *sortResult) {
	if res.Unsorted == 0 {
		printf(a.out, "%s: all records are in the order of time\n", res.Path)
		return
	}
	printf(a.out, "%s: %s out of the order of time\n", res.Path, plural.Of(res.Unsorted, "record"))
}

// writeSortedPart writes the selected part of a trace in time order, and prints the result.
func (a *app) writeSortedPart(ctx context.Context, in *input, to string, x *sortFlags, res *sortResult) error {
	y := x.selection.partOf(x.inputFlags)
	y.as, y.json, y.allowLoss = res.Format, x.json, x.allowLoss
	d, err := y.transform(ctx, in.Events)
	if err != nil {
		return err
	}
	return a.writeRewritten(ctx, []*input{in}, d, to, y, func(r *rewriteResult) (any, error) {
		if res.Loss = r.Loss; !x.json {
			a.printSorted(res)
		}
		return res, nil
	})
}

// writeSorted writes a trace with the format's encoder, which writes in time order. For OTF it uses a
// separate method, which changes nothing but the order.
func (a *app) writeSorted(ctx context.Context, in *input, to string, r *inputFlags) error {
	out, err := a.createTraceOutput(in.format, to)
	if err != nil {
		return err
	}
	defer out.Abort()
	wo := &format.WriteOptions{Values: in.opt.Values, Workers: a.workers}
	if in.format == (otf.Format{}) {
		in.report = a.newReport(r) // the trace is read again, with the same defects
		in.opt.Report = in.report
		if err := otf.Sort(ctx, in.src, in.opt, out, wo); err != nil {
			return err
		}
		return out.Commit()
	}
	enc, err := in.format.Create(out, wo)
	if err != nil {
		return usageError("%w", err)
	}
	if err := format.Convert(ctx, in, trace.Everything(), enc); err != nil {
		return err
	}
	if n := enc.Loss().Lost(); n > 0 {
		return &exitError{exitDefects, fmt.Errorf("%s: not written: %s cannot be kept", to, plural.Of(n, "record"))}
	}
	return out.Commit()
}
