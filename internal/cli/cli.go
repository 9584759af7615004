// Package cli implements weft's command line. Each command has a file of its own, which translates
// flags into calls of the library and results into text or JSON.
package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/internal/nearest"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/internal/written"
	"github.com/weft-trace/weft/trace"
)

// Exit codes.
const (
	exitGood     = 0
	exitDefects  = 1 // the trace has defects, or the answer to a question is "no"
	exitUsage    = 2
	exitIO       = 3
	exitCanceled = 130
)

// app holds the state of a run of weft that all commands share.
type app struct {
	args       []string
	in         io.Reader
	out        io.Writer
	err        io.Writer
	formats    []format.Format
	garbage    *gcTuning
	workers    int
	progress   bool
	incomplete bool           // a file of a trace is missing
	reports    []readerReport // defects found by reading
	// lines about defects that have been printed to standard error
	printedLines map[string]bool
	force        bool          // files that weft did not write may be replaced, too
	inputs       []inputFile   // files that the command reads
	outputs      []string      // names of the files that it writes
	ownFiles     *written.List // list of the files that weft has written
	strict       []strictInput // traces that are read with --strict
}

// exitError ends the program with an exit code. An error without text prints nothing.
type exitError struct {
	code int
	err  error
}

// Error returns the text of the cause.
func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

// Unwrap returns the cause.
func (e *exitError) Unwrap() error { return e.err }

// usageError returns an error for wrong arguments or flags.
func usageError(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// Main runs a command line, and returns the exit code.
func Main(args []string, in io.Reader, out, errs io.Writer) int {
	garbage := tuneGC()
	defer garbage.end()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	// If the output is closed, a write must return an error. Without this call, a signal would end the
	// process.
	signal.Ignore(syscall.SIGPIPE)
	go func() {
		// A second signal ends the program immediately.
		<-ctx.Done()
		stop()
	}()
	buffered := bufio.NewWriterSize(out, 64<<10)
	a := &app{args: args, in: in, out: buffered, err: errs, formats: all.Formats(), garbage: garbage,
		ownFiles: written.Default()}
	root := a.root()
	if len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd) {
		a.completeFlags(root)
	}
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(buffered)
	root.SetErr(errs)
	err := root.ExecuteContext(ctx)
	if err == nil || err.Error() == "" {
		a.reportMissingFiles()
	}
	if e := buffered.Flush(); err == nil && e != nil {
		err = &exitError{exitIO, e}
	}
	err = a.firstDefectOf(ctx, err)
	a.closeStrict()
	return a.exitCode(ctx, err)
}

// Command returns weft's root command, from which documentation and shell completions are
// generated. [Main] runs command lines.
func Command() *cobra.Command {
	a := &app{
		in: strings.NewReader(""), out: io.Discard, err: io.Discard,
		formats: all.Formats(), garbage: new(gcTuning), ownFiles: new(written.List),
	}
	return a.root()
}

// exitCode prints an error and returns the exit code.
func (a *app) exitCode(ctx context.Context, err error) int {
	if err == nil {
		if a.incomplete {
			return exitDefects
		}
		return exitGood
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		fmt.Fprintln(a.err, "weft: interrupted")
		return exitCanceled
	}
	if errors.Is(err, syscall.EPIPE) {
		return exitGood // the program that reads the output has closed it
	}
	a.printError(err)
	return codeOf(err)
}

// printError prints an error, if it has a text.
func (a *app) printError(err error) {
	s := err.Error()
	if pe, ok := err.(*fs.PathError); ok {
		s = pe.Path + ": " + pe.Err.Error() // as for traces, without the system call
	}
	for _, arg := range a.args {
		if strings.Contains(arg, "\n") { // a line of the message must not end within a name
			s = strings.ReplaceAll(s, arg, plain(arg))
		}
	}
	if s != "" {
		fmt.Fprintln(a.err, "weft:", plainLines(s))
	}
}

// codeOf returns the exit code for an error.
func codeOf(err error) int {
	var e *exitError
	var d *trace.Defect
	var o *format.OptionError
	switch {
	case errors.As(err, &o):
		return exitUsage
	case errors.As(err, &e):
		return e.code
	case errors.As(err, &d), errors.Is(err, format.ErrUnknown), errors.Is(err, format.ErrDamaged),
		errors.Is(err, format.ErrEventsLost):
		return exitDefects
	}
	return exitIO
}

