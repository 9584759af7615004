package explain_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/analysis/explain"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// reductions returns a trace of ranks that compute for the given times and then reduce to rank a, in rounds. The
// members other than the root do not wait.
func reductions(rounds int, work ...int64) *trace.Recorder {
	return reductionsAlong(make([]int, len(work)), 0, rounds, work...)
}

// reductionsAlong is like reductions for an implementation that passes on partial results along a tree: a rank waits
// for those whose parent it is. The clock of the last rank is ahead of the others by skew ticks.
func reductionsAlong(parents []int, skew int64, rounds int, work ...int64) *trace.Recorder {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	machine := r.Machine("node")
	ranks, now := make([]uint32, len(work)), make([]int64, len(work))
	for i := range ranks {
		name := string(rune('a' + i))
		ranks[i] = r.Thread(name, r.Process(name, machine))
	}
	compute, reduce := r.Region("compute"), r.Region("MPI_Reduce")
	comm := world(r.Defs(), ranks)
	operation, _ := trace.OperationNumber("reduce")
	for range rounds {
		ends := make([]int64, len(ranks))
		for i := len(ranks) - 1; i >= 0; i-- {
			loc, begin := ranks[i], now[i]+work[i]
			ends[i] = max(ends[i], begin)
			ends[parents[i]] = max(ends[parents[i]], ends[i])
			sent, received, ahead := uint64(8), uint64(0), int64(0)
			if i == 0 {
				sent, received = 0, 8
			} else if i == len(ranks)-1 {
				ahead = skew
			}
			r.Enter(loc, now[i]+ahead, compute)
			r.Leave(loc, begin+ahead, compute)
			r.Enter(loc, begin+ahead, reduce)
			r.Event(loc, begin+ahead, trace.CollectiveBegin, trace.NoRef, nil)
			r.Event(loc, ends[i]+ahead, trace.CollectiveEnd, trace.NoRef, []uint64{operation, comm, 0, sent, received,
				trace.Undefined})
			r.Leave(loc, ends[i]+ahead, reduce)
			now[i] = ends[i]
		}
	}
	return r
}

// TestTreeOfReduction checks a late rank whose part of a reduction another rank passes on to the root: rank b waits for
// rank d, and rank c does not wait. If rank d took as long as the others, the run would be 50 · 2000 shorter. This is
// also so if the clock of rank d is ahead by 10, so that rank b seems to leave before rank d comes.
func TestTreeOfReduction(t *testing.T) {
	for _, skew := range []int64{0, 10} {
		p := page(t, reductionsAlong([]int{0, 0, 0, 1}, skew, 50, 1000, 1000, 1000, 3000))
		if len(p.Findings) == 0 {
			t.Fatalf("found no finding: %s", p.Verdict)
		}
		f := p.Findings[0]
		if f.ID != "late" || !slices.Equal(f.Locations, []string{"d"}) || math.Abs(float64(f.Gain-50*2000)) > 50*2000/100 {
			t.Errorf("clock ahead by %d: found %+v, expected a gain of %d at d", skew, f, 50*2000)
		}
	}
}

// TestLastOfReduction checks that a finding names the member for which the root of reductions waits. It is the last of
// the others; the waits of early-reduce end when the first one comes. The root waits for 50 · 2000 ticks, and rank b,
// which never waits, ends as much earlier. If rank c took as long as the others, the run would be 50 · 2000 shorter.
// The causes of the page are those of package causes, which have early-reduce only.
func TestLastOfReduction(t *testing.T) {
	p, _, err := explain.Explain(t.Context(), format.Recorded(reductions(50, 1000, 1000, 3000)), explain.Options{Gains: 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Findings) == 0 {
		t.Fatalf("found no finding: %s", p.Verdict)
	}
	for _, c := range p.Causes.Patterns {
		if c.Pattern == "wait-at-reduction" {
			t.Errorf("found the pattern %s of the findings in the causes", c.Pattern)
		}
	}
	f := p.Findings[0]
	if f.Title != "compute takes longer at c than elsewhere, and others wait for it" || f.Gain != 50*2000 ||
		math.Abs(f.Loss-2*50*2000) > 1e-6 {
		t.Errorf("found %q with a loss of %g and a gain of %d", f.Title, f.Loss, f.Gain)
	}
	if text := strings.Join(f.Evidence, "; "); !strings.Contains(text, "100 ms of wait-at-reduction") {
		t.Errorf("found the evidence %s", text)
	}
}

// TestEndBeforeReductions checks that the causes of an early end are those of the waits before the later end. Ranks b
// and c never wait and end at 20 · 1000. The root ends at 20 · 1500, because it waits in each round for the ranks d, e
// and f. If these took as long as the others, the run would be 20 · 500 shorter.
func TestEndBeforeReductions(t *testing.T) {
	f := page(t, reductions(20, 1000, 1000, 1000, 1500, 1500, 1500)).Findings[0]
	if f.Title != "compute takes longer at 3 locations than elsewhere, and others end earlier" || f.Gain != 20*500 {
		t.Errorf("found %q with a gain of %d", f.Title, f.Gain)
	}
}

// TestLateBeforeReductions checks the cause of a delay that nobody waits for at first. In each of 20 rounds, rank a
// computes for 1500 in A, and the others for 1000. All of them then reduce to rank a in 1, compute for 999 in B, reduce
// to rank a in 1 again, and compute for 999 in C. Only in the broadcast by rank a do the others wait for it, for 500.
// Rank a spends 1 of this time in each reduction after the others have left it, and 498 in A. Clocks may be so coarse
// that reductions take no time.
func TestLateBeforeReductions(t *testing.T) {
	for _, took := range []int64{0, 1} {
		r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
		machine := r.Machine("node")
		ranks := []uint32{}
		for _, name := range []string{"a", "b", "c"} {
			ranks = append(ranks, r.Thread(name, r.Process(name, machine)))
		}
		comm := world(r.Defs(), ranks)
		compute := func(loc uint32, begin, end int64, name string) {
			r.Enter(loc, begin, r.Region(name))
			r.Leave(loc, end, r.Region(name))
		}
		operate := func(loc uint32, begin, end int64, name, operation string, received uint64) {
			number, _ := trace.OperationNumber(operation)
			r.Enter(loc, begin, r.Region(name))
			r.Event(loc, begin, trace.CollectiveBegin, trace.NoRef, nil)
			r.Event(loc, end, trace.CollectiveEnd, trace.NoRef, []uint64{number, comm, 0, 8, received, trace.Undefined})
			r.Leave(loc, end, r.Region(name))
		}
		for round := range int64(20) {
			for i, loc := range ranks {
				now, work, received := round*3500, int64(1000), uint64(0)
				if i == 0 {
					work, received = 1500, 8
				}
				compute(loc, now, now+work, "A")
				now += work
				operate(loc, now, now+took, "MPI_Reduce", "reduce", received)
				compute(loc, now+took, now+1000, "B")
				now += 1000
				operate(loc, now, now+took, "MPI_Reduce", "reduce", received)
				compute(loc, now+took, now+1000, "C")
				operate(loc, now+1000, (round+1)*3500, "MPI_Bcast", "broadcast", 8-received)
			}
		}
		f := page(t, r).Findings[0]
		if f.Title != "A takes longer at a than elsewhere, and others wait for it" || f.Gain != 20*500 ||
			math.Abs(f.Loss-float64(20*2*(500-2*took))) > 1e-6 {
			t.Errorf("reductions of %d: found %q with a loss of %g and a gain of %d", took, f.Title, f.Loss, f.Gain)
		}
	}
}
