package cli

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/analysis/diff"
	"github.com/weft-trace/weft/analysis/info"
	"github.com/weft-trace/weft/internal/nearest"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// diffResult holds the JSON output of weft diff. If Missing is set, there is neither a clock nor a result.
type diffResult struct {
	A []heading `json:"a"`
	B []heading `json:"b"`
	// Missing is the reason why nothing can be compared.
	Missing string      `json:"missing,omitempty"`
	Clock   *info.Clock `json:"clock,omitempty"` // clock of all times
	*diff.Result
	Failed []failed `json:"failed"`
}

// failed is a condition of --fail-if that is met.
type failed struct {
	Condition string `json:"condition"`
	Sentence  string `json:"sentence"`
}

func (a *app) diffCommand() *cobra.Command {
	var flags diffFlags
	c := &cobra.Command{
		Use:     "diff A… -- B…",
		Aliases: []string{"compare"},
		Short:   "Compare runs: which call paths and regions take longer, with statistics",
		Long: `Compare the runs A with the runs B, such as those before and after a change. Two traces need
no -- between them. weft matches call paths by their names, and renamed or moved paths by
the paths inside of them; docs/analyses/diff.md has the rules and formulas. Regressions are
listed first, then improvements, then differences that are not significant.

Times are sums over all locations, and means over the runs of a side. A row is listed if its
time differs by at least 0.1 % of the time of A (--least), and by at least 2 % of the row's
own time (--change). --metric inclusive tests and ranks inclusive times instead of exclusive
ones.

Q is the p-value of the Mann-Whitney test, corrected for the number of tests by Benjamini and
Hochberg. A difference with a Q above 0.05 is not significant. The observations of the test are
the runs, if each side has at least 4. Otherwise they are the iterations of a loop, if
--iterations names the region whose visits are the iterations. Otherwise they are the locations,
matched by their order. SHIFT is the median difference between the observations, with its 95 %
confidence interval.

A further table lists the call paths that are repeated differently: more or less often in each
visit of the path around them, as in a loop with another number of iterations.

With --fail-if, the exit code is 1 if the runtime, or the inclusive time of a region, grows by
more than a percentage: time>+5%, region:solve>+2%. --folded prints the call paths with the
exclusive times of both sides in nanoseconds, as lines for differential flame graphs.

A run can also be a file of Cube (.cubex), such as a profile of Score-P or Scalasca. Such a file
has no times and no iterations; --window and --iterations therefore need traces.`,
		Example: "  weft diff before.otf2 after.otf2\n" +
			"  weft diff a1.otf2 a2.otf2 a3.otf2 a4.otf2 -- b1.otf2 b2.otf2 b3.otf2 b4.otf2\n" +
			"  weft diff --fail-if 'time>+5%' --fail-if 'region:solve>+2%' --markdown before.otf2 after.otf2\n" +
			"  weft diff --iterations step before.otf2 after.otf2\n" +
			"  weft diff profile.cubex after.otf2\n" +
			"  weft diff --folded before.otf2 after.otf2 | flamegraph.pl > diff.svg",
		Args: func(c *cobra.Command, args []string) error {
			_, _, err := sidesOf(c, args)
			return err
		},
		RunE: func(c *cobra.Command, args []string) error { return a.runDiff(c, args, &flags) },
	}
	flags.register(c)
	return c
}

// diffFlags holds the flags of weft diff.
type diffFlags struct {
	input                           inputFlags
	selection                       selectionFlags
	asJSON, asCSV, markdown, folded bool
	metric, loop                    string
	conditions, regions             []string
	least, change                   float64
	top                             int
}

