package picl

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/internal/attrlist"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// carriedLinks holds the packed links of another format's trace, and the line that carries them.
type carriedLinks struct {
	line int64
	data []byte
}

// carryPrefix begins the texts that carry definitions (record type -7, event type -1).
const carryPrefix = "weft:definitions."

// firstText is the first event type for generic events of other formats. Their types follow from the texts that name
// them. Smaller types stand for regions.
const firstText = 1_000_000

// firstKind is the first event type for other events that are marks. The labels of their types are their kinds.
const firstKind = 2_000_000

// firstMetric is the first event type for values of counters. The labels of their types are the names of the counters.
const firstMetric = 3_000_000

// rowType is the type of user records that carry an event for which PICL has no record.
const rowType = 900

// carriedDefinition returns the definition that an event message carries. l is the text after the head
// of the message.
func carriedDefinition(l []byte) (carrier.Pair, bool) {
	i := bytes.Index(l, []byte(carryPrefix))
	if i < 0 || i > 40 {
		return carrier.Pair{}, false
	}
	key, value, ok := strings.Cut(string(bytes.TrimRight(l[i+len(carryPrefix):], "\r\n")), " ")
	return carrier.Pair{Key: key, Value: value}, ok
}

// restoreFast restores the event of a carried trace from a line, if the event is an enter, a leave or a
// message. Most lines are. The head of the line ends at i. restoreFast returns the length of the line
// with its end, or 0 if the line is of another kind or does not have the usual spelling.
func (p *blockParser) restoreFast(line []byte, i int, h *head, t, number int64) (end int) {
	d := p.d
	loc := locationOf(h.f[3])
	if h.f[3] < 0 || loc >= int64(d.Model.Locations.Len()) {
		return 0
	}
	if d.Rescale {
		var ok bool
		if t, _, ok = d.Clock.Rescale(t, d.Restore.Clock); !ok {
			return 0
		}
	}
	switch n := h.f[5]; {
	case n == 0 && line[i] == '\n' && h.f[0] != TypeMark && h.f[0] != rowType && h.f[1] >= 0 &&
		h.f[1] < int64(d.Model.Regions.Len()):
		kind := trace.Enter
		if h.f[0] == TypeExit {
			kind = trace.Leave
		}
		b := p.batch(uint32(loc))
		b.Add(uint32(loc), t, kind, uint32(h.f[1]))
		b.Pos = append(b.Pos, number)
	case n > 0 && h.f[0] == TypeMark && string(line[i:min(i+3, len(line))]) == " 2 " && specOf(h.f[1]).send != noRole:
		var few [16]int64
		v := few[:min(n, int64(len(few)))]
		if i = parseIntegerList(line, i+2, v); n > int64(len(few)) || i < 0 || line[i] != '\n' {
			return 0
		}
		if p.restoreMessage(p.batch(uint32(loc)), uint32(loc), t, h.f[1], v, number) != "" {
			return 0
		}
	default:
		return 0
	}
	return i + 1
}

// restoredKind returns the kind of the event that a record carries, from the type of the record and the
// key of its first pair. carried is true if another pair of the record states the kind instead.
func restoredKind(typ int64, first string) (kind trace.Kind, carried bool) {
	switch {
	case typ == rowType, first == "kind" && (typ == TypeEntry || typ == TypeExit):
		return trace.NoKind, true
	case typ == TypeEntry && first == "claim":
		return trace.ClaimBegin, false
	case typ == TypeEntry:
		return trace.Enter, false
	case typ == TypeExit && first == "claim":
		return trace.ClaimEnd, false
	case typ == TypeExit:
		return trace.Leave, false
	case typ == TypeMark:
		return trace.Mark, false
	}
	return trace.NoKind, false
}

// restoreLinks stores the links that a line carries as text.
func (p *blockParser) restoreLinks(text string, number int64) error {
	data, err := carrier.FromText(nil, text)
	if err != nil {
		return err
	}
	if err := carrier.CheckLinks(data, p.d.Model.Locations.Len()); err != nil {
		return err
	}
	p.links = append(p.links, carriedLinks{number, data})
	return nil
}

