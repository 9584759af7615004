package picl

import (
	"testing"

	"github.com/weft-trace/weft/tracetest"
)

func BenchmarkDecode(b *testing.B) { tracetest.BenchmarkDecode(b, Format{}, "WEFT_BENCH_PICL") }
