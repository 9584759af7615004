package serve

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"github.com/weft-trace/weft/trace"
)

// writeOrders writes a trace in which each object has claims of one tick each, one after another, in the given
// order. Objects do not overlap.
func writeOrders(t *testing.T, path string, objects ...string) {
	t.Helper()
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	r.Location("events")
	cpu := r.Resource("CPU", 2, "")
	at := int64(100)
	for i, order := range objects {
		for _, name := range order {
			id := r.Claim(cpu, at, r.Region(string(name)), 1, trace.Attr{Key: "name", Value: trace.StringValue(string(name))},
				trace.Attr{Key: "id", Value: trace.IntValue(int64(i))})
			r.Release(id, at+1)
			at++
		}
	}
	save(t, path, r)
}

// TestBehaviour checks the classes of objects and the distance of traces. The objects have the orders A, C, B
// and A, B, C (docs/analyses/distance.md). The successions A→B and B→C occur only in one class, A→C and C→B
// only in the other.
func TestBehaviour(t *testing.T) {
	one, two := filepath.Join(t.TempDir(), "one.otf2"), filepath.Join(t.TempDir(), "two.otf2")
	writeOrders(t, one, "ABC", "ABC", "ACB")
	writeOrders(t, two, "ACB")
	three := filepath.Join(t.TempDir(), "three.otf2")
	writeOrders(t, three, "ABC")
	s := newTestServer(t, options(t), one, two, three)
	api := waitReady(t, s, 0)
	second := waitReady(t, s, 1)
	waitReady(t, s, 2)
	cpu := -1
	for i, x := range look(get(t, s, api), "tracks").([]any) {
		if look(x, "kind") == "resource" {
			cpu = i
		}
	}
	reference := s.traceAt(t, 2).id
	type values struct{ target, schema, path, want string }
	for _, c := range []values{
		{api + "/behaviour?by=id", "Behaviour", "objects", "3"},
		{api + "/behaviour?by=id", "Behaviour", "usual", "1"},
		{api + "/behaviour?by=id", "Behaviour", "classes/0/representative", "2"},
		{api + "/behaviour?by=id", "Behaviour", "classes/0/usual", "4"},
		{api + "/behaviour?by=id", "Behaviour", "classes/1/objects", "2"},
		{api + "/behaviour?by=id", "Behaviour", "classes/0/difference/first/edgeCount", "2"},
		{api + "/behaviour?by=id", "Behaviour", "classes/0/difference/second/edges/0/from/label", "A"},
		{api + "/behaviour?by=id", "Behaviour", "classes/0/difference/second/edges/0/to/label", "C"},
		// Object 2 begins 6 ticks after object 0.
		{api + "/behaviour?by=id", "Behaviour", "classes/0/difference/second/edges/0/from/from", "6"},
		{api + "/behaviour?by=id", "Behaviour", "classes/0/difference/second/edges/0/to/to", "8"},
		{api + "/behaviour?by=id", "Behaviour", "classes/0/difference/second/edges/0/to/track", fmt.Sprint(cpu)},
		{api + "/behaviour?by=id", "Behaviour", "classes/0/difference/first/edges/0/from/from", "0"},
		{api + "/behaviour?by=id", "Behaviour", "classes/0/shown/len", "3"},
		{api + "/behaviour?by=ids", "Behaviour", "missing", `found no claims with the attribute "ids"; did you mean id?`},
		{api + "/behaviour?locations=1", "Behaviour", "missing", "found no calls of regions"},
		{api + "/behaviour?iterations=X", "Behaviour", "missing", `found no region "X"`},
		{second + "/distance?label=name&reference=" + reference, "Distance", "distance", "4"},
		{second + "/distance?label=name&reference=" + reference, "Distance", "difference/first/edgeCount", "2"},
		{second + "/distance?label=name&reference=" + reference, "Distance", "difference/second/edges/1/from/label", "C"},
		{second + "/distance?label=name&reference=" + reference, "Distance", "difference/second/edges/1/from/from", "1"},
		{second + "/distance?reference=" + s.traceAt(t, 1).id, "Distance", "distance", "0"},
		{second + "/distance?calls=1&reference=" + reference, "Distance", "missing", "three.otf2: found no calls of regions"},
	} {
		v := get(t, s, c.target)
		checkAnswer(t, s, c.schema, v)
		if got := fmt.Sprint(look(v, c.path)); got != c.want {
			t.Errorf("%s %s: found %s, expected %s", c.target, c.path, got, c.want)
		}
	}
	for _, query := range []string{"/behaviour", "/behaviour?by=id&locations=1", "/distance", "/distance?reference=none",
		"/flow", "/flow?by=id&visits=x", "/flow?by=id&average=long", "/flow?by=id&begin={", "/flow?by=id&per=d"} {
		if w := ask(s, "GET", api+query); w.Code != 400 {
			t.Errorf("%s: status %d, expected 400", query, w.Code)
		}
	}
}

