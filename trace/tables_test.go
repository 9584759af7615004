package trace

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// TestVariadic checks that only two kinds repeat their last operand: ranges of samples, and
// arguments of programs.
func TestVariadic(t *testing.T) {
	var got []string
	for k := range kindCount {
		if x := k.Spec(); x.Variadic {
			got = append(got, x.Name)
		}
	}
	if want := []string{"sample-range", "program-begin"}; !slices.Equal(got, want) {
		t.Errorf("found %q, expected %q", got, want)
	}
}

// TestAdd checks that sums of times are clamped to int64, and that windows with equal times are
// equal.
func TestAdd(t *testing.T) {
	for _, x := range [][3]int64{{1, 2, 3}, {-1, -2, -3}, {5, -7, -2}, {-5, 7, 2}, {0, 0, 0},
		{math.MaxInt64, 1, math.MaxInt64}, {math.MaxInt64, 0, math.MaxInt64},
		{math.MinInt64, -1, math.MinInt64}, {math.MinInt64, math.MinInt64, math.MinInt64},
		{math.MaxInt64, math.MinInt64, -1}} {
		if got := Add(x[0], x[1]); got != x[2] {
			t.Errorf("%d + %d: found %d, expected %d", x[0], x[1], got, x[2])
		}
	}
	open, closed := &Window{1, math.MaxInt64}, &Window{1, math.MaxInt64 - 1}
	if !open.Has(math.MaxInt64) || closed.Has(math.MaxInt64-1) || !closed.Has(math.MaxInt64-2) || open.Has(0) {
		t.Error("found times in windows that are not, or not in windows that are")
	}
	for _, x := range []struct {
		other Window
		want  bool
	}{{Window{1, 5}, true}, {Window{4, 9}, true}, {Window{5, 9}, false}, {Window{-3, 1}, false}, {Window{-3, 2}, true},
		{Window{2, 3}, true}, {Window{4, math.MaxInt64}, true}} {
		if got := (&Window{1, 5}).Overlaps(x.other); got != x.want {
			t.Errorf("[1, 5) and %+v: found %t, expected %t", x.other, got, x.want)
		}
	}
	if !(*Window)(nil).Overlaps(Window{1, 5}) {
		t.Error("the whole trace does not overlap a window")
	}
	a, b, c := &Window{1, 5}, &Window{1, 5}, &Window{1, 6}
	if !a.Equal(b) || a.Equal(c) || a.Equal(nil) || (*Window)(nil).Equal(a) || !(*Window)(nil).Equal(nil) {
		t.Error("Equal returned a wrong result")
	}
}

// TestWants checks which events selections contain. One selection contains only links, and therefore no event.
func TestWants(t *testing.T) {
	d := &Definitions{}
	g := d.Regions.Add(Region{})
	none := Everything()
	none.NoEvents = true
	window, stacks := Selection{From: 5, To: 10}, Selection{From: 5, To: 10, Stacks: true}
	for _, x := range []struct {
		name string
		sel  Selection
		time int64
		want bool
	}{{"all", Everything(), math.MaxInt64, true}, {"links alone", none, 0, false}, {"before", window, 4, false},
		{"first", window, 5, true}, {"last", window, 9, true},
		{"after", window, 10, false}, {"stacks before", stacks, 4, true}, {"stacks after", stacks, 10, false}} {
		if got := x.sel.Wants(d, 0, x.time, Enter, g); got != x.want {
			t.Errorf("%s: found %t, expected %t", x.name, got, x.want)
		}
	}
}

// TestMessage checks that the message of a defect has the parts that are set in the defect.
func TestMessage(t *testing.T) {
	for want, d := range map[string]Defect{
		"":                       {},
		"R":                      {Record: "R"},
		"R: found a, expected b": {Record: "R", Found: "a", Expected: "b"},
		"found a":                {Found: "a"},
		"expected b":             {Expected: "b"},
		"R, expected b":          {Record: "R", Expected: "b"},
	} {
		if got := d.Message(); got != want {
			t.Errorf("found %q, expected %q", got, want)
		}
	}
}

// TestRowsOfBatch checks the latest end of the rows of a batch, DropLast, and the columns that Tail
// returns.
func TestRowsOfBatch(t *testing.T) {
	b := &Batch{}
	b.Reset(3)
	if b.End() != math.MinInt64 {
		t.Errorf("found the end %d, expected none", b.End())
	}
	b.Add(3, 9, Enter, 0)
	b.MarkDerived()
	b.DropLast()
	if len(b.Derived) != 0 || b.Len() != 0 {
		t.Errorf("found %d rows, %d derived, expected none", b.Len(), len(b.Derived))
	}
	b.Add(3, 5, Enter, 0)
	b.Add(3, 9, Leave, 0)
	if b.End() != 9 {
		t.Errorf("found the end %d, expected 9", b.End())
	}
	b.Add(3, 9, Fragment, 0)
	b.AddOps(30)
	b.Add(3, 9, Fragment, 0)
	b.AddOps(20)
	if b.End() != 30 {
		t.Errorf("found the end %d, expected 30", b.End())
	}
	one := &Batch{}
	one.Reset(3)
	one.Add(3, 5, Enter, 0)
	one.Pos = []int64{77}
	if tail := one.Tail(1); len(tail.Pos) != 0 || tail.Len() != 0 {
		t.Errorf("found %d rows and %d places after the only row, expected none", tail.Len(), len(tail.Pos))
	}
}

// TestMulDiv checks that mulDiv detects a quotient that does not fit 64 bits.
func TestMulDiv(t *testing.T) {
	for _, x := range []struct {
		t, m, d, want int64
		exact, ok     bool
	}{{1 << 62, 4, 1, 0, false, false}, {1 << 62, 4, 2, 0, false, false}, {1 << 62, 4, 4, 1 << 62, true, true},
		{-1 << 62, 4, 4, -1 << 62, true, true},
		{5, 1, 2, 2, false, true}, {7, 1, 2, 4, false, true}, {-5, 1, 2, -2, false, true}, {-7, 1, 2, -4, false, true},
		{5, 2, 3, 3, false, true}, {4, 1, 3, 1, false, true}} {
		if got, exact, ok := mulDiv(x.t, x.m, x.d); ok != x.ok || ok && (got != x.want || exact != x.exact) {
			t.Errorf("%d × %d / %d: found %d, %t, %t, expected %d, %t, %t",
				x.t, x.m, x.d, got, exact, ok, x.want, x.exact, x.ok)
		}
	}
}

// TestDecimalFloats checks that Float returns the nearest float64, and that AppendLeast writes at
// least the requested digits.
func TestDecimalFloats(t *testing.T) {
	for _, x := range []struct {
		d    Decimal
		want float64
	}{{Decimal{3, 0}, 3}, {Decimal{-5, -2}, -500}, {Decimal{1, 22}, 1e-22}, {Decimal{1, 23}, 1e-23},
		{Decimal{1, 60}, 1e-60}, {Decimal{1<<53 + 1, 0}, 1 << 53}, {Decimal{math.MaxInt64, 18}, 9.223372036854775807}} {
		if got := x.d.Float(); got != x.want {
			t.Errorf("%+v: found %g, expected %g", x.d, got, x.want)
		}
	}
	for _, x := range []struct {
		d     Decimal
		least int
		want  string
	}{{Decimal{7, 0}, 0, "7"}, {Decimal{7, 0}, 1, "7.0"}, {Decimal{7, 0}, 2, "7.00"}, {Decimal{70, 1}, 0, "7"},
		{Decimal{70, 1}, 1, "7.0"}, {Decimal{125, 2}, 1, "1.25"}, {Decimal{7, -1}, 1, "70.0"}} {
		if got := string(x.d.AppendLeast(nil, x.least)); got != x.want {
			t.Errorf("%+v with %d digits: found %s, expected %s", x.d, x.least, got, x.want)
		}
	}
	for text, want := range map[string]Decimal{"9223372036854775807": {math.MaxInt64, 0},
		"0.9223372036854775807": {math.MaxInt64, 19}} {
		if d, n, exact := ParseDecimal([]byte(text)); d != want || n != len(text) || !exact {
			t.Errorf("%s: found %+v, %d bytes, exact %t, expected %+v", text, d, n, exact, want)
		}
	}
}

// TestParseDuration checks durations with units and in ticks. Half a tick is rounded up.
func TestParseDuration(t *testing.T) {
	c := TicksPerSecond(1000)
	for text, want := range map[string]int64{"12": 12, "1.5s": 1500, "2.5ms": 3, "2.4ms": 2, "1min": 60_000, "500us": 1,
		"499us": 0} {
		if got, err := c.ParseDuration(text); err != nil || got != want {
			t.Errorf("%s: found %d, %v, expected %d", text, got, err, want)
		}
	}
	if _, err := c.ParseDuration("9223372036854775808"); err == nil || !strings.Contains(err.Error(), "does not fit") {
		t.Errorf("2⁶³ ticks: found %v, expected that it does not fit", err)
	}
	for _, text := range []string{"", "s", "1x", "1e3s", "1e400"} {
		if got, err := c.ParseDuration(text); err == nil || !strings.Contains(err.Error(), "expected a number with ns") {
			t.Errorf("%q: found %d, %v, expected an error", text, got, err)
		}
	}
}
