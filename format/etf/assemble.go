package etf

import (
	"fmt"
	"math"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/trace"
)

// pending is the end of a claim that is open, or a sample of a line that holds
// several: 64 bytes each.
type pending struct {
	time, order int64
	pos         int64
	id          int64
	ref, loc    uint32
	res         uint32
	kind        trace.Kind
	extra       *restoredEnd
	value       uint64
}

// restoredEnd is what the end of a carried enter–leave pair bears.
type restoredEnd struct{ pairs []carrier.Pair }

// ends is a heap of pending events, the earliest first.
type ends []pending

func (h ends) before(a, b *pending) bool {
	return a.time < b.time || a.time == b.time && a.order < b.order
}

func (h *ends) push(p pending) {
	s := append(*h, p)
	*h = s
	i := len(s) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !s.before(&p, &s[up]) {
			break
		}
		s[i] = s[up]
		i = up
	}
	s[i] = p
}

func (h *ends) pop() {
	s := *h
	n := len(s) - 1
	last := s[n]
	s[n] = pending{}
	s = s[:n]
	*h = s
	if n == 0 {
		return
	}
	i := 0
	for {
		c := 2*i + 1
		if c >= n {
			break
		}
		if c+1 < n && s.before(&s[c+1], &s[c]) {
			c++
		}
		if !s.before(&s[c], &last) {
			break
		}
		s[i] = s[c]
		i = c
	}
	s[i] = last
}

// assembler puts the items of blocks, which come in the order of their start,
// into batches: it inserts the ends of claims where they belong. Its memory is
// that of the open claims.
type assembler struct {
	d      *decoder
	mixed  bool
	links  *linker
	all    trace.Batch // mixed
	ends   ends        // mixed
	byLoc  []*lineup
	active []*lineup
	pairs  []carrier.Pair
}

// lineup is one location's share.
type lineup struct {
	batch trace.Batch
	ends  ends
	live  bool // in active
}

func newAssembler(d *decoder, mixed bool, l *linker) *assembler {
	a := &assembler{d: d, mixed: mixed, links: l}
	a.all.Reset(trace.MixedLoc)
	return a
}

// lane is the batch and the pending ends of a location.
func (a *assembler) lane(loc uint32) (*trace.Batch, *ends) {
	if a.mixed {
		return &a.all, &a.ends
	}
	for int(loc) >= len(a.byLoc) {
		a.byLoc = append(a.byLoc, nil)
	}
	l := a.byLoc[loc]
	if l == nil {
		l = &lineup{}
		l.batch.Reset(loc)
		a.byLoc[loc] = l
	}
	if !l.live {
		l.live = true
		a.active = append(a.active, l)
	}
	return &l.batch, &l.ends
}

// release writes the pending events before (t, order).
func (a *assembler) release(b *trace.Batch, h *ends, t, order int64, sink format.Sink) error {
	for len(*h) > 0 {
		p := &(*h)[0]
		if p.time > t || p.time == t && p.order >= order {
			return nil
		}
		if b.Len() >= trace.BatchRows {
			if err := a.flush(b, sink); err != nil {
				return err
			}
		}
		if err := a.end(b, p); err != nil {
			return err
		}
		h.pop()
	}
	return nil
}

// end writes one pending event.
func (a *assembler) end(b *trace.Batch, p *pending) error {
	switch {
	case p.extra != nil:
		if err := a.d.restore.Add(b, p.loc, p.time, p.kind, p.ref, p.extra.pairs); err != nil {
			b.Add(p.loc, p.time, p.kind, p.ref)
			if !a.d.scanned {
				bad := problem{"etf.carrier", err.Error(), "a line as weft writes it; what the end of the claim carries is skipped", trace.Warning}
				if err := a.d.opt.Defect(bad.defect(a.d.file.Name, p.pos, nil)); err != nil {
					return err
				}
			}
		}
		b.Order = append(b.Order, p.order)
	case p.kind == trace.Leave:
		b.Add(p.loc, p.time, trace.Leave, p.ref)
		b.Order = append(b.Order, p.order)
	case p.kind == trace.ClaimEnd:
		b.Add(p.loc, p.time, trace.ClaimEnd, p.ref)
		b.AddOps(uint64(p.id), uint64(p.res))
	default:
		b.Add(p.loc, p.time, p.kind, p.ref)
		b.AddOps(p.value)
	}
	b.Pos = append(b.Pos, p.pos)
	return nil
}

