package criticalpath_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/analysis/criticalpath"
	"github.com/weft-trace/weft/analysis/internal/testtrace"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/otf2"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// TestScout compares the results with those of Scalasca's analyser.
func TestScout(t *testing.T) {
	for _, name := range []string{"hand", "p2p", "omp"} {
		dir := "../waits/testdata/" + name
		r := find(t, dir+"/traces.otf2")
		expected, length := map[string]float64{}, 0.0
		for _, f := range testtrace.ReadScout(t, dir+"/scout.txt") {
			switch f.Metric {
			case "critical_path":
				length += f.Value
			case "critical_path_activities", "critical_imbalance_impact", "non_critical_path_activities":
				if name == "omp" {
					continue // docs/analyses/path.md explains these differences
				}
			default:
				continue
			}
			if f.Value > 0 {
				expected[fmt.Sprint(f.Metric, " ", f.Path, " ", f.Location)] = f.Value
			}
		}
		found, sum := map[string]float64{}, int64(0)
		for _, p := range r.Paths {
			path := testtrace.ShownPath(p.Path)
			sum += p.Critical
			for metric, v := range map[string]float64{"critical_path": float64(p.Critical),
				"critical_path_activities": float64(p.Activities), "non_critical_path_activities": float64(p.NonCritical),
				"critical_imbalance_impact": p.Impact} {
				if v > 0 && (name != "omp" || metric == "critical_path") {
					found[fmt.Sprint(metric, " ", path, " ", p.Location)] = v
				}
			}
		}
		if float64(r.Length) != length || sum != r.Length {
			t.Errorf("%s: found a path of %d with parts of %d, expected %g", name, r.Length, sum, length)
		}
		for k, v := range expected {
			if math.Abs(found[k]-v) > 1 {
				t.Errorf("%s: %s: found %g, expected %g", name, k, found[k], v)
			}
			delete(found, k)
		}
		for k, v := range found {
			t.Errorf("%s: %s: found %g, expected nothing", name, k, v)
		}
		at := r.Begin
		for p := range r.Pieces.All() {
			if p.From != at {
				t.Errorf("%s: found a piece from %d, expected it from %d", name, p.From, at)
			}
			at = p.To
		}
		if at != r.End {
			t.Errorf("%s: the pieces end at %d, expected %d", name, at, r.End)
		}
	}
}

