package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/weft-trace/weft/analysis/waits"
	"github.com/weft-trace/weft/trace"
)

// maxShares is the largest number of rows in each list of shares of a pattern. worstWaits is the
// largest number of waits that a pattern lists.
const (
	maxShares  = 1000
	worstWaits = 20
)

// waitsAnswer holds the wait states of a window. If Missing is set, only the lists are there.
type waitsAnswer struct {
	// Missing is the reason why no wait can be found, or "".
	Missing string `json:"missing"`
	*waitsTimes
	Patterns []patternFact  `json:"patterns"`
	Late     []lateFact     `json:"late"`
	Unjudged []unjudgedFact `json:"unjudged"`
}

// waitsTimes holds the sums over all locations, and the contradictions of causality.
type waitsTimes struct {
	Locations int `json:"locations"`
	// time from the first to the last event of a location, summed over the locations
	Time    sum             `json:"time"`
	Judged  int64           `json:"judged"`
	Waiting sum             `json:"waiting"`
	Clocks  *violationsFact `json:"clocks,omitempty"`
}

// unjudgedFact counts events of one sort whose waits cannot be computed for one reason. Time is the total time of
// calls, and nil for other events.
type unjudgedFact struct {
	What   string `json:"what"` // a noun in the plural
	Count  int64  `json:"count"`
	Time   *sum   `json:"time,omitempty"`
	Reason string `json:"reason"`
}

// patternFact holds the waits of a pattern: their number and time, the shares of that time, and the longest
// waits. PartOf is the pattern that contains this pattern, or "".
type patternFact struct {
	Pattern       string     `json:"pattern"`
	PartOf        string     `json:"partOf"`
	Count         int64      `json:"count"`
	Time          sum        `json:"time"`
	Median        ticks      `json:"median"`
	Max           ticks      `json:"max"`
	Regions       sharesFact `json:"regions"`
	Paths         sharesFact `json:"paths"`
	Locations     sharesFact `json:"locations"`
	Communicators sharesFact `json:"communicators"`
	Pairs         sharesFact `json:"pairs"`
	Worst         []waitFact `json:"worst"`
}

// sharesFact lists the shares of a pattern's waiting time, with the largest first. Left holds the sums over
// the shares that the list leaves out.
type sharesFact struct {
	Rows []waitShare `json:"rows"`
	Left struct {
		Rows  int   `json:"rows"`
		Time  sum   `json:"time"`
		Count int64 `json:"count"`
	} `json:"left"`
}

// waitShare is the share of a pattern's waiting time that belongs to a region or communicator
// (Name), a call path (Path), a location (Track) or a pair of locations (Track and Cause).
type waitShare struct {
	Name  string   `json:"name,omitempty"`
	Path  []string `json:"path,omitempty"`
	Track *int     `json:"track,omitempty"`
	Cause *int     `json:"cause,omitempty"` // the track for which the location waits
	Count int64    `json:"count"`
	Time  sum      `json:"time"`
}

// waitFact is a single wait. Depth is the depth of the call that waits, and CauseDepth the depth of the
// call that ends the wait. Each is -1 if it is unknown.
type waitFact struct {
	Track      int      `json:"track"`
	Depth      int      `json:"depth"`
	Path       []string `json:"path"`
	Begin      ticks    `json:"begin"`
	Time       ticks    `json:"time"`
	Cause      int      `json:"cause"`
	CauseDepth int      `json:"causeDepth"`
	CauseTime  ticks    `json:"causeTime"`
}

// lateFact counts the collective operations of a communicator in which a location was the last to arrive.
// AllOperations is the number of all operations. Lost is the time that the other members waited in these operations.
type lateFact struct {
	Communicator  string `json:"communicator"`
	Track         int    `json:"track"`
	Operations    int64  `json:"operations"`
	AllOperations int64  `json:"of"`
	Lost          sum    `json:"lost"`
}

// violationsFact describes how the times of a trace contradict causality. Remedy is the command that corrects its
// clocks.
type violationsFact struct {
	Text   string `json:"text"`
	Remedy string `json:"remedy"`
}

// violationsOf returns the description of violations, or nil if there are none. Parameter v may be nil.
func violationsOf(clock trace.Clock, v *waits.Violations) *violationsFact {
	if v == nil || *v == (waits.Violations{}) {
		return nil
	}
	return &violationsFact{v.Text(clock), v.Remedy()}
}

// waitStates computes the wait states of a window.
func waitStates(e *entry, p *params) func(context.Context) (any, error) {
	opt := waits.Options{Worst: worstWaits, Window: p.selectedWindow(), Locations: p.selectedLocations()}
	return func(ctx context.Context) (any, error) {
		var r *waits.Result
		err := e.readers.useReader(ctx, func(d *reader) (err error) {
			opt.Rows = trace.NewRows(d.Defs())
			r, err = waits.Find(ctx, d.Events, opt)
			return err
		})
		if err != nil {
			return nil, err
		}
		x, err := e.open()
		if err != nil {
			return nil, err
		}
		defer x.release()
		return newWaitsAnswer(x, r)
	}
}

