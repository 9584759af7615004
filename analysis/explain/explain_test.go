package explain_test

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-trace/weft/analysis/explain"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// program returns a trace of n ranks that compute and then meet at a barrier, repeated in rounds.
// Function work returns the ticks that a rank computes in a round.
func program(n, rounds int, work func(rank, round int) int64) *trace.Recorder {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	machine := r.Machine("node")
	ranks := make([]uint32, n)
	for i := range ranks {
		name := string(rune('a' + i))
		ranks[i] = r.Thread(name, r.Process(name, machine))
	}
	compute, barrier := r.Region("compute"), r.Region("MPI_Barrier")
	d := r.Defs()
	comm := world(d, ranks)
	const barrierOperation = 0
	now := int64(0)
	for round := range rounds {
		last := int64(0)
		for i, loc := range ranks {
			r.Enter(loc, now, compute)
			r.Leave(loc, now+work(i, round), compute)
			last = max(last, now+work(i, round))
		}
		for i, loc := range ranks {
			at := now + work(i, round)
			r.Enter(loc, at, barrier)
			r.Event(loc, at, trace.CollectiveBegin, trace.NoRef, nil)
			r.Event(loc, last+1, trace.CollectiveEnd, trace.NoRef, []uint64{barrierOperation, comm, trace.Undefined, 0, 0,
				trace.Undefined})
			r.Leave(loc, last+1, barrier)
		}
		now = last + 1
	}
	return r
}

// world returns the communicator of all ranks.
func world(d *trace.Definitions, ranks []uint32) uint64 {
	set := trace.Set{ID: "0", Kind: "locations"}
	for _, loc := range ranks {
		id, err := strconv.ParseInt(d.Locations.At(loc).ID, 10, 64)
		if err != nil {
			panic(err)
		}
		set.Members = append(set.Members, id)
	}
	return uint64(d.Communicator.Add(trace.Communicator{ID: "0", Name: "world", Set: d.Sets.Add(set)}))
}

// page explains a trace.
func page(t *testing.T, r *trace.Recorder) *explain.Page {
	t.Helper()
	p, ok, err := explain.Explain(context.Background(), format.Recorded(r), explain.Options{Rows: trace.NewRows(r.Defs())})
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	return p
}

// TestStraggler checks that the first finding is a rank that computes three times as long as the
// others, and that its gain is the difference from the runtime without the slow rank.
func TestStraggler(t *testing.T) {
	work := func(rank, _ int) int64 {
		if rank == 2 {
			return 3000
		}
		return 1000
	}
	p := page(t, program(4, 50, work))
	if len(p.Findings) == 0 {
		t.Fatalf("found no finding: %s", p.Verdict)
	}
	f := p.Findings[0]
	planted := 50.0 * 2000
	if f.ID != "late" || !strings.Contains(f.Title, "compute") || len(f.Locations) != 1 ||
		!strings.Contains(f.Locations[0], "c") {
		t.Errorf("found %+v, expected compute at c", f)
	}
	if math.Abs(float64(f.Gain)-planted) > 0.02*planted {
		t.Errorf("found a gain of %d, expected %g", f.Gain, planted)
	}
	if f.Confidence != explain.HighConfidence {
		t.Errorf("found the confidence %s", f.Confidence)
	}
}

// TestStragglerAmongOthers checks the gain if the other ranks differ a little. Without the slow rank,
// the next slowest one determines the length of a round.
func TestStragglerAmongOthers(t *testing.T) {
	work := []int64{950, 1000, 3000, 1100}
	p := page(t, program(4, 50, func(rank, _ int) int64 { return work[rank] }))
	planted := 50 * (work[2] - work[3])
	if len(p.Findings) == 0 || len(p.Findings[0].Locations) != 1 || p.Findings[0].Gain != planted {
		t.Errorf("found %+v, expected one location and a gain of %d", p.Findings, planted)
	}
}

// TestLateOnce checks a rank that is late in one of several iterations: 4 ranks compute for 1000 ticks in each of 10
// rounds, and one of them for 6000 in one round. Without that, the run would be 5000 shorter. In a further trace, the
// times of the other rounds differ a little, so that no analysis of variance tells the rank from others.
func TestLateOnce(t *testing.T) {
	for _, jitter := range []int{0, 3} {
		for _, rounds := range []int{2, 10} {
			p := page(t, program(4, rounds, func(rank, round int) int64 {
				if rank == 2 && round == 1 {
					return 6000
				}
				return int64(1000 + jitter*(7*rank+3*round)%11)
			}))
			if len(p.Findings) == 0 {
				t.Fatalf("found no finding: %s", p.Verdict)
			}
			w := p.Ran.Waiting.Float() // each of the 3 others waits for 5000 ticks
			if jitter == 0 && (w != 3*5000 || p.Ran.WaitingShare != w/(4*float64(p.Ran.Runtime))) {
				t.Errorf("%d rounds: waits of %g, a share of %g; expected 15000", rounds, w, p.Ran.WaitingShare)
			}
			f := p.Findings[0]
			if f.ID != "late" || math.Abs(float64(f.Gain)-5000) > 0.02*5000 || !slices.Equal(f.Locations, []string{"c"}) ||
				f.Title != "compute takes longer at c than elsewhere, and others wait for it" {
				t.Errorf("%d rounds, jitter %d: found %+v, expected a gain of 5000 at c", rounds, jitter, f)
			}
		}
	}
}

// TestLateOnceAmongWorkers checks a rank that is late once among ranks of which one does none of the work. Five ranks
// compute for 1000 ticks in each of 20 rounds, and one of them for 7000 in one round. Without that, the run would be
// 6000 shorter. It would be shorter still if the first rank took a part of all work, but the finding is not about that.
func TestLateOnceAmongWorkers(t *testing.T) {
	p := page(t, program(6, 20, func(rank, round int) int64 {
		switch {
		case rank == 0:
			return 0
		case rank == 2 && round == 10:
			return 7000
		}
		return 1000
	}))
	if len(p.Findings) == 0 {
		t.Fatalf("found no finding: %s", p.Verdict)
	}
	f := p.Findings[0]
	if f.Gain != 6000 || !slices.Equal(f.Locations, []string{"c"}) || f.WhatIf != "compute@c=median" {
		t.Errorf("found %+v, expected a gain of 6000 at c", f)
	}
}

// TestImbalance checks that the gain is the difference from the runtime of a balanced run if the work
// grows with the rank.
func TestImbalance(t *testing.T) {
	p := page(t, program(4, 50, func(rank, _ int) int64 { return 1000 * int64(1+rank) }))
	planted := 50.0 * (4000 - 2500)
	if len(p.Findings) == 0 || p.Findings[0].ID != "late" {
		t.Fatalf("found %+v", p.Findings)
	}
	// Speeding up only the slowest rank would save less than balancing the work: the mean is 2000, and
	// the second slowest rank needs 3000.
	if g := float64(p.Findings[0].Gain); math.Abs(g-planted) > 0.02*planted && math.Abs(g-50*1000) > 0.02*planted {
		t.Errorf("found a gain of %g, expected %g or %d", g, planted, 50*1000)
	}
}

