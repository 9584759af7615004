package picl

import (
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
	case len(keys) == 0 && e.foreignMessage(c):
		return e.w.Write(r)
	case (kind == trace.CollectiveBegin || kind == trace.CollectiveEnd) && e.foreignOperation(c):
		if err := e.w.Write(r); err != nil || kind == trace.CollectiveBegin || e.Plain || !e.carriesOperation(c) {
			return err
		}
		*r = Record{Time: e.last, Processor: r.Processor, Event: -1, Type: rowType, Values: r.Values[:0]}
		e.pairs = carrier.AppendKind(e.pairs, e.Defs, kind, ref)
	default:
		r.Type = rowType
		e.pairs = carrier.AppendKind(e.pairs, e.Defs, kind, ref)
	}
	switch {
	case r.Type == rowType:
		e.Rows.NoteField(c, "")
	case kind == trace.ClaimBegin || kind == trace.ClaimEnd:
		e.Rows.NoteField(c, "operands")
	case len(keys) > 0:
		e.Rows.NoteField(c, "attributes")
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
	if m.ops > 1 && (ops[1] != trace.Undefined || c.Derived()) {
		r.Values = append(r.Values, intValue(int64(ops[1])))
	}
	if c.Derived() && !e.Plain {
		r.Values = append(r.Values, intValue(1))
	}
	return true
}
