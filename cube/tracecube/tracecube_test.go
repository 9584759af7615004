package tracecube

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/analysis/calltree"
	"github.com/weft-trace/weft/analysis/causes"
	"github.com/weft-trace/weft/analysis/criticalpath"
	"github.com/weft-trace/weft/analysis/waits"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/otf2"
	"github.com/weft-trace/weft/trace"
)

// TestNames checks that the keys of the tables of names are patterns of package waits, and that
// their metrics have descriptions.
func TestNames(t *testing.T) {
	for _, names := range []map[string]string{waitNames, delayNames} {
		for pattern, name := range names {
			if _, ok := scalascaMetrics[name]; !ok || !slices.Contains(waits.Patterns(), pattern) {
				t.Errorf("%s, %s: expected a pattern, and a description of the metric", pattern, name)
			}
		}
	}
	for name, k := range scalascaMetrics {
		if _, ok := scalascaMetrics[k.parent]; k.parent != "" && !ok {
			t.Errorf("%s: found parent %s, expected a metric", name, k.parent)
		}
	}
}

// figures returns a Builder with the times and visits of the trace in a file, and the events of the
// trace.
func figures(t *testing.T, path string) (*Builder, format.Events) {
	t.Helper()
	d, err := otf2.Format{}.Open(context.Background(), format.FileSource(path), &format.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	f, err := New(context.Background(), d, trace.Everything(), calltree.Options{Rows: trace.NewRows(d.Defs())})
	if err != nil {
		t.Fatal(err)
	}
	return f, d
}

// TestLocks checks the unique names of metrics for waits at locks. The names depend on the region.
func TestLocks(t *testing.T) {
	d := &trace.Definitions{Clock: trace.TicksPerSecond(1)}
	f := &Builder{defs: d, regions: map[string]uint32{}}
	for _, x := range []struct {
		region   trace.Region
		expected string
	}{
		{trace.Region{Name: "!$omp critical @a.c:3", Group: "OPENMP", Role: "CRITICAL"}, "omp_lock_contention_critical"},
		{trace.Region{Name: "omp_set_lock", Group: "OPENMP"}, "omp_lock_contention_api"},
		{trace.Region{Name: "pthread_mutex_lock", Group: "PTHREAD"}, "pthread_lock_contention_mutex_lock"},
		{trace.Region{Name: "pthread_cond_wait", Group: "PTHREAD"}, "pthread_lock_contention_conditional"},
		{trace.Region{Name: "acquire", Group: "USER"}, "weft_lock_contention"},
	} {
		f.regions[x.region.Name] = d.Regions.Add(x.region)
		if found := f.waitName("lock-contention", []string{"main", x.region.Name}); found != x.expected {
			t.Errorf("%s: found %s, expected %s", x.region.Name, found, x.expected)
		}
	}
	if found := f.waitName("late-put", nil); found != "weft_late_put" || infoOf(found).parent != "time" {
		t.Errorf("found %s", found)
	}
}

// TestHierarchy checks the parents of metrics and of call paths.
func TestHierarchy(t *testing.T) {
	f, d := figures(t, "../../analysis/waits/testdata/p2p/traces.otf2")
	rows := trace.NewRows(d.Defs())
	w, err := waits.Find(context.Background(), d, waits.Options{Rows: rows})
	if err != nil {
		t.Fatal(err)
	}
	c, err := causes.Find(context.Background(), d, causes.Options{Rows: rows})
	if err != nil {
		t.Fatal(err)
	}
	f.AddWaits(w)
	f.AddCauses(c)
	f.AddPath(&criticalpath.Result{Paths: []criticalpath.Path{{Location: 1, Critical: 5}}})
	x := f.Cube()
	var found []string
	for _, m := range x.Metrics {
		name := m.Name
		if m.Parent >= 0 {
			name = x.Metrics[m.Parent].Name + "/" + name
		}
		found = append(found, name)
		if m.Title == "" || m.Description == "" || m.Unit == "" {
			t.Errorf("found %+v, expected a title, a unit and a description", m)
		}
	}
	expected := "time visits time/mpi_latesender mpi_latesender/mpi_latesender_wo mpi_latesender_wo/mpi_lswo_different " +
		"time/mpi_latereceiver time/mpi_finalize_wait delay delay/delay_latesender delay/delay_latesender_longterm " +
		"delay/delay_latereceiver delay/delay_latereceiver_longterm delay/weft_delay_wait_at_finalize " +
		"delay/weft_delay_wait_at_finalize_longterm critical_path performance_impact " +
		"performance_impact/critical_path_activities performance_impact/critical_imbalance_impact " +
		"performance_impact/non_critical_path_activities"
	if s := strings.Join(found, " "); s != expected {
		t.Errorf("found    %s\nexpected %s", s, expected)
	}
	// The path for events outside of all regions is a child of the outermost path.
	last := len(x.Paths) - 1
	s := fmt.Sprint(x.PathNames(last), x.Metric("critical_path").At(last, 1))
	if s != "[main (outside of all regions)] 5e-06" {
		t.Errorf("found %s", s)
	}
}

// TestPartsOfWaits checks the metrics of one-sided communication. If a wait pattern is part of another
// pattern, its metric is a child of the metric of that pattern. The time of the parent includes the time of
// the child.
func TestPartsOfWaits(t *testing.T) {
	f, d := figures(t, "../../analysis/waits/testdata/rma/traces.otf2")
	w, err := waits.Find(context.Background(), d, waits.Options{Rows: trace.NewRows(d.Defs())})
	if err != nil {
		t.Fatal(err)
	}
	f.AddWaits(w)
	parts := 0
	for _, p := range w.Patterns {
		if p.PartOf == "" {
			continue
		}
		parts++
		if found, expected := infoOf(f.waitName(p.Pattern, nil)).parent, f.waitName(p.PartOf, nil); found != expected {
			t.Errorf("%s: found parent %s, expected %s", p.Pattern, found, expected)
		}
	}
	if parts != 2 {
		t.Errorf("found %d parts, expected early-rma-fence and late-complete", parts)
	}
}

// TestSeveralRoots checks that several outermost paths, and the path outside of all regions, become children of an
// artificial path and keep their values.
func TestSeveralRoots(t *testing.T) {
	f, _ := figures(t, "../../analysis/waits/testdata/p2p/traces.otf2")
	f.add(f.metric("time"), f.pathOf([]string{"other"}), 2, 7)
	f.add(f.metric("time"), f.pathOf(nil), 2, 7)
	x := f.Cube()
	var found []string
	for p := range x.Paths {
		if x.Metric("time").At(p, 2) == 7 || x.Paths[p].Parent <= 0 {
			found = append(found, strings.Join(x.PathNames(p), "/"))
		}
	}
	expected := []string{"(program)", "(program)/main", "(program)/other", "(program)/(outside of all regions)"}
	if !slices.Equal(found, expected) {
		t.Errorf("found %q, expected %q", found, expected)
	}
}

// TestWaitsOutsideOfRegions checks that the time of a path includes the waits in it, also outside of all regions. A
// stream waits there for 40 ticks, and the part of 5 ticks of another wait counts once.
func TestWaitsOutsideOfRegions(t *testing.T) {
	f, _ := figures(t, "../../analysis/waits/testdata/omp/traces.otf2")
	location := uint32(1)
	share := func(ticks int64) []waits.Share {
		return []waits.Share{{Location: &location, Time: trace.TicksOf(ticks)}}
	}
	f.AddWaits(&waits.Result{Patterns: []waits.Pattern{{Pattern: "wait-for-launch", PathLocations: share(40)},
		{Pattern: "late-sender", PathLocations: share(10)}, {Pattern: "late-sender-wrong-order", PathLocations: share(5)}}})
	x := f.Cube()
	last := len(x.Paths) - 1
	if v := x.Metric("time").At(last, 1); math.Abs(v-50e-6) > 1e-12 {
		t.Errorf("found %g s in %q, expected 50 µs", v, x.PathNames(last))
	}
}

// TestIdleThreads checks the metrics of idle threads.
func TestIdleThreads(t *testing.T) {
	f, _ := figures(t, "../../analysis/waits/testdata/omp/traces.otf2")
	idle := func(ticks int64) []causes.IdleTime {
		return []causes.IdleTime{{Path: []string{"main"}, Time: trace.TicksOf(ticks)}}
	}
	f.AddCauses(&causes.Result{IdleThreads: idle(20), LimitedParallelism: idle(30)})
	x := f.Cube()
	for name, expected := range map[string]float64{"delay_ompidle": 20e-6, "omp_limited_parallelism": 30e-6} {
		if v := x.Metric(name).At(0, 0); math.Abs(v-expected) > 1e-12 {
			t.Errorf("%s: found %g s in %q, expected %g s", name, v, x.PathNames(0), expected)
		}
	}
}

// TestImplicitTasks checks that times and waits of a thread have the same call path in a trace of OpenMP as EZTrace
// records it with OMPT. The second thread comes to the barrier at 1010 and waits for the first one until 3010. It is in
// the barrier until 3020.
func TestImplicitTasks(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	process := r.Process("process", r.Machine("node"))
	working, task, barrier := r.Region("Working"), r.Region("OpenMP implicit task"), r.Region("OpenMP implicit barrier")
	parallel := r.Region("OpenMP parallel")
	threads := []uint32{r.Thread("first", process), r.Thread("second", process)}
	for _, thread := range threads {
		r.Enter(thread, 0, working)
	}
	r.Enter(threads[0], 0, task) // executes the whole program
	r.Enter(threads[0], 10, parallel)
	for i, come := range []int64{3010, 1010} {
		r.Enter(threads[i], 10, task)
		r.Enter(threads[i], come, barrier)
		r.Leave(threads[i], 3020, barrier)
		r.Leave(threads[i], 3020, task)
	}
	r.Leave(threads[0], 3020, parallel)
	r.Leave(threads[0], 3030, task)
	for _, thread := range threads {
		r.Leave(thread, 3030, working)
	}
	events := format.Recorded(r)
	opt := calltree.Options{Rows: trace.NewRows(r.Defs())}
	f, err := New(t.Context(), events, trace.Everything(), opt)
	if err != nil {
		t.Fatal(err)
	}
	w, err := waits.Find(t.Context(), events, waits.Options{Rows: opt.Rows})
	if err != nil {
		t.Fatal(err)
	}
	f.AddWaits(w)
	x := f.Cube()
	var found []string
	for i := range x.Paths {
		if names := x.PathNames(i); names[len(names)-1] == "OpenMP implicit barrier" {
			found = append(found, fmt.Sprintf("%s: %.6f %.6f", strings.Join(names, "/"), x.Metric("time").At(i, 1),
				x.Metric("omp_ibarrier_wait").At(i, 1)))
		}
	}
	want := []string{"Working/OpenMP implicit task/OpenMP parallel/OpenMP implicit task/OpenMP implicit barrier: " +
		"0.002010 0.002000"}
	if !slices.Equal(found, want) {
		t.Errorf("found %q, expected %q", found, want)
	}
}
