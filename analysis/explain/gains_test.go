package explain_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/analysis/criticalpath"
	"github.com/weft-trace/weft/analysis/explain"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/otf2"
	"github.com/weft-trace/weft/trace"
)

// timeline writes the visits of locations one after the other.
type timeline struct {
	*trace.Recorder
	clock map[uint32]int64
}

func newTimeline() *timeline {
	return &timeline{trace.NewRecorder(trace.TicksPerSecond(1_000_000)), map[uint32]int64{}}
}

// until lets a location visit a region from its present time to time t.
func (x *timeline) until(loc uint32, t int64, region string, attrs ...trace.Attr) {
	x.Enter(loc, x.clock[loc], x.Region(region), attrs...)
	x.clock[loc] = t
	x.Leave(loc, t, x.Region(region))
}

// rank adds a process with a thread.
func (x *timeline) rank(name string) uint32 {
	return x.Thread(name, x.Process(name, x.Machine("node")))
}

// find returns the finding with an id.
func find(t *testing.T, p *explain.Page, id string) explain.Finding {
	t.Helper()
	i := slices.IndexFunc(p.Findings, func(f explain.Finding) bool { return f.ID == id })
	if i < 0 {
		t.Fatalf("found %+v, expected %s", p.Findings, id)
	}
	return p.Findings[i]
}

// TestLockBeforeJoin checks the gain of a run without waits for a lock. Four threads each hold the lock for 40, one
// after the other, so that the last one ends at 160. The first thread joins them, and then works for 100, up to 260.
// Without waits for the lock, all four threads end at 40. The first thread still waits for them: the run lasts 140.
// The threads hold the lock in a region, or outside of all regions.
func TestLockBeforeJoin(t *testing.T) {
	for region, where := range map[string]string{"update": "in update", "": "outside of all regions"} {
		x := newTimeline()
		process := x.Process("p", x.Machine("node"))
		first := x.Thread("0", process)
		mutex := trace.Attr{Key: "mutex", Value: trace.IntValue(7)}
		for i := range int64(4) {
			thread := x.Thread(string(rune('1'+i)), process)
			x.until(thread, 40*i, "pthread_mutex_lock", mutex)
			if region != "" {
				x.until(thread, 40*i+40, region)
			}
			x.clock[thread] = 40*i + 40
			x.until(thread, 40*i+40, "pthread_mutex_unlock", mutex)
			x.Event(thread, 40*i+40, trace.ThreadEnd, trace.NoRef, []uint64{trace.Undefined, trace.Undefined})
			x.until(first, 40*i+41, "pthread_join")
		}
		x.until(first, 261, "collect")
		f := find(t, page(t, x.Recorder), "lock")
		if f.Gain != 117 {
			t.Errorf("found a gain of %d, expected 261 - 144", f.Gain)
		}
		if title := "A lock is held " + where + " while others wait for it"; f.Title != title {
			t.Errorf("found %q, expected %q", f.Title, title)
		}
	}
}

// TestOutermostPath checks that the argument for a path of one region leaves other paths alone that end in this region.
// Threads 1 and 2 work for 300 and 100. The first thread works for 100 in main, joins them until 301, and works for 100
// more in main. If thread 1 worked for 100, as thread 2 does, the run would last 201 instead of 401. The mean of the
// times in the region would be (200 + 100) / 2 = 150 instead.
func TestOutermostPath(t *testing.T) {
	x := newTimeline()
	process := x.Process("p", x.Machine("node"))
	first := x.Thread("0", process)
	for i, end := range []int64{300, 100} {
		thread := x.Thread(string(rune('1'+i)), process)
		x.until(thread, end, "work")
		x.Event(thread, end, trace.ThreadEnd, trace.NoRef, []uint64{trace.Undefined, trace.Undefined})
	}
	x.Enter(first, 0, x.Region("main"))
	x.until(first, 100, "work")
	x.until(first, 301, "pthread_join")
	x.until(first, 401, "work")
	x.Leave(first, 401, x.Region("main"))
	if f := find(t, page(t, x.Recorder), "late"); f.Gain != 200 || f.WhatIf != "main > work=1,work@1=mean" {
		t.Errorf("found %+v, expected a gain of 200 by main > work=1,work@1=mean", f)
	}
}

