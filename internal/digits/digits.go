// Package digits reads and writes numbers as decimal text, eight digits at a
// time. Writing goes straight to its place: strconv builds numbers elsewhere,
// digit by digit, and copies them, which an encoder of numbers feels.
package digits

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"strconv"
)

// Count is how many of the eight bytes of x are digits up to the first that is
// none. The first byte of the text is the lowest of x.
func Count(x uint64) int {
	x ^= zeroes // a digit becomes 0 to 9; of the first byte that is none the highest bit will show
	return bits.TrailingZeros64((x+0x7676767676767676|x)&0x8080808080808080) >> 3
}

// Number is the number that the first n bytes of x spell, which must be digits;
// n is 1 to 8.
func Number(x uint64, n int) uint64 {
	x = (x ^ zeroes) << ((64 - 8*uint(n)) & 63)
	x = x*10 + x>>8 // pairs of digits, in every other byte
	return ((x&0x000000ff000000ff)*(100+1000000<<32) + (x>>16&0x000000ff000000ff)*(1+10000<<32)) >> 32
}

// Integer reads the integer that data has at i. next is where it stops, -1 if
// it is none or has more than 18 digits, also for i = -1.
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

// Anything may follow a number that Decimal reads.
const Anything = 0

// Decimal reads the number that data has at i if it is spelled in the usual way:
// digits, and at most one point between them, and the byte end behind. next is
// after that byte, or where the number stops for Anything; 0 if it is something
// else. The next call then finds no number either if data begins with a letter.
// Numbers in the last few bytes of data are not usual.
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
			return 0, 0, 0 // for a float64, -0 is not 0
		}
		return -v, scale, next
	}
	start := i
	if x := four(data[i:]); others(x) == 0 {
		x = x*10 + x>>8 // pairs of digits, in every other byte
		v = int64(x&0xff*100 + x>>16&0xff)
		i += 4
	} else if v = int64(c - '0'); v > 9 {
		return 0, 0, 0
	} else {
		i++
	}
	v, i = digitsOn(data, i, v)
	if i-start > 18 {
		return 0, 0, 0
	}
	if c = data[i]; c == '.' {
		i++
		point := i
		// Most often there are three.
		if x := four(data[i:]); others(x) == 0x80000000 {
			v = v*1000 + int64(x&0xf*100+x>>8&0xf*10+x>>16&0xf)
			i += 3
		} else {
			v, i = digitsOn(data, i, v)
		}
		c = data[i]
		if scale = int32(i - point); scale == 0 || i-start > 19 {
			return 0, 0, 0
		}
	}
	if end != Anything {
		if c != end {
			return 0, 0, 0
		}
		i++
	}
	return v, scale, i
}

// digitsOn goes on with a number v over the digits that data has at i. A line
// end follows them.
func digitsOn(data []byte, i int, v int64) (int64, int) {
	for {
		d := data[i] - '0'
		if d > 9 {
			return v, i
		}
		v = v*10 + int64(d)
		i++
	}
}

// four takes four bytes of data. A digit becomes 0 to 9.
func four(data []byte) uint32 { return binary.LittleEndian.Uint32(data) ^ 0x30303030 }

// others has the highest bit of the bytes of x that are no digits set, up to the
// first one; those behind it may be wrong.
func others(x uint32) uint32 { return (x + 0x76767676 | x) & 0x80808080 }

// AppendInt appends v to b.
func AppendInt(b []byte, v int64) []byte {
	if v < 0 {
		return AppendUint(append(b, '-'), -uint64(v))
	}
	return AppendUint(b, uint64(v))
}

// room is what must be free behind a text for any number: 20 digits, and what
// writing eight at a time may touch behind them.
const room = 32

// AppendUint appends v to b.
func AppendUint(b []byte, v uint64) []byte {
	if cap(b)-len(b) < room {
		b = slices.Grow(b, room)
	}
	n := len(b)
	return b[:n+putUint(b[n:n+room], v)]
}

