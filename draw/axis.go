package draw

import (
	"math"
	"strconv"

	"github.com/weft-trace/weft/trace"
)

// tick is a labelled time on the time axis.
type tick struct {
	at    float64 // position, as a share of the window's width
	label string
}

var timeUnits = []struct {
	name    string
	seconds float64
}{{"s", 1}, {"ms", 1e-3}, {"µs", 1e-6}, {"ns", 1e-9}}

// ticks returns labelled round times between from and to. The labels show the times relative to origin. On an
// axis of width pixels, the labels do not touch; measure returns the width of a label in pixels.
func ticks(k trace.Clock, from, to, origin int64, width float64, measure func(string) float64) []tick {
	t0 := k.Float(from - origin)
	if (from >= origin) != (from-origin >= 0) { // the difference overflows
		t0 = k.Float(from) - k.Float(origin)
	}
	span := k.Float(1) * float64(uint64(to)-uint64(from))
	if !(span > 0) || math.IsInf(span, 0) {
		return nil
	}
	unit := timeUnits[len(timeUnits)-1]
	for _, u := range timeUnits {
		if max(math.Abs(t0), math.Abs(t0+span)) >= u.seconds {
			unit = u
			break
		}
	}
	t0, span = t0/unit.seconds, span/unit.seconds
	for want := math.Floor(width / 80); want >= 1; want-- {
		step, digits := niceStep(span / want)
		first, last := math.Ceil(t0/step-1e-9), math.Floor((t0+span)/step+1e-9)
		var out []tick
		widest := 0.0
		if last-first > width {
			continue // at this distance from the origin, the steps are too small for floating-point numbers
		}
		for n := range int(last-first) + 1 {
			i := first + float64(n)
			s := strconv.FormatFloat(i*step, 'f', digits, 64)
			if i == 0 {
				s = "0"
			}
			s += " " + unit.name
			widest = max(widest, measure(s))
			if at := (i*step - t0) / span; at > -1e-6 && at < 1+1e-6 {
				out = append(out, tick{at, s})
			}
		}
		if widest+16 <= width*step/span || want == 1 {
			return out
		}
	}
	return nil
}

// niceStep returns the smallest number of the form 1, 2 or 5 × 10^n that is not less than x, and
// the number of decimals for writing it.
func niceStep(x float64) (step float64, digits int) {
	e := math.Floor(math.Log10(x))
	p := math.Pow(10, e)
	for _, m := range []float64{1, 2, 5, 10} {
		if m*p >= x*(1-1e-9) {
			if m == 10 {
				e++
			}
			return m * p, int(max(0, -e))
		}
	}
	return 10 * p, int(max(0, -e-1))
}

// formatNumber formats a value for display, with four significant digits or all digits of the integer
// part.
func formatNumber(x float64) string {
	switch a := math.Abs(x); {
	case a >= 1e9 || a < 1e-3 && a > 0:
		return strconv.FormatFloat(x, 'g', 4, 64)
	case a >= 1000:
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	short, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 4, 64), 64)
	return strconv.FormatFloat(short+0, 'f', -1, 64)
}
