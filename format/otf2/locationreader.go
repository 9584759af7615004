package otf2

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/internal/rowsort"
	"github.com/weft-trace/weft/trace"
)

// locationReader delivers the events of a location as batches.
type locationReader struct {
	d           *decoder
	r           *EventReader
	id          uint64
	loc         uint32
	sel         trace.Selection
	speculative bool
	rows        int // maximum number of rows of a batch
	last        int64
	end         bool
	sufficient  bool // the selection needs no further events of this location
	b           trace.Batch
	mustSort    bool // the times decrease somewhere, and sorting was requested
	check       *eventCheck
	// sorter sorts the rows. It exists while the location is read.
	sorter *rowsort.Sorter
	sorted *rowsort.Rows
	// recent is a cache of regions, indexed by the low bits of the location's region id.
	recent       [256]struct{ id, region uint32 }
	recentComm   recentComm
	recentMetric recentMetric
	recentRanks  [1 << rankBits]recentRank
	packed       []byte // room for the packed row of an event
	failed       error  // error of addOther, which does not return it because that would slow down fillFast
}

// errStandIn ends a parallel scan in which an id needs a stand-in.
var errStandIn = errors.New("otf2: a stand-in is needed")

// location opens the events of a location. It returns nil if the file is missing. If ended is not nil, the new
// reader reuses the memory of ended, because there may be many short files.
func (d *decoder) location(id uint64, sel trace.Selection, try bool, ended *locationReader) (*locationReader, error) {
	r, err := d.a.openEvents(id, d.opt.At(d.lookup(Locations, id)))
	if r == nil || err != nil {
		return nil, err
	}
	x := ended
	if x == nil {
		x = &locationReader{}
	} else {
		r.c.room = x.r.c.room
	}
	x.d, x.r, x.id, x.loc, x.sel, x.speculative = d, r, id, d.lookup(Locations, id), sel, try
	x.rows, x.last, x.end, x.sufficient = trace.BatchRows, math.MinInt64, false, false
	x.sorter, x.sorted, x.failed = nil, nil, nil
	if x.mustSort = d.unordered[id]; x.mustSort {
		x.sel = trace.Everything()
	} else if sel.From > 0 && uint64(sel.From) <= math.MaxInt64-d.base {
		r.Seek(uint64(sel.From) + d.base)
		if p, ok := d.places.Load(id); ok && p.(*scanPlace).last < sel.From && p.(*scanPlace).chunk >= r.start {
			r.resume(p.(*scanPlace))
			x.last = p.(*scanPlace).last
		}
	}
	x.check = x.newEventCheck()
	for i := range x.recent {
		x.recent[i].id = ^uint32(i) // initialise the slot with an id that belongs to another slot
	}
	x.recentComm, x.recentRanks, x.recentMetric = recentComm{}, [len(x.recentRanks)]recentRank{}, recentMetric{}
	return x, nil
}

// addTo adds all events to a sorter and closes the file.
func (lr *locationReader) addTo(ctx context.Context, sorter *rowsort.Sorter) error {
	defer lr.r.Close()
	for {
		lr.b.Reset(lr.loc)
		b, err := lr.fill(ctx)
		if b == nil || err != nil {
			return err
		}
		if err := sorter.Add(b); err != nil {
			return err
		}
	}
}

// scan delivers all events and closes the file.
func (lr *locationReader) scan(ctx context.Context, sink format.Sink) error {
	defer lr.r.Close()
	if lr.mustSort {
		lr.sorter = rowsort.New(lr.d.opt.SortMemory())
		defer lr.sorter.Close()
	}
	for {
		b, err := lr.Next(ctx)
		if b == nil || err != nil {
			return err
		}
		if err := sink.Batch(b); err != nil {
			return err
		}
	}
}

// Next returns the next batch, or nil at the end.
func (lr *locationReader) Next(ctx context.Context) (*trace.Batch, error) {
	if lr.sorter == nil {
		lr.b.Reset(lr.loc)
		return lr.fill(ctx)
	}
	if lr.sorted == nil {
		if err := lr.addTo(ctx, lr.sorter); err != nil {
			return nil, err
		}
		var err error
		if lr.sorted, err = lr.sorter.Sort(ctx, lr.loc); err != nil {
			return nil, err
		}
	}
	return lr.sorted.Next(ctx)
}

