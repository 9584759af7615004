package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/analysis/constraints"
	"github.com/weft-trace/weft/analysis/explain"
	"github.com/weft-trace/weft/analysis/info"
	"github.com/weft-trace/weft/analysis/profile"
	"github.com/weft-trace/weft/analysis/states"
	"github.com/weft-trace/weft/analysis/waits"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/report"
	"github.com/weft-trace/weft/timeline/index"
	"github.com/weft-trace/weft/trace"
)

// reportCommand returns the command weft report.
func (a *app) reportCommand() *cobra.Command {
	var r inputFlags
	var s selectionFlags
	var out, title, by string
	c := &cobra.Command{
		Use:   "report TRACE",
		Short: "Write a report about a trace as one HTML page",
		Long: `Write a report about a trace as one HTML file that can be sent by mail. It shows the
findings of weft explain, an overview of the trace, its time line, the regions and call
paths with the most time, how evenly the locations work, efficiency, waits and their
causes, the critical path, messages and collective operations, resources, and the defects
that weft check finds. The file has no scripts and needs no other file. The figures are
those of weft explain, info, profile, efficiency, waits, path, comm and check.

--window, or --from and --to, --location, --group and --region restrict the report to a
part of the trace, as in these commands. With --region, the report has no findings, no
efficiency, no waits and no critical path, because they need all regions. weft reads the trace
twice; for a part of it, several times. It draws the time line from the index of the trace,
which it builds in the cache if there is none (see weft index).`,
		Example: "  weft report trace.otf2 -o report.html\n" +
			"  weft report --window 20%..30% --title 'Third time step' -o step.html trace.otf2",
		Args: exactArgs(1, "one trace"),
		RunE: func(c *cobra.Command, args []string) error {
			if out == "" {
				out = strings.TrimSuffix(filepath.Base(args[0]), filepath.Ext(args[0])) + ".html"
				if args[0] == "-" {
					out = "-"
				}
			}
			if _, err := wordIndex("--by", by, byRegion, byDefinition); err != nil {
				return err
			}
			x, err := a.computeReport(c.Context(), args[0], &r, &s, by)
			if err != nil {
				return err
			}
			if title != "" {
				x.Title = title
			}
			file, err := a.createText(out)
			if err != nil {
				return err
			}
			return writeTo(file, x.Write)
		},
	}
	defineAnalysisFlags(c.Flags(), &r, &s)
	r.defineRolesFlag(c.Flags())
	c.Flags().StringVarP(&out, "output", "o", "",
		"file to write; the trace's name with .html if not given, - for standard output")
	defineByFlag(c, &by)
	c.Flags().StringVar(&title, "title", "", "title; default: the trace's name")
	a.defineForceFlag(c)
	return c
}

// computeReport computes the contents of the page. It opens the trace again to check it, so that a reader's defects
// are counted once.
func (a *app) computeReport(ctx context.Context, arg string, r *inputFlags, s *selectionFlags,
	by string) (*report.Report, error) {
	base, err := a.findSource(ctx, arg, r)
	if err != nil {
		return nil, err
	}
	defer base.Close()
	x := &report.Report{Title: filepath.Base(base.src.Path), Format: base.format.About().Title,
		Restrictions: s.chosenNames()}
	// with opens the trace once for some analyses.
	with := func(list ...func(in *input) error) error {
		in := a.reopen(base, r)
		defer in.Close()
		if err := in.openTrace(ctx, r); err != nil {
			return err
		}
		err := in.together(ctx, r, list)
		in.bar.remove()
		return err
	}
	addInfo := func(in *input) error { return a.addInfo(ctx, in, r, s, by, x) }
	addProfile := func(in *input) error { return a.addProfile(ctx, in, s, by, x) }
	addCallPaths := func(in *input) error { return a.addCallPaths(ctx, in, s, by, x) }
	addMessages := func(in *input) error { return a.addMessages(ctx, in, s, x) }
	addReasons := func(in *input) error { return a.addReasons(ctx, in, s, by, x) }
	// Each analysis restricts its own copy of the trace to the selection; scans of all events are shared.
	err = with(addInfo, addProfile, addCallPaths, addMessages, addReasons)
	if err != nil {
		return nil, err
	}
	// The paths of folders on this machine do not help the readers of the page.
	folder := filepath.Dir(base.src.Path) + string(filepath.Separator)
	x.Info.Path = filepath.Base(base.src.Path)
	for i := range x.Info.Files {
		f := &x.Info.Files[i]
		f.Path = strings.TrimPrefix(f.Path, folder)
	}
	draw := func(i, all *index.Index) error {
		from, to, empty, err := s.windowOf(all)
		if err != nil {
			return err
		}
		tracks, err := s.tracksOf(i)
		if err != nil {
			return err
		}
		if empty {
			tracks = []int{}
		}
		return x.Draw(ctx, i, all, from, to, tracks)
	}
	err = a.withIndex(ctx, base, r, func(all *index.Index) error {
		if len(s.regions) == 0 {
			return draw(all, all)
		}
		// this needs separate rows for regions that the stored index merges by name
		return with(func(in *input) error {
			e, err := s.withoutOtherRegions(ctx, in)
			if err != nil {
				return err
			}
			last := map[uint32]int64{}
			for _, t := range all.Tracks() {
				if t.Kind == index.LocationTrack {
					last[t.Location] = t.Last
				}
			}
			i, err := index.BuildTemporary(ctx, e, index.Options{Workers: a.workers,
				LastEvent: func(location uint32) int64 { return last[location] }})
			if err != nil {
				return err
			}
			defer i.Close()
			return draw(i, all)
		})
	})
	if err != nil {
		return nil, err
	}
	in := a.reopen(base, r)
	defer in.Close()
	found, err := a.checkInput(ctx, in, r, s, 1, nil)
	if err != nil {
		return nil, err
	}
	addDefects(x, found, folder)
	return x, nil
}

