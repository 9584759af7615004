package serve

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/internal/effort"
)

// damageFunctions lists functions that return a damaged copy of a file's content.
var damageFunctions = []func(text []byte) []byte{
	func(text []byte) []byte { return text[:len(text)/2] },
	func(text []byte) []byte {
		for i := len(text) / 2; i < min(len(text), len(text)/2+16); i++ {
			text[i] ^= 0xa5
		}
		return text
	},
	func(text []byte) []byte {
		for i := range min(len(text), 4) {
			text[i] ^= 0xa5
		}
		return text
	},
}

// TestDamagedTraces damages files of traces of all formats: it cuts them in half, or changes bytes
// at the beginning or in the middle. The server must show such a trace, or report the reason in a
// sentence. No request about it may cause an internal error.
func TestDamagedTraces(t *testing.T) {
	effort.Long(t)
	dir := t.TempDir()
	var paths []string
	count := map[string]int{}
	for _, f := range all.Formats() {
		root := filepath.Join("../format", f.About().Name, "testdata/ok")
		mains, files := mainFiles(t, f, root)
		for i, m := range mains {
			// The damaged files are the main file and the longest other file in its folder.
			cut := []string{m, m, m}
			longest := int64(0)
			for name, size := range files {
				if name != m && filepath.Dir(m) != root && strings.HasPrefix(name, filepath.Dir(m)+"/") && size > longest {
					longest = size
					cut = append(cut[:3], name, name, name)
				}
			}
			for k, name := range cut {
				to := filepath.Join(dir, f.About().Name, fmt.Sprint(i, "-", k))
				var main string
				if filepath.Dir(m) == root {
					main = filepath.Join(to, filepath.Base(m))
					if err := os.MkdirAll(to, 0o755); err != nil {
						t.Fatal(err)
					}
					text, err := os.ReadFile(m)
					if err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(main, text, 0o644); err != nil {
						t.Fatal(err)
					}
				} else {
					copyTree(t, filepath.Dir(m), to)
					main = filepath.Join(to, filepath.Base(m))
				}
				file := filepath.Join(to, strings.TrimPrefix(name, filepath.Dir(m)))
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, damageFunctions[k%len(damageFunctions)](text), 0o644); err != nil {
					t.Fatal(err)
				}
				paths = append(paths, main)
				count[f.About().Name]++
			}
		}
	}
	if len(count) != len(all.Formats()) {
		t.Errorf("found traces of %v, expected all formats", count)
	}
	s := newTestServer(t, options(t), paths...)
	s.Start()
	shown, failed := map[string]int{}, 0
	for i, p := range paths {
		api := "/api/traces/" + s.traceAt(t, i).id
		name, _ := filepath.Rel(dir, p)
		v := waitIndexed(t, s, api)
		switch v["state"] {
		case "ready":
			shown[v["format"].(string)]++
		case "failed":
			failed++
			if why := v["error"].(string); why == "" || strings.Contains(why, "\n") || strings.Contains(why, "internal error") {
				t.Errorf("%s: failed with %q", name, why)
			}
		}
		for _, q := range []string{"/profile", "/profile?by=group", "/locations", "/links", "/matrix", "/calltree",
			"/utilisation?width=9", "/structure", "/defects", "/info", "/notes",
			"/tiles?width=99&tracks=0", "/summary?width=99&tracks=0", "/span?track=0&time=0",
			"/instant?track=0&time=0&radius=1000000000", "/find?region=0&time=0"} {
			if w := ask(s, "GET", api+q); w.Code >= 500 && w.Code != 503 {
				t.Errorf("%s%s: status %d: %s", name, q, w.Code, w.Body)
			}
		}
	}
	if failed == 0 {
		t.Error("no trace has failed, expected those whose main file has lost its begin")
	}
	for _, f := range all.Formats() {
		if shown[f.About().Name] == 0 {
			t.Errorf("%s: none of %d damaged traces is shown", f.About().Name, count[f.About().Name])
		}
	}
}

// mainFiles returns the main files of the traces of a format below root, and the sizes of all
// files.
func mainFiles(t *testing.T, f format.Format, root string) (mains []string, sizes map[string]int64) {
	t.Helper()
	sizes = map[string]int64{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		sizes[name] = st.Size()
		head, err := os.ReadFile(name)
		if err == nil && f.About().HasExtension(name) &&
			f.Probe(filepath.Base(name), head[:min(len(head), probeHead)]) > nameConfidence {
			mains = append(mains, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return mains, sizes
}
