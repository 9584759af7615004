package waits_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/analysis/causes"
	"github.com/weft-trace/weft/analysis/criticalpath"
	"github.com/weft-trace/weft/analysis/efficiency"
	"github.com/weft-trace/weft/analysis/waits"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// eachProgram runs a test with the trace of each random program.
func eachProgram(t *testing.T, f func(t *testing.T, rec *trace.Recorder, events format.Events)) {
	for _, o := range slices.Concat(programs(), programsWithOperations(), programsWithWindows(), largePrograms()) {
		t.Run(fmt.Sprint(o.seed), func(t *testing.T) {
			rec := simulate(o)
			f(t, rec, format.Recorded(rec))
		})
	}
	for seed := range uint64(16) {
		t.Run(fmt.Sprint("devices ", seed), func(t *testing.T) {
			rec := simulateDevices(seed, seed%2 == 0)
			f(t, rec, format.Recorded(rec))
		})
	}
	for seed := range uint64(threadPrograms / 4) {
		t.Run(fmt.Sprint("threads ", seed), func(t *testing.T) {
			rec, _ := simulateThreads(seed)
			f(t, rec, format.Recorded(rec))
		})
	}
}

// visit is a visit of a region, with times in ticks.
type visit struct{ enter, leave int64 }

// visitsOf returns the visits by region and location.
func visitsOf(rec *trace.Recorder) map[string][]visit {
	out := map[string][]visit{}
	for loc := range rec.Defs().Locations.All() {
		var open []int64
		for _, b := range rec.Batches(uint32(loc)) {
			c := b.Cursor()
			for c.Next() {
				switch c.Kind() {
				case trace.Enter:
					open = append(open, c.Time())
				case trace.Leave:
					k := fmt.Sprint(loc, " ", rec.Defs().Regions.At(c.Ref()).Name)
					out[k] = append(out[k], visit{open[len(open)-1], c.Time()})
					open = open[:len(open)-1]
				}
			}
		}
	}
	return out
}

// TestWaitsAreInCalls checks that each wait lies inside of a call.
func TestWaitsAreInCalls(t *testing.T) {
	eachProgram(t, func(t *testing.T, rec *trace.Recorder, events format.Events) { checkCalls(t, rec, events) })
}

// checkCalls checks that each wait of a trace in a region lies inside of a call, and returns the number of waits.
func checkCalls(t *testing.T, rec *trace.Recorder, events format.Events) (n int) {
	t.Helper()
	visits := visitsOf(rec)
	r := find(t, events, waits.Options{Worst: 1 << 20})
	for _, p := range r.Patterns {
		if int64(len(p.Worst)) != p.Count {
			t.Fatalf("%s: found %d waits in the list, expected %d", p.Pattern, len(p.Worst), p.Count)
		}
		for _, w := range p.Worst {
			n++
			if len(w.Path) == 0 { // an operation outside of all regions, from its begin to its end
				continue
			}
			region := w.Path[len(w.Path)-1]
			in := slices.ContainsFunc(visits[fmt.Sprint(w.Location, " ", region)], func(v visit) bool {
				return v.enter <= w.Begin && w.Begin+w.Time <= v.leave
			})
			if w.Time <= 0 || !in {
				t.Errorf("%s: found a wait of %d at %d that no visit of %s contains", p.Pattern, w.Time, w.Begin, region)
			}
		}
	}
	return n
}

// TestCostsAreWaits checks that short-term and long-term costs add up to the waiting time of each pattern, also if the
// late locations pass on what no excess explains.
func TestCostsAreWaits(t *testing.T) {
	eachProgram(t, func(t *testing.T, _ *trace.Recorder, events format.Events) {
		rows := trace.NewRows(events.Defs())
		c, err := causes.Find(context.Background(), events, causes.Options{Rows: rows})
		if err != nil {
			t.Fatal(err)
		}
		waiting := map[string]float64{}
		for _, p := range find(t, events, waits.Options{}).Patterns {
			if p.PartOf == "" && !strings.HasSuffix(p.Pattern, "-completion") {
				waiting[p.Pattern] = p.Time.Float()
			}
		}
		for _, p := range c.Patterns {
			checkCosts(t, &p, waiting[p.Pattern])
			delete(waiting, p.Pattern)
		}
		if len(waiting) > 0 {
			t.Errorf("found no causes of %v", waiting)
		}
		if c, err = causes.Find(t.Context(), events, causes.Options{Rows: rows, Ends: true}); err != nil {
			t.Fatal(err)
		}
		for _, p := range c.Patterns {
			checkCosts(t, &p, p.Waiting.Float())
		}
		if c.Ends != nil {
			checkCosts(t, c.Ends, c.Ends.Waiting.Float())
		}
	})
}

