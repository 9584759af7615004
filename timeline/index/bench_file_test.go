package index_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/otf2"
	"github.com/weft-trace/weft/timeline/index"
)

// buildOf builds the index of the OTF2 trace whose path is in the environment variable
// WEFT_BENCH_OTF2.
func buildOf(b *testing.B, path string) {
	file := os.Getenv("WEFT_BENCH_OTF2")
	if file == "" {
		b.Skip("WEFT_BENCH_OTF2 names no trace")
	}
	d, err := otf2.Format{}.Open(b.Context(), format.FileSource(file), &format.ReadOptions{Workers: 2})
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	if err := index.Build(b.Context(), d, path, index.Options{Workers: 2}); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkBuildFile measures a build including the time for reading the trace.
func BenchmarkBuildFile(b *testing.B) {
	path := filepath.Join(b.TempDir(), "x")
	for b.Loop() {
		buildOf(b, path)
	}
}

// BenchmarkTile builds tiles of 200 strips and 1600 columns at all zoom levels and positions.
func BenchmarkTile(b *testing.B) {
	path := filepath.Join(b.TempDir(), "x")
	buildOf(b, path)
	x, err := index.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	tracks := x.Tracks()
	first, last, _ := x.Extent()
	rng := rand.New(rand.NewPCG(1, 1))
	var times []time.Duration
	for b.Loop() {
		length := (last - first) >> rng.IntN(24)
		q := index.TileRequest{From: first + rng.Int64N(last-first-length+1), Width: 1600, Depths: 20}
		q.To = q.From + max(length, 1)
		for at, k, strips := rng.IntN(len(tracks)), 0, 0; k < len(tracks) && strips < 200; k++ {
			n := (at + k) % len(tracks)
			strips += max(1, tracks[n].Depth)
			q.Tracks = append(q.Tracks, n)
		}
		start := time.Now()
		t, err := x.Tile(b.Context(), q)
		if err == nil {
			_, err = t.AppendBinary(nil)
		}
		if err != nil {
			b.Fatal(err)
		}
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)*19/20].Microseconds())/1000, "p95-ms")
}
