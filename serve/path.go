package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/weft-trace/weft/analysis/constraints"
	"github.com/weft-trace/weft/analysis/criticalpath"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/timeline/index"
	"github.com/weft-trace/weft/trace"
)

// pathGains is the largest number of regions whose gains are in an answer. maxPathPieces is the largest number
// of pieces of the path in an answer.
const (
	pathGains     = 5
	maxPathPieces = 1000
)

// pathAnswer holds the critical path of a trace. If Missing is set, only the lists are there.
type pathAnswer struct {
	// Missing is the reason why there is no path, or "".
	Missing string `json:"missing"`
	// Claims is set for a trace of claims. The path is then the longest path in the constraint graph.
	Claims *claimsFact `json:"claims,omitempty"`
	// Sentence is about calls whose waits are unknown, if they take much time.
	Sentence string `json:"sentence,omitempty"`
	*pathTimes
	Regions   []pathRegion   `json:"regions"`
	Locations []pathLocation `json:"locations"`
	Gains     []gainFact     `json:"gains"`
	Factors   []float64      `json:"factors"` // factors by which the curves of gains scale the time of a region
	Pieces    []pieceFact    `json:"pieces"`  // the longest pieces of the path
}

// pathTimes holds the times of the path, and the number of all of its pieces.
type pathTimes struct {
	Begin   ticks `json:"begin"`
	End     ticks `json:"end"`
	Length  ticks `json:"length"`
	Runtime ticks `json:"runtime"`
	Count   int   `json:"count"`
}

// claimsFact describes the constraint graph of a trace of claims: the numbers of claims, of
// dependencies that the trace stores, and of dependencies that were inferred.
type claimsFact struct {
	Claims       int `json:"claims"` // number of claims in the trace
	Dependencies int `json:"dependencies"`
	Inferred     int `json:"inferred"`
}

// pathRegion holds a region's time on the path. Name is "" for time outside of all regions.
type pathRegion struct {
	Name      string  `json:"name"`
	Time      sum     `json:"time"`
	Imbalance float64 `json:"imbalance"` // imbalance in ticks
	Claims    int     `json:"claims"`
}

// pathLocation is the time that the path spends on a track.
type pathLocation struct {
	Track int   `json:"track"`
	Time  ticks `json:"time"`
}

// gainFact is the effect of a region on the runtime. Half is the time by which the run would be shorter if the
// region took half as long. Curve holds the runtimes for pathAnswer.Factors.
type gainFact struct {
	Region string  `json:"region"`
	Half   ticks   `json:"half"`
	Curve  []ticks `json:"curve"`
}

// pieceFact is a piece of the path on one track.
type pieceFact struct {
	Track int    `json:"track"`
	From  ticks  `json:"from"`
	To    ticks  `json:"to"`
	By    string `json:"by"` // the reason why the path moves to the piece, or the activity of the claim
}

// criticalPath computes the critical path of the selected locations as a stored answer. The head of the answer is the
// JSON with the length, the shares and the longest pieces of the path. The intervals of the answer are the pieces.
func criticalPath(p *params) storedAnswer {
	location := p.selectedLocations()
	compute := func(ctx context.Context, e *entry, v *traceView) ([]byte, error) {
		return computePath(ctx, e, v, location)
	}
	return storedAnswer{"path " + p.values.Get("tracks"), compute}
}

// computePath computes the critical path of the locations for which location returns true, or of all.
func computePath(ctx context.Context, e *entry, v *traceView, location func(uint32) bool) ([]byte, error) {
	a := &pathAnswer{Regions: []pathRegion{}, Locations: []pathLocation{}, Gains: []gainFact{},
		Factors: criticalpath.Factors(), Pieces: []pieceFact{}}
	err := e.readers.useReader(ctx, func(d *reader) error {
		events, err := cutRunning(ctx, d, nil, location)
		if err != nil {
			return err
		}
		if d.Defs().Resources.Len() > 0 {
			return a.addClaimPath(ctx, events, v)
		}
		return a.addCallPath(ctx, events, v)
	})
	if err != nil {
		return nil, err
	}
	line := make([]interval, 0, len(a.Pieces))
	for _, p := range a.Pieces {
		if p.Track >= 0 {
			line = append(line, interval{track: p.Track, from: int64(p.From), to: int64(p.To)})
		}
	}
	if len(line) > maxIntervals {
		line = thinPath(line, columns{0, int64(v.jsonTime(trace.Add(v.last, 1))), maxIntervals / 5})
	}
	slices.SortStableFunc(a.Pieces, func(x, y pieceFact) int { return cmp.Compare(y.To-y.From, x.To-x.From) })
	a.Pieces = a.Pieces[:min(len(a.Pieces), maxPathPieces)]
	return storedIntervals(a, line)
}

