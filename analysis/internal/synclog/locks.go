package synclog

import (
	"slices"
	"strings"

	"github.com/weft-trace/weft/trace"
)

// lockCall is the effect of the visits of a region on a lock. It is used for traces that do not record the
// acquisitions and releases of locks as events. For POSIX threads, a recorder may record only the calls, with
// the address of the lock as an attribute; for OpenMP, only the critical and ordered sections.
type lockCall uint8

const (
	noLockCall lockCall = iota
	acquires            // the call has the lock when it ends
	// like acquires, for a semaphore or a condition, which several locations may have at the same time
	shares
	reads    // like acquires, for a lock that several locations may have at the same time
	releases // the lock is free, or the condition holds, when the call begins
	section  // a critical or ordered section: the lock is free when it ends
	joins    // the call ends when a thread of the process has ended
	creates  // the call creates a thread
)

// lockCalls maps the names of calls that acquire and release locks, in lower case, to their effects.
var lockCalls = map[string]lockCall{
	"pthread_mutex_lock": acquires, "pthread_mutex_timedlock": acquires, "pthread_spin_lock": acquires,
	"pthread_rwlock_wrlock": acquires, "pthread_rwlock_timedwrlock": acquires, "pthread_rwlock_rdlock": reads,
	"pthread_rwlock_timedrdlock": reads, "pthread_cond_wait": shares, "pthread_cond_timedwait": shares,
	"sem_wait": shares, "sem_timedwait": shares,
	"pthread_mutex_unlock": releases, "pthread_spin_unlock": releases, "pthread_rwlock_unlock": releases,
	"pthread_cond_signal": releases, "pthread_cond_broadcast": releases, "sem_post": releases, "pthread_join": joins,
	"pthread_create": creates,
}

// objectAttributes lists the names of attributes that identify the lock or barrier of a call. A call for a condition
// may also have an attribute with the mutex that it releases while it waits. conditionAttributes lists the names of
// attributes that identify the condition.
var (
	objectAttributes    = []string{"mutex", "lock", "spinlock", "rwlock", "sem", "semaphore", "barrier"}
	mutexAttributes     = objectAttributes[:2]
	conditionAttributes = []string{"cond", "condition"}
)

// lockCallOf returns the effect of the visits of a region with a role on a lock.
func lockCallOf(d *trace.Definitions, region uint32, role trace.Role) lockCall {
	if !d.Regions.Has(region) {
		return noLockCall
	}
	r := d.Regions.At(region)
	name := strings.ToLower(r.Name)
	if role == trace.LockRole && slices.ContainsFunc(sections, func(s string) bool {
		return strings.HasPrefix(name, "!$omp "+s) || name == "openmp "+s || strings.EqualFold(r.Role, s)
	}) {
		return section
	}
	return lockCalls[name]
}

// sections lists the constructs of OpenMP that one thread of a team executes at a time.
var sections = []string{"critical", "ordered"}

// ompLockCalls lists the beginnings of the names of calls of OpenMP that wait for a lock, in lower case.
var ompLockCalls = []string{"omp_set_lock", "omp_set_nest_lock", "openmp set ", "openmp acquire mutex"}

// awaitsLock reports whether a call with an effect on a lock waits for other locations that have the lock. Critical
// sections do not count.
func awaitsLock(d *trace.Definitions, region uint32, role trace.Role, effect lockCall) bool {
	if effect >= acquires && effect <= reads {
		return true
	}
	return role == trace.LockRole && slices.ContainsFunc(ompLockCalls, func(prefix string) bool {
		return strings.HasPrefix(strings.ToLower(d.Regions.At(region).Name), prefix)
	})
}

// These values are operands of points of locks. The operands are the lock, the order of acquisition, and the
// threading model. A point that is derived from a call has no order. It has a model of its own, so that its
// lock differs from all locks that events name.
const (
	// objectModel is the model of locks that an attribute identifies. regionModel is the model of critical
	// sections, which their regions identify.
	objectModel = 1 << 32
	regionModel = objectModel + 1
	// ThreadModel is the model of a lock that stands for the ends of all threads of a process. NumberModel is
	// the model of a lock that stands for the end of a single thread. When a thread ends, it releases these
	// locks for the calls that wait for its end.
	ThreadModel = objectModel + 2
	NumberModel = objectModel + 3
)

// These constants are the values of the last operand of a point that acquires a lock.
const (
	Exclusive = iota // no other location has the lock at the same time
	Shared           // several locations may have the lock at the same time
	Reading          // like Shared, and these locations do not wait for each other
	Regained         // the location gets back the mutex of a condition; it has waited for the condition
)