// register adds the flags to the command.
func (f *diffFlags) register(c *cobra.Command) {
	f.input.flags(c.Flags())
	f.selection.defineTimeFlags(c.Flags())
	f.selection.definePlaceFlags(c.Flags())
	c.Flags().Var((*nameList)(&f.regions), "region",
		"compare these regions, and the call paths that end in them; * and ? match anything, re: begins a regular "+
			"expression")
	c.Flags().StringVar(&f.loop, "iterations", "", "region whose visits are the iterations that the statistics compare")
	c.Flags().StringVar(&f.metric, "metric", string(diff.Exclusive),
		"time that is tested and ranked: exclusive or inclusive")
	registerCompletions(c, "metric", string(diff.Exclusive), string(diff.Inclusive))
	c.Flags().Float64Var(&f.least, "least", 100*diff.DefaultLeast,
		"the least difference to report, in percent of the time of A")
	c.Flags().Float64Var(&f.change, "change", 100*diff.DefaultChange,
		"the least change to report, in percent of the row's own time")
	c.Flags().StringArrayVar(&f.conditions, "fail-if", nil,
		"exit with code 1 if this condition holds: time>+5%, or region:NAME>+2%; may be repeated")
	c.Flags().Var(newInteger(&f.top, 10, 0, 0), "top",
		"how many lines of each table to show; 0 shows all, as --json and --csv do")
	c.Flags().BoolVar(&f.asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&f.asCSV, "csv", false, "print comma-separated values, times in seconds")
	c.Flags().BoolVar(&f.markdown, "markdown", false, "print tables in Markdown")
	c.Flags().BoolVar(&f.folded, "folded", false, "print all call paths as lines for differential flame graphs")
}

// validate returns a usage error if the flags contradict each other or have invalid values.
func (f *diffFlags) validate() error {
	if n := countSet(f.asJSON, f.asCSV, f.markdown, f.folded); n > 1 {
		return usageError("--json, --csv, --markdown and --folded: found %d of them, expected one", n)
	}
	if f.folded && len(f.regions) > 0 {
		return usageError("--region: expected none with --folded, which prints all call paths")
	}
	if _, err := wordIndex("--metric", f.metric, string(diff.Exclusive), string(diff.Inclusive)); err != nil {
		return err
	}
	if !(f.least >= 0 && f.least <= 100) {
		return usageError("--least %g: expected a percentage of 0 to 100", f.least)
	}
	if !(f.change >= 0 && !math.IsInf(f.change, 1)) {
		return usageError("--change %g: expected a percentage of 0 or more", f.change)
	}
	return nil
}

// runDiff compares the runs in args and prints the result.
func (a *app) runDiff(c *cobra.Command, args []string, flags *diffFlags) error {
	if err := flags.validate(); err != nil {
		return err
	}
	wanted, err := parseConditions(flags.conditions)
	if err != nil {
		return err
	}
	as, bs, _ := sidesOf(c, args)
	x := &diffResult{A: []heading{}, B: []heading{}, Failed: []failed{}}
	opt := diff.Options{Runs: [2]int{len(as), len(bs)}, Loop: flags.loop, Metric: diff.Metric(flags.metric),
		Least: flags.least / 100, Change: flags.change / 100}
	if len(flags.regions) > 0 {
		chosen, err := newPatterns(flags.regions)
		if err != nil {
			return err
		}
		opt.Regions = chosen.match
	}
	cmp := diff.New(opt)
	lack, err := a.readSides(c, cmp, [2][]string{as, bs}, x, flags)
	if err != nil {
		return err
	}
	if x.Missing != "" {
		if flags.asJSON {
			err = a.writeJSON(a.out, x)
		}
		return errors.Join(err, lack)
	}
	x.Result = cmp.Result()
	clock := info.NewClock(x.Result.Clock)
	x.Clock = &clock
	if x.Unit == diff.Iterations && slices.Contains(x.Samples[:], 0) {
		return usageError("--iterations %s: found no visits of the region in %s, expected a region of both sides%s",
			flags.loop, map[bool]string{true: "A", false: "B"}[x.Samples[diff.A] == 0],
			nearest.Hint(flags.loop, x.RegionNames()))
	}
	if err := a.reportUnknownRegions(x, flags); err != nil {
		return err
	}
	sentences, err := x.addFailed(wanted)
	if err != nil {
		return err
	}
	switch {
	case flags.asJSON:
		err = a.writeJSON(a.out, x)
	case flags.asCSV:
		err = a.writeDiffCSV(x.Result)
	case flags.folded:
		err = a.writeDiffFolded(x.Result)
	case flags.markdown:
		a.writeDiffMarkdown(x, flags.top)
	default:
		a.printDiff(x, flags.top)
	}
	if err == nil && len(sentences) > 0 {
		err = &exitError{exitDefects, errors.New(strings.Join(sentences, "\n"))}
	}
	return err
}

