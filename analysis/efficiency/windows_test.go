package efficiency_test

import (
	"testing"

	"github.com/weft-trace/weft/analysis/efficiency"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// TestWindowOutsideOfCalls checks that the time outside of all regions between an end of a window and the nearest event
// counts. Both ranks compute from 20 to 980, except that rank 0 sends from 500 to 520, and rank 1 receives from 300 to
// 340. Rank 2 has ended at 100 and computes from 20 to 90.
func TestWindowOutsideOfCalls(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	machine := r.Machine("m")
	send, receive := r.Region("MPI_Send"), r.Region("MPI_Recv")
	initialise, finalise := r.Region("MPI_Init"), r.Region("MPI_Finalize")
	for rank, calls := range [][]struct {
		begin, end int64
		region     uint32
	}{
		{{0, 20, initialise}, {500, 520, send}, {980, 1000, finalise}},
		{{0, 20, initialise}, {300, 340, receive}, {980, 1000, finalise}},
		{{0, 20, initialise}, {90, 100, finalise}},
	} {
		loc := r.Thread("t", r.Process(string(rune('0'+rank)), machine))
		for _, c := range calls {
			r.Enter(loc, c.begin, c.region)
			r.Leave(loc, c.end, c.region)
		}
	}
	for _, x := range []struct {
		from, to, useful, runtime int64
		threads                   int
	}{
		{0, 1001, 940 + 920 + 70, 1000, 3},
		{200, 400, 200 + 160, 200, 2}, // no event of rank 0
		{400, 450, 50 + 50, 50, 2},    // no event at all
		{310, 600, 270 + 260, 290, 2}, // begins in a call of rank 1
		{0, 310, 290 + 280 + 70, 310, 3},
		{600, 1001, 380 + 380, 400, 2},
	} {
		window := trace.Window{From: x.from, To: x.to}
		found, ok, err := efficiency.Find(t.Context(), transform.CutRunning(format.Recorded(r), window, nil),
			efficiency.Options{Part: true})
		if err != nil || !ok {
			t.Fatal(window, ok, err)
		}
		if found.Useful.Int64() != x.useful || found.Runtime != x.runtime || found.Threads != x.threads {
			t.Errorf("%v: found %d useful ticks of %d threads in %d, expected %d of %d in %d", window,
				found.Useful.Int64(), found.Threads, found.Runtime, x.useful, x.threads, x.runtime)
		}
	}
}

// TestWindowsOfTeams checks that the useful times of three windows add up to that of the whole trace, for any times
// between them, if a thread works in a team before and after it visits the parallel region. The first thread computes
// from 0 to 60. The second one works in the team from 10 to 24 and from 30 to 50, and visits the region from 14 to 20
// and from 35 to 45. The time until it leaves the region is useful: 20 - 10 + 45 - 30.
func TestWindowsOfTeams(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	process := r.Process("0", r.Machine("m"))
	first, second := r.Thread("0", process), r.Thread("1", process)
	parallel := r.Defs().Regions.Add(trace.Region{Name: "!$omp parallel", Group: "OMP", Role: "parallel"})
	members := r.Defs().Sets.Add(trace.Set{ID: "0", Kind: "locations", Members: []int64{0, 1}})
	team := r.Defs().Communicator.Add(trace.Communicator{ID: "0", Set: members, Parent: trace.NoRef})
	r.Enter(first, 0, r.Region("main"))
	for _, x := range []struct{ begin, enter, leave, end int64 }{{10, 14, 20, 24}, {30, 35, 45, 50}} {
		r.Event(second, x.begin, trace.ThreadTeamBegin, trace.NoRef, []uint64{uint64(team)})
		r.Enter(second, x.enter, parallel)
		r.Leave(second, x.leave, parallel)
		r.Event(second, x.end, trace.ThreadTeamEnd, trace.NoRef, []uint64{uint64(team)})
	}
	r.Leave(first, 60, r.Region("main"))
	useful := func(from, to int64) int64 {
		piece := transform.CutRunning(format.Recorded(r), trace.Window{From: from, To: to}, nil)
		f, _, err := efficiency.Find(t.Context(), piece, efficiency.Options{Part: true})
		if err != nil {
			t.Fatal(err)
		}
		return f.Useful.Int64()
	}
	if found := useful(0, 61); found != 60+10+15 {
		t.Fatalf("found %d useful ticks, expected 85", found)
	}
	for a := int64(0); a <= 61; a++ {
		for b := a; b <= 61; b++ {
			if found := useful(0, a) + useful(a, b) + useful(b, 61); found != 85 {
				t.Fatalf("found %d useful ticks in windows from 0 to %d, %d and 61, expected 85", found, a, b)
			}
		}
	}
}

// TestWindowsOfSleepers does the same for a thread that is in a region around its work in teams, as EZTrace records it.
// The thread is in that region from 5 to 58. It works in the team from 10 to 20 and from 30 to 45, and sleeps from 20
// to 30 and from 45 on. So it is useful for 5 + 10 + 15. A piece in which it only sleeps has one thread.
func TestWindowsOfSleepers(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	process := r.Process("0", r.Machine("m"))
	first, second := r.Thread("0", process), r.Thread("1", process)
	parallel := r.Defs().Regions.Add(trace.Region{Name: "!$omp parallel", Group: "OMP", Role: "parallel"})
	team := r.Defs().Communicator.Add(trace.Communicator{ID: "0", Set: trace.NoRef, Parent: trace.NoRef})
	r.Enter(first, 0, r.Region("main"))
	r.Enter(second, 5, r.Region("Working"))
	for _, x := range []struct{ begin, enter, end int64 }{{10, 14, 20}, {30, 35, 45}} {
		r.Event(second, x.begin, trace.ThreadTeamBegin, trace.NoRef, []uint64{uint64(team)})
		r.Enter(second, x.enter, parallel)
		r.Leave(second, x.end, parallel)
		r.Event(second, x.end, trace.ThreadTeamEnd, trace.NoRef, []uint64{uint64(team)})
	}
	r.Leave(second, 58, r.Region("Working"))
	r.Leave(first, 60, r.Region("main"))
	find := func(events format.Events, from, to int64) (format.Events, *efficiency.Result) {
		piece := transform.CutRunning(events, trace.Window{From: from, To: to}, nil)
		f, _, err := efficiency.Find(t.Context(), piece, efficiency.Options{Part: true})
		if err != nil {
			t.Fatal(err)
		}
		return piece, f
	}
	useful := func(from, to int64) int64 {
		_, f := find(format.Recorded(r), from, to)
		return f.Useful.Int64()
	}
	if found := useful(0, 61); found != 60+5+10+15 {
		t.Fatalf("found %d useful ticks, expected 90", found)
	}
	for a := int64(0); a <= 61; a++ {
		for b := a; b <= 61; b++ {
			if found := useful(0, a) + useful(a, b) + useful(b, 61); found != 90 {
				t.Fatalf("found %d useful ticks in windows from 0 to %d, %d and 61, expected 90", found, a, b)
			}
		}
	}
	piece, f := find(format.Recorded(r), 48, 57)
	if f.Threads != 1 || f.Useful.Int64() != 9 {
		t.Errorf("found %d threads and %d useful ticks while one of them sleeps, expected 1 and 9", f.Threads,
			f.Useful.Int64())
	}
	if _, f = find(piece, 50, 55); f.Threads != 1 || f.Useful.Int64() != 5 { // a piece of a piece
		t.Errorf("found %d threads and %d useful ticks in a piece of a piece, expected 1 and 5", f.Threads,
			f.Useful.Int64())
	}
}

// TestWindowsOfOperations checks that the useful times of two windows add up to that of the whole trace, for any time
// between them, also in collective operations outside of calls.
func TestWindowsOfOperations(t *testing.T) {
	for _, regions := range []bool{true, false} {
		events := format.Recorded(operations(3, regions))
		begin, end, _, err := format.Extent(t.Context(), events)
		if err != nil {
			t.Fatal(err)
		}
		useful := func(from, to int64) int64 {
			piece := transform.CutRunning(events, trace.Window{From: from, To: to}, nil)
			r, _, err := efficiency.Find(t.Context(), piece, efficiency.Options{Part: true})
			if err != nil {
				t.Fatal(err)
			}
			return r.Useful.Int64()
		}
		whole := useful(begin, end+1)
		for at := begin; at <= end; at += 7 {
			if found := useful(begin, at) + useful(at, end+1); found != whole {
				t.Fatalf("calls %t: found %d useful ticks in windows before and after %d, expected %d", regions, found, at,
					whole)
			}
		}
	}
}

// TestWindowsOfUnendedOperations checks the useful times of windows of a trace in which a non-blocking operation
// begins in its call and never ends, as EZTrace records it. The rank is in MPI_Ibarrier from 10 to 14, in MPI_Barrier
// from 60 to 70, and computes in the rest of its 100 ticks.
func TestWindowsOfUnendedOperations(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	loc := r.Thread("0", r.Process("p", r.Machine("m")))
	r.Enter(loc, 0, r.Region("main"))
	r.Enter(loc, 10, r.Region("MPI_Ibarrier"))
	r.Event(loc, 12, trace.CollectiveBegin, trace.NoRef, nil)
	r.Leave(loc, 14, r.Region("MPI_Ibarrier"))
	r.Enter(loc, 60, r.Region("MPI_Barrier"))
	r.Event(loc, 61, trace.CollectiveBegin, trace.NoRef, nil)
	r.Event(loc, 69, trace.CollectiveEnd, trace.NoRef, []uint64{0, trace.Undefined, trace.Undefined, 0, 0,
		trace.Undefined})
	r.Leave(loc, 70, r.Region("MPI_Barrier"))
	r.Leave(loc, 100, r.Region("main"))
	for from, expected := range map[int64]int64{0: 86, 12: 46 + 30, 14: 46 + 30, 30: 30 + 30, 65: 30, 80: 20} {
		piece := transform.CutRunning(format.Recorded(r), trace.Window{From: from, To: 101}, nil)
		x, ok, err := efficiency.Find(t.Context(), piece, efficiency.Options{Part: true})
		if err != nil || !ok {
			t.Fatal(from, ok, err)
		}
		if x.Useful.Int64() != expected {
			t.Errorf("from %d on: found %d useful ticks, expected %d", from, x.Useful.Int64(), expected)
		}
	}
}
