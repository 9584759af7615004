package verify

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
)

// TestRobustness checks numbers that were found by hand. The counter s is 1 from 0, 4 from 10, and 2.5 from 20 to
// 30 ms. A comes at 0, 12 and 25 ms, B at 3 and 16 ms. The response times are 3 and 4 ms, and the last A waits for
// 5 ms.
func TestRobustness(t *testing.T) {
	rec := trace.NewRecorder(trace.Clock{Num: 1000, Den: 1, Unit: 1})
	loc, s := rec.Location("main"), rec.Counter("s", "")
	for i, v := range []float64{1, 4, 2.5, 2.5} {
		rec.Value(loc, int64(10*i), s, v)
	}
	for _, x := range []struct {
		at   int64
		name string
	}{{0, "A"}, {3, "B"}, {12, "A"}, {16, "B"}, {25, "A"}, {30, "C"}} {
		rec.Mark(rec.Location("events"), x.at, rec.Region(x.name))
	}
	const a, b = "{'name' = 'A'}", "{'name' = 'B'}"
	for formula, want := range map[string]float64{
		"globally s <= 5":                                  1,
		"globally s < 3.5":                                 -0.5,
		"finally s > 3":                                    1,
		"finally s >= 6":                                   -2,
		"globally not s == 3":                              0.5, // 2.5 is next to 3
		"globally s != 4":                                  0,
		"finally within [12, 19] s <= 1":                   -3,
		"s >= 0.5":                                         0.5,
		"until s > 3 we have that s < 2":                   1, // 4 exceeds 3 by 1, and before that, 1 is 1 below 2
		"(globally s <= 5 and finally s > 3.75)":           0.25,
		"globally abs(s - 2) <= 3":                         1,
		"globally if " + a + " then s <= 3":                -1, // at 12 ms
		"globally if " + a + " then s <= 4.5":              0.5,
		"finally (" + b + " and s >= 2)":                   2, // at 16 ms
		"finally " + a:                                     math.Inf(1),
		"globally " + a:                                    math.Inf(-1),
		"percentile 50 from " + a + " to " + b + " < 10":   7, // times of 3 and 4 ms; the last A is still within the limit
		"percentile 100 from " + a + " to " + b + " <= 3 ": -2,
		"percentile 9 from " + b + " to {'x' = 'y'} < 99":  math.Inf(1),
	} {
		spec, err := Parse("", []byte("signal s : {'name' = 's'} check c : "+formula))
		if err != nil {
			t.Fatal(err)
		}
		x, err := Run(context.Background(), format.Recorded(rec), spec, Options{Semantics: TwoValued, Robust: true})
		if err != nil {
			t.Fatal(err)
		}
		c := x.Checks[0]
		if got := float64(*c.Robustness); math.Abs(got-want) > 1e-12 && got != want {
			t.Errorf("%s: %g, expected %g", formula, got, want)
		}
		if (want > 0) != (c.Verdict == IsTrue) && want != 0 {
			t.Errorf("%s: robustness %g, but %s", formula, want, c.Verdict)
		}
	}
	for r, want := range map[Robustness]string{*infinite(false): `"-inf"`, 0.25: "0.25", *infinite(true): `"inf"`} {
		if text, err := json.Marshal(r); err != nil || string(text) != want {
			t.Errorf("%v: %s, %v, expected %s", r, text, err, want)
		}
	}
}

