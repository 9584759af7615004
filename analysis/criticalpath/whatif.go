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
		x := retime.Options{Transfer: 1}
		factors := map[string]float64{}
		for _, c := range opt.WhatIf {
			switch {
			case c.Region == Communication:
				x.Transfer = c.Factor
			case !slices.Contains(names, c.Region):
				return &RegionError{c.Region}
			default:
				factors[c.Region] = c.Factor
			}
		}
		x.Scale = scale(h, names, factors)
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
