// Package digits reads and writes numbers as decimal text, eight digits at a time. It writes
// directly to the end of a buffer. strconv writes digit by digit to another place and copies the
// result, which makes encoders measurably slower.
package digits

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"strconv"
)

// Count returns the number of digits at the beginning of the eight bytes in x. The first byte of the text is
// the lowest byte of x.
func Count(x uint64) int {
	x ^= zeroes // digits become 0 to 9; the first other byte gets its highest bit set in the next steps
	return bits.TrailingZeros64((x+0x7676767676767676|x)&0x8080808080808080) >> 3
}

// Number returns the value of the first n bytes in x, which must be digits. n is 1 to 8.
func Number(x uint64, n int) uint64 {
	x = (x ^ zeroes) << ((64 - 8*uint(n)) & 63)
	x = x*10 + x>>8 // combine pairs of digits, in every other byte
	return ((x&0x000000ff000000ff)*(100+1000000<<32) + (x>>16&0x000000ff000000ff)*(1+10000<<32)) >> 32
}

// Integer reads the integer at index i of data. next is the index after the integer. It is -1 if no integer
// begins there, if it has more than 18 digits, or if i is -1.
func Integer(data []byte, i int) (v int64, next int) {
	if uint(i) >= uint(len(data)) {
		return 0, -1
	}
	c := data[i]
	neg := c == '-'
	if neg {
		i++
		if uint(i) >= uint(len(data)) {
			return 0, -1
		}
		c = data[i]
	}
	if v = int64(c - '0'); v > 9 {
		return 0, -1
	}
	start := i
	for i++; uint(i) < uint(len(data)); i++ {
		d := data[i] - '0'
		if d > 9 {
			break
		}
		v = v*10 + int64(d)
	}
	if i-start > 18 {
		return 0, -1
	}
	if neg {
		v = -v
	}
	return v, i
}

// AnyByte as the argument end of Decimal accepts any byte after the number.
const AnyByte = 0

// Decimal reads the number at index i of data if it is written in the usual way: digits with at
// most one point among them, followed by the byte end. The value is v × 10^-scale. next is the
// index after end or, with AnyByte, after the number. next is 0 for any other text, and for numbers
// within the last few bytes of data. If data begins with a letter, another call at index 0 then
// returns 0 as well.
func Decimal(data []byte, i int, end byte) (v int64, scale int32, next int) {
	if len(data)-i < 32 {
		return 0, 0, 0
	}
	c := data[i]
	if c == '-' {
		if data[i+1] == '-' {
			return 0, 0, 0
		}
		if v, scale, next = Decimal(data, i+1, end); v <= 0 {
			return 0, 0, 0 // -0 is an unusual spelling, because a float64 distinguishes it from 0
		}
		return -v, scale, next
	}
	start := i
	if x := fourDigits(data[i:]); nonDigits(x) == 0 {
		x = x*10 + x>>8 // combine pairs of digits, in every other byte
		v = int64(x&0xff*100 + x>>16&0xff)
		i += 4
	} else if v = int64(c - '0'); v > 9 {
		return 0, 0, 0
	} else {
		i++
	}
	v, i = continueNumber(data, i, v)
	if i-start > 18 {
		return 0, 0, 0
	}
	if c = data[i]; c == '.' {
		i++
		point := i
		// Three decimals are the most frequent case.
		if x := fourDigits(data[i:]); nonDigits(x) == 0x80000000 {
			v = v*1000 + int64(x&0xf*100+x>>8&0xf*10+x>>16&0xf)
			i += 3
		} else {
			v, i = continueNumber(data, i, v)
		}
		c = data[i]
		if scale = int32(i - point); scale == 0 || i-start > 19 {
			return 0, 0, 0
		}
	}
	if end != AnyByte {
		if c != end {
			return 0, 0, 0
		}
		i++
	}
	return v, scale, i
}

// continueNumber appends the digits at index i of data to the number v. It returns the index after
// them. The text must end in a line end.
func continueNumber(data []byte, i int, v int64) (int64, int) {
	for {
		d := data[i] - '0'
		if d > 9 {
			return v, i
		}
		v = v*10 + int64(d)
		i++
	}
}

// fourDigits returns four bytes of data, in which digits have become 0 to 9.
func fourDigits(data []byte) uint32 { return binary.LittleEndian.Uint32(data) ^ 0x30303030 }

// nonDigits sets the highest bit of the first byte of x that is not 0 to 9. The bits of the bytes
// after it may be wrong.
func nonDigits(x uint32) uint32 { return (x + 0x76767676 | x) & 0x80808080 }

// AppendInt appends v in decimal to b.
func AppendInt(b []byte, v int64) []byte {
	if v < 0 {
		return AppendUint(append(b, '-'), -uint64(v))
	}
	return AppendUint(b, uint64(v))
}

// maxWritten is the number of bytes after a text that must be available for writing a number: 20
// digits, and further bytes because eight are written at a time.
const maxWritten = 32

// AppendUint appends v in decimal to b.
func AppendUint(b []byte, v uint64) []byte {
	if cap(b)-len(b) < maxWritten {
		b = slices.Grow(b, maxWritten)
	}
	n := len(b)
	return b[:n+putUint(b[n:n+maxWritten], v)]
}

