package pallas

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
)

// Most zstd frames of a trace hold times or durations whose high bytes are those of the
// value before. A stride frame says just that: each value but the first is k low bytes as
// they are, and a copy of 8−k bytes from 8 bytes before. All sequences of its second
// block are alike, so that nothing but the low bytes is stored; its first block, which
// has two values, makes 8 the offset that is repeated. It costs a few nanoseconds a
// value, where zstd needs a hundred to find the same out.

const (
	frameMagic = 0xfd2fb528
	minStride  = 4 // values
	maxStride  = 8000
	maxKept    = 5 // bytes: zstd copies 3 at least

	compressedBlock = 2 << 1
	lastBlock       = 1
	sameCodes       = 0x54 // all literal lengths, offsets and match lengths have the same code
)

// stride is how many low bytes of each value differ from those of the one before, and
// whether a frame that keeps so many is likely the shortest.
func stride(v []uint64) (k int, good bool) {
	all := uint64(0)
	for i := 1; i < len(v); i++ {
		all |= v[i] ^ v[i-1]
	}
	if k = max(1, (bits.Len64(all)+7)/8); k > maxKept {
		return k, false
	}
	// Where the highest of these bytes changes seldom, or values come again, zstd finds
	// that.
	limit, often := uint64(1)<<(8*k-8), 0
	for i := 1; i < len(v); i++ {
		if v[i]^v[i-1] >= limit {
			often++
		}
	}
	if 2*often < len(v) {
		return k, false
	}
	const samples = 64
	if len(v) < 2*samples {
		return k, true
	}
	var values, highs bitSet
	for i := range samples {
		x := v[i*len(v)/samples]
		values.add(x * 0x9e3779b97f4a7c15 >> 56)
		highs.add(x >> (8*k - 8) & 0xff)
	}
	return k, values.len() > samples/2 && highs.len() > samples/4
}

// bitSet is a set of bytes.
type bitSet [4]uint64

func (s *bitSet) add(x uint64) { s[x>>6] |= 1 << (x & 63) }

func (s *bitSet) len() (n int) {
	for _, x := range s {
		n += bits.OnesCount64(x)
	}
	return n
}

// strideParts is what stands around the bytes of the values: before the first one,
// between the second and the third, and behind the last.
type strideParts struct{ first, second, end []byte }

// newStrideParts makes those of n values that keep k bytes, in some room.
func newStrideParts(k, n int, room *[64]byte) (p strideParts) {
	b := le32(room[:0], frameMagic)
	if n < 32 {
		b = append(b, 0x20, byte(8*n)) // of the content, in one segment
	} else {
		b = append(b, 0x60, byte(8*n-256), byte((8*n-256)>>8))
	}
	b = append24(b, (15+k)<<3|compressedBlock)
	b = append(b, byte(8+k)<<3) // literals
	at := len(b)
	p.first = b
	// One sequence: 8+k literals, and a match as far back as the last but two, which is 8
	// at the beginning.
	b = append(b, 1, sameCodes, byte(8+k), 1, byte(5-k), 3)
	n -= 2
	literals := k * n
	size := literals + 6 + 1
	if n >= 128 {
		size++
	}
	switch {
	case literals < 32:
		b = append24(b, size<<3|compressedBlock|lastBlock)
		b = append(b, byte(literals<<3))
	case literals < 1<<12:
		b = append24(b, (size+1)<<3|compressedBlock|lastBlock)
		b = append(b, byte(literals<<4|1<<2), byte(literals>>4))
	default:
		b = append24(b, (size+2)<<3|compressedBlock|lastBlock)
		b = append(b, byte(literals<<4|3<<2), byte(literals>>4), byte(literals>>12))
	}
	p.second = b[at:]
	at = len(b)
	if n < 128 {
		b = append(b, byte(n))
	} else {
		b = append(b, byte(n>>8+128), byte(n))
	}
	b = append(b, sameCodes, byte(k), 0, byte(5-k), 1) // k literals, and a match as far back as the last
	p.end = b[at:]
	return p
}

func append24(b []byte, n int) []byte { return append(b, byte(n), byte(n>>8), byte(n>>16)) }

// appendStrideFrame makes a frame of minStride values at least, maxStride at most.
func appendStrideFrame(b []byte, v []uint64, k int) []byte {
	var room [64]byte
	p := newStrideParts(k, len(v), &room)
	b = append(b, p.first...)
	b = le64(b, v[0], v[1])
	b = append(b[:len(b)-8+k], p.second...)
	b = slices.Grow(b, k*len(v)+8+len(p.end))
	for _, x := range v[2:] {
		n := len(b)
		binary.LittleEndian.PutUint64(b[n:n+8], x)
		b = b[:n+k]
	}
	return append(b, p.end...)
}

// strideFrame reads the values of a frame that [appendStrideFrame] made; ok is false if it
// is another one.
func strideFrame(out []uint64, b []byte) (ok bool) {
	const before = 10 // the number of literals
	n := len(out)
	if n < minStride || n > maxStride || len(b) < before+1 {
		return false
	}
	at := before - 1
	if n >= 32 {
		at++
	}
	k := int(b[at]>>3) - 8
	if k < 1 || k > maxKept {
		return false
	}
	var room [64]byte
	p := newStrideParts(k, n, &room)
	low := len(p.first) + 8 + k + len(p.second)
	end := low + k*(n-2)
	if len(b) != end+len(p.end) || !bytes.HasPrefix(b, p.first) || !bytes.Equal(b[low-len(p.second):low], p.second) || !bytes.Equal(b[end:], p.end) {
		return false
	}
	mask := uint64(1)<<(8*k) - 1
	first := b[len(p.first):]
	out[0] = binary.LittleEndian.Uint64(first)
	high := out[0] &^ mask
	out[1] = high | binary.LittleEndian.Uint64(first[8:])&mask
	rest := out[2 : n-1]
	for i := range rest {
		rest[i] = high | binary.LittleEndian.Uint64(b[low:low+8])&mask
		low += k
	}
	var last [8]byte // behind which the frame may end
	copy(last[:], b[low:end])
	out[n-1] = high | binary.LittleEndian.Uint64(last[:])
	return true
}
