package analysis_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/analysis/calltree"
	"github.com/weft-trace/weft/analysis/clocks"
	"github.com/weft-trace/weft/analysis/collectives"
	"github.com/weft-trace/weft/analysis/counts"
	"github.com/weft-trace/weft/analysis/diff"
	"github.com/weft-trace/weft/analysis/messages"
	"github.com/weft-trace/weft/analysis/metrics"
	"github.com/weft-trace/weft/analysis/profile"
	"github.com/weft-trace/weft/analysis/rma"
	"github.com/weft-trace/weft/analysis/states"
	"github.com/weft-trace/weft/analysis/structure"
	"github.com/weft-trace/weft/analysis/usage"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/trace"
)

// TestCores checks that analyses of a real trace give the same result with one worker and with
// several. Under the race detector it checks the data that workers share.
func TestCores(t *testing.T) {
	for name, run := range map[string]func(ctx context.Context, e format.Events) (any, error){
		"calltree": func(ctx context.Context, e format.Events) (any, error) {
			opt := calltree.Options{}
			p, err := analysis.Run(ctx, e, trace.Everything(), func() *calltree.Part { return calltree.New(e.Defs(), opt) })
			return p.Result(), err
		},
		"clocks": func(ctx context.Context, e format.Events) (any, error) {
			return clocks.Solve(ctx, e, clocks.Options{})
		},
		"collectives": func(ctx context.Context, e format.Events) (any, error) {
			opt := collectives.Options{}
			p, err := analysis.Run(ctx, e, trace.Everything(),
				func() *collectives.Part { return collectives.New(e.Defs(), opt) })
			return p.Result(), err
		},
		"counts": func(ctx context.Context, e format.Events) (any, error) {
			p, err := analysis.Run(ctx, e, trace.Everything(), func() *counts.Part { return counts.New(e.Defs()) })
			return p.Result(), err
		},
		"diff": func(ctx context.Context, e format.Events) (any, error) {
			c := diff.New(diff.Options{}) // side A stays empty, so that every call path counts as added
			err := c.Scan(ctx, diff.B, e, trace.NewRows(e.Defs()))
			return c.Result(), err
		},
		"messages": func(ctx context.Context, e format.Events) (any, error) {
			opt := messages.Options{Latency: true}
			p, err := analysis.Run(ctx, e, trace.Everything(), func() *messages.Part { return messages.New(e.Defs(), opt) })
			return p.Result(), err
		},
		"metrics": func(ctx context.Context, e format.Events) (any, error) {
			p, err := analysis.Run(ctx, e, trace.Everything(), func() *metrics.Part { return metrics.New(e.Defs()) })
			return p.Result(), err
		},
		"profile": func(ctx context.Context, e format.Events) (any, error) {
			opt := profile.Options{}
			p, err := analysis.Run(ctx, e, trace.Everything(), func() *profile.Part { return profile.New(e.Defs(), opt) })
			return p.Result(), err
		},
		"rma": func(ctx context.Context, e format.Events) (any, error) {
			p, err := analysis.Run(ctx, e, trace.Everything(), func() *rma.Part { return rma.New(e.Defs(), rma.Options{}) })
			return p.Result(), err
		},
		"states": func(ctx context.Context, e format.Events) (any, error) {
			opt := states.Options{Changes: true}
			p, err := analysis.Run(ctx, e, trace.Everything(), func() *states.Part { return states.New(e.Defs(), opt) })
			return p.Result(), err
		},
		"structure": func(ctx context.Context, e format.Events) (any, error) {
			p, err := analysis.Run(ctx, e, trace.Everything(), func() *structure.Part { return structure.New(e.Defs()) })
			if err != nil {
				return nil, err
			}
			return p.Result()
		},
		"usage": func(ctx context.Context, e format.Events) (any, error) {
			opt := usage.Options{}
			p, err := analysis.Run(ctx, e, trace.Everything(), func() *usage.Part { return usage.New(e.Defs(), opt) })
			return p.Result(), err
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, path := range []string{"../format/otf2/testdata/ok/heat2d-mt/traces.otf2",
				"../format/otf2/testdata/ok/rma/traces.otf2", "../format/otf/testdata/ok/mpi4/mpi4.otf",
				"../format/pallas/testdata/ok/abi18_mpi/trace/main.pallas"} {
				found := map[int]string{}
				for _, workers := range []int{1, 4} {
					f, err := all.Open(t.Context(), path, &format.ReadOptions{Report: format.NewReport(), Workers: workers})
					if err != nil {
						t.Fatal(err)
					}
					defer f.Close()
					result, err := run(t.Context(), f)
					if err != nil {
						t.Fatal(err)
					}
					b, err := json.Marshal(result)
					if err != nil {
						t.Fatal(err)
					}
					found[workers] = string(b)
				}
				if found[1] == "null" || found[4] != found[1] {
					t.Errorf("%s: with four workers found %s, with one %s", path, found[4], found[1])
				}
			}
		})
	}
}
