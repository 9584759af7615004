package trace

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"strings"
)

// Clock relates ticks to seconds and to wall-clock time. A second has Num/Den ticks, and both numbers
// are positive. As a fraction, it is exact even for a TRACE file that counts minutes (1/60), or an OTF
// file with 3 ticks in a second.
type Clock struct {
	Num int64 `json:"num"` // ticks per Den seconds
	Den int64 `json:"den"`
	// Unit is the number of ticks in the unit of the file's time stamps (TU in TRACE). Fragments of signals
	// count time in this unit. The value 0 means that the unit is one second.
	Unit int64 `json:"unit,omitempty"`
	// Base is the file's time stamp of tick 0. It is 0 unless the time stamps of the file exceed
	// int64.
	Base uint64 `json:"base,omitempty"`
	// Epoch is the wall-clock time of tick 0, in nanoseconds since 1970-01-01 00:00 UTC. It is only
	// valid if HasEpoch is set.
	Epoch    int64 `json:"epoch,omitempty"`
	HasEpoch bool  `json:"hasEpoch,omitempty"`
}

// TicksPerSecond returns a clock with n ticks a second and an unknown wall-clock time.
func TicksPerSecond(n int64) Clock { return Clock{Num: n, Den: 1} }

// Valid reports whether Num and Den are positive, as other methods require.
func (c Clock) Valid() bool { return c.Num > 0 && c.Den > 0 }

// UnitTicks returns the number of ticks in the unit in which fragments of signals count time.
func (c Clock) UnitTicks() float64 {
	if c.Unit > 0 {
		return float64(c.Unit)
	}
	return c.PerSecond()
}

// PerSecond returns the number of ticks in a second. It is rounded, and is for display and statistics only.
func (c Clock) PerSecond() float64 { return float64(c.Num) / float64(c.Den) }

// Float returns the length of d ticks in seconds. It is rounded, and is for display and statistics
// only.
func (c Clock) Float(d int64) float64 {
	return float64(d) * float64(c.Den) / float64(c.Num)
}

// Resolution returns the length of a tick as a text, such as "1 µs" or "1/3 s".
func (c Clock) Resolution() string {
	if !c.Valid() {
		return "unknown"
	}
	m, d, ok := c.Decimal()
	if !ok {
		return fmt.Sprintf("%d/%d s", c.Den, c.Num)
	}
	for _, u := range units {
		if e := d - u.digits; e <= 0 {
			return NewDecimal(m*pow10[-e], 0).String() + " " + u.name
		} else if m >= pow10[e] {
			return NewDecimal(m, e).String() + " " + u.name
		}
	}
	return NewDecimal(m, d).String() + " s"
}

var units = []struct {
	name   string
	digits int
}{{"s", 0}, {"ms", 3}, {"µs", 6}, {"ns", 9}, {"ps", 12}}

// Decimal returns the exact length of a tick in seconds as m × 10^-digits. ok is false if this
// length has no finite decimal expansion, as with 3 ticks a second, or m does not fit an int64.
func (c Clock) Decimal() (m int64, digits int, ok bool) {
	num, den := reduce(c.Num, c.Den)
	// den/num has a finite decimal expansion only if all prime factors of num are 2 or 5.
	n, two, five := num, 0, 0
	for n%2 == 0 && n > 0 {
		n, two = n/2, two+1
	}
	for n%5 == 0 && n > 0 {
		n, five = n/5, five+1
	}
	if n != 1 {
		return 0, 0, false
	}
	digits = max(two, five)
	if digits > 18 {
		return 0, 0, false
	}
	hi, lo := bits.Mul64(uint64(den), uint64(pow10[digits]))
	if hi >= uint64(num) {
		return 0, 0, false
	}
	q, _ := bits.Div64(hi, lo, uint64(num))
	if q > 1<<62 {
		return 0, 0, false
	}
	return int64(q), digits, true
}

