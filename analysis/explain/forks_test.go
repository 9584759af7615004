package explain_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/analysis/explain"
	"github.com/weft-trace/weft/trace"
)

// TestUnrecordedForks checks the page of a program whose later thread works in a parallel region. Without a record of
// the begin of its work in a team, it cannot begin earlier if the first thread comes earlier, so the gain is uncertain.
func TestUnrecordedForks(t *testing.T) {
	for _, recorded := range []bool{false, true} {
		r := program(2, 50, func(rank, _ int) int64 { return []int64{3000, 1000}[rank] })
		loc := r.Thread("later", r.Defs().Locations.At(0).Group)
		if recorded {
			r.Event(loc, 1000, trace.ThreadTeamBegin, trace.NoRef, nil)
		}
		r.Enter(loc, 1000, r.Region("!$omp parallel"))
		r.Leave(loc, 5000, r.Region("!$omp parallel"))
		if recorded {
			r.Event(loc, 5000, trace.ThreadTeamEnd, trace.NoRef, nil)
		}
		p, confidence := page(t, r), explain.MediumConfidence
		if recorded {
			confidence = explain.HighConfidence
		}
		stated := slices.ContainsFunc(p.Unjudged, func(s string) bool { return strings.HasPrefix(s, "begins of parallel") })
		if stated == recorded || len(p.Findings) == 0 || p.Findings[0].Confidence != confidence {
			t.Errorf("recorded %t: found %+v, and not judged %q", recorded, p.Findings, p.Unjudged)
		}
	}
}
