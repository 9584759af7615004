package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/analysis/verify"
	"github.com/weft-trace/weft/internal/nearest"
	"github.com/weft-trace/weft/internal/pipeline"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// verifyFlags holds the flags of weft verify.
type verifyFlags struct {
	input          inputFlags
	selection      selectionFlags
	spec           string
	properties     [6][]string // indexed by index of propertyFlags
	semantics      string
	asJSON, compat bool
	junit          bool
	robust         bool
	suggest        suggestFlags
	follow         followFlags
}

// propertyFlags lists the flags for properties in plain words, with their help.
var propertyFlags = [...]struct{ name, help string }{
	{"always", "P, or SIGNAL <= 5: holds at all events, or times; may be repeated"},
	{"never", "P, or SIGNAL > 5: holds at no event, or time; may be repeated"},
	{"response", "'A -> B within 5ms': each A is followed by a B; may be repeated"},
	{"precedes", "'A -> B': no B comes before the first A; may be repeated"},
	{"period", "'A every 10ms ± 1ms': each A is followed by the next one after that time; may be repeated"},
	{"latency", "'A..B p99 < 2ms': 99 % of the times from an A to the next B are below 2ms; 'A..B by id p99 < 2ms': " +
		"of those from the first A to the last B with the same id; may be repeated"},
}

// verifyCommand returns the command weft verify.
func (a *app) verifyCommand() *cobra.Command {
	var flags verifyFlags
	c := &cobra.Command{
		Use:   "verify [SPEC.etl] TRACE...",
		Short: "Check whether properties hold: temporal logic over events and signals",
		Long: `Check whether the properties of a specification hold for traces. The specification is a file in
ETL, the language of Eclipse TRACE4CPS, or a set of properties that flags state in plain words,
or both. docs/analyses/verify.md describes the language. For each violated property weft
prints the events that decide it.

In the flags, P, A and B are propositions such as "start {'name' = 'solve'}", or names. NAME
stands for all events, calls and claims with this name; "start NAME" and "end NAME" are the
starts and the ends of these calls and claims. A name that contains symbols or words of the flags
needs quotes: 'vector<int>', 'a -> b'. SIGNAL is a name, or an expression such as derivative(queue).
not, and, or (also !, && and ||) and parentheses join several of them, as in "start A and not B",
except in --latency.
Percentiles are computed as by weft flow.

--semantics states how weft treats the end of the trace:
  3           the trace may continue: a verdict is good or bad if no continuation of the trace
              can change it, else non-informative
  2           the trace is complete: a verdict is true or false
  4           as 3, but the verdicts are TRUE, FALSE, STILL_TRUE and STILL_FALSE; the last two
              are the verdicts of 2 for undecided checks
  compatible  as TRACE4CPS: as 3 for checks without signals; for other checks the trace is
              complete
--compat prints the same text as the command line of TRACE4CPS.

--suggest needs no specification. It prints one that you can edit, with properties that hold in
all the traces: events that follow or precede others, and periodic events, with the tightest
bounds. With --by, it only relates events with the same value of an attribute.

--follow reads a file that another program still writes, or a pipe (-), and prints each verdict
as soon as it is decided. The remaining verdicts follow at the end of a pipe, or on Ctrl-C. With
--json, each verdict is an object on a line of its own. Lines must be in the order of time; --late
TIME allows lines that are late by up to this time. Checks of objects (wip, latency, by) are
decided at the end of the trace, unless --idle TIME states when an object has left.

--robust also prints how far the signals of each check are from the bounds that decide it.

--window, or --from and --to, --location and --group restrict the trace to a part. --region leaves
out events of other regions, and claims with other names.

The exit code is 1 if a property is violated, and 2 if the specification has an error.`,
		Example: "  weft verify spec.etl trace.etf\n" +
			"  weft verify --response 'start A -> end G within 50ms' trace.etf\n" +
			"  weft verify --never 'MPI_Abort' --period 'start step every 10ms ± 1ms' trace.otf2\n" +
			"  weft verify --latency 'start A..end G by id p99 < 60ms' trace.etf\n" +
			"  weft verify --junit spec.etl runs/*.etf > results.xml\n" +
			"  simulator | weft verify --follow --response 'start A -> end G within 50ms' -\n" +
			"  weft verify --suggest --by id good/*.etf > spec.etl",
		Args: someArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if err := flags.suggest.check(c.Flags()); err != nil {
				return err
			}
			if err := flags.follow.check(c.Flags()); err != nil {
				return err
			}
			// splitWindow is called once here, because traces are verified in parallel
			if err := flags.selection.splitWindow(); err != nil {
				return err
			}
			if flags.suggest.suggest {
				return a.runSuggest(c.Context(), args, &flags)
			}
			if flags.follow.follow {
				return a.runFollow(c.Context(), args, &flags)
			}
			return a.runVerify(c.Context(), args, &flags)
		},
	}
	f := c.Flags()
	defineAnalysisFlags(f, &flags.input, &flags.selection)
	f.StringVar(&flags.spec, "spec", "",
		"file of the specification, if its name does not end in .etl; - is standard input")
	for i, p := range propertyFlags {
		f.StringArrayVar(&flags.properties[i], p.name, nil, p.help)
	}
	f.StringVar(&flags.semantics, "semantics", string(verify.Compatible),
		"how the end of a trace affects a verdict: compatible, 2, 3 or 4 values")
	registerCompletions(c, "semantics", semantics...)
	f.BoolVar(&flags.robust, "robust", false,
		"also print the distance of the signals of checks from the bounds that decide the checks")
	f.BoolVar(&flags.asJSON, "json", false, "print JSON")
	f.BoolVar(&flags.junit, "junit", false, "print JUnit XML, for build pipelines")
	f.BoolVar(&flags.compat, "compat", false, "print the same text as the command line of TRACE4CPS")
	flags.suggest.register(f)
	flags.follow.register(f)
	return c
}

