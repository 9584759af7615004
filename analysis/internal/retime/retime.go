// Package retime computes when the calls of a history would end if some durations were different,
// such as faster computation or communication that takes no time. The new begin of a call is the
// time at which the location has done its work before the call. The new end is not before the
// events on which the call depends, and not before the call's own duration has passed.
//
// With unchanged durations, the result equals the trace, unless messages or operations contradict
// causality.
package retime

import (
	"math"

	"github.com/weft-trace/weft/analysis/internal/history"
	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/analysis/internal/waitstate"
	"github.com/weft-trace/weft/trace"
)

// Options determines which durations change.
type Options struct {
	// Scale returns the factor of the exclusive times of a path, without waits. Nil means 1 for all
	// paths.
	Scale func(path uint32) float64
	// At returns a factor of the times of a path at a location, which applies in addition to Scale.
	// Nil means 1.
	At func(path, location uint32) float64
	// Stretch returns the new time of a path between the end of the call before p and the begin of
	// p, where t is its time in ticks with the factors of Scale and At. Nil changes no times.
	Stretch func(p waitstate.Place, path uint32, t int64) int64
	// Transfer is the factor of the time of communication itself, without waits: 1 leaves it as it
	// is, and 0 stands for a network that takes no time.
	Transfer float64
	// WithoutLocks lets locations acquire locks without waiting for their release by others.
	WithoutLocks bool
}

// unknown stands for a time that has not been computed.
const unknown = math.MinInt64

// retimer computes the new times, in ticks.
type retimer struct {
	h       *history.History
	opt     Options
	scale   []float64                 // by path: result of Options.Scale; nil if all are 1
	enters  [][]int64                 // by location: new begins of its calls
	ends    []int64                   // by location: new end of its last computed call
	counts  []int32                   // by location: number of computed calls
	arrived []int64                   // by operation: new time at which its last member arrives
	locked  map[waitstate.Place]int64 // new ends of calls that can release locks
}

// Makespan returns the number of ticks from the first event of the trace to the new end of the
// location that ends last.
func Makespan(h *history.History, opt Options) int64 {
	r := &retimer{h: h, opt: opt, enters: make([][]int64, len(h.Locations)), ends: make([]int64, len(h.Locations)),
		counts: make([]int32, len(h.Locations)), arrived: make([]int64, len(h.Operations)),
		locked: map[waitstate.Place]int64{}}
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
	for i, l := range h.Locations {
		if l != nil {
			r.ends[i] = l.First - h.Log.First
			r.enters[i] = make([]int64, len(l.Calls))
		}
	}
	for i := range r.arrived {
		r.arrived[i] = unknown
	}
	for _, p := range h.Order {
		r.call(p)
	}
	last := int64(0)
	for i, l := range h.Locations {
		if l != nil {
			last = max(last, r.ends[i])
		}
	}
	return last
}

// scaled returns a time of a path at a location, multiplied by its factors.
func (r *retimer) scaled(path, loc uint32, t int64) int64 {
	if r.scale == nil && r.opt.At == nil {
		return t
	}
	f := 1.0
	if r.scale != nil {
		f = r.scale[min(path, uint32(len(r.scale)-1))]
	}
	if r.opt.At != nil {
		f *= r.opt.At(path, loc)
	}
	if f == 1 {
		return t // a float64 does not hold all times above 2^53
	}
	return int64(math.Round(f * float64(t)))
}

// sum returns the new sum of exclusive times, which lie before the end of call p.
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

// mostWithin is the greatest number of calls inside another one whose times are summed to compute
// the begin of the last of them.
const mostWithin = 16

// enter returns the new begin of a call. If the call has not been computed, all earlier calls of
// its location have been, except those inside of it and, in a trace that contradicts causality,
// others. Their times stay unchanged.
func (r *retimer) enter(p waitstate.Place) int64 {
	l := r.h.Locations[p.Location]
	done := r.counts[p.Location]
	if p.Number < done {
		return r.enters[p.Location][p.Number]
	}
	t := r.ends[p.Location]
	if p.Number-done > mostWithin {
		since := l.First
		if done > 0 {
			since = l.Calls[done-1].Leave
		}
		return t + max(0, l.Calls[p.Number].Enter-since)
	}
	for n := done; n < p.Number; n++ {
		at := waitstate.Place{Location: p.Location, Number: n}
		t += r.sum(l.Before(n), at) + r.sum(l.Inside(n), at)
	}
	return t + r.sum(l.Before(p.Number), p)
}

