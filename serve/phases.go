package serve

import (
	"cmp"
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

	windows []trace.Window // those of Phases
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

// phaseList holds the phases of a whole trace.
type phaseList struct {
	Missing string // as in phasesAnswer
	Steps   []string
	Windows []trace.Window
}

// phaseValues holds the factors of a phase. If there are none, Missing is the reason.
type phaseValues struct {
	Values  []float64
	Missing string
}

// efficiencyPhases computes the factors of efficiency of the phases of a window. Visits and iterations are those of
// the whole trace, and have their whole length. Therefore the answerCache keeps them and their factors for requests
// for other windows.
func (s *Server) efficiencyPhases(e *entry, p *params) func(context.Context) (any, error) {
	by := p.choice("by", phasesByTime, phasesByRegion, phasesByLoop)
	region := p.values.Get("region")
	if (region != "") != (by == phasesByRegion) {
		p.setError("region", "the name of a region if by is region, and nothing else")
	}
	parts := int(p.number("count", 1, maxPhases, defaultParts))
	window, location, v := p.selectedWindow(), p.selectedLocations(), p.x
	tracks := p.values.Get("tracks")
	key := func(x any) string {
		return fmt.Sprint(e.id, " ", v.tag, " phase ", x, " ", by, " ", tracks, " ", region)
	}
	return func(ctx context.Context) (any, error) {
		a := &phasesAnswer{Steps: []string{}, Factors: []factorName{}, Phases: []phaseFact{}}
		err := e.readers.useReader(ctx, func(d *reader) error {
			if by == phasesByTime {
				whole := trace.Window{From: v.first, To: trace.Add(v.last, 1)}
				if window != nil {
					whole = trace.Window{From: max(window.From, whole.From), To: min(window.To, whole.To)}
				}
				piece, err := cutRunning(ctx, d, window, location)
				if err != nil {
					return err
				}
				a.addPhases(equalParts(whole, parts), nil, v)
				return a.compute(ctx, piece, false, make([]*phaseValues, len(a.Phases)))
			}
			events, err := cutRunning(ctx, d, nil, location)
			if err != nil {
				return err
			}
			list := &phaseList{}
			if !s.answers.lookUp(key("list"), list) {
				if list, err = findPhases(ctx, events, region); err != nil {
					return err
				}
			}
			if a.Missing = list.Missing; a.Missing == "" {
				a.Steps = append(a.Steps, list.Steps...)
				a.addPhases(list.Windows, window, v)
			}
			values := make([]*phaseValues, len(a.Phases))
			for i, x := range a.Phases {
				if y := (&phaseValues{}); s.answers.lookUp(key(x.Number), y) {
					values[i] = y
				}
			}
			if len(a.Phases) > 0 {
				if err := a.compute(ctx, events, by == phasesByRegion, values); err != nil {
					return err
				}
			} else if a.Missing == "" {
				a.Missing = "found no phase in this time"
			}
			if err := e.checkUnchanged(v); err != nil {
				return err
			}
			err = s.answers.keep(key("list"), list)
			for i, x := range a.Phases {
				err = cmp.Or(err, s.answers.keep(key(x.Number), values[i]))
			}
			return err
		})
		return a, err
	}
}

// findPhases returns the visits of a region or, if region is "", the iterations of the loop.
func findPhases(ctx context.Context, events format.Events, region string) (*phaseList, error) {
	if region == "" {
		loop, err := structure.FindLoop(ctx, events, trace.NewRows(events.Defs()))
		if none := (*structure.NoLoopError)(nil); errors.As(err, &none) {
			return &phaseList{Missing: none.Reason}, nil
		}
		if err != nil {
			return nil, err
		}
		return &phaseList{Steps: loop.Steps, Windows: loop.Iterations}, nil
	}
	wanted := regionsNamed(events.Defs(), region)
	windows, err := transform.FindOccurrences(ctx, events, func(r uint32) bool { return wanted[r] })
	x := &phaseList{Windows: windows}
	if len(windows) == 0 {
		x.Missing = fmt.Sprintf("found no visit of a region %q", region)
	}
	return x, err
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

// addPhases adds the first phases that overlap with a window; nil stands for the whole trace. windows contains all
// phases of the trace.
func (a *phasesAnswer) addPhases(windows []trace.Window, window *trace.Window, v *traceView) {
	for i, w := range windows {
		switch {
		case window != nil && !window.Overlaps(w):
		case len(a.Phases) < maxPhases:
			a.Phases = append(a.Phases, phaseFact{i + 1, v.jsonTime(w.From), v.jsonTime(min(w.To, trace.Add(v.last, 1))),
				[]float64{}})
			a.windows = append(a.windows, w)
		default:
			a.Left++
		}
	}
}

// compute sets the factors of the phases. It computes the values that are nil. closed states whether the phases are
// visits.
func (a *phasesAnswer) compute(ctx context.Context, events format.Events, closed bool, values []*phaseValues) error {
	factors := efficiency.StandardFactors()
	for _, f := range factors {
		a.Factors = append(a.Factors, factorName{f.Name, f.Level})
	}
	var windows []trace.Window
	var unknown []int
	for i, x := range values {
		if x == nil {
			windows, unknown = append(windows, a.windows[i]), append(unknown, i)
		}
	}
	err := transform.EachPiece(ctx, events, windows, closed, func(i int, piece format.Events) error {
		r, ok, err := efficiency.Find(ctx, piece, efficiency.Options{Rows: trace.NewRows(events.Defs()), Part: true})
		if err != nil {
			return err
		}
		x := &phaseValues{Values: []float64{}}
		if ok {
			for _, f := range factors {
				x.Values = append(x.Values, f.Value(r))
			}
		} else {
			x.Missing = r.Missing()
		}
		values[unknown[i]] = x
		return nil
	})
	if err != nil {
		return err
	}
	a.Missing = efficiency.NoCalls
	for i, x := range values {
		a.Phases[i].Values = x.Values
		if a.Missing != "" {
			a.Missing = x.Missing
		}
	}
	return nil
}
