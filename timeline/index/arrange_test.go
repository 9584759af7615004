package index_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/format/otf2"
	"github.com/weft-trace/weft/generate"
	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/timeline/index"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/tracetest"
)

// TestSameBytes checks that the index of a trace always has the same bytes, whatever the number of workers is
// and in whatever order they finish. The traces have messages, threads, markers, claims and stored links.
func TestSameBytes(t *testing.T) {
	paths := []string{"../../format/otf2/testdata/ok/heat2d-mt/traces.otf2",
		"../../format/etf/testdata/ok/feature-coverage.etf"}
	workloads := []string{"stencil", "cps", "masterworker"}
	if effort.Race {
		workloads = workloads[:2]
	}
	for _, workload := range workloads {
		paths = append(paths, filepath.Join(t.TempDir(), workload+".otf2"))
		generateTrace(t, workload, paths[len(paths)-1])
	}
	for _, path := range paths {
		src := format.FileSource(path)
		f, err := format.Detect(all.Formats(), src)
		if err != nil {
			t.Fatal(err)
		}
		sameBytes(t, path, "", func(workers int) (format.File, error) {
			return f.Open(t.Context(), src, &format.ReadOptions{Workers: workers})
		})
	}
}

// TestSameBytesColored checks that an index always has the same bytes if an attribute names the spans. Several
// locations have the same values of the attribute, and there are more values than maxColors. The values that
// occur first in the trace keep their names.
func TestSameBytesColored(t *testing.T) {
	const locations, visits = 12, 3000
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	g := r.Region("g")
	var want []string
	known := map[string]bool{}
	for l := range locations {
		loc := r.Location(fmt.Sprint("p", l))
		for i := range visits {
			// An eighth of the values of a location are values that the previous location has, too.
			v := fmt.Sprint("job ", l*visits+i-visits/8)
			r.Enter(loc, int64(2*i), g, trace.Attr{Key: "job", Value: trace.StringValue(v)})
			r.Leave(loc, int64(2*i+1), g)
			if !known[v] {
				want = append(want, v)
			}
			known[v] = true
		}
	}
	want = append(want[:1<<14-1], "…")
	path := filepath.Join(t.TempDir(), "x.otf2")
	tracetest.Encode(t, otf2.Format{}, format.Recorded(r), path)
	last := sameBytes(t, path, "job", func(workers int) (format.File, error) {
		return otf2.Format{}.Open(t.Context(), format.FileSource(path), &format.ReadOptions{Workers: workers})
	})
	x, err := index.Open(last)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for i, name := range want {
		if got := x.Region(uint32(i)); got != name {
			t.Fatalf("value %d is %q, expected %q", i, got, name)
		}
	}
}

func generateTrace(t *testing.T, workload, path string) {
	t.Helper()
	g, err := generate.New(generate.Options{Workload: workload, Events: 20_000, Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	f, _ := format.ByExtension(all.Formats(), path)
	tracetest.Encode(t, f, g, path)
}

func sameBytes(t *testing.T, name, color string, open func(workers int) (format.File, error)) (last string) {
	t.Helper()
	var first []byte
	for run := range 6 {
		workers := 1 + run%4
		d, err := open(workers)
		if err != nil {
			t.Fatal(err)
		}
		last = filepath.Join(t.TempDir(), "x")
		if err := index.Build(t.Context(), d, last, index.Options{Workers: workers, Color: color}); err != nil {
			t.Fatal(err)
		}
		d.Close()
		b, err := os.ReadFile(last)
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
	return last
}
