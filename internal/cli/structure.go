package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/analysis/structure"
	"github.com/weft-trace/weft/trace"
)

// structureResult is the JSON of weft structure (docs/json/structure.md).
type structureResult struct {
	heading
	*structure.Result
}

// structureCommand returns the command weft structure.
func (a *app) structureCommand() *cobra.Command {
	var r inputFlags
	var s selectionFlags
	var asJSON bool
	var by string
	var depth int
	c := &cobra.Command{
		Use:   "structure TRACE",
		Short: "Show the calls and loops that locations repeat",
		Long: `Show the repeated calls and loops of each location as a tree, with their counts and
times. × is the number of repetitions at this place in the tree; count, mean, min, max and
sum cover all occurrences in the trace. Locations with the same structure share one tree. A
sequence that occurs at several locations or places is counted as one sequence.

Two events are the same if they have the same kind and region. Regions with the same name,
file and line are one region, unless --by definition keeps them apart. Snapshots, summaries,
markers and links are left out. A sequence of up to 100 steps that occurs at least twice in
a row is a loop. WAIT is the share of the time of all locations that would be saved if each
occurrence took no longer than the shortest one (in Pallas: contention score). weft computes
it from the events for all formats.

--window, or --from and --to, --location, --group and --region show the structure of a part
of the trace, as weft cut and weft filter would write it. So events without a region remain
with --region.`,
		Example: "  weft structure trace.otf\n  weft structure --depth 3 trace.pallas\n" +
			"  weft structure --location 'rank 0' --json trace.trf",
		Args: exactArgs(1, "one trace"),
		RunE: func(c *cobra.Command, args []string) error {
			if _, err := wordIndex("--by", by, byRegion, byDefinition); err != nil {
				return err
			}
			in, err := a.openUnprepared(c.Context(), args[0], &r)
			return a.answer(in, err, asJSON, &r, func(in *input) (any, func() error, error) {
				x, err := a.structure(c.Context(), in, &s, by)
				return structureResult{in.heading(), x}, func() error {
					makeNamesPlain(x)
					_, err := io.WriteString(a.out, x.Text(in.Defs().Clock, depth))
					return err
				}, err
			})
		},
	}
	defineAnalysisFlags(c.Flags(), &r, &s)
	defineByFlag(c, &by)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().Var(newInteger(&depth, 8, 1, 0), "depth", "greatest depth of the printed tree; --json prints the whole tree")
	return c
}

// makeNamesPlain converts the names of a structure to plain text.
func makeNamesPlain(x *structure.Result) {
	steps := func(l []structure.Step) {
		for i := range l {
			l[i].Name = plain(l[i].Name)
		}
	}
	for i := range x.Sequences {
		s := &x.Sequences[i]
		s.Name = plain(s.Name)
		steps(s.Steps)
	}
	for i := range x.Shapes {
		s := &x.Shapes[i]
		for k := range s.IDs {
			s.IDs[k], s.Names[k] = plain(s.IDs[k]), plain(s.Names[k])
		}
		steps(s.Steps)
	}
}

// structure computes the structure of a trace with parallel scans.
func (a *app) structure(ctx context.Context, in *input, s *selectionFlags, by string) (*structure.Result, error) {
	if _, err := s.narrow(ctx, in); err != nil {
		return nil, err
	}
	sel := trace.Everything()
	sel.Links = trace.NoLinks
	d := in.Defs()
	rows := rowsBy(d, by)
	sum, err := analysis.Run(ctx, in.Events, sel, func() *structure.Part { return structure.NewRows(d, rows) })
	if err != nil {
		return nil, err
	}
	x, err := sum.Result()
	if err == nil && len(x.Sequences) == 0 {
		in.notFound = "found no call or loop"
	}
	return x, err
}
