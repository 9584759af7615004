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

// retimer computes the new times of all calls, for several options at the same time. New times are in parts of a tick,
// see [times]. A list of new times has one time for each variant.
type retimer struct {
	h        *history.History
	variants []variant
	times    *times
	// changing is indexed by path, and has another element for [synclog.NoPath]: the variants in which the times of the
	// path can change.
	changing [][]change
	ends     []int64 // indexed by location and variant: the new end of the last computed call
	counts   []int32 // indexed by location: number of computed calls
	arrived  map[int32]*arrival
	unused   []*arrival
	owners   []uint32           // indexed by location: see ownersOf
	worked   map[uint32][]int64 // by location with an owner: the new ends of its work, if it sleeps after that
	tasks    bool               // threads visit other regions, such as tasks, in their barriers
	ahead    map[uint32]ahead   // by location
	network  bool               // some variants have another factor than 1 in Options.Transfer
	// stretched is set if some of these variants have Options.Stretch, too.
	stretched bool
	// unlogged is indexed by path, and set if network is: whether the path is in a call of a communication library. Before
	// and between the calls of the log, the time of such a path is that of calls without events, such as MPI_Test or
	// MPI_Comm_rank, which wait for nothing.
	unlogged []bool
	// stack holds lists of new times. The first used ones are in use.
	stack [][]int64
	used  int
}

// variant is an element of the options of a retimer.
type variant struct {
	Options
	most float64 // the greatest result of Options.Scale
	// at is indexed by path and location: the result of Options.At. It is nil if all are 1, or if there are too many.
	at []float64
}

// change says that times of a path can change in a variant. Most variants change few paths, of which there may be
// millions.
type change struct {
	variant int
	scale   float64 // result of Options.Scale for the path
	alone   bool    // only the results of Options.Scale change times in the variant
}

// mostFactors is the largest number of paths, multiplied by the number of locations, for which variant.at is used.
const mostFactors = 1 << 16

// arrival is the new time, for each variant, at which the last member of an operation arrives. left is the number of
// members that still need this time.
type arrival struct {
	times []int64
	left  int
	tasks taskEnd
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
	r := newRetimer(h, opts)
	err := h.Forward(ctx, func(p waitstate.Place) {
		r.times.begin(p)
		r.call(p)
		r.times.end(p)
	})
	if err != nil {
		return nil, err
	}
	last := make([]int64, len(opts))
	for k, l := range h.Locations {
		if l != nil {
			latest(last, r.lastOf(uint32(k)))
		}
	}
	for i := range last {
		last[i] = r.times.ticks(last[i])
	}
	return last, nil
}

// mostFraction is the greatest number of binary digits that a new time may have after the binary point.
const mostFraction = 20

// fractionFor returns the number of binary digits after the point with which all new times are small enough. No new
// time exceeds the length of the trace multiplied by the greatest factor; two more binary digits are for traces that
// contradict causality.
func fractionFor(h *history.History, variants []variant) uint {
	factor := 1.0
	for i := range variants {
		factor = max(factor, variants[i].Transfer)
		factor = max(factor, variants[i].most)
		for loc := range h.Locations {
			if start := variants[i].Start; start != nil {
				factor = max(factor, start(uint32(loc)))
			}
		}
	}
	_, digits := math.Frexp(factor * float64(h.Log.Last-h.Log.First))
	return uint(min(max(0, 61-digits-2), mostFraction))
}

