package usage

import (
	"math"
	"strings"

	"github.com/weft-trace/weft/trace"
)

// ParseAverage reads the length of the time over which signals are averaged, and returns it in ticks. expected is
// empty, or states what the text should be. A short time must be a whole number of ticks, because rounding would change
// it noticeably.
func ParseAverage(clock trace.Clock, text string) (ticks int64, expected string) {
	ticks, err := clock.ParseDuration(text)
	if err != nil || ticks < 0 {
		return 0, "a time that is not negative, such as 10ms"
	}
	exact := ticks > 0 || !strings.ContainsAny(text, "123456789")
	if finer := clock; ticks < 1000 && clock.Num <= math.MaxInt64/1000 {
		finer.Num *= 1000
		n, err := finer.ParseDuration(text)
		// a number without a unit is a number of ticks
		exact = exact && (err != nil || n == 1000*ticks || n == ticks)
	}
	if !exact {
		return 0, "a multiple of " + clock.FormatDuration(1) + ", the resolution of the trace"
	}
	return ticks, ""
}
