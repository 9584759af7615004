package criticalpath

import (
	"cmp"
	"context"
	"slices"

	"github.com/weft-trace/weft/analysis/internal/history"
	"github.com/weft-trace/weft/analysis/internal/retime"
	"github.com/weft-trace/weft/analysis/internal/synclog"
)

// whatIf computes the runtime with other times of regions, and sets WhatIf and Gains of a result.
func whatIf(ctx context.Context, h *history.History, r *Result, opt Options) error {
	names := h.Log.Defs.RegionNames(opt.Rows)
	var list []retime.Options
	if len(opt.WhatIf) > 0 {
		x, err := changed(h, names, opt.WhatIf)
		if err != nil {
			return err
		}
		list = append(list, x)
	}
	for _, x := range r.Regions[:min(opt.Gains, len(r.Regions))] {
		if x.Region == "" {
			continue
		}
		r.Gains = append(r.Gains, Gain{Region: x.Region})
		for _, f := range Factors() {
			list = append(list, retime.Options{Transfer: 1, Scale: scale(h, names, map[string]float64{x.Region: f})})
		}
	}
	if len(list) == 0 {
		return nil
	}
	times, err := retime.Makespans(ctx, h, list)
	if err != nil {
		return err
	}
	if len(opt.WhatIf) > 0 {
		r.WhatIf, times = &times[0], times[1:]
	}
	for i := range r.Gains {
		g := &r.Gains[i]
		g.Curve, times = times[:len(Factors())], times[len(Factors()):]
		g.Half = r.Runtime - g.Curve[slices.Index(Factors(), 0.5)]
	}
	slices.SortStableFunc(r.Gains, func(a, b Gain) int { return cmp.Compare(b.Half, a.Half) })
	return nil
}

// changed returns the options with the changes of a list. names holds the names of the regions. The error is a
// [RegionError].
func changed(h *history.History, names []string, list []Change) (retime.Options, error) {
	x := retime.Options{Transfer: 1}
	// The factors of regions, and the factors of regions at each location that replace them.
	factors, others := map[string]float64{}, map[string]map[uint32]float64{}
	for _, c := range list {
		switch {
		case c.Region == Communication:
			x.Transfer = c.Factor
		case !slices.Contains(names, c.Region):
			if c.Region != Locks || c.Factor != 0 {
				return x, &RegionError{c.Region}
			}
			x.WithoutLocks = true
		case c.Locations == nil:
			factors[c.Region] = c.Factor
		default:
			if others[c.Region] == nil {
				others[c.Region] = map[uint32]float64{}
			}
			for _, loc := range c.Locations {
				others[c.Region][loc] = c.Factor
			}
		}
	}
	if len(others) > 0 {
		x.At = divide(h, names, factors, others)
	}
	x.Scale = scale(h, names, factors)
	return x, nil
}

// divide divides factors of regions at single locations into a factor of the region, which it sets in factors, and
// one of at most 1 for each location: the result is a function for Options.At of package retime.
func divide(h *history.History, names []string, factors map[string]float64,
	others map[string]map[uint32]float64) func(path, loc uint32) float64 {
	rows := map[string][]float64{} // the factors by location
	for name, list := range others {
		all, ok := factors[name]
		if !ok {
			all = 1
		}
		row, greatest := make([]float64, len(h.Locations)), all
		for loc := range row {
			row[loc] = all
			if f, ok := list[uint32(loc)]; ok {
				row[loc], greatest = f, max(greatest, f)
			}
		}
		for loc := range row {
			if greatest > 0 {
				row[loc] /= greatest
			}
		}
		rows[name], factors[name] = row, greatest
	}
	byPath := make([][]float64, len(h.Log.Paths))
	for p, x := range h.Log.Paths {
		if int64(x.Region) < int64(len(names)) {
			byPath[p] = rows[names[x.Region]]
		}
	}
	return func(path, loc uint32) float64 {
		if path == synclog.NoPath || byPath[path] == nil {
			return 1
		}
		return byPath[path][loc]
	}
}

// scale returns a function that returns the factor of a path. This is the factor for the name of the path's
// last region, or 1 if there is none.
func scale(h *history.History, names []string, factors map[string]float64) func(path uint32) float64 {
	return func(path uint32) float64 {
		if path == synclog.NoPath {
			return 1
		}
		if r := h.Log.Paths[path].Region; int64(r) < int64(len(names)) {
			if f, ok := factors[names[r]]; ok {
				return f
			}
		}
		return 1
	}
}