// TestSignalIsNoLock checks threads that wait for a signal: thread a works for 1000, then it signals, and thread b,
// which has waited, works for 1000. Nobody has a lock, so the finding is about the work before the signal.
func TestSignalIsNoLock(t *testing.T) {
	condition := [3]string{"pthread_cond_wait", "pthread_cond_signal", "cond"}
	for _, calls := range [][3]string{condition, {"sem_wait", "sem_post", "sem"}} {
		x := newTimeline()
		process := x.Process("p", x.Machine("node"))
		a, b := x.Thread("a", process), x.Thread("b", process)
		object := trace.Attr{Key: calls[2], Value: trace.IntValue(7)}
		x.until(b, 1000, calls[0], object)
		x.until(b, 2000, "use")
		x.until(a, 1000, "produce")
		x.until(a, 1000, calls[1], object)
		if f := find(t, page(t, x.Recorder), "late"); !slices.Equal(f.Path, []string{"produce"}) {
			t.Errorf("%s: found %+v, expected produce", calls[0], f)
		}
	}
}

// TestSerialGain checks a process that works for 300 with its first thread alone, and for 300 with all of its 4
// threads. With all threads, the first part lasts 300/4, so the run is 225 shorter.
func TestSerialGain(t *testing.T) {
	x := newTimeline()
	process := x.Process("p", x.Machine("node"))
	threads := []uint32{x.Thread("0", process), x.Thread("1", process), x.Thread("2", process), x.Thread("3", process)}
	for i := range int64(3) {
		x.until(threads[0], 200*i+100, "serial")
		x.Event(threads[0], 200*i+100, trace.ThreadFork, trace.NoRef, []uint64{4, 0})
		for _, thread := range threads {
			x.clock[thread] = 200*i + 100
			x.Event(thread, 200*i+100, trace.ThreadTeamBegin, trace.NoRef, []uint64{trace.Undefined})
			x.until(thread, 200*i+200, "!$omp parallel")
			x.Event(thread, 200*i+200, trace.ThreadTeamEnd, trace.NoRef, []uint64{trace.Undefined})
		}
		x.Event(threads[0], 200*i+200, trace.ThreadJoin, trace.NoRef, []uint64{0})
	}
	if f := find(t, page(t, x.Recorder), "serial"); f.Gain != 225 {
		t.Errorf("found a gain of %d, expected 225", f.Gain)
	}
}

// TestStartupGain checks a process with 4 threads; the first one initialises MPI for 200 before all compute for
// 200. Without MPI_Init, the run is 200 shorter, not a quarter of that.
func TestStartupGain(t *testing.T) {
	x := newTimeline()
	process := x.Process("p", x.Machine("node"))
	for i := range 4 {
		thread := x.Thread(string(rune('0'+i)), process)
		if i == 0 {
			x.until(thread, 200, "MPI_Init")
			x.until(thread, 400, "compute")
		} else {
			x.until(thread, 200, "compute")
		}
	}
	if f := find(t, page(t, x.Recorder), "startup"); f.Gain != 200 {
		t.Errorf("found a gain of %d, expected 200", f.Gain)
	}
}

// TestSlowStart checks that a finding names a process that initialises MPI for 200, while the others do so for 20, 30
// and 40. It does not name the one that finalises MPI for 8, while the others do so for 1: that is below 2 % of 408.
func TestSlowStart(t *testing.T) {
	x := newTimeline()
	for i, start := range []int64{20, 40, 200, 30} {
		rank := x.rank(string(rune('a' + i)))
		x.until(rank, start, "MPI_Init")
		x.until(rank, 400, "compute")
		x.until(rank, 400+[]int64{1, 8, 1, 1}[i], "MPI_Finalize")
	}
	expected := []string{"301 µs in both", "MPI_Init takes 200 µs at c, 30 µs in the mean of the others"}
	if f := find(t, page(t, x.Recorder), "startup"); !slices.Equal(f.Evidence, expected) {
		t.Errorf("found %q, expected %q", f.Evidence, expected)
	}
}

