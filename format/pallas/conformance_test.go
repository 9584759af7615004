package pallas

import (
	"testing"

	"github.com/weft-trace/weft/tracetest"
)

func TestConformance(t *testing.T) {
	tracetest.Run(t, Format{},
		tracetest.Options{Files: []string{"testdata/ok/abi18_mpi/trace/main.pallas", "testdata/ok/attrs/trace/main.pallas",
			"testdata/ok/allrecords/trace/main.pallas", "testdata/ok/sparse_ids/trace/main.pallas"}, EditStep: 97})
}
