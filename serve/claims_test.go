package serve

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/analysis/profile"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
)

// TestClaims checks the details that the server returns about a claim, and about a mark, which has no duration.
func TestClaims(t *testing.T) {
	path := filepath.Join(t.TempDir(), "claims.etf")
	r := trace.NewRecorder(trace.TicksPerSecond(10))
	res := r.Resource("disk", 4, "heads")
	loc := r.Location("ticker")
	c := r.Claim(res, 5, r.Region("read"), 3, trace.Attr{Key: "file", Value: trace.StringValue("a b")})
	r.Release(c, 25)
	r.Mark(loc, 12, r.Region("tick"), trace.Attr{Key: "n", Value: trace.StringValue("x")})
	save(t, path, r)
	s := newTestServer(t, options(t), path)
	api := waitReady(t, s, 0)
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
	if look(v, "time") != "7" || look(v, "kind") != "mark" ||
		!strings.Contains(fmt.Sprint(v["attributes"]), "name:n value:x") {
		t.Errorf("instant: found %v", v)
	}
	if w := ask(s, "GET", fmt.Sprintf("%s/instant?track=%d&time=5&radius=1", api, ticks)); w.Code != 204 ||
		w.Body.Len() > 0 {
		t.Errorf("instant too far away: status %d", w.Code)
	}
}