// TestUnevenEnd checks processes that do not wait for each other at the end: a works for 1000, the others for 400. They
// lose 3 * 600. If a worked for 400, too, the run would be 600 shorter.
func TestUnevenEnd(t *testing.T) {
	x := newTimeline()
	for i, work := range []int64{1000, 400, 400, 400} {
		x.until(x.rank(string(rune('a'+i))), work, "compute")
	}
	p, _, err := explain.Explain(t.Context(), format.Recorded(x.Recorder), explain.Options{Gains: 1})
	if err != nil {
		t.Fatal(err)
	}
	f := find(t, p, "late")
	if f.Loss != 1800 || f.Gain != 600 || !slices.Equal(f.Path, []string{"compute"}) || !slices.Equal(f.Locations,
		[]string{"a"}) || f.Title != "compute takes longer at a than elsewhere, and others end earlier" {
		t.Errorf("found %+v", f)
	}
	if p.Waits.Waiting.Int64() != 0 || len(p.Causes.Patterns) > 0 {
		t.Errorf("found %d ticks of waits and %+v: the time after the end of a process is no wait",
			p.Waits.Waiting.Int64(), p.Causes.Patterns)
	}
}

// TestLateBegin checks a process that begins 300 after the others, and whose message two others wait for. All work for
// 100 before that, and for 100 afterwards. With an equal begin, the run would be 300 shorter.
func TestLateBegin(t *testing.T) {
	x := newTimeline()
	late := x.rank("late")
	x.clock[late] = 300
	x.until(late, 400, "compute")
	for i := range uint32(2) {
		loc := x.rank(string(rune('a' + i)))
		x.until(loc, 100, "compute")
		x.Enter(late, 400, x.Region("MPI_Send"))
		x.Event(late, 400, trace.Send, trace.NoRef, []uint64{uint64(loc), trace.Undefined, 0, 8})
		x.Leave(late, 400, x.Region("MPI_Send"))
		x.Enter(loc, 100, x.Region("MPI_Recv"))
		x.Event(loc, 400, trace.Recv, trace.NoRef, []uint64{uint64(late), trace.Undefined, 0, 8})
		x.Leave(loc, 400, x.Region("MPI_Recv"))
		x.clock[loc] = 400
		x.until(loc, 500, "compute")
	}
	x.until(late, 500, "compute")
	f := find(t, page(t, x.Recorder), "late")
	if f.Loss != 600 || f.Gain != 300 || len(f.Path) > 0 || !slices.Equal(f.Locations, []string{"late"}) ||
		f.Title != "The late begin of late delays the others or the end" ||
		f.Evidence[0] != "300 µs there, 0 s in the mean of the others" {
		t.Errorf("found %+v", f)
	}
}

// TestUnknownCompletion checks calls that complete one request and may have waited for another one, of which the trace
// lacks the completion, as traces of EZTrace do for MPI_Startall. Rank a is in MPI_Waitall for 100 of 200 ticks in each
// of 50 iterations, rank b for 1. The trace does not show whether that is waiting or communication.
func TestUnknownCompletion(t *testing.T) {
	x := newTimeline()
	ranks := []uint32{x.rank("a"), x.rank("b")}
	event := func(loc uint32, k trace.Kind, ops ...uint64) {
		x.Enter(loc, x.clock[loc], x.Region("MPI_Startall"))
		x.Event(loc, x.clock[loc], k, trace.NoRef, ops)
		x.Leave(loc, x.clock[loc], x.Region("MPI_Startall"))
	}
	for i := range int64(50) {
		for n, loc := range ranks {
			event(loc, trace.SendBegin, uint64(1-n), trace.Undefined, 0, 8, 1)
			event(loc, trace.RecvBegin, 2)
			x.until(loc, 200*i+100+99*int64(n), "compute")
			x.Enter(loc, x.clock[loc], x.Region("MPI_Waitall"))
			x.clock[loc] = 200*i + 200
			x.Event(loc, x.clock[loc], trace.SendComplete, trace.NoRef, []uint64{1})
			x.Leave(loc, x.clock[loc], x.Region("MPI_Waitall"))
		}
	}
	p := page(t, x.Recorder)
	if len(p.Findings) > 0 || !strings.HasSuffix(p.Verdict, "Calls whose waits are unknown take 25 % of the time of all "+
		"threads.") {
		t.Errorf("found %q and %+v, expected calls with unknown waits", p.Verdict, p.Findings)
	}
}

