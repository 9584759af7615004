package otf2

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/weft-trace/weft/trace"
)

// extent is when a trace begins and how long it is, as the clock properties say.
type extent struct{ begin, length uint64 }

// outside counts events by whether they are in the time that the clock properties state.
type outside struct {
	extent
	n, out uint64
	far    uint64 // that are more than the stated length away from it
	at     int64  // of the first of these
	time   uint64
}

// add counts an event at a time, whose record is at an offset.
func (x *outside) add(t uint64, at int64) {
	x.n++
	after := t - x.begin
	if t >= x.begin && after <= x.length {
		return
	}
	x.out++
	if before := x.begin - t; t >= x.begin && after-x.length > x.length || t < x.begin && before > x.length {
		if x.far == 0 {
			x.at, x.time = at, t
		}
		x.far++
	}
}

// odd reports whether few events are far outside. EZTrace states lengths that are too
// short, so that many are outside, and not far.
func (x *outside) odd() bool { return x.length > 0 && x.far > 0 && x.out*10 <= x.n }

// events counts those of a location, holds the numbers in its chunks against them, and
// looks at the bytes and values of each.
func (c *checker) events(ctx context.Context, l location, stated extent) error {
	r, _ := c.a.Events(l.id, EventOptions{})
	if r == nil {
		return nil // which has been reported, as what is wrong with its definitions
	}
	defer r.Close()
	x := numbers{begin: -1}
	times := outside{extent: stated}
	q := quick{c: c, r: r, location: l.id, comm: undefined64, metric: undefined64}
	for steps := 0; ; steps++ {
		q.read(&x, &times)
		if steps&0xff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		e, err := r.Next()
		if err == io.EOF {
			break
		}
		var bad *FileError
		if err != nil && !errors.As(err, &bad) {
			return err
		}
		if err != nil {
			x.damaged = true // and has been reported
			continue
		}
		x.n++
		times.add(e.Time, e.Offset)
		if err := c.event(r, l.id, e); err != nil {
			return err
		}
		if err := c.number(r.c, &x, e); err != nil {
			return err
		}
	}
	if times.odd() {
		if err := c.report("otf2.trace-length", trace.Warning, r.c.path, times.at, fmt.Sprintf("an event at %d", times.time),
			fmt.Sprintf("times of %d to %d, as the clock properties say and nearly all events of the location are", stated.begin,
				stated.begin+stated.length)); err != nil {
			return err
		}
	}
	if err := c.last(r.c, &x); err != nil {
		return err
	}
	if x.n != l.events && !x.damaged {
		return c.report("otf2.counts", trace.Note, c.a.path+".def", l.at,
			fmt.Sprintf("location %d with %d events", l.id, l.events), fmt.Sprintf("%d, which is how many it has", x.n))
	}
	return nil
}

// quick reads events that have nothing wrong about them and that many traces consist of, without
// making them: visits, messages, collective operations and metrics. It stops before the first event that is not such a one, or
// that is near the end of what the reader has in memory.
type quick struct {
	c        *checker
	r        *EventReader
	location uint64
	comm     uint64 // the communicator that was looked up last, as the location calls it
	ranks    *printComm
	known    bool // that it is defined
	metric   uint64
	types    []uint8 // of its members, none if events of it are to be looked at in full
}

// quickEvents tells which these events are, beside metrics: their fields are numbers that can have any
// value, words, communicators, and ranks in these.
var quickEvents = func() (l [len(eventTypes)]bool) {
	for id := range l {
		l[id] = plainEvents[id]
		for i, f := range eventTypes[id].fields {
			l[id] = l[id] && f.show != showFlags && (f.table == noTable || f.table == Comms || i == eventKinds[id].ref)
		}
	}
	return l
}()

// read reads events and counts them. A chunk must have been begun and looked at.
func (q *quick) read(x *numbers, times *outside) {
	r, k := q.r, q.r.c
	if k.end == 0 || k.big || x.damaged || x.begin != k.number() || r.ended || k.last < r.number {
		return
	}
	b, at := k.part, k.at
	t, v := r.time, plainValues{}
	n, most := uint64(0), k.last-r.number
	const timed, least = timeSize, 4 // bytes of a time, and those that are looked at behind it
	for n < most && at+timed+least <= len(b) {
		k.at, r.time = at, t // where to stop
		if b[at] == timestampRecord {
			next := binary.LittleEndian.Uint64(b[at+1:])
			if oddTime(next, t) {
				break
			}
			t = next
			at += timed
		}
		id, next := b[at], 0
		if id == metricEvent {
			next = q.values(b, at)
		} else if next = plainRecord(b, at, &v); next > 0 && !(quickEvents[id] && q.right(&eventTypes[id], &v)) {
			next = 0
		}
		if next == 0 {
			break
		}
		times.add(r.clock.correct(t), k.base+int64(at))
		at = next
		n++
		k.at, r.time = at, t
	}
	x.n += n
	r.number += n
}

// right reports whether nothing about the values of an event is to be looked at in full.
func (q *quick) right(t *recordType, v *plainValues) bool {
	if t.bare {
		return true
	}
	for i := range t.fields {
		f := &t.fields[i]
		switch {
		case f.show == showEnum && (v[i] >= uint64(len(f.words)) || f.words[v[i]] == ""):
			return false
		case f.table == Comms:
			if q.look(v[i]); !q.known {
				return false
			}
		case f.show == showRank || f.show == showRoot:
			if v[i] >= noRank {
				continue
			}
			if q.look(v[f.other]); q.ranks == nil {
				continue
			}
			if _, ok := q.ranks.location(q.location, v[i]); !ok {
				return false
			}
		}
	}
	return true
}

