package format

import (
	"slices"
	"testing"

	"github.com/weft-trace/weft/trace"
)

// TestDefinitionLosses checks that the table of losses counts the two locations of a trace for which the format keeps
// nothing, or only what weft reads, and nothing that the format keeps.
func TestDefinitionLosses(t *testing.T) {
	d := &trace.Definitions{}
	for _, id := range []string{"1", "2"} {
		d.Locations.Add(trace.Location{ID: id, Kind: trace.ProcessLocation})
	}
	for _, test := range []struct {
		how   Fidelity
		plain bool
		want  []LossRow
	}{
		{Exact, false, []LossRow{}}, {Exact, true, []LossRow{}},
		{WeftOnly, false, []LossRow{{Kind: "id of a location", How: WeftOnly, Reason: "somewhere", Count: 2}}},
		{WeftOnly, true, []LossRow{{Kind: "id of a location", How: Degraded,
			Reason: "the format numbers locations anew", Count: 2}}},
		{Degraded, false, []LossRow{{Kind: "id of a location", How: Degraded, Reason: "somewhere", Count: 2}}},
		{Lost, true, []LossRow{{Kind: "id of a location", How: Lost, Reason: "somewhere", Count: 2}}},
	} {
		var l Loss
		l.AddDefinitions(d, func(s Subject) Mapped {
			if s == LocationIDs {
				return Mapped{How: test.how, As: "somewhere"}
			}
			return Mapped{How: Exact}
		}, test.plain)
		if found := l.Rows(); !slices.Equal(found, test.want) {
			t.Errorf("%s, plain %v: found %+v, expected %+v", test.how, test.plain, found, test.want)
		}
	}
}