func (a *assembler) flush(b *trace.Batch, sink format.Sink) error {
	if b.Len() == 0 {
		return nil
	}
	err := sink.Batch(b)
	b.Reset(b.Loc)
	return err
}

// take assembles a block and hands on what is complete.
func (a *assembler) take(p *parsed, sink format.Sink) error {
	attr, value := int32(0), int32(0)
	for i := range p.items {
		it := &p.items[i]
		if a.d.restore != nil {
			var r rank
			if i < len(p.ranks) {
				r = p.ranks[i]
			}
			err := a.restored(p, it, r, p.raw[attr:it.attrs], sink)
			attr = it.attrs
			if err != nil {
				return err
			}
			continue
		}
		b, h := a.lane(it.loc)
		if len(*h) > 0 {
			if err := a.release(b, h, it.t0, it.pos, sink); err != nil {
				return err
			}
		}
		if b.Len() >= trace.BatchRows {
			if err := a.flush(b, sink); err != nil {
				return err
			}
		}
		switch it.kind {
		case C:
			b.Add(it.loc, it.t0, trace.ClaimBegin, it.ref)
			row := uint32(len(b.Time) - 1)
			b.OpRow = append(b.OpRow, row)
			b.Op = append(b.Op, uint64(it.id), uint64(it.res), math.Float64bits(it.x))
			if it.y == it.y {
				b.Op = append(b.Op, math.Float64bits(it.y))
			}
			b.OpEnd = append(b.OpEnd, uint32(len(b.Op)))
			h.push(pending{time: it.t1, order: it.pos, pos: it.pos, id: it.id, ref: it.ref, loc: it.loc, res: it.res, kind: trace.ClaimEnd})
			if a.links != nil {
				if err := a.links.claim(it); err != nil {
					return err
				}
			}
		case E:
			b.Add(it.loc, it.t0, trace.Mark, it.ref)
			b.AddOps(uint64(it.id))
			if a.links != nil {
				if err := a.links.event(it); err != nil {
					return err
				}
			}
		case F:
			b.Add(it.loc, it.t0, trace.Fragment, it.ref)
			b.AddOps(uint64(it.t1), math.Float64bits(it.x), math.Float64bits(it.y), math.Float64bits(it.z))
		case TSP:
			if a.mixed {
				// A line may hold samples that belong behind those of other lines.
				h.push(pending{time: it.t0, order: it.pos, pos: it.pos, ref: it.ref, loc: it.loc, kind: trace.Metric, value: math.Float64bits(it.x)})
				continue
			}
			b.Add(it.loc, it.t0, trace.Metric, it.ref)
			b.AddOps(math.Float64bits(it.x))
		case TSR:
			b.Add(it.loc, it.t0, trace.SampleRange, it.ref)
			b.OpRow = append(b.OpRow, uint32(len(b.Time)-1))
			b.Op = append(b.Op, uint64(it.t1))
			for _, v := range p.values[value:it.values] {
				b.Op = append(b.Op, math.Float64bits(v))
			}
			b.OpEnd = append(b.OpEnd, uint32(len(b.Op)))
		}
		b.Pos = append(b.Pos, it.pos)
		if n := it.attrs - attr; n > 0 {
			row := uint32(len(b.Time) - 1)
			for range n {
				b.AttrRow = append(b.AttrRow, row)
			}
			b.AttrKey = append(b.AttrKey, p.keys[attr:it.attrs]...)
			b.AttrVal = append(b.AttrVal, p.vals[attr:it.attrs]...)
		}
		attr, value = it.attrs, it.values
	}
	if a.links != nil {
		for i := range p.deps {
			if err := a.links.dependency(&p.deps[i]); err != nil {
				return err
			}
		}
	}
	// Texts alias the block: hand everything on before it goes.
	return a.flushAll(sink)
}

