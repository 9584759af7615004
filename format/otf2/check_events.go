package otf2

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// statedExtent is the begin and the length of a trace as stated in the clock properties.
type statedExtent struct{ begin, length uint64 }

// outsideCounter counts events inside and outside of the extent that the clock properties state.
type outsideCounter struct {
	statedExtent
	n, out    uint64
	far       uint64 // number of events whose distance from the extent exceeds the stated length
	farOffset int64  // offset of the first of these events
	time      uint64
}

// add counts an event by its time. at is the offset of its record.
func (o *outsideCounter) add(t uint64, at int64) {
	o.n++
	after := t - o.begin
	if t >= o.begin && after <= o.length {
		return
	}
	o.out++
	if before := o.begin - t; t >= o.begin && after-o.length > o.length || t < o.begin && before > o.length {
		if o.far == 0 {
			o.farOffset, o.time = at, t
		}
		o.far++
	}
}

// hasFewFarOutside reports whether at most a tenth of the events are outside of the stated extent and at least
// one of them is far outside. EZTrace states lengths that are too short: many events are then outside, but
// none is far outside.
func (o *outsideCounter) hasFewFarOutside() bool { return o.length > 0 && o.far > 0 && o.out*10 <= o.n }

// checkEvents counts the events of a location, compares their count with the numbers in the location's
// chunks, and checks the bytes and values of each event. It reads the events unless a scan has checked
// them.
func (c *checker) checkEvents(ctx context.Context, l locationDefinition) error {
	if x, ok := c.read.Load(l.id); ok {
		return x.(*eventChecker).end(c, l)
	}
	r, err := c.a.Events(l.id, EventOptions{})
	unread := c.lookup(Locations, l.id) == trace.NoRef // a location for other tools, which the decoder does not read
	if unread {
		if err := reportDefect(c.opt, err); err != nil {
			return err
		}
	}
	if r == nil {
		return nil // the decoder has reported this error and the defects of the location's definitions
	}
	defer r.Close()
	x := newEventChecker(c, r, l.id)
	for steps := 0; ; steps++ {
		x.plain.read(&x.count, &x.times, r.c.size)
		if steps&0xff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		e, err := r.Next()
		if err == io.EOF {
			return x.end(c, l)
		}
		var bad *FileError
		if err != nil && !errors.As(err, &bad) {
			return err
		}
		if err != nil {
			x.count.damaged = true
			if unread { // otherwise the decoder has reported this error
				if err := reportDefect(c.opt, err); err != nil {
					return err
				}
			}
			continue
		}
		if err := x.add(e); err != nil {
			return err
		}
	}
}

// eventChecker checks the events of a location.
type eventChecker struct {
	unusualDefinitions bool // see localDefinitions
	plain              fastChecker
	count              recordCounter
	times              outsideCounter
}

// newEventChecker returns a checker of the events that r reads.
func newEventChecker(c *checker, r *EventReader, location uint64) *eventChecker {
	return &eventChecker{unusualDefinitions: r.local.unusual,
		plain: fastChecker{c: c, r: r, location: location, comm: undefined64, metric: undefined64},
		count: recordCounter{begin: -1}, times: outsideCounter{statedExtent: c.ranks.stated}}
}

// add checks the event that the reader has read last.
func (ec *eventChecker) add(e *Event) error {
	c, r := ec.plain.c, ec.plain.r
	ec.count.n++
	ec.times.add(e.Time, e.Offset)
	if err := c.checkEvent(r, ec.plain.location, e); err != nil {
		return err
	}
	return c.checkNumber(r.c, &ec.count, e)
}

// end makes the checks that are possible only after all events of the location.
func (ec *eventChecker) end(c *checker, l locationDefinition) error {
	k, times := ec.plain.r.c, &ec.times
	if times.hasFewFarOutside() {
		if err := c.report("otf2.trace-length", trace.Warning, k.path, times.farOffset,
			fmt.Sprintf("an event at %d", times.time),
			fmt.Sprintf("times from %d to %d, as in the clock properties and in nearly all events of the location", times.begin,
				times.begin+times.length)); err != nil {
			return err
		}
	}
	if err := c.checkLastNumber(k, &ec.count); err != nil {
		return err
	}
	if ec.count.n != l.events && !ec.count.damaged {
		return c.report("otf2.counts", trace.Note, c.a.path+".def", l.at,
			fmt.Sprintf("location %d with %s", l.id, plural.Of(l.events, "event")), fmt.Sprintf("%d, the actual number",
				ec.count.n))
	}
	return nil
}

