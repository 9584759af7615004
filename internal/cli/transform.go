package cli

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// changing holds the flags of the commands that write a changed trace. All of them
// take all, and do what they say in one pass: correct clocks, cut, filter.
type changing struct {
	reading
	as        string
	asFlag    string // what gives it
	json      bool
	allowLoss bool
	plain     bool
	prune     bool
	piece     piece
	filter    filtering
	// named are the definitions whose entries the filter names.
	named *trace.Definitions
	lost  func() *format.Loss // what is lost ahead of the encoder; may be nil
	// listed is whether the command lists what reading found.
	listed bool
}

// piece says what is cut out.
type piece struct {
	from, to, window, percent string
	around, event, occurrence string
	flag                      string // that gives event or occurrence, if it is another
	each                      bool
	margin                    string
	borders                   string
}

// filtering says what is kept.
type filtering struct {
	locations, groups, regions, kinds, communicators                []string
	notLocations, notGroups, notRegions, notKinds, notCommunicators []string
	minDuration                                                     string
	maxDepth                                                        int
}

func (x *changing) flags(f *pflag.FlagSet) {
	x.reading.flags(f)
	x.clockFlag(f)
	f.StringVar(&x.as, "as", "", "format of OUT, if its name does not tell")
	f.BoolVar(&x.json, "json", false, "print what was done and lost as JSON")
	f.BoolVar(&x.allowLoss, "allow-loss", false, "write OUT even if something is lost that its format cannot keep")
	plainFlag(f, &x.plain)
	f.BoolVar(&x.prune, "prune", false, "leave away definitions that nothing in OUT refers to")
	p := &x.piece
	f.StringVar(&p.from, "from", "",
		"first time wanted: 1.5ms, 3s, 20%, ticks; counted from the first event, or with @ the trace's own")
	f.StringVar(&p.to, "to", "", "end of the times wanted, exclusive")
	f.StringVar(&p.window, "window", "", "both in one: 20%..30%, 1.5ms..2ms, @-5..@7; a side that is left out is open")
	f.StringVar(&p.percent, "percent", "", "both in percent of the trace's length: 40-60")
	f.StringVar(&p.around, "around", "", "times from --margin before this one to --margin behind")
	f.StringVar(&p.event, "event", "",
		"times around the first event of a kind, KIND as for --kind, or the N-th one, KIND#N, with --margin")
	f.StringVar(&p.occurrence, "occurrence", "",
		"times of the first visit of a region, REGION, or the N-th one, REGION#N; also of a claim; more with --margin")
	f.BoolVar(&p.each, "each", false,
		"with --occurrence: the N-th at each location, from the begin of the first to the end of the last")
	f.StringVar(&p.margin, "margin", "", "how much before and behind --around, --event and --occurrence: 1.5ms, 3s, ticks")
	f.StringVar(&p.borders, "borders", "reopen",
		"what is open at the borders of a piece: reopen begins it anew and ends it; bare leaves it, which needs no look "+
			"at what is before")
	y := &x.filter
	for _, l := range []struct {
		list, not *[]string
		name, doc string
	}{
		{&y.locations, &y.notLocations, "location", "locations by id or name"},
		{&y.groups, &y.notGroups, "group", "locations below groups (processes, nodes) with this id or name"},
		{&y.regions, &y.notRegions, "region", "what names regions, by name or id"},
		{&y.kinds, &y.notKinds, "kind", "kinds of events, " + kindsHelp + "; begins and ends go together"},
		{&y.communicators, &y.notCommunicators, "communicator", "what names communicators, by name or id"},
	} {
		doc := "; * and ? match anything, re: begins a regular expression"
		if l.name == "kind" {
			doc = ""
		}
		f.Var((*nameList)(l.list), l.name, "keep "+l.doc+doc)
		f.Var((*nameList)(l.not), "not-"+l.name, "leave away "+l.doc)
	}
	f.StringVar(&y.minDuration, "min-duration", "",
		"leave away visits of regions and claims that are shorter: 20us, ticks")
	f.Var(newWhole(&y.maxDepth, 0, 0, 0), "max-depth",
		"leave away regions inside of so many others that are kept; 0 keeps all")
}

// changes reports whether a piece, a filter or pruning is asked for.
func (x *changing) changes() bool {
	_, filters, err := x.filter.wanted(&trace.Definitions{Clock: trace.Seconds(1)})
	return x.piece.cuts() || filters || err != nil || x.prune
}

// borders are what can be done at the borders of a piece.
var borders = []string{"reopen", "bare"}

// cuts reports whether a piece is asked for.
func (p *piece) cuts() bool {
	return p.from+p.to+p.window+p.percent+p.around+p.event+p.occurrence != ""
}

// times finds the times of the piece.
func (p *piece) times(ctx context.Context, d format.Events) (w trace.Window, err error) {
	w = trace.Window{From: math.MinInt64, To: math.MaxInt64}
	ends := selecting{from: p.from, to: p.to, window: p.window}
	if err := ends.splitWindow(); err != nil {
		return w, err
	}
	ways := 0
	for _, s := range []string{ends.from + ends.to, p.percent, p.around, p.event, p.occurrence} {
		if s != "" {
			ways++
		}
	}
	if ways > 1 {
		return w, usageError("found several of --window, --from and --to, --percent, --around, --event, --occurrence; " +
			"expected one")
	}
	from, to := ends.from, ends.to
	if p.percent != "" {
		a, b, ok := strings.Cut(strings.TrimSuffix(p.percent, "%"), "-")
		if from, to = strings.TrimSuffix(a, "%")+"%", b+"%"; !ok {
			return w, usageError("--percent %s: expected two numbers, such as 40-60", p.percent)
		}
	}
	if p.each && p.occurrence == "" {
		return w, usageError("--each: expected --occurrence with it")
	}
	clock := d.Defs().Clock
	margin := int64(0)
	if p.margin != "" {
		if p.around+p.event+p.occurrence == "" {
			return w, usageError("--margin: expected --around, --event or --occurrence with it")
		}
		if margin, err = clock.ParseDuration(p.margin); err != nil {
			return w, usageError("--margin: %w", err)
		}
		if margin < 0 {
			return w, usageError("--margin %s: expected a length that is not negative", p.margin)
		}
	} else if p.around+p.event != "" {
		return w, usageError("--around and --event: expected --margin with it, how much before and behind is wanted")
	}
	switch {
	case p.event != "" || p.occurrence != "":
		if w, err = p.find(ctx, d); err != nil {
			return w, err
		}
	default:
		if err := timesOf(ctx, d, timeFlag{"--from", from, &w.From}, timeFlag{"--to", to, &w.To},
			timeFlag{"--around", p.around, &w.From}); err != nil {
			return w, err
		}
		if p.around != "" {
			w.To = w.From
		}
	}
	if w.From > math.MinInt64+margin {
		w.From -= margin
	}
	if w.To < math.MaxInt64-margin {
		w.To += margin
	}
	if w.From > w.To {
		return w, usageError("found a piece that ends, at %s s, before it begins, at %s s", clock.FormatSeconds(w.To),
			clock.FormatSeconds(w.From))
	}
	return w, nil
}

// find is the time of --event or --occurrence.
func (p *piece) find(ctx context.Context, d format.Events) (w trace.Window, err error) {
	flag, text := "--event", p.event
	if p.occurrence != "" {
		flag, text = "--occurrence", p.occurrence
	}
	flag = cmp.Or(p.flag, flag)
	name, n := text, 1
	defs := d.Defs()
	if i := strings.LastIndexByte(text, '#'); i >= 0 {
		switch v, err := strconv.Atoi(text[i+1:]); {
		case err != nil:
		case v > 0:
			name, n = text[:i], v
		case !p.named(defs, text):
			return w, usageError("%s %s: found number %d, expected 1 or more: the first one is %s#1", flag, text, v, text[:i])
		}
	}
	found, of := 0, "events"
	if p.event != "" {
		var kind func(trace.Kind) bool
		if kind, err = chooseKinds(defs, flag, []string{name}); err != nil {
			return w, err
		}
		w, found, err = transform.FindEvent(ctx, d, kind, n)
	} else {
		var region func(uint32) bool
		if region, err = choose(defs, aRegion, []string{name}); err != nil {
			return w, err
		}
		w, found, err = transform.FindOccurrence(ctx, d, transform.Occurrence{Region: region, N: n, Each: p.each})
		if of = "visits or claims"; p.each {
			of += " at the location with the most"
		}
	}
	if err != nil || found >= n {
		return w, err
	}
	why := fmt.Sprintf("found %d %s, expected %d or more", found, of, n)
	if near, missing := aRegion.missing(defs, name); p.occurrence != "" && missing {
		why = "the trace has no such region; " + near
	}
	return w, &exitError{exitDefects, fmt.Errorf("%s %s: %s", flag, text, why)}
}

// named reports whether a region, or a kind of events, has a name that is a number sign and a number at its end.
func (p *piece) named(d *trace.Definitions, name string) bool {
	if p.event != "" {
		return len(kindsNamed(d, name)) > 0
	}
	_, missing := aRegion.missing(d, name)
	return !missing
}

// wanted is what the flags of a filter say; ok is false if they say nothing.
func (x *filtering) wanted(d *trace.Definitions) (w transform.Wanted, ok bool, err error) {
	n := 0
	for _, l := range [][]string{x.locations, x.groups, x.regions, x.kinds, x.communicators, x.notLocations, x.notGroups,
		x.notRegions, x.notKinds, x.notCommunicators} {
		n += len(l)
	}
	if n == 0 && x.minDuration == "" && x.maxDepth == 0 {
		return w, false, nil
	}
	w.MaxDepth = x.maxDepth
	if x.minDuration != "" {
		if w.MinDuration, err = d.Clock.ParseDuration(x.minDuration); err != nil {
			return w, false, usageError("--min-duration: %w", err)
		}
	}
	both := func(yes, no []string, choose func([]string) (func(uint32) bool, error)) func(uint32) bool {
		if err != nil {
			return nil
		}
		var a, b func(uint32) bool
		if a, err = choose(yes); err != nil {
			return nil
		}
		if b, err = choose(no); err != nil || a == nil && b == nil {
			return nil
		}
		return func(i uint32) bool { return (a == nil || a(i)) && (b == nil || !b(i)) }
	}
	entries := func(what nameable) func([]string) (func(uint32) bool, error) {
		return func(list []string) (func(uint32) bool, error) { return choose(d, what, list) }
	}
	w.Region = both(x.regions, x.notRegions, entries(aRegion))
	w.Communicator = both(x.communicators, x.notCommunicators, entries(aCommunicator))
	byName := both(x.locations, x.notLocations, entries(aLocation))
	byGroup := both(x.groups, x.notGroups, func(list []string) (func(uint32) bool, error) { return chooseGroups(d, list) })
	if byName != nil || byGroup != nil {
		w.Location = func(loc uint32) bool { return (byName == nil || byName(loc)) && (byGroup == nil || byGroup(loc)) }
	}
	if err == nil && len(x.kinds)+len(x.notKinds) > 0 {
		if len(x.kinds) > 0 {
			w.Kind, err = chooseKinds(d, "--kind", x.kinds)
		}
		if err == nil {
			w.NotKind, err = chooseKinds(d, "--not-kind", x.notKinds)
		}
	}
	return w, true, err
}

// named is what the flags of a filter name.
func (x *filtering) named() []named {
	return []named{
		{"--location", aLocation, x.locations}, {"--not-location", aLocation, x.notLocations},
		{"--group", aGroup, x.groups}, {"--not-group", aGroup, x.notGroups},
		{"--region", aRegion, x.regions}, {"--not-region", aRegion, x.notRegions},
		{"--communicator", aCommunicator, x.communicators}, {"--not-communicator", aCommunicator, x.notCommunicators},
	}
}

// chooseGroups is whether a location is below a group whose id or name is among patterns.
func chooseGroups(d *trace.Definitions, list []string) (func(uint32) bool, error) {
	p, err := newPatterns(list)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return func(loc uint32) bool { return p.matchGroup(d.Groups.All(), d.Locations.At(loc).Group) }, nil
}

// matchGroup reports whether a group, or one around it, is meant.
func (p *patterns) matchGroup(groups []trace.LocationGroup, g uint32) bool {
	for range groups { // they may form a ring in a broken trace
		if int64(g) >= int64(len(groups)) {
			break
		}
		if p.match(groups[g].ID, groups[g].Name) {
			return true
		}
		g = groups[g].Parent
	}
	return false
}

// source is how the files are read: what is to be done comes behind that.
func (x *changing) source() *reading {
	r := x.reading
	r.correction = ""
	return &r
}

// change puts what the flags ask for around a trace: first the clocks, then the piece,
// then the filter.
func (x *changing) change(ctx context.Context, d format.Events) (format.Events, error) {
	if err := d.Prepare(ctx); err != nil {
		return nil, err
	}
	d, err := x.correct(d) // which looks for the correction's locations
	if err != nil {
		return nil, err
	}
	if err := d.Prepare(ctx); err != nil {
		return nil, err
	}
	x.named = d.Defs()
	wanted, filters, err := x.filter.wanted(x.named)
	if err != nil {
		return nil, err
	}
	if x.piece.cuts() || x.piece.margin != "" {
		w, err := x.piece.times(ctx, d)
		if err != nil {
			return nil, err
		}
		cut := func(d format.Events, w trace.Window) format.Events { return transform.CutAt(d, w, wanted.Location) }
		make := []func(format.Events, trace.Window) format.Events{cut, transform.Bare}
		how, err := oneOf("--borders", x.piece.borders, borders...)
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

// changed is what commands that write a changed trace print with --json (docs/json.md).
type changed struct {
	Input  []string         `json:"input"`
	Output string           `json:"output"`
	Format string           `json:"format"`
	Events int64            `json:"events"`
	Links  int64            `json:"links"`
	Loss   []format.LossRow `json:"loss"`
	// Changes are what weft repair did.
	Changes []checkRule `json:"changes,omitempty"`
}

// writeChanged writes a trace that comes from the traces ins, and says what was lost.
// finish, if there is one, may print more, and gives what is printed as JSON.
func (a *app) writeChanged(ctx context.Context, ins []*input, d format.Events, dst string, x *changing,
	finish func(*changed) (any, error)) error {
	w, err := a.writer(ins[0].opt.Values, dst, x.as, cmp.Or(x.asFlag, "--as"))
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
		// TRACE has no signals without fragments.
		what := transform.PruneSignals
		if x.prune {
			what = transform.PruneAll
		}
		if d, err = transform.Prune(ctx, d, what); err != nil {
			return err
		}
		if signals -= definedSignals(d); x.prune {
			signals = 0 // which is what was asked for
		}
	} else {
		signals = 0
	}
	n := &counting{Events: d}
	loss, err := w.encode(ctx, a, n, from...)
	if err == nil {
		loss.Add("signal", "definition", format.Degraded,
			"it has no fragment, which TRACE wants, and is left out", signals)
	}
	if x.lost != nil && err == nil {
		for _, r := range x.lost().Rows() {
			loss.Add(r.Kind, r.Field, r.How, r.Reason, r.Count)
		}
	}
	res := &changed{Output: dst, Format: w.format.About().Name, Events: n.events, Links: n.links}
	for _, in := range ins {
		in.bar.done()
		res.Input = append(res.Input, in.src.Path)
	}
	if err != nil {
		return err
	}
	for _, in := range ins {
		a.tell(in, x.quiet || x.listed)
	}
	if !x.quiet {
		a.tellMissing("the trace", x.named, x.filter.named())
		if n.events == 0 {
			printf(a.err, "%s: no event is left\n", dst)
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

// definedSignals counts the signals that the file defines.
func definedSignals(d format.Events) (n int64) {
	for _, m := range d.Defs().Metrics.All() {
		if m.Kind == trace.SignalMetric && !m.Undefined {
			n++
		}
	}
	return n
}

// counting counts what is delivered.
type counting struct {
	format.Events
	events, links int64
}

// Scan counts a scan, as encoders make one.
func (c *counting) Scan(ctx context.Context, sel trace.Selection, order format.Order, sink format.Sink) error {
	return c.Events.Scan(ctx, sel, order, format.SinkFuncs{
		OnBatch: func(b *trace.Batch) error {
			c.events += int64(b.Len() - len(b.Derived))
			return sink.Batch(b)
		},
		OnLinks: func(l []trace.Link) error {
			c.links += int64(len(l))
			return sink.Links(l)
		},
	})
}

// changeOne runs a command that changes one trace. More changes it further, and finish is that of writeChanged; both may
// be nil.
func (a *app) changeOne(c *cobra.Command, args []string, x *changing,
	more func(ctx context.Context, d format.Events) (format.Events, error), finish func(*changed) (any, error)) error {
	ctx := c.Context()
	in, err := a.open(ctx, args[0], x.source())
	if err != nil {
		return err
	}
	defer in.Close()
	d, err := x.change(ctx, in.Events)
	if err == nil && more != nil {
		d, err = more(ctx, d)
	}
	if err != nil {
		return err
	}
	return a.writeChanged(ctx, []*input{in}, d, args[1], x, finish)
}

func (a *app) cutCommand() *cobra.Command {
	var x changing
	c := &cobra.Command{
		Use:   "cut TRACE OUT",
		Short: "Cut a piece out of a trace that stands for itself",
		Long: `Cut the events of a time out of a trace and write them as a trace of their own, in
any format. What is open where the piece begins (regions, claims, collective
operations, messages on their way) begins anew there, with the attribute cut.began that
says when it really began; what is open where it ends is ended there, with the attribute
cut.ends. So the times of pieces that follow each other add up to those of the whole.

The time is given by --from and --to, --percent, --around a time, --event or
--occurrence, which is the N-th visit of a region over all locations, or with --each the N-th
at each of them: iteration 5 of a loop. All flags of weft filter can be given, too: the piece is cut out and
filtered in one pass.`,
		Example: "  weft cut --from 20% --to 40% trace.otf2 piece.otf2\n" +
			"  weft cut --occurrence 'iteration#5' --each trace.otf2 fifth.otf2\n" +
			"  weft cut --occurrence 'MPI_Barrier#2' --margin 1ms trace.otf2 piece.otf\n" +
			"  weft cut --from 2s --to 3s --region 'MPI_*' big.otf2 piece.otf",
		Args: exactArgs(2, "TRACE and OUT"),
		RunE: func(c *cobra.Command, args []string) error {
			if !x.piece.cuts() {
				return usageError("found no time, expected --window, --from, --to, --percent, --around, --event or "+
					"--occurrence; see %s --help", c.CommandPath())
			}
			return a.changeOne(c, args, &x, nil, nil)
		},
	}
	x.flags(c.Flags())
	a.forceFlag(c)
	return c
}

func (a *app) filterCommand() *cobra.Command {
	var x changing
	c := &cobra.Command{
		Use:   "filter TRACE OUT",
		Short: "Leave events away, by location, region, kind, duration, depth",
		Long: `Write a trace with some of its events. A visit of a region is kept or left away as a
whole, so that the regions nest as before, and the time inside of one that is left away
belongs to the region around it. Events that name no region are kept with --region,
events that name no communicator with --communicator. An event is kept if no flag is
against it.

All flags of weft cut can be given, too.`,
		Example: "  weft filter --region 'MPI_*' trace.otf2 mpi.otf2\n" +
			"  weft filter --not-region 're:^(get|set)_' --min-duration 10us trace.otf2 small.otf2\n" +
			"  weft filter --location 0,1 --kind enter,leave trace.otf first.etf",
		Args: exactArgs(2, "TRACE and OUT"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.changeOne(c, args, &x, nil, nil)
		},
	}
	x.flags(c.Flags())
	a.forceFlag(c)
	return c
}

// mergeOptions say how weft merge puts traces together.
type mergeOptions struct {
	changing
	anchor string
	unify  bool
}

func (a *app) mergeCommand() *cobra.Command {
	var x mergeOptions
	c := &cobra.Command{
		Use:   "merge TRACE... OUT",
		Short: "Put several traces on one time line",
		Long: `Merge traces, of any formats, into one. Regions and other names that are equal become
one. Locations, communicators and resources of different traces stay apart, and get
other ids where theirs are taken; --unify makes one of those with the same id and name,
for runs that wrote a file each process.

--anchor says what is the same moment in all traces: wall, the time of day; first, their
first events; none, their clocks are the same; or else the first visit of a region or
event of a kind, or with #N the N-th one: MPI_Init, sync#2, marker. Without it, it is wall
if all traces say their time of day, and none if not.

All flags of weft cut and weft filter can be given, for the merged trace.`,
		Example: "  weft merge rank0.otf2 rank1.otf2 all.otf2\n" +
			"  weft merge --anchor first before.etf after.etf both.etf\n" +
			"  weft merge --anchor MPI_Init --unify node1.otf node2.otf all.otf",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usageError("found %d arguments, expected TRACE... and OUT; see %s --help", len(args), c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return a.merge(c.Context(), args, &x) },
	}
	x.flags(c.Flags())
	c.Flags().StringVar(&x.anchor, "anchor", "",
		"what is the same moment: wall, first, none, or the visit of a region or event of a kind, NAME or NAME#N")
	c.Flags().BoolVar(&x.unify, "unify", false,
		"make one of locations, groups, communicators and resources with the same id and name")
	complete(c, "anchor", "wall", "first", "none")
	a.forceFlag(c)
	return c
}

func (a *app) merge(ctx context.Context, args []string, x *mergeOptions) error {
	var ins []*input
	defer func() {
		for _, in := range ins {
			in.Close()
		}
	}()
	var list []format.Events
	for _, name := range args[:len(args)-1] {
		in, err := a.open(ctx, name, x.source())
		if err != nil {
			return err
		}
		ins = append(ins, in)
		list = append(list, in.Events)
	}
	zero, wall, err := x.zero(ctx, args, list)
	if err != nil {
		return err
	}
	m, err := transform.Merge(ctx, list, transform.Merging{Zero: zero, Wall: wall, Unify: x.unify})
	if err != nil {
		return err
	}
	x.lost = m.Lost
	d, err := x.change(ctx, m)
	if err != nil {
		return err
	}
	return a.writeChanged(ctx, ins, d, args[len(args)-1], &x.changing, func(res *changed) (any, error) {
		if m.Rounded > 0 && !x.quiet {
			fmt.Fprintf(a.err, "%d times were rounded to a tick of the common clock\n", m.Rounded)
		}
		return res, nil
	})
}

// zero is what is the same moment in the traces; with wall it is the time of day.
func (x *mergeOptions) zero(ctx context.Context, names []string, list []format.Events) (zero []int64, wall bool, err error) {
	switch x.anchor {
	case "none":
		return nil, false, nil
	case "first":
		for _, d := range list {
			first, _, _, err := format.Extent(ctx, d)
			if err != nil {
				return nil, false, err
			}
			zero = append(zero, first)
		}
		return zero, false, nil
	case "", "wall":
		for i, d := range list {
			if d.Defs().Clock.HasEpoch {
				continue
			}
			if x.anchor == "" {
				return nil, false, nil
			}
			return nil, false, &exitError{exitDefects,
				fmt.Errorf("%s: found no time of day of the recording, expected one for --anchor wall", names[i])}
		}
		return nil, true, nil
	}
	for i, d := range list {
		p := piece{occurrence: x.anchor, flag: "--anchor"}
		name, _, _ := strings.Cut(x.anchor, "#")
		if _, err := chooseKinds(d.Defs(), "", []string{name}); err == nil {
			p = piece{event: x.anchor, flag: p.flag}
		}
		w, err := p.find(ctx, d)
		if err != nil {
			return nil, false, fmt.Errorf("%s: %w", names[i], err)
		}
		zero = append(zero, w.From)
	}
	return zero, false, nil
}

// knownNames are names of libraries, which anonymizing keeps.
var knownNames = []string{"MPI_*", "MPIX_*", "PMPI_*", "omp_*", "!$omp *", "pthread_*", "PAPI_*"}

func (a *app) anonymizeCommand() *cobra.Command {
	var x changing
	var keep []string
	var names string
	c := &cobra.Command{
		Use:   "anonymize TRACE OUT",
		Short: "Replace names, paths and hosts, so that a trace can be shared",
		Long: `Write a trace with names that tell nothing: regions, files, locations, hosts,
communicators, metrics and all else that has a name are called what they are with a
number, texts in attributes "text 1" and so on; source lines, opaque definitions and
the time of day are left away. The same name always becomes the same. Times, numbers,
kinds of events and the names of attributes stay.

Names of known libraries are kept (` + strings.Join(knownNames, ", ") + `), or those that
--keep says instead. --names writes a table of what was replaced, for your eyes only.

All flags of weft cut and weft filter can be given, too; they see the true names.`,
		Example: "  weft anonymize trace.otf2 shared.otf2\n" +
			"  weft anonymize --keep 'MPI_*,solve' --names secret.csv trace.otf shared.otf",
		Args: exactArgs(2, "TRACE and OUT"),
		RunE: func(c *cobra.Command, args []string) error {
			p, err := newPatterns(keep)
			if err != nil {
				return err
			}
			how := transform.Anonymizing{Keep: func(name string) bool { return p.match(name) }}
			var table [][]string
			if names != "" {
				how.Replaced = func(name, by string) { table = append(table, []string{by, name}) }
			}
			var out *format.Output
			err = a.changeOne(c, args, &x, func(_ context.Context, d format.Events) (format.Events, error) {
				var err error
				if names != "" {
					out, err = a.createOutput(names) // before the trace appears, if that must not be
				}
				return transform.Anonymize(d, how), err
			}, nil)
			if out == nil {
				return err
			}
			defer out.Abort()
			if err == nil {
				err = csv.NewWriter(out).WriteAll(append([][]string{{"written", "name"}}, table...))
			}
			if err != nil {
				return err
			}
			return out.Commit()
		},
	}
	x.flags(c.Flags())
	c.Flags().StringSliceVar(&keep, "keep", knownNames,
		"names that are kept; * and ? match anything, re: begins a regular expression")
	c.Flags().StringVar(&names, "names", "", "write a table of the replaced names to this file, as comma-separated values")
	a.forceFlag(c)
	return c
}
