package transform

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/rowsort"
	"github.com/weft-trace/weft/trace"
)

// Correct corrects the times of a trace. It maps the times of events, the times in operands, and the times of
// the ends of links, each by the curve of its location. The order of the events of a location does not change.
// The order across locations is computed again: by merging streams if the trace is a [format.Streamer], and
// otherwise by sorting with the given number of bytes of memory (0 means 64 MiB) and a temporary file. Correct
// returns an error if the correction is for a clock with a different number of ticks per second, or if it
// contains no location of the trace. A correction that changes no time leaves the trace as it is.
func Correct(d format.Events, c *Correction, memory int) (format.Events, error) {
	defs := d.Defs()
	if own := defs.Clock; own.Num != c.Clock.Num || own.Den != c.Clock.Den {
		return nil, fmt.Errorf("clock correction: found one for %d ticks in %d seconds, expected %d in %d, the trace's",
			c.Clock.Num, c.Clock.Den, own.Num, own.Den)
	}
	known := len(c.Locations) == 0
	for i := range defs.Locations.Len() {
		_, ok := c.Locations[defs.Locations.At(uint32(i)).ID]
		known = known || ok
	}
	if !known {
		return nil, errors.New("clock correction: found none of its locations in the trace, expected those of this trace")
	}
	if memory == 0 {
		memory = 64 << 20
	}
	x := &retimed{sameDefinitions{d}, c, memory}
	if !x.changesTimes() {
		return d, nil
	}
	defs.Retimed = true
	defs.ByLocation = defs.ByLocation && x.startsAtZero()
	return x, nil
}

// startsAtZero reports whether no corrected time is negative if no recorded time is.
func (c *retimed) startsAtZero() bool {
	for i := range c.Defs().Locations.Len() {
		if c.curve(uint32(i)).At(0) < 0 {
			return false
		}
	}
	return true
}

// changesTimes reports whether the correction changes a time of a location.
func (c *retimed) changesTimes() bool {
	for i := range c.Defs().Locations.Len() {
		if slices.ContainsFunc(c.curve(uint32(i)), func(p Point) bool { return p.Read != p.True }) {
			return true
		}
	}
	return false
}

// retimed is a trace with corrected times.
type retimed struct {
	sameDefinitions
	correction *Correction
	memory     int
}

// Scan delivers the events in the order of the corrected times, or by location.
func (c *retimed) Scan(ctx context.Context, sel trace.Selection, order format.Order, sink format.Sink) error {
	sink = format.Trim(c.Defs(), sel, sink)
	// read all times, because an event with a corrected time in sel may have any original time
	inner := everything(sel)
	inner.NoEvents = sel.NoEvents
	x := &correctScan{curves: &curves{retimed: c}}
	through := func(s stage) error {
		return scanThrough(ctx, s, sink, func(p format.Sink) error { return c.inner.Scan(ctx, inner, order, p) })
	}
	if order == format.PerLocation || inner.NoEvents || c.sameForAll() {
		return through(x)
	}
	s, ok := c.inner.(format.Streamer)
	if !ok {
		rows := rowsort.New(c.memory)
		defer rows.Close()
		return through(&resortScan{x, rows})
	}
	list, closeAll, err := s.Streams(ctx, inner)
	defer closeAll()
	for i := range list {
		list[i] = (&corrected{list[i], &correctScan{curves: x.curves}}).next
	}
	if err == nil {
		err = format.Merge(ctx, list, sink)
	}
	if err != nil || inner.Links == trace.NoLinks {
		return err
	}
	inner.NoEvents = true
	return through(x)
}

// ScanParallel delivers the events by location, in several goroutines if no links are selected.
func (c *retimed) ScanParallel(ctx context.Context, sel trace.Selection, begin func() func(int) format.Sink) error {
	if sel.Links != trace.NoLinks || sel.NoEvents {
		return format.ScanInOne(ctx, c, sel, begin)
	}
	return scanEach(ctx, c.inner, everything(sel), func() func(int) (stage, format.Sink) {
		sinks := begin()
		return func(w int) (stage, format.Sink) {
			return &correctScan{curves: &curves{retimed: c}}, format.Trim(c.Defs(), sel, sinks(w))
		}
	})
}