// fastChecker checks events of frequent kinds without decoding them into an [Event]: visits,
// messages, collective operations and metrics. It stops before the first event that has another
// kind, that may be defective, or that is near the end of the buffered part of the file.
type fastChecker struct {
	c        *checker
	r        *EventReader
	location uint64
	comm     uint64 // the last communicator that was looked up, as an id of the location
	ranks    *printComm
	known    bool // whether the communicator is defined
	metric   uint64
	types    []uint8 // types of the metric's members; empty if its events need the full check
}

// fastCheckEvents selects the events, besides metrics, that fastChecker can check. Their fields are numbers
// that may have any value, enumerations, communicators, and ranks in communicators.
var fastCheckEvents = func() (l [len(eventTypes)]bool) {
	for id := range l {
		l[id] = plainEvents[id]
		for i, f := range eventTypes[id].fields {
			l[id] = l[id] && f.show != showFlags && (f.table == noTable || f.table == Comms || i == eventKinds[id].ref)
		}
	}
	return l
}()

// read checks events before an offset of the file and counts them. The first event of the chunk must have been checked
// already.
func (q *fastChecker) read(x *recordCounter, times *outsideCounter, to int64) {
	r, k := q.r, q.r.c
	if k.end == 0 || k.big || x.damaged || x.begin != k.chunkNumber() || r.ended || k.last < r.number {
		return
	}
	b, at := k.part, k.at
	t, v := r.time, plainValues{}
	n, most := uint64(0), k.last-r.number
	const timed, least = timeSize, 6 // size of a time record, and the number of bytes after it that must be buffered
	stop := int(min(to-k.base, int64(len(b))))
	for n < most && at < stop && at+timed+least <= len(b) {
		now, from := t, at // of the event
		if b[at] == timestampRecord {
			if now = binary.LittleEndian.Uint64(b[at+1:]); unusualTime(now, t) {
				break
			}
			if from += timed; from == stop {
				at, t = from, now
				break
			}
		}
		id, next := b[from], 0
		if size := int(b[from+1]); (id == enter || id == leave) && size <= 4 && (size == 0 || b[from+1+size] != 0) {
			next = from + 2 + size // the decoder checks the region
		} else if id == metricEvent {
			next = q.checkMetricValues(b, from)
		} else if next = plainRecord(b, from, &v); next > 0 && !(fastCheckEvents[id] && q.valuesValid(&eventTypes[id], &v)) {
			next = 0
		}
		if next == 0 {
			break
		}
		times.add(r.clock.correct(now), k.base+int64(from))
		at, t = next, now
		n++
	}
	k.at, r.time = at, t
	x.n += n
	r.number += n
}

// valuesValid reports whether the values of an event are valid, so that the full check can be
// skipped.
func (q *fastChecker) valuesValid(t *recordType, v *plainValues) bool {
	if t.noLength {
		return true
	}
	for i := range t.fields {
		f := &t.fields[i]
		switch {
		case f.show == showEnum && (v[i] >= uint64(len(f.words)) || f.words[v[i]] == ""):
			return false
		case f.table == Comms:
			if q.lookupComm(v[i]); !q.known {
				return false
			}
		case f.show == showRank || f.show == showRoot:
			if v[i] >= firstNonRank {
				continue
			}
			if q.lookupComm(v[f.other]); q.ranks == nil {
				continue
			}
			if _, ok := q.ranks.location(q.location, v[i]); !ok {
				return false
			}
		}
	}
	return true
}

// checkMetricValues checks the metric event at an offset and returns the offset of the next record,
// or 0 if the event needs the full check.
func (q *fastChecker) checkMetricValues(b []byte, at int) (next int) {
	id, count, at, end := plainMetric(b, at)
	if at == 0 {
		return 0
	}
	if q.metric != id {
		q.metric, q.types = id, q.types[:0]
		for _, member := range q.c.ranks.members[q.r.mapped(Metrics, id)] {
			m := q.c.ranks.metrics[member]
			if m == nil || len(q.types) == fewValues {
				q.types = q.types[:0]
				break
			}
			q.types = append(q.types, uint8(m[5]))
		}
	}
	var values [fewValues]uint64
	if count == 0 || count != len(q.types) || !plainMembers(b, at, end, q.types, &values) {
		return 0
	}
	return end
}

// lookupComm looks up a communicator by the location's id.
func (q *fastChecker) lookupComm(comm uint64) {
	if comm == q.comm {
		return
	}
	global := q.r.mapped(Comms, comm)
	q.comm, q.known, q.ranks = comm, q.c.defined(Comms, global), q.c.ranks.comm(global)
}

