package serve

import (
	"context"
	"math"
	"runtime"

	"github.com/weft-trace/weft/analysis/states"
	"github.com/weft-trace/weft/timeline/index"
	"github.com/weft-trace/weft/trace"
)

// stateIndex computes the states busy, overhead and idle from an index. exact is set if the results equal the
// results of package analysis/states, which reads all events. If exact is not set, the index does not contain
// enough data, and the events must be read.
type stateIndex struct {
	exact       bool
	tracks      []int // the first track of each processor
	first, last int64 // times of the first and the last event of all processors
	rank        []int // rank of each region: overheadRank, idleRank, or 0 for busy; indexed by region
}

const (
	overheadRank = 1
	idleRank     = 2
	stateRanks   = 3
)

func newStateIndex(v *traceView, x Index, d *trace.Definitions) (*stateIndex, error) {
	p := &stateIndex{first: math.MaxInt64, last: math.MinInt64}
	// In PICL, a processor may have several processes, and events determine when it begins and ends.
	if d.Conventions.EventTypes {
		return p, nil
	}
	seen := map[uint32]bool{}
	for i := range v.tracks {
		t := &v.tracks[i]
		if t.Kind == index.CommunicatorTrack || seen[t.Location] {
			continue
		}
		seen[t.Location] = true
		if !d.Locations.Has(t.Location) {
			return p, nil
		}
		if t.Events == 0 || !d.Locations.At(t.Location).Kind.IsProcessor() {
			continue
		}
		if t.Kind == index.CounterTrack && t.Style != "steps" {
			return p, nil // the curve may extend beyond the last event
		}
		unsupported := false
		if t.Instants > 0 {
			err := x.EachInstant(i, math.MinInt64, math.MaxInt64, func(n index.Instant) {
				// A gap ends a wait. A comment does not count as an event of a processor.
				unsupported = unsupported || n.Kind == trace.Gap ||
					n.Kind == trace.Comment && (n.Time == t.First || n.Time == t.Last)
			})
			if err != nil {
				return nil, err
			}
		}
		if unsupported {
			return p, nil
		}
		p.tracks = append(p.tracks, i)
		p.first, p.last = min(p.first, t.First), max(p.last, t.Last)
	}
	var opt states.Options
	visits, _ := x.Totals()
	p.rank = make([]int, d.Regions.Len())
	for _, y := range visits {
		if y.Region == trace.NoRef || y.Count == 0 {
			continue
		}
		if int(y.Region) >= len(p.rank) {
			return p, nil // the region is defined later in the trace
		}
		switch opt.StateIn(d, d.Regions.At(y.Region)) {
		case states.Overhead:
			p.rank[y.Region] = overheadRank
		case states.Idle:
			p.rank[y.Region] = idleRank
		}
	}
	for row, regions := range trace.NewRows(d).Regions() {
		for _, r := range regions {
			if opt.StateIn(d, d.Regions.At(r)) != opt.StateIn(d, d.Regions.At(row)) {
				return p, nil // the index has merged regions that stand for different states
			}
		}
	}
	p.exact = true
	return p, nil
}

// stateIndex returns the stateIndex of a trace. It computes the stateIndex only once.
func (e *entry) stateIndex(ctx context.Context, x *traceIndex) (*stateIndex, error) {
	if p := x.processors.Load(); p != nil {
		return p, nil
	}
	var p *stateIndex
	err := e.readers.useReader(ctx, func(d *reader) (err error) {
		p, err = newStateIndex(x.traceView, x.Index, d.Defs())
		return err
	})
	if err == nil {
		x.processors.Store(p)
	}
	return p, err
}

// stateRow holds the time that a processor spends in each state.
type stateRow struct {
	Track    int   `json:"track"`
	Busy     ticks `json:"busy"`
	Overhead ticks `json:"overhead"`
	Idle     ticks `json:"idle"`
}

