package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"github.com/weft-trace/weft/analysis/info"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/nearest"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// selectionFlags holds the flags that select events.
type selectionFlags struct {
	from, to  string
	window    string // both ends of the window, given in one flag
	both      string // name of the flag that gave from and to; "" if each has a flag of its own
	locations []string
	groups    []string
	kinds     []string
	regions   []string
}

// register defines all flags of a selection.
func (s *selectionFlags) register(f *pflag.FlagSet) {
	s.registerForStates(f)
	f.Var((*nameList)(&s.kinds), "kind", "kinds of events, "+kindsHelp)
}

// registerForStates defines the flags for commands that follow states. These commands need all kinds of
// events, so there is no --kind.
func (s *selectionFlags) registerForStates(f *pflag.FlagSet) {
	s.defineTimeFlags(f)
	s.definePlaceFlags(f)
	s.defineRegionFlag(f)
}

// defineAnalysisFlags defines the flags of a command that follows states: how to read the trace, and which part of it.
func defineAnalysisFlags(f *pflag.FlagSet, r *inputFlags, s *selectionFlags) {
	r.flags(f)
	r.defineClockFlag(f)
	s.registerForStates(f)
}

// definePartFlags defines the flags of a command that analyses a part of a trace like a whole trace. narrow
// restricts the trace to that part. If a user sets --region, the command fails with the text whyNoRegion.
func definePartFlags(f *pflag.FlagSet, r *inputFlags, s *selectionFlags, whyNoRegion string) {
	r.flags(f)
	r.defineClockFlag(f)
	r.defineRolesFlag(f)
	s.defineTimeFlags(f)
	s.definePlaceFlags(f)
	refuseRegion(f, whyNoRegion)
}

// defineRegionFlag defines --region.
func (s *selectionFlags) defineRegionFlag(f *pflag.FlagSet) {
	f.Var((*nameList)(&s.regions), "region",
		"regions by name or id; * and ? match anything, re: begins a regular expression")
}

// refuseRegion defines --region for a command that does not support the flag. If a user sets the flag, the
// command fails with the text why.
func refuseRegion(f *pflag.FlagSet, why string) {
	f.Func("region", "", func(string) error { return errors.New(why) })
	f.Lookup("region").Hidden = true
}

// kindsFor returns a function that reports whether an analysis needs the events of a kind. The function
// returns true if one of the functions in wanted does, or if visits of regions are selected and the kind
// belongs to visits.
func kindsFor(sel *trace.Selection, wanted ...func(trace.Kind) bool) func(trace.Kind) bool {
	return func(k trace.Kind) bool {
		return sel.Region != nil && (k == trace.Enter || k == trace.Leave) ||
			slices.ContainsFunc(wanted, func(w func(trace.Kind) bool) bool { return w(k) })
	}
}

// definePlaceFlags defines the flags that select locations.
func (s *selectionFlags) definePlaceFlags(f *pflag.FlagSet) {
	f.Var((*nameList)(&s.locations), "location",
		"locations by id or name; * and ? match anything, re: begins a regular expression")
	f.Var((*nameList)(&s.groups), "group", "locations in groups (processes, nodes) with this id or name")
}

// partOf returns the equivalent flags of weft cut and weft filter.
func (s *selectionFlags) partOf(r inputFlags) *rewriteFlags {
	return &rewriteFlags{inputFlags: r,
		filter: filterFlags{locations: s.locations, groups: s.groups, regions: s.regions},
		piece:  pieceFlags{from: s.from, to: s.to, window: s.window, borders: borders[0]}}
}

// locationFilter returns a function that reports whether a location is selected. It returns nil if all
// locations are selected.
func (s *selectionFlags) locationFilter(in *input) (func(loc uint32) bool, error) {
	x := filterFlags{locations: s.locations, groups: s.groups}
	w, _, err := x.wanted(in.Defs())
	in.flagNames = append(in.flagNames, x.flagNames()...)
	return w.Location, err
}

