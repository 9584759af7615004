package serve

import (
	"cmp"
	"context"
	"strconv"

	"github.com/weft-trace/weft/analysis/diff"
	"github.com/weft-trace/weft/trace"
)

// maxDiffRows is the largest number of regions, and of call paths, that a request for differences may
// ask for. defaultDiffRows is used if the request does not state a number.
const (
	maxDiffRows     = 20_000
	defaultDiffRows = 2000
)

// diffAnswer compares two windows. The fields of Result are the same as in the output of `weft diff`. They are
// absent if Missing is set.
type diffAnswer struct {
	// Missing is the reason why nothing can be compared, or "".
	Missing string `json:"missing"`
	*diff.Result
	// Regions and Paths contain the compared rows, including rows whose difference is not reported.
	Regions []diff.RegionEntry `json:"regions"`
	Paths   []diff.PathEntry   `json:"paths"`
	Left    diffLeft           `json:"left"`
}

// diffLeft describes the rows that an answer leaves out: their number, the number of reported rows among them,
// and the exclusive time of the call paths.
type diffLeft struct {
	Regions         int         `json:"regions"`
	ReportedRegions int         `json:"reportedRegions"`
	Paths           int         `json:"paths"`
	ReportedPaths   int         `json:"reportedPaths"`
	Time            diff.Change `json:"time"`
}

// comparedWindow is a window of a trace. A nil window is the whole trace.
type comparedWindow struct {
	e      *entry
	v      *traceView
	window *trace.Window
}

// comparedWindows reads the parameters of a request that compares a trace with another trace, the reference.
// The first element of the result is the window of the reference.
func (s *Server) comparedWindows(e *entry, p *params) (list [2]comparedWindow) {
	other, err := s.find(p.values.Get("reference"))
	if err != nil {
		p.setError("reference", "the id of a trace")
		return list
	}
	x, err := other.open()
	if err != nil {
		p.err = cmp.Or(p.err, err)
		return list
	}
	x.release()
	reference := &params{values: p.values, x: x.traceView}
	list = [2]comparedWindow{{other, x.traceView, reference.selectedBetween("referenceFrom", "referenceTo")},
		{e, p.x, p.selectedWindow()}}
	p.err = cmp.Or(p.err, reference.err)
	return list
}

// share reads a percentage from 0 to most, and returns it as a share. If the parameter is missing, it returns
// def, which is also a share.
func (p *params) share(name string, most, def float64) float64 {
	text := p.values.Get(name)
	if text == "" {
		return def
	}
	percentage, err := strconv.ParseFloat(text, 64)
	if err != nil || !(percentage >= 0 && percentage <= most) {
		p.setError(name, "a percentage from 0 to "+strconv.FormatFloat(most, 'f', -1, 64))
	}
	return percentage / 100
}

// differences compares the call paths and regions of a trace with the ones of another trace.
func (s *Server) differences(e *entry, p *params) func(context.Context) (any, error) {
	opt := diff.Options{Runs: [2]int{1, 1}, Least: p.share("least", 100, diff.DefaultLeast),
		Change: p.share("change", 1e9, diff.DefaultChange),
		Metric: diff.Metric(p.choice("metric", string(diff.Exclusive), string(diff.Inclusive)))}
	limit := int(p.number("limit", 1, maxDiffRows, defaultDiffRows))
	sides := s.comparedWindows(e, p)
	return func(ctx context.Context) (any, error) {
		a := &diffAnswer{Regions: []diff.RegionEntry{}, Paths: []diff.PathEntry{}}
		compared := diff.New(opt)
		for side, x := range sides {
			err := x.e.readers.useReader(ctx, func(d *reader) error {
				events, err := cutWindow(ctx, d, x.window)
				if err != nil {
					return err
				}
				return compared.Scan(ctx, diff.Side(side), events, trace.NewRows(d.Defs()))
			})
			if err != nil {
				return nil, err
			}
			if compared.Empty(diff.Side(side)) {
				a.Missing = "found no calls of regions and no claims in " + [2]string{"A", "B"}[side] + ", " + x.e.name
				return a, nil
			}
		}
		a.Result = compared.Result()
		tree := a.Result.Tree(limit, maxTreeDepth)
		a.Paths, a.Left.Paths, a.Left.ReportedPaths, a.Left.Time = tree.Paths, tree.Left, tree.LeftReported, tree.LeftTime
		a.Repetitions = a.Repetitions[:min(limit, len(a.Repetitions))]
		a.Regions = a.Result.Entries()
		if len(a.Regions) > limit {
			for _, r := range a.Regions[limit:] {
				a.Left.Regions++
				if r.Reported {
					a.Left.ReportedRegions++
				}
			}
			a.Regions = a.Regions[:limit]
		}
		return a, nil
	}
}