// addCallPath fills in the critical path of a trace of calls.
func (a *pathAnswer) addCallPath(ctx context.Context, events format.Events, v *traceView) error {
	r, err := criticalpath.Find(ctx, events, criticalpath.Options{Rows: trace.NewRows(events.Defs()), Gains: pathGains})
	if a.Missing, err = missingReason(r, err); a.Missing != "" || err != nil {
		return err
	}
	a.Sentence = r.Sentence()
	a.pathTimes = &pathTimes{v.jsonTime(r.Begin), v.jsonTime(r.End), ticks(r.Length), ticks(r.Runtime), r.Pieces.Len()}
	for _, x := range r.Regions {
		a.Regions = append(a.Regions, pathRegion{x.Region, sum(trace.TicksOf(x.Time)), x.Imbalance, 0})
	}
	track := v.locationTracks()
	for _, x := range r.Locations {
		a.Locations = append(a.Locations, pathLocation{track(x.Location), ticks(x.Time)})
	}
	for _, x := range r.Gains {
		g := gainFact{x.Region, ticks(x.Half), []ticks{}}
		for _, t := range x.Curve {
			g.Curve = append(g.Curve, ticks(t))
		}
		a.Gains = append(a.Gains, g)
	}
	for x := range r.Pieces.All() {
		a.Pieces = append(a.Pieces, pieceFact{track(x.Location), v.jsonTime(x.From), v.jsonTime(x.To), x.By})
	}
	return nil
}

// addClaimPath fills in the critical path of a trace of claims.
func (a *pathAnswer) addClaimPath(ctx context.Context, events format.Events, v *traceView) error {
	r, err := constraints.Find(ctx, events, constraints.Options{Use: constraints.Full})
	var cycle *constraints.CycleError
	if errors.Is(err, constraints.ErrNoClaims) || errors.As(err, &cycle) {
		a.Missing = err.Error()
		return nil
	}
	if err != nil {
		return err
	}
	a.Claims = &claimsFact{r.Claims, r.Dependencies, r.Inferred}
	a.pathTimes = &pathTimes{Length: ticks(r.Length), Runtime: v.jsonTime(v.last), Count: len(r.Critical)}
	for _, x := range r.Regions {
		a.Regions = append(a.Regions, pathRegion{x.Region, sum(x.Time), 0, x.Claims})
	}
	track := v.resourceTracks(events.Defs())
	for _, c := range r.Critical {
		p := pieceFact{track(c.At), v.jsonTime(c.Start), v.jsonTime(c.End), c.Region}
		if len(a.Pieces) == 0 || p.From < a.Begin {
			a.Begin = p.From
		}
		a.End = max(a.End, p.To)
		a.Pieces = append(a.Pieces, p)
	}
	return nil
}

// resourceTracks returns a function that maps a resource to its track, or to -1.
func (v *traceView) resourceTracks(d *trace.Definitions) func(resource uint32) int {
	tracks := map[string]int{}
	for i := range v.tracks {
		if t := &v.tracks[i]; t.Kind == index.ResourceTrack {
			if _, ok := tracks[t.ID]; !ok {
				tracks[t.ID] = i
			}
		}
	}
	return func(resource uint32) int {
		if d.Resources.Has(resource) {
			if t, ok := tracks[d.Resources.At(resource).ID]; ok {
				return t
			}
		}
		return -1
	}
}

// pathLine returns the pieces of a stored path that lie in a window.
func pathLine(stored []byte, p *params) (any, error) {
	c, ok := p.visibleColumns()
	var a struct {
		Missing string      `json:"missing"`
		Claims  *claimsFact `json:"claims"`
	}
	if err := json.Unmarshal(headOf(stored), &a); err != nil {
		return nil, err
	}
	var list []interval
	eachInterval(stored, func(x interval) {
		// a piece that ends at the begin of the window is needed for the arrow to the next piece
		if ok && x.to >= c.from && x.from <= c.to {
			list = append(list, x)
		}
	})
	out := lineAnswer{Missing: a.Missing, Joined: a.Claims == nil, Pieces: []pieceOfLine{}}
	for _, x := range thinPath(list, c) {
		out.Pieces = append(out.Pieces, pieceOfLine{x.track, ticks(x.from), ticks(x.to)})
	}
	return out, nil
}

// lineAnswer holds the pieces of the critical path in a window, for drawing.
type lineAnswer struct {
	Missing string        `json:"missing"`
	Joined  bool          `json:"joined"` // whether each piece ends at the time at which the next piece begins
	Pieces  []pieceOfLine `json:"pieces"`
}

// pieceOfLine is a piece of the path as it is drawn.
type pieceOfLine struct {
	Track int   `json:"track"`
	From  ticks `json:"from"`
	To    ticks `json:"to"`
}
