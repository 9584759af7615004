package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRun checks with the formats' own tools that they can read the written traces.
func TestRun(t *testing.T) {
	for _, ext := range []string{".otf2", ".otf", ".etf", ".trf", ".pallas"} {
		if err := run(filepath.Join(t.TempDir(), "queue"+ext)); err != nil {
			t.Errorf("%s: %v", ext, err)
		}
	}
	tool, err := exec.LookPath("otf2-print")
	if err != nil {
		t.Skip("otf2-print is not installed")
	}
	name := filepath.Join(t.TempDir(), "queue.otf2")
	if err := run(name); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(tool, name).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// Six jobs: each is sent and received, and visits a region on both sides.
	for event, want := range map[string]int{"ENTER ": 12, "LEAVE ": 12, "MPI_SEND ": 6, "MPI_RECV ": 6, "METRIC ": 6} {
		if n := strings.Count(string(out), "\n"+event); n != want {
			t.Errorf("otf2-print shows %d of %s, want %d", n, event, want)
		}
	}
	out, err = exec.Command(tool, "-G", name).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{`"node1"`, `"producer"`, `"workers"`, `"worker 1"`, "ABSOLUTE_NEXT"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("otf2-print shows no definition of %s", want)
		}
	}
}
