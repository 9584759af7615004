package all

import (
	"context"
	"io"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/generate"
	"github.com/weft-trace/weft/trace"
)

func BenchmarkEncode(b *testing.B) {
	for _, x := range [][2]string{{"cps", "etf"}, {"stencil", "picl"}, {"stencil", "etf"}} {
		b.Run(x[0]+"."+x[1], func(b *testing.B) {
			f, _ := format.ByName(Formats(), x[1])
			for b.Loop() {
				g, err := generate.New(generate.Options{Workload: x[0], Events: 1_000_000, Seed: 1})
				if err != nil {
					b.Fatal(err)
				}
				out := format.StreamOutput(io.Discard)
				e, _ := f.Create(out, &format.WriteOptions{})
				if err := format.Convert(context.Background(), g, trace.Everything(), e); err != nil {
					b.Fatal(err)
				}
				out.Abort()
			}
		})
	}
}
