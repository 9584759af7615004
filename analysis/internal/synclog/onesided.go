package synclog

import "github.com/weft-trace/weft/trace"

// WindowCall is the effect of an MPI call on a window for one-sided communication.
type WindowCall uint8

// The values of WindowCall.
const (
	noWindowCall   WindowCall = iota
	WindowCreate              // all members create a window
	WindowFree                // all members free the window
	WindowFence               // all members end their accesses and begin new ones
	WindowPost                // the memory of the caller becomes accessible to a group
	WindowStart               // accesses to the memory of a group begin
	WindowComplete            // the accesses since WindowStart end
	WindowWait                // the call waits for the end of the accesses to the caller's memory
	WindowTest                // the call tests whether the accesses to the caller's memory have ended
	WindowLock                // the call begins or ends accesses without a call of the other location
)

// windowCalls maps the names of calls, in lower case and without MPI_, to their effects.
var windowCalls = map[string]WindowCall{"win_create": WindowCreate, "win_create_dynamic": WindowCreate,
	"win_allocate": WindowCreate, "win_allocate_shared": WindowCreate, "win_free": WindowFree, "win_fence": WindowFence,
	"win_post": WindowPost, "win_start": WindowStart, "win_complete": WindowComplete, "win_wait": WindowWait,
	"win_test": WindowTest, "win_lock": WindowLock, "win_lock_all": WindowLock, "win_unlock": WindowLock,
	"win_unlock_all": WindowLock}

// windowPoint processes an event of one-sided communication that can be a point.
func (w *worker) windowPoint(l *lane, t int64, k trace.Kind, window uint32, ops []uint64) error {
	id := uint64(window)
	if window == trace.NoRef {
		id = trace.Undefined
	}
	if l.stream && w.isIdle(l) {
		return w.streamTransfer(l, t, k)
	}
	switch k {
	case trace.RMACollectiveBegin:
		l.windowBegins = append(l.windowBegins, t)
		return w.beginOperation(l, t, operation{})
	case trace.RMACollectiveEnd:
		return w.windowCollective(l, t, id, ops)
	case trace.RMAGroupSync:
		l.accesses = true
		return w.add(l, WindowGroup, t, []uint64{id, operand(ops, 1)})
	case trace.RMALockRequest, trace.RMALockAcquire, trace.RMALockRelease:
		l.accesses = true
		return w.add(l, pointKinds[k], t, []uint64{id, operand(ops, 0), operand(ops, 1), operand(ops, 2)})
	case trace.RMAPut, trace.RMAGet, trace.RMAAtomic:
		if window == trace.NoRef { // in OTF, which records no synchronisation of windows
			return nil
		}
		l.accesses = true
		target, number := operand(ops, 0), operand(ops, 2)
		if k == trace.RMAAtomic {
			number = operand(ops, 4)
		}
		l.noteAccess([2]uint64{id, number}, target)
		return w.add(l, WindowAccess, t, []uint64{id, target})
	case trace.RMAWaitChange:
		return w.add(l, WindowChange, t, []uint64{id})
	case trace.RMACompleteBlocking, trace.RMACompleteNonBlocking, trace.RMACompleteRemote:
		return w.completeAccess(l, t, k, [2]uint64{id, operand(ops, 0)})
	}
	return nil
}

// windowCollective ends the latest open collective operation of windows.
func (w *worker) windowCollective(l *lane, t int64, window uint64, ops []uint64) error {
	begin, known := int64(0), len(l.windowBegins) > 0
	if known {
		n := len(l.windowBegins) - 1
		begin, l.windowBegins = l.windowBegins[n], l.windowBegins[:n]
	}
	l.sequences[Sequence{window, false, true}]++
	operands := []uint64{window, operand(ops, 0), operand(ops, 2), operand(ops, 3), operand(ops, 4)}
	if err := w.add(l, WindowCollective, t, operands); err != nil {
		return err
	}
	return w.endOperationSince(l, begin, known, t)
}

// openAccess is an access that has not ended: the remote location, and the begin of the call that accesses.
type openAccess struct {
	target uint64
	enter  int64
}

// mostOpenAccesses is the greatest number of open accesses of a location. If there are more, they are forgotten.
const mostOpenAccesses = 256

// noteAccess stores an access in the innermost open call. The key is the window and the number of the access.
func (l *lane) noteAccess(key [2]uint64, target uint64) {
	n := len(l.calls)
	if n == 0 || key[1] == trace.Undefined {
		return
	}
	if len(l.openAccesses) == mostOpenAccesses || l.openAccesses == nil {
		l.openAccesses = map[[2]uint64]openAccess{}
	}
	l.openAccesses[key] = openAccess{target, l.calls[n-1].enter}
}

// completeAccess adds a point for the end of an access of another call. Calls that end the accesses of a whole epoch
// without a lock need none. An access can end at the location first, and later at the remote location.
func (w *worker) completeAccess(l *lane, t int64, k trace.Kind, key [2]uint64) error {
	a, ok := l.openAccesses[key]
	if k == trace.RMACompleteRemote {
		delete(l.openAccesses, key)
	}
	n := len(l.calls)
	if !ok || n == 0 || l.calls[n-1].enter == a.enter {
		return nil
	}
	if c := l.calls[n-1].kind.window; c != noWindowCall && c != WindowLock {
		return nil
	}
	return w.add(l, WindowDone, t, []uint64{key[0], a.target})
}
