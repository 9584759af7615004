package otf2

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/tracetest"
)

// fuzzFile fuzzes the named file of a small archive.
func fuzzFile(f *testing.F, anchor, name string, more ...string) {
	for _, path := range append([]string{filepath.Join(filepath.Dir(anchor), name)}, more...) {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		src := mapped(t, anchor, name, func([]byte) []byte { return bytes.Clone(b) })
		tracetest.ReadSource(Format{}, src, &format.ReadOptions{Workers: 1, Report: format.NewReport()})
		checkSource(src)
		(Format{}).Compat(context.Background(), src, &format.ReadOptions{Report: format.NewReport()},
			format.Printing{Selection: trace.Everything()}, io.Discard)
	})
}

// checkSource checks an archive if it can be opened.
func checkSource(src format.Source) {
	opt := &format.ReadOptions{Report: format.NewReport()}
	if d, err := (Format{}).Open(context.Background(), src, opt); err == nil {
		d.NewChecker().Finish(context.Background())
		d.Close()
	}
}

const (
	ring      = "testdata/ok/ring/eztrace_log.otf2"
	snapshots = "testdata/ok/snapshots/all.otf2"
)

func FuzzAnchor(f *testing.F) {
	fuzzFile(f, ring, "eztrace_log.otf2", "testdata/ok/heat2d-mt/traces.otf2")
}

func FuzzDefinitions(f *testing.F) {
	fuzzFile(f, ring, "eztrace_log.def", "testdata/ok/heat2d-mt/traces.def")
}

func FuzzLocal(f *testing.F) {
	fuzzFile(f, ring, "eztrace_log/0.def", "testdata/ok/heat2d-mt/traces/1.def", "testdata/ok/heat2d-mt/traces/3.def")
}

func FuzzEvents(f *testing.F) {
	fuzzFile(f, ring, "eztrace_log/0.evt", "testdata/ok/heat2d-mt/traces/1.evt")
}

func FuzzSnapshots(f *testing.F) {
	fuzzFile(f, snapshots, "all/1.snap", "testdata/ok/snapshots/all/0.snap", "testdata/ok/snapshots/all/7.snap")
}

func FuzzThumbnails(f *testing.F) {
	fuzzFile(f, snapshots, "all.0.thumb", "testdata/ok/snapshots/all.1.thumb", "testdata/ok/thumbnails/t.0.thumb")
}
