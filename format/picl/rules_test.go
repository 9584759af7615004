package picl

import (
	"strings"
	"testing"

	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/tracetest"
)

var everything = trace.Everything()

// ruleTests has a test for each rule: a text, the line of the defect and the number of events that
// can still be read.
var ruleTests = []tracetest.RuleTest{
	{"picl.malformed-record", "-3 0 0.1 0 0 0\n-3 x 0.2 0 0 0\n-4 0 0.3 0 0 0\n", 2, 2},
	{"picl.malformed-record", "-3 0 0.1 0 0 0\n-4 0 0.3x 0 0 0\n", 2, 1},
	{"picl.malformed-record", "-3 0 0.1 0 0 0\n-4 0 0.3\n", 2, 1},
	{"picl.malformed-record", "-3 0 0.1 0 0 1 \"%d 5\n-4 0 0.2 0 0 0\n", 1, 2},
	{"picl.malformed-record", "-3 0 0.1 0 0 -1\n", 1, 1},
	{"picl.line-too-long", "-3 0 0.1 0 0 0\n-7 0 0.2 0 0 2000 0 " + strings.Repeat("x", 2000) + "\n-4 0 0.3 0 0 0\n", 2,
		2},
	{"picl.zero-byte", "-3 0 0.1 0 0 0\n-7 0 0.2 0 0 3 0 a\x00b\n-4 0 0.3 0 0 0\n", 2, 3},
	{"picl.cut-off", "-3 0 0.1 0 0 0\n-4 0 0.2 0 0 0", 2, 2},
	{"picl.count-missing", "-3 0 0.1 0 0\n-4 0 0.2 0 0 0\n", 1, 2},
	{"picl.data-missing", "-3 0 0.1 0 0 2 2 5\n", 1, 1},
	{"picl.data-missing", "-3 0 0.1 0 0 1000000000 2 5\n", 1, 1},
	{"picl.data-missing", "-3 0 0.1 0 0 3\n", 1, 1},
	{"picl.extra-data", "-3 0 0.1 0 0 1 2 5 6\n", 1, 1},
	{"picl.extra-data", "-3 14 0.1 0 -1 0 7\n", 1, 1},
	{"picl.one-structure", "-3 -911 0.1 0 0 4 \"%d %s %s %s\" 15 hello big world\n", 1, 1},
	{"picl.data-type", "-3 0 0.1 0 0 1 2 five\n", 1, 1},
	{"picl.text-length", "-7 -1 0.1 0 0 9 0 hello\n", 1, 1},
	{"picl.descriptor", "-3 0 0.1 0 0 1 \"%y\" 5\n", 1, 1},
	{"picl.descriptor", "-6 -1 0.1 -1 -1 1 \"%d%s\" 6\n-3 0 0.1 0 0 0\n", 1, 1},
	{"picl.malformed-record", "-3 0 0.1 0 0 1.5\n-4 0 0.2 0 0 0\n", 1, 1},
	{"picl.malformed-record", "-3 0 0.1 0 0 1 x 5\n", 1, 1},
	{"picl.descriptor", "-6 -1 0.1 -1 -1 2 \"%d%s\" 16 \"%x\" 17 \"%i\"\n1 0 0.1 0 0 1 16 ff\n1 0 0.2 0 0 1 17 010\n",
		1, 2},
	{"picl.descriptor", "-6 -1 0.1 -1 -1 2 \"%d%s\" 16 \"%x\"\n1 0 0.1 0 0 1 16 ff\n", 1, 1},
	{"picl.descriptor", "-6 -1 0.1 -1 -1 1 \"%d%s\" 16 \"%x\" 17 \"%i\"\n1 0 0.1 0 0 1 16 ff\n", 1, 1},
	{"picl.descriptor", "-6 -1 0.1 -1 -1 1 \"%d%s\" 16 \"%x\" more\n1 0 0.1 0 0 1 16 ff\n", 1, 1},
	{"picl.descriptor", "-6 -1 0.1 -1 -1 0 \"%d%s\" 16 \"%x\"\n1 0 0.1 0 0 1 16 ff\n", 1, 1},
	{"picl.unknown-descriptor", "-3 0 0.1 0 0 1 9 5\n", 1, 1},
	{"picl.subset", "-201 -1 0.1 -1 -1 0\n-3 0 0.1 0 0 0\n", 1, 1},
	{"picl.subset", "-203 -1 0.1 -1 -1 3 2 -21 -51 -52\n-3 0 0.1 0 0 0\n", 1, 1},
	{"picl.subset", "-203 -1 0.1 -1 -1 3 \"%s\" -2001 -51 -52\n-3 0 0.1 0 0 0\n", 1, 1},
	{"picl.subset", "-203 -1 0.1 -1 -1 3 \"%lf\" -2001 -51 -52\n-3 0 0.1 0 0 0\n", 1, 1},
	{"picl.undefined", "-3 0 0.1 0 0 0\n-3 0 0.2 -77 0 0\n-4 0 0.3 -77 0 0\n", 2, 3},
	{"picl.undefined", "-3 0 0.1 0 -78 0\n", 1, 1},
	{"picl.undefined", "-3 -3000 0.1 0 0 0\n", 1, 1},
	{"picl.undefined", "-5 -2001 0.0 -1 -1 1 0 x\n-3 0 0.1 0 0 0\n", 1, 1},
	{"picl.time-rounded", "-3 0 10000000000.0 0 0 0\n-4 0 10000000000.0000000000001 0 0 0\n", 2, 2},
	{"picl.old-record", "1 0 0 0 4 4 4\n9 0 5 0\n19 0 9 0 1\n", 2, 4},
	{"picl.old-record", "1 0 0 0 4 4 4\n22 0 5 0 3 1\n19 0 9 0 1\n", 2, 5},
	{"picl.old-record", "1 0 0 0 4 4 4\n22 0 5 0 -5\n19 0 9 0 1\n", 2, 4},
	{"picl.old-record", "8 0 5 1 0 7 4\n", 1, 3},
	{"picl.subset", "-201 -1 0.0 -1 -1 3 2 -1 0 1\n-3 0 0.1 0 0 0\n", 1, 1},
	{"picl.outside-tracing", "-2 4 0.1 0 0 0\n-3 -1 0.2 0 0 0\n-2 4 0.3 0 0 0\n-4 -1 0.4 0 0 0\n", 1, 4},
	{"picl.outside-tracing",
		"-3 -901 0.0 0 0 0\n-3 -1 0.2 0 0 0\n-4 -1 0.3 0 0 0\n-2 4 0.4 0 0 0\n-4 -901 0.5 0 0 0\n-2 4 0.6 0 0 0\n", 6, 6},
	{"picl.statistics", "-3 0 0.1 0 0 0\n-4 0 0.3 0 0 0\n-101 -1 0.3 0 0 1 \"%d%lf\" 0 0.5\n", 3, 3},
	{"picl.statistics", "-3 0 0.1 0 0 0\n-4 0 0.3 0 0 0\n-102 -1 0.3 0 0 1 \"%d%d\" 0 2\n", 3, 3},
	{"picl.statistics", "-3 -21 0.1 0 0 3 2 8 1 1\n-4 -21 0.3 0 0 0\n-103 -1 0.3 0 0 1 \"%d%d\" -21 9\n", 3, 4},
	{"picl.statistics-unknown", "-3 -901 0.1 0 0 0\n-4 -901 0.3 0 0 0\n-103 -1 0.3 0 0 1 \"%d%d\" -901 428\n", 3, 3},
	{"picl.carrier", "-7 -1 0.0 -1 -1 21 0 weft:definitions.0 {}\n-3 0 0.1 0 0 0\n", 0, 1},
	{"picl.carrier", "-7 -1 -1.0 -1 -1 71 0 weft:definitions.0 d2VmdAKsUA", 0, 0},
	{"picl.unknown-record-type", "-99 0 0.1 0 0 0\n", 1, 1},
	{"picl.unknown-event-type", "-3 -777 0.1 0 0 0\n", 1, 1},
	{"picl.outside-tracing", "-3 0 0.1 0 0 0\n-3 -901 0.2 0 0 0\n", 1, 2},
	{"picl.outside-tracing", "-3 -901 0.1 0 0 0\n-4 -901 0.2 0 0 0\n-3 0 0.3 0 0 0\n", 3, 3},
	{"picl.mark-message", "-2 -21 0.1 0 0 3 2 8 1 1\n", 1, 1},
	{"picl.empty", "", 0, 0},
	// The trace lasts 18 · 10¹⁸ ticks, more than the maximum 2⁶³ - 1 = 9.2 · 10¹⁸.
	{"picl.long-span", "-2 0 -9000000000000000000.0 0 0 0\n-2 0 9000000000000000000.0 0 0 0\n", 0, 2},
	{"picl.unsorted", "-3 0 0.2 0 0 0\n-3 0 0.1 1 0 0\n", 2, 2},
}

func TestRules(t *testing.T) {
	tracetest.Rules(t, Format{}, ruleTests, map[string]string{"picl.max-line": "1000"})
}
