package trace

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strconv"
)

// Ticks is a sum of durations in ticks, with 128 bits. The time of a single location fits 64 bits,
// but a sum over many locations or nested visits may not.
type Ticks struct {
	high int64
	low  uint64
}

// TicksOf converts n ticks to Ticks.
func TicksOf(n int64) Ticks { return Ticks{n >> 63, uint64(n)} }

// Add adds n ticks to t.
func (t *Ticks) Add(n int64) {
	low, carry := bits.Add64(t.low, uint64(n), 0)
	t.high, t.low = t.high+n>>63+int64(carry), low
}

// Plus returns t + o.
func (t Ticks) Plus(o Ticks) Ticks {
	low, carry := bits.Add64(t.low, o.low, 0)
	return Ticks{t.high + o.high + int64(carry), low}
}

// Minus returns t - o.
func (t Ticks) Minus(o Ticks) Ticks {
	low, borrow := bits.Sub64(t.low, o.low, 0)
	return Ticks{t.high - o.high - int64(borrow), low}
}

// Times returns n × t.
func (t Ticks) Times(n int64) Ticks { return ticks(new(big.Int).Mul(t.Big(), big.NewInt(n))) }

// Over returns the sum divided by n, rounded towards 0. n must not be 0.
func (t Ticks) Over(n int64) Ticks {
	if t.fitsInt64() {
		return TicksOf(int64(t.low) / n)
	}
	return ticks(new(big.Int).Quo(t.Big(), big.NewInt(n)))
}

// ticks returns the lowest 128 bits of n in two's complement.
func ticks(n *big.Int) Ticks {
	low := new(big.Int).And(n, new(big.Int).SetUint64(math.MaxUint64))
	return Ticks{new(big.Int).Rsh(n, 64).Int64(), low.Uint64()}
}

// Cmp compares two sums: -1, 0 or +1.
func (t Ticks) Cmp(o Ticks) int {
	return cmp.Or(cmp.Compare(t.high, o.high), cmp.Compare(t.low, o.low))
}

// fitsInt64 reports whether the sum fits an int64.
func (t Ticks) fitsInt64() bool { return t.high == int64(t.low)>>63 }

// Int64 returns the sum, clamped to the range of int64.
func (t Ticks) Int64() int64 {
	switch {
	case t.fitsInt64():
		return int64(t.low)
	case t.high < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}

// Float returns the nearest float64, for display and statistics only.
func (t Ticks) Float() float64 {
	if t.fitsInt64() {
		return float64(int64(t.low))
	}
	return float64(t.high)*(1<<64) + float64(t.low)
}

// Big returns the sum as an integer of arbitrary size.
func (t Ticks) Big() *big.Int {
	n := new(big.Int).Lsh(big.NewInt(t.high), 64)
	return n.Add(n, new(big.Int).SetUint64(t.low))
}

// Format implements [fmt.Formatter]. A sum is formatted like an integer.
func (t Ticks) Format(s fmt.State, verb rune) {
	if t.fitsInt64() {
		fmt.Fprintf(s, fmt.FormatString(s, verb), int64(t.low))
		return
	}
	t.Big().Format(s, verb)
}

// String returns the sum as a decimal number.
func (t Ticks) String() string { return string(t.Append(nil)) }

// Append appends the sum to b as a decimal number.
func (t Ticks) Append(b []byte) []byte {
	if t.fitsInt64() {
		return strconv.AppendInt(b, int64(t.low), 10)
	}
	return t.Big().Append(b, 10)
}

// MarshalJSON returns the sum as a decimal number with all digits.
func (t Ticks) MarshalJSON() ([]byte, error) { return t.Append(nil), nil }

// UnmarshalJSON reads a number that MarshalJSON has written.
func (t *Ticks) UnmarshalJSON(b []byte) error {
	n, ok := new(big.Int).SetString(string(b), 10)
	if !ok || n.BitLen() > 127 {
		return fmt.Errorf("ticks: found %s, expected an integer of 128 bits", b)
	}
	*t = ticks(n)
	return nil
}
