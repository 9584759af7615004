package cli

import (
	"cmp"
	"context"
	"io"
	"sync/atomic"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// rewriteFlags holds the flags of the commands that write a changed trace. All of these commands take
// all of these flags. They apply them in one pass: first the clock correction, then the cut, then the
// filter.
type rewriteFlags struct {
	inputFlags
	as        string
	asFlag    string // name of the flag that sets the field as
	json      bool
	allowLoss bool
	plain     bool
	prune     bool
	piece     pieceFlags
	filter    filterFlags
	// definitions holds the definitions to which the filter's patterns refer.
	definitions *trace.Definitions
	lostBefore  func() *format.Loss // losses before encoding; can be nil
	// listsDefects is set if the command itself lists the reader's defects.
	listsDefects bool
}

// flags defines the flags.
func (rf *rewriteFlags) flags(f *pflag.FlagSet) {
	rf.inputFlags.flags(f)
	rf.defineClockFlag(f)
	f.StringVar(&rf.as, "as", "", "format of OUT, if its name does not determine it")
	f.BoolVar(&rf.json, "json", false, "print the changes and losses as JSON")
	f.BoolVar(&rf.allowLoss, "allow-loss", false, "write OUT even if the format of OUT cannot keep everything")
	definePlainFlag(f, &rf.plain)
	f.BoolVar(&rf.prune, "prune", false, "leave out definitions to which nothing in OUT refers")
	p := &rf.piece
	f.StringVar(&p.from, "from", "",
		"begin of the selected times: 1.5ms, 3s, 20%, ticks; relative to the first event, or with @ to the trace's time 0")
	f.StringVar(&p.to, "to", "", "end of the selected times, exclusive")
	f.StringVar(&p.window, "window", "",
		"--from and --to in one flag: 20%..30%, 1.5ms..2ms, @-5..@7; a missing side is unlimited")
	f.StringVar(&p.percent, "percent", "", "begin and end of the selected times, in percent of the trace's length: 40-60")
	f.StringVar(&p.around, "around", "", "select the times from --margin before this time to --margin after it")
	f.StringVar(&p.event, "event", "",
		"select the times around the first event of a kind (KIND, as in --kind) or around the N-th one (KIND#N); "+
			"see --margin")
	f.StringVar(&p.occurrence, "occurrence", "",
		"select the times of the first visit or claim of a region (REGION) or of the N-th one (REGION#N); "+
			"see --margin")
	f.BoolVar(&p.each, "each", false,
		"with --occurrence: select the times from the first begin to the last end of the N-th visits at all locations")
	f.StringVar(&p.margin, "margin", "",
		"time to add before and after --around, --event and --occurrence: 1.5ms, 3s, ticks")
	f.StringVar(&p.borders, "borders", "reopen",
		"how to treat calls and messages that cross a border of the piece: reopen begins and ends them at the "+
			"border; bare leaves them incomplete, without reading the events before the piece")
	y := &rf.filter
	for _, l := range []struct {
		list, not *[]string
		name, doc string
	}{
		{&y.locations, &y.notLocations, "location", "events of locations with this id or name"},
		{&y.groups, &y.notGroups, "group", "events of locations in groups (processes, nodes) with this id or name"},
		{&y.regions, &y.notRegions, "region", "events of regions with this id or name"},
		{&y.kinds, &y.notKinds, "kind", "these kinds of events, " + kindsHelp + "; applies to a begin and its end together"},
		{&y.communicators, &y.notCommunicators, "communicator",
			"events of communicators with this id or name, and of their windows"},
	} {
		doc := "; * and ? match anything, re: begins a regular expression"
		if l.name == "kind" {
			doc = ""
		}
		f.Var((*nameList)(l.list), l.name, "keep "+l.doc+doc)
		f.Var((*nameList)(l.not), "not-"+l.name, "leave out "+l.doc)
	}
	f.Var(&y.attributes, "attribute", "keep visits of regions, claims and marks whose attribute has one of these values, "+
		"NAME=VALUE,…; * and ? match anything; if it is given several times, all must match")
	f.Var(&y.notAttributes, "not-attribute",
		"leave out visits of regions, claims and marks with these values of an attribute")
	f.StringVar(&y.minDuration, "min-duration", "",
		"leave out visits of regions and claims that are shorter than this: 20us, ticks")
	f.Var(newInteger(&y.maxDepth, 0, 0, 0), "max-depth",
		"leave out regions that are nested in this many or more kept regions; 0 keeps all")
}

// changesTrace reports whether the flags request a piece, a filter or pruning.
func (rf *rewriteFlags) changesTrace() bool {
	_, filters, err := rf.filter.wanted(&trace.Definitions{Clock: trace.TicksPerSecond(1)})
	return rf.piece.selectsPiece() || filters || err != nil || rf.prune
}

// inputFlagsOnly returns the flags for opening the file. They lack the clock correction, which the
// transformation applies later.
func (rf *rewriteFlags) inputFlagsOnly() *inputFlags {
	r := rf.inputFlags
	r.correction = ""
	return &r
}

// transform applies the flags to a trace: first the clock correction, then the piece, then the
// filter.
func (rf *rewriteFlags) transform(ctx context.Context, d format.Events) (format.Events, error) {
	if err := d.Prepare(ctx); err != nil {
		return nil, err
	}
	d, err := rf.correct(d) // correct needs the definitions of the locations to which the correction refers
	if err != nil {
		return nil, err
	}
	if err := d.Prepare(ctx); err != nil {
		return nil, err
	}
	rf.definitions = d.Defs()
	wanted, filters, err := rf.filter.wanted(rf.definitions)
	if err != nil {
		return nil, err
	}
	if rf.piece.selectsPiece() || rf.piece.margin != "" {
		w, err := rf.piece.times(ctx, d)
		if err != nil {
			return nil, err
		}
		var reads func(uint32) bool
		if wanted.Location != nil {
			reads = wanted.Reads
		}
		cut := func(d format.Events, w trace.Window) format.Events {
			if rf.piece.running {
				return transform.CutRunning(d, w, reads)
			}
			return transform.CutAt(d, w, reads)
		}
		make := []func(format.Events, trace.Window) format.Events{cut, transform.SelectWindow}
		how, err := wordIndex("--borders", rf.piece.borders, borders...)
		if err != nil {
			return nil, err
		}
		d = make[how](d, w)
	}
	if filters {
		d = transform.Filter(d, wanted)
	}
	return d, nil
}

// rewriteResult is the JSON of commands that write a changed trace (docs/json/cut.md).
type rewriteResult struct {
	Input  []string         `json:"input"`
	Output string           `json:"output"`
	Format string           `json:"format"`
	Events int64            `json:"events"`
	Links  int64            `json:"links"`
	Loss   []format.LossRow `json:"loss"`
	// Changes lists the changes of weft repair.
	Changes []checkRule `json:"changes,omitempty"`
}

// writeRewritten writes the trace d, which comes from the traces ins, and reports losses. The function finish
// can print additional text, and returns the value for JSON. It can be nil.
func (a *app) writeRewritten(ctx context.Context, ins []*input, d format.Events, dst string, x *rewriteFlags,
	finish func(*rewriteResult) (any, error)) error {
	w, err := a.newTraceWriter(ins[0].opt.Values, dst, x.as, cmp.Or(x.asFlag, "--as"))
	if err != nil {
		return err
	}
	defer w.out.Abort()
	w.opt.Plain = x.plain
	var from []format.File
	for _, in := range ins {
		from = append(from, in.file)
	}
	signals := definedSignals(d)
	if x.prune || w.format.About().Name == "etf" && signals > 0 {
		// TRACE needs at least one fragment for each signal.
		what := transform.PruneSignals
		if x.prune {
			what = transform.PruneAll
		}
		if d, err = transform.Prune(ctx, d, what); err != nil {
			return err
		}
		if signals -= definedSignals(d); x.prune {
			signals = 0 // --prune requests this, so nothing is lost
		}
	} else {
		signals = 0
	}
	n := &countingEvents{Events: d}
	loss, err := w.encode(ctx, a, n, from...)
	if err == nil {
		loss.Add("signal", "definition", format.Degraded,
			"TRACE requires a fragment, and the signal has none; it is left out", signals)
	}
	if x.lostBefore != nil && err == nil {
		for _, r := range x.lostBefore().Rows() {
			loss.Add(r.Kind, r.Field, r.How, r.Reason, r.Count)
		}
	}
	res := &rewriteResult{Output: dst, Format: w.format.About().Name, Events: n.events.Load(), Links: n.links.Load()}
	for _, in := range ins {
		in.bar.remove()
		res.Input = append(res.Input, in.src.Path)
	}
	if err != nil {
		return err
	}
	for _, in := range ins {
		a.reportDefects(in, x.quiet || x.listsDefects)
	}
	if !x.quiet {
		a.reportUnknownNames("the trace", x.definitions, x.filter.flagNames())
		if x.piece.emptyWindow != "" {
			a.printOnce(x.piece.emptyWindow)
		}
		if n.events.Load() == 0 {
			n.printNothingLeft(a.err, dst)
		}
	}
	refused, err := w.commit(loss, x.allowLoss || x.plain)
	if err != nil {
		return err
	}
	res.Loss = loss.Rows()
	var shown any = res
	if finish != nil {
		if shown, err = finish(res); err != nil {
			return err
		}
	}
	if x.json {
		to := a.out
		if dst == "-" {
			to = a.err
		}
		err = a.writeJSON(to, shown)
	} else {
		err = a.printLoss(loss, false, dst == "-")
	}
	if err != nil {
		return err
	}
	return refused
}

// definedSignals returns the number of signals that the file defines.
func definedSignals(d format.Events) (n int64) {
	for _, m := range d.Defs().Metrics.All() {
		if m.Kind == trace.SignalMetric && !m.Undefined {
			n++
		}
	}
	return n
}

// countingEvents counts the delivered events and links.
type countingEvents struct {
	format.Events
	events, derived, links atomic.Int64
}

// printNothingLeft prints that no event is left, except for derived ones.
func (c *countingEvents) printNothingLeft(to io.Writer, dst string) {
	if n := c.derived.Load(); n > 0 {
		printf(to, "%s: no event is left, except for %s\n", dst, plural.Of(n, "derived event"))
		return
	}
	printf(to, "%s: no event is left\n", dst)
}

// Scan delivers the events and counts them. An encoder calls it or ScanParallel once.
func (c *countingEvents) Scan(ctx context.Context, sel trace.Selection, order format.Order, sink format.Sink) error {
	return c.Events.Scan(ctx, sel, order, c.sink(sink))
}

// ScanParallel delivers the events in several goroutines and counts them.
func (c *countingEvents) ScanParallel(ctx context.Context, sel trace.Selection,
	begin func() func(int) format.Sink) error {
	return c.Events.ScanParallel(ctx, sel, func() func(int) format.Sink {
		c.events.Store(0)
		c.derived.Store(0)
		c.links.Store(0)
		sinks := begin()
		return func(worker int) format.Sink { return c.sink(sinks(worker)) }
	})
}

// sink returns a sink that counts what it passes on.
func (c *countingEvents) sink(to format.Sink) format.Sink {
	return format.SinkFuncs{
		OnBatch: func(b *trace.Batch) error {
			c.events.Add(int64(b.Len() - len(b.Derived)))
			c.derived.Add(int64(len(b.Derived)))
			return to.Batch(b)
		},
		OnLinks: func(l []trace.Link) error {
			c.links.Add(int64(len(l)))
			return to.Links(l)
		},
	}
}

// rewriteOne runs a command that changes one trace. more changes the trace further. finish has the same
// meaning as for writeRewritten. Both may be nil.
func (a *app) rewriteOne(c *cobra.Command, args []string, x *rewriteFlags,
	more func(ctx context.Context, d format.Events) (format.Events, error),
	finish func(*rewriteResult) (any, error)) error {
	ctx := c.Context()
	in, err := a.open(ctx, args[0], x.inputFlagsOnly())
	if err != nil {
		return err
	}
	defer in.Close()
	d, err := x.transform(ctx, in.Events)
	if err == nil && more != nil {
		d, err = more(ctx, d)
	}
	if err != nil {
		return err
	}
	return a.writeRewritten(ctx, []*input{in}, d, args[1], x, finish)
}
