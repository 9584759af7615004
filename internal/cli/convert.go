package cli

import (
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

func (a *app) convertCommand() *cobra.Command {
	var r reading
	var to string
	var asJSON, allowLoss bool
	c := &cobra.Command{
		Use:   "convert IN OUT",
		Short: "Convert a trace to another format, saying what is lost",
		Long: `Convert a trace. The format of OUT follows from its name or --to; "-" is
standard input or output. What the target cannot keep is listed at the end:
degraded (kept in another form) or dropped. If events would be dropped, nothing
is written and the exit code is 1, unless --allow-loss is given.

The same format on both sides loses nothing: records are rewritten one by one.
--to null decodes everything and writes nothing, for timing.`,
		Example: "  weft convert trace.trf trace.etf\n  weft convert --option picl.statistics=true old.trf new.trf\n  cat trace.etf | weft convert --to picl - - > trace.trf",
		Args:    exactArgs(2, "IN and OUT"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.convert(c, args[0], args[1], to, &r, asJSON, allowLoss)
		},
	}
	r.flags(c.Flags())
	c.Flags().StringVar(&to, "to", "", "format of OUT, if its name does not tell")
	c.Flags().BoolVar(&asJSON, "json", false, "print the loss table as JSON")
	c.Flags().BoolVar(&allowLoss, "allow-loss", false, "write OUT even if events are dropped")
	return c
}

func (a *app) convert(c *cobra.Command, from, dst, to string, r *reading, asJSON, allowLoss bool) error {
	ctx := c.Context()
	in, err := a.source(ctx, from, r)
	if err != nil {
		return err
	}
	defer in.Close()
	if to == "null" {
		if in.Decoder, err = in.format.Open(ctx, in.src, in.opt); err != nil {
			return err
		}
		// Finding the ends of links is work that decoding does not need.
		sel := trace.Everything()
		sel.Links = false
		err = format.ScanAnew(ctx, in.Decoder, sel, func() func(int) format.Sink {
			return func(int) format.Sink { return format.SinkFuncs{} }
		})
		in.bar.done()
		a.tell(in, r.quiet)
		return err
	}
	f, err := a.target(dst, to)
	if err != nil {
		return err
	}
	if f.Create == nil && (f != in.format || f.Copy == nil) {
		return usageError("%s cannot be written", f.Title)
	}
	out, err := a.createOutput(dst)
	if err != nil {
		return err
	}
	defer out.Abort()
	wo := &format.WriteOptions{Values: in.opt.Values, Workers: a.workers}
	var loss *format.Loss
	if f == in.format && f.Copy != nil {
		loss, err = f.Copy(ctx, in.src, in.opt, out, wo)
	} else {
		var enc format.Encoder
		if enc, err = f.Create(out, wo); err != nil {
			return usageError("%w", err)
		}
		if in.Decoder, err = in.format.Open(ctx, in.src, in.opt); err != nil {
			enc.Abort()
			return err
		}
		for _, l := range format.Foresee(in.Defs(), f.Name) {
			fmt.Fprintf(a.err, "%s will keep %d of %q in another form or not at all: %s\n", f.Title, l.Count, l.Kind, l.Reason)
		}
		err = format.Convert(ctx, in, trace.Everything(), enc)
		if loss = enc.Loss(); err == nil {
			err = format.LostDefinitions(ctx, in.Decoder, loss)
		}
	}
	in.bar.done()
	if err != nil {
		return err
	}
	a.tell(in, r.quiet)
	dropped := loss.Dropped()
	refuse := dropped > 0 && !allowLoss
	if !refuse {
		if err := out.Commit(); err != nil {
			return err
		}
	}
	if err := a.printLoss(loss, asJSON, dst == "-"); err != nil {
		return err
	}
	if refuse {
		return &exitError{exitDefects, fmt.Errorf("%s: not written: %d records cannot be kept as %s; --allow-loss writes it without them", dst, dropped, f.Title)}
	}
	return nil
}

// printLoss prints the loss table, to standard error when the trace itself
// goes to standard output.
func (a *app) printLoss(l *format.Loss, asJSON, outIsStdout bool) error {
	w := a.out
	if outIsStdout {
		w = a.err
	}
	rows := l.Rows()
	if asJSON {
		b := *a
		b.out = w
		return b.writeJSON(rows)
	}
	if len(rows) == 0 {
		return nil
	}
	t := table.NewWriter()
	t.SetOutputMirror(w)
	t.SetStyle(plainTable())
	t.AppendHeader(table.Row{"KIND", "FIELD", "HOW", "REASON", "COUNT"})
	for _, x := range rows {
		t.AppendRow(table.Row{x.Kind, x.Field, string(x.How), x.Reason, x.Count})
	}
	t.Render()
	return nil
}

// plainTable is a table without lines.
func plainTable() table.Style {
	s := table.StyleDefault
	s.Options = table.OptionsNoBordersAndSeparators
	s.Box.PaddingLeft = ""
	s.Box.PaddingRight = "  "
	return s
}
