// Package diff compares the call paths and regions of two sides, A and B. Each side is one run of a program,
// or several. docs/analyses/diff.md has the definitions and formulas.
//
//	c := diff.New(diff.Options{Runs: [2]int{1, 1}, Least: 0.001, Change: 0.02})
//	err := c.Scan(ctx, diff.A, before, trace.NewRows(before.Defs()))
//	err = c.Scan(ctx, diff.B, after, trace.NewRows(after.Defs()))
//	r := c.Result()
//
// [Result.Tree] and [Result.Entries] also return the call paths and regions whose difference is not reported.
//
// A program that scans a trace for several analyses at once fills a [Part], and adds it with [Comparison.Add]
// instead of [Comparison.Scan].
//
// Call paths and times are defined as in packages calltree and profile: a leave closes the latest open enter
// of its region, and regions that are never left are closed at the last event of their location.
//
// A part uses about 130 bytes per call path and location, and 32 bytes per iteration of each path in the loop
// that [Options.Loop] names. A comparison uses about 150 bytes per call path of a side, and 16 bytes for each
// location, run or iteration in which the path occurs.
package diff

import (
	"context"
	"errors"
	"slices"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// Side is a side of a comparison.
type Side int

// The sides of a comparison. Differences are B - A, and ratios B / A.
const (
	A Side = iota
	B
)

// Metric is the sort of time by which rows are tested and ranked.
type Metric string

// The values of Metric.
const (
	Exclusive Metric = "exclusive" // time in which the path or region is the innermost open one
	Inclusive Metric = "inclusive" // time in which the path or region is open
)

// Unit is the sort of observation on which the statistics are based.
type Unit string

// These are the values of Unit, the most reliable one first. A visit is not a unit, because the visits of a
// run are not independent observations.
const (
	Runs       Unit = "runs"
	Iterations Unit = "iterations"
	Locations  Unit = "locations"
)

// DefaultLeast and DefaultChange are the thresholds of weft diff and of the viewer (see [Options]).
const (
	DefaultLeast  = 0.001
	DefaultChange = 0.02
)

// LeastSample is the least number of observations on each side for a test. With fewer, no p-value
// can be below 0.05.
const LeastSample = 4

// Options are the settings of a comparison.
type Options struct {
	// Runs holds the number of runs of side A and of side B.
	Runs [2]int
	// Loop is the name of a region each of whose visits is an iteration. "" means that there are no
	// iterations.
	Loop string
	// Metric is the time by which rows are tested and ranked. "" means Exclusive.
	Metric Metric
	// Least is the least difference of a reported row, as a share of the sum of all exclusive times
	// of side A. Change is the least |ratio - 1| of a reported row. A row is reported if it reaches
	// both.
	Least, Change float64
	// Regions reports whether the rows of a region, and of the paths that end in the region, are compared. It
	// gets the name of the region in its trace and its name in results. Nil means that all rows are compared.
	Regions func(names ...string) bool
}

// unit returns the kind of observations that the options provide for the statistics.
func (o *Options) unit() Unit {
	switch {
	case min(o.Runs[A], o.Runs[B]) >= LeastSample:
		return Runs
	case o.Loop != "":
		return Iterations
	}
	return Locations
}

// Comparison collects the runs of two sides, and compares them.
type Comparison struct {
	opt   Options
	unit  Unit
	names names
	clock trace.Clock // clock of the first run that was added
	sides [2]side
	// profiled is set if a run is a profile, which has no times of events.
	profiled bool
}

// New returns a comparison without runs.
func New(opt Options) *Comparison {
	if opt.Metric == "" {
		opt.Metric = Exclusive
	}
	return &Comparison{opt: opt, unit: opt.unit(), names: names{index: map[name]int32{}}}
}

// Scan reads a run on several cores, and adds it to a side. Parameter rows has the same meaning as for
// [NewPart].
func (c *Comparison) Scan(ctx context.Context, s Side, events format.Events, rows *trace.Rows) error {
	fresh := func() *Part { return NewPart(events.Defs(), rows, c.opt.Loop) }
	p, err := analysis.Run(ctx, events, trace.Everything(), fresh)
	if err != nil {
		return err
	}
	return c.Add(s, p)
}

// Add adds a run to a side. The part must hold all locations of the run. The loop of the part must be the loop
// that [Options].Loop of the comparison names. The part must not be used afterwards.
func (c *Comparison) Add(s Side, p *Part) error {
	if p.loop != c.opt.Loop {
		return errors.New("diff: found a part with another loop than that of the comparison")
	}
	if !c.clock.Valid() {
		c.clock = p.defs.Clock
	}
	c.sides[s].add(c, p)
	return nil
}

// Empty reports whether none of the added runs has visits of regions.
func (c *Comparison) Empty(s Side) bool { return len(c.sides[s].nodes) == 0 }

// Result is the result of a comparison. Times are in ticks of Clock, the clock of the first run. Times can
// have fractions, because they are means of several runs or come from runs with other clocks.
type Result struct {
	Clock trace.Clock `json:"-"`
	// Metric is the time by which rows are tested, ranked and reported.
	Metric Metric `json:"metric"`
	// Least is the least difference of reported rows, in ticks. Change is the least |ratio - 1| of
	// reported rows.
	Least  float64 `json:"least"`
	Change float64 `json:"change"`
	// Unit is the unit of the statistics. Samples holds the numbers of observations of A and of B. A row can
	// have fewer observations, because locations that visit the row on neither side are left out.
	Unit    Unit   `json:"unit"`
	Samples [2]int `json:"samples"`
	// Runtime compares the times from the first event to the last one, as means over the runs. If a run is a profile,
	// it compares the times in regions of the location with the most, for all runs.
	Runtime Change `json:"runtime"`
	// RuntimeTest is the test of the runtimes. It is nil unless Unit is Runs.
	RuntimeTest *Test `json:"runtimeTest,omitempty"`
	// Time compares the sums of all exclusive times, as means over the runs.
	Time Change `json:"time"`
	// Regions and Paths are the reported rows: first regressions and added rows, then improvements
	// and removed rows, then rows whose difference is not significant. Each group is in descending
	// order of the difference.
	Regions []Row `json:"regions"`
	Paths   []Row `json:"paths"`
	// Repetitions are the paths that occur in the path around them more or less often in B than in A, those with the
	// most time first.
	Repetitions []Repetition `json:"repetitions"`
	// ComparedRegions and ComparedPaths are the numbers of all compared rows, whether reported or
	// not.
	ComparedRegions int `json:"comparedRegions"`
	ComparedPaths   int `json:"comparedPaths"`

	comparison     *Comparison
	paths, regions table // tables of all paths and regions, whether they are compared or not
}

// Kind is the sort of difference of a row.
type Kind string

// The values of Kind. A row of A without a partner is Removed, and a row of B without a partner is Added.
const (
	Regression  Kind = "regression"
	Improvement Kind = "improvement"
	Added       Kind = "added"
	Removed     Kind = "removed"
	// Visited is the kind of a row with equal times and different visits. It is reported only if
	// both thresholds are 0.
	Visited Kind = "visits"
	// Equal is the kind of a row with equal times and visits, which is never reported.
	Equal Kind = "equal"
)

// Row compares a region or a call path. Times, in ticks, and visits are sums over all locations,
// and means over the runs of a side.
type Row struct {
	Kind   Kind   `json:"kind"`
	Region string `json:"region"` // name of the region, or of the last region of the path
	File   string `json:"file,omitempty"`
	Line   int64  `json:"line,omitempty"`
	// Path holds the names of a call path, beginning with the outermost region. They are the names on side B
	// or, for a removed path, on side A. If a path has more than 200 names, names in the middle are left out.
	// Path is nil for regions.
	Path []string `json:"path,omitempty"`
	// FormerPath is the path or region on side A if it was renamed or moved. Otherwise it is nil.
	FormerPath []string `json:"was,omitempty"`
	// Exclusive is the time in which the region or path is the innermost open one. Inclusive is the time in
	// which the region or path is open. Time in recursive visits of a region counts once.
	Exclusive Change `json:"exclusive"`
	Inclusive Change `json:"inclusive"`
	Visits    Change `json:"visits"`
	PerVisit  Change `json:"perVisit"` // inclusive time per visit; it is not tested
	// Test is the test of the metric. It is nil if there are fewer than [LeastSample] observations
	// on a side.
	Test *Test `json:"test,omitempty"`
}

// Significant reports whether the difference of a row is significant. It returns true for a row
// without a test.
func (r *Row) Significant() bool { return r.Test == nil || r.Test.Significant }

// Change compares a value of both sides.
type Change struct {
	A          float64 `json:"a"`
	B          float64 `json:"b"`
	Difference float64 `json:"difference"` // B - A
	// Ratio is B / A. It is nil if A is 0.
	Ratio *float64 `json:"ratio"`
}

// changeOf returns the change from a to b.
func changeOf(a, b float64) Change {
	c := Change{A: a, B: b, Difference: b - a}
	if a != 0 {
		r := b / a
		c.Ratio = &r
	}
	return c
}

// Grows reports whether B exceeds A by more than the given share of A: 0.05 means 5 %. With a negative share,
// Grows reports whether B exceeds A reduced by the absolute value of the share. A growth by exactly the share is not
// more than the share, whatever the rounding of floating-point numbers.
func (c Change) Grows(share float64) bool { return c.B-c.A*(1+share) > c.rounding() }

// rounding returns a bound for the rounding errors of the times, their means, and products with shares.
func (c Change) rounding() float64 { return 1e-14 * max(c.A, c.B) }

// Region returns the change of the inclusive time of all regions with a name, whether they are reported
// or not. ok is false if no region has that name.
func (r *Result) Region(name string) (c Change, ok bool) {
	called := func(s Side, k int32) bool {
		n := &r.comparison.names
		return k >= 0 && (n.list[k].name == name || n.list[k].regionName() == name ||
			r.comparison.sides[s].displayName(k) == name)
	}
	var t [2]float64
	for _, p := range r.regions.pairs {
		if !called(A, p.sides[A]) && !called(B, p.sides[B]) {
			continue
		}
		ok = true
		for s, k := range p.sides {
			if k >= 0 {
				t[s] += r.comparison.sides[s].regions[k].inclusive
			}
		}
	}
	return changeOf(t[A], t[B]), ok
}

// RegionNames returns the names of the regions of both sides.
func (r *Result) RegionNames() (list []string) {
	for s := range r.comparison.sides {
		for k := range r.comparison.sides[s].regions {
			list = append(list, r.comparison.sides[s].displayName(int32(k)))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
