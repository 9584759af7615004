package trace

import (
	"math"
	"testing"
)

// TestWhole checks which values are whole numbers. It also checks that WithWhole keeps a floating-point type, and
// otherwise returns an integer of 32 bits, or of 64 bits if the number needs them.
func TestWhole(t *testing.T) {
	for _, x := range []struct {
		value Value
		n     int64
		ok    bool
	}{
		{IntValue(-7), -7, true},
		{Value{Num: math.MaxUint64, Type: Uint64}, -1, false},
		{FloatValue(-21), -21, true},
		{FloatValue(2.5), 2, false},
		{FloatValue(1 << 53), 1 << 53, false},
		{StringValue("3"), 0, false},
	} {
		if n, ok := x.value.Whole(); ok != x.ok || ok && n != x.n {
			t.Errorf("%v: found %d, %t, expected %d, %t", x.value, n, ok, x.n, x.ok)
		}
	}
	for _, x := range []struct{ value, want Value }{
		{FloatValue(9), FloatValue(3)},
		{Value{Num: uint64(math.Float32bits(9)), Type: Float32}, Value{Num: uint64(math.Float32bits(3)), Type: Float32}},
		{IntValue(9), Value{Num: 3, Type: Int32}},
	} {
		if got := x.value.WithWhole(3); got != x.want {
			t.Errorf("%v: found %+v, expected %+v", x.value, got, x.want)
		}
	}
	if got := IntValue(9).WithWhole(1 << 40); got != IntValue(1<<40) {
		t.Errorf("found %+v, expected 64 bits", got)
	}
}