// TestLockOfWindow checks that explain finds ranks that compute while they hold the lock of a window
// for which others wait.
func TestLockOfWindow(t *testing.T) {
	const ranks, rounds = 4, 20
	r := program(ranks, 0, nil)
	d := r.Defs()
	d.Windows.Add(trace.Named{ID: "0", Name: "window"})
	compute, update := r.Region("compute"), r.Region("update")
	lock, unlock := r.Region("MPI_Win_lock"), r.Region("MPI_Win_unlock")
	var clock [ranks]int64
	free := int64(0) // time at which the lock is released
	visit := func(loc, region uint32, ticks int64) {
		r.Enter(loc, clock[loc], region)
		clock[loc] += ticks
		r.Leave(loc, clock[loc], region)
	}
	const target, id, exclusive = 0, 0, 0
	for range rounds {
		for loc := range uint32(ranks) {
			visit(loc, compute, 10)
			r.Enter(loc, clock[loc], lock)
			clock[loc] = max(clock[loc], free) + 1
			r.Event(loc, clock[loc], trace.RMALockAcquire, 0, []uint64{target, id, exclusive})
			r.Leave(loc, clock[loc], lock)
			visit(loc, update, 50)
			r.Enter(loc, clock[loc], unlock)
			clock[loc]++
			free = clock[loc]
			r.Event(loc, clock[loc], trace.RMALockRelease, 0, []uint64{target, id})
			r.Leave(loc, clock[loc], unlock)
		}
	}
	p := page(t, r)
	if len(p.Findings) == 0 || p.Findings[0].ID != "lock" || !strings.Contains(p.Findings[0].Title, "update") {
		t.Errorf("found %+v, expected that the lock is held in update", p.Findings)
	}
}

// TestBalanced checks that a balanced run has no finding.
func TestBalanced(t *testing.T) {
	p := page(t, program(4, 50, func(int, int) int64 { return 1000 }))
	if len(p.Findings) > 0 || !strings.Contains(p.Verdict, "No loss exceeds 2 %") {
		t.Errorf("found %q and %+v, expected no finding", p.Verdict, p.Findings)
	}
}

// TestUnrecordedCalls checks a trace in which a call of MPI has no events, as MPI_Sendrecv in traces of EZTrace. Two
// ranks compute 100 times for 600 and 1000 ticks, and then exchange data: the first one is in MPI_Sendrecv for 400
// ticks, the other one for a tick. The trace does not show whether that is waiting or communication: it is no finding
// about communication, and the page states its share, (100 * 401) / (2 * 100 * 1001) = 20 %.
func TestUnrecordedCalls(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	machine := r.Machine("node")
	first, second := r.Thread("0", r.Process("0", machine)), r.Thread("1", r.Process("1", machine))
	compute, exchange := r.Region("compute"), r.Region("MPI_Sendrecv")
	visit := func(loc uint32, from, to int64, region uint32) {
		r.Enter(loc, from, region)
		r.Leave(loc, to, region)
	}
	for i := range int64(100) {
		visit(first, 1001*i, 1001*i+600, compute)
		visit(first, 1001*i+600, 1001*i+1001, exchange)
		visit(second, 1001*i, 1001*i+1000, compute)
		visit(second, 1001*i+1000, 1001*i+1001, exchange)
	}
	p := page(t, r)
	if len(p.Findings) > 0 {
		t.Errorf("found %+v, expected none", p.Findings)
	}
	if !strings.HasSuffix(p.Verdict, "Calls whose waits are unknown take 20 % of the time of all threads.") {
		t.Errorf("found %q", p.Verdict)
	}
	expected := "200 calls of MPI_Sendrecv with a total time of 40.2 ms: no events are recorded inside, so the " +
		"partners are unknown"
	if len(p.Unjudged) == 0 || p.Unjudged[0] != expected {
		t.Errorf("found %q, expected %q", p.Unjudged, expected)
	}
}

// TestUnevenTimes checks the gains of uneven times that are not in proportion to all times of the locations.
func TestUnevenTimes(t *testing.T) {
	for _, x := range []struct {
		name     string
		work     func(rank, round int) int64
		location string
		expected int64
	}{
		// All ranks slow down from round to round, and rank c takes 2000 longer in each of 100 rounds.
		{"slow rank", func(rank, round int) int64 {
			if rank == 2 {
				return 3000 + 50*int64(round)
			}
			return 1000 + 50*int64(round)
		}, "c", 100 * 2000},
		// The same with an imbalance: rank d takes 4000 - 2500 longer than the mean, and all wait for it.
		{"imbalance", func(rank, round int) int64 { return 1000*int64(rank+1) + 50*int64(round) }, "d", 100 * 1500},
	} {
		f := page(t, program(4, 100, x.work)).Findings
		if i := slices.IndexFunc(f, func(f explain.Finding) bool { return f.ID == "late" }); i < 0 ||
			f[i].Gain != x.expected || len(f[i].Locations) != 1 || f[i].Locations[0] != x.location {
			t.Errorf("%s: found %+v, expected %s with a gain of %d", x.name, f, x.location, x.expected)
		}
	}
}

