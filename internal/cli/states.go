package cli

import (
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/analysis/states"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

func (a *app) statesCommand() *cobra.Command {
	var r reading
	var s selecting
	var asJSON bool
	var barrier, collective, overhead string
	c := &cobra.Command{
		Use:   "states TRACE",
		Short: "Show how long each processor is busy, in overhead and idle",
		Long: `Show how long each processor is busy, in overhead (communicating but not
waiting) and idle, as ParaGraph defines it, and for how long how many of them are
(concurrency profile). For PICL the event types decide, for other traces the
groups and names of the regions. --window, or --from and --to, count the time in a
window alone.`,
		Example: "  weft states trace.trf\n  weft states --window 20%..30% trace.otf2\n  weft states --barrier idle --json trace.trf",
		Args:    exactArgs(1, "one trace"),
		RunE: func(c *cobra.Command, args []string) error {
			var opt states.Options
			for _, x := range []struct {
				flag, value string
				to          *states.State
			}{{"barrier", barrier, &opt.Barrier}, {"collective", collective, &opt.Collective}, {"user-overhead", overhead, &opt.UserOverhead}} {
				switch x.value {
				case "":
				case "busy":
					*x.to = states.Busy
				case "overhead":
					*x.to = states.Overhead
				case "idle":
					*x.to = states.Idle
				default:
					return usageError("--%s %s: expected busy, overhead or idle", x.flag, x.value)
				}
			}
			in, err := a.open(c.Context(), args[0], &r)
			if err != nil {
				return err
			}
			defer in.Close()
			if w, err := s.selection(c.Context(), in); err != nil {
				return err
			} else if s.from != "" || s.to != "" {
				opt.Window = &trace.Window{From: w.From, To: max(w.From, w.To)}
			}
			// What is open in a window depends on all events before it, and who has
			// finished on those behind it.
			p := states.New(in.Defs(), opt)
			sel := trace.Everything()
			sel.Links = trace.NoLinks
			if err := in.Scan(c.Context(), sel, format.GlobalOrder, p); err != nil {
				return err
			}
			in.bar.done()
			x := p.Result()
			if asJSON {
				return a.writeJSON(x)
			}
			f := in.Defs().Clock.FormatDuration
			t := newTable(a.out)
			t.AppendHeader(table.Row{"processor", "busy", "%", "overhead", "%", "idle", "%"})
			for _, q := range x.Processors {
				all := float64(max(1, q.Busy+q.Overhead+q.Idle))
				pc := func(v int64) string { return fmt.Sprintf("%.1f", 100*float64(v)/all) }
				name := q.Name
				if name == "" {
					name = q.ID
				}
				t.AppendRow(table.Row{name, f(q.Busy), pc(q.Busy), f(q.Overhead), pc(q.Overhead), f(q.Idle), pc(q.Idle)})
			}
			t.Render()
			fmt.Fprintln(a.out, "\nTime with so many processors in each state")
			t = newTable(a.out)
			t.AppendHeader(table.Row{"processors", "busy", "overhead", "idle"})
			for _, l := range x.Profile {
				t.AppendRow(table.Row{l.Count, f(l.Busy), f(l.Overhead), f(l.Idle)})
			}
			t.Render()
			a.tell(in, r.quiet)
			return nil
		},
	}
	r.flags(c.Flags())
	r.clockFlag(c.Flags())
	r.rolesFlag(c.Flags())
	s.timeFlags(c.Flags())
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().StringVar(&barrier, "barrier", "", "what a barrier counts as: busy, overhead (the rule) or idle")
	c.Flags().StringVar(&collective, "collective", "", "what a collective operation counts as")
	c.Flags().StringVar(&overhead, "user-overhead", "", "what user overhead (PICL event -603) counts as")
	return c
}
