package transform_test

import (
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// TestAddedCounters checks the modes of counters, as OTF2 defines them: NEXT for values that hold until the next value,
// POINT for values that are right at their times only.
func TestAddedCounters(t *testing.T) {
	for mode, pieces := range map[string][]transform.AddedPiece{
		"ABSOLUTE_NEXT":  {{From: 0, To: 5, Start: 1, End: 1}, {From: 5, To: 8, Start: 3, End: 3}},
		"ABSOLUTE_POINT": {{From: 0, To: 5, Start: 1, End: 3}, {From: 5, To: 8, Start: 3, End: 3}},
	} {
		rec := trace.NewRecorder(trace.TicksPerSecond(1000))
		rec.Mark(rec.Location("main"), 0, rec.Region("begin"))
		e := transform.AddSignals(format.Recorded(rec), []transform.AddedSignal{{Name: "u", Pieces: pieces, Counter: true}})
		m := e.Defs().Metrics.At(0)
		if m.Kind != trace.CounterMetric || m.Mode != mode {
			t.Errorf("%v: kind %v, mode %s, expected a counter with mode %s", pieces, m.Kind, m.Mode, mode)
		}
	}
}
