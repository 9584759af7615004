package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-trace/weft/analysis/calltree"
	"github.com/weft-trace/weft/analysis/states"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
)

// TestCounters checks the statistics of counters in windows. The expected numbers were calculated
// by hand.
func TestCounters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "counters.otf2")
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	loc, work := r.Location("rank 0"), r.Region("work")
	metric := func(name, mode, unit string) uint32 {
		return r.Defs().Metrics.Add(trace.MetricDef{ID: name, Name: name, Kind: trace.CounterMetric, Mode: mode, Unit: unit,
			Type: trace.Float64, Location: trace.NoRef})
	}
	put := func(m uint32, at int64, v float64) { r.Event(loc, at, trace.Metric, m, []uint64{math.Float64bits(v)}) }
	memory, cycles, power, hits := metric("memory", "ABSOLUTE_NEXT", "MiB"), metric("cycles", "ACCUMULATED_START", ""),
		metric("power", "ABSOLUTE_LAST", "W"), metric("hits", "ABSOLUTE_POINT", "")
	r.Enter(loc, 100, work)
	for i := range int64(5) { // at the times 110, 120 … 150
		at := 110 + 10*i
		put(memory, at, float64(10*i)) // the values 0, 10 … 40
		put(cycles, at, float64(100*i*i))
		put(power, at, float64(i+1))
		put(hits, at, float64(i))
	}
	r.Leave(loc, 200, work)
	save(t, path, r)
	s := newTestServer(t, options(t), path)
	api := waitReady(t, s, 0)
	rows := func(query string) map[string]any {
		v := get(t, s, api+"/counters"+query)
		checkAnswer(t, s, "Counters", v)
		out := map[string]any{}
		for _, x := range look(v, "rows").([]any) {
			track := look(x, "track").(json.Number)
			out[look(get(t, s, api), "tracks/"+string(track)+"/name").(string)] = x
		}
		return out
	}
	for _, c := range []struct{ query, name, path, want string }{
		{"", "memory", "samples", "5"}, {"", "memory", "first", "0"}, {"", "memory", "last", "40"},
		{"", "memory", "max", "40"},
		// 0, 10, 20 and 30 apply for 10 ticks each, and 40 applies from 150 to 200.
		{"", "memory", "mean", fmt.Sprint((10*60 + 50*40) / 90.)}, {"", "memory", "holding", "next"},
		{"", "memory", "increase", "<nil>"},
		// In the window from 125 to 145, the value 10 applies for 5 ticks, 20 for 10 ticks, and 30 for 5
		// ticks.
		{"?from=25&to=45", "memory", "samples", "2"}, {"?from=25&to=45", "memory", "first", "10"},
		{"?from=25&to=45", "memory", "mean", "20"}, {"?from=25&to=45", "memory", "min", "10"},
		// Before the first value, no value applies.
		{"?from=0&to=10", "memory", "samples", "0"}, {"?from=0&to=10", "memory", "mean", "<nil>"},
		{"?from=0&to=10", "memory", "first", "<nil>"},
		// After the last value, the last value still applies.
		{"?from=60&to=70", "memory", "samples", "0"}, {"?from=60&to=70", "memory", "mean", "40"},
		// The values increase by 1600 within 40 ms.
		{"", "cycles", "increase", "1600"}, {"", "cycles", "rate", "40000"},
		// At 125, the value of 120 applies. At the end of the window, the value of 140 applies.
		{"?from=25&to=45", "cycles", "increase", "800"}, {"?from=25&to=45", "cycles", "rate", "40000"},
		// 2 applies up to 120, 3 up to 130, 4 up to 140, and 5 up to 150.
		{"", "power", "mean", "3.5"}, {"", "power", "holding", "last"}, {"?from=25&to=45", "power", "mean", "4"},
		{"?from=25&to=45", "power", "last", "5"}, {"?from=25&to=45", "power", "samples", "2"},
		{"?from=25&to=45", "hits", "mean", "2.5"}, {"?from=25&to=45", "hits", "first", "2"},
		{"?from=21&to=29", "hits", "mean", "<nil>"}, {"", "hits", "holding", "point"},
	} {
		if got := fmt.Sprint(look(rows(c.query)[c.name], c.path)); got != c.want {
			t.Errorf("%s %s/%s: found %s, expected %s", c.query, c.name, c.path, got, c.want)
		}
	}
	if v := get(t, s, api+"/counters?tracks=0-1"); fmt.Sprint(look(v, "rows/len")) != "1" {
		t.Errorf("found %v, expected the one counter of tracks 0 and 1", v)
	}
}

