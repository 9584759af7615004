package explain_test

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/trace"
)

// token records n ranks that pass on a token: rank k waits for it in MPI_Recv, computes for work ticks and sends it to
// the next rank, which receives it one tick later.
func token(n, rounds int, work int64) *trace.Recorder {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	machine := r.Machine("node")
	ranks, free := make([]uint32, n), make([]int64, n)
	for i := range ranks {
		name := string(rune('a' + i))
		ranks[i] = r.Thread(name, r.Process(name, machine))
	}
	sent := int64(0)
	for i := range n * rounds {
		from, loc := ranks[(i+n-1)%n], ranks[i%n]
		if i > 0 {
			r.Enter(loc, free[i%n], r.Region("MPI_Recv"))
			r.Event(loc, sent+1, trace.Recv, trace.NoRef, []uint64{uint64(from), trace.Undefined, 0, 8})
			r.Leave(loc, sent+1, r.Region("MPI_Recv"))
			free[i%n] = sent + 1
		}
		begin := free[i%n]
		r.Enter(loc, begin, r.Region("compute"))
		r.Leave(loc, begin+work, r.Region("compute"))
		sent = begin + work
		if i < n*rounds-1 {
			r.Enter(loc, sent, r.Region("MPI_Send"))
			r.Event(loc, sent, trace.Send, trace.NoRef, []uint64{uint64(ranks[(i+1)%n]), trace.Undefined, 0, 8})
			r.Leave(loc, sent, r.Region("MPI_Send"))
		}
		free[i%n] = sent
	}
	return r
}

// farm records a master and workers that wait for each other: each worker computes, sends the result to the master and
// receives its next task. The master receives all results, in the order of their ends, and then sends the tasks.
// Messages take one tick, the master computes for one tick before each of its calls, and no call takes time without a
// wait. work holds the times of the workers in each round.
func farm(rounds int, work ...int64) *trace.Recorder {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	machine := r.Machine("node")
	ranks, now := make([]uint32, len(work)+1), make([]int64, len(work)+1)
	for i := range ranks {
		name := string(rune('a' + i))
		ranks[i] = r.Thread(name, r.Process(name, machine))
	}
	order := make([]int, len(work))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(work[a], work[b]) })
	compute := func(i int, ticks int64) {
		r.Enter(ranks[i], now[i], r.Region("compute"))
		now[i] += ticks
		r.Leave(ranks[i], now[i], r.Region("compute"))
	}
	message := func(from, to int) {
		r.Enter(ranks[from], now[from], r.Region("MPI_Send"))
		r.Event(ranks[from], now[from], trace.Send, trace.NoRef, []uint64{uint64(ranks[to]), trace.Undefined, 0, 8})
		r.Leave(ranks[from], now[from], r.Region("MPI_Send"))
		r.Enter(ranks[to], now[to], r.Region("MPI_Recv"))
		now[to] = max(now[to], now[from]+1)
		r.Event(ranks[to], now[to], trace.Recv, trace.NoRef, []uint64{uint64(ranks[from]), trace.Undefined, 0, 8})
		r.Leave(ranks[to], now[to], r.Region("MPI_Recv"))
	}
	for range rounds {
		for i, ticks := range work {
			compute(i+1, ticks)
		}
		for _, i := range order {
			compute(0, 1)
			message(i+1, 0)
		}
		for i := range work {
			compute(0, 1)
			message(0, i+1)
		}
	}
	return r
}

// TestSlowWorker checks one of three workers of a master that computes for 2800 ticks, and the others for 1000. If it
// took as long as the others, each of 20 rounds would be 1800 shorter. The master has three messages to and from the
// workers where each of these has one.
func TestSlowWorker(t *testing.T) {
	p := page(t, farm(20, 1000, 2800, 1000))
	if len(p.Findings) == 0 {
		t.Fatalf("found no finding: %s", p.Verdict)
	}
	f := p.Findings[0]
	if f.Gain < 20*1790 || f.Gain > 20*1810 || !slices.Equal(f.Locations, []string{"c"}) ||
		!strings.HasPrefix(f.Title, "compute takes longer at c than elsewhere") {
		t.Errorf("found %+v, expected a gain of %d at c", f, 20*1800)
	}
}

