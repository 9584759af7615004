package criticalpath

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/weft-trace/weft/analysis/internal/history"
	"github.com/weft-trace/weft/analysis/internal/iterations"
	"github.com/weft-trace/weft/analysis/internal/retime"
	"github.com/weft-trace/weft/analysis/internal/synclog"
)

// whatIf computes the runtime with other times of regions, and sets WhatIf and Gains of a result.
func whatIf(ctx context.Context, h *history.History, r *Result, opt Options) error {
	names := h.Log.Defs.RegionNames(opt.Rows)
	var list []retime.Options
	if len(opt.WhatIf) > 0 {
		x, err := newChanger(h, names, opt.WhatIf)
		if err != nil {
			return err
		}
		if list, err = x.options(); err != nil {
			return err
		}
	}
	changed := len(list)
	for _, x := range r.Regions[:min(opt.Gains, len(r.Regions))] {
		if x.Region == "" {
			continue
		}
		r.Gains = append(r.Gains, Gain{Region: x.Region})
		for _, f := range Factors() {
			list = append(list, retime.Options{Transfer: 1, Scale: scale(h, names, x.Region, f)})
		}
	}
	if len(list) == 0 {
		return nil
	}
	times, err := retime.Makespans(ctx, h, list)
	if err != nil {
		return err
	}
	if changed > 0 {
		shortest := slices.Min(times[:changed])
		r.WhatIf, times = &shortest, times[changed:]
	}
	for i := range r.Gains {
		g := &r.Gains[i]
		g.Curve, times = times[:len(Factors())], times[len(Factors()):]
		g.Half = r.Runtime - g.Curve[slices.Index(Factors(), 0.5)]
	}
	slices.SortStableFunc(r.Gains, func(a, b Gain) int { return cmp.Compare(b.Half, a.Half) })
	return nil
}

// scale returns a function that returns the factor of a path: the given one if the path ends in a region with this
// name, or else 1.
func scale(h *history.History, names []string, region string, factor float64) func(path uint32) float64 {
	return func(path uint32) float64 {
		if name, ok := h.Log.RegionName(path, names); ok && name == region {
			return factor
		}
		return 1
	}
}

// changer applies changes to the times of a history.
type changer struct {
	h            *history.History
	names        []string // of the regions
	transfer     float64
	withoutLocks bool
	rows         map[uint32]*row // by path
	// paths holds the keys of rows in ascending order, and subjects the changed names by path.
	paths    []uint32
	subjects map[uint32]string
}

// row holds the changes of a path: the one for all locations, and those for single locations, which replace it.
type row struct {
	all cell
	at  map[uint32]cell
}

// cell is a change of the times of a path at a location.
type cell struct {
	to     Target
	factor float64 // 1 unless to is ByFactor
}

// newChanger divides changes by path and location. names holds the names of the regions. The error is a [RegionError]
// or a [TargetError].
func newChanger(h *history.History, names []string, list []Change) (*changer, error) {
	x := &changer{h: h, names: names, transfer: 1, rows: map[uint32]*row{}, subjects: map[uint32]string{}}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Change) int { // the changes that replace others come last
		return cmp.Or(cmp.Compare(min(1, len(a.Path)), min(1, len(b.Path))),
			cmp.Compare(min(1, len(a.Locations)), min(1, len(b.Locations))))
	})
	for _, c := range list {
		name := c.Region
		if c.Path != nil {
			name = strings.Join(c.Path, PathSeparator)
		}
		paths := x.find(&c)
		switch {
		case c.Region == Communication && c.To == ByFactor:
			x.transfer = c.Factor
			continue
		case paths == nil && c.Region == Locks && c.To == ByFactor && c.Factor == 0:
			x.withoutLocks = true
			continue
		case paths == nil && c.Region == Outside:
			paths = []uint32{synclog.NoPath}
		case paths == nil && !slices.Contains(names, c.Region):
			return nil, &RegionError{name}
		case paths == nil && c.To != ByFactor:
			return nil, &TargetError{name, c.To}
		}
		changed := cell{c.To, 1}
		if c.To == ByFactor {
			changed.factor = c.Factor
		}
		for _, p := range paths {
			if x.rows[p] == nil || c.Locations == nil {
				x.rows[p] = &row{cell{ByFactor, 1}, map[uint32]cell{}}
			}
			x.subjects[p] = name
			if c.Locations == nil {
				x.rows[p].all = changed
			}
			for _, loc := range c.Locations {
				x.rows[p].at[loc] = changed
			}
		}
	}
	for p := range x.rows {
		x.paths = append(x.paths, p)
	}
	slices.Sort(x.paths)
	return x, nil
}

// find returns the paths that a change names by a region or by a call path.
func (x *changer) find(c *Change) (paths []uint32) {
	for p := range uint32(len(x.h.Log.Paths)) {
		name, ok := x.h.Log.RegionName(p, x.names)
		if c.Path == nil && ok && name == c.Region ||
			c.Path != nil && slices.Equal(x.h.Log.PathNames(p, x.names), c.Path) {
			paths = append(paths, p)
		}
	}
	return paths
}