// semantics lists the values of --semantics.
var semantics = []string{string(verify.Compatible), string(verify.TwoValued), string(verify.ThreeValued),
	string(verify.FourValued)}

// verified holds the result of the verification of one trace.
type verified struct {
	path     string
	answer   *traceVerdicts // its Checks are in verdicts
	err      error
	verdicts *verdicts
	errors   bytes.Buffer // text for standard error
	reports  []readerReport
	missing  bool
}

// runVerify verifies the traces in args.
func (a *app) runVerify(ctx context.Context, args []string, flags *verifyFlags) error {
	if n := countSet(flags.asJSON, flags.junit, flags.compat); n > 1 {
		return usageError("--json, --junit and --compat: found %d of them, expected one", n)
	}
	if flags.robust && flags.compat {
		return usageError("--robust: found it with --compat, which does not print distances; expected it without")
	}
	if _, err := wordIndex("--semantics", flags.semantics, semantics...); err != nil {
		return err
	}
	spec, traces, err := a.specification(args, flags)
	if err != nil {
		return err
	}
	if len(traces) == 0 {
		return usageError("found no trace, expected at least one; see weft verify --help")
	}
	var list []*verified
	var suites junitSuites
	defer suites.suites.Close()
	warned := map[string]bool{} // the texts of warnings that are printed
	repeated := 0               // number of traces with warnings that are printed for earlier traces only
	rest := traces
	workers := min(a.workers, len(traces))
	err = pipeline.Run(ctx, workers, func() (path string, ok bool, err error) {
		if ok = len(rest) > 0; ok {
			path, rest = rest[0], rest[1:]
		}
		return path, ok, nil
	}, func(_ int, path string) (*verified, error) {
		v := a.verifyTrace(ctx, path, spec, flags, len(traces) > 1)
		return v, ctx.Err()
	}, func(v *verified) error {
		defer v.release()
		a.reports, a.incomplete = append(a.reports, v.reports...), a.incomplete || v.missing
		if _, err := a.err.Write(v.errors.Bytes()); err != nil {
			return err
		}
		if v.err != nil {
			if len(traces) == 1 && !flags.junit || codeOf(v.err) == exitUsage {
				return v.err
			}
			a.printError(v.err)
		}
		list = append(list, v)
		if v.answer != nil && !flags.input.quiet {
			w := slices.Clone(v.answer.Warnings)
			w = slices.DeleteFunc(w, func(x verify.Warning) bool { return warned[x.Text] })
			for _, x := range w {
				warned[x.Text] = true
			}
			if len(w) < len(v.answer.Warnings) {
				repeated++
			}
			printWarnings(a.err, v.answer.Path, w, " (--json lists all)")
		}
		switch {
		case flags.junit:
			return suites.add(v)
		case v.answer == nil:
			return nil
		case flags.asJSON:
			return a.printJSON(v)
		}
		return v.verdicts.print(a.out)
	})
	if err != nil {
		return err
	}
	if repeated > 0 {
		printf(a.err, "%s with the same warnings (--json lists all)\n", plural.Of(repeated, "more trace"))
	}
	switch {
	case flags.junit:
		err = suites.print(a.out)
	case len(traces) > 1 && !flags.asJSON && !flags.compat:
		a.printVerdictTable(list, spec)
	}
	if err != nil {
		return err
	}
	return verdictError(list)
}

