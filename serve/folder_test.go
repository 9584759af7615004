package serve

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// copyTree copies a folder.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// newFolderServer returns a server of the traces in a folder.
func newFolderServer(t *testing.T, dir string) *Server {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	opt := options(t)
	opt.Dir = root
	s := New(opt)
	t.Cleanup(s.Close)
	return s
}

func listedNames(t *testing.T, s *Server) (out []string) {
	t.Helper()
	for _, x := range get(t, s, "/api/traces")["traces"].([]any) {
		out = append(out, fmt.Sprint(look(x, "path"), " ", look(x, "format")))
	}
	slices.Sort(out)
	return out
}

// TestFolder checks that a server lists each trace in a folder once, however many files the trace
// has, and that it lists nothing else.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	for _, x := range [][2]string{{"otf/testdata/ok/mpi4", "otf/mpi4"}, {"otf/testdata/ok/hello", "otf/hello"}} {
		copyTree(t, filepath.Join("../format", x[0]), filepath.Join(dir, x[1]))
	}
	writeSample(t, filepath.Join(dir, "a.otf2"))
	writeSample(t, filepath.Join(dir, "b.etf"))
	if err := os.MkdirAll(filepath.Join(dir, "deep/er"), 0o755); err != nil {
		t.Fatal(err)
	}
	writeSample(t, filepath.Join(dir, "deep/er/c.trf"))
	if err := os.Rename(filepath.Join(dir, "deep/er/c.trf"), filepath.Join(dir, "deep/er/trace of today")); err != nil {
		t.Fatal(err)
	}
	writeSample(t, filepath.Join(dir, "p.pallas"))
	for name, text := range map[string]string{"readme.txt": "1 2 3 4\n", "deep/data.csv": "1,2\n3,4\n", ".hidden.trf": "",
		"broken.otf2": "no archive", "a.weftidx.notes.json": "{}", "numbers": "1.0 2.0 3.0\n4.0 5.0 6.0\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := newFolderServer(t, dir)
	got := listedNames(t, s)
	want := []string{"a.otf2 otf2", "b.etf etf", "deep/er/trace of today picl", "otf/hello/hello.otf otf",
		"otf/mpi4/mpi4.otf otf"}
	i := slices.IndexFunc(got, func(x string) bool { return strings.HasSuffix(x, " pallas") })
	if i < 0 {
		t.Fatalf("found %q, expected one of Pallas", got)
	}
	if got = slices.Delete(got, i, i+1); !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	for n := range len(got) + 1 {
		api := waitReady(t, s, n)
		for _, q := range []string{"/profile", "/calltree", "/info", "/defects"} {
			get(t, s, api+q)
		}
		if v := get(t, s, api); strings.Contains(fmt.Sprint(v["path"], v["error"]), dir) {
			t.Errorf("the answer tells where the folder is: %v", v["path"])
		}
	}
	// A new file is found by its id even before the folder is listed again.
	writeSample(t, filepath.Join(dir, "later.etf"))
	s.traces.(*folderCatalogue).at = time.Time{}
	get(t, s, "/api/traces/"+traceID("later.etf", 0))
	if got := listedNames(t, s); len(got) != len(want)+2 {
		t.Errorf("found %q", got)
	}
}

