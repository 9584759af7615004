package waits_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-trace/weft/analysis/causes"
	"github.com/weft-trace/weft/analysis/criticalpath"
	"github.com/weft-trace/weft/analysis/efficiency"
	"github.com/weft-trace/weft/analysis/waits"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// reference is the result of testdata/reference.py for a trace, by pattern and as rows. Times are
// in ticks.
type reference struct {
	Patterns map[string][][4]any `json:"patterns"` // location, path, count, time
	Costs    map[string][][4]any `json:"costs"`    // location, path, short-term, long-term
	Idle     map[string][][3]any `json:"idle"`     // location, path, time
	Path     struct {
		Begin  int64    `json:"begin"`
		End    int64    `json:"end"`
		Pieces [][3]any `json:"pieces"` // location, from, to
		Table  [][6]any `json:"table"`  // location, path, critical, activities, non-critical, impact
	} `json:"path"`
	Efficiency struct {
		Runtime   int64              `json:"runtime"`
		Ideal     int64              `json:"ideal"`
		Useful    int64              `json:"useful"`
		UsefulMax int64              `json:"usefulMax"`
		Factors   map[string]float64 `json:"factors"`
		Hybrid    map[string]float64 `json:"hybrid"`
	} `json:"efficiency"`
	Violations [2]int64 `json:"violations"`
}

// runReference runs the script on traces, and returns its results.
func runReference(t *testing.T, traces []format.Events) []reference {
	t.Helper()
	return runScript[reference](t, traces, "reference.py", "reference_input.py", "reference_waits.py",
		"reference_onesided.py")
}

// runScript runs the first script in testdata, which uses the others, on traces, and returns its results.
func runScript[R any](t *testing.T, traces []format.Events, scripts ...string) []R {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("found no python3, expected it for the second implementation")
	}
	var in bytes.Buffer
	for _, e := range traces {
		describe(t, &in, e)
	}
	// Read the scripts here, so that go test runs the test again when they change.
	for _, name := range scripts {
		if _, err := os.ReadFile("testdata/" + name); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(python, "-B", "testdata/"+scripts[0])
	cmd.Stdin, cmd.Stderr = &in, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var list []R
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var r R
		if err := d.Decode(&r); err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	if len(list) != len(traces) {
		t.Fatalf("found %d results, expected %d", len(list), len(traces))
	}
	return list
}

