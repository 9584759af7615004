package transform

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/trace"
)

// Correct puts the times of a trace right: the events of each location, the times that
// they name and the ends of links get the times of its curve. The order of a location's
// events stays; the global order is made anew, from streams if the decoder is a
// [format.Streamer], and else by sorting with memory bytes (0 is 64 MiB) and a temporary
// file. The error is that the correction is for another clock, or names none of the
// trace's locations.
func Correct(d format.Decoder, c *Correction, memory int) (format.Decoder, error) {
	defs := d.Defs()
	if own := defs.Clock; own.Num != c.Clock.Num || own.Den != c.Clock.Den {
		return nil, fmt.Errorf("clock correction: found one for %d ticks in %d seconds, expected %d in %d, the trace's", c.Clock.Num, c.Clock.Den, own.Num, own.Den)
	}
	known := len(c.Locations) == 0
	for i := range defs.Locations.Len() {
		_, ok := c.Locations[defs.Locations.At(i).ID]
		known = known || ok
	}
	if !known {
		return nil, errors.New("clock correction: found none of its locations in the trace, expected those of this trace")
	}
	if memory == 0 {
		memory = 64 << 20
	}
	return &correct{around{d}, c, memory}, nil
}

type correct struct {
	around
	correction *Correction
	memory     int
}

// Prepare prepares the trace.
func (c *correct) Prepare(ctx context.Context) error { return format.Prepare(ctx, c.inner) }

// selection is what is asked of the trace: times are others there.
func (c *correct) selection(sel trace.Selection) trace.Selection {
	all := trace.Everything()
	all.Location, all.Links = sel.Location, sel.Links
	return all
}

// Scan delivers location by location.
func (c *correct) Scan(ctx context.Context, sel trace.Selection, sink func(int) format.Sink) error {
	return staged(ctx, &correcting{correct: c}, sink(0), func(p format.Sink) error {
		return c.inner.Scan(ctx, c.selection(sel), func(int) format.Sink { return p })
	})
}

// ScanOrdered delivers in the order of the corrected times.
func (c *correct) ScanOrdered(ctx context.Context, sel trace.Selection, sink format.Sink) error {
	inner, x := c.selection(sel), &correcting{correct: c}
	if c.sameForAll() {
		return staged(ctx, x, sink, func(p format.Sink) error { return c.inner.ScanOrdered(ctx, inner, p) })
	}
	if s, ok := c.inner.(format.Streamer); ok {
		return staged(ctx, x, sink, func(p format.Sink) error {
			list, closeAll, err := s.Streams(ctx, inner)
			defer closeAll()
			for i := range list {
				list[i] = &corrected{list[i], &correcting{correct: c}}
			}
			if err == nil {
				err = format.Merge(ctx, list, sink)
			}
			if err != nil {
				return err
			}
			return s.Links(ctx, inner, p)
		})
	}
	s := newSorting(c.memory, sink)
	defer s.sorter.Close()
	return staged(ctx, x, s, func(p format.Sink) error { return c.inner.ScanOrdered(ctx, inner, p) })
}

// sameForAll reports whether all locations have one curve, so that the order stays.
func (c *correct) sameForAll() bool {
	d := c.Defs()
	first := c.curve(0)
	for i := range d.Locations.Len() {
		if !slices.Equal(first, c.curve(uint32(i))) {
			return false
		}
	}
	return true
}

func (c *correct) curve(loc uint32) Curve {
	if d := c.Defs(); int(loc) < d.Locations.Len() {
		return c.correction.Locations[d.Locations.At(int(loc)).ID]
	}
	return nil
}

// corrected is a stream with the right times.
type corrected struct {
	format.Stream
	x *correcting
}

// Next returns the next batch.
func (s *corrected) Next(ctx context.Context) (*trace.Batch, error) {
	b, err := s.Stream.Next(ctx)
	if b == nil || err != nil {
		return nil, err
	}
	return s.x.change(b), nil
}

// correcting is one scan.
type correcting struct {
	*correct
	curves []Curve // by location
	out    trace.Batch
	times  []int64
	ops    []uint64
}

func (x *correcting) at(loc uint32) Curve {
	for int(loc) >= len(x.curves) {
		x.curves = append(x.curves, x.curve(uint32(len(x.curves))))
	}
	return x.curves[loc]
}

