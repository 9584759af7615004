package cli

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weft-trace/weft/analysis/info"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/serve/cache"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// reading holds the flags of commands that read a trace.
type reading struct {
	format  string
	options []string
	strict  bool
	quiet   bool
	// correction is the file of a clock correction, "" for none.
	correction string
	// roles is a file that says what regions do, "" for none.
	roles string
}

// clockFlag is for commands that look at times.
func (r *reading) clockFlag(f *pflag.FlagSet) {
	f.StringVar(&r.correction, "clock-correction", "", "put times right by a file that weft align wrote")
	readsFile(f, "clock-correction")
}

// rolesFlag is for commands that look at what regions do.
func (r *reading) rolesFlag(f *pflag.FlagSet) {
	f.StringVar(&r.roles, "roles", "",
		"what regions do, where names do not tell: a file of lines ROLE PATTERN (see docs/commands.md)")
	readsFile(f, "roles")
}

// correct puts the clocks of a trace right if that is asked for.
func (r *reading) correct(d format.Events) (format.Events, error) {
	if r.correction == "" {
		return d, nil
	}
	f, err := os.Open(r.correction)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c, err := transform.ReadCorrection(f, r.correction)
	if err != nil {
		return nil, &exitError{exitDefects, err}
	}
	if d, err = transform.Correct(d, c, 0); err != nil {
		return nil, usageError("%s: %w", r.correction, err)
	}
	return d, nil
}

func (r *reading) flags(f *pflag.FlagSet) {
	f.StringVar(&r.format, "format", "", "format of the trace, if its content does not tell (see weft formats)")
	f.StringArrayVar(&r.options, "option", nil,
		"setting of a format, NAME=VALUE (see weft formats --options); may be repeated")
	f.BoolVar(&r.strict, "strict", false, "stop at the first defect")
	f.BoolVarP(&r.quiet, "quiet", "q", false, "do not mention defects")
}

// input is an opened trace.
type input struct {
	format.Events
	file   format.File // without a correction of its clocks
	format format.Format
	src    format.Source
	opt    *format.ReadOptions
	report *format.Report
	named  []named // what the flags name
	// nothing says what the flags do not find: "found no event".
	nothing string
	hidden  []uint32 // attributes that the trace itself does not have
	bar     *bar
	close   []func() error
}

// inOrder hands the events that r chooses to an analysis, in global time order.
func (in *input) inOrder(ctx context.Context, r format.Reduction, sink format.Sink) error {
	return format.ScanReduced(ctx, in.Events, trace.Events(), r, sink)
}

// Close frees everything.
func (in *input) Close() error {
	in.bar.done()
	var err error
	if in.file != nil {
		err = in.file.Close()
		in.file = nil
	}
	for _, c := range in.close {
		c()
	}
	return err
}

// parseOptions reads NAME=VALUE pairs and checks the names.
func (a *app) parseOptions(list []string) (map[string]string, error) {
	out := map[string]string{}
	for _, s := range list {
		name, value, ok := strings.Cut(s, "=")
		if !ok {
			return nil, usageError("--option %s: expected NAME=VALUE", s)
		}
		known := false
		for _, f := range a.formats {
			for _, o := range f.About().Options {
				if o.Name != name {
					continue
				}
				known = true
				if len(o.Values) > 0 && !slices.Contains(o.Values, value) {
					return nil, usageError("--option %s: found %q, expected one of %s", name, value, strings.Join(o.Values, ", "))
				}
			}
		}
		if !known {
			see := didYouMean(name, a.optionNames(), "weft formats --options lists them")
			return nil, usageError("--option %s: no such option; %s", name, see)
		}
		out[name] = value
	}
	return out, nil
}

// optionNames are the names of the options of all formats.
func (a *app) optionNames() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, f := range a.formats {
			for _, o := range f.About().Options {
				if !yield(o.Name) {
					return
				}
			}
		}
	}
}

