package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/analysis/constraints"
	"github.com/weft-trace/weft/analysis/criticalpath"
	"github.com/weft-trace/weft/internal/nearest"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/internal/wildcard"
	"github.com/weft-trace/weft/trace"
)

// pathResult holds the JSON output of weft path.
type pathResult struct {
	heading
	*criticalpath.Result
	// factors for which the curves of gains have values
	Factors []float64 `json:"curveFactors,omitempty"`
}

func (a *app) pathCommand() *cobra.Command {
	var flags pathFlags
	c := &cobra.Command{
		Use:   "path TRACE",
		Short: "Find the critical path, and what faster regions would gain",
		Long: `Find the critical path: the chain of activities that determines how long the run takes. weft
follows the path backward. The path ends at the location that enters MPI_Finalize last, or has
the last event. Where a location waits, the path continues at the location that causes the
wait. The pieces of the path add up to its length.

The first tables list the regions and the locations on the path. IMBALANCE is the part of a
region's time on the path by which it exceeds the mean of all locations. GAIN is the time by
which the run would be shorter if the region took half of its time; weft computes all waits
again. Further columns show the runtimes for other factors. --pieces N lists the longest
pieces of the path.

--what-if REGION=FACTOR,… computes the runtime with changed times of some regions: 0.5
halves a region's own time, 0 removes it. In place of the factor, median shortens each
iteration to the median of all locations; mean shortens the times of a location to the mean of
the others; steady takes away what the times have grown by since the first iteration.
REGION@LOCATION=FACTOR changes the region at these locations only. A call path such as
"main > solve" changes the region there only. The name latency stands for the time that calls
of communication libraries and barriers of threads take themselves, without waits; outside
stands for the time outside of all regions; locks=0 lets locations acquire locks without
waiting for others.

--window, or --from and --to, find the path in a part of the time, from the last event in this
part back to its begin. --location and --group restrict the trace to these locations and the
messages between them. There is no --region, because the path leads through all regions;
--what-if names the regions to change.

For a trace of claims (format TRACE), weft finds the longest paths in a graph of dependencies
between claims. weft infers that a claim depends on the claims that have ended at most
--tolerance before its start. --dependencies states how weft uses the dependencies of the
trace: full (a claim with dependencies in the trace has only these), initial (in addition to
the inferred ones) or none. All claims on a longest path are critical.`,
		Example: "  weft path trace.otf2\n  weft path --pieces 20 --json trace.otf2\n" +
			"  weft path --what-if 'solve=0.5,latency=0' trace.otf2\n" +
			"  weft path --what-if 'solve@rank 3=0.5' trace.otf2\n" +
			"  weft path --what-if 'main > solve=median' trace.otf2\n" +
			"  weft path --window 20%..40% trace.otf2\n" +
			"  weft path --dependencies initial --tolerance 10us trace.etf",
		Args: exactArgs(1, "one trace"),
		RunE: func(c *cobra.Command, args []string) error { return a.runPath(c, args, &flags) },
	}
	flags.register(c)
	return c
}

// pathFlags holds the flags of weft path.
type pathFlags struct {
	input                   inputFlags
	selection               selectionFlags
	asJSON, asCSV           bool
	whatIf                  string
	top, pieces             int
	dependencies, tolerance string
}

// register adds the flags to the command.
func (f *pathFlags) register(c *cobra.Command) {
	definePartFlags(c.Flags(), &f.input, &f.selection,
		"the path leads through all regions; --what-if names the regions to change")
	c.Flags().StringVar(&f.dependencies, "dependencies", "full",
		"use of the dependencies in a trace of claims: "+strings.Join(constraints.Uses(), ", "))
	registerCompletions(c, "dependencies", constraints.Uses()...)
	c.Flags().StringVar(&f.tolerance, "tolerance", "",
		"greatest gap between two claims for which weft infers a dependency")
	c.Flags().StringVar(&f.whatIf, "what-if", "",
		"compute the runtime with changed times of regions: REGION[@LOCATION]=FACTOR|median|mean|steady,…")
	c.Flags().Var(newInteger(&f.pieces, 0, 0, 1_000_000), "pieces", "how many of the longest pieces of the path to list")
	c.Flags().Var(newInteger(&f.top, 10, 0, 0), "top",
		"how many lines of each table to show; 0 shows all, as --json and --csv do")
	c.Flags().BoolVar(&f.asJSON, "json", false, "print JSON, with all pieces")
	c.Flags().BoolVar(&f.asCSV, "csv", false,
		"print the call paths, or the critical claims, as comma-separated values, times in seconds")
}