// checkEvent checks an event, or a record of a snapshot: its bytes, attributes and values.
func (c *checker) checkEvent(r *EventReader, location uint64, e *Event) error {
	t := typeByID(r.types, e.ID)
	wrong := func(rule, found, expected string) error {
		what := fmt.Sprintf("record %d", e.ID)
		if t != nil {
			what = t.name
		}
		return c.report(rule, trace.Warning, r.c.path, e.Offset, what+" with "+found, expected)
	}
	if r.extraBytes > 0 {
		if err := wrong("otf2.record-bytes", fmt.Sprintf("%s after its fields", plural.Of(r.extraBytes, "byte")),
			"none"); err != nil {
			return err
		}
	}
	if r.paddedNumbers {
		if err := wrong("otf2.record-bytes", "a number whose first byte is 0",
			"a number without unnecessary bytes"); err != nil {
			return err
		}
	}
	if r.missingFields {
		if err := wrong("otf2.record-bytes", "no bytes for its last fields", "all of them"); err != nil {
			return err
		}
	}
	for _, a := range e.Attributes {
		typ, ok := c.ranks.attributes[uint64(a.ID)]
		var err error
		switch t := tableOf(uint64(a.Type)); {
		case !ok:
			err = wrong("otf2.undefined", fmt.Sprintf("attribute %d, which the trace does not define", a.ID), "a defined one")
		case typ != uint64(a.Type) && typ != 0 && (tableOf(typ) == noTable || a.Type > typeUint64):
			// Weft itself writes numbers for references that have no target in a trace of another
			// format.
			err = wrong("otf2.value", fmt.Sprintf("a value of type %d for attribute %d", a.Type, a.ID),
				fmt.Sprintf("type %d, as in its definition", typ))
		case t != noTable && !c.defined(t, a.Value):
			err = wrong("otf2.undefined", fmt.Sprintf("%s %d as attribute, which the trace does not define",
				tableNames[t], a.Value), "a defined one")
		}
		if err != nil {
			return err
		}
	}
	if t == nil || t.noLength {
		return nil
	}
	id, values, reported := e.ID, e.Values, -1
	if t.event == 0 {
		reported = eventKinds[id].ref // the decoder checks this field
	} else {
		id, values = t.event, values[1:] // leave out the time of the repeated event
	}
	for i, v := range e.Values {
		f := &field{table: noTable}
		if i < len(t.fields) {
			f = &t.fields[i]
		} else if id != metricEvent {
			f = &t.each[(i-len(t.fields))%len(t.each)]
		}
		var err error
		switch {
		case f.show == showEnum && (v >= uint64(len(f.words)) || f.words[v] == ""):
			err = wrong("otf2.value", fmt.Sprintf("%s %d", f.name, v), "a value of OTF2 3.0")
		case f.show == showFlags && v>>len(f.words) != 0:
			err = wrong("otf2.value", fmt.Sprintf("%s 0x%x", f.name, v), "flags of OTF2 3.0")
		case f.table != noTable && i != reported && !c.defined(f.table, v):
			err = wrong("otf2.undefined", fmt.Sprintf("%s %d, which the trace does not define", f.name, v), "a defined one")
		case (f.show == showRank || f.show == showRoot) && v < firstNonRank && c.ranks.comms[e.Values[f.other]] != nil:
			if _, ok := c.ranks.comm(e.Values[f.other]).location(location, v); !ok {
				err = wrong("otf2.undefined", fmt.Sprintf("%s %d", f.name, v), "a rank of its communicator")
			}
		}
		if err != nil {
			return err
		}
	}
	if id != metricEvent || t.event == 0 && values[1] == 0 { // the decoder reports metric events without values
		return nil
	}
	return c.checkMetric(values, wrong)
}

// checkMetric checks the number and the types of the values of a metric event.
func (c *checker) checkMetric(v []uint64, wrong func(rule, found, expected string) error) error {
	members := c.ranks.members[v[0]]
	if n := int(v[1]); n < len(members) {
		return wrong("otf2.value", fmt.Sprintf("%s of metric %d", plural.Of(n, "value"), v[0]),
			fmt.Sprintf("%d, as in its definition", len(members)))
	}
	for i := range min(int(v[1]), len(members)) {
		if m := c.ranks.metrics[members[i]]; m != nil && m[5] != v[2+2*i] {
			return wrong("otf2.value", fmt.Sprintf("a value of type %d for metric %d", v[2+2*i], v[0]),
				fmt.Sprintf("type %d, as in its definition", m[5]))
		}
	}
	return nil
}

// firstNonRank is the first number that is not a rank. The numbers from firstNonRank on are negative as 32-bit
// numbers: MPI uses them for the null process and the wildcard, and OTF2 for special roots.
const firstNonRank = 1<<32 - 16

// defined reports whether a reference is undefined on purpose or names an existing definition.
func (c *checker) defined(t Table, v uint64) bool {
	return v == undefined32 && t != Locations || v == undefined64 || c.ranks.has(t, v)
}
