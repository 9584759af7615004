package picl_test

import (
	"testing"

	"github.com/weft-trace/weft/format/picl"
	"github.com/weft-trace/weft/tracetest"
)

func TestConformance(t *testing.T) {
	tracetest.Run(t, picl.Format{}, tracetest.Options{Files: tracetest.Glob(t, "testdata/ok/*.trf")})
}
