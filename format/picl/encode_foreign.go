package picl

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/trace"
)

// writeForeignRow writes a row of a trace that was not read from PICL.
func (e *encoder) writeForeignRow(c *trace.Cursor) error {
	e.last = e.Time(c.Time())
	kind, ref := c.Kind(), c.Ref()
	keys, _ := c.Attrs()
	if e.ops.calls != nil && (kind == trace.Enter || kind == trace.Leave) {
		e.ops.calls.Operands(c) // the name of the open region determines an operation
	}
	if e.isOwnEvent(kind, ref) {
		e.ownEvents++
	}
	if (kind == trace.Enter || kind == trace.Leave) && ref < firstText && len(keys) == 0 && len(c.Ops()) == 0 &&
		e.w.writesUnchanged() {
		typ := int64(TypeEntry)
		if kind == trace.Leave {
			typ = TypeExit
		}
		return e.w.writeIntegers(typ, int64(ref), e.last, processorOf(c.Location()))
	}
	r := &e.rec
	*r = Record{Time: e.last, Processor: processorOf(c.Location()), Event: -1, Values: r.Values[:0]}
	e.pairs = e.pairs[:0]
	beside := false // the row is carried beside a record of the event
	switch {
	case (kind == trace.Enter || kind == trace.ClaimBegin) && ref < firstText:
		r.Type, r.Event = TypeEntry, int64(ref)
	case (kind == trace.Leave || kind == trace.ClaimEnd) && ref < firstText:
		r.Type, r.Event = TypeExit, int64(ref)
	case kind == trace.Mark && (ref < firstText || ref == trace.NoRef):
		r.Type = TypeMark
		if ref != trace.NoRef {
			r.Event = int64(ref)
		}
	case kind == trace.Generic && ref < firstText && e.Defs.Strings.Has(ref) && len(c.Ops()) == 0:
		r.Type, r.Event = TypeMark, firstText+int64(ref)
		e.texts[ref] = true
	case (len(keys) == 0 || e.Plain) && (e.foreignMessage(c) || kind == trace.Metric && e.foreignMetric(c)):
		if len(keys) > 0 {
			e.Rows.NoteAttributes(c)
		}
		return e.w.Write(r)
	case (kind == trace.CollectiveBegin || kind == trace.CollectiveEnd) && e.foreignOperation(c):
		if beside = true; len(keys) > 0 {
			e.Rows.NoteAttributes(c)
		}
		if err := e.w.Write(r); err != nil || kind == trace.CollectiveBegin || e.Plain || !e.carriesOperation(c) {
			return err
		}
		*r = Record{Time: e.last, Processor: r.Processor, Event: -1, Type: rowType, Values: r.Values[:0]}
		e.pairs = carrier.AppendKind(e.pairs, e.Defs, kind, ref)
	case len(keys) == 0 && e.foreignMark(c):
		if len(r.Values) > 0 {
			e.Rows.NoteField(c, "names of operands")
		}
		return e.w.Write(r)
	default:
		r.Type = rowType
		e.pairs = carrier.AppendKind(e.pairs, e.Defs, kind, ref)
	}
	switch {
	case beside:
	case r.Type == rowType:
		e.Rows.NoteField(c, "")
	default:
		if isClaim(kind) {
			e.Rows.NoteField(c, "operands")
		}
		if len(keys) > 0 {
			e.Rows.NoteAttributes(c)
		}
	}
	if e.Plain {
		if r.Type == rowType {
			return nil
		}
		return e.w.Write(r)
	}
	split := r.Type == TypeMark && e.w.opt.Brackets == EntryExit
	if split {
		r.Type, e.pairs = TypeEntry, carrier.AppendKind(e.pairs, e.Defs, kind, ref)
	}
	if e.pairs = e.AppendRow(e.pairs, c); c.Derived() {
		e.pairs = append(e.pairs, derivedPair)
	}
	e.setCharacterData()
	if err := e.w.Write(r); err != nil || !split {
		return err
	}
	r.Type, e.pairs = TypeExit, append(e.pairs[:0], markEnd)
	e.setCharacterData()
	return e.w.Write(r)
}

// isOwnEvent reports whether a visit or mark has an event type that PICL itself defines, as in a merge of a PICL trace
// with a trace of another format. Event types that PICL defines have negative numbers, which no other format has as ids
// of regions.
func (e *encoder) isOwnEvent(kind trace.Kind, ref uint32) bool {
	return (kind == trace.Enter || kind == trace.Leave || kind == trace.Mark) && e.Defs.Regions.Has(ref) &&
		strings.HasPrefix(e.Defs.Regions.At(ref).ID, "-")
}