// TestChain checks ranks that work one after another. While one computes for 1000 ticks, the others wait: they lose
// 2/3 and 1/2 of the time of 3 and 2 ranks. All compute for the same time, so equal times gain nothing.
func TestChain(t *testing.T) {
	for n, loss := range map[int]float64{2: 1. / 2, 3: 2. / 3} {
		p := page(t, token(n, 60, 1000))
		if len(p.Findings) == 0 {
			t.Fatalf("%d ranks: found no finding: %s", n, p.Verdict)
		}
		f := p.Findings[0]
		if f.ID != "chain" || !slices.Equal(f.Path, []string{"compute"}) || f.LossShare < loss-0.02 ||
			f.LossShare > loss+0.02 || f.Gain != 0 {
			t.Errorf("%d ranks: found %+v, expected a chain with a loss of %.2f and no gain", n, f, loss)
		}
		expected := "compute runs at one location after another, and the others wait meanwhile."
		if !strings.Contains(p.Verdict, "serialisation") || !strings.Contains(p.Verdict, expected) {
			t.Errorf("%d ranks: found %q, expected serialisation because %s", n, p.Verdict, expected)
		}
	}
}

// TestPlacesOfCosts checks that a finding names only locations with a considerable part in the waits. The ranks a to d
// compute for 1000 to 2500 ticks in 50 rounds, but a in one round for 2600. So d costs 49 * (500 + 1000 + 1500) ticks,
// and a costs 100 + 600 + 1100.
func TestPlacesOfCosts(t *testing.T) {
	f := page(t, program(4, 50, func(rank, round int) int64 {
		if rank == 0 && round == 20 {
			return 2600
		}
		return 1000 + 500*int64(rank)
	})).Findings
	if len(f) == 0 || len(f[0].Locations) != 1 || !strings.Contains(f[0].Locations[0], "d") {
		t.Errorf("found %+v, expected rank d only", f)
	}
}

// barriers records two ranks that come to each of 50 barriers at the same time. Rank i leaves them after stay[i] ticks.
func barriers(stay [2]int64) *trace.Recorder {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	machine := r.Machine("node")
	ranks := []uint32{r.Thread("a", r.Process("a", machine)), r.Thread("b", r.Process("b", machine))}
	comm := world(r.Defs(), ranks)
	compute, barrier := r.Region("compute"), r.Region("MPI_Barrier")
	for i, loc := range ranks {
		end := int64(0)
		for round := range int64(50) {
			at := 1300 * (round + 1)
			r.Enter(loc, end, compute)
			r.Leave(loc, at, compute)
			end = at + stay[i]
			r.Enter(loc, at, barrier)
			r.Event(loc, at, trace.CollectiveBegin, trace.NoRef, nil)
			r.Event(loc, end, trace.CollectiveEnd, trace.NoRef, []uint64{0, comm, trace.Undefined, 0, 0, trace.Undefined})
			r.Leave(loc, end, barrier)
		}
	}
	return r
}

// TestCompletion checks the finding about communication in barriers that members leave at different times: one after 1
// tick, and the other one after 300.
func TestCompletion(t *testing.T) {
	f := page(t, barriers([2]int64{1, 300})).Findings
	expected := []string{"15.05 ms in calls of communication libraries", "15.05 ms in MPI_Barrier",
		"14.95 ms after another member had already left the same operation"}
	if len(f) == 0 || f[0].ID != "transfer" || !slices.Equal(f[0].Evidence, expected) ||
		!strings.Contains(f[0].Advice, "clocks that differ") {
		t.Errorf("found %+v, expected %q", f, expected)
	}
}

