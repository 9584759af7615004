package index_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-trace/weft/analysis/counts"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/timeline/index"
	"github.com/weft-trace/weft/trace"
)

// TestVerify checks that Open or Verify detects a change of any byte of an index with visits,
// claims, curves, instants, collective operations and messages.
func TestVerify(t *testing.T) {
	effort.Sequential(t)
	for _, name := range []string{"otf2/testdata/ok/heat2d-mt/traces.otf2", "etf/testdata/ok/feature-coverage.etf",
		"picl/testdata/ok/feature-coverage.trf"} {
		src := format.FileSource(filepath.Join("../../format", name))
		f, err := format.Detect(all.Formats(), src)
		if err != nil {
			t.Fatal(err)
		}
		d, err := f.Open(t.Context(), src, &format.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		path := filepath.Join(t.TempDir(), "x.weftidx")
		if err := index.Build(t.Context(), d, path, index.Options{}); err != nil {
			t.Fatal(err)
		}
		if err := verify(t.Context(), path); err != nil {
			t.Fatalf("%s: as it was made: %v", name, err)
		}
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f2, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f2.Close()
		for at := 0; at < len(whole); at += effort.Step(len(whole), 3000) {
			if _, err := f2.WriteAt([]byte{whole[at] ^ 0x10}, int64(at)); err != nil {
				t.Fatal(err)
			}
			if err := verify(t.Context(), path); !errors.Is(err, index.ErrDamaged) {
				t.Errorf("%s: byte %d of %d: found %v, expected that the index is damaged", name, at, len(whole), err)
			}
			if _, err := f2.WriteAt(whole[at:at+1], int64(at)); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := verify(ctx, path); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: canceled: found %v", name, err)
		}
		// Blocks at the end of the file are lost while it is open.
		x, err := index.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := f2.Truncate(16); err != nil {
			t.Fatal(err)
		}
		if err := x.Verify(t.Context()); !errors.Is(err, index.ErrDamaged) {
			t.Errorf("%s: cut off: found %v", name, err)
		}
		x.Close()
	}
}

func verify(ctx context.Context, path string) error {
	x, err := index.Open(path)
	if err != nil {
		return err
	}
	defer x.Close()
	return x.Verify(ctx)
}

// TestEvents checks that the number of events in an index equals the number that `weft info` prints. The
// expected numbers come from the formats' own tools. heat2d-mt has 36 metric events with a second member each,
// which is a row of its own, and 2 markers. A record of PICL may be two rows.
func TestEvents(t *testing.T) {
	for name, want := range map[string]int64{"otf2/testdata/ok/heat2d-mt/traces.otf2": 5378,
		"etf/testdata/ok/feature-coverage.etf": 0, "picl/testdata/ok/feature-coverage.trf": 0,
		"otf/testdata/ok/all_short/all_short.otf": 0, "otf/testdata/ok/mpi4/mpi4.otf": 0,
		"pallas/testdata/ok/allrecords": 0} {
		src := format.FileSource(filepath.Join("../../format", name))
		if strings.HasPrefix(name, "pallas") {
			l, _ := filepath.Glob(filepath.Join("../../format", name, "*", "*.pallas"))
			more, _ := filepath.Glob(filepath.Join("../../format", name, "*.pallas"))
			src = format.FileSource(append(l, more...)[0])
		}
		f, err := format.Detect(all.Formats(), src)
		if err != nil {
			t.Fatal(err)
		}
		d, err := f.Open(t.Context(), src, &format.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		path := filepath.Join(t.TempDir(), "x.weftidx")
		if err := index.Build(t.Context(), d, path, index.Options{}); err != nil {
			t.Fatal(err)
		}
		x, err := index.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		p := counts.New(d.Defs())
		if err := d.Scan(t.Context(), trace.Everything(), format.PerLocation, p); err != nil {
			t.Fatal(err)
		}
		if want == 0 {
			want = p.Result().Events
		}
		if got := x.Counts().Events; got != want || want == 0 {
			t.Errorf("%s: found %d events, expected %d", name, got, want)
		}
	}
}
