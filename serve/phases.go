package serve

import (
	"context"
	"errors"
	"fmt"
	"math/bits"

	"github.com/weft-trace/weft/analysis/efficiency"
	"github.com/weft-trace/weft/analysis/structure"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// maxPhases is the largest number of phases in an answer. defaultParts is the number of equal parts into which
// a window is divided if the request does not state a number.
const (
	maxPhases    = 200
	defaultParts = 20
)

// The values of the parameter by.
const (
	phasesByTime   = "time"
	phasesByRegion = "region"
	phasesByLoop   = "loop"
)

// phasesAnswer holds the factors of efficiency of phases: equal parts of a window, visits of a region, or
// iterations of a loop.
type phasesAnswer struct {
	// Missing is the reason why there are no phases, or "".
	Missing string `json:"missing"`
	// Steps holds the names of the steps of an iteration. It is empty if the phases are not iterations of a
	// loop.
	Steps   []string     `json:"steps"`
	Factors []factorName `json:"factors"`
	Phases  []phaseFact  `json:"phases"`
	Left    int          `json:"left"` // number of phases that the answer leaves out
}

// factorName is the name of a factor with its depth in the tree of factors.
type factorName struct {
	Name  string `json:"name"`
	Level int    `json:"level"`
}

// phaseFact is a phase. Values holds the factors of the phase in the order of [phasesAnswer.Factors]. Values is
// empty if no region is open in the phase.
type phaseFact struct {
	Number int       `json:"number"` // number of the phase, counted from 1
	From   ticks     `json:"from"`
	To     ticks     `json:"to"`
	Values []float64 `json:"values"`
}

// efficiencyPhases computes the factors of efficiency of the phases of a window.
func efficiencyPhases(e *entry, p *params) func(context.Context) (any, error) {
	by := p.choice("by", phasesByTime, phasesByRegion, phasesByLoop)
	region := p.values.Get("region")
	if (region != "") != (by == phasesByRegion) {
		p.setError("region", "the name of a region if by is region, and nothing else")
	}
	parts := int(p.number("count", 1, maxPhases, defaultParts))
	window, v := p.selectedWindow(), p.x
	return func(ctx context.Context) (any, error) {
		a := &phasesAnswer{Steps: []string{}, Factors: []factorName{}, Phases: []phaseFact{}}
		err := e.readers.useReader(ctx, func(d *reader) error {
			piece, err := cutRunning(ctx, d, window)
			if err != nil {
				return err
			}
			var windows []trace.Window
			switch by {
			case phasesByTime:
				whole := trace.Window{From: v.first, To: trace.Add(v.last, 1)}
				if window != nil {
					whole = trace.Window{From: max(window.From, whole.From), To: min(window.To, whole.To)}
				}
				windows = equalParts(whole, parts)
			case phasesByLoop:
				loop, err := structure.FindLoop(ctx, piece, trace.NewRows(d.Defs()))
				if none := (*structure.NoLoopError)(nil); errors.As(err, &none) {
					a.Missing = none.Reason
					return nil
				}
				if err != nil {
					return err
				}
				windows, a.Steps = loop.Iterations, append(a.Steps, loop.Steps...)
			case phasesByRegion:
				wanted := regionsNamed(d.Defs(), region)
				if windows, err = transform.FindOccurrences(ctx, piece, func(r uint32) bool { return wanted[r] }); err != nil {
					return err
				}
				if len(windows) == 0 {
					a.Missing = fmt.Sprintf("found no visit of a region %q", region)
					return nil
				}
			}
			return a.compute(ctx, piece, windows, by == phasesByRegion, v)
		})
		return a, err
	}
}

// equalParts divides a window into at most n parts. No part is empty.
func equalParts(w trace.Window, n int) []trace.Window {
	if !trace.Before(w.From, w.To) {
		return nil // the window lies before or after the trace
	}
	length := uint64(w.To) - uint64(w.From)
	n = int(min(uint64(n), length))
	list := make([]trace.Window, n)
	for i := range list {
		hi, lo := bits.Mul64(length, uint64(i+1))
		end, _ := bits.Div64(hi, lo, uint64(n)) // hi < n, since i < n
		list[i] = trace.Window{From: w.From, To: int64(uint64(w.From) + end)}
		if i > 0 {
			list[i].From = list[i-1].To
		}
	}
	return list
}

// compute sets the factors of the first phases. windows contains the windows of these phases, and closed states
// whether they are windows of visits.
func (a *phasesAnswer) compute(ctx context.Context, events format.Events, windows []trace.Window, closed bool,
	v *traceView) error {
	factors := efficiency.StandardFactors()
	for _, f := range factors {
		a.Factors = append(a.Factors, factorName{f.Name, f.Level})
	}
	a.Left = max(0, len(windows)-maxPhases)
	found, missing := false, efficiency.NoCalls
	windows = windows[:len(windows)-a.Left]
	err := transform.EachPiece(ctx, events, windows, closed, func(i int, piece format.Events) error {
		r, ok, err := efficiency.Find(ctx, piece, efficiency.Options{Rows: trace.NewRows(events.Defs()), Part: true})
		if err != nil {
			return err
		}
		x := phaseFact{i + 1, v.jsonTime(windows[i].From), v.jsonTime(min(windows[i].To, trace.Add(v.last, 1))), []float64{}}
		if ok {
			found = true
			for _, f := range factors {
				x.Values = append(x.Values, f.Value(r))
			}
		} else {
			missing = r.Missing()
		}
		a.Phases = append(a.Phases, x)
		return nil
	})
	if err != nil {
		return err
	}
	if !found {
		a.Missing = missing
	}
	return nil
}