// change is a batch with the right times, which is valid until the next call.
func (x *correcting) change(b *trace.Batch) *trace.Batch {
	o := &x.out
	*o = *b
	x.times = append(x.times[:0], b.Time...)
	o.Time = x.times
	curve := Curve(nil)
	if b.Loc != trace.MixedLoc {
		curve = x.at(b.Loc)
	}
	copied := false
	for c := b.Cursor(); c.Next(); {
		if b.Loc == trace.MixedLoc {
			curve = x.at(b.Locs[c.Row])
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
		spec := x.Defs().Spec(c.Kind())
		for i := range min(len(list), len(spec.Operands)) {
			typ := spec.Operands[i].Type
			length := typ == trace.OpDuration && !c.Kind().IsState()
			if typ != trace.OpTime && !length || list[i] == trace.Undefined {
				continue
			}
			if !copied {
				x.ops = append(x.ops[:0], b.Op...)
				o.Op, copied = x.ops, true
			}
			end, _ := slices.BinarySearch(b.OpRow, uint32(c.Row))
			at := int(b.OpEnd[end]) - len(list) + i
			if length {
				o.Op[at] = uint64(curve.At(t+int64(list[i])) - o.Time[c.Row])
			} else {
				o.Op[at] = uint64(curve.At(int64(list[i])))
			}
		}
	}
	return o
}

func (x *correcting) batch(b *trace.Batch, out format.Sink) error { return out.Batch(x.change(b)) }

func (x *correcting) flush(ctx context.Context, out format.Sink) error {
	if s, ok := out.(*sorting); ok {
		return s.finish(ctx)
	}
	return nil
}

func (x *correcting) links(l []trace.Link) []trace.Link {
	l = slices.Clone(l)
	for i := range l {
		for _, e := range []*trace.End{&l[i].Src, &l[i].Dst} {
			if e.Location != trace.NoRef {
				e.Time = x.at(e.Location).At(e.Time)
			}
		}
	}
	return l
}

// sorting is a sink that sorts rows by their times; rows of the same time keep their
// order.
type sorting struct {
	sorter *extsort.Sorter
	sink   format.Sink
	buf    []byte
	rows   int64
	pos    bool // rows have positions
	order  bool
}

func newSorting(memory int, sink format.Sink) *sorting {
	return &sorting{sorter: extsort.New(memory, ""), sink: sink}
}

// Batch adds the rows of a batch.
func (s *sorting) Batch(b *trace.Batch) error {
	for c := b.Cursor(); c.Next(); {
		buf := binary.AppendUvarint(s.buf[:0], uint64(c.Location()))
		buf = binary.AppendUvarint(buf, uint64(c.Kind()))
		buf = binary.AppendUvarint(buf, uint64(c.Ref()))
		buf = binary.AppendVarint(buf, c.Pos())
		buf = binary.AppendVarint(buf, c.Order())
		flag := byte(0)
		if c.Derived() {
			flag = 1
		}
		if c.Ops() != nil {
			flag |= 2
		}
		buf = append(buf, flag)
		buf = binary.AppendUvarint(buf, uint64(len(c.Ops())))
		for _, v := range c.Ops() {
			buf = binary.AppendUvarint(buf, v)
		}
		keys, vals := c.Attrs()
		buf = binary.AppendUvarint(buf, uint64(len(keys)))
		for i, k := range keys {
			buf = binary.AppendUvarint(buf, uint64(k))
			buf = append(buf, byte(vals[i].Type))
			buf = binary.AppendUvarint(buf, vals[i].Num)
			buf = binary.AppendUvarint(buf, uint64(len(vals[i].Str)))
			buf = append(buf, vals[i].Str...)
		}
		s.buf = buf
		s.pos, s.order = s.pos || len(b.Pos) > 0, s.order || len(b.Order) > 0
		if err := s.sorter.Add(c.Time(), s.rows, buf); err != nil {
			return err
		}
		s.rows++
	}
	return nil
}

// Links hands links on, which come after all events.
func (s *sorting) Links(l []trace.Link) error { return s.sink.Links(l) }

// finish gives out the rows in order.
func (s *sorting) finish(ctx context.Context) error {
	it, err := s.sorter.Sort(ctx)
	if err != nil {
		return err
	}
	var b trace.Batch
	b.Reset(trace.MixedLoc)
	var ops []uint64
	for {
		r, ok, err := it.Next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		buf := r.Data
		number := func() uint64 {
			v, n := binary.Uvarint(buf)
			buf = buf[n:]
			return v
		}
		signed := func() int64 {
			v, n := binary.Varint(buf)
			buf = buf[n:]
			return v
		}
		loc, kind, ref := uint32(number()), trace.Kind(number()), uint32(number())
		pos, order := signed(), signed()
		flag := buf[0]
		buf = buf[1:]
		b.Add(loc, r.A, kind, ref)
		if s.pos {
			b.Pos = append(b.Pos, pos)
		}
		if s.order {
			b.Order = append(b.Order, order)
		}
		ops = ops[:0]
		for range number() {
			ops = append(ops, number())
		}
		if flag&2 != 0 {
			b.AddOps(ops...)
		}
		for range number() {
			k := uint32(number())
			v := trace.Value{Type: trace.Type(buf[0])}
			buf = buf[1:]
			v.Num = number()
			n := number()
			v.Str = string(buf[:n])
			buf = buf[n:]
			b.AddAttr(k, v)
		}
		if flag&1 != 0 {
			b.MarkDerived()
		}
		if b.Len() == trace.BatchRows {
			if err := s.sink.Batch(&b); err != nil {
				return err
			}
			b.Reset(trace.MixedLoc)
		}
	}
	if b.Len() == 0 {
		return nil
	}
	return s.sink.Batch(&b)
}