// writeWaits writes a trace with work and with waits in MPI calls. Its locations begin and end at different
// times. If comments is set, the events include comments.
func writeWaits(t *testing.T, path string, comments bool) {
	t.Helper()
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	random := rand.New(rand.NewPCG(5, 5))
	names := []string{"main", "work", "MPI_Send", "MPI_Recv", "callback", "pvm_x"}
	for i := range int64(5) {
		l := r.Location(fmt.Sprint("rank ", i))
		var open []uint32
		at := 10 * i
		if comments && i == 1 {
			r.Event(l, 0, trace.Comment, trace.NoRef, nil)
		}
		for range 300 {
			at += random.Int64N(9)
			if n := len(open); n > 0 && (n > 4 || random.IntN(2) == 0) {
				r.Leave(l, at, open[n-1])
				open = open[:n-1]
				continue
			}
			g := r.Region(names[random.IntN(len(names))])
			r.Enter(l, at, g)
			open = append(open, g)
		}
	}
	save(t, path, r)
}

// TestStates compares the states in windows with those of package analysis/states, which reads all events in
// the order of time. For some of the traces, the server can compute the states from the index. For the others
// it must read the events.
func TestStates(t *testing.T) {
	dir := t.TempDir()
	nested, commented, stencil := filepath.Join(dir, "nested.otf2"), filepath.Join(dir, "comments.otf"),
		filepath.Join(dir, "g.otf2")
	// One of the two regions with the same name is work, and the other is waiting.
	twofold := filepath.Join(dir, "twofold.otf2")
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	f, g := r.Region("f"), r.Defs().Regions.Add(trace.Region{ID: "9", Name: "f", Role: "barrier"})
	for i, region := range []uint32{f, g, f} {
		loc := r.Location(fmt.Sprint("x", i))
		r.Enter(loc, int64(i), f)
		r.Enter(loc, 30, region)
		r.Leave(loc, 70, region)
		r.Leave(loc, 100, f)
	}
	save(t, twofold, r)
	writeWaits(t, nested, false)
	writeWaits(t, commented, true)
	writeGenerated(t, stencil, 5000)
	windows := 24
	if effort.Race {
		windows = 4 // the whole and one window, each with and without waits
	}
	for _, c := range []struct {
		path    string
		indexed bool
	}{
		{nested, true}, {commented, false}, {stencil, true}, {twofold, false},
		{"../format/otf2/testdata/ok/heat2d-mt/traces.otf2", true},
		{"../analysis/testdata/conceptual-ring8.trf", false}, {"../examples/odse.etf", true},
		{"../format/etf/testdata/ok/feature-coverage.etf", true}, {handTrace, true},
	} {
		s := newTestServer(t, options(t), c.path)
		api := waitReady(t, s, 0)
		v := get(t, s, api)
		var origin, length int64
		fmt.Sscan(v["origin"].(string), &origin)
		fmt.Sscan(v["length"].(string), &length)
		random := rand.New(rand.NewPCG(3, 3))
		for i := range windows {
			from, to, query := int64(0), length+1, ""
			if i > 1 {
				from = random.Int64N(length)
				to = from + 1 + random.Int64N(length-from+1)
				query = fmt.Sprintf("&from=%d&to=%d", from, to)
			}
			query = fmt.Sprint("?waits=", i%2, query)
			want := statesOf(t, c.path, trace.Window{From: origin + from, To: origin + to}, i%2 == 1)
			got := get(t, s, api+"/states"+query)
			checkAnswer(t, s, "States", got)
			series := get(t, s, api+fmt.Sprintf("/utilisation?width=7&waits=%d&from=%d&to=%d", i%2, from, to))
			for k, l := range map[string][]float64{"busy": want.Series.Busy, "overhead": want.Series.Overhead,
				"idle": want.Series.Idle} {
				for i, v := range l {
					if found, err := look(series, fmt.Sprint(k, "/", i)).(json.Number).Float64(); err != nil ||
						math.Abs(found-v) > 1e-9 {
						t.Errorf("%s%s: column %d is %s for %v, expected %v", c.path, query, i, k, found, v)
					}
				}
			}
			var busy, overhead, idle int64
			rows := map[string]bool{}
			for _, x := range look(got, "rows").([]any) {
				rows[fmt.Sprintln(look(x, "busy"), look(x, "overhead"), look(x, "idle"))] = true
			}
			for _, p := range want.Processors {
				busy, overhead, idle = busy+p.Busy, overhead+p.Overhead, idle+p.Idle
				if !rows[fmt.Sprintln(p.Busy, p.Overhead, p.Idle)] {
					t.Errorf("%s%s: found no row with %+v in %v", c.path, query, p, rows)
				}
			}
			expected := fmt.Sprintln(len(want.Processors), busy, overhead, idle, `""`)
			if len(want.Processors) == 0 {
				expected = fmt.Sprintln(0, nil, nil, nil, `"the trace has no processors, and only processors have states; `+
					`weft usage shows the use of resources"`)
			}
			if found := fmt.Sprintln(got["processors"], got["busy"], got["overhead"], got["idle"],
				fmt.Sprintf("%q", got["missing"])); found != expected {
				t.Errorf("%s%s: found %s, expected %s", c.path, query, found, expected)
			}
		}
		e := s.traceAt(t, 0)
		if p := e.view.processors.Load(); p == nil || p.exact != c.indexed {
			t.Errorf("%s: found %+v, expected that the index tells the states: %t", c.path, p, c.indexed)
		}
	}
}

