package otf2

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/weft-trace/weft/trace"
)

// plainFields is the maximum number of fields in an event that [plainRecord] reads.
const plainFields = 6

// plainValues holds the values of an event that [plainRecord] has read.
type plainValues [plainFields]uint64

// plainEvents selects the events that have a fixed number of fields, all of them numbers.
var plainEvents = func() (l [len(eventTypes)]bool) {
	for id := firstEvent; id < len(eventTypes); id++ {
		t := &eventTypes[id]
		l[id] = t.name != "" && t.each == nil && len(t.fields) <= plainFields
		for _, f := range t.fields {
			l[id] = l[id] && (f.enc == encByte || f.enc == enc32 || f.enc == enc64)
		}
	}
	return l
}()

// plainRecord reads the values of the event at an offset and returns the offset of the next record.
// It returns 0 if the event is not one of plainEvents, if anything about its bytes is unusual, or
// if fewer than 8 more bytes follow. [EventReader.Next] must read the event then.
func plainRecord(b []byte, at int, v *plainValues) (next int) {
	if int(b[at]) >= len(plainEvents) || !plainEvents[b[at]] {
		return 0
	}
	t, from, size := &eventTypes[b[at]], at+2, int(b[at+1])
	if t.noLength { // the only field of the event follows the id directly
		if from--; size == 0xff {
			size = 0
		}
	}
	end := at + 2 + size
	if size == 0xff || end+8 > len(b) {
		return 0
	}
	at = from
	for i := range t.fields {
		n := uint(b[at])
		at++
		size := uint(8)
		switch t.fields[i].enc {
		case encByte:
			v[i] = uint64(n)
			continue
		case enc32:
			size = 4
		}
		switch {
		case n == 0:
			v[i] = 0
		case n <= size && at < end:
			v[i] = binary.LittleEndian.Uint64(b[at:]) & (1<<(8*n) - 1)
			if bits.Len64(v[i]) <= int(8*n-8) {
				return 0 // the number has more bytes than needed
			}
			at += int(n)
		case n == 0xff:
			v[i] = math.MaxUint64 >> (64 - 8*size)
		default:
			return 0
		}
		if at > end {
			return 0
		}
	}
	if at != end {
		return 0
	}
	return end
}

// skipPlain skips the times and plain events that follow in the buffered part of the file, as far as
// [plainRecord] can read them. It returns the latest corrected time of the skipped events, except for times of
// 2⁶³ and more. ok is false if there is no such time.
func (r *EventReader) skipPlain() (latest uint64, ok bool) {
	c := r.c
	if c.big || r.again {
		return 0, false
	}
	const timeSize = 9
	var v plainValues
	now := r.clock.correct(r.time)
	for part := c.part; c.at+timeSize <= len(part); {
		if part[c.at] == timestampRecord {
			t := binary.LittleEndian.Uint64(part[c.at+1:])
			if unusualTime(t, r.time) {
				break
			}
			r.setTime(t)
			now = r.clock.correct(t)
			c.at += timeSize
			continue
		}
		next := plainRecord(part, c.at, &v)
		if next == 0 {
			break
		}
		c.at = next
		r.number++
		if now <= math.MaxInt64 {
			latest, ok = max(latest, now), true
		}
	}
	return latest, ok
}

// plainKinds selects the events that the fast path of [locationReader] accepts. All of them are
// plainEvents, and refer only to communicators and to locations in communicators.
var plainKinds = func() (l [len(eventTypes)]bool) {
	for id := range l {
		k := &eventKinds[id]
		l[id] = plainEvents[id] && k.kind != trace.NoKind && k.ref < 0 && (id < ompFork || id > ompTaskComplete)
		for _, o := range k.ops {
			l[id] = l[id] && o.source != target && (o.source != reference || o.table == Comms)
		}
	}
	return l
}()

// referenceKinds selects all plainEvents that the fast path accepts: those without attributes that the decoder adds.
var referenceKinds = func() (l [len(eventTypes)]bool) {
	for id := range l {
		k := &eventKinds[id]
		l[id] = plainEvents[id] && k.kind != trace.NoKind && k.kind != trace.Parameter &&
			(id < ompFork || id > ompTaskComplete)
	}
	return l
}()

const rankBits = 5

// recentRank holds the result of looking up a rank of a communicator.
type recentRank struct {
	comm, rank uint32
	known      bool
	location   uint64
}

// recentComm holds the result of looking up a communicator by the location's id.
type recentComm struct {
	id    uint64
	known bool
	index uint64
	ranks *printComm
}