// Rescale converts t ticks of c to ticks of the clock to, rounding half to even. exact is true if no rounding
// was necessary. ok is false if the result does not fit an int64.
func (c Clock) Rescale(t int64, to Clock) (u int64, exact, ok bool) {
	if c.Num == to.Num && c.Den == to.Den {
		return t, true, true
	}
	// u = t × (c.Den/c.Num) × (to.Num/to.Den)
	a, b := reduce(c.Den, c.Num)
	p, q := reduce(to.Num, to.Den)
	a, q = reduce(a, q)
	p, b = reduce(p, b)
	if m, hi := mul(a, p); !hi {
		if d, hi := mul(b, q); !hi {
			return mulDiv(t, m, d)
		}
	}
	n, exact := rescale(TicksOf(t), a, b, p, q)
	return n.Int64(), exact, n.IsInt64()
}

// RescaleSum converts a sum like [Clock.Rescale]. The result is an integer of arbitrary size.
func (c Clock) RescaleSum(t Ticks, to Clock) *big.Int {
	n, _ := rescale(t, c.Den, c.Num, to.Num, to.Den)
	return n
}

// rescale returns t × a/b × p/q, rounded half to even. exact is true if no rounding was necessary.
func rescale(t Ticks, a, b, p, q int64) (n *big.Int, exact bool) {
	n = t.Big()
	sign := int64(n.Sign())
	n.Mul(n, big.NewInt(a))
	n.Mul(n, big.NewInt(p))
	d := new(big.Int).Mul(big.NewInt(b), big.NewInt(q))
	r := new(big.Int)
	n.QuoRem(n, d, r)
	exact = r.Sign() == 0
	if half := r.Abs(r).Lsh(r, 1).Cmp(d); half > 0 || half == 0 && n.Bit(0) == 1 {
		n.Add(n, big.NewInt(sign))
	}
	return n, exact
}

// mul returns a × b, and whether the product exceeds int64. a and b must not be negative.
func mul(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	return int64(lo), hi != 0 || lo>>63 != 0
}

// mulDiv returns t × m / d, rounded half to even. The second result reports whether the quotient is exact, and
// the third whether it fits an int64. m must not be negative, and d must be positive.
func mulDiv(t, m, d int64) (int64, bool, bool) {
	neg := t < 0
	u := uint64(t)
	if neg {
		u = -u
	}
	hi, lo := bits.Mul64(u, uint64(m))
	if hi >= uint64(d) {
		return 0, false, false
	}
	q, r := bits.Div64(hi, lo, uint64(d))
	exact := r == 0
	if half := uint64(d) - r; r > half || (r == half && q&1 == 1) {
		q++
	}
	if neg {
		return -int64(q), exact, q <= 1<<63
	}
	return int64(q), exact, q <= math.MaxInt64
}

// reduce divides a and b by their greatest common divisor.
func reduce(a, b int64) (int64, int64) {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	if x == 0 {
		return a, b
	}
	return a / x, b / x
}

// FormatSeconds formats t ticks as decimal seconds. The result is exact if a tick has a finite
// decimal expansion; otherwise it is rounded to a picosecond.
func (c Clock) FormatSeconds(t int64) string {
	if m, d, ok := c.Decimal(); ok {
		if v, over := mulSigned(t, m); !over {
			return NewDecimal(v, d).String()
		}
		v := new(big.Rat).SetFrac(new(big.Int).Mul(big.NewInt(t), big.NewInt(m)), big.NewInt(pow10[d]))
		return strings.TrimRight(strings.TrimRight(v.FloatString(d+1), "0"), ".")
	}
	v, _, ok := c.Rescale(t, TicksPerSecond(1_000_000_000_000))
	if !ok {
		return strconv.FormatFloat(c.Float(t), 'f', -1, 64)
	}
	return NewDecimal(v, 12).String()
}

// FormatSumSeconds formats a sum like [Clock.FormatSeconds].
func (c Clock) FormatSumSeconds(t Ticks) string {
	if t.fitsInt64() || !c.Valid() {
		return c.FormatSeconds(t.Int64())
	}
	digits := 12
	if _, d, ok := c.Decimal(); ok {
		digits = d + 1
	}
	length := t.Big()
	v := new(big.Rat).SetFrac(length.Mul(length, big.NewInt(c.Den)), big.NewInt(c.Num))
	return strings.TrimRight(strings.TrimRight(v.FloatString(digits), "0"), ".")
}

