package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/compression"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// convertCommand returns the command weft convert.
func (a *app) convertCommand() *cobra.Command {
	x := rewriteFlags{asFlag: "--to"}
	var s selectionFlags
	r := &x.inputFlags
	c := &cobra.Command{
		Use:   "convert IN OUT",
		Short: "Convert a trace to another format, and list what is lost",
		Long: `Convert a trace to another format. The name of OUT or --to determines that format; "-" is
standard input or output. At the end weft lists the data that other tools will not find
in OUT. Such data is weft only (stored in a form that only weft reads), degraded (kept in
another form) or lost. If anything would be lost, weft writes nothing and the exit code is
1, unless --allow-loss or --plain is given.

--plain writes only data for which the format of OUT has records. Data that only weft could
read is then lost, and weft lists it as lost.

--window, or --from and --to, convert only a piece of the trace, as weft cut does. The value of
--to is a format if it begins with a letter, and otherwise a time. To set both, use --as for
the format. --location, --group and --region drop all other events, as weft filter does. The
commands cut and filter have more flags, and also write any format.

If both formats are the same, nothing is lost, because weft copies each record. --to null
decodes the whole trace and writes nothing; this measures the time of decoding.`,
		Example: "  weft convert trace.trf trace.etf\n  weft convert --plain trace.otf2 for-vampir.otf\n" +
			"  weft convert --option picl.statistics=true old.trf new.trf\n" +
			"  weft convert --window 20%..30% --location 'rank 0' trace.otf2 piece.etf\n" +
			"  cat trace.etf | weft convert --to picl - - > trace.trf",
		Args: exactArgs(2, "IN and OUT"),
		RunE: func(c *cobra.Command, args []string) error {
			y := s.partOf(x.inputFlags)
			if x.piece, x.filter = y.piece, y.filter; x.changesTrace() {
				return a.convertPart(c, args, &x)
			}
			return a.convert(c, args[0], args[1], &x)
		},
	}
	r.flags(c.Flags())
	r.defineClockFlag(c.Flags())
	s.defineFromFlag(c.Flags())
	c.Flags().Var(&formatOrTime{format: &x.as, time: &s.to}, "to",
		"format of OUT, if its name does not determine it; or end of the selected times, exclusive")
	s.defineWindowFlag(c.Flags())
	s.definePlaceFlags(c.Flags())
	s.defineRegionFlag(c.Flags())
	c.Flags().StringVar(&x.as, "as", "", "format of OUT, as with --to")
	c.Flags().BoolVar(&x.json, "json", false, "print the loss table as JSON")
	c.Flags().BoolVar(&x.allowLoss, "allow-loss", false, "write OUT even if the format of OUT cannot keep everything")
	definePlainFlag(c.Flags(), &x.plain)
	a.defineForceFlag(c)
	return c
}

// formatOrTime is the value of a flag that takes a format or a time.
type formatOrTime struct{ format, time *string }

// Set sets the format if the value begins with a letter, and otherwise the time.
func (v *formatOrTime) Set(value string) error {
	if first, _ := utf8.DecodeRuneInString(value); unicode.IsLetter(first) {
		*v.format = value
	} else {
		*v.time = value
	}
	return nil
}

// String returns the format and the time.
func (v *formatOrTime) String() string {
	if v.format == nil {
		return ""
	}
	return strings.TrimSpace(*v.format + " " + *v.time)
}

// Type returns the word for the value in the help.
func (v *formatOrTime) Type() string { return "string" }

// definePlainFlag defines --plain for commands that write a trace.
func definePlainFlag(f *pflag.FlagSet, plain *bool) {
	f.BoolVar(plain, "plain", false, "write only records of the format of OUT, without the data that only weft can read")
}

