package serve

import (
	"context"

	"github.com/weft-trace/weft/analysis/efficiency"
	"github.com/weft-trace/weft/trace"
)

// efficiencyAnswer holds the factors of efficiency of a window. If Missing is set, only the lists are there.
type efficiencyAnswer struct {
	// Missing is the reason why there are no factors, or "".
	Missing string `json:"missing"`
	*efficiencyTimes
	Factors []factorFact `json:"factors"`
	// Hybrid holds the factors for programs with several threads in a process. It is empty for
	// other programs.
	Hybrid []factorFact `json:"hybrid"`
	// Devices holds the factors for streams of devices. It is empty for other programs.
	Devices   []factorFact `json:"devices"`
	Sentences []string     `json:"sentences"`
}

// efficiencyTimes holds the numbers and times from which the factors are computed.
type efficiencyTimes struct {
	Processes int   `json:"processes"`
	Threads   int   `json:"threads"`
	Streams   int   `json:"streams"` // number of streams of devices
	Runtime   ticks `json:"runtime"`
	Ideal     ticks `json:"ideal"`
	Useful    sum   `json:"useful"`
	UsefulMax ticks `json:"usefulMax"`
}

// factorFact is a factor of efficiency. Level is its depth in the tree of factors.
type factorFact struct {
	Name  string  `json:"name"`
	Level int     `json:"level"`
	Value float64 `json:"value"`
}

// efficiencyFactors computes the factors of efficiency of a window.
func efficiencyFactors(e *entry, p *params) func(context.Context) (any, error) {
	window, location := p.selectedWindow(), p.selectedLocations()
	return func(ctx context.Context) (any, error) {
		a := &efficiencyAnswer{Factors: []factorFact{}, Hybrid: []factorFact{}, Devices: []factorFact{},
			Sentences: []string{}}
		err := e.readers.useReader(ctx, func(d *reader) error {
			piece, err := cutRunning(ctx, d, window, location)
			if err != nil {
				return err
			}
			r, _, err := efficiency.Find(ctx, piece, efficiency.Options{Rows: trace.NewRows(d.Defs()),
				Part: window != nil})
			if a.Missing, err = missingReason(r, err); a.Missing != "" || err != nil {
				return err
			}
			a.efficiencyTimes = &efficiencyTimes{r.Processes, r.Threads, r.Streams, ticks(r.Runtime), ticks(r.Ideal),
				sum(r.Useful), ticks(r.UsefulMax)}
			for i, to := range []*[]factorFact{&a.Factors, &a.Hybrid, &a.Devices} {
				if m := efficiency.Models()[i]; m.Has(r) {
					*to = appendFactors(*to, m.Factors, r)
				}
			}
			a.Sentences = append(a.Sentences, r.Sentences()...)
			return nil
		})
		return a, err
	}
}

// appendFactors appends the factors in list, with the values that they have in the result r.
func appendFactors(to []factorFact, list []efficiency.Factor, r *efficiency.Result) []factorFact {
	for _, f := range list {
		to = append(to, factorFact{f.Name, f.Level, f.Value(r)})
	}
	return to
}
