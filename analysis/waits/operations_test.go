package waits_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/weft-trace/weft/analysis/causes"
	"github.com/weft-trace/weft/analysis/waits"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// pairOfRanks is a trace of two or more ranks.
type pairOfRanks struct{ sim }

// newPairOfRanks returns a trace of two ranks without events.
func newPairOfRanks() *pairOfRanks { return newRanks(2) }

// newRanks returns a trace of n ranks without events.
func newRanks(n int) *pairOfRanks {
	p := &pairOfRanks{sim{rec: trace.NewRecorder(trace.TicksPerSecond(1e6))}}
	machine := p.rec.Machine("machine")
	var members []int64
	var ranks []int
	for i := range n {
		members, ranks = append(members, int64(i)), append(ranks, i)
		p.rec.Thread("thread", p.rec.Process(fmt.Sprint("MPI Rank ", i), machine))
	}
	p.rec.Defs().Sets.Add(trace.Set{ID: "0", Kind: "communicating locations", Members: members, Attrs: []trace.Attr{
		{Key: "paradigm", Value: trace.StringValue("mpi")}}})
	p.comm("MPI_COMM_WORLD", simComm{ranks})
	return p
}

// call adds a call. Function events adds the events in the call.
func (p *pairOfRanks) call(loc uint32, region string, enter, leave int64, events func()) {
	p.rec.Enter(loc, enter, p.mpi(region))
	events()
	p.rec.Leave(loc, leave, p.mpi(region))
}

// post adds a call that posts an operation.
func (p *pairOfRanks) post(loc uint32, enter int64, request uint64) {
	p.call(loc, "MPI_Iallreduce", enter, enter+5, func() {
		p.rec.Event(loc, enter+1, trace.CollectiveRequest, trace.NoRef, []uint64{request})
	})
}

// completion adds the completion of an operation that sends and receives 8 bytes.
func (p *pairOfRanks) completion(loc uint32, t int64, operation string, request uint64) {
	number, _ := trace.OperationNumber(operation)
	p.rec.Event(loc, t, trace.CollectiveComplete, trace.NoRef, []uint64{number, 0, trace.Undefined, 8, 8, request})
}

// judge returns the waits of the trace as texts.
func (p *pairOfRanks) judge(t *testing.T) (found []string, r *waits.Result) {
	r = find(t, format.Recorded(p.rec), waits.Options{Worst: 10})
	for _, x := range r.Patterns {
		for _, w := range x.Worst {
			found = append(found, fmt.Sprintf("%s at %d from %d for %d", x.Pattern, w.Location, w.Begin, w.Time))
		}
	}
	return found, r
}

// TestOrderOfPosting checks that the order in which operations are posted determines which calls are one
// operation. Both ranks post 1 and 2, rank 0 at 100 and 110, rank 1 at 300 and 500. Rank 0 waits for 1 from
// 200 to 320 and for 2 from 330 to 520: 300 - 200 = 100, and 500 - 330 = 170. Rank 1 completes 2 before 1.
func TestOrderOfPosting(t *testing.T) {
	for first, pattern := range map[string]string{"allreduce": "wait-at-nxn", "barrier": "wait-at-barrier"} {
		p := newPairOfRanks()
		p.post(0, 100, 1)
		p.post(0, 110, 2)
		p.call(0, "MPI_Wait", 200, 320, func() { p.completion(0, 310, first, 1) })
		p.call(0, "MPI_Wait", 330, 520, func() { p.completion(0, 519, "allreduce", 2) })
		p.post(1, 300, 1)
		p.post(1, 500, 2)
		p.call(1, "MPI_Wait", 506, 510, func() { p.completion(1, 509, "allreduce", 2) })
		p.call(1, "MPI_Wait", 511, 515, func() { p.completion(1, 514, first, 1) })
		found, r := p.judge(t)
		expected := []string{pattern + " at 0 from 200 for 100", "wait-at-nxn at 0 from 330 for 170"}
		slices.Sort(found)
		slices.Sort(expected)
		if !slices.Equal(found, expected) || len(r.Unjudged) > 0 || r.Violations != (waits.Violations{}) {
			t.Errorf("%s: found %q, %+v, %+v, expected %q", first, found, r.Unjudged, r.Violations, expected)
		}
	}
}

