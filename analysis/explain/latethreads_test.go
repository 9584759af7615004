package explain_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/weft-trace/weft/trace"
)

// TestLateBeginOfProcess checks a process with threads that begins 1000 after the other one. The first thread of each
// process works alone for 100. Then its two threads work as a team for 300, and it comes to MPI_Barrier. The second
// thread begins with the team. With an equal begin, the run would be 1000 shorter. If both threads shared the work of
// the first 100, the run would be 50 shorter: no thread works before a process begins.
func TestLateBeginOfProcess(t *testing.T) {
	const late, serial, parallel = 1000, 100, 300
	x := newTimeline()
	machine := x.Machine("node")
	var first []uint32
	for p := range int64(2) {
		process := x.Process(fmt.Sprint("process ", p), machine)
		begin := late * p
		master := x.Thread(fmt.Sprint("master ", p), process)
		worker := x.Thread(fmt.Sprint("worker ", p), process)
		first = append(first, master)
		x.Enter(master, begin, x.Region("main"))
		x.Event(master, begin+serial, trace.ThreadFork, trace.NoRef, []uint64{3, 2})
		for _, loc := range []uint32{master, worker} {
			x.Event(loc, begin+serial, trace.ThreadTeamBegin, trace.NoRef, []uint64{uint64(10 + p)})
			x.Enter(loc, begin+serial, x.Region("!$omp parallel @a.c:1"))
			x.Leave(loc, begin+serial+parallel, x.Region("!$omp parallel @a.c:1"))
			x.Event(loc, begin+serial+parallel, trace.ThreadTeamEnd, trace.NoRef, []uint64{uint64(10 + p)})
		}
		x.Event(master, begin+serial+parallel, trace.ThreadJoin, trace.NoRef, []uint64{3})
	}
	comm := world(x.Defs(), first)
	const end = late + serial + parallel
	for p, loc := range first {
		come := late*int64(p) + serial + parallel
		x.Enter(loc, come, x.Region("MPI_Barrier"))
		x.Event(loc, come, trace.CollectiveBegin, trace.NoRef, nil)
		x.Event(loc, end, trace.CollectiveEnd, trace.NoRef, []uint64{0, comm, trace.Undefined, 0, 0, trace.Undefined})
		x.Leave(loc, end, x.Region("MPI_Barrier"))
		x.Leave(loc, end, x.Region("main"))
	}
	p := page(t, x.Recorder)
	f := p.Findings[0]
	if f.ID != "late" || f.Gain != late || f.WhatIf != "outside@master 1=mean" ||
		!slices.Equal(f.Locations, []string{"master 1"}) {
		t.Errorf("found %+v first, expected the late begin of master 1 with a gain of %d", f, late)
	}
	if f := find(t, p, "serial"); f.Gain != serial/2 || f.WhatIf != "main=0.5" {
		t.Errorf("found %+v, expected a gain of %d", f, serial/2)
	}
}