// newRetimer returns a retimer that has computed no calls.
func newRetimer(h *history.History, opts []Options) *retimer {
	paths := len(h.Log.Paths)
	r := &retimer{h: h, variants: make([]variant, len(opts)), changing: make([][]change, paths+1),
		ends: make([]int64, len(h.Locations)*len(opts)), counts: make([]int32, len(h.Locations)),
		arrived: map[int32]*arrival{}, worked: map[uint32][]int64{}, ahead: map[uint32]ahead{}}
	for _, x := range h.Log.Paths {
		r.tasks = r.tasks || x.Parent != synclog.NoPath && isThreadBarrier(h.Log, x.Parent)
	}
	tables := (paths+1)*len(h.Locations) <= mostFactors
	for i, opt := range opts {
		v := &r.variants[i]
		v.Options = opt
		if opt.At != nil && tables {
			v.at = make([]float64, 0, (paths+1)*len(h.Locations))
		}
		r.network = r.network || opt.Transfer != 1
		r.stretched = r.stretched || opt.Transfer != 1 && opt.Stretch != nil
		for p := range paths + 1 {
			path := uint32(p)
			if p == paths {
				path = synclog.NoPath
			}
			scale := 1.0
			if opt.Scale != nil {
				scale = opt.Scale(path)
				v.most = max(v.most, scale)
			}
			changes := opt.Stretch != nil || opt.At != nil && !tables || scale != 1
			if v.at != nil {
				for loc := range h.Locations {
					f := opt.At(path, uint32(loc))
					v.at = append(v.at, f)
					changes = changes || f != 1
				}
			}
			if changes {
				r.changing[p] = append(r.changing[p], change{i, scale, opt.Stretch == nil && opt.At == nil})
			}
		}
	}
	if r.network {
		r.unlogged = unloggedPaths(h.Log)
	}
	r.owners = ownersOf(h)
	r.times = newTimes(h, len(opts), fractionFor(h, r.variants))
	for i, l := range h.Locations {
		if l == nil {
			continue
		}
		for k, v := range r.variants {
			end := r.times.parts(l.First - h.Log.First)
			if v.Start != nil {
				end = r.times.product(l.First-h.Log.First, v.Start(uint32(i)))
			}
			r.endOf(uint32(i))[k] = end
		}
	}
	return r
}

// unloggedPaths returns for each path whether it is in a call of a communication library. Calls of a region without any
// events do not count if they may have waited for others.
func unloggedPaths(log *synclog.Log) []bool {
	unknown := map[uint32]bool{}
	for _, s := range log.Silent {
		unknown[s.Region] = unknown[s.Region] || !s.Unended
	}
	list, waits := make([]bool, len(log.Paths)), make([]bool, len(log.Paths))
	for i, p := range log.Paths { // a parent has a lower index than its children
		waits[i] = unknown[p.Region] || p.Parent != synclog.NoPath && waits[p.Parent]
		list[i] = !waits[i] && (log.Communicates(uint32(i)) || p.Parent != synclog.NoPath && list[p.Parent])
	}
	return list
}

// endOf returns the new ends of the last computed call of a location. The caller may change them.
func (r *retimer) endOf(location uint32) []int64 {
	n := len(r.variants)
	return r.ends[int(location)*n:][:n:n]
}

// newList returns a list of arbitrary times, for use until r.used gets its former value again.
func (r *retimer) newList() []int64 {
	if r.used == len(r.stack) {
		r.stack = append(r.stack, make([]int64, len(r.variants)))
	}
	r.used++
	return r.stack[r.used-1]
}

// copyOf returns a copy of a list, as newList does.
func (r *retimer) copyOf(list []int64) []int64 {
	x := r.newList()
	copy(x, list)
	return x
}

// filled returns a list of equal times, as newList does.
func (r *retimer) filled(t int64) []int64 {
	x := r.newList()
	for k := range x {
		x[k] = t
	}
	return x
}

// shift adds a number of ticks to all times of a list.
func (r *retimer) shift(list []int64, ticks int64) {
	if t := r.times.parts(ticks); t != 0 {
		for k := range list {
			list[k] += t
		}
	}
}

// latest replaces each time of a list by that of another list, if this one is later.
func latest(list, other []int64) {
	list = list[:len(other)]
	for k, t := range other {
		list[k] = max(list[k], t)
	}
}

// scaledIn returns a time of a path at a location in a variant, multiplied by the factors for this path and location.
// The argument is in ticks, the result in parts of a tick.
func (r *retimer) scaledIn(k int, path, loc uint32, t int64) int64 {
	for _, c := range r.changed(path) {
		if c.variant == k {
			return r.scaled(c, path, loc, t)
		}
	}
	return r.times.parts(t)
}

// scaled is scaledIn for a variant that changes the path.
func (r *retimer) scaled(c change, path, loc uint32, t int64) int64 {
	v, f := &r.variants[c.variant], c.scale
	switch {
	case v.at != nil:
		f *= v.at[int(min(path, uint32(len(r.changing)-1)))*len(r.h.Locations)+int(loc)]
	case v.At != nil:
		f *= v.At(path, loc)
	}
	if f == 1 {
		return r.times.parts(t) // a float64 cannot represent all times above 2^53
	}
	return r.times.product(t, f)
}

// changed returns the variants in which the times of a path can change.
func (r *retimer) changed(path uint32) []change {
	return r.changing[min(path, uint32(len(r.changing)-1))]
}