// formatNamed is the format that a flag names.
func (a *app) formatNamed(flag, name string) (format.Format, error) {
	f, ok := format.ByName(a.formats, name)
	if !ok {
		var names []string
		for _, f := range a.formats {
			names = append(names, f.About().Name)
		}
		see := didYouMean(name, slices.Values(names), "weft formats lists them")
		return nil, usageError("%s %s: no such format; %s", flag, name, see)
	}
	return f, nil
}

// open opens the trace that an argument names and prepares it; "-" is standard
// input.
func (a *app) open(ctx context.Context, arg string, r *reading) (*input, error) {
	in, err := a.openOnly(ctx, arg, r)
	if err != nil {
		return nil, err
	}
	if err := in.Events.Prepare(ctx); err != nil {
		in.Close()
		return nil, err
	}
	return in, nil
}

// openOnly opens a trace, but does not prepare it, for format.ScanAnew.
func (a *app) openOnly(ctx context.Context, arg string, r *reading) (*input, error) {
	in, err := a.source(ctx, arg, r)
	if err != nil {
		return nil, err
	}
	if err := in.decode(ctx, r); err != nil {
		in.Close()
		return nil, err
	}
	return in, nil
}

// decode opens a trace, and corrects its clocks if that is asked for.
func (in *input) decode(ctx context.Context, r *reading) error {
	if err := in.openFile(ctx, in.opt); err != nil {
		return err
	}
	if r.roles != "" {
		roles, err := readRoles(r.roles)
		if err != nil {
			return err
		}
		in.Defs().Roles = roles
	}
	e, err := r.correct(in.file)
	if err == nil {
		in.Events = e
	}
	return err
}

// openFile opens a trace as it is.
func (in *input) openFile(ctx context.Context, opt *format.ReadOptions) error {
	f, err := in.format.Open(ctx, in.src, opt)
	if err != nil {
		return err
	}
	in.Events, in.file = f, f
	return nil
}

// source finds the file and its format without opening a decoder.
func (a *app) source(ctx context.Context, arg string, r *reading) (*input, error) {
	values, err := a.parseOptions(r.options)
	if err != nil {
		return nil, err
	}
	in := &input{report: a.newReport(r)}
	if err := a.locate(ctx, in, arg); err != nil {
		return nil, err
	}
	if in.format, err = a.formatOf(in.src, r); err != nil {
		return nil, err
	}
	in.bar = a.newBar("reading " + in.src.Path)
	in.opt = &format.ReadOptions{Strict: r.strict, Report: in.report, Values: values, Workers: a.workers,
		Progress: in.bar.set}
	return in, nil
}

// locate finds the file that an argument names; "-" is standard input, which is copied.
func (a *app) locate(ctx context.Context, in *input, arg string) error {
	if arg == "" {
		return usageError("found an empty name, expected that of a trace")
	}
	in.src = format.FileSource(arg)
	a.reads(ctx, arg, in)
	open, name := func() (io.ReadCloser, error) { return io.NopCloser(a.in), nil }, "stdin"
	if arg != "-" {
		open = nil
		if st, err := os.Stat(arg); err == nil && st.IsDir() {
			return &exitError{exitIO, fmt.Errorf("%s: found a directory, expected a trace file%s", arg, a.traceOf(arg))}
		} else if err == nil && !st.Mode().IsRegular() {
			// A pipe or device can be read once only.
			open, name = func() (io.ReadCloser, error) { return os.Open(arg) }, arg
		}
	}
	if open != nil {
		f, size, err := spill(ctx, open)
		if err != nil {
			in.Close()
			return err
		}
		in.close = append(in.close, f.Close)
		in.src = format.Source{FS: single{f, size}, Name: stdinName, Path: name}
	}
	return nil
}

// traceOf asks whether a trace is meant of which somebody named the folder: one in it, or the OTF2 archive whose
// locations are there.
func (a *app) traceOf(folder string) string {
	names := []string{filepath.Clean(folder) + ".otf2"}
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		if _, ok := format.ByExtension(a.formats, e.Name()); ok {
			names = append(names, filepath.Join(folder, e.Name()))
		}
	}
	for _, name := range names {
		if st, err := os.Stat(name); err == nil && st.Mode().IsRegular() {
			return "; did you mean " + name + "?"
		}
	}
	return ""
}

