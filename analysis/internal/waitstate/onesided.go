package waitstate

import (
	"slices"

	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/trace"
)

// The operations of instances that create or free a window, or fence it. They differ from the numbers of
// all collective operations.
const (
	createOperation = trace.Undefined - 1 - iota
	freeOperation
	fenceOperation
)

// windowPatterns has the patterns of these operations.
var windowPatterns = map[uint64]Pattern{createOperation: WindowCreate, freeOperation: WindowFree,
	fenceOperation: WindowFence}

// windowOperation returns the operation on a window in which call c takes part. number is the number of the
// collective operation that the events in the call record.
func windowOperation(c *synclog.Call, number uint64) uint64 {
	name, _ := trace.OperationName(number)
	switch name {
	case "create-handle", "allocate", "create-handle-and-allocate":
		return createOperation
	case "destroy-handle", "deallocate", "destroy-handle-and-deallocate":
		return freeOperation
	case "barrier", "":
		switch {
		case c.Window == synclog.WindowCreate:
			return createOperation
		case c.Window == synclog.WindowFree:
			return freeOperation
		case c.Window == synclog.WindowFence, name == "barrier" && c.Role != trace.BarrierRole:
			return fenceOperation
		}
	}
	return number
}

// access is a call that reads or writes the memory of another location. Times are in ticks.
type access struct {
	place        Place
	path         uint32
	enter, leave int64
}

func accessOf(c *synclog.Call, at Place) access { return access{at, c.Path, c.Enter, c.Leave} }

// contains reports whether time t is after the begin of the call, and not after its end.
func (a *access) contains(t int64) bool { return a.enter < t && t <= a.leave }

// windows has the incomplete synchronisations of one-sided communication.
type windows struct {
	communicators map[uint64]uint64 // indexed by window
	sets          map[uint64][]uint32
	groups        groups
	locks         windowLocks
	progress      progress
}

func newWindows(d *trace.Definitions) windows {
	return windows{communicators: map[uint64]uint64{}, sets: map[uint64][]uint32{}, groups: newGroups(),
		locks:    windowLocks{locks: map[windowLockKey]*windowLock{}, open: map[windowLocation][]*lockEpoch{}},
		progress: newProgress(d)}
}

// windowCommunicator returns the communicator of a window, or trace.Undefined if it is unknown.
func (e *engine) windowCommunicator(window uint64) uint64 {
	c, ok := e.windows.communicators[window]
	if !ok {
		c = trace.Undefined
		if window < uint64(e.defs.Windows.Len()) {
			if x := e.defs.WindowCommunicator(uint32(window)); x != trace.NoRef {
				c = uint64(x)
			}
		}
		e.windows.communicators[window] = c
	}
	return c
}

// group returns the locations of a set of ranks in ascending order. The result is empty if the trace does not
// define one of them.
func (e *engine) group(set uint64) []uint32 {
	list, ok := e.windows.sets[set]
	if !ok {
		if set < uint64(e.defs.Sets.Len()) {
			list = e.members.SetMembers(uint32(set))
		}
		slices.Sort(list)
		list = slices.Compact(list)
		if slices.Contains(list, trace.NoRef) {
			list = nil
		}
		e.windows.sets[set] = list
	}
	return list
}

// processWindow processes a point of one-sided communication that is not collective.
func (e *engine) processWindow(c *synclog.Call, at Place, p *synclog.Point) {
	switch p.Kind {
	case synclog.WindowGroup:
		e.processWindowGroup(c, at, p.Ops[0], p.Ops[1])
	case synclog.WindowAccess:
		a := accessOf(c, at)
		target := uint32(min(p.Ops[1], uint64(trace.NoRef)))
		e.addIncoming(p.Ops[0], target, &a)
		e.groupAccess(p.Ops[0], target, &a)
		e.lockAccess(p.Ops[0], target, &a)
	case synclog.WindowDone:
		a := accessOf(c, at)
		e.lockAccess(p.Ops[0], uint32(min(p.Ops[1], uint64(trace.NoRef))), &a)
	default:
		e.processWindowLock(c, at, p)
	}
}

// addIncoming stores an access to the memory of a location for the next operation of the window.
func (e *engine) addIncoming(window uint64, target uint32, a *access) {
	s := e.collectives[synclog.Sequence{Communicator: window, Windows: true}]
	if s == nil || s.unknown || s.disagreed || target == a.place.Location {
		return
	}
	n := s.next[a.place.Location]
	if n < s.done {
		return
	}
	for int64(len(s.list)) <= n-s.done {
		s.list = append(s.list, instance{})
	}
	x := &s.list[n-s.done]
	if x.incoming == nil {
		x.incoming = map[uint32]access{}
	}
	if old, ok := x.incoming[target]; !ok || a.leave > old.leave {
		x.incoming[target] = *a
	}
}

// judgeWindow reports the waits in an operation that creates, frees or fences a window. The members need
// not wait for each other in all cases, so that none of them can be too early.
func (e *engine) judgeWindow(o *Operation, p Pattern, incoming map[uint32]access) {
	last := LastToArrive(o.Members)
	for i := range o.Members {
		m := &o.Members[i]
		w := o.waitFor(p, m, last)
		e.reportWait(w)
		if a, ok := incoming[m.Place.Location]; ok && p == WindowFence {
			w.Pattern, w.Length, w.Cause, w.CauseTime = EarlyFence, min(w.Length, a.leave-m.Enter), a.place, a.enter
			e.reportWait(w)
		}
	}
}

// reportDependence reports that a call has ended only after another one had begun.
func (e *engine) reportDependence(p Place, cause *access) {
	if e.hooks.Dependence != nil {
		e.hooks.Dependence(&Dependence{p, cause.place, cause.enter})
	}
}

// countUnfinishedWindows counts the calls of incomplete synchronisations as unjudged.
func (e *engine) countUnfinishedWindows() {
	e.countUnfinishedGroups()
	e.finishLocks()
}