// infoPart restricts the events to the selection, as weft cut and weft filter do. It returns a
// description of the selected part, or nil if everything is selected.
func (s *selectionFlags) infoPart(ctx context.Context, in *input) (*info.Part, error) {
	whole := in.Events
	if narrowed, err := s.narrow(ctx, in); !narrowed || err != nil {
		return nil, err
	}
	part := &info.Part{}
	first, last, ok, err := format.Extent(ctx, whole)
	if err != nil {
		return nil, err
	}
	y := pieceFlags{from: s.from, to: s.to, window: s.window}
	if y.selectsPiece() {
		w, err := y.times(ctx, whole)
		if err != nil {
			return nil, err
		}
		part.Times = &w
	}
	if ok {
		part.Begin, part.Window = first, &info.Window{First: part.Times.Clip(first), Last: part.Times.Clip(last)}
	}
	return part, nil
}

// narrow restricts the events to the selection, as weft cut and weft filter do, for analyses of
// whole traces.
func (s *selectionFlags) narrow(ctx context.Context, in *input) (narrowed bool, err error) {
	return in.narrow(ctx, s.partOf(inputFlags{}))
}

// narrowRunning is like narrow, for analyses of the whole time of processes and threads ([transform.CutRunning]).
func (s *selectionFlags) narrowRunning(ctx context.Context, in *input) (narrowed bool, err error) {
	x := s.partOf(inputFlags{})
	x.piece.running = true
	return in.narrow(ctx, x)
}

// narrow restricts the events to a piece and a filter.
func (in *input) narrow(ctx context.Context, x *rewriteFlags) (narrowed bool, err error) {
	if !x.changesTrace() {
		return false, nil
	}
	if err := in.Events.Prepare(ctx); err != nil {
		return false, err
	}
	first := in.Defs().Attributes.Len()
	e, err := x.transform(ctx, in.Events)
	if err == nil {
		err = e.Prepare(ctx) // defines the attributes that cutting adds
	}
	if err != nil {
		return false, err
	}
	added := transform.CutAttributes()
	for i := first; i < min(first+len(added), in.Defs().Attributes.Len()); i++ {
		if slices.Contains(added, in.Defs().Attributes.At(uint32(i)).Name) {
			in.hidden = append(in.hidden, uint32(i))
		}
	}
	in.whole, in.Events, in.flagNames = in.Events, e, append(in.flagNames, x.filter.flagNames()...)
	in.emptyWindow = cmp.Or(x.piece.emptyWindow, in.emptyWindow)
	return true, nil
}

// hidesAttribute reports whether an attribute was added by the selection.
func (in *input) hidesAttribute(attribute uint32) bool { return slices.Contains(in.hidden, attribute) }

// keepInvolving removes messages, remote memory accesses and collective operations in which no
// wanted location takes part. Nil wants all locations.
func (in *input) keepInvolving(wanted func(loc uint32) bool) {
	if wanted != nil {
		in.Events = transform.FilterLocations(in.Events, wanted)
	}
}

// defineTimeFlags defines the flags that select times.
func (s *selectionFlags) defineTimeFlags(f *pflag.FlagSet) {
	s.defineFromFlag(f)
	f.StringVar(&s.to, "to", "", "end of the selected times, exclusive")
	s.defineWindowFlag(f)
}

// defineFromFlag defines --from.
func (s *selectionFlags) defineFromFlag(f *pflag.FlagSet) {
	f.StringVar(&s.from, "from", "",
		"begin of the selected times: 1.5ms, 3s, 20%, ticks; relative to the first event, or with @ to the trace's time 0")
}

// defineWindowFlag defines --window.
func (s *selectionFlags) defineWindowFlag(f *pflag.FlagSet) {
	f.StringVar(&s.window, "window", "",
		"--from and --to in one flag: 20%..30%, 1.5ms..2ms, @-5..@7; a missing side is unlimited")
}

// selectsTimes reports whether a flag selects times.
func (s *selectionFlags) selectsTimes() bool { return s.from+s.to+s.window != "" }

// anySet reports whether any flag of the selection is set.
func (s *selectionFlags) anySet() bool {
	return s.selectsTimes() || len(s.locations)+len(s.groups)+len(s.kinds)+len(s.regions) > 0
}

// splitWindow sets from and to to the ends of --window.
func (s *selectionFlags) splitWindow() error {
	if s.window == "" {
		return nil
	}
	if s.from != "" || s.to != "" {
		return usageError("--window: expected neither --from nor --to with it")
	}
	from, to, ok := strings.Cut(s.window, "..")
	if !ok {
		from, to, ok = splitRange(s.window)
	}
	if from, to = strings.TrimSpace(from), strings.TrimSpace(to); !ok || from == "" && to == "" {
		return usageError("--window %s: expected two times, such as 20%%..30%%", s.window)
	}
	s.from, s.to, s.window, s.both = from, to, "", "--window"
	return nil
}