// addOther adds the rows of an event at an offset that is neither a visit nor one of plainKinds: of an event with
// references, of a metric event, or of the event after a list of attributes. It returns the offset of the next record.
// It returns 0 if [locationReader.add] must add the event, or if it has set lr.failed.
func (lr *locationReader) addOther(b []byte, at int, now int64) (next int) {
	if b[at] == metricEvent {
		return lr.addMetricFast(b, at, now)
	}
	e := &lr.r.event
	e.Attributes = e.Attributes[:0]
	if b[at] == attributeRecord {
		if at = lr.r.plainAttributes(b, at); at == 0 {
			return 0
		}
	}
	var v plainValues
	if lr.isRestored(e) {
		if next = plainRecord(b, at, &v); next > 0 && lr.restoreRow(e, now) != nil {
			next = 0 // the slow path reports the defect
		}
		e.Attributes = e.Attributes[:0]
		return next
	}
	switch id := b[at]; {
	case int(id) < len(referenceKinds) && referenceKinds[id]:
		if next = plainRecord(b, at, &v); next > 0 && !lr.addReferences(id, &v, now) {
			next = 0
		}
	case id == parameterString:
		if next = plainRecord(b, at, &v); next > 0 && !lr.isGeneric(id, v[0], v[1]) {
			next = 0
		}
		if next > 0 {
			lr.b.Add(lr.loc, now, trace.Generic, uint32(v[1]))
		}
	}
	if next > 0 && len(e.Attributes) > 0 {
		lr.last = now
		if lr.failed = lr.addAttributes(e); lr.failed != nil {
			next = 0
		}
	}
	e.Attributes = e.Attributes[:0]
	return next
}

// addPlain adds the row of an event with these values. It returns false if [locationReader.add]
// must add the event.
func (lr *locationReader) addPlain(id uint8, v *plainValues, now int64) bool {
	b := &lr.b
	n := len(b.Op)
	k := &eventKinds[id]
	for i := range k.ops {
		o := &k.ops[i]
		value := o.value
		if o.source != constant {
			value = v[o.field]
		}
		switch o.source {
		case reference:
			c := lr.comm(value)
			if value = c.index; value == trace.Undefined {
				b.Op = b.Op[:n]
				return false
			}
		case peer:
			if value = lr.rankLocation(v[o.other], value); value == trace.Undefined {
				b.Op = b.Op[:n]
				return false
			}
		case root, optional:
			if value == undefined32 {
				value = trace.Undefined
			}
		}
		b.Op = append(b.Op, value)
	}
	b.Time, b.Kind, b.Ref = append(b.Time, now), append(b.Kind, k.kind), append(b.Ref, trace.NoRef)
	if len(k.ops) > 0 {
		b.OpRow, b.OpEnd = append(b.OpRow, uint32(len(b.Time)-1)), append(b.OpEnd, uint32(len(b.Op)))
	}
	return true
}

// addReferences is like addPlain, for all of referenceKinds.
func (lr *locationReader) addReferences(id uint8, v *plainValues, now int64) bool {
	b := &lr.b
	n := len(b.Op)
	k := &eventKinds[id]
	ref := trace.NoRef
	if k.ref >= 0 {
		if ref = lr.d.lookup(k.table, lr.r.mapped(k.table, v[k.ref])); ref == trace.NoRef {
			return false
		}
	}
	for _, o := range k.ops {
		value, known := o.value, true
		if o.source != constant {
			value = v[o.field]
		}
		switch o.source {
		case reference:
			value = operandOf(lr.d.defined(o.table, lr.r.mapped(o.table, value)))
			known = value != trace.Undefined
		case peer:
			value = lr.rankLocation(v[o.other], value)
			known = value != trace.Undefined
		case target:
			value = lr.windowLocation(v[o.other], value)
			known = value != trace.Undefined
		case root, optional:
			if value == undefined32 {
				value = trace.Undefined
			} else if o.source == optional {
				value = lr.r.mapped(eventTypes[id].fields[o.field].table, value)
			}
		}
		if !known {
			b.Op = b.Op[:n]
			return false
		}
		b.Op = append(b.Op, value)
	}
	b.Time, b.Kind, b.Ref = append(b.Time, now), append(b.Kind, k.kind), append(b.Ref, ref)
	if len(k.ops) > 0 {
		b.OpRow, b.OpEnd = append(b.OpRow, uint32(len(b.Time)-1)), append(b.OpEnd, uint32(len(b.Op)))
	}
	return true
}

// comm looks up a communicator.
func (lr *locationReader) comm(id uint64) *recentComm {
	c := &lr.recentComm
	if !c.known || c.id != id {
		global := lr.r.mapped(Comms, id)
		i := lr.d.defined(Comms, global)
		*c = recentComm{id: id, known: true, index: trace.Undefined, ranks: lr.d.ranks.comm(global)}
		if i != trace.NoRef {
			c.index = uint64(i)
		}
	}
	return c
}

// rankLocation returns the location with a rank in a communicator. It returns Undefined if the rank needs the
// full lookup.
func (lr *locationReader) rankLocation(comm, rank uint64) uint64 {
	r := &lr.recentRanks[uint32(rank)*0x9e3779b1>>(32-rankBits)]
	if !r.known || uint64(r.comm) != comm || uint64(r.rank) != rank {
		if comm > undefined32 || rank > undefined32 {
			return trace.Undefined
		}
		l, ok := lr.comm(comm).ranks.location(lr.id, rank)
		if !ok {
			return trace.Undefined
		}
		i := lr.d.defined(Locations, l)
		if i == trace.NoRef {
			return trace.Undefined
		}
		*r = recentRank{uint32(comm), uint32(rank), true, uint64(i)}
	}
	return r.location
}

