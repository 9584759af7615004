package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The numbers that a merge may change in the output of otf2-print: ids, ranks among all locations, and
// the classes of metrics.
var (
	printedID    = regexp.MustCompile(` <\d+>`)
	printedRank  = regexp.MustCompile(`\b\d+ (\("|\(INVALID)`)
	printedClass = regexp.MustCompile(`(\bMetric|\bRank|\bClass|# Events): \d+`)
	// printedParadigm is a paradigm that one of the archives defines.
	printedParadigm = regexp.MustCompile(`Paradigm: "([A-Z]+)"`)
)

// withoutNumbers returns the definitions and the events that otf2-print prints for an archive. It leaves out ids,
// times and the properties of the trace as a whole.
func withoutNumbers(t *testing.T, path string) (definitions, events map[string]int) {
	t.Helper()
	out, _ := runTool(t, path, "otf2-print", "-A")
	definitions, events = map[string]int{}, map[string]int{}
	into := (map[string]int)(nil)
	for line := range strings.Lines(string(out)) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "=== Global Definitions"):
			into = definitions
		case strings.HasPrefix(line, "=== Events"):
			into = events
		case strings.HasPrefix(line, "=== "):
			into = nil
		}
		name, rest, _ := strings.Cut(line, " ")
		switch {
		case into == nil, name == "", strings.ToUpper(name) != name, name[0] < 'A', name == "STRING",
			name == "CLOCK_PROPERTIES", strings.Contains(line, "COMM_LOCATIONS"):
			continue
		}
		rest = strings.TrimLeft(strings.TrimSpace(rest), "0123456789 ") // id, or location and time
		rest = printedClass.ReplaceAllString(rest, "$1")
		rest = printedParadigm.ReplaceAllString(printedID.ReplaceAllString(rest, ""), "Paradigm: $1")
		into[name+" "+printedRank.ReplaceAllString(rest, "$1")]++
	}
	return definitions, events
}

// TestMergeOfArchives checks that otf2-print prints for a merged archive each definition and each event of
// all archives and no other, except for ids and times, and that otf2-print does not complain.
func TestMergeOfArchives(t *testing.T) {
	if _, err := exec.LookPath("otf2-print"); err != nil {
		t.Skip("otf2-print is not installed")
	}
	const dir = "../../format/otf2/testdata/ok/"
	heat, ring := dir+"heat2d-mt/traces.otf2", dir+"ring/eztrace_log.otf2"
	// The communicator of a plain archive has the ranks of all locations (GLOBAL_MEMBERS).
	global := filepath.Join(t.TempDir(), "global.otf2")
	weft(t, 0, "convert", "-q", "--plain", "../../format/picl/testdata/ok/conceptual-ring8.trf", global)
	for _, paths := range [][]string{{heat, dir + "rma/traces.otf2"}, {dir + "rma/traces.otf2", heat},
		{dir + "omp/eztrace_log.otf2", heat}, {heat, heat}, {global, global}, {ring, global},
		{dir + "thumbnails/t.otf2", ring, dir + "propvals/traces.otf2"}} {
		t.Run(strings.ReplaceAll(strings.Join(paths, "+"), "/", "."), func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "x.otf2")
			args := []string{"merge", "-q", "--allow-loss", "--anchor", "first"}
			wantDefinitions, wantEvents := map[string]int{}, map[string]int{}
			for _, path := range paths {
				args = append(args, path)
				d, e := withoutNumbers(t, path)
				for line := range d {
					wantDefinitions[line]++
				}
				for line, n := range e {
					wantEvents[line] += n
				}
			}
			if code, _, errs := runWeft(t, append(args, out)...); code != 0 {
				t.Fatalf("exit code %d: %s", code, errs)
			}
			definitions, events := withoutNumbers(t, out)
			for line := range wantDefinitions {
				if definitions[line] == 0 {
					t.Errorf("otf2-print no longer prints %q", line)
				}
			}
			for line := range definitions {
				if wantDefinitions[line] == 0 {
					t.Errorf("otf2-print prints anew %q", line)
				}
			}
			more, fewer := []string{}, []string{}
			for line, n := range events {
				if n > wantEvents[line] {
					more = append(more, fmt.Sprint(n-wantEvents[line], " ", line))
				}
			}
			for line, n := range wantEvents {
				if n > events[line] {
					fewer = append(fewer, fmt.Sprint(n-events[line], " ", line))
				}
			}
			slices.Sort(more)
			slices.Sort(fewer)
			if len(more)+len(fewer) > 0 {
				t.Errorf("otf2-print prints anew:\n%s\nand no longer:\n%s", strings.Join(more[:min(9, len(more))], "\n"),
					strings.Join(fewer[:min(9, len(fewer))], "\n"))
			}
		})
	}
}