// values looks at the metric event at a place and returns where the next record is; 0 if the event
// is to be looked at in full.
func (q *quick) values(b []byte, at int) (next int) {
	id, count, at, end := plainMetric(b, at)
	if at == 0 {
		return 0
	}
	if q.metric != id {
		q.metric, q.types = id, q.types[:0]
		for _, member := range q.c.names.members[q.r.mapped(Metrics, id)] {
			m := q.c.names.metrics[member]
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

// look looks up a communicator.
func (q *quick) look(comm uint64) {
	if comm == q.comm {
		return
	}
	global := q.r.mapped(Comms, comm)
	q.comm, q.known, q.ranks = comm, q.c.defined(Comms, global), q.c.names.comm(global)
}

// event looks at what an event is made of.
func (c *checker) event(r *EventReader, location uint64, e *Event) error {
	wrong := func(rule, found, expected string) error {
		what := fmt.Sprintf("event %d", e.ID)
		if t := known(eventTypes[:], e.ID); t != nil {
			what = t.name
		}
		return c.report(rule, trace.Warning, r.c.path, e.Offset, what+" with "+found, expected)
	}
	if r.spare > 0 {
		if err := wrong("otf2.record-bytes", fmt.Sprintf("%d bytes behind its fields", r.spare), "none"); err != nil {
			return err
		}
	}
	if r.loose {
		if err := wrong("otf2.record-bytes", "a number whose first byte is 0",
			"a number of as many bytes as it needs"); err != nil {
			return err
		}
	}
	if r.short {
		if err := wrong("otf2.record-bytes", "no bytes for its last fields", "all of them"); err != nil {
			return err
		}
	}
	for _, a := range e.Attributes {
		typ, ok := c.types[uint64(a.ID)]
		var err error
		switch t := tableOf(uint64(a.Type)); {
		case !ok:
			err = wrong("otf2.undefined", fmt.Sprintf("attribute %d, which nothing defines", a.ID), "a defined one")
		case typ != uint64(a.Type) && typ != 0 && (tableOf(typ) == noTable || a.Type > typeUint64):
			// weft writes numbers for what a reference in another format's trace does not name.
			err = wrong("otf2.value", fmt.Sprintf("a value of type %d for attribute %d", a.Type, a.ID),
				fmt.Sprintf("type %d, as it is defined", typ))
		case t != noTable && !c.defined(t, a.Value):
			err = wrong("otf2.undefined", fmt.Sprintf("%s %d as attribute, which nothing defines", tableNames[t], a.Value),
				"a defined one")
		}
		if err != nil {
			return err
		}
	}
	t := known(eventTypes[:], e.ID)
	if t == nil || t.bare {
		return nil
	}
	for i, v := range e.Values {
		f := &field{table: noTable}
		if i < len(t.fields) {
			f = &t.fields[i]
		} else if e.ID != metricEvent {
			f = &t.each[(i-len(t.fields))%len(t.each)]
		}
		var err error
		switch {
		case f.show == showEnum && (v >= uint64(len(f.words)) || f.words[v] == ""):
			err = wrong("otf2.value", fmt.Sprintf("%s %d", f.name, v), "one that OTF2 3.0 has")
		case f.show == showFlags && v>>len(f.words) != 0:
			err = wrong("otf2.value", fmt.Sprintf("%s 0x%x", f.name, v), "flags that OTF2 3.0 has")
		case f.table != noTable && i != eventKinds[e.ID].ref && !c.defined(f.table, v):
			err = wrong("otf2.undefined", fmt.Sprintf("%s %d, which nothing defines", f.name, v), "a defined one")
		case (f.show == showRank || f.show == showRoot) && v < noRank && c.names.comms[e.Values[f.other]] != nil:
			if _, ok := c.names.location(location, e.Values[f.other], v); !ok {
				err = wrong("otf2.undefined", fmt.Sprintf("%s %d", f.name, v), "a rank of its communicator")
			}
		}
		if err != nil {
			return err
		}
	}
	if e.ID != metricEvent {
		return nil
	}
	return c.metric(e, wrong)
}

// metric looks at the number and the types of values.
func (c *checker) metric(e *Event, wrong func(rule, found, expected string) error) error {
	members := c.names.members[e.Values[0]]
	if n := int(e.Values[1]); n < len(members) {
		return wrong("otf2.value", fmt.Sprintf("%d values of metric %d", n, e.Values[0]),
			fmt.Sprintf("%d, as it is defined", len(members)))
	}
	for i := range min(int(e.Values[1]), len(members)) {
		if m := c.names.metrics[members[i]]; m != nil && m[5] != e.Values[2+2*i] {
			return wrong("otf2.value", fmt.Sprintf("a value of type %d for metric %d", e.Values[2+2*i], e.Values[0]),
				fmt.Sprintf("type %d, as it is defined", m[5]))
		}
	}
	return nil
}

// noRank is the first of the numbers that are no ranks: MPI has negative ones for nobody
// and for anybody, OTF2 for roots of both sides.
const noRank = 1<<32 - 16

// defined reports whether something defines what a reference names, or it names nothing.
func (c *checker) defined(t Table, v uint64) bool {
	return v == undefined32 && t != Locations || v == undefined64 || c.names.get(t, v) != nil
}
