package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// printedIDs returns the ids of locations by their place in the output of a format's own tool.
func printedIDs(t *testing.T, path string) (ids []string) {
	t.Helper()
	tool := map[string][]string{
		".otf2": {"otf2-print", "-G", `(?m)^LOCATION +(\d+) `},
		".otf":  {"otfprint", "--nokeyvalue", `DefProcess: stream 0, process (\d+), `},
	}[filepath.Ext(path)]
	if _, err := exec.LookPath(tool[0]); err != nil {
		t.Skip(tool[0] + " is not installed")
	}
	text, _ := runTool(t, path, tool[0], tool[1])
	for _, m := range regexp.MustCompile(tool[2]).FindAllSubmatch(text, -1) {
		ids = append(ids, string(m[1]))
	}
	return ids
}

// TestLocationIDs checks the row of the loss table about the ids of locations. Its number is that of the locations for
// which the tool of the target's format shows another id than the tool of the original. With --plain the row says
// degraded, because the locations themselves are kept.
func TestLocationIDs(t *testing.T) {
	const otf2, otf = "../../format/otf2/testdata/ok/", "../../format/otf/testdata/ok/"
	for _, c := range []struct {
		path, to string
		want     int
	}{
		{otf2 + "ring/eztrace_log.otf2", ".otf", 0}, // the other locations keep 536870911, 1073741822, 1610612733
		{otf2 + "heat2d-mt/traces.otf2", ".otf", 0},
		{otf + "mpi4/mpi4.otf", ".otf2", 4}, // processes 1 to 4 become locations 0 to 3
		{otf + "tokens/tokens.otf", ".otf2", 0},
	} {
		before := printedIDs(t, c.path)
		for how, flags := range map[string][]string{"weft only": nil, "degraded": {"--plain", "--allow-loss"}} {
			out := filepath.Join(t.TempDir(), "x"+c.to)
			var rows []struct {
				Kind, How string
				Count     int
			}
			args := append([]string{"convert", "-q", "--json", c.path, out}, flags...)
			if err := json.Unmarshal([]byte(weft(t, 0, args...)), &rows); err != nil {
				t.Fatal(err)
			}
			changed, found := 0, 0
			for i, id := range printedIDs(t, out)[:len(before)] {
				if id != before[i] {
					changed++
				}
			}
			for _, r := range rows {
				if r.Kind == "id of a location" && r.How == how {
					found += r.Count
				}
			}
			if changed < c.want || found != changed || len(before) == 0 {
				t.Errorf("%s to %s: %d ids are %s, but the tools show %d changed ones of %q", c.path, c.to, found, how, changed,
					before)
			}
		}
		there, back := filepath.Join(t.TempDir(), "x"+c.to), filepath.Join(t.TempDir(), "back"+filepath.Ext(c.path))
		weft(t, 0, "convert", "-q", c.path, there)
		weft(t, 0, "convert", "-q", there, back)
		if a, b := locationIDs(t, c.path), locationIDs(t, back); !slices.Equal(a, b) || len(a) == 0 {
			t.Errorf("%s: weft shows the ids %q after the way back, expected %q", c.path, b, a)
		}
	}
}

// locationIDs returns the ids of locations that weft info shows.
func locationIDs(t *testing.T, path string) (ids []string) {
	t.Helper()
	var info struct {
		Locations []struct{ ID string }
	}
	if err := json.Unmarshal([]byte(weft(t, 0, "info", "-q", "--json", path)), &info); err != nil {
		t.Fatal(err)
	}
	for _, l := range info.Locations {
		ids = append(ids, l.ID)
	}
	return ids
}

