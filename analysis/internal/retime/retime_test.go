package retime_test

import (
	"context"
	"testing"

	"github.com/weft-trace/weft/analysis/internal/history"
	"github.com/weft-trace/weft/analysis/internal/retime"
	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/analysis/internal/testtrace"
	"github.com/weft-trace/weft/analysis/internal/waitstate"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/otf2"
	"github.com/weft-trace/weft/generate"
	"github.com/weft-trace/weft/trace"
)

// read returns the history of a trace. With small chunks, times are dropped as soon as no later call
// depends on them.
func read(t *testing.T, d format.Events) *history.History {
	t.Helper()
	h, err := history.Build(context.Background(), d, history.Options{Rows: trace.NewRows(d.Defs()), ChunkSize: 32,
		CachedCalls: 1, Memory: 1000})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

// makespan returns the runtime with changed durations.
func makespan(t *testing.T, h *history.History, opt retime.Options) int64 {
	t.Helper()
	x, err := retime.Makespan(context.Background(), h, opt)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// histories returns the histories of small traces made by hand, and of generated traces.
func histories(t *testing.T) map[string]*history.History {
	all := map[string]*history.History{}
	for _, name := range []string{"hand", "p2p", "omp"} {
		d, err := otf2.Format{}.Open(context.Background(), format.FileSource("../../waits/testdata/"+name+"/traces.otf2"),
			&format.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		all[name] = read(t, d)
	}
	threads, err := generate.New(generate.Options{Workload: "phases", Events: 5000, Seed: 3, Locations: 4, Threads: 3})
	if err != nil {
		t.Fatal(err)
	}
	all["phases with threads"] = read(t, threads)
	for _, w := range generate.Workloads() {
		name := w.Name
		g, err := generate.New(generate.Options{Workload: name, Events: 5000, Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		all[name] = read(t, g)
	}
	return all
}

// TestSame checks that the computed runtime equals the recorded runtime if no duration changes.
func TestSame(t *testing.T) {
	for name, h := range histories(t) {
		if found, expected := makespan(t, h, retime.Options{Transfer: 1}), h.Log.Last-h.Log.First; found != expected {
			t.Errorf("%s: found %d, expected %d", name, found, expected)
		}
	}
}

// TestMonotone checks that a run does not become longer if its computation or its network becomes
// faster, and that the runtime is a convex function of the factor.
func TestMonotone(t *testing.T) {
	for name, h := range histories(t) {
		var last, step int64
		const rounded = 2 // each of the three runtimes in a difference of steps is rounded to a tick
		for i := range 11 {
			f := float64(i) / 10
			m := makespan(t, h, retime.Options{Transfer: 1, Scale: func(uint32) float64 { return f }})
			if m < last || i > 1 && m-last < step-rounded {
				t.Errorf("%s: found %d with the factor %g after %d, and a step of %d after %d", name, m, f, last, m-last, step)
			}
			step, last = m-last, m
		}
		if ideal := makespan(t, h, retime.Options{}); ideal > h.Log.Last-h.Log.First {
			t.Errorf("%s: found %d on an ideal network, expected at most %d", name, ideal, h.Log.Last-h.Log.First)
		}
	}
}

// TestVariants checks that several options give the same runtimes together as each of them alone.
func TestVariants(t *testing.T) {
	for name, h := range histories(t) {
		regions := h.Log.Defs.Regions.Len()
		opts := []retime.Options{{Transfer: 1}, {}, {Transfer: 2, WithoutLocks: true},
			{Transfer: 1, Start: func(loc uint32) float64 { return float64(loc%3) / 2 }},
			{Transfer: 0.5, At: func(path, loc uint32) float64 { return 1 / float64(1+(path+loc)%4) }},
			{Transfer: 1, Stretch: func(p waitstate.Place, path uint32, x int64) int64 { return x + x/int64(1+p.Number%5) }}}
		for r := range regions {
			opts = append(opts, retime.Options{Transfer: 1, Scale: func(path uint32) float64 {
				if path != synclog.NoPath && int(h.Log.Paths[path].Region) == r {
					return 0.3
				}
				return 1
			}})
		}
		together, err := retime.Makespans(context.Background(), h, opts)
		if err != nil {
			t.Fatal(err)
		}
		for i, found := range together {
			// The number of binary digits after the point depends on the greatest factor of all options.
			if alone := makespan(t, h, opts[i]); found < alone-1 || found > alone+1 {
				t.Errorf("%s, variant %d: found %d, expected %d", name, i, found, alone)
			}
		}
	}
}

// TestLateThread checks that the begin of a fork is kept for a thread that begins its work long after the
// first thread has gone on: the calls of the first thread between these are in other chunks.
func TestLateThread(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	process := r.Process("p", r.Machine("m"))
	first, second := r.Thread("0", process), r.Thread("1", process)
	lock, work := r.Region("omp_set_lock"), r.Region("work")
	r.Enter(first, 0, work)
	r.Event(first, 10, trace.ThreadFork, trace.NoRef, []uint64{2, 0})
	for i := range int64(20) {
		at := 20 + 10*i
		r.Enter(first, at, lock)
		r.Event(first, at+1, trace.LockAcquire, trace.NoRef, []uint64{uint64(i), 1, 0})
		r.Leave(first, at+2, lock)
	}
	r.Leave(first, 400, work)
	r.Event(second, 300, trace.ThreadTeamBegin, trace.NoRef, []uint64{trace.Undefined})
	r.Enter(second, 310, work)
	r.Leave(second, 500, work)
	h := read(t, format.Recorded(r))
	if found := makespan(t, h, retime.Options{Transfer: 1}); found != 500 {
		t.Errorf("found %d, expected 500", found)
	}
	// With half of the work, the first thread forks at 5, and the second one begins 290 later and works for 95.
	half := retime.Options{Transfer: 1, Scale: func(uint32) float64 { return 0.5 }}
	if found := makespan(t, h, half); found != 5+290+5+95 {
		t.Errorf("found %d with half of the work, expected 395", found)
	}
}

// TestShortVisits checks that the new durations of short visits are not rounded one by one. 1000 visits of solve take a
// tick each, with calls of 2 ticks in between: with the factor f for solve, the run takes 2000 + 1000 f ticks.
func TestShortVisits(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	loc := r.Thread("0", r.Process("p", r.Machine("m")))
	lock, solve := r.Region("omp_set_lock"), r.Region("solve")
	for i := range int64(1000) {
		r.Enter(loc, 3*i, solve)
		r.Leave(loc, 3*i+1, solve)
		r.Enter(loc, 3*i+1, lock)
		r.Event(loc, 3*i+2, trace.LockAcquire, trace.NoRef, []uint64{1, uint64(i), 0})
		r.Leave(loc, 3*i+3, lock)
	}
	h := read(t, format.Recorded(r))
	for _, x := range []struct {
		factor   float64
		expected int64
	}{{0, 2000}, {0.25, 2250}, {0.3, 2300}, {0.5, 2500}, {1, 3000}, {1.5, 3500}} {
		opt := retime.Options{Transfer: 1, Scale: func(path uint32) float64 {
			if path != synclog.NoPath && h.Log.Paths[path].Region == solve {
				return x.factor
			}
			return 1
		}}
		if found := makespan(t, h, opt); found != x.expected {
			t.Errorf("found %d with the factor %g, expected %d", found, x.factor, x.expected)
		}
	}
}

// TestEqualEnds checks calls that end when the call that they wait for begins, in [testtrace.Chain]. With the factor
// 0.5 for the computation, b has the message at 50, sends until 60, and ends at 60 + 45. With 1e12, c has a message at
// 100e12, and computes as long.
func TestEqualEnds(t *testing.T) {
	for _, ranks := range testtrace.Orders() {
		h := read(t, format.Recorded(testtrace.Chain(ranks)))
		for factor, expected := range map[float64]int64{0: 10, 0.5: 105, 1: 200, 1e12: 200e12} {
			opt := retime.Options{Transfer: 1, Scale: func(path uint32) float64 {
				if isIn(h, path, "main") {
					return factor
				}
				return 1
			}}
			if found := makespan(t, h, opt); found != expected {
				t.Errorf("ranks %v, factor %g: found %d, expected %d", ranks, factor, found, expected)
			}
		}
	}
}

// TestNegativeTimes checks that times before 0 change nothing. Rank 1 receives from 40 to 110. Rank 0 works until 100,
// sends until 105, and ends at 200; rank 1 ends at 300. On an ideal network, rank 1 receives at 100 and ends at 290.
func TestNegativeTimes(t *testing.T) {
	for _, begin := range []int64{-1000, 0, 1000} {
		r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
		main, send, receive := r.Region("main"), r.Region("MPI_Send"), r.Region("MPI_Recv")
		for i := range uint32(2) {
			loc := r.Thread("0", r.Process("p", r.Machine("m")))
			r.Enter(loc, begin, main)
			if i == 0 {
				r.Enter(loc, begin+100, send)
				r.Send(loc, begin+101, 1, 0, 8)
				r.Leave(loc, begin+105, send)
			} else {
				r.Enter(loc, begin+40, receive)
				r.Recv(loc, begin+110, 0, 0, 8)
				r.Leave(loc, begin+110, receive)
			}
			r.Leave(loc, begin+200+100*int64(i), main)
		}
		h := read(t, format.Recorded(r))
		if found := makespan(t, h, retime.Options{}); found != 290 {
			t.Errorf("begin %d: found %d on an ideal network, expected 290", begin, found)
		}
	}
}

// isIn reports whether a path ends in the region with a name.
func isIn(h *history.History, path uint32, name string) bool {
	return path != synclog.NoPath && h.Log.Defs.Regions.At(h.Log.Paths[path].Region).Name == name
}

// TestTasksInBarriers checks threads that execute tasks in a barrier. Thread 0 works until 200 and is in the barrier
// until 300, with a task from 220 to 260 and, in the second case, one from 280 to 298. Thread 1 works until 290. So
// thread 0 waits for 290 - 200 - 40, or 10 less because of the second task. The barrier itself takes 10. In the second
// case it takes 2, because thread 1 waits for the task of thread 0 until 298.
func TestTasksInBarriers(t *testing.T) {
	for _, x := range []struct {
		second                      bool
		barrier, task, noWork, slow int64
	}{
		{false, 290, 300, 50, 200 + 4*40 + 10}, // without work, thread 0 has its task of 40 and 10 more
		{true, 298, 290 + 2, 40 + 18 + 2, 200 + 4*50 + 4*8 + 2},
	} {
		r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
		process := r.Process("p", r.Machine("m"))
		work, barrier, task := r.Region("work"), r.Region("OpenMP implicit barrier"), r.Region("task")
		for i, end := range []int64{200, 290} {
			loc := r.Thread("thread", process)
			r.Enter(loc, 0, work)
			r.Leave(loc, end, work)
			r.Enter(loc, end, barrier)
			if i == 0 {
				r.Enter(loc, 220, task)
				r.Leave(loc, 260, task)
				if x.second {
					r.Enter(loc, 280, task)
					r.Leave(loc, 298, task)
				}
			}
			r.Leave(loc, 300, barrier)
		}
		h := read(t, format.Recorded(r))
		for _, k := range []struct {
			region           string
			factor, transfer float64
			expected         int64
		}{
			{"", 1, 1, 300}, {"OpenMP implicit barrier", 0, 1, x.barrier}, {"", 1, 0, 300}, {"task", 0, 1, x.task},
			{"work", 0, 1, x.noWork}, {"task", 4, 1, x.slow},
		} {
			opt := retime.Options{Transfer: k.transfer, Scale: func(path uint32) float64 {
				if k.region != "" && isIn(h, path, k.region) {
					return k.factor
				}
				return 1
			}}
			if found := makespan(t, h, opt); found != k.expected {
				t.Errorf("second task %t, %+v: found %d", x.second, k, found)
			}
		}
	}
}

// TestThreadsSleepInTheEnd checks that threads that sleep after their work do not keep the run from being shorter. The
// first thread starts a team at 10, works in it until 20, and then works alone until 90. The other one works in the
// team until 20 and ends at 85, or at 95, after the first one. Until then it sleeps: in a region around its work in
// teams (EZTrace), outside of all regions, or in the barrier of the team (OMPT). Without the work of the first thread
// the run takes 10 + 10, and 5 more if the other thread ends 5 after the first one.
func TestThreadsSleepInTheEnd(t *testing.T) {
	for _, kind := range []string{"region", "outside", "barrier"} {
		for _, end := range []int64{85, 95} {
			r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
			process := r.Process("0", r.Machine("m"))
			first, second := r.Thread("0", process), r.Thread("1", process)
			parallel, barrier := r.Region("!$omp parallel"), r.Region("!$omp implicit barrier")
			team := r.Defs().Communicator.Add(trace.Communicator{ID: "0", Set: trace.NoRef, Parent: trace.NoRef})
			if kind == "region" {
				r.Enter(second, 5, r.Region("Working"))
			}
			r.Enter(first, 0, r.Region("main"))
			r.Event(first, 10, trace.ThreadFork, trace.NoRef, []uint64{2, 0})
			for i, thread := range []uint32{first, second} {
				r.Event(thread, 10, trace.ThreadTeamBegin, trace.NoRef, []uint64{uint64(team)})
				r.Enter(thread, 10, parallel)
				r.Enter(thread, 20, barrier)
				if i == 1 && kind == "barrier" {
					continue
				}
				r.Leave(thread, 20, barrier)
				r.Leave(thread, 20, parallel)
				r.Event(thread, 20, trace.ThreadTeamEnd, trace.NoRef, []uint64{uint64(team)})
			}
			r.Event(first, 20, trace.ThreadJoin, trace.NoRef, []uint64{0})
			r.Enter(first, 20, r.Region("alone"))
			r.Leave(first, 90, r.Region("alone"))
			r.Leave(first, 90, r.Region("main"))
			if kind == "region" {
				r.Leave(second, end, r.Region("Working"))
			}
			r.Event(second, end, trace.ThreadEnd, trace.NoRef, []uint64{trace.Undefined, 1})
			h := read(t, format.Recorded(r))
			if found := makespan(t, h, retime.Options{Transfer: 1}); found != max(90, end) {
				t.Errorf("%s, %d: found %d without changes", kind, end, found)
			}
			opt := retime.Options{Transfer: 1, Scale: func(path uint32) float64 {
				if isIn(h, path, "alone") {
					return 0
				}
				return 1
			}}
			if found := makespan(t, h, opt); found != 20+max(0, end-90) {
				t.Errorf("%s, %d: found %d without the work of the first thread alone", kind, end, found)
			}
		}
	}
}

// TestCallsWithoutEvents checks calls of MPI without events. Two ranks are in such a call from 100 to 150, and in a
// barrier from 200 to 210. Then rank 0 sends from 300 to 304, and rank 1 receives from 300 to 305. Both end at 400. By
// hand: on an ideal network, rank 0 computes for 100 + 50 + 90 + 96 = 336. If the network is twice as fast, half of
// each call is added: 25 + 5 + 2. MPI_Probe may have waited for a message, and therefore keeps its 50.
func TestCallsWithoutEvents(t *testing.T) {
	for name, expected := range map[string][2]int64{"MPI_Comm_rank": {336, 368}, "MPI_Iprobe": {336, 368},
		"MPI_Probe": {386, 393}} {
		r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
		machine := r.Machine("m")
		call := func(rank uint32, name string, enter, leave int64) {
			i := r.Region(name)
			r.Defs().Regions.At(i).Group = "MPI"
			r.Enter(rank, enter, i)
			r.Leave(rank, leave, i)
		}
		for i, rank := range []string{"0", "1"} {
			r.Thread(rank, r.Process(rank, machine))
			r.Enter(uint32(i), 0, r.Region("main"))
		}
		d := r.Defs()
		set := d.Sets.Add(trace.Set{ID: "0", Kind: "locations", Members: []int64{0, 1}})
		d.Communicator.Add(trace.Communicator{ID: "0", Name: "world", Set: set, Parent: trace.NoRef})
		for i := range uint32(2) {
			call(i, name, 100, 150)
			barrier := r.Region("MPI_Barrier")
			d.Regions.At(barrier).Group = "MPI"
			r.Enter(i, 200, barrier)
			r.Event(i, 201, trace.CollectiveBegin, trace.NoRef, nil)
			r.Event(i, 209, trace.CollectiveEnd, trace.NoRef, []uint64{0, 0, trace.Undefined, 0, 0})
			r.Leave(i, 210, barrier)
			message, kind := r.Region("MPI_Send"), trace.Send
			if i == 1 {
				message, kind = r.Region("MPI_Recv"), trace.Recv
			}
			d.Regions.At(message).Group = "MPI"
			r.Enter(i, 300, message)
			r.Event(i, 302, kind, trace.NoRef, []uint64{uint64(1 - i), 0, 1, 8})
			r.Leave(i, 304+int64(i), message)
			r.Leave(i, 400, r.Region("main"))
		}
		h := read(t, format.Recorded(r))
		for k, factor := range []float64{0, 0.5} {
			if found := makespan(t, h, retime.Options{Transfer: factor}); found != expected[k] {
				t.Errorf("%s with the factor %g: found %d, expected %d", name, factor, found, expected[k])
			}
		}
	}
}