// TestVisitsWithoutCalls checks that a class of visits without calls has a place on the time line: its first visit,
// from 20 to 23.
func TestVisitsWithoutCalls(t *testing.T) {
	path := filepath.Join(t.TempDir(), "visits.otf2")
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	step, solve, loc := r.Region("step"), r.Region("solve"), r.Location("rank")
	for i := range int64(4) {
		r.Enter(loc, 10*i, step)
		if i != 2 {
			r.Enter(loc, 10*i+1, solve)
			r.Leave(loc, 10*i+2, solve)
		}
		r.Leave(loc, 10*i+3, step)
	}
	save(t, path, r)
	s := newTestServer(t, options(t), path)
	v := get(t, s, waitReady(t, s, 0)+"/behaviour?iterations=step")
	checkAnswer(t, s, "Behaviour", v)
	for path, want := range map[string]string{"classes/len": "2", "classes/0/claims": "0", "classes/0/shown/len": "1",
		"classes/0/shown/0/from": "20", "classes/0/shown/0/to": "23", "classes/1/shown/0/from": "1"} {
		if got := fmt.Sprint(look(v, path)); got != want {
			t.Errorf("%s: found %s, expected %s", path, got, want)
		}
	}
}

// TestFlow checks the flow of the two objects in docs/analyses/flow.md: object 0 from 0 to 6 ms and
// object 1 from 1 to 5 ms.
func TestFlow(t *testing.T) {
	s := newTestServer(t, options(t), "../format/etf/testdata/ok/feature-coverage.etf")
	api := waitReady(t, s, 0)
	v := get(t, s, api+"/flow?by=id&per=ms")
	checkAnswer(t, s, "Flow", v)
	tick := func(n string) string { return n + "0" } // a tick is 100 µs
	for _, c := range []struct{ path, want string }{
		{"objects", "2"}, {"first", "0"}, {"last", tick("6")}, {"latencies/min", tick("4")}, {"latencies/max", tick("6")},
		{"latencies/mean", tick("5")}, {"signals/len", "3"}, {"signals/1/name", "work in progress"},
		{"signals/1/min", "1"}, {"signals/1/max", "2"}, {"signals/2/max", "6"},
		{"signals/1/mean", fmt.Sprint(10. / 6)}, // ∫wip is 4 + 6
		{"longest/0/object", "0"}, {"longest/1/from", tick("1")},
	} {
		if got := fmt.Sprint(look(v, c.path)); got != c.want {
			t.Errorf("%s: found %s, expected %s", c.path, got, c.want)
		}
	}
	// ∫throughput is the number of objects; the values of its pieces are rounded
	if mean, _ := look(v, "signals/0/mean").(json.Number).Float64(); math.Abs(mean-2./6) > 1e-15 {
		t.Errorf("found a mean throughput of %g, expected 2/6", mean)
	}
	if low, _ := look(v, "signals/2/min").(json.Number).Float64(); math.Abs(low-4.8) > 1e-9 {
		t.Errorf("found a latency of %g ms, expected 4.8", low)
	}
	v = get(t, s, api+"/flow/signals?by=id&per=ms&from=0&to=70&width=7")
	checkAnswer(t, s, "FlowSignals", v)
	if got, want := fmt.Sprint(look(v, "signals/1/min")), "[1 2 2 2 2 1 <nil>]"; got != want {
		t.Errorf("work in progress: found %s, expected %s", got, want)
	}
	v = get(t, s, api+"/flow?by=nothing")
	if got := fmt.Sprint(look(v, "missing")); got != `found no objects with the attribute "nothing"` {
		t.Errorf("found %s, expected that there are no objects", got)
	}
}