// verdictError returns an error without text whose exit code is the highest of all traces.
func verdictError(list []*verified) error {
	code := exitGood
	for _, v := range list {
		switch {
		case v.err != nil:
			code = max(code, codeOf(v.err))
		case v.answer.Violated > 0:
			code = max(code, exitDefects)
		}
	}
	if code == exitGood {
		return nil
	}
	return &exitError{code: code}
}

// specification reads the specification in the arguments and flags. It also returns the paths of the traces,
// which are the other arguments.
func (a *app) specification(args []string, flags *verifyFlags) (spec *verify.Spec, traces []string, err error) {
	name := flags.spec
	if name == "" && strings.HasSuffix(strings.ToLower(args[0]), ".etl") {
		name, args = args[0], args[1:]
	}
	var text bytes.Buffer
	if name != "" {
		var b []byte
		if name == "-" {
			b, err = io.ReadAll(a.in)
		} else {
			b, err = os.ReadFile(name)
		}
		if err != nil {
			return nil, nil, err
		}
		if spec, err = verify.Parse(name, b); err != nil {
			return nil, nil, a.syntaxError(err, flags)
		}
		if slices.ContainsFunc(flags.properties[:], func(list []string) bool { return len(list) > 0 }) {
			text.Write(b)
			text.WriteByte('\n')
		}
	}
	properties := false
	for i, p := range propertyFlags {
		for n, property := range flags.properties[i] {
			check := p.name
			if len(flags.properties[i]) > 1 {
				check = fmt.Sprintf("%s%d", p.name, n+1)
			}
			for declares(text.Bytes(), check) {
				check += "_"
			}
			s, err := verify.Property(p.name, check, property)
			if err == nil {
				_, err = verify.Parse("--"+p.name, []byte(s))
			}
			var syntax *verify.SyntaxError
			if errors.As(err, &syntax) {
				return nil, nil, usageError("--%s %q: found %s, expected %s%s", p.name, property, syntax.Found, syntax.Expected,
					nearest.Hint(syntax.Word, syntax.Words))
			}
			if err != nil {
				return nil, nil, usageError("--%s: %w", p.name, err)
			}
			text.WriteString(s + "\n")
			properties = true
		}
	}
	if name == "" && !properties {
		return nil, nil, usageError("found no specification, expected a file NAME.etl before the traces, or a property " +
			"such as --never; see weft verify --help")
	}
	if properties {
		if spec, err = verify.Parse(cmp.Or(name, "flags"), text.Bytes()); err != nil {
			return nil, nil, a.syntaxError(err, flags)
		}
	}
	return spec, args, nil
}

// declares reports whether a specification declares a name.
func declares(spec []byte, name string) bool {
	return regexp.MustCompile(`\b(def|signal|check)\s+` + name + `\b`).Match(spec)
}

// syntaxError returns the usage error for a syntax error in a specification. The error has a hint at the nearest
// word, or, with --compat, the text of TRACE4CPS.
func (a *app) syntaxError(err error, flags *verifyFlags) error {
	if flags.compat {
		fmt.Fprintln(a.err, "Syntax errors or validation errors in model.")
		return &exitError{code: exitUsage}
	}
	var e *verify.SyntaxError
	if errors.As(err, &e) && e.Word != "" {
		return usageError("%w%s", err, nearest.Hint(e.Word, e.Words))
	}
	return usageError("%w", err)
}

