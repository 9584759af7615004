package pallas

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/klauspost/compress/huff0"
)

// strideReader decodes the frames that [appendStrideFrame] makes. It is faster than a general zstd
// decoder. It keeps its buffers for the next frame.
type strideReader struct {
	huffman *huff0.Scratch
	low     []byte
	bits    []byte
	ll, ml  stateReader
}

// read decodes the values of a frame. ok is false if the frame is of another kind or damaged. The
// caller then uses zstd, which finds the defect.
func (r *strideReader) read(out []uint64, b []byte) (ok bool) {
	// size in bytes of the headers of the frame and of its first block, up to the size of the literals
	const before = 10
	n := len(out)
	if n < minStride || n > maxStride || len(b) < before+1 {
		return false
	}
	at := before - 1
	if n >= 32 {
		at++
	}
	k := int(b[at]>>3) - 8
	if k < 1 || k > maxKept || len(b) < at+1+8+k+6+3 {
		return false
	}
	// All bytes except the values must equal the bytes that appendFirst writes.
	var room [64]byte
	first, second := binary.LittleEndian.Uint64(b[at+1:]), binary.LittleEndian.Uint64(b[at+9:])
	head := appendFirst(room[:0], n, first, second, k)
	if !bytes.HasPrefix(b, head) {
		return false
	}
	if b = b[len(head):]; len(b) < 3 {
		return false
	}
	if size := int(b[0]) | int(b[1])<<8 | int(b[2])<<16; size != (len(b)-3)<<3|compressedBlock|lastBlock {
		return false
	}
	mask := uint64(1)<<(8*k) - 1
	out[0], out[1] = first, first&^mask|second&mask
	low, b, ok := r.readLiterals(b[3:], n-2)
	if !ok || len(b) < 6 {
		return false
	}
	count := appendCount(room[:0], n-2)
	if !bytes.HasPrefix(b, count) {
		return false
	}
	switch b = b[len(count):]; b[0] {
	case sameCodes:
		k := int(b[1])
		if k < 1 || k > maxKept || len(low) != k*(n-2) || !bytes.Equal(b[1:], []byte{byte(k), 0, byte(maxKept - k), 1}) {
			return false
		}
		strideValues(out[2:], low, out[1], k)
		return true
	case mixedCodes:
		return r.readMixed(out, low, b[1:])
	}
	return false
}

// readLiterals decodes the literals section of a block, which contains the low bytes of n values. It returns
// these bytes and the rest of b. The underlying array of low has at least 8 bytes from each position of low
// on.
func (r *strideReader) readLiterals(b []byte, n int) (low, rest []byte, ok bool) {
	if len(b) < 5 {
		return nil, nil, false
	}
	size, packed, head := 0, 0, 0
	switch word := binary.LittleEndian.Uint32(b); b[0] & 15 {
	case 0, 8: // stored uncompressed
		size, head = int(b[0]>>3), 1
	case 4:
		size, head = int(word>>4&0xfff), 2
	case 12:
		size, head = int(word>>4&0xfffff), 3
	case 6: // Huffman coded
		size, packed, head = int(word>>4&0x3ff), int(word>>14&0x3ff), 3
	case 10:
		size, packed, head = int(word>>4&0x3fff), int(word>>18), 4
	default:
		return nil, nil, false
	}
	b = b[head:]
	if size < n || size > maxKept*n {
		return nil, nil, false
	}
	if packed == 0 {
		if size > len(b) {
			return nil, nil, false
		}
		r.low = append(slices.Grow(r.low[:0], size+8), b[:size]...)
		return r.low, b[size:], true
	}
	if packed > len(b) {
		return nil, nil, false
	}
	if r.huffman == nil {
		r.huffman = &huff0.Scratch{}
	}
	h, streams, err := huff0.ReadTable(b[:packed], r.huffman)
	if err != nil {
		return nil, nil, false
	}
	r.huffman = h
	r.low = slices.Grow(r.low[:0], size+8)
	if r.low, err = h.Decoder().Decompress4X(r.low[:0:size], streams); err != nil || len(r.low) != size {
		return nil, nil, false
	}
	return r.low, b[packed:], true
}