// TestUnknownSender checks that the time of a receive without a send is not called communication.
func TestUnknownSender(t *testing.T) {
	x := newTimeline()
	for n := range uint64(2) {
		loc := x.rank(string(rune('a' + n)))
		x.until(loc, 100, "compute")
		x.Enter(loc, 100, x.Region("MPI_Recv"))
		x.Event(loc, 200, trace.Recv, trace.NoRef, []uint64{1 - n, trace.Undefined, 0, 8})
		x.Leave(loc, 200, x.Region("MPI_Recv"))
	}
	p := page(t, x.Recorder)
	if len(p.Findings) > 0 || !strings.Contains(p.Verdict, "Calls whose waits are unknown take 50 %") {
		t.Errorf("found %q and %+v, expected calls with unknown waits", p.Verdict, p.Findings)
	}
	if slices.ContainsFunc(p.Unjudged, func(s string) bool { return strings.Contains(s, "no messages") }) {
		t.Errorf("found %q, although the trace has messages", p.Unjudged)
	}
}

// TestUnendedOperation checks that the time of a collective operation without an end, as at the end of a window, is not
// called communication. Rank a is in MPI_Allreduce for 60 of 100 ticks, and rank b for 10: 35 %.
func TestUnendedOperation(t *testing.T) {
	x := newTimeline()
	for n := range int64(2) {
		loc := x.rank(string(rune('a' + n)))
		x.Enter(loc, 0, x.Region("MPI_Allreduce")) // an operation with an end, which takes no time
		x.Event(loc, 0, trace.CollectiveBegin, trace.NoRef, nil)
		x.Event(loc, 0, trace.CollectiveEnd, trace.NoRef, []uint64{11, trace.Undefined, trace.Undefined, 8, 8})
		x.Leave(loc, 0, x.Region("MPI_Allreduce"))
		x.until(loc, 40+50*n, "compute")
		x.Enter(loc, 40+50*n, x.Region("MPI_Allreduce"))
		x.Event(loc, 40+50*n, trace.CollectiveBegin, trace.NoRef, nil)
		x.Leave(loc, 100, x.Region("MPI_Allreduce"))
	}
	p := page(t, x.Recorder)
	if len(p.Findings) > 0 || !strings.Contains(p.Verdict, "Calls whose waits are unknown take 35 %") {
		t.Errorf("found %q and %+v, expected calls with unknown waits", p.Verdict, p.Findings)
	}
}