// add adds a time of a path at a location to a list, multiplied by the factors for this path and location. The time is
// in ticks and can be negative.
func (r *retimer) add(list []int64, path, loc uint32, t int64) {
	r.shift(list, t)
	for _, c := range r.changed(path) {
		list[c.variant] += r.scaled(c, path, loc, t) - r.times.parts(t)
	}
}

// addTimes adds the new exclusive times for some times before the end of call p to a list.
func (r *retimer) addTimes(list []int64, times []synclog.PathTime, p waitstate.Place) {
	unchanged := int64(0)
	for i := range times {
		x := &times[i]
		unchanged += x.Time
		parts := r.times.parts(x.Time)
		for _, c := range r.changed(x.Path) {
			if c.alone {
				list[c.variant] += r.times.product(x.Time, c.scale) - parts
				continue
			}
			t := x.Time
			if f := r.variants[c.variant].Stretch; f != nil {
				t = f(p, x.Path, t)
			}
			list[c.variant] += r.scaled(c, x.Path, p.Location, t) - parts
		}
	}
	r.shift(list, unchanged)
}

// addBefore adds the new exclusive times for some times between the end of the call before p and the begin of p to a
// list.
func (r *retimer) addBefore(list []int64, times []synclog.PathTime, p waitstate.Place) {
	r.addTimes(list, times, p)
	if r.network {
		for i := range times {
			r.scaleUnlogged(list, times[i].Path, p.Location, times[i].Time)
		}
	}
}

// scaleUnlogged multiplies a time of a path that a list includes by Options.Transfer, if the path is in a call of a
// communication library.
func (r *retimer) scaleUnlogged(list []int64, path, loc uint32, t int64) {
	if path >= uint32(len(r.unlogged)) || !r.unlogged[path] {
		return
	}
	for k := range list {
		if f := r.variants[k].Transfer; f != 1 {
			list[k] += int64(math.Round(float64(r.scaledIn(k, path, loc, t)) * (f - 1)))
		}
	}
}

// mostWithin is the greatest number of inner calls whose times are added up to compute the begin of the last
// inner call.
const mostWithin = 16

// enter returns the new begin of a call or, if calls inside of it have been computed, that of the part after them. The
// caller must not change the list. If the call has not been computed yet, all earlier calls of its location have been
// computed, with two exceptions. Calls inside of the call have not. In a trace that contradicts causality, other calls
// may be missing, too; their times do not change.
func (r *retimer) enter(p waitstate.Place) []int64 {
	l := r.h.Locations[p.Location]
	done := r.counts[p.Location]
	if p.Number < done {
		return r.newBegin(p)
	}
	t := r.copyOf(r.endOf(p.Location))
	if done == 0 && l.Created {
		copy(t, r.enter(l.Creator))
		r.shift(t, l.First-r.h.At(l.Creator).Enter)
	}
	if p.Number-done > mostWithin {
		since := l.First
		if done > 0 {
			since = l.Call(done - 1).Leave
		}
		r.shift(t, max(0, l.Call(p.Number).Enter-since))
		return t
	}
	if p.Number > done {
		c := *l.Call(p.Number)
		for n := done; n < p.Number; n++ {
			at := waitstate.Place{Location: p.Location, Number: n}
			r.addBefore(t, l.Before(n), at)
			if l.Call(n).Leave > c.Enter { // call n is inside of call p
				r.moveOut(t, at, &c)
				return t
			}
			r.addTimes(t, l.Inside(n), at)
		}
	}
	r.addBefore(t, l.Before(p.Number), p)
	return t
}

// newBegin returns the new begin of a call that has been computed. The caller must not change the list.
func (r *retimer) newBegin(p waitstate.Place) []int64 {
	i, first := r.h.Locations[p.Location].SpanOf(p.Number)
	return r.times.ofCall(r.times.spans[p.Location][i].enters, p.Number-first)
}

// outerEnter returns the new begin of call p if calls inside of p have been computed. The last of these calls
// ends at time before in ticks, and is the last computed call of the location.
func (r *retimer) outerEnter(p waitstate.Place, before int64) []int64 {
	l := r.h.Locations[p.Location]
	c := *l.Call(p.Number)
	n, ok := l.FirstInside(p.Number)
	if !ok {
		t := r.copyOf(r.endOf(p.Location))
		r.shift(t, c.Enter-before)
		return t
	}
	inner := waitstate.Place{Location: p.Location, Number: n}
	t := r.copyOf(r.newBegin(inner))
	r.moveOut(t, inner, &c)
	return t
}