// TestSingleDelay checks the gain for a rank that is late in one of 20 iterations only. There is one other rank, so
// that no median of the iteration exists. Both ranks compute for 8000 ticks, and one of them once for 28 000.
func TestSingleDelay(t *testing.T) {
	f := page(t, program(2, 20, func(rank, round int) int64 {
		if rank == 1 && round == 7 {
			return 28_000
		}
		return 8000
	})).Findings
	if len(f) == 0 || f[0].ID != "late" || f[0].Gain != 20_000 || f[0].WhatIf != "compute@b=mean" {
		t.Errorf("found %+v, expected that b is late by 20 000 ticks", f)
	}
	expected := []string{"180 ms there, 160 ms in the mean of the others", "20 ms of it in 1 of 20 iterations",
		"20 ms of wait-at-barrier"}
	if !slices.Equal(f[0].Evidence, expected) {
		t.Errorf("found %q, expected %q", f[0].Evidence, expected)
	}
}

// TestLittleTimeOfLaterThreads checks that only first threads are compared if the others have hardly any time in the
// call path. Rank a computes for 50 * 3000 ticks and rank b for 50 * 1000. Their second threads compute for 10, and for
// 4000 or 6000. A twentieth of the mean of the first threads is 5000.
func TestLittleTimeOfLaterThreads(t *testing.T) {
	for long, mean := range map[int64]string{4000: "50 ms", 6000: "18.67 ms"} {
		r := program(2, 50, func(rank, _ int) int64 { return []int64{3000, 1000}[rank] })
		for i, time := range []int64{10, long} {
			loc := r.Thread("later", r.Defs().Locations.At(uint32(i)).Group)
			r.Enter(loc, 0, r.Region("compute"))
			r.Leave(loc, time, r.Region("compute"))
		}
		f := page(t, r).Findings
		if expected := "150 ms there, " + mean + " in the mean of the others"; len(f) == 0 || f[0].Evidence[0] != expected {
			t.Errorf("%d ticks: found %+v, expected %s", long, f, expected)
		}
	}
}

// TestVerdictOfGrowth checks that growth does not explain load balance. Two ranks compute for 1000 ticks, and for 100
// and 150 ticks more in each further of 20 iterations: 39 000 and 48 500 in all. Load balance is 43 750/48 500.
func TestVerdictOfGrowth(t *testing.T) {
	p := page(t, program(2, 20, func(rank, round int) int64 { return 1000 + int64((100+50*rank)*round) }))
	expected := "The lowest factor is load balance, 0.90: compute takes longer at b"
	if !strings.Contains(p.Verdict, expected) || find(t, p, "slowing").Gain == 0 {
		t.Errorf("found %q, expected %q", p.Verdict, expected)
	}
}

// TestStepIsNoGrowth checks balanced ranks that synchronise without work in the first iterations, and work for 1000
// ticks in the others. No time grows from iteration to iteration, and there is nothing to gain.
func TestStepIsNoGrowth(t *testing.T) {
	for _, warmUp := range []int{6, 8, 10} {
		p := page(t, program(4, 16, func(_, round int) int64 {
			if round < warmUp {
				return 3 + int64(7*round)%4
			}
			return 1000 + int64(7*round)%5
		}))
		if len(p.Findings) > 0 {
			t.Errorf("%d iterations without work: found %+v, expected nothing", warmUp, p.Findings)
		}
	}
}

// TestGrowthAfterIdleIterations checks that iterations without work at the begin do not count in a growth. After them,
// the ranks work for 1000, 1050, … ticks. Without the growth, n iterations would be shorter by 50 · n(n − 1)/2 ticks.
func TestGrowthAfterIdleIterations(t *testing.T) {
	for _, c := range [][2]int{{1, 10}, {2, 20}, {5, 30}, {10, 16}} {
		idle, n := c[0], c[1]
		f := find(t, page(t, program(4, idle+n, func(_, round int) int64 {
			if round < idle {
				return 3 + int64(7*round)%4
			}
			return 1000 + int64(50*(round-idle))
		})), "slowing")
		if want := 25 * float64(n*(n-1)); math.Abs(float64(f.Gain)-want) > 0.02*want {
			t.Errorf("%d iterations without work: found a gain of %d, expected %.0f", idle, f.Gain, want)
		}
	}
}