// checkCosts checks that the costs of a pattern add up to its waiting time.
func checkCosts(t *testing.T, p *causes.Pattern, waiting float64) {
	sum := 0.0
	for _, x := range p.Costs {
		if x.ShortTerm < 0 || x.LongTerm < 0 {
			t.Errorf("%s: found the cost %+v, expected none below 0", p.Pattern, x)
		}
		sum += x.ShortTerm + x.LongTerm
	}
	if math.Abs(sum-waiting) > 1e-6*sum {
		t.Errorf("%s: found costs of %v, expected %v", p.Pattern, sum, waiting)
	}
}

// TestCostsOfDifferingClocks checks that costs add up to waiting times if clocks differ, so that waits end before their
// causes.
func TestCostsOfDifferingClocks(t *testing.T) {
	eachProgram(t, func(t *testing.T, _ *trace.Recorder, events format.Events) {
		for _, most := range []int64{50, 1000} {
			curves := map[string]transform.Curve{}
			for i, l := range events.Defs().Locations.All() {
				curves[l.ID] = transform.Curve{{Read: 0, True: int64(i) * 7919 % most}}
			}
			e, err := transform.Correct(events, &transform.Correction{Clock: events.Defs().Clock, Locations: curves}, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, ends := range []bool{false, true} {
				c, err := causes.Find(t.Context(), e, causes.Options{Rows: trace.NewRows(e.Defs()), Ends: ends})
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range c.Patterns {
					checkCosts(t, &p, p.Waiting.Float())
				}
			}
		}
	})
}

// TestPathIsWhole checks that the pieces of the critical path follow one another without gaps, and
// that the times of each division of the path add up to its length.
func TestPathIsWhole(t *testing.T) {
	eachProgram(t, func(t *testing.T, _ *trace.Recorder, events format.Events) {
		r, err := criticalpath.Find(context.Background(), events, criticalpath.Options{Rows: trace.NewRows(events.Defs()),
			Paths: true})
		if err != nil {
			t.Fatal(err)
		}
		at := r.Begin
		for p := range r.Pieces.All() {
			if p.From != at || p.To <= p.From {
				t.Errorf("found the piece %+v, expected one from %d", p, at)
			}
			at = p.To
		}
		if at != r.End || r.Length != r.End-r.Begin {
			t.Errorf("found pieces up to %d and the length %d, expected %d and %d", at, r.Length, r.End, r.End-r.Begin)
		}
		var regions, paths, locations int64
		for _, x := range r.Regions {
			regions += x.Time
		}
		for _, x := range r.Paths {
			paths += x.Critical
			if x.Critical < 0 || x.Activities < 0 || x.NonCritical < 0 {
				t.Errorf("found times below 0: %+v", x)
			}
		}
		for _, x := range r.Locations {
			locations += x.Time
		}
		if regions != r.Length || paths != r.Length || locations != r.Length {
			t.Errorf("found sums of %d, %d and %d, expected %d", regions, paths, locations, r.Length)
		}
	})
}

// TestRetimedRuns checks that the computed runtime with unchanged times equals that of the trace,
// and that it does not grow when regions become faster.
func TestRetimedRuns(t *testing.T) {
	eachProgram(t, func(t *testing.T, rec *trace.Recorder, events format.Events) {
		if rec.Defs().Locations.Len() > 8 {
			t.Skip("takes long")
		}
		runtimeOf := func(changes ...criticalpath.Change) int64 {
			r, err := criticalpath.Find(context.Background(), events, criticalpath.Options{WhatIf: changes,
				Rows: trace.NewRows(events.Defs())})
			if err != nil {
				t.Fatal(err)
			}
			return *r.WhatIf
		}
		begin, end, _, err := format.Extent(context.Background(), events)
		if err != nil {
			t.Fatal(err)
		}
		regions := append(rec.Defs().Regions.All(), trace.Region{Name: criticalpath.Communication})
		step := effort.Step(len(regions), 6)
		for k := int(end) % step; k < len(regions); k += step { // other regions in each program
			r, last := regions[k], end-begin
			for i, f := range []float64{1, 0.75, 0.5, 0.25, 0} {
				x := runtimeOf(criticalpath.Change{Region: r.Name, Factor: f})
				if i == 0 && x != last {
					t.Errorf("%s with its own time: found %d, expected %d", r.Name, x, last)
				}
				// Each scaled time is rounded by at most half a tick.
				if x > last+50 {
					t.Errorf("%s × %v: found %d, expected at most %d", r.Name, f, x, last)
				}
				last = x
			}
		}
		e, ok, err := efficiency.Find(context.Background(), events, efficiency.Options{Rows: trace.NewRows(events.Defs())})
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		if e.Ideal > e.Runtime || e.Ideal < e.UsefulMax || e.Runtime != end-begin {
			t.Errorf("found the runtime %d, ideal %d, useful %d", e.Runtime, e.Ideal, e.UsefulMax)
		}
		f := e.Factors
		for name, d := range map[string]float64{"parallel": f.Parallel - f.LoadBalance*f.Communication,
			"communication": f.Communication - f.Serialisation*f.Transfer} {
			if math.Abs(d) > 1e-12 {
				t.Errorf("%s: found a difference of %v to the product of its factors", name, d)
			}
		}
		if h := e.Hybrid; h != nil {
			for name, d := range map[string]float64{"hybrid": f.Parallel - h.MPI*h.OpenMP,
				"additive": f.Parallel - (h.Process + h.Thread - 1)} {
				if math.Abs(d) > 1e-9 {
					t.Errorf("%s: found a difference of %v to the parallel efficiency", name, d)
				}
			}
		}
	})
}

// TestWindowsAddUp checks that the waits and the useful times in consecutive windows add up to those of the whole
// trace.
func TestWindowsAddUp(t *testing.T) {
	eachProgram(t, func(t *testing.T, _ *trace.Recorder, events format.Events) {
		begin, end, _, err := format.Extent(context.Background(), events)
		if err != nil {
			t.Fatal(err)
		}
		sums := func(r *waits.Result, out map[string]int64) {
			for _, p := range r.Patterns {
				for _, s := range p.PathLocations {
					out[place(p.Pattern, *s.Location, s.Path)] += s.Time.Int64()
				}
				out["count of "+p.Pattern] += p.Count
			}
		}
		costs := func(window *trace.Window, out map[string]float64) *causes.Result {
			r, err := causes.Find(context.Background(), events, causes.Options{Window: window})
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range r.Patterns {
				for _, c := range p.Costs {
					out["short-term "+place(p.Pattern, c.Location, c.Path)] += c.ShortTerm
					out["long-term "+place(p.Pattern, c.Location, c.Path)] += c.LongTerm
				}
			}
			return r
		}
		useful := func(window trace.Window) int64 {
			r, _, err := efficiency.Find(context.Background(), transform.CutRunning(events, window, nil),
				efficiency.Options{Part: true})
			if err != nil {
				t.Fatal(err)
			}
			return r.Useful.Int64()
		}
		whole, parts := map[string]int64{}, map[string]int64{}
		whole["useful"] = useful(trace.Window{From: begin, To: end + 1})
		wholeCosts, partCosts := map[string]float64{}, map[string]float64{}
		sums(find(t, events, waits.Options{}), whole)
		costs(nil, wholeCosts)
		random := rand.New(rand.NewPCG(uint64(end), 3))
		cuts := []int64{begin}
		for range 5 {
			cuts = append(cuts, begin+random.Int64N(end-begin))
		}
		cuts = append(cuts, end+1)
		slices.Sort(cuts)
		for i, from := range cuts[:len(cuts)-1] {
			window := &trace.Window{From: from, To: cuts[i+1]}
			r := find(t, events, waits.Options{Window: window})
			sums(r, parts)
			parts["useful"] += useful(*window)
			waiting := map[string]trace.Ticks{}
			for _, p := range r.Patterns {
				waiting[p.Pattern] = p.Time
			}
			for _, p := range costs(window, partCosts).Patterns {
				if p.Waiting != waiting[p.Pattern] || math.Abs(p.ShortTerm+p.LongTerm-p.Waiting.Float()) > 1e-6*p.Waiting.Float() {
					t.Errorf("%s in %v: found costs of %g + %g for %v, expected %v", p.Pattern, *window, p.ShortTerm, p.LongTerm,
						p.Waiting, waiting[p.Pattern])
				}
			}
		}
		for k, x := range wholeCosts {
			if math.Abs(partCosts[k]-x) > 1e-6*(1+x) {
				t.Errorf("%s: found %g in the windows, expected %g", k, partCosts[k], x)
			}
		}
		for k, x := range whole {
			if parts[k] != x {
				t.Errorf("%s: found %d in the windows, expected %d", k, parts[k], x)
			}
		}
		if len(parts) > len(whole) {
			t.Errorf("found %d figures in the windows, expected %d", len(parts), len(whole))
		}
	})
}

// results returns the results of all analyses of a trace as JSON.
func results(t *testing.T, events format.Events) string {
	t.Helper()
	rows := trace.NewRows(events.Defs())
	ctx := context.Background()
	w, err := waits.Find(ctx, events, waits.Options{Rows: rows, Worst: 5, Bins: 7})
	if err != nil {
		t.Fatal(err)
	}
	c, err := causes.Find(ctx, events, causes.Options{Rows: rows})
	if err != nil {
		t.Fatal(err)
	}
	p, err := criticalpath.Find(ctx, events, criticalpath.Options{Rows: rows, Gains: 5})
	if err != nil {
		t.Fatal(err)
	}
	e, _, err := efficiency.Find(ctx, events, efficiency.Options{Rows: rows})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal([]any{w, c, p, e})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// openAll opens a trace of any format.
func openAll(t *testing.T, path string, workers int) format.Events {
	t.Helper()
	f, err := all.Open(context.Background(), path, &format.ReadOptions{Workers: workers})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// save writes a trace in a format, and returns its path. If plain is set, the file has only records
// of the format itself, without carriers.
func save(t *testing.T, rec *trace.Recorder, name, file string, plain bool) (path string) {
	t.Helper()
	f, ok := format.ByName(all.Formats(), name)
	if !ok {
		t.Fatalf("found no format %s", name)
	}
	path = filepath.Join(t.TempDir(), file)
	out, err := format.CreateFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Abort()
	e, err := f.Create(out, &format.WriteOptions{Plain: plain})
	if err != nil {
		t.Fatal(err)
	}
	if err := format.Convert(context.Background(), format.Recorded(rec), trace.Everything(), e); err != nil {
		t.Fatal(err)
	}
	if err := out.Commit(); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestCoresDoNotMatter checks that the results are the same for any number of workers.
func TestCoresDoNotMatter(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, o := range programs()[:20] {
		path := save(t, simulate(o), "otf2", "traces.otf2", false)
		runtime.GOMAXPROCS(1)
		expected := results(t, openAll(t, path, 1))
		runtime.GOMAXPROCS(2)
		for range 3 {
			if found := results(t, openAll(t, path, 2)); found != expected {
				t.Errorf("%d: results of 2 cores and of 1 differ:\n%s\n%s", o.seed, found, expected)
			}
		}
	}
}

// TestFormatsDoNotMatter checks that a trace and its conversions to each format have the same
// results.
func TestFormatsDoNotMatter(t *testing.T) {
	for name, file := range map[string]string{"otf2": "traces.otf2", "otf": "trace.otf", "pallas": "trace.pallas",
		"picl": "trace.trf", "etf": "trace.etf"} {
		t.Run(name, func(t *testing.T) {
			for _, o := range append(programs()[:20], programsWithOperations()[:5]...) {
				rec := simulate(o)
				expected := results(t, format.Recorded(rec))
				found := results(t, openAll(t, save(t, rec, name, file, false), 2))
				if len(found) < 1000 || found != expected {
					t.Errorf("%d: found\n%s\nexpected\n%s", o.seed, found, expected)
				}
			}
		})
	}
}

// TestPlainFormats checks that a trace and its conversions without carriers have the same waits,
// except of patterns that the format cannot record.
func TestPlainFormats(t *testing.T) {
	// OTF has no requests, so that it does not record when a receive is posted, and no teams and
	// locks.
	lost := map[string]func(pattern string, o simOptions) bool{
		"otf2": func(string, simOptions) bool { return false },
		"otf": func(p string, o simOptions) bool {
			return strings.HasSuffix(p, "-omp-barrier") || p == "lock-contention" ||
				!o.onlyBlocking && (p == "late-receiver" || strings.HasPrefix(p, "late-sender"))
		},
		// Pallas files have no members of communicators if processes have several threads.
		"pallas": func(p string, o simOptions) bool {
			return (o.threads || !o.worldOnly) && (p == "late-broadcast" || p == "early-reduce" || p == "early-scan")
		},
	}
	for name, file := range map[string]string{"otf2": "traces.otf2", "otf": "trace.otf", "pallas": "trace.pallas"} {
		t.Run(name, func(t *testing.T) {
			for _, o := range programs()[:30] {
				rec := simulate(o)
				sums := func(events format.Events) figures {
					f := figures{}
					for _, p := range find(t, events, waits.Options{}).Patterns {
						for _, s := range p.PathLocations {
							if !lost[name](p.Pattern, o) { // the key has names, since ids of locations can differ
								f.add(p.Pattern+" in "+s.Path[len(s.Path)-1]+" at "+s.LocationName, s.Time.Float())
							}
						}
					}
					return f
				}
				found := sums(openAll(t, save(t, rec, name, file, true), 2))
				found.differ(t, fmt.Sprint(o.seed), sums(format.Recorded(rec)), 0)
			}
		})
	}
}
