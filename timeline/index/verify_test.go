package index_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/timeline/index"
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
		// The file loses some blocks while it is open.
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
