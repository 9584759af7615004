package cli

import (
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/analysis/collectives"
	"github.com/weft-trace/weft/analysis/messages"
	"github.com/weft-trace/weft/analysis/rma"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// commResult is the JSON of weft comm (docs/json/comm.md).
type commResult struct {
	heading
	bounds
	Messages    *messages.Result    `json:"messages"`
	Collectives *collectives.Result `json:"collectives"`
	RMA         *rma.Result         `json:"rma"`
	// Saturated reports that a sum of bytes exceeds 64 bits.
	Saturated bool `json:"saturated,omitempty"`
}

// hasSaturatedSums reports whether a sum of bytes exceeds 64 bits.
func (c *commResult) hasSaturatedSums() bool {
	more := c.Messages.Saturated || c.RMA.Bytes == math.MaxUint64
	for _, o := range c.Collectives.Operations {
		more = more || max(o.Sent, o.Received) == math.MaxUint64
	}
	return more
}

// reportSaturated prints a warning that sums of bytes exceed 64 bits.
func (a *app) reportSaturated(saturated bool, r *inputFlags) {
	if saturated && !r.quiet {
		fmt.Fprintf(a.err, "Sums of bytes exceed 64 bits: %d stands for all greater sums\n",
			uint64(math.MaxUint64))
	}
}

// Names of the tables of weft comm.
const (
	showMatrix      = "matrix"
	showSizes       = "sizes"
	showCollectives = "collectives"
	showRMA         = "rma"
)

// maxListedSizes is the greatest number of message sizes that the text lists separately. More sizes are
// grouped by powers of 2.
const maxListedSizes = 24

var commTables = []string{showMatrix, showSizes, showCollectives, showRMA}

// commCommand returns the command weft comm.
func (a *app) commCommand() *cobra.Command {
	var r inputFlags
	var s selectionFlags
	var asJSON, asCSV bool
	var show []string
	var top int
	c := &cobra.Command{
		Use:   "comm TRACE",
		Short: "Sum up messages, collective operations and remote memory access",
		Long: `Show the messages between each pair of locations with their sizes and latencies, the
sends and receives without a partner, and the collective operations of each communicator.

weft matches sends with receives first in, first out by source, destination, tag and, if the
trace has it, communicator. Receives are in the order in which they are posted. Latency is the
time from a send to its receive. If messages are received before they are sent, the clocks
differ and latencies are not reliable; weft align computes the differences of the clocks.

The n-th calls of all members of a communicator form one collective operation. WAIT is the
time from the arrival of the first member to that of the last one.

Puts, gets and atomic operations of remote memory access (RMA) are counted by origin and
target, with the time from begin to completion.

--location and --group count only communication in which one of these locations takes part,
as sender or receiver, origin or target, or member. --window, or --from and --to, counts
only communication in a window; a message belongs to the time at which it is sent. weft then
reads the trace to the end of the window, and further until it has found the other sides of
all communication in the window. --region counts communication in visits of these regions:
messages whose send or receive is in such a visit, and collective operations and transfers
of which a call begins in such a visit. With --location, the visit must be at one of these
locations.

weft messages lists the messages one by one, and counts them over time.`,
		Example: "  weft comm trace.otf2\n  weft comm --window 20%..40% --show matrix --top 10 trace.otf\n" +
			"  weft comm --csv --show sizes trace.trf > sizes.csv\n" +
			"  weft align --correction clocks.json trace.otf2 && weft comm --clock-correction clocks.json trace.otf2",
		Args: exactArgs(1, "one trace"),
		RunE: func(c *cobra.Command, args []string) error {
			if asJSON && asCSV {
				return usageError("--json and --csv: expected one of them")
			}
			for _, x := range show {
				if _, err := wordIndex("--show", x, commTables...); err != nil {
					return err
				}
			}
			if asCSV && len(show) > 1 {
				return usageError("--csv: found several tables to show, expected one")
			}
			in, err := a.open(c.Context(), args[0], &r)
			return a.answer(in, err, false, &r, func(in *input) (any, func() error, error) {
				x, err := a.comm(c.Context(), in, &s)
				if err == nil && x.Messages.Sent+x.Messages.Received == 0 {
					a.noteMarks(in, r.quiet)
				}
				return nil, func() error {
					a.reportSaturated(x.Saturated, &r)
					switch {
					case asJSON:
						return a.writeJSON(a.out, x)
					case asCSV:
						return a.writeCommCSV(x, in.Defs().Clock, append(show, showMatrix)[0])
					}
					a.printComm(x, in.Defs(), show, top)
					return nil
				}, err
			})
		},
	}
	defineAnalysisFlags(c.Flags(), &r, &s)
	c.Flags().Var((*nameList)(&show), "show",
		"tables to show: "+strings.Join(commTables, ", ")+"; all if not given, with --csv the matrix")
	registerCompletions(c, "show", commTables...)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&asCSV, "csv", false, "print a table as comma-separated values, times in seconds")
	c.Flags().Var(newInteger(&top, 50, 0, 0), "top",
		"how many lines of each table to show; 0 shows all, as --json and --csv do")
	return c
}

