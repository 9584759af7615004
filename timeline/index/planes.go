package index

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"github.com/klauspost/compress/huff0"
	"github.com/klauspost/compress/zstd"

	"github.com/weft-trace/weft/internal/plural"
)

// A column of numbers is stored as planes: the first plane has the lowest bytes of all numbers, the second
// plane the next bytes, and so on. There are as many planes as the greatest number has bytes, and a byte
// before the planes states their number. Each plane is compressed separately, because its bytes resemble each
// other. Planes also allow decoding without branches. A plane is encoded as its packing (a byte), its length
// as a varint, its packed length as a varint if it is packed, and its bytes. A short column is stored as Rice
// codes instead (appendRice).
const (
	planeStored = iota
	planeZstd   // for bytes that repeat
	planeHuff   // Huffman codes, for bytes that do not repeat but differ in frequency
	planeSame   // a single byte that stands for all bytes of the plane
	planeRice   // Rice codes of a short column
)

// planeSample is the length of a sample that is tested for repetitions.
const planeSample = 1 << 10

// planePacker encodes columns as planes. Its memory is reused for further columns.
type planePacker struct {
	enc           *zstd.Encoder
	huff          huff0.Scratch
	packed        []byte
	values        []uint64    // the current column
	numberColumns [3][]uint64 // the last three columns of numbers
	plane         []byte      // the current plane
	columns       [4][]byte
	// the latest four-byte sequence of a sample with each hash; indexed by hash
	seen [256]uint32
}

// numbers appends a column of numbers.
func (p *planePacker) numbers(b []byte, values []uint64) []byte {
	n, all := len(values), uint64(0)
	for _, x := range values {
		all |= x
	}
	if n > 0 && n < smallColumn {
		return appendRice(append(b, riceColumn), values)
	}
	count := (bits.Len64(all) + 7) / 8
	if n > 0 {
		count = max(count, 1)
	}
	b = append(b, byte(count))
	plane := slices.Grow(p.plane[:0], n)[:n]
	p.plane = plane
	for j := range count {
		shift := 8 * j & 63
		for i, x := range values {
			plane[i] = byte(x >> shift)
		}
		b = p.append(b, plane)
	}
	return b
}

func (p *planePacker) append(b, plane []byte) []byte {
	if len(plane) > 0 && len(plane) < smallColumn {
		values := p.values[:0]
		for _, x := range plane {
			values = append(values, uint64(x))
		}
		p.values = values
		return appendRice(binary.AppendUvarint(append(b, planeRice), uint64(len(plane))), values)
	}
	if len(plane) > 0 {
		var codes []byte
		if len(plane) <= huff0.BlockSizeMax {
			p.huff.Reuse = huff0.ReusePolicyNone // each plane has its own table
			switch out, _, err := huff0.Compress4X(plane, &p.huff); err {
			case huff0.ErrUseRLE:
				return p.put(b, planeSame, len(plane), plane[:1])
			case nil:
				if len(out) > len(plane)*3/4 || len(plane) > 2*planeSample && !p.repeats(plane[:planeSample]) {
					// Bytes with such different values seldom repeat. If they do not repeat in a sample, they
					// probably do not repeat in the whole plane.
					return p.put(b, planeHuff, len(plane), out)
				}
				codes = out
			}
		}
		// Decoding zstd takes longer than decoding Huffman codes, so zstd must be clearly smaller.
		p.packed = p.enc.EncodeAll(plane, p.packed[:0])
		switch {
		case codes != nil && len(codes)*3/4 <= len(p.packed):
			return p.put(b, planeHuff, len(plane), codes)
		case len(p.packed) < len(plane)*3/4:
			return p.put(b, planeZstd, len(plane), p.packed)
		}
	}
	b = binary.AppendUvarint(append(b, planeStored), uint64(len(plane)))
	return append(b, plane...)
}

// repeats reports whether more than a quarter of the four-byte sequences in a sample occur in it
// earlier.
func (p *planePacker) repeats(sample []byte) bool {
	clear(p.seen[:])
	n := 0
	for i := range len(sample) - 4 {
		x := binary.LittleEndian.Uint32(sample[i:])
		seen := &p.seen[x*0x9e3779b1>>24]
		if *seen == x {
			n++
		}
		*seen = x
	}
	return n > len(sample)/4
}

func (p *planePacker) put(b []byte, kind byte, n int, packed []byte) []byte {
	b = binary.AppendUvarint(append(b, kind), uint64(n))
	b = binary.AppendUvarint(b, uint64(len(packed)))
	return append(b, packed...)
}

// planeReader decodes planes. Its memory is reused for further columns.
type planeReader struct {
	huff   *huff0.Scratch
	values []uint64
}