// call computes the new begin and end of a call.
func (r *retimer) call(p waitstate.Place) {
	l := r.h.Locations[p.Location]
	c := &l.Calls[p.Number]
	begin, base := r.enter(p), c.Enter // begin of the part of the call that is computed here
	if p.Number > 0 {
		base = max(base, l.Calls[p.Number-1].Leave)
	}
	// cause and newCause are the old and the new time of the latest event on which the call
	// depends.
	cause, newCause := int64(math.MinInt64), int64(math.MinInt64)
	after := func(was, is int64) {
		late := max(0, was-c.Leave) // by how much the cause is recorded after the end of the call
		cause, newCause = max(cause, was-late), max(newCause, is-late)
	}
	l.Sources(p.Number, func(s *history.Source) {
		if !s.Released {
			after(s.Time, r.enter(s.Place))
			return
		}
		at := r.h.At(s.Place)
		is := int64(unknown / 2)
		if end, ok := r.locked[s.Place]; r.opt.WithoutLocks {
			// The call does not depend on the release.
		} else if ok {
			is = end - at.Leave
		} else {
			is = r.enter(s.Place) - at.Enter
		}
		after(s.Time, is+s.Time)
	})
	l.OperationsOf(p.Number, func(i int32) { r.operation(i, p, after) })
	took := r.sum(l.Inside(p.Number), p)
	if c.Begins {
		if at, time, ok := r.h.Fork(p.Location, c.Leave); ok { // the thread had no work before
			end := r.enter(at) + c.Leave - time
			if p.Number > 0 {
				end = max(end, r.ends[p.Location])
			}
			r.store(p, begin, end)
			return
		}
	}
	if c.Joins && cause > math.MinInt64 { // it has waited since its own work in the team ended
		r.store(p, begin, max(r.ends[p.Location], newCause)+c.Leave-max(l.Calls[p.Number-1].Leave, cause))
		return
	}
	if cause > base {
		took -= r.scaled(c.Path, p.Location, cause-base)
	}
	if r.opt.Transfer != 1 && c.Role >= trace.SendRole && c.Role <= trace.CommunicationRole {
		own := int64(0) // time of the call without regions inside of it
		for _, x := range l.Inside(p.Number) {
			if x.Path == c.Path {
				own += r.scaled(x.Path, p.Location, x.Time)
			}
		}
		if cause > base {
			own -= r.scaled(c.Path, p.Location, cause-base)
		}
		took += int64(math.Round(float64(own) * (r.opt.Transfer - 1)))
	}
	r.store(p, begin, max(begin, newCause)+max(0, took))
}

// store stores the new begin and end of a call.
func (r *retimer) store(p waitstate.Place, begin, end int64) {
	if r.h.At(p).Role == trace.LockRole {
		r.locked[p] = end
	}
	r.enters[p.Location][p.Number] = begin
	r.ends[p.Location] = end
	r.counts[p.Location] = p.Number + 1
}

// operation calls after with the old and new times of the events on which a call depends as a
// member of operation i.
func (r *retimer) operation(i int32, p waitstate.Place, after func(was, is int64)) {
	o := &r.h.Operations[i]
	if !o.Waits(p.Location) {
		return
	}
	switch o.Relation {
	case waitstate.AllWait, waitstate.RootWaits:
	case waitstate.RootSends:
		for k, m := range o.Members {
			if m.Location == o.Root {
				at := r.arrival(o, k)
				after(r.h.At(at).Enter, r.enter(at))
			}
		}
		return
	case waitstate.RanksWait:
		own, _ := o.Member(p.Location)
		for k := range o.Members {
			if o.Ranks[k] <= o.Ranks[own] {
				at := r.arrival(o, k)
				after(r.h.At(at).Enter, r.enter(at))
			}
		}
		return
	default:
		return
	}
	if r.arrived[i] == unknown {
		for k := range o.Members {
			r.arrived[i] = max(r.arrived[i], r.enter(r.arrival(o, k)))
		}
	}
	after(r.h.At(o.Last).Enter, r.arrived[i])
}

// arrival returns the call with which a member begins its part in an operation.
func (r *retimer) arrival(o *history.Operation, member int) waitstate.Place {
	if o.Arrivals != nil {
		return o.Arrivals[member]
	}
	return o.Members[member]
}
