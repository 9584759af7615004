package otf

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// benchmarkTrace returns the trace that the environment variable WEFT_BENCH_OTF names.
func benchmarkTrace(b *testing.B) format.Source {
	name := os.Getenv("WEFT_BENCH_OTF")
	if name == "" {
		b.Skip("WEFT_BENCH_OTF names no trace")
	}
	return format.FileSource(name)
}

func BenchmarkDecode(b *testing.B) {
	src := benchmarkTrace(b)
	for b.Loop() {
		d, err := (Format{}).Open(context.Background(), src, &format.ReadOptions{})
		if err != nil {
			b.Fatal(err)
		}
		fresh := func() func(int) format.Sink { return func(int) format.Sink { return format.SinkFuncs{} } }
		if err := d.ScanParallel(context.Background(), trace.Everything(), fresh); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOrdered(b *testing.B) {
	src := benchmarkTrace(b)
	for b.Loop() {
		d, err := (Format{}).Open(context.Background(), src, &format.ReadOptions{})
		if err != nil {
			b.Fatal(err)
		}
		if err := d.Scan(context.Background(), trace.Everything(), format.GlobalOrder, format.SinkFuncs{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPrint(b *testing.B) {
	src := benchmarkTrace(b)
	for b.Loop() {
		if err := PrintCompat(context.Background(), src, nil, nil, io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMerge(b *testing.B) {
	src := benchmarkTrace(b)
	for b.Loop() {
		out, err := format.CreateFile(filepath.Join(b.TempDir(), "x.otf"))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := (Format{}).Copy(context.Background(), src, &format.ReadOptions{}, out,
			&format.WriteOptions{Values: map[string]string{"otf.streams": "4"}}); err != nil {
			b.Fatal(err)
		}
		out.Abort()
	}
}
