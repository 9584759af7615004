package synclog

import "github.com/weft-trace/weft/trace"

// passOwn adds the time since the last enter or leave to the innermost region, if this region is a call.
func (l *lane) passOwn(t int64) {
	if f := l.top(); f != nil && f.call != nil {
		c := f.call
		if c.ownEnd < l.changed && IsBarrier(c.kind.role) {
			c.addBusy(l.changed)
		}
		c.ownEnd = t
	}
	l.changed = t
}

// IsBarrier reports whether a region with the role is a barrier.
func IsBarrier(r trace.Role) bool { return r == trace.BarrierRole || r == trace.ImplicitBarrierRole }

// mostBusy is the greatest number of elements of openCall.busy.
const mostBusy = 1024

// addBusy adds the time in other regions since [openCall.ownEnd], which ends at time t. If there are too many of these
// times, the last one becomes longer.
func (c *openCall) addBusy(t int64) {
	if n := len(c.busy); n == mostBusy {
		c.busy[n-1].End += t - c.ownEnd
		return
	}
	c.busy = append(c.busy, Span{c.ownEnd, t})
}

// top returns the innermost open visit, or nil if none is open. Visits that only show that the implicit task continues
// do not count: EZTrace records them with OMPT, also when a thread has no more tasks to execute in a barrier.
func (l *lane) top() *frame {
	for i := len(l.stack) - 1; i >= 0; i-- {
		if f := &l.stack[i]; !f.resumed {
			return f
		}
	}
	return nil
}