// TestEarlySynchronousSend checks that a synchronous send that ends before its receive begins contradicts causality:
// the call lasts from 100 to 150, and the receive begins at 400. The send waits for the receive, so its wait is the
// whole call. This is also so if both times are the same. A standard send may end earlier.
func TestEarlySynchronousSend(t *testing.T) {
	for _, x := range []struct {
		name       string
		receive    int64
		waits      []string
		violations waits.Violations
	}{
		{"MPI_Ssend", 400, []string{"late-receiver at 0 from 100 for 50"}, waits.Violations{Calls: 1, Worst: 250}},
		{"MPI_Ssend", 150, []string{"late-receiver at 0 from 100 for 50"}, waits.Violations{}},
		{"MPI_Send", 400, nil, waits.Violations{}},
		{"MPI_Send", 150, nil, waits.Violations{}},
	} {
		p := newPairOfRanks()
		p.call(0, x.name, 100, 150, func() { p.rec.Event(0, 101, trace.Send, trace.NoRef, []uint64{1, 0, 3, 8}) })
		p.call(1, "MPI_Recv", x.receive, x.receive+10, func() {
			p.rec.Event(1, x.receive+9, trace.Recv, trace.NoRef, []uint64{0, 0, 3, 8})
		})
		if found, r := p.judge(t); !slices.Equal(found, x.waits) || r.Violations != x.violations {
			t.Errorf("%s to %d: found %q and %+v, expected %+v", x.name, x.receive, found, r.Violations, x)
		}
	}
}

// TestViolations checks the description of contradictions, and the command against them. weft align uses messages and
// collective operations; only --always corrects clocks without such contradictions.
func TestViolations(t *testing.T) {
	clock := trace.Clock{Num: 1000, Den: 1}
	for _, x := range []struct {
		v            waits.Violations
		text, remedy string
	}{
		{waits.Violations{Messages: 2, Worst: 3}, "2 messages received before being sent, by up to 3 ms", "weft align"},
		{waits.Violations{Messages: 1, Operations: 2, Calls: 3, Worst: 4}, "1 message received before being sent, " +
			"2 operations left before all had come, 3 calls ended before that of the partner had begun, by up to 4 ms",
			"weft align"},
		{waits.Violations{Calls: 1, Worst: 250}, "1 call ended before that of the partner had begun, by up to 250 ms",
			"weft align --always"},
	} {
		if text, remedy := x.v.Text(clock), x.v.Remedy(); text != x.text || remedy != x.remedy {
			t.Errorf("%+v: found %q and %q, expected %q and %q", x.v, text, remedy, x.text, x.remedy)
		}
	}
}

// TestEarlyMembers checks that a member that leaves an operation before the member it waits for has come contradicts
// causality. The calls of rank 0 last from 300 to 310, and those of rank 1 from 100 to 150, so rank 1 leaves
// 300 - 150 = 150 too early. Where rank 0 does not wait for rank 1 either, or gets no bytes from it, there is nothing
// early.
func TestEarlyMembers(t *testing.T) {
	early := waits.Violations{Operations: 1, Worst: 150}
	for _, x := range []struct {
		call, operation string
		root, sent      uint64 // sent is what rank 0 sends
		expected        waits.Violations
	}{
		{"MPI_Bcast", "broadcast", 0, 8, early}, {"MPI_Bcast", "broadcast", 1, 8, waits.Violations{}},
		{"MPI_Reduce", "reduce", 1, 8, early}, {"MPI_Reduce", "reduce", 0, 8, waits.Violations{}},
		{"MPI_Gatherv", "gatherv", 1, 8, early}, {"MPI_Gatherv", "gatherv", 1, 0, waits.Violations{}},
		{"MPI_Scan", "scan", trace.Undefined, 8, early},
	} {
		p := newPairOfRanks()
		number, _ := trace.OperationNumber(x.operation)
		for loc, at := range [][2]int64{{300, 310}, {100, 150}} {
			loc, sent := uint32(loc), []uint64{x.sent, 8}[loc]
			p.call(loc, x.call, at[0], at[1], func() {
				p.rec.Event(loc, at[0], trace.CollectiveBegin, trace.NoRef, nil)
				p.rec.Event(loc, at[1], trace.CollectiveEnd, trace.NoRef, []uint64{number, 0, x.root, sent, 8})
			})
		}
		if _, r := p.judge(t); r.Violations != x.expected {
			t.Errorf("%s with root %d: found %+v, expected %+v", x.call, x.root, r.Violations, x.expected)
		}
	}
}

