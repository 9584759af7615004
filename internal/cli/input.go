package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/weft-trace/weft/check"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/otf"
	"github.com/weft-trace/weft/internal/nearest"
	"github.com/weft-trace/weft/internal/unpack"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// inputFlags holds the flags of commands that read a trace.
type inputFlags struct {
	format  string
	options []string
	strict  bool
	quiet   bool
	// correction is the name of a file with a clock correction, or "" if the flag is not set.
	correction string
	// roles is the name of a file with roles of regions, or "" if the flag is not set.
	roles string
}

// defineClockFlag defines --clock-correction, for commands that use times.
func (r *inputFlags) defineClockFlag(f *pflag.FlagSet) {
	f.StringVar(&r.correction, "clock-correction", "",
		"file with a clock correction, written by weft align, that weft applies to all times")
	markInputFlag(f, "clock-correction")
}

// defineRolesFlag defines --roles, for commands that use the roles of regions.
func (r *inputFlags) defineRolesFlag(f *pflag.FlagSet) {
	f.StringVar(&r.roles, "roles", "",
		"file with lines ROLE PATTERN that set the roles of regions (see docs/commands/answer.md)")
	markInputFlag(f, "roles")
}

// correct applies the clock correction to a trace, if the flag names one.
func (r *inputFlags) correct(d format.Events) (format.Events, error) {
	if r.correction == "" {
		return d, nil
	}
	f, err := os.Open(r.correction)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c, err := transform.ReadCorrection(f, r.correction)
	if err != nil {
		return nil, &exitError{exitDefects, err}
	}
	if d, err = transform.Correct(d, c, 0); err != nil {
		return nil, usageError("%s: %w", r.correction, err)
	}
	return d, nil
}

// flags defines the flags that all commands with inputFlags have.
func (r *inputFlags) flags(f *pflag.FlagSet) {
	f.StringVar(&r.format, "format", "", "format of the trace, if its content does not determine it (see weft formats)")
	f.StringArrayVar(&r.options, "option", nil,
		"setting of a format, NAME=VALUE (see weft formats --options); may be repeated")
	f.BoolVar(&r.strict, "strict", false, "stop at the first error or warning")
	f.BoolVarP(&r.quiet, "quiet", "q", false, "do not print defects of the trace")
}

// input is an open trace. Its Events are the events of the file, with corrected clocks. Some commands
// restrict them to the selection.
type input struct {
	format.Events
	whole     format.Events // the events before [input.narrow]
	file      format.File   // the file itself
	format    format.Format
	src       format.Source
	opt       *format.ReadOptions
	report    *format.Report
	flagNames []flagNames // patterns of the flags; unknown names in them are reported
	// notFound is the message for an empty selection, such as "found no event".
	notFound string
	// emptyWindow is the message for a window between two ticks of the clock.
	emptyWindow string
	hidden      []uint32 // attributes that applying the selection has added
	bar         *bar
	damage      *trace.Defect // of the compressed file; nil if there is none
	close       []func() error
}

// inOrder passes the events that r selects to an analysis of a window, in global time order, until
// complete returns true. A nil window means the whole trace.
func (in *input) inOrder(ctx context.Context, w *trace.Window, r format.Reduction, sink format.Sink,
	complete func() bool) error {
	return format.ScanReducedWindow(ctx, in.Events, w, r, sink, complete)
}

// Close closes the trace and removes temporary files.
func (in *input) Close() error {
	in.bar.remove()
	var err error
	if in.file != nil {
		err = in.file.Close()
		in.file = nil
	}
	for _, c := range in.close {
		c()
	}
	return err
}

// parseOptions parses NAME=VALUE pairs. It returns an error for unknown options and invalid values.
func (a *app) parseOptions(list []string) (map[string]string, error) {
	out := map[string]string{}
	for _, s := range list {
		name, value, ok := strings.Cut(s, "=")
		if !ok {
			return nil, usageError("--option %s: expected NAME=VALUE", s)
		}
		known := false
		for _, f := range a.formats {
			for _, o := range f.About().Options {
				if o.Name != name {
					continue
				}
				known = true
				if len(o.Values) > 0 && !slices.Contains(o.Values, value) {
					return nil, usageError("--option %s: found %q, expected one of %s", name, value, strings.Join(o.Values, ", "))
				}
			}
		}
		if !known {
			see := nearest.DidYouMean(name, a.optionNames(), "weft formats --options lists them")
			return nil, usageError("--option %s: no such option; %s", name, see)
		}
		out[name] = value
	}
	return out, nil
}

// optionNames returns the names of the options of all formats.
func (a *app) optionNames() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, f := range a.formats {
			for _, o := range f.About().Options {
				if !yield(o.Name) {
					return
				}
			}
		}
	}
}

// formatNamed returns the format that the value of a flag names.
func (a *app) formatNamed(flag, name string) (format.Format, error) {
	f, ok := format.ByName(a.formats, name)
	if !ok {
		var names []string
		for _, f := range a.formats {
			about := f.About()
			if slices.Contains(about.Extensions, "."+strings.ToLower(name)) { // the end of a file name, as trf is of PICL
				return nil, usageError("%s %s: no such format; did you mean %s?", flag, name, about.Name)
			}
			names = append(names, about.Name)
		}
		see := nearest.DidYouMean(name, slices.Values(names), "weft formats lists them")
		return nil, usageError("%s %s: no such format; %s", flag, name, see)
	}
	return f, nil
}

// open opens the trace named by an argument and prepares its events. "-" is standard input.
func (a *app) open(ctx context.Context, arg string, r *inputFlags) (*input, error) {
	in, err := a.openUnprepared(ctx, arg, r)
	if err != nil {
		return nil, err
	}
	if err := in.Events.Prepare(ctx); err != nil {
		in.Close()
		return nil, err
	}
	return in, nil
}

// openUnprepared opens a trace without preparing its events. It is used for scans that prepare the
// events themselves.
func (a *app) openUnprepared(ctx context.Context, arg string, r *inputFlags) (*input, error) {
	in, err := a.findSource(ctx, arg, r)
	if err != nil {
		return nil, err
	}
	if err := in.openTrace(ctx, r); err != nil {
		in.Close()
		return nil, err
	}
	return in, nil
}

// openTrace opens the file, and applies the roles and the clock correction that the flags name.
func (in *input) openTrace(ctx context.Context, r *inputFlags) error {
	if err := in.openFile(ctx, in.opt); err != nil {
		return err
	}
	if r.roles != "" {
		roles, err := readRoles(r.roles)
		if err != nil {
			return err
		}
		in.Defs().Roles = roles
	}
	e, err := r.correct(in.file)
	if err == nil {
		in.Events = e
	}
	return err
}

// openFile opens the file without roles and clock correction.
func (in *input) openFile(ctx context.Context, opt *format.ReadOptions) error {
	if in.damage != nil {
		if err := opt.Defect(in.damage); err != nil {
			return err
		}
	}
	f, err := in.format.Open(ctx, in.src, opt)
	if err != nil {
		return err
	}
	in.Events, in.file = f, f
	return nil
}

// findSource finds the file that an argument names, and its format. It does not open the trace.
func (a *app) findSource(ctx context.Context, arg string, r *inputFlags) (*input, error) {
	values, err := a.parseOptions(r.options)
	if err != nil {
		return nil, err
	}
	in := &input{report: a.newReport(r)}
	if err := a.findFile(ctx, in, arg, r); err != nil {
		return nil, err
	}
	if in.format, err = a.formatOf(in.src, r); err != nil {
		return nil, err
	}
	in.bar = a.newBar("reading " + in.src.Path)
	in.opt = &format.ReadOptions{Strict: r.strict, Report: in.report, Values: values, Workers: a.workers,
		Progress: in.bar.setProgress}
	if r.strict { // firstDefectOf may read the trace again after the command has closed it
		a.strict = append(a.strict, strictInput{in, in.close})
		in.close = nil
	}
	return in, nil
}