// statesAnswer holds the states of each processor, and the sums over all processors. A processor with several
// locations has a row for each location. If Missing is set, there are no sums and no rows.
type statesAnswer struct {
	// Missing is the reason why there are no states, or "".
	Missing    string `json:"missing"`
	Processors int    `json:"processors"`
	*stateTotals
	Rows []stateRow `json:"rows"`
	// Clocks describes the contradictions because of which the idle time is not reliable. It is nil if there are none.
	Clocks *violationsFact `json:"clocks,omitempty"`

	timed bool // a processor has time in a state or in a gap
}

// stateTotals holds the times of all processors in each state.
type stateTotals struct {
	Busy     sum `json:"busy"`
	Overhead sum `json:"overhead"`
	Idle     sum `json:"idle"`
}

// add adds the times of a processor to the totals.
func (a *statesAnswer) add(busy, overhead, idle, gap int64) {
	a.timed = a.timed || busy+overhead+idle+gap > 0
	if a.Processors++; a.stateTotals == nil {
		a.stateTotals = &stateTotals{}
	}
	a.Busy.addTicks(trace.TicksOf(busy))
	a.Overhead.addTicks(trace.TicksOf(overhead))
	a.Idle.addTicks(trace.TicksOf(idle))
}

// processorStates computes the states in a window: from the index if possible, and otherwise from the
// events.
func processorStates(e *entry, p *params) func(context.Context) (any, error) {
	from, to, _ := p.window()
	waits := p.choice("waits", "1", "0") == "1"
	v := p.x
	compute := func(ctx context.Context) (*statesAnswer, error) {
		a, err := e.indexedStates(ctx, from, to, waits)
		if a != nil || err != nil {
			return a, err
		}
		a = &statesAnswer{Rows: []stateRow{}}
		err = e.readers.useReader(ctx, func(d *reader) (err error) {
			opt := states.Options{Window: &trace.Window{From: from, To: to}}
			if opt.Waits, err = findWaits(ctx, d, waits, opt.Window); err != nil {
				return err
			}
			part, err := states.Read(ctx, d.Events, opt)
			if err != nil {
				return err
			}
			r := part.Result()
			a.Clocks = violationsOf(d.Defs().Clock, r.Violations)
			for _, q := range r.Processors {
				a.add(q.Busy, q.Overhead, q.Idle, q.Gap)
				for _, loc := range q.Locations {
					if t := v.firstTrack(loc); t >= 0 {
						a.Rows = append(a.Rows, stateRow{t, ticks(q.Busy), ticks(q.Overhead), ticks(q.Idle)})
					}
				}
			}
			return nil
		})
		return a, err
	}
	return func(ctx context.Context) (any, error) {
		a, err := compute(ctx)
		if err == nil {
			err = e.readers.useReader(ctx, func(d *reader) error {
				a.Missing = states.Missing(d.Defs(), a.Processors)
				return nil
			})
		}
		switch {
		case err != nil:
			return nil, err
		case a.Missing != "":
			a = &statesAnswer{Missing: a.Missing, Rows: []stateRow{}}
		case !a.timed && from <= v.first && !trace.Before(to, v.last):
			// a window without time has figures of 0, as in weft states --window
			a = &statesAnswer{Missing: states.NoTime, Processors: a.Processors, Rows: []stateRow{}}
		}
		return a, nil
	}
}

// findWaits returns the waits that count as idle time, or nil if they do not count. In a trace whose event types
// determine the states, waiting is idle in any case.
func findWaits(ctx context.Context, d *reader, wanted bool, window *trace.Window) (*states.Waits, error) {
	if !wanted || d.Defs().Conventions.EventTypes {
		return nil, nil
	}
	return states.FindWaits(ctx, d.Events, window)
}