// runPath finds and prints the critical path of the trace in args.
func (a *app) runPath(c *cobra.Command, args []string, flags *pathFlags) error {
	if flags.asJSON && flags.asCSV {
		return usageError("--json and --csv: expected one of them")
	}
	changes, err := parseChanges(flags.whatIf)
	if err != nil {
		return err
	}
	use, err := wordIndex("--dependencies", flags.dependencies, constraints.Uses()...)
	if err != nil {
		return err
	}
	in, err := a.open(c.Context(), args[0], &flags.input)
	var none error // set for a trace without a critical path
	err = a.answer(in, err, flags.asJSON, &flags.input, func(in *input) (any, func() error, error) {
		part, err := flags.selection.narrowRunning(c.Context(), in)
		if err != nil {
			return nil, nil, err
		}
		if in.Defs().Resources.Len() > 0 {
			if flags.whatIf != "" {
				return nil, nil, usageError("--what-if: found a trace of claims, expected one of calls, whose times can change")
			}
			x, text, err := a.findClaimPath(c.Context(), in, constraints.Use(use), flags)
			if errors.Is(err, constraints.ErrNoClaims) {
				none = in.lacks(err.Error(), part)
				return missingAnswer{in.heading(), err.Error()}, func() error { return nil }, nil
			}
			return x, text, err
		}
		opt := criticalpath.Options{Rows: trace.NewRows(in.Defs()), WhatIf: changes,
			Paths: flags.asJSON || flags.asCSV}
		if err := findSubjects(in.Defs(), in.Defs().RegionNames(opt.Rows), changes); err != nil {
			return nil, nil, usageError("--what-if %s: %w", flags.whatIf, err)
		}
		if len(changes) == 0 {
			opt.Gains = gainsShown
		}
		found, err := criticalpath.Find(c.Context(), in.Events, opt)
		var unknown *criticalpath.RegionError
		if errors.As(err, &unknown) {
			return nil, nil, usageError("--what-if %s: %v%s", flags.whatIf, unknown,
				nearest.Hint(unknown.Region, in.Defs().RegionNames(opt.Rows)))
		}
		var without *criticalpath.TargetError
		if errors.As(err, &without) {
			none = in.lacks(without.Error(), part)
			return missingAnswer{in.heading(), without.Error()}, func() error { return nil }, nil
		}
		if err != nil {
			return nil, nil, err
		}
		if missing := found.Missing(); missing != "" {
			if part { // does the rest of the trace lack it, too?
				whole, err := criticalpath.Find(c.Context(), in.whole, criticalpath.Options{Rows: opt.Rows})
				if err != nil {
					return nil, nil, err
				}
				part = whole.Missing() == ""
			}
			none = in.lacks(missing, part)
			return missingAnswer{in.heading(), missing}, func() error { return nil }, nil
		}
		x := &pathResult{heading: in.heading(), Result: found}
		if len(x.Gains) > 0 {
			x.Factors = criticalpath.Factors()
		}
		return x, func() error {
			a.warnOfClocks(in.src.Path, in.Defs().Clock, x.Violations, "the path is")
			if flags.asCSV {
				return a.writePathCSV(found, in.Defs().Clock)
			}
			a.printPath(found, in.Defs().Clock, flags.top, flags.pieces)
			return nil
		}, nil
	})
	return cmp.Or(err, none)
}

// claimPathResult holds the JSON output of weft path for a trace of claims.
type claimPathResult struct {
	heading
	*constraints.Result
}

