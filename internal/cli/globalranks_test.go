package cli

import (
	"bytes"
	"encoding/json"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// globalRanks returns an archive of the OTF2 library (testdata/programs/globalranks.py).
func globalRanks(t *testing.T, name string) string {
	t.Helper()
	return libraryArchive(t, "globalranks.py", name)
}

// libraryArchive returns an archive that a program in testdata/programs writes with the OTF2 library. The name tells
// the locations of several archives apart.
func libraryArchive(t *testing.T, file, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name, "traces.otf2")
	program := exec.Command(pythonOTF2(t), "testdata/programs/"+file, filepath.Dir(path), name)
	if out, err := program.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, _ := runTool(t, path, "otf2-print"); out == nil {
		t.Skip("otf2-print is not installed")
	}
	return path
}

// TestMergedGlobalRanks checks that ranks of groups with GLOBAL_MEMBERS name the same locations after a merge: in
// Cartesian topologies, in events of thread teams, and as roots of operations between two groups. otf2-print does not
// complain about several COMM_SELF groups.
func TestMergedGlobalRanks(t *testing.T) {
	a, b := globalRanks(t, "a"), globalRanks(t, "b")
	merged := filepath.Join(t.TempDir(), "merged.otf2")
	weft(t, 0, "merge", "-q", "--anchor", "none", a, b, merged)
	wantDefinitions, wantEvents := map[string]int{}, map[string]int{}
	for _, path := range []string{a, b} {
		definitions, events := withoutNumbers(t, path)
		for line, n := range definitions {
			if wantDefinitions[line] += n; !strings.Contains(line, `"a `) && !strings.Contains(line, `"b `) {
				wantDefinitions[line] = n // both traces define it
			}
		}
		for line, n := range events {
			wantEvents[line] += n
		}
	}
	definitions, events := withoutNumbers(t, merged)
	for _, x := range [][2]map[string]int{{wantEvents, events}, {wantDefinitions, definitions}} {
		for _, m := range x {
			maps.DeleteFunc(m, func(line string, _ int) bool { // these lines are not about ranks
				return !strings.Contains(line, `("`) && !strings.Contains(line, "COMM_SELF")
			})
		}
		if more, fewer := differences(x[0], x[1]); len(x[0]) < 2 || len(more)+len(fewer) > 0 {
			t.Errorf("otf2-print prints anew:\n%s\nand no longer:\n%s", strings.Join(more, "\n"), strings.Join(fewer, "\n"))
		}
	}
	if _, complaints := runTool(t, merged, "otf2-print", "-A"); len(complaints) > 0 {
		t.Errorf("otf2-print: %s", complaints)
	}
}

// TestDefinitionsOfIdleLocations checks that verbs keep the mapping tables and clock offsets of locations that have no
// events, or whose events the verb leaves out: otf2-print prints the same ones.
func TestDefinitionsOfIdleLocations(t *testing.T) {
	path := globalRanks(t, "a")
	want := toolLines(t, path, "otf2-print", "-M", "-C")
	if all := strings.Join(slices.Collect(maps.Keys(want)), ""); !strings.Contains(all, "MAPPING_TABLE") ||
		!strings.Contains(all, "CLOCK_OFFSET") {
		t.Fatalf("otf2-print prints neither a table nor an offset:\n%s", all)
	}
	for _, verb := range [][]string{{"repair"}, {"cut", "--to", "100%"}, {"filter", "--location", "0"}} {
		out := filepath.Join(t.TempDir(), "out.otf2")
		weft(t, 0, append(verb, "-q", path, out)...)
		if more, fewer := differences(want, toolLines(t, out, "otf2-print", "-M", "-C")); len(more)+len(fewer) > 0 {
			t.Errorf("%q: otf2-print prints anew:\n%sand no longer:\n%s", verb, strings.Join(more, ""), strings.Join(fewer, ""))
		}
	}
}

