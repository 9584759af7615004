package format_test

import (
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// TestPlacesInTime checks that a report keeps the earliest defects, regardless of the order in
// which they are added and of their texts.
func TestPlacesInTime(t *testing.T) {
	at := func(time int64, found string) *trace.Defect {
		return &trace.Defect{Rule: "x", Found: found, Event: trace.Place{Time: time, HasTime: true}}
	}
	for _, order := range [][]int{{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}} {
		all := []*trace.Defect{at(10, "0.00001 s"), at(1010, "0.00101 s"), at(100, "0.0001 s"), at(-5, "b")}
		r := format.NewReport()
		r.Keep = 3
		for _, i := range order {
			r.Add(all[i])
		}
		x := r.Rules()[0]
		if x.Count != 4 || len(x.First) != 3 || x.First[0] != all[3] || x.First[1] != all[0] || x.First[2] != all[2] {
			t.Errorf("added in order %v: found %v of %d, expected the times -5, 10 and 100", order, x.First, x.Count)
		}
	}
}
