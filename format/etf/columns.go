package etf

import (
	"slices"
	"unsafe"

	"github.com/weft-trace/weft/trace"
)

// columns writes the rows of common lines into a batch. It reserves space for the largest possible
// result of a line before the line is read, and then writes each value directly to its place. Calls of
// append would check eleven capacities for each row, which takes a tenth of the decoding time.
type columns struct {
	rows, ops, attrs          int // lengths of the columns so far
	rowRoom, opRoom, attrRoom int
	time, pos, kind, ref, loc unsafe.Pointer // loc is nil unless the batch mixes locations
	opRow, opEnd, op          unsafe.Pointer
	attrRow, attrKey, attrVal unsafe.Pointer
}

// element returns the address of element i of a column.
func element[T any](column unsafe.Pointer, i int) *T {
	return (*T)(unsafe.Add(column, uintptr(i)*unsafe.Sizeof(*(*T)(nil))))
}

// firstElement returns the address of the first element of s, from which element reaches all others up
// to the capacity of s.
func firstElement[T any](s []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(s)) }

// begin prepares c to append rows to the columns of the batch b. Until finish is called, only c may write to
// b. Each row that b already has must have operands.
func (c *columns) begin(b *trace.Batch) {
	c.rows, c.ops, c.attrs = len(b.Time), len(b.Op), len(b.AttrRow)
	c.rowRoom = min(cap(b.Time), cap(b.Pos), cap(b.Kind), cap(b.Ref), cap(b.OpRow), cap(b.OpEnd))
	c.opRoom = cap(b.Op)
	c.attrRoom = min(cap(b.AttrRow), cap(b.AttrKey), cap(b.AttrVal))
	c.time, c.pos, c.kind, c.ref = firstElement(b.Time), firstElement(b.Pos), firstElement(b.Kind), firstElement(b.Ref)
	c.opRow, c.opEnd, c.op = firstElement(b.OpRow), firstElement(b.OpEnd), firstElement(b.Op)
	c.attrRow, c.attrKey, c.attrVal = firstElement(b.AttrRow), firstElement(b.AttrKey), firstElement(b.AttrVal)
	c.loc = nil
	if b.Loc == trace.MixedLoc {
		c.rowRoom = min(c.rowRoom, cap(b.Locs))
		c.loc = firstElement(b.Locs)
	}
}

// finish stores the new lengths of the columns in the batch.
func (c *columns) finish(b *trace.Batch) {
	n := c.rows
	b.Time, b.Pos, b.Kind, b.Ref = b.Time[:n], b.Pos[:n], b.Kind[:n], b.Ref[:n]
	b.OpRow, b.OpEnd, b.Op = b.OpRow[:n], b.OpEnd[:n], b.Op[:c.ops]
	b.AttrRow, b.AttrKey, b.AttrVal = b.AttrRow[:c.attrs], b.AttrKey[:c.attrs], b.AttrVal[:c.attrs]
	if c.loc != nil {
		b.Locs = b.Locs[:n]
	}
}

// full reports whether the columns have no room for the given numbers of rows, operands and attributes.
func (c *columns) full(rows, ops, attrs int) bool {
	return c.rows+rows > c.rowRoom || c.ops+ops > c.opRoom || c.attrs+attrs > c.attrRoom
}

// grow makes room for the given numbers of rows, operands and attributes. It at least doubles each
// column that is full.
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

// addRow adds a row. The caller has already written its n operands to the addresses that operand returns.
func (c *columns) addRow(loc uint32, t int64, k trace.Kind, ref uint32, line int64, n int) {
	i := c.rows
	*element[int64](c.time, i) = t
	*element[int64](c.pos, i) = line
	*element[trace.Kind](c.kind, i) = k
	*element[uint32](c.ref, i) = ref
	if c.loc != nil {
		*element[uint32](c.loc, i) = loc
	}
	c.ops += n
	*element[uint32](c.opRow, i) = uint32(i)
	*element[uint32](c.opEnd, i) = uint32(c.ops)
	c.rows = i + 1
}

// operand returns the address of operand i of the next row.
func (c *columns) operand(i int) *uint64 { return element[uint64](c.op, c.ops+i) }

// setAttribute writes attribute i of the next row. The attribute counts only after c.attrs has been
// increased.
func (c *columns) setAttribute(i int, key uint32, text string) {
	i += c.attrs
	*element[uint32](c.attrRow, i) = uint32(c.rows)
	*element[uint32](c.attrKey, i) = key
	*element[trace.Value](c.attrVal, i) = trace.Value{Str: text, Type: trace.String}
}
