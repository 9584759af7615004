package serve

import (
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// colored waits for a trace in some colours and gives its description.
func colored(t *testing.T, s *Server, target string) map[string]any {
	t.Helper()
	d := indexed(t, s, target)
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

// TestColors: a trace can be asked for in the colours of an attribute, and is a trace of its
// own then, with the figures of that.
func TestColors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.otf2")
	sample(t, path)
	s := viewing(t, options(t), path)
	api := ready(t, s, 0)
	base := get(t, s, api)
	if got := fmt.Sprint(base["attributes"], base["color"]); got != "[step]" {
		t.Errorf("found attributes and colour %q, expected step and none", got)
	}
	d := colored(t, s, api+"?color=step")
	checkAnswer(t, s, "Trace", d)
	id := d["id"].(string)
	if id != base["id"].(string)+"~step" || d["color"] != "step" || d["etag"] == base["etag"] || fmt.Sprint(d["attributes"]) != "[step]" {
		t.Errorf("found %v in the colours %v, with etag %v and attributes %v", id, d["color"], d["etag"], d["attributes"])
	}
	if got := regionNames(d); !slices.Equal(got, []string{"5", "6"}) {
		t.Errorf("found regions %q, expected the values of step", got)
	}
	// Its own routes: work of step 5 from 110 to 150, of step 6 from 160 to 165.
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
	// Those of calls are no regions of this one.
	for _, r := range get(t, s, "/api/traces/"+id+"/calltree")["roots"].([]any) {
		if got := fmt.Sprint(look(r, "region")); got != "-1" {
			t.Errorf("the call tree has region %s of %v, expected -1", got, look(r, "name"))
		}
	}
	// And back.
	if got := colored(t, s, "/api/traces/"+id+"?color=")["id"]; got != base["id"] {
		t.Errorf("by region: found %v, expected %v", got, base["id"])
	}
	if got := get(t, s, "/api/traces")["traces"].([]any); len(got) != 1 {
		t.Errorf("the list has %d traces, expected one", len(got))
	}
	// Notes are those of the trace.
	note := `{"notes":[{"id":"n","from":"1","to":"2","track":-1,"text":"slow","created":"2024-01-01T00:00:00Z"}]}`
	if w := send(s, "PUT", "/api/traces/"+id+"/notes", strings.NewReader(note), "Authorization", "Bearer "+secret, "Content-Type", "application/json"); w.Code/100 != 2 {
		t.Fatalf("notes: status %d: %s", w.Code, w.Body)
	}
	if got := get(t, s, api+"/notes")["notes"].([]any); len(got) != 1 {
		t.Errorf("the trace has %d notes, expected that of the trace in other colours", len(got))
	}
}

// TestColorsOfLink: an address from before the server was started works, and attributes are
// known of an index from the cache.
func TestColorsOfLink(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.otf2")
	sample(t, path)
	opt := options(t)
	first := viewing(t, opt, path)
	id := get(t, first, ready(t, first, 0)+"?color=step")["id"].(string)
	colored(t, first, "/api/traces/"+id)
	first.Close()
	s := viewing(t, opt, path)
	d := colored(t, s, "/api/traces/"+id)
	if d["color"] != "step" || fmt.Sprint(d["attributes"]) != "[step]" {
		t.Errorf("found the colour %v and attributes %v", d["color"], d["attributes"])
	}
	if got := fmt.Sprint(get(t, s, ready(t, s, 0))["attributes"]); got != "[step]" {
		t.Errorf("found attributes %s", got)
	}
}

// TestColorsOfIndex: an index that is given tells the attributes too.
func TestColorsOfIndex(t *testing.T) {
	path, index := filepath.Join(t.TempDir(), "a.otf2"), filepath.Join(t.TempDir(), "a.weftidx")
	sample(t, path)
	opt := options(t)
	if _, err := MakeIndex(t.Context(), opt.Reading, opt.Cache, format.FileSource(path), IndexOptions{Path: index}); err != nil {
		t.Fatal(err)
	}
	opt.Traces = []Given{{Source: format.FileSource(path), Index: index}}
	s := New(opt)
	t.Cleanup(s.Close)
	api := ready(t, s, 0)
	if got := fmt.Sprint(get(t, s, api)["attributes"]); got != "[step]" {
		t.Errorf("found attributes %s, expected step", got)
	}
	if got := regionNames(colored(t, s, api+"?color=step")); !slices.Equal(got, []string{"5", "6"}) {
		t.Errorf("found regions %q, expected the values of step", got)
	}
}

// TestColorOfServer: of a server that shows values, regions can be asked for.
func TestColorOfServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.otf2")
	sample(t, path)
	opt := options(t)
	opt.Reading.Color = "step"
	s := viewing(t, opt, path)
	api := ready(t, s, 0)
	if d := get(t, s, api); d["color"] != "step" {
		t.Errorf("found the colour %v", d["color"])
	}
	d := colored(t, s, api+"?color=")
	if got := regionNames(d); d["color"] != "" || !slices.Contains(got, "main") {
		t.Errorf("found the colour %v of %q", d["color"], got)
	}
	if got := colored(t, s, "/api/traces/"+url.PathEscape(d["id"].(string)))["id"]; got != d["id"] {
		t.Errorf("found %v, expected %v", got, d["id"])
	}
}

// TestNoColors: there are as many colours as attributes, and not too many at a time.
func TestNoColors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.otf2")
	r := trace.NewRecorder(trace.Seconds(1000))
	l, f := r.Location("a"), r.Region("f")
	var attrs []trace.Attr
	for i := range maxColors + 3 {
		attrs = append(attrs, trace.Attr{Key: fmt.Sprintf("a/%d, ~%%", i), Value: trace.IntValue(1)})
	}
	r.Enter(l, 1, f, attrs...)
	r.Mark(l, 2, f, trace.Attr{Key: "of the mark", Value: trace.IntValue(1)})
	r.Leave(l, 3, f)
	save(t, path, r)
	s := viewing(t, options(t), path)
	api := ready(t, s, 0)
	for _, x := range []struct {
		target string
		status int
	}{
		{api + "?color=none", 404}, {api + "?color=of+the+mark", 404}, {api + "~none", 404}, {api + "~%25", 404},
		{api + "?color=" + strings.Repeat("x", maxColorName+1), 400}, {"/api/traces/none?color=x", 404}, {"/api/traces/none~x", 404},
	} {
		if w := ask(s, "GET", x.target); w.Code != x.status {
			t.Errorf("%s: found status %d, expected %d: %s", x.target, w.Code, x.status, w.Body)
		}
	}
	e := s.traceAt(t, 0)
	var first string
	for i, a := range attrs {
		d := colored(t, s, api+"?color="+url.QueryEscape(a.Key))
		if d["color"] != a.Key {
			t.Errorf("found the colour %v, expected %q", d["color"], a.Key)
		}
		if i == 0 {
			first = d["id"].(string)
		}
		if n := len(e.colors); n > maxColors {
			t.Errorf("the trace has %d colours, expected %d at most", n, maxColors)
		}
	}
	if slices.Contains(slices.Collect(maps.Keys(e.colors)), attrs[0].Key) {
		t.Error("the colour that was not used for longest is still there")
	}
	// It can be asked for again.
	if d := colored(t, s, "/api/traces/"+url.PathEscape(first)); d["id"] != first {
		t.Errorf("found %v, expected %v", d["id"], first)
	}
}
