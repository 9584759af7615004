// Package diff compares the call paths and regions of two sides, A and B. Each side is one run of a
// program, or several. docs/analyses/diff.md has the definitions and formulas.
//
//	c := diff.New(diff.Options{Runs: [2]int{1, 1}, Least: 0.001, Change: 0.02})
//	err := c.Scan(ctx, diff.A, before, trace.NewRows(before.Defs()))
//	err = c.Scan(ctx, diff.B, after, trace.NewRows(after.Defs()))
//	r := c.Result()
//
// A program that scans a trace for several analyses at once fills a [Part], and hands it to
// [Comparison.Add] in place of [Comparison.Scan].
//
// Call paths and times are those of packages calltree and profile: a leave closes the latest open
// enter of its region, and what never ends is closed at the last event of its location.
//
// A part uses about 130 bytes per call path and location, and 32 bytes per iteration of each path in
// the loop that [Options.Loop] names. A comparison uses about 150 bytes per call path of a side, and
// 16 bytes for each location, run or iteration in which the path occurs.
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

// Metric is the time that is tested and ranked.
type Metric string

// The times that can be compared.
const (
	Exclusive Metric = "exclusive" // time in which nothing below the path or region is open
	Inclusive Metric = "inclusive" // time in which the path or region is open
)

// Unit is what counts as one observation of the statistics.
type Unit string

// The units, in the order of trust. Visits are no unit: those of one run depend on each other.
const (
	Runs       Unit = "runs"
	Iterations Unit = "iterations"
	Locations  Unit = "locations"
)

// LeastSample is the least number of observations on each side for a test. With fewer, no outcome
// has a p-value below 0.05.
const LeastSample = 4

// Options are the settings of a comparison.
type Options struct {
	// Runs are the numbers of runs that will be added to each side.
	Runs [2]int
	// Loop is the name of the region of which each visit is an iteration. "" means none.
	Loop string
	// Metric is the time that is tested and ranked. "" means Exclusive.
	Metric Metric
	// Least is the least difference that is reported, as a share of the time of side A: the sum of all
	// exclusive times. Change is the least |ratio - 1|. What is reported reaches both.
	Least, Change float64
}

// unit returns the unit of the statistics.
func (o *Options) unit() Unit {
	switch {
	case min(o.Runs[A], o.Runs[B]) >= LeastSample:
		return Runs
	case o.Loop != "":
		return Iterations
	}
	return Locations
}

// Comparison compares two sides. Runs are added one after the other.
type Comparison struct {
	opt   Options
	unit  Unit
	names names
	clock trace.Clock // of the first run
	sides [2]side
}

// New returns a comparison without runs.
func New(opt Options) *Comparison {
	if opt.Metric == "" {
		opt.Metric = Exclusive
	}
	return &Comparison{opt: opt, unit: opt.unit(), names: names{index: map[name]int32{}}}
}

// Scan reads the events of a run on all cores, and adds the run to a side. Rows are as in
// [NewPart].
func (c *Comparison) Scan(ctx context.Context, s Side, events format.Events, rows *trace.Rows) error {
	fresh := func() *Part { return NewPart(events.Defs(), rows, c.opt.Loop) }
	p, err := analysis.Run(ctx, events, trace.Everything(), fresh)
	if err != nil {
		return err
	}
	return c.Add(s, p)
}

// Add adds a run to a side. The part must hold the whole run, and must have the loop of the
// comparison's options.
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

// Empty reports whether no run of a side has visits of regions.
func (c *Comparison) Empty(s Side) bool { return len(c.sides[s].nodes) == 0 }

// Result is a comparison. Times are in ticks of Clock, that of the first run. They have fractions
// where they are means of several runs, or the clocks differ.
type Result struct {
	Clock trace.Clock `json:"-"`
	// Metric is the time by which rows are tested, ranked and reported.
	Metric Metric `json:"metric"`
	// Least is the least difference of reported rows, in ticks. Change is the least |ratio - 1|.
	Least  float64 `json:"least"`
	Change float64 `json:"change"`
	// Unit is what counts as one observation, and Samples how many there are of A and of B. Rows may
	// have fewer: locations that do not visit a row on either side are left out.
	Unit    Unit   `json:"unit"`
	Samples [2]int `json:"samples"`
	// Runtime is the time from the first event to the last one, as a mean over the runs.
	Runtime Change `json:"runtime"`
	// RuntimeTest is set if the unit is runs.
	RuntimeTest *Test `json:"runtimeTest,omitempty"`
	// Time is the sum of all exclusive times, as a mean over the runs.
	Time Change `json:"time"`
	// Regions and Paths are the rows that differ: regressions and added rows first, then improvements and
	// removed rows, then those whose difference is not significant, each by descending difference.
	Regions []Row `json:"regions"`
	Paths   []Row `json:"paths"`
	// ComparedRegions and ComparedPaths are the numbers of all rows.
	ComparedRegions int `json:"comparedRegions"`
	ComparedPaths   int `json:"comparedPaths"`

	comparison  *Comparison
	paths, rows []pair // all, of regions by key
}

// Kind is how a row differs.
type Kind string

// The kinds of rows. A row of A without a partner is removed, one of B is added.
const (
	Regression  Kind = "regression"
	Improvement Kind = "improvement"
	Added       Kind = "added"
	Removed     Kind = "removed"
	// Visited is the kind of a row that takes as long as before, with other visits. Only thresholds of 0
	// report it.
	Visited Kind = "visits"
)

// Row compares a region or a call path. Times and visits are sums over all locations, and means over
// the runs of a side.
type Row struct {
	Kind   Kind   `json:"kind"`
	Region string `json:"region"` // name of the region, of a path that of its last one
	File   string `json:"file,omitempty"`
	Line   int64  `json:"line,omitempty"`
	// Path is the call path from the outermost region on, on side B unless it was removed. Of more than
	// 200 names those in the middle are left out. It is nil for regions.
	Path []string `json:"path,omitempty"`
	// Was is the path or region of A, if it was renamed or moved.
	Was []string `json:"was,omitempty"`
	// Exclusive is the time in which nothing below was open. Inclusive is the time in which the row was
	// open; recursive visits of a region do not count twice.
	Exclusive Change `json:"exclusive"`
	Inclusive Change `json:"inclusive"`
	Visits    Change `json:"visits"`
	PerVisit  Change `json:"perVisit"` // inclusive time per visit: an effect size without a test
	// Test is nil if there are fewer than [LeastSample] observations on a side.
	Test *Test `json:"test,omitempty"`
}

// Significant reports whether a row differs by more than chance, as far as that was tested.
func (r *Row) Significant() bool { return r.Test == nil || r.Test.Significant }

// Change is a figure on both sides.
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

// Grows reports whether B exceeds A by more than a share of A: 0.05 is 5 %. A negative share asks
// whether B shrinks by less.
func (c Change) Grows(share float64) bool { return c.B > c.A*(1+share) }

// Region compares the inclusive time of all regions with a name on one of the sides, whether they are
// reported or not. ok is false if there is none.
func (r *Result) Region(name string) (c Change, ok bool) {
	called := func(s Side, k int32) bool {
		return k >= 0 && (r.comparison.names.list[k].name == name || r.comparison.sides[s].display(k) == name)
	}
	var t [2]float64
	for _, p := range r.rows {
		if !called(A, p.of[A]) && !called(B, p.of[B]) {
			continue
		}
		ok = true
		for s, k := range p.of {
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
			list = append(list, r.comparison.sides[s].display(int32(k)))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