// pipeline returns a trace of a pipeline: each stage receives from the stage before it, computes, and sends to the next
// one, in 30 rounds. Function work returns the ticks that a stage computes.
func pipeline(stages int, work func(stage, round int) int64) *trace.Recorder {
	x := newTimeline()
	var ranks []uint32
	for i := range stages {
		ranks = append(ranks, x.rank(string(rune('a'+i))))
	}
	comm := world(x.Defs(), ranks)
	recv, send := x.Region("MPI_Recv"), x.Region("MPI_Send")
	for round := range 30 {
		sent := int64(0)
		for i, loc := range ranks {
			if i > 0 {
				end := max(sent, x.clock[loc])
				x.Enter(loc, x.clock[loc], recv)
				x.Event(loc, end, trace.Recv, trace.NoRef, []uint64{uint64(ranks[i-1]), comm, 0, 8})
				x.Leave(loc, end, recv)
				x.clock[loc] = end
			}
			sent = x.clock[loc] + work(i, round)
			x.until(loc, sent, "compute")
			if i < len(ranks)-1 {
				x.Enter(loc, sent, send)
				x.Event(loc, sent, trace.Send, trace.NoRef, []uint64{uint64(ranks[i+1]), comm, 0, 8})
				x.Leave(loc, sent, send)
			}
		}
	}
	return x.Recorder
}

// TestPipelineFills checks a pipeline whose stages take 1000 to 1010 ticks, so that no other times could gain 1 %.
// The stages wait for their first data. The finding must not say that times differ from iteration to iteration, or that
// one of two stages takes longer.
func TestPipelineFills(t *testing.T) {
	for _, stages := range []int{2, 4} {
		p := page(t, pipeline(stages, func(stage, round int) int64 { return 1000 + int64(7*stage+3*round)%11 }))
		title := "compute delays others, although it takes as long at all locations in total"
		if f := find(t, p, "late"); f.Title != title || float64(f.Gain) > 0.01*float64(p.Ran.Runtime) {
			t.Errorf("found %+v, expected %q", f, title)
		}
	}
}

// TestPipelineSlows checks a pipeline of 20 stages that take 1000 ticks in the first round, and 150 more in each later
// one. The first stage takes 30 · 1000 + 150 · 435, and then 19 stages take 5350 each. Without the growth, the run
// would take (30 + 19) · 1000. The growth of the last time of the last stage, 4350, remains, because no call follows.
// The times of the last stage are not before MPI_Send, and have grown by less than 2 % of the time of all stages.
func TestPipelineSlows(t *testing.T) {
	p := page(t, pipeline(20, func(_, round int) int64 { return 1000 + 150*int64(round) }))
	const expected = 30_000 + 150*435 + 19*5350 - 49_000 - 4350
	if f := find(t, p, "slowing"); f.Gain != expected || f.WhatIf != "compute=steady" {
		t.Errorf("found %+v, expected a gain of %d", f, expected)
	}
}

// TestPipelineNoise checks a pipeline in which one stage, the next one in each round, takes 1500 ticks, and the others
// take 1000. Without noise, 30 rounds through the stages take 1000 ticks for each round and each further stage. The
// times of the last stage are not before MPI_Send, as those of the others are, but have the same noise. Its last time
// keeps its noise, because no call follows.
func TestPipelineNoise(t *testing.T) {
	for _, stages := range []int{3, 4, 16} {
		p := page(t, pipeline(stages, func(stage, round int) int64 {
			if round%stages == stage {
				return 1500
			}
			return 1000
		}))
		expected := p.Ran.Runtime - int64(30+stages-1)*1000
		if 29%stages == stages-1 {
			expected -= 500
		}
		if f := find(t, p, "noise"); f.Gain != expected || f.WhatIf != "compute=median" {
			t.Errorf("%d stages: found %+v, expected a gain of %d", stages, f, expected)
		}
	}
}
