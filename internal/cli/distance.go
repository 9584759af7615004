package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/analysis/distance"
	"github.com/weft-trace/weft/internal/nearest"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// distanceResult is the JSON of weft distance (docs/json/distance.md).
type distanceResult struct {
	Reference heading        `json:"reference"`
	Traces    []distanceFrom `json:"traces"`
}

// distanceFrom is the distance of a trace from the reference.
type distanceFrom struct {
	heading
	Claims int64 `json:"claims"`
	*distance.Difference
}

// orderFlags holds the flags of commands that compare the order of claims.
type orderFlags struct {
	input     inputFlags
	selection selectionFlags
	labels    []string
	calls     bool
	asJSON    bool
	top       int
}

// register adds the flags to a command.
func (f *orderFlags) register(c *cobra.Command) {
	defineAnalysisFlags(c.Flags(), &f.input, &f.selection)
	c.Flags().Var((*nameList)(&f.labels), "label",
		"attributes whose values identify a claim; default: all attributes, or the name of a claim without attributes")
	c.Flags().BoolVar(&f.asJSON, "json", false, "print JSON")
	c.Flags().Var(newInteger(&f.top, 10, 0, 0), "top", "how many differences to list; 0 lists all")
}

// distanceCommand returns the command weft distance.
func (a *app) distanceCommand() *cobra.Command {
	var flags orderFlags
	c := &cobra.Command{
		Use:   "distance A B...",
		Short: "Compare the order of claims: how far traces are from a reference",
		Long: `Compare the order of the claims of traces with the order in the first trace, the reference. Claim
A directly precedes claim B if A ends before or when B starts, and no other claim lies between
them. The distance is the number of claims, plus the number of such pairs of claims, that only one
of the two traces has. The distance does not depend on durations; 0 means the same order.

A claim is identified by its attributes, or those of --label. If several claims of a trace have
the same attributes, the N-th one in the order of starts corresponds to the N-th one of the other
trace. --calls compares, by name, the calls of regions that call no other region; traces without
claims need this flag. --region compares only the claims or calls of these regions.`,
		Example: "  weft distance reference.etf model-1.etf model-2.etf\n" +
			"  weft distance --label name,id reference.etf model.etf\n  weft distance --calls a.otf2 b.otf2",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usageError("found %s, expected at least two; see weft distance --help", plural.Of(len(args), "trace"))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return a.runDistance(c.Context(), args, &flags) },
	}
	flags.register(c)
	c.Flags().BoolVar(&flags.calls, "calls", false, "compare calls of regions instead of claims")
	return c
}

// runDistance compares the traces in args with the first one.
func (a *app) runDistance(ctx context.Context, args []string, flags *orderFlags) error {
	var reference *distance.Set
	x := distanceResult{Traces: []distanceFrom{}}
	opt := distance.Options{Labels: flags.labels, Calls: flags.calls}
	compared := comparedIn(opt)
	for i, path := range args {
		s, h, err := a.scanClaims(ctx, path, flags, opt)
		if err != nil {
			return err
		}
		if i == 0 {
			reference, x.Reference = s, h
			continue
		}
		d, err := distance.Compare(reference, s, flags.top)
		if err != nil {
			return &exitError{exitDefects, fmt.Errorf("%s: %w", path, err)}
		}
		x.Traces = append(x.Traces, distanceFrom{h, int64(len(s.Claims)), d})
	}
	if flags.asJSON {
		return a.writeJSON(a.out, x)
	}
	printTable(a.out, table.Row{"trace", compared + "s", "distance", compared + "s only here", "only in the reference",
		"successions only here", "only in the reference"}, len(x.Traces), 0, func(i int) table.Row {
		t := &x.Traces[i]
		return table.Row{t.Path, t.Claims, t.Distance, t.Second.NodeCount, t.First.NodeCount, t.Second.EdgeCount,
			t.First.EdgeCount}
	})
	for _, t := range x.Traces {
		if t.Distance == 0 {
			continue
		}
		printf(a.out, "\n%s:\n", t.Path)
		a.printDifference(t.Difference, compared, "reference", "here")
	}
	return nil
}

