package picl

import (
	"context"
	"os"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

func BenchmarkDecode(b *testing.B) {
	path := os.Getenv("WEFT_BENCH_PICL")
	if path == "" {
		b.Skip("WEFT_BENCH_PICL names no file")
	}
	st, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(st.Size())
	for b.Loop() {
		rows := 0
		d, err := open(context.Background(), format.FileSource(path), &format.ReadOptions{Workers: 1})
		if err != nil {
			b.Fatal(err)
		}
		sel := trace.Everything()
		sel.Links = false
		err = d.Scan(context.Background(), sel, func(int) format.Sink {
			return format.SinkFuncs{OnBatch: func(x *trace.Batch) error { rows += x.Len(); return nil }}
		})
		if err != nil {
			b.Fatal(err)
		}
		d.Close()
		b.ReportMetric(float64(rows), "rows")
	}
}
