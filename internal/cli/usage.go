package cli

import (
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
			if err != nil {
				return err
			}
			defer in.Close()
			p := usage.New(in.Defs(), usage.Options{})
			sel := trace.Everything()
			sel.Links = trace.NoLinks
			if err := in.Scan(c.Context(), sel, format.PerLocation, p); err != nil {
				return err
			}
			in.bar.done()
			x := p.Result()
			if asJSON {
				return a.writeJSON(x)
			}
			if len(x.Resources) == 0 {
				fmt.Fprintln(a.out, "The trace has no claims on resources.")
				return nil
			}
			t := newTable(a.out)
			t.AppendHeader(table.Row{"resource", "claims at once", "% of the time"})
			for i := range x.Resources {
				q := &x.Resources[i]
				for k := range q.Open {
					name := ""
					if k == 0 {
						if name = q.Name; name == "" {
							name = q.ID
						}
					}
					t.AppendRow(table.Row{name, k, fmt.Sprintf("%.1f", x.Percent(q, k))})
				}
			}
			t.Render()
			a.tell(in, r.quiet)
			return nil
		},
	}
	r.flags(c.Flags())
	r.clockFlag(c.Flags())
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