// TestUnifyOfArchives merges the parts of an archive with --unify. otf2-print must print the definitions and
// events of the whole archive.
func TestUnifyOfArchives(t *testing.T) {
	if _, err := exec.LookPath("otf2-print"); err != nil {
		t.Skip("otf2-print is not installed")
	}
	for _, path := range []string{"../../format/otf2/testdata/ok/heat2d-mt/traces.otf2",
		"../../format/otf2/testdata/ok/rma/traces.otf2"} {
		dir := t.TempDir()
		first, second, out := filepath.Join(dir, "a.otf2"), filepath.Join(dir, "b.otf2"), filepath.Join(dir, "x.otf2")
		weft(t, 0, "filter", "-q", "--location", "0,1", path, first)
		weft(t, 0, "filter", "-q", "--not-location", "0,1", path, second)
		weft(t, 0, "merge", "-q", "--unify", first, second, out)
		wantDefinitions, wantEvents := withoutNumbers(t, path)
		definitions, events := withoutNumbers(t, out)
		for _, x := range [][2]map[string]int{{wantDefinitions, definitions}, {wantEvents, events}} {
			if more, fewer := differences(x[0], x[1]); len(more)+len(fewer) > 0 {
				t.Errorf("%s: otf2-print prints anew:\n%s\nand no longer:\n%s", path, strings.Join(more, "\n"),
					strings.Join(fewer, "\n"))
			}
		}
	}
}

// TestMergeOfRandomArchive checks that otf2-print prints as many events of each kind for a merged archive as for
// both archives. One of them has references to everything, also to what nothing defines.
func TestMergeOfRandomArchive(t *testing.T) {
	if _, err := exec.LookPath("otf2-print"); err != nil {
		t.Skip("otf2-print is not installed")
	}
	random, other := "../../format/otf2/testdata/ok/snapshots/all.otf2", "../../format/otf2/testdata/ok/rma/traces.otf2"
	kinds := func(path string) map[string]int {
		_, events := withoutNumbers(t, path)
		counts := map[string]int{}
		for line, n := range events {
			name, _, _ := strings.Cut(line, " ")
			counts[name] += n
		}
		delete(counts, "METRIC") // one archive has a metric event without values, for which the model has no event
		return counts
	}
	want := kinds(random)
	for name, n := range kinds(other) {
		want[name] += n
	}
	for _, names := range [][]string{{random, other}, {other, random}} {
		out := filepath.Join(t.TempDir(), "x.otf2")
		weft(t, 0, append(append([]string{"merge", "-q", "--allow-loss", "--anchor", "first"}, names...), out)...)
		if got := kinds(out); !maps.Equal(got, want) {
			t.Errorf("otf2-print prints the events %v, expected %v", got, want)
		}
	}
}

// printedTokens holds the words in front of tokens in the output of otfprint, and the definitions that have them.
var printedTokens = map[string]string{"function": "function", "process": "process", "sender": "process",
	"receiver": "process", "origin": "process", "target": "process", "peer": "process", "root": "process",
	"counter": "counter", "collective": "collective", "collOp": "collective", "col": "collective", "file ID": "file",
	"fileid": "file"}

var (
	printedToken = regexp.MustCompile(`\b(function|process|sender|receiver|origin|target|peer|root|counter|collective|` +
		`collOp|col|file ID|fileid) (\d+)`)
	definedToken = regexp.MustCompile(`^Def(?:Process|Function|Counter|Collective): stream \d+, ` +
		`(\w+) (\d+), name "([^"]*)"`)
	definedFile = regexp.MustCompile(`^DefFile: ([^,]*), stream \d+, token (\d+)`)
	oneDigit    = regexp.MustCompile(`\d`)
	moreDigits  = regexp.MustCompile(`\d+`)
)

