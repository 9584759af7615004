package etf

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/tracetest"
)

// carriedTwoRegions returns the packed definitions of a trace with two locations and two regions.
func carriedTwoRegions() string {
	d := &trace.Definitions{Clock: trace.TicksPerSecond(1000), Origin: "otf2"}
	for _, name := range []string{"rank 0", "rank 1"} {
		d.Locations.Add(trace.Location{ID: name, Name: name, Group: trace.NoRef})
	}
	d.Regions.Add(trace.Region{ID: "0", Name: "outer"})
	d.Regions.Add(trace.Region{ID: "1", Name: "inner"})
	data, _ := carrier.Pack(d, nil)
	return "TU SECONDS\nT " + carryPrefix + "0=" + carrier.Text(data) + "\nR 0 2 false ;\nR 1 2 false ;\n"
}

// TestCarriedOrder checks that events with equal times have the order of the trace that weft converted, in both
// spellings of the attribute "weft": that of docs/formats/etf.md, and that of earlier versions.
func TestCarriedOrder(t *testing.T) {
	want := []string{
		`1 rank 0 enter "outer"(0)`, `2 rank 1 enter "inner"(1)`, `3 rank 0 enter "inner"(1)`,
		`3 rank 1 leave "inner"(1)`, `3 rank 0 leave "inner"(1)`, "3 rank 1 recv-begin request=7",
		`4 rank 0 leave "outer"(0)`, "4 rank 1 recv-begin request=8 derived", `5 rank 1 enter "outer"(0)`,
	}
	for name, text := range map[string]string{
		"now": "C 1 0.001 0.004 0 1 ; name=outer, weft=0\n" +
			"C 2 0.002 0.003 1 1 ; name=inner, weft=1:2\n" +
			"C 3 0.003 0.003 0 1 ; name=inner, weft=1:2\n" +
			"C 9 0.005 0.005 1 1 ; name=outer, weft=0:\n" +
			"E 6 0.003 ; weft=1, kind=recv-begin, request=7\n" +
			"E 8 0.004 ; weft=1:derived, kind=recv-begin, request=8\n",
		"before": "C 0 0.001 0.004 0 1 ; name=outer, weft=0:1:7\n" +
			"C 1 0.002 0.003 1 1 ; name=inner, weft=1:2:4\n" +
			"C 2 0.003 0.003 0 1 ; name=inner, weft=1:3:5\n" +
			"C 5 0.005 0.005 1 1 ; name=outer, weft=0:9:\n" +
			"E 3 0.003 ; weft=1:6, kind=recv-begin, request=7\n" +
			"E 4 0.004 ; weft=1:8:derived, kind=recv-begin, request=8\n",
	} {
		path := filepath.Join(t.TempDir(), name+".etf")
		if err := os.WriteFile(path, []byte(carriedTwoRegions()+text), 0o600); err != nil {
			t.Fatal(err)
		}
		rep := format.NewReport()
		f := tracetest.Open(t, Format{}, format.FileSource(path), &format.ReadOptions{Report: rep})
		if diff := cmp.Diff(want, tracetest.Dump(t, f, trace.Everything())); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
		if r := rep.Rules(); len(r) > 0 {
			t.Errorf("%s: %v", name, r[0].First[0])
		}
	}
}
