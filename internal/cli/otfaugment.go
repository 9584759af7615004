package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/format/otf"
	"github.com/weft-trace/weft/trace"
)

// augmenting holds the flags of commands that add something at break points.
type augmenting struct {
	reading
	what   string
	count  int
	every  string
	at     []string
	remove bool
	output string
	asJSON bool
}

func (a *app) otfSnapshotsCommand() *cobra.Command {
	return a.augmentCommand("snapshots", `Write snapshots into an OTF 1 trace: what each process is doing at regular times,
so that a reader can begin there. A snapshot has the call stack, messages that are
on their way, open files, collective and file operations that are going on, and
the counters' last values. Snapshots that are there are replaced.`)
}

func (a *app) otfSummariesCommand() *cobra.Command {
	return a.augmentCommand("summaries", `Write summaries into an OTF 1 trace: what each process has done so far, at regular
times and behind the last event, by function, function group, collective
operation, file and file group, and for messages. What it did in an interval is the
difference of two. Summaries that are there are replaced.`)
}

// augmentCommand makes the command for snapshots or summaries.
func (a *app) augmentCommand(what, long string) *cobra.Command {
	x := augmenting{what: what}
	c := &cobra.Command{
		Use:   what + " TRACE",
		Short: "Add " + what + " to an OTF 1 trace, or remove them",
		Long: long + `

The times are --count regular ones, or one --every so often, or those --at given
times (alone, or with one of the others). The definitions list them; events and other
files are not touched. --output leaves the trace as it is and makes a copy of it.`,
		Example: fmt.Sprintf("  weft otf %s trace.otf\n  weft otf %[1]s --every 10ms --output new.otf trace.otf\n  weft otf %[1]s --remove trace.otf", what),
		Args:    exactArgs(1, "one trace"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.augment(c, args[0], &x)
		},
	}
	x.flags(c.Flags())
	c.Flags().IntVar(&x.count, "count", otf.DefaultPoints, "number of equal parts that the times divide the trace into")
	c.Flags().StringVar(&x.every, "every", "", "distance of the times: 10ms, 0.5s, ticks")
	c.Flags().StringSliceVar(&x.at, "at", nil, "times: 1.5ms, 3s, 20%, ticks; counted from the first event, or with @ the trace's own")
	c.Flags().BoolVar(&x.remove, "remove", false, "remove them instead")
	c.Flags().StringVarP(&x.output, "output", "o", "", "master file of a copy that gets them instead of TRACE")
	c.Flags().BoolVar(&x.asJSON, "json", false, "print JSON")
	return c
}

func (a *app) augment(c *cobra.Command, arg string, x *augmenting) error {
	set := c.Flags().Changed
	switch {
	case set("count") && set("every"):
		return usageError("found --count and --every, expected one of them")
	case x.remove && (set("count") || set("every") || set("at")):
		return usageError("found --remove and times, expected one of them")
	case set("count") && (x.count < 1 || x.count > 1<<20):
		return usageError("--count %d: expected 1 to %d", x.count, 1<<20)
	}
	in, err := a.otfSource(c.Context(), arg, &x.reading)
	if err != nil {
		return err
	}
	defer in.Close()
	points := []uint64{}
	opt := &otf.AugmentOptions{Read: in.opt, Snapshots: x.what == "snapshots", Summaries: x.what == "summaries", Remove: x.remove, Output: x.output,
		Points: func(r otf.TimeRange) ([]uint64, error) {
			var err error
			points, err = x.points(r, set("count") || !set("at"))
			return points, err
		}}
	if err := otf.Augment(c.Context(), arg, opt); errors.Is(err, otf.ErrSameTrace) {
		return usageError("--output: %w", err)
	} else if errors.Is(err, otf.ErrNoEvents) {
		return &exitError{exitDefects, err}
	} else if err != nil {
		return err
	}
	in.bar.done()
	a.tell(in, x.quiet)
	if !x.asJSON {
		return nil
	}
	slices.Sort(points)
	path := arg
	if x.output != "" {
		path = x.output
	}
	return a.writeJSON(a.out, struct {
		Trace   string   `json:"trace"`
		What    string   `json:"what"`
		Removed bool     `json:"removed,omitempty"`
		Times   []uint64 `json:"times"`
	}{path, x.what, x.remove, slices.Compact(points)})
}

// openFiles is how many files of a trace are open at once.
const openFiles = 32