// chosenNames returns descriptions of the selected locations, groups and regions.
func (s *selectionFlags) chosenNames() (list []string) {
	for _, c := range []struct {
		what string
		list []string
	}{{"location", s.locations}, {"group", s.groups}, {"region", s.regions}} {
		if len(c.list) > 0 {
			list = append(list, c.what+" "+strings.Join(c.list, ", "))
		}
	}
	return list
}

// addInfo adds the result of weft info.
func (a *app) addInfo(ctx context.Context, in *input, r *inputFlags, s *selectionFlags, by string,
	x *report.Report) error {
	part, err := s.infoPart(ctx, in)
	if err != nil {
		return err
	}
	if x.Info, _, err = in.info(by, part).Describe(ctx, false); err != nil {
		return err
	}
	if !r.quiet {
		a.reportFlagNames(in)
		if part != nil && x.Info.Events == 0 {
			printf(a.err, "%s: %s\n", in.src.Path, noEvent)
		}
	}
	if part == nil {
		return nil
	}
	x.Begin = &part.Begin
	x.Info.Locations = slices.DeleteFunc(x.Info.Locations, func(l info.Location) bool { return l.Events == 0 })
	return nil
}

// addDefects adds the result of weft check, with the paths of files relative to folder.
func addDefects(x *report.Report, found *checkResult, folder string) {
	x.Errors, x.Warnings, x.Notes = found.Errors, found.Warnings, found.Notes
	for _, f := range found.Rules {
		y := report.Rule{Rule: f.Rule, Severity: f.Severity, Doc: f.Doc, Count: f.Count}
		if len(f.Places) > 0 {
			p := f.Places[0]
			place := p.defect.Position
			place.File = strings.TrimPrefix(place.File, folder)
			y.Place = place.String()
			y.Found, y.Expected = p.Found, p.Expected
		}
		x.Rules = append(x.Rules, y)
	}
}

// reopen returns the same trace, not yet opened.
func (a *app) reopen(base *input, r *inputFlags) *input {
	in := &input{src: base.src, format: base.format, report: a.newReport(r)}
	opt := *base.opt
	in.bar = a.newBar("reading " + in.src.Path)
	opt.Report, opt.Progress = in.report, in.bar.setProgress
	in.opt = &opt
	return in
}

// together runs analyses of an open trace, which share the scans of all events.
func (in *input) together(ctx context.Context, r *inputFlags, list []func(in *input) error) error {
	analyses := make([]func(format.File) error, len(list))
	for i, f := range list {
		analyses[i] = func(file format.File) (err error) {
			x := *in
			x.file = file
			if x.Events, err = r.correct(file); err != nil {
				return err
			}
			return f(&x)
		}
	}
	return analysis.RunTogether(ctx, in.file, analyses...)
}

// addProfile adds the result of weft profile.
func (a *app) addProfile(ctx context.Context, in *input, s *selectionFlags, by string, x *report.Report) error {
	rows := rowsBy(in.Defs(), by)
	p, err := a.computeProfile(ctx, in, s, rows, byLocation, byExclusive)
	if err != nil {
		return err
	}
	d := in.Defs()
	var opt states.Options
	x.Waits = func(ref uint32) bool {
		return d.Regions.Has(ref) && opt.StateIn(d, d.Regions.At(ref)) != states.Busy
	}
	for row, list := range rows.Regions() {
		if x.Definitions == nil && slices.ContainsFunc(list, func(r uint32) bool { return x.Waits(r) != x.Waits(row) }) {
			y, err := a.computeProfile(ctx, in, s, nil, byLocation, byExclusive)
			if err != nil {
				return err
			}
			x.Definitions = y.Locations
		}
	}
	x.From, x.To = p.From, p.To
	x.Covered, x.Regions, x.Activities, x.Locations = p.Covered, p.Regions, p.Activities, p.Locations
	name := regionNames(in.Defs(), by)
	nameApart := func(list []profile.Region) {
		for i := range list {
			list[i].Name = name(list[i].Region, list[i].Name)
		}
	}
	nameApart(x.Regions)
	for i := range x.Locations {
		nameApart(x.Locations[i].Regions)
	}
	for i := range x.Activities {
		x.Activities[i].Name = name(x.Activities[i].Region, x.Activities[i].Name)
	}
	x.Clock = d.Clock
	return nil
}

