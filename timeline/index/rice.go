package index

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"github.com/weft-trace/weft/internal/plural"
)

// A column of fewer than smallColumn numbers is stored as Rice codes, which need no table. It consists of the
// least number as a varint, the number of low bits that are stored unchanged (a byte), and a code for each
// number. The code represents the difference from the least number. It consists of the value q of the bits
// above the low bits, as q ones followed by a zero, and of the low bits. If q is at least riceMost, the code
// consists instead of riceMost ones, the length of the difference minus 1 in 6 bits, and the difference
// itself. The first bit of a byte is the lowest.
const (
	smallColumn = 256
	riceMost    = 20
)

// riceSame stands in place of the number of low bits if all numbers equal the least number. No further bytes
// follow.
const riceSame = 0xff

// riceColumn is a value in place of the number of planes, at the start of a column. It means that Rice
// codes follow.
const riceColumn = 9

// appendRice appends the Rice codes of a column of numbers, which must not be empty.
func appendRice(b []byte, values []uint64) []byte {
	least, most, sum := values[0], values[0], uint64(0)
	for _, x := range values {
		least, most = min(least, x), max(most, x)
	}
	if b = binary.AppendUvarint(b, least); least == most {
		return append(b, riceSame)
	}
	for _, x := range values {
		sum += min(x-least, 1<<54)
	}
	// The mean determines the number of low bits, so that the unary codes of the high bits are short.
	low := max(0, bits.Len64(sum/uint64(len(values)))-1)
	b = append(b, byte(low))
	w := bitWriter{b: slices.Grow(b, riceBytes*len(values)+8), at: len(b)}
	w.b = w.b[:cap(w.b)]
	for _, x := range values {
		x -= least
		if high := x >> low; high < riceMost {
			w.write(1<<high-1, uint(high)+1)
			w.write(x&(1<<low-1), uint(low))
			continue
		}
		n := uint(bits.Len64(x))
		w.write(1<<riceMost-1, riceMost)
		w.write(uint64(n-1), 6)
		w.write(x&0xffffffff, min(n, 32))
		if n > 32 {
			w.write(x>>32, n-32)
		}
	}
	return w.end()
}

// riceBytes is the largest size of the code of a number, in bytes.
const riceBytes = 12

// bitWriter writes bits to b. The capacity of b must exceed the number of written bytes by at least eight.
type bitWriter struct {
	b     []byte
	at    int
	hold  uint64
	count uint // number of bits in hold, fewer than 8
}

// write writes the n low bits of x, at most 56. The other bits of x must be zero.
func (w *bitWriter) write(x uint64, n uint) {
	w.hold |= x << w.count
	binary.LittleEndian.PutUint64(w.b[w.at:], w.hold)
	w.count += n
	w.at += int(w.count / 8)
	w.hold >>= w.count &^ 7
	w.count &= 7
}

func (w *bitWriter) end() []byte {
	if w.count > 0 {
		w.at++
	}
	return w.b[:w.at]
}

// readRice reads the Rice codes of n numbers into to, whose memory it reuses.
func (c *columns) readRice(n int, to []uint64) ([]uint64, error) {
	if n >= smallColumn {
		return nil, fmt.Errorf("found a short column of %s, expected fewer than %d", plural.Of(n, "number"), smallColumn)
	}
	least, low := c.uint(), uint(c.byte())
	to = slices.Grow(to[:0], n)[:n]
	if low == riceSame {
		for i := range to {
			to[i] = least
		}
		return to, c.end()
	}
	if low > 54 {
		return nil, fmt.Errorf("found %d low bits, expected at most 54", low)
	}
	r := bitReader{b: c.b}
	for i := range to {
		high := uint(bits.TrailingZeros64(^r.peek()))
		if high < riceMost {
			r.skip(high + 1)
			to[i] = least + uint64(high)<<low + r.read(low)
			continue
		}
		r.skip(riceMost)
		k := uint(r.read(6)) + 1
		x := r.read(min(k, 32))
		if k > 32 {
			x |= r.read(k-32) << 32
		}
		to[i] = least + x
	}
	c.bad = c.bad || r.at > 8*len(r.b)
	c.b = c.b[min(len(c.b), (r.at+7)/8):]
	return to, c.end()
}

// bitReader reads bits. After the end of b it reads zeros.
type bitReader struct {
	b  []byte
	at int
}

// peek returns the next bits without moving past them. At least 57 bits of the result are valid.
func (r *bitReader) peek() uint64 {
	i := r.at / 8
	if i+8 <= len(r.b) {
		return binary.LittleEndian.Uint64(r.b[i:]) >> (r.at % 8)
	}
	var last [8]byte
	if i < len(r.b) {
		copy(last[:], r.b[i:])
	}
	return binary.LittleEndian.Uint64(last[:]) >> (r.at % 8)
}

func (r *bitReader) skip(n uint) { r.at += int(n) }

// read returns the next n bits, at most 56, and moves past them.
func (r *bitReader) read(n uint) uint64 {
	x := r.peek() & (1<<n - 1)
	r.at += int(n)
	return x
}