// statesOf computes the states in a window from the events of a trace.
func statesOf(t *testing.T, path string, w trace.Window, waits bool) *states.Result {
	t.Helper()
	src := format.FileSource(path)
	f, err := format.Detect(all.Formats(), src)
	if err != nil {
		t.Fatal(err)
	}
	d, err := f.Open(context.Background(), src, &format.ReadOptions{Report: format.NewReport()})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.Prepare(context.Background()); err != nil {
		t.Fatal(err)
	}
	opt := states.Options{Window: &w, Series: &states.Columns{Window: w, Columns: 7}}
	if waits && !d.Defs().Conventions.EventTypes {
		if opt.Waits, err = states.FindWaits(context.Background(), d, &w); err != nil {
			t.Fatal(err)
		}
	}
	p := states.New(d.Defs(), opt)
	sel := trace.Everything()
	sel.Links = trace.NoLinks
	if err := d.Scan(context.Background(), sel, format.GlobalOrder, p); err != nil {
		t.Fatal(err)
	}
	return p.Result()
}

// TestStatesOfColors checks that states are computed from regions even if an attribute names the
// spans.
func TestStatesOfColors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.otf2")
	writeSample(t, path)
	opt := options(t)
	of := func() map[string]any {
		s := newTestServer(t, opt, path)
		return get(t, s, waitReady(t, s, 0)+"/states")
	}
	want := of()
	opt.Reading.Color = "step"
	if got := of(); fmt.Sprint(got) != fmt.Sprint(want) || fmt.Sprint(want["busy"]) != "190" {
		t.Errorf("found %v, expected %v", got, want)
	}
}