// root returns the root command with all commands.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "weft",
		Short: "Read, write, convert, check, analyse and draw execution traces",
		Long: `weft shows, prints, draws, analyses, checks and converts execution traces, whatever
tool wrote them. When it converts a trace, it lists the data that the other format
cannot keep.

Exit codes: 0 success; 1 the trace has defects, or the answer is "no"; 2 wrong usage;
3 input or output failed.`,
		Example:       "  weft info trace.etf\n  weft convert trace.trf trace.etf",
		Version:       readBuildVersion().String(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(c, args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error {
			return c.Help()
		},
	}
	root.PersistentFlags().VarP(newInteger(&a.workers, runtime.GOMAXPROCS(0), 1, 0), "jobs", "j",
		"number of cores to use")
	root.PersistentFlags().BoolVar(&a.progress, "progress", true,
		"show progress on a terminal when work takes over a second")
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		a.addInputFlags(c.Flags())
		return nil
	}
	root.SetFlagErrorFunc(flagError)
	root.SetVersionTemplate("{{.Version}}\n")
	defer func() {
		// cobra adds the completion command. That command has no example, and no error for an unknown
		// shell.
		root.InitDefaultCompletionCmd()
		if c, _, err := root.Find([]string{"completion"}); err == nil {
			c.Example = "  weft completion bash > weft.bash && source weft.bash\n  weft completion zsh > _weft"
			c.Args = func(_ *cobra.Command, args []string) error {
				if len(args) == 0 {
					return nil
				}
				var shells []string
				for _, s := range c.Commands() {
					shells = append(shells, s.Name())
				}
				return usageError("completion %q: expected bash, zsh, fish or powershell%s", args[0], nearest.Hint(args[0], shells))
			}
			c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
		}
		root.InitDefaultHelpCmd()
		if c, _, err := root.Find([]string{"help"}); err == nil {
			c.Run = nil
			c.RunE = help
		}
	}()
	for _, g := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Look at a trace", []*cobra.Command{a.infoCommand(), a.printCommand(), a.plotCommand(), a.reportCommand(),
			a.checkCommand()}},
		{"Change a trace", []*cobra.Command{a.convertCommand(), a.sortCommand(), a.repairCommand(), a.alignCommand(),
			a.cutCommand(),
			a.filterCommand(), a.mergeCommand(), a.anonymizeCommand(), a.generateCommand()}},
		{"Answer questions", []*cobra.Command{a.explainCommand(), a.profileCommand(), a.commCommand(), a.messagesCommand(),
			a.waitsCommand(), a.pathCommand(), a.efficiencyCommand(), a.diffCommand(), a.statesCommand(),
			a.structureCommand(), a.usageCommand(), a.flowCommand(), a.distanceCommand(), a.behaviourCommand(),
			a.verifyCommand()}},
		{"Formats", []*cobra.Command{a.formatsCommand(), a.otfCommand()}},
		{"View in a browser", []*cobra.Command{a.viewCommand(), a.serveCommand(), a.indexCommand()}},
	} {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
		for _, c := range g.commands {
			c.GroupID = g.title
			root.AddCommand(c)
		}
	}
	root.AddCommand(a.versionCommand())
	return root
}

// help prints the help of the command named by args.
func help(c *cobra.Command, args []string) error {
	c, rest, err := c.Root().Find(args)
	if err != nil || len(rest) > 0 {
		return unknownCommand(c, cmp.Or(append(rest, args...)...))
	}
	c.InitDefaultHelpFlag()
	c.InitDefaultVersionFlag()
	return c.Help()
}

// completeFlags gives the completions of the values of flags of all commands to cobra.
func (a *app) completeFlags(root *cobra.Command) {
	var formats, options []string
	kinds := []string{messageKind + "\tall of send and recv", "claim\tclaim-begin and claim-end"}
	for _, f := range a.formats {
		formats = append(formats, f.About().Name+"\t"+f.About().Title)
		for _, o := range f.About().Options {
			for _, v := range o.Values {
				options = append(options, o.Name+"="+v+"\t"+o.Doc)
			}
			if len(o.Values) == 0 {
				options = append(options, o.Name+"=\t"+o.Doc)
			}
		}
	}
	for _, k := range trace.Kinds() {
		s := k.Spec()
		kinds = append(kinds, s.Name+"\t"+s.Doc)
	}
	var rules []string
	for _, r := range a.allRules() {
		rules = append(rules, r.ID)
	}
	for _, c := range withSubcommands(root.Commands()) {
		for flag, values := range map[string][]string{"format": formats, "to": formats, "as": formats, "option": options,
			"kind": kinds, "not-kind": kinds, "rule": rules, "borders": {"reopen", "bare"}} {
			f := c.Flags().Lookup(flag)
			if f == nil {
				continue
			}
			if _, ok := f.Value.(*formatOrTime); flag == "to" && c.Flags().Lookup("from") != nil && !ok {
				continue // the flag takes times only
			}
			registerCompletions(c, flag, values...)
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if words := f.Annotations[completions]; words != nil {
				c.RegisterFlagCompletionFunc(f.Name, completeWords(f, words))
			}
			if what, ok := completesNames[f.Name]; ok && !f.Hidden {
				c.RegisterFlagCompletionFunc(f.Name, a.completeNames(what))
			}
		})
	}
}

// withSubcommands returns the commands of a list and all commands below them.
func withSubcommands(list []*cobra.Command) []*cobra.Command {
	for _, c := range list {
		list = append(list, withSubcommands(c.Commands())...)
	}
	return list
}

// exactArgs requires n arguments, as cobra's ExactArgs does, but with weft's exit code.
func exactArgs(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != n {
			return usageError("found %s, expected %s; see %s --help", plural.Of(len(args), "argument"), what, c.CommandPath())
		}
		return nil
	}
}
