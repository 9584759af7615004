// Package retime computes when the calls of a history would end if some durations were different, for example
// with faster computation, or with communication that takes no time. A call begins when its location has done
// the work before the call. A call ends when its own duration has passed and all events on which it depends
// have happened.
//
// If no duration changes, the result equals the trace, unless messages or operations contradict causality.
package retime

import (
	"context"
	"math"

	"github.com/weft-trace/weft/analysis/internal/history"
	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/analysis/internal/waitstate"
	"github.com/weft-trace/weft/internal/minheap"
	"github.com/weft-trace/weft/trace"
)

// Options states which durations change.
type Options struct {
	// Scale returns the factor for the exclusive times of a path, without waits. If it is nil, all
	// factors are 1.
	Scale func(path uint32) float64
	// At returns another factor, of at most 1, for the times of a path at a location. If it is nil, that factor is 1.
	At func(path, location uint32) float64
	// Start returns a factor for the time between the first event of the trace and that of a location. If it is nil, all
	// factors are 1.
	Start func(location uint32) float64
	// Stretch returns the new time of a path between the end of the call before p and the begin of p. t is the
	// time in ticks, after the factors of Scale and At have been applied. If Stretch is nil, no time changes
	// further.
	Stretch func(p waitstate.Place, path uint32, t int64) int64
	// Transfer is the factor for the time of communication without waits. 1 changes nothing, and 0 stands for
	// a network in which communication takes no time.
	Transfer float64
	// WithoutLocks lets locations acquire locks without waiting for others to release them.
	WithoutLocks bool
}

// unknown is the value of a time that has not been computed.
const unknown = math.MinInt64

// retimer computes the new times with some options. New times are in parts of a tick, see [times].
type retimer struct {
	h       *history.History
	opt     Options
	scale   []float64 // indexed by path: the result of Options.Scale; nil if all are 1
	times   *times    // new times that all retimers share
	number  int       // number of this retimer among all retimers
	ends    []int64   // indexed by location: the new end of the last computed call
	counts  []int32   // indexed by location: number of computed calls
	arrived map[int32]arrival
	tasks   bool // threads visit other regions, such as tasks, in their barriers
}

// arrival is the new time at which the last member of an operation arrives. left is the number of members that
// still need this time.
type arrival struct {
	time int64
	left int
}

// Makespan returns the number of ticks from the first event of the trace to the new end of the location
// that ends last. The error comes from a temporary file, or from the context.
func Makespan(ctx context.Context, h *history.History, opt Options) (int64, error) {
	list, err := Makespans(ctx, h, []Options{opt})
	if err != nil {
		return 0, err
	}
	return list[0], nil
}

// Makespans returns the result of [Makespan] for several options, with a single pass over the history.
// For each call on which a later call depends, it keeps 8 bytes per option.
func Makespans(ctx context.Context, h *history.History, opts []Options) ([]int64, error) {
	t := newTimes(h, len(opts))
	list := make([]*retimer, len(opts))
	for i, opt := range opts {
		list[i] = newRetimer(h, t, i, opt)
	}
	t.fraction = fractionFor(h, list)
	t.unit = float64(int64(1) << t.fraction)
	for _, r := range list {
		r.begin()
	}
	err := h.Forward(ctx, func(p waitstate.Place) {
		t.begin(p)
		for _, r := range list {
			r.call(p)
		}
		t.end(p)
	})
	if err != nil {
		return nil, err
	}
	last := make([]int64, len(opts))
	for i, r := range list {
		for k, l := range h.Locations {
			if l != nil {
				last[i] = max(last[i], r.ends[k])
			}
		}
		last[i] = t.ticks(last[i])
	}
	return last, nil
}

// mostFraction is the greatest number of binary digits that a new time may have after the binary point.
const mostFraction = 20

// fractionFor returns the number of binary digits after the point with which all new times are small enough. No new
// time exceeds the length of the trace multiplied by the greatest factor; two more binary digits are for traces that
// contradict causality.
func fractionFor(h *history.History, list []*retimer) uint {
	factor := 1.0
	for _, r := range list {
		factor = max(factor, r.opt.Transfer)
		for _, f := range r.scale {
			factor = max(factor, f)
		}
	}
	_, digits := math.Frexp(factor * float64(h.Log.Last-h.Log.First))
	return uint(min(max(0, 61-digits-2), mostFraction))
}

