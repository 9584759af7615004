package synclog

import "github.com/weft-trace/weft/trace"

// passOwn adds the time since the last enter or leave to the innermost region, if this region is a call.
func (l *lane) passOwn(t int64) {
	if n := len(l.stack); n > 0 && l.stack[n-1].call != nil {
		c := l.stack[n-1].call
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