// heldPoint is an acquisition of a lock that ends with the call in which it is recorded.
type heldPoint struct {
	time int64
	ops  [4]uint64
}

// objectOf returns the lock, condition or barrier of a call that begins in the current row of the batch.
func (w *worker) objectOf(role trace.Role) (id uint64, ok bool) {
	if role == trace.ConditionRole {
		return w.object(conditionAttributes)
	}
	return w.object(objectAttributes)
}

// object returns the object that an attribute of the current row of the batch with one of the given names
// identifies.
func (w *worker) object(names []string) (id uint64, ok bool) {
	b, row := w.batch, uint32(w.row)
	for i := w.firstAttribute(); i < len(b.AttrRow) && b.AttrRow[i] == row; i++ {
		k := b.AttrKey[i]
		if !w.defs.Attributes.Has(k) || !slices.Contains(names, w.defs.Attributes.At(k).Name) {
			continue
		}
		if _, whole := b.AttrVal[i].Whole(); whole || b.AttrVal[i].Type == trace.Uint64 {
			return b.AttrVal[i].Num, true
		}
	}
	return 0, false
}

// firstAttribute returns the index of the first attribute of the batch that can belong to the current row.
func (w *worker) firstAttribute() int {
	b, row := w.batch, uint32(w.row)
	for w.attribute < len(b.AttrRow) && b.AttrRow[w.attribute] < row {
		w.attribute++
	}
	return w.attribute
}

// beginLock adds the release of the lock that the current row identifies. The release belongs to the
// outer call, because another location may have the lock before the call that releases it ends.
func (w *worker) beginLock(l *lane, t int64, role trace.Role) error {
	id, ok := w.objectOf(role)
	if !ok {
		return nil
	}
	return w.add(l, Release, t, []uint64{id, trace.Undefined, objectModel})
}

// beginCondition adds the release of the mutex that a call for a condition does not have while it waits.
func (w *worker) beginCondition(l *lane, t int64) (mutex uint64, ok bool, err error) {
	if mutex, ok = w.object(mutexAttributes); !ok {
		return 0, false, nil
	}
	return mutex, true, w.add(l, Release, t, []uint64{mutex, trace.Undefined, objectModel})
}

// recordLock processes the acquisition or release of a lock that an event in a call records. It reports
// whether the acquisition is held back: a call that waits for a lock has it when the call ends, even if the
// recorder writes the event when the call begins. A critical section, which ends later, releases the lock itself.
func (c *openCall) recordLock(k Kind, t int64, ops []uint64) (held bool) {
	c.locks = true
	if c.kind.role != trace.LockRole {
		return false
	}
	if k == Release {
		return false
	}
	h := heldPoint{time: t}
	for i := range h.ops {
		h.ops[i] = operand(ops, i)
	}
	c.held = append(c.held, h)
	return true
}

// flushHeld adds the acquisitions that were held back. Their time is t or, if t is trace.Undefined, the time
// of their events.
func (c *openCall) flushHeld(t uint64) {
	for _, h := range c.held {
		if t != trace.Undefined {
			h.time = int64(t)
		}
		c.points++
		c.packed = appendPoint(c.packed, Acquire, uint64(h.time)-uint64(c.enter), h.ops[:])
	}
	c.held = c.held[:0]
}

// endLock adds the points of locks that a call has at its end, at time t.
func (w *worker) endLock(l *lane, c *openCall, t int64) {
	c.flushHeld(uint64(t))
	if c.locks || c.kind.lock == noLockCall || c.kind.lock == releases || c.kind.lock == creates {
		return
	}
	if c.conditional {
		c.points++
		c.packed = appendPoint(c.packed, Acquire, uint64(t)-uint64(c.enter), []uint64{c.mutex, trace.Undefined, objectModel,
			Regained})
	}
	ops := []uint64{c.object, trace.Undefined, objectModel, Exclusive}
	kinds := []Kind{Acquire}
	switch {
	case c.kind.lock == section:
		outer := func(o *openCall) bool { return o.kind.lock == section }
		if slices.ContainsFunc(l.calls, outer) {
			return // the call is the part of a critical section that has the lock
		}
		ops[0], ops[2], kinds = uint64(w.nodes[c.node].region), regionModel, []Kind{Acquire, Release}
	case c.kind.lock == joins:
		group, ok := w.process(l)
		if !ok {
			return
		}
		ops[0], ops[2], ops[3] = group, ThreadModel, Shared
	case !c.identified:
		return
	case c.kind.lock == shares:
		ops[3] = Shared
	case c.kind.lock == reads:
		ops[3] = Reading
	}
	for _, k := range kinds {
		c.points++
		c.packed = appendPoint(c.packed, k, uint64(t)-uint64(c.enter), ops)
	}
}