// namedFormat is the format that --format names, nil if it is not given.
func (a *app) namedFormat(r *reading) (format.Format, error) {
	if r.format == "" {
		return nil, nil
	}
	return a.formatNamed("--format", r.format)
}

// formatOf is the format of a trace.
func (a *app) formatOf(src format.Source, r *reading) (format.Format, error) {
	if f, err := a.namedFormat(r); err != nil {
		return nil, err
	} else if f != nil {
		if x, size, err := src.Open(); err == nil {
			x.Close()
			if size == 0 && !f.About().EmptyMain {
				return nil, format.EmptyError(src)
			}
		}
		return f, nil
	}
	f, err := format.Detect(a.formats, src)
	if _, stream := src.FS.(single); stream && err == nil && !f.About().SingleText {
		return nil, usageError("%s: found %s, which is several files, expected the name of its main file", src.Path,
			f.About().Title)
	}
	return f, err
}

// spill copies a stream into a temporary file. A stream that gives nothing, or a pipe that
// nobody writes to, does not keep an interrupt waiting.
func spill(ctx context.Context, open func() (io.ReadCloser, error)) (format.DataFile, int64, error) {
	type result struct {
		f    format.DataFile
		size int64
		err  error
	}
	done := make(chan result, 1)
	go func() {
		r, err := open()
		if err != nil {
			done <- result{err: err}
			return
		}
		defer r.Close()
		f, n, err := format.Spill(r)
		done <- result{f, n, err}
	}()
	select {
	case x := <-done:
		return x.f, x.size, x.err
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
}

// stdinName is the name of the file in a [single] one.
const stdinName = "stdin"

// single is a file system of one file, for standard input.
type single struct {
	f    format.DataFile
	size int64
}

// Open opens the file; there is no other.
func (s single) Open(name string) (fs.File, error) {
	if name != stdinName {
		return nil, &fs.PathError{Op: "open", Path: name,
			Err: fmt.Errorf("found one file alone, expected %s beside it: %w", name, fs.ErrNotExist)}
	}
	return &singleFile{SectionReader: io.NewSectionReader(s.f, 0, s.size), size: s.size}, nil
}

type singleFile struct {
	*io.SectionReader
	size int64
}

// Close keeps the underlying file open for the next reader.
func (f *singleFile) Close() error { return nil }

// Stat describes the file.
func (f *singleFile) Stat() (fs.FileInfo, error) { return singleInfo{f.size}, nil }

type singleInfo struct{ size int64 }

func (i singleInfo) Name() string       { return stdinName }
func (i singleInfo) Size() int64        { return i.size }
func (i singleInfo) Mode() fs.FileMode  { return 0o444 }
func (i singleInfo) ModTime() time.Time { return time.Time{} }
func (i singleInfo) IsDir() bool        { return false }
func (i singleInfo) Sys() any           { return nil }

// tell mentions the defects that reading found, in one line on standard error.
func (a *app) tell(in *input, quiet bool) {
	if quiet {
		return
	}
	a.tellNamed(in)
	rules := in.report.Rules()
	var n [3]int64
	for _, r := range rules {
		n[r.Severity] += r.Count
	}
	if n[trace.Error]+n[trace.Warning] == 0 {
		return
	}
	for _, r := range rules {
		switch {
		case format.IsMissing(r.Rule):
			a.tellFiles(r.First)
		case r.Severity == trace.Error:
			fmt.Fprintln(a.err, plain(r.First[0].Error()))
		}
	}
	printf(a.err, "%s: %d errors, %d warnings; weft check lists them\n", in.src.Path, n[trace.Error], n[trace.Warning])
}

// reported is what reading a trace found.
type reported struct {
	report *format.Report
	quiet  bool // standard error is to have none of it
}

// newReport makes a report whose missing files the exit code tells of.
func (a *app) newReport(r *reading) *format.Report {
	x := reported{format.NewReport(), r.quiet}
	a.reports = append(a.reports, x)
	return x.report
}

// tellMissingFiles names the files that any reading missed, whatever else it read and however a command shows that:
// the exit code says so, too.
func (a *app) tellMissingFiles() {
	for _, x := range a.reports {
		for _, r := range x.report.Rules() {
			if !format.IsMissing(r.Rule) {
				continue
			}
			if a.incomplete = true; !x.quiet {
				a.tellFiles(r.First)
			}
		}
	}
}

// tellFiles names files that are missing, each once.
func (a *app) tellFiles(list []*trace.Defect) {
	for _, d := range list {
		a.tellFile(d.Error())
	}
}

// tellMade says what making an index has found, now or some time ago, in files of the trace.
func (a *app) tellMade(path string, f cache.Found, quiet bool) {
	a.incomplete = a.incomplete || len(f.Missing) > 0
	if quiet {
		return
	}
	for _, line := range f.Missing {
		a.tellFile(line)
	}
	if f.Defects > 0 {
		printf(a.err, "%s: %d defects; weft check lists them\n", path, f.Defects)
	}
}

func (a *app) tellFile(line string) {
	if a.told == nil {
		a.told = map[string]bool{}
	}
	if line = plain(line); !a.told[line] {
		a.told[line] = true
		fmt.Fprintln(a.err, line)
	}
}

// tellNamed says what flags name that the trace does not have, and what they do not find.
func (a *app) tellNamed(in *input) {
	if len(in.named) > 0 {
		a.tellMissing("the trace", in.Defs(), in.named)
	}
	if in.nothing != "" {
		printf(a.err, "%s: %s\n", in.src.Path, in.nothing)
	}
}

// selecting holds the flags that choose events.
type selecting struct {
	from, to  string
	window    string // both, for those who like that better
	locations []string
	groups    []string
	kinds     []string
	regions   []string
}

func (s *selecting) flags(f *pflag.FlagSet) {
	s.stateFlags(f)
	f.StringSliceVar(&s.kinds, "kind", nil, "kinds of events, "+kindsHelp)
}

// stateFlags are those for commands that follow states, which need all kinds of
// events.
func (s *selecting) stateFlags(f *pflag.FlagSet) {
	s.timeFlags(f)
	s.placeFlags(f)
	s.regionFlag(f)
}

// regionFlag is the one that chooses regions.
func (s *selecting) regionFlag(f *pflag.FlagSet) {
	f.Var((*nameList)(&s.regions), "region",
		"regions by name or id; * and ? match anything, re: begins a regular expression")
}

// placeFlags are those that choose locations.
func (s *selecting) placeFlags(f *pflag.FlagSet) {
	f.Var((*nameList)(&s.locations), "location",
		"locations by id or name; * and ? match anything, re: begins a regular expression")
	f.Var((*nameList)(&s.groups), "group", "locations below groups (processes, nodes) with this id or name")
}

// filtering is what weft filter would be told.
func (s *selecting) filtering() filtering {
	return filtering{locations: s.locations, groups: s.groups, regions: s.regions}
}

// places is whether a location is chosen, nil if all are.
func (s *selecting) places(in *input) (func(loc uint32) bool, error) {
	x := filtering{locations: s.locations, groups: s.groups}
	w, _, err := x.wanted(in.Defs())
	in.named = append(in.named, x.named()...)
	return w.Location, err
}

// part leaves away what the flags do not choose, as weft cut and weft filter do, and says what is left; nil if they
// choose all.
func (s *selecting) part(ctx context.Context, in *input) (*info.Part, error) {
	whole := in.Events
	if narrowed, err := s.narrow(ctx, in); !narrowed || err != nil {
		return nil, err
	}
	x := changing{filter: s.filtering()}
	uncut, err := x.change(ctx, whole)
	if err != nil {
		return nil, err
	}
	part := &info.Part{Uncut: uncut}
	first, last, ok, err := format.Extent(ctx, whole)
	if err != nil {
		return nil, err
	}
	y := piece{from: s.from, to: s.to, window: s.window}
	if y.cuts() {
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

// narrow leaves away what the flags do not choose, as weft cut and weft filter do, where an analysis
// answers of a whole trace.
func (s *selecting) narrow(ctx context.Context, in *input) (narrowed bool, err error) {
	x := changing{piece: piece{from: s.from, to: s.to, window: s.window, borders: borders[0]}, filter: s.filtering()}
	if !x.changes() {
		return false, nil
	}
	if err := in.Events.Prepare(ctx); err != nil {
		return false, err
	}
	first := in.Defs().Attributes.Len()
	e, err := x.change(ctx, in.Events)
	if err == nil {
		err = e.Prepare(ctx) // which defines what cutting adds
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
	in.Events, in.named = e, append(in.named, x.filter.named()...)
	return true, nil
}

// hides reports whether an attribute is none of the trace's own.
func (in *input) hides(attribute uint32) bool { return slices.Contains(in.hidden, attribute) }

// among leaves away messages, remote memory accesses and collective operations in which no location
// that is wanted has a part; nil wants all.
func (in *input) among(wanted func(loc uint32) bool) {
	if wanted != nil {
		in.Events = transform.Among(in.Events, wanted)
	}
}

// timeFlags are those that choose times alone.
func (s *selecting) timeFlags(f *pflag.FlagSet) {
	f.StringVar(&s.from, "from", "",
		"first time wanted: 1.5ms, 3s, 20%, ticks; counted from the first event, or with @ the trace's own")
	f.StringVar(&s.to, "to", "", "end of the times wanted, exclusive")
	s.windowFlag(f)
}

// windowFlag is the one that chooses both ends of times.
func (s *selecting) windowFlag(f *pflag.FlagSet) {
	f.StringVar(&s.window, "window", "", "both in one: 20%..30%, 1.5ms..2ms, @-5..@7; a side that is left out is open")
}

// any reports whether any flag was given.
func (s *selecting) any() bool {
	return s.from != "" || s.to != "" || s.window != "" || len(s.locations)+len(s.groups)+len(s.kinds)+len(s.regions) > 0
}

// splitWindow makes --from and --to of --window.
func (s *selecting) splitWindow() error {
	if s.window == "" {
		return nil
	}
	if s.from != "" || s.to != "" {
		return usageError("--window: expected neither --from nor --to with it")
	}
	from, to, ok := strings.Cut(s.window, "..")
	if !ok {
		from, to, ok = cutRange(s.window)
	}
	if from, to = strings.TrimSpace(from), strings.TrimSpace(to); !ok || from == "" && to == "" {
		return usageError("--window %s: expected two times, such as 20%%..30%%", s.window)
	}
	s.from, s.to, s.window = from, to, ""
	return nil
}

// cutRange cuts at the first minus that is no sign.
func cutRange(s string) (from, to string, ok bool) {
	for i := 1; i < len(s); i++ {
		if s[i] == '-' && s[i-1] != '@' {
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

// selection turns the flags into a selection.
func (s *selecting) selection(ctx context.Context, in *input) (trace.Selection, error) {
	sel := trace.Everything()
	if err := s.splitWindow(); err != nil {
		return sel, err
	}
	d := in.Defs()
	err := timesOf(ctx, in.Events, timeFlag{"--from", s.from, &sel.From}, timeFlag{"--to", s.to, &sel.To})
	if err != nil {
		return sel, err
	}
	if sel.From > sel.To {
		return sel, usageError("--from %s is behind --to %s", s.from, s.to)
	}
	if sel.Location, err = s.places(in); err != nil {
		return sel, err
	}
	if sel.Region, err = choose(d, aRegion, s.regions); err != nil {
		return sel, err
	}
	in.named = append(in.named, named{"--region", aRegion, s.regions})
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

// absolute returns the flags with their times on the trace's own clock. It is called before events are
// filtered: percentages, and times that are counted from the first event, are those of the whole trace.
func (s *selecting) absolute(ctx context.Context, in *input) (*selecting, error) {
	times := selecting{from: s.from, to: s.to, window: s.window}
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

// timeFlag is the text of a flag for a time, "" if it is not given, and where the time goes.
type timeFlag struct {
	flag, text string
	to         *int64
}

// timesOf reads times of a trace. Those on the trace's own clock need no look at it.
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
	if err := parseTimes(d.Defs().Clock, first, last, list...); err != nil {
		return err
	}
	for _, t := range list {
		if t.flag == "--to" && strings.TrimSpace(t.text) == "100%" {
			*t.to = math.MaxInt64 // with the last event
		}
	}
	return nil
}

// parseTimes reads times, which count from the first one of the trace.
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

// kindsHelp says how kinds are chosen.
const kindsHelp = "with all of their phases: enter, claim, send (also send-begin and send-complete), message (all " +
	"of send and recv)"

// messageKind is the word for sends and receives in lists of kinds.
const messageKind = "message"

// kindsNamed are the kinds that a word stands for, by their names: that of its own name and all of its phases, events
// whose names begin with the word and a hyphen (send: send, send-begin and send-complete), and for message those of
// send and recv.
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

// kindWords are the words that kinds are chosen by.
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

// chooseKinds is whether a kind is in a list of words.
func chooseKinds(d *trace.Definitions, flag string, list []string) (func(trace.Kind) bool, error) {
	kinds := map[string]bool{}
	for _, word := range list {
		names := kindsNamed(d, word)
		if len(names) == 0 {
			see := didYouMean(word, slices.Values(kindWords(d)), "weft formats --kinds lists them")
			return nil, usageError("%s %s: no such kind; %s", flag, word, see)
		}
		for _, name := range names {
			kinds[name] = true
		}
	}
	return func(k trace.Kind) bool { return kinds[d.Spec(k).Name] }, nil
}

// createOutput makes the output that an argument names; "-" is standard output. Its files replace
// only what weft wrote and nobody has changed since, unless that is forced.
func (a *app) createOutput(arg string) (*format.Output, error) {
	if err := a.otherOutput(arg, ""); err != nil {
		return nil, err
	}
	if arg == "-" {
		a.outputs = append(a.outputs, arg)
		return format.StreamOutput(a.out), nil
	}
	if st, err := os.Stat(arg); err == nil && st.Mode().IsRegular() {
		if err := a.replaceable(arg); err != nil {
			return nil, err
		}
	}
	out, err := format.CreateFile(arg)
	if err != nil {
		return nil, err
	}
	a.outputs = append(a.outputs, arg)
	out.Guard(func(path string) error {
		if err := a.otherOutput(path, arg); err != nil {
			return err
		}
		return a.replaceable(path)
	})
	out.AtEnd(func() {
		if out.Names() == nil { // another may take the name
			a.outputs = slices.DeleteFunc(a.outputs, func(name string) bool { return name == arg })
		}
		a.written.Add(out.Names())
	})
	return out, nil
}

// replaceable refuses to replace or remove a file or folder that the command reads, or which weft did not write.
func (a *app) replaceable(path string) error {
	if a.force {
		return nil
	}
	st, err := os.Stat(path)
	if err != nil {
		return nil // a link to nothing
	}
	found := a.readAs(st)
	if found == "" && !a.written.Has(path) {
		found = "a file that weft did not write"
	}
	if found == "" {
		return nil
	}
	return &exitError{exitIO, fmt.Errorf("%s: found %s, expected another name; --force replaces it", path, found)}
}

// forceFlag gives a command that writes files the flag that lets it replace any.
func (a *app) forceFlag(c *cobra.Command) {
	c.Flags().BoolVar(&a.force, "force", false, "replace files that weft did not write, and those that are read, too")
}

// target finds the format that an output is to have, of which a flag gives the name.
func (a *app) target(arg, name, flag string) (format.Format, error) {
	f, ok := (format.Format)(nil), false
	switch {
	case arg == "":
		return nil, usageError("found an empty name, expected that of the file to write")
	case name != "":
		var err error
		if f, err = a.formatNamed(flag, name); err != nil {
			return nil, err
		}
	case arg == "-":
		return nil, usageError("standard output has no name that tells a format; use %s", flag)
	default:
		if f, ok = format.ByExtension(a.formats, arg); !ok {
			return nil, usageError("%s: no format has such names; use %s", arg, flag)
		}
	}
	if arg == "-" && !f.About().SingleText {
		return nil, usageError("%s is not one text and cannot go to standard output", f.About().Title)
	}
	return f, nil
}