// DecimalSeconds returns t ticks in seconds, for formats that write decimals. If the exact decimals do
// not fit, it rounds to the finest of 1 ns, 1 µs, 1 ms and 1 s with which the result fits. A time that
// does not fit in seconds becomes 9.2·10¹⁸ s, or its negative. loss describes the rounding or the
// replacement, and is "" if the result is exact.
func (c Clock) DecimalSeconds(t int64) (d Decimal, loss string) {
	for digits := 9; digits >= 0; digits -= 3 {
		v, exact, ok := c.Rescale(t, TicksPerSecond(pow10[digits]))
		switch {
		case !ok:
			continue
		case !exact:
			loss = "rounded to " + [...]string{"1 s", "1 ms", "1 µs", "1 ns"}[digits/3]
		}
		return Decimal{v, int32(digits)}, loss
	}
	d = Decimal{Coef: 9_200_000_000_000_000_000}
	if t < 0 {
		d.Coef = -d.Coef
	}
	return d, "beyond 2^63 s; cut off before it"
}

func mulSigned(t, m int64) (int64, bool) {
	hi, lo := bits.Mul64(uint64(abs(t)), uint64(m))
	if hi != 0 || lo>>63 != 0 {
		return 0, true
	}
	if t < 0 {
		return -int64(lo), false
	}
	return int64(lo), false
}

func abs(t int64) int64 {
	if t < 0 {
		return -t
	}
	return t
}

// durationUnits lists the units in which durations are displayed, from the shortest to the longest. A second
// has count/per of a unit: 1000/1 ms, 1/60 min. FormatMean chooses the first unit in which the number of units is
// below most.
var durationUnits = []struct {
	name             string
	count, per, most int64
}{{"fs", 1e15, 1, 1000}, {"ps", 1e12, 1, 1000}, {"ns", 1e9, 1, 1000}, {"µs", 1e6, 1, 1000}, {"ms", 1e3, 1, 1000},
	{"s", 1, 1, 600}, {"min", 1, 60, 600}, {"h", 1, 3600, math.MaxInt64 / 1000}}

// FormatDuration formats a duration of d ticks for display: with at most three decimals, rounded
// half away from zero, such as "1.982 ms", "717.018 ms" or "12 s".
func (c Clock) FormatDuration(d int64) string { return c.FormatMean(TicksOf(d), 1) }

// FormatSum formats a sum of durations like [Clock.FormatDuration].
func (c Clock) FormatSum(t Ticks) string { return c.FormatMean(t, 1) }

// FormatMean formats the mean of n durations like [Clock.FormatDuration]. sum is their sum in
// ticks. If n is 0, the mean is 0.
func (c Clock) FormatMean(sum Ticks, n int64) string {
	if !c.Valid() {
		return FormatFloatSeconds(sum.Float() * float64(c.Den) / float64(c.Num) / float64(max(n, 1)))
	}
	if sum == (Ticks{}) || n <= 0 {
		return "0 s"
	}
	// The duration is compared exactly, because a rounded floating-point number may select the
	// wrong unit.
	length := sum.Big()
	length.Mul(length, big.NewInt(c.Den))
	length.Abs(length)
	var text string
	for _, u := range durationUnits {
		x := new(big.Int).Mul(length, big.NewInt(2000*u.count))
		by := new(big.Int).Mul(big.NewInt(c.Num), big.NewInt(u.per))
		by.Mul(by, big.NewInt(n))
		x.Add(x, by).Quo(x, by.Lsh(by, 1))
		whole, part := new(big.Int).QuoRem(x, big.NewInt(1000), new(big.Int))
		text = strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%s.%03d", whole, part), "0"), ".") + " " + u.name
		if whole.Cmp(big.NewInt(u.most)) < 0 {
			break
		}
	}
	if sum.high < 0 && text != "0 fs" {
		text = "-" + text
	}
	return text
}

// FormatFloatSeconds formats a duration of s seconds like [Clock.FormatDuration].
func FormatFloatSeconds(s float64) string {
	if s == 0 {
		return "0 s"
	}
	var text string
	for _, u := range durationUnits {
		f := s * float64(u.count) / float64(u.per)
		text = strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(f, 'f', 3, 64), "0"), ".") + " " + u.name
		// A duration that would be rounded up to the next unit is formatted in the next unit.
		if math.Abs(f) < float64(u.most)-0.0005 {
			break
		}
	}
	return text
}

