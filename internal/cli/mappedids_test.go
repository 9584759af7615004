package cli

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMappedIDsAfterPrune checks an archive whose location has a mapping table (testdata/programs/mapped.py). With
// --prune, regions get new ids, some of which are local ids of the table. otf2-print shows the same regions for all
// events.
func TestMappedIDsAfterPrune(t *testing.T) {
	for _, kind := range []string{"0", "1"} {
		path, pruned := filepath.Join(t.TempDir(), "in", "traces.otf2"), filepath.Join(t.TempDir(), "pruned.otf2")
		program := exec.Command(pythonOTF2(t), "testdata/programs/mapped.py", filepath.Dir(path), kind)
		if out, err := program.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if out, _ := runTool(t, path, "otf2-print"); out == nil {
			t.Skip("otf2-print is not installed")
		}
		weft(t, 0, "filter", "-q", "--prune", "--min-duration", "0", path, pruned)
		shown := func(path string) map[string]int {
			m := map[string]int{}
			for line, n := range toolLines(t, path, "otf2-print") {
				m[printedID.ReplaceAllString(line, "")] += n
			}
			return m
		}
		if more, fewer := differences(shown(path), shown(pruned)); len(more)+len(fewer) > 0 {
			t.Errorf("table of kind %s: otf2-print prints anew:\n%sand no longer:\n%s", kind, strings.Join(more, ""),
				strings.Join(fewer, ""))
		}
	}
}
