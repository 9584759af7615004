package serve

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestConfiguration checks names from an attribute, and rows from an attribute, with the trace of writeSample.
// In this trace, work has step 5 from 110 to 150 and step 6 from 160 to 165. Other visits have no step.
func TestConfiguration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.otf2")
	writeSample(t, path)
	s := newTestServer(t, options(t), path)
	api := waitReady(t, s, 0)
	base := get(t, s, api)["id"].(string)
	label := waitColored(t, s, api+"?label=step")
	checkAnswer(t, s, "Trace", label)
	if id := label["id"]; id != base+"~;label=step" || label["label"] != "step" || label["color"] != "" {
		t.Errorf("found %v with the names of %v, expected step", id, label["label"])
	}
	groups := map[string]string{}
	for _, r := range label["regions"].([]any) {
		groups[look(r, "name").(string)] = look(r, "group").(string)
	}
	want := map[string]string{"main": "main", "stuck": "stuck", "5": `work<b>&"x"`, "6": `work<b>&"x"`}
	if fmt.Sprint(groups) != fmt.Sprint(want) {
		t.Errorf("found names with groups %v, expected %v", groups, want)
	}
	span := get(t, s, "/api/traces/"+base+"~;label=step/span?track=0&depth=1&time=20")
	got := fmt.Sprint(look(span, "span/name"), look(span, "span/start"), look(span, "attributes/0/value"))
	if got != "5105" {
		t.Errorf("found the span %s, expected 5 from 10 on with step 5", got)
	}

	rows := waitColored(t, s, api+"?color=step&rows=step")
	checkAnswer(t, s, "Trace", rows)
	if id := rows["id"]; id != base+"~step;rows=step" || rows["rows"] != "step" {
		t.Errorf("found %v, expected rows by step", id)
	}
	waitColored(t, s, api+"?rows=step")
	at := "/api/traces/" + base + "~;rows=step"
	rows = get(t, s, at)
	var found []string
	for i, x := range rows["tracks"].([]any) {
		found = append(found, fmt.Sprint(look(x, "name"), look(x, "spans"), look(x, "first"), look(x, "last")))
		if look(x, "name") != "5" {
			continue
		}
		span := get(t, s, fmt.Sprintf("%s/span?track=%d&depth=0&time=20", at, i))
		attributes := fmt.Sprint(span["attributes"])
		if look(span, "span/end") != "50" || !strings.Contains(attributes, "step") {
			t.Errorf("found the span %v, expected one up to 50 with its step", span)
		}
	}
	if want := "[(no step)30100 511050 616065]"; fmt.Sprint(found) != want {
		t.Errorf("found the rows %v, expected %s", found, want)
	}
	only := waitColored(t, s, api+"?color=step&rows=step&only=step%3D5,7*")
	checkAnswer(t, s, "Trace", only)
	if id := only["id"]; id != base+"~step;rows=step;only=step=5%2C7%2A" || only["only"] != "step=5,7*" {
		t.Errorf("found %v, expected only steps 5 and 7*", id)
	}
	for _, c := range []struct{ query, spans string }{{"?only=step%3D5", "1"}, {"?only=step%3D%3F", "2"},
		{"?only=step%3D6*,7", "1"},
		{"?only=step%3D[,6],8", "1"}} {
		if n := look(waitColored(t, s, api+c.query), "spans"); fmt.Sprint(n) != c.spans {
			t.Errorf("%s: found %v spans, expected %s", c.query, n, c.spans)
		}
	}
	// Analyses of the trace do not depend on its rows.
	for _, what := range []string{"/waits", "/efficiency", "/path", "/structure", "/behaviour?locations=1"} {
		if w := ask(s, "GET", at+what); w.Code != 200 {
			t.Errorf("%s: status %d: %s", what, w.Code, w.Body)
		}
	}
	for _, query := range []string{"?rows=none", "?label=none", "~;rows=none", "~;label=none;rows=step",
		"?only=none%3D5"} {
		if w := ask(s, "GET", api+query); w.Code != 404 {
			t.Errorf("%s: status %d, expected 404", query, w.Code)
		}
	}
	for _, query := range []string{"?only=step", "?only=%3D5", "?only=step%3D%5B",
		"?only=step%3D" + strings.Repeat("x", 5000)} {
		if w := ask(s, "GET", api+query); w.Code != 400 {
			t.Errorf("%s: status %d, expected 400", query, w.Code)
		}
	}
}