// scattering returns a program of three ranks. In each of 50 iterations, rank b computes 1000 before it scatters; the
// others compute less, and wait. Then the ranks compute 1000 at most before a barrier.
func scattering(others int64, after [3]int64) *trace.Recorder {
	r := program(3, 0, nil)
	compute, scatter, barrier := r.Region("compute"), r.Region("MPI_Scatter"), r.Region("MPI_Barrier")
	operation := func(loc uint32, region uint32, from, to int64, name string, root uint64) {
		number, _ := trace.OperationNumber(name)
		r.Enter(loc, from, region)
		r.Event(loc, from, trace.CollectiveBegin, trace.NoRef, nil)
		r.Event(loc, to, trace.CollectiveEnd, trace.NoRef, []uint64{number, 0, root, 8, 8, trace.Undefined})
		r.Leave(loc, to, region)
	}
	for i := range int64(50) {
		for loc := range uint32(3) {
			now, alone := i*2002, others
			if loc == 1 {
				alone = 1000
			}
			r.Enter(loc, now, compute)
			r.Leave(loc, now+alone, compute)
			operation(loc, scatter, now+alone, now+1001, "scatter", 1)
			r.Enter(loc, now+1001, compute)
			r.Leave(loc, now+1001+after[loc], compute)
			operation(loc, barrier, now+1001+after[loc], now+2002, "barrier", trace.Undefined)
		}
	}
	return r
}

// TestSlowBeforeOneCall checks the gain of a rank that works alone before a scatter: rank b computes 1000 there, the
// others 10. Then all compute 1000. Without the excess, each of 50 iterations is 990 shorter.
func TestSlowBeforeOneCall(t *testing.T) {
	f := page(t, scattering(10, [3]int64{1000, 1000, 1000})).Findings
	if len(f) == 0 || f[0].ID != "late" || f[0].Gain != 50*990 || len(f[0].Locations) != 1 || f[0].Locations[0] != "b" {
		t.Errorf("found %+v, expected a late rank b with a gain of %d", f, 50*990)
	}
}

// TestPartsOfWork checks ranks that compute for as long in total, but before different calls: rank b 1000 and then 100,
// the others 100 and then 1000. If each part took as long as its mean, 400 and 700, each of 50 iterations would be
// 900 shorter.
func TestPartsOfWork(t *testing.T) {
	f := page(t, scattering(100, [3]int64{1000, 100, 1000})).Findings
	if len(f) == 0 || f[0].ID != "late" || f[0].Gain != 50*900 || f[0].WhatIf != "compute=mean" {
		t.Errorf("found %+v, expected a gain of %d by means", f, 50*900)
	}
}

// TestLateSignal checks a thread that waits for a condition which another thread signals late. In each of 20 rounds of
// 1100 ticks, thread a works for 1000 before it signals, and both threads work for 99 after that. No lock is held
// meanwhile: without waits for locks, the run would only be shorter by the last calls.
func TestLateSignal(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	process := r.Process("p", r.Machine("node"))
	a, b := r.Thread("a", process), r.Thread("b", process)
	work, signal, wait := r.Region("work"), r.Region("pthread_cond_signal"), r.Region("pthread_cond_wait")
	cond := trace.Attr{Key: "cond", Value: trace.IntValue(1)}
	visit := func(loc uint32, from, to int64, region uint32, attrs ...trace.Attr) {
		r.Enter(loc, from, region, attrs...)
		r.Leave(loc, to, region)
	}
	for i := range int64(20) {
		now := 1100 * i
		visit(b, now, now+1001, wait, cond)
		visit(a, now, now+1000, work)
		visit(a, now+1000, now+1001, signal, cond)
		visit(a, now+1001, now+1100, work)
		visit(b, now+1001, now+1100, work)
	}
	f := page(t, r).Findings
	if len(f) == 0 || f[0].ID != "late" || !slices.Equal(f[0].Path, []string{"work"}) ||
		len(f[0].Locations) != 1 || !strings.Contains(f[0].Locations[0], "a") || f[0].Gain < 19_000 {
		t.Errorf("found %+v, expected work at a with a gain of about 20000", f)
	}
}