// Put writes v at the beginning of to, which must have 32 bytes, and returns how
// long the text is. What is behind it is overwritten too.
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
		binary.LittleEndian.PutUint64(to[n:n+8], eight(v)|zeroes)
		return n + 8
	}
	x := eight(v)
	zeros := bits.TrailingZeros64(x) >> 3
	binary.LittleEndian.PutUint64(to[:8], (x|zeroes)>>(8*uint(zeros)&63))
	return 8 - zeros
}

// eight is the eight digits of v, which must be less than 10^8, as the bytes of
// a number, the first digit lowest.
func eight(v uint64) uint64 {
	// Each step divides all parts of x by multiplying with a reciprocal that is
	// exact for so few digits.
	q := v / 10000
	x := q | (v-10000*q)<<32 // twice four digits
	q = x * 10486 >> 20 & 0x7f0000007f
	x = q | (x-100*q)<<16 // four times two
	q = x * 103 >> 10 & 0xf000f000f000f
	return q | (x-10*q)<<8
}

// zeroes makes text of digits.
const zeroes = 0x3030303030303030

// AppendFixed appends v with n digits, zeros in front if need be. v must be less
// than 10^n, n at most 19.
func AppendFixed(b []byte, v uint64, n int) []byte {
	if cap(b)-len(b) < room {
		b = slices.Grow(b, room)
	}
	if n == 9 { // nanoseconds
		m := v / 1000
		u := m / 1000
		at := len(b)
		p := b[at : at+12]
		three(p, u)
		three(p[3:], m-1000*u)
		three(p[6:], v-1000*m)
		return b[:at+9]
	}
	if n > 8 {
		q := v / 1e8
		b = AppendFixed(b, q, n-8)
		v, n = v-q*1e8, 8
	}
	at := len(b)
	binary.LittleEndian.PutUint64(b[at:at+8], (eight(v)|zeroes)>>(64-8*n))
	return b[:at+n]
}

// three writes the digits of v, which must be less than 1000, and one byte more.
func three(p []byte, v uint64) { binary.LittleEndian.PutUint32(p, thousands[v]|0x30303030) }

// AppendFraction appends the n digits of v that stand behind a point, without
// zeros at the end but for those among the first least digits. v must be less
// than 10^n, n at most 18 and least at most n.
func AppendFraction(b []byte, v uint64, n, least int) []byte {
	if n > 8 {
		b = AppendFixed(b, v, n)
		for ; n > least && b[len(b)-1] == '0'; n-- {
			b = b[:len(b)-1]
		}
		return b
	}
	if cap(b)-len(b) < room {
		b = slices.Grow(b, room)
	}
	at := len(b)
	var x uint64
	switch n {
	case 3: // milliseconds
		x = uint64(thousands[v])
	case 6:
		q := v / 1000
		x = uint64(thousands[q]) | uint64(thousands[v-1000*q])<<24
	default:
		x = eight(v * powers[8-n])
	}
	binary.LittleEndian.PutUint64(b[at:at+8], x|zeroes)
	return b[:at+max(least, 8-bits.LeadingZeros64(x)>>3)]
}

// AppendReal appends f with the fewest digits that read back to it and without
// exponent, as strconv does with format 'f' and precision -1.
func AppendReal(b []byte, f float64) []byte {
	if f > -1e9 && f < 1e9 {
		if n := int64(f); float64(n) == f && (n != 0 || !math.Signbit(f)) {
			return AppendInt(b, n)
		}
		// Most measured values have few digits: n/10^k is the float64 nearest to
		// the text of n with k digits after the point, so if it is f, that is the
		// text. 10^15 is where such texts lie closer than float64s.
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

var powers = [20]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19}

// thousands are the three digits of each number below 1000, the first lowest.
var thousands = func() (t [1000]uint32) {
	for i := range t {
		t[i] = uint32(i/100 | i/10%10<<8 | i%10<<16)
	}
	return t
}()
