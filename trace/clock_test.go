package trace

import (
	"encoding/json"
	"math"
	"math/big"
	"os"
	"testing"

	"pgregory.net/rapid"
)

func TestParseTime(t *testing.T) {
	c := TicksPerSecond(1_000_000)
	for s, want := range map[string]int64{
		"0": 100, "1500": 1600, "1.5ms": 1600, "20us": 120, "20µs": 120, "3s": 3_000_100, "0.0000005s": 101,
		"2min": 120_000_100,
		"1h":   3_600_000_100, "50%": 600, "12.5%": 225, "100%": 1100, "@7": 7, "@1ms": 1000, "@-1us": -1, "-1us": 99,
		"700ns": 101, "100ns": 101, "1.0004ms": 1101, "@1.0004ms": 1001, "@-1.0004ms": -1000, "0.01%": 101,
	} {
		if got, err := c.ParseTime(s, 100, 1100); err != nil || got != want {
			t.Errorf("%q: %d, %v, want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"", "x", "1.5", "ms", "1e3s", "@50%", "1/2s", "9999999999999h", "0x5"} {
		if got, err := c.ParseTime(s, 0, 10); err == nil {
			t.Errorf("%q: %d, want an error", s, got)
		}
	}
}

// TestFormatDuration compares the texts with expected ones that were computed with exact fractions
// in another language. The tests of the viewer's page use the same texts (web/test/time.test.ts).
func TestFormatDuration(t *testing.T) {
	b, err := os.ReadFile("../web/test/durations.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Ticks int64  `json:"ticks,string"`
		Num   int64  `json:"num,string"`
		Den   int64  `json:"den,string"`
		Text  string `json:"text"`
	}
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	for _, x := range cases {
		if got := (Clock{Num: x.Num, Den: x.Den}).FormatDuration(x.Ticks); got != x.Text {
			t.Errorf("%d ticks of %d/%d s: found %q, expected %q", x.Ticks, x.Den, x.Num, got, x.Text)
		}
	}
	ns := Clock{Num: 1_000_000_000, Den: 1}
	for _, x := range []struct {
		sum, n int64
		want   string
	}{{2_005_000, 2, "1.003 ms"}, {8_195_000, 2, "4.098 ms"}, {-2_005_000, 2, "-1.003 ms"}, {1_000_500_000, 1, "1.001 s"},
		{1, 3, "333.333 ps"}, {2, 3, "666.667 ps"}, {1, 2_000_000, "0.5 fs"},
		{0, 0, "0 s"}, {math.MaxInt64, math.MaxInt64, "1 ns"}} {
		if got := ns.FormatMean(TicksOf(x.sum), x.n); got != x.want {
			t.Errorf("mean of %d ns in %d: found %q, expected %q", x.sum, x.n, got, x.want)
		}
	}
	for s, want := range map[float64]string{0: "0 s", 0.0009999999: "1 ms", 0.000999999: "999.999 µs", -0.9999999: "-1 s",
		599.9996: "10 min", 0.25e-9: "250 ps"} {
		if got := FormatFloatSeconds(s); got != want {
			t.Errorf("%g s: found %q, expected %q", s, got, want)
		}
	}
}

func TestFormat(t *testing.T) {
	for _, x := range []struct {
		c    Clock
		t    int64
		want string
	}{
		{TicksPerSecond(1_000_000), -715036, "-0.715036"}, {TicksPerSecond(10), 5, "0.5"}, {TicksPerSecond(1), 7, "7"},
		{Clock{Num: 1, Den: 60}, 3, "180"},
		{Clock{Num: 10, Den: 60}, 1, "6"}, {TicksPerSecond(3), 1, "0.333333333333"},
		{TicksPerSecond(1_000_000_000), math.MaxInt64, "9223372036.854775807"},
		{Clock{Num: 1, Den: 3600}, math.MaxInt64 / 2, "16602069666338596450800"},
	} {
		if got := x.c.FormatSeconds(x.t); got != x.want {
			t.Errorf("%d ticks of %+v: %s, want %s", x.t, x.c, got, x.want)
		}
	}
	for want, c := range map[string]Clock{"1 µs": TicksPerSecond(1_000_000), "100 ns": TicksPerSecond(10_000_000),
		"60 s": {Num: 1, Den: 60}, "1/3 s": TicksPerSecond(3), "10 ms": TicksPerSecond(100)} {
		if got := c.Resolution(); got != want {
			t.Errorf("%+v: %s, want %s", c, got, want)
		}
	}
}

// TestRescale compares Rescale with exact rational arithmetic and rounding to even.
func TestRescale(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		num := rapid.Int64Range(1, 1<<40)
		a := Clock{Num: num.Draw(t, "a"), Den: num.Draw(t, "b")}
		b := Clock{Num: num.Draw(t, "c"), Den: num.Draw(t, "d")}
		x := rapid.Int64().Draw(t, "x")
		r := new(big.Rat).SetFrac(big.NewInt(a.Den), big.NewInt(a.Num))
		r.Mul(r, new(big.Rat).SetFrac(big.NewInt(b.Num), big.NewInt(b.Den)))
		r.Mul(r, new(big.Rat).SetInt64(x))
		got, exact, ok := a.Rescale(x, b)
		if !r.IsInt() && exact && ok || r.IsInt() && ok && (!exact || r.Num().Int64() != got) {
			t.Fatalf("%d: %d exact %t, want %s", x, got, exact, r)
		}
		if ok {
			d := new(big.Rat).Sub(r, new(big.Rat).SetInt64(got))
			if d.Abs(d).Cmp(big.NewRat(1, 2)) > 0 {
				t.Fatalf("%d: %d, want %s", x, got, r.FloatString(3))
			}
		}
	})
}

