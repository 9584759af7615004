package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/analysis/distance"
	"github.com/weft-trace/weft/internal/plural"
)

// behaviourResult is the JSON of weft behaviour (docs/json/behaviour.md).
type behaviourResult struct {
	heading
	*distance.Behaviours
}

// behaviourCommand returns the command weft behaviour.
func (a *app) behaviourCommand() *cobra.Command {
	var flags orderFlags
	var by string
	var locations bool
	var iterations []string
	c := &cobra.Command{
		Use:   "behaviour TRACE",
		Short: "Find objects, iterations or locations that behave differently from the others",
		Long: `Group the objects of a trace into classes of equal behaviour, and print the classes, rare ones
first. The objects are one of:
  --by ATTRIBUTE       all claims with the same value of this attribute
  --iterations REGION  the visits of this region
  --locations          the locations
Objects belong to the same class if their claims have the same order, as weft distance defines
it. For iterations and locations, weft compares the calls of regions that call no other region,
by name. --region compares only the claims or calls of these regions.

For each class weft prints the number of objects, its first object as a representative, and the
distance from the class with the most objects, with the differences. If there are at most 100
classes, NEAREST is the class with the least distance.`,
		Example: "  weft behaviour --by id trace.etf\n  weft behaviour --iterations step trace.otf2\n" +
			"  weft behaviour --locations --json trace.otf",
		Args: func(c *cobra.Command, args []string) error {
			if n := countSet(by != "", locations, len(iterations) > 0); n != 1 {
				return usageError("--by, --iterations, --locations: found %d of them, expected one", n)
			}
			return exactArgs(1, "one trace")(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			in, err := a.open(c.Context(), args[0], &flags.input)
			return a.answer(in, err, flags.asJSON, &flags.input, func(in *input) (any, func() error, error) {
				opt := distance.Options{Labels: flags.labels, By: by, Calls: by == "", Locations: locations}
				if len(iterations) > 0 {
					if opt.Iterations, err = choose(in.Defs(), aRegion, iterations); err != nil {
						return nil, nil, err
					}
					in.flagNames = append(in.flagNames, flagNames{"--iterations", aRegion, iterations})
					if len(flags.selection.regions) > 0 { // --region must not leave out the visits themselves
						flags.selection.regions = append(flags.selection.regions, iterations...)
					}
				}
				s, err := a.readClaims(c.Context(), in, &flags, opt)
				if err != nil {
					return nil, nil, err
				}
				classes, err := distance.Classify(s, flags.top)
				if err != nil {
					return nil, nil, &exitError{exitDefects, fmt.Errorf("%s: %w", in.src.Path, err)}
				}
				x := behaviourResult{in.heading(), classes}
				return x, func() error { a.printBehaviours(x.Behaviours, comparedIn(opt), flags.top); return nil }, nil
			})
		},
	}
	flags.register(c)
	c.Flags().StringVar(&by, "by", "", "attribute whose value is the object of a claim")
	c.Flags().BoolVar(&locations, "locations", false, "compare locations by their calls")
	c.Flags().Var((*nameList)(&iterations), "iterations",
		"compare the visits of these regions by the calls in them; * and ? match anything")
	return c
}

// printBehaviours prints the classes of objects. compared is the result of comparedIn.
func (a *app) printBehaviours(x *distance.Behaviours, compared string, top int) {
	fmt.Fprintf(a.out, "%s, %s, %s\n\n", plural.Of(x.Objects, "object"), plural.Of(x.Claims, compared),
		plural.Of(len(x.Classes), "class", "classes"))
	header := table.Row{"class", "objects", compared + "s each", "from the usual one", "nearest", "representative",
		"others"}
	printTable(a.out, header, len(x.Classes), top, func(i int) table.Row {
		c := &x.Classes[i]
		nearestTo := ""
		if c.Nearest != nil {
			nearestTo = fmt.Sprintf("%d (%d)", *c.Nearest+1, c.Distance)
		}
		others := slices.Clone(c.Names[1:min(len(c.Names), 6)])
		if int64(len(others)) < c.Objects-1 {
			others = append(others, "…")
		}
		return table.Row{i + 1, c.Objects, c.Claims, c.Usual, nearestTo, plain(c.Representative),
			plain(strings.Join(others, ", "))}
	})
	for i, c := range x.Classes {
		if top > 0 && i == top {
			break
		}
		if c.Usual > 0 {
			fmt.Fprintf(a.out, "\nclass %d (%s):\n", i+1, plain(c.Representative))
			a.printDifference(c.Difference, compared, "usual", "here")
		}
	}
}
