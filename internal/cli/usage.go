package cli

import (
	"cmp"
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/analysis/usage"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

func (a *app) usageCommand() *cobra.Command {
	var r reading
	var asJSON bool
	c := &cobra.Command{
		Use:   "usage TRACE",
		Short: "Show how resources are used: time by number of claims and by amount",
		Long: `Show for each resource how much of the time how many claims hold it at once,
and how much of it they hold.`,
		Example: "  weft usage trace.etf\n  weft usage --json trace.etf",
		Args:    exactArgs(1, "one trace"),
		RunE: func(c *cobra.Command, args []string) error {
			in, err := a.open(c.Context(), args[0], &r)
			return a.ask(in, err, asJSON, &r, func(in *input) (any, func() error, error) {
				p := usage.New(in.Defs(), usage.Options{})
				if err := in.Scan(c.Context(), trace.Events(), format.PerLocation, p); err != nil {
					return nil, nil, err
				}
				x := p.Result()
				return x, func() error {
					if len(x.Resources) == 0 {
						r.quiet = true
						return printf(a.out, "The trace has no claims on resources.\n")
					}
					t := newTable(a.out)
					t.AppendHeader(table.Row{"resource", "claims at once", "% of the time"})
					for i := range x.Resources {
						q := &x.Resources[i]
						name := cmp.Or(q.Name, q.ID)
						for k := range q.Open {
							t.AppendRow(table.Row{name, k, fmt.Sprintf("%.1f", x.Percent(q, k))})
							name = ""
						}
					}
					t.Render()
					return nil
				}, nil
			})
		},
	}
	r.flags(c.Flags())
	r.clockFlag(c.Flags())
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