// TestStatesWithWaits checks that time in which calls wait is idle, unless the request has waits=0: in the sums and
// over time. The waits are those of Scalasca (scout.txt): 60 ticks in MPI_Finalize, 300 in MPI_Barrier, 600 in
// MPI_Recv, 100 in MPI_Reduce, 150 in MPI_Bcast and 250 in MPI_Allreduce.
func TestStatesWithWaits(t *testing.T) {
	s := newTestServer(t, options(t), handTrace)
	api := waitReady(t, s, 0)
	plain, waits := stateSums(t, s, api+"/states?waits=0"), stateSums(t, s, api+"/states")
	if d := waits[2] - plain[2]; d != 1460 {
		t.Errorf("found %d more ticks of idle time, want 1460", d)
	}
	if d := plain[1] - waits[1]; d != 1460 || plain[0] != waits[0] {
		t.Errorf("found %d fewer ticks of overhead, want 1460; and busy %d, want %d", d, waits[0], plain[0])
	}
	part := number(t, get(t, s, api+"/utilisation?width=1"), "idle/0")
	if want := float64(waits[2]) / float64(waits[0]+waits[1]+waits[2]); math.Abs(part-want) > 0.001 {
		t.Errorf("over time, the idle part is %v, want %v", part, want)
	}
}

// TestStatesOfClocksThatDiffer checks that states with waits count the messages that were received before they were
// sent, as weft comm does.
func TestStatesOfClocksThatDiffer(t *testing.T) {
	s := newTestServer(t, options(t), "../format/otf/testdata/ok/mpi4/mpi4.otf")
	api := waitReady(t, s, 0)
	v := get(t, s, api+"/states")
	checkAnswer(t, s, "States", v)
	if text := fmt.Sprint(look(v, "clocks/text")); !strings.HasPrefix(text, "40 messages received before being sent, ") {
		t.Errorf("found %q, expected 40 early messages", text)
	}
	if v := get(t, s, api+"/states?waits=0"); v["clocks"] != nil {
		t.Errorf("without waits, found %v, expected no violations", v["clocks"])
	}
}