// TestLossOfUnmatchedEnds checks that the loss table counts the ends of collective operations that have no begin, also
// after an operation that is complete: those that otf2-print shows, but not otfprint.
func TestLossOfUnmatchedEnds(t *testing.T) {
	path, out := globalRanks(t, "a"), filepath.Join(t.TempDir(), "out.otf")
	var loss []struct {
		Kind, Field, How string
		Count            int
	}
	table := weft(t, 0, "convert", "-q", "--plain", "--allow-loss", "--json", path, out)
	if err := json.Unmarshal([]byte(table), &loss); err != nil {
		t.Fatal(err)
	}
	lost := 0
	for _, x := range loss {
		if x.Kind == "collective-end" && x.Field == "" && x.How == "lost" {
			lost += x.Count
		}
	}
	before, _ := runTool(t, path, "otf2-print")
	after, _ := runTool(t, out, "otfprint")
	want := bytes.Count(before, []byte("MPI_COLLECTIVE_END")) - bytes.Count(after, []byte("EndCollective:"))
	if after == nil {
		t.Skip("otfprint is not installed")
	}
	if lost != want || want < 2 {
		t.Errorf("the loss table counts %d lost ends, otfprint lacks %d:\n%s", lost, want, table)
	}
}

// TestIntercommunicatorsComeBack checks an intercommunicator (testdata/programs/between.py) that is converted to
// another format and back: otf2-print shows both groups with their members, and the ranks in messages refer to these
// groups.
func TestIntercommunicatorsComeBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "between", "traces.otf2")
	program := exec.Command(pythonOTF2(t), "testdata/programs/between.py", filepath.Dir(path))
	if out, err := program.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	group := regexp.MustCompile(`(?m)^GROUP +(\d+) .* Members: (.*)`)
	connects := regexp.MustCompile(
		`(?m)^INTER_COMM .*(name: ".*") <\d+>, Group A: "" <(\d+)>, Group B: "" <(\d+)>, (.*) <\d+>(.*)`)
	message := regexp.MustCompile(`(?m)^(MPI_(?:SEND|RECV) .*) <\d+>(.*)`)
	shown := func(path string) (list []string) {
		definitions, complaints := runTool(t, path, "otf2-print", "-G")
		events, more := runTool(t, path, "otf2-print")
		if len(complaints)+len(more) > 0 {
			t.Errorf("otf2-print: %s%s", complaints, more)
		}
		members := map[string]string{}
		for _, x := range group.FindAllStringSubmatch(string(definitions), -1) {
			members[x[1]] = x[2]
		}
		for _, x := range connects.FindAllStringSubmatch(string(definitions), -1) {
			list = append(list, x[1]+" A: "+members[x[2]]+" B: "+members[x[3]]+" "+x[4]+x[5])
		}
		for _, x := range message.FindAllStringSubmatch(string(events), -1) {
			list = append(list, x[1]+x[2])
		}
		return list
	}
	want := shown(path)
	if len(want) == 0 {
		t.Skip("otf2-print is not installed")
	}
	const groups = `name: "between" A: 0 ("rank 0" <0>), 1 ("rank 1" <1>) B: 2 ("rank 2" <2>), 3 ("rank 3" <3>) ` +
		`Common Communicator: "world", Flags: NONE`
	if len(want) != 5 || want[0] != groups {
		t.Fatalf("otf2-print shows %q, expected %q and four messages", want, groups)
	}
	for _, name := range []string{"a.otf", "a.pallas", "a.etf", "a.trf"} {
		there, back := filepath.Join(t.TempDir(), name), filepath.Join(t.TempDir(), "back.otf2")
		weft(t, 0, "convert", "-q", path, there)
		weft(t, 0, "convert", "-q", there, back)
		if found := shown(back); !slices.Equal(found, want) {
			t.Errorf("%s: otf2-print shows\n%s\nexpected\n%s", name, strings.Join(found, "\n"), strings.Join(want, "\n"))
		}
	}
}
