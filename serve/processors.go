package serve

import (
	"context"
	"math"
	"runtime"

	"github.com/weft-trace/weft/analysis/states"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/timeline/index"
	"github.com/weft-trace/weft/trace"
)

// processors is what of the definitions tells busy, overhead and idle in an index. The states
// are those of analysis/states, which reads all events; where an index does not tell the same,
// it is asked instead.
type processors struct {
	exact       bool
	tracks      []int // the first one of each
	first, last int64 // events of all of them
	rank        []int // of each region: 1 for overhead, 2 for idle
}

const (
	overheadRank = 1
	idleRank     = 2
	stateRanks   = 3
)

func newProcessors(v *shown, x Index, d *trace.Definitions) (*processors, error) {
	p := &processors{first: math.MaxInt64, last: math.MinInt64}
	// PICL's processors may have several processes, and say when they begin and end.
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
			return p, nil // its curve may go on behind the last event
		}
		odd := false
		if t.Instants > 0 {
			err := x.EachInstant(i, math.MinInt64, math.MaxInt64, func(n index.Instant) {
				// A wait ends where records are missing, and comments are no signs of life.
				odd = odd || n.Kind == trace.Gap || n.Kind == trace.Comment && (n.Time == t.First || n.Time == t.Last)
			})
			if err != nil {
				return nil, err
			}
		}
		if odd {
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
			return p, nil // it is defined later in the trace
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
				return p, nil // the index has both under one of them
			}
		}
	}
	p.exact = true
	return p, nil
}

// processors finds out what tells the states of a trace.
func (e *entry) processors(ctx context.Context, x *opened) (*processors, error) {
	if p := x.processors.Load(); p != nil {
		return p, nil
	}
	var p *processors
	err := e.decoders.with(ctx, func(d *reader) (err error) {
		p, err = newProcessors(x.shown, x.Index, d.Defs())
		return err
	})
	if err == nil {
		x.processors.Store(p)
	}
	return p, err
}

type stateRow struct {
	Track    int   `json:"track"`
	Busy     ticks `json:"busy"`
	Overhead ticks `json:"overhead"`
	Idle     ticks `json:"idle"`
}

// statesAnswer has the states of each processor, and of all together. A processor of several
// locations has a row for each of these.
type statesAnswer struct {
	Processors int        `json:"processors"`
	Busy       sum        `json:"busy"`
	Overhead   sum        `json:"overhead"`
	Idle       sum        `json:"idle"`
	Rows       []stateRow `json:"rows"`
}

// add adds a processor to all.
func (a *statesAnswer) add(busy, overhead, idle int64) {
	a.Processors++
	a.Busy.add(trace.TicksOf(busy))
	a.Overhead.add(trace.TicksOf(overhead))
	a.Idle.add(trace.TicksOf(idle))
}

func processorStates(e *entry, p *params) func(context.Context) (any, error) {
	from, to, _ := p.window()
	v := p.x
	return func(ctx context.Context) (any, error) {
		a, err := e.indexedStates(ctx, from, to)
		if a != nil || err != nil {
			return a, err
		}
		a = &statesAnswer{Rows: []stateRow{}}
		err = e.decoders.with(ctx, func(d *reader) error {
			opt := states.Options{Window: &trace.Window{From: from, To: to}}
			part := states.New(d.Defs(), opt)
			err := format.ScanReduced(ctx, d.Events, trace.Events(), states.Reduction(d.Defs(), opt), part)
			if err != nil {
				return err
			}
			for _, q := range part.Result().Processors {
				a.add(q.Busy, q.Overhead, q.Idle)
				for _, loc := range q.Locations {
					if t := v.trackOf(loc); t >= 0 {
						a.Rows = append(a.Rows, stateRow{t, ticks(q.Busy), ticks(q.Overhead), ticks(q.Idle)})
					}
				}
			}
			return nil
		})
		return a, err
	}
}

// told opens the index that tells the states of a trace; nil if none does. It must be
// released.
func (e *entry) told(ctx context.Context) (*opened, *processors, error) {
	if e.color != "" {
		if e = e.base; e == nil || e.color != "" {
			return nil, nil, nil // spans have other names than regions there
		}
		if _, _, ready := e.line(); ready == nil {
			return nil, nil, nil
		}
	}
	x, err := e.open()
	if err != nil {
		return nil, nil, err
	}
	p, err := e.processors(ctx, x)
	if err != nil || !p.exact {
		x.release()
		return nil, nil, err
	}
	return x, p, nil
}

// rankOf is the rank of a region.
func (p *processors) rankOf(region uint32) int {
	if int(region) < len(p.rank) {
		return p.rank[region]
	}
	return 0
}

// indexedStates are the states that the index tells; nil if it does not.
func (e *entry) indexedStates(ctx context.Context, from, to int64) (*statesAnswer, error) {
	x, p, err := e.told(ctx)
	if x == nil || err != nil {
		return nil, err
	}
	defer x.release()
	from, to = max(from, p.first), min(to, p.last)
	part := func(a, b int64) int64 { return max(0, min(b, to)-max(a, from)) }
	rows := make([]stateRow, len(p.tracks))
	err = spread(ctx, runtime.GOMAXPROCS(0), len(rows), func(_, i int) error {
		t := &x.tracks[p.tracks[i]]
		alive := part(t.First, t.Last)
		times := make([]int64, stateRanks)
		if alive > 0 && t.Kind == index.LocationTrack {
			var err error
			if times, err = x.Ranks(ctx, p.tracks[i], from, to, stateRanks, p.rankOf); err != nil {
				return err
			}
		}
		rows[i] = stateRow{p.tracks[i], ticks(alive - times[overheadRank] - times[idleRank]), ticks(times[overheadRank]), ticks(part(p.first, p.last) - alive + times[idleRank])}
		return nil
	})
	if err != nil {
		return nil, err
	}
	a := &statesAnswer{Rows: rows}
	for _, r := range rows {
		a.add(int64(r.Busy), int64(r.Overhead), int64(r.Idle))
	}
	return a, nil
}

// indexedSeries is the series that the index tells; nil if it does not.
func (e *entry) indexedSeries(ctx context.Context, w states.Columns) (*states.Series, error) {
	x, p, err := e.told(ctx)
	if x == nil || err != nil {
		return nil, err
	}
	defer x.release()
	parts := make([]*states.Times, runtime.GOMAXPROCS(0))
	for i := range parts {
		parts[i] = states.NewTimes(w)
	}
	from, to := max(w.From, p.first), min(w.To, p.last)
	err = spread(ctx, len(parts), len(p.tracks), func(worker, i int) error {
		t, sum := &x.tracks[p.tracks[i]], parts[worker]
		sum.Add(states.Idle, p.first, t.First)
		sum.Add(states.Busy, t.First, t.Last)
		sum.Add(states.Idle, t.Last, p.last)
		if from >= to || t.Kind != index.LocationTrack {
			return nil
		}
		return x.Ranked(ctx, p.tracks[i], from, to, stateRanks, p.rankOf, func(rank int, begin, end int64) {
			// All of it is of rank 1, too.
			if rank == overheadRank {
				sum.Remove(states.Busy, begin, end)
				sum.Add(states.Overhead, begin, end)
			} else {
				sum.Remove(states.Overhead, begin, end)
				sum.Add(states.Idle, begin, end)
			}
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
			l[i] = math.Round(v*1e12) / 1e12 // what is taken away leaves a rest
		}
	}
	return s, nil
}