// Put writes v at the beginning of to, which must have at least 32 bytes, and returns the length of the text.
// It may change the bytes after the text.
func Put(to []byte, v int64) int {
	if v < 0 {
		to[0] = '-'
		return 1 + putUint(to[1:], -uint64(v))
	}
	return putUint(to, uint64(v))
}

func putUint(to []byte, v uint64) int {
	if v < 10 {
		to[0] = byte('0' + v)
		return 1
	}
	n := 0
	if v >= 1e8 {
		q := v / 1e8
		n = putUint(to, q)
		v -= q * 1e8
		binary.LittleEndian.PutUint64(to[n:n+8], eightDigits(v)|zeroes)
		return n + 8
	}
	x := eightDigits(v)
	zeros := bits.TrailingZeros64(x) >> 3
	binary.LittleEndian.PutUint64(to[:8], (x|zeroes)>>(8*uint(zeros)&63))
	return 8 - zeros
}

// eightDigits returns the eight digits of v, which must be below 10^8, as bytes. The first digit is
// the lowest byte.
func eightDigits(v uint64) uint64 {
	// Each step splits all groups of digits in x in two at the same time. It divides by multiplying with a
	// reciprocal, which is exact for numbers with so few digits.
	q := v / 10000
	x := q | (v-10000*q)<<32 // two groups of four digits
	q = x * 10486 >> 20 & 0x7f0000007f
	x = q | (x-100*q)<<16 // four groups of two digits
	q = x * 103 >> 10 & 0xf000f000f000f
	return q | (x-10*q)<<8
}

// zeroes turns digits 0 to 9 into characters, and back.
const zeroes = 0x3030303030303030

// AppendFixed appends v with exactly n digits, including leading zeros. v must be below 10^n, and n
// at most 19.
func AppendFixed(b []byte, v uint64, n int) []byte {
	if cap(b)-len(b) < maxWritten {
		b = slices.Grow(b, maxWritten)
	}
	if n == 9 { // a fast path for nanoseconds
		m := v / 1000
		u := m / 1000
		at := len(b)
		p := b[at : at+12]
		putThreeDigits(p, u)
		putThreeDigits(p[3:], m-1000*u)
		putThreeDigits(p[6:], v-1000*m)
		return b[:at+9]
	}
	if n > 8 {
		q := v / 1e8
		b = AppendFixed(b, q, n-8)
		v, n = v-q*1e8, 8
	}
	at := len(b)
	binary.LittleEndian.PutUint64(b[at:at+8], (eightDigits(v)|zeroes)>>(64-8*n))
	return b[:at+n]
}

// putThreeDigits writes the three digits of v, which must be below 1000, and one undefined byte.
func putThreeDigits(p []byte, v uint64) { binary.LittleEndian.PutUint32(p, thousands[v]|0x30303030) }

// AppendFraction appends v as the n digits of a fraction. It omits trailing zeros, except among the
// first least digits. v must be below 10^n, n at most 18, and least at most n.
func AppendFraction(b []byte, v uint64, n, least int) []byte {
	if n > 8 {
		b = AppendFixed(b, v, n)
		for ; n > least && b[len(b)-1] == '0'; n-- {
			b = b[:len(b)-1]
		}
		return b
	}
	if cap(b)-len(b) < maxWritten {
		b = slices.Grow(b, maxWritten)
	}
	at := len(b)
	var x uint64
	switch n {
	case 3: // the case of milliseconds
		x = uint64(thousands[v])
	case 6:
		q := v / 1000
		x = uint64(thousands[q]) | uint64(thousands[v-1000*q])<<24
	default:
		x = eightDigits(v * powers[8-n])
	}
	binary.LittleEndian.PutUint64(b[at:at+8], x|zeroes)
	return b[:at+max(least, 8-bits.LeadingZeros64(x)>>3)]
}

// AppendReal appends f without an exponent, with the fewest digits that identify it. The result equals that of
// strconv.AppendFloat with format 'f' and precision -1.
func AppendReal(b []byte, f float64) []byte {
	if f > -1e9 && f < 1e9 {
		if n := int64(f); float64(n) == f && (n != 0 || !math.Signbit(f)) {
			return AppendInt(b, n)
		}
		// Most measured values have few decimals. If f equals n/10^k, the text of n with k decimals
		// identifies f, because n/10^k is the float64 nearest to that text. From 10^15 on, such
		// texts are closer to each other than float64s.
		for k := 1; k <= 6; k++ {
			p := float64(powers[k])
			n := int64(math.Abs(f)*p + 0.5)
			if float64(n)/p != math.Abs(f) || n == 0 {
				continue
			}
			if f < 0 {
				b = append(b, '-')
			}
			q := uint64(n) / powers[k]
			b = AppendUint(b, q)
			return AppendFixed(append(b, '.'), uint64(n)-q*powers[k], k)
		}
	}
	return strconv.AppendFloat(b, f, 'f', -1, 64)
}

var powers = [20]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
	1e18, 1e19}

// thousands holds the three digits of each number below 1000. The first digit is the lowest byte.
var thousands = func() (t [1000]uint32) {
	for i := range t {
		t[i] = uint32(i/100 | i/10%10<<8 | i%10<<16)
	}
	return t
}()
