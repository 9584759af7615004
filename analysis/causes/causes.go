// Package causes finds the root causes of wait states: the call paths and locations whose work made
// other locations wait. An optimisation must change these, and not the calls in which the other
// locations waited.
//
// For each wait, the package compares the work of two locations since they last synchronised: the
// waiting location, and the late location that it waited for. A call path in which the late
// location spent more time than the waiting one gets a short-term cost in proportion to the excess.
// A wait of the late location gets a share of the cost too, and passes it on to its own cause, as a
// long-term cost. The costs of a pattern add up to its waiting time. docs/analyses/waits.md has the
// formulas.
//
// Two locations synchronise in a message or operation in which one of them can wait for the other;
// the last one is the one that both leave latest. The comparison begins when both have begun the
// calls of that synchronisation and one of them has ended. It leaves out the waits of both
// locations. The part of a wait that no excess explains is a cost of the call of that
// synchronisation, or of the work of the late location before it.
//
// [Find] keeps the calls and waits of the trace in 12 MiB of memory and, above that, in temporary
// files of about 30 bytes per call. It also uses 3 bytes per call for sums, and about 100 bytes per
// wait whose interval is not complete.
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
	// Window limits the result to waits in it. If it cuts a wait, the costs are reduced in proportion.
	// Find reads the trace to the end of the window, and on until it knows these waits. Nil means the
	// whole trace.
	Window *trace.Window
	// Locations returns whether the waits of a location count. If it is nil, the waits of all locations
	// count.
	Locations func(location uint32) bool
	// Rows maps regions to rows; all regions of a row count as one. If it is nil, each region counts
	// separately.
	Rows *trace.Rows
	// Ends sets Result.Ends. The root of a reduction then waits for the last member, which ends the operation, and other
	// members wait for those that have come before they leave: Result.Patterns has the pattern wait-at-reduction, once
	// for each kind of wait, in place of early-reduce. The part of a wait that no excess
	// explains is then also a cost of the waits of the late location.
	Ends bool
}

// Result is the result of the analysis. Times are in ticks. Costs are in ticks, too, and may have
// fractions.
type Result struct {
	// Patterns holds the patterns with waits, in the order of package waits.
	Patterns []Pattern `json:"patterns"`
	// IdleThreads holds the times in which the threads of processes are idle because the first thread works
	// alone, in descending order. It is empty in a window.
	IdleThreads []IdleTime `json:"idleThreads,omitempty"`
	// LimitedParallelism holds the times in which threads of processes are idle because the first thread works in a team
	// that does not have them, in descending order. It is empty in a window.
	LimitedParallelism []IdleTime `json:"limitedParallelism,omitempty"`
	// Ends holds the causes of the times from the ends of processes to the end of the process that ends last, as if
	// they waited for it. Nil if there are no such times.
	Ends *Pattern `json:"-"`
}

// Pattern holds the causes of the waits of one wait pattern.
type Pattern struct {
	Pattern string      `json:"pattern"`
	Waiting trace.Ticks `json:"waiting"`
	// Direct is the part of Waiting that the work of the late locations has caused. Indirect is the
	// part that their own waits have caused.
	Direct   float64 `json:"direct"`
	Indirect float64 `json:"indirect"`
	// ShortTerm and LongTerm are the sums of the fields of Costs. Together they equal Waiting.
	ShortTerm float64 `json:"shortTerm"`
	LongTerm  float64 `json:"longTerm"`
	// Costs is in descending order of the sum of ShortTerm and LongTerm.
	Costs []Cost `json:"costs"`
}

// Cost is the waiting time that a call path at a location causes.
type Cost struct {
	Path         []string `json:"path"`     // outermost region first; empty for time outside of all regions
	Location     uint32   `json:"location"` // index into Definitions.Locations
	LocationName string   `json:"locationName"`
	ShortTerm    float64  `json:"shortTerm"` // cost for locations that waited for this location
	// LongTerm is the cost for locations that waited for another one, which waited because of this
	// location.
	LongTerm float64 `json:"longTerm"`
	// Number is the index of the path in Log.Paths of the history.
	Number uint32 `json:"-"`
}

// costs holds the sums of a pattern, in ticks.
type costs struct {
	waiting          trace.Ticks
	direct, indirect float64
	sums             synclog.PathTable[Cost]
}

