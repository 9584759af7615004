package etf

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/tracetest"
)

// ruleTests has a test for each rule: a text, the line of the defect and the number of readable events.
var ruleTests = []tracetest.RuleTest{
	{"etf.number", "R 0 1 false ;\nC 0 x 1 0 1 ;\nC 1 1 2 0 1 ;\n", 2, 2},
	{"etf.field-count", "R 0 1 false ;\nC 0 0 1 0 1 2 3 ;\nC 1 1 2 0 1 ;\nE 0 ;\n", 2, 2},
	{"etf.unit", "TU DAYS\nE 0 1 ;\n", 1, 1},
	{"etf.second-unit", "TU SECONDS\nE 0 1 ;\nTU HOURS\n", 3, 1},
	{"etf.second-offset", "O 5\nE 0 1 ;\nO 6\n", 3, 1},
	{"etf.offset-range", "E 0 1 ;\nO 99999999999999\n", 2, 1},
	{"etf.time-rounded", "TU NANOSECONDS\nE 0 0.00000000000001 ;\n", 2, 1},
	{"etf.duplicate-id", "R 0 1 false ;\nC 0 0 1 0 1 ;\nC 0 1 2 0 1 ;\n", 3, 4},
	{"etf.duplicate-id", "R 0 1 false ;\nR 0 2 false ;\nC 0 0 1 0 1 ;\n", 2, 2},
	{"etf.duplicate-id", "E 5 0 ;\nE 9 1 ;\nE 5 2 ;\n", 3, 3},
	{"etf.duplicate-id", "E 1 0 ;\nE 2 0 ;\nD 0 4 1 2 ;\nD 0 4 2 1 ;\n", 4, 2},
	{"etf.duplicate-id", "E 1 5 ;\nE 1 1 ;\n", 2, 2},
	{"etf.unknown-resource", "R 0 1 false ;\nC 0 0 1 7 1 ;\nC 1 1 2 0 1 ;\n", 2, 4},
	{"etf.unknown-reference", "E 0 1 ;\nD 0 4 0 9 ;\n", 2, 1},
	{"etf.unknown-reference", "E 0 1 ;\nF 3 0 1 1 0 0\n", 2, 2},
	{"etf.dependency-type", "E 0 1 ;\nE 1 2 ;\nD 0 9 0 1 ;\n", 3, 2},
	{"etf.claim-times", "R 0 1 false ;\nC 0 2 1 0 1 ;\nC 1 1 2 0 1 ;\n", 2, 2},
	{"etf.claim-offset", "R 0 1 false ;\nC 0 0 1 0 0 1 ;\n", 2, 2},
	{"etf.claim-offset", "R 0 1 true ;\nC 0 0 1 0 1 ;\n", 2, 2},
	{"etf.fragment-times", "S 0 ;\nF 0 0 1 1 0 0\nF 0 1 1 1 0 0\n", 3, 1},
	{"etf.fragment-times", "TS 0 ;\nTSS 0 0 ;\nTSR 0 0 2 1 5 6\n", 3, 0},
	{"etf.fragment-gap", "S 0 ;\nF 0 0 1 1 0 0\nF 0 2 3 1 0 0\n", 3, 2},
	{"etf.fragment-overlap", "S 0 ;\nF 0 0 2 1 0 0\nF 0 1 3 1 0 0\n", 3, 2},
	{"etf.fragment-order", "S 0 ;\nF 0 1 2 1 0 0\nF 0 0 1 1 0 0\n", 3, 2},
	{"etf.empty-signal", "S 0 ;\nE 0 1 ;\n", 1, 1},
	{"etf.attribute", "E 0 1 ; name\nE 1 2 ; =x\n", 1, 2},
	{"etf.escape", "E 0 1 ; a=b=c\nE 1 2 ;\n", 1, 2},
	{"etf.escape", "E 0 1 ; a=b\nE 1 2 ; a=c:\\dir\n", 2, 2},
	{"etf.amount", "R 0 1 false ;\nC 0 0 1 0 -5 ;\n", 2, 2},
	{"etf.line-too-long", "E 0 1 ;\nE 1 2 ; a=" + strings.Repeat("x", 2000) + "\nE 2 3 ;\n", 2, 2},
	{"etf.zero-byte", "E 0 1 ;\nE 1 2 ; a=x\x00y\nE 2 3 ;\n", 2, 3},
	{"etf.cut-off", "E 0 1 ;\nE 1 2 ; a=x", 2, 2},
	{"etf.legacy-line", "TraceVersion\tV0.1\nConfigurationID\tc\nR\t1\t2\tB\t7\t1\tx\n", 3, 0},
	{"etf.keyword", "E 0 1 ;\nX 1 2\nE 1 2 ;\n", 2, 2},
	{"etf.semicolon", "E 0 1\nE 1 2 ;\n", 1, 2},
	{"etf.capacity", "R 0 0 false ;\nE 0 1 ;\n", 1, 1},
	{"etf.capacity-exceeded", "R 0 1 false ;\nC 0 0 1 0 2 ;\n", 2, 2},
	{"etf.overload", "R 0 1 false ;\nC 0 0 2 0 1 ;\nC 1 1 2 0 1 ;\n", 3, 4},
	{"etf.overload", "R 0 1 false ;\nC 9 1 2 0 1 ;\nC 0 0 1 0 1 ;\nC 1 1 3 0 1 ;\n", 4, 6},
	{"etf.offset-overlap", "R 0 10 true ;\nC 0 0 2 0 0 5 ;\nC 1 1 2 0 4 5 ;\n", 3, 4},
	{"etf.duplicate-key", "E 0 1 ; a=1, b=2, a=3\n", 1, 1},
	{"etf.late-definition", "C 0 0 1 0 1 ;\nR 0 1 false ;\n", 1, 2},
	{"etf.late-definition", "F 0 0 1 1 0 0\nS 0 ;\n", 1, 1},
	{"etf.negative-time", "E 0 -1 ;\n", 1, 1},
	{"etf.zero-claim", "R 0 1 false ;\nC 0 1 1 0 1 ;\n", 2, 2},
	{"etf.self-dependency", "E 0 1 ;\nD 0 4 0 0 ;\n", 2, 1},
	{"etf.offset-fraction", "O 1.5\nE 0 1 ;\n", 1, 1},
	{"etf.fragment-rounding", "S 0 ;\nF 0 0 10.000000001 1 0 0\nF 0 10.000000002 11 1 0 0\n", 3, 2},
	{"etf.time-rounded", "E 0 10000000000 ;\nE 1 0.0000000000001 ;\n", 2, 2},
	// The trace lasts 18 · 10¹⁸ ticks, more than the maximum 2⁶³ - 1 = 9.2 · 10¹⁸.
	{"etf.long-span", "TU NANOSECONDS\nE 0 -9000000000000000000 ;\nE 1 9000000000000000000 ;\n", 0, 2},
	{"etf.configuration", "TraceVersion\tV0.1\nConfigurationID\tnone.txt\nR\t1\t2\tB\t0\t1\tx\n", 3, 0},
	{"etf.carrier", "T weft.definitions.0 = {}\nE 0 1 ;\n", 0, 1},
	{"etf.carrier", "TU SECONDS\nT weft.definitions.0=" + twoRanks() +
		"\nR 0 2 false ; name=rank 0\nR 1 2 false ; name=rank 1\nE 5 0.1 ; weft=0:7, kind=send, receiver=\nE 6 0.2 ; " +
		"weft=0:8, kind=send, receiver=1\n", 5, 1},
	{"etf.tsr", "TS 0 ;\nTSS 0 0 ;\nTSR 0 0 0 1 5 6\n", 3, 1},
}

