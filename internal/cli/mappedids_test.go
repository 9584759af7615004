package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/otf2"
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

// TestDuplicateIDsAfterPrune checks an archive in which a region has the id of an earlier one. otf2-print shows the
// later region for all events, also after --prune.
func TestDuplicateIDsAfterPrune(t *testing.T) {
	dir, pruned := filepath.Join(t.TempDir(), "omp"), filepath.Join(t.TempDir(), "pruned.otf2")
	if err := os.CopyFS(dir, os.DirFS("../../format/otf2/testdata/ok/omp")); err != nil {
		t.Fatal(err)
	}
	path, file := filepath.Join(dir, "eztrace_log.otf2"), filepath.Join(dir, "eztrace_log.def")
	a, err := otf2.Open(format.FileSource(path))
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const working, unused = 7, 12 // "Working", and "OpenMP loop", which has no events
	if err := a.Definitions(func(at int64, r *otf2.Record) error {
		if r.ID == 15 && r.Values[0] == unused {
			b[at+3] = working // after the record's id and length, and the length of the number
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b, 0o666); err != nil {
		t.Fatal(err)
	}
	enters := func(path string) (n int) {
		for line, count := range toolLines(t, path, "otf2-print") {
			if strings.HasPrefix(line, "ENTER") && strings.Contains(line, `"OpenMP loop"`) {
				n += count
			}
		}
		return n
	}
	if _, err := exec.LookPath("otf2-print"); err != nil {
		t.Skip("otf2-print is not installed")
	}
	weft(t, 0, "filter", "-q", "--prune", "--min-duration", "0", path, pruned)
	if got, want := enters(pruned), enters(path); got != want || want == 0 {
		t.Errorf("otf2-print shows %d enters of the later region, before %d", got, want)
	}
}
