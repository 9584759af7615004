package serve

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
)

// TestNotes checks that notes are stored next to the index.
func TestNotes(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "sample.otf2")
	writeSample(t, path)
	beside, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	opt := options(t)
	s := newTestServer(t, opt, path)
	api := "/api/traces/" + s.traceAt(t, 0).id + "/notes"
	put := func(body string) *httptest.ResponseRecorder {
		return send(s, "PUT", api, strings.NewReader(body), "Authorization", "Bearer "+secret)
	}
	good := `{"notes":[{"id":"a","from":"5","to":"9223372036854775807","track":-1,` +
		`"text":"<i>here</i>","created":"2026-01-02T03:04:05Z"},` +
		`{"id":"b","from":"5","to":"5","track":1,"text":""}]}`
	if w := put(good); w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	v := get(t, s, api)
	if look(v, "notes/0/to") != "9223372036854775807" || look(v, "notes/0/text") != "<i>here</i>" ||
		look(v, "notes/1/created") == "" {
		t.Errorf("found %v", v)
	}
	if l, err := os.ReadDir(dir); err != nil || len(l) != len(beside) {
		t.Errorf("found %v beside the trace, expected what was there: %v", l, err)
	}
	again := options(t)
	again.Cache, again.Reading.Strict = opt.Cache, true
	other := newTestServer(t, again, path)
	if v := get(t, other, api); fmt.Sprint(look(v, "notes/len")) != "2" {
		t.Errorf("another server with other settings finds %v", v)
	}
	if v := get(t, newTestServer(t, options(t), path), api); fmt.Sprint(look(v, "notes/len")) != "0" {
		t.Errorf("a server with another cache finds %v", v)
	}
	for name, body := range map[string]string{
		"no JSON": "x", "nothing": "", "null": "null", "null notes": `{"notes":null}`, "no notes": `{}`, "a list": "[]",
		"more after": `{"notes":[]} {}`, "rubbish after": `{"notes":[]}x`, "deep": strings.Repeat("[", 100_000),
		"other field": `{"notes":[],"x":1}`, "no id": `{"notes":[{"from":"1","to":"2","track":0,"text":""}]}`,
		"id twice": `{"notes":[{"id":"a","from":"1","to":"2","track":0,"text":""},` +
			`{"id":"a","from":"1","to":"2","track":0,"text":""}]}`,
		"times":  `{"notes":[{"id":"a","from":"3","to":"2","track":0,"text":""}]}`,
		"number": `{"notes":[{"id":"a","from":3,"to":"2","track":0,"text":""}]}`,
		"date":   `{"notes":[{"id":"a","from":"1","to":"2","track":0,"text":"","created":"now"}]}`,
		"long": `{"notes":[{"id":"a","from":"1","to":"2","track":0,"text":"` + strings.Repeat("x", maxNoteText+1) +
			`"}]}`,
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
	if w := send(shared, "PUT", "/api/traces/"+id+"/notes", strings.NewReader(good), "Authorization",
		"Bearer "+secret); w.Code != 403 {
		t.Errorf("the server of the folder: status %d, want 403", w.Code)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if w := ask(s, "GET", api); w.Code != 404 {
		t.Errorf("the trace is gone: status %d: %s", w.Code, w.Body)
	}
}

// TestNotesOfIndex checks that the notes on a trace with a given index are next to that index, and that a
// trace from standard input cannot have notes.
func TestNotesOfIndex(t *testing.T) {
	dir := t.TempDir()
	path, index := filepath.Join(dir, "sample.otf2"), filepath.Join(t.TempDir(), "x.weftidx")
	writeSample(t, path)
	opt := options(t)
	if _, err := MakeIndex(context.Background(), opt.Reading, opt.Cache, format.FileSource(path),
		IndexOptions{Path: index}); err != nil {
		t.Fatal(err)
	}
	opt.Traces = []ServedTrace{
		{Source: format.FileSource(path), Index: index},
		{Source: format.FileSource(path), Once: true},
	}
	s := New(opt)
	defer s.Close()
	put := func(n int) *httptest.ResponseRecorder {
		body := `{"notes":[{"id":"a","from":"5","to":"6","track":-1,"text":"here"}]}`
		return send(s, "PUT", "/api/traces/"+s.traceAt(t, n).id+"/notes", strings.NewReader(body), "Authorization",
			"Bearer "+secret)
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
