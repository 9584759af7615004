package cli

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/analysis/usage"
	"github.com/weft-trace/weft/trace"
)

// usageCommand returns the command weft usage.
func (a *app) usageCommand() *cobra.Command {
	var r inputFlags
	var s selectionFlags
	var asJSON bool
	c := &cobra.Command{
		Use:   "usage TRACE",
		Short: "Show how resources are used: time by number of claims and by amount",
		Long: `Show how resources are used. For each resource weft prints the number of claims, the mean
amount in use, also in percent of the capacity, and the greatest amount. Then it prints
the time for each number of simultaneous claims, and for each amount in use. --window, or
--from and --to, restricts the figures to a window: claims that are open in it count with
their time in the window.`,
		Example: "  weft usage trace.etf\n  weft usage --window 20%..30% trace.etf\n  weft usage --json trace.etf",
		Args:    exactArgs(1, "one trace"),
		RunE: func(c *cobra.Command, args []string) error {
			in, err := a.open(c.Context(), args[0], &r)
			return a.answer(in, err, asJSON, &r, func(in *input) (any, func() error, error) {
				sel, err := s.selection(c.Context(), in)
				if err != nil {
					return nil, nil, err
				}
				var opt usage.Options
				if _, opt.Window = s.bounds(sel); !asJSON {
					opt.Levels = usageLevels
				}
				ask := trace.Selection{From: math.MinInt64, To: sel.To}
				p, err := analysis.Run(c.Context(), in.Events, ask.Surrounding(),
					func() *usage.Part { return usage.New(in.Defs(), opt) })
				if err != nil {
					return nil, nil, err
				}
				x := p.Result()
				if sel.Location != nil {
					ids := map[string]bool{}
					for i, l := range in.Defs().Locations.All() {
						ids[l.ID] = ids[l.ID] || l.Kind == trace.ResourceLocation && sel.Location(uint32(i))
					}
					x.Resources = slices.DeleteFunc(x.Resources, func(r usage.Resource) bool { return !ids[r.ID] })
				}
				if s.any() && !slices.ContainsFunc(x.Resources, func(q usage.Resource) bool { return q.Claims > 0 }) {
					in.notFound = "found no claim on a resource"
				}
				return x, func() error {
					if len(x.Resources) == 0 {
						if in.notFound == "" {
							fmt.Fprintln(a.out, "The trace has no claims on resources.")
						}
						return nil
					}
					a.printUsage(x)
					return nil
				}, nil
			})
		},
	}
	r.flags(c.Flags())
	r.clockFlag(c.Flags())
	s.timeFlags(c.Flags())
	s.placeFlags(c.Flags())
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// usageLevels is the greatest number of different amounts of a resource that the text lists. More
// amounts are grouped into ranges.
const usageLevels = 20

// printUsage prints the use of resources as text.
func (a *app) printUsage(x *usage.Result) {
	name := func(i int) string { return cmp.Or(x.Resources[i].Name, x.Resources[i].ID) }
	amount := func(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
	percent := func(part, whole float64) string {
		if whole <= 0 {
			return ""
		}
		return fmt.Sprintf("%.1f", 100*part/whole)
	}
	printTable(a.out, table.Row{"resource", "claims", "mean amount", "% of capacity", "peak", "capacity", "unit"},
		len(x.Resources), 0, func(i int) table.Row {
			q := &x.Resources[i]
			return table.Row{name(i), q.Claims, amount(float64(q.Mean)), percent(float64(q.Mean), q.Capacity),
				amount(float64(q.Peak)), amount(q.Capacity), q.Unit}
		})
	fmt.Fprintln(a.out)
	t := newTable(a.out)
	t.AppendHeader(table.Row{"resource", "claims at once", "% of the time"})
	for i := range x.Resources {
		first := name(i)
		for k := range x.Resources[i].Open {
			t.AppendRow(table.Row{first, k, fmt.Sprintf("%.1f", x.Percent(&x.Resources[i], k))})
			first = ""
		}
	}
	t.Render()
	fmt.Fprintln(a.out)
	t = newTable(a.out)
	t.AppendHeader(table.Row{"resource", "amount", "% of the time"})
	for i := range x.Resources {
		first := name(i)
		for _, l := range x.Resources[i].Amounts {
			held := amount(float64(l.Amount))
			if l.Width > 0 {
				held += " to " + amount(float64(l.Amount+l.Width))
			}
			t.AppendRow(table.Row{first, held, percent(float64(l.Time), float64(x.Last-x.First))})
			first = ""
		}
	}
	t.Render()
}