// TestLongestOperationCounts checks that a call that completes two operations and a receive has only the
// longest wait. It lasts from 200 to 520; rank 1 posts at 300 and 500, and sends at 400: 500 - 200 = 300.
func TestLongestOperationCounts(t *testing.T) {
	p := newPairOfRanks()
	p.post(0, 100, 1)
	p.post(0, 110, 2)
	p.call(0, "MPI_Irecv", 120, 125, func() { p.rec.Event(0, 121, trace.RecvBegin, trace.NoRef, []uint64{9}) })
	p.call(0, "MPI_Waitall", 200, 520, func() {
		p.rec.Event(0, 405, trace.RecvComplete, trace.NoRef, []uint64{1, 0, 3, 8, 9})
		p.completion(0, 510, "allreduce", 1)
		p.completion(0, 511, "allreduce", 2)
	})
	p.post(1, 300, 1)
	p.call(1, "MPI_Send", 400, 405, func() { p.rec.Event(1, 401, trace.Send, trace.NoRef, []uint64{0, 0, 3, 8}) })
	p.post(1, 500, 2)
	p.call(1, "MPI_Waitall", 506, 515, func() {
		p.completion(1, 512, "allreduce", 1)
		p.completion(1, 513, "allreduce", 2)
	})
	found, r := p.judge(t)
	if !slices.Equal(found, []string{"wait-at-nxn at 0 from 200 for 300"}) || r.Late[0].Lost.Int64() != 300 {
		t.Errorf("found %q, %+v, expected one wait of 300", found, r.Late)
	}
}

// TestLongestWaitIsForReceiver checks a call that completes an operation and a synchronous send. It lasts from 200 to
// 520; rank 1 posts the operation at 300, and the receive at 500: 500 - 200 = 300.
func TestLongestWaitIsForReceiver(t *testing.T) {
	p := newPairOfRanks()
	p.post(0, 100, 1)
	p.call(0, "MPI_Issend", 120, 125, func() {
		p.rec.Event(0, 121, trace.SendBegin, trace.NoRef, []uint64{1, 0, 3, 8, 9})
	})
	p.call(0, "MPI_Waitall", 200, 520, func() {
		p.completion(0, 510, "allreduce", 1)
		p.rec.Event(0, 511, trace.SendComplete, trace.NoRef, []uint64{9})
	})
	p.post(1, 300, 1)
	p.call(1, "MPI_Recv", 500, 515, func() { p.rec.Event(1, 512, trace.Recv, trace.NoRef, []uint64{0, 0, 3, 8}) })
	p.call(1, "MPI_Wait", 515, 520, func() { p.completion(1, 518, "allreduce", 1) })
	if found, _ := p.judge(t); !slices.Equal(found, []string{"late-receiver at 0 from 200 for 300"}) {
		t.Errorf("found %q, expected one wait of 300", found)
	}
}

