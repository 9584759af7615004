package index

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/weft-trace/weft/format"
)

func BenchmarkBuild(b *testing.B) {
	r, spans := randomVisits(1, 4, 250000)
	n := 0
	for _, l := range spans {
		n += 2 * len(l)
	}
	path := filepath.Join(b.TempDir(), "x")
	b.ResetTimer()
	for range b.N {
		if err := Build(context.Background(), format.Recorded(r), path, Options{Workers: 1}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/event")
}

// BenchmarkDecode measures decoding the blocks of a track with 250,000 visits.
func BenchmarkDecode(b *testing.B) {
	r, _ := randomVisits(1, 1, 250000)
	x := buildIndex(b, r)
	e := x.dir.Tracks[0]
	w := x.scratch()
	n := 0
	b.ResetTimer()
	for range b.N {
		for i := range e.blocks {
			if err := w.decode(&e.blocks[i], w.b.decode); err != nil {
				b.Fatal(err)
			}
			n += len(w.b.spans)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/span")
}