// TestMasterOfOneProcess checks a process whose first thread works while the other one waits for its signals. No other
// process could do the work, so the other thread is the one to compare with. Without the work of 1000 ticks, each of 20
// rounds takes 1 tick.
func TestMasterOfOneProcess(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	process := r.Process("process", r.Machine("node"))
	a, b := r.Thread("a", process), r.Thread("b", process)
	master, work := r.Region("master"), r.Region("work")
	wait, signal := r.Region("pthread_cond_wait"), r.Region("pthread_cond_signal")
	cond := trace.Attr{Key: "cond", Value: trace.IntValue(1)}
	visit := func(loc uint32, from, to int64, region uint32, attrs ...trace.Attr) {
		r.Enter(loc, from, region, attrs...)
		r.Leave(loc, to, region)
	}
	for i := range int64(20) {
		now := 1001 * i
		visit(a, now, now+1000, master)
		visit(a, now+1000, now+1001, signal, cond)
		visit(b, now, now+1000, wait, cond)
		visit(b, now+1000, now+1001, work)
	}
	f := page(t, r).Findings
	if len(f) == 0 || f[0].ID != "late" || !slices.Equal(f[0].Path, []string{"master"}) || f[0].Gain != 20*1000 ||
		f[0].WhatIf == "" || !strings.Contains(f[0].Title, "longer at a") {
		t.Errorf("found %+v, expected master at a with a gain of 20000", f)
	}
}

// TestLateInTurns checks two ranks of which one computes for 2000 ticks and the other for 1000, in turns. Both compute
// for 50 * 1500 ticks, so the finding must not say that this takes longer at one of them.
func TestLateInTurns(t *testing.T) {
	f := page(t, program(2, 50, func(rank, round int) int64 { return int64(1000 + 1000*((rank+round)%2)) })).Findings
	if len(f) == 0 || f[0].Title != "compute delays others, although it takes as long at all locations in total" ||
		!slices.Contains(f[0].Evidence, "at most 75 ms at a location, 75 ms in the mean") {
		t.Errorf("found %+v, expected equal times", f)
	}
}

// TestNegligibleEvidence checks that a finding does not name a pattern that has hardly any part in it. A rank computes
// for 3000 ticks in each of 50 rounds, and three others wait 50 * 3 * 2000 ticks for it in barriers. In the end, it
// sends a message one tick late.
func TestNegligibleEvidence(t *testing.T) {
	work := []int64{1000, 1000, 3000, 1000}
	r := program(4, 50, func(rank, _ int) int64 { return work[rank] })
	const end = 50 * 3001
	r.Enter(2, end, r.Region("compute"))
	r.Leave(2, end+1, r.Region("compute"))
	r.Enter(2, end+1, r.Region("MPI_Send"))
	r.Event(2, end+1, trace.Send, trace.NoRef, []uint64{0, trace.Undefined, 0, 8})
	r.Leave(2, end+2, r.Region("MPI_Send"))
	r.Enter(0, end, r.Region("MPI_Recv"))
	r.Event(0, end+2, trace.Recv, trace.NoRef, []uint64{2, trace.Undefined, 0, 8})
	r.Leave(0, end+2, r.Region("MPI_Recv"))
	f := page(t, r).Findings
	if len(f) == 0 || len(f[0].Evidence) != 2 || f[0].Evidence[1] != "300 ms of wait-at-barrier" {
		t.Errorf("found %+v, expected 300 ms of wait-at-barrier only", f)
	}
}

