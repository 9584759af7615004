package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/weft-trace/weft/analysis/profile"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/generate"
	"github.com/weft-trace/weft/internal/await"
	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/serve/cache"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/tracetest"
)

const secret = "the-secret-of-the-test"

// writeSample writes a trace with 1000 ticks per second, from 100 to 200. The expected values in
// the tests were counted by hand from this function.
func writeSample(t *testing.T, path string) {
	t.Helper()
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	a, b := r.Location("rank 0"), r.Location("rank 1")
	main, work, stuck := r.Region("main"), r.Region("work<b>&\"x\""), r.Region("stuck")
	r.Enter(a, 100, main)
	r.Enter(b, 105, main)
	r.Enter(a, 110, work, trace.Attr{Key: "step", Value: trace.IntValue(5)})
	r.Send(a, 120, b, 7, 64)
	r.Recv(b, 140, a, 7, 64)
	r.Leave(a, 150, work)
	r.Enter(a, 160, work, trace.Attr{Key: "step", Value: trace.IntValue(6)})
	r.Leave(a, 165, work)
	r.Enter(b, 180, stuck)
	r.Leave(b, 195, main)
	r.Leave(a, 200, main)
	save(t, path, r)
}

func save(t *testing.T, path string, r *trace.Recorder) {
	t.Helper()
	f, ok := format.ByExtension(all.Formats(), path)
	if !ok {
		t.Fatalf("%s: no format", path)
	}
	if err := format.Save(context.Background(), path, f, r); err != nil {
		t.Fatal(err)
	}
}