// moveOut changes a list, which is the new begin of a call, to the new begin of the call around it. No other call is
// between both begins.
func (r *retimer) moveOut(list []int64, inner waitstate.Place, around *history.Call) {
	l := r.h.Locations[inner.Location]
	rest := l.Call(inner.Number).Enter - around.Enter
	var passed []synclog.PathTime // between both begins
	for _, x := range l.Before(inner.Number) {
		p := x.Path
		for p != synclog.NoPath && p != around.Path {
			p = r.h.Log.Paths[p].Parent
		}
		if p == around.Path && rest > 0 {
			x.Time = min(x.Time, rest)
			rest -= x.Time
			passed = append(passed, x)
		}
	}
	used := r.used
	took := r.filled(0)
	r.addBefore(took, passed, inner)
	for k, t := range took {
		list[k] -= t
	}
	r.used = used
	r.shift(list, -rest)
}

// outerBegin returns the new begin of a call, like enter, also if calls inside of it have been computed.
func (r *retimer) outerBegin(p waitstate.Place) []int64 {
	if n := p.Number; n > 0 && n == r.counts[p.Location] {
		l := r.h.Locations[p.Location]
		if before := l.Call(n - 1).Leave; before > l.Call(n).Enter {
			return r.outerEnter(p, before)
		}
	}
	return r.enter(p)
}

// cause is the last event on which a call depends.
type cause struct {
	call    *history.Call
	time    int64   // of the event, in ticks
	newTime []int64 // in each variant
	tasks   taskEnd // the tasks that all threads execute in the barrier, if the call is one
}

// noCause is the time of a cause if the call depends on no event.
const noCause = math.MinInt64

// after makes a call depend on another event, which happens at a time in ticks, and at newTime in each variant.
func (r *retimer) after(x *cause, time int64, newTime []int64) {
	late := max(0, time-x.call.Leave) // the time by which the cause is recorded after the end of the call
	x.time = max(x.time, time-late)
	parts, list := r.times.parts(late), x.newTime[:len(newTime)]
	for k, t := range newTime {
		list[k] = max(list[k], t-parts)
	}
}

// causeOf returns the last event on which a call depends.
func (r *retimer) causeOf(p waitstate.Place, l *history.Location, c *history.Call) cause {
	x := cause{call: c, time: noCause, newTime: r.filled(noCause)}
	used := r.used
	l.EachSource(p.Number, func(s *history.Source) {
		r.used = used
		if s.Partial {
			r.after(&x, s.Time, r.partialTimes(s))
			return
		}
		if !s.Released {
			r.after(&x, s.Time, r.outerBegin(s.Place))
			return
		}
		t := r.releaseTime(s)
		for k := range r.variants {
			if r.variants[k].WithoutLocks && s.Lock {
				t[k] = noCause / 2 // the call does not depend on the release
			}
		}
		r.after(&x, s.Time, t)
	})
	l.EachOperation(p.Number, func(i int32) {
		r.used = used
		r.operation(i, p, &x)
	})
	r.used = used
	return x
}

// partialTimes returns the new begins of the call of a source that passes on data to the root of a reduction. In a
// network in which communication takes no time, the root gets all data directly, so nothing depends on the source.
func (r *retimer) partialTimes(s *history.Source) []int64 {
	t := r.copyOf(r.outerBegin(s.Place))
	for k := range r.variants {
		if r.variants[k].Transfer == 0 {
			t[k] = noCause / 2
		}
	}
	return t
}

// call computes the new begin and end of a call.
func (r *retimer) call(p waitstate.Place) {
	r.used = 0
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
		outer = r.outerEnter(p, before)
	}
	if c.Leave >= l.Last && r.owners[p.Location] != trace.NoRef {
		r.sleep(p, l)
	}
	cause := r.causeOf(p, l, c)
	if c.Begins {
		if at, time, ok := r.h.Fork(p, c.Leave); ok { // the thread had no work before the fork
			end := r.copyOf(r.enter(at))
			r.shift(end, c.Leave-time)
			if p.Number > 0 {
				latest(end, r.endOf(p.Location))
			}
			r.store(p, c, outer, end)
			return
		}
	}
	end := r.newList()
	if c.Joins && cause.time > noCause { // the location has waited since the end of its own work in the team
		copy(end, r.endOf(p.Location))
		latest(end, cause.newTime)
		r.shift(end, c.Leave-max(before, cause.time))
		r.store(p, c, outer, end)
		return
	}
	wait := max(cause.time, base) - base
	if synclog.IsBarrier(c.Role) && c.Path != synclog.NoPath && !r.h.Log.Communicates(c.Path) {
		for k := range end {
			end[k] = r.afterBarrier(k, p, begin[k], &cause, base, wait)
		}
		r.store(p, c, outer, end)
		return
	}
	r.addDuration(end, begin, p, &cause, wait)
	r.store(p, c, outer, end)
}

