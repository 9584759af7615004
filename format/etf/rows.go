package etf

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/trace"
)

// eventsOf returns the events that the block has for a location.
func (p *blockParser) eventsOf(loc uint32) *blockEvents {
	slot := int(loc)
	if p.mixed {
		if p.used > 0 {
			return p.perLocation[0]
		}
		loc = trace.MixedLoc
	} else if slot < len(p.slots) {
		if i := p.slots[slot]; i > 0 {
			return p.perLocation[i-1]
		}
	} else {
		p.slots = append(p.slots, make([]int32, slot+1-len(p.slots))...)
	}
	if p.used == len(p.perLocation) {
		l := &blockEvents{}
		if p.used < 16 {
			l.prepare()
		}
		p.perLocation = append(p.perLocation, l)
	}
	l := p.perLocation[p.used]
	p.used++
	if !p.mixed {
		p.slots[slot] = int32(p.used)
	}
	l.batch.Reset(loc)
	l.ends = l.ends[:0]
	if p.d.Restore == nil {
		l.columns.begin(&l.batch)
	}
	return l
}

// prepare reserves the memory that a block usually needs for a location if it has few of them. Growing the
// slices step by step would allocate twice as much.
func (l *blockEvents) prepare() {
	const n = 256
	l.batch = trace.Batch{Time: make([]int64, 0, n), Kind: make([]trace.Kind, 0, n), Ref: make([]uint32, 0, n),
		Pos:   make([]int64, 0, n),
		OpRow: make([]uint32, 0, n), OpEnd: make([]uint32, 0, n), Op: make([]uint64, 0, 4*n),
		AttrRow: make([]uint32, 0, n), AttrKey: make([]uint32, 0, n), AttrVal: make([]trace.Value, 0, n)}
}

// reserve reserves memory for a line with the given numbers of rows, operands and attributes, and for
// all pending events before it.
func (l *blockEvents) reserve(rows, ops, attrs int) {
	rows += len(l.ends)
	ops += 2 * len(l.ends)
	if l.columns.full(rows, ops, attrs) {
		l.columns.grow(&l.batch, rows, ops, attrs)
	}
}

// release moves the pending events before (t, order) to the batch, which must have room for them.
func (l *blockEvents) release(t, order int64) {
	c := &l.columns
	for len(l.ends) > 0 {
		e := &l.ends[0]
		if e.time > t || e.time == t && e.order >= order {
			return
		}
		*c.operand(0), *c.operand(1) = e.value, uint64(e.res)
		n := 1
		if e.kind == trace.ClaimEnd {
			n = 2
		}
		c.addRow(e.loc, e.time, e.kind, e.ref, e.order, n)
		l.ends.pop()
	}
}

// addClaim adds the begin of a claim, and makes its end pending. x is the amount. y is the offset, or NaN
// if the claim has none.
func (p *blockParser) addClaim(l *blockEvents, loc, ref, res uint32, line, t0, t1, id int64, x, y float64) {
	c := &l.columns
	*c.operand(0), *c.operand(1), *c.operand(2), *c.operand(3) = uint64(id), uint64(res), math.Float64bits(x),
		math.Float64bits(y)
	n := 3
	if y == y {
		n = 4
	}
	c.addRow(loc, t0, trace.ClaimBegin, ref, line, n)
	e := l.ends.appendSlot()
	e.time, e.order, e.value, e.ref, e.loc, e.res, e.kind, e.extra = t1, line, uint64(id), ref, loc, res, trace.ClaimEnd,
		nil
	l.ends.siftUp()
	if p.links {
		p.places = append(p.places, idPlace{claimIDs, id, line, t0, t1, loc})
	}
}

// addEvent adds an event with an id.
func (p *blockParser) addEvent(l *blockEvents, ref uint32, line, t, id int64) {
	*l.columns.operand(0) = uint64(id)
	l.columns.addRow(p.d.events, t, trace.Mark, ref, line, 1)
	if p.links {
		p.places = append(p.places, idPlace{eventIDs, id, line, t, t, p.d.events})
	}
}

// addLine adds the events of a line, with the attributes of the current line.
func (p *blockParser) addLine(it *timedLine) {
	l := p.eventsOf(it.loc)
	l.reserve(1, max(4, 1+len(p.rec.Values)), len(p.keys))
	l.release(it.t0, it.pos)
	c := &l.columns
	for i, k := range p.keys {
		c.setAttribute(i, k, p.vals[i].Str)
	}
	c.attrs += len(p.keys)
	switch it.kind {
	case C:
		p.addClaim(l, it.loc, it.ref, it.res, it.pos, it.t0, it.t1, it.id, it.x, it.y)
	case E:
		p.addEvent(l, it.ref, it.pos, it.t0, it.id)
	case F:
		*c.operand(0), *c.operand(1), *c.operand(2), *c.operand(3) = uint64(it.t1), math.Float64bits(it.x),
			math.Float64bits(it.y), math.Float64bits(it.z)
		c.addRow(it.loc, it.t0, trace.Fragment, it.ref, it.pos, 4)
	case TSR:
		*c.operand(0) = uint64(it.t1)
		for i, v := range p.rec.Values {
			*c.operand(1 + i) = math.Float64bits(v)
		}
		c.addRow(it.loc, it.t0, trace.SampleRange, it.ref, it.pos, 1+len(p.rec.Values))
	}
}

