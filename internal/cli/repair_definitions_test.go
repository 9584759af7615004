package cli

import (
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
