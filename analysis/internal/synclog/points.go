package synclog

import "github.com/weft-trace/weft/trace"

// pointKinds maps kinds of events to kinds of points.
var pointKinds = [...]Kind{trace.Send: Send, trace.SendBegin: SendPost, trace.SendComplete: SendDone,
	trace.RecvBegin: RecvPost, trace.Recv: Recv, trace.RecvComplete: RecvDone, trace.RequestCancelled: Cancelled,
	trace.CollectiveRequest: CollectivePost, trace.CollectiveComplete: CollectiveDone, trace.LockAcquire: Acquire,
	trace.LockRelease: Release, trace.RMALockRequest: WindowRequest, trace.RMALockAcquire: WindowAcquire,
	trace.RMALockRelease: WindowRelease}

// point processes an event that can be a point, or that begins or ends an operation or a team.
func (w *worker) point(l *lane, t int64, k trace.Kind, ops []uint64) error {
	switch k {
	case trace.ThreadFork:
		l.wake(t)
		err := w.add(l, Fork, t, ops)
		l.forks = append(l.forks, openFork{len(l.stack), w.regionOfFork(l), false, false})
		return err
	case trace.ThreadJoin:
		if w.times {
			l.addTime(t)
		}
		if err := w.endFork(l); err != nil {
			return err
		}
		return w.add(l, Join, t, ops)
	case trace.Send, trace.SendBegin, trace.SendComplete, trace.RecvBegin, trace.Recv, trace.RecvComplete,
		trace.RequestCancelled, trace.CollectiveRequest, trace.LockAcquire, trace.LockRelease:
		if w.flows != nil && (k.IsSend() || k.IsRecv()) {
			w.count(l.loc, k, ops)
		}
		if l.requests != nil {
			l.noteRequest(t, k, ops)
		}
		return w.add(l, pointKinds[k], t, ops)
	case trace.CollectiveBegin:
		return w.beginCollective(l, t, ops)
	case trace.CollectiveEnd:
		return w.collective(l, t, ops)
	case trace.Collective:
		return w.wholeCollective(l, t, ops)
	case trace.CollectiveComplete:
		l.sequences[Sequence{operand(ops, 1), true, false}]++
		delete(l.requests, operand(ops, 5))
		return w.add(l, CollectiveDone, t, ops)
	case trace.ThreadCreate:
		if n := len(l.calls) - 1; n >= 0 && l.calls[n].kind.lock == creates {
			return w.add(l, Create, t, []uint64{threadNumber(ops)})
		}
	case trace.ThreadBegin:
		if l.thread == trace.Undefined {
			l.thread = threadNumber(ops)
		}
	case trace.TaskSwitch:
		l.resumed = operand(ops, 2) == 0
	case trace.ThreadEnd:
		return w.threadEnd(l, t, ops)
	case trace.ThreadWait:
		if operand(ops, 0) == trace.Undefined {
			return nil
		}
		return w.add(l, Acquire, t, []uint64{threadNumber(ops), trace.Undefined, NumberModel, Shared})
	case trace.ThreadTeamBegin:
		l.wake(t)
		l.endRest(t)
		c := w.team(l, operand(ops, 0))
		ops = append([]uint64{c}, ops[min(1, len(ops)):]...)
		l.teams = append(l.teams, teamVisit{communicator: c, visit: l.visits[c]})
		l.visits[c]++
		err := w.add(l, TeamBegin, t, ops)
		l.forks = append(l.forks, openFork{len(l.stack), w.regionOfTeam(l), len(l.forks) == 0,
			w.entered != trace.NoRef && w.hasAttribute(w.entered)})
		return err
	case trace.ThreadTeamEnd:
		if n := len(l.teams); n > 0 {
			known := l.inKnownTeam()
			l.teams = l.teams[:n-1]
			if w.times {
				l.addTime(t)
			}
			started := len(l.forks) == 1 && l.forks[0].started
			if w.ends != trace.NoRef && w.hasAttribute(w.ends) {
				l.addPending()
			}
			if err := w.endFork(l); err != nil {
				return err
			}
			l.asleep = started && known && l.root == outermostThread
			if l.asleep || len(l.stack) == 0 && len(l.forks) == 0 {
				l.rest(t)
			}
		}
		return w.add(l, TeamEnd, t, []uint64{w.team(l, operand(ops, 0))})
	}
	return nil
}