// findFile finds the file that an argument names. It copies standard input ("-"), pipes, devices and compressed files
// to a temporary file, without their compression, unless their first bytes show that they are no trace.
func (a *app) findFile(ctx context.Context, in *input, arg string, r *inputFlags) error {
	if arg == "" {
		return usageError("found an empty name, expected that of a trace")
	}
	if arg == "-" && slices.ContainsFunc(a.inputs, func(x inputFile) bool { return x.path == arg }) {
		return usageError("-: found standard input twice, expected it once")
	}
	in.src = format.FileSource(arg)
	a.addInput(ctx, arg, in)
	open, name := func() (io.ReadCloser, error) { return io.NopCloser(a.in), nil }, "stdin"
	if arg != "-" {
		open = nil
		if st, err := os.Stat(arg); err == nil && st.IsDir() {
			return &exitError{exitIO, fmt.Errorf("%s: found a directory, expected a trace file%s", arg, a.suggestTrace(arg))}
		} else if err == nil && !st.Mode().IsRegular() {
			// A pipe or device can be read only once.
			open, name = func() (io.ReadCloser, error) { return os.Open(arg) }, arg
		} else if err == nil && unpack.IsCompressed(in.src) {
			bar := a.newBar("unpacking " + arg)
			defer bar.remove()
			open, name = func() (io.ReadCloser, error) {
				f, err := os.Open(arg)
				return &measuredFile{File: f, size: st.Size(), bar: bar}, err
			}, arg
		}
	}
	if open == nil {
		return nil
	}
	c, err := unpack.Stream(ctx, name, open, func(head format.Source) error {
		if r.format != "" { // the user knows the format
			return nil
		}
		_, err := a.formatOf(head, r)
		return err
	})
	if err != nil {
		in.Close()
		return err
	}
	in.close = append(in.close, c.Close)
	in.src = c.Source
	if c.Damage == nil {
		return nil
	}
	if c.Size == 0 {
		in.Close()
		return &exitError{exitDefects, fmt.Errorf("%s: found damaged data of %s (%w), expected a compressed trace", name,
			c.Name, c.Damage)}
	}
	in.damage = check.DamagedCompression(name, c.Name, c.Size, c.Damage)
	if in.report == nil { // the command lists no defects
		printf(a.err, "weft: %v\n", in.damage)
	}
	return nil
}

// suggestTrace returns a hint for the name of a folder: a trace in the folder, or the anchor file
// of the OTF2 archive whose locations are in it. It returns "" if there is none.
func (a *app) suggestTrace(folder string) string {
	names := []string{filepath.Clean(folder) + ".otf2"}
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		if _, ok := format.ByExtension(a.formats, e.Name()); ok {
			names = append(names, filepath.Join(folder, e.Name()))
		}
	}
	for _, name := range names {
		if st, err := os.Stat(name); err == nil && st.Mode().IsRegular() {
			return "; did you mean " + name + "?"
		}
	}
	return ""
}

// requestedFormat returns the format that --format names, or nil if the flag is not given.
func (a *app) requestedFormat(r *inputFlags) (format.Format, error) {
	if r.format == "" {
		return nil, nil
	}
	return a.formatNamed("--format", r.format)
}

// formatOf returns the format that --format names. If the flag is not set, it returns the format that the
// content of the trace has.
func (a *app) formatOf(src format.Source, r *inputFlags) (format.Format, error) {
	if f, err := a.requestedFormat(r); err != nil {
		return nil, err
	} else if f != nil {
		if !f.About().EmptyMain && format.IsEmpty(src) {
			return nil, format.EmptyError(src)
		}
		return f, nil
	}
	f, err := format.Detect(a.formats, src)
	if errors.Is(err, fs.ErrNotExist) {
		if beside := otf.FileBeside(src); beside != "" {
			err = fmt.Errorf("%w; %s can be used instead", err, beside)
		}
	}
	if unpack.IsCopy(src) && err == nil && !f.About().SingleText {
		return nil, usageError("%s: found %s, which is several files, expected the name of its main file", src.Path,
			f.About().Title)
	}
	return f, err
}

// measuredFile is a file that shows on a bar how much of it has been read.
type measuredFile struct {
	*os.File
	read, size int64
	bar        *bar
}

// Read reads the next bytes of the file.
func (f *measuredFile) Read(b []byte) (int, error) {
	n, err := f.File.Read(b)
	f.read += int64(n)
	f.bar.setProgress(f.read, f.size)
	return n, err
}
