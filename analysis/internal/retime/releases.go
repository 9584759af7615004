package retime

import (
	"github.com/weft-trace/weft/analysis/internal/history"
	"github.com/weft-trace/weft/analysis/internal/waitstate"
	"github.com/weft-trace/weft/trace"
)

// canRelease reports whether later calls can depend on the end of a call: it can release a lock, or is the work of a
// device.
func canRelease(c *history.Call) bool {
	return c.Role == trace.LockRole || c.Role == trace.RemoteMemoryRole || c.Kind == history.WorkCall
}

// newEnd returns the new end of a call for which canRelease returns true. The caller must not change the list. The
// result is nil if the end has not been computed, or if canRelease returns false.
func (r *retimer) newEnd(p waitstate.Place) []int64 {
	l := r.h.Locations[p.Location]
	if p.Number >= r.counts[p.Location] || !canRelease(l.Call(p.Number)) {
		return nil
	}
	i, first := l.SpanOf(p.Number)
	return r.times.ofCall(r.times.spans[p.Location][i].ends, p.Number-first)
}

// releaseTime returns the new time at which a source releases a lock, or ends as the work of a device. The
// distance from this time to the end of the call is the same as in the trace, or is scaled like communication. If the
// new end of the call is not known, this applies to the distance to its begin.
func (r *retimer) releaseTime(s *history.Source) []int64 {
	c := *r.h.At(s.Place)
	base := c.Enter // the time in the trace of which begin is the new time
	if n := s.Place.Number; n > 0 && n == r.counts[s.Place.Location] {
		base = max(base, r.h.Locations[s.Place.Location].Call(n-1).Leave)
	}
	begin, known, distance := r.enter(s.Place), r.newEnd(s.Place), s.Time-c.Leave
	if known == nil {
		known = r.endAhead(s.Place, s.Time)
	}
	if known == nil {
		known, distance = begin, s.Time-base
	}
	t := r.copyOf(known)
	for k := range t {
		if x := r.variants[k].Transfer; x != 1 && c.Role == trace.RemoteMemoryRole {
			t[k] += r.times.product(distance, x)
		} else {
			t[k] += r.times.parts(distance)
		}
	}
	if s.Time >= base {
		latest(t, begin) // the call can be shorter than the distance to its end
	}
	return t
}

// ahead holds the new end of a call that ends later than a call that waits for its release of a lock.
type ahead struct {
	number int32   // of the call at its location
	end    []int64 // nil while it is being computed
	caused int64   // time in ticks of the last event on which the call depends
}

// endAhead returns the new end of a call that is the next one of its location, and releases a lock at time t in ticks.
// The caller must not change the list. The result is nil if other calls must be computed before, or if an event on
// which the call depends is later than the release.
func (r *retimer) endAhead(p waitstate.Place, t int64) []int64 {
	x, ok := r.ahead[p.Location]
	if !ok || x.number != p.Number {
		l := r.h.Locations[p.Location]
		c := *l.Call(p.Number)
		operations := false
		l.EachOperation(p.Number, func(int32) { operations = true })
		if r.counts[p.Location] != p.Number || !canRelease(&c) || operations {
			return nil
		}
		r.ahead[p.Location] = ahead{number: p.Number} // in case that calls depend on each other in a circle
		begin, base := r.enter(p), c.Enter
		if p.Number > 0 {
			base = max(base, l.Call(p.Number-1).Leave)
		}
		cause := r.causeOf(p, l, &c)
		x = ahead{p.Number, make([]int64, len(r.variants)), cause.time}
		r.addDuration(x.end, begin, p, &cause, max(cause.time, base)-base)
		r.ahead[p.Location] = x
	}
	if x.caused > t {
		return nil
	}
	return x.end
}