// noteRequest adds or removes the request of an event to or from the requests of the location.
func (l *lane) noteRequest(t int64, k trace.Kind, ops []uint64) {
	switch k {
	case trace.CollectiveRequest:
		l.requests[operand(ops, 0)] = t
	case trace.RecvBegin, trace.SendBegin:
		id := operand(ops, 0)
		if k == trace.SendBegin {
			id = operand(ops, 4)
		}
		if id != trace.Undefined {
			l.requests[id] = t
		}
	case trace.SendComplete, trace.RequestCancelled:
		delete(l.requests, operand(ops, 0))
	case trace.RecvComplete:
		delete(l.requests, operand(ops, 4))
	}
}

// unknownTeam is set in the numbers of teams and barriers that the trace does not identify.
const unknownTeam = 1 << 63

// team returns the communicator of a team. If the trace does not record teams, it returns a number that
// identifies the process of the location and differs from all communicators.
func (w *worker) team(l *lane, communicator uint64) uint64 {
	if communicator == trace.Undefined && w.defs.Locations.Has(l.loc) {
		return unknownTeam | uint64(w.defs.Locations.At(l.loc).Group)
	}
	return communicator
}

// operand returns operand i, or trace.Undefined if there is none.
func operand(ops []uint64, i int) uint64 {
	if i < len(ops) {
		return ops[i]
	}
	return trace.Undefined
}

// collectiveOperands returns the operands that all kinds of collective events have.
func collectiveOperands(ops []uint64) (c [5]uint64) {
	for i := range c {
		c[i] = operand(ops, i)
	}
	return c
}

// add adds a point to the innermost open call. Without an open call, the point becomes a call of its own, which takes
// no time.
func (w *worker) add(l *lane, k Kind, t int64, ops []uint64) error {
	inner := (k == Acquire || k == Release) && w.noteOrder(l, k, ops)
	n := len(l.calls)
	if inner {
		if n > 0 {
			l.calls[n-1].locks = true
		}
		return nil
	}
	if n > 0 && l.calls[n-1] == l.operation.call && k != Collective && k != WindowCollective {
		n = 0 // the point has nothing to do with the operation
	}
	if n > 0 && (k == Acquire || k == Release) && IsBarrier(l.calls[n-1].kind.role) {
		n = 0 // the lock is that of a task that the location executes in the barrier
	}
	if n > 0 {
		c := l.calls[n-1]
		if (k == Acquire || k == Release) && c.recordLock(k, t, ops) {
			return nil
		}
		c.flushHeld(trace.Undefined) // points are in the order of time
		c.points++
		c.packed = appendPoint(c.packed, k, uint64(t)-uint64(c.enter), ops)
		return nil
	}
	if w.times {
		l.addTime(t)
	}
	c := delayedCall{node: l.innermost(), enter: t, leave: t, flags: isPoint, points: 1,
		packed: appendPoint(nil, k, 0, ops)}
	return w.pack(l, c, len(l.passed))
}

// appendPoint appends a packed point. Parameter after is the number of ticks since the begin of the
// call.
func appendPoint(b []byte, k Kind, after uint64, ops []uint64) []byte {
	n := min(len(ops), MaxOperands)
	b = append(b, byte(k)|byte(n)<<5)
	b = appendNumber(b, after)
	for _, x := range ops[:n] {
		b = appendNumber(b, x+1) // Undefined becomes 0
	}
	return b
}
