package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/trace"
)

// decoded runs weft and decodes the JSON that it prints.
func decoded[T any](t *testing.T, want int, args ...string) (x T) {
	t.Helper()
	if err := json.Unmarshal([]byte(weft(t, want, args...)), &x); err != nil {
		t.Fatal(err)
	}
	return x
}

// traceProperties returns the properties of a trace, and its clock.
func traceProperties(t *testing.T, path string) (map[string]string, trace.Clock) {
	t.Helper()
	f, err := all.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m := map[string]string{}
	for _, a := range f.Defs().Properties.All() {
		m[a.Key] = a.Value.String()
	}
	return m, f.Defs().Clock
}

// TestFaults writes traces with faults in every format, and checks that the analyses find exactly what was planted.
func TestFaults(t *testing.T) {
	for _, file := range []string{"x.etf", "x.trf", "x.otf", "x.otf2", "x.pallas"} {
		t.Run(file, func(t *testing.T) {
			good := filepath.Join(t.TempDir(), file)
			weft(t, exitGood, "generate", "--workload", "cps", "--period", "8ms", "--events", "2000", good)
			// Without anomalies there are two classes: objects with and without task F.
			b := decoded[behaviourResult](t, exitGood, "behaviour", "--json", "--by", "id", good)
			if len(b.Classes) != 2 || b.Classes[0].Claims != 13 || b.Classes[1].Claims != 11 {
				t.Errorf("nothing planted: found %+v", b.Classes)
			}
			latencies := checkFlow(t, good, 0)
			for _, x := range []struct{ violations, stragglers, anomalies, late int }{
				{violations: 3}, {stragglers: 2, late: 80}, {anomalies: 4}, {violations: 7, stragglers: 5, anomalies: 6, late: 133},
			} {
				path := filepath.Join(t.TempDir(), file)
				args := []string{"generate", "--workload", "cps", "--period", "8ms", "--events", "2000", "--violations",
					strconv.Itoa(x.violations), "--stragglers", strconv.Itoa(x.stragglers), "--anomalies",
					strconv.Itoa(x.anomalies)}
				if x.late > 0 {
					args = append(args, "--late", fmt.Sprintf("%dms", x.late))
				}
				weft(t, exitGood, append(args, path)...)
				checkVerdicts(t, path, x.violations, x.stragglers)
				found := checkFlow(t, path, x.stragglers)
				// Early confirmation and a task left out change the latencies of objects, too.
				if late := int64(x.stragglers*x.late) * 1000; x.violations+x.anomalies == 0 && found-latencies != late {
					t.Errorf("%+v: objects stay longer by %d µs, expected %d", x, found-latencies, late)
				}
				b := decoded[behaviourResult](t, exitGood, "behaviour", "--json", "--by", "id", path)
				classes, objects := b.Classes, int64(0)
				if x.anomalies > 0 {
					objects, classes = b.Classes[0].Objects, b.Classes[1:]
				}
				if len(classes) != 2 || objects != int64(x.anomalies) || classes[0].Claims != 13 || classes[1].Claims != 11 {
					t.Errorf("%+v: found %+v", x, b.Classes)
				}
			}
		})
	}
}

// checkVerdicts verifies a trace of the workload cps. It compares the number of objects that violate the check
// "violations", and of those that violate the check "stragglers", with the expected numbers. It uses the text of the
// checks that the generator has recorded in the properties of the trace, and the same checks as written here.
func checkVerdicts(t *testing.T, path string, violations, stragglers int) {
	t.Helper()
	p, _ := traceProperties(t, path)
	objects, err := strconv.Atoi(p["objects"])
	if err != nil {
		t.Fatal(err)
	}
	// spec has the same checks as the properties of the trace.
	values := fmt.Sprintf("(i : 0 .. %d)", objects-1)
	spec := "def confirmed(i) : {'name' = 'done', 'id' = i}\ndef ended(i) : end {'name' = 'G', 'id' = i}\n" +
		"check violations" + values + ": not until (confirmed(i) and not ended(i)) we have that not ended(i)\n" +
		"check stragglers" + values + ": globally if {'name' = 'arrival', 'id' = i} then finally by 48 ms ended(i)\n"
	recorded := p["plant.violations.check"] + "\n" + p["plant.stragglers.check"] + "\n"
	for name, text := range map[string]string{"anew": spec, "recorded": recorded} {
		file := filepath.Join(t.TempDir(), name+".etl")
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if strings.TrimSpace(text) == "" {
			continue
		}
		want := exitGood
		if violations+stragglers > 0 {
			want = exitDefects
		}
		r := decoded[traceVerdicts](t, want, "verify", "--json", file, path)
		n := map[string]int{}
		for _, c := range r.Checks {
			if c.Verdict.Violated() {
				kind, _, _ := strings.Cut(c.Name, "(")
				n[kind]++
			}
		}
		if n["violations"] != violations || n["stragglers"] != stragglers {
			t.Errorf("%s: found %v violated, expected %d violations and %d stragglers", name, n, violations, stragglers)
		}
	}
}

// checkFlow checks the throughput of a trace with a period of 8 ms, and how many objects stay longer than 6
// periods. It returns how long all objects stay, in µs.
func checkFlow(t *testing.T, path string, stragglers int) (latencies int64) {
	t.Helper()
	f := decoded[flowResult](t, exitGood, "flow", "--json", "--by", "id", "--events", "start {'name'='G'}", path)
	properties, clock := traceProperties(t, path)
	late := 0
	for _, o := range f.Objects {
		stay := (o.Last - o.First) * 1_000_000 * clock.Den / clock.Num
		if latencies += stay; stay > 48_000 {
			late++
		}
	}
	if n := properties["objects"]; late != stragglers || fmt.Sprint(len(f.Objects)) != n {
		t.Errorf("found %d late ones of %d objects, expected %d of %s", late, len(f.Objects), stragglers, n)
	}
	// Objects come at distances of 8 ms: 125 a second.
	if x := f.Events.Statistics(false); x.Min != 125 || x.Max != 125 {
		t.Errorf("found a throughput of %g to %g, expected 125", x.Min, x.Max)
	}
	return latencies
}