// restoreLine restores the event of a carried trace from a line.
func (p *blockParser) restoreLine(text, data []byte, h *head, t, number int64) error {
	d := p.d
	ok := true
	if d.Rescale {
		t, _, ok = d.Clock.Rescale(t, d.Restore.Clock)
	}
	bad := func(found string) error {
		return p.reportDefect(dataProblem{"picl.carrier", found, "a record that weft wrote; weft skips the record",
			trace.Warning}, number, text)
	}
	loc := locationOf(h.f[3])
	if !ok || loc >= int64(d.Model.Locations.Len()) {
		return bad(fmt.Sprintf("processor %d", h.f[3]))
	}
	if h.f[0] <= TypeTimes && h.f[0] >= TypeSizeVolumes {
		return nil // records that were computed for an option are not events of the trace
	}
	if h.f[1] == -901 && (h.f[0] == TypeEntry || h.f[0] == TypeExit) {
		return nil // the encoder adds these records around the events of each process
	}
	p.pairs = p.pairs[:0]
	var vals []trace.Value
	if h.f[5] > 0 {
		var problem dataProblem
		p.vals, problem = parseData(data, h.f[5], h, number, &p.res, p.vals[:0])
		if problem.rule != "" {
			if err := p.reportDefect(problem, number, text); err != nil {
				return err
			}
		}
		vals = p.vals
		p.readPairs()
	}
	if h.f[0] == rowType && len(p.pairs) == 1 && p.pairs[0].Key == "links" {
		if err := p.restoreLinks(p.pairs[0].Value, number); err != nil {
			return bad(err.Error())
		}
		return nil
	}
	if h.f[3] < 0 {
		return bad(fmt.Sprintf("processor %d", h.f[3]))
	}
	location := uint32(loc)
	b := p.batch(location)
	ref := trace.NoRef
	if e := h.f[1]; e >= 0 && e < int64(d.Model.Regions.Len()) {
		ref = uint32(e)
	}
	isDerived := len(p.pairs) > 0 && p.pairs[len(p.pairs)-1] == derivedPair
	if isDerived {
		p.pairs = p.pairs[:len(p.pairs)-1]
	}
	first := "" // key of the first pair
	if len(p.pairs) > 0 {
		first = p.pairs[0].Key
	}
	typ := h.f[0]
	if isMessage := h.f[1] < 0 && specOf(h.f[1]).send != noRole; typ == TypeEntry && isMessage {
		typ = TypeMark // the option picl.brackets turned the mark into an entry and an exit
	} else if typ == TypeExit && (isMessage || first == markEnd.Key) {
		return nil
	}
	if found, done := p.restoreFields(b, location, t, typ, h, vals, number); found != "" {
		return bad(found)
	} else if done {
		return nil
	}
	kind, carried := restoredKind(typ, first)
	switch text := h.f[1] - firstText; {
	case kind == trace.Mark && text >= 0 && text < int64(d.Model.Strings.Len()):
		kind, ref = trace.Generic, uint32(text)
	case carried:
		var err error
		if kind, ref, err = d.Restore.Kind(p.pairs); err != nil || kind == trace.NoKind {
			return bad(fmt.Sprintf("an event with %v", err))
		}
	case kind == trace.NoKind:
		return bad(fmt.Sprintf("record type %d", h.f[0]))
	}
	if err := d.Restore.Add(b, location, t, kind, ref, p.pairs); err != nil {
		return bad(err.Error())
	}
	if isDerived {
		b.MarkDerived()
	}
	b.Pos = append(b.Pos, number)
	return nil
}

// restoreFields restores an event whose record has fields in place of character data: a message, an operation, or an
// event that is a mark. done is false for other events. If the fields are invalid, bad describes them. typ is the type
// that the record would have without the option picl.brackets.
func (p *blockParser) restoreFields(b *trace.Batch, loc uint32, t, typ int64, h *head, vals []trace.Value,
	number int64) (bad string, done bool) {
	event := h.f[1]
	_, isOperation := operationOf(event)
	switch {
	case typ == TypeMark && specOf(event).send != noRole:
		var few [16]int64
		v := few[:0]
		for _, x := range vals[:min(len(vals), len(few))] {
			v = append(v, x.Int())
		}
		return p.restoreMessage(b, loc, t, event, v, number), true
	case isOperation && (typ == TypeEntry || typ == TypeExit):
		return p.restoreOperation(b, loc, t, h, vals, number), true
	case typ == TypeMark && event >= firstKind:
		if err := p.restoreMark(b, loc, t, h, vals); err != nil {
			return err.Error(), true
		}
		b.Pos = append(b.Pos, number)
		return "", true
	}
	return "", false
}