// findClaimPath finds the critical path of a trace of claims. The error is [constraints.ErrNoClaims] if there are none.
func (a *app) findClaimPath(ctx context.Context, in *input, use constraints.Use, flags *pathFlags) (answer any,
	text func() error, err error) {
	clock := in.Defs().Clock
	opt := constraints.Options{Use: use}
	if flags.tolerance != "" {
		var err error
		if opt.Tolerance, err = clock.ParseDuration(flags.tolerance); err != nil {
			return nil, nil, usageError("--tolerance: %w", err)
		}
	}
	x, err := constraints.Find(ctx, in.Events, opt)
	var cycle *constraints.CycleError
	if errors.As(err, &cycle) {
		return nil, nil, &exitError{exitDefects, fmt.Errorf("%s: %w", in.src.Path, err)}
	}
	if err != nil {
		return nil, nil, err
	}
	return &claimPathResult{in.heading(), x}, func() error {
		if flags.asCSV {
			return a.writeClaimPathCSV(x, clock)
		}
		f := clock.FormatDuration
		printf(a.out, "Path       %s, with %d of %s\nBy         %s of the trace, %d inferred\n",
			f(x.Length),
			len(x.Critical), plural.Of(x.Claims, "claim"), plural.Of(x.Dependencies, "dependency", "dependencies"), x.Inferred)
		a.printList("activities", len(x.Regions), flags.top, table.Row{"activity", "claims", "time", "%"},
			func(i int) table.Row {
				r := &x.Regions[i]
				return table.Row{r.Region, r.Claims, clock.FormatSum(r.Time), percentOf(r.Time, trace.TicksOf(x.Length))}
			})
		a.printList("claims", len(x.Critical), flags.top, table.Row{"claim", "activity", "resource", "from", "to", "time"},
			func(i int) table.Row {
				c := &x.Critical[i]
				return table.Row{c.ID, c.Region, c.Resource, clock.FormatSeconds(c.Start) + " s", clock.FormatSeconds(c.End) + " s",
					f(c.End - c.Start)}
			})
		return nil
	}, nil
}

// parseChanges parses the value of --what-if: a list of REGION=FACTOR with commas, such as solve=0.5.
func parseChanges(s string) (list []criticalpath.Change, err error) {
	if s == "" {
		return nil, nil
	}
	names, err := wildcard.SplitNames(s)
	if err != nil {
		return nil, usageError("--what-if: %w", err)
	}
	for _, x := range names {
		i := strings.LastIndex(x, "=")
		if i <= 0 {
			return nil, usageError("--what-if %s: expected REGION=FACTOR, such as solve=0.5", s)
		}
		c := criticalpath.Change{Region: strings.TrimSpace(x[:i])}
		switch value := criticalpath.Target(strings.TrimSpace(x[i+1:])); value {
		case criticalpath.Median, criticalpath.Mean, criticalpath.Steady:
			c.To = value
		default:
			if c.Factor, err = strconv.ParseFloat(string(value), 64); err != nil || !(c.Factor >= 0 && c.Factor <= 1000) {
				return nil, usageError("--what-if %s: found the factor %s, expected a number from 0 to 1000, median, mean or "+
					"steady", s, x[i+1:])
			}
		}
		if slices.ContainsFunc(list, func(other criticalpath.Change) bool { return c.Region == other.Region }) {
			return nil, usageError("--what-if %s: found several factors of %s, expected one", s, c.Region)
		}
		list = append(list, c)
	}
	return list, nil
}

// findSubjects sets the call paths and the locations of changes, whose texts are REGION, PATH, REGION@LOCATION or
// PATH@LOCATION. A region whose name contains separators comes first.
func findSubjects(d *trace.Definitions, regions []string, list []criticalpath.Change) error {
	for i := range list {
		c := &list[i]
		text := c.Region
		if setSubject(c, text, regions) {
			continue
		}
		if text == criticalpath.Locks && (c.Factor != 0 || c.To != criticalpath.ByFactor) {
			return fmt.Errorf("found the factor %v of locks, expected 0", cmp.Or(string(c.To), fmt.Sprint(c.Factor)))
		}
		for at, r := range text {
			if r != '@' || !setSubject(c, text[:at], regions) && text[:at] != criticalpath.Outside {
				continue
			}
			name := text[at+1:]
			wanted, err := choose(d, aLocation, []string{name})
			if err != nil {
				return err
			}
			for loc := range uint32(d.Locations.Len()) {
				if wanted(loc) {
					c.Locations = append(c.Locations, loc)
				}
			}
			if c.Locations == nil {
				return fmt.Errorf("found no location %q in the trace, expected one that it has%s", name,
					nearest.Hint(name, d.FullNames()))
			}
			if c.Path == nil {
				c.Region = text[:at]
			}
			break
		}
		if c.Region == criticalpath.Communication && c.To != criticalpath.ByFactor {
			return fmt.Errorf("found %s for latency, expected a factor", c.To)
		}
	}
	return nil
}

