package transform

import (
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/weft-trace/weft/trace"
)

// TestCurve compares curves with exact fractions, and checks that their times never decrease.
func TestCurve(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		span := int64(1) << (1 + r.Uint64N(61))
		var c Curve
		at, to := -r.Int64N(span), r.Int64N(span)-span/2
		for range 1 + r.IntN(5) {
			c = append(c, Point{at, to})
			at += 1 + r.Int64N(span)/8
			to += r.Int64N(span) / 8
		}
		if err := c.Check(); err != nil {
			t.Fatal(err)
		}
		x := c[0].Read - 3
		last := int64(math.MinInt64)
		for range 200 {
			y := c.At(x)
			if y < last {
				t.Fatalf("%v at %d: %d after %d", c, x, y, last)
			}
			if want := exactTime(c, x); y != want {
				t.Fatalf("%v at %d: found %d, expected %d", c, x, y, want)
			}
			last = y
			x += 1 + (c[len(c)-1].Read-c[0].Read)/150
		}
	}
	for _, x := range []struct {
		p       Point
		t, want int64
	}{{Point{0, 10}, math.MaxInt64 - 3, math.MaxInt64}, {Point{0, -10}, math.MinInt64 + 3, math.MinInt64},
		{Point{0, 5}, 7, 12}} {
		if y := (Curve{x.p}).At(x.t); y != x.want {
			t.Errorf("%v at %d: found %d, expected %d", x.p, x.t, y, x.want)
		}
	}
}

// exactTime returns the corrected time of t in exact arithmetic.
func exactTime(c Curve, t int64) int64 {
	a, b := c[0], c[0]
	for i, p := range c {
		if p.Read <= t {
			a, b = p, p
			if i+1 < len(c) {
				b = c[i+1]
			}
		}
	}
	x := big.NewInt(t)
	x.Sub(x, big.NewInt(a.Read))
	if b != a {
		x.Mul(x, new(big.Int).Sub(big.NewInt(b.True), big.NewInt(a.True)))
		x.Div(x, new(big.Int).Sub(big.NewInt(b.Read), big.NewInt(a.Read)))
	}
	return x.Add(x, big.NewInt(a.True)).Int64()
}

func TestCorrectionFile(t *testing.T) {
	c := &Correction{Clock: trace.Clock{Num: 3, Den: 7},
		Locations: map[string]Curve{"10": {{1, 2}, {3, math.MaxInt64}}, "2": {}, "<a>": {{-5, -6}}}}
	var b strings.Builder
	if err := c.Write(&b); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), `{"id":"2","points":[]},{"id":"10",`) {
		t.Error("not in the order of numbers:", b.String())
	}
	x, err := ReadCorrection(strings.NewReader(b.String()), "x")
	if err != nil || !reflect.DeepEqual(x, c) {
		t.Errorf("%v, %v; expected %v", x, err, c)
	}
	for _, bad := range []string{"", "{}", `{"type":"weft clock correction","version":2}`,
		`{"type":"weft clock correction","version":1,"ticks":0,"perSeconds":1}`,
		`{"type":"weft clock correction","version":1,"ticks":1,"perSeconds":1,` +
			`"locations":[{"id":"0","points":[[1,2],[1,3]]}]}`,
		`{"type":"weft clock correction","version":1,"ticks":1,"perSeconds":1,"locations":[{"id":"0"},{"id":"0"}]}`,
		`{"type":"weft clock correction","version":1,"ticks":1,"perSeconds":1,` +
			`"locations":[{"id":"0","points":[[1,2],[2,1]]}]}`} {
		if _, err := ReadCorrection(strings.NewReader(bad), "x"); err == nil || !strings.HasPrefix(err.Error(), "x: ") {
			t.Errorf("%s: found %v, expected an error", bad, err)
		}
	}
}
