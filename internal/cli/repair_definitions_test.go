package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestRepairDefinitions repairs archives of EZTrace. They state 2 events for each location, and define two groups 0,
// which OTF2's Python bindings reject. After the repair, the bindings read the archive, and each location states as
// many events as otf2-print shows. A second repair finds nothing to repair in the definitions.
func TestRepairDefinitions(t *testing.T) {
	event := regexp.MustCompile(`(?m)^[A-Z_]+ +(\d+) +\d+  `)
	for _, name := range []string{"ring", "omp"} {
		for _, flag := range []string{"--prune=false", "--prune"} {
			dir := t.TempDir()
			out := filepath.Join(dir, "a.otf2")
			text := weft(t, exitGood, "repair", flag, "../../format/otf2/testdata/ok/"+name+"/eztrace_log.otf2", out)
			for _, want := range []string{"repair.definition: found group 0 ", "repair.definition: found location 1"} {
				if name == "ring" && !strings.Contains(text, want) {
					t.Errorf("%s: found no line with %q in\n%s", name, want, text)
				}
			}
			if printed, _ := runTool(t, out, "otf2-print", "-A"); printed != nil {
				defs, events, _ := strings.Cut(string(printed), "=== Events")
				count := map[string]int{}
				for _, m := range event.FindAllStringSubmatch(events, -1) {
					count[m[1]]++
				}
				for _, m := range locationEvents.FindAllStringSubmatch(defs, -1) {
					if n := count[m[1]]; m[2] != strconv.Itoa(n) || n < 280 {
						t.Errorf("%s %s: location %s states %s events, otf2-print shows %d", name, flag, m[1], m[2], n)
					}
				}
			}
			if again := weft(t, exitGood, "repair", out, filepath.Join(dir, "b.otf2")); strings.Contains(again, "repair.def") {
				t.Errorf("%s %s: a second repair shows\n%s", name, flag, again)
			}
			answer, err := exec.Command(pythonOTF2(t), "../../testdata/readotf2.py", out).Output()
			if err != nil || !regexp.MustCompile(`^\d{4}\n$`).Match(answer) {
				t.Errorf("%s %s: the bindings say %q, %v; expected the number of events", name, flag, answer, err)
			}
		}
	}
}

// TestRepairMissingDefinitions repairs archives that lack definitions to which their events and other definitions
// refer. Repair defines each of them, as it reports, so that OTF2's Python bindings read all events whose locations
// are defined.
func TestRepairMissingDefinitions(t *testing.T) {
	const original = "../../format/otf2/testdata/ok/heat2d-mt"
	read := func(anchor string) string {
		answer, err := exec.Command(pythonOTF2(t), "../../testdata/readotf2.py", anchor).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(answer))
	}
	all := read(original + "/traces.otf2")
	definitions, err := os.ReadFile(original + "/traces.def")
	if err != nil {
		t.Fatal(err)
	}
	cutOff := func(n int) []byte { return definitions[:n] }
	before := func(text string) []byte { return cutOff(bytes.Index(definitions, []byte(text))) }
	without := bytes.Clone(definitions)
	at := bytes.Index(definitions, []byte("MPI_Cart_create"))
	id := strconv.Itoa(int(without[at-1]))
	without[at-1] = 250 // nothing refers to this id
	for _, x := range []struct {
		name        string
		definitions []byte
		events      string // that the bindings read
		defined     string // by otf2-print
	}{
		{"locations, regions and all after them", cutOff(90), "0", `"nothing"`},
		{"regions and all after them", before("MPI_Cart_create"), all, `"undefined region 0"`},
		{"metrics, communicators, parameters", before("minor faults"), all, `"undefined metric 0/1"`},
		{"the last parameter", before("minus rank"), all, `"undefined parameter 0"`},
		{"a string", without, all, `Name: "undefined string ` + id + `"`},
	} {
		dir := t.TempDir()
		in, out := filepath.Join(dir, "traces.otf2"), filepath.Join(dir, "sound.otf2")
		if err := os.CopyFS(dir, os.DirFS(original)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "traces.def"), x.definitions, 0o666); err != nil {
			t.Fatal(err)
		}
		text := weft(t, exitGood, "repair", in, out)
		if x.name == "a string" && !strings.Contains(text, "repair.definition: found definitions that name string "+id) {
			t.Errorf("found no line about string %s in\n%s", id, text)
		}
		if got := read(out); got != x.events {
			t.Errorf("without %s: the bindings say %q, expected %s events", x.name, got, x.events)
		}
		printed, _ := runTool(t, out, "otf2-print", "-A")
		if printed != nil && !strings.Contains(string(printed), x.defined) {
			t.Errorf("without %s: otf2-print shows no %s", x.name, x.defined)
		}
	}
}
