package serve

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
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

// sample writes a trace of 1000 ticks a second; what the tests expect is counted by hand
// from here. The first event is at 100, the last at 200.
func sample(t *testing.T, path string) {
	t.Helper()
	r := trace.NewRecorder(trace.Seconds(1000))
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

// generated writes a trace with messages.
func generated(t *testing.T, path string, events int64) {
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
	return Options{Version: "test", Reading: Reading{Formats: all.Formats(), Workers: 2}, Cache: c, Token: secret,
		Page: fstest.MapFS{"index.html": {Data: []byte("<!doctype html><title>weft</title>")}, "assets/a.js": {Data: []byte("let a")}, "assets/odd.x": {Data: []byte("x")}}}
}

// viewing makes a server of some traces.
func viewing(t *testing.T, opt Options, paths ...string) *Server {
	t.Helper()
	for _, p := range paths {
		opt.Traces = append(opt.Traces, Given{Source: format.FileSource(p)})
	}
	s := New(opt)
	s.detailTime = time.Hour // a slow machine gives the same answers
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

// get asks for JSON, which must be there.
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

// ready waits until a trace is indexed, and gives the path of its API.
func ready(t *testing.T, s *Server, n int) string {
	t.Helper()
	id := s.traceAt(t, n).id
	if v := indexed(t, s, "/api/traces/"+id); v["state"] == "failed" {
		t.Fatalf("indexing failed: %v", v["error"])
	}
	return "/api/traces/" + id
}

// indexed waits until the server has indexed a trace, or has failed to, and returns its
// description.
func indexed(t *testing.T, s *Server, target string) (v map[string]any) {
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

// look follows a path such as rows/0/name through JSON.
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

// TestAnswers compares answers about the sample with what was counted by hand.
func TestAnswers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sample.otf2")
	sample(t, path)
	s := viewing(t, options(t), path)
	api := ready(t, s, 0)
	for _, x := range []struct{ query, path, want string }{
		{"", "origin", "100"}, {"", "length", "100"}, {"", "events", "11"}, {"", "spans", "5"}, {"", "links", "1"},
		{"", "clock/num", "1000"}, {"", "clock/den", "1"},
		{"", "tracks/0/name", "rank 0"}, {"", "tracks/0/depth", "2"}, {"", "tracks/0/spans", "3"}, {"", "tracks/0/first", "0"}, {"", "tracks/0/last", "100"}, {"", "tracks/1/first", "5"},
		{"", "tracks/1/last", "95"}, {"", "regions/1/name", `work<b>&"x"`},
		{"/span?track=0&depth=1&time=20", "span/name", `work<b>&"x"`},
		{"/span?track=0&depth=1&time=20", "span/start", "10"}, {"/span?track=0&depth=1&time=20", "span/end", "50"}, {"/span?track=0&depth=1&time=20", "span/open", "false"},
		{"/span?track=0&depth=1&time=20", "attributes/0/name", "step"}, {"/span?track=0&depth=1&time=20", "attributes/0/value", "5"}, {"/span?track=0&depth=1&time=20", "partial", "false"},
		{"/span?track=0&depth=1&time=62", "attributes/0/value", "6"},
		{"/span?track=0&depth=1&time=20", "around/0/name", "main"}, {"/span?track=0&depth=1&time=20", "around/0/end", "100"},
		{"/span?track=0&depth=1&time=20", "links/len", "1"}, {"/span?track=0&depth=1&time=20", "links/0/from/time", "20"}, {"/span?track=0&depth=1&time=20", "links/0/to/track", "1"},
		{"/span?track=0&depth=1&time=20", "links/0/to/time", "40"}, {"/span?track=0&depth=1&time=20", "links/0/bytes", "64"}, {"/span?track=0&depth=1&time=20", "links/0/tag", "7"},
		{"/span?track=0&depth=1&time=62", "links/len", "0"},
		{"/span?track=1&depth=1&time=85", "span/name", "stuck"}, {"/span?track=1&depth=1&time=85", "span/end", "95"}, {"/span?track=1&depth=1&time=85", "span/open", "true"},
		{"/span?track=0&time=3", "span/open", "false"},
		{"/edge?track=0&depth=1&depths=1&time=53&within=14", "time", "50"}, {"/edge?track=0&depth=1&depths=1&time=56&within=14", "time", "60"}, {"/edge?track=0&time=13&within=14", "time", "10"}, {"/edge?track=0&depths=1&time=13&within=14", "time", "0"},
		{"/find?region=1&track=0&time=20", "span/start", "60"}, {"/find?region=1&time=59&direction=previous", "span/start", "10"}, {"/find?region=1&time=-5", "span/start", "10"},
		{"/links", "total", "1"}, {"/links", "shown", "1"}, {"/links", "bundled", "false"}, {"/links", "links/0/kind", "message"}, {"/links?from=0&to=15", "shown", "0"},
		{"/profile", "from", "0"}, {"/profile", "to", "101"},
		// main: rank 0 100 ticks, of them 45 in work; rank 1 90 ticks, of them 15 in stuck.
		{"/profile", "rows/0/name", "main"}, {"/profile", "rows/0/inclusive", "190"}, {"/profile", "rows/0/exclusive", "130"}, {"/profile", "rows/0/count", "2"}, {"/profile", "rows/0/min", "90"}, {"/profile", "rows/0/max", "100"}, {"/profile", "rows/0/mean", "95"},
		{"/profile", "rows/1/exclusive", "45"}, {"/profile", "rows/2/exclusive", "15"}, {"/profile?from=20&to=62", "rows/1/inclusive", "32"}, {"/profile?from=20&to=62", "rows/1/min", "2"},
		{"/profile?by=location&tracks=1", "rows/0/track", "1"}, {"/profile?by=location&tracks=1", "rows/0/exclusive", "75"}, {"/profile?by=location", "rows/len", "4"},
		{"/calltree", "roots/0/name", "main"}, {"/calltree", "roots/0/inclusive", "190"}, {"/calltree", "roots/0/children/0/inclusive", "45"}, {"/calltree", "roots/0/children/1/name", "stuck"},
		{"/calltree?tracks=1", "roots/0/inclusive", "90"}, {"/calltree?from=20&to=62&tracks=0", "roots/0/children/0/inclusive", "32"},
		{"/matrix", "rows/len", "1"}, {"/matrix", "rows/0/source", "0"}, {"/matrix", "rows/0/destination", "1"}, {"/matrix", "rows/0/min", "20"}, {"/matrix", "rows/0/mean", "20"}, {"/matrix", "rows/0/sum", "20"}, {"/matrix", "rows/0/matched", "1"}, {"/matrix?from=21&to=50", "rows/len", "0"}, {"/matrix", "tracks/1", "1"},
		{"/locations", "rows/len", "2"}, {"/locations", "rows/0/busy", "100"}, {"/locations", "rows/1/busy", "90"}, {"/locations", "rows/0/sentBytes", "64"}, {"/locations", "rows/1/received", "1"}, {"/locations", "rows/0/exclusive/0/ticks", "55"},
		{"/locations?from=0&to=10", "rows/1/busy", "5"}, {"/locations?from=0&to=10", "rows/0/sent", "0"},
		// rank 1 is idle before 5 and after 95, rank 0 never.
		{"/utilisation?from=0&to=100&width=2", "width", "2"}, {"/utilisation?from=0&to=100&width=2", "busy/0", "0.95"}, {"/utilisation?from=0&to=100&width=1", "busy/0", "0.95"},
		{"/defects", "more", "0"}, {"/info", "events", "11"}, {"/info", "format", "otf2"}, {"/info", "span", "0.1"}, {"/notes", "notes/len", "0"},
	} {
		v := get(t, s, api+x.query)
		if got := fmt.Sprint(look(v, x.path)); got != x.want {
			t.Errorf("%s: %s is %s, want %s", x.query, x.path, got, x.want)
		}
	}
	if text := fmt.Sprint(get(t, s, api+"/structure")["text"]); !strings.Contains(text, "rank 0") || !strings.Contains(text, "main") {
		t.Errorf("structure: found %q", text)
	}
	// Names do not leave the text that they are in.
	if w := ask(s, "GET", api); strings.Contains(w.Body.String(), "<b>") {
		t.Errorf("the answer has the name of a region in it as it is: %s", w.Body)
	}
}

// TestClaims: what the trace says of a claim, and of an instant.
func TestClaims(t *testing.T) {
	path := filepath.Join(t.TempDir(), "claims.etf")
	r := trace.NewRecorder(trace.Seconds(10))
	res := r.Resource("disk", 4, "heads")
	loc := r.Location("ticker")
	c := r.Claim(res, 5, r.Region("read"), 3, trace.Attr{Key: "file", Value: trace.StringValue("a b")})
	r.Release(c, 25)
	r.Mark(loc, 12, r.Region("tick"), trace.Attr{Key: "n", Value: trace.StringValue("x")})
	save(t, path, r)
	s := viewing(t, options(t), path)
	api := ready(t, s, 0)
	v := get(t, s, api)
	disk, ticks := -1, -1
	for i, x := range v["tracks"].([]any) {
		switch {
		case look(x, "kind") == "resource":
			disk = i
		case fmt.Sprint(look(x, "instants")) == "1":
			ticks = i
		}
	}
	if disk < 0 || ticks < 0 {
		t.Fatalf("found the tracks %v, expected a resource and instants", v["tracks"])
	}
	if got := fmt.Sprint(look(v, fmt.Sprintf("tracks/%d/capacity", disk))); got != "4" {
		t.Errorf("capacity %s, want 4", got)
	}
	v = get(t, s, fmt.Sprintf("%s/span?track=%d&depth=0&time=3", api, disk))
	has := map[string]string{}
	for _, a := range v["attributes"].([]any) {
		has[look(a, "name").(string)] = look(a, "value").(string)
	}
	if has["amount"] != "3" || has["file"] != "a b" || look(v, "span/end") != "20" {
		t.Errorf("claim: found %v of %v", has, v["span"])
	}
	v = get(t, s, fmt.Sprintf("%s/instant?track=%d&time=5&radius=3", api, ticks))
	if look(v, "time") != "7" || look(v, "kind") != "mark" || !strings.Contains(fmt.Sprint(v["attributes"]), "name:n value:x") {
		t.Errorf("instant: found %v", v)
	}
	if w := ask(s, "GET", fmt.Sprintf("%s/instant?track=%d&time=5&radius=1", api, ticks)); w.Code != 204 || w.Body.Len() > 0 {
		t.Errorf("instant too far away: status %d", w.Code)
	}
}

// TestProfileIsExact compares profiles of windows with those that weft profile makes of
// the whole trace, event by event.
func TestProfileIsExact(t *testing.T) {
	effort.Sequential(t)
	path := filepath.Join(t.TempDir(), "g.trf")
	generated(t, path, 40_000)
	s := viewing(t, options(t), path)
	api := ready(t, s, 0)
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
			got[look(r, "name").(string)] = fmt.Sprint(look(r, "count"), look(r, "inclusive"), look(r, "exclusive"), look(r, "min"), look(r, "max"), look(r, "mean"))
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
				want[r.Name] = fmt.Sprint(r.Count, fmt.Sprint(r.Inclusive), fmt.Sprint(r.Exclusive), fmt.Sprint(r.Min), fmt.Sprint(r.Max), decimals(r.Sum.Int64(), r.Count))
			}
		}
		for k, w := range want {
			if clean(got[k]) != clean(w) {
				t.Errorf("[%d, %d) %s: found %s, want %s", from, to, k, got[k], w)
			}
		}
		if len(got) != len(want) {
			t.Errorf("[%d, %d): found %d regions, want %d", from, to, len(got), len(want))
		}
	}
}