// describe writes a trace in the form in which the script reads it.
func describe(t *testing.T, b *bytes.Buffer, events format.Events) {
	t.Helper()
	ctx := context.Background()
	if err := events.Prepare(ctx); err != nil {
		t.Fatal(err)
	}
	d := events.Defs()
	type location struct {
		ID      string `json:"id"`
		Process string `json:"process"`
		Stream  bool   `json:"stream,omitempty"`
	}
	head := struct {
		Locations     []location          `json:"locations"`
		Communicators map[string][]string `json:"communicators"`
		Sets          map[string][]string `json:"sets"`
	}{Communicators: map[string][]string{}, Sets: map[string][]string{}}
	for _, l := range d.Locations.All() {
		head.Locations = append(head.Locations, location{l.ID, strconv.Itoa(int(l.Group)),
			l.Kind == trace.StreamLocation})
	}
	members := d.Memberships()
	for i, c := range d.Communicator.All() {
		list, ok := members.Members(uint32(i))
		if !ok {
			continue
		}
		for _, loc := range list {
			head.Communicators[c.ID] = append(head.Communicators[c.ID], d.Locations.At(loc).ID)
		}
	}
	for i := range d.Sets.All() {
		for _, loc := range members.SetMembers(uint32(i)) {
			id := strconv.Itoa(i)
			head.Sets[id] = append(head.Sets[id], d.Locations.At(loc).ID)
		}
	}
	w := json.NewEncoder(b)
	if err := w.Encode(head); err != nil {
		t.Fatal(err)
	}
	for batch, err := range format.Batches(ctx, events, trace.Events(), format.PerLocation) {
		if err != nil {
			t.Fatal(err)
		}
		c := batch.Cursor()
		for c.Next() {
			x := map[string]any{"time": c.Time(), "location": d.Locations.At(c.Location()).ID, "kind": c.Kind().String()}
			spec := c.Kind().Spec()
			if spec.Ref == trace.RefRegion && d.Regions.Has(c.Ref()) {
				x["region"] = d.Regions.At(c.Ref()).Name
			}
			if spec.Ref == trace.RefWindow && c.Ref() != trace.NoRef {
				x["window"] = c.Ref()
			}
			if keys, values := c.Attrs(); len(keys) == 1 && values[0].Type == trace.LocationRef {
				x["stream"] = d.Locations.At(uint32(values[0].Num)).ID
			}
			for i, v := range c.Ops() {
				if i >= len(spec.Operands) {
					break
				}
				o := &spec.Operands[i]
				switch {
				case v == trace.Undefined:
					x[o.Name] = nil
				case o.Type == trace.OpLocation:
					x[o.Name] = d.Locations.At(uint32(v)).ID
				case o.Type == trace.OpCommunicator:
					x[o.Name] = d.Communicator.At(uint32(v)).ID
				default:
					x[o.Name] = v
				}
				if name, ok := d.EnumName(c.Kind(), o, v); ok {
					x[o.Name+"Name"] = name
				}
			}
			if err := w.Encode(x); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// place returns the key of a figure: its name, location and call path.
func place(name string, loc any, path any) string {
	var names []string
	switch p := path.(type) {
	case []string:
		names = p
	case []any:
		for _, x := range p {
			names = append(names, x.(string))
		}
	}
	return fmt.Sprint(name, " at ", loc, " in ", strings.Join(names, "/"))
}

// figures has figures of the results, mostly in ticks, by name, location and call path (see place).
type figures map[string]float64

// add adds x to a figure.
func (f figures) add(key string, x float64) {
	if x != 0 {
		f[key] += x
	}
}

// differ fails the test if figures differ from the expected ones by more than the tolerance.
func (f figures) differ(t *testing.T, what string, expected figures, tolerance float64) {
	t.Helper()
	keys := map[string]bool{}
	for k := range f {
		keys[k] = true
	}
	for k := range expected {
		keys[k] = true
	}
	n := 0
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if math.Abs(f[k]-expected[k]) > tolerance {
			if n++; n <= 8 {
				t.Errorf("%s: %s: found %v, expected %v", what, k, f[k], expected[k])
			}
		}
	}
	if n > 8 {
		t.Errorf("%s: %d more differ", what, n-8)
	}
}

// compared lists the patterns that the script computes.
var compared = []string{"late-sender", "late-sender-wrong-order", "late-receiver", "wait-at-barrier",
	"barrier-completion",
	"wait-at-nxn", "nxn-completion", "late-broadcast", "early-reduce", "early-scan", "wait-at-finalize", "init-completion",
	"wait-at-implicit-omp-barrier", "wait-at-explicit-omp-barrier", "lock-contention",
	"wait-at-rma-create", "wait-at-rma-free", "wait-at-rma-fence", "early-rma-fence", "late-post", "early-wait",
	"late-complete", "rma-lock-contention", "wait-for-progress"}

// compareWithReference compares the results of all analyses of a trace with those of the script.
func compareWithReference(t *testing.T, what string, events format.Events, r *reference) {
	t.Helper()
	rows := trace.NewRows(events.Defs())
	compareWaits(t, what, events, rows, r)
	compareCauses(t, what, events, rows, r)
	comparePath(t, what, events, rows, r)
	compareEfficiency(t, what, events, rows, r)
}

func compareWaits(t *testing.T, what string, events format.Events, rows *trace.Rows, r *reference) {
	t.Helper()
	w, err := waits.Find(t.Context(), events, waits.Options{Rows: rows})
	if err != nil {
		t.Fatal(err)
	}
	found, expected := figures{}, figures{}
	for _, p := range w.Patterns {
		if !slices.Contains(compared, p.Pattern) {
			continue
		}
		for _, s := range p.PathLocations {
			found.add(place(p.Pattern, *s.Location, s.Path), float64(s.Time.Int64()))
			found.add("count of "+place(p.Pattern, *s.Location, s.Path), float64(s.Count))
		}
	}
	for name, list := range r.Patterns {
		for _, x := range list {
			expected.add(place(name, x[0], x[1]), x[3].(float64))
			expected.add("count of "+place(name, x[0], x[1]), x[2].(float64))
		}
	}
	found.differ(t, what+" waits", expected, 0)
	if w.Violations.Messages != r.Violations[0] {
		t.Errorf("%s: found %d violations, expected %d", what, w.Violations.Messages, r.Violations[0])
	}
}

func compareCauses(t *testing.T, what string, events format.Events, rows *trace.Rows, r *reference) {
	t.Helper()
	c, err := causes.Find(t.Context(), events, causes.Options{Rows: rows})
	if err != nil {
		t.Fatal(err)
	}
	found, expected := figures{}, figures{}
	for _, p := range c.Patterns {
		for _, x := range p.Costs {
			found.add("short-term "+place(p.Pattern, x.Location, x.Path), x.ShortTerm)
			found.add("long-term "+place(p.Pattern, x.Location, x.Path), x.LongTerm)
		}
	}
	for name, list := range r.Costs {
		for _, x := range list {
			expected.add("short-term "+place(name, x[0], x[1]), x[2].(float64))
			expected.add("long-term "+place(name, x[0], x[1]), x[3].(float64))
		}
	}
	found.differ(t, what+" causes", expected, 1e-3)
	found, expected = figures{}, figures{}
	for name, list := range map[string][]causes.IdleTime{"alone": c.IdleThreads, "limited": c.LimitedParallelism} {
		for _, x := range list {
			found.add(place(name, x.Location, x.Path), x.Time.Float())
		}
		for _, x := range r.Idle[name] {
			expected.add(place(name, x[0], x[1]), x[2].(float64))
		}
	}
	found.differ(t, what+" idle threads", expected, 0)
}

func comparePath(t *testing.T, what string, events format.Events, rows *trace.Rows, r *reference) {
	t.Helper()
	p, err := criticalpath.Find(t.Context(), events, criticalpath.Options{Rows: rows, Paths: true})
	if err != nil {
		t.Fatal(err)
	}
	found, expected := figures{}, figures{}
	for _, x := range p.Paths {
		found.add("critical "+place("", x.Location, x.Path), float64(x.Critical))
		found.add("activities "+place("", x.Location, x.Path), float64(x.Activities))
		found.add("non-critical "+place("", x.Location, x.Path), float64(x.NonCritical))
		found.add("impact "+place("", x.Location, x.Path), x.Impact)
	}
	for _, x := range r.Path.Table {
		for i, name := range []string{"critical ", "activities ", "non-critical ", "impact "} {
			expected.add(name+place("", x[0], x[1]), x[2+i].(float64))
		}
	}
	found.differ(t, what+" path", expected, 1e-3)
	var pieces, others []string
	for x := range p.Pieces.All() {
		pieces = append(pieces, fmt.Sprint(x.Location, " ", x.From, " ", x.To))
	}
	for _, x := range r.Path.Pieces {
		others = append(others, fmt.Sprint(x[0], " ", int64(x[1].(float64)), " ", int64(x[2].(float64))))
	}
	if !slices.Equal(pieces, others) || p.Begin != r.Path.Begin || p.End != r.Path.End {
		i := 0
		for i < min(len(pieces), len(others)) && pieces[len(pieces)-1-i] == others[len(others)-1-i] {
			i++
		}
		t.Errorf("%s path: found %d pieces, expected %d; from the end, piece %d is %s, expected %s", what,
			len(pieces), len(others), i, pieces[max(0, len(pieces)-1-i)], others[max(0, len(others)-1-i)])
	}
}

func compareEfficiency(t *testing.T, what string, events format.Events, rows *trace.Rows, r *reference) {
	t.Helper()
	e, ok, err := efficiency.Find(t.Context(), events, efficiency.Options{Rows: rows})
	if err != nil {
		t.Fatal(err)
	}
	if !ok {
		t.Errorf("%s: found no useful time", what)
		return
	}
	found, expected := figures{}, figures{}
	found["runtime"], found["ideal"] = float64(e.Runtime), float64(e.Ideal)
	found["useful"], found["useful max"] = float64(e.Useful.Int64()), float64(e.UsefulMax)
	x := &r.Efficiency
	expected["runtime"], expected["ideal"] = float64(x.Runtime), float64(x.Ideal)
	expected["useful"], expected["useful max"] = float64(x.Useful), float64(x.UsefulMax)
	factors := map[string]float64{}
	text, _ := json.Marshal(e.Factors)
	_ = json.Unmarshal(text, &factors)
	maps.Copy(found, factors)
	maps.Copy(expected, x.Factors)
	if e.Hybrid != nil {
		hybrid := map[string]float64{}
		text, _ = json.Marshal(e.Hybrid)
		_ = json.Unmarshal(text, &hybrid)
		maps.Copy(found, hybrid)
	}
	maps.Copy(expected, x.Hybrid)
	found.differ(t, what+" efficiency", expected, 1e-9)
}

// programs returns the options of the random programs of the tests.
func programs() (list []simOptions) {
	seeds := []uint64{104, 131, 225} // programs with synchronous sends that wait only in the re-timed run
	for i := range uint64(60) {
		seeds = append(seeds, i)
	}
	for n, i := range seeds {
		o := simOptions{seed: i, steps: 20 + int(i%47)*3, noInit: i%5 == 1, noEnd: i%7 == 2, onlyBlocking: i%3 == 0,
			worldOnly: i%4 == 1, noRendezvous: i%4 == 2, overtaking: i%2 == 0}
		if n < 3 {
			o.steps = 20 + int(i%47)*6
		}
		switch {
		case i%10 == 9:
			o.noMPI, o.threads = true, true
		case i%10 >= 6:
			o.threads = true
		}
		list = append(list, o)
	}
	return list
}

// largePrograms returns the options of random programs with more processes and threads. In some of them, locks are
// released in calls that end later than calls of the next holders.
func largePrograms() (list []simOptions) {
	steps := map[uint64]int{50023: 40, 50038: 20, 50055: 80, 50095: 60, 50253: 14, 50285: 80, 50357: 22, 50645: 4,
		50769: 4, 50879: 4, 51085: 10, 51155: 12, 51815: 6, 52047: 8, 52245: 8}
	for i := uint64(60000); i < 60020; i++ {
		steps[i] = 20
	}
	for _, i := range slices.Sorted(maps.Keys(steps)) {
		o := simOptions{seed: i, large: true, steps: steps[i], noInit: i%5 == 1, noEnd: i%7 == 2, onlyBlocking: i%3 == 0,
			worldOnly: i%4 == 1, noRendezvous: i%4 == 2, overtaking: i%2 == 0}
		o.noMPI, o.threads, o.windows = i%10 == 9, i%10 >= 6, i%10 >= 3 && i%10 < 6
		list = append(list, o)
	}
	return list
}

// TestReference compares the results for random traces with those of the script.
func TestReference(t *testing.T) {
	var list []format.Events
	options := slices.Concat(programs(), programsWithWindows(), programsWithSmallTeams(), largePrograms())
	for _, o := range options {
		list = append(list, format.Recorded(simulate(o)))
	}
	seen := map[string]bool{}
	for i, r := range runReference(t, list) {
		for p := range r.Patterns {
			seen[p] = true
		}
		t.Run(strconv.Itoa(i), func(t *testing.T) { compareWithReference(t, strconv.Itoa(i), list[i], &r) })
	}
	for _, p := range compared {
		if !seen[p] {
			t.Errorf("found no program with the pattern %s", p)
		}
	}
}

// scoutFigures maps metrics of Scalasca's analyser to figures of the script. The figures of the
// critical path are compared only for traces without threads: the analyser leaves out the end of
// each thread's work.
var scoutFigures = map[string]string{
	"delay_latesender": "short-term late-sender", "delay_latesender_longterm": "long-term late-sender",
	"delay_latereceiver": "short-term late-receiver", "delay_latereceiver_longterm": "long-term late-receiver",
	"delay_barrier": "short-term wait-at-barrier", "delay_barrier_longterm": "long-term wait-at-barrier",
	"delay_n2n": "short-term wait-at-nxn", "delay_n2n_longterm": "long-term wait-at-nxn",
	"delay_12n": "short-term late-broadcast", "delay_12n_longterm": "long-term late-broadcast",
	"delay_ompbarrier": "short-term wait-at-implicit-omp-barrier",
	"critical_path":    "critical", "critical_path_activities": "activities",
	"non_critical_path_activities": "non-critical", "critical_imbalance_impact": "impact",
}

// TestReferenceOfScout compares the results of the script with those of Scalasca's analyser.
func TestReferenceOfScout(t *testing.T) {
	names := []string{"hand", "p2p", "omp"}
	metrics := maps.Clone(scoutNames)
	maps.Copy(metrics, scoutFigures)
	var list []format.Events
	for _, name := range names {
		list = append(list, open(t, "testdata/"+name+"/traces.otf2"))
	}
	for i, r := range runReference(t, list) {
		name := names[i]
		expected, found := figures{}, figures{}
		for metric, paths := range scout(t, "testdata/"+name+"/scout.txt", metrics) {
			for path, times := range paths {
				for loc, x := range times {
					expected.add(fmt.Sprint(metric, " at ", loc, " in ", path), float64(x))
				}
			}
		}
		add := func(metric string, loc, path any, x float64) {
			key := place(metric, loc, path)
			for k := range expected { // the analyser's file lists long paths without their outer regions
				head, tail, _ := strings.Cut(k, " in ")
				if strings.HasPrefix(key, head+" in ") && strings.HasSuffix(key, tail) {
					key = k
					break
				}
			}
			found.add(key, x)
		}
		for p, cells := range r.Patterns {
			for _, x := range cells {
				if p != "late-sender-wrong-order" {
					add(p, x[0], x[1], x[3].(float64))
				}
			}
		}
		for p, cells := range r.Costs {
			for _, x := range cells {
				for k, kind := range []string{"short-term ", "long-term "} {
					if slices.Contains(slices.Collect(maps.Values(scoutFigures)), kind+p) {
						add(kind+p, x[0], x[1], x[2+k].(float64))
					}
				}
			}
		}
		for _, x := range r.Path.Table {
			for k, kind := range []string{"critical", "activities", "non-critical", "impact"} {
				add(kind, x[0], x[1], x[2+k].(float64))
			}
		}
		if name == "omp" {
			for _, f := range []figures{found, expected} {
				maps.DeleteFunc(f, func(k string, _ float64) bool {
					return strings.HasPrefix(k, "activities") || strings.HasPrefix(k, "non-critical") || strings.HasPrefix(k, "impact")
				})
			}
		}
		found.differ(t, name, expected, 0.51)
	}
}
