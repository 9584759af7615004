package verify

import (
	"cmp"
	"encoding/binary"
	"iter"
	"math"
	"slices"

	"github.com/weft-trace/weft/trace"
)

// packedPieces stores the pieces of a signal in few bytes each, so that long signals fit into memory.
// It stores times as differences, and values with few digits as decimal numbers.
type packedPieces struct {
	chunks [][]byte // each chunk has whole pieces, and at most packedChunk bytes
	last   rawPiece // the last piece that was added
	digits [3]int   // numbers of decimals of the values c, b and a of the last piece
	sorted bool     // no piece begins before the end of the piece before it
}

const (
	packedChunk = 1 << 16
	// largestPiece is the largest size of a packed piece: two bytes for digits, two times, and three
	// values.
	largestPiece = 2 + 5*binary.MaxVarintLen64
	// mostDigits is the greatest number of decimals of a value that is packed as a decimal number. For all
	// other values, plain takes the place of the number of decimals.
	mostDigits = 9
	plain      = 15
)

// powersOfTen holds the powers of ten, which are exact floats. Dividing a whole number by one of these floats
// therefore gives the same float as parsing the decimal number.
var powersOfTen = [mostDigits + 1]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9}

// decimal splits v into a whole number n and a number of digits, so that v is n divided by 10^digits. ok is
// false if there is no exact result. It tries the number of digits in hint first.
func decimal(v float64, hint int) (n int64, digits int, ok bool) {
	try := func(digits int) bool {
		x := math.Round(v * powersOfTen[digits])
		if !(math.Abs(x) < 1<<53) {
			return false
		}
		n = int64(x)
		return math.Float64bits(float64(n)/powersOfTen[digits]) == math.Float64bits(v)
	}
	if hint <= mostDigits && try(hint) {
		return n, hint, true
	}
	for digits := range powersOfTen {
		if try(digits) {
			return n, digits, true
		}
	}
	return 0, plain, false
}

// add appends a piece.
func (p *packedPieces) add(x rawPiece) {
	if len(p.chunks) == 0 {
		p.sorted = true
	}
	p.sorted = p.sorted && x.from >= p.last.from
	n := len(p.chunks) - 1
	if n < 0 || len(p.chunks[n])+largestPiece > packedChunk {
		p.chunks = append(p.chunks, make([]byte, 0, packedChunk))
		n++
	}
	b := append(p.chunks[n], 0, 0)
	at := len(b) - 2
	b = binary.AppendVarint(b, x.from-p.last.to) // the difference may wrap around; the reader reverses this
	b = binary.AppendVarint(b, (x.to-x.from)-(p.last.to-p.last.from))
	for i, v := range [...]float64{x.p.C, x.p.B, x.p.A} {
		n, digits, ok := decimal(v, p.digits[i])
		p.digits[i] = digits
		if ok {
			b = binary.AppendVarint(b, n)
		} else {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		}
	}
	b[at], b[at+1] = byte(p.digits[0]), byte(p.digits[1]|p.digits[2]<<4)
	p.chunks[n], p.last = b, x
}

// all returns the pieces in the order in which they were added.
func (p *packedPieces) all() iter.Seq[rawPiece] {
	return func(yield func(rawPiece) bool) {
		var last rawPiece
		for _, b := range p.chunks {
			for len(b) > 0 {
				digits := [...]byte{b[0], b[1] & 15, b[1] >> 4}
				b = b[2:]
				number := func() int64 {
					v, n := binary.Varint(b)
					b = b[n:]
					return v
				}
				value := func(digits byte) float64 {
					if digits == plain {
						v := binary.LittleEndian.Uint64(b)
						b = b[8:]
						return math.Float64frombits(v)
					}
					return float64(number()) / powersOfTen[digits]
				}
				var x rawPiece
				x.from = last.to + number()
				x.to = x.from + (last.to - last.from) + number()
				x.p = trace.Polynomial{C: value(digits[0]), B: value(digits[1]), A: value(digits[2])}
				if last = x; !yield(x) {
					return
				}
			}
		}
	}
}

// all returns the pieces of a signal in the order of the trace.
func (s *signalRecord) all() iter.Seq[rawPiece] {
	return func(yield func(rawPiece) bool) {
		for x := range s.packed.all() {
			if !yield(x) {
				return
			}
		}
		for _, x := range s.pieces {
			if !yield(x) {
				return
			}
		}
	}
}

// inOrder reports whether the signal has packed pieces, and none of them begins before the end of the
// piece before it.
func (s *signalRecord) inOrder() bool {
	p := &s.packed
	return p.sorted && (len(s.pieces) == 0 || s.pieces[0].from >= p.last.from) &&
		slices.IsSortedFunc(s.pieces, func(a, b rawPiece) int { return cmp.Compare(a.from, b.from) })
}

// unpack unpacks the packed pieces and adds them to the others.
func (s *signalRecord) unpack() {
	s.pieces = slices.Collect(s.all())
	s.packed = packedPieces{}
}