// wholeWaits returns the waits of the whole trace, or nil if they are not wanted. It computes them only once.
func (x *traceIndex) wholeWaits(ctx context.Context, wanted bool) (*states.Waits, error) {
	if !wanted {
		return nil, nil
	}
	select {
	case x.waitsTurn <- struct{}{}:
		defer func() { <-x.waitsTurn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if x.waits != nil {
		return x.waits, nil
	}
	err := x.e.readers.useReader(ctx, func(d *reader) error {
		found, err := findWaits(ctx, d, true, nil)
		if err == nil {
			x.waits = found
		}
		return err
	})
	return x.waits, err
}

// waitSweep finds the parts of intervals of a track in which the location of the track waits. The intervals of
// each rank must come from the last to the first.
type waitSweep struct {
	list []trace.Window
	next [stateRanks]int // indexed by rank: the last element of list that can have a part in common with an interval
}

// newWaitSweep returns the waits of a track's location in a window.
func newWaitSweep(waits *states.Waits, t *index.Track, from, to int64) *waitSweep {
	w := &waitSweep{}
	from, to = max(from, t.First), min(to, t.Last)
	for x := range waits.At(t.Location) {
		if x.From >= to {
			break
		}
		if x.To > from {
			w.list = append(w.list, trace.Window{From: max(x.From, from), To: min(x.To, to)})
		}
	}
	for rank := range w.next {
		w.next[rank] = len(w.list) - 1
	}
	return w
}

// each calls f with the parts of an interval in which the location waits.
func (w *waitSweep) each(rank int, begin, end int64, f func(begin, end int64)) {
	i := &w.next[rank]
	for *i >= 0 && w.list[*i].From >= end {
		*i--
	}
	for ; *i >= 0 && w.list[*i].To > begin; *i-- {
		f(max(begin, w.list[*i].From), min(end, w.list[*i].To))
		if w.list[*i].From < begin {
			return // the wait can have a part in common with the next interval, too
		}
	}
}

// rankTimes returns the times of a track by rank, like [index.Index.Ranks]. Waits have idleRank.
func (w *waitSweep) rankTimes(ctx context.Context, x *traceIndex, p *stateIndex, track int, from, to int64) ([]int64,
	error) {
	times := make([]int64, stateRanks)
	add := func(rank int, ticks int64) {
		times[rank] += ticks
		if rank > overheadRank {
			times[rank-1] -= ticks
		}
	}
	for _, wait := range w.list {
		times[idleRank] += wait.To - wait.From
	}
	err := x.EachRankInterval(ctx, track, from, to, stateRanks, p.rankOf, func(rank int, begin, end int64) {
		add(rank, end-begin)
		w.each(rank, begin, end, func(begin, end int64) { add(rank, begin-end) })
	})
	return times, err
}

// openStateIndex opens the index from which the states of a trace can be computed. It returns nil if
// there is no such index. The caller must release the result.
func (e *entry) openStateIndex(ctx context.Context) (*traceIndex, *stateIndex, error) {
	if e.config != (configuration{}) {
		if e = e.base; e == nil || e.config.renames() {
			return nil, nil, nil // in both entries, the values of an attribute name the spans
		}
		if _, _, ready := e.status(); ready == nil {
			return nil, nil, nil
		}
	}
	x, err := e.open()
	if err != nil {
		return nil, nil, err
	}
	p, err := e.stateIndex(ctx, x)
	if err != nil || !p.exact {
		x.release()
		return nil, nil, err
	}
	return x, p, nil
}

// rankOf returns the rank of a region: overheadRank, idleRank, or 0 for busy.
func (s *stateIndex) rankOf(region uint32) int {
	if int(region) < len(s.rank) {
		return s.rank[region]
	}
	return 0
}

// indexedStates computes the states in a window from the index. idleWaits is set if waits count as idle time.
// The result is nil if the index does not suffice.
func (e *entry) indexedStates(ctx context.Context, from, to int64, idleWaits bool) (*statesAnswer, error) {
	x, p, err := e.openStateIndex(ctx)
	if x == nil || err != nil {
		return nil, err
	}
	defer x.release()
	found, err := x.wholeWaits(ctx, idleWaits)
	if err != nil {
		return nil, err
	}
	from, to = max(from, p.first), min(to, p.last)
	part := func(a, b int64) int64 { return max(0, min(b, to)-max(a, from)) }
	rows := make([]stateRow, len(p.tracks))
	err = forEachParallel(ctx, runtime.GOMAXPROCS(0), len(rows), func(_, i int) error {
		t := &x.tracks[p.tracks[i]]
		alive := part(t.First, t.Last)
		times := make([]int64, stateRanks)
		if alive > 0 && t.Kind == index.LocationTrack {
			var err error
			if w := newWaitSweep(found, t, from, to); len(w.list) > 0 {
				times, err = w.rankTimes(ctx, x, p, p.tracks[i], from, to)
			} else {
				times, err = x.Ranks(ctx, p.tracks[i], from, to, stateRanks, p.rankOf)
			}
			if err != nil {
				return err
			}
		}
		rows[i] = stateRow{p.tracks[i], ticks(alive - times[overheadRank] - times[idleRank]), ticks(times[overheadRank]),
			ticks(part(p.first, p.last) - alive + times[idleRank])}
		return nil
	})
	if err != nil {
		return nil, err
	}
	a := &statesAnswer{Rows: rows}
	if found != nil {
		a.Clocks = violationsOf(x.Clock(), &found.Violations)
	}
	for _, r := range rows {
		a.add(int64(r.Busy), int64(r.Overhead), int64(r.Idle), 0)
	}
	return a, nil
}

// indexedSeries computes the states by column from the index. idleWaits is set if waits count as idle time. The
// result is nil if the index does not suffice.
func (e *entry) indexedSeries(ctx context.Context, w states.Columns, idleWaits bool) (*states.Series, error) {
	x, p, err := e.openStateIndex(ctx)
	if x == nil || err != nil {
		return nil, err
	}
	defer x.release()
	found, err := x.wholeWaits(ctx, idleWaits)
	if err != nil {
		return nil, err
	}
	parts := make([]*states.Times, runtime.GOMAXPROCS(0))
	for i := range parts {
		parts[i] = states.NewTimes(w)
	}
	from, to := max(w.From, p.first), min(w.To, p.last)
	err = forEachParallel(ctx, len(parts), len(p.tracks), func(worker, i int) error {
		t, sum := &x.tracks[p.tracks[i]], parts[worker]
		sum.Add(states.Idle, p.first, t.First)
		sum.Add(states.Busy, t.First, t.Last)
		sum.Add(states.Idle, t.Last, p.last)
		if from >= to || t.Kind != index.LocationTrack {
			return nil
		}
		waits := newWaitSweep(found, t, from, to)
		for _, x := range waits.list {
			sum.Remove(states.Busy, x.From, x.To)
			sum.Add(states.Idle, x.From, x.To)
		}
		return x.EachRankInterval(ctx, p.tracks[i], from, to, stateRanks, p.rankOf, func(rank int, begin, end int64) {
			// For an idle interval, EachRankInterval calls the function with both ranks.
			before, after := states.Busy, states.Overhead
			if rank == idleRank {
				before, after = states.Overhead, states.Idle
			}
			sum.Remove(before, begin, end)
			sum.Add(after, begin, end)
			waits.each(rank, begin, end, func(begin, end int64) { // waits are idle whatever their rank
				sum.Add(before, begin, end)
				sum.Remove(after, begin, end)
			})
		})
	})
	if err != nil {
		return nil, err
	}
	for _, o := range parts[1:] {
		parts[0].Merge(o)
	}
	s := parts[0].Series(len(p.tracks))
	for _, l := range [][]float64{s.Busy, s.Overhead, s.Idle} {
		for i, v := range l {
			l[i] = math.Round(v*1e12) / 1e12 // removes the rounding error of the subtraction
		}
	}
	return s, nil
}