// TestExpressionAtEnd checks that an expression has a value at the last time of a signal. s is 1 from 0 and 5 at 10 ms,
// the last time; r is 2 from 5 to 8 ms, where s goes on.
func TestExpressionAtEnd(t *testing.T) {
	rec := trace.NewRecorder(trace.Clock{Num: 1000, Den: 1, Unit: 1})
	loc, s, r := rec.Location("main"), rec.Counter("s", ""), rec.Counter("r", "")
	rec.Value(loc, 0, s, 1)
	rec.Event(loc, 5, trace.Fragment, r, []uint64{8, trace.FloatValue(2).Num, 0, 0})
	rec.Value(loc, 10, s, 5)
	for formula, want := range map[string]bool{
		"finally within [10, 10] s + 0 == 5":   true,
		"finally within [10, 10] abs(s) == 5":  true,
		"globally 2 * s <= 9":                  false,
		"finally within [8, 8] s + r == 3":     true,
		"finally after 9 s + r > 0":            false,
		"globally within [5, 8] r - s == 1":    true,
		"finally within [0, 4.9] r - s > -9":   false,
		"globally (s + 0 >= 0 and s - s == 0)": true,
	} {
		spec, err := Parse("", []byte("signal s : {'name' = 's'} signal r : {'name' = 'r'} check c : "+formula))
		if err != nil {
			t.Fatal(err)
		}
		x, err := Run(context.Background(), format.Recorded(rec), spec, Options{Semantics: TwoValued})
		if err != nil {
			t.Fatal(err)
		}
		if got := x.Checks[0].Holds; got != want {
			t.Errorf("%s: %v, expected %v", formula, got, want)
		}
	}
}