// scanClaims reads the claims of a trace.
func (a *app) scanClaims(ctx context.Context, path string, flags *orderFlags, opt distance.Options) (*distance.Set,
	heading, error) {
	in, err := a.open(ctx, path, &flags.input)
	if err != nil {
		return nil, heading{}, err
	}
	defer in.Close()
	s, err := a.readClaims(ctx, in, flags, opt)
	if err != nil {
		return nil, heading{}, asTraceDefect(path, err)
	}
	in.bar.remove()
	a.reportDefects(in, flags.input.quiet)
	return s, in.heading(), nil
}

// readClaims reads the claims of an open trace.
func (a *app) readClaims(ctx context.Context, in *input, flags *orderFlags, opt distance.Options) (*distance.Set,
	error) {
	part, err := flags.selection.narrow(ctx, in)
	if err != nil {
		return nil, err
	}
	sel := trace.Events()
	sel.NoStates = true
	p, err := analysis.Run(ctx, in.Events, sel, func() *distance.Part { return distance.New(in.Defs(), opt) })
	if err != nil {
		return nil, err
	}
	s := p.Result()
	if len(s.Claims) == 0 {
		what, hint := "claims", "; --calls compares calls of regions"
		switch {
		case opt.Iterations != nil:
			what, hint = "calls in visits of the regions", ""
		case opt.Calls:
			what, hint = "calls of regions", ""
		case opt.By != "":
			what, hint = fmt.Sprintf("claims with the attribute %q", opt.By), attributeHint(in.Defs(), opt.By)
		}
		if part && (opt.By == "" || hasAttribute(in.Defs(), opt.By)) {
			in.notFound = "found no " + what
			return s, nil
		}
		a.reportFlagNames(in)
		return nil, &exitError{exitDefects, fmt.Errorf("%s: found no %s%s", in.src.Path, what, hint)}
	}
	for _, name := range flags.labels {
		if !flags.input.quiet && !opt.Calls && !hasAttribute(in.Defs(), name) {
			printf(a.err, "%s: no claim has the attribute %q of --label%s\n", in.src.Path, name,
				attributeHint(in.Defs(), name))
		}
	}
	return s, nil
}

// hasAttribute reports whether a trace has an attribute with a name.
func hasAttribute(d *trace.Definitions, name string) bool {
	return slices.ContainsFunc(d.Attributes.All(), func(x trace.AttributeDef) bool { return x.Name == name })
}

// attributeHint returns a hint at the attribute of a trace that is nearest to a name.
func attributeHint(d *trace.Definitions, name string) string {
	var names []string
	for _, x := range d.Attributes.All() {
		names = append(names, x.Name)
	}
	return nearest.Hint(name, names)
}

// comparedIn returns the word for what is compared with some options: "claim" or "call".
func comparedIn(opt distance.Options) string {
	if opt.Calls {
		return "call"
	}
	return "claim"
}

// printDifference prints the claims or calls, and the successions, that only one of two lists has.
func (a *app) printDifference(d *distance.Difference, compared, first, second string) {
	for _, s := range []struct {
		name string
		*distance.Differences
	}{{first, &d.First}, {second, &d.Second}} {
		var nodes, edges []string
		for _, n := range s.Nodes {
			nodes = append(nodes, plain(n.String()))
		}
		for _, e := range s.Edges {
			edges = append(edges, plain(e.From.String()+" -> "+e.To.String()))
		}
		line := func(what string, list []string, all int64) {
			if all == 0 {
				return
			}
			more := ""
			if rest := all - int64(len(list)); rest > 0 {
				more = fmt.Sprintf(" and %d more", rest)
			}
			printf(a.out, "  only %s, %s: %s%s\n", s.name, what, strings.Join(list, "; "), more)
		}
		line(compared+"s", nodes, s.NodeCount)
		line("successions", edges, s.EdgeCount)
	}
}