// newRetimer returns a retimer that has computed no calls.
func newRetimer(h *history.History, t *times, number int, opt Options) *retimer {
	r := &retimer{h: h, opt: opt, times: t, number: number, ends: make([]int64, len(h.Locations)),
		counts: make([]int32, len(h.Locations)), arrived: map[int32]arrival{}}
	for _, x := range h.Log.Paths {
		r.tasks = r.tasks || x.Parent != synclog.NoPath && isThreadBarrier(h.Log, x.Parent)
	}
	if opt.Scale != nil {
		r.scale = make([]float64, len(h.Log.Paths)+1)
		for p := range r.scale {
			path := uint32(p)
			if p == len(h.Log.Paths) {
				path = synclog.NoPath
			}
			r.scale[p] = opt.Scale(path)
		}
	}
	return r
}

// begin sets the new times at which the locations begin.
func (r *retimer) begin() {
	for i, l := range r.h.Locations {
		if l != nil {
			r.ends[i] = r.times.parts(l.First - r.h.Log.First)
			if r.opt.Start != nil {
				r.ends[i] = r.times.product(l.First-r.h.Log.First, r.opt.Start(uint32(i)))
			}
		}
	}
}

// times holds the new times of the calls on which later calls depend, for some retimers. If each new duration were
// rounded to a tick, a run of many short visits would be too long or too short by up to half a tick for each visit.
// Therefore times and durations are counted in parts of a tick: a tick has 2^fraction of them.
type times struct {
	fraction uint
	unit     float64 // parts of a tick in a tick
	h        *history.History
	retimers int
	spans    [][]spanTimes // indexed by location and span
	position int64         // number of calls that have been computed
	now      int64         // end of the last call in ticks
	ended    int64         // number of computed calls that ended before the last one; their order is that of Span.LastUse
	kept     []keptSpan    // heap of computed spans on which later calls depend
	free     [][]int64     // memory of spans that are no longer needed
}

// spanTimes holds the new times of the calls of a span. For each call, it has the times of all
// retimers.
type spanTimes struct {
	enters []int64
	// indexed by call and retimer; nil unless later calls can depend on the end of a call of the span
	ends []int64
}

// newTimes returns the times of retimers that have computed no calls.
func newTimes(h *history.History, retimers int) *times {
	t := &times{h: h, retimers: retimers, spans: make([][]spanTimes, len(h.Locations))}
	for i, l := range h.Locations {
		if l != nil {
			t.spans[i] = make([]spanTimes, l.Spans())
		}
	}
	return t
}

// parts converts ticks to parts of a tick.
func (t *times) parts(ticks int64) int64 { return ticks << t.fraction }

// ticks converts parts of a tick to the nearest number of ticks.
func (t *times) ticks(parts int64) int64 { return (parts + 1<<t.fraction>>1) >> t.fraction }

// product returns the product of a number of ticks and a factor, in parts of a tick.
func (t *times) product(ticks int64, factor float64) int64 {
	return int64(math.Round(factor * float64(ticks) * t.unit))
}

// begin prepares the times of the next call.
func (t *times) begin(p waitstate.Place) {
	l := t.h.Locations[p.Location]
	if x := l.Call(p.Number).Leave; x != t.now {
		t.now, t.ended = x, t.position
	}
	t.position++
	i, _ := l.SpanOf(p.Number)
	x := &t.spans[p.Location][i]
	if x.enters == nil {
		x.enters = t.allocate(int(l.Span(i).Calls) * t.retimers)
	}
	if x.ends == nil && canRelease(l.Call(p.Number)) {
		x.ends = t.allocate(int(l.Span(i).Calls) * t.retimers)
	}
}

// allocate returns memory for n numbers. The numbers have arbitrary values.
func (t *times) allocate(n int) []int64 {
	if k := len(t.free) - 1; k >= 0 {
		x := t.free[k]
		t.free = t.free[:k]
		if cap(x) >= n {
			return x[:n]
		}
	}
	return make([]int64, n)
}