// process returns the group of the process to which a location belongs. ok is false if the trace does
// not state it.
func (w *worker) process(l *lane) (group uint64, ok bool) {
	if !w.defs.Locations.Has(l.loc) {
		return 0, false
	}
	g := w.defs.Locations.At(l.loc).Group
	return uint64(g), w.defs.Groups.Has(g) && w.defs.Groups.At(g).Kind == "process"
}

// threadEnd adds the two points of the end of a thread: a point for calls that wait for any thread of the
// process, and a point for calls whose records name the thread.
func (w *worker) threadEnd(l *lane, t int64, ops []uint64) error {
	if err := w.endBarrier(l, t); err != nil {
		return err
	}
	if group, ok := w.process(l); ok {
		if err := w.add(l, Release, t, []uint64{group, trace.Undefined, ThreadModel}); err != nil {
			return err
		}
	}
	if operand(ops, 0) == trace.Undefined {
		return nil
	}
	return w.add(l, Release, t, []uint64{threadNumber(ops), trace.Undefined, NumberModel})
}

// endBarrier ends the innermost open call if it is a barrier: the thread has ended in it.
func (w *worker) endBarrier(l *lane, t int64) error {
	n := len(l.calls)
	if n == 0 || !IsBarrier(l.calls[n-1].kind.role) {
		return nil
	}
	c := l.calls[n-1]
	l.stays = true
	for i := range l.stack {
		if l.stack[i].call == c {
			l.stack[i].call = nil
		}
	}
	if w.times {
		l.addTime(t)
	}
	l.passOwn(t)
	return w.end(l, c, t)
}

// threadNumber returns a number for the thread that the operands of an event identify by a communicator and a
// rank.
func threadNumber(ops []uint64) uint64 { return operand(ops, 0)<<32 ^ operand(ops, 1) }

// heldLock is a lock that a location has.
type heldLock struct {
	order uint64 // of its acquisition
	depth int    // number of acquisitions that have not been released yet
}

// noteOrder compares the order of a lock's release with the order of its acquisition. In a valid trace, both
// are equal, and a location that has a lock acquires it again only with the same order (a nested lock). If they
// differ, the orders do not determine which location has waited for which other one. inner is set if the location
// has the lock before and after the event, so that no other location waits for it.
func (w *worker) noteOrder(l *lane, k Kind, ops []uint64) (inner bool) {
	order := operand(ops, 1)
	if order == trace.Undefined || order == 0 {
		return false
	}
	key := [2]uint64{operand(ops, 0), operand(ops, 2)}
	h, held := l.held[key]
	switch {
	case k == Acquire && held && h.order == order:
		h.depth++
		l.held[key] = h
		return true
	case k == Acquire:
		if l.held == nil {
			l.held = map[[2]uint64]heldLock{}
		}
		l.held[key] = heldLock{order, 1}
		w.unordered = w.unordered || held
		return false
	case held && h.order == order && h.depth > 1:
		h.depth--
		l.held[key] = h
		return true
	case held:
		delete(l.held, key)
		w.unordered = w.unordered || h.order != order
	}
	return false
}

// inKnownTeam reports whether the location works in a team that the trace identifies.
func (l *lane) inKnownTeam() bool {
	n := len(l.teams)
	return n > 0 && l.teams[n-1].communicator&unknownTeam == 0
}

// identified is set in the number of a barrier that an attribute of its calls identifies.
const identified = 1 << 62

// Identified reports whether an attribute of the calls of a barrier identifies the barrier, such as the
// address of a barrier of POSIX threads. t must be the Team of a call for which [Call.Unteamed] is set.
func (t *Team) Identified() bool { return t.Communicator&identified != 0 }

// threadBarrier returns a number that identifies a barrier whose team the trace does not record. This is a
// barrier that an attribute identifies. Otherwise the number stands for all OpenMP barriers of a process. ok
// is false for other calls.
func (w *worker) threadBarrier(l *lane, c *openCall) (id uint64, ok bool) {
	region := w.nodes[c.node].region
	if !c.identified && (!w.defs.Regions.Has(region) ||
		w.defs.RegionParadigm(w.defs.Regions.At(region)) != trace.OpenMP) {
		return 0, false
	}
	group, ok := w.process(l)
	if !ok {
		return 0, false
	}
	if !c.identified {
		return unknownTeam | group, true
	}
	// Two processes may use the same address. Therefore the number also depends on the process.
	return unknownTeam | identified | (c.object^group<<40)&(identified-1), true
}
