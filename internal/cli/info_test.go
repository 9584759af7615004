package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-trace/weft/analysis/info"
)

// TestOtfinfo compares weft info with otfinfo for the same traces, and the growth of counters with
// the values that otfprint prints.
func TestOtfinfo(t *testing.T) {
	otfinfo, err := exec.LookPath("otfinfo-trace")
	if err != nil {
		t.Skip("otfinfo-trace is not installed")
	}
	otfprint, err := exec.LookPath("otfprint")
	if err != nil {
		t.Skip("otfprint is not installed")
	}
	for _, name := range []string{"mpi4", "map_1to1", "map_explicit", "aux_snapshots", "time0", "hello", "hand_ties",
		"kv_types"} {
		path := "../../format/otf/testdata/ok/" + name + "/" + name + ".otf"
		text, err := exec.Command(otfinfo, "-a", path).Output()
		if err != nil {
			t.Fatalf("%s: otfinfo: %v", name, err)
		}
		var got otfinfoFigures
		if err := json.Unmarshal([]byte(weft(t, 0, "info", "-q", "--json", "--definitions", path)), &got); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(text), "\n")
		compareCounts(t, path, lines, &got)
		creator := got.Properties["creator"]
		if s, _ := otfinfoField(lines, "creator of the trace"); creator != nil && s != creator {
			t.Errorf("%s: creator %q, otfinfo has %q", path, creator, s)
		}
		events := int64(0)
		for _, f := range got.Files {
			if strings.Contains(f.Path, ".events") {
				events += f.Size
			}
		}
		if s, _ := otfinfoField(lines, "event files size"); !sameSize(s, events) {
			t.Errorf("%s: events of %d bytes, otfinfo has %q", path, events, s)
		}
		compareDefinitions(t, path, lines, &got)
		for _, m := range got.Signals {
			last, _ := otfinfoField(lines, "last value")
			highest, _ := otfinfoField(lines, "highest rate")
			if s := m.Last.String(); s != last {
				t.Errorf("%s: counter %s ends at %s, otfinfo has %s", path, m.Name, s, last)
			}
			if x, err := strconv.ParseFloat(strings.TrimSuffix(highest, " per sec"), 64); err != nil ||
				math.Abs(x-m.HighestRate) > 1e-4*x {
				t.Errorf("%s: counter %s grows by %g at most, otfinfo has %s", path, m.Name, m.HighestRate, highest)
			}
			if want := averageRate(t, otfprint, path); math.Abs(want-m.AverageRate) > 1e-9*want {
				t.Errorf("%s: counter %s grows by %g, the values of otfprint by %g", path, m.Name, m.AverageRate, want)
			}
		}
	}
}

// otfinfoFigures are the figures of weft info that otfinfo has, too.
type otfinfoFigures struct {
	Properties map[string]any
	Files      []info.File
	Kinds      []struct {
		Name   string
		Events int64
	}
	Signals []struct {
		Name                     string
		Last                     json.Number
		AverageRate, HighestRate float64
	}
	Definitions map[string][]struct{ Name string }
	Records     []info.Records `json:"definitionRecords"`
}

// otfinfoField returns a value of otfinfo's output.
func otfinfoField(lines []string, name string) (string, bool) {
	for _, l := range lines {
		if k, v, ok := strings.Cut(l, " | "); ok && strings.TrimSpace(strings.TrimPrefix(k, "| ")) == name {
			return v, true
		}
	}
	return "", false
}

// compareCounts compares the numbers of events and definitions.
func compareCounts(t *testing.T, path string, lines []string, got *otfinfoFigures) {
	t.Helper()
	kinds := map[string]int64{}
	for _, k := range got.Kinds {
		kinds[k.Name] = k.Events
	}
	records := map[string]int64{}
	for _, r := range got.Records {
		records[r.Type] = r.Count
	}
	for name, want := range map[string]int64{"enters": kinds["enter"], "leaves": kinds["leave"], "sends": kinds["send"],
		"receives": kinds["recv"],
		"RMA Put":  kinds["rma-put"], "RMA Get": kinds["rma-get"], "RMA End": kinds["rma-end"],
		"collective operations": kinds["collective"] + kinds["collective-end"],
		"file operations":       kinds["file-operation"] + kinds["file-operation-end"],
		"process definitions":   records["DefProcess"],
		"function definitions":  records["DefFunction"], "counter definitions": records["DefCounter"],
		"collective op. definitions": records["DefCollectiveOperation"],
		"process group definitions":  records["DefProcessGroup"], "function group definitions": records["DefFunctionGroup"],
		"counter group definitions": records["DefCounterGroup"], "marker definitions": records["DefMarker"]} {
		if s, ok := otfinfoField(lines, name); !ok || s != strconv.FormatInt(want, 10) {
			t.Errorf("%s: %s: found %d, otfinfo has %q", path, name, want, s)
		}
	}
}

