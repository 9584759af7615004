package explain_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-trace/weft/analysis/causes"
	"github.com/weft-trace/weft/analysis/explain"
	"github.com/weft-trace/weft/analysis/waits"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/otf"
	"github.com/weft-trace/weft/format/otf2"
	"github.com/weft-trace/weft/format/pallas"
	"github.com/weft-trace/weft/generate"
	"github.com/weft-trace/weft/trace"
)

const ms = 1_000_000 // ticks

// planted lists problems that the generator can plant, with the expected results. Amounts are those
// of one iteration of 8 processes that compute for 100 ms, computed by hand.
var planted = []struct {
	name             string
	problems         generate.Problems
	threads          int
	id, region       string // of the expected finding; region is the last one of its path
	location, places string // of the location that causes the waits, and a part of the finding's title
	// gain is in ticks; waits has the ticks by wait pattern.
	gain    int64
	waits   map[string]int64
	growing bool // gain grows with the iterations: it is 0 in the first one, and gain more in each further one
}{
	// Rank 5 begins to receive 3 µs after all ranks would have sent. Ranks 4 and 5 come late to the
	// barrier.
	{"late-sender", generate.Problems{LateSender: 50 * ms}, 1, "late", "pack", "rank 4", "rank 4", 50 * ms,
		map[string]int64{"late-sender": 50*ms - 3000, "wait-at-barrier": 6 * 50 * ms}, false},
	// The same with two threads in each process. The second threads are idle meanwhile, so that the waits of 28 ms
	// are less than 2 % of the time of all 16 threads. The gain is more than 3 % of the runtime.
	{"late-sender", generate.Problems{LateSender: 4 * ms}, 2, "late", "pack", "rank 4", "rank 4", 4 * ms,
		map[string]int64{"late-sender": 4*ms - 3000, "wait-at-barrier": 6 * 4 * ms}, false},
	// Ranks compute for 50 ms + rank/7 · 100 ms until all have computed for 150 ms. So they wait
	// for 8 · 150 ms - 8 · 100 ms in all. Six of the times are fractions that are rounded down, by
	// 3 ns in all: the numerators of 100e6/7, …, 600e6/7 leave 21 sevenths.
	{"imbalance", generate.Problems{Imbalance: 3}, 1, "late", "compute", "rank 7", "some locations", 50 * ms,
		map[string]int64{"wait-at-nxn": 400*ms + 3}, false},
	{"serial", generate.Problems{Serial: 100 * ms}, 1, "late", "serial", "rank 0", "rank 0", 100 * ms,
		map[string]int64{"late-broadcast": 7 * 100 * ms}, false},
	{"slow-node", generate.Problems{SlowNode: 1.5}, 1, "late", "compute", "rank 4", "node 1", 50 * ms,
		map[string]int64{"wait-at-nxn": 4 * 50 * ms}, false},
	// The four threads of a process wait for 0, 20, 40 and 60 ms at the lock, and for 60, 40, 20
	// and 0 ms at the barrier.
	{"lock", generate.Problems{Lock: 20 * ms}, 4, "lock", "!$omp critical sblock", "", "sblock", 60 * ms,
		map[string]int64{"lock-contention": 8 * 120 * ms, "wait-at-implicit-omp-barrier": 8 * 120 * ms}, false},
	{"slowing", generate.Problems{Slowing: 0.02}, 1, "slowing", "compute", "", "compute", 2 * ms, nil, true},
	{"noise", generate.Problems{Noise: 0.2}, 1, "noise", "compute", "", "compute", 20 * ms,
		map[string]int64{"wait-at-nxn": 7 * 20 * ms}, false},
}

