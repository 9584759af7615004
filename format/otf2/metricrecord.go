package otf2

import (
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// metricRecord is a metric event whose values are in successive rows of a trace of another format. Such a trace was an
// archive once, and has one metric for each member of a class of metrics.
type metricRecord struct {
	event    Event
	location uint32
	pending  bool
	first    uint32   // metric of the first value
	joined   []uint32 // indexed by metric: the result of joinedMetrics if an event began with the metric, or 0
	classes  metricClasses
}

// metricClasses holds the classes of the written archive: one for each metric, or for metrics that are the members of
// one class. A member also has a class of its own if something refers to it alone. The ids are successive, as
// otf2-print expects.
type metricClasses struct {
	list []uint32 // first metric of each class, by id
	ids  []uint64 // indexed by metric: one more than the id of the class that begins with the metric, or 0
	next uint32   // first metric without a class, which is not a further member of a class either
}

// add adds the class that begins with a metric.
func (m *metricClasses) add(metric uint32) {
	for uint32(len(m.ids)) <= metric {
		m.ids = append(m.ids, 0)
	}
	m.list = append(m.list, metric)
	m.ids[metric] = uint64(len(m.list))
}

// defineThrough adds the classes that begin with a metric or with an earlier one.
func (m *metricClasses) defineThrough(d *trace.Definitions, metric uint32) {
	for m.next <= metric {
		n := joinedMetrics(d, m.next)
		m.add(m.next)
		m.next += n
	}
}

// class returns the id of the class that begins with a metric.
func (e *encoder) class(metric uint32) uint64 {
	m := &e.metrics.classes
	m.defineThrough(e.defs, metric)
	if metric >= uint32(len(m.ids)) || m.ids[metric] == 0 {
		m.add(metric)
	}
	return m.ids[metric] - 1
}

// joinedMetrics returns the number of metrics, from i on, that are the members of one class or instance: the first
// member and those that follow it. It is 1 for other metrics, and for traces that do not state the members.
func joinedMetrics(d *trace.Definitions, i uint32) (n uint32) {
	first := memberOf(d.Metrics.At(i))
	n = 1
	if !d.Conventions.MetricMembers || first[0] == unknownID || first[1] != 0 {
		return n
	}
	for i+n < uint32(d.Metrics.Len()) && memberOf(d.Metrics.At(i+n)) == [2]uint64{first[0], uint64(n)} && n < 255 {
		n++
	}
	return n
}

// joinMetric adds a value to the current metric event, or begins such an event. It reports whether the event holds the
// whole row. It first writes the current event if the row does not belong to that event.
func (e *encoder) joinMetric(c *trace.Cursor) (joined bool, err error) {
	r, ops := &e.metrics, c.Ops()
	wanted := c.Kind() == trace.Metric && c.Ref() != trace.NoRef && len(ops) == 2 && !c.Derived()
	x := &r.event
	keys, _ := c.Attrs()
	if wanted && r.pending && r.location == c.Location() && x.Time == e.event.Time && len(keys) == 0 &&
		uint64(c.Ref()) == uint64(r.first)+x.Values[1] && ops[1] == x.Values[1] &&
		x.Values[1] < uint64(r.joined[r.first]) {
		if typ, value, exact := e.metricValue(c.Ref(), ops[0]); exact {
			x.Values[1]++
			x.Values = append(x.Values, typ, value)
			return true, nil
		}
	}
	if err := e.flushMetrics(); err != nil || c.Kind() != trace.Metric {
		return false, err
	}
	if !wanted || ops[1] != 0 {
		return false, nil
	}
	for uint32(len(r.joined)) <= c.Ref() {
		r.joined = append(r.joined, 0)
	}
	if r.joined[c.Ref()] == 0 {
		r.joined[c.Ref()] = joinedMetrics(e.defs, c.Ref())
	}
	typ, value, exact := e.metricValue(c.Ref(), ops[0])
	e.stated = trace.NoRef
	if !exact || r.joined[c.Ref()] < 2 || !e.attributes(c) {
		e.event.Attributes = e.event.Attributes[:0]
		return false, nil
	}
	*x = Event{Record: Record{ID: metricEvent, Values: append(x.Values[:0], e.class(c.Ref()), 1, typ, value)},
		Time: e.event.Time, Attributes: append(x.Attributes[:0], e.event.Attributes...)}
	r.location, r.first, r.pending = c.Location(), c.Ref(), true
	return true, nil
}

// metricValue returns the type and the value of a metric as a metric event holds them. exact is false if the value
// changes.
func (e *encoder) metricValue(metric uint32, v uint64) (typ, value uint64, exact bool) {
	defined := e.defs.Metrics.At(metric).Type
	if exact = true; defined == trace.Float32 {
		v, exact = toDouble(v)
	}
	return metricType(defined), v, exact
}

// flushMetrics writes the current metric event.
func (e *encoder) flushMetrics() error {
	r := &e.metrics
	if !r.pending {
		return nil
	}
	r.pending = false
	return e.location(r.location).Write(&r.event)
}

// defineClasses writes the classes of all metrics.
func (e *encoder) defineClasses() {
	d, m := e.defs, &e.metrics.classes
	if n := d.Metrics.Len(); n > 0 {
		m.defineThrough(d, uint32(n)-1)
	}
	begun := uint32(0) // first metric after those of the classes with several members so far
	for id, i := range m.list {
		n := uint32(1)
		if i >= begun {
			n = joinedMetrics(d, i)
			begun = i + n
		}
		v := []uint64{uint64(id), uint64(n)}
		for k := range n {
			v = append(v, uint64(i+k))
		}
		occurrence, kind := uint64(2), 0
		if word, ok := attr(d.Metrics.At(i).Attrs, format.Occurrence); ok && slices.Contains(occurrences, word) {
			occurrence = uint64(slices.Index(occurrences, word))
		}
		if word, ok := attr(d.Metrics.At(i).Attrs, format.RecorderKind); ok {
			kind = max(0, slices.Index(recorderKinds, word))
		}
		if e.err == nil {
			e.err = e.w.Define(&Record{ID: defMetricClass, Values: append(v, occurrence, uint64(kind))})
		}
	}
}

// addMetricValue adds the value of one member of a metric to the current metric event. The values of an event
// are in successive rows.
func (e *encoder) addMetricValue(c *trace.Cursor) error {
	o, ops := e.original, c.Ops()
	pair := e.member(c.Ref())
	class, member := pair[0], pair[1]
	x := &o.metric
	same := o.metricPending && o.metricLocation == c.Location() && x.Time == e.event.Time && x.Values[0] == class
	if !same || member != x.Values[1] {
		if err := e.flushMetric(); err != nil {
			return err
		}
		if member != 0 || class == unknownID || len(ops) == 0 {
			e.loss.Add("metric", "", format.Lost, "values that precede this one in the same record are missing", 1)
			return nil
		}
		x.ID, x.Time, x.Values, x.Attributes = metricEvent, e.event.Time, append(x.Values[:0], class, 0), x.Attributes[:0]
		o.metricLocation, o.metricPending = c.Location(), true
		e.setAttributes(c, x)
	}
	x.Values[1]++
	x.Values = append(x.Values, metricType(e.defs.Metrics.At(c.Ref()).Type), ops[0])
	return nil
}

// member returns the class or the instance of a metric, and the position of the metric in it.
func (e *encoder) member(metric uint32) [2]uint64 {
	o := e.original
	for uint32(len(o.members)) <= metric {
		o.members = append(o.members, memberOf(e.defs.Metrics.At(uint32(len(o.members)))))
	}
	return o.members[metric]
}

// memberOf returns the class or the instance in the id of a metric, and the position of the metric in
// it.
func memberOf(x *trace.MetricDef) (pair [2]uint64) {
	class, member, ok := strings.Cut(x.ID, "/")
	pair[0], _ = strconv.ParseUint(class, 10, 64)
	if pair[1], _ = strconv.ParseUint(member, 10, 64); !ok {
		pair[0] = unknownID
	}
	return pair
}

// flushMetric writes the current metric event.
func (e *encoder) flushMetric() error {
	o := e.original
	if !o.metricPending {
		return nil
	}
	o.metricPending = false
	return e.putEvent(o.metricLocation, &o.metric)
}
