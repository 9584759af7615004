package otf2

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/tracetest"
)

// anchorOf is the anchor file below a folder.
func anchorOf(t testing.TB, dir string) string {
	t.Helper()
	found := ""
	filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".otf2") {
			found = path
		}
		return nil
	})
	if found == "" {
		t.Fatalf("%s: no anchor file", dir)
	}
	return found
}

// compat is what the archive prints.
func compat(t testing.TB, anchor string) []byte {
	t.Helper()
	var out bytes.Buffer
	opt := &format.ReadOptions{Report: format.NewReport()}
	if err := (Format{}).Compat(context.Background(), format.FileSource(anchor), opt, trace.Everything(), &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// The archives that were handed out print as otf2-print did.
func TestPrint(t *testing.T) {
	wants := tracetest.Glob(t, "testdata/ok/*/print.txt.gz")
	shared, _ := filepath.Glob("../../../shared/traces/otf2/*.print.txt.gz")
	if len(shared) == 0 {
		t.Log("the shared traces are not here")
	}
	for _, path := range append(wants, shared...) {
		dir := filepath.Dir(path)
		if name, ok := strings.CutSuffix(path, ".print.txt.gz"); ok {
			dir = name
		}
		t.Run(filepath.Base(dir), func(t *testing.T) {
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			z, err := gzip.NewReader(f)
			if err != nil {
				t.Fatal(err)
			}
			want, err := io.ReadAll(z)
			if err != nil {
				t.Fatal(err)
			}
			sameLines(t, compat(t, anchorOf(t, dir)), want)
		})
	}
}

// sameLines shows the first lines that differ.
func sameLines(t *testing.T, got, want []byte) {
	t.Helper()
	if bytes.Equal(got, want) {
		return
	}
	g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	shown := 0
	for i := range max(len(g), len(w)) {
		line := func(l []string) string {
			if i < len(l) {
				return l[i]
			}
			return "(end)"
		}
		if line(g) != line(w) {
			if shown++; shown > 6 {
				break
			}
			t.Errorf("line %d:\n%s\nwant\n%s", i+1, line(g), line(w))
		}
	}
	if shown == 0 {
		t.Errorf("%d bytes, want %d", len(got), len(want))
	}
}
