package pallas

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/klauspost/compress/huff0"
)

// In most blocks of a trace, the high bytes of a time or duration equal the high bytes of the value before it.
// A stride frame is a zstd frame that exploits only this fact. It stores some low bytes of each value as
// literals, and copies the remaining bytes from 8 bytes before. The first block of the frame holds two values,
// and makes 8 the repeated offset. If all values of the second block have the same number of literal bytes, it
// stores only these bytes. Otherwise it also stores the number of literal bytes of each value in an entropy
// code, which takes a fraction of a bit for the most frequent number. Making a stride frame takes some
// nanoseconds for each value; zstd takes a hundred nanoseconds to find the same matches.

const (
	frameMagic = 0xfd2fb528
	minStride  = 4    // minimum number of values in a stride frame
	fewValues  = 64   // with fewer values than this, all kinds of frames are tried
	maxStride  = 1024 // maximum number of values in a stride frame, which is more than a block has
	// maximum number of literal bytes of a value; the other bytes are copied, and zstd copies at least 3 bytes
	maxKept = 5

	compressedBlock = 2 << 1
	lastBlock       = 1
	sameCodes       = 0x54 // literal lengths, offsets and match lengths have a single code each
	mixedCodes      = 0x98 // offsets have a single code; literal lengths and match lengths have tables
	tableCodes      = 0xa8 // literal lengths, offsets and match lengths have tables
)

// strides holds, for each value of a block, how many low bytes differ from the value before it.
type strides struct {
	kept   [maxStride]uint8 // number of low bytes that differ; indexed by value, from the second value on
	counts [maxKept + 1]int // number of values with each number of low bytes, from the third value on
}

// compute fills in the strides of v. It reports whether a stride frame is likely to be the shortest frame. It
// is not if values repeat, because zstd finds repeated values, or if high bytes differ.
func (s *strides) compute(v []uint64) bool {
	s.counts = [maxKept + 1]int{}
	all := uint64(0)
	for i := 1; i < len(v); i++ {
		x := v[i] ^ v[i-1]
		all |= x
		s.kept[i] = uint8(max(1, (bits.Len64(x)+7)/8))
	}
	if all >= 1<<(8*maxKept) {
		return false
	}
	for _, k := range s.kept[2:len(v)] {
		s.counts[k]++
	}
	if len(v) < fewValues {
		return true
	}
	samples := min(64, len(v))
	var values bitSet
	for i := range samples {
		values.add(v[i*len(v)/samples] * 0x9e3779b97f4a7c15 >> 56)
	}
	return values.len() > samples/2
}