// convertPart converts the selected part of a trace.
func (a *app) convertPart(c *cobra.Command, args []string, x *rewriteFlags) error {
	if x.as != "null" {
		return a.rewriteOne(c, args, x, nil, func(res *rewriteResult) (any, error) { return res.Loss, nil })
	}
	ctx := c.Context()
	in, err := a.open(ctx, args[0], x.inputFlagsOnly())
	if err != nil {
		return err
	}
	defer in.Close()
	d, err := x.transform(ctx, in.Events)
	if err == nil {
		err = d.Prepare(ctx)
	}
	if err == nil {
		err = decodeAll(ctx, d)
	}
	in.bar.remove()
	in.flagNames = x.filter.flagNames()
	a.reportDefects(in, x.quiet)
	return err
}

// decodeAll decodes all events and discards them, for timing.
func decodeAll(ctx context.Context, d format.Events) error {
	return d.ScanParallel(ctx, trace.Events(), func() func(int) format.Sink {
		return func(int) format.Sink { return format.SinkFuncs{} }
	})
}

// convert converts a whole trace.
func (a *app) convert(c *cobra.Command, from, dst string, x *rewriteFlags) error {
	ctx, r, to := c.Context(), &x.inputFlags, x.as
	in, err := a.findSource(ctx, from, r)
	if err != nil {
		return err
	}
	defer in.Close()
	if to == "null" {
		if err := in.openTrace(ctx, r); err != nil {
			return err
		}
		// The measured time of decoding does not include finding the ends of links.
		err = decodeAll(ctx, in.Events)
		in.bar.remove()
		a.reportDefects(in, r.quiet)
		return err
	}
	w, err := a.newTraceWriter(in.opt.Values, dst, to, x.asFlag)
	if err != nil {
		return err
	}
	defer w.out.Abort()
	w.opt.Plain = x.plain
	// Copy leaves times, order and weft's additions unchanged. It cannot be used if one of them must
	// change.
	loss, err := (*format.Loss)(nil), format.ErrUnsupported
	if sorted := in.opt.Values["otf2.order"] == "sort"; w.format == in.format && r.correction == "" && !sorted &&
		!x.plain {
		loss, err = w.format.Copy(ctx, in.src, in.opt, w.out, w.opt)
	}
	if errors.Is(err, format.ErrUnsupported) {
		if err := in.openTrace(ctx, r); err != nil {
			return err
		}
		loss, err = w.encode(ctx, a, in.Events, in.file)
	}
	in.bar.remove()
	if err != nil {
		return err
	}
	a.reportDefects(in, r.quiet)
	refused, err := w.commit(loss, x.allowLoss || x.plain)
	if err != nil {
		return err
	}
	if err := a.printLoss(loss, x.json, dst == "-"); err != nil {
		return err
	}
	return refused
}

// traceWriter is an output for a trace.
type traceWriter struct {
	format format.Format
	out    *format.Output
	opt    *format.WriteOptions
	name   string
}

// newTraceWriter creates the output named by an argument. Its format follows from the name or from to, the
// value of the flag named flag.
func (a *app) newTraceWriter(values map[string]string, dst, to, flag string) (*traceWriter, error) {
	f, err := a.outputFormat(dst, to, flag)
	if err != nil {
		return nil, err
	}
	if f.About().Writes == "" {
		return nil, usageError("%s cannot be written", f.About().Title)
	}
	out, err := a.createTraceOutput(f, dst)
	if err != nil {
		return nil, err
	}
	if out.Path != "-" { // else it is a stream or a device
		dst = out.Path
	}
	return &traceWriter{f, out, &format.WriteOptions{Values: values, Workers: a.workers}, dst}, nil
}