// TestRobustObjects finds the robustness of checks for each of many objects. Their number times that of the samples
// would take hours. The counter s is i mod 7 when object i arrives, and one more 2 ms later.
func TestRobustObjects(t *testing.T) {
	effort.Sequential(t)
	n := max(1000, effort.Rounds(5000))
	rec := trace.NewRecorder(trace.TicksPerSecond(1000))
	events, loc, s := rec.Location("events"), rec.Location("main"), rec.Counter("s", "")
	for i := range n {
		at, v := int64(10*i), float64(i%7)
		rec.Value(loc, at, s, v)
		rec.Mark(events, at, rec.Region("arrival"), trace.Attr{Key: "id", Value: trace.IntValue(int64(i))})
		rec.Value(loc, at+2, s, v+1)
		rec.Mark(events, at+3, rec.Region("work"))
	}
	text := fmt.Sprintf("signal s : {'name' = 's'}\n"+
		"check now(i : 0 .. %d) : globally if {'name' = 'arrival', 'id' = i} then s <= 5\n"+
		"check soon(i : 0 .. %d) : not finally ({'name' = 'arrival', 'id' = i} and globally within [0, 3 ms] s < 4)",
		n-1, n-1)
	spec, err := Parse("", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	x, err := Run(context.Background(), format.Recorded(rec), spec, Options{Robust: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if got, want := *x.Checks[i].Robustness, Robustness(5-i%7); got != want {
			t.Fatalf("%s: %v, expected %v", x.Checks[i].Name, got, want)
		}
		// the greatest value up to 3 ms later, i mod 7 + 1, is not below 4
		if got, want := *x.Checks[n+i].Robustness, Robustness(i%7+1-4); got != want {
			t.Fatalf("%s: %v, expected %v", x.Checks[n+i].Name, got, want)
		}
	}
}

// TestDenseReasons checks explanations of violated checks of signals, also where the signal has no value. The counter s
// is 1 from 5 ms on, 4 from 20 ms on, and 6 from 30 ms on.
func TestDenseReasons(t *testing.T) {
	rec := trace.NewRecorder(trace.TicksPerSecond(1000))
	loc, s := rec.Location("main"), rec.Counter("s", "")
	rec.Mark(loc, 0, rec.Region("begin"))
	for _, at := range []int64{5, 20, 30} {
		rec.Value(loc, at, s, float64(at)/5)
	}
	for formula, want := range map[string]string{
		"globally s <= 9":            "s <= 9 does not hold from 0 s to 0.005 s; s has no value at 0 s",
		"globally s <= 3":            "s <= 3 does not hold from 0 s to 0.005 s, and at 1 other time; s has no value at 0 s",
		"globally after 5 ms s <= 3": "s <= 3 does not hold from 0.02 s to 0.03 s",
		// s exceeds 3, but not within these bounds
		"finally within [6 ms, 15 ms] s > 3":  "s > 3 does not hold at any time from 0.006 s to 0.015 s",
		"finally within [6 ms, 6 ms] s > 3":   "s > 3 does not hold at 0.006 s",
		"finally within [40 ms, 50 ms] s > 3": "no time of the trace is within [40 ms, 50 ms] from 0 s",
		// the first time of s > 3, and the times before it
		"not until by 25 ms s > 3 we have that not s > 3": "s > 3 holds from 0.02 s to 0.025 s; " +
			"not s > 3 holds from 0 s to 0.02 s",
		// s is 1 from 5 ms to 20 ms, and s > 3 does not hold before
		"until by 15 ms s > 3 we have that not s == 1": "not s == 1 does not hold from 0.005 s to 0.015 s; " +
			"s > 3 does not hold at any time from 0 s to 0.005 s",
		// from 5 ms on, s is below 4 up to 20 ms, which is beyond 10 ms later only before 10 ms
		"globally after 5 ms finally by 10 ms s >= 4": "finally within [0, 10 ms] s >= 4 does not hold from 0.005 s to " +
			"0.01 s; s >= 4 does not hold at any time from 0.005 s to 0.015 s",
		"finally by 4 ms globally by 3 ms s >= 1": "globally within [0, 3 ms] s >= 1 does not hold at any time from 0 s " +
			"to 0.004 s; s >= 1 does not hold from 0 s to 0.005 s; s has no value at 0 s",
		// only the part that decides: s > 9 holds at no time, s is above 3 from 20 ms on
		"(not s > 9 and globally after 5 ms s <= 3)": "s <= 3 does not hold from 0.02 s to 0.03 s",
		"globally after 5 ms (s > 0 and s <= 3)": "(s > 0 and s <= 3) does not hold from 0.02 s to 0.03 s; " +
			"s <= 3 does not hold from 0.02 s to 0.03 s",
		"if not s > 9 then globally after 5 ms s <= 3": "s > 9 does not hold from 0 s to 0.03 s; s has no value at 0 s; " +
			"s <= 3 does not hold from 0.02 s to 0.03 s",
	} {
		spec, err := Parse("", []byte("signal s : {'name' = 's'} check c : "+formula))
		if err != nil {
			t.Fatal(err)
		}
		x, err := Run(context.Background(), format.Recorded(rec), spec, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var text []string
		for _, r := range x.Checks[0].Reasons {
			text = append(text, r.Text)
		}
		if got := strings.Join(text, "; "); got != want {
			t.Errorf("%s: %q, expected %q", formula, got, want)
		}
	}
}

// TestMiddle checks that bisection ends: the middle of two numbers lies between them.
func TestMiddle(t *testing.T) {
	for _, x := range [][2]int64{{-3, -1}, {-4, -2}, {-3, 0}, {-1, 1}, {1, 3}, {math.MinInt64, math.MaxInt64},
		{ordinal(-math.MaxFloat64), ordinal(math.MaxFloat64)}} {
		if m := middleOf(x[0], x[1]); m <= x[0] || m >= x[1] {
			t.Errorf("the middle of %d and %d is %d", x[0], x[1], m)
		}
	}
}

// TestRobustnessSign checks that the sign of the robustness agrees with the verdict if a signal just reaches a
// bound, so that rounding decides. The signals are parabolas with their greatest value inside of the trace. The
// bound is the float nearest to this greatest value, or one of the two neighbouring floats.
func TestRobustnessSign(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for range effort.Rounds(400) {
		rec := trace.NewRecorder(trace.TicksPerSecond(1000))
		s, top := rec.Counter("s", ""), 0.1*float64(r.IntN(100))
		slope, length := 0.1*float64(1+r.IntN(30)), uint64(1+r.IntN(10000))
		bend := -slope / (float64(length) / 1000) // the top is in the middle
		top += slope * slope / -bend / 4
		rec.Event(rec.Location("main"), 0, trace.Fragment, s, []uint64{length,
			trace.FloatValue(top - slope*slope/-bend/4).Num, trace.FloatValue(slope).Num, trace.FloatValue(bend).Num})
		number := top
		for range r.IntN(4) {
			number = math.Nextafter(number, []float64{math.Inf(1), math.Inf(-1)}[r.IntN(2)])
		}
		bound := strconv.FormatFloat(number, 'g', -1, 64)
		formula := []string{"globally s <= B", "globally s < B", "finally s >= B", "finally s > B", "not finally s >= B",
			"finally (s >= B and s <= B)", "globally if s > B then s < 0", "finally s == B", "globally s != B",
			"globally s - B <= 0", "finally 2 * s > 2 * B"}[r.IntN(11)]
		formula = strings.ReplaceAll(formula, "> 2 * B", "- 2 * B > 0")
		spec, err := Parse("", []byte("signal s : {'name' = 's'} check c : "+strings.ReplaceAll(formula, "B", bound)))
		if err != nil {
			t.Fatal(err)
		}
		x, err := Run(context.Background(), format.Recorded(rec), spec, Options{Semantics: TwoValued, Robust: true})
		if err != nil {
			t.Fatal(err)
		}
		c := x.Checks[0]
		if d := float64(*c.Robustness); d > 0 && c.Verdict != IsTrue || d < 0 && c.Verdict != IsFalse {
			t.Errorf("%s, with the greatest value %v: %s, but robustness %v", c.Formula, top, c.Verdict, d)
		} else if math.Abs(d) > 1e-9 {
			t.Errorf("%s, with the greatest value %v: robustness %v", c.Formula, top, d)
		}
	}
}

// TestExactReasons checks that times between two ticks are not rounded in JSON. The signal falls from 3 by 1.5 in each
// tick, so it is below 1 after 4/3 ticks, and below 2.5 after 1/3 of a tick.
func TestExactReasons(t *testing.T) {
	const begin = 9_007_199_254_740_993 // floats cannot represent it
	rec := trace.NewRecorder(trace.TicksPerSecond(1000))
	loc, s := rec.Location("main"), rec.Counter("s", "")
	rec.Event(loc, begin, trace.Fragment, s, []uint64{begin + 2, math.Float64bits(3), math.Float64bits(-1500), 0})
	for formula, want := range map[string]string{
		"globally s > 1":   `"from":9007199254740994.3333333333333333,"to":9007199254740995,`,
		"globally s >= 1":  `"from":9007199254740994.3333333333333333,"to":9007199254740995,"fromOpen":true,`,
		"globally s < 2.5": `"from":9007199254740993,"to":9007199254740993.3333333333333333,`,
		"globally s < 3":   `"from":9007199254740993,"to":9007199254740993,`,
	} {
		spec, err := Parse("", []byte("signal s : {'name' = 's'} check c : "+formula))
		if err != nil {
			t.Fatal(err)
		}
		x, err := Run(context.Background(), format.Recorded(rec), spec, Options{})
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(x.Checks[0].Reasons)
		if err != nil || !strings.Contains(string(b), want) {
			t.Errorf("%s: %s, %v, expected %s", formula, b, err, want)
		}
		var again []Reason
		if err := json.Unmarshal(b, &again); err != nil || !slices.Equal(again, x.Checks[0].Reasons) {
			t.Errorf("%s: read as %v, %v, expected %v", formula, again, err, x.Checks[0].Reasons)
		}
	}
	for _, x := range []struct{ t, want Instant }{
		{Instant{Tick: 3}, Instant{Tick: 30}}, {Instant{1, "1.25"}, Instant{13, "12.5"}},
		{Instant{2, "1.5"}, Instant{Tick: 15}},
		{Instant{-1, "-0.75"}, Instant{-7, "-7.5"}},
	} {
		if got := x.t.scaled(10); got != x.want {
			t.Errorf("10 * %v: %v, expected %v", x.t, got, x.want)
		}
	}
}