func clean(s string) string { return strings.Join(strings.Fields(s), " ") }

func mustFormat(t *testing.T, name string) format.Format {
	t.Helper()
	f, ok := format.ByName(all.Formats(), name)
	if !ok {
		t.Fatal(name)
	}
	return f
}

// TestTiles: a tile has the layout that the page expects.
func TestTiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sample.otf2")
	sample(t, path)
	s := viewing(t, options(t), path)
	api := ready(t, s, 0)
	for _, q := range []string{"/tiles?from=0&to=100&width=10&tracks=0-1&depths=2", "/summary?from=0&to=100&width=10&tracks=0,1"} {
		w := ask(s, "GET", api+q)
		b := w.Body.Bytes()
		if w.Code != 200 || w.Header().Get("Content-Type") != "application/octet-stream" || len(b) < 24 || string(b[:8]) != "weftile1" || b[20] != 10 {
			t.Errorf("%s: status %d, %d bytes %.40q", q, w.Code, len(b), b)
		}
	}
	if b := ask(s, "GET", api+"/summary?from=0&to=100&width=10&tracks=0,1").Body.Bytes(); b[8] != 1 {
		t.Errorf("summary: found %d strips, want 1", b[8])
	}
}

// TestBadQuestions: parameters that make no sense are refused with a reason.
func TestBadQuestions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sample.otf2")
	sample(t, path)
	s := viewing(t, options(t), path)
	api := ready(t, s, 0)
	for q, status := range map[string]int{
		"/tiles?from=0&to=10&width=10": 400, "/tiles?from=0&to=10&width=0&tracks=0": 400, "/tiles?from=0&to=10&width=8193&tracks=0": 400, "/tiles?from=10&to=10&width=1&tracks=0": 400,
		"/tiles?from=x&to=10&width=1&tracks=0": 400, "/tiles?width=1&tracks=2": 400, "/tiles?width=1&tracks=1-0": 400, "/tiles?width=1&tracks=-1": 400, "/tiles?width=1&tracks=0,": 400, "/tiles?width=1&tracks=0&depths=0": 400,
		"/tiles?width=1&tracks=" + strings.Repeat("0-1,", 2500) + "0": 400, "/tiles?width=1&tracks=0-999999999999": 400, "/tiles?from=99999999999999999999&to=1&width=1&tracks=0": 400,
		"/span?track=0&depth=0": 400, "/span?track=9&depth=0&time=1": 400, "/span?track=0&depth=5&time=1": 204, "/span?track=0&depth=0&time=-50": 204, "/span?track=0&depth=-1&time=0": 400,
		"/find?region=99&time=0": 400, "/find?region=1&time=0&direction=up": 400, "/find?region=1&time=99": 204, "/find?time=0": 400,
		"/profile?by=x": 400, "/profile?from=5&to=4": 400, "/links?limit=0": 400, "/calltree?tracks=a": 400, "/utilisation?width=0": 400, "/matrix?from=z": 400, "/locations?to=-1": 400,
		"/edge?track=0&depth=1&depths=1&time=53&within=2": 204, "/edge?track=0&time=1": 204, "/edge?track=0&time=1&within=-1": 400, "/edge?track=0&time=1&depths=0": 400,
		"/instant?track=0&time=0&radius=-1": 400, "/nothing": 404, "/tiles/more": 404,
		"/profile?from=-9223372036854775808&to=9223372036854775807": 200, "/tiles?from=-9223372036854775808&to=9223372036854775807&width=7&tracks=0": 200,
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

// TestDefects: what is wrong with a trace is told with its place, and counted.
func TestDefects(t *testing.T) {
	path := filepath.Join(t.TempDir(), "broken.trf")
	if err := os.WriteFile(path, []byte("-3 2 0.00 0 0 0\nnonsense <b>\n-4 2 0.02 0 0 0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := viewing(t, options(t), path)
	api := ready(t, s, 0)
	v := get(t, s, api+"/defects")
	if look(v, "defects/0/severity") != "error" || look(v, "defects/0/position") != "line 2" || look(v, "defects/0/file") != path || !strings.HasPrefix(fmt.Sprint(look(v, "defects/0/rule")), "picl.") {
		t.Errorf("found %v", v)
	}
	if n := get(t, s, api)["defects"]; fmt.Sprint(n) != "1" {
		t.Errorf("the trace tells %v defects, want 1", n)
	}
	// Who finds the index in the cache is told the same.
	opt := options(t)
	opt.Cache = s.opt.Cache
	other := viewing(t, opt, path)
	if n := get(t, other, ready(t, other, 0))["defects"]; fmt.Sprint(n) != "1" {
		t.Errorf("with the index from the cache: %v defects, want 1", n)
	}
}

// TestPlacesOfDefects: a defect of events tells its track and time.
func TestPlacesOfDefects(t *testing.T) {
	path := filepath.Join(t.TempDir(), "skewed.otf2")
	r := trace.NewRecorder(trace.Seconds(1000))
	a, b := r.Location("a"), r.Location("b")
	r.Enter(a, 1000, r.Region("main"))
	r.Recv(b, 1010, a, 1, 100)
	r.Send(a, 1025, b, 1, 100)
	r.Leave(b, 1040, r.Region("main"))
	save(t, path, r)
	s := viewing(t, options(t), path)
	api := ready(t, s, 0)
	v := get(t, s, api)
	found := map[string]string{}
	for _, x := range get(t, s, api+"/defects")["defects"].([]any) {
		name := ""
		if fmt.Sprint(look(x, "track")) != "-1" {
			name = fmt.Sprint(look(v, fmt.Sprint("tracks/", look(x, "track"), "/name")))
		}
		found[look(x, "rule").(string)] = fmt.Sprint(name, " ", look(x, "time"))
	}
	for rule, want := range map[string]string{"trace.leave-without-enter": "b 40", "trace.enter-without-leave": "a 0", "trace.clock-skew": "b 10"} {
		if found[rule] != want {
			t.Errorf("%s: found track and time %q, want %q", rule, found[rule], want)
		}
	}
}

// TestNoEvents: a trace without events can be shown.
func TestNoEvents(t *testing.T) {
	path := filepath.Join(t.TempDir(), "empty.trf")
	if err := os.WriteFile(path, []byte("-5 1 -1.0 -1 -1 4 0 main\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := viewing(t, options(t), path)
	api := ready(t, s, 0)
	v := get(t, s, api)
	if fmt.Sprint(v["events"]) != "0" || v["length"] != "0" || v["origin"] != "0" || v["epoch"] != "" {
		t.Errorf("found %v", v)
	}
	for _, q := range []string{"/profile", "/links", "/matrix", "/locations", "/calltree", "/utilisation?width=3", "/structure", "/defects", "/info"} {
		get(t, s, api+q)
	}
}

// TestGuard: who may ask.
func TestGuard(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sample.otf2")
	sample(t, path)
	opt := options(t)
	opt.Hosts = []string{"traces.example.org"}
	s := viewing(t, opt, path)
	for _, x := range []struct {
		name   string
		target string
		header []string
		status int
	}{
		{"nothing", "/api/traces", nil, 401},
		{"page without token", "/", nil, 401},
		{"wrong token", "/?token=wrong", nil, 401},
		{"wrong bearer", "/api/traces", []string{"Authorization", "Bearer wrong"}, 401},
		{"other scheme", "/api/traces", []string{"Authorization", "Basic " + secret}, 401},
		{"bearer", "/api/traces", []string{"Authorization", "Bearer " + secret}, 200},
		{"bearer in small letters", "/api/traces", []string{"Authorization", "bearer  " + secret}, 200},
		{"bearer alone", "/api/traces", []string{"Authorization", "Bearer"}, 401},
		{"cookie", "/api/traces", []string{"Cookie", "weft=" + secret}, 200},
		{"wrong cookie", "/api/traces", []string{"Cookie", "weft=" + secret + "x"}, 401},
		{"other cookie", "/api/traces", []string{"Cookie", "weft-1=" + secret}, 401},
		{"page with token", "/?token=" + secret, nil, 303},
		{"localhost", "/api/traces", []string{"Authorization", "Bearer " + secret, "Host", "localhost:99"}, 200},
		{"IPv6", "/api/traces", []string{"Authorization", "Bearer " + secret, "Host", "[::1]:99"}, 200},
		{"told host", "/api/traces", []string{"Authorization", "Bearer " + secret, "Host", "Traces.Example.org"}, 200},
		{"foreign host", "/api/traces", []string{"Authorization", "Bearer " + secret, "Host", "evil.example.com:1234"}, 403},
		{"like localhost", "/api/traces", []string{"Authorization", "Bearer " + secret, "Host", "localhost.evil.com"}, 403},
		{"no host", "/api/traces", []string{"Authorization", "Bearer " + secret, "Host", ""}, 403},
		{"own origin", "/api/traces", []string{"Authorization", "Bearer " + secret, "Origin", "http://127.0.0.1:1234"}, 200},
		{"other port", "/api/traces", []string{"Authorization", "Bearer " + secret, "Origin", "http://127.0.0.1:9"}, 403},
		{"foreign origin", "/api/traces", []string{"Authorization", "Bearer " + secret, "Origin", "https://evil.example.com"}, 403},
		{"no origin", "/api/traces", []string{"Authorization", "Bearer " + secret, "Origin", "null"}, 403},
		{"link on another site's page", "/", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, 200},
		{"script of another site", "/api/traces", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, 401},
	} {
		w := send(s, "GET", x.target, nil, x.header...)
		if w.Code != x.status {
			t.Errorf("%s: status %d, want %d: %s", x.name, w.Code, x.status, w.Body)
		}
		h := w.Header()
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: found the headers %v", x.name, h)
		}
		if w.Code >= 400 && decoded(t, w)["error"] == "" {
			t.Errorf("%s: no error", x.name)
		}
		if strings.Contains(w.Body.String(), secret) {
			t.Errorf("%s: the answer has the token in it", x.name)
		}
	}
}

// TestWrongToken: people in a browser read words, programs JSON.
func TestWrongToken(t *testing.T) {
	s := viewing(t, options(t))
	for accept, kind := range map[string]string{
		"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8": "text/html; charset=utf-8",
		"text/html;q=0.5, application/json;q=0.4":                                    "text/html; charset=utf-8",
		"":                                  "application/json",
		"*/*":                               "application/json",
		"application/json, text/html;q=0.9": "application/json",
		"text/html;q=0":                     "application/json",
		"text/html;q=x":                     "application/json",
	} {
		for _, target := range []string{"/?token=wrong", "/", "/api/traces"} {
			w := send(s, "GET", target, nil, "Accept", accept)
			body := w.Body.String()
			if h := w.Header(); w.Code != 401 || h.Get("Content-Type") != kind || h.Get("Cache-Control") != "no-store" || !slices.Contains(h.Values("Vary"), "Accept") {
				t.Errorf("%s with Accept %q: status %d, headers %v", target, accept, w.Code, h)
			}
			if html := strings.HasPrefix(body, "<!doctype html>"); html != strings.HasPrefix(kind, "text/html") || !strings.Contains(body, "the address that weft printed") {
				t.Errorf("%s with Accept %q: found %q", target, accept, body)
			}
		}
	}
	if w := send(s, "PUT", "/", nil, "Accept", "text/html"); w.Code != 401 || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("PUT: status %d, headers %v", w.Code, w.Header())
	}
}

// TestStructureNames: threads of all processes have the same name, and are told apart as in the page.
func TestStructureNames(t *testing.T) {
	s := viewing(t, options(t), "../format/otf2/testdata/ok/heat2d-mt/traces.otf2")
	text := fmt.Sprint(get(t, s, ready(t, s, 0)+"/structure")["text"])
	for _, want := range []string{"MPI Rank 0 · Master thread: ", "MPI Rank 3 · Master thread: "} {
		if !strings.Contains(text, want) || strings.Contains(text, "· "+want) {
			t.Errorf("found no %q, or more before it, in %q", want, text)
		}
	}
}

// TestCookie: the token in the page's address becomes a cookie, and goes from the address.
func TestCookie(t *testing.T) {
	s := viewing(t, options(t))
	for target, to := range map[string]string{"/?token=" + secret: "/", "/?token=" + secret + "&trace=a%26b": "/?trace=a%26b", "//evil.example.com/?token=" + secret: "/evil.example.com/"} {
		r := httptest.NewRequest("GET", "/", nil)
		u, err := url.ParseRequestURI(target)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(target, "//") {
			u = &url.URL{Path: "//evil.example.com/", RawQuery: "token=" + secret}
		}
		r.URL, r.Host = u, "localhost"
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		c := w.Result().Cookies()
		if w.Code != 303 || w.Header().Get("Location") != to || len(c) != 1 || c[0].Value != secret || !c[0].HttpOnly || c[0].SameSite != http.SameSiteStrictMode || c[0].Path != "/" {
			t.Errorf("%s: status %d, to %q, cookies %v", target, w.Code, w.Header().Get("Location"), c)
		}
	}
	if w := send(s, "PUT", "/?token="+secret, nil); w.Code != 401 {
		t.Errorf("PUT with the token in the address: status %d, want 401", w.Code)
	}
}

// TestTicket: an address for the browser works once.
func TestTicket(t *testing.T) {
	s := viewing(t, options(t))
	l := listen(t)
	defer l.Close()
	u, err := url.Parse(s.Ticket(l))
	if err != nil || strings.Contains(u.String(), secret) {
		t.Fatalf("found the ticket %s, %v", u, err)
	}
	if u.Fragment != "" {
		t.Errorf("found the fragment %s though there are no traces", u.Fragment)
	}
	if w := send(s, "GET", "/?"+u.RawQuery, nil); w.Code != 303 || w.Result().Cookies()[0].Value != secret {
		t.Errorf("the first time: status %d", w.Code)
	}
	if w := send(s, "GET", "/?"+u.RawQuery, nil); w.Code != 401 {
		t.Errorf("the second time: status %d, want 401", w.Code)
	}
}

// TestPage: files of the page, and methods.
func TestPage(t *testing.T) {
	s := viewing(t, options(t))
	for _, x := range []struct {
		method, target string
		status         int
		kind           string
	}{
		{"GET", "/", 200, "text/html; charset=utf-8"}, {"HEAD", "/", 200, "text/html; charset=utf-8"}, {"GET", "/assets/a.js", 200, "text/javascript; charset=utf-8"}, {"GET", "/assets/odd.x", 200, "application/octet-stream"},
		{"GET", "/assets", 404, "application/json"}, {"GET", "/none", 404, "application/json"}, {"POST", "/", 405, "application/json"}, {"DELETE", "/api/traces", 405, "application/json"}, {"HEAD", "/api/traces", 200, "application/json"},
		{"GET", "/api/none", 404, "application/json"}, {"GET", "/api/openapi.json", 200, "application/json"}, {"OPTIONS", "/api/traces", 405, "application/json"},
	} {
		w := ask(s, x.method, x.target)
		if w.Code != x.status || w.Header().Get("Content-Type") != x.kind {
			t.Errorf("%s %s: status %d, %s; want %d, %s", x.method, x.target, w.Code, w.Header().Get("Content-Type"), x.status, x.kind)
		}
		if x.method == "HEAD" && w.Body.Len() > 0 {
			t.Errorf("HEAD %s: found a body", x.target)
		}
		if x.status == 405 && !strings.Contains(w.Header().Get("Allow"), "GET") {
			t.Errorf("%s %s: Allow is %q", x.method, x.target, w.Header().Get("Allow"))
		}
	}
	if p := ask(s, "GET", "/").Header().Get("Content-Security-Policy"); !strings.Contains(p, "default-src 'self'") || strings.Contains(p, "script-src") {
		t.Errorf("policy %q", p)
	}
}

// TestUnchanged: what the client has is not sent again.
func TestUnchanged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sample.otf2")
	sample(t, path)
	s := viewing(t, options(t), path)
	api := ready(t, s, 0)
	tags := map[string]string{}
	for _, q := range []string{"/", api, api + "/profile", api + "/profile?from=1", api + "/calltree", api + "/tiles?width=3&tracks=0", api + "/tiles?width=4&tracks=0"} {
		w := ask(s, "GET", q)
		tag := w.Header().Get("ETag")
		if w.Code != 200 || tag == "" {
			t.Fatalf("%s: status %d, ETag %q", q, w.Code, tag)
		}
		if old, ok := tags[tag]; ok {
			t.Errorf("%s and %s have the same ETag", q, old)
		}
		tags[tag] = q
		for _, sent := range []string{tag, `"x", ` + tag} {
			if w := ask(s, "GET", q, "If-None-Match", sent); w.Code != 304 || w.Body.Len() > 0 || w.Header().Get("ETag") != tag {
				t.Errorf("%s: status %d, %d bytes", q, w.Code, w.Body.Len())
			}
		}
		if w := ask(s, "GET", q, "If-None-Match", `"other"`); w.Code != 200 {
			t.Errorf("%s: status %d with another ETag", q, w.Code)
		}
	}
	if w := ask(s, "GET", api+"/profile?from=x"); w.Header().Get("ETag") != "" || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("an error can be kept: %v", w.Header())
	}
}

// TestCompressed: answers to other machines are compressed if these understand it.
func TestCompressed(t *testing.T) {
	s := viewing(t, options(t))
	plain := ask(s, "GET", "/api/openapi.json").Body.Bytes()
	for _, x := range []struct {
		from, accept string
		zipped       bool
	}{{"192.0.2.7:5", "gzip", true}, {"192.0.2.7:5", "br, gzip;q=0.5", true}, {"192.0.2.7:5", "gzip;q=0", false}, {"192.0.2.7:5", "", false}, {"127.0.0.1:5", "gzip", false}, {"[::1]:5", "gzip", false}, {"@", "gzip", false}} {
		w := ask(s, "GET", "/api/openapi.json", "From", x.from, "Accept-Encoding", x.accept)
		if got := w.Header().Get("Content-Encoding") == "gzip"; got != x.zipped {
			t.Errorf("%+v: compressed is %t", x, got)
			continue
		}
		var r io.Reader = w.Body
		if x.zipped {
			z, err := gzip.NewReader(w.Body)
			if err != nil {
				t.Fatal(err)
			}
			r = z
		}
		if body, err := io.ReadAll(r); err != nil || !reflect.DeepEqual(body, plain) {
			t.Errorf("%+v: another body, %v", x, err)
		}
	}
}

// TestNotes: notes are kept beside the index.
func TestNotes(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "sample.otf2")
	sample(t, path)
	beside, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	opt := options(t)
	s := viewing(t, opt, path)
	api := "/api/traces/" + s.traceAt(t, 0).id + "/notes"
	put := func(body string) *httptest.ResponseRecorder {
		return send(s, "PUT", api, strings.NewReader(body), "Authorization", "Bearer "+secret)
	}
	good := `{"notes":[{"id":"a","from":"5","to":"9223372036854775807","track":-1,"text":"<i>here</i>","created":"2026-01-02T03:04:05Z"},{"id":"b","from":"5","to":"5","track":1,"text":""}]}`
	if w := put(good); w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	v := get(t, s, api)
	if look(v, "notes/0/to") != "9223372036854775807" || look(v, "notes/0/text") != "<i>here</i>" || look(v, "notes/1/created") == "" {
		t.Errorf("found %v", v)
	}
	if l, err := os.ReadDir(dir); err != nil || len(l) != len(beside) {
		t.Errorf("found %v beside the trace, expected what was there: %v", l, err)
	}
	again := options(t)
	again.Cache, again.Reading.Strict = opt.Cache, true
	other := viewing(t, again, path)
	if v := get(t, other, api); fmt.Sprint(look(v, "notes/len")) != "2" {
		t.Errorf("another server with other settings finds %v", v)
	}
	if v := get(t, viewing(t, options(t), path), api); fmt.Sprint(look(v, "notes/len")) != "0" {
		t.Errorf("a server with another cache finds %v", v)
	}
	for name, body := range map[string]string{
		"no JSON": "x", "nothing": "", "null": "null", "null notes": `{"notes":null}`, "no notes": `{}`, "a list": "[]", "more behind": `{"notes":[]} {}`, "rubbish behind": `{"notes":[]}x`, "deep": strings.Repeat("[", 100_000), "other field": `{"notes":[],"x":1}`, "no id": `{"notes":[{"from":"1","to":"2","track":0,"text":""}]}`, "id twice": `{"notes":[{"id":"a","from":"1","to":"2","track":0,"text":""},{"id":"a","from":"1","to":"2","track":0,"text":""}]}`,
		"times": `{"notes":[{"id":"a","from":"3","to":"2","track":0,"text":""}]}`, "number": `{"notes":[{"id":"a","from":3,"to":"2","track":0,"text":""}]}`, "date": `{"notes":[{"id":"a","from":"1","to":"2","track":0,"text":"","created":"now"}]}`,
		"long": `{"notes":[{"id":"a","from":"1","to":"2","track":0,"text":"` + strings.Repeat("x", maxNoteText+1) + `"}]}`,
	} {
		if w := put(body); w.Code != 400 || strings.Contains(w.Body.String(), "serve.") {
			t.Errorf("%s: status %d: %s", name, w.Code, w.Body)
		}
	}
	if v := get(t, s, api); fmt.Sprint(look(v, "notes/len")) != "2" {
		t.Errorf("refused notes were written: %v", v)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	opt.Traces, opt.Dir = nil, root
	shared := New(opt)
	defer shared.Close()
	id := shared.traceAt(t, 0).id
	if v := get(t, shared, "/api/traces/"+id+"/notes"); fmt.Sprint(look(v, "notes/len")) != "2" {
		t.Errorf("the server of the folder finds %v", v)
	}
	if w := send(shared, "PUT", "/api/traces/"+id+"/notes", strings.NewReader(good), "Authorization", "Bearer "+secret); w.Code != 403 {
		t.Errorf("the server of the folder: status %d, want 403", w.Code)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if w := ask(s, "GET", api); w.Code != 404 {
		t.Errorf("the trace is gone: status %d: %s", w.Code, w.Body)
	}
}

// TestNotesOfIndex: notes on a trace with an index of its own are beside that; one from
// standard input has none.
func TestNotesOfIndex(t *testing.T) {
	dir := t.TempDir()
	path, index := filepath.Join(dir, "sample.otf2"), filepath.Join(t.TempDir(), "x.weftidx")
	sample(t, path)
	opt := options(t)
	if _, err := MakeIndex(context.Background(), opt.Reading, opt.Cache, format.FileSource(path), IndexOptions{Path: index}); err != nil {
		t.Fatal(err)
	}
	opt.Traces = []Given{{Source: format.FileSource(path), Index: index}, {Source: format.FileSource(path), Once: true}}
	s := New(opt)
	defer s.Close()
	put := func(n int) *httptest.ResponseRecorder {
		body := `{"notes":[{"id":"a","from":"5","to":"6","track":-1,"text":"here"}]}`
		return send(s, "PUT", "/api/traces/"+s.traceAt(t, n).id+"/notes", strings.NewReader(body), "Authorization", "Bearer "+secret)
	}
	if w := put(0); w.Code != 200 {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	if text, err := os.ReadFile(index + ".notes.json"); err != nil || !strings.Contains(string(text), `"text": "here"`) {
		t.Errorf("found %s, %v", text, err)
	}
	if v := get(t, s, "/api/traces/"+s.traceAt(t, 0).id+"/notes"); look(v, "notes/0/text") != "here" {
		t.Errorf("found %v", v)
	}
	if w := put(1); w.Code != 403 {
		t.Errorf("from standard input: status %d: %s", w.Code, w.Body)
	}
}

// TestConcurrent asks for everything at once; it is for the race detector.
func TestConcurrent(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for i := range 4 {
		p := filepath.Join(dir, fmt.Sprint(i, ".trf"))
		generated(t, p, 4000)
		paths = append(paths, p)
	}
	opt := options(t)
	opt.Indexes = 2
	s := viewing(t, opt, paths...)
	ctx := await.Context(t)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			id := s.traces.known()[i%4].id
			for !strings.Contains(ask(s, "GET", "/api/traces/"+id).Body.String(), `"state":"ready"`) {
				if ctx.Err() != nil {
					t.Errorf("the time of the test run is over; %s is not ready", id)
					return
				}
				time.Sleep(time.Millisecond)
			}
			for k, q := range []string{"/tiles?width=50&tracks=0-5", "/summary?width=50&tracks=0-5", "/span?track=1&depth=0&time=100000", "/profile?by=location", "/profile?by=group", "/links?limit=5", "/matrix", "/locations", "/calltree", "/utilisation", "/structure", "/defects", "/info", "/notes", ""} {
				w := ask(s, "GET", "/api/traces/"+s.traces.known()[(i+k)%4].id+q)
				if w.Code != 200 && w.Code != 404 && w.Code != 409 && w.Code != 503 {
					t.Errorf("%s: status %d: %s", q, w.Code, w.Body)
				}
			}
		})
	}
	group.Wait()
}