// reportUnknownRegions prints the patterns of --region that match no region of any run.
func (a *app) reportUnknownRegions(x *diffResult, flags *diffFlags) error {
	names := x.RegionNames()
	for _, s := range flags.regions {
		p, err := newPatterns([]string{s})
		if err != nil {
			return err
		}
		_, known := x.Region(s)
		if !flags.input.quiet && !known && !slices.ContainsFunc(names, func(name string) bool { return p.match(name) }) {
			a.printOnce(fmt.Sprintf("--region %s: the traces have no such region%s", s, nearest.Hint(s, names)))
		}
	}
	return nil
}

// readSides adds the traces of both sides to a comparison, and their headings to x. If a side has nothing to compare,
// it sets x.Missing, and reads no more. lack is then the error with which the command ends after its output; it is nil
// if the flags select a part of the traces.
func (a *app) readSides(c *cobra.Command, cmp *diff.Comparison, sides [2][]string, x *diffResult,
	flags *diffFlags) (lack, err error) {
	withCube := slices.ContainsFunc(slices.Concat(sides[0], sides[1]), isCube)
	for side, paths := range sides {
		for _, path := range paths {
			h, err := a.scanRun(c, cmp, diff.Side(side), path, withCube, &flags.input, &flags.selection)
			if err != nil {
				return nil, err
			}
			if list := &x.A; side == int(diff.A) {
				*list = append(*list, *h)
			} else {
				x.B = append(x.B, *h)
			}
		}
		if !cmp.Empty(diff.Side(side)) {
			continue
		}
		x.Missing = fmt.Sprintf("%s: found no calls of regions and no claims, expected some; nothing can be compared",
			strings.Join(paths, ", "))
		if flags.selection.anySet() {
			printf(a.err, "%s\n", x.Missing)
			return nil, nil
		}
		return &exitError{exitDefects, errors.New(x.Missing)}, nil
	}
	return nil, nil
}

// addFailed adds the conditions that are met to d, and returns a sentence for each of them.
func (d *diffResult) addFailed(wanted []condition) (sentences []string, err error) {
	for _, w := range wanted {
		sentence, err := w.check(d.Result)
		if err != nil {
			return nil, err
		}
		if sentence != "" {
			d.Failed = append(d.Failed, failed{w.text, sentence})
			sentences = append(sentences, sentence)
		}
	}
	return sentences, nil
}

// countSet returns the number of flags that are set.
func countSet(flags ...bool) (n int) {
	for _, f := range flags {
		if f {
			n++
		}
	}
	return n
}

// sidesOf returns the traces of both sides.
func sidesOf(c *cobra.Command, args []string) (as, bs []string, err error) {
	dash := c.ArgsLenAtDash()
	if dash < 0 {
		if len(args) != 2 {
			return nil, nil, usageError("found %s without --, expected two traces, or A… -- B…; see %s --help",
				plural.Of(len(args), "argument"), c.CommandPath())
		}
		dash = 1
	}
	if as, bs = args[:dash], args[dash:]; len(as) == 0 || len(bs) == 0 {
		return nil, nil, usageError("found %s before -- and %d after it, expected at least one on each side; "+
			"see %s --help", plural.Of(len(as), "trace"), len(bs), c.CommandPath())
	}
	for _, b := range bs {
		if len(b) > 2 && strings.HasPrefix(b, "--") {
			return nil, nil, usageError("found %s after --, expected a trace; flags must be before --", b)
		}
	}
	return as, bs, nil
}

// scanRun adds a run to a side. If withCube is set, the comparison has a Cube file, and the call paths of threads are
// those that such a file has.
func (a *app) scanRun(c *cobra.Command, cmp *diff.Comparison, side diff.Side, path string, withCube bool,
	r *inputFlags, s *selectionFlags) (*heading, error) {
	if isCube(path) {
		return a.addCubeProfile(cmp, side, path, s)
	}
	in, err := a.openUnprepared(c.Context(), path, r)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if _, err := s.narrow(c.Context(), in); err != nil {
		return nil, err
	}
	if withCube {
		err = addAsCube(c.Context(), cmp, side, in)
	} else {
		err = cmp.Scan(c.Context(), side, in.Events, trace.NewRows(in.Defs()))
	}
	if err != nil {
		return nil, err
	}
	h := in.heading()
	in.bar.remove()
	a.reportDefects(in, r.quiet)
	return &h, nil
}