// TestMergedConversion checks a trace of another format that otfmerge has written again, with another unique id:
// otfprint shows the same about a copy by a command that changes nothing. It shows nothing new about a copy without
// messages, so the packed rows that are kept have the same bytes.
func TestMergedConversion(t *testing.T) {
	dir := t.TempDir()
	otf, merged := filepath.Join(dir, "a.otf"), filepath.Join(dir, "merged.otf")
	weft(t, 0, "convert", "-q", nativesArchive(t), otf)
	out, err := exec.Command("otfmerge", "-n", "2", "-o", strings.TrimSuffix(merged, ".otf"), otf).CombinedOutput()
	if err != nil {
		t.Skipf("otfmerge: %v: %s", err, out)
	}
	want := toolLines(t, merged, "otfprint", "--fullkeyvalue")
	if a, b := uniqueID(t, otf), uniqueID(t, merged); a == b || len(want) < 20 {
		t.Fatalf("otfprint shows %d lines, and the unique ids %s and %s", len(want), a, b)
	}
	for _, verb := range [][]string{{"repair"}, {"merge"}, {"filter", "--min-duration", "0"}, {"cut", "--to", "100%"}} {
		out := filepath.Join(t.TempDir(), "x.otf")
		weft(t, 0, append(slices.Clone(verb), "-q", merged, out)...)
		if more, fewer := differences(want, toolLines(t, out, "otfprint", "--fullkeyvalue")); len(more)+len(fewer) > 0 {
			t.Errorf("%q: otfprint prints anew:\n%sand no longer:\n%s", verb, strings.Join(more, ""), strings.Join(fewer, ""))
		}
	}
	for _, flags := range [][]string{{"--not-kind", "message,enter"}, {"--location", "1"}} {
		out := filepath.Join(t.TempDir(), "x.otf")
		weft(t, 0, append(append([]string{"filter", "-q"}, flags...), merged, out)...)
		more, fewer := differences(want, toolLines(t, out, "otfprint", "--fullkeyvalue"))
		more = slices.DeleteFunc(more, func(l string) bool { return strings.HasPrefix(l, "DefCreator") })
		if len(more) > 0 || len(fewer) < 3 {
			t.Errorf("filter %q: %d lines are gone, and otfprint prints anew:\n%s", flags, len(fewer), strings.Join(more, ""))
		}
	}
}

// TestPackedRowsStay checks that an archive of another trace keeps the attributes of events with packed rows, as
// otf2-print shows them, when events before them are left out.
func TestPackedRowsStay(t *testing.T) {
	dir := t.TempDir()
	archive, kept := filepath.Join(dir, "a.otf2"), filepath.Join(dir, "kept.otf2")
	if _, err := exec.LookPath("otf2-print"); err != nil {
		t.Skip("otf2-print is not installed")
	}
	weft(t, 0, "convert", "-q", "../../format/otf/testdata/ok/all_short/all_short.otf", archive)
	weft(t, 0, "filter", "-q", "--allow-loss", "--kind", "no-op,file-operation", archive, kept)
	row := regexp.MustCompile(`"weft\.row" <\d+>; UINT64; (\d+)`)
	rows := func(path string) (found []string) {
		text, _ := runTool(t, path, "otf2-print")
		for _, m := range row.FindAllSubmatch(text, -1) {
			found = append(found, string(m[1]))
		}
		return found
	}
	all, some := rows(archive), rows(kept)
	if len(some) == 0 || len(some) >= len(all) {
		t.Fatalf("found %d rows in the copy, and %d in the archive", len(some), len(all))
	}
	for _, r := range some {
		if !slices.Contains(all, r) {
			t.Errorf("the copy has row %s, which the archive does not have: %q", r, all)
		}
	}
}

