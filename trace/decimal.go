package trace

import (
	"cmp"
	"math"
	"math/big"
	"math/bits"
	"strconv"

	"github.com/weft-trace/weft/internal/digits"
)

// Decimal is the exact decimal number Coef × 10^-Scale. Decoders of decimal texts (TRACE, PICL)
// keep times as Decimals until they can choose the tick for the whole trace.
type Decimal struct {
	Coef  int64
	Scale int32
}

var pow10 = [19]int64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
	1e18}

// NewDecimal returns coef × 10^-scale.
func NewDecimal(coef int64, scale int) Decimal { return Decimal{coef, int32(scale)} }

// Trim returns d without trailing zeros of its fraction. Equal values then have equal scales. Zero
// has scale 0.
func (d Decimal) Trim() Decimal {
	if d.Coef == 0 {
		return Decimal{}
	}
	for d.Scale > 0 && d.Coef%10 == 0 {
		d.Coef /= 10
		d.Scale--
	}
	return d
}

// Ticks converts d to a whole number of units of 10^-digits, rounding half away from zero. exact is
// false if d was rounded. ok is false if the result does not fit an int64.
func (d Decimal) Ticks(digits int32) (t int64, exact, ok bool) {
	e := digits - d.Scale
	switch {
	case e == 0:
		return d.Coef, true, true
	case d.Coef == 0:
		return 0, true, true
	case e > 0:
		if e > 18 {
			return 0, false, false
		}
		u := uint64(d.Coef)
		if d.Coef < 0 {
			u = -u
		}
		hi, lo := bits.Mul64(u, uint64(pow10[e]))
		if hi != 0 || lo>>63 != 0 {
			return 0, false, false
		}
		if d.Coef < 0 {
			return -int64(lo), true, true
		}
		return int64(lo), true, true
	}
	e = -e
	if e > 18 {
		switch { // 10^19 exceeds int64, but 5·10^18 does not
		case e == 19 && d.Coef >= 5e18:
			return 1, false, true
		case e == 19 && d.Coef <= -5e18:
			return -1, false, true
		}
		return 0, false, true
	}
	p := pow10[e]
	q, r := d.Coef/p, d.Coef%p
	if r >= p-p/2 {
		q++
	} else if r <= p/2-p {
		q--
	}
	return q, r == 0, true
}

// Cmp compares the exact values of two decimals: -1, 0 or +1.
func (d Decimal) Cmp(o Decimal) int {
	if d.Scale == o.Scale {
		return cmp.Compare(d.Coef, o.Coef)
	}
	s := max(d.Scale, o.Scale)
	a, _, okA := d.Ticks(s)
	b, _, okB := o.Ticks(s)
	if okA && okB {
		return Decimal{a, s}.Cmp(Decimal{b, s})
	}
	x := new(big.Int).Mul(big.NewInt(d.Coef), bigPow10(int64(s-d.Scale)))
	y := new(big.Int).Mul(big.NewInt(o.Coef), bigPow10(int64(s-o.Scale)))
	return x.Cmp(y)
}

func bigPow10(n int64) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(n), nil) }

// Float returns the float64 nearest to d.
func (d Decimal) Float() float64 {
	if d.Scale >= 0 && d.Scale <= 22 && abs(d.Coef) < 1<<53 {
		return float64(d.Coef) / float64Pow10[d.Scale]
	}
	f, _ := strconv.ParseFloat(strconv.FormatInt(d.Coef, 10)+"e"+strconv.Itoa(-int(d.Scale)), 64)
	return f
}

var float64Pow10 = [23]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
	1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// String formats d without an exponent and without trailing zeros.
func (d Decimal) String() string { return string(d.Trim().Append(nil)) }

// Append appends d to b without an exponent, with exactly Scale digits after the point.
func (d Decimal) Append(b []byte) []byte {
	if d.Scale <= 0 {
		b = strconv.AppendInt(b, d.Coef, 10)
		if d.Coef != 0 {
			for range -d.Scale {
				b = append(b, '0')
			}
		}
		return b
	}
	if d.Scale <= 18 {
		return d.AppendLeast(b, int(d.Scale))
	}
	u := uint64(d.Coef)
	if d.Coef < 0 {
		b = append(b, '-')
		u = -u
	}
	var t [20]byte
	s := strconv.AppendUint(t[:0], u, 10)
	b = append(b, '0', '.')
	for range int(d.Scale) - len(s) {
		b = append(b, '0')
	}
	return append(b, s...)
}

