package tracetest_test

import (
	"testing"

	"github.com/weft-trace/weft/format/etf"
	"github.com/weft-trace/weft/tracetest"
)

// A format's test is a function TestConformance in its folder with only this call. The suite reads
// and writes the given traces and generated ones, truncates and damages them, and seeks in them.
func Example() {
	var t *testing.T // the parameter of TestConformance
	tracetest.Run(t, etf.Format{}, tracetest.Options{Files: tracetest.Glob(t, "testdata/ok/*.etf")})
}

// For each rule of a format, a text that breaks it, the line of the defect, and the number of
// events that can be read.
func ExampleRules() {
	var t *testing.T // the parameter of TestRules
	tracetest.Rules(t, etf.Format{}, []tracetest.RuleTest{
		{Rule: "etf.unknown-resource", Text: "R 0 1 false ;\nC 0 0 1 7 1 ;\nC 1 1 2 0 1 ;\n", Line: 2, Events: 4},
		// and one for each other rule
	}, nil)
}