// windowLocation returns the location with a rank in the communicator of a window. It returns Undefined if there is
// none.
func (lr *locationReader) windowLocation(window, rank uint64) uint64 {
	l, ok := lr.d.ranks.communicators[Windows][lr.r.mapped(Windows, window)].location(lr.id, rank)
	if !ok {
		return trace.Undefined
	}
	return operandOf(lr.d.defined(Locations, l))
}

// operandOf returns the operand for an index: Undefined for NoRef.
func operandOf(index uint32) uint64 {
	if index == trace.NoRef {
		return trace.Undefined
	}
	return uint64(index)
}

// plainAttributes reads the list of attributes at an offset for the next event, and returns the offset of the next
// record. It returns 0 if anything about the list is unusual, or if fewer than 16 more bytes follow.
func (r *EventReader) plainAttributes(b []byte, at int) (next int) {
	next = at + 2 + int(b[at+1])
	if b[at+1] == 0xff || next+16 > len(b) {
		return 0
	}
	cur := cursor{b: b[at+2 : next]}
	r.event.Attributes = r.event.Attributes[:0]
	if r.readAttributes(&cur); cur.bad || cur.loose || cur.at != len(cur.b) || r.event.dropRepeated() {
		r.event.Attributes = r.event.Attributes[:0]
		return 0
	}
	return next
}

// fewValues is the maximum number of values of a metric event that the fast path accepts.
const fewValues = 16

// recentMetric holds the result of looking up a metric class or instance by the location's id.
type recentMetric struct {
	id    uint64
	known bool
	list  []uint32 // indexes of the metrics of the members
	types []uint8  // types of the values in the file
}

// plainMetric reads the metric and the number of values of the metric event at an offset. The
// values extend from next to end. next is 0 if anything about the bytes is unusual, or if fewer
// than 8 more bytes follow.
func plainMetric(b []byte, at int) (id uint64, count, next, end int) {
	end = at + 2 + int(b[at+1])
	n := uint(b[at+2])
	if b[at+1] == 0xff || end+8 > len(b) || n > 4 || at+4+int(n) > end {
		return 0, 0, 0, 0
	}
	id = uint64(binary.LittleEndian.Uint32(b[at+3:]) & uint32(1<<(8*n)-1))
	if n > 0 && bits.Len64(id) <= int(8*n-8) {
		return 0, 0, 0, 0 // the number has more bytes than needed
	}
	next = at + 3 + int(n)
	return id, int(b[next]), next + 1, end
}

// plainMembers reads values of the given types, which must fill the bytes from an offset to end. The
// file holds the bits of each value as an integer; this also applies to floating-point values.
func plainMembers(b []byte, at, end int, types []uint8, values *[fewValues]uint64) bool {
	for i, typ := range types {
		if at+1 >= end || b[at] != typ {
			return false
		}
		n := uint(b[at+1])
		at += 2
		switch {
		case n == 0:
			values[i] = 0
		case n <= 8 && at < end:
			values[i] = binary.LittleEndian.Uint64(b[at:]) & (1<<(8*n) - 1)
			if bits.Len64(values[i]) <= int(8*n-8) {
				return false // the number has more bytes than needed
			}
			at += int(n)
		case n == 0xff:
			values[i] = math.MaxUint64
		default:
			return false
		}
	}
	return at == end
}

// addMetricFast adds the rows of the metric event at an offset and returns the offset of the next
// record. It returns 0 and adds no row if [locationReader.add] must add the event.
func (lr *locationReader) addMetricFast(b []byte, at int, now int64) (next int) {
	id, count, at, end := plainMetric(b, at)
	if at == 0 {
		return 0
	}
	m := &lr.recentMetric
	if !m.known || m.id != id {
		lr.lookupMetric(id)
	}
	var values [fewValues]uint64
	if count == 0 || count > min(len(m.types), fewValues) || !plainMembers(b, at, end, m.types[:count], &values) {
		return 0
	}
	o, members := &lr.b, lr.d.defs.Conventions.MetricMembers
	for i := range count {
		o.Time, o.Kind, o.Ref = append(o.Time, now), append(o.Kind, trace.Metric), append(o.Ref, m.list[i])
		if o.Op = append(o.Op, values[i]); members {
			o.Op = append(o.Op, uint64(i))
		}
		o.OpRow, o.OpEnd = append(o.OpRow, uint32(len(o.Time)-1)), append(o.OpEnd, uint32(len(o.Op)))
	}
	return end
}

// lookupMetric looks up a metric by the location's id. The fast path does not accept a metric whose
// values have other types in the file than in the model, as those of a Float32 have.
func (lr *locationReader) lookupMetric(id uint64) {
	m := &lr.recentMetric
	*m = recentMetric{id: id, known: true, list: lr.d.metrics[lr.r.mapped(Metrics, id)]}
	for _, i := range m.list {
		typ := uint8(0)
		if t := lr.d.defs.Metrics.At(i).Type; t != trace.Float32 {
			typ = uint8(metricType(t))
		}
		m.types = append(m.types, typ)
	}
}