func TestRules(t *testing.T) {
	tracetest.Rules(t, Format{}, ruleTests, map[string]string{"etf.max-line": "1000"})
}

// TestLegacyConfiguration checks that the configuration of a V0.1 trace gives names to its
// attributes.
func TestLegacyConfiguration(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"legacy-v0.1-tabs.etf", "legacy-v0.1-configuration.txt"} {
		b, err := os.ReadFile("testdata/ok/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if name != "legacy-v0.1-tabs.etf" {
			name = "configuration.txt"
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{filepath.Join(dir, "legacy-v0.1-tabs.etf"), "testdata/ok/legacy-v0.1-tabs.etf"} {
		rep := format.NewReport()
		d := tracetest.Open(t, Format{}, format.FileSource(file), &format.ReadOptions{Report: rep})
		if r := rep.Rules(); len(r) > 0 {
			t.Errorf("defects: %v", r[0].First[0])
		}
		res := d.Defs().Resources.At(1)
		if res.Name != "Krait" || res.Capacity != 100 || res.Unit != "%" {
			t.Errorf("resource %+v", res)
		}
		all := strings.Join(tracetest.Dump(t, d, everything), "\n")
		for _, want := range []string{
			`1302 2 claim-begin claim=1`, `Package:string="performance.text" Activity:string="TestActivity" Thread:string="5"`,
			`400 3 claim-begin claim=3`,
		} {
			if !strings.Contains(all, want) {
				t.Errorf("no %s in\n%s", want, all)
			}
		}
	}
}

// twoRanks returns packed definitions of weft ("carried" definitions) of a trace of two processes.
func twoRanks() string {
	d := &trace.Definitions{Clock: trace.TicksPerSecond(1_000_000_000)}
	d.Locations.Add(trace.Location{ID: "0", Name: "rank 0", Kind: trace.ProcessLocation, Group: trace.NoRef})
	d.Locations.Add(trace.Location{ID: "1", Name: "rank 1", Kind: trace.ProcessLocation, Group: trace.NoRef})
	data, _ := carrier.Pack(d, nil)
	return carrier.Texts(data, "")[0].Value
}