// TestTestsWaitForNoOperation checks that MPI_Test never waits, although rank 1 posts the operation
// while rank 0 tests it.
func TestTestsWaitForNoOperation(t *testing.T) {
	p := newPairOfRanks()
	p.post(0, 100, 1)
	p.call(0, "MPI_Test", 200, 220, func() { p.completion(0, 219, "allreduce", 1) })
	p.post(1, 210, 1)
	p.call(1, "MPI_Wait", 220, 230, func() { p.completion(1, 229, "allreduce", 1) })
	if found, _ := p.judge(t); len(found) > 0 {
		t.Errorf("found %q, expected no waits", found)
	}
}

// TestOthersLost checks that Late.Lost does not include members that receive nothing. Rank 1 arrives at
// 300, which is 200 after rank 0, but rank 0 only sends.
func TestOthersLost(t *testing.T) {
	p := newPairOfRanks()
	number, _ := trace.OperationNumber("alltoallv")
	for loc, enter := range []int64{100, 300} {
		p.call(uint32(loc), "MPI_Alltoallv", enter, 310, func() {
			p.rec.Event(uint32(loc), enter, trace.CollectiveBegin, trace.NoRef, nil)
			p.rec.Event(uint32(loc), 309, trace.CollectiveEnd, trace.NoRef,
				[]uint64{number, 0, trace.Undefined, uint64(8 - 8*loc), uint64(8 * loc)})
		})
	}
	found, r := p.judge(t)
	if len(found) > 0 || len(r.Late) != 1 || r.Late[0].Lost.Int64() != 0 {
		t.Errorf("found %q, %+v, expected no waits, and nothing lost", found, r.Late)
	}
}