// commonLength returns the number of low bytes that a value of the frame has, if all values from the third on
// have the same number of low bytes. Otherwise it returns 0.
func (s *strides) commonLength(n int) int {
	for k, c := range s.counts {
		if c == n-2 {
			return k
		}
	}
	return 0
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

// appendHead appends the header of a frame of n values.
func appendHead(b []byte, n int) []byte {
	b = le32(b, frameMagic)
	if n < 32 {
		return append(b, 0x20, byte(8*n)) // the size of the contents, in the form for a frame with a single segment
	}
	return append(b, 0x60, byte(8*n-256), byte((8*n-256)>>8))
}

// appendFirst appends the header of a frame of n values, and its first block.
func appendFirst(b []byte, n int, first, second uint64, k int) []byte {
	b = append24(appendHead(b, n), (15+k)<<3|compressedBlock)
	b = le64(append(b, byte(8+k)<<3), first, second)[:len(b)+1+8+k] // the block's literals
	// The block has one sequence: 8+k literals, and a match at the third repeated offset, whose initial
	// value is 8.
	return append(b, 1, sameCodes, byte(8+k), 1, byte(5-k), 3)
}

func append24(b []byte, n int) []byte { return append(b, byte(n), byte(n>>8), byte(n>>16)) }

// appendLiterals appends the header of n literals that are stored uncompressed.
func appendLiterals(b []byte, n int) []byte {
	switch {
	case n < 32:
		return append(b, byte(n<<3))
	case n < 1<<12:
		return append(b, byte(n<<4|1<<2), byte(n>>4))
	}
	return append24(b, n<<4|3<<2)
}

// appendCount appends the number of sequences.
func appendCount(b []byte, n int) []byte {
	if n < 128 {
		return append(b, byte(n))
	}
	return append(b, byte(n>>8+128), byte(n))
}

// appendStrideFrame appends a stride frame of minStride to maxStride values.
func appendStrideFrame(b []byte, v []uint64, s *strides, room *packBuffers) []byte {
	n := len(v)
	b = appendFirst(b, n, v[0], v[1], int(s.kept[1]))
	at := len(b)
	b = append24(b, 0) // the header of the block, which is filled in at the end
	low := slices.Grow(room.low[:0], maxKept*n+8)
	for i, x := range v[2:] {
		k := len(low)
		binary.LittleEndian.PutUint64(low[k:k+8], x)
		low = low[:k+int(s.kept[i+2])]
	}
	room.low = low
	b = appendCount(room.appendLow(b, low), n-2)
	if k := s.commonLength(n); k > 0 {
		// Each sequence has k literals, and a match at the last offset.
		b = append(b, sameCodes, byte(k), 0, byte(5-k), 1)
	} else {
		b = s.appendMixed(append(b, mixedCodes), n)
	}
	size := (len(b)-at-3)<<3 | compressedBlock | lastBlock
	b[at], b[at+1], b[at+2] = byte(size), byte(size>>8), byte(size>>16)
	return b
}

// packBuffers holds the buffers that a goroutine needs to make blocks.
type packBuffers struct {
	plain   []byte
	low     []byte
	strides strides
	huffman *huff0.Scratch
}

// appendLow appends the low bytes as literals. It uses Huffman codes if that makes them shorter.
func (r *packBuffers) appendLow(b, low []byte) []byte {
	const (
		few        = 256
		compressed = 2
	)
	if len(low) < few {
		return append(appendLiterals(b, len(low)), low...)
	}
	if r.huffman == nil {
		r.huffman = &huff0.Scratch{Reuse: huff0.ReusePolicyNone, WantLogLess: 5}
	}
	out, _, err := huff0.Compress4X(low, r.huffman)
	if err != nil {
		return append(appendLiterals(b, len(low)), low...) // the literals cannot be compressed
	}
	n, m := uint64(len(low)), uint64(len(out))
	if n < 1<<10 {
		b = append24(b, int(compressed|1<<2|n<<4|m<<14))
	} else {
		b = le32(b, uint32(compressed|2<<2|n<<4|m<<18))
	}
	return append(b, out...)
}

// appendMixed appends the sequences of a block whose values have different numbers of literal bytes.
// They consist of the tables of the codes for literal and match lengths, and of the bits of the state
// transitions, from the last sequence to the first.
func (s *strides) appendMixed(b []byte, n int) []byte {
	var literals, matches [maxKept + 1]int
	for k, c := range s.counts {
		if c > 0 {
			literals[k], matches[maxKept-k] = c, c
		}
	}
	var ll, ml stateTable
	b = ll.build(b, literals)
	b = append(b, 0) // the code of the last offset
	b = ml.build(b, matches)
	last := s.kept[n-1]
	l, m := ll.first(last), ml.first(maxKept-last)
	acc, have := uint64(0), 0
	for i := n - 2; i >= 2; i-- {
		k := s.kept[i]
		x, w := &ml.codes[maxKept-k], uint32(0)
		w = (m + x.bits) >> 16
		acc |= uint64(m&(1<<w-1)) << have
		have += int(w)
		m = uint32(ml.next[int32(m>>w)+x.from])
		x = &ll.codes[k]
		w = (l + x.bits) >> 16
		acc |= uint64(l&(1<<w-1)) << have
		have += int(w)
		l = uint32(ll.next[int32(l>>w)+x.from])
		if have >= 32 {
			b = le32(b, uint32(acc))
			acc >>= 32
			have -= 32
		}
	}
	acc |= uint64(m&(stateCount-1))<<have | uint64(l&(stateCount-1))<<(have+stateBits) | 1<<(have+2*stateBits)
	have += 2*stateBits + 1
	for ; have > 0; have -= 8 {
		b = append(b, byte(acc))
		acc >>= 8
	}
	return b
}

// appendSmallFrame appends a frame of a few values. Such a frame is often shorter than a stride frame, but
// slower to read. The first value is a block of its own, and the offset of the first match is coded like the
// offsets of all other matches. The values after the first one must not all have the same number of literal
// bytes, because some readers reject a table with a single code.
func appendSmallFrame(b []byte, v []uint64, s *strides) []byte {
	n := len(v)
	b = appendHead(b, n)
	b = le64(append24(b, 8<<3), v[0])
	at := len(b)
	b = append24(b, 0)
	size := 0
	var literals, offsets, matches [maxKept + 1]int
	for _, k := range s.kept[1:n] {
		literals[k]++
		matches[maxKept-k]++
		size += int(k)
	}
	offsets[0], offsets[1] = n-2, 1
	b = appendLiterals(b, size)
	for i, x := range v[1:] {
		for range s.kept[i+1] {
			b = append(b, byte(x))
			x >>= 8
		}
	}
	b = append(appendCount(b, n-1), tableCodes)
	var tables [3]stateTable // the tables, in the order in which the bits of the next states are written
	offset, match, literal := &tables[0], &tables[1], &tables[2]
	b = literal.build(b, literals)
	b = offset.build(b, offsets)
	b = match.build(b, matches)
	codes := func(i int) [3]uint8 {
		first := uint8(0)
		if i == 1 {
			first = 1 // the third repeated offset, which is 8
		}
		return [3]uint8{first, maxKept - s.kept[i], s.kept[i]}
	}
	var w bitWriter
	var states [3]uint32
	for k, c := range codes(n - 1) {
		states[k] = tables[k].first(c)
	}
	for i := n - 2; i >= 1; i-- {
		for k, c := range codes(i) {
			x := &tables[k].codes[c]
			bits := (states[k] + x.bits) >> 16
			w.put(uint64(states[k]&(1<<bits-1)), int(bits))
			states[k] = uint32(tables[k].next[int32(states[k]>>bits)+x.from])
		}
	}
	w.put(1, 1) // extra bit of the offset's code
	for _, k := range [...]int{1, 0, 2} {
		w.put(uint64(states[k]&(stateCount-1)), stateBits)
	}
	w.put(1, 1)
	b = w.end(b)
	size = (len(b)-at-3)<<3 | compressedBlock | lastBlock
	b[at], b[at+1], b[at+2] = byte(size), byte(size>>8), byte(size>>16)
	return b
}

// bitWriter collects bits, from the lowest to the highest.
type bitWriter struct {
	b    []byte
	acc  uint64
	have int
}

func (w *bitWriter) put(x uint64, n int) {
	w.acc |= x << w.have
	for w.have += n; w.have >= 8; w.have -= 8 {
		w.b = append(w.b, byte(w.acc))
		w.acc >>= 8
	}
}

// end appends all collected bits to b.
func (w *bitWriter) end(b []byte) []byte {
	if b = append(b, w.b...); w.have > 0 {
		b = append(b, byte(w.acc))
	}
	return b
}

const (
	stateBits  = 6
	stateCount = 1 << stateBits
)

// stateTable is an FSE table of zstd (RFC 8878, section 4.1) with few codes.
type stateTable struct {
	next  [stateCount]uint16
	codes [maxKept + 1]struct {
		bits uint32 // add the state, then shift right by 16 bits to get the number of bits of the state to write
		from int32  // add the rest of the state to get an index of next
	}
}

// build builds the table for codes with the frequencies counts, and appends the description of the table to b.
func (t *stateTable) build(b []byte, counts [maxKept + 1]int) []byte {
	total, most := 0, 0
	for c, n := range counts {
		if total += n; n > counts[most] {
			most = c
		}
	}
	var share [maxKept + 1]int // number of states of each code
	left := stateCount
	for c, n := range counts {
		if n > 0 {
			share[c] = max(1, n*stateCount/total)
			left -= share[c]
		}
	}
	share[most] += left
	// Spread the states of each code over the table.
	var code [stateCount]uint8
	at := 0
	for c, n := range share {
		for range n {
			code[at] = uint8(c)
			at = (at + stateCount>>1 + stateCount>>3 + 3) & (stateCount - 1)
		}
	}
	var begin [maxKept + 1]int
	sum := 0
	for c, n := range share {
		begin[c] = sum
		if n > 0 {
			w := stateBits
			if n > 1 {
				w = stateBits - bits.Len(uint(n-1)) + 1
			}
			t.codes[c].bits = uint32(w<<16 - n<<w)
			t.codes[c].from = int32(sum - n)
		}
		sum += n
	}
	for i, c := range code {
		t.next[begin[c]] = uint16(stateCount + i)
		begin[c]++
	}
	return appendShares(b, share[:])
}

// first returns a state for the given code, with which encoding begins. The code is the code of the last
// sequence.
func (t *stateTable) first(code uint8) uint32 {
	x := &t.codes[code]
	w := (x.bits + 1<<15) >> 16
	return uint32(t.next[int32((w<<16-x.bits)>>w)+x.from])
}

// appendShares appends the description of a table, given the number of states that each code has.
func appendShares(b []byte, share []int) []byte {
	acc, have := uint64(stateBits-5), 4
	put := func(x, n int) {
		acc |= uint64(x) << have
		have += n
	}
	left, threshold, width := stateCount+1, stateCount, stateBits+1
	for c := 0; left > 1; c++ {
		n := share[c]
		most := 2*threshold - 1 - left
		left -= n
		x := n + 1
		if x >= threshold {
			x += most
		}
		w := width
		if x < most {
			w--
		}
		put(x, w)
		for left < threshold {
			width--
			threshold >>= 1
		}
		if n == 0 {
			// The description continues with the number of further codes that have no states.
			zeros := 0
			for share[c+1] == 0 {
				zeros++
				c++
			}
			for ; zeros >= 3; zeros -= 3 {
				put(3, 2)
			}
			put(zeros, 2)
		}
	}
	for ; have > 0; have -= 8 {
		b = append(b, byte(acc))
		acc >>= 8
	}
	return b
}