// AppendTrim appends d to b like Append, but without trailing zeros of the fraction.
func (d Decimal) AppendTrim(b []byte) []byte { return d.AppendLeast(b, 0) }

// AppendLeast appends d to b without an exponent. The fraction has no trailing zeros beyond the first
// `least` digits.
func (d Decimal) AppendLeast(b []byte, least int) []byte {
	if d.Scale <= 0 || d.Scale > 18 {
		d = d.Trim()
		b = d.Append(b)
		have := max(0, int(d.Scale))
		if have == 0 && least > 0 {
			b = append(b, '.')
		}
		for ; have < least; have++ {
			b = append(b, '0')
		}
		return b
	}
	u := uint64(d.Coef)
	if d.Coef < 0 {
		b = append(b, '-')
		u = -u
	}
	p := uint64(pow10[d.Scale])
	q := u / 1000 // the compiler replaces a division by a constant by a multiplication
	if d.Scale != 3 {
		q = u / p
	}
	b = digits.AppendUint(b, q)
	if u -= q * p; u == 0 && least <= 0 {
		return b
	}
	n := int(d.Scale)
	b = digits.AppendFraction(append(b, '.'), u, n, min(n, least))
	for ; n < least; n++ {
		b = append(b, '0')
	}
	return b
}

// ParseDecimal reads a decimal number with optional sign, fraction and exponent from the beginning
// of s. n is the number of bytes that it has read. It is 0 if s does not begin with a number, or if
// the number exceeds int64. exact is false if the number has more digits than an int64 can hold; it
// is rounded then. Numbers below 10^-60 are rounded to 0.
func ParseDecimal(s []byte) (d Decimal, n int, exact bool) {
	i := 0
	neg := false
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		neg = s[i] == '-'
		i++
	}
	start := i
	var m uint64
	for i < len(s) && s[i]-'0' <= 9 {
		m = m*10 + uint64(s[i]-'0')
		i++
	}
	digits := i - start
	scale := 0
	if i < len(s) && s[i] == '.' {
		i++
		f := i
		for i < len(s) && s[i]-'0' <= 9 {
			m = m*10 + uint64(s[i]-'0')
			i++
		}
		scale = i - f
		digits += scale
	}
	if digits == 0 {
		return Decimal{}, 0, false
	}
	if digits > 18 || i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		return parseDecimalSlow(s)
	}
	c := int64(m)
	if neg {
		c = -c
	}
	return Decimal{c, int32(scale)}, i, true
}

// parseDecimalSlow does the work of ParseDecimal for numbers with an exponent or more than 18
// digits.
func parseDecimalSlow(s []byte) (Decimal, int, bool) {
	i := 0
	if s[0] == '-' || s[0] == '+' {
		i++
	}
	neg := s[0] == '-'
	var m uint64
	scale, dropped, exact, point := 0, 0, true, false
	for ; i < len(s); i++ {
		c := s[i]
		if c == '.' && !point {
			point = true
			continue
		}
		if c-'0' > 9 {
			break
		}
		switch {
		case dropped == 0 && m <= (math.MaxInt64-uint64(c-'0'))/10:
			m = m*10 + uint64(c-'0')
			if point {
				scale++
			}
		default:
			if c != '0' {
				exact = false
			}
			if dropped == 0 && c >= '5' && m < math.MaxInt64 {
				m++
			}
			dropped++
			if !point {
				scale--
			}
		}
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		j := i + 1
		eneg := false
		if j < len(s) && (s[j] == '-' || s[j] == '+') {
			eneg = s[j] == '-'
			j++
		}
		e, from := 0, j
		for j < len(s) && s[j]-'0' <= 9 {
			if e < 10000 {
				e = e*10 + int(s[j]-'0')
			}
			j++
		}
		if j > from {
			i = j
			if eneg {
				e = -e
			}
			scale -= e
		}
	}
	if m == 0 {
		return Decimal{}, i, exact
	}
	for scale > 0 && m%10 == 0 {
		m /= 10
		scale--
	}
	for scale < 0 {
		hi, lo := bits.Mul64(m, 10)
		if hi != 0 || lo > math.MaxInt64 {
			return Decimal{}, 0, false
		}
		m = lo
		scale++
	}
	if scale > 60 {
		return Decimal{}, i, false // too small: rounded to 0
	}
	c := int64(m)
	if neg {
		c = -c
	}
	return Decimal{c, int32(scale)}, i, exact
}
