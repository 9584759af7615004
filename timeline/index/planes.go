package index

import (
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/huff0"
	"github.com/klauspost/compress/zstd"
)

// A column of varints is kept as two planes, the first byte of each and all others, and
// each plane is compressed alone: the bytes of one plane are like each other. A plane is
// what it is packed as (a byte), its length, and its packed length as varints if it is
// packed, and the bytes.
const (
	planeStored = iota
	planeZstd   // repeats
	planeHuff   // Huffman codes of bytes that do not repeat but differ in frequency
	planeSame   // one byte for all
)

// planeMin is the least length that is worth packing.
const planeMin = 64

// planePacker packs planes.
type planePacker struct {
	enc    *zstd.Encoder
	huff   huff0.Scratch
	packed []byte
}

func (p *planePacker) append(b, plane []byte) []byte {
	if len(plane) >= planeMin {
		p.packed = p.enc.EncodeAll(plane, p.packed[:0])
		if len(p.packed) < len(plane)-len(plane)/16 {
			return p.put(b, planeZstd, len(plane), p.packed)
		}
		if len(plane) <= huff0.BlockSizeMax {
			p.huff.Reuse = huff0.ReusePolicyNone // each plane has its own table
			switch out, _, err := huff0.Compress1X(plane, &p.huff); err {
			case nil:
				return p.put(b, planeHuff, len(plane), out)
			case huff0.ErrUseRLE:
				return p.put(b, planeSame, len(plane), plane[:1])
			}
		}
	}
	b = binary.AppendUvarint(append(b, planeStored), uint64(len(plane)))
	return append(b, plane...)
}

func (p *planePacker) put(b []byte, kind byte, n int, packed []byte) []byte {
	b = binary.AppendUvarint(append(b, kind), uint64(n))
	b = binary.AppendUvarint(b, uint64(len(packed)))
	return append(b, packed...)
}

// planeReader unpacks planes.
type planeReader struct {
	huff *huff0.Scratch
}

// plane unpacks the next plane, of at most most bytes, into buf, which it may replace by a
// larger one; one that is stored stays where it is.
func (p *planeReader) plane(c *columns, buf *[]byte, most int) ([]byte, error) {
	kind, n := c.byte(), c.uint()
	if n > uint64(most) {
		return nil, fmt.Errorf("found a column of %d bytes, expected at most %d", n, most)
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
			out, err = p.huff.Decoder().Decompress1X((*buf)[:0:n], rest)
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
		err = fmt.Errorf("found a column of %d bytes, expected %d", len(out), n)
	}
	*buf = out
	return out, err
}

// varints is a column of varints in two planes.
type varints struct {
	low, high []byte
	l, h      int // how much of them has been read
	bad       bool
}

func (v *varints) reset() { v.low, v.high = v.low[:0], v.high[:0] }

// uint appends a number.
func (v *varints) uint(x uint64) {
	if x < 0x80 {
		v.low = append(v.low, byte(x))
		return
	}
	v.low = append(v.low, byte(x)|0x80)
	v.high = binary.AppendUvarint(v.high, x>>7)
}

// int appends a signed number.
func (v *varints) int(x int64) { v.uint(uint64(x)<<1 ^ uint64(x>>63)) }

// read takes the next number. It moves no slice, which would cost a write barrier.
func (v *varints) read() uint64 {
	if v.l >= len(v.low) {
		v.bad = true
		return 0
	}
	x := uint64(v.low[v.l])
	v.l++
	if x < 0x80 {
		return x
	}
	x &= 0x7f
	for shift := 7; v.h < len(v.high) && shift < 64; shift += 7 {
		y := uint64(v.high[v.h])
		v.h++
		if x |= y & 0x7f << shift; y < 0x80 {
			return x
		}
	}
	v.bad = true
	return 0
}

func zigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }
