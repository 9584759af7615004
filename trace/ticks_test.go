package trace

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"testing"
)

// TestTicks compares all methods of Ticks with integers of arbitrary size.
func TestTicks(t *testing.T) {
	list := []int64{0, 1, -1, 5, math.MaxInt64, math.MinInt64, math.MaxInt64, math.MaxInt64, 4e18, -4e18, math.MinInt64,
		math.MinInt64, math.MinInt64}
	var sum Ticks
	want := new(big.Int)
	for _, n := range list {
		before := sum
		sum.Add(n)
		want.Add(want, big.NewInt(n))
		if sum != before.Plus(TicksOf(n)) || before != sum.Minus(TicksOf(n)) || sum.Cmp(before) != TicksOf(n).Cmp(Ticks{}) {
			t.Errorf("%s + %d: Plus, Minus or Cmp differ from Add", before, n)
		}
		if got := fmt.Sprint(sum, sum.Float() == float64FromBig(want)); sum.Big().Cmp(want) != 0 ||
			got != want.String()+" true" || fmt.Sprintf("%5d", sum) != fmt.Sprintf("%5d", want) {
			t.Errorf("found %s, expected %s", got, want)
		}
		b, err := json.Marshal(sum)
		var back Ticks
		if err == nil {
			err = json.Unmarshal(b, &back)
		}
		if err != nil || string(b) != want.String() || back != sum {
			t.Errorf("found %s in JSON, and %s of it (%v), expected %s", b, back, err, want)
		}
	}
	if TicksOf(math.MaxInt64).Plus(TicksOf(1)).Int64() != math.MaxInt64 ||
		TicksOf(math.MinInt64).Minus(TicksOf(1)).Int64() != math.MinInt64 || TicksOf(-3).Int64() != -3 {
		t.Error("what does not fit int64 is not at its end")
	}
}

func float64FromBig(n *big.Int) float64 { f, _ := new(big.Float).SetInt(n).Float64(); return f }

// TestClockOfTicks checks that sums of more than 64 bits are formatted in the same way as smaller sums.
func TestClockOfTicks(t *testing.T) {
	sum := TicksOf(4e18).Plus(TicksOf(4e18)).Plus(TicksOf(4e18))
	ns, third := TicksPerSecond(1e9), TicksPerSecond(3)
	for _, x := range []struct{ got, want string }{
		{ns.FormatSum(sum), "3333333.333 h"},
		{ns.FormatSumSeconds(sum), "12000000000"},
		{ns.FormatSumSeconds(sum.Plus(TicksOf(1))), "12000000000.000000001"},
		{third.FormatSumSeconds(sum.Plus(TicksOf(1))), "4000000000000000000.333333333333"},
		{ns.FormatMean(sum, 3), "1111111.111 h"},
		{ns.RescaleSum(sum, TicksPerSecond(1e12)).String(), "12000000000000000000000"},
		{ns.RescaleSum(TicksOf(2500), TicksPerSecond(1e6)).String(), "2"},
	} {
		if x.got != x.want {
			t.Errorf("found %s, expected %s", x.got, x.want)
		}
	}
}