// condition is the condition of --fail-if: a time grows by more than a share of its value on side A.
type condition struct {
	text   string
	region string // "" for the runtime
	share  float64
}

// parseConditions reads the values of --fail-if.
func parseConditions(list []string) (out []condition, err error) {
	syntax := regexp.MustCompile(`^\s*(?:time|region:(.+?))\s*>\s*([+-]?[0-9]+(?:\.[0-9]+)?)\s*%\s*$`)
	for _, s := range list {
		m := syntax.FindStringSubmatch(s)
		if m == nil {
			return nil, usageError("--fail-if %s: expected time>+PERCENT%% or region:NAME>+PERCENT%%, such as time>+5%%", s)
		}
		percent, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return nil, usageError("--fail-if %s: found the percentage %s, expected a number", s, m[2])
		}
		out = append(out, condition{strings.TrimSpace(s), m[1], percent / 100})
	}
	return out, nil
}

// check returns a description of the growth if the condition is met, and otherwise "".
func (w *condition) check(x *diff.Result) (string, error) {
	what, c := "the run", x.Runtime
	if w.region != "" {
		var ok bool
		if c, ok = x.Region(w.region); !ok {
			return "", usageError("--fail-if %s: found no region %s on either side, expected one%s", w.text, w.region,
				nearest.Hint(w.region, x.RegionNames()))
		}
		what = "region " + w.region
	}
	f := func(t float64) string { return formatTicks(x.Clock, t) }
	switch {
	case !c.Grows(w.share):
		return "", nil
	case c.Ratio == nil:
		return fmt.Sprintf("%s: %s takes %s, and took no time before", w.text, what, f(c.B)), nil
	}
	return fmt.Sprintf("%s: %s takes %s, was %s, which is %s %%", w.text, what, f(c.B), f(c.A), percentChange(c)), nil
}

// formatTicks formats a duration in ticks, which may have a fraction, as seconds.
func formatTicks(c trace.Clock, t float64) string { return trace.FormatFloatSeconds(t / c.PerSecond()) }

// percentChange formats the relative change in percent, such as "+5.2".
func percentChange(c diff.Change) string {
	if c.Ratio == nil {
		return "–"
	}
	return fmt.Sprintf("%+.1f", 100*(*c.Ratio-1))
}

// differenceWord returns a word for the kind of difference of a row, such as added or removed.
func differenceWord(r *diff.Row) string {
	if !r.Significant() {
		return "not significant"
	}
	return string(r.Kind)
}

// describeObservations returns a description of the observations used for the statistics.
func describeObservations(x *diff.Result) string {
	what := map[diff.Unit]string{diff.Runs: "runs", diff.Iterations: "iterations of the loop",
		diff.Locations: "locations, matched by their order"}[x.Unit]
	s := fmt.Sprintf("observations are %s: %d of A, %d of B", what, x.Samples[diff.A], x.Samples[diff.B])
	if min(x.Samples[diff.A], x.Samples[diff.B]) < diff.LeastSample {
		s += fmt.Sprintf("; fewer than %d are not tested, and differences are sizes without a probability", diff.LeastSample)
	}
	return s
}

// diffRow returns a line of a table of differences.
func diffRow(x *diff.Result, r *diff.Row, name string) table.Row {
	f := func(t float64) string { return formatTicks(x.Clock, t) }
	m := &r.Exclusive
	if x.Metric == diff.Inclusive {
		m = &r.Inclusive
	}
	q, shift := "–", "–"
	if t := r.Test; t != nil {
		q = strconv.FormatFloat(t.Q, 'g', 2, 64)
		shift = fmt.Sprintf("%s (%s to %s)", f(t.Shift), f(t.Low), f(t.High))
	}
	visits := formatCount(r.Visits.A)
	if r.Visits.Difference != 0 {
		visits += " → " + formatCount(r.Visits.B)
	}
	return table.Row{differenceWord(r), name, f(m.A), f(m.B), f(m.Difference), percentChange(*m), q, shift, visits}
}

// diffHead returns the header of a table of differences.
func diffHead(x *diff.Result, what string) table.Row {
	return table.Row{"change", what, string(x.Metric) + " A", "B", "difference", "%", "Q", "shift", "visits"}
}

