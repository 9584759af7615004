package serve

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// form encodes files as a multipart form. The name of each part is the file's path.
func form(t *testing.T, files map[string][]byte) (body *bytes.Buffer, kind string) {
	t.Helper()
	body = &bytes.Buffer{}
	w := multipart.NewWriter(body)
	for name, data := range files {
		p, err := w.CreateFormFile(name, filepath.Base(name))
		if err != nil {
			t.Fatal(err)
		}
		p.Write(data)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return body, w.FormDataContentType()
}

// TestUpload checks that uploaded traces are shown like given ones, and that their files are
// removed when the server is closed.
func TestUpload(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	path := filepath.Join(t.TempDir(), "sample.otf2")
	writeSample(t, path)
	s := newTestServer(t, options(t), path)
	given := waitReady(t, s, 0)
	files := map[string][]byte{"notes.txt": []byte("no trace")}
	from := filepath.Dir(path)
	err := filepath.WalkDir(from, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		short, _ := filepath.Rel(from, name)
		files["run/"+filepath.ToSlash(short)] = data
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	post := func(files map[string][]byte) (int, map[string]any) {
		body, kind := form(t, files)
		w := send(s, "POST", "/api/traces", body, "Authorization", "Bearer "+secret, "Content-Type", kind)
		return w.Code, decoded(t, w)
	}
	code, v := post(files)
	if code != 200 || fmt.Sprint(look(v, "traces/len")) != "1" {
		t.Fatalf("status %d: %v", code, v)
	}
	checkAnswer(t, s, "Added", v)
	api := "/api/traces/" + fmt.Sprint(look(v, "traces/0"))
	if m := waitIndexed(t, s, api); m["state"] != "ready" || m["name"] != "sample.otf2" || m["path"] != "run/sample.otf2" {
		t.Fatalf("found %v", m)
	}
	if a, b := fmt.Sprint(get(t, s, api+"/profile")), fmt.Sprint(get(t, s, given+"/profile")); a != b {
		t.Errorf("found the profile %s, want %s", a, b)
	}
	if n := fmt.Sprint(look(get(t, s, "/api/traces"), "traces/len")); n != "2" {
		t.Errorf("%s traces are listed, want 2", n)
	}
	for name, files := range map[string]map[string][]byte{"no trace": {"a.txt": []byte("x")}, "nothing": {},
		"outside": {"../a.otf2": nil}, "absolute": {"/a": nil}, "a folder too": {"a/b": nil, "a": nil},
		"long": {strings.Repeat("a", 300) + ".trf": nil}} {
		if code, v := post(files); code != 400 {
			t.Errorf("%s: status %d: %v, want 400", name, code, v)
		}
	}
	// The reasons are the same as in the messages of the command line.
	for _, x := range []struct {
		files map[string][]byte
		want  []string
	}{
		{map[string][]byte{"a.etf": nil}, []string{"found 1, ",
			"a.etf: no known trace format: found an empty file, expected a trace"}},
		{map[string][]byte{"b.etf": nil, "c/d.txt": []byte("x")},
			[]string{"found 2, ", "b.etf: no known trace format: found an empty file, expected a trace",
				"c/d.txt: no known trace format: found \"x\", expected Eclipse"}},
		{map[string][]byte{".hidden.trf": files["run/sample.otf2"]}, []string{"found 1, ",
			".hidden.trf: found a name that begins with a dot"}},
		{map[string][]byte{"a.1.events": []byte("0\nE1\n")}, []string{"found 1, ",
			"a.1.events: found a part of a trace, expected its main file too"}},
		{map[string][]byte{"a": nil, "b": nil, "c": nil, "d": nil, "e": nil}, []string{"found 5, "}},
	} {
		_, v := post(x.files)
		for _, want := range x.want {
			if text := fmt.Sprint(v["error"]); !strings.Contains(text, want) || strings.Contains(text, temp) ||
				strings.Count(text, "empty file") > 3 {
				t.Errorf("%v: found %q, expected %q in it", x.files, text, want)
			}
		}
	}
	if w := send(s, "POST", "/api/traces", nil, "Authorization", "Bearer "+secret); w.Code != 400 {
		t.Errorf("no form: status %d", w.Code)
	}
	body, kind := form(t, files)
	if w := send(s, "POST", "/api/traces", body, "Content-Type", kind); w.Code != 401 {
		t.Errorf("without the secret: status %d", w.Code)
	}
	body, kind = form(t, files)
	if w := send(s, "POST", "/api/traces", body, "Authorization", "Bearer "+secret, "Content-Type", kind, "Origin",
		"http://evil.example.com"); w.Code != 403 {
		t.Errorf("from another site: status %d", w.Code)
	}
	if l, _ := filepath.Glob(filepath.Join(temp, "weft-dropped-*")); len(l) != 1 {
		t.Errorf("found the folders %q, want one", l)
	}
	// A file that only has the name of a trace is opened, and the error contains the same reason.
	for _, name := range []string{"a.trf", "a.otf", "a.otf2", "a.pallas"} {
		_, v := post(map[string][]byte{name: nil})
		m := waitIndexed(t, s, "/api/traces/"+fmt.Sprint(look(v, "traces/0")))
		if want := name + ": no known trace format: found an empty file, expected a trace"; m["error"] != want {
			t.Errorf("found %v, expected %q", m, want)
		}
	}
	s.Close()
	if l, _ := filepath.Glob(filepath.Join(temp, "weft-dropped-*")); len(l) != 0 {
		t.Errorf("found the folders %q after the server's end", l)
	}
}

// TestUploadCompressed checks that a compressed trace of a single text is shown.
func TestUploadCompressed(t *testing.T) {
	s := newTestServer(t, options(t))
	body, kind := form(t, map[string][]byte{"a.etf.gz": gzipped("TU SECONDS\nR 0 1 false ;\nC 0 1 3 0 1 ; name=work\n")})
	w := send(s, "POST", "/api/traces", body, "Authorization", "Bearer "+secret, "Content-Type", kind)
	v := decoded(t, w)
	if w.Code != 200 || fmt.Sprint(look(v, "traces/len")) != "1" {
		t.Fatalf("status %d: %v", w.Code, v)
	}
	api := "/api/traces/" + fmt.Sprint(look(v, "traces/0"))
	if m := waitIndexed(t, s, api); m["state"] != "ready" || m["name"] != "a.etf.gz" || m["format"] != "etf" {
		t.Fatalf("found %v", m)
	}
	if got := fmt.Sprint(get(t, s, api+"/profile")); !strings.Contains(got, "work") {
		t.Errorf("found %s, want the activity work", got)
	}
}