// comm scans a trace in time order, so that only open messages and operations need memory.
func (a *app) comm(ctx context.Context, in *input, s *selectionFlags) (*commResult, error) {
	sel, err := s.selection(ctx, in)
	if err != nil {
		return nil, err
	}
	in.keepInvolving(sel.Location)
	d := in.Defs()
	x := &commResult{heading: in.heading()}
	var window *trace.Window
	x.bounds, window = s.selectedBounds(sel)
	m := messages.New(d, messages.Options{Latency: true, Window: window, Regions: sel.Region,
		Locations: sel.Location})
	o := collectives.New(d, collectives.Options{Window: window, Regions: sel.Region, Locations: sel.Location})
	// Messages and operations in the window can have partners outside of it.
	needs := kindsFor(&sel, messages.Needs, collectives.Needs, rma.Needs)
	t := rma.New(d, rma.Options{Window: window, Regions: sel.Region})
	err = in.inOrder(ctx, window, format.KindReduction(needs), format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
		for _, part := range []format.Sink{m, o, t} {
			if err := part.Batch(b); err != nil {
				return err
			}
		}
		return nil
	}}, func() bool { return m.Complete() && o.Complete() && t.Complete() })
	x.Messages, x.Collectives, x.RMA = m.Result(), o.Result(), t.Result()
	x.Saturated = x.hasSaturatedSums()
	if s.anySet() && x.Messages.Sent+x.Messages.Received+x.RMA.Count == 0 && len(x.Collectives.Operations) == 0 {
		in.notFound = "found no message, collective operation or transfer"
	}
	return x, err
}

// meanText formats sum / n for text.
func meanText(c trace.Clock, sum trace.Ticks, n int64) string {
	if n == 0 {
		return "–"
	}
	return c.FormatMean(sum, n)
}

// printComm prints the tables named in show, or all tables.
func (a *app) printComm(x *commResult, d *trace.Definitions, show []string, top int) {
	m, clock := x.Messages, d.Clock
	label, _ := locationNames(d)
	a.printMatching(m)
	f := clock.FormatDuration
	if l := m.Latency; l.Count > 0 {
		printf(a.out, "Latency    min %s, median %s, mean %s, 90 %% %s, 99 %% %s, max %s\n", f(l.Min), f(l.Median),
			meanText(clock, l.Sum, l.Count), f(l.P90), f(l.P99), f(l.Max))
		printf(a.out, "Longest    from %s to %s, sent at %s s, received at %s s\n", label(l.Longest.Source),
			label(l.Longest.Destination), clock.FormatSeconds(l.Longest.Sent), clock.FormatSeconds(l.Longest.Received))
	}
	early := int64(0)
	for _, o := range x.Collectives.Operations {
		early += o.Early
	}
	if early > 0 {
		fmt.Fprintf(a.out, "Early      %s left before all had come\n", plural.Of(early, "collective operation"))
	}
	if m.Early+early > 0 {
		fmt.Fprintln(a.out,
			"Clocks     differ, or records are missing: latencies and waits are not to be trusted; see weft align")
	}
	wanted := func(what string) bool { return len(show) == 0 || slices.Contains(show, what) }
	if wanted(showMatrix) {
		a.printList("pairs", len(m.Matrix), top,
			table.Row{"from", "to", "messages", "bytes", "min", "mean", "max", "max sent at",
				"early"},
			func(i int) table.Row {
				c := m.Matrix[i]
				row := table.Row{label(c.Source), label(c.Destination), c.Count, c.Bytes, "–", "–", "–", "–", "–"}
				if l := c.Latency; l != nil {
					row = append(row[:4], f(l.Min), meanText(clock, l.Sum, l.Count), f(l.Max),
						clock.FormatSeconds(l.Longest.Sent)+" s", l.Early)
				}
				return row
			})
	}
	if wanted(showSizes) {
		sizes := m.Sizes
		if len(sizes) > maxListedSizes {
			sizes = messages.GroupByPowerOfTwo(sizes)
		}
		a.printSizes(sizes, top)
		if n := len(m.Sizes); len(sizes) < n {
			fmt.Fprintf(a.out, "  of %s (--csv --show sizes lists them)\n", plural.Of(n, "size"))
		}
	}
	if wanted(showCollectives) {
		l := x.Collectives.Operations
		a.printList("operations", len(l), top,
			table.Row{"communicator", "operation", "members", "calls", "sent", "received", "mean", "max", "matched", "mean wait",
				"max wait"}, func(i int) table.Row {
				o := &l[i]
				row := table.Row{o.Label, operationLabel(o), o.Members, o.Calls, o.Sent, o.Received, "–", "–",
					o.Matched, "–", "–"}
				if t := o.Time; t.Count > 0 {
					row[6], row[7] = meanText(clock, t.Sum, t.Count), f(t.Max)
				}
				if w := o.Waiting; w.Count > 0 {
					row[9], row[10] = meanText(clock, w.Sum, w.Count), f(w.Max)
				}
				return row
			})
	}
	if wanted(showRMA) {
		a.printRMA(x.RMA, d, top)
	}
}