// generated returns a generated trace.
func generated(t *testing.T, o generate.Options) *generate.Trace {
	t.Helper()
	o.Workload, o.Seed = "phases", 1
	g, err := generate.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// property returns the value of a property of a trace, which must be an integer.
func property(t *testing.T, d *trace.Definitions, key string) int64 {
	t.Helper()
	for _, a := range d.Properties.All() {
		if a.Key == key {
			n, err := strconv.ParseInt(a.Value.String(), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("found no property %s", key)
	return 0
}

// recordedWaits returns the waits in ticks by pattern that the generator has recorded in the
// trace's properties.
func recordedWaits(t *testing.T, d *trace.Definitions) map[string]int64 {
	t.Helper()
	all := map[string]int64{}
	for _, a := range d.Properties.All() {
		if _, pattern, ok := strings.Cut(a.Key, ".wait."); ok {
			all[pattern] += property(t, d, a.Key)
		}
	}
	return all
}

// foundWaits returns the waits in ticks by pattern that the analysis finds.
func foundWaits(t *testing.T, e format.Events) map[string]int64 {
	t.Helper()
	r, err := waits.Find(context.Background(), e, waits.Options{Rows: trace.NewRows(e.Defs())})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Unjudged) > 0 || r.Violations != (waits.Violations{}) {
		t.Errorf("found %+v, %+v, expected that all is judged", r.Unjudged, r.Violations)
	}
	all := map[string]int64{}
	for _, p := range r.Patterns {
		all[p.Pattern] = p.Time.Int64()
	}
	return all
}

// explained explains a trace.
func explained(t *testing.T, e format.Events) *explain.Page {
	t.Helper()
	p, ok, err := explain.Explain(context.Background(), e, explain.Options{Rows: trace.NewRows(e.Defs())})
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	return p
}

// TestSmallDelays checks the waits of a rank that is late by about 3 µs, the time after which its receiver is ready. If
// the delay is between 1 and 3 µs, MPI_Send ends after that, and has waited for the receiver.
func TestSmallDelays(t *testing.T) {
	for _, delay := range []int64{1, 1000, 1001, 2000, 2999, 3000, 3001} {
		g := generated(t, generate.Options{Events: 500, Locations: 4, Problems: generate.Problems{LateSender: delay}})
		recorded, found := recordedWaits(t, g.Defs()), foundWaits(t, g)
		maps.DeleteFunc(recorded, func(_ string, n int64) bool { return n == 0 })
		maps.DeleteFunc(found, func(_ string, n int64) bool { return n == 0 })
		if !maps.Equal(recorded, found) {
			t.Errorf("%d ns: recorded %v, found %v", delay, recorded, found)
		}
	}
}

// TestPlanted writes each planted problem in several formats. It checks that the analyses find its
// waits and its place, and that the gain is the difference from the runtime without the problem.
func TestPlanted(t *testing.T) {
	for _, x := range planted {
		o := generate.Options{Events: 4000, Locations: 8, Threads: x.threads, Problems: x.problems}
		bad := generated(t, o)
		o.Problems = generate.Problems{}
		good := explained(t, generated(t, o)).Ran.Runtime
		for name, f := range map[string]format.Format{"otf2": otf2.Format{}, "otf": otf.Format{}, "pallas": pallas.Format{}} {
			t.Run(fmt.Sprintf("%s of %d threads, %s", x.name, x.threads, name), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "x."+name)
				if err := format.SaveEvents(context.Background(), path, f, bad); err != nil {
					t.Fatal(err)
				}
				e, err := f.Open(context.Background(), format.FileSource(path), &format.ReadOptions{})
				if err != nil {
					t.Fatal(err)
				}
				defer e.Close()
				n := property(t, e.Defs(), "iterations")
				gain, expected := n*x.gain, map[string]int64{}
				if x.growing {
					gain = n * (n - 1) / 2 * x.gain
				}
				for pattern, time := range x.waits {
					expected[pattern] = n * time
				}
				if found := foundWaits(t, e); !maps.Equal(found, expected) {
					t.Errorf("found %v, expected %v", found, expected)
				}
				if found := recordedWaits(t, e.Defs()); !maps.Equal(found, expected) {
					t.Errorf("found %v in the properties, expected %v", found, expected)
				}
				if found := property(t, e.Defs(), "plant."+x.name+".gain"); found != gain {
					t.Errorf("found the gain %d in the properties, expected %d", found, gain)
				}
				checkCosts(t, e, x.region, x.location)
				p := explained(t, e)
				if p.Ran.Runtime-good != gain || property(t, e.Defs(), "runtime") != p.Ran.Runtime {
					t.Errorf("found a run longer by %d, expected %d", p.Ran.Runtime-good, gain)
				}
				if len(p.Findings) == 0 {
					t.Fatalf("found nothing: %s", p.Verdict)
				}
				first := p.Findings[0]
				if first.ID != x.id || first.Path[len(first.Path)-1] != x.region || !strings.Contains(first.Title, x.places) {
					t.Errorf("found %+v, expected %s in %s at %s", first, x.id, x.region, x.places)
				}
				if math.Abs(float64(first.Gain-gain)) > 0.02*float64(gain) {
					t.Errorf("found a gain of %d, expected %d", first.Gain, gain)
				}
			})
		}
	}
}

// checkCosts checks for each pattern that the costs outside of a region, and outside of a location
// unless its name is empty, are at most (share + 0.01) of the waiting time.
func checkCosts(t *testing.T, e format.Events, region, location string) {
	t.Helper()
	r, err := causes.Find(context.Background(), e, causes.Options{Rows: trace.NewRows(e.Defs())})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Patterns {
		other := 0.0
		for _, c := range p.Costs {
			if len(c.Path) == 0 || c.Path[len(c.Path)-1] != region || location != "" && c.LocationName != location {
				other += c.ShortTerm + c.LongTerm
			}
		}
		if other > 0.01*p.Waiting.Float() {
			t.Errorf("found costs of %g elsewhere for %s of %v: %+v", other, p.Pattern, p.Waiting, p.Costs[0])
		}
	}
}

// TestFewRanks checks that a late sender of a few ranks is found. All of its waits at the barrier are those of ranks
// that have exchanged a message with it in the same iteration.
func TestFewRanks(t *testing.T) {
	for n, late := range map[int]int64{3: 5 * ms, 4: 4 * ms, 5: 3 * ms} {
		g := generated(t, generate.Options{Events: 4000, Locations: n, Problems: generate.Problems{LateSender: late}})
		gain := property(t, g.Defs(), "plant.late-sender.gain")
		p := explained(t, g)
		if len(p.Findings) != 1 || p.Findings[0].ID != "late" ||
			math.Abs(float64(p.Findings[0].Gain-gain)) > 0.02*float64(gain) {
			t.Errorf("%d ranks: found %+v, expected a gain of %d", n, p.Findings, gain)
		}
		checkCosts(t, g, "pack", "")
	}
}

// TestNoiseOfFewIterations checks that noise is found in a few iterations, in each of which another rank computes for
// 300 % longer. If all times of these ranks were shorter by one factor, the run would win more than half of that.
func TestNoiseOfFewIterations(t *testing.T) {
	for _, threads := range []int{1, 2} {
		for events := int64(400); events < 1600; events += 200 {
			g := generated(t, generate.Options{Events: events, Locations: 8, Threads: threads,
				Problems: generate.Problems{Noise: 3}})
			n := property(t, g.Defs(), "iterations")
			if n == 1 {
				continue // one rank is slower than all others
			}
			p := explained(t, g)
			if len(p.Findings) == 0 || p.Findings[0].ID != "noise" || p.Findings[0].Gain != 300*ms*n {
				t.Errorf("%d iterations, %d threads: found %+v, expected noise with a gain of 300 ms each", n, threads,
					p.Findings)
			}
		}
	}
}

// TestGainOfSmallLoss checks that a cause is found whose gain is above 2 % of the runtime, although its loss is less
// than 2 % of the time of all locations. In the first run, half of the ranks compute for 10 ms longer in each iteration
// of 290 ms. Of 24 threads, only the 4 first ones of the other ranks wait for that. In the second run, the times of
// three ranks of two threads are in the ratio of 11 to 10. As they also wait for locks, most of the waits for the
// slowest rank are costs of the calls in which locks are held.
func TestGainOfSmallLoss(t *testing.T) {
	for planted, o := range map[string]generate.Options{
		"slow-node": {Locations: 8, Threads: 3, Problems: generate.Problems{
			SlowNode: 1.1, LateSender: 60 * ms, Serial: 70 * ms, Lock: 5 * ms}},
		"imbalance": {Locations: 6, Threads: 2, Problems: generate.Problems{Imbalance: 1.1, Lock: 60 * ms}},
	} {
		o.Events = 4000
		g := generated(t, o)
		gain := property(t, g.Defs(), "plant."+planted+".gain")
		p := explained(t, g)
		i := slices.IndexFunc(p.Findings, func(f explain.Finding) bool {
			return f.ID == "late" && f.Path[len(f.Path)-1] == "compute"
		})
		if i < 0 {
			t.Errorf("%s: found %+v, expected compute among them", planted, p.Findings)
			continue
		}
		if f := p.Findings[i]; f.LossShare >= 0.02 || math.Abs(float64(f.Gain-gain)) > 0.02*float64(gain) {
			t.Errorf("%s: found %+v, expected a gain of %d", planted, f, gain)
		}
	}
}

// TestNothingPlanted checks that a run without problems has no waits and no findings.
func TestNothingPlanted(t *testing.T) {
	for _, o := range []generate.Options{{Locations: 1}, {Locations: 2}, {Locations: 8}, {Locations: 5, Threads: 3}} {
		o.Events = 4000
		g := generated(t, o)
		if found := foundWaits(t, g); len(found) > 0 {
			t.Errorf("%+v: found %v, expected no waits", o, found)
		}
		if p := explained(t, g); len(p.Findings) > 0 {
			t.Errorf("%+v: found %+v, expected nothing", o, p.Findings)
		}
	}
}

// TestPlantedTogether checks, for several numbers of processes, that the amounts of several
// problems add up.
func TestPlantedTogether(t *testing.T) {
	all := generate.Problems{LateSender: 7 * ms, Serial: 3 * ms, Lock: 8 * ms, Slowing: 0.013}
	for _, n := range []int{2, 3, 5, 13, 16} {
		for _, uneven := range []string{"none", "imbalance", "slow node", "noise"} {
			o := generate.Options{Events: 2000, Locations: n, Threads: 3, Compute: 17*ms + 1, Problems: all}
			switch {
			case uneven == "imbalance" && n > 2:
				o.Problems.Imbalance = 2.7
			case uneven == "slow node" && n > 4:
				o.Problems.SlowNode = 1.37
			case uneven == "noise" && n > 2:
				o.Problems.Noise = 0.31
			}
			t.Run(fmt.Sprint(n, " ", uneven), func(t *testing.T) {
				g := generated(t, o)
				expected := recordedWaits(t, g.Defs())
				maps.DeleteFunc(expected, func(_ string, time int64) bool { return time == 0 })
				if found := foundWaits(t, g); !maps.Equal(found, expected) {
					t.Errorf("found %v, expected %v", found, expected)
				}
				gain := int64(0)
				for _, a := range g.Defs().Properties.All() {
					if strings.HasSuffix(a.Key, ".gain") {
						gain += property(t, g.Defs(), a.Key)
					}
				}
				runtime := explained(t, g).Ran.Runtime
				o.Problems = generate.Problems{}
				if found := runtime - explained(t, generated(t, o)).Ran.Runtime; found != gain {
					t.Errorf("found a run longer by %d, expected %d", found, gain)
				}
			})
		}
	}
}

// TestFewSlowingIterations checks that a growth is found in six iterations, whose times are 100, 105, …, 125 ms: the
// run would be shorter by 5 + 10 + 15 + 20 + 25 ms.
func TestFewSlowingIterations(t *testing.T) {
	g := generated(t, generate.Options{Events: 1050, Locations: 8, Problems: generate.Problems{Slowing: 0.05}})
	if n := property(t, g.Defs(), "iterations"); n != 6 {
		t.Fatalf("found %d iterations, expected 6", n)
	}
	p := explained(t, g)
	if len(p.Findings) == 0 || p.Findings[0].ID != "slowing" || p.Findings[0].Gain != 75*ms {
		t.Errorf("found %+v, expected the finding slowing with a gain of 75 ms", p.Findings)
	}
}

// TestSerialWorkOfOneProcess checks a process of four threads, the first of which works alone for 100 ms in each
// iteration. If all threads did their part of this work, it would take 25 ms.
func TestSerialWorkOfOneProcess(t *testing.T) {
	g := generated(t, generate.Options{Locations: 1, Threads: 4, Events: 4000,
		Problems: generate.Problems{Serial: 100 * ms}})
	want := property(t, g.Defs(), "iterations") * 75 * ms
	if got := property(t, g.Defs(), "plant.serial.gain"); got != want {
		t.Errorf("recorded gain %d, expected %d", got, want)
	}
	p, ok, err := explain.Explain(t.Context(), g, explain.Options{Rows: trace.NewRows(g.Defs())})
	if err != nil || !ok || len(p.Findings) == 0 {
		t.Fatalf("found %+v, %t, %v, expected a finding", p, ok, err)
	}
	if f := p.Findings[0]; f.ID != "serial" || math.Abs(float64(f.Gain-want)) > 0.02*float64(want) {
		t.Errorf("found %s with gain %d first, expected serial with %d", f.ID, f.Gain, want)
	}
}

// TestSmallSerialShare checks the title for a share below 1 %. In each of 5 iterations of 120.06 ms, one of 32
// processes works alone for 20 ms and the others for 5 µs, and 3 of their 4 threads are idle. So
// 3/4 · (20 + 32 · 0.005) ms / 32 of 120.06 ms are lost: 0.4 %.
func TestSmallSerialShare(t *testing.T) {
	g := generated(t, generate.Options{Locations: 32, Threads: 4, Events: 8000,
		Problems: generate.Problems{LateSender: 20 * ms}})
	expected := "One thread of a process works alone for 0.4 % of the time of all threads"
	if f := find(t, explained(t, g), "serial"); f.Title != expected {
		t.Errorf("found %q, expected %q", f.Title, expected)
	}
}
