package otf2

import (
	"testing"

	"github.com/weft-trace/weft/tracetest"
)

func TestConformance(t *testing.T) {
	tracetest.Run(t, Format{},
		tracetest.Options{Files: []string{"testdata/ok/ring/eztrace_log.otf2", "testdata/ok/heat2d-mt/traces.otf2",
			"testdata/ok/propvals/traces.otf2", "testdata/ok/snapshots/all.otf2"}, EditStep: 997})
}
