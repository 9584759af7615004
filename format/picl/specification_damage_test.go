package picl

import (
	"math"
	"testing"

	"github.com/weft-trace/weft/trace"
)

// TestNotANumber_2_3_7 checks that statistics without a finite value are written as scanf reads them.
func TestNotANumber_2_3_7(t *testing.T) {
	event := intValue(-21)
	for _, x := range []struct {
		value float64
		want  string
	}{{math.NaN(), "NaN"}, {math.Inf(1), "+Inf"}, {math.Inf(-1), "-Inf"}, {1e20, "1e+20"}, {0.5, "0.500000"}} {
		r := Record{Type: TypeTimes, Event: -1, Time: trace.NewDecimal(1, 1),
			Values: []trace.Value{event, trace.FloatValue(x.value)}}
		want := `-101 -1 0.100000 0 0 1 "%d%lf" -21 ` + x.want
		if got := string(r.Append(nil, 6)); got != want {
			t.Errorf("found %s, expected %s", got, want)
		}
	}
}