// TestCostsOfContradictions checks that costs add up to the waits though clocks contradict causality. Rank 0
// receives from 10 to 240 what rank 1 sends at 210, and sends at 250 what rank 1 receives from 100 to 200. So
// rank 0 waits 200, and rank 1 waits min(250, 200) - 100 = 100 for rank 0, whose wait ends later.
func TestCostsOfContradictions(t *testing.T) {
	p := newPairOfRanks()
	message := func(loc uint32, region string, enter, leave int64, kind trace.Kind) {
		p.call(loc, region, enter, leave, func() {
			p.rec.Event(loc, leave-1, kind, trace.NoRef, []uint64{uint64(1 - loc), 0, 3, 8})
		})
	}
	message(0, "MPI_Recv", 10, 240, trace.Recv)
	message(0, "MPI_Send", 250, 260, trace.Send)
	message(1, "MPI_Recv", 100, 200, trace.Recv)
	message(1, "MPI_Send", 210, 220, trace.Send)
	r, err := causes.Find(context.Background(), format.Recorded(p.rec), causes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, c := range r.Patterns[0].Costs {
		sum += c.ShortTerm + c.LongTerm
	}
	if math.Abs(sum-300) > 1e-6 {
		t.Errorf("found costs of %v, expected 300: %+v", sum, r.Patterns[0].Costs)
	}
}

// TestCostsOfWaitingForOthers checks a call in which a location has met one rank and waits for another one. Rank 1
// waits in MPI_Waitall from 5 to 1014 for rank 0, which sends from 10 to 12, and for rank 2, which sends at 1010: 1005.
// Rank 0 receives from 30 on what rank 1 sends at 1020: 990. Since they met at 12, rank 1 has waited for 1010 - 12, and
// spent 4 more in MPI_Waitall and 6 outside of calls, where rank 0 has spent 18. So each tick costs 990/1002: those of
// MPI_Waitall, and those of the work of rank 2 that rank 1 has waited for.
func TestCostsOfWaitingForOthers(t *testing.T) {
	p := newRanks(3)
	message := func(loc uint32, region string, enter, leave int64, kind trace.Kind, ops ...uint64) {
		p.call(loc, region, enter, leave, func() { p.rec.Event(loc, leave-1, kind, trace.NoRef, ops) })
	}
	message(1, "MPI_Irecv", 0, 2, trace.RecvBegin, 1)
	message(1, "MPI_Irecv", 2, 4, trace.RecvBegin, 2)
	message(0, "MPI_Send", 10, 12, trace.Send, 1, 0, 3, 8)
	message(2, "MPI_Send", 1010, 1012, trace.Send, 1, 0, 3, 8)
	p.call(1, "MPI_Waitall", 5, 1014, func() {
		p.rec.Event(1, 1013, trace.RecvComplete, trace.NoRef, []uint64{0, 0, 3, 8, 1})
		p.rec.Event(1, 1013, trace.RecvComplete, trace.NoRef, []uint64{2, 0, 3, 8, 2})
	})
	message(1, "MPI_Send", 1020, 1022, trace.Send, 0, 0, 3, 8)
	message(0, "MPI_Recv", 30, 1025, trace.Recv, 1, 0, 3, 8)
	r, err := causes.Find(t.Context(), format.Recorded(p.rec), causes.Options{Rows: trace.NewRows(p.rec.Defs())})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, c := range r.Patterns[0].Costs {
		found = append(found, fmt.Sprintf("%d %v %.3f %.3f", c.Location, c.Path, c.ShortTerm, c.LongTerm))
	}
	expected := []string{
		fmt.Sprintf("2 [] 1005.000 %.3f", 998*990/1002.), fmt.Sprintf("1 [MPI_Waitall] %.3f 0.000", 4*990/1002.),
	}
	if !slices.Equal(found, expected) {
		t.Errorf("found %q, expected %q", found, expected)
	}
}

// TestCancelledSend checks that a receive gets the send after a cancelled one: 90 - 30 = 60.
func TestCancelledSend(t *testing.T) {
	p := newPairOfRanks()
	p.call(1, "MPI_Isend", 40, 42, func() { p.rec.Event(1, 41, trace.SendBegin, trace.NoRef, []uint64{0, 0, 3, 16, 7}) })
	p.call(1, "MPI_Cancel", 43, 45, func() { p.rec.Event(1, 44, trace.RequestCancelled, trace.NoRef, []uint64{7}) })
	p.call(1, "MPI_Send", 90, 95, func() { p.rec.Event(1, 91, trace.Send, trace.NoRef, []uint64{0, 0, 3, 8}) })
	p.call(0, "MPI_Recv", 30, 100, func() { p.rec.Event(0, 99, trace.Recv, trace.NoRef, []uint64{1, 0, 3, 8}) })
	if found, _ := p.judge(t); !slices.Equal(found, []string{"late-sender at 0 from 30 for 60"}) {
		t.Errorf("found %q, expected one wait of 60", found)
	}
}

// TestThreadsOfRanks checks calls of MPI by other threads than those with the ranks. Thread 2 of rank 0 sends to
// rank 1 at 60 and at 100; thread 3 of rank 1 receives the first message from 5 on, and thread 1 the second one from
// 70 on. The broadcast of thread 2 at 200 is the second operation of rank 0, which came to the barrier in thread 0.
// Thread 1 of rank 1 waits for it from 150 on.
func TestThreadsOfRanks(t *testing.T) {
	p := newPairOfRanks()
	for rank := range uint32(2) {
		p.rec.Thread("worker", p.rec.Defs().Locations.At(rank).Group)
	}
	message := func(loc uint32, region string, enter, leave int64, k trace.Kind, rank, tag uint64) {
		p.call(loc, region, enter, leave, func() {
			p.rec.Event(loc, enter+1, k, trace.NoRef, []uint64{rank, 0, tag, 8})
		})
	}
	message(2, "MPI_Send", 60, 62, trace.Send, 1, 1)
	message(3, "MPI_Recv", 5, 63, trace.Recv, 0, 1)
	message(2, "MPI_Send", 100, 102, trace.Send, 1, 2)
	message(1, "MPI_Recv", 70, 103, trace.Recv, 0, 2)
	p.collectiveCall(0, "MPI_Barrier", "barrier", 120, 133, trace.Undefined)
	p.collectiveCall(1, "MPI_Barrier", "barrier", 130, 133, trace.Undefined)
	p.collectiveCall(2, "MPI_Bcast", "broadcast", 200, 202, 0)
	p.collectiveCall(1, "MPI_Bcast", "broadcast", 150, 203, 0)
	r := find(t, format.Recorded(p.rec), waits.Options{Worst: 2})
	if len(r.Unjudged) > 0 {
		t.Errorf("found %+v, expected that all is judged", r.Unjudged)
	}
	var found []string
	for _, x := range r.Patterns {
		for _, w := range x.Worst {
			found = append(found, fmt.Sprint(x.Pattern, " at ", w.Location, ": ", w.Time))
		}
	}
	expected := []string{"late-sender at 3: 55", "late-sender at 1: 30", "wait-at-barrier at 0: 10",
		"late-broadcast at 1: 50"}
	if !slices.Equal(found, expected) {
		t.Errorf("found %q, expected %q", found, expected)
	}
}

// TestBeginsWithOperands checks that OTF keeps the operations whose begin has operands, but no matching number. Rank 0
// waits in the barrier from 100 to 150.
func TestBeginsWithOperands(t *testing.T) {
	p := newPairOfRanks()
	number, _ := trace.OperationNumber("barrier")
	ops := []uint64{number, 0, trace.Undefined, 0, 0, trace.Undefined}
	for rank, enter := range []int64{100, 150} {
		p.call(uint32(rank), "MPI_Barrier", enter, 160, func() {
			p.rec.Event(uint32(rank), enter, trace.CollectiveBegin, trace.NoRef, ops)
			p.rec.Event(uint32(rank), 160, trace.CollectiveEnd, trace.NoRef, ops)
		})
	}
	r := find(t, openAll(t, save(t, p.rec, "otf", "trace.otf", true), 1), waits.Options{})
	if len(r.Patterns) != 1 || r.Patterns[0].Pattern != "wait-at-barrier" || r.Patterns[0].Time.Int64() != 50 {
		t.Errorf("found %+v, expected a wait of 50 at a barrier", r.Patterns)
	}
}

// TestTeamsOfProcesses checks that teams of threads belong to one process each, although EZTrace gives the teams of all
// processes the same communicator. Threads 0 and 1 of one process come to a barrier at 100 and 160, and threads 2 and 3
// of another process at 50 and 300. So thread 0 waits for 60, and thread 2 for 250.
func TestTeamsOfProcesses(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	machine, barrier := r.Machine("m"), r.Region("OpenMP barrier")
	team := []uint64{uint64(r.Defs().Communicator.Add(trace.Communicator{ID: "1", Name: "OpenMP Thread Team",
		Set: trace.NoRef, Parent: trace.NoRef}))}
	for i, arrivals := range [][2]int64{{100, 160}, {50, 300}} {
		process := r.Process(fmt.Sprint("P#", i), machine)
		threads := [2]uint32{r.Thread("T#0", process), r.Thread("T#1", process)}
		for k, thread := range threads {
			r.Event(thread, 10, trace.ThreadTeamBegin, trace.NoRef, team)
			r.Enter(thread, arrivals[k], barrier)
			r.Leave(thread, arrivals[1]+5, barrier)
			r.Event(thread, 400, trace.ThreadTeamEnd, trace.NoRef, team)
		}
	}
	found := find(t, format.Recorded(r), waits.Options{Worst: 10})
	if len(found.Patterns) != 1 || len(found.Patterns[0].Worst) != 2 || len(found.Unjudged) > 0 {
		t.Fatalf("found the patterns %v and the unjudged calls %v, expected two waits", found.Patterns, found.Unjudged)
	}
	for i, want := range []waits.Wait{{Location: 2, Time: 250, Cause: 3}, {Location: 0, Time: 60, Cause: 1}} {
		if w := found.Patterns[0].Worst[i]; w.Location != want.Location || w.Time != want.Time || w.Cause != want.Cause {
			t.Errorf("found %+v, expected location %d to wait for %d, for location %d", w, want.Location, want.Time,
				want.Cause)
		}
	}
}
