package serve

import (
	"context"
	"math"
	"runtime"

	"github.com/weft-trace/weft/timeline/index"
)

// counterRow holds the statistics of a counter, series or signal in a window. Statistics that
// cannot be computed are left out.
type counterRow struct {
	Track   int      `json:"track"`
	Samples int64    `json:"samples"`
	First   *float64 `json:"first,omitempty"`
	Last    *float64 `json:"last,omitempty"`
	Min     *float64 `json:"min,omitempty"`
	Max     *float64 `json:"max,omitempty"`
	Mean    *float64 `json:"mean,omitempty"`
	// ValuePeriod is the time for which each value applies.
	ValuePeriod index.ValuePeriod `json:"holding"`
	// Increase is the last value minus the first value. It is set for counters that accumulate. Rate is
	// Increase divided by the number of seconds between both values.
	Increase *float64 `json:"increase,omitempty"`
	Rate     *float64 `json:"rate,omitempty"`
}

// countersAnswer holds the statistics of counters, series and signals in a window.
type countersAnswer struct {
	From ticks        `json:"from"`
	To   ticks        `json:"to"`
	Rows []counterRow `json:"rows"`
}

// jsonFloat returns a pointer to f, or nil if f is unknown or not finite.
func jsonFloat(f float64, known bool) *float64 {
	if !known || math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return &f
}

// counters computes the statistics of the requested tracks that have values.
func counters(e *entry, p *params) func(context.Context) (any, error) {
	from, to, _ := p.window()
	v := p.x
	wanted := v.tracksOfKind(index.CounterTrack, p.tracks(len(v.tracks)))
	return func(ctx context.Context) (any, error) {
		x, err := e.open()
		if err != nil {
			return nil, err
		}
		defer x.release()
		a := countersAnswer{v.jsonTime(from), v.jsonTime(to), make([]counterRow, len(wanted))}
		err = forEachParallel(ctx, runtime.GOMAXPROCS(0), len(wanted), func(_, i int) error {
			t := &v.tracks[wanted[i]]
			s, err := x.Values(ctx, wanted[i], from, to)
			if err != nil {
				return err
			}
			mean, ok := s.Mean()
			r := counterRow{Track: wanted[i], Samples: s.Samples, First: jsonFloat(s.First, s.Any),
				Last: jsonFloat(s.Last, s.Any), Min: jsonFloat(s.Min, s.Any), Max: jsonFloat(s.Max, s.Any),
				Mean: jsonFloat(mean, ok), ValuePeriod: t.ValuePeriod()}
			if t.Accumulates() {
				between := v.clock.Float(s.LastTime - s.FirstTime)
				r.Increase, r.Rate = jsonFloat(s.Last-s.First, s.Any), jsonFloat((s.Last-s.First)/between, between > 0)
			}
			a.Rows[i] = r
			return nil
		})
		return a, err
	}
}