// end frees the times on which no call after p depends.
func (t *times) end(p waitstate.Place) {
	l := t.h.Locations[p.Location]
	i, first := l.SpanOf(p.Number)
	if s := l.Span(i); p.Number == first+s.Calls-1 {
		minheap.Push(&t.kept, keptSpan{s.LastUse, p.Location, i}, usedEarlier)
	}
	for len(t.kept) > 0 && t.kept[0].lastUse <= t.ended {
		s := minheap.Pop(&t.kept, usedEarlier)
		x := &t.spans[s.location][s.span]
		t.free = append(t.free, x.enters)
		if x.ends != nil {
			t.free = append(t.free, x.ends)
		}
		*x = spanTimes{}
	}
}

// keptSpan is a span whose times are needed until the call at position lastUse.
type keptSpan struct {
	lastUse  int64
	location uint32
	span     int
}

// usedEarlier orders spans by lastUse.
func usedEarlier(a, b *keptSpan) bool { return a.lastUse < b.lastUse }

// scaled returns a time of a path at a location, multiplied by the factors for this path and location. The
// argument is in ticks, the result in parts of a tick.
func (r *retimer) scaled(path, loc uint32, t int64) int64 {
	if r.scale == nil && r.opt.At == nil {
		return r.times.parts(t)
	}
	f := 1.0
	if r.scale != nil {
		f = r.scale[min(path, uint32(len(r.scale)-1))]
	}
	if r.opt.At != nil {
		f *= r.opt.At(path, loc)
	}
	if f == 1 {
		return r.times.parts(t) // a float64 cannot represent all times above 2^53
	}
	return r.times.product(t, f)
}

// sum returns the sum of the new exclusive times for a list of times before the end of call p.
func (r *retimer) sum(list []synclog.PathTime, p waitstate.Place) int64 {
	t := int64(0)
	for _, x := range list {
		if r.opt.Stretch != nil {
			x.Time = r.opt.Stretch(p, x.Path, x.Time)
		}
		t += r.scaled(x.Path, p.Location, x.Time)
	}
	return t
}

// mostWithin is the greatest number of inner calls whose times are added up to compute the begin of the last
// inner call.
const mostWithin = 16

// enter returns the new begin of a call. If the call has not been computed yet, all earlier calls of its
// location have been computed, with two exceptions. Calls inside of the call have not. In a trace that
// contradicts causality, other calls may be missing, too; their times do not change.
func (r *retimer) enter(p waitstate.Place) int64 {
	l := r.h.Locations[p.Location]
	done := r.counts[p.Location]
	if p.Number < done {
		return r.newBegin(p)
	}
	t := r.ends[p.Location]
	if done == 0 && l.Created {
		t = r.enter(l.Creator) + r.times.parts(l.First-r.h.At(l.Creator).Enter)
	}
	if p.Number-done > mostWithin {
		since := l.First
		if done > 0 {
			since = l.Call(done - 1).Leave
		}
		return t + r.times.parts(max(0, l.Call(p.Number).Enter-since))
	}
	c := *l.Call(p.Number)
	for n := done; n < p.Number; n++ {
		at := waitstate.Place{Location: p.Location, Number: n}
		t += r.sum(l.Before(n), at)
		if x := l.Call(n); x.Leave > c.Enter { // call n is inside of call p
			return t - r.scaled(c.Path, p.Location, x.Enter-c.Enter)
		}
		t += r.sum(l.Inside(n), at)
	}
	return t + r.sum(l.Before(p.Number), p)
}

// newBegin returns the new begin of a call that has been computed.
func (r *retimer) newBegin(p waitstate.Place) int64 {
	i, first := r.h.Locations[p.Location].SpanOf(p.Number)
	return r.times.spans[p.Location][i].enters[int(p.Number-first)*r.times.retimers+r.number]
}

// outerEnter returns the new begin of call p if calls inside of p have been computed. The last of these calls
// ends at time before in ticks, and its new end is newBefore.
func (r *retimer) outerEnter(p waitstate.Place, before, newBefore int64) int64 {
	l := r.h.Locations[p.Location]
	c := *l.Call(p.Number)
	n, ok := l.FirstInside(p.Number)
	if !ok {
		return newBefore - r.times.parts(before-c.Enter)
	}
	begun := r.newBegin(waitstate.Place{Location: p.Location, Number: n})
	return begun - r.scaled(c.Path, p.Location, l.Call(n).Enter-c.Enter)
}

