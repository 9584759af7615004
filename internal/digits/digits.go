// Package digits writes numbers as decimal text, two digits at a time and straight
// into its place. strconv builds them elsewhere and copies them, which an encoder
// of numbers feels.
package digits

import (
	"math"
	"math/bits"
	"slices"
	"strconv"
)

// AppendInt appends v to b.
func AppendInt(b []byte, v int64) []byte {
	if v < 0 {
		return AppendUint(append(b, '-'), -uint64(v))
	}
	return AppendUint(b, uint64(v))
}

// AppendUint appends v to b.
func AppendUint(b []byte, v uint64) []byte {
	if v < 10 {
		return append(b, byte('0'+v))
	}
	if v < 100 {
		return append(b, pairs[2*v], pairs[2*v+1])
	}
	return AppendFixed(b, v, count(v))
}

// AppendFixed appends the last n digits of v to b, with zeros in front if v has
// fewer.
func AppendFixed(b []byte, v uint64, n int) []byte {
	from := len(b)
	if cap(b)-from < n {
		b = slices.Grow(b, n)
	}
	b = b[:from+n]
	p := b[from:]
	for len(p) > 1 {
		q := v / 100
		r := 2 * (v - 100*q)
		p[len(p)-1], p[len(p)-2] = pairs[r+1], pairs[r]
		p, v = p[:len(p)-2], q
	}
	if len(p) > 0 {
		p[0] = byte('0' + v%10)
	}
	return b
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

// count is how many digits v has; v must not be 0.
func count(v uint64) int {
	// The number of bits gives the number of digits, or one less.
	n := bits.Len64(v) * 1233 >> 12
	if v >= powers[n] {
		n++
	}
	return n
}

var powers = [20]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19}

const pairs = "00010203040506070809101112131415161718192021222324" +
	"25262728293031323334353637383940414243444546474849" +
	"50515253545556575859606162636465666768697071727374" +
	"75767778798081828384858687888990919293949596979899"
