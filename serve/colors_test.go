package serve

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// waitColored waits until the index of a trace with another attribute for colours is ready. It returns the
// description of the trace.
func waitColored(t *testing.T, s *Server, target string) map[string]any {
	t.Helper()
	d := waitIndexed(t, s, target)
	if d["state"] == "failed" {
		t.Fatalf("%s: %v", target, d["error"])
	}
	return d
}

func regionNames(d map[string]any) (out []string) {
	for _, r := range d["regions"].([]any) {
		out = append(out, look(r, "name").(string))
	}
	slices.Sort(out)
	return out
}

// TestColors checks that a trace can be requested with an attribute in place of regions, and that the answers
// then contain sums of the attribute's values.
func TestColors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.otf2")
	writeSample(t, path)
	s := newTestServer(t, options(t), path)
	api := waitReady(t, s, 0)
	base := get(t, s, api)
	if got := fmt.Sprint(base["attributes"], base["color"]); got != "[step]" {
		t.Errorf("found attributes and colour %q, expected step and none", got)
	}
	d := waitColored(t, s, api+"?color=step")
	checkAnswer(t, s, "Trace", d)
	id := d["id"].(string)
	if id != base["id"].(string)+"~step" || d["color"] != "step" || d["etag"] == base["etag"] ||
		fmt.Sprint(d["attributes"]) != "[step]" {
		t.Errorf("found %v in the colours %v, with etag %v and attributes %v", id, d["color"], d["etag"], d["attributes"])
	}
	if got := regionNames(d); !slices.Equal(got, []string{"5", "6"}) {
		t.Errorf("found regions %q, expected the values of step", got)
	}
	// In the trace coloured by step, work has step 5 from 110 to 150, and step 6 from 160 to 165.
	rows := map[string]string{}
	for _, r := range get(t, s, "/api/traces/"+id+"/profile")["rows"].([]any) {
		rows[look(r, "name").(string)] = look(r, "inclusive").(string)
	}
	if rows["5"] != "40" || rows["6"] != "5" {
		t.Errorf("found the profile %q", rows)
	}
	span := get(t, s, "/api/traces/"+id+"/span?track=0&depth=1&time=15")
	if look(span, "span/name") != "5" || attributesOf(span)["region"] != "work<b>&\"x\"" {
		t.Errorf("found the span %v", span)
	}
	// The answers about the coloured trace contain no numbers for the regions of calls.
	for _, r := range get(t, s, "/api/traces/"+id+"/calltree")["roots"].([]any) {
		if got := fmt.Sprint(look(r, "region")); got != "-1" {
			t.Errorf("the call tree has region %s of %v, expected -1", got, look(r, "name"))
		}
	}
	// Request the trace coloured by regions again.
	if got := waitColored(t, s, "/api/traces/"+id+"?color=")["id"]; got != base["id"] {
		t.Errorf("by region: found %v, expected %v", got, base["id"])
	}
	if got := get(t, s, "/api/traces")["traces"].([]any); len(got) != 1 {
		t.Errorf("the list has %d traces, expected one", len(got))
	}
	// Notes belong to the trace, whatever attribute colours it.
	note := `{"notes":[{"id":"n","from":"1","to":"2","track":-1,"text":"slow","created":"2024-01-01T00:00:00Z"}]}`
	if w := send(s, "PUT", "/api/traces/"+id+"/notes", strings.NewReader(note), "Authorization", "Bearer "+secret,
		"Content-Type", "application/json"); w.Code/100 != 2 {
		t.Fatalf("notes: status %d: %s", w.Code, w.Body)
	}
	if got := get(t, s, api+"/notes")["notes"].([]any); len(got) != 1 {
		t.Errorf("the trace has %d notes, expected that of the trace in other colours", len(got))
	}
}

// TestColorsOfPaths checks that call paths are distinguishable in a trace with an attribute in place of
// regions. The names of regions with the same name contain different source places. All regions have different
// numbers, which the page's address uses for open paths.
func TestColorsOfPaths(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.otf2")
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	l := r.Location("a")
	for i, line := range []int64{3, 9} {
		r.Defs().Regions.Add(trace.Region{ID: fmt.Sprint(i), Name: "work", File: "a.c", Line: line})
		r.Enter(l, int64(10*i), uint32(i), trace.Attr{Key: "step", Value: trace.IntValue(1)})
		r.Leave(l, int64(10*i+5), uint32(i))
	}
	save(t, path, r)
	s := newTestServer(t, options(t), path)
	id := waitColored(t, s, waitReady(t, s, 0)+"?color=step")["id"].(string)
	answer := get(t, s, "/api/traces/"+id+"/calltree")
	checkAnswer(t, s, "CallTree", answer)
	var got []string
	for _, r := range answer["roots"].([]any) {
		got = append(got, fmt.Sprint(look(r, "region"), " ", look(r, "regionKey"), " ", look(r, "name")))
	}
	slices.Sort(got)
	if want := []string{"-1 0 work (a.c:3)", "-1 1 work (a.c:9)"}; !slices.Equal(got, want) {
		t.Errorf("found the paths %q, expected %q", got, want)
	}
}