// finder distributes the costs of waits, from the last wait to the first.
type finder struct {
	h        *history.History
	opt      Options
	patterns [waitstate.EarlyEnd + 1]costs
	carried  carried
	// waiting and late are the intervals of the two locations in the current wait.
	waiting interval
	late    interval
	passed  interval // scratch for interval.excludeVisited; empty between calls
	// earlier and meanwhile are the intervals of the late and of the waiting location in finder.explainRest. They are
	// empty between calls.
	earlier   interval
	meanwhile interval
}

// Find finds the causes of the waits of a trace. The error is analysis.ErrTimeRange, or comes from the
// scan, the temporary file or the context.
func Find(ctx context.Context, events format.Events, opt Options) (*Result, error) {
	h, err := history.Build(ctx, events, history.Options{Rows: opt.Rows, Window: opt.Window})
	if err != nil {
		return nil, err
	}
	defer h.Close()
	return FromHistory(ctx, h, opt)
}

// FromHistory finds the causes of the waits of a history. The error comes from a temporary file, or
// from the context.
func FromHistory(ctx context.Context, h *history.History, opt Options) (*Result, error) {
	f := &finder{h: h, opt: opt, carried: newCarried(h)}
	for _, iv := range []*interval{&f.waiting, &f.late, &f.passed, &f.earlier, &f.meanwhile} {
		iv.init(h, opt.Ends)
	}
	f.passed.blocks, f.earlier.blocks, f.meanwhile.blocks = f.late.blocks, f.late.blocks, f.waiting.blocks
	if opt.Ends {
		f.followEnds()
	}
	err := h.Backward(ctx, func(p waitstate.Place) {
		shares := f.carried.visit(p)
		list := h.Locations[p.Location].Waits(p.Number)
		for i := len(list) - 1; i >= 0; i-- {
			f.follow(&list[i], shares)
		}
	})
	if err != nil {
		return nil, err
	}
	r := f.result()
	if opt.Window == nil {
		if r.IdleThreads, r.LimitedParallelism, err = f.idleTimes(ctx); err != nil {
			return nil, err
		}
	}
	return r, h.Err()
}

// followEnds distributes the times from the ends of processes to the end of the run. A process is a first thread.
func (f *finder) followEnds() {
	d := f.h.Log.Defs
	later := d.LaterThreads()
	ends := []waitstate.Place{} // the last element of the history of each process, which follows its last call
	last := 0
	for i, l := range f.h.Locations {
		loc := uint32(i)
		if l == nil || l.Count() == 0 || !d.Locations.Has(loc) || later[loc] ||
			!d.Locations.At(loc).Kind.IsProcessor() || d.Locations.At(loc).Kind == trace.StreamLocation {
			continue
		}
		ends = append(ends, waitstate.Place{Location: loc, Number: l.Count() - 1})
		if f.h.Locations[ends[last].Location].Last < l.Last {
			last = len(ends) - 1
		}
	}
	for _, p := range ends {
		cause := ends[last]
		begin, end := f.h.Locations[p.Location].Last, f.h.Locations[cause.Location].Last
		if begin < end {
			f.follow(&history.Wait{Interval: waitstate.Interval{Begin: begin, Length: end - begin},
				CauseTime: end, Place: p, Cause: cause,
				Path: synclog.NoPath, Pattern: waitstate.EarlyEnd}, nil)
		}
	}
}

// counts reports whether the waits of a pattern count. The history has the wait of the root of a reduction twice: up to
// the arrival of the first of the other members, and up to that of the last one. The latter, and the waits of the other
// members, count only if ends is set, see [Options].
func counts(p waitstate.Pattern, ends bool) bool {
	if ends {
		return p != waitstate.EarlyReduce
	}
	return !p.Explains()
}

