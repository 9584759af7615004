package tracetest_test

import (
	"testing"

	"github.com/weft-trace/weft/format/etf"
	"github.com/weft-trace/weft/tracetest"
)

// A format's test is a function TestConformance in its folder that only calls Run. The suite reads and writes
// the given traces and generated traces. It also cuts and damages these traces, and reads parts of them.
func Example() {
	var t *testing.T // the parameter of TestConformance
	tracetest.Run(t, etf.Format{}, tracetest.Options{Files: tracetest.Glob(t, "testdata/ok/*.etf")})
}

// ExampleRules tests rules of a format. A test has a text that breaks a rule, the line of the defect, and the
// number of events that can be read in spite of the defect.
func ExampleRules() {
	var t *testing.T // the parameter of TestRules
	tracetest.Rules(t, etf.Format{}, []tracetest.RuleTest{
		{Rule: "etf.unknown-resource", Text: "R 0 1 false ;\nC 0 0 1 7 1 ;\nC 1 1 2 0 1 ;\n", Line: 2, Events: 4},
		// A real list has a test for each other rule.
	}, nil)
}
