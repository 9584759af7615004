package plural

import (
	"math"
	"testing"
)

// TestOf checks the number and the noun.
func TestOf(t *testing.T) {
	for _, x := range []struct{ got, want string }{
		{Of(0, "byte"), "0 bytes"}, {Of(1, "byte"), "1 byte"}, {Of(2, "byte"), "2 bytes"}, {Of(-1, "tick"), "-1 ticks"},
		{Of(int64(1), "process", "processes"), "1 process"}, {Of(uint8(3), "process", "processes"), "3 processes"},
		{Of(uint64(math.MaxUint64), "byte"), "18446744073709551615 bytes"},
		{Of(int64(math.MinInt64), "tick"), "-9223372036854775808 ticks"},
	} {
		if x.got != x.want {
			t.Errorf("found %q, expected %q", x.got, x.want)
		}
	}
}
