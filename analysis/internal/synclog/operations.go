package synclog

import "github.com/weft-trace/weft/trace"

// openCollective is a collective operation that has begun and not ended.
type openCollective struct {
	time int64
	ops  [5]uint64
}

// operation is a collective operation of a location outside of all calls. It counts as a call, which lasts from its
// begin to its end. A location has at most one of them at a time.
type operation struct {
	call *openCall
	// If a single event stands for the operation and states its duration, whole is set, and the other fields hold the
	// operands of the event and the end of the operation.
	whole bool
	ops   [5]uint64
	end   int64
}

// beginCollective processes the begin of a collective operation.
func (w *worker) beginCollective(l *lane, t int64, ops []uint64) error {
	l.collectives.Push(operand(ops, 5), openCollective{t, collectiveOperands(ops)})
	if n := len(l.calls); n > 0 {
		l.calls[n-1].begun++
	}
	return w.beginOperation(l, t, operation{})
}

// wholeCollective processes an event that stands for a whole collective operation, and may state its duration.
func (w *worker) wholeCollective(l *lane, t int64, ops []uint64) error {
	x := operation{whole: true, ops: collectiveOperands(ops), end: t}
	if d := operand(ops, 5); d != trace.Undefined && int64(d) > 0 {
		x.end = trace.Add(t, int64(d))
		if err := w.beginOperation(l, t, x); err != nil || l.operation.is(t, true) {
			return err
		}
	}
	return w.addCollective(l, x.ops, t)
}

// beginOperation begins an operation outside of all calls. It does nothing if a call is open.
func (w *worker) beginOperation(l *lane, t int64, x operation) error {
	n := len(l.calls)
	if n > 0 && l.calls[n-1] == l.operation.call {
		if err := w.endOperation(l, t); err != nil {
			return err
		}
		n = len(l.calls)
	}
	if n > 0 {
		return nil
	}
	if w.times {
		l.addTime(t)
	}
	x.call = w.begin(l, l.innermost(), t, regionKind{})
	x.call.outside = true
	l.operation = x
	return nil
}

// is reports whether an operation is open, has begun at time t, and has the given value of whole.
func (x *operation) is(t int64, whole bool) bool {
	return x.call != nil && x.call.enter == t && x.whole == whole
}

// endWhole ends the open operation that a single event stands for, if there is one. The operation ends at time t at the
// latest, because the location then begins a call or has no more events.
func (w *worker) endWhole(l *lane, t int64) error {
	x := &l.operation
	if x.call == nil || !x.whole {
		return nil
	}
	t = min(t, x.end)
	if err := w.addCollective(l, x.ops, t); err != nil {
		return err
	}
	return w.endOperation(l, t)
}

// endOperation ends the open operation.
func (w *worker) endOperation(l *lane, t int64) error {
	c := l.operation.call
	l.operation = operation{}
	if w.times {
		l.addTime(t)
	}
	return w.end(l, c, t)
}

// collective ends the latest open collective operation with the same matching number.
func (w *worker) collective(l *lane, t int64, ops []uint64) error {
	var b openCollective
	var known bool
	if id := operand(ops, 5); id != trace.Undefined {
		b, known = l.collectives.Take(id)
	} else {
		b, known = l.collectives.Pop()
	}
	operands := collectiveOperands(ops)
	if n := len(l.calls); known && n > 0 && l.calls[n-1].begun > 0 {
		l.calls[n-1].begun--
	}
	if known && operands[0] == trace.Undefined { // in OTF, only the begin records the operation
		operands = b.ops
	}
	if err := w.addCollective(l, operands, t); err != nil {
		return err
	}
	return w.endOperationSince(l, b.time, known, t)
}

// endOperationSince ends the open operation if it has begun at the given time. It does nothing if this time is not
// known.
func (w *worker) endOperationSince(l *lane, begin int64, known bool, t int64) error {
	if !known || !l.operation.is(begin, false) {
		return nil
	}
	return w.endOperation(l, t)
}

// addCollective adds the point of a collective operation that ends at time t.
func (w *worker) addCollective(l *lane, ops [5]uint64, t int64) error {
	l.sequences[Sequence{ops[1], false, false}]++
	return w.add(l, Collective, t, ops[:])
}
