package explain_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/weft-trace/weft/trace"
)

// TestSerialPartBesideStraggler checks that work of a single rank is no chain of locations that work one after
// another, even if its costs are more than twice the times for which the other ranks wait for it. In each of 20
// rounds, rank 0 reads for 1000 ticks, for which the 15 other ranks wait in MPI_Bcast. Then all compute for 10 000
// ticks, odd ranks for 2000 more, and the last one for 30 000 more. Each odd rank sends to the rank before it, and all
// meet at a barrier. The later waits are for ranks that have waited for rank 0, so that reading has long-term costs,
// too. Without reading, each round is 1000 ticks shorter.
func TestSerialPartBesideStraggler(t *testing.T) {
	const n, rounds, read = 16, 20, 1000
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	machine := r.Machine("node")
	ranks, now := make([]uint32, n), make([]int64, n)
	for i := range ranks {
		name := "rank " + strconv.Itoa(i)
		ranks[i] = r.Thread(name, r.Process(name, machine))
	}
	comm := world(r.Defs(), ranks)
	visit := func(i int, region string, time int64, events func(enter, leave int64)) {
		enter, leave := now[i], now[i]+time
		r.Enter(ranks[i], enter, r.Region(region))
		if events != nil {
			events(enter, leave)
		}
		r.Leave(ranks[i], leave, r.Region(region))
		now[i] = leave
	}
	meet := func(name, operation string, root uint64) {
		last, number := slices.Max(now), uint64(0)
		if number, _ = trace.OperationNumber(operation); root == 0 {
			last = now[0]
		}
		for i, loc := range ranks {
			visit(i, name, max(0, last-now[i])+1, func(enter, leave int64) {
				r.Event(loc, enter, trace.CollectiveBegin, trace.NoRef, nil)
				r.Event(loc, leave, trace.CollectiveEnd, trace.NoRef, []uint64{number, comm, root, 8, 8, trace.Undefined})
			})
		}
	}
	for range rounds {
		visit(0, "read", read, nil)
		meet("MPI_Bcast", "broadcast", 0)
		for i := range ranks {
			visit(i, "compute", 10_000+2000*int64(i%2)+30_000*int64(i/(n-1)), nil)
		}
		for i := 1; i < n; i += 2 {
			sent := now[i]
			visit(i, "MPI_Send", 1, func(enter, _ int64) {
				r.Event(ranks[i], enter, trace.Send, trace.NoRef, []uint64{uint64(ranks[i-1]), trace.Undefined, 0, 8})
			})
			visit(i-1, "MPI_Recv", sent+1-now[i-1], func(_, leave int64) {
				r.Event(ranks[i-1], leave, trace.Recv, trace.NoRef, []uint64{uint64(ranks[i]), trace.Undefined, 0, 8})
			})
		}
		meet("MPI_Barrier", "barrier", trace.Undefined)
	}
	for _, f := range page(t, r).Findings {
		if slices.Equal(f.Path, []string{"read"}) {
			if f.ID != "late" || f.Gain != rounds*read || len(f.At) != 1 {
				t.Errorf("found %+v, expected that rank 0 is late by %d", f, rounds*read)
			}
			return
		}
	}
	t.Error("found nothing about reading")
}

// TestSerialPartOfThreads checks that ranks whose first threads work alone at the same time do not work one after
// another, although the other threads wait for them. In each of 20 rounds, the first threads of three ranks read for
// 1000 ticks, and that of rank c for 3000. They meet in a barrier of MPI and then, one tick later, each in a barrier of
// threads with three threads that do nothing else. If rank c read for 1000 ticks, each round would be 2000 shorter.
func TestSerialPartOfThreads(t *testing.T) {
	const rounds, length = 20, 3002
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	machine := r.Machine("node")
	threads, first := make([][]uint32, 3), make([]uint32, 3)
	for i := range threads {
		process := r.Process("rank "+string(rune('a'+i)), machine)
		for range 4 {
			threads[i] = append(threads[i], r.Thread(string(rune('a'+i)), process))
		}
		first[i] = threads[i][0]
	}
	comm := world(r.Defs(), first)
	visit := func(loc uint32, region string, enter, leave int64) {
		r.Enter(loc, enter, r.Region(region))
		if region == "MPI_Barrier" {
			r.Event(loc, enter, trace.CollectiveBegin, trace.NoRef, nil)
			r.Event(loc, leave, trace.CollectiveEnd, trace.NoRef, []uint64{0, comm, trace.Undefined, 0, 0, trace.Undefined})
		}
		r.Leave(loc, leave, r.Region(region))
	}
	for round := range int64(rounds) {
		now := round * length
		for i := range threads {
			read := int64(1000 + 2000*(i/2))
			visit(first[i], "read", now, now+read)
			visit(first[i], "MPI_Barrier", now+read, now+3001)
			visit(first[i], "OpenMP barrier", now+3001, now+length)
			for _, loc := range threads[i][1:] {
				visit(loc, "OpenMP barrier", now, now+length)
			}
		}
	}
	f := page(t, r).Findings[0]
	if f.ID != "late" || f.Gain != rounds*2000 || !slices.Equal(f.At, first[2:]) {
		t.Errorf("found %+v, expected that rank c is late by %d", f, rounds*2000)
	}
}