// restoreMark restores an event from a mark whose event type has the kind of the event as its label.
func (p *blockParser) restoreMark(b *trace.Batch, loc uint32, t int64, h *head, vals []trace.Value) error {
	event := h.f[1]
	var few [16]uint64
	ops := few[:0]
	if event >= firstMetric {
		for _, v := range vals {
			ops = append(ops, v.Num)
		}
		if len(ops) == 0 {
			return errors.New("a counter without a value")
		}
		return p.d.Restore.AddOperands(b, loc, t, trace.Metric, uint32(min(event-firstMetric, math.MaxInt32)), ops)
	}
	kind, known := p.kinds[event]
	if !known {
		name, _ := p.d.defs.labelOf(event, h.f[3], h.f[4], math.MaxInt64)
		if kind, known = p.d.Restore.KindNamed(name); !known {
			return fmt.Errorf("event type %d with the label %q", event, name)
		}
		if p.kinds == nil {
			p.kinds = map[int64]trace.Kind{}
		}
		p.kinds[event] = kind
	}
	ref := trace.NoRef
	if p.d.Model.Spec(kind).Ref != trace.RefNone && len(vals) > 0 {
		if v := vals[0].Int(); v >= 0 && v < int64(trace.NoRef) {
			ref = uint32(v)
		}
		vals = vals[1:]
	}
	for _, v := range vals {
		ops = append(ops, uint64(v.Int()))
	}
	return p.d.Restore.AddOperands(b, loc, t, kind, ref, ops)
}

// readPairs reads the pairs in the record's character data. Records with other data have no pairs.
func (p *blockParser) readPairs() {
	if len(p.vals) != 1 || p.vals[0].Type != trace.String {
		return
	}
	for rest := []byte(p.vals[0].Str); ; {
		key, value, r, _, more := attrlist.Next(rest)
		if !more {
			return
		}
		p.pairs = append(p.pairs, carrier.Pair{Key: key, Value: value})
		rest = r
	}
}

// restoreMessage restores a message from the fields of its mark. If the fields are invalid, bad
// describes them.
func (p *blockParser) restoreMessage(b *trace.Batch, loc uint32, t, event int64, v []int64, line int64) (bad string) {
	m := messageOf(trace.NoKind, event)
	n := 0
	if m != nil {
		n = len(m.entry) + len(m.exit)
	}
	if m == nil || len(v) < n || m.ops == 1 && len(v) > n {
		return fmt.Sprintf("event type %d with %s", event, plural.Of(len(v), "value"))
	}
	ops, isDerived := [5]uint64{trace.Undefined, trace.Undefined}, false
	for _, fields := range [2]string{m.entry, m.exit} {
		for i := range len(fields) {
			switch fields[i] {
			case 'l':
				ops[3] = uint64(v[i])
			case 't':
				ops[2] = uint64(v[i])
			case 'p':
				ops[0] = uint64(max(-1, locationOf(v[i]))) // negative numbers mean that the peer is unknown
			case 'r':
				ops[m.ops-1] = uint64(v[i])
			}
		}
		v = v[len(fields):]
	}
	if m.ops > 1 {
		if len(v) > 0 {
			ops[1] = uint64(max(-1, v[0]))
		}
		isDerived = len(v) > 1
		if d := p.d.Model; !carrier.IsValidOperand(d, trace.OpLocation, ops[0]) ||
			!carrier.IsValidOperand(d, trace.OpCommunicator, ops[1]) {
			if m.kind.IsSend() {
				return "a message without a receiver"
			}
			return "a message without a sender"
		}
	}
	b.Add(loc, t, m.kind, trace.NoRef)
	b.AddOps(ops[:m.ops]...)
	if isDerived {
		b.MarkDerived()
	}
	b.Pos = append(b.Pos, line)
	return ""
}