// otfSource opens a trace that must be OTF 1, in files.
func (a *app) otfSource(ctx context.Context, arg string, r *reading) (*input, error) {
	if arg == "-" {
		return nil, usageError("an OTF trace has several files and cannot be read from standard input")
	}
	in, err := a.source(ctx, arg, r)
	if err == nil && in.format != (otf.Format{}) {
		in.Close()
		err = usageError("%s: found %s, expected %s", arg, in.format.About().Title, otf.Format{}.About().Title)
	}
	return in, err
}

// points are the break points that the flags ask for.
func (x *augmenting) points(r otf.TimeRange, regular bool) ([]uint64, error) {
	var points []uint64
	for _, s := range x.at {
		t, err := otfTime(s, r)
		if err != nil {
			return nil, usageError("--at: %w", err)
		}
		points = append(points, t)
	}
	choose := otf.Regular(x.count)
	switch {
	case x.every != "":
		d, err := otfClock(r).ParseDuration(x.every)
		if err == nil && d < 1 {
			err = fmt.Errorf("%s: found %d ticks, expected at least 1", x.every, d)
		}
		if err != nil {
			return nil, usageError("--every: %w", err)
		}
		choose = otf.Every(uint64(d))
	case !regular:
		return points, nil
	}
	more, err := choose(r)
	if err != nil {
		return nil, usageError("%w", err)
	}
	return append(points, more...), nil
}

func otfClock(r otf.TimeRange) trace.Clock {
	return trace.Seconds(int64(min(max(r.TicksPerSecond, 1), math.MaxInt64)))
}

// otfTime reads a time as other commands do. Theirs have 63 bits; times beyond count
// from the first event only.
func otfTime(s string, r otf.TimeRange) (uint64, error) {
	base := uint64(0)
	if r.Last > math.MaxInt64 && !strings.HasPrefix(strings.TrimSpace(s), "@") {
		base = r.First
	}
	t, err := otfClock(r).ParseTime(s, int64(r.First-base), int64(min(r.Last-base, math.MaxInt64)))
	if err != nil {
		return 0, err
	}
	if t < 0 && uint64(-t) > base {
		return 0, fmt.Errorf("time %q: found %d ticks, expected 0 or more", s, t)
	}
	return base + uint64(t), nil
}

