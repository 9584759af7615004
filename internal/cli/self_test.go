package cli

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestCollectivesOnSelf checks that operations of several locations on MPI_COMM_SELF are separate. OTF2 has one
// definition for all of these communicators, and plain traces of other formats have its name. No location waits, no
// clock is wrong, and in OTF the matching ids of the operations differ. OTF2's own writer has written the archive
// (testdata/programs/self.py).
func TestCollectivesOnSelf(t *testing.T) {
	python, dir := pythonOTF2(t), t.TempDir()
	path, otf := filepath.Join(dir, "in", "traces.otf2"), filepath.Join(dir, "x.otf")
	out, err := exec.Command(python, "testdata/programs/self.py", filepath.Dir(path)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	weft(t, 0, "convert", "-q", path, otf)
	plain := []string{filepath.Join(dir, "plain.otf"), filepath.Join(t.TempDir(), "plain.pallas")}
	for _, out := range plain {
		weft(t, 0, "convert", "-q", "--plain", "--allow-loss", path, out)
	}
	for _, path := range append(plain, path, otf) {
		if got := weft(t, 0, "check", path); !strings.Contains(got, "0 errors, 0 warnings") {
			t.Errorf("check: found %s", got)
		}
		got := weft(t, 0, "comm", "--csv", "--show", "collectives", path)
		if !strings.Contains(got, ",MPI_COMM_SELF,barrier,false,1,6,") || !strings.Contains(got, ",0,0,0,,,\n") {
			t.Errorf("comm: found %s", got)
		}
		if code, got, _ := runWeft(t, "waits", path); strings.Contains(got, "wait-at-barrier") {
			t.Errorf("waits: exit code %d: %s", code, got)
		}
		if got := weft(t, 0, "align", path); !strings.Contains(got, "Collectives  0") {
			t.Errorf("align: found %s", got)
		}
	}
	text, _ := runTool(t, otf, "otfprint")
	ids := map[string]string{}
	for _, m := range regexp.MustCompile(`BeginCollective: process (\d+),.* matchingId (\d+)`).FindAllStringSubmatch(
		string(text), -1) {
		if by, twice := ids[m[2]]; twice {
			t.Errorf("otfprint: processes %s and %s have the matching id %s", by, m[1], m[2])
		}
		ids[m[2]] = m[1]
	}
	if len(ids) != 9 && text != nil {
		t.Errorf("otfprint: found %d operations, expected 9", len(ids))
	}
	// Rank 0 of MPI_COMM_SELF is the process itself.
	roots := regexp.MustCompile(`BeginCollective: process (\d+), collective 1, .* root (\d+)`)
	found := roots.FindAllStringSubmatch(string(text), -1)
	for _, m := range found {
		if m[1] != m[2] {
			t.Errorf("otfprint: the root is not the process itself: %s", m[0])
		}
	}
	if len(found) != 3 && text != nil {
		t.Errorf("otfprint: found %d broadcasts, expected 3", len(found))
	}
}

// TestPrunedSelf checks that a pruned archive with MPI_COMM_SELF keeps the communicating locations of MPI, which
// otf2-print expects.
func TestPrunedSelf(t *testing.T) {
	path, pruned := filepath.Join(t.TempDir(), "in", "traces.otf2"), filepath.Join(t.TempDir(), "pruned.otf2")
	out, err := exec.Command(pythonOTF2(t), "testdata/programs/self.py", filepath.Dir(path)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	weft(t, 0, "filter", "-q", "--prune", "--location", "0", path, pruned)
	tool, err := exec.LookPath("otf2-print")
	if err != nil {
		t.Skip("otf2-print is not installed")
	}
	out, err = exec.Command(tool, "-G", pruned).CombinedOutput()
	if err != nil || strings.Contains(string(out), "warning") ||
		!strings.Contains(string(out), "Type: COMM_LOCATIONS") {
		t.Errorf("otf2-print: %v\n%s", err, out)
	}
}