// cell returns the change of a path at a location.
func (r *row) cell(location uint32) cell {
	if c, ok := r.at[location]; ok {
		return c
	}
	return r.all
}

// to returns the locations at which times change to a length, in ascending order. The list is nil if they do so at all
// locations. ok is false if they do so nowhere.
func (x *changer) to(r *row, target Target) (locations []uint32, ok bool) {
	if len(r.at) == 0 {
		return nil, r.all.to == target
	}
	for loc := range uint32(len(x.h.Locations)) {
		if r.cell(loc).to == target {
			locations = append(locations, loc)
		}
	}
	return locations, locations != nil
}

// ways is the number of ways to change times to a mean: by one factor, in proportion, equally, and with a limit. See
// [iterations.Balance].
const ways = 4

// lengths holds the changes to a length, for each way to change times to a mean.
type lengths struct {
	stretches [ways][]iterations.Stretch
	factors   [ways]map[uint32]map[uint32]float64 // by path and location
	means     bool                                // some times change to a mean
}

// options returns the options with all changes: one for each way if times change to a mean, of which the shortest
// runtime counts, and one otherwise. Without locations, nothing changes. The error is a [TargetError], or comes from a
// temporary file.
func (x *changer) options() ([]retime.Options, error) {
	if len(x.h.Locations) == 0 {
		return []retime.Options{{Transfer: 1}}, nil
	}
	var times *iterations.Times
	var subjects []TargetError // the error of each subject, if none of its times change
	l := lengths{factors: [ways]map[uint32]map[uint32]float64{{}, {}, {}, {}}}
	changed := map[TargetError]bool{} // whether some times change
	for _, p := range x.paths {
		for _, target := range []Target{Median, Mean, Steady} {
			locations, ok := x.to(x.rows[p], target)
			if !ok {
				continue
			}
			if times == nil {
				var err error
				if times, err = iterations.New(x.h, x.h.ExclusiveTimes()); err != nil {
					return nil, err
				}
			}
			k := TargetError{x.subjects[p], target}
			if _, known := changed[k]; !known {
				subjects = append(subjects, k)
			}
			changed[k] = l.add(times, p, target, locations) || changed[k]
		}
	}
	for _, k := range subjects {
		if !changed[k] {
			return nil, &k
		}
	}
	list := []retime.Options{x.option(&l, 0)}
	for way := 1; l.means && way < ways; way++ {
		list = append(list, x.option(&l, way))
	}
	return list, nil
}

// add adds the change of a path at some locations to a length, or at all locations if the list is nil. It returns
// false if there is no such length.
func (l *lengths) add(times *iterations.Times, path uint32, to Target, locations []uint32) bool {
	var s iterations.Stretch
	switch to {
	case Median:
		s = times.WithoutNoise(path, locations)
	case Steady:
		s, _ = times.WithoutGrowth(path, locations)
	default:
		shortened := times.Spread(path)
		reference := shortened
		if locations != nil {
			shortened, reference = shortened.Split(locations)
		}
		if len(shortened) == 0 || len(reference) == 0 {
			return false
		}
		l.means = true
		b := times.Balance(path, shortened, reference)
		for way, s := range [ways]iterations.Stretch{nil, b.InProportion, b.Equally, b.Limited} {
			if s == nil {
				l.factors[way][path] = b.Factors
			} else {
				l.stretches[way] = append(l.stretches[way], s)
			}
		}
		return true
	}
	for way := range ways {
		if s != nil {
			l.stretches[way] = append(l.stretches[way], s)
		}
	}
	return s != nil
}

// option returns the options with all changes, for one way to change times to a mean.
func (x *changer) option(l *lengths, way int) retime.Options {
	opt := retime.Options{Transfer: x.transfer, WithoutLocks: x.withoutLocks, Stretch: iterations.Join(l.stretches[way])}
	// Indexed by path, with another element for the time outside of all regions: greatest is the greatest factor of the
	// path's locations; others holds their factors, divided by the greatest one, if they differ.
	n := uint32(len(x.h.Log.Paths))
	greatest, others := slices.Repeat([]float64{1}, int(n)+1), make([][]float64, n+1)
	differ := false
	for _, p := range x.paths {
		factors := make([]float64, len(x.h.Locations))
		for loc := range factors {
			factors[loc] = x.rows[p].cell(uint32(loc)).factor
			if f, ok := l.factors[way][p][uint32(loc)]; ok {
				factors[loc] *= f
			}
		}
		most := slices.Max(factors)
		if greatest[min(p, n)] = most; slices.Min(factors) < most {
			for loc := range factors {
				factors[loc] /= most
			}
			others[min(p, n)], differ = factors, true
		}
	}
	opt.Scale = func(path uint32) float64 { return greatest[min(path, n)] }
	at := func(path, loc uint32) float64 {
		if f := others[min(path, n)]; f != nil {
			return f[loc]
		}
		return 1
	}
	if differ {
		opt.At = at
	}
	if x.rows[synclog.NoPath] != nil {
		opt.Start = func(loc uint32) float64 { return greatest[n] * at(synclog.NoPath, loc) }
	}
	return opt
}