// pastSelection reports whether the last event is at or after the end of the selected times.
func (lr *locationReader) pastSelection() bool {
	return lr.last >= lr.sel.To && lr.sel.To != math.MaxInt64
}

// fill adds events to the current batch until it is full.
func (lr *locationReader) fill(ctx context.Context) (*trace.Batch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	lr.leavePlace()
	for lr.b.Len() < lr.rows && !lr.end {
		if lr.sufficient = lr.sufficient || lr.sel.ReachesOneEvent(&lr.b); lr.sufficient || lr.pastSelection() {
			lr.end = true // the following events are not selected
			break
		}
		if err := lr.fillChecked(); err != nil {
			return nil, err
		}
		if lr.b.Len() >= lr.rows {
			break
		}
		e, err := lr.r.Next()
		if err == io.EOF {
			// a reader of a chunk that is not the last does not know the number
			if lr.end = true; lr.r.ended && int(lr.loc) < len(lr.d.events) {
				lr.d.events[lr.loc].Store(lr.r.number)
			}
			lr.check.end(lr.r)
			break
		}
		lr.check.add(e, err)
		if err != nil {
			if err := reportDefect(lr.opt(), err); err != nil {
				return nil, err
			}
			continue
		}
		if err := lr.add(e); err != nil {
			return nil, err
		}
	}
	if lr.b.Len() == 0 {
		return nil, nil
	}
	return &lr.b, nil
}

// fillFast adds the times, plain events and metrics that follow, as long as their records are in
// the buffered part of the file and have the usual form. It leaves all other records to [EventReader.Next].
func (lr *locationReader) fillFast() error {
	r, c := lr.r, lr.r.c
	if c.big || r.again {
		return nil
	}
	const most = 16 // maximum number of bytes read for a record, including the first bytes of the next record
	part, at := c.part, c.at
	b := &lr.b
	time, number := r.time, r.number
	now, unusual := lr.modelTime(r.clock.correct(time))
	var v plainValues
	for !unusual && at+most <= len(part) && b.Len() < lr.rows {
		p := part[at : at+most]
		id := p[0]
		if id == timestampRecord {
			t := binary.LittleEndian.Uint64(p[1:])
			if now, unusual = lr.modelTime(r.clock.correct(t)); unusual || unusualTime(t, time) || p[9] == timestampRecord {
				break
			}
			time = t
			at += 9
			continue
		}
		n := uint(p[1])
		if id != enter && id != leave {
			next := 0
			if int(id) < len(plainKinds) && plainKinds[id] {
				if next = plainRecord(part, at, &v); next == 0 || !lr.addPlain(id, &v, now) {
					break
				}
			} else if next = lr.addOther(part, at, now); next == 0 {
				break
			}
			at, lr.last = next, now
			number++
			continue
		}
		if n > 4 {
			break
		}
		ref := binary.LittleEndian.Uint32(p[2:]) & uint32(1<<(8*n)-1)
		k := &lr.recent[uint8(ref)]
		if k.id != ref {
			region, ok := lr.region(ref)
			if !ok {
				break
			}
			k.id, k.region = ref, region
		}
		at += 2 + int(n)
		number++
		lr.last = now
		b.Time, b.Kind, b.Ref = append(b.Time, now), append(b.Kind, trace.Enter+trace.Kind(id-enter)), append(b.Ref, k.region)
	}
	c.at, r.time, r.number = at, time, number
	return lr.failed
}

// modelTime returns the time in the model. unusual is set if the time is out of range, or before the last time.
func (lr *locationReader) modelTime(t uint64) (now int64, unusual bool) {
	now = int64(t - lr.d.base)
	return now, t > math.MaxInt64 || now < lr.last
}

// region returns the index of the region with an id of the location. ok is false if the id is not defined.
func (lr *locationReader) region(ref uint32) (uint32, bool) {
	i := lr.d.lookup(Regions, lr.r.mapped(Regions, uint64(ref)))
	return i, i != trace.NoRef
}