// schema is what of a description is checked.
type schema struct {
	Ref                  string `json:"$ref"`
	Type                 any
	Properties           map[string]*schema
	Required             []string
	AdditionalProperties *bool
	Items                *schema
	Enum                 []string
	Pattern              string
}

type description struct {
	Paths      map[string]map[string]*operation
	Components struct{ Schemas map[string]*schema }
}

type operation struct {
	Responses map[string]struct {
		Ref     string `json:"$ref"`
		Content map[string]struct{ Schema *schema }
	}
}

// check compares a value with its schema.
func (d *description) check(s *schema, v any, at string) error {
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		x := d.Components.Schemas[name]
		if x == nil {
			return fmt.Errorf("%s: no schema %s", at, name)
		}
		return d.check(x, v, at)
	}
	found := ""
	switch x := v.(type) {
	case map[string]any:
		found = "object"
		for _, k := range s.Required {
			if _, ok := x[k]; !ok {
				return fmt.Errorf("%s: lacks %s", at, k)
			}
		}
		for k, y := range x {
			p := s.Properties[k]
			if p == nil {
				if s.AdditionalProperties != nil && !*s.AdditionalProperties {
					return fmt.Errorf("%s: has %s, which is not described", at, k)
				}
				continue
			}
			if err := d.check(p, y, at+"/"+k); err != nil {
				return err
			}
		}
	case []any:
		found = "array"
		for i, y := range x {
			if err := d.check(s.Items, y, fmt.Sprint(at, "/", i)); err != nil {
				return err
			}
		}
	case string:
		found = "string"
		if s.Enum != nil && !slices.Contains(s.Enum, x) {
			return fmt.Errorf("%s: found %q, expected one of %q", at, x, s.Enum)
		}
		if s.Pattern != "" && !regexp.MustCompile(s.Pattern).MatchString(x) {
			return fmt.Errorf("%s: found %q, expected %s", at, x, s.Pattern)
		}
	case json.Number:
		found = "number"
		if _, err := x.Int64(); err == nil && s.Type == "integer" {
			found = "integer"
		}
	case bool:
		found = "boolean"
	}
	if s.Type != found {
		return fmt.Errorf("%s: found %s, expected %v", at, found, s.Type)
	}
	return nil
}