// TestEscape checks that no request can read a file outside of the folder.
func TestEscape(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	writeSample(t, filepath.Join(outside, "secret.etf"))
	writeSample(t, filepath.Join(dir, "in.etf"))
	if err := os.Symlink(filepath.Join(outside, "secret.etf"), filepath.Join(dir, "link.etf")); err != nil {
		t.Skip(err)
	}
	for from, to := range map[string]string{"up": "..", "out": outside,
		"relative.etf": "../" + filepath.Base(outside) + "/secret.etf", "same.etf": "in.etf"} {
		if err := os.Symlink(to, filepath.Join(dir, from)); err != nil {
			t.Fatal(err)
		}
	}
	s := newFolderServer(t, dir)
	if got := listedNames(t, s); !slices.Equal(got, []string{"in.etf etf", "same.etf etf"}) {
		t.Errorf("found %q, expected those in the folder alone", got)
	}
	for _, id := range []string{traceID("link.etf", 0), traceID("relative.etf", 0), traceID("out/secret.etf", 0),
		traceID("../"+filepath.Base(outside)+"/secret.etf", 0),
		"..%2f..%2fetc%2fpasswd", "%2e%2e", "in.etf", "..", "%00"} {
		if w := ask(s, "GET", "/api/traces/"+id); w.Code == http.StatusOK {
			t.Errorf("%s: status %d: %s", id, w.Code, w.Body)
		}
	}
	for _, p := range []string{"/../server.go", "/..%2fserver.go", "/%2e%2e/server.go", "/assets/../../x", "/assets/",
		"//etc/passwd", "/.", "/index.html/"} {
		u, err := url.Parse(p)
		if err != nil {
			t.Fatal(err)
		}
		if w := ask(s, "GET", u.RequestURI()); w.Code == http.StatusOK {
			t.Errorf("%s: status %d: %.40s", p, w.Code, w.Body)
		}
	}
	// After the server has made the list, a symbolic link takes the place of a folder.
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	writeSample(t, filepath.Join(dir, "sub/secret.etf"))
	s.traces.(*folderCatalogue).at = time.Time{}
	listedNames(t, s)
	id := traceID("sub/secret.etf", 0)
	if err := os.RemoveAll(filepath.Join(dir, "sub")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "sub")); err != nil {
		t.Fatal(err)
	}
	if v := waitIndexed(t, s, "/api/traces/"+id); v["state"] != "failed" {
		t.Fatal("a trace outside of the folder is shown")
	}
}

// TestLimitsOfFolder checks that traces are listed even if the folder is nested deeper than the limit.
func TestLimitsOfFolder(t *testing.T) {
	dir := t.TempDir()
	deep := dir
	for i := range maxDepth + 3 {
		deep = filepath.Join(deep, "d")
		if err := os.Mkdir(deep, 0o755); err != nil {
			t.Fatal(err)
		}
		if i == maxDepth-2 || i == maxDepth+2 {
			writeSample(t, filepath.Join(deep, "x.etf"))
		}
	}
	if got := listedNames(t, newFolderServer(t, dir)); len(got) != 1 {
		t.Errorf("found %q, expected the one that is not too deep", got)
	}
	if _, err := fs.Stat(os.DirFS(deep), "x.etf"); err != nil {
		t.Fatal(err)
	}
}

// gzipped returns a text compressed by gzip.
func gzipped(text string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, text)
	w.Close()
	return b.Bytes()
}

// TestFolderListsCompressedTraces checks that a server lists compressed traces of a single text, and that it shows the
// same spans and defects as for the text itself. A compressed file of another format is not listed.
func TestFolderListsCompressedTraces(t *testing.T) {
	dir := t.TempDir()
	text := "TU SECONDS\nR 0 1 false ; name=r\nC 0 1 3 0 1 ; name=a\nC 1 4 5 0 2 ; name=b\n"
	write := func(name string, b []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("a.etf", []byte(text))
	write("b.etf.gz", gzipped(text))
	write("cut.etf.gz", gzipped(text)[:60])
	write("readme.gz", gzipped("1 2 3\n"))
	write("c.otf.gz", gzipped("1:1\n"))
	s := newFolderServer(t, dir)
	if got, want := listedNames(t, s), []string{"a.etf etf", "b.etf.gz etf", "cut.etf.gz etf"}; !slices.Equal(got, want) {
		t.Fatalf("found %q, want %q", got, want)
	}
	answers := map[string][]string{}
	for _, x := range get(t, s, "/api/traces")["traces"].([]any) {
		target, name := "/api/traces/"+look(x, "id").(string), look(x, "path").(string)
		if v := waitIndexed(t, s, target); v["state"] != "ready" {
			t.Fatalf("%s: found %v", name, v)
		}
		for _, what := range []string{"/profile", "/defects"} {
			answer := fmt.Sprint(get(t, s, target+what))
			answers[name] = append(answers[name], strings.ReplaceAll(answer, name, "a.etf"))
		}
	}
	if !slices.Equal(answers["a.etf"], answers["b.etf.gz"]) || len(answers["a.etf"]) != 2 {
		t.Errorf("found %q, want %q", answers["b.etf.gz"], answers["a.etf"])
	}
	if got := answers["cut.etf.gz"][1]; !strings.Contains(got, "trace.compression") {
		t.Errorf("found %s, want the rule trace.compression", got)
	}
}