// ends returns the flags for the ends of the window, whose times go to from and to. splitWindow must have been called.
func (s *selectionFlags) ends(from, to *int64) []timeFlag {
	if s.both != "" {
		return []timeFlag{{s.both, s.from, from}, {s.both, s.to, to}}
	}
	return []timeFlag{{"--from", s.from, from}, {"--to", s.to, to}}
}

// reversed returns the error for a window whose end is before its begin.
func (s *selectionFlags) reversed() error {
	if s.both != "" {
		return usageError("%s: found the end %s before the begin %s", s.both, s.to, s.from)
	}
	return usageError("--from %s is after --to %s", s.from, s.to)
}

// times sets from and to to the ticks of the ends of the window, and parses the times of more flags. If the ends are
// different times, but no tick of the clock is between them, emptyWindow is a message about that. splitWindow must have
// been called.
func (s *selectionFlags) times(ctx context.Context, d format.Events, from, to *int64, more ...timeFlag) (
	emptyWindow string, err error) {
	if err := timesOf(ctx, d, append(s.ends(from, to), more...)...); err != nil {
		return "", err
	}
	if *from > *to {
		return "", s.reversed()
	}
	if isWhole(s.to) {
		*to = math.MaxInt64 // includes the last event
	}
	if *from != *to || s.from == s.to {
		return "", nil
	}
	return fmt.Sprintf("the window from %s to %s has no tick of the trace's clock; a tick is %s", s.from, s.to,
		d.Defs().Clock.Resolution()), nil
}