// TestUnknownLaunches checks that the gain of faster work on a device is stated as unknown if the trace does not record
// which calls launch the work. The thread waits for 65 of 100 ticks in each of three rounds.
func TestUnknownLaunches(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	process := r.Process("0", r.Machine("node"))
	thread, stream := r.Thread("0", process), r.Thread("stream", process)
	r.Defs().Locations.At(stream).Kind = trace.StreamLocation
	visit := func(loc uint32, from, to int64, region uint32) {
		r.Enter(loc, from, region)
		r.Leave(loc, to, region)
	}
	for i := range int64(3) {
		visit(thread, 100*i, 100*i+5, r.Region("compute"))
		visit(thread, 100*i+5, 100*i+75, r.Region("cudaDeviceSynchronize"))
		visit(stream, 100*i, 100*i+70, r.Region("kernel"))
	}
	p := page(t, r)
	if len(p.Findings) == 0 {
		t.Fatal("found nothing, expected waits for the kernel")
	}
	f := p.Findings[0]
	unknown := "the gain is unknown, because the trace does not record which calls launch the work"
	if f.ID != "device" || f.Confidence != explain.LowConfidence || !slices.Contains(f.Evidence, unknown) {
		t.Errorf("found %+v, expected an unknown gain", f)
	}
	expected := "waits of devices for work: the trace does not record which calls launch it"
	if !slices.Contains(p.Unjudged, expected) {
		t.Errorf("found %q, expected %q", p.Unjudged, expected)
	}
}

// TestTransfers checks that the page names transfers that are recorded as one-sided communication outside of all
// regions. In each of 10 rounds the thread computes for 50 ticks, and copies for 102. Without the transfers, of 99
// ticks each, each round is 100 ticks shorter, as the copy begins a tick before its transfer.
func TestTransfers(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	r.Defs().Windows.Add(trace.Named{ID: "0"})
	process := r.Process("0", r.Machine("node"))
	thread, stream := r.Thread("0", process), r.Thread("stream", process)
	r.Defs().Locations.At(stream).Kind = trace.StreamLocation
	launch, compute, copies := r.Region("cudaLaunchKernel"), r.Region("compute"), r.Region("cudaMemcpy")
	for i := range int64(10) {
		begin := 160 * i
		r.Enter(thread, begin, compute)
		r.Leave(thread, begin+50, compute)
		r.Enter(thread, begin+50, copies)
		r.Event(stream, begin+51, trace.RMAGet, 0, []uint64{0, 8, 1})
		r.Event(stream, begin+150, trace.RMACompleteBlocking, 0, []uint64{1})
		r.Leave(thread, begin+152, copies)
		r.Enter(thread, begin+152, launch)
		r.Leave(thread, begin+154, launch)
		r.Enter(stream, begin+155, r.Region("kernel"))
		r.Leave(stream, begin+157, r.Region("kernel"))
		r.Enter(thread, begin+154, compute)
		r.Leave(thread, begin+160, compute)
	}
	f := page(t, r).Findings
	if len(f) == 0 || f[0].Title != "Threads wait for transfers to or from devices" || f[0].Gain != 1000 ||
		strings.Contains(f[0].Advice, "does not tell") {
		t.Errorf("found %+v, expected a gain of 1000 without the transfers", f)
	}
}