// follow distributes the cost of a wait, and the shares of the costs of later waits that it carries, among call
// paths and earlier waits.
func (f *finder) follow(w *history.Wait, shares []share) {
	if !counts(w.Pattern, f.opt.Ends) {
		return
	}
	counted := int64(0) // the part of the wait that counts
	if f.opt.Locations == nil || f.opt.Locations(w.Place.Location) {
		counted = w.Within(f.opt.Window)
	}
	if counted <= 0 && len(shares) == 0 {
		return
	}
	before := w.Place
	if w.Pattern == waitstate.Device {
		before.Number++ // the call may have started the transfer itself
	}
	o := f.h.Opening(before, w.Cause)
	if o.A != w.Place.Number {
		f.waiting.sum(w.Place, o.A, &o)
	}
	f.late.sum(w.Cause, o.B, &o)
	if w.Pattern.Released() {
		f.late.addInside(w.Cause, w.CauseTime)
	}
	own := float64(f.late.waited)
	total := f.late.excess(&f.waiting) + own
	// Backward has already visited later waits, so they cannot carry costs any more.
	passed := 0.0
	if w.Pattern != waitstate.EarlyEnd { // no call has been visited
		passed = float64(f.late.excludeVisited(w.Place, &f.passed))
	}
	if counted > 0 {
		k := &f.patterns[w.Pattern]
		k.waiting.Add(counted)
		length := float64(w.Length)
		share := float64(counted) / length
		part := 0.0
		if total > 0 {
			part = min(length/total, 1)
		}
		rest := (length - part*total) * share
		length, part = length*share, part*share
		rest += part * passed
		k.direct += length - part*own
		k.indirect += part * own
		addShort := func(path uint32, cost float64) { f.cost(w.Pattern, path, w.Cause.Location).ShortTerm += cost }
		f.late.distribute(&f.waiting, part, 1, addShort)
		f.passOn(&f.late, w.Pattern, part)
		// some time is left if the two locations left their last synchronisation at different times, or
		// if passed is set
		if rest > 0 {
			f.explainRest(w, o, rest, w.Pattern, addShort)
		}
	}
	for _, s := range shares {
		cost := s.perTick * float64(w.Length)
		addLong := func(path uint32, cost float64) { f.cost(s.pattern, path, w.Cause.Location).LongTerm += cost }
		if total <= 0 {
			f.explainRest(w, o, cost, s.pattern, addLong)
			continue
		}
		part := cost / total
		f.late.distribute(&f.waiting, cost, total, addLong)
		f.passOn(&f.late, s.pattern, part)
		if passed > 0 {
			f.explainRest(w, o, part*passed, s.pattern, addLong)
		}
	}
	f.waiting.clear()
	f.late.clear()
}

// passOn adds a share of the cost of pattern p to each wait of the late location, whose interval is x: part times the
// length of the wait.
func (f *finder) passOn(x *interval, p waitstate.Pattern, part float64) {
	if x.lock >= 0 {
		f.carried.add(x.location, x.lock, x.lock+1, share{p, part})
	}
	f.carried.add(x.location, x.from, x.to, share{p, part})
	if x.openWaited > 0 {
		all := sumWaits(f.h.Locations[x.location], x.opened, x.ends)
		f.carried.add(x.location, x.opened, x.opened+1, share{p, part * float64(x.openWaited) / float64(all)})
	}
}

// cost returns the cost of a path at a location.
func (f *finder) cost(p waitstate.Pattern, path, location uint32) *Cost {
	return f.patterns[p].sums.At(path, location)
}

// result returns the costs of all patterns.
func (f *finder) result() *Result {
	r := &Result{Patterns: []Pattern{}}
	d := f.h.Log.Defs
	names, regions := d.FullNames(), d.RegionNames(f.opt.Rows)
	for p := range waitstate.Pattern(len(f.patterns)) {
		k := &f.patterns[p]
		if k.waiting.Cmp(trace.Ticks{}) == 0 {
			continue
		}
		x := Pattern{Pattern: p.String(), Waiting: k.waiting, Direct: k.direct, Indirect: k.indirect, Costs: []Cost{}}
		for at, c := range k.sums.Values() {
			c.Location, c.Number = at.Location, at.Path
			x.Costs = append(x.Costs, c)
		}
		// maps have a random order, which must not affect the sums of floating-point numbers
		slices.SortFunc(x.Costs, func(a, b Cost) int {
			return cmp.Or(cmp.Compare(b.ShortTerm+b.LongTerm, a.ShortTerm+a.LongTerm), cmp.Compare(a.Location, b.Location),
				cmp.Compare(a.Number, b.Number))
		})
		for i := range x.Costs {
			c := &x.Costs[i]
			x.ShortTerm += c.ShortTerm
			x.LongTerm += c.LongTerm
			c.LocationName, c.Path = "unknown", f.h.Log.PathNames(c.Number, regions)
			if d.Locations.Has(c.Location) {
				c.LocationName = names[c.Location]
			}
		}
		if p == waitstate.EarlyEnd {
			r.Ends = &x
			continue
		}
		r.Patterns = append(r.Patterns, x)
	}
	return r
}