// diffRegionName returns the name of a region, and its name on side A if that differs.
func diffRegionName(r *diff.Row) string { return addFormerNames(r.Region, r.FormerPath) }

// diffPathName returns the name of a call path, and its name on side A if that differs.
func diffPathName(r *diff.Row) string {
	return addFormerNames(strings.Join(r.Path, " > "), r.FormerPath)
}

func addFormerNames(name string, was []string) string {
	if was == nil {
		return name
	}
	return name + " (was " + strings.Join(was, " > ") + ")"
}

// diffSummary returns the names and values of the lines above the tables.
func diffSummary(x *diffResult) (list [][2]string) {
	f := func(c diff.Change) string {
		s := fmt.Sprintf("%s → %s", formatTicks(x.Result.Clock, c.A), formatTicks(x.Result.Clock, c.B))
		if c.Ratio != nil {
			s += ", " + percentChange(c) + " %"
		}
		return s
	}
	runs := func(list []heading) string {
		if len(list) == 1 {
			return list[0].Path
		}
		return fmt.Sprintf("%s, %s …", plural.Of(len(list), "run"), list[0].Path)
	}
	runtime := f(x.Runtime)
	if t := x.RuntimeTest; t != nil {
		runtime += fmt.Sprintf(", p = %.2g, shift %s (%s to %s)", t.P, formatTicks(x.Result.Clock, t.Shift),
			formatTicks(x.Result.Clock, t.Low), formatTicks(x.Result.Clock, t.High))
	}
	return [][2]string{{"A", runs(x.A)}, {"B", runs(x.B)}, {"Runtime", runtime}, {"All locations", f(x.Time)},
		{"Statistics", describeObservations(x.Result)},
		{"Differ", fmt.Sprintf("%d of %s, %d of %s, by %s and %.3g %% or more", len(x.Regions),
			plural.Of(x.ComparedRegions, "region"), len(x.Paths), plural.Of(x.ComparedPaths, "call path"),
			formatTicks(x.Result.Clock, x.Least), 100*x.Change)}}
}

const noDifference = "no difference"

func (a *app) printDiff(x *diffResult, top int) {
	for _, l := range diffSummary(x) {
		printf(a.out, "%-13s  %s\n", l[0], l[1])
	}
	if len(x.Regions)+len(x.Paths)+len(x.Repetitions) == 0 {
		fmt.Fprintln(a.out, "\n"+noDifference)
	}
	a.printList("regions", len(x.Regions), top, diffHead(x.Result, "region"), func(i int) table.Row {
		return diffRow(x.Result, &x.Regions[i], diffRegionName(&x.Regions[i]))
	})
	a.printList("call paths", len(x.Paths), top, diffHead(x.Result, "call path"), func(i int) table.Row {
		return diffRow(x.Result, &x.Paths[i], diffPathName(&x.Paths[i]))
	})
	a.printList("repetitions", len(x.Repetitions), top, repetitionHead, func(i int) table.Row {
		return repetitionRow(&x.Repetitions[i])
	})
}

// writeDiffMarkdown writes tables in Markdown, for pages of build pipelines.
func (a *app) writeDiffMarkdown(x *diffResult, top int) {
	cell := func(v any) string { return markdownText(fmt.Sprint(v)) }
	line := func(row table.Row) {
		for _, v := range row {
			fmt.Fprint(a.out, "| ", cell(v), " ")
		}
		fmt.Fprintln(a.out, "|")
	}
	for _, l := range diffSummary(x) {
		fmt.Fprintf(a.out, "- %s: %s\n", l[0], cell(l[1]))
	}
	for _, f := range x.Failed {
		fmt.Fprintf(a.out, "- **Failed** %s\n", cell(f.Sentence))
	}
	if len(x.Regions)+len(x.Paths)+len(x.Repetitions) == 0 {
		fmt.Fprintln(a.out, "\n"+noDifference)
	}
	list := func(many string, n, texts int, head table.Row, row func(int) table.Row) {
		if n == 0 {
			return
		}
		fmt.Fprintln(a.out)
		line(head)
		fmt.Fprintln(a.out, strings.Repeat("|---", texts)+strings.Repeat("|--:", len(head)-texts)+"|")
		shown := n
		if top > 0 {
			shown = min(top, shown)
		}
		for i := range shown {
			line(row(i))
		}
		if more := n - shown; more > 0 {
			fmt.Fprintf(a.out, "\n… and %d more %s\n", more, many)
		}
	}
	list("regions", len(x.Regions), 2, diffHead(x.Result, "region"), func(i int) table.Row {
		return diffRow(x.Result, &x.Regions[i], diffRegionName(&x.Regions[i]))
	})
	list("call paths", len(x.Paths), 2, diffHead(x.Result, "call path"), func(i int) table.Row {
		return diffRow(x.Result, &x.Paths[i], diffPathName(&x.Paths[i]))
	})
	list("repetitions", len(x.Repetitions), 1, repetitionHead, func(i int) table.Row {
		return repetitionRow(&x.Repetitions[i])
	})
}

