package etf_test

import (
	"testing"

	"github.com/weft-trace/weft/format/etf"
	"github.com/weft-trace/weft/tracetest"
)

func TestConformance(t *testing.T) {
	tracetest.Run(t, etf.Format{}, tracetest.Options{Files: tracetest.Glob(t, "testdata/ok/*.etf")})
}