// ParseTime reads a time in a user's notation, and returns it in ticks of c. The notation is a number with a
// unit (ns us µs ms s min h), a number of ticks ("1500"), or a percentage of the time from the first to the
// last tick of the trace ("12.5%"). The time counts from the first tick of the trace. A leading "@" makes it a
// time on the trace's own clock instead. Fractions of a tick are rounded up: the events from this time on are those
// from the result on, and the events before it are those before the result.
func (c Clock) ParseTime(s string, first, last int64) (int64, error) {
	body, own := strings.CutPrefix(strings.TrimSpace(s), "@")
	fail := func(why string) (int64, error) {
		return 0, fmt.Errorf("time %q: %s; expected a number with ns, us, ms, s, min, h or %%, or ticks", s, why)
	}
	if p, ok := strings.CutSuffix(body, "%"); ok {
		r, okRat := new(big.Rat).SetString(strings.TrimSpace(p))
		if !okRat || own {
			return fail("found no percentage")
		}
		span := new(big.Int).Sub(big.NewInt(last), big.NewInt(first))
		r.Mul(r, new(big.Rat).SetFrac(span, big.NewInt(100)))
		return addTicks(first, r, fail)
	}
	d, err := c.parseDuration(body)
	if err != "" {
		return fail(err)
	}
	base := first
	if own {
		base = 0
	}
	return addTicks(base, d, fail)
}

// addTicks returns base + r, rounded up to a tick. If the sum does not fit an int64, it returns the result
// of fail.
func addTicks(base int64, r *big.Rat, fail func(string) (int64, error)) (int64, error) {
	n := new(big.Int).Add(r.Num(), r.Denom())
	n.Sub(n, big.NewInt(1)).Div(n, r.Denom())
	n.Add(n, big.NewInt(base))
	if !n.IsInt64() {
		return fail("it does not fit the trace's clock")
	}
	return n.Int64(), nil
}

// roundRat returns the nearest integer; halves are rounded up.
func roundRat(r *big.Rat) *big.Int {
	two := big.NewInt(2)
	n := new(big.Int).Mul(r.Num(), two)
	n.Add(n, r.Denom())
	return n.Div(n, new(big.Int).Mul(r.Denom(), two))
}

// ParseDuration reads a duration such as "1.5ms", "20us", "3s" or a number of ticks, and returns it
// in ticks. Fractions of a tick are rounded.
func (c Clock) ParseDuration(s string) (int64, error) {
	d, why := c.parseDuration(strings.TrimSpace(s))
	if why != "" {
		return 0, fmt.Errorf("duration %q: %s; expected a number with ns, us, ms, s, min or h, or ticks", s, why)
	}
	n := roundRat(d)
	if !n.IsInt64() {
		return 0, fmt.Errorf("duration %q does not fit the trace's clock", s)
	}
	return n.Int64(), nil
}

var unitSeconds = []struct {
	suffix string
	num    int64
	den    int64
}{
	{"fs", 1, 1e15}, {"ps", 1, 1e12}, {"ns", 1, 1e9}, {"us", 1, 1e6}, {"µs", 1, 1e6}, {"μs", 1, 1e6},
	{"ms", 1, 1e3}, {"min", 60, 1}, {"s", 1, 1}, {"m", 60, 1}, {"h", 3600, 1},
}

// parseDuration returns a duration in ticks, or the reason why s is not a duration.
func (c Clock) parseDuration(s string) (*big.Rat, string) {
	for _, u := range unitSeconds {
		num, ok := strings.CutSuffix(s, u.suffix)
		if !ok {
			continue
		}
		r, ok := parseRat(num)
		if !ok {
			break
		}
		r.Mul(r, big.NewRat(u.num, u.den))
		return r.Mul(r, big.NewRat(c.Num, c.Den)), ""
	}
	if n, ok := new(big.Int).SetString(s, 10); ok {
		return new(big.Rat).SetInt(n), ""
	}
	return nil, "found no number with a known unit"
}

// parseRat reads a decimal number without an exponent. ok is false for other texts.
func parseRat(s string) (*big.Rat, bool) {
	s = strings.TrimSpace(s)
	if s == "" || len(s) > 40 || strings.ContainsAny(s, "/_xXpPinINeE") {
		return nil, false
	}
	return new(big.Rat).SetString(s)
}
