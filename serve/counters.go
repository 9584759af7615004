package serve

import (
	"context"
	"math"
	"runtime"

	"github.com/weft-trace/weft/timeline/index"
)

// counterRow is what the values of a counter, series or signal come to; what there is not is
// left out.
type counterRow struct {
	Track   int      `json:"track"`
	Samples int64    `json:"samples"`
	First   *float64 `json:"first,omitempty"`
	Last    *float64 `json:"last,omitempty"`
	Min     *float64 `json:"min,omitempty"`
	Max     *float64 `json:"max,omitempty"`
	Mean    *float64 `json:"mean,omitempty"`
	// Holding says what the mean is one of.
	Holding index.Holding `json:"holding"`
	// Increase is the last value less the first one of a counter that accumulates, and Rate
	// that by the seconds between.
	Increase *float64 `json:"increase,omitempty"`
	Rate     *float64 `json:"rate,omitempty"`
}

type countersAnswer struct {
	From ticks        `json:"from"`
	To   ticks        `json:"to"`
	Rows []counterRow `json:"rows"`
}

// figure is a number for JSON, nil for what is none.
func figure(f float64, known bool) *float64 {
	if !known || math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return &f
}

func counters(e *entry, p *params) func(context.Context) (any, error) {
	from, to, _ := p.window()
	v := p.x
	wanted := v.only(index.CounterTrack, p.tracks(len(v.tracks)))
	return func(ctx context.Context) (any, error) {
		x, err := e.open()
		if err != nil {
			return nil, err
		}
		defer x.release()
		a := countersAnswer{v.at(from), v.at(to), make([]counterRow, len(wanted))}
		err = spread(ctx, runtime.GOMAXPROCS(0), len(wanted), func(_, i int) error {
			t := &v.tracks[wanted[i]]
			s, err := x.Values(ctx, wanted[i], from, to)
			if err != nil {
				return err
			}
			mean, ok := s.Mean()
			r := counterRow{Track: wanted[i], Samples: s.Samples, First: figure(s.First, s.Any), Last: figure(s.Last, s.Any), Min: figure(s.Min, s.Any), Max: figure(s.Max, s.Any), Mean: figure(mean, ok), Holding: t.Holding()}
			if t.Accumulates() {
				between := v.clock.Float(s.LastTime - s.FirstTime)
				r.Increase, r.Rate = figure(s.Last-s.First, s.Any), figure((s.Last-s.First)/between, between > 0)
			}
			a.Rows[i] = r
			return nil
		})
		return a, err
	}
}