func newWaitsAnswer(x *traceIndex, r *waits.Result) (*waitsAnswer, error) {
	a := &waitsAnswer{Missing: r.Missing(), Patterns: []patternFact{}, Late: []lateFact{}, Unjudged: []unjudgedFact{}}
	for _, u := range r.Unjudged {
		x := unjudgedFact{What: u.What, Count: u.Count, Reason: u.Reason}
		if t := sum(u.Time); u.Time != (trace.Ticks{}) {
			x.Time = &t
		}
		a.Unjudged = append(a.Unjudged, x)
	}
	if a.Missing != "" {
		return a, nil
	}
	a.waitsTimes = &waitsTimes{r.Locations, sum(r.Time), r.Judged, sum(r.Waiting),
		violationsOf(x.Clock(), &r.Violations)}
	track := x.locationTracks()
	for i := range r.Patterns {
		p := &r.Patterns[i]
		f := patternFact{Pattern: p.Pattern, PartOf: p.PartOf, Count: p.Count, Time: sum(p.Time),
			Median: ticks(p.Statistics.Median), Max: ticks(p.Statistics.Max), Regions: newShares(p.Regions, track),
			Paths: newShares(p.Paths, track), Locations: newShares(p.Locations, track),
			Communicators: newShares(p.Communicators, track), Pairs: newShares(p.Pairs, track), Worst: []waitFact{}}
		for _, w := range p.Worst {
			depth, err := x.callDepth(track(w.Location), w.Path, w.Begin)
			if err != nil {
				return nil, err
			}
			causeDepth, err := x.callDepth(track(w.Cause), nil, w.CauseTime)
			if err != nil {
				return nil, err
			}
			f.Worst = append(f.Worst, waitFact{track(w.Location), depth, w.Path, x.jsonTime(w.Begin), ticks(w.Time),
				track(w.Cause), causeDepth, x.jsonTime(w.CauseTime)})
		}
		a.Patterns = append(a.Patterns, f)
	}
	for _, l := range r.Late {
		a.Late = append(a.Late, lateFact{l.Communicator, track(l.Location), l.Operations, l.AllOperations, sum(l.Lost)})
	}
	a.Late = a.Late[:min(len(a.Late), maxShares)]
	return a, nil
}

// newShares converts the shares of a pattern. track returns the track of a location.
func newShares(list []waits.Share, track func(location uint32) int) sharesFact {
	f := sharesFact{Rows: []waitShare{}}
	for i := range list {
		s := &list[i]
		if i >= maxShares {
			f.Left.Rows++
			f.Left.Count += s.Count
			f.Left.Time.addTicks(s.Time)
			continue
		}
		x := waitShare{Path: s.Path, Count: s.Count, Time: sum(s.Time)}
		switch {
		case s.Region != "":
			x.Name = s.Region
		case s.Communicator != "":
			x.Name = s.Communicator
		}
		if s.Location != nil {
			t := track(*s.Location)
			x.Track = &t
		}
		if s.Cause != nil {
			t := track(*s.Cause)
			x.Cause = &t
		}
		f.Rows = append(f.Rows, x)
	}
	return f
}

// locationTracks returns a function that maps a location to its first track, or to -1.
func (v *traceView) locationTracks() func(location uint32) int {
	known := map[uint32]int{}
	return func(location uint32) int {
		t, ok := known[location]
		if !ok {
			t = v.firstTrack(location)
			known[location] = t
		}
		return t
	}
}

// callDepth returns the depth of the last call of a path, which is open on a track at a time. This is the
// innermost open call with the name at the end of the path. If there is no such call, callDepth returns the
// depth of the innermost open call. It returns -1 if no call is open.
func (ti *traceIndex) callDepth(track int, path []string, at int64) (int, error) {
	if track < 0 {
		return -1, nil
	}
	found := -1
	for depth := min(ti.tracks[track].Depth, maxDepths) - 1; depth >= 0; depth-- {
		s, ok, err := ti.SpanAt(track, depth, at)
		if err != nil {
			return -1, err
		}
		if !ok {
			continue
		}
		if len(path) > 0 && ti.region(s.Region).Name == path[len(path)-1] {
			return depth, nil
		}
		if found < 0 {
			found = depth
		}
	}
	return found, nil
}

// waitsHead is the head of a stored answer of waits.
type waitsHead struct {
	Missing string `json:"missing"` // the reason why no wait can be found, or ""
	Left    int64  `json:"left"`    // number of waits that are not stored, because longer waits take their place
}