// TestStatesWithoutTime checks that a trace whose processors have no time has no figures, but the reason that weft
// states prints: in a trace of PICL, whose events are read, and in one whose index has the states. A window of
// another trace without time has figures of 0, as with weft states --window.
func TestStatesWithoutTime(t *testing.T) {
	dir := t.TempDir()
	picl, indexed := filepath.Join(dir, "instant.trf"), filepath.Join(dir, "instant.otf2")
	if err := os.WriteFile(picl, []byte("-3 -901 1.0 0 -1 0\n-3 21 1.0 0 -1 0\n-3 21 1.0 1 -1 0\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	f := r.Region("f")
	for i := range 2 {
		loc := r.Location(fmt.Sprint("x", i))
		r.Enter(loc, 7, f)
		r.Leave(loc, 7, f)
	}
	save(t, indexed, r)
	for _, path := range []string{picl, indexed} {
		s := newTestServer(t, options(t), path)
		v := get(t, s, waitReady(t, s, 0)+"/states")
		checkAnswer(t, s, "States", v)
		want := fmt.Sprintln("found no time of processors, expected some", 2, nil, 0)
		if got := fmt.Sprintln(v["missing"], v["processors"], v["busy"], len(v["rows"].([]any))); got != want {
			t.Errorf("%s: found %s, expected %s", filepath.Base(path), got, want)
		}
	}
	s := newTestServer(t, options(t), handTrace)
	api := waitReady(t, s, 0)
	if v := get(t, s, api+"/states?from=1000000&to=1000001"); v["missing"] != "" || fmt.Sprint(v["busy"]) != "0" {
		t.Errorf("a window behind %s: found %v, expected sums of 0", handTrace, v)
	}
}

// stateSums returns the ticks of all processors in the states busy, overhead and idle.
func stateSums(t *testing.T, s *Server, target string) (out [3]int64) {
	t.Helper()
	v := get(t, s, target)
	for i, name := range []string{"busy", "overhead", "idle"} {
		n, err := strconv.ParseInt(fmt.Sprint(v[name]), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = n
	}
	return out
}

// TestTree checks the sums of omitted paths in a limited call tree, below each path and in total.
func TestTree(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 9))
	var nodes []calltree.Node
	var grow func(parent, depth int, time int64)
	grow = func(parent, depth int, time int64) {
		i := len(nodes)
		nodes = append(nodes, calltree.Node{Parent: parent, Depth: depth, Name: fmt.Sprint(i), Count: 1,
			Inclusive: trace.TicksOf(time)})
		rest := time
		for range random.IntN(5) {
			if part := random.Int64N(rest/2 + 1); depth < 7 {
				rest -= part
				grow(i, depth+1, part)
			}
		}
		nodes[i].Exclusive = trace.TicksOf(rest)
	}
	for len(nodes) < 200 {
		grow(-1, 0, 10_000+random.Int64N(5))
	}
	all := int64(0)
	for _, n := range nodes {
		all += n.Exclusive.Int64()
	}
	for _, limit := range []int{1, 7, 100, len(nodes) - 1, len(nodes), 1000} {
		a := newTreeAnswer(nodes, limit, false, func(*calltree.Visit) *visitFact { return nil })
		shown, paths, exclusive := map[string]bool{}, a.Left.Paths, trace.Ticks(a.Left.Exclusive).Int64()
		var inside func(n *nodeFact) (int64, int64)
		inside = func(n *nodeFact) (count, time int64) {
			shown[n.Name] = true
			time = trace.Ticks(n.Exclusive).Int64()
			if n.Left != nil {
				left := trace.Ticks(n.Left.Exclusive).Int64()
				time += left
				count += n.Left.Paths
				paths, exclusive = paths-n.Left.Paths, exclusive-left
			}
			for _, c := range n.Children {
				x, y := inside(c)
				count, time = count+x, time+y
			}
			if trace.TicksOf(time) != trace.Ticks(n.Inclusive) {
				t.Errorf("limit %d: %s has %d ticks, of which %d are listed", limit, n.Name, n.Inclusive, time)
			}
			return count, time
		}
		for _, r := range a.Roots {
			inside(r)
		}
		if len(shown) != min(limit, len(nodes)) || a.Paths != int64(len(nodes)) || a.Left.Paths != a.Paths-int64(len(shown)) {
			t.Errorf("limit %d: %d of %d paths shown, %d left out, expected all of %d", limit, len(shown), a.Paths, a.Left.Paths,
				len(nodes))
		}
		// No omitted path has more inclusive time than a kept one.
		least, most := int64(math.MaxInt64), int64(0)
		for _, n := range nodes {
			if shown[n.Name] {
				least = min(least, n.Inclusive.Int64())
			} else {
				most = max(most, n.Inclusive.Int64())
			}
		}
		if most > least {
			t.Errorf("limit %d: left out is one of %d ticks, shown one of %d", limit, most, least)
		}
		// The sums of the omitted paths below all nodes, together with the sums at the top, equal the sums of
		// all omitted paths.
		for i, n := range nodes {
			if n.Parent < 0 && !shown[n.Name] {
				exclusive -= n.Inclusive.Int64()
				for k := i; k == i || k < len(nodes) && nodes[k].Parent >= 0; k++ {
					paths--
				}
			}
		}
		if paths != 0 || exclusive != 0 {
			t.Errorf("limit %d: %d paths of %d ticks are left out of no path", limit, paths, exclusive)
		}
	}
	deep := slices.Repeat([]calltree.Node{{Inclusive: trace.TicksOf(3), Exclusive: trace.TicksOf(0)}}, maxTreeDepth+5)
	for i := range deep {
		deep[i].Parent, deep[i].Depth = i-1, i
	}
	deep[len(deep)-1].Exclusive = trace.TicksOf(3)
	if a := newTreeAnswer(deep, 1000, false, func(*calltree.Visit) *visitFact { return nil }); a.Left !=
		(omittedPaths{5, sum(trace.TicksOf(3))}) {
		t.Errorf("found %+v left out, expected 5 paths that are too deep", a.Left)
	}
}

// TestCountersOfTool compares counters of windows with the values that otf2-print prints.
func TestCountersOfTool(t *testing.T) {
	tool, err := exec.LookPath("otf2-print")
	if err != nil {
		t.Skip("otf2-print is not installed (Debian package otf2-tools)")
	}
	const path = "../format/otf2/testdata/ok/heat2d-mt/traces.otf2"
	text, err := exec.Command(tool, path).Output()
	if err != nil {
		t.Fatal(err)
	}
	type value struct {
		at int64
		v  float64
	}
	printed := map[string][]value{} // indexed by location and counter
	line, member := regexp.MustCompile(`(?m)^METRIC +(\d+) +(\d+)  .*$`),
		regexp.MustCompile(`\("([^"]+)" <\d+>; \w+; ([^)]+)\)`)
	for _, l := range line.FindAllStringSubmatch(string(text), -1) {
		at, _ := strconv.ParseInt(l[2], 10, 64)
		for _, m := range member.FindAllStringSubmatch(l[0], -1) {
			v, err := strconv.ParseFloat(m[2], 64)
			if err != nil {
				t.Fatal(err)
			}
			printed[l[1]+" "+m[1]] = append(printed[l[1]+" "+m[1]], value{at, v})
		}
	}
	if len(printed) != 8 {
		t.Fatalf("found %d counters in what otf2-print prints, expected 8", len(printed))
	}
	s := newTestServer(t, options(t), path)
	api := waitReady(t, s, 0)
	about := get(t, s, api)
	var origin, length int64
	fmt.Sscan(about["origin"].(string), &origin)
	fmt.Sscan(about["length"].(string), &length)
	near := func(got any, want float64) bool {
		f, err := got.(json.Number).Float64()
		// otf2-print rounds values to 5 or 6 digits
		return err == nil && math.Abs(f-want) <= 1e-4*math.Abs(want)
	}
	for i := range int64(8) {
		from, to := i*length/9, i*length/9+length/4
		for _, x := range look(get(t, s, fmt.Sprintf("%s/counters?from=%d&to=%d", api, from, to)), "rows").([]any) {
			track := fmt.Sprint("tracks/", look(x, "track"))
			parent := fmt.Sprint("tracks/", look(about, track+"/parent"))
			key := fmt.Sprint(look(about, parent+"/id"), " ", look(about, track+"/name"))
			list := printed[key]
			if list == nil {
				t.Fatalf("otf2-print has no counter %q", key)
			}
			samples, low, high, first, last := 0, math.Inf(1), math.Inf(-1), math.NaN(), math.NaN()
			for k, v := range list {
				holds := v.at-origin < from && (k+1 == len(list) || list[k+1].at-origin > from)
				inside := v.at-origin >= from && v.at-origin < to
				if inside {
					samples++
				}
				if holds || inside {
					if math.IsNaN(first) {
						first = v.v
					}
					low, high, last = min(low, v.v), max(high, v.v), v.v
				}
			}
			if fmt.Sprint(look(x, "samples")) != fmt.Sprint(samples) {
				t.Errorf("%s from %d to %d: found %v values, expected %d", key, from, to, look(x, "samples"), samples)
			}
			for name, want := range map[string]float64{"min": low, "max": high, "first": first, "last": last} {
				if got := look(x, name); math.IsNaN(first) != (got == nil) || got != nil && !near(got, want) {
					t.Errorf("%s from %d to %d: found %s %v, expected %v", key, from, to, name, got, want)
				}
			}
		}
	}
}