// TestColorsOfLink checks that the id of a coloured trace is still valid after the server has been restarted,
// and that the list of attributes comes from the cached index.
func TestColorsOfLink(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.otf2")
	writeSample(t, path)
	opt := options(t)
	first := newTestServer(t, opt, path)
	id := get(t, first, waitReady(t, first, 0)+"?color=step")["id"].(string)
	waitColored(t, first, "/api/traces/"+id)
	first.Close()
	s := newTestServer(t, opt, path)
	d := waitColored(t, s, "/api/traces/"+id)
	if d["color"] != "step" || fmt.Sprint(d["attributes"]) != "[step]" {
		t.Errorf("found the colour %v and attributes %v", d["color"], d["attributes"])
	}
	if got := fmt.Sprint(get(t, s, waitReady(t, s, 0))["attributes"]); got != "[step]" {
		t.Errorf("found attributes %s", got)
	}
}

// TestColorsOfIndex checks that a trace with a given index file lists its attributes.
func TestColorsOfIndex(t *testing.T) {
	path, index := filepath.Join(t.TempDir(), "a.otf2"), filepath.Join(t.TempDir(), "a.weftidx")
	writeSample(t, path)
	opt := options(t)
	if _, err := MakeIndex(t.Context(), opt.Reading, opt.Cache, format.FileSource(path), IndexOptions{Path: index}); err !=
		nil {
		t.Fatal(err)
	}
	opt.Traces = []ServedTrace{{Source: format.FileSource(path), Index: index}}
	s := New(opt)
	t.Cleanup(s.Close)
	api := waitReady(t, s, 0)
	if got := fmt.Sprint(get(t, s, api)["attributes"]); got != "[step]" {
		t.Errorf("found attributes %s, expected step", got)
	}
	if got := regionNames(waitColored(t, s, api+"?color=step")); !slices.Equal(got, []string{"5", "6"}) {
		t.Errorf("found regions %q, expected the values of step", got)
	}
}

// TestColorOfServer checks that a server that shows attribute values by default also answers with regions.
func TestColorOfServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.otf2")
	writeSample(t, path)
	opt := options(t)
	opt.Reading.Color = "step"
	s := newTestServer(t, opt, path)
	api := waitReady(t, s, 0)
	if d := get(t, s, api); d["color"] != "step" {
		t.Errorf("found the colour %v", d["color"])
	}
	d := waitColored(t, s, api+"?color=")
	if got := regionNames(d); d["color"] != "" || !slices.Contains(got, "main") {
		t.Errorf("found the colour %v of %q", d["color"], got)
	}
	if got := waitColored(t, s, "/api/traces/"+url.PathEscape(d["id"].(string)))["id"]; got != d["id"] {
		t.Errorf("found %v, expected %v", got, d["id"])
	}
}

// TestNoColors checks that only attributes of the trace are accepted, and that the number of
// entries with attributes is limited.
func TestNoColors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.otf2")
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	l, f := r.Location("a"), r.Region("f")
	var attrs []trace.Attr
	for i := range maxConfigurations + 3 {
		attrs = append(attrs, trace.Attr{Key: fmt.Sprintf("a/%d, ~%%", i), Value: trace.IntValue(1)})
	}
	r.Enter(l, 1, f, attrs...)
	r.Mark(l, 2, f, trace.Attr{Key: "of the mark", Value: trace.IntValue(1)})
	r.Leave(l, 3, f)
	save(t, path, r)
	s := newTestServer(t, options(t), path)
	api := waitReady(t, s, 0)
	for _, x := range []struct {
		target string
		status int
	}{
		{api + "?color=none", 404}, {api + "?color=of+the+mark", 404}, {api + "~none", 404}, {api + "~%25", 404},
		{api + "?color=" + strings.Repeat("x", maxAttributeName+1), 400}, {"/api/traces/none?color=x", 404},
		{"/api/traces/none~x", 404},
	} {
		if w := ask(s, "GET", x.target); w.Code != x.status {
			t.Errorf("%s: found status %d, expected %d: %s", x.target, w.Code, x.status, w.Body)
		}
	}
	e := s.traceAt(t, 0)
	var first string
	for i, a := range attrs {
		d := waitColored(t, s, api+"?color="+url.QueryEscape(a.Key))
		if d["color"] != a.Key {
			t.Errorf("found the colour %v, expected %q", d["color"], a.Key)
		}
		if i == 0 {
			first = d["id"].(string)
		}
		if n := len(e.others); n > maxConfigurations {
			t.Errorf("the trace has %d colours, expected %d at most", n, maxConfigurations)
		}
	}
	if e.others[configuration{color: attrs[0].Key}] != nil {
		t.Error("the colour that was not used for longest is still there")
	}
	// An attribute whose entry was evicted can be requested again.
	if d := waitColored(t, s, "/api/traces/"+url.PathEscape(first)); d["id"] != first {
		t.Errorf("found %v, expected %v", d["id"], first)
	}
}
