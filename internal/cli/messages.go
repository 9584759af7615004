package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/analysis/messages"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// messageOptions holds the flags of weft messages.
type messageOptions struct {
	selectionFlags
	json, csv   bool
	list, sizes bool
	bins, top   int
}

// messagesCommand returns the command weft messages.
func (a *app) messagesCommand() *cobra.Command {
	var r inputFlags
	var o messageOptions
	c := &cobra.Command{
		Use:   "messages TRACE",
		Short: "Match messages and show who sends how much to whom",
		Long: `Show the counts and bytes of messages by source and destination, the sends and receives
without a partner, and the greatest number and size of pending messages. weft matches sends
with receives first in, first out by source, destination, tag and, if the trace has it,
communicator. Receives are in the order in which they are posted.

--location and --group count the messages that one of these locations sends or receives.
--window, or --from and --to, count the sends and the receives in a window; a message
belongs to the time at which it is sent. weft then reads the trace to the end of the window,
and further until it has found the other sides of these messages. --region counts and lists
the messages that are sent or received in visits of these regions; with --location, the visit
must be at one of these locations. A message counts for the region of its sender and for the
region of its receiver. --bins N divides the window, or the trace, into N equal parts and
counts the messages in each. --sizes counts the messages by size. --list prints the messages
instead, with the times of their phases; a message is printed once all its times are known.
weft comm also shows latencies and collective operations.`,
		Example: "  weft messages trace.trf\n  weft messages --json trace.trf\n" +
			"  weft messages --from 20% --to 40% --bins 10 --sizes trace.otf\n" +
			"  weft messages --list --csv trace.otf > messages.csv",
		Args: exactArgs(1, "one trace"),
		RunE: func(c *cobra.Command, args []string) error {
			if o.csv && (o.json || !o.list) {
				return usageError("--csv: expected --list, and not --json")
			}
			if o.list && (o.bins > 0 || o.sizes) {
				return usageError("--list: expected neither --bins nor --sizes")
			}
			in, err := a.open(c.Context(), args[0], &r)
			if err != nil {
				return err
			}
			defer in.Close()
			sel, err := o.selection(c.Context(), in)
			if err != nil {
				return err
			}
			window, err := o.selectedWindow(c.Context(), in, sel)
			if err != nil {
				return err
			}
			in.keepInvolving(sel.Location)
			if o.list {
				err = a.listMessages(c.Context(), in, &o, &sel, window, r.quiet)
				in.bar.remove()
				a.reportDefectsBut(err, in, r.quiet)
				return err
			}
			p := messages.New(in.Defs(), messages.Options{Window: window, Bins: o.bins, Regions: sel.Region,
				Locations: sel.Location})
			needs := format.KindReduction(kindsFor(&sel, messages.Needs))
			if err := in.inOrder(c.Context(), window, needs, p, p.Complete); err != nil {
				return err
			}
			in.bar.remove()
			x := p.Result()
			a.noteNoMessage(in, &o.selectionFlags, x, r.quiet)
			a.reportSaturated(x.Saturated, &r)
			if o.json {
				if !r.quiet {
					a.reportFlagNames(in)
				}
				return a.writeJSON(a.out, x)
			}
			a.printMessages(x, &o, in.Defs())
			a.reportDefects(in, r.quiet)
			return nil
		},
	}
	defineAnalysisFlags(c.Flags(), &r, &o.selectionFlags)
	c.Flags().Var(newInteger(&o.bins, 0, 0, 1_000_000), "bins",
		"also count the messages in each of this many equal parts of the time")
	c.Flags().BoolVar(&o.sizes, "sizes", false, "also count messages by size")
	c.Flags().BoolVar(&o.list, "list", false, "list the messages with their times")
	c.Flags().BoolVar(&o.json, "json", false, "print JSON; with --list, one object per line")
	c.Flags().BoolVar(&o.csv, "csv", false, "print the list as comma-separated values, times in seconds")
	c.Flags().Var(newInteger(&o.top, 50, 0, 0), "top", "how many pairs and sizes to list; 0 lists all")
	return c
}

// noteNoMessage prints a notice if no message was found.
func (a *app) noteNoMessage(in *input, s *selectionFlags, x *messages.Result, quiet bool) {
	if x.Sent+x.Received > 0 {
		return
	}
	a.noteMarks(in, quiet)
	if s.anySet() {
		in.notFound = "found no message"
	}
}

