package otf2

import "testing"

// TestMetricMode checks the numbers that OTF2_Definitions.h gives to modes of metrics (OTF2_MetricMode). A
// mode is the sum of a property, 0 to 2, and a timing, START 0 to NEXT 48. The properties ABSOLUTE and
// RELATIVE do not exist with START.
func TestMetricMode(t *testing.T) {
	for word, want := range map[string]uint64{
		"ACCUMULATED_START": 0, "ACCUMULATED_POINT": 16, "ACCUMULATED_LAST": 32, "ACCUMULATED_NEXT": 48,
		"ABSOLUTE_POINT": 17, "ABSOLUTE_LAST": 33, "ABSOLUTE_NEXT": 49,
		"RELATIVE_POINT": 18, "RELATIVE_LAST": 34, "RELATIVE_NEXT": 50,
		"ACC/START/UNSIGNED8": 0, "ACC/POINT/DOUBLE": 16, "ACC/LAST/DOUBLE": 32, "ACC/NEXT/FLOAT": 48,
		"ABS/START/SIGNED8": 17, "ABS/POINT/SIGNED8": 17, "ABS/LAST/SIGNED4": 33, "ABS/NEXT/UNSIGNED2": 49,
		"": 17, "unknown": 17,
	} {
		got, exact := metricMode(word)
		if got != want || exact == (word == "unknown" || word == "ABS/START/SIGNED8") {
			t.Errorf("%q: found %d, exact %t, expected %d", word, got, exact, want)
		}
	}
}
