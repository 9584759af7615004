package cli

import (
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/analysis/profile"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// profileResult is the JSON of weft profile (docs/json/profile.md).
type profileResult struct {
	heading
	bounds
	Covered    trace.Ticks        `json:"covered"`
	Unclosed   int64              `json:"unclosed"`
	Orphans    int64              `json:"orphans"`
	Regions    []profile.Region   `json:"regions"`
	Locations  []profile.Location `json:"locations,omitempty"`
	Groups     []groupProfile     `json:"groups,omitempty"`
	Activities []profile.Activity `json:"activities,omitempty"`
	by         string
}

// groupProfile is the profile of all locations of a group.
type groupProfile struct {
	ID      string           `json:"id"`
	Name    string           `json:"name,omitempty"`
	Covered trace.Ticks      `json:"covered"`
	Regions []profile.Region `json:"regions,omitempty"`
}

// Values of --by.
const (
	byRegion   = "region"
	byLocation = "location"
	byGroup    = "group"
	// byDefinition lists definitions of the same name separately.
	byDefinition = "definition"
)

// defineByFlag defines --by for commands that list regions only.
func defineByFlag(c *cobra.Command, by *string) {
	c.Flags().StringVar(by, "by", byRegion,
		"rows of tables: region (one row for all definitions with the same name) or definition (one row for each)")
	registerCompletions(c, "by", byRegion, byDefinition)
}

// rowsBy returns the rows for regions: one row for all regions with the same name, file and line, or
// one row for each definition.
func rowsBy(d *trace.Definitions, by string) *trace.Rows {
	if by == byDefinition {
		return nil
	}
	return trace.NewRows(d)
}

// regionNames returns a function for the names of regions in text. If several regions have the same
// name, it adds the source place or the id.
func regionNames(d *trace.Definitions, by string) func(ref uint32, name string) string {
	names := d.RegionNames(rowsBy(d, by))
	return func(ref uint32, name string) string {
		if int64(ref) >= int64(len(names)) || names[ref] == "" {
			return name
		}
		return names[ref]
	}
}

// idOf returns the id of a region, or "" if the region is undefined.
func idOf(d *trace.Definitions, region uint32) string {
	if !d.Regions.Has(region) {
		return ""
	}
	return d.Regions.At(region).ID
}

// profileCommand returns the command weft profile.
func (a *app) profileCommand() *cobra.Command {
	var flags profileFlags
	c := &cobra.Command{
		Use:   "profile TRACE",
		Short: "Show how often and how long each region was open",
		Long: `Show the flat profile of a trace: how often each region was entered and how long it was
open. Regions with the most exclusive time come first. Inclusive time is the time in which
the region is open. Exclusive time is the time in which it is the innermost open region.
Min, mean and max are those of the durations of its visits. Claims are listed by activity.

Regions with the same name, file and line are one row, because some recorders define them
again in each process; --by definition keeps them apart. --by location or --by group lists
the regions of each location, or of each group of locations (process, node). --window, or
--from and --to, restricts the profile to a window: only the time of a visit inside the
window counts. --sort chooses the order: greatest first, or by name. The
default is exclusive time; for --tree it is inclusive time.

--tree shows call paths: each region below the regions that were open around it. --folded
prints the paths as lines for flame graphs, with exclusive times in nanoseconds. --pprof
writes them for go tool pprof. --cube also writes the times and visits of call paths by
location as a Cube file.`,
		Example: "  weft profile trace.otf\n  weft profile --by location --csv trace.otf > profile.csv\n" +
			"  weft profile --window 20%..30% --sort max --top 5 trace.trf\n" +
			"  weft profile --tree --by group trace.otf2\n  weft profile --folded trace.otf2 > trace.folded\n" +
			"  weft profile --pprof trace.pb.gz trace.otf2 && go tool pprof -top trace.pb.gz\n" +
			"  weft profile --cube profile.cubex trace.otf2",
		Args: exactArgs(1, "one trace"),
		RunE: func(c *cobra.Command, args []string) error { return a.runProfile(c, args, &flags) },
	}
	flags.register(a, c)
	return c
}

// profileFlags holds the flags of weft profile.
type profileFlags struct {
	input                       inputFlags
	selection                   selectionFlags
	asJSON, asCSV, tree, folded bool
	by, sortBy, pprof, cubeFile string
	top                         int
	least                       float64
}

// register adds the flags to the command.
func (f *profileFlags) register(a *app, c *cobra.Command) {
	defineAnalysisFlags(c.Flags(), &f.input, &f.selection)
	c.Flags().StringVar(&f.by, "by", byRegion,
		"rows to list: region, location or group (the regions of each), or definition (separate rows for "+
			"definitions with the same name)")
	c.Flags().StringVar(&f.sortBy, "sort", "",
		"sort by "+strings.Join(sortKeys[:len(sortKeys)-1], ", ")+
			" (greatest first) or name; default: exclusive, with --tree inclusive")
	registerCompletions(c, "sort", sortKeys...)
	c.Flags().BoolVar(&f.tree, "tree", false, "show call paths")
	c.Flags().BoolVar(&f.folded, "folded", false, "print call paths as lines for flame graphs")
	c.Flags().StringVar(&f.pprof, "pprof", "", "write call paths to this file for go tool pprof")
	c.Flags().Float64Var(&f.least, "least", 0.5,
		"with --tree: least share of the time, in percent, of a shown call path")
	registerCompletions(c, "by", byRegion, byLocation, byGroup, byDefinition)
	c.Flags().BoolVar(&f.asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&f.asCSV, "csv", false, "print comma-separated values, times in seconds")
	c.Flags().Var(newInteger(&f.top, 50, 0, 0), "top",
		"how many regions to list, for each location with --by location; 0 lists all, the default of --json and --csv")
	a.defineCubeFlag(c, &f.cubeFile)
}

// validate returns a usage error if the flags contradict each other or have invalid values.
func (f *profileFlags) validate(c *cobra.Command) error {
	if f.asJSON && f.asCSV {
		return usageError("--json and --csv: expected one of them")
	}
	if _, err := wordIndex("--by", f.by, byRegion, byLocation, byGroup, byDefinition); err != nil {
		return err
	}
	if f.sortBy != "" {
		if _, err := wordIndex("--sort", f.sortBy, sortKeys...); err != nil {
			return err
		}
	}
	if f.folded && (f.asJSON || f.asCSV || f.tree) {
		return usageError("--folded: expected none of --json, --csv and --tree with it")
	}
	if c.Flags().Changed("top") && (f.tree || f.folded || f.pprof != "") {
		return usageError("--top: expected none with --tree, --folded and --pprof; --least leaves out what takes little " +
			"time")
	}
	if f.pprof == "-" && (f.folded || f.tree) {
		return usageError("--pprof -: expected neither --folded nor --tree with it, since both go to standard output")
	}
	if !(f.least >= 0 && f.least <= 100) {
		return usageError("--least %g: expected 0 to 100 percent", f.least)
	}
	if err := checkCube(f.cubeFile); err != nil {
		return err
	}
	if f.cubeFile != "" && len(f.selection.regions) > 0 {
		return usageError("--region: expected none with --cube; weft filter --region leaves out regions")
	}
	return nil
}

// runProfile computes and prints the profile of the trace in args.
func (a *app) runProfile(c *cobra.Command, args []string, flags *profileFlags) error {
	if err := flags.validate(c); err != nil {
		return err
	}
	if !c.Flags().Changed("top") && (flags.asJSON || flags.asCSV) {
		flags.top = 0 // CSV and JSON contain all rows
	}
	in, err := a.openUnprepared(c.Context(), args[0], &flags.input)
	if flags.tree || flags.folded || flags.pprof != "" {
		return a.answerTree(c.Context(), in, err, flags)
	}
	return a.answer(in, err, flags.asJSON, &flags.input, func(in *input) (any, func() error, error) {
		x, err := a.computeProfile(c.Context(), in, &flags.selection, rowsBy(in.Defs(), flags.by), flags.by,
			cmp.Or(flags.sortBy, byExclusive))
		if err != nil {
			return nil, nil, err
		}
		if err := a.writeProfileCube(c.Context(), flags.cubeFile, in, &flags.selection, flags.by); err != nil {
			return nil, nil, err
		}
		x.keepTop(flags.top)
		return x, func() error {
			if flags.asCSV {
				return a.writeProfileCSV(x, in.Defs())
			}
			a.printProfile(x, in.Defs())
			return nil
		}, nil
	})
}

// answerTree prints the call paths of a trace that was opened, in the forms that the flags select.
func (a *app) answerTree(ctx context.Context, in *input, err error, flags *profileFlags) error {
	o := &treeOptions{by: flags.by, sort: cmp.Or(flags.sortBy, byInclusive), json: flags.asJSON, csv: flags.asCSV,
		tree: flags.tree, folded: flags.folded, pprof: flags.pprof, least: flags.least}
	return a.answer(in, err, false, &flags.input, func(in *input) (any, func() error, error) {
		x, err := a.computeCallTree(ctx, in, &flags.selection, rowsBy(in.Defs(), flags.by), o.by, o.sort)
		if err == nil {
			err = a.writeProfileCube(ctx, flags.cubeFile, in, &flags.selection, flags.by)
		}
		return nil, func() error { return a.printPaths(x, in, &flags.input, o) }, err
	})
}

// computeProfile computes the profile of a trace with parallel scans.
func (a *app) computeProfile(ctx context.Context, in *input, s *selectionFlags, rows *trace.Rows,
	by, sortBy string) (*profileResult, error) {
	sel, err := s.selection(ctx, in)
	if err != nil {
		return nil, err
	}
	d := in.Defs()
	opt := profile.Options{Locations: by == byLocation || by == byGroup, Rows: rows}
	x := &profileResult{heading: in.heading(), by: by}
	x.bounds, opt.Window = s.selectedBounds(sel)
	// The regions that are open depend on events before the window, and on other regions.
	sum, err := analysis.Run(ctx, in.Events, sel.Surrounding(), func() *profile.Part { return profile.New(d, opt) })
	if err != nil {
		return nil, err
	}
	y := sum.Result()
	if sel.Region != nil {
		wanted := wantedRows(rows, sel.Region)
		y.Regions = wantedRegions(y.Regions, wanted)
		for i := range y.Locations {
			y.Locations[i].Regions = wantedRegions(y.Locations[i].Regions, wanted)
		}
		y.Activities = slices.DeleteFunc(y.Activities, func(a profile.Activity) bool { return !wanted(a.Region) })
	}
	x.Covered, x.Unclosed, x.Orphans = y.Covered, y.Unclosed, y.Orphans
	x.Regions, x.Locations, x.Activities = y.Regions, y.Locations, y.Activities
	if opt.Locations && x.Locations == nil {
		x.Locations = []profile.Location{}
	}
	if by == byGroup {
		x.groupLocations(d)
	}
	if len(x.Regions)+len(x.Activities) == 0 {
		in.notFound = "no region was open, and no claim"
	}
	x.sortBy(sortBy)
	return x, nil
}

// groupLocations sums up the profiles of locations by group.
func (pr *profileResult) groupLocations(d *trace.Definitions) {
	index := map[uint32]int{}
	pr.Groups = []groupProfile{}
	for _, l := range pr.Locations {
		g := d.Locations.At(l.Location).Group
		i, ok := index[g]
		if !ok {
			i = len(pr.Groups)
			index[g] = i
			p := groupProfile{Name: "(no group)"}
			if g != trace.NoRef {
				p.ID, p.Name = d.Groups.At(g).ID, d.Groups.At(g).Name
			}
			pr.Groups = append(pr.Groups, p)
		}
		pr.Groups[i].add(&l)
	}
	pr.Locations = nil
}

// profilePart holds the regions of a location, of a group, or of the whole trace.
type profilePart struct {
	what, id, name string
	covered        trace.Ticks
	regions        *[]profile.Region
}

// parts returns the lists of regions of a profile.
func (pr *profileResult) parts() (list []profilePart) {
	for i := range pr.Locations {
		l := &pr.Locations[i]
		list = append(list, profilePart{"Location", l.ID, l.FullName, trace.TicksOf(l.Covered), &l.Regions})
	}
	for i := range pr.Groups {
		g := &pr.Groups[i]
		list = append(list, profilePart{"Group", g.ID, g.Name, g.Covered, &g.Regions})
	}
	return list
}

// sortBy sorts each list by a key.
func (pr *profileResult) sortBy(key string) {
	sortRegions(pr.Regions, key)
	for _, p := range pr.parts() {
		sortRegions(*p.regions, key)
	}
	sortActivities(pr.Activities, key)
}

// add adds the profile of a location.
func (g *groupProfile) add(l *profile.Location) {
	g.Covered.Add(l.Covered)
	for _, r := range l.Regions {
		i := slices.IndexFunc(g.Regions, func(o profile.Region) bool { return o.Region == r.Region })
		if i < 0 {
			g.Regions = append(g.Regions, r)
			continue
		}
		g.Regions[i].Add(&r)
	}
}

// wantedRegions returns the regions for which wanted returns true. It changes the list.
func wantedRegions(l []profile.Region, wanted func(uint32) bool) []profile.Region {
	return slices.DeleteFunc(l, func(r profile.Region) bool { return !wanted(r.Region) })
}

// keepTop shortens each list to the first top regions; 0 keeps all.
func (pr *profileResult) keepTop(top int) {
	if top == 0 {
		return
	}
	pr.Regions = pr.Regions[:min(top, len(pr.Regions))]
	for _, p := range pr.parts() {
		*p.regions = (*p.regions)[:min(top, len(*p.regions))]
	}
	pr.Activities = pr.Activities[:min(top, len(pr.Activities))]
}

// exactMean returns sum / n in seconds. The result is exact if it is a finite decimal fraction, and
// otherwise rounded to a picosecond.
func exactMean(c trace.Clock, sum trace.Ticks, n int64) string {
	if n == 0 {
		return c.FormatSeconds(0)
	}
	if hi, lo := bits.Mul64(uint64(c.Num), uint64(n)); hi == 0 && lo < 1<<63 {
		// The ticks of a clock with n times as many ticks per second are n-ths of the original ticks.
		return trace.Clock{Num: int64(lo), Den: c.Den}.FormatSumSeconds(sum)
	}
	return c.FormatSumSeconds(sum.Over(n))
}

// writeProfileCSV writes a line for each region, or for each location and region, then a line for each
// activity.
func (a *app) writeProfileCSV(x *profileResult, d *trace.Definitions) error {
	c := d.Clock
	header := []string{"kind", "region", "group", "count", "exclusive", "inclusive", "sum", "min", "mean", "max",
		"unclosed", "orphans"}
	if x.by == byDefinition {
		header = append(header, "id")
	}
	name := func(_ uint32, name string) string { return name } // the id distinguishes equal names
	if x.by != byDefinition {
		name = regionNames(d, x.by)
	}
	by := x.Locations != nil || x.Groups != nil
	line := func(location []string, f ...string) []string {
		if by {
			return append(location, f...)
		}
		return f
	}
	what := byLocation
	if x.Groups != nil {
		what, header[2] = "location group", "region group"
	}
	n := func(v int64) string { return strconv.FormatInt(v, 10) }
	s, sums := c.FormatSeconds, c.FormatSumSeconds
	return printCSV(a.out, line([]string{what, what + " name"}, header...), func(write func(...string)) {
		regions := func(location []string, l []profile.Region) {
			for i := range l {
				r := &l[i]
				row := []string{"region", name(r.Region, r.Name), r.Group, n(r.Count), sums(r.Exclusive), sums(r.Inclusive),
					sums(r.Sum), s(r.Min), exactMean(c, r.Sum, r.Count), s(r.Max), n(r.Unclosed), n(r.Orphans)}
				if x.by == byDefinition {
					row = append(row, r.ID)
				}
				write(line(location, row...)...)
			}
		}
		if !by {
			regions(nil, x.Regions)
		}
		for _, p := range x.parts() {
			regions([]string{p.id, p.name}, *p.regions)
		}
		for _, y := range x.Activities {
			row := []string{"activity", name(y.Region, y.Name), "", n(y.Count), "", "", sums(y.Time),
				s(y.Min), exactMean(c, y.Time, y.Count), s(y.Max), n(y.Unclosed), ""}
			if x.by == byDefinition {
				row = append(row, idOf(d, y.Region))
			}
			write(line([]string{"", ""}, row...)...)
		}
	})
}

// printProfile prints a profile as text.
func (a *app) printProfile(x *profileResult, d *trace.Definitions) {
	c := d.Clock
	f := c.FormatDuration
	mean := c.FormatMean
	name := regionNames(d, x.by)
	regions := func(l []profile.Region, covered trace.Ticks) {
		header := table.Row{"region", "group", "count", "exclusive", "%", "inclusive", "min", "mean", "max"}
		if x.by == byDefinition {
			header = append(table.Row{"id"}, header...)
		}
		printTable(a.out, header, len(l), 0, func(i int) table.Row {
			r := &l[i]
			row := table.Row{r.Name, r.Group, r.Count, c.FormatSum(r.Exclusive),
				fmt.Sprintf("%.1f", 100*r.Exclusive.Float()/max(1, covered.Float())),
				c.FormatSum(r.Inclusive), f(r.Min), mean(r.Sum, r.Count), f(r.Max)}
			if x.by == byDefinition {
				return append(table.Row{r.ID}, row...)
			}
			row[0] = name(r.Region, r.Name)
			return row
		})
	}
	if len(x.Regions)+len(x.Activities) == 0 {
		return
	}
	if x.Locations == nil && x.Groups == nil && len(x.Regions) > 0 {
		regions(x.Regions, x.Covered)
	}
	shown := false
	for _, p := range x.parts() {
		if len(*p.regions) == 0 {
			continue
		}
		if shown {
			fmt.Fprintln(a.out)
		}
		printf(a.out, "%s %s\n", p.what, cmp.Or(p.name, p.id))
		regions(*p.regions, p.covered)
		shown = true
	}
	if len(x.Activities) > 0 {
		if len(x.Regions) > 0 {
			fmt.Fprintln(a.out)
		}
		printTable(a.out, table.Row{"activity", "count", "time", "min", "mean", "max"}, len(x.Activities), 0,
			func(i int) table.Row {
				y := &x.Activities[i]
				return table.Row{name(y.Region, y.Name), y.Count, c.FormatSum(y.Time), f(y.Min), mean(y.Time, y.Count), f(y.Max)}
			})
	}
	if x.Unclosed > 0 {
		fmt.Fprintf(a.out, "\n%s of regions never left, which count until the last event of the location.\n",
			plural.Of(x.Unclosed, "visit"))
	}
}