// splitRange splits a range at the first minus that is not a sign.
func splitRange(s string) (from, to string, ok bool) {
	for i := 1; i < len(s); i++ {
		if s[i] == '-' && s[i-1] != '@' {
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

// selection converts the flags into a selection.
func (s *selectionFlags) selection(ctx context.Context, in *input) (trace.Selection, error) {
	sel := trace.Everything()
	if err := s.splitWindow(); err != nil {
		return sel, err
	}
	d := in.Defs()
	emptyWindow, err := s.times(ctx, in.Events, &sel.From, &sel.To)
	if err != nil {
		return sel, err
	}
	in.emptyWindow = cmp.Or(emptyWindow, in.emptyWindow)
	if sel.Location, err = s.locationFilter(in); err != nil {
		return sel, err
	}
	if sel.Region, err = choose(d, aRegion, s.regions); err != nil {
		return sel, err
	}
	in.flagNames = append(in.flagNames, flagNames{"--region", aRegion, s.regions})
	if len(s.kinds) > 0 {
		if sel.Kind, err = chooseKinds(d, "--kind", s.kinds); err != nil {
			return sel, err
		}
		if !slices.Contains(s.kinds, linkKind) {
			sel.Links = trace.NoLinks
		}
	}
	if len(s.regions) > 0 {
		sel.Links = trace.NoLinks
	}
	return sel, nil
}

// selectionOfPart returns the selection for an analysis that follows events of all regions. It restricts the
// events to those of the selected regions, as weft filter does. splitWindow must have been called.
func (s *selectionFlags) selectionOfPart(ctx context.Context, in *input) (trace.Selection, error) {
	x := *s
	x.regions = nil
	sel, err := x.selection(ctx, in)
	if err == nil {
		_, err = (&selectionFlags{regions: s.regions}).narrow(ctx, in)
	}
	return sel, err
}

// wantedRows returns a function that reports whether a row has a wanted region. It returns nil if all
// regions are wanted. The function must only be called after the events have been read, because they
// may add regions.
func wantedRows(rows *trace.Rows, wanted func(region uint32) bool) func(row uint32) bool {
	if wanted == nil {
		return nil
	}
	regions := sync.OnceValue(rows.Regions)
	return func(row uint32) bool {
		return row != trace.NoRef && (wanted(row) || slices.ContainsFunc(regions()[row], wanted))
	}
}

// withAbsoluteTimes returns the flags with their times in ticks of the trace's clock. It must be called before
// events are filtered: percentages, and times relative to the first event, refer to the whole trace.
func (s *selectionFlags) withAbsoluteTimes(ctx context.Context, in *input) (*selectionFlags, error) {
	times := selectionFlags{from: s.from, to: s.to, window: s.window}
	sel, err := times.selection(ctx, in)
	if err != nil {
		return nil, err
	}
	x := *s
	x.window = ""
	if x.from = times.from; x.from != "" {
		x.from = fmt.Sprintf("@%d", sel.From)
	}
	if x.to = times.to; x.to != "" {
		x.to = fmt.Sprintf("@%d", sel.To)
	}
	return &x, nil
}

// timeFlag holds the value of a flag for a time, and the address of the variable that gets the time. The value
// is "" if the flag is not set.
type timeFlag struct {
	flag, text string
	to         *int64
}

// timesOf parses times. It reads the trace only if a time refers to its first or last event.
func timesOf(ctx context.Context, d format.Events, list ...timeFlag) (err error) {
	var first, last int64
	if slices.ContainsFunc(list, func(t timeFlag) bool { return t.text != "" && !strings.HasPrefix(t.text, "@") }) {
		ok := false
		if first, last, ok, err = format.Extent(ctx, d); err != nil {
			return err
		}
		if !ok {
			first, last = 0, 0
		}
	}
	return parseTimes(d.Defs().Clock, first, last, list...)
}

// isWhole reports whether the end of a window stands for a time after the last event.
func isWhole(text string) bool {
	n, ok := strings.CutSuffix(strings.TrimSpace(text), "%")
	percent, isNumber := new(big.Rat).SetString(strings.TrimSpace(n))
	return ok && isNumber && percent.Cmp(big.NewRat(100, 1)) == 0
}

// parseTimes parses times. Times without @ are relative to first, the time of the first event.
func parseTimes(c trace.Clock, first, last int64, list ...timeFlag) (err error) {
	for _, t := range list {
		if t.text == "" {
			continue
		}
		if *t.to, err = c.ParseTime(t.text, first, last); err != nil {
			return usageError("%s: %w", t.flag, err)
		}
	}
	return nil
}

// linkKind is the name of links in lists of kinds.
const linkKind = "link"

// kindsHelp describes the values of --kind for the help text.
const kindsHelp = "with all of their phases: enter, claim, send (includes send-begin and send-complete), message " +
	"(includes send and recv)"

// messageKind stands for all sends and receives in lists of kinds.
const messageKind = "message"

// kindsNamed returns the names of the kinds for which a word stands. These are the kind with that name
// and its phases, whose names begin with the word and a hyphen (send: send, send-begin and
// send-complete). The word message stands for the kinds of send and recv.
func kindsNamed(d *trace.Definitions, word string) (names []string) {
	if word == messageKind {
		return append(kindsNamed(d, trace.Send.Spec().Name), kindsNamed(d, trace.Recv.Spec().Name)...)
	}
	for _, k := range trace.Kinds() {
		if name := k.Spec().Name; name == word || k.IsEvent() && strings.HasPrefix(name, word+"-") {
			names = append(names, name)
		}
	}
	if word == linkKind || slices.ContainsFunc(d.Kinds.All(), func(x trace.KindDef) bool { return x.Name == word }) {
		names = append(names, word)
	}
	return names
}

// kindWords returns all words for kinds.
func kindWords(d *trace.Definitions) []string {
	list := []string{linkKind, messageKind}
	for _, k := range trace.Kinds() {
		beginning, _, _ := strings.Cut(k.Spec().Name, "-")
		if list = append(list, k.Spec().Name); len(kindsNamed(d, beginning)) > 0 {
			list = append(list, beginning)
		}
	}
	for _, k := range d.Kinds.All() {
		list = append(list, k.Name)
	}
	return list
}

// chooseKinds returns a function that reports whether one of the words stands for a kind.
func chooseKinds(d *trace.Definitions, flag string, list []string) (func(trace.Kind) bool, error) {
	kinds := map[string]bool{}
	for _, word := range list {
		names := kindsNamed(d, word)
		if len(names) == 0 {
			see := nearest.DidYouMean(word, slices.Values(kindWords(d)), "weft formats --kinds lists them")
			return nil, usageError("%s %s: no such kind; %s", flag, word, see)
		}
		for _, name := range names {
			kinds[name] = true
		}
	}
	return func(k trace.Kind) bool { return kinds[d.Spec(k).Name] }, nil
}