// waitIntervals stores the waits of all patterns, ordered by track and begin. If there are more than
// maxIntervals, it stores only the longest ones.
var waitIntervals = storedAnswer{"waits", func(ctx context.Context, e *entry, v *traceView) ([]byte, error) {
	var head waitsHead
	var list []interval
	shorten := func(n int) {
		if len(list) > n {
			slices.SortFunc(list, func(a, b interval) int {
				return cmp.Or(cmp.Compare(b.to-b.from, a.to-a.from), compareIntervals(a, b))
			})
			head.Left += int64(len(list) - n)
			list = list[:n]
		}
	}
	track := v.locationTracks()
	err := e.readers.useReader(ctx, func(d *reader) error {
		r, err := waits.Find(ctx, d.Events, waits.Options{Each: func(w waits.Interval) {
			if t := track(w.Location); t >= 0 {
				list = append(list, interval{t, int64(v.jsonTime(w.Begin)), int64(v.jsonTime(w.Begin + w.Length)),
					track(w.Cause), int64(v.jsonTime(w.CauseTime))})
			}
			if len(list) >= 2*maxIntervals {
				shorten(maxIntervals)
			}
		}})
		if err == nil {
			head.Missing = r.Missing()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	shorten(maxIntervals)
	slices.SortFunc(list, compareIntervals)
	return storedIntervals(head, list)
}}

// compareIntervals orders intervals by track, then by begin and end.
func compareIntervals(a, b interval) int {
	return cmp.Or(cmp.Compare(a.track, b.track), cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
}

// intervalsAnswer holds the waits that are drawn in a window.
type intervalsAnswer struct {
	waitsHead
	Tracks []trackWaits `json:"tracks"`
	// Arrows holds the causes of the longest waits, up to maxWaitArrows, ordered by track and end.
	Arrows []waitArrow `json:"arrows"`
}

// maxWaitArrows is the largest number of waits whose causes are shown.
const maxWaitArrows = 100

// waitArrow leads from the cause of a wait to the end of the wait. The cause is the call that begins on the
// track Cause at time From. The wait ends at time To.
type waitArrow struct {
	Track int   `json:"track"`
	To    ticks `json:"to"`
	Cause int   `json:"cause"`
	From  ticks `json:"from"`
}

// trackWaits holds the waits on a track: the begin and end of the first wait, the begin and end of the second
// wait, and so on.
type trackWaits struct {
	Track int     `json:"track"`
	Times []ticks `json:"times"`
}

// visibleWaits returns the stored waits in a window. It combines waits that are shorter than a column:
// if they fill at least half of a column, the whole column counts as a wait.
func visibleWaits(stored []byte, p *params) (any, error) {
	c, ok := p.visibleColumns()
	wanted := p.tracks(maxTileTracks)
	slices.Sort(wanted)
	a := intervalsAnswer{Tracks: []trackWaits{}, Arrows: []waitArrow{}}
	var longest []interval
	if err := json.Unmarshal(headOf(stored), &a.waitsHead); err != nil || !ok {
		return a, err
	}
	long := (c.to - c.from) / int64(c.width)
	var short struct { // the waits in a column that are shorter than the column
		track, column int
		time          int64
	}
	flush := func() {
		if from, to := c.startOf(short.column), c.startOf(short.column+1); short.time > 0 && short.time >= (to-from)/2 {
			a.add(interval{track: short.track, from: from, to: to})
		}
		short.time = 0
	}
	eachInterval(stored, func(x interval) {
		if x.to <= c.from || x.from >= c.to {
			return
		}
		if _, found := slices.BinarySearch(wanted, x.track); wanted != nil && !found {
			return
		}
		if x.to-x.from >= long {
			flush()
			a.add(x)
			if x.cause >= 0 {
				longest = append(longest, x)
			}
			return
		}
		if column := c.columnOf(max(x.from, c.from)); x.track != short.track || column != short.column {
			flush()
			short.track, short.column = x.track, column
		}
		short.time += x.to - x.from
	})
	flush()
	slices.SortStableFunc(longest, func(a, b interval) int { return cmp.Compare(b.to-b.from, a.to-a.from) })
	longest = longest[:min(len(longest), maxWaitArrows)]
	slices.SortFunc(longest, compareIntervals)
	for _, x := range longest {
		a.Arrows = append(a.Arrows, waitArrow{x.track, ticks(x.to), x.cause, ticks(x.begun)})
	}
	return a, nil
}

// add adds a wait. Waits must come in the order of track and begin. If a wait touches or overlaps the previous
// wait, it extends the previous wait.
func (a *intervalsAnswer) add(x interval) {
	n := len(a.Tracks)
	if n == 0 || a.Tracks[n-1].Track != x.track {
		a.Tracks = append(a.Tracks, trackWaits{x.track, []ticks{ticks(x.from), ticks(x.to)}})
		return
	}
	times := a.Tracks[n-1].Times
	if last := &times[len(times)-1]; ticks(x.from) <= *last {
		*last = max(*last, ticks(x.to))
		return
	}
	a.Tracks[n-1].Times = append(times, ticks(x.from), ticks(x.to))
}
