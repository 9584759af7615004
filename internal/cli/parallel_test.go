package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-trace/weft/trace"
)

// TestSameBytesOnAllCores rewrites archives with one goroutine and with several. All files must be the same.
func TestSameBytesOnAllCores(t *testing.T) {
	traces := map[string]string{
		"heat2d":   realTraces["otf2"],
		"ring":     realTraces["ring"], // has open visits at the ends of locations, and mapping tables
		"snapshot": "../../format/otf2/testdata/ok/snapshots/all.otf2",
		"rma":      "../../format/otf2/testdata/ok/rma/traces.otf2",
	}
	for name, path := range traces {
		for _, verb := range [][]string{
			{"cut", "--from", "30%", "--to", "60%"},
			{"cut", "--to", "100%"},
			{"cut", "--from", "50%", "--prune"},
			{"filter", "--not-region", "MPI_*", "--min-duration", "1us"},
			{"repair"},
			{"anonymize"},
			{"merge", "--anchor", "none", path},
			{"merge", "--anchor", "none", realTraces["otf2"]},
		} {
			label := name + ": " + strings.Join(verb, " ")
			var first map[string]string
			for _, workers := range []string{"1", "2", "4"} {
				out := filepath.Join(t.TempDir(), "x.otf2")
				args := append(append([]string{"-j", workers}, verb...), "-q", "--allow-loss", path, out)
				if code, _, errs := runWeft(t, args...); code != exitGood {
					t.Fatalf("%s: exit code %d: %s", label, code, errs)
				}
				files := readFiles(t, filepath.Dir(out))
				if first == nil {
					first = files
				}
				if len(files) != len(first) {
					t.Errorf("%s: found %d files with -j %s, expected %d as with -j 1", label, len(files), workers, len(first))
				}
				for file, content := range first {
					if files[file] != content {
						t.Errorf("%s: %s with -j %s differs from that with -j 1", label, file, workers)
					}
				}
			}
		}
	}
}

// readFiles returns the contents of all files below a folder, by their paths.
func readFiles(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	if err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		name, _ := filepath.Rel(folder, path)
		files[name] = string(b)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return files
}

// TestMatchOnce checks that patterns are matched again for a definition whose name has changed, and for one that
// was added later.
func TestMatchOnce(t *testing.T) {
	d := &trace.Definitions{}
	d.Regions.Add(trace.Region{ID: "0", Name: "solve"})
	d.Regions.Add(trace.Region{ID: "1", Name: "wait"})
	matches, err := choose(d, aRegion, []string{"s*"})
	if err != nil {
		t.Fatal(err)
	}
	check := func(want ...bool) {
		t.Helper()
		for i, w := range want {
			if got := matches(uint32(i)); got != w {
				t.Errorf("region %s: found %t, expected %t", d.Regions.At(uint32(i)).Name, got, w)
			}
		}
	}
	check(true, false)
	d.Regions.At(0).Name, d.Regions.At(1).Name = "init", "start"
	d.Regions.Add(trace.Region{ID: "2", Name: "stop"})
	check(false, true, true)
}
