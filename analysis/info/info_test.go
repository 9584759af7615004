package info

import "testing"

// TestMetricsWithValuesFirst checks that metrics with values come first, and that otherwise the
// order of the definitions is kept.
func TestMetricsWithValuesFirst(t *testing.T) {
	l := []Metric{{ID: "a"}, {ID: "b", Events: 1}, {ID: "c"}, {ID: "d", Events: 9}}
	sortMetrics(l)
	for i, want := range []string{"b", "d", "a", "c"} {
		if l[i].ID != want {
			t.Errorf("metric %d: found %s, expected %s", i, l[i].ID, want)
		}
	}
}
