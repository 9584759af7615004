package cli

import (
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/analysis/messages"
	"github.com/weft-trace/weft/trace"
)

func (a *app) messagesCommand() *cobra.Command {
	var r reading
	var asJSON bool
	var top int
	c := &cobra.Command{
		Use:   "messages TRACE",
		Short: "Match messages and show who sends how much to whom",
		Long: `Match sends with receives, first in first out by source, destination, tag and, where
the trace has them, communicator, and show the matrix of counts and bytes by source and destination, what found no
partner, and how much was pending at most.`,
		Example: "  weft messages trace.trf\n  weft messages --json trace.trf",
		Args:    exactArgs(1, "one trace"),
		RunE: func(c *cobra.Command, args []string) error {
			in, err := a.open(c.Context(), args[0], &r)
			if err != nil {
				return err
			}
			defer in.Close()
			p := messages.New(in.Defs(), messages.Options{})
			sel := trace.Everything()
			sel.Links = false
			if err := in.ScanOrdered(c.Context(), sel, p); err != nil {
				return err
			}
			in.bar.done()
			x := p.Result()
			if asJSON {
				return a.writeJSON(x)
			}
			fmt.Fprintf(a.out, "Sent       %d messages, %d bytes\nReceived   %d messages, %d bytes\nMatched    %d messages, %d bytes\nUnmatched  %d sends, %d receives\n",
				x.Sent, x.SentBytes, x.Received, x.ReceivedBytes, x.Matched, x.MatchedBytes, x.SendsUnmatched, x.ReceivesUnmatched)
			if x.Early > 0 {
				fmt.Fprintf(a.out, "Early      %d receives before their send\n", x.Early)
			}
			if x.SizeMismatches > 0 {
				fmt.Fprintf(a.out, "Sizes      %d messages of another size at the receiver\n", x.SizeMismatches)
			}
			if x.PendingKnown {
				fmt.Fprintf(a.out, "Pending    at most %d messages, at most %d bytes\n", x.MaxPending, x.MaxBytes)
			}
			if len(x.Matrix) > 0 {
				fmt.Fprintln(a.out)
				t := newTable(a.out)
				t.AppendHeader(table.Row{"from", "to", "messages", "bytes"})
				shown := len(x.Matrix)
				if top > 0 && shown > top {
					shown = top
				}
				for _, m := range x.Matrix[:shown] {
					t.AppendRow(table.Row{m.SourceID, m.DestinationID, m.Count, m.Bytes})
				}
				t.Render()
				if n := len(x.Matrix) - shown; n > 0 {
					fmt.Fprintf(a.out, "  … and %d more pairs (--top 0 lists all)\n", n)
				}
			}
			a.tell(in, r.quiet)
			return nil
		},
	}
	r.flags(c.Flags())
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().IntVar(&top, "top", 50, "how many pairs to list; 0 lists all")
	return c
}
