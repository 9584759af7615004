package index

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/weft-trace/weft/trace"
)

// columns reads the numbers of a block from b. After the end of b, it returns zeros and sets bad.
type columns struct {
	b   []byte
	bad bool
}

func (c *columns) uint() uint64 {
	if len(c.b) > 0 && c.b[0] < 0x80 {
		v := c.b[0]
		c.b = c.b[1:]
		return uint64(v)
	}
	v, n := binary.Uvarint(c.b)
	if n <= 0 {
		c.b, c.bad = nil, true
		return 0
	}
	c.b = c.b[n:]
	return v
}

func (c *columns) int() int64 {
	u := c.uint()
	return int64(u>>1) ^ -int64(u&1)
}

func (c *columns) byte() byte {
	if len(c.b) == 0 {
		c.bad = true
		return 0
	}
	v := c.b[0]
	c.b = c.b[1:]
	return v
}

func (c *columns) float() float64 {
	if len(c.b) < 8 {
		c.b, c.bad = nil, true
		return 0
	}
	v := math.Float64frombits(binary.LittleEndian.Uint64(c.b))
	c.b = c.b[8:]
	return v
}

// appendUvarint does the same as binary.AppendUvarint. For numbers below 2^28 it uses no branches, because the
// lengths of the numbers vary so much that the processor would often mispredict a branch.
func appendUvarint(b []byte, x uint64) []byte {
	n := len(b)
	if x >= 1<<28 || cap(b)-n < 4 {
		return binary.AppendUvarint(b, x)
	}
	size := (9*bits.Len64(x|1) + 64) >> 6
	spread := x&0x7f | x&0x3f80<<1 | x&0x1fc000<<2 | x&0xfe00000<<3 | 0x808080&(1<<(8*(size-1))-1)
	binary.LittleEndian.PutUint32(b[n:n+4], uint32(spread))
	return b[:n+size]
}

// appendVarint does the same as binary.AppendVarint.
func appendVarint(b []byte, x int64) []byte {
	return appendUvarint(b, zigzagEncode(x))
}

// count reads the number of entries that follow. Each entry takes at least one byte, so count sets bad if the
// number exceeds the number of remaining bytes.
func (c *columns) count() int {
	n := c.uint()
	if n > uint64(len(c.b)) {
		c.b, c.bad = nil, true
		return 0
	}
	return int(n)
}

// section returns the next column. The length of a column precedes it.
func (c *columns) section() columns {
	n := c.uint()
	if n > uint64(len(c.b)) {
		c.b, c.bad = nil, true
		return columns{bad: true}
	}
	s := columns{b: c.b[:n]}
	c.b = c.b[n:]
	return s
}

// end returns an error if c or one of the other columns ended too early.
func (c *columns) end(others ...columns) error {
	bad := c.bad
	for _, o := range others {
		bad = bad || o.bad
	}
	if bad {
		return fmt.Errorf("found a block that ends too early")
	}
	return nil
}

// ticksUnit is the unit of the second number of an encoded sum.
const ticksUnit = 1 << 62

// appendTicks appends a sum. A sum below 2⁶³ takes one number. A larger or negative sum takes two numbers. The
// first has its highest bit set, and holds the remainder modulo ticksUnit in its other bits. The second holds
// the quotient.
func appendTicks(b []byte, t trace.Ticks) []byte {
	if n := t.Int64(); n >= 0 && t == trace.TicksOf(n) {
		return appendUvarint(b, uint64(n))
	}
	units := t.Over(ticksUnit).Int64()
	rest := t.Minus(trace.TicksOf(ticksUnit).Times(units)).Int64()
	if rest < 0 {
		rest, units = rest+ticksUnit, units-1
	}
	return appendVarint(appendUvarint(b, 1<<63|uint64(rest)), units)
}

// ticks reads a sum that appendTicks has written.
func (c *columns) ticks() trace.Ticks {
	n := c.uint()
	t := trace.TicksOf(int64(n &^ (1 << 63)))
	if n>>63 == 1 {
		t = t.Plus(trace.TicksOf(ticksUnit).Times(c.int()))
	}
	return t
}

// appendSection appends a column preceded by its length.
func appendSection(b, s []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// appendColumns appends the columns of a block of n entries.
func appendColumns(b []byte, n int, columns ...[]byte) []byte {
	b = binary.AppendUvarint(b, uint64(n))
	for _, c := range columns {
		b = appendSection(b, c)
	}
	return b
}

func appendFloat(b []byte, f float64) []byte {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(f))
}

// blockEntry locates a block of n entries in the file. first is the earliest begin of an entry, and last the
// latest end, in ticks. For a block of a level, first and last are the numbers of the first and the last
// bucket of the block.
type blockEntry struct {
	at    int64
	size  int32
	n     int32
	first int64
	last  int64
}

// appendBlocks appends a table of blocks, which columns.blocks reads.
func appendBlocks(b []byte, l []blockEntry) []byte {
	b = binary.AppendUvarint(b, uint64(len(l)))
	at, last := int64(0), int64(0)
	for _, e := range l {
		b = binary.AppendVarint(b, e.at-at)
		b = binary.AppendUvarint(b, uint64(e.size))
		b = binary.AppendUvarint(b, uint64(e.n))
		b = binary.AppendVarint(b, e.first-last)
		b = binary.AppendVarint(b, e.last-e.first)
		at, last = e.at, e.last
	}
	return b
}

func (c *columns) blocks() []blockEntry {
	n := c.count()
	if n == 0 {
		return nil
	}
	l := make([]blockEntry, n)
	at, last := int64(0), int64(0)
	for i := range l {
		e := &l[i]
		e.at = at + c.int()
		e.size = int32(c.uint())
		e.n = int32(c.uint())
		e.first = last + c.int()
		e.last = e.first + c.int()
		at, last = e.at, e.last
	}
	return l
}

// levelEntry describes a level. Its buckets are width ticks long, and bucket 0 begins at the first
// time of the track.
type levelEntry struct {
	width  int64
	blocks []blockEntry
}

// appendLevels appends a table of levels, which columns.levels reads.
func appendLevels(b []byte, l []levelEntry) []byte {
	b = binary.AppendUvarint(b, uint64(len(l)))
	for _, e := range l {
		b = appendBlocks(binary.AppendUvarint(b, uint64(e.width)), e.blocks)
	}
	return b
}

func (c *columns) levels() []levelEntry {
	l := make([]levelEntry, c.count())
	for i := range l {
		if l[i].width = int64(c.uint()); l[i].width < 1 {
			c.bad, l[i].width = true, 1
		}
		l[i].blocks = c.blocks()
	}
	return l
}