// compareDefinitions compares the names of definitions.
func compareDefinitions(t *testing.T, path string, lines []string, got *otfinfoFigures) {
	t.Helper()
	for title, key := range map[string]string{"process definitions": "locations", "function definitions": "regions",
		"marker definitions":               "markers",
		"collective operation definitions": "DefCollectiveOperation", "process group definitions": "communicators",
		"function group definitions": "DefFunctionGroup", "counter group definitions": "DefCounterGroup"} {
		var want, have []string
		i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "| "+title+"[") })
		for i += 2; strings.HasPrefix(lines[i], "| "); i++ {
			want = append(want, strings.TrimPrefix(lines[i], "| "))
		}
		for _, x := range got.Definitions[key] {
			if !strings.HasPrefix(x.Name, "undefined ") {
				have = append(have, x.Name)
			}
		}
		slices.Sort(want)
		slices.Sort(have)
		if !slices.Equal(have, want) {
			t.Errorf("%s: %s: found %q, otfinfo has %q", path, title, have, want)
		}
	}
}

// sameSize reports whether otfinfo's rounded size, such as "39.05 KB", stands for n bytes.
func sameSize(s string, n int64) bool {
	number, unit, _ := strings.Cut(s, " ")
	x, err := strconv.ParseFloat(number, 64)
	if unit == "KB" {
		x *= 1024
	}
	return err == nil && math.Abs(x-float64(n)) <= 0.005*1024
}

// averageRate computes the growth rate of counter 1 in a trace of nanoseconds from the text of
// otfprint: the gain of all processes divided by the time it took.
func averageRate(t *testing.T, otfprint, path string) float64 {
	out, err := exec.Command(otfprint, path).Output()
	if err != nil {
		t.Fatal(err)
	}
	type point struct{ time, value float64 }
	first, last := map[string]point{}, map[string]point{}
	for _, m := range regexp.MustCompile(`\t(\d+) Counter: process (\d+), counter 1, value (\d+)`).FindAllStringSubmatch(
		string(out), -1) {
		time, _ := strconv.ParseFloat(m[1], 64)
		value, _ := strconv.ParseFloat(m[3], 64)
		if _, ok := first[m[2]]; !ok {
			first[m[2]] = point{time, value}
		}
		last[m[2]] = point{time, value}
	}
	value, time := 0.0, 0.0
	for p, x := range last {
		value, time = value+x.value-first[p].value, time+x.time-first[p].time
	}
	return value / time * 1e9
}

// TestInfoDetails checks the details in the JSON of weft info, a list of objects for each table,
// and in the text. The expected numbers are those of pallas_info: 19 events, and 13 sequences, of
// which S10 occurs twice in a row.
func TestInfoDetails(t *testing.T) {
	const path = "../../format/pallas/testdata/ok/nested/trace/main.pallas"
	code, out, errs := runWeft(t, "info", "--json", "--details", path)
	var x struct {
		Format  string
		Details map[string][]map[string]any
	}
	if err := json.Unmarshal([]byte(out), &x); code != 0 || err != nil {
		t.Fatalf("exit code %d, %v: %s%s", code, err, out, errs)
	}
	n := map[string]int{}
	for key, rows := range x.Details {
		n[key] = len(rows)
	}
	if want := map[string]int{"threads": 1, "events": 19, "sequences": 13, "loops": 1}; x.Format != "pallas" ||
		!maps.Equal(n, want) {
		t.Errorf("found %v of %s, expected %v", n, x.Format, want)
	}
	want := map[string]any{"thread": 0.0, "archive": 0.0, "loop": "L0", "sequence": "S10", "name": "f0",
		"iterations": 2.0, "count": 1.0}
	if l := x.Details["loops"]; len(l) != 1 || !maps.Equal(l[0], want) {
		t.Errorf("found %v, expected %v", l, want)
	}
	_, out, _ = runWeft(t, "info", "--details", path)
	if want := "\nLoops (1)\nTHREAD  ARCHIVE  LOOP  SEQUENCE  NAME  ITERATIONS  COUNT  \n0       0        L0    S10    " +
		"   f0    2           1      \n"; !strings.HasSuffix(out, want) {
		t.Errorf("found %q at the end, expected %q", out[max(0, len(out)-200):], want)
	}
	if _, out, _ = runWeft(t, "info", "--json", "--details", realTraces["otf"]); strings.Contains(out, `"details"`) ||
		!json.Valid([]byte(out)) {
		t.Errorf("found %.300s, expected no details of OTF", out)
	}
}

// TestInfoOfWindow checks that info counts the visits of a window as profile does.
func TestInfoOfWindow(t *testing.T) {
	type row struct {
		Name                       string
		Count                      int64
		Exclusive, Inclusive, Time json.Number
	}
	inOrder := func(list []row) []row {
		slices.SortFunc(list, func(a, b row) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		return list
	}
	figures := func(command, window, path string) string {
		var x struct {
			Regions, Activities []row
			Unclosed, Orphans   int64
		}
		out := weft(t, exitGood, command, "-q", "--json", "--window", window, "../../format/"+path)
		if err := json.Unmarshal([]byte(out), &x); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(inOrder(x.Regions), inOrder(x.Activities), x.Unclosed, x.Orphans)
	}
	for _, path := range figureTraces {
		for _, window := range []string{"0%..30%", "20%..60%", "50%..50.5%", "60%..", "@0..@3s"} {
			if a, b := figures("info", window, path), figures("profile", window, path); a != b {
				t.Errorf("%s, --window %s: found\n%s\nby info, and by profile\n%s", path, window, a, b)
			}
		}
	}
}
