package otf2

import (
	"bytes"
	"os"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/tracetest"
)

// fuzzFile fuzzes a file of a small archive.
func fuzzFile(f *testing.F, name string, more ...string) {
	const anchor = "testdata/ok/ring/eztrace_log.otf2"
	for _, path := range append([]string{"testdata/ok/ring/" + name}, more...) {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		src := mapped(t, anchor, name, func([]byte) []byte { return bytes.Clone(b) })
		tracetest.ReadSource(Format, src, &format.ReadOptions{Workers: 1, Report: format.NewReport()})
		if a, err := Open(src); err == nil {
			a.Markers(func(int64, *Record) error { return nil })
		}
	})
}

func FuzzAnchor(f *testing.F) { fuzzFile(f, "eztrace_log.otf2", "testdata/ok/heat2d-mt/traces.otf2") }

func FuzzDefinitions(f *testing.F) {
	fuzzFile(f, "eztrace_log.def", "testdata/ok/heat2d-mt/traces.def")
}

func FuzzLocal(f *testing.F) {
	fuzzFile(f, "eztrace_log/0.def", "testdata/ok/heat2d-mt/traces/1.def", "testdata/ok/heat2d-mt/traces/3.def")
}

func FuzzEvents(f *testing.F) { fuzzFile(f, "eztrace_log/0.evt", "testdata/ok/heat2d-mt/traces/1.evt") }