// verifyTrace verifies one trace. If it is one of several, verifyTrace runs in parallel with others and
// prints nothing itself.
func (a *app) verifyTrace(ctx context.Context, path string, spec *verify.Spec, flags *verifyFlags,
	several bool) *verified {
	v := &verified{path: path, verdicts: newVerdicts(path, flags, several)}
	b := *a
	b.err, b.reports, b.incomplete, b.printedLines = &v.errors, nil, false, nil
	b.strict = nil
	if several {
		b.workers, b.progress = 1, false
	}
	v.err = b.firstDefectOf(ctx, b.verifyInto(ctx, v, spec, flags))
	b.closeStrict()
	v.reports, v.missing = b.reports, b.incomplete
	if v.answer == nil {
		v.verdicts.close() // it has the results of a part of the checks
		v.verdicts = newVerdicts(path, flags, several)
	} else {
		v.answer.ReadErrors = v.readErrors()
	}
	return v
}

// release releases what is not printed after the text of the trace itself.
func (v *verified) release() {
	v.verdicts.close()
	if v.answer != nil {
		v.answer.Warnings = nil
	}
}

// verifyInto verifies the trace of v, and stores the results in v.
func (a *app) verifyInto(ctx context.Context, v *verified, spec *verify.Spec, flags *verifyFlags) error {
	in, err := a.open(ctx, v.path, &flags.input)
	return a.answer(in, err, false, &flags.input, func(in *input) (any, func() error, error) {
		sel, err := flags.selection.selectionOfPart(ctx, in)
		if err != nil {
			return nil, nil, err
		}
		opt := verify.Options{Semantics: verify.Semantics(flags.semantics), Robust: flags.robust,
			Location: sel.Location}
		var window bounds
		window, opt.Window = flags.selection.selectedBounds(sel)
		x, err := verify.RunEach(ctx, in.Events, spec, opt, v.verdicts.add)
		if err != nil {
			return nil, nil, err
		}
		v.answer = &traceVerdicts{heading: in.heading(), Result: x}
		if opt.Window != nil {
			v.answer.Window = &window
		}
		if x.States == 0 && flags.selection.anySet() {
			in.notFound = noEvent
		}
		return x, func() error { return nil }, nil
	})
}

// maxWarnings is the greatest number of warnings that are printed for a trace. A specification with a check for each of
// many objects may have a warning for each object.
const maxWarnings = 20

// printWarnings prints the first warnings about words that do not occur in a trace, and the number of the others with a
// hint.
func printWarnings(w io.Writer, path string, list []verify.Warning, hint string) {
	for i, x := range list {
		if i == maxWarnings {
			printf(w, "%s: … and %d more%s\n", path, len(list)-i, hint)
			return
		}
		printf(w, "%s: %s%s\n", path, x.Text, nearest.Hint(x.Word, x.Words))
	}
}

// printVerdictTable prints a line for each trace. If traces have errors or cannot be read, a column says so: the
// verdicts are about the part of the trace that could be read.
func (a *app) printVerdictTable(list []*verified, spec *verify.Spec) {
	header := table.Row{"trace", "good", "undecided", "violated", "violated checks"}
	damaged := slices.ContainsFunc(list, func(v *verified) bool { return v.answer == nil || v.answer.ReadErrors > 0 })
	if damaged {
		header = slices.Insert(header, 4, any("read errors"))
	}
	printTable(a.out, header, len(list), 0, func(i int) table.Row {
		if list[i].answer == nil {
			return table.Row{list[i].path, "", "", "", "not read", ""}
		}
		v := list[i].verdicts
		names := make([]string, len(v.violated))
		for k, n := range v.violated {
			names[k] = plain(spec.Checks[n].Name)
		}
		row := table.Row{v.path, v.good, v.undecided, len(names), strings.Join(names, ", ")}
		if damaged {
			row = slices.Insert(row, 4, any(list[i].answer.ReadErrors))
		}
		return row
	})
}

// readErrors returns the number of errors that were found while the trace was read.
func (v *verified) readErrors() (n int64) {
	for _, r := range v.reports {
		for _, rule := range r.report.Rules() {
			if rule.Severity == trace.Error {
				n += rule.Count
			}
		}
	}
	return n
}