// foreignMark makes a mark of an event type whose label is the kind of the event. The data are the reference, if the
// kind has one, and the operands. foreignMark returns false if some data are no integers, or if there are more than 15.
func (e *encoder) foreignMark(c *trace.Cursor) bool {
	const most = 14 // maximum number of operands, in addition to the reference
	kind, ops := c.Kind(), c.Ops()
	spec := e.Defs.Spec(kind)
	if c.Derived() || e.w.opt.Brackets == EntryExit || len(ops) > most || isClaim(kind) {
		return false
	}
	for _, o := range spec.Operands {
		if o.Type == trace.OpFloat || o.Type == trace.OpBits {
			return false
		}
	}
	r := &e.rec
	r.Type, r.Event = TypeMark, firstKind+int64(kind)
	if spec.Ref != trace.RefNone {
		ref := int64(-1)
		if c.Ref() != trace.NoRef {
			ref = int64(c.Ref())
		}
		r.Values = append(r.Values, intValue(ref))
	}
	for _, v := range ops {
		r.Values = append(r.Values, intValue(int64(v)))
	}
	e.kinds[kind] = true
	return true
}

// foreignMetric makes a mark of an event type whose label is the name of a counter. The data are its value and, if the
// event has it, the position in a group. foreignMetric returns false if the data have no exact representation of one
// type. A plain trace has no position in a group for a counter of another type than integers.
func (e *encoder) foreignMetric(c *trace.Cursor) bool {
	ops := c.Ops()
	if len(ops) == 0 || c.Ref() == trace.NoRef || c.Derived() || e.w.opt.Brackets == EntryExit {
		return false
	}
	r := &e.rec
	switch x := ops[0]; e.Defs.Metrics.At(c.Ref()).Type {
	case trace.Float64:
		if v := math.Float64frombits(x); len(ops) > 1 && !e.Plain || math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
		if len(ops) > 1 {
			e.Rows.NoteField(c, "member")
		}
		r.Values = append(r.Values, trace.Value{Type: trace.Float64, Num: x})
	case trace.Uint64:
		if int64(x) < 0 {
			return false
		}
		fallthrough
	case trace.Int64:
		for _, v := range ops {
			r.Values = append(r.Values, intValue(int64(v)))
		}
	default:
		return false
	}
	r.Type, r.Event = TypeMark, firstMetric+int64(c.Ref())
	e.metrics[c.Ref()] = true
	return true
}

// markLabels calls f with the event types of the marks that foreign rows have become, and with their labels.
func (e *encoder) markLabels(f func(event int64, label string)) {
	for _, ref := range slices.Sorted(maps.Keys(e.texts)) {
		f(firstText+int64(ref), *e.Defs.Strings.At(ref))
	}
	for _, kind := range slices.Sorted(maps.Keys(e.kinds)) {
		f(firstKind+int64(kind), e.Defs.Spec(kind).Name)
	}
	for _, ref := range slices.Sorted(maps.Keys(e.metrics)) {
		f(firstMetric+int64(ref), e.Defs.Metrics.At(ref).Name)
	}
}

// isClaim reports whether events of a kind are lines of claims, whose ids need not be unique.
func isClaim(k trace.Kind) bool { return k == trace.ClaimBegin || k == trace.ClaimEnd }

// derivedPair marks the pairs of an event that its format derives from others. markEnd marks an exit
// that the option picl.brackets has added to a mark.
var (
	derivedPair = carrier.Pair{Key: "derived", Value: "1"}
	markEnd     = carrier.Pair{Key: "end", Value: "mark"}
)

// foreignMessage makes a mark for a send, a receive or a phase of one. It returns false if the event is
// not a message, or if its operands do not fit the fields of the mark.
func (e *encoder) foreignMessage(c *trace.Cursor) bool {
	ops, m := c.Ops(), messageOf(c.Kind(), 0)
	if m == nil || len(ops) < m.ops || m.ops == 1 && (len(ops) > 1 || int64(ops[0]) < 0) ||
		m.ops > 1 && int64(ops[3]) < 0 {
		return false
	}
	peer := procKey{-1, 0}
	if ops[0] != trace.Undefined {
		peer.processor = processorOf(uint32(ops[0]))
	}
	r := &e.rec
	r.Type, r.Event = TypeMark, m.event
	r.Values = m.append(r.Values, m.entry+m.exit, c, peer)
	if e.Plain {
		e.notePlainMessage(c, m)
		return true
	}
	if m.ops > 1 && (ops[1] != trace.Undefined || c.Derived()) {
		r.Values = append(r.Values, intValue(int64(ops[1])))
	}
	if c.Derived() {
		r.Values = append(r.Values, intValue(1))
	}
	return true
}

// notePlainMessage counts, for the loss table, what a mark of a message lacks if no other data describe it.
func (e *encoder) notePlainMessage(c *trace.Cursor, m *messageSpec) {
	if ops := c.Ops(); m.ops > 1 && ops[1] != trace.Undefined {
		e.Rows.NoteField(c, "communicator")
	}
	if e.w.opt.Brackets != EntryExit && !c.Derived() {
		e.Lost.Add(e.Defs.Spec(c.Kind()).Name, "", format.Degraded,
			"becomes a mark, which readers may not count as a message; see the option picl.brackets", 1)
	}
}