// sameForAll reports whether all locations have the same curve, so that the order of events does
// not change.
func (c *retimed) sameForAll() bool {
	d := c.Defs()
	first := c.curve(0)
	for i := range d.Locations.Len() {
		if !slices.Equal(first, c.curve(uint32(i))) {
			return false
		}
	}
	return true
}

// curve returns the curve of a location.
func (c *retimed) curve(loc uint32) Curve {
	if d := c.Defs(); d.Locations.Has(loc) {
		return c.correction.Locations[d.Locations.At(loc).ID]
	}
	return nil
}

// corrected is a stream with corrected times.
type corrected struct {
	from format.Stream
	x    *correctScan
}

// next returns the next batch of the stream with corrected times.
func (c *corrected) next(ctx context.Context) (*trace.Batch, error) {
	b, err := c.from(ctx)
	if b == nil || err != nil {
		return nil, err
	}
	return c.x.change(b), nil
}

// curves holds the curve of each location during a scan. Its user is a single goroutine.
type curves struct {
	*retimed
	list []Curve
}

// at returns the curve of a location.
func (c *curves) at(loc uint32) Curve {
	for int(loc) >= len(c.list) {
		c.list = append(c.list, c.curve(uint32(len(c.list))))
	}
	return c.list[loc]
}

// correctScan is one scan of a corrected trace, or of one of its streams.
type correctScan struct {
	passThrough
	*curves
	out   trace.Batch
	times []int64
	ops   []uint64
}

// change returns the batch with corrected times. It is valid until the next call.
func (cs *correctScan) change(b *trace.Batch) *trace.Batch {
	o := &cs.out
	*o = *b
	cs.times = append(cs.times[:0], b.Time...)
	o.Time = cs.times
	curve := Curve(nil)
	if b.Loc != trace.MixedLoc {
		curve = cs.at(b.Loc)
	}
	copied := false
	c := b.Cursor()
	for c.Next() {
		if b.Loc == trace.MixedLoc {
			curve = cs.at(b.Locs[c.Row])
		}
		if len(curve) == 0 {
			continue
		}
		t := c.Time()
		o.Time[c.Row] = curve.At(t)
		list := c.Ops()
		if list == nil {
			continue
		}
		spec := cs.Defs().Spec(c.Kind())
		for i := range min(len(list), len(spec.Operands)) {
			typ := spec.Operands[i].Type
			length := typ == trace.OpDuration && !c.Kind().IsState()
			if typ != trace.OpTime && !length || list[i] == trace.Undefined {
				continue
			}
			if !copied {
				cs.ops = append(cs.ops[:0], b.Op...)
				o.Op, copied = cs.ops, true
			}
			end, _ := slices.BinarySearch(b.OpRow, uint32(c.Row))
			at := int(b.OpEnd[end]) - len(list) + i
			if length {
				o.Op[at] = uint64(curve.At(t+int64(list[i])) - o.Time[c.Row])
			} else {
				// The time of an event before the first one of the trace can become negative.
				then := int64(list[i])
				o.Op[at] = uint64(max(curve.At(then), min(then, 0)))
			}
		}
	}
	return o
}

func (cs *correctScan) processBatch(b *trace.Batch, out format.Sink) error {
	return out.Batch(cs.change(b))
}

// resortScan is a scan whose rows are sorted by their corrected times.
type resortScan struct {
	*correctScan
	rows *rowsort.Sorter
}

func (r *resortScan) processBatch(b *trace.Batch, _ format.Sink) error {
	return r.rows.Add(r.change(b))
}

func (r *resortScan) flush(ctx context.Context, out format.Sink) error {
	rows, err := r.rows.Sort(ctx, trace.MixedLoc)
	for err == nil {
		var b *trace.Batch
		if b, err = rows.Next(ctx); b == nil || err != nil {
			break
		}
		err = out.Batch(b)
	}
	return err
}

// links returns the links with corrected times of their ends.
func (cs *correctScan) links(l []trace.Link) []trace.Link {
	l = slices.Clone(l)
	for i := range l {
		for _, e := range []*trace.End{&l[i].Src, &l[i].Dst} {
			if e.Location != trace.NoRef {
				e.Time = cs.at(e.Location).At(e.Time)
			}
		}
	}
	return l
}