// TestSlowThread checks that the threads of a process are compared in a trace of OpenMP as EZTrace records it with
// OMPT: all threads have a region around their implicit tasks, and the first one also has an implicit task around the
// whole program. In each of 10 parallel regions, the first thread computes for 3000 ticks and the others for 1000. If
// it were as fast as they, each region would be 2000 ticks shorter.
func TestSlowThread(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	process := r.Process("process", r.Machine("node"))
	working, task, barrier := r.Region("Working"), r.Region("OpenMP implicit task"), r.Region("OpenMP implicit barrier")
	parallel := r.Region("OpenMP parallel")
	threads := make([]uint32, 4)
	for i := range threads {
		threads[i] = r.Thread("thread "+strconv.Itoa(i), process)
		r.Enter(threads[i], 0, working)
	}
	first := threads[0]
	r.Enter(first, 0, task)
	for round := range int64(10) {
		begin := 10 + 4000*round
		r.Event(first, begin, trace.ThreadTeamBegin, trace.NoRef, nil)
		r.Enter(first, begin, parallel)
		for i, thread := range threads {
			come := begin + 1000
			if i == 0 {
				come = begin + 3000
			}
			r.Enter(thread, begin, task)
			r.Enter(thread, come, barrier)
			r.Leave(thread, begin+3000, barrier)
			r.Leave(thread, begin+3000, task)
		}
		r.Event(first, begin+3000, trace.ThreadTeamEnd, trace.NoRef, nil)
		r.Leave(first, begin+3000, parallel)
	}
	r.Leave(first, 40_010, task)
	for _, thread := range threads {
		r.Leave(thread, 40_010, working)
	}
	p := page(t, r)
	if len(p.Findings) == 0 {
		t.Fatal("found no finding")
	}
	f := &p.Findings[0]
	path := []string{"Working", "OpenMP implicit task", "OpenMP parallel", "OpenMP implicit task"}
	if f.ID != "late" || f.Gain != 20_000 || !slices.Equal(f.Locations, []string{"thread 0"}) ||
		!slices.Equal(f.Path, path) {
		t.Errorf("found %+v, expected that the first thread could gain 20000 ticks in %q", f, path)
	}
}

// TestOneFindingOfLocks checks that a lock is one finding, although it is held in two regions, or in a region and
// outside of all regions. Four threads take turns: 10 times each has the lock for 100 ticks, 60 of them in update and
// 40 in log or outside, and each computes for 20 before that. Without waits for the lock a thread takes about 10 · 120
// of 20 + 4 · 10 · 100 ticks. The finding does not name a place with less than a tenth of the loss in update.
func TestOneFindingOfLocks(t *testing.T) {
	for _, x := range []struct {
		region string
		length int64
		want   string
	}{{"log", 40, "also because of log"}, {"", 40, "also because of the time outside of all regions"}, {"log", 8, ""}} {
		checkOneFindingOfLocks(t, x.region, x.length, x.want)
	}
}

// checkOneFindingOfLocks runs the threads of TestOneFindingOfLocks, which hold the lock in a region for this length.
// The region may be "". want is the text about it in the evidence, or "" if there is none.
func checkOneFindingOfLocks(t *testing.T, region string, length int64, want string) {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	process := r.Process("process", r.Machine("node"))
	var threads [4]uint32
	var clocks [4]int64
	for i := range threads {
		threads[i] = r.Thread("thread "+strconv.Itoa(i), process)
	}
	visit := func(i int, region string, ticks int64) {
		if region != "" {
			r.Enter(threads[i], clocks[i], r.Region(region))
			defer func() { r.Leave(threads[i], clocks[i], r.Region(region)) }()
		}
		clocks[i] += ticks
	}
	free := int64(0)
	for round := range 40 {
		i := round % 4
		visit(i, "compute", 20)
		begin := clocks[i]
		clocks[i] = max(begin, free)
		r.Enter(threads[i], begin, r.Region("pthread_mutex_lock"))
		r.Event(threads[i], clocks[i], trace.LockAcquire, trace.NoRef, []uint64{1, uint64(2*round + 1), 7})
		r.Leave(threads[i], clocks[i], r.Region("pthread_mutex_lock"))
		visit(i, "update", 100-length)
		visit(i, region, length)
		free = clocks[i]
		r.Event(threads[i], free, trace.LockRelease, trace.NoRef, []uint64{1, uint64(2*round + 2), 7})
	}
	var locks []explain.Finding
	p := page(t, r)
	for _, f := range p.Findings {
		if f.ID == "lock" {
			locks = append(locks, f)
		}
	}
	if len(locks) != 1 || math.Abs(float64(locks[0].Gain)-(4020-1200)) > 60 {
		t.Errorf("found %+v of %+v, expected one finding of locks with a gain of about 2820", locks, p.Findings)
	} else if text := strings.Join(locks[0].Evidence, "; "); !strings.Contains(text, want) ||
		strings.Contains(text, "also because") != (want != "") {
		t.Errorf("found the evidence %q, expected %q in it", text, want)
	}
}