// checkAnswer compares an answer with a schema of the description.
func checkAnswer(t *testing.T, s *Server, schema string, v any) {
	t.Helper()
	var d description
	if err := json.Unmarshal(ask(s, "GET", "/api/openapi.json").Body.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	if err := d.check(d.Components.Schemas[schema], v, schema); err != nil {
		t.Error(err)
	}
}

// TestDescription: the description has every route and method, no others, and the fields
// of the real answers.
func TestDescription(t *testing.T) {
	path := filepath.Join(t.TempDir(), "g.otf2")
	generated(t, path, 3000)
	s := viewing(t, options(t), path)
	api := ready(t, s, 0)
	var d description
	if err := json.Unmarshal(ask(s, "GET", "/api/openapi.json").Body.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	routes := map[string]bool{}
	for _, r := range s.table() {
		for m := range r.methods {
			routes[strings.ToLower(m)+" "+r.path] = true
			if d.Paths[r.path][strings.ToLower(m)] == nil {
				t.Errorf("%s %s is not described", m, r.path)
			}
		}
	}
	for p, methods := range d.Paths {
		for m := range methods {
			if !routes[m+" "+p] {
				t.Errorf("%s %s is described, but not there", m, p)
			}
		}
	}
	queries := map[string]string{"/tiles": "?width=4&tracks=0", "/summary": "?width=4&tracks=0", "/span": "?track=0&depth=0&time=1000000", "/instant": "?track=0&time=0&radius=9000000000000", "/find": "?region=1&time=0", "/edge": "?track=0&time=0&within=9000000000000", "/calls": "?regions=1", "/hit": "?regions=1&time=0"}
	first := get(t, s, api+"/links")
	queries["/link"] = fmt.Sprintf("?link=%v&track=%v&time=%v", look(first, "links/0/id"), look(first, "links/0/from/track"), look(first, "links/0/from/time"))
	for p, methods := range d.Paths {
		short := strings.TrimPrefix(p, "/api/traces/{id}")
		target := strings.Replace(p, "/api/traces/{id}", api, 1) + queries[short]
		w := ask(s, "GET", target)
		if w.Code == 204 && short == "/instant" {
			continue // the trace has none; TestClaims has one
		}
		if w.Code != 200 {
			t.Errorf("%s: status %d: %s", target, w.Code, w.Body)
			continue
		}
		content := methods["get"].Responses["200"].Content
		if _, ok := content["application/octet-stream"]; ok {
			continue
		}
		if err := d.check(content["application/json"].Schema, any(decoded(t, w)), short); err != nil {
			t.Error(err)
		}
	}
	w := ask(s, "GET", "/api/traces/none")
	if err := d.check(d.Components.Schemas["Error"], any(decoded(t, w)), "error"); err != nil {
		t.Error(err)
	}
	if err := d.check(d.Components.Schemas["Error"], any(map[string]any{"err": "x"}), "error"); err == nil {
		t.Error("the check finds nothing wrong with a wrong answer")
	}
}

// claimed writes a trace with many claims, some of no length, at the begin of all and later,
// on resources with several heads, and one that never ends. The expected figures come from
// analysis/profile, which reads all events.
func claimed(t *testing.T, path string) {
	t.Helper()
	random := rand.New(rand.NewPCG(7, 9))
	r := trace.NewRecorder(trace.Seconds(1000))
	type end struct{ id, time int64 }
	for range 3 {
		res := r.Resource("disk", 4, "heads")
		var open []end
		for at := int64(10); at < 9000; at += random.Int64N(3) {
			for i := 0; i < len(open); i++ {
				if open[i].time <= at {
					r.Release(open[i].id, at)
					open = slices.Delete(open, i, i+1)
					i--
				}
			}
			if len(open) < 4 {
				long := max(0, random.Int64N(40)-10)
				id := r.Claim(res, at, r.Region(fmt.Sprint("job ", random.Int64N(5))), 1)
				if long == 0 {
					r.Release(id, at)
					continue
				}
				open = append(open, end{id, at + long})
			}
		}
	}
	save(t, path, r)
}

// TestClaimsInProfile compares the claims of windows with those that weft profile lists.
func TestClaimsInProfile(t *testing.T) {
	effort.Sequential(t)
	path := filepath.Join(t.TempDir(), "claims.otf2")
	claimed(t, path)
	s := viewing(t, options(t), path, "../examples/odse.etf", "../format/etf/testdata/ok/feature-coverage.etf")
	for n, format := range []string{"otf2", "etf", "etf"} {
		api := ready(t, s, n)
		v := get(t, s, api)
		var origin, length int64
		fmt.Sscan(v["origin"].(string), &origin)
		fmt.Sscan(v["length"].(string), &length)
		random := rand.New(rand.NewPCG(1, 2))
		for i := range 20 {
			from, to := random.Int64N(length), length+1
			query := fmt.Sprintf("from=%d", from)
			switch {
			case i == 0:
				query, from = "", -1<<40
			case i == 1:
				to = length / 2
				query, from = fmt.Sprintf("to=%d", to), -1<<40
			case i > 3:
				to = from + 1 + random.Int64N(length-from)
				query += fmt.Sprintf("&to=%d", to)
			}
			p := profiled(t, s, format, s.traceAt(t, n).given.Source, &trace.Window{From: origin + from, To: origin + to})
			want := map[string]string{}
			for _, a := range p.Activities {
				want[a.Name] = fmt.Sprint(a.Count, " ", a.Time, " ", a.Time, " ", a.Min, " ", a.Max, " ", decimals(a.Time.Int64(), a.Count))
			}
			for _, by := range []string{"region", "location", "group"} {
				got, rows := map[string]string{}, 0
				var count, time int64
				for _, r := range get(t, s, api+"/profile?by="+by+"&"+query)["rows"].([]any) {
					if look(r, "kind") != "claim" {
						continue
					}
					rows++
					var c, x int64
					fmt.Sscan(fmt.Sprint(look(r, "count"), " ", look(r, "exclusive")), &c, &x)
					count, time = count+c, time+x
					got[look(r, "name").(string)] = fmt.Sprint(c, " ", look(r, "inclusive"), " ", x, " ", look(r, "min"), " ", look(r, "max"), " ", look(r, "mean"))
				}
				if by == "region" && !reflect.DeepEqual(got, want) {
					t.Errorf("%s: %q: found %v, want %v", format, query, got, want)
				}
				for _, a := range p.Activities {
					count, time = count-a.Count, time-a.Time.Int64()
				}
				if count != 0 || time != 0 || by == "location" && rows < len(want) {
					t.Errorf("%s: %q by %s: %d claims and %d ticks too many", format, query, by, count, time)
				}
			}
		}
	}
}

// profiled is the profile of a trace, made from all of its events.
func profiled(t *testing.T, s *Server, name string, src format.Source, w *trace.Window) *profile.Result {
	t.Helper()
	d, err := s.opt.Reading.open(context.Background(), mustFormat(t, name), src, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	p := profile.New(d.Defs(), profile.Options{Rows: trace.NewRows(d.Defs()), Window: w})
	if err := d.Scan(context.Background(), trace.Everything(), format.PerLocation, p); err != nil {
		t.Fatal(err)
	}
	return p.Result()
}

// TestTracksOfProfile: the tracks that are asked for say of what the rows are, and collective
// operations are never among them.
func TestTracksOfProfile(t *testing.T) {
	s := viewing(t, options(t), "../format/otf2/testdata/ok/heat2d-mt/traces.otf2", "../examples/odse.etf")
	for n, want := range []string{"region", "claim"} {
		api := ready(t, s, n)
		kinds := map[string]string{"location": "region", "resource": "claim"}
		last := 0
		for i, x := range get(t, s, api)["tracks"].([]any) {
			rows := get(t, s, fmt.Sprint(api, "/profile?tracks=", i))["rows"].([]any)
			kind := kinds[look(x, "kind").(string)]
			if fmt.Sprint(look(x, "spans")) == "0" {
				kind = ""
			}
			if (kind != "") != (len(rows) > 0) || len(rows) > 0 && look(rows[0], "kind") != kind {
				t.Errorf("track %d is a %v: found %v", i, look(x, "kind"), rows)
			}
			last = i
		}
		for _, q := range []string{"", fmt.Sprint("?tracks=0-", last)} {
			rows := get(t, s, api+"/profile"+q)["rows"].([]any)
			if len(rows) == 0 || slices.ContainsFunc(rows, func(r any) bool { return look(r, "kind") != want }) {
				t.Errorf("%s: found %v, want rows of kind %s", q, rows, want)
			}
		}
	}
}

// TestLocationsOfResources: the busy time of a resource is that of weft profile, also where
// claims overlap.
func TestLocationsOfResources(t *testing.T) {
	s := viewing(t, options(t), "../examples/odse.etf")
	api := ready(t, s, 0)
	v := get(t, s, api)
	for _, w := range []trace.Window{{From: 0, To: 130_001}, {From: 50_000, To: 90_000}, {From: 1961, To: 1962}} {
		known := 0
		resources := map[string]profile.Resource{}
		for _, r := range profiled(t, s, "etf", s.traceAt(t, 0).given.Source, &w).Resources {
			resources[r.ID] = r
		}
		for _, r := range get(t, s, fmt.Sprintf("%s/locations?from=%d&to=%d", api, w.From, w.To))["rows"].([]any) {
			track := "tracks/" + fmt.Sprint(look(r, "track"))
			if look(v, track+"/kind") != "resource" {
				continue
			}
			want := resources[look(v, track+"/id").(string)]
			if got := fmt.Sprint(look(r, "spans")); got != fmt.Sprint(want.Count) {
				t.Errorf("%+v: %s: %s claims, want %d", w, want.Name, got, want.Count)
			}
			if known++; look(r, "busy") != fmt.Sprint(want.Busy) {
				t.Errorf("%+v: %s: busy %v, want %d", w, want.Name, look(r, "busy"), want.Busy)
			}
		}
		if known != 8 {
			t.Errorf("%+v: found %d resources, want 8", w, known)
		}
	}
}

// TestUnsent: a receive of what nobody sent is a link of the span that it is in, and has its
// attributes, but counts nowhere.
func TestUnsent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cut.otf2")
	r := trace.NewRecorder(trace.Seconds(1000))
	a, b := r.Location("a"), r.Location("b")
	r.Enter(b, 0, r.Region("main"))
	r.Send(a, 10, b, 1, 100)
	r.Recv(b, 15, a, 1, 100)
	r.Recv(b, 20, a, 1, 7)
	r.Leave(b, 30, r.Region("main"))
	save(t, path, r)
	s := viewing(t, options(t), path)
	base := ready(t, s, 0)
	span := get(t, s, base+"/span?track=1&depth=0&time=5")
	for path, want := range map[string]string{"links/0/unsent": "<nil>", "links/1/unsent": "true", "links/1/alone": "<nil>", "links/1/from/time": "20", "links/1/to/time": "20", "links/1/from/track": "0", "links/1/to/track": "1"} {
		if got := fmt.Sprint(look(span, path)); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	link := get(t, s, fmt.Sprint(base, "/link?track=1&time=20&link=", look(span, "links/1/id")))
	if got := fmt.Sprint(look(link, "from/kind"), " ", look(link, "to/kind")); got != " recv" {
		t.Errorf("the ends are %q, want a receive alone", got)
	}
	if got := fmt.Sprint(look(get(t, s, base), "links")); got != "1" {
		t.Errorf("the trace has %s links, want 1", got)
	}
	if m := get(t, s, base+"/matrix"); fmt.Sprint(look(m, "rows/0/count"), " ", look(m, "rows/0/matched"), " ", look(m, "rows/1")) != "1 1 <nil>" {
		t.Errorf("found the matrix %v", m)
	}
}

// TestUnreceived: a message that nobody received counts for its sender alone, and leads to
// nowhere.
func TestUnreceived(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lost.otf2")
	r := trace.NewRecorder(trace.Seconds(1000))
	a, b := r.Location("a"), r.Location("b")
	r.Enter(b, 0, r.Region("main"))
	r.Send(a, 10, b, 1, 100)
	r.Recv(b, 15, a, 1, 100)
	r.Send(a, 20, b, 1, 7)
	r.Leave(b, 30, r.Region("main"))
	save(t, path, r)
	s := viewing(t, options(t), path)
	rows := get(t, s, ready(t, s, 0)+"/locations")
	for path, want := range map[string]string{"rows/0/sent": "2", "rows/0/sentBytes": "107", "rows/1/received": "1", "rows/1/receivedBytes": "100", "rows/0/received": "0", "rows/0/receivedBytes": "0"} {
		if got := fmt.Sprint(look(rows, path)); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	links := get(t, s, ready(t, s, 0)+"/links?from=0&to=40&width=40")
	if got := fmt.Sprint(look(links, "total"), " ", look(links, "links/0/bytes")); got != "1 100" {
		t.Errorf("found a total of links, and bytes, of %s, want 1 100", got)
	}
	if got := fmt.Sprint(look(get(t, s, ready(t, s, 0)), "links")); got != "1" {
		t.Errorf("the trace has %s links, want 1", got)
	}
}
