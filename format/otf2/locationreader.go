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
	mustSort    bool // the times go back, and sorting was requested
	check       *eventCheck
	// sorter sorts the rows. It exists while the location is read.
	sorter *rowsort.Sorter
	sorted *rowsort.Rows
	// recent caches the regions of ids, indexed by the low bits of the id.
	recent       [256]struct{ id, region uint32 }
	recentComm   recentComm
	recentMetric recentMetric
	recentRanks  [1 << rankBits]recentRank
}

// errStandIn is returned by a parallel scan if an id needs a stand-in.
var errStandIn = errors.New("otf2: a stand-in is needed")

// location opens the events of a location. It returns nil if the file is missing. If ended is not
// nil, its memory is reused, because there may be many short files.
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
	x.rows, x.last, x.end, x.sufficient, x.sorter, x.sorted = trace.BatchRows, math.MinInt64, false, false, nil, nil
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
		x.recent[i].id = ^uint32(i) // an id that belongs to another slot
	}
	x.recentComm, x.recentRanks, x.recentMetric = recentComm{}, [len(x.recentRanks)]recentRank{}, recentMetric{}
	return x, nil
}

// addTo adds all events to a sorter and closes the file.
func (x *locationReader) addTo(ctx context.Context, sorter *rowsort.Sorter) error {
	defer x.r.Close()
	for {
		x.b.Reset(x.loc)
		b, err := x.fill(ctx)
		if b == nil || err != nil {
			return err
		}
		if err := sorter.Add(b); err != nil {
			return err
		}
	}
}

// scan delivers all events and closes the file.
func (x *locationReader) scan(ctx context.Context, sink format.Sink) error {
	defer x.r.Close()
	if x.mustSort {
		x.sorter = rowsort.New(x.d.opt.SortMemory())
		defer x.sorter.Close()
	}
	for {
		b, err := x.Next(ctx)
		if b == nil || err != nil {
			return err
		}
		if err := sink.Batch(b); err != nil {
			return err
		}
	}
}

// Next returns the next batch, or nil at the end.
func (x *locationReader) Next(ctx context.Context) (*trace.Batch, error) {
	if x.sorter == nil {
		x.b.Reset(x.loc)
		return x.fill(ctx)
	}
	if x.sorted == nil {
		if err := x.addTo(ctx, x.sorter); err != nil {
			return nil, err
		}
		var err error
		if x.sorted, err = x.sorter.Sort(ctx, x.loc); err != nil {
			return nil, err
		}
	}
	return x.sorted.Next(ctx)
}

// pastSelection reports whether the last event is at or after the end of the selected times.
func (x *locationReader) pastSelection() bool { return x.last >= x.sel.To && x.sel.To != math.MaxInt64 }

// fill adds events to the current batch until it is full.
func (x *locationReader) fill(ctx context.Context) (*trace.Batch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	x.leavePlace()
	for x.b.Len() < x.rows && !x.end {
		if x.sufficient = x.sufficient || x.sel.ReachesEnough(&x.b); x.sufficient || x.pastSelection() {
			x.end = true // the following events are not selected
			break
		}
		if err := x.fillChecked(); err != nil {
			return nil, err
		}
		if x.b.Len() >= x.rows {
			break
		}
		e, err := x.r.Next()
		if err == io.EOF {
			if x.end = true; int(x.loc) < len(x.d.events) {
				x.d.events[x.loc].Store(x.r.number)
			}
			x.check.end(x.r)
			break
		}
		x.check.add(e, err)
		if err != nil {
			if err := reportDefect(x.opt(), err); err != nil {
				return nil, err
			}
			continue
		}
		if err := x.add(e); err != nil {
			return nil, err
		}
	}
	if x.b.Len() == 0 {
		return nil, nil
	}
	return &x.b, nil
}

