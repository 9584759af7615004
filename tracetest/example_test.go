package tracetest_test

import (
	"testing"

	"github.com/weft-trace/weft/format/etf"
	"github.com/weft-trace/weft/tracetest"
)

// The test of a format: a function TestConformance in its folder has no more than this call. The
// suite reads and writes the given traces and generated ones, cuts and damages them, and seeks in
// them.
func Example() {
	var t *testing.T // that of TestConformance
	tracetest.Run(t, etf.Format{}, tracetest.Options{Files: tracetest.Glob(t, "testdata/ok/*.etf")})
}

// A text for each rule of a format that breaks it, in which line, and how many events are read all
// the same.
func ExampleRules() {
	var t *testing.T // that of TestRules
	tracetest.Rules(t, etf.Format{}, []tracetest.RuleTest{
		{Rule: "etf.unknown-resource", Text: "R 0 1 false ;\nC 0 0 1 7 1 ;\nC 1 1 2 0 1 ;\n", Line: 2, Events: 4},
		// and one for each other rule
	}, nil)
}