func (a *assembler) flushAll(sink format.Sink) error {
	if a.mixed {
		return a.flush(&a.all, sink)
	}
	keep := a.active[:0]
	for _, l := range a.active {
		if err := a.flush(&l.batch, sink); err != nil {
			return err
		}
		if l.live = len(l.ends) > 0; l.live {
			keep = append(keep, l)
		}
	}
	a.active = keep
	return nil
}

// finish writes what is still pending after the last block.
func (a *assembler) finish(sink format.Sink) error {
	if a.mixed {
		if err := a.release(&a.all, &a.ends, math.MaxInt64, math.MaxInt64, sink); err != nil {
			return err
		}
	}
	for _, l := range a.active {
		if err := a.release(&l.batch, &l.ends, math.MaxInt64, math.MaxInt64, sink); err != nil {
			return err
		}
	}
	return a.flushAll(sink)
}

// restored turns an item of a carried trace back into events (encode.go says
// how they were written).
func (a *assembler) restored(p *parsed, it *item, r rank, attrs []Attr, sink format.Sink) error {
	d := a.d
	bad := func(found string) error {
		return p.report(problem{"etf.carrier", found, "a line as weft writes it; it is skipped", trace.Warning}, it.pos, nil)
	}
	t0, t1, ok0, ok1 := it.t0, it.t1, true, true
	if d.rescale {
		t0, _, ok0 = d.fileClock.Rescale(it.t0, d.model.Clock)
		t1, _, ok1 = d.fileClock.Rescale(it.t1, d.model.Clock)
	}
	if !ok0 || !ok1 || it.kind != C && it.kind != E {
		return bad(it.kind.String() + " line")
	}
	if it.kind == E && len(attrs) == 1 && attrs[0].Key == "weft.link" {
		if _, err := carrier.ParseLink(attrs[0].Value); err != nil {
			return bad(err.Error())
		}
		if a.links == nil {
			return nil
		}
		return a.links.carried.Add(it.pos, attrs[0].Value)
	}
	if r.flags&isCarried == 0 {
		return bad("a line without the attribute " + carryKey)
	}
	if int64(it.loc) >= int64(d.model.Locations.Len()) {
		return bad(fmt.Sprintf("location %d", it.loc))
	}
	a.pairs = a.pairs[:0]
	var leave []carrier.Pair
	for _, x := range attrs {
		if strings.HasPrefix(x.Key, "@@") {
			leave = append(leave, carrier.Pair{Key: strings.Clone(x.Key[1:]), Value: strings.Clone(x.Value)})
		} else {
			a.pairs = append(a.pairs, carrier.Pair{Key: x.Key, Value: x.Value})
		}
	}
	kind, ref, loc := trace.Enter, it.ref, it.loc
	if it.kind == E {
		var err error
		if kind, ref, err = d.restore.Kind(a.pairs); err != nil || kind == trace.NoKind {
			return bad(fmt.Sprintf("an event with %v", err))
		}
	} else if int64(ref) >= int64(d.model.Regions.Len()) {
		return bad(fmt.Sprintf("region %d", ref))
	}
	b, h := a.lane(loc)
	if err := a.release(b, h, t0, r.order[0], sink); err != nil {
		return err
	}
	if b.Len() >= trace.BatchRows {
		if err := a.flush(b, sink); err != nil {
			return err
		}
	}
	if err := d.restore.Add(b, loc, t0, kind, ref, a.pairs); err != nil {
		return bad(err.Error())
	}
	if r.flags&derived != 0 {
		b.MarkDerived()
	}
	b.Pos = append(b.Pos, it.pos)
	b.Order = append(b.Order, r.order[0])
	if it.kind == C && r.flags&neverLeft == 0 {
		x := pending{time: t1, order: r.order[1], pos: it.pos, ref: ref, loc: loc, kind: trace.Leave}
		if len(leave) > 0 {
			x.extra = &restoredEnd{leave}
		}
		h.push(x)
	}
	return nil
}