// add adds an event to the batch.
func (lr *locationReader) add(e *Event) error {
	d := lr.d
	if e.Time > math.MaxInt64 {
		return lr.opt().Defect(&trace.Defect{Rule: "otf2.time-range", Severity: trace.Error, Position: lr.position(e),
			Found: fmt.Sprintf("an event at %d", e.Time), Expected: "a time of less than 2⁶³ ticks; weft skips the event"})
	}
	now := int64(e.Time - d.base)
	if now < lr.last {
		expected := "times that do not decrease; weft uses the later one"
		if lr.mustSort {
			expected = "times that do not decrease; weft sorts the events"
		}
		if err := lr.opt().Defect(&trace.Defect{Rule: "otf2.time-order", Severity: trace.Warning, Position: lr.position(e),
			Found: fmt.Sprintf("an event at %d after one at %d", e.Time, lr.last), Expected: expected}); err != nil {
			return err
		}
		if !lr.mustSort {
			now = lr.last
		}
	}
	lr.last = max(lr.last, now)
	if ok, err := lr.addRestored(e, now); ok || err != nil {
		return err
	}
	if int(e.ID) >= len(eventKinds) || eventKinds[e.ID].kind == trace.NoKind {
		return lr.addUnknown(e, now)
	}
	k := &eventKinds[e.ID]
	v := e.Values
	if len(v) > 1 && lr.isGeneric(e.ID, v[0], v[1]) {
		lr.b.Add(lr.loc, now, trace.Generic, uint32(v[1]))
		return lr.addAttributes(e)
	}
	if e.ID == metricEvent {
		return lr.addMetric(e, now)
	}
	ref := trace.NoRef
	if k.ref >= 0 {
		var err error
		if ref, err = lr.resolveRef(e, k.table, v[k.ref]); err != nil {
			return err
		}
	}
	lr.b.Add(lr.loc, now, k.kind, ref)
	var arguments []uint64
	if e.ID == programBegin {
		arguments = v[len(eventTypes[programBegin].fields):]
	}
	if len(k.ops) > 0 || len(arguments) > 0 {
		b := &lr.b
		b.OpRow = append(b.OpRow, uint32(b.Len()-1))
		for _, o := range k.ops {
			b.Op = append(b.Op, lr.operand(o, v))
		}
		if e.ID == bufferFlush {
			b.Op[len(b.Op)-1] -= d.base
		}
		for _, text := range arguments {
			b.Op = append(b.Op, lr.index(Strings, text))
		}
		b.OpEnd = append(b.OpEnd, uint32(len(b.Op)))
	}
	for _, o := range k.ops {
		if o.source != peer && o.source != target || lr.operand(o, v) != trace.Undefined || v[o.field] == undefined32 {
			continue
		}
		if err := lr.addAttribute(rankName, trace.Value{Type: trace.Uint32, Num: v[o.field]}); err != nil {
			return err
		}
	}
	if k.kind == trace.Parameter {
		if err := lr.addParameter(e); err != nil {
			return err
		}
	}
	if e.ID >= ompFork && e.ID <= ompTaskComplete {
		if err := lr.addAttribute(recordName, trace.Value{Type: trace.Uint8, Num: uint64(e.ID)}); err != nil {
			return err
		}
	}
	return lr.addAttributes(e)
}

// addAttribute adds an attribute that the model defines to the last row.
func (lr *locationReader) addAttribute(name string, v trace.Value) error {
	if _, ok := lr.d.model.attributes[attributeKey{name, v.Type}]; !ok && lr.speculative {
		return errStandIn
	}
	lr.b.AddAttr(lr.d.attribute(name, v.Type), v)
	return nil
}

// opt returns the options for reporting defects of the location.
func (lr *locationReader) opt() *format.ReadOptions { return lr.d.opt.At(lr.loc) }

// position returns the position of an event's record.
func (lr *locationReader) position(e *Event) trace.Position {
	return trace.Position{File: lr.r.c.path, Offset: e.Offset, Binary: true}
}

