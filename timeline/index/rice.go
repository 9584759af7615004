package index

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
)

// A column of fewer than smallColumn numbers is kept as Rice codes, which need no table:
// the least number as a varint, how many low bits are written as they are (a byte), and for
// each number what it is more than the least: the bits above the low ones as so many ones
// and a nought, then the low ones. Of riceMost ones and more there are just riceMost, then
// the length of the number less one in 6 bits, and the number. The lowest bit of a byte is
// the first one.
const (
	smallColumn = 256
	riceMost    = 20
)

// riceSame stands for the low bits if all numbers are the same and nothing follows.
const riceSame = 0xff

// riceColumn stands where else the number of planes stands.
const riceColumn = 9

// rice appends the codes of numbers.
func rice(b []byte, values []uint64) []byte {
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
	// So many low bits that those above are a few ones, by the mean.
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

// riceBytes is how many bytes the code of a number has at most.
const riceBytes = 12

// bitWriter writes bits into a slice that has room for them and eight bytes more.
type bitWriter struct {
	b     []byte
	at    int
	hold  uint64
	count uint // bits that are held, fewer than 8
}

// write writes the low bits of x, at most 56, which has no others.
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

// rice reads n numbers.
func (c *columns) rice(n int, to []uint64) ([]uint64, error) {
	if n >= smallColumn {
		return nil, fmt.Errorf("found a short column of %d numbers, expected fewer than %d", n, smallColumn)
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

// bitReader reads bits; behind the end there are noughts.
type bitReader struct {
	b  []byte
	at int
}

// peek is at least the next 57 bits.
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

// read reads at most 56 bits.
func (r *bitReader) read(n uint) uint64 {
	x := r.peek() & (1<<n - 1)
	r.at += int(n)
	return x
}