// TestConfidence checks that calls that could not be judged lower the confidence of findings if they take 2 % of the
// time or more, or an unknown time. All traces are of two ranks that run for 1000 ticks: they compute for 500 and more
// and meet at a barrier. Then they split a communicator for 19 or 20 ticks each: 2 * 19 of 2 * 1000 ticks are 1.9 %. Or
// rank 0 is in MPI_Probe without events for 39 or 40 ticks. In one trace, a message is received outside of calls.
func TestConfidence(t *testing.T) {
	for _, c := range []struct {
		split, probe int64
		bare         bool
		expected     explain.Confidence
	}{
		{expected: explain.HighConfidence},
		{split: 19, expected: explain.HighConfidence},
		{split: 20, expected: explain.MediumConfidence},
		{probe: 39, expected: explain.HighConfidence},
		{probe: 40, expected: explain.MediumConfidence},
		{bare: true, expected: explain.MediumConfidence},
	} {
		before := 1000 - c.split - c.probe
		r := program(2, 1, func(rank, _ int) int64 { return 500 + int64(rank)*(before-1-500) })
		operation, _ := trace.OperationNumber("create-handle")
		for loc := range uint32(2) {
			if c.bare {
				k := []trace.Kind{trace.Send, trace.Recv}[loc]
				r.Event(loc, before, k, trace.NoRef, []uint64{uint64(1 - loc), 0, 0, 8})
			}
			if c.split > 0 {
				split := r.Region("MPI_Comm_split")
				r.Enter(loc, before, split)
				r.Event(loc, before, trace.CollectiveBegin, trace.NoRef, nil)
				r.Event(loc, 1000, trace.CollectiveEnd, trace.NoRef, []uint64{operation, 0, trace.Undefined, 0, 0})
				r.Leave(loc, 1000, split)
			}
			if c.probe > 0 {
				region := r.Region([]string{"MPI_Probe", "read"}[loc])
				r.Enter(loc, before, region)
				r.Leave(loc, 1000, region)
			}
		}
		if f := find(t, page(t, r), "late"); f.Confidence != c.expected {
			t.Errorf("%+v: found %s", c, f.Confidence)
		}
	}
}

// TestMissingMembers checks that findings do not have a high confidence if the trace lacks a member of a communicator,
// as with `weft explain --location`: two ranks meet at barriers of a communicator of three.
func TestMissingMembers(t *testing.T) {
	for _, missing := range []bool{false, true} {
		r := program(2, 50, func(rank, _ int) int64 { return 100 + 100*int64(rank) })
		if missing {
			r.Defs().Sets.At(0).Members = append(r.Defs().Sets.At(0).Members, 99)
		}
		p := page(t, r)
		found := slices.ContainsFunc(p.Unjudged,
			func(s string) bool { return strings.Contains(s, "a communicator that the trace lacks") })
		if c := p.Findings[0].Confidence; found != missing || missing != (c == explain.MediumConfidence) {
			t.Errorf("%t: found the confidence %s and %q", missing, c, p.Unjudged)
		}
	}
}

// TestRegionsInsideOfCalls checks the time of regions inside of calls of MPI, such as functions of the library. Two
// ranks work for 20 and 100, and are in MPI_Barrier until 105; from 1 after their begin to 104 they are in a function
// inside of it. Both work until 150. Rank 0 waits for 80, also inside of the function. After rank 1 has come, its call
// takes 5, of which 3 are in the function: without the function, the run lasts 147. Without the other 2, it lasts 148
// to 150, depending on where rank 0 has waited.
func TestRegionsInsideOfCalls(t *testing.T) {
	x := newTimeline()
	r := program(2, 0, nil)
	x.Recorder = r
	number, _ := trace.OperationNumber("barrier")
	for loc, work := range []int64{20, 100} {
		loc := uint32(loc)
		x.until(loc, work, "compute")
		r.Enter(loc, work, r.Region("MPI_Barrier"))
		r.Event(loc, work, trace.CollectiveBegin, trace.NoRef, nil)
		x.clock[loc] = work + 1
		x.until(loc, 104, "progress")
		r.Event(loc, 105, trace.CollectiveEnd, trace.NoRef, []uint64{number, 0, trace.Undefined, 0, 0, trace.Undefined})
		r.Leave(loc, 105, r.Region("MPI_Barrier"))
		x.clock[loc] = 105
		x.until(loc, 150, "tail")
	}
	for _, c := range []struct {
		region         string
		factor         float64
		least, longest int64
	}{{"MPI_Barrier", 0, 148, 150}, {"progress", 0, 147, 147}, {"compute", 0.5, 100, 100}} {
		p, err := criticalpath.Find(t.Context(), format.Recorded(r), criticalpath.Options{
			WhatIf: []criticalpath.Change{{Region: c.region, Factor: c.factor}}})
		if err != nil {
			t.Fatal(err)
		}
		if *p.WhatIf < c.least || *p.WhatIf > c.longest {
			t.Errorf("%s, factor %g: found %d, expected %d to %d", c.region, c.factor, *p.WhatIf, c.least, c.longest)
		}
		for _, x := range p.Regions {
			if x.Time < 0 {
				t.Errorf("%s is on the path for %d ticks", x.Region, x.Time)
			}
		}
	}
	p := page(t, r)
	if e := p.Efficiency; e.Useful.Int64() != 20+100+45+45 || e.Ideal != 145 {
		t.Errorf("found a useful time of %d and an ideal runtime of %d, expected 210 and 145", e.Useful.Int64(), e.Ideal)
	}
}