// fillFast adds the times, enters, leaves, messages and metrics that follow, as long as they are in
// the buffered part of the file and nothing about them is unusual. It leaves the rest to
// [EventReader.Next].
func (x *locationReader) fillFast() error {
	r, c := x.r, x.r.c
	if c.big || len(r.event.Attributes) > 0 {
		return nil
	}
	const most = 16 // maximum number of bytes read for a record, including the begin of the next one
	part, at := c.part, c.at
	b := &x.b
	time, number := r.time, r.number
	now, odd := x.modelTime(r.clock.correct(time))
	var v plainValues
	for !odd && at+most <= len(part) && b.Len() < x.rows {
		p := part[at : at+most]
		id := p[0]
		if id == timestampRecord {
			t := binary.LittleEndian.Uint64(p[1:])
			if now, odd = x.modelTime(r.clock.correct(t)); odd || unusualTime(t, time) {
				break
			}
			time = t
			at += 9
			continue
		}
		n := uint(p[1])
		if id == metricEvent {
			next := x.addMetricFast(part, at, now)
			if next == 0 {
				break
			}
			at, x.last = next, now
			number++
			continue
		}
		if id != enter && id != leave {
			next := 0
			if int(id) < len(plainKinds) && plainKinds[id] {
				next = plainRecord(part, at, &v)
			}
			if next == 0 || !x.addPlain(id, &v, now) {
				break
			}
			at, x.last = next, now
			number++
			continue
		}
		if n > 4 {
			break
		}
		ref := binary.LittleEndian.Uint32(p[2:]) & uint32(1<<(8*n)-1)
		k := &x.recent[uint8(ref)]
		if k.id != ref {
			region, ok := x.region(ref)
			if !ok {
				break
			}
			k.id, k.region = ref, region
		}
		at += 2 + int(n)
		number++
		x.last = now
		b.Time, b.Kind, b.Ref = append(b.Time, now), append(b.Kind, trace.Enter+trace.Kind(id-enter)), append(b.Ref, k.region)
	}
	c.at, r.time, r.number = at, time, number
	return nil
}

// modelTime returns the time in the model. odd is set if the time is out of range or before the last
// one.
func (x *locationReader) modelTime(t uint64) (now int64, odd bool) {
	now = int64(t - x.d.base)
	return now, t > math.MaxInt64 || now < x.last
}

// region returns the index of the region for a location's own reference. ok is false if it is not
// defined.
func (x *locationReader) region(ref uint32) (uint32, bool) {
	i := x.d.lookup(Regions, x.r.mapped(Regions, uint64(ref)))
	return i, i != trace.NoRef
}

// add adds an event to the batch.
func (x *locationReader) add(e *Event) error {
	d := x.d
	if e.Time > math.MaxInt64 {
		return x.opt().Defect(&trace.Defect{Rule: "otf2.time-range", Severity: trace.Error, Position: x.position(e),
			Found: fmt.Sprintf("an event at %d", e.Time), Expected: "a time of less than 2⁶³ ticks; it is skipped"})
	}
	now := int64(e.Time - d.base)
	if now < x.last {
		expected := "times that do not decrease; the later one is taken"
		if x.mustSort {
			expected = "times that do not decrease; the events are sorted"
		}
		if err := x.opt().Defect(&trace.Defect{Rule: "otf2.time-order", Severity: trace.Warning, Position: x.position(e),
			Found: fmt.Sprintf("an event at %d behind one at %d", e.Time, x.last), Expected: expected}); err != nil {
			return err
		}
		if !x.mustSort {
			now = x.last
		}
	}
	x.last = max(x.last, now)
	if ok, err := x.addRestored(e, now); ok || err != nil {
		return err
	}
	if int(e.ID) >= len(eventKinds) || eventKinds[e.ID].kind == trace.NoKind {
		return x.addUnknown(e, now)
	}
	k := &eventKinds[e.ID]
	v := e.Values
	if e.ID == metricEvent {
		return x.addMetric(e, now)
	}
	ref := trace.NoRef
	if k.ref >= 0 {
		var err error
		if ref, err = x.resolveRef(e, k.table, v[k.ref]); err != nil {
			return err
		}
	}
	if e.ID >= ompFork && e.ID <= ompTaskComplete {
		d.oldOpenMP[e.ID-ompFork].Store(true)
	}
	x.b.Add(x.loc, now, k.kind, ref)
	var arguments []uint64
	if e.ID == programBegin {
		arguments = v[len(eventTypes[programBegin].fields):]
	}
	if len(k.ops) > 0 || len(arguments) > 0 {
		b := &x.b
		b.OpRow = append(b.OpRow, uint32(b.Len()-1))
		for _, o := range k.ops {
			b.Op = append(b.Op, x.operand(o, v))
		}
		if e.ID == bufferFlush {
			b.Op[len(b.Op)-1] -= d.base
		}
		for _, text := range arguments {
			b.Op = append(b.Op, x.index(Strings, text))
		}
		b.OpEnd = append(b.OpEnd, uint32(len(b.Op)))
	}
	for _, o := range k.ops {
		if o.source != peer && o.source != target || x.operand(o, v) != trace.Undefined || v[o.field] == undefined32 {
			continue
		}
		if err := x.addAttribute(rankName, trace.Value{Type: trace.Uint32, Num: v[o.field]}); err != nil {
			return err
		}
	}
	if k.kind == trace.Parameter {
		if err := x.addParameter(e); err != nil {
			return err
		}
	}
	return x.addAttributes(e)
}

