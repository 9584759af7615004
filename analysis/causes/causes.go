// Package causes finds the root causes of wait states: which computation at which location made
// others wait. The computation is the one to mend, not the call in which others sat.
//
// For each wait it compares what the waiting location and the one that it waits for did since they
// last met. Call paths in which the late location spent more time get short-term costs, in
// proportion to the excess. Waits of the late location itself are no excess: they get their share of
// the cost, and pass it on to what caused them, as long-term costs. For each pattern, the costs
// add up to the waiting time. docs/analyses/waits.md has the formulas.
//
// Two locations last met in the message or operation after which both went on latest, of those in
// which one can wait for the other. Both sides of the comparison begin when both calls had begun and
// one of them had ended. Waits are left out on both sides. What of a wait no excess explains is a cost
// of the call in which they met.
//
// [Find] keeps the calls and waits of the trace in memory: about 100 bytes per call, and 100 per
// wait.
package causes

import (
	"cmp"
	"context"
	"slices"

	"github.com/weft-trace/weft/analysis/internal/history"
	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/analysis/internal/waitstate"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// Options are the settings of the analysis.
type Options struct {
	// Window selects the waits that begin in it. Nil selects all.
	Window *trace.Window
	// Locations selects the locations whose waits count. Nil selects all.
	Locations func(location uint32) bool
	// Rows maps regions to the rows that count as one. Nil counts each region by itself.
	Rows *trace.Rows
}

// Result is the result of the analysis. Times are in ticks. Costs are fractions of waits.
type Result struct {
	// Patterns are those with waits, in the order of package waits.
	Patterns []Pattern `json:"patterns"`
}

// Pattern has the causes of the waits of a pattern.
type Pattern struct {
	Pattern string      `json:"pattern"`
	Waiting trace.Ticks `json:"waiting"`
	// Direct is the part of Waiting that the late location caused by what it did. Indirect is the part
	// that it caused because it had to wait itself.
	Direct   float64 `json:"direct"`
	Indirect float64 `json:"indirect"`
	// ShortTerm and LongTerm are the sums of the costs below. Both together are Waiting.
	ShortTerm float64 `json:"shortTerm"`
	LongTerm  float64 `json:"longTerm"`
	// Costs are ordered by descending sum.
	Costs []Cost `json:"costs"`
}

// Cost is the waiting time that a call path at a location causes.
type Cost struct {
	Path         []string `json:"path"` // the outermost region first; empty where no region is open
	Location     uint32   `json:"location"`
	LocationName string   `json:"locationName"`
	ShortTerm    float64  `json:"shortTerm"` // of waits for this location
	LongTerm     float64  `json:"longTerm"`  // of waits for locations that waited because of this one
	// Number is the number of the path in the history.
	Number uint32 `json:"-"`
}

// key is a call path at a location.
type key struct{ path, location uint32 }

// costs are the costs of a pattern.
type costs struct {
	waiting          trace.Ticks
	direct, indirect float64
	sums             map[key]*Cost
}

// share is a cost of a pattern that a wait carries.
type share struct {
	pattern waitstate.Pattern
	cost    float64
}

// finder follows waits backward.
type finder struct {
	h        *history.History
	opt      Options
	patterns [waitstate.Patterns]costs
	carried  [][]share // costs that each wait passes on from later waits
	// far has by pattern and location what the waits of calls carry of long intervals, for each tick of
	// their length.
	far     [waitstate.Patterns][]ranges
	waiting interval
	late    interval
}

// Find finds the causes of the waits of a trace. An error is analysis.ErrTimeRange, or that of the scan, of
// the temporary file, or of the context.
func Find(ctx context.Context, events format.Events, opt Options) (*Result, error) {
	h, err := history.Build(ctx, events, opt.Rows, nil)
	if err != nil {
		return nil, err
	}
	return FromHistory(ctx, h, opt)
}

// FromHistory finds the causes of the waits of a history. The error is that of the context.
func FromHistory(ctx context.Context, h *history.History, opt Options) (*Result, error) {
	f := &finder{h: h, opt: opt, carried: make([][]share, h.Waits())}
	f.waiting.init(h)
	f.late.init(h)
	for i := h.Waits() - 1; i >= 0; i-- {
		if i&0xfff == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		f.follow(i)
	}
	return f.result(), nil
}

// follow distributes the cost of a wait, and what it carries of later ones.
func (f *finder) follow(i int) {
	w := f.h.Wait(i)
	if w.Pattern == waitstate.Reduction {
		return // the wait is already counted as EarlyReduce
	}
	f.gather(i)
	counts := f.opt.Window.Has(w.Begin) && (f.opt.Locations == nil || f.opt.Locations(w.Place.Location))
	if !counts && len(f.carried[i]) == 0 {
		return
	}
	o := f.h.Opening(w.Place, w.Cause)
	f.waiting.sum(w.Place, o.A, &o)
	f.late.sum(w.Cause, o.B, &o)
	if w.Pattern == waitstate.LockContention {
		f.late.inside(w.Cause, w.CauseTime)
	}
	// Sum the time that the late location spent beyond the waiting one, by path.
	excess, own := 0.0, float64(f.late.waited)
	for _, path := range f.late.paths {
		if d := f.late.times[path] - f.waiting.times[path]; d > 0 {
			excess += float64(d)
		}
	}
	total := excess + own
	opened := synclog.NoPath
	if o.B >= 0 {
		opened = f.h.Locations[w.Cause.Location].Calls[o.B].Path
	}
	if counts {
		k := &f.patterns[w.Pattern]
		k.waiting.Add(w.Length)
		length := float64(w.Length)
		part := 0.0
		if total > 0 {
			part = min(length/total, 1)
		}
		k.direct += length - part*own
		k.indirect += part * own
		f.spread(w, part, func(path uint32, cost float64) { f.cost(w.Pattern, path, w.Cause.Location).ShortTerm += cost })
		f.pass(w.Pattern, part)
		if rest := length - part*total; rest > 0 { // the two locations did not leave their last synchronisation together
			f.cost(w.Pattern, opened, w.Cause.Location).ShortTerm += rest
		}
	}
	for _, s := range f.carried[i] {
		if total <= 0 {
			f.cost(s.pattern, opened, w.Cause.Location).LongTerm += s.cost
			continue
		}
		part := s.cost / total
		f.spread(w, part, func(path uint32, cost float64) { f.cost(s.pattern, path, w.Cause.Location).LongTerm += cost })
		f.pass(s.pattern, part)
	}
	f.carried[i] = nil
	f.waiting.clear()
	f.late.clear()
}

// spread calls add with the given part of each path's excess.
func (f *finder) spread(w *waitstate.Wait, part float64, add func(path uint32, cost float64)) {
	for _, path := range f.late.paths {
		if d := f.late.times[path] - f.waiting.times[path]; d > 0 {
			add(path-1, part*float64(d)) // NoPath has the index 0
		}
	}
}

// pass makes the waits of the late location carry the given part of their length.
func (f *finder) pass(p waitstate.Pattern, part float64) {
	x := &f.late
	l := f.h.Locations[x.location]
	if x.lock >= 0 {
		f.carry(&l.Calls[x.lock], p, part)
	}
	if x.to-x.from <= 2*fewCalls {
		for n := x.from; n < x.to; n++ {
			f.carry(&l.Calls[n], p, part)
		}
		return
	}
	if f.far[p] == nil {
		f.far[p] = make([]ranges, len(f.h.Locations))
	}
	if f.far[p][x.location] == nil {
		f.far[p][x.location] = make(ranges, len(l.Calls)+1)
	}
	f.far[p][x.location].add(x.from, x.to, part)
}

// carry makes the waits of a call carry the given part of their length.
func (f *finder) carry(c *history.Call, p waitstate.Pattern, part float64) {
	f.h.WaitsOf(c, func(i int) {
		if w := f.h.Wait(i); w.Pattern != waitstate.Reduction {
			f.bear(i, p, part*float64(w.Length))
		}
	})
}

// bear adds a cost to what a wait carries.
func (f *finder) bear(i int, p waitstate.Pattern, cost float64) {
	list := f.carried[i]
	at := slices.IndexFunc(list, func(s share) bool { return s.pattern == p })
	if at < 0 {
		f.carried[i] = append(list, share{p, cost})
	} else {
		list[at].cost += cost
	}
}

// rounding is the part of a wait's length below which what it carries is an error of rounding.
const rounding = 1e-9

// gather adds what a wait carries of long intervals.
func (f *finder) gather(i int) {
	w := f.h.Wait(i)
	for p, list := range f.far {
		if list != nil && list[w.Place.Location] != nil {
			if part := list[w.Place.Location].at(w.Place.Number); part > rounding {
				f.bear(i, waitstate.Pattern(p), part*float64(w.Length))
			}
		}
	}
}

func (f *finder) cost(p waitstate.Pattern, path, location uint32) *Cost {
	k := &f.patterns[p]
	if k.sums == nil {
		k.sums = map[key]*Cost{}
	}
	c := k.sums[key{path, location}]
	if c == nil {
		c = &Cost{Location: location}
		k.sums[key{path, location}] = c
	}
	return c
}

// result makes the result.
func (f *finder) result() *Result {
	r := &Result{Patterns: []Pattern{}}
	d := f.h.Log.Defs
	names, regions := d.FullNames(), d.RegionNames(f.opt.Rows)
	for p := range waitstate.Patterns {
		k := &f.patterns[p]
		if k.waiting.Cmp(trace.Ticks{}) == 0 {
			continue
		}
		x := Pattern{Pattern: p.String(), Waiting: k.waiting, Direct: k.direct, Indirect: k.indirect, Costs: []Cost{}}
		keys := make([]key, 0, len(k.sums))
		for at := range k.sums {
			keys = append(keys, at)
		}
		slices.SortFunc(keys, func(a, b key) int { // sums of floats must not depend on the order of the map
			return cmp.Or(cmp.Compare(k.sums[b].ShortTerm+k.sums[b].LongTerm, k.sums[a].ShortTerm+k.sums[a].LongTerm),
				cmp.Compare(a.location, b.location), cmp.Compare(a.path, b.path))
		})
		for _, at := range keys {
			c := *k.sums[at]
			x.ShortTerm += c.ShortTerm
			x.LongTerm += c.LongTerm
			c.LocationName, c.Path, c.Number = "unknown", f.h.Log.PathNames(at.path, regions), at.path
			if d.Locations.Has(c.Location) {
				c.LocationName = names[c.Location]
			}
			x.Costs = append(x.Costs, c)
		}
		r.Patterns = append(r.Patterns, x)
	}
	return r
}