// TestRescaleTies checks that a result halfway between two ticks is rounded to the even tick, even if
// intermediate results exceed 64 bits.
func TestRescaleTies(t *testing.T) {
	const prime = 1<<31 + 11
	for _, c := range []struct {
		from, to Clock
		t, want  int64
	}{
		{Clock{Num: 2, Den: 1}, Clock{Num: 1, Den: 1}, 3, 2}, {Clock{Num: 2, Den: 1}, Clock{Num: 1, Den: 1}, -3, -2},
		{Clock{Num: 2, Den: 1}, Clock{Num: 1, Den: 1}, 5, 2}, {Clock{Num: 2, Den: 1}, Clock{Num: 1, Den: 1}, 1, 0},
		{Clock{Num: 2 * prime, Den: 3}, Clock{Num: 1, Den: prime}, prime * prime, 2},
		{Clock{Num: 2 * prime, Den: 3}, Clock{Num: 1, Den: prime}, -prime * prime, -2},
		{Clock{Num: 2 * prime, Den: 5}, Clock{Num: 1, Den: prime}, prime * prime, 2},
		{Clock{Num: 2 * prime, Den: 1}, Clock{Num: 1, Den: prime}, -prime * prime, 0},
	} {
		if got, exact, ok := c.from.Rescale(c.t, c.to); got != c.want || exact || !ok {
			t.Errorf("%d ticks of %v in %v: found %d, exact %v, %v; expected %d", c.t, c.from, c.to, got, exact, ok, c.want)
		}
	}
}

// TestRescaleLimits checks that results from -2^63 to 2^63-1 fit and that other results do not, for both ways
// in which Rescale calculates.
func TestRescaleLimits(t *testing.T) {
	clock := func(num, den int64) Clock { return Clock{Num: num, Den: den} }
	for _, c := range []struct {
		from, to Clock
		t, want  int64
		fits     bool
	}{
		{clock(1, 1), clock(1<<62, 1), -2, math.MinInt64, true},
		{clock(1, 1), clock(1<<62, 1), 2, 0, false},
		{clock(2, 1), clock(3, 1), -6148914691236517205, math.MinInt64, true}, // -2^63 + 1/2, to even
		{clock(2, 1), clock(3, 1), 6148914691236517205, 0, false},
		{clock(2, 1), clock(3, 1), -6148914691236517206, 0, false}, // -2^63 - 1
		{clock(1, 1<<32), clock(1<<31, 1), -1, math.MinInt64, true},
		{clock(1, 1<<32), clock(1<<31, 1), 1, 0, false},
		{clock(1, 1), clock(math.MaxInt64, 1), 1, math.MaxInt64, true},
	} {
		got, _, ok := c.from.Rescale(c.t, c.to)
		if ok != c.fits || ok && got != c.want {
			t.Errorf("%d ticks of %v in %v: found %d, %v; expected %d, %v", c.t, c.from, c.to, got, ok, c.want, c.fits)
		}
	}
}