// createTraceOutput creates the output for the main file of a trace of format f. If a trace of this format cannot
// have the name dst, a line on standard error states the name that it gets, once the trace is complete. The output
// compresses a single text if the extension of dst demands it.
func (a *app) createTraceOutput(f format.Format, dst string) (*format.Output, error) {
	if ext, _ := compression.WriterFor(dst); ext != "" && !f.About().SingleText {
		return nil, usageError("%s: a trace of %s has several files, expected a name without %s", dst, f.About().Title, ext)
	}
	newFolder, asked, reason := "", dst, ""
	if place := f.About().Place; place != nil && dst != "-" {
		if name := place(dst); name != dst {
			st, err := os.Stat(dst)
			switch {
			case err == nil && st.IsDir() || strings.HasSuffix(dst, string(filepath.Separator)):
				reason = asked + " is a folder"
			case filepath.Dir(name) == filepath.Dir(dst):
				reason = "the name of its main file ends in " + filepath.Ext(name)
			default:
				reason = "it needs a separate folder"
			}
			dst = name
			if dir := filepath.Dir(dst); os.Mkdir(dir, 0o777) == nil {
				newFolder = dir
			}
		}
	}
	out, err := a.createText(dst)
	if err != nil {
		return nil, err
	}
	if reason != "" {
		out.BeforeCommit(func() error {
			printf(a.err, "%s: weft writes the trace to %s, because %s\n", asked, dst, reason)
			return nil
		})
	}
	if newFolder != "" {
		out.AtEnd(func() { os.Remove(newFolder) }) // succeeds only if the folder is empty
	}
	return out, nil
}

// manyFiles is a number of files. If a command is about to write more, it prints their number first.
const manyFiles = 10000

// create returns the encoder of the trace. An error that is not about a file means that an option is wrong.
func (w *traceWriter) create() (format.Encoder, error) {
	enc, err := w.format.Create(w.out, w.opt)
	if isFileError := errors.As(err, new(*fs.PathError)); err != nil && !isFileError {
		return nil, usageError("%w", err)
	}
	return enc, err
}

// encode writes the trace d. from lists the files from which its events come.
func (w *traceWriter) encode(ctx context.Context, a *app, d format.Events, from ...format.File) (*format.Loss, error) {
	enc, err := w.create()
	if err != nil {
		return nil, err
	}
	if x := w.format.About(); x.FilesEach > 0 {
		if n := int64(d.Defs().Locations.Len()); n*x.FilesEach > manyFiles {
			printf(a.err, "%s: note: %s, and %s has %s for each: about %s\n", w.name, plural.Of(n, "location"), x.Title,
				plural.Of(x.FilesEach, "file"), plural.Of(n*x.FilesEach, "file"))
		}
	}
	if err := format.Convert(ctx, d, trace.Everything(), enc); err != nil {
		return nil, err
	}
	loss := enc.Loss()
	defs := d.Defs()
	_, restored := defs.Native.(trace.Restored)
	if !restored && defs.Native != nil && defs.Format == w.format.About().Name {
		return loss, nil // the encoder writes the definitions of the file unchanged
	}
	for _, x := range from {
		if err := format.LostDefinitions(ctx, x, defs, w.format.About().Name, loss); err != nil {
			return nil, err
		}
	}
	return loss, nil
}

// commit makes the output visible, unless records were lost and allowLoss is false. In that case it
// returns the error refused. An empty file is an error, because it could not be read back.
func (w *traceWriter) commit(loss *format.Loss, allowLoss bool) (refused, err error) {
	if dropped := loss.Lost(); dropped > 0 && !allowLoss {
		return &exitError{exitDefects, fmt.Errorf("%s: not written: %s cannot be kept as %s; --allow-loss writes "+
			"the rest", w.name, plural.Of(dropped, "record"), w.format.About().Title)}, nil
	}
	if !w.format.About().EmptyMain {
		w.out.BeforeCommit(func() error {
			if !w.out.Empty() {
				return nil
			}
			return &exitError{exitDefects, fmt.Errorf("not written: no record is left, and %s has no trace without one",
				w.format.About().Title)}
		})
	}
	return nil, w.out.Commit()
}

// printLoss prints the loss table. It prints to standard error if the trace itself goes to standard
// output.
func (a *app) printLoss(l *format.Loss, asJSON, outIsStdout bool) error {
	w := a.out
	if outIsStdout {
		w = a.err
	}
	rows := l.Rows()
	if asJSON {
		return a.writeJSON(w, rows)
	}
	if len(rows) > 0 {
		printTable(w, table.Row{"KIND", "FIELD", "HOW", "REASON", "COUNT"}, len(rows), 0, func(i int) table.Row {
			return table.Row{rows[i].Kind, rows[i].Field, string(rows[i].How), rows[i].Reason, rows[i].Count}
		})
	}
	return nil
}