// TestUnknownTypesComeBack checks an archive with types that are unknown, and with groups and nodes that have no
// locations. otf2-print shows the same groups, nodes, locations and roles for an archive that went through another
// format, and no other node.
func TestUnknownTypesComeBack(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "in", "traces.otf2")
	out, err := exec.Command(pythonOTF2(t), "testdata/programs/unknowns.py", filepath.Dir(path)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	kept := regexp.MustCompile(`(?m)^(LOCATION|LOCATION_GROUP|SYSTEM_TREE_NODE) .*|Role: .*, Flags`)
	shown := func(path string) string {
		text, _ := runTool(t, path, "otf2-print", "-G")
		return strings.Join(kept.FindAllString(regexp.MustCompile(` +\d+  | <\d+>`).ReplaceAllString(string(text), " "), -1),
			"\n")
	}
	want := shown(path)
	if want == "" {
		t.Skip("otf2-print is not installed")
	}
	for _, line := range []string{`Name: "storage" , Class: "filesystem"`, `Name: "of any type" , Type: UNKNOWN, # Events`,
		`Name: "idle device" , Type: ACCELERATOR`, `Role: UNKNOWN, Paradigm: UNKNOWN`} {
		if !strings.Contains(want, line) {
			t.Fatalf("otf2-print does not show %q:\n%s", line, want)
		}
	}
	sorted := func(text string) []string { return slices.Sorted(strings.Lines(text + "\n")) }
	for _, name := range []string{"a.otf", "a.etf", "a.trf", "a.pallas"} {
		there, back := filepath.Join(dir, name, name), filepath.Join(dir, name, "back.otf2")
		if err := os.Mkdir(filepath.Dir(there), 0o777); err != nil {
			t.Fatal(err)
		}
		weft(t, 0, "convert", "-q", path, there)
		weft(t, 0, "convert", "-q", there, back)
		if got := shown(back); !slices.Equal(sorted(got), sorted(want)) {
			t.Errorf("%s: otf2-print shows\n%s\nexpected\n%s", name, got, want)
		}
	}
}

// TestLocationsOfOTFCommands checks that --location of weft otf takes the ids and names of locations as other commands
// do, and --process takes the numbers in the files. The locations 0 to 3 of the trace become the processes 1 to 4.
func TestLocationsOfOTFCommands(t *testing.T) {
	dir := t.TempDir()
	path, out := filepath.Join(dir, "x.otf"), filepath.Join(dir, "y.otf")
	weft(t, 0, "convert", "-q", realTraces["otf2"], path)
	for _, c := range []struct {
		flag, value string
		want        []uint32
	}{
		{"--location", "0", []uint32{1}}, {"--location", "2", []uint32{3}}, {"--locations", "0,re:^[23]$", []uint32{1, 3, 4}},
		{"--processes", "2", []uint32{2}}, {"--processes", "2-3", []uint32{2, 3}},
	} {
		var x shrinkResult
		if err := json.Unmarshal([]byte(weft(t, 0, "otf", "shrink", "-q", "--json", c.flag, c.value, path, out)),
			&x); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(x.Kept, c.want) {
			t.Errorf("shrink %s %s: kept %d, expected %d", c.flag, c.value, x.Kept, c.want)
		}
	}
	for flag, want := range map[string]string{"--location": `"process": "3"`, "--process": `"process": "2"`} {
		if text := weft(t, 0, "otf", "summary", "-q", "--json", flag, "2", path); !strings.Contains(text, want) {
			t.Errorf("summary %s 2: found %.200s, expected %s", flag, text, want)
		}
	}
	for _, args := range [][]string{{"otf", "shrink", "--location", "4", path, out},
		{"otf", "summary", "--location", "4", path},
		{"otf", "summary", "--location", "re:[01]", path}} {
		weft(t, exitUsage, args...)
	}
	resource := filepath.Join(dir, "r.otf")
	weft(t, 0, "convert", "-q", "../../format/etf/testdata/ok/feature-coverage.etf", resource)
	weft(t, 0, "otf", "shrink", "-q", "--location", "0", resource, out)
	if text := weft(t, 0, "print", "-q", "--location", "CPU", out); strings.Count(text, "\n") !=
		strings.Count(weft(t, 0, "print", "-q", "--location", "CPU", resource), "\n") {
		t.Errorf("shrink --location 0: found %q, expected all events of CPU", text)
	}
}