// find returns the critical path of the trace in a file.
func find(t *testing.T, path string) *criticalpath.Result {
	t.Helper()
	d, err := otf2.Format{}.Open(context.Background(), format.FileSource(path), &format.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	return findIn(t, d)
}

// findIn returns the critical path of a trace.
func findIn(t *testing.T, d format.Events) *criticalpath.Result {
	t.Helper()
	r, err := criticalpath.Find(context.Background(), d, criticalpath.Options{Rows: trace.NewRows(d.Defs()), Paths: true})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestPathOfRuns checks the critical path of a merged trace of two runs, whatever their order. It must be the path
// of the run whose last process comes to MPI_Finalize last.
func TestPathOfRuns(t *testing.T) {
	ctx := context.Background()
	for _, names := range [][]string{{"hand", "p2p"}, {"p2p", "hand"}} {
		var runs []format.Events
		var zero []int64
		seconds := func(d format.Events, ticks int64) float64 { return float64(ticks) / d.Defs().Clock.PerSecond() }
		last, longest := 0.0, 0.0
		for i, name := range names {
			path := "../waits/testdata/" + name + "/traces.otf2"
			d, err := otf2.Format{}.Open(ctx, format.FileSource(path), &format.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			first, _, _, err := format.Extent(ctx, d)
			if err != nil {
				t.Fatal(err)
			}
			r := findIn(t, d)
			runs, zero = append(runs, d), append(zero, first)
			if end := seconds(d, r.End-first); i == 0 || end > last {
				last, longest = end, seconds(d, r.Length)
			}
		}
		both, err := transform.Merge(ctx, runs, transform.MergeOptions{Zero: zero})
		if err == nil {
			err = both.Prepare(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := seconds(both, findIn(t, both).Length); got != longest {
			t.Errorf("%v: found a path of %g s, expected that of the later run, %g s", names, got, longest)
		}
	}
}

// TestPathOfSingleProcess checks that the path of one of the processes of hand also begins at MPI_Init, at 10, and ends
// at MPI_Finalize, at 1700, 1720 and 1740 (make_hand.py). In a window in which a process calls MPI_Finalize and others
// work on, it ends with the window.
func TestPathOfSingleProcess(t *testing.T) {
	d, err := otf2.Format{}.Open(context.Background(), format.FileSource("../waits/testdata/hand/traces.otf2"),
		&format.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	check := func(name string, part format.Events, begin, end int64) {
		if r := findIn(t, part); r.Begin != begin || r.End != end || r.Length != end-begin {
			t.Errorf("%s: found a path of %d from %d to %d, expected one from %d to %d", name, r.Length, r.Begin,
				r.End, begin, end)
		}
	}
	for i, end := range []int64{1700, 1720, 1740} {
		wanted := func(loc uint32) bool { return loc == uint32(i) }
		check(fmt.Sprint("process ", i), transform.Filter(d, transform.FilterOptions{Location: wanted}), 10, end)
	}
	check("window", transform.CutRunning(d, trace.Window{From: 0, To: 1710}, nil), 10, 1710)
}

// TestPathOfNestedTeams checks that the path of nested parallel regions continues at the thread that has started the
// team. Thread 0 starts threads 0 and 1 at 10. Both start a team of two, thread 0 at 42 and thread 1 at 40, and both
// teams begin their work after both starts. Thread 1 works longest, until 200, and thread 0 waits for it from 150 on.
// So the path leads from 300 back to 200 at thread 0, to the start at 10 at thread 1, and to 0 at thread 0.
func TestPathOfNestedTeams(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	process := r.Process("p", r.Machine("m"))
	var threads [4]uint32
	for i := range threads {
		threads[i] = r.Thread(fmt.Sprint(i), process)
	}
	work, barrier := r.Region("work"), r.Region("!$omp implicit barrier")
	begin := func(at int64, team uint64, members ...int) {
		r.Event(threads[members[0]], at, trace.ThreadFork, trace.NoRef, []uint64{uint64(len(members)), 0})
		for _, i := range members {
			r.Event(threads[i], at+5, trace.ThreadTeamBegin, trace.NoRef, []uint64{team})
		}
	}
	end := func(at int64, team uint64, arrivals map[int]int64, members ...int) {
		for _, i := range members {
			r.Enter(threads[i], arrivals[i], barrier)
			r.Leave(threads[i], at, barrier)
			r.Event(threads[i], at, trace.ThreadTeamEnd, trace.NoRef, []uint64{team})
		}
		r.Event(threads[members[0]], at, trace.ThreadJoin, trace.NoRef, []uint64{0})
	}
	r.Enter(threads[0], 0, work)
	begin(10, 0, 0, 1)
	begin(40, 2, 1, 3)
	begin(42, 1, 0, 2)
	end(150, 1, map[int]int64{0: 140, 2: 149}, 0, 2)
	end(190, 2, map[int]int64{1: 189, 3: 100}, 1, 3)
	end(210, 0, map[int]int64{0: 150, 1: 200}, 0, 1)
	r.Leave(threads[0], 300, work)
	path := findIn(t, format.Recorded(r))
	var found []string
	for p := range path.Pieces.All() {
		found = append(found, fmt.Sprintf("%d to %d at %d by %s", p.From, p.To, p.Location, p.By))
	}
	expected := []string{"0 to 10 at 0 by ", "10 to 200 at 1 by fork", "200 to 300 at 0 by wait-at-implicit-omp-barrier"}
	if !slices.Equal(found, expected) {
		t.Errorf("found %q, expected %q", found, expected)
	}
}

// TestPathOfNestedCalls checks that the path contains the calls inside of a call that has waited before them. Thread 0
// waits from 3 to 10 for the critical section of thread 1. In its section, it computes from 12 to 14 and receives a
// message from 15 to 26, and it works until 99. If the message is sent at 5, the path leads to thread 1 at 10; if it is
// sent at 20, to its sender. Until 30, thread 0 is in the section itself for 2 + 1 + 4, computes for 2 and receives for
// 11 or, after a wait of 5, for 6.
func TestPathOfNestedCalls(t *testing.T) {
	for _, test := range []struct {
		send     int64
		expected map[string]int64
	}{
		{5, map[string]int64{"OpenMP critical": 7 + 10, "work": 2 + 69, "MPI_Recv": 11, "main": 1}},
		{20, map[string]int64{"OpenMP critical": 4, "work": 69 + 20, "MPI_Recv": 6, "main": 1}},
	} {
		r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
		machine := r.Machine("m")
		process := r.Process("p", machine)
		first, second := r.Thread("0", process), r.Thread("1", process)
		other := r.Thread("2", r.Process("q", machine))
		visit := func(thread uint32, name string, enter, leave int64) {
			r.Enter(thread, enter, r.Region(name))
			r.Leave(thread, leave, r.Region(name))
		}
		visit(second, "OpenMP critical", 0, 10)
		r.Enter(first, 0, r.Region("main"))
		r.Enter(first, 3, r.Region("OpenMP critical"))
		visit(first, "work", 12, 14)
		r.Enter(first, 15, r.Region("MPI_Recv"))
		r.Recv(first, 25, other, 1, 8)
		r.Leave(first, 26, r.Region("MPI_Recv"))
		r.Leave(first, 30, r.Region("OpenMP critical"))
		visit(first, "work", 30, 99)
		r.Leave(first, 100, r.Region("main"))
		visit(other, "work", 0, test.send)
		r.Enter(other, test.send, r.Region("MPI_Send"))
		r.Send(other, test.send+1, first, 1, 8)
		r.Leave(other, test.send+2, r.Region("MPI_Send"))
		found := map[string]int64{}
		for _, x := range findIn(t, format.Recorded(r)).Regions {
			found[x.Region] = x.Time
		}
		if !maps.Equal(found, test.expected) {
			t.Errorf("sent at %d: found %v, expected %v", test.send, found, test.expected)
		}
	}
}

// TestSentenceOnUnknownWaits checks the sentence about calls whose waits are unknown: two ranks run for 100 ticks, and
// rank 1 is in a call without events for 30 of them: 30 / (2 · 100) = 15 %. A call of 3 ticks takes less than 2 %.
func TestSentenceOnUnknownWaits(t *testing.T) {
	for time, expected := range map[int64]string{30: "Calls whose waits are unknown take 15 % of the time of all threads;",
		3: ""} {
		r := trace.NewRecorder(trace.TicksPerSecond(1000))
		node := r.Machine("node")
		for i := range 2 {
			loc := r.Thread("thread", r.Process(fmt.Sprint("MPI Rank ", i), node))
			r.Enter(loc, 0, r.Region("main"))
			if i == 1 {
				r.Enter(loc, 40, r.Region("MPI_Recv"))
				r.Leave(loc, 40+time, r.Region("MPI_Recv"))
			}
			r.Leave(loc, 100, r.Region("main"))
		}
		found := findIn(t, format.Recorded(r)).Sentence()
		if !strings.HasPrefix(found, expected) || expected == "" && found != "" {
			t.Errorf("a call of %d: found %q, expected %q", time, found, expected)
		}
	}
}

// TestImpactOfPathOfOneLocation checks the impact of a call path that only the location of the critical path has. That
// location solves for 60 and works for 40, and the other one solves for 50. The other one lacks 100 - 50 = 50, which
// are divided among solve, with 60 - 50 = 10 more on the critical path, and work, with 40 more.
func TestImpactOfPathOfOneLocation(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	node := r.Machine("node")
	first, second := r.Thread("0", r.Process("0", node)), r.Thread("1", r.Process("1", node))
	visit := func(thread uint32, name string, enter, leave int64) {
		r.Enter(thread, enter, r.Region(name))
		r.Leave(thread, leave, r.Region(name))
	}
	visit(first, "solve", 0, 60)
	visit(first, "work", 60, 100)
	visit(second, "solve", 0, 50)
	found := map[string]float64{}
	for _, p := range findIn(t, format.Recorded(r)).Paths {
		found[p.Path[0]] += p.Impact
	}
	if expected := map[string]float64{"solve": 10, "work": 40}; !maps.Equal(found, expected) {
		t.Errorf("found %v, expected %v", found, expected)
	}
}