// TestVerdictWithoutCause checks the verdict on two threads that do not wait for each other. One of them works from 0
// to 1000, and the other one from 500 to 1000, so that the load balance is 750 / 1000.
func TestVerdictWithoutCause(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	machine, work := r.Machine("node"), r.Region("work")
	for i, begin := range []int64{0, 500} {
		loc := r.Thread("thread", r.Process(strconv.Itoa(i), machine))
		r.Enter(loc, begin, work)
		r.Leave(loc, 1000, work)
	}
	const want = "75 % of the time is useful. The lowest factor is load balance, 0.75, "
	if v := page(t, r).Verdict; !strings.HasPrefix(v, want) {
		t.Errorf("found the verdict %q, expected %q", v, want)
	}
}

// TestVerdictOnClocks checks a message that is received before it is sent, in a run of 1000 ms. The verdict warns if
// the clocks differ by 2 % of the runtime or more.
func TestVerdictOnClocks(t *testing.T) {
	for _, c := range []struct {
		early int64 // how long before the send the receive ends, in ms
		warns bool
	}{{0, false}, {19, false}, {20, true}} {
		r := trace.NewRecorder(trace.TicksPerSecond(1000))
		machine := r.Machine("node")
		a, b := r.Thread("a", r.Process("a", machine)), r.Thread("b", r.Process("b", machine))
		send, receive, work := r.Region("MPI_Send"), r.Region("MPI_Recv"), r.Region("work")
		r.Enter(a, 0, work)
		r.Leave(a, 500, work)
		r.Enter(a, 500, send)
		r.Send(a, 500, b, 0, 8)
		r.Leave(a, 501, send)
		r.Enter(a, 501, work)
		r.Leave(a, 1000, work)
		r.Enter(b, 0, work)
		r.Leave(b, 300, work)
		r.Enter(b, 300, receive)
		r.Recv(b, 500-c.early, a, 0, 8)
		r.Leave(b, 500-c.early, receive)
		r.Enter(b, 500-c.early, work)
		r.Leave(b, 1000, work)
		const want = " Clocks differ by up to 20 ms: the figures are not to be trusted; see weft align."
		if v := page(t, r).Verdict; strings.Contains(v, "Clocks") != c.warns || c.warns && !strings.HasSuffix(v, want) {
			t.Errorf("%d ms: found %q, expected a warning: %v", c.early, v, c.warns)
		}
	}
}

// TestShortRegions checks that the page leaves out regions with less than 0.05 % of the time, which texts would show as
// 0.0 %, but not one with 0.05 %.
func TestShortRegions(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	loc := r.Thread("a", r.Process("a", r.Machine("node")))
	now := int64(0)
	for _, x := range []struct {
		name  string
		ticks int64
	}{{"work", 9991}, {"short", 5}, {"shorter", 4}} {
		region := r.Region(x.name)
		r.Enter(loc, now, region)
		now += x.ticks
		r.Leave(loc, now, region)
	}
	var names []string
	for _, x := range page(t, r).Ran.Regions {
		names = append(names, x.Region)
	}
	if want := []string{"work", "short"}; !slices.Equal(names, want) {
		t.Errorf("found %q, expected %q", names, want)
	}
}