// withNames returns the definitions and the events that otfprint prints for a trace, with names in place of
// tokens. It leaves out times, other numbers, and records that a trace has only once.
func withNames(t *testing.T, path string) (definitions, events map[string]int) {
	t.Helper()
	names := map[string]string{}
	lines := toolLines(t, path, "otfprint", "--fullkeyvalue")
	letters := func(name string) string {
		return oneDigit.ReplaceAllStringFunc(name, func(d string) string { return string('A' + d[0] - '0') })
	}
	for line := range lines {
		if m := definedToken.FindStringSubmatch(line); m != nil {
			names[m[1]+" "+m[2]] = letters(m[3])
		} else if m := definedFile.FindStringSubmatch(line); m != nil {
			names["file "+m[2]] = letters(m[1])
		}
	}
	definitions, events = map[string]int{}, map[string]int{}
	for line, n := range lines {
		line = strings.TrimSpace(line)
		first, _, _ := strings.Cut(strings.TrimLeft(line, "0123456789 "), ":")
		switch first {
		case "", "DefVersion", "DefUniqueId", "DefCreator", "DefTimerResolution", "DefTimeRange", "DefComment", "definitions",
			"events", "statistics", "snapshots", "markers", "done", "SnapComment", "StatComment", "EventComment":
			continue
		}
		line = printedToken.ReplaceAllStringFunc(line, func(s string) string {
			m := printedToken.FindStringSubmatch(s)
			return m[1] + " " + names[printedTokens[m[1]]+" "+m[2]]
		})
		if line = moreDigits.ReplaceAllString(line, "#"); strings.HasPrefix(first, "Def") {
			// of several definitions that differ only in pairs, a merge keeps one
			line, _, _ = strings.Cut(line, ", KeyValue")
			definitions[line] += n
		} else if first == "Leave" { // ignore the function, because not all leaves name one
			_, line, _ = strings.Cut(line, ",")
			events["Leave:"+line] += n
		} else {
			events[line] += n
		}
	}
	return definitions, events
}

// TestMergeOfOTFTraces checks that otfprint prints for a merged trace each definition and each record of all
// traces, of the same names, and no other.
func TestMergeOfOTFTraces(t *testing.T) {
	if _, err := exec.LookPath("otfprint"); err != nil {
		t.Skip("otfprint is not installed")
	}
	const dir = "../../format/otf/testdata/ok/"
	for _, names := range [][]string{{"mpi4/mpi4.otf", "kv_types/kv_types.otf"}, {"mpi4/mpi4.otf", "mpi4/mpi4.otf"},
		{"tokens/tokens.otf", "all_kv_short/all_kv_short.otf", "mpi4/mpi4.otf"},
		{"all_kv_short/all_kv_short.otf", "aux_snapshots/aux_snapshots.otf"},
		{"time0/time0.otf", "all_kv_short/all_kv_short.otf", "hello/hello.otf"}} {
		t.Run(strings.ReplaceAll(strings.Join(names, "+"), "/", "."), func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "x.otf")
			args := []string{"merge", "-q", "--allow-loss", "--anchor", "first"}
			wantDefinitions, wantEvents := map[string]int{}, map[string]int{}
			for _, name := range names {
				args = append(args, dir+name)
				d, e := withNames(t, dir+name)
				for line := range d {
					wantDefinitions[line] = 1
				}
				for line, n := range e {
					wantEvents[line] += n
				}
			}
			if code, _, errs := runWeft(t, append(args, out)...); code != 0 {
				t.Fatalf("exit code %d: %s", code, errs)
			}
			definitions, events := withNames(t, out)
			for line := range definitions {
				definitions[line] = 1
			}
			more, fewer := differences(wantDefinitions, definitions)
			moreEvents, fewerEvents := differences(wantEvents, events)
			more, fewer = append(more, moreEvents...), append(fewer, fewerEvents...)
			slices.Sort(more)
			slices.Sort(fewer)
			if len(more)+len(fewer) > 0 {
				t.Errorf("otfprint prints anew:\n%s\nand no longer:\n%s", strings.Join(more[:min(9, len(more))], "\n"),
					strings.Join(fewer[:min(9, len(fewer))], "\n"))
			}
		})
	}
}

// TestPrunedArchive checks that otf2-print prints for a pruned archive only definitions and events of the archive,
// except for ids, and only regions that an event refers to; and that it does not complain.
func TestPrunedArchive(t *testing.T) {
	if _, err := exec.LookPath("otf2-print"); err != nil {
		t.Skip("otf2-print is not installed")
	}
	for _, name := range []string{"heat2d-mt/traces.otf2", "ring/eztrace_log.otf2"} {
		path, out := "../../format/otf2/testdata/ok/"+name, filepath.Join(t.TempDir(), "x.otf2")
		weft(t, 0, "filter", "-q", "--prune", "--region", "MPI_Irecv", "--region", "MPI_Send", path, out)
		wantDefinitions, wantEvents := withoutNumbers(t, path)
		definitions, events := withoutNumbers(t, out)
		more, fewer := differences(wantDefinitions, definitions)
		moreEvents, _ := differences(wantEvents, events)
		for _, line := range append(more, moreEvents...) {
			t.Errorf("%s: otf2-print prints anew: %s", name, line)
		}
		if !slices.ContainsFunc(fewer, func(line string) bool { return strings.HasPrefix(line, "REGION ") }) {
			t.Errorf("%s: otf2-print prints all regions of the archive", name)
		}
		if _, errs := runTool(t, out, "otf2-print", "-A"); len(errs) > 0 {
			t.Errorf("%s: otf2-print says %s", name, errs)
		}
		used := map[string]bool{}
		for line := range events {
			if name, region, ok := strings.Cut(line, " Region: "); ok && (name == "ENTER" || name == "LEAVE") {
				used[region] = true
			}
		}
		regions := 0
		for line := range definitions {
			region, ok := strings.CutPrefix(line, "REGION Name: ")
			if region, _, _ = strings.Cut(region, " (Aka."); ok && !used[region] {
				t.Errorf("%s: otf2-print prints the region %s, which has no events", name, region)
			} else if ok {
				regions++
			}
		}
		if regions == 0 || regions != len(used) {
			t.Errorf("%s: otf2-print prints %d regions, expected the %d that have events", name, regions, len(used))
		}
	}
}

