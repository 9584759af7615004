package criticalpath_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/weft-trace/weft/analysis/criticalpath"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// TestNestedForks checks the times of the first thread in nested parallel regions: from 10 to 20 in the outer region,
// from 20 to 27 in the inner one, and from 27 to 40 in the outer one again. Recorders enter a parallel region before
// they record the fork, or after that.
func TestNestedForks(t *testing.T) {
	for _, enterFirst := range []bool{false, true} {
		x := trace.NewRecorder(trace.TicksPerSecond(1000))
		process := x.Process("p", x.Machine("m"))
		thread := x.Thread("0", process)
		x.Thread("1", process)
		begin := func(at int64, name string) {
			if enterFirst {
				x.Enter(thread, at, x.Region(name))
			}
			x.Event(thread, at, trace.ThreadFork, trace.NoRef, []uint64{2, 0})
			x.Event(thread, at, trace.ThreadTeamBegin, trace.NoRef, []uint64{trace.Undefined})
			if !enterFirst {
				x.Enter(thread, at, x.Region(name))
			}
		}
		end := func(at int64, name string) {
			if !enterFirst {
				x.Leave(thread, at, x.Region(name))
			}
			x.Event(thread, at, trace.ThreadTeamEnd, trace.NoRef, []uint64{trace.Undefined})
			x.Event(thread, at, trace.ThreadJoin, trace.NoRef, []uint64{0})
			if enterFirst {
				x.Leave(thread, at, x.Region(name))
			}
		}
		x.Enter(thread, 0, x.Region("main"))
		begin(10, "!$omp parallel outer")
		begin(20, "!$omp parallel inner")
		end(27, "!$omp parallel inner")
		end(40, "!$omp parallel outer")
		x.Leave(thread, 45, x.Region("main"))
		p, err := criticalpath.Find(t.Context(), format.Recorded(x), criticalpath.Options{Paths: true})
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]int64{}
		for _, q := range p.Paths {
			found[q.Path[len(q.Path)-1]] += q.Activities + q.NonCritical
		}
		if expected := map[string]int64{"main": 15, "!$omp parallel outer": 23, "!$omp parallel inner": 7}; !maps.Equal(
			found, expected) {
			t.Errorf("enter first: %v: found %s, expected %s", enterFirst, fmt.Sprint(found), fmt.Sprint(expected))
		}
	}
}
