package otf

import (
	"encoding/binary"
	"math"
	"math/bits"
	"sync"
	"unsafe"
)

// eachByte has the lowest bit of each byte set.
const eachByte = 0x0101010101010101

// lineEnds marks the line ends among the 8 bytes of w. The lowest byte is the first. To mark a byte, lineEnds
// sets the highest bit of that byte in the result. A vertical tab after a line end may be marked by mistake.
func lineEnds(w uint64) uint64 {
	w ^= '\n' * eachByte
	return (w - eachByte) &^ w & (0x80 * eachByte)
}

// lineLength returns the number of bytes before the first mark of lineEnds, or 8 if there is no mark.
func lineLength(marks uint64) int { return bits.TrailingZeros64(marks) >> 3 }

// clearAfterLineEnd returns w with all bytes after the first line end set to zero. marks are the line ends of w, as
// lineEnds returns them.
func clearAfterLineEnd(w, marks uint64) uint64 { return w & (marks ^ (marks - 1)) }

// hexWord parses 8 bytes as hexadecimal digits, all at the same time. The lowest byte is the first digit. bad
// is 0 if all bytes are digits.
func hexWord(w uint64) (v, bad uint64) {
	v = w&(0x0f*eachByte) + w>>6&eachByte*9
	letter := (v + 6*eachByte) >> 4 & eachByte
	bad = (v + '0'*eachByte + letter*('a'-'0'-10)) ^ w | v&(0xf0*eachByte)
	// Join neighbouring digits: each multiplication shifts and adds.
	v = v * (1 + 1<<12) >> 8 & 0x00ff00ff00ff00ff
	v = v * (1 + 1<<24) >> 16 & 0x0000ffff0000ffff
	return v * (1 + 1<<48) >> 32, bad
}

// padDigits returns the first n bytes of w as 8 bytes, with zero digits before them. n is from 1 to 8.
func padDigits(w uint64, n int) uint64 { return w<<(64-8*uint(n)) | '0'*eachByte>>(8*uint(n)) }

// word returns the 8 bytes of text at position i. At least slack bytes follow every text, so the result never
// reaches beyond its memory.
func word(text unsafe.Pointer, i int) uint64 {
	return binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(text, i))[:])
}

func byteAt(text unsafe.Pointer, i int) byte { return *(*byte)(unsafe.Add(text, i)) }

// digitPairs maps two bytes to their value as hexadecimal digits, with the bit validPair set. It maps
// bytes that are not digits to 0.
type digitPairs [1 << 16]uint16

const validPair = 0x100

// allDigitPairs returns the table of digit pairs. The first call makes the table.
var allDigitPairs = sync.OnceValue(func() *digitPairs {
	const digits = "0123456789abcdef"
	p := new(digitPairs)
	for i, high := range digits {
		for k, low := range digits {
			p[uint16(high)|uint16(low)<<8] = uint16(validPair | i<<4 | k)
		}
	}
	return p
})

// at parses the two digits at i.
func (p *digitPairs) at(text unsafe.Pointer, i int) uint64 {
	return uint64(p[binary.LittleEndian.Uint16((*[2]byte)(unsafe.Add(text, i))[:])])
}

// lastDigits is the number of final digits of a time that are parsed for each time line. The digits before
// them are compared with the digits of the previous time.
const lastDigits = 6

// timeForm describes the last time line, so that the next one can be parsed faster.
type timeForm struct {
	n     int    // number of digits
	high  uint64 // value of all digits except the last lastDigits, minus the contribution of validPair
	text  uint64 // bytes of the high digits
	mask  uint64 // selects the bytes of a text that hold the high digits
	pairs *digitPairs
}

func newTimeForm() timeForm { return timeForm{mask: math.MaxUint64, pairs: allDigitPairs()} }

// read parses the time line at pos, which begins with the bytes of w. It returns the length of the
// line, or 0 if it cannot parse the line.
func (f *timeForm) read(text unsafe.Pointer, pos int, w uint64) (v uint64, n int) {
	n = f.n
	at := pos + n
	if byteAt(text, at) != '\n' || w&f.mask != f.text {
		return f.parseSlow(text, pos)
	}
	a, b, c := f.pairs.at(text, at-6), f.pairs.at(text, at-4), f.pairs.at(text, at-2)
	if a&b&c&validPair == 0 {
		return 0, 0
	}
	return f.high + a<<16 + b<<8 + c, n
}

// parseSlow parses a time line that differs in form from the previous one, and remembers its form.
//
//go:noinline
func (f *timeForm) parseSlow(text unsafe.Pointer, pos int) (v uint64, n int) {
	v, end := parseNumber(text, pos)
	if n = end - pos; byteAt(text, end) != '\n' || v > math.MaxInt64/4 {
		return 0, 0
	}
	f.n, f.high, f.text, f.mask = 0, 0, 0, math.MaxUint64 // with these values, the form matches no line
	if high := n - lastDigits; high >= 0 && high <= 8 {
		const last = 1<<(4*lastDigits) - 1
		f.n, f.high, f.mask = n, v&^last-validPair*0x10101, 1<<(8*high)-1
		f.text = word(text, pos) & f.mask
	}
	return v, n
}

// noDigits marks the bytes of w that are not digits. A mark is the highest bit of the byte, as for lineEnds.
// noDigits tests a single bit, which all digits have and all other bytes in a record's line lack.
func noDigits(w uint64) uint64 { return ^w << 2 & (0x80 * eachByte) }

// parseNumber parses the number at position i. end is the position after it. end is i if there is no
// number, or if it has more than 16 digits.
func parseNumber(text unsafe.Pointer, i int) (v uint64, end int) {
	// Among the bytes of a record's line, only digits have this bit.
	const digit = 0x20
	w := word(text, i)
	if w>>8&digit == 0 { // the number has one digit, which is frequent
		if c := hexValue[byte(w)]; c < 16 {
			return uint64(c), i + 1
		}
		return 0, i
	}
	n := bits.TrailingZeros64(^w&(digit*eachByte)) >> 3
	if n == 0 {
		return 0, i
	}
	if n < 8 {
		v, bad := hexWord(w<<(-8*n&63) | '0'*eachByte>>(8*n&63))
		if bad != 0 {
			n = 0
		}
		return v, i + n
	}
	v, bad := hexWord(w)
	i += 8
	w = word(text, i)
	if n = bits.TrailingZeros64(^w&(digit*eachByte)) >> 3; n > 0 {
		low, worse := hexWord(padDigits(w, n))
		v, bad = v<<(4*uint(n))|low, bad|worse
	}
	if bad != 0 {
		return 0, i - 8
	}
	return v, i + n
}