// noteMarks prints a hint for a trace without messages whose marks can be read as messages.
func (a *app) noteMarks(in *input, quiet bool) {
	for _, r := range in.report.Rules() {
		if strings.HasSuffix(r.Rule, ".mark-message") && len(r.First) > 0 && !quiet {
			printf(a.err, "%s: no message: found %s of sends and receives, expected %s\n", in.src.Path,
				plural.Of(r.Count, "mark"), r.First[0].Expected)
		}
	}
}

// selectedWindow returns the window that the flags select, or nil for the whole trace. Bins need both ends
// of the window.
func (o *messageOptions) selectedWindow(ctx context.Context, in *input, sel trace.Selection) (*trace.Window, error) {
	if o.from == "" && o.to == "" && o.bins == 0 {
		return nil, nil
	}
	w := &trace.Window{From: sel.From, To: sel.To}
	if o.bins > 0 && (o.from == "" || o.to == "") {
		first, last, ok, err := format.Extent(ctx, in.Events)
		if err != nil || !ok {
			return w, err
		}
		if o.from == "" {
			w.From = first
		}
		if o.to == "" {
			w.To = last + 1
		}
	}
	return w, nil
}

// printMessages prints the sums, bins and sizes of messages.
func (a *app) printMessages(x *messages.Result, o *messageOptions, d *trace.Definitions) {
	clock := d.Clock
	label, _ := locationNames(d)
	a.printMatching(x)
	a.printList("pairs", len(x.Matrix), o.top, table.Row{"from", "to", "messages", "bytes"}, func(i int) table.Row {
		m := x.Matrix[i]
		return table.Row{label(m.Source), label(m.Destination), m.Count, m.Bytes}
	})
	if o.sizes {
		a.printSizes(x.Sizes, o.top)
	}
	a.printList("", len(x.Bins), 0, table.Row{"from", "to", "sent", "bytes", "received", "bytes"}, func(i int) table.Row {
		b := x.Bins[i]
		return table.Row{clock.FormatSeconds(b.From) + " s", clock.FormatSeconds(b.To) + " s", b.Sent, b.SentBytes,
			b.Received, b.ReceivedBytes}
	})
}

// printMatching prints the number of messages with both ends, and the number of messages with only one end.
func (a *app) printMatching(x *messages.Result) {
	for _, l := range []struct {
		what    string
		count   int64
		bytes   uint64
		unsized int64
	}{{"Sent", x.Sent, x.SentBytes, x.SentUnsized}, {"Received", x.Received, x.ReceivedBytes, x.ReceivedUnsized},
		{"Matched", x.Matched, x.MatchedBytes, x.MatchedUnsized}} {
		fmt.Fprintf(a.out, "%-10s %s, %s", l.what, plural.Of(l.count, "message"), plural.Of(l.bytes, "byte"))
		if l.unsized > 0 {
			fmt.Fprintf(a.out, ", %d of unknown size", l.unsized)
		}
		fmt.Fprintln(a.out)
	}
	fmt.Fprintf(a.out, "Unmatched  %s, %s\n", plural.Of(x.SendsUnmatched, "send"), plural.Of(x.ReceivesUnmatched,
		"receive"))
	if x.Early > 0 {
		fmt.Fprintf(a.out, "Early      %s before their send\n", plural.Of(x.Early, "receive"))
	}
	if x.SizeMismatches > 0 {
		fmt.Fprintf(a.out, "Sizes      %s of another size at the receiver\n", plural.Of(x.SizeMismatches, "message"))
	}
	if x.PendingKnown {
		fmt.Fprintf(a.out, "Pending    at most %s, at most %s\n", plural.Of(x.MaxPending, "message"),
			plural.Of(x.MaxBytes, "byte"))
	}
}

// printSizes prints the table of message sizes.
func (a *app) printSizes(sizes []messages.Size, top int) {
	a.printList("sizes", len(sizes), top, table.Row{"size", "messages", "bytes"}, func(i int) table.Row {
		s := sizes[i]
		size := fmt.Sprint(s.Least)
		if s.Most != s.Least {
			size += fmt.Sprintf("–%d", s.Most)
		}
		return table.Row{size, s.Count, s.Bytes}
	})
}

