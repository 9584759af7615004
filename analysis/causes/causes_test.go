package causes_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"testing"

	"github.com/weft-trace/weft/analysis/causes"
	"github.com/weft-trace/weft/analysis/internal/testtrace"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/otf2"
	"github.com/weft-trace/weft/trace"
)

// scoutNames maps the metrics of Scalasca's analyser to patterns; long is set for long-term costs.
var scoutNames = map[string]struct {
	pattern string
	long    bool
}{
	"delay_latesender": {"late-sender", false}, "delay_latesender_longterm": {"late-sender", true},
	"delay_latereceiver": {"late-receiver", false}, "delay_latereceiver_longterm": {"late-receiver", true},
	"delay_barrier": {"wait-at-barrier", false}, "delay_barrier_longterm": {"wait-at-barrier", true},
	"delay_n2n": {"wait-at-nxn", false}, "delay_n2n_longterm": {"wait-at-nxn", true},
	"delay_12n": {"late-broadcast", false}, "delay_12n_longterm": {"late-broadcast", true},
	"delay_ompbarrier":          {"wait-at-implicit-omp-barrier", false},
	"delay_ompbarrier_longterm": {"wait-at-implicit-omp-barrier", true},
}

// TestScout compares the costs with those of Scalasca's analyser. It reports them in whole
// microseconds, which are ticks of the traces.
func TestScout(t *testing.T) {
	for _, name := range []string{"hand", "p2p", "omp"} {
		dir := "../waits/testdata/" + name
		r := find(t, dir+"/traces.otf2")
		expected, indirect := map[string]float64{}, 0.0
		for _, f := range testtrace.ReadScout(t, dir+"/scout.txt") {
			x, ok := scoutNames[f.Metric]
			switch {
			case f.Metric == "mpi_wait_indirect_latesender":
				indirect += f.Value
			case f.Metric == "delay_ompidle" && f.Value > 0:
				expected[fmt.Sprint("idle-threads false ", f.Path, " ", f.Location)] = f.Value
			case ok && f.Value > 0:
				expected[fmt.Sprint(x.pattern, " ", x.long, " ", f.Path, " ", f.Location)] = f.Value
			}
		}
		found := map[string]float64{}
		for _, p := range r.Patterns {
			if p.Pattern == "late-sender" && math.Abs(p.Indirect-indirect) > 1 {
				t.Errorf("%s: found indirect waits of %g, expected %g", name, p.Indirect, indirect)
			}
			if sum := p.ShortTerm + p.LongTerm; math.Abs(sum-p.Waiting.Float()) > 1e-6*sum {
				t.Errorf("%s: %s: found costs of %g, expected the waiting time, %v", name, p.Pattern, sum, p.Waiting)
			}
			if p.Pattern == "early-reduce" || p.Pattern == "wait-at-finalize" || p.Pattern == "lock-contention" {
				continue // the analyser has no causes for these patterns
			}
			for _, c := range p.Costs {
				for _, x := range []struct {
					long bool
					cost float64
				}{{false, c.ShortTerm}, {true, c.LongTerm}} {
					if x.cost > 0 {
						found[fmt.Sprint(p.Pattern, " ", x.long, " ", testtrace.ShownPath(c.Path), " ", c.Location)] = x.cost
					}
				}
			}
		}
		for _, x := range r.IdleThreads {
			found[fmt.Sprint("idle-threads false ", testtrace.ShownPath(x.Path), " ", x.Location)] = x.Time.Float()
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
		if len(expected) == 0 {
			t.Errorf("%s: found no figures", name)
		}
	}
}

// find returns the causes of the waits of the trace in a file.
func find(t *testing.T, path string) *causes.Result {
	t.Helper()
	d, err := otf2.Format{}.Open(context.Background(), format.FileSource(path), &format.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	r, err := causes.Find(context.Background(), d, causes.Options{Rows: trace.NewRows(d.Defs())})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestEqualEnds checks waits that end at the same time, in [testtrace.Chain]. By hand: b has spent 60 in main where c
// has spent 50, and has waited for 40. So main at b costs 10, and main at a costs the other 40 of c's wait, in addition
// to the 100 - 60 of b's wait.
func TestEqualEnds(t *testing.T) {
	for _, ranks := range testtrace.Orders() {
		events := format.Recorded(testtrace.Chain(ranks))
		r, err := causes.Find(context.Background(), events, causes.Options{Rows: trace.NewRows(events.Defs())})
		if err != nil {
			t.Fatal(err)
		}
		found := map[uint32][2]float64{}
		for _, c := range r.Patterns[0].Costs {
			found[c.Location] = [2]float64{c.ShortTerm, c.LongTerm}
		}
		expected := map[uint32][2]float64{ranks[0]: {40, 40}, ranks[1]: {10, 0}}
		if !maps.Equal(found, expected) {
			t.Errorf("ranks %v: found costs of %v, expected %v", ranks, found, expected)
		}
	}
}

// TestCreatedThread checks that the times before a thread is created do not count. Thread 0 works until 100 and creates
// thread 1 in a call until 102. It waits from 110 on for thread 1, which begins at 105 and ends at 162. By hand, since
// 102: thread 1 has spent 3 + 1 outside of all regions, 2 in main, 50 in work and 4 in io, and thread 0 has spent 8 in
// main. So the excess is 4 + 50 + 4 = 58, and each tick of it costs 52/58.
func TestCreatedThread(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	process := r.Process("p", r.Machine("m"))
	first, second := r.Thread("0", process), r.Thread("1", process)
	visit := func(thread uint32, name string, enter, leave int64) {
		r.Enter(thread, enter, r.Region(name))
		r.Leave(thread, leave, r.Region(name))
	}
	r.Enter(first, 0, r.Region("main"))
	visit(first, "work", 0, 100)
	visit(first, "pthread_create", 100, 102)
	visit(first, "pthread_join", 110, 165)
	r.Leave(first, 170, r.Region("main"))
	r.Event(second, 105, trace.ThreadBegin, trace.NoRef, nil)
	r.Enter(second, 105, r.Region("main"))
	visit(second, "work", 106, 156)
	visit(second, "io", 156, 160)
	r.Leave(second, 161, r.Region("main"))
	r.Event(second, 162, trace.ThreadEnd, trace.NoRef, nil)
	x, err := causes.Find(t.Context(), format.Recorded(r), causes.Options{Rows: trace.NewRows(r.Defs())})
	if err != nil {
		t.Fatal(err)
	}
	found, expected := map[string]float64{}, map[string]float64{"[main work]": 50, "[main io]": 4, "[]": 4}
	for _, c := range x.Patterns[0].Costs {
		found[fmt.Sprint(c.Path)] = math.Round(1e6*c.ShortTerm*58/52) / 1e6
	}
	if len(x.Patterns) != 1 || x.Patterns[0].Waiting.Int64() != 52 || !maps.Equal(found, expected) {
		t.Errorf("found %v in %+v, expected %v", found, x.Patterns, expected)
	}
}

// TestLateToOperationOutsideCalls checks a rest whose location came late to a collective operation outside of all
// regions, as OTF records them. Rank a works until 100 and has reduced at 101. Then it polls until 200, and waits for
// rank b in a barrier until 1102. Rank b works until 1100 and reduces until 1101. Since the reduction it has spent 2
// outside of all regions, and a has spent 99 in poll. Before, b has worked for 1000 longer than a, which had left the
// reduction 999 before b came. So work at b costs the other 900.
func TestLateToOperationOutsideCalls(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	d, machine := r.Defs(), r.Machine("m")
	a, b := r.Thread("a", r.Process("a", machine)), r.Thread("b", r.Process("b", machine))
	set := d.Sets.Add(trace.Set{ID: "0", Kind: "locations", Members: []int64{1, 0}}) // the ids of b and a
	comm := uint64(d.Communicator.Add(trace.Communicator{ID: "0", Set: set}))
	operate := func(loc uint32, begin, end int64, operation string, root, sent, received uint64) {
		number, _ := trace.OperationNumber(operation)
		r.Event(loc, begin, trace.CollectiveBegin, trace.NoRef, nil)
		ops := []uint64{number, comm, root, sent, received, trace.Undefined}
		r.Event(loc, end, trace.CollectiveEnd, trace.NoRef, ops)
	}
	visit := func(loc uint32, name string, enter, leave int64) {
		r.Enter(loc, enter, r.Region(name))
		r.Leave(loc, leave, r.Region(name))
	}
	visit(a, "work", 0, 100)
	operate(a, 100, 101, "reduce", 0, 8, 0)
	visit(a, "poll", 101, 200)
	operate(a, 200, 1103, "barrier", trace.Undefined, 0, 0)
	visit(b, "work", 0, 1100)
	operate(b, 1100, 1101, "reduce", 0, 0, 8)
	operate(b, 1102, 1103, "barrier", trace.Undefined, 0, 0)
	x, err := causes.Find(t.Context(), format.Recorded(r), causes.Options{Rows: trace.NewRows(d)})
	if err != nil {
		t.Fatal(err)
	}
	found, expected := map[string]float64{}, map[string]float64{"[work]": 900, "[]": 2}
	for _, c := range x.Patterns[0].Costs {
		found[fmt.Sprint(c.Path)] += math.Round(1e6*c.ShortTerm) / 1e6
	}
	if len(x.Patterns) != 1 || x.Patterns[0].Waiting.Int64() != 902 || !maps.Equal(found, expected) {
		t.Errorf("found %v in %+v, expected %v", found, x.Patterns, expected)
	}
}