// addDuration sets end to the new end of the computed part of a call, whose new begin and last cause are given. wait is
// the time in ticks for which this part waits for the cause.
func (r *retimer) addDuration(end, begin []int64, p waitstate.Place, x *cause, wait int64) {
	c := x.call
	took := r.filled(0) // new times of the computed part, without the wait
	r.addTimes(took, r.h.Locations[p.Location].Inside(p.Number), p)
	r.removeWait(took, p, wait)
	if r.network && (c.Role >= trace.SendRole && c.Role <= trace.CommunicationRole ||
		c.Role == trace.WaitingRole && r.h.Log.Communicates(c.Path)) {
		r.scaleTransfer(took, p, wait)
	}
	end, begin, last := end[:len(took)], begin[:len(took)], x.newTime[:len(took)]
	for k, t := range took {
		end[k] = max(begin[k], last[k]) + max(0, t)
	}
}

// removeWait subtracts the new times of a wait in call p from a list. The wait is in ticks.
func (r *retimer) removeWait(list []int64, p waitstate.Place, wait int64) {
	if wait > 0 {
		r.h.Locations[p.Location].RemoveWait(p.Number, wait, func(path uint32, t int64) { r.add(list, path, p.Location, -t) })
	}
}

// scaleTransfer multiplies the time of call p without a wait by Options.Transfer. The list is the new time of the call
// before.
func (r *retimer) scaleTransfer(list []int64, p waitstate.Place, wait int64) {
	own := list // time of the call, without what Options.Stretch adds to it
	if r.stretched {
		own = r.filled(0)
		for _, x := range r.h.Locations[p.Location].Inside(p.Number) {
			r.add(own, x.Path, p.Location, x.Time)
		}
		r.removeWait(own, p, wait)
	}
	for k := range list {
		if f := r.variants[k].Transfer; f != 1 {
			list[k] += int64(math.Round(float64(max(0, own[k])) * (f - 1)))
		}
	}
}

// store stores the new begin and end of call c at place p.
func (r *retimer) store(p waitstate.Place, c *history.Call, begin, end []int64) {
	i, first := r.h.Locations[p.Location].SpanOf(p.Number)
	x := &r.times.spans[p.Location][i]
	copy(r.times.ofCall(x.enters, p.Number-first), begin)
	if canRelease(c) {
		copy(r.times.ofCall(x.ends, p.Number-first), end)
	}
	copy(r.endOf(p.Location), end)
	r.counts[p.Location] = p.Number + 1
}

// operation makes a call depend on the other members of operation i, of which it is a member.
func (r *retimer) operation(i int32, p waitstate.Place, x *cause) {
	o := r.h.Operation(i)
	if o.Relation != waitstate.AllWait && o.Relation != waitstate.RootWaits {
		used := r.used
		o.EachCause(p.Location, func(at waitstate.Place) {
			r.used = used
			r.after(x, r.h.At(at).Enter, r.outerBegin(at))
		})
		return
	}
	if !o.Waits(p.Location) {
		return
	}
	a := r.arrived[i]
	if a == nil {
		a = r.newArrival(o)
		r.arrived[i] = a
	}
	r.after(x, o.LastEnter, a.times)
	x.tasks = a.tasks
	if a.left--; a.left <= 0 {
		delete(r.arrived, i)
		r.unused = append(r.unused, a)
	}
}

// newArrival returns the new time at which the last member of an operation arrives.
func (r *retimer) newArrival(o *history.Operation) *arrival {
	a := &arrival{times: make([]int64, len(r.variants))}
	if n := len(r.unused) - 1; n >= 0 {
		a, r.unused = r.unused[n], r.unused[:n]
	}
	for k := range a.times {
		a.times[k] = noCause
	}
	a.left = len(o.Members)
	used := r.used
	for k := range o.Members {
		r.used = used
		latest(a.times, r.outerBegin(arrivalOf(o, k)))
		if o.Free != nil && o.Free[k] {
			a.left--
		}
	}
	r.findTasks(a, o)
	return a
}

// arrivalOf returns the call with which a member begins its part in an operation.
func arrivalOf(o *history.Operation, member int) waitstate.Place {
	if o.Arrivals != nil {
		return o.Arrivals[member]
	}
	return o.Members[member]
}