// TestMarkersOfAllProcesses checks that markers of process 0, which stands for all, stay such in a merged trace.
func TestMarkersOfAllProcesses(t *testing.T) {
	if _, err := exec.LookPath("otfprint"); err != nil {
		t.Skip("otfprint is not installed")
	}
	path, out := "../../format/otf/testdata/ok/all_short/all_short.otf", filepath.Join(t.TempDir(), "x.otf")
	weft(t, 0, "merge", "-q", "--allow-loss", path, path, out)
	printed, _ := runTool(t, out, "otfprint")
	if n := strings.Count(string(printed), `process 0, text "process 0 = all"`); n != 2 {
		t.Errorf("otfprint prints %d markers of all processes, expected those of both traces", n)
	}
	if master, err := os.ReadFile(out); err != nil || string(master) != "1:1\n2:abcdf0\n" {
		t.Errorf("found the master file %q (%v), expected the processes that the master files of both name", master, err)
	}
}

// TestPrunedOTFTrace checks that otfprint prints for a pruned trace only lines of the trace, and only functions
// that an event refers to.
func TestPrunedOTFTrace(t *testing.T) {
	if _, err := exec.LookPath("otfprint"); err != nil {
		t.Skip("otfprint is not installed")
	}
	path, out := "../../format/otf/testdata/ok/mpi4/mpi4.otf", filepath.Join(t.TempDir(), "x.otf")
	weft(t, 0, "filter", "-q", "--prune", "--location", "1,2", "--region", "MPI_Send", "--not-kind", "metric", path, out)
	more, fewer := differences(toolLines(t, path, "otfprint", "--fullkeyvalue"),
		toolLines(t, out, "otfprint", "--fullkeyvalue"))
	if len(more) > 0 {
		t.Errorf("otfprint prints anew: %q", more)
	}
	for _, name := range []string{`DefFunction: stream 0, function 1, name "main"`, "DefCounter:",
		"DefFunctionGroup: stream 0, group 1,"} {
		if !slices.ContainsFunc(fewer, func(line string) bool { return strings.HasPrefix(line, name) }) {
			t.Errorf("otfprint still prints %s", name)
		}
	}
	definitions, events := withNames(t, out)
	for line := range events {
		if strings.HasPrefix(line, "# Enter: function ,") {
			t.Errorf("otfprint prints %q", line)
		}
	}
	if n := len(definitions); n == 0 || len(events) == 0 {
		t.Errorf("otfprint prints %d definitions and %d events", n, len(events))
	}
}

// TestEarlierArchiveMerged checks that an archive which was recorded before the first one of a merge keeps its times.
// Its ticks are 1 µs, and those of the merged archive 8 ns: 125 in 1 µs.
func TestEarlierArchiveMerged(t *testing.T) {
	const folder = "../../analysis/waits/testdata/"
	out := filepath.Join(t.TempDir(), "both.otf2")
	printed := weft(t, 0, "merge", folder+"omp/traces.otf2", folder+"hand/traces.otf2", out)
	if strings.Contains(printed, "no times before 0") {
		t.Errorf("found the loss %q", printed)
	}
	times := func(path, location string) (list []int64) {
		for line := range strings.Lines(weft(t, 0, "print", "--json", "--location", location, path)) {
			var row struct{ Time int64 }
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				t.Fatal(err)
			}
			list = append(list, row.Time)
		}
		return list
	}
	before, after := times(folder+"hand/traces.otf2", "0"), times(out, "3")
	if len(before) == 0 || len(before) != len(after) {
		t.Fatalf("found %d events, expected %d", len(after), len(before))
	}
	for i := range before {
		if got, want := after[i]-after[0], 125*(before[i]-before[0]); got != want {
			t.Errorf("event %d: found %d ticks after the first one, expected %d", i, got, want)
		}
	}
}