// resolveRef returns the index of a reference. It adds a stand-in for an undefined id.
func (lr *locationReader) resolveRef(e *Event, t Table, v uint64) (uint32, error) {
	d := lr.d
	if i := d.lookup(t, v); i != trace.NoRef || v == undefined32 && t != Regions {
		return i, nil
	}
	if lr.speculative {
		return 0, errStandIn
	}
	what := tableNames[t]
	if err := lr.opt().Defect(&trace.Defect{Rule: "otf2.undefined", Severity: trace.Warning, Position: lr.position(e),
		Found:    fmt.Sprintf("%s of %s %d, which the trace does not define", eventTypes[e.ID].name, what, v),
		Expected: "a defined one; weft uses a stand-in"}); err != nil {
		return 0, err
	}
	name := fmt.Sprintf("undefined %s %d", what, v)
	named := trace.Named{ID: id(v), Name: name}
	var i uint32
	switch t {
	case Regions:
		i = d.defs.Regions.Add(trace.Region{ID: id(v), Name: name})
	case Comms:
		i = d.defs.Communicator.Add(trace.Communicator{ID: id(v), Name: name, Set: trace.NoRef, Parent: trace.NoRef})
	case Parameters:
		if e.ID >= parameterString && e.ID <= parameterUnsigned {
			named.Attrs = attrList("type", parameterTypes[e.ID-parameterString])
		}
		i = d.defs.Parameters.Add(named)
	case Windows:
		i = d.defs.Windows.Add(named)
	case CallingContexts:
		i = d.defs.Contexts.Add(named)
	case IOHandles:
		i = d.defs.Handles.Add(named)
	case IOFiles:
		i = d.defs.Files.Add(named)
	default:
		return trace.NoRef, nil
	}
	d.index[t].set(v, i)
	d.standIns[standIn{t, v}] = true
	return i, nil
}

// index returns the operand for a reference to a definition.
func (lr *locationReader) index(t Table, v uint64) uint64 {
	if i := lr.d.defined(t, v); i != trace.NoRef {
		return uint64(i)
	}
	if v != undefined32 && t != Locations {
		lr.countUnkept()
	}
	return trace.Undefined
}

// operand returns the value of an operand of an event with the values v.
func (lr *locationReader) operand(o operand, v []uint64) uint64 {
	switch o.source {
	case constant:
		return o.value
	case reference:
		return lr.index(o.table, v[o.field])
	case peer:
		return lr.peer(v[o.field], lr.d.ranks.comm(v[o.other]))
	case target:
		return lr.peer(v[o.field], lr.d.ranks.communicators[Windows][v[o.other]])
	case root, optional:
		if v[o.field] == undefined32 {
			return trace.Undefined
		}
	}
	return v[o.field]
}

// peer returns the location with a rank in a communicator.
func (lr *locationReader) peer(rank uint64, comm *printComm) uint64 {
	if l, ok := comm.location(lr.id, rank); ok {
		return lr.index(Locations, l)
	}
	return trace.Undefined
}

// addMetric adds a row for each value of a metric event.
func (lr *locationReader) addMetric(e *Event, now int64) error {
	v := e.Values
	if v[1] == 0 {
		if lr.speculative {
			return errStandIn
		}
		return lr.opt().Defect(&trace.Defect{Rule: "otf2.value", Severity: trace.Warning, Position: lr.position(e),
			Found: fmt.Sprintf("0 values of metric %d", v[0]), Expected: "at least one; weft leaves the event out"})
	}
	metrics := lr.d.metrics[v[0]]
	if n := int(v[1]); n > len(metrics) {
		if lr.speculative {
			return errStandIn
		}
		if err := lr.opt().Defect(&trace.Defect{Rule: "otf2.undefined", Severity: trace.Warning, Position: lr.position(e),
			Found: fmt.Sprintf("%s of metric %d, which has %s", plural.Of(n, "value"), v[0], plural.Of(len(metrics),
				"member")),
			Expected: "at most the defined ones; weft uses stand-ins for the others"}); err != nil {
			return err
		}
		for i := len(metrics); i < n; i++ {
			typ := trace.Type(min(v[2+2*i], typeLocationGroup))
			metrics = append(metrics,
				lr.d.defs.Metrics.Add(trace.MetricDef{ID: fmt.Sprintf("%d/%d", v[0], i), Name: fmt.Sprintf("undefined metric %d/%d",
					v[0], i), Kind: trace.CounterMetric, Type: typ, Location: trace.NoRef, Undefined: true}))
		}
		lr.d.metrics[v[0]] = metrics
	}
	for i := range int(v[1]) {
		lr.b.Add(lr.loc, now, trace.Metric, metrics[i])
		value, defined := v[3+2*i], lr.d.defs.Metrics.At(metrics[i]).Type
		switch typ := v[2+2*i]; {
		case typ != metricType(defined):
			lr.countUnkept()
		case defined == trace.Float32: // only a trace of another format can have this type
			value = toSingle(value)
		}
		if lr.d.defs.Conventions.MetricMembers {
			lr.b.AddOps(value, uint64(i))
		} else {
			lr.b.AddOps(value)
		}
		if i > 0 {
			continue
		}
		if err := lr.addAttributes(e); err != nil {
			return err
		}
	}
	return nil
}

