package criticalpath

import (
	"cmp"
	"context"
	"slices"

	"github.com/weft-trace/weft/analysis/internal/history"
	"github.com/weft-trace/weft/analysis/internal/retime"
	"github.com/weft-trace/weft/analysis/internal/synclog"
)

// whatIf sets WhatIf and Gains of a result, by computing the runtime with other times of regions.
func whatIf(ctx context.Context, h *history.History, r *Result, opt Options) error {
	names := h.Log.Defs.RegionNames(opt.Rows)
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
		t := retime.Makespan(h, x)
		r.WhatIf = &t
	}
	for _, x := range r.Regions[:min(opt.Gains, len(r.Regions))] {
		if err := ctx.Err(); err != nil {
			return err
		}
		if x.Region == "" {
			continue
		}
		g := Gain{Region: x.Region}
		for _, f := range Factors() {
			t := retime.Makespan(h, retime.Options{Transfer: 1, Scale: scale(h, names, map[string]float64{x.Region: f})})
			if f == 0.5 {
				g.Half = r.Runtime - t
			}
			g.Curve = append(g.Curve, t)
		}
		r.Gains = append(r.Gains, g)
	}
	slices.SortStableFunc(r.Gains, func(a, b Gain) int { return cmp.Compare(b.Half, a.Half) })
	return nil
}

// scale returns a function that returns the factor of a path: that of the name of its last region,
// or 1.
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