// printRMA prints the table of remote memory accesses, if there are any.
func (a *app) printRMA(x *rma.Result, d *trace.Definitions, top int) {
	if x.Count == 0 {
		return
	}
	clock := d.Clock
	label, _ := locationNames(d)
	a.printList("transfers", len(x.Transfers), top,
		table.Row{"origin", "target", "operation", "transfers", "bytes", "min", "mean", "max"}, func(i int) table.Row {
			t := &x.Transfers[i]
			row := table.Row{label(t.Origin), label(t.Target), t.Operation, t.Count, t.Bytes, "–", "–", "–"}
			if t.Completed > 0 {
				row = append(row[:5], clock.FormatDuration(t.Min), meanText(clock, t.Sum, t.Completed), clock.FormatDuration(t.Max))
			}
			return row
		})
}

// operationLabel returns the name of an operation for text.
func operationLabel(o *collectives.Operation) string {
	if o.NonBlocking {
		return o.Name + " (non-blocking)"
	}
	return o.Name
}

// writeCommCSV writes a table as CSV, with a line for each pair, size or operation of a communicator.
func (a *app) writeCommCSV(x *commResult, c trace.Clock, table string) error {
	w := csv.NewWriter(a.out)
	n := func(v int64) string { return strconv.FormatInt(v, 10) }
	size := func(v uint64) string { return strconv.FormatUint(v, 10) }
	// times returns the least, mean and greatest duration, or empty fields if count is 0.
	times := func(count int64, sum trace.Ticks, least, most int64) []string {
		if count == 0 {
			return []string{"", "", ""}
		}
		return []string{c.FormatSeconds(least), exactMean(c, sum, count), c.FormatSeconds(most)}
	}
	var rows [][]string
	switch table {
	case showMatrix:
		rows = append(rows, []string{"from", "to", "messages", "bytes", "matched", "received_before_sent", "latency_min",
			"latency_mean", "latency_max", "from_name", "to_name", "latency_max_sent"})
		for _, m := range x.Messages.Matrix {
			l, sent := m.Latency, ""
			if l == nil {
				l = &messages.Transfer{}
			} else {
				sent = c.FormatSeconds(l.Longest.Sent)
			}
			rows = append(rows, append([]string{m.SourceID, m.DestinationID, n(m.Count), size(m.Bytes), n(l.Count), n(l.Early)},
				append(times(l.Count, l.Sum, l.Min, l.Max), m.SourceName, m.DestinationName, sent)...))
		}
	case showSizes:
		rows = append(rows, []string{"least", "most", "messages", "bytes"})
		for _, s := range x.Messages.Sizes {
			rows = append(rows, []string{size(s.Least), size(s.Most), n(s.Count), size(s.Bytes)})
		}
	case showCollectives:
		rows = append(rows, []string{"communicator", "communicator_name", "operation", "non_blocking", "members", "calls",
			"sent_bytes", "received_bytes", "time", "time_min", "time_mean", "time_max",
			"matched", "left_before_entered", "wait", "wait_min", "wait_mean", "wait_max"})
		for _, o := range x.Collectives.Operations {
			t, v := o.Time, o.Waiting
			l := []string{o.CommunicatorID, o.CommunicatorName, o.Name, strconv.FormatBool(o.NonBlocking),
				strconv.Itoa(o.Members), n(o.Calls), size(o.Sent), size(o.Received), c.FormatSumSeconds(t.Sum)}
			l = append(append(l, times(t.Count, t.Sum, t.Min, t.Max)...), n(o.Matched), n(o.Early), c.FormatSumSeconds(v.Sum))
			rows = append(rows, append(l, times(v.Count, v.Sum, v.Min, v.Max)...))
		}
	case showRMA:
		rows = append(rows, []string{"origin", "target", "operation", "transfers", "bytes", "completed", "time_min",
			"time_mean", "time_max", "origin_name", "target_name"})
		for _, t := range x.RMA.Transfers {
			l := []string{t.OriginID, t.TargetID, t.Operation, n(t.Count), size(t.Bytes), n(t.Completed)}
			rows = append(rows, append(append(l, times(t.Completed, t.Sum, t.Min, t.Max)...), t.OriginName, t.TargetName))
		}
	}
	return w.WriteAll(rows)
}