// setSubject sets the region or the call path of a change. It returns false if the text names neither.
func setSubject(c *criticalpath.Change, text string, regions []string) bool {
	path := strings.Split(text, criticalpath.PathSeparator)
	switch {
	case slices.Contains(regions, text):
		c.Region = text
	case len(path) > 1 && !slices.ContainsFunc(path, func(s string) bool { return !slices.Contains(regions, s) }):
		c.Region, c.Path = "", path
	default:
		return false
	}
	return true
}

// outsideRegions is the name that stands for times in which no region is open.
const outsideRegions = "(outside of all regions)"

func regionOrOutside(region string) string {
	if region == "" {
		return outsideRegions
	}
	return region
}

func (a *app) printPath(x *criticalpath.Result, clock trace.Clock, top, pieces int) {
	f := clock.FormatDuration
	share := func(t, all int64) string { return percentOf(trace.TicksOf(t), trace.TicksOf(all)) }
	printf(a.out, "Path       %s, from %s s to %s s, in %s\nRuntime    %s\n", f(x.Length),
		clock.FormatSeconds(x.Begin),
		clock.FormatSeconds(x.End), plural.Of(x.Pieces.Len(), "piece"), f(x.Runtime))
	if t := x.WhatIf; t != nil {
		printf(a.out, "What if    %s, %s %% of the runtime\n", f(*t), share(*t, x.Runtime))
	}
	a.printList("regions", len(x.Regions), top, table.Row{"region", "time", "%", "imbalance"}, func(i int) table.Row {
		r := &x.Regions[i]
		return table.Row{regionOrOutside(r.Region), f(r.Time), share(r.Time, x.Length), f(int64(r.Imbalance))}
	})
	a.printList("locations", len(x.Locations), top, table.Row{"location", "time", "%"}, func(i int) table.Row {
		l := &x.Locations[i]
		return table.Row{l.LocationName, f(l.Time), share(l.Time, x.Length)}
	})
	head := table.Row{"with half of", "gain", "%"}
	for _, f := range criticalpath.Factors() {
		head = append(head, fmt.Sprintf("runtime with %g", f))
	}
	a.printList("regions", len(x.Gains), top, head, func(i int) table.Row {
		g := &x.Gains[i]
		row := table.Row{g.Region, f(g.Half), share(g.Half, x.Runtime)}
		for _, t := range g.Curve {
			row = append(row, f(t))
		}
		return row
	})
	longest := x.Pieces.Longest(pieces)
	a.printList("pieces", len(longest), 0, table.Row{"piece", "from", "to", "location", "reached by"},
		func(i int) table.Row {
			p := &longest[i]
			return table.Row{f(p.To - p.From), clock.FormatSeconds(p.From) + " s", clock.FormatSeconds(p.To) + " s",
				p.LocationName, p.By}
		})
	if s := x.Sentence(); s != "" {
		printf(a.out, "\n%s\n", s)
	}
}

// writeClaimPathCSV writes the critical claims.
func (a *app) writeClaimPathCSV(x *constraints.Result, clock trace.Clock) error {
	return printCSV(a.out, []string{"claim", "activity", "resource", "from", "to"}, func(write func(...string)) {
		for i := range x.Critical {
			c := &x.Critical[i]
			write(fmt.Sprint(c.ID), c.Region, c.Resource, clock.FormatSeconds(c.Start), clock.FormatSeconds(c.End))
		}
	})
}

// writePathCSV writes the call paths on the critical path.
func (a *app) writePathCSV(x *criticalpath.Result, clock trace.Clock) error {
	head := []string{"path", "location", "critical", "activities", "non_critical", "impact"}
	return printCSV(a.out, head, func(write func(...string)) {
		for i := range x.Paths {
			p := &x.Paths[i]
			write(regionOrOutside(strings.Join(p.Path, " > ")), p.LocationName, clock.FormatSeconds(p.Critical),
				clock.FormatSeconds(p.Activities), clock.FormatSeconds(p.NonCritical), clock.FormatSeconds(int64(p.Impact)))
		}
	})
}