func TestDecimal(t *testing.T) {
	for s, want := range map[string]string{
		"0": "0", "100.0": "100", "-0.4": "-0.4", "1e-05": "0.00001", "1.5E-7": "0.00000015", "+3": "3", "-.5": "-0.5",
		"5.":   "5",
		"0.10": "0.1", "123456789012345678": "123456789012345678", "1e3": "1000", "00.50": "0.5",
		"1e-30": "0.000000000000000000000000000001",
	} {
		d, n, exact := ParseDecimal([]byte(s))
		if n != len(s) || !exact || d.String() != want {
			t.Errorf("%q: %s, %d bytes, exact %t, want %s", s, d, n, exact, want)
		}
		if got := string(d.AppendTrim(nil)); got != want {
			t.Errorf("%q trimmed: %s, want %s", s, got, want)
		}
	}
	for _, s := range []string{"", "-", ".", "x", "e5", "1e99", "1e400"} {
		if d, n, _ := ParseDecimal([]byte(s)); n != 0 {
			t.Errorf("%q: %s of %d bytes, want none", s, d, n)
		}
	}
	if d, n, exact := ParseDecimal([]byte("1e-300")); d.Coef != 0 || n != 6 || exact {
		t.Errorf("1e-300: %s, %d bytes, exact %t", d, n, exact)
	}
	// An int64 has room for 19 digits. Further ones change the number only if they are not 0.
	for text, want := range map[string]bool{"1.1111111111111111110000": true, "1.1111111111111111111111": false} {
		if d, n, exact := ParseDecimal([]byte(text)); d.Ticks9() != 1111111111 || n != len(text) || exact != want {
			t.Errorf("%s: found %v of %d bytes, exact %v, expected exact %v", text, d, n, exact, want)
		}
	}
	if d, _, exact := ParseDecimal([]byte("0.12345678901234567890123")); exact || d.Ticks9() != 123456789 {
		t.Errorf("long fraction: %s, exact %t", d, exact)
	}
}

// Ticks9 returns the decimal in units of 10^-9, truncated.
func (d Decimal) Ticks9() int64 {
	for d.Scale > 9 {
		d.Coef /= 10
		d.Scale--
	}
	return d.Coef
}

// TestDecimalProperties checks that a decimal has the same value after formatting and parsing, and
// that decimals compare like fractions.
func TestDecimalProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		one := func(n string) Decimal {
			return Decimal{rapid.Int64Range(-1e17, 1e17).Draw(t, n), rapid.Int32Range(0, 18).Draw(t, n+" scale")}
		}
		a, b := one("a"), one("b")
		for _, s := range []string{a.String(), string(a.Append(nil)), string(a.AppendTrim(nil))} {
			if d, n, exact := ParseDecimal([]byte(s)); n != len(s) || !exact || d.Cmp(a) != 0 {
				t.Fatalf("%+v as %s reads back as %+v", a, s, d)
			}
		}
		x, _ := new(big.Rat).SetString(a.String())
		y, _ := new(big.Rat).SetString(b.String())
		if x.Cmp(y) != a.Cmp(b) {
			t.Fatalf("%s and %s compare %d", a, b, a.Cmp(b))
		}
	})
}

// TestDecimalTies checks that half a unit is rounded away from zero.
func TestDecimalTies(t *testing.T) {
	for _, x := range []struct {
		coef         int64
		scale, digit int32
		want         int64
		exact        bool
	}{
		{5, 1, 0, 1, false}, {-5, 1, 0, -1, false}, {4, 1, 0, 0, false}, {-4, 1, 0, 0, false}, {15, 1, 0, 2, false},
		{25, 1, 0, 3, false}, {-25, 1, 0, -3, false},
		{12, 3, 3, 12, true}, {0, 3, 0, 0, true},
		{49, 2, 0, 0, false}, {50, 2, 0, 1, false}, {-50, 2, 0, -1, false}, {2500, 3, 1, 25, true}, {2550, 3, 1, 26, false},
		{5e17, 18, 0, 1, false}, {5e17 - 1, 18, 0, 0, false}, {9e18, 19, 0, 1, false}, {-5e18, 19, 0, -1, false},
		{5e18 - 1, 19, 0, 0, false}, {9e18, 20, 0, 0, false}, {math.MinInt64, 19, 0, -1, false},
	} {
		if got, exact, ok := (Decimal{x.coef, x.scale}).Ticks(x.digit); got != x.want || exact != x.exact || !ok {
			t.Errorf("%d of 10^-%d in 10^-%d: found %d, exact %t, %t, expected %d, %t", x.coef, x.scale, x.digit, got, exact, ok,
				x.want, x.exact)
		}
	}
}