// strideValues computes values from their k low bytes each, and from the value before them, last.
func strideValues(out []uint64, low []byte, last uint64, k int) {
	mask := uint64(1)<<(8*k) - 1
	high := last &^ mask
	i := 0
	for ; len(low) >= 8; i++ {
		out[i] = high | binary.LittleEndian.Uint64(low)&mask
		low = low[k:]
	}
	for ; i < len(out); i++ {
		var b [8]byte
		copy(b[:], low[:k])
		out[i] = high | binary.LittleEndian.Uint64(b[:])
		low = low[k:]
	}
}

// readMixed decodes values with different numbers of literal bytes.
func (r *strideReader) readMixed(out []uint64, low, b []byte) (ok bool) {
	if b, ok = r.ll.build(b); !ok || len(b) == 0 || b[0] != 0 {
		return false
	}
	if b, ok = r.ml.build(b[1:]); !ok || len(b) == 0 || b[len(b)-1] == 0 {
		return false
	}
	left := 8*len(b) - 9 + bits.Len8(b[len(b)-1]) // number of bits, without the end mark
	if left < 2*stateBits {
		return false
	}
	// Zero bytes follow the bits and the low bytes, so that 8 bytes can be read from any position.
	r.bits = append(append(r.bits[:0], b...), 0, 0, 0, 0, 0, 0, 0, 0)
	used := len(low)
	low = append(low, 0, 0, 0, 0, 0, 0, 0, 0)
	r.low = low
	left -= 2 * stateBits
	word := binary.LittleEndian.Uint64(r.bits[left>>3:]) >> (left & 7)
	l, m := word>>stateBits&(stateCount-1), word&(stateCount-1)
	last, at := out[1], 0
	for i := 2; ; i++ {
		x, y := r.ll.cells[l], r.ml.cells[m]
		k := int(x.code)
		if k == 0 || k+int(y.code) != maxKept || at+k > used {
			return false
		}
		mask := uint64(1)<<(8*k) - 1
		last = last&^mask | binary.LittleEndian.Uint64(low[at:at+8])&mask
		at += k
		out[i] = last
		if i == len(out)-1 {
			return left == 0 && at == used
		}
		n := int(x.bits + y.bits)
		if left -= n; left < 0 {
			return false
		}
		word := binary.LittleEndian.Uint64(r.bits[left>>3:]) >> (left & 7)
		l = uint64(x.from) + word>>y.bits&(1<<x.bits-1)
		m = uint64(y.from) + word&(1<<y.bits-1)
	}
}

// stateReader is an FSE table of zstd, for decoding.
type stateReader struct {
	cells [stateCount]struct{ code, bits, from uint8 }
}

// build decodes the description of a table with stateCount states and few codes.
func (t *stateReader) build(b []byte) (rest []byte, ok bool) {
	var share [maxKept + 1]int
	var room [8]byte
	copy(room[:], b)
	word := binary.LittleEndian.Uint64(room[:]) // 8 bytes are enough for the whole description
	used := 4
	if word&15 != stateBits-5 {
		return nil, false
	}
	left, threshold, width := stateCount+1, stateCount, stateBits+1
	for c := 0; left > 1; c++ {
		if c > maxKept || used > 48 {
			return nil, false
		}
		most := 2*threshold - 1 - left
		x := int(word >> used & (1<<width - 1))
		if low := x & (threshold - 1); low < most {
			x = low
			used += width - 1
		} else {
			if x >= threshold {
				x -= most
			}
			used += width
		}
		n := x - 1
		if n < 0 {
			return nil, false // appendShares never writes a share of less than one state
		}
		share[c] = n
		left -= n
		for left < threshold && threshold > 1 {
			width--
			threshold >>= 1
		}
		if n == 0 {
			for {
				zeros := int(word >> used & 3)
				used += 2
				c += zeros
				if zeros < 3 {
					break
				}
				if used > 48 {
					return nil, false
				}
			}
		}
	}
	size := (used + 7) / 8
	if left != 1 || size > len(b) {
		return nil, false
	}
	at := 0
	for c, n := range share {
		for range n {
			t.cells[at].code = uint8(c)
			at = (at + stateCount>>1 + stateCount>>3 + 3) & (stateCount - 1)
		}
	}
	for i := range t.cells {
		x := &t.cells[i]
		n := share[x.code]
		share[x.code]++
		x.bits = uint8(stateBits + 1 - bits.Len(uint(n)))
		x.from = uint8(n<<x.bits - stateCount)
	}
	return b[size:], true
}
