package synclog

import (
	"strings"

	"github.com/weft-trace/weft/trace"
)

// launches reports whether a trace has streams of devices, and regions that launch work on these streams.
func launches(d *trace.Definitions) bool {
	stream := false
	for i := range d.Locations.Len() {
		stream = stream || d.IsStream(uint32(i))
	}
	for i := range d.Regions.Len() {
		if stream && d.RoleOf(uint32(i)) == trace.LaunchRole {
			return true
		}
	}
	return false
}

// awaitsTransfer reports whether a call that transfers data returns only after the transfer. Copies between devices,
// and those within a device, return earlier.
func awaitsTransfer(name string) bool {
	name = strings.ToLower(name)
	for _, part := range []string{"async", "peer", "dtod"} {
		if strings.Contains(name, part) {
			return false
		}
	}
	for _, start := range []string{"cudamemcpy", "cumemcpy", "hipmemcpy"} {
		if strings.HasPrefix(name, start) {
			return true
		}
	}
	return false
}

// isCall reports whether the visit of a region that a location enters now is a call of the log.
func (w *worker) isCall(l *lane, k *regionKind) bool {
	switch {
	case l.stream && (len(l.stack) == 0 || k.role == trace.WaitingRole):
		return k.role != trace.WaitingRole
	case k.role == trace.DeviceSyncRole || k.enqueues:
		// A call of the driver inside a call of the runtime with the same role is a part of the outer
		// call.
		n := len(l.calls)
		return (!k.enqueues || (w.launches || k.awaits) && !l.stream) && (n == 0 || l.calls[n-1].kind.role != k.role)
	}
	return k.call || k.kept
}

// endIdle adds the call that stands for the idle time of a stream. This time ends at time t with work of a
// role. The innermost path of the call is the path of the region that the recorder uses for the idle time, if
// there is one.
func (w *worker) endIdle(l *lane, t int64, role trace.Role) error {
	c := delayedCall{node: l.idle, enter: l.idleSince, leave: t, flags: device | idle, points: 1,
		packed: appendPoint(nil, Work, 0, []uint64{uint64(role)})}
	if !l.worked {
		c.node, c.enter, c.flags = -1, l.first, c.flags|fromBegin
		// an element for the time since the begin of the trace, which is known only after the whole trace has
		// been read
		l.passed = append(l.passed, nodeTime{-1, 0})
	}
	l.worked, l.idle = true, -1
	return w.pack(l, c, 0)
}

// beginIdle sets the begin of the first idle time of a stream to the begin of the trace.
func (l *lane) beginIdle(log *Log) {
	l.waited, l.first = l.first-log.First, log.First
	if log.times {
		l.sums[0] += l.waited
	}
}

// streamNamed returns the stream that an attribute of the current row of the batch names.
func (w *worker) streamNamed() (stream uint64, ok bool) {
	b, row := w.batch, uint32(w.row)
	for i := w.firstAttribute(); i < len(b.AttrRow) && b.AttrRow[i] == row; i++ {
		if stream, ok := w.defs.StreamOf(b.AttrVal[i]); ok {
			return uint64(stream), true
		}
	}
	return 0, false
}

// isIdle reports whether a stream is outside of all regions, or in the region that the recorder uses for the idle time.
func (w *worker) isIdle(l *lane) bool {
	n := len(l.stack)
	return n == 0 || n == 1 && w.kind(w.nodes[l.stack[0].node].region).role == trace.WaitingRole
}

// streamTransfer processes an event of one-sided communication of a stream that rests. Score-P records the transfers of
// a stream in this way. A transfer is work of the stream, from its access to its completion or to the
// begin of other work.
func (w *worker) streamTransfer(l *lane, t int64, k trace.Kind) error {
	switch k {
	case trace.RMAPut, trace.RMAGet, trace.RMAPutRemoteEnd:
		if w.times {
			l.addTime(t)
		}
		if err := w.endTransfer(l, t); err != nil {
			return err
		}
		if w.launches {
			if err := w.endIdle(l, t, trace.TransferRole); err != nil {
				return err
			}
		}
		l.transfer = w.begin(l, -1, t, regionKind{})
	case trace.RMACompleteBlocking, trace.RMACompleteNonBlocking, trace.RMACompleteRemote, trace.RMAEnd:
		if w.times {
			l.addTime(t)
		}
		return w.endTransfer(l, t)
	}
	return nil
}

// endTransfer ends the open transfer of a stream, if there is one.
func (w *worker) endTransfer(l *lane, t int64) error {
	c := l.transfer
	if c == nil {
		return nil
	}
	l.transfer = nil
	return w.end(l, c, t)
}
