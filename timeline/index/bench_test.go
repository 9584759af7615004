package index

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/weft-trace/weft/format"
)

func BenchmarkBuild(b *testing.B) {
	r, spans := random(1, 4, 250000)
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