// writeClaims writes a trace with many claims on resources with several lanes. Some claims, at the begin of
// the trace and later, have no duration, and one claim never ends. The expected numbers come from
// analysis/profile, which reads all events.
func writeClaims(t *testing.T, path string) {
	t.Helper()
	random := rand.New(rand.NewPCG(7, 9))
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
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

// TestClaimsInProfile compares profiles of claims in windows with those of `weft profile`.
func TestClaimsInProfile(t *testing.T) {
	effort.Sequential(t)
	path := filepath.Join(t.TempDir(), "claims.otf2")
	writeClaims(t, path)
	s := newTestServer(t, options(t), path, "../examples/odse.etf", "../format/etf/testdata/ok/feature-coverage.etf")
	for n, format := range []string{"otf2", "etf", "etf"} {
		api := waitReady(t, s, n)
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
			p := profileOfEvents(t, s, format, s.traceAt(t, n).given.Source, &trace.Window{From: origin + from, To: origin + to})
			want := map[string]string{}
			for _, a := range p.Activities {
				want[a.Name] = fmt.Sprint(a.Count, " ", a.Time, " ", a.Time, " ", a.Min, " ", a.Max, " ",
					decimals(a.Time.Int64(), a.Count))
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
					got[look(r, "name").(string)] = fmt.Sprint(c, " ", look(r, "inclusive"), " ", x, " ", look(r, "min"), " ",
						look(r, "max"), " ", look(r, "mean"))
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

// profileOfEvents computes the profile of a trace from all of its events.
func profileOfEvents(t *testing.T, s *Server, name string, src format.Source, w *trace.Window) *profile.Result {
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

// TestTracksOfProfile checks that the kinds of the requested tracks determine the kinds of rows of an answer,
// and that an answer never contains collective operations.
func TestTracksOfProfile(t *testing.T) {
	s := newTestServer(t, options(t), "../format/otf2/testdata/ok/heat2d-mt/traces.otf2", "../examples/odse.etf")
	for n, want := range []string{"region", "claim"} {
		api := waitReady(t, s, n)
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

// TestLocationsOfResources checks that the busy time of a resource equals the busy time in `weft profile`,
// including resources whose claims overlap.
func TestLocationsOfResources(t *testing.T) {
	s := newTestServer(t, options(t), "../examples/odse.etf")
	api := waitReady(t, s, 0)
	v := get(t, s, api)
	for _, w := range []trace.Window{{From: 0, To: 130_001}, {From: 50_000, To: 90_000}, {From: 1961, To: 1962}} {
		known := 0
		resources := map[string]profile.Resource{}
		for _, r := range profileOfEvents(t, s, "etf", s.traceAt(t, 0).given.Source, &w).Resources {
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

// TestUnsent checks that a receive without a send is listed as a link of the span around it, with
// its attributes, and is not counted as a message.
func TestUnsent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cut.otf2")
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	a, b := r.Location("a"), r.Location("b")
	r.Enter(b, 0, r.Region("main"))
	r.Send(a, 10, b, 1, 100)
	r.Recv(b, 15, a, 1, 100)
	r.Recv(b, 20, a, 1, 7)
	r.Leave(b, 30, r.Region("main"))
	save(t, path, r)
	s := newTestServer(t, options(t), path)
	base := waitReady(t, s, 0)
	span := get(t, s, base+"/span?track=1&depth=0&time=5")
	for path, want := range map[string]string{"links/0/unsent": "<nil>", "links/1/unsent": "true",
		"links/1/alone": "<nil>", "links/1/from/time": "20", "links/1/to/time": "20", "links/1/from/track": "0",
		"links/1/to/track": "1"} {
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
	if m := get(t, s, base+"/matrix"); fmt.Sprint(look(m, "rows/0/count"), " ", look(m, "rows/0/matched"), " ",
		look(m, "rows/1")) != "1 1 <nil>" {
		t.Errorf("found the matrix %v", m)
	}
}

// TestUnreceived checks that a message without a receive counts only for its sender and has no
// destination.
func TestUnreceived(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lost.otf2")
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	a, b := r.Location("a"), r.Location("b")
	r.Enter(b, 0, r.Region("main"))
	r.Send(a, 10, b, 1, 100)
	r.Recv(b, 15, a, 1, 100)
	r.Send(a, 20, b, 1, 7)
	r.Leave(b, 30, r.Region("main"))
	save(t, path, r)
	s := newTestServer(t, options(t), path)
	rows := get(t, s, waitReady(t, s, 0)+"/locations")
	for path, want := range map[string]string{"rows/0/sent": "2", "rows/0/sentBytes": "107", "rows/1/received": "1",
		"rows/1/receivedBytes": "100", "rows/0/received": "0", "rows/0/receivedBytes": "0"} {
		if got := fmt.Sprint(look(rows, path)); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	links := get(t, s, waitReady(t, s, 0)+"/links?from=0&to=40&width=40")
	if got := fmt.Sprint(look(links, "total"), " ", look(links, "links/0/bytes")); got != "1 100" {
		t.Errorf("found a total of links, and bytes, of %s, want 1 100", got)
	}
	if got := fmt.Sprint(look(get(t, s, waitReady(t, s, 0)), "links")); got != "1" {
		t.Errorf("the trace has %s links, want 1", got)
	}
}

// TestHits checks that the search steps through claims in all rows, in either direction, also through those that
// begin together in one row. The order follows from the table of claims.
func TestHits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "claims.etf")
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	a, b := r.Region("a"), r.Region("b")
	disk, memory := r.Resource("disk", 4, "heads"), r.Resource("memory", 9, "MB")
	for _, c := range []struct {
		resource, region uint32
		begin, end       int64
	}{{disk, a, 0, 5}, {memory, a, 3, 9}, {disk, a, 3, 4}, {disk, a, 3, 8}, {disk, b, 4, 6}, {memory, a, 7, 8}} {
		r.Release(r.Claim(c.resource, c.begin, c.region, 1), c.end)
	}
	save(t, path, r)
	s := newTestServer(t, options(t), path)
	api := waitReady(t, s, 0)
	const region = 0 // of a
	var seen []string
	step := func(from, direction string) (next string) {
		w := ask(s, "GET", fmt.Sprintf("%s/hit?regions=%d&direction=%s&%s", api, region, direction, from))
		if w.Code == 204 {
			return ""
		}
		v := decoded(t, w)
		seen = append(seen, fmt.Sprint(look(v, "number"), " of ", look(v, "total"), ": ", look(v, "span/start"), "-",
			look(v, "span/end")))
		return fmt.Sprintf("time=%v&track=%v&depth=%v", look(v, "span/start"), look(v, "span/track"), look(v, "span/depth"))
	}
	for at := "time=-1"; at != ""; at = step(at, "next") {
	}
	// the disk comes before the memory
	want := []string{"1 of 5: 0-5", "2 of 5: 3-4", "3 of 5: 3-8", "4 of 5: 3-9", "5 of 5: 7-8"}
	if !slices.Equal(seen, want) {
		t.Errorf("found %q, want %q", seen, want)
	}
	seen = nil
	for at := "time=8"; at != ""; at = step(at, "previous") {
	}
	slices.Reverse(want)
	if !slices.Equal(seen, want) {
		t.Errorf("back: found %q, want %q", seen, want)
	}
}