// canRelease reports whether later calls can depend on the end of a call: it can release a lock, or is the work of a
// device.
func canRelease(c *history.Call) bool {
	return c.Role == trace.LockRole || c.Role == trace.RemoteMemoryRole || c.Work
}

// newEnd returns the new end of a call for which canRelease returns true. ok is false if the end has not been
// computed, or if canRelease returns false.
func (r *retimer) newEnd(p waitstate.Place) (t int64, ok bool) {
	l := r.h.Locations[p.Location]
	if p.Number >= r.counts[p.Location] || !canRelease(l.Call(p.Number)) {
		return 0, false
	}
	i, first := l.SpanOf(p.Number)
	return r.times.spans[p.Location][i].ends[int(p.Number-first)*r.times.retimers+r.number], true
}

// releaseTime returns the new time at which a source releases a lock, or ends as the work of a device. The
// distance from this time to the begin or end of the call is the same as in the trace, or is scaled like
// communication.
func (r *retimer) releaseTime(s *history.Source) int64 {
	c := r.h.At(s.Place)
	kept := func(t int64) int64 {
		if c.Role == trace.RemoteMemoryRole && r.opt.Transfer != 1 {
			return r.times.product(t, r.opt.Transfer)
		}
		return r.times.parts(t)
	}
	if end, ok := r.newEnd(s.Place); ok {
		return end - kept(c.Leave-s.Time)
	}
	return r.enter(s.Place) + kept(s.Time-c.Enter)
}

// call computes the new begin and end of a call.
func (r *retimer) call(p waitstate.Place) {
	l := r.h.Locations[p.Location]
	c := l.Call(p.Number)
	begin, base := r.enter(p), c.Enter // begin of the part of the call that this function computes
	before := int64(math.MinInt64)     // end of the previous call
	if p.Number > 0 {
		before = l.Call(p.Number - 1).Leave
		base = max(base, before)
	}
	outer := begin // the new begin of the whole call
	if before > c.Enter {
		outer = r.outerEnter(p, before, r.ends[p.Location])
	}
	// cause is the time in ticks of the last event on which the call depends, and newCause the new time of
	// that event.
	cause, newCause := int64(math.MinInt64), int64(math.MinInt64)
	after := func(was, is int64) {
		late := max(0, was-c.Leave) // the time by which the cause is recorded after the end of the call
		cause, newCause = max(cause, was-late), max(newCause, is-r.times.parts(late))
	}
	l.EachSource(p.Number, func(s *history.Source) {
		if !s.Released {
			after(s.Time, r.enter(s.Place))
			return
		}
		if r.opt.WithoutLocks && s.Lock {
			after(s.Time, unknown/2) // the call does not depend on the release
			return
		}
		after(s.Time, r.releaseTime(s))
	})
	l.EachOperation(p.Number, func(i int32) { r.operation(i, p, after) })
	took := r.sum(l.Inside(p.Number), p)
	if c.Begins {
		if at, time, ok := r.h.Fork(p, c.Leave); ok { // the thread had no work before the fork
			end := r.enter(at) + r.times.parts(c.Leave-time)
			if p.Number > 0 {
				end = max(end, r.ends[p.Location])
			}
			r.store(p, c, outer, end)
			return
		}
	}
	if c.Joins && cause > math.MinInt64 { // the location has waited since the end of its own work in the team
		r.store(p, c, outer, max(r.ends[p.Location], newCause)+r.times.parts(c.Leave-max(before, cause)))
		return
	}
	wait := max(cause, base) - base
	if synclog.IsBarrier(c.Role) && c.Path != synclog.NoPath && !r.h.Log.Defs.Communicates(r.h.Log.Paths[c.Path].Region) {
		r.store(p, c, outer, r.afterBarrier(p, begin, newCause, wait, before > c.Enter))
		return
	}
	removeWait := func(from *int64) {
		if wait > 0 {
			l.RemoveWait(p.Number, wait, func(path uint32, t int64) { *from -= r.scaled(path, p.Location, t) })
		}
	}
	removeWait(&took)
	if r.opt.Transfer != 1 && c.Role >= trace.SendRole && c.Role <= trace.CommunicationRole {
		own := int64(0) // time of the call
		for _, x := range l.Inside(p.Number) {
			own += r.scaled(x.Path, p.Location, x.Time)
		}
		removeWait(&own)
		took += int64(math.Round(float64(max(0, own)) * (r.opt.Transfer - 1)))
	}
	r.store(p, c, outer, max(begin, newCause)+max(0, took))
}

