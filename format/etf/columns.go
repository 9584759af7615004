package etf

import (
	"slices"
	"unsafe"

	"github.com/weft-trace/weft/trace"
)

// columns writes the rows of common lines into a batch. Space for the largest possible result of a
// line is reserved before the line is read, and each value is then written to its place. With
// append, eleven checks for each row would take a tenth of the decoding time.
type columns struct {
	rows, ops, attrs          int // number of elements so far
	rowRoom, opRoom, attrRoom int
	time, pos, kind, ref, loc unsafe.Pointer // loc is set only when locations are mixed
	opRow, opEnd, op          unsafe.Pointer
	attrRow, attrKey, attrVal unsafe.Pointer
}

// cell returns element i of a column.
func cell[T any](column unsafe.Pointer, i int) *T {
	return (*T)(unsafe.Add(column, uintptr(i)*unsafe.Sizeof(*(*T)(nil))))
}

// column returns the address of the elements of s, including those beyond its length.
func column[T any](s []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(s)) }

// begin takes over the batch until finish. All its rows must have operands.
func (c *columns) begin(b *trace.Batch) {
	c.rows, c.ops, c.attrs = len(b.Time), len(b.Op), len(b.AttrRow)
	c.rowRoom = min(cap(b.Time), cap(b.Pos), cap(b.Kind), cap(b.Ref), cap(b.OpRow), cap(b.OpEnd))
	c.opRoom = cap(b.Op)
	c.attrRoom = min(cap(b.AttrRow), cap(b.AttrKey), cap(b.AttrVal))
	c.time, c.pos, c.kind, c.ref = column(b.Time), column(b.Pos), column(b.Kind), column(b.Ref)
	c.opRow, c.opEnd, c.op = column(b.OpRow), column(b.OpEnd), column(b.Op)
	c.attrRow, c.attrKey, c.attrVal = column(b.AttrRow), column(b.AttrKey), column(b.AttrVal)
	c.loc = nil
	if b.Loc == trace.MixedLoc {
		c.rowRoom = min(c.rowRoom, cap(b.Locs))
		c.loc = column(b.Locs)
	}
}

// finish returns the batch to its owner.
func (c *columns) finish(b *trace.Batch) {
	n := c.rows
	b.Time, b.Pos, b.Kind, b.Ref = b.Time[:n], b.Pos[:n], b.Kind[:n], b.Ref[:n]
	b.OpRow, b.OpEnd, b.Op = b.OpRow[:n], b.OpEnd[:n], b.Op[:c.ops]
	b.AttrRow, b.AttrKey, b.AttrVal = b.AttrRow[:c.attrs], b.AttrKey[:c.attrs], b.AttrVal[:c.attrs]
	if c.loc != nil {
		b.Locs = b.Locs[:n]
	}
}

// full reports whether the given numbers of elements do not fit.
func (c *columns) full(rows, ops, attrs int) bool {
	return c.rows+rows > c.rowRoom || c.ops+ops > c.opRoom || c.attrs+attrs > c.attrRoom
}

// grow reserves space in the batch, in each full column for at least as many elements as it has.
func (c *columns) grow(b *trace.Batch, rows, ops, attrs int) {
	c.finish(b)
	if c.rows+rows > c.rowRoom {
		n := max(rows, c.rows)
		b.Time, b.Pos, b.Kind, b.Ref = slices.Grow(b.Time, n), slices.Grow(b.Pos, n), slices.Grow(b.Kind, n),
			slices.Grow(b.Ref, n)
		b.OpRow, b.OpEnd = slices.Grow(b.OpRow, n), slices.Grow(b.OpEnd, n)
		if b.Loc == trace.MixedLoc {
			b.Locs = slices.Grow(b.Locs, n)
		}
	}
	if c.ops+ops > c.opRoom {
		b.Op = slices.Grow(b.Op, max(ops, c.ops))
	}
	if c.attrs+attrs > c.attrRoom {
		n := max(attrs, c.attrs)
		b.AttrRow, b.AttrKey, b.AttrVal = slices.Grow(b.AttrRow, n), slices.Grow(b.AttrKey, n), slices.Grow(b.AttrVal, n)
	}
	c.begin(b)
}

// row adds a row, whose n operands have been written.
func (c *columns) row(loc uint32, t int64, k trace.Kind, ref uint32, line int64, n int) {
	i := c.rows
	*cell[int64](c.time, i) = t
	*cell[int64](c.pos, i) = line
	*cell[trace.Kind](c.kind, i) = k
	*cell[uint32](c.ref, i) = ref
	if c.loc != nil {
		*cell[uint32](c.loc, i) = loc
	}
	c.ops += n
	*cell[uint32](c.opRow, i) = uint32(i)
	*cell[uint32](c.opEnd, i) = uint32(c.ops)
	c.rows = i + 1
}

// operand returns operand i of the next row.
func (c *columns) operand(i int) *uint64 { return cell[uint64](c.op, c.ops+i) }

// attribute sets attribute i of the next row. c.attrs counts the attributes that are kept.
func (c *columns) attribute(i int, key uint32, text string) {
	i += c.attrs
	*cell[uint32](c.attrRow, i) = uint32(c.rows)
	*cell[uint32](c.attrKey, i) = key
	*cell[trace.Value](c.attrVal, i) = trace.Value{Str: text, Type: trace.String}
}