// countUnkept counts a value of the last event that the model does not keep. It counts only selected times, because
// with several workers a reader also reads other events.
func (lr *locationReader) countUnkept() {
	s, t := &lr.sel, lr.last
	if t >= s.From && trace.Before(t, s.To) && (s.OneEventFrom == 0 || t < s.OneEventFrom) {
		lr.d.lostValues.Add(1)
	}
}

// addParameter adds the value of a parameter event to the current row, as an attribute.
func (lr *locationReader) addParameter(e *Event) error {
	value := trace.Value{Type: trace.Int64, Num: e.Values[1]}
	switch e.ID {
	case parameterString:
		s, ok := lr.d.ranks.text(e.Values[1])
		if !ok {
			lr.countUnkept()
		}
		value = trace.StringValue(s)
	case parameterUnsigned:
		value.Type = trace.Uint64
	}
	return lr.addAttribute(valueName, value)
}

// addUnknown adds an event of a later version of OTF2.
func (lr *locationReader) addUnknown(e *Event, now int64) error {
	d := lr.d
	if lr.speculative {
		return errStandIn
	}
	defect := trace.Defect{Rule: "otf2.unknown-record", Severity: trace.Warning, Position: lr.position(e),
		Found: fmt.Sprintf("event %d", e.ID), Expected: "an event of OTF2 3.0; weft reads it without its content"}
	if e.ID < firstEvent {
		// no version defines events with such ids
		defect.Rule, defect.Severity = "otf2.damaged", trace.Error
	}
	if err := lr.opt().Defect(&defect); err != nil {
		return err
	}
	k, ok := d.kinds[e.ID]
	if !ok {
		k = trace.Declared + trace.Kind(d.defs.Kinds.Add(trace.KindDef{Format: "otf2",
			KindSpec: trace.KindSpec{Name: fmt.Sprintf("otf2-event-%d", e.ID), Doc: "an event of a later version of OTF2"}}))
		d.kinds[e.ID] = k
	}
	lr.b.Add(lr.loc, now, k, trace.NoRef)
	return lr.addAttributes(e)
}

// addAttributes adds the attributes of an event to its row.
func (lr *locationReader) addAttributes(e *Event) error {
	d := lr.d
	for _, a := range e.Attributes {
		key := d.lookup(Attributes, uint64(a.ID))
		typ := trace.Type(min(a.Type, typeLocationGroup))
		if key == trace.NoRef && lr.speculative {
			return errStandIn
		} else if key == trace.NoRef {
			key = d.attribute(fmt.Sprintf("undefined attribute %d", a.ID), typ)
			d.defs.Attributes.At(key).ID = id(uint64(a.ID))
			d.standIns[standIn{Attributes, uint64(a.ID)}] = true
		}
		value := trace.Value{Type: typ, Num: a.Value}
		t := tableOf(uint64(a.Type))
		switch t {
		case noTable:
		case Strings:
			s, ok := d.ranks.text(a.Value)
			if !ok {
				lr.countUnkept()
			}
			value = trace.StringValue(s)
		default:
			if i := d.defined(t, a.Value); i != trace.NoRef {
				value.Num = uint64(i)
			} else {
				value.Type = trace.Uint64
				if d.defs.Attributes.At(key).Type != typ {
					lr.countUnkept()
				}
			}
		}
		lr.b.AddAttr(key, value)
	}
	return nil
}

// nanoseconds converts ticks of a clock to nanoseconds. It returns false if the result is out of
// range.
func nanoseconds(ticks, perSecond uint64) (uint64, bool) {
	hi, lo := bits.Mul64(ticks, 1e9)
	if hi >= perSecond {
		return 0, false
	}
	q, _ := bits.Div64(hi, lo, perSecond)
	return q, true
}
