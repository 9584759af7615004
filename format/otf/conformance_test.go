package otf

import (
	"testing"

	"github.com/weft-trace/weft/tracetest"
)

func TestConformance(t *testing.T) {
	tracetest.Run(t, Format{},
		tracetest.Options{Files: []string{"testdata/ok/all_kv_short/all_kv_short.otf",
			"testdata/ok/aux_snapshots/aux_snapshots.otf", "testdata/ok/localdefs/localdefs.otf",
			"testdata/ok/all_z4/all_z4.otf"}, EditStep: 197})
}