// TestVerdictOfOtherFactor checks that the verdict does not give the largest gain as the reason for a factor that it
// does not explain, but the finding that does. In the trace p2p, load balance is the lowest factor, but the start and
// end of MPI have the largest gain.
func TestVerdictOfOtherFactor(t *testing.T) {
	d, err := otf2.Format{}.Open(context.Background(), format.FileSource("../waits/testdata/p2p/traces.otf2"),
		&format.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	p, ok, err := explain.Explain(context.Background(), d, explain.Options{Rows: trace.NewRows(d.Defs())})
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	expected := "load balance, 0.76: work takes longer at some locations than at others, and they wait for each other. " +
		"The largest gain: MPI_Init and MPI_Finalize take 12 % of the time"
	if !strings.Contains(p.Verdict, expected) {
		t.Errorf("found %q, expected %q", p.Verdict, expected)
	}
}

// TestSingleIteration checks that times of a single iteration are not taken for noise, although the gain with the
// median of the locations is greater than that with their mean.
func TestSingleIteration(t *testing.T) {
	for first := range int64(20) {
		r := trace.NewRecorder(trace.TicksPerSecond(1000))
		region := r.Region("work")
		for rank, end := range []int64{100 + first, 130, 140, 160, 190, 240, 300} {
			loc := r.Location(fmt.Sprint("rank ", rank))
			r.Enter(loc, 0, region)
			r.Leave(loc, end, region)
		}
		mean := float64(1260+first) / 7
		if f := find(t, page(t, r), "late"); f.Gain != 300-int64(math.Round(mean)) {
			t.Errorf("the first rank takes %d: found %+v, expected the difference of 300 and %v", 100+first, f, mean)
		}
	}
}

// TestUndefinedRegions checks regions that the trace does not define. Four ranks spend 100, 200, 300 and 400 in one,
// and then 10 in work. If no rank spent more than the mean in it, the run would end at 260 and not at 410. No argument
// of weft path names the region.
func TestUndefinedRegions(t *testing.T) {
	for _, undefined := range []uint32{trace.NoRef, 99} {
		x := newTimeline()
		for rank := range int64(4) {
			loc := x.rank(fmt.Sprint("rank ", rank))
			x.Enter(loc, 0, undefined)
			x.clock[loc] = 100 * (rank + 1)
			x.Leave(loc, x.clock[loc], undefined)
			x.until(loc, x.clock[loc]+10, "work")
		}
		if f := find(t, page(t, x.Recorder), "late"); f.Gain != 150 || f.WhatIf != "" {
			t.Errorf("found %+v, expected a gain of 150 and no argument", f)
		}
		opt := criticalpath.Options{Gains: 5, WhatIf: []criticalpath.Change{{Region: "work", Factor: 0}}}
		p, err := criticalpath.Find(t.Context(), format.Recorded(x.Recorder), opt)
		if err != nil || *p.WhatIf != 400 {
			t.Errorf("found %+v, %v, expected 400 ticks without work", p, err)
		}
	}
}

// TestCommandOfQuotes checks the command for a region whose name contains an apostrophe, as a shell reads it.
func TestCommandOfQuotes(t *testing.T) {
	f := explain.Finding{WhatIf: "f<'a>=mean"}
	if found, expected := f.Command(), `weft path --what-if 'f<'\''a>=mean'`; found != expected {
		t.Errorf("found %s, expected %s", found, expected)
	}
}
