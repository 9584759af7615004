package transform_test

import (
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// TestCutTasks checks that a piece repeats the switch to the implicit task before the visit that shows it. Without the
// switch, the visit would be one of a task. With OMPT, EZTrace records such visits in barriers.
func TestCutTasks(t *testing.T) {
	for _, x := range []struct {
		tasks    []uint64 // the tasks to which the thread switches, each at the begin of a visit
		later    int64    // ticks from a switch to the visit
		expected string
	}{
		{[]uint64{3, 0}, 1, "enter OpenMP barrier 5, task-switch 20, enter OpenMP task 21"},
		{[]uint64{0, 3}, 1, "enter OpenMP barrier 5, enter OpenMP task 21"},
		{[]uint64{0, 0}, 1, "enter OpenMP barrier 5, task-switch 20, enter OpenMP task 21"},
		{[]uint64{3, 0}, 12, "enter OpenMP barrier 5, task-switch 20"},
	} {
		r := trace.NewRecorder(trace.TicksPerSecond(1))
		p, barrier, task := r.Location("p"), r.Region("OpenMP barrier"), r.Region("OpenMP task")
		r.Enter(p, 5, barrier)
		for i, number := range x.tasks {
			begin := 10 * int64(i+1)
			r.Event(p, begin, trace.TaskSwitch, trace.NoRef, []uint64{trace.Undefined, 0, number})
			if i > 0 {
				r.Enter(p, begin+x.later, task)
			} else {
				r.Enter(p, begin+1, task)
				r.Leave(p, begin+5, task)
			}
		}
		r.Leave(p, 40, task)
		r.Leave(p, 50, barrier)
		events, _ := listBoth(t, transform.Cut(format.Recorded(r), trace.Window{From: 30, To: 60}))
		var found []string
		for _, e := range events {
			if e.time == 30 {
				text := e.kind.Spec().Name
				if e.kind == trace.Enter {
					text += " " + r.Defs().Regions.At(e.ref).Name
				}
				found = append(found, text+" "+e.attrs[transform.BeganAttribute])
			}
		}
		if s := strings.Join(found, ", "); s != x.expected {
			t.Errorf("%v: found %q, expected %q", x.tasks, s, x.expected)
		}
	}
}