// addAttribute adds an attribute that the model defines to the last row.
func (x *locationReader) addAttribute(name string, v trace.Value) error {
	if _, ok := x.d.model.attributes[attributeKey{name, v.Type}]; !ok && x.speculative {
		return errStandIn
	}
	x.b.AddAttr(x.d.attribute(name, v.Type), v)
	return nil
}

// opt returns the options for reporting defects of the location.
func (x *locationReader) opt() *format.ReadOptions { return x.d.opt.At(x.loc) }

// position returns the position of an event's record.
func (x *locationReader) position(e *Event) trace.Position {
	return trace.Position{File: x.r.c.path, Offset: e.Offset, Binary: true}
}

// resolveRef returns the index of a reference. It adds a stand-in for an undefined id.
func (x *locationReader) resolveRef(e *Event, t Table, v uint64) (uint32, error) {
	d := x.d
	if i := d.lookup(t, v); i != trace.NoRef || v == undefined32 && t != Regions {
		return i, nil
	}
	if x.speculative {
		return 0, errStandIn
	}
	what := tableNames[t]
	if err := x.opt().Defect(&trace.Defect{Rule: "otf2.undefined", Severity: trace.Warning, Position: x.position(e),
		Found:    fmt.Sprintf("%s of %s %d, which nothing defines", eventTypes[e.ID].name, what, v),
		Expected: "a defined one; a stand-in takes its place"}); err != nil {
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
	d.index[t][v], d.standIns[standIn{t, v}] = i, true
	return i, nil
}

// index returns the operand for a reference.
func (x *locationReader) index(t Table, v uint64) uint64 {
	if i := x.d.defined(t, v); i != trace.NoRef {
		return uint64(i)
	}
	if v != undefined32 && t != Locations {
		x.d.unkept.Add(1)
	}
	return trace.Undefined
}

// operand returns the value of an operand of an event with the values v.
func (x *locationReader) operand(o operand, v []uint64) uint64 {
	switch o.source {
	case constant:
		return o.value
	case reference:
		return x.index(o.table, v[o.field])
	case peer:
		return x.peer(v[o.field], x.d.ranks.comm(v[o.other]))
	case target:
		return x.peer(v[o.field], x.d.ranks.communicators[Windows][v[o.other]])
	case root, optional:
		if v[o.field] == undefined32 {
			return trace.Undefined
		}
	}
	return v[o.field]
}

// peer returns the location of a rank.
func (x *locationReader) peer(rank uint64, comm *printComm) uint64 {
	if l, ok := comm.location(x.id, rank); ok {
		return x.index(Locations, l)
	}
	return trace.Undefined
}

// addMetric adds a row for each value of a metric event.
func (x *locationReader) addMetric(e *Event, now int64) error {
	v := e.Values
	metrics := x.d.metrics[v[0]]
	if n := int(v[1]); n > len(metrics) {
		if x.speculative {
			return errStandIn
		}
		if err := x.opt().Defect(&trace.Defect{Rule: "otf2.undefined", Severity: trace.Warning, Position: x.position(e),
			Found:    fmt.Sprintf("%d values of metric %d, which has %d members", n, v[0], len(metrics)),
			Expected: "no more than are defined; stand-ins take the place of others"}); err != nil {
			return err
		}
		for i := len(metrics); i < n; i++ {
			typ := trace.Type(min(v[2+2*i], typeLocationGroup))
			metrics = append(metrics,
				x.d.defs.Metrics.Add(trace.MetricDef{ID: fmt.Sprintf("%d/%d", v[0], i), Name: fmt.Sprintf("undefined metric %d/%d",
					v[0], i), Kind: trace.CounterMetric, Type: typ, Location: trace.NoRef, Undefined: true}))
		}
		x.d.metrics[v[0]] = metrics
	}
	for i := range int(v[1]) {
		x.b.Add(x.loc, now, trace.Metric, metrics[i])
		if typ := v[2+2*i]; typ != metricType(x.d.defs.Metrics.At(metrics[i]).Type) {
			x.d.unkept.Add(1)
		}
		x.b.AddOps(v[3+2*i], uint64(i))
		if i > 0 {
			continue
		}
		if err := x.addAttributes(e); err != nil {
			return err
		}
	}
	return nil
}

// addParameter adds the value of a parameter event to the current row, as an attribute.
func (x *locationReader) addParameter(e *Event) error {
	value := trace.Value{Type: trace.Int64, Num: e.Values[1]}
	switch e.ID {
	case parameterString:
		s, ok := x.d.ranks.text(e.Values[1])
		if !ok {
			x.d.unkept.Add(1)
		}
		value = trace.StringValue(s)
	case parameterUnsigned:
		value.Type = trace.Uint64
	}
	return x.addAttribute(valueName, value)
}

// addUnknown adds an event of a later version of OTF2.
func (x *locationReader) addUnknown(e *Event, now int64) error {
	d := x.d
	if x.speculative {
		return errStandIn
	}
	defect := trace.Defect{Rule: "otf2.unknown-record", Severity: trace.Warning, Position: x.position(e),
		Found: fmt.Sprintf("event %d", e.ID), Expected: "one that OTF2 3.0 has; it is read without what it says"}
	if e.ID < firstEvent {
		// no version defines events with such ids
		defect.Rule, defect.Severity = "otf2.damaged", trace.Error
	}
	if err := x.opt().Defect(&defect); err != nil {
		return err
	}
	k, ok := d.kinds[e.ID]
	if !ok {
		k = trace.Declared + trace.Kind(d.defs.Kinds.Add(trace.KindDef{Format: "otf2",
			KindSpec: trace.KindSpec{Name: fmt.Sprintf("otf2-event-%d", e.ID), Doc: "an event of a later version of OTF2"}}))
		d.kinds[e.ID] = k
	}
	x.b.Add(x.loc, now, k, trace.NoRef)
	return x.addAttributes(e)
}

// addAttributes adds the attributes of an event to its row.
func (x *locationReader) addAttributes(e *Event) error {
	d := x.d
	for _, a := range e.Attributes {
		key := d.lookup(Attributes, uint64(a.ID))
		typ := trace.Type(min(a.Type, typeLocationGroup))
		if key == trace.NoRef && x.speculative {
			return errStandIn
		} else if key == trace.NoRef {
			key = d.attribute(fmt.Sprintf("undefined attribute %d", a.ID), typ)
			d.defs.Attributes.At(key).ID = id(uint64(a.ID))
		}
		value := trace.Value{Type: typ, Num: a.Value}
		t := tableOf(uint64(a.Type))
		switch t {
		case noTable:
		case Strings:
			s, ok := d.ranks.text(a.Value)
			if !ok {
				d.unkept.Add(1)
			}
			value = trace.StringValue(s)
		default:
			if i := d.defined(t, a.Value); i != trace.NoRef {
				value.Num = uint64(i)
			} else {
				value.Type = trace.Uint64
				if d.defs.Attributes.At(key).Type != typ {
					d.unkept.Add(1)
				}
			}
		}
		x.b.AddAttr(key, value)
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
