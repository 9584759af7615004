package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// TestParadigmsOfTeams checks that teams of threads have the paradigm of their threads in archives that weft
// writes for traces of other formats. In Pallas, the paradigm follows from the events of the threads only.
// otf2-print must print the same paradigms as for an archive like those of Score-P, and python3-otf2 must read
// all events.
func TestParadigmsOfTeams(t *testing.T) {
	if _, err := exec.LookPath("otf2-print"); err != nil {
		t.Skip("otf2-print is not installed")
	}
	// paradigms looks at the communicators that do not contain all locations. It returns the paradigms of their
	// groups, with the number of communicators for each paradigm.
	paradigms := func(path string) map[string]int {
		out, complaints := runTool(t, path, "otf2-print", "-G")
		if len(complaints) > 0 {
			t.Errorf("otf2-print: %s", complaints)
		}
		of := map[string]string{}
		group := regexp.MustCompile(`(?m)^GROUP +(\d+)  .*Type: COMM_GROUP, Paradigm: ("\w+")`)
		for _, m := range group.FindAllStringSubmatch(string(out), -1) {
			of[m[1]] = m[2]
		}
		n := map[string]int{}
		comm := regexp.MustCompile(`(?m)^COMM +\d+  Name: "([^"]*)".*Group: "[^"]*" <(\d+)>`)
		for _, m := range comm.FindAllStringSubmatch(string(out), -1) {
			if m[1] != "all locations" {
				n[of[m[2]]]++
			}
		}
		return n
	}
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	generate := []string{"generate", "--workload", "phases", "--events", "4000", "--threads", "3"}
	weft(t, 0, append(slices.Clone(generate), path("like.otf2"))...)
	want := paradigms(path("like.otf2"))
	if want[`"MPI"`] != 1 || want[`"OPENMP"`] == 0 || len(want) != 2 {
		t.Fatalf("found the paradigms %v", want)
	}
	weft(t, 0, append(slices.Clone(generate), "--option", "otf2.like=weft", path("weft.otf2"))...)
	archives := []string{"weft.otf2"}
	for _, between := range []string{"a.etf", "b.otf", "c.trf", "d/d.pallas"} {
		if err := os.MkdirAll(filepath.Dir(path(between)), 0o777); err != nil {
			t.Fatal(err)
		}
		to := "from-" + filepath.Ext(between)[1:] + ".otf2"
		weft(t, 0, "convert", "-q", "--allow-loss", path("like.otf2"), path(between))
		weft(t, 0, "convert", "-q", "--allow-loss", path(between), path(to))
		archives = append(archives, to)
	}
	for _, name := range archives {
		if got := paradigms(path(name)); got[`"OPENMP"`] != want[`"OPENMP"`] || got[`"MPI"`] != want[`"MPI"`] {
			t.Errorf("%s: found the paradigms %v, expected %v", name, got, want)
		}
		runTool(t, path(name), "otf2-print", "-A")
	}
}