// writeGenerated writes a generated trace that has messages.
func writeGenerated(t *testing.T, path string, events int64) {
	t.Helper()
	g, err := generate.New(generate.Options{Workload: "stencil", Events: events, Locations: 6, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	f, _ := format.ByExtension(all.Formats(), path)
	tracetest.Encode(t, f, g, path)
}

func options(t *testing.T) Options {
	t.Helper()
	c, err := cache.Open(t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return Options{Version: "test", Reading: ReadSettings{Formats: all.Formats(), Workers: 2}, Cache: c, Token: secret,
		Page: fstest.MapFS{"index.html": {Data: []byte("<!doctype html><title>weft</title>")},
			"assets/a.js": {Data: []byte("let a")}, "assets/odd.x": {Data: []byte("x")}}}
}

// newTestServer returns a server that shows the traces with the given paths.
func newTestServer(t *testing.T, opt Options, paths ...string) *Server {
	t.Helper()
	for _, p := range paths {
		opt.Traces = append(opt.Traces, ServedTrace{Source: format.FileSource(p)})
	}
	s := New(opt)
	s.detailTime = time.Hour // details must be complete even on slow machines
	t.Cleanup(s.Close)
	return s
}

// ask sends a request with the token.
func ask(s http.Handler, method, target string, header ...string) *httptest.ResponseRecorder {
	return send(s, method, target, nil, append([]string{"Authorization", "Bearer " + secret}, header...)...)
}

func send(s http.Handler, method, target string, body io.Reader, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, body)
	r.Host = "127.0.0.1:1234"
	r.RemoteAddr = "127.0.0.1:999"
	for i := 0; i < len(header); i += 2 {
		switch header[i] {
		case "Host":
			r.Host = header[i+1]
		case "From":
			r.RemoteAddr = header[i+1]
		default:
			r.Header.Set(header[i], header[i+1])
		}
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// get requests JSON and returns it decoded. It fails the test if the answer is an error.
func get(t *testing.T, s http.Handler, target string) map[string]any {
	t.Helper()
	w := ask(s, "GET", target)
	if w.Code != 200 {
		t.Fatalf("GET %s: status %d: %s", target, w.Code, w.Body)
	}
	return decoded(t, w)
}

func decoded(t *testing.T, w *httptest.ResponseRecorder) map[string]any {
	t.Helper()
	var v map[string]any
	d := json.NewDecoder(w.Body)
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// waitReady waits until trace n of the server is ready, and returns the path of its API.
func waitReady(t *testing.T, s *Server, n int) string {
	t.Helper()
	id := s.traceAt(t, n).id
	if v := waitIndexed(t, s, "/api/traces/"+id); v["state"] == "failed" {
		t.Fatalf("indexing failed: %v", v["error"])
	}
	return "/api/traces/" + id
}

// waitIndexed waits until a trace is ready or has failed, and returns its description.
func waitIndexed(t *testing.T, s *Server, target string) (v map[string]any) {
	t.Helper()
	await.Until(t, target+" is indexed", func() bool {
		v = get(t, s, target)
		return v["state"] == "ready" || v["state"] == "failed"
	})
	return v
}

func (s *Server) traceAt(t *testing.T, n int) *entry {
	t.Helper()
	all, err := s.traces.all()
	if err != nil || n >= len(all) {
		t.Fatalf("found %d traces, %v", len(all), err)
	}
	return all[n]
}

// look returns the value at a path such as rows/0/name in decoded JSON. The last step may be len.
func look(v any, path string) any {
	for step := range strings.SplitSeq(path, "/") {
		switch x := v.(type) {
		case map[string]any:
			v = x[step]
		case []any:
			i := -1
			if fmt.Sscan(step, &i); i < 0 || i >= len(x) {
				if step == "len" {
					return json.Number(fmt.Sprint(len(x)))
				}
				return nil
			}
			v = x[i]
		default:
			return nil
		}
	}
	return v
}

// TestAnswers checks answers about the trace of writeSample. The expected values were counted by hand.
func TestAnswers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sample.otf2")
	writeSample(t, path)
	s := newTestServer(t, options(t), path)
	api := waitReady(t, s, 0)
	for _, x := range []struct{ query, path, want string }{
		{"", "origin", "100"}, {"", "length", "100"}, {"", "events", "11"}, {"", "spans", "5"}, {"", "links", "1"},
		{"", "clock/num", "1000"}, {"", "clock/den", "1"},
		{"", "tracks/0/name", "rank 0"}, {"", "tracks/0/depth", "2"}, {"", "tracks/0/spans", "3"},
		{"", "tracks/0/first", "0"}, {"", "tracks/0/last", "100"}, {"", "tracks/1/first", "5"},
		{"", "tracks/1/last", "95"}, {"", "regions/1/name", `work<b>&"x"`},
		{"/span?track=0&depth=1&time=20", "span/name", `work<b>&"x"`},
		{"/span?track=0&depth=1&time=20", "span/start", "10"}, {"/span?track=0&depth=1&time=20", "span/end", "50"},
		{"/span?track=0&depth=1&time=20", "span/open", "false"},
		{"/span?track=0&depth=1&time=20", "attributes/0/name", "step"},
		{"/span?track=0&depth=1&time=20", "attributes/0/value", "5"}, {"/span?track=0&depth=1&time=20", "partial", "false"},
		{"/span?track=0&depth=1&time=62", "attributes/0/value", "6"},
		{"/span?track=0&depth=1&time=20", "around/0/name", "main"}, {"/span?track=0&depth=1&time=20", "around/0/end", "100"},
		{"/span?track=0&depth=1&time=20", "links/len", "1"}, {"/span?track=0&depth=1&time=20", "links/0/from/time", "20"},
		{"/span?track=0&depth=1&time=20", "links/0/to/track", "1"},
		{"/span?track=0&depth=1&time=20", "links/0/to/time", "40"}, {"/span?track=0&depth=1&time=20", "links/0/bytes", "64"},
		{"/span?track=0&depth=1&time=20", "links/0/tag", "7"},
		{"/span?track=0&depth=1&time=62", "links/len", "0"},
		{"/span?track=1&depth=1&time=85", "span/name", "stuck"}, {"/span?track=1&depth=1&time=85", "span/end", "95"},
		{"/span?track=1&depth=1&time=85", "span/open", "true"},
		{"/span?track=0&time=3", "span/open", "false"},
		{"/edge?track=0&depth=1&depths=1&time=53&within=14", "time", "50"},
		{"/edge?track=0&depth=1&depths=1&time=56&within=14", "time", "60"}, {"/edge?track=0&time=13&within=14", "time", "10"},
		{"/edge?track=0&depths=1&time=13&within=14", "time", "0"},
		{"/find?region=1&track=0&time=20", "span/start", "60"},
		{"/find?region=1&time=59&direction=previous", "span/start", "10"}, {"/find?region=1&time=-5", "span/start", "10"},
		{"/links", "total", "1"}, {"/links", "shown", "1"}, {"/links", "bundled", "false"},
		{"/links", "links/0/kind", "message"}, {"/links?from=0&to=15", "shown", "0"},
		{"/profile", "from", "0"}, {"/profile", "to", "101"},
		// main takes 100 ticks on rank 0, of which 45 are in work, and 90 ticks on rank 1, of which 15 are in
		// stuck.
		{"/profile", "rows/0/name", "main"}, {"/profile", "rows/0/inclusive", "190"}, {"/profile", "rows/0/exclusive", "130"},
		{"/profile", "rows/0/count", "2"}, {"/profile", "rows/0/min", "90"}, {"/profile", "rows/0/max", "100"},
		{"/profile", "rows/0/mean", "95"},
		{"/profile", "rows/1/exclusive", "45"}, {"/profile", "rows/2/exclusive", "15"},
		{"/profile?from=20&to=62", "rows/1/inclusive", "32"}, {"/profile?from=20&to=62", "rows/1/min", "2"},
		{"/profile?by=location&tracks=1", "rows/0/track", "1"}, {"/profile?by=location&tracks=1", "rows/0/exclusive", "75"},
		{"/profile?by=location", "rows/len", "4"},
		{"/calltree", "roots/0/name", "main"}, {"/calltree", "roots/0/inclusive", "190"},
		{"/calltree", "roots/0/children/0/inclusive", "45"}, {"/calltree", "roots/0/children/1/name", "stuck"},
		{"/calltree?tracks=1", "roots/0/inclusive", "90"},
		{"/calltree?from=20&to=62&tracks=0", "roots/0/children/0/inclusive", "32"},
		{"/matrix", "rows/len", "1"}, {"/matrix", "rows/0/source", "0"}, {"/matrix", "rows/0/destination", "1"},
		{"/matrix", "rows/0/min", "20"}, {"/matrix", "rows/0/mean", "20"}, {"/matrix", "rows/0/sum", "20"},
		{"/matrix", "rows/0/matched", "1"}, {"/matrix?from=21&to=50", "rows/len", "0"}, {"/matrix", "tracks/1", "1"},
		{"/locations", "rows/len", "2"}, {"/locations", "rows/0/busy", "100"}, {"/locations", "rows/1/busy", "90"},
		{"/locations", "rows/0/sentBytes", "64"}, {"/locations", "rows/1/received", "1"},
		{"/locations", "rows/0/exclusive/0/ticks", "55"},
		{"/locations?from=0&to=10", "rows/1/busy", "5"}, {"/locations?from=0&to=10", "rows/0/sent", "0"},
		// Rank 1 is idle before 5 and after 95. Rank 0 is never idle.
		{"/utilisation?from=0&to=100&width=2", "width", "2"}, {"/utilisation?from=0&to=100&width=2", "busy/0", "0.95"},
		{"/utilisation?from=0&to=100&width=1", "busy/0", "0.95"},
		{"/defects", "more", "0"}, {"/info", "events", "11"}, {"/info", "format", "otf2"}, {"/info", "span", "0.1"},
		{"/notes", "notes/len", "0"},
	} {
		v := get(t, s, api+x.query)
		if got := fmt.Sprint(look(v, x.path)); got != x.want {
			t.Errorf("%s: %s is %s, want %s", x.query, x.path, got, x.want)
		}
	}
	if text := fmt.Sprint(get(t, s, api+"/structure")["text"]); !strings.Contains(text, "rank 0") ||
		!strings.Contains(text, "main") {
		t.Errorf("structure: found %q", text)
	}
	// Characters of a name that have a meaning in HTML are escaped.
	if w := ask(s, "GET", api); strings.Contains(w.Body.String(), "<b>") {
		t.Errorf("the answer has the name of a region in it as it is: %s", w.Body)
	}
}

// TestProfileIsExact compares profiles of windows with the profiles that `weft profile` computes from all
// events.
func TestProfileIsExact(t *testing.T) {
	effort.Sequential(t)
	path := filepath.Join(t.TempDir(), "g.trf")
	writeGenerated(t, path, 40_000)
	s := newTestServer(t, options(t), path)
	api := waitReady(t, s, 0)
	v := get(t, s, api)
	var origin, length int64
	fmt.Sscan(v["origin"].(string), &origin)
	fmt.Sscan(v["length"].(string), &length)
	random := rand.New(rand.NewPCG(1, 2))
	for range 12 {
		from := random.Int64N(length)
		to := from + 1 + random.Int64N(length-from)
		got := map[string]string{}
		for _, r := range get(t, s, fmt.Sprintf("%s/profile?from=%d&to=%d", api, from, to))["rows"].([]any) {
			got[look(r, "name").(string)] = fmt.Sprint(look(r, "count"), look(r, "inclusive"), look(r, "exclusive"),
				look(r, "min"), look(r, "max"), look(r, "mean"))
		}
		d, err := s.opt.Reading.open(context.Background(), mustFormat(t, "picl"), format.FileSource(path), nil)
		if err != nil {
			t.Fatal(err)
		}
		p := profile.New(d.Defs(), profile.Options{Window: &trace.Window{From: origin + from, To: origin + to}})
		if err := d.Scan(context.Background(), trace.Everything(), format.PerLocation, p); err != nil {
			t.Fatal(err)
		}
		d.Close()
		want := map[string]string{}
		for _, r := range p.Result().Regions {
			if r.Count > 0 {
				want[r.Name] = fmt.Sprint(r.Count, fmt.Sprint(r.Inclusive), fmt.Sprint(r.Exclusive), fmt.Sprint(r.Min),
					fmt.Sprint(r.Max), decimals(r.Sum.Int64(), r.Count))
			}
		}
		for k, w := range want {
			if joinFields(got[k]) != joinFields(w) {
				t.Errorf("[%d, %d) %s: found %s, want %s", from, to, k, got[k], w)
			}
		}
		if len(got) != len(want) {
			t.Errorf("[%d, %d): found %d regions, want %d", from, to, len(got), len(want))
		}
	}
}

func joinFields(s string) string { return strings.Join(strings.Fields(s), " ") }

func mustFormat(t *testing.T, name string) format.Format {
	t.Helper()
	f, ok := format.ByName(all.Formats(), name)
	if !ok {
		t.Fatal(name)
	}
	return f
}

// TestTiles checks the layout of an encoded tile, on which the page depends.
func TestTiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sample.otf2")
	writeSample(t, path)
	s := newTestServer(t, options(t), path)
	api := waitReady(t, s, 0)
	for _, q := range []string{"/tiles?from=0&to=100&width=10&tracks=0-1&depths=2",
		"/summary?from=0&to=100&width=10&tracks=0,1"} {
		w := ask(s, "GET", api+q)
		b := w.Body.Bytes()
		if w.Code != 200 || w.Header().Get("Content-Type") != "application/octet-stream" || len(b) < 24 ||
			string(b[:8]) != "weftile2" || b[20] != 10 {
			t.Errorf("%s: status %d, %d bytes %.40q", q, w.Code, len(b), b)
		}
	}
	if b := ask(s, "GET", api+"/summary?from=0&to=100&width=10&tracks=0,1").Body.Bytes(); b[8] != 1 {
		t.Errorf("summary: found %d strips, want 1", b[8])
	}
}

// TestBadRequests checks that invalid parameters are refused with a reason.
func TestBadRequests(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sample.otf2")
	writeSample(t, path)
	s := newTestServer(t, options(t), path)
	api := waitReady(t, s, 0)
	for q, status := range map[string]int{
		"/tiles?from=0&to=10&width=10": 400, "/tiles?from=0&to=10&width=0&tracks=0": 400,
		"/tiles?from=0&to=10&width=8193&tracks=0": 400, "/tiles?from=10&to=10&width=1&tracks=0": 400,
		"/tiles?from=x&to=10&width=1&tracks=0": 400, "/tiles?width=1&tracks=2": 400, "/tiles?width=1&tracks=1-0": 400,
		"/tiles?width=1&tracks=-1": 400, "/tiles?width=1&tracks=0,": 400, "/tiles?width=1&tracks=0&depths=0": 400,
		"/tiles?width=1&tracks=" + strings.Repeat("0-1,", 2500) + "0": 400, "/tiles?width=1&tracks=0-999999999999": 400,
		"/tiles?from=99999999999999999999&to=1&width=1&tracks=0": 400,
		"/span?track=0&depth=0":                                  400, "/span?track=9&depth=0&time=1": 400,
		"/span?track=0&depth=5&time=1": 204, "/span?track=0&depth=0&time=-50": 204, "/span?track=0&depth=-1&time=0": 400,
		"/find?region=99&time=0": 400, "/find?region=1&time=0&direction=up": 400, "/find?region=1&time=99": 204,
		"/find?time=0":  400,
		"/profile?by=x": 400, "/profile?from=5&to=4": 400, "/links?limit=0": 400, "/calltree?tracks=a": 400,
		"/utilisation?width=0": 400, "/matrix?from=z": 400, "/locations?to=-1": 400,
		"/edge?track=0&depth=1&depths=1&time=53&within=2": 204, "/edge?track=0&time=1": 204,
		"/edge?track=0&time=1&within=-1": 400, "/edge?track=0&time=1&depths=0": 400,
		"/instant?track=0&time=0&radius=-1": 400, "/nothing": 404, "/tiles/more": 404,
		"/profile?from=-9223372036854775808&to=9223372036854775807":                200,
		"/tiles?from=-9223372036854775808&to=9223372036854775807&width=7&tracks=0": 200,
	} {
		w := ask(s, "GET", api+q)
		if w.Code != status {
			t.Errorf("%s: status %d, want %d: %s", q, w.Code, status, w.Body)
			continue
		}
		if status == 204 && w.Body.Len() > 0 {
			t.Errorf("%s: found %s, expected nothing", q, w.Body)
		}
		if status >= 400 {
			if v := decoded(t, w); len(v) != 1 || v["error"] == "" {
				t.Errorf("%s: found %v, expected an error", q, v)
			}
		}
	}
	if w := ask(s, "GET", "/api/traces/ffffffffffff"); w.Code != 404 {
		t.Errorf("trace that is not there: status %d", w.Code)
	}
}

// TestDefects checks that defects of a trace are listed with their places, and counted.
func TestDefects(t *testing.T) {
	path := filepath.Join(t.TempDir(), "broken.trf")
	if err := os.WriteFile(path, []byte("-3 2 0.00 0 0 0\nnonsense <b>\n-4 2 0.02 0 0 0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := newTestServer(t, options(t), path)
	api := waitReady(t, s, 0)
	v := get(t, s, api+"/defects")
	if look(v, "defects/0/severity") != "error" || look(v, "defects/0/position") != "line 2" ||
		look(v, "defects/0/file") != path || !strings.HasPrefix(fmt.Sprint(look(v, "defects/0/rule")), "picl.") {
		t.Errorf("found %v", v)
	}
	if n := get(t, s, api)["defects"]; fmt.Sprint(n) != "1" {
		t.Errorf("the trace tells %v defects, want 1", n)
	}
	// A server that uses the cached index lists the same defects.
	opt := options(t)
	opt.Cache = s.opt.Cache
	other := newTestServer(t, opt, path)
	if n := get(t, other, waitReady(t, other, 0))["defects"]; fmt.Sprint(n) != "1" {
		t.Errorf("with the index from the cache: %v defects, want 1", n)
	}
}

// TestPlacesOfDefects checks the track and time of a defect of an event.
func TestPlacesOfDefects(t *testing.T) {
	path := filepath.Join(t.TempDir(), "skewed.otf2")
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	a, b := r.Location("a"), r.Location("b")
	r.Enter(a, 1000, r.Region("main"))
	r.Recv(b, 1010, a, 1, 100)
	r.Send(a, 1025, b, 1, 100)
	r.Leave(b, 1040, r.Region("main"))
	save(t, path, r)
	s := newTestServer(t, options(t), path)
	api := waitReady(t, s, 0)
	v := get(t, s, api)
	found := map[string]string{}
	for _, x := range get(t, s, api+"/defects")["defects"].([]any) {
		name := ""
		if fmt.Sprint(look(x, "track")) != "-1" {
			name = fmt.Sprint(look(v, fmt.Sprint("tracks/", look(x, "track"), "/name")))
		}
		found[look(x, "rule").(string)] = fmt.Sprint(name, " ", look(x, "time"))
	}
	for rule, want := range map[string]string{"trace.leave-without-enter": "b 40", "trace.enter-without-leave": "a 0",
		"trace.clock-skew": "b 10"} {
		if found[rule] != want {
			t.Errorf("%s: found track and time %q, want %q", rule, found[rule], want)
		}
	}
}

// TestNoEvents checks that a trace without events can be shown.
func TestNoEvents(t *testing.T) {
	path := filepath.Join(t.TempDir(), "empty.trf")
	if err := os.WriteFile(path, []byte("-5 1 -1.0 -1 -1 4 0 main\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := newTestServer(t, options(t), path)
	api := waitReady(t, s, 0)
	v := get(t, s, api)
	if fmt.Sprint(v["events"]) != "0" || v["length"] != "0" || v["origin"] != "0" || v["epoch"] != "" {
		t.Errorf("found %v", v)
	}
	for _, q := range []string{"/profile", "/links", "/matrix", "/locations", "/calltree", "/utilisation?width=3",
		"/structure", "/defects", "/info"} {
		get(t, s, api+q)
	}
}

// TestStructureNames checks that threads with the same name have different names in the text of structures:
// their full names, as on the page.
func TestStructureNames(t *testing.T) {
	s := newTestServer(t, options(t), "../format/otf2/testdata/ok/heat2d-mt/traces.otf2")
	text := fmt.Sprint(get(t, s, waitReady(t, s, 0)+"/structure")["text"])
	for _, want := range []string{"MPI Rank 0 · Master thread: ", "MPI Rank 3 · Master thread: "} {
		if !strings.Contains(text, want) || strings.Contains(text, "· "+want) {
			t.Errorf("found no %q, or more before it, in %q", want, text)
		}
	}
}

// TestConcurrent sends all requests at the same time, so that the race detector finds data races.
func TestConcurrent(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for i := range 4 {
		p := filepath.Join(dir, fmt.Sprint(i, ".trf"))
		writeGenerated(t, p, 4000)
		paths = append(paths, p)
	}
	opt := options(t)
	opt.Indexes = 2
	s := newTestServer(t, opt, paths...)
	ctx := await.Context(t)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			id := s.traces.entries()[i%4].id
			for !strings.Contains(ask(s, "GET", "/api/traces/"+id).Body.String(), `"state":"ready"`) {
				if ctx.Err() != nil {
					t.Errorf("the time of the test run is over; %s is not ready", id)
					return
				}
				time.Sleep(time.Millisecond)
			}
			for k, q := range []string{"/tiles?width=50&tracks=0-5", "/summary?width=50&tracks=0-5",
				"/span?track=1&depth=0&time=100000", "/profile?by=location", "/profile?by=group", "/links?limit=5", "/matrix",
				"/locations", "/calltree", "/utilisation", "/structure", "/defects", "/info", "/notes", ""} {
				w := ask(s, "GET", "/api/traces/"+s.traces.entries()[(i+k)%4].id+q)
				if w.Code != 200 && w.Code != 404 && w.Code != 409 && w.Code != 503 {
					t.Errorf("%s: status %d: %s", q, w.Code, w.Body)
				}
			}
		})
	}
	group.Wait()
}