// plane unpacks the next plane, which may have at most `most` bytes. The result is in buf, which grows if
// necessary. If the plane is not packed, the result is a part of c.
func (p *planeReader) plane(c *columns, buf *[]byte, most int) ([]byte, error) {
	kind, n := c.byte(), c.uint()
	if n > uint64(most) {
		return nil, fmt.Errorf("found a column of %s, expected at most %d", plural.Of(n, "byte"), most)
	}
	if kind == planeRice {
		values, err := c.readRice(int(n), p.values)
		if err != nil {
			return nil, err
		}
		p.values = values
		*buf = slices.Grow((*buf)[:0], int(n))
		for _, x := range values {
			*buf = append(*buf, byte(x))
		}
		return *buf, nil
	}
	if kind == planeStored {
		if n > uint64(len(c.b)) {
			return nil, c.end(columns{bad: true})
		}
		out := c.b[:n]
		c.b = c.b[n:]
		return out, nil
	}
	s := c.section()
	if c.bad {
		return nil, c.end()
	}
	var out []byte
	var err error
	switch kind {
	case planeZstd:
		out, err = decoder().DecodeAll(s.b, (*buf)[:0])
	case planeHuff:
		var rest []byte
		if p.huff, rest, err = huff0.ReadTable(s.b, p.huff); err == nil {
			if uint64(cap(*buf)) < n {
				*buf = make([]byte, n)
			}
			p.huff.MaxDecodedSize = int(n)
			out, err = p.huff.Decoder().Decompress4X((*buf)[:0:n], rest)
		}
	case planeSame:
		if len(s.b) != 1 {
			return nil, c.end(columns{bad: true})
		}
		out = (*buf)[:0]
		for range n {
			out = append(out, s.b[0])
		}
	default:
		return nil, fmt.Errorf("found a column that is packed as %d", kind)
	}
	if err == nil && uint64(len(out)) != n {
		err = fmt.Errorf("found a column of %s, expected %d", plural.Of(len(out), "byte"), n)
	}
	*buf = out
	return out, err
}

// column is a column of numbers that have been decoded.
type column struct {
	narrow []byte   // the numbers, if each fits into a byte
	wide   []uint64 // the numbers otherwise
	buffer []byte
	memory []uint64
}

// at returns the number at index i of the column.
func (c *column) at(i int) uint64 {
	if c.wide == nil {
		return uint64(c.narrow[i])
	}
	return c.wide[i]
}

// readNumbers decodes a column of n numbers. The memory that it allocates is proportional to the number of
// bytes read, not to n.
func (p *planeReader) readNumbers(c *columns, n int, to *column) (err error) {
	to.narrow, to.wide = nil, nil
	count := c.byte()
	if count == riceColumn {
		to.memory, err = c.readRice(n, to.memory)
		to.wide = to.memory
		return err
	}
	if count > 8 || count == 0 && n > 0 {
		return fmt.Errorf("found numbers of %s, expected 1 to 8", plural.Of(count, "byte"))
	}
	for j := range count {
		plane, err := p.plane(c, &to.buffer, n)
		if err != nil {
			return err
		}
		if len(plane) != n {
			return fmt.Errorf("found %s, expected %d", plural.Of(len(plane), "number"), n)
		}
		if count == 1 {
			to.narrow = plane
			return nil
		}
		if j == 0 {
			to.memory = slices.Grow(to.memory[:0], n)[:n]
			to.wide = to.memory
			for i, x := range plane {
				to.wide[i] = uint64(x)
			}
			continue
		}
		shift := 8 * j & 63
		for i, x := range plane[:len(to.wide)] {
			to.wide[i] |= uint64(x) << shift
		}
	}
	return nil
}

// table decodes blocks with three columns of numbers and four columns of bytes. A block begins with the number
// of rows. The columns of numbers have that many rows; columns of bytes may be shorter.
type table struct {
	planes  planeReader
	numbers [3]column
	bytes   [4][]byte // memory of the columns
	columns [4][]byte
}

// read decodes the columns and returns the number of rows.
func (t *table) read(c *columns) (n int, err error) {
	n = int(min(c.uint(), maxBlock/16))
	for i := range t.numbers {
		if err = t.planes.readNumbers(c, n, &t.numbers[i]); err != nil {
			return 0, err
		}
	}
	for i := range t.columns {
		if t.columns[i], err = t.planes.plane(c, &t.bytes[i], n); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// zigzagEncode maps signed numbers to unsigned numbers for a column. zigzagDecode is its inverse.
func zigzagEncode(x int64) uint64 { return uint64(x)<<1 ^ uint64(x>>63) }

func zigzagDecode(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }
