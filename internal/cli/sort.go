package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/otf"
	"github.com/weft-trace/weft/trace"
)

// sortResult is the JSON of weft sort (docs/json/sort.md).
type sortResult struct {
	Path     string `json:"path"`
	Format   string `json:"format"`
	Unsorted int64  `json:"unsorted"`
}

// sortCommand returns the command weft sort.
func (a *app) sortCommand() *cobra.Command {
	var r inputFlags
	var only, asJSON bool
	c := &cobra.Command{
		Use:   "sort TRACE OUT",
		Short: "Write a trace with its records in the order of time",
		Long: `Write a trace with its records in the order of time, and print how many records were out
of order. weft reads unsorted traces as if they were sorted, but other tools show wrong
windows of them, or none. Records with equal times keep their order.

--check writes nothing: the exit code is 1 if records are out of order. Formats whose
records may be in any order are not sorted.`,
		Example: "  weft sort trace.otf sorted.otf\n  weft sort --check trace.trf",
		Args: func(c *cobra.Command, args []string) error {
			if only {
				return exactArgs(1, "one trace")(c, args)
			}
			return exactArgs(2, "TRACE and OUT")(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			out := ""
			if !only {
				out = args[1]
			}
			x, err := a.sortTrace(c.Context(), args[0], out, &r)
			if err != nil {
				return err
			}
			if asJSON {
				err = a.writeJSON(a.out, x)
			} else if x.Unsorted == 0 {
				printf(a.out, "%s: all records are in the order of time\n", x.Path)
			} else {
				printf(a.out, "%s: %d records were not in the order of time\n", x.Path, x.Unsorted)
			}
			if err == nil && only && x.Unsorted > 0 {
				err = &exitError{code: exitDefects}
			}
			return err
		},
	}
	r.flags(c.Flags())
	c.Flags().BoolVar(&only, "check", false, "only check whether the trace is sorted")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	a.defineForceFlag(c)
	return c
}

// sortTrace writes a trace in time order, and counts the records that were out of order. It only counts if
// to is empty.
func (a *app) sortTrace(ctx context.Context, from, to string, r *inputFlags) (*sortResult, error) {
	in, err := a.findSource(ctx, from, r)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	rule := in.format.About().Name + ".unsorted"
	if !slices.ContainsFunc(in.format.About().Rules, func(r format.Rule) bool { return r.ID == rule }) {
		return nil, usageError("%s: the records of %s may stand in any order", from, in.format.About().Title)
	}
	if f, ok := format.ByExtension(a.formats, to); ok && f != in.format {
		return nil, usageError("%s: found a name of %s, expected one of %s, in which the trace is; weft convert writes "+
			"another format", to, f.About().Title, in.format.About().Title)
	}
	if err := in.openFile(ctx, in.opt); err != nil {
		return nil, err
	}
	if err := in.Prepare(ctx); err != nil {
		return nil, err
	}
	x := &sortResult{Path: in.src.Path, Format: in.format.About().Name}
	for _, y := range in.report.Rules() {
		if y.Rule == rule {
			x.Unsorted = y.Count
		}
	}
	if to != "" {
		if err := a.writeSorted(ctx, in, to, r); err != nil {
			return nil, err
		}
		in.bar.remove()
		a.reportDefects(in, r.quiet)
	}
	return x, nil
}

// writeSorted writes a trace with the format's encoder, which writes in time order. For OTF it uses a
// separate method, which changes nothing but the order.
func (a *app) writeSorted(ctx context.Context, in *input, to string, r *inputFlags) error {
	out, err := a.createOutput(to)
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
		return &exitError{exitDefects, fmt.Errorf("%s: not written: %d records cannot be kept", to, n)}
	}
	return out.Commit()
}
