package transform

import (
	"context"
	"fmt"
	"math"
	"math/big"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// clockRangeError returns the error that the times of trace i do not fit the common clock.
func clockRangeError(i int) error {
	return fmt.Errorf("merge: trace %d was recorded too long before or after the first one for the common clock", i+1)
}

// commonClock returns a clock for all traces. For each trace, it also returns the time on this clock that
// corresponds to the trace's time from zero. All these times equal the time of the first trace, or differ from
// it by the nanoseconds in apart.
func commonClock(ctx context.Context, list []format.Events, zero func(i int) int64, apart []int64) (c trace.Clock,
	base []int64, err error) {
	first := list[0].Defs().Clock
	clocks := []trace.Clock{exactClock(list, apart)}
	same := clocks[0].Num == first.Num && clocks[0].Den == first.Den
	if !same {
		clocks = append(clocks, trace.TicksPerSecond(picoseconds), finestClock(list))
	}
	for _, c := range clocks {
		if !c.Valid() {
			continue
		}
		c.Base = greatestBase(list, c)
		if base, err = basesOn(c, first, zero(0), apart, len(list)); err != nil {
			continue
		}
		if same {
			return c, base, nil
		}
		fits, err := extentsFit(ctx, list, c, zero, base)
		if err != nil || fits {
			return c, base, err
		}
	}
	if err == nil {
		err = fmt.Errorf("merge: found times that fit no clock of all %d traces, expected traces that are closer together",
			len(list))
	}
	return c, nil, err
}

// greatestBase returns the greatest base of the traces, in ticks of clock c.
func greatestBase(list []format.Events, c trace.Clock) (greatest uint64) {
	for _, d := range list {
		if o := d.Defs().Clock; o.Base > 0 {
			b := new(big.Int).Mul(new(big.Int).SetUint64(o.Base), big.NewInt(c.Num))
			b.Mul(b, big.NewInt(o.Den)).Div(b, big.NewInt(c.Den)).Div(b, big.NewInt(o.Num))
			if !b.IsUint64() {
				return math.MaxUint64
			}
			greatest = max(greatest, b.Uint64())
		}
	}
	return greatest
}

// basesOn returns, for each of n traces, the time on clock c that corresponds to the trace's time from zero.
// first is the clock of the first trace, and zero is the time from zero in that trace.
func basesOn(c, first trace.Clock, zero int64, apart []int64, n int) (base []int64, err error) {
	base = make([]int64, n)
	at, _, ok := first.Rescale(zero, c)
	if !ok {
		return nil, fmt.Errorf("merge: the time %d of the first trace does not fit the common clock of %s a second",
			zero, plural.Of(c.Num, "tick"))
	}
	for i := range base {
		if base[i] = at; apart == nil {
			continue
		}
		if base[i], _, ok = trace.TicksPerSecond(1_000_000_000).Rescale(apart[i], c); !ok {
			return nil, clockRangeError(i)
		}
	}
	return base, nil
}

// extentsFit reports whether the first and the last time of each trace fit clock c.
func extentsFit(ctx context.Context, list []format.Events, c trace.Clock, zero func(i int) int64,
	base []int64) (bool, error) {
	for i, d := range list {
		first, last, ok, err := format.Extent(ctx, d)
		if err != nil {
			return false, err
		}
		for _, t := range []int64{first, last} {
			x := &mergeInput{clock: d.Defs().Clock, to: c, zero: zero(i), base: base[i]}
			if _, _, fits := x.onCommonClock(t); ok && !fits {
				return false, nil
			}
		}
	}
	return true, nil
}

// finestClock returns the clock with the most ticks per second.
func finestClock(list []format.Events) trace.Clock {
	best := list[0].Defs().Clock
	for _, d := range list[1:] {
		c := d.Defs().Clock
		if new(big.Rat).SetFrac64(c.Num, c.Den).Cmp(new(big.Rat).SetFrac64(best.Num, best.Den)) > 0 {
			best = c
		}
	}
	return trace.Clock{Num: best.Num, Den: best.Den}
}

// picoseconds is the number of ticks per second of the common clock if no clock can have the ticks of all
// traces.
const picoseconds = 1_000_000_000_000

// exactClock returns a clock on which the ticks of all traces, and the distances in nanoseconds, are whole
// numbers of ticks. The returned clock is invalid if it would need too many ticks per second.
func exactClock(list []format.Events, apart []int64) trace.Clock {
	c := list[0].Defs().Clock
	num, den := big.NewInt(c.Num), big.NewInt(c.Den)
	first := new(big.Rat).SetFrac64(c.Num, c.Den)
	with := func(s *big.Rat) {
		// For fractions in lowest terms: lcm(a/b, c/d) = lcm(a, c) / gcd(b, d).
		r := new(big.Rat).SetFrac(num, den)
		g := new(big.Int).GCD(nil, nil, r.Num(), s.Num())
		num = new(big.Int).Div(new(big.Int).Mul(r.Num(), s.Num()), g)
		den = new(big.Int).GCD(nil, nil, r.Denom(), s.Denom())
	}
	same := true
	for _, d := range list[1:] {
		o := d.Defs().Clock
		same = same && o.Num == c.Num && o.Den == c.Den && o.Unit == c.Unit
		with(new(big.Rat).SetFrac64(o.Num, o.Den))
	}
	for _, ns := range apart {
		if ns != 0 {
			s := new(big.Rat).SetFrac(big.NewInt(1_000_000_000), big.NewInt(ns))
			with(s.Abs(s))
		}
	}
	if same && new(big.Rat).SetFrac(num, den).Cmp(first) == 0 {
		return c
	}
	if limit := new(big.Int).Mul(den, big.NewInt(1_000_000_000_000_000)); num.Cmp(limit) > 0 || !num.IsInt64() {
		return trace.Clock{}
	}
	x := trace.Clock{Num: num.Int64(), Den: den.Int64()}
	// Keep the time unit of the first trace if multiples of the unit by powers of ten can express all times.
	if u, exact, ok := c.Rescale(c.Unit, x); exact && ok && isPowerOfTen(u) {
		x.Unit = u
	}
	return x
}

// unitSeconds returns the length in seconds of the time unit of fragments.
func unitSeconds(c trace.Clock) *big.Rat {
	if c.Unit == 0 {
		return big.NewRat(1, 1)
	}
	unit := big.NewRat(c.Unit, c.Num)
	return unit.Mul(unit, big.NewRat(c.Den, 1))
}

func isPowerOfTen(v int64) bool {
	for v > 1 && v%10 == 0 {
		v /= 10
	}
	return v == 1
}