// addSamples adds the samples of a TSP line for metric m. If the batch mixes locations, a sample may
// belong after the events of later lines, so all samples become pending events.
func (p *blockParser) addSamples(m uint32, times []int64, line int64) {
	loc := p.d.Model.Metrics.At(m).Location
	l := p.eventsOf(loc)
	if len(times) == 0 {
		return
	}
	l.reserve(len(times), len(times), 0)
	l.release(slices.Min(times), line)
	for i, t := range times {
		value := math.Float64bits(p.rec.Values[i])
		if p.mixed {
			l.ends.push(pending{time: t, order: line, ref: m, loc: loc, kind: trace.Metric, value: value, res: uint32(i)})
			continue
		}
		*l.columns.operand(0) = value
		l.columns.addRow(loc, t, trace.Metric, m, line, 1)
	}
}

// reportBadCarrier reports a line of a carried trace that cannot be restored.
func (p *blockParser) reportBadCarrier(found string, number int64) error {
	return p.skip(problem{"etf.carrier", found, "a line that weft wrote; weft skips the line", trace.Warning}, number, nil)
}

// addRestored adds the event that a line of a carried trace was written from. The encoder (encode.go)
// defines the form of these lines.
func (p *blockParser) addRestored(it *timedLine, r carriedOrder) error {
	d := p.d
	bad := func(found string) error { return p.reportBadCarrier(found, it.pos) }
	t0, t1, ok0, ok1 := it.t0, it.t1, true, true
	if d.Rescale {
		t0, _, ok0 = d.Clock.Rescale(it.t0, d.Model.Clock)
		t1, _, ok1 = d.Clock.Rescale(it.t1, d.Model.Clock)
	}
	if !ok0 || !ok1 {
		return bad(it.kind.String() + " line")
	}
	if it.kind == E && len(p.raw) == 1 && p.raw[0].Key == "weft.links" {
		data, err := carrier.FromText(nil, p.raw[0].Value)
		if err == nil {
			err = carrier.CheckLinks(data, d.Model.Locations.Len())
		}
		if err != nil {
			return bad(err.Error())
		}
		if p.links {
			p.texts = append(p.texts, carriedLinks{it.pos, data})
		}
		return nil
	}
	if r.flags&fromOtherFormat == 0 {
		return bad("a line without the attribute " + carryKey)
	}
	if int64(it.loc) >= int64(d.Model.Locations.Len()) {
		return bad(fmt.Sprintf("location %d", it.loc))
	}
	p.pairs = p.pairs[:0]
	var leave []carrier.Pair
	for _, x := range p.raw {
		if strings.HasPrefix(x.Key, "@@") {
			leave = append(leave, carrier.Pair{Key: strings.Clone(x.Key[1:]), Value: strings.Clone(x.Value)})
		} else {
			p.pairs = append(p.pairs, carrier.Pair{Key: x.Key, Value: x.Value})
		}
	}
	kind, ref, end := trace.Enter, it.ref, trace.Leave
	if claim := slices.ContainsFunc(p.pairs, func(x carrier.Pair) bool { return x.Key == "kind" }); it.kind == E || claim {
		var err error
		if kind, ref, err = d.Restore.Kind(p.pairs); err != nil || kind == trace.NoKind {
			return bad(fmt.Sprintf("an event with %v", err))
		}
		if it.kind == C { // the line is a claim; its attributes also belong to the claim's end
			end = trace.ClaimEnd
			for _, x := range p.pairs {
				if x.Key == "claim" || x.Key == "resource" {
					leave = append(leave, carrier.Pair{Key: strings.Clone(x.Key), Value: strings.Clone(x.Value)})
				}
			}
		}
	} else if int64(ref) >= int64(d.Model.Regions.Len()) {
		return bad(fmt.Sprintf("region %d", ref))
	}
	l := p.eventsOf(it.loc)
	b := &l.batch
	for len(l.ends) > 0 && (l.ends[0].time < t0 || l.ends[0].time == t0 && l.ends[0].order < r.order[0]) {
		if err := d.appendPending(b, &l.ends[0]); err != nil {
			return err
		}
		l.ends.pop()
	}
	if err := d.Restore.Add(b, it.loc, t0, kind, ref, p.pairs); err != nil {
		return bad(err.Error())
	}
	if r.flags&derivedEvent != 0 {
		b.MarkDerived()
	}
	b.Pos = append(b.Pos, it.pos)
	b.Order = append(b.Order, r.order[0])
	if it.kind == C && r.flags&visitNeverLeft == 0 {
		x := pending{time: t1, order: r.order[1], value: uint64(it.pos), ref: ref, loc: it.loc, kind: end}
		if len(leave) > 0 {
			x.extra = &carriedEnd{leave}
		}
		l.ends.push(x)
	}
	return nil
}