func (a *app) otfSummaryCommand() *cobra.Command {
	var r reading
	var process, from, to string
	var asJSON bool
	c := &cobra.Command{
		Use:   "summary TRACE",
		Short: "Sum up what a process of an OTF 1 trace did in an interval",
		Long: `Sum up what a process did from one time to another: calls and time by function and
function group, messages, collective operations, accesses by file and file group.
Where the trace has summaries at both times nothing else is read; where it has
summaries and snapshots (see weft otf summaries, weft otf snapshots) little else.

The inclusive time of a function is the sum over its calls, so that time in recursive
calls counts more than once; that of a group is the sum over its functions.`,
		Example: "  weft otf summary --process 1 trace.otf\n  weft otf summary --process \"rank 0\" --from 10% --to 1.5s --json trace.otf",
		Args:    exactArgs(1, "one trace"),
		RunE: func(c *cobra.Command, args []string) error {
			if process == "" {
				return usageError("found no --process, expected one; see weft otf summary --help")
			}
			in, err := a.otfSource(c.Context(), args[0], &r)
			if err != nil {
				return err
			}
			defer in.Close()
			q, err := a.summarize(c.Context(), in, process, from, to)
			if err != nil {
				return err
			}
			in.bar.done()
			if asJSON {
				err = a.writeJSON(a.out, q)
			} else {
				q.print(a)
			}
			a.tell(in, r.quiet)
			return err
		},
	}
	r.flags(c.Flags())
	c.Flags().StringVar(&process, "process", "", "the process, by number or name")
	c.Flags().StringVar(&from, "from", "", "first time wanted: 1.5ms, 3s, 20%, ticks; counted from the first event, or with @ the trace's own")
	c.Flags().StringVar(&to, "to", "", "end of the times wanted, exclusive")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// The sums of an interval, as JSON has them.
type (
	intervalSums struct {
		Process        string        `json:"process"`
		Name           string        `json:"name,omitempty"`
		From           uint64        `json:"from"`
		To             uint64        `json:"to"`
		Functions      []callSums    `json:"functions"`
		FunctionGroups []callSums    `json:"functionGroups"`
		Messages       messageSums   `json:"messages"`
		Collectives    []messageSums `json:"collectives"`
		Files          []accessSums  `json:"files"`
		FileGroups     []accessSums  `json:"fileGroups"`
		ticksPerSecond uint64
	}
	named struct {
		ID   string `json:"id,omitempty"`
		Name string `json:"name,omitempty"`
	}
	callSums struct {
		named
		Count     uint64 `json:"count"`
		Exclusive uint64 `json:"exclusive"`
		Inclusive uint64 `json:"inclusive"`
	}
	messageSums struct {
		named
		Sent          uint64 `json:"sent"`
		Received      uint64 `json:"received"`
		SentBytes     uint64 `json:"sentBytes"`
		ReceivedBytes uint64 `json:"receivedBytes"`
	}
	accessSums struct {
		named
		Opens        uint64 `json:"opens"`
		Closes       uint64 `json:"closes"`
		Reads        uint64 `json:"reads"`
		Writes       uint64 `json:"writes"`
		Seeks        uint64 `json:"seeks"`
		BytesRead    uint64 `json:"bytesRead"`
		BytesWritten uint64 `json:"bytesWritten"`
	}
)

// summarize reads the sums of an interval.
func (a *app) summarize(ctx context.Context, in *input, process, from, to string) (*intervalSums, error) {
	r, err := otf.Open(ctx, in.src, &otf.Options{Read: in.opt, Files: otf.NewFileManager(openFiles)})
	if err != nil {
		return nil, err
	}
	names, span, err := otfNames(ctx, r)
	if err != nil {
		return nil, err
	}
	id, err := names.process(r.Master(), process)
	if err != nil {
		return nil, err
	}
	if err := otfSpan(ctx, r, &span, to == "" || strings.Contains(from+to, "%")); err != nil {
		return nil, err
	}
	q := &intervalSums{Process: strconv.FormatUint(id, 10), Name: names[nameKey{0, otf.DefProcess, id}], From: span.First, To: span.Last + 1, ticksPerSecond: max(1, span.TicksPerSecond),
		Functions: []callSums{}, FunctionGroups: []callSums{}, Collectives: []messageSums{}, Files: []accessSums{}, FileGroups: []accessSums{}}
	if from != "" {
		if q.From, err = otfTime(from, span); err != nil {
			return nil, usageError("--from: %w", err)
		}
	}
	if to != "" {
		if q.To, err = otfTime(to, span); err != nil {
			return nil, usageError("--to: %w", err)
		}
	}
	if q.From > q.To {
		return nil, usageError("found an interval from %d to %d ticks, expected an end that is not before the beginning", q.From, q.To)
	}
	list, err := r.Summary(ctx, id, q.From, q.To)
	if err != nil {
		return nil, err
	}
	stream, _ := r.Master().Stream(uint32(id))
	for i := range list {
		q.add(&list[i], names, stream)
	}
	return q, nil
}

// nameKey is what has a name: a token of a type of definition, in a stream, 0 for all.
type nameKey struct {
	stream uint32
	typ    otf.Type
	token  uint64
}

type otfNaming map[nameKey]string

// otfNames reads the names of what is summed up, and the resolution.
func otfNames(ctx context.Context, r *otf.Reader) (otfNaming, otf.TimeRange, error) {
	names, span := otfNaming{}, otf.TimeRange{TicksPerSecond: 1_000_000} // the format's own word
	c, err := r.Cursor(ctx, otf.Definitions)
	if err != nil {
		return nil, span, err
	}
	defer c.Close()
	for c.Next() {
		switch d := c.Record(); d.Type {
		case otf.DefTimerResolution:
			span.TicksPerSecond = d.TicksPerSecond
		case otf.DefProcess, otf.DefFunction, otf.DefFunctionGroup, otf.DefCollectiveOperation, otf.DefFile, otf.DefFileGroup:
			names[nameKey{d.Stream, d.Type, d.Token}] = trace.Text(strings.Clone(d.Name))
		}
	}
	return names, span, c.Err()
}

// of names something that a record of a stream tells of.
func (n otfNaming) of(stream uint32, typ otf.Type, token uint64) named {
	name, ok := n[nameKey{stream, typ, token}]
	if !ok {
		name = n[nameKey{0, typ, token}]
	}
	return named{strconv.FormatUint(token, 10), name}
}

// process finds a process by its number, or else by its name.
func (n otfNaming) process(m *otf.MasterControl, s string) (uint64, error) {
	if id, err := strconv.ParseUint(s, 10, 32); err == nil {
		if _, ok := m.Stream(uint32(id)); ok {
			return id, nil
		}
	}
	var found []uint64
	for k, name := range n {
		if _, ok := m.Stream(uint32(k.token)); ok && k.typ == otf.DefProcess && name == s {
			found = append(found, k.token)
		}
	}
	slices.Sort(found)
	if found = slices.Compact(found); len(found) != 1 {
		return 0, usageError("--process %s: found %d processes of this name, expected the number or name of one", s, len(found))
	}
	return found[0], nil
}

// otfSpan finds the time of the first event, and that of the last one if the whole trace
// is to be read for it.
func otfSpan(ctx context.Context, r *otf.Reader, span *otf.TimeRange, whole bool) error {
	c, err := r.Cursor(ctx, otf.Events)
	if err != nil {
		return err
	}
	defer c.Close()
	if c.Next() {
		span.First, span.Last = c.Record().Time, c.Record().Time
	}
	for whole && c.Next() {
		span.Last = max(span.Last, c.Record().Time)
	}
	return c.Err()
}

// add takes a record of the sums of a process of a stream.
func (q *intervalSums) add(r *otf.Record, names otfNaming, stream uint32) {
	calls := func(n named) callSums { return callSums{n, r.Count, r.Exclusive, r.Inclusive} }
	messages := func(n named) messageSums { return messageSums{n, r.SentCount, r.ReceivedCount, r.Sent, r.Received} }
	accesses := func(n named) accessSums {
		return accessSums{n, r.Opens, r.Closes, r.Reads, r.Writes, r.Seeks, r.BytesRead, r.BytesWritten}
	}
	switch r.Type {
	case otf.FunctionSummary:
		q.Functions = append(q.Functions, calls(names.of(stream, otf.DefFunction, r.Function)))
	case otf.FunctionGroupSummary:
		q.FunctionGroups = append(q.FunctionGroups, calls(names.of(stream, otf.DefFunctionGroup, r.Group)))
	case otf.MessageSummary:
		q.Messages = messages(named{})
	case otf.CollectiveSummary:
		q.Collectives = append(q.Collectives, messages(names.of(stream, otf.DefCollectiveOperation, r.Collective)))
	case otf.FileOperationSummary:
		q.Files = append(q.Files, accesses(names.of(stream, otf.DefFile, r.File)))
	case otf.FileGroupOperationSummary:
		q.FileGroups = append(q.FileGroups, accesses(names.of(stream, otf.DefFileGroup, r.Group)))
	}
}

// duration writes a length for people; it may have all 64 bits.
func (q *intervalSums) duration(ticks uint64) string {
	return trace.FormatFloatSeconds(float64(ticks) / float64(q.ticksPerSecond))
}

// print writes the sums as text.
func (q *intervalSums) print(a *app) {
	printf(a.out, "Process    %s\nTimes      %d to %d, %s\n", named{q.Process, q.Name}, q.From, q.To, q.duration(q.To-q.From))
	fmt.Fprintf(a.out, "Sent       %d messages, %d bytes\nReceived   %d messages, %d bytes\n", q.Messages.Sent, q.Messages.SentBytes, q.Messages.Received, q.Messages.ReceivedBytes)
	section := func(n int, head table.Row, row func(i int) table.Row) {
		if n == 0 {
			return
		}
		fmt.Fprintln(a.out)
		t := newTable(a.out)
		t.AppendHeader(head)
		for i := range n {
			t.AppendRow(row(i))
		}
		t.Render()
	}
	calls := func(what string, l []callSums) {
		section(len(l), table.Row{what, "calls", "exclusive", "inclusive"}, func(i int) table.Row {
			return table.Row{l[i].named, l[i].Count, q.duration(l[i].Exclusive), q.duration(l[i].Inclusive)}
		})
	}
	accesses := func(what string, l []accessSums) {
		section(len(l), table.Row{what, "opens", "closes", "reads", "writes", "seeks", "bytes read", "bytes written"}, func(i int) table.Row {
			return table.Row{l[i].named, l[i].Opens, l[i].Closes, l[i].Reads, l[i].Writes, l[i].Seeks, l[i].BytesRead, l[i].BytesWritten}
		})
	}
	calls("function", q.Functions)
	calls("function group", q.FunctionGroups)
	section(len(q.Collectives), table.Row{"collective operation", "sent", "received", "bytes sent", "bytes received"}, func(i int) table.Row {
		x := &q.Collectives[i]
		return table.Row{x.named, x.Sent, x.Received, x.SentBytes, x.ReceivedBytes}
	})
	accesses("file", q.Files)
	accesses("file group", q.FileGroups)
}

// String is the name, or the number of what has none.
func (n named) String() string {
	if n.Name == "" {
		return n.ID
	}
	return n.Name
}
