// Package rowsort sorts events by time, including more events than fit into memory.
package rowsort

import (
	"context"
	"encoding/binary"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/trace"
)

// Sorter takes rows in any order and returns them in time order. Rows of the same time keep the order in which
// they were added. It keeps as many bytes in memory as the argument of [New] states, and all other rows in
// temporary files.
type Sorter struct {
	sorter     *extsort.Sorter
	byLocation bool // rows of each location are sorted separately
	buf        []byte
	pos, order bool // whether rows have positions, and whether they have ranks (Batch.Order)
}

// New returns a sorter that keeps about memory bytes in memory, but at least 1 MiB.
func New(memory int) *Sorter { return &Sorter{sorter: extsort.New(memory, "")} }

// NewByLocation is like [New], but the sorter sorts the rows of each location separately. Use
// [Sorter.Locations] to get them.
func NewByLocation(memory int) *Sorter {
	s := New(memory)
	s.byLocation = true
	return s
}

// Close removes the temporary files.
func (s *Sorter) Close() error { return s.sorter.Close() }

// Add adds copies of the rows of a batch.
func (s *Sorter) Add(b *trace.Batch) error {
	c := b.Cursor()
	for c.Next() {
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
		group := int64(0)
		if s.byLocation {
			group = int64(c.Location())
		}
		if err := s.sorter.Add(group, c.Time(), buf); err != nil {
			return err
		}
	}
	return nil
}

// Sort ends the adding of rows, and returns all rows in order. If loc is [trace.MixedLoc], the batches hold
// rows of several locations. Otherwise all rows must be of the location loc.
func (s *Sorter) Sort(ctx context.Context, loc uint32) (*Rows, error) {
	it, err := s.sorter.Sort(ctx)
	if err != nil {
		return nil, err
	}
	return &Rows{s: s, it: it, loc: loc, most: trace.BatchRows}, nil
}

// Locations ends the adding of rows, and returns the rows of each location, in order. most is the
// largest number of rows in a batch. The results can be read independently of each other.
func (s *Sorter) Locations(ctx context.Context, most int) (map[uint32]*Rows, error) {
	groups, err := s.sorter.Groups(ctx)
	if err != nil {
		return nil, err
	}
	rows := make(map[uint32]*Rows, len(groups))
	for _, g := range groups {
		rows[uint32(g.A)] = &Rows{s: s, it: g.Records, loc: uint32(g.A), most: most}
	}
	return rows, nil
}

// Rows returns sorted rows in batches. Its method Next is a [format.Stream].
type Rows struct {
	s    *Sorter
	it   *extsort.Iterator
	loc  uint32
	most int // largest number of rows in a batch
	b    trace.Batch
	ops  []uint64
}

// Next returns the next batch, or nil after the last batch. The batch is valid until the next call.
func (rs *Rows) Next(ctx context.Context) (*trace.Batch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s, b := rs.s, &rs.b
	b.Reset(rs.loc)
	for b.Len() < rs.most {
		r, ok, err := rs.it.Next()
		if err != nil {
			return nil, err
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
		at, kind, ref := uint32(number()), trace.Kind(number()), uint32(number())
		pos, order := signed(), signed()
		flag := buf[0]
		buf = buf[1:]
		b.Add(at, r.B, kind, ref)
		if s.pos {
			b.Pos = append(b.Pos, pos)
		}
		if s.order {
			b.Order = append(b.Order, order)
		}
		rs.ops = rs.ops[:0]
		for range number() {
			rs.ops = append(rs.ops, number())
		}
		if flag&2 != 0 {
			b.AddOps(rs.ops...)
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
	}
	if b.Len() == 0 {
		return nil, nil
	}
	return b, nil
}
