package index

import (
	"maps"
	"math"
	"slices"

	"github.com/weft-trace/weft/internal/minheap"
	"github.com/weft-trace/weft/timeline/curve"
	"github.com/weft-trace/weft/trace"
)

// openClaim is a claim that has begun and not ended.
type openClaim struct {
	openSpan
	resource *resource
	lane     int
	amount   float64
}

// resource holds the state of the claims of one location on a resource, while the trace is read.
type resource struct {
	resource uint32
	capacity float64
	offsets  bool // claims have an offset
	spans    *spanTrack
	lanes    []*openClaim // the claim in each lane; nil if the lane is free
	free     []int        // numbers of free lanes, as a heap; it may also contain lanes that are in use or no longer exist
	open     []openSpan   // reused by each call
	amount   float64
	claims   int
	changed  int64 // time of the last change of the amount, which held does not have yet if pending is set
	pending  bool
	held     valueWriter
}

// beginClaim begins a claim. An open claim with the same id ends first.
func (w *worker) beginClaim(l *location, c *trace.Cursor) error {
	if len(c.Ops()) == 0 {
		return nil
	}
	id, t := w.b.defs.ClaimID(c), c.Time()
	if err := w.release(l, t, id); err != nil {
		return err
	}
	res := trace.NoRef
	if op := c.Op(1); op < uint64(w.b.defs.Resources.Len()) {
		res = uint32(op)
	}
	r := l.resource(res)
	if r == nil {
		r = &resource{resource: res, spans: w.spans(ResourceTrack)}
		r.held.style = curve.Steps
		if res != trace.NoRef {
			if d := w.b.defs.Resources.At(res); d.Capacity > 0 && !math.IsInf(d.Capacity, 0) {
				r.capacity, r.offsets = d.Capacity, d.UsesOffset
			}
		}
		l.resources = append(l.resources, r)
	}
	lane := len(r.lanes)
	for len(r.free) > 0 && lane == len(r.lanes) {
		if n := minheap.Pop(&r.free, minheap.Less); n < lane && r.lanes[n] == nil {
			lane = n
		}
	}
	if lane == len(r.lanes) {
		r.lanes = append(r.lanes, nil)
	}
	x := &openClaim{openSpan: openSpan{start: t, region: w.nameKey(c), level: uint32(lane), band: wholeBand},
		resource: r, lane: lane}
	if len(c.Ops()) > 2 {
		if a := math.Float64frombits(c.Op(2)); a-a == 0 {
			x.amount = a
		}
	}
	if r.capacity > 0 {
		x.band.Height = uint8(max(1, min(math.MaxUint8, math.Round(x.amount/r.capacity*math.MaxUint8))))
		if o := math.Float64frombits(c.Op(3)); r.offsets && o > 0 {
			x.band.Offset = uint8(min(math.MaxUint8, math.Round(o/r.capacity*math.MaxUint8)))
		}
	}
	r.lanes[lane] = x
	if l.claims == nil {
		l.claims = map[int64]*openClaim{}
	}
	l.claims[id] = x
	return r.change(w.packer, t, 1, x.amount)
}

func (l *location) resource(n uint32) *resource {
	if i := slices.IndexFunc(l.resources, func(r *resource) bool { return r.resource == n }); i >= 0 {
		return l.resources[i]
	}
	return nil
}

// change changes the number of open claims and the amount in use by the given numbers at time t.
func (r *resource) change(p *packer, t int64, claims int, amount float64) error {
	if r.changed != t {
		if err := r.recordAmount(p); err != nil {
			return err
		}
	}
	r.claims += claims
	if r.amount += amount; r.claims == 0 {
		r.amount = 0 // rounding errors may have left a remainder
	}
	r.changed, r.pending = t, true
	return nil
}

// recordAmount records the amount since the last change. Amounts between changes at the same time do not count: a
// claim that ends when another one begins does not overlap with it, whatever the order of their lines.
func (r *resource) recordAmount(p *packer) error {
	if !r.pending {
		return nil
	}
	r.pending = false
	return r.held.add(p, r.spans.entry, piece{time: r.changed, end: r.changed, a: r.amount})
}

// release ends the claim with an id at time t. It does nothing if the claim is not open.
func (w *worker) release(l *location, t, id int64) error { return l.release(w.packer, t, id) }

func (l *location) release(p *packer, t, id int64) error {
	x := l.claims[id]
	if x == nil {
		return nil
	}
	delete(l.claims, id)
	r := x.resource
	r.lanes[x.lane] = nil
	for n := len(r.lanes); n > 0 && r.lanes[n-1] == nil; n-- {
		r.lanes = r.lanes[:n-1]
	}
	if len(r.lanes) == 0 {
		r.free = r.free[:0]
	} else if x.lane < len(r.lanes) {
		minheap.Push(&r.free, x.lane, minheap.Less)
	}
	if r.spans.add(&x.openSpan, t, r.claims-1) {
		r.open = r.open[:0]
		for _, o := range r.lanes {
			if o != nil {
				r.open = append(r.open, o.openSpan)
			}
		}
		if err := r.spans.writeBlock(p, r.open); err != nil {
			return err
		}
	}
	return r.change(p, t, -1, -x.amount)
}

// closeClaims ends the claims that are open at the last event of their location, in the order of their
// ids.
func (l *location) closeClaims(p *packer) error {
	for _, id := range slices.Sorted(maps.Keys(l.claims)) {
		if err := l.release(p, l.last, id); err != nil {
			return err
		}
	}
	return nil
}

// describe sets the name and the properties of the track.
func (r *resource) describe(d *trace.Definitions, l *trace.Location) {
	e := r.spans.entry
	e.ID, e.Name, e.Style = l.ID, l.Name, styleName(curve.Steps)
	if l.Kind == trace.ValueLocation {
		e.Sort = string(l.Kind)
	}
	if r.resource != trace.NoRef {
		x := d.Resources.At(r.resource)
		e.ID, e.Name, e.Unit, e.Capacity, e.Offsets = x.ID, x.Name, x.Unit, r.capacity, r.offsets
	}
}