// addMessages adds the result of weft comm.
func (a *app) addMessages(ctx context.Context, in *input, s *selectionFlags, x *report.Report) error {
	if err := in.Events.Prepare(ctx); err != nil {
		return err
	}
	m, err := a.comm(ctx, in, s)
	if err != nil {
		return err
	}
	x.Messages, x.Collectives = m.Messages, m.Collectives
	x.LocationName, _ = locationNames(in.Defs())
	return nil
}

// gainsShown is the number of regions whose gains weft path and weft report show.
const gainsShown = 5

// addReasons adds the results of weft explain, weft waits, weft path and weft efficiency. It adds none
// if regions are selected, since these analyses need all regions.
func (a *app) addReasons(ctx context.Context, in *input, s *selectionFlags, by string, x *report.Report) error {
	if len(s.regions) > 0 {
		return nil
	}
	rows := rowsBy(in.Defs(), by)
	if s.anySet() {
		sel, err := s.selection(ctx, in)
		if err != nil {
			return err
		}
		opt := waits.Options{Locations: sel.Location, Rows: rows}
		_, opt.Window = s.selectedBounds(sel)
		found := waitsResult{}
		err = found.findWithCauses(ctx, in.Events, opt)
		if errors.Is(err, analysis.ErrTimeRange) {
			x.Unexplained = err.Error()
			return nil
		}
		if err != nil {
			return err
		}
		x.WaitStates, x.Causes = found.Result, found.Causes
		if _, err := s.narrowRunning(ctx, in); err != nil {
			return err
		}
	}
	if in.Defs().Resources.Len() > 0 {
		if err := addClaimPath(ctx, in, x); err != nil {
			return err
		}
	}
	page, ok, err := explain.Explain(ctx, in.Events,
		explain.Options{Rows: rows, Gains: gainsShown, Part: s.selectsTimes()})
	if errors.Is(err, analysis.ErrTimeRange) {
		x.Unexplained = err.Error()
		return nil
	}
	if err != nil {
		return err
	}
	x.Explanation, x.Viewable = page, !s.anySet()
	if !ok {
		x.Unexplained = page.Missing()
	}
	if x.WaitStates == nil {
		x.WaitStates, x.Causes = page.Waits, page.Causes
	}
	return nil
}

// mostPathClaims is the greatest number of claims of which the report has a critical path.
const mostPathClaims = 500_000

// addClaimPath adds the critical path of the claims, as weft path finds it, or the reason why there is none.
func addClaimPath(ctx context.Context, in *input, x *report.Report) (err error) {
	x.ClaimPath, err = constraints.Find(ctx, in.Events, constraints.Options{Use: constraints.Full, Most: mostPathClaims})
	var cycle *constraints.CycleError
	switch {
	case errors.Is(err, constraints.ErrNoClaims):
		return nil
	case errors.Is(err, constraints.ErrManyClaims):
		x.NoClaimPath = fmt.Sprintf("The report has no critical path of more than %d claims; weft path finds it.",
			mostPathClaims)
		return nil
	case errors.As(err, &cycle):
		x.NoClaimPath = "There is no critical path: " + cycle.Error()
		return nil
	}
	return err
}

// addCallPaths adds the call paths of the selected regions, as if the trace had no other regions.
func (a *app) addCallPaths(ctx context.Context, in *input, s *selectionFlags, by string, x *report.Report) error {
	rest, err := s.withAbsoluteTimes(ctx, in)
	if err != nil {
		return err
	}
	e, err := s.withoutOtherRegions(ctx, in)
	if err != nil {
		return err
	}
	some := *in
	some.Events, rest.regions = e, nil
	t, err := a.computeCallTree(ctx, &some, rest, rowsBy(in.Defs(), by), by, byInclusive)
	if err != nil {
		return err
	}
	t.nameRegions(in.Defs())
	x.Paths = t.Paths
	return nil
}

// withoutOtherRegions returns the events without regions that the flags do not select.
func (s *selectionFlags) withoutOtherRegions(ctx context.Context, in *input) (format.Events, error) {
	x := rewriteFlags{filter: filterFlags{regions: s.regions}}
	if !x.changesTrace() {
		return in.Events, nil
	}
	return x.transform(ctx, in.Events)
}

// locationNames returns a function for the full names of locations, and the length of the longest
// name. The function also returns names of locations that are added later.
func locationNames(d *trace.Definitions) (name func(loc uint32) string, longest int) {
	names := d.FullNames()
	for i := range names {
		longest = max(longest, utf8.RuneCountInString(names[i]))
	}
	return func(loc uint32) string {
		if int(loc) >= len(names) && d.Locations.Has(loc) {
			names = d.FullNames()
		}
		if int(loc) >= len(names) {
			return "–" // the value is unknown
		}
		return names[loc]
	}, longest
}
