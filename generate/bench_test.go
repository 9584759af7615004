package generate

import (
	"context"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// BenchmarkScanOrdered scans a million events of each workload in each iteration.
func BenchmarkScanOrdered(b *testing.B) {
	for _, w := range Workloads() {
		b.Run(w.Name, func(b *testing.B) {
			t, err := New(Options{Workload: w.Name, Events: 1e6})
			if err != nil {
				b.Fatal(err)
			}
			rows := 0
			b.ReportAllocs()
			for b.Loop() {
				sel := trace.Everything()
				sel.Links = trace.NoLinks
				if err := t.Scan(context.Background(), sel, format.GlobalOrder,
					format.SinkFuncs{OnBatch: func(x *trace.Batch) error {
						rows += x.Len()
						return nil
					}}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(rows)/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}
