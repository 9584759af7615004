package serve

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// schema is the part of a JSON schema that check supports.
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

// check returns an error if a value does not match a schema. at is the position of the value in the answer,
// for the message.
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
	if kinds, ok := s.Type.([]any); ok && v == nil && slices.Contains(kinds, any("null")) {
		return nil
	} else if ok {
		s = &schema{Type: kinds[0]}
	}
	if s.Type != found {
		return fmt.Errorf("%s: found %s, expected %v", at, found, s.Type)
	}
	return nil
}

// checkAnswer fails the test if an answer does not match a named schema of the description.
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

// TestUnknownParameters checks that a request with a parameter that the API does not have, or with two values of
// a parameter, gets an error in place of the answer to another question.
func TestUnknownParameters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sample.otf2")
	writeSample(t, path)
	s := newTestServer(t, options(t), path)
	api := waitReady(t, s, 0)
	for query, want := range map[string]string{
		"/profile?form=10&to=20": "found the parameter \"form\", expected one of from, to, tracks, by, limit; " +
			"did you mean from?",
		"/profile?from=1&from=2": "from: found 2 values, expected one",
		"/profile?from=%zz":      "found the query \"from=%zz\", expected NAME=VALUE, joined by &",
		"/profile?from=10;to=20": "found the query \"from=10;to=20\", expected NAME=VALUE, joined by &",
		"/info?from=10":          "found the parameter \"from\", expected none",
		"/notes?x":               "found the parameter \"x\", expected none",
		"?colour=x": "found the parameter \"colour\", expected one of color, label, rows, only; " +
			"did you mean color?",
		"/flow?visits=main&average=0.4ns": "average: found \"0.4ns\", expected a multiple of 1 ms, " +
			"the resolution of the trace",
		"/flow?visits=main&average=-1ms": "average: found \"-1ms\", expected a time that is not negative, such as 10ms",
	} {
		w := ask(s, "GET", api+query)
		if text := fmt.Sprint(look(decoded(t, w), "error")); w.Code != 400 || text != want {
			t.Errorf("%s: status %d: %s, want %s", query, w.Code, text, want)
		}
	}
	if w := ask(s, "DELETE", api+"/profile?x=1"); w.Code != 405 {
		t.Errorf("DELETE: status %d: %s", w.Code, w.Body)
	}
}

// TestDescription checks that the API description has exactly the server's routes and methods, and
// that its schemas match real answers.
func TestDescription(t *testing.T) {
	path := filepath.Join(t.TempDir(), "g.otf2")
	writeGenerated(t, path, 3000)
	s := newTestServer(t, options(t), path)
	api := waitReady(t, s, 0)
	var d description
	if err := json.Unmarshal(ask(s, "GET", "/api/openapi.json").Body.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	routes := map[string]bool{}
	for _, r := range s.apiRoutes() {
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
	queries := map[string]string{"/tiles": "?width=4&tracks=0", "/summary": "?width=4&tracks=0",
		"/span": "?track=0&depth=0&time=1000000", "/instant": "?track=0&time=0&radius=9000000000000",
		"/find": "?region=1&time=0", "/edge": "?track=0&time=0&within=9000000000000", "/calls": "?regions=1",
		"/hit": "?regions=1&time=0", "/behaviour": "?locations=1", "/flow": "?visits=main",
		"/flow/signals": "?visits=main&width=4",
		"/distance":     "?calls=1&reference=" + s.traceAt(t, 0).id,
		"/diff":         "?reference=" + s.traceAt(t, 0).id}
	first := get(t, s, api+"/links")
	queries["/link"] = fmt.Sprintf("?link=%v&track=%v&time=%v", look(first, "links/0/id"),
		look(first, "links/0/from/track"), look(first, "links/0/from/time"))
	for p, methods := range d.Paths {
		if methods["get"] == nil {
			continue // this path has no GET; TestVerification requests it
		}
		short := strings.TrimPrefix(p, "/api/traces/{id}")
		target := strings.Replace(p, "/api/traces/{id}", api, 1) + queries[short]
		w := ask(s, "GET", target)
		if w.Code == 204 && short == "/instant" {
			continue // the trace has no such span; TestClaims requests it for a trace that has one
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
