package index_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/generate"
	"github.com/weft-trace/weft/timeline/index"
	"github.com/weft-trace/weft/tracetest"
)

// The same trace gives the same bytes, however many cores there are and whichever of them
// comes first: with messages, threads, markers, claims and stored links.
func TestSameBytes(t *testing.T) {
	paths := []string{"../../format/otf2/testdata/ok/heat2d-mt/traces.otf2", "../../format/etf/testdata/ok/feature-coverage.etf"}
	for _, workload := range []string{"stencil", "masterworker", "cps"} {
		paths = append(paths, filepath.Join(t.TempDir(), workload+".otf2"))
		generated(t, workload, paths[len(paths)-1])
	}
	for _, path := range paths {
		src := format.FileSource(path)
		f, err := format.Detect(all.Formats(), src)
		if err != nil {
			t.Fatal(err)
		}
		sameBytes(t, path, func(workers int) (format.Decoder, error) {
			return f.Open(t.Context(), src, &format.ReadOptions{Workers: workers})
		})
	}
}

func generated(t *testing.T, workload, path string) {
	t.Helper()
	g, err := generate.New(generate.Options{Workload: workload, Events: 20_000, Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	f, _ := format.ByExtension(all.Formats(), path)
	tracetest.Encode(t, f, g, path)
}

func sameBytes(t *testing.T, name string, open func(workers int) (format.Decoder, error)) {
	t.Helper()
	var first []byte
	for run := range 6 {
		workers := 1 + run%4
		d, err := open(workers)
		if err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(t.TempDir(), "x")
		if err := index.Build(t.Context(), d, out, index.Options{Workers: workers}); err != nil {
			t.Fatal(err)
		}
		d.Close()
		b, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = b
		}
		if !bytes.Equal(b, first) {
			t.Fatalf("%s: another index with %d workers than with one", name, workers)
		}
	}
}
