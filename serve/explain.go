package serve

import (
	"context"
	"errors"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/analysis/efficiency"
	"github.com/weft-trace/weft/analysis/explain"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// explainAnswer explains in which parts of the program the time of a run is lost.
type explainAnswer struct {
	// Missing is the reason why nothing can be explained, or "".
	Missing  string              `json:"missing"`
	Ran      *ranFact            `json:"ran,omitempty"`
	Verdict  string              `json:"verdict"`
	Factors  *efficiency.Factors `json:"factors,omitempty"`
	Findings []findingFact       `json:"findings"`
	Unjudged []string            `json:"unjudged"`
}

// ranFact describes the run: its size, its runtime, its waits, and the regions that took most of the other time.
type ranFact struct {
	Processes int   `json:"processes"`
	Threads   int   `json:"threads"`
	Streams   int   `json:"streams"` // number of streams of devices
	Runtime   ticks `json:"runtime"`
	// WaitingShare is the share of all waits in the time of all locations.
	WaitingShare float64     `json:"waitingShare"`
	Regions      []ranRegion `json:"regions"`
}

// ranRegion is a region with its exclusive time without waits, and the share of this time in the time of all locations.
type ranRegion struct {
	Region string  `json:"region"`
	Time   sum     `json:"time"`
	Share  float64 `json:"share"`
}

// findingFact is a finding. Path is the call path that it concerns, and Tracks are the tracks that it
// concerns. Each may be empty.
type findingFact struct {
	ID         string   `json:"id"`
	Title      string   `json:"title"`
	LossShare  float64  `json:"lossShare"`
	Gain       ticks    `json:"gain"`
	GainShare  float64  `json:"gainShare"`
	WhatIf     string   `json:"whatIf"` // the argument of weft path --what-if that computes the gain; "" if there is none
	Path       []string `json:"path"`
	Tracks     []int    `json:"tracks"`
	Evidence   []string `json:"evidence"`
	Advice     string   `json:"advice"`
	Confidence string   `json:"confidence"`
}

// missingReason returns the reason why an analysis has no result: that of the method Missing of its result or, if err
// states that times are too far apart, the text of err. It returns "" if the analysis has a result. All other errors
// are returned.
func missingReason(result interface{ Missing() string }, err error) (string, error) {
	switch {
	case errors.Is(err, analysis.ErrTimeRange):
		return err.Error(), nil
	case err == nil:
		return result.Missing(), nil
	}
	return "", err
}

// cutWindow returns the events of a window as a separate trace, like `weft cut`. If w is nil, it
// returns all events.
func cutWindow(ctx context.Context, d *reader, w *trace.Window) (format.Events, error) {
	if w == nil {
		return d.Events, nil
	}
	piece := transform.Cut(d.Events, *w)
	return piece, piece.Prepare(ctx)
}

// cutRunning is like cutWindow, for analyses of the whole time of processes and threads. If location is not nil, it
// also drops the events of other locations, like `weft filter`.
func cutRunning(ctx context.Context, d *reader, w *trace.Window, location func(uint32) bool) (format.Events, error) {
	wanted := transform.FilterOptions{Location: location, Markers: func(loc uint32) bool {
		return transform.HasMarkers(d.Defs().Locations.At(loc))
	}}
	piece := d.Events
	if w != nil {
		var reads func(uint32) bool
		if location != nil {
			reads = wanted.Reads
		}
		piece = transform.CutRunning(piece, *w, reads)
	}
	if location != nil {
		piece = transform.Filter(piece, wanted)
	}
	if w == nil && location == nil {
		return piece, nil
	}
	return piece, piece.Prepare(ctx)
}

// explanation computes the explanation of a window.
func explanation(e *entry, p *params) func(context.Context) (any, error) {
	window, location, v := p.selectedWindow(), p.selectedLocations(), p.x
	return func(ctx context.Context) (any, error) {
		var page *explain.Page
		err := e.readers.useReader(ctx, func(d *reader) error {
			piece, err := cutRunning(ctx, d, window, location)
			if err != nil {
				return err
			}
			page, _, err = explain.Explain(ctx, piece, explain.Options{Rows: trace.NewRows(d.Defs()), Part: window != nil})
			return err
		})
		a := &explainAnswer{Findings: []findingFact{}, Unjudged: []string{}}
		if a.Missing, err = missingReason(page, err); a.Missing != "" || err != nil {
			return a, err
		}
		a.Unjudged = page.Unjudged
		a.Verdict, a.Factors = page.Verdict, &page.Efficiency.Factors
		a.Ran = &ranFact{page.Ran.Processes, page.Ran.Threads, page.Ran.Streams, ticks(page.Ran.Runtime),
			page.Ran.WaitingShare, []ranRegion{}}
		for _, r := range page.Ran.Regions {
			a.Ran.Regions = append(a.Ran.Regions, ranRegion{r.Region, sum(r.Time), r.Share})
		}
		track := v.locationTracks()
		for _, f := range page.Findings {
			x := findingFact{f.ID, f.Title, f.LossShare, ticks(f.Gain), f.GainShare, f.WhatIf,
				append([]string{}, f.Path...), []int{},
				f.Evidence, f.Advice, string(f.Confidence)}
			for _, location := range f.At {
				if t := track(location); t >= 0 {
					x.Tracks = append(x.Tracks, t)
				}
			}
			a.Findings = append(a.Findings, x)
		}
		return a, nil
	}
}