// isThreadBarrier reports whether a path ends in a barrier of threads.
func isThreadBarrier(log *synclog.Log, path uint32) bool {
	region := log.Paths[path].Region
	if !log.Defs.Regions.Has(region) {
		return false
	}
	return synclog.IsBarrier(log.Defs.RegionRole(log.Defs.Regions.At(region))) && !log.Defs.Communicates(region)
}

// afterBarrier returns the new end of the computed part of a barrier of threads. begin and last are the new times at
// which this part begins and the last thread comes. In the trace, the last thread comes until ticks after the begin.
// Regions inside of the barrier are tasks: the thread executes some of them before the last thread comes. partly is set
// if the computed part is not the whole barrier; the tasks then count as early as possible.
func (r *retimer) afterBarrier(p waitstate.Place, begin, last, until int64, partly bool) int64 {
	l := r.h.Locations[p.Location]
	path := l.Call(p.Number).Path
	own, tasks, newTasks := int64(0), int64(0), int64(0)
	for _, x := range l.Inside(p.Number) {
		if x.Path == path {
			own += x.Time
			continue
		}
		tasks += x.Time
		if r.opt.Stretch != nil {
			x.Time = r.opt.Stretch(p, x.Path, x.Time)
		}
		newTasks += r.scaled(x.Path, p.Location, x.Time)
	}
	early := until
	if !partly {
		for _, w := range l.Waits(p.Number) {
			early -= w.Length
		}
	}
	early = min(max(0, early, until-own), tasks)
	newEarly := int64(0)
	if tasks > 0 {
		newEarly = int64(math.Round(float64(newTasks) * float64(early) / float64(tasks)))
	}
	took := r.scaled(path, p.Location, max(0, own-max(0, until-early)))
	if r.opt.Transfer != 1 && !r.tasks { // threads with tasks also wait for the creation and the end of tasks
		took = int64(math.Round(float64(took) * r.opt.Transfer))
	}
	return max(begin+newEarly, last) + newTasks - newEarly + took
}

// store stores the new begin and end of call c at place p.
func (r *retimer) store(p waitstate.Place, c *history.Call, begin, end int64) {
	i, first := r.h.Locations[p.Location].SpanOf(p.Number)
	x := &r.times.spans[p.Location][i]
	at := int(p.Number-first)*r.times.retimers + r.number
	x.enters[at] = begin
	if canRelease(c) {
		x.ends[at] = end
	}
	r.ends[p.Location] = end
	r.counts[p.Location] = p.Number + 1
}

// operation calls after for each event on which a call depends as a member of operation i. The arguments are
// the old and the new time of the event.
func (r *retimer) operation(i int32, p waitstate.Place, after func(was, is int64)) {
	o := r.h.Operation(i)
	if o.Relation != waitstate.AllWait && o.Relation != waitstate.RootWaits {
		o.EachCause(p.Location, func(at waitstate.Place) { after(r.h.At(at).Enter, r.enter(at)) })
		return
	}
	if !o.Waits(p.Location) {
		return
	}
	a, ok := r.arrived[i]
	if !ok {
		a = arrival{unknown, len(o.Members)}
		for k := range o.Members {
			a.time = max(a.time, r.enter(arrivalOf(o, k)))
			if o.Free != nil && o.Free[k] {
				a.left--
			}
		}
	}
	if a.left--; a.left > 0 {
		r.arrived[i] = a
	} else {
		delete(r.arrived, i)
	}
	after(o.LastEnter, a.time)
}

// arrivalOf returns the call with which a member begins its part in an operation.
func arrivalOf(o *history.Operation, member int) waitstate.Place {
	if o.Arrivals != nil {
		return o.Arrivals[member]
	}
	return o.Members[member]
}