// printList prints an empty line and a table of n rows, or of the first top rows. It prints nothing
// if n is 0.
func (a *app) printList(what string, n, top int, header table.Row, row func(i int) table.Row) {
	if n == 0 {
		return
	}
	fmt.Fprintln(a.out)
	if more := printTable(a.out, header, n, top, row); more > 0 {
		printf(a.out, "  … and %d more %s (--top 0 lists all)\n", more, what)
	}
}

// listedMessage is a line of weft messages --list --json (docs/json/messages.md).
type listedMessage struct {
	// the file's own id of the location, like Destination
	Source      string `json:"source,omitempty"`
	Destination string `json:"destination,omitempty"`
	// The names of the locations, if they have names.
	SourceName      string `json:"sourceName,omitempty"`
	DestinationName string `json:"destinationName,omitempty"`
	Communicator    string `json:"communicator,omitempty"`
	Tag             int64  `json:"tag"`
	// Values that the trace does not have are null. Times are in ticks.
	Bytes        *uint64 `json:"bytes"`
	Send         *int64  `json:"send"`
	SendComplete *int64  `json:"sendComplete"`
	RecvBegin    *int64  `json:"recvBegin"`
	Recv         *int64  `json:"recv"`
}

// listMessages prints each message as soon as both of its ends are known.
func (a *app) listMessages(ctx context.Context, in *input, o *messageOptions, sel *trace.Selection,
	window *trace.Window, quiet bool) error {
	d := in.Defs()
	w := bufio.NewWriter(a.out)
	rows := csv.NewWriter(w)
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	header := []string{"source", "destination", "communicator", "tag", "bytes", "send", "send_complete",
		"recv_begin", "recv"}
	label, longest := locationNames(d)
	columns := fmt.Sprintf("%%-%[1]ds %%-%[1]ds %%-12s %%8s %%12s %%20s %%20s %%20s %%20s\n", min(max(longest, 12), 40))
	text := func(l []string) error {
		x := make([]any, len(l))
		for i := range l {
			x[i] = l[i]
		}
		return printf(w, columns, x...)
	}
	var err error
	switch {
	case o.csv:
		err = rows.Write(append(header, "source_name", "destination_name"))
	case !o.json:
		err = text(header)
	}
	if err != nil {
		return err
	}
	p := messages.New(d, messages.Options{Window: window, Regions: sel.Region, Locations: sel.Location,
		List: func(m *messages.Message) error {
			x, size := listedMessage{Tag: m.Tag}, ""
			if m.Bytes != trace.Undefined {
				x.Bytes, size = &m.Bytes, strconv.FormatUint(m.Bytes, 10)
			}
			x.Source, x.SourceName = d.LocationName(m.Source)
			x.Destination, x.DestinationName = d.LocationName(m.Destination)
			if m.Communicator < uint64(d.Communicator.Len()) {
				c := d.Communicator.At(uint32(m.Communicator))
				x.Communicator = cmp.Or(c.Name, c.ID)
			}
			l := []string{x.Source, x.Destination, x.Communicator, strconv.FormatInt(x.Tag, 10), size}
			for _, t := range []struct {
				at int64
				to **int64
			}{{m.Send, &x.Send}, {m.SendComplete, &x.SendComplete}, {m.RecvBegin, &x.RecvBegin}, {m.Recv, &x.Recv}} {
				if t.at == messages.NoTime {
					l = append(l, "")
					continue
				}
				*t.to = &t.at
				l = append(l, d.Clock.FormatSeconds(t.at))
			}
			switch {
			case o.json:
				return lines.Encode(&x)
			case o.csv:
				return rows.Write(append(l, x.SourceName, x.DestinationName))
			}
			l[0], l[1] = label(m.Source), label(m.Destination)
			return text(l)
		}})
	if err := in.inOrder(ctx, window, format.KindReduction(kindsFor(sel, messages.Needs)), p, p.Complete); err != nil {
		return err
	}
	if err := p.Finish(); err != nil {
		return err
	}
	a.noteNoMessage(in, &o.selectionFlags, p.Result(), quiet)
	rows.Flush()
	if err := rows.Error(); err != nil {
		return err
	}
	return w.Flush()
}