// repetitionHead is the header of the table of repetitions.
var repetitionHead = table.Row{"repeated differently", "times A", "B", "%", "visits"}

// repetitionRow returns a line of the table of repetitions.
func repetitionRow(r *diff.Repetition) table.Row {
	return table.Row{addFormerNames(strings.Join(r.Path, " > "), r.FormerPath), formatCount(r.Times.A),
		formatCount(r.Times.B), percentChange(r.Times), formatCount(r.Visits.A) + " → " + formatCount(r.Visits.B)}
}

// formatCount formats a number of visits, which may have a fraction.
func formatCount(v float64) string { return strconv.FormatFloat(math.Round(v*1000)/1000, 'f', -1, 64) }

// writeDiffCSV writes a line for each region, and then a line for each call path.
func (a *app) writeDiffCSV(x *diff.Result) error {
	head := []string{"kind", "name", "was", "change"}
	for _, s := range []string{"exclusive", "inclusive", "visits", "per_visit"} {
		head = append(head, s+"_a", s+"_b", s+"_difference", s+"_ratio")
	}
	head = append(head, "samples_a", "samples_b", "u", "p", "q", "significant", "shift", "low", "high")
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	seconds := func(t float64) string { return number(t / x.Clock.PerSecond()) }
	row := func(kind string, r *diff.Row) []string {
		name := r.Region
		if r.Path != nil {
			name = strings.Join(r.Path, " > ")
		}
		row := []string{kind, name, strings.Join(r.FormerPath, " > "), differenceWord(r)}
		for j, c := range []diff.Change{r.Exclusive, r.Inclusive, r.Visits, r.PerVisit} {
			f := seconds
			if j == 2 {
				f = number
			}
			ratio := ""
			if c.Ratio != nil {
				ratio = number(*c.Ratio)
			}
			row = append(row, f(c.A), f(c.B), f(c.Difference), ratio)
		}
		if t := r.Test; t != nil {
			row = append(row, strconv.Itoa(t.Samples[diff.A]), strconv.Itoa(t.Samples[diff.B]), number(t.U), number(t.P),
				number(t.Q), strconv.FormatBool(t.Significant), seconds(t.Shift), seconds(t.Low), seconds(t.High))
		} else {
			row = append(row, make([]string, 9)...)
		}
		return row
	}
	return printCSV(a.out, head, func(write func(...string)) {
		for i := range x.Regions {
			write(row("region", &x.Regions[i])...)
		}
		for i := range x.Paths {
			write(row("path", &x.Paths[i])...)
		}
	})
}

// writeDiffFolded writes a line for each path, such as "main;solve 1234 1300", with its exclusive times on
// both sides in nanoseconds.
func (a *app) writeDiffFolded(x *diff.Result) error {
	b := bufio.NewWriter(a.out)
	ns := func(t float64) float64 { return math.Round(t / x.Clock.PerSecond() * 1e9) }
	err := x.Stacks(maxStacks, func(path []string, deeper bool, before, after float64) error {
		if ns(before) == 0 && ns(after) == 0 {
			return nil
		}
		if deeper {
			path = append(path, deeperCalls)
		}
		for i, s := range path {
			path[i] = strings.ReplaceAll(s, ";", ":")
		}
		return printf(b, "%s %s %s\n", strings.Join(path, ";"), strconv.FormatFloat(ns(before), 'f', 0, 64),
			strconv.FormatFloat(ns(after), 'f', 0, 64))
	})
	if err != nil {
		return err
	}
	return b.Flush()
}
